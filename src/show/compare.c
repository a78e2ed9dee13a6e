/* SPDX-License-Identifier: Apache-2.0 */
#include "show/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/text_out.h"

#include "base/banned.h"

const struct jm_compare_format jm_compare_formats[] = {{"text", jm_compare_text},
                                                       {"json", jm_compare_json},
                                                       {"markdown", jm_compare_markdown},
                                                       {"html", jm_compare_html},
                                                       {NULL, NULL}};

const char *jm_compare_change(char buf[JM_FMT], double ratio)
{
    double v = 100 * (ratio - 1);
    if (!isfinite(v))
        snprintf(buf, JM_FMT, "–");
    else
        snprintf(buf, JM_FMT, fabs(v) < 9.995 ? "%+.2f %%" : "%+.1f %%", v);
    return buf;
}

bool jm_compare_telling(const struct jm_compare_fact *f)
{
    return f->state >= JM_CF_PARTLY;
}

double jm_compare_asked(const struct jm_comparison *c)
{
    return c->decide.contract ? log1p(-c->decide.minimum) : 0;
}

void jm_compare_scale(const struct jm_comparison *c, const struct jm_candidate *k, double *lo, double *hi)
{
    double far = fabs(jm_compare_asked(c));
    for (size_t i = 0; i < k->n_pair; i++)
        far = fmax(far, fabs(k->pair[i].d));
    if (isfinite(k->decision.lo))
        far = fmax(
            far, fmax(fabs(log1p(-fmin(k->decision.lo, 0.999))), fabs(log1p(-fmin(k->decision.hi, 0.999)))));
    if (k->decision.floor_source)
        far = fmax(far, k->decision.floor.log_floor);
    *hi = 1.1 * (far > 0 ? far : 0.01);
    *lo = -*hi;
}

/* --- text */
static enum jm_out_style_of colour(enum jm_verdict v)
{
    switch (v) {
    case JM_VERDICT_ACCEPT:
    case JM_VERDICT_LOWER:
    case JM_VERDICT_EQUIVALENT: return JM_OUT_GREEN;
    case JM_VERDICT_REJECT:
    case JM_VERDICT_HIGHER: return JM_OUT_RED;
    default: return JM_OUT_YELLOW;
    }
}

static void sentence(struct jm_out *o, const struct jm_candidate *k)
{
    const char *name = jm_verdict_name((int)k->verdict), *rest = k->sentence;
    size_t n = strlen(name);
    jm_out_style(o, colour(k->verdict));
    jm_out_style(o, JM_OUT_BOLD);
    if (strncmp(rest, name, n) == 0) {
        jm_out_add(o, name);
        rest += n;
    } else {
        n = 0;
    }
    jm_out_style(o, JM_OUT_PLAIN);
    jm_out_wrap(o, rest, 2, (int)n);
}

static void wide(struct jm_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void wide(struct jm_out *o, const char *fmt, ...)
{
    struct jm_str s;
    va_list ap;
    jm_str_init(&s);
    va_start(ap, fmt);
    jm_str_addv(&s, fmt, ap);
    va_end(ap);
    size_t lead = strspn(s.buf, " ");
    jm_str_addf(o->s, "%.*s", (int)lead, s.buf);
    jm_out_wrap(o, s.buf + lead, 5, (int)lead);
    o->s->failed |= s.failed;
    jm_str_release(&s);
}

static void sides(struct jm_out *o, const struct jm_comparison *c)
{
    for (size_t i = 0; i < c->n_side; i++) {
        const struct jm_compare_side *s = &c->side[i];
        char more[120] = "";
        if (s->requests)
            snprintf(more, sizeof more, ", %llu requests%s", (unsigned long long)s->requests,
                     s->failed ? "" : ", none failed");
        if (s->failed)
            snprintf(more, sizeof more, ", %llu requests, %llu failed", (unsigned long long)s->requests,
                     (unsigned long long)s->failed);
        wide(o, "  %c  %s: %zu trial%s%s%s", (char)('A' + i), s->name, s->n_trial, s->n_trial == 1 ? "" : "s",
             more, s->simulated ? ", SIMULATED" : "");
    }
}

/* One pair on the scale: where 0 is, what was asked for, and the ratio. */
static void mark(char *line, int width, double at, double lo, double hi, char c)
{
    int i = (int)lround((at - lo) / (hi - lo) * (width - 1));
    if (i >= 0 && i < width)
        line[i] = c;
}

static void bar(struct jm_out *o, const struct jm_comparison *c, const struct jm_candidate *k, double a,
                double b, double at)
{
    enum { WIDTH = 33 };
    char line[WIDTH + 1];
    double lo, hi;
    jm_compare_scale(c, k, &lo, &hi);
    memset(line, ' ', WIDTH);
    line[WIDTH] = '\0';
    mark(line, WIDTH, 0, lo, hi, '|');
    if (c->decide.contract && c->decide.minimum > 0)
        mark(line, WIDTH, jm_compare_asked(c), lo, hi, ':');
    if (isfinite(a) && isfinite(b))
        for (int i = 0; i < WIDTH; i++) {
            double x = lo + (hi - lo) * i / (WIDTH - 1);
            if (x >= a && x <= b && line[i] == ' ')
                line[i] = '-';
        }
    mark(line, WIDTH, at, lo, hi, isfinite(a) ? 'O' : 'o');
    for (int i = 0; i < WIDTH; i++) {
        const char *u = line[i] == '|'   ? "│"
                        : line[i] == ':' ? "┊"
                        : line[i] == '-' ? "─"
                        : line[i] == 'O' ? "●"
                        : line[i] == 'o' ? "○"
                                         : " ";
        if (o->o->ascii)
            jm_str_addc(o->s, line[i]);
        else
            jm_str_adds(o->s, u);
    }
}

static void pairs(struct jm_out *o, const struct jm_comparison *c, const struct jm_candidate *k)
{
    char v[JM_FMT], title[120];
    const struct jm_decision *d = &k->decision;
    const struct jm_compare_side *a = &c->side[0], *b = &c->side[k->side];
    if (!k->n_pair)
        return;
    snprintf(title, sizeof title, "Pairs, J per %s at the %s boundary", c->unit_title,
             jm_boundary_name((int)c->boundary));
    jm_out_section(o, title);
    jm_out_style(o, JM_OUT_DIM);
    jm_out_cell(o, "", 4, false);
    jm_out_cell(o, "A", 11, true);
    jm_out_cell(o, (char[]){(char)('A' + k->side), 0}, 11, true);
    jm_out_cell(o, "change", 11, true);
    jm_out_add(o, "   less           no change           more");
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_addc(o->s, '\n');
    for (size_t i = 0; i < k->n_pair; i++) {
        if (i == 20 && k->n_pair > 24) {
            jm_str_addf(o->s, "     ... and %zu more\n", k->n_pair - 20);
            break;
        }
        snprintf(title, sizeof title, "%zu", i + 1);
        jm_out_cell(o, title, 4, true);
        jm_out_cell(o, jm_fmt_number(v, a->trial[k->pair[i].a].value), 11, true);
        jm_out_cell(o, jm_fmt_number(v, b->trial[k->pair[i].b].value), 11, true);
        jm_out_cell(o, jm_compare_change(v, exp(k->pair[i].d)), 11, true);
        jm_str_adds(o->s, "   ");
        bar(o, c, k, NAN, NAN, k->pair[i].d);
        while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
            o->s->buf[--o->s->len] = '\0';
        jm_str_addc(o->s, '\n');
    }
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_cell(o, "all", 26, false);
    jm_out_cell(o, jm_compare_change(v, d->ratio), 11, true);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_adds(o->s, "   ");
    bar(o, c, k, log1p(-fmin(d->hi, 0.999)), log1p(-fmin(d->lo, 0.999)), log(d->ratio));
    while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
        o->s->buf[--o->s->len] = '\0';
    jm_str_addc(o->s, '\n');
    if (d->n >= 2) {
        char range[200], p[40];
        snprintf(p, sizeof p, d->paired.p < 0.0001 ? "p < 0.0001" : "p = %.2g", d->paired.p);
        snprintf(range, sizeof range, "     %.3g %% interval of the saving %.2f to %.2f %%, %s",
                 100 * c->decide.level, 100 * d->lo, 100 * d->hi, p);
        jm_out_add(o, range);
        jm_str_addc(o->s, '\n');
    }
    if (d->floor_source)
        wide(o, "     detection floor %.2f %%, from %zu %s", 100 * d->floor.saving, d->floor.n,
             d->floor_source == JM_FLOOR_AA ? "pairs of A against A"
                                            : "repeats of A itself (--aa gives one that sees "
                                              "what changes between runs)");
    if (d->winner)
        wide(o, "     best of %zu: corrected for that %.2f %% (%.2f to %.2f %%)", d->corrected.k,
             100 * (1 - exp(-d->corrected.value)), 100 * (1 - exp(-d->corrected.interval.lo)),
             100 * (1 - exp(-d->corrected.interval.hi)));
    if (k->order && strlen(k->order) <= 60)
        wide(o, "     made in the order %s", k->order);
}

static void clauses(struct jm_out *o, const struct jm_comparison *c, const struct jm_candidate *k)
{
    static const char *const word[] = {"met", "open", "BROKEN"};
    static const enum jm_out_style_of style[] = {JM_OUT_GREEN, JM_OUT_YELLOW, JM_OUT_RED};
    if (!k->n_clause)
        return;
    jm_out_section(o, c->contract->name ? c->contract->name : "Contract");
    bool fits = true; /* a name that is cut could be another's too: then all of them stand in the text */
    for (size_t i = 0; i < k->n_clause; i++)
        fits &=
            !k->clause[i].slice || (size_t)jm_out_columns(k->clause[i].slice, strlen(k->clause[i].slice)) +
                                           strlen(k->clause[i].id) + 1 <=
                                       16;
    for (size_t i = 0; i < k->n_clause; i++) {
        const struct jm_clause *q = &k->clause[i];
        char name[80];
        jm_str_adds(o->s, "  ");
        jm_out_style(o, style[q->state]);
        jm_out_cell(o, word[q->state], 7, false);
        jm_out_style(o, JM_OUT_PLAIN);
        snprintf(name, sizeof name, "%s%s%.40s", q->id, q->slice ? " " : "", q->slice ? q->slice : "");
        jm_out_cell(o, fits ? name : q->id, 16, false);
        jm_str_addc(o->s, ' ');
        struct jm_str s;
        jm_str_init(&s);
        jm_str_addf(&s, "%s%s%s: %s", fits || !q->slice ? "" : q->slice, fits || !q->slice ? "" : " ",
                    q->asked, q->found);
        jm_out_wrap(o, s.buf, 26, 26);
        o->s->failed |= s.failed;
        jm_str_release(&s);
    }
}

void jm_compare_value(char buf[JM_FMT], double v, const char *unit)
{
    if (strchr(unit, '/')) /* the title says per what */
        jm_fmt_number(buf, v);
    else
        jm_fmt_value(buf, v, unit);
}

const char *jm_compare_title(char buf[JM_FMT], const struct jm_compare_metric *m)
{
    static const char *const title[][2] = {{"j_per.output_token", "J per output token"},
                                           {"j_per.qualified_token", "J per qualified token"},
                                           {"j_per.total_token", "J per token, in and out"},
                                           {"j_per.input_token", "J per input token"},
                                           {"j_per.input_token_uncached", "J per uncached input token"},
                                           {"j_per.visible_token", "J per visible token"},
                                           {"j_per.reasoning_token", "J per reasoning token"},
                                           {"j_per.request_ok", "J per successful request"},
                                           {"power.mean", "mean power"},
                                           {"tokens_per_s", "output tokens/s"},
                                           {"requests_per_s", "requests/s"},
                                           {"ttft", "TTFT"},
                                           {"tpot.excl_first", "TPOT"},
                                           {"e2e", "E2E"}};
    char q[JM_FMT];
    const char *name = m->id;
    for (size_t i = 0; i < sizeof title / sizeof title[0]; i++)
        if (strcmp(title[i][0], m->id) == 0)
            name = title[i][1];
    snprintf(buf, JM_FMT, "%s%s%s", m->slice ? "slice " : name,
             m->slice             ? m->slice
             : isnan(m->quantile) ? ""
                                  : ", ",
             m->slice || isnan(m->quantile) ? "" : jm_fmt_quantile(q, m->quantile));
    return buf;
}

static void metrics(struct jm_out *o, const struct jm_comparison *c, const struct jm_candidate *k)
{
    char v[JM_FMT];
    if (k->n_metric < 2)
        return;
    jm_out_section(o, "Beside it");
    for (size_t i = 0; i < k->n_metric; i++) {
        const struct jm_compare_metric *m = &k->metric[i];
        if (!m->slice && strcmp(m->id, c->unit) == 0)
            continue;
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, jm_compare_title(v, m), 27, false);
        jm_compare_value(v, m->a, m->unit);
        jm_out_cell(o, v, 12, true);
        jm_compare_value(v, m->b, m->unit);
        jm_out_cell(o, v, 12, true);
        jm_out_cell(o, jm_compare_change(v, m->ratio), 12, true);
        if (isfinite(m->lo)) {
            double half = 50 * (m->hi - m->lo);
            snprintf(v, sizeof v, half < 100 ? "  ± %.2f" : "  ± %.0f", half);
            jm_out_add(o, v);
        }
        jm_str_addc(o->s, '\n');
    }
}

static void one_fact(struct jm_out *o, const struct jm_comparison *c, const struct jm_compare_fact *f)
{
    struct jm_str s;
    static const enum jm_out_style_of style[] = {
        [JM_CF_SAME] = JM_OUT_PLAIN,     [JM_CF_UNKNOWN] = JM_OUT_DIM, [JM_CF_PARTLY] = JM_OUT_YELLOW,
        [JM_CF_DECLARED] = JM_OUT_GREEN, [JM_CF_IDLE] = JM_OUT_YELLOW, [JM_CF_NAMED] = JM_OUT_PLAIN,
        [JM_CF_DIFFERS] = JM_OUT_RED,    [JM_CF_NEVER] = JM_OUT_RED};
    jm_str_adds(o->s, "  ");
    jm_out_style(o, style[f->state]);
    jm_out_cell(o, jm_compare_state_name((int)f->state), 16, false);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_addc(o->s, ' ');
    jm_out_cell(o, f->id, 21, false);
    jm_str_addc(o->s, ' ');
    jm_str_init(&s);
    bool same = f->state == JM_CF_SAME || f->state == JM_CF_IDLE;
    for (size_t i = 0; i < (same ? 1 : c->n_side); i++)
        jm_str_addf(&s, "%s%s%.200s", i ? " → " : "", "", f->value[i] ? f->value[i] : "not known");
    jm_out_wrap(o, s.buf, 41, 41);
    o->s->failed |= s.failed;
    jm_str_release(&s);
}

static void facts(struct jm_out *o, const struct jm_comparison *c)
{
    struct jm_str unknown;
    size_t same = 0, told = 0;
    if (!c->n_fact)
        return;
    jm_str_init(&unknown);
    jm_out_section(o, "Comparability");
    for (size_t i = 0; i < c->n_fact; i++) {
        const struct jm_compare_fact *f = &c->fact[i];
        same += f->state == JM_CF_SAME;
        if (f->state == JM_CF_UNKNOWN)
            jm_str_addf(&unknown, "%s%s", unknown.len ? ", " : "", f->id);
        if (!jm_compare_telling(f) && !(o->o->all && f->state == JM_CF_SAME))
            continue;
        told++;
        one_fact(o, c, f);
    }
    wide(o, "  %zu of %zu facts agree%s%s", same, c->n_fact, told || o->o->all ? "" : ", and none differs",
         o->o->all ? "" : "; --all lists them");
    if (unknown.len)
        wide(o, "  not known on any side: %s", unknown.buf);
    o->s->failed |= unknown.failed;
    jm_str_release(&unknown);
}

static void notes(struct jm_out *o, const struct jm_candidate *k)
{
    if (!k->n_note)
        return;
    jm_out_section(o, "Notes");
    for (int warning = 1; warning >= 0; warning--)
        for (size_t i = 0; i < k->n_note; i++) {
            if (k->note[i].warning != (warning == 1))
                continue;
            jm_str_adds(o->s, "  ");
            jm_out_style(o, warning ? JM_OUT_YELLOW : JM_OUT_DIM);
            jm_out_add(o, warning ? "! " : "- ");
            jm_out_style(o, JM_OUT_PLAIN);
            jm_out_wrap(o, k->note[i].text, 4, 4);
        }
}

int jm_compare_text(const struct jm_comparison *c, const struct jm_show_opts *show, struct jm_str *s,
                    struct jm_err *err)
{
    struct jm_out o = {s, NULL, show, show->width > 100 ? 100 : show->width < 60 ? 60 : show->width};
    const struct jm_candidate *best = &c->candidate[c->best];
    sentence(&o, best);
    if (c->simulated) {
        jm_out_style(&o, JM_OUT_YELLOW);
        jm_out_wrap(&o,
                    "SIMULATED: what was measured is a simulation, and decides nothing about real devices.",
                    2, 0);
        jm_out_style(&o, JM_OUT_PLAIN);
    }
    jm_str_addc(s, '\n');
    sides(&o, c);
    if (c->n_candidate > 1) {
        jm_out_section(&o, "Candidates");
        for (size_t i = 0; i < c->n_candidate; i++) {
            jm_str_adds(s, "  ");
            jm_out_wrap(&o, c->candidate[i].sentence, 4, 2);
        }
    }
    pairs(&o, c, best);
    clauses(&o, c, best);
    metrics(&o, c, best);
    facts(&o, c);
    notes(&o, best);
    return jm_str_ok(s, "the comparison", err);
}
