/* SPDX-License-Identifier: Apache-2.0 */
#include "show/reconcile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"

#include "base/banned.h"

#define WINDOWS_SHOWN 4
#define ROWS_SHOWN    64

static const struct jm_domain *domain(const struct jm_report *r, const struct jm_reconcile_row *x)
{
    return &r->tree->d[x->domain];
}

/* "inlet_ac host1", "gpu GPU 0": the kind, and the label where it says more. */
static void name_of(const struct jm_report *r, const struct jm_reconcile_row *x, char *out, size_t n)
{
    const struct jm_domain *d = domain(r, x);
    snprintf(out, n, "%*s%s %s", 2 * (x->depth > 6 ? 6 : x->depth), "", jm_domain_kind_name((int)d->kind),
             d->label);
}

static const char *half(char buf[JM_FMT], const struct jm_reconcile_row *x)
{
    struct jm_quantity q = {.have = isfinite(x->lo),
                            .value = x->joules,
                            .unit = "J",
                            .u = {.lo = x->lo, .hi = x->hi, .level = 0.95, .method = "interval"}};
    buf[0] = '\0';
    return isfinite(x->lo) ? jm_fmt_pm(buf, &q) : "";
}

/* "inlet_ac -> node: 94.1 %", what was left over, other instruments: lines below a row. */
static void left_over(const struct jm_reconcile_row *x, char *line, size_t n)
{
    char v[JM_FMT], lo[JM_FMT];
    line[0] = '\0';
    if (!isfinite(x->unexplained))
        return;
    double share = x->joules > 0 ? x->unexplained / x->joules : NAN;
    snprintf(line, n, "holds %zu measured part%s, %s; unexplained %s%s", x->n_contains,
             x->n_contains == 1 ? "" : "s", jm_fmt_value(v, x->contained, "J"), x->unexplained < 0 ? "" : "+",
             jm_fmt_value(lo, x->unexplained, "J"));
    if (fabs(share) < 10) /* beyond, the one is no measure of the other */
        snprintf(line + strlen(line), n - strlen(line), " (%.1f %%)", 100 * share);
}

static void supplies(const struct jm_reconcile_row *x, char *line, size_t n)
{
    line[0] = '\0';
    if (isfinite(x->efficiency) && x->efficiency < 10) /* else another unit: a finding says so */
        snprintf(line, n, "output over input of the supplies: %.1f %% (± %.1f)%s", 100 * x->efficiency,
                 100 * x->efficiency_half,
                 x->efficiency - x->efficiency_half > 1 ? ", which no supply gives" : "");
}

static void beside(const struct jm_reconcile_row *x, const struct jm_reconcile_other *o, char *line, size_t n)
{
    char v[JM_FMT], b[JM_FMT];
    if (o->comparable)
        snprintf(line, n, "%s: %s, %+.2f %%, %s the bound of %s", o->instrument,
                 jm_fmt_value(v, o->joules, "J"), 100 * o->difference / x->joules,
                 o->agree ? "inside" : "BEYOND", jm_fmt_value(b, o->bound, "J"));
    else
        snprintf(line, n, "%s: no value", o->instrument);
}

static void more(struct jm_out *o, int indent, const char *line, bool bad)
{
    if (!line[0])
        return;
    for (int i = 0; i < indent; i++)
        jm_str_addc(o->s, ' ');
    jm_out_style(o, bad ? JM_OUT_YELLOW : JM_OUT_DIM);
    jm_out_wrap(o, line, indent + 2, indent);
    jm_out_style(o, JM_OUT_PLAIN);
}

static void trim_line(struct jm_out *o)
{
    while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
        o->s->buf[--o->s->len] = '\0';
    jm_str_addc(o->s, '\n');
}

static void text_row(struct jm_out *o, const struct jm_reconcile_row *x)
{
    char name[240], v[JM_FMT], pm[JM_FMT], line[700];
    double seconds = jm_fmt_seconds(o->r->windows[x->window].t1, o->r->windows[x->window].t0);
    int wide = o->width - 2 - 13 - 14 - 11 - 1, indent = 4 + 2 * (x->depth > 6 ? 6 : x->depth);
    name_of(o->r, x, name, sizeof name);
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, name, wide, false);
    jm_str_addc(o->s, ' ');
    if (x->status == JM_S_OK) {
        jm_out_cell(o, jm_fmt_value(v, x->joules, "J"), 13, true);
        snprintf(line, sizeof line, " %s", half(pm, x));
        jm_out_cell(o, line, 14, false);
        jm_out_cell(o, jm_fmt_value(v, x->joules / seconds, "W"), 11, true);
    } else {
        jm_out_cell(o, "–", 13, true);
        snprintf(line, sizeof line, " %s", jm_status_name((int)x->status));
        jm_out_cell(o, line, 25, false);
    }
    trim_line(o);
    snprintf(line, sizeof line, "by %s%s", x->instrument,
             x->provenance == JM_P_MEASURED ? "" : jm_provenance_name((int)x->provenance));
    if (x->provenance != JM_P_MEASURED)
        snprintf(line, sizeof line, "by %s; %s", x->instrument, jm_provenance_name((int)x->provenance));
    if (x->status == JM_S_OK && isfinite(x->lo) && !x->gain_known) {
        size_t n = strlen(line);
        snprintf(line + n, sizeof line - n, "; gain unknown, not in the ±");
    }
    more(o, indent, line, false);
    left_over(x, line, sizeof line);
    more(o, indent, line, x->unexplained < -x->bound);
    supplies(x, line, sizeof line);
    more(o, indent, line, false);
    for (size_t i = 0; i < x->n_others; i++) {
        snprintf(line, sizeof line, "beside it ");
        beside(x, &x->others[i], line + strlen(line), sizeof line - strlen(line));
        more(o, indent, line, x->others[i].comparable && !x->others[i].agree);
    }
}

void jm_reconcile_text(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    int last = -1, shown = 0, rows = 0;
    size_t left = 0;
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        if (x->window != last) {
            char title[160];
            last = x->window;
            rows = 0;
            if (++shown <= WINDOWS_SHOWN || o->o->all) {
                snprintf(title, sizeof title, "From the wall to the GPU, %s", r->windows[last].name);
                jm_out_section(o, title);
            }
        }
        if (!o->o->all && (shown > WINDOWS_SHOWN || rows >= ROWS_SHOWN))
            left++;
        else
            text_row(o, x);
        rows++;
    }
    if (left)
        jm_str_addf(o->s, "\n  and %zu more rows: --all or --json has them\n", left);
    if (!r->n_reconcile) {
        jm_out_section(o, "From the wall to the GPU");
        jm_str_adds(o->s, "  no instrument gave an energy in any window\n");
    }
}

static void esc(struct jm_str *s, const char *t)
{
    for (struct jm_span one; (t = jm_fmt_next(t, &one));)
        if (one.n == 1 &&
            (*one.p == '<' || *one.p == '>' || *one.p == '&' || *one.p == '"' || *one.p == '\''))
            jm_str_addf(s, "&#%d;", *one.p);
        else
            jm_str_addspan(s, one);
}

void jm_reconcile_html(const struct jm_report *r, struct jm_str *s)
{
    char v[JM_FMT], pm[JM_FMT], line[700];
    int last = -1, shown = 0;
    if (!r->n_reconcile)
        return;
    jm_str_adds(s, "<section id='reconcile'><h2>From the wall to the GPU</h2><p class='dim'>What each "
                   "instrument saw, what is measured inside it and what is left. Alternatives are compared, "
                   "never added.</p><div class='scroll'><table><thead><tr><th scope='col'>domain</th><th "
                   "scope='col'>instrument</th><th scope='col' class='n'>energy</th><th scope='col' "
                   "class='n'>± 95 %</th><th scope='col' class='n'>mean power</th><th scope='col' "
                   "class='n'>unexplained</th><th scope='col'>beside it</th></tr></thead><tbody>");
    for (size_t i = 0; i < r->n_reconcile && shown <= WINDOWS_SHOWN; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        const struct jm_window *w = &r->windows[x->window];
        if (x->window != last) {
            last = x->window;
            if (++shown > WINDOWS_SHOWN)
                break;
            jm_str_adds(s, "<tr><th colspan='7' scope='colgroup'>");
            esc(s, w->name);
            jm_str_adds(s, "</th></tr>");
        }
        jm_str_addf(s, "<tr><td style='padding-left:%dem'>", 1 + (x->depth > 6 ? 6 : x->depth));
        jm_str_addf(s, "<span class='dim'>%s</span> ", jm_domain_kind_name((int)domain(r, x)->kind));
        esc(s, domain(r, x)->label);
        jm_str_adds(s, "</td><td>");
        esc(s, x->instrument);
        if (x->status != JM_S_OK)
            jm_str_addf(s, "</td><td class='n'>–</td><td class='error' colspan='4'>%s</td></tr>",
                        jm_status_name((int)x->status));
        else {
            jm_str_addf(s, "</td><td class='n'>%s</td><td class='n'>%s</td>", jm_fmt_value(v, x->joules, "J"),
                        half(pm, x));
            jm_str_addf(s, "<td class='n'>%s</td><td class='n%s'>",
                        jm_fmt_value(v, x->joules / jm_fmt_seconds(w->t1, w->t0), "W"),
                        x->unexplained < -x->bound ? " error" : "");
            if (isfinite(x->unexplained))
                jm_str_addf(s, "%s<br><span class='dim'>%.1f %%</span>", jm_fmt_value(v, x->unexplained, "J"),
                            100 * x->unexplained / x->joules);
            jm_str_adds(s, "</td><td>");
            supplies(x, line, sizeof line);
            esc(s, line);
            for (size_t k = 0; k < x->n_others; k++) {
                bool off = x->others[k].comparable && !x->others[k].agree;
                beside(x, &x->others[k], line, sizeof line);
                jm_str_adds(s, k || isfinite(x->efficiency) ? "<br>" : "");
                jm_str_adds(s, off ? "<span class='error'>" : "");
                esc(s, line);
                jm_str_adds(s, off ? "</span>" : "");
            }
            jm_str_adds(s, "</td></tr>");
        }
    }
    jm_str_adds(s, "</tbody></table></div></section>");
}

static void json_others(struct jm_jsonw *w, const struct jm_reconcile_row *x)
{
    jm_jsonw_key(w, "beside");
    jm_jsonw_array(w);
    for (size_t i = 0; i < x->n_others; i++) {
        const struct jm_reconcile_other *o = &x->others[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "instrument", o->instrument);
        jm_jsonw_knum(w, "joules", o->joules);
        jm_jsonw_knum(w, "difference", o->difference);
        jm_jsonw_knum(w, "bound", o->bound);
        if (o->comparable)
            jm_jsonw_kbool(w, "agree", o->agree);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void json_row(struct jm_jsonw *w, const struct jm_report *r, const struct jm_reconcile_row *x)
{
    const struct jm_domain *d = domain(r, x);
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "window", r->windows[x->window].name);
    jm_jsonw_kstr(w, "domain", jm_domain_kind_name((int)d->kind));
    jm_jsonw_kstr(w, "label", d->label);
    jm_jsonw_ki64(w, "depth", x->depth);
    jm_jsonw_kstr(w, "instrument", x->instrument);
    if (x->parts) {
        jm_jsonw_ki64(w, "of", x->parts);
        jm_jsonw_ki64(w, "have", x->said);
    }
    jm_jsonw_kbool(w, "sum", x->summed);
    jm_jsonw_kstr(w, "status", jm_status_name((int)x->status));
    jm_jsonw_kstr(w, "provenance", jm_provenance_name((int)x->provenance));
    jm_jsonw_knum(w, "joules", x->joules);
    if (isfinite(x->lo)) {
        jm_jsonw_key(w, "interval");
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "lo", x->lo);
        jm_jsonw_knum(w, "hi", x->hi);
        jm_jsonw_kbool(w, "gain", x->gain_known);
        jm_jsonw_end(w);
    }
    jm_jsonw_key(w, "contains");
    jm_jsonw_array(w);
    for (size_t i = 0; i < x->n_contains; i++) {
        const struct jm_domain *k = &r->tree->d[x->contains[i].domain];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "domain", jm_domain_kind_name((int)k->kind));
        jm_jsonw_kstr(w, "label", k->label);
        jm_jsonw_knum(w, "joules", x->contains[i].joules);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "unexplained");
    if (!isfinite(x->unexplained))
        jm_jsonw_null(w);
    else {
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "joules", x->unexplained);
        jm_jsonw_knum(w, "lo", x->unexplained_lo);
        jm_jsonw_knum(w, "hi", x->unexplained_hi);
        jm_jsonw_knum(w, "bound", x->bound);
        jm_jsonw_end(w);
    }
    if (isfinite(x->efficiency)) {
        jm_jsonw_key(w, "efficiency");
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "value", x->efficiency);
        jm_jsonw_knum(w, "lo", x->efficiency - x->efficiency_half);
        jm_jsonw_knum(w, "hi", x->efficiency + x->efficiency_half);
        jm_jsonw_end(w);
    }
    json_others(w, x);
    jm_jsonw_end(w);
}

void jm_reconcile_json(struct jm_jsonw *w, const struct jm_report *r)
{
    jm_jsonw_key(w, "reconcile");
    jm_jsonw_object(w);
    jm_jsonw_key(w, "rows");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_reconcile; i++)
        json_row(w, r, &r->reconcile[i]);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}
