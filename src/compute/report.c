/* SPDX-License-Identifier: Apache-2.0 */
/* jm_compute: a run → a report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/calc.h"

#include "base/banned.h"

void jm_compute_defaults(struct jm_compute_opts *o)
{
    *o = (struct jm_compute_opts){.profile = JM_PROFILE_SCREENING,
                                  .slo = {NAN, NAN, NAN},
                                  .level = 0.95,
                                  .pue = NAN,
                                  .idle_w = NAN,
                                  .columns = 800};
}

static int copy_run(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    const struct jm_run_info *info = jm_run_info(c->run);
    char when[JM_RFC3339_SIZE];
    size_t n;
    r->id = info->id;
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
        r->real_offset = real - at;
    return 0;
}

/* Measure and idle windows. One that was never closed (a cut run) ends where its data end. */
static int windows(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    int64_t end = 0, first, last, count;
    for (size_t i = 0; i < r->n_channels; i++)
        if (jm_run_channel_span(c->run, (int)i, &first, &last, &count) && last > end)
            end = last;
    c->win = calloc(r->n_windows ? r->n_windows : 1, sizeof *c->win);
    if (!c->win)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the windows");
    for (size_t i = 0; i < r->n_windows; i++) {
        struct jm_window *w = &r->windows[i];
        if (w->t1 <= w->t0) {
            w->t1 = end > w->t0 ? end : w->t0;
            if (w->role == JM_R_MEASURE &&
                !jm_report_finding(r, "window.cut", JM_SEV_WARNING,
                                   "window %s was never closed; it is taken to end with the last "
                                   "reading, %.1f s after its start",
                                   w->name, (double)(w->t1 - w->t0) / 1e9))
                return jm_err_set(c->err, JM_ENOMEM, "out of memory for the findings");
        }
        if ((w->role != JM_R_MEASURE && w->role != JM_R_IDLE) || w->t1 <= w->t0)
            continue;
        struct jm_calc_window *k = &c->win[c->n_win++];
        k->index = (int)i;
        k->w = w;
        k->seconds = (double)(w->t1 - w->t0) / 1e9;
    }
    return 0;
}

/* The strictest profile that the window's length allows, unless one was asked for. */
static void choose_profile(struct jm_calc *c)
{
    double shortest = INFINITY;
    c->r->profile = c->o->profile;
    if (c->o->profile_given)
        return;
    for (size_t i = 0; i < c->n_win; i++)
        if (c->win[i].w->role == JM_R_MEASURE && c->win[i].seconds < shortest)
            shortest = c->win[i].seconds;
    size_t trials = 0;
    for (size_t i = 0; i < c->n_win; i++)
        trials += c->win[i].w->role == JM_R_MEASURE;
    if (jm_calc_is_session(c->run))
        c->r->profile = JM_PROFILE_MLPERF;
    else if (shortest >= 600 && isfinite(shortest))
        c->r->profile = JM_PROFILE_PUBLICATION;
    else if (shortest >= 60 && isfinite(shortest) && trials >= 3)
        c->r->profile = JM_PROFILE_CLAIM;
    else
        c->r->profile = JM_PROFILE_SCREENING;
}

/* Totals over the measure windows, for the head of the report. */
static void totals(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    double out = 0, in = 0, cached = 0, reasoning = 0;
    bool u_out = false, u_in = false, u_cached = false, any = false;
    r->requests.qualified = jm_slo_given(&c->o->slo) ? 0 : -1;
    for (size_t i = 0; i < c->n_win; i++) {
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
        if (r->requests.qualified >= 0)
            r->requests.qualified += t->qualified_done;
        for (int e = 0; e < JM_END_COUNT; e++)
            r->requests.by_end[e] += t->by_end[e];
        if (t->isl.n > r->tokens.isl.n)
            r->tokens.isl = t->isl;
        if (t->osl.n > r->tokens.osl.n)
            r->tokens.osl = t->osl;
    }
    if (!any || !r->has_requests)
        return;
    r->tokens.output = u_out ? -1 : llround(out);
    r->tokens.input = u_in ? -1 : llround(in);
    r->tokens.cached = u_cached ? -1 : llround(cached);
    r->tokens.reasoning = u_out ? -1 : llround(reasoning);
}

static int fill(struct jm_calc *c)
{
    int rc = copy_run(c);
    if (!rc)
        rc = windows(c);
    if (rc)
        return rc;
    choose_profile(c);
    for (size_t i = 0; !rc && i < c->n_win; i++)
        rc = jm_energy_rows(c, &c->win[i]);
    if (!rc)
        rc = jm_tally_requests(c);
    for (size_t i = 0; !rc && i < c->n_win; i++) {
        rc = jm_results_window(c, &c->win[i]);
        if (!rc && c->r->has_requests && c->win[i].w->role == JM_R_MEASURE)
            rc = jm_results_latency(c, &c->win[i]);
        if (!rc && jm_calc_is_session(c->run) && c->win[i].w->role == JM_R_MEASURE)
            rc = jm_results_session(c, &c->win[i]);
    }
    if (!rc)
        rc = jm_results_trials(c);
    if (!rc)
        rc = jm_series_make(c);
    if (!rc)
        totals(c);
    return rc;
}

int jm_compute(const struct jm_run *run, const struct jm_compute_opts *o, struct jm_report **out,
               struct jm_err *err)
{
    struct jm_calc c = {.run = run, .o = o, .err = err};
    int rc = jm_report_new(&c.r, err);
    if (rc)
        return rc;
    rc = fill(&c);
    for (size_t i = 0; i < c.n_win; i++)
        jm_tally_release(&c.win[i]);
    free(c.win);
    if (rc)
        jm_report_free(c.r);
    else
        *out = c.r;
    return rc;
}
