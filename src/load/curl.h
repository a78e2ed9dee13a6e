/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl lives in a module of its own (src/modules/curl.c), loaded when a transport or a proxy of its kind
 * is asked for. The module drives transfers (curl_multi_socket_action(3)) and turns libcurl's errors into our
 * words; sockets are watched, stamps taken and answers understood on this side (transport_curl.c). It uses
 * nothing of this library. */
#ifndef JM_LOAD_CURL_H
#define JM_LOAD_CURL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "load/lost.h"

#define JM_CURL_ABI    1
#define JM_CURL_SYMBOL "jm_curl_module"
#define JM_CURL_WHY    256

enum jm_load_http {
    JM_HTTP_AUTO, /* https: what the server offers; http: 1.1 */
    JM_HTTP_1_1,
    JM_HTTP_2 /* http: without asking first */
};

/* Where and how; the strings stay the caller's. */
struct jm_curl_setup {
    const char *where;   /* of the endpoint, for words: "host:port" */
    const char *ca_file; /* NULL: the system's */
    const char *proxy;   /* NULL: none, whatever the environment says */
    const char *proxy_host;
    bool insecure, compressed;
    enum jm_load_http http;
    long connect_ms;
};

struct jm_curl_over {
    bool ok;
    enum jm_lost why; /* where not ok */
    bool timeout;     /* a limit of the client ended it */
    char words[JM_CURL_WHY];
    int status, http; /* http: 10, 11, 20, 30; 0: no answer */
    bool local;       /* the other end of the connection is this machine */
};

/* What the owner of a transfer is told, from inside libcurl: it may call nothing of the module. */
struct jm_curl_user {
    void (*connected)(void *self, int local_port, bool reused); /* the request is about to be written */
    void (*sent)(void *self);                                   /* the last byte of it was asked for */
    bool (*again)(void *self); /* a kept connection was dead: may the request be written once more? */
    void (*head)(void *self, const char *line, size_t n); /* a header line with its line end */
    void (*body)(void *self, const char *p, size_t n);    /* decoded */
    void (*over)(void *self, const struct jm_curl_over *o);
};

/* How a pool of connections, one a thread, is watched. */
struct jm_curl_watch {
    /* what: 1 readable, 2 writable, 3 both, 0 nothing now, -1 no more. *at is kept with the socket. */
    void (*socket)(void *self, int fd, int what, void **at);
    void (*timer)(void *self, long ms); /* -1: none */
};

struct jm_curl_request {
    const char *method; /* GET or POST */
    const char *url;
    const char *const *headers; /* "Name: value", NULL at the end */
    bool same_headers;          /* as the last time */
    const char *body;           /* NULL: none; stays the caller's until over() */
    size_t body_n;
    bool fresh;      /* on a connection of its own */
    long timeout_ms; /* 0: none */
};

struct jm_curl_pool;
struct jm_curl_job;

struct jm_curl_ops {
    int abi;
    const char *(*version)(void); /* "libcurl/7.88.1 OpenSSL/3.0.15 nghttp2/1.52.0 ..." */
    bool (*has_http2)(void);
    /* NULL when memory ran out */
    struct jm_curl_pool *(*pool_new)(const struct jm_curl_setup *s, const struct jm_curl_watch *w,
                                     void *self);
    void (*pool_free)(struct jm_curl_pool *p); /* after all its jobs */
    void (*run)(struct jm_curl_pool *p, int fd,
                int what); /* fd -1: the timer; what: 1 readable, 2 writable, 4 error */
    struct jm_curl_job *(*job_new)(struct jm_curl_pool *p, const struct jm_curl_user *u, void *self);
    void (*job_free)(struct jm_curl_job *j); /* also in the middle of a transfer; nothing is told any more */
    bool (*start)(struct jm_curl_job *j, const struct jm_curl_request *r); /* false: out of memory */
    /* One blocking transfer on a connection of its own; ends with u->over(). */
    bool (*fetch)(const struct jm_curl_setup *s, const struct jm_curl_request *r,
                  const struct jm_curl_user *u, void *self);
};

int jm_curl_load(const struct jm_curl_ops **out, struct jm_err *err);

#endif
