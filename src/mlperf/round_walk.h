/* SPDX-License-Identifier: Apache-2.0 */
/* What lies below some folders: sessions, Training and Tiny results, results tables. Several threads look;
 * what they find comes in one order whatever their timing.
 *
 * Links: one that leads to a session stands for that session under its own name (inferred results are kept so
 * in some repositories), and one directly in a folder that was asked for is entered where it does not lead
 * back to that folder. All others are counted and left alone, so that no tree is endless. */
#ifndef JM_MLPERF_ROUND_WALK_H
#define JM_MLPERF_ROUND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/round.h"

struct jm_mlperf_progress {
    int64_t folders, sessions, done, bytes; /* looked into; found; read; of them */
    bool walking;
};

/* For the walk and for what is done with each of its finds. All may be called by several threads at once. */
struct jm_mlperf_pool_ops {
    bool (*stopped)(void *self);                                      /* NULL: never */
    void (*progress)(void *self, const struct jm_mlperf_progress *p); /* NULL: nobody looks */
    void *self;
};

struct jm_mlperf_found {
    enum { JM_FOUND_SESSION, JM_FOUND_TRAINING, JM_FOUND_TINY, JM_FOUND_TABLE, JM_FOUND_NAMEPLATE } kind;
    char *path;
};

struct jm_mlperf_walk {
    struct jm_mlperf_found *found; /* in natural order of their paths, each path once */
    size_t n;
};

/* Looks below every folder of asked, at most JM_WALK_DEPTH levels. Counts and troubles go to t. Fails where
 * the first look at a folder that was asked for fails, and without memory; interrupted is no failure. */
#define JM_WALK_DEPTH 64
int jm_mlperf_walk(const char *const *asked, size_t n, int jobs, const struct jm_mlperf_pool_ops *ops,
                   struct jm_round_table *t, struct jm_mlperf_walk *out, struct jm_err *err);
void jm_mlperf_walk_release(struct jm_mlperf_walk *w);

int jm_round_trouble_add(struct jm_round_table *t, const char *path, const char *why);

/* Calls fn(arg) in jobs threads and returns after the last. The caller's is one of them, so that nothing
 * depends on a thread that could not be made. */
void jm_mlperf_crew(int jobs, void *(*fn)(void *), void *arg);
/* Runs job(self, i) for every i below n on some threads, in any order; stops early when stopped says so or a
 * job fails (its error is kept). */
int jm_mlperf_each(size_t n, int jobs, const struct jm_mlperf_pool_ops *ops,
                   int (*job)(void *self, size_t i, struct jm_err *err), void *self, struct jm_err *err);

#endif
