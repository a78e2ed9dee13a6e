/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of token events. Whatever decodes must encode to something that decodes to the same. */
#include <stdlib.h>
#include <string.h>

#include "run/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_event_batch *a = NULL, *b = NULL;
    struct jm_str s;
    int64_t first, last;
    jm_str_init(&s);
    if (jm_event_batch_new(&a, NULL) || jm_event_batch_new(&b, NULL))
        abort();
    if (jm_events_decode((struct jm_span){(const char *)p, n}, a, NULL) == 0) {
        if (jm_events_encode(a, &s, &first, &last, NULL) || jm_events_decode(jm_str_span(&s), b, NULL))
            abort();
        if (a->n_req != b->n_req || a->n_ev != b->n_ev || memcmp(a->id, b->id, a->n_req * sizeof *a->id) ||
            memcmp(a->from, b->from, (a->n_req + 1) * sizeof *a->from))
            abort();
        for (size_t i = 0; i < a->n_ev; i++)
            if (a->ev[i].t != b->ev[i].t || a->ev[i].tokens != b->ev[i].tokens ||
                a->ev[i].flags != b->ev[i].flags)
                abort();
    }
    jm_event_batch_free(a);
    jm_event_batch_free(b);
    jm_str_release(&s);
    return 0;
}
