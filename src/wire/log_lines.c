/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/log_lines.h"

#include <string.h>

#include "base/banned.h"

void jm_log_lines_init(struct jm_log_lines *l, size_t limit)
{
    *l = (struct jm_log_lines){.limit = limit};
    jm_str_init(&l->held);
}

void jm_log_lines_release(struct jm_log_lines *l)
{
    jm_str_release(&l->held);
}

static void hold(struct jm_log_lines *l, struct jm_span s)
{
    size_t room = l->limit - l->held.len;
    if (s.n)
        l->cr = s.p[s.n - 1] == '\r';
    if (s.n > room)
        l->cut = true;
    jm_str_add(&l->held, s.p, s.n < room ? s.n : room);
}

static void give(struct jm_log_lines *l, struct jm_span text, bool ended, struct jm_log_line *out)
{
    bool cr = l->cut ? l->cr : text.n && text.p[text.n - 1] == '\r';
    *out = (struct jm_log_line){.number = ++l->number, .crlf = ended && cr, .cut = l->cut, .ended = ended};
    while (text.n && text.p[text.n - 1] == '\r')
        text.n--;
    out->text = text;
    l->given = true;
}

int jm_log_lines_next(struct jm_log_lines *l, struct jm_span *in, struct jm_log_line *out)
{
    if (l->given) {
        jm_str_recycle(&l->held, 65536);
        l->given = l->cut = l->cr = false;
    }
    if (!in->n)
        return 0;
    const char *end = memchr(in->p, '\n', in->n);
    struct jm_span piece = {in->p, end ? (size_t)(end - in->p) : in->n};
    in->p += piece.n + (end ? 1 : 0);
    in->n -= piece.n + (end ? 1 : 0);
    if (!end || l->held.len || piece.n > l->limit) {
        hold(l, piece);
        if (l->held.failed)
            return JM_ENOMEM;
        piece = jm_str_span(&l->held);
    }
    if (!end)
        return 0;
    give(l, piece, true, out);
    return 1;
}

int jm_log_lines_end(struct jm_log_lines *l, struct jm_log_line *out)
{
    if (l->given || !l->held.len)
        return 0;
    give(l, jm_str_span(&l->held), false, out);
    return 1;
}
