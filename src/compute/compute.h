/* SPDX-License-Identifier: Apache-2.0 */
/* From a run to numbers: pure functions. The same run and options give the same digits. */
#ifndef JM_COMPUTE_COMPUTE_H
#define JM_COMPUTE_COMPUTE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/diurnal.h"
#include "model/embodied.h"
#include "model/factor.h"
#include "model/pue.h"
#include "model/report.h"
#include "run/run.h"

struct jm_calibration;
struct jm_passport_file;
struct jm_cal_points;

struct jm_slo {
    double ttft_s, tpot_s, e2e_s; /* NAN: no objective. tpot is tpot.excl_first */
};

/* The objective of one slice of the workload. */
struct jm_slice_slo {
    const char *slice;
    struct jm_slo slo;
};

struct jm_compute_opts {
    enum jm_profile profile; /* validity against this profile */
    bool profile_given; /* false: mlperf for imported MLPerf sessions, else the strictest whose window length
                           fits */
    struct jm_slo slo;
    bool slo_given; /* for every request, also of slices that have a contract of their own in the run */
    const struct jm_slice_slo *slice_slo; /* of slices, before slo and what the run says */
    size_t n_slice_slo;
    double level;      /* of intervals; 0: 0.95 */
    struct jm_pue pue; /* value 0: none; a run with a reading of the site refuses one */
    /* calibration.h: its relations are carried to node and wall where these are not measured; NULL: none.
     * calibrated.h says whether it may be. note: what was allowed all the same, NULL or "" */
    const struct jm_calibration *calibration;
    const char *calibration_note;
    const struct jm_passport_file *passport; /* of its instruments, held against them already; they replace
                                              * those that the run keeps */
    size_t n_passport;
    struct jm_cal_points *collect; /* of node and wall: filled with the windows' points; NULL: not wanted */
    double idle_w; /* NAN: none; loaded idle power of the whole system (wall, node), W, for net figures
                    * where the run has no idle window */
    const struct jm_factor_set *factors; /* money, carbon and water are made of; NULL: none */
    struct jm_wue wue;                   /* of the site; value 0: none */
    struct jm_embodied embodied;         /* mass 0: none */
    bool no_phases;                      /* no allocation to prefill, decode and requests */
    const struct jm_diurnal *diurnal;    /* load curve for a ladder's levels; NULL: none */
    const char *diurnal_file;            /* its name */
    int columns;                         /* of series for pictures; 0: 800 */
};

void jm_compute_defaults(struct jm_compute_opts *o);
/* Fills a new report; audit (audit/audit.h) must see it before it is shown. The report borrows from run. */
int jm_compute(const struct jm_run *run, const struct jm_compute_opts *o, struct jm_report **out,
               struct jm_err *err);

/* Energy of one channel over [t0, t1] from its readings: the heart of everything, also used by tests.
 * Readings are those of this channel in order of time; give some seconds on either side of the window where
 * the run has them (they tell how rough the power is) and at least what brackets both edges. Pure; no heap.
 * The model and its derivation: docs/uncertainty.md. */
struct jm_energy {
    enum jm_status status; /* ok, or why there is no value; wrapped: value is good unless it is NAN
                              (ambiguous: more than one wrap could hide between two readings) */
    double joules;         /* NAN where there is no value */
    double u;              /* standard uncertainty, J; includes what method says, without gain */
    double dof;
    double u_timing, u_quantum, u_shape, u_sampling, u_gap; /* its parts, J */
    double
        alike;         /* correlation of u_shape between instruments of this kind on the same power: their
                          refreshes are       not synchronised, but the steps that they cannot resolve are the same */
    double gain_bound; /* J, half-width of a rectangular distribution: gain_tol x |E| + offset_tol x length;
                          NAN: the channel's gain is not known and the interval excludes it */
    double bound;      /* worst case, J (model/bound.h); NAN not known */
    double raw;        /* J without a passport; NAN: there is none */
    char correction[200]; /* what one was used for */
    double needs_s;       /* length that would keep it within the tolerance asked for; NAN */
    double lower_bound;   /* diagnostic lower bound when invalid, NAN otherwise */
    double covered_s;
    int64_t n_readings, n_refreshes, n_gaps;
    double gap_s;
    bool wrapped;
    char method[24];
    char note[160];
};
/* JM_EINVAL: t1 <= t0, or the channel is not an energy counter (unit J) or not a power gauge (unit W).
 * Everything that the readings do wrong is a status in out. */
int jm_energy_counter(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0,
                      int64_t t1, struct jm_energy *out);
int jm_energy_gauge(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0, int64_t t1,
                    struct jm_energy *out);
bool jm_energy_has_value(const struct jm_energy *e);
/* Half-width of the interval at `level`: the exact convolution of the t-scaled normal part (u, dof) with the
 * rectangular gain part, which is left out when gain is false or gain_bound is NAN. NAN without a value. */
double jm_energy_halfwidth(const struct jm_energy *e, double level, bool gain);
/* Sum over devices: u in quadrature, its shape part with the correlation `alike` (devices of one replica see
 * the same steps), gain linearly (like sensors err alike), dof by Welch-Satterthwaite. Only entries with a
 * value are added; returns how many. status is ok, or the first status that had no value when none has.
 * gain_bound is NAN when it is for one of them. */
size_t jm_energy_sum(const struct jm_energy *e, size_t n, struct jm_energy *out);
/* Do two measurements of the same joules agree? |a - b| against the half-width of the difference: u of both,
 * and their gain bounds (prior_gain x E stands in where a gain is not known). */
struct jm_agree {
    bool comparable; /* both have values */
    bool agree;
    double difference; /* a - b, J */
    double bound;      /* J */
};
void jm_energy_agree(const struct jm_energy *a, const struct jm_energy *b, double level, double prior_gain,
                     struct jm_agree *out);
/* Same joules under two names (dies of one package, MMIO and MSR zones): true when both counters moved by the
 * same amount, to `slack` of it and one refresh, over each of `parts` (>= 3) stretches of their common time.
 */
bool jm_counter_mirrored(const struct jm_channel *ca, const struct jm_reading *a, size_t na,
                         const struct jm_channel *cb, const struct jm_reading *b, size_t nb, int parts,
                         double slack);

/* The metric catalogue: one row a metric; docs/metrics.md and HELP texts are made from it. */
struct jm_metric {
    const char *id;      /* "j_per.output_token" */
    const char *unit;    /* "J/token" */
    const char *formula; /* "E / output tokens in the same window" */
    const char *help;    /* one sentence */
    const char *source;  /* where the definition comes from */
    bool lower_is_better;
    bool energy;         /* taken at a boundary */
    const char *used_by; /* tools that print it under a name of their own; NULL: none that we know */
};
extern const struct jm_metric jm_metric_table[]; /* ends with id == NULL */
const struct jm_metric *jm_metric_find(const char *id);

#endif
