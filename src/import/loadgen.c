/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of MLPerf LoadGen without power: mlperf_log_detail.txt, or the folder that holds it (with
 * performance/run_1/ or without); mlperf_log_summary.txt where it is alone. LoadGen writes statistics and no
 * requests: its result_* entries are claims. First-token latencies count from the scheduled time. A folder
 * with spl.txt is a power session, which the mlperf importer takes. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "import/build.h"
#include "import/probe.h"
#include "wire/loadgen_log.h"
#include "wire/spl.h"

#include "base/banned.h"

static const char scheduled[] = "from the scheduled time";

static bool find(const char *path, bool dir, char out[4096], bool *power)
{
    static const char *const below[] = {"/performance/run_1", "/run_1", ""};
    struct stat st;
    char spl[4200];
    *power = false;
    if (!dir) {
        snprintf(out, 4096, "%s", path);
        return true;
    }
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        snprintf(out, 4096, "%s%s/mlperf_log_detail.txt", path, below[i]);
        if (stat(out, &st) != 0)
            continue;
        snprintf(spl, sizeof spl, "%s%s/spl.txt", path, below[i]);
        *power = stat(spl, &st) == 0;
        return true;
    }
    *power = false;
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        snprintf(out, 4096, "%s%s/mlperf_log_summary.txt", path, below[i]);
        if (stat(out, &st) == 0)
            return true;
    }
    return false;
}

static bool is_summary(struct jm_span text)
{
    return jm_span_find(jm_span_sub(text, 0, 4096), JM_SPAN("MLPerf Results Summary")) >= 0;
}

static int sniff(const struct jm_probe *p)
{
    char log[4096];
    bool power;
    if (p->dir)
        return find(p->path, true, log, &power) && !power ? 80 : 0;
    if (p->f && jm_span_starts(p->line, JM_SPAN("=====")) && is_summary(p->f->text))
        return 90;
    return jm_span_starts(p->line, JM_SPAN(":::MLLOG")) || jm_span_starts(p->line, JM_SPAN(":::MLPv")) ? 95
                                                                                                       : 0;
}

struct log {
    struct jm_build *b;
    int64_t begin, end;
    int kept;
    bool claims; /* the second pass */
};

/* "result_first_token_99.90_percentile_latency_ns" -> ttft, p99.9 */
static bool known(struct jm_span key, const char **metric, char stat[16], const char **unit)
{
    static const struct {
        const char *head, *tail, *metric;
    } timed[] = {{"result_first_token_", "_latency_ns", "ttft"},
                 {"result_time_per_output_token_", "_ns", "tpot.excl_first"},
                 {"result_time_to_output_token_", "", "tpot.excl_first"},
                 {"result_", "_latency_ns", "e2e"}};
    static const struct {
        const char *key, *metric, *unit;
    } plain[] = {{"result_completed_tokens_per_second", "tokens_per_s", "tokens/s"},
                 {"result_tokens_per_second", "tokens_per_s", "tokens/s"},
                 {"result_completed_samples_per_sec", "samples_per_s", "samples/s"},
                 {"result_samples_per_second", "samples_per_s", "samples/s"},
                 {"result_query_count", "requests.ok", ""}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (jm_span_is(key, plain[i].key)) {
            *metric = plain[i].metric;
            *unit = plain[i].unit;
            stat[0] = '\0';
            return true;
        }
    for (size_t i = 0; i < sizeof timed / sizeof timed[0]; i++) {
        struct jm_span head = jm_span_of(timed[i].head), tail = jm_span_of(timed[i].tail), word;
        char p[24];
        if (!jm_span_starts(key, head) || !jm_span_ends(key, tail) || key.n <= head.n + tail.n)
            continue;
        word = jm_span_sub(key, head.n, key.n - head.n - tail.n);
        if (jm_span_ends(word, JM_SPAN("_percentile"))) {
            snprintf(p, sizeof p, "p%.*s", (int)(word.n - 11 < 16 ? word.n - 11 : 16), word.p);
            word = jm_span_of(p);
        }
        if (!jm_build_stat(word, stat))
            continue;
        *metric = timed[i].metric;
        *unit = "ns";
        return true;
    }
    return false;
}

static int on_entry(void *self, const struct jm_loadgen_entry *e)
{
    struct log *l = self;
    struct jm_build *b = l->b;
    char key[96], stat[16];
    const char *metric, *unit;
    if (jm_span_is(e->key, "power_begin") && l->begin < 0)
        jm_spl_time(e->text, &l->begin);
    else if (jm_span_is(e->key, "power_end") && l->end < 0)
        jm_spl_time(e->text, &l->end);
    if (!l->claims || b->rc)
        return b->rc;
    if (!e->text.n || e->text.n > 400 || e->key.n > 80 || l->kept > 4000)
        return 0;
    l->kept++;
    snprintf(key, sizeof key, "loadgen.%.*s", (int)e->key.n, e->key.p);
    jm_build_env(b, key, "%.*s", (int)e->text.n, e->text.p);
    if (e->is_number && known(e->key, &metric, stat, &unit))
        jm_build_claim(b, key + 8, metric, stat, e->number, unit,
                       strcmp(metric, "ttft") == 0 || strcmp(metric, "e2e") == 0 ? scheduled : "");
    return b->rc;
}

/* result_99.00_percentile_first_token_latency_ns of a summary is
 * result_first_token_99.00_percentile_latency_ns in the log; the same for the time to each output token. */
static void per_token(char *key, size_t room)
{
    static const char *const turned[][3] = {
        {"_first_token_latency_ns", "result_first_token_", "_latency_ns"},
        {"_time_to_output_token_ns", "result_time_per_output_token_", "_ns"},
        {"_time_per_output_token_ns", "result_time_per_output_token_", "_ns"}};
    struct jm_span k = jm_span_of(key), head = JM_SPAN("result_");
    for (size_t i = 0; i < sizeof turned / sizeof turned[0]; i++) {
        struct jm_span tail = jm_span_of(turned[i][0]);
        char word[64];
        if (!jm_span_starts(k, head) || !jm_span_ends(k, tail) || k.n <= head.n + tail.n)
            continue;
        snprintf(word, sizeof word, "%.*s", (int)(k.n - head.n - tail.n), key + head.n);
        snprintf(key, room, "%s%s%s", turned[i][1], word, turned[i][2]);
        return;
    }
}

/* A line of the summary as the entry of the log that it repeats: "99.00 percentile latency (ns) : 12" is
 * result_99.00_percentile_latency_ns. The parameters of the test stand behind it as they are. */
static void summary(struct log *l, struct jm_span text)
{
    static const char *const renamed[][2] = {
        {"Samples per second", "result_samples_per_second"},
        {"Scheduled samples per second", "result_scheduled_samples_per_sec"},
        {"Completed samples per second", "result_completed_samples_per_sec"},
        {"Tokens per second", "result_tokens_per_second"},
        {"Completed tokens per second", "result_completed_tokens_per_second"},
        {"Result is", "result_validity"},
        {"SUT name", "sut_name"},
        {"Scenario", "effective_scenario"},
        {"Mode", "effective_test_mode"}};
    struct jm_span rest = text, line, k, v;
    bool parameters = false;
    while (!l->b->rc && jm_span_line(&rest, &line)) {
        char key[96];
        size_t n = 0;
        struct jm_loadgen_entry e = {.is_number = false};
        parameters |= jm_span_find(line, JM_SPAN("Test Parameters Used")) >= 0;
        if (!jm_loadgen_summary_line(line, &k, &v) || !k.n || k.n > 80)
            continue;
        const char *known_as = NULL;
        for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
            if (jm_span_is(k, renamed[i][0]))
                known_as = renamed[i][1];
        if (!parameters && !known_as)
            n = (size_t)snprintf(key, sizeof key, "result_");
        if (known_as)
            n = (size_t)snprintf(key, sizeof key, "%s", known_as);
        for (size_t i = 0; i < k.n && !known_as && n + 1 < sizeof key; i++) {
            char ch = k.p[i];
            if (ch >= 'A' && ch <= 'Z' && !parameters)
                ch = (char)(ch + 32);
            if (ch == '(' || ch == ')')
                continue;
            key[n++] = ch == ' ' ? '_' : ch;
        }
        key[n] = '\0';
        if (!known_as && !parameters)
            per_token(key, sizeof key);
        e.key = jm_span_of(key);
        e.text = v;
        e.is_number = jm_num_double(v, &e.number) == 0;
        on_entry(l, &e);
    }
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    char log[4096];
    struct stat st;
    struct jm_ifile f;
    struct jm_build b;
    int64_t broken;
    bool power;
    bool dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (!find(path, dir, log, &power))
        return jm_err_set(err, JM_EABSENT, "%s holds no mlperf_log_detail.txt", path);
    int rc = jm_ifile_open(log, &f, err);
    if (rc)
        return rc;
    struct log l = {.b = &b, .begin = -1, .end = -1};
    b = (struct jm_build){.err = err};
    bool brief = is_summary(f.text);
    broken = 0;
    rc = brief ? 0 : jm_loadgen_detail(f.text, on_entry, &l, &broken, err);
    bool dated = l.begin >= 0 && l.end > l.begin;
    if (!rc)
        rc = jm_build_begin(&b, "mlperf-loadgen", &f, o, out, dated ? l.begin : f.mtime_ns, err);
    if (!rc) {
        jm_build_window(&b, 0, "loadgen", dated ? l.begin : f.mtime_ns, dated ? l.end - l.begin : 0);
        jm_build_times(&b,
                       dated ? "power_begin to power_end, local time taken as UTC" : "the log does not say");
        l.claims = true;
        if (brief)
            summary(&l, f.text);
        else
            jm_loadgen_detail(f.text, on_entry, &l, &broken, err);
        if (!dated)
            jm_build_missing(&b, "duration", "the log does not say how long it took");
        if (broken)
            jm_build_env(&b, "import.unreadable", "%lld lines", (long long)broken);
        if (!l.kept)
            jm_build_fail(&b, "%s holds no entry of LoadGen", log);
        jm_build_missing(&b, "requests", "LoadGen's log holds statistics only");
        jm_build_missing(&b, "energy", "there is no power log beside it");
        rc = jm_build_end(&b);
    }
    jm_ifile_close(&f);
    return rc;
}

const struct jm_importer jm_import_loadgen = {
    .name = "loadgen",
    .summary =
        "MLPerf LoadGen logs without power (mlperf_log_detail.txt or its folder, mlperf_log_summary.txt)",
    .reads = "TTFT, TPOT, latency and tokens/s of LoadGen as claims, every entry into the environment.",
    .lacks = "Requests; the energy.",
    .sniff = sniff,
    .import = import,
};
