/* SPDX-License-Identifier: Apache-2.0 */
/* The child of joulemark run. It stays in our process group, so that the terminal's signals and job control
 * reach it as they would without us; signals that are sent to us alone are forwarded. */
#ifndef JM_CLI_CHILD_H
#define JM_CLI_CHILD_H

#include <stdbool.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

struct jm_child {
    pid_t pid;
    int status; /* exit status as a shell would say it: 128 + signal */
    bool done;
    struct rusage usage;
};

/* Blocks the signals that are forwarded, and SIGCHLD. To be called before any thread is made. */
int jm_child_prepare(struct jm_err *err);
/* A forwardable signal that is waiting, 0: none. */
int jm_child_pending(void);
/* Gives a program that is spawned the signals as a shell would: none blocked, those that are ignored here at
 * their default. flags: further POSIX_SPAWN_* flags. */
void jm_child_signals(posix_spawnattr_t *attr, short flags);
/* Runs argv with standard streams inherited and name=value added to the environment (value NULL: nothing).
 * Fills status 127 (no such command) or 126 (cannot be run) on failure. */
int jm_child_start(struct jm_child *c, char **argv, const char *name, const char *value, struct jm_err *err);
/* Waits at most timeout_ns for the end of the child, forwarding signals. c->done tells. */
int jm_child_wait(struct jm_child *c, int64_t timeout_ns, struct jm_err *err);

#endif
