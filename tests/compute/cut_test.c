/* SPDX-License-Identifier: Apache-2.0 */
/* One joule once: for each tree the expected sum is made by hand. All powers are constant, windows are 10 s.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "synthetic.h"

#define NEAR(got, want) assert_true(fabs((double)(got) - (double)(want)) <= 1e-5 * fabs((double)(want)))

static void begin(struct syn *s, const char *name)
{
    syn_begin(s, name);
}

static void end(struct syn *s, const struct jm_compute_opts *o)
{
    syn_window(s, JM_R_MEASURE, 0, 0, 10);
    syn_report(s, o);
}

static const struct jm_result *energy(const struct syn *s, enum jm_boundary b)
{
    for (size_t i = 0; i < s->r->n_results; i++) {
        const struct jm_result *x = &s->r->results[i];
        if (strcmp(x->metric, "energy") == 0 && x->q.boundary == b && x->q.provenance != JM_P_ESTIMATED)
            return x;
    }
    return NULL;
}

static void expect(const struct syn *s, enum jm_boundary b, double watts, const char *set, int have, int of)
{
    const struct jm_result *x = energy(s, b);
    if (!x)
        fail_msg("no energy at %s", jm_boundary_name((int)b));
    if (strcmp(x->set, set) != 0 || x->have_of != have || x->of != of)
        fail_msg("%s: %s, %d of %d", jm_boundary_name((int)b), x->set, x->have_of, x->of);
    if (have)
        NEAR(x->q.value, watts * 10);
    else
        assert_false(x->q.have);
    if (have < of) {
        assert_int_equal(x->q.validity, JM_V_INVALID);
        assert_true(syn_findings(s, "boundary.partial") > 0);
    }
}

/* GH200: a module with two GPUs (300 W each) and a Grace (200 W, of which CPU 120, SysIO 50, DRAM 30); the
 * module itself reads 850 W (its own losses). Device: the module alone. GPU: the two GPUs, not what contains
 * the CPU. */
static void module_with_two_gpus(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "gh200");
    int m = syn_domain(&s, s.node, JM_D_MODULE, "module-0"), g = syn_domain(&s, m, JM_D_GRACE, "grace-0");
    syn_gauge(&s, m, "power.module.average", 850, -3, 13);
    syn_gauge(&s, g, "power", 200, -3, 13);
    syn_gauge(&s, syn_domain(&s, g, JM_D_CPU, "cpu-0"), "power", 120, -3, 13);
    syn_gauge(&s, syn_domain(&s, g, JM_D_SYSIO, "sysio-0"), "power", 50, -3, 13);
    syn_gauge(&s, syn_domain(&s, g, JM_D_DRAM, "dram-0"), "power", 30, -3, 13);
    syn_counter(&s, syn_domain(&s, m, JM_D_GPU, "GPU-a"), "GPU-a", 300, -3, 13);
    syn_counter(&s, syn_domain(&s, m, JM_D_GPU, "GPU-b"), "GPU-b", 300, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_GPU, 600, "gpu{gpu x 2}", 2, 2);
    expect(&s, JM_B_DEVICE, 850, "device{module}", 1, 1);
    syn_end(&s);
}

/* The module cannot be read: Grace and GPU stand for it, and the set says so. */
static void module_denied(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "gh200_denied");
    int m = syn_domain(&s, s.node, JM_D_MODULE, "module-0");
    int c = syn_gauge(&s, m, "power.module.average", 1, 1, 0);
    for (int t = -2; t <= 12; t++)
        syn_reading(&s, c, t, 0, JM_S_DENIED);
    syn_gauge(&s, syn_domain(&s, m, JM_D_GRACE, "grace-0"), "power", 200, -3, 13);
    syn_counter(&s, syn_domain(&s, m, JM_D_GPU, "GPU-a"), "GPU-a", 300, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_DEVICE, 500, "device{grace,gpu}", 2, 2);
    expect(&s, JM_B_GPU, 300, "gpu{gpu}", 1, 1);
    syn_end(&s);
}

/* Only the module scope exists (power of GPU scope is not supported): it stands for its GPU, by its name. */
static void module_only(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "module_only");
    int m = syn_domain(&s, s.node, JM_D_MODULE, "module-0");
    syn_domain(&s, m, JM_D_GPU, "GPU-a");
    syn_gauge(&s, m, "power.module.average", 700, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_GPU, 700, "gpu{module}", 1, 1);
    expect(&s, JM_B_DEVICE, 700, "device{module}", 1, 1);
    syn_end(&s);
}

/* A Grace without any GPU is no GPU boundary. */
static void module_without_gpu(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "grace_cpu");
    syn_gauge(&s, syn_domain(&s, s.node, JM_D_MODULE, "module-0"), "power", 400, -3, 13);
    end(&s, NULL);
    assert_null(energy(&s, JM_B_GPU));
    expect(&s, JM_B_DEVICE, 400, "device{module}", 1, 1);
    syn_end(&s);
}

/* Two packages (90 and 110 W) with core, uncore and DRAM zones inside psys (250 W by its register, which is
 * often in another unit): packages and DRAM count, psys, core and uncore do not. */
static void psys_and_packages(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "psys");
    int psys = syn_domain(&s, s.node, JM_D_PSYS, "psys"),
        p0 = syn_domain(&s, psys, JM_D_PACKAGE, "package-0"),
        p1 = syn_domain(&s, psys, JM_D_PACKAGE, "package-1");
    syn_counter(&s, psys, "psys", 250, -3, 13);
    syn_counter(&s, p0, "package-0", 90, -3, 13);
    syn_counter(&s, p1, "package-1", 110, -3, 13);
    syn_counter(&s, syn_domain(&s, p0, JM_D_CORE, "core"), "core", 60, -3, 13);
    syn_counter(&s, syn_domain(&s, p0, JM_D_UNCORE, "uncore"), "uncore", 5, -3, 13);
    syn_counter(&s, syn_domain(&s, s.node, JM_D_DRAM, "dram-0"), "dram-0", 20, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_DEVICE, 220, "device{package x 2,dram}", 3, 3);
    syn_end(&s);
}

/* A package whose counter fell silent is missing, though its cores are read; psys does not stand in. */
static void package_lost(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "package_lost");
    int p0 = syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"),
        p1 = syn_domain(&s, s.node, JM_D_PACKAGE, "package-1");
    syn_counter(&s, p0, "package-0", 90, -3, 13);
    syn_counter(&s, p1, "package-1", 110, -3, 4);
    syn_counter(&s, syn_domain(&s, p1, JM_D_CORE, "core"), "core", 60, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_DEVICE, 90, "device{package x 2}", 1, 2);
    syn_end(&s);
}

/* MMIO and MSR zones of one package, and a die that shows another one's register: flagged as mirrors. */
static void mirrors(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "mirrors");
    int p = syn_domain(&s, s.node, JM_D_PACKAGE, "package-0");
    syn_counter(&s, p, "intel-rapl:0", 100, -3, 13);
    s.chan_flags = JM_CHF_MIRROR;
    syn_counter(&s, p, "intel-rapl-mmio:0", 100, -3, 13);
    syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-0-die-1"), "die-1", 100, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_DEVICE, 100, "device{package}", 1, 1);
    syn_end(&s);
}

/* An APU that RAPL counts as a package: its own gauge is a mirror, and nothing is missing. */
static void apu(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "apu");
    syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"), "package-0", 45, -3, 13);
    s.chan_flags = JM_CHF_MIRROR;
    syn_gauge(&s, syn_domain(&s, s.node, JM_D_APU, "apu"), "power", 44, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_DEVICE, 45, "device{package}", 1, 1);
    assert_null(energy(&s, JM_B_GPU));
    syn_end(&s);
}

/* A GPU's memory is inside the board; both instances of a MIG-split board are the board. */
static void memory_is_inside(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "hbm");
    int g = syn_domain(&s, s.node, JM_D_GPU, "GPU-a");
    syn_counter(&s, g, "GPU-a", 400, -3, 13);
    syn_gauge(&s, syn_domain(&s, g, JM_D_HBM, "GPU-a"), "power.memory.average", 60, -3, 13);
    s.chan_flags = JM_CHF_MIRROR;
    syn_counter(&s, g, "MIG-1", 400, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_GPU, 400, "gpu{gpu}", 1, 1);
    expect(&s, JM_B_DEVICE, 400, "device{gpu}", 1, 1);
    syn_end(&s);
}

/* Node (1,500 W) and wall (1,700 W) beside the devices: each boundary its own, none in another's sum. */
static void node_and_wall(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "node_wall");
    syn_gpu(&s, "GPU-a", 500, -3, 13);
    syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"), "package-0", 200, -3, 13);
    syn_gauge(&s, s.node, "power", 1500, -3, 13);
    syn_wall(&s, 1700, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_GPU, 500, "gpu{gpu}", 1, 1);
    expect(&s, JM_B_DEVICE, 700, "device{package,gpu}", 2, 2);
    expect(&s, JM_B_NODE, 1500, "node{node}", 1, 1);
    expect(&s, JM_B_WALL, 1700, "wall{inlet_ac}", 1, 1);
    NEAR(syn_value(&s, "wall_to_gpu", JM_B_WALL, 0), 3.4);
    NEAR(syn_value(&s, "energy.unexplained", JM_B_WALL, 0), 10000); /* 1700 - 700 W over 10 s */
    const struct jm_result *rest = jm_report_find(s.r, "energy.unexplained", JM_B_WALL, 0);
    assert_true(rest->q.u.hi - rest->q.value <
                100); /* its error is that of its parts, not a multiple of them */
    syn_end(&s);
}

/* Two hosts, one of them with a meter at its inlet: the wall of the system is known for half of it. */
static void a_host_without_wall(void **state)
{
    struct syn s;
    struct jm_err err;
    (void)state;
    begin(&s, "two_hosts");
    syn_gpu(&s, "GPU-a", 500, -3, 13);
    syn_wall(&s, 800, -3, 13);
    int other = jm_domain_host(&s.tree, "other", &err);
    syn_counter(&s, syn_domain(&s, other, JM_D_GPU, "GPU-b"), "GPU-b", 500, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_GPU, 1000, "gpu{gpu x 2}", 2, 2);
    expect(&s, JM_B_WALL, 800, "wall{inlet_ac x 2}", 1, 2);
    syn_end(&s);
}

/* A node inside a node (a partition): what contains a counted one is not missed beside it. */
static void node_in_node(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "node_in_node");
    int inner = syn_domain(&s, s.node, JM_D_NODE, "partition"),
        last = syn_domain(&s, s.node, JM_D_NODE, "other");
    syn_gauge(&s, inner, "power", 300, -3, 13);
    syn_counter(&s, syn_domain(&s, last, JM_D_GPU, "GPU-a"), "GPU-a", 100, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_NODE, 300, "node{node x 2}", 1, 2);
    syn_end(&s);
}

/* Two feeds of one host that a PDU meters: their sum, and nothing is missing. */
static void two_feeds(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "feeds");
    syn_gpu(&s, "GPU-a", 500, -3, 13);
    syn_gauge(&s, syn_domain(&s, -1, JM_D_INLET_AC, "outlet-1"), "power", 450, -3, 13);
    syn_gauge(&s, syn_domain(&s, -1, JM_D_INLET_AC, "outlet-2"), "power", 350, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_WALL, 800, "wall{inlet_ac x 2}", 2, 2);
    syn_end(&s);
}

/* Three of four GPUs serve; the other one is a line of its own, and part of the device boundary. */
static void serving_subset(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "subset");
    for (int i = 0; i < 4; i++) {
        char key[16];
        snprintf(key, sizeof key, "GPU-%d", i);
        syn_gpu(&s, key, i == 3 ? 70 : 500, -3, 13);
    }
    syn_env(&s, "sut.gpus", "GPU-0,GPU-1, GPU-2");
    end(&s, NULL);
    expect(&s, JM_B_GPU, 1500, "gpu{gpu x 3}", 3, 3);
    expect(&s, JM_B_DEVICE, 1570, "device{gpu x 4}", 4, 4);
    NEAR(syn_value(&s, "energy.other_gpus", JM_B_GPU, 0), 700);
    syn_end(&s);
}

/* A GPU that serves and that no meter reads, and one of the host that has no power sensor. */
static void not_metered(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "absent");
    syn_gpu(&s, "GPU-0", 500, -3, 13);
    syn_env(&s, "sut.gpus", "GPU-0,GPU-9");
    end(&s, NULL);
    expect(&s, JM_B_GPU, 500, "gpu{gpu x 2}", 1, 2);
    syn_end(&s);
    begin(&s, "no_sensor");
    syn_gpu(&s, "GPU-0", 500, -3, 13);
    syn_domain(&s, s.node, JM_D_GPU, "GPU-1");
    syn_gauge(&s, s.node, "temp", 1, 1, 0);
    end(&s, NULL);
    expect(&s, JM_B_GPU, 500, "gpu{gpu x 2}", 1, 2);
    syn_end(&s);
}

/* An estimate of the CPU beside the measured one: its own set, no part of any sum. */
static void estimate_beside(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "estimate");
    syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"), "package-0", 100, -3, 13);
    s.provenance = JM_P_ESTIMATED;
    s.chan_flags = JM_CHF_ON_REQUEST | JM_CHF_MIRROR;
    syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "estimate"), "cpu", 180, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_DEVICE, 100, "device{package}", 1, 1);
    const struct jm_result *e = NULL;
    for (size_t i = 0; i < s.r->n_results; i++)
        if (strcmp(s.r->results[i].metric, "energy") == 0 && s.r->results[i].q.provenance == JM_P_ESTIMATED)
            e = &s.r->results[i];
    assert_non_null(e);
    assert_string_equal(e->set, "estimate{package}");
    NEAR(e->q.value, 1800);
    syn_end(&s);
}

/* Deep trees of random kinds and channels: what is counted is an antichain, and no measured GPU is lost. */
static void antichain(void **state)
{
    struct jm_rng rng;
    (void)state;
    jm_rng_init(&rng, 7);
    for (int round = 0; round < 60; round++) {
        struct syn s;
        begin(&s, "random");
        int n = 2 + (int)jm_rng_below(&rng, 24);
        for (int i = 0; i < n; i++) {
            char key[16];
            snprintf(key, sizeof key, "d%d", i);
            int parent = (int)jm_rng_below(&rng, s.tree.n);
            int d = syn_domain(
                &s, parent,
                (enum jm_domain_kind)(JM_D_MODULE + (int)jm_rng_below(&rng, JM_D_COUNT - JM_D_MODULE)), key);
            int what = (int)jm_rng_below(&rng, 4);
            if (what == 1)
                syn_gauge(&s, d, "power", 10, -3, 13);
            else if (what == 2)
                syn_gauge(&s, d, "power", 10, -3, 4);
        }
        end(&s, NULL);
        for (size_t i = 0; i < s.r->n_results; i++) {
            const struct jm_result *x = &s.r->results[i];
            if (strcmp(x->metric, "energy") != 0)
                continue;
            for (size_t a = 0; a < x->n_domain; a++)
                for (size_t b = 0; b < x->n_domain; b++)
                    assert_true(a == b || !jm_domain_contains(s.r->tree, x->domain[a], x->domain[b]));
            assert_int_equal((int)x->n_domain, x->of);
            if (x->have_of)
                NEAR(x->q.value, 100.0 * x->have_of);
        }
        syn_end(&s);
    }
}

/* Two feeds of one inlet (outlets of two PDUs, 400 and 350 W): addends. The supplies behind them give 380 and
 * 330 W: addends of the node, and no device beside the GPU (500 W). */
static void redundant_supplies(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "feeds");
    syn_gauge(&s, syn_domain(&s, s.inlet, JM_D_PSU, "a"), "power", 400, -3, 13);
    syn_gauge(&s, syn_domain(&s, s.inlet, JM_D_PSU, "b"), "power", 350, -3, 13);
    syn_gauge(&s, syn_domain(&s, s.node, JM_D_PSU_OUTPUT, "1"), "power", 380, -3, 13);
    syn_gauge(&s, syn_domain(&s, s.node, JM_D_PSU_OUTPUT, "2"), "power", 330, -3, 13);
    syn_gpu(&s, "GPU-a", 500, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_WALL, 750, "wall{psu x 2}", 2, 2);
    expect(&s, JM_B_NODE, 710, "node{psu_output x 2}", 2, 2);
    expect(&s, JM_B_DEVICE, 500, "device{gpu}", 1, 1);
    NEAR(syn_value(&s, "energy.unexplained", JM_B_WALL, 0), 2500);
    syn_end(&s);
}

/* What measures the whole inlet goes before its feeds, and is not added to them. */
static void a_wall_meter_and_both_outlets(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "feeds_and_wall");
    syn_gauge(&s, syn_domain(&s, s.inlet, JM_D_PSU, "a"), "power", 400, -3, 13);
    syn_gauge(&s, syn_domain(&s, s.inlet, JM_D_PSU, "b"), "power", 350, -3, 13);
    syn_wall(&s, 752, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_WALL, 752, "wall{inlet_ac}", 1, 1);
    syn_end(&s);
}

/* One of two feeds is silent (it was never read; its supply reads null): the wall is not the other one. */
static void a_silent_feed(void **state)
{
    struct syn s;
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        begin(&s, "feed_lost");
        int b;
        syn_gauge(&s, syn_domain(&s, s.inlet, JM_D_PSU, "a"), "power", 400, -3, 13);
        b = syn_domain(&s, s.inlet, JM_D_PSU, "b");
        int c = failed ? syn_gauge(&s, b, "power", 1, 1, 0) : -1;
        for (int t = -2; failed && t <= 12; t++)
            syn_reading(&s, c, t, 0, JM_S_ABSENT);
        syn_gpu(&s, "GPU-a", 300, -3, 13);
        end(&s, NULL);
        expect(&s, JM_B_WALL, 400, "wall{psu x 2}", 1, 2);
        syn_end(&s);
    }
}

/* A PDU feeds two hosts. Measured alone it stands for both; with both inlets measured it stands aside. */
static void a_pdu_of_two_hosts(void **state)
{
    struct syn s;
    (void)state;
    for (int inlets = 0; inlets < 3; inlets++) {
        begin(&s, "pdu");
        int pdu = syn_domain(&s, syn_domain(&s, -1, JM_D_RACK, "r1"), JM_D_PDU, "pdu-1");
        syn_gauge(&s, pdu, "power", 1500, -3, 13);
        for (int h = 0; h < 2; h++) {
            char name[16];
            snprintf(name, sizeof name, "h%d", h);
            int inlet = syn_domain(&s, pdu, JM_D_INLET_AC, name),
                node = syn_domain(&s, inlet, JM_D_NODE, name);
            if (h < inlets)
                syn_gauge(&s, inlet, "power", 700, -3, 13);
            syn_counter(&s, syn_domain(&s, node, JM_D_GPU, name), name, 400, -3, 13);
        }
        end(&s, NULL);
        if (inlets == 2)
            expect(&s, JM_B_WALL, 1400, "wall{inlet_ac x 2}", 2, 2);
        else
            expect(&s, JM_B_WALL, 1500, "wall{pdu}", 1, 1);
        syn_end(&s);
    }
}

/* Shared supplies: one inlet of a chassis with two nodes, whose hosts are found where they are. */
static void one_inlet_of_two_nodes(void **state)
{
    struct syn s;
    struct jm_err e = {0};
    (void)state;
    begin(&s, "chassis");
    int inlet = syn_domain(&s, syn_domain(&s, -1, JM_D_CHASSIS, "c1"), JM_D_INLET_AC, "c1"), n[2];
    syn_gauge(&s, inlet, "power", 1300, -3, 13);
    for (int h = 0; h < 2; h++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", h);
        n[h] = syn_domain(&s, inlet, JM_D_NODE, name);
        assert_int_equal(jm_domain_host(&s.tree, name, &e), n[h]);
        syn_counter(&s, syn_domain(&s, n[h], JM_D_GPU, name), name, 400, -3, 13);
    }
    /* a host whose inlet is known as DC gets its node below it */
    int dc = syn_domain(&s, -1, JM_D_INLET_DC, "n9"), n9 = jm_domain_host(&s.tree, "n9", &e);
    assert_int_equal(s.tree.d[n9].parent, dc);
    end(&s, NULL);
    expect(&s, JM_B_WALL, 1300, "wall{inlet_ac}", 1, 1);
    syn_end(&s);
}

/* PUE 1.2 of 700 W at the wall: 8400 J in 10 s, declared. With a reading of the site it is refused, and the
 * site is the facility. */
static void facility(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    struct jm_report *none = NULL;
    struct jm_err e = {0};
    (void)state;
    jm_compute_defaults(&o);
    o.pue.value = 1.2;
    o.pue.category[0] = '1';
    begin(&s, "pue");
    syn_wall(&s, 700, -3, 13);
    end(&s, &o);
    const struct jm_result *x = energy(&s, JM_B_FACILITY);
    assert_non_null(x);
    NEAR(x->q.value, 8400);
    assert_int_equal(x->q.provenance, JM_P_DECLARED);
    assert_non_null(strstr(x->q.u.excludes, "UPS"));
    syn_end(&s);
    begin(&s, "site");
    syn_wall(&s, 700, -3, 13);
    syn_gauge(&s, syn_domain(&s, -1, JM_D_SITE, "hall"), "power", 5000, -3, 13);
    end(&s, NULL);
    expect(&s, JM_B_FACILITY, 5000, "facility{site}", 1, 1);
    assert_int_equal(jm_compute(s.run, &o, &none, &e), JM_EUSAGE);
    assert_non_null(strstr(e.text, "twice"));
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(module_with_two_gpus),
        cmocka_unit_test(module_denied),
        cmocka_unit_test(module_only),
        cmocka_unit_test(module_without_gpu),
        cmocka_unit_test(psys_and_packages),
        cmocka_unit_test(package_lost),
        cmocka_unit_test(mirrors),
        cmocka_unit_test(apu),
        cmocka_unit_test(memory_is_inside),
        cmocka_unit_test(node_and_wall),
        cmocka_unit_test(a_host_without_wall),
        cmocka_unit_test(node_in_node),
        cmocka_unit_test(two_feeds),
        cmocka_unit_test(serving_subset),
        cmocka_unit_test(not_metered),
        cmocka_unit_test(estimate_beside),
        cmocka_unit_test(antichain),
        cmocka_unit_test(redundant_supplies),
        cmocka_unit_test(a_wall_meter_and_both_outlets),
        cmocka_unit_test(a_silent_feed),
        cmocka_unit_test(a_pdu_of_two_hosts),
        cmocka_unit_test(one_inlet_of_two_nodes),
        cmocka_unit_test(facility),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
