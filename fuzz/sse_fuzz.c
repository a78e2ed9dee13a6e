/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: how the rest is cut into pieces. The events must be the same however it is cut. */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "cut.h"
#include "wire/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void put(struct jm_str *out, const struct jm_sse_event *ev, char kind)
{
    jm_str_addc(out, kind);
    jm_str_addc(out, ev->error ? '!' : ' ');
    jm_str_addspan(out, ev->name);
    jm_str_addc(out, '|');
    jm_str_addspan(out, ev->data);
}

static int feed(const uint8_t *p, size_t n, size_t step, struct jm_str *out)
{
    struct jm_sse s;
    struct jm_sse_event ev;
    struct jm_err err;
    int rc = 0;
    jm_sse_init(&s, 2048);
    for (size_t at = 0; at < n && rc == 0; at += step) {
        struct jm_span in = {(const char *)p + at, step < n - at ? step : n - at};
        while ((rc = jm_sse_next(&s, &in, &ev, &err)) == 1)
            put(out, &ev, '.');
    }
    if (rc == 0 && (rc = jm_sse_end(&s, &ev, &err)) == 1)
        put(out, &ev, '~');
    jm_sse_release(&s);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 1)
        return 0;
    struct cut c = cut(feed, p, n);
    if (c.whole != c.pieces || !c.same)
        abort();
    return 0;
}
