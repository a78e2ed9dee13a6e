/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/simnode.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/find.h"

#include "base/banned.h"

#define START_NS (20 * JM_NS_PER_S)
#define STOP_NS  (5 * JM_NS_PER_S)

/* One line from fd, within START_NS. */
static int first_line(int fd, struct jm_str *out, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int64_t until = jm_clock_mono(&clock) + START_NS;
    while (!memchr(out->buf, '\n', out->len) && out->len < 65536) {
        int64_t left = until - jm_clock_mono(&clock);
        struct pollfd p = {fd, POLLIN, 0};
        char buf[4096];
        if (left <= 0)
            return jm_err_set(err, JM_ETIMEOUT, "the simulated node did not say within %d s where it is",
                              (int)(START_NS / JM_NS_PER_S));
        int ready = poll(&p, 1, (int)(left / JM_NS_PER_MS) + 1);
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return jm_err_set(err, JM_EIO, "the simulated node ended before it said where it is");
        jm_str_add(out, buf, (size_t)n);
        if (out->failed)
            break;
    }
    return jm_str_ok(out, "the simulated node's line", err);
}

static bool take(const struct jm_json *j, const char *key, char *out, size_t size)
{
    struct jm_span s;
    if (!jm_json_str(jm_json_get(j, key), &s) || !s.n || s.n >= size || memchr(s.p, '\0', s.n))
        return false;
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return true;
}

static int understand(struct jm_simnode *n, struct jm_span line, struct jm_err *err)
{
    struct jm_json *j = NULL;
    int rc = jm_json_parse(line, &j, err);
    if (rc)
        return jm_err_prefix(err, "the simulated node's first line");
    if (!take(j, "url", n->url, sizeof n->url) || !take(j, "state", n->state, sizeof n->state) ||
        !take(j, "lib", n->lib, sizeof n->lib))
        rc = jm_err_set(err, JM_EPARSE, "the simulated node's first line has no url, state and lib");
    jm_json_free(j);
    return rc;
}

int jm_simnode_start(struct jm_simnode *n, struct jm_err *err)
{
    char path[JM_FIND_PATH];
    int fds[2];
    pid_t parent = getpid();
    *n = (struct jm_simnode){.pid = -1};
    int rc = jm_find_sim(path, err);
    if (rc)
        return rc;
    if (pipe2(fds, O_CLOEXEC))
        return jm_err_sys(err, errno, "cannot make a pipe");
    n->pid = fork();
    if (n->pid < 0) {
        close(fds[0]);
        close(fds[1]);
        return jm_err_sys(err, errno, "cannot start %s", path);
    }
    if (n->pid == 0) {
        setpgid(0, 0); /* Ctrl-C is for us: the load is drained first */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        if (getppid() == parent && dup2(fds[1], STDOUT_FILENO) >= 0)
            execl(path, path, "node", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    struct jm_str line;
    jm_str_init(&line);
    rc = first_line(fds[0], &line, err);
    if (!rc)
        rc = understand(n, jm_str_span(&line), err);
    jm_str_release(&line);
    close(fds[0]);
    if (!rc && setenv("JOULEMARK_SIM_GPU", n->state, 1))
        rc = jm_err_sys(err, errno, "cannot set the environment");
    if (rc)
        jm_simnode_stop(n);
    return rc;
}

void jm_simnode_stop(struct jm_simnode *n)
{
    struct jm_clock clock = jm_clock_system();
    if (n->pid <= 0)
        return;
    kill(n->pid, SIGTERM);
    int64_t until = jm_clock_mono(&clock) + STOP_NS;
    while (waitpid(n->pid, NULL, WNOHANG) == 0) {
        if (jm_clock_mono(&clock) >= until) {
            kill(n->pid, SIGKILL);
            waitpid(n->pid, NULL, 0);
            break;
        }
        jm_clock_sleep_until(&clock, jm_clock_mono(&clock) + 10 * JM_NS_PER_MS, NULL);
    }
    n->pid = -1;
}
