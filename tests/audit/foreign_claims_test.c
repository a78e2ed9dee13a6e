/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of claims that no importer makes yet, by claims put in by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compute/synthetic.h"

static int found(const char *name, const char *metric, const char *boundary, const char *id)
{
    struct syn s;
    struct jm_compute_opts o;
    struct jm_run_claim c = {.key = "total", .stat = "sum", .value = 500, .unit = "J", .window = -1};
    syn_begin_as(&s, name, "imported");
    syn_env(&s, "import.kind", "some tool");
    syn_request(&s, 1, 0.1, 0.01, 10, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    snprintf(c.metric, sizeof c.metric, "%s", metric);
    if (strncmp(metric, "j_per.", 6) == 0) {
        c.stat[0] = '\0';
        snprintf(c.unit, sizeof c.unit, "J/token");
    }
    snprintf(c.boundary, sizeof c.boundary, "%s", boundary);
    assert_int_equal(jm_run_put_claim(s.w, &c, NULL), 0);
    jm_compute_defaults(&o);
    syn_report(&s, &o);
    int n = syn_findings(&s, id);
    syn_end(&s);
    return n;
}

static void an_energy_has_a_boundary(void **state)
{
    (void)state;
    assert_int_equal(found("unsaid", "energy", "", "boundary.unsaid"), 1);
    assert_int_equal(found("unsaid_ratio", "j_per.output_token", "", "boundary.unsaid"), 1);
    assert_int_equal(found("said", "energy", "gpu", "boundary.unsaid"), 0);
    assert_int_equal(found("no_energy", "duration", "", "boundary.unsaid"), 0);
    assert_int_equal(found("its_duration", "energy.duration", "", "boundary.unsaid"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_energy_has_a_boundary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
