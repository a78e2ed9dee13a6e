/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics engine.* of a window, and their pictures. */
#include <math.h>
#include <string.h>

#include "compute/engine.h"
#include "compute/observe.h"
#include "compute/ratio.h"

#include "base/banned.h"

#define NEAR_NS (2 * JM_NS_PER_S) /* a whole text this far from an edge stands for it */
#define GAP_S   3.0               /* between two texts: more is a gap in a picture, and in a mean */

static const char bounds[] = "bounds: the texts around the edges";

static struct jm_result *row(struct jm_calc *c, const struct jm_calc_window *w, const char *metric, double v)
{
    struct jm_result *x = jm_calc_result(c, w, metric, NULL);
    if (!x)
        return NULL;
    x->q.have = isfinite(v);
    x->q.value = v;
    x->instrument = "engine metrics";
    if (w->engine->of > 1) {
        x->of = w->engine->of;
        x->have_of = w->engine->have;
    }
    return x;
}

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the engine's metrics");
}

/* Only what is known gets a row. */
static int plain(struct jm_calc *c, const struct jm_calc_window *w, const char *metric, double v)
{
    return !isfinite(v) || row(c, w, metric, v) ? 0 : no_memory(c);
}

static int of(struct jm_calc *c, const struct jm_calc_window *w, const char *metric, double n,
              const char *n_name, double d, const char *d_name)
{
    if (!isfinite(n) || !(d > 0))
        return 0;
    struct jm_result *x = row(c, w, metric, n / d);
    if (!x)
        return no_memory(c);
    x->numerator = n;
    x->numerator_name = n_name;
    x->denominator = d;
    x->denominator_name = d_name;
    return 0;
}

static void bounded(struct jm_result *x, double lo, double hi)
{
    x->q.u = (struct jm_uncertainty){lo, hi, 1, NAN, bounds, "edges", JM_EXCL_REPEATS};
}

static double moved(struct jm_calc *c, const struct jm_calc_window *w, enum jm_eq q, bool host)
{
    struct jm_engine_moved m;
    double sum = NAN;
    for (size_t i = 0; i < c->engine->n; i++) {
        const struct jm_engine_line *l = &c->engine->line[i];
        if (l->source && l->source->host == host && jm_engine_moved(l, q, w->w->t0, w->w->t1, &m))
            sum = (isnan(sum) ? 0 : sum) + m.value;
    }
    return sum;
}

static int tokens(struct jm_calc *c, const struct jm_calc_window *w)
{
    const struct jm_engine_window *e = w->engine;
    struct jm_result *x;
    if (isfinite(e->tokens)) {
        if (!(x = row(c, w, "engine.generated_tokens", e->tokens)))
            return no_memory(c);
        bounded(x, e->tokens_lo, e->tokens_hi);
        if (!(x = row(c, w, "engine.tokens_per_s", e->tokens / w->seconds)))
            return no_memory(c);
        x->numerator = e->tokens;
        x->numerator_name = e->per_step ? "tokens generated" : "tokens of requests that ended";
        x->denominator = w->seconds;
        x->denominator_name = "seconds";
        bounded(x, e->tokens_lo / w->seconds, e->tokens_hi / w->seconds);
    }
    int rc = plain(c, w, "engine.prompt_tokens", e->prompt);
    if (!rc)
        rc = plain(c, w, "engine.cached_tokens", e->cached);
    /* what was made and reached no request that succeeded: aborted, failed, somebody else's */
    double lost = e->slots && e->lost >= 1 ? e->lost : NAN, more = e->per_step ? e->tokens - e->client : NAN,
           doubt = e->client_u + (e->tokens_hi - e->tokens_lo) / 2;
    if (more > doubt && !(lost > more))
        lost = more;
    if (!rc)
        rc = plain(c, w, "engine.aborted_tokens", lost);
    if (!rc && isfinite(e->tokens) && isfinite(e->client))
        rc = of(c, w, "engine.client_ratio", e->tokens, "tokens by the engine", e->client,
                "tokens by the client");
    return rc;
}

static int counts(struct jm_calc *c, const struct jm_calc_window *w)
{
    const struct jm_engine_window *e = w->engine;
    double steps = moved(c, w, JM_EQ_STEPS, false);
    int rc = plain(c, w, "engine.requests", e->requests);
    if (!rc)
        rc = plain(c, w, "engine.requests_aborted", e->aborted);
    if (!rc)
        rc = plain(c, w, "engine.requests_failed", e->failed);
    if (!rc)
        rc = plain(c, w, "engine.preemptions", e->preempted);
    if (!rc)
        rc = of(c, w, "engine.prefix_cache_hit_rate", e->prefix_hit, "tokens found", e->prefix_ask,
                "tokens looked for");
    if (!rc)
        rc = of(c, w, "engine.spec_acceptance", moved(c, w, JM_EQ_ACCEPTED, false), "tokens accepted",
                moved(c, w, JM_EQ_DRAFT, false), "tokens drafted");
    if (!rc)
        rc = plain(c, w, "engine.steps", steps);
    if (!rc && e->per_step)
        rc = of(c, w, "engine.tokens_per_step", e->tokens, "tokens generated", steps, "steps");
    if (!rc)
        rc = plain(c, w, "engine.prefill_s", moved(c, w, JM_EQ_PREFILL_S, false));
    if (!rc)
        rc = plain(c, w, "engine.decode_s", moved(c, w, JM_EQ_DECODE_S, false));
    if (!rc)
        rc = plain(c, w, "engine.queue_s", moved(c, w, JM_EQ_QUEUE_S, false));
    double joules = moved(c, w, JM_EQ_ENERGY, false);
    if (!rc && joules > 0)
        rc = plain(c, w, "engine.energy", joules);
    if (!rc)
        rc = plain(c, w, "engine.host_cpu", e->cpu_host);
    return rc ? rc : plain(c, w, "engine.process_cpu", e->cpu_process);
}

/* Mean by the trapezoid over the texts inside, gaps left out; the largest of them. Over sources: counts are
 * added up, shares are a mean. */
struct gauge {
    double mean, max;
};

static double value_of(const struct jm_engine_point *p, int which)
{
    return which == 0 ? p->running : which == 1 ? p->waiting : which == 2 ? p->kv : p->batch;
}

static struct gauge gauge(struct jm_calc *c, const struct jm_calc_window *w, int which)
{
    struct gauge g = {NAN, NAN};
    double n = 0;
    for (size_t i = 0; i < c->engine->n; i++) {
        const struct jm_engine_line *l = &c->engine->line[i];
        const struct jm_engine_point *last = NULL;
        double area = 0, time = 0, most = NAN;
        if (!l->source || l->source->host)
            continue;
        for (size_t k = 0; k < l->n; k++) {
            const struct jm_engine_point *p = &l->p[k];
            double v = value_of(p, which);
            if (!p->ok || isnan(v))
                continue;
            int64_t a = last ? (last->t0 > w->w->t0 ? last->t0 : w->w->t0) : 0,
                    b = p->t0 < w->w->t1 ? p->t0 : w->w->t1;
            double whole = last ? jm_seconds_between(p->t0, last->t0) : 0,
                   dt = last ? jm_seconds_between(b, a) : 0;
            if (last && dt > 0 && whole > 0 && whole <= GAP_S) {
                double v0 = value_of(last, which), slope = (v - v0) / whole,
                       at_a = v0 + slope * jm_seconds_between(a, last->t0),
                       at_b = v0 + slope * jm_seconds_between(b, last->t0);
                area += (at_a + at_b) / 2 * dt;
                time += dt;
            }
            if (p->t1 >= w->w->t0 && p->t0 <= w->w->t1)
                most = !(most >= v) ? v : most;
            last = p;
        }
        if (!(time > 0))
            continue;
        g.mean = (isnan(g.mean) ? 0 : g.mean) + area / time;
        g.max = which == 2 ? (!(g.max >= most) ? most : g.max) : (isnan(g.max) ? 0 : g.max) + most;
        n++;
    }
    if (which == 2)
        g.mean /= n;
    return g;
}

static int gauges(struct jm_calc *c, const struct jm_calc_window *w)
{
    static const char *const mean[] = {"engine.requests_running", "engine.queue_depth", "engine.kv_cache_use",
                                       "engine.batch_size"},
                             *const max[] = {"engine.requests_running.max", "engine.queue_depth.max",
                                             "engine.kv_cache_use.max", NULL};
    int rc = 0;
    for (int i = 0; !rc && i < 4; i++) {
        struct gauge g = gauge(c, w, i);
        rc = plain(c, w, mean[i], g.mean);
        if (!rc && max[i])
            rc = plain(c, w, max[i], i == 2 ? w->engine->kv_max : g.max);
    }
    return rc;
}

/* The whole text nearest to an edge. */
static const struct jm_engine_full *nearest(const struct jm_engine_line *l, int64_t t)
{
    const struct jm_engine_full *best = NULL;
    double least = (double)NEAR_NS / 1e9;
    for (size_t i = 0; i < l->n_full; i++) {
        const struct jm_engine_point *p = &l->p[l->full[i].point];
        double off = fabs(jm_seconds_between(p->t0 / 2 + p->t1 / 2, t));
        if (off <= least) {
            least = off;
            best = &l->full[i];
        }
    }
    return best;
}

static bool add_hist(struct jm_engine_hist *to, const struct jm_engine_hist *from)
{
    if (!to->n) {
        *to = *from;
        return true;
    }
    if (to->n != from->n || memcmp(to->le, from->le, to->n * sizeof *to->le) != 0)
        return false; /* other versions side by side have other edges */
    for (size_t i = 0; i < to->n; i++)
        to->count[i] += from->count[i];
    to->total += from->total;
    to->sum += from->sum;
    return true;
}

static int histogram(struct jm_calc *c, const struct jm_calc_window *w, enum jm_eq q, const char *metric)
{
    static const double quantiles[] = {0.5, 0.9, 0.99};
    struct jm_engine_hist h = {0}, one;
    for (size_t i = 0; i < c->engine->n; i++) {
        const struct jm_engine_line *l = &c->engine->line[i];
        const struct jm_engine_full *a = l->source && !l->source->host ? nearest(l, w->w->t0) : NULL,
                                    *b = a ? nearest(l, w->w->t1) : NULL;
        if (!a || !b || a == b)
            continue;
        for (size_t k = a->point + 1; k <= b->point; k++)
            if (l->p[k].resets)
                return 0; /* the buckets are those of two lives */
        if (!jm_engine_hist(&a->r, &b->r, q, &one) || !(one.total > 0))
            continue;
        if (!add_hist(&h, &one))
            return 0;
    }
    if (!(h.total > 0))
        return 0;
    struct jm_result *x = isfinite(h.sum) ? row(c, w, metric, h.sum / h.total) : NULL;
    if (isfinite(h.sum) && !x)
        return no_memory(c);
    if (x)
        x->n = (int64_t)llround(h.total);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        double lo, hi, v = jm_engine_hist_quantile(&h, quantiles[i], &lo, &hi);
        if (!(x = row(c, w, metric, v)))
            return no_memory(c);
        x->quantile = quantiles[i];
        x->n = (int64_t)llround(h.total);
        if (!x->q.have)
            x->q.reasons = "above-last-bucket";
        else
            x->q.u =
                (struct jm_uncertainty){lo, hi, 1, NAN, "edges of its bucket", "buckets", JM_EXCL_REPEATS};
    }
    return 0;
}

int jm_results_engine(struct jm_calc *c, const struct jm_calc_window *w)
{
    static const struct {
        enum jm_eq q;
        const char *metric;
    } hist[] = {{JM_EQ_H_TTFT, "engine.ttft"},
                {JM_EQ_H_ITL, "engine.itl"},
                {JM_EQ_H_E2E, "engine.e2e"},
                {JM_EQ_H_QUEUE, "engine.queue"}};
    int rc = 0;
    if (!c->engine || !c->engine->n || !w->engine || w->w->role != JM_R_MEASURE)
        return 0;
    rc = tokens(c, w);
    if (!rc)
        rc = counts(c, w);
    if (!rc)
        rc = gauges(c, w);
    for (size_t i = 0; !rc && i < sizeof hist / sizeof hist[0]; i++)
        rc = histogram(c, w, hist[i].q, hist[i].metric);
    return rc;
}

/* ---- pictures: a column holds the least and the most of the texts in it; between two texts that are not
 * too far apart the value stands */

static void hold(struct jm_series *s, int64_t from, int64_t to, double v)
{
    double span = jm_seconds_between(s->t1, s->t0);
    double a = jm_seconds_between(from, s->t0) / span * (double)s->n,
           b = jm_seconds_between(to, s->t0) / span * (double)s->n;
    size_t i = a > 0 ? (size_t)fmin(a, (double)s->n) : 0, end = b > 0 ? (size_t)fmin(b, (double)s->n) : 0;
    for (; b >= 0 && i <= end && i < s->n; i++) {
        s->min[i] = !(s->min[i] <= v) ? v : s->min[i];
        s->max[i] = !(s->max[i] >= v) ? v : s->max[i];
    }
}

int jm_engine_series_make(struct jm_calc *c, int64_t t0, int64_t t1, size_t columns)
{
    static const char *const label[] = {"running", "waiting", "KV-cache use"}, *const unit[] = {"requests",
                                                                                                "requests",
                                                                                                "share"};
    size_t engines = 0;
    for (size_t i = 0; c->engine && i < c->engine->n; i++)
        engines += c->engine->line[i].source && !c->engine->line[i].source->host;
    for (size_t i = 0, k = 0; c->engine && i < c->engine->n && k < 8; i++) {
        const struct jm_engine_line *l = &c->engine->line[i];
        if (!l->source || l->source->host || l->n < 2)
            continue;
        k++;
        for (int which = 0; which < 3; which++) {
            bool any = false;
            for (size_t p = 0; p < l->n; p++)
                any |= l->p[p].ok && !isnan(value_of(&l->p[p], which));
            if (!any)
                continue;
            struct jm_series *s = jm_report_series(c->r, columns);
            if (!s)
                return no_memory(c);
            s->label = engines > 1 ? jm_report_text(c->r, "%s, replica %zu", label[which], k) : label[which];
            s->unit = unit[which];
            s->t0 = t0;
            s->t1 = t1;
            for (size_t p = 0; p < l->n; p++) {
                double v = value_of(&l->p[p], which);
                if (!l->p[p].ok || isnan(v))
                    continue;
                bool near =
                    p + 1 < l->n && l->p[p + 1].ok && jm_seconds_between(l->p[p + 1].t0, l->p[p].t0) <= GAP_S;
                hold(s, l->p[p].t0, near ? l->p[p + 1].t0 : l->p[p].t1, v);
            }
        }
    }
    return 0;
}
