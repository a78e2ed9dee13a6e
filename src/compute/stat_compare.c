/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/stat_compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/banned.h"

static int level_ok(double level, const char *what, struct jm_err *err)
{
    if (level > 0 && level < 1)
        return 0;
    return jm_err_set(err, JM_EINVAL, "%s of %g is not between 0 and 1", what, level);
}

int jm_stat_log_ratios(const double *a, const double *b, size_t n, double *d, struct jm_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!(a[i] > 0) || !(b[i] > 0) || !isfinite(a[i]) || !isfinite(b[i]))
            return jm_err_set(
                err, JM_EINVAL,
                "pair %zu is %g and %g: a ratio takes two values above 0; leave the pair out where one "
                "is missing",
                i + 1, a[i], b[i]);
        d[i] = log(b[i]) - log(a[i]);
    }
    return 0;
}

int jm_stat_quads(double *d, size_t n, struct jm_err *err)
{
    if (n % 2)
        return jm_err_set(err, JM_EINVAL, "%zu pairs are no whole number of quads (A B B A)", n);
    for (size_t i = 0; i < n / 2; i++)
        d[i] = (d[2 * i] + d[2 * i + 1]) / 2;
    return 0;
}

static int pairs_ok(const double *d, size_t n, size_t least, const char *what, struct jm_err *err)
{
    if (n < least)
        return jm_err_set(err, JM_EAGAIN, "%s takes at least %zu pairs, there %s %zu: measure more", what,
                          least, n == 1 ? "is" : "are", n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(d[i]))
            return jm_err_set(err, JM_EINVAL, "the log ratio of pair %zu is not a finite number", i + 1);
    return 0;
}

/* Scatter s of d that is only the rounding of equal values is none. */
static double beyond_rounding(double s, const double *d, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(d[i]));
    return s > 1e-14 * fmax(most, 1e-2) ? s : 0;
}

static void paired(const double *d, size_t n, double s, double dof, double level, struct jm_paired *out)
{
    double m = jm_stats_mean(d, n), half = jm_stats_t_quantile(0.5 + level / 2, dof) * s / sqrt((double)n);
    *out = (struct jm_paired){
        .n = n, .mean = m, .sd = s, .se = s / sqrt((double)n), .dof = dof, .drift = NAN, .ratio = exp(m)};
    out->interval = (struct jm_interval){exp(m - half), exp(m + half), level, dof};
    out->identical = true;
    for (size_t i = 0; i < n; i++)
        out->identical &= d[i] == 0;
    out->t = out->p = out->p_less = NAN;
    if (!(s > 0))
        return;
    out->t = m / out->se;
    out->p = fmin(1, 2 * jm_stats_t_tail(fabs(out->t), dof));
    out->p_less = jm_stats_t_tail(-out->t, dof);
}

int jm_stat_paired(const double *d, size_t n, double level, struct jm_paired *out, struct jm_err *err)
{
    int rc = pairs_ok(d, n, 2, "a paired comparison", err);
    if (!rc)
        rc = level_ok(level, "a level", err);
    if (rc)
        return rc;
    paired(d, n, beyond_rounding(jm_stats_sd(d, n), d, n), (double)(n - 1), level, out);
    return 0;
}

int jm_stat_abba(const double *d, const bool *turned, size_t n, double level, struct jm_paired *out,
                 struct jm_err *err)
{
    int rc = pairs_ok(d, n, 4, "a comparison in quads", err);
    double sum[2] = {0}, squares = 0;
    size_t k[2] = {0};
    if (!rc)
        rc = level_ok(level, "a level", err);
    for (size_t i = 0; !rc && i < n; i++) {
        sum[turned[i]] += d[i];
        k[turned[i]]++;
    }
    if (!rc && k[0] != k[1])
        rc = jm_err_set(err, JM_EINVAL, "%zu pairs with A first and %zu with B first are no quads", k[0],
                        k[1]);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        double far = d[i] - sum[turned[i]] / (double)k[0];
        squares += far * far;
    }
    double s = sqrt(squares / (double)(n - 2));
    paired(d, n, beyond_rounding(s, d, n), (double)(n - 2), level, out);
    out->drift = (sum[0] - sum[1]) / (double)n;
    return 0;
}

int jm_stat_tost(const double *d, size_t n, double margin, double alpha, struct jm_tost *out,
                 struct jm_err *err)
{
    struct jm_paired p;
    int rc = jm_stat_paired(d, n, 0.9, &p, err); /* of any level: the test is of its mean and scatter */
    return rc ? rc : jm_stat_tost_of(&p, margin, alpha, out, err);
}

int jm_stat_tost_of(const struct jm_paired *p, double margin, double alpha, struct jm_tost *out,
                    struct jm_err *err)
{
    if (!(margin > 0) || !isfinite(margin))
        return jm_err_set(err, JM_EINVAL,
                          "a margin of %g is no margin: give one above 0, such as 0.02 for 2 %%", margin);
    if (!(alpha > 0) || !(alpha < 0.5))
        return jm_err_set(err, JM_EINVAL, "an alpha of %g is not between 0 and 0.5", alpha);
    double limit = log1p(margin), half = jm_stats_t_quantile(1 - alpha, p->dof) * p->se;
    *out = (struct jm_tost){.margin = margin,
                            .alpha = alpha,
                            .interval = {exp(p->mean - half), exp(p->mean + half), 1 - 2 * alpha, p->dof}};
    if (p->se > 0)
        out->p = fmax(jm_stats_t_tail((p->mean + limit) / p->se, p->dof),
                      jm_stats_t_tail((limit - p->mean) / p->se, p->dof));
    else
        out->p = fabs(p->mean) < limit ? 0 : 1;
    out->equivalent = out->p <= alpha;
    return 0;
}

static double power_of(size_t n, double ratio, bool equivalence, double alpha)
{
    enum { SLICES = 400 }; /* of equal probability, each at its middle */
    double dof = (double)(n - 1), e = ratio * sqrt((double)n), sum = 0;
    double t = jm_stats_t_quantile(equivalence ? 1 - alpha : 1 - alpha / 2, dof);
    for (size_t k = 0; k < SLICES; k++) {
        double c = sqrt(jm_stats_chi2_quantile(((double)k + 0.5) / SLICES, dof) / dof),
               at = jm_stats_norm_cdf(e - t * c);
        sum += equivalence ? fmax(0, 2 * at - 1) : at + jm_stats_norm_cdf(-e - t * c);
    }
    return sum / SLICES;
}

int jm_stat_pairs_for(double sd, double effect, bool equivalence, double alpha, double power, size_t *pairs,
                      struct jm_err *err)
{
    enum { MOST = 10000 };
    if (!(sd >= 0) || !isfinite(sd) || !(effect > 0) || !isfinite(effect))
        return jm_err_set(err, JM_EINVAL,
                          "pairs for an effect of %g at a scatter of %g: both must be known, the effect "
                          "above 0",
                          effect, sd);
    if (!(alpha > 0) || !(alpha < 0.5) || !(power > 0) || !(power < 1))
        return jm_err_set(err, JM_EINVAL,
                          "an alpha of %g and a power of %g are no probabilities to plan with", alpha, power);
    double ratio = sd > 0 ? effect / sd : 1e6;
    size_t lo = 1, hi = 2;
    while (power_of(hi, ratio, equivalence, alpha) < power) {
        if (hi >= MOST)
            return jm_err_set(
                err, JM_ELIMIT,
                "an effect of %g at a scatter of %g takes more than %d pairs: it cannot be shown this way; "
                "make the measurement steadier, by longer windows for one",
                effect, sd, MOST);
        lo = hi;
        hi = 2 * hi < MOST ? 2 * hi : MOST;
    }
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (power_of(mid, ratio, equivalence, alpha) < power)
            lo = mid;
        else
            hi = mid;
    }
    *pairs = hi;
    return 0;
}

int jm_stat_floor(const double *aa, size_t n, size_t m, double level, struct jm_floor *out,
                  struct jm_err *err)
{
    struct jm_paired p;
    int rc = pairs_ok(aa, n, 3, "a detection floor", err);
    if (!rc && !m)
        rc = jm_err_set(err, JM_EINVAL, "a detection floor is of a comparison of at least one pair");
    if (!rc)
        rc = jm_stat_paired(aa, n, level, &p, err);
    if (rc)
        return rc;
    double f = fabs(p.mean) + jm_stats_t_quantile(0.5 + level / 2, (double)(n - 1)) * p.sd *
                                  sqrt(1 / (double)m + 1 / (double)n);
    *out = (struct jm_floor){.log_floor = f,
                             .saving = -expm1(-f),
                             .rise = expm1(f),
                             .mean = p.mean,
                             .sd = p.sd,
                             .n = n,
                             .m = m,
                             .biased = p.interval.lo > 1 || p.interval.hi < 1};
    return 0;
}

/* Φ(b) - Φ(a), a <= b, without losing a far tail. */
static double between(double a, double b)
{
    return a > 0 ? jm_stats_norm_cdf(-a) - jm_stats_norm_cdf(-b)
                 : jm_stats_norm_cdf(b) - jm_stats_norm_cdf(a);
}

struct chosen {
    double x, se, lo, hi, c; /* w is chosen for x in [lo, hi]; |x - mu| <= c se */
};

/* P(X <= x) given the choice, were mu the truth; falls with mu. */
static double given(const struct chosen *w, double mu)
{
    double a = fmax((w->lo - mu) / w->se, -w->c), b = fmin((w->hi - mu) / w->se, w->c);
    double all = between(a, b);
    return all > 0 ? between(a, fmin(fmax((w->x - mu) / w->se, a), b)) / all : NAN;
}

static double mu_at(const struct chosen *w, double p)
{
    double lo = w->x - w->c * w->se, hi = w->x + w->c * w->se;
    for (int i = 0; i < 200 && hi - lo > 1e-13 * w->se; i++) {
        double mid = lo + (hi - lo) / 2;
        if (given(w, mid) > p)
            lo = mid;
        else
            hi = mid;
    }
    return lo + (hi - lo) / 2;
}

int jm_stat_winner(const double *x, const double *se, size_t k, double rho, double dof, double level,
                   struct jm_winner *out, struct jm_err *err)
{
    int rc = level_ok(level, "a level", err);
    size_t best = 0;
    if (rc)
        return rc;
    if (!k)
        return jm_err_set(err, JM_EINVAL, "there is no candidate to choose from");
    if (!(rho >= 0) || !(rho < 1))
        return jm_err_set(err, JM_EINVAL, "a correlation of %g between candidates is not in [0, 1)", rho);
    if (!(dof >= 1))
        return jm_err_set(err, JM_EAGAIN, "standard errors of the candidates need at least two pairs each");
    for (size_t i = 0; i < k; i++) {
        if (!isfinite(x[i]) || !(se[i] > 0) || !isfinite(se[i]))
            return jm_err_set(
                err, JM_EINVAL,
                "candidate %zu has the value %g and the standard error %g: both must be finite, the "
                "error above 0",
                i + 1, x[i], se[i]);
        if (x[i] > x[best])
            best = i;
    }
    double alpha = 1 - level, beta = alpha / 10;
    double p = 0.5 + level / 2, stretch = jm_stats_t_quantile(p, dof) / jm_stats_norm_quantile(p);
    struct chosen w = {x[best], se[best] * stretch, -INFINITY, INFINITY, 0};
    w.c = jm_stats_norm_quantile(0.5 + pow(1 - beta, 1 / (double)k) / 2);
    for (size_t i = 0; i < k; i++) {
        if (i == best)
            continue;
        /* x_i = z + b x_w with z independent of x_w: w is chosen where z <= (1 - b) x_w */
        double b = rho * se[i] / se[best], z = x[i] - b * x[best];
        if (b < 1)
            w.lo = fmax(w.lo, z / (1 - b));
        else if (b > 1)
            w.hi = fmin(w.hi, z / (1 - b));
    }
    double tail = (1 - (1 - alpha) / (1 - beta)) / 2;
    struct chosen plain = w;
    plain.se = se[best];
    *out = (struct jm_winner){.index = best, .naive = x[best], .k = k};
    out->value = mu_at(&plain, 0.5);
    out->interval = (struct jm_interval){mu_at(&w, 1 - tail), mu_at(&w, tail), level, dof};
    return 0;
}

struct ranked {
    double p;
    size_t at;
};

static int by_p(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->at > y->at) - (x->at < y->at);
}

int jm_stat_holm(const double *p, size_t k, double *adjusted, struct jm_err *err)
{
    struct ranked *r = malloc((k ? k : 1) * sizeof *r);
    if (!r)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu tests", k);
    for (size_t i = 0; i < k; i++) {
        if (!(p[i] >= 0) || !(p[i] <= 1)) {
            free(r);
            return jm_err_set(err, JM_EINVAL, "the p value of test %zu is %g, which is not between 0 and 1",
                              i + 1, p[i]);
        }
        r[i] = (struct ranked){p[i], i};
    }
    if (k)
        qsort(r, k, sizeof *r, by_p);
    double so_far = 0;
    for (size_t i = 0; i < k; i++) {
        so_far = fmax(so_far, fmin(1, (double)(k - i) * r[i].p));
        adjusted[r[i].at] = so_far;
    }
    free(r);
    return 0;
}
