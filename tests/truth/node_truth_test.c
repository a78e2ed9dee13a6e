/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated node for ten minutes of virtual time: what every instrument's readings come to, against what
 * its part truly drew. The energy must lie within the bound that is stated for it, and that bound must not be
 * wider than twice the largest error that the instrument's parameters allow.
 *
 * The largest error, from the parameters and the true power, for a window [a, b] of length L:
 *   gain      tol x E                          the reading is anywhere within tol of the truth
 *   quantum   q/2 x L of a gauge, q of a counter
 *   time      at each edge x: an instrument that is late by up to d shows the energy of [a - d, b - d], so
 *             that |error| <= d x (most - least power in [x - d, x + d]); d = lag + clock error + jitter
 *             + period + half the averaging window + the distance of its reads
 *   sampling  one that looks at a part of each period only: for n periods of length p with a deviation s
 *             between what it looked at and the whole period, 3.5 s p sqrt(n)
 * The stated bound is that of the interval at 99.99 % with the gain, and lag and clock error by the same rule
 * as above, since no reading can tell of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "compute/compute.h"

#include "instrument.h"

#define NS 1e9

struct book {
    struct jm_reading *r;
    size_t n, room;
};

static int put(void *self, const struct inst_reading *x)
{
    struct book *b = self;
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 16384;
        b->r = realloc(b->r, b->room * sizeof *b->r);
        assert_non_null(b->r);
    }
    b->r[b->n++] = (struct jm_reading){.t0 = x->t0, .t1 = x->t1, .value = x->value};
    return 0;
}

/* What the instrument states of itself. */
static struct jm_channel channel(const struct inst *in)
{
    struct jm_channel c = {.kind = in->kind->counter ? JM_CH_COUNTER : JM_CH_GAUGE,
                           .unit = in->kind->counter ? JM_U_J : JM_U_W,
                           .scale10 = in->kind->scale10,
                           .scale2 = in->kind->scale2,
                           .modulus = in->kind->modulus,
                           .period_ns = llround(in->c.period_s * NS),
                           .window_ns = llround(in->c.window_s * NS),
                           .gain_tol = in->c.tol,
                           .offset_tol = in->kind->counter ? in->c.quantum : in->c.quantum / 2,
                           .flags = in->kind->stamped ? JM_CHF_STAMPED : 0};
    c.sem = in->kind->partial                  ? JM_G_PARTIAL
            : !(in->c.window_s > 0)            ? JM_G_INSTANT
            : in->c.window_s == in->c.period_s ? JM_G_BLOCK_MEAN
                                               : JM_G_TRAILING_MEAN;
    return c;
}

/* d x (most - least power within d of the edge) */
static double edge(const struct inst *in, int64_t at, double d)
{
    const struct plant *pl = in->pl;
    double lo = INFINITY, hi = -INFINITY;
    int64_t from = (at - llround(d * NS)) / PLANT_STEP_NS, to = (at + llround(d * NS)) / PLANT_STEP_NS;
    for (int64_t i = from < 0 ? 0 : from; i <= to && i < (int64_t)pl->n; i++) {
        lo = fmin(lo, pl->part[in->part].p[i]);
        hi = fmax(hi, pl->part[in->part].p[i]);
    }
    return hi > lo ? d * (hi - lo) : 0;
}

static double late(const struct inst *in, int64_t t)
{
    double clock = in->kind->stamped ? fabs((double)inst_clock(in, t)) / NS : 0;
    return in->c.lag_s + clock;
}

static double largest(const struct inst *in, double joules)
{
    const struct plant *pl = in->pl;
    double len = (double)(pl->t1 - pl->t0) / NS, sum = in->c.tol * joules;
    sum += in->kind->counter ? in->c.quantum : in->c.quantum / 2 * len;
    for (int e = 0; e < 2; e++) {
        int64_t t = e ? pl->t1 : pl->t0;
        double own = in->c.jitter_s + in->c.period_s + (in->kind->counter ? 0 : in->c.window_s / 2) +
                     (in->kind->burst ? 1e-3 : in->c.poll_s);
        sum += edge(in, t, late(in, t) + own);
    }
    if (!in->kind->counter && in->c.window_s < in->c.period_s) {
        double var = 0;
        int64_t n = 0, p = llround(in->c.period_s * NS), w = llround(fmax(in->c.window_s, 1e-3) * NS);
        for (int64_t t = pl->t0; t + p <= pl->t1; t += p, n++) {
            double d = plant_energy(pl, in->part, t + p - w, t + p) / ((double)w / NS) -
                       plant_energy(pl, in->part, t, t + p) / in->c.period_s;
            var += d * d;
        }
        sum += 3.5 * sqrt(var) * in->c.period_s;
    }
    return sum;
}

/* How much the true gain of the instrument uses up of what it states is by the seed, up to 0.9 of it. */
static void judge(const struct inst *in, struct book *b, double *worst, double *widest)
{
    const struct plant *pl = in->pl;
    struct jm_channel c = channel(in);
    struct jm_energy e;
    double true_j = plant_energy(pl, in->part, pl->t0, pl->t1);
    b->n = 0;
    assert_int_equal(inst_read(in, put, b), 0);
    assert_int_equal(c.kind == JM_CH_COUNTER ? jm_energy_counter(&c, b->r, b->n, pl->t0, pl->t1, &e)
                                             : jm_energy_gauge(&c, b->r, b->n, pl->t0, pl->t1, &e),
                     0);
    if (!jm_energy_has_value(&e)) { /* 0.1 kWh in ten minutes: five steps of a counter tell too little */
        if (in->c.quantum < 1000)
            fail_msg("%s %d has no value: %s", in->kind->name, in->number, e.note);
        return;
    }
    double bound = jm_energy_halfwidth(&e, 0.9999, true), error = fabs(e.joules - true_j);
    bound += edge(in, pl->t0, late(in, pl->t0)) + edge(in, pl->t1, late(in, pl->t1));
    double allowed = largest(in, true_j);
    *worst = fmax(*worst, error / bound);
    *widest = fmax(*widest, bound / allowed);
    if (!(error <= bound))
        fail_msg("%s %d, seed %g: off by %.3f J of %.0f J, stated are %.3f J (u %.3f, gain %.3f)",
                 in->kind->name, in->number, pl->conf.seed, error, true_j, bound, e.u, e.gain_bound);
    if (!(bound <= 2 * allowed))
        fail_msg("%s %d, seed %g: states %.3f J, but its parameters allow %.3f J (u %.3f, gain %.3f, %s)",
                 in->kind->name, in->number, pl->conf.seed, bound, allowed, e.u, e.gain_bound, e.note);
}

static void conf(struct inst_conf *c, const char *set)
{
    char copy[400], *save = copy, why[200];
    snprintf(copy, sizeof copy, "%s", set);
    for (char *item; (item = strsep(&save, " "));) {
        char *v = item, *k = strsep(&v, "=");
        char *dot = strrchr(k, '/');
        for (int i = 0; dot && i < INST_KINDS; i++)
            if (strncmp(inst_kinds[i].name, k, (size_t)(dot - k)) == 0 &&
                inst_set(&c[i], inst_kinds[i].name, dot + 1, v, why, sizeof why))
                fail_msg("%s", why);
    }
}

static void every_instrument(const struct plant_conf *pc, const char *set)
{
    struct plant pl;
    struct book b = {0};
    struct inst_conf c[INST_KINDS];
    char why[200];
    double worst = 0, widest = 0;
    if (plant_make(&pl, pc, why, sizeof why))
        fail_msg("%s", why);
    for (int k = 0; k < INST_KINDS; k++)
        c[k] = inst_kinds[k].conf;
    conf(c, set);
    for (int k = 0; k < INST_KINDS; k++)
        for (int i = 0, number = 0; i < pl.parts; i++) {
            struct inst in;
            if (strcmp(pl.part[i].kind, inst_kinds[k].part) != 0)
                continue;
            inst_init(&in, &inst_kinds[k], &c[k], &pl, i, number++, (uint64_t)pc->seed);
            judge(&in, &b, &worst, &widest);
        }
    print_message("seed %g \"%s\": largest error %.2f of the bound, widest bound %.2f of what is allowed\n",
                  pc->seed, set, worst, widest);
    free(b.r);
    plant_free(&pl);
}

static struct plant_conf ten_minutes(double seed, double load)
{
    struct plant_conf c;
    plant_defaults(&c);
    c.minutes = 10;
    c.gpus = 4;
    c.seed = seed;
    c.load = load;
    return c;
}

static void as_they_come(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 6; seed++) {
        struct plant_conf c = ten_minutes(seed, 0.15 * seed);
        every_instrument(&c, "");
    }
}

static void slow_and_late(void **state)
{
    (void)state;
    for (int seed = 11; seed <= 13; seed++) {
        struct plant_conf c = ten_minutes(seed, 0.5);
        every_instrument(&c, "bmc/window=30 bmc/period=10 bmc/lag=6 bmc/poll=5 bmc/quantum=13 pdu/period=5 "
                             "pdu/window=5 pdu/lag=3 gpu/jitter=0.02");
    }
}

static void better_than_their_clocks(void **state)
{
    (void)state;
    /* hardly any gain error, so that what is left is time */
    for (int seed = 21; seed <= 24; seed++) {
        struct plant_conf c = ten_minutes(seed, 0.4);
        every_instrument(&c, "gpu/tol=0.00005 rapl/tol=0.00005 bmc/tol=0.0001 pdu.power/tol=0.0001 "
                             "analyzer/tol=0.00002 analyzer/offset=0.2 analyzer/drift=300 gpu/drift=-4000 "
                             "bmc/drift=2000");
    }
}

/* Fans by hand: 1 - e^-1 of the way after one time constant; power is the cube of the speed. */
static void fans_lag(void **state)
{
    (void)state;
    struct plant_conf c = ten_minutes(1, 0);
    struct plant pl;
    char why[200];
    c.minutes = 0.5;
    c.cpu_own_w = 0;
    assert_int_equal(plant_make(&pl, &c, why, sizeof why), 0);
    int fans = -1;
    for (int i = 0; i < pl.parts; i++)
        fans = strcmp(pl.part[i].kind, "fans") == 0 ? i : fans;
    /* constant heat: they stand where they settle, from the first step on, but for the drives */
    double heat = 0, most = 700 * 4 + 2 * (95 + 110) + 240 + 140;
    for (int i = 0; i < pl.parts; i++)
        if (strcmp(pl.part[i].kind, "gpu") == 0 || strcmp(pl.part[i].kind, "package") == 0 ||
            strcmp(pl.part[i].kind, "dram") == 0 || strcmp(pl.part[i].kind, "nvswitch") == 0 ||
            strcmp(pl.part[i].kind, "nic") == 0 || strcmp(pl.part[i].kind, "storage") == 0 ||
            strcmp(pl.part[i].kind, "rail") == 0)
            heat += pl.part[i].p[0];
    double speed = 0.45 + 0.55 * heat / most;
    assert_true(fabs(pl.part[fans].p[0] - 1100 * speed * speed * speed) < 1e-6);
    plant_free(&pl);
}

/* 80 PLUS titanium, 230 V, by hand: 1000 W of 2000 W at 96 %: 41.67 W; 300 W lies half-way between 10 %
 * (22.22 W) and 20 % (25.53 W): 23.88 W. */
static void supply_table(void **state)
{
    (void)state;
    assert_true(fabs(plant_loss(&plant_grades[0], 2000, 1000) - 41.6667) < 1e-3);
    assert_true(fabs(plant_loss(&plant_grades[0], 2000, 300) - 23.877) < 1e-3);
    assert_true(fabs(plant_loss(&plant_grades[0], 2000, 0) - 12) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(supply_table),
        cmocka_unit_test(fans_lag),
        cmocka_unit_test(as_they_come),
        cmocka_unit_test(slow_and_late),
        cmocka_unit_test(better_than_their_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
