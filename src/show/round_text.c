/* SPDX-License-Identifier: Apache-2.0 */
/* The table of MLPerf results at a number of columns: a heading a system and a line a result under it, or one
 * plain table where columns or an order are asked for. */
#include "show/round_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

struct layout {
    const struct jm_round_column *c[JM_ROUND_COLUMNS];
    int width[JM_ROUND_COLUMNS], natural[JM_ROUND_COLUMNS];
    int n, indent, gap;
};

const char *jm_round_system(const struct jm_round_row *r)
{
    return r->system_name ? r->system_name : r->system ? r->system : "?";
}

enum jm_out_style_of jm_round_style(enum jm_round_verdict v)
{
    switch (v) {
    case JM_RV_FAIL: return JM_OUT_RED;
    case JM_RV_WARN: return JM_OUT_YELLOW;
    case JM_RV_PASS:
    case JM_RV_NOTE: return JM_OUT_GREEN;
    case JM_RV_NONE: break;
    }
    return JM_OUT_DIM;
}

static const char *title(const struct jm_round_column *c)
{
    return c->title ? c->title : c->name;
}

static int columns_of(const char *s)
{
    return jm_out_columns(s, strlen(s));
}

static int total(const struct layout *l)
{
    int w = l->indent + l->gap * (l->n - 1);
    for (int i = 0; i < l->n; i++)
        w += l->width[i];
    return w;
}

/* Is the name in a list of --sort ("-metric,round")? */
static bool listed(const char *list, const char *name)
{
    struct jm_span rest = jm_span_of(list ? list : ""), item;
    while (list && jm_span_field(&rest, ',', &item)) {
        item = jm_span_trim(item);
        if (item.n && item.p[0] == '-')
            item = jm_span_sub(item, 1, item.n);
        if (jm_span_is(item, name))
            return true;
    }
    return false;
}

/* Least worth of the columns of the table that nobody asked for: what a narrow line loses first. */
static int dearest(const struct layout *l, const char *sort)
{
    static const char *const cheap[] = {"seconds",     "energy",     "power_proper", "reported",
                                        "j_per_token", "difference", "metric",       "per_joule"};
    for (size_t k = 0; k < sizeof cheap / sizeof cheap[0]; k++)
        for (int i = 0; i < l->n; i++)
            if (strcmp(l->c[i]->name, cheap[k]) == 0 && !listed(sort, cheap[k]))
                return i;
    return l->n - 1;
}

/* Natural widths and two blanks between; then one; then the widest text columns give way; what then is still
 * too wide loses columns, where nobody asked for them. */
static void fit(struct layout *l, const struct jm_round_table *t, int width, bool asked, const char *sort)
{
    enum { LEAST = 8, ROOMY = 13 };
    char buf[JM_FMT];
    l->gap = 2;
    for (int i = 0; i < l->n; i++) {
        l->width[i] = columns_of(title(l->c[i]));
        for (size_t k = 0; k < t->n_row; k++) {
            int w =
                t->row[k]->kind == JM_ROUND_SESSION ? columns_of(jm_round_cell(l->c[i], t->row[k], buf)) : 0;
            w = w > l->c[i]->most ? l->c[i]->most : w;
            l->width[i] = w > l->width[i] ? w : l->width[i];
        }
    }
    memcpy(l->natural, l->width, sizeof l->natural);
    while (total(l) > width) {
        int widest = -1;
        if (l->gap == 2) {
            l->gap = 1;
            continue;
        }
        for (int i = 0; i < l->n; i++)
            if (!l->c[i]->right && l->width[i] > (asked ? LEAST : ROOMY) &&
                (widest < 0 || l->width[i] > l->width[widest]))
                widest = i;
        if (widest >= 0) {
            l->width[widest]--;
        } else if (!asked && l->n > 3) {
            int at = dearest(l, sort);
            l->n--;
            memmove(l->c + at, l->c + at + 1, (size_t)(l->n - at) * sizeof *l->c);
            memmove(l->width + at, l->width + at + 1, (size_t)(l->n - at) * sizeof *l->width);
            memmove(l->natural + at, l->natural + at + 1, (size_t)(l->n - at) * sizeof *l->natural);
        } else {
            return;
        }
    }
    for (int i = 0; i < l->n; i++) /* what a lost column left free */
        while (!l->c[i]->right && l->width[i] < l->natural[i] && total(l) < width)
            l->width[i]++;
}

static void between(struct jm_out *o, const struct layout *l)
{
    jm_str_adds(o->s, l->gap == 2 ? "  " : " ");
}

static void head(struct jm_out *o, const struct layout *l)
{
    for (int i = 0; i < l->indent; i++)
        jm_str_addc(o->s, ' ');
    jm_out_style(o, JM_OUT_DIM);
    for (int i = 0; i < l->n; i++) {
        if (i)
            between(o, l);
        if (i == l->n - 1 && !l->c[i]->right)
            jm_out_add(o, title(l->c[i]));
        else
            jm_out_cell(o, title(l->c[i]), l->width[i], l->c[i]->right);
    }
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_addc(o->s, '\n');
}

static void line(struct jm_out *o, const struct layout *l, const struct jm_round_row *r)
{
    char buf[JM_FMT];
    for (int i = 0; i < l->indent; i++)
        jm_str_addc(o->s, ' ');
    for (int i = 0; i < l->n; i++) {
        const struct jm_round_column *c = l->c[i];
        const char *cell = jm_round_cell(c, r, buf);
        bool judged = strcmp(c->name, "check") == 0 || strcmp(c->name, "ours") == 0,
             theirs = strcmp(c->name, "official") == 0, end = i == l->n - 1 && !c->right;
        if (i)
            between(o, l);
        if (judged || theirs)
            jm_out_style(o, r->error && !r->checked ? JM_OUT_RED
                                                    : jm_round_style(theirs ? r->official : r->own));
        jm_out_cell(o, cell, end && columns_of(cell) < l->width[i] ? columns_of(cell) : l->width[i],
                    c->right);
        if (judged || theirs)
            jm_out_style(o, JM_OUT_PLAIN);
    }
    jm_str_addc(o->s, '\n');
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_system(const struct jm_round_row *a, const struct jm_round_row *b)
{
    return same(a->round, b->round) && same(a->submitter, b->submitter) && same(a->system, b->system) &&
           same(a->system_name, b->system_name) && same(a->division, b->division);
}

static bool informative(const char *s)
{
    return s && *s && strcmp(s, "N/A") != 0 && strcmp(s, "-") != 0;
}

/* "v5.1  Lenovo  ThinkSystem SR680a V3 (8x B200-SXM-180GB, TensorRT)", and what sets it apart. */
static void heading(struct jm_out *o, const struct jm_round_row *r)
{
    char buf[JM_FMT];
    struct jm_str more;
    jm_str_init(&more);
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_add(o, r->round ? r->round : "round ?");
    jm_str_adds(o->s, "  ");
    if (r->submitter) {
        jm_out_add(o, r->submitter);
        jm_str_adds(o->s, "  ");
    }
    int at =
        columns_of(r->round ? r->round : "round ?") + 2 + (r->submitter ? columns_of(r->submitter) + 2 : 0);
    jm_out_wrap(o, jm_round_system(r), 6, at);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_adds(&more, r->division ? r->division : "division ?");
    jm_str_addf(&more, ", %s", r->availability ? r->availability : "availability ?");
    if (informative(r->accelerator)) {
        jm_str_addf(&more, ", %s%s",
                    isfinite(jm_round_accelerators(r)) ? jm_fmt_count(buf, (int64_t)jm_round_accelerators(r))
                                                       : "",
                    isfinite(jm_round_accelerators(r)) ? " x " : "");
        jm_str_adds(&more, r->accelerator);
    }
    if (isfinite(r->nodes) && r->nodes > 1)
        jm_str_addf(&more, ", %s nodes", jm_fmt_count(buf, (int64_t)r->nodes));
    if (isfinite(r->design_power_w))
        jm_str_addf(&more, ", nameplate %s (declared)", jm_fmt_value(buf, r->design_power_w, "W"));
    jm_out_style(o, JM_OUT_DIM);
    jm_str_adds(o->s, "  ");
    jm_out_wrap(o, more.buf, 4, 2);
    jm_out_style(o, JM_OUT_PLAIN);
    o->s->failed |= more.failed;
    jm_str_release(&more);
}

static void counted(struct jm_str *s, int64_t n, const char *one, const char *many)
{
    char buf[JM_FMT];
    if (n > 0)
        jm_str_addf(s, "%s%s %s", s->len ? ", " : "", jm_fmt_count(buf, n), n == 1 ? one : many);
}

static void summary(struct jm_out *o, const struct jm_round_table *t)
{
    struct jm_str line;
    int64_t kinds[JM_ROUND_KIND_COUNT] = {0};
    char buf[JM_FMT];
    jm_str_init(&line);
    for (size_t i = 0; i < t->n_row; i++)
        kinds[t->row[i]->kind]++;
    counted(&line, kinds[0], "session with power", "sessions with power");
    counted(&line, kinds[1], "Training result", "Training results");
    counted(&line, kinds[2], "Tiny result", "Tiny results");
    counted(&line, kinds[3], "declared nameplate", "declared nameplates");
    if (!line.len)
        jm_str_adds(&line, "nothing with power");
    jm_str_addf(&line, " in %s %s", jm_fmt_count(buf, t->folders), t->folders == 1 ? "folder" : "folders");
    if (t->filtered)
        jm_str_addf(&line, "; %s left out by the filters", jm_fmt_count(buf, t->filtered));
    if (t->without_power)
        jm_str_addf(&line, "; %s without power", jm_fmt_count(buf, t->without_power));
    struct jm_str asked;
    jm_str_init(&asked);
    for (size_t i = 0; i < t->n_asked && i < 8; i++)
        jm_str_addf(&asked, "%s%s", i ? ", " : "", t->asked[i]);
    jm_str_adds(&asked, t->n_asked > 8 ? ", …" : "");
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_wrap(o, asked.buf, 2, 0);
    jm_out_style(o, JM_OUT_PLAIN);
    o->s->failed |= asked.failed;
    jm_str_release(&asked);
    jm_out_wrap(o, line.buf, 2, 0);
    o->s->failed |= line.failed;
    jm_str_release(&line);
}

static void kinds(struct jm_out *o, const struct jm_round_table *t, enum jm_round_kind k, const char *name)
{
    char a[JM_FMT], b[JM_FMT];
    bool any = false;
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind != k)
            continue;
        if (!any)
            jm_out_section(o, name);
        any = true;
        jm_str_adds(o->s, "  ");
        jm_out_wrap(o, jm_round_system(r), 4, 2);
        jm_str_adds(o->s, "    ");
        if (r->error) {
            jm_out_style(o, JM_OUT_RED);
            jm_out_wrap(o, r->error, 4, 4);
            jm_out_style(o, JM_OUT_PLAIN);
            continue;
        }
        jm_out_cell(o, r->benchmark ? r->benchmark : "?", 24, false);
        jm_str_addc(o->s, ' ');
        if (isfinite(r->metric) || isfinite(r->metric_proper)) {
            jm_out_add(o, jm_fmt_value(a, r->metric, r->metric_unit));
            jm_str_adds(o->s, " published, ");
            jm_out_add(o, jm_fmt_value(b, r->metric_proper, r->metric_unit));
            jm_str_adds(o->s, " proper");
        } else if (r->kind == JM_ROUND_TINY) {
            jm_str_adds(o->s, "no energy");
        } else {
            size_t n = 0;
            for (size_t j = 0; j < r->n_part; j++)
                n += isfinite(r->part[j].published) || isfinite(r->part[j].proper);
            jm_str_addf(o->s, "no mean: %zu of %zu runs have power", n, r->n_part);
        }
        if (r->checked) {
            jm_str_adds(o->s, ", ");
            jm_out_style(o, jm_round_style(r->own));
            jm_str_adds(o->s, jm_round_verdict_name(r->own));
            jm_out_style(o, JM_OUT_PLAIN);
        }
        jm_str_addc(o->s, '\n');
        if (r->kind == JM_ROUND_TINY && r->accuracy && isnan(r->metric)) {
            jm_str_adds(o->s, "      ");
            jm_out_wrap(o, r->accuracy, 6, 6);
        }
    }
}

static void nameplates(struct jm_out *o, const struct jm_round_table *t)
{
    char v[JM_FMT];
    bool any = false;
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind != JM_ROUND_NAMEPLATE)
            continue;
        if (!any)
            jm_out_section(o, "Nameplates: declared, not measured; no efficiency is made of them");
        any = true;
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, isfinite(r->design_power_w) ? jm_fmt_value(v, r->design_power_w, "W") : "no value", 9,
                    true);
        jm_str_adds(o->s, "  ");
        struct jm_str who;
        jm_str_init(&who);
        jm_str_addf(&who, "%s%s%s", r->submitter ? r->submitter : "", r->submitter ? " " : "",
                    jm_round_system(r));
        jm_out_wrap(o, who.buf, 15, 13);
        o->s->failed |= who.failed;
        jm_str_release(&who);
    }
}

static void legend(struct jm_out *o, const struct jm_round_table *t, const struct jm_round_show *show)
{
    struct jm_str s;
    bool inferred = false, checked = false;
    jm_str_init(&s);
    for (size_t i = 0; i < t->n_row; i++) {
        inferred |= t->row[i]->inferred;
        checked |= t->row[i]->checked && t->row[i]->kind == JM_ROUND_SESSION;
    }
    jm_str_adds(&s, "published: the power metric by the rule of its round; differs: time-weighted power "
                    "with over-range samples decoded, over the published one");
    if (checked)
        jm_str_adds(&s, "; check: official checker of the round / our rules");
    if (inferred)
        jm_str_adds(&s, "; *: inferred from the run of another scenario");
    if (show->pue.value > 0)
        jm_str_addf(&s, "; facility: estimated, PUE %.4g%s%s", show->pue.value,
                    show->pue.category[0] ? " of category " : "", show->pue.category);
    jm_str_addc(&s, '.');
    jm_str_addc(o->s, '\n');
    jm_out_style(o, JM_OUT_DIM);
    jm_out_wrap(o, s.buf, 0, 0);
    jm_out_style(o, JM_OUT_PLAIN);
    o->s->failed |= s.failed;
    jm_str_release(&s);
}

/* What a results table says otherwise. */
static void told_otherwise(struct jm_out *o, const struct jm_round_table *t)
{
    enum { MOST = 10 };
    size_t n = 0, differ = 0;
    char a[JM_FMT], b[JM_FMT], c[JM_FMT];
    for (size_t i = 0; i < t->n_row; i++) {
        n += isfinite(t->row[i]->reported);
        differ += isfinite(t->row[i]->reported) && !t->row[i]->reported_agrees;
    }
    if (!n)
        return;
    jm_out_section(o, "Results tables beside the logs");
    if (!differ)
        jm_str_addf(o->s, "  %s%zu %s what the logs give\n", n == 1 ? "" : "all ", n,
                    n == 1 ? "value equals" : "values equal");
    else
        jm_str_addf(o->s, "  %zu of %zu values are not what the logs give\n", differ, n);
    for (size_t i = 0, shown = 0; i < t->n_row && shown < MOST; i++) {
        const struct jm_round_row *r = t->row[i];
        struct jm_str s;
        if (!isfinite(r->reported) || r->reported_agrees)
            continue;
        shown++;
        jm_str_init(&s);
        jm_str_addf(&s, "%s: the table says %s, the logs %s", r->path,
                    jm_round_metric(a, r->reported, r->reported_unit),
                    isfinite(r->metric) ? jm_round_metric(b, r->metric, r->metric_unit) : "nothing");
        if (isfinite(r->reported_off))
            jm_str_addf(&s, " (%s)", jm_round_percent(c, r->reported_off));
        jm_str_adds(o->s, "    ");
        jm_out_wrap(o, s.buf, 6, 4);
        o->s->failed |= s.failed;
        jm_str_release(&s);
    }
}

static void unread(struct jm_out *o, const struct jm_round_table *t)
{
    enum { MOST = 8 };
    size_t n = t->n_trouble, shown = 0;
    for (size_t i = 0; i < t->n_row; i++)
        n += t->row[i]->error != NULL;
    if (!n)
        return;
    jm_out_section(o, "Not read");
    for (size_t i = 0; i < t->n_row + t->n_trouble && shown < MOST; i++) {
        const struct jm_round_row *r = i < t->n_row ? t->row[i] : NULL;
        if (r && !r->error)
            continue;
        jm_str_adds(o->s, "  ");
        jm_out_wrap(o, r ? r->path : t->trouble[i - t->n_row].path, 4, 2);
        jm_str_adds(o->s, "    ");
        jm_out_wrap(o, r ? r->error : t->trouble[i - t->n_row].why, 4, 4);
        shown++;
    }
    if (n > shown)
        jm_str_addf(o->s, "  and %zu more; --json has them all\n", n - shown);
}

static int choose(struct layout *l, const struct jm_round_table *t, const struct jm_round_show *o,
                  bool grouped, struct jm_err *err)
{
    static const char grouped_names[] = "benchmark,scenario,metric,per_joule,j_per_token,difference,check",
                      flat[] = "system,benchmark,scenario,metric,per_joule,j_per_token,difference,check";
    char names[512];
    snprintf(names, sizeof names, "%s", grouped ? grouped_names : flat);
    if (!o->columns) { /* what a wide terminal has room for */
        size_t n = strlen(names);
        bool told = false;
        for (size_t i = 0; i < t->n_row; i++)
            told |= isfinite(t->row[i]->reported);
        if (o->width >= 100)
            snprintf(names + n, sizeof names - n, "%s,power_proper,energy,seconds", told ? ",reported" : "");
        else if (o->width >= 92 && told)
            snprintf(names + n, sizeof names - n, ",reported");
    }
    l->n = jm_round_column_list(o->columns ? o->columns : names, l->c, err);
    if (!o->columns) /* what it is sorted by is seen */
        for (const struct jm_round_column *c = jm_round_columns;
             c->name && l->n > 0 && l->n < JM_ROUND_COLUMNS; c++) {
            bool there = !listed(o->sort, c->name);
            for (int i = 0; i < l->n; i++)
                there |= l->c[i] == c;
            if (!there)
                l->c[l->n++] = c;
        }
    l->indent = grouped ? 2 : 0;
    if (l->n < 0)
        return l->n;
    fit(l, t, o->width, o->columns != NULL, o->sort);
    return 0;
}

int jm_round_text(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                  struct jm_err *err)
{
    struct jm_show_opts plain = {.width = o->width, .color = o->color, .ascii = o->ascii};
    struct jm_out out = {s, NULL, &plain, o->width > 100 ? 100 : o->width};
    struct layout l = {.n = 0};
    bool grouped = !o->columns && !o->sort;
    const struct jm_round_row *before = NULL;
    int rc = choose(&l, t, o, grouped, err);
    if (rc)
        return rc;
    if (o->detail && jm_round_only(t)) {
        jm_round_page(&out, jm_round_only(t), o);
        return jm_str_ok(s, "the page of the result", err);
    }
    summary(&out, t);
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind != JM_ROUND_SESSION)
            continue;
        if (!before) {
            jm_str_addc(s, '\n');
            head(&out, &l);
        } else if (grouped && !same_system(before, r)) {
            jm_str_addc(s, '\n');
        }
        if (grouped && (!before || !same_system(before, r)))
            heading(&out, r);
        line(&out, &l, r);
        before = r;
        if (o->flush && s->len > (256u << 10) && !s->failed)
            o->flush(o->self, s);
    }
    kinds(&out, t, JM_ROUND_TRAINING, "Training");
    kinds(&out, t, JM_ROUND_TINY, "Tiny");
    nameplates(&out, t);
    if (before)
        legend(&out, t, o);
    told_otherwise(&out, t);
    jm_round_findings(&out, t);
    unread(&out, t);
    return jm_str_ok(s, "the table of results", err);
}
