/* SPDX-License-Identifier: Apache-2.0 */
/* A day of an operator's load from the levels of a ladder: power and tokens a second at each load lie on the
 * straight line between the two levels around it. What lies outside of the levels is refused, not continued.
 *
 * Interval: with several trials each gives a day of its own, and t over these; with one, the half widths of
 * the levels added as the powers are (their errors may all have one sign). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

#define ALIKE 1e-9 /* of a level: a load is at it */

struct day {
    double joules, half, tokens, qualified;
};

/* The level at or above p among those with a power, and the next one below; false: p is outside. */
static bool around(const struct jm_ladder *l, const struct jm_ladder_cell *v, double p, size_t *up,
                   size_t *down)
{
    bool above = false;
    for (size_t k = 0; k < l->n; k++) {
        if (!isfinite(v[k].power) || !isfinite(v[k].tokens))
            continue;
        double at = l->level[k].percent;
        if (fabs(at - p) <= ALIKE * fmax(at, 1)) {
            *up = *down = k;
            return true;
        }
        if (at > p) {
            *up = k;
            above = true;
        } else {
            *down = k;
            return above;
        }
    }
    return false;
}

static double between(double a, double b, double w)
{
    return w == 0 ? a : w == 1 ? b : a + (b - a) * w;
}

static double load_of(const struct jm_ladder *l, const struct jm_diurnal *d, size_t i)
{
    return d->share ? 100 * d->load[i] : 100 * d->load[i] / l->capacity;
}

static struct day sum(const struct jm_ladder *l, const struct jm_diurnal *d, const struct jm_ladder_cell *v)
{
    struct day s = {0};
    for (size_t i = 0; i < d->n; i++) {
        double p = load_of(l, d, i), dt = d->hours * 3600;
        size_t up, down;
        if (!around(l, v, p, &up, &down))
            continue;
        double w =
            up == down ? 0 : (l->level[up].percent - p) / (l->level[up].percent - l->level[down].percent);
        s.joules += dt * between(v[up].power, v[down].power, w);
        s.half += dt * between(v[up].half, v[down].half, w);
        s.tokens += dt * between(v[up].tokens, v[down].tokens, w);
        s.qualified += dt * between(v[up].qualified, v[down].qualified, w);
    }
    return s;
}

static double power_of(const struct jm_ladder *l, size_t level)
{
    const struct jm_result *x = &l->level[level].x[JM_LF_POWER];
    return x->metric && x->q.have ? x->q.value : NAN;
}

/* How well a straight line does: each inner level's power from its neighbours. */
static double left_out(const struct jm_ladder *l)
{
    double worst = NAN;
    for (size_t k = 1; k + 1 < l->n; k++) {
        double w = (l->level[k - 1].percent - l->level[k].percent) /
                   (l->level[k - 1].percent - l->level[k + 1].percent),
               miss = fabs(between(power_of(l, k - 1), power_of(l, k + 1), w) / power_of(l, k) - 1);
        if (isfinite(miss))
            worst = fmax(worst, miss);
    }
    return worst;
}

enum what { ENERGY, OUTPUT, QUALIFIED };

static double value(const struct day *s, enum what what, double days)
{
    return what == ENERGY   ? s->joules / 3.6e6 / days
           : what == OUTPUT ? (s->tokens > 0 ? s->joules / s->tokens : NAN)
                            : (s->qualified > 0 ? s->joules / s->qualified : NAN);
}

static int result(struct jm_calc *c, const struct jm_ladder *l, const struct day *s, size_t trials,
                  enum what what, struct jm_result *out)
{
    static const char *const ids[] = {"day.energy", "day.j_per.output_token", "day.j_per.qualified_token"};
    double days = l->day.hours / 24, *v = calloc(trials + 1, sizeof *v), mean = NAN;
    struct jm_interval in;
    struct jm_result *x = v ? jm_report_result(c->r, ids[what]) : NULL;
    if (!x) {
        free(v);
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the day");
    }
    *out = *x; /* initialised as every result */
    c->r->n_results--;
    for (size_t t = 0; t < trials; t++)
        v[t] = value(&s[t], what, days);
    const struct jm_result *power = &l->level[0].x[JM_LF_POWER];
    out->set = l->set;
    out->q.unit = jm_metric_find(ids[what])->unit;
    out->q.boundary = l->boundary;
    /* no meter was read on such a day */
    out->q.provenance =
        jm_provenance_worse(JM_P_ESTIMATED, power->metric ? power->q.provenance : JM_P_MEASURED);
    out->n = (int64_t)trials;
    out->q.u.excludes = "interpolation between levels, " JM_EXCL_REPEATS;
    mean = trials ? jm_stats_mean(v, trials) : NAN;
    if (l->day.beyond) {
        out->q.reasons = "load-not-measured";
    } else if (!isfinite(mean)) {
        out->q.reasons = what == ENERGY ? "no-power" : "no-tokens";
    } else {
        out->q.have = true;
        out->q.value = mean;
        double half = trials == 1 ? mean * s[0].half / s[0].joules : NAN;
        if (trials > 1 && !jm_stats_t_interval(v, trials, jm_calc_level(c), &mean, &in))
            out->q.u = (struct jm_uncertainty){in.lo,
                                               in.hi,
                                               in.level,
                                               in.dof,
                                               jm_trials_method(c),
                                               "repeats",
                                               "interpolation between levels, " JM_EXCL_OTHER};
        else if (isfinite(half))
            out->q.u = (struct jm_uncertainty){out->q.value - half,
                                               out->q.value + half,
                                               jm_calc_level(c),
                                               NAN,
                                               "half widths of the levels, added",
                                               "power of the levels",
                                               "interpolation between levels, " JM_EXCL_REPEATS};
    }
    free(v);
    return 0;
}

int jm_ladder_day_make(struct jm_calc *c, struct jm_ladder *l, const struct jm_ladder_cell *v, size_t trials)
{
    const struct jm_diurnal *d = c->o->diurnal;
    struct jm_ladder_day *day = &l->day;
    struct day *s = malloc((trials + 1) * sizeof *s);
    if (!s)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the day");
    *day = (struct jm_ladder_day){.file = c->o->diurnal_file ? c->o->diurnal_file : "",
                                  .share = d->share,
                                  .hours = (double)d->n * d->hours,
                                  .steps = d->n,
                                  .beyond_least = NAN,
                                  .beyond_most = NAN,
                                  .missed = left_out(l)};
    for (size_t i = 0; i < d->n; i++) {
        double p = load_of(l, d, i);
        size_t up, down;
        bool inside = trials > 0;
        for (size_t t = 0; t < trials && inside; t++)
            inside = around(l, v + t * l->n, p, &up, &down);
        if (!inside) {
            day->beyond++;
            day->beyond_least = fmin(day->beyond_least, p);
            day->beyond_most = fmax(day->beyond_most, p);
        } else if (up == down) {
            day->at_level++;
        } else {
            day->between++;
        }
    }
    for (size_t t = 0; t < trials; t++)
        s[t] = sum(l, d, v + t * l->n);
    int rc = result(c, l, s, trials, ENERGY, &day->energy);
    if (!rc)
        rc = result(c, l, s, trials, OUTPUT, &day->output);
    if (!rc && l->contract)
        rc = result(c, l, s, trials, QUALIFIED, &day->qualified);
    free(s);
    return rc;
}
