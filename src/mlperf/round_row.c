/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/round_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

static struct jm_round_pair pair(const struct jm_mlperf_pair *p)
{
    struct jm_round_pair out = {p->published, p->proper, p->lo, p->hi, ""};
    snprintf(out.unit, sizeof out.unit, "%s", p->unit ? p->unit : "");
    return out;
}

static struct jm_round_samples samples(const struct jm_mlperf_samples *s)
{
    return (struct jm_round_samples){s->rows, s->good, s->bad, s->missed, s->over, s->nonpositive};
}

static enum jm_round_verdict verdict(enum jm_mlperf_verdict v)
{
    switch (v) {
    case JM_MLPERF_PASS: return JM_RV_PASS;
    case JM_MLPERF_NOTE: return JM_RV_NOTE;
    case JM_MLPERF_WARN: return JM_RV_WARN;
    case JM_MLPERF_FAIL: return JM_RV_FAIL;
    case JM_MLPERF_ABSENT: break;
    }
    return JM_RV_NONE;
}

static double seconds(int64_t ns)
{
    return ns < 0 ? NAN : (double)ns / 1e9;
}

/* Text of the words of a reply after the first n commas. */
static bool reply_of(const struct jm_mlperf_side *side, const char *cmd, struct jm_span *out)
{
    for (size_t i = 0; i < side->n_ptd; i++)
        if (side->ptd[i].cmd && side->ptd[i].reply && strcmp(side->ptd[i].cmd, cmd) == 0) {
            *out = jm_span_of(side->ptd[i].reply);
            return true;
        }
    return false;
}

static bool instrument(struct jm_round_row *r, const struct jm_mlperf_session *s)
{
    struct jm_span rest, field;
    char text[600];
    bool ok = true;
    if (reply_of(&s->server, "Identify", &rest)) {
        struct jm_span model = {0}, made = {0};
        for (bool first = true; jm_span_field(&rest, ',', &field); first = false) {
            if (first)
                model = field;
            made = field;
            if (jm_span_starts(field, JM_SPAN("version="))) {
                snprintf(text, sizeof text, "%.*s", (int)(field.n - 8 < 100 ? field.n - 8 : 100),
                         field.p + 8);
                ok = ok && jm_round_set(&r->ptd, text);
            }
        }
        /* the last field is "maker;model;serial;firmware" where the analyzer told it */
        bool told = jm_span_find(made, JM_SPAN(";")) >= 0;
        snprintf(text, sizeof text, "%.*s%s%.*s%s", (int)(model.n < 200 ? model.n : 200),
                 model.p ? model.p : "", told ? " (" : "", told ? (int)(made.n < 200 ? made.n : 200) : 0,
                 told ? made.p : "", told ? ")" : "");
        ok = ok && jm_round_set(&r->analyzer, text);
    }
    struct jm_str list;
    jm_str_init(&list);
    for (size_t i = 0; i < s->server.n_ptd; i++)
        if (s->server.ptd[i].cmd && strncmp(s->server.ptd[i].cmd, "SR,", 3) == 0)
            jm_str_addf(&list, "%s%.60s", list.len ? ", " : "", s->server.ptd[i].cmd + 3);
    if (list.len)
        ok = ok && jm_round_set(&r->ranges, list.buf);
    ok = ok && !list.failed;
    jm_str_release(&list);
    return ok;
}

static double clocks(const struct jm_mlperf_session *s)
{
    double most = NAN;
    for (int m = 0; m < JM_MLPERF_MODES; m++)
        for (int i = 0; i < s->client.n_phase[m] && i < s->server.n_phase[m]; i++)
            most = fmax(most, fabs(s->client.phase[m][i].unix_s - s->server.phase[m][i].unix_s));
    return most;
}

/* What keeps a session from being a measurement of a licensed analyzer. */
static bool official(struct jm_round_row *r, const struct jm_mlperf_session *s)
{
    bool simulated = false;
    const char *why = jm_mlperf_unofficial(s, &simulated);
    if (simulated)
        r->provenance = "simulated";
    if (!why && s->server.has_debug && s->server.debug)
        why = "the Director ran in debug mode";
    return jm_round_set(&r->unofficial, why);
}

bool jm_mlperf_row_judged(struct jm_round_row *r, const struct jm_mlperf_checked *c)
{
    bool ok = true;
    r->checked = true;
    r->own = verdict(c->verdict);
    for (size_t i = 0; ok && i < c->n_outcomes; i++) {
        const struct jm_mlperf_outcome *o = &c->outcomes[i];
        if (verdict(o->verdict) >= JM_RV_NOTE)
            ok = jm_round_finding_add(r, verdict(o->verdict), o->rule->id, o->text, o->evidence);
    }
    return ok;
}

static bool judged(struct jm_round_row *r, const struct jm_mlperf_checked *c)
{
    bool ok = jm_round_set(&r->revision, c->official.revision) && jm_mlperf_row_judged(r, c);
    r->official = verdict(c->official.verdict);
    for (size_t i = 0; i < sizeof r->check / sizeof r->check[0]; i++) {
        r->check[i].verdict = verdict(c->official.check[i].verdict);
        ok = ok && jm_round_set(&r->check[i].title, c->official.check[i].title) &&
             jm_round_set(&r->check[i].text, c->official.check[i].text);
    }
    return ok;
}

static bool limit(struct jm_round_row *r, const char *key, double is, double most, double percentile)
{
    if (isnan(most))
        return true;
    if (isnan(is))
        return jm_round_fact_add(r, "Latency limits", key, "limit %.4g s; the log does not have it", most);
    return jm_round_fact_add(r, "Latency limits", key, "%.4g s at p%g, limit %.4g s: %s", is, percentile,
                             most, is <= most ? "met" : "NOT met");
}

/* What only the page of a single result has room for. */
static bool more(struct jm_round_row *r, const struct jm_mlperf_result *x)
{
    static const char in[] = "What the interval is made of", ptd[] = "What PTDaemon said";
    const struct jm_mlperf_limits_of *l = &x->limits;
    bool ok = true;
    if (isfinite(l->accuracy))
        ok = ok && jm_round_fact_add(r, in, "analyzer",
                                     "± %.4g W, its accuracy at these ranges and power factors", l->accuracy);
    if (isfinite(l->bridged) && l->bridged > 0)
        ok = ok && jm_round_fact_add(r, in, "bridged time", "± %.4g W", l->bridged);
    if (isfinite(l->edges))
        ok = ok &&
             jm_round_fact_add(r, in, "edges", "± %.4g W, samples of a second across both edges", l->edges);
    if (isfinite(l->clock))
        ok = ok && jm_round_fact_add(r, in, "clocks", "± %.4g W, system and analyzer up to %.4g s apart",
                                     l->clock, l->clock_s);
    if (x->v_range > 0 && x->a_range > 0)
        ok = ok &&
             jm_round_fact_add(r, in, "ranges", "%.4g V, %.4g A, crest factor %s", x->v_range, x->a_range,
                               x->crest == 6   ? "6"
                               : x->crest == 3 ? "3"
                                               : "not known, 3 taken");
    if (isfinite(x->ptd.watts))
        ok = ok && jm_round_fact_add(r, ptd, "mean power",
                                     "%.6g W over the whole log; the same samples give %.6g W here",
                                     x->ptd.watts, x->ptd.our_watts);
    if (isfinite(x->ptd.uncertainty))
        ok = ok && jm_round_fact_add(r, ptd, "uncertainty", "%.3g %% a sample; %.3g %% here",
                                     100 * x->ptd.uncertainty, 100 * x->ptd.our_uncertainty);
    if (x->latency.limited) {
        ok = ok && limit(r, "first token", x->latency.ttft_s, x->latency.ttft_limit_s, x->latency.percentile);
        ok = ok && limit(r, "token", x->latency.tpot_s, x->latency.tpot_limit_s, x->latency.percentile);
        ok = ok && limit(r, "request", x->latency.e2e_s, x->latency.e2e_limit_s, x->latency.percentile);
    }
    return ok;
}

int jm_mlperf_row_fill(struct jm_round_row *r, const struct jm_mlperf_session *s,
                       const struct jm_mlperf_result *x, const struct jm_mlperf_submission *m,
                       const struct jm_mlperf_checked *c, struct jm_err *err)
{
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    bool ok = jm_round_set(&r->round, s->round.name[0] ? s->round.name : NULL) &&
              jm_round_set(&r->round_from, s->round.from) && instrument(r, s) && official(r, s);
    r->bytes = s->bytes;
    if (x) {
        const struct jm_mlperf_fact *ran =
            jm_mlperf_fact(&s->loadgen[JM_MLPERF_TESTING], "effective_scenario");
        ok = ok && jm_round_set(&r->run_scenario, ran ? ran->text : NULL);
        if (x->benchmark[0])
            ok = ok && jm_round_set(&r->benchmark, x->benchmark);
        if (x->scenario[0])
            ok = ok && jm_round_set(&r->scenario, x->scenario);
        ok = ok && jm_round_set(&r->model, x->model[0] ? x->model : NULL) &&
             jm_round_set(&r->accuracy, x->accuracy[0] ? x->accuracy : NULL) &&
             jm_round_set(&r->excludes, x->excludes[0] ? x->excludes : NULL) && more(r, x);
        r->inferred = x->inferred;
        r->seconds = x->seconds;
        r->queries = x->queries;
        r->power = pair(&x->power);
        r->energy = pair(&x->energy);
        r->mj_per_stream = pair(&x->mj_per_stream);
        r->samples_per_j = pair(&x->samples_per_j);
        r->j_per_token = pair(&x->j_per_token);
        r->tokens_per_j = pair(&x->tokens_per_j);
        r->metric = x->metric;
        snprintf(r->metric_unit, sizeof r->metric_unit, "%s", x->metric_unit ? x->metric_unit : "");
        bool streams = strcmp(r->metric_unit, "Watts") != 0, joules = strcmp(r->metric_unit, "Joules") == 0;
        r->metric_proper = streams ? x->mj_per_stream.proper / (joules ? 1000 : 1) : x->power.proper;
        r->performance = x->performance;
        snprintf(r->performance_unit, sizeof r->performance_unit, "%s", x->performance_unit);
        r->samples_per_s = x->samples_per_s;
        r->tokens_per_s = x->tokens_per_s;
        r->dropped = x->dropped;
    }
    r->window = samples(&p->window);
    r->file = samples(&p->file);
    r->broken = p->broken;
    r->out_of_order = p->out_of_order;
    r->duplicate_stamps = p->duplicate_stamps;
    r->max_gap_s = seconds(p->max_gap_ns);
    r->bridged_s = p->bridged_s;
    r->over_s = p->over_s;
    r->max_volts = p->max_volts;
    r->max_amps = p->max_amps;
    r->power_factor =
        p->window.n_pf > 0 ? (double)p->window.sum_pf_micro / 1e6 / (double)p->window.n_pf : NAN;
    r->channels = p->channels;
    r->analyzers = p->analyzers;
    r->director_clock_s = clocks(s);
    jm_mlperf_window(s, JM_MLPERF_TESTING, &r->t0, &r->t1);
    if (m && m->nameplate.present) {
        r->design_power_w = m->nameplate.watts;
        ok = ok &&
             jm_round_fact_add(r, "Nameplate, declared and not measured", "source", "%s%s%s",
                               m->nameplate.source ? m->nameplate.source : "the description",
                               m->nameplate.error ? "; " : "", m->nameplate.error ? m->nameplate.error : "");
    }
    if (c)
        ok = ok && judged(r, c);
    return ok ? 0
              : jm_err_set(err, JM_ENOMEM, "out of memory for the row of %s",
                           r->path ? r->path : "a session");
}
