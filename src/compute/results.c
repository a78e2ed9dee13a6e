/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of one window: each is a numerator, a denominator and what is known of both. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/calibrated.h"
#include "compute/ratio.h"

#include "base/banned.h"

static const char excl_gain[] = JM_EXCL_GAIN ", " JM_EXCL_REPEATS;
static const char excl_other[] = JM_EXCL_OTHER ", " JM_EXCL_REPEATS;
static const char excl_repeats[] = JM_EXCL_REPEATS;
static const char excl_estimate[] = "error of the estimate (unknown)";

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
}

double jm_calc_level(const struct jm_calc *c)
{
    return c->o->level > 0 ? c->o->level : 0.95;
}

void jm_calc_interval(const struct jm_calc *c, struct jm_quantity *q, const struct jm_cut *cut, double factor,
                      double rel_extra)
{
    struct jm_energy e = cut->e;
    bool estimate = cut->provenance == JM_P_ESTIMATED, gain = isfinite(e.gain_bound) && !estimate,
         doubt = rel_extra > 0;
    e.u = hypot(e.u, rel_extra * e.joules);
    double half = fabs(factor) * jm_energy_halfwidth(&e, jm_calc_level(c), gain);
    if (!isfinite(half)) {
        q->u.excludes = "everything: the interval could not be computed";
        return;
    }
    q->u = (struct jm_uncertainty){
        .lo = q->value - half,
        .hi = q->value + half,
        .level = jm_calc_level(c),
        .dof = e.dof > 0 ? e.dof : INFINITY,
        .method = "GUM: terms in quadrature, gain as a rectangle",
        .includes =
            gain ? (doubt ? "edges, quantum, sampling, gaps, token doubt, gain"
                          : "edges, quantum, sampling, gaps, gain")
                 : (doubt ? "edges, quantum, sampling, gaps, token doubt" : "edges, quantum, sampling, gaps"),
        .excludes = estimate      ? excl_estimate
                    : gain        ? excl_repeats
                    : cut->boards ? excl_gain
                                  : excl_other,
    };
}

struct jm_result *jm_calc_result(struct jm_calc *c, const struct jm_calc_window *w, const char *metric,
                                 const struct jm_cut *cut)
{
    const struct jm_metric *m = jm_metric_find(metric);
    struct jm_result *x = m ? jm_report_result(c->r, m->id) : NULL;
    if (!x)
        return NULL;
    x->window = w ? w->index : -1;
    x->trial = w ? w->w->trial : -1;
    x->q.unit = m->unit;
    if (cut) {
        x->q.boundary = cut->boundary;
        x->q.provenance = cut->provenance;
        x->set = cut->set;
        x->instrument = cut->instrument;
        x->of = cut->of;
        x->have_of = cut->have;
        x->q.reasons = cut->reasons;
        x->domain = cut->domain;
        x->n_domain = cut->n_domain;
    }
    return x;
}

/* E / n or n / E. missing: why there is no denominator, NULL when there is one. rel_n: relative uncertainty
 * of n. */
static int ratio(struct jm_calc *c, const struct jm_calc_window *w, const char *metric,
                 const struct jm_cut *cut, double scale, double n, const char *n_name, bool inverse,
                 double rel_n, const char *missing)
{
    struct jm_result *x = jm_calc_result(c, w, metric, cut);
    if (!x)
        return no_memory(c);
    double e = cut->e.joules;
    x->numerator = inverse ? n : e;
    x->denominator = inverse ? e : n;
    x->numerator_name = inverse ? n_name : "energy";
    x->denominator_name = inverse ? "energy" : n_name;
    if (cut->have < cut->of)
        x->q.reasons = cut->reasons; /* a partial energy makes no ratio */
    else if (missing)
        x->q.reasons = missing;
    else if (!(n > 0) || !(e > 0))
        x->q.reasons = n > 0 ? "below-resolution" : strstr(n_name, "requests") ? "no-requests" : "no-tokens";
    else
        x->q.have = true;
    if (missing)
        *(inverse ? &x->numerator : &x->denominator) = NAN;
    if (x->q.have) {
        x->q.value = scale * (inverse ? n / e : e / n);
        jm_calc_interval(c, &x->q, cut, x->q.value / e, rel_n);
    }
    return 0;
}

static int energies(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    struct jm_result *x = jm_calc_result(c, w, "energy", cut);
    if (!x)
        return no_memory(c);
    if (cut->have) {
        x->q.have = true;
        x->q.value = cut->e.joules;
        jm_calc_interval(c, &x->q, cut, 1, 0);
    }
    if (!(x = jm_calc_result(c, w, "power.mean", cut)))
        return no_memory(c);
    if (cut->have) {
        x->q.have = true;
        x->q.value = cut->e.joules / w->seconds;
        x->numerator = cut->e.joules;
        x->denominator = w->seconds;
        x->numerator_name = "energy";
        x->denominator_name = "seconds";
        jm_calc_interval(c, &x->q, cut, 1 / w->seconds, 0);
    }
    return 0;
}

/* The ratios that need tokens or requests. */
static int ratios(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    const struct jm_tally *t = &w->tally;
    const char *conflict = jm_run_env(c->run, "conflict.sut") ? "conflict" : NULL;
    const char *out = conflict ? conflict : t->unknown_output ? "tokens-unknown" : NULL;
    const char *in = conflict ? conflict : t->unknown_input ? "tokens-unknown" : NULL;
    const char *cached = in ? in : t->unknown_cached ? "tokens-unknown" : NULL;
    double rel = t->output > 0 ? t->u_output / t->output : 0,
           rel_q = t->qualified > 0 ? t->u_qualified / t->qualified : 0;
    double total = t->output + t->input, rel_t = total > 0 ? t->u_output / total : 0;
    int rc = ratio(c, w, "j_per.output_token", cut, 1, t->output, "output tokens", false, rel, out);
    if (!rc)
        rc = ratio(c, w, "j_per.input_token", cut, 1, t->input, "input tokens", false, 0, in);
    if (!rc && !cached && t->cached > 0)
        rc = ratio(c, w, "j_per.input_token_uncached", cut, 1, t->input - t->cached, "uncached input tokens",
                   false, 0, cached);
    if (!rc)
        rc = ratio(c, w, "j_per.total_token", cut, 1, total, "input and output tokens", false, rel_t,
                   out ? out : in);
    if (!rc && c->reasoning_known && t->reasoning > 0)
        rc = ratio(c, w, "j_per.visible_token", cut, 1, t->visible, "visible output tokens", false, rel, out);
    if (!rc && c->reasoning_known && t->reasoning > 0)
        rc = ratio(c, w, "j_per.reasoning_token", cut, 1, t->reasoning, "reasoning tokens", false, rel, out);
    if (!rc && w->engine && w->engine->per_step && !w->engine->slots && isfinite(w->engine->tokens)) {
        const struct jm_engine_window *e = w->engine;
        rc = ratio(c, w, "j_per.engine_token", cut, 1, e->tokens, "tokens generated", false,
                   e->tokens > 0 ? (e->tokens_hi - e->tokens_lo) / sqrt(12) / e->tokens : 0, conflict);
    }
    if (!rc)
        rc = ratio(c, w, "tokens_per_j", cut, 1, t->output, "output tokens", true, rel, out);
    if (!rc)
        rc = ratio(c, w, "kwh_per_mtok", cut, 1 / 3.6, t->output, "output tokens", false, rel, out);
    if (!rc)
        rc = ratio(c, w, "j_per.request_ok", cut, 1, (double)t->done_ok, "successful requests", false, 0,
                   conflict);
    if (!rc)
        rc = ratio(c, w, "j_per.request_any", cut, 1, (double)(t->done_ok + t->done_failed + t->done_aborted),
                   "requests", false, 0, conflict);
    if (!rc)
        rc = ratio(c, w, "requests_per_kwh", cut, 3.6e6, (double)t->done_ok, "successful requests", true, 0,
                   conflict);
    if (!rc && jm_slices_slo_given(c)) {
        rc = ratio(c, w, "j_per.qualified_token", cut, 1, t->qualified, "qualified output tokens", false,
                   rel_q, out);
        if (!rc)
            rc = ratio(c, w, "goodput.tokens_per_j", cut, 1, t->qualified, "qualified output tokens", true,
                       rel_q, out);
    }
    return rc;
}

/* The idle window of the class at the boundary, of the same devices as the cut. */
static bool idle_cut(struct jm_calc *c, const struct jm_cut *cut, const char *class, struct jm_cut *out,
                     double *seconds, int *rc)
{
    for (size_t k = 0; k < c->n_win; k++) {
        char key[64];
        const struct jm_calc_window *w = &c->win[k];
        if (w->w->role != JM_R_IDLE)
            continue;
        snprintf(key, sizeof key, "idle.%d.class", w->w->id);
        const char *is = jm_run_env(c->run, key);
        if (!is || strcmp(is, class) != 0)
            continue;
        if ((*rc = jm_cut_make(c, w, cut->boundary, JM_CUT_MEASURED, out)))
            return false;
        *seconds = w->seconds;
        if (out->usable && out->have == out->of && strcmp(out->set, cut->set) == 0)
            return true;
    }
    return false;
}

/* The energy above idle. The idle of the same instruments errs by the same gain, so the net does too; a
 * stated idle power has no gain and no known error. */
static int net_of_idle(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    static const char *const class[] = {"loaded", "deep"}, *const metric[] = {
                                                               "net.loaded_idle.j_per.output_token",
                                                               "net.deep_idle.j_per.output_token"};
    const char *conflict = jm_run_env(c->run, "conflict.sut") ? "conflict" : NULL;
    int rc = 0;
    for (int i = 0; !rc && i < 2; i++) {
        struct jm_cut idle, net = *cut;
        double seconds = 0;
        if (cut->have < cut->of || cut->provenance == JM_P_ESTIMATED)
            return 0;
        if (idle_cut(c, cut, class[i], &idle, &seconds, &rc)) {
            double part = w->seconds / seconds;
            net.e.joules -= idle.e.joules * part;
            net.e.u = hypot(net.e.u, idle.e.u * part);
            net.e.gain_bound *= cut->e.joules > 0 ? fmax(net.e.joules, 0) / cut->e.joules : 1;
        } else if (!rc && i == 0 && isfinite(c->o->idle_w) &&
                   (cut->boundary == JM_B_WALL || cut->boundary == JM_B_NODE)) {
            /* a stated idle power is that of the whole system */
            net.e.joules -= c->o->idle_w * w->seconds;
            net.provenance = jm_provenance_worse(net.provenance, JM_P_DECLARED);
        } else {
            continue;
        }
        if (!rc)
            rc = ratio(c, w, metric[i], &net, 1, w->tally.output, "output tokens", false,
                       w->tally.output > 0 ? w->tally.u_output / w->tally.output : 0,
                       conflict                  ? conflict
                       : w->tally.unknown_output ? "tokens-unknown"
                                                 : NULL);
    }
    return rc;
}

static int plain(struct jm_calc *c, const struct jm_calc_window *w, const char *metric, double n,
                 const char *n_name, double d, const char *d_name, const char *missing)
{
    struct jm_result *x = jm_calc_result(c, w, metric, NULL);
    if (!x)
        return no_memory(c);
    x->numerator = n;
    x->denominator = d;
    x->numerator_name = n_name;
    x->denominator_name = d_name;
    x->q.reasons = missing ? missing : d > 0 ? NULL : "no-requests";
    if (!missing && d > 0) {
        x->q.have = true;
        x->q.value = n / d;
    }
    x->instrument = "request log";
    return 0;
}

/* The same requests over the denominators of other tools. */
static int spans(struct jm_calc *c, const struct jm_calc_window *w)
{
    static const char sched[] = "output tokens of successful requests scheduled";
    const struct jm_spans *s = &w->tally.spans;
    const char *unknown = s->unknown ? "tokens-unknown" : NULL;
    if (!s->any ||
        jm_run_env(c->run, "import.placed")) /* all at once is where they were put, not when they were */
        return 0;
    int rc = plain(c, w, "tokens_per_s.wall", s->output, sched, jm_spans_wall(s),
                   "seconds, first scheduled to last end", unknown);
    if (!rc)
        rc = plain(c, w, "tokens_per_s.span", s->output, sched, jm_spans_all(s),
                   "seconds, first sent to last end", unknown);
    if (!rc)
        rc = plain(c, w, "tokens_per_s.ok_span", s->output, sched, jm_spans_success(s),
                   "seconds, first sent to last token of the successful", unknown);
    if (!rc)
        rc = plain(c, w, "requests_per_s.wall", (double)s->ok, "successful requests", jm_spans_wall(s),
                   "seconds, first scheduled to last end", NULL);
    if (!rc)
        rc = plain(c, w, "requests_per_s.any", (double)s->any, "requests", jm_spans_all(s),
                   "seconds, first sent to last end", NULL);
    if (rc || !jm_slices_slo_given(c))
        return rc;
    rc = plain(c, w, "goodput.wall", (double)s->good, "requests inside the contract", jm_spans_wall(s),
               "seconds, first scheduled to last end", NULL);
    if (!rc)
        rc = plain(c, w, "goodput.of_ok", (double)s->good, "requests inside the contract", (double)s->ok,
                   "successful requests", NULL);
    return rc;
}

/* Our own client watched a window in which nothing came: that is 0. Of a window of another tool's file in
 * which no request lies nobody knows: it may hold requests of other windows only. */
static bool watched(const struct jm_calc *c, const struct jm_tally *t)
{
    return !jm_run_env(c->run, "import.kind") || t->scheduled || t->in_flight_t0 || t->done_ok ||
           t->done_failed || t->done_aborted || t->output > 0;
}

int jm_results_throughput(struct jm_calc *c, const struct jm_calc_window *w)
{
    const struct jm_tally *t = &w->tally;
    const char *none = !watched(c, t) ? "no-requests"
                       : jm_run_env(c->run, "import.placed") && jm_run_env(c->run, "import.missing.duration")
                           ? "no-duration"
                           : NULL;
    int rc = plain(c, w, "tokens_per_s", t->output, "output tokens", w->seconds, "seconds",
                   none                ? none
                   : t->unknown_output ? "tokens-unknown"
                                       : NULL);
    if (!rc)
        rc = plain(c, w, "requests_per_s", (double)t->done_ok, "successful requests", w->seconds, "seconds",
                   none);
    if (!rc && !c->slo_now)
        rc = spans(c, w);
    if (!rc && t->prefilled && !c->slo_now)
        rc = plain(c, w, "bias.in_flight", (double)t->prefill_at_edge, "requests in prefill at an edge",
                   (double)t->prefilled, "requests prefilled", NULL);
    if (rc || !jm_slices_slo_given(c))
        return rc;
    rc = plain(c, w, "goodput", (double)t->qualified_done, "requests inside the contract", w->seconds,
               "seconds", none);
    if (!rc)
        rc = plain(c, w, "attainment", (double)t->scheduled_qualified, "requests inside the contract",
                   (double)t->scheduled, "requests scheduled", NULL);
    if (!rc && jm_run_env(c->run, "load.unsent.bare")) {
        struct jm_result *x = &c->r->results[c->r->n_results - 1];
        x->q.have = false;
        x->q.reasons = "unsent-not-kept";
    } else if (!rc && t->scheduled > 0) {
        struct jm_interval i;
        struct jm_result *x = &c->r->results[c->r->n_results - 1];
        jm_stats_clopper_pearson((uint64_t)t->scheduled_qualified, (uint64_t)t->scheduled, jm_calc_level(c),
                                 &i);
        x->n = t->scheduled;
        x->q.u =
            (struct jm_uncertainty){i.lo, i.hi, i.level, NAN, "Clopper-Pearson", "binomial", excl_repeats};
    }
    return rc;
}

/* Largest reading of the power gauges inside the window. Summed over devices it is not meaningful (their
 * peaks do not coincide), so only boundaries with one device get it. */
static int peak(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    struct jm_readings buf = {0};
    double max = -INFINITY;
    const char *instrument = NULL;
    int rc = 0;
    if (cut->of != 1 || cut->n_part != 1 || cut->provenance == JM_P_ESTIMATED ||
        cut->boundary == JM_B_FACILITY)
        return 0;
    int domain = c->r->energy[cut->part[0]].domain;
    for (size_t i = w->row0; !rc && i < w->row1; i++) {
        const struct jm_energy_row *e = &c->r->energy[i];
        const struct jm_channel *ch = &c->r->channels[e->channel];
        if (e->domain != domain || ch->kind != JM_CH_GAUGE || ch->provenance == JM_P_ESTIMATED ||
            (ch->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)))
            continue;
        buf.n = 0;
        rc = jm_run_readings(c->run, ch->id, w->w->t0, w->w->t1, &buf, c->err);
        for (size_t k = 0; !rc && k < buf.n; k++) {
            double v = jm_channel_value(ch, buf.v[k].value);
            if (buf.v[k].status != JM_S_OK || buf.v[k].t0 < w->w->t0 || buf.v[k].t1 > w->w->t1 ||
                (ch->sane_min < ch->sane_max && (v < ch->sane_min || v > ch->sane_max)) || !(v > max))
                continue;
            max = v;
            instrument = ch->name;
        }
    }
    jm_readings_release(&buf);
    if (rc || !isfinite(max))
        return rc;
    struct jm_result *x = jm_calc_result(c, w, "power.max", cut);
    if (!x)
        return no_memory(c);
    x->q.have = true;
    x->q.value = max;
    x->q.u.excludes = "peaks between the refreshes of the gauge";
    x->instrument = instrument;
    return 0;
}

/* The other instrument of the same devices, beside the one that was chosen (never instead of it). */
static int by_gauge(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    struct jm_energy *part = calloc(cut->n_part + 1, sizeof *part);
    struct jm_cut g = *cut;
    const char *instrument = NULL;
    size_t n = 0;
    if (!part)
        return no_memory(c);
    for (size_t i = 0; i < cut->n_part; i++) {
        const struct jm_energy_row *e = &c->r->energy[cut->part[i]];
        size_t best = SIZE_MAX;
        for (size_t k = w->row0; k < w->row1; k++) {
            const struct jm_energy_row *x = &c->r->energy[k];
            const struct jm_channel *ch = &c->r->channels[x->channel];
            if (x->domain == e->domain && x->status == JM_S_OK && ch->kind == JM_CH_GAUGE &&
                ch->provenance == c->r->channels[e->channel].provenance &&
                !(ch->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)) &&
                (best == SIZE_MAX || x->u < c->r->energy[best].u))
                best = k;
        }
        if (c->r->channels[e->channel].kind != JM_CH_COUNTER || best == SIZE_MAX)
            continue;
        instrument = c->r->channels[c->r->energy[best].channel].name;
        part[n++] = c->energy[best];
    }
    jm_energy_sum(part, n, &g.e);
    free(part);
    if (!n || (int)n != cut->have)
        return 0;
    struct jm_result *x = jm_calc_result(c, w, "energy.by_gauge", cut);
    if (!x)
        return no_memory(c);
    x->q.have = true;
    x->q.value = g.e.joules;
    x->instrument = instrument;
    jm_calc_interval(c, &x->q, &g, 1, 0);
    return 0;
}

int jm_results_boundary(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    int rc = energies(c, w, cut);
    if (!rc)
        rc = peak(c, w, cut);
    if (!rc && cut->boundary == JM_B_GPU)
        rc = by_gauge(c, w, cut);
    if (!rc && c->r->has_requests && w->w->role == JM_R_MEASURE)
        rc = ratios(c, w, cut);
    if (!rc && c->r->has_requests && w->w->role == JM_R_MEASURE)
        rc = net_of_idle(c, w, cut);
    return rc;
}

/* GPUs of the host that do not serve: a line of their own, in no boundary's total but the device's. */
static int other_gpus(struct jm_calc *c, const struct jm_calc_window *w)
{
    struct jm_cut cut;
    int rc = c->tree.sut_known ? jm_cut_make(c, w, JM_B_GPU, JM_CUT_OTHER_GPUS, &cut) : 0;
    if (rc || !c->tree.sut_known || !cut.usable)
        return rc;
    struct jm_result *x = jm_calc_result(c, w, "energy.other_gpus", &cut);
    if (!x)
        return no_memory(c);
    x->q.have = true;
    x->q.value = cut.e.joules;
    jm_calc_interval(c, &x->q, &cut, 1, 0);
    return 0;
}

int jm_results_window(struct jm_calc *c, const struct jm_calc_window *w)
{
    static const enum jm_boundary order[] = {JM_B_GPU, JM_B_DEVICE, JM_B_NODE, JM_B_WALL, JM_B_FACILITY};
    struct jm_cut cut[5], est;
    int rc = 0;
    for (size_t i = 0; !rc && i < 5; i++) {
        rc = jm_cut_make(c, w, order[i], JM_CUT_MEASURED, &cut[i]);
        if (!rc && cut[i].usable)
            rc = jm_results_boundary(c, w, &cut[i]);
        if (!rc && i == 0)
            rc = other_gpus(c, w);
    }
    if (!rc)
        rc = jm_cut_make(c, w, JM_B_DEVICE, JM_CUT_ESTIMATED, &est);
    if (!rc && est.usable)
        rc = jm_results_boundary(c, w, &est);
    if (!rc)
        rc = jm_results_between(c, w, &cut[0], &cut[1], &cut[3]);
    if (!rc)
        rc = jm_calibrated_window(c, w, &cut[0], &cut[2], &cut[3]);
    if (!rc)
        rc = jm_results_facility(c, w, &cut[3], &cut[4]);
    if (!rc && c->r->has_requests && w->w->role == JM_R_MEASURE)
        rc = jm_results_throughput(c, w);
    return rc;
}
