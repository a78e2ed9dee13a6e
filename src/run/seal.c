/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "run/internal.h"

#include "base/banned.h"

int jm_run_fold(sqlite3 *db, const char *path, struct jm_err *err)
{
    int rc =
        jm_sql_exec(db, "PRAGMA synchronous=FULL;PRAGMA wal_checkpoint(TRUNCATE);PRAGMA journal_mode=DELETE",
                    "seal", path, err);
    if (rc)
        return rc;
    sqlite3_stmt *st = NULL;
    rc = jm_sql_prepare(db, "PRAGMA journal_mode", path, &st, err);
    if (!rc && (sqlite3_step(st) != SQLITE_ROW ||
                sqlite3_stricmp((const char *)sqlite3_column_text(st, 0), "delete") != 0))
        rc = jm_err_set(err, JM_EIO,
                        "cannot seal %s: its journal could not be folded in; joulemark recover may finish it",
                        path);
    sqlite3_finalize(st);
    return rc;
}

static int seal(struct jm_run_writer *w, struct jm_err *err)
{
    int rc = jm_run_flush(w, INT64_MAX, true, err);
    if (!rc)
        rc =
            jm_sql_exec(w->db, "UPDATE run SET state='sealed' WHERE state='recording'", "seal", w->path, err);
    return rc ? rc : jm_run_fold(w->db, w->path, err);
}

int jm_run_seal(struct jm_run_writer *w, struct jm_err *err)
{
    int rc = seal(w, err);
    if (rc)
        jm_run_abandon(w);
    else
        jm_run_writer_free(w);
    return rc;
}
