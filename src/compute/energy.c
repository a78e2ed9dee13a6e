/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with energies once they are measured: intervals, sums, cross-checks. */
#include "compute/compute.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"

#include "base/banned.h"

bool jm_energy_has_value(const struct jm_energy *e)
{
    return (e->status == JM_S_OK || e->status == JM_S_WRAPPED) && isfinite(e->joules);
}

static double norm_cdf(double z)
{
    return 0.5 * erfc(-z / M_SQRT2);
}

/* Integral of the normal distribution function: z Phi(z) + phi(z). */
static double norm_cdf_integral(double z)
{
    return z * norm_cdf(z) + exp(-0.5 * z * z) / sqrt(2 * M_PI);
}

/* P(|N(0, s) + U(-g, g)| <= h) */
static double within(double s, double g, double h)
{
    double up = norm_cdf_integral((h + g) / s) - norm_cdf_integral((h - g) / s);
    return 2 * (s / (2 * g) * up) - 1;
}

static double convolved(double s, double g, double level)
{
    if (!(g > 0))
        return s * jm_stats_norm_quantile(0.5 + level / 2);
    if (s < 1e-6 * g)
        return g * level;
    double lo = 0, hi = g + s * jm_stats_norm_quantile(0.5 + level / 2);
    for (int i = 0; i < 80; i++) {
        double mid = 0.5 * (lo + hi);
        if (within(s, g, mid) < level)
            lo = mid;
        else
            hi = mid;
    }
    return 0.5 * (lo + hi);
}

double jm_energy_halfwidth(const struct jm_energy *e, double level, bool gain)
{
    if (!jm_energy_has_value(e) || !(level > 0) || !(level < 1))
        return NAN;
    double z = jm_stats_norm_quantile(0.5 + level / 2);
    double k = isfinite(e->dof) && e->dof >= 1 ? jm_stats_t_quantile(0.5 + level / 2, e->dof) : z;
    double g = gain && isfinite(e->gain_bound) ? e->gain_bound : 0;
    return convolved(e->u * k / z, g, level);
}

size_t jm_energy_sum(const struct jm_energy *e, size_t n, struct jm_energy *out)
{
    memset(out, 0, sizeof *out);
    out->lower_bound = out->bound = out->needs_s = out->raw = NAN;
    double var = 0, welch = 0, timing = 0, quantum = 0, shape = 0, sampling = 0, gap = 0, common = 0, own = 0;
    size_t used = 0;
    bool wrapped = false;
    for (size_t i = 0; i < n; i++) {
        const struct jm_energy *x = &e[i];
        out->n_readings += x->n_readings;
        out->n_refreshes += x->n_refreshes;
        out->n_gaps += x->n_gaps;
        if (x->gap_s > out->gap_s)
            out->gap_s = x->gap_s;
        if (!jm_energy_has_value(x)) {
            if (out->status == JM_S_OK)
                out->status = x->status;
            continue;
        }
        out->joules += x->joules;
        double v = x->u * x->u;
        var += v;
        if (isfinite(x->dof) && x->dof > 0)
            welch += v * v / x->dof;
        timing += x->u_timing * x->u_timing;
        quantum += x->u_quantum * x->u_quantum;
        shape += x->u_shape * x->u_shape;
        own += x->alike * x->u_shape * x->u_shape;
        common += sqrt(x->alike) * x->u_shape;
        out->alike = fmax(out->alike, x->alike);
        sampling += x->u_sampling * x->u_sampling;
        gap += x->u_gap * x->u_gap;
        out->gain_bound += x->gain_bound;
        if (used == 0 || x->covered_s < out->covered_s)
            out->covered_s = x->covered_s;
        snprintf(out->method, sizeof out->method, "%s",
                 used == 0 || !strcmp(out->method, x->method) ? x->method : "mixed");
        wrapped = wrapped || x->wrapped;
        used++;
    }
    if (used == 0) {
        out->joules = out->u = out->dof = out->gain_bound = NAN;
        if (out->status == JM_S_OK)
            out->status = JM_S_ABSENT;
        return 0;
    }
    out->status = wrapped ? JM_S_WRAPPED : JM_S_OK;
    out->wrapped = wrapped;
    double extra = common * common - own; /* covariance of the shape parts */
    out->dof = welch > 0 ? var * var / welch : INFINITY;
    var += extra > 0 ? extra : 0;
    shape += extra > 0 ? extra : 0;
    out->u = sqrt(var);
    out->u_timing = sqrt(timing);
    out->u_quantum = sqrt(quantum);
    out->u_shape = sqrt(shape);
    out->u_sampling = sqrt(sampling);
    out->u_gap = sqrt(gap);
    return used;
}

void jm_energy_agree(const struct jm_energy *a, const struct jm_energy *b, double level, double prior_gain,
                     struct jm_agree *out)
{
    memset(out, 0, sizeof *out);
    out->difference = out->bound = NAN;
    if (!jm_energy_has_value(a) || !jm_energy_has_value(b))
        return;
    out->comparable = true;
    out->difference = a->joules - b->joules;
    struct jm_energy both[2] = {*a, *b}, sum;
    jm_energy_sum(both, 2, &sum);
    double ga = isfinite(a->gain_bound) ? a->gain_bound : prior_gain * fabs(a->joules);
    double gb = isfinite(b->gain_bound) ? b->gain_bound : prior_gain * fabs(b->joules);
    sum.gain_bound = 0;
    out->bound = jm_energy_halfwidth(&sum, level, false) + ga + gb;
    out->agree = fabs(out->difference) <= out->bound;
}
