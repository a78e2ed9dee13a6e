/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of readings between one writer (a reader thread) and one reader (the recorder thread), without
 * locks. */
#ifndef JM_RECORD_RING_H
#define JM_RECORD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "model/channel.h"

struct jm_ring {
    struct jm_reading *v;
    size_t mask;               /* room - 1, room is a power of two */
    _Atomic size_t head, tail; /* written up to, read up to; they only grow */
};

static inline bool jm_ring_init(struct jm_ring *r, size_t least)
{
    size_t room = 1024;
    while (room < least)
        room *= 2;
    r->v = malloc(room * sizeof *r->v); /* not touched: what is never used costs no memory */
    r->mask = room - 1;
    atomic_init(&r->head, 0);
    atomic_init(&r->tail, 0);
    return r->v != NULL;
}

static inline size_t jm_ring_used(const struct jm_ring *r)
{
    return atomic_load_explicit(&r->head, memory_order_acquire) -
           atomic_load_explicit(&r->tail, memory_order_acquire);
}

/* Returns how many found room. */
static inline size_t jm_ring_push(struct jm_ring *r, const struct jm_reading *v, size_t n)
{
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed),
           room = r->mask + 1 - (head - atomic_load_explicit(&r->tail, memory_order_acquire));
    if (n > room)
        n = room;
    for (size_t i = 0; i < n; i++)
        r->v[(head + i) & r->mask] = v[i];
    atomic_store_explicit(&r->head, head + n, memory_order_release);
    return n;
}

/* The readings that lie in one piece at the tail; give them back with jm_ring_pop. */
static inline size_t jm_ring_peek(const struct jm_ring *r, const struct jm_reading **v)
{
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed),
           n = atomic_load_explicit(&r->head, memory_order_acquire) - tail, at = tail & r->mask;
    *v = r->v + at;
    return n < r->mask + 1 - at ? n : r->mask + 1 - at;
}

static inline void jm_ring_pop(struct jm_ring *r, size_t n)
{
    atomic_store_explicit(&r->tail, atomic_load_explicit(&r->tail, memory_order_relaxed) + n,
                          memory_order_release);
}

#endif
