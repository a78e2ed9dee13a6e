/* SPDX-License-Identifier: Apache-2.0 */
/* optimum-benchmark, whose energy_star scenario AI Energy Score rests on: benchmark_report.json ({"prefill":
 * {"energy": {"unit", "cpu", "ram", "gpu", "total"}, "latency", "throughput", "efficiency"}, "decode": ...})
 * and benchmark.json with the configuration beside it ({"config", "report"}). A window a phase. The energy is
 * CodeCarbon's: memory is modelled, the CPU may be. The decode phase is a generation less a prefill that was
 * measured apart, and its tokens are the most that were allowed, not those that came. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"

#include "base/banned.h"

struct optimum {
    struct jm_build *b;
    double samples, new_tokens; /* of the configuration; NAN */
    int phases;
};

static void energy(struct optimum *p, const struct jm_jtoken *phase, const char *name)
{
    static const char *const parts[] = {"cpu", "ram"};
    const struct jm_ifile *f = p->b->f;
    struct jm_jtoken v;
    char unit[16] = "", key[48];
    int have = 0;
    double gpu = jm_jpath_num(f, phase, "energy.gpu"), total = jm_jpath_num(f, phase, "energy.total"),
           sum = 0, e, per = jm_jpath_num(f, phase, "efficiency.value");
    if (jm_jpath(f, phase, "energy.unit", &v))
        jm_jtext(&v, unit, sizeof unit);
    bool known = strcmp(unit, "kWh") == 0 || strcmp(unit, "Wh") == 0 || strcmp(unit, "J") == 0;
    bool less = strcmp(name, "decode") == 0;
    if (!known)
        jm_build_env(p->b, "import.energy.unit", "%s: \"%s\"", name, unit);
    snprintf(key, sizeof key, "%.30s.energy.gpu", name);
    if (isfinite(gpu)) {
        jm_build_energy_claim(p->b, key, known ? "energy" : "", "sum", gpu, unit,
                              less ? "CodeCarbon's GPU counters: the generation less a prefill measured apart"
                                   : "CodeCarbon's GPU counters (NVML, amdsmi), end less start",
                              "gpu");
        sum += gpu;
        have++;
    }
    for (size_t i = 0; i < 2; i++) {
        char path[24];
        snprintf(path, sizeof path, "energy.%s", parts[i]);
        if (!isfinite(e = jm_jpath_num(f, phase, path)))
            continue;
        snprintf(key, sizeof key, "%.30s.energy.%s", name, parts[i]);
        jm_build_claim(p->b, key, "", "sum", e, unit,
                       i ? "estimate: watts a DIMM" : "RAPL, or a model of the CPU's TDP and load");
        sum += e;
        have++;
        if (i && e > 0 && total > 0)
            jm_build_env(p->b, "import.modelled", "%s: ram, %.3g %% of the total, is watts a DIMM", name,
                         100 * e / total);
    }
    snprintf(key, sizeof key, "%.30s.energy.total", name);
    if (isfinite(total))
        jm_build_energy_claim(p->b, key, known ? "energy" : "", "sum", total, unit,
                              "estimate: CPU, GPU and modelled memory", "design");
    if (have == 3 && total > 0 &&
        fabs(sum / total - 1) > 1e-3) /* where a part has no number they are no sum */
        jm_build_env(p->b, "import.parts", "%s: total %.6g %s, its parts together %.6g", name, total, unit,
                     sum);
    if (gpu < 0 || total < 0)
        jm_build_env(p->b, "import.negative", "%s: gpu %.6g, total %.6g %s%s", name, gpu, total, unit,
                     less ? "; a generation less a prefill that was measured apart" : "");
    else if (total == 0)
        jm_build_env(p->b, "import.zero", "%s: 0 %s", name, unit);
    if (jm_jpath(f, phase, "efficiency.unit", &v) && isfinite(per)) {
        char each[32] = "";
        jm_jtext(&v, each, sizeof each);
        snprintf(key, sizeof key, "%.30s.efficiency", name);
        jm_build_claim(p->b, key, "", "", per, each, "over the total of CPU, memory and GPU");
        double n = per * total, most = p->samples * (p->new_tokens - 1);
        if (less && n > 0 && most > 0 && fabs(n / most - 1) < 1e-3)
            jm_build_env(p->b, "import.denominator.assumed", "%.6g tokens: %.0f samples x (%.0f allowed - 1)",
                         n, p->samples, p->new_tokens);
    }
}

static void phase(struct optimum *p, const struct jm_jtoken *v, const struct jm_jtoken *key)
{
    static const char *const stats[] = {"mean", "p50", "p90", "p95", "p99"};
    const struct jm_ifile *f = p->b->f;
    struct jm_jtoken e, unit;
    char name[48], full[64], each[24] = "";
    double s = jm_jpath_num(f, v, "latency.total");
    snprintf(name, sizeof name, "%.*s", key->raw.n < 47 ? (int)key->raw.n : 47, key->raw.p);
    jm_text_plain(name, strlen(name), false);
    bool timed = s > 0 && s < 1e9;
    jm_build_window_after(p->b, 0, name, p->b->f->mtime_ns, timed ? (int64_t)(s * 1e9) : 0);
    p->phases++;
    if (timed)
        jm_build_claim(p->b, "latency.total", "duration", "sum", s, "s", "of the repetitions of the phase");
    else
        jm_build_missing(p->b, "duration", "the report has no latency of a phase");
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++) {
        snprintf(full, sizeof full, "latency.%s", stats[i]);
        double t = jm_jpath_num(f, v, full);
        if (isfinite(t))
            jm_build_claim(p->b, full, "", stats[i], t, "s", "of a repetition");
    }
    if (jm_jpath(f, v, "throughput.unit", &unit) && isfinite(s = jm_jpath_num(f, v, "throughput.value"))) {
        jm_jtext(&unit, each, sizeof each);
        jm_build_claim(p->b, "throughput.value", "", "", s, each, "");
    }
    if (jm_jmember(f, v, "energy", &e) && e.type == JM_J_OBJECT)
        energy(p, v, name);
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const char *const env[][2] = {{"config.backend.model", "endpoint.model"},
                                         {"config.backend.name", "endpoint.engine"},
                                         {"config.backend.version", "endpoint.engine_version"},
                                         {"config.environment.cpu", "host.cpu"},
                                         {"config.environment.gpu_count", "import.gpus"},
                                         {"config.environment.optimum_benchmark_version", "import.version"},
                                         {"config.scenario.name", "file.scenario"},
                                         {"config.scenario.dataset_name", "file.dataset"},
                                         {"config.scenario.num_samples", "file.num_samples"}};
    struct optimum p = {.b = b};
    struct jm_jtoken report = *doc, v, key, x;
    struct jm_jiter it;
    int rc = 0;
    (void)n;
    p.samples = jm_jpath_num(b->f, doc, "config.scenario.num_samples");
    p.new_tokens = jm_jpath_num(b->f, doc, "config.scenario.generate_kwargs.max_new_tokens");
    if (jm_jmember(b->f, doc, "report", &v) && v.type == JM_J_OBJECT)
        report = v;
    jm_build_times(b, "durations only: the phases stand one behind the other at the date of the file");
    jm_jiter_init(&it, b->f, &report);
    while (!b->rc && (rc = jm_jiter_next(&it, &key, &v, b->err)) > 0)
        if (jm_jmember(b->f, &v, "energy", &x) || jm_jmember(b->f, &v, "latency", &x))
            phase(&p, &v, &key);
    b->rc = b->rc ? b->rc : rc < 0 ? rc : 0;
    if (!b->rc && !p.phases)
        jm_build_fail(b, "%s holds no phase with an energy or a latency", b->f->path);
    for (size_t i = 0; i < sizeof env / sizeof env[0]; i++)
        if (jm_jpath(b->f, doc, env[i][0], &v))
            jm_build_env_of(b, env[i][1], &v);
    jm_build_env(b, "import.clock", "wall");
    jm_build_env(b, "import.whole_machine", "CodeCarbon counts every GPU that it sees");
    jm_build_missing(b, "requests", "the report holds totals of phases");
    jm_build_missing(b, "readings", "the report holds totals");
}

static int sniff(const struct jm_probe *p)
{
    static const char *const at[] = {"", "report."},
                             *const phases[] = {"prefill", "decode", "forward", "call"},
                             *const what[] = {"energy", "latency", "efficiency"};
    int most = 0;
    for (size_t a = 0; !p->list && a < 2; a++) {
        int n = 0;
        for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
            for (size_t k = 0; k < sizeof what / sizeof what[0]; k++) {
                char path[48];
                snprintf(path, sizeof path, "%s%s.%s", at[a], phases[i], what[k]);
                n += jm_probe_key(p, path) != NULL;
            }
        most = n > most ? n : most;
    }
    return most >= 2 ? 80 : 0;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return jm_build_documents("optimum-benchmark", path, out, o, NULL, one, err);
}

const struct jm_importer jm_import_optimum = {
    .name = "optimum-benchmark",
    .summary = "optimum-benchmark: benchmark_report.json, benchmark.json",
    .reads = "A window a phase (prefill, decode, loading) with its energies, latencies and efficiency as "
             "claims. The GPU's energy is that of the boards; the total holds modelled memory, and is a "
             "design figure.",
    .lacks = "Requests, readings; how many tokens were decoded (the most allowed is taken); the date.",
    .sniff = sniff,
    .import = import,
};
