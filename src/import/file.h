/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign file as one span. Small ones are read; large ones are mapped, and pages that have been used are
 * given back, so that a result file of some gigabytes costs no memory. */
#ifndef JM_IMPORT_FILE_H
#define JM_IMPORT_FILE_H

#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

#define JM_IFILE_READ_MAX (16u << 20) /* larger regular files are mapped */

struct jm_ifile {
    const char *path;
    struct jm_span all, text; /* text: without a byte order mark */
    int64_t mtime_ns;         /* UTC */
    struct jm_str own;        /* of a file that was read */
    void *map;                /* of one that was mapped */
};

/* JM_EPARSE with a sentence for what can be known not to be text of ours at once: empty, UTF-16, compressed.
 */
int jm_ifile_open(const char *path, struct jm_ifile *f, struct jm_err *err);
void jm_ifile_close(struct jm_ifile *f);
/* What form() says of the text of the file, into *kind. */
int jm_ifile_form(const char *path, int (*form)(struct jm_span text), int *kind, struct jm_err *err);
/* What lies before p and after *mark is not needed for now; moves *mark. Cheap: acts once in some megabytes.
 */
void jm_ifile_used(const struct jm_ifile *f, const char *p, size_t *mark);
/* "line 12 (byte 3456)" of a place in the file. Counts lines of the first 64 MiB only. */
const char *jm_ifile_where(const struct jm_ifile *f, const char *p, char buf[64]);
/* The last part of the path. */
const char *jm_ifile_name(const struct jm_ifile *f);

#endif
