/* SPDX-License-Identifier: Apache-2.0 */
/* A session by way of a run file: import, then compute. After cmocka.h. */
#ifndef JM_TEST_IMPORTED_H
#define JM_TEST_IMPORTED_H

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "compute/compute.h"
#include "import/import.h"

/* Time-weighted mean power of the session as imported and computed; NaN: it has none. */
static inline double imported_watts(const char *path, const char *who)
{
    char out[256];
    struct jm_err err = {0};
    struct jm_import_opts io = {.overwrite = true};
    struct jm_compute_opts co;
    struct jm_report *r;
    struct jm_run *run;
    snprintf(out, sizeof out, "%s.%d.jmr", who, (int)getpid());
    const struct jm_importer *imp = jm_importer_find(NULL, path, &err);
    assert_non_null(imp);
    if (imp->import(path, out, &io, &err))
        fail_msg("%s: %s", path, err.text);
    assert_int_equal(jm_run_open(out, &run, &err), 0);
    jm_compute_defaults(&co);
    assert_int_equal(jm_compute(run, &co, &r, &err), 0);
    const struct jm_result *mean = jm_report_find(r, "power.mean", JM_B_WALL, -2);
    double watts = mean && mean->q.have ? mean->q.value : NAN;
    jm_report_free(r);
    jm_run_close(run);
    unlink(out);
    return watts;
}

#endif
