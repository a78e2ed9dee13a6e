/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_CLI_PATH_H
#define JM_CLI_PATH_H

#include "base/err.h"
#include "base/str.h"

/* path with its suffix .jmr (if any) replaced, appended to out. */
int jm_path_beside(const char *path, const char *suffix, struct jm_str *out, struct jm_err *err);

/* JM_ECONFLICT where path is a run file (or another SQLite database): a text must never take its place. */
int jm_path_spare_run(const char *path, struct jm_err *err);

#endif
