/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_json.h"
#include "simgpu_power.h"
#include "simgpu_truth.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <time.h>

static void text(FILE *f, const char *p)
{
    fputc('"', f);
    for (; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void number(FILE *f, const char *key, double v)
{
    if (isnan(v))
        fprintf(f, ", \"%s\": null", key);
    else
        fprintf(f, ", \"%s\": %.15g", key, v);
}

static void stamp(FILE *f, const char *key, int64_t ns)
{
    time_t sec = (time_t)(ns / 1000000000);
    struct tm tm;
    char day[32];
    gmtime_r(&sec, &tm);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    fprintf(f, ", \"%s\": \"%s.%09" PRId64 "Z\"", key, day, ns % 1000000000);
}

static void settings(FILE *f, const struct simgpu *s, const struct simgpu_gpu *g)
{
    static const char *const kind[] = {"", "power_limit", "gpu_clocks", "memory_clocks", "persistence"};
    uint32_t n = atomic_load(&g->set_count);
    fprintf(f, ", \"settings\": [");
    for (uint32_t i = 0; i < n && i < SIMGPU_MAX_SETS; i++) {
        const struct simgpu_set *x = &g->set[i];
        if (x->kind < 1 || x->kind > 4)
            continue;
        fprintf(f, "%s{ \"t_ns\": %" PRId64 ", \"pid\": %" PRIu32 ", \"kind\": \"%s\"", i ? ", " : " ",
                x->t_ns, x->pid, kind[x->kind]);
        stamp(f, "at", simgpu_realtime(s, x->t_ns));
        if (x->kind == SIMGPU_SET_LIMIT)
            fprintf(f, ", \"w\": %.6f }", (double)x->a / 1e6);
        else if (x->kind == SIMGPU_SET_PERSISTENCE)
            fprintf(f, ", \"on\": %s }", x->a ? "true" : "false");
        else
            fprintf(f, ", \"min_mhz\": %" PRId64 ", \"max_mhz\": %" PRId64 " }", x->a, x->b);
    }
    fprintf(f, "%s]", n ? " " : "");
}

static void gpu(FILE *f, struct simgpu *s, int i, int64_t t0, int64_t t1)
{
    const struct simgpu_gpu *g = &s->g[i];
    double e = simgpu_true_energy_j(s, i, t0, t1);
    fprintf(f, "    { \"index\": %d, \"name\": ", i);
    text(f, g->name);
    fprintf(f, ", \"uuid\": ");
    text(f, g->uuid);
    fprintf(f, ",\n      \"pci\": \"%08x:%02x:%02x.0\", \"profile\": ", g->pci_domain, g->pci_bus,
            g->pci_device);
    text(f, g->profile);
    fprintf(f, ", \"waveform\": ");
    text(f, g->waveform);
    fprintf(f, ",\n      \"driven\": %s", g->mode == SIMGPU_DRIVEN ? "true" : "false");
    number(f, "energy_j", e);
    if (t1 > t0)
        number(f, "mean_w", e / ((double)(t1 - t0) / 1e9));
    if (g->module_extra_uw)
        number(f, "module_energy_j", simgpu_true_module_energy_j(s, i, t0, t1));
    fprintf(f, ",\n      \"counter\": %s, \"scope\": \"%s\", \"counter_base_mj\": %" PRId64,
            g->counter ? "true" : "false", g->counter_scope == SIMGPU_SCOPE_MODULE ? "module" : "gpu",
            g->counter_base_mj);
    number(f, "counter_gain", (double)g->counter_gain_ppb / 1e9);
    number(f, "gauge_gain", (double)g->gauge_gain_ppb / 1e9);
    fprintf(f,
            ",\n      \"refresh_ns\": %" PRId64 ", \"phase_ns\": %" PRId64 ", \"jitter_ns\": %" PRId64
            ", \"latency_ns\": %" PRId64 ", \"capped_ns\": %" PRId64,
            g->counter_period_ns, g->phase_ns, g->jitter_ns, g->latency_ns,
            simgpu_capped_time(s, i, t1) - (g->mode == SIMGPU_WAVE ? simgpu_capped_time(s, i, t0) : 0));
    settings(f, s, g);
    fprintf(f, " }");
}

int simgpu_truth_json(struct simgpu *s, int64_t t0_ns, int64_t t1_ns, FILE *f)
{
    const struct simgpu_header *h = s->h;
    fprintf(f, "{ \"schema\": \"joulemark.sim.gpu/1\", \"simulated\": true, \"version\": \"%s\",\n",
            JM_VERSION);
    fprintf(f, "  \"clock\": \"%s\", \"seed\": %" PRIu64 ", \"driver\": ",
            h->clock == SIMGPU_CLOCK_VIRTUAL ? "virtual" : "real", h->seed);
    text(f, h->driver);
    fprintf(f, ",\n  \"t0_ns\": %" PRId64 ", \"t1_ns\": %" PRId64, t0_ns, t1_ns);
    number(f, "seconds", (double)(t1_ns - t0_ns) / 1e9);
    stamp(f, "t0", simgpu_realtime(s, t0_ns));
    stamp(f, "t1", simgpu_realtime(s, t1_ns));
    fprintf(f, ",\n  \"calls\": %" PRIu64, (uint64_t)atomic_load(&h->calls));
    number(f, "energy_j", simgpu_true_total_j(s, t0_ns, t1_ns));
    fprintf(f, ",\n  \"gpus\": [%s", h->gpu_count ? "\n" : "");
    for (uint32_t i = 0; i < h->gpu_count; i++) {
        gpu(f, s, (int)i, t0_ns, t1_ns);
        fprintf(f, "%s\n", i + 1 < h->gpu_count ? "," : "");
    }
    fprintf(f, "  ] }\n");
    return fflush(f) != 0 || ferror(f) ? -EIO : 0;
}
