/* SPDX-License-Identifier: Apache-2.0 */
/* The published MLPerf power sessions of the public test data: what their logs give by the rules of their
 * rounds, as recorded in expected.json by an independent reading of the logs (numpy), and J/token of the LLM
 * ones from published tables. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "compute/compute.h"
#include "import/import.h"

static char corpus[4096];

/* mean W / tokens/s, as published: NVIDIA H200 of v4.1, Lenovo B200 of v5.1 */
static const struct {
    const char *name;
    double j_per_token;
} llm[] = {
    {"v4.1_NVIDIA_H200_gptj-99_Offline", 0.3646},        {"v4.1_NVIDIA_H200_llama2-70b-99_Server", 0.2717},
    {"v4.1_NVIDIA_H200_mixtral-8x7b_Offline", 0.1256},   {"v5.1_Lenovo_SR680a_llama2-70b-99_Offline", 0.1011},
    {"v5.1_Lenovo_SR780a_llama3.1-405b_Offline", 6.042}, {"v5.1_Lenovo_SR780a_llama3.1-8b_Server", 0.0700},
};

static void near(double got, double want, double rel)
{
    if (!(fabs(got - want) <= rel * fabs(want)))
        print_error("got %.17g, expected %.17g\n", got, want);
    assert_true(fabs(got - want) <= rel * fabs(want));
}

static void one(const char *name, const struct jm_json *want, int *llms)
{
    char path[8192], out[256];
    struct jm_err err = {0};
    struct jm_import_opts io = {.overwrite = true};
    struct jm_compute_opts co;
    struct jm_report *r;
    struct jm_run *run;
    double watts, metric;
    struct jm_span unit;
    snprintf(path, sizeof path, "%s/%s", corpus, name);
    snprintf(out, sizeof out, "mlperf_corpus_test.%d.jmr", (int)getpid());
    const struct jm_importer *imp = jm_importer_find(NULL, path, &err);
    assert_non_null(imp);
    if (imp->import(path, out, &io, &err))
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(jm_run_open(out, &run, &err), 0);
    jm_compute_defaults(&co);
    assert_int_equal(jm_compute(run, &co, &r, &err), 0);
    assert_int_equal(jm_audit(run, r, &err), 0);
    const struct jm_result *plain = jm_report_find(r, "power.mean.mlperf", JM_B_WALL, -2),
                           *mean = jm_report_find(r, "power.mean", JM_B_WALL, -2);
    assert_true(plain && plain->q.have && mean && mean->q.have);
    assert_int_equal(r->profile, JM_PROFILE_MLPERF);
    assert_true(jm_json_num(jm_json_get(want, "avg_W"), &watts) &&
                jm_json_num(jm_json_get(want, "metric"), &metric));
    near(plain->q.value, watts, 1e-9);
    /* the time-weighted mean stands beside it: 0.06 % apart on whole logs, more where samples are lost or
     * over range */
    near(mean->q.value, watts, 0.01);
    assert_true(jm_json_str(jm_json_get(want, "unit"), &unit));
    if (!jm_span_is(unit, "Watts")) { /* one of them is inferred from another scenario's run: times eight */
        const struct jm_result *mj = jm_report_find(r, "mj_per_stream", JM_B_WALL, -2);
        assert_true(mj && mj->q.have);
        near(mj->q.value, jm_span_is(unit, "Joules") ? 1000 * metric : metric, 1e-9);
    }
    for (size_t i = 0; i < sizeof llm / sizeof llm[0]; i++)
        if (strcmp(llm[i].name, name) == 0) {
            const struct jm_result *jt = jm_report_find(r, "j_per.output_token", JM_B_WALL, -2);
            assert_true(jt && jt->q.have);
            near(jt->q.value, llm[i].j_per_token, 0.0006); /* published with four digits */
            ++*llms;
        }
    jm_report_free(r);
    jm_run_close(run);
    unlink(out);
}

static void sessions(void **state)
{
    struct jm_str text;
    struct jm_json *doc;
    char path[8192];
    struct jm_span name;
    int n = 0, llms = 0;
    (void)state;
    jm_str_init(&text);
    snprintf(path, sizeof path, "%s/expected.json", corpus);
    assert_int_equal(jm_file_read(path, 1 << 24, &text, NULL), 0);
    assert_int_equal(jm_json_parse(jm_str_span(&text), &doc, NULL), 0);
    for (size_t i = 0; i < jm_json_len(doc); i++) {
        const struct jm_json *c = jm_json_at(doc, i);
        char buf[256];
        if (!jm_json_str(jm_json_get(c, "case"), &name) || !jm_span_starts(name, JM_SPAN("v")))
            continue;
        snprintf(buf, sizeof buf, "%.*s", (int)name.n, name.p);
        one(buf, c, &llms);
        n++;
    }
    jm_json_free(doc);
    jm_str_release(&text);
    assert_int_equal(n, 17);
    assert_int_equal(llms, 6);
}

int main(void)
{
    const char *build = getenv("JM_BUILD");
    snprintf(corpus, sizeof corpus, "%s/corpus/mlperf", build ? build : "build");
    if (access(corpus, R_OK) != 0) {
        printf("1..0 # SKIP no public test data (make corpus)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(sessions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
