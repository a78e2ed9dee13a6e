/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and their token events → totals and latencies of each window, in one pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/observe.h"
#include "compute/phase_run.h"

#include "base/banned.h"

#define BUCKETS_MAX 7200 /* of the token rate: a second each in windows up to two hours */

bool jm_slo_given(const struct jm_slo *slo)
{
    return !isnan(slo->ttft_s) || !isnan(slo->tpot_s) || !isnan(slo->e2e_s);
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

/* A stamp that does not exist (-1) is in no window. */
static bool inside(const struct jm_window *w, int64_t t)
{
    return t >= 0 && t >= w->t0 && t < w->t1;
}

/* When the prompt was computed: the first token; of an answer that came whole, what came first of it. */
static int64_t prefilled_at(const struct jm_request *q)
{
    static const enum jm_stamp order[] = {JM_T_FIRST_TOKEN, JM_T_FIRST_BYTE, JM_T_LAST_TOKEN, JM_T_DONE,
                                          JM_T_CLOSED};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (q->t[order[i]] >= 0)
            return q->t[order[i]];
    return -1;
}

/* In flight at an edge, and there still (or perhaps) in prefill? A request that never gave a token because it
 * failed was not prefilled. */
static void straddle(const struct jm_request *q, int64_t edge, int64_t end, int64_t *in_flight,
                     int64_t *prefill)
{
    int64_t sent = jm_request_start(q), first = q->t[JM_T_FIRST_TOKEN];
    if (sent < 0 || sent >= edge || (q->end != JM_END_UNFINISHED && end < edge))
        return;
    ++*in_flight;
    *prefill += first >= 0 ? first >= edge : q->end == JM_END_OK || q->end == JM_END_UNFINISHED;
}

/* Everything of a request in one window but its output tokens. */
static int one_request(struct jm_calc_window *w, const struct jm_request *q, bool good)
{
    struct jm_tally *t = &w->tally;
    int64_t end = jm_request_end(q);
    bool ok = q->end == JM_END_OK;
    int rc = 0;
    straddle(q, w->w->t0, end, &t->in_flight_t0, &t->prefill_at_edge);
    straddle(q, w->w->t1, end, &t->in_flight_t1, &t->prefill_at_edge);
    if (inside(w->w, end) && q->end != JM_END_UNFINISHED) {
        t->by_end[q->end]++;
        t->done_ok += ok;
        t->done_aborted += q->end == JM_END_ABORTED;
        t->cancelled += q->planned_abort == 1;
        t->done_failed += !ok && q->end != JM_END_ABORTED;
        t->qualified_done += good;
        if (ok && q->prompt_tokens >= 0)
            rc = jm_samples_add(&t->isl, (double)q->prompt_tokens);
        if (!rc && ok && q->output_tokens >= 0)
            rc = jm_samples_add(&t->osl, (double)q->output_tokens);
    }
    if (ok && inside(w->w, prefilled_at(q))) {
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
    if (rc || !inside(w->w, q->t[JM_T_SCHEDULED]))
        return rc;
    t->scheduled++;
    t->scheduled_qualified += good;
    jm_spans_add(&t->spans, q, good);
    return 0;
}

static int every_window(struct jm_calc *c, const struct jm_request *q)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    struct jm_calc_window *w, *part;
    bool good = jm_request_qualifies(q, jm_slices_slo(c, q));
    for (int i = 0; i < JM_T_COUNT; i++)
        if (q->t[i] >= 0) {
            from = q->t[i] < from ? q->t[i] : from;
            to = q->t[i] > to ? q->t[i] : to;
        }
    if (q->end == JM_END_UNFINISHED)
        to = INT64_MAX; /* in flight until the run ended */
    size_t at = jm_windows_upto(c, to);
    while (to >= from && (w = jm_windows_next(c, &at, from)))
        if (one_request(w, q, good) ||
            ((part = jm_slices_part(c, w, q)) != NULL && one_request(part, q, good)))
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the latencies of the requests");
    c->reasoning_known |= q->reasoning_tokens >= 0;
    return 0;
}

static void add_tokens(struct jm_tally *t, double tokens, double reasoning, bool good)
{
    t->output += tokens;
    t->reasoning += reasoning;
    t->visible += tokens - reasoning;
    if (good)
        t->qualified += tokens;
}

static size_t bucket_of(const struct jm_calc_window *w, int64_t at)
{
    size_t b = (size_t)(((uint64_t)at - (uint64_t)w->w->t0) / (uint64_t)w->tally.bucket_ns);
    return b < w->tally.n_buckets ? b : w->tally.n_buckets - 1;
}

struct pass {
    struct jm_calc *c;
    const struct jm_request *q;
    size_t n, at;
    unsigned char *had_events; /* by index of the request */
    struct jm_phase_work *phases;
    double *gap; /* s: scratch */
    size_t cap;
};

/* Requests are sorted by id, and their events come nearly in that order. */
static const struct jm_request *find(struct pass *p, int64_t id)
{
    size_t at = jm_request_find(p->q, p->n, id, p->at);
    if (at == p->n)
        return NULL;
    p->at = at;
    return &p->q[at];
}

/* How many tokens an event stands for, and how many of them are reasoning, when only totals are known. */
struct shares {
    bool exact;         /* every event says its own count */
    bool told;          /* the stream tells reasoning apart */
    double text, think; /* tokens of an event that is not, and one that is, reasoning */
    double part;        /* of a text event's tokens: reasoning that the stream does not tell apart */
    double hidden;      /* reasoning tokens that no event carried: they came before the first event */
    double mean;        /* tokens an event, for the uncertainty */
    bool single;        /* each event holds one token */
    int64_t from, to;   /* first and last stamp */
};

static struct shares shares(const struct jm_request *q, const struct jm_event_sums *sum, size_t n,
                            int64_t *total)
{
    size_t known = sum->known, think = sum->reasoning;
    uint64_t counted = sum->tokens;
    *total = q->output_tokens >= 0 ? q->output_tokens : known == n ? (int64_t)counted : -1;
    struct shares s = {.exact = known == n && (int64_t)counted == *total,
                       .told = think > 0,
                       .from = sum->from,
                       .to = sum->to};
    /* as many events as tokens: one that does not say its count holds one */
    s.single =
        sum->single == known && (known == n || (q->output_tokens >= 0 && (uint64_t)q->output_tokens == n));
    if (*total < 0)
        return s;
    double t = (double)*total, r = q->reasoning_tokens < 0 ? NAN : fmin((double)q->reasoning_tokens, t);
    size_t text = n - think;
    s.mean = t / (double)n;
    s.text = s.think = s.mean;
    if (s.exact) {
        s.part = think == 0 && r > 0 ? r / t : 0;
    } else if (think == 0 && r > 0) {
        s.hidden = r;
        s.text = (t - r) / (double)n;
    } else if (think > 0 && text > 0 && r >= 0) {
        s.think = r / (double)think;
        s.text = (t - r) / (double)text;
    }
    return s;
}

#define GAPS_EXACT ((size_t)1 << 17) /* of a window and kind, that are kept one by one */

static int put_gap(void *self, double ns, int64_t times)
{
    struct jm_acc *a = self;
    a->most = GAPS_EXACT;
    return jm_acc_add(a, ns / 1e9, (double)times);
}

static int gap(struct jm_acc *a, enum jm_gap g, const struct jm_request *q, const struct jm_token_event *ev,
               size_t n)
{
    return jm_request_gaps(q, ev, n, g, false, q->output_tokens, put_gap, a) == JM_ENOMEM ? JM_ENOMEM : 0;
}

/* Gaps between events, s. NULL: out of memory. */
static const double *seconds_apart(struct pass *p, const struct jm_token_event *ev, size_t n)
{
    if (n > p->cap) {
        double *v = realloc(p->gap, n * sizeof *v);
        if (!v)
            return NULL;
        p->gap = v;
        p->cap = n;
    }
    for (size_t i = 1; i < n; i++)
        p->gap[i - 1] = (double)(int64_t)((uint64_t)ev[i].t - (uint64_t)ev[i - 1].t) / 1e9;
    return p->gap;
}

/* Most streams bring a token an event, and three of the four kinds are then the same many gaps: they are kept
 * once, and handed to each kind at the end. */
static int gaps(struct jm_calc_window *w, const struct jm_request *q, const struct jm_token_event *ev,
                size_t n, const double *common)
{
    int rc = 0;
    if (common) {
        w->gap_common.most = GAPS_EXACT;
        rc = jm_acc_add_many(&w->gap_common, common, n - 1);
        if (!rc)
            rc = jm_request_end_gaps(q, ev, n, put_gap, &w->gap[JM_GAP_ANY_CHUNK]);
        return rc ? rc : gap(&w->gap[JM_GAP_INTERPOLATED], JM_GAP_INTERPOLATED, q, ev, n);
    }
    for (int g = 0; !rc && g < JM_GAP_COUNT; g++)
        rc = gap(&w->gap[g], (enum jm_gap)g, q, ev, n);
    return rc;
}

int jm_tally_done(struct jm_calc_window *w)
{
    int rc = 0;
    w->tally.u_output = sqrt(w->tally.u_output);
    w->tally.u_qualified = sqrt(w->tally.u_qualified);
    for (int g = 0; !rc && g < JM_GAP_COUNT; g++) {
        w->gap[g].most = GAPS_EXACT;
        if (g != JM_GAP_INTERPOLATED)
            rc = jm_acc_merge(&w->gap[g], &w->gap_common);
    }
    jm_acc_release(&w->gap_common);
    w->gap_common = (struct jm_acc){0};
    return rc;
}

static bool alike(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* A definition that measures something else than the one that it was kept with gets a list of its own, or
 * that of one that leaves with it. */
static int part_from(struct jm_calc_window *w, const unsigned char *before, int l, const double *lat)
{
    int k = before[l];
    for (int i = k + 1; i < l; i++)
        if (before[i] == k && w->same[i] == i && alike(lat[i], lat[l])) {
            w->same[l] = (unsigned char)i;
            return 0;
        }
    size_t n = w->lat[k].n - !isnan(lat[k]); /* without the value of now */
    int rc = 0;
    w->same[l] = (unsigned char)l;
    for (size_t i = 0; !rc && i < n; i++)
        rc = jm_samples_add(&w->lat[l], w->lat[k].v[i]);
    return rc ? rc : jm_samples_add(&w->lat[l], lat[l]);
}

static int add_latencies(struct jm_calc_window *w, const double *lat)
{
    unsigned char before[JM_LAT_COUNT];
    int rc = 0;
    memcpy(before, w->same, sizeof before);
    for (int l = 0; !rc && l < JM_LAT_COUNT; l++) {
        if (before[l] == l)
            rc = jm_samples_add(&w->lat[l], lat[l]);
        else if (!alike(lat[l], lat[before[l]]))
            rc = part_from(w, before, l, lat);
    }
    return rc;
}

/* What a successful request measures, in the windows that it was scheduled in. single: its events hold a
 * token each. */
static int latencies(struct pass *pass, const struct jm_request *q, const struct jm_token_event *ev, size_t n,
                     bool single)
{
    struct jm_calc *c = pass->c;
    int64_t sched = q->t[JM_T_SCHEDULED];
    size_t at = sched >= 0 ? jm_windows_upto(c, sched) : 0;
    struct jm_calc_window *w;
    double lat[JM_LAT_COUNT];
    const double *common = NULL;
    bool measured = false;
    int rc = 0;
    while (!rc && (w = jm_windows_next(c, &at, sched))) {
        if (!inside(w->w, sched))
            continue;
        for (int l = 0; !measured && l < JM_LAT_COUNT; l++)
            lat[l] = jm_request_measure(q, ev, n, (enum jm_lat)l, q->output_tokens);
        if (!measured && single && !(common = seconds_apart(pass, ev, n)))
            rc = JM_ENOMEM;
        measured = true;
        for (struct jm_calc_window *p = w; !rc && p; p = p == w ? jm_slices_part(c, w, q) : NULL) {
            rc = add_latencies(p, lat);
            if (!rc)
                rc = gaps(p, q, ev, n, common);
        }
    }
    return rc ? jm_err_set(c->err, rc, "out of memory for the latencies of the requests") : 0;
}

/* Tokens of the events inside the window; part: of it, of the request's slice, or NULL. */
static void output(struct jm_calc_window *w, struct jm_calc_window *part, const struct jm_token_event *ev,
                   size_t n, const struct shares *s, bool good)
{
    struct jm_tally *t = &w->tally;
    double sum = 0, think = 0;
    size_t k = 0, bucket = SIZE_MAX;
    int64_t from = 0, to = -1; /* the time of the bucket */
    bool plain = s->exact && !s->told && !(s->part > 0) && inside(w->w, s->from) && inside(w->w, s->to);
    for (size_t i = 0; plain && i < n; i++) { /* as below, of what nearly all are */
        int64_t at = ev[i].t;
        k = n;
        sum += ev[i].tokens;
        if (at < from || at >= to) {
            if (!t->per_bucket)
                continue;
            bucket = bucket_of(w, at);
            from = (int64_t)((uint64_t)w->w->t0 + bucket * (uint64_t)t->bucket_ns);
            to = from + t->bucket_ns;
        }
        t->per_bucket[bucket] += ev[i].tokens;
    }
    for (size_t i = 0; !plain && i < n; i++) {
        int64_t at = ev[i].t;
        if (!inside(w->w, at))
            continue;
        bool thinks = ev[i].flags & JM_TE_REASONING;
        double tokens = s->exact ? ev[i].tokens : thinks ? s->think : s->text;
        k++;
        sum += tokens;
        think += thinks ? tokens : tokens * s->part;
        if (!t->per_bucket)
            continue;
        if (at < from || at >= to) { /* most events lie in the bucket of the one before */
            bucket = bucket_of(w, at);
            from = (int64_t)((uint64_t)w->w->t0 + bucket * (uint64_t)t->bucket_ns);
            to = from + t->bucket_ns;
        }
        t->per_bucket[bucket] += tokens;
    }
    if (s->hidden > 0 && inside(w->w, ev[0].t)) {
        sum += s->hidden;
        think += s->hidden;
        if (t->per_bucket)
            t->per_bucket[bucket_of(w, ev[0].t)] += s->hidden;
    }
    add_tokens(t, sum, think, good);
    if (part)
        add_tokens(&part->tally, sum, think, good);
    /* Where an edge cuts a request whose events do not say their counts: each has one token at least, and
     * which have more is not known. Variance of the sum of k of n such counts with a known total. */
    if (!s->exact && k > 0 && k < n) {
        double u2 = s->mean * fabs(s->mean - 1) * (double)k * (double)(n - k) / (double)n;
        for (struct jm_tally *x = t; x; x = x == t && part ? &part->tally : NULL) {
            x->u_output += u2;
            x->u_qualified += good ? u2 : 0;
        }
    }
}

static int on_events(void *self, int64_t id, const struct jm_token_event *ev, size_t n)
{
    struct pass *p = self;
    struct jm_calc *c = p->c;
    const struct jm_request *q = find(p, id);
    struct jm_calc_window *w, *part;
    int64_t total;
    if (!q || !n)
        return 0;
    struct jm_event_sums sum = jm_event_sums(ev, n);
    int rc = p->phases ? jm_phases_event(p->phases, p->at, ev, n, &sum) : 0;
    if (rc || q->end != JM_END_OK || p->had_events[p->at])
        return rc;
    p->had_events[p->at] = 1;
    struct shares s = shares(q, &sum, n, &total);
    bool good = jm_request_qualifies(q, jm_slices_slo(c, q));
    c->reasoning_known |= s.told;
    size_t at = jm_windows_upto(c, s.to);
    while ((w = jm_windows_next(c, &at, s.from))) {
        if (s.from >= w->w->t1)
            continue;
        part = jm_slices_part(c, w, q);
        if (total < 0) {
            w->tally.unknown_output++;
            if (part)
                part->tally.unknown_output++;
        } else {
            output(w, part, ev, n, &s, good);
        }
    }
    if (total >= 0 && jm_outside_touches(c, s.from, s.to)) {
        for (size_t i = 0; i < n; i++)
            jm_outside_put(c, ev[i].t,
                           s.exact                         ? ev[i].tokens
                           : ev[i].flags & JM_TE_REASONING ? s.think
                                                           : s.text);
        if (s.hidden > 0)
            jm_outside_put(c, ev[0].t, s.hidden);
    }
    return latencies(p, q, ev, n, s.single);
}

static void whole(struct jm_calc_window *w, int64_t at, double tokens, double reasoning, bool good)
{
    add_tokens(&w->tally, tokens, reasoning, good);
    if (w->tally.per_bucket)
        w->tally.per_bucket[bucket_of(w, at)] += tokens;
}

/* Requests without token events (answers that did not stream, imported summaries): all tokens at the
 * last-token stamp, or at the end; where an edge lies between start and end, any number of them may belong to
 * the other side. */
static void without_events(struct jm_calc *c, const struct jm_request *q)
{
    int64_t at = q->t[JM_T_LAST_TOKEN] >= 0 ? q->t[JM_T_LAST_TOKEN] : jm_request_end(q),
            from = jm_request_start(q);
    struct jm_calc_window *w;
    if (q->end != JM_END_OK || at < 0)
        return;
    from = from >= 0 && from < at ? from : at;
    bool good = jm_request_qualifies(q, jm_slices_slo(c, q));
    double n = (double)q->output_tokens,
           think = q->reasoning_tokens > 0 ? fmin((double)q->reasoning_tokens, n) : 0;
    size_t k = jm_windows_upto(c, at);
    if (q->output_tokens > 0)
        jm_outside_put(c, at, n);
    while ((w = jm_windows_next(c, &k, from))) {
        if (from >= w->w->t1)
            continue;
        for (struct jm_calc_window *p = w; p; p = p == w ? jm_slices_part(c, w, q) : NULL) {
            if (q->output_tokens < 0) {
                p->tally.unknown_output++;
                continue;
            }
            if (inside(w->w, at))
                whole(p, at, n, think, good);
            if (from < w->w->t0 || at >= w->w->t1) {
                p->tally.u_output += n * n / 3;
                p->tally.u_qualified += good ? n * n / 3 : 0;
            }
        }
    }
}

static int prepare(struct jm_calc *c)
{
    for (size_t k = 0; k < c->n_win + c->n_cover; k++)
        jm_spans_init(&c->win[k].tally.spans);
    for (size_t k = 0; k < c->n_win; k++) {
        struct jm_tally *t = &c->win[k].tally;
        double seconds = ceil(c->win[k].seconds), each = ceil(seconds / BUCKETS_MAX);
        if (c->win[k].w->role != JM_R_MEASURE)
            continue;
        t->bucket_ns = (int64_t)each * JM_NS_PER_S;
        t->n_buckets = (size_t)ceil(seconds / each);
        t->per_bucket = jm_report_alloc(c->r, t->n_buckets * sizeof(double));
        if (!t->per_bucket)
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the token rate");
    }
    return 0;
}

int jm_tally_requests(struct jm_calc *c, struct jm_phase_work *phases)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    c->r->has_requests = n > 0;
    if (!n)
        return 0;
    struct pass p = {.c = c, .q = q, .n = n, .had_events = calloc(n, 1), .phases = phases};
    int rc = p.had_events ? prepare(c) : jm_err_set(c->err, JM_ENOMEM, "out of memory for %zu requests", n);
    if (!rc)
        rc = jm_outside_init(c);
    if (!rc)
        rc = jm_slices_init(c);
    for (size_t i = 0; !rc && i < n; i++)
        rc = every_window(c, &q[i]);
    if (!rc)
        rc = jm_run_events_stored(c->run, on_events, &p, c->err);
    for (size_t i = 0; !rc && i < n; i++)
        if (!p.had_events[i] && q[i].end == JM_END_OK) {
            without_events(c, &q[i]);
            rc = latencies(&p, &q[i], NULL, 0, false);
        }
    int end = 0;
    for (size_t k = 0; !end && k < c->n_win + c->n_cover; k++)
        end = jm_tally_done(&c->win[k]);
    if (!end)
        end = jm_slices_done(c);
    if (!rc && end)
        rc = jm_err_set(c->err, end, "out of memory for the gaps between tokens");
    free(p.had_events);
    free(p.gap);
    return rc;
}

void jm_tally_release(struct jm_calc_window *w)
{
    for (int l = 0; l < JM_LAT_COUNT; l++)
        free(w->lat[l].v);
    free(w->tally.isl.v);
    free(w->tally.osl.v);
    for (int g = 0; g < JM_GAP_COUNT; g++)
        jm_acc_release(&w->gap[g]);
    jm_acc_release(&w->gap_common);
}
