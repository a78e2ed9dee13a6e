/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fake.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct fake fake_slot[2];

static double watts(const struct fake *f, int counter, int64_t t)
{
    return f->watts ? f->watts(counter, t) : 300.0 + 100.0 * counter;
}

double fake_truth(const struct fake *f, int counter, int64_t t0, int64_t t1)
{
    double j = 0;
    for (int64_t t = t0; t < t1;) { /* by whole milliseconds, in which power does not change */
        int64_t end = (t / JM_NS_PER_MS + 1) * JM_NS_PER_MS;
        end = end < t1 ? end : t1;
        j += watts(f, counter, t) * (double)(end - t) / 1e9;
        t = end;
    }
    return j;
}

static int probe(int slot, struct jm_probe *out)
{
    out->state = fake_slot[slot].state;
    snprintf(out->reason, sizeof out->reason, "scripted");
    snprintf(out->mend, sizeof out->mend, "sudo true");
    return 0;
}

static const struct jm_meter_ops ops0, ops1;

static void must(bool ok)
{
    if (!ok)
        __builtin_trap();
}

static int open_slot(int slot, const struct jm_meter_env *env, struct jm_domain_tree *tree,
                     struct jm_meter **out, struct jm_err *err)
{
    struct fake *f = &fake_slot[slot];
    if (f->open_rc)
        return jm_err_set(err, f->open_rc, "scripted not to open");
    struct jm_meter *m = jm_meter_alloc(slot ? &ops1 : &ops0, err);
    must(m != NULL);
    int node = jm_domain_host(tree, "testhost", err);
    for (int i = 0; i < f->counters; i++) {
        char key[32];
        snprintf(key, sizeof key, "FAKE-%d-%d", slot, i);
        int d = jm_domain_add(tree, node, JM_D_GPU, key, key, err);
        struct jm_channel *c = jm_meter_add_channel(m, err);
        must(d >= 0 && c);
        snprintf(c->name, sizeof c->name, "energy");
        snprintf(c->device, sizeof c->device, "%s", key);
        c->kind = JM_CH_COUNTER;
        c->unit = JM_U_J;
        c->scale10 = -3;
        c->domain = d;
        c->flags = JM_CHF_EDGE;
        c->provenance = JM_P_SIMULATED;
        f->at[i] = 0;
        f->joules[i] = 1000 * (i + 1);
    }
    if (!f->no_gauge) {
        struct jm_channel *c = jm_meter_add_channel(m, err);
        must(c != NULL);
        snprintf(c->name, sizeof c->name, "power.instant");
        snprintf(c->device, sizeof c->device, "FAKE-%d-0", slot);
        c->kind = JM_CH_GAUGE;
        c->unit = JM_U_W;
        c->scale10 = -3;
        c->domain = m->n_chan > 1 ? m->chan[0].domain : -1;
        c->flags = JM_CHF_EDGE;
    }
    jm_meter_add_fact(m, err, "fake.driver", "1.0");
    m->priv = f;
    m->simulated = true;
    m->deadline_ns = 300 * JM_NS_PER_MS;
    (void)env;
    f->opened++;
    *out = m;
    return 0;
}

static void pass(const struct fake *f, const struct jm_clock *clock)
{
    if (f->read_ns)
        jm_clock_sleep_until(clock, jm_clock_mono(clock) + f->read_ns, NULL);
    while (f->hangs_at && jm_clock_mono(clock) >= f->hangs_at && !f->release)
        jm_clock_sleep_until(clock, jm_clock_mono(clock) + JM_NS_PER_MS, NULL);
}

static size_t fake_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    struct fake *f = m->priv;
    size_t n = 0;
    f->reads++;
    if (set == JM_READ_COUNTER)
        f->fast_reads++;
    f->extra += f->distort;
    int64_t t0 = jm_clock_mono(clock);
    pass(f, clock);
    int64_t t1 = jm_clock_mono(clock);
    m->alive = !f->dies_at || t1 < f->dies_at;
    for (size_t i = 0; i < m->n_chan; i++) {
        struct jm_reading *r = &out[n];
        *r = (struct jm_reading){.t0 = t0, .t1 = t1, .channel = (uint32_t)i};
        if (m->chan[i].kind == JM_CH_GAUGE) {
            if (set == JM_READ_COUNTER)
                continue;
            r->value = llround(watts(f, 0, t1) * 1000);
        } else {
            /* refreshes of counter i lie at phase i x refresh / 7 */
            int64_t phase = (int64_t)i * f->refresh_ns / 7, k = (t1 - phase) / f->refresh_ns,
                    when = k * f->refresh_ns + phase;
            if (f->at[i] == 0)
                f->at[i] = when;
            if (when > f->at[i]) {
                f->joules[i] += fake_truth(f, (int)i, f->at[i], when) + f->extra - f->had[i];
                f->had[i] = f->extra;
                f->at[i] = when;
            }
            r->value = llround(f->joules[i] * 1000);
        }
        r->status = m->alive ? JM_S_OK : JM_S_LOST;
        n++;
    }
    return n;
}

static int fake_find(struct jm_meter *m, const int64_t *pids, size_t n_pids, bool *used, size_t n_devices)
{
    const struct fake *f = m->priv;
    int found = 0;
    for (size_t i = 0; i < n_pids; i++)
        if (pids[i] == f->uses_pid && n_devices > 1) {
            used[1] = true;
            found = 1;
        }
    return f->find_rc ? f->find_rc : found;
}

static void fake_close(struct jm_meter *m)
{
    ((struct fake *)m->priv)->closed++;
    jm_meter_dispose(m);
}

static int probe0(const struct jm_meter_env *env, struct jm_probe *out)
{
    (void)env;
    return probe(0, out);
}

static int probe1(const struct jm_meter_env *env, struct jm_probe *out)
{
    (void)env;
    return probe(1, out);
}

static int open0(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                 struct jm_err *err)
{
    return open_slot(0, env, tree, out, err);
}

static int open1(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                 struct jm_err *err)
{
    return open_slot(1, env, tree, out, err);
}

static const struct jm_meter_ops ops0 = {
    JM_METER_OPS_VERSION, "fake0", "scripted", "gpu", probe0, open0, fake_read, fake_close, fake_find};
static const struct jm_meter_ops ops1 = {
    JM_METER_OPS_VERSION, "fake1", "scripted", "gpu", probe1, open1, fake_read, fake_close, fake_find};
const struct jm_meter_ops *const fake_registry[] = {&ops0, &ops1, NULL};
