/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a power measurement starts: struct jm_mlperf_child_ops by processes. */
#ifndef JM_CLI_MLPERF_CHILD_H
#define JM_CLI_MLPERF_CHILD_H

#include "mlperf/child.h"

struct jm_mlperf_child_ops jm_cli_mlperf_child(void);

#endif
