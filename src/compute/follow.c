/* SPDX-License-Identifier: Apache-2.0 */
/* Does one power gauge follow another, and how late? */
#include <math.h>
#include <stdlib.h>

#include "compute/observe.h"
#include "compute/reconcile.h"

#include "base/banned.h"

#define STEP_NS   JM_NS_PER_S
#define LEAST     30   /* steps */
#define MOST      7200 /* steps of a long window that are looked at */
#define LAG_STEPS 60   /* no BMC averages over more than a minute unsaid */

/* Values on the grid, by straight lines between readings; returns how many there are from the start on, NAN
 * where nothing is known. */
static bool resample(const struct jm_channel *c, const struct jm_readings *r, int64_t t0, double *v, size_t n)
{
    size_t at = 0, good = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t t = t0 + (int64_t)i * STEP_NS;
        v[i] = NAN;
        while (at + 1 < r->n && r->v[at + 1].t1 <= t)
            at++;
        if (at + 1 >= r->n || r->v[at].t1 > t || r->v[at].status != JM_S_OK || r->v[at + 1].status != JM_S_OK)
            continue;
        double x = jm_channel_value(c, r->v[at].value), y = jm_channel_value(c, r->v[at + 1].value),
               span = jm_seconds_between(r->v[at + 1].t1, r->v[at].t1);
        v[i] = span > 0 ? x + (y - x) * jm_seconds_between(t, r->v[at].t1) / span : x;
        good++;
    }
    return good >= LEAST;
}

static double swing(const double *v, size_t n)
{
    double s = 0, q = 0, m = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) {
            s += v[i];
            m++;
        }
    s = m > 0 ? s / m : NAN;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i]))
            q += (v[i] - s) * (v[i] - s);
    return s > 0 && m > 1 ? sqrt(q / (m - 1)) / s : NAN;
}

/* Correlation of a, `lag` steps later, with b. */
static double alike(const double *a, const double *b, size_t n, size_t lag)
{
    double ma = 0, mb = 0, k = 0, ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i + lag < n; i++)
        if (isfinite(a[i + lag]) && isfinite(b[i])) {
            ma += a[i + lag];
            mb += b[i];
            k++;
        }
    if (k < LEAST / 2)
        return NAN;
    ma /= k;
    mb /= k;
    for (size_t i = 0; i + lag < n; i++)
        if (isfinite(a[i + lag]) && isfinite(b[i])) {
            ab += (a[i + lag] - ma) * (b[i] - mb);
            aa += (a[i + lag] - ma) * (a[i + lag] - ma);
            bb += (b[i] - mb) * (b[i] - mb);
        }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

int jm_gauges_follow(const struct jm_run *run, const struct jm_channel *a, const struct jm_channel *b,
                     int64_t t0, int64_t t1, struct jm_follow *out, struct jm_err *err)
{
    struct jm_readings ra = {0}, rb = {0};
    int64_t span; /* of a hostile file it may be beyond all time */
    if (__builtin_sub_overflow(t1, t0, &span))
        span = INT64_MAX;
    size_t n = t1 <= t0 ? 0 : span / STEP_NS < MOST ? (size_t)(span / STEP_NS) : MOST;
    *out = (struct jm_follow){.lag_s = NAN, .like = NAN, .like_0 = NAN, .swing_a = NAN, .swing_b = NAN};
    if (n < LEAST || a->kind != JM_CH_GAUGE || b->kind != JM_CH_GAUGE)
        return 0;
    double *va = calloc(2 * n, sizeof *va), *vb = va ? va + n : NULL;
    int rc = va ? jm_run_readings(run, a->id, t0, t1, &ra, err) : JM_ENOMEM;
    if (!rc)
        rc = jm_run_readings(run, b->id, t0, t1, &rb, err);
    if (!rc && resample(a, &ra, t0, va, n) && resample(b, &rb, t0, vb, n)) {
        out->swing_a = swing(va, n);
        out->swing_b = swing(vb, n);
        out->known = out->swing_b > 0.02;
        for (size_t lag = 0; lag <= LAG_STEPS && lag + LEAST <= n; lag++) {
            double like = alike(va, vb, n, lag);
            if (lag == 0)
                out->like_0 = like;
            if (isfinite(like) && !(like <= out->like)) {
                out->like = like;
                out->lag_s = (double)lag * STEP_NS / 1e9;
            }
        }
    }
    jm_readings_release(&ra);
    jm_readings_release(&rb);
    free(va);
    return rc == JM_ENOMEM ? jm_err_set(err, rc, "out of memory to compare two gauges") : rc;
}
