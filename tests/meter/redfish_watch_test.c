/* SPDX-License-Identifier: Apache-2.0 */
/* Units of Redfish counters by physics, over time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"
#include "meter/meter.h"
#include "meter/redfish_impl.h"

static struct jm_redfish_spot spot[2];
static struct jm_redfish f = {.spot = spot, .n_spots = 2};
static int64_t now;

static void begin(bool open)
{
    spot[0] = (struct jm_redfish_spot){.what = {.unit = JM_U_W, .factor = 1}, .power = -1};
    spot[1] =
        (struct jm_redfish_spot){.what = {.unit = JM_U_J, .factor = 1}, .power = 0, .unit = {.open = open}};
    now = 1000 * JM_NS_PER_S;
}

/* A second on; raw: what the service writes. Its status. */
static int step(double watts, double raw, int64_t *value)
{
    struct jm_reading out[2] = {{.t0 = now, .t1 = now, .value = (int64_t)(watts * 1e3)},
                                {.t0 = now, .t1 = now, .value = (int64_t)(raw * spot[1].what.factor * 1e3)}};
    now += JM_NS_PER_S + 1;
    jm_redfish_watch(&f, out);
    *value = out[1].value;
    return out[1].status;
}

/* GH200: ProcessorModule_0_CPU_0_Energy_0 303963835.0 in a report is mJ; its board draws 200 W */
static void millijoules(void **state)
{
    int64_t v;
    (void)state;
    begin(true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(step(200, 303963835 + 200e3 * i, &v), JM_S_CONFLICT);
        assert_int_equal(v, 0);
    }
    assert_int_equal(step(200, 303963835 + 200e3 * 3, &v), JM_S_OK);
    assert_int_equal(v, 303963835 + 600000); /* mJ, to the last one */
    assert_int_equal(step(200, 303963835 + 200e3 * 4, &v), JM_S_OK);
}

static void joules(void **state)
{
    int64_t v;
    (void)state;
    begin(true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(step(85, 796170.359 + 85 * i, &v), JM_S_CONFLICT);
    assert_int_equal(step(85, 796170.359 + 85 * 3, &v), JM_S_OK);
    assert_int_equal(v, 796425359);
}

/* nothing is decided by a counter that stands still, falls, or agrees with no unit */
static void undecided(void **state)
{
    int64_t v;
    (void)state;
    begin(true);
    for (int i = 0; i < 6; i++)
        assert_int_equal(step(200, 5000, &v), JM_S_CONFLICT);
    for (int i = 0; i < 6; i++)
        assert_int_equal(step(200, 5000 - i, &v), JM_S_CONFLICT);
    for (int i = 0; i < 6; i++)
        assert_int_equal(step(200, 9000 + 7000 * i, &v), JM_S_CONFLICT);
}

/* a stated unit that three stretches contradict; one that is right stays right over a step of load */
static void stated(void **state)
{
    int64_t v;
    (void)state;
    begin(false);
    for (int i = 0; i < 3; i++)
        assert_int_equal(step(200, 1e6 + 200e3 * i, &v), JM_S_OK);
    assert_int_equal(step(200, 1e6 + 200e3 * 3, &v), JM_S_CONFLICT);
    begin(false);
    for (int i = 0; i < 9; i++)
        assert_int_equal(step(i < 4 ? 100 : 700, 1e6 + (i < 4 ? 100 * i : 300 + 700 * (i - 3)), &v), JM_S_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(millijoules), cmocka_unit_test(joules),
                                       cmocka_unit_test(undecided), cmocka_unit_test(stated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
