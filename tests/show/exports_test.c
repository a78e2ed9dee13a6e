/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in the forms of others, of a run whose numbers are made by hand: two GPUs of 100 W for 10 s, 2,000
 * J, over three answers of 100 tokens to prompts of 10, and a failure. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/num.h"
#include "compute/synthetic.h"
#include "factor/factor.h"
#include "show/exports.h"

static struct syn s;
static struct jm_factor_set factors;

static int setup(void **state)
{
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    assert_int_equal(
        jm_factor_carbon_given("FR=40g/kWh@2024:generation,DE=690g/kWh@2024:generation:residual,ES", &factors,
                               NULL),
        0);
    o.factors = &factors;
    syn_begin(&s, "exports");
    syn_gpu(&s, "GPU-0", 100, -2, 12);
    syn_gpu(&s, "GPU-1", 100, -2, 12);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    for (int i = 0; i < 3; i++)
        syn_request(&s, 1 + i, 0.1, 0.01, 10, 100);
    syn_failed(&s, 2, 1, JM_END_HTTP_SERVER);
    syn_env(&s, "endpoint.model", "m \"q\", \\ x");
    syn_env(&s, "plan.concurrency", "4");
    syn_report(&s, &o);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    syn_end(&s);
    jm_factor_set_release(&factors);
    return 0;
}

static void render(const char *format, struct jm_str *out)
{
    struct jm_err e = {0};
    jm_str_init(out);
    for (const struct jm_export_format *f = jm_export_formats; f->name; f++)
        if (strcmp(f->name, format) == 0) {
            if (f->render(s.run, s.r, out, &e))
                fail_msg("%s: %s", format, e.text);
            return;
        }
    fail_msg("no format %s", format);
}

/* Field n of a CSV line, quotes taken off. */
static void field(const char *line, int n, char to[256])
{
    size_t k = 0;
    bool quoted = false;
    for (; *line && *line != '\n'; line++) {
        if (*line == '"') {
            if (quoted && line[1] == '"')
                line++;
            else {
                quoted = !quoted;
                continue;
            }
        } else if (*line == ',' && !quoted) {
            if (n-- == 0)
                break;
            continue;
        }
        if (n == 0 && k < 255)
            to[k++] = *line;
    }
    to[k] = '\0';
}

/* Column of the row (0 the first behind the header). */
static const char *cell(const struct jm_str *csv, int row, const char *column, char to[256])
{
    char name[256];
    const char *line = csv->buf;
    for (int c = 0; c < 64; c++) {
        field(csv->buf, c, name);
        if (strcmp(name, column) != 0)
            continue;
        for (int k = 0; k <= row; k++) {
            line = strchr(line, '\n');
            assert_non_null(line);
            line++;
        }
        field(line, c, to);
        return to;
    }
    fail_msg("no column %s", column);
    return NULL;
}

static void number(const struct jm_str *csv, int row, const char *column, double want)
{
    char text[256];
    double v = NAN;
    jm_num_double(jm_span_of(cell(csv, row, column, text)), &v);
    if (!(fabs(v - want) <= 1e-3 * fabs(want)))
        fail_msg("%s of row %d is %s, not %.9g", column, row, text, want);
}

/* The row of an item. */
static int item(const struct jm_str *csv, const char *name)
{
    char text[256];
    int row = 0;
    for (const char *line = strchr(csv->buf, '\n'); line && line[1]; line = strchr(line + 1, '\n'), row++) {
        field(line + 1, 0, text);
        if (strcmp(text, name) == 0)
            return row;
    }
    fail_msg("no item %s", name);
    return -1;
}

static void codecarbon(void **state)
{
    struct jm_str out;
    char text[256];
    (void)state;
    render("codecarbon", &out);
    number(&out, 0, "duration", 10);
    number(&out, 0, "gpu_energy", 2000 / 3.6e6);
    number(&out, 0, "energy_consumed", 2000 / 3.6e6);
    number(&out, 0, "emissions", 2000 / 3.6e6 * 40 / 1000);
    number(&out, 0, "emissions_rate", 2000 / 3.6e6 * 40 / 1000 / 10);
    number(&out, 0, "gpu_count", 2);
    number(&out, 0, "pue", 1);
    assert_string_equal(cell(&out, 0, "country_iso_code", text), "FR");
    assert_string_equal(cell(&out, 0, "cpu_energy", text), ""); /* missing is never 0 */
    assert_string_equal(cell(&out, 0, "ram_energy", text), "");
    assert_string_equal(cell(&out, 0, "water_consumed", text), "");
    assert_string_equal(cell(&out, 0, "wue", text), "");
    assert_string_equal(cell(&out, 0, "joulemark_boundary", text), "gpu");
    assert_string_equal(cell(&out, 0, "joulemark_provenance", text), "measured");
    assert_string_equal(cell(&out, 1, "country_iso_code", text), "DE");
    assert_string_equal(cell(&out, 1, "emissions", text), ""); /* the residual mix is no grid mean */
    assert_string_equal(cell(&out, 2, "country_iso_code", text), "ES");
    assert_non_null(strstr(cell(&out, 2, "joulemark_factor", text), "life-cycle"));
    jm_str_release(&out);
    s.r->wue.value = 1.8;
    render("codecarbon", &out);
    number(&out, 0, "water_consumed", 2000 / 3.6e6 * 1.8);
    number(&out, 0, "wue", 1.8);
    s.r->wue.value = 0;
    jm_str_release(&out);
}

static void ai_energy_score(void **state)
{
    struct jm_str out;
    char text[256];
    (void)state;
    render("ai-energy-score", &out);
    number(&out, 0, "gpu_energy_wh", 2000 / 3600.0);
    number(&out, 0, "wh_per_1000_queries",
           1000 * 2000 / 3.0 / 3600); /* three successes; the failure keeps its joules */
    number(&out, 0, "tokens_per_joule", 330 / 2000.0);
    number(&out, 0, "joulemark_output_tokens_per_joule", 300 / 2000.0);
    number(&out, 0, "total_tokens", 330);
    assert_string_equal(cell(&out, 0, "energy_per_prompt_std_wh", text), "");
    assert_string_equal(cell(&out, 0, "co2_emissions_g", text), ""); /* factors of three zones: of none */
    number(&out, 0, "total_prompts", 4);
    number(&out, 0, "failed_prompts", 1);
    number(&out, 0, "avg_time_to_first_token", 0.1);
    assert_string_equal(cell(&out, 0, "model_class", text), "");
    assert_string_equal(cell(&out, 0, "model_name", text), "m \"q\", \\ x");
    assert_non_null(strstr(cell(&out, 0, "joulemark_note", text), "4 requests in flight"));
    jm_str_release(&out);
    assert_int_equal(jm_fact_declare(s.r, "parameters=66B", NULL), 0);
    render("ai-energy-score", &out);
    assert_string_equal(cell(&out, 0, "model_class", text), "B");
    jm_str_release(&out);
}

static double member(const struct jm_json *doc, const char *path)
{
    double v = NAN;
    jm_json_num(jm_json_path(doc, path), &v);
    return v;
}

static void ml_energy(void **state)
{
    struct jm_str out;
    struct jm_json *doc = NULL;
    struct jm_err e = {0};
    (void)state;
    render("ml-energy", &out);
    assert_int_equal(jm_json_parse(jm_str_span(&out), &doc, &e), 0);
    assert_true(fabs(member(doc, "steady_state_energy") - 2000) < 1);
    assert_true(fabs(member(doc, "steady_state_energy_per_token") - 2000 / 300.0) < 0.01);
    assert_true(fabs(member(doc, "steady_state_measurement.gpu_energy.1") - 1000) < 0.5);
    assert_true(fabs(member(doc, "output_throughput") - 30) < 1e-9);
    assert_true(fabs(member(doc, "median_ttft_ms") - 100) < 1e-6);
    assert_true(jm_json_is_null(jm_json_get(doc, "max_num_seqs")));
    assert_true(jm_json_is_null(jm_json_path(doc, "steady_state_measurement.cpu_energy")));
    jm_json_free(doc);
    jm_str_release(&out);
}

static void gpai(void **state)
{
    struct jm_str out;
    char text[256];
    (void)state;
    render("gpai", &out);
    int row = item(&out, "Task");
    assert_string_equal(cell(&out, row, "known", text), "missing");
    row = item(&out, "The same for 100000 tokens");
    number(&out, row, "value", 2 * 66e9 * 1e5); /* parameters=66B of the test before: an upper bound */
    assert_non_null(strstr(cell(&out, row, "note", text), "upper bound"));
    jm_str_release(&out);
    assert_int_equal(jm_fact_declare(s.r, "active-parameters=7e9", NULL), 0);
    render("gpai", &out);
    row = item(&out, "Benchmarked amount of computation used for inference");
    number(&out, row, "value", 2 * 7e9 * 330); /* 30 + 300 tokens */
    assert_string_equal(cell(&out, row, "known", text), "estimated");
    number(&out, item(&out, "Energy measured for it"), "value", 2000 / 3.6e6);
    number(&out, item(&out, "Energy of 100000 tokens"), "value", 2000.0 / 330 * 1e5);
    assert_string_equal(cell(&out, item(&out, "Energy used for training"), "value", text), "");
    jm_str_release(&out);
    assert_int_equal(jm_fact_declare(s.r, "active-parameters=8x7B", NULL), 0);
    render("gpai", &out);
    row = item(&out, "Benchmarked amount of computation used for inference");
    assert_string_equal(cell(&out, row, "value", text), "");
    jm_str_release(&out);
}

static void esrs(void **state)
{
    struct jm_str out;
    struct jm_err e = {0};
    char text[256];
    (void)state;
    render("esrs", &out);
    int row = item(&out, "E1-5 total energy consumption");
    number(&out, row, "value", 2000 / 3.6e9);
    assert_non_null(strstr(cell(&out, row, "note", text), "a lower bound"));
    number(&out, item(&out, "E1-6 gross scope 2, location-based, FR"), "value", 2000 / 3.6e6 * 40 / 1e6);
    assert_string_equal(cell(&out, item(&out, "E1-6 gross scope 2, market-based, FR"), "value", text), "");
    number(&out, item(&out, "E1-6 gross scope 2, market-based, DE"), "value", 2000 / 3.6e6 * 690 / 1e6);
    /* the shipped table is life-cycle: no scope 2 figure of it */
    assert_string_equal(cell(&out, item(&out, "E1-6 gross scope 2, location-based, ES"), "value", text), "");
    row = item(&out, "E1-6 gross scope 3, category 1 (purchased goods and services), ES");
    assert_string_equal(cell(&out, row, "value", text), "");
    jm_str_release(&out);
    assert_int_equal(jm_fact_declare(s.r, "purchase=bought", NULL), 0);
    render("esrs", &out);
    assert_string_equal(cell(&out, item(&out, "E1-6 gross scope 2, location-based, FR"), "value", text), "");
    assert_string_equal(cell(&out, row, "known", text), "declared");
    assert_true(strlen(cell(&out, row, "value", text)) > 0);
    jm_str_release(&out);
    assert_int_equal(jm_fact_declare(s.r, "purchase=rented", NULL), 0);
    jm_str_init(&out);
    assert_int_equal(jm_export_esrs(s.run, s.r, &out, &e), JM_EUSAGE);
    jm_str_release(&out);
}

static void openmetrics(void **state)
{
    struct jm_str out;
    (void)state;
    render("openmetrics", &out);
    assert_true(jm_span_ends(jm_str_span(&out), JM_SPAN("\n# EOF\n")));
    assert_non_null(
        strstr(out.buf, "# TYPE joulemark_energy_joules counter\n# UNIT joulemark_energy_joules joules\n"));
    assert_non_null(strstr(out.buf, "model=\"m \\\"q\\\", \\\\ x\""));
    struct jm_span rest = jm_str_span(&out), line;
    int totals = 0, stamps = 0;
    while (jm_span_line(&rest, &line)) {
        if (jm_span_starts(line, JM_SPAN("joulemark_energy_joules_total{")) &&
            jm_span_find(line, JM_SPAN("boundary=\"gpu\"")) >= 0) {
            double v = NAN;
            struct jm_span value = jm_span_sub(line, (size_t)jm_span_find(line, JM_SPAN("} ")) + 2, line.n);
            assert_int_equal(jm_num_double(jm_span_sub(value, 0, (size_t)jm_span_chr(value, ' ')), &v), 0);
            assert_true(fabs(v - 2000) < 1);
            totals++;
        }
        stamps += jm_span_starts(line, JM_SPAN("joulemark_energy_joules_created{"));
    }
    assert_int_equal(totals, 1);
    assert_int_equal(stamps, 2); /* gpu and device */
    jm_str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codecarbon), cmocka_unit_test(ai_energy_score),
                                       cmocka_unit_test(ml_energy),  cmocka_unit_test(gpai),
                                       cmocka_unit_test(esrs),       cmocka_unit_test(openmetrics)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
