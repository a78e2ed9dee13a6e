/* SPDX-License-Identifier: Apache-2.0 */
/* The refresh period of an instrument, from the times at which what it shows changed. */
#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "compute/lag.h"
#include "compute/observe.h"

#include "base/banned.h"

#define PERIOD_MAX 12.0
#define PERIOD_OK  0.7

static double score_of(const double *d, size_t n, double period)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += cos(2 * M_PI * d[i] / period);
    return sum / (double)n;
}

/* Distances of changes that lie not too many periods apart: a small error of the period must not count
 * thousandfold. Returns how many. */
static size_t distances(const struct jm_reading *r, size_t n, double longest, double *d, double *h)
{
    size_t k = 0, prev = n;
    double last = NAN, wide = 0;
    for (size_t i = 0; i < n; i++) {
        if (r[i].status != JM_S_OK) {
            prev = n;
            last = NAN;
            continue;
        }
        if (prev < n && r[i].value != r[prev].value) {
            double lo = jm_seconds_between(r[prev].t0, r[0].t0), hi = jm_seconds_between(r[i].t1, r[0].t0),
                   at = 0.5 * (lo + hi);
            wide += hi - lo;
            if (isfinite(last) && at - last <= longest)
                d[k++] = at - last;
            last = at;
        }
        prev = i;
    }
    *h = k ? wide / (double)(k + 1) : 0;
    return k;
}

/* The period near `p` that fits best, over multiples. */
static double polish(const double *d, size_t n, double p)
{
    for (int pass = 0; pass < 5; pass++) {
        double sd = 0, sk = 0;
        for (size_t i = 0; i < n; i++) {
            double k = round(d[i] / p);
            if (k >= 1 && fabs(d[i] - k * p) < 0.3 * p) {
                sd += d[i] * k;
                sk += k * k;
            }
        }
        if (!(sk > 0))
            break;
        p = sd / sk;
    }
    return p;
}

bool jm_period_find(const struct jm_reading *r, size_t n, struct jm_period *out)
{
    double h, best = 0, at = 0;
    *out = (struct jm_period){.period = NAN, .u = NAN};
    if (n < 16)
        return false;
    double *d = calloc(n, sizeof *d), span = jm_seconds_between(r[n - 1].t0, r[0].t0);
    out->poll = span / (double)(n - 1);
    if (!d || !(out->poll > 0)) {
        free(d);
        return false;
    }
    size_t k = distances(r, n, fmin(PERIOD_MAX * 4, span), d, &h);
    out->n = k;
    if (k < 8) {
        free(d);
        return false;
    }
    if ((double)k > 0.45 * (double)n) { /* something new at nearly each look */
        out->below = true;
        out->period = 2 * out->poll;
        out->score = 1;
        free(d);
        return true;
    }
    /* by chance alone, the best of some thousand periods scores sqrt(ln 3000 / k): the mean of k cosines has
     * a standard deviation of 1 / sqrt(2 k) */
    double sure = fmax(PERIOD_OK, 1.3 * sqrt(8 / (double)k));
    double least = fmax(2.5 * out->poll, 2 * h), most = PERIOD_MAX;
    jm_stats_sort(d, k);
    double median = d[k / 2];
    most = fmin(most, 1.5 * median);
    /* the longest period that scores nearly as well as any: its parts score as well */
    for (int pass = 0; pass < 2; pass++)
        for (double p = most; p >= least; p *= 1 - fmin(2e-3, 0.05 * p / fmax(median, p))) {
            double s = score_of(d, k, p);
            if (pass == 0) {
                best = fmax(best, s);
            } else if (s >= best - 0.08 && s >= sure) {
                /* up to the top of this hill */
                double top = s;
                at = p;
                for (double q = p; q >= 0.97 * p; q *= 0.9995) {
                    double v = score_of(d, k, q);
                    if (v > top) {
                        top = v;
                        at = q;
                    }
                }
                out->score = top;
                break;
            }
        }
    if (at > 0) {
        double sq = 0, sk = 0;
        at = polish(d, k, at);
        for (size_t i = 0; i < k; i++) {
            double m = round(d[i] / at), e = d[i] - m * at;
            if (m >= 1 && fabs(e) < 0.3 * at) {
                sq += e * e;
                sk += m * m;
            }
        }
        out->period = at;
        /* neighbouring distances share a bracket, so that their errors do not average out as fast */
        out->u = sqrt(sq / fmax(1, (double)k - 1) / fmax(1, sk)) * sqrt(2);
    }
    free(d);
    return at > 0;
}
