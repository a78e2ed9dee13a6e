/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/tar.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* Fields of a header: POSIX.1-1988, IEEE 1003.1 "ustar Interchange Format". */
enum {
    NAME = 0,
    MODE = 100,
    UID = 108,
    GID = 116,
    SIZE = 124,
    MTIME = 136,
    SUM = 148,
    TYPE = 156,
    MAGIC = 257
};

static bool ordinary(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._-+/", c);
}

bool jm_tar_name_ok(struct jm_span name)
{
    struct jm_span rest = name, part;
    if (!name.n || name.n >= JM_TAR_NAME)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!name.p[i] || !ordinary(name.p[i]))
            return false;
    while (jm_span_field(&rest, '/', &part))
        if (!part.n || jm_span_is(part, ".") || jm_span_is(part, ".."))
            return false;
    return true;
}

static void octal(unsigned char *at, size_t width, int64_t v)
{
    for (size_t i = width - 1; i-- > 0; v >>= 3)
        at[i] = (unsigned char)('0' + (v & 7));
}

static void fill(unsigned char b[JM_TAR_BLOCK], struct jm_span name, int64_t size)
{
    unsigned sum = 0;
    memset(b, 0, JM_TAR_BLOCK);
    memcpy(b + NAME, name.p, name.n);
    octal(b + MODE, 8, 0644);
    octal(b + UID, 8, 0);
    octal(b + GID, 8, 0);
    octal(b + SIZE, 12, size);
    octal(b + MTIME, 12, 0);
    b[TYPE] = '0';
    memcpy(b + MAGIC,
           "ustar\0"
           "00",
           8);
    memset(b + SUM, ' ', 8);
    for (size_t i = 0; i < JM_TAR_BLOCK; i++)
        sum += b[i];
    octal(b + SUM, 7, (int64_t)sum);
    b[SUM + 6] = '\0';
    b[SUM + 7] = ' ';
}

int jm_tar_header(const char *name, int64_t size, struct jm_str *out, struct jm_err *err)
{
    unsigned char b[JM_TAR_BLOCK];
    struct jm_span n = jm_span_of(name);
    if (!jm_tar_name_ok(n))
        return jm_err_set(err, JM_EINVAL, "\"%.80s\" cannot be the name of a file in an archive", name);
    if (size < 0 || size > JM_TAR_SIZE)
        return jm_err_set(err, JM_EINVAL, "%s has %lld bytes; a file in an archive has less than 8 GiB", name,
                          (long long)size);
    fill(b, n, size);
    jm_str_add(out, b, sizeof b);
    return jm_str_ok(out, "an archive", err);
}

size_t jm_tar_padding(int64_t size)
{
    return (size_t)(-(uint64_t)size % JM_TAR_BLOCK);
}

void jm_tar_init(struct jm_tar *t, const struct jm_tar_ops *ops, void *self, size_t most)
{
    *t = (struct jm_tar){.ops = ops, .self = self, .most = most};
}

static bool all_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static const char *behind(const struct jm_tar *t)
{
    return t->name[0] ? t->name : "the beginning";
}

/* A whole header is there: one that the writer would make of the same name and size, or the end. */
static int header(struct jm_tar *t, struct jm_err *err)
{
    unsigned char same[JM_TAR_BLOCK];
    int64_t size = 0;
    size_t n = 0;
    t->have = 0;
    if (all_zero(t->block, sizeof t->block)) {
        t->zeros++;
        return t->zeros <= 2 ? 0
                             : jm_err_set(err, JM_ECORRUPT, "there is more behind the end of the archive");
    }
    if (t->zeros)
        return jm_err_set(err, JM_ECORRUPT, "there is more behind the end of the archive");
    while (n < JM_TAR_NAME && t->block[n])
        n++;
    for (size_t i = 0; i < 11; i++)
        size = size * 8 + (t->block[SIZE + i] & 7);
    struct jm_span name = {(const char *)t->block, n};
    if (jm_tar_name_ok(name))
        fill(same, name, size);
    if (!jm_tar_name_ok(name) || memcmp(same, t->block, sizeof same) != 0)
        return jm_err_set(err, JM_ECORRUPT, "the header of the file behind %s in the archive is damaged",
                          behind(t));
    if (t->files++ >= t->most)
        return jm_err_set(err, JM_ELIMIT, "the archive holds more than %zu files", t->most);
    memcpy(t->last, t->name, sizeof t->last);
    memcpy(t->name, name.p, n);
    t->name[n] = '\0';
    if (t->last[0] && strcmp(t->last, t->name) >= 0)
        return jm_err_set(err, JM_ECORRUPT, "the files of the archive are out of order: %s comes behind %s",
                          t->name, t->last);
    t->left = size;
    t->padding = jm_tar_padding(size);
    int rc = t->ops->begin(t->self, t->name, size, err);
    return rc || size ? rc : t->ops->end(t->self, err);
}

int jm_tar_feed(struct jm_tar *t, struct jm_span s, struct jm_err *err)
{
    int rc = 0;
    while (!rc && s.n) {
        size_t n;
        if (t->left > 0) {
            n = s.n < (uint64_t)t->left ? s.n : (size_t)t->left;
            rc = t->ops->data(t->self, jm_span_sub(s, 0, n), err);
            t->left -= (int64_t)n;
            if (!rc && !t->left)
                rc = t->ops->end(t->self, err);
        } else if (t->padding) {
            n = s.n < t->padding ? s.n : t->padding;
            if (!all_zero((const unsigned char *)s.p, n))
                rc = jm_err_set(err, JM_ECORRUPT, "the padding behind %s in the archive is damaged", t->name);
            t->padding -= n;
        } else {
            n = s.n < sizeof t->block - t->have ? s.n : sizeof t->block - t->have;
            memcpy(t->block + t->have, s.p, n);
            t->have += n;
            if (t->have == sizeof t->block)
                rc = header(t, err);
        }
        s = jm_span_sub(s, n, s.n);
    }
    return rc;
}

int jm_tar_done(const struct jm_tar *t, struct jm_err *err)
{
    return t->zeros == 2 && !t->have
               ? 0
               : jm_err_set(err, JM_ECORRUPT, "the archive ends in the middle, behind %s", behind(t));
}
