/* SPDX-License-Identifier: Apache-2.0 */
/* The Director's samples without a PTDaemon: any meter that joulemark reads, as 1 s means in the same layout.
 * It is never an official measurement, and what it leaves says so everywhere, with the boundary that it has:
 * the inlet (wall) of a Yokogawa read directly, or what a software tier of NVML, RAPL, ... adds up to, which
 * is not the wall.
 *
 *   yokogawa:ADDRESS   a power analyzer read directly; ranges and testing ranges are set as with a PTDaemon
 *   meter:NAME         one meter by its name ("acpi", "nvml", "ptd", ...)
 *   software           every meter of this host that can be read without being named
 *
 * Each sample is (E(t) - E(t - 1 s)) / 1 s of the meters' counters, or of their power gauges integrated by
 * what one value means, summed over domains of which none contains another. A second without a good reading
 * is NAN. Volts, amps and power factor are there where a meter tells them. */
#ifndef JM_MLPERF_MSOURCE_H
#define JM_MLPERF_MSOURCE_H

#include "meter/meter.h"
#include "mlperf/source.h"

/* Is that the name of such a source ("yokogawa", "meter", "software", with or without ":...")? */
bool jm_mlperf_msource_is(const char *name);
/* option: what follows the name, where the name has no ':' ("": nothing). env stays the caller's, and is to
 * live as long as the source. JM_EUSAGE: there is no such source. */
int jm_mlperf_msource_new(const char *name, const char *option, const struct jm_meter_env *env,
                          struct jm_mlperf_source *out, struct jm_err *err);
void jm_mlperf_msource_free(struct jm_mlperf_source *s);

#endif
