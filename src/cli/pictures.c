/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pictures.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/png.h"
#include "cli/child.h"
#include "cli/path.h"
#include "run/run.h"

#include "base/banned.h"

#define PNG_SCALE 2.0 /* pixels a unit: sharp on paper and on dense screens */

extern char **environ;

int jm_cli_runs_open(const char *const *path, size_t n, const struct jm_present *p, struct jm_cli_runs *out,
                     struct jm_err *err)
{
    int rc = 0;
    *out = (struct jm_cli_runs){0};
    if (n > JM_CLI_RUNS)
        return jm_err_set(err, JM_ELIMIT, "%zu runs are more than the %d that are looked at together", n,
                          JM_CLI_RUNS);
    for (size_t i = 0; !rc && i < n; i++) {
        const char *base = strrchr(path[i], '/');
        base = base ? base + 1 : path[i];
        size_t len = strlen(base);
        len -= len > 4 && strcmp(base + len - 4, ".jmr") == 0 ? 4 : 0;
        snprintf(out->name[i], sizeof out->name[i], "%.*s", (int)(len < 90 ? len : 90), base);
        out->names[i] = out->name[i];
        rc = jm_run_open(path[i], &out->run[i], err);
        if (!rc)
            rc = jm_present_report(out->run[i], p, &out->report[i], err);
        out->seen[i] = out->report[i];
        out->n = i + 1;
    }
    out->of = (struct jm_picture_of){.report = out->seen, .name = out->names, .n = out->n};
    return rc;
}

void jm_cli_runs_release(struct jm_cli_runs *r)
{
    for (size_t i = 0; i < r->n; i++) {
        jm_report_free(r->report[i]);
        jm_run_close(r->run[i]);
    }
}

/* --- PNG ------------------------------------------------------------------------------------------------ */

static int put(void *self, const void *p, size_t n)
{
    struct jm_str *s = self;
    jm_str_add(s, p, n);
    return s->failed ? -1 : 0;
}

static int by_module(const struct jm_png_ops *ops, struct jm_span svg, const char *path, struct jm_err *err)
{
    struct jm_str png;
    char why[JM_PNG_WHY] = "";
    jm_str_init(&png);
    int rc = ops->render(svg.p, svg.n, PNG_SCALE, put, &png, why)
                 ? jm_err_set(err, JM_EUNSUPPORTED, "%s: the picture cannot be drawn as PNG: %s", path, why)
                 : jm_file_write(path, jm_str_span(&png), err);
    jm_str_release(&png);
    return rc;
}

/* rsvg-convert as a process of its own. JM_EABSENT: there is none. */
static int by_program(struct jm_span svg, const char *path, struct jm_err *err)
{
    struct jm_str in, out;
    posix_spawnattr_t attr;
    pid_t pid;
    int status = 0, rc, e;
    jm_str_init(&in);
    jm_str_init(&out);
    jm_str_addf(&in, "%s.%ld.svg", path, (long)getpid());
    jm_str_addf(&out, "%s.%ld.part", path, (long)getpid());
    rc = jm_str_ok(&in, "a file name", err);
    if (!rc)
        rc = jm_str_ok(&out, "a file name", err);
    if (!rc)
        rc = jm_file_write(in.buf, svg, err);
    if (!rc && posix_spawnattr_init(&attr))
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for rsvg-convert");
    if (!rc) {
        const char *argv[] = {"rsvg-convert", "--format", "png", "--zoom", "2",
                              "--output",     out.buf,    "--",  in.buf,   NULL};
        jm_child_signals(&attr, 0);
        e = posix_spawnp(&pid, argv[0], NULL, &attr, (char *const *)argv, environ);
        posix_spawnattr_destroy(&attr);
        if (e)
            rc = jm_err_set(err, e == ENOENT ? JM_EABSENT : JM_EIO, "rsvg-convert cannot be started");
        while (!rc && waitpid(pid, &status, 0) < 0)
            if (errno != EINTR)
                rc = jm_err_sys(err, errno, "waiting for rsvg-convert");
        if (!rc && status)
            rc = jm_err_set(err, JM_EUNSUPPORTED, "%s: rsvg-convert could not draw the picture", path);
        if (!rc && rename(out.buf, path))
            rc = jm_err_sys(err, errno, "%s", path);
        unlink(out.buf);
    }
    unlink(in.buf);
    jm_str_release(&in);
    jm_str_release(&out);
    return rc;
}

static int png_file(struct jm_span svg, const char *path, struct jm_err *err)
{
    const struct jm_png_ops *ops;
    struct jm_err why = {0}, second = {0};
    int rc = jm_png_load(&ops, &why);
    if (!rc)
        return by_module(ops, svg, path, err);
    rc = by_program(svg, path, &second);
    if (rc == JM_EABSENT)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "%s, and there is no rsvg-convert either (Debian: librsvg2-bin); SVG needs neither",
                          why.text);
    if (rc)
        jm_err_set(err, rc, "%s", second.text);
    return rc;
}

/* --- files ---------------------------------------------------------------------------------------------- */

static bool wants_png(const char *path)
{
    size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".png") == 0;
}

/* A PNG cannot be two things at once: without a wish it is light. */
static int one(const struct jm_picture *k, const struct jm_picture_of *of, enum jm_theme theme,
               const char *path, struct jm_err *err)
{
    struct jm_str svg;
    bool png = wants_png(path);
    jm_str_init(&svg);
    int rc = jm_path_spare_run(path, err);
    if (!rc)
        rc = jm_picture_svg(k, of, png && theme == JM_THEME_AUTO ? JM_THEME_LIGHT : theme, &svg, err);
    if (!rc)
        rc = jm_file_mkparents(path, err);
    if (!rc)
        rc = png ? png_file(jm_str_span(&svg), path, err) : jm_file_write(path, jm_str_span(&svg), err);
    jm_str_release(&svg);
    return rc;
}

int jm_cli_picture_file(const struct jm_picture *k, const struct jm_picture_of *of, enum jm_theme theme,
                        const char *path, struct jm_err *err)
{
    return one(k, of, theme, path, err);
}

int jm_cli_pictures(const struct jm_picture_of *of, enum jm_theme theme, const char *folder,
                    struct jm_str *done, struct jm_str *left, struct jm_err *err)
{
    static const char *const ends[] = {"svg", "png"};
    bool png = true;
    int rc = 0;
    for (const struct jm_picture *k = jm_picture_table; !rc && k->name; k++)
        for (int e = 0; !rc && e < 1 + png; e++) {
            struct jm_str path;
            struct jm_err why = {0};
            jm_str_init(&path);
            jm_str_addf(&path, "%s/%s.%s", folder, k->name, ends[e]);
            rc = jm_str_ok(&path, "a file name", err);
            int got = rc ? rc : one(k, of, theme, path.buf, &why);
            if (!got) {
                jm_str_addf(done, "%s\n", path.buf);
            } else if (got == JM_EABSENT || (e && got == JM_EUNSUPPORTED)) {
                jm_str_addf(left, "%s\n", why.text);
                png &= !e; /* what makes no PNG of one makes none of the others */
                e = 2;
            } else {
                rc = rc ? rc : jm_err_set(err, got, "%s", why.text);
            }
            jm_str_release(&path);
        }
    return rc;
}
