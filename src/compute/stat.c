/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/stat.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

#include "base/banned.h"

#define MIN_BATCHES   10
#define MAX_BATCHES   30
#define TAUS_A_BATCH  10
#define BATCH_SECONDS 5.0
#define SOKAL_WINDOW  2.5 /* 5 of his, which counts one side of zero and half of it */

static double level_of(double level)
{
    return level > 0 && level < 1 ? level : 0.95;
}

static int finite_all(const double *x, size_t n, struct jm_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return jm_err_set(
                err, JM_EINVAL,
                "sample %zu of %zu is not a finite number: leave out what is missing, it is not 0", i + 1, n);
    return 0;
}

double jm_stat_autocorr_time(const double *x, size_t n)
{
    if (n < 8)
        return NAN;
    double m = jm_stats_mean(x, n), c0 = 0, tau = 1;
    for (size_t i = 0; i < n; i++)
        c0 += (x[i] - m) * (x[i] - m);
    if (!(c0 > 0))
        return NAN;
    /* longer ones are not to be had from so few samples, and batch means refuse them anyway */
    size_t most = n / 20 > 20 ? n / 20 : n / 2 < 20 ? n / 2 : 20;
    for (size_t k = 1; k < most; k++) {
        double c = 0;
        for (size_t i = 0; i + k < n; i++)
            c += (x[i] - m) * (x[i + k] - m);
        tau += 2 * c / c0;
        if ((double)k >= SOKAL_WINDOW * tau)
            break;
    }
    return tau > 1 ? tau : 1;
}

/* How the series is cut: length of a batch and how many. */
static int cut(const double *x, size_t n, const struct jm_batch_opts *o, struct jm_batch_means *out,
               struct jm_err *err)
{
    double dt = o ? o->dt : 0, seconds = o && o->min_seconds > 0 ? o->min_seconds : BATCH_SECONDS;
    int rc = finite_all(x, n, err);
    if (rc)
        return rc;
    *out = (struct jm_batch_means){
        .mean = NAN, .interval = {NAN, NAN, NAN, NAN}, .tau = NAN, .lag1 = NAN, .needs_n = NAN};
    double tau = jm_stat_autocorr_time(x, n);
    out->tau = tau;
    double least = TAUS_A_BATCH * (tau > 1 ? tau : 1);
    if (dt > 0 && seconds / dt > least)
        least = seconds / dt;
    least = ceil(least);
    if (!(least * MIN_BATCHES <= (double)n)) {
        out->needs_n = least * MIN_BATCHES;
        return jm_err_set(err, JM_EAGAIN,
                          "%zu samples are too few for batch means: %d batches of %.0f samples (10 "
                          "autocorrelation times of %.3g samples, and 5 s) take %.0f; measure longer",
                          n, MIN_BATCHES, least, tau > 1 ? tau : 1, out->needs_n);
    }
    size_t b = (size_t)((double)n / least);
    out->batches = b < MAX_BATCHES ? b : MAX_BATCHES;
    out->length = n / out->batches;
    out->dropped = n - out->batches * out->length;
    return 0;
}

static void batch_of(const double *x, const struct jm_batch_means *cut, double *mean)
{
    for (size_t k = 0; k < cut->batches; k++)
        mean[k] = jm_stats_mean(x + cut->dropped + k * cut->length, cut->length);
}

static void finish(double *d, double scale, const struct jm_batch_opts *o, struct jm_batch_means *out)
{
    double m = jm_stats_mean(d, out->batches), ss = 0, cross = 0, half, level = level_of(o ? o->level : 0);
    for (size_t k = 0; k < out->batches; k++) {
        ss += (d[k] - m) * (d[k] - m);
        if (k)
            cross += (d[k] - m) * (d[k - 1] - m);
    }
    double dof = (double)(out->batches - 1);
    out->lag1 = ss > 0 ? cross / ss : NAN;
    half = jm_stats_t_quantile(0.5 + level / 2, dof) * sqrt(ss / dof / (double)out->batches) / scale;
    out->interval = (struct jm_interval){out->mean - half, out->mean + half, level, dof};
}

int jm_stat_batch_means(const double *x, size_t n, const struct jm_batch_opts *o, struct jm_batch_means *out,
                        struct jm_err *err)
{
    double d[MAX_BATCHES];
    int rc = cut(x, n, o, out, err);
    if (rc)
        return rc;
    batch_of(x, out, d);
    out->mean = jm_stats_mean(d, out->batches);
    finish(d, 1, o, out);
    return 0;
}

int jm_stat_batch_ratio(const double *y, const double *x, size_t n, const struct jm_batch_opts *o,
                        struct jm_batch_means *out, struct jm_err *err)
{
    double sy = jm_stats_sum(y, n), sx = jm_stats_sum(x, n), my[MAX_BATCHES], mx[MAX_BATCHES];
    int rc = finite_all(y, n, err);
    if (!rc)
        rc = finite_all(x, n, err);
    if (rc)
        return rc;
    if (!(sx > 0))
        return jm_err_set(err, JM_EINVAL,
                          "the denominator of the ratio sums to %.6g: there is nothing to divide by", sx);
    /* what correlates is the residual, not the two by themselves */
    double *r = malloc((n ? n : 1) * sizeof *r);
    if (!r)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu residuals of a ratio", n);
    for (size_t i = 0; i < n; i++)
        r[i] = y[i] - sy / sx * x[i];
    rc = cut(r, n, o, out, err);
    free(r);
    if (rc)
        return rc;
    batch_of(y, out, my);
    batch_of(x, out, mx);
    double all = jm_stats_mean(mx, out->batches);
    if (!(all > 0))
        return jm_err_set(err, JM_EAGAIN, "the batches hold nothing of the denominator: measure longer");
    out->mean = jm_stats_mean(my, out->batches) / all;
    for (size_t k = 0; k < out->batches; k++)
        my[k] -= out->mean * mx[k];
    finish(my, all, o, out);
    return 0;
}

double jm_stat_mean_of(const size_t *index, size_t n, void *values)
{
    const double *x = values;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[index[i]];
    return sum / (double)n;
}

double jm_stat_ratio_of(const size_t *index, size_t n, void *ratio)
{
    const struct jm_ratio_of *r = ratio;
    double y = 0, x = 0;
    for (size_t i = 0; i < n; i++) {
        y += r->y[index[i]];
        x += r->x[index[i]];
    }
    return x > 0 ? y / x : NAN;
}

static void draw(struct jm_rng *rng, size_t n, size_t block, size_t *index)
{
    for (size_t k = 0; k < n;) {
        size_t from = (size_t)jm_rng_below(rng, n);
        for (size_t j = 0; j < block && k < n; j++, k++)
            index[k] = from + j < n ? from + j : from + j - n;
    }
}

/* One value's part of the answer, from its replicates. */
static int percentiles(double *v, size_t reps, double level, struct jm_bootstrap *out, struct jm_err *err)
{
    size_t kept = 0;
    for (size_t r = 0; r < reps; r++)
        if (isfinite(v[r]))
            v[kept++] = v[r];
    out->reps = kept;
    out->failed = reps - kept;
    if (!isfinite(out->value))
        return jm_err_set(err, JM_EAGAIN, "the samples have no value to resample");
    if (out->failed > reps / 20)
        return jm_err_set(err, JM_EAGAIN,
                          "%zu of %zu resamples have no value: too little in the run is of this kind",
                          out->failed, reps);
    double b = (double)out->blocks,
           a = jm_stats_norm_cdf(-sqrt(b / (b - 1)) * jm_stats_t_quantile(0.5 + level / 2, b - 1));
    jm_stats_sort(v, kept);
    out->sd = jm_stats_sd(v, kept);
    out->interval = (struct jm_interval){jm_stats_quantile_sorted(v, kept, a),
                                         jm_stats_quantile_sorted(v, kept, 1 - a), level, b - 1};
    return 0;
}

int jm_stat_bootstrap_many(size_t n, size_t k, jm_statistics statistics, void *arg,
                           const struct jm_bootstrap_opts *o, struct jm_bootstrap *out, struct jm_err *err)
{
    size_t reps = o->reps ? o->reps : 1999, blocks = o->block ? n / o->block : 0;
    double level = level_of(o->level);
    for (size_t j = 0; j < k; j++)
        out[j] = (struct jm_bootstrap){
            .value = NAN, .interval = {NAN, NAN, level, NAN}, .sd = NAN, .blocks = blocks};
    if (!o->block || !k)
        return jm_err_set(err, JM_EINVAL,
                          "a bootstrap takes blocks of a length, and something to compute of them");
    if (blocks < JM_BOOTSTRAP_BLOCKS)
        return jm_err_set(
            err, JM_EAGAIN,
            "%zu samples hold %zu blocks of %zu: an interval by block bootstrap takes at least %d; "
            "measure longer",
            n, blocks, o->block, JM_BOOTSTRAP_BLOCKS);
    if (reps < 99 || reps > 1000000)
        return jm_err_set(err, JM_EINVAL, "%zu resamples: 99 to 1,000,000 make sense", reps);
    size_t *index = malloc(n * sizeof *index);
    double *v = malloc(k * (reps + 1) * sizeof *v), *one = v ? v + k * reps : NULL;
    int rc = index && v ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for a bootstrap of %zu samples", n);
    if (!rc) {
        struct jm_rng rng;
        for (size_t i = 0; i < n; i++)
            index[i] = i;
        statistics(index, n, one, arg);
        for (size_t j = 0; j < k; j++)
            out[j].value = one[j];
        for (size_t r = 0; r < reps; r++) {
            jm_rng_init_stream(&rng, o->seed, r); /* a replicate is the same whatever came before it */
            draw(&rng, n, o->block, index);
            statistics(index, n, one, arg);
            for (size_t j = 0; j < k; j++)
                v[j * reps + r] = one[j];
        }
        for (size_t j = 0; j < k; j++) {
            int bad = percentiles(v + j * reps, reps, level, &out[j], rc ? NULL : err);
            rc = rc ? rc : bad;
        }
    }
    free(index);
    free(v);
    return rc;
}

struct single {
    jm_statistic statistic;
    void *arg;
};

static void single(const size_t *index, size_t n, double *out, void *arg)
{
    const struct single *s = arg;
    *out = s->statistic(index, n, s->arg);
}

int jm_stat_bootstrap(size_t n, jm_statistic statistic, void *arg, const struct jm_bootstrap_opts *o,
                      struct jm_bootstrap *out, struct jm_err *err)
{
    struct single s = {statistic, arg};
    return jm_stat_bootstrap_many(n, 1, single, &s, o, out, err);
}

int jm_stat_warmup(const double *x, size_t n, size_t *samples, struct jm_err *err)
{
    size_t m = n / 5, best = 0;
    double s = 0, s2 = 0, least = INFINITY;
    int rc = finite_all(x, n, err);
    if (rc)
        return rc;
    if (m < 10)
        return jm_err_set(err, JM_EAGAIN, "%zu samples are too few to tell a warm-up by: 50 at least", n);
    double ref = jm_stats_mean(x, n);
    for (size_t d = m; d-- > 0;) { /* from the back, so that each sum is the last one and one more */
        double v = jm_stats_mean(x + 5 * d, 5) - ref, k = (double)(m - d);
        s += v;
        s2 += v * v;
        double mser = (s2 - s * s / k) / (k * k);
        if (k >= 5 && mser <= least) {
            least = mser;
            best = d;
        }
    }
    *samples = 5 * best;
    if (best > m / 2)
        return jm_err_set(
            err, JM_EAGAIN,
            "the series does not settle: the best cut (MSER-5) is sample %zu of %zu, in its second half; "
            "warm up longer",
            5 * best, n);
    return 0;
}

/* What is left of x beside its straight line. */
static void detrend(const double *x, size_t n, double *out)
{
    double m = jm_stats_mean(x, n), mid = ((double)n - 1) / 2, num = 0, den = 0;
    for (size_t i = 0; i < n; i++) {
        num += ((double)i - mid) * (x[i] - m);
        den += ((double)i - mid) * ((double)i - mid);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] - m - (den > 0 ? num / den * ((double)i - mid) : 0);
}

int jm_stat_drift(const double *x, size_t n, const struct jm_batch_opts *o, struct jm_drift *out,
                  struct jm_err *err)
{
    struct jm_batch_means c;
    double t[MAX_BATCHES], mean[MAX_BATCHES], level = level_of(o ? o->level : 0);
    struct jm_fit f;
    double *rest = malloc((n ? n : 1) * sizeof *rest);
    if (!rest)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the drift of %zu samples", n);
    detrend(x, n, rest); /* a drift itself makes all samples alike: what is left of it must not be */
    int rc = cut(rest, n, o, &c, err);
    free(rest);
    if (rc)
        return rc;
    batch_of(x, &c, mean);
    for (size_t k = 0; k < c.batches; k++)
        t[k] = ((double)k + 0.5) * (double)c.length;
    if ((rc = jm_stats_line(t, mean, NULL, c.batches, &f, err)))
        return rc;
    double all = jm_stats_mean(mean, c.batches), span = (double)n;
    double half = jm_stats_t_quantile(0.5 + level / 2, f.dof) * f.se_b;
    double scale = all != 0 ? span / fabs(all) : NAN;
    out->per_second = o && o->dt > 0 ? f.b / o->dt : NAN;
    out->relative = f.b * scale;
    out->interval = (struct jm_interval){(f.b - half) * scale, (f.b + half) * scale, level, f.dof};
    out->p = f.se_b > 0 ? 2 * jm_stats_t_tail(fabs(f.b) / f.se_b, f.dof) : f.b != 0 ? 0 : 1;
    return 0;
}
