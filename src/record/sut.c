/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs serve: asked by process, in each meter's own thread, because a meter is read from one thread
 * only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/internal.h"

#include "base/banned.h"

void jm_find_free(struct jm_find *f)
{
    if (!f)
        return;
    free(f->pids);
    free(f->used);
    free(f);
}

/* Devices of a meter in the order of their first channel. Returns how many; first[i]: channel of device i. */
static size_t devices(const struct jm_meter *m, size_t *first)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_chan; i++) {
        size_t k = 0;
        while (k < n && strcmp(m->chan[first[k]].device, m->chan[i].device) != 0)
            k++;
        if (k == n)
            first[n++] = i;
    }
    return n;
}

static struct jm_find *find_new(const int64_t *pids, size_t n, size_t n_devices)
{
    struct jm_find *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->pids = malloc((n ? n : 1) * sizeof *f->pids);
    f->used = calloc(n_devices ? n_devices : 1, sizeof *f->used);
    if (!f->pids || !f->used) {
        jm_find_free(f);
        return NULL;
    }
    if (n)
        memcpy(f->pids, pids, n * sizeof *pids);
    f->n_pids = n;
    f->n_devices = n_devices;
    return f;
}

/* Asks and waits for at most the meter's deadline. Returns f finished, or NULL when it was given up. */
static struct jm_find *ask(struct jm_recorder *r, struct jm_reader *d, struct jm_find *f)
{
    pthread_mutex_lock(&d->lock);
    d->find = f;
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
    if (!d->threaded || !d->started || atomic_load(&d->ended)) {
        jm_reader_answer(d);
        return f;
    }
    int64_t end = jm_clock_mono(&r->clock) + d->deadline + JM_NS_PER_S;
    struct timespec ts = {end / JM_NS_PER_S, end % JM_NS_PER_S};
    pthread_mutex_lock(&d->lock);
    while (!f->finished && pthread_cond_timedwait(&d->done, &d->lock, &ts) == 0)
        ;
    bool finished = f->finished;
    if (!finished && d->find == f) {
        d->find = NULL; /* not even begun: still ours */
        jm_find_free(f);
    } else if (!finished) {
        f->given_up = true;
    }
    pthread_mutex_unlock(&d->lock);
    return finished ? f : NULL;
}

/* Keys of the GPU domains of a device, as the boundary "gpu" looks for them. */
static void add_keys(struct jm_recorder *r, const struct jm_meter *m, const char *device, struct jm_str *keys)
{
    pthread_mutex_lock(&r->live_lock);
    for (size_t i = 0; i < m->n_chan; i++) {
        const struct jm_channel *c = &m->chan[i];
        if (strcmp(c->device, device) != 0 || c->domain < 0 || (size_t)c->domain >= r->tree.n)
            continue;
        const struct jm_domain *d = &r->tree.d[c->domain];
        if (d->kind != JM_D_GPU && d->kind != JM_D_APU && d->kind != JM_D_MODULE)
            continue;
        struct jm_span rest = jm_str_span(keys), one;
        bool there = false;
        while (keys->len && jm_span_field(&rest, ',', &one))
            there = there || jm_span_is(one, d->key);
        if (!there)
            jm_str_addf(keys, "%s%s", keys->len ? "," : "", d->key);
    }
    pthread_mutex_unlock(&r->live_lock);
}

/* One meter: how many of its devices serve, or a negative error. */
static int find_in(struct jm_recorder *r, struct jm_reader *d, const int64_t *pids, size_t n,
                   struct jm_str *keys, struct jm_err *err)
{
    size_t *first = calloc(d->m->n_chan ? d->m->n_chan : 1, sizeof *first);
    size_t n_dev = first ? devices(d->m, first) : 0;
    struct jm_find *f = first ? find_new(pids, n, n_dev) : NULL;
    if (!f) {
        free(first);
        return jm_err_set(err, JM_ENOMEM, "out of memory while looking for the endpoint's GPUs");
    }
    f = ask(r, d, f);
    int rc =
        f ? f->rc
          : jm_err_set(err, JM_ETIMEOUT, "the meter %s did not say in time which processes use its devices",
                       d->m->ops->name);
    if (f && rc < 0)
        jm_err_set(err, rc, "the meter %s cannot say which processes use its devices (%s)", d->m->ops->name,
                   jm_ecode_name(rc));
    int found = 0;
    for (size_t i = 0; f && rc >= 0 && i < n_dev; i++)
        if (f->used[i]) {
            add_keys(r, d->m, d->m->chan[first[i]].device, keys);
            found++;
        }
    jm_find_free(f);
    free(first);
    return rc < 0 ? rc : found;
}

int jm_record_count_used(struct jm_recorder *r, const int64_t *pids, size_t n)
{
    int used = 0, rc = JM_EUNSUPPORTED;
    bool any = false;
    struct jm_str keys;
    jm_str_init(&keys);
    for (size_t i = 0; i < r->n_reader; i++) {
        if (!r->reader[i]->m->ops->find_process)
            continue;
        rc = find_in(r, r->reader[i], pids, n, &keys, NULL);
        any = any || rc >= 0;
        used += rc > 0 ? rc : 0;
    }
    jm_str_release(&keys);
    return any ? used : rc;
}

int jm_recorder_find_sut(struct jm_recorder *r, const int64_t *pids, size_t n, struct jm_err *err)
{
    struct jm_str keys, list;
    struct jm_err why = {0};
    int found = 0, asked = 0, answered = 0, rc = 0;
    jm_str_init(&keys);
    jm_str_init(&list);
    for (size_t i = 0; i < n && i < 64; i++)
        jm_str_addf(&list, "%s%lld", i ? "," : "", (long long)pids[i]);
    if (n)
        jm_record_put_env(r, "sut.pids", "%s%s", list.buf, n > 64 ? ",..." : "");
    for (size_t i = 0; i < r->n_reader; i++) {
        if (!r->reader[i]->m->ops->find_process)
            continue;
        asked++;
        rc = find_in(r, r->reader[i], pids, n, &keys, &why);
        answered += rc >= 0;
        found += rc > 0 ? rc : 0;
    }
    if (found) {
        jm_record_put_env(r, "sut.gpus", "%s", keys.buf);
        rc = found;
    } else if (answered) {
        /* An engine in a container has other pids than the driver names, so this proves nothing. */
        jm_record_put_env(r, "sut.unknown", "none of its processes was found on a GPU");
        rc = 0;
    } else if (asked) {
        jm_record_put_env(r, "sut.unknown", "%s", why.text);
        if (err)
            *err = why;
        rc = why.code;
    } else {
        rc = jm_err_set(err, JM_EUNSUPPORTED, "no meter of this run can say which processes use its devices");
    }
    jm_str_release(&keys);
    jm_str_release(&list);
    return rc;
}
