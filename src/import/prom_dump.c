/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus without JSON: dumps of /metrics one after the other, promtool's text, Grafana's CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "import/promdev.h"
#include "wire/csv.h"
#include "wire/prom.h"

#include "base/banned.h"

#define COLUMNS 2048

/* ---- dumps of /metrics: a sample's own time; else the time in a comment or a line of its own before the
 * scrape ("# 2026-01-02T03:04:05Z", what date prints); else --interval */

static bool time_line(struct jm_span s, int64_t *t)
{
    bool zone;
    bool comment = s.n && s.p[0] == '#';
    if (comment && (jm_span_starts(s, JM_SPAN("# HELP ")) || jm_span_starts(s, JM_SPAN("# TYPE ")) ||
                    jm_span_starts(s, JM_SPAN("# UNIT ")) || jm_span_starts(s, JM_SPAN("# EOF"))))
        return false;
    while (s.n && (s.p[0] == '#' || s.p[0] == ' ' || s.p[0] == '=' || s.p[0] == '-'))
        s = jm_span_sub(s, 1, s.n);
    while (s.n && (s.p[s.n - 1] == '=' || s.p[s.n - 1] == ' '))
        s.n--;
    if (jm_devlog_time(s, t, &zone))
        return true;
    /* words before it: "scraped at 1700000000", "time: 2026-..." */
    for (size_t i = s.n; comment && i > 0 && s.n < 120; i--)
        if ((s.p[i - 1] == ' ' || s.p[i - 1] == '=') && jm_devlog_time(jm_span_sub(s, i, s.n), t, &zone))
            return true;
    return false;
}

struct dump {
    struct jm_promdev p;
    int64_t t, base, round;
    bool stamped, spaced;
    bool open_metrics;
};

static void sample(struct dump *d, const struct jm_prom_sample *s)
{
    struct jm_prom_series labels;
    int text10;
    int64_t t = d->t;
    if (!jm_promdev_knows(s->name)) {
        d->p.unknown++;
        return;
    }
    labels = jm_promdev_series(s);
    int ch = jm_promdev_channel(&d->p, &labels, &text10);
    if (ch < 0)
        return;
    const struct jm_devlog_ch *c = &d->p.l.ch[ch];
    if (s->has_time) {
        double ns = s->time * (s->time < 1e11 ? 1e9 : 1e6);
        if (!(ns > 0 && ns < 9e18))
            return;
        t = (int64_t)ns;
    } else if (!d->stamped) {
        if (!d->spaced) {
            if (c->n == 0) { /* the first scrape is as old as the file */
                t = d->base;
            } else {
                jm_build_fail(
                    &d->p.l.b,
                    "%s holds several scrapes without times; put a line with the time before each (# "
                    "2026-01-02T03:04:05Z), or say with --interval how far they are apart",
                    d->p.l.f.path);
                return;
            }
        } else {
            /* a series that comes again begins the next scrape */
            if (c->n && c->last >= d->base + d->round * d->p.l.b.o->interval_ns)
                d->round++;
            t = d->base + d->round * d->p.l.b.o->interval_ns;
        }
    }
    jm_promdev_put(&d->p, ch, t, text10, jm_prom_value_text(s));
}

int jm_prom_import_dump(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct dump d = {.t = 0};
    struct jm_prom prom;
    struct jm_prom_sample s;
    int rc = jm_devlog_begin(&d.p.l, "prometheus", path, out, o, err);
    if (rc && !d.p.l.b.w)
        return rc;
    d.base = d.p.l.f.mtime_ns;
    d.spaced = o->interval_ns > 0;
    struct jm_prom_limits lim = {.total_bytes = SIZE_MAX};
    jm_prom_init(&prom, &lim);
    struct jm_span rest = d.p.l.f.text, line;
    while (!d.p.l.b.rc && jm_span_line(&rest, &line)) {
        struct jm_span trimmed = jm_span_trim(line);
        int64_t t;
        jm_ifile_used(&d.p.l.f, line.p + line.n, &d.p.l.mark);
        if (!trimmed.n)
            continue;
        if ((trimmed.p[0] == '#' || jm_span_chr(trimmed, '{') < 0) && time_line(trimmed, &t)) {
            d.t = t;
            d.stamped = true;
            continue;
        }
        if (trimmed.p[0] == '#')
            continue;
        struct jm_span one = trimmed;
        if ((rc = jm_prom_next(&prom, &one, true, &s, d.p.l.b.err)) < 0) {
            d.p.l.b.rc = rc;
            break;
        }
        if (rc > 0)
            sample(&d, &s);
    }
    if (prom.bad_lines)
        jm_build_env(&d.p.l.b, "import.log.broken_lines", "%llu", (unsigned long long)prom.bad_lines);
    jm_prom_release(&prom);
    jm_build_times(&d.p.l.b, d.stamped  ? "a line with the time before each scrape"
                             : d.spaced ? "no stamps: scrapes taken as evenly spaced by --interval"
                                        : "stamps of the samples");
    return jm_promdev_end(&d.p);
}

/* ---- promtool query range: 'metric{labels} =>' and '123 @[1700000000]' lines */

int jm_prom_import_text(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_promdev p = {.series = 0};
    struct jm_prom_series s;
    int ch = JM_PROMDEV_OTHER, text10 = 0, rc = jm_devlog_begin(&p.l, "prometheus", path, out, o, err);
    if (rc && !p.l.b.w)
        return rc;
    struct jm_span rest = p.l.f.text, line;
    while (!p.l.b.rc && jm_span_line(&rest, &line)) {
        struct jm_span text = jm_span_trim(line);
        bool zone;
        int64_t t;
        jm_ifile_used(&p.l.f, line.p + line.n, &p.l.mark);
        ptrdiff_t at = jm_span_find(text, JM_SPAN(" @["));
        if (jm_span_ends(text, JM_SPAN("=>"))) {
            text = jm_span_trim(jm_span_sub(text, 0, text.n - 2));
            ch = jm_promdev_labels(text, &s) ? jm_promdev_channel(&p, &s, &text10) : JM_PROMDEV_OTHER;
        } else if (at > 0 && ch >= 0) {
            struct jm_span stamp = jm_span_sub(text, (size_t)at + 3, text.n);
            ptrdiff_t end = jm_span_chr(stamp, ']');
            if (end > 0 && jm_devlog_time(jm_span_sub(stamp, 0, (size_t)end), &t, &zone))
                jm_promdev_put(&p, ch, t, text10, jm_span_trim(jm_span_sub(text, 0, (size_t)at)));
            else
                p.l.bad++;
        }
    }
    jm_build_times(&p.l.b,
                   "stamps of Prometheus: a range query repeats the last scrape at each step for up to 5 "
                   "minutes, so a value may be older than its stamp");
    return jm_promdev_end(&p);
}

/* ---- Grafana: wide (Time, a column a series) or long (Series, Time, Value) */

struct grafana {
    struct jm_promdev p;
    int *ch, *ten; /* a column */
    size_t n;
    int time, series, value;
    int64_t local;
};

static int column(struct grafana *g, const struct jm_csv_field *f, int *text10)
{
    struct jm_prom_series s;
    char text[4096];
    jm_csv_text(f, text, sizeof text);
    struct jm_span t = jm_span_of(text);
    if (!jm_promdev_labels(t, &s))
        return JM_PROMDEV_OTHER;
    return jm_promdev_channel(&g->p, &s, text10);
}

static void cell(struct grafana *g, int ch, int64_t t, int text10, struct jm_span text)
{
    struct jm_span number;
    int unit10;
    if (ch < 0 || !jm_span_trim(text).n)
        return;
    /* a panel's unit stands behind the number: 94 W, 1.2 kW */
    if (jm_devlog_number(text, 99, &number, &unit10) && unit10 != 99)
        jm_promdev_put(&g->p, ch, t, unit10, number);
    else
        jm_promdev_put(&g->p, ch, t, text10, jm_span_trim(text));
}

static void grafana_row(struct grafana *g, const struct jm_csv_field *f, size_t n)
{
    bool zone;
    int64_t t;
    if (g->time < 0 || (size_t)g->time >= n || !jm_devlog_time(f[g->time].raw, &t, &zone)) {
        g->p.l.bad++;
        return;
    }
    g->local += !zone;
    if (g->series >= 0) {
        int ten = 0, ch = (size_t)g->series < n && (size_t)g->value < n ? column(g, &f[g->series], &ten)
                                                                        : JM_PROMDEV_OTHER;
        cell(g, ch, t, ten, ch < 0 ? JM_SPAN("") : f[g->value].raw);
        return;
    }
    for (size_t i = 0; i < n && i < g->n; i++)
        cell(g, g->ch[i], t, g->ten[i], f[i].raw);
}

static void grafana_header(struct grafana *g, const struct jm_csv_field *f, size_t n)
{
    g->n = n;
    g->time = jm_csv_find(f, n, "Time");
    g->series = jm_csv_find(f, n, "Series");
    g->value = jm_csv_find(f, n, "Value");
    if (g->series >= 0 && g->value < 0)
        g->series = -1;
    for (size_t i = 0; i < n; i++)
        g->ch[i] = g->series >= 0 || (int)i == g->time ? JM_PROMDEV_OTHER : column(g, &f[i], &g->ten[i]);
}

int jm_prom_import_csv(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct grafana g = {.n = 0, .time = -1, .series = -1};
    struct jm_csv csv;
    struct jm_err why = {0};
    struct jm_csv_field *f = calloc(COLUMNS, sizeof *f);
    size_t n;
    g.ch = calloc(COLUMNS, sizeof *g.ch);
    g.ten = calloc(COLUMNS, sizeof *g.ten);
    int rc = f && g.ch && g.ten ? jm_devlog_begin(&g.p.l, "prometheus", path, out, o, err)
                                : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc && !g.p.l.b.w)
        goto done;
    struct jm_span text = g.p.l.f.text;
    if (jm_span_starts(text, JM_SPAN("sep="))) { /* for spreadsheets */
        ptrdiff_t e = jm_span_chr(text, '\n');
        text = jm_span_sub(text, e < 0 ? text.n : (size_t)e + 1, text.n);
    }
    struct jm_span first = text;
    ptrdiff_t eol = jm_span_chr(first, '\n');
    first = jm_span_sub(first, 0, eol < 0 ? first.n : (size_t)eol);
    jm_csv_init(&csv, text,
                jm_span_starts(first, JM_SPAN("\"Series\";")) || jm_span_starts(first, JM_SPAN("Series;"))
                    ? ';'
                    : ',');
    while (!g.p.l.b.rc && (rc = jm_csv_row(&csv, f, COLUMNS, &n, &why)) > 0) {
        jm_ifile_used(&g.p.l.f, csv.in.p + csv.at, &g.p.l.mark);
        if (!g.n)
            grafana_header(&g, f, n);
        else if (n > 1)
            grafana_row(&g, f, n);
    }
    if (rc < 0 && !g.p.l.b.rc)
        jm_build_fail(&g.p.l.b, "%s, %s", path, why.text);
    jm_build_times(&g.p.l.b, g.local
                                 ? "times of the CSV without a zone (that of Grafana's user), taken as UTC"
                                 : "stamps of the CSV");
    rc = jm_promdev_end(&g.p);
done:
    free(f);
    free(g.ch);
    free(g.ten);
    return rc;
}
