/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/factorfile.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

int jm_factor_file(struct jm_span text, struct jm_factor_set *set, struct jm_err *err)
{
    size_t from = set->n;
    struct jm_span s = text;
    int rc;
    if (s.n > JM_FACTOR_FILE_MOST)
        return jm_err_set(err, JM_ELIMIT, "the file is larger than %zu MiB", JM_FACTOR_FILE_MOST >> 20);
    if (jm_span_starts(s, JM_SPAN("\xef\xbb\xbf")))
        s = jm_span_sub(s, 3, s.n - 3);
    while (s.n && strchr(" \t\r\n", s.p[0]))
        s = jm_span_sub(s, 1, s.n - 1);
    if (!s.n)
        return jm_err_set(err, JM_EPARSE, "the file is empty");
    if (s.p[0] == '{' || s.p[0] == '[')
        rc = jm_factor_json(s, set, err);
    else if (s.p[0] == '<')
        rc = jm_factor_entsoe(s, set, err);
    else
        rc = jm_factor_csv(s, set, err);
    bool any = false;
    for (size_t i = from; !rc && i < set->n; i++) {
        any |= set->f[i].n > 0 || set->f[i].constant == set->f[i].constant;
        rc = jm_factor_done(&set->f[i], err);
    }
    if (!rc && !any)
        rc = jm_err_set(err, JM_EPARSE, "the file holds no value: all of them are missing");
    while (rc && set->n > from)
        free(set->f[--set->n].step);
    return rc;
}
