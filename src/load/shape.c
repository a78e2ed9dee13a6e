/* SPDX-License-Identifier: Apache-2.0 */
/* Arrival times of the open shapes, and everything else of a request that is drawn.
 *
 * A non-homogeneous process is a homogeneous one on a stretched clock: with L(t) the integral of the rate,
 * arrivals are at L^-1(S) where S are those of a process with rate 1 (Cinlar, Introduction to Stochastic
 * Processes, 1975, 4.7). L of a linear ramp is a parabola, of an exponential one an exponential; both have
 * closed inverses. */
#include <math.h>

#include "load/plan.h"

#include "base/banned.h"

#define LONGEST_S 9e9 /* of a schedule, s: what int64_t ns holds */

enum { OF_ARRIVALS = 1, OF_REQUEST, OF_THINKING };

uint64_t jm_plan_stream(int slice, int64_t k, int purpose)
{
    /* odd constants spread the three over 64 bits; which ones does not matter */
    return (uint64_t)k * 0x9e3779b97f4a7c15u + (uint64_t)(slice + 1) * 0xd1342543de82ef95u +
           (uint64_t)purpose * 0xda942042e4dd58b5u;
}

/* Gamma with shape a and mean 1: Marsaglia and Tsang, A simple method for generating gamma variables, ACM
 * TOMS 26 (2000); below shape 1 by the power of a uniform. */
static double gamma_gap(struct jm_rng *r, double a)
{
    double boost = 1, shape = a;
    if (shape < 1) {
        boost = pow(1 - jm_rng_unit(r), 1 / shape);
        shape += 1;
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = jm_rng_normal(r), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double u = 1 - jm_rng_unit(r);
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return boost * d * v / a;
    }
}

static double gap(struct jm_shape *g)
{
    switch (g->s->arrive) {
    case JM_ARRIVE_CONSTANT: return g->k < 0 ? 0 : 1;
    case JM_ARRIVE_GAMMA: return gamma_gap(&g->rng, g->s->burstiness);
    default: return jm_rng_exp(&g->rng, 1);
    }
}

/* Expected arrivals of a whole stage. */
static double expected(const struct jm_stage *s)
{
    double d = (double)s->duration / 1e9;
    if (s->ramp == JM_RAMP_EXPONENTIAL && s->from > 0 && s->to > 0 && s->from != s->to)
        return d * (s->to - s->from) / log(s->to / s->from);
    return d * (s->from + s->to) / 2;
}

/* Seconds into the stage at which n arrivals are expected; n is not more than all of them. */
static double when(const struct jm_stage *s, double n)
{
    double d = (double)s->duration / 1e9, a = s->from, slope = (s->to - s->from) / d;
    if (s->ramp == JM_RAMP_EXPONENTIAL && s->from > 0 && s->to > 0 && s->from != s->to) {
        double q = log(s->to / s->from) / d;
        return log1p(q * n / a) / q;
    }
    if (slope == 0)
        return n / a;
    /* the root of a t + slope t^2 / 2 = n that does not cancel */
    double root = sqrt(fmax(a * a + 2 * slope * n, 0));
    return a + root > 0 ? 2 * n / (a + root) : 0;
}

void jm_shape_init(struct jm_shape *g, const struct jm_slice *s, uint64_t seed, int slice)
{
    *g = (struct jm_shape){.s = s, .k = -1};
    jm_rng_init_stream(&g->rng, seed, jm_plan_stream(slice, 0, OF_ARRIVALS));
}

/* count is reached, and so is the least time. */
static bool enough(const struct jm_shape *g, double t)
{
    return g->s->count > 0 && g->k >= g->s->count && t >= (double)g->s->min_ns / 1e9;
}

bool jm_shape_next(struct jm_shape *g, int64_t *t)
{
    const struct jm_slice *s = g->s;
    double at;
    if (s->arrive == JM_ARRIVE_BURST) {
        if (s->count > 0 && g->k + 1 >= s->count)
            return false;
        g->k++;
        *t = s->start_ns;
        return true;
    }
    g->sum += gap(g);
    g->k++;
    if (!s->stages) {
        at = g->sum / s->rate;
    } else {
        while (g->stage < s->stages && g->sum - g->before >= expected(&s->stage[g->stage])) {
            g->before += expected(&s->stage[g->stage]);
            g->begin += (double)s->stage[g->stage].duration / 1e9;
            g->stage++;
        }
        if (g->stage == s->stages)
            return false;
        at = g->begin + when(&s->stage[g->stage], g->sum - g->before);
    }
    if (enough(g, at) || !(at < LONGEST_S))
        return false;
    *t = s->start_ns + (int64_t)(at * 1e9);
    return true;
}

int64_t jm_length_draw(const struct jm_length *l, struct jm_rng *r)
{
    switch (l->kind) {
    case JM_LEN_FIXED: return l->min;
    case JM_LEN_UNIFORM: return l->min + (int64_t)jm_rng_below(r, (uint64_t)(l->max - l->min) + 1);
    case JM_LEN_LOGNORMAL: {
        double v = rint(exp(log(l->median) + l->sigma * jm_rng_normal(r)));
        return v < (double)l->min ? l->min : v > (double)l->max ? l->max : (int64_t)v;
    }
    case JM_LEN_NONE: break;
    }
    return -1;
}

void jm_slice_draw(const struct jm_slice *s, uint64_t seed, int slice, int64_t k, struct jm_draw *out)
{
    struct jm_rng r;
    jm_rng_init_stream(&r, seed, jm_plan_stream(slice, k, OF_REQUEST));
    /* always in this order, so that one setting does not change what the others draw */
    double cancel = jm_rng_unit(&r);
    uint64_t group = jm_rng_u64(&r);
    out->isl = jm_length_draw(&s->isl, &r);
    out->osl = jm_length_draw(&s->osl, &r);
    out->turns = s->turns.kind == JM_LEN_NONE ? 1 : jm_length_draw(&s->turns, &r);
    out->prefix_group = s->prefix_groups > 0 ? (int64_t)(group % (uint64_t)s->prefix_groups) : -1;
    out->cancel = cancel < s->cancel_share;
}

int64_t jm_slice_think(const struct jm_slice *s, uint64_t seed, int slice, int64_t k, int turn)
{
    struct jm_rng r;
    if (!s->think_random)
        return s->think_ns;
    jm_rng_init_stream(&r, seed, jm_plan_stream(slice, k, OF_THINKING) + (uint64_t)turn);
    return (int64_t)jm_rng_exp(&r, (double)s->think_ns);
}
