/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "cli/cmds.h"
#include "cli/enginemetrics.h"
#include "cli/hosts.h"
#include "cli/session.h"
#include "cli/signals.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    struct jm_session_opts session;
    int64_t duration;
    struct jm_opt_list engine_metrics;
    struct jm_hosts_opts hosts;
    bool serve;
};

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    jm_session_opts_init(&o->session);
}

static int record_window(struct jm_session *s, int64_t duration, struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    int rc = jm_session_start(s, err);
    if (!rc)
        rc = jm_session_begin(s, JM_R_MEASURE, "record", 0, &id, &t0, err);
    if (rc)
        return rc;
    int64_t end = duration ? t0 + duration : INT64_MAX, to = end;
    do {
        end = to;
        if (jm_session_wait(s, "recording", t0, end))
            break;
        to = jm_session_lengthen(s, id, t0, end);
    } while (to > end);
    return jm_recorder_window_end(s->rec, id, &t1, err);
}

static int record_hosts(struct jm_cli *cli, struct opts *o, struct jm_err *err)
{
    struct jm_session s = {.cli = cli, .metered = true};
    int rc = jm_signals_catch(err);
    jm_str_init(&s.path);
    if (!rc)
        rc = jm_hosts_record(cli, &o->hosts, &o->session, o->duration, &s.path, err);
    if (!rc)
        rc = jm_session_show(&s, &o->present, cli, err);
    jm_session_release(&s);
    return rc;
}

static int record(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_session s;
    struct jm_meter_env env;
    if (o->serve)
        return jm_hosts_serve(cli, &o->session, &o->engine_metrics, err);
    int rc = jm_hosts_asked(&o->hosts, err);
    if (rc)
        return rc < 0 ? rc : record_hosts(cli, o, err);
    rc = jm_signals_catch(err);
    if (rc)
        return rc;
    jm_cli_meter_env(cli, &env);
    rc = jm_session_open(&s, cli, &o->session, "record", "record", &env, true, err);
    if (!rc) {
        if (!o->common.quiet)
            jm_cli_say(cli, "recording to %s until %s; marks: joulemark mark --socket %s NAME", s.path.buf,
                       o->duration ? "the time is up" : "stopped (Ctrl-C)", s.mark_socket);
        rc = jm_session_engine(&s, &o->engine_metrics, NULL, NULL, NULL, err);
    }
    if (!rc)
        rc = record_window(&s, o->duration, err);
    rc = jm_session_finish(&s, rc, err);
    if (!rc)
        rc = jm_session_show(&s, &o->present, cli, err);
    jm_session_release(&s);
    return rc;
}

static const struct jm_opt table[] = {{"duration", 't', JM_OPT_DURATION, offsetof(struct opts, duration), 1e6,
                                       3.2e15, .help = "Stop after this time.", .deflt = "until stopped"},
                                      JM_OPTS_HOSTS(opts, hosts),
                                      {"serve", 0, JM_OPT_FLAG, offsetof(struct opts, serve)},
                                      JM_OPT_ENGINE_METRICS(offsetof(struct opts, engine_metrics), "off"),
                                      JM_OPT_WINDOW_MAX(opts, session),
                                      JM_OPTS_SESSION(opts, session),
                                      JM_OPT_JSON,
                                      JM_OPTS_METER,
                                      JM_OPTS_PRESENT(opts, present),
                                      JM_OPTS_COMMON,
                                      {NULL}};

const struct jm_cmd jm_cmd_record = {
    .name = "record",
    .group = "Measure",
    .summary = "Record every meter until stopped",
    .usage = "[OPTIONS]",
    .description = "Everything read goes into one run file, which is safe on disk at the latest 10 s later. "
                   "SIGINT or SIGTERM "
                   "ends the recording in order. Without a meter that can be read the file is written all "
                   "the same, with "
                   "what was tried, and the status is 3.\n\n"
                   "With --hosts a small recording runs on each host, over ssh with a key or an agent (it "
                   "asks nothing) and with the joulemark that is installed there. All begin and end at one "
                   "time, what they recorded is fetched into RUN.hosts/ and merged by the hosts' clocks. A "
                   "host that fails is told, and stands in the run as missing; the others are kept. "
                   "joulemark merge does the same with recordings that were started by hand.",
    .examples = "joulemark record -o out/day.jmr\n"
                "joulemark record -t 60s --meters nvml --devices 0,1 --json # two GPUs for a minute\n"
                "joulemark record --hosts nodea,nodeb -t 60s -o out/both.jmr # two hosts, one run\n"
                "joulemark record --hosts local,nodeb -g pre=local -g dec=nodeb # two pools",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .fn = record,
};
