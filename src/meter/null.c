/* SPDX-License-Identifier: Apache-2.0 */
/* A meter that measures nothing: what it costs to have a meter at all. Only by name. */
#include "meter/registry.h"

#include <stdio.h>

#include "base/banned.h"

static int null_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    (void)env;
    jm_probe_set(out, JM_PROBE_OFF, "", "measures nothing; opened only by name, to see what a meter costs");
    return 0;
}

static int null_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    (void)env;
    (void)tree;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_null, err);
    if (!m)
        return JM_ENOMEM;
    struct jm_channel *c = jm_meter_add_channel(m, err);
    if (!c) {
        jm_meter_dispose(m);
        return JM_ENOMEM;
    }
    snprintf(c->name, sizeof c->name, "nothing");
    snprintf(c->device, sizeof c->device, "null");
    snprintf(c->source, sizeof c->source, "none");
    c->kind = JM_CH_STATE;
    c->provenance = JM_P_DECLARED;
    *out = m;
    return 0;
}

static size_t null_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    (void)m;
    if (set != JM_READ_ALL)
        return 0;
    int64_t now = jm_clock_mono(clock);
    out[0] = (struct jm_reading){.t0 = now, .t1 = now, .status = JM_S_OK};
    return 1;
}

const struct jm_meter_ops jm_meter_null = {
    .version = JM_METER_OPS_VERSION,
    .name = "null",
    .summary = "nothing: what it costs to have a meter at all",
    .boundary = "",
    .needs = "nothing; only by name",
    .traps = "It has one channel, which means nothing.",
    .probe = null_probe,
    .open = null_open,
    .read = null_read,
    .close = jm_meter_dispose,
};
