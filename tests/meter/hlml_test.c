/* SPDX-License-Identifier: Apache-2.0 */
/* The meter hlml on the simulated Gaudi, against exact energies. */
#include "simfix.h"

#include <math.h>

static void gaudi(struct sim *s, struct fix *f, const char *lines)
{
    start(s, f, "accel/libhlml.so", lines);
    f->env.hlml_lib = s->lib;
    simgpu_advance(s->s, 3 * JM_NS_PER_S);
}

static const struct jm_channel *find(struct fix *f, int dev, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.gaudi%d.uuid", dev);
    const char *uuid = jm_meter_fact(f->m, key);
    int i = uuid ? jm_meter_channel(f->m, uuid, name) : -1;
    return i < 0 ? NULL : &f->m->chan[i];
}

static struct jm_reading look(struct sim *s, int dev, const char *name)
{
    static struct jm_reading r[64];
    const struct jm_channel *c = find(s->f, dev, name);
    size_t n = s->f->m->ops->read(s->f->m, &s->f->env.clock, JM_READ_ALL, r);
    for (size_t i = 0; i < n; i++)
        if (&s->f->m->chan[r[i].channel] == c)
            return r[i];
    fail_msg("no reading of %s of device %d", name, dev);
    return r[0];
}

/* The counter refreshes every 100 ms: an end is off by at most that time at 900 W, 90 J, of 15 kJ. */
static void energy_is_the_truth(void **state)
{
    struct fix *f = *state;
    struct sim s;
    gaudi(&s, f, "gpus 3\nprofile gaudi3\nwaveform cycle:900W@4s,450W@11s\ncall-cost 20us");
    assert_int_equal(fix_probe(f, &jm_meter_hlml).state, JM_PROBE_OK);
    fix_open(f, &jm_meter_hlml);
    assert_true(f->m->simulated);
    assert_int_equal(f->m->n_chan, 9);
    const struct jm_channel *c = find(f, 2, "energy");
    assert_true(c && c->unit == JM_U_J && c->scale10 == -3 && c->modulus == 0 && c->flags == JM_CHF_EDGE);
    assert_string_equal(f->tree.d[c->domain].key, jm_meter_fact(f->m, "gpu.gaudi2.pci"));
    assert_int_equal(f->tree.d[c->domain].kind, JM_D_GPU);
    assert_true(find(f, 2, "power")->sane_max == 1800);
    struct jm_reading a = look(&s, 2, "energy");
    simgpu_advance(s.s, 27 * JM_NS_PER_S);
    struct jm_reading b = look(&s, 2, "energy"), p = look(&s, 2, "power");
    double measured = jm_channel_value(c, b.value - a.value),
           truth = simgpu_true_energy_j(s.s, 2, a.t0, b.t0);
    if (!(fabs(measured - truth) < 2 * 90))
        fail_msg("%.3f J, truth %.3f J", measured, truth);
    assert_true(p.status == JM_S_OK && p.value >= 450000 && p.value <= 900000);
    stop(&s);
}

static void faults(void **state)
{
    struct fix *f = *state;
    struct sim s;
    gaudi(&s, f,
          "gpus 4\nprofile gaudi3\nwaveform const:600W\nfault kind=lost,gpu=0,at=10s\n"
          "fault kind=error,gpu=1,what=usage,at=10s,code=21\nfault kind=not_supported,gpu=2,what=energy\n"
          "fault kind=error,gpu=3,what=handle,code=49\nfault kind=reset,gpu=1,at=10s");
    fix_open(f, &jm_meter_hlml);
    assert_null(find(f, 2, "energy"));
    assert_non_null(find(f, 2, "power"));
    assert_non_null(strstr(jm_meter_fact(f->m, "hlml.left_out.3"), "unknown error"));
    struct jm_reading before = look(&s, 1, "energy");
    simgpu_advance_to(s.s, s.s->h->start_ns + 11 * JM_NS_PER_S);
    assert_int_equal(look(&s, 0, "energy").status, JM_S_LOST);
    assert_int_equal(look(&s, 0, "power").status, JM_S_LOST);
    assert_int_equal(look(&s, 1, "power").status, JM_S_GAP);
    struct jm_reading after = look(&s, 1, "energy");
    assert_true(after.status == JM_S_OK && after.value < before.value); /* a reset: compute sees it */
    assert_int_equal(look(&s, 2, "power").value, 600000);
    assert_true(f->m->alive);
    stop(&s);
}

static void why_not(void **state)
{
    struct fix *f = *state;
    struct sim s;
    struct jm_probe p = fix_probe(f, &jm_meter_hlml);
    assert_int_equal(p.state, JM_PROBE_ABSENT);
    assert_non_null(strstr(p.reason, "no Gaudi on the PCI bus"));
    tree_put(&f->t, "bus/pci/devices/0000:33:00.0/vendor", "0x1da3");
    p = fix_probe(f, &jm_meter_hlml);
    assert_non_null(strstr(p.reason, "a Gaudi is on the PCI bus"));
    static const struct {
        const char *conf, *reason, *mend;
        enum jm_probe_state state;
    } rows[] = {
        {"gpus 1\nprofile h100\nwaveform const:300W", "finds no Gaudi", "", JM_PROBE_ABSENT},
        {"gpus 1\nprofile gaudi3\nwaveform const:600W\nfault kind=init,code=9", "driver is not loaded",
         "sudo modprobe habanalabs", JM_PROBE_ABSENT},
        {"gpus 1\nprofile gaudi3\nwaveform const:600W\nfault kind=not_supported,what=energy+power",
         "answers an energy or power query: unsupported", "", JM_PROBE_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gaudi(&s, f, rows[i].conf);
        p = fix_probe(f, &jm_meter_hlml);
        assert_int_equal(p.state, rows[i].state);
        assert_non_null(strstr(p.reason, rows[i].reason));
        assert_string_equal(p.mend, rows[i].mend);
        struct jm_err err = {0};
        assert_true(jm_meter_hlml.open(&f->env, &f->tree, &f->m, &err) < 0 &&
                    strncmp(err.text, "hlml: ", 6) == 0);
        f->m = NULL;
        stop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(energy_is_the_truth), T(faults), T(why_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
