/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/ptd_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "mlperf/proto.h"
#include "mlperf/splw.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

#define LAST_WORD (10 * JM_NS_PER_S) /* for each command when the session is given up */

void jm_ptd_note(struct jm_ptd *p, enum jm_log_level level, const char *fmt, ...)
{
    struct jm_str s;
    va_list ap;
    jm_str_init(&s);
    va_start(ap, fmt);
    jm_str_addv(&s, fmt, ap);
    va_end(ap);
    p->io->log(p->io->self, level, s.buf);
    jm_str_release(&s);
}

static void note_said(struct jm_ptd *p, const struct jm_ptd_daemon *d, const char *what, struct jm_span text)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_addf(&s, "Analyzer [%d] %s: ", d->number, what);
    jm_mlperf_quote(&s, text);
    p->io->log(p->io->self, JM_LOG_INFO, s.buf);
    jm_str_release(&s);
}

/* The samples that a dead PTDaemon had written down itself go to the session, as evidence. */
static void keep_samples(struct jm_ptd *p, struct jm_ptd_daemon *d)
{
    struct jm_str to;
    jm_str_init(&to);
    jm_str_addf(&to, "%s/ptd_samples_analyzer_%d.txt", p->io->power_dir, d->number);
    if (!to.failed && rename(d->log_file, to.buf) == 0)
        jm_ptd_note(p, JM_LOG_WARN, "Analyzer [%d]: the samples that its PTDaemon wrote until then are in %s",
                    d->number, to.buf);
    jm_str_release(&to);
}

int jm_ptd_living(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err)
{
    int status;
    if (!d->launched || p->child->poll(p->child->self, d->pid, &status))
        return 0;
    d->launched = false;
    jm_mlperf_conn_close(&d->conn);
    if (d->measuring)
        keep_samples(p, d);
    d->measuring = false;
    if (status > 128)
        return jm_err_set(err, JM_ENET,
                          "%s was ended by signal %d; what it said is in ptd_logs_analyzer_%d.txt", d->peer,
                          status - 128, d->number);
    return jm_err_set(err, JM_ENET, "%s ended with status %d; what it said is in ptd_logs_analyzer_%d.txt",
                      d->peer, status, d->number);
}

static int64_t deadline(struct jm_ptd *p)
{
    int64_t most = p->config->ptd_timeout_ns;
    return jm_clock_mono(&p->clock) + (p->giving_up && most > LAST_WORD ? LAST_WORD : most);
}

/* After a failure to send or receive: the better reason is that it died. */
static int lost(struct jm_ptd *p, struct jm_ptd_daemon *d, const char *cmd, int rc, struct jm_err *err)
{
    struct jm_err why = {0};
    if (rc == JM_ENET && d->launched) {
        /* its end and the end of its connection are two events */
        for (int i = 0; i < 10; i++) {
            if (jm_ptd_living(p, d, &why)) {
                d->measuring = false;
                return jm_err_set(err, JM_ENET, "%s", why.text);
            }
            jm_clock_sleep_until(&p->clock, jm_clock_mono(&p->clock) + JM_PTD_POLL / 2, NULL);
        }
    }
    d->measuring = false;
    jm_mlperf_conn_close(&d->conn);
    return jm_err_prefix(err, "after \"%s\"", cmd);
}

static int send_cmd(struct jm_ptd *p, struct jm_ptd_daemon *d, const char *cmd, struct jm_err *err)
{
    int rc = jm_ptd_living(p, d, err);
    if (rc)
        return rc;
    note_said(p, d, "is sending to ptd", jm_span_of(cmd));
    rc = jm_mlperf_send(&d->conn, jm_span_of(cmd), deadline(p), err);
    return rc ? lost(p, d, cmd, rc, err) : 0;
}

static int get_reply(struct jm_ptd *p, struct jm_ptd_daemon *d, const char *cmd, struct jm_span *reply,
                     struct jm_err *err)
{
    d->conn.limit = JM_MLPERF_PTD_LINE;
    int rc = jm_mlperf_recv(&d->conn, deadline(p), reply, err);
    if (rc)
        return lost(p, d, cmd, rc, err);
    note_said(p, d, "received reply from ptd", *reply);
    return p->io->said(p->io->self, d->number, jm_span_of(cmd), *reply, err);
}

int jm_ptd_ask(struct jm_ptd *p, struct jm_ptd_daemon *d, const char *cmd, struct jm_span *reply,
               struct jm_err *err)
{
    int rc = send_cmd(p, d, cmd, err);
    return rc ? rc : get_reply(p, d, cmd, reply, err);
}

const char *jm_ptd_plain(struct jm_span reply, char buf[160])
{
    size_t n = reply.n < 159 ? reply.n : 159;
    if (n)
        memcpy(buf, reply.p, n);
    buf[n] = '\0';
    jm_text_plain(buf, n, false);
    return buf;
}

static int set_range(struct jm_ptd *p, struct jm_ptd_daemon *d, char what, const char *value,
                     struct jm_err *err)
{
    struct jm_span reply;
    char cmd[64], text[160];
    snprintf(cmd, sizeof cmd, "SR,%c,%s", what, value);
    int rc = jm_ptd_ask(p, d, cmd, &reply, err);
    if (!rc && jm_mlperf_ptd_is_error(reply))
        return jm_err_set(err, JM_ECONFLICT, "Error setting %s range: %s (analyzer %d answered \"%s\")",
                          what == 'V' ? "voltage" : "current", value, d->number, jm_ptd_plain(reply, text));
    if (!rc && !(jm_span_starts(reply, JM_SPAN("Range ")) && jm_span_ends(reply, JM_SPAN(" changed"))))
        jm_ptd_note(p, JM_LOG_WARN,
                    "Analyzer [%d] answered neither that the range was changed nor an error: \"%s\"",
                    d->number, jm_ptd_plain(reply, text));
    return rc;
}

/* --- the source ------------------------------------------------------------------------------------- */

/* The public tool starts each PTDaemon and sets its voltage range before the next one; so do we. */
static int ptd_open(void *self, const struct jm_mlperf_source_io *io, struct jm_err *err)
{
    struct jm_ptd *p = self;
    int rc = 0;
    p->io = io;
    p->giving_up = false;
    for (int i = 0; !rc && i < p->n; i++) {
        p->d[i].measuring = false;
        rc = jm_ptd_start(p, &p->d[i], err);
    }
    return rc;
}

static int prepare_ranging(struct jm_ptd *p, struct jm_err *err)
{
    int rc = 0;
    for (int i = 0; !rc && i < p->n; i++)
        rc = set_range(p, &p->d[i], 'V', "Auto", err);
    for (int again = 0; again < 2; again++)
        for (int i = 0; !rc && i < p->n; i++) {
            const struct jm_mlperf_device *dev = jm_mlperf_device(p->d[i].a->device_type);
            char value[24] = "Auto";
            bool most = p->config->ranging == JM_MLPERF_RANGE_MAX;
            if (most && dev && dev->max_amps)
                snprintf(value, sizeof value, "%d", dev->max_amps);
            else if (most && !again)
                jm_ptd_note(p, JM_LOG_WARN, "Unknown max range type for device %lld, using AUTO",
                            (long long)p->d[i].a->device_type);
            if (!again || value[0] == 'A')
                rc = set_range(p, &p->d[i], 'A', value, err);
        }
    return rc;
}

static int ptd_prepare(void *self, enum jm_mlperf_mode mode, const struct jm_mlperf_ranges *ranges,
                       struct jm_err *err)
{
    struct jm_ptd *p = self;
    int rc = 0;
    if (mode == JM_MLPERF_RANGING || !ranges)
        return prepare_ranging(p, err);
    for (int i = 0; !rc && i < p->n; i++) {
        rc = set_range(p, &p->d[i], 'V', ranges[i].volts, err);
        if (!rc)
            rc = set_range(p, &p->d[i], 'A', ranges[i].amps, err);
    }
    return rc;
}

static int ptd_go(void *self, enum jm_mlperf_mode mode, const char *mark, struct jm_err *err)
{
    struct jm_ptd *p = self;
    struct jm_span reply;
    char cmd[JM_MLPERF_ID + 64], text[160];
    int rc = 0;
    (void)mode;
    snprintf(cmd, sizeof cmd, "Go,1000,0,%s", mark);
    /* all at once: every one is told before the first is listened to */
    for (int i = 0; !rc && i < p->n; i++) {
        rc = send_cmd(p, &p->d[i], cmd, err);
        p->d[i].measuring = !rc;
    }
    for (int i = 0; !rc && i < p->n; i++) {
        rc = get_reply(p, &p->d[i], cmd, &reply, err);
        if (!rc && jm_mlperf_ptd_is_error(reply)) {
            p->d[i].measuring = false;
            rc = jm_err_set(err, JM_ECONFLICT, "analyzer %d does not start to measure: \"%s\"",
                            p->d[i].number, jm_ptd_plain(reply, text));
        } else if (!rc && !jm_span_starts(reply, JM_SPAN("Starting"))) {
            jm_ptd_note(p, JM_LOG_WARN, "Analyzer [%d] answered something else than that it starts: \"%s\"",
                        p->d[i].number, jm_ptd_plain(reply, text));
        }
    }
    return rc;
}

static int read_samples(struct jm_ptd *p, struct jm_ptd_daemon *d, int64_t n, int first,
                        const struct jm_mlperf_sink *sink, struct jm_err *err)
{
    struct jm_span line;
    int rc = 0;
    jm_ptd_note(p, JM_LOG_INFO, "Analyzer [%d] is trying to read %lld lines", d->number, (long long)n);
    d->conn.limit = JM_MLPERF_SAMPLE_LINE;
    for (int64_t i = 0; !rc && i < n; i++) {
        rc = jm_mlperf_recv(&d->conn, deadline(p), &line, err);
        if (rc) {
            rc = lost(p, d, "RL", rc, err);
            jm_err_prefix(err, "sample %lld of %lld", (long long)i + 1, (long long)n);
        } else {
            rc = sink->line(sink->self, d->number, first, line, err);
        }
    }
    return rc;
}

static int fetch(struct jm_ptd *p, struct jm_ptd_daemon *d, const struct jm_mlperf_sink *sink,
                 struct jm_err *err)
{
    struct jm_span reply;
    int64_t n = 0;
    int first = 1;
    int rc = jm_ptd_ask(p, d, "RL,*,*", &reply, err);
    if (!rc && jm_span_find(reply, JM_SPAN("Invalid number of parameters")) >= 0)
        rc = jm_ptd_ask(p, d, "RL", &reply, err); /* one channel */
    else if (!rc && jm_span_find(reply, JM_SPAN("Unknown command")) >= 0)
        rc = jm_ptd_ask(p, d, "DC-RL", &reply, err); /* direct current */
    if (!rc)
        rc = jm_mlperf_ptd_last(reply, &n, &first, err);
    if (!rc)
        rc = read_samples(p, d, n, first, sink, err);
    if (!rc)
        rc = jm_ptd_ask(p, d, "Uncertainty", &reply, err);
    if (!rc && !jm_span_starts(reply, JM_SPAN("Uncertainty,")))
        jm_ptd_note(p, JM_LOG_WARN, "Analyzer [%d] has more samples than it said, or no uncertainty",
                    d->number);
    return rc ? rc : jm_ptd_ask(p, d, "Watts", &reply, err);
}

static int stop(struct jm_ptd *p, struct jm_ptd_daemon *d, struct jm_err *err)
{
    struct jm_span reply;
    char text[160];
    int rc = jm_ptd_ask(p, d, "Stop", &reply, err);
    if (!rc)
        d->measuring = false;
    if (!rc && !jm_span_starts(reply, JM_SPAN("Stopping")))
        jm_ptd_note(p, JM_LOG_WARN, "Analyzer [%d] had stopped to measure by itself: \"%s\"", d->number,
                    jm_ptd_plain(reply, text));
    return rc;
}

static int collect_one(struct jm_ptd *p, struct jm_ptd_daemon *d, enum jm_mlperf_mode mode,
                       const struct jm_mlperf_sink *sink, struct jm_err *err)
{
    struct jm_span reply;
    struct jm_str text;
    size_t at = 0, n = 0;
    int rc = 0;
    jm_str_init(&text);
    if (mode == JM_MLPERF_TESTING) {
        rc = jm_ptd_ask(p, d, "Watts", &reply, err);
        jm_str_addf(&text, "Analyzer %d:\nPower: ", d->number);
        if (!rc)
            jm_str_addspan(&text, reply);
        if (!rc)
            rc = jm_ptd_ask(p, d, "Uncertainty", &reply, err);
        jm_str_adds(&text, " \nUncertainty: ");
        at = text.len;
        if (!rc)
            jm_str_addspan(&text, reply);
        n = text.len - at;
        jm_str_addc(&text, '\n');
    }
    if (!rc)
        rc = stop(p, d, err);
    if (!rc)
        rc = fetch(p, d, sink, err);
    if (!rc && text.len) {
        struct jm_mlperf_ptd_uncertainty u;
        if (jm_mlperf_ptd_uncertainty(jm_span_sub(jm_str_span(&text), at, n), &u) &&
            (u.above > 0 || u.unknown > 0))
            jm_ptd_note(
                p, JM_LOG_WARN,
                "Analyzer [%d]: of %lld samples %lld are more than 1 %% uncertain and %lld of unknown "
                "uncertainty; one of the former while the load runs makes the public checker fail the "
                "session",
                d->number, (long long)u.samples, (long long)u.above, (long long)u.unknown);
        rc = sink->note(sink->self, jm_str_span(&text), err);
    }
    jm_str_release(&text);
    return rc;
}

static void give_up(struct jm_ptd *p)
{
    static const struct jm_mlperf_wake never = {NULL, -1};
    p->giving_up = true;
    for (int i = 0; i < p->n; i++)
        p->d[i].conn.wake = never; /* what has to be said at the end is said */
}

static int ptd_collect(void *self, enum jm_mlperf_mode mode, bool aborted, const struct jm_mlperf_sink *sink,
                       struct jm_err *err)
{
    struct jm_ptd *p = self;
    int rc = 0;
    if (aborted)
        give_up(p);
    for (int i = 0; !rc && i < p->n; i++)
        rc = collect_one(p, &p->d[i], mode, sink, err);
    return rc;
}

static int ptd_alive(void *self, struct jm_err *err)
{
    struct jm_ptd *p = self;
    for (int i = 0; i < p->n; i++) {
        struct jm_ptd_daemon *d = &p->d[i];
        char c;
        int rc = jm_ptd_living(p, d, err);
        if (rc)
            return rc;
        if (d->conn.fd >= 0 && d->conn.from == d->conn.to &&
            recv(d->conn.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
            rc = jm_err_set(err, JM_ENET, "%s closed the connection", d->peer);
            return lost(p, d, "Go", rc, err);
        }
    }
    return 0;
}

static size_t ptd_fds(void *self, int *fd, size_t room)
{
    struct jm_ptd *p = self;
    size_t n = 0;
    for (int i = 0; i < p->n && n < room; i++)
        if (p->d[i].conn.fd >= 0)
            fd[n++] = p->d[i].conn.fd;
    return n;
}

static void restore(struct jm_ptd *p, struct jm_ptd_daemon *d)
{
    struct jm_err err = {0};
    int rc = 0;
    if (d->conn.fd < 0)
        return;
    if (d->measuring)
        rc = stop(p, d, &err);
    if (!rc && d->initial.volts[0]) {
        rc = set_range(p, d, 'V', d->initial.volts, &err);
        if (!rc || rc == JM_ECONFLICT)
            rc = set_range(p, d, 'A', d->initial.amps, &err);
        if (!rc)
            jm_ptd_note(p, JM_LOG_INFO, "Analyzer [%d] set initial values for Amps %s and Volts %s",
                        d->number, d->initial.amps, d->initial.volts);
    }
    if (rc)
        jm_ptd_note(p, JM_LOG_ERROR, "Analyzer [%d] could not be left as it was found: %s", d->number,
                    err.text);
}

static void ptd_close(void *self)
{
    struct jm_ptd *p = self;
    if (!p->io)
        return;
    give_up(p);
    for (int i = 0; i < p->n; i++) {
        struct jm_ptd_daemon *d = &p->d[i];
        int status;
        restore(p, d);
        jm_mlperf_conn_close(&d->conn);
        if (d->launched) {
            jm_ptd_note(p, JM_LOG_INFO, "Analyzer [%d] stopping ptd...", d->number);
            p->child->end(p->child->self, d->pid, JM_PTD_GRACE, &status);
        }
        d->launched = d->measuring = false;
        d->initial = (struct jm_mlperf_ranges){0};
        if (d->out_fd >= 0)
            close(d->out_fd);
        d->out_fd = -1;
    }
    p->io = NULL;
}

static int ptd_analyzers(void *self)
{
    return ((struct jm_ptd *)self)->n;
}

static bool ptd_simulated(void *self)
{
    return ((struct jm_ptd *)self)->simulated;
}

static const struct jm_mlperf_source_ops ptd_ops = {
    .name = "ptd",
    .official = true,
    .simulated = ptd_simulated,
    .describe = jm_ptd_describe,
    .analyzers = ptd_analyzers,
    .open = ptd_open,
    .prepare = ptd_prepare,
    .go = ptd_go,
    .collect = ptd_collect,
    .alive = ptd_alive,
    .fds = ptd_fds,
    .close = ptd_close,
};

int jm_mlperf_ptd_new(const struct jm_mlperf_config *config, const struct jm_mlperf_child_ops *child,
                      const char *work_dir, const struct jm_clock *clock, struct jm_mlperf_wake wake,
                      struct jm_mlperf_source *out, struct jm_err *err)
{
    struct jm_ptd *p = calloc(1, sizeof *p);
    int rc = 0;
    *out = (struct jm_mlperf_source){.ops = &ptd_ops, .self = p};
    if (!p)
        return jm_err_set(err, JM_ENOMEM, "no memory for the PTDaemons");
    p->config = config;
    p->child = child;
    p->clock = *clock;
    p->wake = wake;
    for (int i = 0; !rc && i < config->n_analyzers; i++) {
        struct jm_ptd_daemon *d = &p->d[p->n++];
        struct jm_str path;
        d->a = &config->analyzer[i];
        d->number = i + 1;
        snprintf(d->peer, sizeof d->peer, "PTDaemon of analyzer %d", d->number);
        d->conn.fd = d->out_fd = -1;
        jm_str_init(&path);
        jm_str_addf(&path, "%s/ptd_logfile_%d.log", work_dir, d->number);
        d->log_file = jm_str_detach(&path);
        jm_str_release(&path);
        if (!d->log_file)
            rc = jm_err_set(err, JM_ENOMEM, "no memory for the PTDaemons");
    }
    if (rc)
        jm_mlperf_ptd_free(out);
    return rc;
}

void jm_mlperf_ptd_free(struct jm_mlperf_source *s)
{
    struct jm_ptd *p = s->self;
    if (!p)
        return;
    ptd_close(p);
    for (int i = 0; i < p->n; i++)
        free(p->d[i].log_file);
    free(p);
    s->self = NULL;
}
