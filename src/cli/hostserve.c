/* SPDX-License-Identifier: Apache-2.0 */
/* `joulemark record --serve`: what runs on each host of a recording of several. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "cli/enginemetrics.h"
#include "cli/hosts.h"
#include "cli/signals.h"

#include "base/banned.h"

#define AHEAD_NS (30 * JM_NS_PER_S) /* a begin or end further away is a clock that is wrong: at once then */
#define LEAST_NS (100 * JM_NS_PER_MS)

/* A line of standard input without its end. 1: one; 0: the end of input or a signal. */
static int command(char *out, size_t room)
{
    size_t n = 0;
    for (;;) {
        struct pollfd p[2] = {{STDIN_FILENO, POLLIN, 0}, {jm_signals_fd(), POLLIN, 0}};
        char c;
        if (jm_signals_stop)
            return 0;
        if (poll(p, 2, 1000) < 0 && errno != EINTR)
            return 0;
        if (!(p[0].revents & (POLLIN | POLLHUP | POLLERR)))
            continue;
        ssize_t k = read(STDIN_FILENO, &c, 1); /* a dozen bytes in all */
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return 0;
        if (c == '\n') {
            out[n] = '\0';
            return 1;
        }
        if (n + 1 < room)
            out[n++] = c;
    }
}

static int put(const char *p, size_t n, struct jm_err *err)
{
    while (n) {
        ssize_t k = write(STDOUT_FILENO, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return jm_err_sys(err, errno, "the one who asked for this recording is gone");
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static int tell(struct jm_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int tell(struct jm_err *err, const char *fmt, ...)
{
    char line[256] = JM_HOSTS_HELLO;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line + JM_HOSTS_PREFIX, sizeof line - JM_HOSTS_PREFIX - 1, fmt, ap);
    va_end(ap);
    snprintf(line + JM_HOSTS_PREFIX + (size_t)n, 2, "\n");
    return put(line, strlen(line), err);
}

/* "begin 1767225600000000000": sleeps until that Unix time. Nothing that is said in time is waited for. */
static void until(const char *line, const char *word)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_clock_pair now;
    int64_t at;
    size_t n = strlen(word);
    if (strncmp(line, word, n) != 0 || line[n] != ' ' || jm_num_i64(jm_span_of(line + n + 1), &at))
        return;
    jm_clock_pair(&clock, &now);
    if (at > now.real && at - now.real < AHEAD_NS)
        jm_signals_sleep_until(now.mono0 + (at - now.real));
}

static int send_block(void *self, struct jm_span block, struct jm_err *err)
{
    (void)self;
    return put(block.p, block.n, err);
}

/* The sealed file over standard output. */
static int send_run(const char *path, struct jm_err *err)
{
    static _Thread_local char buffer[65536];
    char sha[JM_SHA256_HEX], line[64];
    struct stat st;
    int rc = jm_file_sha256(path, sha, err);
    if (!rc && stat(path, &st))
        rc = jm_err_sys(err, errno, "cannot look at %s", path);
    if (!rc)
        rc = tell(err, "run %lld %s", (long long)st.st_size, sha);
    if (!rc)
        rc = jm_file_blocks(path, buffer, sizeof buffer, send_block, NULL, err);
    if (!rc && (!command(line, sizeof line) || strcmp(line, "got") != 0))
        rc = jm_err_set(err, JM_ENET, "the one who asked for this recording did not say that it arrived");
    return rc;
}

/* A folder of our own below TMPDIR, where no file was named. */
static int own_folder(char dir[128], struct jm_str *path, struct jm_err *err)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, 128, "%.90s/joulemark-record-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
    if (!mkdtemp(dir)) {
        dir[0] = '\0';
        return jm_err_sys(err, errno, "cannot make a folder for the recording");
    }
    jm_str_addf(path, "%s/run.jmr", dir);
    return jm_str_ok(path, "a file name", err);
}

static int window(struct jm_session *s, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    char line[64];
    int id;
    int64_t t0, t1;
    int rc = tell(err, "ready %zu", jm_recorder_channels(s->rec));
    if (rc)
        return rc;
    for (;;) {
        struct jm_clock_pair now;
        if (!command(line, sizeof line))
            return jm_err_set(err, JM_ESTATE, "stopped before the recording began");
        if (strcmp(line, "time") != 0)
            break;
        jm_clock_pair(&clock, &now);
        if ((rc = tell(err, "time %lld", (long long)now.real)))
            return rc;
    }
    until(line, "begin");
    rc = jm_session_begin(s, JM_R_MEASURE, "record", 0, &id, &t0, err);
    if (!rc && tell(err, "begun"))
        rc = 0; /* nobody hears it any more: the end of input is next */
    if (rc)
        return rc;
    if (command(line, sizeof line))
        until(line, "end");
    if (jm_clock_mono(&clock) < t0 + LEAST_NS)
        jm_clock_sleep_until(&clock, t0 + LEAST_NS, NULL);
    return jm_recorder_window_end(s->rec, id, &t1, err);
}

int jm_hosts_serve(struct jm_cli *cli, const struct jm_session_opts *o, const struct jm_opt_list *engine,
                   struct jm_err *err)
{
    struct jm_session_opts mine = *o;
    struct jm_session s;
    struct jm_meter_env env;
    struct jm_str path;
    char dir[128] = "";
    jm_str_init(&path);
    int rc = jm_signals_catch(err);
    if (!rc && !o->output) {
        rc = own_folder(dir, &path, err);
        mine.output = path.buf;
    }
    if (rc) {
        jm_str_release(&path);
        return rc;
    }
    jm_cli_meter_env(cli, &env);
    rc = jm_session_open(&s, cli, &mine, "record", "record", &env, false, err);
    if (!rc)
        rc = jm_session_engine(&s, engine, NULL, NULL, NULL, err);
    if (!rc)
        rc = jm_session_start(&s, err);
    if (!rc)
        rc = window(&s, err);
    bool begun = s.begun;
    rc = jm_session_finish(&s, rc, err);
    if (!rc && begun && (rc = send_run(s.path.buf, err)))
        jm_err_prefix(err, "the recording is kept as %s on this host", s.path.buf);
    if (dir[0] && (!begun || !rc)) {
        unlink(s.path.buf);
        rmdir(dir);
    }
    jm_session_release(&s);
    jm_str_release(&path);
    return rc;
}
