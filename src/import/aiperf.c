/* SPDX-License-Identifier: Apache-2.0 */
/* AIPerf's artifact folder, or one file of it: profile_export.jsonl (a record a request, warm-up included),
 * profile_export_aiperf.json (statistics, schema 1.0 to 1.5), profile_export_aiperf.csv,
 * gpu_telemetry_export.jsonl.
 *
 * AIPerf counts from the start of a request; when its scheduler gave out the credit for it is the scheduled
 * time of ours, where the file has it. Tokens are the server's (usage) where the file has them, else AIPerf's
 * own count by its tokenizer: which one is said, and both sums are kept. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/peer.h"
#include "import/probe.h"

#include "base/banned.h"

enum { SUMMARY, RECORDS, CSV, GPU, FILES };
static const char *const tails[FILES] = {"_aiperf.json", ".jsonl", "_aiperf.csv",
                                         "gpu_telemetry_export.jsonl"};
static const char *const usual[FILES] = {"profile_export_aiperf.json", "profile_export.jsonl",
                                         "profile_export_aiperf.csv", "gpu_telemetry_export.jsonl"};

enum { PHASES = 32 };
struct phase {
    char name[40];
    int64_t index;
    bool warmup;
    int window;
    int64_t t0, t1, n, ok, failed;
};

struct aiperf {
    struct jm_build b;
    char path[FILES][JM_PEER_PATH];
    struct jm_ifile f[FILES];
    bool have[FILES];
    struct phase phase[PHASES];
    int phases;
    int64_t records, broken, cancelled, client_tokens, server_tokens, with_server, with_client, chunks,
        no_clock;
    bool reasoning;
};

/* ---- what it looks like
 * ------------------------------------------------------------------------------------------------------ */

static const struct jm_probe_mark summary_marks[] = {
    {"aiperf_version", 60},
    {"schema_version", 25},
    {"input_config", 15},
    {"was_cancelled", 15},
    {"error_summary", 10},
    {"request_latency.avg", 15},
    {"request_count.avg", 10},
    {"records.request_latency", 20},
    {"telemetry_data", 10},
    {"benchmark_id", 10},
    {NULL, 0},
};
static const struct jm_probe_mark record_marks[] = {
    {"metadata.request_start_ns", 0}, {"metadata", 40},           {"metrics", 30},
    {"metadata.benchmark_phase", 20}, {"metadata.worker_id", 10}, {NULL, 0},
};
static const struct jm_probe_mark gpu_marks[] = {
    {"telemetry_data", 0}, {"timestamp_ns", 0}, {"telemetry_source_url", 50}, {"gpu_uuid", 45}, {NULL, 0},
};

static int kind_of(const struct jm_probe *p, int *score)
{
    int s = jm_probe_score(p, record_marks);
    *score = s;
    if (s)
        return RECORDS;
    if ((*score = jm_probe_score(p, gpu_marks)) > 0)
        return GPU;
    s = jm_probe_score(p, summary_marks);
    bool named = jm_probe_key(p, "aiperf_version") || jm_probe_key(p, "schema_version") ||
                 jm_probe_key(p, "was_cancelled") || jm_probe_key(p, "error_summary");
    bool metrics = jm_probe_key(p, "request_latency.avg") || jm_probe_key(p, "request_count.avg") ||
                   jm_probe_key(p, "records.request_latency") || jm_probe_key(p, "request_throughput.avg") ||
                   jm_probe_key(p, "aiperf_version");
    if (named && metrics) {
        *score = s > 50 ? s : 50;
        return SUMMARY;
    }
    /* GenAI-Perf's CSV has no sum, and its percentiles from above */
    if (p->f && !p->json && jm_span_starts(p->line, JM_SPAN("Metric,avg,min,max,sum"))) {
        *score = 90;
        return CSV;
    }
    *score = 0;
    return -1;
}

/* The files of a folder by their usual names, else (--profile-export-prefix) by how they end. */
static int find(const char *dir, char name[FILES][256])
{
    int n = 0;
    for (int i = 0; i < FILES; i++) {
        name[i][0] = '\0';
        if (jm_peer_exists(dir, usual[i]))
            snprintf(name[i], 256, "%s", usual[i]);
        n += name[i][0] != '\0';
    }
    DIR *d = name[SUMMARY][0] ? NULL : opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct jm_span s = jm_span_of(e->d_name);
        if (!jm_span_ends(s, jm_span_of(tails[SUMMARY])) || s.n > 200 ||
            (name[SUMMARY][0] && strcmp(name[SUMMARY], e->d_name) < 0))
            continue;
        snprintf(name[SUMMARY], 256, "%s", e->d_name); /* the first by name: the same choice each time */
    }
    if (d) {
        closedir(d);
        struct jm_span stem = jm_span_of(name[SUMMARY]);
        stem.n -= stem.n ? strlen(tails[SUMMARY]) : 0;
        for (int i = RECORDS; stem.n && i <= CSV; i++) {
            char one[256];
            snprintf(one, sizeof one, "%.*s%s", (int)stem.n, stem.p, tails[i]);
            if (jm_peer_exists(dir, one))
                memcpy(name[i], one, sizeof one);
        }
        n = 0;
        for (int i = 0; i < FILES; i++)
            n += name[i][0] != '\0';
    }
    return n;
}

static int sniff(const struct jm_probe *p)
{
    char name[FILES][256];
    int score;
    if (p->dir)
        return find(p->path, name) && (name[SUMMARY][0] || name[RECORDS][0]) ? 95 : 0;
    kind_of(p, &score);
    return score;
}

/* ---- records
 * ------------------------------------------------------------------------------------------------------ */

enum { M_PHASE, M_INDEX, M_NAME, M_KIND, M_CREDIT, M_START, M_ACK, M_END, M_CANCELLED, M_ID, METAS };
static const char *const metas[METAS] = {
    "benchmark_phase",  "phase_index",    "phase_name",     "phase_kind",    "credit_issued_ns",
    "request_start_ns", "request_ack_ns", "request_end_ns", "was_cancelled", "x_request_id"};
enum {
    V_TTFT,
    V_TTFT_OLD,
    V_TTFO,
    V_LATENCY,
    V_ICL,
    V_ISL,
    V_OSL,
    V_PROMPT,
    V_COMPLETION,
    V_CACHED,
    V_REASONING,
    V_REASONED,
    VALUES
};
static const char *const values[VALUES] = {"time_to_first_token",        "ttft",
                                           "time_to_first_output_token", "request_latency",
                                           "inter_chunk_latency",        "input_sequence_length",
                                           "output_sequence_length",     "usage_prompt_tokens",
                                           "usage_completion_tokens",    "usage_prompt_cache_read_tokens",
                                           "usage_reasoning_tokens",     "reasoning_token_count"};
enum { R_META, R_METRICS, R_ERROR, PARTS };
static const char *const parts[PARTS] = {"metadata", "metrics", "error"};

/* The phase of a record, made when new; NULL: more than can be held. */
static struct phase *phase_of(struct aiperf *a, const struct jm_jtoken *m)
{
    char name[40] = "profiling", kind[24];
    int64_t index = 0;
    if (!jm_jtext(&m[M_NAME], name, sizeof name))
        jm_jtext(&m[M_PHASE], name, sizeof name);
    if (!jm_jtext(&m[M_KIND], kind, sizeof kind) && !jm_jtext(&m[M_PHASE], kind, sizeof kind))
        snprintf(kind, sizeof kind, "profiling");
    jm_jint(&m[M_INDEX], &index);
    for (int i = 0; i < a->phases; i++)
        if (a->phase[i].index == index && strcmp(a->phase[i].name, name) == 0)
            return &a->phase[i];
    if (a->phases == PHASES)
        return NULL;
    struct phase *p = &a->phase[a->phases++];
    *p = (struct phase){
        .index = index, .t0 = INT64_MAX, .t1 = INT64_MIN, .warmup = strcmp(kind, "warmup") == 0};
    memcpy(p->name, name, sizeof name);
    return p;
}

/* A record's stamps; false when it has no time at all (then it says nothing about any window). */
static bool stamps(const struct jm_jtoken *m, struct jm_request *q)
{
    int64_t t;
    if (!jm_jint(&m[M_START], &t) || t <= 0)
        return false;
    q->t[JM_T_SENT] = q->t[JM_T_SCHEDULED] = t;
    if (jm_jint(&m[M_CREDIT], &t) && t > 0 && t <= q->t[JM_T_SENT])
        q->t[JM_T_SCHEDULED] = t;
    if (jm_jint(&m[M_ACK], &t) && t >= q->t[JM_T_SENT])
        q->t[JM_T_HEADERS] = t;
    if (jm_jint(&m[M_END], &t) && t >= q->t[JM_T_SENT])
        q->t[JM_T_CLOSED] = t;
    return true;
}

static bool failed(const struct jm_jtoken *r, const struct jm_jtoken *m)
{
    return r[R_ERROR].type == JM_J_OBJECT || m[M_CANCELLED].type == JM_J_TRUE;
}

static int phases(struct aiperf *a)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, r[PARTS], m[METAS];
    int rc;
    jm_jdocs_init(&d, &a->f[RECORDS]);
    while ((rc = jm_jdocs_next(&d, &doc, a->b.err)) > 0) {
        struct jm_request q;
        struct phase *p;
        jm_request_init(&q);
        if (jm_jfind(d.f, &doc, parts, PARTS, r, NULL) || jm_jfind(d.f, &r[R_META], metas, METAS, m, NULL) ||
            !stamps(m, &q)) {
            a->broken++;
            continue;
        }
        if (!(p = phase_of(a, m)))
            return jm_build_fail(&a->b, "%s has records of more than %d phases", d.f->path, PHASES);
        int64_t end = q.t[JM_T_CLOSED] >= 0 ? q.t[JM_T_CLOSED] : q.t[JM_T_SENT];
        p->t0 = q.t[JM_T_SCHEDULED] < p->t0 ? q.t[JM_T_SCHEDULED] : p->t0;
        p->t1 = end > p->t1 ? end : p->t1;
        p->n++;
        if (failed(r, m))
            p->failed++;
        else
            p->ok++;
    }
    return rc;
}

/* Chunk after chunk from the first one and the gaps between them. */
static int chunks(struct aiperf *a, const struct jm_jtoken *icl, struct jm_request *q)
{
    struct jm_jiter it;
    struct jm_jtoken list, unit, v;
    char u[16] = "ms";
    int64_t t = q->t[JM_T_FIRST_TOKEN], gap;
    int rc;
    if (t < 0 || icl->type == JM_J_END)
        return 0;
    if (jm_jmember(&a->f[RECORDS], icl, "unit", &unit))
        jm_jtext(&unit, u, sizeof u);
    if (!jm_jmember(&a->f[RECORDS], icl, "value", &list) || list.type != JM_J_ARRAY)
        return 0;
    jm_build_event(&a->b, t, -1, 0);
    jm_jiter_init(&it, &a->f[RECORDS], &list);
    while ((rc = jm_jiter_next(&it, NULL, &v, a->b.err)) > 0) {
        if (!jm_peer_ns(&a->f[RECORDS], &v, u, &gap) || gap < 0 || gap > INT64_MAX - t)
            return 0; /* what came before stays */
        jm_build_event(&a->b, t += gap, -1, 0);
        a->chunks++;
    }
    a->chunks++;
    return rc;
}

static void counts(struct aiperf *a, const struct jm_jtoken *v, struct jm_request *q, bool warmup)
{
    const struct jm_ifile *f = &a->f[RECORDS];
    int64_t client = -1;
    if (!jm_peer_count(f, &v[V_PROMPT], &q->prompt_tokens))
        jm_peer_count(f, &v[V_ISL], &q->prompt_tokens);
    jm_peer_count(f, &v[V_CACHED], &q->cached_tokens);
    if (!jm_peer_count(f, &v[V_REASONING], &q->reasoning_tokens))
        jm_peer_count(f, &v[V_REASONED], &q->reasoning_tokens);
    bool own = jm_peer_count(f, &v[V_OSL], &client),
         server = jm_peer_count(f, &v[V_COMPLETION], &q->output_tokens);
    if (!server)
        q->output_tokens = client;
    if (q->end != JM_END_OK || warmup)
        return;
    if (server) {
        a->with_server++;
        a->server_tokens += q->output_tokens;
    }
    if (own && server) {
        a->with_client++;
        a->client_tokens += client;
    }
}

static void ending(struct aiperf *a, const struct jm_jtoken *r, const struct jm_jtoken *m,
                   struct jm_request *q)
{
    static const char *const names[] = {"code", "type", "message"};
    struct jm_jtoken e[3];
    char type[64] = "", message[120] = "";
    int64_t code = -1;
    q->end = JM_END_OK;
    if (r[R_ERROR].type == JM_J_OBJECT && jm_jfind(&a->f[RECORDS], &r[R_ERROR], names, 3, e, NULL) == 0) {
        jm_jint(&e[0], &code);
        jm_jtext(&e[1], type, sizeof type);
        jm_jtext(&e[2], message, sizeof message);
        q->end = jm_peer_end(code, jm_span_of(type), jm_span_of(message));
        q->http_status = code >= 100 && code < 600 && code != 499 ? (int)code : -1;
        snprintf(q->error, sizeof q->error, "%s%s%s", type, type[0] && message[0] ? ": " : "", message);
    }
    if (m[M_CANCELLED].type == JM_J_TRUE) {
        q->end = JM_END_ABORTED;
        a->cancelled++;
    }
}

static int record(struct aiperf *a, const struct jm_jtoken *doc)
{
    const struct jm_ifile *f = &a->f[RECORDS];
    struct jm_jtoken r[PARTS], m[METAS], v[VALUES];
    struct jm_request q;
    int64_t ns;
    int rc = 0;
    jm_request_init(&q);
    if (jm_jfind(f, doc, parts, PARTS, r, NULL) || jm_jfind(f, &r[R_META], metas, METAS, m, NULL) ||
        !stamps(m, &q))
        return 0;
    if (jm_jfind(f, &r[R_METRICS], values, VALUES, v, NULL))
        return 0;
    ending(a, r, m, &q);
    int64_t sent = q.t[JM_T_SENT];
    if (jm_peer_ns(f, v[V_TTFT].type == JM_J_END ? &v[V_TTFT_OLD] : &v[V_TTFT], "ms", &ns) && ns >= 0)
        q.t[JM_T_FIRST_TOKEN] = sent + ns;
    if (jm_peer_ns(f, &v[V_TTFO], "ms", &ns) && ns >= 0)
        q.t[JM_T_FIRST_VISIBLE] = sent + ns;
    q.stream = q.t[JM_T_FIRST_TOKEN] >= 0;
    if (jm_peer_ns(f, &v[V_LATENCY], "ms", &ns) && ns >= 0)
        q.t[JM_T_LAST_TOKEN] = sent + ns;
    struct phase *p = phase_of(a, m);
    counts(a, v, &q, p && p->warmup);
    rc = chunks(a, &v[V_ICL], &q);
    a->b.trial = 0;
    if (p && p->warmup)
        snprintf(q.slice, sizeof q.slice, "warmup");
    a->records++;
    jm_build_id(&a->b, &m[M_ID]);
    jm_build_request(&a->b, &q);
    return rc;
}

static int by_start(const void *x, const void *y)
{
    const struct phase *a = x, *b = y;
    return (a->t0 > b->t0) - (a->t0 < b->t0);
}

static void windows(struct aiperf *a)
{
    qsort(a->phase, (size_t)a->phases, sizeof a->phase[0], by_start);
    for (int i = 0; i < a->phases; i++) {
        struct phase *p = &a->phase[i];
        jm_build_window_as(&a->b, p->warmup ? JM_R_WARMUP : JM_R_MEASURE, 0, p->name, p->t0,
                           p->t1 - p->t0 + JM_PEER_EDGE);
        p->window = a->b.window;
    }
}

static int window_of(const struct aiperf *a, bool warmup)
{
    int at = -1;
    for (int i = 0; i < a->phases; i++)
        if (a->phase[i].warmup == warmup)
            at = at == -1 ? a->phase[i].window : -2;
    return at < 0 ? -1 : at; /* several: about the whole file */
}

/* ---- the summary
 * ------------------------------------------------------------------------------------------------------ */

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
static void config(struct aiperf *a, const struct jm_jtoken *c)
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

static void errors(struct aiperf *a, const struct jm_jtoken *list)
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
static void telemetry(struct aiperf *a, const struct jm_jtoken *t)
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
static void window_by_summary(struct aiperf *a, const struct jm_jtoken *s)
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

static void summary(struct aiperf *a)
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

/* ---- the import
 * ------------------------------------------------------------------------------------------------------ */

static void sums(struct aiperf *a)
{
    jm_build_env(&a->b, "import.requests", "%lld", (long long)a->records);
    if (a->broken)
        jm_build_env(&a->b, "import.unreadable", "%lld records without a start", (long long)a->broken);
    if (a->cancelled)
        jm_build_env(&a->b, "aiperf.cancelled", "%lld", (long long)a->cancelled);
    jm_build_env(&a->b, "import.tokens.output", "%s",
                 a->with_server ? "server usage (usage_completion_tokens)" : "the client's tokenizer");
    if (a->with_client) { /* of the same requests */
        jm_build_env(&a->b, "import.tokens.server_total", "%lld", (long long)a->server_tokens);
        jm_build_env(&a->b, "import.tokens.client_total", "%lld", (long long)a->client_tokens);
    }
    if (!a->chunks)
        jm_build_missing(&a->b, "token_times", "the records hold the first and the last token's time only");
}

static void fill(struct aiperf *a)
{
    struct jm_jdocs d;
    struct jm_jtoken doc;
    int rc = a->have[RECORDS] ? phases(a) : 0;
    int64_t span[2];
    if (rc >= 0 && a->have[RECORDS] && !a->phases)
        rc = jm_build_fail(&a->b, "%s holds no record of a request with a request_start_ns",
                           a->f[RECORDS].path);
    if (rc >= 0 && a->have[RECORDS]) {
        windows(a);
        jm_build_times(&a->b,
                       "request_start_ns and credit_issued_ns of the records (wall clock at the start of the "
                       "client, then monotonic)");
        jm_jdocs_init(&d, &a->f[RECORDS]);
        while (!a->b.rc && (rc = jm_jdocs_next(&d, &doc, a->b.err)) > 0)
            if ((rc = record(a, &doc)) < 0)
                break;
        if (rc >= 0)
            sums(a);
    }
    a->b.rc = a->b.rc ? a->b.rc : rc < 0 ? rc : 0;
    if (a->have[SUMMARY])
        summary(a);
    if (a->have[GPU]) {
        int n = jm_aiperf_gpu(&a->b, &a->f[GPU], span);
        if (n && a->b.windows == 0) {
            jm_build_window(&a->b, 0, "telemetry", span[0], span[1] - span[0]);
            jm_build_times(&a->b, "timestamp_ns of the telemetry");
        }
    }
    if (a->have[CSV] && !a->have[SUMMARY]) {
        if (a->b.windows == 0) {
            jm_build_window(&a->b, 0, "profiling", a->f[CSV].mtime_ns, 0);
            jm_build_times(&a->b, "the file has none; its own date");
            jm_build_missing(&a->b, "duration", "see the claim Benchmark Duration");
        }
        jm_aiperf_csv(&a->b, &a->f[CSV]);
    }
    if (!a->have[RECORDS])
        jm_build_missing(&a->b, "requests", "they are in profile_export.jsonl; import the whole folder");
    if (!a->have[GPU])
        jm_build_missing(&a->b, "energy", "there is no gpu_telemetry_export.jsonl");
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct aiperf *a = calloc(1, sizeof *a);
    struct jm_probe *p = calloc(1, sizeof *p);
    char name[FILES][256];
    int rc = 0, main = -1, score;
    if (!a || !p) {
        free(a);
        free(p);
        return jm_err_set(err, JM_ENOMEM, "out of memory while importing %s", path);
    }
    jm_probe_look(p, path, NULL);
    if (p->dir) {
        if (!find(path, name))
            rc = jm_err_set(err, JM_EABSENT, "%s holds no file of AIPerf: neither %s nor %s", path,
                            usual[SUMMARY], usual[RECORDS]);
        for (int i = 0; !rc && i < FILES; i++)
            if (name[i][0] && snprintf(a->path[i], JM_PEER_PATH, "%s/%s", path, name[i]) < JM_PEER_PATH &&
                !(i == CSV && a->have[SUMMARY])) /* the same numbers, rounded */
                a->have[i] = (rc = jm_ifile_open(a->path[i], &a->f[i], err)) == 0;
    } else {
        struct jm_ifile f;
        rc = jm_ifile_open(path, &f, err);
        if (!rc) {
            jm_probe_look(p, path, &f);
            int kind = kind_of(p, &score);
            if (kind < 0) {
                rc = jm_err_set(err, JM_EPARSE, "%s is no file that AIPerf writes (%s, %s, %s or %s)", path,
                                usual[SUMMARY], usual[RECORDS], usual[CSV], usual[GPU]);
                jm_ifile_close(&f);
            } else {
                a->f[kind] = f;
                a->have[kind] = true;
            }
        }
    }
    const int order[] = {RECORDS, SUMMARY, CSV, GPU};
    for (int i = 0; main < 0 && i < FILES; i++)
        main = a->have[order[i]] ? order[i] : -1;
    if (!rc && main < 0)
        rc = jm_err_set(err, JM_EABSENT, "%s: none of AIPerf's files can be read", path);
    if (!rc) {
        jm_build_begin(&a->b, "aiperf", &a->f[main], o, out, a->f[main].mtime_ns, err);
        for (int i = 0; i < FILES; i++)
            if (a->have[i] && i != main)
                jm_build_raw(&a->b, &a->f[i], jm_ifile_name(&a->f[i]));
        if (!a->b.rc)
            fill(a);
        rc = jm_build_end(&a->b);
    }
    for (int i = 0; i < FILES; i++)
        if (a->have[i])
            jm_ifile_close(&a->f[i]);
    free(a);
    free(p);
    return rc;
}

const struct jm_importer jm_import_aiperf = {
    .name = "aiperf",
    .summary = "AIPerf results (artifact folder, profile_export.jsonl, profile_export_aiperf.json or .csv, "
               "gpu_telemetry_export.jsonl)",
    .reads = "Each request with its credit, start and end and the time of each chunk, the warm-up apart; the "
             "energy counter and "
             "power of each GPU; statistics as claims. The server's token counts where they are there, "
             "beside AIPerf's own.",
    .lacks =
        "How many tokens a chunk held; which GPUs serve. The summary and the CSV alone hold no requests.",
    .sniff = sniff,
    .import = import,
};
