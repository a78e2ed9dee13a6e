/* SPDX-License-Identifier: Apache-2.0 */
/* jm_compute: a run → a report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/phase_run.h"
#include "compute/calc.h"
#include "compute/correct.h"
#include "compute/engine.h"
#include "compute/reconcile.h"

#include "base/banned.h"

void jm_compute_defaults(struct jm_compute_opts *o)
{
    *o = (struct jm_compute_opts){.profile = JM_PROFILE_SCREENING,
                                  .slo = {NAN, NAN, NAN},
                                  .level = 0.95,
                                  .idle_w = NAN,
                                  .columns = 800};
}

struct named {
    const char *name;
    size_t at;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int d = strcmp(x->name, y->name);
    return d ? d : (x->at > y->at) - (x->at < y->at);
}

/* Results name their window: two of one name are told apart by a number. */
static int name_apart(struct jm_calc *c)
{
    size_t n = c->r->n_windows, k = 0;
    const struct jm_window *w = jm_run_windows(c->run, &k);
    struct named *p = malloc((n ? n : 1) * sizeof *p);
    if (!p)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the windows");
    for (size_t i = 0; i < n; i++)
        p[i] = (struct named){w[i].name, i};
    qsort(p, n, sizeof *p, by_name);
    for (size_t i = 1, same = 1; i < n; i++) {
        same = strcmp(p[i].name, p[i - 1].name) == 0 ? same + 1 : 1;
        struct jm_window *x = &c->r->windows[p[i].at];
        if (same > 1)
            snprintf(x->name, sizeof x->name, "%.40s (%zu)", p[i].name, same);
    }
    free(p);
    return 0;
}

static int copy_run(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    const struct jm_run_info *info = jm_run_info(c->run);
    char when[JM_RFC3339_SIZE];
    size_t n;
    r->id = info->id;
    r->slo_ttft = c->o->slo.ttft_s;
    r->slo_tpot = c->o->slo.tpot_s;
    r->slo_given = c->o->slo_given;
    r->label = info->label[0] ? info->label : NULL;
    r->file = jm_run_path(c->run);
    r->sha256 = info->sha256[0] ? info->sha256 : NULL;
    r->created = jm_report_text(r, "%s", jm_time_rfc3339(info->created_real, when));
    r->kind = info->kind;
    r->source = info->source;
    r->joulemark = info->joulemark;
    r->cut = info->cut;
    r->sealed = info->sealed;
    r->channels = jm_run_channels(c->run, &r->n_channels);
    r->tree = jm_run_domains(c->run);
    const struct jm_run_env_row *env = jm_run_env_rows(c->run, &n);
    r->env = jm_report_alloc(r, n * sizeof *r->env);
    const struct jm_run_meter *m = jm_run_meters(c->run, &r->n_meters);
    r->meters = jm_report_alloc(r, r->n_meters * sizeof *r->meters);
    const struct jm_run_raw *raw = jm_run_raw(c->run, &r->n_raw);
    r->raw = jm_report_alloc(r, r->n_raw * sizeof *r->raw);
    size_t nw, nm;
    const struct jm_window *w = jm_run_windows(c->run, &nw);
    const struct jm_mark *k = jm_run_marks(c->run, &nm);
    r->windows = jm_report_alloc(r, nw * sizeof *r->windows);
    r->marks = jm_report_alloc(r, nm * sizeof *r->marks);
    if (!r->env || !r->meters || !r->raw || !r->windows || !r->marks)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the report");
    r->n_env = n;
    for (size_t i = 0; i < n; i++)
        r->env[i] = (struct jm_kv){env[i].key, env[i].value};
    for (size_t i = 0; i < r->n_meters; i++) {
        r->meters[i] =
            (struct jm_meter_info){m[i].name, m[i].instance, m[i].state, m[i].reason, m[i].mend, 0};
        for (size_t j = 0; j < r->n_channels; j++)
            r->meters[i].channels += r->channels[j].meter == (int)i;
        r->simulated |= m[i].simulated;
    }
    const char *sim = jm_run_env(c->run, "endpoint.simulated");
    r->simulated |= sim && sim[0] == '1';
    for (size_t i = 0; i < r->n_raw; i++)
        r->raw[i] = (struct jm_raw_ref){raw[i].name, raw[i].sha256, raw[i].bytes, raw[i].kept};
    if (nw)
        memcpy(r->windows, w, nw * sizeof *w);
    r->n_windows = nw;
    if (nm)
        memcpy(r->marks, k, nm * sizeof *k);
    r->n_marks = nm;
    int64_t real;
    int64_t at = nw ? w[0].t0 : 0;
    if (jm_run_to_real(c->run, at, &real))
        r->real_offset = (int64_t)((uint64_t)real - (uint64_t)at);
    return 0;
}

/* The strictest profile that the window's length allows, unless one was asked for. */
static void choose_profile(struct jm_calc *c)
{
    double shortest = INFINITY;
    c->r->profile = c->o->profile;
    c->r->pue = c->o->pue;
    c->r->wue = c->o->wue;
    if (c->o->profile_given)
        return;
    for (size_t i = 0; i < c->n_win; i++)
        if (c->win[i].w->role == JM_R_MEASURE && c->win[i].seconds < shortest)
            shortest = c->win[i].seconds;
    if (jm_calc_is_session(c->run))
        c->r->profile = JM_PROFILE_MLPERF;
    else if (shortest >= 600 && isfinite(shortest))
        c->r->profile = JM_PROFILE_PUBLICATION;
    else if (shortest >= 60 && isfinite(shortest) && c->r->trials >= 3)
        c->r->profile = JM_PROFILE_CLAIM;
    else
        c->r->profile = JM_PROFILE_SCREENING;
}

static int add_lengths(struct jm_samples *to, const struct jm_samples *from)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->n; i++)
        rc = jm_samples_add(to, from->v[i]);
    return rc;
}

static int lengths(struct jm_calc *c, size_t from, size_t to)
{
    struct jm_samples isl = {0}, osl = {0};
    int rc = 0;
    for (size_t i = from; !rc && i < to; i++)
        if (c->win[i].w->role == JM_R_MEASURE) {
            rc = add_lengths(&isl, &c->win[i].tally.isl);
            if (!rc)
                rc = add_lengths(&osl, &c->win[i].tally.osl);
        }
    if (!rc) {
        c->r->tokens.isl = jm_samples_dist(&isl);
        c->r->tokens.osl = jm_samples_dist(&osl);
    }
    free(isl.v);
    free(osl.v);
    return rc ? jm_err_set(c->err, rc, "out of memory for the lengths of the requests") : 0;
}

static int64_t count(double v, bool unknown)
{
    return unknown || !(v < 9e18) ? -1 : llround(v);
}

/* Totals over the time of the measure windows, each stretch of it once, for the head of the report. */
static int totals(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    double out = 0, in = 0, cached = 0, reasoning = 0;
    bool u_out = false, u_in = false, u_cached = false, any = false;
    size_t from = c->n_cover ? c->n_win : 0, to = c->n_win + c->n_cover;
    for (size_t i = from; i < to; i++) {
        const struct jm_tally *t = &c->win[i].tally;
        if (c->win[i].w->role != JM_R_MEASURE)
            continue;
        any = true;
        out += t->output;
        in += t->input;
        cached += t->cached;
        reasoning += t->reasoning;
        u_out |= t->unknown_output > 0;
        u_in |= t->unknown_input > 0;
        u_cached |= t->unknown_cached > 0;
        r->tokens.unknown_requests += t->unknown_output;
        r->requests.ok += t->done_ok;
        r->requests.failed += t->done_failed;
        r->requests.aborted += t->done_aborted;
        r->requests.cancelled += t->cancelled;
        r->requests.qualified += t->qualified_done;
        for (int e = 0; e < JM_END_COUNT; e++)
            r->requests.by_end[e] += t->by_end[e];
    }
    r->requests.qualified = jm_slices_slo_given(c) ? r->requests.qualified + 1 : -1; /* it began at -1 */
    if (!any || !r->has_requests)
        return 0;
    r->tokens.output = count(out, u_out);
    r->tokens.input = count(in, u_in);
    r->tokens.cached = count(cached, u_cached);
    r->tokens.reasoning = count(reasoning, u_out || !c->reasoning_known);
    return lengths(c, from, to);
}

static int fill(struct jm_calc *c, struct jm_phase_work *phases)
{
    int rc = copy_run(c);
    if (!rc)
        rc = name_apart(c);
    /* damage among the requests must not look like a run without requests */
    if (!rc)
        rc = jm_run_requests_check(c->run, c->err);
    if (!rc)
        rc = jm_tree_facts_init(c);
    if (!rc)
        rc = jm_windows_init(c);
    if (rc)
        return rc;
    choose_profile(c);
    rc = jm_corrections_init(c);
    if (!rc)
        rc = jm_lags_make(c);
    if (!rc)
        rc = jm_energy_rows(c);
    if (!rc)
        rc = jm_engine_collect(c);
    if (!rc)
        rc = jm_phases_begin(c, phases);
    if (!rc)
        rc = jm_tally_requests(c, phases);
    if (!rc && c->engine->n)
        rc = jm_engine_windows(c);
    for (size_t i = 0; !rc && i < c->n_win; i++) {
        rc = jm_results_window(c, &c->win[i]);
        if (!rc)
            rc = jm_reconcile_window(c, &c->win[i]);
        if (!rc && c->r->has_requests && c->win[i].w->role == JM_R_MEASURE)
            rc = jm_results_latency(c, &c->win[i]);
        if (!rc)
            rc = jm_results_engine(c, &c->win[i]);
        if (!rc && jm_calc_is_session(c->run) && c->win[i].w->role == JM_R_MEASURE)
            rc = jm_results_session(c, &c->win[i]);
    }
    if (!rc)
        rc = jm_results_slices(c);
    if (!rc)
        rc = jm_results_trials(c);
    if (!rc)
        rc = jm_impacts_make(c);
    if (!rc)
        rc = jm_ladder_make(c);
    if (!rc)
        rc = jm_groups_make(c);
    if (!rc)
        rc = jm_phases_end(phases);
    if (!rc)
        rc = jm_lengths_make(c);
    if (!rc)
        rc = jm_claims_make(c);
    if (!rc)
        rc = jm_series_make(c);
    return rc ? rc : totals(c);
}

int jm_compute(const struct jm_run *run, const struct jm_compute_opts *o, struct jm_report **out,
               struct jm_err *err)
{
    struct jm_calc c = {.run = run, .o = o, .picture = true, .err = err};
    struct jm_phase_work phases = {0};
    int rc = jm_report_new(&c.r, err);
    if (rc)
        return rc;
    rc = fill(&c, &phases);
    jm_phases_release(&phases);
    for (size_t i = 0; c.win && i < c.n_win + c.n_cover; i++)
        jm_tally_release(&c.win[i]);
    jm_slices_release(&c);
    free(c.win);
    free(c.cover);
    free(c.by_start);
    free(c.latest);
    free(c.energy);
    jm_corrections_release(&c);
    jm_engine_release(&c);
    jm_tree_facts_release(&c.tree);
    if (rc)
        jm_report_free(c.r);
    else
        *out = c.r;
    return rc;
}
