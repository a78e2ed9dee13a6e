/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_CLI_METERENV_H
#define JM_CLI_METERENV_H

#include "cli/cli.h"
#include "meter/meter.h"

/* What the meters are given: roots, libraries and devices of the common options. */
void jm_cli_meter_env(const struct jm_cli *cli, struct jm_meter_env *env);

#endif
