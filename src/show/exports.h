/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in the forms of others (docs/disclosure.md). Nothing passes for more than it is: each form says
 * boundary and provenance, what is missing is empty or null and never 0, and what an invalid result says is
 * left out. */
#ifndef JM_SHOW_EXPORTS_H
#define JM_SHOW_EXPORTS_H

#include "audit/audit.h"
#include "base/str.h"

struct jm_export_format {
    const char *name, *suffix, *summary;
    int (*render)(const struct jm_run *run, struct jm_report *r, struct jm_str *out, struct jm_err *err);
};
extern const struct jm_export_format jm_export_formats[]; /* ends with name == NULL */

int jm_export_codecarbon(const struct jm_run *run, struct jm_report *r, struct jm_str *out,
                         struct jm_err *err);
int jm_export_ai_energy_score(const struct jm_run *run, struct jm_report *r, struct jm_str *out,
                              struct jm_err *err);
int jm_export_ml_energy(const struct jm_run *run, struct jm_report *r, struct jm_str *out,
                        struct jm_err *err);
int jm_export_gpai(const struct jm_run *run, struct jm_report *r, struct jm_str *out, struct jm_err *err);
int jm_export_esrs(const struct jm_run *run, struct jm_report *r, struct jm_str *out, struct jm_err *err);
/* A line a request and window, then what no request was there for, and the total (docs/phases.md).
 * JM_EABSENT: there is nothing, and why. */
int jm_export_requests(const struct jm_run *run, struct jm_report *r, struct jm_str *out, struct jm_err *err);
int jm_export_openmetrics(const struct jm_run *run, struct jm_report *r, struct jm_str *out,
                          struct jm_err *err);

/* ---- for the forms themselves */

/* Of a window (index), whole load; NULL: there is none that is valid and has a value. */
const struct jm_result *jm_export_find(const struct jm_report *r, const char *metric, enum jm_boundary b,
                                       int window);
double jm_export_value(const struct jm_result *x); /* NAN for NULL */
/* What a ratio of the window is over, which is known where the ratio is not valid too. NAN */
double jm_export_count(const struct jm_report *r, const char *metric, enum jm_boundary b, int window);
/* Index of the next measure window behind `after` (-1: the first), -1: none. */
int jm_export_window(const struct jm_report *r, int after);
/* A latency of a window in s; quantile NAN: the mean. NAN: none. */
double jm_export_latency(const struct jm_report *r, const char *metric, double quantile, int window);
/* What was declared before, else the first of these facts of the run; "" none. names end with NULL. */
const char *jm_export_fact(const struct jm_run *run, const struct jm_report *r, const char *fact,
                           const char *const *names);
const char *jm_export_model(const struct jm_run *run, const struct jm_report *r);
/* The name of the first GPU, and how many the results of the boundary gpu count (-1 not known). */
const char *jm_export_gpu(const struct jm_report *r, int *n);
/* "70.6e9", "70.6B", "8x22B" is none: NAN. */
double jm_export_parameters(const char *text);

#endif
