/* SPDX-License-Identifier: Apache-2.0 */
/* What the analyzer shows: an update every RATE, each the mean over the time since the one before. */
#include "analyzer/analyzer.h"
#include "sim_main.h"
#include "simgpu_power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STATE_NS 150000000

void siman_reset(struct siman *a)
{
    a->v_auto = a->o->volt_range == 0;
    a->a_auto = a->o->amp_range == 0;
    a->v_range = simwt_range(a->m->volts, a->v_auto ? a->o->load.volts : a->o->volt_range);
    a->a_range = simwt_range(a->m->amps, a->a_auto ? a->m->amps[0] : a->o->amp_range);
    a->header = a->hold = a->is_float = false;
    a->verbose = true;
    a->cfac = 3;
    a->rate_ns = 250000000;
    a->items = 3;
    memset(a->item, 0, sizeof a->item);
    a->item[0] = (struct siman_item){Q_U, 1};
    a->item[1] = (struct siman_item){Q_I, 1};
    a->item[2] = (struct siman_item){Q_P, 1};
    a->integ = INTEG_RESET;
    a->timer_ns = 0;
    siman_integrate(a, INTEG_RESET);
    int64_t now = simclock_now(&a->clock);
    a->next_ns = now + a->rate_ns;
}

void siman_integrate(struct siman *a, enum siman_integration to)
{
    a->integ = to;
    if (to == INTEG_RESET) {
        a->integ_ns = 0;
        memset(a->wh, 0, sizeof a->wh);
        memset(a->ah, 0, sizeof a->ah);
    }
}

struct siman_fault *siman_fault(struct siman *a, int kind)
{
    int64_t t = simclock_now(&a->clock) - a->start_ns;
    for (int i = 0; i < a->o->faults; i++) {
        struct siman_fault *f = &a->o->fault[i];
        if (f->kind == kind && !f->done && t >= f->at_ns && t - f->at_ns < f->length_ns)
            return f;
    }
    return NULL;
}

static bool ranges(struct siman *a, double watts)
{
    double v = a->v_range, i = a->a_range, amps = 0;
    for (int e = 0; e < a->o->elements; e++)
        amps = fmax(amps, simwt_amps(&a->o->load, watts, e));
    if (!isfinite(amps))
        return false;
    if (a->v_auto)
        a->v_range = simwt_auto(a->m->volts, v, a->o->load.volts);
    if (a->a_auto)
        a->a_range = simwt_auto(a->m->amps, i, amps);
    bool changed = a->v_range != v || a->a_range != i;
    a->range_changes += changed;
    return changed;
}

static void integrate(struct siman *a, int64_t t0, int64_t t1)
{
    if (a->integ != INTEG_START)
        return;
    if (a->timer_ns && a->integ_ns + (t1 - t0) >= a->timer_ns)
        t1 = t0 + a->timer_ns - a->integ_ns;
    double h = simwall_energy_j(a->wall, t0, t1) / 3600 * a->o->gain;
    for (int e = 0; e < a->o->elements; e++) {
        double wh = h * a->o->load.split[e];
        a->wh[e + 1] += wh;
        a->wh[0] += wh;
        a->ah[e + 1] += wh / (a->o->load.volts * a->o->load.pf);
    }
    a->integ_ns += t1 - t0;
    if (a->timer_ns && a->integ_ns >= a->timer_ns)
        a->integ = INTEG_TIMEUP;
}

static void update(struct siman *a, int64_t t0, int64_t t1)
{
    double watts = simwall_energy_j(a->wall, t0, t1) / ((double)(t1 - t0) / 1e9) * a->o->gain, u = 0;
    struct simwt_load load = a->o->load;
    struct siman_fault *f = siman_fault(a, AF_OVER);
    for (int i = 0; i < 12; i++)
        u += (double)(simgpu_hash(a->o->seed ^ 0x414eu, 3, a->draws++) >> 11) * 0x1p-53;
    watts *= 1 + a->o->noise * (u - 6);
    if (f)
        load.crest = f->number;
    integrate(a, t0, t1);
    bool none = ranges(a, watts) || siman_fault(a, AF_NAN), inf = siman_fault(a, AF_INF);
    uint32_t c = C_UPD | (a->integ == INTEG_START ? C_ITG : 0) | (a->integ == INTEG_TIMEUP ? C_ITM : 0);
    struct simwt_value now[SIMWT_ELEMENTS + 1] = {0}, sum = {0};
    double q = 0;
    int live = 0;
    for (int e = 0; e < a->o->elements; e++) {
        struct simwt_value *v = &now[e + 1];
        simwt_read(a->m, &load, watts, e, a->v_range, a->a_range, v);
        v->flags |= (none ? SIMWT_NONE : 0u) | (inf ? SIMWT_OVER : 0u);
        if (v->flags & SIMWT_OVER)
            c |= C_OVR(e);
        if (v->flags & SIMWT_PEAK)
            c |= C_POA(e);
        sum.flags |= v->flags;
        sum.w += v->w;
        sum.v += v->v;
        sum.a += v->a;
        double va = v->v * v->a;
        q += sqrt(fmax(0, va * va - v->w * v->w));
        live += v->v > 0;
    }
    if (live) {
        sum.v /= live;
        sum.a /= live;
    }
    sum.pf = sum.w > 0 ? sum.w / sqrt(sum.w * sum.w + q * q) : 0;
    if (sum.flags & SIMWT_OVER)
        c |= C_OVRS;
    now[0] = sum;
    if (!a->hold)
        memcpy(a->now, now, sizeof now);
    a->event |= c & ~a->condition;
    a->event |= C_UPD;
    a->condition = c;
    a->updated = true;
}

void siman_tick(struct siman *a)
{
    int64_t late = simwall_is_state(a->wall) ? STATE_NS : 0, now = simclock_now(&a->clock) - late;
    if (now - a->next_ns > 3600000000000) /* nobody looked for an hour: one long block, not thousands */
        integrate(a, a->next_ns, now - 2 * a->rate_ns), a->next_ns = now - a->rate_ns;
    while (now >= a->next_ns) {
        update(a, a->next_ns - a->rate_ns, a->next_ns);
        a->next_ns += a->rate_ns;
    }
}

int siman_prepare(struct siman *a, char *why, size_t n)
{
    struct siman_options *o = a->o;
    a->m = o->m;
    if (!o->split)
        for (int e = 0; e < o->elements; e++)
            o->load.split[e] = 1.0 / o->elements;
    a->start_ns = simclock_now(&a->clock);
    siman_reset(a);
    if (a->v_range == 0 || a->a_range == 0) {
        snprintf(why, n, "the analyzer has no such range.");
        return SIM_USAGE;
    }
    if (simwall_open(&a->wall, o->waveform, o->seed, a->start_ns, why, n) < 0)
        return SIM_USAGE;
    return 0;
}

int siman_write_truth(const struct siman *a, char *why, size_t n)
{
    if (!a->o->truth)
        return 0;
    FILE *f = fopen(a->o->truth, "we");
    if (f) {
        fprintf(f,
                "{\n \"schema\": \"joulemark-sim.wall-truth/1\",\n \"simulated\": true,\n \"waveform\": \"");
        for (const char *c = simwall_spec(a->wall); *c; c++)
            fprintf(f, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        fprintf(f, "\",\n \"seed\": %llu,\n \"start_unix_ns\": %lld,\n \"end_unix_ns\": %lld\n}\n",
                (unsigned long long)a->o->seed, (long long)simwall_start(a->wall),
                (long long)simclock_now(&a->clock));
        if (fclose(f) == 0)
            return 0;
    }
    snprintf(why, n, "cannot write the truth to %.300s.", a->o->truth);
    return -1;
}
