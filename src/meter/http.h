/* SPDX-License-Identifier: Apache-2.0 */
/* Small requests to instruments over HTTP/1.1, with or without TLS (OpenSSL, a module that is loaded at the
 * first https address). One connection, kept; every exchange has one deadline, every answer a size limit.
 * Another host is never followed, and no sentence holds user, password or token. */
#ifndef JM_METER_HTTP_H
#define JM_METER_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/tls.h"
#include "meter/instrument.h"
#include "wire/http1.h"

enum jm_http_auth {
    JM_HTTP_NONE,
    JM_HTTP_BASIC, /* sent with each request */
    JM_HTTP_ASKED  /* when the server asks: Digest (SHA-256, RFC 7616), else Basic */
};

struct jm_http_setup {
    const char *url; /* "https://bmc1", "http://[fe80::1]:8080/prefix" */
    const char *user;
    const char *password; /* stays the caller's, who wipes it after closing */
    enum jm_http_auth auth;
    const struct jm_tls_opts *tls; /* NULL: the system's authorities */
    int64_t timeout_ns;            /* of one exchange, connection included */
    size_t limit;                  /* of a body; 0: 16 MiB */
};

struct jm_http {
    struct jm_http_setup setup;
    struct jm_clock clock;
    char host[256], authority[280], prefix[128];
    int port, fd;
    bool secure, fresh, cut;
    const struct jm_tls_ops *ops;
    struct jm_tls_ctx *ctx;
    struct jm_tls_session *session;
    char wire[16384];       /* bytes from the socket: TLS borrows them until it has taken all */
    struct jm_http1 reader; /* headers of the last answer */
    struct jm_str body;
    int status;
    int64_t t0, t1, real; /* of the last exchange: before, after (monotonic), and Unix time in its middle */
    int64_t asked;        /* requests sent */
    struct {
        bool on, basic;
        char realm[128], nonce[256], opaque[128];
        uint32_t count;
    } digest;
};

struct jm_http_field {
    const char *name, *value;
};

/* Reads the address and loads TLS where it is needed; connects at the first request. */
int jm_http_init(struct jm_http *h, const struct jm_http_setup *s, const struct jm_clock *clock,
                 struct jm_err *err);
void jm_http_close(struct jm_http *h);
/* One exchange; 0 whatever the status is (h->status, h->body, jm_http1_header(&h->reader, ...)). target: a
 * path ("/redfish/v1"). body.p NULL: none. Redirects of GET to the same host are followed, three at most. */
int jm_http_ask(struct jm_http *h, const char *method, const char *target, const struct jm_http_field *fields,
                size_t n_fields, struct jm_span body, struct jm_err *err);
/* What a status means, as the end of a sentence: "refuses user or password (HTTP 401)". */
const char *jm_http_why(int status, char buf[80]);

/* "Authorization" of RFC 7616 with SHA-256 and qop auth, for tests. */
void jm_http_digest(struct jm_str *out, const char *user, const char *password, const char *realm,
                    const char *nonce, const char *opaque, const char *method, const char *target,
                    uint32_t count, const char *cnonce);

#endif
