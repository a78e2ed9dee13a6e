/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine says about a window, beside what the client knows of the same one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/engine.h"

#include "base/banned.h"

/* An engine may take a moment to notice that a client has gone. */
#define LINGER_NS (100 * JM_NS_PER_MS)

static double plus(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Over all engine sources of the run: the sum, only where every one that has the quantity covers the window.
 */
static double total(const struct jm_engine_run *e, enum jm_eq q, const struct jm_window *w,
                    struct jm_engine_moved *out)
{
    struct jm_engine_moved m, sum = {NAN, NAN, NAN};
    for (size_t i = 0; i < e->n; i++) {
        const struct jm_engine_line *l = &e->line[i];
        if (!l->source || l->source->host || !l->has[q])
            continue;
        if (!jm_engine_moved(l, q, w->t0, w->t1, &m))
            return NAN;
        sum.value = plus(sum.value, m.value);
        sum.lo = plus(sum.lo, m.lo);
        sum.hi = plus(sum.hi, m.hi);
    }
    if (out)
        *out = sum;
    return sum.value;
}

static double total_of(const struct jm_engine_run *e, enum jm_eq q, const struct jm_window *w)
{
    return total(e, q, w, NULL);
}

static size_t upto(const int64_t *v, size_t n, int64_t t)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid] <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Requests of ours that may be in the engine at some time of [t0, t1]. */
static double ours(const struct jm_engine_run *e, int64_t t0, int64_t t1, int64_t lag)
{
    return (double)upto(e->sent, e->n_requests, t1) -
           (double)upto(e->closed, e->n_closed, t0 - LINGER_NS - lag);
}

static bool within(const struct jm_engine_point *p, const struct jm_window *w)
{
    return p->t1 >= w->t0 && p->t0 <= w->t1;
}

/* The text nearest to t; texts are in order of time. */
static const struct jm_engine_point *nearest(const struct jm_engine_line *l, int64_t t)
{
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->p[mid].t0 < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct jm_engine_point *a = NULL, *b = NULL;
    for (size_t i = lo; i < l->n && !b; i++)
        b = l->p[i].ok ? &l->p[i] : NULL;
    for (size_t i = lo; i-- > 0 && !a;)
        a = l->p[i].ok ? &l->p[i] : NULL;
    return !a ? b : !b || t - a->t0 < b->t0 - t ? a : b;
}

/* Running and waiting, text by text: queues, and what is not ours. With several sources the sum is that of
 * the texts nearest in time. */
static void texts(struct jm_calc *c, struct jm_engine_window *x, const struct jm_window *w)
{
    const struct jm_engine_run *e = c->engine;
    int64_t lag = 0;
    const struct jm_engine_line *first = NULL;
    double n = 0, n_wait = 0, queued = 0, foreign = 0, foreign_sum = 0;
    for (size_t i = 0; i < e->n; i++) {
        const struct jm_engine_line *l = &e->line[i];
        const struct jm_engine_point *last = NULL;
        if (!l->source || l->source->host)
            continue;
        first = first ? first : l;
        int64_t own = l->dialect ? (int64_t)(l->dialect->gauge_lag_s * 1e9) : 0;
        lag = own > lag ? own : lag;
        for (size_t k = 0; k < l->n; k++) {
            const struct jm_engine_point *p = &l->p[k];
            if (!p->ok)
                continue;
            if (p->t1 >= w->t0 && last && last->t0 <= w->t1) {
                double gap =
                    (double)((p->t0 < w->t1 ? p->t0 : w->t1) - (last->t1 > w->t0 ? last->t1 : w->t0)) / 1e9;
                x->gap_s = gap > x->gap_s ? gap : x->gap_s;
                x->resets += p->resets;
                x->vanished += p->vanished;
            }
            double start = p->start - (double)c->r->real_offset / 1e9;
            x->started |= start > (double)w->t0 / 1e9 && start < (double)w->t1 / 1e9;
            if (within(p, w))
                x->kv_max = !(x->kv_max >= p->kv_most) ? p->kv_most : x->kv_max;
            last = p;
        }
    }
    for (size_t k = 0; first && k < first->n; k++) {
        const struct jm_engine_point *p = &first->p[k];
        double running = 0, waiting = 0;
        if (!p->ok || !within(p, w))
            continue;
        for (size_t i = 0; i < e->n; i++) {
            const struct jm_engine_line *l = &e->line[i];
            if (!l->source || l->source->host)
                continue;
            const struct jm_engine_point *near = nearest(l, p->t0);
            running += near ? near->running : NAN;
            waiting += near && !isnan(near->waiting) ? near->waiting : 0;
        }
        if (isnan(running))
            continue;
        n++;
        n_wait += !isnan(p->waiting);
        queued += waiting >= 1;
        x->queue_min = !(x->queue_min <= waiting) ? waiting : x->queue_min;
        x->running_max = !(x->running_max >= running) ? running : x->running_max;
        double mine = ours(e, p->t0, p->t1, lag), more = running + waiting - mine;
        x->in_flight_max = !(x->in_flight_max >= mine) ? mine : x->in_flight_max;
        foreign += more >= 1;
        foreign_sum += more > 0 ? more : 0;
    }
    x->queue_share = n_wait > 0 ? queued / n_wait : NAN;
    x->queue_min = n_wait > 0 ? x->queue_min : NAN;
    x->excess = n > 0 && c->r->has_requests ? foreign_sum / n : NAN;
    x->excess_share = n > 0 && c->r->has_requests ? foreign / n : NAN;
}

/* The same tokens as the client has them: at their stamps where the engine counts per step, those of the
 * requests that ended inside where it counts at their end. */
static void client_side(struct jm_calc *c, struct jm_engine_window *x, const struct jm_calc_window *w)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    double ended = 0, longest = 0;
    x->edge_requests = (double)(w->tally.in_flight_t0 + w->tally.in_flight_t1);
    bool unknown = false;
    if (!c->r->has_requests)
        return;
    x->client_requests = x->client_other = x->client_prompt = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t end = jm_request_end(&q[i]), sent = q[i].t[JM_T_SENT],
                first = q[i].t[JM_T_FIRST_TOKEN] >= 0 ? q[i].t[JM_T_FIRST_TOKEN] : end;
        double tokens = q[i].output_tokens >= 0 ? (double)q[i].output_tokens : (double)q[i].events;
        bool in = end >= w->w->t0 && end < w->w->t1;
        if (first >= w->w->t0 && first < w->w->t1 && q[i].prompt_tokens > 0)
            x->client_prompt += (double)q[i].prompt_tokens;
        x->client_requests += in && sent >= 0;
        if (q[i].end != JM_END_OK && tokens > 0 && sent >= 0 && sent < w->w->t1 &&
            (end < 0 || end >= w->w->t0))
            x->client_other += tokens;
        if (!in || q[i].end != JM_END_OK)
            continue;
        unknown |= q[i].output_tokens < 0;
        ended += q[i].output_tokens > 0 ? (double)q[i].output_tokens : 0;
        longest = tokens > longest ? tokens : longest;
    }
    if (x->per_step) {
        /* a token may be on its way, or in a step under way, for each stream at each edge */
        x->client = w->tally.unknown_output ? NAN : w->tally.output;
        x->client_u = hypot(w->tally.u_output, 2.0 * (double)(w->tally.in_flight_t0 + w->tally.in_flight_t1));
    } else {
        x->client = unknown ? NAN : ended;
        x->client_u = w->tally.in_flight_t0 + w->tally.in_flight_t1 > 0 ? longest : 0;
    }
}

/* Mean utilisation of the GPUs that serve; of all where it is not known which. */
static int gpu_busy(struct jm_calc *c, struct jm_engine_window *x, const struct jm_window *w)
{
    struct jm_readings buf = {0};
    double sum = 0, n = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->r->n_channels; i++) {
        const struct jm_channel *ch = &c->r->channels[i];
        if (strcmp(ch->name, "util.gpu") != 0 ||
            (c->tree.sut_known &&
             (ch->domain < 0 || (size_t)ch->domain >= c->tree.n || !c->tree.serving[ch->domain])))
            continue;
        buf.n = 0;
        rc = jm_run_readings(c->run, ch->id, w->t0, w->t1, &buf, c->err);
        for (size_t k = 0; !rc && k < buf.n; k++)
            if (buf.v[k].status == JM_S_OK && buf.v[k].t0 >= w->t0 && buf.v[k].t1 <= w->t1) {
                sum += jm_channel_value(ch, buf.v[k].value);
                n++;
            }
    }
    jm_readings_release(&buf);
    x->gpu_busy = n > 0 ? sum / n : NAN;
    return rc;
}

static void host(const struct jm_engine_run *e, struct jm_engine_window *x, const struct jm_calc_window *w)
{
    struct jm_engine_moved busy, all, process;
    for (size_t i = 0; i < e->n; i++) {
        const struct jm_engine_line *l = &e->line[i];
        if (!l->source || !l->source->host)
            continue;
        if (jm_engine_moved(l, JM_EQ_CPU_BUSY, w->w->t0, w->w->t1, &busy) &&
            jm_engine_moved(l, JM_EQ_CPU_ALL, w->w->t0, w->w->t1, &all) && all.value > 0)
            x->cpu_host = busy.value / all.value;
        if (jm_engine_moved(l, JM_EQ_PROCESS, w->w->t0, w->w->t1, &process) && w->seconds > 0)
            x->cpu_process = process.value / w->seconds;
    }
}

static int one(struct jm_calc *c, struct jm_calc_window *w, struct jm_engine_window *x)
{
    const struct jm_engine_run *e = c->engine;
    struct jm_engine_moved m = {NAN, NAN, NAN}, lost;
    bool step = true, any = false;
    *x = (struct jm_engine_window){.window = w->index,
                                   .tokens = NAN,
                                   .tokens_lo = NAN,
                                   .tokens_hi = NAN,
                                   .client = NAN,
                                   .client_u = NAN,
                                   .client_other = NAN,
                                   .prompt = NAN,
                                   .client_prompt = NAN,
                                   .cached = NAN,
                                   .requests = NAN,
                                   .client_requests = NAN,
                                   .aborted = NAN,
                                   .failed = NAN,
                                   .preempted = NAN,
                                   .prefix_ask = NAN,
                                   .prefix_hit = NAN,
                                   .lost = NAN,
                                   .running_max = NAN,
                                   .in_flight_max = NAN,
                                   .excess = NAN,
                                   .excess_share = NAN,
                                   .queue_min = NAN,
                                   .queue_share = NAN,
                                   .kv_max = NAN,
                                   .cpu_host = NAN,
                                   .cpu_process = NAN,
                                   .gpu_busy = NAN};
    for (size_t i = 0; i < c->r->n_engine; i++)
        x->of += !c->r->engine[i].host;
    for (size_t i = 0; i < e->n; i++) {
        const struct jm_engine_line *l = &e->line[i];
        if (!l->source || l->source->host)
            continue;
        bool covers = false;
        for (int q = 0; q < JM_EQ_COUNTERS && !covers; q++)
            covers = jm_engine_moved(l, (enum jm_eq)q, w->w->t0, w->w->t1, &m);
        x->have += covers;
        bool tokens =
            l->n && (!isnan(l->p[l->n - 1].sum[JM_EQ_GEN_STEP]) || !isnan(l->p[l->n - 1].sum[JM_EQ_GEN_END]));
        step &= !tokens || l->source->per_step;
        x->slots |= tokens && l->dialect && l->dialect->slots && l->has[JM_EQ_GEN_STEP];
        any |= tokens;
        if (jm_engine_moved(l, JM_EQ_STEPS, w->w->t0, w->w->t1, &lost) && l->dialect && l->dialect->slots) {
            double a = 0, b = 0; /* lost tokens at the edges */
            for (size_t k = 0; k < l->n; k++) {
                a = l->p[k].ok && l->p[k].t0 <= w->w->t0 ? l->p[k].lost : a;
                b = l->p[k].ok && l->p[k].t0 <= w->w->t1 ? l->p[k].lost : b;
            }
            x->lost = plus(x->lost, b - a);
        }
    }
    x->per_step = any && step;
    m = (struct jm_engine_moved){NAN, NAN, NAN};
    if (x->have == x->of) {
        x->tokens = total(e, x->per_step ? JM_EQ_GEN_STEP : JM_EQ_GEN_END, w->w, &m);
        x->tokens_lo = m.lo;
        x->tokens_hi = m.hi;
    }
    x->prompt = total_of(e, JM_EQ_PROMPT, w->w);
    x->cached = total_of(e, JM_EQ_CACHED, w->w);
    double stop = total_of(e, JM_EQ_REQ_STOP, w->w), len = total_of(e, JM_EQ_REQ_LENGTH, w->w),
           well = total_of(e, JM_EQ_REQ_OK, w->w);
    x->aborted = total_of(e, JM_EQ_REQ_ABORT, w->w);
    x->failed = total_of(e, JM_EQ_REQ_ERROR, w->w);
    x->requests = total(e, JM_EQ_REQ_ALL, w->w, &m);
    x->requests_lo = m.lo;
    if (isnan(x->requests))
        x->requests = x->requests_lo =
            plus(plus(isnan(well) ? plus(stop, len) : well, x->aborted), x->failed);
    x->preempted = total_of(e, JM_EQ_PREEMPT, w->w);
    x->prefix_ask = total_of(e, JM_EQ_PREFIX_ASK, w->w);
    x->prefix_hit = total_of(e, JM_EQ_PREFIX_HIT, w->w);
    texts(c, x, w->w);
    client_side(c, x, w);
    host(e, x, w);
    return gpu_busy(c, x, w->w);
}

int jm_engine_windows(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    int rc = 0;
    r->engine_windows = jm_report_alloc(r, (c->n_win + 1) * sizeof *r->engine_windows);
    if (!r->engine_windows)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the engine's metrics");
    for (size_t i = 0; !rc && i < c->n_win; i++) {
        struct jm_engine_window *x = &r->engine_windows[r->n_engine_windows++];
        rc = one(c, &c->win[i], x);
        c->win[i].engine = x;
    }
    return rc;
}
