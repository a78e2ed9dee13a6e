/* SPDX-License-Identifier: Apache-2.0 */
/* Where the requests go: the URL taken apart, and the addresses behind its host. */
#ifndef JM_LOAD_TARGET_H
#define JM_LOAD_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/span.h"

#define JM_TARGET_ADDRS 8

struct jm_target {
    bool tls, is_ip;     /* is_ip: the host is written as an address */
    char host[128];      /* without brackets */
    char authority[160]; /* for the Host header */
    int port;
    char prefix[256]; /* path before /v1, "" or "/x/y" */
    size_t n, good;   /* addresses; good: the one to use, found by connecting */
    struct jm_addr {
        struct sockaddr_storage sa;
        socklen_t len;
        char text[64]; /* "127.0.0.1:8000" */
    } addr[JM_TARGET_ADDRS];
};

/* "http://host:8000", "https://host/api/v1", "http://[::1]:8000/v1/chat/completions": what follows /v1 is
 * dropped. */
int jm_target_parse(const char *url, struct jm_target *t, struct jm_err *err);
/* Looks the host up. JM_ENET when the name cannot be resolved. */
int jm_target_resolve(struct jm_target *t, struct jm_err *err);
/* A connected, non-blocking socket to the first address that answers (t->good is set), trying one after the
 * other. */
int jm_target_connect(struct jm_target *t, int64_t timeout_ns, int *fd, struct jm_err *err);
/* Whether the socket's peer is this machine: a loopback address, or its own. */
bool jm_target_is_local(int fd);
/* A non-blocking TCP socket for the good address, TCP_NODELAY set; -1 with errno. */
int jm_target_socket(const struct jm_target *t);
/* The sentence for a socket() that failed: which limit was reached and what raises it. Returns its code. */
int jm_target_no_socket(int errnum, struct jm_err *err);
/* A sentence for a failed connect(), which names the address. */
void jm_target_why(const struct jm_target *t, int errnum, char *out, size_t n);

#endif
