/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the Director: its commands and the replies. */
#include "mlperf/dserve.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

#define HANDSHAKE (30 * JM_NS_PER_S)
#define SENDING   (30 * JM_NS_PER_S)
#define NTP_PAUSE (16 * JM_NS_PER_S) /* RFC 4330, section 10: never more often than every 15 s */
#define LOG_LIMIT ((size_t)16 << 20)

static int64_t real_now(const struct jm_mlperf_serving *v)
{
    struct jm_clock_pair p;
    jm_clock_pair(&v->d->clock, &p);
    return p.real;
}

static int64_t in(const struct jm_mlperf_serving *v, int64_t ns)
{
    return jm_clock_mono(&v->d->clock) + ns;
}

void jm_mlperf_serving_log(struct jm_mlperf_serving *v, enum jm_log_level level, const char *fmt, ...)
{
    struct jm_str text;
    va_list ap;
    int64_t now = real_now(v);
    jm_str_init(&text);
    va_start(ap, fmt);
    jm_str_addv(&text, fmt, ap);
    va_end(ap);
    jm_logf(v->d->log, level, "mlperf", "%s", text.buf);
    if (v->log.len > LOG_LIMIT)
        v->log_full = true;
    else if (v->client)
        jm_mlperf_textlog(&v->log, "ptd-server", now, jm_mlperf_utc_offset(now), level, jm_str_span(&text));
    jm_str_release(&text);
}

static void log_quoted(struct jm_mlperf_serving *v, const char *what, struct jm_span text)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, what);
    jm_mlperf_quote(&s, text);
    jm_mlperf_serving_log(v, JM_LOG_INFO, "%s", s.buf);
    jm_str_release(&s);
}

/* --- the end of a session ----------------------------------------------------------------------------- */

static int write_log(struct jm_mlperf_serving *v, const char *dir, struct jm_err *err)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/power/server.log", dir);
    FILE *f = fopen(path, "we");
    bool bad = !f || fwrite(v->log.buf, 1, v->log.len, f) != v->log.len ||
               (v->log_full && fputs("(more was said; this log is full)\n", f) < 0);
    int e = errno;
    if (f && fclose(f)) {
        bad = true;
        e = errno;
    }
    if (!bad)
        return jm_str_ok(&v->log, "server.log", err);
    return jm_err_sys(err, e, "cannot write %s", path);
}

/* reason NULL: as the client asked. */
static int end_session(struct jm_mlperf_serving *v, const char *reason, struct jm_err *err)
{
    struct jm_mlperf_dsession *s = v->session;
    struct jm_err log_err = {0}, save_err = {0};
    if (!s)
        return 0;
    v->session = NULL;
    if (reason)
        jm_mlperf_serving_log(v, JM_LOG_ERROR, "Session %s ended early: %s", s->id, reason);
    jm_mlperf_serving_doing(v, "putting the analyzer back");
    jm_mlperf_dsession_end(s, reason);
    int log_rc = write_log(v, s->dir, &log_err);
    int rc = jm_mlperf_dsession_save(s, reason, v->ntp_known ? &v->ntp : NULL, &save_err);
    if (log_rc || rc)
        jm_err_set(err, log_rc ? log_rc : rc, "%s", log_rc ? log_err.text : save_err.text);
    v->last_broken = reason || log_rc || rc;
    v->broken += v->last_broken;
    snprintf(v->failed, sizeof v->failed, "%s", reason ? reason : "");
    if (v->last_broken)
        jm_logf(v->d->log, JM_LOG_WARN, "mlperf", "what there is of session %s is kept in %s", s->id, s->dir);
    jm_mlperf_dsession_free(s);
    return log_rc ? log_rc : rc;
}

/* --- commands ------------------------------------------------------------------------------------------ */

static void say_error(struct jm_str *reply, const struct jm_err *why)
{
    struct jm_span t = jm_span_of(why->text);
    if (!jm_span_starts(t, JM_SPAN("Error")))
        jm_str_adds(reply, "Error: ");
    size_t at = reply->len;
    jm_str_addspan(reply, t);
    jm_text_plain(reply->buf + at, reply->len - at, false);
}

/* A Director may run for days: its clock is looked at again for each session. A server that is silent now was
 * not at the start, and stops nobody; a clock that is off does. */
static int look_at_clock(struct jm_mlperf_serving *v, struct jm_err *err)
{
    const struct jm_mlperf_config *c = v->d->config;
    struct jm_err why = {0};
    if (!c->ntp_server[0] || (v->ntp_known && jm_clock_mono(&v->d->clock) - v->ntp_at < NTP_PAUSE))
        return 0;
    v->ntp_at = jm_clock_mono(&v->d->clock);
    int rc = jm_mlperf_keep_time(c->ntp_server, v->d->set_clock, v->d->child, &v->d->clock, v->d->wake,
                                 &v->ntp, &why);
    v->ntp_known = !rc;
    if (!rc)
        jm_mlperf_serving_log(v, JM_LOG_INFO, "NTP:offset = %.3f s, delay = %.3f s", v->ntp.offset_s,
                              v->ntp.delay_s);
    else if (rc != JM_ECONFLICT && rc != JM_ESTATE)
        jm_mlperf_serving_log(v, JM_LOG_WARN, "the clock could not be checked again: %s", why.text);
    else
        return jm_err_set(err, rc, "%s", why.text);
    return 0;
}

static void do_new(struct jm_mlperf_serving *v, const struct jm_mlperf_cmd *cmd, struct jm_str *reply)
{
    char client[JM_MLPERF_UUID], server[JM_MLPERF_UUID];
    struct jm_err err = {0};
    if (!jm_mlperf_label_ok(cmd->label)) {
        jm_str_adds(reply, "Error: invalid label");
        return;
    }
    if (!jm_mlperf_uuid_parse(cmd->uuid, client)) {
        jm_str_adds(reply, "Error: that is no UUID");
        return;
    }
    if (!v->summary) {
        jm_str_adds(reply, "Error: one session a connection; connect again for the next");
        return;
    }
    if (v->session) {
        end_session(v, "the client began another session", &err);
        jm_mlperf_summary_restart(v->summary);
    }
    int rc = look_at_clock(v, &err);
    if (!rc)
        rc = jm_mlperf_uuid_new(server, &err);
    if (!rc)
        rc = jm_mlperf_dsession_new(&v->host, v->summary, cmd->label, &v->session, &err);
    if (rc) {
        say_error(reply, &err);
        return;
    }
    v->sessions++;
    v->failed[0] = '\0';
    jm_mlperf_summary_ids(v->summary, v->session->id, client, server);
    snprintf(v->last_id, sizeof v->last_id, "%s", v->session->id);
    snprintf(v->last_dir, sizeof v->last_dir, "%s", v->session->dir);
    v->last_broken = false;
    jm_str_addf(reply, "OK %s,%s", v->session->id, server);
}

static bool range_ok(struct jm_span s, char out[40])
{
    double x;
    if (s.n >= 40 || jm_num_double(s, &x) || !(x > 0) || x > 1e6)
        return false;
    snprintf(out, 40, "%.*s", (int)s.n, s.p);
    return true;
}

static void do_session(struct jm_mlperf_serving *v, const struct jm_mlperf_cmd *cmd, struct jm_str *reply)
{
    struct jm_mlperf_ranges fixed;
    struct jm_err err = {0};
    int rc;
    bool any = jm_span_is(cmd->session, "*");
    if (!v->session && v->failed[0] && (any || jm_span_is(cmd->session, v->last_id))) {
        jm_err_set(&err, JM_ESTATE, "the session has ended: %s", v->failed);
        say_error(reply, &err);
        return;
    }
    if (!v->session || !(any || jm_span_is(cmd->session, v->session->id))) {
        jm_str_adds(reply, "Error: unknown session");
        return;
    }
    if (cmd->verb == JM_MLPERF_V_SESSION_DONE) {
        enum jm_mlperf_state state = v->session->state;
        char early[96];
        snprintf(early, sizeof early, "the client ended it in the state %s", jm_mlperf_state_name(state));
        rc = end_session(v, state == JM_MLPERF_INITIAL || state == JM_MLPERF_TESTING_DONE ? NULL : early,
                         &err);
        /* what comes after it belongs to no summary, as in the public tool */
        jm_mlperf_summary_free(v->summary);
        v->summary = NULL;
        jm_mlperf_serving_doing(v, "handing over the files");
    } else if (cmd->verb == JM_MLPERF_V_SESSION_START) {
        if (cmd->fixed && (!range_ok(cmd->volts, fixed.volts) || !range_ok(cmd->amps, fixed.amps))) {
            jm_str_adds(reply, "Error: the ranges are two numbers above 0, volts and amperes");
            return;
        }
        jm_mlperf_serving_doing(v, cmd->mode == JM_MLPERF_RANGING ? "preparing to range"
                                                                  : "preparing to measure");
        rc = jm_mlperf_dsession_start(v->session, cmd->mode, cmd->fixed ? &fixed : NULL, &err);
        jm_mlperf_serving_doing(v, cmd->mode == JM_MLPERF_RANGING ? "ranging" : "measuring");
    } else {
        jm_mlperf_serving_doing(v, "reading the samples");
        rc = jm_mlperf_dsession_stop(v->session, cmd->mode, &err);
        jm_mlperf_serving_doing(v, "between phases");
    }
    if (!rc) {
        jm_str_adds(reply, "OK");
        return;
    }
    say_error(reply, &err);
    /* a command at the wrong moment harms nothing; a measurement that failed is over */
    if (v->session && rc != JM_ESTATE)
        end_session(v, err.text, NULL);
}

/* false: the file was sent, there is no reply. */
static bool do_download(struct jm_mlperf_serving *v, const struct jm_mlperf_cmd *cmd, struct jm_str *reply,
                        int *failed, struct jm_err *err)
{
    const char *file = NULL;
    char path[4300];
    if (!v->last_id[0] || !jm_span_is(cmd->session, v->last_id)) {
        jm_str_adds(reply, "Error");
        return true;
    }
    for (int i = 0; jm_mlperf_fetch_files[i]; i++)
        if (jm_span_is(cmd->file, jm_mlperf_fetch_files[i]))
            file = jm_mlperf_fetch_files[i];
    if (!file) {
        jm_str_adds(reply, "Error");
        return true;
    }
    snprintf(path, sizeof path, "%s/%s", v->last_dir, file);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        jm_str_addf(reply, "Error: there is no %s in this session", file);
        return true;
    }
    *failed = jm_mlperf_send_file(v->client, fd, SENDING, err);
    close(fd);
    return false;
}

static void do_cleanup(struct jm_mlperf_serving *v, const struct jm_mlperf_cmd *cmd, struct jm_str *reply)
{
    struct jm_err err = {0};
    if (!v->last_id[0] || !jm_span_is(cmd->session, v->last_id)) {
        jm_str_adds(reply, "Error");
        return;
    }
    if (v->session) {
        jm_str_adds(reply, "Error: the session is not done yet");
        return;
    }
    if (v->last_broken || v->d->config->keep)
        jm_mlperf_serving_log(v, JM_LOG_INFO, "The session is kept in %s", v->last_dir);
    else if (jm_mlperf_remove_tree(v->last_dir, &err)) {
        say_error(reply, &err);
        return;
    }
    v->last_id[0] = '\0';
    jm_str_adds(reply, "OK");
}

static void do_set_ntp(struct jm_mlperf_serving *v, struct jm_str *reply)
{
    const struct jm_mlperf_config *c = v->d->config;
    struct jm_err err = {0};
    if (!c->ntp_server[0])
        jm_str_adds(reply, "Error: the Director has no NTP server");
    else if (jm_mlperf_keep_time(c->ntp_server, v->d->set_clock, v->d->child, &v->d->clock, v->d->wake,
                                 &v->ntp, &err))
        say_error(reply, &err);
    else {
        v->ntp_known = true;
        jm_str_adds(reply, "OK");
    }
}

static bool handle(struct jm_mlperf_serving *v, struct jm_span line, struct jm_str *reply, int *failed,
                   struct jm_err *err)
{
    struct jm_mlperf_cmd cmd;
    char text[JM_MLPERF_REPR];
    jm_mlperf_cmd_parse(line, &cmd);
    switch (cmd.verb) {
    case JM_MLPERF_V_TIME: jm_str_adds(reply, jm_mlperf_repr(jm_mlperf_unix(real_now(v)), text)); break;
    case JM_MLPERF_V_SET_NTP: do_set_ntp(v, reply); break;
    case JM_MLPERF_V_STOP:
        jm_mlperf_serving_log(v, JM_LOG_INFO, "The server will be stopped after processing this client");
        v->stop = true;
        jm_str_adds(reply, "OK");
        break;
    case JM_MLPERF_V_NEW: do_new(v, &cmd, reply); break;
    case JM_MLPERF_V_SESSION_START:
    case JM_MLPERF_V_SESSION_STOP:
    case JM_MLPERF_V_SESSION_DONE: do_session(v, &cmd, reply); break;
    case JM_MLPERF_V_SESSION_UNKNOWN:
        if (!v->session || !(jm_span_is(cmd.session, "*") || jm_span_is(cmd.session, v->session->id)))
            jm_str_adds(reply, "Error: unknown session");
        else
            jm_str_adds(reply, "Error Unknown session command");
        break;
    case JM_MLPERF_V_DOWNLOAD: return do_download(v, &cmd, reply, failed, err);
    case JM_MLPERF_V_CLEANUP: do_cleanup(v, &cmd, reply); break;
    case JM_MLPERF_V_UNKNOWN: jm_str_adds(reply, "Error"); break;
    }
    return true;
}

/* --- the conversation ------------------------------------------------------------------------------------
 */

/* How long the client may be silent now. */
static int64_t patience(const struct jm_mlperf_serving *v)
{
    const struct jm_mlperf_dsession *s = v->session;
    bool measuring = s && (s->state == JM_MLPERF_STATE_RANGING || s->state == JM_MLPERF_STATE_TESTING);
    return measuring ? v->d->config->run_ns : v->d->config->idle_ns;
}

/* The next line, while everything else is looked after. */
static int next_line(struct jm_mlperf_serving *v, int64_t until, struct jm_span *line, struct jm_err *err)
{
    for (;;) {
        bool readable = false;
        int rc = jm_mlperf_recv(v->client, jm_clock_mono(&v->d->clock), line, err);
        if (rc != JM_ETIMEOUT)
            return rc;
        int64_t left = until - jm_clock_mono(&v->d->clock);
        if (left <= 0)
            return rc;
        rc = jm_mlperf_serving_wait(v, left, false, &readable, err);
        if (rc ==
            JM_EAGAIN) { /* the source failed while the client is busy; it is told at its next command */
            char reason[1024];
            snprintf(reason, sizeof reason, "%s", err->text);
            end_session(v, reason, NULL);
        } else if (rc) {
            return rc;
        }
    }
}

static int one_command(struct jm_mlperf_serving *v, struct jm_str *reply, struct jm_err *err)
{
    char copy[JM_MLPERF_LINE + 1];
    struct jm_span line;
    int rc = next_line(v, in(v, patience(v)), &line, err), failed = 0;
    if (rc)
        return rc;
    int64_t asked = real_now(v);
    memcpy(copy, line.p, line.n); /* the buffer may move on */
    line.p = copy;
    log_quoted(v, "Got command from the client ", line);
    jm_str_reset(reply);
    if (!handle(v, line, reply, &failed, err))
        return failed;
    log_quoted(v, "Sending reply to client ", jm_str_span(reply));
    rc = jm_str_ok(reply, "a reply", err);
    if (!rc && v->summary)
        rc = jm_mlperf_summary_message(v->summary, line, asked, jm_str_span(reply), real_now(v), err);
    if (!rc)
        rc = jm_mlperf_send(v->client, jm_str_span(reply), in(v, SENDING), err);
    return rc;
}

static int handshake(struct jm_mlperf_serving *v, struct jm_err *err)
{
    struct jm_span line;
    char copy[JM_MLPERF_LINE + 1];
    int rc = next_line(v, in(v, HANDSHAKE), &line, err);
    if (rc)
        return rc;
    int64_t now = real_now(v);
    memcpy(copy, line.p, line.n);
    line.p = copy;
    rc = jm_mlperf_summary_message(v->summary, line, now, JM_SPAN(JM_MLPERF_MAGIC_SERVER), real_now(v), err);
    if (!rc)
        rc = jm_mlperf_send(v->client, JM_SPAN(JM_MLPERF_MAGIC_SERVER), in(v, SENDING), err);
    if (rc || jm_span_is(line, JM_MLPERF_MAGIC_CLIENT))
        return rc;
    size_t n = line.n < 80 ? line.n : 80;
    jm_text_plain(copy, n, false);
    return jm_err_set(err, JM_EPARSE,
                      "what connected is no client of version 3 of the protocol: it began with "
                      "\"%.*s\"",
                      (int)n, copy);
}

void jm_mlperf_serve_client(struct jm_mlperf_serving *v)
{
    struct jm_err err = {0};
    struct jm_str reply;
    int rc = 0;
    jm_str_init(&reply);
    jm_str_reset(&v->log);
    v->log_full = false;
    v->last_id[0] = v->failed[0] = '\0';
    v->summary = jm_mlperf_summary_new(&err);
    rc = v->summary ? 0 : JM_ENOMEM;
    int64_t now = real_now(v);
    if (!rc) {
        jm_mlperf_summary_zone(v->summary, jm_mlperf_utc_offset(now));
        jm_mlperf_serving_doing(v, "greeting a client");
        rc = handshake(v, &err);
    }
    if (!rc)
        jm_mlperf_serving_doing(v, "the client prepares");
    while (!rc)
        rc = one_command(v, &reply, &err);
    if (v->session) {
        char reason[1100];
        if (rc == JM_ENET)
            snprintf(reason, sizeof reason, "the client went away in the state %s",
                     jm_mlperf_state_name(v->session->state));
        else
            snprintf(reason, sizeof reason, "%s", err.text);
        if (rc == JM_ETIMEOUT)
            snprintf(reason, sizeof reason, "the client was silent for %.0f s in the state %s",
                     (double)patience(v) / 1e9, jm_mlperf_state_name(v->session->state));
        end_session(v, reason, NULL);
    } else if (rc == JM_ENET) {
        jm_mlperf_serving_log(v, JM_LOG_INFO, "Connection closed");
    } else {
        jm_mlperf_serving_log(v, JM_LOG_WARN, "The connection ends: %s", err.text);
    }
    jm_mlperf_summary_free(v->summary);
    v->summary = NULL;
    jm_str_release(&reply);
}
