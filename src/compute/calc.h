/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of jm_compute share. */
#ifndef JM_COMPUTE_CALC_H
#define JM_COMPUTE_CALC_H

#include "compute/compute.h"

/* Totals of requests and tokens in one window. Tokens are doubles because an event of unknown count carries a
 * share. Only requests that succeeded give tokens; the energy of all others stays. */
struct jm_tally {
    double output, input, cached, reasoning, visible; /* at their stamps; input when prefilled */
    double u_output;  /* standard uncertainty of output from events of unknown token count at the edges */
    double qualified; /* output tokens of requests inside the contract */
    double u_qualified;
    int64_t unknown_output; /* ok requests with tokens in the window that nobody counted */
    int64_t unknown_input, unknown_cached, unknown_reasoning;
    int64_t done_ok, done_failed, done_aborted; /* ended in the window */
    int64_t qualified_done;                     /* ok and inside the contract, ended in the window */
    int64_t scheduled, scheduled_qualified;     /* scheduled in the window, followed to their end */
    int64_t prefilled;                          /* first token in the window */
    int64_t prefill_at_edge;                    /* sent before an edge, first token after it */
    int64_t by_end[JM_END_COUNT];
    int64_t in_flight_t0, in_flight_t1;
    double *per_second; /* output tokens by second of the window */
    size_t n_seconds;
    struct jm_dist isl, osl;
};

/* Samples of latencies in seconds, of requests scheduled in the window. */
enum jm_lat {
    JM_LAT_TTFT,
    JM_LAT_TTFO,
    JM_LAT_TPOT_EXCL,
    JM_LAT_TPOT_INCL,
    JM_LAT_ITL_TOKEN_MEAN,
    JM_LAT_E2E,
    JM_LAT_QUEUE,
    JM_LAT_COUNT
};
struct jm_samples {
    double *v;
    size_t n, cap;
};
/* Log-linear histogram for what is too many to keep: chunk gaps. 32 sub-buckets an octave from 1 us: 3 %
 * wide. */
#define JM_LOGHIST_SUB 32
#define JM_LOGHIST_N   (40 * JM_LOGHIST_SUB)
struct jm_loghist {
    uint64_t count[JM_LOGHIST_N];
    uint64_t total;
    double sum;
};

struct jm_calc_window {
    int index; /* in report->windows */
    const struct jm_window *w;
    double seconds;
    struct jm_tally tally;
    struct jm_samples lat[JM_LAT_COUNT];
    struct jm_loghist itl_chunk;
};

struct jm_calc {
    const struct jm_run *run;
    const struct jm_compute_opts *o;
    struct jm_report *r;
    struct jm_calc_window *win; /* measure and idle windows */
    size_t n_win;
    struct jm_err *err;
};

/* A boundary's energy in one window: the cut through the tree. */
struct jm_cut {
    enum jm_boundary boundary;
    double joules, u, dof;
    double u_gain; /* bound of the calibrated gain where every part has one, J; NAN: unknown */
    enum jm_provenance provenance;
    int have, of;
    enum jm_status worst;                   /* worst status of the parts that are missing */
    const char *set, *instrument, *reasons; /* in the report's arena */
    bool usable;                            /* there is something to say (value, or a reason why not) */
};

/* compute/cut.c: energy rows of the window → cuts. estimate: only estimated rows instead of none of them. */
int jm_cut_make(struct jm_calc *c, int window, enum jm_boundary b, bool estimate, struct jm_cut *out);
/* compute/energy_rows.c: an energy row a channel that has energy or power. */
int jm_energy_rows(struct jm_calc *c, const struct jm_calc_window *w);
/* compute/tokens.c: tallies, latencies of all windows in one pass over the requests and their events. */
int jm_tally_requests(struct jm_calc *c);
void jm_tally_release(struct jm_calc_window *w);
bool jm_request_qualifies(const struct jm_request *q, const struct jm_slo *slo);
bool jm_slo_given(const struct jm_slo *slo);
double jm_request_latency(const struct jm_request *q, enum jm_lat which); /* seconds, NAN: does not exist */
void jm_loghist_add(struct jm_loghist *h, double seconds);
double jm_loghist_quantile(const struct jm_loghist *h, double q);
/* compute/results.c: the metrics of one window; compute/trials.c: over trials. */
int jm_results_window(struct jm_calc *c, const struct jm_calc_window *w);
int jm_results_trials(struct jm_calc *c);
/* compute/latency.c */
int jm_results_latency(struct jm_calc *c, const struct jm_calc_window *w);
/* compute/session.c: what LoadGen's summary of an imported MLPerf session gives. */
int jm_results_session(struct jm_calc *c, const struct jm_calc_window *w);
bool jm_calc_is_session(const struct jm_run *run);
/* compute/series.c */
int jm_series_make(struct jm_calc *c);

#endif
