/* SPDX-License-Identifier: Apache-2.0 */
/* From the callers' threads to the recorder thread: requests, marks, windows, facts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"

#include "base/banned.h"

struct jm_item *jm_item_new(enum jm_item_kind kind, const void *a, size_t n_a, const void *b, size_t n_b)
{
    struct jm_item *it = malloc(sizeof *it + n_a + n_b + 2);
    if (!it)
        return NULL;
    memset(it, 0, sizeof *it);
    it->kind = kind;
    it->bytes = sizeof *it + n_a + n_b + 2;
    it->a = (struct jm_span){it->tail, n_a};
    it->b = (struct jm_span){it->tail + n_a + 1, n_b};
    if (n_a)
        memcpy(it->tail, a, n_a);
    it->tail[n_a] = '\0';
    if (n_b)
        memcpy(it->tail + n_a + 1, b, n_b);
    it->tail[n_a + 1 + n_b] = '\0';
    return it;
}

void jm_record_fail(struct jm_recorder *r, const struct jm_err *e)
{
    pthread_mutex_lock(&r->lock);
    bool first = !r->error.code && e->code != JM_EINVAL;
    if (first)
        r->error = *e;
    pthread_cond_broadcast(&r->room);
    pthread_mutex_unlock(&r->lock);
    if (first)
        jm_logf(r->cfg.log, JM_LOG_ERROR, "record",
                "%s; what was written so far is kept, nothing more is written", e->text);
    else if (e->code == JM_EINVAL)
        jm_logf(r->cfg.log, JM_LOG_WARN, "record", "%s", e->text);
}

int jm_record_error(struct jm_recorder *r, struct jm_err *err)
{
    pthread_mutex_lock(&r->lock);
    int rc = r->error.code;
    if (rc && err)
        *err = r->error;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static void copy_file(struct jm_recorder *r, const char *path)
{
    struct jm_err e = {0};
    jm_run_copy(r->w, jm_clock_mono(&r->clock), path, &e);
    pthread_mutex_lock(&r->lock);
    r->copy_err = e;
    r->copied = true;
    pthread_cond_broadcast(&r->room);
    pthread_mutex_unlock(&r->lock);
}

static void write_item(struct jm_recorder *r, const struct jm_item *it)
{
    struct jm_err e = {0};
    int rc = 0;
    switch (it->kind) {
    case JM_I_REQUEST:
        rc = jm_run_put_request(r->w, &it->request, (const struct jm_token_event *)(const void *)it->tail,
                                it->n_ev, &e);
        break;
    case JM_I_TEXT: rc = jm_run_put_text(r->w, it->id, it->a, it->b, &e); break;
    case JM_I_ENV: rc = jm_run_put_env(r->w, it->a.p, it->b.p, &e); break;
    case JM_I_MARK: rc = jm_run_put_mark(r->w, &it->mark, &e); break;
    case JM_I_SCRAPE: rc = jm_run_put_scrape(r->w, it->a.p, it->t0, it->t1, it->b, &e); break;
    case JM_I_RAW: { /* a: name, NUL, origin */
        const char *origin = it->a.p + strlen(it->a.p) + 1;
        rc = jm_run_put_raw(r->w, it->a.p, origin, it->b, &e);
        break;
    }
    case JM_I_WINDOW_OPEN: rc = jm_run_open_window(r->w, &it->window, &e); break;
    case JM_I_WINDOW_CLOSE: rc = jm_run_close_window(r->w, (int)it->id, it->t1, &e); break;
    case JM_I_COPY: copy_file(r, it->a.p); break;
    case JM_I_CHANNEL: rc = jm_run_update_channel(r->w, &it->channel, &e); break;
    }
    if (rc < 0)
        jm_record_fail(r, &e);
}

int jm_record_push(struct jm_recorder *r, struct jm_item *it)
{
    if (!it)
        return JM_ENOMEM;
    int rc = 0;
    if (r->inline_mode) {
        rc = r->closed ? JM_ESTATE : jm_record_error(r, NULL);
        if (!rc)
            write_item(r, it);
        free(it);
        return rc;
    }
    pthread_mutex_lock(&r->lock);
    /* Back-pressure: a disk that cannot follow slows the load down, it does not eat the memory. Before the
     * recorder runs nobody would make room. */
    while (r->queued + it->bytes > JM_QUEUE_BYTES && r->queued && !r->closed && !r->error.code &&
           r->thread_up)
        pthread_cond_wait(&r->room, &r->lock);
    rc = r->closed ? JM_ESTATE : r->error.code;
    if (!rc) {
        *r->tail = it;
        r->tail = &it->next;
        r->queued += it->bytes;
    }
    bool wake = !rc && (it->kind == JM_I_WINDOW_OPEN || r->queued > JM_QUEUE_BYTES / 4);
    pthread_mutex_unlock(&r->lock);
    if (rc)
        free(it);
    else if (wake)
        jm_record_wake(r);
    return rc;
}

static void drain_rings(struct jm_recorder *r)
{
    for (size_t i = 0; i < r->n_reader; i++) {
        const struct jm_reading *v;
        size_t n;
        if (!r->reader[i]->ring.v)
            continue;
        /* no more than was there at the beginning, so that a fast meter cannot hold the recorder */
        for (size_t left = jm_ring_used(&r->reader[i]->ring);
             left && (n = jm_ring_peek(&r->reader[i]->ring, &v)) > 0; left -= n) {
            n = n < left ? n : left;
            jm_record_take(r, v, n);
            jm_ring_pop(&r->reader[i]->ring, n);
        }
    }
}

void jm_record_replies(struct jm_recorder *r, int64_t now, bool end)
{
    for (size_t i = 0; i < r->n_wire; i++) {
        struct jm_err e = {0};
        if (r->wire[i].replies && !jm_record_error(r, NULL) &&
            jm_replies_drain(r->wire[i].replies, r->w, now, end, &e))
            jm_record_fail(r, &e);
    }
}

void jm_record_drain(struct jm_recorder *r)
{
    drain_rings(r);
    pthread_mutex_lock(&r->lock);
    struct jm_item *it = r->head;
    r->head = NULL;
    r->tail = &r->head;
    pthread_mutex_unlock(&r->lock);
    while (it) {
        struct jm_item *next = it->next;
        if (!jm_record_error(r, NULL))
            write_item(r, it);
        pthread_mutex_lock(&r->lock);
        r->queued -= it->bytes;
        pthread_cond_broadcast(&r->room);
        pthread_mutex_unlock(&r->lock);
        free(it);
        it = next;
    }
}

/* ---- the public calls that only hand something over */

int jm_recorder_mark(struct jm_recorder *r, const char *name)
{
    struct jm_item *it = jm_item_new(JM_I_MARK, NULL, 0, NULL, 0);
    if (it) {
        it->mark.t = jm_clock_mono(&r->clock);
        snprintf(it->mark.name, sizeof it->mark.name, "%s", name ? name : "");
    }
    return jm_record_push(r, it);
}

int jm_recorder_request(struct jm_recorder *r, const struct jm_request *q, const struct jm_token_event *ev,
                        size_t n_ev)
{
    struct jm_item *it = jm_item_new(JM_I_REQUEST, ev, n_ev * sizeof *ev, NULL, 0);
    if (it) {
        it->request = *q;
        it->n_ev = n_ev;
    }
    return jm_record_push(r, it);
}

int jm_recorder_text(struct jm_recorder *r, int64_t request, struct jm_span prompt, struct jm_span output)
{
    struct jm_item *it = jm_item_new(JM_I_TEXT, prompt.p, prompt.n, output.p, output.n);
    if (it)
        it->id = request;
    return jm_record_push(r, it);
}

int jm_recorder_env(struct jm_recorder *r, const char *key, const char *value)
{
    if (!key || !*key || !value)
        return JM_EINVAL;
    return jm_record_push(r, jm_item_new(JM_I_ENV, key, strlen(key), value, strlen(value)));
}

int jm_recorder_copy(struct jm_recorder *r, const char *path, struct jm_err *err)
{
    pthread_mutex_lock(&r->lock);
    r->copied = false;
    pthread_mutex_unlock(&r->lock);
    int rc = jm_record_push(r, jm_item_new(JM_I_COPY, path, strlen(path), NULL, 0));
    if (rc)
        return jm_record_error(r, err) ? rc : jm_err_set(err, rc, "the recording cannot be copied any more");
    jm_record_wake(r);
    pthread_mutex_lock(&r->lock);
    while (!r->copied && !r->error.code && !r->closed)
        pthread_cond_wait(&r->room, &r->lock);
    struct jm_err e = r->copied ? r->copy_err : r->error;
    bool lost = !r->copied && !e.code;
    pthread_mutex_unlock(&r->lock);
    if (lost)
        return jm_err_set(err, JM_ESTATE, "the recording ended before it was copied");
    if (e.code && err)
        *err = e;
    return e.code;
}

int jm_recorder_scrape(struct jm_recorder *r, const char *url, int64_t t0, int64_t t1, struct jm_span text)
{
    struct jm_item *it = jm_item_new(JM_I_SCRAPE, url, strlen(url), text.p, text.n);
    if (it) {
        it->t0 = t0;
        it->t1 = t1;
    }
    return jm_record_push(r, it);
}

int jm_recorder_raw(struct jm_recorder *r, const char *name, const char *origin, struct jm_span data)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, name);
    jm_str_addc(&s, '\0');
    jm_str_adds(&s, origin ? origin : "");
    struct jm_item *it = s.failed ? NULL : jm_item_new(JM_I_RAW, s.buf, s.len, data.p, data.n);
    jm_str_release(&s);
    return jm_record_push(r, it);
}
