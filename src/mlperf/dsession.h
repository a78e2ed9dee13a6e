/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the Director: one session, its directory, its files and its state. */
#ifndef JM_MLPERF_DSESSION_H
#define JM_MLPERF_DSESSION_H

#include <stdio.h>

#include "mlperf/director.h"
#include "mlperf/proto.h"
#include "mlperf/splw.h"
#include "mlperf/summary.h"

enum jm_mlperf_state {
    JM_MLPERF_INITIAL,
    JM_MLPERF_STATE_RANGING,
    JM_MLPERF_RANGING_DONE,
    JM_MLPERF_STATE_TESTING,
    JM_MLPERF_TESTING_DONE,
    JM_MLPERF_DONE
};
const char *jm_mlperf_state_name(enum jm_mlperf_state s);

/* What a session needs of the Director around it. */
struct jm_mlperf_dhost {
    const struct jm_mlperf_director *d;
    void *self;
    void (*log)(void *self, enum jm_log_level level, const char *text);
    /* Waits while others are looked after; fails when the client is gone or we are to end. */
    int (*settle)(void *self, int64_t ns, struct jm_err *err);
    bool (*over)(void *self);
};

struct jm_mlperf_dsession {
    const struct jm_mlperf_dhost *host;
    struct jm_mlperf_summary *summary; /* the Director's */
    enum jm_mlperf_state state;
    char id[JM_MLPERF_ID];
    char dir[4096]; /* <outDir>/<id> */
    char power[4200];
    struct jm_mlperf_source_io io;
    bool opened, fixed;
    int n; /* analyzers */
    struct jm_mlperf_peaks peaks[JM_MLPERF_MODES][JM_MLPERF_ANALYZERS];
    int64_t broken[JM_MLPERF_MODES]; /* lines that were no samples */
    struct jm_mlperf_merged merged[JM_MLPERF_MODES];
    struct jm_mlperf_ranges ranges[JM_MLPERF_ANALYZERS];
    /* while collecting */
    FILE *out[JM_MLPERF_ANALYZERS];
    enum jm_mlperf_mode mode;
    char mark[JM_MLPERF_ID + 32];
    struct jm_str line;
};

/* Makes the directories. */
int jm_mlperf_dsession_new(const struct jm_mlperf_dhost *host, struct jm_mlperf_summary *summary,
                           struct jm_span label, struct jm_mlperf_dsession **out, struct jm_err *err);
/* ranges: given by the client (no ranging), else NULL. A failure leaves the session to be ended. */
int jm_mlperf_dsession_start(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode,
                             const struct jm_mlperf_ranges *fixed, struct jm_err *err);
int jm_mlperf_dsession_stop(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode, struct jm_err *err);
/* Do the samples bear this machine's UTC? JM_ECONFLICT when they are off by whole quarters of an hour, as by
 * a time zone; other differences are told. */
int jm_mlperf_dsession_stamps(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode, int64_t stopped_ns,
                              struct jm_err *err);
/* Stops the source, saves what can be saved, closes it. reason: why it ends early; NULL: it was done. */
void jm_mlperf_dsession_end(struct jm_mlperf_dsession *s, const char *reason);
/* After end and when server.log is written: hashes and server.json. ntp may be NULL. */
int jm_mlperf_dsession_save(struct jm_mlperf_dsession *s, const char *reason, const struct jm_mlperf_ntp *ntp,
                            struct jm_err *err);
void jm_mlperf_dsession_free(struct jm_mlperf_dsession *s);

/* Removes a session's directory and what is below; links are not followed. */
int jm_mlperf_remove_tree(const char *path, struct jm_err *err);

#endif
