/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in the style of the public descriptions: prometheus.io "Exposition formats", the OpenMetrics 1.0
 * specification, and what engines write. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/str.h"
#include "wire/prom.h"

static const char types[] = "ucghHsit", parts[] = "vbsnCq";

/* "family:type:part label=value,... value[@time][!]" a line */
static void put(struct jm_str *out, const struct jm_prom_sample *s)
{
    jm_str_addspan(out, s->family);
    jm_str_addf(out, ":%c:%c", types[s->type], parts[s->part]);
    for (size_t i = 0; i < s->n_labels; i++) {
        char buf[128];
        size_t n = jm_prom_unescape(s->label[i].value, buf, sizeof buf);
        jm_str_addf(out, "%s%.*s=%.*s", i ? "," : " ", (int)s->label[i].name.n, s->label[i].name.p, (int)n,
                    buf);
    }
    jm_str_addf(out, " %g", s->value);
    if (s->has_time)
        jm_str_addf(out, "@%.14g", s->time);
    jm_str_adds(out, s->exemplar ? "!\n" : "\n");
}

static int render(const char *text, size_t n, size_t step, const struct jm_prom_limits *lim,
                  struct jm_str *out, struct jm_prom *keep)
{
    struct jm_prom p;
    struct jm_prom_sample s;
    struct jm_err err = {0};
    int rc = 0;
    jm_prom_init(&p, lim);
    for (size_t at = 0; at < n && rc == 0; at += step) {
        size_t k = step < n - at ? step : n - at;
        char *copy = test_malloc(k + 1); /* the parser must not keep pointers into what it was given */
        memcpy(copy, text + at, k);
        struct jm_span in = {copy, k};
        while ((rc = jm_prom_next(&p, &in, at + k == n, &s, &err)) == 1)
            put(out, &s);
        test_free(copy);
    }
    if (keep)
        *keep = p;
    jm_prom_release(&p);
    return rc;
}

static const struct {
    const char *name, *text, *want;
    unsigned bad;
} rows[] = {
    {"the sample of prometheus.io",
     "# HELP http_requests_total The total number of HTTP requests.\n"
     "# TYPE http_requests_total counter\n"
     "http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n"
     "http_requests_total{method=\"post\",code=\"400\"}    3 1395066363000\n\n"
     "# Escaping in label values:\n"
     "msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find "
     "file:\\n\\\"FILE.TXT\\\"\"} 1.458255915e9\n"
     "metric_without_timestamp_and_labels 12.47\n"
     "something_weird{problem=\"division by zero\"} +Inf -3982045\n"
     "# TYPE rpc_duration_seconds summary\n"
     "rpc_duration_seconds{quantile=\"0.01\"} 3102\n"
     "rpc_duration_seconds_sum 1.7560473e+07\nrpc_duration_seconds_count 2693\n",
     "http_requests_total:c:v method=post,code=200 1027@1395066363000\n"
     "http_requests_total:c:v method=post,code=400 3@1395066363000\n"
     "msdos_file_access_time_seconds:u:v path=C:\\DIR\\FILE.TXT,error=Cannot find file:\n\"FILE.TXT\" "
     "1.45826e+09\n"
     "metric_without_timestamp_and_labels:u:v 12.47\n"
     "something_weird:u:v problem=division by zero inf@-3982045\n"
     "rpc_duration_seconds:s:q quantile=0.01 3102\n"
     "rpc_duration_seconds:s:s 1.75605e+07\nrpc_duration_seconds:s:n 2693\n",
     0},
    {"OpenMetrics: counter, created, exemplar, EOF",
     "# TYPE foo counter\n# UNIT foo seconds\nfoo_total 17.0 1520879607.789 # {trace_id=\"KOO\"} 0.67\n"
     "foo_created 1520872607.123\n# TYPE i info\ni_info{v=\"1\"} 1\n# EOF\n",
     "foo:c:v 17@1520879607.789!\nfoo:c:C 1.52087e+09\ni:i:v v=1 1\n", 0},
    {"nothing stands after # EOF", "a 1\n# EOF\nb 2\n", "a:u:v 1\n", 1},
    {"TYPE over the name (vLLM)",
     "# TYPE vllm:iteration_tokens_total histogram\n"
     "vllm:iteration_tokens_total_bucket{le=\"8.0\"} 3\nvllm:iteration_tokens_total_sum 24\n"
     "vllm:iteration_tokens_total_count 3\n",
     "vllm:iteration_tokens_total:h:b le=8.0 3\nvllm:iteration_tokens_total:h:s 24\n"
     "vllm:iteration_tokens_total:h:n 3\n",
     0},
    {"a gauge that ends with _count stays one",
     "# TYPE nv_inference_count counter\nnv_inference_count{model=\"m\",version=\"1\"} 4\n"
     "# TYPE nv_inference_pending_request_count gauge\nnv_inference_pending_request_count 2\n",
     "nv_inference_count:c:v model=m,version=1 4\nnv_inference_pending_request_count:g:v 2\n", 0},
    {"_created of prometheus_client, a gauge by its TYPE",
     "# TYPE vllm:num_preemptions_total counter\nvllm:num_preemptions_total{engine=\"0\"} 0.0\n"
     "# TYPE vllm:num_preemptions_created gauge\nvllm:num_preemptions_created{engine=\"0\"} 1.7e9\n",
     "vllm:num_preemptions_total:c:v engine=0 0\nvllm:num_preemptions:c:C engine=0 1.7e+09\n", 0},
    {"CRLF, blanks, a trailing comma, no line end",
     "# TYPE a gauge\r\na{b=\"c\",} 1\r\n  d   2  \r\n\r\ne\t3", "a:g:v b=c 1\nd:u:v 2\ne:u:v 3\n", 0},
    {"exponents, signs, NaN", "a 8.128902e+06\nb -1E-3\nc NaN\nd -Inf\ne +5\nf 1e999\n",
     "a:u:v 8.1289e+06\nb:u:v -0.001\nc:u:v nan\nd:u:v -inf\ne:u:v 5\nf:u:v inf\n", 0},
    {"names of Prometheus 3", "# TYPE \"my.name\" gauge\n{\"my.name\",a=\"b\"} 1\n", "my.name:g:v a=b 1\n",
     0},
    {"broken lines are counted and hide nothing",
     "a{b=\"c} 1\nb 1 2 3\nc\nd x\n9x 1\n<html>\n# TYPE q nonsense\nok 1\n", "ok:u:v 1\n", 7},
    {"a brace in a value", "a{b=\"}{,=\"} 1\n", "a:u:v b=}{,= 1\n", 0},
    {"no blank between labels and value", "a{b=\"c\"}1\n", "a:u:v b=c 1\n", 0},
    {"duplicate series are all handed out", "a 1\na 2\n", "a:u:v 1\na:u:v 2\n", 0},
    {"a byte order mark", "\xef\xbb\xbf# TYPE a gauge\na 1\n", "a:g:v 1\n", 0},
    {"nothing", "", "", 0},
};

static void reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t step = 1; step < 40; step = step < 4 ? step + 1 : step * 3) {
            struct jm_str out;
            struct jm_prom p;
            jm_str_init(&out);
            assert_int_equal(render(rows[i].text, strlen(rows[i].text), step, NULL, &out, &p), 0);
            assert_string_equal(out.buf, rows[i].want);
            if (p.bad_lines != rows[i].bad)
                fail_msg("%s: %llu broken lines", rows[i].name, (unsigned long long)p.bad_lines);
            jm_str_release(&out);
        }
}

static void limits(void **state)
{
    struct jm_prom p;
    struct jm_str in, out;
    (void)state;
    jm_str_init(&in);
    jm_str_init(&out);
    /* a line that is too long is skipped, the next one is read */
    jm_str_adds(&in, "a{b=\"");
    jm_str_pad(&in, 1000, 'x');
    jm_str_adds(&in, "\"} 1\nb 2\n");
    for (size_t step = 1; step < 2000; step = step * 7 + 1) {
        jm_str_reset(&out);
        assert_int_equal(render(in.buf, in.len, step, &(struct jm_prom_limits){.line_bytes = 100}, &out, &p),
                         0);
        assert_string_equal(out.buf, "b:u:v 2\n");
        assert_int_equal(p.bad_lines, 1);
        assert_int_equal(p.first_bad, 1);
    }
    /* too much altogether */
    assert_int_equal(render(in.buf, in.len, 64, &(struct jm_prom_limits){.total_bytes = 500}, &out, &p),
                     JM_ELIMIT);
    /* families beyond the limit are untyped; nothing grows */
    jm_str_reset(&in);
    jm_str_reset(&out);
    for (int i = 0; i < 2000; i++)
        jm_str_addf(&in, "# TYPE f%d gauge\n", i);
    jm_str_adds(&in, "f0 1\nf1999 1\n");
    assert_int_equal(render(in.buf, in.len, 999, &(struct jm_prom_limits){.families = 1000}, &out, &p), 0);
    assert_string_equal(out.buf, "f0:g:v 1\nf1999:u:v 1\n");
    /* 65 labels are one too many */
    jm_str_reset(&in);
    jm_str_reset(&out);
    jm_str_adds(&in, "a{");
    for (int i = 0; i < 65; i++)
        jm_str_addf(&in, "l%d=\"x\",", i);
    jm_str_adds(&in, "} 1\nb 1\n");
    assert_int_equal(render(in.buf, in.len, 13, NULL, &out, &p), 0);
    assert_string_equal(out.buf, "b:u:v 1\n");
    jm_str_release(&in);
    jm_str_release(&out);
}

/* A million series: what is kept does not grow with them. */
static void many(void **state)
{
    struct jm_prom p;
    struct jm_prom_sample s;
    struct jm_err err;
    char line[64];
    (void)state;
    jm_prom_init(&p, NULL);
    for (int i = 0; i < 1000000; i++) {
        struct jm_span in = {line, (size_t)snprintf(line, sizeof line, "a{i=\"%d\"} %d\n", i, i)};
        assert_int_equal(jm_prom_next(&p, &in, false, &s, &err), 1);
        if (s.value != i)
            fail_msg("%d", i);
    }
    assert_true(p.line.cap < 4096 && p.names.cap < 4096);
    jm_prom_release(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(reads), cmocka_unit_test(limits),
                                              cmocka_unit_test(many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
