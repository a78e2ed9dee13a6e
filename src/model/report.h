/* SPDX-License-Identifier: Apache-2.0 */
/* What is concluded from a run: results, findings, tables and series. compute fills it, audit adds its
 * findings and the validity, show renders it. It is never stored: the same run file gives the same report
 * again.
 *
 * Everything is owned by the report (one arena) and goes with jm_report_free. */
#ifndef JM_MODEL_REPORT_H
#define JM_MODEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/channel.h"
#include "model/factor.h"
#include "model/phase.h"
#include "model/pue.h"
#include "model/request.h"
#include "model/window.h"
#include "model/words.h"

/* An interval and what it stands for. method == NULL: there is none (said in excludes). */
struct jm_uncertainty {
    double lo, hi;
    double level;         /* 0.95 */
    double dof;           /* INFINITY: normal; NAN: does not apply */
    const char *method;   /* "GUM, edges + quantum", "t over trials", ... */
    const char *includes; /* comma-separated terms */
    const char *excludes; /* "board gain (not calibrated)" */
};

/* A number never travels without these. */
struct jm_quantity {
    bool have; /* false: there is no value (null in JSON), reasons say why */
    double value;
    const char *unit; /* "J/token", "W", "s" */
    enum jm_boundary boundary;
    enum jm_provenance provenance;
    struct jm_uncertainty u;
    enum jm_validity validity;
    const char *reasons; /* comma-separated reason codes (status names or finding ids), NULL when valid */
};

struct jm_result {
    const char *metric; /* catalogue id */
    struct jm_quantity q;
    const char *set;               /* "gpu x 8", "device{gpu,package,dram}", "wall{inlet_ac}" */
    int window;                    /* index into report->windows, -1: whole run */
    int trial;                     /* -1: over all */
    const char *slice;             /* NULL: all */
    const char *phase;             /* "prefill", "decode", NULL */
    double quantile;               /* 0.99 of a latency, NAN: none */
    int64_t n;                     /* sample count behind it, -1: does not apply */
    double numerator, denominator; /* NAN where it is no ratio */
    const char *numerator_name, *denominator_name;
    int of, have_of;        /* devices expected and counted; 0, 0 where it does not apply */
    const char *instrument; /* meter and channel it rests on */
    const int *domain;      /* domains that it counts or misses, n_domain of them */
    size_t n_domain;
    bool summarised; /* a row over trials stands for it */
};

/* A slice of the workload in one window. */
struct jm_slice_total {
    const char *name, *quality, *shape; /* quality, shape: NULL not known */
    int window;                         /* index into report->windows */
    bool alone;                         /* it had the window for itself, so that its energy is the window's */
    int64_t ok, failed, aborted, cancelled /* of the aborted: by the plan */, qualified /* -1: no contract */;
    double output, input; /* tokens, NAN: nobody counted */
};

struct jm_finding {
    const char *id; /* stable: "counter.reset", "window.short", ... */
    enum jm_severity severity;
    const char *text;          /* one sentence */
    const char *evidence;      /* channel, request ids, numbers */
    int window;                /* -1: whole run */
    int domain;                /* only results that count this domain are concerned; -1: any */
    enum jm_boundary boundary; /* only results at this boundary are concerned; JM_B_NONE: any */
    unsigned profiles;         /* bit per profile for which the severity holds; 0: all */
};

/* Energy of one channel in one window: the table behind the boundaries. Rows of a window follow each other.
 */
struct jm_energy_row {
    int window, channel; /* indices */
    int domain;
    bool counted; /* part of at least one boundary's cut */
    bool missed;  /* has no value, and a boundary counts its domain as missing */
    enum jm_status status;
    double joules, lo, hi;  /* 95 %; NAN where none */
    double covered_s;       /* seconds of the window that readings cover */
    const char *method;     /* "counter", "trapezoid", "block", "trailing", ... */
    const char *note;       /* "3 gaps, 1.2 s", ... NULL */
    double u, dof;          /* standard uncertainty, J, and its degrees of freedom; NAN where none */
    double gap_s;           /* seconds without data inside */
    double lower_bound;     /* what is known to have passed when there is no value, NAN otherwise */
    int64_t refreshes;      /* refreshes of the instrument seen */
    double raw;             /* J as the instrument has it, where a passport corrects it; NAN */
    const char *correction; /* "period 100 ms, lag 30 ms, gain 0.95, offset 1.2 W taken out"; NULL: none */
    const char *passport;   /* its SHA-256; NULL */
    double bound, needs_s;  /* worst case of the energy, J, and the length of a window that would keep it
                               within the tolerance asked for; NAN not known or not asked for */
};

/* A passport of instruments that energies are corrected by. */
struct jm_passport_used {
    const char *name, *sha256, *date, *host, *driver, *run_sha256;
    bool stored;        /* the run keeps it; else it was given to look at the run */
    bool any_driver;    /* of another driver or firmware all the same */
    int rows, channels; /* of it, and channels of the run that it is of */
};

/* How late a channel follows the steps of load that the run made on purpose. */
struct jm_lag_row {
    int channel;
    const char *verdict; /* "ok", "few", "constant", "unseen", "ambiguous", "beyond" */
    double lag, u;       /* s, standard uncertainty; NAN unless ok */
    double r, confidence;
    bool used;       /* energies of this channel are taken that much later */
    const char *why; /* unless ok; "" */
};

/* A series for pictures: min/max per column over [t0, t1], gaps as NAN. */
struct jm_series {
    int channel; /* -1: derived */
    int window;  /* of a series that belongs to one, else -1 */
    const char *label, *unit;
    int64_t t0, t1;
    size_t n;
    double *min, *max; /* n values each */
};

struct jm_histogram {
    const char *metric; /* "ttft", "tpot.excl_first", "itl.chunk", "e2e" */
    double *edge;       /* n + 1, seconds */
    uint64_t *count;    /* n */
    size_t n;
    uint64_t total;
};

struct jm_dist { /* of ISL, OSL */
    int64_t n;
    double mean, min, p50, p90, p99, max; /* NAN when n == 0 */
};

/* A number that an imported file states about itself, beside what is computed again from the same file. It is
 * never a result where there is one of our own. */
struct jm_claim {
    const char *key, *metric, *stat, *unit, *source; /* as jm_run_claim; "" where there is none */
    enum jm_boundary boundary;
    int window;      /* index, -1: the whole file */
    double value;    /* as the file has it; NAN: no number */
    double claimed;  /* in the metric's unit, NAN where metric or unit are not known */
    double again;    /* computed again, in the metric's unit; NAN: it cannot be */
    bool differs;    /* both are there, and further apart than the file's digits explain */
    const char *why; /* of a difference, or why there is nothing to compare; NULL */
};

struct jm_kv {
    const char *key, *value;
};

struct jm_raw_ref { /* raw-data manifest */
    const char *name, *sha256;
    int64_t bytes;
    bool kept; /* stored in the run file */
};

struct jm_meter_info {
    const char *name, *instance, *state, *reason, *mend;
    int channels;
};

struct jm_token_totals { /* of the measure windows; -1 unknown */
    int64_t output, input, cached, reasoning;
    int64_t unknown_requests; /* requests whose output tokens nobody counted */
    struct jm_dist isl, osl;
};

struct jm_request_totals {
    int64_t ok, failed, aborted, qualified; /* qualified -1: no contract */
    int64_t cancelled;                      /* of the aborted: by the plan of the load */
    int64_t by_end[JM_END_COUNT];
};

/* A place where the serving engine tells of itself. */
struct jm_engine_source {
    const char *url;
    const char *dialect, *title; /* "vllm", "vLLM"; NULL: not known */
    const char *reason;          /* why there is nothing; NULL */
    bool host;                   /* the host's CPU, no engine */
    bool per_step;               /* counts tokens as they are made */
    bool prompt_has_cached;
    int64_t scrapes, silent; /* texts, and times without an answer */
    double longest_s;        /* longest stretch between two texts; NAN */
};

/* What the engine says about one window, beside what the client knows. NAN: not known. */
struct jm_engine_window {
    int window;
    int of, have;  /* sources, and those that cover the window */
    bool slots;    /* per step by its slots: aborted tasks only as far as they were seen to vanish */
    bool per_step; /* how its tokens are counted: as they are made, or when a request ends */
    double tokens, tokens_lo, tokens_hi; /* generated */
    double client, client_u; /* output tokens of successful requests by the same rule, and their doubt */
    double client_other;     /* tokens that the client saw of requests that did not succeed */
    double prompt, client_prompt, cached;
    double requests, client_requests;  /* ended */
    double requests_lo, edge_requests; /* at least; ours that were in flight at the edges */
    double aborted, failed, preempted;
    double prefix_ask, prefix_hit;
    double lost; /* tokens of aborted tasks that no counter has */
    double running_max, in_flight_max;
    double excess, excess_share;   /* requests in the engine that are not ours: mean, share of the texts */
    double queue_min, queue_share; /* waiting: least, share of the texts with any */
    double kv_max;
    double cpu_host;    /* share of the host's CPU */
    double cpu_process; /* cores that the busiest process of the endpoint used */
    double gpu_busy;    /* mean utilisation of the serving GPUs, 0 to 1 */
    int resets, vanished;
    bool started; /* its process began inside */
    double gap_s; /* longest stretch without a text inside */
};

/* From the GPU to the wall (docs/reconciliation.md): one row a domain and window. */
struct jm_reconcile_child {
    int domain;
    double joules;
};

/* Another instrument of the same domain, compared and never added. */
struct jm_reconcile_other {
    int row; /* of report->energy; -1: the sum of the domain's supplies */
    const char *instrument;
    bool comparable, agree;
    double joules, difference, bound; /* difference: this minus the chosen one */
};

struct jm_reconcile_row {
    int window, domain, depth; /* depth: domains with instruments around it */
    int row;                   /* of report->energy: the chosen instrument, or one that failed; -1: a sum */
    bool summed;               /* of its addends */
    int parts, said;           /* addends or inlets that make it up, and how many of them have a value */
    const char *instrument;
    enum jm_status status;
    enum jm_provenance provenance;
    double joules, lo, hi;                     /* 95 %; NAN without a value */
    bool gain_known;                           /* the interval holds the instrument's gain */
    const struct jm_reconcile_child *contains; /* outermost measured domains inside */
    size_t n_contains;
    double contained;                                   /* J of them; NAN: none */
    double unexplained, unexplained_lo, unexplained_hi; /* joules - contained, with its sign */
    double bound;                       /* what both sides' errors allow, unknown gains by a prior included */
    double efficiency, efficiency_half; /* of an inlet: node over inlet; NAN */
    const struct jm_reconcile_other *others;
    size_t n_others;
};

/* A group of GPUs of a merged run in a window. */
struct jm_group_energy {
    const char *name, *role; /* "serve", "prefill", "decode" */
    int window, have, of;
    double seconds, joules, lo, hi; /* NAN: not all of its GPUs have a value */
    const char *per; /* what tokens are: "input token", "decode token"; NULL: none of its own */
    double tokens;
    bool gain_unknown; /* the interval excludes it */
    enum jm_provenance provenance;
};

/* Money, carbon or water of an energy, by one factor. */
struct jm_impact {
    struct jm_result x; /* as every result; unit by the factor */
    size_t base;        /* result that it is made of */
    int factor;         /* of report->factors; -1: none */
    const char *zone;   /* "FR" */
    double mean;        /* of the factor over the window, weighed by the energy; NAN */
    double estimated;   /* share of it that the source itself calls estimated or forecast */
    bool even;       /* the factor changed inside and the readings are too coarse to say how much energy fell
                        in each part: it was spread evenly */
    const char *why; /* a sentence: why there is no value; NULL */
};

/* Successful requests of the measure windows by what they brought and what they got. */
struct jm_length_cell {
    int64_t n;             /* requests */
    int64_t n_energy;      /* of them with an energy of their own */
    double joules, tokens; /* of those: allocated, over their lives; their output tokens */
};
#define JM_LENGTH_BINS 12
struct jm_length_map {
    size_t nx, ny;               /* at most JM_LENGTH_BINS each */
    const double *isl, *osl;     /* edges, nx + 1 and ny + 1 whole numbers: a bin is [edge, next) */
    struct jm_length_cell *cell; /* ny rows of nx */
    int64_t unknown;             /* requests whose tokens nobody counted: in no bin */
};

/* An hour by UTC that measured windows touch, and one factor by time: what was emitted in it. */
struct jm_hour {
    int factor;          /* of report->factors */
    enum jm_boundary at; /* of the joules */
    int64_t t0;          /* its beginning, Unix time, ns */
    double seconds;      /* of measured windows inside */
    double joules;       /* of them; NAN: not known */
    double value;        /* of the factor over them, weighed by the energy; NAN: a part has none */
    double grams;        /* NAN: no value */
    bool estimated;      /* a part of the factor is estimated or forecast by its source */
    bool even;           /* the joules of a window were spread evenly over its time */
};

/* A load ladder: what was measured at shares of the capacity (docs/load.md). */
enum jm_ladder_figure {
    JM_LF_RATE, /* requests_per_s */
    JM_LF_TOKENS,
    JM_LF_POWER,
    JM_LF_OUTPUT,    /* j_per.output_token */
    JM_LF_QUALIFIED, /* j_per.qualified_token */
    JM_LF_ATTAINMENT,
    JM_LF_TTFT, /* p99 */
    JM_LF_TPOT, /* p99 */
    JM_LF_COUNT
};
struct jm_ladder_level {
    double percent;                  /* of the capacity; 0: loaded idle */
    double offered;                  /* requests/s */
    int window, windows;             /* the first one, in report->windows; how many: one a trial */
    struct jm_result x[JM_LF_COUNT]; /* of the window, or over trials; metric NULL: there is none */
};
/* A day (or week) of an operator's load curve, interpolated between levels. */
struct jm_ladder_day {
    const char *file;                        /* NULL: no curve was given */
    bool share;                              /* the curve is in parts of the capacity */
    double hours;                            /* it covers */
    size_t steps, at_level, between, beyond; /* beyond: outside of the measured levels, refused */
    double beyond_least, beyond_most;        /* loads of those, percent; NAN */
    double missed; /* of the power of the inner levels, each left out and interpolated from its neighbours:
                      the worst error, a part; NAN: there are no three levels */
    struct jm_result energy, output, qualified; /* kWh a day, J/token; metric NULL: none */
};
struct jm_ladder {
    double capacity;               /* requests/s; NAN not known */
    const char *by;                /* how it was found; NULL */
    const char *planned;           /* the levels that there should be; NULL */
    enum jm_boundary boundary;     /* of its energies */
    const char *set;               /* NULL: no level has a power */
    bool contract;                 /* qualified tokens are told */
    struct jm_ladder_level *level; /* highest first */
    size_t n;
    int *of_window;                      /* level of each window, -1 */
    struct jm_result overall, overall_q; /* tokens_per_j over all levels; metric NULL: none */
    double idle_share;                   /* power at loaded idle / at the highest level; NAN */
    struct jm_ladder_day day;
};

struct jm_report {
    /* run */
    const char *id, *label, *file, *sha256 /* NULL: not sealed */, *created, *kind /* recorded|imported */,
        *source;
    const char *joulemark; /* version that recorded */
    bool cut, sealed, simulated;
    struct jm_kv *env;
    size_t n_env;
    struct jm_meter_info *meters;
    size_t n_meters;
    struct jm_raw_ref *raw;
    size_t n_raw;
    const struct jm_channel *channels; /* borrowed from the run: keep it open as long as the report */
    size_t n_channels;
    const struct jm_domain_tree *tree; /* borrowed from the run */
    int64_t real_offset;               /* real = mono + real_offset, ns, at the first window */
    struct jm_window *windows;
    size_t n_windows;
    double slo_ttft, slo_tpot; /* objectives that requests are held to, s; NAN: none */
    bool slo_given;            /* for every slice, also one with a contract of its own in env */
    int trials; /* measured repetitions of the plan: distinct trial numbers of the measure windows */
    struct jm_mark *marks;
    size_t n_marks;
    /* concluded */
    enum jm_profile profile;
    enum jm_validity validity;
    struct jm_result *results;
    size_t n_results, cap_results;
    struct jm_result *sliced; /* of slices that ran at the same time, beside the results of their window */
    size_t n_sliced;
    struct jm_slice_total *slices;
    size_t n_slices;
    struct jm_finding *findings;
    size_t n_findings, cap_findings;
    struct jm_group_energy *groups; /* by window */
    size_t n_groups;
    struct jm_energy_row *energy;
    size_t n_energy, cap_energy;
    struct jm_reconcile_row *reconcile; /* by window, outermost first */
    size_t n_reconcile, cap_reconcile;
    struct jm_series *series;
    size_t n_series, cap_series;
    struct jm_histogram *hist;
    size_t n_hist, cap_hist;
    struct jm_token_totals tokens;
    struct jm_request_totals requests;
    struct jm_claim *claims; /* of an imported run */
    size_t n_claims;
    size_t *claim_order; /* indices of the claims by window, those of a window as they stand */
    bool has_requests;
    struct jm_ladder *ladder;  /* NULL: the run has no levels of load */
    struct jm_factor *factors; /* what energies were multiplied by, without their steps */
    size_t n_factors;
    struct jm_impact *impacts;
    size_t n_impacts, cap_impacts;
    struct jm_pue pue;      /* that the facility was made with; value 0: none */
    struct jm_wue wue;      /* that water.site was made with; value 0: none */
    struct jm_kv *declared; /* facts declared when looking at the run, not kept in it */
    size_t n_declared;
    struct jm_length_map *lengths; /* NULL: no successful request with counted tokens */
    struct jm_hour *hours;         /* of carbon factors by time; by factor, then by time */
    size_t n_hours, cap_hours;
    struct jm_phases *phases; /* NULL: no requests, or no measure window */
    const char *impact_note;  /* what to know of the boundary they are at; NULL */
    struct jm_lag_row *lags;  /* of a run with steps of load */
    int lag_reference;        /* channel that lags are behind; -1: the steps themselves */
    size_t n_lags;
    struct jm_passport_used *passports;
    size_t n_passports;
    double tolerance;        /* of the energy of a window, asked for; 0: none */
    const char *engine_mode; /* "auto", "given", "off", NULL: not known */
    struct jm_engine_source *engine;
    size_t n_engine;
    struct jm_engine_window *engine_windows;
    size_t n_engine_windows;
    void *arena;
};

int jm_report_new(struct jm_report **out, struct jm_err *err);
void jm_report_free(struct jm_report *r);
/* Memory that lives as long as the report; NULL when out of memory. Zeroed. */
void *jm_report_alloc(struct jm_report *r, size_t n);
/* The claims about a window (-1: the whole file): claim_order[first] to claim_order[first + n - 1]. */
size_t jm_report_claims(const struct jm_report *r, int window, size_t *first);
/* Formatted text in the arena; NULL when out of memory. */
const char *jm_report_text(struct jm_report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends; the returned row is initialised (window -1, NANs, no value) and stays valid until the next call.
 * NULL: no memory. */
struct jm_result *jm_report_result(struct jm_report *r, const char *metric);
struct jm_finding *jm_report_finding(struct jm_report *r, const char *id, enum jm_severity sev,
                                     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
struct jm_energy_row *jm_report_energy(struct jm_report *r);
struct jm_reconcile_row *jm_report_reconcile(struct jm_report *r);
struct jm_impact *jm_report_impact(struct jm_report *r);
struct jm_hour *jm_report_hour(struct jm_report *r);
struct jm_series *jm_report_series(struct jm_report *r, size_t n);
struct jm_histogram *jm_report_hist(struct jm_report *r, size_t n);
/* First result with this metric (and boundary unless JM_B_NONE, and window unless -2), or NULL. */
const struct jm_result *jm_report_find(const struct jm_report *r, const char *metric, enum jm_boundary b,
                                       int window);

#endif
