/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/num.h"
#include "cli/lengthen.h"
#include "cli/signals.h"
#include "cli/steps.h"
#include "model/passport.h"
#include "run/run.h"

#include "base/banned.h"

void jm_session_opts_init(struct jm_session_opts *o)
{
    *o = (struct jm_session_opts){.seed = -1};
}

/* verb-20261129-150800.jmr in the working directory, UTC. */
int jm_session_default_path(const char *verb, int64_t real_ns, struct jm_str *out, struct jm_err *err)
{
    struct jm_civil c = jm_time_civil(real_ns / JM_NS_PER_S);
    jm_str_addf(out, "%s-%04d%02d%02d-%02d%02d%02d.jmr", verb, c.year, c.month, c.day, c.hour, c.minute,
                c.second);
    return jm_str_ok(out, "a file name", err);
}

/* A folder of our own, so that nobody else can put marks into the run. */
static int make_socket_dir(struct jm_session *s, struct jm_err *err)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    for (int i = 0; i < 2; i++, base = "/tmp") {
        if (!base || strlen(base) > 60) /* a socket's path has 107 bytes */
            continue;
        snprintf(s->dir, sizeof s->dir, "%s/joulemark-XXXXXX", base);
        if (mkdtemp(s->dir)) {
            snprintf(s->mark_socket, sizeof s->mark_socket, "%s/mark", s->dir);
            return 0;
        }
    }
    s->dir[0] = '\0';
    return jm_err_sys(err, errno, "cannot make a folder for the socket of marks below /tmp");
}

/* $XDG_STATE_HOME/joulemark/selftest: whether fast polling disturbs a device is tested once a boot, not in
 * each run. */
static void name_selftest(struct jm_session *s)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/' && strlen(state) < sizeof s->selftest - 32)
        snprintf(s->selftest, sizeof s->selftest, "%s/joulemark/selftest", state);
    else if (home && home[0] == '/' && strlen(home) < sizeof s->selftest - 48)
        snprintf(s->selftest, sizeof s->selftest, "%s/.local/state/joulemark/selftest", home);
}

/* 0: chronyd's own. */
static int chrony_port(void)
{
    int64_t port;
    const char *text = getenv("JM_CHRONY_PORT");
    return text && !jm_num_i64(jm_span_of(text), &port) && port > 0 && port < 65536 ? (int)port : 0;
}

static int keep_passports(struct jm_session *s, const struct jm_opt_list *list, struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < list->n; i++) {
        struct jm_passport_file p;
        struct jm_str text;
        jm_str_init(&text);
        rc = jm_cli_passport(list->item[i], &p, &text, err);
        if (!rc && (rc = jm_recorder_passport(s->rec, &p, jm_str_span(&text), err)))
            rc = jm_err_prefix(err, "--passport %s", list->item[i]);
        jm_passport_release(&p.p);
        jm_str_release(&text);
    }
    return rc;
}

/* Keeps the facts that were declared; without a recorder: only looks at them. */
static int keep_facts(struct jm_recorder *rec, const struct jm_opt_list *facts, struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < facts->n; i++) {
        const struct jm_fact *f;
        const char *value;
        char key[64];
        rc = jm_fact_parse(facts->item[i], &f, &value, err);
        if (rc || !rec)
            continue;
        snprintf(key, sizeof key, "fact.%s", f->key);
        jm_recorder_env(rec, key, value);
    }
    return rc;
}

int64_t jm_session_seed(int64_t given)
{
    struct jm_clock clock = jm_clock_system();
    uint32_t drawn;
    if (given >= 0)
        return given;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
        drawn = (uint32_t)jm_clock_mono(&clock);
    return (int64_t)(drawn % 999999999) + 1;
}

int jm_session_open(struct jm_session *s, struct jm_cli *cli, const struct jm_session_opts *o,
                    const char *verb, const char *source, const struct jm_meter_env *env, bool mark,
                    struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_clock_pair now;
    uint64_t seed = (uint64_t)o->seed;
    *s = (struct jm_session){.cli = cli};
    jm_str_init(&s->path);
    int rc = keep_facts(NULL, &o->facts, err);
    if (!rc && o->present)
        rc = jm_present_keep(o->present, NULL, err);
    if (rc)
        return rc;
    jm_clock_pair(&clock, &now);
    if (o->seed < 0 && getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)now.real;
    if (o->seed < 0)
        seed &= INT64_MAX; /* can be given again as --seed */
    rc = o->output ? (jm_str_adds(&s->path, o->output), jm_str_ok(&s->path, "a file name", err))
                   : jm_session_default_path(verb, now.real, &s->path, err);
    if (!rc && mark)
        rc = make_socket_dir(s, err);
    if (!rc)
        rc = jm_file_mkparents(s->path.buf, err);
    if (rc)
        return rc;
    name_selftest(s);
    struct jm_record_cfg cfg = {
        .path = s->path.buf,
        .create = {.label = o->label,
                   .kind = "recorded",
                   .source = source,
                   .created_real = now.real,
                   .seed = seed,
                   .overwrite = o->force},
        .env = *env,
        .meters = cli->common->meters,
        .period_ns = o->sample_hz > 0 ? (int64_t)llround(1e9 / o->sample_hz) : 0,
        .edge_ns = o->edge_ns,
        .no_edge = o->no_edge,
        .mark_socket = s->mark_socket[0] ? s->mark_socket : NULL,
        .selftest_cache = s->selftest[0] ? s->selftest : NULL,
        .chrony_port = chrony_port(),
        .log = &cli->log,
    };
    if (o->window_max > 0 && !(o->tolerance > 0))
        return jm_err_set(err, JM_EUSAGE,
                          "--window-max belongs to --tolerance, which says what a window must reach");
    if (o->window_max > 0) {
        rc = jm_lengthen_new(&s->lengthen, err);
        if (rc)
            return rc;
        cfg.tap = jm_lengthen_tap;
        cfg.tap_self = s->lengthen;
        s->tolerance = o->tolerance / 100;
        s->window_max = o->window_max;
    }
    rc = jm_recorder_new(&cfg, &s->rec, err);
    if (!rc && s->lengthen)
        rc = jm_lengthen_channels(s->lengthen, jm_recorder_channel_list(s->rec), jm_recorder_channels(s->rec),
                                  err);
    if (rc)
        return rc;
    if (o->tolerance > 0) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", o->tolerance);
        jm_recorder_env(s->rec, "plan.tolerance_percent", text);
    }
    if (s->lengthen) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", (double)o->window_max / 1e9);
        jm_recorder_env(s->rec, "plan.window_max_s", text);
    }
    rc = keep_facts(s->rec, &o->facts, err);
    if (!rc && o->present)
        rc = jm_present_keep(o->present, s->rec, err);
    if (!rc)
        rc = keep_passports(s, &o->passports, err);
    s->sync_step = o->sync_step;
    s->metered = jm_recorder_channels(s->rec) > 0;
    if (!s->metered)
        jm_cli_say(cli, "no meter can be read, so there will be no energy: %s", jm_recorder_why(s->rec));
    return rc;
}

int jm_session_start(struct jm_session *s, struct jm_err *err)
{
    int rc = jm_recorder_start(s->rec, err);
    return rc || !s->sync_step || !s->metered ? rc : jm_cli_sync_step(s, 0, err);
}

void jm_session_progress(struct jm_session *s, const char *what, double done_s, double of_s, const char *more)
{
    struct jm_record_live live;
    char span[64], power[64] = "";
    jm_recorder_live(s->rec, &live);
    if (isfinite(of_s))
        snprintf(span, sizeof span, "%.0f of %.0f s", done_s, of_s);
    else
        snprintf(span, sizeof span, "%.0f s", done_s);
    if (isfinite(live.watts))
        snprintf(power, sizeof power, ", %.0f W", live.watts);
    char meters[48] = "";
    if (live.meters_ok > s->meters_first)
        s->meters_first = live.meters_ok;
    if (live.meters_ok < s->meters_first)
        snprintf(meters, sizeof meters, ", %zu of %zu meters", live.meters_ok, s->meters_first);
    jm_term_progress(&s->cli->term, isfinite(of_s) && of_s > 0 ? done_s / of_s : NAN, "%s: %s%s%s%s%s", what,
                     span, power, meters, more && more[0] ? ", " : "", more ? more : "");
}

bool jm_session_wait(struct jm_session *s, const char *what, int64_t begin, int64_t mono_ns)
{
    struct jm_clock clock = jm_clock_system();
    for (;;) {
        int64_t now = jm_clock_mono(&clock), next = now + 100 * JM_NS_PER_MS;
        if (jm_signals_stop || now >= mono_ns)
            return jm_signals_stop;
        jm_session_progress(s, what, (double)(now - begin) / 1e9,
                            mono_ns == INT64_MAX ? NAN : (double)(mono_ns - begin) / 1e9, NULL);
        if (jm_signals_sleep_until(next < mono_ns ? next : mono_ns))
            return true;
    }
}

int jm_session_begin(struct jm_session *s, enum jm_role role, const char *name, int trial, int *id,
                     int64_t *t0, struct jm_err *err)
{
    int rc = jm_recorder_window_begin(s->rec, role, name, trial, t0, err);
    if (rc < 0)
        return rc;
    s->begun = true;
    *id = rc;
    if (role == JM_R_MEASURE)
        jm_lengthen_begin(s->lengthen, *t0);
    return 0;
}

int64_t jm_session_lengthen(struct jm_session *s, int id, int64_t t0, int64_t end)
{
    char who[128], key[48], text[32];
    struct jm_clock clock = jm_clock_system();
    int64_t most = t0 + s->window_max, to = end;
    double so_far = (double)(jm_clock_mono(&clock) - t0) / 1e9;
    if (!s->lengthen || end >= most || jm_signals_stop)
        return end;
    double needs = jm_lengthen_needs(s->lengthen, s->tolerance, who, sizeof who);
    if (!(needs > so_far) || !isfinite(needs)) /* no length would do: it is refused as it is */
        return end;
    double want = fmin(fmax(1.05 * needs, so_far + 1), (double)s->window_max / 1e9);
    to = t0 + (int64_t)(want * 1e9);
    if (to <= end)
        return end;
    if (!s->cli->common->quiet)
        jm_cli_say(s->cli, "%s is not within %.3g %% after %.0f s: the window goes on to %.0f s", who,
                   100 * s->tolerance, so_far, want);
    snprintf(key, sizeof key, "window.%d.lengthened_s", id);
    snprintf(text, sizeof text, "%.3f", want);
    jm_recorder_env(s->rec, key, text);
    return to;
}

int jm_session_finish(struct jm_session *s, int rc, struct jm_err *err)
{
    jm_term_progress_end(&s->cli->term);
    if (!s->rec)
        return rc;
    struct jm_err own = {0};
    if (rc >= 0 && s->begun && s->sync_step && s->metered)
        rc = jm_cli_sync_step(s, 1, err);
    int end = jm_recorder_finish(s->rec, rc < 0 ? &own : err);
    s->rec = NULL;
    if (rc < 0 && end < 0)
        jm_cli_say(s->cli, "the run file could not be finished: %s", own.text);
    if (rc < 0 && !s->begun)
        jm_run_remove(s->path.buf, NULL); /* nothing was measured, and its name is wanted for the next try */
    return rc < 0 ? rc : end;
}

int jm_session_summary(struct jm_session *s, const struct jm_present *p, struct jm_str *out,
                       struct jm_err *err)
{
    enum jm_validity v = JM_V_VALID;
    bool json = s->cli->common->json;
    int rc = jm_present_file(s->cli, s->path.buf, p, json ? "json" : "text", out, &v, err);
    if (rc)
        return rc;
    if (!json)
        jm_str_addf(out, "\nRun file: %s\n", s->path.buf);
    return s->metered ? jm_present_exit(v) : JM_EXIT_INVALID;
}

int jm_session_show(struct jm_session *s, const struct jm_present *p, struct jm_cli *cli, struct jm_err *err)
{
    struct jm_str out;
    jm_str_init(&out);
    int rc = jm_session_summary(s, p, &out, err);
    if (rc >= 0)
        jm_cli_out(cli, jm_str_span(&out));
    jm_str_release(&out);
    return rc;
}

void jm_session_release(struct jm_session *s)
{
    if (s->dir[0]) {
        unlink(s->mark_socket);
        rmdir(s->dir);
    }
    jm_str_release(&s->path);
    jm_lengthen_free(s->lengthen);
    s->lengthen = NULL;
}
