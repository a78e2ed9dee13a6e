/* SPDX-License-Identifier: Apache-2.0 */
/* Importers: foreign files → a run file, one file a tool, one row in the table. */
#ifndef JM_IMPORT_IMPORT_H
#define JM_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"

struct jm_probe; /* import/probe.h */

struct jm_import_opts {
    const char *label;
    bool overwrite;
    const char *since, *until; /* of a log: only this part; a time, or one from its beginning ("90s"); NULL */
    int64_t interval_ns;       /* between the lines of a log without time stamps; 0: the tool's own */
    int select; /* of a file that holds several benchmarks: only this one, counted from 1; 0: all */
    const struct jm_log *log;
};

struct jm_importer {
    const char *name;    /* "mlperf" */
    const char *summary; /* "MLPerf Inference power session (directory with performance/)" */
    /* What of its files is read, and what they cannot tell: docs/importers.md is made from it. May be NULL.
     */
    const char *reads, *lacks;
    /* 0..100: how sure it is that this is its kind, by content. */
    int (*sniff)(const struct jm_probe *p);
    int (*import)(const char *path, const char *out_path, const struct jm_import_opts *o, struct jm_err *err);
};

extern const struct jm_importer *const jm_importers[]; /* ends with NULL */
/* By name, or by a look inside when name is NULL. err says what was looked for. */
const struct jm_importer *jm_importer_find(const char *name, const char *path, struct jm_err *err);

#endif
