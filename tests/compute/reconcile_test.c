/* SPDX-License-Identifier: Apache-2.0 */
/* The table from the wall to the GPU, with every row made by hand, and each finding once where it belongs and
 * once where it does not. Powers are constant but where said, windows are 10 s. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "show/show.h"
#include "synthetic.h"

#define NEAR(got, want) assert_true(fabs((double)(got) - (double)(want)) <= 1e-5 * fabs((double)(want)))

static void end(struct syn *s, double seconds)
{
    syn_window(s, JM_R_MEASURE, 0, 0, seconds);
    syn_report(s, NULL);
}

static const struct jm_reconcile_row *row(const struct syn *s, enum jm_domain_kind kind)
{
    for (size_t i = 0; i < s->r->n_reconcile; i++)
        if (s->r->tree->d[s->r->reconcile[i].domain].kind == kind)
            return &s->r->reconcile[i];
    fail_msg("no row of %s", jm_domain_kind_name((int)kind));
    return NULL;
}

static int any(const struct syn *s)
{
    int n = 0;
    for (size_t i = 0; i < s->r->n_findings; i++)
        n += strncmp(s->r->findings[i].id, "reconcile.", 10) == 0;
    return n;
}

/* Wall 1000 W, node 930 W, two GPUs of 300 W, a package of 100 W. Inlet: 10 kJ, holds the node, 700 J (7 %)
 * for the supplies, which give 93 %. Node: 9.3 kJ, holds 7 kJ, 2.3 kJ left. */
static void a_node(void **state)
{
    struct syn s;
    struct jm_str out;
    struct jm_err e = {0};
    (void)state;
    syn_begin(&s, "node");
    syn_wall(&s, 1000, -3, 13);
    syn_gauge(&s, s.node, "power", 930, -3, 13);
    syn_gpu(&s, "GPU-a", 300, -3, 13);
    syn_gpu(&s, "GPU-b", 300, -3, 13);
    syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"), "package-0", 100, -3, 13);
    end(&s, 10);
    const struct jm_reconcile_row *w = row(&s, JM_D_INLET_AC), *n = row(&s, JM_D_NODE),
                                  *g = row(&s, JM_D_GPU);
    NEAR(w->joules, 10000);
    NEAR(w->unexplained, 700);
    NEAR(w->efficiency, 0.93);
    assert_int_equal(w->n_contains, 1);
    assert_int_equal(w->depth, 0);
    NEAR(n->joules, 9300);
    NEAR(n->contained, 7000);
    NEAR(n->unexplained, 2300);
    assert_true(n->unexplained_lo <= 2300 && n->unexplained_hi >= 2300);
    assert_int_equal(n->n_contains, 3);
    assert_int_equal(g->depth, 2);
    assert_true(isnan(g->unexplained) && isnan(g->efficiency));
    assert_int_equal(s.r->n_reconcile, 5);
    assert_int_equal(any(&s), 0);
    /* every line fits 80 columns */
    struct jm_show_opts o = {.width = 80, .ascii = true, .reconcile = true};
    jm_str_init(&out);
    assert_int_equal(jm_show_find("text")->render(s.r, &o, &out, &e), 0);
    assert_non_null(strstr(out.buf, "From the wall to the GPU"));
    assert_non_null(strstr(out.buf, "output over input of the supplies: 93.0 %"));
    for (const char *p = out.buf, *q; (q = strchr(p, '\n')); p = q + 1)
        assert_true(q - p <= 80);
    jm_str_release(&out);
    syn_end(&s);
}

/* GPUs say 900 W where the wall says 700 W: bounds of 5 % and 15 % (no accuracy stated) allow 170 W, not 200.
 * 800 W are inside the bound of 155 W, which only an unknown gain could explain: a warning. */
static void child_larger(void **state)
{
    struct syn s;
    (void)state;
    for (int big = 0; big < 2; big++) {
        syn_begin(&s, "child");
        syn_wall(&s, 700, -3, 13);
        syn_gpu(&s, "GPU-a", big ? 900 : 800, -3, 13);
        end(&s, 10);
        assert_int_equal(syn_findings(&s, "reconcile.child_larger"), 1);
        assert_int_equal(syn_finding(&s, "reconcile.child_larger")->severity,
                         big ? JM_SEV_ERROR : JM_SEV_WARNING);
        assert_int_equal(any(&s), 1);
        NEAR(row(&s, JM_D_INLET_AC)->unexplained, big ? -2000 : -1000);
        syn_end(&s);
    }
}

/* Two meters of one inlet, 1000 W and: 930 (7 % less: the DC side), 995 (agree), 700 (no supply loses 30 %).
 */
static void two_meters_of_an_inlet(void **state)
{
    static const double watts[] = {930, 995, 700};
    struct syn s;
    (void)state;
    for (int i = 0; i < 3; i++) {
        syn_begin(&s, "two");
        syn_wall(&s, 1000, -3, 13);
        syn_gauge(&s, s.inlet, "power.other", watts[i], -3, 13);
        end(&s, 10);
        assert_int_equal(syn_findings(&s, "reconcile.ac_dc"), i == 0);
        assert_int_equal(syn_findings(&s, "reconcile.disagree"), i == 2);
        const struct jm_reconcile_row *w = row(&s, JM_D_INLET_AC);
        assert_int_equal(w->n_others, 1);
        NEAR(fabs(w->others[0].difference), (1000 - watts[i]) * 10);
        assert_true(fabs(w->joules - 10000) < 1 || fabs(w->joules - watts[i] * 10) < 1); /* never the sum */
        syn_end(&s);
    }
}

/* A node that reads what its AC inlet reads (999 of 1000 W); 960 W is a good supply. */
static void node_that_reads_ac(void **state)
{
    struct syn s;
    (void)state;
    for (int ac = 0; ac < 2; ac++) {
        syn_begin(&s, "ac");
        syn_wall(&s, 1000, -3, 13);
        syn_gauge(&s, s.node, "power", ac ? 999 : 960, -3, 13);
        end(&s, 10);
        assert_int_equal(syn_findings(&s, "reconcile.ac_dc"), ac);
        syn_end(&s);
    }
}

/* Wall 3000 W above a GPU of 300 and a package of 100 W: 87 % unexplained, 6.7 % of it may be the meters;
 * supplies and the rest of a node take 56 % (1 - 0.8 x 0.55) at most. Wall 800 W: 50 %. */
static void unexplained(void **state)
{
    struct syn s;
    (void)state;
    for (int big = 0; big < 2; big++) {
        syn_begin(&s, "unexplained");
        syn_wall(&s, big ? 3000 : 800, -3, 13);
        syn_gpu(&s, "GPU-a", 300, -3, 13);
        syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "p"), "p", 100, -3, 13);
        end(&s, 10);
        assert_int_equal(syn_findings(&s, "reconcile.unexplained"), big);
        syn_end(&s);
    }
}

/* The inlet of a chassis feeds two nodes; the run measures one, both, or both and one of them serves. */
static void shared(void **state)
{
    struct syn s;
    (void)state;
    for (int how = 0; how < 3; how++) {
        bool both = how > 0, wrong = how != 1;
        syn_begin(&s, "shared");
        if (how == 2)
            syn_env(&s, "sut.gpus", "GPU-a");
        int other = syn_domain(&s, s.inlet, JM_D_NODE, "other");
        syn_wall(&s, 1500, -3, 13);
        syn_gpu(&s, "GPU-a", 300, -3, 13);
        if (both)
            syn_counter(&s, syn_domain(&s, other, JM_D_GPU, "GPU-b"), "GPU-b", 300, -3, 13);
        end(&s, 10);
        assert_int_equal(syn_findings(&s, "reconcile.shared"), wrong);
        const struct jm_result *x = jm_report_find(s.r, "energy", JM_B_WALL, 0),
                               *g = jm_report_find(s.r, "energy", JM_B_GPU, 0);
        assert_true((x->q.validity == JM_V_INVALID) == wrong);
        assert_true(g->q.validity != JM_V_INVALID);
        syn_end(&s);
    }
}

/* Load of 400 and 1000 W, 30 s each. The wall meter sees it as it is; the node's shows 93 % of: the mean over
 * the last 20 s (about 10 s late), the load itself, or 651 W always. */
static void bmc_that_averages(void **state)
{
    static const struct {
        const char *finding;
        int kind;
    } c[] = {{"reconcile.averages", 0}, {NULL, 1}, {"reconcile.stale", 2}};
    struct syn s;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        syn_begin(&s, "bmc");
        int wall = syn_gauge(&s, s.inlet, "power", 1, 1, 0), node = syn_gauge(&s, s.node, "power", 1, 1, 0);
        for (int t = -5; t <= 305; t++) {
            double mean = 0;
            for (int k = 0; k < 20; k++)
                mean += ((t - k + 600) / 30 % 2 ? 1000 : 400) / 20.0;
            double now = (t + 600) / 30 % 2 ? 1000 : 400, shown = 0.93 * (c[i].kind == 0   ? mean
                                                                          : c[i].kind == 1 ? now
                                                                                           : 700);
            syn_reading(&s, wall, t, llround(now * 1000), JM_S_OK);
            syn_reading(&s, node, t, llround(shown * 1000), JM_S_OK);
        }
        end(&s, 300);
        for (size_t k = 0; k < 3; k++)
            if (c[k].finding && syn_findings(&s, c[k].finding) != (k == i))
                fail_msg("%s in case %zu: %d", c[k].finding, i, syn_findings(&s, c[k].finding));
        syn_end(&s);
    }
}

/* Two outlets at an inlet (400 and 350 W) and a wall meter that says 752 W: the outlets' sum stands beside.
 */
static void outlets_beside_a_meter(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "beside");
    syn_wall(&s, 752, -3, 13);
    syn_gauge(&s, syn_domain(&s, s.inlet, JM_D_PSU, "a"), "power", 400, -3, 13);
    syn_gauge(&s, syn_domain(&s, s.inlet, JM_D_PSU, "b"), "power", 350, -3, 13);
    end(&s, 10);
    const struct jm_reconcile_row *w = row(&s, JM_D_INLET_AC);
    assert_int_equal(w->n_others, 1);
    NEAR(w->others[0].joules, 7500);
    assert_true(w->others[0].agree);
    assert_true(isnan(w->unexplained)); /* the outlets are it, they are not inside it */
    assert_int_equal(any(&s), 0);
    syn_end(&s);
}

/* One of two outlets says nothing: a row that is no total, 1 of 2. A PDU of 1620 W above two inlets of 900
 * and 700 W: no supplies of its own stand beside it; 1620 W above the same and 500 W less is too much for
 * losses. */
static void parts_and_feeders(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "partial");
    syn_gpu(&s, "GPU-a", 300, -3, 13);
    int one = syn_domain(&s, s.inlet, JM_D_PSU, "a");
    syn_domain(&s, s.inlet, JM_D_PSU, "b");
    syn_gauge(&s, one, "power", 400, -3, 13);
    end(&s, 10);
    const struct jm_reconcile_row *x = row(&s, JM_D_INLET_AC);
    assert_true(x->summed && x->parts == 2 && x->said == 1 && x->status != JM_S_OK && isnan(x->joules));
    syn_end(&s);
    for (int more = 0; more < 2; more++) {
        syn_begin(&s, "feeder");
        int pdu = syn_domain(&s, -1, JM_D_PDU, "pdu");
        for (int k = 0; k < 2; k++) {
            int in = syn_domain(&s, pdu, JM_D_INLET_AC, k ? "n2" : "n1");
            syn_counter(
                &s, syn_domain(&s, syn_domain(&s, in, JM_D_NODE, k ? "n2" : "n1"), JM_D_GPU, k ? "b" : "a"),
                k ? "b" : "a", 300, -3, 13);
            syn_gauge(&s, in, "power", k ? 700 - 500 * more : 900, -3, 13);
        }
        syn_gauge(&s, pdu, "power", 1620, -3, 13);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        struct jm_compute_opts o;
        jm_compute_defaults(&o);
        snprintf(o.pue.category, sizeof o.pue.category, "2");
        o.pue.value = 1.5;
        syn_report(&s, &o);
        x = row(&s, JM_D_PDU);
        assert_int_equal(x->n_others, 0);
        NEAR(x->unexplained, more ? 5200 : 200);
        assert_int_equal(syn_findings(&s, "reconcile.unexplained"), more);
        /* category 2 takes its IT energy at the PDU; where something else hangs on it, at the inlets */
        NEAR(jm_report_find(s.r, "energy", JM_B_WALL, 0)->q.value, more ? 11000 : 16000);
        NEAR(jm_report_find(s.r, "energy", JM_B_FACILITY, 0)->q.value, 1.5 * (more ? 11000 : 16200));
        syn_end(&s);
    }
}

/* A plug's counter without any stated accuracy says 1080 W, an analyzer with 0.15 % 1000 W: the analyzer. A
 * GPU's counter goes before its gauge all the same. */
static void the_surer_one(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "surer");
    syn_counter(&s, s.inlet, "plug", 1080, -3, 13);
    struct jm_channel c = {.kind = JM_CH_GAUGE,
                           .unit = JM_U_W,
                           .scale10 = -3,
                           .period_ns = JM_NS_PER_S,
                           .domain = s.inlet,
                           .gain_tol = 0.0015,
                           .name = "power",
                           .device = "wt"};
    struct jm_run_meter wt_meter = {.name = "yokogawa", .state = "ok"};
    int first = s.meter, wt;
    assert_true((s.meter = jm_run_put_meter(s.w, &wt_meter, NULL)) >= 0);
    wt = syn_channel(&s, &c);
    s.meter = first;
    for (int t = -3; t <= 13; t++)
        syn_reading(&s, wt, t, 1000000, JM_S_OK);
    end(&s, 10);
    NEAR(row(&s, JM_D_INLET_AC)->joules, 10000);
    NEAR(jm_report_find(s.r, "energy", JM_B_WALL, 0)->q.value, 10000);
    syn_end(&s);
}

/* A steady load of 1000 W that began before the window, and a BMC that still averages over 100 s: it climbs
 * from 700 to 1000 W. With a gauge of the GPU, which stands, the BMC is the one that is late. */
static void a_mean_of_what_was_before(void **state)
{
    struct syn s;
    (void)state;
    for (int gauge = 0; gauge < 2; gauge++) {
        syn_begin(&s, "before");
        int wall = syn_gauge(&s, s.inlet, "power", 1, 1, 0),
            node = syn_gauge(&s, s.inlet, "power.bmc", 1, 1, 0);
        syn_gpu(&s, "GPU-a", 500, -3, 103);
        if (gauge)
            syn_gauge(&s, syn_domain(&s, s.node, JM_D_GPU, "GPU-a"), "power.usage", 500, -3, 103);
        for (int t = -3; t <= 103; t++) {
            syn_reading(&s, wall, t, 1000000, JM_S_OK);
            syn_reading(&s, node, t, 700000 + 3000 * (t < 0 ? 0 : t > 100 ? 100 : t), JM_S_OK);
        }
        end(&s, 100);
        assert_int_equal(syn_findings(&s, "reconcile.averages"), gauge);
        assert_int_equal(syn_findings(&s, "reconcile.stale"), !gauge);
        if (!gauge)
            assert_non_null(strstr(syn_finding(&s, "reconcile.stale")->text, "averages what lay before"));
        syn_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node),
        cmocka_unit_test(child_larger),
        cmocka_unit_test(two_meters_of_an_inlet),
        cmocka_unit_test(node_that_reads_ac),
        cmocka_unit_test(unexplained),
        cmocka_unit_test(shared),
        cmocka_unit_test(bmc_that_averages),
        cmocka_unit_test(outlets_beside_a_meter),
        cmocka_unit_test(parts_and_feeders),
        cmocka_unit_test(the_surer_one),
        cmocka_unit_test(a_mean_of_what_was_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
