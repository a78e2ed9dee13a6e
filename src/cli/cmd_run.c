/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/child.h"
#include "cli/cmds.h"
#include "cli/enginemetrics.h"
#include "cli/hosts.h"
#include "cli/path.h"
#include "cli/session.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    struct jm_session_opts session;
    const char *summary;
    bool strict, no_summary;
    struct jm_opt_list engine_metrics;
    struct jm_hosts_opts hosts;
    int status; /* the command's own, once it has one */
};

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    jm_session_opts_init(&o->session);
    o->status = JM_EXIT_RUN;
}

/* The command as a person would type it. */
static int command_text(char **argv, struct jm_str *out, struct jm_err *err)
{
    for (int i = 0; argv[i]; i++) {
        bool plain =
            argv[i][0] && !argv[i][strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                   "0123456789_-./:=,+@%")];
        if (i)
            jm_str_addc(out, ' ');
        if (plain) {
            jm_str_adds(out, argv[i]);
            continue;
        }
        jm_str_addc(out, '\'');
        for (const char *p = argv[i]; *p; p++) {
            if (*p == '\'')
                jm_str_adds(out, "'\\'");
            jm_str_addc(out, *p);
        }
        jm_str_addc(out, '\'');
    }
    return jm_str_ok(out, "the command's text", err);
}

static int note(struct jm_session *s, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int note(struct jm_session *s, const char *key, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return jm_recorder_env(s->rec, key, text);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* *status is what the child says; the return is about our own part. */
static int run_child(struct jm_session *s, char **argv, int *status, struct jm_err *err)
{
    struct jm_child child;
    int id;
    int64_t t0, t1;
    int rc = jm_session_start(s, err);
    if (!rc)
        rc = jm_session_begin(s, JM_R_MEASURE, "run", 0, &id, &t0, err);
    if (rc)
        return rc;
    int early = jm_child_pending();
    if (early) {
        *status = 128 + early;
        return jm_err_set(err, JM_ESTATE, "stopped by signal %d before %s began", early, argv[0]);
    }
    rc = jm_child_start(&child, argv, "JOULEMARK_MARK_SOCKET", s->mark_socket, err);
    *status = child.status;
    struct jm_err wait_err = {0};
    while (!rc && !child.done)
        rc = jm_child_wait(&child, 3600 * JM_NS_PER_S, &wait_err);
    if (wait_err.code && err)
        *err = wait_err;
    if (child.done)
        *status = child.status;
    struct jm_err end_err = {0};
    int end = jm_recorder_window_end(s->rec, id, &t1, &end_err);
    if (!rc && end) {
        rc = end;
        *err = end_err;
    }
    if (child.done) {
        note(s, "child.status", "%d", child.status);
        note(s, "child.cpu_user_s", "%.6f", seconds(child.usage.ru_utime));
        note(s, "child.cpu_system_s", "%.6f", seconds(child.usage.ru_stime));
        note(s, "child.max_rss_kib", "%ld", child.usage.ru_maxrss);
    }
    return rc;
}

static int write_summary(struct jm_session *s, const struct opts *o, int *verdict, struct jm_err *err)
{
    struct jm_str out;
    jm_str_init(&out);
    bool own_stdout = o->summary && strcmp(o->summary, "-") == 0;
    s->cli->term.out_color = own_stdout ? s->cli->term.out_color : !o->summary && s->cli->term.err_color;
    int rc = jm_session_summary(s, &o->present, &out, err);
    if (rc >= 0) {
        *verdict = rc;
        rc = 0;
        if (o->no_summary)
            ; /* only --strict asked */
        else if (own_stdout)
            jm_cli_out(s->cli, jm_str_span(&out));
        else if (o->summary && !(rc = jm_path_spare_run(o->summary, err)))
            rc = jm_file_write(o->summary, jm_str_span(&out), err);
        else if (o->summary)
            ; /* err says why */
        else
            fwrite(out.buf, 1, out.len, stderr);
    }
    jm_str_release(&out);
    return rc;
}

/* Everything of the run but the summary; the session is the caller's to release, opened or not. */
static int measure(void *arg, const struct jm_session_opts *session, struct jm_session *s, struct jm_err *err)
{
    struct opts *o = arg;
    struct jm_cli *cli = s->cli;
    struct jm_meter_env env;
    struct jm_str text;
    jm_str_init(&text);
    int rc = command_text(cli->rest, &text, err);
    jm_cli_meter_env(cli, &env);
    if (!env.devices) {
        /* the child inherits it, so it is what the child can use */
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        env.devices = visible && visible[0] ? visible : NULL;
    }
    bool opened = !rc;
    if (!rc)
        rc = jm_session_open(s, cli, session, "run", "run", &env, true, err);
    if (!rc)
        rc = note(s, "run.command", "%s", text.buf)
                 ? jm_err_set(err, JM_EIO, "cannot note the command in the run")
                 : 0;
    if (!rc)
        rc = jm_session_engine(s, &o->engine_metrics, NULL, NULL, NULL, err);
    if (!rc)
        rc = run_child(s, cli->rest, &o->status, err);
    if (opened)
        rc = jm_session_finish(s, rc, err);
    jm_str_release(&text);
    return rc;
}

static int run(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_session s = {.cli = cli};
    int verdict = 0;
    if (!cli->n_rest)
        return jm_err_set(err, JM_EUSAGE,
                          "no command to run; usage: joulemark run [OPTIONS] -- CMD [ARG]...");
    int hosts = jm_hosts_asked(&o->hosts, err);
    if (hosts < 0)
        return hosts;
    jm_str_init(&s.path);
    int rc = jm_child_prepare(err);
    o->session.present = &o->present;
    if (!rc)
        rc = hosts ? jm_hosts_around(cli, &o->hosts, &o->session, "run", measure, o, &s, err)
                   : measure(o, &o->session, &s, err);
    if (!rc && !(o->no_summary && !o->strict))
        rc = write_summary(&s, o, &verdict, err);
    jm_session_release(&s);
    if (rc < 0) {
        jm_cli_say(cli, "%s", err->text);
        /* the child's own status tells more than ours, when it got so far as to have one */
        return o->status == 0 ? JM_EXIT_RUN : o->status;
    }
    return o->strict && verdict && !o->status ? JM_EXIT_INVALID : o->status;
}

static const struct jm_opt table[] = {
    {"strict", 0, JM_OPT_FLAG, offsetof(struct opts, strict),
     .help = "End with 3 when the command succeeded but the measurement is invalid."},
    {"summary", 0, JM_OPT_STR, offsetof(struct opts, summary), .arg = "FILE",
     .help = "Write the summary to FILE, - is standard output.", .deflt = "standard error"},
    {"no-summary", 0, JM_OPT_FLAG, offsetof(struct opts, no_summary), .help = "Record only."},
    JM_OPTS_HOSTS(opts, hosts),
    JM_OPT_ENGINE_METRICS(offsetof(struct opts, engine_metrics), "off"),
    JM_OPTS_SESSION(opts, session),
    {"json", 0, JM_OPT_FLAG, JM_OPT_AT(jm_common, json),
     .help = "Write the summary as JSON with stable keys."},
    JM_OPTS_METER,
    JM_OPTS_PRESENT(opts, present),
    JM_OPTS_FACTORS(opts, present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_run = {
    .name = "run",
    .group = "Measure",
    .summary = "Run a command and measure the machine while it runs",
    .usage = "[OPTIONS] -- CMD [ARG]...",
    .description =
        "The command keeps its standard input, output and error; the summary goes to standard error. It "
        "stays in the same "
        "process group, and signals that are sent to joulemark alone (HUP, INT, QUIT, TERM, USR1, USR2) are "
        "forwarded. "
        "Inside it, joulemark mark NAME puts a mark into the run. GPUs hidden by CUDA_VISIBLE_DEVICES are "
        "not counted.\n\n"
        "With --hosts the energy is that of those hosts, each recorded over ssh as record --hosts does, over "
        "the time of the command, which runs here; what this host draws is no part of it unless local is "
        "named.\n\n"
        "The status is the command's own (128 + signal when a signal ended it), 127 when there is no such "
        "command, 126 "
        "when it cannot be run, 125 when joulemark itself failed; with --strict an invalid measurement is 3.",
    .examples = "joulemark run -o out/job.jmr -- ./inference --model m # the energy of one job\n"
                "joulemark run --strict --json --summary out/job.json -- make test\n"
                "joulemark run --hosts local,b -o out/mpi.jmr -- mpirun -H a,b ./job",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .flags = JM_CMD_REST,
    .fn = run,
};
