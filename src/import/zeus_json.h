/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of Zeus as JSON, and the profile of its power limit optimizer. */
#ifndef JM_IMPORT_ZEUS_JSON_H
#define JM_IMPORT_ZEUS_JSON_H

#include "import/build.h"
#include "import/probe.h"

/* An energy of a Measurement: one number, or the sum over {"0": 1.5, ...}. NAN: there is none, or one of the
 * *n parts has no number. *n is 0 of a lone number, which does not say of how many it is (that of a power
 * limit is Measurement.total_energy). */
double jm_zeus_joules(const struct jm_ifile *f, const struct jm_jtoken *of, const char *name, int *n);
int jm_zeus_json_sniff(const struct jm_probe *p);
int jm_zeus_json_import(const char *path, const char *out, const struct jm_import_opts *o,
                        struct jm_err *err);

#endif
