/* SPDX-License-Identifier: Apache-2.0 */
/* The batched read: one GetFieldValues a GPU for energy and power, one call for each further channel that is
 * due. */
#include "meter/nvml.h"

#include <stddef.h>

#include "base/banned.h"

static int temperature(const struct jm_nvml_api *a, const struct jm_nvml_gpu *g, int64_t *out)
{
    unsigned u = 0;
    if (g->temp_v) {
        struct jm_nvml_temp t = {.version = JM_NVML_TEMP_V1};
        int ret = a->temperature_v(g->dev, &t);
        *out = t.celsius;
        return ret;
    }
    int ret = a->temperature ? a->temperature(g->dev, 0, &u) : JM_NVML_FUNCTION_NOT_FOUND;
    *out = u;
    return ret;
}

int jm_nvml_call(const struct jm_nvml_session *s, const struct jm_nvml_src *src, int64_t *out)
{
    const struct jm_nvml_api *a = &s->api;
    const struct jm_nvml_gpu *g = &s->gpu[src->gpu];
    unsigned u = 0, pending = 0;
    unsigned long long ull = 0;
    struct jm_nvml_util util = {0};
    int i = 0, ret = JM_NVML_NOT_SUPPORTED;
    *out = 0;
/* Calls f where the library has it; its value is taken after it has been written. */
#define CALL(f, value, ...)                                                                                  \
    ret = a->f ? a->f(g->dev, __VA_ARGS__) : JM_NVML_FUNCTION_NOT_FOUND;                                     \
    *out = (int64_t)(value);                                                                                 \
    break
    switch (src->how) {
    case JM_NVML_ENERGY: CALL(energy, ull, &ull);
    case JM_NVML_POWER: CALL(power, u, &u);
    case JM_NVML_CLOCK_SM: CALL(clock, u, 1, &u);
    case JM_NVML_CLOCK_MEM: CALL(clock, u, 2, &u);
    case JM_NVML_REASONS: CALL(reasons, ull, &ull);
    case JM_NVML_TEMP: ret = temperature(a, g, out); break;
    case JM_NVML_UTIL_GPU: CALL(utilization, util.gpu, &util);
    case JM_NVML_UTIL_MEM: CALL(utilization, util.memory, &util);
    case JM_NVML_LIMIT_ENFORCED: CALL(limit_enforced, u, &u);
    case JM_NVML_LIMIT_REQUESTED: CALL(limit, u, &u);
    case JM_NVML_MIG_MODE: CALL(mig_mode, u, &u, &pending);
    case JM_NVML_PSTATE: CALL(pstate, i, &i);
    case JM_NVML_PERSISTENCE: CALL(persistence, i, &i);
    case JM_NVML_FIELD:
    case JM_NVML_DEAD: break;
    }
#undef CALL
    if (ret == JM_NVML_OK && (ull > INT64_MAX || (src->how == JM_NVML_PSTATE && i == 32))) /* 32: unknown */
        return JM_NVML_NO_DATA;
    return ret;
}

struct batch {
    int64_t t0, t1;
    int ret;
};

static void read_fields(const struct jm_nvml_session *s, struct jm_nvml_gpu *g, int n,
                        const struct jm_clock *clock, struct batch *b)
{
    for (int i = 0; i < n; i++) {
        g->field[i].ret = JM_NVML_NO_DATA; /* an entry that is not filled has no value */
        g->field[i].type = JM_NVML_T_UINT;
        g->field[i].value.ull = 0;
    }
    b->t0 = jm_clock_mono(clock);
    b->ret = s->api.fields(g->dev, n, g->field);
    b->t1 = jm_clock_mono(clock);
}

static enum jm_status judge(const struct jm_channel *c, int ret, int64_t v)
{
    if (ret != JM_NVML_OK)
        return jm_nvml_status(ret);
    if (c->kind == JM_CH_COUNTER && v < 0)
        return JM_S_IMPLAUSIBLE;
    if (c->kind == JM_CH_GAUGE && c->unit == JM_U_W) {
        double w = jm_channel_value(c, v);
        if (w <= 0 || (c->sane_max > 0 && w > c->sane_max)) /* a limit has no bound of its own */
            return JM_S_IMPLAUSIBLE;
    }
    if (c->kind == JM_CH_GAUGE && c->unit == JM_U_RATIO && (v < 0 || v > 100))
        return JM_S_IMPLAUSIBLE;
    return JM_S_OK;
}

/* One channel into r: from the batch of fields, or by its own call. */
static int read_one(const struct jm_nvml_session *s, size_t i, const struct batch *b,
                    const struct jm_clock *clock, struct jm_reading *r)
{
    const struct jm_nvml_src *src = &s->src[i];
    const struct jm_nvml_gpu *g = &s->gpu[src->gpu];
    int ret;
    if (src->how == JM_NVML_FIELD) {
        const struct jm_nvml_field *f = &g->field[src->entry];
        ret = b->ret != JM_NVML_OK ? b->ret : f->ret;
        if (ret == JM_NVML_OK && !jm_nvml_field_value(f, &r->value))
            ret = JM_NVML_NO_DATA;
        r->t0 = b->t0;
        r->t1 = b->t1;
    } else {
        r->t0 = jm_clock_mono(clock);
        ret = jm_nvml_call(s, src, &r->value);
        r->t1 = jm_clock_mono(clock);
    }
    return ret;
}

static size_t read_gpu(struct jm_meter *m, struct jm_nvml_session *s, struct jm_nvml_gpu *g,
                       const struct jm_clock *clock, enum jm_read_set set, struct jm_reading *out)
{
    struct batch b = {0};
    size_t n = 0;
    int n_field = set == JM_READ_COUNTER ? g->n_counter : set == JM_READ_EDGE ? g->n_edge : g->n_field;
    if (n_field > 0 && !g->lost)
        read_fields(s, g, n_field, clock, &b);
    int64_t now = 0;
    for (size_t i = g->first; i < g->first + g->count; i++) {
        const struct jm_channel *c = &m->chan[i];
        struct jm_nvml_src *src = &s->src[i];
        if (!jm_meter_in_set(c, set))
            continue;
        if (src->every_ns) {
            now = now ? now : jm_clock_mono(clock);
            if (now < src->due_ns)
                continue;
            /* the first time shortened by the GPU's number, so that the GPUs take turns later */
            src->due_ns = now + src->every_ns - (src->due_ns ? 0 : src->every_ns * (src->gpu % 8) / 8);
        }
        struct jm_reading *r = &out[n++];
        *r = (struct jm_reading){.channel = (uint32_t)i};
        if (g->lost || src->how == JM_NVML_DEAD) {
            r->t0 = r->t1 = jm_clock_mono(clock);
            r->status = src->how == JM_NVML_DEAD ? src->status : JM_S_LOST;
            continue;
        }
        int ret = read_one(s, i, &b, clock, r);
        r->status = (uint8_t)judge(c, ret, r->value);
        g->lost = r->status == JM_S_LOST; /* a lost GPU does not come back; its old handle would not know */
    }
    return n;
}

size_t jm_nvml_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                    struct jm_reading *out)
{
    struct jm_nvml_session *s = m->priv;
    size_t n = 0, live = 0;
    for (size_t k = 0; k < s->n; k++) {
        struct jm_nvml_gpu *g = &s->gpu[k];
        if (g->count == 0)
            continue;
        n += read_gpu(m, s, g, clock, set, out + n);
        live += !g->lost && g->selected;
    }
    m->alive = live > 0;
    return n;
}
