/* SPDX-License-Identifier: Apache-2.0 */
/* show, as text: 80 columns, the boundary and the denominator beside each number. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

struct out {
    struct jm_str *s;
    const struct jm_report *r;
    const struct jm_show_opts *o;
    int width;
};

enum style { PLAIN, BOLD, DIM, GREEN, YELLOW, RED };

static void style(struct out *o, enum style st)
{
    static const char *const code[] = {"\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[1;31m"};
    if (o->o->color)
        jm_str_adds(o->s, code[st]);
}

/* Columns a UTF-8 text takes (no wide characters are printed here). */
static int columns(const char *s, size_t n)
{
    int c = 0;
    for (size_t i = 0; i < n; i++)
        c += ((unsigned char)s[i] & 0xc0) != 0x80;
    return c;
}

static void add_ascii(struct out *o, const char *s)
{
    static const struct {
        const char *u, *a;
    } map[] = {{"±", "+-"}, {"–", "-"}, {"µ", "u"}, {"×", "x"}, {"·", "-"}, {"─", "-"}, {"°", " "}};
    while (*s) {
        size_t n = 1;
        const char *put = NULL;
        for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
            if (strncmp(s, map[i].u, strlen(map[i].u)) == 0) {
                put = map[i].a;
                n = strlen(map[i].u);
                break;
            }
        if (put)
            jm_str_adds(o->s, put);
        else
            jm_str_addc(o->s, *s);
        s += n;
    }
}

/* Labels, names and reasons come from outside: none of them may speak to the terminal. */
static void add(struct out *o, const char *s)
{
    size_t at = o->s->len;
    if (o->o->ascii)
        add_ascii(o, s);
    else
        jm_str_adds(o->s, s);
    if (!o->s->failed)
        jm_text_plain(o->s->buf + at, o->s->len - at, false);
}

/* Left-aligned in width columns (cut with ".." when longer), or right-aligned. */
static void cell(struct out *o, const char *s, int width, bool right)
{
    int c = columns(s, strlen(s));
    for (int i = c; right && i < width; i++)
        jm_str_addc(o->s, ' ');
    if (c <= width) {
        add(o, s);
    } else {
        size_t n = 0;
        int k = 0;
        while (k < width - 2) {
            n++;
            while (((unsigned char)s[n] & 0xc0) == 0x80)
                n++;
            k++;
        }
        char cut[256];
        snprintf(cut, sizeof cut, "%.*s..", (int)(n < 250 ? n : 250), s);
        add(o, cut);
    }
    for (int i = c; !right && i < width; i++)
        jm_str_addc(o->s, ' ');
}

/* Words of s wrapped behind an indent; the first line continues at column at. */
static void wrap(struct out *o, const char *s, int indent, int at)
{
    for (bool first = true; *s; first = false) {
        size_t n = strcspn(s, " ");
        int c = columns(s, n);
        if (!first && at + 1 + c > o->width) {
            jm_str_addc(o->s, '\n');
            for (int i = 0; i < indent; i++)
                jm_str_addc(o->s, ' ');
            at = indent;
        } else if (!first) {
            jm_str_addc(o->s, ' ');
            at++;
        }
        char word[512];
        snprintf(word, sizeof word, "%.*s", (int)(n < 500 ? n : 500), s);
        add(o, word);
        at += c;
        s += n;
        s += strspn(s, " ");
    }
    jm_str_addc(o->s, '\n');
}

static void section(struct out *o, const char *title)
{
    jm_str_addc(o->s, '\n');
    style(o, BOLD);
    jm_str_adds(o->s, title);
    style(o, PLAIN);
    jm_str_addc(o->s, '\n');
}

static enum style validity_style(enum jm_validity v)
{
    return v == JM_V_VALID ? GREEN : v == JM_V_FINDINGS ? YELLOW : RED;
}

static void head(struct out *o)
{
    const struct jm_report *r = o->r;
    char line[512];
    int errors = 0, warnings = 0;
    style(o, BOLD);
    add(o, r->label ? r->label : "joulemark run");
    style(o, PLAIN);
    if (r->simulated) {
        style(o, YELLOW);
        jm_str_adds(o->s, "   SIMULATED");
        style(o, PLAIN);
    }
    jm_str_addc(o->s, '\n');
    style(o, DIM);
    snprintf(line, sizeof line, "%s %s %.19sZ %s run %.8s", r->kind, r->source ? r->source : "", r->created,
             "·", r->id);
    wrap(o, line, 0, 0);
    style(o, PLAIN);
    for (size_t i = 0; i < r->n_findings; i++) {
        errors += r->findings[i].severity == JM_SEV_ERROR;
        warnings += r->findings[i].severity == JM_SEV_WARNING;
    }
    style(o, validity_style(r->validity));
    add(o, jm_fmt_validity(r->validity));
    style(o, PLAIN);
    jm_str_addf(o->s, " for profile %s", jm_profile_name((int)r->profile));
    if (errors + warnings)
        jm_str_addf(o->s, " (%d error%s, %d warning%s below)", errors, errors == 1 ? "" : "s", warnings,
                    warnings == 1 ? "" : "s");
    jm_str_addc(o->s, '\n');
}

static void headline(struct out *o)
{
    const struct jm_result *x = jm_fmt_headline(o->r);
    char v[JM_FMT], pm[JM_FMT];
    if (!x)
        return;
    jm_str_addc(o->s, '\n');
    style(o, BOLD);
    add(o, "  ");
    add(o, x->q.have ? jm_fmt_value(v, x->q.value, x->q.unit) : "no value");
    style(o, PLAIN);
    jm_fmt_pm(pm, &x->q);
    if (pm[0]) {
        add(o, "  ");
        add(o, pm);
    }
    jm_str_addc(o->s, '\n');
    char line[512];
    snprintf(line, sizeof line, "  %s at the boundary %s", jm_fmt_metric(x->metric), x->set ? x->set : "?");
    wrap(o, line + 2, 2, (jm_str_adds(o->s, "  "), 2));
    if (x->denominator_name) {
        char a[JM_FMT], b[JM_FMT];
        snprintf(line, sizeof line, "= %s / %s", jm_fmt_part(a, x->numerator_name, x->numerator),
                 jm_fmt_part(b, x->denominator_name, x->denominator));
        style(o, DIM);
        wrap(o, line, 4, (jm_str_adds(o->s, "  "), 2));
        style(o, PLAIN);
    }
    if (!x->q.have && x->q.reasons) {
        snprintf(line, sizeof line, "no value because: %s", x->q.reasons);
        wrap(o, line, 4, (jm_str_adds(o->s, "  "), 2));
    }
}

/* One energy result: metric, boundary set, value, interval, denominator. */
static void energy_row(struct out *o, const struct jm_result *x)
{
    bool long_name = strlen(x->metric) > 22;
    char v[JM_FMT], pm[JM_FMT], note[160];
    jm_str_adds(o->s, "  ");
    cell(o, x->metric, long_name ? (int)strlen(x->metric) : 22, false);
    if (long_name) { /* a name is never cut: it is what other tools look for */
        jm_str_adds(o->s, "\n  ");
        cell(o, "", 22, false);
    }
    jm_str_addc(o->s, ' ');
    cell(o, x->q.have ? jm_fmt_value(v, x->q.value, x->q.unit) : "–", 17, true);
    jm_str_addc(o->s, ' ');
    cell(o, jm_fmt_pm(pm, &x->q), 10, false);
    jm_str_addc(o->s, ' ');
    if (!x->q.have)
        snprintf(note, sizeof note, "%s", x->q.reasons ? x->q.reasons : "not known");
    else if (jm_fmt_estimate(x))
        snprintf(note, sizeof note, "ESTIMATE %s", x->set ? x->set : "");
    else if (x->denominator_name && strcmp(x->metric, "power.mean") != 0)
        snprintf(note, sizeof note, "%s / %s", x->numerator_name, x->denominator_name);
    else if (x->of && x->have_of < x->of)
        snprintf(note, sizeof note, "%d of %d", x->have_of, x->of);
    else
        snprintf(note, sizeof note, "%s", x->instrument ? x->instrument : "");
    style(o, DIM);
    cell(o, note, o->width - 2 - 22 - 1 - 17 - 1 - 10 - 1, false);
    style(o, PLAIN);
    while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
        o->s->buf[--o->s->len] = '\0';
    jm_str_addc(o->s, '\n');
}

static bool main_metric(const struct jm_result *x)
{
    static const char *const minor[] = {"j_per.input_token_uncached", "energy.by_gauge",   "tokens_per_j",
                                        "requests_per_kwh",           "j_per.request_any", "power.max"};
    for (size_t i = 0; i < sizeof minor / sizeof minor[0]; i++)
        if (strcmp(minor[i], x->metric) == 0)
            return false;
    return true;
}

static void energies(struct out *o)
{
    for (int b = JM_B_GPU; b < JM_B_COUNT; b++) {
        bool titled = false;
        for (size_t i = 0; i < o->r->n_results; i++) {
            const struct jm_result *x = &o->r->results[i];
            if ((int)x->q.boundary != b ||
                (o->o->all ? false : !jm_fmt_in_summary(o->r, x) || !main_metric(x)))
                continue;
            if (!titled) {
                char title[256];
                snprintf(title, sizeof title, "At the boundary %s", x->set ? x->set : jm_boundary_name(b));
                section(o, title);
                titled = true;
            }
            energy_row(o, x);
        }
    }
}

static void latencies(struct out *o)
{
    static const char *const ids[] = {"ttft", "ttfo", "tpot.excl_first", "tpot.incl_prefill", "itl.chunk",
                                      "e2e",  "queue"};
    static const double q[] = {0.5, 0.9, 0.95, 0.99};
    char v[JM_FMT];
    bool titled = false;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const struct jm_result *any = jm_fmt_find(o->r, ids[i], JM_B_NONE, 0.5);
        if (!any || (!o->o->all && (strcmp(ids[i], "tpot.incl_prefill") == 0 || strcmp(ids[i], "ttfo") == 0)))
            continue;
        if (!titled) {
            section(o, "Latency");
            jm_str_adds(o->s, "  ");
            cell(o, "", 22, false);
            static const char *const h[] = {"p50", "p90", "p95", "p99", "mean"};
            for (size_t k = 0; k < 5; k++)
                cell(o, h[k], 11, true);
            jm_str_addc(o->s, '\n');
            titled = true;
        }
        jm_str_adds(o->s, "  ");
        cell(o, ids[i], 22, false);
        for (size_t k = 0; k < 4; k++) {
            const struct jm_result *x = jm_fmt_find(o->r, ids[i], JM_B_NONE, q[k]);
            cell(o, x && x->q.have ? jm_fmt_value(v, x->q.value, "s") : "–", 11, true);
        }
        const struct jm_result *m = jm_fmt_find(o->r, ids[i], JM_B_NONE, NAN);
        cell(o, m && m->q.have ? jm_fmt_value(v, m->q.value, "s") : "–", 11, true);
        jm_str_addc(o->s, '\n');
    }
}

static void requests(struct out *o)
{
    const struct jm_report *r = o->r;
    char a[JM_FMT], b[JM_FMT], line[512];
    if (!r->has_requests)
        return;
    section(o, "Requests and tokens in the measured windows");
    snprintf(line, sizeof line, "%s ok, %s failed, %s aborted", jm_fmt_count(a, r->requests.ok),
             jm_fmt_count(b, r->requests.failed), jm_fmt_count((char[JM_FMT]){0}, r->requests.aborted));
    jm_str_adds(o->s, "  ");
    add(o, line);
    if (r->requests.qualified >= 0)
        jm_str_addf(o->s, ", %s inside the SLO", jm_fmt_count(a, r->requests.qualified));
    jm_str_addc(o->s, '\n');
    for (int e = 0; e < JM_END_COUNT; e++)
        if (e != JM_END_OK && r->requests.by_end[e])
            jm_str_addf(o->s, "    %-14s %s\n", jm_end_name(e), jm_fmt_count(a, r->requests.by_end[e]));
    snprintf(line, sizeof line, "%s output tokens, %s input tokens", jm_fmt_count(a, r->tokens.output),
             jm_fmt_count(b, r->tokens.input));
    jm_str_adds(o->s, "  ");
    add(o, line);
    const struct jm_result *t = jm_fmt_find(r, "tokens_per_s", JM_B_NONE, NAN);
    if (t && t->q.have)
        jm_str_addf(o->s, ", %s output tokens/s", jm_fmt_number(a, t->q.value));
    jm_str_addc(o->s, '\n');
    if (r->tokens.isl.n && r->tokens.osl.n)
        jm_str_addf(o->s, "  ISL mean %.4g (p50 %.4g, p99 %.4g)   OSL mean %.4g (p50 %.4g, p99 %.4g)\n",
                    r->tokens.isl.mean, r->tokens.isl.p50, r->tokens.isl.p99, r->tokens.osl.mean,
                    r->tokens.osl.p50, r->tokens.osl.p99);
}

static void findings(struct out *o)
{
    static const char *const tag[] = {"note", "warning", "ERROR"};
    static const enum style st[] = {DIM, YELLOW, RED};
    if (!o->r->n_findings)
        return;
    section(o, "Findings");
    for (int sev = JM_SEV_ERROR; sev >= JM_SEV_INFO; sev--)
        for (size_t i = 0; i < o->r->n_findings; i++) {
            const struct jm_finding *f = &o->r->findings[i];
            char line[1600];
            if ((int)f->severity != sev)
                continue;
            jm_str_adds(o->s, "  ");
            style(o, st[sev]);
            cell(o, tag[sev], 8, false);
            style(o, PLAIN);
            snprintf(line, sizeof line, "%s: %s%s%s%s", f->id, f->text,
                     f->evidence && f->evidence[0] ? " [" : "", f->evidence ? f->evidence : "",
                     f->evidence && f->evidence[0] ? "]" : "");
            wrap(o, line, 10, 10);
        }
}

static void windows(struct out *o)
{
    char a[JM_FMT], t[JM_FMT];
    section(o, "Windows");
    for (size_t i = 0; i < o->r->n_windows; i++) {
        const struct jm_window *w = &o->r->windows[i];
        if (!o->o->all && w->role != JM_R_MEASURE && w->role != JM_R_IDLE)
            continue;
        jm_str_adds(o->s, "  ");
        cell(o, w->name, 22, false);
        jm_str_addc(o->s, ' ');
        cell(o, jm_role_name((int)w->role), 10, false);
        cell(o, jm_fmt_duration(a, (double)(w->t1 - w->t0) / 1e9), 10, true);
        jm_str_addf(o->s, "   from %.23sZ\n", jm_fmt_time(o->r, w->t0, t));
    }
}

int jm_show_text(const struct jm_report *r, const struct jm_show_opts *opts, struct jm_str *s,
                 struct jm_err *err)
{
    struct out o = {s, r, opts, opts->width >= 40 ? opts->width : 80};
    head(&o);
    headline(&o);
    energies(&o);
    latencies(&o);
    requests(&o);
    windows(&o);
    findings(&o);
    return jm_str_ok(s, "the text of the report", err);
}
