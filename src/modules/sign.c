/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519 with OpenSSL 3 (EVP_DigestSign(3), EVP_PKEY-ED25519(7)). See base/sign.h. */
#include "base/sign.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* A key that asks for a passphrase is refused: nobody is asked in the middle of a command. */
static int no_passphrase(char *buf, int size, int writing, void *asked)
{
    (void)buf;
    (void)size;
    (void)writing;
    *(int *)asked = 1;
    return -1;
}

static EVP_PKEY *read_key(const char *pem, size_t n, int private, char why[JM_SIGN_WHY])
{
    BIO *b = n <= 1u << 20 ? BIO_new_mem_buf(pem, (int)n) : NULL;
    int asked = 0;
    EVP_PKEY *k = NULL;
    if (b)
        k = private ? PEM_read_bio_PrivateKey(b, NULL, no_passphrase, &asked)
                    : PEM_read_bio_PUBKEY(b, NULL, no_passphrase, &asked);
    BIO_free(b);
    if (!k)
        snprintf(why, JM_SIGN_WHY, "%s",
                 asked ? "is locked by a passphrase; unlock it first (openssl pkey -in KEY -out FILE)"
                 : private
                     ? "holds no private key in PEM (openssl genpkey -algorithm ed25519 makes one)"
                     : "holds no public key in PEM (openssl pkey -pubout makes one of the private key)");
    else if (EVP_PKEY_get_base_id(k) != EVP_PKEY_ED25519) {
        const char *name = EVP_PKEY_get0_type_name(k);
        snprintf(why, JM_SIGN_WHY,
                 "is of the kind %s; Ed25519 is needed (openssl genpkey -algorithm ed25519)",
                 name ? name : "unknown");
        EVP_PKEY_free(k);
        k = NULL;
    }
    return k;
}

static int public_half(EVP_PKEY *k, char pem[JM_SIGN_PEM])
{
    BIO *b = BIO_new(BIO_s_mem());
    int n = b && PEM_write_bio_PUBKEY(b, k) ? BIO_read(b, pem, JM_SIGN_PEM - 1) : -1;
    BIO_free(b);
    if (n <= 0)
        return -1;
    pem[n] = '\0';
    return 0;
}

static int sign(const char *key, size_t n_key, const void *text, size_t n, unsigned char out[JM_SIGN_BYTES],
                char pem[JM_SIGN_PEM], char why[JM_SIGN_WHY])
{
    EVP_PKEY *k = read_key(key, n_key, 1, why);
    EVP_MD_CTX *c = k ? EVP_MD_CTX_new() : NULL;
    size_t len = JM_SIGN_BYTES;
    int ok = c && EVP_DigestSignInit(c, NULL, NULL, NULL, k) == 1 &&
             EVP_DigestSign(c, out, &len, text, n) == 1 && len == JM_SIGN_BYTES && public_half(k, pem) == 0;
    if (k && !ok)
        snprintf(why, JM_SIGN_WHY, "cannot be signed with");
    EVP_MD_CTX_free(c);
    EVP_PKEY_free(k);
    return ok ? 0 : -1;
}

static int verify(const char *pem, size_t n_pem, const void *text, size_t n,
                  const unsigned char sig[JM_SIGN_BYTES], char why[JM_SIGN_WHY])
{
    EVP_PKEY *k = read_key(pem, n_pem, 0, why);
    EVP_MD_CTX *c = k ? EVP_MD_CTX_new() : NULL;
    int ok = c && EVP_DigestVerifyInit(c, NULL, NULL, NULL, k) == 1 &&
             EVP_DigestVerify(c, sig, JM_SIGN_BYTES, text, n) == 1;
    EVP_MD_CTX_free(c);
    EVP_PKEY_free(k);
    return k ? ok : -1;
}

__attribute__((visibility("default"))) const struct jm_sign_ops *jm_sign_module(void);
const struct jm_sign_ops *jm_sign_module(void)
{
    static const struct jm_sign_ops ops = {.abi = JM_SIGN_ABI, .sign = sign, .verify = verify};
    return &ops;
}
