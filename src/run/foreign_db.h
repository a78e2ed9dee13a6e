/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of another program's SQLite database, read-only and suspicious: nothing in it is run, nothing is
 * written beside it. Here because this room alone sees SQLite. */
#ifndef JM_RUN_FOREIGN_DB_H
#define JM_RUN_FOREIGN_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct jm_foreign_cell {
    enum {
        JM_CELL_NONE,
        JM_CELL_INT,
        JM_CELL_REAL,
        JM_CELL_TEXT
    } type; /* NONE: NULL, a blob, or no such column */
    int64_t i;
    double d;            /* of an integer too */
    struct jm_span text; /* until the callback returns */
};
typedef int (*jm_foreign_row_fn)(void *self, const struct jm_foreign_cell *cell);
/* Calls fn for each row of a table with the n columns (at most 32) in the order of rowid; fn returns non-zero
 * to stop (passed on). JM_EABSENT: there is no such plain table. */
int jm_foreign_db_rows(const char *path, const char *table, const char *const *columns, size_t n,
                       jm_foreign_row_fn fn, void *self, struct jm_err *err);
/* Is there a table of this name in it? False also for what is no database. */
bool jm_foreign_db_has(const char *path, const char *table);

#endif
