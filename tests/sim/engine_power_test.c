/* SPDX-License-Identifier: Apache-2.0 */
/* The energy that the engine counts is, to the last femtojoule, what the boards of sim gpu drew; settings of
 * the boards slow the engine; the state that a program reads through NVML follows. Virtual time. */
#include "sim/engine/power.h"
#include "sim/engine/sched.h"
#include "sim/simgpu_conf.h"
#include "sim/simgpu_drive.h"
#include "sim/simgpu_power.h"
#include "sim/simgpu_truth.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bed {
    char path[64];
    struct simgpu *s;
    struct sim_model m;
    struct sim_power p;
};

static int setup(void **state)
{
    static struct bed bed;
    struct bed *b = &bed;
    char why[512];
    memset(b, 0, sizeof *b);
    struct simgpu_conf *c = calloc(1, sizeof *c);
    snprintf(b->path, sizeof b->path, "/tmp/jm-engine-power.XXXXXX");
    int fd = mkstemp(b->path);
    if (!c || fd < 0)
        return -1;
    close(fd);
    simgpu_conf_init(c);
    int e = simgpu_conf_say(c, -1, "gpus", "8", "test", why, sizeof why);
    e = e ? e : simgpu_conf_say(c, -1, "virtual", "", "test", why, sizeof why);
    e = e ? e : simgpu_conf_say(c, -1, "waveform", "drive", "test", why, sizeof why);
    e = e ? e : simgpu_conf_apply(c, why, sizeof why);
    e = e ? e : simgpu_create(c, b->path, why, sizeof why);
    e = e ? e : simgpu_open(&b->s, b->path, why, sizeof why);
    e = e ? e
          : sim_model_parse((const char *)sim_models_tsv, sim_models_tsv_len, "70b-4xh100", &b->m, why,
                            sizeof why);
    static const int gpus[] = {2, 3, 5, 7};
    e = e ? e : sim_power_open(&b->p, &b->m, b->path, gpus, 4, NULL, simgpu_now(b->s), why, sizeof why);
    simgpu_conf_release(c);
    free(c);
    if (e)
        fprintf(stderr, "%s\n", why);
    *state = b;
    return e;
}

static int teardown(void **state)
{
    struct bed *b = *state;
    sim_power_close(&b->p, simgpu_now(b->s));
    simgpu_close(b->s);
    return unlink(b->path);
}

static void exact(struct bed *b, int64_t t)
{
    for (int i = 0; i < 4; i++) {
        simgpu_fj now, start;
        assert_int_equal(simgpu_energy(b->s, b->p.board[i].index, t, &now), 0);
        assert_int_equal(simgpu_energy(b->s, b->p.board[i].index, b->p.t_start, &start), 0);
        assert_true(now - start == sim_power_energy(&b->p, i, t));
    }
}

static void energies_are_the_same(void **state)
{
    struct bed *b = *state;
    int64_t t = b->p.t_start;
    sim_fj by_hand = 0;
    int64_t idle = llround(sim_model_loaded_idle_w(&b->m) * 1e6);
    for (int i = 0; i < 2000; i++) {
        struct sim_load l = {.prefill_tokens = (uint32_t)(sim_mix(1, (uint64_t)i) % 900),
                             .decode_seqs = (uint32_t)(i % 40)};
        l.decode_tokens = l.decode_seqs;
        struct sim_cost c;
        sim_model_cost(&b->m, &l, NULL, &c);
        int64_t gap = i % 3 ? 0 : (int64_t)(sim_mix(2, (uint64_t)i) % 5000000), ns = llround(c.seconds * 1e9);
        sim_power_step(&b->p, t + gap, t + gap + ns, &c);
        by_hand += (sim_fj)idle * gap + (sim_fj)llround(c.watts * 1e6) * ns;
        if (i % 5 == 0)
            exact(b,
                  t + gap + ns / 3); /* in the middle of a step, and a little later of the planned idling */
        t += gap + ns;
    }
    exact(b, t);
    exact(b, t + 123456789);
    assert_true(sim_power_energy(&b->p, 0, t) == by_hand);
    simgpu_advance_to(b->s, t);
    assert_true(fabs(simgpu_true_energy_j(b->s, 2, b->p.t_start, t) - (double)by_hand * 1e-15) < 1e-6);
    /* boards that nobody drives rest */
    assert_true(simgpu_true_energy_j(b->s, 0, b->p.t_start, t) <
                simgpu_true_energy_j(b->s, 2, b->p.t_start, t) / 2);
}

static void settings_reach_the_engine(void **state)
{
    struct bed *b = *state;
    struct sim_limits lim;
    sim_power_limits(&b->p, &lim);
    assert_true(lim.limit_w == 700 && lim.clock_mhz == 0);
    assert_int_equal(simgpu_set(b->s, 5, SIMGPU_SET_LIMIT, 400000000, 0), 0);
    assert_int_equal(simgpu_set(b->s, 3, SIMGPU_SET_GPU_CLOCKS, 210, 1200), 0);
    assert_int_equal(simgpu_set(b->s, 0, SIMGPU_SET_LIMIT, 200000000, 0), 0); /* of somebody else */
    simgpu_advance(b->s, 1);
    sim_power_limits(&b->p, &lim);
    assert_true(lim.limit_w == 400 && lim.clock_mhz == 1200);
    struct sim_load l = {.prefill_tokens = 4096};
    struct sim_cost free_run, held;
    sim_model_cost(&b->m, &l, NULL, &free_run);
    sim_model_cost(&b->m, &l, &lim, &held);
    assert_true(held.watts <= 400 && held.clock_mhz <= 1200 && held.seconds > free_run.seconds);
}

static void boards_show_what_happens(void **state)
{
    struct bed *b = *state;
    struct sim_load l = {.prefill_tokens = 4096};
    struct sim_cost c;
    int64_t t = b->p.board[0].until + 1000000000;
    sim_model_cost(&b->m, &l, NULL, &c);
    sim_power_step(&b->p, t, t + 1000000000, &c);
    const struct simgpu_gpu *g = &b->s->g[7], *other = &b->s->g[6];
    assert_int_equal(atomic_load(&g->util_gpu), 100);
    assert_int_equal(atomic_load(&g->sm_mhz), (int)c.clock_mhz);
    assert_int_equal(g->proc[0].pid, (uint32_t)getpid());
    /* weights 141.1e9 / 4 and a KV cache in what is left of 90 % of the memory */
    assert_true(g->proc[0].memory > 70000000000u && g->proc[0].memory < 78000000000u);
    assert_int_equal(other->proc[0].pid, 0);
    sim_power_idle(&b->p);
    assert_int_equal(atomic_load(&g->util_gpu), 0);
}

static void refusals(void **state)
{
    struct bed *b = *state;
    struct sim_power p;
    char why[256];
    static const int bad[] = {2, 3, 5, 99};
    assert_int_equal(sim_power_open(&p, &b->m, b->path, bad, 4, NULL, simgpu_now(b->s), why, sizeof why), -1);
    sim_power_close(&p, simgpu_now(b->s));
    assert_int_equal(sim_power_open(&p, &b->m, NULL, bad, 2, NULL, 0, why, sizeof why), -1);
    assert_int_equal(sim_power_open(&p, &b->m, "/nonexistent", bad, 0, NULL, 0, why, sizeof why), -1);
    sim_power_close(&p, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energies_are_the_same),
        cmocka_unit_test(boards_show_what_happens),
        cmocka_unit_test(settings_reach_the_engine),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
