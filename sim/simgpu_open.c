/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_open.h"
#include "simgpu_power.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool inside(uint64_t at, uint64_t count, uint64_t each, uint64_t size)
{
    return at % 16 == 0 && at <= size && count <= (size - at) / each;
}

/* A state file may come from anywhere; nothing in it is used as an offset before it was checked here. */
static const char *check(const struct simgpu *s)
{
    const struct simgpu_header *h = s->h;
    if (memcmp(h->magic, SIMGPU_MAGIC, 8) != 0)
        return "is not a state file of joulemark-sim gpu";
    if (h->version != SIMGPU_VERSION || h->header_size != sizeof(struct simgpu_header) ||
        h->gpu_size != sizeof(struct simgpu_gpu))
        return "was written by another version of joulemark-sim; create it again";
    if (!s->g || h->gpu_count > SIMGPU_MAX_GPUS || h->fault_count > SIMGPU_MAX_FAULTS ||
        h->file_size != s->size || !inside(h->gpu_at, h->gpu_count, sizeof(struct simgpu_gpu), s->size))
        return "is damaged; create it again";
    for (uint32_t i = 0; i < h->gpu_count; i++) {
        const struct simgpu_gpu *g = &s->g[i];
        bool wave = g->mode == SIMGPU_WAVE && g->seg_count > 0 && g->cycle_ns > 0 &&
                    inside(g->seg_at, g->seg_count, sizeof(struct simgpu_seg), s->size);
        bool ring = g->mode == SIMGPU_DRIVEN && g->ring_size > 1 &&
                    (g->ring_size & (g->ring_size - 1)) == 0 &&
                    inside(g->ring_at, g->ring_size, sizeof(struct simgpu_step), s->size);
        if (!wave && !ring)
            return "is damaged; create it again";
    }
    return NULL;
}

int simgpu_open(struct simgpu **out, const char *path, char *why, size_t n)
{
    struct simgpu *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(why, n, "no memory to open the state file %s.", path);
        return -ENOMEM;
    }
    struct stat st;
    int e = 0;
    const char *bad = NULL;
    s->fd = open(path, O_RDWR | O_CLOEXEC);
    if (s->fd < 0 || fstat(s->fd, &st) != 0) {
        e = errno;
        goto fail;
    }
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof(struct simgpu_header)) {
        bad = "is not a state file of joulemark-sim gpu";
        goto fail;
    }
    s->size = (size_t)st.st_size;
    void *p = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (p == MAP_FAILED) {
        e = errno;
        goto fail;
    }
    s->base = p;
    s->h = p;
    if (s->h->gpu_at < s->size)
        s->g = (struct simgpu_gpu *)(void *)(s->base + s->h->gpu_at);
    bad = check(s);
    if (bad)
        goto fail;
    *out = s;
    return 0;
fail:
    if (bad)
        snprintf(why, n, "%s %s.", path, bad);
    else
        snprintf(why, n, "cannot open the state file %s: %s.", path, strerror(e));
    simgpu_close(s);
    return bad ? -EINVAL : -e;
}

void simgpu_close(struct simgpu *s)
{
    if (!s)
        return;
    for (int i = 0; i < SIMGPU_MAX_GPUS; i++)
        simgpu_capped_free(atomic_load(&s->capped[i]));
    if (s->base)
        munmap(s->base, s->size);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

void simgpu_trim(struct simgpu *s)
{
    madvise(s->base, s->size, MADV_DONTNEED);
}

int64_t simgpu_now(const struct simgpu *s)
{
    if (s->h->clock == SIMGPU_CLOCK_VIRTUAL)
        return atomic_load(&s->h->now_ns);
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t simgpu_realtime(const struct simgpu *s, int64_t t_ns)
{
    return s->h->start_real_ns + (t_ns - s->h->start_ns);
}

int64_t simgpu_advance(struct simgpu *s, int64_t dt_ns)
{
    if (s->h->clock != SIMGPU_CLOCK_VIRTUAL || dt_ns < 0)
        return -EINVAL;
    return atomic_fetch_add(&s->h->now_ns, dt_ns) + dt_ns;
}

int simgpu_advance_to(struct simgpu *s, int64_t t_ns)
{
    if (s->h->clock != SIMGPU_CLOCK_VIRTUAL)
        return -EINVAL;
    int64_t now = atomic_load(&s->h->now_ns);
    while (now < t_ns && !atomic_compare_exchange_weak(&s->h->now_ns, &now, t_ns))
        ;
    return 0;
}
