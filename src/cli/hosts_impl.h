/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c talks with the hosts; hostsrun.c says when what happens. */
#ifndef JM_CLI_HOSTS_IMPL_H
#define JM_CLI_HOSTS_IMPL_H

#include "cli/hosts.h"

enum { JM_HOST_STARTING, JM_HOST_READY, JM_HOST_BEGUN, JM_HOST_FETCHING, JM_HOST_DONE, JM_HOST_FAILED };

/* Starts the program on the host; one that cannot be started has failed. words: options of `record`, quoted
 * for a shell; argv: the same for this machine. */
void jm_host_start(struct jm_host *h, const char *ssh, const char *words, char *const *argv);
/* Hears all hosts until every one of them has got to `state` or failed, the monotonic time, or (stop) a
 * signal. */
void jm_hosts_hear(struct jm_hosts *all, int state, int64_t until, bool stop);
/* "begin 123": to every host that has got to `from`. */
void jm_hosts_say(struct jm_hosts *all, int from, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "time", unless the last one is not answered yet. */
void jm_host_ask_time(struct jm_host *h, int64_t mono);
void jm_host_fail(struct jm_host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* How many are at least in this state and have not failed. */
size_t jm_hosts_count(const struct jm_hosts *all, int state);
/* Ends what still runs, and frees. */
void jm_hosts_end(struct jm_hosts *all);

#endif
