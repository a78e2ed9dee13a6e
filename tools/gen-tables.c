/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a page of docs/ from the program's own tables: gen-tables
 * metrics|definitions|checks|meters|importers|engine-metrics|mlperf-rules */
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "compute/compute.h"
#include "compute/explain.h"
#include "engine/telemetry.h"
#include "import/import.h"
#include "wire/promdev.h"
#include "meter/instrument.h"
#include "meter/meter.h"
#include "meter/nvml.h"
#include "meter/survey.h"
#include "mlperf/official.h"

/* A cell of a Markdown table. */
static void cell(const char *text)
{
    fputs(" ", stdout);
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '|')
            putchar('\\');
        putchar(*p == '\n' ? ' ' : *p);
    }
    fputs(" |", stdout);
}

static void head(const char *title, const char *table, const char *columns, const char *rule)
{
    printf("# %s\n\nMade from %s by `make docs`; do not edit.\n\n%s\n%s\n", title, table, columns, rule);
}

static void metrics(void)
{
    head("Metrics", "the catalogue in src/compute",
         "| id | unit | formula | what it says | better | at a boundary | source | printed by |",
         "| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (const struct jm_metric *m = jm_metric_table; m->id; m++) {
        printf("| `%s` |", m->id);
        cell(m->unit);
        cell(m->formula);
        cell(m->help);
        cell(m->lower_is_better ? "lower" : "");
        cell(m->energy ? "yes" : "no");
        cell(m->source);
        cell(m->used_by);
        putchar('\n');
    }
}

/* Where tools use one word for different numbers. The rows of each family come from the program's own table.
 */
static void definitions(void)
{
    static const struct {
        const char *question, *answers;
    } disagree[] = {
        {"TPOT holds the first token and the prefill?",
         "guidellm: yes. inference-perf's NTPOT: yes. All others: no."},
        {"\"ITL\" is", "a gap between chunks (vLLM, SGLang, EvalScope); a mean a request (AIPerf, "
                       "GenAI-Perf, guidellm); a gap "
                       "between tokens, 0 inside a chunk (inference-perf, fmperf); with the time to the "
                       "first token (llmperf)"},
        {"A role-only chunk stops TTFT?",
         "vLLM, EvalScope: yes. SGLang, AIPerf, GenAI-Perf, guidellm, inference-perf, llmperf: no."},
        {"Reasoning stops TTFT?",
         "AIPerf, GenAI-Perf, guidellm, SGLang: yes. inference-perf, llmperf: no. AIPerf prints both."},
        {"A tool call stops TTFT?",
         "vLLM and EvalScope, as any chunk does; AIPerf and guidellm, since 2026. Most others: no."},
        {"A latency begins",
         "when the request goes out (all but MLPerf); when the schedule wanted it (MLPerf, joulemark)"},
        {"A latency ends with",
         "the last content (AIPerf); the last chunk with choices (vLLM); the usage (vLLM until 2025, "
         "EvalScope); "
         "[DONE] (SGLang); the end of the response (guidellm, inference-perf, llmperf)"},
        {"Output tokens are",
         "the server's usage (vLLM, guidellm, EvalScope); the client's tokenizer over the text (AIPerf, "
         "GenAI-Perf, llmperf, inference-perf's latencies); the length asked for (SGLang, where no usage "
         "comes)"},
        {"Throughput is over",
         "the whole wall time (vLLM, SGLang, llmperf, MLPerf); first request to last response (AIPerf, "
         "inference-perf, EvalScope); a measured window (guidellm, joulemark)"},
        {"Failed requests are", "out of everything but the time (vLLM); sets of their own (guidellm, "
                                "inference-perf); in the request "
                                "throughput (GenAI-Perf); not counted (SGLang)"},
        {"Success is",
         "one chunk (vLLM, EvalScope); HTTP 200 (SGLang); an end mark and a whole framing (joulemark)"},
        {"Goodput is over", "wall time (vLLM); first request to last response (AIPerf); the span, and the "
                            "count, of the successes "
                            "alone (inference-perf)"},
        {"A percentile is",
         "interpolated (numpy, pandas: vLLM, SGLang, AIPerf, inference-perf, llmperf); the first value whose "
         "share reaches q (guidellm, weighted by tokens); the value at floor(q n) (MLPerf)"},
        {"The energy is", "the counter's difference to 666 ms after the end, 0 after a reset (AIPerf); two "
                          "plain reads, left out "
                          "after a reset (vLLM); the lifetime counter (GenAI-Perf); all GPUs of the host "
                          "(CodeCarbon); the wall "
                          "(MLPerf)"},
    };
    puts(
        "# Definitions\n\nMade from the tables in src/compute by `make docs`; do not edit.\n\n"
        "The same word means another number in every tool. Here each number has an id of its own "
        "([metrics](metrics.md)), all of them are\ncomputed from one event log, and\n\n"
        "```\njoulemark show RUN --explain tpot\n```\n\n"
        "prints what each tool would have printed of that very run, with its clock, its requests, where its "
        "tokens come from, and why it is\nnot what we print. Any id of the catalogue can be asked for, or a "
        "family: ttft, tpot, itl, e2e, queue, throughput, requests, goodput,\ntokens, energy.\n\n"
        "- **Requests**: those scheduled in the measured windows, followed to their end, as if they were the "
        "whole run of the tool. Each tool has its\n  own rule for what a success is.\n"
        "- **Tokens**: where a tool counts with a tokenizer of its own, the server's count stands in and the "
        "number is marked ≈: same text, unknown\n  tokenizer. The length that was asked for stands in where "
        "a tool would have printed that.\n"
        "- **Stamps**: ours, by the kernel where it can. What a tool adds by being late is not in these "
        "numbers.\n"
        "- **Quantiles**: exact up to two million values of a number, beyond that from a histogram of 1.6 "
        "%.\n\n"
        "## Where they disagree\n\n| question | answers |\n| --- | --- |");
    for (size_t i = 0; i < sizeof disagree / sizeof disagree[0]; i++) {
        putchar('|');
        cell(disagree[i].question);
        cell(disagree[i].answers);
        putchar('\n');
    }
    for (const struct jm_family *f = jm_families; f->name; f++) {
        if (strcmp(f->name, "energy") == 0)
            continue;
        printf("\n## %s: %s\n\n| tool | its name | our id | from | to | requests | tokens | percentiles | "
               "remark |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
               f->name, f->title);
        for (const struct jm_peer_row *p = jm_peer_table; p->tool; p++) {
            char tool[96];
            if (strcmp(p->family, f->name) != 0)
                continue;
            snprintf(tool, sizeof tool, "%s%s%s%s", p->tool, p->version ? " (" : "",
                     p->version ? p->version : "", p->version ? ")" : "");
            putchar('|');
            cell(tool);
            cell(p->key);
            cell(p->metric);
            cell(p->from);
            cell(p->to);
            cell(p->kind == JM_PK_NONE ? "" : jm_peer_set_text(p->set));
            cell(jm_peer_tokens_text(p->tokens));
            cell(p->kind == JM_PK_REQUEST || p->kind == JM_PK_GAP ? jm_peer_quantile_text(p->quantile) : "");
            cell(p->why);
            putchar('\n');
        }
    }
}

static void check_rows(const struct jm_check *c)
{
    for (; c->id; c++) {
        printf("| `%s` |", c->id);
        cell(c->title);
        cell(c->why);
        putchar('\n');
    }
}

static void finding_rows(const struct jm_finding_kind *k)
{
    static const char *const concerns[] = {
        [JM_CONCERNS_ALL] = "every result",
        [JM_CONCERNS_ENERGY] = "results at a boundary",
        [JM_CONCERNS_RATIO] = "energy per token or request",
        [JM_CONCERNS_TOKENS] = "results that rest on token counts",
        [JM_CONCERNS_LOAD] = "all but plain energy and power",
        [JM_CONCERNS_ENGINE] = "what rests on the engine's own metrics",
    };
    for (; k->id; k++) {
        printf("| `%s` | `%s` |", k->id, k->check);
        cell(k->severity);
        cell(k->means);
        cell(concerns[k->concerns]);
        putchar('\n');
    }
}

static void checks(void)
{
    static const char columns[] = "| id | what must hold | why it matters |\n| --- | --- | --- |";
    head("Checks", "the tables in src/audit", "| id | what must hold | why it matters |",
         "| --- | --- | --- |");
    check_rows(jm_check_table);
    puts("\n## Of other tools' files\n\nWhat `joulemark audit FILE` and `show` ask of an imported file in "
         "addition: "
         "its claims and its requests.\n");
    puts(columns);
    check_rows(jm_foreign_check_table);
    puts("\n## Findings\n\nWhat a check can say. An error makes the results that it concerns invalid, a "
         "warning "
         "leaves them valid with findings,\nan info is for the reader. A finding of one window, boundary or "
         "device concerns only the results of that window, boundary\nor device.\n\n"
         "| finding | of check | severity | what was found | concerns |\n| --- | --- | --- | --- | --- |");
    finding_rows(jm_finding_table);
    finding_rows(jm_foreign_finding_table);
}

static void key_rows(const struct jm_opt *o)
{
    puts("| key | value | meaning | default |\n| --- | --- | --- | --- |");
    for (; o && o->name; o++) {
        if (!o->help)
            continue;
        const char *arg = o->type == JM_OPT_MAPS   ? (o->maps->single ? "mapping" : "list of mappings")
                          : o->type == JM_OPT_LIST ? "list"
                          : o->type == JM_OPT_FLAG ? "true or false"
                                                   : jm_opt_argname(o);
        printf("| `%s` |", o->name);
        cell(arg ? arg : "");
        cell(o->help);
        cell(o->deflt ? o->deflt : "");
        putchar('\n');
    }
}

static void instrument_keys(void)
{
    puts("# Keys of configured instruments\n\nMade from the option tables of src/meter by `make docs`; do "
         "not edit. "
         "What an instrument is and\nhow the file is written: [instruments.md](instruments.md).\n\n"
         "## Of every entry of `meters:`\n");
    key_rows(jm_instrument_keys);
    for (const struct jm_opt *o = jm_instrument_keys; o->name; o++)
        if (o->type == JM_OPT_MAPS) {
            printf("\n### In `%s`\n\n", o->name);
            key_rows(o->maps->table);
        }
    for (size_t i = 0; jm_meter_registry[i]; i++) {
        const struct jm_meter_ops *m = jm_meter_registry[i];
        if (!m->open_conf)
            continue;
        printf("\n## `meter: %s`\n\n%c%s.\n", m->name, m->summary[0] - (m->summary[0] >= 'a' ? 32 : 0),
               m->summary + 1);
        if (m->min_interval_ns)
            printf("Shortest `interval`: %g s; %s.\n", (double)m->min_interval_ns / 1e9,
                   m->why_interval ? m->why_interval : "it refreshes no faster");
        putchar('\n');
        if (m->opts)
            key_rows(m->opts);
        else
            puts("No keys of its own.");
        for (const struct jm_opt *o = m->opts; o && o->name; o++)
            if (o->type == JM_OPT_MAPS) {
                printf("\n### In `%s`\n\n", o->name);
                key_rows(o->maps->table);
            }
    }
}

/* Rules of MLPerf Power, a table a group: the word before the dot. */
static void mlperf_rules(void)
{
    static const char columns[] = "| id | rounds | breach | official check | what must hold | source |\n"
                                  "| --- | --- | --- | --- | --- | --- |";
    char group[64] = "";
    puts("# Rules of MLPerf Power\n\nMade from the table in src/mlperf/rule_table.c by `make docs`; do not "
         "edit.\n\n"
         "`joulemark mlperf check` says of each rule that it holds, that it is broken, or that there is "
         "nothing to "
         "look at. A breach\nfails, warns or is a note as its row says; where a rule became stricter, the "
         "session's "
         "round decides. \"Official check\" is\nthe number of the public power checker's check that looks at "
         "the "
         "same thing.");
    for (const struct jm_mlperf_rule *r = jm_mlperf_rule_table; r->id; r++) {
        size_t n = strcspn(r->id, ".");
        if (strncmp(group, r->id, n) != 0 || group[n]) {
            snprintf(group, sizeof group, "%.*s", (int)n, r->id);
            printf("\n## %s\n\n%s\n", group, columns);
        }
        printf("| `%s` | %s | %s |", r->id, r->rounds,
               jm_mlperf_verdict_name((enum jm_mlperf_verdict)r->severity));
        if (r->official)
            printf(" %d |", r->official);
        else
            fputs(" |", stdout);
        printf(" **%s.**", r->title);
        cell(r->text);
        cell(r->source);
        putchar('\n');
    }
    puts("\n## Revisions of the public checker\n\nWhat `--revision` takes, and what differs between them. "
         "Hashes "
         "of the sources each accepts: src/mlperf/sources.tsv.\n\n"
         "| revision | checker of | PTDaemon | clocks may differ by | releases of the workflow | source |\n"
         "| --- | --- | --- | --- | --- | --- |");
    for (const struct jm_mlperf_revision *r = jm_mlperf_revision_table; r->name; r++)
        printf("| `%s` | %s | %s | %.0f ms | %s | %s |\n", r->name, r->rounds, r->versions, r->tolerance_ms,
               r->sources, r->source);
}

/* The rule book of NVML's power queries, asked for well-known parts. */
static void nvml_meanings(void)
{
    static const struct {
        const char *part;
        unsigned arch;
        uint32_t device;
        int driver;
    } parts[] = {
        {"H100, H200, GH200", 9, 0x2330, 570},
        {"Ada, Ampere but GA100", 8, 0x26b9, 570},
        {"the same on driver 530", 8, 0x26b9, 530},
        {"A100, A30 (GA100)", 7, 0x20b2, 570},
        {"Turing", 6, 0x1e84, 570},
        {"Volta, Pascal", 5, 0x1db1, 570},
        {"Maxwell, Kepler", 3, 0x17fd, 470},
        {"Blackwell and later", 10, 0x2901, 580},
    };
    puts("\nWhat one value of NVML's power queries means (Yang et al., SC24, and nvml.h; "
         "`assumed`: not published, taken as Hopper's):\n\n"
         "| part | GetPowerUsage (nvidia-smi's power.draw) | field 185, average | field 186, instant |\n"
         "| --- | --- | --- | --- |");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        static const enum jm_nvml_query queries[] = {JM_NVML_Q_USAGE, JM_NVML_Q_AVERAGE, JM_NVML_Q_INSTANT};
        printf("| %s |", parts[i].part);
        for (size_t q = 0; q < 3; q++) {
            if (queries[q] == JM_NVML_Q_AVERAGE && (parts[i].arch < 7 || parts[i].device == 0x20b2)) {
                fputs(" not there |", stdout);
                continue;
            }
            struct jm_nvml_meaning m =
                jm_nvml_meaning(queries[q], parts[i].arch, parts[i].device << 16 | 0x10de, parts[i].driver);
            struct jm_channel c = {.kind = JM_CH_GAUGE,
                                   .unit = JM_U_W,
                                   .name = "power",
                                   .sem = m.sem,
                                   .window_ns = m.window_ns,
                                   .period_ns = m.period_ns};
            char text[64];
            printf(" %s%s |", jm_channel_meaning(&c, text),
                   strcmp(m.basis, "assumed") == 0 ? ", assumed" : "");
        }
        putchar('\n');
    }
}

static void meters(void)
{
    head("Meters", "the registry in src/meter",
         "| meter | what it reads | boundary at best | what it needs |", "| --- | --- | --- | --- |");
    for (size_t i = 0; jm_meter_registry[i]; i++) {
        printf("| `%s` |", jm_meter_registry[i]->name);
        cell(jm_meter_registry[i]->summary);
        cell(jm_meter_registry[i]->boundary);
        cell(jm_meter_registry[i]->needs);
        putchar('\n');
    }
    puts("\n`joulemark meters` shows which of them can be read here, and the command that mends what cannot. "
         "Every path and\n"
         "library can be set (`--sysfs-root`, `--proc-root`, `--dev-root`, `--nvml-lib`), so that each meter "
         "can be tried on a\n"
         "copy of another machine's files.");
    for (size_t i = 0; jm_meter_registry[i]; i++) {
        struct jm_span rest = jm_span_of(jm_meter_registry[i]->traps), line;
        printf("\n## %s\n\n", jm_meter_registry[i]->name);
        while (jm_span_line(&rest, &line))
            printf("- %.*s\n", (int)line.n, line.p);
        if (strcmp(jm_meter_registry[i]->name, "nvml") == 0)
            nvml_meanings();
    }
}

static void importers(void)
{
    head("Importers", "the table in src/import", "| importer | what it takes |", "| --- | --- |");
    for (size_t i = 0; jm_importers[i]; i++) {
        printf("| `%s` |", jm_importers[i]->name);
        cell(jm_importers[i]->summary);
        putchar('\n');
    }
    puts("\nA file is known by its content, not by its name; `--from NAME` says it where that fails. "
         "Requests come token "
         "by token where\nthe file holds them so, else as totals, and what is missing is named. Every number "
         "that the file "
         "states about itself is kept as\na *claim*: `joulemark show` puts it beside what the same code that "
         "computes own "
         "runs makes of the file's requests, and\n`joulemark audit FILE` says what is wrong with it. An "
         "energy that a file "
         "states is *declared*, never measured.\n\nA file that holds several benchmarks (JSON lines, a list) "
         "becomes a run "
         "with a window each; those of one plan are its\ntrials. `--select N` takes the N-th alone. Files "
         "without times get "
         "a window of their duration at their date.\n\n"
         "| importer | what is read | what the files cannot tell |\n| --- | --- | --- |");
    for (size_t i = 0; jm_importers[i]; i++) {
        if (!jm_importers[i]->reads)
            continue;
        printf("| `%s` |", jm_importers[i]->name);
        cell(jm_importers[i]->reads);
        cell(jm_importers[i]->lacks ? jm_importers[i]->lacks : "");
        putchar('\n');
    }
    puts("\n## Logs of devices\n\n"
         "A log of nvidia-smi, amd-smi, rocm-smi, hl-smi, dcgmi or Prometheus becomes a run with a channel "
         "for each quantity "
         "of each device\nand one window: the whole log, or the part between `--since` and `--until` (a time "
         "as in the log, or "
         "one from its beginning:\n`90s`). Nobody counted tokens, so no ratio is formed. A log without times "
         "needs "
         "`--interval`, where its tool has no default.\nStamps without a zone are taken as UTC. What one "
         "power value means "
         "follows from the architecture and the driver, as far as the\nlog names them. A word that stands "
         "for no value (`[N/A]`, "
         "`ERR!`, `[GPU is lost]`, DCGM's blanks) is no reading, and never 0.\n`joulemark audit FILE` tells "
         "what such logs "
         "are prone to: [checks](checks.md) `log.*` and `dcgm.cache`.\n\n"
         "Metrics of Prometheus that are known, as a shell pattern:\n\n"
         "| metric | what it is | in | domain | from | provenance |\n| --- | --- | --- | --- | --- | --- |");
    struct jm_promdev_row r;
    for (size_t i = 0; jm_promdev_row(i, &r); i++) {
        printf("| `%s` |", r.metric);
        cell(r.kind);
        cell(r.unit);
        cell(r.domain);
        cell(r.source);
        cell(r.provenance);
        putchar('\n');
    }
}

static void engines(void)
{
    static const char *const parts[] = {"", "_sum", "_count", "_bucket"};
    puts("# The engine's own metrics\n\nMade from the tables in src/engine by `make docs`; do not edit.\n\n"
         "`bench` looks for the metrics of the engine that it loads, where that engine usually has them, and "
         "keeps "
         "their texts in the run file. `--engine-metrics URL`\nnames them instead, once for each replica; "
         "`off` leaves "
         "them out. `record`, `run` and `idle` take the same option. That there is no answer is a\nfact of "
         "the run, "
         "with its reason, and never a failure.\n\n"
         "## What is kept, and when\n\n"
         "- A thread a source, with a deadline of 2 s: one that hangs delays nobody. At the edges of windows "
         "a whole "
         "text right before and right after the\n  edge; in between one a second, cut down to the lines that "
         "counters "
         "and gauges are read from (its first line says so). Asking takes at most\n  1/20 of the time. An "
         "hour of a "
         "200 kB text is some megabytes.\n"
         "- The texts are raw: `show` reads them again each time. `/slots` of llama.cpp shows prompts to "
         "whoever asks; "
         "only its numbers are kept.\n"
         "- A source that does not answer leaves a note with its reason in place of the text; the next try "
         "comes "
         "later and later, up to 10 s.\n"
         "- Beside them the CPU seconds of the host and of the endpoint's processes, where it runs on this "
         "machine.\n\n"
         "## How figures come from them\n\n"
         "- **Counters** only move forward: what is added up is how far each series moved. A decrease, a "
         "younger "
         "`_created` or a younger\n  `process_start_time_seconds` is a restart: what follows is a lower "
         "bound, and an "
         "error of the window. A label value that is new began at 0.\n"
         "- **Edges**: a counter at an edge lies between the last text before it and the first one after it. "
         "It is "
         "interpolated between them, and both are\n  its bounds, which stand beside the value.\n"
         "- **Per step before per request**: where an engine counts tokens as they are made, that count is "
         "taken; it "
         "holds the tokens of aborted requests, and\n  `j_per.engine_token` divides by it. Where it counts "
         "at the end "
         "of a request, it is held against the requests that ended in the window, and\n  there is no energy "
         "per engine "
         "token.\n"
         "- **Replicas** (other labels, other sources) are added up; ranks of one replica are not; shares "
         "are a mean. "
         "A series that stands twice counts once.\n"
         "- **Gauges** are means over time by the trapezoid, stretches of more than 3 s without a text left "
         "out.\n"
         "- **Histograms** tell in which bucket a quantile lies: those edges are its interval.\n"
         "- The type is what `# TYPE` says, never what a name ends with; `:` and `_` in names are alike. "
         "Gauges that "
         "begin again at each scrape are never read.\n\n"
         "Metrics `engine.*` are in the [catalogue](metrics.md), the checks `engine.*` in "
         "[checks](checks.md), how to add "
         "an engine in\n[add an engine](contributing/add-an-engine.md).\n");
    for (size_t d = 0; jm_engine_dialects[d]; d++) {
        const struct jm_engine_dialect *e = jm_engine_dialects[d];
        printf("## %s (`%s`)\n\nAt `%s`", e->title, e->name, e->paths);
        if (e->enable)
            printf(", with %s", e->enable);
        printf(". Source: %s.\n\n", e->source);
        for (size_t i = 0; e->traps[i]; i++)
            printf("- %s\n", e->traps[i]);
        if (e->ranks)
            printf("- not added up: copies with another %s\n", e->ranks);
        if (strcmp(e->name, "joulemark-sim") == 0) {
            puts("");
            continue;
        }
        puts("\n| quantity | family | of it | note |\n| --- | --- | --- | --- |");
        for (const struct jm_engine_map *m = e->map; m->name; m++) {
            char of[160];
            putchar('|');
            cell(jm_eq_name((int)m->q));
            printf(" `%s%s` |", m->name, parts[m->part]);
            snprintf(of, sizeof of, "%s%s%s", m->label ? m->label : "", m->label && m->rank ? "; " : "",
                     m->rank ? "where the one above is missing" : "");
            cell(of);
            cell(m->note);
            putchar('\n');
        }
        puts("");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } pages[] = {{"metrics", metrics},
                 {"definitions", definitions},
                 {"checks", checks},
                 {"meters", meters},
                 {"importers", importers},
                 {"engine-metrics", engines},
                 {"mlperf-rules", mlperf_rules},
                 {"instrument-keys", instrument_keys}};
    for (size_t i = 0; argc == 2 && i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(argv[1], pages[i].name) == 0) {
            pages[i].write();
            return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 4;
        }
    }
    fprintf(stderr,
            "usage: gen-tables metrics|definitions|checks|meters|importers|engine-metrics|mlperf-rules|"
            "instrument-keys\n");
    return 2;
}
