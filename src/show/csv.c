/* SPDX-License-Identifier: Apache-2.0 */
/* show, as CSV (RFC 4180): one row a result. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

/* A cell that a spreadsheet would take for a formula is quoted as text. */
void jm_csv_add_text(struct jm_str *s, const char *t)
{
    bool formula = t && *t && strchr("=+-@", *t), quote = t && (formula || strpbrk(t, ",\"\r\n"));
    struct jm_span c;
    if (quote)
        jm_str_addc(s, '"');
    if (formula)
        jm_str_addc(s, '\'');
    for (const char *p = t ? t : ""; (p = jm_fmt_next(p, &c));) {
        if (c.n == 1 && *c.p == '"')
            jm_str_addc(s, '"');
        jm_str_addspan(s, c);
    }
    if (quote)
        jm_str_addc(s, '"');
}

void jm_csv_add_number(struct jm_str *s, double v)
{
    char buf[32];
    if (isfinite(v)) {
        jm_json_fmt_double(buf, v);
        jm_str_adds(s, buf);
    }
}

/* Between quotes that are there already. */
static void inside(struct jm_str *s, const char *t)
{
    struct jm_span c;
    for (const char *p = t; (p = jm_fmt_next(p, &c));) {
        if (c.n == 1 && *c.p == '"')
            jm_str_addc(s, '"');
        jm_str_addspan(s, c);
    }
}

static void text(struct jm_str *s, const char *t, bool last)
{
    jm_csv_add_text(s, t);
    jm_str_adds(s, last ? "\r\n" : ",");
}

static void number(struct jm_str *s, double v)
{
    jm_csv_add_number(s, v);
    jm_str_addc(s, ',');
}

int jm_show_csv(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s, struct jm_err *err)
{
    (void)o;
    jm_str_adds(s, "run,metric,boundary,set,window,trial,quantile,n,value,unit,lo,hi,level,numerator,"
                   "denominator,have,of,provenance,"
                   "profile,validity,reasons,instrument\r\n");
    for (size_t i = 0; i < r->n_results + r->n_impacts; i++) { /* of an impact the instrument is the factor */
        const struct jm_impact *m = i < r->n_results ? NULL : &r->impacts[i - r->n_results];
        const struct jm_result *x = m ? &m->x : &r->results[i];
        bool in = x->q.have && x->q.u.method;
        text(s, r->id, false);
        text(s, x->metric, false);
        text(s, jm_boundary_name((int)x->q.boundary), false);
        text(s, x->set, false);
        text(s, x->window >= 0 ? r->windows[x->window].name : "", false);
        number(s, x->trial >= 0 ? x->trial : NAN);
        number(s, x->quantile);
        number(s, x->n >= 0 ? (double)x->n : NAN);
        number(s, x->q.have ? x->q.value : NAN);
        text(s, x->q.unit, false);
        number(s, in ? x->q.u.lo : NAN);
        number(s, in ? x->q.u.hi : NAN);
        number(s, in ? x->q.u.level : NAN);
        number(s, x->numerator);
        number(s, x->denominator);
        number(s, x->of ? x->have_of : NAN);
        number(s, x->of ? x->of : NAN);
        text(s, jm_provenance_name((int)x->q.provenance), false);
        text(s, jm_profile_name((int)r->profile), false);
        text(s, jm_validity_name((int)x->q.validity), false);
        text(s, x->q.reasons, false);
        if (m && m->factor >= 0) {
            const struct jm_factor *f = &r->factors[m->factor];
            jm_str_addc(s, '"');
            inside(s, f->zone);
            jm_str_adds(s, ", ");
            inside(s, f->vintage);
            jm_str_adds(s, ", ");
            inside(s, f->source);
            jm_str_adds(s, "\"\r\n");
            continue;
        }
        text(s, x->instrument, true);
    }
    return jm_str_ok(s, "the CSV of the report", err);
}
