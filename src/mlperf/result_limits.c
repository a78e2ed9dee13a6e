/* SPDX-License-Identifier: Apache-2.0 */
/* Every term is a limit, none a standard deviation: they are added up as they stand, so the interval covers
 * at least 95 %.
 *
 *   accuracy  sum over the inputs of  P x reading + V range x A range x range x (P/S or 1) + P tan(phi) x
 *             influence  (model/analyzer.h), each sample with its own power factor
 *   bridged   (s without a good sample / s) x (max - min of the window)
 *   edges     a sample of 1 s that holds an edge says nothing about where in its second the power was: what
 * lies inside a share f of it is f P +- f (1 - f) x swing, at most a quarter of the swing x 1 s; two edges
 *   clock     the window is LoadGen's, on the system's clock, the samples' is the Director's: a shift d of
 * the window moves d x (power after its end - power before its begin) of energy at most d x swing */
#include "mlperf/result_limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/span.h"
#include "import/mlperf_asked.h"
#include "model/analyzer.h"
#include "mlperf/ranges.h"

#include "base/banned.h"

#define NTP_RULE_S 0.4 /* mlcommons/power-dev lib/time_sync.py */
#define SAMPLE_S   1.0 /* "Go,1000,..." */

/* ---- what PTDaemon was told and said */

static void conversation(const struct jm_mlperf_side *server, struct jm_mlperf_asked *a)
{
    jm_mlperf_asked_init(a);
    for (size_t k = 0; k < server->n_ptd; k++)
        if (server->ptd[k].cmd)
            jm_mlperf_asked_message(a, jm_span_of(server->ptd[k].cmd), jm_span_of(server->ptd[k].reply));
}

static bool alike(const double list[1 + JM_MLPERF_INPUTS], int n)
{
    for (int i = 1; i < n; i++)
        if (jm_mlperf_range_of(list, i) != jm_mlperf_range_of(list, i + 1))
            return false;
    return true;
}

/* The n-th value of "Watts,1,2,3"; NAN: not there. */
static double value(struct jm_span reply, int n)
{
    struct jm_span one = {0};
    double v;
    for (int i = 0; i <= n; i++)
        if (!jm_span_field(&reply, ',', &one))
            return NAN;
    return jm_num_double(jm_span_trim(one), &v) == 0 ? v : NAN;
}

/* PTDaemon names the crest factor where the current is too high for it. */
static int crest_of(const struct jm_mlperf_ptd_log *log)
{
    for (size_t i = 0; i < log->n_events; i++) {
        const struct jm_mlperf_event *e = &log->events[i];
        const char *at = e->kind == JM_MLPERF_EV_ERROR && e->text ? strstr(e->text, " and CF ") : NULL;
        if (at && (at[8] == '3' || at[8] == '6'))
            return at[8] - '0';
    }
    return 0;
}

/* How far apart the clocks were at most, as the client's "time" commands say: the server's answer is between
 * the two stamps around it where the clocks agree. */
static double clocks_apart(const struct jm_mlperf_side *client)
{
    double worst = NAN;
    for (size_t i = 0; i < client->n_messages; i++) {
        const struct jm_mlperf_message *m = &client->messages[i];
        double t;
        if (!m->cmd || strcmp(m->cmd, "time") != 0 || !m->reply ||
            jm_num_double(jm_span_trim(jm_span_of(m->reply)), &t))
            continue;
        double d = fmax(fabs(m->cmd_time - t), fabs(m->reply_time - t));
        if (isfinite(d) && !(d <= worst))
            worst = d;
    }
    return worst;
}

/* ---- the terms */

static double accuracy_w(const struct jm_mlperf_power *p, const struct jm_analyzer *m,
                         const struct jm_mlperf_ranges *r, int crest)
{
    int n = p->channels;
    double sum = 0;
    for (int i = n ? 1 : 0; i <= n && i <= JM_MLPERF_INPUTS; i++) {
        const struct jm_mlperf_input *in = &p->input[i];
        if (in->n && in->watts == 0) /* not connected */
            continue;
        if (!in->n_known)
            return NAN;
        double k = (double)in->n_known;
        sum += jm_analyzer_limits_w(m, jm_mlperf_range_of(r->volts, i), jm_mlperf_range_of(r->amps, i), crest,
                                    in->known_watts / k, in->ratio / k, in->tangent / k);
    }
    return sum > 0 ? sum : NAN;
}

/* Of several analyzers: each one's own model and ranges, as PTDaemon's log says them, on what it measured as
 * a whole. models: their names, in words. */
static double accuracy_of_all(const struct jm_mlperf_session *s, int crest, char *models, size_t n)
{
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    double sum = 0;
    models[0] = 0;
    for (int i = 1; i <= p->analyzers && i <= JM_MLPERF_INPUTS; i++) {
        const struct jm_mlperf_input *in = &p->input[i];
        struct jm_analyzer m;
        struct jm_mlperf_ranges g;
        struct jm_span model = jm_mlperf_model_logged(&s->ptd_log, i);
        if (!in->n_known || !jm_analyzer_find(model, &m) || !m.known ||
            jm_span_find(model, JM_SPAN("_multichannel")) >= 0 ||
            !jm_mlperf_ranges_logged(&s->ptd_log, i, &g))
            return NAN;
        double k = (double)in->n_known, v = jm_mlperf_range_of(g.volts, 0), a = jm_mlperf_range_of(g.amps, 0);
        sum += jm_analyzer_limits_w(&m, v, a, crest, in->known_watts / k, in->ratio / k, in->tangent / k);
        size_t at = strlen(models);
        snprintf(models + at, n - at, "%s%s on %g V x %g A", i > 1 ? ", " : "", m.model, v, a);
    }
    return sum > 0 ? sum : NAN;
}

static double swing_w(const struct jm_mlperf_samples *s)
{
    return s->good + s->over > 1 ? (double)(s->max_uw - s->min_uw) / 1e6 : NAN;
}

static void ptd_beside(const struct jm_mlperf_power *p, const struct jm_mlperf_asked *a,
                       const struct jm_analyzer *m, bool one_range, struct jm_mlperf_result *out)
{
    struct jm_mlperf_ptd_said *d = &out->ptd;
    *d = (struct jm_mlperf_ptd_said){NAN, NAN, NAN, NAN, m->ptd};
    if (a->identified < 2) { /* else of one of several analyzers */
        d->watts = value(a->watts, 1);
        d->uncertainty = value(a->uncertainty, 1);
    }
    if (!(d->uncertainty > 0)) /* -1: not evaluated */
        d->uncertainty = NAN;
    if (p->file.n_positive)
        d->our_watts = p->file.plain_positive_w / (double)p->file.n_positive;
    if (m->known && p->doubt.n && one_range && isfinite(out->v_range * out->a_range))
        d->our_uncertainty = m->reading +
                             m->range * (out->crest == 6 && m->crest != 6 ? 2 : 1) * out->v_range *
                                 out->a_range * (m->by_s ? p->doubt.ratio : p->doubt.inputs) /
                                 (double)p->doubt.n +
                             m->influence * p->doubt.tangent / (double)p->doubt.n;
}

/* Why there is no accuracy; false: there is one. */
static bool lacks(const struct jm_mlperf_session *s, const struct jm_mlperf_asked *a, bool row,
                  const struct jm_analyzer *m, const struct jm_mlperf_result *r, char *out, size_t n)
{
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    if (!p->present)
        snprintf(out, n, "none: there is no power log");
    else if (!isfinite(r->power.proper))
        snprintf(out, n, "none: the power log does not cover the load window");
    else if (p->analyzers > 1 || a->identified > 1)
        snprintf(out, n,
                 "none: several analyzers, and ptd_logs.txt does not tell the model and the ranges of each, "
                 "or one "
                 "has several channels");
    else if (!a->model.n)
        snprintf(out, n, "none: no analyzer is named (server.json has no reply to Identify)");
    else if (!row)
        snprintf(out, n, "none: the accuracy of %.40s is not in the table", r->analyzer);
    else if (!m->known)
        snprintf(out, n, "none: the accuracy of %.40s is not known (%.*s)", r->analyzer,
                 (int)(m->source.n < 300 ? m->source.n : 300), m->source.p);
    else if (!isfinite(r->v_range) || !isfinite(r->a_range))
        snprintf(out, n, "none: the ranges of the testing phase are not known (%s)",
                 isfinite(a->volts) && isfinite(a->amps)
                     ? "none of the analyzer's is as large as what was asked"
                     : "automatic, or not in server.json");
    else if (!isfinite(r->limits.accuracy))
        snprintf(out, n, "none: the log has neither volts and amps nor a power factor of every input");
    else
        return false;
    return true;
}

static void words(const struct jm_mlperf_session *s, const struct jm_analyzer *m,
                  const struct jm_mlperf_ranges *g, bool one_range, bool stand_in,
                  struct jm_mlperf_result *out)
{
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    snprintf(
        out->accuracy, sizeof out->accuracy,
        "%s%s on %g V x %g A%s (%s), crest factor %d%s, %.*s: limits of %g %% of the reading + %g %% of the "
        "range%s + "
        "tan(phi) x %g %%, each sample with its own power factor; sum of limits, at least 95 %%; "
        "source: %.*s",
        stand_in ? "simulated " : "", out->analyzer, out->v_range, out->a_range,
        !p->channels ? ""
        : one_range  ? " each"
                     : " and others",
        g->logged ? "as PTDaemon logged" : "next larger than asked", out->crest ? out->crest : 3,
        out->crest ? "" : " (taken)", (int)m->band.n, m->band.p, 100 * m->reading, 100 * m->range,
        m->by_s ? " x P/S" : "", 100 * m->influence, (int)(m->source.n < 200 ? m->source.n : 200),
        m->source.p);
}

static void words_of_all(const struct jm_mlperf_power *p, const char *models, struct jm_mlperf_result *out)
{
    snprintf(out->accuracy, sizeof out->accuracy,
             "%d analyzers: %.280s (as PTDaemon logged), crest factor %d%s, 45-66 Hz: limits of reading, "
             "range and "
             "power factor of each; sum of limits, at least 95 %%; sources: docs/mlperf-rounds.md",
             p->analyzers, models, out->crest ? out->crest : 3, out->crest ? "" : " (taken)");
}

static void left_out(const struct jm_mlperf_power *p, const struct jm_analyzer *m,
                     struct jm_mlperf_result *out)
{
    char over[160] = "";
    if (p->window.over)
        snprintf(over, sizeof over,
                 "what %lld over-range samples lost by clipping (the power can only be higher, so there is "
                 "no upper "
                 "limit), ",
                 (long long)p->window.over);
    snprintf(
        out->excludes, sizeof out->excludes,
        "%scalibration older than %d months, self-heating, filters, wiring and leads, frequencies outside "
        "%.*s, parts of the system that are not behind the analyzer, repeats (one run)",
        over, m->months ? m->months : 12, m->band.n ? (int)m->band.n : 8, m->band.n ? m->band.p : "45-66 Hz");
}

void jm_mlperf_result_limits(const struct jm_mlperf_session *s, struct jm_mlperf_result *out)
{
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    struct jm_analyzer m = {.reading = NAN};
    struct jm_mlperf_asked a;
    conversation(&s->server, &a);
    snprintf(out->analyzer, sizeof out->analyzer, "%.*s", (int)(a.model.n < 47 ? a.model.n : 47),
             a.model.p ? a.model.p : "");
    bool row = a.model.n && jm_analyzer_find(a.model, &m);
    out->crest = crest_of(&s->ptd_log);
    struct jm_mlperf_ranges g;
    jm_mlperf_ranges_none(&g);
    if (!jm_mlperf_ranges_logged(&s->ptd_log, 1, &g)) {
        g.volts[0] = row ? jm_analyzer_range(m.volts, a.volts, out->crest) : NAN;
        g.amps[0] = row ? jm_analyzer_range(m.amps, a.amps, out->crest) : NAN;
    }
    out->v_range = jm_mlperf_range_of(g.volts, 1);
    out->a_range = jm_mlperf_range_of(g.amps, 1);
    bool one_range = alike(g.volts, p->channels) && alike(g.amps, p->channels);
    double t = out->seconds, swing = swing_w(&p->file), inside = swing_w(&p->window);
    out->limits = (struct jm_mlperf_limits_of){
        .accuracy = row && p->analyzers <= 1 ? accuracy_w(p, &m, &g, out->crest) : NAN,
        .bridged = p->bridged_s > 0 ? p->bridged_s / t * inside : p->bridged_s / t,
        .edges = 2 * 0.25 * SAMPLE_S * swing / t,
        .clock_s = clocks_apart(&s->client),
    };
    if (!isfinite(out->limits.clock_s))
        out->limits.clock_s = NTP_RULE_S;
    out->limits.clock = out->limits.clock_s * swing / t;
    ptd_beside(p, &a, &m, one_range, out);
    char models[320];
    double all = p->analyzers > 1 ? accuracy_of_all(s, out->crest, models, sizeof models) : NAN;
    if (isfinite(all) && isfinite(out->power.proper))
        out->limits.accuracy = all;
    else if (lacks(s, &a, row, &m, out, out->accuracy, sizeof out->accuracy))
        return;
    double half = out->limits.accuracy + out->limits.bridged + out->limits.edges + out->limits.clock;
    if (isfinite(half)) {
        out->power.lo = out->power.proper - half;
        out->power.hi = p->window.over ? NAN : out->power.proper + half; /* clipped: no upper limit */
        out->energy.lo = out->power.lo * t;
        out->energy.hi = out->power.hi * t;
    }
    if (isfinite(all))
        words_of_all(p, models, out);
    else
        words(s, &m, &g, one_range, a.stand_in, out);
    left_out(p, &m, out);
}
