/* SPDX-License-Identifier: Apache-2.0 */
/* A file of an MLPerf session: read once in blocks, kept in the run as far as that keeps raw files, and taken
 * apart into lines on the way. */
#ifndef JM_IMPORT_MLPERF_TAKE_H
#define JM_IMPORT_MLPERF_TAKE_H

#include "base/str.h"
#include "run/run.h"
#include "wire/log_lines.h"

#define JM_MLPERF_TAKE ((size_t)256 << 10) /* bytes of the buffer that the caller lends */

/* What it returns, when not 0, ends the reading and is passed on. */
typedef int (*jm_mlperf_line_fn)(void *self, const struct jm_log_line *l);

int jm_mlperf_lines(const char *path, char *buffer, jm_mlperf_line_fn fn, void *self, struct jm_err *err);
/* The same, and the file goes into the raw table under the name `as`; beyond JM_RUN_RAW_MAX by name and hash.
 * fn and text may be NULL; *text (initialised) gets what the run keeps. */
int jm_mlperf_take(struct jm_run_writer *w, const char *path, const char *as, char *buffer,
                   jm_mlperf_line_fn fn, void *self, struct jm_str *text, struct jm_err *err);

#endif
