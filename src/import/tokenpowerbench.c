/* SPDX-License-Identifier: Apache-2.0 */
/* TokenPowerBench: results.json ({"batch_1": {...}}), batch_N_result.json, and the older one by model
 * ({"model":
 * [{"batch_size": ...}]}). Energies are trapezoids over samples of NVML (GPUs), RAPL (package, DRAM) and IPMI
 * (node). null is not measured. In the older form total_energy is the node's where a scope says so; else
 * nobody says whose. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/probe.h"
#include "import/table.h"
#include "import/tokenpowerbench.h"

#include "base/banned.h"

struct tpb {
    struct jm_table_note none, zero, parts, brief, negative, warned;
};

/* Of two names the one that is there. */
static double either(const struct jm_ifile *f, const struct jm_jtoken *doc, const char *a, const char *b,
                     const char **which)
{
    double v = jm_jpath_num(f, doc, a);
    *which = isfinite(v) ? a : b;
    return isfinite(v) ? v : jm_jpath_num(f, doc, b);
}

static void energies(struct jm_build *b, struct tpb *z, const struct jm_jtoken *e, const char *name,
                     double tokens, double requests, double seconds)
{
    static const char gpu_source[] = "NVML power, trapezoid over its samples",
                      node[] = "IPMI dcmi power reading, about 1 s apart";
    const char *k;
    char scope[48] = "";
    struct jm_jtoken v;
    double gpu = either(b->f, e, "gpu_energy_j", "gpu_energy", &k);
    if (isfinite(gpu)) {
        jm_build_energy_claim(b, k, "energy", "sum", gpu, "J", gpu_source, "gpu");
        if (tokens > 0)
            jm_build_energy_claim(b, "GPU energy / output tokens", "j_per.output_token", "", gpu / tokens,
                                  "J/token", gpu_source, "gpu");
        if (requests > 0)
            jm_build_energy_claim(b, "GPU energy / responses", "j_per.request_ok", "mean", gpu / requests,
                                  "J/request", gpu_source, "gpu");
    }
    double mj = jm_jpath_num(b->f, e, "gpu_mj_per_token"),
           per = jm_jpath_num(b->f, e, "gpu_energy_per_token");
    if (isfinite(mj))
        jm_build_energy_claim(b, "gpu_mj_per_token", "", "", mj, "mJ/token", gpu_source, "gpu");
    if (tokens > 0 && gpu > 0 &&
        ((mj > 0 && fabs(mj * tokens / 1e3 / gpu - 1) > 0.01) ||
         (per > 0 && fabs(per * tokens / gpu - 1) > 0.01)))
        jm_table_note(&z->parts, "%s: energy per token x %.0f tokens is not the energy of the GPUs, %.6g J",
                      name, tokens, gpu);
    double cpu = either(b->f, e, "cpu_energy_j", "cpu_energy", &k);
    if (isfinite(cpu))
        jm_build_claim(b, k, "", "sum", cpu, "J", "RAPL, packages");
    double dram = either(b->f, e, "dram_energy_j", "dram_energy", &k);
    if (isfinite(dram))
        jm_build_claim(b, k, "", "sum", dram, "J", "RAPL, DRAM");
    if (jm_jmember(b->f, e, "energy_scope", &v))
        jm_jtext(&v, scope, sizeof scope);
    bool newer = jm_jmember(b->f, e, "system_energy_j", &v) || scope[0];
    double total = either(b->f, e, "system_energy_j", "total_energy_j", &k);
    if (isnan(total))
        total = jm_jpath_num(b->f, e, k = "total_energy");
    double parts = (gpu > 0 ? gpu : 0) + (cpu > 0 ? cpu : 0) + (dram > 0 ? dram : 0);
    bool summed = !newer && parts > 0 && fabs(total / parts - 1) < 1e-3;
    if (isfinite(total))
        jm_build_energy_claim(b, k, "energy", "sum", total, "J",
                              newer    ? node
                              : summed ? "GPUs, packages and DRAM added"
                                       : "",
                              newer    ? "node"
                              : summed ? "device"
                                       : "");
    if (isfinite(total) && newer && tokens > 0)
        jm_build_energy_claim(b, "node energy / output tokens", "", "", total / tokens, "J/token", node,
                              "node");
    if (total > 0 && newer && parts > total * 1.02)
        jm_table_note(&z->parts, "%s: the node took %.6g J, GPUs, CPU and DRAM in it %.6g J", name, total,
                      parts);
    if (isfinite(gpu) && isfinite(cpu) && isfinite(jm_jpath_num(b->f, e, "components_energy_j")) &&
        fabs(jm_jpath_num(b->f, e, "components_energy_j") - parts) > 1e-3 * parts)
        jm_table_note(&z->parts, "%s: components_energy_j %.6g J, its parts %.6g J", name,
                      jm_jpath_num(b->f, e, "components_energy_j"), parts);
    if (gpu < 0 || cpu < 0 || dram < 0 || total < 0)
        jm_table_note(&z->negative, "%s: gpu %.6g, cpu %.6g, dram %.6g, node %.6g J", name, gpu, cpu, dram,
                      total);
    if (gpu == 0 || total == 0)
        jm_table_note(&z->zero, "%s: 0 J in %.6g s", name, seconds);
    if (isnan(gpu))
        jm_table_note(&z->none, "%s: GPUs", name);
    if (scope[0])
        jm_build_env(b, "file.energy_scope", "%s", scope);
    if (isnan(total) || isnan(cpu))
        jm_build_env(b, "import.without.host", "%s%s not measured (null)", isnan(total) ? "the node" : "",
                     isnan(cpu) ? isnan(total) ? " and CPU packages" : "CPU packages" : "");
    if (jm_jmember(b->f, e, "warnings", &v) && v.type == JM_J_ARRAY) {
        struct jm_jiter it;
        struct jm_jtoken w;
        char text[160];
        jm_jiter_init(&it, b->f, &v);
        while (jm_jiter_next(&it, NULL, &w, NULL) > 0)
            if (jm_jtext(&w, text, sizeof text)) {
                jm_text_plain(text, strlen(text), false);
                jm_table_note(&z->warned, "%s", text);
            }
    }
}

/* Requests of the phase profile, by the process' own monotonic clock. */
static void phases(struct jm_build *b, struct tpb *z, const struct jm_jtoken *list, int64_t zero)
{
    static const char *const names[] = {"submitted_s",   "first_token_s", "finished_s",
                                        "output_tokens", "prompt_tokens", "prefill_proxy_energy"};
    struct jm_jiter it;
    struct jm_jtoken p, v[6], e;
    int rc = 0;
    jm_jiter_init(&it, b->f, list);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &p, b->err)) > 0) {
        struct jm_request q;
        int64_t sub, first, end;
        double d;
        jm_request_init(&q);
        if (jm_jfind(b->f, &p, names, 6, v, NULL) || !jm_jtime(&v[0], 0, &sub) ||
            !jm_jtime(&v[1], 0, &first) || !jm_jtime(&v[2], 0, &end) || sub < zero || first < sub ||
            end < first)
            continue;
        jm_jint(&v[3], &q.output_tokens);
        jm_jint(&v[4], &q.prompt_tokens);
        q.end = JM_END_OK;
        jm_build_timed(b, &q, b->t0 + (sub - zero), first - sub, end - sub, NULL, 0);
        jm_build_request(b, &q);
        if (v[5].type == JM_J_OBJECT && jm_jmember(b->f, &v[5], "gpu_energy_j", &e) && !jm_jnum(&e, &d))
            jm_table_note(&z->brief, "prefill of %.4g s", (double)(first - sub) / 1e9);
    }
    if (rc < 0 && !b->rc)
        b->rc = rc;
}

static void batch(struct jm_build *b, struct tpb *z, const struct jm_jtoken *doc, const char *model, int n)
{
    struct jm_jtoken e = *doc, v, list;
    const char *k;
    char name[120], size[16] = "", engine[24] = "";
    int64_t zero = -1;
    if (jm_jmember(b->f, doc, "batch_size", &v))
        jm_jtext(&v, size, sizeof size);
    if (jm_jmember(b->f, doc, "engine", &v))
        jm_jtext(&v, engine, sizeof engine);
    if (jm_jmember(b->f, doc, "energy", &v) && v.type == JM_J_OBJECT)
        e = v;
    double seconds = jm_jpath_num(b->f, &e, "duration"),
           tokens = either(b->f, doc, "total_output_tokens", "output_tokens", &k),
           requests = either(b->f, doc, "num_responses", "responses", &k),
           rate = jm_jpath_num(b->f, doc, "output_tokens_per_s");
    if (jm_jmember(b->f, doc, "start_s", &v))
        jm_jtime(&v, 0, &zero);
    if (!(seconds >= 0) || !(seconds < 1e9))
        seconds = 0;
    snprintf(name, sizeof name, "%d: %.60s%s%.20s%sbatch %s", n, model, model[0] ? ", " : "", engine,
             engine[0] ? ", " : "", size);
    jm_text_plain(name, strlen(name), false);
    int64_t ns = (int64_t)(seconds * 1e9);
    jm_build_window_after(b, jm_build_repeat(b, name + 3), name,
                          b->f->mtime_ns > ns ? b->f->mtime_ns - ns : 0, ns);
    if (seconds > 0)
        jm_build_claim(b, "duration", "duration", "sum", seconds, "s", "");
    if (isfinite(tokens))
        jm_build_claim(b, "total_output_tokens", "tokens.output", "sum", tokens, "tokens", "");
    if (isfinite(requests))
        jm_build_claim(b, "num_responses", "requests.ok", "sum", requests, "", "");
    if (isfinite(rate))
        jm_build_claim(b, "output_tokens_per_s", "tokens_per_s", "", rate, "tokens/s", "");
    energies(b, z, &e, name, tokens, requests, seconds);
    if (jm_jmember(b->f, doc, "phases", &list) && list.type == JM_J_ARRAY && zero >= 0)
        phases(b, z, &list, zero);
    if (size[0])
        jm_build_env(b, "plan.concurrency", "%s", size);
    if (model[0])
        jm_build_env(b, "endpoint.model", "%s", model);
}

static void document(struct jm_build *b, const struct jm_jtoken *doc, int nth)
{
    struct tpb z = {.none = {0}};
    struct jm_jiter it, in;
    struct jm_jtoken key, v, item;
    char model[96];
    int n = 0, rc = 0;
    (void)nth;
    if (jm_jmember(b->f, doc, "batch_size", &v)) {
        batch(b, &z, doc, "", ++n);
    } else {
        jm_jiter_init(&it, b->f, doc);
        while (!b->rc && (rc = jm_jiter_next(&it, &key, &v, b->err)) > 0) {
            model[0] = '\0';
            if (v.type == JM_J_OBJECT) {
                n++;
                if (!b->o->select || b->o->select == n)
                    batch(b, &z, &v, "", n);
            } else if (v.type == JM_J_ARRAY) {
                jm_jtext(&key, model, sizeof model);
                jm_jiter_init(&in, b->f, &v);
                while (!b->rc && (rc = jm_jiter_next(&in, NULL, &item, b->err)) > 0)
                    if (++n && (!b->o->select || b->o->select == n))
                        batch(b, &z, &item, model, n);
            }
        }
    }
    if (rc < 0 && !b->rc)
        b->rc = rc;
    if (!b->rc && !n)
        jm_build_fail(b, "%s holds no batch of TokenPowerBench", b->f->path);
    jm_table_told(b, "import.energy.none", &z.none, "batches have no energy");
    jm_table_told(b, "import.zero", &z.zero, "batches");
    jm_table_told(b, "import.parts", &z.parts, "contradictions");
    jm_table_told(b, "import.negative", &z.negative, "batches");
    jm_table_told(b, "import.below_resolution", &z.brief, "phases without an energy");
    jm_table_told(b, "file.warnings", &z.warned, "warnings of the tool itself");
    jm_build_times(b,
                   "the file has the process' own monotonic clock; its end is put at the time of the file");
    if (!b->requests)
        jm_build_missing(b, "requests", "without --phase-profiling the file holds totals");
    jm_build_missing(b, "readings", "they are in batch_N_power_samples.json");
}

static bool samples(const struct jm_probe *p)
{
    return !p->list && ((jm_probe_key(p, "gpu[].timestamp_s") && jm_probe_key(p, "gpu[].power_w")) ||
                        (jm_probe_key(p, "ipmi[].timestamp_s") && jm_probe_key(p, "ipmi[].power_w")));
}

static int sniff(const struct jm_probe *p)
{
    if (samples(p))
        return 90;
    static const struct jm_probe_mark one[] = {
        {"batch_size", 0}, {"energy.gpu_energy_j", 60}, {"phase_status", 35}, {NULL, 0}};
    int best = jm_probe_score(p, one);
    for (int i = 0; i < p->n && best < 90 && p->json && !p->list; i++) { /* below a name that nobody knows */
        const char *dot = strchr(p->key[i].path, '.');
        bool newer =
            dot && strncmp(p->key[i].path, "batch_", 6) == 0 && strcmp(dot, ".energy.gpu_energy_j") == 0;
        bool older = strstr(p->key[i].path, "[].gpu_energy_per_token") ||
                     strstr(p->key[i].path, "[].total_energy_per_token");
        best = newer || older ? 90 : best;
    }
    return best;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_probe *p = malloc(sizeof *p);
    int rc = p ? jm_ifile_open(path, &f, err)
               : jm_err_set(err, JM_ENOMEM, "out of memory for a look into %s", path);
    if (rc) {
        free(p);
        return rc;
    }
    jm_probe_look(p, path, &f);
    bool readings = samples(p);
    free(p);
    jm_ifile_close(&f);
    return readings ? jm_tokenpowerbench_samples(path, out, o, err)
                    : jm_build_documents("tokenpowerbench", path, out, o, NULL, document, err);
}

const struct jm_importer jm_import_tokenpowerbench = {
    .name = "tokenpowerbench",
    .summary = "TokenPowerBench: results.json, batch_N_result.json, batch_N_power_samples.json, the older "
               "JSON by model",
    .reads = "A window a batch with its energies of GPUs, CPU, DRAM and node, tokens and responses as "
             "claims; requests of the phase profile with "
             "their first token.",
    .lacks = "The date; prompt tokens; requests without --phase-profiling.",
    .sniff = sniff,
    .import = import,
};
