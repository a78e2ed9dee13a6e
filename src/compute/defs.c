/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/defs.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/stats.h"
#include "compute/observe.h"

#include "base/banned.h"

const char *const jm_lat_ids[JM_LAT_COUNT] = {
    [JM_LAT_TTFT] = "ttft",
    [JM_LAT_TTFT_SENT] = "ttft.from_sent",
    [JM_LAT_TTFT_CHUNK] = "ttft.first_chunk",
    [JM_LAT_TTFT_TEXT] = "ttft.incl_reasoning",
    [JM_LAT_TTFO] = "ttfo",
    [JM_LAT_TTFO_SENT] = "ttfo.from_sent",
    [JM_LAT_TTST] = "ttst",
    [JM_LAT_TPOT_EXCL] = "tpot.excl_first",
    [JM_LAT_TPOT_INCL] = "tpot.incl_prefill",
    [JM_LAT_TPOT_CHUNK] = "tpot.last_chunk",
    [JM_LAT_TPOT_MESSAGE] = "tpot.last_message",
    [JM_LAT_TPOT_DONE] = "tpot.done",
    [JM_LAT_TPOT_VISIBLE] = "tpot.visible",
    [JM_LAT_TPOT_NORMALIZED] = "tpot.normalized",
    [JM_LAT_ITL_TOKEN_MEAN] = "itl.token_mean",
    [JM_LAT_ITL_INCL_TTFT] = "itl.incl_ttft",
    [JM_LAT_E2E] = "e2e",
    [JM_LAT_E2E_SENT] = "e2e.from_sent",
    [JM_LAT_E2E_CHUNK] = "e2e.last_chunk",
    [JM_LAT_E2E_MESSAGE] = "e2e.last_message",
    [JM_LAT_E2E_DONE] = "e2e.done",
    [JM_LAT_E2E_CLOSED] = "e2e.closed",
    [JM_LAT_QUEUE] = "queue",
    [JM_LAT_QUEUE_ADMITTED] = "queue.admitted",
    [JM_LAT_TOKENS_PER_CHUNK] = "tokens_per_chunk",
    [JM_LAT_PREFILL_RATE] = "prefill_tokens_per_s",
    [JM_LAT_RATE_USER] = "tokens_per_s.per_user",
    [JM_LAT_RATE_REQUEST] = "tokens_per_s.per_request",
};

const char *const jm_gap_ids[JM_GAP_COUNT] = {
    [JM_GAP_CHUNK] = "itl.chunk",
    [JM_GAP_ANY_CHUNK] = "itl.any_chunk",
    [JM_GAP_INTERPOLATED] = "itl.token_interpolated",
    [JM_GAP_ZERO] = "itl.token_zero",
};

static int64_t first_of(const struct jm_request *q, const enum jm_stamp *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (q->t[order[i]] >= 0)
            return q->t[order[i]];
    return -1;
}
#define FIRST_OF(q, ...)                                                                                     \
    first_of(q, (const enum jm_stamp[]){__VA_ARGS__},                                                        \
             sizeof((const enum jm_stamp[]){__VA_ARGS__}) / sizeof(enum jm_stamp))

int64_t jm_request_end(const struct jm_request *q)
{
    return FIRST_OF(q, JM_T_CLOSED, JM_T_DONE, JM_T_LAST_TOKEN, JM_T_FIRST_BYTE, JM_T_SENT, JM_T_SCHEDULED);
}

int64_t jm_request_start(const struct jm_request *q)
{
    return FIRST_OF(q, JM_T_SENT, JM_T_ADMITTED, JM_T_SCHEDULED);
}

static double apart(int64_t from, int64_t to)
{
    return from < 0 || to < 0 ? NAN : jm_seconds_between(to, from);
}

static double between(const struct jm_request *q, enum jm_stamp a, enum jm_stamp b)
{
    return apart(q->t[a], q->t[b]);
}

static bool is_text(const struct jm_token_event *e)
{
    return !(e->flags & (JM_TE_TOOL | JM_TE_NO_TEXT));
}

static bool is_visible(const struct jm_token_event *e)
{
    return is_text(e) && !(e->flags & JM_TE_REASONING);
}

static int64_t first_text(const struct jm_token_event *ev, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_text(&ev[i]))
            return ev[i].t;
    return -1;
}

static int64_t last_visible(const struct jm_token_event *ev, size_t n)
{
    for (size_t i = n; i > 0; i--)
        if (is_visible(&ev[i - 1]))
            return ev[i - 1].t;
    return -1;
}

/* First and last chunk: where a run does not say (imported, or an older file), those of the tokens. */
static int64_t first_chunk(const struct jm_request *q)
{
    return FIRST_OF(q, JM_T_FIRST_CHUNK, JM_T_FIRST_TOKEN);
}

static int64_t last_chunk(const struct jm_request *q)
{
    return FIRST_OF(q, JM_T_LAST_CHUNK, JM_T_LAST_TOKEN);
}

/* A usage that came with or after the last chunk. */
static int64_t last_message(const struct jm_request *q)
{
    int64_t chunk = last_chunk(q);
    return q->t[JM_T_USAGE] > chunk ? q->t[JM_T_USAGE] : chunk;
}

static int64_t done(const struct jm_request *q)
{
    return FIRST_OF(q, JM_T_DONE, JM_T_CLOSED);
}

double jm_request_measure(const struct jm_request *q, const struct jm_token_event *ev, size_t n_ev,
                          enum jm_lat which, int64_t n)
{
    int64_t sent = jm_request_start(q), first = q->t[JM_T_FIRST_TOKEN], last = q->t[JM_T_LAST_TOKEN],
            text = ev ? first_text(ev, n_ev) : -1;
    double after = n < 2 ? NAN : (double)(n - 1),
           all = n < 1 ? NAN : (double)n; /* one token has no interval */
    switch (which) {
    case JM_LAT_TTFT: return between(q, JM_T_SCHEDULED, JM_T_FIRST_TOKEN);
    case JM_LAT_TTFT_SENT: return apart(sent, first);
    case JM_LAT_TTFT_CHUNK: return apart(sent, first_chunk(q));
    case JM_LAT_TTFT_TEXT: return apart(sent, text);
    case JM_LAT_TTFO: return between(q, JM_T_SCHEDULED, JM_T_FIRST_VISIBLE);
    case JM_LAT_TTFO_SENT: return apart(sent, q->t[JM_T_FIRST_VISIBLE]);
    case JM_LAT_TTST: return n_ev < 2 || !ev ? NAN : apart(ev[0].t, ev[1].t);
    case JM_LAT_TPOT_EXCL:
    case JM_LAT_ITL_TOKEN_MEAN: return apart(first, last) / after;
    case JM_LAT_TPOT_INCL: return apart(sent, last) / all;
    case JM_LAT_TPOT_CHUNK: return apart(first_chunk(q), last_chunk(q)) / after;
    case JM_LAT_TPOT_MESSAGE: return apart(first_chunk(q), last_message(q)) / after;
    case JM_LAT_TPOT_DONE: return apart(text, done(q)) / after;
    case JM_LAT_TPOT_VISIBLE:
        return ev ? apart(q->t[JM_T_FIRST_VISIBLE], last_visible(ev, n_ev)) / after : NAN;
    case JM_LAT_TPOT_NORMALIZED: return apart(sent, q->t[JM_T_CLOSED]) / all;
    case JM_LAT_ITL_INCL_TTFT: return ev ? apart(sent, last_visible(ev, n_ev)) / all : NAN;
    case JM_LAT_E2E: return between(q, JM_T_SCHEDULED, JM_T_LAST_TOKEN);
    case JM_LAT_E2E_SENT: return apart(sent, last);
    case JM_LAT_E2E_CHUNK: return apart(sent, last_chunk(q));
    case JM_LAT_E2E_MESSAGE: return apart(sent, last_message(q));
    case JM_LAT_E2E_DONE: return apart(sent, done(q));
    case JM_LAT_E2E_CLOSED: return apart(sent, q->t[JM_T_CLOSED]);
    case JM_LAT_QUEUE: return between(q, JM_T_SCHEDULED, JM_T_SENT);
    case JM_LAT_QUEUE_ADMITTED: return between(q, JM_T_SCHEDULED, JM_T_ADMITTED);
    case JM_LAT_TOKENS_PER_CHUNK: return q->events > 1 ? after / (double)(q->events - 1) : NAN;
    case JM_LAT_PREFILL_RATE:
        return q->prompt_tokens > 0 && first > sent ? (double)q->prompt_tokens / apart(sent, first) : NAN;
    case JM_LAT_RATE_USER: return first < last ? after / apart(first, last) : NAN;
    case JM_LAT_RATE_REQUEST: return sent < last ? all / apart(sent, last) : NAN;
    case JM_LAT_COUNT: break;
    }
    return NAN;
}

double jm_request_latency(const struct jm_request *q, enum jm_lat which)
{
    return jm_request_measure(q, NULL, 0, which, q->output_tokens);
}

struct jm_event_sums jm_event_sums(const struct jm_token_event *ev, size_t n)
{
    struct jm_event_sums s = {.from = ev[0].t, .to = ev[0].t};
    for (size_t i = 0; i < n; i++) {
        int64_t t = ev[i].t;
        bool known = ev[i].flags & JM_TE_COUNT_KNOWN;
        s.from = t < s.from ? t : s.from;
        s.to = t > s.to ? t : s.to;
        s.known += known;
        s.single += known & (ev[i].tokens == 1);
        s.reasoning += (ev[i].flags & JM_TE_REASONING) != 0;
        s.tokens += ev[i].tokens;
    }
    return s;
}

/* Tokens of an event: counted, or one where as many events as tokens came. -1: not known. */
static int64_t tokens_in(const struct jm_token_event *e, bool single)
{
    return e->flags & JM_TE_COUNT_KNOWN ? e->tokens : single ? 1 : -1;
}

static double ns_between(int64_t from, int64_t to)
{
    return (double)(int64_t)((uint64_t)to - (uint64_t)from);
}

static int chunk_gaps(const struct jm_token_event *ev, size_t n_ev, bool visible, jm_gap_fn put, void *self)
{
    int64_t before = -1;
    int rc = 0;
    for (size_t i = 0; !rc && i < n_ev; i++) {
        if (visible && !is_visible(&ev[i]))
            continue;
        if (before != -1)
            rc = put(self, ns_between(before, ev[i].t), 1);
        before = ev[i].t;
    }
    return rc;
}

int jm_request_end_gaps(const struct jm_request *q, const struct jm_token_event *ev, size_t n_ev,
                        jm_gap_fn put, void *self)
{
    int64_t first = q->t[JM_T_FIRST_CHUNK], last = q->t[JM_T_LAST_CHUNK];
    int rc = 0;
    if (first >= 0 && first < ev[0].t)
        rc = put(self, ns_between(first, ev[0].t), 1);
    if (!rc && last > ev[n_ev - 1].t)
        rc = put(self, ns_between(ev[n_ev - 1].t, last), 1);
    return rc;
}

/* As many events as tokens: one that does not say its count holds one. */
static bool is_single(size_t n_ev, int64_t n)
{
    return n >= 0 && (uint64_t)n == n_ev;
}

static int zero_gaps(const struct jm_token_event *ev, size_t n_ev, bool visible, bool single, jm_gap_fn put,
                     void *self)
{
    int64_t before = -1;
    int rc = 0;
    for (size_t i = 0; i < n_ev; i++)
        if ((!visible || is_visible(&ev[i])) && tokens_in(&ev[i], single) < 0)
            return JM_EABSENT;
    for (size_t i = 0; !rc && i < n_ev; i++) {
        int64_t k = visible && !is_visible(&ev[i]) ? 0 : tokens_in(&ev[i], single);
        if (k == 0)
            continue;
        if (before != -1)
            rc = put(self, ns_between(before, ev[i].t), 1);
        if (!rc && k > 1)
            rc = put(self, 0, k - 1);
        before = ev[i].t;
    }
    return rc;
}

int jm_request_gaps(const struct jm_request *q, const struct jm_token_event *ev, size_t n_ev,
                    enum jm_gap which, bool visible, int64_t n, jm_gap_fn put, void *self)
{
    if (which == JM_GAP_INTERPOLATED) {
        double each = jm_request_measure(q, NULL, 0, JM_LAT_TPOT_EXCL, n);
        return isnan(each) ? JM_EABSENT : put(self, each * 1e9, n - 1);
    }
    if (!ev || !n_ev)
        return JM_EABSENT;
    if (which == JM_GAP_ZERO)
        return zero_gaps(ev, n_ev, visible, is_single(n_ev, n), put, self);
    int rc = which == JM_GAP_ANY_CHUNK ? jm_request_end_gaps(q, ev, n_ev, put, self) : 0;
    return rc ? rc : chunk_gaps(ev, n_ev, visible, put, self);
}

double jm_loghist_edge(size_t i)
{
    return ldexp(1 + (double)(i % JM_LOGHIST_SUB) / JM_LOGHIST_SUB, 10 + (int)(i / JM_LOGHIST_SUB)) * 1e-9;
}

double jm_loghist_quantile(const struct jm_loghist *h, double q)
{
    double want = q * (double)(h->total ? h->total - 1 : 0) + 0.5; /* of the middle of its value */
    double seen = (double)h->zeros;
    if (h->total && want <= seen)
        return 0;
    for (size_t i = 0; h->total && i < JM_LOGHIST_N; i++) {
        double n = (double)h->count[i], lo = jm_loghist_edge(i);
        if (n > 0 && seen + n >= want)
            return lo + (jm_loghist_edge(i + 1) - lo) * (want - seen) / n;
        seen += n;
    }
    return NAN;
}

int jm_samples_add(struct jm_samples *s, double v)
{
    if (isnan(v))
        return 0;
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        double *p = realloc(s->v, cap * sizeof *p);
        if (!p)
            return JM_ENOMEM;
        s->v = p;
        s->cap = cap;
    }
    s->v[s->n++] = v;
    return 0;
}

struct jm_dist jm_samples_dist(struct jm_samples *s)
{
    struct jm_dist d = {
        .n = (int64_t)s->n, .mean = NAN, .min = NAN, .p50 = NAN, .p90 = NAN, .p99 = NAN, .max = NAN};
    if (s->n) {
        jm_stats_sort(s->v, s->n);
        d.mean = jm_stats_mean(s->v, s->n);
        d.min = s->v[0];
        d.p50 = jm_stats_quantile_sorted(s->v, s->n, .5);
        d.p90 = jm_stats_quantile_sorted(s->v, s->n, .9);
        d.p99 = jm_stats_quantile_sorted(s->v, s->n, .99);
        d.max = s->v[s->n - 1];
    }
    return d;
}

void jm_spans_init(struct jm_spans *s)
{
    *s = (struct jm_spans){-1, -1, -1, -1, -1, 0, 0, 0, 0, false};
}

static void earlier(int64_t *at, int64_t t)
{
    if (t >= 0 && (*at < 0 || t < *at))
        *at = t;
}

static void later(int64_t *at, int64_t t)
{
    *at = t > *at ? t : *at;
}

void jm_spans_add(struct jm_spans *s, const struct jm_request *q, bool good)
{
    int64_t start = q->t[JM_T_SENT] >= 0 || q->end != JM_END_UNFINISHED ? jm_request_start(q) : -1;
    earlier(&s->first_scheduled, q->t[JM_T_SCHEDULED] >= 0 ? q->t[JM_T_SCHEDULED] : start);
    earlier(&s->first_sent, start);
    later(&s->last_end, jm_request_end(q));
    s->any++;
    if (q->end != JM_END_OK)
        return;
    s->ok++;
    s->good += good;
    earlier(&s->ok_sent, start);
    later(&s->ok_token, q->t[JM_T_LAST_TOKEN] >= 0 ? q->t[JM_T_LAST_TOKEN] : jm_request_end(q));
    s->unknown |= q->output_tokens < 0;
    s->output += q->output_tokens > 0 ? (double)q->output_tokens : 0;
}

static double length(int64_t from, int64_t to)
{
    return from >= 0 && to > from ? jm_seconds_between(to, from) : 0;
}

double jm_spans_wall(const struct jm_spans *s)
{
    return length(s->first_scheduled, s->last_end);
}

double jm_spans_all(const struct jm_spans *s)
{
    return length(s->first_sent, s->last_end);
}

double jm_spans_success(const struct jm_spans *s)
{
    return length(s->ok_sent, s->ok_token);
}
