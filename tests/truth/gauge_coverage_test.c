/* SPDX-License-Identifier: Apache-2.0 */
/* Gauges: coverage and width of the intervals over 10,000 random windows, one semantics after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "coverage.h"

static const struct instrument list[] = {
    {.name = "instant", .sem = JM_G_INSTANT, .every = 0.1},
    {.name = "block mean", .sem = JM_G_BLOCK_MEAN, .every = 0.1},
    {.name = "trailing mean 1 s", .sem = JM_G_TRAILING_MEAN, .window = 1, .every = 0.1},
    {.name = "25 of 100 ms", .sem = JM_G_PARTIAL, .window = 0.025, .every = 0.1},
    {.name = "analyzer, 1 s blocks", .sem = JM_G_BLOCK_MEAN, .every = 1, .stamped = true, .every_nth = 4},
    {.name = "block mean, 20 ms polls", .sem = JM_G_BLOCK_MEAN, .every = 0.02, .every_nth = 4},
    {.name = "instant, 1 s polls", .sem = JM_G_INSTANT, .every = 1, .every_nth = 4},
};
#define KINDS (sizeof list / sizeof list[0])

static void gauges(void **state)
{
    (void)state;
    static struct outcome o[KINDS];
    coverage(list, KINDS, 20261130, o);
    for (size_t i = 0; i < KINDS; i++)
        coverage_print(list[i].name, &o[i]);
    for (size_t i = 0; i < 4; i++) {
        coverage_assert(list[i].name, &o[i]);
        double ratio = sqrt(o[i].all.half2 / o[i].all.ref2) / 1.96;
        if (!(ratio <= 1.5))
            fail_msg("%s: half-width is %.2f times what its known errors imply", list[i].name, ratio);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gauges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
