/* SPDX-License-Identifier: Apache-2.0 */
/* Money, carbon and water of runs whose energies are known: windows of 20 s, powers constant but where said.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compute/impact.h"
#include "factor/factor.h"
#include "show/show.h"
#include "synthetic.h"

#define NEAR(got, want, rel) assert_true(fabs((double)(got) - (double)(want)) <= (rel)*fabs((double)(want)))
#define REAL(seconds)                                                                                        \
    (INT64_C(1700000000000000000) + (int64_t)llround((seconds)*1e9)) /* of the run's start */

static struct jm_factor_set set;
static struct jm_err err;

static void given(const char *carbon, const char *price)
{
    jm_factor_set_release(&set);
    if (carbon)
        assert_int_equal(jm_factor_carbon_given(carbon, &set, &err), 0);
    if (price)
        assert_int_equal(jm_factor_price_given(price, &set, &err), 0);
    assert_int_equal(jm_factor_check(&set, &err), 0);
}

static const struct jm_impact *find(const struct syn *s, const char *metric, const char *zone)
{
    for (size_t i = 0; i < s->r->n_impacts; i++) {
        const struct jm_impact *m = &s->r->impacts[i];
        if (strcmp(m->x.metric, metric) == 0 && (!zone || (m->zone && strcmp(m->zone, zone) == 0)))
            return m;
    }
    return NULL;
}

static double value(const struct syn *s, const char *metric, const char *zone)
{
    const struct jm_impact *m = find(s, metric, zone);
    if (!m || !m->x.q.have)
        fail_msg("no %s of %s: %s", metric, zone ? zone : "any zone", m && m->why ? m->why : "no row");
    return m->x.q.value;
}

/* Wall of 1000 W: 20 kJ in the window; five requests of 200 tokens in it: 20 J a token, 4 kJ a request. */
static void begin(struct syn *s, const char *name)
{
    syn_begin(s, name);
    syn_wall(s, 1000, -3, 23);
    for (int i = 0; i < 5; i++)
        syn_request(s, 1 + 3 * i, 0.1, 0.01, 100, 200);
    syn_window(s, JM_R_MEASURE, 0, 0, 20);
}

static void options(struct jm_compute_opts *o)
{
    jm_compute_defaults(o);
    o->factors = &set;
}

/* Facility: 28 J a token = 7.7778 kWh a million; ten times the guides' example (0.778 kWh; 31.1, 124.4, 282.3
 * g; 0.045, 0.042, 0.071 EUR), so ten times its figures. */
static void by_hand(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    given("FR=40g/kWh@2025:generation,ES=160g/kWh@2025:generation,DE=363g/kWh@2024:generation",
          "FR=0.058,DE=0.091,ES=0.054");
    options(&o);
    o.pue.value = 1.4;
    assert_int_equal(jm_wue_parse("1.8,period=2025,source=annual report, p. 4", &o.wue, &err), 0);
    struct jm_pue twice;
    assert_int_equal(jm_pue_parse("1.3,category=1,category=2", &twice, &err), JM_EUSAGE);
    assert_string_equal(err.text, "category= is there twice");
    assert_int_equal(jm_embodied_parse("1000kg,life=4y,share=0.5", &o.embodied, &err), 0);
    begin(&s, "by hand");
    syn_report(&s, &o);
    NEAR(value(&s, "kwh_per_mtok", NULL), 7.77778, 1e-5);
    NEAR(value(&s, "carbon.location.per_mtok", "FR"), 311.111, 1e-5);
    NEAR(value(&s, "carbon.location.per_mtok", "ES"), 1244.44, 1e-5);
    NEAR(value(&s, "carbon.location.per_mtok", "DE"), 2823.33, 1e-5);
    NEAR(value(&s, "cost.per_mtok", "FR"), 0.451111, 1e-5);
    NEAR(value(&s, "cost.per_mtok", "ES"), 0.42, 1e-5);
    NEAR(value(&s, "cost.per_mtok", "DE"), 0.707778, 1e-5);
    /* 28 kJ = 7.7778 Wh; a request 5.6 kJ = 1.5556 Wh */
    NEAR(value(&s, "carbon.location", "DE"), 2.82333, 1e-5);
    NEAR(value(&s, "wh_per.request", NULL), 1.555556, 1e-5);
    NEAR(value(&s, "carbon.location.per_request", "DE"), 0.564667, 1e-5);
    NEAR(value(&s, "cost.per_request", "DE"), 1.415556e-4, 1e-5);
    /* 1400 W for 8,760 h */
    NEAR(value(&s, "year.energy", NULL), 12264, 1e-5);
    NEAR(value(&s, "year.cost", "DE"), 12264 * 0.091, 1e-5);
    NEAR(value(&s, "year.carbon", "FR"), 12264 * 40, 1e-5);
    /* water by the IT energy: 20 kJ x 1.8 L/kWh, without the PUE */
    NEAR(value(&s, "water.site", NULL), 0.01, 1e-5);
    assert_non_null(strstr(find(&s, "water.site", NULL)->x.instrument,
                           "times a WUE of 1.8 L/kWh (2025, annual report, p. 4), declared"));
    /* M = 1e6 g x 20 s / (4 x 365.25 d) x 0.5 = 0.0792202 g over 1000 tokens */
    NEAR(value(&s, "sci.per_mtok", "FR"), 311.111 + 79.2202, 1e-5);
    NEAR(value(&s, "sci.per_request", "FR"), (0.311111 + 0.0792202) / 5, 1e-5);
    const struct jm_impact *m = find(&s, "cost.per_mtok", "FR");
    assert_int_equal(m->x.q.boundary, JM_B_FACILITY);
    assert_int_equal(m->x.q.provenance, JM_P_DECLARED);
    assert_non_null(strstr(m->x.q.u.excludes, "error of the factor"));
    /* by market: nothing was given, and the grid's mean does not stand in */
    m = find(&s, "carbon.market", "FR");
    assert_true(m && !m->x.q.have && strcmp(m->x.q.reasons, "no-contract") == 0);
    syn_end(&s);
}

/* The guides' node: 5,600 W at 2,800 tokens/s and a PUE of 1.4. */
static void a_design(void **state)
{
    struct jm_design d = {.watts = 5600, .tokens_s = 2800, .pue = 1.4};
    (void)state;
    jm_design(&d);
    NEAR(d.j_per_token, 2.0, 1e-12);
    NEAR(d.j_per_token_facility, 2.8, 1e-12);
    NEAR(d.kwh_per_mtok, 0.778, 5e-4);
    NEAR(jm_design_per_mtok(&d, 40), 31.1, 5e-4);
    NEAR(jm_design_per_mtok(&d, 160), 124.4, 5e-4);
    NEAR(jm_design_per_mtok(&d, 363), 282.3, 5e-4);
    assert_int_equal(llround(1000 * jm_design_per_mtok(&d, 0.058)), 45);
    assert_int_equal(llround(1000 * jm_design_per_mtok(&d, 0.054)), 42);
    assert_int_equal(llround(1000 * jm_design_per_mtok(&d, 0.091)), 71);
    NEAR(d.kwh_year, 49000, 2e-3);
    NEAR(d.kwh_year_facility, 68700, 1e-3);
    NEAR(jm_design_per_year(&d, 0.058), 3980, 1e-3);
    NEAR(jm_design_per_year(&d, 0.091), 6250, 1e-3);
}

/* The shipped table is life-cycle: no line of scope 2 takes it; marginal factors neither. */
static void kinds(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    given("FR,DE=900g/kWh@2025:generation:marginal,ES=150g/kWh@2025,"
          "GB=0g/kWh@2025:generation:contract=REGO 4,IT=500g/kWh@2025:lifecycle:residual",
          NULL);
    options(&o);
    begin(&s, "kinds");
    syn_report(&s, &o);
    /* 20 kJ x 56.039 g/kWh */
    NEAR(value(&s, "carbon.lifecycle", "FR"), 0.311328, 1e-5);
    NEAR(value(&s, "carbon.marginal", "DE"), 5, 1e-5);
    NEAR(value(&s, "carbon.unstated", "ES"), 0.833333, 1e-5);
    assert_true(value(&s, "carbon.market", "GB") < 1e-12); /* a contract of nothing is 0, and is there */
    static const char *const zone[] = {"FR", "DE", "ES"};
    for (size_t i = 0; i < 3; i++) {
        const struct jm_impact *m = find(&s, "carbon.location", zone[i]);
        assert_true(m && !m->x.q.have && isnan(m->x.q.value) && m->why);
        assert_string_equal(m->x.q.reasons, "factor-kind");
        assert_null(find(&s, "carbon.location.per_mtok", zone[i]));
    }
    const struct jm_impact *m = find(&s, "carbon.market", "IT");
    assert_true(m && !m->x.q.have && strstr(m->why, "life-cycle"));
    syn_end(&s);
}

static int step_counter(struct syn *s, int domain)
{
    struct jm_channel c = {.kind = JM_CH_COUNTER,
                           .unit = JM_U_J,
                           .scale10 = -3,
                           .gain_tol = NAN,
                           .offset_tol = NAN,
                           .domain = domain,
                           .period_ns = 100000000};
    snprintf(c.name, sizeof c.name, "energy");
    snprintf(c.device, sizeof c.device, "GPU-b");
    int id = syn_channel(s, &c);
    for (int i = -30; i <= 230; i++) /* 500 W, from 10 s on 2500 W */
        syn_reading(s, id, i / 10.0, 5000000 + llround(i * 50e3 + (i > 100 ? (i - 100) * 200e3 : 0)),
                    JM_S_OK);
    return id;
}

/* 1000 W for ten seconds, then 3000 W; the factor doubles in between: (10 kJ x 100 + 30 kJ x 200) / 3.6e6.
 * The mean of the factor over time would say 1.667 g. */
static void by_time(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    for (int hole = 0; hole < 2; hole++) {
        given(NULL, NULL);
        struct jm_factor *f = jm_factor_add(&set, JM_FACTOR_CARBON, JM_SPAN("FR"));
        f->kind = JM_FACTOR_GENERATION;
        snprintf(f->unit, sizeof f->unit, "gCO2/kWh");
        assert_int_equal(jm_factor_step_add(f, REAL(-1000), REAL(10), 100, false), 0);
        if (!hole)
            assert_int_equal(jm_factor_step_add(f, REAL(10), REAL(1000), 200, true), 0);
        assert_int_equal(jm_factor_done(f, &err), 0);
        options(&o);
        syn_begin(&s, "by time");
        syn_gpu(&s, "GPU-a", 500, -3, 23);
        step_counter(&s, syn_domain(&s, s.node, JM_D_GPU, "GPU-b"));
        syn_window(&s, JM_R_MEASURE, 0, 0, 20);
        syn_report(&s, &o);
        const struct jm_impact *m = find(&s, "carbon.location", "FR");
        assert_non_null(m);
        if (hole) {
            assert_true(!m->x.q.have && isnan(m->x.q.value));
            assert_string_equal(m->x.q.reasons, "factor-missing");
            assert_non_null(strstr(m->why, "50 %"));
        } else {
            assert_true(m->x.q.have && !m->even);
            NEAR(m->x.q.value, 1.94444, 5e-3); /* where the power steps a refresh of 100 ms is in doubt */
            NEAR(m->estimated, 0.75, 5e-3);    /* of the energy */
            m = find(&s, "year.carbon", "FR");
            assert_true(m && !m->x.q.have); /* some hours are no year */
        }
        assert_non_null(strstr(s.r->impact_note, "not in this energy"));
        /* by the hour: all of it, or energy without emissions */
        assert_true(s.r->n_hours >= 1);
        double joules = 0, grams = 0;
        for (size_t i = 0; i < s.r->n_hours; i++) {
            joules += s.r->hours[i].joules;
            grams += s.r->hours[i].grams;
            assert_true(s.r->hours[i].seconds > 0 && s.r->hours[i].t0 % INT64_C(3600000000000) == 0);
        }
        NEAR(joules, syn_value(&s, "energy", JM_B_GPU, 0), 1e-6);
        assert_true(hole ? isnan(grams) : fabs(grams - 1.94444) < 1e-2);
        syn_end(&s);
    }
}

static void shown(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    struct jm_str out;
    struct jm_show_opts so = {.width = 80};
    (void)state;
    given("FR,DE,ES", "FR=0.058,DE=0.091,ES=0.054");
    options(&o);
    begin(&s, "shown");
    syn_report(&s, &o);
    jm_str_init(&out);
    assert_int_equal(jm_show_find("text")->render(s.r, &so, &out, &err), 0);
    assert_non_null(strstr(out.buf, "Money and carbon"));
    assert_non_null(strstr(out.buf, "5.556 kWh per million output tokens; 1.111 Wh per request"));
    assert_non_null(strstr(out.buf, "life-cycle"));
    assert_non_null(strstr(out.buf, "no value for FR, DE, ES"));
    assert_non_null(strstr(out.buf, "Source: Ember, yearly"));
    for (const char *p = out.buf, *e; (e = strchr(p, '\n')); p = e + 1) {
        size_t n = 0;
        for (const char *c = p; c < e; c++)
            n += (*c & 0xc0) != 0x80;
        assert_true(n <= 80);
    }
    jm_str_reset(&out);
    assert_int_equal(jm_show_find("csv")->render(s.r, &so, &out, &err), 0);
    assert_non_null(strstr(out.buf, ",carbon.lifecycle.per_mtok,wall,"));
    jm_str_reset(&out);
    assert_int_equal(jm_show_find("html")->render(s.r, &so, &out, &err), 0);
    assert_non_null(strstr(out.buf, "<section id='impact'>"));
    assert_non_null(strstr(out.buf, "311.3 gCO2e")); /* 5.5556 kWh x 56.039 */
    jm_str_release(&out);
    syn_end(&s);
}

/* Three trials at 1000 W: the mean over them is what is shown, each has its own rows too. */
static void over_trials(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    struct jm_str out;
    struct jm_show_opts so = {.width = 80};
    (void)state;
    given("DE=363g/kWh@2024:generation", "DE=0.091");
    options(&o);
    syn_begin(&s, "trials");
    syn_wall(&s, 1000, -3, 93);
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < 5; i++)
            syn_request(&s, 30 * t + 1 + 3 * i, 0.1, 0.01, 100, 200);
        syn_window(&s, JM_R_MEASURE, t, 30 * t, 30 * t + 20);
    }
    syn_report(&s, &o);
    int rows = 0, over = 0;
    for (size_t i = 0; i < s.r->n_impacts; i++) {
        const struct jm_impact *m = &s.r->impacts[i];
        if (strcmp(m->x.metric, "cost.per_mtok") != 0)
            continue;
        rows++;
        over += m->x.window < 0;
        NEAR(m->x.q.value, 20 / 3.6 * 0.091, 1e-5);
    }
    assert_int_equal(rows, 4);
    assert_int_equal(over, 1);
    jm_str_init(&out);
    assert_int_equal(jm_show_find("text")->render(s.r, &so, &out, &err), 0);
    assert_non_null(strstr(out.buf, ", over trials; "));
    assert_non_null(strstr(out.buf, "0.5056")); /* 5.5556 kWh x 0.091 EUR */
    assert_non_null(strstr(out.buf, "8,760 kWh; DE 797 EUR, 3,180 kg"));
    jm_str_release(&out);
    syn_end(&s);
}

static int done(void **state)
{
    (void)state;
    jm_factor_set_release(&set);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(a_design),
                                       cmocka_unit_test(kinds),   cmocka_unit_test(by_time),
                                       cmocka_unit_test(shown),   cmocka_unit_test(over_trials)};
    return cmocka_run_group_tests(tests, NULL, done);
}
