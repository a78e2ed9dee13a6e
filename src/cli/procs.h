/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_CLI_PROCS_H
#define JM_CLI_PROCS_H

#include <stddef.h>
#include <stdint.h>

/* pid and all its descendants by the parent column of proc_root/PID/stat (proc_root NULL: /proc); at most
 * max. */
size_t jm_procs_below(const char *proc_root, int64_t pid, int64_t *out, size_t max);

#endif
