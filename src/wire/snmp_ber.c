/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/snmp_ber.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/banned.h"

/* ---- writing */

void ber_bytes(struct ber_w *w, const void *p, size_t n)
{
    if (w->full || n > w->at) {
        w->full = true;
        return;
    }
    w->at -= n;
    if (n)
        memcpy(w->buf + w->at, p, n);
}

void ber_head(struct ber_w *w, uint8_t tag, size_t end)
{
    size_t n = end - w->at;
    uint8_t h[4] = {tag, 0x82, (uint8_t)(n >> 8), (uint8_t)n};
    if (n > 0xffff)
        w->full = true;
    else if (n > 255)
        ber_bytes(w, h, 4);
    else if (n > 127)
        ber_bytes(w, (uint8_t[]){tag, 0x81, (uint8_t)n}, 3);
    else
        ber_bytes(w, (uint8_t[]){tag, (uint8_t)n}, 2);
}

void ber_int(struct ber_w *w, uint8_t tag, int64_t v)
{
    uint8_t b[8];
    size_t end = w->at, n = 8;
    for (int i = 0; i < 8; i++)
        b[i] = (uint8_t)((uint64_t)v >> (56 - 8 * i));
    while (n > 1 && ((b[8 - n] == 0 && !(b[9 - n] & 0x80)) || (b[8 - n] == 0xff && (b[9 - n] & 0x80))))
        n--;
    ber_bytes(w, b + 8 - n, n);
    ber_head(w, tag, end);
}

void ber_octets(struct ber_w *w, const void *p, size_t n)
{
    size_t end = w->at;
    ber_bytes(w, p, n);
    ber_head(w, JM_SNMP_OCTETS, end);
}

/* ---- reading */

bool ber_take(struct jm_span *rest, uint8_t *tag, struct jm_span *contents)
{
    const uint8_t *p = (const uint8_t *)rest->p;
    size_t n, head = 2;
    if (rest->n < 2 || (p[0] & 0x1f) == 0x1f) /* no tag of more bytes is used */
        return false;
    *tag = p[0];
    n = p[1];
    if (n & 0x80) {
        size_t more = n & 0x7f;
        if (!more || more > 4 || rest->n < 2 + more)
            return false;
        n = 0;
        for (size_t i = 0; i < more; i++)
            n = n << 8 | p[2 + i];
        head += more;
    }
    if (n > rest->n - head)
        return false;
    *contents = (struct jm_span){rest->p + head, n};
    *rest = (struct jm_span){rest->p + head + n, rest->n - head - n};
    return true;
}

bool ber_want(struct jm_span *rest, uint8_t tag, struct jm_span *contents)
{
    uint8_t t;
    return ber_take(rest, &t, contents) && t == tag;
}

bool ber_number(struct jm_span c, int64_t *out)
{
    if (!c.n || c.n > 8)
        return false;
    uint64_t v = (uint8_t)c.p[0] & 0x80 ? ~UINT64_C(0) : 0;
    for (size_t i = 0; i < c.n; i++)
        v = v << 8 | (uint8_t)c.p[i];
    *out = (int64_t)v;
    return true;
}

bool ber_want_int(struct jm_span *rest, int64_t *out)
{
    struct jm_span c;
    return ber_want(rest, JM_SNMP_INTEGER, &c) && ber_number(c, out);
}

/* ---- OIDs */

bool jm_snmp_oid_parse(struct jm_span text, struct jm_snmp_oid *out)
{
    struct jm_span f;
    uint64_t v;
    out->n = 0;
    if (text.n && text.p[0] == '.')
        text = jm_span_sub(text, 1, text.n);
    if (!text.n)
        return false;
    while (jm_span_field(&text, '.', &f))
        if (out->n == JM_SNMP_OID_MAX || jm_num_u64(f, &v) || v > UINT32_MAX)
            return false;
        else
            out->id[out->n++] = (uint32_t)v;
    return out->n >= 2;
}

char *jm_snmp_oid_text(const struct jm_snmp_oid *o, char *out, size_t cap)
{
    size_t at = 0;
    if (cap)
        out[0] = '\0';
    for (size_t i = 0; i < o->n && at < cap; i++) {
        int n = snprintf(out + at, cap - at, "%s%lu", i ? "." : "", (unsigned long)o->id[i]);
        at += n > 0 ? (size_t)n : 0;
    }
    return out;
}

bool jm_snmp_oid_below(const struct jm_snmp_oid *o, const struct jm_snmp_oid *base)
{
    return o->n >= base->n && memcmp(o->id, base->id, base->n * sizeof *base->id) == 0;
}

int jm_snmp_oid_cmp(const struct jm_snmp_oid *a, const struct jm_snmp_oid *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (a->id[i] != b->id[i])
            return a->id[i] < b->id[i] ? -1 : 1;
    return a->n == b->n ? 0 : a->n < b->n ? -1 : 1;
}

bool jm_snmp_oid_add(struct jm_snmp_oid *o, uint32_t id)
{
    if (o->n == JM_SNMP_OID_MAX)
        return false;
    o->id[o->n++] = id;
    return true;
}

static bool oid_decode(struct jm_span c, struct jm_snmp_oid *out)
{
    uint64_t v = 0;
    bool open = false;
    out->n = 0;
    for (size_t i = 0; i < c.n; i++) {
        uint8_t b = (uint8_t)c.p[i];
        v = v << 7 | (b & 0x7f);
        open = b & 0x80;
        if (v > UINT32_MAX + UINT64_C(80))
            return false;
        if (open)
            continue;
        if (!out->n) {
            uint32_t first = v < 40 ? 0 : v < 80 ? 1 : 2;
            out->id[out->n++] = first;
            v -= 40 * (uint64_t)first;
        }
        if (out->n == JM_SNMP_OID_MAX || v > UINT32_MAX)
            return false;
        out->id[out->n++] = (uint32_t)v;
        v = 0;
    }
    return !open && out->n;
}

static void oid_encode(struct ber_w *w, const struct jm_snmp_oid *o)
{
    size_t end = w->at;
    for (size_t i = o->n; i-- > 1;) {
        uint64_t v = o->id[i] + (i == 1 ? 40 * (uint64_t)o->id[0] : 0);
        uint8_t more = 0;
        do {
            uint8_t b = (uint8_t)((v & 0x7f) | more);
            ber_bytes(w, &b, 1);
            more = 0x80;
            v >>= 7;
        } while (v);
    }
    ber_head(w, JM_SNMP_OID, end);
}

bool jm_snmp_ask(uint8_t *buf, size_t cap, size_t *at, const struct jm_snmp_oid *oid)
{
    uint8_t one[5 * JM_SNMP_OID_MAX + 16];
    struct ber_w w = {one, sizeof one, false};
    ber_bytes(&w, (uint8_t[]){JM_SNMP_NULL, 0}, 2);
    oid_encode(&w, oid);
    ber_head(&w, 0x30, sizeof one);
    size_t n = sizeof one - w.at;
    if (w.full || n > cap - *at || oid->n < 2)
        return false;
    memcpy(buf + *at, one + w.at, n);
    *at += n;
    return true;
}

/* ---- values */

/* Opaque: a float or a double with tags of their own inside (9f 78 04, 9f 79 08), as net-snmp wraps them. */
static bool opaque_real(struct jm_span c, double *out)
{
    const uint8_t *p = (const uint8_t *)c.p;
    uint64_t v = 0;
    if (c.n < 3 || p[0] != 0x9f || (size_t)p[2] + 3 != c.n)
        return false;
    if (!(p[1] == 0x78 && p[2] == 4) && !(p[1] == 0x79 && p[2] == 8))
        return false;
    for (size_t i = 3; i < c.n; i++)
        v = v << 8 | p[i];
    if (p[1] == 0x78) {
        uint32_t bits = (uint32_t)v;
        float f;
        memcpy(&f, &bits, sizeof f);
        *out = f;
    } else {
        memcpy(out, &v, sizeof v);
    }
    return isfinite(*out);
}

static bool value_of(uint8_t tag, struct jm_span c, struct jm_snmp_value *v)
{
    *v = (struct jm_snmp_value){.type = (enum jm_snmp_type)tag, .bytes = c};
    switch (tag) {
    case JM_SNMP_INTEGER: v->is_int = true; return ber_number(c, &v->num);
    case JM_SNMP_COUNTER32:
    case JM_SNMP_GAUGE32:
    case JM_SNMP_TICKS:
    case JM_SNMP_COUNTER64: {
        size_t most = tag == JM_SNMP_COUNTER64 ? 9 : 5;
        struct jm_span s = c;
        uint64_t u = 0;
        if (!s.n || s.n > most || (s.n == most && s.p[0]))
            return false;
        for (size_t i = 0; i < s.n; i++) /* agents that forget the leading 0 of a large one mean it so too */
            u = u << 8 | (uint8_t)s.p[i];
        v->num = (int64_t)u;
        v->is_int = u <= INT64_MAX;
        return true;
    }
    case JM_SNMP_OPAQUE: v->is_float = opaque_real(c, &v->real); return true;
    default: return true;
    }
}

bool jm_snmp_value_oid(const struct jm_snmp_value *v, struct jm_snmp_oid *out)
{
    return v->type == JM_SNMP_OID && oid_decode(v->bytes, out);
}

bool jm_snmp_value_number(const struct jm_snmp_value *v, int scale10, int64_t *out)
{
    double x;
    if (v->is_int) {
        *out = v->num;
        return true;
    }
    if (v->is_float)
        x = v->real;
    else if (v->type != JM_SNMP_OCTETS || v->bytes.n > 40 || jm_num_double(jm_span_trim(v->bytes), &x))
        return false;
    x *= pow(10, -scale10);
    if (!(fabs(x) < 9.2e18))
        return false;
    *out = llround(x);
    return true;
}

int jm_snmp_next(struct jm_span *rest, struct jm_snmp_oid *oid, struct jm_snmp_value *v)
{
    struct jm_span pair, name, c;
    uint8_t tag;
    if (!rest->n)
        return 0;
    if (!ber_want(rest, 0x30, &pair) || !ber_want(&pair, JM_SNMP_OID, &name) || !oid_decode(name, oid) ||
        !ber_take(&pair, &tag, &c) || pair.n || !value_of(tag, c, v))
        return JM_EPARSE;
    return 1;
}
