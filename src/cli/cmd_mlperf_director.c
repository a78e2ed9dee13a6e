/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/meterenv.h"
#include "cli/mlperf_child.h"
#include "cli/signals.h"
#include "mlperf/director.h"
#include "mlperf/msource.h"
#include "mlperf/ptd.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *conf, *listen, *out_dir, *source;
    bool once, set_clock, keep;
};

static void progress(void *self, const struct jm_mlperf_progress *p)
{
    struct jm_cli *cli = self;
    jm_term_progress(&cli->term, NAN, "%s%s%s · %.0f s", p->session, p->session[0] ? " · " : "", p->state,
                     floor(p->seconds));
}

static void ready(void *self, const char *host, int port)
{
    struct jm_cli *cli = self;
    if (!cli->common->quiet)
        jm_cli_say(cli, "the Director listens on %s port %d; Ctrl-C ends it", host, port);
}

/* Only this machine can reach these. */
static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static int apply(struct jm_cli *cli, const struct opts *o, struct jm_mlperf_config *c, struct jm_err *err)
{
    int rc = jm_mlperf_config_read_for(o->conf, o->source, c, err);
    if (!rc && o->listen)
        rc = jm_mlperf_config_listen(c, o->listen, err);
    if (rc)
        return rc;
    if (o->out_dir)
        c->out_dir = o->out_dir;
    c->keep |= o->keep;
    if (cli->common->quiet)
        return 0;
    for (size_t i = 0; i < c->n_warnings; i++)
        jm_cli_say(cli, "%s", c->warnings[i]);
    if (!o->listen && !c->listens_by_config)
        jm_cli_say(cli,
                   "no client of another machine can connect: give --listen ADDRESS:PORT, or listen in the "
                   "configuration");
    else if (!is_loopback(c->host))
        jm_cli_say(cli,
                   "anybody who reaches %s port %d can start and read measurements; the protocol has no "
                   "password",
                   c->host, c->port);
    if (c->settle_ns < JM_MLPERF_SETTLE)
        jm_cli_say(cli, "settle is below 10 s: sessions are marked as debug and are no valid measurement");
    return 0;
}

static int make_source(const struct jm_mlperf_director *d, const struct jm_meter_env *env,
                       struct jm_mlperf_source *out, struct jm_err *err)
{
    const struct jm_mlperf_config *c = d->config;
    if (strcmp(c->source, "ptd") == 0)
        return jm_mlperf_ptd_new(c, d->child, c->out_dir, &d->clock, d->wake, out, err);
    return jm_mlperf_msource_new(c->source, c->source_option, env, out, err);
}

static void free_source(const struct jm_mlperf_config *c, struct jm_mlperf_source *s)
{
    if (s->self && jm_mlperf_msource_is(c->source))
        jm_mlperf_msource_free(s);
    else if (s->self)
        jm_mlperf_ptd_free(s);
}

static int director(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_mlperf_config config = {0};
    struct jm_mlperf_child_ops child = jm_cli_mlperf_child();
    struct jm_meter_env env;
    int sessions = 0, broken = 0;
    jm_cli_meter_env(cli, &env);
    if (!o->conf && !o->source)
        return jm_err_set(
            err, JM_EUSAGE,
            "which configuration? --config FILE; examples/mlperf/director.conf is one to begin with");
    int rc = apply(cli, o, &config, err);
    if (!rc)
        rc = jm_signals_catch(err);
    struct jm_mlperf_director d = {
        .config = &config,
        .child = &child,
        .clock = jm_clock_system(),
        .wake = {&jm_signals_stop, jm_signals_fd()},
        .log = &cli->log,
        .once = o->once,
        .set_clock = o->set_clock,
        .ready = ready,
        .progress = progress,
        .self = cli,
    };
    if (!rc)
        rc = make_source(&d, &env, &d.source, err);
    if (!rc)
        rc = jm_mlperf_director_run(&d, &sessions, &broken, err);
    jm_term_progress_end(&cli->term);
    free_source(&config, &d.source);
    if (!rc && !o->common.quiet)
        jm_cli_say(cli, "%d session%s, %d of them incomplete", sessions, sessions == 1 ? "" : "s", broken);
    jm_mlperf_config_release(&config);
    return rc ? rc : broken ? JM_EXIT_INVALID : JM_EXIT_OK;
}

static const struct jm_opt options[] = {
    {"config", 'c', JM_OPT_STR, JM_OPT_AT(opts, conf), .arg = "FILE",
     .help = "Configuration of the Director, in the public tool's form."},
    {"listen", 'l', JM_OPT_STR, JM_OPT_AT(opts, listen), .arg = "ADDRESS",
     .help = "Where clients connect, HOST:PORT; comes before the configuration's listen.",
     .deflt = "127.0.0.1:4950"},
    {"source", 0, JM_OPT_STR, JM_OPT_AT(opts, source), .arg = "NAME",
     .help =
         "Where samples come from without a PTDaemon: yokogawa:ADDRESS, meter:NAME or software. The session "
         "is then not an official measurement and says so.",
     .deflt = "the configuration's, else ptd"},
    {"output", 'o', JM_OPT_STR, JM_OPT_AT(opts, out_dir), .arg = "DIR",
     .help = "Folder that sessions are kept in until their client has them.", .deflt = "mlperf-sessions"},
    {"once", 0, JM_OPT_FLAG, JM_OPT_AT(opts, once), .help = "End after the first client that had a session."},
    {"keep", 0, JM_OPT_FLAG, JM_OPT_AT(opts, keep),
     .help = "Keep a copy of each session here; its client asks to remove it at the end."},
    {"set-clock", 0, JM_OPT_FLAG, JM_OPT_AT(opts, set_clock),
     .help = "Let ntpdate -b set this machine's clock when it is off by 0.4 s or more. Needs root, or sudo "
             "without a password."},
    JM_OPTS_METER,
    {"color", 0, JM_OPT_ENUM, JM_OPT_AT(jm_common, color), .arg = "WHEN", .choices = "auto|always|never",
     .help = "Colour the output: auto, always or never.", .deflt = "auto"},
    {"verbose", 'v', JM_OPT_FLAG, JM_OPT_AT(jm_common, verbose),
     .help = "Show what is said to clients and to "
             "the PTDaemon."},
    {"quiet", 'q', JM_OPT_FLAG, JM_OPT_AT(jm_common, quiet), .help = "Say nothing but errors; no progress."},
    {0}};

const struct jm_cmd jm_cmd_mlperf_director = {
    .name = "mlperf director",
    .group = "MLPerf Power",
    .summary = "Serve power measurements: drive the analyzer for a client",
    .usage = "{--config FILE|--source NAME} [OPTIONS]",
    .description =
        "The Director is the machine that the power analyzer is connected to. It waits for a client on the "
        "system under test (joulemark mlperf sut, or the public tool's client.py), and on its word sets the "
        "analyzer's ranges, starts and stops PTDaemon's measurement, and hands over the power logs. The "
        "protocol is version 3 of mlcommons/power-dev: either side works with the public tool's other "
        "side.\n\n"
        "A measurement has two phases with the same workload. In ranging the analyzer finds its ranges by "
        "itself; the largest voltage, and the largest current times 1.1, are then set for testing, whose "
        "samples are the result. Around each phase the Director waits 10 s.\n\n"
        "The configuration is the public tool's INI file: [server] ntpServer, listen, rangingMode; [ptd] "
        "ptd, "
        "analyzerCount; one [analyzerN] each with networkPort, deviceType, interfaceFlag, devicePort, "
        "channel. "
        "A section [joulemark] takes what only this program has, and the public tool passes over it: outDir, "
        "launch and ptdHost (use running PTDaemons), keepSessions, settle, ptdTimeout, ptdStart, "
        "idleTimeout, "
        "runTimeout. PTDaemon is SPEC's and needs their licence; \"joulemark sim ptd\" stands in for a "
        "trial.\n\n"
        "One client is served at a time. When it goes away, or the PTDaemon dies, the measurement is "
        "stopped, "
        "the analyzer's ranges are put back, and what there is of the session is kept with INCOMPLETE.txt.",
    .examples =
        "joulemark mlperf director -c director.conf # clients of this machine only\n"
        "joulemark mlperf director -c director.conf -l 192.0.2.7:4950 # from the network\n"
        "joulemark mlperf director -c director.conf --once --keep -v # one session, all said\n"
        "joulemark mlperf director --source yokogawa:tcp://192.0.2.8:10001 # no PTDaemon: not official",
    .opts = options,
    .opts_size = sizeof(struct opts),
    .fn = director,
};
