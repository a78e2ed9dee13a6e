/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's sockets in a worker's loop, and the stamps of what comes on them.
 *
 * Before libcurl reads a socket, what waits there is looked at (MSG_PEEK, which copies nothing with
 * MSG_TRUNC) for the kernel's stamp of its newest byte and for its length. The stamp is good for what libcurl
 * hands out of that length; what goes beyond it came later and gets the time at which it was handed out. The
 * same holds for decompressed bytes, of which nobody knows where they lay, later than JM_CURL_FRESH after the
 * look. */
#ifndef JM_LOAD_CURL_SOCKS_H
#define JM_LOAD_CURL_SOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "load/transport.h"

#define JM_CURL_FRESH (200 * JM_NS_PER_US)

struct jm_curl_socks; /* one a thread */
struct jm_curl_sock;  /* its memory lives as long as the thread's set: `life` tells whether it is still the
                         same */

/* after(owner) is called outside of libcurl whenever it may have called back. */
int jm_curl_socks_new(struct jm_link_env *env, void (*after)(void *owner), void *owner,
                      struct jm_curl_socks **out, struct jm_err *err);
void jm_curl_socks_free(struct jm_curl_socks *p); /* its handles close in the loop */
struct jm_curl_pool *jm_curl_socks_pool(const struct jm_curl_socks *p);
/* Drives what was begun. */
void jm_curl_socks_turn(struct jm_curl_socks *p);
/* after() in the next round of the loop. */
void jm_curl_socks_soon(struct jm_curl_socks *p);

struct jm_curl_spot { /* of a transfer: the socket with that local port */
    struct jm_curl_sock *sock;
    unsigned life;
    int port;
};

/* The stamp of n bytes of a transfer begun at `since`, handed out at `now`, and how long user space was
 * behind it (0 without a kernel stamp). raw: they are no longer than they were on the wire. */
int64_t jm_curl_socks_stamp(struct jm_curl_socks *p, struct jm_curl_spot *at, size_t n, bool raw,
                            int64_t since, int64_t now, uint32_t *behind_us);
/* When a byte was last seen waiting on it; also just after it is gone. -1: never, or not known. */
int64_t jm_curl_socks_heard(struct jm_curl_socks *p, struct jm_curl_spot *at);
int jm_curl_socks_fd(struct jm_curl_socks *p, struct jm_curl_spot *at); /* -1: gone */

#endif
