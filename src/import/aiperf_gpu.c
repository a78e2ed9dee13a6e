/* SPDX-License-Identifier: Apache-2.0 */
/* AIPerf's gpu_telemetry_export.jsonl: a line is one scrape of one GPU. Energy is DCGM's or NVML's counter
 * since the driver was loaded, in MJ as AIPerf scales it; power is the board's reading, in W. Only these two
 * are energy; the rest is left in the raw file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/peer.h"

#include "base/banned.h"

enum { GPUS = 1024 };
enum { UUID, INDEX, MODEL, HOST, STAMP, SOURCE, DATA, MEMBERS };
static const char *const members[MEMBERS] = {"gpu_uuid",      "gpu_index",    "gpu_model_name",
                                             "hostname",      "timestamp_ns", "telemetry_source_url",
                                             "telemetry_data"};
enum { ENERGY, POWER, KINDS };
static const char *const energy[] = {"nvidia_energy_consumption", "energy_consumption",
                                     "amd_energy_consumption"};
static const char *const power[] = {"nvidia_power_usage", "gpu_power_usage", "amd_power", "amd_power_usage"};

struct gpu {
    char uuid[96], label[96], host[96];
    bool has[KINDS], simulated, amd;
    int channel[KINDS];
    int64_t last;
};

struct scan {
    struct gpu *gpu;
    int n, at;
    int64_t first, last, back;
    char url[96];
};

static bool value(const struct jm_ifile *f, const struct jm_jtoken *data, int kind, struct jm_jtoken *v,
                  bool *amd)
{
    const char *const *names = kind == ENERGY ? energy : power;
    size_t n = kind == ENERGY ? sizeof energy / sizeof energy[0] : sizeof power / sizeof power[0];
    struct jm_jtoken found[4];
    double d;
    if (jm_jfind(f, data, names, n, found, NULL))
        return false;
    for (size_t i = 0; i < n; i++)
        if (jm_jnum(&found[i], &d)) {
            *v = found[i];
            *amd = jm_span_starts(jm_span_of(names[i]), JM_SPAN("amd"));
            return true;
        }
    return false;
}

/* The GPU of a line, made when new; NULL: it has no name, or there are too many. Lines come GPU after GPU, so
 * the search begins behind the last one. */
static struct gpu *gpu_of(struct scan *s, const struct jm_jtoken *m)
{
    char uuid[96] = "", index[24] = "", host[96] = "";
    jm_jtext(&m[HOST], host, sizeof host);
    if (!jm_jtext(&m[UUID], uuid, sizeof uuid) || !uuid[0]) {
        if (!jm_jtext(&m[INDEX], index, sizeof index))
            return NULL;
        snprintf(uuid, sizeof uuid, "%.60s gpu %s", host, index);
    }
    for (int i = 0; i < s->n; i++) {
        int k = (s->at + 1 + i) % s->n;
        if (strcmp(s->gpu[k].uuid, uuid) == 0) {
            s->at = k;
            return &s->gpu[k];
        }
    }
    if (s->n == GPUS)
        return NULL;
    struct gpu *g = &s->gpu[s->at = s->n++];
    *g = (struct gpu){.last = INT64_MIN};
    snprintf(g->uuid, sizeof g->uuid, "%s", uuid);
    snprintf(g->host, sizeof g->host, "%s", host);
    jm_jtext(&m[INDEX], index, sizeof index);
    char model[64] = "";
    jm_jtext(&m[MODEL], model, sizeof model);
    snprintf(g->label, sizeof g->label, "GPU %s%s%s", index[0] ? index : "?", model[0] ? ", " : "", model);
    g->simulated = strstr(model, "SIMULATED") != NULL;
    return g;
}

/* A line's members, stamp and GPU; NULL: it is no reading. */
static struct gpu *record(const struct jm_ifile *f, const struct jm_jtoken *doc, struct scan *s,
                          struct jm_jtoken m[MEMBERS], int64_t *t)
{
    if (jm_jfind(f, doc, members, MEMBERS, m, NULL) || !jm_jint(&m[STAMP], t) || *t < 0)
        return NULL;
    return gpu_of(s, m);
}

static int look(struct jm_build *b, const struct jm_ifile *f, struct scan *s)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, m[MEMBERS], v;
    int64_t t;
    int rc;
    jm_jdocs_init(&d, f);
    while ((rc = jm_jdocs_next(&d, &doc, b->err)) > 0) {
        struct gpu *g = record(f, &doc, s, m, &t);
        bool amd;
        if (!g)
            continue;
        for (int k = 0; k < KINDS; k++)
            if (value(f, &m[DATA], k, &v, &amd)) {
                g->has[k] = true;
                g->amd |= amd;
            }
        s->first = t < s->first ? t : s->first;
        s->last = t > s->last ? t : s->last;
        if (!s->url[0])
            jm_jtext(&m[SOURCE], s->url, sizeof s->url);
    }
    return rc;
}

static int add(struct jm_build *b, int meter, int domain, struct gpu *g, int kind)
{
    bool e = kind == ENERGY;
    struct jm_channel c = {.meter = meter,
                           .kind = e ? JM_CH_COUNTER : JM_CH_GAUGE,
                           .unit = e ? JM_U_J : JM_U_W,
                           .scale10 = -3,
                           .sem = e        ? JM_G_INSTANT
                                  : g->amd ? JM_G_INSTANT
                                           : JM_G_TRAILING_MEAN,
                           .window_ns =
                               e || g->amd ? 0 : 1000000000, /* NVML: a mean over 1 s from Ampere on */
                           .gain_tol = __builtin_nan(""),
                           .offset_tol = __builtin_nan(""),
                           .provenance = g->simulated ? JM_P_SIMULATED : JM_P_MEASURED,
                           .domain = domain};
    snprintf(c.name, sizeof c.name, "%s", e ? "energy" : "power.average");
    snprintf(c.device, sizeof c.device, "%s", g->uuid);
    snprintf(c.scope, sizeof c.scope, "gpu");
    snprintf(c.source, sizeof c.source, "AIPerf telemetry, %s", e ? "energy counter" : "power usage");
    return jm_run_put_channel(b->w, &c, &g->channel[kind], b->err);
}

static int channels(struct jm_build *b, struct scan *s)
{
    struct jm_domain_tree tree;
    struct jm_run_meter m = {.name = "aiperf-telemetry", .state = "ok"};
    int *domain = calloc((size_t)s->n, sizeof *domain), rc = 0;
    if (!domain)
        return jm_err_set(b->err, JM_ENOMEM, "out of memory for %d GPUs", s->n);
    snprintf(m.instance, sizeof m.instance, "%s", s->url);
    jm_domain_tree_init(&tree);
    for (int i = 0; rc >= 0 && i < s->n; i++) {
        struct gpu *g = &s->gpu[i];
        m.simulated |= g->simulated;
        rc = jm_domain_host(&tree, g->host[0] ? g->host : "host", b->err);
        rc = rc < 0 ? rc : jm_domain_add(&tree, rc, JM_D_GPU, g->uuid, g->label, b->err);
        domain[i] = rc;
    }
    int meter = rc < 0 ? rc : jm_run_put_meter(b->w, &m, b->err);
    rc = meter < 0 ? meter : jm_run_put_domains(b->w, &tree, b->err);
    jm_domain_tree_release(&tree);
    for (int i = 0; !rc && i < s->n; i++)
        for (int k = 0; !rc && k < KINDS; k++)
            if (s->gpu[i].has[k])
                rc = add(b, meter, domain[i], &s->gpu[i], k);
    free(domain);
    return rc;
}

/* MJ to mJ, W to mW: exact where the digits allow it. What Python's arithmetic left behind the ninth digit
 * (434.81600000000003) is rounded away. */
static bool native(const struct jm_jtoken *v, int kind, int64_t *out)
{
    return kind == ENERGY ? jm_jtime(v, 0, out) : jm_jtime(v, -6, out);
}

static int readings(struct jm_build *b, const struct jm_ifile *f, struct scan *s)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, m[MEMBERS], v;
    int64_t t;
    int rc, n = 0;
    jm_jdocs_init(&d, f);
    while ((rc = jm_jdocs_next(&d, &doc, b->err)) > 0) {
        struct gpu *g = record(f, &doc, s, m, &t);
        bool amd;
        if (!g)
            continue;
        if (t < g->last) { /* the scraper's wall clock was set back, or lines are out of order */
            s->back++;
            continue;
        }
        g->last = t;
        for (int k = 0; rc >= 0 && k < KINDS; k++) {
            struct jm_reading r = {.t0 = t, .t1 = t, .channel = (uint32_t)g->channel[k], .status = JM_S_OK};
            if (!g->has[k])
                continue;
            if (!value(f, &m[DATA], k, &v, &amd) || !native(&v, k, &r.value) || r.value < 0)
                r.status = JM_S_GAP;
            rc = jm_run_put_readings(b->w, &r, 1, b->err);
        }
        if (rc >= 0 && ++n % 4096 == 0)
            rc = jm_run_flush(b->w, 0, true, b->err);
        if (rc < 0)
            break;
    }
    return rc < 0 ? rc : 0;
}

int jm_aiperf_gpu(struct jm_build *b, const struct jm_ifile *f, int64_t span[2])
{
    struct scan s = {.first = INT64_MAX, .last = INT64_MIN};
    int rc;
    if (b->rc)
        return 0;
    s.gpu = calloc(GPUS, sizeof *s.gpu);
    rc = s.gpu ? look(b, f, &s) : jm_err_set(b->err, JM_ENOMEM, "out of memory for the GPUs of %s", f->path);
    if (rc >= 0 && s.n) {
        rc = channels(b, &s);
        if (rc >= 0)
            rc = readings(b, f, &s);
        span[0] = s.first;
        span[1] = s.last;
    }
    b->rc = rc < 0 ? rc : 0;
    if (!b->rc && s.back)
        jm_build_env(b, "aiperf.telemetry.out_of_order", "%lld", (long long)s.back);
    if (!b->rc && s.n)
        jm_build_env(b, "import.gpus", "%d", s.n);
    if (!b->rc && s.n)
        jm_build_env(b, "sut.unknown", "AIPerf's telemetry names %d GPU%s, not which of them serve", s.n,
                     s.n > 1 ? "s" : "");
    free(s.gpu);
    return b->rc ? 0 : s.n;
}
