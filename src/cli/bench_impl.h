/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of bench share: the recording, the load that is on now, and the windows laid over it. */
#ifndef JM_CLI_BENCH_IMPL_H
#define JM_CLI_BENCH_IMPL_H

#include <pthread.h>

#include "cli/bench.h"
#include "cli/benchlive.h"
#include "cli/benchorder.h"

enum {
    JM_BENCH_TRIALS = 1000,
    JM_BENCH_PILOT = 5 /* fewest trials of --until */,
    JM_BENCH_TRIALS_UNTIL = 30 /* most, unless --trials says */
};

/* Requests scheduled in a stretch of time, each judged by its contract when it ends. t1 0: none is counted.
 */
struct jm_bench_tally {
    int64_t t0, t1, scheduled, ok, good;
};

struct jm_bench_run {
    struct jm_session *s;
    struct jm_load *load;
    const struct jm_bench_opts *o;
    const struct jm_present *present;
    struct jm_plan *plan;
    struct jm_plan_run how;   /* trials, order, pauses, ladder: what the options and the plan's file say */
    bool ends;                /* the load has an end of its own */
    bool open_end;            /* and nothing says how long its window is */
    bool started;             /* the load was */
    bool in_turn;             /* each window has a load of its own, begun and ended with it */
    int64_t warmup, duration; /* duration: of a window, or how long a plan may go on */
    struct jm_load_cfg lc;
    const char *part; /* whose facts are put: a slice or a level; NULL: of the whole load */
    bool limited;     /* a load of this run was limited by the client */
    pthread_mutex_t lock;
    int64_t last_id;                /* of the requests so far */
    int64_t begin[JM_BENCH_TRIALS]; /* of each measured window so far */
    int trials;
    int lost; /* first error of the sink */
    struct jm_bench_tally tally;
    struct jm_bench_live live;
};

/* One of several things that are measured in turn. */
struct jm_bench_item {
    const struct jm_plan *plan; /* NULL: no load, the level 0 of a ladder */
    const char *name;           /* of its windows: "short", "load 90 %"; "": the trial alone names it */
    const char *part;           /* of its facts; NULL: the facts are the run's */
    const char *slice;          /* the slice that has the windows for itself; NULL */
    double level, offered;      /* percent of the capacity, requests/s; NAN: no ladder */
};

/* --- benchstep.c: windows over a load */
void jm_bench_fact(void *self, const char *key, const char *value);
void jm_bench_fact_number(struct jm_bench_run *b, const char *key, double v);
/* Of a window: "window.ID.KEY". */
void jm_bench_window_number(struct jm_bench_run *b, int id, const char *key, double v);
int jm_bench_new_load(struct jm_bench_run *b, const struct jm_plan *plan, struct jm_err *err);
void jm_bench_load_facts(struct jm_bench_run *b);
/* Waits for the end of a stretch under load, or until so many requests ended in it (0: no limit); true: a
 * signal came. */
bool jm_bench_under_load(struct jm_bench_run *b, const char *what, int64_t begin, int64_t end,
                         int64_t requests);
/* A stretch without load in a window; class: of an idle one. id may be NULL. */
int jm_bench_rest(struct jm_bench_run *b, enum jm_role role, const char *name, int trial, int64_t length,
                  int *id, struct jm_err *err);
int jm_bench_warm_up(struct jm_bench_run *b, const char *name, int trial, int64_t length, struct jm_err *err);
int jm_bench_window(struct jm_bench_run *b, const char *name, int trial, const struct jm_bench_item *item,
                    struct jm_err *err);
int jm_bench_drain(struct jm_bench_run *b, struct jm_err *err);
/* The load begins, unless it did; inside its first window, so that none of a plan that has an end is missed.
 */
int jm_bench_start_load(struct jm_bench_run *b, struct jm_err *err);
/* The pause before the next thing in turn. */
int jm_bench_cool_down(struct jm_bench_run *b, int trial, struct jm_err *err);

/* --- benchturn.c: things measured in turn, each with a load of its own, trial by trial */
int jm_bench_turns(struct jm_bench_run *b, const struct jm_bench_item *item, size_t n, struct jm_err *err);
/* Slices one after the other, or the whole plan again and again. */
int jm_bench_in_turn(struct jm_bench_run *b, struct jm_err *err);

/* --- benchladder.c: the capacity, then levels of it */
int jm_bench_ladder(struct jm_bench_run *b, struct jm_err *err);
/* The plan's slices at `rate` requests/s in all, in their proportions. NULL: no memory. */
struct jm_plan *jm_bench_scaled(const struct jm_plan *p, double rate);

/* --- benchuntil.c: are the trials so far enough? Waits until the requests of the trial just measured have
 * ended, while the load goes on. */
int jm_bench_enough(struct jm_bench_run *b, int trials, bool *stop, struct jm_err *err);

/* --- benchburst.c: stretches of prefill and of decode alone (docs/phases.md) */
int jm_bench_bursts(struct jm_bench_run *b, struct jm_err *err);

#endif
