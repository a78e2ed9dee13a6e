/* SPDX-License-Identifier: Apache-2.0 */
/* From folders to the table of their results: one session up to several rounds, in parallel. A row a session;
 * the session itself is gone before the next one is read. */
#ifndef JM_MLPERF_ROUNDS_H
#define JM_MLPERF_ROUNDS_H

#include "import/mlperf_round.h"
#include "mlperf/round_walk.h"
#include "mlperf/submission.h"
#include "model/round.h"

/* Lists parted by commas, NULL: all. Case does not matter; a * or ? makes a shell pattern of an entry. Else
 * round, scenario, division and availability are whole words, a model is one or its beginning ("llama2-70b"
 * is llama2-70b-99 too), and system, submitter and accelerator are any part of it. */
struct jm_round_filter {
    const char *round, *model, *scenario, *division, *availability, *submitter, *system, *accelerator;
};
/* unknown: whether what the row does not say (yet) passes. */
bool jm_round_passes(const struct jm_round_filter *f, const struct jm_round_row *r, bool unknown);

/* Everything that is known by rule: the session for itself (jm_mlperf_check) and in its submission. m: what
 * stands around it; release c with jm_mlperf_checked_release, after a failure too. */
int jm_mlperf_judge(const struct jm_mlperf_session *s, const struct jm_mlperf_result *r, const char *revision,
                    const struct jm_mlperf_submission *m, struct jm_mlperf_checked *c, struct jm_err *err);

struct jm_mlperf_rounds_opts {
    int jobs;
    bool check; /* judge each by the rules; else ptd_logs.txt and hashes are left alone */
    const char *const *reported;
    size_t n_reported; /* tables of published results that lie elsewhere */
    struct jm_round_filter filter;
    const struct jm_mlperf_round *as; /* every session is of this round; NULL: as path and date say */
    struct jm_mlperf_pool_ops ops;
};

/* Rows come in the order of jm_round_compare, whatever the number of jobs. A session that cannot be read is a
 * row with its error, a folder that cannot be read one of the troubles. Interrupted: what was done until
 * then. t is released by the caller, after a failure too. */
int jm_mlperf_rounds(const char *const *asked, size_t n, const struct jm_mlperf_rounds_opts *o,
                     struct jm_round_table *t, struct jm_err *err);

#endif
