/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "mlperf/round_walk.h"

#include "base/banned.h"

#define THREADS 256
void jm_mlperf_crew(int jobs, void *(*fn)(void *), void *arg)
{
    pthread_t id[THREADS];
    int n = 0;
    for (int i = 1; i < jobs && i < THREADS; i++)
        n += pthread_create(&id[n], NULL, fn, arg) == 0;
    fn(arg);
    for (int i = 0; i < n; i++)
        pthread_join(id[i], NULL);
}

struct each {
    pthread_mutex_t lock;
    size_t next, n;
    const struct jm_mlperf_pool_ops *ops;
    int (*job)(void *, size_t, struct jm_err *);
    void *self;
    struct jm_err *err;
    int rc;
};

static void *each_worker(void *arg)
{
    struct each *e = arg;
    for (;;) {
        pthread_mutex_lock(&e->lock);
        size_t i = e->rc || (e->ops && e->ops->stopped && e->ops->stopped(e->ops->self)) ? e->n : e->next++;
        pthread_mutex_unlock(&e->lock);
        if (i >= e->n)
            return NULL;
        struct jm_err err = {0};
        int rc = e->job(e->self, i, &err);
        if (!rc)
            continue;
        pthread_mutex_lock(&e->lock);
        if (!e->rc) {
            e->rc = rc;
            if (e->err)
                *e->err = err;
        }
        pthread_mutex_unlock(&e->lock);
    }
}

int jm_mlperf_each(size_t n, int jobs, const struct jm_mlperf_pool_ops *ops,
                   int (*job)(void *self, size_t i, struct jm_err *err), void *self, struct jm_err *err)
{
    struct each e = {.n = n, .ops = ops, .job = job, .self = self, .err = err};
    pthread_mutex_init(&e.lock, NULL);
    jm_mlperf_crew(jobs, each_worker, &e);
    pthread_mutex_destroy(&e.lock);
    return e.rc;
}
