/* SPDX-License-Identifier: Apache-2.0 */
/* What load is put on an endpoint: a plan of one or more slices, each with its arrivals, lengths, sessions
 * and contract. A plan is plain data and pure arithmetic: the same plan and seed give the same schedule and
 * the same requests, whatever the threads and whatever the server does. The simple settings (a concurrency, a
 * rate) are a plan of one slice, so that there is one path. */
#ifndef JM_LOAD_PLAN_H
#define JM_LOAD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/span.h"
#include "base/str.h"

enum jm_arrive {
    JM_ARRIVE_CLOSED,   /* users: each sends when its last request ended */
    JM_ARRIVE_POISSON,  /* open loop, exponential gaps */
    JM_ARRIVE_CONSTANT, /* open loop, equal gaps, the first at once */
    JM_ARRIVE_GAMMA, /* open loop, gaps of shape `burstiness` and scale 1 / (rate burstiness), as in vLLM */
    JM_ARRIVE_BURST, /* `count` requests at once */
    JM_ARRIVE_TRACE  /* as a file says */
};

/* A number of tokens (or turns). */
enum jm_length_kind { JM_LEN_NONE, JM_LEN_FIXED, JM_LEN_UNIFORM, JM_LEN_LOGNORMAL };
struct jm_length {
    enum jm_length_kind kind;
    int64_t min, max;     /* fixed: both; lognormal: what it is cut to */
    double median, sigma; /* lognormal: exp(ln median + sigma z) */
};

enum jm_ramp { JM_RAMP_LINEAR, JM_RAMP_EXPONENTIAL };
/* A stretch of time in which the rate (requests/s) or the number of users goes from `from` to `to`. */
struct jm_stage {
    double from, to;
    int64_t duration; /* ns */
    enum jm_ramp ramp;
};

enum jm_oversize { JM_OVERSIZE_REFUSE, JM_OVERSIZE_CLIP, JM_OVERSIZE_SKIP };

struct jm_slice {
    char name[32];                /* "" for the only one */
    char tier[32];                /* quality tier, "" none */
    char tenant[32], replica[32]; /* whose requests; the group of GPUs that serves them; "" not said */
    enum jm_arrive arrive;
    double rate;       /* requests/s */
    double burstiness; /* gamma */
    int users;         /* closed */
    struct jm_stage *stage;
    size_t stages;    /* instead of rate or users; the slice ends with the last one */
    int64_t count;    /* most requests; 0: no limit. burst: how many */
    int64_t start_ns; /* begins so long after the load */
    int64_t min_ns;   /* with count: goes on at least so long (MLPerf) */
    struct jm_length isl, osl;
    const char *prompts;                  /* JSONL file instead of synthetic prompts */
    int64_t prefix_groups, prefix_tokens; /* shared prefix: so many different ones, so long; 0: none */
    bool same_prompt;                     /* every request sends the same prompt */
    struct jm_length turns;               /* sessions: requests of one conversation; none: 1 */
    int64_t think_ns;                     /* between an answer and the next turn */
    bool think_random;                    /* exponential with this mean */
    double cancel_share;                  /* of requests that the client gives up; 0: none */
    int64_t cancel_ns, cancel_tokens;     /* after so long, after so many tokens; -1 */
    double ttft_s, tpot_s, e2e_s;         /* contract; NAN: none */
    const char *trace, *trace_format;     /* file; NULL or "auto": by its content */
    double time_scale;                    /* 2: twice as fast */
    int64_t trace_from;                   /* ns of the trace that are left out at its beginning */
    enum jm_oversize oversize;            /* requests of the trace that the model cannot hold */
    bool trace_sessions;                  /* conversations of the file are sent turn by turn */
};

/* In which order things come that are measured one after the other, trial by trial: as written each time;
 * forth and back (A B, B A), which is free of a linear drift; or drawn anew for each trial. */
enum jm_bench_order { JM_ORDER_WRITTEN, JM_ORDER_ABBA, JM_ORDER_RANDOM };
#define JM_BENCH_ORDERS "as-written|abba|random"

/* How a plan is measured: what its file says beside the slices, or the command line. */
#define JM_LEVELS_MOST 64
struct jm_plan_run {
    int64_t trials;               /* 0: not said */
    int order;                    /* enum jm_bench_order; -1: not said */
    int64_t cool_down;            /* ns; -1: not said */
    double cool_to;               /* degrees Celsius; NAN */
    double until;                 /* 0.02: trials until the half width is 2 % of the mean; NAN */
    int64_t duration, warmup;     /* of a window, before it; ns; -1: not said */
    double level[JM_LEVELS_MOST]; /* ladder: percent of the capacity, as written; 0: loaded idle */
    size_t levels;                /* 0: no ladder */
    double capacity;              /* requests/s; 0: to be found */
    int64_t probe;                /* ns, of a step of the search for it; -1: not said */
};

struct jm_plan {
    struct jm_slice *slice;
    size_t slices;
    struct jm_plan_run run;
    bool sequential;                 /* one slice after the other, each in a window of its own */
    char scenario[32];               /* "mlperf-server", "mlperf-offline", "" */
    char label[48];                  /* what a result of it may be called */
    char benchmark[48], source[160]; /* of the scenario's constraints */
    double percentile;               /* at which they hold; 0: of every request */
    char **arena;                    /* texts of the plan */
    size_t n_arena;
};

void jm_slice_init(struct jm_slice *s);
void jm_plan_run_init(struct jm_plan_run *r);
/* "2 %": above 0, at most 50 %. */
int jm_until_parse(double *out, const char *text, struct jm_err *err);
/* "100,75,50,25,0": percent of the capacity, each once, 0 (loaded idle) to 150; "true" or "default": 100,90,
 * ... 10,0. */
int jm_levels_parse(struct jm_plan_run *out, const char *text, struct jm_err *err);
struct jm_plan *jm_plan_new(void);
void jm_plan_free(struct jm_plan *p);
struct jm_plan *jm_plan_copy(const struct jm_plan *p); /* NULL without memory */
/* Appends a slice with default values; NULL without memory (or beyond JM_SLICES_MOST). */
#define JM_SLICES_MOST 64
#define JM_STAGES_MOST 256
struct jm_slice *jm_plan_add(struct jm_plan *p);
/* Keeps a copy of a text, or of bytes, as long as the plan lives; NULL without memory. */
char *jm_plan_keep(struct jm_plan *p, struct jm_span s);
/* Is it whole and without contradiction? One sentence that names the slice and what to change. */
int jm_plan_check(const struct jm_plan *p, struct jm_err *err);
/* How long until the last planned arrival, ns after the start; -1: without end, or not known (trace). */
int64_t jm_slice_span(const struct jm_slice *s);
bool jm_slice_open(const struct jm_slice *s);     /* its requests have times of their own */
bool jm_slice_sessions(const struct jm_slice *s); /* more than one turn is possible */
int jm_slice_most_users(const struct jm_slice *s);
/* Users of a closed slice t ns after the start; 0 after its end. */
int jm_slice_users_at(const struct jm_slice *s, int64_t t);
double jm_slice_most_rate(const struct jm_slice *s);
const char *jm_arrive_name(enum jm_arrive a);
/* "closed loop, 8 users", "poisson, 4/s", "ramp 1/s to 8/s" */
void jm_slice_words(const struct jm_slice *s, char *out, size_t n);

/* "512", "64..1024", "lognormal 512 0.8", "lognormal 512 0.8 16..4096". */
int jm_length_parse(struct jm_length *out, const char *text, struct jm_err *err);
void jm_length_words(const struct jm_length *l, char *out, size_t n);
double jm_length_mean(const struct jm_length *l); /* NAN: none */
int64_t jm_length_most(const struct jm_length *l);
int64_t jm_length_draw(const struct jm_length *l, struct jm_rng *r); /* -1: none */
/* "4 x 1024" */
int jm_prefix_parse(struct jm_slice *s, const char *text, struct jm_err *err);
/* "10 % after 500 ms", "10 % after 20 tokens" */
int jm_cancel_parse(struct jm_slice *s, const char *text, struct jm_err *err);
/* "2 s", "exponential 2 s" */
int jm_think_parse(struct jm_slice *s, const char *text, struct jm_err *err);

/* --- arrivals (shape.c). Time is rescaled: arrivals of a process with one a second on average, mapped
 * through the integral of the rate; so that every ramp has every kind of arrivals, on one absolute schedule.
 */
struct jm_shape {
    const struct jm_slice *s;
    struct jm_rng rng;
    double sum;           /* arrivals expected until the latest one */
    int64_t k;            /* its number, -1 before the first */
    size_t stage;         /* where it lies */
    double before, begin; /* expected arrivals and seconds before that stage */
};
void jm_shape_init(struct jm_shape *g, const struct jm_slice *s, uint64_t seed, int slice);
/* The next arrival's time, ns after the start of the load; false: the slice is over. Not for traces and
 * closed loops. */
bool jm_shape_next(struct jm_shape *g, int64_t *t);

/* --- what request k of a slice is, beside its time: drawn from (seed, slice, k) alone */
struct jm_draw {
    int64_t isl, osl; /* -1: no wish */
    int64_t turns;
    int64_t prefix_group; /* -1: none */
    bool cancel;
};
void jm_slice_draw(const struct jm_slice *s, uint64_t seed, int slice, int64_t k, struct jm_draw *out);
/* The time between turn and turn + 1 of session k, ns. */
int64_t jm_slice_think(const struct jm_slice *s, uint64_t seed, int slice, int64_t k, int turn);
/* A stream for jm_rng_init_stream that no other purpose uses. */
uint64_t jm_plan_stream(int slice, int64_t k, int purpose);

/* --- files (plan_yaml.c): docs/load.md describes the format. JM_EUSAGE with file, line and column. */
int jm_plan_yaml(struct jm_span text, const char *file, struct jm_plan **out, struct jm_err *err);

/* --- MLPerf scenarios (mlperf.c): the constraints of a benchmark, from model/mlperf_limits.tsv */
struct jm_mlperf {
    char benchmark[48];    /* "llama2-70b" */
    char round[16];        /* "v5.1": the table's own */
    double ttft_s, tpot_s; /* Server, NAN: none */
    double e2e_s;          /* Server, NAN: none */
    int64_t samples;       /* Offline: least number; Server: least queries */
    int64_t min_ns;
    double percentile; /* of the constraints */
    char source[160];
};
/* "llama2-70b-99" and "-99.9" name accuracy targets, which do not change the constraints. */
int jm_mlperf_find(const char *benchmark, const char *scenario, struct jm_mlperf *out, struct jm_err *err);
/* A plan for it. target_qps: Server only. samples 0: as the table says. */
int jm_mlperf_plan(const char *scenario, const char *benchmark, double target_qps, int64_t samples,
                   struct jm_plan **out, struct jm_err *err);

#endif
