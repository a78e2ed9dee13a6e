/* SPDX-License-Identifier: Apache-2.0 */
/* The server of `bench --selfcheck`: it answers with events on an exact schedule and writes down, in memory
 * that it shares with the client, when each request had arrived and when each event was handed to the kernel.
 * That is the truth against which the client's stamps are held. One thread, epoll, one send() an event, as
 * engines do.
 *
 * The usage of an answer says which row of the log is its own: prompt_tokens is the row's number plus 1. */
#ifndef JM_LOAD_SELFMOCK_H
#define JM_LOAD_SELFMOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/tls.h"

struct jm_selfmock_cfg {
    int64_t ttft_ns, gap_ns;
    int tokens;              /* events of an answer */
    int event_bytes;         /* payload of an event's chunk, at least 200 */
    const char *address;     /* IPv4 to listen on; NULL: 127.0.0.1 */
    struct jm_tls_ctx *cert; /* NULL: http */
    const struct jm_tls_ops *tls;
};

/* One event as both sides saw it. */
struct jm_selfmock_event {
    int64_t sent;       /* before the send() */
    int64_t seen;       /* the client's stamp; 0: none */
    uint32_t behind_us; /* the client's: kernel to user space */
    uint32_t shared;    /* the client's: its read held other events too */
};

struct jm_selfmock_answer {
    int64_t arrived; /* last byte of the request, by the kernel's stamp */
    int64_t first;   /* the client's: stamp of the first token, 0: none */
    int64_t asked;   /* the client's: t_sent */
    struct jm_selfmock_event ev[];
};

struct jm_selfmock_log { /* MAP_SHARED, made before the fork */
    size_t bytes, cap;   /* of the mapping; answers that fit */
    int tokens;
    _Atomic int port; /* 0: not listening yet, -1: could not */
    _Atomic bool stop;
    _Atomic uint32_t n;      /* answers begun */
    _Atomic int64_t blocked; /* events that the kernel did not take at once: the client did not read */
    _Atomic int64_t
        late_us[64]; /* how far behind its schedule an event was sent: a power of two of us a row */
    char why[200];
};

struct jm_selfmock_log *jm_selfmock_log_new(size_t answers, int tokens, struct jm_err *err);
void jm_selfmock_log_free(struct jm_selfmock_log *l);
struct jm_selfmock_answer *jm_selfmock_at(struct jm_selfmock_log *l, size_t i);
/* The lateness in us below which a share q of the events was sent (an upper bound: a power of two); NAN. */
double jm_selfmock_late(const struct jm_selfmock_log *l, double q);

/* Serves until l->stop. In a process of its own. */
int jm_selfmock_serve(const struct jm_selfmock_cfg *cfg, struct jm_selfmock_log *l, struct jm_err *err);

#endif
