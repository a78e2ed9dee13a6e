/* SPDX-License-Identifier: Apache-2.0 */
/* `evalscope perf` of ModelScope: benchmark_data.db (SQLite, table result, a row a request; times by
 * perf_counter), benchmark_summary.json (names with units) and benchmark_percentile.json (nearest rank, two
 * digits). Names changed: "Time taken for tests (s)" became "Test Duration (s)", seconds of TTFT
 * milliseconds, chunk_times inter_token_latencies. Given the folder or one of its files, the others are taken
 * with it. An error event inside a 200 stream counts as success. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/peer.h"
#include "import/probe.h"
#include "run/foreign_db.h"

#include "base/banned.h"

static const char first[] = "first chunk with a choice; a role-only chunk counts";

static const struct jm_claim_row rows[] = {
    {"Test Duration (s)", "duration", "sum", "s", "", NULL},
    {"Time taken for tests (s)", "duration", "sum", "s", "", NULL},
    {"Total Requests", "requests.all", "sum", "", "", NULL},
    {"Total requests", "requests.all", "sum", "", "", NULL},
    {"Success Requests", "requests.ok", "sum", "", "an error inside a 200 stream is a success", NULL},
    {"Succeed requests", "requests.ok", "sum", "", "an error inside a 200 stream is a success", NULL},
    {"Failed Requests", "requests.failed", "sum", "", "", NULL},
    {"Failed requests", "requests.failed", "sum", "", "", NULL},
    {"Req Throughput (req/s)", "requests_per_s", "", "requests/s", "", NULL},
    {"Request throughput (req/s)", "requests_per_s", "", "requests/s", "", NULL},
    {"Output Throughput (tok/s)", "tokens_per_s", "", "tokens/s", "", NULL},
    {"Output token throughput (tok/s)", "tokens_per_s", "", "tokens/s", "", NULL},
    {"Total Throughput (tok/s)", "tokens.total_per_s", "", "tokens/s", "", NULL},
    {"Total token throughput (tok/s)", "tokens.total_per_s", "", "tokens/s", "", NULL},
    {"Avg Latency (s)", "e2e", "mean", "s", "", NULL},
    {"Average latency (s)", "e2e", "mean", "s", "", NULL},
    {"TTFT (ms)", "ttft", "mean", "ms", first, NULL},
    {"Avg TTFT (ms)", "ttft", "mean", "ms", first, NULL},
    {"Average time to first token (s)", "ttft", "mean", "s", first, NULL},
    {"TPOT (ms)", "tpot.excl_first", "mean", "ms", "(latency - TTFT) / (tokens - 1)", NULL},
    {"Avg TPOT (ms)", "tpot.excl_first", "mean", "ms", "(latency - TTFT) / (tokens - 1)", NULL},
    {"Average time per output token (s)", "tpot.excl_first", "mean", "s", "(latency - TTFT) / (tokens - 1)",
     NULL},
    {"ITL (ms)", "itl.chunk", "mean", "ms", "gaps between chunks", NULL},
    {"Avg ITL (ms)", "itl.chunk", "mean", "ms", "gaps between chunks", NULL},
    {"Average inter-token latency (s)", "itl.chunk", "mean", "s", "gaps between chunks", NULL},
    {"Avg Input Tokens", "isl", "mean", "tokens", "", NULL},
    {"Average input tokens per request", "isl", "mean", "tokens", "", NULL},
    {"Avg Output Tokens", "osl", "mean", "tokens", "", NULL},
    {"Average output tokens per request", "osl", "mean", "tokens", "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static const struct {
    const char *name, *metric, *unit;
} columns_of_percentiles[] = {{"TTFT (ms)", "ttft", "ms"},
                              {"TTFT (s)", "ttft", "s"},
                              {"TPOT (ms)", "tpot.excl_first", "ms"},
                              {"TPOT (s)", "tpot.excl_first", "s"},
                              {"ITL (ms)", "itl.chunk", "ms"},
                              {"ITL (s)", "itl.chunk", "s"},
                              {"Latency (s)", "e2e", "s"},
                              {"Input tokens", "isl", "tokens"},
                              {"Output tokens", "osl", "tokens"}};
#define N_PERCENTILE (sizeof columns_of_percentiles / sizeof columns_of_percentiles[0])

enum { SUMMARY, PERCENTILE, DB, N_FILES };
static const char *const files[N_FILES] = {"benchmark_summary.json", "benchmark_percentile.json",
                                           "benchmark_data.db"};

static int sniff(const struct jm_probe *p)
{
    if (p->dir)
        return jm_peer_exists(p->path, files[SUMMARY]) ? 90 : 0;
    if (p->sqlite)
        return jm_foreign_db_has(p->path, "result") ? 70 : 0;
    if (jm_probe_key(p, "Percentiles") || jm_probe_key(p, "[].Percentiles"))
        return 80;
    int n = 0;
    for (const struct jm_claim_row *r = rows; r->key; r++)
        for (int i = 0; i < p->n; i++)
            n += strcmp(p->key[i].path, r->key) == 0;
    return n >= 4 ? 90 : 0;
}

struct es {
    struct jm_build b;
    struct jm_err *err;
    double first, last; /* perf_counter of the first start and the last end */
    int64_t n;
};

enum { C_START, C_GAPS, C_CHUNKS, C_OK, C_END, C_LATENCY, C_TTFT, C_IN, C_OUT, N_C };
static const char *const columns[N_C] = {
    "start_time", "inter_token_latencies", "chunk_times",   "success",          "completed_time",
    "latency",    "first_chunk_latency",   "prompt_tokens", "completion_tokens"};

static int look(void *self, const struct jm_foreign_cell *c)
{
    struct es *e = self;
    double end = c[C_END].type ? c[C_END].d : c[C_START].d + c[C_LATENCY].d;
    e->n++;
    if (!c[C_START].type || !isfinite(c[C_START].d))
        return 0;
    e->first = isnan(e->first) || c[C_START].d < e->first ? c[C_START].d : e->first;
    e->last = isnan(e->last) || end > e->last ? end : e->last;
    return 0;
}

static int64_t ns_of(double s)
{
    return isfinite(s) && s >= 0 && s < 1e9 ? (int64_t)llround(s * 1e9) : -1;
}

static int put(void *self, const struct jm_foreign_cell *c)
{
    struct es *e = self;
    struct jm_request q;
    struct jm_ifile text = {.path = e->b.f->path};
    struct jm_jtoken gaps = {.type = JM_J_END};
    const struct jm_ifile *keep = e->b.f;
    bool ok = c[C_OK].type == JM_CELL_INT && c[C_OK].i;
    double start = c[C_START].type ? c[C_START].d - e->first : NAN;
    jm_request_init(&q);
    q.end = ok ? JM_END_OK : JM_END_PROTOCOL;
    if (!ok)
        snprintf(q.error, sizeof q.error, "the file says that it failed, not why");
    if (ok && c[C_IN].type)
        q.prompt_tokens = (int64_t)c[C_IN].d;
    if (ok && c[C_OUT].type)
        q.output_tokens = (int64_t)c[C_OUT].d;
    if (c[C_GAPS].type == JM_CELL_TEXT && c[C_GAPS].text.n) {
        text.all = text.text = c[C_GAPS].text;
        struct jm_jdocs d;
        jm_jdocs_init(&d, &text);
        if (jm_jdocs_next(&d, &gaps, NULL) <= 0 || gaps.type != JM_J_ARRAY)
            gaps.type = JM_J_END;
    }
    int64_t at = ns_of(start), ttft = ok && c[C_TTFT].type ? ns_of(c[C_TTFT].d) : -1;
    double took = c[C_LATENCY].type ? c[C_LATENCY].d : c[C_END].type ? c[C_END].d - c[C_START].d : NAN;
    if (gaps.type == JM_J_ARRAY)
        e->b.f = &text;
    jm_build_timed(&e->b, &q, at < 0 ? -1 : e->b.t0 + at, ttft, ns_of(took),
                   gaps.type == JM_J_ARRAY ? &gaps : NULL, 0);
    e->b.f = keep;
    jm_build_request(&e->b, &q);
    return e->b.rc;
}

static void percentiles(struct jm_build *b, const struct jm_jtoken *doc)
{
    struct jm_jiter it;
    struct jm_jtoken row, label, v;
    char name[32], key[96], stat[16];
    double d;
    jm_jiter_init(&it, b->f, doc);
    if (doc->type != JM_J_ARRAY)
        return; /* the older form is columns; its numbers are in the raw file */
    while (!b->rc && jm_jiter_next(&it, NULL, &row, NULL) > 0) {
        if (!jm_jmember(b->f, &row, "Percentiles", &label) || !jm_jtext(&label, name, sizeof name) ||
            !jm_build_stat(jm_span_of(name), stat))
            continue;
        for (size_t i = 0; i < N_PERCENTILE; i++)
            if (jm_jmember(b->f, &row, columns_of_percentiles[i].name, &v) && jm_jnum(&v, &d)) {
                snprintf(key, sizeof key, "%s.%s", columns_of_percentiles[i].name, name);
                jm_build_claim(b, key, columns_of_percentiles[i].metric, stat, d,
                               columns_of_percentiles[i].unit, "nearest rank, two digits");
            }
    }
}

/* path's folder in dir. */
static void folder(const char *path, bool is_dir, char dir[JM_PEER_PATH])
{
    const char *slash = strrchr(path, '/');
    if (is_dir)
        snprintf(dir, JM_PEER_PATH, "%s", path);
    else if (slash)
        snprintf(dir, JM_PEER_PATH, "%.*s", (int)(slash - path > 0 ? slash - path : 1), path);
    else
        snprintf(dir, JM_PEER_PATH, ".");
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    char dir[JM_PEER_PATH], name[N_FILES][JM_PEER_PATH];
    struct jm_ifile f[N_FILES], main_file;
    bool have[N_FILES] = {false};
    struct es e = {.err = err, .first = NAN, .last = NAN};
    struct jm_jdocs d;
    struct jm_jtoken doc, v;
    int at = -1, rc = jm_ifile_open(path, &main_file, NULL);
    bool is_dir = rc != 0;
    folder(path, is_dir, dir);
    for (int i = 0; i < N_FILES; i++) {
        have[i] = jm_peer_open(dir, files[i], name[i], &f[i]);
        at = have[i] && at < 0 ? i : at;
    }
    if (is_dir && at < 0)
        return jm_err_set(
            err, JM_EPARSE,
            "%s holds no benchmark_summary.json, benchmark_percentile.json or benchmark_data.db", path);
    const struct jm_ifile *head = is_dir ? &f[at] : &main_file;
    jm_build_begin(&e.b, "evalscope", head, o, out, head->mtime_ns, err);
    jm_build_env(&e.b, "import.date_from", "modification time of the file");
    for (int i = 0; i < N_FILES; i++)
        if (have[i] && strcmp(jm_ifile_name(head), files[i]) != 0)
            jm_build_raw(&e.b, &f[i], files[i]);
    /* the given file may have another name */
    bool db = have[DB] || (!is_dir && jm_span_starts(main_file.all, JM_SPAN("SQLite format 3")));
    const char *db_path = have[DB] ? name[DB] : path;
    if (!e.b.rc && db)
        e.b.rc = jm_foreign_db_rows(db_path, "result", columns, N_C, look, &e, e.b.err);
    const struct jm_ifile *sum = have[SUMMARY] ? &f[SUMMARY] : !is_dir && !db ? &main_file : NULL;
    int64_t ns = e.last > e.first ? ns_of(e.last - e.first) : 0;
    bool summary = false;
    if (!e.b.rc && sum) {
        jm_jdocs_init(&d, sum);
        int got = jm_jdocs_next(&d, &doc, e.b.err);
        if (got < 0)
            e.b.rc = got;
        summary = got > 0;
        int64_t said;
        if (summary &&
            (jm_jmember(sum, &doc, "Test Duration (s)", &v) ||
             jm_jmember(sum, &doc, "Time taken for tests (s)", &v)) &&
            jm_jtime(&v, 0, &said) && said > 0)
            ns = said;
    }
    ns = ns < 0 ? 0 : ns;
    jm_build_window(&e.b, 0, "evalscope", head->mtime_ns > ns ? head->mtime_ns - ns : 0, ns);
    const struct jm_ifile *keep = e.b.f;
    if (summary && !e.b.rc) {
        e.b.f = sum;
        if (doc.type == JM_J_OBJECT)
            jm_build_claims(&e.b, &doc, rows, "");
        else
            percentiles(&e.b, &doc);
    }
    if (have[PERCENTILE] && sum != &f[PERCENTILE] && !e.b.rc) {
        jm_jdocs_init(&d, &f[PERCENTILE]);
        e.b.f = &f[PERCENTILE];
        if (jm_jdocs_next(&d, &doc, NULL) > 0)
            percentiles(&e.b, &doc);
    }
    e.b.f = keep;
    if (db) {
        jm_build_times(&e.b, "relative to the first request; that one is placed at the start of the window");
        if (!e.b.rc)
            e.b.rc = jm_foreign_db_rows(db_path, "result", columns, N_C, put, &e, e.b.err);
    } else {
        jm_build_missing(&e.b, "requests", "they are in benchmark_data.db, beside it");
    }
    rc = jm_build_end(&e.b);
    for (int i = 0; i < N_FILES; i++)
        if (have[i])
            jm_ifile_close(&f[i]);
    if (!is_dir)
        jm_ifile_close(&main_file);
    return rc;
}

const struct jm_importer jm_import_evalscope = {
    .name = "evalscope",
    .summary = "EvalScope perf: benchmark_data.db, benchmark_summary.json, benchmark_percentile.json (one, "
               "or their folder)",
    .reads = "Each request of the database with its token counts, TTFT, gaps between chunks; the summary and "
             "the percentiles "
             "as claims.",
    .lacks = "When it was; why a request failed; the older chunk_times column is not read.",
    .sniff = sniff,
    .import = import,
};
