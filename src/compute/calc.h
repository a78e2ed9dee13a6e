/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of jm_compute share. */
#ifndef JM_COMPUTE_CALC_H
#define JM_COMPUTE_CALC_H

#include "compute/acc.h"
#include "compute/compute.h"
#include "compute/defs.h"

/* Totals of requests and tokens in one window. Tokens are doubles because an event of unknown count carries a
 * share. Only requests that succeeded give tokens; the energy of all others stays. */
struct jm_tally {
    double output, input, cached, reasoning, visible; /* at their stamps; input when prefilled */
    double u_output;  /* standard uncertainty of output from events of unknown token count at the edges */
    double qualified; /* output tokens of requests inside the contract */
    double u_qualified;
    int64_t unknown_output; /* ok requests with tokens in the window that nobody counted */
    int64_t unknown_input, unknown_cached;
    int64_t done_ok, done_failed, done_aborted; /* ended in the window */
    int64_t qualified_done;                     /* ok and inside the contract, ended in the window */
    int64_t scheduled, scheduled_qualified;     /* scheduled in the window, followed to their end */
    int64_t prefilled;                          /* first token in the window */
    int64_t prefill_at_edge;                    /* sent before an edge, first token after it */
    int64_t cancelled;                          /* of the aborted: by the plan */
    int64_t by_end[JM_END_COUNT];
    int64_t in_flight_t0, in_flight_t1;
    double *per_bucket; /* output tokens by stretch of the window */
    size_t n_buckets;
    int64_t bucket_ns;
    struct jm_samples isl, osl; /* of the ok requests that ended in the window */
    struct jm_spans spans;      /* of the requests scheduled in the window, followed to their end */
};

struct jm_calc_window {
    int index; /* in report->windows */
    const struct jm_window *w;
    double seconds;
    size_t row0, row1; /* its rows in report->energy */
    struct jm_tally tally;
    /* Many definitions measure the same on most engines: those whose values have all been the same are kept
     * once. */
    struct jm_samples lat[JM_LAT_COUNT];
    unsigned char same[JM_LAT_COUNT]; /* in which list: of itself, or of one before it */
    struct jm_acc gap[JM_GAP_COUNT];
    struct jm_acc
        gap_common; /* while requests are gone through: gaps that are in all kinds but the interpolated */
    struct jm_engine_window *engine; /* NULL: the engine says nothing; in the report */
};

/* The values of a definition; never NULL. */
static inline const struct jm_samples *jm_calc_lat(const struct jm_calc_window *w, enum jm_lat l)
{
    return &w->lat[w->same[l]];
}

/* What the cut needs of the tree, by domain; made once a run. */
struct jm_tree_facts {
    size_t n;
    unsigned char *has_gpu;  /* a GPU is in it or below it */
    unsigned char *serving;  /* a GPU of the serving replicas, or a module that holds one */
    unsigned char *metered;  /* an energy channel is in it or below it */
    unsigned char *mirrored; /* its energy is counted as another domain's */
    int absent;              /* GPUs that serve by env sut.gpus, and that are no domain of the run */
    bool sut_known;          /* env sut.gpus says which GPUs serve */
    int *row, *failed;       /* scratch of one cut: rows of each domain */
    int *parts, *said;       /* scratch: what makes a domain up, and how many of those have a value */
    int *pick;               /* scratch: which set of addends stands for a domain, by its group */
    int *group;              /* of an addend: the first meter of the run of the kind that reads it, -1 none */
    unsigned char *in, *covered, *below;
};

/* A stretch outside the measured windows and the output tokens in it, for the picture (compute/outside.c). */
struct jm_outside {
    int64_t t0, t1, bucket_ns;
    size_t n;  /* buckets */
    double *v; /* tokens in each; in the report */
    double sum;
};

struct jm_calc {
    const struct jm_run *run;
    const struct jm_compute_opts *o;
    struct jm_report *r;
    struct jm_calc_window *win; /* measure and idle windows; then, where measure windows overlap, n_cover
                                 * windows without results that cover the same time once */
    size_t n_win, n_cover;
    struct jm_window *cover;
    size_t *by_start;             /* indices of all n_win + n_cover, by t0 */
    int64_t *latest;              /* latest t1 of those up to there */
    bool picture;                 /* histograms are still to be drawn: of the first measure window */
    bool repeats;                 /* every measure window is another trial: means over trials make sense */
    bool reasoning_known;         /* somebody said how many tokens were reasoning */
    struct jm_slices *slices;     /* NULL: the workload has no slices */
    const struct jm_slo *slo_now; /* of the slice whose results are made; NULL: of the whole */
    struct jm_tree_facts tree;
    struct jm_energy *energy;         /* the whole of each row of report->energy */
    struct jm_correction *correction; /* by channel; NULL: no passports (compute/correct.h) */
    struct jm_passport_file *stored;  /* passports that the run keeps */
    size_t n_stored;
    struct jm_outside *outside; /* in order of time, apart from each other; in the report */
    size_t n_outside;
    struct jm_engine_run *engine; /* compute/engine.h; NULL: no texts of an engine */
    struct jm_err *err;
};

/* A boundary's energy in one window: the cut through the tree. */
struct jm_cut {
    enum jm_boundary boundary;
    struct jm_energy e; /* the sum of the parts; meaningful when have > 0 */
    enum jm_provenance provenance;
    bool boards; /* GPU boards are among the parts: their gains are known to differ */
    int have, of;
    const int *part; /* rows of report->energy that are counted */
    size_t n_part;
    const int *domain; /* domains that are counted or missed */
    size_t n_domain;
    const char *set, *instrument, *reasons; /* in the report's arena */
    bool usable;                            /* there is something to say (value, or a reason why not) */
};

enum jm_cut_of {
    JM_CUT_MEASURED,
    JM_CUT_ESTIMATED,  /* only estimated rows */
    JM_CUT_OTHER_GPUS, /* GPUs that do not serve */
    JM_CUT_FED         /* as measured, but by the PDU or shelf where that is metered beside its inlets */
};

/* compute/cut.c: energy rows of the window → a cut. The facts of the tree must be there. */
int jm_tree_facts_init(struct jm_calc *c);
void jm_tree_facts_release(struct jm_tree_facts *t);
int jm_cut_make(struct jm_calc *c, const struct jm_calc_window *w, enum jm_boundary b, enum jm_cut_of of,
                struct jm_cut *out);
/* Fills the scratch of c->tree (row, failed, below, parts, said, pick) for the window, as a cut does. */
void jm_cut_rows(struct jm_calc *c, const struct jm_calc_window *w);
/* compute/windows.c: closes, orders. For each window that [from, to] touches:
 * size_t at = jm_windows_upto(c, to); while ((w = jm_windows_next(c, &at, from))) ... */
int jm_windows_init(struct jm_calc *c);
size_t jm_windows_upto(const struct jm_calc *c, int64_t to);
struct jm_calc_window *jm_windows_next(const struct jm_calc *c, size_t *at, int64_t from);
/* The window of this index in the report; NULL when it is none that is computed. */
const struct jm_calc_window *jm_windows_of(const struct jm_calc *c, int index);
/* compute/energy_rows.c: an energy row a window and channel that has energy or power. */
int jm_energy_rows(struct jm_calc *c);
/* compute/edges.c: the worst case from the readings around both edges. clock_s: what the stamps may be wrong
 * by besides half of a read's round trip. */
struct jm_bound;
void jm_energy_bound(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0, int64_t t1,
                     double clock_s, const struct jm_energy *e, struct jm_bound *out);
/* compute/clocks.c: what the clock that stamps a channel is wrong by, against that of the windows. */
struct jm_clock_doubt {
    double offset_s; /* it is ahead by so much: to be taken out; 0 */
    double bound_s;  /* what is left, at most; NAN: not known */
};
int jm_clock_doubt(struct jm_calc *c, const struct jm_channel *ch, int64_t at, struct jm_clock_doubt *out);
/* compute/steps.c: lags of all channels into the report, where the run made steps of load. */
int jm_lags_make(struct jm_calc *c);
bool jm_energy_channel(const struct jm_channel *ch); /* is integrated */
/* compute/tokens.c: tallies, latencies of all windows in one pass over the requests and their events, which
 * are handed on to an allocation that was begun (phase_run.h; NULL: none). */
struct jm_phase_work;
int jm_tally_requests(struct jm_calc *c, struct jm_phase_work *phases);
/* When all requests have been gone through. JM_ENOMEM. */
int jm_tally_done(struct jm_calc_window *w);
void jm_tally_release(struct jm_calc_window *w);
bool jm_request_qualifies(const struct jm_request *q, const struct jm_slo *slo);
bool jm_slo_given(const struct jm_slo *slo);
/* compute/results.c: the metrics of one window; compute/trials.c: over trials. */
int jm_results_window(struct jm_calc *c, const struct jm_calc_window *w);
/* The same at one boundary, of a cut. */
int jm_results_boundary(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut);
/* compute/facility.c: PUE times the energy at its point. JM_EUSAGE: the site is measured itself. */
int jm_results_facility(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *wall,
                        const struct jm_cut *site);
/* compute/between.c */
int jm_results_between(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *gpu,
                       const struct jm_cut *device, const struct jm_cut *wall);
int jm_results_trials(struct jm_calc *c);
/* compute/impact.c: what the results cost and emit. After the results over trials. */
int jm_impacts_make(struct jm_calc *c);
/* compute/ladder.c: levels of load, and a day made of them. After the results of the windows. JM_EUSAGE: a
 * load curve was given and the run has no levels. */
int jm_ladder_make(struct jm_calc *c);
/* compute/ladder_day.c: of the levels' power and tokens/s by trial; v[trial * n + level]. */
struct jm_ladder_cell {
    double power, half;       /* W, its half width; NAN */
    double tokens, qualified; /* a second; NAN */
};
int jm_ladder_day_make(struct jm_calc *c, struct jm_ladder *l, const struct jm_ladder_cell *v, size_t trials);
/* compute/groups.c: replicas and pools of a merged run. */
int jm_groups_make(struct jm_calc *c);
/* The facts of the tree as if only the GPUs of groups with this role (and name, unless NULL) served, until
 * they are restored, which is right after an error too. */
struct jm_groups_kept {
    unsigned char *serving;
    int absent;
    bool sut_known;
};
int jm_groups_select(struct jm_calc *c, const char *role, const char *name, struct jm_groups_kept *k);
void jm_groups_restore(struct jm_calc *c, struct jm_groups_kept *k);
/* compute/latency.c */
int jm_results_latency(struct jm_calc *c, const struct jm_calc_window *w);
/* compute/slices.c: parts of the windows by slice of the workload. */
int jm_slices_init(struct jm_calc *c);
void jm_slices_release(struct jm_calc *c);
int jm_slices_done(struct jm_calc *c); /* jm_tally_done of each part */
const struct jm_slo *jm_slices_slo(const struct jm_calc *c, const struct jm_request *q); /* of its slice */
bool jm_slices_slo_given(const struct jm_calc *c);
/* The part of the window that the request belongs to; NULL: none. */
struct jm_calc_window *jm_slices_part(const struct jm_calc *c, const struct jm_calc_window *w,
                                      const struct jm_request *q);
int jm_results_slices(struct jm_calc *c);
/* Results after `from` become rows of a slice, beside the others. */
int jm_slices_take(struct jm_calc *c, size_t from, const char *slice);
/* compute/results.c: tokens and requests a second, goodput. */
int jm_results_throughput(struct jm_calc *c, const struct jm_calc_window *w);
/* compute/session.c: what LoadGen's summary of an imported MLPerf session gives. */
int jm_results_session(struct jm_calc *c, const struct jm_calc_window *w);
bool jm_calc_is_session(const struct jm_run *run);
/* Index of the latency with this id, or -1. */
int jm_lat_find(const char *id);
/* compute/claims.c: what an imported file says of itself beside what was computed, while the samples are
 * there; what cannot be computed becomes a declared result. */
int jm_claims_make(struct jm_calc *c);
/* compute/series.c */
int jm_series_make(struct jm_calc *c);
/* From the first to the last reading or window; false: there is none. */
bool jm_series_extent(const struct jm_calc *c, int64_t *t0, int64_t *t1);
/* compute/outside.c: the stretches between the measured windows, and tokens into them. */
int jm_outside_init(struct jm_calc *c);
bool jm_outside_touches(const struct jm_calc *c, int64_t from, int64_t to);
void jm_outside_put(struct jm_calc *c, int64_t t, double tokens);
/* lengths.c; after phases */
int jm_lengths_make(struct jm_calc *c);

#endif
