/* SPDX-License-Identifier: Apache-2.0 */
/* show --json: the contract "joulemark.show/1" (docs/show-json.md). Keys that do not apply are absent; a
 * value that does not exist is null, never 0. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "show/claims.h"
#include "show/groups.h"
#include "show/impact.h"
#include "show/ladder.h"
#include "show/engine.h"
#include "show/lags.h"
#include "show/passports.h"
#include "show/fmt.h"
#include "show/formats.h"
#include "show/phases.h"
#include "show/reconcile.h"

#include "base/banned.h"

void jm_show_json_text(struct jm_jsonw *w, const char *key, const char *s)
{
    if (s)
        jm_jsonw_kstr(w, key, s);
}

/* "a, b" → ["a","b"]; commas inside parentheses do not split. */
static void list(struct jm_jsonw *w, const char *key, const char *s)
{
    jm_jsonw_key(w, key);
    jm_jsonw_array(w);
    int depth = 0;
    const char *from = s;
    for (const char *p = s; p && *from; p++) {
        depth += *p == '(';
        depth -= *p == ')';
        if (*p && (*p != ',' || depth))
            continue;
        struct jm_span one = jm_span_trim((struct jm_span){from, (size_t)(p - from)});
        if (one.n)
            jm_jsonw_span(w, one);
        if (!*p)
            break;
        from = p + 1;
    }
    jm_jsonw_end(w);
}

static void time_key(struct jm_jsonw *w, const struct jm_report *r, const char *key, int64_t t)
{
    char buf[JM_FMT];
    jm_jsonw_kstr(w, key, jm_fmt_time(r, t, buf));
}

static void interval(struct jm_jsonw *w, const struct jm_uncertainty *u)
{
    if (!u->method && !u->excludes)
        return;
    jm_jsonw_key(w, "interval");
    jm_jsonw_object(w);
    jm_jsonw_knum(w, "lo", u->method ? u->lo : NAN);
    jm_jsonw_knum(w, "hi", u->method ? u->hi : NAN);
    if (u->method) {
        jm_jsonw_knum(w, "level", u->level);
        jm_jsonw_kstr(w, "method", u->method);
        if (!isnan(u->dof))
            jm_jsonw_knum(w, "dof", u->dof);
    }
    list(w, "includes", u->includes ? u->includes : "");
    list(w, "excludes", u->excludes ? u->excludes : "");
    jm_jsonw_end(w);
}

void jm_show_json_part(struct jm_jsonw *w, const char *key, const char *name, double v)
{
    if (!name)
        return;
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "name", name);
    jm_jsonw_knum(w, "value", v);
    jm_jsonw_end(w);
}

void jm_show_json_result(struct jm_jsonw *w, const struct jm_report *r, const struct jm_result *x,
                         const struct jm_impact *m)
{
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "metric", x->metric);
    jm_jsonw_kstr(w, "boundary", jm_boundary_name((int)x->q.boundary));
    jm_show_json_text(w, "set", x->set);
    if (m) {
        jm_show_json_text(w, "zone", m->zone);
        if (m->factor >= 0)
            jm_jsonw_ki64(w, "factor", m->factor);
        jm_jsonw_knum(w, "factor_mean", m->mean);
        if (m->estimated > 0)
            jm_jsonw_knum(w, "factor_estimated_share", m->estimated);
        if (m->even)
            jm_jsonw_kbool(w, "spread_evenly", true);
        jm_show_json_text(w, "why", m->why);
    }
    if (x->window >= 0)
        jm_jsonw_kstr(w, "window", r->windows[x->window].name);
    if (x->trial >= 0)
        jm_jsonw_ki64(w, "trial", x->trial);
    jm_show_json_text(w, "slice", x->slice);
    jm_show_json_text(w, "phase", x->phase);
    if (!isnan(x->quantile))
        jm_jsonw_knum(w, "quantile", x->quantile);
    if (x->n >= 0)
        jm_jsonw_ki64(w, "n", x->n);
    jm_jsonw_knum(w, "value", x->q.have ? x->q.value : NAN);
    jm_jsonw_kstr(w, "unit", x->q.unit);
    jm_show_json_part(w, "numerator", x->numerator_name, x->numerator);
    jm_show_json_part(w, "denominator", x->denominator_name, x->denominator);
    interval(w, &x->q.u);
    jm_jsonw_kstr(w, "provenance", jm_provenance_name((int)x->q.provenance));
    jm_jsonw_key(w, "validity");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "profile", jm_profile_name((int)r->profile));
    jm_jsonw_kstr(w, "status", jm_validity_name((int)x->q.validity));
    list(w, "reasons", x->q.reasons ? x->q.reasons : "");
    jm_jsonw_end(w);
    if (x->of > 0) {
        jm_jsonw_ki64(w, "of", x->of);
        jm_jsonw_ki64(w, "have", x->have_of);
    }
    jm_show_json_text(w, "instrument", x->instrument);
    jm_jsonw_end(w);
}

static void run(struct jm_jsonw *w, const struct jm_report *r)
{
    jm_jsonw_key(w, "run");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "id", r->id);
    jm_show_json_text(w, "label", r->label);
    jm_jsonw_kstr(w, "file", r->file);
    jm_show_json_text(w, "sha256", r->sha256);
    jm_jsonw_kstr(w, "created", r->created);
    jm_jsonw_kstr(w, "kind", r->kind);
    jm_show_json_text(w, "source", r->source);
    jm_jsonw_kbool(w, "sealed", r->sealed);
    jm_jsonw_kbool(w, "cut", r->cut);
    jm_jsonw_kbool(w, "simulated", r->simulated);
    jm_jsonw_key(w, "environment");
    jm_jsonw_object(w);
    for (size_t i = 0; i < r->n_env; i++)
        jm_jsonw_kstr(w, r->env[i].key, r->env[i].value);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

static void findings(struct jm_jsonw *w, const struct jm_report *r)
{
    jm_jsonw_key(w, "validity");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "profile", jm_profile_name((int)r->profile));
    jm_jsonw_kstr(w, "status", jm_validity_name((int)r->validity));
    jm_jsonw_key(w, "findings");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct jm_finding *f = &r->findings[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "id", f->id);
        jm_jsonw_kstr(w, "severity", jm_severity_name((int)f->severity));
        jm_jsonw_kstr(w, "text", f->text);
        jm_show_json_text(w, "evidence", f->evidence);
        if (f->window >= 0)
            jm_jsonw_kstr(w, "window", r->windows[f->window].name);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

static void windows(struct jm_jsonw *w, const struct jm_report *r)
{
    jm_jsonw_key(w, "windows");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jm_window *x = &r->windows[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "name", x->name);
        jm_jsonw_kstr(w, "role", jm_role_name((int)x->role));
        jm_jsonw_ki64(w, "trial", x->trial);
        time_key(w, r, "t0", x->t0);
        time_key(w, r, "t1", x->t1);
        jm_jsonw_knum(w, "seconds", jm_fmt_seconds(x->t1, x->t0));
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void energy(struct jm_jsonw *w, const struct jm_report *r)
{
    jm_jsonw_key(w, "energy");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "window", r->windows[e->window].name);
        jm_jsonw_kstr(w, "channel", c->name);
        jm_jsonw_kstr(w, "device", c->device);
        if (e->domain >= 0) {
            jm_jsonw_kstr(w, "domain", jm_domain_kind_name((int)r->tree->d[e->domain].kind));
            jm_jsonw_kstr(w, "label", r->tree->d[e->domain].label);
        }
        jm_jsonw_kstr(w, "source", c->source);
        if (c->scope[0])
            jm_jsonw_kstr(w, "scope", c->scope);
        jm_jsonw_kbool(w, "counted", e->counted);
        jm_jsonw_kstr(w, "status", jm_status_name((int)e->status));
        jm_jsonw_knum(w, "joules", e->joules);
        if (isfinite(e->lo)) {
            jm_jsonw_knum(w, "lo", e->lo);
            jm_jsonw_knum(w, "hi", e->hi);
        }
        if (isfinite(e->lower_bound))
            jm_jsonw_knum(w, "at_least", e->lower_bound);
        if (isfinite(e->bound))
            jm_jsonw_knum(w, "worst_case", e->bound);
        if (e->passport) {
            jm_jsonw_knum(w, "raw_joules", e->raw);
            jm_jsonw_kstr(w, "correction", e->correction);
            jm_jsonw_kstr(w, "passport", e->passport);
        }
        jm_jsonw_knum(w, "covered_s", e->covered_s);
        jm_jsonw_kstr(w, "method", e->method);
        jm_jsonw_kstr(w, "provenance", jm_provenance_name((int)c->provenance));
        jm_show_json_text(w, "note", e->note);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void count(struct jm_jsonw *w, const char *key, int64_t n)
{
    jm_jsonw_key(w, key);
    if (n < 0)
        jm_jsonw_null(w);
    else
        jm_jsonw_i64(w, n);
}

static void dist(struct jm_jsonw *w, const char *key, const struct jm_dist *d)
{
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "n", d->n);
    if (d->n) {
        jm_jsonw_knum(w, "mean", d->mean);
        jm_jsonw_knum(w, "min", d->min);
        jm_jsonw_knum(w, "p50", d->p50);
        jm_jsonw_knum(w, "p90", d->p90);
        jm_jsonw_knum(w, "p99", d->p99);
        jm_jsonw_knum(w, "max", d->max);
    }
    jm_jsonw_end(w);
}

static void requests(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->has_requests)
        return;
    jm_jsonw_key(w, "tokens");
    jm_jsonw_object(w);
    count(w, "output", r->tokens.output);
    count(w, "input", r->tokens.input);
    count(w, "cached", r->tokens.cached);
    count(w, "reasoning", r->tokens.reasoning);
    dist(w, "isl", &r->tokens.isl);
    dist(w, "osl", &r->tokens.osl);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "requests");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "ok", r->requests.ok);
    jm_jsonw_ki64(w, "failed", r->requests.failed);
    jm_jsonw_ki64(w, "aborted", r->requests.aborted);
    if (r->requests.cancelled > 0)
        jm_jsonw_ki64(w, "cancelled", r->requests.cancelled);
    if (r->requests.qualified >= 0)
        jm_jsonw_ki64(w, "qualified", r->requests.qualified);
    jm_jsonw_key(w, "by_error");
    jm_jsonw_object(w);
    for (int e = 0; e < JM_END_COUNT; e++)
        if (e != JM_END_OK && r->requests.by_end[e])
            jm_jsonw_ki64(w, jm_end_name(e), r->requests.by_end[e]);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

static void instruments(struct jm_jsonw *w, const struct jm_report *r)
{
    jm_jsonw_key(w, "meters");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_meters; i++) {
        const struct jm_meter_info *m = &r->meters[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "name", m->name);
        jm_jsonw_kstr(w, "instance", m->instance);
        jm_jsonw_kstr(w, "state", m->state);
        jm_jsonw_ki64(w, "channels", m->channels);
        if (m->reason && m->reason[0])
            jm_jsonw_kstr(w, "reason", m->reason);
        if (m->mend && m->mend[0])
            jm_jsonw_kstr(w, "mend", m->mend);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "raw");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_raw; i++) {
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "name", r->raw[i].name);
        jm_jsonw_kstr(w, "sha256", r->raw[i].sha256);
        jm_jsonw_ki64(w, "bytes", r->raw[i].bytes);
        jm_jsonw_kbool(w, "kept", r->raw[i].kept);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void slices(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->n_slices)
        return;
    jm_jsonw_key(w, "slices");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct jm_slice_total *t = &r->slices[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "name", t->name);
        jm_jsonw_kstr(w, "window", r->windows[t->window].name);
        jm_jsonw_kbool(w, "alone", t->alone);
        if (t->quality)
            jm_jsonw_kstr(w, "quality", t->quality);
        if (t->shape)
            jm_jsonw_kstr(w, "shape", t->shape);
        jm_jsonw_ki64(w, "ok", t->ok);
        jm_jsonw_ki64(w, "failed", t->failed);
        jm_jsonw_ki64(w, "aborted", t->aborted);
        jm_jsonw_ki64(w, "cancelled", t->cancelled);
        if (t->qualified >= 0)
            jm_jsonw_ki64(w, "qualified", t->qualified);
        jm_jsonw_knum(w, "output_tokens", t->output);
        jm_jsonw_knum(w, "input_tokens", t->input);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

int jm_show_json(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *out,
                 struct jm_err *err)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, out, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.show/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    run(&w, r);
    findings(&w, r);
    windows(&w, r);
    jm_jsonw_key(&w, "results");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < r->n_results; i++)
        jm_show_json_result(&w, r, &r->results[i], NULL);
    for (size_t i = 0; i < r->n_sliced; i++)
        jm_show_json_result(&w, r, &r->sliced[i], NULL);
    jm_jsonw_end(&w);
    slices(&w, r);
    jm_show_ladder_json(&w, r);
    jm_groups_json(&w, r);
    jm_show_impact_json(&w, r);
    jm_show_phases_json(&w, r);
    energy(&w, r);
    jm_reconcile_json(&w, r);
    requests(&w, r);
    jm_show_engine_json(&w, r);
    jm_show_lags_json(&w, r);
    jm_show_passports_json(&w, r);
    jm_claims_json(&w, r);
    instruments(&w, r);
    jm_jsonw_key(&w, "disclosure");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < o->n_disclosure; i++) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "item", o->disclosure[i].key);
        jm_jsonw_kstr(&w, "value", o->disclosure[i].known ? o->disclosure[i].value : NULL);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    return jm_str_ok(out, "the JSON of the report", err);
}
