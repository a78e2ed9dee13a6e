/* SPDX-License-Identifier: Apache-2.0 */
/* KLAP, by which Tapo plugs are asked in the local network, as python-kasa describes it: two seeds and the
 * account's user and password give a session; requests and answers are AES-128-CBC with a counted vector. */
#ifndef JM_WIRE_KLAP_H
#define JM_WIRE_KLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define JM_KLAP_SEED 16
#define JM_KLAP_HASH 32

struct jm_klap { /* a secret */
    uint8_t key[16], iv[16], sig[28];
    uint32_t seq;
};

void jm_klap_auth(const char *user, const char *password, uint8_t auth[JM_KLAP_HASH]);
/* What the plug answers to our seed, behind its own, where it knows the same user and password. */
void jm_klap_server(const uint8_t local[JM_KLAP_SEED], const uint8_t remote[JM_KLAP_SEED],
                    const uint8_t auth[JM_KLAP_HASH], uint8_t out[JM_KLAP_HASH]);
/* What we answer then. */
void jm_klap_client(const uint8_t local[JM_KLAP_SEED], const uint8_t remote[JM_KLAP_SEED],
                    const uint8_t auth[JM_KLAP_HASH], uint8_t out[JM_KLAP_HASH]);
void jm_klap_begin(struct jm_klap *k, const uint8_t local[JM_KLAP_SEED], const uint8_t remote[JM_KLAP_SEED],
                   const uint8_t auth[JM_KLAP_HASH]);
/* The body of the next request (its number is k->seq afterwards). 0: longer than cap. */
size_t jm_klap_seal(struct jm_klap *k, struct jm_span text, uint8_t *out, size_t cap);
/* The text of an answer to the last request, in place. False: it is none. */
bool jm_klap_open(const struct jm_klap *k, uint8_t *body, size_t n, struct jm_span *text);

#endif
