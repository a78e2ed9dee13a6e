/* SPDX-License-Identifier: Apache-2.0 */
/* A link with delay and loss where the kernel has no netem: two TUN devices, one here and one in a network
 * namespace, and this between them. What comes from the namespace is handed on DELAY_MS after it came, or not
 * at all; the other way is at once. At its end it says how late it was itself; when it handed on which event
 * goes into LOG. Usage: bench-relay NAMESPACE DEVICE_HERE DEVICE_THERE DELAY_MS LOSS_PERCENT [LOG] */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "link.h"

enum { PACKET = 2048, RING = 1 << 14, LATE = 1 << 16 };

struct packet {
    int64_t due;
    ssize_t n;
    char bytes[PACKET];
};

static volatile sig_atomic_t over;

static void on_signal(int sig)
{
    (void)sig;
    over = 1;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int tun(const char *name)
{
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    return fd >= 0 && ioctl(fd, TUNSETIFF, &r) == 0 ? fd : -1;
}

static int enter(const char *ns)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", ns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd >= 0 ? setns(fd, CLONE_NEWNET) : -1;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Events whose send time stands whole in this packet. */
static void note(struct link_log *log, const char *p, size_t n, int64_t t)
{
    static const char mark[] = "\"content\":\"";
    const char *end = p + n, *at = p;
    while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)) &&
           end - at >= (ptrdiff_t)sizeof mark + 16) {
        uint64_t v = 0;
        at += sizeof mark - 1;
        for (int i = 0; i < 16; i++, at++)
            v = v << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        uint32_t k = log ? atomic_load(&log->n) : LINK_MOST;
        if (k < LINK_MOST) {
            log->e[k].sent = (int64_t)v;
            log->e[k].arrived = t;
            atomic_store(&log->n, k + 1);
        }
    }
}

static int up(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
    static int64_t late[LATE];
    size_t head = 0, n = 0, lates = 0, lost = 0, all = 0, full = 0;
    uint64_t rng = UINT64_C(0x9e3779b97f4a7c15);
    if (argc < 6)
        return 2;
    struct link_log *log = argc > 6 ? link_map(argv[6]) : NULL;
    int here = tun(argv[2]), there = enter(argv[1]) == 0 ? tun(argv[3]) : -1;
    struct packet *ring = malloc(RING * sizeof *ring);
    if (here < 0 || there < 0 || !ring) {
        fprintf(stderr, "bench-relay: %s\n", strerror(errno));
        return 4;
    }
    int64_t delay = (int64_t)(strtod(argv[4], NULL) * 1e6);
    uint64_t drop = (uint64_t)(strtod(argv[5], NULL) / 100 * 18446744073709551615.0);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    signal(SIGTERM, on_signal);
    puts("ready");
    fflush(stdout);
    while (!over) {
        struct pollfd p[2] = {{.fd = here, .events = POLLIN}, {.fd = there, .events = n < RING ? POLLIN : 0}};
        int64_t wait = n ? ring[head].due - now_ns() : 50000000;
        struct timespec ts = {0, wait > 0 ? wait < 50000000 ? wait : 50000000 : 0};
        if (ppoll(p, 2, &ts, NULL) < 0)
            continue;
        char up_bytes[PACKET];
        for (ssize_t k; (k = read(here, up_bytes, sizeof up_bytes)) > 0;)
            (void)!write(there, up_bytes, (size_t)k);
        while (n < RING) {
            struct packet *q = &ring[(head + n) % RING];
            if ((q->n = read(there, q->bytes, sizeof q->bytes)) <= 0)
                break;
            q->due = now_ns() + delay;
            all++;
            rng ^= rng << 13;
            rng ^= rng >> 7;
            rng ^= rng << 17;
            if (rng < drop)
                lost++;
            else
                n++;
        }
        full += n == RING;
        for (int64_t t; n && ring[head].due <= (t = now_ns()); n--) {
            if (lates < LATE)
                late[lates++] = t - ring[head].due;
            note(log, ring[head].bytes, (size_t)ring[head].n, now_ns());
            (void)!write(here, ring[head].bytes, (size_t)ring[head].n);
            head = (head + 1) % RING;
        }
    }
    qsort(late, lates, sizeof *late, up);
    if (lates)
        fprintf(
            stderr,
            "                   (link late by %.1f us at the median, %.1f p99; %zu of %zu packets lost%s)\n",
            (double)late[lates / 2] / 1e3, (double)late[lates * 99 / 100] / 1e3, lost, all,
            full ? "; its queue was full" : "");
    return 0;
}
