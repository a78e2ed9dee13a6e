/* SPDX-License-Identifier: Apache-2.0 */
/* GenAI-Perf's artifact folder, or one file of it: profile_export.json (Perf Analyzer: each request with the
 * time of each response and its text), profile_export_genai_perf.json and .csv (statistics).
 *
 * A response is what one read gave: several events may share its time. Output tokens are the server's usage
 * where the answers carry it; GenAI-Perf counts with a tokenizer and keeps no count in the file. Its
 * energy_consumption is the mean of a counter that runs since the driver was loaded, so it is no energy of
 * the run. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/peer.h"
#include "import/probe.h"

#include "base/banned.h"

struct gp {
    struct jm_build b;
    struct jm_ifile f, stats;
    bool have_stats;
    struct jm_jsonscan scan;
    struct jm_str text;
    int64_t read, with_usage, answers, shared;
};

enum {
    X_CONTENT,
    X_REASONING,
    X_REASONING_NEW,
    X_TEXT,
    X_MESSAGE,
    X_TRITON,
    X_TGI,
    X_FINISH,
    X_COMPLETION,
    X_PROMPT,
    X_CACHED,
    X_THOUGHT,
    X_ERROR,
    X_TOOL,
    X_GENERATED,
    PATHS
};
static const char *const paths[PATHS] = {"choices[].delta.content",
                                         "choices[].delta.reasoning_content",
                                         "choices[].delta.reasoning",
                                         "choices[].text",
                                         "choices[].message.content",
                                         "text_output",
                                         "token.text",
                                         "choices[].finish_reason",
                                         "usage.completion_tokens",
                                         "usage.prompt_tokens",
                                         "usage.prompt_tokens_details.cached_tokens",
                                         "usage.completion_tokens_details.reasoning_tokens",
                                         "error",
                                         "choices[].delta.tool_calls",
                                         "generated_text"};

static const struct jm_probe_mark export_marks[] = {
    {"experiments", 0},   {"experiments[].requests", 60},
    {"service_kind", 25}, {"version", 10},
    {"endpoint", 10},     {NULL, 0},
};
static const struct jm_probe_mark stat_marks[] = {
    {"input_config", 20},
    {"request_throughput.avg", 25},
    {"request_latency.avg", 20},
    {"output_token_throughput_per_user.avg", 15},
    {"telemetry_stats", 30},
    {"time_to_first_token.avg", 10},
    {"inter_token_latency.avg", 10},
    {"aiperf_version", -100},
    {"schema_version", -100},
    {"was_cancelled", -100},
    {"error_summary", -100},
    {NULL, 0},
};

/* "..._genai_perf.json" of a folder, the first by name. */
static bool find(const char *dir, const char *tail, char name[256])
{
    DIR *d = opendir(dir);
    name[0] = '\0';
    for (struct dirent *e; d && (e = readdir(d));)
        if (jm_span_ends(jm_span_of(e->d_name), jm_span_of(tail)) && strlen(e->d_name) < 256 &&
            (!name[0] || strcmp(e->d_name, name) < 0))
            snprintf(name, 256, "%s", e->d_name);
    if (d)
        closedir(d);
    return name[0] != '\0';
}

static int sniff(const struct jm_probe *p)
{
    char name[256];
    if (p->dir)
        return find(p->path, "_genai_perf.json", name) || find(p->path, "_genai_perf.csv", name) ? 92 : 0;
    if (p->f && !p->json && jm_span_starts(p->line, JM_SPAN("Metric,avg,min,max,p99")))
        return 90;
    int s = jm_probe_score(p, export_marks);
    if (s)
        return s;
    s = jm_probe_score(p, stat_marks);
    return s >= 45 ? s : 0;
}

/* ---- requests
 * ------------------------------------------------------------------------------------------------------ */

struct answer {
    bool text, error, finished;
    char why[120], finish[24];
    int64_t completion, prompt, cached, reasoning;
};

static bool says(const struct jm_jsonfound *f)
{
    return f->hits && f->v.type == JM_J_STRING && f->v.raw.n > 0;
}

static void document(struct gp *g, struct jm_span doc, struct answer *a)
{
    struct jm_jsonfound f[PATHS];
    if (jm_jsonscan_run(&g->scan, doc, f, NULL))
        return;
    a->text |= says(&f[X_CONTENT]) || says(&f[X_REASONING]) || says(&f[X_REASONING_NEW]) ||
               says(&f[X_TEXT]) || says(&f[X_MESSAGE]) || says(&f[X_TRITON]) || says(&f[X_TGI]) ||
               says(&f[X_GENERATED]) ||
               (f[X_TOOL].hits && f[X_TOOL].v.type == JM_J_ARRAY && f[X_TOOL].v.raw.n > 2);
    if (f[X_COMPLETION].hits)
        jm_jint(&f[X_COMPLETION].v, &a->completion);
    if (f[X_PROMPT].hits)
        jm_jint(&f[X_PROMPT].v, &a->prompt);
    if (f[X_CACHED].hits)
        jm_jint(&f[X_CACHED].v, &a->cached);
    if (f[X_THOUGHT].hits)
        jm_jint(&f[X_THOUGHT].v, &a->reasoning);
    if (says(&f[X_FINISH])) {
        a->finished = true;
        jm_jtext(&f[X_FINISH].v, a->finish, sizeof a->finish);
    }
    if (f[X_ERROR].hits && f[X_ERROR].v.type != JM_J_NULL) {
        a->error = true;
        snprintf(a->why, sizeof a->why, "%.*s", f[X_ERROR].v.raw.n < 119 ? (int)f[X_ERROR].v.raw.n : 119,
                 f[X_ERROR].v.raw.p);
        jm_text_plain(a->why, strlen(a->why), false);
    }
}

/* The text of one response: events, or a document as it is. */
static void response(struct gp *g, const struct jm_jtoken *v, struct answer *a)
{
    struct jm_span rest, line;
    if (v->type == JM_J_OBJECT) {
        document(g, v->raw, a);
        return;
    }
    if (v->type != JM_J_STRING || !v->raw.n)
        return;
    jm_str_reset(&g->text);
    jm_str_add(&g->text, v->raw.p, v->raw.n); /* never longer without its escapes */
    if (g->text.failed)
        return;
    rest = (struct jm_span){g->text.buf, jm_json_unescape(v->raw, g->text.buf, g->text.len)};
    if (rest.n > g->text.len)
        return;
    struct jm_span all = jm_span_trim(rest);
    if (all.n && all.p[0] == '{') {
        document(g, all, a);
        return;
    }
    while (jm_span_line(&rest, &line)) {
        if (!jm_span_starts(line, JM_SPAN("data:")))
            continue;
        line = jm_span_trim(jm_span_sub(line, 5, line.n));
        if (jm_span_is(line, "[DONE]"))
            a->finished = true;
        else if (line.n)
            document(g, line, a);
    }
}

static int request(struct gp *g, const struct jm_jtoken *item, bool known_only, int64_t span[2])
{
    static const char *const names[] = {"timestamp", "response_timestamps", "response_outputs",
                                        "request_inputs"};
    struct jm_jtoken r[4], t, o, v;
    struct jm_jiter ti, oi;
    struct jm_request q;
    struct answer a = {.completion = -1, .prompt = -1, .cached = -1, .reasoning = -1};
    int64_t ns, last = -1, last_text = -1;
    bool has_outputs, whole = true;
    int rc = 0, responses = 0;
    if (jm_jfind(&g->f, item, names, 4, r, NULL) || !jm_jint(&r[0], &ns) || ns < 0)
        return 0;
    span[0] = ns < span[0] ? ns : span[0];
    jm_request_init(&q);
    q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = ns;
    jm_jiter_init(&ti, &g->f, &r[1]);
    jm_jiter_init(&oi, &g->f, &r[2]);
    has_outputs = r[2].type == JM_J_ARRAY;
    while ((rc = jm_jiter_next(&ti, NULL, &t, g->b.err)) > 0) {
        if (!jm_jint(&t, &ns) || ns < q.t[JM_T_SENT])
            continue;
        last = ns > last ? ns : last;
        responses++;
        if (known_only)
            continue;
        bool before = a.text;
        a.text = false;
        if (has_outputs && jm_jiter_next(&oi, NULL, &o, NULL) > 0) {
            if (jm_jmember(&g->f, &o, "response", &v))
                response(g, &v, &a);
            whole = false;
        } else {
            a.text = true; /* the texts were not kept: a response is taken for a chunk */
        }
        if (q.t[JM_T_FIRST_BYTE] < 0)
            q.t[JM_T_FIRST_BYTE] = ns;
        if (a.text) {
            jm_build_event(&g->b, ns, -1, 0);
            last_text = ns;
        }
        a.text |= before;
    }
    span[1] = last > span[1] ? last : span[1];
    if (known_only || rc < 0)
        return rc;
    q.t[JM_T_CLOSED] = last >= 0 ? last : q.t[JM_T_SENT];
    q.t[JM_T_LAST_TOKEN] = last_text;
    q.stream = responses > 1;
    q.output_tokens = a.completion >= 0 && (a.completion > 0 || !a.text) ? a.completion : -1;
    q.prompt_tokens = a.prompt > 0 ? a.prompt : -1;
    q.cached_tokens = a.cached;
    q.reasoning_tokens = a.reasoning;
    snprintf(q.finish, sizeof q.finish, "%s", a.finish);
    q.end = a.error                             ? JM_END_ERROR_EVENT
            : !a.text                           ? JM_END_EMPTY
            : q.stream && !a.finished && !whole ? JM_END_CUT
                                                : JM_END_OK;
    if (a.error)
        snprintf(q.error, sizeof q.error, "%s", a.why);
    if (jm_jpath(&g->f, &r[3], "max_tokens", &v) || jm_jpath(&g->f, &r[3], "max_completion_tokens", &v))
        jm_jint(&v, &q.asked_osl);
    g->read++;
    g->with_usage += q.output_tokens >= 0;
    jm_build_request(&g->b, &q);
    return rc;
}

static int experiment(struct gp *g, const struct jm_jtoken *e)
{
    struct jm_jtoken list, v, item;
    struct jm_jiter it;
    char mode[32] = "experiment", value[24] = "", name[64];
    int64_t span[2] = {INT64_MAX, INT64_MIN};
    int rc;
    if (jm_jpath(&g->f, e, "experiment.mode", &v))
        jm_jtext(&v, mode, sizeof mode);
    if (jm_jpath(&g->f, e, "experiment.value", &v)) {
        jm_jtext(&v, value, sizeof value);
        jm_build_env_of(&g->b, strstr(mode, "rate") ? "plan.rate_per_s" : "plan.concurrency", &v);
    }
    jm_build_env(&g->b, "plan.shape", "%s", mode);
    if (!jm_jmember(&g->f, e, "requests", &list))
        return 0;
    for (int pass = 0; pass < 2; pass++) {
        jm_jiter_init(&it, &g->f, &list);
        while (!g->b.rc && (rc = jm_jiter_next(&it, NULL, &item, g->b.err)) > 0)
            if ((rc = request(g, &item, pass == 0, span)) < 0)
                return rc;
        if (rc < 0)
            return rc;
        if (pass == 0) {
            if (span[0] == INT64_MAX)
                return 0;
            span[1] = span[1] > span[0] ? span[1] : span[0];
            snprintf(name, sizeof name, "%s%s%s", mode, value[0] ? " " : "", value);
            jm_build_window(&g->b, 0, name, span[0], span[1] - span[0] + JM_PEER_EDGE);
        }
    }
    return 0;
}

static int profile(struct gp *g, const struct jm_jtoken *doc)
{
    struct jm_jtoken list, item, v;
    struct jm_jiter it;
    int rc = 0, n = 0;
    if (jm_jmember(&g->f, doc, "version", &v))
        jm_build_env_of(&g->b, "import.version", &v);
    if (jm_jmember(&g->f, doc, "endpoint", &v))
        jm_build_env_of(&g->b, "genai_perf.endpoint", &v);
    if (jm_jmember(&g->f, doc, "experiments", &list)) {
        jm_jiter_init(&it, &g->f, &list);
        while (!g->b.rc && (rc = jm_jiter_next(&it, NULL, &item, g->b.err)) > 0) {
            if (g->b.o->select && ++n != g->b.o->select)
                continue;
            if ((rc = experiment(g, &item)) < 0)
                return rc;
        }
    }
    if (rc < 0)
        return rc;
    if (!g->b.windows)
        return jm_build_fail(&g->b, "%s holds no request with a timestamp", g->f.path);
    jm_build_times(&g->b, "timestamp and response_timestamps of the requests (wall clock of the client)");
    jm_build_env(&g->b, "import.clock", "wall");
    jm_build_env(&g->b, "import.requests", "%lld", (long long)g->read);
    jm_build_env(&g->b, "import.tokens.output", "%s",
                 g->with_usage ? "server usage in the answers" : "none in the file");
    if (!g->with_usage)
        jm_build_missing(&g->b, "output_tokens",
                         "the answers carry no usage, and GenAI-Perf's own count by a tokenizer is "
                         "not in this file");
    return 0;
}

/* ---- statistics
 * ------------------------------------------------------------------------------------------------------ */

/* telemetry_stats: {"energy_consumption": {"unit": "MJ", "gpu0": {"avg": ...}, ...}, ...}. */
static void telemetry(struct gp *g, const struct jm_ifile *f, const struct jm_jtoken *stats)
{
    struct jm_jiter it, gt, st;
    struct jm_jtoken k, v, gk, gv, sk, sv;
    char name[48], gpu[48], word[24], unit[24], stat[16], key[160];
    double d;
    bool energy = false;
    jm_jiter_init(&it, f, stats);
    while (jm_jiter_next(&it, &k, &v, NULL) > 0) {
        if (!jm_jtext(&k, name, sizeof name))
            continue;
        unit[0] = '\0';
        if (jm_jmember(f, &v, "unit", &gv))
            jm_jtext(&gv, unit, sizeof unit);
        bool lifetime = strcmp(name, "energy_consumption") == 0;
        jm_jiter_init(&gt, f, &v);
        while (jm_jiter_next(&gt, &gk, &gv, NULL) > 0) {
            if (gv.type != JM_J_OBJECT || !jm_jtext(&gk, gpu, sizeof gpu))
                continue;
            jm_jiter_init(&st, f, &gv);
            while (jm_jiter_next(&st, &sk, &sv, NULL) > 0)
                if (jm_jnum(&sv, &d) && jm_jtext(&sk, word, sizeof word) && jm_build_stat(sk.raw, stat)) {
                    snprintf(key, sizeof key, "telemetry_stats.%s.%.20s.%s", name, gpu, word);
                    jm_build_claim(&g->b, key, "", stat, d, unit,
                                   lifetime ? "statistics of a counter that runs since the driver was loaded"
                                            : "");
                    energy |= lifetime;
                }
        }
    }
    if (energy)
        jm_build_env(&g->b, "import.energy.lifetime_counter", "telemetry_stats.energy_consumption");
}

static void config(struct gp *g, const struct jm_ifile *f, const struct jm_jtoken *c)
{
    static const struct {
        const char *path, *key;
    } settings[] = {{"perf_analyzer.stimulus.concurrency", "plan.concurrency"},
                    {"input.synthetic_tokens.mean", "plan.isl"},
                    {"input.output_tokens.mean", "plan.osl"},
                    {"tokenizer.name", "genai_perf.tokenizer"},
                    {"endpoint.type", "genai_perf.endpoint_type"},
                    {"endpoint.streaming", "genai_perf.streaming"},
                    {"concurrency", "plan.concurrency"},
                    {"synthetic_input_tokens_mean", "plan.isl"},
                    {"output_tokens_mean", "plan.osl"},
                    {"formatted_model_name", "endpoint.model"}};
    struct jm_jtoken v, item;
    struct jm_jiter it;
    double d;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (jm_jpath(f, c, settings[i].path, &v) && !(jm_jnum(&v, &d) && d < 0)) /* -1: not asked for */
            jm_build_env_of(&g->b, settings[i].key, &v);
    if (jm_jmember(f, c, "model_names", &v) || jm_jmember(f, c, "model", &v)) {
        jm_jiter_init(&it, f, &v);
        if (jm_jiter_next(&it, NULL, &item, NULL) > 0)
            jm_build_env_of(&g->b, "endpoint.model", &item);
    }
}

static int statistics(struct gp *g, const struct jm_ifile *f)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, v;
    jm_jdocs_init(&d, f);
    int rc = jm_jdocs_next(&d, &doc, g->b.err);
    if (rc <= 0)
        return rc;
    const struct jm_ifile *was = g->b.f;
    g->b.f = f;
    if (!g->b.windows) {
        jm_build_window(&g->b, 0, "genai-perf", f->mtime_ns, 0);
        jm_build_times(&g->b, "the file has none; its own date");
        jm_build_missing(&g->b, "duration", "the statistics do not say how long they took");
        jm_build_missing(&g->b, "requests", "they are in profile_export.json; import the whole folder");
    } else if (g->b.windows > 1) {
        g->b.about = -1;
    }
    jm_aiperf_claims(&g->b, f, &doc, "", NULL);
    if (jm_jmember(f, &doc, "telemetry_stats", &v))
        telemetry(g, f, &v);
    if (jm_jmember(f, &doc, "input_config", &v))
        config(g, f, &v);
    g->b.f = was;
    return 0;
}

static void csv(struct gp *g)
{
    jm_build_window(&g->b, 0, "genai-perf", g->f.mtime_ns, 0);
    jm_build_times(&g->b, "the file has none; its own date");
    jm_build_missing(&g->b, "duration", "the table does not say how long it took");
    jm_build_missing(&g->b, "requests", "they are in profile_export.json; import the whole folder");
    jm_aiperf_csv(&g->b, &g->f);
}

static int fill(struct gp *g)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, v;
    struct jm_span head = jm_span_trim(jm_span_sub(g->f.text, 0, 64));
    int rc = 0;
    if (head.n && head.p[0] != '{') {
        csv(g);
        return 0;
    }
    jm_jdocs_init(&d, &g->f);
    rc = jm_jdocs_next(&d, &doc, g->b.err);
    if (rc <= 0)
        return rc ? rc : jm_build_fail(&g->b, "%s is empty", g->f.path);
    if (jm_jmember(&g->f, &doc, "experiments", &v)) {
        rc = profile(g, &doc);
        if (rc >= 0 && g->have_stats)
            rc = statistics(g, &g->stats);
        return rc;
    }
    return statistics(g, &g->f);
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct gp *g = calloc(1, sizeof *g);
    char inside[JM_PEER_PATH], beside[JM_PEER_PATH], name[256], raw[256];
    int rc;
    if (!g)
        return jm_err_set(err, JM_ENOMEM, "out of memory while importing %s", path);
    rc = jm_jsonscan_init(&g->scan, paths, PATHS, err);
    jm_str_init(&g->text);
    if (!rc && (find(path, "_genai_perf.json", name) || find(path, "_genai_perf.csv", name))) {
        /* the requests beside it: the name without its end */
        struct jm_span stem = jm_span_of(name);
        stem.n -= strlen(jm_span_ends(stem, JM_SPAN(".csv")) ? "_genai_perf.csv" : "_genai_perf.json");
        snprintf(raw, sizeof raw, "%.*s.json", (int)(stem.n < 240 ? stem.n : 240), stem.p);
        bool both = jm_peer_exists(path, raw);
        if (both && jm_span_ends(jm_span_of(name), JM_SPAN(".json")))
            g->have_stats = jm_peer_open(path, name, beside, &g->stats);
        snprintf(inside, sizeof inside, "%.3800s/%s", path, both ? raw : name);
        path = inside;
    }
    if (!rc)
        rc = jm_ifile_open(path, &g->f, err);
    if (!rc) {
        jm_build_begin(&g->b, "genai-perf", &g->f, o, out, g->f.mtime_ns, err);
        if (g->have_stats)
            jm_build_raw(&g->b, &g->stats, jm_ifile_name(&g->stats));
        if (!g->b.rc) {
            rc = fill(g);
            g->b.rc = g->b.rc ? g->b.rc : rc < 0 ? rc : 0;
        }
        rc = jm_build_end(&g->b);
        jm_ifile_close(&g->f);
    }
    if (g->have_stats)
        jm_ifile_close(&g->stats);
    jm_str_release(&g->text);
    free(g);
    return rc;
}

const struct jm_importer jm_import_genai_perf = {
    .name = "genai-perf",
    .summary =
        "GenAI-Perf results (artifact folder, profile_export.json, profile_export_genai_perf.json or .csv)",
    .reads = "Each request with the time and the text of each response, the server's usage where the text "
             "has it; statistics as "
             "claims.",
    .lacks = "GenAI-Perf's own token counts; the energy of the run: energy_consumption is a counter since "
             "the driver was loaded.",
    .sniff = sniff,
    .import = import,
};
