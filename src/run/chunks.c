/* SPDX-License-Identifier: Apache-2.0 */
/* Readings and token events gather in memory and go into the file as blobs of about 10 s. */
#include <stdlib.h>
#include <string.h>

#include "run/internal.h"

#include "base/banned.h"

#define CHUNK_NS       JM_RUN_FLUSH_NS
#define CHUNK_READINGS 65536

int jm_run_add_pending(struct jm_run_writer *w, const struct jm_channel *c, struct jm_err *err)
{
    if (w->n_ch == w->cap_ch) {
        size_t cap = w->cap_ch ? 2 * w->cap_ch : 32;
        struct jm_run_pending *p = realloc(w->ch, cap * sizeof *p);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "out of memory for channel %zu", w->n_ch);
        w->ch = p;
        w->cap_ch = cap;
    }
    w->ch[w->n_ch++] = (struct jm_run_pending){.is_double = (c->flags & JM_CHF_DOUBLE) != 0,
                                               .is_unsigned = c->kind == JM_CH_COUNTER};
    return 0;
}

/* The kept column with exactly these times, NULL: none. Channels that were read in one call share theirs,
 * which is most of a chunk's bytes. */
static const struct jm_run_times *same_times(const struct jm_run_writer *w, const struct jm_reading *r,
                                             size_t n)
{
    for (unsigned i = 0; i < JM_RUN_TIMES_KEPT; i++) {
        const struct jm_run_times *t = &w->times[i];
        if (t->n != n || t->r[0].t0 != r[0].t0)
            continue;
        size_t k = 0;
        while (k < n && t->r[k].t0 == r[k].t0 && t->r[k].t1 == r[k].t1)
            k++;
        if (k == n)
            return t;
    }
    return NULL;
}

/* The newest kept column (of those that refer to no other) whose readings all ended shortly before these
 * began: the gap is steadier than the timer. */
static const struct jm_run_times *times_before(const struct jm_run_writer *w, const struct jm_reading *r,
                                               size_t n)
{
    for (size_t i = 0; i < JM_RUN_TIMES_KEPT; i++) {
        const struct jm_run_times *t =
            &w->times[(w->times_at + JM_RUN_TIMES_KEPT - 1 - i) % JM_RUN_TIMES_KEPT];
        if (t->n != n || !t->own)
            continue;
        size_t k = 0;
        while (k < n && r[k].t0 >= t->r[k].t1 && r[k].t0 - t->r[k].t1 < JM_NS_PER_MS)
            k++;
        if (k == n)
            return t;
    }
    return NULL;
}

static void keep_times(struct jm_run_writer *w, const struct jm_reading *r, size_t n, int64_t chunk, bool own)
{
    struct jm_run_times *t = &w->times[w->times_at++ % JM_RUN_TIMES_KEPT];
    struct jm_reading *v = n <= JM_RUN_TIMES_MAX ? realloc(t->r, n * sizeof *v) : NULL;
    if (!v) { /* no loss: the next one only is not shared */
        t->n = 0;
        return;
    }
    memcpy(v, r, n * sizeof *v);
    *t = (struct jm_run_times){.r = v, .n = n, .chunk = chunk, .own = own};
}

static double as_double(int64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool less(const struct jm_run_pending *p, int64_t a, int64_t b)
{
    if (p->is_double)
        return as_double(a) < as_double(b);
    return p->is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

static int write_chunk(struct jm_run_writer *w, size_t channel, struct jm_err *err)
{
    struct jm_run_pending *p = &w->ch[channel];
    const struct jm_reading *r = p->v;
    size_t n = p->n;
    if (!n)
        return 0;
    p->n = 0; /* also when it fails: a chunk that cannot be written must not grow without end */
    int64_t last = r[0].t1, lo = 0, hi = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        last = r[i].t1 > last ? r[i].t1 : last;
        if (r[i].status != JM_S_OK)
            continue;
        if (!any || less(p, r[i].value, lo))
            lo = r[i].value;
        if (!any || less(p, hi, r[i].value))
            hi = r[i].value;
        any = true;
    }
    const struct jm_run_times *other = same_times(w, r, n);
    enum jm_chunk_times times = other ? JM_TIMES_SAME : JM_TIMES_OWN;
    if (!other && (other = times_before(w, r, n)))
        times = JM_TIMES_AFTER;
    jm_str_reset(&w->plain);
    int rc = jm_chunk_encode(r, n, times, other ? other->r : NULL, p->is_double, &w->plain, err);
    int enc = rc ? rc : jm_pack(jm_str_span(&w->plain), 3, &w->packed, err);
    if (enc < 0)
        return enc;
    const char *fmt = !any ? "iiiinnoib" : p->is_double ? "iiiiddoib" : "iiiiiioib";
    int64_t ref = other ? other->chunk : -1;
    const void *data = w->packed.buf;
    size_t len = w->packed.len;
    if (!any)
        rc = jm_run_write(w, JM_Q_CHUNK, err, fmt, (int64_t)channel, r[0].t0, last, (int64_t)n, ref,
                          (int64_t)enc, data, len);
    else if (p->is_double)
        rc = jm_run_write(w, JM_Q_CHUNK, err, fmt, (int64_t)channel, r[0].t0, last, (int64_t)n, as_double(lo),
                          as_double(hi), ref, (int64_t)enc, data, len);
    else
        rc = jm_run_write(w, JM_Q_CHUNK, err, fmt, (int64_t)channel, r[0].t0, last, (int64_t)n, lo, hi, ref,
                          (int64_t)enc, data, len);
    if (!rc && times != JM_TIMES_SAME)
        keep_times(w, r, n, sqlite3_last_insert_rowid(w->db), times == JM_TIMES_OWN);
    return rc;
}

int jm_run_write_pending(struct jm_run_writer *w, struct jm_err *err)
{
    int first = 0;
    for (size_t i = 0; i < w->n_ch; i++) {
        int rc = write_chunk(w, i, first ? NULL : err);
        if (rc && !first)
            first = rc;
    }
    return first;
}

int jm_run_put_readings(struct jm_run_writer *w, const struct jm_reading *r, size_t n, struct jm_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (r[i].channel >= w->n_ch)
            return jm_err_set(err, JM_EINVAL, "a reading of channel %u, but the run has %zu channels",
                              (unsigned)r[i].channel, w->n_ch);
        if (r[i].status >= JM_S_COUNT)
            return jm_err_set(err, JM_EINVAL, "a reading of channel %u has the unknown status %u",
                              (unsigned)r[i].channel, r[i].status);
        if (r[i].t0 < -INT64_MAX / 4 || r[i].t1 > INT64_MAX / 4)
            return jm_err_set(err, JM_EINVAL, "a reading of channel %u has a stamp that is no time",
                              (unsigned)r[i].channel);
        struct jm_run_pending *p = &w->ch[r[i].channel];
        if (r[i].t1 < r[i].t0 || (p->any && r[i].t0 < p->last_t0))
            return jm_err_set(err, JM_EINVAL, "readings of channel %u are not in order of time",
                              (unsigned)r[i].channel);
        if (p->n && (p->n == CHUNK_READINGS || r[i].t0 - p->v[0].t0 >= CHUNK_NS)) {
            int rc = write_chunk(w, r[i].channel, err);
            if (rc)
                return rc;
        }
        if (p->n == p->cap) {
            size_t cap = p->cap ? 2 * p->cap : 128;
            struct jm_reading *v = realloc(p->v, cap * sizeof *v);
            if (!v)
                return jm_err_set(err, JM_ENOMEM, "out of memory for readings of channel %u",
                                  (unsigned)r[i].channel);
            p->v = v;
            p->cap = cap;
        }
        p->v[p->n++] = r[i];
        p->last_t0 = r[i].t0;
        p->any = true;
    }
    return 0;
}

int jm_run_write_events(struct jm_run_writer *w, struct jm_err *err)
{
    if (!w->events->n_ev)
        return 0;
    int64_t first, last, requests = (int64_t)w->events->n_req, events = (int64_t)w->events->n_ev;
    jm_str_reset(&w->plain);
    int rc = jm_events_encode(w->events, &w->plain, &first, &last, err);
    jm_event_batch_reset(w->events);
    int enc = rc ? rc : jm_pack(jm_str_span(&w->plain), 5, &w->packed, err);
    return enc < 0 ? enc
                   : jm_run_write(w, JM_Q_TOKENS, err, "iiiiib", first, last, requests, events, (int64_t)enc,
                                  (const void *)w->packed.buf, w->packed.len);
}

int jm_run_add_details(struct jm_run_writer *w, const struct jm_request *r, struct jm_err *err)
{
    if (w->n_details == w->cap_details) {
        size_t cap = w->cap_details ? 2 * w->cap_details : 64;
        struct jm_request *p = realloc(w->details, cap * sizeof *p);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the details of requests");
        w->details = p;
        w->cap_details = cap;
    }
    w->details[w->n_details++] = *r;
    return w->n_details >= JM_DETAILS_BLOCK ? jm_run_write_details(w, err) : 0;
}

int jm_run_write_details(struct jm_run_writer *w, struct jm_err *err)
{
    int64_t n = (int64_t)w->n_details;
    struct jm_str hashes;
    if (!n)
        return 0;
    w->n_details = 0;
    jm_str_init(&hashes);
    jm_str_reset(&w->plain);
    int rc = jm_details_encode(w->details, (size_t)n, &w->plain, &hashes, err);
    int enc = rc ? rc : jm_pack(jm_str_span(&w->plain), 5, &w->packed, err);
    if (enc >= 0)
        rc = jm_run_write(w, JM_Q_DETAILS, err, "iibb", n, (int64_t)enc, (const void *)w->packed.buf,
                          w->packed.len, (const void *)hashes.buf, hashes.len);
    jm_str_release(&hashes);
    return enc < 0 ? enc : rc;
}
