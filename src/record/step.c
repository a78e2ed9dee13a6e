/* SPDX-License-Identifier: Apache-2.0 */
#include "record/step.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/rng.h"
#include "model/steps.h"

#include "base/banned.h"

#define THREADS_MAX 1024
#define SLICE       20000 /* of the sum between two looks at the switch: some 20 us */

static struct jm_step_plan filled(const struct jm_step_plan *p)
{
    struct jm_step_plan x = *p;
    x.steps = x.steps > 0 ? x.steps : 8;
    x.shortest = x.shortest > 0 ? x.shortest : 150 * JM_NS_PER_MS;
    x.longest = x.longest > x.shortest            ? x.longest
                : x.shortest > 900 * JM_NS_PER_MS ? x.shortest
                                                  : 900 * JM_NS_PER_MS;
    x.rest = x.rest > 0 ? x.rest : 2 * JM_NS_PER_S;
    return x;
}

int64_t jm_step_length(const struct jm_step_plan *p)
{
    struct jm_step_plan x = filled(p);
    return 2 * x.rest + 2 * x.steps * x.longest;
}

static int wait_until(struct jm_recorder *r, const struct jm_clock *clock, int64_t t,
                      const volatile bool *cancel, struct jm_err *err)
{
    while (jm_clock_mono(clock) < t) {
        int64_t next = jm_clock_mono(clock) + 50 * JM_NS_PER_MS;
        int rc = jm_recorder_run_until(r, next < t ? next : t, err);
        if (rc)
            return rc;
        if (cancel && *cancel)
            return jm_err_set(err, JM_ESTATE, "stopped during the steps of load");
    }
    return 0;
}

int jm_step_play(struct jm_recorder *r, const struct jm_clock *clock, const struct jm_step_plan *plan,
                 const struct jm_step_load *load, const volatile bool *cancel, struct jm_err *err)
{
    struct jm_step_plan p = filled(plan);
    struct jm_rng rng;
    jm_rng_init_stream(&rng, p.seed, 0x57e9);
    jm_recorder_fine(r, true);
    int rc = jm_recorder_mark(r, JM_STEP_OFF);
    int64_t t = jm_clock_mono(clock) + p.rest;
    if (rc) {
        jm_recorder_fine(r, false);
        return jm_err_set(err, rc, "the steps of load cannot be marked in the run");
    }
    for (int i = 0; !rc && i < 2 * p.steps; i++) {
        bool on = i % 2 == 0;
        rc = wait_until(r, clock, t, cancel, err);
        if (!rc)
            rc = load->set(load->self, on, err);
        if (!rc && jm_recorder_mark(r, on ? JM_STEP_ON : JM_STEP_OFF))
            rc = jm_err_set(err, JM_EIO, "the steps of load cannot be marked in the run");
        t = jm_clock_mono(clock) + p.shortest +
            (int64_t)((double)(p.longest - p.shortest) * jm_rng_unit(&rng));
    }
    if (rc)
        load->set(load->self, false, NULL);
    else
        rc = wait_until(r, clock, jm_clock_mono(clock) + p.rest, cancel, err);
    jm_recorder_mark(r, JM_STEP_END);
    jm_recorder_fine(r, false);
    return rc;
}

struct jm_burner {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool on, stop;
    pthread_t *thread;
    size_t n;
};

static void *burn(void *self)
{
    struct jm_burner *b = self;
    volatile double x = 1;
    for (;;) {
        pthread_mutex_lock(&b->lock);
        while (!atomic_load(&b->on) && !atomic_load(&b->stop))
            pthread_cond_wait(&b->wake, &b->lock);
        pthread_mutex_unlock(&b->lock);
        if (atomic_load(&b->stop))
            return NULL;
        while (atomic_load_explicit(&b->on, memory_order_relaxed))
            for (int i = 0; i < SLICE; i++)
                x = x * 0.999999 + 1.000001;
    }
}

static int set(void *self, bool on, struct jm_err *err)
{
    struct jm_burner *b = self;
    (void)err;
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->on, on);
    pthread_cond_broadcast(&b->wake);
    pthread_mutex_unlock(&b->lock);
    return 0;
}

int jm_burner_new(struct jm_burner **out, struct jm_err *err)
{
    struct jm_burner *b = calloc(1, sizeof *b);
    cpu_set_t may;
    size_t n = sched_getaffinity(0, sizeof may, &may) ? 1 : (size_t)CPU_COUNT(&may);
    n = n < THREADS_MAX ? n : THREADS_MAX;
    if (b)
        b->thread = calloc(n, sizeof *b->thread);
    if (!b || !b->thread) {
        free(b);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the load of the CPUs");
    }
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->wake, NULL);
    for (; b->n < n; b->n++) {
        int e = pthread_create(&b->thread[b->n], NULL, burn, b);
        if (e) {
            jm_err_sys(err, e, "cannot start the threads that load the CPUs");
            jm_burner_free(b);
            return JM_EIO;
        }
    }
    *out = b;
    return 0;
}

struct jm_step_load jm_burner_load(struct jm_burner *b)
{
    return (struct jm_step_load){set, b};
}

void jm_burner_free(struct jm_burner *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->stop, true);
    atomic_store(&b->on, false);
    pthread_cond_broadcast(&b->wake);
    pthread_mutex_unlock(&b->lock);
    for (size_t i = 0; i < b->n; i++)
        pthread_join(b->thread[i], NULL);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->wake);
    free(b->thread);
    free(b);
}
