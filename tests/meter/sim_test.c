/* SPDX-License-Identifier: Apache-2.0 */
/* The NVML meter on the simulated GPUs, in virtual time and against their exact energy. */
#include "simfix.h"

#include <math.h>

static void start_nvml(struct sim *s, struct fix *f, const char *lib, const char *lines)
{
    char path[128];
    snprintf(path, sizeof path, "gpu/%s", lib);
    start(s, f, path, lines);
    f->env.nvml_lib = s->lib;
}

static const struct jm_channel *named(struct fix *f, int gpu, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "gpu.%d.uuid", gpu);
    const char *uuid = jm_meter_fact(f->m, key);
    int i = uuid ? jm_meter_channel(f->m, uuid, name) : -1;
    return i < 0 ? NULL : &f->m->chan[i];
}

static struct jm_reading at(struct sim *s, int gpu, const char *name, int64_t t_ns)
{
    static struct jm_reading r[1024];
    assert_int_equal(simgpu_advance_to(s->s, t_ns), 0);
    size_t n = s->f->m->ops->read(s->f->m, &s->f->env.clock, JM_READ_EDGE, r);
    const struct jm_channel *c = named(s->f, gpu, name);
    for (size_t i = 0; i < n; i++)
        if (&s->f->m->chan[r[i].channel] == c)
            return r[i];
    fail_msg("no reading of %s", name);
    return r[0];
}

/* What each part can tell, and in which scope. */
static void profiles(void **state)
{
    static const struct {
        const char *conf, *energy, *average, *instant; /* scopes, NULL: no such channel */
        enum jm_domain_kind kind;
        enum jm_gauge_sem instant_sem;
    } rows[] = {
        {"profile h100", "gpu", "gpu", "gpu", JM_D_GPU, JM_G_PARTIAL},
        {"profile h200", "gpu", "gpu", "gpu", JM_D_GPU, JM_G_PARTIAL},
        {"profile gh200", "module", "module", "module", JM_D_MODULE, JM_G_PARTIAL},
        {"profile a100", "gpu", NULL, "gpu", JM_D_GPU, JM_G_PARTIAL},
        {"profile l40s", "gpu", "gpu", "gpu", JM_D_GPU, JM_G_BLOCK_MEAN},
        {"profile b200", "gpu", "gpu", "gpu", JM_D_GPU, JM_G_PARTIAL},
        {"profile gb10", "gpu", "gpu", "gpu", JM_D_GPU, JM_G_PARTIAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fix *f = *state;
        struct sim s;
        char conf[128];
        snprintf(conf, sizeof conf, "gpus 2\n%s\nwaveform const:300W", rows[i].conf);
        start_nvml(&s, f, "libnvidia-ml.so.1", conf);
        simgpu_advance(s.s, 5 * JM_NS_PER_S);
        jm_domain_tree_release(&f->tree);
        fix_open(f, &jm_meter_nvml);
        assert_true(f->m->simulated);
        const struct jm_channel *e = named(f, 1, "energy"), *a = named(f, 1, "power.average"),
                                *p = named(f, 1, "power.instant");
        if (!e || strcmp(e->scope, rows[i].energy) != 0 || (!a) != (!rows[i].average) || !p ||
            strcmp(p->scope, rows[i].instant) != 0 || f->tree.d[e->domain].kind != rows[i].kind)
            fail_msg("%s is not told right", rows[i].conf);
        assert_int_equal(p->sem, rows[i].instant_sem);
        assert_int_equal(e->provenance, JM_P_SIMULATED);
        stop(&s);
    }
}

/* The counter, between two of its refreshes far apart, is the truth to a refresh's worth of rounding: 1 mJ.
 */
static void counter_is_the_truth(void **state)
{
    struct fix *f = *state;
    struct sim s;
    start_nvml(&s, f, "libnvidia-ml.so.1",
               "gpus 8\nprofile h100\nwaveform cycle:700W@4s,300W@11s\ncall-cost 20us");
    simgpu_advance(s.s, 3 * JM_NS_PER_S);
    fix_open(f, &jm_meter_nvml);
    int64_t t0 = simgpu_now(s.s);
    for (int gpu = 0; gpu < 8; gpu++) {
        /* poll until it moves, twice: the moments of two refreshes */
        struct jm_reading a = at(&s, gpu, "energy", t0), b = a;
        int64_t from = 0, until = 0;
        while ((b = at(&s, gpu, "energy", simgpu_now(s.s) + JM_NS_PER_MS)).value == a.value)
            ;
        from = b.t0;
        int64_t v0 = b.value, t1 = from + 20 * JM_NS_PER_S;
        a = at(&s, gpu, "energy", t1);
        while ((b = at(&s, gpu, "energy", simgpu_now(s.s) + JM_NS_PER_MS)).value == a.value)
            ;
        until = b.t0;
        double measured = (double)(b.value - v0) / 1000, truth = simgpu_true_energy_j(s.s, gpu, from, until);
        /* each end lies within 1 ms (plus the call) of its refresh, at 700 W at most */
        if (!(fabs(measured - truth) < 2 * 700 * 1.4e-3))
            fail_msg("GPU %d: %.3f J, truth %.3f J", gpu, measured, truth);
    }
    stop(&s);
}

static void faults(void **state)
{
    struct fix *f = *state;
    struct sim s;
    start_nvml(&s, f, "libnvidia-ml.so.1",
               "gpus 3\nprofile h100\nwaveform const:300W\nfault kind=lost,gpu=0,at=10s\n"
               "fault kind=entry,gpu=1,what=average,at=10s,code=999\nfault "
               "kind=value,gpu=2,what=instant,at=10s,value=563212W");
    simgpu_advance(s.s, 3 * JM_NS_PER_S);
    fix_open(f, &jm_meter_nvml);
    int64_t t = s.s->h->start_ns;
    assert_int_equal(at(&s, 0, "energy", t + 5 * JM_NS_PER_S).status, JM_S_OK);
    assert_int_equal(at(&s, 0, "energy", t + 11 * JM_NS_PER_S).status, JM_S_LOST);
    assert_int_equal(at(&s, 1, "power.average", t + 11 * JM_NS_PER_S).status, JM_S_GAP);
    assert_int_equal(at(&s, 1, "energy", t + 11 * JM_NS_PER_S).status, JM_S_OK);
    assert_int_equal(at(&s, 2, "power.instant", t + 11 * JM_NS_PER_S).status, JM_S_IMPLAUSIBLE);
    assert_true(f->m->alive);
    stop(&s);
}

/* papi PR 525, pyJoules#17: a window shorter than the period shows no energy, so the period must be known. */
static void periods(void **state)
{
    struct fix *f = *state;
    struct sim s;
    size_t moved = 0;
    start_nvml(
        &s, f, "libnvidia-ml.so.1",
        "gpus 2\nprofile h100\nwaveform cycle:700W@130ms,300W@170ms\ncall-cost 30us\ngpu 1 refresh 20ms");
    simgpu_advance(s.s, 3 * JM_NS_PER_S);
    fix_open(f, &jm_meter_nvml);
    assert_int_equal(jm_meter_measure_periods(f->m, &f->env.clock, 2 * JM_NS_PER_S, &moved, &f->err), 0);
    assert_true(moved >= 4);
    static const int want_ms[] = {100, 20};
    for (int gpu = 0; gpu < 2; gpu++) {
        const struct jm_channel *c = named(f, gpu, "energy");
        double ms = (double)c->period_ns / 1e6;
        assert_true(c->period_measured);
        if (fabs(ms - want_ms[gpu]) > 0.03 * want_ms[gpu])
            fail_msg("GPU %d: %.2f ms", gpu, ms);
    }
    stop(&s);
}

/* A library of before CUDA 12.2: no fields 185 and 186, and less else. */
static void old_driver(void **state)
{
    struct fix *f = *state;
    struct sim s;
    start_nvml(&s, f, "libnvidia-ml-old.so.1",
               "gpus 1\nprofile a100\nwaveform const:250W\nprocess pid=4242,gpu=0");
    simgpu_advance(s.s, 3 * JM_NS_PER_S);
    fix_open(f, &jm_meter_nvml);
    const struct jm_channel *p = named(f, 0, "power.usage");
    assert_non_null(p);
    assert_int_equal(p->sem, JM_G_PARTIAL);
    assert_int_equal(at(&s, 0, "power.usage", simgpu_now(s.s)).value, 250000);
    bool used;
    assert_int_equal(f->m->ops->find_process(f->m, (int64_t[]){4242}, 1, &used, 1), 1);
    assert_int_equal(f->m->ops->find_process(f->m, (int64_t[]){4243}, 1, &used, 1), 0);
    stop(&s);
}

static void mig(void **state)
{
    struct fix *f = *state;
    struct sim s;
    start_nvml(&s, f, "libnvidia-ml.so.1",
               "gpus 2\nprofile h100\nwaveform const:295W\ngpu 1 mig 1g.10gb+1g.10gb+2g.20gb");
    simgpu_advance(s.s, 3 * JM_NS_PER_S);
    f->env.devices = s.s->g[1].mig[1].uuid;
    fix_open(f, &jm_meter_nvml);
    assert_null(jm_meter_fact(f->m, "gpu.0.uuid"));
    assert_non_null(named(f, 1, "energy"));
    assert_null(named(f, 1, "util.gpu"));
    stop(&s);
}

static void processes(void **state)
{
    struct fix *f = *state;
    struct sim s;
    bool used[3];
    start_nvml(&s, f, "libnvidia-ml.so.1",
               "gpus 3\nprofile h100\nwaveform const:295W\nprocess pid=4242,gpu=1\nprocess pid=4243,gpu=2\n"
               "fault kind=stride,gpu=2");
    tree_put(&f->t, "4242/stat", "4242 (engine) S 4000 1 1");
    tree_put(&f->t, "4243/stat", "4243 (engine) S 4000 1 1");
    fix_open(f, &jm_meter_nvml);
    assert_int_equal(f->m->ops->find_process(f->m, (int64_t[]){4000}, 1, used, 3), 2);
    assert_true(!used[0] && used[1] && used[2]);
    assert_int_equal(f->m->ops->find_process(f->m, (int64_t[]){4243}, 1, used, 3), 1);
    assert_true(!used[0] && !used[1] && used[2]);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(profiles), T(counter_is_the_truth), T(faults), T(periods), T(old_driver), T(mig), T(processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
