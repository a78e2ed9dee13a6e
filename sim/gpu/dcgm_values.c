/* SPDX-License-Identifier: Apache-2.0 */
/* Values as a host engine reads them of NVML, with its habits: a failing query is a blank whose status is
 * success, field 157 of a part without it is 0, a MIG instance shows its whole GPU. */
#include "dcgm_sim.h"

#include <stdio.h>
#include <string.h>

#define BUSY_SWITCH_W 38

int sim_dcgm_type(unsigned short field)
{
    static const struct {
        unsigned short field;
        char type;
    } types[] = {{1, 's'},   {4, 'i'},   {50, 's'},  {52, 'i'},   {53, 's'},   {54, 's'},  {57, 's'},
                 {100, 'i'}, {150, 'i'}, {155, 'd'}, {156, 'i'},  {157, 'd'},  {164, 'd'}, {203, 'i'},
                 {705, 'i'}, {706, 'i'}, {707, 'i'}, {1130, 'd'}, {1132, 'd'}, {1133, 'd'}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].field == field)
            return types[i].type;
    return 0;
}

static bool has_grace(const struct simgpu_gpu *g)
{
    return g->module_extra_uw > 0;
}

int sim_dcgm_count(struct simgpu *s, uint32_t group)
{
    int n = 0, gpus = (int)s->h->gpu_count;
    switch (group) {
    case DCGM_FE_GPU: return gpus;
    case DCGM_FE_SWITCH: return gpus >= 8 && s->g[0].architecture >= 7 ? SIM_DCGM_SWITCHES : 0;
    case DCGM_FE_GPU_I:
        for (int i = 0; i < gpus; i++)
            for (int k = 0; s->g[i].mig_mode && k < SIMGPU_MAX_MIG; k++)
                n += s->g[i].mig[k].present != 0;
        return n;
    case DCGM_FE_CPU:
        for (int i = 0; i < gpus; i++)
            n += has_grace(&s->g[i]);
        return n;
    default: return 0;
    }
}

uint32_t sim_dcgm_id(struct simgpu *s, uint32_t group, int i)
{
    for (uint32_t g = 0; group == DCGM_FE_GPU_I && g < s->h->gpu_count; g++)
        for (uint32_t k = 0; s->g[g].mig_mode && k < SIMGPU_MAX_MIG; k++)
            if (s->g[g].mig[k].present && i-- == 0)
                return g * 8 + k;
    for (uint32_t g = 0; group == DCGM_FE_CPU && g < s->h->gpu_count; g++)
        if (has_grace(&s->g[g]) && i-- == 0)
            return g;
    return (uint32_t)i;
}

const struct simgpu_fault *sim_dcgm_fault(struct simgpu *s, int kind, int gpu, int64_t now_ns)
{
    struct sim_call c = {.s = s, .gpu = gpu, .mig = -1, .now = now_ns};
    return sim_fault_find(&c, kind, SIMGPU_W_DCGM);
}

static void blank(dcgmFieldValue_v2 *v, int which)
{
    static const char *const words[] = {"<<<NULL>>>", "<<<NOT_FOUND>>>", "<<<NOT_SUPPORTED>>>",
                                        "<<<NOT_PERM>>>"};
    if (v->fieldType == 'i')
        v->value.i64 = DCGM_INT64_BLANK + which;
    else if (v->fieldType == 'd')
        v->value.dbl = DCGM_FP64_BLANK + which;
    else
        snprintf(v->value.str, sizeof v->value.str, "%s", words[which]);
}

static int blank_of(nvmlReturn_t r)
{
    return r == NVML_ERROR_NOT_SUPPORTED ? 2 : r == NVML_ERROR_NO_PERMISSION ? 3 : r == NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t power(struct sim_call *c, enum simgpu_gauge_id id, uint32_t what, double *w)
{
    unsigned mw = 0;
    nvmlReturn_t r = sim_fault(c, what, false);
    bool module = id == SIMGPU_USAGE && (c->g->gauge[id].scopes & SIMGPU_SCOPE_MODULE);
    if (!r)
        r = sim_gauge(c, id, module ? SIMGPU_SCOPE_MODULE : SIMGPU_SCOPE_GPU, &mw);
    *w = mw / 1000.0;
    return r;
}

static void of_gpu(struct sim_call *c, unsigned short field, dcgmFieldValue_v2 *v)
{
    struct simgpu_settings set;
    unsigned long long mj = 0;
    unsigned u = 0, m;
    const struct simgpu_gpu *g = c->g;
    nvmlReturn_t r = NVML_SUCCESS;
    switch (field) {
    case 1: snprintf(v->value.str, sizeof v->value.str, "%s", c->s->h->driver); break;
    case 50: snprintf(v->value.str, sizeof v->value.str, "%s", g->name); break;
    case 52: v->value.i64 = c->gpu; break;
    case 53: snprintf(v->value.str, sizeof v->value.str, "%s", g->serial); break;
    case 54: snprintf(v->value.str, sizeof v->value.str, "%s", g->uuid); break;
    case 57:
        snprintf(v->value.str, sizeof v->value.str, "%08X:%02X:%02X.0", g->pci_domain, g->pci_bus,
                 g->pci_device);
        break;
    case 100: v->value.i64 = sim_clock(c, 1); break;
    case 150: v->value.i64 = sim_temperature(c); break;
    case 155: r = power(c, SIMGPU_USAGE, SIMGPU_W_USAGE, &v->value.dbl); break;
    case 156:
        r = sim_fault(c, SIMGPU_W_ENERGY, false);
        r = r ? r : sim_counter(c, &mj);
        v->value.i64 = (int64_t)mj;
        break;
    case 157: /* the status of the entry is not looked at */
        if (power(c, SIMGPU_INSTANT, SIMGPU_W_INSTANT, &v->value.dbl))
            v->value.dbl = 0;
        break;
    case 164:
        simgpu_settings_at(c->s, c->gpu, c->now, &set);
        r = g->limit_max_uw > 0 ? sim_fault(c, SIMGPU_W_LIMIT, false) : NVML_ERROR_NOT_SUPPORTED;
        v->value.dbl = (double)set.limit_uw / 1e6;
        break;
    case 203:
        sim_utilization(c, c->now, &u, &m);
        v->value.i64 = u;
        break;
    default: r = NVML_ERROR_NOT_SUPPORTED;
    }
    if (r)
        blank(v, blank_of(r));
}

/* The module draws module_extra_uw besides its GPU: three quarters of it the CPU rail, an eighth SysIO, the
 * rest memory. */
static void of_cpu(struct sim_call *c, unsigned short field, dcgmFieldValue_v2 *v)
{
    double extra = (double)c->g->module_extra_uw / 1e6;
    int64_t uw = 0;
    if (field == 1130)
        v->value.dbl = extra * 3 / 4;
    else if (field == 1132)
        v->value.dbl = extra / 8;
    else if (field == 1133 && simgpu_power_scope(c->s, c->gpu, SIMGPU_SCOPE_MODULE, c->now, &uw) == 0)
        v->value.dbl = (double)uw / 1e6;
    else
        blank(v, 2);
}

void sim_dcgm_value(struct simgpu *s, uint32_t group, uint32_t id, unsigned short field, int64_t t_ns,
                    dcgmFieldValue_v2 *v)
{
    int gpu = group == DCGM_FE_SWITCH ? -1 : group == DCGM_FE_GPU_I ? (int)id / 8 : (int)id;
    struct sim_call c = {.s = s, .gpu = gpu, .mig = -1, .now = t_ns};
    const struct simgpu_fault *f;
    v->ts = simgpu_realtime(s, t_ns) / 1000;
    if (gpu >= (int)s->h->gpu_count) {
        blank(v, 1);
        return;
    }
    c.g = gpu >= 0 ? &s->g[gpu] : NULL;
    if (group == DCGM_FE_CPU)
        of_cpu(&c, field, v);
    else if (c.g)
        of_gpu(&c, field, v);
    else if (field >= 705 && field <= 707)
        v->value.i64 = field == 705 ? BUSY_SWITCH_W : field == 706 ? 4 : 8;
    else
        blank(v, 2);
    if (sim_dcgm_fault(s, SIMGPU_FAULT_NOT_SUPPORTED, gpu, t_ns))
        blank(v, 2);
    if (sim_dcgm_fault(s, SIMGPU_FAULT_NO_PERMISSION, gpu, t_ns))
        blank(v, 3);
    if ((f = sim_dcgm_fault(s, SIMGPU_FAULT_ERROR, gpu, t_ns))) {
        blank(v, 0);
        v->status = -f->code;
    }
}
