/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "run/internal.h"

#include "base/banned.h"

/* Path as a file: URI, so that names with ? # % mean themselves. */
static int open_immutable(const char *path, sqlite3 **db, struct jm_err *err)
{
    struct jm_str uri;
    jm_str_init(&uri);
    jm_str_adds(&uri, "file:");
    if (path[0] == '/')
        jm_str_adds(&uri, "//");
    for (const char *p = path; *p; p++) {
        if (*p == '?' || *p == '#' || *p == '%' || (unsigned char)*p < 0x20)
            jm_str_addf(&uri, "%%%02X", (unsigned char)*p);
        else
            jm_str_addc(&uri, *p);
    }
    jm_str_adds(&uri, "?mode=ro&immutable=1");
    int rc = jm_str_ok(&uri, "a file name", err);
    if (!rc) {
        int s = sqlite3_open_v2(
            uri.buf, db,
            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
        if (s != SQLITE_OK)
            rc = jm_sql_err(*db, s, "read", path, err);
    }
    jm_str_release(&uri);
    return rc;
}

static int copy_file(const char *from, const char *to, bool may_miss, struct jm_err *err)
{
    char buf[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (in < 0)
        return may_miss && errno == ENOENT ? 0 : jm_err_sys(err, errno, "cannot open %s", from);
    int rc = 0, out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0) {
        rc = jm_err_sys(err, errno, "cannot create %s", to);
        close(in);
        return rc;
    }
    for (;;) {
        ssize_t n = read(in, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = jm_err_sys(err, errno, "cannot read %s", from);
        for (ssize_t at = 0; !rc && at < n;) {
            ssize_t k = write(out, buf + at, (size_t)(n - at));
            if (k < 0 && errno != EINTR)
                rc = jm_err_sys(err, errno, "cannot copy %s to %s", from, to);
            at += k > 0 ? k : 0;
        }
        if (n <= 0 || rc)
            break;
    }
    if (close(out) && !rc)
        rc = jm_err_sys(err, errno, "cannot write %s", to);
    close(in);
    return rc;
}

/* The first 32 bytes of a WAL carry salts that change when it begins again. All zero where there is none. */
static void wal_salt(const char *wal, char out[32])
{
    memset(out, 0, 32);
    int fd = open(wal, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    if (pread(fd, out, 32, 0) != 32)
        memset(out, 0, 32);
    close(fd);
}

/* A recording or cut run has a journal that SQLite would have to write to in order to read it. So its two
 * files are copied and the copy is read: the original is not touched and nobody is locked out. While the
 * journal has not begun again it holds every page that was moved into the main file meanwhile, so the pair of
 * copies is consistent. */
static int copy_pair(const char *path, const char *wal, const char *db_copy, const char *wal_copy,
                     struct jm_err *err)
{
    char before[32], after[32];
    int rc = 0;
    for (int i = 0; i < 5; i++) {
        wal_salt(wal, before);
        rc = copy_file(path, db_copy, false, err);
        if (!rc)
            rc = copy_file(wal, wal_copy, true, err);
        wal_salt(wal, after);
        if (rc || memcmp(before, after, 32) == 0)
            return rc;
    }
    return jm_err_set(err, JM_EAGAIN,
                      "%s is being written too fast to be read; try again, or wait for its end", path);
}

static int open_copy(const char *path, sqlite3 **db, struct jm_err *err)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = sqlite3_mprintf("%s/joulemark-XXXXXX", tmp && *tmp ? tmp : "/tmp"),
         *wal = sqlite3_mprintf("%s-wal", path);
    char *a = NULL, *b = NULL;
    int rc = 0;
    if (!dir || !wal)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory");
    else if (!mkdtemp(dir))
        rc = jm_err_sys(err, errno, "cannot make a temporary folder %s to read an unfinished run", dir);
    if (rc)
        goto out;
    a = sqlite3_mprintf("%s/run", dir);
    b = sqlite3_mprintf("%s/run-wal", dir);
    rc = a && b ? copy_pair(path, wal, a, b, err) : jm_err_set(err, JM_ENOMEM, "out of memory");
    if (!rc) {
        int s = sqlite3_open_v2(a, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                                NULL);
        if (s != SQLITE_OK)
            rc = jm_sql_err(*db, s, "read", path, err);
        else /* folded in, so that one open file is all that is left of the copy */
            rc =
                jm_sql_exec(*db,
                            "PRAGMA locking_mode=EXCLUSIVE;PRAGMA synchronous=OFF;PRAGMA journal_mode=MEMORY;"
                            "PRAGMA temp_store=MEMORY",
                            "read", path, err);
    }
    if (a)
        unlink(a);
    if (b)
        unlink(b);
    rmdir(dir);
out:
    sqlite3_free(dir);
    sqlite3_free(wal);
    sqlite3_free(a);
    sqlite3_free(b);
    return rc;
}

int jm_run_open(const char *path, struct jm_run **out, struct jm_err *err)
{
    struct jm_run_header h;
    int rc = jm_run_header(path, &h, err);
    if (rc)
        return rc;
    struct jm_run *r = calloc(1, sizeof *r);
    if (!r)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a run");
    jm_domain_tree_init(&r->tree);
    r->path = strdup(path);
    rc = r->path ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for a run");
    if (!rc)
        rc = h.wal ? open_copy(path, &r->db, err) : open_immutable(path, &r->db, err);
    if (!rc)
        rc = jm_run_guard(r->db, path, err);
    if (!rc)
        rc = jm_run_load(r, err);
    r->info.version = h.version;
    if (h.wal)
        r->info.sealed = false;
    if (!rc && r->info.sealed)
        rc = jm_file_sha256(path, r->info.sha256, err);
    if (rc) {
        jm_run_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void jm_run_close(struct jm_run *r)
{
    if (!r)
        return;
    jm_run_forget_times(r);
    free(r->seen);
    jm_run_forget_chunks(r);
    sqlite3_finalize(r->get_chunk);
    sqlite3_close(r->db);
    for (size_t i = 0; r->chunk && i < r->n_chan; i++)
        free(r->chunk[i]);
    for (size_t i = 0; i < r->n_env; i++) {
        free((char *)r->env[i].key);
        free((char *)r->env[i].value);
    }
    for (size_t i = 0; i < r->n_raw; i++) {
        free((char *)r->raw[i].name);
        free((char *)r->raw[i].origin);
        free((char *)r->raw[i].sha256);
    }
    free(r->chunk);
    free(r->n_chunk);
    free(r->chan);
    free(r->meter);
    free(r->window);
    free(r->mark);
    free(r->pair);
    free(r->env);
    free(r->raw);
    free(r->claim);
    free(r->request);
    jm_domain_tree_release(&r->tree);
    free(r->path);
    free(r);
}

const char *jm_run_path(const struct jm_run *r)
{
    return r->path;
}

const struct jm_run_info *jm_run_info(const struct jm_run *r)
{
    return &r->info;
}

const struct jm_domain_tree *jm_run_domains(const struct jm_run *r)
{
    return &r->tree;
}

const struct jm_channel *jm_run_channels(const struct jm_run *r, size_t *n)
{
    *n = r->n_chan;
    return r->chan;
}

const struct jm_run_meter *jm_run_meters(const struct jm_run *r, size_t *n)
{
    *n = r->n_meter;
    return r->meter;
}

const struct jm_window *jm_run_windows(const struct jm_run *r, size_t *n)
{
    *n = r->n_window;
    return r->window;
}

const struct jm_mark *jm_run_marks(const struct jm_run *r, size_t *n)
{
    *n = r->n_mark;
    return r->mark;
}

const struct jm_clock_pair *jm_run_clock_pairs(const struct jm_run *r, size_t *n)
{
    *n = r->n_pair;
    return r->pair;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct jm_run_env_row *)a)->key, ((const struct jm_run_env_row *)b)->key);
}

const char *jm_run_env(const struct jm_run *r, const char *key)
{
    struct jm_run_env_row want = {key, NULL};
    const struct jm_run_env_row *row =
        r->n_env ? bsearch(&want, r->env, r->n_env, sizeof *r->env, by_key) : NULL;
    return row ? row->value : NULL;
}

double jm_run_number(const struct jm_run *r, const char *key)
{
    double v;
    return jm_num_double(jm_span_of(jm_run_env(r, key)), &v) == 0 ? v : NAN;
}

const struct jm_run_env_row *jm_run_env_rows(const struct jm_run *r, size_t *n)
{
    *n = r->n_env;
    return r->env;
}

const struct jm_run_raw *jm_run_raw(const struct jm_run *r, size_t *n)
{
    *n = r->n_raw;
    return r->raw;
}

const struct jm_run_claim *jm_run_claims(const struct jm_run *r, size_t *n)
{
    *n = r->n_claim;
    return r->claim;
}

bool jm_run_to_real(const struct jm_run *r, int64_t mono, int64_t *real)
{
    if (!r->n_pair)
        return false;
    size_t lo = 0, hi = r->n_pair; /* first pair at or after mono */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->pair[mid].mono0 < mono)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct jm_clock_pair *p = &r->pair[lo < r->n_pair ? lo : r->n_pair - 1];
    /* unsigned: the pairs of a damaged file may be anything; both differences are positive */
    if (lo > 0 && lo < r->n_pair &&
        (uint64_t)mono - (uint64_t)r->pair[lo - 1].mono0 < (uint64_t)p->mono0 - (uint64_t)mono)
        p = &r->pair[lo - 1];
    int64_t took = (int64_t)((uint64_t)p->mono1 - (uint64_t)p->mono0);
    *real = (int64_t)((uint64_t)p->real + ((uint64_t)mono - (uint64_t)p->mono0) - (uint64_t)(took / 2));
    return true;
}
