/* SPDX-License-Identifier: Apache-2.0 */
#include "run/details.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/codec.h"

#include "base/banned.h"

/* Integers of the details, in the order of the file. Those that hardly change are runs. */
enum {
    F_HTTP,
    F_SOURCE,
    F_ASKED_ISL,
    F_ASKED_OSL,
    F_CACHED,
    F_REASONING,
    F_STREAM,
    F_REUSED,
    F_SHARED,
    F_RUNS
};
enum { F_EVENTS = F_RUNS, F_PROMPT_BYTES, F_OUTPUT_BYTES, F_COUNT };

static int64_t get_field(const struct jm_request *q, int f)
{
    switch (f) {
    case F_HTTP: return q->http_status;
    case F_SOURCE: return q->token_source;
    case F_ASKED_ISL: return q->asked_isl;
    case F_ASKED_OSL: return q->asked_osl;
    case F_CACHED: return q->cached_tokens;
    case F_REASONING: return q->reasoning_tokens;
    case F_STREAM: return q->stream;
    case F_REUSED: return q->reused;
    case F_SHARED: return q->shared_stamp;
    case F_EVENTS: return q->events;
    case F_PROMPT_BYTES: return q->prompt_bytes;
    default: return q->output_bytes;
    }
}

static void set_field(struct jm_request *q, int f, int64_t v)
{
    switch (f) {
    case F_HTTP: q->http_status = (int)v; break;
    case F_SOURCE:
        q->token_source = v >= 0 && v <= JM_TOK_IMPORTED ? (enum jm_token_source)v : JM_TOK_UNKNOWN;
        break;
    case F_ASKED_ISL: q->asked_isl = v; break;
    case F_ASKED_OSL: q->asked_osl = v; break;
    case F_CACHED: q->cached_tokens = v; break;
    case F_REASONING: q->reasoning_tokens = v; break;
    case F_STREAM: q->stream = (int)v; break;
    case F_REUSED: q->reused = (int)v; break;
    case F_SHARED: q->shared_stamp = v; break;
    case F_EVENTS: q->events = v; break;
    case F_PROMPT_BYTES: q->prompt_bytes = v; break;
    default: q->output_bytes = v;
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Stamps that came later stand behind everything else; each counts from one that is near it, or from
 * scheduled where that does not exist. */
#define STAMPS_FIRST (JM_T_CLOSED + 1)
#define STAMPS_MORE  (JM_T_COUNT - STAMPS_FIRST)
static const enum jm_stamp near_to[STAMPS_MORE] = {JM_T_FIRST_EVENT, JM_T_LAST_TOKEN};
enum { MORE_END, MORE_STAMPS, MORE_COUNTS, MORE_TALKS };

static uint64_t near_stamp(const int64_t *t, int k)
{
    int64_t at = t[near_to[k - STAMPS_FIRST]];
    return (uint64_t)(at == -1 ? t[0] : at);
}

/* A column of stamps: the distances d of those that exist, as theirs from their median: short numbers,
 * mostly. 0 stands for a stamp that does not exist. */
static int put_column(const struct jm_request *q, size_t n, int k, const uint64_t *d, int64_t *sorted,
                      struct jm_str *out, struct jm_err *err)
{
    size_t there = 0;
    for (size_t i = 0; i < n; i++)
        if (q[i].t[k] != -1)
            sorted[there++] = (int64_t)d[i];
    if (there)
        qsort(sorted, there, sizeof *sorted, by_size);
    uint64_t base = there ? (uint64_t)sorted[there / 2] : 0;
    jm_varint_put(out, jm_zigzag(base));
    for (size_t i = 0; i < n; i++) {
        uint64_t z = q[i].t[k] == -1 ? 0 : jm_zigzag(d[i] - base) + 1;
        if (q[i].t[k] != -1 && !z)
            return jm_err_set(err, JM_ERANGE, "the stamps of request %lld are further apart than time can be",
                              (long long)q[i].id);
        jm_varint_put(out, z);
    }
    return 0;
}

/* Each stamp counts from the one before it that exists, in the order of the enum; the later ones (more) from
 * that which is near them. */
static int put_stamps(const struct jm_request *q, size_t n, bool more, struct jm_str *out, struct jm_err *err)
{
    uint64_t *d = malloc(2 * n * sizeof *d), *before = d ? d + n : NULL;
    int64_t *sorted = malloc(n * sizeof *sorted);
    int rc = d && sorted ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the stamps of %zu requests", n);
    for (size_t i = 0; !rc && i < n; i++)
        before[i] = (uint64_t)q[i].t[0];
    for (int k = more ? STAMPS_FIRST : 1, to = more ? JM_T_COUNT : STAMPS_FIRST; !rc && k < to; k++) {
        for (size_t i = 0; i < n; i++) {
            if (q[i].t[k] == -1)
                continue;
            d[i] = (uint64_t)q[i].t[k] - (more ? near_stamp(q[i].t, k) : before[i]);
            before[i] = (uint64_t)q[i].t[k];
        }
        rc = put_column(q, n, k, d, sorted, out, err);
    }
    free(d);
    free(sorted);
    return rc;
}

/* What came later than the first version of this layout: a tag, its length, its bytes, as often as there is
 * one; who does not know a tag skips it. */
static void put_more(struct jm_str *out, unsigned tag, struct jm_str *bytes)
{
    jm_varint_put(out, tag);
    jm_varint_put(out, bytes->len);
    jm_str_addspan(out, jm_str_span(bytes));
    out->failed |= bytes->failed;
    jm_str_reset(bytes);
}

/* Conversations and what the plan cancelled, as runs. */
enum { TALK_SESSION, TALK_TURN, TALK_CANCELLED, TALK_COLUMNS };

static int64_t talk_of(const struct jm_request *q, int column)
{
    return column == TALK_SESSION ? q->session : column == TALK_TURN ? q->turn : q->planned_abort;
}

static void set_talk(struct jm_request *q, int column, int64_t v)
{
    if (column == TALK_SESSION)
        q->session = v;
    else if (column == TALK_TURN)
        q->turn = v >= -1 && v <= INT32_MAX ? (int)v : -1;
    else if (column == TALK_CANCELLED)
        q->planned_abort = v == 1;
}

static int put_later(const struct jm_request *q, size_t n, struct jm_str *out, struct jm_err *err)
{
    struct jm_str bytes;
    bool stamps = false, counts = false, talks = false;
    int rc = 0;
    jm_str_init(&bytes);
    for (size_t i = 0; i < n; i++) {
        for (int k = STAMPS_FIRST; k < JM_T_COUNT; k++)
            stamps |= q[i].t[k] != -1;
        counts |= q[i].chunks != -1 || q[i].messages != -1;
        talks |= q[i].session != -1 || q[i].turn != -1 || q[i].planned_abort;
    }
    if (stamps) {
        jm_varint_put(&bytes, STAMPS_MORE);
        rc = put_stamps(q, n, true, &bytes, err);
        put_more(out, MORE_STAMPS, &bytes);
    }
    if (counts) {
        jm_varint_put(&bytes, 2);
        for (size_t i = 0; i < n; i++)
            jm_varint_put(&bytes, jm_zigzag((uint64_t)q[i].chunks));
        for (size_t i = 0; i < n; i++)
            jm_varint_put(&bytes, jm_zigzag((uint64_t)q[i].messages));
        put_more(out, MORE_COUNTS, &bytes);
    }
    if (talks) {
        jm_varint_put(&bytes, TALK_COLUMNS);
        for (int c = 0; c < TALK_COLUMNS; c++)
            for (size_t i = 0, k; i < n; i = k) {
                int64_t v = talk_of(&q[i], c);
                for (k = i + 1; k < n && talk_of(&q[k], c) == v; k++)
                    ;
                jm_varint_put(&bytes, k - i);
                jm_varint_put(&bytes, jm_zigzag((uint64_t)v));
            }
        put_more(out, MORE_TALKS, &bytes);
    }
    jm_str_release(&bytes);
    return rc;
}

static void put_runs(const struct jm_request *q, size_t n, int f, struct jm_str *out)
{
    for (size_t i = 0, k; i < n; i = k) {
        int64_t v = get_field(&q[i], f);
        for (k = i + 1; k < n && get_field(&q[k], f) == v; k++)
            ;
        jm_varint_put(out, k - i);
        jm_varint_put(out, jm_zigzag((uint64_t)v));
    }
}

static uint64_t quality_bits(const struct jm_request *q)
{
    double v = isnan(q->quality) ? NAN : q->quality; /* one NAN only */
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void put_rare(const struct jm_request *q, size_t n, struct jm_str *out)
{
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && strcmp(q[k].finish, q[i].finish) == 0; k++)
            ;
        size_t len = strnlen(q[i].finish, JM_FINISH_MAX);
        jm_varint_put(out, k - i);
        jm_varint_put(out, len);
        jm_str_add(out, q[i].finish, len);
    }
    for (size_t i = 0, k; i < n; i = k) {
        uint64_t bits = quality_bits(&q[i]);
        for (k = i + 1; k < n && quality_bits(&q[k]) == bits; k++)
            ;
        jm_varint_put(out, k - i);
        jm_varint_put(out, bits);
    }
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 64 hex digits to 32 bytes; false when it is no hash. */
static bool hash_bytes(const char *hex, char out[32])
{
    for (unsigned i = 0; i < 32; i++) {
        int a = nibble(hex[2 * i]), b = a < 0 ? -1 : nibble(hex[2 * i + 1]);
        if (b < 0)
            return false;
        out[i] = (char)(a << 4 | b);
    }
    return !hex[64];
}

static void put_hashes(const struct jm_request *q, size_t n, struct jm_str *out, struct jm_str *hashes)
{
    char bytes[32];
    uint64_t run = 0, last = 4; /* 1 prompt, 2 output */
    for (size_t i = 0; i < n; i++) {
        uint64_t have = 0;
        if (hash_bytes(q[i].prompt_sha256, bytes)) {
            have |= 1;
            jm_str_add(hashes, bytes, 32);
        }
        if (hash_bytes(q[i].output_sha256, bytes)) {
            have |= 2;
            jm_str_add(hashes, bytes, 32);
        }
        if (run && have != last) {
            jm_varint_put(out, run);
            jm_varint_put(out, last);
            run = 0;
        }
        last = have;
        run++;
    }
    jm_varint_put(out, run);
    jm_varint_put(out, last);
}

int jm_details_encode(const struct jm_request *q, size_t n, struct jm_str *out, struct jm_str *hashes,
                      struct jm_err *err)
{
    if (!n || n > JM_DETAILS_MAX)
        return jm_err_set(err, JM_EINVAL, "a chunk holds 1 to %d requests, not %zu", JM_DETAILS_MAX, n);
    jm_varint_put(out, n);
    for (size_t i = 0; i < n; i++)
        jm_varint_put(out, jm_zigzag((uint64_t)q[i].id - (i ? (uint64_t)q[i - 1].id : 0)));
    int rc = put_stamps(q, n, false, out, err);
    if (rc)
        return rc;
    for (int f = 0; f < F_RUNS; f++)
        put_runs(q, n, f, out);
    for (int f = F_RUNS; f < F_COUNT; f++)
        for (size_t i = 0; i < n; i++)
            jm_varint_put(out, jm_zigzag((uint64_t)get_field(&q[i], f)));
    put_rare(q, n, out);
    put_hashes(q, n, out, hashes);
    if ((rc = put_later(q, n, out, err)))
        return rc;
    rc = jm_str_ok(out, "a chunk of requests", err);
    return rc ? rc : jm_str_ok(hashes, "hashes of requests", err);
}

size_t jm_details_count(struct jm_span plain)
{
    uint64_t n;
    return jm_varint_get(&plain, &n) && n && n <= JM_DETAILS_MAX && n <= plain.n ? (size_t)n : 0;
}

/* The next run of n in all, of which at are there: its length, 0 when the bytes are bad. */
static size_t get_run(struct jm_span *s, size_t at, size_t n, uint64_t *v)
{
    uint64_t len;
    if (!jm_varint_get(s, &len) || !jm_varint_get(s, v) || !len || len > n - at)
        return 0;
    return (size_t)len;
}

static bool get_column(struct jm_span *s, struct jm_request *q, size_t n, int k)
{
    uint64_t z, base;
    if (!jm_varint_get(s, &base))
        return false;
    base = jm_unzigzag(base);
    for (size_t i = 0; i < n; i++) {
        if (!jm_varint_get(s, &z))
            return false;
        q[i].t[k] = z ? (int64_t)(base + jm_unzigzag(z - 1)) : 0;
        if (z) /* t[0] remembers which do not exist: any distance is a possible one */
            q[i].t[0] &= ~((int64_t)1 << k);
    }
    return true;
}

static bool get_later(struct jm_span s, struct jm_request *q, size_t n)
{
    uint64_t tag, len, columns, z;
    while (s.n) {
        if (!jm_varint_get(&s, &tag) || !jm_varint_get(&s, &len) || tag == MORE_END || len > s.n)
            return false;
        struct jm_span in = jm_span_sub(s, 0, (size_t)len);
        s = jm_span_sub(s, (size_t)len, s.n);
        if (tag != MORE_STAMPS && tag != MORE_COUNTS && tag != MORE_TALKS)
            continue;
        if (!jm_varint_get(&in, &columns))
            return false;
        for (uint64_t k = 0; tag == MORE_STAMPS && k < columns && k < STAMPS_MORE; k++)
            if (!get_column(&in, q, n, STAMPS_FIRST + (int)k))
                return false;
        for (int k = 0; tag == MORE_TALKS && (uint64_t)k < columns && k < TALK_COLUMNS; k++)
            for (size_t i = 0; i < n;) {
                size_t run = get_run(&in, i, n, &z);
                if (!run)
                    return false;
                while (run--)
                    set_talk(&q[i++], k, (int64_t)jm_unzigzag(z));
            }
        for (uint64_t k = 0; tag == MORE_COUNTS && k < columns && k < 2; k++)
            for (size_t i = 0; i < n; i++) {
                if (!jm_varint_get(&in, &z))
                    return false;
                *(k ? &q[i].messages : &q[i].chunks) = (int64_t)jm_unzigzag(z);
            }
    }
    return true;
}

static bool get_fields(struct jm_span *s, struct jm_request *q, size_t n)
{
    uint64_t z;
    for (size_t i = 0; i < n; i++) {
        q[i].t[0] = ((int64_t)1 << JM_T_COUNT) - 1;
        q[i].chunks = q[i].messages = -1;
        q[i].session = q[i].turn = -1;
    }
    for (int k = 1; k < STAMPS_FIRST; k++)
        if (!get_column(s, q, n, k))
            return false;
    for (int f = 0; f < F_RUNS; f++)
        for (size_t i = 0; i < n;) {
            size_t len = get_run(s, i, n, &z);
            if (!len)
                return false;
            while (len--)
                set_field(&q[i++], f, (int64_t)jm_unzigzag(z));
        }
    for (int f = F_RUNS; f < F_COUNT; f++)
        for (size_t i = 0; i < n; i++) {
            if (!jm_varint_get(s, &z))
                return false;
            set_field(&q[i], f, (int64_t)jm_unzigzag(z));
        }
    return true;
}

static bool get_rare(struct jm_span *s, struct jm_request *q, size_t n)
{
    uint64_t v;
    for (size_t i = 0; i < n;) {
        size_t len = get_run(s, i, n, &v);
        if (!len || v > JM_FINISH_MAX || v > s->n)
            return false;
        for (; len; len--, i++)
            memcpy(q[i].finish, s->p, (size_t)v); /* zeroed before */
        *s = jm_span_sub(*s, (size_t)v, s->n);
    }
    for (size_t i = 0; i < n;) {
        size_t len = get_run(s, i, n, &v);
        if (!len)
            return false;
        for (; len; len--, i++)
            memcpy(&q[i].quality, &v, sizeof v);
    }
    return true;
}

static bool take_hash(struct jm_span *hashes, char out[65])
{
    static const char digits[] = "0123456789abcdef";
    if (hashes->n < 32)
        return false;
    for (unsigned i = 0; i < 32; i++) {
        out[2 * i] = digits[(unsigned char)hashes->p[i] >> 4];
        out[2 * i + 1] = digits[(unsigned char)hashes->p[i] & 15];
    }
    out[64] = '\0';
    *hashes = jm_span_sub(*hashes, 32, hashes->n);
    return true;
}

static bool get_hashes(struct jm_span *s, struct jm_span hashes, struct jm_request *q, size_t n)
{
    uint64_t have;
    for (size_t i = 0; i < n;) {
        size_t len = get_run(s, i, n, &have);
        if (!len || have > 3)
            return false;
        for (; len; len--, i++)
            if ((have & 1 && !take_hash(&hashes, q[i].prompt_sha256)) ||
                (have & 2 && !take_hash(&hashes, q[i].output_sha256)))
                return false;
    }
    return !hashes.n;
}

int jm_details_decode(struct jm_span plain, struct jm_span hashes, struct jm_request *q, size_t n,
                      struct jm_err *err)
{
    uint64_t z, id = 0;
    bool ok = n && jm_details_count(plain) == n && jm_varint_get(&plain, &z);
    memset(q, 0, n * sizeof *q);
    for (size_t i = 0; ok && i < n; i++) {
        ok = jm_varint_get(&plain, &z);
        q[i].id = (int64_t)(id += ok ? jm_unzigzag(z) : 0);
    }
    ok = ok && get_fields(&plain, q, n) && get_rare(&plain, q, n) && get_hashes(&plain, hashes, q, n) &&
         get_later(plain, q, n);
    return ok ? 0 : jm_err_set(err, JM_ECORRUPT, "a chunk of requests is damaged");
}

void jm_details_join(struct jm_request *r, const struct jm_request *d)
{
    struct jm_request whole = *d;
    uint64_t before = (uint64_t)r->t[0];
    whole.t[0] = r->t[0];
    for (int k = 1; k < STAMPS_FIRST; k++) {
        bool none = d->t[0] >> k & 1;
        if (!none)
            before += (uint64_t)d->t[k];
        whole.t[k] = none ? -1 : (int64_t)before;
    }
    for (int k = STAMPS_FIRST; k < JM_T_COUNT; k++)
        whole.t[k] = d->t[0] >> k & 1 ? -1 : (int64_t)((uint64_t)d->t[k] + near_stamp(whole.t, k));
    whole.id = r->id;
    whole.trial = r->trial;
    memcpy(whole.slice, r->slice, sizeof whole.slice);
    whole.end = r->end;
    memcpy(whole.error, r->error, sizeof whole.error);
    whole.prompt_tokens = r->prompt_tokens;
    whole.output_tokens = r->output_tokens;
    *r = whole;
}
