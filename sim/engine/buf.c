/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool room(struct sim_buf *b, size_t more)
{
    if (b->failed || more > SIZE_MAX / 4 - b->n)
        return false;
    if (b->n + more <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap : 512;
    while (cap < b->n + more)
        cap *= 2;
    char *p = realloc(b->p, cap);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void sim_buf_add(struct sim_buf *b, const void *p, size_t n)
{
    if (n == 0 || !room(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void sim_buf_str(struct sim_buf *b, const char *s)
{
    sim_buf_add(b, s, strlen(s));
}

void sim_buf_fmt(struct sim_buf *b, const char *fmt, ...)
{
    char small[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    if ((size_t)n < sizeof small) {
        sim_buf_add(b, small, (size_t)n);
        return;
    }
    if (!room(b, (size_t)n + 1))
        return;
    va_start(ap, fmt);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

void sim_buf_free(struct sim_buf *b)
{
    free(b->p);
    *b = (struct sim_buf){0};
}
