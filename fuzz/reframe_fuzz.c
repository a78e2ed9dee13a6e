/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: how the body is cut. Lines up to the first empty one are header lines, the rest is the body as
 * a library decoded it. What is written down must be read back as just that body, and nothing that stands in
 * a header may end or begin an answer. The same bytes are also taken apart as a request. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "load/reframe.h"
#include "wire/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void write_down(struct jm_span in, size_t step, struct jm_reframe *f, struct jm_str *out,
                       struct jm_span *body)
{
    struct jm_span line;
    jm_reframe_begin(f, step & 1);
    while (!f->headed && in.n) {
        ptrdiff_t lf = jm_span_chr(in, '\n');
        line = jm_span_sub(in, 0, lf < 0 ? in.n : (size_t)lf + 1);
        in = jm_span_sub(in, line.n, in.n);
        jm_reframe_head(f, line, out);
    }
    *body = in;
    for (size_t at = 0; at < in.n; at += step)
        jm_reframe_body(f, jm_span_sub(in, at, step), out);
    jm_reframe_end(f, out);
}

static void read_back(const struct jm_reframe *f, struct jm_span text, struct jm_span body)
{
    struct jm_http1 h;
    struct jm_err err;
    struct jm_str got;
    struct jm_span piece;
    int rc, heads = 0;
    jm_str_init(&got);
    jm_http1_init(&h, NULL);
    while ((rc = jm_http1_next(&h, &text, &piece, &err)) > 0 && rc != JM_HTTP1_DONE) {
        heads += rc == JM_HTTP1_HEAD;
        if (rc == JM_HTTP1_BODY)
            jm_str_addspan(&got, piece);
    }
    if (rc == JM_HTTP1_DONE) {
        bool bodiless = h.status == 204 || h.status == 304;
        if (!f->headed || heads != 1 || text.n || h.status != f->status ||
            (!bodiless && !jm_span_eq(jm_str_span(&got), body)))
            abort();
    }
    jm_http1_release(&h);
    jm_str_release(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_reframe f;
    struct jm_split s;
    struct jm_str out, keep;
    struct jm_span body, in;
    if (n < 1)
        return 0;
    in = (struct jm_span){(const char *)p + 1, n - 1};
    jm_str_init(&out);
    jm_str_init(&keep);
    write_down(in, p[0] % 16 + 1, &f, &out, &body);
    read_back(&f, jm_str_span(&out), body);
    if (jm_split_request(in, &s, &keep, NULL) == 0)
        for (size_t i = 0; s.headers[i]; i++)
            if (strchr(s.headers[i], '\n'))
                abort();
    jm_str_release(&out);
    jm_str_release(&keep);
    return 0;
}
