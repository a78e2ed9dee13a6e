/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator: keeps the planned load on an endpoint, in threads of its own, and hands every finished
 * request with all its stamps and token events to a sink. It knows nothing of windows and energy.
 *
 * Open-loop latency counts from the scheduled time, so coordinated omission is impossible by construction. */
#ifndef JM_LOAD_LOAD_H
#define JM_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "load/curl.h"
#include "model/request.h"

enum jm_load_shape { JM_LOAD_CLOSED /* concurrency */, JM_LOAD_POISSON /* rate */ };

struct jm_plan;

/* How the tokens of each event are counted, where the engine can tell: by the usage at the end alone, by a
 * running usage in every event, or by token ids in every event. AUTO: running usage where the engine is known
 * to give it, which llama.cpp does in a way of its own (TIMINGS). */
enum jm_load_counts {
    JM_COUNTS_AUTO,
    JM_COUNTS_USAGE,
    JM_COUNTS_CONTINUOUS,
    JM_COUNTS_IDS,
    JM_COUNTS_TIMINGS
};

struct jm_load_cfg {
    const char *url; /* "http://host:8000", with or without /v1 */
    const char *api; /* a dialect's name ("openai.chat", "chat", ...); NULL or "auto": as the engine speaks */
    const char *model;          /* NULL: the first of /v1/models */
    const char *api_key;        /* NULL: none */
    const struct jm_plan *plan; /* load/plan.h: slices with shapes, traces, sessions; NULL: one slice from
                                   shape, rate, concurrency, isl, osl, prompts_path and shared_prompt below */
    enum jm_load_shape shape;
    int concurrency; /* closed: requests in flight; open (or with a plan): the most open-loop requests in
                        flight (0: no limit) */
    double rate;     /* open: requests/s */
    uint64_t seed;
    int isl, osl;             /* synthetic prompts: tokens asked for */
    const char *prompts_path; /* JSONL instead: {"prompt": ...} or {"messages": [...]}, optional "max_tokens",
                                 "slice" */
    bool shared_prompt;       /* synthetic: every request sends the same prompt, so that prefix caches hit */
    bool ignore_eos;
    enum jm_load_counts counts;
    bool whole;             /* answers that do not stream: no token has a time of its own */
    bool prompt_ids;        /* synthetic prompts as token ids, where the API takes them */
    double temperature;     /* NAN: not sent */
    const char *extra_json; /* object merged into each body; NULL: none */
    int64_t connect_ns, header_ns, stall_ns, total_ns; /* limits of a request; 0: 10 s, 120 s, 60 s, 600 s */
    int threads;                                       /* 0: chosen */
    const char *ca_file;                               /* https: NULL: the system's */
    bool insecure;         /* https without verification; goes into the evidence */
    const char *transport; /* NULL or "plain": own sockets; "curl": HTTP/2, proxies, compressed answers */
    const char
        *proxy; /* curl: "http://[USER:PASSWORD@]HOST:PORT"; NULL: none, whatever the environment says */
    enum jm_load_http http; /* curl */
    bool compressed;        /* curl: asks for compressed answers */
    bool keep_text;
    bool keep_behind;             /* keep with each token event how late it was read */
    const struct jm_endpoint *at; /* what jm_load_probe said of the URL; NULL: it is asked. Not kept. */
    int64_t max_requests;         /* 0: no limit */
    int64_t first_id;             /* id of the first request; 0: 1. Above 1 prompts are new ones too */
    const struct jm_log *log;
};

struct jm_load_sink {
    void *self;
    /* Called from load threads, one at a time. prompt and output are empty unless keep_text. */
    void (*request)(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                    struct jm_span prompt, struct jm_span output);
};

struct jm_load_live {
    int64_t started, finished, ok, failed, in_flight,
        tokens;    /* tokens: events or counted, for progress only */
    int64_t known; /* output tokens that the server counted: as they come where it says so, else at the end */
    int64_t aborted;                 /* of `failed`: cancelled by the plan */
    bool over;                       /* everything planned was sent, and nothing is under way */
    int64_t uncounted;               /* successful requests whose tokens nobody counted */
    double ttft_p50_ms, ttft_p99_ms; /* scheduled → first token, of the last 10 s; NAN: none */
    double lag_p99_ms;               /* scheduled → sent, of the last 10 s; NAN: none */
    double cpu;                      /* share of one core used by the load threads */
};

struct jm_load;

/* What is at the endpoint: filled by jm_load_probe. */
struct jm_endpoint {
    char host[128];
    int port;
    bool tls, local;  /* local: an address of this machine */
    char model[256];  /* first of /v1/models, "" where the list cannot be had */
    char server[128]; /* Server header */
    char engine[64];  /* "vllm 0.9", "llama.cpp b4748", "joulemark-sim", "" unknown */
    char kind[16];    /* "vllm", "sglang", "tgi", "triton", "trtllm", "llamacpp", "ollama", "lmstudio", "nim",
                         "dynamo", "" unknown */
    char version[40]; /* "" unknown */
    char dialect[24]; /* what "auto" means here */
    char tokenizer[16];    /* the member in which /tokenize takes the text, "" no such path or unknown */
    char metrics_path[64]; /* where this kind of engine tells its metrics; ":8002/metrics": on another port;
                              "" none or unknown */
    bool counts;           /* tells on request how many tokens each event brought */
    bool simulated;
    int64_t pid;       /* process that listens (local, found through /proc), -1: not found */
    char pid_why[160]; /* why not */
    int max_model_len; /* -1 unknown */
};

/* Asks the endpoint who it is. Errors name the cause and what to do (refused, 401, no such path, TLS). */
int jm_load_probe(const struct jm_load_cfg *cfg, const char *proc_root, struct jm_endpoint *out,
                  struct jm_err *err);

/* The process and all its descendants (an engine's workers hold the GPUs, its listener may not). Writes at
 * most cap ids, pid first, and returns how many. proc_root NULL: /proc. */
size_t jm_load_process_tree(const char *proc_root, int64_t pid, int64_t *out, size_t cap);

/* Prepares prompts and opens connections before anything is measured. */
int jm_load_new(const struct jm_load_cfg *cfg, const struct jm_load_sink *sink, struct jm_load **out,
                struct jm_err *err);
int jm_load_start(struct jm_load *l, struct jm_err *err);
void jm_load_live(struct jm_load *l, struct jm_load_live *out);
/* No new requests from now on; those in flight go on. */
void jm_load_stop(struct jm_load *l);
/* Waits until nothing is in flight or until the time is up; what is left is then ended as JM_END_UNFINISHED.
 */
int jm_load_drain(struct jm_load *l, int64_t timeout_ns);
void jm_load_free(struct jm_load *l);
/* Facts for the run's environment (docs/load.md lists them): transport, stamp source, seed, prompt set hash,
 * synthetic or not, how well the client kept up. Calls put for each; best after jm_load_drain. */
void jm_load_facts(const struct jm_load *l, void (*put)(void *self, const char *key, const char *value),
                   void *self);

#endif
