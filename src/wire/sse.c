/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sse.h"

#include <string.h>

#include "base/num.h"
#include "base/banned.h"

#define KEPT_BYTES ((size_t)4 << 10) /* of memory, from one stream to the next */

static const unsigned char mark[3] = {0xef, 0xbb, 0xbf};

void jm_sse_init(struct jm_sse *s, size_t limit)
{
    *s = (struct jm_sse){.limit = limit ? limit : JM_SSE_LIMIT};
    jm_str_init(&s->id);
    jm_str_init(&s->line);
    jm_str_init(&s->data);
    jm_str_init(&s->name);
    jm_sse_reset(s);
}

void jm_sse_release(struct jm_sse *s)
{
    jm_str_release(&s->id);
    jm_str_release(&s->line);
    jm_str_release(&s->data);
    jm_str_release(&s->name);
}

void jm_sse_reset(struct jm_sse *s)
{
    jm_str_recycle(&s->id, KEPT_BYTES);
    jm_str_recycle(&s->line, KEPT_BYTES);
    jm_str_recycle(&s->data, KEPT_BYTES);
    jm_str_recycle(&s->name, KEPT_BYTES);
    s->comments = 0;
    s->retry_ms = -1;
    s->bom = 0;
    s->skip_lf = s->has_data = s->is_error = s->touched = s->bad = false;
}

static int too_long(struct jm_sse *s, struct jm_err *err)
{
    s->bad = true;
    return jm_err_set(err, JM_ELIMIT, "a stream event is longer than %zu bytes", s->limit);
}

static int no_memory(struct jm_sse *s, struct jm_err *err)
{
    s->bad = true;
    return jm_err_set(err, JM_ENOMEM, "out of memory while reading a stream event");
}

/* A data line. *held is a first line that still lies in the caller's bytes, so that the usual event of one
 * line is never copied. */
static int add_data(struct jm_sse *s, struct jm_span value, bool in_place, struct jm_span *held,
                    struct jm_err *err)
{
    if (!s->has_data && in_place) {
        *held = value;
        s->has_data = true;
        return 0;
    }
    if (held->p) {
        jm_str_addspan(&s->data, *held);
        held->p = NULL;
    }
    if (s->data.len + value.n + 1 > s->limit)
        return too_long(s, err);
    if (s->has_data)
        jm_str_addc(&s->data, '\n');
    jm_str_addspan(&s->data, value);
    s->has_data = true;
    return s->data.failed ? no_memory(s, err) : 0;
}

static void copy_to(struct jm_str *to, struct jm_span value)
{
    jm_str_reset(to);
    jm_str_addspan(to, value);
}

static int field(struct jm_sse *s, struct jm_span line, bool in_place, struct jm_span *held,
                 struct jm_err *err)
{
    ptrdiff_t colon = jm_span_chr(line, ':');
    if (colon == 0) {
        s->comments++;
        return 0;
    }
    struct jm_span name = line, value = {line.p + line.n, 0};
    if (colon > 0) {
        name = jm_span_sub(line, 0, (size_t)colon);
        value = jm_span_sub(line, (size_t)colon + 1, line.n);
        if (value.n && value.p[0] == ' ')
            value = jm_span_sub(value, 1, value.n);
    }
    s->touched = true;
    if (jm_span_is(name, "data"))
        return add_data(s, value, in_place, held, err);
    if (jm_span_is(name, "error")) {
        s->is_error = true;
        return add_data(s, value, in_place, held, err);
    }
    if (jm_span_is(name, "event"))
        copy_to(&s->name, value);
    else if (jm_span_is(name, "id") && !(value.n && memchr(value.p, '\0', value.n)))
        copy_to(&s->id, value);
    else if (jm_span_is(name, "retry") && value.n && value.p[0] >= '0' && value.p[0] <= '9')
        (void)jm_num_i64(value, &s->retry_ms);
    return s->name.failed || s->id.failed ? no_memory(s, err) : 0;
}

/* Clears what belongs to the event before; its data was handed out and is not needed any more. */
static void next_event(struct jm_sse *s)
{
    jm_str_reset(&s->data);
    jm_str_reset(&s->name);
    s->has_data = s->is_error = s->touched = false;
}

static void skip_mark(struct jm_sse *s, struct jm_span *in)
{
    while (in->n && s->bom >= 0 && s->bom < 3) {
        if ((unsigned char)in->p[0] != mark[s->bom]) {
            jm_str_add(&s->line, mark, (size_t)s->bom); /* no mark after all: these bytes are text */
            s->bom = -1;
            return;
        }
        s->bom++;
        in->p++;
        in->n--;
    }
    if (s->bom == 3)
        s->bom = -1;
}

static const char *line_end(struct jm_span in)
{
    const char *lf = memchr(in.p, '\n', in.n);
    const char *cr = memchr(in.p, '\r', lf ? (size_t)(lf - in.p) : in.n);
    return cr ? cr : lf;
}

int jm_sse_next(struct jm_sse *s, struct jm_span *in, struct jm_sse_event *out, struct jm_err *err)
{
    struct jm_span held = {0};
    if (s->bad)
        return jm_err_set(err, JM_ESTATE, "an event stream is read on after an error");
    if (!s->touched)
        next_event(s);
    if (s->bom >= 0)
        skip_mark(s, in);
    while (in->n) {
        if (s->skip_lf) {
            s->skip_lf = false;
            if (in->p[0] == '\n') {
                in->p++;
                in->n--;
                continue;
            }
        }
        const char *end = line_end(*in);
        size_t n = end ? (size_t)(end - in->p) : in->n;
        if (s->line.len + n > s->limit)
            return too_long(s, err);
        bool in_place = s->line.len == 0 && end != NULL;
        struct jm_span line = {in->p, n};
        if (!in_place) {
            jm_str_add(&s->line, in->p, n);
            if (s->line.failed)
                return no_memory(s, err);
            line = jm_str_span(&s->line);
        }
        in->p += n + (end ? 1 : 0);
        in->n -= n + (end ? 1 : 0);
        if (!end)
            break;
        s->skip_lf = *end == '\r';
        if (line.n) {
            int rc = field(s, line, in_place, &held, err);
            if (rc)
                return rc;
            jm_str_reset(&s->line);
            continue;
        }
        if (!s->has_data) { /* a blank line without data dispatches nothing */
            next_event(s);
            continue;
        }
        *out =
            (struct jm_sse_event){held.p ? held : jm_str_span(&s->data), jm_str_span(&s->name), s->is_error};
        s->touched = s->has_data = false; /* cleared at the next call: *out points into it */
        return 1;
    }
    if (held.p) { /* the bytes are the caller's: keep a copy */
        jm_str_addspan(&s->data, held);
        if (s->data.failed)
            return no_memory(s, err);
    }
    return 0;
}

int jm_sse_end(struct jm_sse *s, struct jm_sse_event *out, struct jm_err *err)
{
    struct jm_span none = {0};
    if (s->bad)
        return jm_err_set(err, JM_ESTATE, "an event stream is read on after an error");
    if (!s->touched)
        next_event(s);
    if (s->bom > 0)
        jm_str_add(&s->line, mark, (size_t)s->bom);
    if (s->line.len) {
        int rc = field(s, jm_str_span(&s->line), false, &none, err);
        if (rc)
            return rc;
        jm_str_reset(&s->line);
    }
    if (!s->has_data)
        return 0;
    *out = (struct jm_sse_event){jm_str_span(&s->data), jm_str_span(&s->name), s->is_error};
    s->touched = s->has_data = false;
    return 1;
}
