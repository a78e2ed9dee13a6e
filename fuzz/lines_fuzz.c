/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: how the rest is cut into pieces. The lines must be the same however it is cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cut.h"
#include "wire/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int feed(const uint8_t *p, size_t n, size_t step, struct jm_str *out)
{
    struct jm_lines l;
    struct jm_span line;
    struct jm_err err;
    int rc = 0;
    jm_lines_init(&l, 512);
    for (size_t at = 0; at < n && rc == 0; at += step) {
        struct jm_span in = {(const char *)p + at, step < n - at ? step : n - at};
        while ((rc = jm_lines_next(&l, &in, &line, &err)) == 1) {
            if (!line.n || memchr(line.p, '\n', line.n))
                abort();
            jm_str_addspan(out, line);
            jm_str_addc(out, '\n');
        }
    }
    if (rc == 0 && jm_lines_end(&l, &line) == 1)
        jm_str_addspan(out, line);
    jm_lines_release(&l);
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
