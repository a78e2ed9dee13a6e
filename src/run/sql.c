/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "run/internal.h"

#include "base/banned.h"

static bool no_space(int e)
{
    return e == ENOSPC || e == EDQUOT || e == EFBIG;
}

int jm_sql_err(sqlite3 *db, int rc, const char *doing, const char *path, struct jm_err *err)
{
    int e = db ? sqlite3_system_errno(db) : 0;
    if (!e && (rc & 0xff) == SQLITE_IOERR && no_space(errno))
        e = errno; /* SQLite does not keep it for every failing write */
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return jm_err_set(err, JM_EFULL, "cannot %s %s: there is no space left on its file system", doing,
                          path);
    case SQLITE_NOMEM: return jm_err_set(err, JM_ENOMEM, "cannot %s %s: out of memory", doing, path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return jm_err_set(err, JM_ECORRUPT, "%s is damaged: %s", path, why);
    case SQLITE_TOOBIG:
        return jm_err_set(err, JM_ECORRUPT, "%s is damaged: a value in it is larger than any can be", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return jm_err_set(err, JM_ECONFLICT, "cannot %s %s: another process is writing it", doing, path);
    case SQLITE_ERROR: /* a column that is not there: not our schema */
        return jm_err_set(err, JM_ECORRUPT, "%s is damaged: %s", path, why);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        if (e == EFBIG) /* a file-size limit of the process or of the file system */
            return jm_err_set(err, JM_EFULL, "cannot %s %s: the file may not grow any further", doing, path);
        if (e)
            return jm_err_sys(err, e, "cannot %s %s", doing, path);
        break;
    default: break;
    }
    return jm_err_set(err, JM_EIO, "cannot %s %s: %s", doing, path, why);
}

int jm_sql_exec(sqlite3 *db, const char *sql, const char *doing, const char *path, struct jm_err *err)
{
    errno = 0;
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : jm_sql_err(db, rc, doing, path, err);
}

int jm_sql_prepare(sqlite3 *db, const char *sql, const char *path, sqlite3_stmt **out, struct jm_err *err)
{
    int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    return rc == SQLITE_OK ? 0 : jm_sql_err(db, rc, "read", path, err);
}

static int bind_text(sqlite3_stmt *st, int i, const char *s)
{
    return s ? sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC) : sqlite3_bind_null(st, i);
}

static int bind_va(sqlite3_stmt *st, const char *fmt, va_list ap)
{
    int rc = SQLITE_OK;
    for (int i = 1; *fmt && rc == SQLITE_OK; fmt++, i++) {
        switch (*fmt) {
        case 'i': rc = sqlite3_bind_int64(st, i, va_arg(ap, int64_t)); break;
        case 'o': {
            int64_t v = va_arg(ap, int64_t);
            rc = v == -1 ? sqlite3_bind_null(st, i) : sqlite3_bind_int64(st, i, v);
            break;
        }
        case 'z': {
            int64_t v = va_arg(ap, int64_t);
            rc = v ? sqlite3_bind_int64(st, i, v) : sqlite3_bind_null(st, i);
            break;
        }
        case 'd': {
            double v = va_arg(ap, double);
            rc = isnan(v) ? sqlite3_bind_null(st, i) : sqlite3_bind_double(st, i, v);
            break;
        }
        case 't': rc = bind_text(st, i, va_arg(ap, const char *)); break;
        case 'e': {
            const char *s = va_arg(ap, const char *);
            rc = bind_text(st, i, s && *s ? s : NULL);
            break;
        }
        case 'b': {
            const void *p = va_arg(ap, const void *);
            size_t n = va_arg(ap, size_t);
            rc = n ? sqlite3_bind_blob64(st, i, p, n, SQLITE_STATIC) : sqlite3_bind_zeroblob(st, i, 0);
            break;
        }
        case 'B': {
            const void *p = va_arg(ap, const void *);
            size_t n = va_arg(ap, size_t);
            rc = n ? sqlite3_bind_blob64(st, i, p, n, SQLITE_STATIC) : sqlite3_bind_null(st, i);
            break;
        }
        default: rc = sqlite3_bind_null(st, i); break;
        }
    }
    return rc;
}

int jm_sql_bind(sqlite3_stmt *st, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = bind_va(st, fmt, ap);
    va_end(ap);
    return rc;
}

/* Here because the statement has to be bound by the caller's list. */
int jm_run_write(struct jm_run_writer *w, enum jm_run_stmt q, struct jm_err *err, const char *fmt, ...)
{
    static const char *const sql[JM_Q_COUNT] = {
        [JM_Q_METER] = "INSERT INTO meter VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
        [JM_Q_METER_STATE] = "UPDATE meter SET state=?2,reason=?3 WHERE id=?1",
        [JM_Q_DOMAIN] = "INSERT INTO domain VALUES(?1,?2,?3,?4,?5)",
        [JM_Q_CHANNEL] =
            "INSERT OR REPLACE INTO channel VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,"
            "?17,?18,?19,?20,?21,?22)",
        [JM_Q_CHUNK] = "INSERT INTO chunk(channel,t_first,t_last,n,vmin,vmax,times,enc,data)"
                       " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
        [JM_Q_PAIR] = "INSERT INTO clock_pair(mono0,mono1,real,boot) VALUES(?1,?2,?3,?4)",
        [JM_Q_TRIAL] = "INSERT OR IGNORE INTO trial VALUES(?1,?2,NULL)",
        [JM_Q_TRIAL_END] = "UPDATE trial SET t1=max(?2,coalesce(t1,?2))"
                           " WHERE id=(SELECT trial FROM window WHERE id=?1)",
        [JM_Q_WINDOW] = "INSERT INTO window VALUES(?1,?2,?3,?4,?5,?6)",
        [JM_Q_WINDOW_END] = "UPDATE window SET t1=?2 WHERE id=?1",
        [JM_Q_MARK] = "INSERT INTO mark(t,name) VALUES(?1,?2)",
        [JM_Q_ENV] = "INSERT OR REPLACE INTO env VALUES(?1,?2)",
        [JM_Q_REQUEST] = "INSERT INTO request VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
        [JM_Q_DETAILS] = "INSERT INTO request_chunk(requests,enc,data,hashes) VALUES(?1,?2,?3,?4)",
        [JM_Q_TOKENS] =
            "INSERT INTO token_chunk(t_first,t_last,requests,events,enc,data) VALUES(?1,?2,?3,?4,?5,?6)",
        [JM_Q_TEXT] = "INSERT OR REPLACE INTO text VALUES(?1,?2,?3,?4,?5)",
        [JM_Q_RAW] = "INSERT INTO raw(name,origin,sha256,bytes,enc,data) VALUES(?1,?2,?3,?4,?5,?6)",
        [JM_Q_SCRAPE] = "INSERT INTO scrape(url,t0,t1,bytes,sha256,enc,data) VALUES(?1,?2,?3,?4,?5,?6,?7)",
        [JM_Q_FACTOR] = "INSERT INTO factor(kind,key,value,unit,source) VALUES(?1,?2,?3,?4,?5)",
        [JM_Q_CLAIM] = "INSERT INTO claim(window,key,metric,stat,value,unit,source,boundary)"
                       " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    };
    struct jm_err e = {0};
    int rc = w->broken.code;
    if (rc) {
        e = w->broken;
        goto out;
    }
    if (!w->in_tx) {
        rc = jm_sql_exec(w->db, "BEGIN IMMEDIATE", "write", w->path, &e);
        w->in_tx = !rc;
    }
    if (!rc && !w->st[q])
        rc = jm_sql_prepare(w->db, sql[q], w->path, &w->st[q], &e);
    if (rc)
        goto out;
    va_list ap;
    va_start(ap, fmt);
    int s = bind_va(w->st[q], fmt, ap);
    va_end(ap);
    errno = 0;
    if (s == SQLITE_OK)
        s = sqlite3_step(w->st[q]);
    if ((s & 0xff) == SQLITE_CONSTRAINT)
        rc = jm_err_set(&e, JM_EINVAL,
                        "cannot write %s: the row is there already, or a value in it is not allowed (%s)",
                        w->path, sqlite3_errmsg(w->db));
    else if (s != SQLITE_DONE)
        rc = jm_sql_err(w->db, s, "write", w->path, &e);
    sqlite3_reset(w->st[q]);
    if (!rc) {
        w->dirty = true;
        w->writes++;
        return 0;
    }
out:
    jm_run_note_failure(w, &e);
    if (err)
        *err = e;
    return rc;
}

void jm_sql_text(sqlite3_stmt *st, int col, char *buf, size_t cap)
{
    struct jm_span s = jm_sql_span(st, col);
    size_t n = s.n < cap - 1 ? s.n : cap - 1;
    if (n)
        memcpy(buf, s.p, n);
    buf[n] = '\0';
}

int64_t jm_sql_i64(sqlite3_stmt *st, int col, int64_t missing)
{
    return sqlite3_column_type(st, col) == SQLITE_INTEGER ? sqlite3_column_int64(st, col) : missing;
}

double jm_sql_double(sqlite3_stmt *st, int col)
{
    int t = sqlite3_column_type(st, col);
    return t == SQLITE_FLOAT || t == SQLITE_INTEGER ? sqlite3_column_double(st, col) : NAN;
}

struct jm_span jm_sql_span(sqlite3_stmt *st, int col)
{
    int t = sqlite3_column_type(st, col);
    if (t != SQLITE_TEXT && t != SQLITE_BLOB)
        return (struct jm_span){0};
    const char *p = sqlite3_column_blob(st, col);
    return (struct jm_span){p, p ? (size_t)sqlite3_column_bytes(st, col) : 0};
}
