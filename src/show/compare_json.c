/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark.compare/1 and Markdown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "show/compare.h"
#include "show/formats.h"

#include "base/banned.h"

static void interval(struct jm_jsonw *w, double lo, double hi, double level)
{
    jm_jsonw_key(w, "interval");
    jm_jsonw_object(w);
    jm_jsonw_knum(w, "lo", lo);
    jm_jsonw_knum(w, "hi", hi);
    jm_jsonw_knum(w, "level", level);
    jm_jsonw_end(w);
}

static const char *letter(char buf[2], size_t side)
{
    buf[0] = (char)('A' + side);
    buf[1] = '\0';
    return buf;
}

static void side(struct jm_jsonw *w, const struct jm_comparison *c, size_t at)
{
    const struct jm_compare_side *s = &c->side[at];
    char l[2];
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "side", letter(l, at));
    jm_jsonw_kstr(w, "name", s->name);
    jm_jsonw_ki64(w, "runs", (int64_t)s->runs);
    jm_jsonw_kbool(w, "simulated", s->simulated);
    if (s->set)
        jm_jsonw_kstr(w, "set", s->set);
    if (s->instrument)
        jm_jsonw_kstr(w, "instrument", s->instrument);
    if (s->invalid)
        jm_jsonw_kstr(w, "invalid", s->invalid);
    if (s->no_value)
        jm_jsonw_kstr(w, "no_value", s->no_value);
    jm_jsonw_key(w, "trials");
    jm_jsonw_array(w);
    for (size_t i = 0; i < s->n_trial; i++) {
        jm_jsonw_object(w);
        jm_jsonw_ki64(w, "run", (int64_t)s->trial[i].run);
        jm_jsonw_ki64(w, "trial", s->trial[i].trial);
        jm_jsonw_knum(w, "value", s->trial[i].value);
        jm_jsonw_knum(w, "seconds", s->trial[i].seconds);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "requests");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "scheduled", (int64_t)s->requests);
    jm_jsonw_ki64(w, "failed", (int64_t)s->failed);
    jm_jsonw_knum(w, "failed_share", s->requests ? (double)s->failed / (double)s->requests : NAN);
    interval(w, s->failed_share.lo, s->failed_share.hi, c->decide.level);
    jm_jsonw_knum(w, "output_tokens_ok", s->tokens);
    jm_jsonw_knum(w, "output_tokens_lost", s->tokens_lost);
    jm_jsonw_end(w);
    if (s->n_quality) {
        jm_jsonw_key(w, "quality");
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "mean", s->quality);
        jm_jsonw_ki64(w, "n", (int64_t)s->n_quality);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void fact(struct jm_jsonw *w, const struct jm_comparison *c, const struct jm_compare_fact *f)
{
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "id", f->id);
    jm_jsonw_kstr(w, "title", f->title);
    jm_jsonw_kstr(w, "state", jm_compare_state_name((int)f->state));
    jm_jsonw_key(w, "values");
    jm_jsonw_array(w);
    for (size_t i = 0; i < c->n_side; i++)
        jm_jsonw_str(w, f->value[i]);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

static void decision(struct jm_jsonw *w, const struct jm_comparison *c, const struct jm_candidate *k)
{
    const struct jm_decision *d = &k->decision;
    jm_jsonw_ki64(w, "n", (int64_t)d->n);
    jm_jsonw_knum(w, "ratio", d->n ? d->ratio : NAN);
    jm_jsonw_knum(w, "saving", d->n ? d->saving : NAN);
    interval(w, d->n ? d->lo : NAN, d->n ? d->hi : NAN, c->decide.level);
    if (d->n >= 2) {
        jm_jsonw_knum(w, "sd", d->paired.sd);
        jm_jsonw_knum(w, "dof", d->paired.dof);
        if (k->turned)
            jm_jsonw_knum(w, "drift", expm1(d->paired.drift));
        jm_jsonw_knum(w, "p", d->paired.p);
        jm_jsonw_knum(w, "p_saving", d->p);
        jm_jsonw_knum(w, "p_saving_holm", d->p_holm);
        jm_jsonw_key(w, "equivalence");
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "margin", d->tost.margin);
        jm_jsonw_knum(w, "p", d->tost.p);
        jm_jsonw_kbool(w, "equivalent", d->tost.equivalent);
        jm_jsonw_end(w);
    }
    if (d->floor_source) {
        jm_jsonw_key(w, "floor");
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "source", d->floor_source == JM_FLOOR_AA ? "aa" : "repeats");
        jm_jsonw_knum(w, "saving", d->floor.saving);
        jm_jsonw_ki64(w, "n", (int64_t)d->floor.n);
        jm_jsonw_end(w);
    }
    if (d->pairs_needed) {
        jm_jsonw_key(w, "needed");
        jm_jsonw_object(w);
        jm_jsonw_key(w, "pairs");
        if (d->pairs_needed == SIZE_MAX)
            jm_jsonw_null(w);
        else
            jm_jsonw_i64(w, (int64_t)d->pairs_needed);
        jm_jsonw_knum(w, "sd", d->sd);
        jm_jsonw_kbool(w, "sd_assumed", d->sd_assumed);
        jm_jsonw_knum(w, "difference", fabs(expm1(d->effect)));
        jm_jsonw_end(w);
    }
    if (d->winner) {
        jm_jsonw_key(w, "corrected");
        jm_jsonw_object(w);
        jm_jsonw_ki64(w, "of", (int64_t)d->corrected.k);
        jm_jsonw_knum(w, "saving", 1 - exp(-d->corrected.value));
        interval(w, 1 - exp(-d->corrected.interval.lo), 1 - exp(-d->corrected.interval.hi),
                 d->corrected.interval.level);
        jm_jsonw_end(w);
    }
}

static void candidate(struct jm_jsonw *w, const struct jm_comparison *c, const struct jm_candidate *k)
{
    static const char *const state[] = {"met", "open", "broken"};
    char l[2];
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "side", letter(l, k->side));
    jm_jsonw_kstr(w, "verdict", jm_verdict_name((int)k->verdict));
    jm_jsonw_kstr(w, "sentence", k->sentence);
    decision(w, c, k);
    jm_jsonw_kbool(w, "gain_cancels", k->gain_cancels);
    if (k->order)
        jm_jsonw_kstr(w, "order", k->order);
    jm_jsonw_key(w, "pairs");
    jm_jsonw_array(w);
    for (size_t i = 0; i < k->n_pair; i++) {
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "a", c->side[0].trial[k->pair[i].a].value);
        jm_jsonw_knum(w, "b", c->side[k->side].trial[k->pair[i].b].value);
        jm_jsonw_knum(w, "ratio", exp(k->pair[i].d));
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "clauses");
    jm_jsonw_array(w);
    for (size_t i = 0; i < k->n_clause; i++) {
        const struct jm_clause *q = &k->clause[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "id", q->id);
        if (q->slice)
            jm_jsonw_kstr(w, "slice", q->slice);
        jm_jsonw_kstr(w, "state", state[q->state]);
        jm_jsonw_kstr(w, "asked", q->asked);
        jm_jsonw_kstr(w, "found", q->found);
        if (q->provenance)
            jm_jsonw_kstr(w, "provenance", q->provenance);
        if (q->sentence)
            jm_jsonw_kstr(w, "sentence", q->sentence);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "metrics");
    jm_jsonw_array(w);
    for (size_t i = 0; i < k->n_metric; i++) {
        const struct jm_compare_metric *m = &k->metric[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "metric", m->id);
        if (jm_boundary_name((int)m->boundary))
            jm_jsonw_kstr(w, "boundary", jm_boundary_name((int)m->boundary));
        if (m->slice)
            jm_jsonw_kstr(w, "slice", m->slice);
        if (!isnan(m->quantile))
            jm_jsonw_knum(w, "quantile", m->quantile);
        jm_jsonw_kstr(w, "unit", m->unit);
        jm_jsonw_ki64(w, "n", (int64_t)m->n);
        jm_jsonw_knum(w, "a", m->a);
        jm_jsonw_knum(w, "b", m->b);
        jm_jsonw_knum(w, "ratio", m->ratio);
        interval(w, m->lo, m->hi, c->decide.level);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "notes");
    jm_jsonw_array(w);
    for (size_t i = 0; i < k->n_note; i++) {
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "id", k->note[i].id);
        jm_jsonw_kbool(w, "warning", k->note[i].warning);
        jm_jsonw_kstr(w, "text", k->note[i].text);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

int jm_compare_json(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                    struct jm_err *err)
{
    struct jm_jsonw w;
    char l[2];
    (void)o;
    jm_jsonw_init(&w, s, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.compare/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_kstr(&w, "verdict", jm_verdict_name((int)c->verdict));
    jm_jsonw_kstr(&w, "sentence", c->sentence);
    jm_jsonw_kstr(&w, "best", letter(l, c->candidate[c->best].side));
    jm_jsonw_kbool(&w, "simulated", c->simulated);
    jm_jsonw_kstr(&w, "metric", c->unit);
    jm_jsonw_kstr(&w, "boundary", jm_boundary_name((int)c->boundary));
    if (c->contract) {
        jm_jsonw_key(&w, "contract");
        jm_jsonw_object(&w);
        if (c->contract->name)
            jm_jsonw_kstr(&w, "name", c->contract->name);
        jm_jsonw_knum(&w, "minimum_saving", c->decide.minimum);
        jm_jsonw_ki64(&w, "pairs", (int64_t)c->decide.least);
        jm_jsonw_end(&w);
    }
    jm_jsonw_key(&w, "sides");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < c->n_side; i++)
        side(&w, c, i);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "comparability");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < c->n_fact; i++)
        fact(&w, c, &c->fact[i]);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "candidates");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < c->n_candidate; i++)
        candidate(&w, c, &c->candidate[i]);
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    jm_str_addc(s, '\n');
    return jm_str_ok(s, "the comparison", err);
}

/* --- Markdown */
static void cell(struct jm_str *s, const char *text)
{
    jm_markdown_escape(s, text);
    jm_str_adds(s, " | ");
}

int jm_compare_markdown(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                        struct jm_err *err)
{
    static const char *const mark[] = {"met", "open", "**broken**"};
    const struct jm_candidate *k = &c->candidate[c->best];
    char v[JM_FMT], w[JM_FMT];
    (void)o;
    jm_str_adds(s, "**");
    jm_markdown_escape(s, c->sentence);
    jm_str_addf(s, ".**%s\n\n", c->simulated ? " *(SIMULATED)*" : "");
    for (size_t i = 0; i < c->n_candidate && c->n_candidate > 1; i++) {
        jm_str_adds(s, "- ");
        jm_markdown_escape(s, c->candidate[i].sentence);
        jm_str_adds(s, "\n");
    }
    if (k->n_metric) {
        jm_str_addf(s, "| | A | %c | change | %.3g %% interval |\n|---|---:|---:|---:|---:|\n",
                    (char)('A' + k->side), 100 * c->decide.level);
        for (size_t i = 0; i < k->n_metric; i++) {
            const struct jm_compare_metric *m = &k->metric[i];
            jm_str_adds(s, "| ");
            jm_markdown_escape(s, jm_compare_title(v, m));
            if (m->boundary != JM_B_NONE)
                jm_str_addf(s, " (%s)", jm_boundary_name((int)m->boundary));
            jm_compare_value(v, m->a, m->unit);
            jm_compare_value(w, m->b, m->unit);
            jm_str_addf(s, " | %s | %s", v, w);
            jm_str_addf(s, " | %s", jm_compare_change(v, m->ratio));
            jm_str_addf(s, " | %s to %s |\n", jm_compare_change(v, m->lo), jm_compare_change(w, m->hi));
        }
    }
    if (k->n_clause) {
        jm_str_adds(s, "\n| contract | asked for | found | |\n|---|---|---|---|\n");
        for (size_t i = 0; i < k->n_clause; i++) {
            jm_str_adds(s, "| ");
            jm_markdown_escape(s, k->clause[i].id);
            jm_str_adds(s, " ");
            cell(s, k->clause[i].slice ? k->clause[i].slice : "");
            cell(s, k->clause[i].asked);
            cell(s, k->clause[i].found);
            jm_str_addf(s, "%s |\n", mark[k->clause[i].state]);
        }
    }
    bool head = false;
    for (size_t i = 0; i < c->n_fact; i++) {
        const struct jm_compare_fact *f = &c->fact[i];
        if (!jm_compare_telling(f))
            continue;
        if (!head) {
            jm_str_adds(s, "\n| comparability | |");
            for (size_t q = 0; q < c->n_side; q++)
                jm_str_addf(s, " %c |", (char)('A' + q));
            jm_str_adds(s, "\n|---|---|");
            for (size_t q = 0; q < c->n_side; q++)
                jm_str_adds(s, "---|");
            jm_str_adds(s, "\n");
        }
        head = true;
        jm_str_adds(s, "| ");
        cell(s, f->id);
        cell(s, jm_compare_state_name((int)f->state));
        for (size_t q = 0; q < c->n_side; q++)
            cell(s, f->value[q] ? f->value[q] : "not known");

        jm_str_adds(s, "\n");
    }
    jm_str_adds(s, "\n");
    for (size_t i = 0; i < k->n_note; i++) {
        jm_str_adds(s, k->note[i].warning ? "- **!** " : "- ");
        jm_markdown_escape(s, k->note[i].text);
        jm_str_adds(s, "\n");
    }
    return jm_str_ok(s, "the comparison", err);
}
