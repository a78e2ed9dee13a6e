/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/meter.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define MAX_CHANNELS 4096
#define MAX_FACTS    4096

const char *jm_probe_state_name(int s)
{
    static const char *const names[] = {"ok", "absent", "denied", "unsupported", "off"};
    return s >= 0 && s < (int)(sizeof names / sizeof *names) ? names[s] : NULL;
}

const struct jm_meter_ops *jm_meter_find(const char *name)
{
    for (size_t i = 0; jm_meter_registry[i]; i++)
        if (strcmp(jm_meter_registry[i]->name, name) == 0)
            return jm_meter_registry[i];
    return NULL;
}

int jm_meter_channel(const struct jm_meter *m, const char *device, const char *name)
{
    for (size_t i = 0; i < m->n_chan; i++)
        if (strcmp(m->chan[i].device, device) == 0 && strcmp(m->chan[i].name, name) == 0)
            return (int)i;
    return -1;
}

struct jm_meter *jm_meter_alloc(const struct jm_meter_ops *ops, struct jm_err *err)
{
    struct jm_meter *m = calloc(1, sizeof *m);
    if (!m) {
        jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", ops->name);
        return NULL;
    }
    m->ops = ops;
    m->period_ns = 100 * JM_NS_PER_MS;
    m->deadline_ns = JM_NS_PER_S;
    m->alive = true;
    return m;
}

/* Grows an array whose capacity is the next power of two of its length; v may be NULL. */
static void *grown(void *v, size_t n, size_t size)
{
    if (n & (n - 1) || (n == 0 && v))
        return v;
    return realloc(v, (n ? 2 * n : 1) * size);
}

struct jm_channel *jm_meter_add_channel(struct jm_meter *m, struct jm_err *err)
{
    if (m->n_chan >= MAX_CHANNELS) {
        jm_err_set(err, JM_ELIMIT, "the meter %s offers more than %d channels", m->ops->name, MAX_CHANNELS);
        return NULL;
    }
    struct jm_channel *v = grown(m->chan, m->n_chan, sizeof *v);
    if (!v) {
        jm_err_set(err, JM_ENOMEM, "out of memory for the channels of the meter %s", m->ops->name);
        return NULL;
    }
    m->chan = v;
    struct jm_channel *c = &v[m->n_chan];
    *c = (struct jm_channel){
        .id = (int)m->n_chan, .gain_tol = NAN, .offset_tol = NAN, .provenance = JM_P_MEASURED, .domain = -1};
    m->n_chan++;
    return c;
}

int jm_meter_add_fact(struct jm_meter *m, struct jm_err *err, const char *key, const char *fmt, ...)
{
    if (m->n_fact >= MAX_FACTS)
        return jm_err_set(err, JM_ELIMIT, "the meter %s states more than %d facts", m->ops->name, MAX_FACTS);
    struct jm_meter_fact *v = grown(m->fact, m->n_fact, sizeof *v);
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the facts of the meter %s", m->ops->name);
    m->fact = v;
    struct jm_meter_fact *f = &v[m->n_fact++];
    snprintf(f->key, sizeof f->key, "%s", key);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->value, sizeof f->value, fmt, ap);
    va_end(ap);
    return 0;
}

const char *jm_meter_fact(const struct jm_meter *m, const char *key)
{
    for (size_t i = m->n_fact; i-- > 0;)
        if (strcmp(m->fact[i].key, key) == 0)
            return m->fact[i].value;
    return NULL;
}

void jm_meter_dispose(struct jm_meter *m)
{
    if (!m)
        return;
    free(m->chan);
    free(m->fact);
    free(m);
}

bool jm_meter_in_set(const struct jm_channel *c, enum jm_read_set set)
{
    return set == JM_READ_ALL ||
           ((c->flags & JM_CHF_EDGE) && (set == JM_READ_EDGE || c->kind == JM_CH_COUNTER));
}

void jm_probe_set(struct jm_probe *out, enum jm_probe_state state, const char *mend, const char *fmt, ...)
{
    out->state = state;
    snprintf(out->mend, sizeof out->mend, "%s", mend ? mend : "");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out->reason, sizeof out->reason, fmt, ap);
    va_end(ap);
}

void jm_meter_raw(const struct jm_meter *m, int64_t t0, int64_t t1, const char *origin, struct jm_span reply,
                  unsigned flags)
{
    if (m->raw)
        m->raw->put(m->raw->self, t0, t1, origin, reply, flags);
}

static struct jm_channel *add_seconds(struct jm_meter *m, const char *device, const char *name,
                                      struct jm_err *err)
{
    struct jm_channel *c = jm_meter_add_channel(m, err);
    if (!c)
        return NULL;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->device, sizeof c->device, "%s", device);
    c->kind = JM_CH_GAUGE;
    c->unit = JM_U_S;
    c->scale10 = -9;
    return c;
}

struct jm_channel *jm_meter_add_clock(struct jm_meter *m, const char *device, struct jm_err *err)
{
    return add_seconds(m, device, "clock.offset", err);
}

struct jm_channel *jm_meter_add_age(struct jm_meter *m, const char *device, struct jm_err *err)
{
    return add_seconds(m, device, "age", err);
}

int jm_meter_probe(const struct jm_meter_ops *ops, const struct jm_meter_env *env, struct jm_probe *out)
{
    if (ops->probe)
        return ops->probe(env, out);
    jm_probe_set(out, JM_PROBE_OFF, "", "read when it is configured: an entry `meter: %s` in joulemark.yaml",
                 ops->name);
    return 0;
}

int jm_meter_open(const struct jm_meter_ops *ops, const struct jm_meter_env *env, struct jm_domain_tree *tree,
                  struct jm_meter **out, struct jm_err *err)
{
    if (ops->open)
        return ops->open(env, tree, out, err);
    return jm_err_set(err, JM_EABSENT,
                      "%s: no instrument is configured; write an entry `meter: %s` below `meters:` of "
                      "joulemark.yaml and say --config joulemark.yaml",
                      ops->name, ops->name);
}

struct jm_clock jm_meter_clock(const struct jm_meter_env *env)
{
    return env->clock.ops ? env->clock : jm_clock_system();
}

int jm_meter_host(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_err *err)
{
    return jm_domain_host(tree, env->host && *env->host ? env->host : "localhost", err);
}
