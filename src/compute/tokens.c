/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and their token events → totals and latencies of each window, in one pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"

#include "base/banned.h"

#define S(ns) ((double)(ns) / 1e9)

bool jm_slo_given(const struct jm_slo *slo)
{
    return !isnan(slo->ttft_s) || !isnan(slo->tpot_s) || !isnan(slo->e2e_s);
}

static double between(const struct jm_request *q, enum jm_stamp a, enum jm_stamp b)
{
    return q->t[a] < 0 || q->t[b] < 0 ? NAN : S(q->t[b] - q->t[a]);
}

double jm_request_latency(const struct jm_request *q, enum jm_lat which)
{
    int64_t n = q->output_tokens;
    switch (which) {
    case JM_LAT_TTFT: return between(q, JM_T_SCHEDULED, JM_T_FIRST_TOKEN);
    case JM_LAT_TTFO: return between(q, JM_T_SCHEDULED, JM_T_FIRST_VISIBLE);
    case JM_LAT_TPOT_EXCL:
    case JM_LAT_ITL_TOKEN_MEAN: /* one token has no interval */
        return n < 2 ? NAN : between(q, JM_T_FIRST_TOKEN, JM_T_LAST_TOKEN) / (double)(n - 1);
    case JM_LAT_TPOT_INCL: return n < 1 ? NAN : between(q, JM_T_SENT, JM_T_LAST_TOKEN) / (double)n;
    case JM_LAT_E2E: return between(q, JM_T_SCHEDULED, JM_T_LAST_TOKEN);
    case JM_LAT_QUEUE: return between(q, JM_T_SCHEDULED, JM_T_SENT);
    case JM_LAT_COUNT: break;
    }
    return NAN;
}

/* An objective that cannot be checked is not met. One-token answers have no TPOT: TTFT alone decides. */
bool jm_request_qualifies(const struct jm_request *q, const struct jm_slo *slo)
{
    if (q->end != JM_END_OK)
        return false;
    if (!isnan(slo->ttft_s) && !(jm_request_latency(q, JM_LAT_TTFT) <= slo->ttft_s))
        return false;
    if (!isnan(slo->tpot_s) && q->output_tokens != 1 &&
        !(jm_request_latency(q, JM_LAT_TPOT_EXCL) <= slo->tpot_s))
        return false;
    return isnan(slo->e2e_s) || jm_request_latency(q, JM_LAT_E2E) <= slo->e2e_s;
}

static size_t loghist_index(double us)
{
    if (!(us > 1))
        return 0;
    int e;
    double m = frexp(us, &e); /* us = m 2^e, m in [0.5, 1) */
    size_t i = (size_t)(e - 1) * JM_LOGHIST_SUB + (size_t)((m - 0.5) * 2 * JM_LOGHIST_SUB);
    return i < JM_LOGHIST_N ? i : JM_LOGHIST_N - 1;
}

void jm_loghist_add(struct jm_loghist *h, double seconds)
{
    h->count[loghist_index(seconds * 1e6)]++;
    h->total++;
    h->sum += seconds;
}

double jm_loghist_quantile(const struct jm_loghist *h, double q)
{
    uint64_t want = (uint64_t)(q * (double)(h->total ? h->total - 1 : 0)), seen = 0;
    if (!h->total)
        return NAN;
    for (size_t i = 0; i < JM_LOGHIST_N; i++) {
        seen += h->count[i];
        if (seen > want) /* middle of the bucket */
            return ldexp(0.5 + ((double)(i % JM_LOGHIST_SUB) + 0.5) / (2 * JM_LOGHIST_SUB),
                         (int)(i / JM_LOGHIST_SUB) + 1) *
                   1e-6;
    }
    return NAN;
}

static int sample(struct jm_samples *s, double v)
{
    if (isnan(v))
        return 0;
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 1024;
        double *p = realloc(s->v, cap * sizeof *p);
        if (!p)
            return JM_ENOMEM;
        s->v = p;
        s->cap = cap;
    }
    s->v[s->n++] = v;
    return 0;
}

static bool inside(const struct jm_window *w, int64_t t)
{
    return t >= w->t0 && t < w->t1;
}

/* The end of a request as the client saw it. */
static int64_t end_of(const struct jm_request *q)
{
    static const enum jm_stamp order[] = {JM_T_CLOSED, JM_T_DONE, JM_T_LAST_TOKEN, JM_T_FIRST_BYTE,
                                          JM_T_SENT};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (q->t[order[i]] >= 0)
            return q->t[order[i]];
    return q->t[JM_T_SCHEDULED];
}

static void straddle(const struct jm_request *q, int64_t edge, int64_t end, int64_t *in_flight,
                     int64_t *prefill)
{
    int64_t sent = q->t[JM_T_SENT] >= 0 ? q->t[JM_T_SENT] : q->t[JM_T_SCHEDULED];
    if (sent < 0 || sent >= edge || end < edge)
        return;
    ++*in_flight;
    if (q->t[JM_T_FIRST_TOKEN] < 0 || q->t[JM_T_FIRST_TOKEN] >= edge)
        ++*prefill;
}

/* Everything of a request but its output tokens. */
static int one_request(struct jm_calc *c, struct jm_calc_window *w, const struct jm_request *q)
{
    struct jm_tally *t = &w->tally;
    int64_t end = end_of(q);
    bool ok = q->end == JM_END_OK, good = ok && jm_request_qualifies(q, &c->o->slo);
    straddle(q, w->w->t0, end, &t->in_flight_t0, &t->prefill_at_edge);
    straddle(q, w->w->t1, end, &t->in_flight_t1, &t->prefill_at_edge);
    if (inside(w->w, end) && q->end != JM_END_UNFINISHED) {
        t->by_end[q->end]++;
        t->done_ok += ok;
        t->done_aborted += q->end == JM_END_ABORTED;
        t->done_failed += !ok && q->end != JM_END_ABORTED;
        t->qualified_done += good;
    }
    if (ok && inside(w->w, q->t[JM_T_FIRST_TOKEN])) {
        t->prefilled++;
        if (q->prompt_tokens < 0)
            t->unknown_input++;
        else
            t->input += (double)q->prompt_tokens;
        if (q->cached_tokens < 0)
            t->unknown_cached++;
        else
            t->cached += (double)q->cached_tokens;
    }
    if (!inside(w->w, q->t[JM_T_SCHEDULED]))
        return 0;
    t->scheduled++;
    t->scheduled_qualified += good;
    if (!ok)
        return 0;
    for (int l = 0; l < JM_LAT_COUNT; l++)
        if (sample(&w->lat[l], jm_request_latency(q, (enum jm_lat)l)))
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the latencies of %zu requests",
                              w->lat[l].n);
    return 0;
}

static void count_token(struct jm_calc_window *w, int64_t at, double tokens, bool reasoning, bool good)
{
    struct jm_tally *t = &w->tally;
    size_t s = (size_t)((at - w->w->t0) / INT64_C(1000000000));
    t->output += tokens;
    *(reasoning ? &t->reasoning : &t->visible) += tokens;
    if (good)
        t->qualified += tokens;
    if (t->per_second && s < t->n_seconds)
        t->per_second[s] += tokens;
}

struct pass {
    struct jm_calc *c;
    const struct jm_request *q;
    size_t n, at;
    unsigned char *had_events; /* by index of the request */
};

static const struct jm_request *find(struct pass *p, int64_t id)
{
    while (p->at < p->n && p->q[p->at].id < id)
        p->at++;
    return p->at < p->n && p->q[p->at].id == id ? &p->q[p->at] : NULL;
}

static int on_events(void *self, int64_t id, const struct jm_token_event *ev, size_t n)
{
    struct pass *p = self;
    const struct jm_request *q = find(p, id);
    if (!q || q->end != JM_END_OK || !n)
        return 0;
    p->had_events[p->at] = 1;
    int64_t counted = 0;
    bool exact = true;
    for (size_t i = 0; i < n; i++) {
        exact &= (ev[i].flags & JM_TE_COUNT_KNOWN) != 0;
        counted += ev[i].tokens;
    }
    int64_t total = q->output_tokens >= 0 ? q->output_tokens : exact ? counted : -1;
    exact &= counted == total;
    double share = total > 0 ? (double)total / (double)n : 0;
    bool good = jm_request_qualifies(q, &p->c->o->slo);
    for (size_t k = 0; k < p->c->n_win; k++) {
        struct jm_calc_window *w = &p->c->win[k];
        if (ev[n - 1].t < w->w->t0 || ev[0].t >= w->w->t1)
            continue;
        if (total < 0) {
            w->tally.unknown_output++;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            if (inside(w->w, ev[i].t))
                count_token(w, ev[i].t, exact ? ev[i].tokens : share, (ev[i].flags & JM_TE_REASONING) != 0,
                            good);
        /* a share that is not the true count of its event matters only where an edge cuts the request */
        int cuts = (ev[0].t < w->w->t0) + (ev[n - 1].t >= w->w->t1);
        if (!exact && cuts) {
            double u2 = cuts * share * share / 3 * (double)(n < 64 ? n : 64) / 4;
            w->tally.u_output += u2;
            if (good)
                w->tally.u_qualified += u2;
        }
    }
    for (size_t k = 0; k < p->c->n_win; k++) {
        struct jm_calc_window *w = &p->c->win[k];
        if (inside(w->w, q->t[JM_T_SCHEDULED]))
            for (size_t i = 1; i < n; i++)
                jm_loghist_add(&w->itl_chunk, S(ev[i].t - ev[i - 1].t));
    }
    return 0;
}

/* Requests without token events (answers that did not stream, imported summaries): all tokens at the
 * last-token stamp, or at the end. */
static void without_events(struct jm_calc *c, const struct jm_request *q)
{
    int64_t at = q->t[JM_T_LAST_TOKEN] >= 0 ? q->t[JM_T_LAST_TOKEN] : end_of(q);
    for (size_t k = 0; k < c->n_win; k++) {
        struct jm_calc_window *w = &c->win[k];
        if (q->end != JM_END_OK || !inside(w->w, at))
            continue;
        if (q->output_tokens < 0) {
            w->tally.unknown_output++;
        } else {
            count_token(w, at, (double)q->output_tokens, false, jm_request_qualifies(q, &c->o->slo));
            int64_t start = q->t[JM_T_SENT];
            if (start >= 0 && start < w->w->t0) /* generated partly before the window */
                w->tally.u_output += (double)q->output_tokens * (double)q->output_tokens / 3;
        }
    }
}

static struct jm_dist dist_of(double *v, size_t n)
{
    struct jm_dist d = {
        .n = (int64_t)n, .mean = NAN, .min = NAN, .p50 = NAN, .p90 = NAN, .p99 = NAN, .max = NAN};
    if (n) {
        jm_stats_sort(v, n);
        d.mean = jm_stats_mean(v, n);
        d.min = v[0];
        d.p50 = jm_stats_quantile_sorted(v, n, .5);
        d.p90 = jm_stats_quantile_sorted(v, n, .9);
        d.p99 = jm_stats_quantile_sorted(v, n, .99);
        d.max = v[n - 1];
    }
    return d;
}

/* ISL and OSL of the ok requests that ended in the window. */
static int lengths(struct jm_calc *c, struct jm_calc_window *w, const struct jm_request *q, size_t n)
{
    double *a = malloc((n ? n : 1) * sizeof *a), *b = malloc((n ? n : 1) * sizeof *b);
    size_t na = 0, nb = 0;
    if (!a || !b) {
        free(a);
        free(b);
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the lengths of %zu requests", n);
    }
    for (size_t i = 0; i < n; i++)
        if (q[i].end == JM_END_OK && inside(w->w, end_of(&q[i]))) {
            if (q[i].prompt_tokens >= 0)
                a[na++] = (double)q[i].prompt_tokens;
            if (q[i].output_tokens >= 0)
                b[nb++] = (double)q[i].output_tokens;
        }
    w->tally.isl = dist_of(a, na);
    w->tally.osl = dist_of(b, nb);
    free(a);
    free(b);
    return 0;
}

int jm_tally_requests(struct jm_calc *c)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    c->r->has_requests = n > 0;
    if (!n)
        return 0;
    struct pass p = {.c = c, .q = q, .n = n, .had_events = calloc(n, 1)};
    int rc = p.had_events ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for %zu requests", n);
    for (size_t k = 0; !rc && k < c->n_win; k++) {
        struct jm_calc_window *w = &c->win[k];
        double seconds = ceil(w->seconds);
        w->tally.n_seconds = seconds > 0 && seconds < 1e7 ? (size_t)seconds : 0;
        w->tally.per_second = jm_report_alloc(c->r, (w->tally.n_seconds + 1) * sizeof(double));
        for (size_t i = 0; !rc && i < n; i++)
            rc = one_request(c, w, &q[i]);
        if (!rc)
            rc = lengths(c, w, q, n);
    }
    if (!rc)
        rc = jm_run_events(c->run, on_events, &p, c->err);
    for (size_t i = 0; !rc && i < n; i++)
        if (!p.had_events[i])
            without_events(c, &q[i]);
    for (size_t k = 0; k < c->n_win; k++) {
        struct jm_tally *t = &c->win[k].tally;
        t->u_output = sqrt(t->u_output);
        t->u_qualified = sqrt(t->u_qualified);
    }
    free(p.had_events);
    return rc;
}

void jm_tally_release(struct jm_calc_window *w)
{
    for (int l = 0; l < JM_LAT_COUNT; l++)
        free(w->lat[l].v);
}
