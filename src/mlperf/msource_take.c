/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/msource_take.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/registry.h"
#include "base/banned.h"

#define GAP_NS                                                                                               \
    (3 * JM_NS_PER_S / 2) /* what lies between two readings further apart is not known second by second */

static bool counts(const struct jm_channel *c)
{
    return c->domain >= 0 && !(c->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF | JM_CHF_DOUBLE)) &&
           ((c->kind == JM_CH_COUNTER && c->unit == JM_U_J) || (c->kind == JM_CH_GAUGE && c->unit == JM_U_W));
}

/* A counter tells the energy of a second exactly, but for instruments whose counter is coarser than a second.
 */
static bool better(const struct jm_meter *m, const struct jm_channel *a, const struct jm_channel *b)
{
    bool counter = a->kind == JM_CH_COUNTER,
         coarse = strcmp(m->ops->name, "yokogawa") == 0 || strcmp(m->ops->name, "ptd") == 0;
    return a->kind != b->kind && counter != coarse;
}

static void add(struct jm_take *t, int meter, const struct jm_channel *c)
{
    for (int i = 0; i < t->n; i++)
        if (t->c[i].domain == c->domain) {
            struct jm_take_channel *old = &t->c[i];
            const struct jm_channel *o = &t->m[old->meter]->chan[old->channel];
            if (old->meter == meter && better(t->m[meter], c, o))
                *old = (struct jm_take_channel){meter, c->id, c->domain, .counter = c->kind == JM_CH_COUNTER};
            return; /* one joule once: the first meter has it */
        }
    if (t->n < JM_TAKE_CHANNELS)
        t->c[t->n++] = (struct jm_take_channel){meter, c->id, c->domain, .counter = c->kind == JM_CH_COUNTER};
}

/* Only the largest domains: what another one contains is in it already. */
static void outermost(struct jm_take *t)
{
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        bool inside = false;
        for (int k = 0; k < t->n; k++)
            inside |= t->c[k].domain != t->c[i].domain &&
                      jm_domain_contains(&t->tree, t->c[k].domain, t->c[i].domain);
        if (!inside)
            t->c[n++] = t->c[i];
    }
    t->n = n;
}

static void electrical(struct jm_take *t)
{
    static const struct {
        const char *name;
        enum jm_unit unit;
    } what[3] = {{"volts", JM_U_V}, {"amps", JM_U_A}, {"power_factor", JM_U_RATIO}};
    int *to[3] = {t->volts, t->amps, t->pf};
    for (int k = 0; k < 3; k++)
        to[k][0] = to[k][1] = -1;
    if (t->n != 1) /* volts of one of several parts are not those of the sum */
        return;
    const struct jm_meter *m = t->m[t->c[0].meter];
    for (size_t i = 0; i < m->n_chan; i++)
        for (int k = 0; k < 3; k++)
            if (m->chan[i].unit == what[k].unit && strcmp(m->chan[i].name, what[k].name) == 0) {
                to[k][0] = t->c[0].meter;
                to[k][1] = (int)i;
            }
}

static int open_one(struct jm_take *t, const struct jm_meter_env *env, const struct jm_meter_ops *ops,
                    bool named, struct jm_err *err)
{
    struct jm_probe p = {.state = JM_PROBE_ABSENT};
    struct jm_meter *m = NULL;
    struct jm_err why = {0};
    int rc = jm_meter_probe(ops, env, &p);
    if (!named && (rc || p.state != JM_PROBE_OK))
        return 0;
    if (rc || (p.state != JM_PROBE_OK && p.state != JM_PROBE_OFF))
        return jm_err_set(err, p.state == JM_PROBE_DENIED ? JM_EDENIED : JM_EABSENT,
                          "the meter %s cannot be read: %s%s%s", ops->name, p.reason,
                          p.mend[0] ? "; mend it with " : "", p.mend);
    rc = jm_meter_open(ops, env, &t->tree, &m, named ? err : &why);
    if (rc || !m)
        return named ? rc : 0;
    t->m[t->n_m++] = m;
    return 0;
}

static bool wanted(const struct jm_meter_ops *ops, const char *const *meters)
{
    if (!meters) /* a wall meter is no software, an estimate or a replay no measurement */
        return ops != &jm_meter_estimate && ops != &jm_meter_replay && ops != &jm_meter_null &&
               ops != &jm_meter_yokogawa && ops != &jm_meter_ptd;
    for (size_t i = 0; meters[i]; i++)
        if (strcmp(meters[i], ops->name) == 0)
            return true;
    return false;
}

int jm_take_open(struct jm_take *t, const struct jm_meter_env *env, const char *const *meters,
                 struct jm_err *err)
{
    size_t most = 1;
    *t = (struct jm_take){.clock = jm_meter_clock(env), .provenance = JM_P_MEASURED};
    jm_domain_tree_init(&t->tree);
    int rc = 0;
    for (size_t i = 0; !rc && jm_meter_registry[i] && t->n_m < JM_TAKE_METERS; i++)
        if (wanted(jm_meter_registry[i], meters))
            rc = open_one(t, env, jm_meter_registry[i], meters != NULL, err);
    for (int k = 0; k < t->n_m; k++) {
        const struct jm_meter *m = t->m[k];
        most = m->n_chan > most ? m->n_chan : most;
        for (size_t i = 0; i < m->n_chan; i++)
            if (counts(&m->chan[i]))
                add(t, k, &m->chan[i]);
    }
    outermost(t);
    electrical(t);
    t->step = JM_NS_PER_S;
    for (int i = 0; i < t->n; i++) {
        const struct jm_meter *m = t->m[t->c[i].meter];
        enum jm_provenance p = m->chan[t->c[i].channel].provenance;
        t->provenance = jm_provenance_worse(t->provenance, m->simulated ? JM_P_SIMULATED : p);
        t->simulated |= m->simulated;
        if (m->period_ns > 0 && m->period_ns / 2 < t->step)
            t->step = m->period_ns / 2;
    }
    t->step = t->step < 50 * JM_NS_PER_MS    ? 50 * JM_NS_PER_MS
              : t->step > 250 * JM_NS_PER_MS ? 250 * JM_NS_PER_MS
                                             : t->step;
    t->buf = calloc(most, sizeof *t->buf);
    if (!rc && !t->buf)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the readings of meters");
    if (!rc && t->n == 0)
        rc = jm_err_set(err, JM_EABSENT,
                        "no meter of this host gives power or energy; joulemark meters says why");
    if (rc)
        jm_take_close(t);
    return rc;
}

void jm_take_close(struct jm_take *t)
{
    jm_take_stop(t);
    for (int i = 0; i < t->n_m; i++)
        t->m[i]->ops->close(t->m[i]);
    jm_domain_tree_release(&t->tree);
    free(t->buf);
    free(t->w);
    free(t->vap);
    *t = (struct jm_take){.n = 0};
}

void jm_take_boundary(const struct jm_take *t, char out[128])
{
    size_t at = 0;
    unsigned seen[JM_D_COUNT / 32 + 1] = {0};
    if (t->n == 1 && (t->tree.d[t->c[0].domain].kind == JM_D_INLET_AC ||
                      t->tree.d[t->c[0].domain].kind == JM_D_INLET_DC)) {
        snprintf(out, 128, "wall%s", t->tree.d[t->c[0].domain].kind == JM_D_INLET_DC ? " (DC inlet)" : "");
        return;
    }
    if (t->n == 1 && t->tree.d[t->c[0].domain].kind == JM_D_NODE) {
        snprintf(out, 128, "node");
        return;
    }
    at = (size_t)snprintf(out, 128, "device{");
    for (int i = 0; i < t->n && at < 110; i++) {
        int kind = (int)t->tree.d[t->c[i].domain].kind;
        if (seen[kind / 32] & (1u << (kind % 32)))
            continue;
        seen[kind / 32] |= 1u << (kind % 32);
        at += (size_t)snprintf(out + at, 128 - at, "%s%s", i ? "," : "", jm_domain_kind_name(kind));
    }
    snprintf(out + (at < 126 ? at : 126), 128 - (at < 126 ? at : 126), "}");
}

/* Room for the seconds up to k; false: none left, and they stay unknown. */
static bool room(struct jm_take *t, int64_t k)
{
    if (k >= JM_TAKE_SECONDS)
        return false;
    if (k >= t->room) {
        int64_t n = t->room ? 2 * t->room : 1024;
        while (n <= k)
            n *= 2;
        double *w = realloc(t->w, (size_t)n * (size_t)t->n * sizeof *w);
        if (w)
            t->w = w;
        double(*v)[3] = realloc(t->vap, (size_t)n * sizeof *v);
        if (v)
            t->vap = v;
        if (!w || !v)
            return false;
        for (int64_t i = t->room * t->n; i < n * t->n; i++)
            w[i] = NAN;
        for (int64_t i = t->room; i < n; i++)
            v[i][0] = v[i][1] = v[i][2] = NAN;
        t->room = n;
    }
    if (k >= t->seconds)
        t->seconds = k + 1;
    return true;
}

/* A good reading of a channel at time at: the energy up to it, and the seconds that end before it. */
static void book(struct jm_take *t, int i, const struct jm_channel *c, int64_t at, int64_t native)
{
    struct jm_take_channel *x = &t->c[i];
    double v = jm_channel_value(c, native), joules = x->joules;
    bool known = x->begun && at - x->t <= GAP_NS, back = x->counter && x->begun && native < x->native;
    if (x->begun && at <= x->t)
        return;
    if (x->begun && x->counter && !back)
        joules += v - jm_channel_value(c, x->native);
    else if (x->begun && x->counter && c->modulus && x->native >= 0 && native >= 0 &&
             (uint64_t)x->native < c->modulus)
        joules += jm_channel_value(c, (int64_t)(c->modulus - (uint64_t)x->native) + native);
    else if (x->begun && !x->counter)
        joules += (c->sem == JM_G_INSTANT ? (x->watts + v) / 2 : v) * ((double)(at - x->t) / 1e9);
    if (back && !c->modulus)
        known = false; /* started again: nobody knows what went before */
    for (int64_t b = t->go + x->next * JM_NS_PER_S; b <= at; b += JM_NS_PER_S) {
        double now = known && b > x->t
                         ? x->joules + (joules - x->joules) * ((double)(b - x->t) / (double)(at - x->t))
                         : NAN;
        if (x->begun && b == x->t)
            now = x->joules;
        if (x->next > 0 && room(t, x->next - 1))
            t->w[(x->next - 1) * t->n + i] = now - x->at_next;
        x->at_next = now;
        x->next++;
    }
    x->begun = true;
    x->t = at;
    x->joules = joules;
    x->native = native;
    x->watts = v;
}

/* Volts, amps and power factor: means of the readings of a second. */
static void electrical_step(struct jm_take *t, int meter, const struct jm_reading *r, size_t n, int64_t at)
{
    const int *from[3] = {t->volts, t->amps, t->pf};
    while (at >= t->go + (t->vap_next + 1) * JM_NS_PER_S) {
        if (room(t, t->vap_next))
            for (int k = 0; k < 3; k++)
                t->vap[t->vap_next][k] = t->count[k] ? t->sum[k] / (double)t->count[k] : NAN;
        memset(t->sum, 0, sizeof t->sum);
        memset(t->count, 0, sizeof t->count);
        t->vap_next++;
    }
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            if (from[k][0] == meter && (int)r[i].channel == from[k][1] && r[i].status == JM_S_OK) {
                t->sum[k] += jm_channel_value(&t->m[meter]->chan[r[i].channel], r[i].value);
                t->count[k]++;
            }
}

void jm_take_step(struct jm_take *t)
{
    for (int k = 0; k < t->n_m; k++) {
        struct jm_meter *m = t->m[k];
        size_t n = m->ops->read(m, &t->clock, JM_READ_ALL, t->buf);
        bool used = false;
        for (int i = 0; i < t->n; i++) {
            if (t->c[i].meter != k)
                continue;
            used = true;
            for (size_t j = 0; j < n; j++)
                if ((int)t->buf[j].channel == t->c[i].channel && t->buf[j].status == JM_S_OK)
                    book(t, i, &m->chan[t->c[i].channel], (t->buf[j].t0 + t->buf[j].t1) / 2, t->buf[j].value);
        }
        if (n && k == t->volts[0])
            electrical_step(t, k, t->buf, n, (t->buf[0].t0 + t->buf[0].t1) / 2);
        if (used && !m->alive)
            atomic_store(&t->lost, true);
    }
}

static void *run(void *self)
{
    struct jm_take *t = self;
    const volatile bool never = false;
    int64_t next = jm_clock_mono(&t->clock);
    while (!atomic_load(&t->stop)) {
        jm_take_step(t);
        int64_t now = jm_clock_mono(&t->clock);
        next += t->step;
        if (next < now) /* a slow meter: no hurry to catch up */
            next = now;
        jm_clock_sleep_until(&t->clock, next, &never);
    }
    return NULL;
}

int jm_take_begin(struct jm_take *t, struct jm_err *err)
{
    t->seconds = t->vap_next = 0;
    memset(t->sum, 0, sizeof t->sum);
    memset(t->count, 0, sizeof t->count);
    for (int64_t i = 0; i < t->room * t->n; i++)
        t->w[i] = NAN;
    for (int64_t i = 0; i < t->room; i++)
        t->vap[i][0] = t->vap[i][1] = t->vap[i][2] = NAN;
    for (int i = 0; i < t->n; i++) {
        t->c[i].begun = false;
        t->c[i].next = 0;
        t->c[i].joules = 0;
        t->c[i].at_next = NAN;
    }
    atomic_store(&t->stop, false);
    atomic_store(&t->lost, false);
    /* the first look before the clock starts, so that the first second has both its ends */
    t->go = INT64_MAX / 2;
    jm_take_step(t);
    jm_clock_pair(&t->clock, &t->pair);
    t->go = t->pair.mono1;
    if (atomic_load(&t->lost))
        return jm_err_set(err, JM_EABSENT, "a meter of the source is gone");
    return 0;
}

int jm_take_go(struct jm_take *t, struct jm_err *err)
{
    int rc = jm_take_begin(t, err);
    if (rc)
        return rc;
    int e = pthread_create(&t->thread, NULL, run, t);
    if (e)
        return jm_err_sys(err, e, "the thread that reads the meters cannot be started");
    t->running = true;
    return 0;
}

void jm_take_stop(struct jm_take *t)
{
    if (!t->running)
        return;
    atomic_store(&t->stop, true);
    pthread_join(t->thread, NULL);
    t->running = false;
}

int64_t jm_take_seconds(const struct jm_take *t)
{
    return t->seconds;
}

void jm_take_sample(const struct jm_take *t, int64_t k, struct jm_mlperf_sample *out)
{
    *out = (struct jm_mlperf_sample){.sum = {0, NAN, NAN, NAN}};
    out->real_ns = t->pair.real + (t->go - t->pair.mono1) + (k + 1) * JM_NS_PER_S;
    if (k < 0 || k >= t->seconds) {
        out->sum.watts = NAN;
        return;
    }
    for (int i = 0; i < t->n; i++)
        out->sum.watts += t->w[k * t->n + i];
    if (t->n > 1 && t->n <= JM_SPL_CHANNELS) {
        out->n_channels = t->n;
        for (int i = 0; i < t->n; i++)
            out->channel[i] = (struct jm_mlperf_values){t->w[k * t->n + i], NAN, NAN, NAN};
    }
    if (t->volts[0] >= 0) {
        out->sum.volts = t->vap[k][0];
        out->sum.amps = t->vap[k][1];
        out->sum.pf = t->vap[k][2];
    }
}
