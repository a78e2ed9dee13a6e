/* SPDX-License-Identifier: Apache-2.0 */
/* For progress lines: power of the widest cut that is read, from last values. Not a result. */
#include <math.h>
#include <string.h>

#include "record/internal.h"

#include "base/banned.h"

/* Watts of a channel now, NAN when it gives none. */
static double watts_of(const struct jm_recorder *r, size_t i)
{
    const struct jm_channel *c = &r->chan[i];
    const struct jm_live_channel *l = &r->live[i];
    if (!(c->flags & JM_CHF_EDGE) || (c->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)) || !l->has_last ||
        l->last.status != JM_S_OK)
        return NAN;
    if (c->kind == JM_CH_GAUGE && c->unit == JM_U_W)
        return jm_channel_value(c, l->last.value);
    if (c->kind != JM_CH_COUNTER || c->unit != JM_U_J || !l->has_before || l->last.t0 <= l->before.t0)
        return NAN;
    double j = jm_channel_value(c, l->last.value) - jm_channel_value(c, l->before.value);
    return j < 0 ? NAN : j / ((double)(l->last.t0 - l->before.t0) / 1e9);
}

static bool covered(const struct jm_recorder *r, const bool *has, int domain)
{
    for (int p = r->tree.d[domain].parent; p >= 0; p = r->tree.d[p].parent)
        if (has[p])
            return true;
    return false;
}

void jm_recorder_live(struct jm_recorder *r, struct jm_record_live *out)
{
    enum { MOST = 1024 };
    double w[MOST];
    bool has[MOST] = {false};
    int64_t now = jm_clock_mono(&r->clock);
    *out = (struct jm_record_live){
        .watts = NAN, .celsius = NAN, .meters = r->n_meters, .failed = jm_record_error(r, NULL)};
    out->elapsed_ns = r->started ? now - r->t_start : 0;
    for (size_t i = 0; i < r->n_reader; i++) {
        struct jm_reader *d = r->reader[i];
        out->meters_ok += jm_reader_healthy(d, now) && atomic_load(&d->alive);
        out->readings += atomic_load(&d->readings);
        out->late += atomic_load(&d->late);
    }
    pthread_mutex_lock(&r->live_lock);
    size_t n = r->tree.n < MOST ? r->tree.n : MOST;
    for (size_t i = 0; i < r->n_chan; i++) {
        const struct jm_channel *c = &r->chan[i];
        const struct jm_live_channel *l = &r->live[i];
        if (c->kind == JM_CH_GAUGE && c->unit == JM_U_CELSIUS && l->has_last && l->last.status == JM_S_OK)
            out->celsius =
                fmax(out->celsius, jm_channel_value(c, l->last.value)); /* of a NAN the other one */
        int d = c->domain;
        double v = watts_of(r, i);
        if (d < 0 || (size_t)d >= n || isnan(v))
            continue;
        if (!has[d] || r->chan[i].kind == JM_CH_GAUGE) /* a gauge is newer than a rate over a second */
            w[d] = v;
        has[d] = true;
    }
    for (size_t d = 0; d < n; d++)
        if (has[d] && !covered(r, has, (int)d))
            out->watts = isnan(out->watts) ? w[d] : out->watts + w[d];
    pthread_mutex_unlock(&r->live_lock);
}
