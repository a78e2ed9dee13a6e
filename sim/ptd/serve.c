/* SPDX-License-Identifier: Apache-2.0 */
/* One client at a time, one loop, no thread: what comes first, a sample or a command, is served first. */
#include "ptd/ptd.h"
#include "sim_main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
    (void)sig;
    ended = 1;
}

static int refuse(const char *text)
{
    char t[600];
    snprintf(t, sizeof t, "ptd: %s", text);
    return sim_fail(SIM_SYSTEM, t);
}

static int listen_on(struct simptd *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)p->o->port)};
    socklen_t len = sizeof a;
    int one = 1;
    if (inet_pton(AF_INET, p->o->bind, &a.sin_addr) != 1)
        return refuse("--bind takes an IPv4 address.");
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->listener < 0 || setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(p->listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(p->listener, 8) < 0 ||
        getsockname(p->listener, (struct sockaddr *)&a, &len) < 0) {
        char text[200];
        snprintf(text, sizeof text, "cannot listen on %s port %d: %s.", p->o->bind, p->o->port,
                 strerror(errno));
        return refuse(text);
    }
    simptd_say(p, "Establishing the listener on port %d...", ntohs(a.sin_port));
    simptd_say(p, "Waiting for a connection...");
    return 0;
}

static void drop(struct simptd *p)
{
    close(p->client);
    p->client = -1;
    p->in_n = p->out_n = p->out_sent = 0;
    p->in_drop = p->rl_on = p->cut_on = false;
    p->hold_until_ns = 0;
    simptd_say(p, "Client connection closed"); /* own words */
    simptd_say(p, "Waiting for a connection...");
}

static void accept_one(struct simptd *p)
{
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    int fd = accept4(p->listener, (struct sockaddr *)&a, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    char ip[INET_ADDRSTRLEN] = "?";
    if (fd < 0)
        return;
    p->client = fd;
    inet_ntop(AF_INET, &a.sin_addr, ip, sizeof ip);
    simptd_say(p, "Accepted connection from %s:%d", ip, ntohs(a.sin_port));
}

static bool answering(struct simptd *p)
{
    return !p->stopping && !p->rl_on && p->out_sent == p->out_n &&
           !simptd_fault(p, F_SILENT, simclock_now(&p->clock));
}

/* Serves the lines that have come whole, one answer at a time. */
static void lines(struct simptd *p)
{
    while (p->client >= 0 && answering(p)) {
        char *end = memchr(p->in, '\n', p->in_n);
        if (!end) {
            if (p->in_n == sizeof p->in) { /* no command is that long */
                p->in_drop = true;
                p->in_n = 0;
            }
            return;
        }
        size_t used = (size_t)(end - p->in) + 1, len = used - 1;
        char line[SIMPTD_LINE];
        while (len && p->in[len - 1] == '\r')
            len--;
        memcpy(line, p->in, len);
        line[len] = 0;
        for (size_t i = 0; i < len; i++)
            if ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] >= 0x7f)
                line[i] = '?'; /* what is no text stays no text, in answers and log too */
        memmove(p->in, p->in + used, p->in_n - used);
        p->in_n -= used;
        if (p->in_drop) {
            p->in_drop = false;
            simptd_reply(p, "Unknown command");
        } else {
            simptd_command(p, line);
        }
    }
}

static void receive(struct simptd *p)
{
    ssize_t n = read(p->client, p->in + p->in_n, sizeof p->in - p->in_n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        drop(p);
    else if (n > 0)
        p->in_n += (size_t)n;
}

static void send_out(struct simptd *p)
{
    while (p->client >= 0 && simclock_now(&p->clock) >= p->hold_until_ns) {
        simptd_more(p);
        if (p->out_sent == p->out_n) {
            if (p->cut_on && !p->rl_on)
                drop(p);
            return;
        }
        ssize_t n = send(p->client, p->out + p->out_sent, p->out_n - p->out_sent, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            drop(p);
            return;
        }
        p->out_sent += (size_t)n;
    }
}

static void faults(struct simptd *p)
{
    int64_t now = simclock_now(&p->clock);
    struct simptd_fault *f = simptd_fault(p, F_CLOSE, now);
    if (f && p->client >= 0) {
        f->done = true;
        drop(p);
    }
    if (simptd_fault(p, F_DIE, now)) {
        p->status = 1;
        p->quit = true;
    }
}

static void loop(struct simptd *p)
{
    while (!ended && !p->quit) {
        simptd_tick(p);
        if (p->stopping && simclock_now(&p->clock) >= simptd_next(p) && p->next_ns > p->end_ns)
            simptd_complete(p);
        faults(p);
        lines(p);
        send_out(p);
        int wait = simclock_wait_ms(&p->clock, simptd_next(p), p->o->faults ? 20 : 1000);
        if (p->client >= 0 && p->hold_until_ns > simclock_now(&p->clock))
            wait = simclock_wait_ms(&p->clock, p->hold_until_ns, wait);
        bool full = p->in_n == sizeof p->in, held = p->hold_until_ns > simclock_now(&p->clock);
        struct pollfd f[2] = {
            {.fd = p->client < 0 ? p->listener : -1, .events = POLLIN},
            {.fd = p->client,
             .events = (short)((full ? 0 : POLLIN) | (p->out_sent < p->out_n && !held ? POLLOUT : 0))}};
        if (p->client >= 0 && !full && answering(p) && memchr(p->in, '\n', p->in_n))
            wait = 0;
        if (poll(f, 2, wait) < 0 && errno != EINTR) {
            p->status = refuse("poll failed.");
            return;
        }
        if (f[0].revents & POLLIN)
            accept_one(p);
        if (p->client >= 0 && f[1].revents & (POLLIN | POLLHUP | POLLERR))
            receive(p);
    }
}

static int prepare(struct simptd *p, struct simptd_options *o)
{
    char why[512];
    p->m = simwt_find(o->model);
    p->multi = p->m->elements > 1;
    p->first = p->multi && o->type != 48 ? o->first : 1;
    p->channels = !p->multi ? 1 : o->type == 48 ? p->m->elements : o->channels ? o->channels : p->m->elements;
    if (!o->load_split)
        for (int e = 0; e < p->channels; e++)
            o->load.split[p->first - 1 + e] = 1.0 / p->channels;
    p->v_auto = o->volt_range == 0;
    p->a_auto = o->amp_range == 0;
    p->v_range = simwt_range(p->m->volts, p->v_auto ? o->load.volts : o->volt_range);
    p->a_range = simwt_range(p->m->amps, p->a_auto ? p->m->amps[0] : o->amp_range);
    if (p->v_range == 0 || p->a_range == 0)
        return refuse("the analyzer has no such range.");
    p->start_ns = simclock_now(&p->clock);
    if (simwall_open(&p->wall, o->waveform, o->seed, p->start_ns, why, sizeof why) < 0) {
        char text[600];
        snprintf(text, sizeof text, "ptd: %s", why);
        return sim_fail(SIM_USAGE, text);
    }
    if (p->a_auto) {
        double a = 0, w = simwall_power_w(p->wall, p->start_ns);
        for (int e = 0; e < SIMWT_ELEMENTS; e++)
            if (simwt_amps(&o->load, w, e) > a)
                a = simwt_amps(&o->load, w, e);
        p->a_range = simwt_auto(p->m->amps, p->a_range, a);
    }
    if (o->log && !(p->log = fopen(o->log, "we")))
        return refuse("the file of -l cannot be written.");
    return 0;
}

static void hello(struct simptd *p)
{
    char id[160];
    int n = snprintf(id, sizeof id, "JOULEMARK,SIM-%s,%s,F0.00", p->m->product, p->o->serial);
    simptd_banner(p);
    simptd_say(p, "Attempting to connect to measurement device type %d...", p->o->type);
    simptd_say(p, "Analyzer identity response of %d bytes: %s\n", n + 1, id);
    if (p->multi)
        simptd_say(p, "Requested %d channels, using physical channels %d thru %d", p->channels, p->first,
                   p->first + p->channels - 1);
    simptd_say(p, "Uncertainty checking for %s is activated", p->m->identify);
    simptd_say(p, "Connected to %s successfully", p->m->identify);
}

int simptd_serve(struct simptd_options *o)
{
    struct simptd *p = calloc(1, sizeof *p);
    struct sigaction sa = {.sa_handler = on_signal};
    char why[512];
    if (!p)
        return refuse("no memory.");
    p->o = o;
    p->listener = p->client = -1;
    ended = 0;
    simclock_init(&p->clock, o->speed);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
    p->status = prepare(p, o);
    if (p->status == 0) {
        struct simptd_fault *late;
        hello(p);
        if (simptd_fault(p, F_NOSTART, p->start_ns)) {
            p->status = 1;
            p->quit = true;
        }
        while (!ended && !p->quit && (late = simptd_fault(p, F_LATE, p->start_ns)) &&
               (double)(simclock_now(&p->clock) - p->start_ns) < late->number * 1e9)
            poll(NULL, 0, 20);
        if (!p->quit && !ended)
            p->status = listen_on(p);
    }
    if (p->status == 0 && !ended && !p->quit)
        loop(p);
    if (p->wall && simptd_write_truth(p, why, sizeof why))
        p->status = refuse(why);
    if (p->client >= 0)
        close(p->client);
    if (p->listener >= 0)
        close(p->listener);
    if (p->log)
        fclose(p->log);
    simwall_close(p->wall);
    free(p->s);
    free(p->span);
    free(p->out);
    int status = p->status;
    free(p);
    return status;
}
