/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/vxi11.h"

#include <string.h>

#include "base/num.h"
#include "base/banned.h"

#define CORE     0x0607afU /* DEVICE_CORE, version 1 */
#define MAPPER   100000U   /* version 2 */
#define LAST     0x80000000U
#define TCP      6U
#define FLAG_END 8U
#define ENDED    6U /* reason: END, or the end character was seen */

struct writer {
    uint8_t *p;
    size_t n;
};

static void put32(struct writer *w, uint32_t v)
{
    uint8_t *p = w->p + w->n;
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
    w->n += 4;
}

static void put_opaque(struct writer *w, struct jm_span s)
{
    put32(w, (uint32_t)s.n);
    if (s.n)
        memcpy(w->p + w->n, s.p, s.n);
    w->n += s.n;
    while (w->n % 4)
        w->p[w->n++] = 0;
}

size_t jm_vxi11_call(const struct jm_vxi11_call *c, uint8_t out[JM_VXI11_CALL])
{
    struct writer w = {out, 4};
    bool map = c->proc == JM_VXI11_GETPORT;
    if (c->data.n > JM_VXI11_DATA)
        return 0;
    const uint32_t head[] = {c->xid,
                             0 /* a call */,
                             2 /* of RPC's version 2 */,
                             map ? MAPPER : CORE,
                             map ? 2 : 1,
                             c->proc,
                             0,
                             0 /* no credentials */,
                             0,
                             0 /* and no verifier */};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        put32(&w, head[i]);
    switch (c->proc) {
    case JM_VXI11_GETPORT:
        put32(&w, CORE);
        put32(&w, 1);
        put32(&w, TCP);
        put32(&w, 0);
        break;
    case JM_VXI11_CREATE_LINK:
        put32(&w, 0); /* the client's id: for interrupts, which are not used */
        put32(&w, 0); /* without a lock */
        put32(&w, 0);
        put_opaque(&w, c->data);
        break;
    case JM_VXI11_WRITE:
        put32(&w, c->link);
        put32(&w, c->timeout_ms);
        put32(&w, 0);
        put32(&w, c->end ? FLAG_END : 0);
        put_opaque(&w, c->data);
        break;
    case JM_VXI11_READ:
        put32(&w, c->link);
        put32(&w, c->max);
        put32(&w, c->timeout_ms);
        put32(&w, 0);
        put32(&w, 0); /* no end character */
        put32(&w, 0);
        break;
    case JM_VXI11_CLEAR:
        put32(&w, c->link);
        put32(&w, 0);
        put32(&w, 0);
        put32(&w, c->timeout_ms);
        break;
    case JM_VXI11_DESTROY_LINK: put32(&w, c->link); break;
    }
    struct writer mark = {out, 0};
    put32(&mark, LAST | (uint32_t)(w.n - 4));
    return w.n;
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum jm_vxi11_taken jm_vxi11_record(uint8_t *buf, size_t n, size_t max, size_t *size, size_t *used)
{
    size_t at = 0, total = 0;
    bool last = false;
    /* is it whole? only then is anything moved */
    while (!last) {
        if (n - at < 4)
            return JM_VXI11_MORE;
        uint32_t mark = get32(buf + at);
        size_t len = mark & ~LAST;
        last = mark & LAST;
        if (len > max || total + len > max || (len == 0 && !last)) /* empty fragments could go on for ever */
            return JM_VXI11_BAD;
        if (n - at - 4 < len)
            return JM_VXI11_MORE;
        at += 4 + len;
        total += len;
    }
    *used = at;
    *size = total;
    size_t to = 4;
    for (at = 0; at < *used;) {
        size_t len = get32(buf + at) & ~LAST;
        memmove(buf + to, buf + at + 4, len); /* at + 4 >= to: nothing that is still needed is overwritten */
        to += len;
        at += 4 + len;
    }
    return JM_VXI11_OK;
}

struct reader {
    const uint8_t *p;
    size_t n, at;
    bool bad;
};

static uint32_t take32(struct reader *r)
{
    if (r->bad || r->n - r->at < 4) {
        r->bad = true;
        return 0;
    }
    r->at += 4;
    return get32(r->p + r->at - 4);
}

static struct jm_span take_opaque(struct reader *r)
{
    size_t len = take32(r);
    if (r->bad || len > r->n - r->at) {
        r->bad = true;
        return (struct jm_span){NULL, 0};
    }
    struct jm_span s = {(const char *)r->p + r->at, len};
    size_t whole = len + (4 - len % 4) % 4;
    r->at += whole <= r->n - r->at ? whole : r->n - r->at; /* the padding of the last one may be missing */
    return s;
}

static const char *denied(struct reader *r)
{
    return take32(r) == 0 ? "it speaks another version of RPC" : "it wants to know who asks";
}

static const char *not_done(uint32_t accept)
{
    static const char *const why[] = {NULL,
                                      "the program is not there",
                                      "the program has another version",
                                      "it does not know the procedure",
                                      "it could not read the call",
                                      "it has an error of its own"};
    return accept < sizeof why / sizeof *why ? why[accept] : "for a reason that RPC does not know";
}

enum jm_vxi11_taken jm_vxi11_reply(enum jm_vxi11_proc proc, uint32_t xid, struct jm_span message,
                                   struct jm_vxi11_reply *out)
{
    struct reader r = {(const uint8_t *)message.p, message.n, 0, false};
    *out = (struct jm_vxi11_reply){0};
    out->other = take32(&r) != xid;
    if (take32(&r) != 1)
        return JM_VXI11_BAD;
    if (out->other)
        return r.bad ? JM_VXI11_BAD : JM_VXI11_OK;
    uint32_t state = take32(&r);
    if (state > 1)
        return JM_VXI11_BAD;
    if (state == 1) {
        out->refused = denied(&r);
        return r.bad ? JM_VXI11_BAD : JM_VXI11_OK;
    }
    take32(&r); /* the verifier */
    take_opaque(&r);
    out->refused = not_done(take32(&r));
    if (r.bad)
        return JM_VXI11_BAD;
    if (out->refused)
        return JM_VXI11_OK;
    switch (proc) {
    case JM_VXI11_GETPORT: out->port = take32(&r); break;
    case JM_VXI11_CREATE_LINK:
        out->error = take32(&r);
        out->link = take32(&r);
        take32(&r); /* the port for aborts */
        out->max = take32(&r);
        break;
    case JM_VXI11_WRITE:
        out->error = take32(&r);
        out->size = take32(&r);
        break;
    case JM_VXI11_READ:
        out->error = take32(&r);
        out->end = take32(&r) & ENDED;
        out->data = take_opaque(&r);
        break;
    case JM_VXI11_CLEAR:
    case JM_VXI11_DESTROY_LINK: out->error = take32(&r); break;
    }
    return r.bad ? JM_VXI11_BAD : JM_VXI11_OK;
}

const char *jm_vxi11_error_text(uint32_t error)
{
    switch (error) {
    case 0: return "no error";
    case 1: return "syntax error";
    case 3: return "no such device, or it is not accessible";
    case 4: return "it does not know the link any more";
    case 5: return "parameter error";
    case 8: return "it does not support the operation";
    case 9: return "it has no link left: another program may hold them";
    case 11: return "the device is locked by another link";
    case 12: return "no lock is held";
    case JM_VXI11_ETIMEOUT: return "the device did not answer in time";
    case 17: return "the device has an input or output error";
    case 21: return "the address is not valid";
    case 23: return "it was aborted";
    default: return "an error that VXI-11 does not name";
    }
}

static bool port_of(struct jm_span s, int *out)
{
    int64_t v;
    if (jm_num_i64(s, &v) != 0 || v < 1 || v > 65535)
        return false;
    *out = (int)v;
    return true;
}

bool jm_vxi11_address(struct jm_span text, struct jm_vxi11_address *out)
{
    const struct jm_span option = JM_SPAN("portmap=");
    struct jm_span rest = text, device = JM_SPAN("inst0");
    *out = (struct jm_vxi11_address){.portmap = JM_VXI11_PORTMAP};
    ptrdiff_t at = jm_span_chr(rest, '?');
    if (at >= 0) {
        struct jm_span o = jm_span_sub(rest, (size_t)at + 1, rest.n);
        if (!jm_span_starts(o, option) || !port_of(jm_span_sub(o, option.n, o.n), &out->portmap))
            return false;
        rest = jm_span_sub(rest, 0, (size_t)at);
    }
    at = jm_span_chr(rest, '/');
    if (at >= 0) {
        if ((size_t)at + 1 < rest.n)
            device = jm_span_sub(rest, (size_t)at + 1, rest.n);
        rest = jm_span_sub(rest, 0, (size_t)at);
    }
    if (device.n >= sizeof out->device)
        return false;
    memcpy(out->device, device.p, device.n);
    at = -1;
    if (rest.n && rest.p[0] == '[') {
        ptrdiff_t close = jm_span_chr(rest, ']');
        if (close < 2)
            return false;
        out->host = jm_span_sub(rest, 1, (size_t)close - 1);
        rest = jm_span_sub(rest, (size_t)close + 1, rest.n);
        at = rest.n ? 0 : -1;
        if (rest.n && rest.p[0] != ':')
            return false;
    } else {
        at = jm_span_chr(rest, ':');
        out->host = at < 0 ? rest : jm_span_sub(rest, 0, (size_t)at);
    }
    return out->host.n > 0 && (at < 0 || port_of(jm_span_sub(rest, (size_t)at + 1, rest.n), &out->port));
}
