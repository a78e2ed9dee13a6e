/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "compute/synthetic.h"
#include "show/engine.h"
#include "show/fmt.h"
#include "show/show.h"
#include "show/text_out.h"

static struct syn s;
static const struct jm_disclosure_row *rows;
static size_t n_rows;

/* Two GPUs of 100 W for 10 s over 100 tokens, one failure, and a hostile label. */
static int setup(void **state)
{
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    o.slo.ttft_s = 1;
    syn_begin(&s, "show_<script>alert(1)</script>");
    syn_gpu(&s, "GPU-0", 100, -2, 12);
    syn_gpu(&s, "GPU-1", 100, -2, 12);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    syn_failed(&s, 2, 1, JM_END_HTTP_SERVER);
    syn_env(&s, "host.name", "a|b \"c\" & <d>");
    syn_report(&s, &o);
    return jm_disclosure(s.run, s.r, &rows, &n_rows, NULL);
}

static int teardown(void **state)
{
    (void)state;
    syn_end(&s);
    return 0;
}

static void render(const char *format, struct jm_show_opts o, struct jm_str *out)
{
    struct jm_err e = {0};
    o.disclosure = rows;
    o.n_disclosure = n_rows;
    jm_str_init(out);
    if (jm_show_find(format)->render(s.r, &o, out, &e))
        fail_msg("%s: %s", format, e.text);
}

static const struct jm_json *result(const struct jm_json *doc, const char *metric, const char *boundary)
{
    const struct jm_json *all = jm_json_get(doc, "results");
    struct jm_span m, b;
    for (size_t i = 0; i < jm_json_len(all); i++) {
        const struct jm_json *x = jm_json_at(all, i);
        if (jm_json_str(jm_json_get(x, "metric"), &m) && jm_span_is(m, metric) &&
            (!boundary || (jm_json_str(jm_json_get(x, "boundary"), &b) && jm_span_is(b, boundary))))
            return x;
    }
    return NULL;
}

static void json(void **state)
{
    struct jm_str t;
    struct jm_json *doc;
    struct jm_span v;
    double d;
    int64_t n;
    (void)state;
    render("json", (struct jm_show_opts){0}, &t);
    assert_int_equal(jm_json_parse(jm_str_span(&t), &doc, NULL), 0);
    assert_true(jm_json_str(jm_json_get(doc, "schema"), &v) && jm_span_is(v, "joulemark.show/1"));
    assert_true(jm_json_str(jm_json_path(doc, "run.sha256"), &v) && v.n == 64);
    assert_true(jm_json_str(jm_json_path(doc, "validity.profile"), &v) && jm_span_is(v, "screening"));
    const struct jm_json *x = result(doc, "j_per.output_token", "gpu");
    assert_non_null(x);
    assert_true(jm_json_num(jm_json_get(x, "value"), &d) && fabs(d - 20) < 1e-4); /* 2 x 100 W x 10 s / 100 */
    assert_true(jm_json_num(jm_json_path(x, "numerator.value"), &d) && fabs(d - 2000) < 1e-2);
    assert_true(jm_json_num(jm_json_path(x, "interval.level"), &d) && d == 0.95);
    assert_true(jm_json_i64(jm_json_get(x, "of"), &n) && n == 2);
    assert_true(jm_json_is_array(jm_json_path(x, "validity.reasons")));
    assert_true(jm_json_str(jm_json_path(x, "validity.status"), &v) &&
                jm_span_is(v, "invalid")); /* half of the requests failed */
    assert_true(jm_json_i64(jm_json_path(doc, "requests.by_error.http-5xx"), &n) && n == 1);
    assert_true(jm_json_i64(jm_json_path(doc, "requests.qualified"), &n) && n == 1);
    /* nobody counted cached tokens: null, not 0 */
    assert_true(jm_json_is_null(jm_json_path(doc, "tokens.cached")));
    x = result(doc, "ttft", NULL);
    assert_true(jm_json_is_null(jm_json_get(x, "boundary")));
    jm_json_free(doc);
    jm_str_release(&t);
}

static void text_fits(void **state)
{
    struct jm_str t;
    struct jm_span rest, line;
    (void)state;
    for (int all = 0; all < 2; all++) {
        render("text", (struct jm_show_opts){.width = 80, .all = all}, &t);
        rest = jm_str_span(&t);
        while (jm_span_line(&rest, &line)) {
            size_t c = 0;
            for (size_t i = 0; i < line.n; i++)
                c += ((unsigned char)line.p[i] & 0xc0) != 0x80;
            if (c > 80)
                print_error("%zu columns: %.*s\n", c, (int)line.n, line.p);
            assert_true(c <= 80);
        }
        assert_true(jm_span_find(jm_str_span(&t), JM_SPAN("gpu{gpu x 2}")) >= 0);
        assert_true(jm_span_find(jm_str_span(&t), JM_SPAN("20.00 J/token")) >= 0);
        assert_true(jm_span_find(jm_str_span(&t), JM_SPAN("\033")) < 0);
        jm_str_release(&t);
    }
    render("text", (struct jm_show_opts){.width = 80, .ascii = true}, &t);
    for (size_t i = 0; i < t.len; i++)
        assert_true((unsigned char)t.buf[i] < 0x80);
    jm_str_release(&t);
}

static void csv_is_rectangular(void **state)
{
    struct jm_str t;
    struct jm_span rest, line;
    size_t want = 0, n = 0;
    (void)state;
    render("csv", (struct jm_show_opts){0}, &t);
    rest = jm_str_span(&t);
    while (jm_span_line(&rest, &line)) {
        size_t fields = 1;
        bool quoted = false;
        for (size_t i = 0; i < line.n; i++) {
            quoted ^= line.p[i] == '"';
            fields += line.p[i] == ',' && !quoted;
        }
        if (!want)
            want = fields;
        assert_int_equal(fields, want);
        n++;
    }
    assert_int_equal(n, s.r->n_results + 1);
    jm_str_release(&t);
}

static void html_is_safe(void **state)
{
    struct jm_str t;
    (void)state;
    for (int quiet = 0; quiet < 2; quiet++) {
        render("html", (struct jm_show_opts){.no_script = quiet}, &t);
        struct jm_span h = jm_str_span(&t);
        assert_true(jm_span_find(h, JM_SPAN("<script>alert(1)")) < 0);
        assert_true(jm_span_find(h, JM_SPAN("show_&lt;script&gt;alert(1)")) >= 0);
        assert_true(jm_span_find(h, JM_SPAN("data-metric='j_per.output_token'")) >= 0);
        assert_true(jm_span_find(h, JM_SPAN("default-src 'none'")) >= 0);
        assert_true(jm_span_find(h, JM_SPAN("src='http")) < 0);
        if (quiet)
            assert_true(jm_span_find(h, JM_SPAN("<script")) < 0);
        jm_str_release(&t);
    }
}

static void markdown_escapes(void **state)
{
    struct jm_str t;
    (void)state;
    render("markdown", (struct jm_show_opts){0}, &t);
    assert_true(jm_span_find(jm_str_span(&t), JM_SPAN("a\\|b")) >= 0);
    assert_true(
        jm_span_find(jm_str_span(&t), JM_SPAN("| j_per.output_token | gpu{gpu x 2} | 20.00 J/token")) >= 0);
    jm_str_release(&t);
}

static void numbers(void **state)
{
    char b[JM_FMT];
    struct jm_quantity q = {
        .have = true, .value = 3120000, .unit = "J", .u = {.lo = 3100000, .hi = 3140000, .method = "x"}};
    (void)state;
    assert_string_equal(jm_fmt_value(b, 3120000, "J"), "3.120 MJ");
    assert_string_equal(jm_fmt_value(b, 0.2717, "J/token"), "0.2717 J/token");
    assert_string_equal(jm_fmt_value(b, 0.01634, "s"), "16.34 ms");
    assert_string_equal(jm_fmt_value(b, 0.0000031, "kWh"), "3.100e-06 kWh");
    assert_string_equal(jm_fmt_value(b, NAN, "J"), "–");
    assert_string_equal(jm_fmt_value(b, 0, "W"), "0 W");
    assert_string_equal(jm_fmt_value(b, 999.9999, "J"), "1.000 kJ");
    struct jm_quantity k = {
        .have = true, .value = 999.9999, .unit = "J", .u = {.lo = 989, .hi = 1011, .method = "x"}};
    assert_string_equal(jm_fmt_pm(b, &k), "± 0.011"); /* of the same prefix as the value */
    assert_string_equal(jm_fmt_count(b, 12000000), "12,000,000");
    assert_string_equal(jm_fmt_count(b, -1), "unknown");
    assert_string_equal(jm_fmt_pm(b, &q), "± 0.02");
    q.u.lo = 3119900;
    q.u.hi = 3120100; /* 100 J of 3.12 MJ is 0.0032 % */
    assert_string_equal(jm_fmt_pm(b, &q), "± 0.0032 %");
    q.u.lo = 3119998;
    q.u.hi = 3120002; /* 0.000064 % */
    assert_string_equal(jm_fmt_pm(b, &q), "± < 0.001 %");
}

/* Bounds of a histogram's bucket that are wide: no digit of them is lost. */
static void no_number_is_cut(void **state)
{
    struct jm_engine_source engine = {.url = "http://h", .title = "vLLM", .scrapes = 3};
    struct jm_result x[3];
    struct jm_report r = {.engine = &engine, .n_engine = 1, .results = x, .n_results = 3};
    struct jm_show_opts o = {.width = 80};
    struct jm_str text;
    static const double q[] = {0.5, 0.9, 0.99};
    (void)state;
    for (int i = 0; i < 3; i++) {
        x[i] =
            (struct jm_result){.metric = "engine.ttft", .quantile = q[i], .window = -1, .trial = -1, .n = 9};
        x[i].q.have = true;
        x[i].q.boundary = JM_B_NONE;
        x[i].q.u = (struct jm_uncertainty){
            .lo = i < 2 ? 0.1234567 : 0.00012345, .hi = 0.2345678, .method = "buckets"};
    }
    jm_str_init(&text);
    struct jm_out out = {&text, &r, &o, 80};
    jm_show_engine_text(&out);
    assert_null(strstr(text.buf, ".."));
    int n = 0;
    for (const char *c = text.buf; (c = strstr(c, "123.5 – 234.6 ms")); c++)
        n++;
    assert_int_equal(n, 2);
    assert_non_null(strstr(text.buf, "123.5 µs – 234.6 ms")); /* wider than its column */
    jm_str_release(&text);
}

/* What is longer than a line breaks behind a comma, not in a name. */
static void lists_break_at_commas(void **state)
{
    struct jm_show_opts show = {.width = 20};
    struct jm_str text;
    struct jm_out o = {&text, NULL, &show, 20};
    (void)state;
    jm_str_init(&text);
    jm_out_wrap(&o, "INVALID: energy.parts,carbon.mix,window.short", 4, 2);
    jm_out_wrap(&o, "a.name.of.more.than.twenty", 4, 4);
    assert_string_equal(text.buf, "INVALID:\n    energy.parts,\n    carbon.mix,\n    window.short\n"
                                  "a.name.of.more.t\n    han.twenty\n");
    jm_str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_break_at_commas),
        cmocka_unit_test(json),
        cmocka_unit_test(text_fits),
        cmocka_unit_test(csv_is_rectangular),
        cmocka_unit_test(html_is_safe),
        cmocka_unit_test(numbers),
        cmocka_unit_test(markdown_escapes),
        cmocka_unit_test(no_number_is_cut),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
