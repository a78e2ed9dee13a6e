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

#include "import/aiperf.h"
#include "import/probe.h"

#include "base/banned.h"

static const char *const tails[FILES] = {"_aiperf.json", ".jsonl", "_aiperf.csv",
                                         "gpu_telemetry_export.jsonl"};
static const char *const usual[FILES] = {"profile_export_aiperf.json", "profile_export.jsonl",
                                         "profile_export_aiperf.csv", "gpu_telemetry_export.jsonl"};

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
static struct jm_aiperf_phase *phase_of(struct jm_aiperf *a, const struct jm_jtoken *m)
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
    struct jm_aiperf_phase *p = &a->phase[a->phases++];
    *p = (struct jm_aiperf_phase){
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

static int phases(struct jm_aiperf *a)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, r[PARTS], m[METAS];
    int rc;
    jm_jdocs_init(&d, &a->f[RECORDS]);
    while ((rc = jm_jdocs_next(&d, &doc, a->b.err)) > 0) {
        struct jm_request q;
        struct jm_aiperf_phase *p;
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
static int chunks(struct jm_aiperf *a, const struct jm_jtoken *icl, struct jm_request *q)
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

static void counts(struct jm_aiperf *a, const struct jm_jtoken *v, struct jm_request *q, bool warmup)
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

static void ending(struct jm_aiperf *a, const struct jm_jtoken *r, const struct jm_jtoken *m,
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

static int record(struct jm_aiperf *a, const struct jm_jtoken *doc)
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
    struct jm_aiperf_phase *p = phase_of(a, m);
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
    const struct jm_aiperf_phase *a = x, *b = y;
    return (a->t0 > b->t0) - (a->t0 < b->t0);
}

static void windows(struct jm_aiperf *a)
{
    qsort(a->phase, (size_t)a->phases, sizeof a->phase[0], by_start);
    for (int i = 0; i < a->phases; i++) {
        struct jm_aiperf_phase *p = &a->phase[i];
        jm_build_window_as(&a->b, p->warmup ? JM_R_WARMUP : JM_R_MEASURE, 0, p->name, p->t0,
                           p->t1 - p->t0 + JM_PEER_EDGE);
        p->window = a->b.window;
    }
}

/* ---- the import
 * ------------------------------------------------------------------------------------------------------ */

static void sums(struct jm_aiperf *a)
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

static void fill(struct jm_aiperf *a)
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
        jm_aiperf_summary(a);
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
    struct jm_aiperf *a = calloc(1, sizeof *a);
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
