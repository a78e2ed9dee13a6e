/* SPDX-License-Identifier: Apache-2.0 */
#include "bmc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "sim_main.h"

static int64_t mono(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int fail(const struct sim_bmc_options *o, int status, const char *why)
{
    char text[600];
    snprintf(text, sizeof text, "%s: %s", o->pdu ? "pdu" : "bmc", why);
    return sim_fail(status, text);
}

static void basic(const char *user, const char *password, char *out, size_t room)
{
    static const char code[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char plain[160];
    int len = snprintf(plain, sizeof plain, "%s:%s", user, password);
    size_t n = snprintf(out, room, "Basic ") > 0 ? 6 : 0;
    for (int i = 0; i < len && n + 5 < room; i += 3) {
        unsigned a = (unsigned char)plain[i], b = i + 1 < len ? (unsigned char)plain[i + 1] : 0,
                 c = i + 2 < len ? (unsigned char)plain[i + 2] : 0, v = a << 16 | b << 8 | c;
        out[n++] = code[v >> 18];
        out[n++] = code[v >> 12 & 63];
        out[n++] = i + 1 < len ? code[v >> 6 & 63] : '=';
        out[n++] = i + 2 < len ? code[v & 63] : '=';
    }
    out[n] = 0;
}

static void answer(struct sim_conn *c, int status, struct sim_buf *body, const char *extra)
{
    sim_http_begin(c, status, "application/json", (int64_t)body->n, extra);
    sim_http_body(c, body->p, body->n);
    sim_http_end(c);
}

static void on_request(void *self, struct sim_conn *c)
{
    const struct sim_bmc *b = self;
    struct sim_buf body = {0};
    int status = 200;
    bool open =
        strcmp(c->head.path, "/redfish") == 0 || strcmp(c->head.path, "/redfish/v1") == 0 ||
        strcmp(c->head.path, "/redfish/v1/") == 0; /* these two need no password by the specification */
    if (strcmp(c->head.method, "GET") != 0)
        status = 405; /* sessions too: whoever asks for one without a password yet has to see that there are
                         none */
    else if (*b->auth && !open && strcmp(c->head.auth, b->auth) != 0)
        status = 401;
    else if (!sim_bmc_resource(b, c->head.path, simclock_now(&b->clock), &body))
        status = 404;
    if (status != 200) {
        sim_buf_fmt(&body, "{\"error\":{\"code\":\"Base.1.8.GeneralError\",\"message\":\"%s\"}}",
                    status == 401   ? "a user and a password are needed"
                    : status == 405 ? "this is read-only"
                                    : "there is no such resource");
    }
    answer(c, status, &body,
           status == 401 ? "WWW-Authenticate: Basic realm=\"simulated\"\r\n" : "OData-Version: 4.0\r\n");
    sim_buf_free(&body);
}

static void on_gone(void *self, struct sim_conn *c)
{
    (void)self;
    c->request = NULL;
}

static int loop(struct sim_bmc *b, int sig)
{
    struct epoll_event ev[32], own = {.events = EPOLLIN, .data.ptr = &b->start_ns};
    if (epoll_ctl(b->http.epoll, EPOLL_CTL_ADD, sig, &own) < 0)
        return fail(&b->o, SIM_SYSTEM, strerror(errno));
    for (;;) {
        int n = epoll_wait(b->http.epoll, ev, 32, b->http.n_conns ? 20 : 1000);
        for (int i = 0; i < n; i++) {
            if (ev[i].data.ptr == &b->start_ns)
                return SIM_OK;
            sim_http_event(&b->http, ev[i].data.ptr, ev[i].events);
        }
        sim_http_tick(&b->http, mono());
        sim_http_sweep(&b->http);
    }
}

int sim_bmc_serve(const struct sim_bmc_options *o)
{
    struct sim_bmc *b = calloc(1, sizeof *b);
    char why[512];
    sigset_t set;
    if (!b)
        return fail(o, SIM_SYSTEM, "there is no memory.");
    b->o = *o;
    simclock_init(&b->clock, 1);
    b->start_ns = simclock_now(&b->clock);
    b->http.limit = (struct sim_http_limits){.max_conns = 64,
                                             .max_body = 65536,
                                             .keep_alive_ns = INT64_C(30000000000),
                                             .read_ns = INT64_C(10000000000)};
    b->http.self = b;
    b->http.on_request = on_request;
    b->http.on_gone = on_gone;
    if (o->user)
        basic(o->user, o->password ? o->password : "", b->auth, sizeof b->auth);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int sig = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), rc;
    if (simwall_open(&b->wall, o->waveform, (uint64_t)o->seed, b->start_ns, why, sizeof why) < 0)
        rc = fail(o, SIM_USAGE, why);
    else if (sig < 0 || sim_http_open(&b->http, o->bind, o->port, why, sizeof why) < 0)
        rc = fail(o, SIM_SYSTEM, sig < 0 ? strerror(errno) : why);
    else {
        printf("http://%s:%d/redfish/v1\n", o->bind, b->http.port);
        rc = fflush(stdout) == 0 ? loop(b, sig) : SIM_SYSTEM;
        sim_http_close(&b->http);
    }
    if (sig >= 0)
        close(sig);
    if (b->wall)
        simwall_close(b->wall);
    free(b);
    return rc;
}
