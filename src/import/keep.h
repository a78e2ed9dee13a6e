/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of folders put into a run: a fact, a file. */
#ifndef JM_IMPORT_KEEP_H
#define JM_IMPORT_KEEP_H

#include "base/err.h"
#include "import/import.h"
#include "run/run.h"

/* Opens the run of an import; created_ns: when it was measured, so that the same file comes out again. */
int jm_keep_begin(struct jm_run_writer **w, const char *source, const char *out_path,
                  const struct jm_import_opts *o, int64_t created_ns, struct jm_err *err);
/* Seals the run when rc is 0; else nothing is left behind: the source is still there. Returns what went wrong
 * first. */
int jm_keep_end(struct jm_run_writer *w, const char *out_path, int rc, struct jm_err *err);

/* A fact of the environment; an empty one is not put. */
int jm_keep_env(struct jm_run_writer *w, struct jm_err *err, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A file under the name as: kept whole up to 16 MiB, else by its hash, read in blocks. One that is absent,
 * empty or cannot be read is passed over. */
int jm_keep_file(struct jm_run_writer *w, struct jm_err *err, const char *path, const char *as);

#endif
