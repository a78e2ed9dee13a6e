/* SPDX-License-Identifier: Apache-2.0 */
/* The disclosure, the levels of a claim and those of the EE HPC WG on runs whose parts are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "compute/synthetic.h"

static const struct jm_levels *levels(struct syn *s, const struct jm_compute_opts *o)
{
    const struct jm_levels *l = NULL;
    struct jm_err e = {0};
    syn_report(s, o);
    assert_int_equal(jm_levels(s->run, s->r, &l, &e), 0);
    return l;
}

static const struct jm_gate *gate(const struct jm_levels *l, const char *id)
{
    for (int i = 0; i < JM_LEVELS; i++)
        for (size_t k = 0; k < l->claim[i].n_gate; k++)
            if (strcmp(l->claim[i].gate[k].id, id) == 0)
                return &l->claim[i].gate[k];
    fail_msg("no gate %s", id);
    return NULL;
}

static const struct jm_disclosure_row *row(struct syn *s, const char *id)
{
    const struct jm_disclosure_row *rows;
    size_t n;
    struct jm_err e = {0};
    assert_int_equal(jm_disclosure(s->run, s->r, &rows, &n, &e), 0);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].id, id) == 0)
            return &rows[i];
    fail_msg("no row %s", id);
    return NULL;
}

static void load(struct syn *s, double from, double to)
{
    for (double t = from; t < to; t += 0.25)
        syn_request(s, t, 0.005, 0.001, 10, 10);
}

/* Counters of GPUs stand behind conversion and see one subsystem: no level, whatever else is well. */
static void gpus_alone(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    syn_begin(&s, "levels_gpu");
    syn_gpu(&s, "GPU-0", 100, -3, 75);
    syn_window(&s, JM_R_IDLE, 0, -2, 0);
    syn_window(&s, JM_R_MEASURE, 0, 1, 71);
    load(&s, 1, 71);
    const struct jm_levels *l = levels(&s, &o);
    assert_int_equal(l->claim_reached, 1);
    assert_int_equal(gate(l, "calibration")->state, JM_GATE_NOT);
    assert_int_equal(gate(l, "duration")->state, JM_GATE_MET);
    assert_int_equal(l->aspect[0].level, 3); /* 1a: a counter integrates */
    assert_int_equal(l->aspect[1].level, 3); /* 1b: 70 s, over the full run */
    assert_int_equal(l->aspect[2].level, 3); /* 1c: 700 readings, idle */
    assert_int_equal(l->aspect[4].level, 0); /* 3: one subsystem */
    assert_int_equal(l->aspect[5].level, 0); /* 4: downstream of conversion */
    assert_int_equal(l->eehpc, 0);
    assert_false(l->eehpc_like);
    assert_int_equal(row(&s, "precision")->state, JM_DISCLOSED_NOT);
    assert_true(row(&s, "precision")->required);
    assert_int_equal(row(&s, "pue")->state, JM_DISCLOSED_NA);
    assert_int_equal(row(&s, "isl")->state, JM_DISCLOSED);
    assert_int_equal(jm_fact_declare(s.r, "calibration=WT333E", NULL), 0);
    assert_int_equal(jm_fact_declare(s.r, "precision=FP8", NULL), 0);
    assert_int_equal(row(&s, "precision")->state, JM_DISCLOSED_LATER);
    assert_string_equal(row(&s, "precision")->value, "FP8");
    /* what is only declared is no evidence */
    assert_int_equal(jm_levels(s.run, s.r, &l, NULL), 0);
    assert_int_equal(gate(l, "calibration")->state, JM_GATE_UNKNOWN);
    assert_int_equal(l->claim_reached, 1);
    syn_end(&s);
}

/* A meter at the inlet, one reading a second: 1a 2, since a gauge does not integrate, and that is the level
 * of all. Its accuracy decides 4b: 1.5 % is level 2, 3 % level 1, 6 % none. */
static void wall(void **state)
{
    static const struct {
        const char *accuracy;
        int level;
    } meter[] = {{"meter-accuracy=0.5", 2},
                 {"meter-accuracy=1.5", 2},
                 {"meter-accuracy=3", 1},
                 {"meter-accuracy=6", 0}};
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    o.pue = (struct jm_pue){.value = 1.2, .category = "3"};
    syn_begin(&s, "levels_wall");
    syn_gpu(&s, "GPU-0", 100, -13, 85);
    syn_wall(&s, 200, -13, 85);
    syn_window(&s, JM_R_IDLE, 0, -10, 0);
    syn_window(&s, JM_R_MEASURE, 0, 1, 71);
    load(&s, 1, 71);
    syn_env(&s, "fact.precision", "BF16");
    const struct jm_levels *l = levels(&s, &o);
    assert_string_equal(l->eehpc_boundary, "wall");
    assert_int_equal(l->aspect[0].level, 2);
    assert_int_equal(l->aspect[4].level, 3);
    assert_int_equal(l->aspect[5].level, 3);
    assert_int_equal(gate(l, "wall")->state, JM_GATE_MET);
    assert_int_equal(gate(l, "slo")->state, JM_GATE_NOT);
    assert_int_equal(gate(l, "provenance")->state, JM_GATE_NOT); /* no period */
    assert_int_equal(row(&s, "pue")->state, JM_DISCLOSED_NOT);
    assert_int_equal(row(&s, "precision")->state, JM_DISCLOSED_DECLARED);
    for (size_t i = 0; i < sizeof meter / sizeof meter[0]; i++) {
        assert_int_equal(jm_fact_declare(s.r, meter[i].accuracy, NULL), 0);
        assert_int_equal(jm_levels(s.run, s.r, &l, NULL), 0);
        assert_int_equal(l->eehpc, meter[i].level);
    }
    assert_int_equal(l->aspect[3].level, 3);
    syn_end(&s);
}

/* 12 kW of a larger machine, by the methodology's aspect 2: level 1 wants the largest of 1/10, 2 kW and 15
 * nodes, level 2 that of 1/8, 10 kW and 15 nodes, and both a part chosen at random. At 3 kW level 2 is out of
 * reach. */
static void part_of_a_machine(void **state)
{
    static const struct {
        const char *machine;
        int at_12kw, at_3kw;
    } part[] = {{"machine=16 of 128 nodes, chosen at random", 2, 1},
                {"machine=15/150, at random", 1, 1},
                {"machine=16 of 128 nodes", 0, 0},
                {"machine=14 of 100, random", 0, 0},
                {"machine=16 of 200, random", 0, 0},
                {"machine=about a tenth, random", 0, 0},
                {"machine=99999999999999999999 of 5, random", 0, 0},
                {"machine=8 of 8 nodes", 3, 3}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct syn s;
        struct jm_compute_opts o;
        jm_compute_defaults(&o);
        syn_begin(&s, "levels_part");
        syn_wall(&s, k ? 3000 : 12000, -13, 85);
        syn_window(&s, JM_R_MEASURE, 0, 1, 71);
        load(&s, 1, 71);
        const struct jm_levels *l = levels(&s, &o);
        assert_int_equal(l->aspect[3].level, 3);
        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
            assert_int_equal(jm_fact_declare(s.r, part[i].machine, NULL), 0);
            assert_int_equal(jm_levels(s.run, s.r, &l, NULL), 0);
            assert_int_equal(l->aspect[3].level, k ? part[i].at_3kw : part[i].at_12kw);
        }
        syn_end(&s);
    }
}

/* A reading every 5 s is none a second, however many there are around the edges. */
static void bursts_at_the_edges(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    syn_begin(&s, "levels_bursts");
    int c = syn_wall(&s, 200, 1, 0);
    for (int ms = -10000; ms <= 85000; ms += 5)
        if (ms % 5000 == 0 || (ms > 500 && ms < 1500) || (ms > 70500 && ms < 71500))
            syn_reading(&s, c, ms / 1e3, 200000, JM_S_OK);
    syn_window(&s, JM_R_IDLE, 0, -10, 0);
    syn_window(&s, JM_R_MEASURE, 0, 1, 71);
    load(&s, 1, 71);
    const struct jm_levels *l = levels(&s, &o);
    assert_string_equal(l->eehpc_boundary, "wall");
    assert_int_equal(l->aspect[0].level, 0);
    syn_end(&s);
}

static void facts(void **state)
{
    const struct jm_fact *f;
    const char *v;
    struct jm_err e = {0};
    (void)state;
    assert_int_equal(jm_fact_parse("precision=FP8=x", &f, &v, &e), 0);
    assert_string_equal(v, "FP8=x");
    assert_int_equal(jm_fact_parse("precison=FP8", &f, &v, &e), JM_EUSAGE);
    assert_non_null(strstr(e.text, "precision"));
    assert_int_equal(jm_fact_parse("precision", &f, &v, &e), JM_EUSAGE);
    assert_int_equal(jm_fact_parse("precision=", &f, &v, &e), JM_EUSAGE);
    assert_int_equal(jm_fact_parse("=x", &f, &v, &e), JM_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gpus_alone), cmocka_unit_test(wall),
                                       cmocka_unit_test(part_of_a_machine),
                                       cmocka_unit_test(bursts_at_the_edges), cmocka_unit_test(facts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
