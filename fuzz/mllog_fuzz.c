/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of MLPerf Training's logs: whatever is taken points into the line. */
#include <stdint.h>
#include <stdlib.h>

#include "wire/mllog.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void inside(struct jm_span s, struct jm_span in)
{
    if (s.n && (s.p < in.p || s.p + s.n > in.p + in.n) && !jm_span_is(s, "true") && !jm_span_is(s, "false"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span rest = {(const char *)p, n}, line;
    while (jm_span_line(&rest, &line)) {
        struct jm_mllog e;
        struct jm_err err;
        if (jm_mllog_parse(line, &e, &err))
            continue;
        inside(e.key, line);
        inside(e.text, line);
        inside(e.event, line);
        inside(jm_mllog_meta(&e, "status"), line);
    }
    return 0;
}
