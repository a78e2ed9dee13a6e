/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of one window: each is a numerator, a denominator and what is known of both. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

static const char excl_gain[] =
    "board gain (no calibration; published cards 0.87 to 1.15), repeats (one trial)";
static const char excl_repeats[] = "repeats (one trial)";
static const char excl_estimate[] = "error of the estimate (unknown)";

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
}

double jm_calc_level(const struct jm_calc *c)
{
    return c->o->level > 0 ? c->o->level : 0.95;
}

/* Standard uncertainty and gain bound of a cut → interval of value = scale x E. */
void jm_calc_interval(const struct jm_calc *c, struct jm_quantity *q, const struct jm_cut *cut,
                      double rel_extra)
{
    double rel = cut->joules != 0 ? cut->u / fabs(cut->joules) : 0,
           u = fabs(q->value) * sqrt(rel * rel + rel_extra * rel_extra);
    double t = jm_stats_t_quantile(0.5 + jm_calc_level(c) / 2, cut->dof);
    bool gain = isfinite(cut->u_gain) && cut->provenance != JM_P_ESTIMATED;
    double bound = gain && cut->joules != 0 ? fabs(q->value) * cut->u_gain / fabs(cut->joules) : 0;
    q->u = (struct jm_uncertainty){
        .lo = q->value - t * u - bound,
        .hi = q->value + t * u + bound,
        .level = jm_calc_level(c),
        .dof = cut->dof,
        .method = "GUM: terms in quadrature",
        .includes = gain ? (rel_extra > 0 ? "edges, quantum, sampling, gaps, token doubt, gain"
                                          : "edges, quantum, sampling, gaps, gain")
                         : (rel_extra > 0 ? "edges, quantum, sampling, gaps, token doubt"
                                          : "edges, quantum, sampling, gaps"),
        .excludes = cut->provenance == JM_P_ESTIMATED ? excl_estimate
                    : gain                            ? excl_repeats
                                                      : excl_gain,
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
    double e = cut->joules;
    x->numerator = inverse ? n : e;
    x->denominator = inverse ? e : n;
    x->numerator_name = inverse ? n_name : "energy";
    x->denominator_name = inverse ? "energy" : n_name;
    if (cut->have < cut->of)
        x->q.reasons = cut->reasons; /* a partial energy makes no ratio */
    else if (missing)
        x->q.reasons = missing;
    else if (!(n > 0) || !(e > 0))
        x->q.reasons = n > 0 ? "below-resolution" : "no-tokens";
    else
        x->q.have = true;
    if (missing)
        *(inverse ? &x->numerator : &x->denominator) = NAN;
    if (x->q.have) {
        x->q.value = scale * (inverse ? n / e : e / n);
        jm_calc_interval(c, &x->q, cut, rel_n);
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
        x->q.value = cut->joules;
        jm_calc_interval(c, &x->q, cut, 0);
    }
    if (!(x = jm_calc_result(c, w, "power.mean", cut)))
        return no_memory(c);
    if (cut->have && w->seconds > 0) {
        x->q.have = true;
        x->q.value = cut->joules / w->seconds;
        x->numerator = cut->joules;
        x->denominator = w->seconds;
        x->numerator_name = "energy";
        x->denominator_name = "seconds";
        jm_calc_interval(c, &x->q, cut, 0);
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
    if (!rc && t->reasoning > 0)
        rc = ratio(c, w, "j_per.visible_token", cut, 1, t->visible, "visible output tokens", false, rel, out);
    if (!rc && t->reasoning > 0)
        rc = ratio(c, w, "j_per.reasoning_token", cut, 1, t->reasoning, "reasoning tokens", false, rel, out);
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
    if (!rc && jm_slo_given(&c->o->slo)) {
        rc = ratio(c, w, "j_per.qualified_token", cut, 1, t->qualified, "qualified output tokens", false,
                   rel_q, out);
        if (!rc)
            rc = ratio(c, w, "goodput.tokens_per_j", cut, 1, t->qualified, "qualified output tokens", true,
                       rel_q, out);
    }
    return rc;
}

/* Mean power of an idle window of the class at the boundary, or NAN. */
static double idle_power(struct jm_calc *c, enum jm_boundary b, const char *class)
{
    for (size_t k = 0; k < c->n_win; k++) {
        char key[64];
        if (c->win[k].w->role != JM_R_IDLE || c->win[k].seconds <= 0)
            continue;
        snprintf(key, sizeof key, "idle.%d.class", c->win[k].w->id);
        const char *is = jm_run_env(c->run, key);
        struct jm_cut cut;
        if (is && strcmp(is, class) == 0 && jm_cut_make(c, c->win[k].index, b, false, &cut) == 0 &&
            cut.usable && cut.have == cut.of)
            return cut.joules / c->win[k].seconds;
    }
    /* a stated idle power is that of the whole system */
    return strcmp(class, "loaded") == 0 && (b == JM_B_WALL || b == JM_B_NODE) ? c->o->idle_w : NAN;
}

static int net_of_idle(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    static const char *const class[] = {"loaded", "deep"}, *const metric[] = {
                                                               "net.loaded_idle.j_per.output_token",
                                                               "net.deep_idle.j_per.output_token"};
    for (int i = 0; i < 2; i++) {
        double p = idle_power(c, cut->boundary, class[i]);
        if (isnan(p) || cut->have < cut->of || w->tally.unknown_output)
            continue;
        struct jm_cut net = *cut;
        net.joules -= p * w->seconds;
        int rc = ratio(c, w, metric[i], &net, 1, w->tally.output, "output tokens", false, 0,
                       jm_run_env(c->run, "conflict.sut") ? "conflict" : NULL);
        if (rc)
            return rc;
    }
    return 0;
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

static int throughput(struct jm_calc *c, const struct jm_calc_window *w)
{
    const struct jm_tally *t = &w->tally;
    int rc = plain(c, w, "tokens_per_s", t->output, "output tokens", w->seconds, "seconds",
                   t->unknown_output ? "tokens-unknown" : NULL);
    if (!rc)
        rc = plain(c, w, "requests_per_s", (double)t->done_ok, "successful requests", w->seconds, "seconds",
                   NULL);
    if (!rc && t->prefilled)
        rc = plain(c, w, "bias.in_flight", (double)t->prefill_at_edge, "requests in prefill at an edge",
                   (double)t->prefilled, "requests prefilled", NULL);
    if (rc || !jm_slo_given(&c->o->slo))
        return rc;
    rc = plain(c, w, "goodput", (double)t->qualified_done, "requests inside the contract", w->seconds,
               "seconds", NULL);
    if (!rc)
        rc = plain(c, w, "attainment", (double)t->scheduled_qualified, "requests inside the contract",
                   (double)t->scheduled, "requests scheduled", NULL);
    if (!rc && t->scheduled > 0) {
        struct jm_interval i;
        struct jm_result *x = &c->r->results[c->r->n_results - 1];
        jm_stats_wilson((uint64_t)t->scheduled_qualified, (uint64_t)t->scheduled, jm_calc_level(c), &i);
        x->n = t->scheduled;
        x->q.u = (struct jm_uncertainty){i.lo, i.hi, i.level, NAN, "Wilson", "binomial", excl_repeats};
    }
    return rc;
}

/* Largest reading of the power gauges inside the window, summed over the devices of the boundary is not
 * meaningful (their peaks do not coincide), so only boundaries with one device get it. */
static int peak(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    struct jm_readings buf = {0};
    double max = -INFINITY;
    int found = 0, rc = 0;
    for (size_t i = 0; !rc && i < c->r->n_energy; i++) {
        const struct jm_energy_row *e = &c->r->energy[i];
        const struct jm_channel *ch = &c->r->channels[e->channel];
        enum jm_domain_kind kind = e->domain >= 0 ? c->r->tree->d[e->domain].kind : JM_D_SITE;
        bool here = cut->boundary == JM_B_WALL  ? kind == JM_D_INLET_AC || kind == JM_D_INLET_DC
                    : cut->boundary == JM_B_GPU ? kind == JM_D_GPU || kind == JM_D_MODULE
                                                : cut->boundary == JM_B_NODE && kind == JM_D_NODE;
        if (e->window != w->index || !here || ch->kind != JM_CH_GAUGE ||
            (ch->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)))
            continue;
        found++;
        buf.n = 0;
        rc = jm_run_readings(c->run, ch->id, w->w->t0, w->w->t1, &buf, c->err);
        for (size_t k = 0; !rc && k < buf.n; k++)
            if (buf.v[k].status == JM_S_OK && buf.v[k].t0 >= w->w->t0 && buf.v[k].t1 <= w->w->t1) {
                double v = jm_channel_value(ch, buf.v[k].value);
                max = v > max ? v : max;
            }
    }
    jm_readings_release(&buf);
    if (rc || cut->of != 1 || !found || !isfinite(max))
        return rc;
    struct jm_result *x = jm_calc_result(c, w, "power.max", cut);
    if (!x)
        return no_memory(c);
    x->q.have = true;
    x->q.value = max;
    return 0;
}

/* The other instrument of the same devices, beside the one that was chosen (never instead of it). */
static int by_gauge(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
{
    double sum = 0, var = 0;
    int have = 0;
    const char *instrument = NULL;
    for (size_t i = 0; i < c->r->n_energy; i++) {
        const struct jm_energy_row *e = &c->r->energy[i];
        if (e->window != w->index || !e->counted || c->r->channels[e->channel].kind != JM_CH_COUNTER)
            continue;
        const struct jm_energy_row *best = NULL;
        for (size_t k = 0; k < c->r->n_energy; k++) {
            const struct jm_energy_row *g = &c->r->energy[k];
            if (g->window == w->index && g->domain == e->domain && g->status == JM_S_OK &&
                c->r->channels[g->channel].kind == JM_CH_GAUGE && (!best || g->u < best->u))
                best = g;
        }
        if (best) {
            sum += best->joules;
            var += best->u * best->u;
            instrument = c->r->channels[best->channel].name;
            have++;
        }
    }
    if (!have || have != cut->have)
        return 0;
    struct jm_result *x = jm_calc_result(c, w, "energy.by_gauge", cut);
    if (!x)
        return no_memory(c);
    struct jm_cut g = *cut;
    g.joules = sum;
    g.u = sqrt(var);
    g.dof = INFINITY;
    x->q.have = true;
    x->q.value = sum;
    x->instrument = instrument;
    jm_calc_interval(c, &x->q, &g, 0);
    return 0;
}

static int at_boundary(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *cut)
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

static int wall_to_gpu(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *wall,
                       const struct jm_cut *gpu)
{
    if (!wall->usable || !gpu->usable || wall->have < wall->of || gpu->have < gpu->of || !(gpu->joules > 0))
        return 0;
    struct jm_result *x = jm_calc_result(c, w, "wall_to_gpu", wall);
    if (!x)
        return no_memory(c);
    x->q.have = true;
    x->q.value = wall->joules / gpu->joules;
    x->numerator = wall->joules;
    x->denominator = gpu->joules;
    x->numerator_name = "energy at the wall";
    x->denominator_name = "energy of the GPU boards";
    jm_calc_interval(c, &x->q, wall, gpu->u / gpu->joules);
    return 0;
}

int jm_results_window(struct jm_calc *c, const struct jm_calc_window *w)
{
    static const enum jm_boundary order[] = {JM_B_GPU, JM_B_DEVICE, JM_B_NODE, JM_B_WALL};
    struct jm_cut cut[4], est;
    int rc = 0;
    for (size_t i = 0; !rc && i < 4; i++) {
        rc = jm_cut_make(c, w->index, order[i], false, &cut[i]);
        if (!rc && cut[i].usable)
            rc = at_boundary(c, w, &cut[i]);
    }
    if (!rc)
        rc = jm_cut_make(c, w->index, JM_B_DEVICE, true, &est);
    if (!rc && est.usable)
        rc = at_boundary(c, w, &est);
    if (!rc)
        rc = wall_to_gpu(c, w, &cut[3], &cut[0]);
    if (!rc && isfinite(c->o->pue) && cut[3].usable) {
        /* PUE applies at the IT point, the wall; the product is labelled with it */
        struct jm_cut f = cut[3];
        f.boundary = JM_B_FACILITY;
        f.joules *= c->o->pue;
        f.u *= c->o->pue;
        f.u_gain *= c->o->pue;
        f.provenance = jm_provenance_worse(f.provenance, JM_P_DECLARED);
        f.set = jm_report_text(c->r, "facility{PUE %.4g x %s}", c->o->pue, cut[3].set);
        rc = at_boundary(c, w, &f);
    }
    if (!rc && c->r->has_requests && w->w->role == JM_R_MEASURE)
        rc = throughput(c, w);
    return rc;
}
