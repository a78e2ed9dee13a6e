/* SPDX-License-Identifier: Apache-2.0 */
/* What configured instruments have answered, byte by byte, bounded. */
#ifndef JM_RECORD_REPLIES_H
#define JM_RECORD_REPLIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"
#include "meter/early.h"
#include "meter/instrument.h"
#include "run/run.h"

#define JM_REPLIES_ROOM (64 << 20) /* of a run, compressed; shared evenly by its instruments */

struct jm_replies {
    atomic_int refs; /* of one made by jm_replies_new: the recorder and the thread that reads */
    const struct jm_instrument *in;
    struct jm_raw_sink sink;
    pthread_mutex_t lock; /* front, seen, lost; held for a copy only */
    struct jm_str front;
    unsigned long long seen, lost; /* lost: found no room */
    /* the recorder thread's */
    struct jm_redactor redactor;
    struct jm_str back, chunk;
    int64_t share, stored, plain, chunk_began, last_kept;
    unsigned n_chunks, n_shape;
    unsigned long long kept;
    uint64_t shape[16];
};

void jm_replies_init(struct jm_replies *q, const struct jm_instrument *in, int64_t share);
void jm_replies_release(struct jm_replies *q);
struct jm_replies *jm_replies_new(const struct jm_instrument *in, int64_t share); /* NULL: no memory */
struct jm_replies *jm_replies_ref(struct jm_replies *q);
void jm_replies_unref(struct jm_replies *q); /* NULL does nothing */
/* What came while it was opened. */
void jm_replies_early(struct jm_replies *q, const struct jm_early *e);
/* The sink: from the thread that reads the instrument. Waits for nobody. */
void jm_replies_put(void *self, int64_t t0, int64_t t1, const char *origin, struct jm_span reply,
                    unsigned flags);
/* Takes what is in the ring; writes full and old chunks, at the end all. The recorder thread's. */
int jm_replies_drain(struct jm_replies *q, struct jm_run_writer *w, int64_t now, bool end,
                     struct jm_err *err);
void jm_replies_count(struct jm_replies *q, unsigned long long *seen, unsigned long long *lost);

#endif
