/* SPDX-License-Identifier: Apache-2.0 */
/* profile_export_aiperf.json: statistics, settings, errors and the telemetry's totals. */
#include <math.h>
#include <stdio.h>

#include "import/aiperf.h"

#include "base/banned.h"

static int window_of(const struct jm_aiperf *a, bool warmup)
{
    int at = -1;
    for (int i = 0; i < a->phases; i++)
        if (a->phase[i].warmup == warmup)
            at = at == -1 ? a->phase[i].window : -2;
    return at < 0 ? -1 : at; /* several: about the whole file */
}

enum {
    S_VERSION,
    S_SCHEMA,
    S_ID,
    S_START,
    S_END,
    S_CANCELLED,
    S_CONFIG,
    S_WARMUP,
    S_RECORDS,
    S_ERRORS,
    S_TELEMETRY,
    S_DURATION,
    SUMMARIES
};
static const char *const summaries[SUMMARIES] = {"aiperf_version", "schema_version", "benchmark_id",
                                                 "start_time",     "end_time",       "was_cancelled",
                                                 "input_config",   "warmup_metrics", "records",
                                                 "error_summary",  "telemetry_data", "benchmark_duration"};

static const struct {
    const char *path, *key;
} settings[] = {
    {"models.items", NULL},
    {"endpoint.type", "aiperf.endpoint"},
    {"endpoint.streaming", "aiperf.streaming"},
    {"endpoint.use_server_token_count", "aiperf.use_server_token_count"},
    {"tokenizer.name", "aiperf.tokenizer"},
    {"loadgen.concurrency", "plan.concurrency"},
    {"loadgen.request_rate", "plan.rate_per_s"},
    {"loadgen.warmup_request_count", "aiperf.warmup_requests"},
    {"input.prompt.input_tokens.mean", "plan.isl"},
    {"input.prompt.output_tokens.mean", "plan.osl"},
};

/* input_config was rearranged between versions: both arrangements. */
static void config(struct jm_aiperf *a, const struct jm_jtoken *c)
{
    const struct jm_ifile *f = &a->f[SUMMARY];
    struct jm_jtoken v, item;
    struct jm_jiter it;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (settings[i].key && jm_jpath(f, c, settings[i].path, &v))
            jm_build_env_of(&a->b, settings[i].key, &v);
    const char *const models[] = {"models.items", "endpoint.model_names"};
    for (int i = 0; i < 2; i++)
        if (jm_jpath(f, c, models[i], &v)) {
            jm_jiter_init(&it, f, &v);
            if (jm_jiter_next(&it, NULL, &item, NULL) > 0)
                jm_build_env_of(&a->b, "endpoint.model", jm_jmember(f, &item, "name", &v) ? &v : &item);
        }
    if (jm_jmember(f, c, "datasets", &v)) {
        jm_jiter_init(&it, f, &v);
        if (jm_jiter_next(&it, NULL, &item, NULL) > 0) {
            if (jm_jpath(f, &item, "prompts.isl.mean", &v))
                jm_build_env_of(&a->b, "plan.isl", &v);
            if (jm_jpath(f, &item, "prompts.osl.mean", &v))
                jm_build_env_of(&a->b, "plan.osl", &v);
        }
    }
    if (jm_jmember(f, c, "phases", &v)) {
        jm_jiter_init(&it, f, &v);
        while (jm_jiter_next(&it, NULL, &item, NULL) > 0) {
            struct jm_jtoken kind;
            if (jm_jmember(f, &item, "kind", &kind) && jm_jtoken_is(&kind, "warmup"))
                continue;
            if (jm_jmember(f, &item, "concurrency", &v))
                jm_build_env_of(&a->b, "plan.concurrency", &v);
            if (jm_jmember(f, &item, "rate", &v))
                jm_build_env_of(&a->b, "plan.rate_per_s", &v);
            if (jm_jmember(f, &item, "type", &v))
                jm_build_env_of(&a->b, "plan.shape", &v);
        }
    }
}

static void errors(struct jm_aiperf *a, const struct jm_jtoken *list)
{
    struct jm_jiter it;
    struct jm_jtoken item, v;
    char key[40], type[60], message[200];
    int64_t n;
    jm_jiter_init(&it, &a->f[SUMMARY], list);
    for (int i = 1; i <= 20 && jm_jiter_next(&it, NULL, &item, NULL) > 0; i++) {
        type[0] = message[0] = '\0';
        n = -1;
        if (jm_jpath(&a->f[SUMMARY], &item, "error_details.type", &v))
            jm_jtext(&v, type, sizeof type);
        if (jm_jpath(&a->f[SUMMARY], &item, "error_details.message", &v))
            jm_jtext(&v, message, sizeof message);
        if (jm_jmember(&a->f[SUMMARY], &item, "count", &v))
            jm_jint(&v, &n);
        snprintf(key, sizeof key, "aiperf.error.%d", i);
        jm_build_env(&a->b, key, "%lld x %s: %s", (long long)n, type, message);
    }
}

/* telemetry_data.endpoints.<url>.gpus.<id>.metrics: claims of each GPU. Its energy is a difference of
 * counters. */
static void telemetry(struct jm_aiperf *a, const struct jm_jtoken *t)
{
    const struct jm_ifile *f = &a->f[SUMMARY];
    struct jm_jtoken ends, e, gpus, k, key, g, metrics, index;
    struct jm_jiter it, gt;
    char id[40], prefix[64];
    int n_gpus = 0;
    if (!jm_jmember(f, t, "endpoints", &ends))
        return;
    jm_jiter_init(&it, f, &ends);
    while (jm_jiter_next(&it, &k, &e, NULL) > 0) {
        if (!jm_jmember(f, &e, "gpus", &gpus))
            continue;
        jm_jiter_init(&gt, f, &gpus);
        while (jm_jiter_next(&gt, &key, &g, NULL) > 0) {
            if (!jm_jtext(&key, id, sizeof id) || !jm_jmember(f, &g, "metrics", &metrics))
                continue;
            if (jm_jmember(f, &g, "gpu_index", &index))
                jm_jtext(&index, id, sizeof id);
            snprintf(prefix, sizeof prefix, "telemetry.gpu%s.", id);
            jm_aiperf_claims(&a->b, f, &metrics, prefix, NULL);
            n_gpus++;
        }
    }
    if (n_gpus)
        jm_build_env(&a->b, "import.gpus", "%d", n_gpus);
}

/* A file without records has no times but these; without a zone they are the local ones of the client, taken
 * as UTC. */
static void window_by_summary(struct jm_aiperf *a, const struct jm_jtoken *s)
{
    int64_t t0 = a->f[SUMMARY].mtime_ns, t1 = -1, ns = 0;
    struct jm_jtoken avg;
    char text[64];
    bool zone = false,
         dated = jm_jtext(&s[S_START], text, sizeof text) && jm_build_date(jm_span_of(text), &t0, &zone);
    if (dated && jm_jtext(&s[S_END], text, sizeof text) && jm_build_date(jm_span_of(text), &t1, &zone) &&
        t1 > t0)
        ns = t1 - t0;
    double seconds;
    if (jm_jmember(&a->f[SUMMARY], &s[S_DURATION], "avg", &avg) && jm_jnum(&avg, &seconds) && seconds > 0 &&
        seconds < 1e9)
        ns = (int64_t)(seconds * 1e9);
    jm_build_window(&a->b, 0, "profiling", t0, ns);
    jm_build_times(&a->b, !dated ? "the file has none; its own date"
                          : zone ? "start_time of the file"
                                 : "start_time of the file, local time of the client taken as UTC");
    if (!ns)
        jm_build_missing(&a->b, "duration", "the file says neither when it ended nor how long it took");
}

static double average(const struct jm_ifile *f, const struct jm_jtoken *doc, const char *tag)
{
    struct jm_jtoken o, v;
    double d;
    return jm_jmember(f, doc, tag, &o) && jm_jmember(f, &o, "avg", &v) && jm_jnum(&v, &d) ? d : NAN;
}

static double phase_seconds(const struct jm_jtoken *s)
{
    char text[64];
    int64_t t0, t1;
    bool zone;
    if (!jm_jtext(&s[S_START], text, sizeof text) || !jm_build_date(jm_span_of(text), &t0, &zone) ||
        !jm_jtext(&s[S_END], text, sizeof text) || !jm_build_date(jm_span_of(text), &t1, &zone))
        return NAN;
    return (double)(t1 - t0) / 1e9;
}

/* Rates of newer versions are over the phase, older ones over benchmark_duration (first request to last
 * answer), and the file does not say which. True: over the phase, as its own totals show. */
static bool lasts(const struct jm_ifile *f, const struct jm_jtoken *doc, double seconds)
{
    double n = average(f, doc, "request_count"), rate = average(f, doc, "request_throughput"),
           own = average(f, doc, "benchmark_duration");
    return n > 0 && rate > 0 && seconds > 0 && !(fabs(rate * own - n) < 1e-4 * n) &&
           fabs(rate * seconds - n) < 1e-4 * n;
}

void jm_aiperf_summary(struct jm_aiperf *a)
{
    const struct jm_ifile *f = &a->f[SUMMARY], *was = a->b.f;
    struct jm_jdocs d;
    struct jm_jtoken doc, s[SUMMARIES];
    jm_jdocs_init(&d, f);
    int rc = jm_jdocs_next(&d, &doc, a->b.err);
    if (rc > 0)
        rc = jm_jfind(f, &doc, summaries, SUMMARIES, s, a->b.err);
    if (rc < 0) {
        a->b.rc = a->b.rc ? a->b.rc : rc;
        return;
    }
    a->b.f = f;
    jm_build_env_of(&a->b, "import.version", &s[S_VERSION]);
    jm_build_env_of(&a->b, "aiperf.schema", &s[S_SCHEMA]);
    jm_build_env_of(&a->b, "aiperf.was_cancelled", &s[S_CANCELLED]);
    jm_build_env_of(&a->b, "aiperf.start_time", &s[S_START]);
    jm_build_env_of(&a->b, "aiperf.end_time", &s[S_END]);
    config(a, &s[S_CONFIG]);
    errors(a, &s[S_ERRORS]);
    if (a->b.windows == 0)
        window_by_summary(a, s);
    else if (a->have[RECORDS])
        a->b.about = window_of(a, false);
    const char *plain[3] = {NULL};
    int n = 0;
    double failures = average(f, &doc, "error_request_count"), seconds = phase_seconds(s);
    if (failures > 0)
        plain[n++] = "credit_to_start_latency"; /* over failures too, unlike ours */
    if (lasts(f, &doc, seconds)) {
        jm_build_claim(&a->b, "end_time - start_time", "duration", "sum", seconds, "s",
                       "the profiling phase");
        plain[n++] = "benchmark_duration";
    }
    jm_aiperf_claims(&a->b, f, &doc, "", plain);
    jm_aiperf_claims(&a->b, f, &s[S_RECORDS], "records.", plain);
    if (!a->have[GPU])
        telemetry(a, &s[S_TELEMETRY]);
    int measured = a->b.about;
    if (s[S_WARMUP].type == JM_J_OBJECT && a->have[RECORDS]) {
        a->b.about = window_of(a, true);
        static const char *const phase[] = {"benchmark_duration", NULL}; /* its rates are over the phase */
        jm_aiperf_claims(&a->b, f, &s[S_WARMUP], "warmup_metrics.", phase);
    }
    a->b.about = measured;
    a->b.f = was;
}
