/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on pairs of numbers: by hand where one can, by counting over synthetic studies where it is a
 * matter of rates. The studies go through jm_decide, all of what joulemark compare decides by. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/stats.h"
#include "compute/decide.h"

#define STUDIES 2000

/* A study of n pairs whose d scatters by sd about ln(ratio). A's own trials are what the floor is made of. */
static void study(struct jm_rng *r, size_t n, double ratio, double sd, double *d, double *own)
{
    for (size_t i = 0; i < n; i++) {
        double a = 0.4 * exp(sd / sqrt(2) * jm_rng_normal(r)),
               b = 0.4 * ratio * exp(sd / sqrt(2) * jm_rng_normal(r));
        own[i] = a;
        d[i] = log(b / a);
    }
}

static struct jm_decide_opts contract(double minimum)
{
    struct jm_decide_opts o;
    jm_decide_defaults(&o);
    o.contract = true;
    o.minimum = minimum;
    return o;
}

static struct jm_decision decide(const double *d, size_t n, const double *own, size_t n_own,
                                 const struct jm_decide_opts *o)
{
    struct jm_decision x;
    struct jm_err err = {0};
    if (jm_decide(d, n, NULL, 0, own, n_own, o, &x, &err))
        fail_msg("%s", err.text);
    return x;
}

/* How many of the studies end in each verdict. aa: the floor comes from pairs of A against A. */
static void count(size_t n, double ratio, double sd, double minimum, bool aa, size_t out[JM_VERDICT_COUNT])
{
    struct jm_rng r;
    struct jm_decide_opts o = contract(fmax(minimum, 0));
    o.contract = minimum >= 0;
    jm_rng_init(&r, 20260601);
    memset(out, 0, JM_VERDICT_COUNT * sizeof *out);
    for (int i = 0; i < STUDIES; i++) {
        double d[32], own[32], e[32], rest[32];
        struct jm_decision x;
        struct jm_err err = {0};
        study(&r, n, ratio, sd, d, own);
        if (aa)
            study(&r, n, 1, sd, e, rest);
        if (jm_decide(d, n, e, aa ? n : 0, own, n, &o, &x, &err))
            fail_msg("%s", err.text);
        out[x.verdict]++;
    }
}

/* The largest share that the count is compatible with, one-sided 95 %. */
static double upper(size_t k)
{
    struct jm_interval i;
    jm_stats_clopper_pearson(k, STUDIES, 0.9, &i);
    return i.hi;
}

static void a_against_a_is_accepted_in_at_most_five_percent(void **state)
{
    static const size_t n[] = {3, 6, 12};
    size_t out[JM_VERDICT_COUNT];
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int aa = 0; aa < 2; aa++) {
            count(n[i], 1, 0.01, 0, aa, out);
            if (upper(out[JM_VERDICT_ACCEPT]) > 0.05)
                fail_msg("%zu pairs: %zu of %d accepted", n[i], out[JM_VERDICT_ACCEPT], STUDIES);
            count(n[i], 1, 0.01, -1, aa, out); /* without a contract, either way */
            if (upper(out[JM_VERDICT_LOWER] + out[JM_VERDICT_HIGHER]) > 0.065)
                fail_msg("%zu pairs: %zu + %zu of %d called different", n[i], out[JM_VERDICT_LOWER],
                         out[JM_VERDICT_HIGHER], STUDIES);
        }
    /* a true saving of just the minimum is accepted no more often */
    count(6, 0.97, 0.01, 0.03, false, out);
    assert_true(upper(out[JM_VERDICT_ACCEPT]) <= 0.065);
}

static void five_percent_are_found_in_six_pairs(void **state)
{
    size_t out[JM_VERDICT_COUNT];
    struct jm_interval i;
    (void)state;
    for (int aa = 0; aa < 2; aa++) {
        count(6, 0.95, 0.01, 0, aa, out);
        jm_stats_clopper_pearson(out[JM_VERDICT_ACCEPT], STUDIES, 0.9, &i);
        assert_true(i.lo >= 0.8);
        count(6, 0.95, 0.01, 0.03, aa, out);
        jm_stats_clopper_pearson(out[JM_VERDICT_ACCEPT], STUDIES, 0.9, &i);
        assert_true(i.lo >= 0.8);
        assert_int_equal(out[JM_VERDICT_REJECT], 0);
    }
    count(6, 1.05, 0.01, 0, false, out); /* and what takes more is rejected */
    assert_true(out[JM_VERDICT_REJECT] >= (size_t)(0.8 * STUDIES));
    assert_int_equal(out[JM_VERDICT_ACCEPT], 0);
    count(12, 1, 0.005, -1, false, out); /* what is the same is called so: TOST at 2 % */
    assert_true(out[JM_VERDICT_EQUIVALENT] >= (size_t)(0.8 * STUDIES));
}

/* Six pairs in quads, on a machine that drifts by 3 % a trial: neither is more accepted than it should be,
 * nor is a true saving lost, which it is when the pairs are taken as they are. */
static void quads_on_a_drifting_machine(void **state)
{
    static const bool turned[] = {false, true, false, true, false, true};
    size_t wrong = 0, found = 0, asked = 0, paired = 0;
    struct jm_interval i;
    struct jm_rng r;
    (void)state;
    jm_rng_init(&r, 20260602);
    for (int k = 0; k < STUDIES; k++) {
        double d[6], own[6];
        struct jm_decide_opts o = contract(0);
        o.turned = turned;
        for (int saving = 0; saving < 2; saving++) {
            study(&r, 6, saving ? 0.95 : 1, 0.01, d, own);
            for (int p = 0; p < 6; p++) {
                d[p] += turned[p] ? -0.03 : 0.03;
                own[p] *= exp(0.03 * (4 * (p / 2) + (p % 2 ? 3 : 0))); /* A B B A */
            }
            o.minimum = 0;
            *(saving ? &found : &wrong) += decide(d, 6, own, 6, &o).verdict == JM_VERDICT_ACCEPT;
            if (!saving)
                continue;
            o.minimum = 0.03;
            asked += decide(d, 6, own, 6, &o).verdict == JM_VERDICT_ACCEPT;
            o.turned = NULL;
            paired += decide(d, 6, own, 6, &o).verdict == JM_VERDICT_ACCEPT;
        }
    }
    assert_true(upper(wrong) <= 0.05);
    jm_stats_clopper_pearson(found, STUDIES, 0.9, &i);
    assert_true(i.lo >= 0.8);
    jm_stats_clopper_pearson(asked, STUDIES, 0.9, &i);
    assert_true(i.lo >= 0.8);
    assert_true(paired < STUDIES / 10);
}

/* d = -5.0, -5.2, -4.8 % in logs: mean -0.05, s = 0.002, t(0.975; 2) = 4.303, half-width 4.303 x 0.002 / √3 =
 * 0.00497; ratio exp(-0.05) = 0.9512, saving 4.88 % (4.40 to 5.35). */
static void by_hand(void **state)
{
    static const double d[] = {-0.05, -0.052, -0.048}, own[] = {0.4, 0.4004, 0.3996};
    struct jm_decide_opts o = contract(0.03);
    struct jm_decision x = decide(d, 3, own, 3, &o);
    (void)state;
    assert_float_equal(x.saving, 1 - exp(-0.05), 1e-12);
    assert_float_equal(x.lo, 1 - exp(-0.05 + 0.0049686), 1e-5);
    assert_float_equal(x.hi, 1 - exp(-0.05 - 0.0049686), 1e-5);
    assert_int_equal(x.verdict, JM_VERDICT_ACCEPT);
    /* own repeats scatter by 0.1 % in logs: floor t s √(2/3) = 4.303 x 0.001 x 0.8165 = 0.0035135 */
    assert_int_equal(x.floor_source, JM_FLOOR_REPEATS);
    assert_float_equal(x.floor.log_floor, 0.0035135, 1e-6);
    o.minimum = 0.06;
    x = decide(d, 3, own, 3, &o);
    assert_int_equal(x.verdict, JM_VERDICT_REJECT);
    assert_int_equal(x.why, JM_WHY_SHORT);
    o.minimum = 0.05;
    x = decide(d, 3, own, 3, &o);
    assert_int_equal(x.verdict, JM_VERDICT_UNRESOLVED);
    assert_int_equal(x.why, JM_WHY_STRADDLES);
    jm_decide_plan(&x, &o);
    assert_true(x.pairs_needed > 3);
    o = contract(0);
    o.contract = false;
    assert_int_equal(decide(d, 3, own, 3, &o).verdict, JM_VERDICT_LOWER);
}

static void one_pair_says_how_many(void **state)
{
    static const double d[] = {-0.05};
    struct jm_decide_opts o = contract(0.01);
    struct jm_decision x = decide(d, 1, NULL, 0, &o);
    (void)state;
    jm_decide_plan(&x, &o);
    assert_int_equal(x.verdict, JM_VERDICT_UNRESOLVED);
    assert_int_equal(x.why, JM_WHY_FEW);
    assert_true(x.sd_assumed);
    /* sd 1 % against -ln(0.99) = 1.005 %: r = 0.995, ten pairs by the table of planning for r = 1 */
    assert_int_equal(x.pairs_needed, 10);
    assert_true(isnan(x.lo) && isnan(x.p));
}

static void a_floor_above_the_saving(void **state)
{
    static const double d[] = {-0.010, -0.011, -0.009, -0.010}, own[] = {0.4, 0.41, 0.39, 0.40};
    static const double aa[] = {0.002, -0.001, 0.0005, -0.0015, 0.001, 0};
    struct jm_decide_opts o = contract(0);
    struct jm_decision x = decide(d, 4, own, 4, &o);
    struct jm_err err = {0};
    (void)state;
    assert_int_equal(x.verdict, JM_VERDICT_UNRESOLVED);
    assert_int_equal(x.why, JM_WHY_FLOOR);
    assert_int_equal(jm_decide(d, 4, aa, 6, own, 4, &o, &x, &err), 0);
    assert_int_equal(x.floor_source, JM_FLOOR_AA);
    assert_int_equal(x.verdict, JM_VERDICT_ACCEPT);
    x = decide(d, 4, own, 2, &o); /* nothing to make one of */
    assert_int_equal(x.floor_source, JM_FLOOR_NONE);
    assert_int_equal(x.why, JM_WHY_FLOOR);
}

/* What two instruments may differ by widens the interval: 5 % saved, and 3 % each way unknown. */
static void gains_of_two_instruments(void **state)
{
    static const double d[] = {-0.05, -0.0501, -0.0499, -0.05}, own[] = {0.4, 0.4001, 0.3999, 0.4};
    struct jm_decide_opts o = contract(0.03);
    (void)state;
    assert_int_equal(decide(d, 4, own, 4, &o).verdict, JM_VERDICT_ACCEPT);
    o.gain = 0.03;
    struct jm_decision x = decide(d, 4, own, 4, &o);
    assert_int_equal(x.verdict, JM_VERDICT_UNRESOLVED);
    assert_true(x.lo < 0.021 && x.hi > 0.076);
    assert_true(x.p > 0.5);
}

static void the_best_of_many_that_are_alike(void **state)
{
    enum { K = 10, N = 6 };
    struct jm_rng r;
    struct jm_decide_opts o = contract(0);
    size_t wrong = 0, alone = 0;
    (void)state;
    jm_rng_init(&r, 7);
    for (int s = 0; s < STUDIES; s++) {
        struct jm_decision v[K];
        double a[N];
        size_t best = 0;
        struct jm_err err = {0};
        for (int i = 0; i < N; i++)
            a[i] = 0.4 * exp(0.007 * jm_rng_normal(&r));
        for (int k = 0; k < K; k++) {
            double d[N];
            for (int i = 0; i < N; i++)
                d[i] = log(0.4 * exp(0.007 * jm_rng_normal(&r)) / a[i]);
            v[k] = decide(d, N, a, N, &o);
        }
        bool any = false;
        for (int k = 0; k < K; k++)
            any |= v[k].verdict == JM_VERDICT_ACCEPT;
        alone += any;
        if (jm_decide_many(v, K, &o, &best, &err))
            fail_msg("%s", err.text);
        wrong += v[best].verdict == JM_VERDICT_ACCEPT;
    }
    assert_true(upper(wrong) <= 0.05);
    assert_true(alone > wrong); /* uncorrected it happens more often */
}

static void a_real_winner_stays_one(void **state)
{
    struct jm_decide_opts o = contract(0.02);
    struct jm_err err = {0};
    static const double own[] = {0.4, 0.402, 0.398, 0.401, 0.399, 0.4};
    double d[3][6];
    struct jm_decision v[3];
    size_t best = 9;
    (void)state;
    for (int i = 0; i < 6; i++) {
        d[0][i] = -0.01 + 0.002 * (i % 3 - 1);
        d[1][i] = -0.10 + 0.003 * (i % 3 - 1);
        d[2][i] = +0.02 + 0.002 * (i % 2);
    }
    for (int k = 0; k < 3; k++)
        v[k] = decide(d[k], 6, own, 6, &o);
    assert_int_equal(jm_decide_many(v, 3, &o, &best, &err), 0);
    assert_int_equal(best, 1);
    assert_int_equal(v[1].verdict, JM_VERDICT_ACCEPT);
    assert_true(v[1].winner && v[1].corrected.interval.lo > 0.09);
    assert_int_equal(v[0].verdict, JM_VERDICT_REJECT);
    assert_int_equal(v[2].verdict, JM_VERDICT_REJECT);
}

static void what_is_no_study(void **state)
{
    static const double d[] = {-0.05, NAN}, zero[] = {0, 0, 0};
    struct jm_decide_opts o = contract(0);
    struct jm_decision x;
    struct jm_err err = {0};
    (void)state;
    assert_int_equal(jm_decide(d, 2, NULL, 0, NULL, 0, &o, &x, &err), JM_EINVAL);
    assert_int_equal(jm_decide(d, 0, NULL, 0, NULL, 0, &o, &x, &err), JM_EINVAL);
    assert_int_equal(jm_decide(d, 1, NULL, 0, zero, 3, &o, &x, &err), JM_EINVAL);
    o.minimum = 1;
    assert_int_equal(jm_decide(d, 1, NULL, 0, NULL, 0, &o, &x, &err), JM_EINVAL);
    o = contract(0);
    o.level = 1;
    assert_int_equal(jm_decide(d, 1, NULL, 0, NULL, 0, &o, &x, &err), JM_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_against_a_is_accepted_in_at_most_five_percent),
        cmocka_unit_test(five_percent_are_found_in_six_pairs),
        cmocka_unit_test(quads_on_a_drifting_machine),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(one_pair_says_how_many),
        cmocka_unit_test(a_floor_above_the_saving),
        cmocka_unit_test(gains_of_two_instruments),
        cmocka_unit_test(the_best_of_many_that_are_alike),
        cmocka_unit_test(a_real_winner_stays_one),
        cmocka_unit_test(what_is_no_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
