/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "run/codec.h"
#include "run/details.h"
#include "run/events.h"

static void same(const struct jm_reading *a, const struct jm_reading *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a[i].t0, b[i].t0);
        assert_int_equal(a[i].t1, b[i].t1);
        assert_int_equal(a[i].value, b[i].value);
        assert_int_equal(a[i].status, b[i].status);
        assert_int_equal(a[i].flags, b[i].flags);
    }
}

static size_t encode(const struct jm_reading *r, size_t n, enum jm_chunk_times times,
                     const struct jm_reading *ref, bool is_double, struct jm_reading *back)
{
    struct jm_str s;
    struct jm_err err = {0};
    int how = -1;
    jm_str_init(&s);
    assert_int_equal(jm_chunk_encode(r, n, times, ref, is_double, &s, &err), 0);
    assert_int_equal(jm_chunk_count(jm_str_span(&s), &how), n);
    assert_int_equal(how, times);
    memset(back, 0, n * sizeof *back);
    assert_int_equal(jm_chunk_decode(jm_str_span(&s), ref, 7, back, n, &err), 0);
    same(r, back, n);
    assert_int_equal(back[n - 1].channel, 7);
    /* without what it refers to, or with what it does not */
    assert_int_equal(jm_chunk_decode(jm_str_span(&s), ref ? NULL : r, 7, back, n, &err), JM_ECORRUPT);
    size_t len = s.len;
    jm_str_release(&s);
    return len;
}

static void round_trip(const struct jm_reading *r, size_t n, bool is_double)
{
    struct jm_reading *back = calloc(n, sizeof *back), *before = calloc(n, sizeof *before);
    size_t own = encode(r, n, JM_TIMES_OWN, NULL, is_double, back);
    assert_true(encode(r, n, JM_TIMES_SAME, r, is_double, back) < own);
    for (size_t i = 0; i < n; i++)
        before[i].t1 = (int64_t)((uint64_t)r[i].t0 - 77 - i % 5);
    size_t after = encode(r, n, JM_TIMES_AFTER, before, is_double, back);
    if (n > 20)
        assert_true(after <= own);
    free(back);
    free(before);
}

static void varint_bytes(void **state)
{
    (void)state;
    /* base-128, low group first: 300 = 0b10'0101100 -> ac 02 */
    struct jm_str s;
    jm_str_init(&s);
    jm_varint_put(&s, 300);
    assert_int_equal(s.len, 2);
    assert_memory_equal(s.buf, "\xac\x02", 2);
    jm_str_reset(&s);
    jm_varint_put(&s, UINT64_MAX);
    assert_int_equal(s.len, 10);
    struct jm_span in = jm_str_span(&s);
    uint64_t v = 0;
    assert_true(jm_varint_get(&in, &v));
    assert_true(v == UINT64_MAX && in.n == 0);
    in = jm_str_span(&s);
    in.n = 9;
    assert_false(jm_varint_get(&in, &v));
    struct jm_span wide = JM_SPAN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"); /* bit 65 */
    assert_false(jm_varint_get(&wide, &v));
    /* zig-zag: 0, -1, 1, -2 -> 0, 1, 2, 3 */
    assert_int_equal(jm_zigzag(0), 0);
    assert_int_equal(jm_zigzag((uint64_t)-1), 1);
    assert_int_equal(jm_zigzag(1), 2);
    assert_int_equal(jm_zigzag((uint64_t)-2), 3);
    assert_true(jm_unzigzag(jm_zigzag((uint64_t)INT64_MIN)) == (uint64_t)INT64_MIN);
    jm_str_release(&s);
}

static void extremes(void **state)
{
    (void)state;
    struct jm_reading r[] = {
        {.t0 = INT64_MIN, .t1 = INT64_MAX, .value = INT64_MIN},
        {.t0 = -1, .t1 = 0, .value = INT64_MAX, .status = JM_S_LOST, .flags = 255},
        {.t0 = 0, .t1 = 0, .value = -1}, /* a counter at 2^64 - 1 ... */
        {.t0 = 5, .t1 = 6, .value = 3},  /* ... that wrapped */
        {.t0 = INT64_MAX, .t1 = INT64_MAX, .value = 0},
    };
    for (size_t n = 1; n <= 5; n++)
        round_trip(r, n, false);
    round_trip(r, 5, true);
}

static void random_data(void **state)
{
    (void)state;
    struct jm_rng g;
    jm_rng_init(&g, 20);
    enum { MAX = 3000 };
    struct jm_reading *r = calloc(MAX, sizeof *r);
    for (int k = 0; k < 300; k++) {
        size_t n = 1 + (size_t)jm_rng_below(&g, k < 250 ? 200 : MAX);
        unsigned bits = (unsigned)jm_rng_below(&g, 65);
        int64_t t = (int64_t)jm_rng_below(&g, UINT64_C(1) << 62);
        bool dbl = k % 3 == 0;
        for (size_t i = 0; i < n; i++) {
            double d = 100 + jm_rng_normal(&g);
            t += (int64_t)jm_rng_below(&g, 1000000);
            r[i].t0 = t;
            r[i].t1 = t + (int64_t)jm_rng_below(&g, 100000);
            r[i].value = (int64_t)(jm_rng_u64(&g) >> (bits ? 64 - bits : 63));
            if (dbl && k % 2)
                memcpy(&r[i].value, &d, 8);
            r[i].status = jm_rng_below(&g, 50) ? JM_S_OK : (uint8_t)jm_rng_below(&g, JM_S_COUNT);
            r[i].flags = jm_rng_below(&g, 20) ? 0 : (uint8_t)jm_rng_u64(&g);
        }
        round_trip(r, n, dbl);
    }
    free(r);
}

static void damaged_bytes_never_crash(void **state)
{
    (void)state;
    struct jm_rng g;
    jm_rng_init(&g, 3);
    struct jm_reading r[64] = {{0}}, back[64];
    struct jm_str s;
    jm_str_init(&s);
    for (int i = 0; i < 40; i++)
        r[i] = (struct jm_reading){.t0 = 1000 * i, .t1 = 1000 * i + 7, .value = i * i, .status = i % 3 == 0};
    assert_int_equal(jm_chunk_encode(r, 40, JM_TIMES_OWN, NULL, false, &s, NULL), 0);
    int refused = 0, tried = 0;
    for (int k = 0; k < 20000; k++) {
        char *copy = malloc(s.len);
        size_t len = k % 2 ? s.len : (size_t)jm_rng_below(&g, s.len + 1);
        memcpy(copy, s.buf, s.len);
        for (int e = 0; e < 1 + k % 4; e++)
            copy[jm_rng_below(&g, s.len)] = (char)jm_rng_u64(&g);
        struct jm_span in = {copy, len};
        size_t n = jm_chunk_count(in, NULL);
        if (n && n <= 64) {
            tried++;
            refused += jm_chunk_decode(in, k % 5 ? NULL : r, 0, back, n, NULL) != 0;
        }
        free(copy);
    }
    assert_true(tried > 1000 && refused > 500);
    jm_str_release(&s);
}

static void a_status_this_version_does_not_know(void **state)
{
    (void)state;
    struct jm_reading r = {.t0 = 1, .t1 = 2, .value = 3, .status = JM_S_COUNT}, back;
    struct jm_str s;
    jm_str_init(&s);
    assert_int_equal(jm_chunk_encode(&r, 1, JM_TIMES_OWN, NULL, false, &s, NULL), 0);
    assert_int_equal(jm_chunk_decode(jm_str_span(&s), NULL, 0, &back, 1, NULL), JM_ECORRUPT);
    jm_str_release(&s);
}

/* --- token events */

static int64_t rounded(int64_t ns) /* nearest us, independent of the code under test */
{
    int64_t down = ns - ((ns % 1000) + 1000) % 1000;
    return ns - down >= 500 ? down + 1000 : down;
}

static void events_round_trip(void **state)
{
    (void)state;
    struct jm_rng g;
    jm_rng_init(&g, 9);
    struct jm_event_batch *a = NULL, *b = NULL;
    struct jm_str s;
    jm_str_init(&s);
    assert_int_equal(jm_event_batch_new(&a, NULL), 0);
    assert_int_equal(jm_event_batch_new(&b, NULL), 0);
    for (int k = 0; k < 100; k++) {
        jm_event_batch_reset(a);
        int requests = 1 + (int)jm_rng_below(&g, 30);
        for (int q = 0; q < requests; q++) {
            struct jm_token_event ev[200];
            size_t n = 1 + (size_t)jm_rng_below(&g, 200);
            int64_t t = k == 0 ? -5000000 : (int64_t)jm_rng_below(&g, UINT64_C(1) << 60);
            for (size_t i = 0; i < n; i++) {
                t += (int64_t)jm_rng_below(&g, 30000000) - (k % 5 == 1 ? 15000000 : 0);
                ev[i] = (struct jm_token_event){t, (uint16_t)(k % 2 ? 1 : jm_rng_u64(&g)),
                                                (uint16_t)(k % 3 ? 8 : jm_rng_u64(&g))};
            }
            assert_int_equal(jm_event_batch_add(a, (int64_t)jm_rng_u64(&g), ev, n, NULL), 0);
        }
        int64_t first, last;
        jm_str_reset(&s);
        assert_int_equal(jm_events_encode(a, &s, &first, &last, NULL), 0);
        assert_int_equal(jm_events_decode(jm_str_span(&s), b, NULL), 0);
        assert_int_equal(b->n_req, a->n_req);
        assert_int_equal(b->n_ev, a->n_ev);
        assert_memory_equal(b->id, a->id, a->n_req * sizeof *a->id);
        assert_memory_equal(b->from, a->from, (a->n_req + 1) * sizeof *a->from);
        int64_t lo = INT64_MAX, hi = INT64_MIN;
        for (size_t i = 0; i < a->n_ev; i++) {
            assert_int_equal(b->ev[i].t, rounded(a->ev[i].t));
            assert_int_equal(b->ev[i].tokens, a->ev[i].tokens);
            assert_int_equal(b->ev[i].flags, a->ev[i].flags);
            lo = b->ev[i].t < lo ? b->ev[i].t : lo;
            hi = b->ev[i].t > hi ? b->ev[i].t : hi;
        }
        assert_int_equal(first, lo);
        assert_int_equal(last, hi);
        /* damage */
        for (int e = 0; e < 30; e++) {
            char *copy = malloc(s.len);
            memcpy(copy, s.buf, s.len);
            copy[jm_rng_below(&g, s.len)] ^= (char)(1 + jm_rng_below(&g, 255));
            struct jm_span in = {copy, e % 2 ? s.len : (size_t)jm_rng_below(&g, s.len)};
            jm_events_decode(in, b, NULL);
            free(copy);
        }
    }
    jm_event_batch_free(a);
    jm_event_batch_free(b);
    jm_str_release(&s);
}

static void events_hostile_counts(void **state)
{
    (void)state;
    struct jm_event_batch *b = NULL;
    struct jm_err err = {0};
    assert_int_equal(jm_event_batch_new(&b, NULL), 0);
    /* one request of 2^62 events; a million requests in four bytes; nothing */
    static const struct jm_span bytes[] = {{"\x01\x02\x80\x80\x80\x80\x80\x80\x80\x80\x40\x00", 12},
                                           {"\xc0\x84\x3d\x00", 4},
                                           {"", 0},
                                           {"\x00", 1}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(jm_events_decode(bytes[i], b, &err), JM_ECORRUPT);
        assert_non_null(strstr(err.text, "damaged"));
    }
    jm_event_batch_free(b);
}

/* --- details of requests */

static void details_round_trip(void **state)
{
    (void)state;
    struct jm_rng g;
    jm_rng_init(&g, 10);
    enum { MAX = 200 };
    struct jm_request *q = calloc(MAX, sizeof *q), *back = calloc(MAX, sizeof *back);
    struct jm_str s, hashes;
    jm_str_init(&s);
    jm_str_init(&hashes);
    for (int k = 0; k < 60; k++) {
        size_t n = 1 + (size_t)jm_rng_below(&g, MAX);
        for (size_t i = 0; i < n; i++) {
            struct jm_request *r = &q[i];
            jm_request_init(r);
            r->id = k % 2 ? (int64_t)jm_rng_u64(&g) : (int64_t)i;
            for (int t = 0; t < JM_T_COUNT; t++)
                if (jm_rng_below(&g, 8)) /* far apart, so that a distance of -1 and of 0 come up too */
                    r->t[t] = k % 3 == 0 ? (int64_t)(jm_rng_u64(&g) >> 3) - (INT64_C(1) << 60)
                                         : (int64_t)jm_rng_below(&g, 3);
            r->http_status = k % 4 ? 200 : (int)jm_rng_below(&g, 600) - 1;
            r->token_source = (enum jm_token_source)jm_rng_below(&g, 4);
            r->cached_tokens = (int64_t)jm_rng_below(&g, 3) - 1;
            r->asked_isl = (int64_t)jm_rng_u64(&g);
            r->events = (int64_t)jm_rng_below(&g, 1000);
            r->output_bytes = (int64_t)jm_rng_below(&g, 100000) - 1;
            if (k % 5) { /* else as before there were such counts */
                r->chunks = (int64_t)jm_rng_below(&g, 1000) - 1;
                r->messages = (int64_t)jm_rng_u64(&g);
            }
            if (k % 3) { /* the same */
                r->session = (int64_t)jm_rng_below(&g, 4) - 1;
                r->turn = (int)jm_rng_below(&g, 3) - 1;
                r->planned_abort = (int)jm_rng_below(&g, 2);
            }
            if (k % 7 == 0)
                r->t[JM_T_FIRST_CHUNK] = r->t[JM_T_LAST_CHUNK] = -1;
            r->stream = (int)jm_rng_below(&g, 2);
            if (jm_rng_below(&g, 3) == 0)
                r->quality = jm_rng_unit(&g);
            for (size_t c = 0, len = (size_t)jm_rng_below(&g, 24); c < len; c++)
                r->finish[c] = (char)(1 + jm_rng_below(&g, 255));
            for (int c = 0; c < 64 && jm_rng_below(&g, 50);
                 c++) /* now and then none, or one that is too short */
                r->prompt_sha256[c] = "0123456789abcdef"[jm_rng_below(&g, 16)];
            if (strlen(r->prompt_sha256) < 64)
                r->prompt_sha256[0] = '\0';
            if (jm_rng_below(&g, 2))
                for (int c = 0; c < 64; c++)
                    r->output_sha256[c] = "0123456789abcdef"[jm_rng_below(&g, 16)];
        }
        jm_str_reset(&s);
        jm_str_reset(&hashes);
        assert_int_equal(jm_details_encode(q, n, &s, &hashes, NULL), 0);
        assert_int_equal(jm_details_count(jm_str_span(&s)), n);
        assert_int_equal(jm_details_decode(jm_str_span(&s), jm_str_span(&hashes), back, n, NULL), 0);
        for (size_t i = 0; i < n; i++) {
            struct jm_request r;
            jm_request_init(&r);
            r.id = q[i].id;
            r.t[0] = q[i].t[0];
            r.end = q[i].end;
            assert_int_equal(back[i].id, q[i].id);
            jm_details_join(&r, &back[i]);
            assert_memory_equal(r.t, q[i].t, sizeof r.t);
            assert_true(r.http_status == q[i].http_status && r.token_source == q[i].token_source);
            assert_true(r.cached_tokens == q[i].cached_tokens && r.asked_isl == q[i].asked_isl);
            assert_true(r.events == q[i].events && r.output_bytes == q[i].output_bytes &&
                        r.stream == q[i].stream);
            assert_true(r.chunks == q[i].chunks && r.messages == q[i].messages);
            assert_true(r.session == q[i].session && r.turn == q[i].turn &&
                        r.planned_abort == q[i].planned_abort);
            assert_true(isnan(q[i].quality) ? isnan(r.quality) : r.quality == q[i].quality);
            assert_string_equal(r.finish, q[i].finish);
            assert_string_equal(r.prompt_sha256, q[i].prompt_sha256);
            assert_string_equal(r.output_sha256, q[i].output_sha256);
        }
        for (int e = 0; e < 50; e++) {
            char *copy = malloc(s.len);
            memcpy(copy, s.buf, s.len);
            copy[jm_rng_below(&g, s.len)] ^= (char)(1 + jm_rng_below(&g, 255));
            struct jm_span in = {copy, e % 2 ? s.len : (size_t)jm_rng_below(&g, s.len)};
            size_t m = jm_details_count(in);
            if (m && m <= MAX)
                jm_details_decode(in, jm_str_span(&hashes), back, m, NULL);
            free(copy);
        }
    }
    free(q);
    free(back);
    jm_str_release(&s);
    jm_str_release(&hashes);
}

/* A chunk as it was written before there were later parts, and one with a part that is not known yet. */
static void details_of_other_versions(void **state)
{
    (void)state;
    struct jm_request q[2], back[2], r;
    struct jm_str s, hashes;
    jm_str_init(&s);
    jm_str_init(&hashes);
    for (int i = 0; i < 2; i++) {
        jm_request_init(&q[i]);
        q[i].id = i + 1;
        q[i].t[JM_T_SCHEDULED] = 1000;
        q[i].t[JM_T_CLOSED] = 5000 + i;
    }
    assert_int_equal(jm_details_encode(q, 2, &s, &hashes, NULL), 0);
    for (int later = 0; later < 2; later++) {
        if (later)
            jm_str_add(&s, "\x63\x03xyz", 5); /* tag 99 */
        assert_int_equal(jm_details_decode(jm_str_span(&s), jm_str_span(&hashes), back, 2, NULL), 0);
        jm_request_init(&r);
        r.t[0] = 1000;
        jm_details_join(&r, &back[1]);
        assert_memory_equal(r.t, q[1].t, sizeof r.t);
        assert_true(r.chunks == -1 && r.messages == -1);
        assert_true(r.session == -1 && r.turn == -1 && r.planned_abort == 0);
    }
    jm_str_add(&s, "\x63\x7f", 2); /* longer than what is there */
    assert_int_equal(jm_details_decode(jm_str_span(&s), jm_str_span(&hashes), back, 2, NULL), JM_ECORRUPT);
    jm_str_release(&s);
    jm_str_release(&hashes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varint_bytes),
        cmocka_unit_test(extremes),
        cmocka_unit_test(random_data),
        cmocka_unit_test(damaged_bytes_never_crash),
        cmocka_unit_test(a_status_this_version_does_not_know),
        cmocka_unit_test(events_round_trip),
        cmocka_unit_test(events_hostile_counts),
        cmocka_unit_test(details_round_trip),
        cmocka_unit_test(details_of_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
