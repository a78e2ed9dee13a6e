/* SPDX-License-Identifier: Apache-2.0 */
/* Where the library's messages go: standard error, the progress line out of the way. */
#ifndef JM_CLI_LOG_H
#define JM_CLI_LOG_H

#include "cli/cli.h"

/* Level: warnings; JM_LOG sets it, --verbose means info at least, --quiet only errors. c may be NULL. */
int jm_cli_log_init(struct jm_log *log, struct jm_term *t, const struct jm_common *c, struct jm_err *err);

#endif
