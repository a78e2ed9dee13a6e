/* SPDX-License-Identifier: Apache-2.0 */
/* From a run to numbers: pure functions. The same run and options give the same digits. */
#ifndef JM_COMPUTE_COMPUTE_H
#define JM_COMPUTE_COMPUTE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/report.h"
#include "run/run.h"

struct jm_slo {
    double ttft_s, tpot_s, e2e_s; /* NAN: no objective. tpot is tpot.excl_first */
};

struct jm_compute_opts {
    enum jm_profile profile; /* validity against this profile */
    bool profile_given; /* false: mlperf for imported MLPerf sessions, else the strictest whose window length
                           fits */
    struct jm_slo slo;
    double level;  /* of intervals; 0: 0.95 */
    double pue;    /* NAN: none, then there is no facility result */
    double idle_w; /* NAN: none; loaded idle power for net figures where the run has no idle window */
    int columns;   /* of series for pictures; 0: 800 */
};

void jm_compute_defaults(struct jm_compute_opts *o);
/* Fills a new report; audit (audit/audit.h) must see it before it is shown. The report borrows from run. */
int jm_compute(const struct jm_run *run, const struct jm_compute_opts *o, struct jm_report **out,
               struct jm_err *err);

/* Energy of one channel over [t0, t1] from its readings: the heart of everything, also used by tests. */
struct jm_energy {
    enum jm_status status; /* ok, or why there is no value; wrapped: value is good */
    double joules;
    double u; /* standard uncertainty, J; includes what method says, without gain */
    double dof;
    double u_timing, u_quantum, u_shape, u_sampling, u_gap; /* its parts, J */
    double lower_bound; /* diagnostic lower bound when invalid, NAN otherwise */
    double covered_s;
    int64_t n_readings, n_refreshes, n_gaps;
    double gap_s;
    bool wrapped;
    char method[24];
    char note[160];
};
int jm_energy_counter(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0,
                      int64_t t1, struct jm_energy *out);
int jm_energy_gauge(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0, int64_t t1,
                    struct jm_energy *out);

/* The metric catalogue: one row a metric; docs/metrics.md and HELP texts are made from it. */
struct jm_metric {
    const char *id;      /* "j_per.output_token" */
    const char *unit;    /* "J/token" */
    const char *formula; /* "E / output tokens in the same window" */
    const char *help;    /* one sentence */
    const char *source;  /* where the definition comes from */
    bool lower_is_better;
    bool energy; /* taken at a boundary */
};
extern const struct jm_metric jm_metric_table[]; /* ends with id == NULL */
const struct jm_metric *jm_metric_find(const char *id);

#endif
