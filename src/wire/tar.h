/* SPDX-License-Identifier: Apache-2.0 */
/* Plain tar archives (POSIX.1-1988 ustar) of regular files in one form only: mode 0644, owner 0 without a
 * name, time 0, no padding but zeros, two zero blocks at the end. The same files give the same bytes, and the
 * reader takes nothing else, so that a byte that was changed anywhere is seen. */
#ifndef JM_WIRE_TAR_H
#define JM_WIRE_TAR_H

#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

#define JM_TAR_BLOCK 512
#define JM_TAR_NAME  100
#define JM_TAR_SIZE  INT64_C(0x1ffffffff) /* 8 GiB - 1: eleven octal digits */

/* A relative path of ordinary characters, without "." and ".." and shorter than JM_TAR_NAME. */
bool jm_tar_name_ok(struct jm_span name);
/* Appends the header of a file. JM_EINVAL: a name or a size that does not fit. */
int jm_tar_header(const char *name, int64_t size, struct jm_str *out, struct jm_err *err);
/* Zeros behind a file of that size: fewer than a block. */
size_t jm_tar_padding(int64_t size);
#define JM_TAR_END (2 * JM_TAR_BLOCK) /* zeros behind the last file */

struct jm_tar_ops {
    int (*begin)(void *self, const char *name, int64_t size, struct jm_err *err);
    int (*data)(void *self, struct jm_span bytes, struct jm_err *err);
    int (*end)(void *self, struct jm_err *err); /* of the file */
};

struct jm_tar {
    const struct jm_tar_ops *ops;
    void *self;
    size_t files, most; /* so many, and so many at most */
    unsigned char block[JM_TAR_BLOCK];
    size_t have;
    int64_t left; /* of the file */
    size_t padding;
    int zeros; /* blocks of the end */
    char name[JM_TAR_NAME + 1];
    char last[JM_TAR_NAME + 1]; /* for the order of the names */
};

void jm_tar_init(struct jm_tar *t, const struct jm_tar_ops *ops, void *self, size_t most);
/* Bytes as they come. JM_ECORRUPT with the name of the file that they are of; JM_ELIMIT: too many files. */
int jm_tar_feed(struct jm_tar *t, struct jm_span bytes, struct jm_err *err);
int jm_tar_done(const struct jm_tar *t, struct jm_err *err); /* JM_ECORRUPT: cut */

#endif
