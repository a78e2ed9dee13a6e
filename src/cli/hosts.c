/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "cli/child.h"
#include "cli/hosts_impl.h"
#include "cli/signals.h"

#include "base/banned.h"

#define SSH_WORDS   24
#define GRACE_NS    (3 * JM_NS_PER_S)
#define JM_RUN_MOST (INT64_C(1) << 36)

/* ---- the child */

void jm_host_fail(struct jm_host *h, const char *fmt, ...)
{
    va_list ap;
    if (h->state == JM_HOST_FAILED)
        return;
    va_start(ap, fmt);
    vsnprintf(h->why, sizeof h->why, fmt, ap);
    va_end(ap);
    h->state = JM_HOST_FAILED;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int run(struct jm_host *h, char *const *argv)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, er[2] = {-1, -1};
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    pid_t pid = -1;
    int e = pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(er, O_CLOEXEC) ? errno : 0;
    if (!e && !(e = posix_spawnattr_init(&attr))) {
        if (!(e = posix_spawn_file_actions_init(&files))) {
            /* a group of its own: Ctrl-C is for us, who end the recordings in order */
            posix_spawnattr_setpgroup(&attr, 0);
            jm_child_signals(&attr, POSIX_SPAWN_SETPGROUP);
            if (!(e = posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO)) &&
                !(e = posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO)) &&
                !(e = posix_spawn_file_actions_adddup2(&files, er[1], STDERR_FILENO)))
                e = posix_spawnp(&pid, argv[0], &files, &attr, argv, environ);
            posix_spawn_file_actions_destroy(&files);
        }
        posix_spawnattr_destroy(&attr);
    }
    shut(&in[0]);
    shut(&out[1]);
    shut(&er[1]);
    h->in = in[1];
    h->out = out[0];
    h->err = er[0];
    if (e)
        return e;
    h->pid = pid;
    for (int i = 0; i < 3; i++) {
        int fd = i == 0 ? h->in : i == 1 ? h->out : h->err;
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    return 0;
}

void jm_host_start(struct jm_host *h, const char *ssh, const char *words, char *const *local)
{
    char copy[512], *argv[SSH_WORDS + 16], *save = copy;
    static char t[] = "-T", o[] = "-o", batch[] = "BatchMode=yes", connect[] = "ConnectTimeout=20",
                alive[] = "ServerAliveInterval=15", p[] = "-p", end[] = "--";
    struct jm_str line;
    int n = 0, e = 0;
    h->state = JM_HOST_STARTING;
    if (!h->target[0]) {
        e = run(h, local);
    } else {
        snprintf(copy, sizeof copy, "%s", ssh);
        for (char *w; (w = strsep(&save, " ")) && n < SSH_WORDS;)
            if (*w)
                argv[n++] = w;
        const char *base = n ? strrchr(argv[0], '/') : NULL;
        base = base ? base + 1 : n ? argv[0] : "";
        if (strcmp(base, "ssh") == 0) { /* nobody is there to answer questions: keys or an agent */
            char *const add[] = {t, o, batch, o, connect, o, alive};
            for (size_t i = 0; i < sizeof add / sizeof *add; i++)
                argv[n++] = add[i];
            if (h->port[0]) {
                argv[n++] = p;
                argv[n++] = h->port;
            }
            argv[n++] = end;
        }
        jm_str_init(&line);
        jm_str_addf(&line, "%s record --serve%s%s%s%s%s", h->joulemark, h->config[0] ? " --config " : "",
                    h->config, h->meters[0] ? " --meters " : "", h->meters, words);
        argv[n++] = h->target;
        argv[n++] = line.buf;
        argv[n] = NULL;
        e = line.failed ? ENOMEM : run(h, argv);
        jm_str_release(&line);
    }
    if (e)
        jm_host_fail(h, "%s cannot be run: %s", h->target[0] ? ssh : "joulemark", strerror(e));
}

/* ---- hearing */

/* What the other side says for people, a line at a time. */
static void hear_error(struct jm_hosts *all, struct jm_host *h)
{
    char buf[1024];
    ssize_t n = read(h->err, buf, sizeof buf);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        shut(&h->err);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (buf[i] != '\n') {
            if (h->n_said + 1 < sizeof h->said && (unsigned char)buf[i] >= ' ')
                h->said[h->n_said++] = buf[i];
            continue;
        }
        h->said[h->n_said] = '\0';
        const char *line = h->said, *own[] = {"joulemark: ", "joulemark record: "};
        for (int k = 0; k < 2; k++)
            if (strncmp(line, own[k], strlen(own[k])) == 0)
                line += strlen(own[k]);
        if (*line) {
            snprintf(h->err_line, sizeof h->err_line, "%s", line);
            if (!all->cli->common->quiet)
                jm_cli_say(all->cli, "%s: %s", h->name, line);
        }
        h->n_said = 0;
    }
}

static void begin_file(struct jm_host *h, const char *text)
{
    char *end;
    long long bytes = strtoll(text, &end, 10);
    if (bytes <= 0 || bytes > JM_RUN_MOST || *end != ' ' || strlen(end + 1) != 64) {
        jm_host_fail(h, "it announced a run file that cannot be");
        return;
    }
    snprintf(h->sha256, sizeof h->sha256, "%.64s", end + 1);
    h->bytes = bytes;
    h->had = 0;
    h->file = open(h->path.buf, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (h->file < 0)
        jm_host_fail(h, "%s cannot be written: %s", h->path.buf, strerror(errno));
    else
        h->state = JM_HOST_FETCHING;
}

/* Its clock at the middle of question and answer, against ours. */
static void time_said(struct jm_host *h, const char *text)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_clock_pair now;
    int64_t its;
    jm_clock_pair(&clock, &now);
    int64_t trip = now.mono0 - h->asked;
    if (!h->asked || trip <= 0 || jm_num_i64(jm_span_of(text), &its))
        return;
    h->asked = 0;
    if (h->trip && trip >= h->trip)
        return;
    h->trip = trip;
    h->offset = its - (now.real - trip / 2);
}

static void line_said(struct jm_host *h)
{
    const char *s = h->line;
    if (strncmp(s, JM_HOSTS_HELLO, JM_HOSTS_PREFIX) != 0)
        return; /* what a shell prints at login */
    s += JM_HOSTS_PREFIX;
    if (strncmp(s, "ready ", 6) == 0 && h->state == JM_HOST_STARTING) {
        h->channels = strtoll(s + 6, NULL, 10);
        h->state = JM_HOST_READY;
    } else if (strncmp(s, "time ", 5) == 0) {
        time_said(h, s + 5);
    } else if (strcmp(s, "begun") == 0 && h->state == JM_HOST_READY) {
        h->state = JM_HOST_BEGUN;
    } else if (strncmp(s, "run ", 4) == 0 && h->state >= JM_HOST_READY && h->state < JM_HOST_FETCHING) {
        begin_file(h, s + 4);
    }
}

static void end_file(struct jm_host *h)
{
    char sha[JM_SHA256_HEX];
    static const char got[] = "got\n";
    struct jm_err why = {0};
    int bad = close(h->file);
    h->file = -1;
    if (bad)
        jm_host_fail(h, "%s cannot be written: %s", h->path.buf, strerror(errno));
    else if (jm_file_sha256(h->path.buf, sha, &why))
        jm_host_fail(h, "%s", why.text);
    else if (strcmp(sha, h->sha256) != 0)
        jm_host_fail(h, "its run file arrived damaged");
    else {
        h->state = JM_HOST_DONE;
        if (write(h->in, got, sizeof got - 1) < 0) {
            /* it keeps its copy */
        }
    }
    shut(&h->in);
}

static size_t take_file(struct jm_host *h, const char *p, size_t n)
{
    int64_t want = h->bytes - h->had;
    size_t k = (int64_t)n < want ? n : (size_t)want;
    for (size_t at = 0; at < k;) {
        ssize_t w = write(h->file, p + at, k - at);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            jm_host_fail(h, "%s cannot be written: %s", h->path.buf, strerror(errno));
            shut(&h->file);
            return n;
        }
        at += (size_t)w;
    }
    h->had += (int64_t)k;
    if (h->had == h->bytes)
        end_file(h);
    return k;
}

/* The program there has ended before its time: why. */
static void gone(struct jm_host *h)
{
    int status = 0;
    if (h->state >= JM_HOST_DONE)
        return;
    if (h->pid > 0 && waitpid(h->pid, &status, 0) == h->pid)
        h->pid = -1;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const char *when = h->state == JM_HOST_STARTING   ? "it did not begin"
                       : h->state == JM_HOST_FETCHING ? "the connection broke while its run file came"
                                                      : "the connection broke";
    if (code == 127 && h->state == JM_HOST_STARTING)
        jm_host_fail(h,
                     "there is no %s (%.120s); in a file of --hosts, joulemark=PATH behind the host says "
                     "where it is",
                     h->joulemark, h->err_line);
    else if (h->err_line[0])
        jm_host_fail(h, "%s: %.200s", when, h->err_line);
    else
        jm_host_fail(h, "%s (status %d)", when, code);
}

static void hear(struct jm_hosts *all, struct jm_host *h, int64_t now)
{
    char buf[65536];
    ssize_t n = read(h->out, buf, sizeof buf);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        while (h->err >= 0) { /* what it said last is why */
            struct pollfd p = {h->err, POLLIN, 0};
            if (poll(&p, 1, 200) <= 0)
                break;
            hear_error(all, h);
        }
        gone(h);
        shut(&h->out);
        return;
    }
    h->moved = now;
    for (size_t i = 0; i < (size_t)n;) {
        if (h->state == JM_HOST_FETCHING) {
            i += take_file(h, buf + i, (size_t)n - i);
        } else if (buf[i] == '\n') {
            h->line[h->n_line] = '\0';
            h->n_line = 0;
            i++;
            line_said(h);
        } else {
            if (h->n_line + 1 < sizeof h->line)
                h->line[h->n_line++] = buf[i];
            i++;
        }
    }
}

size_t jm_hosts_count(const struct jm_hosts *all, int state)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        n += all->host[i].state != JM_HOST_FAILED && all->host[i].state >= state;
    return n;
}

void jm_hosts_hear(struct jm_hosts *all, int state, int64_t until, bool stop)
{
    struct jm_clock clock = jm_clock_system();
    for (;;) {
        struct pollfd p[2 * JM_HOSTS + 1];
        struct jm_host *of[2 * JM_HOSTS + 1];
        nfds_t n = 0;
        size_t waiting = 0;
        int64_t now = jm_clock_mono(&clock);
        for (size_t i = 0; i < all->n; i++) {
            struct jm_host *h = &all->host[i];
            waiting += h->state < state;
            if (h->state == JM_HOST_FAILED) { /* whatever else it says is not heard, and it notices */
                shut(&h->in);
                shut(&h->out);
                shut(&h->err);
            }
            for (int e = 0; e < 2; e++)
                if ((e ? h->err : h->out) >= 0) {
                    of[n] = h;
                    p[n++] = (struct pollfd){e ? h->err : h->out, POLLIN, 0};
                }
        }
        if (!waiting || now >= until || (stop && (jm_signals_stop || jm_child_pending())))
            return;
        p[n] = (struct pollfd){jm_signals_fd(), POLLIN, 0};
        int64_t left = (until - now) / JM_NS_PER_MS + 1;
        int got = poll(p, n + (stop ? 1 : 0), left > 1000 ? 1000 : (int)left);
        if (got <= 0)
            continue;
        now = jm_clock_mono(&clock);
        for (nfds_t i = 0; i < n; i++) {
            if (!p[i].revents)
                continue;
            if (p[i].fd == of[i]->err)
                hear_error(all, of[i]);
            else if (p[i].fd == of[i]->out)
                hear(all, of[i], now);
        }
    }
}

void jm_host_ask_time(struct jm_host *h, int64_t mono)
{
    static const char time[] = "time\n";
    if (h->state != JM_HOST_READY || h->in < 0 || h->asked)
        return;
    h->asked = mono;
    if (write(h->in, time, sizeof time - 1) != sizeof time - 1)
        shut(&h->in);
}

void jm_hosts_say(struct jm_hosts *all, int from, const char *fmt, ...)
{
    char line[128];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < all->n; i++) {
        struct jm_host *h = &all->host[i];
        if (h->state == JM_HOST_FAILED || h->state < from || h->in < 0)
            continue;
        if (write(h->in, line, (size_t)n) != n) /* a short line fits a pipe, or nobody reads it */
            shut(&h->in);
    }
}

void jm_hosts_end(struct jm_hosts *all)
{
    struct jm_clock clock = jm_clock_system();
    int64_t until = jm_clock_mono(&clock) + GRACE_NS;
    for (size_t i = 0; i < all->n; i++) { /* the end of their input ends them in order */
        struct jm_host *h = &all->host[i];
        shut(&h->in);
        if (h->state == JM_HOST_FAILED && h->pid > 0)
            kill(h->pid, SIGTERM);
    }
    for (size_t i = 0; i < all->n; i++) {
        struct jm_host *h = &all->host[i];
        while (h->pid > 0 && waitpid(h->pid, NULL, WNOHANG) == 0) {
            if (jm_clock_mono(&clock) >= until) {
                kill(h->pid, SIGKILL);
                waitpid(h->pid, NULL, 0);
                break;
            }
            jm_clock_sleep_until(&clock, jm_clock_mono(&clock) + 10 * JM_NS_PER_MS, NULL);
        }
        h->pid = -1;
        shut(&h->out);
        shut(&h->err);
        shut(&h->file);
        jm_str_release(&h->path);
    }
}
