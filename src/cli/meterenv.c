/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/meterenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"

void jm_cli_meter_env(const struct jm_cli *cli, struct jm_meter_env *env)
{
    const struct jm_common *c = cli->common;
    const char *lib = getenv("JM_NVML_LIB");
    static _Thread_local char host[256];
    const char *called = getenv("JOULEMARK_HOST");
    if (called && called[0])
        snprintf(host, sizeof host, "%.95s", called);
    else if (gethostname(host, sizeof host - 1))
        host[0] = '\0';
    *env = (struct jm_meter_env){.sysfs_root = c->sysfs_root,
                                 .proc_root = c->proc_root,
                                 .dev_root = c->dev_root,
                                 .nvml_lib = c->nvml_lib     ? c->nvml_lib
                                             : lib && lib[0] ? lib
                                                             : NULL,
                                 .devices = c->devices,
                                 .replay_path = c->replay,
                                 .yokogawa = c->yokogawa,
                                 .ptd = c->ptd,
                                 .tdp_w = c->tdp_w,
                                 .instruments = c->instruments.n ? &c->instruments : NULL,
                                 .host = host[0] ? host : "localhost",
                                 .log = &cli->log};
}
