/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the Director: its state, waiting, and what a client's command does. */
#ifndef JM_MLPERF_DSERVE_H
#define JM_MLPERF_DSERVE_H

#include "mlperf/dsession.h"

enum { JM_MLPERF_TURNED_AWAY = 8 };

struct jm_mlperf_serving {
    const struct jm_mlperf_director *d;
    struct jm_mlperf_dhost host;
    int door;
    /* others, told that we are busy; their sockets stay open for a moment so that they can read it */
    struct {
        int fd;
        int64_t until;
    } away[JM_MLPERF_TURNED_AWAY];
    /* the client */
    struct jm_mlperf_conn *client; /* NULL: none */
    struct jm_mlperf_summary *summary;
    struct jm_str log; /* of server.log */
    bool log_full;
    struct jm_mlperf_dsession *session;
    char last_id[JM_MLPERF_ID], last_dir[4096]; /* for download and cleanup */
    bool last_broken;
    char failed[1024]; /* why the last session ended early; "" it did not */
    bool stop, ntp_known;
    struct jm_mlperf_ntp ntp;
    int64_t ntp_at; /* when it was asked last, monotonic */
    const char *doing;
    int64_t since;
    int sessions, broken;
};

void jm_mlperf_serving_log(struct jm_mlperf_serving *v, enum jm_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What goes on now, for progress. */
void jm_mlperf_serving_doing(struct jm_mlperf_serving *v, const char *what);
/* Looks after the door, those turned away, the source and progress, until the client has bytes or is gone,
 * or ns have passed. JM_ETIMEOUT is not given; *readable says what happened. JM_ENET: the client is gone
 * (only with watch_gone). */
int jm_mlperf_serving_wait(struct jm_mlperf_serving *v, int64_t ns, bool watch_gone, bool *readable,
                           struct jm_err *err);

/* Everything that is said on one connection. */
void jm_mlperf_serve_client(struct jm_mlperf_serving *v);

#endif
