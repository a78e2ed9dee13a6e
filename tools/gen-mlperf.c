/* SPDX-License-Identifier: Apache-2.0 */
/* Writes docs/mlperf-rounds.md from the tables of MLPerf: gen-mlperf rounds */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "import/mlperf_round.h"
#include "model/analyzer.h"
#include "mlperf/tables.h"
#include "model/mlperf_limits.h"

static void cell(struct jm_span s)
{
    putchar(' ');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '|')
            putchar('\\');
        putchar(s.p[i]);
        if (s.p[i] == ',' && i + 1 < s.n && s.p[i + 1] != ' ')
            putchar(' ');
    }
    fputs(" |", stdout);
}

static void word(const char *s)
{
    printf(" %s |", s);
}

static void rounds(void)
{
    struct jm_mlperf_round r;
    puts("| round | results | stamps | left out of the mean | unit of streams | streams divide by | "
         "MultiStream | "
         "samples/J | Server counts | latency of streams |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (size_t i = 0; jm_mlperf_round_at(i, &r); i++) {
        struct jm_civil c = jm_time_civil(r.published_s);
        printf("| %s |", r.name);
        if (r.published_s == INT64_MAX)
            word("open");
        else
            printf(" %04d-%02d-%02d |", c.year, c.month, c.day);
        word(r.local_time ? "local: add \"timezone\"" : "UTC");
        word(r.drop_nonpositive ? "0 W and less" : "nothing");
        word(r.millijoules ? "mJ" : "J");
        word(r.legacy_count ? "estimated queries or samples" : "`result_query_count`");
        word(r.legacy_multistream ? "streams" : "queries of 8, may be inferred");
        word(r.efficiency ? "yes" : "no");
        word(r.completed ? "completed" : "scheduled");
        word(r.early_stopping ? "early stopping" : "percentile");
        putchar('\n');
    }
    puts("\n| round | power checker | clocks apart at most | above 1 % uncertainty | PTDaemon | device types "
         "| LoadGen at "
         "least |\n| --- | --- | --- | --- | --- | --- | --- |");
    for (size_t i = 0; jm_mlperf_round_at(i, &r); i++) {
        printf("| %s | %s | %lld ms | %s |", r.name, r.checker, (long long)r.tolerance_ms,
               r.uncertainty_is_error ? "error" : "warning");
        cell(r.ptd);
        cell(r.devices);
        printf(" %lld s |\n", (long long)(r.min_duration_ms / 1000));
    }
    jm_mlperf_round_at(0, &r);
    fputs("\nFiles of every round: in run_1 and ranging", stdout);
    printf(" %.*s; in power %.*s.\n\nSources:\n\n", (int)r.run_files.n, r.run_files.p, (int)r.power_files.n,
           r.power_files.p);
    for (size_t i = 0; jm_mlperf_round_at(i, &r); i++)
        printf("- %s: %.*s\n", r.name, (int)r.source.n, r.source.p);
}

static void milliseconds(double s)
{
    if (isnan(s))
        word("");
    else
        printf(" %g ms |", 1000 * s);
}

static void limits(void)
{
    struct jm_mlperf_limits m;
    puts("\n## Limits of latency\n\nOf the LLM benchmarks, at the 99 % percentile, in Server and "
         "Interactive. A name that "
         "ends with -interactive is the stricter\nsetting: a benchmark of v5.0, the scenario Interactive "
         "from v5.1 on.\n\n"
         "| benchmark | rounds | first token | per output token | whole | source |\n"
         "| --- | --- | --- | --- | --- | --- |");
    for (size_t i = 0; jm_mlperf_limits_at(i, &m); i++) {
        printf("| %s | %s to %s |", m.benchmark, m.first, m.last[0] ? m.last : "now");
        milliseconds(m.ttft_s);
        milliseconds(m.tpot_s);
        milliseconds(m.e2e_s);
        word(m.source);
        putchar('\n');
    }
}

/* A table of tabs as it stands; its comments but the last, which names the columns, are left out. */
static void tabs(const unsigned char *text, size_t len, const char *columns, const char *rule)
{
    struct jm_span rest = {(const char *)text, len}, line, one;
    printf("%s\n%s\n", columns, rule);
    while (jm_span_line(&rest, &line)) {
        if (!line.n || line.p[0] == '#')
            continue;
        putchar('|');
        while (jm_span_field(&line, '\t', &one))
            cell(jm_span_is(one, "-") ? (struct jm_span){0} : one);
        putchar('\n');
    }
}

static void analyzers(void)
{
    struct jm_analyzer m;
    puts("\n## Analyzers\n\nLimits of active power: reading + range, the range times P/S where it says so, + "
         "tan(phi) times "
         "the influence of the power\nfactor. A model without numbers gives no interval.\n\n"
         "| model | device types | reading | range | times P/S | influence | band | source |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (size_t i = 0; jm_analyzer_at(i, &m); i++) {
        printf("| %s |", m.model);
        cell(m.devices);
        if (m.known)
            printf(" %g %% | %g %% | %s | %g %% |", 100 * m.reading, 100 * m.range, m.by_s ? "yes" : "no",
                   100 * m.influence);
        else
            fputs(" not known | | | |", stdout);
        cell(m.band);
        cell(m.source);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "rounds") != 0) {
        fputs("usage: gen-mlperf rounds\n", stderr);
        return 2;
    }
    puts("# Rounds of MLPerf Inference\n\nMade from src/import/mlperf_rounds.tsv, "
         "src/model/mlperf_limits.tsv, src/model/analyzers.tsv and the tables in "
         "src/mlperf by `make docs`; do not edit.\n\nWhat differs between the rounds when power is read, "
         "computed and "
         "checked. A session's round is the one that `--as-round` gives,\nelse the one that a folder of its "
         "path is named after "
         "(`inference_results_v4.1`, `v4.1_...`), else the first one whose results\ncame after the run.\n");
    rounds();
    limits();
    puts("\n## Performance metrics\n\nOf the benchmarks that report another one than their scenario's "
         "(samples/s of Offline, "
         "queries/s of Server, latency of\nstreams).\n");
    tabs(jm_mlperf_performance_tsv, jm_mlperf_performance_tsv_len,
         "| benchmark | scenario | from | to | key | unit |", "| --- | --- | --- | --- | --- | --- |");
    puts("\n## Names of benchmarks\n\n-99 and -99.9 at the end of a name are accuracy targets and no part of "
         "it.\n");
    tabs(jm_mlperf_benchmarks_tsv, jm_mlperf_benchmarks_tsv_len,
         "| benchmark | other names | taken for it where a name holds | from | to | samples |",
         "| --- | --- | --- | --- | --- | --- |");
    analyzers();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 4;
}
