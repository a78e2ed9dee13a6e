/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs that a measurement starts (a PTDaemon, a workload, ntpdate). A library starts no process:
 * the caller gives these operations, the program's are in cli/mlperf_child.c, tests have their own. */
#ifndef JM_MLPERF_CHILD_H
#define JM_MLPERF_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct jm_mlperf_child_ops {
    /* Starts argv (NULL-ended; found on PATH) in a process group of its own, with env ("NAME=VALUE",
     * NULL-ended, may be NULL) added to the environment and standard input empty. Standard output and error
     * go to out_fd (which stays the caller's), with -1 to our standard error. */
    int (*start)(void *self, const char *const *argv, const char *const *env, int out_fd, int64_t *pid,
                 struct jm_err *err);
    /* 1: still running. 0: it ended; *status as a shell would say it (128 + signal). */
    int (*poll)(void *self, int64_t pid, int *status);
    /* Ends its whole group: SIGTERM, after grace_ns SIGKILL. Returns when it is gone; harmless when it was.
     */
    void (*end)(void *self, int64_t pid, int64_t grace_ns, int *status);
    void *self;
};

#endif
