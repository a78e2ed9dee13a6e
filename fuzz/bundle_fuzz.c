/* SPDX-License-Identifier: Apache-2.0 */
/* An evidence bundle as somebody else made it: the archive in its frame, the archive alone in pieces of every
 * size, and a manifest. */
#include <stdint.h>
#include <stdlib.h>

#include "base/zip.h"
#include "wire/manifest.h"
#include "wire/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    int64_t left;
    int files, open;
};

static int begin(void *self, const char *name, int64_t size, struct jm_err *err)
{
    struct seen *s = self;
    (void)err;
    if (s->open++ || size < 0 || !jm_tar_name_ok(jm_span_of(name)))
        abort();
    s->left = size;
    s->files++;
    return 0;
}

static int data_of(void *self, struct jm_span bytes, struct jm_err *err)
{
    struct seen *s = self;
    (void)err;
    s->left -= (int64_t)bytes.n;
    if (!s->open || s->left < 0)
        abort();
    return 0;
}

static int end(void *self, struct jm_err *err)
{
    struct seen *s = self;
    (void)err;
    if (s->open-- != 1 || s->left)
        abort();
    return 0;
}

static const struct jm_tar_ops ops = {begin, data_of, end};

static int unpacked(void *self, struct jm_span s, struct jm_err *err)
{
    return jm_tar_feed(self, s, err);
}

static int named(void *self, struct jm_span name, struct jm_span sha256, struct jm_err *err)
{
    (void)self;
    (void)err;
    if (!jm_tar_name_ok(name) || sha256.n != 64)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jm_span in = {(const char *)data, size};
    struct seen a = {0}, b = {0}, c = {0};
    struct jm_tar whole, pieces, packed;
    struct jm_unzip *z = NULL;
    struct jm_err e = {0};
    jm_tar_init(&whole, &ops, &a, 16);
    jm_tar_init(&pieces, &ops, &b, 16);
    jm_tar_init(&packed, &ops, &c, 16);
    int one = jm_tar_feed(&whole, in, &e), two = 0;
    for (size_t i = 0, n = 1; !two && i < size; i += n, n = n % 700 + 13)
        two = jm_tar_feed(&pieces, jm_span_sub(in, i, n), &e);
    if (one != two || a.files != b.files)
        abort();
    if (jm_unzip_new(1 << 20, unpacked, &packed, &z, &e) == 0 && jm_unzip_add(z, in, &e) == 0)
        jm_unzip_end(z, &e);
    jm_unzip_free(z);
    jm_manifest_read(in, named, NULL, &e);
    return 0;
}
