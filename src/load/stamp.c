/* SPDX-License-Identifier: Apache-2.0 */
#include "load/stamp.h"

#include <netinet/in.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

/* The pair is good to its bracket, about 0.1 µs; stamps this far off are rounded to the bound, not refused.
 */
#define SLACK (50 * JM_NS_PER_US)

void jm_stamps_init(struct jm_stamps *s, struct jm_clock clock)
{
    *s = (struct jm_stamps){.clock = clock};
    jm_stamps_pair(s, INT64_MAX);
}

void jm_stamps_pair(struct jm_stamps *s, int64_t now)
{
    struct jm_clock_pair p;
    if (now != INT64_MAX && now - s->taken < JM_STAMP_PAIR_NS)
        return;
    jm_clock_pair(&s->clock, &p);
    s->taken = p.mono0 + (p.mono1 - p.mono0) / 2;
    s->offset = p.real - s->taken;
}

bool jm_stamps_enable(int fd)
{
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
}

int64_t jm_stamps_convert(struct jm_stamps *s, int64_t real, int64_t now, int64_t earliest)
{
    if (real < 0) {
        s->user++;
        return now;
    }
    int64_t t = real - s->offset;
    if (t > now + SLACK || t < earliest - SLACK) {
        jm_stamps_pair(s, INT64_MAX); /* perhaps the wall clock was just stepped */
        t = real - s->offset;
        if (t > now + SLACK || t < earliest - SLACK) {
            s->stepped++;
            return now;
        }
    }
    s->kernel++;
    return t > now ? now : t < earliest ? earliest : t;
}

int64_t jm_stamps_readable(struct jm_stamps *s, int64_t t, int64_t now, int64_t floor)
{
    if (t >= floor)
        return t;
    int64_t before = s->offset;
    if (floor - t > SLACK)
        jm_stamps_pair(s, INT64_MAX);
    int64_t moved = s->offset - before;
    if (moved < SLACK && moved > -SLACK) {
        s->held++;
        return floor;
    }
    t -= moved;
    if (t > floor - SLACK && t < now + SLACK)
        return t > now ? now : t < floor ? floor : t;
    s->kernel--;
    s->stepped++;
    return now;
}

/* Realtime stamp of a message, -1: none. */
static int64_t kernel_stamp(struct msghdr *m)
{
    int64_t real = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec ts;
            memcpy(&ts, CMSG_DATA(c), sizeof ts);
            if (ts.tv_sec > 0)
                real = ts.tv_sec * JM_NS_PER_S + ts.tv_nsec;
        }
    return real;
}

static bool connect_to_self(int keep[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    keep[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = door >= 0 && keep[0] >= 0 && jm_stamps_enable(keep[0]) &&
              bind(door, (struct sockaddr *)&a, sizeof a) == 0 && listen(door, 1) == 0 &&
              getsockname(door, (struct sockaddr *)&a, &n) == 0 &&
              connect(keep[0], (struct sockaddr *)&a, sizeof a) == 0 &&
              (keep[1] = accept4(door, NULL, NULL, SOCK_CLOEXEC)) >= 0;
    if (door >= 0)
        close(door);
    return ok;
}

bool jm_stamps_warm(const struct jm_clock *clock, int keep[2])
{
    keep[0] = keep[1] = -1;
    if (!connect_to_self(keep))
        return false;
    for (int i = 0; i < 100; i++) {
        union {
            char b[CMSG_SPACE(sizeof(struct timespec)) + 64];
            struct cmsghdr align;
        } control;
        char byte = 0;
        struct iovec v = {&byte, 1};
        struct msghdr m = {
            .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        if (send(keep[1], &byte, 1, MSG_NOSIGNAL) != 1 || recvmsg(keep[0], &m, 0) != 1)
            return false;
        if (kernel_stamp(&m) >= 0)
            return true;
        jm_clock_sleep_until(clock, jm_clock_mono(clock) + JM_NS_PER_MS, NULL);
    }
    return false;
}

int64_t jm_stamps_of(struct jm_stamps *s, struct msghdr *m, int64_t now, int64_t earliest)
{
    return jm_stamps_convert(s, kernel_stamp(m), now, earliest);
}
