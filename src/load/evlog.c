/* SPDX-License-Identifier: Apache-2.0 */
/* An event is a byte with its flags (low four bits) and its tokens (high four), then the distance from the
 * stamp before in ns, then, where it is kept, how late it was read. A byte with all bits set says that flags
 * and tokens do not fit and follow as numbers. */
#include "load/evlog.h"

#include "base/varint.h"

#include "base/banned.h"

#define ESCAPE     0xffu
#define KEPT_BYTES ((size_t)4 << 10)

void jm_evlog_init(struct jm_evlog *l, bool late)
{
    *l = (struct jm_evlog){.late = late};
    jm_str_init(&l->bytes);
}

void jm_evlog_release(struct jm_evlog *l)
{
    jm_str_release(&l->bytes);
    l->n = 0;
    l->last = 0;
}

void jm_evlog_reset(struct jm_evlog *l)
{
    jm_str_recycle(&l->bytes, KEPT_BYTES);
    l->n = 0;
    l->last = 0;
}

bool jm_evlog_add(struct jm_evlog *l, const struct jm_token_event *ev)
{
    size_t before = l->bytes.len;
    unsigned small = (unsigned)ev->tokens << 4 | ev->flags;
    if (ev->flags < 16 && ev->tokens < 16 && small != ESCAPE) {
        jm_str_addc(&l->bytes, (char)small);
    } else {
        jm_str_addc(&l->bytes, (char)ESCAPE);
        jm_varint_put(&l->bytes, ev->flags);
        jm_varint_put(&l->bytes, ev->tokens);
    }
    jm_varint_put(&l->bytes, jm_zigzag((uint64_t)ev->t - (uint64_t)l->last));
    if (l->late)
        jm_varint_put(&l->bytes, ev->behind_us);
    if (l->bytes.failed) {
        l->bytes.len = before;
        return false;
    }
    l->last = ev->t;
    l->n++;
    return true;
}

size_t jm_evlog_read(const struct jm_evlog *l, struct jm_token_event *out, size_t cap)
{
    struct jm_span s = jm_str_span(&l->bytes);
    int64_t t = 0;
    size_t n = l->n < cap ? l->n : cap;
    for (size_t i = 0; i < n; i++) {
        uint64_t flags = 0, tokens = 0, z = 0, late = 0;
        unsigned small = s.n ? (unsigned char)s.p[0] : 0;
        s = jm_span_sub(s, 1, s.n);
        if (small == ESCAPE) {
            jm_varint_get(&s, &flags);
            jm_varint_get(&s, &tokens);
        } else {
            flags = small & 15;
            tokens = small >> 4;
        }
        jm_varint_get(&s, &z);
        if (l->late)
            jm_varint_get(&s, &late);
        t = (int64_t)((uint64_t)t + jm_unzigzag(z));
        out[i] = (struct jm_token_event){t, (uint16_t)tokens, (uint16_t)flags, (uint32_t)late};
    }
    return n;
}
