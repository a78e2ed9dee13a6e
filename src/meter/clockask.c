/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps the clock of this host, and how far may it be off? chronyd is asked on its command port, which
 * tells everybody on this host; then linuxptp where it runs; then the kernel. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "meter/clockask.h"
#include "wire/timesync.h"

#include "base/banned.h"

#define CHRONY_PORT 323
#define WAIT_MS     200
#define PMC_MS      1500
#define PMC_TEXT    (16u << 10)
#define TIMESYNCD   "/run/systemd/timesync/synchronized"

extern char **environ;

/* A datagram that answers, within the time; its length, or a negative JM_E*. */
static ssize_t answer(int fd, const struct jm_clock *clock, int64_t until, uint8_t *buf, size_t cap)
{
    for (;;) {
        int64_t left = until - jm_clock_mono(clock);
        struct pollfd p = {fd, POLLIN, 0};
        if (left <= 0)
            return JM_ETIMEOUT;
        int n = poll(&p, 1, (int)(left / JM_NS_PER_MS) + 1);
        if (n < 0 && errno != EINTR)
            return JM_EIO;
        if (n <= 0)
            continue;
        ssize_t got = recv(fd, buf, cap, 0);
        if (got >= 0)
            return got;
        if (errno != EINTR && errno != EAGAIN)
            return JM_ENET; /* nobody listens there */
    }
}

static int ask_chrony(const struct jm_clock *clock, int port, struct jm_clock_error *out, struct jm_err *err)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    uint8_t ask[JM_CHRONY_TRACKING], reply[1024];
    struct jm_tracking t;
    uint32_t sequence = (uint32_t)jm_clock_mono(clock) ^ (uint32_t)getpid();
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = JM_ENET;
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot make a socket to ask chronyd");
    jm_chrony_ask_tracking(ask, sequence);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) ||
        send(fd, ask, sizeof ask, 0) != (ssize_t)sizeof ask) {
        rc = jm_err_set(err, JM_ENET, "no chronyd answers on port %d of this host", port);
    } else {
        int64_t until = jm_clock_mono(clock) + WAIT_MS * JM_NS_PER_MS;
        do {
            ssize_t n = answer(fd, clock, until, reply, sizeof reply);
            rc = n < 0 ? jm_err_set(err, (int)n, "no chronyd answers on port %d of this host", port)
                       : jm_chrony_tracking((struct jm_span){(const char *)reply, (size_t)n}, sequence, &t,
                                            err);
        } while (rc == JM_EAGAIN);
    }
    close(fd);
    if (!rc)
        jm_clock_error_chrony(out, &t);
    return rc;
}

/* What pmc prints; it has a time limit and is ended at it. */
static int run_pmc(const struct jm_clock *clock, const char *what, struct jm_str *out, struct jm_err *err)
{
    char name[] = "pmc", u[] = "-u", b[] = "-b", zero[] = "0", get[64];
    char *argv[] = {name, u, b, zero, get, NULL};
    int fd[2], status;
    pid_t pid;
    posix_spawn_file_actions_t act;
    snprintf(get, sizeof get, "%s", what);
    if (pipe2(fd, O_CLOEXEC))
        return jm_err_sys(err, errno, "cannot make a pipe to pmc");
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_adddup2(&act, fd[1], 1);
    posix_spawn_file_actions_addopen(&act, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
    int e = posix_spawnp(&pid, name, &act, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&act);
    close(fd[1]);
    if (e) {
        close(fd[0]);
        return jm_err_sys(err, e, "cannot start pmc to ask ptp4l");
    }
    int64_t until = jm_clock_mono(clock) + PMC_MS * JM_NS_PER_MS;
    char buf[1024];
    for (;;) {
        int64_t left = until - jm_clock_mono(clock);
        struct pollfd p = {fd[0], POLLIN, 0};
        if (left <= 0 || out->len > PMC_TEXT || poll(&p, 1, (int)(left / JM_NS_PER_MS) + 1) < 0)
            break;
        if (!p.revents)
            continue;
        ssize_t n = read(fd[0], buf, sizeof buf);
        if (n <= 0)
            break;
        jm_str_add(out, buf, (size_t)n);
    }
    close(fd[0]);
    kill(pid, SIGKILL); /* it is our own, and has either ended or had its time */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return jm_str_ok(out, "pmc's answer", err);
}

static int ask_ptp(const struct jm_clock *clock, struct jm_clock_error *out, struct jm_err *err)
{
    struct jm_str text;
    struct jm_ptp_status s;
    double path = NAN;
    if (access("/var/run/ptp4l", F_OK))
        return jm_err_set(err, JM_EABSENT, "no ptp4l runs here");
    jm_str_init(&text);
    int rc = run_pmc(clock, "GET TIME_STATUS_NP", &text, err);
    if (!rc)
        rc = jm_pmc_time_status(jm_str_span(&text), &s, err);
    if (!rc) {
        jm_str_reset(&text);
        if (!run_pmc(clock, "GET CURRENT_DATA_SET", &text, NULL))
            jm_pmc_path_delay(jm_str_span(&text), &path, NULL);
        jm_clock_error_ptp(out, &s, path / 2);
    }
    jm_str_release(&text);
    return rc;
}

void jm_clock_error_ask(const struct jm_clock *clock, int chrony_port, struct jm_clock_error *out)
{
    struct jm_kernel_clock k;
    struct jm_err e = {0};
    jm_clock_error_init(out);
    if (!ask_chrony(clock, chrony_port > 0 ? chrony_port : CHRONY_PORT, out, &e))
        return;
    if (!ask_ptp(clock, out, &e))
        return;
    jm_clock_kernel(&k);
    jm_clock_error_kernel(out, &k, access(TIMESYNCD, F_OK) == 0);
}
