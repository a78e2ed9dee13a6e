/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated engine: one thread, one epoll loop. http.c owns sockets and bytes, api.c turns requests into
 * sequences, stream.c turns tokens into events, core.c runs the steps and drives the boards, prom.c and
 * truth.c tell what happened.
 */
#ifndef SIM_ENGINE_ENGINE_H
#define SIM_ENGINE_ENGINE_H

#include "fault.h"
#include "http.h"
#include "native.h"
#include "power.h"
#include "sched.h"

#include <jansson.h>

#define SIM_MARK "joulemark-sim (SIMULATED)"

struct sim_options {
    const char *host;
    int port;            /* 0: any */
    const char *model;   /* a row of the table of models */
    const char *served;  /* name in the API; NULL: model */
    const char *api_key; /* NULL: none */
    const char *state;   /* of sim gpu; NULL: no boards */
    const char *truth;   /* NULL: none */
    const char *steps;   /* a row for each step; NULL: none */
    const char *metrics; /* in whose names: vllm, sglang, llamacpp, tgi; none */
    int gpu[64], gpus;   /* boards that are driven; gpus 0: 0 … n-1 */
    uint64_t seed;
    double speed;             /* simulated over real time */
    uint32_t stream_interval; /* tokens per event */
    uint32_t reasoning;       /* the first tokens are reasoning */
    const char *reasoning_key;
    bool utf8, cached_details, role_early;
    unsigned api;      /* SIM_API_*: the engines whose own paths there are */
    bool incremental;  /* SGLang: events have what is new, not all text so far */
    bool no_counts;    /* Triton: no inputs that ask for counts */
    double eos_median; /* tokens, of answers that end by themselves */
    uint32_t max_conns, max_records, max_answers;
    size_t max_body;
    double keep_alive_s;
    struct sim_sched_options sched; /* zeros: the model's */
    bool no_prefix_cache;
    bool workers; /* the processes on the GPUs are children, one a GPU */
    struct sim_faults faults;
};

/* vLLM's histograms, each with its own edges. */
struct sim_hist {
    const double *edge;
    unsigned n;
    uint64_t count[32]; /* count[n]: above the last edge */
    double sum;
};
enum sim_hist_id {
    SIM_H_TTFT,
    SIM_H_ITL,
    SIM_H_TPOT,
    SIM_H_E2E,
    SIM_H_QUEUE,
    SIM_H_PREFILL,
    SIM_H_DECODE,
    SIM_H_INFER,
    SIM_H_PROMPT,
    SIM_H_GENERATION,
    SIM_H_ITERATION,
    SIM_H_COMPUTED,
    SIM_H_COUNT
};

enum sim_finish { SIM_FIN_STOP, SIM_FIN_LENGTH, SIM_FIN_ABORT, SIM_FIN_ERROR, SIM_FIN_COUNT };
extern const char *const sim_finish_name[SIM_FIN_COUNT];

struct sim_request {
    struct sim_seq seq;
    struct sim_engine *e;
    struct sim_conn *conn;           /* NULL once it has left */
    struct sim_request *prev, *next; /* of all alive */
    struct sim_faults faults;
    uint64_t number;
    uint32_t due; /* its place in e->due, from 1; 0: not there */
    char id[40];
    char model[96]; /* as asked for, escaped for JSON */
    long created;
    enum sim_shape shape;
    bool chat, stream, include_usage, continuous_usage, token_ids;
    bool tell_counts, progress; /* Triton's counts, llama.cpp's progress were asked for */
    bool begun;                 /* the first event is out */
    bool stalled;               /* it says nothing more */
    uint32_t prompt_tokens;     /* as told; seq.prompt is what is computed */
    uint32_t told;              /* tokens in events so far */
    uint32_t events;
    uint64_t text_key;
    enum sim_finish finish;
    uint64_t *prefix; /* own copy */
    int32_t *prompt_ids;
    int64_t t_arrival, t_scheduled, t_first, t_last; /* CLOCK_MONOTONIC ns; 0: not yet */
};

/* What the truth keeps of a request that ended. */
struct sim_record {
    uint64_t number;
    char id[40];
    uint32_t prompt, cached, completion, told, preempted;
    enum sim_finish finish;
    int64_t t_arrival, t_scheduled, t_first, t_last, t_end;
    double joule_prefill, joule_decode, joule_shared;
};

struct sim_engine {
    struct sim_options opt;
    struct sim_model model;
    struct sim_sched sched;
    struct sim_http http;
    struct sim_power power;
    struct sim_request *live;
    uint32_t n_live;
    uint64_t numbers;
    uint32_t max_len; /* tokens of prompt and answer: what the model or the whole KV cache holds */
    char boot[17];    /* distinguishes ids of two starts */
    int64_t t_start;  /* CLOCK_MONOTONIC ns */
    double start_unix;
    int64_t step_t0, step_t1; /* of the step under way */

    uint64_t prompt_tokens, generation_tokens, cached_tokens, told_tokens, events;
    uint64_t counted_tokens, counted_prompt, counted_cached; /* of requests that ended well */
    uint64_t finished[SIM_FIN_COUNT];
    uint64_t rejected; /* answered with an error status */
    uint64_t late_steps,
        late_ns;  /* steps that could not begin when the one before ended, though there was work */
    bool follows; /* there was work left when the last step ended */
    struct sim_due {
        struct sim_request *r;
    } * due; /* have tokens to say */
    uint32_t n_due, cap_due;
    pid_t worker[64];
    FILE *steps;
    struct sim_hist hist[SIM_H_COUNT];
    struct sim_energy joule; /* of steps */
    double joule_idle;       /* of the boards between steps */
    struct sim_record *record;
    uint32_t n_records, cap_records;
    uint64_t records_dropped;
};

int64_t sim_now(void); /* CLOCK_MONOTONIC ns */

/* core.c */
int sim_engine_open(struct sim_engine *e, const struct sim_options *opt, char *why, size_t whylen);
int sim_engine_serve(struct sim_engine *e, const volatile int *stop, int stop_fd);
void sim_engine_close(struct sim_engine *e);
/* false: no memory, and r is still the caller's */
bool sim_engine_submit(struct sim_engine *e, struct sim_request *r);
/* The request is over: counted, recorded, freed. Its sequence leaves the scheduler. */
void sim_engine_finish(struct sim_engine *e, struct sim_request *r, enum sim_finish how);

/* api.c */
void sim_api_handle(struct sim_engine *e, struct sim_conn *c);
void sim_api_error(struct sim_engine *e, struct sim_conn *c, int status, const char *type,
                   const char *message);                         /* as the API of its path writes it */
void sim_api_json(struct sim_conn *c, int status, json_t *body); /* steals body */

/* stream.c: tokens became due; may finish the request (then *r is gone and it returns false) */
bool sim_stream_tokens(struct sim_engine *e, struct sim_request *r);
void sim_stream_begin(struct sim_request *r);                        /* status and headers */
void sim_stream_role(struct sim_request *r);                         /* the role chunk before any token */
void sim_stream_answer(struct sim_engine *e, struct sim_request *r); /* not streamed */

/* parts of it that native_stream.c uses */
void sim_stream_event(struct sim_request *r, const char *name, const char *json, size_t n);
void sim_stream_words(const struct sim_request *r, struct sim_buf *b, uint32_t from, uint32_t n);
void sim_stream_ids(const struct sim_request *r, struct sim_buf *b, uint32_t from, uint32_t n);
uint32_t sim_stream_counted(const struct sim_request *r); /* output tokens as they are told */
uint32_t sim_stream_reasoning(const struct sim_request *r, uint32_t tokens);
void sim_stream_document(struct sim_request *r, struct sim_buf *b); /* a whole answer; frees b */

/* prom.c */
void sim_prom_init(struct sim_engine *e);
void sim_hist_add(struct sim_hist *h, double v, uint64_t n);
void sim_prom_write(struct sim_engine *e, struct sim_buf *b);
/* prom_other.c: in the names of another engine; false: vLLM's are wanted */
bool sim_prom_other(const struct sim_engine *e, struct sim_buf *b);
bool sim_prom_known(const char *name);

/* truth.c */
void sim_truth_record(struct sim_engine *e, const struct sim_request *r);
json_t *sim_truth_json(struct sim_engine *e);
int sim_truth_write(struct sim_engine *e, const char *path, char *why, size_t whylen);

#endif
