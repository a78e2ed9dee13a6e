/* SPDX-License-Identifier: Apache-2.0 */
/* Raw replies of configured instruments, so that an audit can decode them again. The reader's thread puts
 * them into a buffer, the recorder thread takes that and collects those of an instrument into chunks that are
 * compressed as one (replies of one instrument are alike: 20 to 60 times smaller) and become rows
 * "replies/NAME/000001" of the table raw. A chunk is text: before each reply a line
 *
 *   reply T0 T1 FLAGS BYTES ORIGIN
 *
 * with T0 and T1 on CLOCK_MONOTONIC in ns and FLAGS of "b" (not decoded), "s" (new form) or "-"; after it a
 * line feed. Everything is kept until an instrument has used its share of the room; after that what could not
 * be decoded, what has a new form, and one a minute; at twice its share nothing more. What is not kept is
 * counted. */
#include "record/replies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define WAITING    ((size_t)8 << 20) /* bytes that may wait for the recorder thread */
#define CHUNK      ((size_t)256 << 10)
#define CHUNK_NS   (60 * JM_NS_PER_S)
#define SPARSE_NS  (60 * JM_NS_PER_S)
#define SHAPES     16
#define ORIGIN_MAX 512

struct head {
    int64_t t0, t1;
    uint32_t flags, origin, bytes;
};

/* A form is what stays of a reply when its numbers are taken out. */
static uint64_t shape_of(const char *origin, size_t n_origin, const char *p, size_t n)
{
    uint64_t h = 1469598103934665603u;
    bool number = false;
    for (size_t i = 0; i < n_origin; i++)
        h = (h ^ (unsigned char)origin[i]) * 1099511628211u;
    for (size_t i = 0; i < n; i++) {
        bool digit = (p[i] >= '0' && p[i] <= '9') || (number && (p[i] == '.' || p[i] == ':'));
        if (!digit || !number)
            h = (h ^ (unsigned char)(digit ? '0' : p[i])) * 1099511628211u;
        number = digit;
    }
    return h;
}

void jm_replies_init(struct jm_replies *q, const struct jm_instrument *in, int64_t share)
{
    *q = (struct jm_replies){.in = in, .share = share, .sink = {jm_replies_put, q}};
    pthread_mutex_init(&q->lock, NULL);
    jm_str_init(&q->front);
    jm_str_init(&q->back);
    jm_str_init(&q->chunk);
    jm_redactor_init(&q->redactor, in);
}

void jm_replies_release(struct jm_replies *q)
{
    pthread_mutex_destroy(&q->lock);
    jm_str_release(&q->front);
    jm_str_release(&q->back);
    jm_str_release(&q->chunk);
    jm_redactor_wipe(&q->redactor);
}

struct jm_replies *jm_replies_new(const struct jm_instrument *in, int64_t share)
{
    struct jm_replies *q = malloc(sizeof *q);
    if (!q)
        return NULL;
    jm_replies_init(q, in, share);
    atomic_init(&q->refs, 1);
    jm_instrument_hold(in);
    return q;
}

struct jm_replies *jm_replies_ref(struct jm_replies *q)
{
    atomic_fetch_add(&q->refs, 1);
    return q;
}

void jm_replies_unref(struct jm_replies *q)
{
    if (!q || atomic_fetch_sub(&q->refs, 1) > 1)
        return;
    jm_instrument_drop(q->in);
    jm_replies_release(q);
    free(q);
}

void jm_replies_early(struct jm_replies *q, const struct jm_early *e)
{
    if (!e)
        return;
    jm_early_replay(e, &q->sink);
    pthread_mutex_lock(&q->lock);
    q->seen += e->lost;
    q->lost += e->lost;
    pthread_mutex_unlock(&q->lock);
}

void jm_replies_put(void *self, int64_t t0, int64_t t1, const char *origin, struct jm_span reply,
                    unsigned flags)
{
    struct jm_replies *q = self;
    struct head h = {t0, t1, flags, (uint32_t)strnlen(origin, ORIGIN_MAX), 0};
    pthread_mutex_lock(&q->lock);
    struct jm_str *s = &q->front;
    size_t before = s->len;
    q->seen++;
    if (reply.n <= WAITING && before + sizeof h + h.origin + reply.n <= WAITING) {
        h.bytes = (uint32_t)reply.n;
        jm_str_addspan(s, (struct jm_span){(const char *)&h, sizeof h});
        jm_str_addspan(s, (struct jm_span){origin, h.origin});
        jm_str_addspan(s, reply);
    } else {
        s->failed = true;
    }
    if (s->failed) {
        s->failed = false;
        s->len = before;
        q->lost++;
    }
    pthread_mutex_unlock(&q->lock);
}

static bool new_shape(struct jm_replies *q, uint64_t shape)
{
    for (int i = 0; i < SHAPES; i++)
        if (q->shape[i] == shape)
            return false;
    q->shape[q->n_shape++ % SHAPES] = shape;
    return true;
}

static int write_chunk(struct jm_replies *q, struct jm_run_writer *w, struct jm_err *err)
{
    char name[96], address[192];
    if (!q->chunk.len)
        return 0;
    snprintf(name, sizeof name, "replies/%.60s/%06u", q->in->name, ++q->n_chunks);
    jm_instrument_address(q->in, address, sizeof address);
    int64_t before = jm_run_raw_stored(w);
    int rc = jm_run_put_raw(w, name, address, jm_str_span(&q->chunk), err);
    q->stored += jm_run_raw_stored(w) - before;
    q->plain += (int64_t)q->chunk.len;
    jm_str_reset(&q->chunk);
    return rc < 0 ? rc : 0;
}

/* With the reply at the end of the chunk: does it stay? */
static bool wanted(struct jm_replies *q, const struct head *h, bool shape)
{
    if (q->stored < q->share)
        return true;
    if (q->stored >= 2 * q->share)
        return false;
    if (!(h->flags & JM_RAW_BAD) && !shape && h->t1 - q->last_kept < SPARSE_NS)
        return false;
    return true;
}

/* One reply to the end of the chunk. */
static int add(struct jm_replies *q, const struct head *h, struct jm_span origin, struct jm_span reply,
               int64_t now, struct jm_err *err)
{
    struct jm_str *c = &q->chunk;
    size_t start = c->len;
    if (!start)
        q->chunk_began = now;
    jm_str_addf(c, "reply %" PRId64 " %" PRId64 " %s %" PRIu32 " ", h->t0, h->t1,
                h->flags & JM_RAW_BAD     ? "b"
                : h->flags & JM_RAW_SHAPE ? "s"
                                          : "-",
                h->bytes);
    size_t name = c->len;
    jm_str_addspan(c, origin);
    for (size_t i = name; i < c->len; i++)
        c->buf[i] = (unsigned char)c->buf[i] < 0x20 ? ' ' : c->buf[i];
    jm_str_addc(c, '\n');
    size_t body = c->len;
    jm_str_addspan(c, reply);
    jm_str_addc(c, '\n');
    int rc = jm_str_ok(c, "replies", err);
    if (rc)
        return rc;
    jm_redactor_apply(&q->redactor, c->buf + name, c->len - name);
    bool shape =
        new_shape(q, shape_of(origin.p, origin.n, c->buf + body, reply.n)) || (h->flags & JM_RAW_SHAPE);
    if (wanted(q, h, shape)) {
        q->kept++;
        q->last_kept = h->t1;
    } else {
        c->len = start;
        c->buf[start] = '\0';
    }
    return 0;
}

int jm_replies_drain(struct jm_replies *q, struct jm_run_writer *w, int64_t now, bool end, struct jm_err *err)
{
    int rc = 0;
    pthread_mutex_lock(&q->lock);
    struct jm_str s = q->front;
    q->front = q->back;
    pthread_mutex_unlock(&q->lock);
    for (size_t at = 0; !rc && at < s.len;) {
        struct head h;
        memcpy(&h, s.buf + at, sizeof h);
        at += sizeof h;
        rc = add(q, &h, (struct jm_span){s.buf + at, h.origin},
                 (struct jm_span){s.buf + at + h.origin, h.bytes}, now, err);
        at += h.origin + h.bytes;
        if (!rc && q->chunk.len >= CHUNK)
            rc = write_chunk(q, w, err);
    }
    jm_str_reset(&s);
    q->back = s;
    if (!rc && (end || (q->chunk.len && now - q->chunk_began >= CHUNK_NS)))
        rc = write_chunk(q, w, err);
    return rc;
}

void jm_replies_count(struct jm_replies *q, unsigned long long *seen, unsigned long long *lost)
{
    pthread_mutex_lock(&q->lock);
    *seen = q->seen;
    *lost = q->lost;
    pthread_mutex_unlock(&q->lock);
}
