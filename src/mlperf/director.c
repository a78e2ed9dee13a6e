/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/director.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "mlperf/dserve.h"

#include "base/banned.h"

#define AWAY (2 * JM_NS_PER_S)

void jm_mlperf_serving_doing(struct jm_mlperf_serving *v, const char *what)
{
    v->doing = what;
    v->since = jm_clock_mono(&v->d->clock);
    if (v->d->progress) {
        struct jm_mlperf_progress p = {what, v->session ? v->session->id : "", 0};
        v->d->progress(v->d->self, &p);
    }
}

/* One that connects while a client is served. */
static void turn_away(struct jm_mlperf_serving *v, int fd)
{
    char text[JM_MLPERF_ID + 160];
    int n = snprintf(text, sizeof text,
                     "Error: the Director is busy with another client%s%s; it serves one at a time, so try "
                     "again later\r\n",
                     v->session ? ", session " : "", v->session ? v->session->id : "");
    jm_mlperf_serving_log(v, JM_LOG_WARN, "A second client was turned away");
    if (send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        /* it is gone already */
    }
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < JM_MLPERF_TURNED_AWAY; i++)
        if (v->away[i].fd < 0) {
            v->away[i].fd = fd;
            v->away[i].until = jm_clock_mono(&v->d->clock) + AWAY;
            return;
        }
    close(fd);
}

static void look_at_those_away(struct jm_mlperf_serving *v, bool all)
{
    char buf[512];
    for (int i = 0; i < JM_MLPERF_TURNED_AWAY; i++) {
        if (v->away[i].fd < 0)
            continue;
        /* what it sent is read, else closing would destroy what was sent to it */
        ssize_t n = recv(v->away[i].fd, buf, sizeof buf, MSG_DONTWAIT);
        if (all || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
            jm_clock_mono(&v->d->clock) > v->away[i].until) {
            close(v->away[i].fd);
            v->away[i].fd = -1;
        }
    }
}

static bool measuring(const struct jm_mlperf_serving *v)
{
    return v->session && v->session->opened &&
           (v->session->state == JM_MLPERF_STATE_RANGING || v->session->state == JM_MLPERF_STATE_TESTING);
}

int jm_mlperf_serving_wait(struct jm_mlperf_serving *v, int64_t ns, bool watch_gone, bool *readable,
                           struct jm_err *err)
{
    const struct jm_mlperf_director *d = v->d;
    int64_t until = jm_clock_mono(&d->clock) + ns;
    *readable = false;
    for (;;) {
        struct pollfd p[3 + JM_MLPERF_ANALYZERS];
        int fds[JM_MLPERF_ANALYZERS];
        size_t n = 3, n_fds = 0;
        int64_t now = jm_clock_mono(&d->clock), left = until - now;
        if (d->wake.cancel && *d->wake.cancel)
            return jm_err_set(err, JM_ESTATE, "the Director was told to end");
        if (d->progress) {
            struct jm_mlperf_progress g = {v->doing, v->session ? v->session->id : "",
                                           (double)(now - v->since) / 1e9};
            d->progress(d->self, &g);
        }
        if (left <= 0)
            return 0;
        p[0] =
            (struct pollfd){v->client ? v->client->fd : -1, watch_gone ? POLLRDHUP : POLLIN | POLLRDHUP, 0};
        p[1] = (struct pollfd){v->door, POLLIN, 0};
        p[2] = (struct pollfd){d->wake.cancel ? d->wake.fd : -1, POLLIN, 0};
        if (measuring(v) && d->source.ops->fds)
            n_fds = d->source.ops->fds(d->source.self, fds, JM_MLPERF_ANALYZERS);
        for (size_t i = 0; i < n_fds; i++)
            p[n++] = (struct pollfd){fds[i], POLLIN | POLLRDHUP, 0};
        int ms = left > JM_NS_PER_S ? 1000 : (int)((left + JM_NS_PER_MS - 1) / JM_NS_PER_MS);
        int got = poll(p, (nfds_t)n, ms);
        if (got < 0 && errno != EINTR)
            return jm_err_sys(err, errno, "cannot wait for a client");
        look_at_those_away(v, false);
        if (measuring(v) && d->source.ops->alive(d->source.self, err))
            return JM_EAGAIN;
        /* before the door: the next client may have come because this one has gone */
        if (got > 0 && p[0].revents) {
            if (watch_gone)
                return jm_err_set(err, JM_ENET, "the client closed the connection");
            *readable = true;
            return 0;
        }
        if (got > 0 && p[1].revents) {
            int fd = accept4(v->door, NULL, NULL, SOCK_CLOEXEC);
            if (fd >= 0)
                turn_away(v, fd);
        }
    }
}

/* --- what a session gets -------------------------------------------------------------------------------- */

static void host_log(void *self, enum jm_log_level level, const char *text)
{
    jm_mlperf_serving_log(self, level, "%s", text);
}

static int host_settle(void *self, int64_t ns, struct jm_err *err)
{
    bool readable;
    int rc = jm_mlperf_serving_wait(self, ns, true, &readable, err);
    /* a failed source ends the session, whoever waits */
    return rc == JM_EAGAIN ? err->code ? err->code : JM_EIO : rc;
}

static bool host_over(void *self)
{
    const struct jm_mlperf_serving *v = self;
    struct pollfd p = {v->client ? v->client->fd : -1, POLLRDHUP, 0};
    if (v->d->wake.cancel && *v->d->wake.cancel)
        return true;
    return v->client && poll(&p, 1, 0) > 0 && p.revents;
}

/* --- start
 * -------------------------------------------------------------------------------------------------- */

static void try_log(void *self, enum jm_log_level level, const char *text)
{
    const struct jm_mlperf_director *d = self;
    jm_logf(d->log, level, "mlperf", "%s", text);
}

static int try_said(void *self, int analyzer, struct jm_span cmd, struct jm_span reply, struct jm_err *err)
{
    (void)self, (void)analyzer, (void)cmd, (void)reply, (void)err;
    return 0;
}

static bool try_over(void *self)
{
    const struct jm_mlperf_director *d = self;
    return d->wake.cancel && *d->wake.cancel;
}

/* The source is opened and closed once, so that what is wrong with it is known before a client comes. */
static int try_source(const struct jm_mlperf_director *d, struct jm_err *err)
{
    const struct jm_mlperf_source_io io = {
        (void *)(uintptr_t)d, d->clock, d->config->out_dir, try_log, try_said, try_over};
    int rc = d->source.ops->open(d->source.self, &io, err);
    d->source.ops->close(d->source.self);
    for (int i = 1; !rc && i <= d->source.ops->analyzers(d->source.self); i++) {
        char path[4300];
        snprintf(path, sizeof path, "%s/ptd_logs_analyzer_%d.txt", d->config->out_dir, i);
        unlink(path); /* what it printed matters only when it did not work */
    }
    return rc ? jm_err_prefix(err, "the source of samples does not work (its files are in %s)",
                              d->config->out_dir)
              : 0;
}

static int prepare(struct jm_mlperf_serving *v, struct jm_err *err)
{
    const struct jm_mlperf_director *d = v->d;
    struct jm_str path;
    int bound, rc;
    jm_str_init(&path);
    jm_str_addf(&path, "%s/x", d->config->out_dir);
    rc = jm_str_ok(&path, "a path", err);
    if (!rc)
        rc = jm_file_mkparents(path.buf, err);
    jm_str_release(&path);
    if (!rc && d->config->ntp_server[0]) {
        rc = jm_mlperf_keep_time(d->config->ntp_server, d->set_clock, d->child, &d->clock, d->wake, &v->ntp,
                                 err);
        v->ntp_known = !rc;
        v->ntp_at = jm_clock_mono(&d->clock);
        if (!rc)
            jm_logf(d->log, JM_LOG_INFO, "mlperf", "NTP:offset = %.3f s, delay = %.3f s", v->ntp.offset_s,
                    v->ntp.delay_s);
    }
    if (!rc)
        rc = try_source(d, err);
    if (!rc)
        rc = jm_mlperf_listen(d->config->host, d->config->port, &v->door, &bound, err);
    if (!rc && d->ready)
        d->ready(d->self, d->config->host, bound);
    return rc;
}

static int accept_next(struct jm_mlperf_serving *v, struct jm_mlperf_conn *conn, struct jm_err *err)
{
    const struct jm_mlperf_director *d = v->d;
    for (;;) {
        struct pollfd p[2] = {{v->door, POLLIN, 0}, {d->wake.cancel ? d->wake.fd : -1, POLLIN, 0}};
        if (d->wake.cancel && *d->wake.cancel)
            return jm_err_set(err, JM_ESTATE, "the Director was told to end");
        look_at_those_away(v, false);
        if (d->progress) {
            struct jm_mlperf_progress g = {v->doing, "", (double)(jm_clock_mono(&d->clock) - v->since) / 1e9};
            d->progress(d->self, &g);
        }
        int n = poll(p, 2, 500);
        if (n < 0 && errno != EINTR)
            return jm_err_sys(err, errno, "cannot wait for a client");
        if (n <= 0 || !p[0].revents)
            continue;
        int fd = accept4(v->door, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        jm_mlperf_keepalive(fd);
        jm_mlperf_conn_init(conn, fd, &d->clock, d->wake, "the client");
        return 0;
    }
}

int jm_mlperf_director_run(const struct jm_mlperf_director *d, int *sessions, int *broken, struct jm_err *err)
{
    struct jm_mlperf_serving *v = calloc(1, sizeof *v);
    struct jm_mlperf_conn *conn = malloc(sizeof *conn);
    int rc = 0;
    if (!v || !conn) {
        free(v);
        free(conn);
        return jm_err_set(err, JM_ENOMEM, "no memory for the Director");
    }
    v->d = d;
    v->door = -1;
    v->host = (struct jm_mlperf_dhost){d, v, host_log, host_settle, host_over};
    v->doing = "starting";
    jm_str_init(&v->log);
    for (int i = 0; i < JM_MLPERF_TURNED_AWAY; i++)
        v->away[i].fd = -1;
    rc = prepare(v, err);
    while (!rc && !v->stop && !(d->once && v->sessions)) {
        jm_mlperf_serving_doing(v, "waiting for a client");
        rc = accept_next(v, conn, err);
        if (rc)
            break;
        v->client = conn;
        jm_mlperf_serving_log(v, JM_LOG_INFO, "Connected");
        jm_mlperf_serve_client(v);
        v->client = NULL;
        jm_mlperf_conn_close(conn);
    }
    if (rc == JM_ESTATE && d->wake.cancel && *d->wake.cancel)
        rc = 0;
    look_at_those_away(v, true);
    if (v->door >= 0)
        close(v->door);
    if (sessions)
        *sessions = v->sessions;
    if (broken)
        *broken = v->broken;
    jm_str_release(&v->log);
    free(conn);
    free(v);
    return rc;
}
