/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sample run and its CSV export: write_sample RUN FOLDER. For tests in other languages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "run/sample.h"

static const char *run, *folder;

static void write_it(void **state)
{
    (void)state;
    struct jm_run *r = NULL;
    struct jm_err err = {0};
    sample_write(run);
    assert_int_equal(jm_run_open(run, &r, &err), 0);
    assert_int_equal(jm_run_export(r, "csv", folder, &err), 0);
    jm_run_close(r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(write_it)};
    if (argc != 3)
        return 2;
    run = argv[1];
    folder = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
