/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/span.h"
#include "mlperf/tables.h"
#include "model/mlperf_limits.h"

#include "base/banned.h"

static void copy(char *out, size_t n, struct jm_span s)
{
    if (n)
        snprintf(out, n, "%.*s", (int)(s.n < n ? s.n : n - 1), s.p ? s.p : "");
}

/* Fields of the next row of a table that begins at *rest; false: no more rows. */
static bool row(struct jm_span *rest, struct jm_span *c, size_t n)
{
    struct jm_span line;
    while (jm_span_line(rest, &line)) {
        if (!line.n || line.p[0] == '#')
            continue;
        size_t i = 0;
        while (i < n && jm_span_field(&line, '\t', &c[i]))
            i++;
        if (i == n)
            return true;
    }
    return false;
}

static bool in_round(const char *round, struct jm_span first, struct jm_span last)
{
    char a[8], b[8];
    copy(a, sizeof a, first);
    copy(b, sizeof b, last);
    return !round || jm_mlperf_round_in(round, a, b);
}

static bool among(struct jm_span list, struct jm_span name)
{
    struct jm_span one;
    while (list.p && jm_span_field(&list, ',', &one))
        if (jm_span_ieq(one, name))
            return true;
    return false;
}

static bool holds(const char *name, struct jm_span list)
{
    struct jm_span one;
    char part[32];
    if (jm_span_is(list, "-"))
        return false;
    while (jm_span_field(&list, ',', &one)) {
        copy(part, sizeof part, one);
        if (strcasestr(name, part))
            return true;
    }
    return false;
}

static bool ends(const char *s, size_t n, const char *suffix)
{
    size_t k = strlen(suffix);
    return n > k && strncasecmp(s + n - k, suffix, k) == 0;
}

/* The name without accuracy target and "-interactive"; "llama3_1" as "llama3.1". */
static struct jm_span plain(const char *name, char buf[64], bool *interactive)
{
    static const char *const targets[] = {"-99.9", "-99", "-95"};
    snprintf(buf, 64, "%s", name);
    size_t n = strlen(buf);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (ends(buf, n, targets[i])) {
            n -= strlen(targets[i]);
            break;
        }
    *interactive = ends(buf, n, "-interactive");
    if (*interactive)
        n -= strlen("-interactive");
    buf[n] = 0;
    if (strncasecmp(buf, "llama", 5) == 0)
        for (char *c = buf; *c; c++)
            if (*c == '_')
                *c = '.';
    return (struct jm_span){buf, n};
}

enum { MODEL, NAMES, HOLDS, FIRST, LAST, SAMPLES, COLUMNS, MAX_ROWS = 64 };

/* The rows of benchmarks.tsv that a round has. */
struct rows {
    struct jm_span c[MAX_ROWS][COLUMNS];
    size_t n;
};

static void of_round(const char *round, struct rows *t)
{
    struct jm_span rest = {(const char *)jm_mlperf_benchmarks_tsv, jm_mlperf_benchmarks_tsv_len};
    t->n = 0;
    while (t->n < MAX_ROWS && row(&rest, t->c[t->n], COLUMNS))
        t->n += in_round(round, t->c[t->n][FIRST], t->c[t->n][LAST]);
}

static void found(const char *name, struct jm_span model, struct jm_mlperf_benchmark *out)
{
    copy(out->name, sizeof out->name, jm_span_of(name));
    copy(out->model, sizeof out->model, model);
}

/* exact: no guess. */
static bool named(const struct rows *t, const char *name, bool exact, struct jm_mlperf_benchmark *out)
{
    char buf[64];
    bool interactive;
    struct jm_span want = plain(name, buf, &interactive);
    if (!want.n || strlen(name) >= sizeof out->name)
        return false;
    for (size_t i = 0; i < t->n; i++)
        if (jm_span_ieq(want, t->c[i][MODEL]) || among(t->c[i][NAMES], want)) {
            *out = (struct jm_mlperf_benchmark){.interactive = interactive};
            found(name, t->c[i][MODEL], out);
            return true;
        }
    for (size_t i = 0; !exact && i < t->n; i++)
        if (holds(name, t->c[i][HOLDS])) {
            *out = (struct jm_mlperf_benchmark){.guessed = true};
            found(name, t->c[i][MODEL], out);
            return true;
        }
    return false;
}

bool jm_mlperf_benchmark_named(const char *name, const char *round, struct jm_mlperf_benchmark *out)
{
    struct rows t;
    of_round(round, &t);
    return named(&t, name, false, out);
}

bool jm_mlperf_benchmark_of_log(const char *sut_name, double samples, const char *round,
                                struct jm_mlperf_benchmark *out)
{
    struct rows t;
    char buf[64], count[32];
    struct jm_span name = jm_span_of(sut_name);
    of_round(round, &t);
    if (jm_span_ends(name, JM_SPAN("-SUT"))) { /* "llama2-70b-Server-SUT" */
        snprintf(buf, sizeof buf, "%.*s", (int)(name.n < 64 ? name.n - 4 : 0), name.p);
        char *dash = strrchr(buf, '-');
        if (dash && jm_mlperf_claimed(dash + 1))
            *dash = 0;
        if (named(&t, buf, true, out))
            return true;
    }
    if (!(samples > 0) || samples > 1e9)
        return false;
    snprintf(count, sizeof count, "%.0f", samples);
    size_t at = 0, n = 0;
    for (size_t i = 0; i < t.n; i++)
        if (among(t.c[i][SAMPLES], jm_span_of(count))) {
            at = i;
            n++;
        }
    if (n != 1)
        return false;
    *out = (struct jm_mlperf_benchmark){.guessed = true};
    copy(out->name, sizeof out->name, t.c[at][MODEL]);
    copy(out->model, sizeof out->model, t.c[at][MODEL]);
    return true;
}

static bool parts(const struct rows *t, const char *folder, size_t len, bool exact,
                  struct jm_mlperf_benchmark *out)
{
    size_t start[32], n = 0;
    for (size_t i = 0; folder[i] && n < 32; i++)
        if (i == 0 || folder[i - 1] == '_')
            start[n++] = i;
    for (size_t i = 0; i + len <= n; i++) {
        char part[256];
        size_t to = i + len < n ? start[i + len] - 1 : strlen(folder);
        snprintf(part, sizeof part, "%.*s", (int)(to - start[i]), folder + start[i]);
        if (named(t, part, exact, out))
            return true;
    }
    return false;
}

/* A known name among the parts of a folder's name, which "_" parts: "v4.1_NVIDIA_H200_gptj-99_Offline". A
 * name may hold "_" itself ("llama3_1-8b"), so runs of parts are tried, the longest first; a guess takes one
 * part. */
static bool inside(const struct rows *t, const char *folder, struct jm_mlperf_benchmark *out)
{
    for (size_t len = 3; len >= 1; len--)
        if (parts(t, folder, len, true, out))
            return true;
    return parts(t, folder, 1, false, out);
}

bool jm_mlperf_benchmark_of(const char *path, const char *round, struct jm_mlperf_benchmark *out)
{
    char real[4096], *part[128];
    size_t n = 0;
    struct rows t, any;
    of_round(round, &t);
    char *abs = realpath(path, NULL);
    snprintf(real, sizeof real, "%s", abs ? abs : path);
    free(abs);
    for (char *p = real; n < 128 && p;) {
        char *slash = strchr(p, '/');
        if (slash)
            *slash++ = 0;
        if (*p)
            part[n++] = p;
        p = slash;
    }
    for (size_t i = n; i-- > 0;) {
        if (strcmp(part[i], "results") != 0 || i + 2 >= n)
            continue;
        if (named(&t, part[i + 2], false, out))
            return true;
        of_round(NULL, &any);
        if (named(&any, part[i + 2], false, out))
            return true;
        if (i + 3 >= n || !jm_mlperf_claimed(part[i + 3]))
            continue; /* some other folder of that name */
        *out = (struct jm_mlperf_benchmark){0};
        copy(out->name, sizeof out->name, jm_span_of(part[i + 2]));
        return true;
    }
    for (size_t i = n; i-- > 1;)
        if (jm_mlperf_claimed(part[i]) && named(&t, part[i - 1], false, out))
            return true;
    for (size_t i = n; i-- > 0;)
        if (inside(&t, part[i], out))
            return true;
    return false;
}

static bool override(const struct jm_mlperf_round *r, const char *model, const char *scenario,
                     struct jm_mlperf_metric *out)
{
    struct jm_span rest = {(const char *)jm_mlperf_performance_tsv, jm_mlperf_performance_tsv_len}, c[6];
    while (row(&rest, c, 6)) {
        if (!jm_span_is(c[0], model) || !jm_span_is(c[1], scenario) || !in_round(r->name, c[2], c[3]))
            continue;
        copy(out->key, sizeof out->key, c[4]);
        copy(out->unit, sizeof out->unit, c[5]);
        out->llm = jm_span_is(c[5], "Tokens/s");
        out->per = jm_span_is(c[5], "Latency (ms)") ? 1e6 : jm_span_is(c[5], "Latency (s)") ? 1e9 : 1;
        return true;
    }
    return false;
}

void jm_mlperf_metric_of(const struct jm_mlperf_round *r, const char *model, const char *scenario,
                         struct jm_mlperf_metric *out)
{
    const char *key = "", *unit = "";
    bool server = strcmp(scenario, "Server") == 0 || strcmp(scenario, "Interactive") == 0;
    *out = (struct jm_mlperf_metric){.per = 1};
    if (model[0] && override(r, model, server ? "Server" : scenario, out))
        return;
    if (strcmp(scenario, "Offline") == 0) {
        key = "result_samples_per_second";
        unit = "Samples/s";
    } else if (server) {
        key = r->completed ? "result_completed_samples_per_sec" : "result_scheduled_samples_per_sec";
        unit = "Queries/s";
    } else if (strcmp(scenario, "SingleStream") == 0) {
        key = r->early_stopping ? "early_stopping_latency_ss" : "result_90.00_percentile_latency_ns";
        unit = "Latency (ms)";
        out->per = 1e6;
    } else if (strcmp(scenario, "MultiStream") == 0 && r->legacy_multistream) {
        key = "effective_samples_per_query";
        unit = "Streams";
    } else if (strcmp(scenario, "MultiStream") == 0) {
        key =
            r->early_stopping ? "early_stopping_latency_ms" : "result_99.00_percentile_per_query_latency_ns";
        unit = "Latency (ms)";
        out->per = 1e6;
    }
    copy(out->key, sizeof out->key, jm_span_of(key));
    copy(out->unit, sizeof out->unit, jm_span_of(unit));
}
