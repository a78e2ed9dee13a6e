/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/endpoint.h"
#include "cli/enginemetrics.h"
#include "cli/session.h"
#include "cli/signals.h"

#include "base/banned.h"

enum { CLASS_AUTO, CLASS_DEEP, CLASS_LOADED };

struct opts {
    struct jm_common common;
    struct jm_present present;
    struct jm_session_opts session;
    int64_t duration, settle;
    int class;
    struct jm_opt_list engine_metrics;
};

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    jm_session_opts_init(&o->session);
    o->duration = 30 * JM_NS_PER_S;
    o->settle = 5 * JM_NS_PER_S;
}

/* Without a word from the user the devices say which idle it is. What they say is kept in any case. */
static const char *what_kind(struct jm_session *s, int id, const char *asked, int *rc)
{
    char key[64], why[160], seen[200];
    enum jm_idle_kind kind = jm_recorder_idle_kind(s->rec, why, sizeof why);
    const char *name = jm_idle_kind_name(kind), *class = asked                     ? asked
                                                         : kind == JM_IDLE_UNKNOWN ? "deep"
                                                                                   : name;
    snprintf(key, sizeof key, "idle.%d.seen", id);
    snprintf(seen, sizeof seen, "%s: %s", name, why);
    *rc = jm_recorder_env(s->rec, key, seen);
    snprintf(key, sizeof key, "idle.%d.class", id);
    if (!*rc)
        *rc = jm_recorder_env(s->rec, key, class);
    if (kind == JM_IDLE_BUSY)
        jm_cli_say(s->cli, "the devices are at work (%s): what is measured is no idle", why);
    else if (s->metered && kind != JM_IDLE_UNKNOWN && strcmp(class, name) != 0)
        jm_cli_say(s->cli, "asked for the %s idle, but the devices look like the %s one (%s)", class, name,
                   why);
    return class;
}

static int idle_window(struct jm_session *s, const struct opts *o, const char *class, struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    struct jm_clock clock = jm_clock_system();
    int rc = jm_session_start(s, err);
    if (rc)
        return rc;
    int64_t now = jm_clock_mono(&clock);
    if (jm_session_wait(s, "settling", now, now + o->settle))
        return jm_err_set(err, JM_ESTATE, "stopped by a signal before the idle window began");
    rc = jm_session_begin(s, JM_R_IDLE, "idle", 0, &id, &t0, err);
    if (rc)
        return rc;
    class = what_kind(s, id, class, &rc);
    jm_session_wait(s,
                    class[0] == 'd'   ? "deep idle"
                    : class[0] == 'l' ? "loaded idle"
                                      : "idle",
                    t0, t0 + o->duration);
    int end = jm_recorder_window_end(s->rec, id, &t1, err);
    return rc ? jm_err_set(err, rc, "cannot note the class of the idle window") : end;
}

static int idle(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_session s;
    struct jm_meter_env env;
    struct jm_endpoint ep;
    const char *url = cli->n_operands ? cli->operand[0] : NULL;
    if (url && o->class == CLASS_DEEP)
        return jm_err_set(err, JM_EUSAGE,
                          "an endpoint that is up makes the idle a loaded one; leave out --class=deep or "
                          "the URL");
    const char *class = url || o->class == CLASS_LOADED ? "loaded" : o->class == CLASS_DEEP ? "deep" : NULL;
    int rc = jm_signals_catch(err);
    if (!rc && url) {
        struct jm_load_cfg lc = {.url = url, .temperature = NAN, .log = &cli->log};
        rc = jm_load_probe(&lc, cli->common->proc_root, &ep, err);
    }
    if (rc)
        return rc;
    jm_cli_meter_env(cli, &env);
    rc = jm_session_open(&s, cli, &o->session, "idle", url ? url : "idle", &env, false, err);
    if (!rc && url)
        rc = jm_endpoint_note(&s, &ep, err);
    if (!rc)
        rc = jm_session_engine(&s, &o->engine_metrics, url, NULL, url ? &ep : NULL, err);
    if (!rc)
        rc = idle_window(&s, o, class, err);
    rc = jm_session_finish(&s, rc, err);
    if (!rc)
        rc = jm_session_show(&s, &o->present, cli, err);
    jm_session_release(&s);
    return rc;
}

static const struct jm_opt table[] = {
    {"duration", 't', JM_OPT_DURATION, offsetof(struct opts, duration), 1e9, 86400e9,
     .help = "Length of the window.", .deflt = "30s"},
    {"settle", 0, JM_OPT_DURATION, offsetof(struct opts, settle), 0, 3600e9,
     .help = "Time to let the machine come to rest before it.", .deflt = "5s"},
    {"class", 0, JM_OPT_ENUM, offsetof(struct opts, class), .choices = "auto|deep|loaded",
     .help = "deep: nothing is loaded on the devices; loaded: a model is in memory and waits.",
     .deflt = "auto: loaded with a URL, else as the devices look"},
    JM_OPT_ENGINE_METRICS(offsetof(struct opts, engine_metrics), "auto with a URL, else off"),
    JM_OPTS_SESSION(opts, session),
    JM_OPT_JSON,
    JM_OPTS_METER,
    JM_OPTS_PRESENT(opts, present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_idle = {
    .name = "idle",
    .group = "Measure",
    .summary = "Measure what the machine draws without work",
    .usage = "[OPTIONS] [URL]",
    .description =
        "Deep idle (nothing loaded) and loaded idle (a model in memory, no request) are different powers; "
        "the run "
        "says which it is. With a URL the endpoint must answer, its GPUs are found by its process, and the "
        "idle "
        "is a loaded one. It is never subtracted silently: net figures stand beside the gross ones.",
    .examples = "joulemark idle -o out/deep.jmr\n"
                "joulemark idle http://127.0.0.1:8000 -o out/loaded.jmr # with the model loaded",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .max_operands = 1,
    .fn = idle,
};
