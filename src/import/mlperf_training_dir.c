/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_training.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"

#include "base/banned.h"

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), m = strlen(with);
    return n >= m && strcmp(s + n - m, with) == 0;
}

/* Names with their numbers as numbers: result_2 before result_10. */
static int natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
            while (*a == '0')
                a++;
            while (*b == '0')
                b++;
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int c = n != m ? (n < m ? -1 : 1) : memcmp(a, b, n);
            if (c)
                return c;
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int by_run(const void *a, const void *b)
{
    return natural(((const struct jm_training_files *)a)->name, ((const struct jm_training_files *)b)->name);
}

static int by_file(const void *a, const void *b)
{
    const struct jm_training_file *x = a, *y = b;
    return x->is_switch != y->is_switch ? (x->is_switch ? 1 : -1) : natural(x->name, y->name);
}

bool jm_training_dir_at(const char *path)
{
    char p[8192];
    bool log = false, power = false;
    struct dirent *e;
    DIR *d = opendir(path);
    while (d && !log && (e = readdir(d)))
        log = strncmp(e->d_name, "result_", 7) == 0 && ends(e->d_name, ".txt");
    if (d)
        closedir(d);
    if (!log || (size_t)snprintf(p, sizeof p, "%s/power", path) >= sizeof p || !(d = opendir(p)))
        return false;
    while (!power && (e = readdir(d)))
        power = strncmp(e->d_name, "result", 6) == 0;
    closedir(d);
    return power;
}

static int nomem(const char *path, struct jm_err *err)
{
    return jm_err_set(err, JM_ENOMEM, "Out of memory while looking through %s.", path);
}

/* The run of a name, made when new; NULL with *rc: no memory, or 0 beyond the limit. */
static struct jm_training_files *run_of(struct jm_training_dir *d, const char *name, int *rc,
                                        struct jm_err *err)
{
    *rc = 0;
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->run[i].name, name) == 0)
            return &d->run[i];
    if (d->n >= JM_TRAINING_RUNS) {
        d->left_out++;
        return NULL;
    }
    if ((d->n & (d->n - 1)) == 0) { /* room doubles at each power of two */
        struct jm_training_files *more = realloc(d->run, (d->n ? 2 * d->n : 1) * sizeof *more);
        if (!more) {
            *rc = nomem(d->dir, err);
            return NULL;
        }
        d->run = more;
    }
    struct jm_training_files *r = &d->run[d->n++];
    memset(r, 0, sizeof *r);
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

/* "result_0.txt" -> "result_0" (up to the first point, as the public code cuts it). */
static void stem(const char *name, char out[256])
{
    snprintf(out, 256, "%.*s", (int)strcspn(name, "."), name);
}

static int add_file(struct jm_training_dir *d, struct jm_training_files *r, const char *name,
                    struct jm_err *err)
{
    char path[8192];
    struct jm_training_file f = {.index = -1};
    if ((size_t)snprintf(path, sizeof path, "%s/%s", r->power, name) >= sizeof path || !is_file(path) ||
        !ends(name, ".txt") || (strncmp(name, "node", 4) != 0 && strncmp(name, "sw", 2) != 0)) {
        r->others++;
        return 0;
    }
    if (r->n >= JM_TRAINING_PARTS) {
        d->left_out++;
        return 0;
    }
    f.is_switch = name[0] == 's';
    snprintf(f.name, sizeof f.name, "%.*s", (int)(strlen(name) - 4), name);
    int64_t index;
    const char *digits = f.name + (f.is_switch ? 3 : 5);
    if (strlen(f.name) > (size_t)(digits - f.name) && digits[-1] == '_' &&
        jm_num_i64(jm_span_of(digits), &index) == 0 && index >= 0 && index < JM_TRAINING_PARTS)
        f.index = (int)index;
    if ((r->n & (r->n - 1)) == 0) {
        struct jm_training_file *more = realloc(r->file, (r->n ? 2 * r->n : 1) * sizeof *more);
        if (!more)
            return nomem(d->dir, err);
        r->file = more;
    }
    if (!(f.path = strdup(path)))
        return nomem(d->dir, err);
    r->file[r->n++] = f;
    return 0;
}

static int power_of(struct jm_training_dir *d, const char *power, const char *name, struct jm_err *err)
{
    char path[8192], base[256];
    struct dirent *e;
    int rc;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", power, name) >= sizeof path || !is_dir(path))
        return 0;
    stem(name, base);
    struct jm_training_files *r = run_of(d, base, &rc, err);
    if (!r)
        return rc;
    if (r->power) { /* both result_0 and result_0.txt */
        r->others++;
        return 0;
    }
    r->file_name = strcmp(base, name) != 0;
    errno = 0;
    DIR *in = opendir(path);
    if ((!in && errno == ENOMEM) || !(r->power = strdup(path))) {
        if (in)
            closedir(in);
        return nomem(d->dir, err);
    }
    while (in && !rc && (e = readdir(in)))
        if (e->d_name[0] != '.')
            rc = add_file(d, r, e->d_name, err);
    if (in)
        closedir(in);
    if (r->n)
        qsort(r->file, r->n, sizeof *r->file, by_file);
    return rc;
}

int jm_training_list(const char *path, struct jm_training_dir *out, struct jm_err *err)
{
    char p[8192], base[256];
    struct dirent *e;
    int rc = 0;
    memset(out, 0, sizeof *out);
    snprintf(out->dir, sizeof out->dir, "%s", path);
    errno = 0;
    DIR *d = opendir(path);
    if (!d && errno == ENOMEM)
        return nomem(path, err);
    while (d && !rc && (e = readdir(d))) {
        if (strncmp(e->d_name, "result_", 7) != 0 || !ends(e->d_name, ".txt") ||
            (size_t)snprintf(p, sizeof p, "%s/%s", path, e->d_name) >= sizeof p || !is_file(p))
            continue;
        stem(e->d_name, base);
        struct jm_training_files *r = run_of(out, base, &rc, err);
        if (r && !r->log && !(r->log = strdup(p)))
            rc = nomem(path, err);
    }
    if (d)
        closedir(d);
    snprintf(p, sizeof p, "%s/power", path);
    errno = 0;
    d = rc ? NULL : opendir(p);
    if (!rc && !d && errno == ENOMEM)
        rc = nomem(path, err);
    while (d && !rc && (e = readdir(d)))
        if (e->d_name[0] != '.')
            rc = power_of(out, p, e->d_name, err);
    if (!rc && !out->n)
        rc = jm_err_set(err, JM_EABSENT,
                        "%s is no MLPerf Training result: it holds neither result_*.txt nor power/result_*/.",
                        path);
    if (d)
        closedir(d);
    if (rc)
        jm_training_list_release(out);
    else
        qsort(out->run, out->n, sizeof *out->run, by_run);
    return rc;
}

void jm_training_list_release(struct jm_training_dir *d)
{
    for (size_t i = 0; i < d->n; i++) {
        for (size_t k = 0; k < d->run[i].n; k++)
            free(d->run[i].file[k].path);
        free(d->run[i].file);
        free(d->run[i].log);
        free(d->run[i].power);
    }
    free(d->run);
    d->run = NULL;
    d->n = 0;
}

void jm_training_round(const char *path, char round[8])
{
    char *abs = realpath(path, NULL);
    round[0] = 0;
    for (const char *p = abs ? abs : path; (p = strchr(p, 'v')); p++) {
        bool alone = p == (abs ? abs : path) || strchr("/_-.", p[-1]);
        if (alone && p[1] >= '0' && p[1] <= '9' && p[2] == '.' && p[3] >= '0' && p[3] <= '9' &&
            !(p[4] >= '0' && p[4] <= '9'))
            snprintf(round, 8, "%.4s", p);
    }
    free(abs);
}
