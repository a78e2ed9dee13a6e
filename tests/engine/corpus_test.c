/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that real engines wrote, or their own documentation shows. The documentation's samples lie in pages
 * with words around them: lines that are no metrics hide nothing. */
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

#include "base/file.h"
#include "engine/telemetry.h"

static char root[1000];

static void load(const char *name, struct jm_str *out)
{
    char path[1200];
    struct jm_err err;
    snprintf(path, sizeof path, "%s/%s", root, name);
    jm_str_init(out);
    if (jm_file_read(path, 1 << 24, out, &err))
        fail_msg("%s", err.text);
}

static void read_file(const char *name, struct jm_engine_reading *r)
{
    struct jm_str text;
    struct jm_err err = {0};
    load(name, &text);
    jm_engine_reading_init(r);
    if (jm_engine_read(r, NULL, jm_str_span(&text), &err))
        fail_msg("%s", err.text);
    jm_str_release(&text);
}

/* A real server before and after 3,306 tokens: 3326 - 20, in 2337 calls of llama_decode; the average of busy
 * slots is no counter. */
static void llama(void **state)
{
    struct jm_engine_reading a, b;
    struct jm_engine_step s;
    (void)state;
    read_file("llamacpp_feb2025_real.prom", &a);
    read_file("llamacpp_feb2025_after_load.prom", &b);
    assert_string_equal(a.dialect->name, "llamacpp");
    assert_int_equal(a.bad_lines + b.bad_lines, 0);
    jm_engine_step(&a, &b, &s);
    assert_true(s.d[JM_EQ_GEN_END] == 3306 && s.d[JM_EQ_STEPS] == 2337 && s.d[JM_EQ_PROMPT] == 21);
    assert_true(fabs(s.d[JM_EQ_DECODE_S] - 3.713) < 1e-9);
    assert_int_equal(s.resets, 0);
    assert_false(s.have[JM_EQ_GEN_STEP]);
    assert_true(fabs(jm_engine_gauge(&b, JM_EQ_KV_USE, NULL) - 0.146973) < 1e-9);
    jm_engine_reading_release(&a);
    jm_engine_reading_release(&b);
    struct jm_str json, out;
    struct jm_err err;
    load("llamacpp_slots_feb2025_idle.json", &json);
    jm_str_init(&out);
    assert_int_equal(jm_engine_slots(jm_str_span(&json), &out, &err), 0);
    assert_non_null(strstr(out.buf, "joulemark_slots 4\n"));
    assert_null(strstr(out.buf, "energy of")); /* the prompt of the capture */
    assert_null(strstr(out.buf, "n_decoded{"));
    jm_str_release(&json);
    jm_str_release(&out);
}

static void triton(void **state)
{
    struct jm_engine_reading r;
    (void)state;
    read_file("triton_tensorrtllm_backend.prom", &r);
    assert_string_equal(r.dialect->name, "triton");
    assert_true(r.bad_lines > 0);
    assert_true(jm_engine_gauge(&r, JM_EQ_WAITING, NULL) == 1);
    assert_true(jm_engine_gauge(&r, JM_EQ_RUNNING, NULL) == 1);
    assert_true(fabs(jm_engine_gauge(&r, JM_EQ_KV_USE, NULL) - 1.0 / 6239) < 1e-12);
    assert_true(jm_engine_row(&r, JM_EQ_REQ_OK) >= 0 && jm_engine_row(&r, JM_EQ_STEPS) >= 0);
    jm_engine_reading_release(&r);
}

static void vllm(void **state)
{
    struct jm_engine_reading r, none;
    struct jm_engine_hist h;

    (void)state;
    read_file("vllm_design_doc_sample.prom", &r);
    assert_string_equal(r.dialect->name, "vllm");
    assert_true(jm_engine_gauge(&r, JM_EQ_RUNNING, NULL) == 8);
    /* its histogram ends at 0.1 s without a bucket for +Inf: nothing is made up */
    jm_engine_reading_init(&none);
    none.dialect = r.dialect;
    assert_false(jm_engine_hist(&none, &r, JM_EQ_H_TTFT, &h));
    struct jm_engine_step s;
    jm_engine_step(&none, &r, &s);
    assert_true(s.d[JM_EQ_GEN_STEP] == 27453 && s.d[JM_EQ_REQ_LENGTH] == 131 && s.d[JM_EQ_REQ_STOP] == 1 &&
                s.d[JM_EQ_REQ_ALL] == 132);
    jm_engine_reading_release(&r);
}

/* Every family that the dialect reads under today's names is one that vLLM 0.26.0 has, with the type it has.
 */
static void vllm_families(void **state)
{
    struct jm_str list;
    unsigned found = 0;
    (void)state;
    load("v0.26.0.txt", &list);
    const struct jm_engine_dialect *d = jm_engine_dialect_find("vllm");
    for (const struct jm_engine_map *m = d->map; m->name; m++) {
        char line[200];
        snprintf(line, sizeof line, "\n%s ", m->name);
        const char *at = strstr(list.buf, line);
        if (!at)
            continue; /* an older name, or a feature that was off */
        at += strlen(line);
        const char *want = m->part != JM_EM_VALUE ? "histogram" : m->q < JM_EQ_COUNTERS ? "counter" : "gauge";
        if (strncmp(at, want, strlen(want)) != 0)
            fail_msg("%s is %.9s, read as %s", m->name, at, want);
        found++;
    }
    assert_true(found >= 28);
    jm_str_release(&list);
}

int main(void)
{
    const char *dir = getenv("JOULEMARK_CORPUS"), *source = getenv("JM_SOURCE");
    if (dir)
        snprintf(root, sizeof root, "%s/engine-metrics", dir);
    else
        snprintf(root, sizeof root, "%s/../shared/corpus/engine-metrics", source ? source : ".");
    if (access(root, R_OK) != 0)
        return 77;
    static const struct CMUnitTest tests[] = {cmocka_unit_test(llama), cmocka_unit_test(triton),
                                              cmocka_unit_test(vllm), cmocka_unit_test(vllm_families)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
