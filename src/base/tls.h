/* SPDX-License-Identifier: Apache-2.0 */
/* TLS lives in a module of its own (src/modules/tls.c), loaded when the first https endpoint is asked for, so
 * that the program does not link OpenSSL. The module turns ciphertext into plaintext in memory: the sockets,
 * and so the kernel's stamps, stay with the transport. It uses nothing of this library. */
#ifndef JM_BASE_TLS_H
#define JM_BASE_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define JM_TLS_ABI    3
#define JM_TLS_SYMBOL "jm_tls_module"
#define JM_TLS_WHY    200

struct jm_tls_ctx;
struct jm_tls_session;

enum jm_tls_result {
    JM_TLS_MORE = 0,
    JM_TLS_READY = 1,
    JM_TLS_CLOSED = -1 /* orderly */,
    JM_TLS_FAILED = -2
};

struct jm_tls_ops {
    int abi;
    const char *(*version)(void); /* "OpenSSL 3.0.15 ..." */
    /* NULL on failure, with why. ca_file NULL: the system's certificates. */
    struct jm_tls_ctx *(*ctx_new)(const char *ca_file, bool insecure, char why[JM_TLS_WHY]);
    /* A server's context with a certificate of its own for this address, valid for a day, which is written to
     * pem. Its sessions are opened with host NULL. */
    struct jm_tls_ctx *(*server_new)(const char *ip, char *pem, size_t cap, char why[JM_TLS_WHY]);
    void (*ctx_free)(struct jm_tls_ctx *c);
    struct jm_tls_session *(*open)(struct jm_tls_ctx *c, const char *host, bool is_ip);
    void (*close)(struct jm_tls_session *s);
    /* Ciphertext from the socket. The bytes are borrowed until read (before the end of the handshake:
     * handshake) has said JM_TLS_MORE, which means that all of them are taken. */
    void (*feed)(struct jm_tls_session *s, const void *p, size_t n);
    /* JM_TLS_READY when done, JM_TLS_MORE, or JM_TLS_FAILED with why. */
    int (*handshake)(struct jm_tls_session *s, char why[JM_TLS_WHY]);
    /* Plaintext: bytes (> 0), JM_TLS_MORE, JM_TLS_CLOSED, JM_TLS_FAILED with why. */
    int (*read)(struct jm_tls_session *s, void *p, int n, char why[JM_TLS_WHY]);
    bool (*write)(struct jm_tls_session *s, const void *p, size_t n); /* all or nothing */
    /* Ciphertext for the socket: what is there, and how much of it was sent. */
    size_t (*pending)(struct jm_tls_session *s, const char **p);
    void (*sent)(struct jm_tls_session *s, size_t n);
    /* After the handshake: SHA-256 of the peer's certificate (DER) in hex; false where it showed none. */
    bool (*peer_sha256)(struct jm_tls_session *s, char hex[65]);
    /* Writes the closing alert. */
    void (*shutdown)(struct jm_tls_session *s);
};

/* Loads the module: $JM_MODULE_DIR, else modules/ beside the program, else the installed place. JM_EABSENT
 * with a sentence that says how to get it. The module stays loaded. */
int jm_tls_load(const struct jm_tls_ops **out, struct jm_err *err);

#endif
