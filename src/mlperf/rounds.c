/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/rounds.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlperf/round_reported.h"
#include "mlperf/round_row.h"

#include "base/banned.h"

struct work {
    const struct jm_mlperf_rounds_opts *o;
    const struct jm_mlperf_walk *walk;
    struct jm_round_row **slot; /* one a find */
    pthread_mutex_t lock;
    struct jm_mlperf_progress p;
    int64_t filtered;
};

/* What cannot be read is the row's error; without memory it is everybody's. */
static int unread(struct jm_round_row *r, int rc, const struct jm_err *why, struct jm_err *err)
{
    if (rc == JM_ENOMEM || !jm_round_set(&r->error, why->text))
        return jm_err_set(err, JM_ENOMEM, "out of memory while reading %s", r->path);
    return 0;
}

int jm_mlperf_judge(const struct jm_mlperf_session *s, const struct jm_mlperf_result *r, const char *revision,
                    const struct jm_mlperf_submission *m, struct jm_mlperf_checked *c, struct jm_err *err)
{
    int rc = jm_mlperf_check(s, r, revision, c, err);
    return rc || !m ? rc : jm_mlperf_submission_check(m, s, r, NULL, c, err);
}

/* The session's parts, judged where that was asked for. What cannot be read becomes the error of the row. */
static int session(struct work *w, struct jm_round_row *r, struct jm_err *err)
{
    struct jm_mlperf_session *s = NULL;
    struct jm_mlperf_result x = {0};
    struct jm_mlperf_submission *m = NULL;
    struct jm_mlperf_checked c = {0};
    struct jm_err why = {0};
    unsigned flags = w->o->check ? JM_MLPERF_READ_ALL : JM_MLPERF_NO_PTD_LOG | JM_MLPERF_NO_HASHES;
    int rc = jm_mlperf_session_read_as(r->place, flags, w->o->as, &s, &why);
    if (rc)
        return unread(r, rc, &why, err);
    int computed = jm_mlperf_compute(s, &x, &why);
    if (computed == JM_ENOMEM || (computed && !jm_round_set(&r->error, why.text)))
        rc = jm_err_set(err, JM_ENOMEM, "out of memory while computing %s", r->path);
    if (!rc)
        rc = jm_mlperf_submission_read(r->place, s->round.name, &m, err);
    if (!rc && w->o->check)
        rc = jm_mlperf_judge(s, computed ? NULL : &x, NULL, m, &c, err);
    if (!rc)
        rc = jm_mlperf_row_fill(r, s, computed ? NULL : &x, m, w->o->check ? &c : NULL, err);
    jm_mlperf_checked_release(&c);
    jm_mlperf_submission_free(m);
    jm_mlperf_session_free(s);
    return rc;
}

static int training(struct work *w, struct jm_round_row *r, struct jm_err *err)
{
    struct jm_training_result *x = NULL;
    struct jm_mlperf_checked c = {0};
    struct jm_err why = {0};
    int rc = jm_training_read(r->place, &x, &why);
    if (rc)
        return unread(r, rc, &why, err);
    if (w->o->check)
        rc = jm_training_check(x, &c, err);
    if (!rc)
        rc = jm_mlperf_row_training(r, x, w->o->check ? &c : NULL, err);
    jm_mlperf_checked_release(&c);
    jm_training_free(x);
    return rc;
}

static int tiny(struct work *w, struct jm_round_row *r, struct jm_err *err)
{
    struct jm_tiny_result *x = NULL;
    struct jm_mlperf_checked c = {0};
    struct jm_err why = {0};
    int rc = jm_tiny_read(r->place, &x, &why);
    if (rc)
        return unread(r, rc, &why, err);
    if (w->o->check)
        rc = jm_tiny_check(x, &c, err);
    if (!rc)
        rc = jm_mlperf_row_tiny(r, x, w->o->check ? &c : NULL, err);
    jm_mlperf_checked_release(&c);
    jm_tiny_free(x);
    return rc;
}

static int job(void *self, size_t i, struct jm_err *err)
{
    struct work *w = self;
    const struct jm_mlperf_found *f = &w->walk->found[i];
    struct jm_round_row *r = NULL;
    int rc = 0;
    if (f->kind != JM_FOUND_TABLE) {
        r = jm_round_row_new();
        rc = r ? jm_mlperf_row_place(r, f->path, err) : jm_err_set(err, JM_ENOMEM, "out of memory for a row");
        if (r)
            r->kind = f->kind == JM_FOUND_TRAINING    ? JM_ROUND_TRAINING
                      : f->kind == JM_FOUND_TINY      ? JM_ROUND_TINY
                      : f->kind == JM_FOUND_NAMEPLATE ? JM_ROUND_NAMEPLATE
                                                      : JM_ROUND_SESSION;
        bool passes = !rc && (f->kind != JM_FOUND_SESSION || jm_round_passes(&w->o->filter, r, true));
        if (passes)
            rc = f->kind == JM_FOUND_TRAINING    ? training(w, r, err)
                 : f->kind == JM_FOUND_TINY      ? tiny(w, r, err)
                 : f->kind == JM_FOUND_NAMEPLATE ? jm_mlperf_row_nameplate(r, f->path, err)
                                                 : session(w, r, err);
        passes = passes && !rc && jm_round_passes(&w->o->filter, r, false);
        if (!passes) {
            jm_round_row_free(r);
            r = NULL;
        }
    }
    w->slot[i] = r;
    pthread_mutex_lock(&w->lock);
    if (f->kind != JM_FOUND_TABLE) {
        w->p.done += f->kind == JM_FOUND_SESSION;
        w->p.bytes += r && r->bytes > 0 ? r->bytes : 0;
        w->filtered += !r && !rc;
    }
    struct jm_mlperf_progress p = w->p;
    pthread_mutex_unlock(&w->lock);
    if (w->o->ops.progress)
        w->o->ops.progress(w->o->ops.self, &p);
    return rc;
}

/* Tables beside the logs and those named by hand; a file that is no such table is a trouble only where it was
 * named. */
static int published(const struct jm_mlperf_walk *walk, const struct jm_mlperf_rounds_opts *o,
                     struct jm_round_table *t, struct jm_err *err)
{
    struct jm_reported table = {0};
    int rc = 0;
    for (size_t i = 0; i < o->n_reported && !rc; i++)
        rc = jm_reported_read(&table, o->reported[i], true, err);
    for (size_t i = 0; i < walk->n && !rc; i++) {
        struct jm_err why = {0};
        size_t before = table.n;
        if (walk->found[i].kind != JM_FOUND_TABLE)
            continue;
        rc = jm_reported_read(&table, walk->found[i].path, false, &why);
        if (rc == JM_ENOMEM) {
            *err = why;
        } else if (rc == JM_EDENIED || rc == JM_ELIMIT || rc == JM_EIO) {
            rc = jm_round_trouble_add(t, walk->found[i].path, why.text);
            if (rc)
                jm_err_set(err, rc, "out of memory for what could not be read");
        } else {
            rc = 0; /* some other file of that name */
        }
        t->tables += table.n > before;
    }
    t->table_rows = (int64_t)table.n;
    for (size_t i = 0; i < t->n_row && !rc; i++)
        rc = jm_reported_match(&table, t->row[i], err);
    jm_reported_release(&table);
    return rc;
}

static int by_row(const void *a, const void *b)
{
    return jm_round_compare(*(struct jm_round_row *const *)a, *(struct jm_round_row *const *)b);
}

int jm_mlperf_rounds(const char *const *asked, size_t n, const struct jm_mlperf_rounds_opts *o,
                     struct jm_round_table *t, struct jm_err *err)
{
    struct jm_mlperf_walk walk = {0};
    struct work w = {.o = o, .walk = &walk};
    *t = (struct jm_round_table){0};
    int rc = jm_mlperf_walk(asked, n, o->jobs, &o->ops, t, &walk, err);
    w.p = (struct jm_mlperf_progress){.folders = t->folders, .sessions = t->sessions};
    if (!rc && walk.n) {
        w.slot = calloc(walk.n, sizeof(void *));
        if (!w.slot)
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for %zu sessions", walk.n);
    }
    if (!rc && walk.n) {
        pthread_mutex_init(&w.lock, NULL);
        rc = jm_mlperf_each(walk.n, o->jobs, &o->ops, job, &w, err);
        pthread_mutex_destroy(&w.lock);
        t->row = w.slot; /* the table owns them now, the gaps closed */
        for (size_t i = 0; i < walk.n; i++)
            if (w.slot[i])
                t->row[t->n_row++] = w.slot[i];
        t->filtered = w.filtered;
        t->bytes = w.p.bytes;
        t->interrupted |= o->ops.stopped && o->ops.stopped(o->ops.self);
        if (t->n_row)
            qsort(t->row, t->n_row, sizeof(void *), by_row);
    }
    if (!rc)
        rc = published(&walk, o, t, err);
    jm_mlperf_walk_release(&walk);
    return rc;
}
