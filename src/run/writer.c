/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "run/internal.h"

#include "base/banned.h"

#define COMMIT_WRITES 20000 /* an importer need not flush: the open transaction is bounded anyway */
#define DUE_NS        (JM_RUN_FLUSH_NS - JM_NS_PER_S) /* flush is called once a second */

int jm_run_remove(const char *path, struct jm_err *err)
{
    static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
    for (unsigned i = 0; i < 4; i++) {
        char *p = sqlite3_mprintf("%s%s", path, suffix[i]);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "out of memory");
        struct stat st;
        int e = 0;
        bool other = lstat(p, &st) == 0 && !S_ISREG(st.st_mode);
        if (other)
            jm_err_set(err, JM_ECONFLICT, "%s is no regular file and is not replaced by a run file", p);
        else if (unlink(p) && errno != ENOENT)
            e = errno;
        sqlite3_free(p);
        if (other)
            return JM_ECONFLICT;
        if (e)
            return jm_err_sys(err, e, "cannot replace %s%s", path, suffix[i]);
    }
    return 0;
}

/* A file that another process is recording or reading is not taken from under it: what it still has to
 * write would be lost. SQLite locks bytes of the 512 from 2^30 on. */
static int not_in_use(const char *path, struct jm_err *err)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 30, .l_len = 512};
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return 0; /* what is wrong is said when it is replaced */
    bool used = fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
    close(fd);
    return used ? jm_err_set(err, JM_ECONFLICT, "%s is in use by process %ld and is not overwritten", path,
                             (long)l.l_pid)
                : 0;
}

static int make_file(const char *path, bool overwrite, struct jm_err *err)
{
    int rc = overwrite ? not_in_use(path, err) : 0;
    if (!rc && overwrite)
        rc = jm_run_remove(path, err);
    if (rc)
        return rc;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return jm_err_set(
            err, JM_ECONFLICT,
            "%s exists already and is not overwritten; choose another name, or write over it (--force)",
            path);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot create %s", path);
    close(fd);
    return 0;
}

/* The same inputs give the same id, so that an import can be repeated. */
static void make_id(const struct jm_run_create *c, char id[40])
{
    struct jm_sha256 s;
    char hex[JM_SHA256_HEX];
    const char *text[] = {c->kind, c->source, c->label};
    jm_sha256_init(&s);
    jm_sha256_add(&s, &c->seed, sizeof c->seed);
    jm_sha256_add(&s, &c->created_real, sizeof c->created_real);
    for (unsigned i = 0; i < 3; i++)
        jm_sha256_add(&s, text[i] ? text[i] : "", text[i] ? strlen(text[i]) + 1 : 1);
    jm_sha256_done(&s, hex);
    snprintf(id, 40, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static int write_run_row(struct jm_run_writer *w, const struct jm_run_create *c, struct jm_err *err)
{
    char id[40];
    sqlite3_stmt *st = NULL;
    make_id(c, id);
    int rc = jm_sql_prepare(w->db,
                            "INSERT INTO run(id,run_id,label,kind,source,joulemark,created_real,seed,state)"
                            " VALUES(1,?1,?2,?3,?4,?5,?6,?7,'recording')",
                            w->path, &st, err);
    if (rc)
        return rc;
    jm_sql_bind(st, "teettii", id, c->label, c->kind ? c->kind : "recorded", c->source, JM_VERSION,
                c->created_real, (int64_t)c->seed);
    int s = sqlite3_step(st);
    if (s != SQLITE_DONE)
        rc = jm_sql_err(w->db, s, "write", w->path, err);
    sqlite3_finalize(st);
    return rc;
}

static int lay_out(struct jm_run_writer *w, const struct jm_run_create *c, struct jm_err *err)
{
    char pragma[128];
    snprintf(pragma, sizeof pragma, "PRAGMA application_id=%d;PRAGMA user_version=%d", JM_RUN_APPLICATION_ID,
             JM_RUN_VERSION);
    /* The tables are made before WAL is switched on, so that the main file alone says what it is. EXCLUSIVE
     * comes before the first read in WAL: then the index of the WAL lives on the heap and there is no -shm
     * file. */
    int rc = jm_sql_exec(w->db,
                         "PRAGMA locking_mode=EXCLUSIVE;PRAGMA page_size=4096;PRAGMA foreign_keys=OFF;BEGIN",
                         "write", w->path, err);
    if (!rc)
        rc = jm_sql_exec(w->db, pragma, "write", w->path, err);
    if (!rc)
        rc = jm_sql_exec(w->db, jm_run_ddl, "write", w->path, err);
    if (!rc)
        rc = write_run_row(w, c, err);
    if (!rc)
        rc = jm_sql_exec(w->db,
                         "COMMIT;PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA temp_store=MEMORY;"
                         "PRAGMA cache_size=-2000",
                         "write", w->path, err);
    return rc;
}

int jm_run_create(const char *path, const struct jm_run_create *c, struct jm_run_writer **out,
                  struct jm_err *err)
{
    if (!path || !*path)
        return jm_err_set(err, JM_EINVAL, "a run file needs a name");
    struct jm_run_writer *w = calloc(1, sizeof *w);
    if (!w)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a run file");
    w->dirty_since = INT64_MIN;
    jm_str_init(&w->plain);
    jm_str_init(&w->packed);
    w->path = strdup(path);
    int rc = w->path ? jm_event_batch_new(&w->events, err)
                     : jm_err_set(err, JM_ENOMEM, "out of memory for a run file");
    bool made = false;
    if (!rc) {
        rc = make_file(path, c->overwrite, err);
        made = !rc;
    }
    if (!rc) {
        int s = sqlite3_open_v2(path, &w->db,
                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
        if (s != SQLITE_OK)
            rc = jm_sql_err(w->db, s, "create", path, err);
        else
            rc = lay_out(w, c, err);
    }
    if (rc) {
        jm_run_writer_free(w);
        if (made)
            jm_run_remove(path, NULL);
        return rc;
    }
    *out = w;
    return 0;
}

void jm_run_writer_free(struct jm_run_writer *w)
{
    for (int i = 0; i < JM_Q_COUNT; i++)
        sqlite3_finalize(w->st[i]);
    sqlite3_close(w->db);
    for (size_t i = 0; i < w->n_ch; i++)
        free(w->ch[i].v);
    for (unsigned i = 0; i < JM_RUN_TIMES_KEPT; i++)
        free(w->times[i].r);
    free(w->ch);
    free(w->details);
    jm_event_batch_free(w->events);
    jm_str_release(&w->plain);
    jm_str_release(&w->packed);
    free(w->path);
    free(w);
}

void jm_run_note_failure(struct jm_run_writer *w, const struct jm_err *e)
{
    if (!w->broken.code && e->code != JM_EINVAL && e->code != JM_ENOMEM)
        w->broken = *e;
}

int jm_run_commit(struct jm_run_writer *w, struct jm_err *err)
{
    struct jm_err e = {0};
    int rc = jm_run_write_details(w, &e); /* a row does not go into the file without its details */
    if (!w->in_tx && !rc)
        return 0;
    if (!rc)
        rc = jm_sql_exec(w->db, "COMMIT", "write", w->path, &e);
    if (rc) {
        jm_run_note_failure(w, &e);
        if (err)
            *err = e;
        if (!sqlite3_get_autocommit(w->db))
            sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
    }
    w->in_tx = false;
    w->dirty = false;
    w->dirty_since = INT64_MIN;
    w->writes = 0;
    return rc;
}

static bool has_pending(const struct jm_run_writer *w)
{
    if (w->dirty || w->events->n_ev)
        return true;
    for (size_t i = 0; i < w->n_ch; i++)
        if (w->ch[i].n)
            return true;
    return false;
}

int jm_run_flush(struct jm_run_writer *w, int64_t now, bool force, struct jm_err *err)
{
    if (w->broken.code) {
        if (err)
            *err = w->broken;
        return w->broken.code;
    }
    if (!has_pending(w))
        return 0;
    if (w->dirty_since == INT64_MIN)
        w->dirty_since = now;
    bool due = now - w->dirty_since >= DUE_NS;
    if (!force && !due && w->writes < COMMIT_WRITES)
        return 0;
    int rc = force || due ? jm_run_write_pending(w, err) : 0;
    if (!rc && (force || due))
        rc = jm_run_write_events(w, err);
    return rc ? rc : jm_run_commit(w, err);
}

int jm_run_copy(struct jm_run_writer *w, int64_t now, const char *path, struct jm_err *err)
{
    int rc = jm_run_flush(w, now, true, err);
    char *sql = rc ? NULL : sqlite3_mprintf("VACUUM INTO %Q", path);
    if (!rc && !sql)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a copy of %s", w->path);
    if (!rc)
        rc = jm_sql_exec(w->db, sql, "copy", w->path, err);
    sqlite3_free(sql);
    return rc;
}

void jm_run_abandon(struct jm_run_writer *w)
{
    if (!w)
        return;
    if (!w->broken.code)
        jm_run_flush(w, INT64_MAX, true, NULL);
    else if (w->in_tx)
        jm_run_commit(w, NULL); /* what was written before the failure, where it still fits */
    /* SQLite would fold the journal in and delete it on a clean close; a cut run keeps it for recover */
    sqlite3_db_config(w->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    jm_run_writer_free(w);
}
