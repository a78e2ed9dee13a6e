/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/stat_stop.h"

#include <math.h>

#include "base/banned.h"

#define AIM 0.9 /* of the width wanted, where the number of trials follows the scatter */

/* How many trials a scatter of s would take, at most `most`. */
static size_t takes(double t, double s, double h, size_t least, size_t most)
{
    double n = ceil(t * s / h * (t * s / h));
    return !(n <= (double)most) ? most : n > (double)least ? (size_t)n : least;
}

int jm_stat_stop(const struct jm_stop_opts *o, const double *x, size_t n, struct jm_stop *out,
                 struct jm_err *err)
{
    bool stein = o->rule == JM_STOP_TWO_STAGE;
    size_t pilot = o->pilot ? o->pilot : 5, most = o->most ? o->most : 30;
    double level = o->level > 0 ? o->level : 0.95;
    if (!(o->half_width > 0) || !isfinite(o->half_width))
        return jm_err_set(err, JM_EINVAL, "an interval of half-width %g cannot be reached: give one above 0",
                          o->half_width);
    if (pilot < (stein ? 2 : 3) || most < pilot || !(level < 1))
        return jm_err_set(
            err, JM_EINVAL,
            "%zu to %zu trials at a level of %g make no stopping rule: at least %d, and no more first ones "
            "than in all",
            pilot, most, level, stein ? 2 : 3);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return jm_err_set(err, JM_EINVAL, "trial %zu has no value: a rule cannot count it", i + 1);
    *out =
        (struct jm_stop){.total = pilot,
                         .mean = jm_stats_mean(x, n),
                         .interval = {NAN, NAN, level, NAN},
                         .method = stein ? "t over trials, two-stage (Stein)" : "t over trials, sequential"};
    if (n < 2)
        return 0;
    size_t of = stein && n > pilot ? pilot : n; /* whose scatter counts */
    double dof = (double)(of - 1), t = jm_stats_t_quantile(0.5 + level / 2, dof), s = jm_stats_sd(x, of);
    double half = t * s / sqrt((double)n);
    out->interval = (struct jm_interval){out->mean - half, out->mean + half, level, dof};
    if (n < pilot)
        return 0;
    double first = jm_stats_mean(x, pilot), h = o->relative ? o->half_width * fabs(first) : o->half_width;
    if (!(h > 0))
        return jm_err_set(
            err, JM_EINVAL,
            "the first trials have a mean of 0: a part of it is no width, give one in the unit of the "
            "trials");
    if (stein) {
        out->total = takes(t, s, h, pilot, most);
        out->stop = n >= out->total;
    } else {
        bool narrow = half <= AIM * h;
        out->total = narrow ? n : takes(t, s, AIM * h, n + 1, most > n ? most : n);
        out->stop = narrow || n >= most;
    }
    out->reached = out->stop && half <= h * (1 + 1e-12);
    return 0;
}
