/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated node as a child process: joulemark-sim node. */
#ifndef JM_CLI_SIMNODE_H
#define JM_CLI_SIMNODE_H

#include <limits.h>
#include <sys/types.h>

#include "base/err.h"

struct jm_simnode {
    pid_t pid;
    char url[256], state[PATH_MAX], lib[PATH_MAX];
};

/* Starts it and waits until it says where everything is. It ends with us, whatever happens. To be called
 * before any thread is made. Sets JOULEMARK_SIM_GPU, by which its NVML finds the state, in our environment.
 */
int jm_simnode_start(struct jm_simnode *n, struct jm_err *err);
void jm_simnode_stop(struct jm_simnode *n);

#endif
