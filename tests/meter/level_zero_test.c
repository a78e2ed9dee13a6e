/* SPDX-License-Identifier: Apache-2.0 */
/* The meter level-zero on the simulated loader, against exact energies. */
#include "simfix.h"

#include <math.h>
#include <unistd.h>

static void intel(struct sim *s, struct fix *f, const char *lib, const char *lines)
{
    char path[128];
    snprintf(path, sizeof path, "accel/%s", lib);
    start(s, f, path, lines);
    f->env.level_zero_lib = s->lib;
    simgpu_advance(s->s, 3 * JM_NS_PER_S);
}

/* part: "" for the board itself. */
static const struct jm_channel *find(struct fix *f, int dev, const char *part, const char *name)
{
    char key[64], device[128];
    snprintf(key, sizeof key, "gpu.intel%d.uuid", dev);
    const char *uuid = jm_meter_fact(f->m, key);
    snprintf(device, sizeof device, "%s%s", uuid ? uuid : "?", part);
    int i = jm_meter_channel(f->m, device, name);
    return i < 0 ? NULL : &f->m->chan[i];
}

static struct jm_reading look(struct sim *s, int dev, const char *part, const char *name)
{
    static struct jm_reading r[64];
    const struct jm_channel *c = find(s->f, dev, part, name);
    size_t n = s->f->m->ops->read(s->f->m, &s->f->env.clock, JM_READ_ALL, r);
    for (size_t i = 0; i < n; i++)
        if (&s->f->m->chan[r[i].channel] == c)
            return r[i];
    fail_msg("no reading of %s%s of device %d", name, part, dev);
    return r[0];
}

/* card > package > tiles, by the tree; each refresh is 10 ms, so an end is off by 6 J at most. */
static void parts_and_truth(void **state)
{
    static const char *const libs[] = {"libze_loader.so", "libze_loader-old.so"};
    for (size_t i = 0; i < sizeof libs / sizeof *libs; i++) {
        struct fix *f = *state;
        struct sim s;
        setenv("ZES_ENABLE_SYSMAN", "1", 1);
        intel(&s, f, libs[i], "gpus 2\nprofile max1550\nwaveform cycle:600W@4s,300W@11s\ncall-cost 20us");
        jm_domain_tree_release(&f->tree);
        fix_open(f, &jm_meter_level_zero);
        unsetenv("ZES_ENABLE_SYSMAN");
        assert_true(f->m->simulated && f->m->max_period_ns == 60 * JM_NS_PER_S);
        assert_int_equal(f->m->n_chan, 2 * 5);
        const struct jm_channel *card = find(f, 1, "", "energy"), *pkg = find(f, 1, "/package", "energy"),
                                *t0 = find(f, 1, "/stack-0", "energy"),
                                *t1 = find(f, 1, "/stack-1", "energy");
        assert_true(card && pkg && t0 && t1);
        assert_true(card->scale10 == -6 && card->flags == JM_CHF_EDGE && card->sane_max == 1200);
        assert_string_equal(f->tree.d[card->domain].key, jm_meter_fact(f->m, "gpu.intel1.pci"));
        assert_true(f->tree.d[pkg->domain].parent == card->domain);
        assert_true(f->tree.d[t0->domain].parent == pkg->domain &&
                    f->tree.d[t1->domain].parent == pkg->domain);
        assert_true(t0->domain != t1->domain);
        assert_int_equal(look(&s, 1, "", "power.limit").value, 600000);
        struct jm_reading a = look(&s, 1, "", "energy"), p = look(&s, 1, "/package", "energy");
        simgpu_advance(s.s, 25 * JM_NS_PER_S);
        struct jm_reading b = look(&s, 1, "", "energy"), q = look(&s, 1, "/package", "energy");
        double seconds = (double)(b.t0 - a.t0) / 1e9, truth = simgpu_true_energy_j(s.s, 1, a.t0, b.t0);
        double of_card = jm_channel_value(card, b.value - a.value),
               of_pkg = jm_channel_value(pkg, q.value - p.value);
        if (!(fabs(of_card - (truth + 40 * seconds)) < 13) || !(fabs(of_pkg - truth) < 13))
            fail_msg("%s: card %.3f J, package %.3f J, truth %.3f J", libs[i], of_card, of_pkg, truth);
        stop(&s);
    }
}

/* The same counters by hwmon: one domain, and the library only by name. */
static void mirrors_the_sysfs_meter(void **state)
{
    struct fix *f = *state;
    struct sim s;
    char bdf[32], path[512], target[512];
    intel(&s, f, "libze_loader.so", "gpus 1\nprofile max1550\nwaveform const:400W");
    assert_int_equal(fix_probe(f, &jm_meter_level_zero).state, JM_PROBE_OK);
    snprintf(bdf, sizeof bdf, "%04x:%02x:%02x.0", s.s->g[0].pci_domain, s.s->g[0].pci_bus,
             s.s->g[0].pci_device);
    snprintf(path, sizeof path, "devices/%s/x", bdf);
    tree_put(&f->t, path, "x");
    tree_put(&f->t, "class/hwmon/hwmon0/name", "xe");
    tree_put(&f->t, "class/hwmon/hwmon0/energy1_label", "card");
    tree_put(&f->t, "class/hwmon/hwmon0/energy1_input", "710520000000");
    tree_put(&f->t, "class/hwmon/hwmon0/energy2_label", "pkg");
    tree_put(&f->t, "class/hwmon/hwmon0/energy2_input", "700000000000");
    snprintf(path, sizeof path, "%s/class/hwmon/hwmon0/device", f->t.root);
    snprintf(target, sizeof target, "../../../devices/%s", bdf);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(fix_probe(f, &jm_meter_level_zero).state, JM_PROBE_OFF);
    fix_open(f, &jm_meter_intel_gpu);
    int card = f->m->chan[0].domain, pkg = f->m->chan[1].domain;
    f->m->ops->close(f->m);
    fix_open(f, &jm_meter_level_zero);
    assert_int_equal(find(f, 0, "", "energy")->domain, card);
    assert_int_equal(find(f, 0, "/package", "energy")->domain, pkg);
    stop(&s);
}

static void faults(void **state)
{
    struct fix *f = *state;
    struct sim s;
    intel(&s, f, "libze_loader.so",
          "gpus 4\nprofile max1550\nwaveform const:400W\nfault kind=lost,gpu=0,at=10s\n"
          "fault kind=error,gpu=1,what=energy,at=10s,code=21\nfault kind=not_supported,gpu=2,what=energy\n"
          "fault kind=reset,gpu=3,at=10s");
    fix_open(f, &jm_meter_level_zero);
    assert_non_null(jm_meter_fact(f->m, "level-zero.left_out.2"));
    assert_null(find(f, 2, "", "energy"));
    struct jm_reading before = look(&s, 3, "", "energy");
    simgpu_advance_to(s.s, s.s->h->start_ns + 11 * JM_NS_PER_S);
    assert_int_equal(look(&s, 0, "", "energy").status, JM_S_LOST);
    assert_int_equal(look(&s, 0, "/stack-1", "energy").status, JM_S_LOST);
    assert_int_equal(look(&s, 1, "", "energy").status, JM_S_GAP);
    struct jm_reading after = look(&s, 3, "", "energy"); /* compute-runtime#938 */
    assert_true(after.status == JM_S_OK && after.value < before.value &&
                find(f, 3, "", "energy")->modulus == 0);
    assert_true(f->m->alive);
    stop(&s);
}

static void why_not(void **state)
{
    struct fix *f = *state;
    struct sim s;
    struct jm_probe p = fix_probe(f, &jm_meter_level_zero);
    assert_non_null(strstr(p.reason, "no Intel GPU on the PCI bus"));
    tree_put(&f->t, "bus/pci/devices/0000:03:00.0/vendor", "0x8086");
    tree_put(&f->t, "bus/pci/devices/0000:03:00.0/class", "0x038000");
    p = fix_probe(f, &jm_meter_level_zero);
    assert_non_null(strstr(p.reason, "an Intel GPU is on the PCI bus"));
    assert_string_equal(p.mend, "sudo apt install libze1");
    static const struct {
        const char *lib, *conf, *reason, *mend;
        enum jm_probe_state state;
    } rows[] = {
        {"libze_loader.so", "gpus 1\nprofile h100\nwaveform const:300W", "finds no GPU", "", JM_PROBE_ABSENT},
        {"libze_loader.so", "gpus 1\nprofile max1550\nwaveform const:300W\nfault kind=init,code=9",
         "needs libze_intel_gpu.so.1", "sudo apt install libze-intel-gpu1", JM_PROBE_ABSENT},
        {"libze_loader.so",
         "gpus 1\nprofile max1550\nwaveform const:300W\nfault kind=no_permission,what=energy",
         "may not be read", "sudo joulemark meters -m level-zero", JM_PROBE_DENIED},
        {"libze_loader-old.so", "gpus 1\nprofile max1550\nwaveform const:300W", "older than 1.9",
         "export ZES_ENABLE_SYSMAN=1", JM_PROBE_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        intel(&s, f, rows[i].lib, rows[i].conf);
        p = fix_probe(f, &jm_meter_level_zero);
        if (p.state != rows[i].state || !strstr(p.reason, rows[i].reason) ||
            strcmp(p.mend, rows[i].mend) != 0)
            fail_msg("%zu: %d %s (%s)", i, p.state, p.reason, p.mend);
        struct jm_err err = {0};
        assert_true(jm_meter_level_zero.open(&f->env, &f->tree, &f->m, &err) < 0 &&
                    strncmp(err.text, "level-zero: ", 12) == 0);
        f->m = NULL;
        stop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(parts_and_truth), T(mirrors_the_sysfs_meter), T(faults), T(why_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
