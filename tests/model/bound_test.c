/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/bound.h"

/* By hand: a BMC read in 40 ms (20 ms of it), that refreshes each second, averages over one and is asked each
 * second: delta = 0.02 + 1 + 1 + 1 = 3.02 s. The power moves by 300 W near the first edge, by 10 W near the
 * second: 906 + 30.2 J. Its accuracy is 1 % of 60 kJ: 600 J. In all 1536.2 J, 2.56 % of them. */
static void by_hand(void **state)
{
    (void)state;
    struct jm_bound_edge e[2] = {{0.02, 1, 1, 1, 300}, {0.02, 1, 1, 1, 10}};
    struct jm_bound b;
    jm_bound_make(e, 0, 600, &b);
    assert_true(fabs(b.delta_s[0] - 3.02) < 1e-12 && fabs(b.edges - 936.2) < 1e-9);
    assert_true(fabs(b.total - 1536.2) < 1e-9 && !b.no_accuracy);
    /* 60 kJ in 100 s; 2 % asked, 1 % of it goes to the accuracy: 936.2 J / 0.01 = 93,620 J = 156.03 s at 600
     * W */
    assert_true(fabs(jm_bound_needs(&b, 60000, 100, 0.02) - 156.0333333) < 1e-6);
    assert_true(isinf(jm_bound_needs(&b, 60000, 100, 0.01)));
    assert_true(isinf(jm_bound_needs(&b, 60000, 100, 0.005)));
    assert_true(isnan(jm_bound_needs(&b, 0, 100, 0.01)));
}

/* A counter in steps of 1 kWh over a minute of 10 kW: 2 x 3.6 MJ against 0.6 MJ. 1 % takes 720 MJ: 20 hours.
 */
static void quantum(void **state)
{
    (void)state;
    struct jm_bound_edge e[2] = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
    struct jm_bound b;
    jm_bound_make(e, 3.6e6, NAN, &b);
    assert_true(b.total == 7.2e6 && b.no_accuracy);
    assert_true(fabs(jm_bound_needs(&b, 6e5, 60, 0.01) - 72000) < 1e-6);
}

static void unknown(void **state)
{
    (void)state;
    struct jm_bound_edge e[2] = {{NAN, 1, 1, 1, 300}, {0.02, 1, 1, 1, 10}};
    struct jm_bound b;
    jm_bound_make(e, 0, 0, &b);
    assert_true(isnan(b.total) && isnan(jm_bound_needs(&b, 6e5, 60, 0.01)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(quantum),
                                       cmocka_unit_test(unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
