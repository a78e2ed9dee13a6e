/* SPDX-License-Identifier: Apache-2.0 */
/* The options of joulemark-sim node --minutes: one table for command line, configuration file and help. */
#ifndef SIM_NODE_OPTIONS_H
#define SIM_NODE_OPTIONS_H

#include "instrument.h"

struct node_conf {
    struct plant_conf plant;
    struct inst_conf inst[INST_KINDS];
    char host[64], driver[32];
    char readings[4096], truth[4096]; /* "-": standard output; "" none */
    double truth_step_s, clock_error_s, clock_bound_s;
    double between[2];
    bool ask_between;
};

void node_conf_init(struct node_conf *c);
/* One option ("load", "0.5"). 0, or -1 with one sentence in why. */
int node_conf_say(struct node_conf *c, const char *key, const char *value, char *why, size_t n);
/* Lines "key value"; '#' starts a comment. */
int node_conf_file(struct node_conf *c, const char *path, char *why, size_t n);
void node_conf_help(void);

#endif
