/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of folders put into a run: a fact, a file. */
#ifndef JM_IMPORT_KEEP_H
#define JM_IMPORT_KEEP_H

#include "base/err.h"
#include "run/run.h"

/* A fact of the environment; an empty one is not put. */
int jm_keep_env(struct jm_run_writer *w, struct jm_err *err, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A file under the name as: kept whole up to 16 MiB, else by its hash, read in blocks. One that is absent,
 * empty or cannot be read is passed over. */
int jm_keep_file(struct jm_run_writer *w, struct jm_err *err, const char *path, const char *as);

#endif
