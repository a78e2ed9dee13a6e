/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/path.h"

#include "base/banned.h"

int jm_path_beside(const char *path, const char *suffix, struct jm_str *out, struct jm_err *err)
{
    struct jm_span s = jm_span_of(path);
    if (jm_span_ends(s, JM_SPAN(".jmr")))
        s.n -= 4;
    jm_str_addspan(out, s);
    jm_str_adds(out, suffix);
    return jm_str_ok(out, "a file name", err);
}
