/* SPDX-License-Identifier: Apache-2.0 */
/* Importers: foreign files → a run file, one file a tool, one row in the table. */
#ifndef JM_IMPORT_IMPORT_H
#define JM_IMPORT_IMPORT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"

struct jm_import_opts {
    const char *label;
    bool overwrite;
    const struct jm_log *log;
};

struct jm_importer {
    const char *name;    /* "mlperf" */
    const char *summary; /* "MLPerf Inference power session (directory with performance/)" */
    /* 0..100: how sure it is that path is its kind; cheap. */
    int (*sniff)(const char *path);
    int (*import)(const char *path, const char *out_path, const struct jm_import_opts *o, struct jm_err *err);
};

extern const struct jm_importer *const jm_importers[]; /* ends with NULL */
/* By name, or by sniffing when name is NULL. err says what was looked for. */
const struct jm_importer *jm_importer_find(const char *name, const char *path, struct jm_err *err);

#endif
