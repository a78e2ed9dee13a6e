/* SPDX-License-Identifier: Apache-2.0 */
/* Where a load goes and with what rights: the target, the TLS context, the headers of every request; and
 * single, blocking requests for all that is not timed (who are you, how many tokens is this). */
#ifndef JM_LOAD_CLIENT_H
#define JM_LOAD_CLIENT_H

#include "base/err.h"
#include "base/str.h"
#include "load/curl.h"
#include "load/load.h"
#include "load/target.h"
#include "base/tls.h"
#include "wire/http1.h"

#define JM_CLIENT_ASK_LEAST (3 * JM_NS_PER_S)

struct jm_client {
    struct jm_target target;
    const struct jm_tls_ops *tls; /* NULL: http */
    struct jm_tls_ctx *tls_ctx;
    const struct jm_curl_ops *curl; /* NULL: own sockets */
    struct jm_curl_setup setup;     /* of curl */
    char proxy_host[160];           /* "host:port", without user and password */
    struct jm_str auth;             /* "Bearer ...", empty: none */
    int64_t connect_ns, header_ns, stall_ns, total_ns;
    int64_t
        ask_ns; /* to the answer of what is asked before the load: the header's limit if given, else 30 s */
    bool local; /* known after the first connection */
    enum jm_load_http http;
};

/* Takes the URL apart, resolves the host, loads TLS where it is needed. */
int jm_client_init(struct jm_client *c, const struct jm_load_cfg *cfg, struct jm_err *err);
void jm_client_release(struct jm_client *c);
/* Appends a whole request for prefix + path. */
int jm_client_request(const struct jm_client *c, const char *method, const char *path, bool keep_alive,
                      struct jm_span body, struct jm_str *out, struct jm_err *err);

/* jm_load_probe without the process, whose search goes through all of /proc. */
int jm_probe_engine(const struct jm_load_cfg *cfg, struct jm_endpoint *out, struct jm_err *err);

struct jm_reply {
    int status;
    struct jm_str body;
    char server[128], simulated[64], location[160]; /* headers Server, X-Joulemark-Sim and Location */
};
void jm_reply_init(struct jm_reply *r);
void jm_reply_release(struct jm_reply *r);
/* One request on a connection of its own. 0 for any complete answer, whatever its status; JM_ENET,
 * JM_ETIMEOUT, JM_ETLS, JM_EPARSE with a sentence otherwise. timeout_ns: from the connection to the end of
 * the answer, by libcurl with the connection; 0: ask_ns, by libcurl connect_ns + ask_ns. */
int jm_client_fetch(struct jm_client *c, const char *method, const char *path, struct jm_span body,
                    int64_t timeout_ns, struct jm_reply *out, struct jm_err *err);
/* The same by libcurl (curl_fetch.c); what jm_client_fetch() does where c->curl is set. */
int jm_curl_fetch(struct jm_client *c, const char *method, const char *path, struct jm_span body,
                  int64_t timeout_ns, struct jm_reply *out, struct jm_err *err);
/* Feeds bytes of an answer; JM_HTTP1_MORE, JM_HTTP1_DONE or a negative error. */
int jm_reply_bytes(struct jm_reply *r, struct jm_http1 *h, struct jm_span in, struct jm_err *err);
/* The answer is whole: its fields are taken over. */
int jm_reply_done(struct jm_reply *r, const struct jm_http1 *h, struct jm_err *err);
/* The sentence for a reply that is not 2xx, with what to do. Returns its code. */
int jm_reply_error(const struct jm_client *c, const struct jm_reply *r, const char *doing,
                   struct jm_err *err);

#endif
