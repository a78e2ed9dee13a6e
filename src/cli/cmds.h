/* SPDX-License-Identifier: Apache-2.0 */
/* All commands, sorted: adding one is a line here and a cmd_x.c. */
#ifndef JM_CLI_CMDS_H
#define JM_CLI_CMDS_H

#include "cli/cli.h"

#define JM_COMMANDS                                                                                          \
    X(audit)                                                                                                 \
    X(bench)                                                                                                 \
    X(calibrate)                                                                                             \
    X(characterize)                                                                                          \
    X(compare)                                                                                               \
    X(demo)                                                                                                  \
    X(export)                                                                                                \
    X(factors)                                                                                               \
    X(help)                                                                                                  \
    X(idle)                                                                                                  \
    X(import)                                                                                                \
    X(mark)                                                                                                  \
    X(merge)                                                                                                 \
    X(meters)                                                                                                \
    X(mlperf)                                                                                                \
    X(mlperf_check)                                                                                          \
    X(mlperf_compare)                                                                                        \
    X(mlperf_director)                                                                                       \
    X(mlperf_show)                                                                                           \
    X(mlperf_sut)                                                                                            \
    X(record)                                                                                                \
    X(recover)                                                                                               \
    X(report)                                                                                                \
    X(run)                                                                                                   \
    X(show)                                                                                                  \
    X(sim)                                                                                                   \
    X(version)

#define X(name) extern const struct jm_cmd jm_cmd_##name;
JM_COMMANDS
#undef X

#endif
