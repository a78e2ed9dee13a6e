/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of joulemark-sim. */
#ifndef SIM_MAIN_H
#define SIM_MAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses: 0 done, 2 wrong usage, 4 the system failed. */
enum { SIM_OK = 0, SIM_USAGE = 2, SIM_SYSTEM = 4 };

struct sim_command {
    const char *name, *text;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

int sim_cmd_gpu(int argc, char **argv);
int sim_cmd_engine(int argc, char **argv);
int sim_cmd_node(int argc, char **argv);
int sim_cmd_truth(int argc, char **argv);
int sim_cmd_clock(int argc, char **argv);
int sim_cmd_ptd(int argc, char **argv);
int sim_cmd_analyzer(int argc, char **argv);
int sim_cmd_bmc(int argc, char **argv);
int sim_cmd_pdu(int argc, char **argv);

/* The simulated libnvidia-ml.so.1 (an old driver's when old), as named by lib or, when that is NULL, beside
 * this program in a build or in its libdir when installed: its real path in out[n]. 0, or a negative errno
 * with a sentence in why. */
int sim_find_nvml(const char *lib, bool old, char *out, size_t n, char *why, size_t whylen);

/* One sentence to standard error; returns status. */
int sim_fail(int status, const char *text);

#endif
