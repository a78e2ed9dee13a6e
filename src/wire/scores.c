/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/scores.h"

#include <stdlib.h>

#include "base/num.h"
#include "wire/csv.h"

#include "base/banned.h"

#define COLUMNS 256

static int add(struct jm_scores *s, size_t *cap, double v, struct jm_err *err)
{
    if (s->n == JM_SCORES_MOST)
        return jm_err_set(err, JM_ELIMIT, "more than %zu scores", JM_SCORES_MOST);
    if (s->n == *cap) {
        size_t more = *cap ? 2 * *cap : 256;
        double *p = realloc(s->v, more * sizeof *p);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the scores");
        s->v = p;
        *cap = more;
    }
    s->v[s->n++] = v;
    return 0;
}

int jm_scores_parse(struct jm_span text, struct jm_scores *s, struct jm_err *err)
{
    struct jm_csv c;
    struct jm_csv_field f[COLUMNS];
    size_t n = 0, cap = 0;
    int column = -1, rc;
    double v;
    *s = (struct jm_scores){0};
    jm_csv_init(&c, text, 0);
    while ((rc = jm_csv_row(&c, f, COLUMNS, &n, err)) == 1) {
        struct jm_span first = jm_span_trim(f[0].raw);
        if ((n == 1 && !first.n) || jm_span_starts(first, JM_SPAN("#")))
            continue;
        if (column < 0) { /* a header, unless the file is numbers alone */
            column = jm_csv_find(f, n, "score");
            if (column < 0)
                column = jm_csv_find(f, n, "quality");
            if (column >= 0)
                continue;
            if (n != 1 || jm_num_double(first, &v) != 0)
                return jm_err_set(err, JM_EPARSE,
                                  "line %lld: no column is called \"score\", and it is no number alone",
                                  (long long)c.line);
            column = 0;
        }
        if ((size_t)column >= n || jm_num_double(jm_span_trim(f[column].raw), &v) != 0)
            return jm_err_set(err, JM_EPARSE, "line %lld: the score is no number; leave out what has none",
                              (long long)c.line);
        if ((rc = add(s, &cap, v, err)))
            return rc;
    }
    if (rc)
        return rc;
    return s->n ? 0 : jm_err_set(err, JM_EABSENT, "there is not one score");
}

void jm_scores_release(struct jm_scores *s)
{
    free(s->v);
    *s = (struct jm_scores){0};
}
