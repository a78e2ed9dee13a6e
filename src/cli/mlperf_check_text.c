/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mlperf_check.h"
#include "mlperf/official.h"
#include "show/fmt.h"
#include "show/text_out.h"

#include "base/banned.h"

#define ID_AT  8
#define ID_MIN 20
#define ID_MAX 28

static const enum jm_mlperf_verdict order[] = {JM_MLPERF_FAIL, JM_MLPERF_WARN, JM_MLPERF_NOTE, JM_MLPERF_PASS,
                                               JM_MLPERF_ABSENT};
static const char *const tags[] = {"pass", "note", "warn", "FAIL", "-"};
static const enum jm_out_style_of styles[] = {JM_OUT_GREEN, JM_OUT_PLAIN, JM_OUT_YELLOW, JM_OUT_RED,
                                              JM_OUT_DIM};

void jm_judged_count(struct jm_judged *j)
{
    for (size_t i = 0; i < j->c.n_outcomes; i++)
        j->n[j->c.outcomes[i].verdict]++;
}

void jm_judged_release(struct jm_judged *j)
{
    free(j->path);
    free(j->error);
    jm_mlperf_checked_release(&j->c);
    memset(j, 0, sizeof *j);
}

void jm_judged_thin(struct jm_judged *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->c.n_outcomes; i++) {
        struct jm_mlperf_outcome *o = &j->c.outcomes[i];
        if (o->verdict != JM_MLPERF_PASS && o->verdict != JM_MLPERF_ABSENT) {
            j->c.outcomes[n++] = *o;
            continue;
        }
        free(o->text);
        free(o->evidence);
    }
    j->c.n_outcomes = n;
    j->thinned = true;
}

bool jm_judged_fails(const struct jm_judged *j)
{
    return j->error || j->c.verdict == JM_MLPERF_FAIL ||
           (!j->no_official && j->c.official.verdict == JM_MLPERF_FAIL);
}

void jm_judged_what(const struct jm_judged *j, struct jm_str *out)
{
    const char *const part[] = {j->round, j->no_figures ? "" : j->r.benchmark,
                                j->no_figures ? "" : j->r.scenario};
    bool any = false;
    for (size_t i = 0; i < 3; i++)
        if (*part[i]) {
            jm_str_addf(out, "%s%s", any ? " · " : "", part[i]);
            any = true;
        }
    if (!j->no_figures && j->r.inferred)
        jm_str_adds(out, " (inferred)");
}

static void init(struct jm_out *o, struct jm_show_opts *show, const struct jm_check_show *from,
                 struct jm_str *s)
{
    int width = from->width < 50 ? 50 : from->width > 120 ? 120 : from->width;
    *show = (struct jm_show_opts){.width = width, .color = from->color, .ascii = from->ascii};
    *o = (struct jm_out){.s = s, .o = show, .width = width};
}

static void styled(struct jm_out *o, enum jm_out_style_of st, const char *text)
{
    jm_out_style(o, st);
    jm_out_add(o, text);
    jm_out_style(o, JM_OUT_PLAIN);
}

static void counts(struct jm_str *t, const size_t n[5])
{
    static const char *const one[] = {"fail", "warning", "note", "pass", "not looked at"};
    static const char *const many[] = {"fail", "warnings", "notes", "pass", "not looked at"};
    bool any = false;
    for (size_t i = 0; i < 5; i++)
        if (n[order[i]]) {
            jm_str_addf(t, "%s%zu %s", any ? ", " : "", n[order[i]], n[order[i]] == 1 ? one[i] : many[i]);
            any = true;
        }
}

static const char *official_word(const struct jm_mlperf_official *f)
{
    return f->verdict == JM_MLPERF_FAIL   ? "FAIL"
           : f->verdict == JM_MLPERF_WARN ? "pass, with warnings"
                                          : "pass";
}

static const char *own_word(const struct jm_judged *j)
{
    switch (j->c.verdict) {
    case JM_MLPERF_FAIL: return "FAIL";
    case JM_MLPERF_WARN: return "pass, with warnings";
    case JM_MLPERF_NOTE: return "pass, with notes";
    default: return "pass";
    }
}

static void head(struct jm_out *o, const struct jm_judged *j)
{
    struct jm_str t;
    jm_str_init(&t);
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_wrap(o, j->path, 2, 0);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_judged_what(j, &t);
    if (t.len) {
        styled(o, JM_OUT_DIM, t.buf);
        jm_str_addc(o->s, '\n');
    }
    jm_str_addc(o->s, '\n');
    jm_str_release(&t);
}

/* What stands behind a verdict: on its line, or on the next where that is too short. */
static void beside(struct jm_out *o, const char *word, const struct jm_str *t)
{
    int at = 14 + (int)strlen(word);
    if (at + jm_out_columns(t->buf, t->len) > o->width) {
        jm_str_adds(o->s, "\n            ");
        at = 12;
    } else {
        jm_str_adds(o->s, "  ");
    }
    jm_out_style(o, JM_OUT_DIM);
    jm_out_wrap(o, t->buf, 12, at);
    jm_out_style(o, JM_OUT_PLAIN);
}

static void verdicts(struct jm_out *o, const struct jm_judged *j)
{
    const struct jm_mlperf_official *f = &j->c.official;
    const struct jm_mlperf_revision *r = f->revision ? jm_mlperf_revision_find(f->revision) : NULL;
    size_t n[5] = {0};
    struct jm_str t;
    jm_str_init(&t);
    if (!j->no_official) {
        for (int i = 0; i < 11; i++)
            n[f->check[i].verdict]++;
        jm_str_adds(o->s, "  official  ");
        styled(o, styles[f->verdict], official_word(f));
        jm_str_addf(&t, "checker %s", f->revision);
        if (r && *r->rounds)
            jm_str_addf(&t, " (%s): ", r->rounds);
        counts(&t, n);
        beside(o, official_word(f), &t);
    }
    jm_str_reset(&t);
    jm_str_adds(o->s, "  ours      ");
    styled(o, styles[j->c.verdict], own_word(j));
    counts(&t, j->n);
    beside(o, own_word(j), &t);
    jm_str_release(&t);
    if (!j->no_figures && isfinite(j->r.power.published)) {
        char a[JM_FMT], b[JM_FMT];
        jm_str_adds(o->s, "  power     ");
        jm_out_add(o, jm_fmt_value(a, j->r.power.published, "W"));
        jm_str_adds(o->s, " as published");
        if (isfinite(j->r.power.proper)) {
            jm_str_adds(o->s, ", ");
            jm_out_add(o, jm_fmt_value(b, j->r.power.proper, "W"));
            jm_str_adds(o->s, " as it should be");
        }
        jm_str_addc(o->s, '\n');
    }
}

/* What a line says more, in the column at, cut after most bytes. */
static void below(struct jm_out *o, const char *text, int at, int most)
{
    char cut[400];
    if (!text || !*text)
        return;
    bool more = strlen(text) > (size_t)most;
    snprintf(cut, sizeof cut, "%.*s%s", most, text, more ? " ..." : "");
    jm_out_style(o, JM_OUT_DIM);
    for (int i = 0; i < at; i++)
        jm_str_addc(o->s, ' ');
    jm_out_wrap(o, cut, at, at);
    jm_out_style(o, JM_OUT_PLAIN);
}

/* tag, id, text behind both; a long text goes on in further lines. */
static void row(struct jm_out *o, int at, enum jm_mlperf_verdict v, const char *id, const char *text,
                const char *evidence)
{
    jm_str_adds(o->s, "  ");
    jm_out_style(o, styles[v]);
    jm_out_cell(o, tags[v], ID_AT - 2, false);
    jm_out_style(o, JM_OUT_PLAIN);
    if (v == JM_MLPERF_PASS || v == JM_MLPERF_ABSENT)
        jm_out_style(o, JM_OUT_DIM);
    jm_out_cell(o, id, at - ID_AT - 1, false);
    jm_str_addc(o->s, ' ');
    jm_out_wrap(o, text, at, at);
    jm_out_style(o, JM_OUT_PLAIN);
    below(o, evidence, at, 280);
}

static void official(struct jm_out *o, const struct jm_mlperf_official *f, bool all)
{
    bool any = all;
    for (int i = 0; i < 11; i++)
        any |= f->check[i].verdict != JM_MLPERF_PASS;
    if (!any)
        return;
    jm_out_section(o, "The official checker");
    for (int i = 0; i < 11; i++) {
        enum jm_mlperf_verdict v = f->check[i].verdict;
        if (v == JM_MLPERF_PASS && !all)
            continue;
        jm_str_adds(o->s, "  ");
        jm_out_style(o, styles[v]);
        jm_out_cell(o, tags[v], ID_AT - 2, false);
        jm_out_style(o, v == JM_MLPERF_PASS ? JM_OUT_DIM : JM_OUT_PLAIN);
        jm_out_add(o, f->check[i].title);
        jm_out_style(o, JM_OUT_PLAIN);
        jm_str_addc(o->s, '\n');
        below(o, f->check[i].text, ID_AT, 380);
    }
}

void jm_check_text(const struct jm_judged *j, const struct jm_check_show *opts, struct jm_str *s)
{
    static const char *const sections[] = {"Fails", "Warnings", "Notes", "Passes", "Not looked at"};
    struct jm_show_opts show;
    struct jm_out o;
    init(&o, &show, opts, s);
    head(&o, j);
    if (j->error) {
        jm_str_adds(s, "  ");
        styled(&o, JM_OUT_RED, "FAIL  ");
        jm_out_wrap(&o, j->error, ID_AT, ID_AT);
        return;
    }
    verdicts(&o, j);
    if (!j->no_official)
        official(&o, &j->c.official, opts->all);
    int at = ID_MIN;
    for (size_t i = 0; i < j->c.n_outcomes; i++) {
        const struct jm_mlperf_outcome *x = &j->c.outcomes[i];
        bool told = opts->all || (x->verdict != JM_MLPERF_PASS && x->verdict != JM_MLPERF_ABSENT);
        int n = (int)strlen(x->rule->id);
        if (told && n > at)
            at = n < ID_MAX ? n : ID_MAX;
    }
    at += ID_AT + 1;
    for (size_t k = 0; k < 5; k++) {
        enum jm_mlperf_verdict v = order[k];
        if (!j->n[v] || ((v == JM_MLPERF_PASS || v == JM_MLPERF_ABSENT) && !opts->all))
            continue;
        jm_out_section(&o, sections[k]);
        for (size_t i = 0; i < j->c.n_outcomes; i++) {
            const struct jm_mlperf_outcome *x = &j->c.outcomes[i];
            if (x->verdict == v)
                row(&o, at, v, x->rule->id, x->text, x->evidence);
        }
    }
    if (!opts->all && j->n[JM_MLPERF_PASS]) {
        jm_str_addc(s, '\n');
        jm_out_style(&o, JM_OUT_DIM);
        jm_str_addf(s, "  --all also shows %zu rules that hold and %zu that had nothing to look at\n",
                    j->n[JM_MLPERF_PASS], j->n[JM_MLPERF_ABSENT]);
        jm_out_style(&o, JM_OUT_PLAIN);
    }
}

void jm_check_line(const struct jm_judged *j, const struct jm_check_show *opts, struct jm_str *s)
{
    struct jm_show_opts show;
    struct jm_out o;
    struct jm_str t;
    init(&o, &show, opts, s);
    jm_str_init(&t);
    enum jm_mlperf_verdict own = j->error ? JM_MLPERF_FAIL : j->c.verdict,
                           pub = j->error || j->no_official ? JM_MLPERF_ABSENT : j->c.official.verdict;
    jm_out_style(&o, styles[own]);
    jm_out_cell(&o, tags[own], 6, false);
    jm_out_style(&o, styles[pub]);
    jm_out_cell(&o, tags[pub], 10, false);
    jm_out_style(&o, JM_OUT_PLAIN);
    /* The end of a path tells sessions apart. */
    const char *path = j->path;
    int room = o.width - 16, have = jm_out_columns(path, strlen(path));
    struct jm_span one;
    for (; have > room - 2 && path; have--)
        path = jm_fmt_next(path, &one);
    jm_str_adds(s, path == j->path ? "" : "..");
    jm_out_add(&o, path ? path : "");
    jm_str_addc(s, '\n');
    if (j->error) {
        jm_str_adds(&t, j->error);
    } else {
        size_t n = 0;
        for (size_t k = 0; k < 2; k++)
            for (size_t i = 0; i < j->c.n_outcomes; i++)
                if (j->c.outcomes[i].verdict == order[k] && n++ < 6)
                    jm_str_addf(&t, "%s%s", n > 1 ? ", " : "", j->c.outcomes[i].rule->id);
        if (n > 6)
            jm_str_addf(&t, " and %zu more", n - 6);
    }
    if (t.len) {
        jm_out_style(&o, JM_OUT_DIM);
        jm_str_adds(s, "                ");
        jm_out_wrap(&o, t.buf, 16, 16);
        jm_out_style(&o, JM_OUT_PLAIN);
    }
    jm_str_release(&t);
}

void jm_check_sum(const struct jm_judged *j, size_t n, const struct jm_check_show *opts, struct jm_str *s)
{
    size_t own = 0, pub = 0, odd = 0, errors = 0;
    struct jm_show_opts show;
    struct jm_out o;
    init(&o, &show, opts, s);
    for (size_t i = 0; i < n; i++) {
        errors += j[i].error != NULL;
        if (j[i].error)
            continue;
        bool p = !j[i].no_official && j[i].c.official.verdict == JM_MLPERF_FAIL,
             q = j[i].c.verdict == JM_MLPERF_FAIL;
        own += q;
        pub += p;
        odd += q && !p && !j[i].no_official;
    }
    struct jm_str t;
    jm_str_init(&t);
    if (own)
        jm_str_addf(&t, "%zu of %zu fail our rules", own, n);
    else
        jm_str_addf(&t, "None of %zu fails our rules", n);
    if (pub)
        jm_str_addf(&t, ", %zu the official checker of %s round", pub, pub > 1 ? "their" : "its");
    else
        jm_str_adds(&t, ", none the official checker of its round");
    if (odd)
        jm_str_addf(&t, "; %zu that it passes %s ours", odd, odd > 1 ? "fail" : "fails");
    if (errors)
        jm_str_addf(&t, "; %zu could not be read", errors);
    jm_str_addc(s, '\n');
    jm_out_style(&o, own || pub || errors ? JM_OUT_RED : JM_OUT_GREEN);
    jm_out_wrap(&o, t.buf, 0, 0);
    jm_out_style(&o, JM_OUT_PLAIN);
    jm_str_release(&t);
}
