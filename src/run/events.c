/* SPDX-License-Identifier: Apache-2.0 */
#include "run/events.h"

#include <stdlib.h>
#include <string.h>

#include "run/codec.h"

#include "base/banned.h"

int jm_event_batch_new(struct jm_event_batch **out, struct jm_err *err)
{
    struct jm_event_batch *b = calloc(1, sizeof *b);
    if (!b)
        return jm_err_set(err, JM_ENOMEM, "out of memory for token events");
    *out = b;
    return 0;
}

void jm_event_batch_free(struct jm_event_batch *b)
{
    if (!b)
        return;
    free(b->id);
    free(b->from);
    free(b->ev);
    free(b);
}

void jm_event_batch_reset(struct jm_event_batch *b)
{
    b->n_req = b->n_ev = 0;
}

static int grow(struct jm_event_batch *b, size_t req, size_t ev, struct jm_err *err)
{
    if (req > b->cap_req) {
        size_t cap = b->cap_req ? b->cap_req : 64;
        while (cap < req)
            cap *= 2;
        int64_t *id = realloc(b->id, cap * sizeof *id);
        if (id)
            b->id = id;
        size_t *from = realloc(b->from, (cap + 1) * sizeof *from);
        if (from)
            b->from = from;
        if (!id || !from)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the token events of %zu requests", req);
        b->cap_req = cap;
    }
    if (ev > b->cap_ev) {
        size_t cap = b->cap_ev ? b->cap_ev : 1024;
        while (cap < ev)
            cap *= 2;
        struct jm_token_event *p = realloc(b->ev, cap * sizeof *p);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "out of memory for %zu token events", ev);
        b->ev = p;
        b->cap_ev = cap;
    }
    return 0;
}

int jm_event_batch_add(struct jm_event_batch *b, int64_t request, const struct jm_token_event *ev, size_t n,
                       struct jm_err *err)
{
    if (!n)
        return 0;
    if (n > JM_EVENTS_MAX - b->n_ev)
        return jm_err_set(err, JM_ELIMIT, "request %lld has %zu token events, more than the %u of a block",
                          (long long)request, n, JM_EVENTS_MAX);
    int rc = grow(b, b->n_req + 1, b->n_ev + n, err);
    if (rc)
        return rc;
    b->id[b->n_req] = request;
    b->from[b->n_req] = b->n_ev;
    memcpy(b->ev + b->n_ev, ev, n * sizeof *ev);
    b->n_ev += n;
    b->from[++b->n_req] = b->n_ev;
    return 0;
}

/* Nearest microsecond, halves upwards; for negative times too. */
static int64_t to_us(int64_t ns)
{
    int64_t q = ns / 1000, rest = ns % 1000;
    if (rest < 0) {
        rest += 1000;
        q--;
    }
    return q + (rest >= 500);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Gaps of one request lie around its own inter-token time: their distance from the median is short. */
static void put_gaps(const struct jm_token_event *ev, size_t n, int64_t *gap, int64_t *sorted,
                     struct jm_str *bases)
{
    for (size_t i = 1; i < n; i++)
        gap[i - 1] = to_us(ev[i].t) - to_us(ev[i - 1].t);
    if (n < 2)
        return;
    memcpy(sorted, gap, (n - 1) * sizeof *gap);
    qsort(sorted, n - 1, sizeof *sorted, by_size);
    int64_t base = sorted[(n - 1) / 2];
    jm_varint_put(bases, jm_zigzag((uint64_t)base));
    for (size_t i = 0; i + 1 < n; i++)
        gap[i] -= base;
}

int jm_events_encode(const struct jm_event_batch *b, struct jm_str *out, int64_t *t_first, int64_t *t_last,
                     struct jm_err *err)
{
    if (!b->n_ev)
        return jm_err_set(err, JM_EINVAL, "a token chunk needs at least one event");
    int64_t *gap = malloc(2 * b->n_ev * sizeof *gap);
    uint16_t *small = malloc(b->n_ev * sizeof *small);
    struct jm_str high;
    jm_str_init(&high);
    int rc = gap && small ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for %zu token events", b->n_ev);
    if (rc)
        goto out;
    jm_varint_put(out, b->n_req);
    int64_t before = 0;
    for (size_t i = 0; i < b->n_req; before = b->id[i++])
        jm_varint_put(out, jm_zigzag((uint64_t)b->id[i] - (uint64_t)before));
    for (size_t i = 0; i < b->n_req; i++)
        jm_varint_put(out, b->from[i + 1] - b->from[i]);
    before = 0;
    *t_first = INT64_MAX;
    *t_last = INT64_MIN;
    for (size_t i = 0; i < b->n_req; i++) {
        int64_t us = to_us(b->ev[b->from[i]].t);
        jm_varint_put(out, jm_zigzag((uint64_t)us - (uint64_t)before));
        before = us;
    }
    size_t k = 0;
    for (size_t i = 0; i < b->n_req; i++) {
        size_t n = b->from[i + 1] - b->from[i];
        put_gaps(b->ev + b->from[i], n, gap + k, gap + b->n_ev, out);
        k += n - 1;
    }
    /* The low byte of a gap is nearly noise, the rest nearly constant: apart they compress better than mixed.
     */
    for (size_t i = 0; i < k; i++) {
        uint64_t z = jm_zigzag((uint64_t)gap[i]);
        jm_str_addc(out, (char)(z & 255));
        jm_varint_put(&high, z >> 8);
    }
    jm_str_addspan(out, jm_str_span(&high));
    for (size_t i = 0; i < b->n_ev; i++) {
        int64_t t = to_us(b->ev[i].t) * 1000;
        *t_first = t < *t_first ? t : *t_first;
        *t_last = t > *t_last ? t : *t_last;
        small[i] = b->ev[i].tokens;
    }
    jm_runs_put(out, small, b->n_ev);
    for (size_t i = 0; i < b->n_ev; i++)
        small[i] = b->ev[i].flags;
    jm_runs_put(out, small, b->n_ev);
    rc = jm_str_ok(&high, "a token chunk", err);
    if (!rc)
        rc = jm_str_ok(out, "a token chunk", err);
out:
    jm_str_release(&high);
    free(gap);
    free(small);
    return rc;
}

static int bad(struct jm_err *err, const char *what)
{
    return jm_err_set(err, JM_ECORRUPT, "a chunk of token events is damaged (%s)", what);
}

static int get_head(struct jm_span *s, struct jm_event_batch *b, struct jm_err *err)
{
    uint64_t n, z;
    /* a request takes three bytes at least: id, count, first stamp */
    if (!jm_varint_get(s, &n) || !n || n > s->n / 3)
        return bad(err, "number of requests");
    int rc = grow(b, (size_t)n, 0, err);
    if (rc)
        return rc;
    uint64_t id = 0;
    for (size_t i = 0; i < n; i++) {
        if (!jm_varint_get(s, &z))
            return bad(err, "request ids");
        b->id[i] = (int64_t)(id += jm_unzigzag(z));
    }
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        if (!jm_varint_get(s, &z) || !z || z > JM_EVENTS_MAX - total)
            return bad(err, "event counts");
        b->from[i] = total;
        total += (size_t)z;
    }
    b->from[n] = total;
    if (total - n > s->n)
        return bad(err, "fewer bytes than events");
    if ((rc = grow(b, (size_t)n, total, err)))
        return rc;
    b->n_req = (size_t)n;
    b->n_ev = total;
    return 0;
}

int jm_events_decode(struct jm_span plain, struct jm_event_batch *b, struct jm_err *err)
{
    uint64_t z, us = 0;
    jm_event_batch_reset(b);
    int rc = get_head(&plain, b, err);
    if (rc)
        goto out;
    rc = JM_ECORRUPT;
    /* t holds microseconds (modulo 2^64) until the end */
    for (size_t i = 0; i < b->n_req; i++) {
        if (!jm_varint_get(&plain, &z))
            goto out;
        us += jm_unzigzag(z);
        b->ev[b->from[i]].t = (int64_t)us;
    }
    for (size_t i = 0; i < b->n_req; i++) {
        if (b->from[i + 1] - b->from[i] < 2)
            continue;
        if (!jm_varint_get(&plain, &z))
            goto out;
        for (size_t k = b->from[i] + 1; k < b->from[i + 1]; k++)
            b->ev[k].t = (int64_t)jm_unzigzag(z);
    }
    size_t n_gap = b->n_ev - b->n_req, at = 0;
    if (plain.n < n_gap)
        goto out;
    struct jm_span high = jm_span_sub(plain, n_gap, plain.n);
    for (size_t i = 0; i < b->n_req; i++)
        for (size_t k = b->from[i] + 1; k < b->from[i + 1]; k++) {
            if (!jm_varint_get(&high, &z) || z >> 56)
                goto out;
            z = z << 8 | (unsigned char)plain.p[at++];
            b->ev[k].t = (int64_t)((uint64_t)b->ev[k - 1].t + (uint64_t)b->ev[k].t + jm_unzigzag(z));
        }
    for (size_t i = 0; i < b->n_ev; i++)
        if (__builtin_mul_overflow(b->ev[i].t, 1000, &b->ev[i].t))
            goto out;
    plain = high;
    uint16_t *small = malloc(b->n_ev * sizeof *small);
    if (!small) {
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for %zu token events", b->n_ev);
        goto out;
    }
    bool ok = jm_runs_get(&plain, small, b->n_ev, UINT16_MAX);
    for (size_t i = 0; ok && i < b->n_ev; i++)
        b->ev[i].tokens = small[i];
    ok = ok && jm_runs_get(&plain, small, b->n_ev, UINT16_MAX);
    for (size_t i = 0; ok && i < b->n_ev; i++)
        b->ev[i].flags = small[i];
    free(small);
    rc = ok && !plain.n ? 0 : JM_ECORRUPT;
out:
    if (rc == JM_ECORRUPT && b->n_req)
        bad(err, "columns");
    if (rc)
        jm_event_batch_reset(b);
    return rc;
}
