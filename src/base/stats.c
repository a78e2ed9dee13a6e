/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

double jm_stats_sum(const double *x, size_t n)
{
    double sum = 0, lost = 0; /* Neumaier */
    for (size_t i = 0; i < n; i++) {
        double t = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? (sum - t) + x[i] : (x[i] - t) + sum;
        sum = t;
    }
    return isfinite(sum) ? sum + lost : sum;
}

double jm_stats_mean(const double *x, size_t n)
{
    return n ? jm_stats_sum(x, n) / (double)n : NAN;
}

double jm_stats_sd(const double *x, size_t n)
{
    if (n < 2)
        return NAN;
    double m = jm_stats_mean(x, n), ss = 0, dev = 0;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - m;
        ss += d * d;
        dev += d; /* corrects the rounding of the mean */
    }
    double var = (ss - dev * dev / (double)n) / (double)(n - 1);
    return sqrt(var > 0 ? var : 0);
}

/* Order of doubles as that of integers: negative ones reversed, NaN (of either sign) behind all. */
static uint64_t key_of(double x)
{
    uint64_t u;
    if (isnan(x))
        return UINT64_MAX;
    memcpy(&u, &x, sizeof u);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static double of_key(uint64_t k)
{
    double x;
    if (k == UINT64_MAX)
        return NAN;
    k = k >> 63 ? k & ~(UINT64_C(1) << 63) : ~k;
    memcpy(&x, &k, sizeof x);
    return x;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = key_of(*(const double *)a), y = key_of(*(const double *)b);
    return (x > y) - (x < y);
}

/* Many values: by bytes of their keys, 11 bits at a time, which takes no comparison. */
static bool radix_sort(double *x, size_t n)
{
    enum { BITS = 11, BINS = 1 << BITS, PASSES = 6 };
    uint64_t *a = malloc(2 * n * sizeof *a);
    uint32_t(*count)[BINS] = calloc(PASSES, sizeof *count);
    if (!a || !count) {
        free(a);
        free(count);
        return false;
    }
    uint64_t *b = a + n;
    for (size_t i = 0; i < n; i++) {
        a[i] = key_of(x[i]);
        for (int p = 0; p < PASSES; p++)
            count[p][a[i] >> (BITS * p) & (BINS - 1)]++;
    }
    for (int p = 0; p < PASSES; p++) {
        uint32_t at = 0;
        for (size_t k = 0; k < BINS; k++) {
            uint32_t c = count[p][k];
            count[p][k] = at;
            at += c;
        }
        for (size_t i = 0; i < n; i++)
            b[count[p][a[i] >> (BITS * p) & (BINS - 1)]++] = a[i];
        uint64_t *t = a;
        a = b;
        b = t;
    }
    for (size_t i = 0; i < n; i++) /* an even number of passes: back in the first half */
        x[i] = of_key(a[i]);
    free(a);
    free(count);
    return true;
}

void jm_stats_sort(double *x, size_t n)
{
    if (n > 1 && !(n > 2000 && n < UINT32_MAX && radix_sort(x, n)))
        qsort(x, n, sizeof *x, by_value);
}

double jm_stats_quantile_sorted(const double *x, size_t n, double q)
{
    if (!n || !(q >= 0) || !(q <= 1))
        return NAN;
    double h = q * (double)(n - 1);
    size_t i = (size_t)h;
    if (i + 1 >= n)
        return x[n - 1];
    double f = h - (double)i;
    return f > 0 ? x[i] + f * (x[i + 1] - x[i]) : x[i];
}

int jm_stats_t_interval(const double *x, size_t n, double level, double *mean, struct jm_interval *out)
{
    if (n < 2 || !(level > 0) || !(level < 1))
        return JM_EINVAL;
    double m = jm_stats_mean(x, n), dof = (double)(n - 1);
    double half = jm_stats_t_quantile(0.5 + level / 2, dof) * jm_stats_sd(x, n) / sqrt((double)n);
    *mean = m;
    *out = (struct jm_interval){m - half, m + half, level, dof};
    return 0;
}

/* P(B <= k), B binomial(n, q): I_{1-q}(n - k, k + 1) (DLMF 8.17.5). */
static double binomial_cdf(double k, double n, double q)
{
    if (k < 0)
        return 0;
    if (k >= n)
        return 1;
    return jm_stats_beta_inc(n - k, k + 1, 1 - q);
}

/* Smallest k in [0, n] with P(B <= k) >= p. */
static size_t binomial_quantile(double p, size_t n, double q)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (binomial_cdf((double)mid, (double)n, q) >= p)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

int jm_stats_quantile_interval(const double *sorted, size_t n, double q, double level,
                               struct jm_interval *out)
{
    if (!(q > 0) || !(q < 1) || !(level > 0) || !(level < 1))
        return JM_EINVAL;
    if (!n)
        return JM_EAGAIN;
    /* B counts the values below the quantile. It lies below x(l) when B < l and above x(u) when B >= u (from
     * 1), so l is the largest with P(B < l) <= a and u the smallest with P(B >= u) <= a. */
    double a = (1 - level) / 2;
    size_t l = binomial_quantile(a, n, q);
    if (binomial_cdf((double)l, (double)n, q) <= a)
        l++; /* equality counts */
    size_t u = binomial_quantile(1 - a, n, q) + 1;
    if (l < 1 || u > n)
        return JM_EAGAIN;
    *out = (struct jm_interval){sorted[l - 1], sorted[u - 1], level, NAN};
    return 0;
}

void jm_stats_clopper_pearson(uint64_t k, uint64_t n, double level, struct jm_interval *out)
{
    *out = (struct jm_interval){NAN, NAN, level, NAN};
    if (!n || k > n || !(level > 0) || !(level < 1))
        return;
    double a = (1 - level) / 2, dk = (double)k, rest = (double)(n - k);
    out->lo = k == 0 ? 0 : jm_stats_beta_quantile(a, dk, rest + 1);
    out->hi = k == n ? 1 : jm_stats_beta_quantile(1 - a, dk + 1, rest);
}

void jm_stats_wilson(uint64_t k, uint64_t n, double level, struct jm_interval *out)
{
    *out = (struct jm_interval){NAN, NAN, level, INFINITY};
    if (!n || k > n || !(level > 0) || !(level < 1))
        return;
    double z = jm_stats_norm_quantile(0.5 + level / 2), dn = (double)n, p = (double)k / dn, z2 = z * z;
    double mid = (p + z2 / (2 * dn)) / (1 + z2 / dn);
    double half = z / (1 + z2 / dn) * sqrt(p * (1 - p) / dn + z2 / (4 * dn * dn));
    out->lo = k == 0 ? 0 : fmax(0, mid - half);
    out->hi = k == n ? 1 : fmin(1, mid + half);
}

int jm_stats_line(const double *x, const double *y, const double *w, size_t n, struct jm_fit *out,
                  struct jm_err *err)
{
    if (n < 3)
        return jm_err_set(err, JM_EINVAL, "a line with its errors needs at least 3 points, there are %zu", n);
    double sw = 0, mx = 0, my = 0;
    for (size_t i = 0; i < n; i++) {
        double wi = w ? w[i] : 1;
        if (!(wi >= 0) || !isfinite(wi) || !isfinite(x[i]) || !isfinite(y[i]))
            return jm_err_set(err, JM_EINVAL,
                              "point %zu of the line is not a finite number with a weight of 0 or more", i);
        sw += wi;
        mx += wi * x[i];
        my += wi * y[i];
    }
    if (!(sw > 0))
        return jm_err_set(err, JM_EINVAL, "every point of the line has the weight 0");
    mx /= sw;
    my /= sw;
    double sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 0; i < n; i++) {
        double wi = w ? w[i] : 1, dx = x[i] - mx, dy = y[i] - my;
        sxx += wi * dx * dx;
        sxy += wi * dx * dy;
        syy += wi * dy * dy;
    }
    if (!(sxx > 0))
        return jm_err_set(err, JM_EINVAL, "no line goes through points that all have the same x");
    struct jm_fit f = {.b = sxy / sxx, .dof = (double)(n - 2)};
    f.a = my - f.b * mx;
    double sse = 0;
    for (size_t i = 0; i < n; i++) {
        double r = (y[i] - my) - f.b * (x[i] - mx);
        sse += (w ? w[i] : 1) * r * r;
    }
    f.resid_sd = sqrt(sse / f.dof);
    f.se_b = f.resid_sd / sqrt(sxx);
    f.se_a = f.resid_sd * sqrt(1 / sw + mx * mx / sxx);
    f.r2 = syy > 0 ? 1 - sse / syy : NAN;
    *out = f;
    return 0;
}

/* The k-th smallest of x (from 0); everything before it in x is not larger afterwards. */
static double select_kth(double *x, size_t n, size_t k)
{
    size_t lo = 0, hi = n - 1;
    while (lo < hi) {
        double pivot = x[lo + (hi - lo) / 2];
        size_t i = lo, j = hi;
        for (;;) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i >= j)
                break;
            double t = x[i];
            x[i++] = x[j];
            x[j--] = t;
        }
        if (k <= j)
            hi = j;
        else
            lo = j + 1;
    }
    return x[k];
}

static double median(double *x, size_t n)
{
    double upper = select_kth(x, n, n / 2);
    if (n % 2)
        return upper;
    double lower = x[0];
    for (size_t i = 1; i < n / 2; i++)
        lower = fmax(lower, x[i]);
    return lower + (upper - lower) / 2;
}

double jm_stats_theil_sen(const double *x, const double *y, size_t n)
{
    enum { MOST = 2000 };
    if (n < 2)
        return NAN;
    size_t m = n < MOST ? n : MOST, count = 0;
    double *slope = malloc(m * (m - 1) / 2 * sizeof *slope);
    if (!slope)
        return NAN;
    for (size_t i = 0; i < m; i++) {
        size_t p = m > 1 ? (size_t)((double)i * (double)(n - 1) / (double)(m - 1)) : 0;
        for (size_t j = i + 1; j < m; j++) {
            size_t q = (size_t)((double)j * (double)(n - 1) / (double)(m - 1));
            double s = (y[q] - y[p]) / (x[q] - x[p]);
            if (isfinite(s))
                slope[count++] = s;
        }
    }
    double out = count ? median(slope, count) : NAN;
    free(slope);
    return out;
}

double jm_stats_welch_dof(const double *u, const double *nu, size_t n)
{
    double biggest = 0, sum2 = 0, sum4 = 0;
    for (size_t i = 0; i < n; i++)
        biggest = fmax(biggest, fabs(u[i]));
    if (!(biggest > 0))
        return INFINITY;
    for (size_t i = 0; i < n; i++) {
        double r = u[i] / biggest; /* fourth powers of small uncertainties would underflow */
        sum2 += r * r;
        if (isfinite(nu[i]))
            sum4 += r * r * r * r / nu[i];
    }
    return sum4 > 0 ? sum2 * sum2 / sum4 : INFINITY;
}
