/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_NODE_CMD_VIRTUAL_H
#define SIM_NODE_CMD_VIRTUAL_H

#include <stdbool.h>

/* --minutes is among the options: the node runs in virtual time. */
bool sim_node_is_virtual(int argc, char **argv);
int sim_node_virtual(int argc, char **argv);

#endif
