/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519 signatures (RFC 8032) by OpenSSL, in a module that is loaded at first use. Keys are PEM. */
#ifndef JM_BASE_SIGN_H
#define JM_BASE_SIGN_H

#include <stddef.h>

#include "base/err.h"

#define JM_SIGN_ABI    1
#define JM_SIGN_SYMBOL "jm_sign_module"
#define JM_SIGN_BYTES  64
#define JM_SIGN_WHY    160
#define JM_SIGN_PEM    512 /* of a public key; Ed25519 needs 113 */

struct jm_sign_ops {
    int abi;
    /* 0, or -1 with why. The private key's public half is written to pem. */
    int (*sign)(const char *key, size_t n_key, const void *text, size_t n, unsigned char out[JM_SIGN_BYTES],
                char pem[JM_SIGN_PEM], char why[JM_SIGN_WHY]);
    /* 1 it is of this key and text, 0 it is not, -1 with why the key is none. */
    int (*verify)(const char *pem, size_t n_pem, const void *text, size_t n,
                  const unsigned char sig[JM_SIGN_BYTES], char why[JM_SIGN_WHY]);
};

/* JM_EABSENT with a sentence where the module is not there. */
int jm_sign_load(const struct jm_sign_ops **out, struct jm_err *err);

#endif
