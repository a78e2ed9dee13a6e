/* SPDX-License-Identifier: Apache-2.0 */
/* Distribution functions and their quantiles. Every quantile is the root of its own distribution function,
 * found by Newton steps that are never allowed to leave a shrinking bracket. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/stats.h"

#include "base/banned.h"

#define TINY      1e-300
#define MAX_TERMS 20000

/* lgamma() writes a global; this does not. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Continued fraction of the incomplete beta function, DLMF 8.17.22, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < TINY ? TINY : d);
    double h = d;
    for (int m = 1; m < MAX_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = fabs(c) < TINY ? TINY : c;
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = fabs(c) < TINY ? TINY : c;
        double step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-16)
            break;
    }
    return h;
}

/* What Stirling's formula leaves of log Gamma, x >= 15 (DLMF 5.11.1). */
static double stirling(double x)
{
    double r = 1 / (x * x);
    return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / x;
}

/* x^a y^b / B(a, b), y = 1 - x. Gamma functions of many requests are so large that their differences would
 * lose what is left; with Stirling's formula the large terms cancel on paper (after DiDonato and Morris, ACM
 * TOMS 18 (1992) 360). */
static double beta_power(double a, double b, double x, double y)
{
    if (a > b)
        return beta_power(b, a, y, x);
    double log_x = x < 0.5 ? log(x) : log1p(-y), log_y = y < 0.5 ? log(y) : log1p(-x), c = a + b;
    if (b < 15)
        return exp(log_gamma(c) - log_gamma(a) - log_gamma(b) + a * log_x + b * log_y);
    if (a < 15)
        return exp((b - 0.5) * log1p(a / b) + a * (log(c) + log_x - 1) + stirling(c) - stirling(b) -
                   log_gamma(a) + b * log_y);
    double off = a * y - b * x; /* from the middle */
    double at_a = off < 0.5 * a ? log1p(-off / a) : log_x - log(a / c),
           at_b = off > -0.5 * b ? log1p(off / b) : log_y - log(b / c);
    return sqrt(a / c * b / (2 * M_PI)) * exp(a * at_a + b * at_b + stirling(c) - stirling(a) - stirling(b));
}

/* I_x(a, b) with y = 1 - x given beside x, so that neither is lost by subtraction. */
static double beta_xy(double a, double b, double x, double y)
{
    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    double front = beta_power(a, b, x, y);
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double jm_stats_beta_inc(double a, double b, double x)
{
    if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1))
        return NAN;
    return beta_xy(a, b, x, 1 - x);
}

double jm_stats_norm_quantile(double p)
{
    if (!(p > 0) || !(p < 1))
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    double q = p < 0.5 ? p : 1 - p; /* lower tail */
    if (q == 0.5)
        return 0;
    /* Abramowitz and Stegun 26.2.23 starts it (4.5e-4), Halley's steps on erfc finish it. */
    double t = sqrt(-2 * log(q));
    double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                         (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int i = 0; i < 8; i++) {
        double density = exp(-0.5 * x * x) / sqrt(2 * M_PI);
        if (!(density > 0))
            break;
        double e = (0.5 * erfc(-x / M_SQRT2) - q) / density;
        double step = e / (1 + 0.5 * x * e);
        x -= step;
        if (fabs(step) <= 1e-15 * fabs(x))
            break;
    }
    return p < 0.5 ? x : -x;
}

double jm_stats_norm_cdf(double z)
{
    return 0.5 * erfc(-z / M_SQRT2);
}

/* Lower half of the quantiles, by bisection of log x until Newton's steps stay inside (both on I_x = p). */
static double beta_lower(double p, double a, double b)
{
    double lo = 0, hi = 1, x = a / (a + b);
    for (int i = 0; i < 2000; i++) {
        double f = beta_xy(a, b, x, 1 - x) - p;
        if (f < 0)
            lo = x;
        else
            hi = x;
        double next = x - f / (beta_power(a, b, x, 1 - x) / x / (1 - x));
        if (!(next > lo && next < hi))
            next = lo > 0 ? sqrt(lo) * sqrt(hi) : hi / 16;
        if (fabs(next - x) <= 4e-16 * x || hi - lo <= 4e-16 * hi || next < TINY)
            return next;
        x = next;
    }
    return x;
}

double jm_stats_beta_quantile(double p, double a, double b)
{
    if (!(a > 0) || !(b > 0) || !(p >= 0) || !(p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p;
    /* near 1 the distance to 1 is looked for, which does not lose its digits */
    double mid = a / (a + b);
    if (mid > 0.5 && beta_xy(a, b, mid, 1 - mid) < p)
        return 1 - beta_lower(1 - p, b, a);
    return beta_lower(p, a, b);
}

/* Upper tail P(T > t), t > 0. */
static double t_upper(double t, double nu)
{
    double t2 = t * t;
    if (!isfinite(t2))
        return 0.5 * beta_xy(nu / 2, 0.5, nu / t / t, 1);
    return 0.5 * beta_xy(nu / 2, 0.5, nu / (nu + t2), t2 / (nu + t2));
}

double jm_stats_t_tail(double t, double nu)
{
    if (isnan(t) || !(nu > 0))
        return NAN;
    if (t == 0)
        return 0.5;
    double upper = isfinite(nu) ? t_upper(fabs(t), nu) : 0.5 * erfc(fabs(t) / M_SQRT2);
    return t > 0 ? upper : 1 - upper;
}

/* Root of f on t > 0, f falling. Bracket by doubling, then Newton inside it. */
struct root {
    double (*upper)(double t, double nu);
    double (*density)(double t, double nu);
};

static double solve(const struct root *r, double nu, double q, double start)
{
    double lo = 0, hi = start > 0 && isfinite(start) ? start : 1;
    while (r->upper(hi, nu) > q) {
        lo = hi;
        hi *= 2;
        if (!isfinite(hi))
            return INFINITY;
    }
    double t = lo > 0 ? sqrt(lo) * sqrt(hi) : hi;
    for (int i = 0; i < 400; i++) {
        double f = r->upper(t, nu) - q, d = r->density(t, nu);
        if (f > 0)
            lo = t;
        else
            hi = t;
        double next = d > 0 ? t + f / d : NAN;
        if (!(next > lo && next < hi))
            next = lo > 0 ? sqrt(lo) * sqrt(hi) : hi / 2;
        if (fabs(next - t) <= 4e-16 * t || hi - lo <= 4e-16 * hi)
            return next;
        t = next;
    }
    return t;
}

static double t_density(double t, double nu)
{
    return exp(log_gamma((nu + 1) / 2) - log_gamma(nu / 2) - (nu + 1) / 2 * log1p(t * t / nu)) /
           sqrt(nu * M_PI);
}

double jm_stats_t_quantile(double p, double nu)
{
    static const struct root t_root = {t_upper, t_density};
    if (!(p > 0) || !(p < 1) || !(nu > 0))
        return NAN;
    double q = p < 0.5 ? p : 1 - p, sign = p < 0.5 ? -1 : 1;
    if (q == 0.5)
        return 0;
    if (nu == 1)
        return sign / tan(M_PI * q);
    double z = -jm_stats_norm_quantile(q), z2 = z * z;
    if (!isfinite(nu))
        return sign * z;
    if (nu > 1e4 && z2 < 1e-3 * nu) {
        /* Abramowitz and Stegun 26.7.5; with a large nu the gamma functions of the density cancel badly */
        double g1 = (z2 + 1) / 4, g2 = ((5 * z2 + 16) * z2 + 3) / 96,
               g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
        return sign * z * (1 + (g1 + (g2 + g3 / nu) / nu) / nu);
    }
    return sign * solve(&t_root, nu, q, z);
}

/* Regularised incomplete gamma, lower P(a, x) or upper Q(a, x) = 1 - P: series below a + 1, continued
 * fraction above (DLMF 8.7.1, 8.9.2). */
static double gamma_tail(double a, double x, bool lower)
{
    if (x <= 0)
        return !lower;
    double front = exp(a * log(x) - x - log_gamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int i = 1; i < MAX_TERMS && term > sum * 1e-17; i++) {
            term *= x / (a + i);
            sum += term;
        }
        return lower ? front * sum : 1 - front * sum;
    }
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (int i = 1; i < MAX_TERMS; i++) {
        double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        c = b + an / c;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = fabs(c) < TINY ? TINY : c;
        double step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-16)
            break;
    }
    return lower ? 1 - front * h : front * h;
}

static double chi2_upper(double x, double nu)
{
    return gamma_tail(nu / 2, x / 2, false);
}

static double chi2_density(double x, double nu)
{
    return 0.5 * exp((nu / 2 - 1) * log(x / 2) - x / 2 - log_gamma(nu / 2));
}

/* The lower tail over 1/x, which falls as the upper one does over x: a small p keeps its digits. */
static double chi2_lower_inverse(double inverse, double nu)
{
    return gamma_tail(nu / 2, 0.5 / inverse, true);
}

static double chi2_density_inverse(double inverse, double nu)
{
    return chi2_density(1 / inverse, nu) / (inverse * inverse);
}

double jm_stats_chi2_quantile(double p, double nu)
{
    static const struct root upper = {chi2_upper, chi2_density},
                             lower = {chi2_lower_inverse, chi2_density_inverse};
    if (!(p > 0) || !(p < 1) || !(nu > 0))
        return NAN;
    double z = jm_stats_norm_quantile(p), k = 2 / (9 * nu);
    double cube = 1 - k + z * sqrt(k); /* Wilson and Hilferty */
    double start = cube > 0.1 ? nu * cube * cube * cube
                              : 2 * exp((log(p) + log_gamma(nu / 2 + 1)) * 2 / nu); /* P(a, x) ~ x^a / a! */
    return p < 0.5 ? 1 / solve(&lower, nu, p, 1 / start) : solve(&upper, nu, 1 - p, start);
}
