/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and files of the client: which may be used, which is LoadGen's, copies. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "mlperf/client.h"
#include "wire/lines.h"
#include "wire/loadgen_log.h"

#include "base/banned.h"

/* Appends the components of path to the absolute path in out, "." and ".." taken out. */
static int walk(const char *path, char out[4096], struct jm_err *err)
{
    size_t n = strlen(out);
    struct jm_span rest = jm_span_of(path), part;
    while (jm_span_field(&rest, '/', &part)) {
        if (!part.n || jm_span_is(part, "."))
            continue;
        if (jm_span_is(part, "..")) {
            while (n > 1 && out[n - 1] != '/')
                n--;
            if (n > 1)
                n--;
            out[n] = 0;
            continue;
        }
        if (n + part.n + 2 > 4096)
            return jm_err_set(err, JM_ELIMIT, "the path %.200s... is longer than 4095 bytes", path);
        if (n > 1)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        out[n += part.n] = 0;
    }
    return 0;
}

int jm_mlperf_path_real(const char *path, char out[4096], struct jm_err *err)
{
    char full[4096] = "/", probe[4096], real[PATH_MAX];
    int rc = 0;
    if (path[0] != '/' && !getcwd(full, sizeof full))
        return jm_err_sys(err, errno, "cannot say which the working directory is");
    rc = walk(path, full, err);
    /* the longest part that exists, by its real name, then the rest */
    snprintf(probe, sizeof probe, "%s", full);
    while (!rc) {
        if (realpath(probe, real)) {
            if (strlen(real) >= 4096)
                return jm_err_set(err, JM_ELIMIT, "the path of %.200s is longer than 4095 bytes", path);
            size_t n = strlen(probe);
            snprintf(out, 4096, "%s", real);
            return walk(full + n, out, err);
        }
        if (errno != ENOENT && errno != ENOTDIR)
            return jm_err_sys(err, errno, "cannot look at %s", probe);
        char *slash = strrchr(probe, '/');
        if (!slash)
            break;
        slash[slash == probe ? 1 : 0] = 0;
    }
    return rc;
}

/* Is path dir or below it? Both absolute and plain. */
static bool inside(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    if (n == 1)
        return true;
    return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

int jm_mlperf_paths_check(const char *indir, const char *outdir, bool force, struct jm_err *err)
{
    char in[4096], out[4096], cwd[4096];
    int rc = jm_mlperf_path_real(indir, in, err);
    if (!rc)
        rc = jm_mlperf_path_real(outdir, out, err);
    if (!rc)
        rc = jm_mlperf_path_real(".", cwd, err);
    if (rc)
        return rc;
    if (strcmp(in, out) == 0)
        return jm_err_set(err, JM_EUSAGE,
                          "INDIR (%s) and OUTDIR (%s) are the same directory; give OUTDIR one of its own",
                          indir, outdir);
    if (inside(out, in))
        return jm_err_set(err, JM_EUSAGE,
                          "OUTDIR (%s) lies inside INDIR (%s), where LoadGen's logs are looked for; give "
                          "OUTDIR a place outside of it",
                          outdir, indir);
    if (force) {
        const char *home = getenv("HOME");
        bool homely = home && home[0] == '/' && inside(home, in);
        if (strcmp(in, "/") == 0 || homely || inside(cwd, in))
            return jm_err_set(err, JM_EUSAGE,
                              "-f would remove INDIR (%s), which holds %s; give LoadGen a directory of its "
                              "own",
                              in,
                              homely                 ? "the home directory"
                              : strcmp(in, "/") == 0 ? "everything"
                                                     : "the working directory");
    }
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path) && errno != ENOENT ? -1 : 0;
}

int jm_mlperf_tree_remove(const char *path, struct jm_err *err)
{
    if (nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) && errno != ENOENT)
        return jm_err_sys(err, errno, "cannot remove %s", path);
    return 0;
}

int jm_mlperf_file_copy(const char *from, const char *to, struct jm_err *err)
{
    char buf[65536];
    struct stat st;
    int rc = 0, out = -1, in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0)
        return jm_err_sys(err, errno, "cannot read %s", from);
    if (fstat(in, &st) || !S_ISREG(st.st_mode))
        rc = jm_err_set(err, JM_EINVAL, "%s is no regular file", from);
    if (!rc && (out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0)
        rc = jm_err_sys(err, errno, "cannot write %s", to);
    while (!rc) {
        ssize_t n = read(in, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = jm_err_sys(err, errno, "cannot read %s", from);
        if (n <= 0)
            break;
        for (ssize_t k = 0; k < n && !rc;) {
            ssize_t w = write(out, buf + k, (size_t)(n - k));
            if (w < 0 && errno != EINTR)
                rc = jm_err_sys(err, errno, "cannot write %s", to);
            k += w > 0 ? w : 0;
        }
    }
    close(in);
    if (out >= 0 && close(out) && !rc)
        rc = jm_err_sys(err, errno, "cannot write %s", to);
    return rc;
}

/* --- LoadGen's logs ---------------------------------------------------------------------------------------
 */

/* Bounds of the search: a directory that somebody points at by mistake (/) must not hang us. */
enum { DEPTH = 32, ENTRIES = 1000000 };

struct search {
    int64_t start, end;
    char best[4096], near[4096];
    int64_t best_begin, best_end, near_begin, near_end;
    int found, detail, entries;
};

/* power_begin and power_end of a detail log, by the public tools' reading of it. */
static void window_of(const char *path, struct jm_loadgen_window *w)
{
    char buf[65536];
    struct jm_lines lines;
    struct jm_err ignored = {0};
    jm_loadgen_window_init(w);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0)
        return;
    jm_lines_init(&lines, 0);
    while (!fstat(fd, &st) && S_ISREG(st.st_mode) && !w->done) {
        ssize_t n = read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        struct jm_span in = {buf, n > 0 ? (size_t)n : 0}, line;
        while (in.n) {
            int got = jm_lines_next(&lines, &in, &line, &ignored);
            if (got == 1)
                jm_loadgen_window_line(w, line);
            if (got >= 0)
                continue;
            /* a line of megabytes is none that we look for */
            const char *lf = memchr(in.p, '\n', in.n);
            size_t skip = lf ? (size_t)(lf - in.p) + 1 : in.n;
            in = jm_span_sub(in, skip, in.n);
            jm_lines_reset(&lines);
        }
        if (n <= 0) {
            if (jm_lines_end(&lines, &line))
                jm_loadgen_window_line(w, line);
            break;
        }
    }
    jm_lines_release(&lines);
    close(fd);
}

static void look(struct search *s, const char *dir, const char *path)
{
    struct jm_loadgen_window w;
    s->detail++;
    window_of(path, &w);
    if (w.begin < 0 || w.end < 0)
        return;
    if (w.begin > s->start && w.end < s->end) {
        s->found++;
        if (s->found == 1 || w.end - w.begin > s->best_end - s->best_begin) {
            snprintf(s->best, sizeof s->best, "%s", dir);
            s->best_begin = w.begin;
            s->best_end = w.end;
        }
    } else if (!s->near[0] || w.end > s->near_end) {
        snprintf(s->near, sizeof s->near, "%s", dir);
        s->near_begin = w.begin;
        s->near_end = w.end;
    }
}

static void search(struct search *s, char path[4096], int depth)
{
    DIR *d = opendir(path);
    size_t n = strlen(path);
    struct dirent *e;
    while (d && (e = readdir(d)) && s->entries++ < ENTRIES) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || n + 1 + strlen(e->d_name) >= 4096)
            continue;
        snprintf(path + n, 4096 - n, "/%s", e->d_name);
        if (strcmp(e->d_name, "mlperf_log_detail.txt") == 0) {
            char dir[4096];
            snprintf(dir, sizeof dir, "%.*s", (int)n, path);
            look(s, dir, path);
        } else if (depth < DEPTH && !lstat(path, &st) && S_ISDIR(st.st_mode)) {
            search(s, path, depth + 1);
        }
        path[n] = 0;
    }
    if (d)
        closedir(d);
}

/* "by 2 h 00 min" where two windows differ by a time zone, else "". */
static void zone_hint(const struct search *s, char out[160])
{
    int64_t off = s->near_begin - s->start, step = 900 * JM_NS_PER_S;
    int64_t zones = (off + (off < 0 ? -step : step) / 2) / step;
    out[0] = 0;
    if (zones && zones >= -56 && zones <= 56 && s->near_begin - zones * step > s->start &&
        s->near_end - zones * step < s->end)
        snprintf(
            out, 160,
            "; it would fit if its times were shifted by %.2f h, as LoadGen before 1.1 does, which writes "
            "local time",
            (double)-zones / 4);
}

int jm_mlperf_loadgen_find(const char *indir, int64_t start_ns, int64_t end_ns, char out[4096], int *others,
                           struct jm_err *err)
{
    struct search s = {.start = start_ns, .end = end_ns};
    char path[4096], a[JM_RFC3339_SIZE], b[JM_RFC3339_SIZE], c[JM_RFC3339_SIZE], d[JM_RFC3339_SIZE],
        zone[160];
    struct stat st;
    if (stat(indir, &st) || !S_ISDIR(st.st_mode))
        return jm_err_set(
            err, JM_EABSENT,
            "INDIR (%s) is no directory, so there are no logs of LoadGen; let the workload write "
            "them there (-L)",
            indir);
    if (strlen(indir) >= sizeof path)
        return jm_err_set(err, JM_ELIMIT, "the path of INDIR is longer than 4095 bytes");
    snprintf(path, sizeof path, "%s", indir);
    search(&s, path, 0);
    if (s.found) {
        snprintf(out, 4096, "%s", s.best);
        *others = s.found - 1;
        return 0;
    }
    if (!s.detail)
        return jm_err_set(err, JM_EABSENT,
                          "no mlperf_log_detail.txt below INDIR (%s); let the workload write LoadGen's logs "
                          "there (-L)",
                          indir);
    if (!s.near[0])
        return jm_err_set(
            err, JM_EABSENT,
            "none of the %d mlperf_log_detail.txt below INDIR (%s) has power_begin and power_end: "
            "LoadGen did not finish, or is older than 1.0",
            s.detail, indir);
    zone_hint(&s, zone);
    return jm_err_set(
        err, JM_EABSENT,
        "none of the %d mlperf_log_detail.txt below INDIR (%s) has power_begin and power_end inside "
        "the workload's time, %s to %s: the latest, in %s, says %s to %s%s",
        s.detail, indir, jm_time_rfc3339(start_ns, a), jm_time_rfc3339(end_ns, b), s.near,
        jm_time_rfc3339(s.near_begin, c), jm_time_rfc3339(s.near_end, d), zone);
}
