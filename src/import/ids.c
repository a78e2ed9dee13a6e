/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that a file holds twice, by the ids it gives them. */
#include <stdlib.h>

#include "import/build.h"

#include "base/banned.h"

#define MOST ((size_t)1 << 22) /* ids, 32 MiB of hashes */

uint64_t jm_build_hash(uint64_t h, struct jm_span text)
{
    h = h ? h : UINT64_C(14695981039346656037);
    for (size_t i = 0; i < text.n; i++)
        h = (h ^ (unsigned char)text.p[i]) * UINT64_C(1099511628211);
    return h;
}

void jm_build_id(struct jm_build *b, const struct jm_jtoken *id)
{
    char text[256];
    if (b->rc || b->n_ids == MOST || (id->type != JM_J_STRING && id->type != JM_J_NUMBER) ||
        !jm_jtext(id, text, sizeof text) || !text[0])
        return;
    if (b->n_ids == b->cap_ids) {
        size_t cap = b->cap_ids ? 2 * b->cap_ids : 256;
        uint64_t *p = realloc(b->ids, cap * sizeof *p);
        if (!p) {
            b->rc = jm_err_set(b->err, JM_ENOMEM, "out of memory for the request ids of %s", b->f->path);
            return;
        }
        b->ids = p;
        b->cap_ids = cap;
    }
    struct jm_span window = {(const char *)&b->window, sizeof b->window};
    b->ids[b->n_ids++] = jm_build_hash(jm_build_hash(0, window), jm_span_of(text));
}

static int by_hash(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

int64_t jm_build_id_repeats(struct jm_build *b)
{
    int64_t n = 0;
    if (b->n_ids > 1)
        qsort(b->ids, b->n_ids, sizeof *b->ids, by_hash);
    for (size_t i = 1; i < b->n_ids; i++)
        n += b->ids[i] == b->ids[i - 1];
    free(b->ids);
    b->ids = NULL;
    b->n_ids = b->cap_ids = 0;
    return n;
}
