/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/internal.h"

#include "base/banned.h"

/* Words (roles, kinds, states) are text, so that a query reads like a sentence; what is not known is NULL. */
const char jm_run_ddl[] =
    "CREATE TABLE run(id INTEGER PRIMARY KEY CHECK(id=1), run_id TEXT NOT NULL, label TEXT, kind TEXT NOT "
    "NULL,"
    " source TEXT, joulemark TEXT NOT NULL, created_real INTEGER NOT NULL, seed INTEGER NOT NULL,"
    " state TEXT NOT NULL CHECK(state IN('recording','sealed','cut')), lost_after INTEGER) STRICT;"
    "CREATE TABLE trial(id INTEGER PRIMARY KEY, t0 INTEGER NOT NULL, t1 INTEGER) STRICT;"
    "CREATE TABLE window(id INTEGER PRIMARY KEY, trial INTEGER NOT NULL, role TEXT NOT NULL, name TEXT,"
    " t0 INTEGER NOT NULL, t1 INTEGER) STRICT;"
    "CREATE TABLE meter(id INTEGER PRIMARY KEY, name TEXT NOT NULL, instance TEXT, state TEXT NOT NULL, "
    "reason TEXT,"
    " mend TEXT, period_ns INTEGER, simulated INTEGER NOT NULL) STRICT;"
    "CREATE TABLE domain(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES domain(id), kind TEXT NOT NULL,"
    " key TEXT NOT NULL, label TEXT) STRICT;"
    "CREATE TABLE channel(id INTEGER PRIMARY KEY, meter INTEGER NOT NULL REFERENCES meter(id), name TEXT NOT "
    "NULL,"
    " device TEXT, kind TEXT NOT NULL, unit TEXT NOT NULL, scale10 INTEGER NOT NULL, scale2 INTEGER NOT NULL,"
    " modulus INTEGER, period_ns INTEGER, period_measured INTEGER NOT NULL, sem TEXT NOT NULL, window_ns "
    "INTEGER,"
    " gain_tol REAL, offset_tol REAL, sane_min REAL, sane_max REAL, provenance TEXT NOT NULL,"
    " domain INTEGER, flags INTEGER NOT NULL, scope TEXT, source TEXT) STRICT;"
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, channel INTEGER NOT NULL REFERENCES channel(id),"
    " t_first INTEGER NOT NULL, t_last INTEGER NOT NULL, n INTEGER NOT NULL, vmin ANY, vmax ANY,"
    " times INTEGER REFERENCES chunk(id), enc INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
    "CREATE INDEX chunk_at ON chunk(channel, t_first);"
    "CREATE TABLE clock_pair(id INTEGER PRIMARY KEY, mono0 INTEGER NOT NULL, mono1 INTEGER NOT NULL,"
    " real INTEGER NOT NULL, boot INTEGER NOT NULL) STRICT;"
    "CREATE TABLE request(id INTEGER PRIMARY KEY, trial INTEGER NOT NULL, slice TEXT, scheduled INTEGER,"
    " end TEXT NOT NULL, error TEXT, prompt_tokens INTEGER, output_tokens INTEGER) STRICT;"
    "CREATE TABLE request_chunk(id INTEGER PRIMARY KEY, requests INTEGER NOT NULL, enc INTEGER NOT NULL,"
    " data BLOB NOT NULL, hashes BLOB NOT NULL) STRICT;"
    "CREATE TABLE token_chunk(id INTEGER PRIMARY KEY, t_first INTEGER NOT NULL, t_last INTEGER NOT NULL,"
    " requests INTEGER NOT NULL, events INTEGER NOT NULL, enc INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
    "CREATE TABLE text(request INTEGER PRIMARY KEY, prompt_enc INTEGER NOT NULL, prompt BLOB NOT NULL,"
    " output_enc INTEGER NOT NULL, output BLOB NOT NULL) STRICT;"
    "CREATE TABLE scrape(id INTEGER PRIMARY KEY, url TEXT NOT NULL, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, enc INTEGER, data BLOB) STRICT;"
    "CREATE TABLE env(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE factor(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, value REAL, unit "
    "TEXT NOT NULL,"
    " source TEXT NOT NULL) STRICT;"
    "CREATE TABLE raw(id INTEGER PRIMARY KEY, name TEXT NOT NULL, origin TEXT, sha256 TEXT NOT NULL,"
    " bytes INTEGER NOT NULL, enc INTEGER, data BLOB) STRICT;"
    "CREATE TABLE mark(id INTEGER PRIMARY KEY, t INTEGER NOT NULL, name TEXT NOT NULL) STRICT;"
    "CREATE TABLE claim(id INTEGER PRIMARY KEY, window INTEGER, key TEXT NOT NULL, metric TEXT, stat TEXT,"
    " value REAL, unit TEXT, source TEXT, boundary TEXT) STRICT;";

static const char *const tables[] = {
    "run",  "trial",  "window", "meter",  "domain", "channel", "chunk",       "clock_pair",    "request",
    "text", "scrape", "env",    "factor", "raw",    "mark",    "token_chunk", "request_chunk", NULL};
/* Came later: older files lack them. */
static const char *const later[] = {"claim", NULL};

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* From the file itself, before SQLite touches it. Offsets: "The Database Header" of the SQLite file format.
 */
int jm_run_header(const char *path, struct jm_run_header *out, struct jm_err *err)
{
    unsigned char h[100];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s", path);
    size_t n = 0;
    while (n < sizeof h) {
        ssize_t k = pread(fd, h + n, sizeof h - n, (off_t)n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            int e = errno;
            close(fd);
            return jm_err_sys(err, e, "cannot read %s", path);
        }
        if (!k)
            break;
        n += (size_t)k;
    }
    struct stat st;
    int64_t have = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : INT64_MAX;
    close(fd);
    if (n < sizeof h || memcmp(h, "SQLite format 3", 16) != 0)
        return jm_err_set(
            err, JM_EPARSE,
            "%s is not a run file: it is no SQLite database; a file of another tool has to be imported "
            "first (joulemark import)",
            path);
    if (be32(h + 68) != JM_RUN_APPLICATION_ID)
        return jm_err_set(
            err, JM_EPARSE,
            "%s is a SQLite database, but not a run file of joulemark (application id 0x%08x instead of "
            "0x%08x)",
            path, (unsigned)be32(h + 68), JM_RUN_APPLICATION_ID);
    out->version = (int)be32(h + 60);
    out->wal = h[18] == 2 || h[19] == 2;
    if (out->version > JM_RUN_VERSION || out->version < 1)
        return jm_err_set(err, JM_EVERSION,
                          "%s is a run file of version %d, and this joulemark (" JM_VERSION
                          ") reads up to version %d; use the joulemark that wrote it, or a newer one",
                          path, out->version, JM_RUN_VERSION);
    /* SQLite takes what is missing of the last page as zeros. The count of pages is true where the counter
     * beside it is the file's own (SQLite file format, 1.3.7). */
    int64_t page = h[16] << 8 | h[17], want = (page == 1 ? 65536 : page) * (int64_t)be32(h + 28);
    if (!out->wal && memcmp(h + 24, h + 92, 4) == 0 && have < want)
        return jm_err_set(err, JM_ECORRUPT, "%s is damaged: only %lld of its %lld bytes are there", path,
                          (long long)have, (long long)want);
    return 0;
}

int jm_run_guard(sqlite3 *db, const char *path, struct jm_err *err)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)JM_RUN_RAW_MAX + (8 << 20));
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    int rc = jm_sql_exec(db, "PRAGMA cell_size_check=ON", "read", path, err);
    sqlite3_stmt *st = NULL;
    /* a view, a virtual table or a computed column of these names could compute without end */
    if (!rc)
        rc = jm_sql_prepare(
            db,
            "SELECT (SELECT count(*) FROM sqlite_schema WHERE type='table' AND rootpage>0 AND name=?1)"
            " AND NOT EXISTS(SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden<>0)",
            path, &st, err);
    for (int i = 0; !rc && tables[i]; i++) {
        jm_sql_bind(st, "t", tables[i]);
        int s = sqlite3_step(st);
        if (s != SQLITE_ROW)
            rc = jm_sql_err(db, s, "read", path, err);
        else if (!sqlite3_column_int(st, 0))
            rc =
                jm_err_set(err, JM_ECORRUPT, "%s is damaged: its table %s is missing or is not a plain table",
                           path, tables[i]);
        sqlite3_reset(st);
    }
    sqlite3_finalize(st);
    for (int i = 0; !rc && later[i]; i++) {
        bool there;
        rc = jm_run_has_table(db, path, later[i], &there, err);
    }
    return rc;
}

int jm_run_has_table(sqlite3 *db, const char *path, const char *table, bool *there, struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = jm_sql_prepare(db,
                            "SELECT type='table' AND rootpage>0"
                            " AND NOT EXISTS(SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden<>0)"
                            " FROM sqlite_schema WHERE name=?1",
                            path, &st, err);
    *there = false;
    if (rc)
        return rc;
    jm_sql_bind(st, "t", table);
    int s = sqlite3_step(st);
    *there = s == SQLITE_ROW;
    if (s != SQLITE_ROW && s != SQLITE_DONE)
        rc = jm_sql_err(db, s, "read", path, err);
    else if (*there && !sqlite3_column_int(st, 0))
        rc = jm_err_set(err, JM_ECORRUPT, "%s is damaged: its table %s is not a plain table", path, table);
    sqlite3_finalize(st);
    return rc;
}
