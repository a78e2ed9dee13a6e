/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the client share. */
#ifndef JM_MLPERF_CLIENT_IMPL_H
#define JM_MLPERF_CLIENT_IMPL_H

#include "mlperf/client.h"
#include "mlperf/summary.h"

#define JM_CLIENT_REPLY_NS (60 * JM_NS_PER_S)
#define JM_CLIENT_MEASURE_NS                                                                                 \
    (900 * JM_NS_PER_S) /* PTDaemon's start, NTP, settling: 12 to 40 s in published sessions */
#define JM_CLIENT_GRACE_NS (10 * JM_NS_PER_S)

struct jm_client {
    const struct jm_mlperf_client_conf *conf;
    struct jm_mlperf_client_report *report;
    struct jm_mlperf_conn *conn;
    struct jm_mlperf_summary *summary;
    struct jm_str log;
    char uuid[JM_MLPERF_UUID], server_uuid[JM_MLPERF_UUID];
    int workload_status[JM_MLPERF_MODES];
    bool ran[JM_MLPERF_MODES], connected, recording;
};

int64_t jm_client_real(const struct jm_client *c);              /* Unix ns */
int64_t jm_client_after(const struct jm_client *c, int64_t ns); /* monotonic ns from now */
int64_t jm_client_reply_ns(const struct jm_client *c);
int64_t jm_client_measure_ns(const struct jm_client *c);

/* A line of client.log and of the program's log. */
void jm_client_note(struct jm_client *c, enum jm_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void jm_client_note_span(struct jm_client *c, enum jm_log_level level, struct jm_span text);
/* before, then text as Python quotes it. */
void jm_client_note_quoted(struct jm_client *c, const char *before, struct jm_span text);

/* One command and its reply, which stays valid until the next one; recorded as the public client does: the
 * moments right before the sending and right after the reply. */
int jm_client_command(struct jm_client *c, int64_t wait_ns, const char *text, struct jm_span *reply,
                      struct jm_err *err);
/* The same where only OK is right. */
int jm_client_ask(struct jm_client *c, int64_t wait_ns, struct jm_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

void jm_client_stage(struct jm_client *c, const char *name);

/* Connects and says hello. */
int jm_client_greet(struct jm_client *c, struct jm_err *err);

/* The check of both clocks before a session and before each phase. */
int jm_client_synchronize(struct jm_client *c, struct jm_err *err);
/* The Director's clock once more, right before and after the workload and after stop: what is found is kept;
 * only where binding (before the workload) does it end the session. */
int jm_client_watch_clock(struct jm_client *c, bool binding, struct jm_err *err);

/* The path of a file of the session. */
int jm_client_path(const struct jm_client *c, const char *rel, char out[4096], struct jm_err *err);

/* The measurement is whole: files, then nothing is left at the Director. */
int jm_client_finish(struct jm_client *c, struct jm_err *err);
/* Something went wrong: what we have is written down, and the Director is asked to stop and for what it has.
 */
void jm_client_give_up(struct jm_client *c, const struct jm_err *why);

#endif
