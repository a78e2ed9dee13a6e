/* SPDX-License-Identifier: Apache-2.0 */
/* The clock error of this host into the run, at its start and at its end. */
#include <math.h>
#include <stdio.h>

#include "meter/clockask.h"
#include "record/internal.h"

#include "base/banned.h"

void jm_record_clock_error(struct jm_recorder *r, const char *when, jm_clock_put_fn put)
{
    struct jm_clock_error e;
    char key[64];
    if (r->inline_mode)
        return; /* a virtual clock is nobody's */
    jm_clock_error_ask(&r->clock, r->cfg.chrony_port, &e);
#define PUT(name, ...)                                                                                       \
    do {                                                                                                     \
        snprintf(key, sizeof key, "clock.error.%s.%s", when, name);                                          \
        put(r, key, __VA_ARGS__);                                                                            \
    } while (0)
    PUT("source", "%s", jm_clock_source_name((int)e.source));
    if (e.bound_ns >= 0)
        PUT("bound_s", "%.9f", (double)e.bound_ns / 1e9);
    else
        PUT("bound_s", "unknown");
    if (e.why[0])
        PUT("why", "%s", e.why);
    if (isfinite(e.offset_s))
        PUT("offset_s", "%.9f", e.offset_s);
    if (e.stratum >= 0)
        PUT("stratum", "%d", e.stratum);
    if (jm_clock_leap_name(e.leap))
        PUT("leap", "%s", jm_clock_leap_name(e.leap));
    if (isfinite(e.root_delay_s))
        PUT("root_delay_s", "%.9f", e.root_delay_s);
    if (isfinite(e.root_dispersion_s))
        PUT("root_dispersion_s", "%.9f", e.root_dispersion_s);
    if (e.reference[0])
        PUT("reference", "%s", e.reference);
#undef PUT
}
