/* SPDX-License-Identifier: Apache-2.0 */
/* Phases and requests as JSON and HTML. */
#include <math.h>
#include <stdio.h>

#include "show/fmt.h"
#include "show/phases.h"
#include "show/svg.h"

#include "base/banned.h"

static void number(struct jm_jsonw *w, const char *key, double v)
{
    if (isfinite(v)) {
        jm_jsonw_knum(w, key, v);
    } else {
        jm_jsonw_key(w, key);
        jm_jsonw_null(w);
    }
}

static void interval(struct jm_jsonw *w, const char *key, const struct jm_phase_interval *i)
{
    if (!isfinite(i->lo))
        return;
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_knum(w, "lo", i->lo);
    jm_jsonw_knum(w, "hi", i->hi);
    jm_jsonw_kstr(w, "method", "block bootstrap");
    jm_jsonw_end(w);
}

static void split(struct jm_jsonw *w, const struct jm_report *r, const struct jm_phase_split *s)
{
    bool known = isfinite(s->share);
    if (s->window >= 0)
        jm_jsonw_kstr(w, "window", r->windows[s->window].name);
    jm_jsonw_ki64(w, "total_mj", s->total_mj);
    if (known) {
        jm_jsonw_ki64(w, "prefill_mj", s->prefill_mj);
        jm_jsonw_ki64(w, "decode_mj", s->decode_mj);
    } else {
        jm_jsonw_ki64(w, "requests_mj", s->decode_mj);
    }
    jm_jsonw_ki64(w, "no_request_mj", s->idle_mj);
    if (!known)
        return;
    jm_jsonw_knum(w, "prefill_share", s->share);
    interval(w, "prefill_share_interval", &s->range);
    if (r->phases->method == JM_PHASE_D2) {
        number(w, "marginal_prefill_j", s->marginal_prefill);
        number(w, "marginal_decode_j", s->marginal_decode);
    }
    number(w, "prefill_tokens", s->prefill_tokens);
    number(w, "decode_tokens", s->decode_tokens);
    number(w, "j_per_prefill_token",
           s->prefill_tokens > 0 ? (double)s->prefill_mj / 1e3 / s->prefill_tokens : NAN);
    number(w, "j_per_decode_token",
           s->decode_tokens > 0 ? (double)s->decode_mj / 1e3 / s->decode_tokens : NAN);
}

static const char *const weight_key[JM_PW_COUNT] = {"step", "prefill_token", "decode_token", "context_token"};

static void unit(struct jm_jsonw *w, const struct jm_phase_unit *u)
{
    const struct jm_phase_fit *f = &u->fit;
    jm_jsonw_object(w);
    if (u->name)
        jm_jsonw_kstr(w, "name", u->name);
    if (u->role)
        jm_jsonw_kstr(w, "role", u->role);
    jm_jsonw_kstr(w, "method", jm_phase_method_name((int)f->method));
    if (f->why[0])
        jm_jsonw_kstr(w, "why", f->why);
    number(w, "idle_w", f->idle_w);
    if (u->idle_from)
        jm_jsonw_kstr(w, "idle_from", u->idle_from);
    number(w, "residual", f->residual);
    number(w, "late_s", f->late_s);
    number(w, "condition", f->condition);
    jm_jsonw_ki64(w, "windows", (int64_t)f->windows);
    number(w, "window_s", f->window_s);
    jm_jsonw_kstr(w, "steps_from", f->counted_steps ? "engine" : "tokens");
    jm_jsonw_kbool(w, "bursts", f->bursts);
    if (f->method == JM_PHASE_D2) {
        jm_jsonw_key(w, "j_per");
        jm_jsonw_object(w);
        for (int k = 0; k < JM_PW_COUNT; k++) {
            if (!f->fitted[k])
                continue;
            jm_jsonw_key(w, weight_key[k]);
            jm_jsonw_object(w);
            jm_jsonw_knum(w, "value", f->w[k]);
            interval(w, "interval", &f->w_interval[k]);
            jm_jsonw_end(w);
        }
        jm_jsonw_end(w);
        if (f->no_interval[0])
            jm_jsonw_kstr(w, "no_interval", f->no_interval);
    }
    jm_jsonw_end(w);
}

static void dist(struct jm_jsonw *w, const struct jm_request_dist *d)
{
    jm_jsonw_object(w);
    if (d->slice)
        jm_jsonw_kstr(w, "slice", d->slice);
    if (d->tenant)
        jm_jsonw_kstr(w, "tenant", d->tenant);
    jm_jsonw_ki64(w, "n", d->n);
    jm_jsonw_ki64(w, "left_out", d->left_out);
    number(w, "mean", d->mean);
    number(w, "p50", d->p50);
    number(w, "p90", d->p90);
    number(w, "p99", d->p99);
    number(w, "joules", d->joules);
    number(w, "failed_joules", d->failed);
    jm_jsonw_end(w);
}

void jm_show_phases_json(struct jm_jsonw *w, const struct jm_report *r)
{
    const struct jm_phases *p = r->phases;
    if (!p)
        return;
    jm_jsonw_key(w, "phases");
    jm_jsonw_object(w);
    if (p->why) {
        jm_jsonw_key(w, "method");
        jm_jsonw_null(w);
        jm_jsonw_kstr(w, "why", p->why);
        jm_jsonw_end(w);
        return;
    }
    jm_jsonw_kstr(w, "method", jm_phase_method_name((int)p->method));
    jm_jsonw_kstr(w, "label", p->label);
    jm_jsonw_kstr(w, "boundary", jm_boundary_name((int)p->boundary));
    if (p->set)
        jm_jsonw_kstr(w, "set", p->set);
    jm_jsonw_kstr(w, "provenance", jm_provenance_name((int)p->provenance));
    number(w, "residual", p->residual);
    jm_jsonw_ki64(w, "closure_mj", p->closure_mj);
    if (p->n_splits) {
        jm_jsonw_key(w, "total");
        jm_jsonw_object(w);
        split(w, r, &p->split[0]);
        jm_jsonw_end(w);
    }
    jm_jsonw_key(w, "windows");
    jm_jsonw_array(w);
    for (size_t i = 1; i < p->n_splits; i++) {
        jm_jsonw_object(w);
        split(w, r, &p->split[i]);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "units");
    jm_jsonw_array(w);
    for (size_t i = 0; i < p->n_units; i++)
        unit(w, &p->unit[i]);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "joules_per_request");
    jm_jsonw_array(w);
    for (size_t i = 0; i < p->n_dists; i++)
        dist(w, &p->dist[i]);
    jm_jsonw_end(w);
    if (p->cached_known)
        jm_jsonw_knum(w, "cached_tokens", p->cached_tokens);
    jm_jsonw_ki64(w, "requests_without_token", p->no_tokens);
    jm_jsonw_ki64(w, "requests_not_ok", p->aborted);
    jm_jsonw_ki64(w, "prompts_guessed", p->guessed_prompts);
    jm_jsonw_kbool(w, "speculative", p->speculative);
    if (p->queue_from)
        jm_jsonw_kstr(w, "prefill_begin_from", p->queue_from);
    jm_jsonw_end(w);
}

/* ---- HTML */

static void cell(struct jm_str *s, double v)
{
    char b[JM_FMT];
    jm_str_addf(s, "<td class='n'>%s</td>", isfinite(v) ? jm_fmt_value(b, v, "J") : "");
}

static void requests(const struct jm_phases *p, struct jm_str *s)
{
    char b[JM_FMT];
    if (!p->n_dists || !p->dist[0].n)
        return;
    jm_str_adds(s,
                "<div class='scroll'><table><thead><tr><th scope='col'>energy a request</th><th scope='col' "
                "class='n'>requests</th><th scope='col' class='n'>mean</th><th scope='col' class='n'>p50</th>"
                "<th scope='col' class='n'>p90</th><th scope='col' class='n'>p99</th></tr></thead><tbody>");
    for (size_t i = 0; i < p->n_dists; i++) {
        const struct jm_request_dist *d = &p->dist[i];
        jm_str_addf(s, "<tr><td>%s", d->slice ? "slice " : d->tenant ? "tenant " : "all");
        jm_svg_escape(s, d->slice ? d->slice : d->tenant ? d->tenant : "");
        jm_str_addf(s, "</td><td class='n'>%s</td>", jm_fmt_count(b, d->n));
        cell(s, d->mean);
        cell(s, d->p50);
        cell(s, d->p90);
        cell(s, d->p99);
        jm_str_adds(s, "</tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
}

void jm_show_phases_html(const struct jm_report *r, struct jm_str *s)
{
    const struct jm_phases *p = r->phases;
    struct jm_phase_line l[JM_PHASE_LINES];
    if (!p || !jm_phase_lines(r, 0, l))
        return;
    jm_str_adds(s, "<section id='phases'><h2>Prefill, decode, requests</h2><p class='dim'>");
    jm_svg_escape(s, p->label);
    jm_str_adds(s, ". At the boundary ");
    jm_svg_escape(s, p->set ? p->set : jm_boundary_name((int)p->boundary));
    jm_str_adds(
        s, ".</p><div class='scroll'><table><thead><tr><th scope='col'></th><th scope='col' class='n'>fully "
           "loaded</th><th scope='col' class='n'>share</th><th scope='col' class='n'>marginal</th><th "
           "scope='col' class='n'>one more token</th></tr></thead><tbody>");
    for (int i = 0; i < JM_PHASE_LINES; i++) {
        if (i < 2 && !isfinite(l[i].joules))
            continue;
        jm_str_addf(s, "<tr><td>%s</td>", l[i].name);
        cell(s, l[i].joules);
        jm_str_addf(s, "<td class='n'>%.1f %%</td>", 100 * l[i].share);
        cell(s, l[i].marginal);
        cell(s, l[i].tokens > 0 ? l[i].marginal / l[i].tokens : NAN);
        jm_str_adds(s, "</tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
    if (isfinite(p->split[0].range.lo))
        jm_str_addf(s, "<p>Prefill is %.1f %% of what requests got (%.1f to %.1f %%, block bootstrap).</p>",
                    100 * p->split[0].share, 100 * p->split[0].range.lo, 100 * p->split[0].range.hi);
    for (size_t i = 0; i < p->n_units; i++)
        if (p->unit[i].fit.why[0]) {
            jm_str_adds(s, "<p class='dim'>No regression: ");
            jm_svg_escape(s, p->unit[i].fit.why);
            jm_str_adds(s, ".</p>");
        }
    requests(p, s);
    jm_str_adds(s, "</section>");
}
