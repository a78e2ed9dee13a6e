/* SPDX-License-Identifier: Apache-2.0 */
/* What Zeus writes as JSON: a Measurement as a dictionary ({"time", "gpu_energy": {"0": J}, "cpu_energy",
 * "dram_energy", "soc_energy"}), one or several, and the profile of GlobalPowerLimitOptimizer
 * ({"measurements": [{"power_limit", "energy", "time"}]}). A window each. */
#include <math.h>
#include <stdio.h>

#include "import/zeus_json.h"

#include "base/banned.h"

double jm_zeus_joules(const struct jm_ifile *f, const struct jm_jtoken *of, const char *name, int *n)
{
    struct jm_jtoken v, part;
    struct jm_jiter it;
    double sum = 0, e;
    *n = 0;
    if (!jm_jmember(f, of, name, &v))
        return NAN;
    if (jm_jnum(&v, &e))
        return e;
    if (v.type != JM_J_OBJECT) {
        *n = v.type != JM_J_NULL; /* NaN, a text */
        return NAN;
    }
    jm_jiter_init(&it, f, &v);
    while (jm_jiter_next(&it, NULL, &part, NULL) > 0) {
        sum += jm_jnum(&part, &e) ? e : NAN;
        ++*n;
    }
    return *n ? sum : NAN;
}

static void window(struct jm_build *b, const struct jm_jtoken *m, const char *name, const char *gpu)
{
    static const char *const host[] = {"cpu_energy", "dram_energy", "soc_energy"};
    struct jm_jtoken v;
    double s = NAN, e;
    int n;
    bool timed = jm_jmember(b->f, m, "time", &v) && jm_jnum(&v, &s) && s > 0 && s < 1e9;
    jm_build_window_after(b, jm_build_repeat(b, name), name, b->f->mtime_ns, timed ? (int64_t)(s * 1e9) : 0);
    if (timed)
        jm_build_claim(b, "time", "duration", "sum", s, "s", "wall clock (time.time)");
    else
        jm_build_missing(b, "duration", "a measurement has no time");
    e = jm_zeus_joules(b->f, m, gpu, &n);
    if (n)
        jm_build_env(b, "import.gpus", "%d", n);
    if (isfinite(e))
        jm_build_energy_claim(b, gpu, "energy", "sum", e, "J",
                              "NVML counters, end less start, added over the GPUs", "gpu");
    else if (n)
        jm_build_env(b, "import.energy.none", "%s: a GPU has no number", name);
    if (e < 0)
        jm_build_env(b, "import.negative", "%s: %.6g J", name, e);
    if (e == 0 && timed)
        jm_build_env(b, "import.below_resolution", "%s: 0 J in %.4g s", name, s);
    for (size_t i = 0; i < sizeof host / sizeof host[0]; i++) {
        e = jm_zeus_joules(b->f, m, host[i], &n);
        if (!isfinite(e))
            continue;
        jm_build_claim(b, host[i], "", "sum", e, "J", i < 2 ? "RAPL, added over the packages" : "rails");
        jm_build_env(b, "import.unused.host", "%s: %.6g J; Measurement.total_energy is that of the GPUs",
                     host[i], e);
    }
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    struct jm_jtoken list, m, v;
    struct jm_jiter it;
    char name[64];
    int rc = 0;
    bool profile = jm_jmember(b->f, doc, "measurements", &list) && list.type == JM_J_ARRAY;
    jm_build_times(b, "durations only: the windows stand one behind the other at the date of the file");
    jm_build_env(b, "import.clock", "wall");
    jm_build_missing(b, "requests", "Zeus knows of no requests and no tokens: no ratio is formed");
    jm_build_missing(b, "readings", "a measurement is the difference of two readings of each counter");
    if (!profile && doc->type != JM_J_ARRAY) {
        snprintf(name, sizeof name, "measurement %d", n);
        window(b, doc, name, "gpu_energy");
        return;
    }
    jm_jiter_init(&it, b->f, profile ? &list : doc);
    for (int i = 1; !b->rc && (rc = jm_jiter_next(&it, NULL, &m, b->err)) > 0; i++) {
        double watts = NAN;
        if (profile && jm_jmember(b->f, &m, "power_limit", &v))
            jm_jnum(&v, &watts);
        if (isfinite(watts)) {
            snprintf(name, sizeof name, "power limit %.6g W", watts >= 10000 ? watts / 1000 : watts);
            window(b, &m, name, "energy");
        } else {
            snprintf(name, sizeof name, "measurement %d", i);
            window(b, &m, name, profile ? "energy" : "gpu_energy");
        }
    }
    b->rc = b->rc ? b->rc : rc < 0 ? rc : 0;
    if (!b->rc && !b->windows)
        jm_build_fail(b, "%s holds no measurement", b->f->path);
}

int jm_zeus_json_sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark alone[] = {{"time", 0},         {"gpu_energy", 0},  {"cpu_energy", 40},
                                                 {"dram_energy", 30}, {"soc_energy", 30}, {NULL, 0}},
                                      listed[] = {{"[].time", 0},        {"[].gpu_energy", 0},
                                                  {"[].cpu_energy", 40}, {"[].dram_energy", 30},
                                                  {"[].soc_energy", 30}, {NULL, 0}},
                                      limits[] = {{"measurements[].power_limit", 0},
                                                  {"measurements[].energy", 50},
                                                  {"measurements[].time", 40},
                                                  {NULL, 0}};
    int a = jm_probe_score(p, alone), c = jm_probe_score(p, listed), d = jm_probe_score(p, limits);
    a = a > c ? a : c;
    a = a > d ? a : d;
    return a > 90 ? 90 : a;
}

int jm_zeus_json_import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return jm_build_documents("zeus", path, out, o, NULL, one, err);
}
