/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what the host engine has in its cache. A value is as old as its own stamp says: that stamp, brought
 * to this host's clock, is the reading's; a value that is not newer than the last one is no reading. Around
 * the edges of a window the driver is asked itself, through the host engine. */
#include "meter/dcgm.h"

#include <string.h>

#include "base/banned.h"

#define OFFSET_EVERY (60 * JM_NS_PER_S)
#define AGAIN_AFTER  (5 * JM_NS_PER_S)
/* A host engine updates each field once a watch period; what misses several is stale. */
#define STALE(l) (5 * (l)->watch_ns > 2 * JM_NS_PER_S ? 5 * (l)->watch_ns : 2 * JM_NS_PER_S)

/* Realtime of this host, less its monotonic clock. */
static int64_t real_less_mono(const struct jm_clock *clock)
{
    struct jm_clock_pair p;
    jm_clock_pair(clock, &p);
    return p.real - (p.mono0 + p.mono1) / 2;
}

int jm_dcgm_clock(struct jm_dcgm *d, const struct jm_clock *clock, struct jm_reading *r)
{
    struct jm_dcgm_batch one = {.n_e = 1, .n_f = 1};
    size_t g = 0;
    while (g < JM_DCGM_BATCHES && !d->link.batch[g].n_e)
        g++;
    if (g == JM_DCGM_BATCHES)
        return JM_DCGM_NO_DATA;
    struct jm_dcgm_batch *b = &d->link.batch[g];
    one.e[0] = b->e[0];
    one.field[0] = b->field[0];
    one.value = b->value; /* its first entry, which the next question fills again */
    int64_t base = real_less_mono(clock), t0 = jm_clock_mono(clock);
    int ret = jm_dcgm_ask(&d->link, &one, true);
    int64_t t1 = jm_clock_mono(clock);
    *r = (struct jm_reading){.t0 = t0, .t1 = t1, .channel = (uint32_t)d->clock, .status = JM_S_GAP};
    if (ret != JM_DCGM_OK || one.value->ts <= 0)
        return ret ? ret : JM_DCGM_NO_DATA;
    int64_t offset = one.value->ts * JM_NS_PER_US - (base + (t0 + t1) / 2);
    d->bound_ns = (t1 - t0) / 2 + JM_NS_PER_US;
    /* nearer than can be told: the host engine's clock is this one */
    d->offset_ns = offset > d->bound_ns || offset < -d->bound_ns ? offset : 0;
    r->status = JM_S_OK;
    r->value = offset;
    return JM_DCGM_OK;
}

static enum jm_status judge(const struct jm_channel *c, int64_t v)
{
    double w = jm_channel_value(c, v);
    if (c->kind == JM_CH_GAUGE && (w <= 0 || (c->sane_max > 0 && w > c->sane_max)))
        return JM_S_IMPLAUSIBLE; /* field 157 of a part without it is 0 or anything */
    return JM_S_OK;
}

static const struct jm_dcgm_value *value_of(const struct jm_dcgm *d, const struct jm_dcgm_src *s)
{
    const struct jm_dcgm_batch *b = &d->link.batch[s->batch];
    return &b->value[s->entity * b->n_f + s->field];
}

/* One channel into r; false: nothing newer than the last reading. live: of the time of the question. */
static bool take(struct jm_meter *m, size_t i, bool live, int64_t t0, int64_t t1, int64_t base,
                 struct jm_reading *r)
{
    struct jm_dcgm *d = m->priv;
    struct jm_dcgm_src *s = &d->src[i];
    const struct jm_channel *c = &m->chan[i];
    const struct jm_dcgm_value *v = value_of(d, s);
    int64_t t = live ? t1 : v->ts * JM_NS_PER_US - d->offset_ns - base;
    *r = (struct jm_reading){.t0 = t0, .t1 = t1, .channel = (uint32_t)i};
    r->status = (uint8_t)jm_dcgm_number(v, s->text10, c->scale10, &r->value);
    if (r->status == JM_S_OK)
        r->status = (uint8_t)judge(c, r->value);
    if (r->status == JM_S_OK && v->ts <= 0)
        r->status = JM_S_GAP;
    if (v->ts > 0 && t < t0 - STALE(&d->link) && (r->status == JM_S_OK || r->status == JM_S_IMPLAUSIBLE))
        r->status = JM_S_STALE;
    if (r->status != JM_S_OK) {
        r->value = 0;
    } else if (!live) {
        t = t < t1 ? t : t1;
        if (v->ts <= s->seen_us || t <= s->last_t)
            return false; /* seen before, or older than what the driver said since */
        s->seen_us = v->ts;
        r->t0 = r->t1 = t;
    }
    s->last_t = r->t1;
    return true;
}

static size_t failed(struct jm_meter *m, size_t g, int ret, int64_t t0, int64_t t1, struct jm_reading *out)
{
    struct jm_dcgm *d = m->priv;
    size_t n = 0;
    for (size_t i = 0; i < d->n_src; i++)
        if (d->src[i].batch == g && d->src[i].field < d->link.batch[g].n_f) {
            out[n++] = (struct jm_reading){
                .t0 = t0, .t1 = t1, .channel = (uint32_t)i, .status = (uint8_t)jm_dcgm_status(ret)};
            d->src[i].last_t = t1;
        }
    return n;
}

static bool unwatched(const struct jm_dcgm_batch *b)
{
    for (unsigned i = 0; i < b->n_e * b->n_f; i++)
        if (b->value[i].status != JM_DCGM_NOT_WATCHED)
            return false;
    return b->n_e > 0;
}

size_t jm_dcgm_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                    struct jm_reading *out)
{
    struct jm_dcgm *d = m->priv;
    struct jm_err why = {0};
    bool gone = false, live = set != JM_READ_ALL;
    size_t n = 0;
    int64_t now = jm_clock_mono(clock);
    if (!live && d->link.up && now >= d->offset_due && d->clock >= 0) {
        d->offset_due = now + OFFSET_EVERY;
        if (jm_dcgm_clock(d, clock, &out[n]) == JM_DCGM_OK)
            n++;
    }
    for (size_t g = 0; g < JM_DCGM_BATCHES; g++) {
        struct jm_dcgm_batch *b = &d->link.batch[g];
        unsigned all = b->n_f;
        if (!b->n_e || (set == JM_READ_COUNTER && g != JM_DCGM_GPUS))
            continue;
        if (g == JM_DCGM_GPUS) /* the counter comes first, the limit last */
            b->n_f = set == JM_READ_COUNTER ? 1 : set == JM_READ_EDGE ? all - 1 : all;
        int64_t t0 = jm_clock_mono(clock);
        int ret = d->link.up && !gone ? jm_dcgm_ask(&d->link, b, live) : JM_DCGM_CONNECTION_NOT_VALID;
        int64_t t1 = jm_clock_mono(clock), base = live ? 0 : real_less_mono(clock);
        gone |= ret == JM_DCGM_CONNECTION_NOT_VALID || (ret == JM_DCGM_OK && g == 0 && unwatched(b));
        if (ret != JM_DCGM_OK)
            n += failed(m, g, ret, t0, t1, out + n);
        for (size_t i = 0; i < d->n_src && ret == JM_DCGM_OK; i++)
            if (d->src[i].batch == g && d->src[i].field < b->n_f && jm_meter_in_set(&m->chan[i], set))
                n += take(m, i, live, t0, t1, base, &out[n]);
        b->n_f = all;
    }
    /* a host engine that was started anew knows nothing of what was watched */
    if (gone && !live && now >= d->again_due) {
        d->again_due = now + AGAIN_AFTER;
        if (jm_dcgm_link_again(&d->link, &why) == 0)
            d->offset_due = 0;
    }
    return n;
}
