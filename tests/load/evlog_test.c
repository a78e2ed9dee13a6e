/* SPDX-License-Identifier: Apache-2.0 */
/* Packed token events come back as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "load/evlog.h"

static void events_come_back(void **state)
{
    enum { N = 5000 };
    static struct jm_token_event in[N], out[N];
    struct jm_rng rng;
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct jm_evlog l;
        jm_rng_init_stream(&rng, 7, (uint64_t)late);
        jm_evlog_init(&l, late);
        int64_t t = 0;
        for (size_t i = 0; i < N; i++) {
            uint64_t r = jm_rng_u64(&rng);
            /* gaps of all sizes, backwards too, and both ends of what fits */
            t = i == 1 ? INT64_MAX : i == 2 ? INT64_MIN : t + (int64_t)(r >> (20 + r % 40)) - 100;
            in[i] =
                (struct jm_token_event){t, (uint16_t)(r % 3 ? r % 17 : r),
                                        (uint16_t)(r % 7 ? r % 16 : r >> 16), late ? (uint32_t)(r >> 32) : 0};
            assert_true(jm_evlog_add(&l, &in[i]));
        }
        assert_int_equal(l.n, N);
        assert_int_equal(jm_evlog_read(&l, out, N), N);
        for (size_t i = 0; i < N; i++)
            assert_true(in[i].t == out[i].t && in[i].tokens == out[i].tokens && in[i].flags == out[i].flags &&
                        in[i].behind_us == out[i].behind_us);
        memset(out, 0, sizeof out);
        assert_int_equal(jm_evlog_read(&l, out, 3), 3);
        assert_int_equal(out[2].t, in[2].t);
        assert_int_equal(out[3].t, 0);
        jm_evlog_reset(&l);
        assert_int_equal(jm_evlog_read(&l, out, N), 0);
        jm_evlog_release(&l);
    }
}

/* One token every 10 ms: the header byte and a gap of 10,000,000 ns, which zigzag doubles to 25 bits, that is
 * four bytes of seven. */
static void an_event_takes_five_bytes(void **state)
{
    struct jm_evlog l;
    (void)state;
    jm_evlog_init(&l, false);
    for (int64_t i = 1; i <= 100; i++) {
        struct jm_token_event ev = {.t = i * 10000000, .tokens = 1, .flags = JM_TE_COUNT_KNOWN};
        assert_true(jm_evlog_add(&l, &ev));
    }
    assert_int_equal(l.bytes.len, 500);
    jm_evlog_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(an_event_takes_five_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
