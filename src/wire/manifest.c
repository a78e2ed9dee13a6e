/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/manifest.h"

#include "wire/tar.h"

#include "base/banned.h"

static bool hex(struct jm_span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    return s.n == 64;
}

int jm_manifest_read(struct jm_span text, jm_manifest_fn fn, void *self, struct jm_err *err)
{
    struct jm_span rest = text, line;
    int rc = 0;
    size_t n = 0;
    if (!text.n || text.p[text.n - 1] != '\n')
        return jm_err_set(err, JM_EPARSE, "the manifest does not end with a line end");
    while (!rc && jm_span_line(&rest, &line)) {
        struct jm_span sha = jm_span_sub(line, 0, 64), name = jm_span_sub(line, 66, line.n);
        n++;
        if (line.n < 67 || line.p[64] != ' ' || line.p[65] != ' ' || !hex(sha) || !jm_tar_name_ok(name))
            return jm_err_set(err, JM_EPARSE,
                              "line %zu of the manifest is not a SHA-256, two blanks and a name", n);
        rc = fn(self, name, sha, err);
    }
    return rc;
}
