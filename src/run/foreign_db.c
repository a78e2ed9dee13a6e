/* SPDX-License-Identifier: Apache-2.0 */
#include "run/foreign_db.h"

#include <string.h>

#include "base/str.h"
#include "run/internal.h"

#include "base/banned.h"

#define COLUMNS 32

static int open_it(const char *path, sqlite3 **db, struct jm_err *err)
{
    struct jm_str uri;
    jm_str_init(&uri);
    jm_str_adds(&uri, path[0] == '/' ? "file://" : "file:");
    for (const char *p = path; *p; p++) /* what has a meaning in a URI */
        jm_str_addf(&uri, strchr("?#%", *p) ? "%%%02x" : "%c", (unsigned char)*p);
    jm_str_adds(&uri, "?immutable=1");
    int rc = jm_str_ok(&uri, "a file name", err);
    if (!rc) {
        int s =
            sqlite3_open_v2(uri.buf, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
        if (s != SQLITE_OK)
            rc = jm_sql_err(*db, s, "open", path, err);
    }
    jm_str_release(&uri);
    if (rc)
        return rc;
    sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, (int)JM_RUN_RAW_MAX);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return jm_sql_exec(*db, "PRAGMA cell_size_check=ON", "read", path, err);
}

static struct jm_foreign_cell cell_of(sqlite3_stmt *st, int col)
{
    struct jm_foreign_cell c = {.type = JM_CELL_NONE};
    switch (sqlite3_column_type(st, col)) {
    case SQLITE_INTEGER:
        c.type = JM_CELL_INT;
        c.i = sqlite3_column_int64(st, col);
        c.d = (double)c.i;
        break;
    case SQLITE_FLOAT:
        c.type = JM_CELL_REAL;
        c.d = sqlite3_column_double(st, col);
        break;
    case SQLITE_TEXT:
        c.type = JM_CELL_TEXT;
        c.text = jm_sql_span(st, col);
        break;
    default: break;
    }
    return c;
}

/* Which of the columns the table has. */
static int have_columns(sqlite3 *db, const char *path, const char *table, const char *const *columns,
                        size_t n, bool *have, struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc =
        jm_sql_prepare(db, "SELECT 1 FROM pragma_table_xinfo(?1) WHERE name=?2 AND hidden=0", path, &st, err);
    for (size_t i = 0; !rc && i < n; i++) {
        jm_sql_bind(st, "tt", table, columns[i]);
        int s = sqlite3_step(st);
        have[i] = s == SQLITE_ROW;
        if (s != SQLITE_ROW && s != SQLITE_DONE)
            rc = jm_sql_err(db, s, "read", path, err);
        sqlite3_reset(st);
    }
    sqlite3_finalize(st);
    return rc;
}

static int rows(sqlite3 *db, const char *path, const char *table, const char *const *columns, size_t n,
                jm_foreign_row_fn fn, void *self, struct jm_err *err)
{
    bool have[COLUMNS];
    struct jm_foreign_cell cell[COLUMNS];
    struct jm_str sql;
    sqlite3_stmt *st = NULL;
    int rc = have_columns(db, path, table, columns, n, have, err);
    jm_str_init(&sql);
    jm_str_adds(&sql, "SELECT ");
    for (size_t i = 0; i < n; i++) /* names are our own, not the file's */
        jm_str_addf(&sql, have[i] ? "%s\"%s\"" : "%sNULL", i ? "," : "", columns[i]);
    jm_str_addf(&sql, " FROM \"%s\" ORDER BY rowid", table);
    if (!rc)
        rc = jm_str_ok(&sql, "a query", err);
    if (!rc)
        rc = jm_sql_prepare(db, sql.buf, path, &st, err);
    jm_str_release(&sql);
    while (!rc) {
        int s = sqlite3_step(st);
        if (s == SQLITE_DONE)
            break;
        if (s != SQLITE_ROW) {
            rc = jm_sql_err(db, s, "read", path, err);
            break;
        }
        for (size_t i = 0; i < n; i++)
            cell[i] = cell_of(st, (int)i);
        rc = fn(self, cell);
    }
    sqlite3_finalize(st);
    return rc;
}

int jm_foreign_db_rows(const char *path, const char *table, const char *const *columns, size_t n,
                       jm_foreign_row_fn fn, void *self, struct jm_err *err)
{
    sqlite3 *db = NULL;
    bool there = false;
    if (n > COLUMNS)
        return jm_err_set(err, JM_EINVAL, "more than %d columns", COLUMNS);
    int rc = open_it(path, &db, err);
    if (!rc)
        rc = jm_run_has_table(db, path, table, &there, err);
    if (!rc && !there)
        rc = jm_err_set(err, JM_EABSENT, "%s has no table \"%s\"", path, table);
    if (!rc)
        rc = rows(db, path, table, columns, n, fn, self, err);
    sqlite3_close(db);
    return rc;
}

bool jm_foreign_db_has(const char *path, const char *table)
{
    sqlite3 *db = NULL;
    bool there = false;
    if (open_it(path, &db, NULL) == 0 && jm_run_has_table(db, path, table, &there, NULL))
        there = false;
    sqlite3_close(db);
    return there;
}
