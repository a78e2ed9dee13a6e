/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a session: given piece by piece, freed together. */
#ifndef JM_MLPERF_ARENA_H
#define JM_MLPERF_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct jm_mlperf_arena;

struct jm_mlperf_arena *jm_mlperf_arena_new(void);
void jm_mlperf_arena_free(struct jm_mlperf_arena *a);
/* Zeroed; NULL: out of memory, which the arena remembers. */
void *jm_mlperf_alloc(struct jm_mlperf_arena *a, size_t n);
/* A copy with NUL; control characters and bytes that are no UTF-8 stay as they are. */
const char *jm_mlperf_copy(struct jm_mlperf_arena *a, struct jm_span s);
const char *jm_mlperf_printf(struct jm_mlperf_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of memory that the caller wanted elsewhere. */
void jm_mlperf_arena_fail(struct jm_mlperf_arena *a);
bool jm_mlperf_arena_failed(const struct jm_mlperf_arena *a);

#endif
