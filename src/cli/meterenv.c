/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/meterenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"

/* The option, else the variable where it is set and not empty. */
static const char *library(const char *option, const char *variable)
{
    const char *v = getenv(variable);
    return option ? option : v && v[0] ? v : NULL;
}

void jm_cli_meter_env(const struct jm_cli *cli, struct jm_meter_env *env)
{
    const struct jm_common *c = cli->common;
    static _Thread_local char host[256];
    const char *called = getenv("JOULEMARK_HOST");
    if (called && called[0])
        snprintf(host, sizeof host, "%.95s", called);
    else if (gethostname(host, sizeof host - 1))
        host[0] = '\0';
    *env = (struct jm_meter_env){.sysfs_root = c->sysfs_root,
                                 .proc_root = c->proc_root,
                                 .dev_root = c->dev_root,
                                 .nvml_lib = library(c->nvml_lib, "JM_NVML_LIB"),
                                 .dcgm_lib = library(c->dcgm_lib, "JM_DCGM_LIB"),
                                 .dcgm = c->dcgm,
                                 .amdsmi_lib = library(c->amdsmi_lib, "JM_AMDSMI_LIB"),
                                 .level_zero_lib = library(c->level_zero_lib, "JM_LEVEL_ZERO_LIB"),
                                 .hlml_lib = library(c->hlml_lib, "JM_HLML_LIB"),
                                 .devices = c->devices,
                                 .replay_path = c->replay,
                                 .yokogawa = c->yokogawa,
                                 .ptd = c->ptd,
                                 .tdp_w = c->tdp_w,
                                 .instruments = c->instruments.n ? &c->instruments : NULL,
                                 .host = host[0] ? host : "localhost",
                                 .log = &cli->log};
}
