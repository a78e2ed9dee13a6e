/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/near.h"
#include "cli/cmds.h"
#include "cli/log.h"

#include "base/banned.h"

#define X(name) &jm_cmd_##name,
const struct jm_cmd *const jm_cmd_table[] = {JM_COMMANDS NULL};
#undef X

const struct jm_env_row jm_env_table[] = {
    {"JM_LOG", "Least level of messages on standard error: debug, info, warn (the default) or error."},
    {"JM_CHRONY_PORT", "Command port on which chronyd is asked for the clock error, where it is not 323."},
    {"JM_DCGM_LIB", "DCGM library to load where --dcgm-lib is not given."},
    {"JM_NVML_LIB", "NVML library to load where --nvml-lib is not given."},
    {"JM_AMDSMI_LIB", "AMD SMI or ROCm SMI library to load where --amdsmi-lib is not given."},
    {"JM_LEVEL_ZERO_LIB", "Level Zero loader to load where --level-zero-lib is not given."},
    {"JM_HLML_LIB", "Library of Gaudi accelerators to load where --hlml-lib is not given."},
    {"JM_SIM", "The joulemark-sim program to run; without it the one beside joulemark."},
    {"JOULEMARK_HOST",
     "What this host is called in run files, where its host name says nothing (a container's)."},
    {"JOULEMARK_MARK_SOCKET", "Socket for `joulemark mark`; set for the child of `joulemark run`."},
    {"CUDA_VISIBLE_DEVICES", "GPUs that joulemark run measures where --devices is not given."},
    {"NO_COLOR", "Set and not empty: no colour unless --color=always."},
    {"TERM", "dumb: no colour and no progress bar."},
    {NULL, NULL}};

const struct jm_exit_row jm_exit_table[] = {
    {JM_EXIT_OK, "Done."},
    {JM_EXIT_CHECK, "A check or contract failed."},
    {JM_EXIT_USAGE, "The command line or configuration is wrong."},
    {JM_EXIT_INVALID, "The measurement is invalid; the reasons are beside the number."},
    {JM_EXIT_SYSTEM, "The system failed: a file, the network, memory, standard output."},
    {-1, NULL}};

int jm_cli_exit_of(int rc)
{
    if (rc >= 0)
        return rc;
    return rc == JM_EUSAGE || rc == JM_EINVAL ? JM_EXIT_USAGE : JM_EXIT_SYSTEM;
}

const char *jm_cmd_below(const struct jm_cmd *cmd, const struct jm_cmd *parent)
{
    const char *blank = strchr(cmd->name, ' ');
    if (!parent)
        return blank ? NULL : cmd->name;
    if (!blank || !jm_span_is((struct jm_span){cmd->name, (size_t)(blank - cmd->name)}, parent->name))
        return NULL;
    return blank + 1;
}

const struct jm_cmd *jm_cmd_child(const struct jm_cmd *parent, const char *word)
{
    for (const struct jm_cmd *const *c = jm_cmd_table; *c; c++) {
        const char *last = jm_cmd_below(*c, parent);
        if (last && strcmp(last, word) == 0)
            return *c;
    }
    return NULL;
}

void jm_cli_out(struct jm_cli *cli, struct jm_span text)
{
    jm_term_progress_end(&cli->term);
    errno = 0;
    if (fwrite(text.p, 1, text.n, stdout) < text.n && !cli->out_errno)
        cli->out_errno = errno;
}

void jm_cli_say(struct jm_cli *cli, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    int n =
        snprintf(text, sizeof text, "joulemark%s%s: ", cli->cmd ? " " : "", cli->cmd ? cli->cmd->name : "");
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    jm_text_plain(text, strlen(text), true); /* servers and files speak in it too */
    jm_term_say(&cli->term, text);
}

static int unknown_command(struct jm_cli *cli, const struct jm_cmd *parent, const char *word)
{
    const char *best = NULL, *of = parent ? " of " : "", *name = parent ? parent->name : "";
    unsigned least = 99;
    for (const struct jm_cmd *const *c = jm_cmd_table; *c; c++) {
        const char *last = jm_cmd_below(*c, parent);
        unsigned d = last ? jm_near_distance(jm_span_of(word), jm_span_of(last)) : 99;
        if (d < least && !((*c)->flags & JM_CMD_HIDDEN)) {
            least = d;
            best = (*c)->name;
        }
    }
    if (word[0] == '-')
        jm_cli_say(cli,
                   "unknown option %.60s before the command; options come after its name, see joulemark "
                   "help%s%s",
                   word, parent ? " " : "", name);
    else if (best && jm_near_plausible(least, strlen(word)))
        jm_cli_say(cli, "\"%.60s\" is not a command%s%s; did you mean %s?", word, of, name, best);
    else
        jm_cli_say(cli, "\"%.60s\" is not a command%s%s; joulemark help%s%s lists them", word, of, name,
                   parent ? " " : "", name);
    return JM_EXIT_USAGE;
}

static void show_help(struct jm_cli *cli, const struct jm_cmd *cmd)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_help_text(cmd, cli->term.width < 80 ? cli->term.width : 80, cli->term.out_color, &s);
    jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
}

/* Defaults, then the configuration file, then the command line over it. */
static int parse(struct jm_cli *cli, void *opts, int argc, char **argv, struct jm_opt_arena **arena,
                 struct jm_err *err)
{
    const struct jm_cmd *cmd = cli->cmd;
    struct jm_common *common = opts;
    int rest = argc;
    for (int pass = 0; pass < 2; pass++) {
        const char *config = common->config;
        memset(opts, 0, cmd->opts_size);
        if (cmd->init)
            cmd->init(opts);
        if (pass) {
            struct jm_str text;
            jm_str_init(&text);
            snprintf(common->instruments.file, sizeof common->instruments.file, "%s", config);
            int rc = jm_file_read(config, 1 << 20, &text, err);
            if (!rc)
                rc = jm_opt_yaml(cmd->opts, opts, jm_str_span(&text), config, arena, err);
            jm_str_release(&text);
            if (rc)
                return rc;
        }
        int rc = jm_opt_parse(cmd->opts, opts, argc, argv, cli->operand, &cli->n_operands, &rest, err);
        if (rc)
            return rc;
        if (!common->config)
            break;
    }
    cli->rest = argv + rest;
    cli->n_rest = argc - rest;
    if (cli->n_rest && !(cmd->flags & JM_CMD_REST))
        for (int i = 0; i < cli->n_rest; i++) /* after "--" every word is an operand */
            cli->operand[cli->n_operands++] = cli->rest[i];
    if (cli->n_operands < cmd->min_operands)
        return jm_err_set(err, JM_EUSAGE, "too few arguments; usage: joulemark %s %s", cmd->name, cmd->usage);
    if (cli->n_operands > cmd->max_operands)
        return jm_err_set(err, JM_EUSAGE, "too many arguments at \"%.60s\"; usage: joulemark %s %s",
                          cli->operand[cmd->max_operands], cmd->name, cmd->usage);
    return 0;
}

static int run_command(struct jm_cli *cli, int argc, char **argv, struct jm_err *err)
{
    const struct jm_cmd *cmd = cli->cmd;
    if (cmd->flags & JM_CMD_RAW) {
        cli->rest = argv + 1;
        cli->n_rest = argc - 1;
        return cmd->fn(cli, NULL, err);
    }
    struct jm_opt_arena *arena = NULL;
    void *opts = calloc(1, cmd->opts_size);
    cli->operand = calloc((size_t)argc + 1, sizeof *cli->operand);
    int rc = opts && cli->operand ? parse(cli, opts, argc, argv, &arena, err)
                                  : jm_err_set(err, JM_ENOMEM, "out of memory");
    if (rc == JM_OPT_HELP) {
        show_help(cli, cmd);
        rc = 0;
    } else if (!rc) {
        cli->common = opts;
        jm_term_setup(&cli->term, cli->common->color, cli->common->quiet);
        rc = jm_cli_log_init(&cli->log, &cli->term, cli->common, err);
        if (!rc)
            rc = cmd->fn(cli, opts, err);
    }
    bool hangs = opts && !jm_instruments_release(&((struct jm_common *)opts)->instruments);
    if (!hangs) {
        jm_opt_arena_free(arena);
        free(opts);
    } else { /* a reader still uses what the options point to; the process ends soon */
        static void *volatile left[2]; /* so that it is no leak */
        left[0] = opts;
        left[1] = arena;
        (void)left[0];
    }
    free(cli->operand);
    return rc;
}

/* The help on standard error, and the status of a wrong command line. */
static int lacks_command(const struct jm_cmd *parent)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_help_text(parent, 80, false, &s);
    fputs(s.buf, stderr);
    jm_str_release(&s);
    return JM_EXIT_USAGE;
}

static int dispatch(struct jm_cli *cli, int argc, char **argv, struct jm_err *err)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return lacks_command(NULL);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        word = "version";
    const struct jm_cmd *cmd = jm_cmd_child(NULL, word);
    if (!cmd)
        return unknown_command(cli, NULL, argv[1]);
    int words = 1;
    if (cmd->flags & JM_CMD_PARENT) {
        const struct jm_cmd *parent = cmd;
        if (argc < 3)
            return lacks_command(parent);
        if (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "help") == 0) {
            const struct jm_cmd *below = argc > 3 ? jm_cmd_child(parent, argv[3]) : NULL;
            if (argc > 3 && !below)
                return unknown_command(cli, parent, argv[3]);
            show_help(cli, below ? below : parent);
            return 0;
        }
        cmd = jm_cmd_child(parent, argv[2]);
        if (!cmd)
            return unknown_command(cli, parent, argv[2]);
        words = 2;
    }
    cli->cmd = cmd;
    return run_command(cli, argc - words, argv + words, err);
}

/* A run file must never get the number of a standard stream that was closed. What is opened in its place
 * fails on use, so that a closed standard output is still an error. */
static void hold_standard_fds(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(JM_EXIT_SYSTEM);
}

int main(int argc, char **argv)
{
    struct jm_cli cli = {.argv0 = argc ? argv[0] : "joulemark"};
    struct jm_err err = {0};
    hold_standard_fds();
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error like any other */
    signal(SIGXFSZ, SIG_IGN); /* so is a file that may not grow (ulimit -f) */
    jm_term_init(&cli.term);
    int rc = jm_cli_log_init(&cli.log, &cli.term, NULL, &err);
    if (!rc)
        rc = dispatch(&cli, argc, argv, &err);
    if (rc < 0)
        jm_cli_say(&cli, "%s", err.text[0] ? err.text : jm_ecode_name(rc));
    int status = jm_cli_exit_of(rc);
    errno = 0;
    bool bad = ferror(stdout) != 0;
    bad = fflush(stdout) != 0 || bad;
    bad = (fclose(stdout) != 0 && errno != EBADF) || bad; /* closed by the caller: nothing was written */
    if (bad) {
        int why = cli.out_errno ? cli.out_errno : errno;
        jm_cli_say(&cli, "cannot write to standard output%s%s", why ? ": " : "", why ? strerror(why) : "");
        status = status == JM_EXIT_OK ? JM_EXIT_SYSTEM : status;
    }
    jm_term_release(&cli.term);
    return status;
}
