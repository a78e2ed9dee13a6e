/* SPDX-License-Identifier: Apache-2.0 */
/* The client's conversation: its log, commands and replies, clocks. */
#include "mlperf/client_impl.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "mlperf/ntp.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

#define CONNECT_NS (30 * JM_NS_PER_S)
#define LOG_LIMIT  ((size_t)8 << 20)

int64_t jm_client_real(const struct jm_client *c)
{
    struct jm_clock_pair p;
    jm_clock_pair(&c->conf->clock, &p);
    return p.real;
}

int64_t jm_client_after(const struct jm_client *c, int64_t ns)
{
    return jm_clock_mono(&c->conf->clock) + ns;
}

/* --- log -------------------------------------------------------------------------------------------------
 */

void jm_client_note_span(struct jm_client *c, enum jm_log_level level, struct jm_span text)
{
    int64_t t = jm_client_real(c);
    struct jm_str line;
    jm_str_init(&line);
    jm_mlperf_textlog(&line, "client", t, jm_mlperf_utc_offset(t), level, text);
    if (c->log.len + line.len <= LOG_LIMIT)
        jm_str_addspan(&c->log, jm_str_span(&line));
    jm_str_release(&line);
    jm_logf(&c->conf->log, level, "mlperf", "%.*s", (int)text.n, text.p);
}

void jm_client_note(struct jm_client *c, enum jm_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void jm_client_note(struct jm_client *c, enum jm_log_level level, const char *fmt, ...)
{
    struct jm_str text;
    va_list ap;
    jm_str_init(&text);
    va_start(ap, fmt);
    jm_str_addv(&text, fmt, ap);
    va_end(ap);
    jm_client_note_span(c, level, jm_str_span(&text));
    jm_str_release(&text);
}

/* fmt has one %s, which gets text as Python quotes it. */
void jm_client_note_quoted(struct jm_client *c, const char *before, struct jm_span text)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, before);
    jm_mlperf_quote(&s, text);
    jm_client_note_span(c, JM_LOG_INFO, jm_str_span(&s));
    jm_str_release(&s);
}

void jm_client_stage(struct jm_client *c, const char *name)
{
    c->report->stage = name;
    if (c->conf->progress)
        c->conf->progress(c->conf->progress_self, c->report);
}

/* --- commands --------------------------------------------------------------------------------------------
 */

/* One command and its reply, which stays valid until the next one; recorded as the public client does: the
 * moments right before the sending and right after the reply. */
int jm_client_command(struct jm_client *c, int64_t wait_ns, const char *text, struct jm_span *reply,
                      struct jm_err *err)
{
    jm_client_note_quoted(c, "Sending command to the server: ", jm_span_of(text));
    int64_t deadline = jm_client_after(c, wait_ns), t0 = jm_client_real(c);
    int rc = jm_mlperf_send(c->conn, jm_span_of(text), deadline, err);
    if (!rc)
        rc = jm_mlperf_recv(c->conn, deadline, reply, err);
    int64_t t1 = jm_client_real(c);
    if (rc)
        return jm_err_prefix(err, "after \"%.100s\"", text);
    jm_client_note_quoted(c, "Got response: ", *reply);
    return c->recording ? jm_mlperf_summary_message(c->summary, jm_span_of(text), t0, *reply, t1, err) : 0;
}

/* The same where only OK is right. */
static int ask(struct jm_client *c, int64_t wait_ns, const char *text, struct jm_err *err)
{
    struct jm_span reply;
    int rc = jm_client_command(c, wait_ns, text, &reply, err);
    if (rc || jm_span_is(reply, "OK"))
        return rc;
    struct jm_str said;
    jm_str_init(&said);
    jm_mlperf_quote(&said, jm_span_sub(reply, 0, 300));
    jm_err_set(err, JM_ECONFLICT, "the Director refused \"%.100s\": it said %s; its log tells why", text,
               said.buf);
    jm_str_release(&said);
    return JM_ECONFLICT;
}

int jm_client_ask(struct jm_client *c, int64_t wait_ns, struct jm_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int jm_client_ask(struct jm_client *c, int64_t wait_ns, struct jm_err *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return ask(c, wait_ns, text, err);
}

int64_t jm_client_reply_ns(const struct jm_client *c)
{
    return c->conf->reply_ns ? c->conf->reply_ns : JM_CLIENT_REPLY_NS;
}

int64_t jm_client_measure_ns(const struct jm_client *c)
{
    return c->conf->measure_ns ? c->conf->measure_ns : JM_CLIENT_MEASURE_NS;
}

/* --- clocks ----------------------------------------------------------------------------------------------
 */

/* Asks for the Director's time. JM_ECONFLICT: it differs by more than the limit. */
static int look_at_clock(struct jm_client *c, struct jm_err *err)
{
    struct jm_span reply;
    double remote;
    int64_t t0 = jm_client_real(c);
    int rc = jm_client_command(c, jm_client_reply_ns(c), "time", &reply, err);
    if (!rc)
        rc = jm_mlperf_time_reply(reply, &remote, err);
    if (rc)
        return rc;
    double before = jm_mlperf_unix(t0), then = jm_mlperf_unix(jm_client_real(c));
    double d0 = 1e3 * (before - remote), d1 = 1e3 * (then - remote);
    jm_client_note(c, JM_LOG_INFO,
                   "The time difference between the client and the server is within range %.3f ms..%.3f ms",
                   d0, d1);
    c->report->clock_min_ms =
        isnan(c->report->clock_min_ms) || d0 < c->report->clock_min_ms ? d0 : c->report->clock_min_ms;
    c->report->clock_max_ms =
        isnan(c->report->clock_max_ms) || d1 > c->report->clock_max_ms ? d1 : c->report->clock_max_ms;
    return jm_mlperf_clock_judge(before, remote, then, err);
}

static int look_at_ntp(struct jm_client *c, struct jm_err *err)
{
    struct jm_mlperf_ntp n;
    int rc =
        jm_mlperf_ntp_query(c->conf->ntp, &c->conf->clock, c->conf->wake, JM_MLPERF_NTP_TIMEOUT, &n, err);
    if (rc)
        return rc;
    jm_client_note(c, JM_LOG_INFO, "NTP:offset = %.3f s, delay = %.3f s ", n.offset_s, n.delay_s);
    if (!c->report->ntp.asked || fabs(n.offset_s) > fabs(c->report->ntp.offset_s)) {
        c->report->ntp.asked = true;
        c->report->ntp.offset_s = n.offset_s;
        c->report->ntp.delay_s = n.delay_s;
    }
    return jm_mlperf_ntp_judge(&n, err);
}

/* ntpdate sets this machine's clock, as the public client does. */
static int set_own_clock(struct jm_client *c, struct jm_err *err)
{
    const char *root[] = {"ntpdate", "-b", "--", c->conf->ntp, NULL};
    const char *user[] = {"sudo", "-n", "ntpdate", "-b", "--", c->conf->ntp, NULL};
    const struct jm_mlperf_child_ops *ops = &c->conf->child;
    int64_t pid, until = jm_client_after(c, 60 * JM_NS_PER_S);
    int status = 0;
    jm_client_note(c, JM_LOG_INFO, "Synchronizing with %s time using NTP...", c->conf->ntp);
    int rc = ops->start(ops->self, geteuid() ? user : root, NULL, -1, &pid, err);
    if (rc)
        return jm_err_prefix(err, "cannot set the clock");
    while (ops->poll(ops->self, pid, &status) > 0) {
        int64_t now = jm_clock_mono(&c->conf->clock);
        if (now > until || (c->conf->wake.cancel && *c->conf->wake.cancel)) {
            ops->end(ops->self, pid, JM_CLIENT_GRACE_NS, &status);
            return jm_err_set(err, JM_ETIMEOUT, "ntpdate did not end within 60 s, or was interrupted");
        }
        jm_clock_sleep_until(&c->conf->clock, now + 50 * JM_NS_PER_MS, c->conf->wake.cancel);
    }
    if (status)
        return jm_err_set(err, JM_EIO,
                          "ntpdate ended with status %d and did not set the clock; set it by hand (chrony, "
                          "systemd-timesyncd)",
                          status);
    jm_clock_sleep_until(&c->conf->clock, jm_client_after(c, JM_NS_PER_S), c->conf->wake.cancel);
    return 0;
}

static int compare_clocks(struct jm_client *c, struct jm_err *err)
{
    int rc = c->conf->ntp ? look_at_ntp(c, err) : 0;
    return rc ? rc : look_at_clock(c, err);
}

/* The check before a session and before each phase. */
int jm_client_synchronize(struct jm_client *c, struct jm_err *err)
{
    struct jm_err why = {0};
    struct jm_span reply;
    if (c->conf->ntp)
        jm_client_note(c, JM_LOG_INFO, "Synchronizing with the server and with %s...", c->conf->ntp);
    else
        jm_client_note(c, c->report->id[0] ? JM_LOG_INFO : JM_LOG_WARN,
                       "No NTP server is asked (--no-ntp): only the Director's clock is compared");
    int rc = compare_clocks(c, &why);
    if (rc == JM_ECONFLICT && c->conf->set_clock) {
        jm_client_note(c, JM_LOG_WARN, "%s", why.text);
        rc = jm_client_command(c, jm_client_measure_ns(c), "set_ntp", &reply, err);
        if (!rc && c->conf->ntp)
            rc = set_own_clock(c, err);
        return rc ? rc : compare_clocks(c, err);
    }
    return rc ? jm_err_set(err, rc, "%s", why.text) : 0;
}

/* The Director's clock once more, right before and after the workload and after stop: what is found is kept;
 * only before the workload does it end the session. */
int jm_client_watch_clock(struct jm_client *c, bool binding, struct jm_err *err)
{
    struct jm_err why = {0};
    int rc = look_at_clock(c, &why);
    if (rc == JM_ECONFLICT && !binding) {
        c->report->clock_off = true;
        jm_client_note(c, JM_LOG_WARN, "%s", why.text);
        return 0;
    }
    return rc ? jm_err_set(err, rc, "%s", why.text) : 0;
}

int jm_client_greet(struct jm_client *c, struct jm_err *err)
{
    struct jm_span reply;
    int rc = jm_mlperf_connect(c->conn, c->conf->addr, c->conf->port, &c->conf->clock, c->conf->wake,
                               "the Director", jm_client_after(c, CONNECT_NS), err);
    if (rc)
        return jm_err_prefix(err, "%s:%d", c->conf->addr, c->conf->port);
    c->connected = true;
    c->conn->limit = JM_MLPERF_LINE;
    jm_mlperf_keepalive(c->conn->fd);
    jm_client_stage(c, "handshake");
    rc = jm_client_command(c, jm_client_reply_ns(c), JM_MLPERF_MAGIC_CLIENT, &reply, err);
    if (rc || jm_span_is(reply, JM_MLPERF_MAGIC_SERVER))
        return rc;
    struct jm_str said;
    jm_str_init(&said);
    jm_mlperf_quote(&said, jm_span_sub(reply, 0, 100));
    jm_err_set(err, JM_EPARSE,
               "%s:%d is no Director of this protocol: it said %s instead of '" JM_MLPERF_MAGIC_SERVER "'",
               c->conf->addr, c->conf->port, said.buf);
    jm_str_release(&said);
    return JM_EPARSE;
}
