/* SPDX-License-Identifier: Apache-2.0 */
/* No engine: the CPU of the host that it runs on, as joulemark's own scraper writes it. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {{"joulemark_host_busy_seconds_total", JM_EQ_CPU_BUSY},
                                           {"joulemark_host_cpu_seconds_total", JM_EQ_CPU_ALL},
                                           {"joulemark_engine_process_seconds_total", JM_EQ_PROCESS},
                                           {0}};

static const char *const traps[] = {
    "a process that waits for its GPU may spin: busy only says something beside an idle GPU", NULL};

const struct jm_engine_dialect jm_engine_host = {.name = "host",
                                                 .title = "the host",
                                                 .mark = "joulemark_host_cpu_seconds_total",
                                                 .paths = "/proc/stat",
                                                 .map = map,
                                                 .traps = traps,
                                                 .source = "proc(5)"};
