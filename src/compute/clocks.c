/* SPDX-License-Identifier: Apache-2.0 */
/* Which clock made the stamps of a channel, and how wrong may it be against the one that the windows are on?
 *
 *  - stamped by the reader on the host of the windows: the same clock; half of a read's round trip, which is
 *    known reading by reading (edges.c), is all;
 *  - stamped by the instrument: its clock was asked (clock.offset), and lies at the middle of the request to
 *    half of the round trip (model/farclock.h); that offset is taken out. Never asked: not known;
 *  - of a merged run: the bounds of both hosts' clocks (merge.N.clock.bound_s). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "compute/calc.h"
#include "compute/observe.h"
#include "model/farclock.h"

#include "base/banned.h"

#define BESIDE_NS (600 * JM_NS_PER_S)
#define FAR       (INT64_MAX / 4) /* no time of a real reading; sums and differences of the rest fit */

static int asked(struct jm_calc *c, const struct jm_channel *ch, int64_t at, struct jm_clock_doubt *out)
{
    size_t n;
    const struct jm_channel *all = jm_run_channels(c->run, &n), *of = NULL;
    struct jm_readings r = {0};
    struct jm_far_clock far;
    struct jm_far_offset o;
    out->bound_s = NAN;
    for (size_t i = 0; i < n && !of; i++)
        if (strcmp(all[i].name, "clock.offset") == 0 && strcmp(all[i].device, ch->device) == 0 &&
            all[i].unit == JM_U_S)
            of = &all[i];
    if (!of)
        return 0;
    int rc = jm_run_readings(c->run, of->id, jm_add_ns(at, -BESIDE_NS), jm_add_ns(at, BESIDE_NS), &r, c->err);
    jm_far_clock_init(&far, 0);
    for (size_t i = 0; !rc && i < r.n; i++) {
        const struct jm_reading *v = &r.v[i];
        double s = jm_channel_value(of, v->value);
        if (v->status == JM_S_OK && fabs(s) < 1e9 && v->t0 >= -FAR && v->t0 <= v->t1 && v->t1 <= FAR)
            jm_far_clock_look(&far, v->t0, v->t1, v->t0 + (v->t1 - v->t0) / 2 + llround(s * 1e9), 1);
    }
    if (!rc && jm_far_clock_at(&far, at, &o) && !o.stepped) {
        out->offset_s = (double)o.offset / 1e9;
        out->bound_s = (double)o.bound / 1e9;
    }
    jm_readings_release(&r);
    return rc;
}

/* Of host k of a merged run; NAN: nobody tells. */
static double host_bound(const struct jm_run *run, int k)
{
    char key[48];
    double s;
    snprintf(key, sizeof key, "merge.%d.clock.bound_s", k);
    const char *text = jm_run_env(run, key);
    return text && !jm_num_double(jm_span_of(text), &s) && s >= 0 ? s : NAN;
}

/* Instruments of every host but the one of the windows are off by both clocks; which host's meter it is, is
 * told by merge.N.meters. */
static double merged(const struct jm_run *run, const struct jm_channel *ch)
{
    char key[48];
    int of = -1, hosts = 0;
    int64_t first = 0, n;
    for (;; hosts++) {
        snprintf(key, sizeof key, "merge.%d", hosts);
        if (!jm_run_env(run, key))
            break;
        snprintf(key, sizeof key, "merge.%d.meters", hosts);
        const char *text = jm_run_env(run, key);
        if (!text || jm_num_i64(jm_span_of(text), &n) || n < 0)
            continue;
        if (ch->meter >= first && ch->meter < first + n)
            of = hosts;
        first += n;
    }
    if (hosts < 2)
        return 0;
    double mine = of < 0 ? NAN : host_bound(run, of), other = 0;
    for (int k = 0; k < hosts; k++)
        if (k != of) {
            double b = host_bound(run, k);
            other = isnan(b) || b > other ? b : other;
            if (isnan(b))
                break;
        }
    return mine + other;
}

int jm_clock_doubt(struct jm_calc *c, const struct jm_channel *ch, int64_t at, struct jm_clock_doubt *out)
{
    *out = (struct jm_clock_doubt){0, 0};
    int rc = ch->flags & JM_CHF_STAMPED ? asked(c, ch, at, out) : 0;
    out->bound_s += merged(c->run, ch);
    return rc;
}
