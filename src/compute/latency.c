/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of the requests scheduled in a window, each definition under its own id. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

static const double quantiles[] = {0.5, 0.9, 0.95, 0.99};
#define N_Q (sizeof quantiles / sizeof quantiles[0])

int jm_lat_find(const char *id)
{
    for (int l = 0; l < JM_LAT_COUNT; l++)
        if (strcmp(jm_lat_ids[l], id) == 0)
            return l;
    return -1;
}

static struct jm_result *row(struct jm_calc *c, const struct jm_calc_window *w, const char *id, double q,
                             double value, int64_t n)
{
    struct jm_result *x = jm_calc_result(c, w, id, NULL);
    if (!x)
        return NULL;
    x->quantile = q;
    x->n = n;
    x->q.have = isfinite(value);
    x->q.value = value;
    x->q.reasons = x->q.have ? NULL : "no-requests";
    x->instrument = "request log";
    return x;
}

static int samples(struct jm_calc *c, const struct jm_calc_window *w, const char *id,
                   const struct jm_samples *s)
{
    struct jm_result *x = row(c, w, id, NAN, jm_stats_mean(s->v, s->n), (int64_t)s->n);
    for (size_t i = 0; x && i < N_Q; i++) {
        struct jm_interval in;
        x = row(c, w, id, quantiles[i], jm_stats_quantile_sorted(s->v, s->n, quantiles[i]), (int64_t)s->n);
        if (x && jm_stats_quantile_interval(s->v, s->n, quantiles[i], jm_calc_level(c), &in) == 0)
            x->q.u = (struct jm_uncertainty){in.lo,
                                             in.hi,
                                             in.level,
                                             NAN,
                                             "order statistics",
                                             "sampling of requests",
                                             "repeats (one trial)"};
        else if (x)
            x->q.u.excludes = "too few requests for an interval of this quantile";
    }
    return x ? 0 : JM_ENOMEM;
}

/* A histogram with logarithmic edges over the samples: 5 buckets a factor of 2 would be noise in a picture, 3
 * are enough. */
static int histogram(struct jm_calc *c, const char *id, const struct jm_samples *s)
{
    if (!s->n)
        return 0;
    double lo = s->v[0] > 1e-6 ? s->v[0] : 1e-6, hi = s->v[s->n - 1] > lo ? s->v[s->n - 1] : lo * 1.001;
    size_t n = 40;
    struct jm_histogram *h = jm_report_hist(c->r, n);
    if (!h)
        return JM_ENOMEM;
    h->metric = id;
    h->total = s->n;
    for (size_t i = 0; i <= n; i++)
        h->edge[i] = lo * pow(hi / lo, (double)i / (double)n);
    h->edge[n] = hi;
    for (size_t i = 0, b = 0; i < s->n; i++) {
        while (b + 1 < n && s->v[i] >= h->edge[b + 1])
            b++;
        h->count[b]++;
    }
    return 0;
}

static int gap_rows(struct jm_calc *c, const struct jm_calc_window *w, enum jm_gap g)
{
    struct jm_acc *a = (struct jm_acc *)&w->gap[g];
    const char *id = jm_gap_ids[g];
    if (!(a->weight > 0))
        return 0;
    jm_acc_sort(a);
    int64_t n = llround(fmin(a->weight, 9e18));
    struct jm_result *x = row(c, w, id, NAN, jm_acc_mean(a), n);
    for (size_t i = 0; x && i < N_Q; i++) {
        if (!(x = row(c, w, id, quantiles[i], jm_acc_quantile(a, quantiles[i], JM_Q_LINEAR), n)))
            break;
        x->q.u.excludes = a->h ? "buckets of 1.6 %, repeats (one trial)" : "repeats (one trial)";
        x->instrument = a->h ? "request log, histogram of 1.6 %" : "request log";
    }
    return x ? 0 : JM_ENOMEM;
}

static int chunk_picture(struct jm_calc *c, const struct jm_calc_window *w)
{
    const struct jm_acc *a = &w->gap[JM_GAP_CHUNK];
    struct jm_loghist *h = a->weight > 0 ? calloc(1, sizeof *h) : NULL;
    size_t first = JM_LOGHIST_N, last = 0;
    if (!(a->weight > 0))
        return 0;
    if (!h)
        return JM_ENOMEM;
    jm_acc_histogram(a, h);
    for (size_t i = 0; i < JM_LOGHIST_N; i++)
        if (h->count[i]) {
            first = i < first ? i : first;
            last = i;
        }
    struct jm_histogram *out = NULL;
    if (first <= last) {
        /* eight of the fine buckets make one for the picture */
        first -= first % 8;
        size_t n = (last - first) / 8 + 1;
        out = jm_report_hist(c->r, n);
        for (size_t i = 0; out && i <= n; i++)
            out->edge[i] = jm_loghist_edge(first + 8 * i);
        for (size_t i = first; out && i <= last; i++)
            out->count[(i - first) / 8] += h->count[i];
    }
    int rc = first <= last && !out ? JM_ENOMEM : 0;
    if (out) {
        out->metric = "itl.chunk";
        out->total = h->total - h->zeros;
    }
    free(h);
    return rc;
}

int jm_results_latency(struct jm_calc *c, const struct jm_calc_window *w)
{
    int rc = 0;
    for (int l = 0; l < JM_LAT_COUNT; l++)
        jm_stats_sort(w->lat[l].v, w->lat[l].n); /* those that are kept */
    for (int l = 0; !rc && l < JM_LAT_COUNT; l++)
        if (jm_calc_lat(w, (enum jm_lat)l)->n)
            rc = samples(c, w, jm_lat_ids[l], jm_calc_lat(w, (enum jm_lat)l));
    static const enum jm_lat pictured[] = {JM_LAT_TTFT, JM_LAT_TPOT_EXCL, JM_LAT_E2E};
    for (size_t i = 0; !rc && c->picture && i < sizeof pictured / sizeof pictured[0]; i++)
        rc = histogram(c, jm_lat_ids[pictured[i]], jm_calc_lat(w, pictured[i]));
    for (int g = 0; !rc && g < JM_GAP_COUNT; g++)
        rc = gap_rows(c, w, (enum jm_gap)g);
    if (!rc && c->picture)
        rc = chunk_picture(c, w);
    c->picture = false;
    return rc ? jm_err_set(c->err, rc, "out of memory for the latencies") : 0;
}
