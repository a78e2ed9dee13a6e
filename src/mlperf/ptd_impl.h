/* SPDX-License-Identifier: Apache-2.0 */
/* Inside mlperf/ptd*.c. */
#ifndef JM_MLPERF_PTD_IMPL_H
#define JM_MLPERF_PTD_IMPL_H

#include "mlperf/ptd.h"

#define JM_PTD_POLL  (100 * JM_NS_PER_MS)
#define JM_PTD_GRACE (10 * JM_NS_PER_S) /* between SIGTERM and SIGKILL */

struct jm_ptd_daemon {
    const struct jm_mlperf_analyzer *a;
    int number;
    char peer[48]; /* "PTDaemon of analyzer 1" */
    struct jm_mlperf_conn conn;
    bool launched, measuring;
    int64_t pid;
    int out_fd; /* -1 */
    struct jm_mlperf_ranges initial;
    char *log_file; /* -l */
};

struct jm_ptd {
    const struct jm_mlperf_config *config;
    const struct jm_mlperf_child_ops *child;
    struct jm_clock clock;
    struct jm_mlperf_wake wake;
    const struct jm_mlperf_source_io *io; /* while open */
    bool giving_up, simulated;
    int n;
    struct jm_ptd_daemon d[JM_MLPERF_ANALYZERS];
};

void jm_ptd_note(struct jm_ptd *p, enum jm_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Has the process that we started ended? */
int jm_ptd_living(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err);
int jm_ptd_ask(struct jm_ptd *p, struct jm_ptd_daemon *d, const char *cmd, struct jm_span *reply,
               struct jm_err *err);
/* A reply as it may stand in a sentence. */
const char *jm_ptd_plain(struct jm_span reply, char buf[160]);

/* Starts it, if it is ours to start, connects and greets it. */
int jm_ptd_start(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err);
/* What it is started with; n of argv, which ends with NULL. */
enum { JM_PTD_ARGV = 24 };
size_t jm_ptd_argv(const struct jm_ptd *p, const struct jm_ptd_daemon *d, const char *argv[JM_PTD_ARGV],
                   char text[4][96]);
/* ptd_config of server.json. */
int jm_ptd_describe(void *self, struct jm_str *json, struct jm_err *err);

#endif
