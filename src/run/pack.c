/* SPDX-License-Identifier: Apache-2.0 */
#include <zstd.h>

#include "run/internal.h"

#include "base/banned.h"

int jm_pack(struct jm_span plain, int level, struct jm_str *out, struct jm_err *err)
{
    jm_str_reset(out);
    size_t bound = ZSTD_compressBound(plain.n);
    jm_str_pad(out, bound, 0);
    int rc = jm_str_ok(out, "compressed data", err);
    if (rc)
        return rc;
    size_t n = ZSTD_compress(out->buf, bound, plain.p, plain.n, level);
    if (!ZSTD_isError(n) && n < plain.n) {
        out->len = n;
        return JM_ENC_ZSTD;
    }
    jm_str_reset(out);
    jm_str_addspan(out, plain);
    rc = jm_str_ok(out, "data", err);
    return rc ? rc : JM_ENC_PLAIN;
}

int jm_unpack(int enc, struct jm_span data, size_t limit, struct jm_str *out, struct jm_err *err)
{
    jm_str_reset(out);
    if (enc == JM_ENC_PLAIN) {
        if (data.n > limit)
            return jm_err_set(err, JM_ECORRUPT, "a blob of %zu bytes is larger than can be (%zu)", data.n,
                              limit);
        jm_str_addspan(out, data);
        return jm_str_ok(out, "data", err);
    }
    if (enc != JM_ENC_ZSTD)
        return jm_err_set(err, JM_ECORRUPT, "a blob has the unknown encoding %d", enc);
    unsigned long long size = ZSTD_getFrameContentSize(data.p, data.n);
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > limit)
        return jm_err_set(err, JM_ECORRUPT, "a compressed blob is damaged, or larger than can be (%zu bytes)",
                          limit);
    jm_str_pad(out, (size_t)size, 0);
    int rc = jm_str_ok(out, "uncompressed data", err);
    if (rc)
        return rc;
    size_t n = ZSTD_decompress(out->buf, (size_t)size, data.p, data.n);
    if (ZSTD_isError(n) || n != size)
        return jm_err_set(err, JM_ECORRUPT, "a compressed blob is damaged: %s",
                          ZSTD_isError(n) ? ZSTD_getErrorName(n) : "its size is wrong");
    return 0;
}
