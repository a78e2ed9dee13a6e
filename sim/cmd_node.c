/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_main.h"

int sim_cmd_node(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return sim_fail(SIM_SYSTEM, "the node is not there yet.");
}
