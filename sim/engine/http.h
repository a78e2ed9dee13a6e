/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets, requests and answers of HTTP/1.1: one epoll set, level-triggered, nothing blocks. Everything a
 * client can send is bounded: headers, body, connections, all bodies together, and what it leaves unread.
 */
#ifndef SIM_ENGINE_HTTP_H
#define SIM_ENGINE_HTTP_H

#include "fault.h"

#include <sys/types.h>

struct sim_buf {
    char *p;
    size_t n, cap;
    bool failed; /* an allocation failed: what is in here is not whole */
};
void sim_buf_add(struct sim_buf *b, const void *p, size_t n);
void sim_buf_str(struct sim_buf *b, const char *s);
__attribute__((format(printf, 2, 3))) void sim_buf_fmt(struct sim_buf *b, const char *fmt, ...);
void sim_buf_free(struct sim_buf *b);

#define SIM_HEADER_MAX 65536u
#define SIM_UNREAD_MAX (8u << 20)   /* bytes a client may leave unread */
#define SIM_BODIES_MAX (256u << 20) /* all request bodies in memory together */

enum sim_conn_state { SIM_CONN_HEAD, SIM_CONN_BODY, SIM_CONN_BUSY, SIM_CONN_CLOSING };

struct sim_head {
    char method[16];
    char path[256]; /* without the query */
    char auth[256];
    char fault[256];
    int64_t length; /* -1: none told */
    bool chunked, close, http10, expect;
};

struct sim_conn {
    struct sim_http *h;
    struct sim_conn *prev, *next;
    int fd;
    enum sim_conn_state state;
    struct sim_buf in, out;
    size_t in_at, out_at; /* consumed */
    struct sim_head head;
    struct sim_buf body;
    uint64_t chunk_left; /* of the request's chunk under way */
    int chunk_state;
    void *request; /* under way */
    uint32_t answers;
    int64_t deadline; /* ns; 0: none */
    /* the answer under way */
    struct sim_faults faults;
    bool chunked, keep, answering, dead;
    bool trickle; /* headers trickle */
    int64_t trickle_from, trickle_ns;
    size_t trickle_len, trickle_sent;
    int64_t delay_until;
    int shape; /* enum sim_shape: how errors are written */
};

struct sim_http_limits {
    uint32_t max_conns;
    size_t max_body;
    int64_t keep_alive_ns, read_ns;
    uint32_t max_answers; /* on a connection, which then closes without having said so; 0: any number */
};

struct sim_http {
    int epoll, listener, port;
    struct sim_http_limits limit;
    struct sim_conn *conns;
    uint32_t n_conns;
    size_t bodies; /* bytes */
    uint64_t accepted, refused, requests;
    void *self;
    void (*on_request)(void *self, struct sim_conn *c);
    void (*on_gone)(void *self, struct sim_conn *c); /* the client left while a request was under way */
    bool accepting;
};

int sim_http_open(struct sim_http *h, const char *host, int port, char *why, size_t whylen);
void sim_http_close(struct sim_http *h);
/* Handles one event of the epoll set; ptr is its data. Those of the caller are not to be passed. */
void sim_http_event(struct sim_http *h, void *ptr, uint32_t events);
/* Deadlines, trickling, connections to drop. Call it every 20 ms or so while there are connections. */
void sim_http_tick(struct sim_http *h, int64_t now);
/* Frees what was dropped; call it after each round of events. */
void sim_http_sweep(struct sim_http *h);

/* The answer. begin: length < 0: by chunks, or by the end of the connection in HTTP/1.0. extra: more header
 * lines or NULL. */
void sim_http_begin(struct sim_conn *c, int status, const char *type, int64_t length, const char *extra);
void sim_http_body(struct sim_conn *c, const void *p, size_t n);
void sim_http_end(struct sim_conn *c);
void sim_http_flush(struct sim_conn *c);
/* The end without an end: gracefully once all is sent, or by RST. */
void sim_http_cut(struct sim_conn *c, bool rst);

#endif
