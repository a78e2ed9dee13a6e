/* SPDX-License-Identifier: Apache-2.0 */
/* The man page and docs/commands.md, from the same rows as --help. */
#include <string.h>

#include "cli/cli.h"

#include "base/banned.h"

/* roff: a backslash, a hyphen and a line that begins with a control character are special. */
static void roff(struct jm_str *out, const char *text, bool at_line_start)
{
    for (; *text; text++) {
        if (at_line_start && (*text == '.' || *text == '\''))
            jm_str_adds(out, "\\&");
        at_line_start = *text == '\n';
        switch (*text) {
        case '\\': jm_str_adds(out, "\\e"); break;
        case '-': jm_str_adds(out, "\\-"); break;
        case '"': jm_str_adds(out, "\\(dq"); break;
        case '\n':
            jm_str_adds(out, text[1] == '\n' ? "\n.PP\n" : "\n");
            text += text[1] == '\n';
            break;
        default: jm_str_addc(out, *text);
        }
    }
}

static void roff_options(struct jm_str *out, const struct jm_opt *o)
{
    for (; o->name; o++) {
        if (!o->help)
            continue;
        const char *arg = jm_opt_argname(o);
        jm_str_adds(out, ".TP\n");
        if (o->shortname)
            jm_str_addf(out, "\\fB\\-%c\\fR, ", o->shortname);
        jm_str_adds(out, "\\fB\\-\\-");
        roff(out, o->name, false);
        jm_str_adds(out, "\\fR");
        if (arg) {
            jm_str_adds(out, " \\fI");
            roff(out, arg, false);
            jm_str_adds(out, "\\fR");
        }
        jm_str_addc(out, '\n');
        roff(out, o->help, true);
        if (o->deflt) {
            jm_str_adds(out, " Default: ");
            roff(out, o->deflt, false);
            jm_str_addc(out, '.');
        }
        jm_str_addc(out, '\n');
    }
}

static void roff_examples(struct jm_str *out, const char *text)
{
    struct jm_span rest = jm_span_of(text), line;
    while (jm_span_line(&rest, &line)) {
        ptrdiff_t at = jm_span_find(line, JM_SPAN(" # "));
        char buf[512];
        size_t n = at < 0 ? line.n : (size_t)at;
        if (n >= sizeof buf || line.n >= sizeof buf)
            continue;
        memcpy(buf, line.p, n);
        buf[n] = '\0';
        jm_str_adds(out, ".TP\n\\fB");
        roff(out, buf, false);
        jm_str_adds(out, "\\fR\n");
        if (at >= 0) {
            memcpy(buf, line.p + at + 3, line.n - n - 3);
            buf[line.n - n - 3] = '\0';
            roff(out, buf, true);
        }
        jm_str_addc(out, '\n');
    }
}

void jm_help_man(struct jm_str *out)
{
    jm_str_adds(out,
                ".TH JOULEMARK 1 \"\" \"joulemark " JM_VERSION "\" \"User Commands\"\n.SH NAME\n"
                "joulemark \\- measure the energy of LLM inference\n.SH SYNOPSIS\n"
                ".B joulemark\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n.SH DESCRIPTION\n"
                "Joules per token at a named boundary, with uncertainty and validity beside every number.\n"
                "A run file holds everything that was observed; every number is computed from it again.\n"
                ".SH COMMANDS\n");
    for (const struct jm_cmd *const *c = jm_cmd_table; *c; c++) {
        if ((*c)->flags & JM_CMD_HIDDEN)
            continue;
        jm_str_addf(out, ".SS joulemark %s ", (*c)->name);
        roff(out, (*c)->usage, false);
        jm_str_addc(out, '\n');
        roff(out, (*c)->summary, true);
        jm_str_adds(out, ".\n");
        if ((*c)->description) {
            jm_str_adds(out, ".PP\n");
            roff(out, (*c)->description, true);
            jm_str_addc(out, '\n');
        }
        if ((*c)->opts)
            roff_options(out, (*c)->opts);
        if ((*c)->examples)
            roff_examples(out, (*c)->examples);
    }
    jm_str_adds(out, ".SH EXIT STATUS\n");
    for (const struct jm_exit_row *e = jm_exit_table; e->status >= 0; e++) {
        jm_str_addf(out, ".TP\n.B %d\n", e->status);
        roff(out, e->help, true);
        jm_str_addc(out, '\n');
    }
    jm_str_adds(out, ".SH ENVIRONMENT\n");
    for (const struct jm_env_row *e = jm_env_table; e->name; e++) {
        jm_str_adds(out, ".TP\n.B ");
        roff(out, e->name, false);
        jm_str_addc(out, '\n');
        roff(out, e->help, true);
        jm_str_addc(out, '\n');
    }
}

/* A cell of a table: no line end, no bar. */
static void cell(struct jm_str *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            jm_str_addc(out, '\\');
        jm_str_addc(out, *text == '\n' ? ' ' : *text);
    }
}

static void markdown_options(struct jm_str *out, const struct jm_opt *o)
{
    jm_str_adds(out, "\n| option | meaning | default |\n| --- | --- | --- |\n");
    for (; o->name; o++) {
        if (!o->help)
            continue;
        const char *arg = jm_opt_argname(o);
        jm_str_adds(out, "| `");
        if (o->shortname)
            jm_str_addf(out, "-%c`, `", o->shortname);
        jm_str_addf(out, "--%s", o->name);
        if (arg) {
            jm_str_addc(out, ' ');
            cell(out, arg);
        }
        jm_str_adds(out, "` | ");
        cell(out, o->help);
        jm_str_adds(out, " | ");
        cell(out, o->deflt ? o->deflt : "");
        jm_str_adds(out, o->deflt ? " |\n" : "|\n");
    }
}

void jm_help_markdown(struct jm_str *out)
{
    jm_str_adds(
        out, "# Commands\n\nMade by `joulemark help --markdown` from the table of commands; do not edit.\n\n"
             "| command | what it does |\n| --- | --- |\n");
    for (const struct jm_cmd *const *c = jm_cmd_table; *c; c++)
        if (!((*c)->flags & JM_CMD_HIDDEN)) {
            jm_str_addf(out, "| [`%s`](#joulemark-", (*c)->name);
            for (const char *p = (*c)->name; *p; p++)
                jm_str_addc(out, *p == ' ' ? '-' : *p); /* as renderers make the anchor of a heading */
            jm_str_adds(out, ") | ");
            cell(out, (*c)->summary);
            jm_str_adds(out, " |\n");
        }
    for (const struct jm_cmd *const *c = jm_cmd_table; *c; c++) {
        if ((*c)->flags & JM_CMD_HIDDEN)
            continue;
        jm_str_addf(out, "\n## joulemark %s\n\n%s.\n\n```\njoulemark %s%s%s\n```\n", (*c)->name,
                    (*c)->summary, (*c)->name, (*c)->usage[0] ? " " : "", (*c)->usage);
        if ((*c)->description)
            jm_str_addf(out, "\n%s\n", (*c)->description);
        if ((*c)->opts)
            markdown_options(out, (*c)->opts);
        if ((*c)->examples)
            jm_str_addf(out, "\n```sh\n%s\n```\n", (*c)->examples);
    }
    jm_str_adds(out, "\n## Exit status\n\n| status | meaning |\n| --- | --- |\n");
    for (const struct jm_exit_row *e = jm_exit_table; e->status >= 0; e++)
        jm_str_addf(out, "| %d | %s |\n", e->status, e->help);
    jm_str_adds(out, "\n`joulemark run` passes on the status of the program it runs: see there.\n"
                     "\n## Environment\n\n| variable | meaning |\n| --- | --- |\n");
    for (const struct jm_env_row *e = jm_env_table; e->name; e++)
        jm_str_addf(out, "| `%s` | %s |\n", e->name, e->help);
}
