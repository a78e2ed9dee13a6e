/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the recorder share. Threads: one reader a meter, one recorder that alone touches the run
 * file, and the callers. Inline (virtual time): none, everything happens in the caller's. */
#ifndef JM_RECORD_INTERNAL_H
#define JM_RECORD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "record/replies.h"
#include "record/ring.h"

#define JM_POLL_NS     JM_NS_PER_MS         /* spacing of reads in a burst */
#define JM_EDGE_MAX_NS (500 * JM_NS_PER_MS) /* longest burst on one side, unless asked for */
#define JM_EDGE_MOVES  3                    /* refreshes wanted on each side of an edge */
#define JM_QUEUE_BYTES (64u << 20)          /* of what callers may have waiting for the file */
#define JM_DRAIN_NS    (200 * JM_NS_PER_MS)
#define JM_WIRE_NS     (50 * JM_NS_PER_MS) /* an edge waits no longer for the read of a configured instrument */
#define JM_RETRY_NS    JM_NS_PER_S         /* first pause before a lost instrument is opened again */
#define JM_RETRY_MOST  (30 * JM_NS_PER_S)
#define JM_FAREWELL_NS (6 * JM_NS_PER_S) /* for reads that go on when a run ends, all together */

/* ---- a meter and the thread that reads it */

/* A question to find_process, answered in the reader's thread. Whoever is second to be done with it frees it.
 */
struct jm_find {
    int64_t *pids;
    size_t n_pids;
    bool *used;
    size_t n_devices;
    int rc;
    bool finished, given_up;
};

struct jm_counter_watch { /* a counter that bursts look at */
    size_t chan;          /* index in the meter */
    int64_t value;
    bool seen;
    atomic_uint moves;   /* refreshes seen in bursts; only grows */
    unsigned at_edge;    /* moves when the edge was set; under the reader's lock */
    atomic_llong period; /* ns, as documented or found by the self-test */
    bool found;          /* by the self-test; written before ready */
};

struct jm_reader {
    struct jm_recorder *rec; /* not after the reader was given up */
    struct jm_meter *m;
    struct jm_clock clock;
    char name[96]; /* of the meter, or of the configured instrument */
    int meter;     /* id in the run */
    uint32_t base; /* run id of the meter's first channel */
    int64_t period, deadline;
    struct jm_reading *buf; /* n_chan */
    struct jm_counter_watch *watch;
    size_t n_watch;
    struct jm_ring ring;
    bool threaded, started;
    pthread_t thread;
    atomic_int refs; /* the recorder and the thread: the last one frees */

    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    bool stop, burst, abandoned;
    bool may_close;    /* nobody else looks at m any more */
    bool after;        /* the edge is set: the burst ends by itself */
    int64_t burst_end; /* then at the latest */
    unsigned need;     /* refreshes wanted after the edge */
    struct jm_find *find;

    /* the reader's own */
    bool in_burst;
    int64_t next, next_poll; /* due times */
    int64_t fine_period;     /* of readings beside steps of load; 0: as always */

    /* published */
    atomic_bool fast_ok, ready, ended, closed;
    atomic_bool fine;        /* steps of load go on */
    atomic_llong busy_since; /* mono ns of the read that is going on, 0: none */
    atomic_llong last_read;  /* mono ns of the last one that came back */
    atomic_uint polls;       /* burst reads; only grows */
    atomic_ullong readings, late, dropped;
    atomic_bool alive;
    char selftest[160];         /* written before ready */
    bool tested;                /* the verdict is known from before; set before the thread starts */
    bool lasting;               /* the verdict is worth keeping for the next run; written before ready */
    int64_t slowest;            /* longest read, ns; reader only, read after it ended */
    bool hung;                  /* the recorder's: said already */
    struct jm_replies *replies; /* of a configured instrument; NULL: none */
    /* the reader's own: a configured instrument that was lost is opened again */
    struct jm_meter_env env;
    int64_t retry, retry_at; /* pause, time of the next try; 0: none */
    bool anew;               /* its counters may have begun again */
};

/* A configured instrument, whether it answers or not. */
struct jm_wire {
    const struct jm_instrument *in;
    int meter;                  /* row in the run */
    struct jm_replies *replies; /* NULL: none */
    struct jm_opening *later;   /* did not answer yet; NULL: it did, or it is over */
    unsigned tries;
    struct jm_err why; /* of the last try */
};
/* "nvml"; of a configured instrument its own name. */
const char *jm_reader_name(const struct jm_reader *r);

/* readers.c */
int jm_reader_new(struct jm_recorder *rec, struct jm_meter *m, int meter, uint32_t base,
                  struct jm_replies *replies, struct jm_reader **out, struct jm_err *err);
void jm_reader_unref(struct jm_reader *r);
int jm_reader_spawn(struct jm_reader *r, struct jm_err *err);
/* Does what is due at now and returns when the next thing is. */
int64_t jm_reader_step(struct jm_reader *r, int64_t now);
int64_t jm_reader_due(struct jm_reader *r);
/* Answers a question that waits; in the thread that reads the meter. */
void jm_reader_answer(struct jm_reader *r);
/* sut.c: how many devices these processes use; negative when no meter can say. */
int jm_record_count_used(struct jm_recorder *r, const int64_t *pids, size_t n);
void jm_find_free(struct jm_find *f);
/* One read of a set with the flag on each reading. Returns how many came. */
size_t jm_reader_read(struct jm_reader *r, enum jm_read_set set, uint8_t flag);
void jm_reader_burst(struct jm_reader *r);
/* The edge is set: the burst goes on until every counter has moved need times more, or until end. */
void jm_reader_edge(struct jm_reader *r, unsigned need, int64_t end);
bool jm_reader_in_burst(struct jm_reader *r);
void jm_reader_stop(struct jm_reader *r);
/* farewell.c: stops the reads; lets each thread close its meter and says until when that is waited for;
 * waits. */
void jm_record_stop_readers(struct jm_recorder *r);
int64_t jm_record_let_close(struct jm_recorder *r);
void jm_record_farewell(struct jm_recorder *r, int64_t until);
/* Not in a read, or not for longer than its deadline. */
bool jm_reader_healthy(const struct jm_reader *r, int64_t now);
/* selftest.c: in the reader's thread. */
void jm_selftest(struct jm_reader *r);
/* selfcache.c: verdicts of earlier runs on this boot, driver and devices. */
void jm_selfcache_load(struct jm_recorder *r);
void jm_selfcache_save(struct jm_recorder *r);

/* ---- what callers hand to the recorder thread */

enum jm_item_kind {
    JM_I_REQUEST,
    JM_I_TEXT,
    JM_I_ENV,
    JM_I_MARK,
    JM_I_SCRAPE,
    JM_I_RAW,
    JM_I_WINDOW_OPEN,
    JM_I_WINDOW_CLOSE,
    JM_I_CHANNEL,
    JM_I_COPY
};

struct jm_item {
    struct jm_item *next;
    enum jm_item_kind kind;
    size_t bytes; /* of the item with all it owns */
    int64_t t0, t1, id;
    size_t n_ev;
    struct jm_span a, b;
    union {
        struct jm_request request;
        struct jm_window window;
        struct jm_mark mark;
        struct jm_channel channel;
    };
    char tail[]; /* token events, then text */
};

/* queue.c: takes the item (from malloc) in any case. Blocks while too much waits. */
int jm_record_push(struct jm_recorder *r, struct jm_item *it);
struct jm_item *jm_item_new(enum jm_item_kind kind, const void *a, size_t n_a, const void *b, size_t n_b);
/* Writes all that waits; the recorder thread only (inline: the caller's). */
void jm_record_drain(struct jm_recorder *r);
/* What instruments have answered, into the raw table; end: all of it. The recorder thread's. */
void jm_record_replies(struct jm_recorder *r, int64_t now, bool end);
/* A failed write: kept as the first one, said once to the log. */
void jm_record_fail(struct jm_recorder *r, const struct jm_err *e);
int jm_record_error(struct jm_recorder *r, struct jm_err *err);
/* Readings straight into the file and into the live view. */
void jm_record_take(struct jm_recorder *r, const struct jm_reading *v, size_t n);

/* ---- the recorder */

struct jm_live_channel {            /* last values for progress lines and for idle */
    struct jm_reading last, before; /* before: at least a second older, for rates of counters */
    bool has_last, has_before;
};

struct jm_pairs {
    int64_t next;
    struct jm_clock_pair last;
    bool has_last;
    unsigned steps, suspends;
    int64_t slept_ns;
};

struct jm_recorder {
    struct jm_record_cfg cfg;
    struct jm_clock clock;
    bool inline_mode, started;
    bool finishing; /* under late_lock: no instrument joins any more */
    pthread_mutex_t late_lock;
    struct jm_run_writer *w;
    struct jm_domain_tree tree;
    struct jm_channel
        *chan; /* as in the run; like tree changed by the recorder thread only, under live_lock */
    size_t n_chan;
    struct jm_reader **reader; /* room for all that may come; more appear while it records */
    _Atomic size_t n_reader;
    struct jm_wire *wire; /* configured instruments that take part */
    size_t n_wire;
    size_t n_meters; /* rows, with those that could not be opened */
    struct jm_str why;
    struct jm_err error; /* first failed write, under lock */
    bool copied;         /* the copy that was asked for is made, or copy_err says why not; under lock */
    struct jm_err copy_err;
    pthread_mutex_t lock; /* queue, error */
    pthread_cond_t room;
    struct jm_item *head, **tail;
    size_t queued;
    bool closed;               /* no more items */
    pthread_mutex_t edge_lock; /* one edge at a time; windows */
    int n_window;
    int64_t last_edge, last_edge_end; /* 0: none */
    pthread_mutex_t live_lock;
    struct jm_live_channel *live;
    int64_t t_start;
    pthread_t thread;
    bool thread_up;
    char boot_id[48];             /* "" not known */
    struct jm_scrapers *scrapers; /* NULL: none; scrape.c */
    int wake_fd, mark_fd;         /* -1: none */
    atomic_bool quit;
    struct jm_pairs pairs;
    int64_t flush_next;
    unsigned long long bad_marks;
};

/* recorder.c */
void jm_record_wake(struct jm_recorder *r);
/* Inline: does what is due before t, and sleeps until t. */
void jm_record_advance(struct jm_recorder *r, int64_t t);
/* open.c: meters → rows, channels and readers. */
int jm_record_open_meters(struct jm_recorder *r, struct jm_err *err);
/* A row of the run; instance: of a configured one its name. Its id, or negative. */
int jm_record_put_row(struct jm_recorder *r, const struct jm_meter_ops *ops, const char *instance,
                      const struct jm_meter *m, const char *state, const char *reason, const char *mend,
                      struct jm_err *err);
/* Its channels and its reader; on error m stays the caller's. */
int jm_record_take_meter(struct jm_recorder *r, struct jm_meter *m, int id, struct jm_replies *replies,
                         struct jm_err *err);
/* wire.c: configured instruments. */
int jm_record_open_wires(struct jm_recorder *r, struct jm_err *err);
/* Those that answer at last join; the recorder thread's. */
void jm_record_latecomers(struct jm_recorder *r);
void jm_record_end_wires(struct jm_recorder *r);  /* no more joins */
void jm_record_never_came(struct jm_recorder *r); /* their rows say so; when the recorder thread has ended */
void jm_record_free_wires(struct jm_recorder *r);
/* env.c */
void jm_record_host(struct jm_recorder *r);
void jm_record_end_facts(struct jm_recorder *r);
void jm_record_put_env(struct jm_recorder *r, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* clocknote.c: the clock error of this host into the environment, as clock.error.WHEN.*; put is one of env.c.
 */
typedef void (*jm_clock_put_fn)(struct jm_recorder *r, const char *key, const char *fmt, ...);
void jm_record_clock_error(struct jm_recorder *r, const char *when, jm_clock_put_fn put);
/* pairs.c: takes a pair when one is due; the recorder thread's. */
void jm_record_pairs(struct jm_recorder *r, int64_t now);
/* scrape.c: texts of the engine right before or right after an edge; end of it all. */
void jm_scrape_edge(struct jm_recorder *r, bool before);
void jm_scrape_stop(struct jm_recorder *r); /* ends the threads */
void jm_scrape_end(struct jm_recorder *r);  /* facts */
void jm_scrape_free(struct jm_recorder *r);
/* marks.c */
int jm_record_marks_open(struct jm_recorder *r, struct jm_err *err);
void jm_record_marks_read(struct jm_recorder *r);
void jm_record_marks_close(struct jm_recorder *r);

#endif
