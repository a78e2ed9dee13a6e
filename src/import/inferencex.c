/* SPDX-License-Identifier: Apache-2.0 */
/* InferenceX (InferenceMAX before): aggregated results (agg_*.json, one or a list), the sidecar of their
 * power (power_validation_*.json), and the DCGM samples of several nodes (power/samples.csv, roles from the
 * manifest.json beside it). gpu_metrics.csv of one node is nvidia-smi's or amd-smi's own CSV.
 *
 * Power of schema 1 is a mean over all samples times the GPUs ever seen; of schema 2 (power_valid,
 * total_gpu_energy_j) each GPU's trapezoid over the formal window, invalid with reasons where it cannot be.
 * All of it is of the GPU boards. Role energies are those of a role's GPUs over the whole window, not of a
 * phase. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/devlog.h"
#include "import/peer.h"
#include "import/table.h"

#include "base/banned.h"

static const char trapezoid[] = "trapezoid over each GPU's samples in the benchmark's window, GPU boards";

static const struct jm_claim_row rows[] = {
    {"*_ttft", "ttft", NULL, "s", "vLLM's bench serve", NULL},
    {"*_tpot", "tpot.excl_first", NULL, "s", "vLLM's bench serve", NULL},
    {"*_itl", "itl.chunk", NULL, "s", "vLLM's bench serve", NULL},
    {"*_e2el", "e2e", NULL, "s", "vLLM's bench serve", NULL},
    {"tput_per_gpu", "", "", "tokens/s", "total tokens/s / GPUs, whole wall time", NULL},
    {"output_tput_per_gpu", "", "", "tokens/s", "output tokens/s / GPUs, whole wall time", NULL},
    {"input_tput_per_gpu", "", "", "tokens/s", "input tokens/s / GPUs, whole wall time", NULL},
    {"total_gpu_energy_j", "energy", "sum", "J", trapezoid, "gpu"},
    {"avg_total_gpu_power_w", "power.mean", "mean", "W", trapezoid, "gpu"},
    {"avg_power_w", "", "mean", "W", "a GPU: the mean over GPUs, not their sum", "gpu"},
    {"joules_per_successful_query", "j_per.request_ok", "mean", "J/request", "energy / successful queries",
     "gpu"},
    {"joules_per_input_token", "j_per.input_token", "", "J/token", "energy of all GPUs / input tokens",
     "gpu"},
    {"joules_per_output_token", "j_per.output_token", "", "J/token", "energy of all GPUs / output tokens",
     "gpu"},
    {"joules_per_total_token", "j_per.total_token", "", "J/token",
     "energy of all GPUs / input and output tokens", "gpu"},
    {"prefill_gpu_energy_j", "", "sum", "J", "GPUs of the prefill workers, whole window", "gpu"},
    {"decode_gpu_energy_j", "", "sum", "J", "GPUs of the decode workers, whole window", "gpu"},
    {"prefill_avg_power_w", "", "mean", "W", "a GPU of the prefill workers", "gpu"},
    {"decode_avg_power_w", "", "mean", "W", "a GPU of the decode workers", "gpu"},
    {"prefill_joules_per_input_token", "", "", "J/token", "prefill GPUs, whole window / input tokens", "gpu"},
    {"decode_joules_per_output_token", "", "", "J/token", "decode GPUs, whole window / output tokens", "gpu"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static bool apart(double a, double b, double rel)
{
    return isfinite(a) && isfinite(b) && fabs(a - b) > rel * fmax(fabs(a), fabs(b));
}

/* "sampling_gap_exceeded, ..." */
static void reasons(const struct jm_ifile *f, const struct jm_jtoken *list, char *buf, size_t cap)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    char one[64];
    buf[0] = '\0';
    jm_jiter_init(&it, f, list);
    while (jm_jiter_next(&it, NULL, &v, NULL) > 0)
        if (jm_jtext(&v, one, sizeof one) && strlen(buf) + strlen(one) + 3 < cap)
            snprintf(buf + strlen(buf), cap - strlen(buf), "%s%s", buf[0] ? ", " : "", one);
    jm_text_plain(buf, strlen(buf), false);
}

static double gpus_of(const struct jm_ifile *f, const struct jm_jtoken *doc)
{
    double p = jm_jpath_num(f, doc, "num_prefill_gpu"), d = jm_jpath_num(f, doc, "num_decode_gpu"),
           tp = jm_jpath_num(f, doc, "tp"), pp = jm_jpath_num(f, doc, "pp"),
           pcp = jm_jpath_num(f, doc, "pcp_size");
    if (p >= 0 && d >= 0)
        return p + d;
    return tp > 0 ? tp * (pp > 0 ? pp : 1) * (pcp > 0 ? pcp : 1) : NAN;
}

/* What the power of a row contradicts in itself. metrics: the object that holds it. */
static void power(struct jm_build *b, const struct jm_jtoken *m, double gpus, const char *name)
{
    double e = jm_jpath_num(b->f, m, "total_gpu_energy_j"),
           all = jm_jpath_num(b->f, m, "avg_total_gpu_power_w"), each = jm_jpath_num(b->f, m, "avg_power_w"),
           in = jm_jpath_num(b->f, m, "joules_per_input_token"),
           out = jm_jpath_num(b->f, m, "joules_per_output_token"),
           token = jm_jpath_num(b->f, m, "joules_per_total_token"),
           query = jm_jpath_num(b->f, m, "joules_per_successful_query"),
           prefill = jm_jpath_num(b->f, m, "prefill_gpu_energy_j"),
           decode = jm_jpath_num(b->f, m, "decode_gpu_energy_j");
    if (e > 0 && all > 0) {
        jm_build_claim(b, "total_gpu_energy_j / avg_total_gpu_power_w", "energy.duration", "sum", e / all,
                       "s", "two numbers of the file");
        if (token > 0)
            jm_build_claim(b, "total_gpu_energy_j / joules_per_total_token", "", "", e / token, "tokens",
                           "input and output tokens");
        if (query > 0)
            jm_build_claim(b, "total_gpu_energy_j / joules_per_successful_query", "requests.ok", "sum",
                           e / query, "", "two numbers of the file");
    }
    if (e > 0 && query > 0 && fabs(e / query - round(e / query)) > 0.01 + 1e-6 * e / query)
        jm_build_env(b, "import.parts", "%.60s: %.6g J at %.6g J a query are %.6g queries, no whole number",
                     name, e, query, e / query);
    if (in > 0 && out > 0 && token > 0 && apart(1 / token, 1 / in + 1 / out, 1e-3))
        jm_build_env(b, "import.parts",
                     "%.60s: %.6g J/token in all, %.6g of input and %.6g of output: %.6g would follow", name,
                     token, in, out, 1 / (1 / in + 1 / out));
    if (all > 0 && each > 0 && gpus > 0 && apart(all / each, gpus, 1e-3))
        jm_build_env(b, "import.parts",
                     "%.60s: %.6g W in all over %.6g W a GPU are %.4g GPUs, and %.0f serve (samples that do "
                     "not go together)",
                     name, all, each, all / each, gpus);
    if ((prefill >= 0 || decode >= 0) && e > 0) {
        double sum = (prefill >= 0 ? prefill : 0) + (decode >= 0 ? decode : 0);
        if (apart(sum, e, 1e-3))
            jm_build_env(b, "import.parts", "%.60s: %.6g J in all, prefill and decode GPUs together %.6g J",
                         name, e, sum);
        jm_build_env(b, "import.roles", "prefill GPUs %.6g J, decode GPUs %.6g J over the whole window",
                     prefill, decode);
    }
    if (e < 0 || all < 0 || each < 0)
        jm_build_env(b, "import.negative", "%.60s: %.6g J, %.6g W", name, e, all);
    if (isnan(e) && each > 0)
        jm_build_env(
            b, "import.power.schema1",
            "%.60s: mean of the samples %.6g W a GPU; energy per token is that x GPUs / tokens per second",
            name, each);
}

static void row(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const char *const env[][2] = {{"model", "endpoint.model"},
                                         {"precision", "endpoint.precision"},
                                         {"hw", "host.gpu"},
                                         {"framework", "endpoint.engine"},
                                         {"image", "endpoint.image"}};
    struct jm_jtoken v;
    char hw[40] = "", framework[40] = "", conc[16] = "", name[96], why[300];
    double e = jm_jpath_num(b->f, doc, "total_gpu_energy_j"),
           w = jm_jpath_num(b->f, doc, "avg_total_gpu_power_w"), gpus = gpus_of(b->f, doc),
           valid = jm_jpath_num(b->f, doc, "power_valid");
    if (jm_jmember(b->f, doc, "hw", &v))
        jm_jtext(&v, hw, sizeof hw);
    if (jm_jmember(b->f, doc, "framework", &v))
        jm_jtext(&v, framework, sizeof framework);
    if (jm_jmember(b->f, doc, "conc", &v))
        jm_jtext(&v, conc, sizeof conc);
    snprintf(name, sizeof name, "%d: %s %s, concurrency %s", n, hw, framework, conc);
    jm_text_plain(name, strlen(name), false);
    double s = e > 0 && w > 0 ? e / w : 0;
    jm_build_window_after(b, jm_build_repeat(b, name + 3), name, b->f->mtime_ns,
                          s > 0 && s < 1e9 ? (int64_t)(s * 1e9) : 0);
    jm_build_claims(b, doc, rows, "");
    power(b, doc, gpus, name);
    for (size_t i = 0; i < sizeof env / sizeof env[0]; i++)
        if (jm_jmember(b->f, doc, env[i][0], &v))
            jm_build_env_of(b, env[i][1], &v);
    if (gpus > 0)
        jm_build_env(b, "import.gpus", "%.0f", gpus);
    jm_build_env(b, "plan.concurrency", "%s", conc);
    if (valid == 0) {
        why[0] = '\0';
        if (jm_jmember(b->f, doc, "power_invalid_reasons", &v))
            reasons(b->f, &v, why, sizeof why);
        jm_build_env(b, "import.power.invalid", "%.60s: power_valid 0%s%s", name,
                     why[0] ? ": " : "; the reasons are in power_validation_*.json", why);
    }
    if (!(s > 0))
        jm_build_missing(b, "duration", "the aggregated result does not say how long it took");
    jm_build_missing(b, "requests",
                     "they are in the result file of vLLM's bench serve that it was made from");
    if (isfinite(e) || isfinite(jm_jpath_num(b->f, doc, "joules_per_output_token")))
        jm_build_env(b, "import.without.host", "InferenceX' energy is that of the GPU boards");
}

static void document(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    int rc = 0, k = 0;
    if (doc->type != JM_J_ARRAY) {
        row(b, doc, n);
        return;
    }
    jm_jiter_init(&it, b->f, doc);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0)
        if (++k && (!b->o->select || b->o->select == k))
            row(b, &v, k);
    if (rc < 0)
        b->rc = rc;
    if (!b->rc && b->o->select > k)
        jm_build_fail(b, "%s holds %d results, so there is no number %d", b->f->path, k, b->o->select);
}

/* ---- power_validation_*.json */

static void sidecar(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const struct jm_claim_row window[] = {
        {"reported_duration_s", "duration", "sum", "s", "by the benchmark", NULL},
        {"integration_duration_s", "energy.duration", "sum", "s", "of the energy", NULL},
        {"completed", "requests.ok", "sum", "", "", NULL},
        {"total_input_tokens", "tokens.input", "sum", "tokens", "", NULL},
        {"total_output_tokens", "tokens.output", "sum", "tokens", "", NULL},
        {"start_time_unix", "", "", "s", "", NULL},
        {"end_time_unix", "", "", "s", "", NULL},
        {NULL, NULL, NULL, NULL, NULL, NULL}};
    struct jm_jtoken v, key, m, w;
    struct jm_jiter it;
    char why[300] = "", id[80], full[96];
    int64_t t0 = -1, t1 = -1;
    double d, sum = 0, gpus = jm_jpath_num(b->f, doc, "observed_gpu_count"),
              expected = jm_jpath_num(b->f, doc, "expected_gpu_count");
    int k = 0;
    (void)n;
    if (jm_jpath(b->f, doc, "benchmark_window.start_time_unix", &v))
        jm_jtime(&v, 0, &t0);
    if (jm_jpath(b->f, doc, "benchmark_window.end_time_unix", &v))
        jm_jtime(&v, 0, &t1);
    bool timed = t0 >= 0 && t1 > t0;
    jm_build_window_after(b, 0, "benchmark", timed ? t0 : b->f->mtime_ns, timed ? t1 - t0 : 0);
    if (!timed)
        jm_build_missing(b, "duration", "the sidecar has no benchmark window");
    if (jm_jmember(b->f, doc, "benchmark_window", &w))
        jm_build_claims(b, &w, window, "benchmark_window.");
    if (jm_jmember(b->f, doc, "metrics", &m)) {
        jm_build_claims(b, &m, rows, "metrics.");
        power(b, &m, gpus, "metrics");
    }
    if (jm_jmember(b->f, doc, "per_gpu_energy_j", &v) && v.type == JM_J_OBJECT) {
        struct jm_jtoken e;
        jm_jiter_init(&it, b->f, &v);
        while (!b->rc && jm_jiter_next(&it, &key, &e, NULL) > 0)
            if (jm_jtext(&key, id, sizeof id) && jm_jnum(&e, &d)) {
                snprintf(full, sizeof full, "per_gpu_energy_j.gpu%.70s", id);
                jm_build_energy_claim(b, full, "", "sum", d, "J", trapezoid, "gpu");
                sum += d;
                k++;
            }
        d = jm_jpath_num(b->f, doc, "metrics.total_gpu_energy_j");
        if (k && apart(sum, d, 1e-4))
            jm_build_env(b, "import.parts", "total_gpu_energy_j %.6g J, its GPUs together %.6g J", d, sum);
    }
    if (gpus > 0)
        jm_build_env(b, "import.gpus", "%.0f", gpus);
    if (expected > 0 && gpus >= 0 && expected != gpus)
        jm_build_env(b, "import.energy.none", "%.0f GPUs were to be there, %.0f have samples", expected,
                     gpus);
    if (jm_jmember(b->f, doc, "reasons", &v))
        reasons(b->f, &v, why, sizeof why);
    if (jm_jmember(b->f, doc, "power_valid", &v) && (v.type == JM_J_FALSE || (jm_jnum(&v, &d) && d == 0)))
        jm_build_env(b, "import.power.invalid", "%s", why[0] ? why : "without a reason");
    jm_build_env(b, "import.clock", "wall");
    jm_build_env(b, "import.without.host", "InferenceX' energy is that of the GPU boards");
    jm_build_missing(b, "requests", "they are in the benchmark's own result file");
    jm_build_missing(b, "readings",
                     "they are in gpu_metrics.csv or power/samples.csv, which can be imported");
}

/* ---- samples.csv of several nodes */

struct role { /* of the manifest */
    char host[64];
    int64_t index;
    char role[16];
    bool seen;
};
struct samples {
    struct jm_devlog l;
    struct jm_table t;
    struct role *role;
    size_t n, cap;
    char uuid[512][56]; /* of a device, by its place in l.ch */
    struct jm_table_note bad, changed;
};

static void manifest(struct samples *z, const char *path)
{
    char other[JM_PEER_PATH];
    const char *slash = strrchr(path, '/');
    struct jm_ifile f;
    struct jm_jdocs d;
    struct jm_jtoken doc, list, item, v, first;
    struct jm_jiter it, in;
    if ((size_t)snprintf(other, sizeof other, "%.*smanifest.json", slash ? (int)(slash - path) + 1 : 0,
                         path) >= sizeof other ||
        jm_ifile_open(other, &f, NULL))
        return;
    jm_jdocs_init(&d, &f);
    if (jm_jdocs_next(&d, &doc, NULL) > 0 && jm_jmember(&f, &doc, "expected_devices", &list) &&
        list.type == JM_J_ARRAY) {
        jm_build_raw(&z->l.b, &f, "manifest.json");
        jm_jiter_init(&it, &f, &list);
        while (jm_jiter_next(&it, NULL, &item, NULL) > 0 && z->n < 4096) {
            struct role r = {.index = -1};
            if (jm_jmember(&f, &item, "hostname", &v))
                jm_jtext(&v, r.host, sizeof r.host);
            if (jm_jmember(&f, &item, "gpu_index", &v))
                jm_jint(&v, &r.index);
            if (jm_jmember(&f, &item, "assignments", &v)) {
                jm_jiter_init(&in, &f, &v);
                if (jm_jiter_next(&in, NULL, &first, NULL) > 0 && jm_jmember(&f, &first, "worker_role", &v))
                    jm_jtext(&v, r.role, sizeof r.role);
            }
            if (z->n == z->cap) {
                size_t cap = z->cap ? 2 * z->cap : 64;
                struct role *more = realloc(z->role, cap * sizeof *more);
                if (!more)
                    break;
                z->role = more;
                z->cap = cap;
            }
            z->role[z->n++] = r;
        }
    }
    jm_ifile_close(&f);
}

static void sample(struct samples *z)
{
    char host[64], id[24], key[96], label[96];
    struct jm_span none = {NULL, 0}, uuid = jm_table_span(&z->t, 5);
    int64_t t, index;
    double w;
    bool zone;
    if (z->t.n != z->t.n_head || !jm_devlog_time(jm_table_span(&z->t, 1), &t, &zone) ||
        jm_num_i64(jm_table_span(&z->t, 4), &index) || !jm_table_num(&z->t, 6, &w) || w < 0 ||
        !jm_table_span(&z->t, 3).n) {
        jm_table_note(&z->bad, "line %lld", (long long)z->t.csv.line);
        return;
    }
    jm_table_text(&z->t, 3, host, sizeof host);
    jm_table_text(&z->t, 4, id, sizeof id);
    const char *role = "";
    for (size_t i = 0; i < z->n; i++)
        if (z->role[i].index == index && strcmp(z->role[i].host, host) == 0) {
            role = z->role[i].role;
            z->role[i].seen = true;
        }
    snprintf(key, sizeof key, "%.60s gpu %s", host, id);
    snprintf(label, sizeof label, "GPU %s%s%s", id, role[0] ? ", " : "", role);
    struct jm_dev_place p = {.host = host, .domain = JM_D_GPU, .key = key, .label = label};
    struct jm_dev_kind k = jm_dev_nvml(JM_NVML_Q_USAGE, none, 0, "DCGM field 155, samples.csv");
    int ch = jm_devlog_channel(&z->l, &p, &k);
    if (ch >= 0 && ch < 512) {
        if (!z->uuid[ch][0])
            snprintf(z->uuid[ch], sizeof z->uuid[0], "%.*s", uuid.n < 55 ? (int)uuid.n : 55,
                     uuid.p ? uuid.p : "");
        else if (uuid.n < 55 && !jm_span_is(uuid, z->uuid[ch]))
            jm_table_note(&z->changed, "%.60s: %.50s became %.*s", key, z->uuid[ch], (int)uuid.n,
                          uuid.p ? uuid.p : "");
    }
    jm_devlog_put(&z->l, ch, t, 0, jm_table_span(&z->t, 6));
}

static int import_samples(const char *path, const char *out, const struct jm_import_opts *o,
                          struct jm_err *err)
{
    struct samples *z = calloc(1, sizeof *z);
    int more = 0, rc = z ? jm_devlog_begin(&z->l, "inferencex-power", path, out, o, err)
                         : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc && (!z || !z->l.b.w)) {
        free(z);
        return rc;
    }
    struct jm_build *b = &z->l.b;
    if (!b->rc)
        manifest(z, path);
    if (!b->rc)
        b->rc = jm_table_open(&z->t, &z->l.f, b->err);
    while (!b->rc && (more = jm_table_row(&z->t, &z->l.f, b->err)) > 0)
        sample(z);
    if (more < 0 && !b->rc)
        b->rc = more;
    int64_t silent = 0;
    size_t first = 0;
    for (size_t i = z->n; i-- > 0;)
        if (!z->role[i].seen) {
            silent++;
            first = i;
        }
    if (silent)
        jm_build_env(b, "import.energy.none",
                     "%lld of %zu GPUs of the manifest have no sample; the first: %s GPU %lld",
                     (long long)silent, z->n, z->role[first].host, (long long)z->role[first].index);
    jm_table_told(b, "import.rows.cut", &z->bad, "lines are no sample");
    jm_table_told(b, "import.device.changed", &z->changed, "samples");
    jm_build_times(b, "the head node's clock at each scrape of DCGM (Unix time)");
    rc = jm_devlog_end(&z->l);
    free(z->role);
    free(z);
    return rc;
}

/* ---- what it is */

static const char *const sample_head[] = {"schema_version", "timestamp_unix", "scrape_seq", "hostname",
                                          "gpu_index",      "gpu_uuid",       "power_w",    NULL};

static int form(const struct jm_probe *p, int *score)
{
    static const struct jm_probe_mark
        one[] = {{"tput_per_gpu", 0}, {"hw", 50}, {"framework", 30}, {"conc", 10}, {NULL, 0}},
        list[] = {{"[].tput_per_gpu", 0}, {"[].hw", 50}, {"[].framework", 30}, {"[].conc", 10}, {NULL, 0}},
        agentic[] = {{"power_valid", 0},
                     {"hw", 50},
                     {"framework", 30},
                     {"power_metric_schema_version", 15},
                     {NULL, 0}},
        side[] = {{"power_valid", 0},
                  {"integration_method", 50},
                  {"per_gpu_energy_j", 30},
                  {"reasons", 15},
                  {NULL, 0}};
    int a = jm_probe_score(p, one), b = jm_probe_score(p, list), c = jm_probe_score(p, side),
        d = jm_probe_score(p, agentic);
    if (jm_table_looks(p, sample_head)) {
        *score = 95;
        return 's';
    }
    a = d > a ? d : a;
    *score = c > a && c > b ? c : a > b ? a : b;
    return c > a && c > b ? 'v' : 'a';
}

static int sniff(const struct jm_probe *p)
{
    int score;
    form(p, &score);
    return score;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_probe *p = malloc(sizeof *p);
    int score, rc = p ? jm_ifile_open(path, &f, err)
                      : jm_err_set(err, JM_ENOMEM, "out of memory for a look into %s", path);
    if (rc) {
        free(p);
        return rc;
    }
    jm_probe_look(p, path, &f);
    int kind = form(p, &score);
    if (kind == 'a' && !p->json)
        rc = jm_err_set(err, JM_EPARSE,
                        "%s is none of InferenceX' files: no JSON, and no samples.csv; gpu_metrics.csv is "
                        "taken by --from nvidia-smi or amd-smi",
                        path);
    free(p);
    jm_ifile_close(&f);
    return rc ? rc
           : kind == 's'
               ? import_samples(path, out, o, err)
               : jm_build_documents("inferencex", path, out, o, NULL, kind == 'v' ? sidecar : document, err);
}

const struct jm_importer jm_import_inferencex = {
    .name = "inferencex",
    .summary = "InferenceX (InferenceMAX): aggregated results (agg_*.json), power_validation_*.json, "
               "power/samples.csv",
    .reads = "Latencies, tokens/s per GPU, energy and energy per query and token as claims, a window a "
             "result, whose length follows from energy "
             "and power; validity and its reasons. samples.csv: power of every GPU of every node, roles from "
             "the manifest.json beside it.",
    .lacks = "Requests, the date; schema 1 has no energy and no duration. gpu_metrics.csv is a log of "
             "nvidia-smi or amd-smi.",
    .sniff = sniff,
    .import = import,
};
