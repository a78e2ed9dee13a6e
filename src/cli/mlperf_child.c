/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mlperf_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/child.h"

#include "base/banned.h"

/* environ with env in front, whose names take the place of the same ones; the array is to be freed. */
static char **environment(const char *const *env)
{
    size_t n = 0, more = 0, k = 0;
    while (environ[n])
        n++;
    while (env && env[more])
        more++;
    char **out = malloc((n + more + 1) * sizeof *out);
    if (!out)
        return NULL;
    for (size_t i = 0; i < more; i++)
        out[k++] = (char *)(uintptr_t)env[i];
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(environ[i], "=") + 1;
        bool taken = false;
        for (size_t j = 0; j < more && !taken; j++)
            taken = strncmp(environ[i], env[j], len) == 0;
        if (!taken)
            out[k++] = environ[i];
    }
    out[k] = NULL;
    return out;
}

static int start(void *self, const char *const *argv, const char *const *env, int out_fd, int64_t *pid,
                 struct jm_err *err)
{
    (void)self;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    pid_t child = -1;
    char **all = environment(env);
    if (!all)
        return jm_err_set(err, JM_ENOMEM, "out of memory before running %s", argv[0]);
    int e = posix_spawnattr_init(&attr);
    if (!e && (e = posix_spawn_file_actions_init(&files)))
        posix_spawnattr_destroy(&attr);
    if (e) {
        free(all);
        return jm_err_sys(err, e, "cannot run %s", argv[0]);
    }
    posix_spawnattr_setpgroup(&attr, 0);
    jm_child_signals(&attr, POSIX_SPAWN_SETPGROUP);
    int out = out_fd < 0 ? STDERR_FILENO : out_fd;
    e = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!e)
        e = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!e && out != STDERR_FILENO)
        e = posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
    if (!e)
        e = posix_spawnp(&child, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, all);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    free(all);
    if (e)
        return jm_err_sys(err, e, "cannot run %s", argv[0]);
    *pid = child;
    return 0;
}

static int status_of(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
}

/* 1: running; 0: ended (*status), or no child of ours. */
static int look(int64_t pid, int flags, int *status)
{
    siginfo_t info = {0};
    int rc;
    do
        rc = waitid(P_PID, (id_t)pid, &info, WEXITED | flags);
    while (rc && errno == EINTR);
    if (rc)
        return 0;
    if (!info.si_pid)
        return 1;
    if (status)
        *status = status_of(&info);
    return 0;
}

static int poll_child(void *self, int64_t pid, int *status)
{
    (void)self;
    return look(pid, WNOHANG, status);
}

static void end(void *self, int64_t pid, int64_t grace_ns, int *status)
{
    (void)self;
    struct jm_clock clock = jm_clock_system();
    int64_t until = jm_clock_mono(&clock) + grace_ns;
    if (pid <= 0)
        return;
    kill((pid_t)-pid, SIGTERM);
    while (look(pid, WNOHANG | WNOWAIT, NULL) && jm_clock_mono(&clock) < until)
        jm_clock_sleep_until(&clock, jm_clock_mono(&clock) + 20 * JM_NS_PER_MS, NULL);
    /* what is left of the group goes before its leader is reaped: until then its number is nobody else's */
    kill((pid_t)-pid, SIGKILL);
    look(pid, 0, status);
}

struct jm_mlperf_child_ops jm_cli_mlperf_child(void)
{
    return (struct jm_mlperf_child_ops){start, poll_child, end, NULL};
}
