/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark sim node --minutes N -o FILE: a simulated node in virtual time, as a run file. */
#ifndef JM_CLI_SIMRUN_H
#define JM_CLI_SIMRUN_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/cli.h"

/* The words after "sim" ask for that: node, --minutes and -o are among them. */
bool jm_simrun_asked(const struct jm_cli *cli);
/* sim: the program. Returns an exit status or a negative JM_E*. */
int jm_simrun(struct jm_cli *cli, const char *sim, struct jm_err *err);

#endif
