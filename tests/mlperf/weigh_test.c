/* SPDX-License-Identifier: Apache-2.0 */
/* Time-weighted energy of logs of every shape: what is taken while samples stream by (weigh.c) is what
 * compute/gauge.c gets of the imported readings, to 1e-9, or neither has a value. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "fix_session.h"
#include "imported.h"

struct shape {
    const char *name;
    int64_t from, to, step, jitter;  /* ms */
    double missed, bad, over, twice; /* shares of samples */
    int value;                       /* 1: there is one; 0: there is none; -1: by chance */
};

static const struct shape shapes[] = {
    {"plain", 0, 60000, 1000, 0, 0, 0, 0, 0, 1},
    {"jitter", 0, 60000, 1000, 200, 0, 0, 0, 0, 1},
    {"missed", 0, 60000, 1000, 20, 0.05, 0, 0, 0, -1},
    {"many missed", 0, 60000, 1000, 20, 0.5, 0, 0, 0, 0},
    {"bad and over", 0, 60000, 1000, 20, 0, 0.04, 0.2, 0, -1},
    {"twice", 0, 60000, 1000, 0, 0, 0, 0, 0.2, 1},
    {"two seconds", 0, 80000, 2000, 30, 0, 0, 0, 0, 1},
    {"two seconds, missed", 0, 80000, 2000, 30, 0.04, 0, 0.1, 0, -1},
    {"five seconds", -20000, 90000, 5000, 100, 0, 0, 0, 0, 1},
    {"quarter", 0, 60000, 250, 10, 0.02, 0.02, 0.1, 0, -1},
    {"1.7 s", 0, 60000, 1700, 10, 0, 0, 0, 0, 1},
    {"1.55 s", 0, 60000, 1550, 10, 0, 0, 0, 0, 1}, /* a sample stands for all of it */
    {"starts late", 10900, 60000, 1000, 20, 0, 0, 0, 0, 1},
    {"starts too late", 14900, 60000, 1000, 20, 0, 0, 0, 0, 0},
    {"ends early", 0, 49000, 1000, 20, 0, 0, 0, 0, 1},
    {"ends too early", 0, 44000, 1000, 20, 0, 0, 0, 0, 0},
    {"far around", -600000, 700000, 1000, 30, 0.01, 0, 0.01, 0, 1},
    {"one sample", 20000, 20500, 1000, 0, 0, 0, 0, 0, 0},
};

static void one(const struct shape *x, uint64_t seed)
{
    struct jm_rng rng;
    struct jm_str spl;
    char dir[256];
    fix_session(fix_dir(dir, "weigh"));
    fix_detail(dir, "run_1", 10123, 50456); /* 40.333 s */
    jm_rng_init(&rng, seed);
    jm_str_init(&spl);
    int64_t last = INT64_MIN;
    for (int64_t t = x->from; t < x->to; t += x->step) {
        int64_t at = t + (int64_t)((jm_rng_unit(&rng) - 0.5) * (double)x->jitter);
        double watts = 200 + 100 * sin((double)t / 3000) + 5 * jm_rng_unit(&rng), dice = jm_rng_unit(&rng);
        if (dice < x->missed)
            jm_str_addf(&spl, "Time,%s,Watts,-2.000000,Volts,-2.000000,Amps,-2.000000,PF,-2.000000,Mark,m\n",
                        fix_stamp(last > INT64_MIN ? last + 1 : at, (char[32]){0}));
        else if (dice < x->missed + x->bad)
            fix_sample(&spl, at, -1, 230, -1, "testing", "");
        else if (dice < x->missed + x->bad + x->over)
            fix_sample(&spl, at, -3 - watts, 230, -4, "testing", "");
        else
            fix_sample(&spl, at, watts, 230, 1, "testing", "");
        if (jm_rng_unit(&rng) < x->twice)
            fix_sample(&spl, at, watts + 1, 230, 1, "testing", "");
        last = at;
    }
    fix_write(dir, "run_1/spl.txt", jm_str_span(&spl));
    jm_str_release(&spl);
    struct jm_mlperf_session *s = fix_read(dir);
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    double ours = p->joules / p->seconds, theirs = imported_watts(dir, "weigh_test");
    if (isnan(ours) != isnan(theirs) || fabs(ours - theirs) > 1e-9 * theirs ||
        (x->value >= 0 && isnan(ours) == x->value))
        print_error("%s, seed %d: %.17g W while reading, %.17g W of the imported run\n", x->name, (int)seed,
                    ours, theirs);
    assert_int_equal(isnan(ours), isnan(theirs));
    assert_false(fabs(ours - theirs) > 1e-9 * theirs);
    if (x->value >= 0)
        assert_int_equal(!isnan(ours), x->value);
    jm_mlperf_session_free(s);
}

static void agreement(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        one(&shapes[i], i + 1);
}

static int clean(void **state)
{
    (void)state;
    fix_clean();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agreement)};
    return cmocka_run_group_tests(tests, NULL, clean);
}
