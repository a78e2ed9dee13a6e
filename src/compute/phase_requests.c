/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a run and their token events → what an allocation needs to know of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/observe.h"
#include "compute/phase_run.h"
#include "compute/phase_start.h"

#include "base/banned.h"

#define SPREAD 64 /* places for tokens of an answer that came whole */

static double since(const struct jm_phase_work *w, int64_t t)
{
    return jm_seconds_between(t, w->origin);
}

/* Tokens an event and a byte of requests that are counted, for those that are not. */
static void ratios(struct jm_phase_work *w)
{
    double out = 0, events = 0, in = 0, bytes = 0;
    for (size_t i = 0; i < w->n_q; i++) {
        const struct jm_request *q = &w->q[i];
        if (q->end == JM_END_OK && q->output_tokens > 0 && q->events > 0) {
            out += (double)q->output_tokens;
            events += (double)q->events;
        }
        if (q->prompt_tokens > 0 && q->prompt_bytes > 0) {
            in += (double)q->prompt_tokens;
            bytes += (double)q->prompt_bytes;
        }
    }
    w->tokens_an_event = events > 0 ? out / events : 1;
    w->tokens_a_byte = bytes > 0 ? in / bytes : NAN;
}

static double prompt_of(struct jm_phase_work *w, const struct jm_request *q)
{
    if (q->prompt_tokens >= 0)
        return (double)q->prompt_tokens;
    double guess = q->asked_isl > 0      ? (double)q->asked_isl
                   : q->prompt_bytes > 0 ? (double)q->prompt_bytes * w->tokens_a_byte
                                         : NAN;
    w->out->guessed_prompts += isfinite(guess);
    return guess;
}

const char *jm_phase_replica(const struct jm_run *run, const char *slice)
{
    char key[96];
    snprintf(key, sizeof key, "plan.%s.replica", slice);
    const char *said = jm_run_env(run, key);
    return said && said[0] ? said : slice;
}

/* Which unit a request belongs to: replicas serve their slices; pools all of them. */
static bool belongs(const struct jm_phase_of_run *u, const char *replica)
{
    return !u->name || strcmp(u->role, "serve") != 0 || strcmp(u->name, replica) == 0;
}

static int put(struct jm_phase_work *w, size_t k, const struct jm_phase_request *r, size_t n)
{
    const char *replica = w->n_units > 1 ? jm_phase_replica(w->c->run, w->q[k].slice) : "";
    int rc = 0;
    for (size_t i = 0; !rc && i < w->n_units; i++) {
        struct jm_phase_of_run *u = &w->unit[i];
        struct jm_phase_request x = *r;
        bool prefill = u->role && strcmp(u->role, "prefill") == 0,
             decode = u->role && strcmp(u->role, "decode") == 0;
        if (!belongs(u, replica))
            continue;
        if (prefill)
            x.last = x.first;
        if (decode) {
            x.start = x.first;
            x.prefill = 0;
        }
        rc = jm_phase_add(u->p, &x, w->tok, prefill ? 0 : n, w->c->err);
        if (!rc)
            u->of[k] = (uint32_t)jm_phase_requests(u->p);
    }
    w->taken++;
    return rc;
}

static int room(struct jm_phase_work *w, size_t n)
{
    if (n <= w->cap)
        return 0;
    struct jm_phase_token *v = realloc(w->tok, n * sizeof *v);
    if (!v)
        return jm_err_set(w->c->err, JM_ENOMEM, "out of memory for the tokens of a request");
    w->tok = v;
    w->cap = n;
    return 0;
}

/* Tokens without a stamp of their own, evenly over the time. */
static size_t evenly(struct jm_phase_work *w, double from, double to)
{
    for (size_t i = 0; i < SPREAD; i++)
        w->tok[i] = (struct jm_phase_token){from + (to - from) * ((double)i + 0.5) / SPREAD, 1};
    return SPREAD;
}

static size_t tokens(struct jm_phase_work *w, const struct jm_request *q, const struct jm_token_event *ev,
                     size_t n, const struct jm_event_sums *sums, struct jm_phase_request *r)
{
    uint64_t counted = sums->tokens;
    size_t m = 0;
    bool exact = n && sums->known == n && (q->output_tokens < 0 || (int64_t)counted == q->output_tokens);
    double total = q->output_tokens >= 0 ? (double)q->output_tokens
                   : exact               ? (double)counted
                                         : (double)n * w->tokens_an_event;
    r->each = 1;
    w->unknown_outputs += q->output_tokens < 0 && !exact && q->end == JM_END_OK;
    if (n > 1 && (exact || w->out->speculative)) {
        /* of speculative decoding an event is a verified step, whatever it brought */
        for (size_t i = 0; i < n; i++) {
            uint32_t units = w->out->speculative ? i > 0 : ev[i].tokens - (i == 0 && ev[i].tokens);
            if (units)
                w->tok[m++] = (struct jm_phase_token){since(w, ev[i].t), units};
        }
        return m;
    }
    if (!(total > 1))
        return 0;
    if (n > 1) {
        for (size_t i = 1; i < n; i++)
            w->tok[m++] = (struct jm_phase_token){since(w, ev[i].t), 1};
        r->each = (total - 1) / (double)(n - 1);
        return m;
    }
    r->each = (total - 1) / SPREAD;
    return evenly(w, r->last > r->first ? r->first : r->start, r->last);
}

static int take(struct jm_phase_work *w, size_t k, const struct jm_token_event *ev, size_t n,
                const struct jm_event_sums *sums)
{
    const struct jm_request *q = &w->q[k];
    int64_t start = jm_request_start(q), first = q->t[JM_T_FIRST_TOKEN], last = q->t[JM_T_LAST_TOKEN];
    int rc = room(w, n > SPREAD ? n : SPREAD);
    if (rc)
        return rc;
    if (n) {
        first = first < 0 || sums->from < first ? sums->from : first;
        last = sums->to > last ? sums->to : last;
    }
    bool whole = first < 0, bundled = n && (ev[0].flags & JM_TE_BUNDLED);
    if (whole) { /* an answer that came at once, or a file that does not say */
        first = last >= 0 ? last : jm_request_end(q);
        last = first;
    }
    if ((!n && q->output_tokens <= 0) || first < 0) {
        w->out->no_tokens++;
        return 0;
    }
    start = start < 0 || start > first ? first : start;
    last = last < first ? first : last;
    if (last < w->from || start > w->to)
        return 0;
    struct jm_phase_request r = {.start = since(w, start), .first = since(w, first), .last = since(w, last)};
    double prompt = prompt_of(w, q), cached = q->cached_tokens > 0 ? (double)q->cached_tokens : 0;
    if (!isfinite(prompt)) {
        w->unknown_prompts++;
        prompt = 0;
    }
    cached = fmin(cached, fmax(0, prompt - 1)); /* the last token is computed in any case */
    w->untimed += whole || bundled;
    w->out->cached_tokens += cached;
    w->out->cached_known |= q->cached_tokens >= 0;
    w->out->aborted += q->end != JM_END_OK;
    r.prefill = prompt - cached;
    r.context = prompt;
    size_t m = tokens(w, q, ev, n, sums, &r);
    if (!whole)
        r.start = jm_phase_start(&w->engine, r.start, r.first, r.prefill);
    return put(w, k, &r, m);
}

int jm_phases_event(struct jm_phase_work *w, size_t k, const struct jm_token_event *ev, size_t n,
                    const struct jm_event_sums *sums)
{
    if (!w->had || w->had[k])
        return 0;
    w->had[k] = 1;
    return take(w, k, ev, n, sums);
}

int jm_phase_take_begin(struct jm_phase_work *w)
{
    ratios(w);
    w->had = calloc(w->n_q + 1, 1);
    return w->had ? 0 : jm_err_set(w->c->err, JM_ENOMEM, "out of memory for %zu requests", w->n_q);
}

int jm_phase_take_rest(struct jm_phase_work *w)
{
    const struct jm_event_sums none = {0};
    int rc = 0;
    for (size_t k = 0; !rc && k < w->n_q; k++)
        if (!w->had[k])
            rc = take(w, k, NULL, 0, &none);
    return rc;
}
