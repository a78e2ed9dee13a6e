/* SPDX-License-Identifier: Apache-2.0 */
/* llama-bench of llama.cpp, -o json, jsonl, csv or md: a row a test, with the time of each repetition in
 * samples_ns (JSON only). avg_ts is the mean of the repetitions' rates, which one slow repetition hardly
 * moves; tokens over time is computed from samples_ns. A repetition becomes a request of n_prompt and n_gen
 * tokens in a window of its test. csv and md have no samples: then avg_ns and stddev_ns, avg_ts and stddev_ts
 * are claims. test_time is to the second, and the same for tests that began in one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "import/build.h"
#include "import/probe.h"
#include "wire/csv.h"

#include "base/banned.h"

#define COLUMNS 96

static const char mean_rate[] = "mean of the repetitions' rates";
static const char kind[] = "llama-bench";

enum {
    PROMPT,
    GEN,
    DEPTH,
    TIME,
    AVG_NS,
    STD_NS,
    AVG_TS,
    STD_TS,
    MODEL,
    BACKENDS,
    GPU,
    CPU,
    COMMIT,
    BUILD,
    N_KEYS
};
static const char *const keys[N_KEYS] = {"n_prompt",  "n_gen",    "n_depth",      "test_time",   "avg_ns",
                                         "stddev_ns", "avg_ts",   "stddev_ts",    "model_type",  "backends",
                                         "gpu_info",  "cpu_info", "build_commit", "build_number"};

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark one[] = {{"n_gen", 0},         {"n_prompt", 0},    {"avg_ts", 0},
                                               {"build_commit", 60}, {"samples_ns", 35}, {NULL, 0}},
                                      list[] = {{"[].n_gen", 0},       {"[].n_prompt", 0},
                                                {"[].avg_ts", 0},      {"[].build_commit", 60},
                                                {"[].samples_ns", 35}, {NULL, 0}};
    bool csv = jm_span_find(p->line, JM_SPAN("n_prompt")) >= 0 &&
               jm_span_find(p->line, JM_SPAN("avg_ts")) >= 0 && jm_span_chr(p->line, ',') > 0 && !p->json;
    bool md = jm_span_starts(jm_span_trim(p->line), JM_SPAN("| model ")) &&
              jm_span_find(p->line, JM_SPAN("t/s")) >= 0;
    int a = jm_probe_score(p, one), b = jm_probe_score(p, list);
    return csv || md ? 90 : a > b ? a : b;
}

/* Texts of one test, from whatever form. */
struct test {
    char v[N_KEYS][96];
    bool have[N_KEYS];
};

static bool number(const struct test *t, int key, double *out)
{
    return t->have[key] && jm_num_double(jm_span_of(t->v[key]), out) == 0;
}

static int64_t count(const struct test *t, int key)
{
    int64_t n = 0;
    return t->have[key] && jm_num_i64(jm_span_of(t->v[key]), &n) == 0 && n > 0 ? n : 0;
}

/* Opens the window of a test that took ns. */
static void window(struct jm_build *b, const struct test *t, int n, int64_t ns)
{
    int64_t at = b->f->mtime_ns, depth = count(t, DEPTH);
    char name[64], what[32] = "", plan[400];
    bool zone;
    if (count(t, PROMPT))
        snprintf(what, sizeof what, "pp%lld", (long long)count(t, PROMPT));
    if (count(t, GEN))
        snprintf(what + strlen(what), sizeof what - strlen(what), "%stg%lld", what[0] ? "+" : "",
                 (long long)count(t, GEN));
    if (t->have[TIME])
        jm_build_date(jm_span_of(t->v[TIME]), &at, &zone);
    snprintf(name, sizeof name, "%d: %s%s%s", n, what, depth ? " at depth " : "", depth ? t->v[DEPTH] : "");
    snprintf(plan, sizeof plan, "%s|%s|%s", what, t->v[MODEL], t->v[DEPTH]);
    jm_build_window_after(b, jm_build_repeat(b, plan), name, at, ns);
}

static void claims(struct jm_build *b, const struct test *t)
{
    double v, tokens = (double)(count(t, PROMPT) + count(t, GEN));
    bool prompt_only = count(t, PROMPT) && !count(t, GEN);
    if (number(t, AVG_TS, &v))
        jm_build_claim(b, "avg_ts",
                       prompt_only        ? "tokens.input_per_s"
                       : count(t, PROMPT) ? "tokens.total_per_s"
                                          : "tokens_per_s",
                       "", v, "tokens/s", mean_rate);
    if (number(t, STD_TS, &v))
        jm_build_claim(b, "stddev_ts", "", "std", v, "tokens/s", "of the repetitions' rates");
    if (number(t, AVG_NS, &v))
        jm_build_claim(b, "avg_ns", "e2e", "mean", v, "ns", "of the repetitions");
    if (number(t, STD_NS, &v))
        jm_build_claim(b, "stddev_ns", "e2e", "std", v, "ns", "of the repetitions");
    jm_build_claim(b, "n_prompt + n_gen", "", "", tokens, "tokens", "of each repetition");
    jm_build_env(b, "endpoint.engine", "llama.cpp %s (%s)", t->v[BUILD], t->v[COMMIT]);
    jm_build_env(b, "endpoint.model", "%s", t->v[MODEL]);
    if (t->have[BACKENDS])
        jm_build_env(b, "file.backends", "%s", t->v[BACKENDS]);
    if (t->have[GPU] && t->v[GPU][0])
        jm_build_env(b, "file.gpu_info", "%s", t->v[GPU]);
    if (t->have[CPU])
        jm_build_env(b, "file.cpu_info", "%s", t->v[CPU]);
}

/* Repetitions one after the other from the start of the window. */
static void repetitions(struct jm_build *b, const struct test *t, const struct jm_jtoken *samples)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    int64_t at = b->t0, ns;
    int rc;
    jm_jiter_init(&it, b->f, samples);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0) {
        struct jm_request q;
        if (!jm_jtime(&v, -9, &ns) || ns < 0) {
            char where[64];
            jm_build_fail(b, "%s, %s: a repetition that took no time", b->f->path,
                          jm_ifile_where(b->f, v.raw.p, where));
            return;
        }
        jm_request_init(&q);
        q.prompt_tokens = count(t, PROMPT);
        q.output_tokens = count(t, GEN);
        q.asked_isl = q.prompt_tokens;
        q.asked_osl = q.output_tokens;
        q.stream = 0;
        q.end = JM_END_OK;
        jm_build_timed(b, &q, at, -1, ns, NULL, 0);
        jm_build_request(b, &q);
        at += ns + 1;
    }
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    struct jm_jtoken v[N_KEYS], samples;
    struct test t = {0};
    double sum = 0, avg;
    int64_t reps = 0;
    if (jm_jfind(b->f, doc, keys, N_KEYS, v, b->err) < 0 || doc->type != JM_J_OBJECT) {
        jm_build_fail(b, "%s: test %d is no JSON object", b->f->path, n);
        return;
    }
    for (int i = 0; i < N_KEYS; i++)
        t.have[i] = jm_jtext(&v[i], t.v[i], sizeof t.v[i]);
    bool have = jm_jmember(b->f, doc, "samples_ns", &samples) && samples.type == JM_J_ARRAY;
    if (have && jm_jsum(b->f, &samples, &sum, &reps, b->err) < 0)
        have = false;
    if (!(sum > 0) && number(&t, AVG_NS, &avg))
        sum = avg;
    if (sum > 4e18 || !(sum >= 0)) {
        jm_build_fail(b, "%s: test %d took %.3g ns, which is no time", b->f->path, n, sum);
        return;
    }
    window(b, &t, n, (int64_t)sum);
    claims(b, &t);
    if (have && reps)
        repetitions(b, &t, &samples);
    else
        jm_build_missing(b, "requests", "the file has no samples_ns");
}

/* -o json is one list, -o jsonl a line a test. */
static void document(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    int rc = 0, k = 0;
    if (doc->type != JM_J_ARRAY) {
        one(b, doc, n);
        return;
    }
    jm_jiter_init(&it, b->f, doc);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0)
        if (++k && (!b->o->select || b->o->select == k))
            one(b, &v, k);
    if (rc < 0)
        b->rc = rc;
    if (!b->rc && b->o->select > k)
        jm_build_fail(b, "%s holds %d tests, so there is no number %d", b->f->path, k, b->o->select);
}

static void without_samples(struct jm_build *b, const struct test *t, int n)
{
    double ns = 0;
    if (!number(t, AVG_NS, &ns) || !(ns >= 0 && ns < 4e18))
        ns = 0;
    window(b, t, n, (int64_t)ns);
    claims(b, t);
}

static int csv(struct jm_build *b)
{
    struct jm_csv c;
    struct jm_csv_field head[COLUMNS], f[COLUMNS];
    size_t n_head, n;
    int at[N_KEYS], row = 0, rc;
    jm_csv_init(&c, b->f->text, 0);
    rc = jm_csv_row(&c, head, COLUMNS, &n_head, b->err);
    for (int i = 0; i < N_KEYS; i++)
        at[i] = rc > 0 ? jm_csv_find(head, n_head, keys[i]) : -1;
    while (!b->rc && rc > 0 && (rc = jm_csv_row(&c, f, COLUMNS, &n, b->err)) > 0) {
        struct test t = {0};
        if (n == 1 && !f[0].raw.n)
            continue;
        if (n != n_head)
            return jm_build_fail(b, "%s, line %lld: %zu fields where the first line has %zu", b->f->path,
                                 (long long)c.line, n, n_head);
        for (int i = 0; i < N_KEYS; i++)
            if (at[i] >= 0)
                t.have[i] = jm_csv_text(&f[at[i]], t.v[i], sizeof t.v[i])[0] != '\0';
        if (++row && (!b->o->select || b->o->select == row))
            without_samples(b, &t, row);
    }
    if (rc < 0 && !b->rc)
        b->rc = jm_err_prefix(b->err, "%s", b->f->path);
    return b->rc;
}

/* | model | size | params | backend | threads | test | t/s | : "pp512", "tg128", "pp512+tg128", "tg32 @ d64";
 * the rate as "49.30 ± 74.60". */
static int markdown(struct jm_build *b)
{
    struct jm_span rest = b->f->text, line, cell;
    int row = 0, model_at = -1, test_at = -1, rate_at = -1, backend_at = -1;
    while (!b->rc && jm_span_line(&rest, &line)) {
        struct test t = {0};
        struct jm_span cells[32];
        int n = 0;
        line = jm_span_trim(line);
        if (!jm_span_starts(line, JM_SPAN("|")))
            continue;
        line = jm_span_sub(line, 1, line.n);
        while (n < 32 && jm_span_field(&line, '|', &cell))
            cells[n++] = jm_span_trim(cell);
        if (rate_at < 0) {
            for (int i = 0; i < n; i++) {
                model_at = jm_span_is(cells[i], "model") ? i : model_at;
                test_at = jm_span_is(cells[i], "test") ? i : test_at;
                rate_at = jm_span_is(cells[i], "t/s") ? i : rate_at;
                backend_at = jm_span_is(cells[i], "backend") ? i : backend_at;
            }
            continue;
        }
        if (test_at < 0 || model_at < 0 || n <= rate_at || n <= test_at ||
            jm_span_starts(cells[0], JM_SPAN("---")) || jm_span_starts(cells[0], JM_SPAN(":-")))
            continue;
        struct jm_span test = cells[test_at], rate = cells[rate_at], part;
        ptrdiff_t pm = jm_span_find(rate, JM_SPAN("±"));
        ptrdiff_t at = jm_span_find(test, JM_SPAN("@ d"));
        if (at >= 0) {
            snprintf(t.v[DEPTH], sizeof t.v[0], "%.*s", (int)(test.n - (size_t)at - 3), test.p + at + 3);
            t.have[DEPTH] = true;
            test = jm_span_trim(jm_span_sub(test, 0, (size_t)at));
        }
        while (jm_span_field(&test, '+', &part)) {
            int key = jm_span_starts(part, JM_SPAN("pp"))   ? PROMPT
                      : jm_span_starts(part, JM_SPAN("tg")) ? GEN
                                                            : -1;
            if (key >= 0) {
                snprintf(t.v[key], sizeof t.v[0], "%.*s", (int)(part.n - 2 < 20 ? part.n - 2 : 20),
                         part.p + 2);
                t.have[key] = true;
            }
        }
        struct jm_span value = jm_span_trim(pm >= 0 ? jm_span_sub(rate, 0, (size_t)pm) : rate);
        snprintf(t.v[AVG_TS], sizeof t.v[0], "%.*s", (int)(value.n < 40 ? value.n : 40), value.p);
        t.have[AVG_TS] = true;
        if (pm >= 0) {
            value = jm_span_trim(jm_span_sub(rate, (size_t)pm + 2, rate.n));
            snprintf(t.v[STD_TS], sizeof t.v[0], "%.*s", (int)(value.n < 40 ? value.n : 40), value.p);
            t.have[STD_TS] = true;
        }
        snprintf(t.v[MODEL], sizeof t.v[0], "%.*s", (int)(cells[model_at].n < 90 ? cells[model_at].n : 90),
                 cells[model_at].p);
        t.have[MODEL] = true;
        if (backend_at >= 0) {
            snprintf(t.v[BACKENDS], sizeof t.v[0], "%.*s",
                     (int)(cells[backend_at].n < 90 ? cells[backend_at].n : 90), cells[backend_at].p);
            t.have[BACKENDS] = true;
        }
        if (++row && (!b->o->select || b->o->select == row))
            without_samples(b, &t, row);
    }
    if (!b->rc && !row)
        jm_build_fail(b, "%s holds no row of a test", b->f->path);
    return b->rc;
}

static int64_t date(const struct jm_ifile *f, const struct jm_jtoken *doc)
{
    struct jm_jtoken v = *doc, item;
    struct jm_jiter it;
    int64_t ns;
    bool zone;
    jm_jiter_init(&it, f, doc);
    if (doc->type == JM_J_ARRAY && jm_jiter_next(&it, NULL, &item, NULL) > 0)
        v = item;
    return jm_jmember(f, &v, "test_time", &v) && v.type == JM_J_STRING && jm_build_date(v.raw, &ns, &zone)
               ? ns
               : -1;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_build b;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    struct jm_span head = jm_span_trim(jm_span_sub(f.text, 0, 4096));
    bool json = head.n && (head.p[0] == '[' || head.p[0] == '{');
    bool md = head.n && head.p[0] == '|';
    if (json) {
        jm_ifile_close(&f);
        return jm_build_documents(kind, path, out, o, date, document, err);
    }
    jm_build_begin(&b, kind, &f, o, out, f.mtime_ns, err);
    jm_build_env(&b, "import.date_from", "modification time of the file");
    if (md)
        markdown(&b);
    else
        csv(&b);
    jm_build_missing(&b, "requests", "csv and md have no samples_ns (-o json has them)");
    rc = jm_build_end(&b);
    jm_ifile_close(&f);
    return rc;
}

const struct jm_importer jm_import_llama_bench = {
    .name = "llama-bench",
    .summary = "llama-bench of llama.cpp (-o json, jsonl, csv, md)",
    .reads = "A window a test, a request a repetition (samples_ns), so that tokens over time stands beside "
             "avg_ts, which is a "
             "mean of rates.",
    .lacks = "Time to the first token; csv and md have no repetitions. test_time is to the second.",
    .sniff = sniff,
    .import = import,
};
