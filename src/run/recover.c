/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "run/internal.h"

#include "base/banned.h"

static int text_of(sqlite3 *db, const char *sql, const char *path, char *buf, size_t cap, struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = jm_sql_prepare(db, sql, path, &st, err);
    if (rc)
        return rc;
    int s = sqlite3_step(st);
    if (s == SQLITE_ROW)
        jm_sql_text(st, 0, buf, cap);
    else
        rc = s == SQLITE_DONE
                 ? jm_err_set(err, JM_ECORRUPT, "%s is damaged: it does not say which run it is", path)
                 : jm_sql_err(db, s, "recover", path, err);
    sqlite3_finalize(st);
    return rc;
}

static int last_time(sqlite3 *db, const char *path, int64_t *last, struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = jm_sql_prepare(
        db,
        "SELECT max(t) FROM (SELECT max(t_last) t FROM chunk UNION ALL SELECT max(t_last) FROM "
        "token_chunk UNION ALL SELECT max(t) FROM mark UNION ALL SELECT max(mono1) FROM clock_pair "
        "UNION ALL SELECT max(t1) FROM window UNION ALL SELECT max(t0) FROM window)",
        path, &st, err);
    if (rc)
        return rc;
    int s = sqlite3_step(st);
    if (s == SQLITE_ROW)
        *last = jm_sql_i64(st, 0, 0);
    else
        rc = jm_sql_err(db, s, "recover", path, err);
    sqlite3_finalize(st);
    return rc;
}

static int finish(sqlite3 *db, const char *path, int64_t *lost_after, struct jm_err *err)
{
    char state[32] = "", check[160] = "";
    /* EXCLUSIVE before the first read: the journal's index stays in memory, and a live recording refuses us
     */
    int rc = jm_sql_exec(db, "PRAGMA locking_mode=EXCLUSIVE", "recover", path, err);
    if (!rc)
        rc = jm_run_guard(db, path, err);
    if (!rc)
        rc = text_of(db, "PRAGMA quick_check(1)", path, check, sizeof check, err);
    if (!rc && strcmp(check, "ok") != 0)
        rc = jm_err_set(err, JM_ECORRUPT, "%s is damaged and cannot be recovered in place: %s", path, check);
    if (!rc)
        rc = text_of(db, "SELECT state FROM run WHERE id=1", path, state, sizeof state, err);
    if (!rc)
        rc = last_time(db, path, lost_after, err);
    if (!rc && strcmp(state, "recording") == 0) {
        char *sql =
            sqlite3_mprintf("UPDATE run SET state='cut',lost_after=%lld WHERE id=1", (long long)*lost_after);
        rc = sql ? jm_sql_exec(db, sql, "recover", path, err) : jm_err_set(err, JM_ENOMEM, "out of memory");
        sqlite3_free(sql);
    }
    return rc ? rc : jm_run_fold(db, path, err);
}

int jm_run_recover(const char *path, int64_t *lost_after, struct jm_err *err)
{
    struct jm_run_header h;
    int64_t last = 0;
    int rc = jm_run_header(path, &h, err);
    if (rc)
        return rc;
    sqlite3 *db = NULL;
    int s = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                            NULL);
    char state[32] = "";
    if (s != SQLITE_OK)
        rc = jm_sql_err(db, s, "recover", path, err);
    else if (!h.wal) /* folded in: sealed or cut, unless it was just created */
        rc = text_of(db, "SELECT state FROM run WHERE id=1", path, state, sizeof state, err);
    if (!rc && (strcmp(state, "sealed") == 0 || strcmp(state, "cut") == 0)) {
        rc = last_time(db, path, &last, err);
        if (!rc)
            rc = 1;
    } else if (!rc) {
        rc = finish(db, path, &last, err);
    }
    sqlite3_close(db);
    if (rc >= 0 && lost_after)
        *lost_after = last;
    return rc;
}
