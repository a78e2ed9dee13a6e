/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of alarms by time. */
#include <stdlib.h>

#include "load/feed.h"

#include "base/banned.h"

bool jm_alarm_push(struct jm_alarm **v, size_t *n, size_t *cap, const struct jm_alarm *a)
{
    if (*n == *cap) {
        size_t more = *cap ? 2 * *cap : 16;
        struct jm_alarm *p = realloc(*v, more * sizeof *p);
        if (!p)
            return false;
        *v = p;
        *cap = more;
    }
    size_t i = (*n)++;
    for (; i > 0 && (*v)[(i - 1) / 2].due > a->due; i = (i - 1) / 2)
        (*v)[i] = (*v)[(i - 1) / 2];
    (*v)[i] = *a;
    return true;
}

struct jm_alarm jm_alarm_pop(struct jm_alarm *v, size_t *n)
{
    struct jm_alarm top = v[0], last = v[--*n];
    size_t i = 0;
    for (size_t k = 1; k < *n; k = 2 * i + 1) {
        if (k + 1 < *n && v[k + 1].due < v[k].due)
            k++;
        if (v[k].due >= last.due)
            break;
        v[i] = v[k];
        i = k;
    }
    v[i] = last;
    return top;
}
