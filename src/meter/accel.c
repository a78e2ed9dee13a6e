/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/accel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

struct source {
    size_t device;
    int what;
    int64_t every_ns, due_ns;
};

struct accel {
    void *vendor;
    jm_accel_get get;
    void (*done)(void *vendor);
    bool *lost; /* one a device */
    size_t n_devices;
    struct source *src; /* one a channel */
};

struct jm_meter *jm_accel_new(const struct jm_meter_ops *ops, void *vendor, jm_accel_get get,
                              void (*done)(void *vendor), size_t n_devices, struct jm_err *err)
{
    struct jm_meter *m = jm_meter_alloc(ops, err);
    struct accel *a = calloc(1, sizeof *a);
    bool *lost = calloc(n_devices + 1, sizeof *lost);
    if (!m || !a || !lost) {
        if (m)
            jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", ops->name);
        jm_meter_dispose(m);
        free(a);
        free(lost);
        done(vendor);
        return NULL;
    }
    *a = (struct accel){.vendor = vendor, .get = get, .done = done, .lost = lost, .n_devices = n_devices};
    m->priv = a;
    return m;
}

void jm_accel_close(struct jm_meter *m)
{
    struct accel *a = m ? m->priv : NULL;
    if (a) {
        a->done(a->vendor);
        free(a->lost);
        free(a->src);
        free(a);
    }
    jm_meter_dispose(m);
}

void *jm_accel_vendor(const struct jm_meter *m)
{
    return ((const struct accel *)m->priv)->vendor;
}

static bool is_energy_or_power(enum jm_unit unit)
{
    return unit == JM_U_J || unit == JM_U_W;
}

int jm_accel_add(struct jm_meter *m, size_t device, const struct jm_accel_row *row, const char *device_name,
                 int domain, struct jm_channel **out, enum jm_status *why, struct jm_err *err)
{
    struct accel *a = m->priv;
    int64_t v = 0;
    enum jm_status st = a->get(a->vendor, device, row->what, &v);
    bool none = st == JM_S_OK && is_energy_or_power(row->unit) && v == 0;
    *out = NULL;
    *why = none ? JM_S_ABSENT : st;
    if (none || st == JM_S_UNSUPPORTED || st == JM_S_DENIED || st == JM_S_ABSENT)
        return 0;
    struct jm_channel *c = jm_meter_add_channel(m, err);
    if (!c)
        return JM_ENOMEM;
    struct source *s = realloc(a->src, m->n_chan * sizeof *s);
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the channels of the meter %s", m->ops->name);
    a->src = s;
    s[m->n_chan - 1] = (struct source){.device = device, .what = row->what, .every_ns = row->every_ns};
    snprintf(c->name, sizeof c->name, "%s", row->name);
    snprintf(c->device, sizeof c->device, "%s", device_name);
    snprintf(c->source, sizeof c->source, "%s", row->source);
    c->kind = row->kind;
    c->unit = row->unit;
    c->scale10 = row->scale10;
    c->scale2 = row->scale2;
    c->flags = row->edge ? JM_CHF_EDGE : 0;
    c->domain = domain;
    c->provenance = m->simulated ? JM_P_SIMULATED : JM_P_MEASURED;
    *out = c;
    return 0;
}

int jm_accel_domain(struct jm_domain_tree *tree, int node, const char *bdf, const char *label,
                    struct jm_err *err)
{
    static const enum jm_domain_kind kinds[] = {JM_D_GPU, JM_D_APU};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int d = -1; (d = jm_domain_next(tree, kinds[k], d)) >= 0;)
            if (strcmp(tree->d[d].key, bdf) == 0 && jm_domain_contains(tree, node, d))
                return d;
    return jm_domain_add(tree, node, JM_D_GPU, bdf, label, err);
}

static enum jm_status judge(const struct jm_channel *c, enum jm_status st, int64_t v)
{
    if (st != JM_S_OK || !is_energy_or_power(c->unit))
        return st;
    if (v <= 0)
        return JM_S_IMPLAUSIBLE;
    return c->kind == JM_CH_GAUGE && c->sane_max > 0 && jm_channel_value(c, v) > c->sane_max
               ? JM_S_IMPLAUSIBLE
               : JM_S_OK;
}

size_t jm_accel_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                     struct jm_reading *out)
{
    struct accel *a = m->priv;
    size_t n = 0, live = 0;
    for (size_t i = 0; i < m->n_chan; i++) {
        struct source *s = &a->src[i];
        int64_t now = jm_clock_mono(clock);
        if (!jm_meter_in_set(&m->chan[i], set) || (s->every_ns && now < s->due_ns))
            continue;
        s->due_ns = now + s->every_ns;
        struct jm_reading *r = &out[n++];
        *r = (struct jm_reading){.channel = (uint32_t)i, .t0 = now, .t1 = now, .status = JM_S_LOST};
        if (a->lost[s->device])
            continue;
        enum jm_status st = a->get(a->vendor, s->device, s->what, &r->value);
        r->t1 = jm_clock_mono(clock);
        r->status = (uint8_t)judge(&m->chan[i], st, r->value);
        a->lost[s->device] = st == JM_S_LOST; /* it does not come back under its old handle */
    }
    for (size_t i = 0; i < a->n_devices; i++)
        live += !a->lost[i];
    m->alive = live > 0;
    return n;
}
