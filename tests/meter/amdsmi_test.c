/* SPDX-License-Identifier: Apache-2.0 */
/* The meter amdsmi on the simulated libraries of AMD, against exact energies; the forms of power_info. */
#include "simfix.h"

#include <math.h>
#include <unistd.h>

#include "meter/amdsmi.h"

static void amd(struct sim *s, struct fix *f, const char *lib, const char *lines)
{
    char path[128];
    snprintf(path, sizeof path, "accel/%s", lib);
    start(s, f, path, lines);
    f->env.amdsmi_lib = s->lib;
    simgpu_advance(s->s, 3 * JM_NS_PER_S);
}

static const struct jm_channel *find(struct fix *f, int gpu, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.amd%d.uuid", gpu);
    const char *uuid = jm_meter_fact(f->m, key);
    int i = uuid ? jm_meter_channel(f->m, uuid, name) : -1;
    return i < 0 ? NULL : &f->m->chan[i];
}

static struct jm_reading look(struct sim *s, int gpu, const char *name)
{
    static struct jm_reading r[64];
    const struct jm_channel *c = find(s->f, gpu, name);
    size_t n = s->f->m->ops->read(s->f->m, &s->f->env.clock, JM_READ_ALL, r);
    for (size_t i = 0; i < n; i++)
        if (&s->f->m->chan[r[i].channel] == c)
            return r[i];
    fail_msg("no reading of %s of GPU %d", name, gpu);
    return r[0];
}

/* Both ends lie within a refresh of 1 ms (at 700 W at most: 0.7 J), and a count is 15 uJ. With 15.3 uJ a
 * count it would be 0.27 % of 10 kJ, 27 J, more. */
static void energy_is_the_truth(void **state)
{
    static const struct {
        const char *lib, *power;
    } libs[] = {{"libamd_smi.so", "power.current"},
                {"libamd_smi-24.so", "power.current"},
                {"librocm_smi64.so", "power.current"}};
    for (size_t i = 0; i < sizeof libs / sizeof *libs; i++) {
        struct fix *f = *state;
        struct sim s;
        amd(&s, f, libs[i].lib, "gpus 2\nprofile mi300x\nwaveform cycle:700W@4s,300W@11s\ncall-cost 20us");
        jm_domain_tree_release(&f->tree);
        fix_open(f, &jm_meter_amdsmi);
        assert_true(f->m->simulated);
        const struct jm_channel *c = find(f, 1, "energy"), *p = find(f, 1, libs[i].power);
        assert_non_null(c);
        assert_non_null(p);
        assert_true(c->scale2 == -16 && c->scale10 == 0 && c->modulus == 0 && c->flags == JM_CHF_EDGE);
        assert_true(p->sem == JM_G_INSTANT && p->sane_max == 1500);
        assert_int_equal(p->provenance, JM_P_SIMULATED);
        assert_null(find(f, 1, "power.average"));
        assert_non_null(find(f, 1, "power.limit"));
        assert_int_equal(look(&s, 1, "power.limit").value, 750000);
        struct jm_reading a = look(&s, 1, "energy");
        int64_t t0 = a.t0;
        simgpu_advance(s.s, 25 * JM_NS_PER_S);
        struct jm_reading b = look(&s, 1, "energy"), w = look(&s, 1, libs[i].power);
        double measured = jm_channel_value(c, b.value - a.value),
               truth = simgpu_true_energy_j(s.s, 1, t0, b.t0);
        assert_true(a.status == JM_S_OK && b.status == JM_S_OK && truth > 9000);
        if (!(fabs(measured - truth) < 2 * 0.7 * 1.1))
            fail_msg("%s: %.3f J, truth %.3f J", libs[i].lib, measured, truth);
        assert_true(w.status == JM_S_OK && (w.value == 300 || w.value == 700));
        assert_string_equal(f->tree.d[c->domain].key, jm_meter_fact(f->m, "gpu.amd1.pci"));
        stop(&s);
    }
}

/* zeus PR 203, codecarbon#1097: two dies, of which the even one shows both. */
static void pairs_of_dies(void **state)
{
    struct fix *f = *state;
    struct sim s;
    amd(&s, f, "libamd_smi.so", "gpus 4\nprofile mi250x\nwaveform const:250W");
    fix_open(f, &jm_meter_amdsmi);
    assert_null(find(f, 1, "energy"));
    assert_null(find(f, 3, "power.average"));
    assert_non_null(strstr(jm_meter_fact(f->m, "amdsmi.left_out.1"), "second die"));
    assert_int_equal(look(&s, 2, "power.average").value, 500);
    assert_int_equal(find(f, 2, "power.average")->sem, JM_G_TRAILING_MEAN);
    size_t gpus = 0;
    for (int d = -1; (d = jm_domain_next(&f->tree, JM_D_GPU, d)) >= 0;)
        gpus++;
    assert_int_equal(gpus, 2);
    struct jm_reading a = look(&s, 0, "energy");
    simgpu_advance(s.s, 10 * JM_NS_PER_S);
    struct jm_reading b = look(&s, 0, "energy");
    /* 2 x 250 W x 10 s, each end within 1 ms and the calls between */
    assert_true(fabs(jm_channel_value(find(f, 0, "energy"), b.value - a.value) - 5000) < 2);
    stop(&s);
}

/* A board in eight partitions (CPX) repeats itself eight times. */
static void partitions_count_once(void **state)
{
    struct fix *f = *state;
    struct sim s;
    setenv("JOULEMARK_SIM_PARTITIONS", "8", 1);
    amd(&s, f, "libamd_smi.so", "gpus 2\nprofile mi300x\nwaveform const:250W");
    fix_open(f, &jm_meter_amdsmi);
    unsetenv("JOULEMARK_SIM_PARTITIONS");
    assert_int_equal(f->m->n_chan, 2 * 3);
    assert_non_null(strstr(jm_meter_fact(f->m, "amdsmi.left_out.7"), "partition"));
    assert_null(jm_meter_fact(f->m, "amdsmi.left_out.8"));
    stop(&s);
}

/* The same boards by sysfs: one domain each, and the library only by name. */
static void mirrors_the_sysfs_meter(void **state)
{
    struct fix *f = *state;
    struct sim s;
    char path[512], target[512];
    amd(&s, f, "libamd_smi.so", "gpus 1\nprofile mi300x\nwaveform const:250W");
    assert_int_equal(fix_probe(f, &jm_meter_amdsmi).state, JM_PROBE_OK);
    snprintf(target, sizeof target, "%04x:%02x:%02x.0", s.s->g[0].pci_domain, s.s->g[0].pci_bus,
             s.s->g[0].pci_device);
    snprintf(path, sizeof path, "devices/%s/x", target);
    tree_put(&f->t, path, "x");
    tree_put(&f->t, "class/hwmon/hwmon0/name", "amdgpu");
    tree_put(&f->t, "class/hwmon/hwmon0/power1_input", "250000000");
    snprintf(path, sizeof path, "%s/class/hwmon/hwmon0/device", f->t.root);
    snprintf(target, sizeof target, "../../../devices/%04x:%02x:%02x.0", s.s->g[0].pci_domain,
             s.s->g[0].pci_bus, s.s->g[0].pci_device);
    assert_int_equal(symlink(target, path), 0);
    struct jm_probe p = fix_probe(f, &jm_meter_amdsmi);
    assert_int_equal(p.state, JM_PROBE_OFF);
    assert_non_null(strstr(p.reason, "amdgpu"));
    fix_open(f, &jm_meter_amdgpu);
    int domain = f->m->chan[0].domain;
    f->m->ops->close(f->m);
    fix_open(f, &jm_meter_amdsmi);
    assert_int_equal(find(f, 0, "energy")->domain, domain);
    stop(&s);
}

/* A Radeon's counter: 32 bits, no sure unit. It wraps, and is never added. */
static void radeon(void **state)
{
    struct fix *f = *state;
    struct sim s;
    /* 65,000 J before the start: at 300 W it wraps (65,536 J) within 2 s */
    amd(&s, f, "libamd_smi.so", "gpus 1\nprofile rx7900\nwaveform const:300W\nbase 64000J");
    fix_open(f, &jm_meter_amdsmi);
    const struct jm_channel *c = find(f, 0, "energy");
    assert_true(c->modulus == (uint64_t)1 << 32 && (c->flags & JM_CHF_MIRROR) && strstr(c->source, "unsure"));
    assert_false(find(f, 0, "power.average")->flags & JM_CHF_MIRROR);
    assert_true(f->m->max_period_ns == 60 * JM_NS_PER_S);
    struct jm_reading a = look(&s, 0, "energy");
    simgpu_advance(s.s, 4 * JM_NS_PER_S);
    struct jm_reading b = look(&s, 0, "energy");
    assert_true(a.value > b.value); /* what compute undoes by the modulus */
    double j = jm_channel_value(c, b.value + (int64_t)c->modulus - a.value);
    assert_true(fabs(j - 1200) < 1);
    stop(&s);
}

static void faults(void **state)
{
    struct fix *f = *state;
    struct sim s;
    amd(&s, f, "libamd_smi.so",
        "gpus 5\nprofile mi300x\nwaveform const:300W\nfault kind=lost,gpu=0,at=10s\n"
        "fault kind=error,gpu=1,what=instant,at=10s,code=30\nfault "
        "kind=value,gpu=2,what=instant,at=10s,value=563212W\n"
        "fault kind=not_supported,gpu=3,what=energy\nfault kind=no_permission,gpu=4,at=10s\n"
        "fault kind=frozen,gpu=2,what=energy,at=10s");
    fix_open(f, &jm_meter_amdsmi);
    assert_null(find(f, 3, "energy"));
    assert_non_null(find(f, 3, "power.current"));
    assert_int_equal(look(&s, 0, "energy").status, JM_S_OK);
    simgpu_advance_to(s.s, s.s->h->start_ns + 11 * JM_NS_PER_S);
    assert_int_equal(look(&s, 0, "energy").status, JM_S_LOST);
    assert_int_equal(look(&s, 0, "power.current").status, JM_S_LOST);
    assert_int_equal(look(&s, 1, "power.current").status, JM_S_GAP);
    assert_int_equal(look(&s, 1, "energy").status, JM_S_OK);
    assert_int_equal(look(&s, 2, "power.current").status, JM_S_IMPLAUSIBLE);
    struct jm_reading a = look(&s, 2, "energy");
    simgpu_advance(s.s, JM_NS_PER_S);
    assert_int_equal(look(&s, 2, "energy").value, a.value); /* frozen: as it is, for the checks to see */
    assert_int_equal(look(&s, 4, "energy").status, JM_S_DENIED);
    assert_true(f->m->alive);
    stop(&s);
}

static void why_not(void **state)
{
    struct fix *f = *state;
    struct sim s;
    struct jm_probe p = fix_probe(f, &jm_meter_amdsmi);
    assert_int_equal(p.state, JM_PROBE_ABSENT);
    assert_non_null(strstr(p.reason, "no AMD GPU on the PCI bus"));
    tree_put(&f->t, "bus/pci/devices/0000:03:00.0/vendor", "0x1002");
    tree_put(&f->t, "bus/pci/devices/0000:03:00.0/class", "0x120000");
    p = fix_probe(f, &jm_meter_amdsmi);
    assert_non_null(strstr(p.reason, "an AMD GPU is on the PCI bus"));
    assert_non_null(strstr(p.mend, "librocm-smi64-1"));
    static const struct {
        const char *conf, *reason, *mend;
        enum jm_probe_state state;
    } rows[] = {
        {"gpus 1\nprofile h100\nwaveform const:300W", "finds no AMD GPU", "", JM_PROBE_ABSENT},
        {"gpus 1\nprofile mi300x\nwaveform const:300W\nfault kind=init,code=9", "driver is not loaded",
         "sudo modprobe amdgpu", JM_PROBE_ABSENT},
        {"gpus 1\nprofile mi300x\nwaveform const:300W\nfault kind=init,code=4", "no permission", "usermod",
         JM_PROBE_DENIED},
        {"gpus 1\nprofile mi300x\nwaveform const:300W\nfault kind=not_supported,what=energy+power",
         "answers an energy or power query", "", JM_PROBE_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        amd(&s, f, "libamd_smi.so", rows[i].conf);
        p = fix_probe(f, &jm_meter_amdsmi);
        assert_int_equal(p.state, rows[i].state);
        assert_non_null(strstr(p.reason, rows[i].reason));
        assert_non_null(strstr(p.mend, rows[i].mend));
        struct jm_err err = {0};
        assert_true(jm_meter_amdsmi.open(&f->env, &f->tree, &f->m, &err) < 0 &&
                    strncmp(err.text, "amdsmi: ", 8) == 0);
        f->m = NULL;
        stop(&s);
    }
}

static void put32(unsigned char *b, size_t at, uint32_t v)
{
    memcpy(b + at, &v, sizeof v);
}

/* amdsmi.h 23.2, 24.7 and 26.1. A form read as another gives no power instead of a wrong one. */
static void forms_of_power_info(void **state)
{
    (void)state;
    struct jm_amdsmi_power p;
    unsigned char b[256] = {0};
    assert_int_equal(jm_amdsmi_layout(22), JM_AMDSMI_UNKNOWN);
    assert_int_equal(jm_amdsmi_layout(24), JM_AMDSMI_24);
    assert_int_equal(jm_amdsmi_layout(28), JM_AMDSMI_UNKNOWN);
    put32(b, 0, 717); /* MI300 by 24: current 717 W, average N/A */
    put32(b, 4, 0xffff);
    put32(b, 8, 750);
    assert_true(jm_amdsmi_power(JM_AMDSMI_24, b, &p));
    assert_true(p.has_current && p.current == 717 && !p.has_average);
    assert_false(jm_amdsmi_power(JM_AMDSMI_25, b, &p));
    memset(b, 0, sizeof b);
    put32(b, 0, 94); /* MI200 by 26: average 94 W */
    put32(b, 8, UINT32_MAX);
    put32(b, 12, 94);
    assert_true(jm_amdsmi_power(JM_AMDSMI_25, b, &p));
    assert_true(p.has_average && p.average == 94 && !p.has_current && p.socket == 94);
    put32(b, 8, 412000000); /* uW of a host, or garbage */
    assert_false(jm_amdsmi_power(JM_AMDSMI_25, b, &p));
    assert_true(jm_amdsmi_power(JM_AMDSMI_23, b, &p) && p.has_average && p.average == 94);
    assert_false(jm_amdsmi_power(JM_AMDSMI_UNKNOWN, b, &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(energy_is_the_truth),
        T(pairs_of_dies),
        T(partitions_count_once),
        T(mirrors_the_sysfs_meter),
        T(radeon),
        T(faults),
        T(why_not),
        T(forms_of_power_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
