/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: reads that go on get a while, all together; then each thread closes its own meter, all at
 * once, because ending a session may take seconds where the other side is gone. Nobody is waited for without
 * a bound, and who was left behind is said. */
#include "record/internal.h"

#include "base/banned.h"

#define LOOK_NS  (JM_NS_PER_MS / 5)
#define CLOSE_NS (2500 * JM_NS_PER_MS)

void jm_record_stop_readers(struct jm_recorder *r)
{
    int64_t bound = jm_clock_mono(&r->clock) + JM_FAREWELL_NS;
    for (size_t i = 0; i < r->n_reader; i++)
        jm_reader_stop(r->reader[i]);
    for (size_t i = 0; i < r->n_reader; i++) {
        struct jm_reader *d = r->reader[i];
        if (!d->started)
            continue;
        while (!atomic_load(&d->ended)) {
            int64_t now = jm_clock_mono(&r->clock);
            if (now >= bound || !jm_reader_healthy(d, now))
                break;
            jm_clock_sleep_until(&r->clock, now + LOOK_NS, NULL);
        }
        if (atomic_load(&d->ended))
            continue;
        pthread_mutex_lock(&d->lock);
        d->abandoned = true;
        pthread_mutex_unlock(&d->lock);
        jm_logf(r->cfg.log, JM_LOG_WARN, "record", "meter %s: its last read has not come back and is left",
                jm_reader_name(d));
    }
}

int64_t jm_record_let_close(struct jm_recorder *r)
{
    for (size_t i = 0; i < r->n_reader; i++) {
        struct jm_reader *d = r->reader[i];
        pthread_mutex_lock(&d->lock);
        d->may_close = true;
        pthread_cond_signal(&d->wake);
        pthread_mutex_unlock(&d->lock);
    }
    return jm_clock_mono(&r->clock) + CLOSE_NS;
}

void jm_record_farewell(struct jm_recorder *r, int64_t until)
{
    for (size_t i = 0; i < r->n_reader; i++) {
        struct jm_reader *d = r->reader[i];
        if (!d->started)
            continue;
        while (!d->abandoned && !atomic_load(&d->closed) && jm_clock_mono(&r->clock) < until)
            jm_clock_sleep_until(&r->clock, jm_clock_mono(&r->clock) + LOOK_NS, NULL);
        if (atomic_load(&d->closed)) {
            pthread_join(d->thread, NULL);
            continue;
        }
        pthread_detach(d->thread);
        if (!d->abandoned)
            jm_logf(r->cfg.log, JM_LOG_WARN, "record", "%s: the talk with it could not be ended in time",
                    d->name);
    }
}
