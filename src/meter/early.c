/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/early.h"

#include <string.h>

#include "base/banned.h"

struct head {
    int64_t t0, t1;
    size_t origin, bytes;
    unsigned flags;
};

static void put(void *self, int64_t t0, int64_t t1, const char *origin, struct jm_span reply, unsigned flags)
{
    struct jm_early *e = self;
    struct jm_str *s = &e->text;
    struct head h = {t0, t1, strlen(origin) + 1, reply.n, flags};
    size_t before = s->len;
    if (e->heard)
        atomic_fetch_add(e->heard, 1);
    if (reply.n > JM_EARLY_MAX || before + sizeof h + h.origin + reply.n > JM_EARLY_MAX) {
        e->lost++;
        return;
    }
    jm_str_add(s, &h, sizeof h);
    jm_str_add(s, origin, h.origin);
    jm_str_addspan(s, reply);
    if (s->failed) {
        s->failed = false;
        s->len = before;
        e->lost++;
    }
}

void jm_early_init(struct jm_early *e)
{
    *e = (struct jm_early){.sink = {put, e}};
    jm_str_init(&e->text);
}

void jm_early_release(struct jm_early *e)
{
    jm_str_release(&e->text);
}

void jm_early_replay(const struct jm_early *e, const struct jm_raw_sink *to)
{
    for (size_t at = 0; at < e->text.len;) {
        struct head h;
        memcpy(&h, e->text.buf + at, sizeof h);
        const char *origin = e->text.buf + at + sizeof h;
        to->put(to->self, h.t0, h.t1, origin, (struct jm_span){origin + h.origin, h.bytes}, h.flags);
        at += sizeof h + h.origin + h.bytes;
    }
}
