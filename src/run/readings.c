/* SPDX-License-Identifier: Apache-2.0 */
/* What is decoded only when asked for: readings, requests, token events, texts, raw files. */
#include <stdlib.h>
#include <string.h>

#include "run/internal.h"

#include "base/banned.h"

#define CHUNK_BYTES  (JM_CHUNK_MAX * 40u) /* no chunk is larger, in plain bytes */
#define EVENTS_BYTES (JM_EVENTS_MAX * 20u)
#define CACHED       8 /* token chunks kept decoded: requests end nearly in order of their ids */

void jm_readings_release(struct jm_readings *a)
{
    free(a->v);
    *a = (struct jm_readings){0};
}

/* Plain bytes of a chunk into out, and the chunk whose times it refers to (0: none). */
static int get_plain(struct jm_run *r, int64_t id, struct jm_str *out, int64_t *times, struct jm_err *err)
{
    int rc = 0;
    if (!r->get_chunk)
        rc = jm_sql_prepare(r->db, "SELECT enc,data,times FROM chunk WHERE id=?1", r->path, &r->get_chunk,
                            err);
    if (rc)
        return rc;
    jm_sql_bind(r->get_chunk, "i", id);
    int s = sqlite3_step(r->get_chunk);
    if (s == SQLITE_ROW) {
        *times = jm_sql_i64(r->get_chunk, 2, 0);
        rc = jm_unpack((int)jm_sql_i64(r->get_chunk, 0, 0), jm_sql_span(r->get_chunk, 1), CHUNK_BYTES, out,
                       err);
    } else if (s == SQLITE_DONE) {
        rc = jm_err_set(err, JM_ECORRUPT, "chunk %lld is not there", (long long)id);
    } else {
        rc = jm_sql_err(r->db, s, "read", r->path, err);
    }
    sqlite3_reset(r->get_chunk);
    return rc;
}

void jm_run_forget_times(struct jm_run *r)
{
    for (size_t i = 0; r->seen && i < JM_RUN_SEEN; i++) {
        free(r->seen[i].v);
        r->seen[i] = (struct jm_run_seen){0};
    }
    r->seen_bytes = 0;
}

static struct jm_run_seen *place_of(struct jm_run *r, int64_t chunk)
{
    return &r->seen[(uint64_t)chunk * UINT64_C(0x9e3779b97f4a7c15) >> 52 & (JM_RUN_SEEN - 1)];
}

static void keep_times(struct jm_run *r, int64_t chunk, struct jm_reading *v, size_t n)
{
    if (r->seen_bytes > JM_RUN_SEEN_BYTES)
        jm_run_forget_times(r);
    struct jm_run_seen *p = place_of(r, chunk);
    r->seen_bytes += n * sizeof *v - p->n * sizeof *v;
    free(p->v);
    *p = (struct jm_run_seen){chunk, v, n};
}

/* Times of a chunk, borrowed until the next call. It may refer to one with times of its own, no further.
 * Channels that were read in one call all refer to the same one, so that it is kept. */
static int get_times(struct jm_run *r, int64_t id, size_t n, int depth, const struct jm_reading **out,
                     struct jm_err *err)
{
    struct jm_str plain;
    const struct jm_reading *ref = NULL;
    int64_t times = 0;
    if (!r->seen && !(r->seen = calloc(JM_RUN_SEEN, sizeof *r->seen)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the times of readings");
    const struct jm_run_seen *p = place_of(r, id);
    if (p->v && p->chunk == id && p->n == n) {
        *out = p->v;
        return 0;
    }
    struct jm_reading *v = calloc(n, sizeof *v);
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu readings", n);
    jm_str_init(&plain);
    int rc = get_plain(r, id, &plain, &times, err);
    if (!rc && times && !depth)
        rc = jm_err_set(err, JM_ECORRUPT, "chunk %lld takes its times from one that has none of its own",
                        (long long)id);
    else if (!rc && times)
        rc = get_times(r, times, n, depth - 1, &ref, err);
    if (!rc)
        rc = jm_chunk_decode_times(jm_str_span(&plain), ref, v, n, err);
    jm_str_release(&plain);
    if (rc) {
        free(v);
        return rc;
    }
    keep_times(r, id, v, n);
    *out = v;
    return 0;
}

void jm_run_forget_chunks(struct jm_run *r)
{
    for (size_t c = 0; r->plain && c < r->n_chan; c++) {
        for (size_t i = 0; r->plain[c] && i < r->n_chunk[c]; i++)
            free(r->plain[c][i]);
        free(r->plain[c]);
    }
    free(r->plain);
    r->plain = NULL;
    r->plain_bytes = 0;
}

/* Where there is room; the first ones stay, because who goes over all of them comes to them again. */
static void keep_chunk(struct jm_run *r, int channel, size_t i, struct jm_span s, int64_t times)
{
    size_t list = r->plain && r->plain[channel] ? 0 : r->n_chunk[channel] * sizeof **r->plain,
           more = list + sizeof(struct jm_run_plain) + s.n + 2 * sizeof(void *);
    if (r->plain_bytes + more > JM_RUN_PLAIN_BYTES)
        return;
    if (!r->plain && !(r->plain = calloc(r->n_chan, sizeof *r->plain)))
        return;
    if (list)
        r->plain[channel] = calloc(r->n_chunk[channel], sizeof **r->plain);
    struct jm_run_plain *p = r->plain[channel] ? malloc(sizeof *p + s.n) : NULL;
    if (!p)
        return; /* no loss: it is read again */
    *p = (struct jm_run_plain){.times = times, .n = s.n};
    memcpy(p->p, s.p, s.n);
    r->plain[channel][i] = p;
    r->plain_bytes += more;
}

static int chunk_of(struct jm_run *r, int channel, size_t i, struct jm_str *room, struct jm_span *out,
                    int64_t *times, struct jm_err *err)
{
    const struct jm_run_plain *p = r->plain && r->plain[channel] ? r->plain[channel][i] : NULL;
    if (p) {
        *out = (struct jm_span){p->p, p->n};
        *times = p->times;
        return 0;
    }
    int rc = get_plain(r, r->chunk[channel][i].id, room, times, err);
    *out = jm_str_span(room);
    if (!rc)
        keep_chunk(r, channel, i, *out, *times);
    return rc;
}

static int add_chunk(struct jm_run *r, int channel, size_t i, struct jm_str *room, struct jm_readings *out,
                     struct jm_err *err)
{
    const struct jm_reading *ref = NULL;
    struct jm_span plain;
    int64_t times = 0;
    size_t n = (size_t)r->chunk[channel][i].n;
    int rc = chunk_of(r, channel, i, room, &plain, &times, err);
    if (!rc && jm_chunk_count(plain, NULL) != n)
        rc = jm_err_set(err, JM_ECORRUPT,
                        "a chunk of readings is damaged (its number of readings is not the stated one)");
    if (!rc && times)
        rc = get_times(r, times, n, 1, &ref, err);
    if (!rc && out->cap - out->n < n) {
        size_t cap = out->cap ? out->cap : 256;
        while (cap - out->n < n)
            cap *= 2;
        struct jm_reading *v = realloc(out->v, cap * sizeof *v);
        if (!v)
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for readings of channel %d", channel);
        else {
            out->v = v;
            out->cap = cap;
        }
    }
    if (!rc)
        rc = jm_chunk_decode(plain, ref, (uint32_t)channel, out->v + out->n, n, err);
    if (!rc)
        out->n += n;
    return rc;
}

int jm_run_readings(const struct jm_run *run, int channel, int64_t from, int64_t to, struct jm_readings *out,
                    struct jm_err *err)
{
    struct jm_run *r = (struct jm_run *)run; /* the prepared statement is a cache */
    if (channel < 0 || (size_t)channel >= r->n_chan)
        return jm_err_set(err, JM_EINVAL, "the run has no channel %d", channel);
    const struct jm_run_chunk *c = r->chunk[channel];
    size_t n = r->n_chunk[channel], first = 0, end = n;
    while (first < n && c[first].t_last < from)
        first++;
    while (end > first && c[end - 1].t_first > to)
        end--;
    first -= first > 0;
    end += end < n;
    struct jm_str room;
    jm_str_init(&room);
    int rc = 0;
    for (size_t i = first; !rc && i < end; i++)
        rc = add_chunk(r, channel, i, &room, out, err);
    jm_str_release(&room);
    return rc ? jm_err_prefix(err, "%s, channel %d (%s)", r->path, channel, r->chan[channel].name) : 0;
}

bool jm_run_channel_span(const struct jm_run *r, int channel, int64_t *first, int64_t *last, int64_t *count)
{
    if (channel < 0 || (size_t)channel >= r->n_chan || !r->n_chunk[channel])
        return false;
    const struct jm_run_chunk *c = r->chunk[channel];
    int64_t lo = c[0].t_first, hi = c[0].t_last, total = 0;
    for (size_t i = 0; i < r->n_chunk[channel]; i++) {
        hi = c[i].t_last > hi ? c[i].t_last : hi;
        total += c[i].n;
    }
    *first = lo;
    *last = hi;
    *count = total;
    return true;
}

const struct jm_request *jm_run_requests(const struct jm_run *run, size_t *n)
{
    struct jm_run *r = (struct jm_run *)run; /* loaded at first use */
    if (!r->requests_loaded) {
        r->requests_loaded = true;
        if (jm_run_load_requests(r, &r->requests_err))
            r->n_request = 0;
    }
    *n = r->n_request;
    return r->request;
}

int jm_run_requests_check(const struct jm_run *r, struct jm_err *err)
{
    size_t n;
    jm_run_requests(r, &n);
    if (!r->requests_err.code)
        return 0;
    if (err)
        *err = r->requests_err;
    return r->requests_err.code;
}

/* Where the events of a request are. */
struct place {
    int64_t request, chunk;
    size_t at; /* number of the request in its chunk */
};

struct blocks {
    struct jm_run *r;
    sqlite3_stmt *get;
    struct jm_event_batch *batch[CACHED];
    int64_t id[CACHED];
    unsigned used[CACHED], tick;
    struct jm_str plain;
};

static int get_block(struct blocks *b, int64_t id, struct jm_event_batch **out, struct jm_err *err)
{
    unsigned old = 0;
    for (unsigned i = 0; i < CACHED; i++) {
        if (b->batch[i] && b->id[i] == id) {
            b->used[i] = ++b->tick;
            *out = b->batch[i];
            return 0;
        }
        if (b->used[i] < b->used[old])
            old = i;
    }
    int rc = b->batch[old] ? 0 : jm_event_batch_new(&b->batch[old], err);
    if (rc)
        return rc;
    b->id[old] = -1;
    b->used[old] = ++b->tick;
    jm_sql_bind(b->get, "i", id);
    int s = sqlite3_step(b->get);
    if (s == SQLITE_ROW)
        rc = jm_unpack((int)jm_sql_i64(b->get, 0, 0), jm_sql_span(b->get, 1), EVENTS_BYTES, &b->plain, err);
    else
        rc = jm_sql_err(b->r->db, s == SQLITE_DONE ? SQLITE_CORRUPT : s, "read", b->r->path, err);
    sqlite3_reset(b->get);
    if (!rc)
        rc = jm_events_decode(jm_str_span(&b->plain), b->batch[old], err);
    if (!rc) {
        b->id[old] = id;
        *out = b->batch[old];
    }
    return rc;
}

static int by_request(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->request != y->request)
        return (x->request > y->request) - (x->request < y->request);
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

static int find_places(struct blocks *b, struct place **out, size_t *n_out, struct jm_err *err)
{
    struct place *p = NULL;
    size_t n = 0, cap = 0;
    sqlite3_stmt *st = NULL;
    int rc = jm_sql_prepare(b->r->db, "SELECT id FROM token_chunk ORDER BY id", b->r->path, &st, err);
    while (!rc) {
        int s = sqlite3_step(st);
        if (s == SQLITE_DONE)
            break;
        struct jm_event_batch *e = NULL;
        int64_t id = sqlite3_column_int64(st, 0);
        rc = s == SQLITE_ROW ? get_block(b, id, &e, err) : jm_sql_err(b->r->db, s, "read", b->r->path, err);
        if (!rc && n + e->n_req > cap) {
            cap = 2 * cap + e->n_req;
            struct place *q = realloc(p, cap * sizeof *q);
            if (!q)
                rc = jm_err_set(err, JM_ENOMEM, "out of memory for token events");
            else
                p = q;
        }
        for (size_t i = 0; !rc && i < e->n_req; i++)
            p[n++] = (struct place){e->id[i], id, i};
    }
    sqlite3_finalize(st);
    if (n)
        qsort(p, n, sizeof *p, by_request);
    *out = p;
    *n_out = n;
    return rc;
}

int jm_run_events(const struct jm_run *r, jm_run_events_fn fn, void *self, struct jm_err *err)
{
    struct blocks b = {.r = (struct jm_run *)r};
    struct place *p = NULL;
    size_t n = 0;
    jm_str_init(&b.plain);
    int rc = jm_sql_prepare(r->db, "SELECT enc,data FROM token_chunk WHERE id=?1", r->path, &b.get, err);
    if (!rc)
        rc = find_places(&b, &p, &n, err);
    bool stopped = false;
    for (size_t i = 0; !rc && i < n; i++) {
        struct jm_event_batch *e = NULL;
        rc = get_block(&b, p[i].chunk, &e, err);
        if (rc)
            break;
        size_t from = e->from[p[i].at];
        rc = fn(self, p[i].request, e->ev + from, e->from[p[i].at + 1] - from);
        stopped = rc != 0;
    }
    if (rc && !stopped)
        jm_err_prefix(err, "%s, token events", r->path);
    free(p);
    for (unsigned i = 0; i < CACHED; i++)
        jm_event_batch_free(b.batch[i]);
    jm_str_release(&b.plain);
    sqlite3_finalize(b.get);
    return rc;
}

int jm_run_events_stored(const struct jm_run *r, jm_run_events_fn fn, void *self, struct jm_err *err)
{
    struct jm_event_batch *e = NULL;
    struct jm_str plain;
    sqlite3_stmt *st = NULL;
    bool stopped = false;
    jm_str_init(&plain);
    int rc = jm_event_batch_new(&e, err);
    if (!rc)
        rc = jm_sql_prepare(r->db, "SELECT enc,data FROM token_chunk ORDER BY id", r->path, &st, err);
    while (!rc) {
        int s = sqlite3_step(st);
        if (s == SQLITE_DONE)
            break;
        rc = s == SQLITE_ROW
                 ? jm_unpack((int)jm_sql_i64(st, 0, 0), jm_sql_span(st, 1), EVENTS_BYTES, &plain, err)
                 : jm_sql_err(r->db, s, "read", r->path, err);
        if (!rc)
            rc = jm_events_decode(jm_str_span(&plain), e, err);
        for (size_t i = 0; !rc && i < e->n_req; i++) {
            rc = fn(self, e->id[i], e->ev + e->from[i], e->from[i + 1] - e->from[i]);
            stopped = rc != 0;
        }
    }
    if (rc && !stopped)
        jm_err_prefix(err, "%s, token events", r->path);
    jm_event_batch_free(e);
    jm_str_release(&plain);
    sqlite3_finalize(st);
    return rc;
}
