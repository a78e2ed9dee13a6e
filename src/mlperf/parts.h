/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of a session's parts. Each fails for want of memory only; what a file says wrong is marked in
 * its part. */
#ifndef JM_MLPERF_PARTS_H
#define JM_MLPERF_PARTS_H

#include "mlperf/arena.h"
#include "mlperf/session.h"
#include "wire/loadgen_log.h"
#include "wire/log_lines.h"
#include "wire/ptd_log.h"

/* client.json or server.json, whole. */
int jm_mlperf_side_read(struct jm_span text, struct jm_mlperf_arena *a, struct jm_mlperf_side *out);

/* ---- LoadGen's logs, in blocks */
#define JM_MLPERF_FACTS 1024
struct jm_mlperf_loadgen_reader {
    struct jm_mlperf_loadgen *out;
    struct jm_mlperf_arena *arena;
    struct jm_log_lines lines;
    struct jm_str scratch, value;
    size_t cap;
    bool summary;
    struct jm_loadgen_window window;
    uint16_t slot[4 * JM_MLPERF_FACTS]; /* of facts by the hash of their key; 0: free, else index + 1 */
};
/* The detail log first, then the summary, into one out. */
void jm_mlperf_loadgen_init(struct jm_mlperf_loadgen_reader *r, struct jm_mlperf_loadgen *out,
                            struct jm_mlperf_arena *a);
void jm_mlperf_loadgen_release(struct jm_mlperf_loadgen_reader *r);
int jm_mlperf_loadgen_block(void *reader, struct jm_span block, struct jm_err *err);
int jm_mlperf_loadgen_end(struct jm_mlperf_loadgen_reader *r, struct jm_err *err); /* of one log */

/* ---- time-weighted energy of samples that come in order (weigh.c) */
struct jm_mlperf_weigh {
    double len; /* of the window, s */
    int64_t origin;
    size_t n_early; /* observations kept until the usual distance is known */
    struct jm_mlperf_observation {
        double at, watts;
        bool after_gap, over;
    } early[130];
    bool decided, blocks, any, bad;
    double last_at, spacing, gap_limit;
    double first, last, first_y, last_y;
    double joules, covered, gap_s, over_s;
    int64_t n_obs;
};
void jm_mlperf_weigh_init(struct jm_mlperf_weigh *w, int64_t begin, int64_t end);
/* usable false: the sample has no power. */
void jm_mlperf_weigh_add(struct jm_mlperf_weigh *w, int64_t t, bool usable, int64_t uw, bool over);
/* Sets joules, seconds, bridged_s, over_s, covers_begin and covers_end. */
void jm_mlperf_weigh_end(struct jm_mlperf_weigh *w, struct jm_mlperf_power *out);

/* ---- spl.txt, in blocks */
struct jm_mlperf_samples_reader {
    struct jm_mlperf_power *out;
    struct jm_mlperf_arena *arena;
    struct jm_log_lines lines;
    int64_t begin, end, zone; /* UTC; end <= begin: no window is known; zone is added to the stamps */
    char mark[600];           /* expected; "": that of the first sample */
    struct jm_mlperf_weigh weigh;
    bool blank, marked;
    int64_t prev, high;
    int64_t frozen, frozen_uw; /* samples so far with the same Watts */
};
void jm_mlperf_samples_init(struct jm_mlperf_samples_reader *r, struct jm_mlperf_power *out,
                            struct jm_mlperf_arena *a);
void jm_mlperf_samples_release(struct jm_mlperf_samples_reader *r);
int jm_mlperf_samples_block(void *reader, struct jm_span block, struct jm_err *err);
int jm_mlperf_samples_end(struct jm_mlperf_samples_reader *r, struct jm_err *err);

/* ---- ptd_logs.txt, in blocks */
struct jm_mlperf_events_reader {
    struct jm_mlperf_ptd_log *out;
    struct jm_mlperf_arena *arena;
    struct jm_log_lines lines;
    struct jm_ptd_log log;
    struct jm_mlperf_event *events;
    size_t cap, quota;
    const char **texts; /* open addressing by hash */
    size_t cap_texts, n_texts, text_bytes;
    bool failed;
};
int jm_mlperf_events_init(struct jm_mlperf_events_reader *r, struct jm_mlperf_ptd_log *out,
                          struct jm_mlperf_arena *a);
void jm_mlperf_events_release(struct jm_mlperf_events_reader *r);
int jm_mlperf_events_block(void *reader, struct jm_span block, struct jm_err *err);
int jm_mlperf_events_end(struct jm_mlperf_events_reader *r, struct jm_err *err);

#endif
