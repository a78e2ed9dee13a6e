/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

#define MAX_OTHERS 4096

const char *const jm_mlperf_file_names[JM_MLPERF_FILES] = {
    [JM_MLPERF_CLIENT_JSON] = "power/client.json",
    [JM_MLPERF_CLIENT_LOG] = "power/client.log",
    [JM_MLPERF_PTD_LOGS] = "power/ptd_logs.txt",
    [JM_MLPERF_SERVER_JSON] = "power/server.json",
    [JM_MLPERF_SERVER_LOG] = "power/server.log",
    [JM_MLPERF_RANGING_DETAIL] = "ranging/mlperf_log_detail.txt",
    [JM_MLPERF_RANGING_SUMMARY] = "ranging/mlperf_log_summary.txt",
    [JM_MLPERF_RANGING_SPL] = "ranging/spl.txt",
    [JM_MLPERF_RUN_DETAIL] = "run_1/mlperf_log_detail.txt",
    [JM_MLPERF_RUN_SUMMARY] = "run_1/mlperf_log_summary.txt",
    [JM_MLPERF_RUN_SPL] = "run_1/spl.txt",
};

bool jm_mlperf_file_path(const struct jm_mlperf_place *p, const char *rel, char *out, size_t size)
{
    int n = strncmp(rel, "run_1/", 6) == 0 ? snprintf(out, size, "%s/%s", p->run_1, rel + 6)
                                           : snprintf(out, size, "%s/%s", p->dir, rel);
    return n >= 0 && (size_t)n < size;
}

static bool there(const char *dir, const char *name)
{
    char path[8704];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0;
}

/* A run of power measurement, not of performance alone. */
static bool holds(const char *dir)
{
    static const char *const any[] = {"run_1/spl.txt", "ranging/spl.txt", "power/server.json",
                                      "power/client.json", "power/ptd_logs.txt"};
    for (size_t i = 0; i < sizeof any / sizeof any[0]; i++)
        if (there(dir, any[i]))
            return true;
    return false;
}

bool jm_mlperf_locate(const char *path, struct jm_mlperf_place *p)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (!n || n > sizeof p->dir - 32)
        return false;
    memset(p, 0, sizeof *p);
    static const char *const below[] = {"/performance", ""};
    for (size_t i = 0; i < 2; i++) {
        snprintf(p->dir, sizeof p->dir, "%.*s%s", (int)n, path, below[i]);
        snprintf(p->run_1, sizeof p->run_1, "%s/run_1", p->dir);
        if (holds(p->dir))
            return true;
    }
    /* one of its folders */
    static const char *const inside[] = {"/run_1", "/ranging", "/power"};
    snprintf(p->dir, sizeof p->dir, "%.*s/..", (int)n, path);
    snprintf(p->run_1, sizeof p->run_1, "%s/run_1", p->dir);
    for (size_t i = 0; i < 3; i++)
        if (jm_span_ends((struct jm_span){path, n}, jm_span_of(inside[i])) && there(path, ".") &&
            holds(p->dir))
            return true;
    /* the logs in another folder: the rest lies beside it */
    snprintf(p->run_1, sizeof p->run_1, "%.*s", (int)n, path);
    return there(p->run_1, "spl.txt");
}

/* ---- reading */

/* Line ends of all that was read. */
struct ends {
    int64_t lf, crlf;
    bool last_cr; /* the block before ended with CR */
};

static void count_ends(struct ends *e, const char *p, size_t n)
{
    if (!e->last_cr && !memchr(p, '\r', n)) {
        if (!e->lf && memchr(p, '\n', n)) /* whether there is one without CR is all that is asked */
            e->lf = 1;
        return;
    }
    for (const char *q = p, *end = p + n; q < end && (q = memchr(q, '\n', (size_t)(end - q))); q++) {
        bool cr = q == p ? e->last_cr : q[-1] == '\r';
        e->crlf += cr;
        e->lf += !cr;
    }
    e->last_cr = n && p[n - 1] == '\r';
}

/* A file on its way through the hash to whoever reads it. */
struct reading {
    struct jm_mlperf_file *f;
    bool hash;
    struct ends ends;
    struct jm_sha1 sha;
    jm_file_block_fn fn;
    void *self;
    int rc; /* of fn */
};

static int on_block(void *self, struct jm_span block, struct jm_err *err)
{
    struct reading *r = self;
    r->f->bytes += (int64_t)block.n;
    count_ends(&r->ends, block.p, block.n);
    if (r->hash)
        jm_sha1_add(&r->sha, block.p, block.n);
    return r->fn ? r->rc = r->fn(r->self, block, err) : 0;
}

int jm_mlperf_file_read(const struct jm_mlperf_place *p, struct jm_mlperf_file *f,
                        const struct jm_sha1 *fresh, char *buffer, struct jm_mlperf_arena *a,
                        jm_file_block_fn fn, void *self, struct jm_err *err)
{
    char path[8704];
    struct reading r = {.f = f, .hash = fresh != NULL, .fn = fn, .self = self};
    struct jm_err why;
    if (!jm_mlperf_file_path(p, f->rel, path, sizeof path))
        return 0;
    if (fresh)
        r.sha = *fresh;
    int rc = jm_file_blocks(path, buffer, JM_MLPERF_BLOCK, on_block, &r, &why);
    if (r.rc)
        return err ? (*err = why, r.rc) : r.rc;
    f->present = rc != JM_EABSENT;
    f->has_crlf = r.ends.crlf > 0;
    if (rc && f->present)
        f->error = jm_mlperf_printf(a, "%s", why.text);
    if (rc || !fresh)
        return 0;
    jm_sha1_done(&r.sha, f->sha1);
    if (!r.ends.crlf)
        memcpy(f->sha1_lf, f->sha1, sizeof f->sha1);
    if (!r.ends.lf)
        memcpy(f->sha1_crlf, f->sha1, sizeof f->sha1);
    return 0;
}

struct forms {
    struct jm_sha1 lf, crlf;
    bool cr; /* a CR at the end of a block waits for what follows */
};

static void to_both(struct forms *f, const char *p, size_t n)
{
    jm_sha1_add(&f->lf, p, n);
    jm_sha1_add(&f->crlf, p, n);
}

static int both_forms(void *self, struct jm_span block, struct jm_err *err)
{
    struct forms *f = self;
    (void)err;
    for (const char *p = block.p, *end = p + block.n; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        bool here = stop > p && stop[-1] == '\r';
        if (f->cr && stop > p) /* the CR before was not of a line end */
            to_both(f, "\r", 1);
        to_both(f, p, (size_t)(stop - p) - here);
        f->cr = here || (stop == p && f->cr);
        p = stop;
        if (nl) {
            jm_sha1_add(&f->lf, "\n", 1);
            jm_sha1_add(&f->crlf, "\r\n", 2);
            f->cr = false;
            p++;
        }
    }
    return 0;
}

void jm_mlperf_file_rehash(const struct jm_mlperf_place *p, struct jm_mlperf_file *f, char *buffer)
{
    char path[8704];
    struct forms forms = {.cr = false};
    jm_sha1_init(&forms.lf);
    jm_sha1_init(&forms.crlf);
    if (!jm_mlperf_file_path(p, f->rel, path, sizeof path) ||
        jm_file_blocks(path, buffer, JM_MLPERF_BLOCK, both_forms, &forms, NULL))
        return;
    if (forms.cr)
        to_both(&forms, "\r", 1);
    jm_sha1_done(&forms.lf, f->sha1_lf);
    jm_sha1_done(&forms.crlf, f->sha1_crlf);
}

/* ---- what else is there */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool known(const char *rel)
{
    for (int i = 0; i < JM_MLPERF_FILES; i++)
        if (strcmp(rel, jm_mlperf_file_names[i]) == 0)
            return true;
    return false;
}

int jm_mlperf_others(const struct jm_mlperf_place *p, struct jm_mlperf_session *s)
{
    static const char *const folders[] = {"power", "ranging", "run_1"};
    const char **list = jm_mlperf_alloc(s->arena, MAX_OTHERS * sizeof *list);
    if (!list)
        return JM_ENOMEM;
    s->others = list;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[8704], rel[300];
        snprintf(rel, sizeof rel, "%s/", folders[i]);
        if (!jm_mlperf_file_path(p, rel, path, sizeof path))
            continue;
        DIR *d = opendir(path);
        if (!d)
            continue;
        for (struct dirent *e; (e = readdir(d)) && s->n_others < MAX_OTHERS;) {
            struct stat st;
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            snprintf(rel, sizeof rel, "%s/%s", folders[i], e->d_name);
            if (known(rel))
                continue;
            bool dir = fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
            list[s->n_others] = jm_mlperf_printf(s->arena, "%s%s", rel, dir ? "/" : "");
            if (!list[s->n_others])
                break;
            s->n_others++;
        }
        closedir(d);
    }
    qsort(list, s->n_others, sizeof *list, by_name);
    return jm_mlperf_arena_failed(s->arena) ? JM_ENOMEM : 0;
}
