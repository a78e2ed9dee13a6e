/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/lines.h"

#include <string.h>

#include "base/banned.h"

void jm_lines_init(struct jm_lines *l, size_t limit)
{
    *l = (struct jm_lines){.limit = limit ? limit : JM_LINES_LIMIT};
    jm_str_init(&l->line);
}

void jm_lines_release(struct jm_lines *l)
{
    jm_str_release(&l->line);
}

void jm_lines_reset(struct jm_lines *l)
{
    jm_str_reset(&l->line);
    l->given = l->bad = false;
}

static int keep(struct jm_lines *l, struct jm_span s, struct jm_err *err)
{
    if (l->line.len + s.n > l->limit) {
        l->bad = true;
        return jm_err_set(err, JM_ELIMIT, "a line of the answer is longer than %zu bytes", l->limit);
    }
    jm_str_addspan(&l->line, s);
    if (!l->line.failed)
        return 0;
    l->bad = true;
    return jm_err_set(err, JM_ENOMEM, "out of memory while reading a line of the answer");
}

int jm_lines_next(struct jm_lines *l, struct jm_span *in, struct jm_span *out, struct jm_err *err)
{
    if (l->bad)
        return jm_err_set(err, JM_ESTATE, "a text of lines is read on after an error");
    if (l->given)
        jm_str_reset(&l->line);
    l->given = false;
    while (in->n) {
        const char *end = memchr(in->p, '\n', in->n);
        struct jm_span piece = {in->p, end ? (size_t)(end - in->p) : in->n}, line = piece;
        if (!end || l->line.len || piece.n > l->limit) {
            int rc = keep(l, piece, err);
            if (rc)
                return rc;
            line = jm_str_span(&l->line);
        }
        in->p += piece.n + (end ? 1 : 0);
        in->n -= piece.n + (end ? 1 : 0);
        if (!end)
            return 0;
        *out = jm_span_trim(line);
        if (out->n) {
            l->given = true;
            return 1;
        }
        jm_str_reset(&l->line);
    }
    return 0;
}

int jm_lines_end(struct jm_lines *l, struct jm_span *out)
{
    if (l->bad || l->given)
        return 0;
    *out = jm_span_trim(jm_str_span(&l->line));
    l->given = true;
    return out->n > 0;
}
