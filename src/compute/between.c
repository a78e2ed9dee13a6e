/* SPDX-License-Identifier: Apache-2.0 */
/* Results between two boundaries of one system: how much more the wall sees than the devices. */
#include <math.h>

#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

/* Where only one side's gain is known, the interval holds that one and says so. */
static void interval(const struct jm_calc *c, struct jm_quantity *q, const struct jm_cut *both, double outer,
                     double inner, double factor, double rel_extra)
{
    struct jm_cut known = *both;
    bool one = isfinite(outer) != isfinite(inner);
    known.e.gain_bound = one ? (isfinite(outer) ? outer : inner) : outer + inner;
    jm_calc_interval(c, q, &known, factor, rel_extra);
    if (one && isfinite(q->u.lo)) {
        q->u.includes = isfinite(outer) ? "edges, quantum, sampling, gaps, gain of the outer meter"
                                        : "edges, quantum, sampling, gaps, gain of the devices";
        q->u.excludes = isfinite(outer) ? "gain of the devices (not stated; published GPU boards 0.87 to "
                                          "1.15), repeats (one trial)"
                                        : "gain of the outer meter (not stated), repeats (one trial)";
    }
}

static int wall_to_gpu(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *wall,
                       const struct jm_cut *gpu)
{
    if (!wall->usable || !gpu->usable || wall->have < wall->of || gpu->have < gpu->of || !(gpu->e.joules > 0))
        return 0;
    struct jm_result *x = jm_calc_result(c, w, "wall_to_gpu", wall);
    if (!x)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
    struct jm_cut both = *wall;
    double factor = 1 / gpu->e.joules;
    both.provenance = jm_provenance_worse(wall->provenance, gpu->provenance);
    x->q.have = true;
    x->q.value = wall->e.joules * factor;
    x->q.provenance = both.provenance;
    x->set = jm_report_text(c->r, "%s / %s", wall->set, gpu->set);
    x->numerator = wall->e.joules;
    x->denominator = gpu->e.joules;
    x->numerator_name = "energy at the wall";
    x->denominator_name = "energy of the GPU boards";
    /* one may read high, the other low */
    interval(c, &x->q, &both, wall->e.gain_bound, gpu->e.gain_bound * wall->e.joules * factor, factor,
             gpu->e.u * factor);
    return x->set ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
}

/* Is everything that the device cut counted inside a counted inlet? Else the two are of different systems. */
static bool below_the_wall(const struct jm_calc *c, const struct jm_cut *wall, const struct jm_cut *device)
{
    for (size_t i = 0; i < device->n_domain; i++) {
        bool inside = false;
        for (size_t k = 0; k < wall->n_domain && !inside; k++) {
            int at = wall->domain[k];
            if (jm_domain_is_addend(c->r->tree->d[at].kind)) /* a supply of the inlet that holds it */
                at = c->r->tree->d[at].parent;
            inside = jm_domain_contains(c->r->tree, at, device->domain[i]);
        }
        if (!inside)
            return false;
    }
    return true;
}

/* What the wall saw and no device owns (host, fans, losses), with its sign: a negative one means that an
 * instrument errs. */
static int unexplained(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *wall,
                       const struct jm_cut *device)
{
    if (!wall->usable || !device->usable || wall->have < wall->of || device->have < device->of ||
        !below_the_wall(c, wall, device))
        return 0;
    struct jm_result *x = jm_calc_result(c, w, "energy.unexplained", wall);
    if (!x)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
    struct jm_cut both = *wall;
    both.e.joules -= device->e.joules;
    both.e.u = hypot(wall->e.u, device->e.u);
    both.e.dof = INFINITY;
    both.provenance = jm_provenance_worse(wall->provenance, device->provenance);
    x->q.have = true;
    x->q.value = both.e.joules;
    x->q.provenance = both.provenance;
    x->set = jm_report_text(c->r, "%s - %s", wall->set, device->set);
    interval(c, &x->q, &both, wall->e.gain_bound, device->e.gain_bound, 1, 0);
    return x->set ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
}

int jm_results_between(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *gpu,
                       const struct jm_cut *device, const struct jm_cut *wall)
{
    int rc = wall_to_gpu(c, w, wall, gpu);
    return rc ? rc : unexplained(c, w, wall, device);
}
