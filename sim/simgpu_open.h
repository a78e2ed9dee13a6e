/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a state file and tells its time. */
#ifndef SIMGPU_OPEN_H
#define SIMGPU_OPEN_H

#include "simgpu_state.h"

#include <stdbool.h>
#include <stddef.h>

/* One process's view of a state file; any number of threads may read through it. */
struct simgpu {
    struct simgpu_header *h;
    struct simgpu_gpu *g; /* h->gpu_count of them */
    uint8_t *base;
    size_t size;
    int fd;
    _Atomic(struct simgpu_capped *)
        capped[SIMGPU_MAX_GPUS]; /* waveforms under a limit, made when first needed */
};

/* Maps the state file. 0, or a negative errno with one sentence in why[n]. */
int simgpu_open(struct simgpu **out, const char *path, char *why, size_t n);
void simgpu_close(struct simgpu *s);

/* Gives the pages of the state back that this process has touched; they come again when they are needed. A
 * reader of a driven GPU would else map, step by step, the whole ring. Nothing is lost: the file is shared.
 */
void simgpu_trim(struct simgpu *s);

/* The state's clock, ns: CLOCK_MONOTONIC or the virtual clock. */
int64_t simgpu_now(const struct simgpu *s);

/* CLOCK_REALTIME, ns, at time t of the state's clock, by the pair of clocks read at the start: the same t
 * always has the same stamp. */
int64_t simgpu_realtime(const struct simgpu *s, int64_t t_ns);

/* Moves the virtual clock on by dt >= 0 and returns the new time; -EINVAL with the real clock or dt < 0. */
int64_t simgpu_advance(struct simgpu *s, int64_t dt_ns);

/* Moves the virtual clock to t where it is not already later. 0 or -EINVAL with the real clock. */
int simgpu_advance_to(struct simgpu *s, int64_t t_ns);

/* Is there a device of this PCI vendor? */
static inline bool simgpu_has_vendor(const struct simgpu *s, unsigned vendor)
{
    for (uint32_t i = 0; i < s->h->gpu_count; i++)
        if ((s->g[i].pci_device_id & 0xffff) == vendor)
            return true;
    return false;
}

static inline const struct simgpu_seg *simgpu_segs(const struct simgpu *s, const struct simgpu_gpu *g)
{
    return (const struct simgpu_seg *)(const void *)(s->base + g->seg_at);
}

static inline struct simgpu_step *simgpu_ring(const struct simgpu *s, const struct simgpu_gpu *g)
{
    return (struct simgpu_step *)(void *)(s->base + g->ring_at);
}

#endif
