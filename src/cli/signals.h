/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT, SIGTERM and SIGHUP ask for an orderly end; a second one ends at once. The only state of the program
 * that is global: a signal handler can reach nothing else. */
#ifndef JM_CLI_SIGNALS_H
#define JM_CLI_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

int jm_signals_catch(struct jm_err *err);
/* Becomes true at the first signal. */
extern volatile bool jm_signals_stop;
/* The signal that came, 0: none. */
int jm_signals_which(void);
/* Readable (poll) as soon as one came. */
int jm_signals_fd(void);
/* Sleeps until the monotonic time or the first signal; true: a signal. */
bool jm_signals_sleep_until(int64_t mono_ns);

#endif
