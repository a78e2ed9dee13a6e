/* SPDX-License-Identifier: Apache-2.0 */
/* Arrivals against the formulas of their processes, and what is drawn for each request. Bounds are five
 * standard errors of the estimate, whose formula stands beside each; the seeds are fixed, so that a test
 * never fails by chance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "load/plan.h"

#define N 20000

static struct jm_slice slice(enum jm_arrive a, double rate)
{
    struct jm_slice s;
    jm_slice_init(&s);
    s.arrive = a;
    s.rate = rate;
    return s;
}

struct moments {
    double mean, cv;
};

static struct moments gaps(const struct jm_slice *s, uint64_t seed)
{
    struct jm_shape g;
    int64_t t, last = 0;
    double sum = 0, sq = 0;
    jm_shape_init(&g, s, seed, 0);
    for (int i = 0; i < N; i++) {
        assert_true(jm_shape_next(&g, &t));
        assert_true(t >= last);
        double gap = (double)(t - last) / 1e9;
        sum += gap;
        sq += gap * gap;
        last = t;
    }
    double mean = sum / N, var = sq / N - mean * mean;
    return (struct moments){mean, sqrt(var) / mean};
}

/* Gamma gaps of shape k: mean 1/rate, coefficient of variation 1/sqrt(k) (Johnson, Kotz and
 * Balakrishnan, 17.6); k = 1 is the exponential distribution of a Poisson process. The standard error of the
 * mean of N gaps is cv/sqrt(N) of it; that of the cv is below cv sqrt((1 + 3/k)/N) for the shapes here (delta
 * method, kurtosis 3 + 6/k). */
static void gaps_have_the_moments_of_their_process(void **state)
{
    static const double shape[] = {0.25, 0.5, 1, 4, 100};
    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        struct jm_slice s = slice(JM_ARRIVE_GAMMA, 50);
        s.burstiness = shape[i];
        struct moments m = gaps(&s, 11 + i);
        double cv = 1 / sqrt(shape[i]);
        assert_true(fabs(m.mean * 50 - 1) < 5 * cv / sqrt(N));
        assert_true(fabs(m.cv / cv - 1) < 5 * sqrt((1 + 3 / shape[i]) / N));
    }
    struct jm_slice p = slice(JM_ARRIVE_POISSON, 7);
    struct moments m = gaps(&p, 5);
    assert_true(fabs(m.mean * 7 - 1) < 5 / sqrt(N));
    assert_true(fabs(m.cv - 1) < 5 * sqrt(4.0 / N));
}

static void equal_gaps_do_not_drift(void **state)
{
    struct jm_slice s = slice(JM_ARRIVE_CONSTANT, 3);
    struct jm_shape g;
    int64_t t;
    (void)state;
    s.start_ns = 5;
    jm_shape_init(&g, &s, 1, 0);
    for (int64_t k = 0; k < 300000; k++) { /* number k is at k/3 s, after a day of them too */
        assert_true(jm_shape_next(&g, &t));
        assert_int_equal(g.k, k);
        assert_true(llabs(t - 5 - k * JM_NS_PER_S / 3) <= 50);
    }
}

/* Rate t/s from 0 to 10/s in 10 s: t^2/2 arrivals are expected until t, so number k is at sqrt(2k), and 50
 * come in all. Rate 2^t from 1/s to 8/s in 3 s: (2^t - 1)/ln 2 are expected, so number k is at log2(1 + k ln
 * 2), and 7/ln 2 = 10.1 come. Then 2/s for 5 s: one every half second from where the ramp left off. */
static void ramps_follow_the_integral_of_the_rate(void **state)
{
    struct jm_stage up[] = {{0, 10, 10 * JM_NS_PER_S, JM_RAMP_LINEAR}},
                    two[] = {{1, 8, 3 * JM_NS_PER_S, JM_RAMP_EXPONENTIAL},
                             {2, 2, 5 * JM_NS_PER_S, JM_RAMP_LINEAR}};
    struct jm_slice s = slice(JM_ARRIVE_CONSTANT, 0);
    struct jm_shape g;
    int64_t t;
    (void)state;
    s.stage = up;
    s.stages = 1;
    jm_shape_init(&g, &s, 1, 0);
    for (int k = 0; k < 50; k++) {
        assert_true(jm_shape_next(&g, &t));
        assert_true(fabs((double)t / 1e9 - sqrt(2.0 * k)) < 1e-6);
    }
    assert_false(jm_shape_next(&g, &t));
    s.stage = two;
    s.stages = 2;
    jm_shape_init(&g, &s, 1, 0);
    for (int k = 0; k <= 10; k++) {
        assert_true(jm_shape_next(&g, &t));
        assert_true(fabs((double)t / 1e9 - log2(1 + k * log(2))) < 1e-6);
    }
    for (int k = 11; k <= 20; k++) {
        assert_true(jm_shape_next(&g, &t));
        assert_true(fabs((double)t / 1e9 - (3 + (k - 7 / log(2)) / 2)) < 1e-6);
    }
    assert_false(jm_shape_next(&g, &t));
    assert_int_equal(jm_slice_span(&s), 8 * JM_NS_PER_S);
}

/* A Poisson ramp: the number of arrivals in a part is Poisson with the integral of the rate as its mean. */
static void random_ramps_have_the_right_counts(void **state)
{
    struct jm_stage up[] = {{0, 2000, 10 * JM_NS_PER_S, JM_RAMP_LINEAR}};
    struct jm_slice s = slice(JM_ARRIVE_POISSON, 0);
    struct jm_shape g;
    int64_t t;
    double half[2] = {0};
    (void)state;
    s.stage = up;
    s.stages = 1;
    jm_shape_init(&g, &s, 3, 0);
    while (jm_shape_next(&g, &t))
        half[t >= 5 * JM_NS_PER_S]++;
    assert_true(fabs(half[0] - 2500) < 5 * sqrt(2500));
    assert_true(fabs(half[1] - 7500) < 5 * sqrt(7500));
}

static void a_seed_gives_the_same_schedule(void **state)
{
    struct jm_slice s = slice(JM_ARRIVE_GAMMA, 10);
    struct jm_shape a, b, c, d;
    int64_t ta, tb, tc, td;
    int unlike_seed = 0, unlike_slice = 0;
    (void)state;
    s.burstiness = 0.5;
    jm_shape_init(&a, &s, 9, 0);
    jm_shape_init(&b, &s, 9, 0);
    jm_shape_init(&c, &s, 10, 0);
    jm_shape_init(&d, &s, 9, 1);
    for (int i = 0; i < 1000; i++) {
        assert_true(jm_shape_next(&a, &ta) && jm_shape_next(&b, &tb) && jm_shape_next(&c, &tc) &&
                    jm_shape_next(&d, &td));
        assert_int_equal(ta, tb);
        unlike_seed += ta != tc;
        unlike_slice += ta != td;
    }
    assert_true(unlike_seed > 900 && unlike_slice > 900);
}

/* count ends a slice; with a least time it goes on until both are reached, as LoadGen does. */
static void a_count_and_a_least_time_end_it(void **state)
{
    struct jm_slice s = slice(JM_ARRIVE_CONSTANT, 10);
    struct jm_shape g;
    int64_t t;
    int n = 0;
    (void)state;
    s.count = 5;
    jm_shape_init(&g, &s, 1, 0);
    while (jm_shape_next(&g, &t))
        n++;
    assert_int_equal(n, 5);
    s.min_ns = 2 * JM_NS_PER_S;
    jm_shape_init(&g, &s, 1, 0);
    for (n = 0; jm_shape_next(&g, &t); n++)
        ;
    assert_int_equal(n, 20);
    s.arrive = JM_ARRIVE_BURST;
    jm_shape_init(&g, &s, 1, 0);
    for (n = 0; jm_shape_next(&g, &t); n++)
        assert_int_equal(t, 0);
    assert_int_equal(n, 5);
}

/* A rate of a million a second for an hour needs no memory: the schedule is looked at, not stored. */
static void a_flood_is_only_looked_at(void **state)
{
    struct jm_slice s = slice(JM_ARRIVE_POISSON, 1e6);
    struct jm_shape g;
    int64_t t = 0;
    (void)state;
    jm_shape_init(&g, &s, 1, 0);
    for (int i = 0; i < 1000000; i++)
        assert_true(jm_shape_next(&g, &t));
    assert_true(llabs(t - JM_NS_PER_S) < 5 * JM_NS_PER_S / 1000); /* 10^6 arrivals: 1 s within 5 x 0.1 % */
}

static void users_come_and_go_with_the_stages(void **state)
{
    struct jm_stage st[] = {{1, 9, 8 * JM_NS_PER_S, JM_RAMP_LINEAR},
                            {2, 32, 4 * JM_NS_PER_S, JM_RAMP_EXPONENTIAL}};
    struct jm_slice s = slice(JM_ARRIVE_CLOSED, 0);
    (void)state;
    s.stage = st;
    s.stages = 2;
    s.start_ns = JM_NS_PER_S;
    assert_int_equal(jm_slice_most_users(&s), 32);
    assert_int_equal(jm_slice_users_at(&s, 0), 0);
    assert_int_equal(jm_slice_users_at(&s, 1 * JM_NS_PER_S), 1);
    assert_int_equal(jm_slice_users_at(&s, 5 * JM_NS_PER_S), 5);
    assert_int_equal(jm_slice_users_at(&s, 9 * JM_NS_PER_S), 2);
    assert_int_equal(jm_slice_users_at(&s, 11 * JM_NS_PER_S), 8); /* halfway from 2 to 32 by factors */
    assert_int_equal(jm_slice_users_at(&s, 13 * JM_NS_PER_S), 0);
}

static void what_is_drawn_has_its_distribution(void **state)
{
    struct jm_slice s = slice(JM_ARRIVE_POISSON, 1);
    struct jm_err err;
    double sum = 0, sq = 0, group[4] = {0}, cancelled = 0, lo = 1e9, hi = 0;
    (void)state;
    assert_int_equal(jm_length_parse(&s.isl, "lognormal 512 0.5", &err), 0);
    assert_int_equal(jm_length_parse(&s.osl, "64..1024", &err), 0);
    assert_int_equal(jm_prefix_parse(&s, "4 x 100", &err), 0);
    assert_int_equal(jm_cancel_parse(&s, "10 % after 500 ms", &err), 0);
    for (int64_t k = 0; k < N; k++) {
        struct jm_draw d, again;
        jm_slice_draw(&s, 7, 2, k, &d);
        jm_slice_draw(&s, 7, 2, k, &again);
        assert_true(d.isl == again.isl && d.osl == again.osl && d.prefix_group == again.prefix_group &&
                    d.cancel == again.cancel && d.turns == 1);
        double x = log((double)d.isl);
        sum += x;
        sq += x * x;
        lo = fmin(lo, (double)d.osl);
        hi = fmax(hi, (double)d.osl);
        group[d.prefix_group]++;
        cancelled += d.cancel;
    }
    double mean = sum / N, sd = sqrt(sq / N - mean * mean);
    assert_true(fabs(mean - log(512)) < 5 * 0.5 / sqrt(N));
    assert_true(fabs(sd - 0.5) < 5 * 0.5 / sqrt(2.0 * N));
    assert_true(lo == 64 && hi == 1024); /* of 20000 draws out of 961 */
    for (int i = 0; i < 4; i++)
        assert_true(fabs(group[i] - N / 4.0) < 5 * sqrt(N * 0.25 * 0.75));
    assert_true(fabs(cancelled - N * 0.1) < 5 * sqrt(N * 0.1 * 0.9));
    /* time to think: fixed, or exponential with that mean */
    assert_int_equal(jm_think_parse(&s, "2s", &err), 0);
    assert_int_equal(jm_slice_think(&s, 7, 0, 3, 1), 2 * JM_NS_PER_S);
    assert_int_equal(jm_think_parse(&s, "exponential 2s", &err), 0);
    for (int64_t k = 0, i = 0; i < N; i++, k = i)
        sum = i ? sum + (double)jm_slice_think(&s, 7, 0, k, 0) / 1e9 : 0;
    assert_true(fabs(sum / N - 2) < 5 * 2 / sqrt(N));
}

static void small_texts_are_read_strictly(void **state)
{
    static const char *const length[] = {"",
                                         "0",
                                         "-1",
                                         "1.5",
                                         "x",
                                         "5..",
                                         "9..3",
                                         "..4",
                                         "lognormal",
                                         "lognormal 5",
                                         "lognormal 5 -1",
                                         "lognormal 5 1 x",
                                         "lognormal 5 1 1..9 z",
                                         "20000000"};
    static const char *const prefix[] = {"", "x", "4 x", "x 5 x", "4 x 0", "4 y 9", "-1 x 5"};
    static const char *const cancel[] = {"",
                                         "10",
                                         "10 %",
                                         "10 % after",
                                         "101 % after 1s",
                                         "-1 % after 1s",
                                         "10 % after 5",
                                         "10 % after 0 tokens",
                                         "10 after 1s",
                                         "nan % after 1s"};
    static const char *const think[] = {"", "2", "-1s", "exponential", "random 2s"};
    struct jm_slice s = slice(JM_ARRIVE_POISSON, 1);
    struct jm_length l;
    struct jm_err err;
    (void)state;
    for (size_t i = 0; i < sizeof length / sizeof *length; i++)
        if (jm_length_parse(&l, length[i], &err) == 0)
            fail_msg("length \"%s\" was taken", length[i]);
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (jm_prefix_parse(&s, prefix[i], &err) == 0)
            fail_msg("prefix \"%s\" was taken", prefix[i]);
    for (size_t i = 0; i < sizeof cancel / sizeof *cancel; i++)
        if (jm_cancel_parse(&s, cancel[i], &err) == 0)
            fail_msg("cancel \"%s\" was taken", cancel[i]);
    for (size_t i = 0; i < sizeof think / sizeof *think; i++)
        if (jm_think_parse(&s, think[i], &err) == 0)
            fail_msg("think \"%s\" was taken", think[i]);
    assert_int_equal(jm_cancel_parse(&s, "2.5% after 20 tokens", &err), 0);
    assert_true(s.cancel_share == 0.025 && s.cancel_tokens == 20 && s.cancel_ns == -1);
    assert_int_equal(jm_prefix_parse(&s, "256", &err), 0);
    assert_true(s.prefix_groups == 1 && s.prefix_tokens == 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_have_the_moments_of_their_process),
        cmocka_unit_test(equal_gaps_do_not_drift),
        cmocka_unit_test(ramps_follow_the_integral_of_the_rate),
        cmocka_unit_test(random_ramps_have_the_right_counts),
        cmocka_unit_test(a_seed_gives_the_same_schedule),
        cmocka_unit_test(a_count_and_a_least_time_end_it),
        cmocka_unit_test(a_flood_is_only_looked_at),
        cmocka_unit_test(users_come_and_go_with_the_stages),
        cmocka_unit_test(what_is_drawn_has_its_distribution),
        cmocka_unit_test(small_texts_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
