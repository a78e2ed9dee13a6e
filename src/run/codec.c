/* SPDX-License-Identifier: Apache-2.0 */
#include "run/codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { VALUES_DELTA = 0, VALUES_RAW = 1, VALUES_XOR = 2 }; /* value mode byte */

void jm_runs_put(struct jm_str *s, const uint16_t *v, size_t n)
{
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && v[k] == v[i]; k++)
            ;
        jm_varint_put(s, k - i);
        jm_varint_put(s, v[i]);
    }
}

bool jm_runs_get(struct jm_span *s, uint16_t *v, size_t n, uint16_t max)
{
    for (size_t i = 0; i < n;) {
        uint64_t len, x;
        if (!jm_varint_get(s, &len) || !jm_varint_get(s, &x) || !len || len > n - i || x > max)
            return false;
        while (len--)
            v[i++] = (uint16_t)x;
    }
    return true;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Differences cluster around one of them (the period, a typical read time): coding the distance from their
 * median makes most of them short. Differences are modulo 2^64, so nothing can overflow. */
static int put_column(const uint64_t *d, size_t n, struct jm_str *out, struct jm_err *err)
{
    if (!n)
        return 0;
    int64_t *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a chunk of %zu readings", n);
    memcpy(sorted, d, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    uint64_t base = (uint64_t)sorted[n / 2];
    free(sorted);
    jm_varint_put(out, jm_zigzag(base));
    for (size_t i = 0; i < n; i++)
        jm_varint_put(out, jm_zigzag(d[i] - base));
    return 0;
}

static bool get_column(struct jm_span *s, uint64_t *base, size_t n)
{
    uint64_t z;
    *base = 0;
    if (!n)
        return true;
    if (!jm_varint_get(s, &z))
        return false;
    *base = jm_unzigzag(z);
    return true;
}

static int put_times(const struct jm_reading *r, size_t n, const struct jm_reading *ref, uint64_t *d,
                     struct jm_str *out, struct jm_err *err)
{
    int rc;
    if (ref) {
        for (size_t i = 0; i < n; i++)
            d[i] = (uint64_t)r[i].t0 - (uint64_t)ref[i].t1;
        rc = put_column(d, n, out, err);
    } else {
        jm_varint_put(out, jm_zigzag((uint64_t)r[0].t0));
        for (size_t i = 1; i < n; i++)
            d[i - 1] = (uint64_t)r[i].t0 - (uint64_t)r[i - 1].t0;
        rc = put_column(d, n - 1, out, err);
    }
    for (size_t i = 0; i < n; i++)
        d[i] = (uint64_t)r[i].t1 - (uint64_t)r[i].t0;
    return rc ? rc : put_column(d, n, out, err);
}

/* Doubles that came from short decimals or repeat share their leading bits with the one before; the trailing
 * zero bytes of round binary values are brought to the front by the byte swap. */
static void put_xor(const struct jm_reading *r, size_t n, struct jm_str *out)
{
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        jm_varint_put(out, __builtin_bswap64((uint64_t)r[i].value ^ before));
        before = (uint64_t)r[i].value;
    }
}

static void put_raw(const struct jm_reading *r, size_t n, struct jm_str *out)
{
    for (size_t i = 0; i < n; i++) {
        char b[8];
        for (unsigned k = 0; k < 8; k++)
            b[k] = (char)((uint64_t)r[i].value >> (8 * k));
        jm_str_add(out, b, 8);
    }
}

static int put_values(const struct jm_reading *r, size_t n, bool is_double, uint64_t *d, struct jm_str *out,
                      struct jm_err *err)
{
    if (is_double) {
        size_t mark = out->len;
        jm_str_addc(out, VALUES_XOR);
        put_xor(r, n, out);
        if (out->failed || out->len - mark - 1 <= 8 * n)
            return 0;
        out->len = mark;
        jm_str_addc(out, VALUES_RAW);
        put_raw(r, n, out);
        return 0;
    }
    jm_str_addc(out, VALUES_DELTA);
    jm_varint_put(out, jm_zigzag((uint64_t)r[0].value));
    for (size_t i = 1; i < n; i++)
        d[i - 1] = (uint64_t)r[i].value - (uint64_t)r[i - 1].value;
    return put_column(d, n - 1, out, err);
}

int jm_chunk_encode(const struct jm_reading *r, size_t n, enum jm_chunk_times times,
                    const struct jm_reading *ref, bool is_double, struct jm_str *out, struct jm_err *err)
{
    if (!n || n > JM_CHUNK_MAX)
        return jm_err_set(err, JM_EINVAL, "a chunk holds 1 to %u readings, not %zu", JM_CHUNK_MAX, n);
    uint64_t *d = malloc(n * sizeof *d);
    if (!d)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a chunk of %zu readings", n);
    jm_varint_put(out, n);
    jm_str_addc(out, (char)times);
    int rc = times == JM_TIMES_SAME ? 0 : put_times(r, n, times == JM_TIMES_AFTER ? ref : NULL, d, out, err);
    if (!rc)
        rc = put_values(r, n, is_double, d, out, err);
    uint16_t *small = (uint16_t *)d;
    for (size_t i = 0; i < n; i++)
        small[i] = r[i].status;
    jm_runs_put(out, small, n);
    for (size_t i = 0; i < n; i++)
        small[i] = r[i].flags;
    jm_runs_put(out, small, n);
    free(d);
    return rc ? rc : jm_str_ok(out, "a chunk of readings", err);
}

size_t jm_chunk_count(struct jm_span plain, int *times)
{
    uint64_t n;
    if (!jm_varint_get(&plain, &n) || !plain.n || (unsigned char)*plain.p > JM_TIMES_AFTER)
        return 0;
    if (times)
        *times = (unsigned char)*plain.p;
    /* every reading has at least one byte in the value column, but for the first, which has two in front of
     * it */
    return n && n <= JM_CHUNK_MAX && n <= plain.n ? (size_t)n : 0;
}

static int bad(struct jm_err *err, const char *what)
{
    return jm_err_set(err, JM_ECORRUPT, "a chunk of readings is damaged (%s)", what);
}

static bool get_times(struct jm_span *s, const struct jm_reading *ref, struct jm_reading *out, size_t n)
{
    uint64_t z, base, t = 0;
    if (!ref) {
        if (!jm_varint_get(s, &z))
            return false;
        t = jm_unzigzag(z);
    }
    if (!get_column(s, &base, ref ? n : n - 1))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (i || ref) {
            if (!jm_varint_get(s, &z))
                return false;
            t = (ref ? (uint64_t)ref[i].t1 : t) + base + jm_unzigzag(z);
        }
        out[i].t0 = (int64_t)t;
    }
    if (!get_column(s, &base, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!jm_varint_get(s, &z))
            return false;
        out[i].t1 = (int64_t)((uint64_t)out[i].t0 + base + jm_unzigzag(z));
    }
    return true;
}

static bool get_values(struct jm_span *s, struct jm_reading *out, size_t n)
{
    uint64_t z, base, v;
    if (!s->n)
        return false;
    unsigned char mode = (unsigned char)*s->p;
    *s = jm_span_sub(*s, 1, s->n);
    switch (mode) {
    case VALUES_DELTA:
        if (!jm_varint_get(s, &z))
            return false;
        v = jm_unzigzag(z);
        if (!get_column(s, &base, n - 1))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (i) {
                if (!jm_varint_get(s, &z))
                    return false;
                v += base + jm_unzigzag(z);
            }
            out[i].value = (int64_t)v;
        }
        return true;
    case VALUES_RAW:
        if (s->n / 8 < n)
            return false;
        for (size_t i = 0; i < n; i++) {
            v = 0;
            for (unsigned k = 0; k < 8; k++)
                v |= (uint64_t)(unsigned char)s->p[8 * i + k] << (8 * k);
            out[i].value = (int64_t)v;
        }
        *s = jm_span_sub(*s, 8 * n, s->n);
        return true;
    case VALUES_XOR:
        v = 0;
        for (size_t i = 0; i < n; i++) {
            if (!jm_varint_get(s, &z))
                return false;
            v ^= __builtin_bswap64(z);
            out[i].value = (int64_t)v;
        }
        return true;
    default: return false;
    }
}

/* Takes head and times off the front. */
static int get_front(struct jm_span *s, const struct jm_reading *ref, struct jm_reading *out, size_t n,
                     struct jm_err *err)
{
    uint64_t count;
    int times = 0;
    if (!n || jm_chunk_count(*s, &times) != n || !jm_varint_get(s, &count))
        return bad(err, "head");
    *s = jm_span_sub(*s, 1, s->n);
    if ((times == JM_TIMES_OWN) == (ref != NULL))
        return bad(err,
                   ref ? "it has a time column of its own and refers to another" : "it has no time column");
    if (times != JM_TIMES_SAME)
        return get_times(s, ref, out, n) ? 0 : bad(err, "time column");
    for (size_t i = 0; i < n; i++) {
        out[i].t0 = ref[i].t0;
        out[i].t1 = ref[i].t1;
    }
    return 0;
}

int jm_chunk_decode_times(struct jm_span plain, const struct jm_reading *ref, struct jm_reading *out,
                          size_t n, struct jm_err *err)
{
    return get_front(&plain, ref, out, n, err);
}

int jm_chunk_decode(struct jm_span plain, const struct jm_reading *ref, uint32_t channel,
                    struct jm_reading *out, size_t n, struct jm_err *err)
{
    int rc = get_front(&plain, ref, out, n, err);
    if (rc)
        return rc;
    if (!get_values(&plain, out, n))
        return bad(err, "value column");
    uint16_t *small = malloc(2 * n * sizeof *small);
    if (!small)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a chunk of %zu readings", n);
    bool ok = jm_runs_get(&plain, small, n, JM_S_COUNT - 1) && jm_runs_get(&plain, small + n, n, 255);
    for (size_t i = 0; ok && i < n; i++) {
        out[i].channel = channel;
        out[i].status = (uint8_t)small[i];
        out[i].flags = (uint8_t)small[n + i];
    }
    free(small);
    if (!ok)
        return bad(err, "status column");
    return plain.n ? bad(err, "bytes after its end") : 0;
}
