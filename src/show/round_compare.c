/* SPDX-License-Identifier: Apache-2.0 */
#include "show/round_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "show/round_text.h"

#include "base/banned.h"

static const char *verdicts(const struct jm_round_row *r, char buf[JM_FMT])
{
    return jm_round_cell(jm_round_column_find(JM_SPAN("check")), r, buf);
}

static void side(struct jm_out *o, const struct jm_round_match *m, bool second)
{
    const struct jm_round_row *r = second ? m->b : m->a;
    size_t of = second ? m->of_b : m->of_a;
    char v[JM_FMT], buf[JM_FMT];
    jm_str_addf(o->s, "    %c ", second ? 'B' : 'A');
    snprintf(buf, sizeof buf, "%s %s", jm_fmt_number(v, second ? m->vb : m->va),
             m->tokens ? "tok/J" : "smp/J");
    jm_out_cell(o, buf, 15, true);
    jm_str_adds(o->s, "  ");
    jm_out_style(o, jm_round_style(r->own));
    jm_out_cell(o, verdicts(r, buf), 9, false);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_adds(o->s, "  ");
    struct jm_str who;
    jm_str_init(&who);
    jm_str_addf(&who, "%s %s %s%s", r->round ? r->round : "", r->submitter ? r->submitter : "",
                jm_round_system(r), r->inferred ? " *" : "");
    if (!m->same_system && of > 1)
        jm_str_addf(&who, " (best of %zu)", of);
    jm_out_wrap(o, who.buf, 34, 34);
    o->s->failed |= who.failed;
    jm_str_release(&who);
}

static void match(struct jm_out *o, const struct jm_round_match *m)
{
    char v[JM_FMT], lo[JM_FMT], hi[JM_FMT];
    jm_str_adds(o->s, "\n  ");
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_add(o, m->a->benchmark);
    jm_str_adds(o->s, " ");
    jm_out_add(o, m->a->scenario);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_addf(o->s, "  B / A = ");
    jm_out_style(o, JM_OUT_BOLD);
    jm_str_adds(o->s, isfinite(m->ratio) ? jm_fmt_number(v, m->ratio) : "?");
    jm_out_style(o, JM_OUT_PLAIN);
    if (isfinite(m->lo) && isfinite(m->hi))
        jm_str_addf(o->s, "  (proper %s, %s to %s)", jm_fmt_number(v, m->proper), jm_fmt_number(lo, m->lo),
                    jm_fmt_number(hi, m->hi));
    else if (isfinite(m->proper))
        jm_str_addf(o->s, "  (proper %s)", jm_fmt_number(v, m->proper));
    jm_str_adds(o->s, m->same_system ? "  same system\n" : "\n");
    side(o, m, false);
    side(o, m, true);
}

/* Reasons, each with how many results of a side it left out. */
static void left(struct jm_out *o, const struct jm_round_comparison *c)
{
    bool any = false;
    for (size_t i = 0; i < c->n_left; i++) {
        size_t n = 0, before = 0;
        struct jm_str who;
        for (size_t k = 0; k < c->n_left; k++)
            if (c->left[k].side == c->left[i].side && strcmp(c->left[k].why, c->left[i].why) == 0) {
                n++;
                before += k < i;
            }
        if (before)
            continue;
        if (!any)
            jm_out_section(o, "Left out");
        any = true;
        jm_str_init(&who);
        jm_str_addf(&who, "%zu of %c: %s: ", n, 'A' + c->left[i].side, c->left[i].why);
        size_t told = 0;
        for (size_t k = i; k < c->n_left && told < 4; k++) {
            const struct jm_round_row *r = c->left[k].row;
            if (c->left[k].side != c->left[i].side || strcmp(c->left[k].why, c->left[i].why) != 0)
                continue;
            jm_str_addf(&who, "%s%s %s %s", told ? "; " : "", jm_round_system(r),
                        r->benchmark ? r->benchmark : "?", r->scenario ? r->scenario : "?");
            told++;
        }
        if (n > told)
            jm_str_addf(&who, "; and %zu more", n - told);
        jm_str_adds(o->s, "  ");
        jm_out_wrap(o, who.buf, 4, 2);
        o->s->failed |= who.failed;
        jm_str_release(&who);
    }
}

int jm_round_compare_text(const struct jm_round_comparison *c, const char *const name[2],
                          const struct jm_round_show *show, struct jm_str *s, struct jm_err *err)
{
    struct jm_show_opts plain = {.width = show->width, .color = show->color, .ascii = show->ascii};
    struct jm_out o = {s, NULL, &plain, show->width > 100 ? 100 : show->width};
    for (int k = 0; k < 2; k++) {
        struct jm_str line;
        jm_str_init(&line);
        jm_str_addf(&line, "%c  %s  %zu results, %zu of them %s", 'A' + k, name[k], c->n[k], c->comparable[k],
                    c->all ? "with an efficiency" : "to be compared");
        jm_out_wrap(&o, line.buf, 3, 0);
        s->failed |= line.failed;
        jm_str_release(&line);
    }
    for (size_t i = 0; i < c->n_match; i++)
        match(&o, &c->match[i]);
    if (!c->n_match)
        jm_str_adds(s, "\nNothing on the two sides may be compared.\n");
    left(&o, c);
    jm_str_addc(s, '\n');
    jm_out_style(&o, JM_OUT_DIM);
    jm_out_wrap(
        &o,
        c->all ? "Everything of the same benchmark and scenario was compared, whatever its division and "
                 "availability: this is no comparison by the rules of MLPerf. tok: output tokens, smp: "
                 "samples, per joule at the wall; check: official / ours."
               : "Compared: closed division, available, an official measurement that its round's checker "
                 "passes, the same benchmark, scenario and unit. tok: output tokens, smp: samples, per "
                 "joule at the wall as published; check: official / ours.",
        0, 0);
    if (show->pue.value > 0) {
        char text[200];
        snprintf(
            text, sizeof text,
            "The PUE of %.4g has no part in this: both sides are compared at the wall, and a building is no "
            "property of a system.",
            show->pue.value);
        jm_out_wrap(&o, text, 0, 0);
    }
    jm_out_style(&o, JM_OUT_PLAIN);
    return jm_str_ok(s, "the comparison", err);
}

static void json_side(struct jm_jsonw *w, const char *key, const struct jm_round_match *m, bool second,
                      const struct jm_round_show *o)
{
    const struct jm_round_row *r = second ? m->b : m->a;
    const struct jm_round_pair *p = m->tokens ? &r->tokens_per_j : &r->samples_per_j;
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "path", r->path);
    jm_jsonw_kstr(w, "round", r->round);
    jm_jsonw_kstr(w, "submitter", r->submitter);
    jm_jsonw_kstr(w, "system", r->system);
    jm_jsonw_kstr(w, "system_name", r->system_name);
    jm_jsonw_kstr(w, "division", r->division);
    jm_jsonw_kstr(w, "availability", r->availability);
    jm_jsonw_kbool(w, "inferred", r->inferred);
    jm_jsonw_knum(w, "published", p->published);
    jm_jsonw_knum(w, "proper", p->proper);
    jm_jsonw_knum(w, "lo", p->lo);
    jm_jsonw_knum(w, "hi", p->hi);
    jm_jsonw_knum(w, "j_per_token", r->j_per_token.published);
    jm_jsonw_kstr(w, "official", r->checked ? jm_round_verdict_name(r->official) : NULL);
    jm_jsonw_kstr(w, "ours", r->checked ? jm_round_verdict_name(r->own) : NULL);
    jm_jsonw_ki64(w, "of", (int64_t)(second ? m->of_b : m->of_a));
    if (o->pue.value > 0) {
        jm_jsonw_key(w, "facility");
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "pue", o->pue.value);
        jm_jsonw_kstr(w, "category", o->pue.category[0] ? o->pue.category : NULL);
        jm_jsonw_kstr(w, "provenance", "estimated");
        jm_jsonw_knum(w, "j_per_token", o->pue.value * r->j_per_token.proper);
        jm_jsonw_knum(w, "samples_per_j", r->samples_per_j.proper / o->pue.value);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

int jm_round_compare_json(const struct jm_round_comparison *c, const char *const name[2],
                          const struct jm_round_show *o, struct jm_str *s, struct jm_err *err)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, s, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.mlperf.compare/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_kstr(&w, "rule", c->all ? "all" : "closed, available, official");
    for (int k = 0; k < 2; k++) {
        jm_jsonw_key(&w, k ? "b" : "a");
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "name", name[k]);
        jm_jsonw_ki64(&w, "results", (int64_t)c->n[k]);
        jm_jsonw_ki64(&w, "comparable", (int64_t)c->comparable[k]);
        jm_jsonw_end(&w);
    }
    jm_jsonw_key(&w, "matches");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < c->n_match; i++) {
        const struct jm_round_match *m = &c->match[i];
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "benchmark", m->a->benchmark);
        jm_jsonw_kstr(&w, "scenario", m->a->scenario);
        jm_jsonw_kstr(&w, "by", m->same_system ? "same system" : "best");
        jm_jsonw_kstr(&w, "unit", m->tokens ? "tokens/J" : "samples/J");
        jm_jsonw_knum(&w, "ratio", m->ratio);
        jm_jsonw_knum(&w, "ratio_proper", m->proper);
        jm_jsonw_knum(&w, "lo", m->lo);
        jm_jsonw_knum(&w, "hi", m->hi);
        json_side(&w, "a", m, false, o);
        json_side(&w, "b", m, true, o);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "left_out");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < c->n_left; i++) {
        const struct jm_round_left *l = &c->left[i];
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "side", l->side ? "b" : "a");
        jm_jsonw_kstr(&w, "why", l->why);
        jm_jsonw_kstr(&w, "path", l->row->path);
        jm_jsonw_kstr(&w, "system", l->row->system);
        jm_jsonw_kstr(&w, "benchmark", l->row->benchmark);
        jm_jsonw_kstr(&w, "scenario", l->row->scenario);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    jm_str_addc(s, '\n');
    return jm_str_ok(s, "the JSON of the comparison", err);
}
