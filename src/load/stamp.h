/* SPDX-License-Identifier: Apache-2.0 */
/* Receive stamps: the kernel stamps a packet when it arrives (SO_TIMESTAMPNS), on CLOCK_REALTIME; here they
 * become CLOCK_MONOTONIC through pairs of both clocks. A stamp that cannot be (in the future, or before the
 * moment from which it must come) means that the wall clock was stepped: the time of reading is taken
 * instead, and counted. */
#ifndef JM_LOAD_STAMP_H
#define JM_LOAD_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/clock.h"

struct jm_stamps {
    struct jm_clock clock;
    int64_t offset;                /* realtime − monotonic */
    int64_t taken;                 /* when, monotonic */
    int64_t kernel, user, stepped; /* how many stamps of which kind */
    int64_t held;                  /* of the kernel's: raised by jm_stamps_readable */
};

#define JM_STAMP_PAIR_NS (250 * JM_NS_PER_MS)

void jm_stamps_init(struct jm_stamps *s, struct jm_clock clock);
/* Takes a new pair when the last is older than JM_STAMP_PAIR_NS. now: monotonic. */
void jm_stamps_pair(struct jm_stamps *s, int64_t now);
/* Asks the kernel for stamps on a socket; false where it cannot. */
bool jm_stamps_enable(int fd);
/* The kernel begins to stamp some milliseconds after the first socket asks for it, and stops after the last
 * one. This opens a connection of the process with itself, keeps it, and waits (at most 100 ms) until its
 * bytes are stamped; false when they never are. Close both ends (-1: none) at the end. */
bool jm_stamps_warm(const struct jm_clock *clock, int keep[2]);
/* The stamp of what a recvmsg() returned at `now`; it cannot lie before `earliest`. */
int64_t jm_stamps_of(struct jm_stamps *s, struct msghdr *m, int64_t now, int64_t earliest);
/* The kernel stamps each packet when it comes, but hands bytes out in order: behind a lost packet they wait,
 * with a stamp of long before they could be read. t: a converted stamp of bytes that were not readable before
 * `floor` (0: not known). Raises it to that, unless it is the wall clock that was set back. */
int64_t jm_stamps_readable(struct jm_stamps *s, int64_t t, int64_t now, int64_t floor);
/* The conversion alone: real < 0 means that the kernel gave none. */
int64_t jm_stamps_convert(struct jm_stamps *s, int64_t real, int64_t now, int64_t earliest);

#endif
