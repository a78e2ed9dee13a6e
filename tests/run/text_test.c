/* SPDX-License-Identifier: Apache-2.0 */
/* Export and merge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "run/sample.h"

static struct jm_err err;

static struct jm_run *opened(const char *path)
{
    struct jm_run *r = NULL;
    assert_int_equal(jm_run_open(path, &r, &err), 0);
    return r;
}

static int64_t number(const struct jm_json *o, const char *key)
{
    int64_t v = INT64_MIN;
    assert_true(jm_json_i64(jm_json_get(o, key), &v));
    return v;
}

static void json_has_everything(void **state)
{
    (void)state;
    char out[512];
    snprintf(out, sizeof out, "%s.json", sample_path("export.jmr"));
    const char *path = sample_path("export.jmr");
    sample_write(path);
    struct jm_run *r = opened(path);
    assert_int_equal(jm_run_export(r, "json", out, &err), 0);
    assert_int_equal(jm_run_export(r, "xml", out, &err), JM_EINVAL);
    struct jm_str text;
    struct jm_json *root = NULL;
    jm_str_init(&text);
    assert_int_equal(jm_file_read(out, 16 << 20, &text, &err), 0);
    char *big = strstr(text.buf, "18446744073709551360"); /* 2^64 - 256: more than jansson takes */
    assert_non_null(big);
    memset(big, '1', 18);
    big[18] = big[19] = ' ';
    assert_int_equal(jm_json_parse(jm_str_span(&text), &root, &err), 0);
    struct jm_span s;
    assert_true(jm_json_str(jm_json_get(root, "schema"), &s) && jm_span_is(s, "joulemark.export/1"));
    assert_true(jm_json_str(jm_json_get(root, "label"), &s) && jm_span_is(s, "sample \"run\""));
    assert_int_equal(jm_json_len(jm_json_get(root, "meters")), 2);
    assert_int_equal(jm_json_len(jm_json_get(root, "channels")), 3);
    assert_int_equal(jm_json_len(jm_json_get(root, "requests")), SAMPLE_REQUESTS);
    assert_int_equal(jm_json_len(jm_json_get(root, "clock_pairs")), 30);
    assert_int_equal(jm_json_len(jm_json_get(root, "claims")), 2);
    assert_int_equal(jm_json_len(jm_json_get(root, "readings.2")), SAMPLE_READINGS);
    const struct jm_json *reading = jm_json_at(jm_json_get(root, "readings.0"), 7);
    struct jm_reading want = sample_reading(0, 7);
    assert_int_equal(number(reading, "t0_ns"), want.t0);
    assert_int_equal(number(reading, "native"), want.value);
    double v = 0;
    assert_true(jm_json_num(jm_json_get(reading, "value"), &v));
    assert_true(v == (double)want.value / 1000); /* mJ */
    /* what is missing is null, and so is the value of a reading that is not good */
    assert_true(jm_json_is_null(jm_json_get(jm_json_at(jm_json_get(root, "readings.0"), 100), "value")));
    const struct jm_json *refused = jm_json_at(jm_json_get(root, "requests"), 6);
    assert_true(jm_json_is_null(jm_json_get(refused, "output_tokens")));
    assert_true(jm_json_is_null(jm_json_get(refused, "first_token_ns")));
    assert_true(jm_json_str(jm_json_get(refused, "end"), &s) && jm_span_is(s, "refused"));
    jm_json_free(root);
    jm_str_release(&text);
    jm_run_close(r);
    unlink(out);
    assert_int_equal(jm_run_export(NULL, "json", "/nonexistent/x.json", &err), JM_EABSENT);
}

static void csv_quotes(void **state)
{
    (void)state;
    char dir[512], file[600];
    const char *path = sample_path("csv.jmr");
    snprintf(dir, sizeof dir, "%s.d", path);
    sample_write(path);
    struct jm_run *r = opened(path);
    assert_int_equal(jm_run_export(r, "csv", dir, &err), 0);
    assert_int_equal(jm_run_export(r, "csv", dir, &err), 0); /* again into the same folder */
    struct jm_str text;
    jm_str_init(&text);
    snprintf(file, sizeof file, "%s/run.csv", dir);
    assert_int_equal(jm_file_read(file, 1 << 20, &text, &err), 0);
    assert_non_null(strstr(text.buf, "\r\nlabel,\"sample \"\"run\"\"\"\r\n"));
    jm_str_reset(&text);
    snprintf(file, sizeof file, "%s/windows.csv", dir);
    assert_int_equal(jm_file_read(file, 1 << 20, &text, &err), 0);
    assert_string_equal(text.buf, "window,trial,role,name,t0_ns,t1_ns\r\n"
                                  "0,0,warm-up,warm-up,1000000000000,1005000000000\r\n"
                                  "1,1,measure,measure,1005000000000,1020000000000\r\n");
    jm_str_release(&text);
    jm_run_close(r);
}

static int count_events(void *self, int64_t request, const struct jm_token_event *ev, size_t n)
{
    int64_t *sum = self;
    sum[0] += (int64_t)n;
    if (request == SAMPLE_REQUESTS + 1)
        sum[1] = ev[0].t;
    return 0;
}

/* The same sample as seen by a second host whose monotonic clock is 500 s behind: its pairs say so. */
static void merge_aligns_clocks(void **state)
{
    (void)state;
    char a[512], b[512], out[512];
    snprintf(a, sizeof a, "%s", sample_path("one.jmr"));
    sample_write(a);
    snprintf(b, sizeof b, "%s", sample_path("two.jmr"));
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    c.label = "other host";
    assert_int_equal(jm_run_create(b, &c, &w, &err), 0);
    struct jm_run_meter m = {.name = "nvml", .state = "ok"};
    assert_int_equal(jm_run_put_meter(w, &m, &err), 0);
    struct jm_domain_tree t;
    jm_domain_tree_init(&t);
    int node = jm_domain_host(&t, "host2", &err),
        gpu = jm_domain_add(&t, node, JM_D_GPU, "GPU-b", NULL, &err);
    assert_int_equal(jm_run_put_domains(w, &t, &err), 0);
    jm_domain_tree_release(&t);
    struct jm_channel ch = {.kind = JM_CH_GAUGE, .unit = JM_U_W, .domain = gpu, .name = "power.instant"};
    int id;
    assert_int_equal(jm_run_put_channel(w, &ch, &id, &err), 0);
    int64_t behind = 500 * JM_NS_PER_S;
    struct jm_clock_pair p = {SAMPLE_T0 - behind, SAMPLE_T0 - behind, INT64_C(1750000000000000000) - 200, 0};
    assert_int_equal(jm_run_put_clock_pair(w, &p, &err), 0);
    struct jm_reading r = {.t0 = SAMPLE_T0 - behind + 100, .t1 = SAMPLE_T0 - behind + 200, .value = 7};
    assert_int_equal(jm_run_put_readings(w, &r, 1, &err), 0);
    struct jm_request q = sample_request(1);
    struct jm_token_event ev = {.t = SAMPLE_T0 - behind + 3000, .tokens = 1};
    q.t[JM_T_SCHEDULED] = SAMPLE_T0 - behind;
    assert_int_equal(jm_run_put_request(w, &q, &ev, 1, &err), 0);
    assert_int_equal(jm_run_put_env(w, "host.name", "host2", &err), 0);
    assert_int_equal(jm_run_seal(w, &err), 0);

    snprintf(out, sizeof out, "%s", sample_path("merged.jmr"));
    const char *paths[] = {a, b};
    int rc = jm_run_merge(paths, 2, out, NULL, &err);
    if (rc)
        print_message("%s\n", err.text);
    assert_int_equal(rc, 0);
    struct jm_run *run = opened(out);
    size_t n;
    assert_int_equal(jm_run_domains(run)->n, 3 + 3);
    const struct jm_channel *all = jm_run_channels(run, &n);
    assert_int_equal(n, 4);
    assert_int_equal(all[3].meter, 2);
    assert_string_equal(jm_run_domains(run)->d[all[3].domain].key, "GPU-b");
    struct jm_readings got = {0};
    assert_int_equal(jm_run_readings(run, 3, INT64_MIN, INT64_MAX, &got, &err), 0);
    /* the first run's real - mono is 1.75e18 - 1e12 - 200 (middle of 400 ns), the second's is the same but
     * for 500 s */
    assert_int_equal(got.v[0].t0, SAMPLE_T0 + 100);
    jm_readings_release(&got);
    const struct jm_request *rq = jm_run_requests(run, &n);
    assert_int_equal(n, SAMPLE_REQUESTS + 1);
    assert_int_equal(rq[SAMPLE_REQUESTS].id, SAMPLE_REQUESTS + 1);
    assert_int_equal(rq[SAMPLE_REQUESTS].t[JM_T_SCHEDULED], SAMPLE_T0);
    int64_t sum[2] = {0};
    assert_int_equal(jm_run_events(run, count_events, sum, &err), 0);
    assert_int_equal(sum[1], SAMPLE_T0 + 3000);
    assert_string_equal(jm_run_env(run, "host.name"), "host1");
    assert_string_equal(jm_run_env(run, "run1.host.name"), "host2");
    jm_run_close(run);
    /* the first alone is a copy of all there is */
    snprintf(out, sizeof out, "%s", sample_path("copy.jmr"));
    assert_int_equal(jm_run_merge(paths, 1, out, NULL, &err), 0);
    run = opened(out);
    struct jm_str prompt, output;
    jm_str_init(&prompt);
    jm_str_init(&output);
    assert_int_equal(jm_run_text(run, 3, &prompt, &output, &err), 0);
    assert_string_equal(prompt.buf, "What is a joule?");
    assert_int_equal(jm_run_text(run, 4, &prompt, &output, &err), JM_EABSENT);
    jm_str_release(&prompt);
    jm_str_release(&output);
    const struct jm_run_claim *claim = jm_run_claims(run, &n);
    assert_int_equal(n, 2);
    assert_true(claim[0].window == 1 && claim[0].value == 12.5);
    jm_run_close(run);
    /* nothing is left of a merge that fails, and an existing file is not written over */
    assert_int_equal(jm_run_merge(paths, 2, out, NULL, &err), JM_ECONFLICT);
    paths[1] = "/nonexistent";
    snprintf(out, sizeof out, "%s", sample_path("none.jmr"));
    assert_int_equal(jm_run_merge(paths, 2, out, NULL, &err), JM_EABSENT);
    struct stat st;
    assert_int_not_equal(stat(out, &st), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_everything),
        cmocka_unit_test(csv_quotes),
        cmocka_unit_test(merge_aligns_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
