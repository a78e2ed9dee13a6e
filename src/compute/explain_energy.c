/* SPDX-License-Identifier: Apache-2.0 */
/* Joules per output token as other tools would have divided them: other windows, other devices, other
 * counters, the same run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/explain.h"
#include "compute/observe.h"

#include "base/banned.h"

#define AIPERF_GRACE (666 * JM_NS_PER_MS) /* AIPerf metrics reference: telemetry after the last response */

struct job {
    const struct jm_run *run;
    struct jm_report *r;
    struct jm_explain *x;
    const struct jm_spans *span;
    double tokens;
    bool unknown;
    struct jm_err *err;
};

static struct jm_explain_row *add(struct job *j, const char *tool, const char *version, const char *key,
                                  const char *boundary, const char *why)
{
    struct jm_explain_row *x = &j->x->rows[j->x->n++];
    *x = (struct jm_explain_row){.tool = tool,
                                 .version = version,
                                 .key = key,
                                 .boundary = boundary,
                                 .why = why,
                                 .ours = !version,
                                 JM_EXPLAIN_NO_VALUE};
    return x;
}

static void divide(struct job *j, struct jm_explain_row *x, double joules, const char *name)
{
    x->numerator = joules;
    x->numerator_name = name;
    x->denominator = j->unknown ? NAN : j->tokens;
    x->denominator_name = "output tokens of successes";
    x->have = !j->unknown && j->tokens > 0 && isfinite(joules);
    x->mean = x->have ? joules / j->tokens : NAN;
    x->reason = x->have            ? NULL
                : j->unknown       ? "nobody counted the tokens"
                : !(j->tokens > 0) ? "no successful request gave a token"
                                   : "no energy counter of a GPU covers that time";
}

/* The energy of one channel over any time; NAN: it does not cover it. */
static int over(struct job *j, const struct jm_channel *ch, int64_t t0, int64_t t1, double *joules)
{
    struct jm_readings buf = {0};
    struct jm_energy e;
    *joules = NAN;
    if (t1 <= t0)
        return 0;
    int rc = jm_run_readings(j->run, ch->id, t0 - 5 * JM_NS_PER_S, t1 + 5 * JM_NS_PER_S, &buf, j->err);
    if (!rc && (ch->kind == JM_CH_COUNTER ? jm_energy_counter(ch, buf.v, buf.n, t0, t1, &e)
                                          : jm_energy_gauge(ch, buf.v, buf.n, t0, t1, &e)) == 0)
        *joules = jm_energy_has_value(&e) ? e.joules : NAN;
    jm_readings_release(&buf);
    return rc;
}

static bool counts(const struct jm_report *r, const struct jm_result *g, const struct jm_energy_row *e)
{
    bool in = false;
    for (size_t d = 0; d < g->n_domain; d++)
        in |= g->domain[d] == e->domain;
    return in && e->counted && e->window == g->window && r->channels[e->channel].provenance != JM_P_ESTIMATED;
}

/* The GPU boards that our boundary counts, over [t0, t1]. NAN: one of them has no value there. */
static int boards(struct job *j, int window, int64_t t0, int64_t t1, double *joules)
{
    const struct jm_result *g = jm_report_find(j->r, "energy", JM_B_GPU, window);
    int rc = 0, n = 0;
    *joules = 0;
    for (size_t i = 0; !rc && g && i < j->r->n_energy; i++) {
        double one;
        if (!counts(j->r, g, &j->r->energy[i]))
            continue;
        rc = over(j, &j->r->channels[j->r->energy[i].channel], t0, t1, &one);
        *joules += one;
        n++;
    }
    if (!n || !g || g->have_of < g->of)
        *joules = NAN;
    return rc;
}

/* The last time that every counter of those boards was read. */
static int64_t recorded_to(const struct job *j, int window)
{
    const struct jm_result *g = jm_report_find(j->r, "energy", JM_B_GPU, window);
    int64_t end = INT64_MAX, first, last, n;
    for (size_t i = 0; g && i < j->r->n_energy; i++)
        if (counts(j->r, g, &j->r->energy[i]) &&
            jm_run_channel_span(j->run, j->r->energy[i].channel, &first, &last, &n))
            end = last < end ? last : end;
    return end;
}

/* Over the requests of each measured window, from begin to end, with a grace after it. */
static int around(struct job *j, bool from_scheduled, int64_t grace, double *joules, bool *clipped)
{
    int rc = 0, k = 0;
    *clipped = false;
    *joules = 0;
    for (size_t i = 0; !rc && i < j->r->n_windows; i++) {
        const struct jm_window *w = &j->r->windows[i];
        double one;
        if (w->role != JM_R_MEASURE || w->t1 <= w->t0)
            continue;
        const struct jm_spans *s = &j->span[k++];
        int64_t t0 = from_scheduled ? s->first_scheduled : s->ok_sent,
                t1 = from_scheduled ? s->last_end : s->ok_token;
        int64_t end = recorded_to(j, (int)i);
        bool clip = t1 + grace > end && t1 < end;
        *clipped |= clip;
        rc = boards(j, (int)i, t0, clip ? end : t1 + grace, &one);
        *joules += t0 >= 0 && t1 > t0 ? one : NAN;
    }
    if (!k)
        *joules = NAN;
    return rc;
}

static bool is_gpu(const struct job *j, const struct jm_channel *ch)
{
    return ch->domain >= 0 && j->r->tree->d[ch->domain].kind == JM_D_GPU && ch->kind == JM_CH_COUNTER &&
           ch->unit == JM_U_J && !(ch->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF));
}

/* Every GPU counter of the host from its first reading to its last; and what they stand at in the end. */
static int all_gpus(struct job *j, double *joules, double *lifetime)
{
    int rc = 0, n = 0;
    *joules = *lifetime = 0;
    for (size_t i = 0; !rc && i < j->r->n_channels; i++) {
        const struct jm_channel *ch = &j->r->channels[i];
        struct jm_readings buf = {0};
        if (!is_gpu(j, ch))
            continue;
        rc = jm_run_readings(j->run, ch->id, INT64_MIN, INT64_MAX, &buf, j->err);
        const struct jm_reading *first = NULL, *last = NULL;
        for (size_t k = 0; k < buf.n; k++)
            if (buf.v[k].status == JM_S_OK) {
                first = first ? first : &buf.v[k];
                last = &buf.v[k];
            }
        if (last) {
            n++;
            *joules += jm_channel_value(ch, last->value) - jm_channel_value(ch, first->value);
            *lifetime += jm_channel_value(ch, last->value);
        }
        jm_readings_release(&buf);
    }
    if (!n)
        *joules = *lifetime = NAN;
    return rc;
}

/* Our row at each boundary, over the measured windows together. */
static void ours(struct job *j, const char *id)
{
    for (int b = JM_B_GPU; b < JM_B_COUNT; b++) {
        double num = 0, den = 0;
        const struct jm_result *first = NULL;
        const char *reason = NULL;
        for (size_t i = 0; i < j->r->n_results; i++) {
            const struct jm_result *x = &j->r->results[i];
            if (strcmp(x->metric, id) != 0 || (int)x->q.boundary != b || x->window < 0 || x->slice ||
                x->q.provenance == JM_P_ESTIMATED || j->r->windows[x->window].role != JM_R_MEASURE)
                continue;
            first = first ? first : x;
            reason = x->q.have ? reason : x->q.reasons ? x->q.reasons : "no value";
            num += x->numerator;
            den += x->denominator;
        }
        if (!first)
            continue;
        struct jm_explain_row *x =
            add(j, "joulemark", NULL, id, first->set,
                "Energy and tokens of the same window; failed requests keep their joules, tokens count where "
                "they came.");
        const struct jm_metric *m = jm_metric_find(id);
        x->metric = m->id;
        x->formula = m->formula;
        x->from = "begin of the measured window";
        x->to = "its end, energy interpolated between refreshes";
        x->requests = "successful ones, at the stamp of each token";
        x->tokens = "server's count";
        x->numerator = num;
        x->denominator = den;
        x->numerator_name = first->numerator_name;
        x->denominator_name = first->denominator_name;
        x->have = !reason && den > 0;
        /* conversions (kWh, mJ) keep their factor */
        x->mean = !x->have ? NAN
                  : first->denominator > 0 && first->numerator > 0
                      ? num / den * (first->q.value / (first->numerator / first->denominator))
                      : num / den;
        x->reason = x->have ? NULL : reason ? reason : "no tokens";
    }
}

static int peers(struct job *j)
{
    double e, all, lifetime;
    bool clipped;
    struct jm_explain_row *x;
    int rc = around(j, false, AIPERF_GRACE, &e, &clipped);
    if (rc)
        return rc;
    x = add(j, "AIPerf", "2026, metrics reference", "energy_per_output_token", "GPU boards by DCGM or NVML",
            "Counter difference from the first request to 666 ms after the last response, failures and drain "
            "included; a counter that was reset gives 0 J, not no value. It prints mJ.");
    x->from = "first request of the successes";
    x->to = clipped ? "666 ms after their last response; here to the end of the recording, which came sooner"
                    : "666 ms after their last response";
    x->requests = jm_peer_set_text(JM_PS_OK);
    x->tokens = jm_peer_tokens_text(JM_PT_CLIENT);
    x->approximate = true;
    divide(j, x, e, "energy of the GPU boards");
    if ((rc = around(j, true, 0, &e, &clipped)))
        return rc;
    x = add(
        j, "vLLM", "2026, benchmarks/lib/energy.py", "gpu_energy_per_output_token_j",
        "GPU boards named by --energy-gpu-ids, by NVML",
        "Two plain reads of the counter around the whole run, ramp and drain included: the refresh period "
        "is in the error. After a reset the keys are left out. Only the offline throughput bench has it.");
    x->from = "before the first request";
    x->to = "after the last one";
    x->requests = jm_peer_set_text(JM_PS_CHUNK);
    x->tokens = jm_peer_tokens_text(JM_PT_SERVER);
    divide(j, x, e, "energy of the GPU boards");
    if ((rc = all_gpus(j, &all, &lifetime)))
        return rc;
    x = add(j, "GenAI-Perf", "2025, perf_analyzer", "energy_consumption (MJ)", "each GPU of the exporter",
            "The mean of the counter's readings, and the counter counts since the driver was loaded: no "
            "energy of this run, and no joules per token.");
    if (isfinite(lifetime))
        x->reason = jm_report_text(j->r, "prints a lifetime counter: %.4g MJ over all GPUs in the end",
                                   lifetime / 1e6);
    if (!x->reason)
        x->reason = "prints a lifetime counter";
    x = add(j, "CodeCarbon", "v3, emissions tracker", "energy_consumed", "every GPU of the host, CPU, RAM",
            "From the start of its tracker to its end, loading the model included; other tenants' GPUs "
            "too. CPU by RAPL or a share of its TDP and RAM by rule of thumb are not in the figure here.");
    x->from = "first reading of the recording";
    x->to = "last reading";
    x->requests = jm_peer_set_text(JM_PS_ALL);
    x->approximate = true;
    divide(j, x, all, "energy of all GPUs of the host");
    x = add(j, "MLPerf", "power_check of the submission checker", "power / result_tokens_per_second",
            "wall, by a certified analyzer",
            "Plain mean of the analyzer's samples between power_begin and power_end over the tokens a second "
            "of the whole test.");
    x->from = "power_begin";
    x->to = "power_end";
    x->requests = jm_peer_set_text(JM_PS_OK);
    x->tokens = jm_peer_tokens_text(JM_PT_SERVER);
    const struct jm_result *w = NULL, *rate = NULL;
    for (size_t i = 0; i < j->r->n_windows && !(w && rate); i++) {
        if (j->r->windows[i].role != JM_R_MEASURE)
            continue;
        w = jm_report_find(j->r, "power.mean.mlperf", JM_B_WALL, (int)i);
        rate = jm_report_find(j->r, "tokens_per_s.wall", JM_B_NONE, (int)i);
    }
    if (w && w->q.have && rate && rate->q.have) {
        x->numerator = w->q.value;
        x->numerator_name = "mean power at the wall, W";
        x->denominator = rate->q.value;
        x->denominator_name = "output tokens a second, whole time";
        x->have = true;
        x->mean = w->q.value / rate->q.value;
    } else {
        x->reason = w && w->q.have ? "nobody counted the tokens" : "no meter at the wall";
    }
    x = add(j, "fmperf", "2025", "energy", "GPU power of DCGM, or Kepler, from Prometheus",
            "Power samples every 30 s, window rounded to whole seconds: a short run is mostly rounding.");
    x->reason = "needs the samples of its own Prometheus";
    static const char *const none[] = {"SGLang", "guidellm", "inference-perf", "llmperf", "EvalScope"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        x = add(j, none[i], "2026", "-", NULL, "Measures no energy.");
        x->reason = "prints no such number";
    }
    return 0;
}

int jm_explain_energy(const struct jm_run *run, struct jm_report *r, struct jm_explain *x, const char *id,
                      const struct jm_spans *span, struct jm_err *err)
{
    struct job j = {.run = run, .r = r, .x = x, .span = span, .err = err};
    const struct jm_metric *m = jm_metric_find(id);
    if (!m || !m->energy)
        id = "j_per.output_token";
    m = jm_metric_find(id);
    x->rows = jm_report_alloc(r, (JM_B_COUNT + 12 + jm_explain_claimed(r, x->family)) * sizeof *x->rows);
    if (!x->rows)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the numbers of other tools");
    x->unit = m->unit;
    for (int k = 0; k < (x->windows ? x->windows : 1); k++) {
        j.tokens += span[k].output;
        j.unknown |= span[k].unknown;
    }
    ours(&j, id);
    size_t mine = x->n;
    for (size_t i = 0; i < mine && r->n_passports; i++)
        x->rows[i].why =
            "Energy and tokens of the same window, its instruments corrected by their passports; "
            "show has what they showed beside it. Other tools know none.";
    if (!mine) {
        struct jm_explain_row *o =
            add(&j, "joulemark", NULL, id, NULL, "Energy and tokens of the same window.");
        o->metric = m->id;
        o->formula = m->formula;
        o->reason = "nothing was metered in a measured window";
        mine = 1;
    }
    int rc = peers(&j);
    bool same = strcmp(m->unit, "J/token") == 0;
    if (!rc)
        jm_explain_claims(r, x, x->n + jm_explain_claimed(r, x->family));
    for (size_t i = mine; i < x->n; i++)
        if (same && x->rows[i].have && x->rows[0].have && x->rows[0].mean > 0)
            x->rows[i].relative = x->rows[i].mean / x->rows[0].mean;
    if (!same)
        x->note = "The other tools are shown in joules per output token.";
    return rc;
}
