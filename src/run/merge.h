/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of jm_run_merge share: merge.c copies, merge_facts.c knows hosts, duplicates and groups. */
#ifndef JM_RUN_MERGE_H
#define JM_RUN_MERGE_H

#include "run/internal.h"

#define JM_MERGE_RUNS 256

struct jm_merge_seen; /* a channel that was put */

struct jm_merge {
    const struct jm_run_merge_opts *o;
    struct jm_run_writer *w;
    struct jm_domain_tree tree;
    int windows, first_window;
    int64_t last_request;
    bool any_requests;
    /* of the run that is being added */
    const struct jm_run *r;
    size_t index;
    int64_t shift; /* its mono + shift is the first one's mono */
    int64_t first_request;
    bool take_windows;
    const char *r_host, *host; /* as it calls itself (of r), and as it is called here: another host may have
                                  the same name */
    bool again;                /* its machine was recorded before */
    /* of all */
    struct {
        char name[96], boot[64], calls[96]; /* calls: as it called itself */
        int64_t shift;
    } known[JM_MERGE_RUNS];
    size_t n_known, machine; /* machine: index of this run's among known */
    struct {
        char name[96];
        size_t machine;
    } alias[2 * JM_MERGE_RUNS];
    size_t n_alias;
    bool many;                /* the runs are of more than one machine */
    int64_t common0, common1; /* the window that all share, on the first one's clock */
    struct jm_merge_seen *seen;
    size_t n_seen, cap_seen;
    int64_t duplicates;
    struct jm_str serving; /* keys of the GPUs that serve, as far as the runs know */
    bool serving_unknown;  /* a host with GPUs does not say which */
    struct jm_str conflict, endpoint;
    struct jm_err *err;
};

/* Finds r_host, host and machine. */
int jm_merge_host(struct jm_merge *m);
/* Is channel `index` of the run one that was put before, read by another or recorded twice? Then c is a
 * mirror. */
int jm_merge_known(struct jm_merge *m, size_t index, struct jm_channel *c);
/* Keys that are put once for all, at the end. */
bool jm_merge_own_env(const char *key);
/* merge.N.* of the run that was added. */
int jm_merge_facts(struct jm_merge *m);
/* group.N.*, sut.gpus and what else concerns all. */
int jm_merge_groups(struct jm_merge *m);
void jm_merge_release(struct jm_merge *m);

#endif
