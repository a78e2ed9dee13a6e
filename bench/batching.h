/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous batching in virtual time, with the energy of every request known: what an allocation of measured
 * energy is held against. Uses nothing of src/, so that the truth is not our own code.
 *
 * An 8B model on one H100-like board: requests arrive as Poisson, prompts and answers log-normal (medians 270
 * and 181 tokens); an iteration takes one token of every running request and fills up to `chunk` tokens with
 * prompts in their order. Its energy is idle power x time + a step + prompt tokens + decode tokens + context
 * that is read. The first two belong to all requests in the iteration alike: a convention.
 *
 * The truth is not of the form that a linear model assumes, unless `linear`: decode takes n^0.88, prompt
 * tokens are a fifth cheaper beside decode tokens and cheaper in large chunks, everything grows by 6 % over
 * the run as the board warms up, and a cap of 700 W stretches time. */
#ifndef BENCH_BATCHING_H
#define BENCH_BATCHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batching_opts {
    uint64_t seed;
    double seconds, rate; /* of arrivals; requests in flight are followed to their end */
    double idle_s;        /* before the first and after the last */
    bool linear;
    bool pools;           /* prefill and decode on boards of their own */
    int gpus;             /* boards that share the work of a pool, each with its own counter; 0: 1 */
    double counter_s;     /* period of the counters; 0: 0.1 */
    double jitter_s;      /* of the client's stamps, standard deviation */
    double scrape_s;      /* period of the engine's texts; 0: 1 */
    double cached_share;  /* of the requests, whose prompt's first half is cached */
    double abort_share;   /* of the requests, cancelled at half of their answer */
    double isl, osl;      /* fixed lengths; 0: drawn */
    double bursts_s;      /* of prefill and of decode alone before the load; 0: none */
    int max_batch, chunk; /* 0: 64, 2048 */
};

enum batching_end { BATCHING_OK, BATCHING_ABORTED };

struct batching_request {
    double sent, scheduled, first, last; /* s; sent, first and last as the client stamps them */
    int prompt, cached, output;          /* tokens; output: that came */
    enum batching_end end;
    size_t event, events;                     /* stamps of the tokens, the first one included */
    double joules, prefill;                   /* truth: all of it, and what of it is prefill */
    double marginal_prefill, marginal_decode; /* truth: without idle and steps */
    bool burst;
};

struct batching_scrape { /* counters of the engine */
    double t, steps, queue_s, prefill_s, prompt, generated, ended, running, waiting;
};

struct batching_counter {
    int pool;
    double phase;
    double *t;   /* of its refreshes */
    int64_t *mj; /* as it stands from then on */
    size_t n, cap;
    double joules; /* exact */
};

struct batching {
    struct batching_request *request;
    size_t n_requests, cap_requests;
    double *event;
    size_t n_events, cap_events;
    struct batching_scrape *scrape;
    size_t n_scrapes, cap_scrapes;
    struct batching_counter *counter;
    size_t n_counters;
    double from, to;       /* of the load: its first arrival could be at `from`, the last at `to` */
    double end;            /* of everything */
    double burst[2][2];    /* from, to: prefill, decode; 0, 0: none */
    double idle_w[2];      /* by pool, at the beginning */
    double pool_joules[2]; /* over everything */
    double idle_joules;    /* with no request in the engine (or in the pool) */
};

/* false: out of memory. Release in any case. */
bool batching_run(const struct batching_opts *o, struct batching *b);
void batching_release(struct batching *b);

#endif
