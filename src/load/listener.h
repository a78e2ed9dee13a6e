/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of this machine listens on a port: /proc/net/tcp and tcp6 give the socket's inode,
 * /proc/PID/fd the process (proc(5)). Needs the rights of that process's user. */
#ifndef JM_LOAD_LISTENER_H
#define JM_LOAD_LISTENER_H

#include <stddef.h>
#include <stdint.h>

/* The process's id, or -1 and why. root: "/proc" or a fake tree. */
int64_t jm_listener_find(const char *root, int port, char *why, size_t n);

#endif
