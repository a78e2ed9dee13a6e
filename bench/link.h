/* SPDX-License-Identifier: Apache-2.0 */
/* What bench-relay writes down for bench-netem, in a file that both map: when an event of the self-check's
 * server was put into the client's end of the link, under the send time that the event carries. */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINK_MOST = 1 << 21 };

struct link_log {
    _Atomic uint32_t n;
    struct {
        int64_t sent, arrived;
    } e[LINK_MOST];
};

static inline struct link_log *link_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct link_log)) != 0)
        return NULL;
    void *p = mmap(NULL, sizeof(struct link_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

#endif
