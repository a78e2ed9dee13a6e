/* SPDX-License-Identifier: Apache-2.0 */
#include "show/impact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

int jm_impact_window(const struct jm_report *r)
{
    int first = -2;
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_result *x = &r->impacts[i].x;
        if (x->window < 0)
            return -1;
        if (first == -2)
            first = x->window;
    }
    return first;
}

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), m = strlen(with);
    return n >= m && strcmp(s + n - m, with) == 0;
}

static const struct jm_impact *find(const struct jm_report *r, int factor, int window, const char *per)
{
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_impact *m = &r->impacts[i];
        if (m->factor == factor && m->x.window == window && ends(m->x.metric, per) &&
            strncmp(m->x.metric, "sci", 3) != 0)
            return m;
    }
    return NULL;
}

static bool same(const char *a, const char *b)
{
    return jm_factor_same_zone(a, b);
}

bool jm_impact_zone(const struct jm_report *r, size_t want, int window, struct jm_impact_zone *z)
{
    size_t at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->n_factors; i++) {
            const struct jm_factor *f = &r->factors[i], *price = NULL;
            int p = -1;
            bool paired = false;
            if (f->what != (pass ? JM_FACTOR_PRICE : JM_FACTOR_CARBON))
                continue;
            for (size_t k = 0; k < r->n_factors; k++) {
                const struct jm_factor *g = &r->factors[k];
                if (k == i || !same(g->zone, f->zone))
                    continue;
                paired |= pass && g->what == JM_FACTOR_CARBON;
                if (!pass && g->what == JM_FACTOR_PRICE && (p < 0 || strcmp(g->zone, f->zone) == 0)) {
                    p = (int)k;
                    price = g;
                }
            }
            if (paired || at++ < want)
                continue;
            *z = (struct jm_impact_zone){
                .zone = f->zone, .name = f->name, .price_mean = NAN, .carbon_mean = NAN};
            z->carbon = pass ? NULL : f;
            z->price = pass ? f : price;
            if (pass)
                p = (int)i;
            if (p >= 0) {
                z->cost_mtok = find(r, p, window, ".per_mtok");
                z->cost_request = find(r, p, window, ".per_request");
                z->price_mean = z->cost_mtok ? z->cost_mtok->mean : z->price->constant;
            }
            if (!pass) {
                z->carbon_mtok = find(r, (int)i, window, ".per_mtok");
                z->carbon_request = find(r, (int)i, window, ".per_request");
                z->carbon_mean = z->carbon_mtok ? z->carbon_mtok->mean : f->constant;
            }
            return true;
        }
    return false;
}

/* --- text */

static const char *cell(char buf[JM_FMT], const struct jm_impact *m)
{
    if (!m || !m->x.q.have || m->x.q.validity == JM_V_INVALID)
        return "–";
    return jm_fmt_number(buf, m->x.q.value);
}

static const char *number(char buf[JM_FMT], double v)
{
    return isfinite(v) ? jm_fmt_number(buf, v) : "–";
}

const char *jm_impact_kind(const struct jm_factor *f)
{
    return !f                                ? ""
           : f->marginal                     ? "marginal"
           : f->basis == JM_FACTOR_CONTRACT  ? "contract"
           : f->basis == JM_FACTOR_RESIDUAL  ? "residual mix"
           : f->kind == JM_FACTOR_LIFECYCLE  ? "life-cycle"
           : f->kind == JM_FACTOR_GENERATION ? "generation"
                                             : "not stated";
}

static void on_line(void *self, const char *text, bool aside)
{
    struct jm_out *o = self;
    jm_str_adds(o->s, "  ");
    if (aside)
        jm_out_style(o, JM_OUT_DIM);
    jm_out_wrap(o, text, 4, 2);
    if (aside)
        jm_out_style(o, JM_OUT_PLAIN);
}

static void table(struct jm_out *o, int window)
{
    const struct jm_report *r = o->r;
    struct jm_impact_zone z;
    char b[JM_FMT], title[32];
    static const int w[] = {12, 9, 11, 11, 9, 12, 12};
    const char *head[] = {"zone", "/kWh", "/Mtok", "g/kWh", "kind", "g/Mtok", "g/request"};
    const char *cur = NULL;
    bool mixed = false;
    for (size_t i = 0; jm_impact_zone(r, i, window, &z); i++)
        if (z.price) {
            mixed |= cur && strncmp(cur, z.price->unit, strcspn(cur, "/")) != 0;
            cur = z.price->unit;
        }
    jm_out_style(o, JM_OUT_DIM);
    jm_str_adds(o->s, "  ");
    for (int k = 0; k < 7; k++) {
        bool money = k == 1 || k == 2;
        snprintf(title, sizeof title, "%.*s%s", money && cur && !mixed ? (int)strcspn(cur, "/") : 0,
                 cur ? cur : "", head[k]);
        jm_out_cell(o, k == 4 ? "  kind" : title, w[k], k > 0 && k != 4);
    }
    jm_str_addc(o->s, '\n');
    jm_out_style(o, JM_OUT_PLAIN);
    for (size_t i = 0; jm_impact_zone(r, i, window, &z); i++) {
        char k[32];
        const char *what = jm_impact_kind(z.carbon);
        snprintf(k, sizeof k, "  %s", strcmp(what, "residual mix") == 0 ? "residual" : what);
        jm_str_adds(o->s, "  ");
        if (mixed && z.price) /* each row says what money it is in */
            snprintf(title, sizeof title, "%.6s, %.3s", z.zone, z.price->unit);
        jm_out_cell(o, mixed && z.price ? title : z.zone, w[0], false);
        jm_out_cell(o, z.price ? number(b, z.price_mean) : "", w[1], true);
        jm_out_cell(o, z.price ? cell(b, z.cost_mtok) : "", w[2], true);
        jm_out_cell(o, z.carbon ? number(b, z.carbon_mean) : "", w[3], true);
        jm_out_cell(o, k, w[4] + 3, false);
        jm_out_cell(o, z.carbon ? cell(b, z.carbon_mtok) : "", w[5] - 3, true);
        jm_out_cell(o, z.carbon ? cell(b, z.carbon_request) : "", w[6], true);
        while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
            o->s->buf[--o->s->len] = '\0';
        jm_str_addc(o->s, '\n');
    }
}

/* "2 zones: why", the same reason said once. */
static void reasons(const struct jm_report *r, int window, jm_impact_line_fn say, void *self)
{
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_impact *m = &r->impacts[i];
        char line[900];
        int n = 0;
        bool said = false;
        if (m->x.q.have || !m->why || m->x.window != (window < 0 ? r->impacts[i].x.window : window) ||
            strncmp(m->x.metric, "year", 4) == 0)
            continue;
        for (size_t k = 0; k < i; k++)
            said |= !r->impacts[k].x.q.have && r->impacts[k].why && strcmp(r->impacts[k].why, m->why) == 0;
        if (said)
            continue;
        const char *what = strncmp(m->x.metric, "carbon.location", 15) == 0 ? "scope 2, location-based"
                           : strncmp(m->x.metric, "carbon.market", 13) == 0 ? "scope 2, market-based"
                                                                            : m->x.metric;
        n = snprintf(line, sizeof line, "%s: no value for", what);
        for (size_t k = i, zones = 0; k < r->n_impacts && n < 200; k++) {
            const struct jm_impact *x = &r->impacts[k];
            bool again = false;
            if (x->x.q.have || !x->why || strcmp(x->why, m->why) != 0 || !x->zone)
                continue;
            for (size_t q = i; q < k; q++)
                again |= r->impacts[q].zone && strcmp(r->impacts[q].zone, x->zone) == 0 &&
                         r->impacts[q].why && strcmp(r->impacts[q].why, m->why) == 0;
            if (!again)
                n += snprintf(line + n, sizeof line - (size_t)n, "%s %s", zones++ ? "," : "", x->zone);
        }
        snprintf(line + n, sizeof line - (size_t)n, ": %s", m->why);
        say(self, line, true);
    }
}

static const struct jm_impact *of_year(const struct jm_report *r, const char *metric, int factor, int window)
{
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_impact *m = &r->impacts[i];
        if (m->x.window == window && m->x.q.have && m->x.q.validity != JM_V_INVALID &&
            strcmp(m->x.metric, metric) == 0 && m->factor == factor)
            return m;
    }
    return NULL;
}

/* A year, in one sentence. */
static void year(const struct jm_report *r, int window, jm_impact_line_fn say, void *self)
{
    struct jm_impact_zone z;
    char line[900], b[JM_FMT];
    const struct jm_impact *e = of_year(r, "year.energy", -1, window);
    if (!e)
        return;
    int n = snprintf(line, sizeof line, "A year at this power, 8,760 h (extrapolated): %s kWh",
                     jm_fmt_count(b, llround(e->x.q.value)));
    for (size_t i = 0; jm_impact_zone(r, i, window, &z) && n < 700; i++) {
        const struct jm_impact *cost = z.price ? of_year(r, "year.cost", (int)(z.price - r->factors), window)
                                               : NULL,
                               *carbon = z.carbon
                                             ? of_year(r, "year.carbon", (int)(z.carbon - r->factors), window)
                                             : NULL;
        for (size_t q = 0; cost && q < i; q++) { /* a price that stands beside more than one factor, once */
            struct jm_impact_zone y;
            if (jm_impact_zone(r, q, window, &y) && y.price == z.price)
                cost = NULL;
        }
        if (!cost && !carbon)
            continue;
        n += snprintf(line + n, sizeof line - (size_t)n, "; %s", z.zone);
        if (cost)
            n += snprintf(line + n, sizeof line - (size_t)n, " %s %.3s", jm_fmt_amount(b, cost->x.q.value),
                          cost->x.q.unit);
        if (carbon)
            n += snprintf(line + n, sizeof line - (size_t)n, "%s %s kg", cost ? "," : "",
                          jm_fmt_amount(b, carbon->x.q.value / 1000));
    }
    say(self, line, false);
}

/* Results that no zone's row has: SCI, water. */
static void others(const struct jm_report *r, int window, jm_impact_line_fn say, void *self)
{
    struct jm_str s;
    bool wue = false;
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_impact *m = &r->impacts[i];
        const char *id = m->x.metric;
        char line[400], b[JM_FMT];
        bool sci = strncmp(id, "sci.", 4) == 0;
        if ((!sci && strncmp(id, "water.", 6) != 0) || !m->x.q.have)
            continue;
        if (m->x.window != window && !(sci && window < 0 && m->x.trial <= 1))
            continue;
        snprintf(line, sizeof line, "%s%s%s: %s %s%s%s", id, m->zone ? " " : "", m->zone ? m->zone : "",
                 jm_fmt_number(b, m->x.q.value), m->x.q.unit, sci && m->why ? " = " : "",
                 sci && m->why ? m->why : "");
        say(self, line, false);
        wue |= strcmp(id, "water.site") == 0;
    }
    if (wue) {
        jm_str_init(&s);
        jm_str_adds(&s, "Water of the site: IT energy at the wall, times ");
        jm_wue_say(&r->wue, &s);
        jm_str_adds(&s, r->wue.period[0] ? ", declared." : ", declared; its period is not stated.");
        if (!s.failed)
            say(self, s.buf, true);
        jm_str_release(&s);
    }
}

/* What the factors are, those of one source on one line. */
static void sources(const struct jm_report *r, jm_impact_line_fn say, void *self)
{
    for (size_t i = 0; i < r->n_factors; i++) {
        const struct jm_factor *f = &r->factors[i];
        char line[1600], b[JM_FMT];
        bool said = false;
        for (size_t k = 0; k < i; k++)
            said |= r->factors[k].what == f->what && strcmp(r->factors[k].source, f->source) == 0;
        if (said)
            continue;
        int n = snprintf(line, sizeof line, "%s:",
                         f->what == JM_FACTOR_PRICE   ? "Price"
                         : f->what == JM_FACTOR_WATER ? "Water"
                                                      : "Carbon");
        size_t many = 0;
        for (size_t k = i; k < r->n_factors && n < 900; k++) {
            const struct jm_factor *g = &r->factors[k];
            if (g->what != f->what || strcmp(g->source, f->source) != 0)
                continue;
            n += snprintf(line + n, sizeof line - (size_t)n, "%s %s %s%s%s, %s", many++ ? ";" : "", g->zone,
                          isfinite(g->constant) ? jm_fmt_number(b, g->constant) : "by time,",
                          isfinite(g->constant) ? " " : " ", g->unit,
                          g->vintage[0] ? g->vintage : "year not given");
            if (g->what == JM_FACTOR_CARBON)
                n += snprintf(line + n, sizeof line - (size_t)n, ", %s", jm_impact_kind(g));
            if (g->contract[0])
                n += snprintf(line + n, sizeof line - (size_t)n, " %s", g->contract);
        }
        snprintf(line + n, sizeof line - (size_t)n, ". Source: %s%s%s%s%s", f->source,
                 f->licence[0] ? ", " : "", f->licence, f->note[0] ? "; " : "", f->note);
        say(self, line, true);
    }
}

void jm_impact_lines(const struct jm_report *r, int window, jm_impact_line_fn say, void *self)
{
    year(r, window, say, self);
    others(r, window, say, self);
    if (r->impact_note)
        say(self, r->impact_note, true);
    reasons(r, window, say, self);
    sources(r, say, self);
}

void jm_show_impact_text(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    int window = jm_impact_window(r);
    const struct jm_impact *first = r->n_impacts ? &r->impacts[0] : NULL;
    char line[700], b[JM_FMT], c[JM_FMT];
    double kwh = NAN, wh = NAN;
    if (!first && !r->impact_note)
        return;
    jm_out_section(o, "Money and carbon");
    if (!first) {
        on_line(o, r->impact_note, true);
        return;
    }
    snprintf(line, sizeof line, "at the boundary %s%s%s; %s", first->x.set ? first->x.set : "?",
             window < 0         ? ", over trials"
             : r->n_windows > 1 ? ", "
                                : "",
             window >= 0 && r->n_windows > 1 ? r->windows[window].name : "",
             jm_provenance_name((int)first->x.q.provenance));
    on_line(o, line, true);
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_result *x = &r->impacts[i].x;
        if (x->window != window || !x->q.have || x->q.validity == JM_V_INVALID)
            continue;
        if (strcmp(x->metric, "kwh_per_mtok") == 0)
            kwh = x->q.value;
        else if (strcmp(x->metric, "wh_per.request") == 0)
            wh = x->q.value;
    }
    if (isfinite(kwh)) {
        snprintf(line, sizeof line, "%s kWh per million output tokens%s%s%s", jm_fmt_number(b, kwh),
                 isfinite(wh) ? "; " : "", isfinite(wh) ? jm_fmt_number(c, wh) : "",
                 isfinite(wh) ? " Wh per request" : "");
        on_line(o, line, false);
    }
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_impact *m = &r->impacts[i];
        if (m->x.window != window || !m->x.q.have || m->x.q.validity != JM_V_INVALID)
            continue;
        snprintf(line, sizeof line, "INVALID, so no figure is made of it: %s",
                 m->x.q.reasons ? m->x.q.reasons : "not known");
        on_line(o, line, true);
        break;
    }
    if (r->n_factors)
        table(o, window);
    jm_impact_lines(r, window, on_line, o);
}

/* --- JSON */

void jm_show_impact_json(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->n_impacts && !r->impact_note)
        return;
    jm_jsonw_key(w, "factors");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_factors; i++) {
        const struct jm_factor *f = &r->factors[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "what", jm_factor_what_name((int)f->what));
        jm_jsonw_kstr(w, "zone", f->zone);
        if (f->name[0])
            jm_jsonw_kstr(w, "name", f->name);
        jm_jsonw_kstr(w, "unit", f->unit);
        jm_jsonw_knum(w, "value", f->constant);
        if (f->n)
            jm_jsonw_ki64(w, "steps", (int64_t)f->n);
        if (f->what == JM_FACTOR_CARBON) {
            jm_jsonw_kstr(w, "kind", jm_factor_kind_name((int)f->kind));
            jm_jsonw_kstr(w, "basis", jm_factor_basis_name((int)f->basis));
            jm_jsonw_kbool(w, "marginal", f->marginal);
        }
        jm_jsonw_kstr(w, "vintage", f->vintage[0] ? f->vintage : NULL);
        jm_jsonw_kstr(w, "source", f->source[0] ? f->source : NULL);
        if (f->licence[0])
            jm_jsonw_kstr(w, "licence", f->licence);
        if (f->contract[0])
            jm_jsonw_kstr(w, "contract", f->contract);
        if (f->note[0])
            jm_jsonw_kstr(w, "note", f->note);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "impacts");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_impacts; i++) {
        const struct jm_impact *m = &r->impacts[i];
        jm_show_json_result(w, r, &m->x, m);
    }
    jm_jsonw_end(w);
    if (r->impact_note)
        jm_jsonw_kstr(w, "impact_note", r->impact_note);
}
