/* SPDX-License-Identifier: Apache-2.0 */
/* The DCGM meter on the simulated host engine, in virtual time and against the GPUs' exact energy. Of a real
 * libdcgm only the documented interface is known here: see docs/instruments.md. */
#include "simfix.h"

#include <math.h>

#define LIB "gpu/libdcgm.so.4"

static void begin(struct sim *s, struct fix *f, const char *lines)
{
    start(s, f, LIB, lines);
    f->env.dcgm_lib = s->lib;
    f->env.nvml_lib = "/nonexistent/libnvidia-ml.so.1";
    jm_domain_tree_release(&f->tree);
}

static int chan(const struct fix *f, const char *device, const char *name)
{
    for (size_t i = 0; i < f->m->n_chan; i++)
        if (strcmp(f->m->chan[i].name, name) == 0 && strstr(f->m->chan[i].device, device))
            return (int)i;
    return -1;
}

static const char *uuid(const struct fix *f, int gpu)
{
    char key[32];
    snprintf(key, sizeof key, "gpu.%d.uuid", gpu);
    const char *u = jm_meter_fact(f->m, key);
    return u ? u : "none";
}

/* The reading of a channel at t; false: there was none. */
static bool look(struct sim *s, int64_t t, int ch, struct jm_reading *out)
{
    static struct jm_reading r[1024];
    assert_int_equal(simgpu_advance_to(s->s, t), 0);
    size_t n = s->f->m->ops->read(s->f->m, &s->f->env.clock, JM_READ_ALL, r);
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        assert_true(r[i].channel < s->f->m->n_chan && r[i].t0 <= r[i].t1 && r[i].t1 <= simgpu_now(s->s));
        if (r[i].status != JM_S_OK)
            assert_int_equal(r[i].value, 0); /* missing is never a value */
        if ((int)r[i].channel == ch) {
            *out = r[i];
            found = true;
        }
    }
    return found;
}

static int status_at(struct sim *s, int64_t t, int ch)
{
    struct jm_reading r;
    return look(s, t, ch, &r) ? r.status : -1;
}

static void units_and_places(void **state)
{
    struct fix *f = *state;
    struct sim s;
    begin(&s, f, "gpus 2\nprofile h100\nwaveform const:300W\nrefresh 0ms");
    simgpu_advance(s.s, 5 * JM_NS_PER_S);
    fix_open(f, &jm_meter_dcgm);
    assert_true(f->m->simulated);
    int e = chan(f, uuid(f, 1), "energy"), p = chan(f, uuid(f, 1), "power.usage"),
        raw = chan(f, uuid(f, 1), "power.instant"), lim = chan(f, uuid(f, 1), "power.limit");
    assert_true(e >= 0 && p >= 0 && raw >= 0 && lim >= 0);
    const struct jm_channel *c = f->m->chan;
    assert_int_equal(c[e].unit, JM_U_J);
    assert_int_equal(c[e].scale10, -3);
    assert_int_equal(c[e].provenance, JM_P_SIMULATED);
    assert_int_equal(f->tree.d[c[e].domain].kind, JM_D_GPU);
    assert_string_equal(f->tree.d[c[e].domain].key, uuid(f, 1));
    for (size_t i = 0; i < f->m->n_chan; i++)
        assert_int_equal(c[i].flags & JM_CHF_MIRROR, 0);
    assert_int_equal(c[p].sem, JM_G_TRAILING_MEAN); /* GetPowerUsage of Hopper: the last second */
    struct jm_reading r;
    assert_true(look(&s, simgpu_now(s.s) + JM_NS_PER_S, p, &r));
    assert_int_equal(r.value, 300000);
    assert_true(look(&s, simgpu_now(s.s) + JM_NS_PER_S, lim, &r));
    assert_int_equal(r.value, 700000);
    assert_null(strstr(jm_meter_fact(f->m, "dcgm.watched"), "100 of")); /* no profiling fields */
    assert_string_equal(jm_meter_fact(f->m, "dcgm.version"), "4.6.0");
    stop(&s);
}

/* Beside NVML the same joules are a mirror of the same domain. */
static void mirror_beside_nvml(void **state)
{
    struct fix *f = *state;
    struct sim s;
    char nvml[600];
    static struct jm_reading r[256];
    const char *build = getenv("JM_BUILD");
    begin(&s, f, "gpus 2\nprofile h100\nwaveform const:300W");
    simgpu_advance(s.s, 5 * JM_NS_PER_S);
    snprintf(nvml, sizeof nvml, "%s/sim/gpu/libnvidia-ml.so.1", build ? build : ".");
    f->env.nvml_lib = nvml;
    fix_open(f, &jm_meter_nvml);
    struct jm_meter *first = f->m;
    size_t domains = f->tree.n;
    fix_open(f, &jm_meter_dcgm);
    assert_int_equal(f->tree.n, domains);
    size_t mirrors = 0;
    for (size_t i = 0; i < f->m->n_chan; i++) {
        const struct jm_channel *c = &f->m->chan[i];
        int same = jm_meter_channel(first, c->device, "energy");
        if (same < 0)
            continue; /* the clock */
        assert_true(c->flags & JM_CHF_MIRROR);
        assert_int_equal(c->domain, first->chan[same].domain);
        mirrors++;
    }
    assert_int_equal(mirrors, 8);
    first->ops->read(first, &f->env.clock, JM_READ_ALL, r);
    first->ops->close(first);
    stop(&s);
}

/* With a counter that is always fresh, energy between the stamps of two readings is the truth to the
 * counter's 1 mJ at each end, however old a value is when it is read, and whatever the host engine's clock
 * says. */
static void energy_is_the_truth(void **state)
{
    for (int64_t ahead_s = 0; ahead_s <= 3; ahead_s += 3) {
        struct fix *f = *state;
        struct sim s;
        begin(&s, f, "gpus 4\nprofile h100\nwaveform cycle:700W@4s,300W@11s\nrefresh 0ms");
        f->vc.real_offset -= ahead_s * JM_NS_PER_S; /* the host engine's clock is ahead */
        simgpu_advance(s.s, 3 * JM_NS_PER_S);
        fix_open(f, &jm_meter_dcgm);
        for (int gpu = 0; gpu < 4; gpu++) {
            struct jm_reading a, b;
            int e = chan(f, uuid(f, gpu), "energy"), clock = chan(f, "dcgm", "clock.offset");
            int64_t t = simgpu_now(s.s);
            assert_true(look(&s, t + 537 * JM_NS_PER_MS, e, &a));
            /* 3700 s: longer than the hour that DCGM's statistics cover */
            assert_true(look(&s, t + (gpu ? 20 : 3700) * JM_NS_PER_S + 271 * JM_NS_PER_MS, e, &b));
            double measured = (double)(b.value - a.value) / 1e3,
                   truth = simgpu_true_energy_j(s.s, gpu, a.t0, b.t0);
            assert_int_equal(a.t0, a.t1);
            assert_true(b.t0 >= simgpu_now(s.s) - 100 * JM_NS_PER_MS);
            if (!(fabs(measured - truth) < 0.0021))
                fail_msg("GPU %d, clock %d s ahead: %.4f J, truth %.4f J", gpu, (int)ahead_s, measured,
                         truth);
            struct jm_reading r;
            if (look(&s, simgpu_now(s.s) + 61 * JM_NS_PER_S, clock, &r))
                assert_true(llabs(r.value - ahead_s * JM_NS_PER_S) <= 2 * JM_NS_PER_US);
        }
        stop(&s);
    }
}

/* Around the edges of a window the driver is asked itself: the counter alone in bursts, and no cached value
 * after it that is older. */
static void edges_are_live(void **state)
{
    struct fix *f = *state;
    struct sim s;
    struct jm_reading r[64], a;
    begin(&s, f, "gpus 2\nprofile h100\nwaveform cycle:700W@4s,300W@11s\nrefresh 0ms");
    simgpu_advance(s.s, 3 * JM_NS_PER_S);
    fix_open(f, &jm_meter_dcgm);
    int e = chan(f, uuid(f, 1), "energy");
    assert_true(look(&s, simgpu_now(s.s) + JM_NS_PER_S, e, &a));
    simgpu_advance(s.s, 50 * JM_NS_PER_MS);
    assert_int_equal(f->m->ops->read(f->m, &f->env.clock, JM_READ_COUNTER, r), 2);
    assert_int_equal(r[1].channel, e);
    assert_int_equal(r[1].t0, simgpu_now(s.s));
    assert_true(fabs((double)(r[1].value - a.value) / 1e3 - simgpu_true_energy_j(s.s, 1, a.t0, r[1].t0)) <
                0.0021);
    assert_int_equal(f->m->ops->read(f->m, &f->env.clock, JM_READ_EDGE, r), 6);
    assert_int_equal(status_at(&s, simgpu_now(s.s) + 30 * JM_NS_PER_MS, e), -1);
    assert_int_equal(status_at(&s, simgpu_now(s.s) + 90 * JM_NS_PER_MS, e), JM_S_OK);
    stop(&s);
}

/* slurm-job-exporter issues 30 and 53, gpu-monitoring-tools issue 92: blanks taken for values. */
static void blanks(void **state)
{
    struct fix *f = *state;
    struct sim s;
    begin(
        &s, f,
        "gpus 3\nprofile h100\nwaveform const:300W\nfault kind=not_supported,what=dcgm,gpu=0,at=10s,for=5s\n"
        "fault kind=no_permission,what=dcgm,gpu=1,at=10s,for=5s\nfault kind=lost,gpu=2,at=10s,for=5s");
    simgpu_advance(s.s, 5 * JM_NS_PER_S);
    fix_open(f, &jm_meter_dcgm);
    int64_t t0 = s.s->h->start_ns;
    static const int want[] = {JM_S_UNSUPPORTED, JM_S_DENIED, JM_S_ABSENT};
    for (int gpu = 0; gpu < 3; gpu++)
        for (int k = 0; k < 3; k++) {
            static const char *const names[] = {"energy", "power.usage", "power.limit"};
            int c = chan(f, uuid(f, gpu), names[k]);
            assert_int_equal(status_at(&s, t0 + (7 * JM_NS_PER_S + (gpu * 3 + k) * JM_NS_PER_S / 5), c),
                             JM_S_OK);
        }
    for (int gpu = 0; gpu < 3; gpu++)
        assert_int_equal(status_at(&s, t0 + 12 * JM_NS_PER_S + gpu, chan(f, uuid(f, gpu), "energy")),
                         want[gpu]);
    for (int gpu = 0; gpu < 3; gpu++)
        assert_int_equal(status_at(&s, t0 + (17 + gpu) * JM_NS_PER_S, chan(f, uuid(f, gpu), "energy")),
                         JM_S_OK);
    stop(&s);
}

/* No value twice, and none that the host engine has not renewed for two seconds. */
static void stale(void **state)
{
    struct fix *f = *state;
    struct sim s;
    struct jm_reading r;
    begin(&s, f, "gpus 1\nprofile h100\nwaveform const:300W\nfault kind=frozen,what=dcgm,at=10s,for=8s");
    simgpu_advance(s.s, 5 * JM_NS_PER_S);
    fix_open(f, &jm_meter_dcgm);
    int e = chan(f, uuid(f, 0), "energy");
    int64_t t0 = s.s->h->start_ns;
    assert_int_equal(status_at(&s, t0 + 6 * JM_NS_PER_S, e), JM_S_OK);
    assert_int_equal(status_at(&s, t0 + 6 * JM_NS_PER_S + 30 * JM_NS_PER_MS, e), -1);
    assert_true(look(&s, t0 + 11 * JM_NS_PER_S, e, &r)); /* what was read before the freeze */
    assert_int_equal(r.status, JM_S_OK);
    assert_true(r.t1 <= t0 + 10 * JM_NS_PER_S);
    assert_int_equal(status_at(&s, t0 + 11 * JM_NS_PER_S + 500 * JM_NS_PER_MS, e), -1);
    assert_int_equal(status_at(&s, t0 + 14 * JM_NS_PER_S, e), JM_S_STALE);
    assert_int_equal(status_at(&s, t0 + 19 * JM_NS_PER_S, e), JM_S_OK);
    stop(&s);
}

/* A host engine that went away, or forgot its watches, is asked anew; the counter is the driver's and goes
 * on.
 */
static void engine_lost(void **state)
{
    static const char *const faults[] = {"lost,what=dcgm", "error,what=dcgm,code=16"};
    for (size_t i = 0; i < 2; i++) {
        struct fix *f = *state;
        struct sim s;
        struct jm_reading a, b;
        char conf[200];
        snprintf(conf, sizeof conf,
                 "gpus 1\nprofile h100\nwaveform cycle:700W@4s,300W@11s\nrefresh 0ms\n"
                 "fault kind=%s,at=10s,for=8s",
                 faults[i]);
        begin(&s, f, conf);
        simgpu_advance(s.s, 5 * JM_NS_PER_S);
        fix_open(f, &jm_meter_dcgm);
        int e = chan(f, uuid(f, 0), "energy");
        int64_t t0 = s.s->h->start_ns;
        assert_true(look(&s, t0 + 9 * JM_NS_PER_S, e, &a) && a.status == JM_S_OK);
        for (int64_t t = 11; t < 18; t++)
            assert_int_equal(status_at(&s, t0 + t * JM_NS_PER_S, e), JM_S_GAP);
        for (int64_t t = 18; t < 24; t++)
            status_at(&s, t0 + t * JM_NS_PER_S, e);
        assert_true(look(&s, t0 + 30 * JM_NS_PER_S, e, &b) && b.status == JM_S_OK);
        double measured = (double)(b.value - a.value) / 1e3;
        assert_true(fabs(measured - simgpu_true_energy_j(s.s, 0, a.t0, b.t0)) < 0.0021);
        stop(&s);
    }
}

/* dcgm-exporter issues 257, 353, 561: each instance shows its whole GPU. */
static void mig_counts_once(void **state)
{
    struct fix *f = *state;
    struct sim s;
    begin(&s, f, "gpus 2\nprofile h100\nwaveform const:300W\ngpu 0 mig 3g.40gb+3g.40gb+1g.10gb");
    simgpu_advance(s.s, 5 * JM_NS_PER_S);
    fix_open(f, &jm_meter_dcgm);
    size_t energies = 0;
    for (size_t i = 0; i < f->m->n_chan; i++)
        energies += strcmp(f->m->chan[i].name, "energy") == 0;
    assert_int_equal(energies, 2);
    assert_non_null(strstr(jm_meter_fact(f->m, "dcgm.mig"), "3 instances"));
    stop(&s);
}

/* A GH200's counter is its whole module's; the CPU rail is part of the Grace, and is not the module. Eight
 * boards have NVSwitches, whose fields are integers. */
static void grace_and_switches(void **state)
{
    struct fix *f = *state;
    struct sim s;
    begin(&s, f, "gpus 1\nprofile gh200\nwaveform const:300W");
    simgpu_advance(s.s, 5 * JM_NS_PER_S);
    fix_open(f, &jm_meter_dcgm);
    int e = chan(f, uuid(f, 0), "energy"), cpu = chan(f, "grace 0", "power"), mod = -1;
    assert_true(e >= 0 && cpu >= 0);
    assert_int_equal(f->tree.d[f->m->chan[e].domain].kind, JM_D_MODULE);
    assert_int_equal(f->tree.d[f->m->chan[cpu].domain].kind, JM_D_CPU);
    assert_string_equal(f->tree.d[f->m->chan[cpu].domain].key, "cpu-0");
    assert_true(jm_domain_contains(&f->tree, f->m->chan[e].domain, f->m->chan[cpu].domain));
    for (size_t i = 0; i < f->m->n_chan; i++)
        if (strstr(f->m->chan[i].source, "1133"))
            mod = (int)i;
    assert_true(mod >= 0 && f->m->chan[mod].domain == f->m->chan[e].domain);
    assert_true(f->m->chan[mod].flags & JM_CHF_PARTOF);
    stop(&s);
    begin(&s, f, "gpus 8\nprofile h100\nwaveform const:300W\nfault kind=not_supported,what=instant");
    simgpu_advance(s.s, 5 * JM_NS_PER_S);
    fix_open(f, &jm_meter_dcgm);
    struct jm_reading r;
    int vdd = chan(f, "nvswitch 3 vdd", "power.vdd");
    assert_true(vdd >= 0 && look(&s, simgpu_now(s.s) + JM_NS_PER_S, vdd, &r));
    assert_int_equal(r.value, 38000);
    assert_true(chan(f, uuid(f, 7), "power.instant") < 0); /* field 157: 0 where it is not supported */
    stop(&s);
}

static void selection(void **state)
{
    struct fix *f = *state;
    struct sim s;
    begin(&s, f, "gpus 4\nprofile h100\nwaveform const:300W");
    simgpu_advance(s.s, JM_NS_PER_S);
    f->env.devices = "2,0";
    fix_open(f, &jm_meter_dcgm);
    assert_true(chan(f, uuid(f, 0), "energy") >= 0 && chan(f, uuid(f, 2), "energy") >= 0);
    assert_null(jm_meter_fact(f->m, "gpu.1.uuid"));
    f->env.devices = NULL;
    stop(&s);
}

static void says_why_not(void **state)
{
    static const struct {
        const char *fault;
        enum jm_probe_state state;
        const char *reason, *mend;
    } rows[] = {
        {"", JM_PROBE_OK, "2 GPUs", ""},
        {"fault kind=init,what=dcgm,code=21", JM_PROBE_ABSENT, "no connection to host9:5555", "nvidia-dcgm"},
        {"fault kind=init,what=dcgm,code=12", JM_PROBE_UNSUPPORTED, "different versions", "--dcgm-lib"},
        {"fault kind=init,what=dcgm,code=17", JM_PROBE_DENIED, "no permission", "nvidia-dcgm"},
    };
    struct fix *f = *state;
    struct sim s;
    struct jm_probe p;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char conf[200];
        snprintf(conf, sizeof conf, "gpus 2\nprofile h100\n%s", rows[i].fault);
        begin(&s, f, conf);
        f->env.dcgm = "host9:5555";
        p = fix_probe(f, &jm_meter_dcgm);
        if (p.state != rows[i].state || !strstr(p.reason, rows[i].reason) || !strstr(p.mend, rows[i].mend))
            fail_msg("%s: %d %s | %s", rows[i].fault, p.state, p.reason, p.mend);
        if (i)
            assert_true(jm_meter_dcgm.open(&f->env, &f->tree, &f->m, &f->err) < 0);
        stop(&s);
    }
    begin(&s, f, "gpus 2\nprofile h100\nfault kind=no_permission,what=dcgm");
    f->env.dcgm = "embedded";
    assert_int_equal(jm_meter_dcgm.open(&f->env, &f->tree, &f->m, &f->err), JM_EDENIED);
    f->env.dcgm = "http://h:9400/metrics";
    assert_int_equal(jm_meter_dcgm.open(&f->env, &f->tree, &f->m, &f->err), JM_EUSAGE);
    assert_non_null(strstr(f->err.text, "dcgm-exporter"));
    f->env.dcgm = NULL;
    assert_int_equal(fix_probe(f, &jm_meter_dcgm).state, JM_PROBE_OFF);
    char other[600];
    const char *build = getenv("JM_BUILD");
    snprintf(other, sizeof other, "%s/sim/gpu/libnvidia-ml.so.1", build ? build : ".");
    f->env.dcgm_lib = other;
    p = fix_probe(f, &jm_meter_dcgm);
    assert_int_equal(p.state, JM_PROBE_UNSUPPORTED);
    assert_non_null(strstr(p.reason, "lacks dcgmInit"));
    f->env.dcgm_lib = "/nonexistent/libdcgm.so.4";
    p = fix_probe(f, &jm_meter_dcgm);
    assert_int_equal(p.state, JM_PROBE_ABSENT);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(units_and_places),
        T(mirror_beside_nvml),
        T(energy_is_the_truth),
        T(edges_are_live),
        T(blanks),
        T(stale),
        T(engine_lost),
        T(mig_counts_once),
        T(grace_and_switches),
        T(selection),
        T(says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
