/* SPDX-License-Identifier: Apache-2.0 */
/* One client at a time, on a TCP port or a pseudo-terminal; a few by VXI-11. */
#include "analyzer/analyzer.h"
#include "analyzer/vxi11.h"
#include "sim_main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

struct line_in {
    int fd;
    bool socket;
    char in[SIMAN_LINE];
    size_t n;
    bool drop;
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
    (void)sig;
    ended = 1;
}

static int refuse(int status, const char *text)
{
    char t[600];
    snprintf(t, sizeof t, "analyzer: %s", text);
    return sim_fail(status, t);
}

static int listen_on(const struct siman_options *o, int *fd)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
    socklen_t len = sizeof a;
    char text[200];
    int one = 1;
    if (inet_pton(AF_INET, o->bind, &a.sin_addr) != 1)
        return refuse(SIM_USAGE, "--bind takes an IPv4 address.");
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(*fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(*fd, 4) < 0 ||
        getsockname(*fd, (struct sockaddr *)&a, &len) < 0) {
        snprintf(text, sizeof text, "cannot listen on %s port %d: %s.", o->bind, o->port, strerror(errno));
        return refuse(SIM_SYSTEM, text);
    }
    printf("tcp://%s:%d\n", o->bind, ntohs(a.sin_port));
    return 0;
}

static int open_pty(int *fd, int *slave)
{
    struct termios t;
    char name[64];
    *fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 || grantpt(*fd) < 0 || unlockpt(*fd) < 0 || ptsname_r(*fd, name, sizeof name) != 0)
        return refuse(SIM_SYSTEM, "no pseudo-terminal can be had.");
    *slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC); /* kept open: a client may come and go */
    if (*slave < 0 || tcgetattr(*slave, &t) < 0)
        return refuse(SIM_SYSTEM, "no pseudo-terminal can be had.");
    cfmakeraw(&t);
    tcsetattr(*slave, TCSANOW, &t);
    printf("%s\n", name);
    return 0;
}

static bool send_all(struct line_in *c, const char *p, size_t n)
{
    while (n) {
        ssize_t k = c->socket ? send(c->fd, p, n, MSG_NOSIGNAL) : write(c->fd, p, n);
        if (k < 0 && errno == EINTR && !ended)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

bool siman_ended(void)
{
    return ended;
}

size_t siman_answer(struct siman *a, char *line, char out[SIMAN_OUT + 2])
{
    static const char junk[] = "\x01\xff,;;\"\x80 E+E\n";
    const struct siman_fault *f;
    siman_tick(a);
    siman_line(a, line);
    if (!a->answered || siman_fault(a, AF_SILENT))
        return 0;
    if ((f = siman_fault(a, AF_SLOW)))
        for (double s = 0; s < f->number && !ended; s += .01)
            poll(NULL, 0, 10);
    if (siman_fault(a, AF_GARBAGE)) {
        memcpy(out, junk, sizeof junk - 1);
        return sizeof junk - 1;
    }
    memcpy(out, a->out, a->out_n);
    if (siman_fault(a, AF_HALF))
        return a->out_n / 2;
    out[a->out_n] = '\n';
    return a->out_n + 1;
}

/* false: the client is gone */
static bool serve_line(struct siman *a, struct line_in *c, char *line)
{
    /* in one piece: a line and its end sent apart would wait for each other on TCP */
    static char out[SIMAN_OUT + 2];
    size_t n = siman_answer(a, line, out);
    if (!c->socket && n && out[n - 1] == '\n') {
        memcpy(out + n - 1, "\r\n", 2);
        n++;
    }
    return send_all(c, out, n);
}

static bool receive(struct siman *a, struct line_in *c)
{
    ssize_t n = read(c->fd, c->in + c->n, sizeof c->in - c->n);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    c->n += (size_t)n;
    for (char *end; (end = memchr(c->in, '\n', c->n));) {
        size_t used = (size_t)(end - c->in) + 1, len = used - 1;
        char line[SIMAN_LINE + 1];
        while (len && c->in[len - 1] == '\r')
            len--;
        memcpy(line, c->in, len);
        line[len] = 0;
        for (size_t i = 0; i < len; i++)
            if (!line[i])
                line[i] = '?';
        memmove(c->in, c->in + used, c->n - used);
        c->n -= used;
        if (c->drop)
            snprintf(line, sizeof line, "TOO:LONG");
        c->drop = false;
        if (!serve_line(a, c, line))
            return false;
    }
    if (c->n == sizeof c->in) {
        c->n = 0;
        c->drop = true;
    }
    return true;
}

static int loop(struct siman *a, int listener, struct line_in *pty, struct simvxi *vxi)
{
    struct line_in tcp = {.fd = -1, .socket = true};
    int status = 0;
    while (!ended) {
        siman_tick(a);
        if (siman_fault(a, AF_DIE)) {
            status = 1;
            break;
        }
        struct siman_fault *f = siman_fault(a, AF_CLOSE);
        if (f) {
            simvxi_drop(vxi);
            if (tcp.fd >= 0)
                close(tcp.fd);
            f->done = tcp.fd >= 0 || vxi->core >= 0;
            tcp.fd = -1;
        }
        int wait = simclock_wait_ms(&a->clock, a->next_ns, 1000);
        struct pollfd p[3 + SIMVXI_FDS] = {{.fd = tcp.fd < 0 ? listener : -1, .events = POLLIN},
                                           {.fd = tcp.fd, .events = POLLIN},
                                           {.fd = pty->fd, .events = POLLIN}};
        simvxi_poll(vxi, p + 3);
        if (poll(p, 3 + SIMVXI_FDS, wait < 1 ? 1 : wait) < 0 && errno != EINTR)
            return refuse(SIM_SYSTEM, "poll failed.");
        simvxi_serve(vxi, a, p + 3);
        if (p[0].revents & POLLIN) {
            tcp = (struct line_in){.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), .socket = true};
        } else if (p[1].revents && tcp.fd >= 0 && !receive(a, &tcp)) {
            close(tcp.fd);
            tcp.fd = -1;
        }
        if (p[2].revents & POLLIN && !receive(a, pty))
            break;
    }
    if (tcp.fd >= 0)
        close(tcp.fd);
    return status;
}

int siman_serve(struct siman_options *o)
{
    struct siman *a = calloc(1, sizeof *a);
    struct sigaction sa = {.sa_handler = on_signal};
    struct line_in *pty = calloc(1, sizeof *pty);
    struct simvxi *vxi = calloc(1, sizeof *vxi);
    int listener = -1, slave = -1, status;
    char why[512];
    if (!a || !pty || !vxi) {
        free(a);
        free(pty);
        free(vxi);
        return refuse(SIM_SYSTEM, "no memory.");
    }
    pty->fd = -1;
    simvxi_listen(vxi, o->bind, -1, -1, why, sizeof why); /* none yet */
    a->o = o;
    ended = 0;
    simclock_init(&a->clock, o->speed);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
    status = siman_prepare(a, why, sizeof why);
    if (status)
        refuse(status, why);
    if (!status && o->tcp)
        status = listen_on(o, &listener);
    if (!status && o->pty)
        status = open_pty(&pty->fd, &slave);
    if (!status) {
        status = simvxi_listen(vxi, o->bind, o->vxi11, o->portmap, why, sizeof why);
        if (status)
            refuse(status, why);
    }
    if (!status && fflush(stdout) != 0)
        status = refuse(SIM_SYSTEM, "standard output cannot be written.");
    if (!status)
        status = loop(a, listener, pty, vxi);
    if (a->wall && siman_write_truth(a, why, sizeof why))
        status = refuse(SIM_SYSTEM, why);
    int fds[] = {listener, slave, pty->fd};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    simvxi_close(vxi);
    simwall_close(a->wall);
    free(a);
    free(pty);
    free(vxi);
    return status;
}
