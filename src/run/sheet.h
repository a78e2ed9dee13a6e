/* SPDX-License-Identifier: Apache-2.0 */
/* A table on its way out: the same calls give CSV (RFC 4180) or an array of JSON objects. */
#ifndef JM_RUN_SHEET_H
#define JM_RUN_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/span.h"
#include "base/str.h"

struct jm_sheet {
    bool json;
    struct jm_jsonw w;
    struct jm_str buf; /* what is not in the file yet */
    int fd;
    const char *path; /* for errors */
    const char *const *cols;
    int col;
};

/* JSON: one file for all tables. */
int jm_sheet_open(struct jm_sheet *s, const char *path, bool json, struct jm_err *err);
/* Writes what is left and closes; removes nothing. Safe after an error. */
int jm_sheet_close(struct jm_sheet *s, int rc, struct jm_err *err);
/* cols ends with NULL; CSV writes them as the first line, JSON uses them as keys. */
void jm_sheet_table(struct jm_sheet *s, const char *name, const char *const *cols);
void jm_sheet_table_end(struct jm_sheet *s);
void jm_sheet_row(struct jm_sheet *s);
int jm_sheet_row_end(struct jm_sheet *s, struct jm_err *err);
/* Cells in order of the columns. */
void jm_sheet_null(struct jm_sheet *s);
void jm_sheet_i64(struct jm_sheet *s, int64_t v);
void jm_sheet_u64(struct jm_sheet *s, uint64_t v);
void jm_sheet_opt(struct jm_sheet *s, int64_t v);      /* -1: there is none */
void jm_sheet_num(struct jm_sheet *s, double v);       /* NAN: there is none */
void jm_sheet_text(struct jm_sheet *s, const char *t); /* NULL or "": there is none */
void jm_sheet_span(struct jm_sheet *s, struct jm_span t);

#endif
