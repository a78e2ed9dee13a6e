/* SPDX-License-Identifier: Apache-2.0 */
/* ptd_logs.txt in blocks: its warnings, errors and notes. Equal texts are kept once. */
#include <stdlib.h>
#include <string.h>

#include "mlperf/parts.h"

#include "base/banned.h"

#define MAX_LINE       65536
#define MAX_TEXT       512
#define MAX_TEXT_BYTES ((size_t)8 << 20) /* of different texts */
#define FULL           "(more different texts than are kept)"

int jm_mlperf_events_init(struct jm_mlperf_events_reader *r, struct jm_mlperf_ptd_log *out,
                          struct jm_mlperf_arena *a)
{
    memset(r, 0, sizeof *r);
    memset(out, 0, sizeof *out);
    r->out = out;
    r->arena = a;
    r->quota = JM_MLPERF_EVENTS / 2;
    jm_log_lines_init(&r->lines, MAX_LINE);
    jm_ptd_log_init(&r->log);
    r->cap_texts = 1024;
    r->texts = calloc(r->cap_texts, sizeof *r->texts);
    return r->texts ? 0 : JM_ENOMEM;
}

void jm_mlperf_events_release(struct jm_mlperf_events_reader *r)
{
    jm_log_lines_release(&r->lines);
    free(r->texts);
    free(r->events);
    r->texts = NULL;
    r->events = NULL;
}

/* FNV-1a, eight bytes at a time. */
static uint64_t hash_of(const char *p, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037) ^ n, w;
    for (; n >= sizeof w; p += sizeof w, n -= sizeof w) {
        memcpy(&w, p, sizeof w);
        h = (h ^ w) * UINT64_C(1099511628211);
        h ^= h >> 32;
    }
    for (; n; p++, n--)
        h = (h ^ (unsigned char)*p) * UINT64_C(1099511628211);
    return h ^ h >> 29;
}

static const char **text_slot(const char **texts, size_t cap, struct jm_span s)
{
    size_t i = hash_of(s.p, s.n) & (cap - 1);
    while (texts[i] && !jm_span_is(s, texts[i]))
        i = (i + 1) & (cap - 1);
    return &texts[i];
}

static bool more_slots(struct jm_mlperf_events_reader *r)
{
    const char **more = calloc(2 * r->cap_texts, sizeof *more);
    if (!more)
        return false;
    for (size_t i = 0; i < r->cap_texts; i++)
        if (r->texts[i])
            *text_slot(more, 2 * r->cap_texts, jm_span_of(r->texts[i])) = r->texts[i];
    free(r->texts);
    r->texts = more;
    r->cap_texts *= 2;
    return true;
}

/* The one copy of a text; NULL: out of memory. */
static const char *text_of(struct jm_mlperf_events_reader *r, struct jm_span s)
{
    s = jm_span_sub(s, 0, MAX_TEXT);
    const char *nul = s.n ? memchr(s.p, '\0', s.n) : NULL;
    if (nul)
        s.n = (size_t)(nul - s.p);
    const char **slot = text_slot(r->texts, r->cap_texts, s);
    if (*slot)
        return *slot;
    if (r->text_bytes + s.n > MAX_TEXT_BYTES)
        return FULL;
    *slot = jm_mlperf_copy(r->arena, s);
    const char *text = *slot;
    if (!text)
        return NULL;
    r->text_bytes += s.n + 16;
    if (2 * ++r->n_texts > r->cap_texts && !more_slots(r))
        return NULL;
    return text;
}

static bool room(struct jm_mlperf_events_reader *r)
{
    if (r->out->n_events < r->cap)
        return true;
    size_t cap = r->cap ? 2 * r->cap : 256;
    struct jm_mlperf_event *more = realloc(r->events, cap * sizeof *more);
    if (!more)
        return false;
    r->events = more;
    r->cap = cap;
    return true;
}

static int on_message(void *self, const struct jm_ptd_message *m)
{
    struct jm_mlperf_events_reader *r = self;
    struct jm_mlperf_ptd_log *o = r->out;
    if (m->kind == JM_PTD_INFO && !m->note)
        return 0;
    if (m->kind == JM_PTD_INFO && jm_span_starts(m->text, JM_SPAN("Go with mark ")))
        r->quota = o->n_events + (JM_MLPERF_EVENTS - o->n_events) / 2;
    if (o->n_events >= r->quota) {
        o->dropped++;
        o->dropped_errors += m->kind == JM_PTD_ERROR;
        o->dropped_warnings += m->kind == JM_PTD_WARNING;
        return 0;
    }
    const char *text = room(r) ? text_of(r, m->text) : NULL;
    if (!text)
        return JM_ENOMEM;
    r->events[o->n_events++] =
        (struct jm_mlperf_event){.t_ns = m->t_ns,
                                 .line_t_ns = m->line_t_ns,
                                 .line = m->line,
                                 .kind = m->kind == JM_PTD_ERROR     ? JM_MLPERF_EV_ERROR
                                         : m->kind == JM_PTD_WARNING ? JM_MLPERF_EV_WARNING
                                                                     : JM_MLPERF_EV_INFO,
                                 .analyzer = (uint8_t)m->analyzer,
                                 .inner = m->inner,
                                 .upper = m->upper,
                                 .text = text};
    return 0;
}

static int no_memory(int rc, struct jm_err *err)
{
    return rc < 0 ? jm_err_set(err, rc, "out of memory while reading ptd_logs.txt") : 0;
}

int jm_mlperf_events_block(void *reader, struct jm_span block, struct jm_err *err)
{
    struct jm_mlperf_events_reader *r = reader;
    struct jm_log_line l;
    int rc;
    r->out->present = true;
    while ((rc = jm_log_lines_next(&r->lines, &block, &l)) == 1)
        if ((rc = jm_ptd_log_line(&r->log, l.text, l.number, on_message, r)))
            break;
    return no_memory(rc, err);
}

int jm_mlperf_events_end(struct jm_mlperf_events_reader *r, struct jm_err *err)
{
    struct jm_mlperf_ptd_log *o = r->out;
    struct jm_log_line l;
    int rc = jm_log_lines_end(&r->lines, &l);
    if (rc == 1)
        rc = jm_ptd_log_line(&r->log, l.text, l.number, on_message, r);
    o->lines = r->lines.number;
    o->not_line_safe = r->log.not_line_safe;
    o->analyzers = r->log.analyzers;
    if (!rc && o->n_events) {
        o->events = jm_mlperf_alloc(r->arena, o->n_events * sizeof *o->events);
        if (o->events)
            memcpy(o->events, r->events, o->n_events * sizeof *o->events);
        rc = o->events ? 0 : JM_ENOMEM;
    }
    return no_memory(rc, err);
}
