/* SPDX-License-Identifier: Apache-2.0 */
#include "base/zip.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/banned.h"

#define ROOM ((size_t)128 * 1024)

struct jm_zip {
    ZSTD_CCtx *c;
    jm_zip_sink sink;
    void *self;
    char out[ROOM];
};

struct jm_unzip {
    ZSTD_DCtx *d;
    jm_zip_sink sink;
    void *self;
    uint64_t limit, in, done;
    bool ended;
    char out[ROOM];
};

const char *jm_zip_version(void)
{
    return ZSTD_versionString();
}

int jm_zip_new(int level, jm_zip_sink sink, void *self, struct jm_zip **out, struct jm_err *err)
{
    struct jm_zip *z = calloc(1, sizeof *z);
    if (z)
        z->c = ZSTD_createCCtx();
    if (!z || !z->c || ZSTD_isError(ZSTD_CCtx_setParameter(z->c, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(z->c, ZSTD_c_checksumFlag, 1))) {
        jm_zip_free(z);
        return jm_err_set(err, JM_ENOMEM, "out of memory for a compressed file");
    }
    z->sink = sink;
    z->self = self;
    *out = z;
    return 0;
}

static int squeeze(struct jm_zip *z, struct jm_span bytes, ZSTD_EndDirective how, struct jm_err *err)
{
    ZSTD_inBuffer in = {bytes.p, bytes.n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {z->out, sizeof z->out, 0};
        left = ZSTD_compressStream2(z->c, &out, &in, how);
        if (ZSTD_isError(left))
            return jm_err_set(err, JM_EIO, "cannot compress: %s", ZSTD_getErrorName(left));
        int rc = out.pos ? z->sink(z->self, (struct jm_span){z->out, out.pos}, err) : 0;
        if (rc)
            return rc;
    } while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return 0;
}

int jm_zip_add(struct jm_zip *z, struct jm_span bytes, struct jm_err *err)
{
    return bytes.n ? squeeze(z, bytes, ZSTD_e_continue, err) : 0;
}

int jm_zip_end(struct jm_zip *z, struct jm_err *err)
{
    return squeeze(z, (struct jm_span){"", 0}, ZSTD_e_end, err);
}

void jm_zip_free(struct jm_zip *z)
{
    if (z)
        ZSTD_freeCCtx(z->c);
    free(z);
}

int jm_unzip_new(uint64_t limit, jm_zip_sink sink, void *self, struct jm_unzip **out, struct jm_err *err)
{
    struct jm_unzip *z = calloc(1, sizeof *z);
    if (z)
        z->d = ZSTD_createDCtx();
    if (!z || !z->d) {
        jm_unzip_free(z);
        return jm_err_set(err, JM_ENOMEM, "out of memory for a compressed file");
    }
    z->sink = sink;
    z->self = self;
    z->limit = limit;
    *out = z;
    return 0;
}

int jm_unzip_add(struct jm_unzip *z, struct jm_span bytes, struct jm_err *err)
{
    ZSTD_inBuffer in = {bytes.p, bytes.n, 0};
    bool more = bytes.n > 0;
    while (more) {
        if (z->ended)
            return jm_err_set(err, JM_ECORRUPT,
                              "there is more behind the end of the compressed data (at byte %llu)",
                              (unsigned long long)(z->in + in.pos));
        ZSTD_outBuffer out = {z->out, sizeof z->out, 0};
        size_t left = ZSTD_decompressStream(z->d, &out, &in);
        if (ZSTD_isError(left))
            return jm_err_set(err, JM_ECORRUPT, "the compressed data are damaged near byte %llu: %s",
                              (unsigned long long)(z->in + in.pos), ZSTD_getErrorName(left));
        if (out.pos > z->limit - z->done)
            return jm_err_set(err, JM_ELIMIT,
                              "the compressed data unpack to more than the limit of %llu bytes",
                              (unsigned long long)z->limit);
        z->done += out.pos;
        z->ended = left == 0;
        int rc = out.pos ? z->sink(z->self, (struct jm_span){z->out, out.pos}, err) : 0;
        if (rc)
            return rc;
        more = in.pos < in.size || out.pos == out.size;
        if (z->ended && in.pos == in.size)
            more = false;
    }
    z->in += bytes.n;
    return 0;
}

int jm_unzip_end(struct jm_unzip *z, struct jm_err *err)
{
    return z->ended ? 0
                    : jm_err_set(err, JM_ECORRUPT, "the compressed data end in the middle, after %llu bytes",
                                 (unsigned long long)z->in);
}

void jm_unzip_free(struct jm_unzip *z)
{
    if (z)
        ZSTD_freeDCtx(z->d);
    free(z);
}
