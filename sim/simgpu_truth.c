/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_truth.h"
#include "simgpu_power.h"

#include <math.h>

static bool known(const struct simgpu *s, int gpu, int64_t t0, int64_t t1)
{
    return gpu >= 0 && (uint32_t)gpu < s->h->gpu_count && t1 >= t0;
}

static double energy_j(struct simgpu *s, int gpu, enum simgpu_scope scope, int64_t t0, int64_t t1)
{
    simgpu_fj e0, e1;
    if (!known(s, gpu, t0, t1) || simgpu_energy_scope(s, gpu, scope, t0, &e0) ||
        simgpu_energy_scope(s, gpu, scope, t1, &e1))
        return NAN;
    return (double)(e1 - e0) / SIMGPU_FJ_PER_J;
}

double simgpu_true_energy_j(struct simgpu *s, int gpu, int64_t t0_ns, int64_t t1_ns)
{
    return energy_j(s, gpu, SIMGPU_SCOPE_GPU, t0_ns, t1_ns);
}

double simgpu_true_module_energy_j(struct simgpu *s, int gpu, int64_t t0_ns, int64_t t1_ns)
{
    return energy_j(s, gpu, SIMGPU_SCOPE_MODULE, t0_ns, t1_ns);
}

double simgpu_true_power_w(struct simgpu *s, int gpu, int64_t t_ns)
{
    int64_t uw;
    if (!known(s, gpu, t_ns, t_ns) || simgpu_power(s, gpu, t_ns, &uw))
        return NAN;
    return (double)uw / 1e6;
}

double simgpu_true_total_j(struct simgpu *s, int64_t t0_ns, int64_t t1_ns)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->h->gpu_count; i++)
        sum += simgpu_true_energy_j(s, (int)i, t0_ns, t1_ns);
    return sum;
}
