/* SPDX-License-Identifier: Apache-2.0 */
/* Opens every instrument of a configuration, each in a thread of its own, so that one that does not answer
 * delays the others by nothing. Each works on a copy of the domain tree; what it adds is put into the common
 * one afterwards, in the order of the entries, so that a run is the same however fast each was. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meter/instrument.h"
#include "base/banned.h"

#define AT_ONCE 64

/* Shared by all: the last one to let go frees it. */
struct crew {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int refs;
    struct jm_meter_env env;
};

struct task {
    struct crew *crew;
    const struct jm_instrument *in;
    struct jm_domain_tree tree;
    struct jm_meter *m;
    struct jm_err why;
    int rc;
    bool started, finished, given_up;
};

static void let_go(struct crew *c) /* with the lock held */
{
    bool last = --c->refs == 0;
    pthread_mutex_unlock(&c->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->done);
    free(c);
}

static void free_task(struct task *t)
{
    jm_domain_tree_release(&t->tree);
    jm_instrument_drop(t->in);
    free(t);
}

static void *work(void *self)
{
    struct task *t = self;
    struct crew *c = t->crew;
    t->rc = jm_instrument_open(&c->env, t->in, &t->tree, &t->m, &t->why);
    pthread_mutex_lock(&c->lock);
    t->finished = true;
    pthread_cond_broadcast(&c->done);
    if (t->given_up) { /* nobody waits any more */
        if (t->m)
            t->m->ops->close(t->m);
        free_task(t);
    }
    let_go(c);
    return NULL;
}

static int copy_tree(const struct jm_domain_tree *from, struct jm_domain_tree *to, struct jm_err *err)
{
    jm_domain_tree_init(to);
    for (size_t i = 0; i < from->n; i++) {
        const struct jm_domain *d = &from->d[i];
        int id = jm_domain_add(to, d->parent, d->kind, d->key, d->label, err);
        if (id < 0)
            return id;
    }
    return 0;
}

/* What the task has added comes into the common tree, and its channels point there. */
static int merge(struct task *t, size_t shared, struct jm_domain_tree *tree, struct jm_err *err)
{
    int *id = calloc(t->tree.n + 1, sizeof *id);
    if (!id)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the domain tree");
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < t->tree.n; i++) {
        const struct jm_domain *d = &t->tree.d[i];
        id[i] = i < shared ? (int)i
                           : (rc = jm_domain_add(tree, d->parent < 0 ? -1 : id[d->parent], d->kind, d->key,
                                                 d->label, err));
    }
    for (size_t i = 0; rc >= 0 && i < t->m->n_chan; i++)
        if (t->m->chan[i].domain >= 0 && t->m->chan[i].domain < (int)t->tree.n)
            t->m->chan[i].domain = id[t->m->chan[i].domain];
    free(id);
    return rc < 0 ? rc : 0;
}

static struct task *new_task(struct crew *c, const struct jm_instrument *in,
                             const struct jm_domain_tree *tree, struct jm_err *err)
{
    struct task *t = calloc(1, sizeof *t);
    if (!t) {
        jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", in->name);
        return NULL;
    }
    t->crew = c;
    t->in = in;
    jm_instrument_hold(in);
    if (copy_tree(tree, &t->tree, err)) {
        free_task(t);
        return NULL;
    }
    return t;
}

static void start(struct task *t)
{
    pthread_attr_t attr;
    pthread_t id;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 512 << 10);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_mutex_lock(&t->crew->lock);
    t->crew->refs++;
    pthread_mutex_unlock(&t->crew->lock);
    int e = pthread_create(&id, &attr, work, t);
    pthread_attr_destroy(&attr);
    t->started = true;
    if (e) {
        pthread_mutex_lock(&t->crew->lock);
        t->crew->refs--;
        t->finished = true;
        t->rc = jm_err_sys(&t->why, e, "%s: no thread could be started for it", t->in->name);
        pthread_mutex_unlock(&t->crew->lock);
    }
}

/* Its exchanges have a bound each; opening has a few of them. */
static int64_t patience(const struct jm_instrument *in)
{
    return 3 * in->timeout_ns + 2 * JM_NS_PER_S;
}

static void wait_for(struct task *t, int64_t began, const struct jm_clock *clock)
{
    struct crew *c = t->crew;
    int64_t end = began + patience(t->in);
    pthread_mutex_lock(&c->lock);
    while (!t->finished && jm_clock_mono(clock) < end) {
        struct timespec ts = {end / JM_NS_PER_S, end % JM_NS_PER_S};
        pthread_cond_timedwait(&c->done, &c->lock, &ts);
    }
    if (!t->finished)
        t->given_up = true;
    pthread_mutex_unlock(&c->lock);
}

/* Takes what came of it; frees the task unless its thread still has it. */
static int collect(struct task *t, size_t shared, struct jm_domain_tree *tree, struct jm_opened *out,
                   struct jm_err *err)
{
    *out = (struct jm_opened){.in = t->in};
    if (t->given_up) {
        out->rc = jm_err_set(&out->why, JM_ETIMEOUT, "%s: it could not be opened within %g s", t->in->name,
                             (double)patience(t->in) / 1e9);
        return 0;
    }
    int rc = t->rc == 0 ? merge(t, shared, tree, err) : 0;
    if (rc && t->m)
        t->m->ops->close(t->m);
    out->m = rc ? NULL : t->m;
    out->rc = t->rc;
    out->why = t->why;
    free_task(t);
    return rc;
}

static int open_batch(struct crew *c, const struct jm_instrument *const *in, size_t n, bool threads,
                      struct jm_domain_tree *tree, struct jm_opened *out, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    struct task *t[AT_ONCE] = {NULL};
    size_t shared = tree->n;
    int rc = 0;
    int64_t began = jm_clock_mono(&clock);
    for (size_t i = 0; i < n; i++) {
        t[i] = new_task(c, in[i], tree, err);
        if (!t[i]) {
            rc = JM_ENOMEM;
            break;
        }
        if (threads) {
            start(t[i]);
        } else {
            t[i]->rc = jm_instrument_open(&c->env, in[i], &t[i]->tree, &t[i]->m, &t[i]->why);
            t[i]->finished = true;
        }
    }
    for (size_t i = 0; i < n && t[i]; i++) {
        wait_for(t[i], began, &clock);
        int one = collect(t[i], shared, tree, &out[i], rc ? NULL : err);
        rc = rc ? rc : one;
    }
    return rc;
}

int jm_instruments_open_all(const struct jm_meter_env *env, const struct jm_instrument *const *in, size_t n,
                            struct jm_domain_tree *tree, struct jm_opened *out, struct jm_err *err)
{
    struct jm_clock sys = jm_clock_system();
    bool threads = jm_meter_clock(env).ops == sys.ops;
    struct crew *c = calloc(1, sizeof *c);
    if (!c)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the configured meters");
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->done, &mono);
    pthread_condattr_destroy(&mono);
    c->refs = 1;
    c->env = *env;
    memset(out, 0, n * sizeof *out);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i += AT_ONCE)
        rc = open_batch(c, in + i, n - i < AT_ONCE ? n - i : AT_ONCE, threads, tree, out + i, err);
    for (size_t i = 0; rc && i < n; i++)
        if (out[i].m) {
            out[i].m->ops->close(out[i].m);
            out[i].m = NULL;
        }
    pthread_mutex_lock(&c->lock);
    let_go(c);
    return rc;
}
