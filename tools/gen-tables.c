/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a page of docs/ from the program's own tables: gen-tables metrics|checks|meters|importers */
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "compute/compute.h"
#include "import/import.h"
#include "meter/meter.h"
#include "meter/nvml.h"
#include "meter/survey.h"

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
         "| id | unit | formula | what it says | better | at a boundary | source |",
         "| --- | --- | --- | --- | --- | --- | --- |");
    for (const struct jm_metric *m = jm_metric_table; m->id; m++) {
        printf("| `%s` |", m->id);
        cell(m->unit);
        cell(m->formula);
        cell(m->help);
        cell(m->lower_is_better ? "lower" : "");
        cell(m->energy ? "yes" : "no");
        cell(m->source);
        putchar('\n');
    }
}

static void checks(void)
{
    static const char *const concerns[] = {
        [JM_CONCERNS_ALL] = "every result",
        [JM_CONCERNS_ENERGY] = "results at a boundary",
        [JM_CONCERNS_RATIO] = "energy per token or request",
        [JM_CONCERNS_TOKENS] = "results that rest on token counts",
        [JM_CONCERNS_LOAD] = "all but plain energy and power",
    };
    head("Checks", "the tables in src/audit", "| id | what must hold | why it matters |",
         "| --- | --- | --- |");
    for (const struct jm_check *c = jm_check_table; c->id; c++) {
        printf("| `%s` |", c->id);
        cell(c->title);
        cell(c->why);
        putchar('\n');
    }
    puts("\n## Findings\n\nWhat a check can say. An error makes the results that it concerns invalid, a "
         "warning "
         "leaves them valid with findings,\nan info is for the reader. A finding of one window, boundary or "
         "device concerns only the results of that window, boundary\nor device.\n\n"
         "| finding | of check | severity | what was found | concerns |\n| --- | --- | --- | --- | --- |");
    for (const struct jm_finding_kind *k = jm_finding_table; k->id; k++) {
        printf("| `%s` | `%s` |", k->id, k->check);
        cell(k->severity);
        cell(k->means);
        cell(concerns[k->concerns]);
        putchar('\n');
    }
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
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } pages[] = {{"metrics", metrics}, {"checks", checks}, {"meters", meters}, {"importers", importers}};
    for (size_t i = 0; argc == 2 && i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(argv[1], pages[i].name) == 0) {
            pages[i].write();
            return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 4;
        }
    }
    fprintf(stderr, "usage: gen-tables metrics|checks|meters|importers\n");
    return 2;
}
