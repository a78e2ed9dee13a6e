/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and files over a TCP connection, with a bound for everything: the length of a line, how long one may
 * take. Used towards clients, the Director and PTDaemons. */
#ifndef JM_MLPERF_NET_H
#define JM_MLPERF_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"

/* What ends a wait early. Both may be left empty (NULL, -1). */
struct jm_mlperf_wake {
    const volatile bool *cancel; /* looked at twice a second at the latest, and when fd is readable */
    int fd;                      /* readable when *cancel becomes true */
};

struct jm_mlperf_conn {
    int fd; /* -1: closed */
    struct jm_clock clock;
    struct jm_mlperf_wake wake;
    const char *peer; /* what it is called in sentences: "the client" */
    size_t limit;     /* of a line */
    size_t from, to;  /* what buf holds */
    bool cut;         /* the other side closed */
    char buf[65536];
};

/* Deadlines are on the monotonic clock; INT64_MAX: none. All calls return 0, JM_ETIMEOUT, JM_ENET (closed or
 * reset), JM_ESTATE (woken by cancel) or what is said. */
int jm_mlperf_connect(struct jm_mlperf_conn *c, const char *host, int port, const struct jm_clock *clock,
                      struct jm_mlperf_wake wake, const char *peer, int64_t deadline, struct jm_err *err);
/* Takes over a connected socket. */
void jm_mlperf_conn_init(struct jm_mlperf_conn *c, int fd, const struct jm_clock *clock,
                         struct jm_mlperf_wake wake, const char *peer);
void jm_mlperf_conn_close(struct jm_mlperf_conn *c);
/* TCP keepalive as the public tool sets it: 2 s idle, every 2 s, 10 misses. */
void jm_mlperf_keepalive(int fd);

/* The next line without its end (LF, CR LF), valid until the next call. JM_ELIMIT: longer than the limit. */
int jm_mlperf_recv(struct jm_mlperf_conn *c, int64_t deadline, struct jm_span *line, struct jm_err *err);
/* text and CR LF. */
int jm_mlperf_send(struct jm_mlperf_conn *c, struct jm_span text, int64_t deadline, struct jm_err *err);
int jm_mlperf_sendf(struct jm_mlperf_conn *c, int64_t deadline, struct jm_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Waits for ns; JM_ENET as soon as the other side is gone. Bytes that come stay where they are. */
int jm_mlperf_conn_sleep(struct jm_mlperf_conn *c, int64_t ns, struct jm_err *err);

/* A file as the protocol frames it: "<length>", that many bytes, ..., "0". idle_ns: longest time without
 * progress. The receiver makes path by a temporary file and rename, and refuses more than limit bytes. */
int jm_mlperf_send_file(struct jm_mlperf_conn *c, int file_fd, int64_t idle_ns, struct jm_err *err);
int jm_mlperf_recv_file(struct jm_mlperf_conn *c, const char *path, int64_t limit, int64_t idle_ns,
                        struct jm_err *err);

/* A listening socket on a numeric address; the port really bound into *bound (for port 0). */
int jm_mlperf_listen(const char *host, int port, int *fd, int *bound, struct jm_err *err);

#endif
