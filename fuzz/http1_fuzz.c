/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: how the rest is cut into pieces. The body must be the same however it is cut. */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "cut.h"
#include "wire/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int feed(const uint8_t *p, size_t n, size_t step, struct jm_str *body)
{
    struct jm_http1 h;
    struct jm_err err;
    struct jm_span v;
    int rc = 0;
    jm_http1_init(&h, &(struct jm_http1_limits){.head_bytes = 4096, .headers = 20});
    for (size_t at = 0; at < n && rc == 0; at += step) {
        struct jm_span in = {(const char *)p + at, step < n - at ? step : n - at}, piece;
        while ((rc = jm_http1_next(&h, &in, &piece, &err)) > 0 && rc != JM_HTTP1_DONE)
            if (rc == JM_HTTP1_BODY)
                jm_str_addspan(body, piece);
    }
    if (rc == 0)
        rc = jm_http1_eof(&h, &err);
    jm_http1_header(&h, "content-type", 0, &v);
    jm_http1_reason(&h);
    jm_http1_release(&h);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 1)
        return 0;
    struct cut c = cut(feed, p, n);
    if ((c.whole == JM_HTTP1_DONE) != (c.pieces == JM_HTTP1_DONE) || !c.same)
        abort();
    return 0;
}
