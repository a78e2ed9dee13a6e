/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a page of docs/ from the program's own tables: gen-tables metrics|checks|meters|importers */
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "compute/compute.h"
#include "import/import.h"
#include "meter/meter.h"

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
    head("Checks", "the table in src/audit", "| id | what must hold | why it matters |",
         "| --- | --- | --- |");
    for (const struct jm_check *c = jm_check_table; c->id; c++) {
        printf("| `%s` |", c->id);
        cell(c->title);
        cell(c->why);
        putchar('\n');
    }
}

static void meters(void)
{
    head("Meters", "the registry in src/meter", "| meter | what it reads | boundary at best |",
         "| --- | --- | --- |");
    for (size_t i = 0; jm_meter_registry[i]; i++) {
        printf("| `%s` |", jm_meter_registry[i]->name);
        cell(jm_meter_registry[i]->summary);
        cell(jm_meter_registry[i]->boundary);
        putchar('\n');
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
