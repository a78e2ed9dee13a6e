/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/client.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "mlperf/client_impl.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

/* --- the workload ----------------------------------------------------------------------------------------
 */

/* Waits for the workload, the Director's end and an interruption; without a pidfd it looks ten times a
 * second. */
static int wait_for(struct jm_client *c, int64_t pid, int *status, struct jm_err *err)
{
    const struct jm_mlperf_child_ops *ops = &c->conf->child;
#ifdef SYS_pidfd_open
    int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0u);
#else
    int pidfd = -1;
#endif
    int rc = 0;
    while (ops->poll(ops->self, pid, status) > 0) {
        struct pollfd p[] = {{c->conn->fd, POLLRDHUP, 0}, {pidfd, POLLIN, 0}, {c->conf->wake.fd, POLLIN, 0}};
        poll(p, 3, pidfd < 0 ? 100 : 500);
        if (c->conf->wake.cancel && *c->conf->wake.cancel)
            rc = jm_err_set(err, JM_ESTATE, "interrupted while the workload was running");
        else if (p[0].revents & (POLLRDHUP | POLLHUP | POLLERR))
            rc =
                jm_err_set(err, JM_ENET,
                           "the Director closed the connection while the workload was running; its log tells "
                           "why");
        if (rc)
            break;
    }
    if (pidfd >= 0)
        close(pidfd);
    if (rc) {
        ops->end(ops->self, pid, JM_CLIENT_GRACE_NS, status);
        jm_client_note(c, JM_LOG_WARN, "The workload was stopped");
    }
    return rc;
}

static int run_workload(struct jm_client *c, enum jm_mlperf_mode mode, int64_t *start, int64_t *end,
                        struct jm_err *err)
{
    const struct jm_mlperf_child_ops *ops = &c->conf->child;
    const char *argv[] = {"/bin/sh", "-c", c->conf->workload, NULL};
    int64_t pid;
    int status = 0;
    jm_client_note_quoted(c, "Running the workload ", jm_span_of(c->conf->workload));
    *start = jm_client_real(c);
    int rc = ops->start(ops->self, argv, NULL, -1, &pid, err);
    if (rc)
        return jm_err_prefix(err, "the workload cannot be started");
    rc = wait_for(c, pid, &status, err);
    *end = jm_client_real(c);
    c->ran[mode] = true;
    c->workload_status[mode] = c->report->workload_status = status;
    if (!rc && status)
        rc = jm_err_set(err, JM_EIO, "the workload ended with status %d in the %s phase%s: %.300s", status,
                        jm_mlperf_mode_name(mode),
                        status == 127   ? " (no such command)"
                        : status == 126 ? " (it cannot be run)"
                        : status > 128  ? " (ended by a signal)"
                                        : "",
                        c->conf->workload);
    return rc;
}

/* --- a phase ---------------------------------------------------------------------------------------------
 */

static int keep_logs(struct jm_client *c, enum jm_mlperf_mode mode, int64_t start, int64_t end,
                     struct jm_err *err)
{
    static const char *const file[] = {"mlperf_log_detail.txt", "mlperf_log_summary.txt"};
    char from[4096], dir[4096], path[4200], to[4096], rel[64];
    int others = 0;
    int rc = jm_mlperf_loadgen_find(c->conf->indir, start, end, from, &others, err);
    if (!rc)
        rc = jm_client_path(c, jm_mlperf_mode_dir(mode), dir, err);
    if (rc)
        return rc;
    if (others)
        jm_client_note(c, JM_LOG_WARN,
                       "%d more logs of LoadGen lie inside the workload's time; the longest run is taken",
                       others);
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, "Copying loadgen logs from ");
    jm_mlperf_quote(&s, jm_span_of(from));
    jm_str_adds(&s, " to ");
    jm_mlperf_quote(&s, jm_span_of(dir));
    jm_client_note_span(c, JM_LOG_INFO, jm_str_span(&s));
    jm_str_release(&s);
    if (mkdir(dir, 0777) && errno != EEXIST)
        return jm_err_sys(err, errno, "cannot make %s", dir);
    for (size_t i = 0; i < sizeof file / sizeof file[0] && !rc; i++) {
        snprintf(path, sizeof path, "%s/%s", from, file[i]);
        snprintf(rel, sizeof rel, "%s/%s", jm_mlperf_mode_dir(mode), file[i]);
        rc = jm_client_path(c, rel, to, err);
        if (!rc)
            rc = jm_mlperf_file_copy(path, to, err);
    }
    return rc;
}

static int phase(struct jm_client *c, enum jm_mlperf_mode mode, struct jm_err *err)
{
    static const char *const where[JM_MLPERF_MODES][4] = {
        {"ranging: clocks", "ranging: start", "ranging: workload", "ranging: stop"},
        {"testing: clocks", "testing: start", "testing: workload", "testing: stop"}};
    const char *name = jm_mlperf_mode_name(mode), *id = c->report->id;
    int64_t start = 0, end = 0;
    bool fixed = mode == JM_MLPERF_TESTING && c->conf->volts && c->conf->amps;
    jm_client_note(c, JM_LOG_INFO, "Running workload in %s mode", name);
    jm_client_stage(c, where[mode][0]);
    int rc = jm_client_synchronize(c, err);
    if (rc)
        return rc;
    jm_client_stage(c, where[mode][1]);
    jm_mlperf_summary_phase(c->summary, mode, 0, &c->conf->clock);
    if (fixed)
        rc = jm_client_ask(c, jm_client_measure_ns(c), err, "session,%s,start,%s,%s,%s", id, name,
                           c->conf->volts, c->conf->amps);
    else
        rc = jm_client_ask(c, jm_client_measure_ns(c), err, "session,%s,start,%s", id, name);
    if (rc)
        return rc;
    jm_mlperf_summary_phase(c->summary, mode, 1, &c->conf->clock);
    rc = jm_client_watch_clock(c, true, err);
    if (rc)
        return rc;
    jm_client_stage(c, where[mode][2]);
    rc = run_workload(c, mode, &start, &end, err);
    if (rc)
        return rc;
    rc = jm_client_watch_clock(c, false, err);
    if (rc)
        return rc;
    jm_client_stage(c, where[mode][3]);
    jm_mlperf_summary_phase(c->summary, mode, 2, &c->conf->clock);
    rc = jm_client_ask(c, jm_client_measure_ns(c), err, "session,%s,stop,%s", id, name);
    if (rc)
        return rc;
    jm_mlperf_summary_phase(c->summary, mode, 3, &c->conf->clock);
    rc = jm_client_watch_clock(c, false, err);
    return rc ? rc : keep_logs(c, mode, start, end, err);
}

/* --- beginning and end -----------------------------------------------------------------------------------
 */

static int make_dirs(struct jm_client *c, struct jm_err *err)
{
    char path[4096];
    int n = c->conf->flat ? snprintf(c->report->dir, 4096, "%s", c->conf->outdir)
                          : snprintf(c->report->dir, 4096, "%s/%s", c->conf->outdir, c->report->id);
    if (n < 0 || n >= 4096)
        return jm_err_set(err, JM_ELIMIT, "the path of OUTDIR is longer than 4095 bytes");
    if (!c->conf->flat && mkdir(c->report->dir, 0777))
        return jm_err_sys(err, errno, "cannot make the session's directory %s", c->report->dir);
    int rc = jm_client_path(c, "power", path, err);
    if (!rc && mkdir(path, 0777))
        rc = jm_err_sys(err, errno, "cannot make %s%s", path,
                        errno == EEXIST
                            ? " (another session lies there; give an OUTDIR of its own, or leave out -T)"
                            : "");
    return rc;
}

static int begin(struct jm_client *c, struct jm_err *err)
{
    struct jm_span reply;
    char text[512];
    jm_client_stage(c, "connect");
    int rc = jm_client_greet(c, err);
    if (!rc && c->conf->stop_server)
        rc = jm_client_ask(c, jm_client_reply_ns(c), err, "stop");
    if (rc)
        return rc;
    jm_client_stage(c, "clocks");
    rc = jm_client_synchronize(c, err);
    if (rc)
        return rc;
    jm_client_stage(c, "new session");
    rc = jm_mlperf_uuid_new(c->uuid, err);
    if (rc)
        return rc;
    snprintf(text, sizeof text, "new,%s,%s", c->conf->label, c->uuid);
    rc = jm_client_command(c, jm_client_reply_ns(c), text, &reply, err);
    if (!rc)
        rc = jm_mlperf_new_reply(reply, c->report->id, c->server_uuid, err);
    if (rc)
        return rc;
    jm_mlperf_summary_ids(c->summary, c->report->id, c->uuid, c->server_uuid);
    jm_client_note_quoted(c, "Session id is ", jm_span_of(c->report->id));
    jm_client_note(c, JM_LOG_INFO, "Sources: joulemark " JM_VERSION);
    return make_dirs(c, err);
}

int jm_mlperf_client_run(const struct jm_mlperf_client_conf *conf, struct jm_mlperf_client_report *report,
                         struct jm_err *err)
{
    struct jm_client c = {.conf = conf, .report = report, .recording = true};
    struct jm_err why = {0};
    *report = (struct jm_mlperf_client_report){.stage = "start", .clock_min_ms = NAN, .clock_max_ms = NAN};
    if (!conf->workload || !conf->workload[0])
        return jm_err_set(err, JM_EUSAGE, "no workload was given (-w CMD)");
    if (!jm_mlperf_label_ok(jm_span_of(conf->label)))
        return jm_err_set(err, JM_EUSAGE,
                          "the label \"%.100s\" is not allowed: letters, digits, - and _, at most %d",
                          conf->label, JM_MLPERF_LABEL);
    int rc = jm_mlperf_paths_check(conf->indir, conf->outdir, conf->force, err);
    if (!rc && conf->force)
        rc = jm_mlperf_tree_remove(conf->indir, err);
    if (rc)
        return rc;
    char probe[4096];
    if (snprintf(probe, sizeof probe, "%s/power", conf->outdir) >= (int)sizeof probe)
        return jm_err_set(err, JM_ELIMIT, "the path of OUTDIR is longer than 4095 bytes");
    rc = jm_file_mkparents(probe, err);
    if (rc)
        return jm_err_prefix(err, "OUTDIR");
    if (access(conf->outdir, W_OK | X_OK))
        return jm_err_sys(err, errno, "cannot write into OUTDIR (%s)", conf->outdir);
    c.conn = calloc(1, sizeof *c.conn);
    c.summary = jm_mlperf_summary_new(err);
    jm_str_init(&c.log);
    if (!c.conn || !c.summary) {
        free(c.conn);
        jm_mlperf_summary_free(c.summary);
        return jm_err_set(err, JM_ENOMEM, "out of memory at the start of a session");
    }
    c.conn->fd = -1;
    jm_mlperf_summary_zone(c.summary, jm_mlperf_utc_offset(jm_client_real(&c)));
    rc = begin(&c, &why);
    if (!rc && !(conf->volts && conf->amps))
        rc = phase(&c, JM_MLPERF_RANGING, &why);
    if (!rc)
        rc = phase(&c, JM_MLPERF_TESTING, &why);
    if (!rc)
        rc = jm_client_finish(&c, &why);
    if (rc) {
        why.code = rc;
        jm_client_give_up(&c, &why);
        jm_err_set(err, rc, "%s", why.text);
    }
    if (c.connected)
        jm_mlperf_conn_close(c.conn);
    free(c.conn);
    jm_mlperf_summary_free(c.summary);
    jm_str_release(&c.log);
    return rc;
}
