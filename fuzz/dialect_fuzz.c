/* SPDX-License-Identifier: Apache-2.0 */
/* A whole answer: the first byte chooses the row of the table of dialects, the second how the rest is cut
 * into reads. However it is cut, the record is the same, and a count is never 0 for want of one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "load/call.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void feed(struct jm_call *c, const uint8_t *p, size_t n, size_t step)
{
    bool over = false;
    for (size_t at = 0; at < n && !over; at += step)
        over = jm_call_bytes(c, (struct jm_span){(const char *)p + at, step < n - at ? step : n - at},
                             (int64_t)at);
    if (!over)
        jm_call_closed(c, NULL, (int64_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_reader rd;
    struct jm_call a, b;
    size_t rows = 0;
    while (jm_dialect_at(rows))
        rows++;
    if (n < 2 || jm_reader_init(&rd, jm_dialect_at(p[0] % rows), NULL) != 0)
        return 0;
    jm_call_init(&a, &rd, true);
    jm_call_init(&b, &rd, true);
    feed(&a, p + 2, n - 2, n);
    feed(&b, p + 2, n - 2, p[1] % 16 + 1);
    if (a.mode != JM_CALL_OVER || b.mode != JM_CALL_OVER || a.r.end != b.r.end || a.ev.n != b.ev.n ||
        a.r.output_tokens != b.r.output_tokens || a.r.prompt_tokens != b.r.prompt_tokens ||
        a.text.len != b.text.len || strcmp(a.r.output_sha256, b.r.output_sha256) != 0 ||
        (a.r.end == JM_END_OK && a.r.error[0]))
        abort();
    struct jm_token_event *ev = calloc(b.ev.n + 1, sizeof *ev);
    if (ev && jm_evlog_read(&b.ev, ev, b.ev.n) != b.ev.n)
        abort();
    for (size_t i = 1; ev && i < b.ev.n; i++)
        if (ev[i].t < ev[i - 1].t)
            abort();
    free(ev);
    jm_call_release(&a);
    jm_call_release(&b);
    return 0;
}
