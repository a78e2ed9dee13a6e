/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"

#include "base/banned.h"

static const char intro[] =
    "joulemark measures the energy of LLM inference: joules per token at a named boundary, with "
    "uncertainty and validity beside every number.";

static const char *const groups[] = {"Measure",      "Look at a run",   "Keep and exchange runs",
                                     "MLPerf Power", "Simulated parts", "Help"};

static void heading(struct jm_str *out, const char *text, bool color)
{
    jm_str_addf(out, "\n%s%s%s\n", color ? "\033[1m" : "", text, color ? "\033[0m" : "");
}

static void paragraphs(struct jm_str *out, const char *text, size_t width)
{
    struct jm_span rest = jm_span_of(text);
    for (bool first = true; rest.n; first = false) {
        ptrdiff_t end = jm_span_find(rest, JM_SPAN("\n\n"));
        struct jm_span p = end < 0 ? rest : jm_span_sub(rest, 0, (size_t)end);
        rest = end < 0 ? (struct jm_span){NULL, 0} : jm_span_sub(rest, (size_t)end + 2, rest.n);
        if (!first)
            jm_str_addc(out, '\n');
        jm_str_wrap(out, p, 0, width);
    }
}

/* Commands of a group below parent, a line each; names stand in one column. */
static void list(const char *group, const struct jm_cmd *parent, int width, struct jm_str *out)
{
    size_t column = 14;
    for (int pass = 0; pass < 2; pass++)
        for (const struct jm_cmd *const *c = jm_cmd_table; *c; c++) {
            if (((*c)->flags & (JM_CMD_HIDDEN | JM_CMD_PARENT)) ||
                (group && strcmp((*c)->group, group) != 0) || (parent && !jm_cmd_below(*c, parent)))
                continue;
            size_t n = strlen((*c)->name) + 4;
            if (!pass) {
                column = n > column ? n : column;
                continue;
            }
            jm_str_addf(out, "  %s ", (*c)->name);
            jm_str_wrap(out, jm_span_of((*c)->summary), column, (size_t)width);
        }
}

static bool listed(const char *group)
{
    for (const struct jm_cmd *const *c = jm_cmd_table; *c; c++)
        if (!((*c)->flags & (JM_CMD_HIDDEN | JM_CMD_PARENT)) && strcmp((*c)->group, group) == 0)
            return true;
    return false;
}

static void overview(int width, bool color, struct jm_str *out)
{
    jm_str_wrap(out, jm_span_of(intro), 0, (size_t)width);
    jm_str_adds(out, "\nusage: joulemark COMMAND [OPTIONS] [ARGUMENTS]\n");
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        if (!listed(groups[g]))
            continue;
        heading(out, groups[g], color);
        list(groups[g], NULL, width, out);
    }
    jm_str_addc(out, '\n');
    jm_str_wrap(
        out,
        JM_SPAN("joulemark help COMMAND tells more about one of them; joulemark demo shows what comes out."),
        0, (size_t)width);
}

/* "command # what it does": the remark goes on a line of its own. */
static void examples(const char *text, int width, struct jm_str *out)
{
    struct jm_span rest = jm_span_of(text), line;
    while (jm_span_line(&rest, &line)) {
        ptrdiff_t at = jm_span_find(line, JM_SPAN(" # "));
        struct jm_span cmd = at < 0 ? line : jm_span_sub(line, 0, (size_t)at);
        jm_str_addf(out, "  %.*s\n", (int)cmd.n, cmd.p);
        if (at >= 0) {
            jm_str_adds(out, "     ");
            jm_str_wrap(out, jm_span_sub(line, (size_t)at + 3, line.n), 6, (size_t)width);
        }
    }
}

void jm_help_text(const struct jm_cmd *cmd, int width, bool color, struct jm_str *out)
{
    if (width < 40)
        width = 40;
    if (!cmd) {
        overview(width, color, out);
        return;
    }
    jm_str_adds(out, "usage: joulemark ");
    jm_str_adds(out, cmd->name);
    if (cmd->usage && cmd->usage[0])
        jm_str_addf(out, " %s", cmd->usage);
    jm_str_adds(out, "\n\n");
    jm_str_addf(out, "joulemark %s: ", cmd->name);
    jm_str_wrap(out, jm_span_of(cmd->summary), out->len ? strlen("joulemark : ") + strlen(cmd->name) : 0,
                (size_t)width);
    if (cmd->description) {
        jm_str_addc(out, '\n');
        paragraphs(out, cmd->description, (size_t)width);
    }
    if (cmd->flags & JM_CMD_PARENT) {
        heading(out, "Commands", color);
        list(NULL, cmd, width, out);
        jm_str_addc(out, '\n');
        jm_str_addf(out, "joulemark help %s COMMAND tells more about one of them.\n", cmd->name);
    }
    if (cmd->opts) {
        heading(out, "Options", color);
        jm_opt_help(cmd->opts, width, out);
        jm_str_adds(out, "  -h, --help              Show this help.\n");
    }
    if (cmd->examples) {
        heading(out, "Examples", color);
        examples(cmd->examples, width, out);
    }
}
