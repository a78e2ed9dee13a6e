/* SPDX-License-Identifier: Apache-2.0 */
/* A transport opens connections on a libuv loop and hands over bytes with the time at which they came. One
 * file and one row of transport_for() a transport; plain (own sockets, kernel stamps, TLS by module) is the
 * first. */
#ifndef JM_LOAD_TRANSPORT_H
#define JM_LOAD_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <uv.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "load/client.h"
#include "load/hist.h"
#include "load/lost.h"
#include "load/stamp.h"

/* What the owner of a connection is told. Each may close the connection. */
struct jm_link_user {
    void (*ready)(void *self, int64_t t);                                     /* may send */
    void (*sent)(void *self, int64_t t);                                      /* all that was given to send */
    void (*bytes)(void *self, struct jm_span in, int64_t t);                  /* t: when they arrived */
    void (*lost)(void *self, enum jm_lost why, const char *words, int64_t t); /* the link is closed already */
    /* Of transports that choose a connection only when they send, before sent(). */
    void (*connected)(void *self, int64_t t, bool reused);
    void (*resent)(void *self); /* ... and that found it dead, and wrote the request once more */
};

struct jm_link_answers { /* what the answers were, where the transport tells */
    _Atomic int64_t http1, http2, http3, connections, compressed;
    char coding[16]; /* the first Content-Encoding that was seen; written before compressed moves */
};

struct jm_link_env { /* one a thread */
    uv_loop_t *loop;
    int epoll; /* the worker waits in it, for the loop too */
    struct jm_clock clock;
    const struct jm_client *client;
    struct jm_stamps stamps;
    int64_t floor;         /* what the present events bring was not readable before; 0: not known */
    struct jm_hist behind; /* kernel stamp to user space, µs */
    uint32_t behind_us;    /* the same of the bytes that are handed over now; 0 without a kernel stamp */
    struct jm_hist rtt;    /* of the connections, µs, once a request */
    int64_t read_most;     /* bytes of the largest read */
    int64_t rcvbuf;        /* of a connection's socket, when one was last looked at; 0: not known */
    char *buf;             /* for reads */
    size_t buf_n;
    bool going;                     /* the load has begun: links are opened for requests that wait */
    struct jm_link_answers answers; /* written by the thread, read by others */
    void *pool;                     /* the transport's own */
    char *plain; /* for what TLS makes of them, one record; made with the first TLS connection */
};

struct jm_link;

struct jm_transport {
    const char *name;
    /* Before the first link, and after the last one (its handles close in the loop); NULL: nothing to do. */
    int (*begin)(struct jm_link_env *env, struct jm_err *err);
    void (*end)(struct jm_link_env *env);
    /* Begins to connect. The callbacks come later, never from inside. */
    int (*open)(struct jm_link_env *env, void *self, const struct jm_link_user *user, struct jm_link **out,
                struct jm_err *err);
    /* The bytes stay the caller's and must live until sent() or the end of the link. May call sent() or
     * lost(). */
    void (*send)(struct jm_link *l, struct jm_span bytes);
    void (*close)(struct jm_link *l); /* no callback follows */
    /* For a transport that watches its sockets in env->epoll, with the link as data: what epoll_wait() gave;
     * called after every wait. NULL: it watches them in the loop. */
    void (*events)(struct jm_link_env *env, const struct epoll_event *ev, int n);
    bool (*pending)(const struct jm_link_env *env); /* there is more to be done at once */
    bool connects_late; /* a link can send at once; connected() follows for each request */
    /* After a request: notes the connection's round-trip time and buffer in the env. NULL: not to be had. */
    void (*look)(struct jm_link *l);
};

/* What a transport's look() notes of a socket. */
void jm_link_look_fd(struct jm_link_env *env, int fd);

extern const struct jm_transport jm_transport_plain, jm_transport_curl;

#endif
