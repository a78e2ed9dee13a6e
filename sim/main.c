/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim: simulated parts with a known truth. */
#include "sim_main.h"

#include <stdio.h>
#include <string.h>

static const struct sim_command commands[] = {
    {"gpu", "simulated GPUs behind a libnvidia-ml.so.1 of their own", sim_cmd_gpu},
    {"engine", "an OpenAI-compatible server: continuous batching, power model", sim_cmd_engine},
    {"node", "a whole node: simulated GPUs, and engines that drive them", sim_cmd_node},
    {"ptd", "a PTDaemon of MLPerf Power, and the analyzer behind it", sim_cmd_ptd},
    {"analyzer", "a power analyzer that speaks SCPI, as Yokogawa's WT do", sim_cmd_analyzer},
    {"bmc", "a BMC that speaks Redfish", sim_cmd_bmc},
    {"pdu", "a rack PDU that speaks Redfish", sim_cmd_pdu},
    {"truth", "what the GPUs of a state file really drew", sim_cmd_truth},
    {"clock", "show or move the virtual clock of a state file", sim_cmd_clock},
};

int sim_fail(int status, const char *text)
{
    fprintf(stderr, "joulemark-sim: %s\n", text);
    return status;
}

static void help(FILE *f)
{
    fprintf(f, "usage: joulemark-sim COMMAND [OPTION]...\n\n"
               "Simulated parts of a serving node whose true power and energy are known.\n\n"
               "commands:\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].text);
    fprintf(f, "\njoulemark-sim COMMAND --help tells more. Exit status: 0 done, 2 wrong usage,\n"
               "4 the system failed.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return SIM_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("joulemark-sim " JM_VERSION);
        return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "joulemark-sim: there is no command \"%s\"; see joulemark-sim --help.\n", argv[1]);
    return SIM_USAGE;
}
