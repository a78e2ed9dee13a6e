/* SPDX-License-Identifier: Apache-2.0 */
#include "show/ladder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/formats.h"
#include "show/svg.h"

#include "base/banned.h"

enum column {
    C_LEVEL,
    C_OFFERED,
    C_ANSWERED,
    C_POWER,
    C_JOULES,
    C_HALF,
    C_CONTRACT,
    C_TTFT,
    C_TPOT,
    C_COUNT
};
enum { LINE = 700, LINES = 8 };

static bool shown(const struct jm_result *x)
{
    return x->metric && x->q.have && isfinite(x->q.value);
}

static const char *title(const struct jm_ladder *l, enum column c)
{
    static const char *const titles[C_COUNT] = {"load", "req/s",  "answered", "W",       "",
                                                "±",    "in SLO", "ttft p99", "tpot p99"};
    return c == C_JOULES ? (l->contract ? "J/qual.tok" : "J/token") : titles[c];
}

static bool used(const struct jm_ladder *l, enum column c)
{
    return c != C_CONTRACT || l->contract;
}

static void number(char out[JM_FMT], const struct jm_result *x)
{
    if (shown(x))
        jm_fmt_number(out, x->q.value);
    else
        snprintf(out, JM_FMT, "–");
}

static void latency(char out[JM_FMT], const struct jm_result *x)
{
    if (shown(x))
        jm_fmt_value(out, x->q.value, "s");
    else
        snprintf(out, JM_FMT, "–");
}

/* A number that is not valid is marked, and the reasons stand below the table. */
static void cells(const struct jm_ladder *l, size_t i, char cell[C_COUNT][JM_FMT])
{
    const struct jm_ladder_level *x = &l->level[i];
    const struct jm_result *j = &x->x[l->contract ? JM_LF_QUALIFIED : JM_LF_OUTPUT];
    bool idle = x->percent == 0;
    char bare[JM_FMT];
    for (int c = 0; c < C_COUNT; c++)
        cell[c][0] = '\0';
    snprintf(cell[C_LEVEL], JM_FMT, idle ? "idle" : "%.4g %%", x->percent);
    number(cell[C_POWER], &x->x[JM_LF_POWER]);
    if (idle)
        return;
    jm_fmt_number(cell[C_OFFERED], x->offered);
    number(cell[C_ANSWERED], &x->x[JM_LF_RATE]);
    number(bare, j);
    snprintf(cell[C_JOULES], JM_FMT, "%.50s%s", bare, shown(j) && j->q.validity == JM_V_INVALID ? " !" : "");
    double half = (j->q.u.hi - j->q.u.lo) / 2;
    if (shown(j) && j->q.u.method && isfinite(half) &&
        j->q.value != 0) /* a share in every row: levels are compared */
        snprintf(cell[C_HALF], JM_FMT, "%.2g %%", 100 * half / fabs(j->q.value));
    if (shown(&x->x[JM_LF_ATTAINMENT]))
        snprintf(cell[C_CONTRACT], JM_FMT, "%.4g %%", 100 * x->x[JM_LF_ATTAINMENT].q.value);
    latency(cell[C_TTFT], &x->x[JM_LF_TTFT]);
    latency(cell[C_TPOT], &x->x[JM_LF_TPOT]);
}

/* --- what is said in sentences, the same in every format */
static size_t day_lines(const struct jm_ladder *l, char line[][LINE], size_t n)
{
    const struct jm_ladder_day *d = &l->day;
    char a[JM_FMT], b[JM_FMT], pm[JM_FMT];
    const struct jm_result *j = shown(&d->qualified) ? &d->qualified : &d->output;
    if (!d->file)
        return n;
    if (shown(&d->energy)) {
        int k = snprintf(line[n], LINE, "A day of %.60s (ESTIMATE): %s %s", d->file,
                         jm_fmt_value(a, d->energy.q.value, "kWh"), jm_fmt_pm(pm, &d->energy.q));
        if (shown(j))
            snprintf(line[n] + k, LINE - (size_t)k, ", %s %s (%s tokens)",
                     jm_fmt_value(b, j->q.value, j->q.unit), jm_fmt_pm(pm, &j->q),
                     j == &d->qualified ? "qualified" : "output");
        n++;
    } else if (d->beyond) {
        snprintf(
            line[n++], LINE,
            "A day of %.60s: no figure, because the load of %zu of %zu steps (%.4g to %.4g %% of the "
            "capacity) is outside of the measured levels (%.4g to %.4g %%), and nothing is continued beyond "
            "them",
            d->file, d->beyond, d->steps, d->beyond_least, d->beyond_most, l->level[l->n - 1].percent,
            l->level[0].percent);
        return n;
    } else {
        snprintf(line[n++], LINE, "A day of %.60s: no figure: %s", d->file,
                 d->energy.q.reasons ? d->energy.q.reasons : "not known");
        return n;
    }
    int k = snprintf(line[n], LINE, "%zu steps over %.4g h: %zu at a measured level, %zu interpolated",
                     d->steps, d->hours, d->at_level, d->between);
    if (isfinite(d->missed) && k > 0 && k < LINE)
        snprintf(line[n] + k, LINE - (size_t)k,
                 " (each inner level left out and interpolated misses its power by %.2g %% at most)",
                 100 * d->missed);
    return n + 1;
}

static size_t lines(const struct jm_report *r, char line[LINES][LINE])
{
    const struct jm_ladder *l = r->ladder;
    const struct jm_result *all = l->contract && shown(&l->overall_q) ? &l->overall_q : &l->overall;
    size_t n = 0;
    char a[JM_FMT], pm[JM_FMT];
    int most = 1;
    for (size_t i = 0; i < l->n; i++)
        most = l->level[i].windows > most ? l->level[i].windows : most;
    int k = 0;
    if (isfinite(l->capacity))
        k = snprintf(line[n], LINE, "Capacity: %s requests/s (%.100s). ", jm_fmt_number(a, l->capacity),
                     l->by ? l->by : "not said how it was found");
    k += snprintf(line[n] + k, LINE - (size_t)k,
                  l->set ? "Energy at the boundary %.200s" : "No power is known", l->set);
    if (most > 1)
        snprintf(line[n] + k, LINE - (size_t)k, "; mean of %d trials, t interval", most);
    n++;
    if (shown(all)) {
        bool part = false;
        for (size_t i = 0; i < r->n_findings; i++)
            part |= strcmp(r->findings[i].id, "ladder.incomplete") == 0;
        k = snprintf(line[n], LINE, "%s together: %s %s %stokens/J (sum of tokens/s over sum of W)",
                     part ? "Those levels alone that are there" : "All levels",
                     jm_fmt_number(a, all->q.value), jm_fmt_pm(pm, &all->q),
                     all == &l->overall_q ? "qualified " : "");
        if (isfinite(l->idle_share))
            snprintf(line[n] + k, LINE - (size_t)k,
                     "; loaded idle draws %.3g %% of the highest level's power", 100 * l->idle_share);
        n++;
    }
    for (size_t i = 0; i < l->n; i++)
        if (l->level[i].x[l->contract ? JM_LF_QUALIFIED : JM_LF_OUTPUT].q.have &&
            l->level[i].x[l->contract ? JM_LF_QUALIFIED : JM_LF_OUTPUT].q.validity == JM_V_INVALID) {
            const char *why = l->level[i].x[l->contract ? JM_LF_QUALIFIED : JM_LF_OUTPUT].q.reasons;
            snprintf(line[n++], LINE, "! INVALID: %.300s", why ? why : "not known");
            break;
        }
    return day_lines(l, line, n);
}

/* --- text */
void jm_show_ladder_text(struct jm_out *o)
{
    static const int width[C_COUNT] = {7, 8, 9, 8, 12, 9, 8, 9, 9};
    const struct jm_ladder *l = o->r->ladder;
    char cell[C_COUNT][JM_FMT], line[LINES][LINE];
    if (!l)
        return;
    jm_out_section(o, "Load ladder");
    size_t n = lines(o->r, line);
    jm_str_adds(o->s, "  ");
    jm_out_style(o, JM_OUT_DIM);
    jm_out_wrap(o, line[0], 2, 2);
    jm_str_adds(o->s, " ");
    for (int c = 0; c < C_COUNT; c++)
        if (used(l, (enum column)c))
            jm_out_cell(o, title(l, (enum column)c), width[c], true);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_addc(o->s, '\n');
    for (size_t i = 0; i < l->n; i++) {
        cells(l, i, cell);
        jm_str_adds(o->s, " ");
        for (int c = 0; c < C_COUNT; c++)
            if (used(l, (enum column)c))
                jm_out_cell(o, cell[c], width[c], true);
        while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
            o->s->buf[--o->s->len] = '\0';
        jm_str_addc(o->s, '\n');
    }
    for (size_t i = 1; i < n; i++) {
        jm_str_adds(o->s, "  ");
        jm_out_wrap(o, line[i], 4, 2);
    }
}

/* --- Markdown and HTML */
void jm_show_ladder_markdown(const struct jm_report *r, struct jm_str *s)
{
    const struct jm_ladder *l = r->ladder;
    char cell[C_COUNT][JM_FMT], line[LINES][LINE];
    if (!l)
        return;
    jm_str_adds(s, "\n");
    for (int c = 0; c < C_COUNT; c++)
        if (used(l, (enum column)c))
            jm_str_addf(s, "| %s ", title(l, (enum column)c));
    jm_str_adds(s, "|\n");
    for (int c = 0; c < C_COUNT; c++)
        if (used(l, (enum column)c))
            jm_str_adds(s, c ? "|---:" : "|---");
    jm_str_adds(s, "|\n");
    for (size_t i = 0; i < l->n; i++) {
        cells(l, i, cell);
        for (int c = 0; c < C_COUNT; c++)
            if (used(l, (enum column)c)) {
                jm_str_adds(s, "| ");
                jm_markdown_escape(s, cell[c]);
                jm_str_addc(s, ' ');
            }
        jm_str_adds(s, "|\n");
    }
    for (size_t i = 0, n = lines(r, line); i < n; i++) {
        jm_str_addc(s, '\n');
        jm_markdown_escape(s, line[i]);
        jm_str_addc(s, '\n');
    }
}

void jm_show_ladder_html(const struct jm_report *r, struct jm_str *s)
{
    const struct jm_ladder *l = r->ladder;
    char cell[C_COUNT][JM_FMT], line[LINES][LINE];
    if (!l)
        return;
    jm_str_adds(s, "<section><h2>Load ladder</h2><div class='scroll'><table id='ladder'><thead><tr>");
    for (int c = 0; c < C_COUNT; c++)
        if (used(l, (enum column)c))
            jm_str_addf(s, "<th scope='col'%s>%s</th>", c ? " class='n'" : "", title(l, (enum column)c));
    jm_str_adds(s, "</tr></thead><tbody>");
    for (size_t i = 0; i < l->n; i++) {
        cells(l, i, cell);
        jm_str_adds(s, "<tr>");
        for (int c = 0; c < C_COUNT; c++) {
            if (!used(l, (enum column)c))
                continue;
            jm_str_adds(s, c ? "<td class='n'>" : "<th scope='row'>");
            jm_svg_escape(s, cell[c]);
            jm_str_adds(s, c ? "</td>" : "</th>");
        }
        jm_str_adds(s, "</tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
    for (size_t i = 0, n = lines(r, line); i < n; i++) {
        jm_str_adds(s, "<p class='dim'>");
        jm_svg_escape(s, line[i]);
        jm_str_adds(s, "</p>");
    }
    jm_str_adds(s, "</section>");
}

/* --- JSON */
static void result(struct jm_jsonw *w, const struct jm_report *r, const struct jm_result *x)
{
    if (x->metric)
        jm_show_json_result(w, r, x, NULL);
}

static void day(struct jm_jsonw *w, const struct jm_report *r)
{
    const struct jm_ladder_day *d = &r->ladder->day;
    if (!d->file)
        return;
    jm_jsonw_key(w, "diurnal");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "file", d->file);
    jm_jsonw_kstr(w, "load", d->share ? "share of the capacity" : "requests/s");
    jm_jsonw_knum(w, "hours", d->hours);
    jm_jsonw_ki64(w, "steps", (int64_t)d->steps);
    jm_jsonw_ki64(w, "at_level", (int64_t)d->at_level);
    jm_jsonw_ki64(w, "interpolated", (int64_t)d->between);
    jm_jsonw_ki64(w, "refused", (int64_t)d->beyond);
    if (d->beyond) {
        jm_jsonw_knum(w, "refused_least_percent", d->beyond_least);
        jm_jsonw_knum(w, "refused_most_percent", d->beyond_most);
    }
    if (isfinite(d->missed))
        jm_jsonw_knum(w, "left_out_error", d->missed);
    jm_jsonw_key(w, "results");
    jm_jsonw_array(w);
    result(w, r, &d->energy);
    result(w, r, &d->output);
    result(w, r, &d->qualified);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

void jm_show_ladder_json(struct jm_jsonw *w, const struct jm_report *r)
{
    const struct jm_ladder *l = r->ladder;
    if (!l)
        return;
    jm_jsonw_key(w, "ladder");
    jm_jsonw_object(w);
    jm_jsonw_knum(w, "capacity", l->capacity);
    jm_jsonw_kstr(w, "unit", "requests/s");
    jm_show_json_text(w, "by", l->by);
    jm_jsonw_kstr(w, "boundary", l->set ? jm_boundary_name((int)l->boundary) : NULL);
    if (isfinite(l->idle_share))
        jm_jsonw_knum(w, "idle_share", l->idle_share);
    jm_jsonw_key(w, "levels");
    jm_jsonw_array(w);
    for (size_t i = 0; i < l->n; i++) {
        const struct jm_ladder_level *x = &l->level[i];
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "percent", x->percent);
        jm_jsonw_knum(w, "offered", x->offered);
        jm_jsonw_ki64(w, "windows", x->windows);
        jm_jsonw_key(w, "results");
        jm_jsonw_array(w);
        for (int f = 0; f < JM_LF_COUNT; f++)
            result(w, r, &x->x[f]);
        jm_jsonw_end(w);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "overall");
    jm_jsonw_array(w);
    result(w, r, &l->overall);
    result(w, r, &l->overall_q);
    jm_jsonw_end(w);
    day(w, r);
    jm_jsonw_end(w);
}
