/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define BLOCK ((size_t)32768)

struct block {
    struct block *next;
    alignas(16) char bytes[];
};

struct jm_mlperf_arena {
    struct block *blocks;
    size_t left;
    char *at;
    bool failed;
};

struct jm_mlperf_arena *jm_mlperf_arena_new(void)
{
    return calloc(1, sizeof(struct jm_mlperf_arena));
}

void jm_mlperf_arena_free(struct jm_mlperf_arena *a)
{
    if (!a)
        return;
    for (struct block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

static char *block(struct jm_mlperf_arena *a, size_t n)
{
    struct block *b = n < SIZE_MAX / 2 ? calloc(1, sizeof *b + n) : NULL;
    if (!b) {
        a->failed = true;
        return NULL;
    }
    b->next = a->blocks;
    a->blocks = b;
    return b->bytes;
}

void *jm_mlperf_alloc(struct jm_mlperf_arena *a, size_t n)
{
    n = (n + 15) & ~(size_t)15;
    if (n > BLOCK / 4)
        return block(a, n);
    if (n > a->left) {
        char *p = block(a, BLOCK);
        if (!p)
            return NULL;
        a->at = p;
        a->left = BLOCK;
    }
    char *p = a->at;
    a->at += n;
    a->left -= n;
    return p;
}

const char *jm_mlperf_copy(struct jm_mlperf_arena *a, struct jm_span s)
{
    char *p = jm_mlperf_alloc(a, s.n + 1);
    if (p && s.n)
        memcpy(p, s.p, s.n);
    return p;
}

const char *jm_mlperf_printf(struct jm_mlperf_arena *a, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return jm_mlperf_copy(a, (struct jm_span){text, n < 0                     ? 0
                                                    : (size_t)n < sizeof text ? (size_t)n
                                                                              : sizeof text - 1});
}

void jm_mlperf_arena_fail(struct jm_mlperf_arena *a)
{
    a->failed = true;
}

bool jm_mlperf_arena_failed(const struct jm_mlperf_arena *a)
{
    return a->failed;
}
