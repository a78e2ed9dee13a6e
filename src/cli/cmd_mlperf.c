/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of MLPerf Power have two words; this row holds what they have in common for --help. */
#include "cli/cmds.h"

#include "base/banned.h"

const struct jm_cmd jm_cmd_mlperf = {
    .name = "mlperf",
    .group = "MLPerf Power",
    .summary = "Read, check and run power measurements of MLPerf",
    .usage = "COMMAND [OPTIONS] [ARGUMENTS]",
    .description =
        "MLPerf Power measures the whole system at the wall: a power analyzer, read by SPEC's PTDaemon, logs "
        "one sample a second while LoadGen drives the system. These commands read what such a measurement "
        "left behind, say by which rules it is valid, and drive one. docs/mlperf.md is the guide.",
    .flags = JM_CMD_PARENT,
};
