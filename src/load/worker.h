/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the load generator. A worker is a thread with a libuv loop; it has slots, each a connection with
 * at most one request under way. Slots belong to their worker and are touched by its thread alone; what other
 * threads read is atomic. */
#ifndef JM_LOAD_WORKER_H
#define JM_LOAD_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/rng.h"
#include "load/call.h"
#include "load/client.h"
#include "load/feed.h"
#include "load/hist.h"
#include "load/load.h"
#include "load/prompts.h"
#include "load/transport.h"

enum jm_slot_state {
    JM_SLOT_IDLE,       /* with or without a connection */
    JM_SLOT_CONNECTING, /* a request waits for its connection */
    JM_SLOT_BUSY,       /* sending, or reading the answer */
    JM_SLOT_PAUSED      /* after a failure, until resume_at */
};

struct jm_worker;

struct jm_slot {
    struct jm_worker *w;
    struct jm_slot *next_idle;
    enum jm_slot_state state;
    struct jm_link *link;
    bool open;               /* the link may send */
    bool fresh;              /* no request has used it yet */
    bool resent;             /* the request went out a second time, on a new connection */
    bool opening;            /* counted among the connections being opened */
    int64_t opened;          /* when it could send */
    int64_t good_until;      /* the server may close the connection from then on */
    int64_t uses, uses_most; /* requests on this connection; -1: no limit known */
    struct jm_call call;
    struct jm_prompt prompt;
    struct jm_item item;
    int lane;       /* of its slice when it is a user of a closed one, -1: any open request */
    int user;       /* number among the slice's users */
    bool cancelled; /* by plan */
    int64_t admitted, prompt_bytes;
    int64_t since;   /* of the present wait: connecting, sending, header, next byte */
    int64_t done_at; /* [DONE] came, the end of the framing did not */
    int failures;    /* in a row */
    int64_t resume_at;
};

/* What was begun of a slice: how many, first and last time by plan and really. */
struct jm_begun {
    int64_t n, due0, due1, at0, at1;
};

struct jm_worker {
    struct jm_load *l;
    int index;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    uv_prepare_t prepare;
    uv_poll_t timer_poll;
    int timer_fd;
    pthread_t thread;
    bool has_loop;
    atomic_bool halted; /* sends no more */
    struct jm_link_env env;

    struct jm_slot **slot; /* pointers: callbacks hold them. Users of closed slices first */
    size_t slots, slots_cap;
    size_t users;                    /* slots of closed slices */
    size_t open_most;                /* open requests under way at most */
    struct jm_slot *idle;            /* of the open ones */
    size_t busy, open_busy;          /* connecting or busy */
    size_t opening, warm_next, turn; /* warm_next: slot to open next before the start */
    bool going, stopped, warm;       /* warm: what can be opened before the start is open */

    struct jm_token_event *ev; /* of the request that is handed over, unpacked */
    size_t ev_cap;

    struct jm_feed feed;
    struct jm_begun begun[JM_SLICES_MOST];

    /* read by others */
    struct jm_recent lag;        /* scheduled → sent, µs, of the last seconds */
    struct jm_recent ttft;       /* scheduled → first token, the same */
    struct jm_hist lag_all, gap; /* gap: between token events, µs */
    struct jm_hist loop_lag;     /* of the tick: due → run, µs */
    int64_t tick_due;
    _Atomic int64_t cpu_ns, held, read_most, rcvbuf, cpu_recent_ppm, kernel, user, stepped;
    atomic_bool over; /* nothing more will be sent */
    int64_t cpu_at, cpu_was;
    char failed[256]; /* why the worker could not begin */
};

struct jm_load {
    struct jm_load_cfg cfg;
    char *strings[16];
    struct jm_load_sink sink;
    pthread_mutex_t sink_lock;
    struct jm_client client;
    struct jm_reader reader;
    const struct jm_transport *transport;
    struct jm_plan *plan; /* its own copy */
    struct jm_prompts prompts;
    struct jm_trace *trace[JM_SLICES_MOST]; /* by slice */
    int64_t open_most;                      /* open requests under way at most; 0: there are none */
    bool fixed_ids;                         /* every request has its number by the schedule alone */
    char model[256];
    struct jm_endpoint at;
    bool chosen; /* the dialect was chosen by what is there */
    struct jm_clock clock;
    int stamping[2]; /* keeps the kernel stamping */
    int64_t t0;      /* start, of the schedule */

    struct jm_worker **worker;
    int workers;
    pthread_mutex_t lock; /* with `changed`: waits of the caller's thread */
    pthread_cond_t changed;

    atomic_bool start, stop, abandon, quit, answered /* a 2xx head came */;
    _Atomic int64_t next_id, next_k[JM_SLICES_MOST];
    _Atomic int64_t started, finished, ok, failed, in_flight, tokens, known, uncounted, resent, renewed,
        unsent, events, shared;
    _Atomic int64_t unsent_bare; /* of the unsent: counted, but not in the record */
    _Atomic int64_t cancelled;   /* by plan */
    _Atomic int64_t talks_cut;   /* conversations that ended before their last turn */
    _Atomic int64_t refused;     /* answers that say "never": refused, TLS, 401, 404, other 4xx */
    _Atomic int64_t cold;        /* workers that are not warm yet */
    _Atomic int64_t osl_right, osl_wrong, isl_right, isl_wrong, isl_cut;
    _Atomic int64_t bundled, loads,
        load_most_ns;      /* requests that loaded the model; the longest time of one */
    char first_error[256]; /* under lock */
    bool begun;
};

/* slot.c */
struct jm_slot *jm_slot_new(struct jm_worker *w);
void jm_slot_free(struct jm_slot *s);
bool jm_slot_open(
    struct jm_slot *s); /* begins to connect; false when that is impossible at once (then words are set) */
void jm_slot_begin(struct jm_slot *s, struct jm_made *m); /* takes the item, swaps the prompts' memory */
void jm_slot_cancel(struct jm_slot *s, int64_t now);      /* by plan */
void jm_slot_check(struct jm_slot *s, int64_t now);       /* limits of time */
void jm_slot_abandon(struct jm_slot *s, const char *words);
/* worker.c */
int jm_worker_new(struct jm_load *l, int index, struct jm_worker **out, struct jm_err *err);
void jm_worker_free(struct jm_worker *w); /* its thread has ended */
void *jm_worker_run(void *self);
/* A slot is free again: the next request, if there is one. ok: whether the last one went well. */
void jm_worker_next(struct jm_worker *w, struct jm_slot *s, bool ok);
void jm_worker_warm(struct jm_worker *w);            /* opens more of the connections that the start needs */
void jm_worker_publish(struct jm_worker *w);         /* counts that other threads read */
struct jm_slot *jm_worker_slot(struct jm_worker *w); /* a free one for an open request; NULL: none */
bool jm_worker_has_room(const struct jm_worker *w);
void jm_worker_idle(struct jm_worker *w, struct jm_slot *s);
/* driver.c */
void jm_load_deliver(struct jm_load *l, struct jm_worker *w, struct jm_call *c, struct jm_span prompt);
void jm_load_changed(struct jm_load *l);

#endif
