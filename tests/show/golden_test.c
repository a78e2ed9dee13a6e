/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a small report, word for word; and reports that are hostile or very long. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compute/synthetic.h"
#include "show/fmt.h"
#include "show/show.h"

static void render(const struct syn *s, const char *format, struct jm_show_opts o, struct jm_str *out)
{
    struct jm_err e = {0};
    jm_str_init(out);
    if (jm_show_find(format)->render(s->r, &o, out, &e))
        fail_msg("%s: %s", format, e.text);
}

static bool has(const struct jm_str *s, const char *text)
{
    return jm_span_find(jm_str_span(s), jm_span_of(text)) >= 0;
}

/* clang-format off */
static const char golden[] =
    "golden\n"
    "recorded test 1970-01-01T00:16:40Z · run d8398f75\n"
    "valid for profile screening\n"
    "\n"
    "  7.500 J/token  ± < 0.001 %\n"
    "  Energy per output token at the boundary wall{inlet_ac}\n"
    "  = 3.000 kJ energy / 400 output tokens\n"
    "  95 % interval without instrument gain (no calibration), repeats (one trial)\n"
    "\n"
    "At the boundary gpu{gpu x 2}\n"
    "  by test energy (counter-plain); measured\n"
    "  energy                           2.000 kJ ± 0.011\n"
    "  power.mean                        200.0 W ± 1.1\n"
    "  j_per.output_token          5.000 J/token ± 0.028      / output tokens\n"
    "  j_per.input_token           5.000 J/token ± 0.028      / input tokens\n"
    "  j_per.total_token           2.500 J/token ± 0.014      / input+output tokens\n"
    "  kwh_per_mtok               1.389 kWh/Mtok ± 0.0079     / output tokens\n"
    "  j_per.request_ok          50.00 J/request ± 0.28       / successful requests\n"
    "  j_per.qualified_token       5.000 J/token ± 0.028      / qualified tokens\n"
    "  goodput.tokens_per_j      0.2000 tokens/J ± 0.0011     qualified tokens / J\n"
    "\n"
    "At the boundary device{gpu x 2}\n"
    "  the same devices, and the same joules, as the boundary gpu\n"
    "\n"
    "At the boundary wall{inlet_ac}\n"
    "  by test power (trapezoid); measured\n"
    "  energy                           3.000 kJ ± < 0.001 %\n"
    "  power.mean                        300.0 W ± < 0.001 %\n"
    "  j_per.output_token          7.500 J/token ± < 0.001 %  / output tokens\n"
    "  j_per.input_token           7.500 J/token ± < 0.001 %  / input tokens\n"
    "  j_per.total_token           3.750 J/token ± < 0.001 %  / input+output tokens\n"
    "  kwh_per_mtok               2.083 kWh/Mtok ± < 0.001 %  / output tokens\n"
    "  j_per.request_ok          75.00 J/request ± < 0.001 %  / successful requests\n"
    "  j_per.qualified_token       7.500 J/token ± < 0.001 %  / qualified tokens\n"
    "  goodput.tokens_per_j      0.1333 tokens/J ± < 0.001 %  qualified tokens / J\n"
    "  wall_to_gpu                         1.500 ± 0.0085     wall / GPU boards\n"
    "  energy.unexplained               1.000 kJ ± 0.011\n"
    "\n"
    "Latency\n"
    "  from when the plan wanted a request sent; queue: held back by the client\n"
    "                                p50        p90        p95        p99       mean\n"
    "  ttft                     5.000 ms   5.000 ms   5.000 ms   5.000 ms   5.000 ms\n"
    "  tpot.excl_first          1.000 ms   1.000 ms   1.000 ms   1.000 ms   1.000 ms\n"
    "  e2e                      14.00 ms   14.00 ms   14.00 ms   14.00 ms   14.00 ms\n"
    "  queue                         0 s        0 s        0 s        0 s        0 s\n"
    "  by the definitions of vLLM, AIPerf, guidellm ...: show RUN --explain ttft\n"
    "\n"
    "Requests and tokens in the measured windows\n"
    "  40 ok, 0 failed, 0 aborted, 40 inside the SLO (100 %)\n"
    "  40.00 output tokens/s, 4.000 requests/s, 4.000 requests/s inside the SLO\n"
    "  400 output tokens, 400 input tokens\n"
    "  ISL mean 10 (p50 10, p99 10)   OSL mean 10 (p50 10, p99 10)\n"
    "\n"
    "Windows\n"
    "  measure 0              measure         10 s   from 2023-11-14T22:13:20.000Z\n"
    "\n"
    "Findings\n"
    "  note    gain.unknown: the gain of the instruments is not known: intervals\n"
    "          leave it out (published GPU boards read 0.87 to 1.15 of the true\n"
    "          power) [energy]\n";
/* clang-format on */

/* Two GPUs of 100 W and the wall of 300 W for 10 s; 40 requests of 10 tokens: 2000 J / 400 = 5 J, 3000 J /
 * 400 = 7.5 J; a gauge of 102 W beside the first counter; SLO 1 s. */
static void text(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    struct jm_str t;
    (void)state;
    jm_compute_defaults(&o);
    o.slo.ttft_s = 1;
    syn_begin(&s, "golden");
    syn_gpu(&s, "GPU-0", 100, -3, 13);
    syn_gpu(&s, "GPU-1", 100, -3, 13);
    syn_wall(&s, 300, -3, 13);
    for (int i = 0; i < 40; i++)
        syn_request(&s, i * 0.25, 0.005, 0.001, 10, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_report(&s, &o);
    render(&s, "text", (struct jm_show_opts){.width = 80}, &t);
    if (strcmp(t.buf, golden) != 0) {
        fputs(t.buf, stderr);
        fail_msg("the text is another one now");
    }
    jm_str_release(&t);
    syn_end(&s);
}

/* Names that speak to the terminal, turn the direction of writing, are no UTF-8, or look like formulas and
 * markup. */
static void hostile(void **state)
{
    static const char name[] = "x\033[2J\033]0;t\a\n\xe2\x80\xae<b>'\"&\xff\xc3=1+1";
    struct syn s;
    (void)state;
    syn_begin(&s, name);
    syn_gpu(&s, name, 100, -3, 13);
    syn_env(&s, "host.name", name);
    syn_env(&s, "load.client", "client-limited");
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    struct jm_window w = {.id = 0, .role = JM_R_MEASURE, .t0 = SYN_NS(0)};
    struct jm_err err;
    snprintf(w.name, sizeof w.name, "=%.60s", name);
    assert_int_equal(jm_run_open_window(s.w, &w, &err), 0);
    assert_int_equal(jm_run_close_window(s.w, 0, SYN_NS(4), &err), 0);
    syn_report(&s, NULL);
    for (const struct jm_show_format *f = jm_show_formats; f->name; f++) {
        struct jm_str t;
        render(&s, f->name, (struct jm_show_opts){.width = 80, .all = true, .no_script = true}, &t);
        for (size_t i = 0; i < t.len;) {
            size_t n = jm_utf8_len(t.buf + i, t.len - i);
            if (!n || ((unsigned char)t.buf[i] < 0x20 && !strchr("\r\n", t.buf[i])))
                fail_msg("%s: byte %02x at %zu", f->name, (unsigned char)t.buf[i], i);
            i += n;
        }
        if (strcmp(f->name, "json") != 0)
            assert_false(has(&t, "\xe2\x80\xae"));
        if (strcmp(f->name, "html") == 0)
            assert_false(has(&t, "<b>'"));
        if (strcmp(f->name, "csv") == 0)
            assert_false(has(&t, ",=x") || has(&t, "\n=x"));
        jm_str_release(&t);
    }
    syn_end(&s);
}

/* Numbers that are not valid stand beside their reasons; in every row, or once where all of a boundary share
 * it. */
static void invalid(void **state)
{
    struct syn s;
    struct jm_str t;
    (void)state;
    syn_begin(&s, "invalid");
    syn_gpu(&s, "GPU-0", 100, -3, 13);
    syn_gpu(&s, "GPU-1", 100, -3, 2);
    syn_window(&s, JM_R_MEASURE, 0, 0, 4);
    syn_report(&s, NULL);
    render(&s, "text", (struct jm_show_opts){.width = 80}, &t);
    assert_true(has(&t, "INVALID for profile screening"));
    assert_true(has(&t, "1 of 2"));
    assert_true(has(&t, "window.short"));
    jm_str_release(&t);
    render(&s, "html", (struct jm_show_opts){.no_script = true}, &t);
    assert_true(has(&t, "<b class='error'>1 of 2</b>"));
    assert_true(has(&t, "class='invalid'>INVALID<br>"));
    jm_str_release(&t);
    syn_end(&s);
}

/* A thousand windows: the text ends, the page stays below 1.5 MB, CSV and JSON have them all. */
static void long_lists(void **state)
{
    struct syn s;
    struct jm_str t;
    size_t lines = 0;
    (void)state;
    syn_begin(&s, "many");
    syn_gpu(&s, "GPU-0", 100, -3, 105);
    for (int i = 0; i < 1000; i++)
        syn_window(&s, JM_R_MEASURE, 0, 0.1 * i, 0.1 * i + 0.5);
    syn_report(&s, NULL);
    render(&s, "text", (struct jm_show_opts){.width = 80}, &t);
    for (size_t i = 0; i < t.len; i++)
        lines += t.buf[i] == '\n';
    assert_true(lines < 200);
    assert_true(has(&t, "and 995 more of this kind"));
    jm_str_release(&t);
    render(&s, "html", (struct jm_show_opts){0}, &t);
    assert_true(t.len < 1500000);
    jm_str_release(&t);
    render(&s, "csv", (struct jm_show_opts){0}, &t);
    lines = 0;
    for (size_t i = 0; i < t.len; i++)
        lines += t.buf[i] == '\n';
    assert_int_equal(lines, s.r->n_results + 1);
    jm_str_release(&t);
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text), cmocka_unit_test(hostile),
                                       cmocka_unit_test(invalid), cmocka_unit_test(long_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
