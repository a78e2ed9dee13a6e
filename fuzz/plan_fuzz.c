/* SPDX-License-Identifier: Apache-2.0 */
/* Plans from YAML: what is taken is whole, can be copied, and its schedule goes forward. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "load/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jm_plan *p = NULL, *c;
    struct jm_err err;
    if (jm_plan_yaml((struct jm_span){(const char *)data, size}, "p.yaml", &p, &err) != 0)
        return 0;
    if (jm_plan_check(p, &err) != 0 || !(c = jm_plan_copy(p)))
        abort();
    jm_plan_free(p);
    for (size_t i = 0; i < c->slices; i++) {
        const struct jm_slice *s = &c->slice[i];
        struct jm_shape g;
        struct jm_draw d;
        char words[96];
        int64_t t, last = 0;
        jm_slice_words(s, words, sizeof words);
        jm_slice_draw(s, 1, (int)i, 5, &d);
        if (s->isl.kind != JM_LEN_NONE && (d.isl < 1 || d.isl > 10000000))
            abort();
        if (jm_slice_users_at(s, 1000000000) > jm_slice_most_users(s))
            abort();
        if (!jm_slice_open(s) || s->arrive == JM_ARRIVE_TRACE)
            continue;
        jm_shape_init(&g, s, 1, (int)i);
        for (int k = 0; k < 50 && jm_shape_next(&g, &t); k++) {
            if (t < last)
                abort();
            last = t;
        }
    }
    jm_plan_free(c);
    return 0;
}
