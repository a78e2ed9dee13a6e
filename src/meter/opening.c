/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/opening.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"

#define PAUSE_MOST (30 * JM_NS_PER_S)

/* What came of one try. */
struct outcome {
    struct jm_meter *m;
    struct jm_domain_tree tree;
    struct jm_early early;
    struct jm_err why;
    int rc;
};

struct jm_opening {
    struct jm_meter_env env;
    const struct jm_instrument *in;
    struct jm_domain_tree base; /* as it was when this began */
    struct jm_clock clock;
    bool threaded, keep;
    atomic_uint heard; /* replies that came while it was opened */
    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refs; /* its owner, and its thread */
    bool dropped, over;
    unsigned tries;
    struct outcome *ready; /* NULL: nothing that was not taken */
    /* of who tries */
    int64_t next, pause;
};

/* Will it be another time? A login that is refused is not tried again: accounts get locked. */
static bool may_pass(int rc)
{
    return rc == JM_EABSENT || rc == JM_ETIMEOUT || rc == JM_ENET || rc == JM_EAGAIN || rc == JM_EIO ||
           rc == JM_EPARSE || rc == JM_ETLS || rc == JM_ESTATE;
}

static void free_outcome(struct outcome *x)
{
    if (!x)
        return;
    if (x->m)
        x->m->ops->close(x->m);
    jm_domain_tree_release(&x->tree);
    jm_early_release(&x->early);
    free(x);
}

static void unref(struct jm_opening *o) /* with the lock held */
{
    bool last = --o->refs == 0;
    pthread_mutex_unlock(&o->lock);
    if (!last)
        return;
    free_outcome(o->ready);
    jm_domain_tree_release(&o->base);
    jm_instrument_drop(o->in);
    pthread_mutex_destroy(&o->lock);
    pthread_cond_destroy(&o->changed);
    free(o);
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

/* NULL: out of memory. */
static struct outcome *try_once(struct jm_opening *o)
{
    struct outcome *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    jm_early_init(&x->early);
    x->early.heard = &o->heard;
    struct jm_meter_env env = o->env;
    env.opening = &x->early.sink;
    x->rc = copy_tree(&o->base, &x->tree, &x->why);
    if (!x->rc)
        x->rc = jm_instrument_open(&env, o->in, &x->tree, &x->m, &x->why);
    return x;
}

/* Is this the last try? Sets the time of the next one. */
static bool schedule(struct jm_opening *o, const struct outcome *x)
{
    if (!x || x->m || !o->keep || !may_pass(x->rc))
        return true;
    o->next = jm_clock_mono(&o->clock) + o->pause;
    o->pause = 2 * o->pause < PAUSE_MOST ? 2 * o->pause : PAUSE_MOST;
    return false;
}

static void *work(void *self)
{
    struct jm_opening *o = self;
    for (bool last = false; !last;) {
        struct outcome *x = try_once(o);
        last = schedule(o, x);
        pthread_mutex_lock(&o->lock);
        o->tries++;
        struct outcome *old = o->ready; /* a failure that nobody has looked at yet */
        o->ready = x;
        o->over = last;
        pthread_cond_broadcast(&o->changed);
        if (old) {
            pthread_mutex_unlock(&o->lock);
            free_outcome(old);
            pthread_mutex_lock(&o->lock);
        }
        while (!last && !o->dropped && jm_clock_mono(&o->clock) < o->next) {
            struct timespec ts = {o->next / JM_NS_PER_S, o->next % JM_NS_PER_S};
            pthread_cond_timedwait(&o->changed, &o->lock, &ts);
        }
        last = last || o->dropped;
        if (!last)
            pthread_mutex_unlock(&o->lock);
    }
    unref(o);
    return NULL;
}

static int start(struct jm_opening *o, struct jm_err *err)
{
    pthread_attr_t attr;
    pthread_t id;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 512 << 10);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    o->refs = 2;
    int e = pthread_create(&id, &attr, work, o);
    pthread_attr_destroy(&attr);
    if (!e)
        return 0;
    o->refs = 1;
    return jm_err_sys(err, e, "%s: no thread could be started for it", o->in->name);
}

int jm_opening_new(const struct jm_meter_env *env, const struct jm_instrument *in,
                   const struct jm_domain_tree *tree, bool keep, struct jm_opening **out, struct jm_err *err)
{
    struct jm_clock sys = jm_clock_system();
    struct jm_opening *o = calloc(1, sizeof *o);
    if (!o)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", in->name);
    o->env = *env;
    o->in = in;
    o->clock = jm_meter_clock(env);
    o->threaded = o->clock.ops == sys.ops;
    o->keep = keep;
    o->refs = 1;
    /* soon after a short absence, more rarely the longer it lasts */
    o->pause = in->timeout_ns > JM_NS_PER_S / 5 ? in->timeout_ns : JM_NS_PER_S / 5;
    o->pause = o->pause < 5 * JM_NS_PER_S ? o->pause : 5 * JM_NS_PER_S;
    o->next = INT64_MIN;
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->changed, &mono);
    pthread_condattr_destroy(&mono);
    jm_instrument_hold(in);
    int rc = copy_tree(tree, &o->base, err);
    if (!rc && o->threaded)
        rc = start(o, err);
    if (rc) {
        jm_opening_drop(o);
        return rc;
    }
    *out = o;
    return 0;
}

void jm_opening_wait(struct jm_opening *o, int64_t until)
{
    struct jm_clock sys = jm_clock_system();
    pthread_mutex_lock(&o->lock);
    while (o->threaded && !o->ready && !o->over && jm_clock_mono(&sys) < until) {
        struct timespec ts = {until / JM_NS_PER_S, until % JM_NS_PER_S};
        pthread_cond_timedwait(&o->changed, &o->lock, &ts);
    }
    pthread_mutex_unlock(&o->lock);
}

unsigned jm_opening_heard(struct jm_opening *o)
{
    return atomic_load(&o->heard);
}

bool jm_opening_waits(struct jm_opening *o)
{
    pthread_mutex_lock(&o->lock);
    bool yes = o->threaded && !o->ready && !o->over;
    pthread_mutex_unlock(&o->lock);
    return yes;
}

/* What the entry has added comes into the common tree, and its channels point there. */
static int merge(const struct jm_opening *o, struct outcome *x, struct jm_domain_tree *tree,
                 struct jm_err *err)
{
    size_t shared = o->base.n;
    int *id = calloc(x->tree.n + 1, sizeof *id);
    if (!id)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the domain tree");
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < x->tree.n; i++) {
        const struct jm_domain *d = &x->tree.d[i];
        id[i] = i < shared ? (int)i
                           : (rc = jm_domain_add(tree, d->parent < 0 ? -1 : id[d->parent], d->kind, d->key,
                                                 d->label, err));
    }
    for (size_t i = 0; rc >= 0 && i < x->m->n_chan; i++)
        if (x->m->chan[i].domain >= 0 && x->m->chan[i].domain < (int)x->tree.n)
            x->m->chan[i].domain = id[x->m->chan[i].domain];
    free(id);
    return rc < 0 ? rc : 0;
}

/* Without a thread it is tried here, when its time has come. */
static void try_here(struct jm_opening *o)
{
    if (o->threaded || o->over || o->ready || jm_clock_mono(&o->clock) < o->next)
        return;
    o->ready = try_once(o);
    o->tries++;
    o->over = schedule(o, o->ready);
}

int jm_opening_take(struct jm_opening *o, struct jm_domain_tree *tree, struct jm_opened *out,
                    struct jm_err *err)
{
    *out = (struct jm_opened){.in = o->in, .later = o};
    try_here(o);
    pthread_mutex_lock(&o->lock);
    struct outcome *x = o->ready;
    bool over = o->over;
    o->ready = NULL;
    out->tries = o->tries;
    pthread_mutex_unlock(&o->lock);
    if (!x && !over)
        return 0;
    int rc = !x     ? jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", o->in->name)
             : x->m ? merge(o, x, tree, err)
                    : 0;
    if (x && !rc) {
        out->rc = x->rc;
        out->why = x->why;
        out->m = x->m;
        out->early = malloc(sizeof *out->early);
        if (out->early) {
            *out->early = x->early;
            out->early->heard = NULL;
            jm_str_init(&x->early.text);
        }
        x->m = NULL;
    }
    free_outcome(x);
    if (rc || over) {
        out->later = NULL;
        jm_opening_drop(o);
    }
    return rc ? rc : 1;
}

void jm_opening_drop(struct jm_opening *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->dropped = true;
    pthread_cond_broadcast(&o->changed);
    unref(o);
}

void jm_opened_release(struct jm_opened *o)
{
    if (o->m)
        o->m->ops->close(o->m);
    if (o->early) {
        jm_early_release(o->early);
        free(o->early);
    }
    jm_opening_drop(o->later);
    *o = (struct jm_opened){.in = o->in};
}
