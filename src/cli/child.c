/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/cli.h"

#include "base/banned.h"

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
enum { N_FORWARDED = sizeof forwarded / sizeof forwarded[0] };

static void wanted(sigset_t *set)
{
    sigemptyset(set);
    for (int i = 0; i < N_FORWARDED; i++)
        sigaddset(set, forwarded[i]);
    sigaddset(set, SIGCHLD);
}

static void on_child(int sig)
{
    (void)sig; /* SIGCHLD is only delivered to sigtimedwait() when it is not ignored */
}

int jm_child_prepare(struct jm_err *err)
{
    sigset_t set;
    wanted(&set);
    struct sigaction sa = {.sa_handler = on_child};
    sigemptyset(&sa.sa_mask);
    if (sigaction(SIGCHLD, &sa, NULL) || sigprocmask(SIG_BLOCK, &set, NULL))
        return jm_err_sys(err, errno, "cannot set up signals");
    return 0;
}

int jm_child_pending(void)
{
    sigset_t set;
    if (sigpending(&set))
        return 0;
    for (int i = 0; i < N_FORWARDED; i++)
        if (forwarded[i] != SIGWINCH && sigismember(&set, forwarded[i]) == 1)
            return forwarded[i];
    return 0;
}

/* environ with one variable put in; the array is to be freed, entry lives as long as it. */
static char **environment(const char *name, char *entry)
{
    size_t n = 0, len = strlen(name);
    while (environ[n])
        n++;
    char **env = malloc((n + 2) * sizeof *env);
    if (!env)
        return NULL;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], name, len) != 0 || environ[i][len] != '=')
            env[k++] = environ[i];
    if (entry)
        env[k++] = entry;
    env[k] = NULL;
    return env;
}

void jm_child_signals(posix_spawnattr_t *attr, short flags)
{
    sigset_t none, restored;
    sigemptyset(&none);
    sigemptyset(&restored);
    sigaddset(&restored, SIGPIPE); /* both are ignored here */
    sigaddset(&restored, SIGXFSZ);
    sigaddset(&restored, SIGCHLD);
    posix_spawnattr_setsigmask(attr, &none);
    posix_spawnattr_setsigdefault(attr, &restored);
    posix_spawnattr_setflags(attr, (short)(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

int jm_child_start(struct jm_child *c, char **argv, const char *name, const char *value, struct jm_err *err)
{
    struct jm_str entry;
    posix_spawnattr_t attr;
    *c = (struct jm_child){.pid = -1, .status = JM_EXIT_RUN};
    jm_str_init(&entry);
    jm_str_addf(&entry, "%s=%s", name, value ? value : "");
    char **env = environment(name, value ? entry.buf : NULL);
    if (!env || entry.failed || posix_spawnattr_init(&attr)) {
        free(env);
        jm_str_release(&entry);
        return jm_err_set(err, JM_ENOMEM, "out of memory before running %s", argv[0]);
    }
    jm_child_signals(&attr, 0);
    int e = posix_spawnp(&c->pid, argv[0], NULL, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    free(env);
    jm_str_release(&entry);
    if (e) {
        c->pid = -1;
        c->status = e == ENOENT ? JM_EXIT_NOTFOUND : JM_EXIT_NOEXEC;
        return jm_err_sys(err, e, "cannot run %s", argv[0]);
    }
    return 0;
}

static int reap(struct jm_child *c, struct jm_err *err)
{
    int st;
    pid_t p = wait4(c->pid, &st, WNOHANG, &c->usage);
    if (p < 0 && errno != EINTR)
        return jm_err_sys(err, errno, "cannot wait for process %ld", (long)c->pid);
    if (p == c->pid) {
        c->done = true;
        c->status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
    }
    return 0;
}

int jm_child_wait(struct jm_child *c, int64_t timeout_ns, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int64_t until = jm_clock_mono(&clock) + timeout_ns;
    sigset_t set;
    wanted(&set);
    for (;;) {
        int rc = reap(c, err);
        int64_t left = until - jm_clock_mono(&clock);
        if (rc || c->done || left <= 0)
            return rc;
        struct timespec ts = {left / JM_NS_PER_S, left % JM_NS_PER_S};
        siginfo_t info;
        int sig = sigtimedwait(&set, &info, &ts);
        /* what the kernel made (Ctrl-C at the terminal) the child got by itself, being in the same group */
        if (sig > 0 && sig != SIGCHLD && info.si_code <= 0)
            kill(c->pid, sig);
    }
}
