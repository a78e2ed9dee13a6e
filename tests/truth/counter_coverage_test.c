/* SPDX-License-Identifier: Apache-2.0 */
/* Counters: coverage and width of the intervals over 10,000 random windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "coverage.h"

/* three refreshes on each side of an edge, as the recorder polls (record/internal.h) */
#define REACH 0.32

static const struct instrument list[] = {
    {.name = "counter, edge bursts", .counter = true, .every = 0.1, .burst = 0.001, .reach = REACH},
    {.name = "counter, 10 Hz only", .counter = true, .every = 0.1, .every_nth = 4},
    {.name = "8 counters, bursts",
     .counter = true,
     .every = 0.1,
     .burst = 0.001,
     .reach = REACH,
     .devices = 8,
     .every_nth = 4},
};

static void counters(void **state)
{
    (void)state;
    struct outcome o[3];
    coverage(list, 3, 20261129, o);
    for (int i = 0; i < 3; i++)
        coverage_print(list[i].name, &o[i]);
    coverage_assert(list[0].name, &o[0]);
    /* sums over eight GPUs on the same power, whose edge errors are partly the same */
    coverage_assert(list[2].name, &o[2]);
    /* without bursts two rectangular errors dominate, and the normal interval is a little wide for them */
    double plain = (double)o[1].all.in / (double)o[1].all.n;
    assert_true(plain >= 0.94 && plain <= 0.98);
    assert_true(o[0].all.half30 / (double)o[0].all.n30 <= 0.0005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
