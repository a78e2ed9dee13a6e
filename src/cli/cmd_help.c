/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    bool man, markdown;
};

static int help(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    const struct jm_cmd *cmd = NULL;
    for (size_t i = 0; i < cli->n_operands; i++) {
        const struct jm_cmd *parent = cmd;
        if (parent && !(parent->flags & JM_CMD_PARENT))
            return jm_err_set(err, JM_EUSAGE,
                              "%s has no commands of its own, so nothing is known of \"%.60s\"", parent->name,
                              cli->operand[i]);
        cmd = jm_cmd_child(parent, cli->operand[i]);
        if (!cmd)
            return jm_err_set(err, JM_EUSAGE, "\"%.60s\" is not a command%s%s; joulemark help%s%s lists them",
                              cli->operand[i], parent ? " of " : "", parent ? parent->name : "",
                              parent ? " " : "", parent ? parent->name : "");
    }
    struct jm_str s;
    jm_str_init(&s);
    if (o->man)
        jm_help_man(&s);
    else if (o->markdown)
        jm_help_markdown(&s);
    else
        jm_help_text(cmd, cli->term.width < 80 ? cli->term.width : 80, cli->term.out_color, &s);
    int rc = jm_str_ok(&s, "the help text", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

static const struct jm_opt table[] = {
    {"man", 0, JM_OPT_FLAG, offsetof(struct opts, man), .help = "Write the man page (roff) of all commands."},
    {"markdown", 0, JM_OPT_FLAG, offsetof(struct opts, markdown), .help = "Write docs/commands.md."},
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_help = {
    .name = "help",
    .group = "Help",
    .summary = "Show what the commands do, or one of them in full",
    .usage = "[COMMAND [WORD]]",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .max_operands = 2,
    .fn = help,
};
