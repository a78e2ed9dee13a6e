/* SPDX-License-Identifier: Apache-2.0 */
/* Small file helpers with limits. */
#ifndef JM_BASE_FILE_H
#define JM_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Reads a whole regular file (or stream up to limit) into out (appended). JM_ELIMIT when it is larger than
 * limit. */
int jm_file_read(const char *path, size_t limit, struct jm_str *out, struct jm_err *err);
/* The same of a regular file alone: of a tree that somebody else made, where a pipe would be waited on for
 * ever. JM_EINVAL: it is another thing. */
int jm_file_read_regular(const char *path, size_t limit, struct jm_str *out, struct jm_err *err);
/* Reads a regular file (links are followed, nothing else is opened) in blocks of up to size bytes, which fn
 * gets in order; what fn returns, when not 0, ends the reading and is passed on. */
typedef int (*jm_file_block_fn)(void *self, struct jm_span block, struct jm_err *err);
int jm_file_blocks(const char *path, char *buffer, size_t size, jm_file_block_fn fn, void *self,
                   struct jm_err *err);
/* Writes by a temporary file and rename, so that a reader never sees half of it. */
int jm_file_write(const char *path, struct jm_span data, struct jm_err *err);
/* mkdir -p of the directory part of path. */
int jm_file_mkparents(const char *path, struct jm_err *err);
/* SHA-256 as 64 hex digits. */
#define JM_SHA256_HEX 65
void jm_sha256_hex(struct jm_span data, char out[JM_SHA256_HEX]);
int jm_file_sha256(const char *path, char out[JM_SHA256_HEX], struct jm_err *err);
struct jm_sha256 {
    uint32_t h[8];
    uint64_t n;
    bool fast; /* the processor has instructions for it */
    unsigned char block[64];
};
void jm_sha256_init(struct jm_sha256 *s);
void jm_sha256_add(struct jm_sha256 *s, const void *p, size_t n);
void jm_sha256_done(struct jm_sha256 *s, char out[JM_SHA256_HEX]);
/* Whether this processor has the instructions that both sums use (x86: SHA, SSE4.1, SSSE3). */
bool jm_sha_instructions(void);
/* SHA-1 as 40 hex digits: what MLPerf power sessions name their files by. */
#define JM_SHA1_HEX 41
struct jm_sha1 {
    uint32_t h[5];
    uint64_t n;
    bool fast; /* the processor has instructions for it */
    unsigned char block[64];
};
void jm_sha1_init(struct jm_sha1 *s);
void jm_sha1_add(struct jm_sha1 *s, const void *p, size_t n);
void jm_sha1_done(struct jm_sha1 *s, char out[JM_SHA1_HEX]);
int jm_file_sha1(const char *path, char out[JM_SHA1_HEX], struct jm_err *err);

#endif
