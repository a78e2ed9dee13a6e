/* SPDX-License-Identifier: Apache-2.0 */
/* inference-perf's report folder, or one file of it: per_request_lifecycle_metrics.json (requests with the
 * time of each chunk), stage_N_lifecycle_metrics.json and summary_lifecycle_metrics.json (statistics).
 *
 * Its clock is perf_counter, which begins anywhere: moments are placed so that the last answer ends when the
 * file was written. Records do not say their stage: stages follow each other, so the requests in order of
 * their start are dealt out by the stages' counts. Tokens are the server's (usage) where they are there, else
 * inference-perf's own count by its tokenizer. An answer that ended without finish_reason and [DONE] counts
 * as success there; here it is cut. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/peer.h"
#include "import/probe.h"

#include "base/banned.h"

enum { STAGES = 256 };

struct ip {
    struct jm_build b;
    char dir[JM_PEER_PATH];
    struct jm_ifile f; /* of the requests */
    bool have;
    int64_t shift;
    int64_t (*span)[2]; /* start and end of each request */
    size_t n, cap;
    int stages;
    int64_t stage_n[STAGES];
    int stage_id[STAGES], stage_window[STAGES];
    int64_t read, cut, asked_less, client_total, server_total, counted_both, with_server, chunked;
};

static const char per_request[] = "per_request_lifecycle_metrics.json",
                  summary_name[] = "summary_lifecycle_metrics.json";

static const struct jm_probe_mark record_marks[] = {
    {"[].start_time", 0}, {"[].end_time", 0}, {"[].info", 50}, {"[].request", 20},
    {"[].response", 15},  {"[].error", 10},   {NULL, 0},
};
static const struct jm_probe_mark report_marks[] = {
    {"load_summary", 0}, {"successes", 40}, {"failures", 40}, {"benchmark_time_seconds", 15}, {NULL, 0},
};

static int sniff(const struct jm_probe *p)
{
    if (p->dir)
        return jm_peer_exists(p->path, summary_name) || jm_peer_exists(p->path, per_request) ? 90 : 0;
    int s = p->list ? jm_probe_score(p, record_marks) : 0;
    return s ? s : jm_probe_score(p, report_marks);
}

/* ---- requests
 * ------------------------------------------------------------------------------------------------------ */

enum { Q_START, Q_END, Q_REQUEST, Q_RESPONSE, Q_INFO, Q_ERROR, REQUEST };
static const char *const request_names[REQUEST] = {"start_time", "end_time", "request",
                                                   "response",   "info",     "error"};
enum { I_IN, I_OUT, I_TIMES, I_REQUEST, I_RESPONSE, INFO };
static const char *const info_names[INFO] = {"input_tokens", "output_tokens", "output_token_times",
                                             "request_metrics", "response_metrics"};
enum { R_OUT, R_USAGE, R_CHUNKS, R_TIMES, RESPONSE };
static const char *const response_names[RESPONSE] = {"output_tokens", "server_usage", "chunk_times",
                                                     "output_token_times"};

static bool times(const struct jm_jtoken *q, int64_t span[2])
{
    return jm_jtime(&q[Q_START], 0, &span[0]) && jm_jtime(&q[Q_END], 0, &span[1]) && span[0] >= 0 &&
           span[1] >= span[0];
}

static int look(struct ip *k, const struct jm_jtoken *list)
{
    struct jm_jiter it;
    struct jm_jtoken item, q[REQUEST];
    int64_t span[2];
    int rc;
    jm_jiter_init(&it, &k->f, list);
    while ((rc = jm_jiter_next(&it, NULL, &item, k->b.err)) > 0) {
        if (jm_jfind(&k->f, &item, request_names, REQUEST, q, NULL) || !times(q, span))
            continue;
        if (k->n == k->cap) {
            size_t cap = k->cap ? 2 * k->cap : 1024;
            void *p = realloc(k->span, cap * sizeof *k->span);
            if (!p)
                return jm_err_set(k->b.err, JM_ENOMEM, "out of memory for the times of %zu requests", cap);
            k->span = p;
            k->cap = cap;
        }
        memcpy(k->span[k->n++], span, sizeof span);
    }
    return rc;
}

static int by_start(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

static void group(struct ip *k, size_t from, size_t to, const char *name, int stage)
{
    int64_t t1 = INT64_MIN;
    for (size_t i = from; i < to; i++)
        t1 = k->span[i][1] > t1 ? k->span[i][1] : t1;
    jm_build_window(&k->b, 0, name, k->span[from][0] + k->shift, t1 - k->span[from][0] + JM_PEER_EDGE);
    if (stage >= 0)
        k->stage_window[stage] = k->b.about;
}

static void windows(struct ip *k)
{
    int64_t sum = 0, last = INT64_MIN;
    char name[32];
    for (size_t i = 0; i < k->n; i++)
        last = k->span[i][1] > last ? k->span[i][1] : last;
    k->shift = k->f.mtime_ns > last ? k->f.mtime_ns - last : 0;
    qsort(k->span, k->n, sizeof *k->span, by_start);
    for (int i = 0; i < k->stages; i++) {
        sum += k->stage_n[i];
        k->stage_window[i] = -1;
    }
    if (!k->stages || (size_t)sum != k->n) {
        group(k, 0, k->n, "all stages", k->stages == 1 ? 0 : -1);
        if (k->stages > 1)
            jm_build_missing(&k->b, "stages", "the stages' counts do not add up to the requests");
        return;
    }
    size_t at = 0;
    for (int i = 0; i < k->stages; i++) {
        if (!k->stage_n[i])
            continue;
        snprintf(name, sizeof name, "stage %d", k->stage_id[i]);
        group(k, at, at + (size_t)k->stage_n[i], name, i);
        at += (size_t)k->stage_n[i];
    }
}

/* Looks into the text of an answer, which is a JSON string in a JSON string: did it say that it ended? */
static bool said_end(struct jm_span raw)
{
    return jm_span_find(raw, JM_SPAN("[DONE]")) >= 0 ||
           jm_span_find(raw, JM_SPAN("finish_reason\\\":\\\"")) >= 0 ||
           jm_span_find(raw, JM_SPAN("finish_reason\\\": \\\"")) >= 0 ||
           jm_span_find(raw, JM_SPAN("message_stop")) >= 0;
}

static void asked(struct jm_span raw, struct jm_request *q)
{
    static const char *const keys[] = {"\\\"max_tokens\\\":", "\\\"max_completion_tokens\\\":"};
    for (int i = 0; i < 2; i++) {
        ptrdiff_t at = jm_span_find(raw, jm_span_of(keys[i]));
        if (at < 0)
            continue;
        struct jm_span s = jm_span_sub(raw, (size_t)at + strlen(keys[i]), 24);
        int64_t n = 0;
        size_t j = 0;
        while (j < s.n && s.p[j] == ' ')
            j++;
        for (; j < s.n && s.p[j] >= '0' && s.p[j] <= '9' && n < 100000000; j++)
            n = 10 * n + (s.p[j] - '0');
        if (n)
            q->asked_osl = n;
        return;
    }
}

/* Chunks with their times; token_times repeats a chunk's time for each of its tokens by the client's
 * tokenizer, which tells how many it held where that count is the one in use. */
static int chunks(struct ip *k, const struct jm_jtoken *chunk_times, const struct jm_jtoken *token_times,
                  bool counted)
{
    const struct jm_jtoken *use = counted || chunk_times->type != JM_J_ARRAY ? token_times : chunk_times;
    bool by_token = use == token_times;
    struct jm_jiter it;
    struct jm_jtoken v;
    int64_t t, open = -1, tokens = 0;
    int rc;
    jm_jiter_init(&it, &k->f, use);
    while ((rc = jm_jiter_next(&it, NULL, &v, k->b.err)) > 0) {
        if (!jm_jtime(&v, 0, &t) || t < 0)
            continue;
        t += k->shift;
        if (by_token && t == open) {
            tokens++;
            continue;
        }
        if (open >= 0)
            jm_build_event(&k->b, open, counted ? tokens : -1, 0);
        open = t;
        tokens = 1;
    }
    if (open >= 0) {
        jm_build_event(&k->b, open, counted ? tokens : -1, 0);
        k->chunked++;
    }
    return rc;
}

static int64_t items(struct ip *k, const struct jm_jtoken *array)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    int64_t n = 0;
    jm_jiter_init(&it, &k->f, array);
    while (jm_jiter_next(&it, NULL, &v, NULL) > 0)
        n++;
    return n;
}

static int tokens(struct ip *k, const struct jm_jtoken *info, struct jm_request *q)
{
    struct jm_jtoken i[INFO], r[RESPONSE], v, none = {.type = JM_J_END};
    int64_t client = -1;
    if (jm_jfind(&k->f, info, info_names, INFO, i, NULL) ||
        jm_jfind(&k->f, &i[I_RESPONSE], response_names, RESPONSE, r, NULL))
        return 0;
    if (!jm_peer_count(&k->f, &r[R_OUT], &client))
        jm_peer_count(&k->f, &i[I_OUT], &client);
    if (jm_jmember(&k->f, &r[R_USAGE], "completion_tokens", &v) ||
        jm_jmember(&k->f, &r[R_USAGE], "output_tokens", &v))
        jm_peer_count(&k->f, &v, &q->output_tokens);
    if (jm_jmember(&k->f, &r[R_USAGE], "prompt_tokens", &v) ||
        jm_jmember(&k->f, &r[R_USAGE], "input_tokens", &v))
        jm_peer_count(&k->f, &v, &q->prompt_tokens);
    if (jm_jpath(&k->f, &r[R_USAGE], "prompt_tokens_details.cached_tokens", &v))
        jm_peer_count(&k->f, &v, &q->cached_tokens);
    if (jm_jpath(&k->f, &r[R_USAGE], "completion_tokens_details.reasoning_tokens", &v))
        jm_peer_count(&k->f, &v, &q->reasoning_tokens);
    if (q->prompt_tokens < 0)
        jm_peer_count(&k->f, &i[I_IN], &q->prompt_tokens);
    if (q->output_tokens >= 0) {
        k->with_server++;
        if (client >= 0) {
            k->counted_both++;
            k->client_total += client;
            k->server_total += q->output_tokens;
        }
    } else {
        q->output_tokens = client;
    }
    const struct jm_jtoken *per_token = r[R_TIMES].type == JM_J_ARRAY   ? &r[R_TIMES]
                                        : i[I_TIMES].type == JM_J_ARRAY ? &i[I_TIMES]
                                                                        : &none;
    bool counted = q->output_tokens > 0 && items(k, per_token) == q->output_tokens;
    return chunks(k, &r[R_CHUNKS], per_token, counted);
}

static void ending(struct ip *k, const struct jm_jtoken *q_, struct jm_request *q)
{
    static const char *const names[] = {"error_type", "error_msg"};
    struct jm_jtoken e[2];
    char type[64] = "", message[120] = "";
    int64_t code = -1;
    q->end = JM_END_OK;
    if (q_[Q_ERROR].type == JM_J_OBJECT && jm_jfind(&k->f, &q_[Q_ERROR], names, 2, e, NULL) == 0) {
        jm_jtext(&e[0], type, sizeof type);
        jm_jtext(&e[1], message, sizeof message);
        struct jm_span digits = jm_span_of(type);
        while (digits.n >= 3 && !(digits.p[0] >= '4' && digits.p[0] <= '5'))
            digits = jm_span_sub(digits, 1, digits.n);
        if (digits.n >= 3 && digits.p[1] >= '0' && digits.p[1] <= '9' && digits.p[2] >= '0' &&
            digits.p[2] <= '9')
            code = (digits.p[0] - '0') * 100 + (digits.p[1] - '0') * 10 + (digits.p[2] - '0');
        q->http_status = (int)code;
        q->end = jm_peer_end(code, jm_span_of(type), jm_span_of(message));
        snprintf(q->error, sizeof q->error, "%s%s%s", type, type[0] && message[0] ? ": " : "", message);
    } else if (q->stream && q_[Q_RESPONSE].type == JM_J_STRING && q_[Q_RESPONSE].raw.n &&
               !said_end(q_[Q_RESPONSE].raw)) {
        q->end = JM_END_CUT;
        snprintf(q->error, sizeof q->error,
                 "the answer ended without finish_reason and [DONE]; inference-perf took it for a success");
        k->cut++;
    }
}

static int request(struct ip *k, const struct jm_jtoken *item)
{
    struct jm_jtoken r[REQUEST];
    struct jm_request q;
    int64_t span[2];
    jm_request_init(&q);
    if (jm_jfind(&k->f, item, request_names, REQUEST, r, NULL) || !times(r, span))
        return 0;
    q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = span[0] + k->shift;
    q.t[JM_T_CLOSED] = span[1] + k->shift;
    int rc = tokens(k, &r[Q_INFO], &q);
    q.stream = k->b.n_ev > 0;
    if (!q.stream && r[Q_ERROR].type != JM_J_OBJECT)
        q.t[JM_T_LAST_TOKEN] = q.t[JM_T_CLOSED]; /* an answer that came whole */
    if (r[Q_REQUEST].type == JM_J_STRING)
        asked(r[Q_REQUEST].raw, &q);
    ending(k, r, &q);
    k->read++;
    jm_build_request(&k->b, &q);
    return rc;
}

/* ---- the folder
 * ------------------------------------------------------------------------------------------------------ */

static int number_order(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* stage_N_lifecycle_metrics.json: how many requests each had. */
static void find_stages(struct ip *k)
{
    static const char head[] = "stage_", tail[] = "_lifecycle_metrics.json";
    DIR *d = k->dir[0] ? opendir(k->dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct jm_span s = jm_span_of(e->d_name);
        int64_t id = 0;
        if (k->stages == STAGES || !jm_span_starts(s, JM_SPAN(head)) || !jm_span_ends(s, JM_SPAN(tail)))
            continue;
        s = jm_span_sub(s, sizeof head - 1, s.n - sizeof head - sizeof tail + 2);
        for (size_t i = 0; i < s.n && id >= 0; i++)
            id = s.p[i] >= '0' && s.p[i] <= '9' && id < 100000 ? 10 * id + (s.p[i] - '0') : -1;
        if (s.n && id >= 0)
            k->stage_id[k->stages++] = (int)id;
    }
    if (d)
        closedir(d);
    qsort(k->stage_id, (size_t)k->stages, sizeof k->stage_id[0], number_order);
}

/* One report: its counts (put false), or its claims about a window. */
static void one_report(struct ip *k, const char *name, const char *prefix, int64_t *count)
{
    char path[JM_PEER_PATH];
    struct jm_ifile f;
    struct jm_jdocs d;
    struct jm_jtoken doc, v;
    if (!jm_peer_open(k->dir, name, path, &f))
        return;
    jm_jdocs_init(&d, &f);
    int rc = jm_jdocs_next(&d, &doc, k->b.err);
    if (rc > 0 && count) {
        if (!jm_jpath(&f, &doc, "load_summary.count", &v) || !jm_jint(&v, count) || *count < 0)
            *count = 0;
    } else if (rc > 0) {
        jm_build_raw(&k->b, &f, name);
        jm_inference_perf_claims(&k->b, &f, &doc, prefix);
    } else if (rc < 0 && !k->b.rc) {
        k->b.rc = rc;
    }
    jm_ifile_close(&f);
}

static void folder(struct ip *k)
{
    char name[64], prefix[32];
    bool same = k->stages == 1 && jm_peer_exists(k->dir, summary_name); /* its summary says the same */
    for (int i = 0; !same && i < k->stages; i++) {
        snprintf(name, sizeof name, "stage_%d_lifecycle_metrics.json", k->stage_id[i]);
        snprintf(prefix, sizeof prefix, "stage_%d.", k->stage_id[i]);
        k->b.about = k->stage_window[i];
        one_report(k, name, prefix, NULL);
    }
    k->b.about = k->b.windows == 1 ? 0 : -1;
    one_report(k, summary_name, "", NULL);
}

/* A report alone: statistics about a window that lasts as long as it says. */
static void alone(struct ip *k, const struct jm_ifile *f, const struct jm_jtoken *doc)
{
    struct jm_jtoken v;
    double seconds = 0;
    bool timed = jm_jpath(f, doc, "benchmark_time_seconds", &v) && jm_jnum(&v, &seconds) && seconds > 0 &&
                 seconds < 1e8;
    int64_t ns = timed ? (int64_t)(seconds * 1e9) : 0;
    jm_build_window(&k->b, 0, "inference-perf", f->mtime_ns > ns ? f->mtime_ns - ns : 0, ns);
    jm_build_times(&k->b, "the file has none; its own date is taken for the end");
    if (!timed)
        jm_build_missing(&k->b, "duration", "the report has no benchmark_time_seconds");
    jm_build_missing(&k->b, "requests",
                     "they are in per_request_lifecycle_metrics.json; import the whole folder");
    jm_inference_perf_claims(&k->b, f, doc, "");
}

static int requests(struct ip *k, const struct jm_jtoken *list)
{
    struct jm_jiter it;
    struct jm_jtoken item;
    int rc = look(k, list);
    if (rc < 0)
        return rc;
    if (!k->n)
        return jm_build_fail(&k->b, "%s holds no request with start_time and end_time", k->f.path);
    windows(k);
    jm_build_times(
        &k->b, "perf_counter of the client, which begins anywhere: placed so that the last answer ends when "
               "the file was written");
    jm_build_env(&k->b, "import.clock", "monotonic");
    jm_jiter_init(&it, &k->f, list);
    while (!k->b.rc && (rc = jm_jiter_next(&it, NULL, &item, k->b.err)) > 0)
        if ((rc = request(k, &item)) < 0)
            break;
    if (rc < 0)
        return rc;
    jm_build_env(&k->b, "import.requests", "%lld", (long long)k->read);
    jm_build_env(&k->b, "import.tokens.output", "%s",
                 k->with_server ? "server usage" : "the client's tokenizer");
    if (k->counted_both) {
        jm_build_env(&k->b, "import.tokens.server_total", "%lld", (long long)k->server_total);
        jm_build_env(&k->b, "import.tokens.client_total", "%lld", (long long)k->client_total);
    }
    if (k->cut)
        jm_build_env(&k->b, "import.ok_but_cut", "%lld", (long long)k->cut);
    if (!k->chunked)
        jm_build_missing(&k->b, "token_times", "the answers did not stream");
    return 0;
}

static int fill(struct ip *k)
{
    struct jm_jdocs d;
    struct jm_jtoken doc;
    jm_jdocs_init(&d, &k->f);
    int rc = jm_jdocs_next(&d, &doc, k->b.err);
    if (rc <= 0)
        return rc ? rc : jm_build_fail(&k->b, "%s is empty", k->f.path);
    jm_build_missing(&k->b, "energy", "inference-perf measures none");
    if (doc.type != JM_J_ARRAY) {
        alone(k, &k->f, &doc);
        return 0;
    }
    find_stages(k);
    for (int i = 0; i < k->stages; i++) {
        char name[64];
        snprintf(name, sizeof name, "stage_%d_lifecycle_metrics.json", k->stage_id[i]);
        one_report(k, name, "", &k->stage_n[i]);
    }
    rc = requests(k, &doc);
    if (rc >= 0 && k->dir[0])
        folder(k);
    return rc;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct ip *k = calloc(1, sizeof *k);
    char inside[JM_PEER_PATH];
    if (!k)
        return jm_err_set(err, JM_ENOMEM, "out of memory while importing %s", path);
    const char *best = jm_peer_exists(path, per_request) ? per_request : summary_name;
    if (jm_peer_exists(path, best) &&
        snprintf(inside, sizeof inside, "%s/%s", path, best) < (int)sizeof inside) {
        snprintf(k->dir, sizeof k->dir, "%s", path);
        path = inside;
    }
    int rc = jm_ifile_open(path, &k->f, err);
    if (!rc) {
        jm_build_begin(&k->b, "inference-perf", &k->f, o, out, k->f.mtime_ns, err);
        if (!k->b.rc) {
            rc = fill(k);
            k->b.rc = k->b.rc ? k->b.rc : rc < 0 ? rc : 0;
        }
        rc = jm_build_end(&k->b);
        jm_ifile_close(&k->f);
    }
    free(k->span);
    free(k);
    return rc;
}

const struct jm_importer jm_import_inference_perf = {
    .name = "inference-perf",
    .summary =
        "inference-perf results (report folder, per_request_, stage_N_ or summary_lifecycle_metrics.json)",
    .reads = "Each request with the time of each chunk, stages as windows; statistics as claims. The "
             "server's token counts "
             "where they are there, beside the client's. An answer without an end is cut, though it counts "
             "as success there.",
    .lacks = "When a request was scheduled, and its stage; when it was (perf_counter); energy.",
    .sniff = sniff,
    .import = import,
};
