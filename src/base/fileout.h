/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is written piece by piece under another name and takes its own when it is whole. */
#ifndef JM_BASE_FILEOUT_H
#define JM_BASE_FILEOUT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/span.h"

struct jm_file_out {
    char path[4096], temp[4096];
    int fd; /* -1: not open */
};

/* A temporary file beside path. */
int jm_file_out_open(struct jm_file_out *f, const char *path, struct jm_err *err);
int jm_file_out_add(struct jm_file_out *f, struct jm_span data, struct jm_err *err);
/* On the disk, and under its name; replace: also where that is taken. JM_ECONFLICT: it is. */
int jm_file_out_commit(struct jm_file_out *f, bool replace, struct jm_err *err);
void jm_file_out_abandon(struct jm_file_out *f); /* nothing stays; after commit nothing happens */

#endif
