/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a session: read once in blocks, hashed on the way. */
#ifndef JM_MLPERF_FILES_H
#define JM_MLPERF_FILES_H

#include "base/file.h"
#include "mlperf/arena.h"
#include "mlperf/session.h"

#define JM_MLPERF_BLOCK ((size_t)256 << 10)

/* Where the files of dir/power, dir/ranging, dir/run_1 lie. run_1 may be another folder (logs that were
 * copied out of their session). */
struct jm_mlperf_place {
    char dir[4096];
    char run_1[4352];
};
bool jm_mlperf_locate(const char *path, struct jm_mlperf_place *p);
extern const char *const jm_mlperf_file_names[JM_MLPERF_FILES]; /* "run_1/spl.txt" */
/* false: the name does not fit */
bool jm_mlperf_file_path(const struct jm_mlperf_place *p, const char *rel, char *out, size_t size);

/* Reads a file (a regular one, links followed). buffer: JM_MLPERF_BLOCK bytes. fn NULL: hash only. fresh: an
 * initialised sum, NULL: none is made (to ask the processor for its instructions takes some microseconds).
 * Sets present, error, bytes, has_crlf and sha1; sha1_lf and sha1_crlf where they are the same. A file that
 * cannot be read is no failure: only JM_ENOMEM and what fn returns are. */
int jm_mlperf_file_read(const struct jm_mlperf_place *p, struct jm_mlperf_file *f,
                        const struct jm_sha1 *fresh, char *buffer, struct jm_mlperf_arena *a,
                        jm_file_block_fn fn, void *self, struct jm_err *err);
/* Sets sha1_crlf and sha1_lf by reading it once more. */
void jm_mlperf_file_rehash(const struct jm_mlperf_place *p, struct jm_mlperf_file *f, char *buffer);

/* Names of what else lies in power/, ranging/ and run_1/, sorted; folders end with a slash. */
int jm_mlperf_others(const struct jm_mlperf_place *p, struct jm_mlperf_session *s);

#endif
