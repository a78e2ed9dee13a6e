/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs of the same installation. */
#ifndef JM_CLI_FIND_H
#define JM_CLI_FIND_H

#include <limits.h>

#include "base/err.h"

#define JM_FIND_PATH PATH_MAX
/* joulemark-sim: JM_SIM, else beside the executable (or in sim/ there, as in a build folder), else in
 * libexec. */
int jm_find_sim(char path[JM_FIND_PATH], struct jm_err *err);
/* The running executable itself. */
int jm_find_self(char path[JM_FIND_PATH], struct jm_err *err);

#endif
