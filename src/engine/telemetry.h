/* SPDX-License-Identifier: Apache-2.0 */
/* The serving engine's own telemetry: what an engine's metrics text says, in one vocabulary. Pure: the
 * scraper that fetches the text lives in record, the figures of a window in compute.
 *
 * A dialect is one file and one line in jm_engine_dialects: it maps families to quantities. Facts and their
 * sources: docs/engine-metrics.md. Rules: the type of a family is what # TYPE says; replicas (other labels)
 * are added up, ranks of one replica (tp_rank, pp_rank, ...) are not; where a quantity has several families
 * the one of the lowest rank that is there counts; gauges that reset on a scrape are never read. */
#ifndef JM_ENGINE_TELEMETRY_H
#define JM_ENGINE_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

enum jm_eq {
    /* counters: what is taken is how far they move */
    JM_EQ_PROMPT,    /* prompt tokens; whether cached ones are in it is the dialect's prompt_has_cached */
    JM_EQ_CACHED,    /* prompt tokens that came from a cache */
    JM_EQ_GEN_STEP,  /* generated tokens, counted as they are made: aborted ones are in it */
    JM_EQ_GEN_FIRST, /* first tokens, where GEN_STEP has only those of decode steps */
    JM_EQ_GEN_END,   /* generated tokens, counted when a request ends */
    JM_EQ_REQ_ALL,   /* requests ended, whatever their end */
    JM_EQ_REQ_OK,    /* ended well (stop, length), where the engine does not say which */
    JM_EQ_REQ_STOP,
    JM_EQ_REQ_LENGTH,
    JM_EQ_REQ_ABORT,
    JM_EQ_REQ_ERROR,
    JM_EQ_PREEMPT,    /* preemptions, retractions: work that is done again */
    JM_EQ_PREFIX_ASK, /* tokens looked for in the prefix cache */
    JM_EQ_PREFIX_HIT, /* ... and found */
    JM_EQ_PREFILL_S,  /* seconds, added up over requests */
    JM_EQ_DECODE_S,
    JM_EQ_QUEUE_S,
    JM_EQ_STEPS,
    JM_EQ_DRAFT,    /* speculative tokens proposed */
    JM_EQ_ACCEPTED, /* ... and accepted */
    JM_EQ_ENERGY,   /* J, as the engine reads its GPUs */
    JM_EQ_CPU_BUSY, /* CPU seconds of the host */
    JM_EQ_CPU_ALL,
    JM_EQ_PROCESS, /* CPU seconds of the busiest of the endpoint's processes */
    JM_EQ_COUNTERS,
    /* gauges: what is taken is their value */
    JM_EQ_RUNNING = JM_EQ_COUNTERS,
    JM_EQ_WAITING,
    JM_EQ_SWAPPED,
    JM_EQ_KV_USE,  /* 0 to 1 */
    JM_EQ_KV_USED, /* blocks, where KV_USE is not given */
    JM_EQ_KV_MAX,
    JM_EQ_BATCH,
    JM_EQ_SLEEPING,
    JM_EQ_SLOT,   /* tokens generated so far by one running task (llama.cpp /slots) */
    JM_EQ_SLOTS,  /* slots there are: /slots answered */
    JM_EQ_GAUGES, /* past the last one */
    /* histograms */
    JM_EQ_H_TTFT = JM_EQ_GAUGES,
    JM_EQ_H_ITL,
    JM_EQ_H_E2E,
    JM_EQ_H_QUEUE,
    JM_EQ_H_PREFILL,
    JM_EQ_H_DECODE,
    JM_EQ_H_PROMPT_LEN,
    JM_EQ_H_GEN_LEN,
    JM_EQ_COUNT
};
const char *jm_eq_name(int q); /* "generation tokens, per step" */

enum jm_em_part { JM_EM_VALUE, JM_EM_SUM, JM_EM_COUNT, JM_EM_BUCKETS };

/* One family of a dialect. ':' and '_' in names are alike, because gateways rewrite one into the other. */
struct jm_engine_map {
    const char *name; /* without _sum, _count, _bucket */
    enum jm_eq q;
    enum jm_em_part part;
    const char *label; /* "mode=decode": only those series; "mode!=x": only others; NULL: all */
    double scale;      /* to seconds, tokens, joules, a share of 1; 0: 1 */
    int rank;          /* families of the lowest rank that is there count; those of one rank are added up */
    const char *note;  /* what one must know of it; NULL: nothing */
};

struct jm_engine_dialect {
    const char *name;                /* "vllm" */
    const char *title;               /* "vLLM" */
    const char *mark;                /* name that no other dialect has, or NULL */
    const char *paths;               /* where it answers, comma-separated: "/metrics" */
    const struct jm_engine_map *map; /* ends with name == NULL */
    const char *enable;              /* how it is told to show metrics, where it does not by itself; NULL */
    const char *ranks;               /* labels of copies that are not added up, comma-separated */
    double gauge_lag_s;              /* its gauges may be this old; 0: not */
    bool prompt_has_cached;          /* cached prompt tokens are in JM_EQ_PROMPT */
    bool slots;                      /* /slots says more (llama.cpp) */
    const char *const *traps;        /* sentences for the documentation; NULL at the end */
    const char *source;
};
extern const struct jm_engine_dialect *const jm_engine_dialects[];        /* NULL at the end */
const struct jm_engine_dialect *jm_engine_dialect_find(const char *name); /* NULL */
/* By the name that a probe gave ("vllm 0.9", "llama.cpp b4748"): NULL when it says nothing. */
const struct jm_engine_dialect *jm_engine_dialect_of(const char *engine);

/* ---- one text */

struct jm_engine_series {
    uint16_t map;   /* row of the dialect */
    uint64_t key;   /* of its labels without ranks and le */
    uint64_t full;  /* of all its labels */
    double le;      /* of a bucket; -INFINITY: the sum beside buckets; 0: none */
    double value;   /* scaled */
    double created; /* Unix s, NAN: not said */
};

struct jm_engine_reading {
    const struct jm_engine_dialect *dialect; /* NULL: nothing was recognised */
    struct jm_engine_series *s;              /* by map, key, le */
    size_t n, cap;
    double start_time; /* process_start_time_seconds, NAN */
    bool excerpt;      /* the text was cut down by jm_engine_excerpt: no buckets */
    char absent[200];  /* the text is a note that there was no answer, and why; "" it is one */
    uint64_t samples, bad_lines, duplicates, copies;
    bool truncated; /* more series than are kept */
};

void jm_engine_reading_init(struct jm_engine_reading *r);
void jm_engine_reading_release(struct jm_engine_reading *r);
/* Reads a text (Prometheus, OpenMetrics, TensorRT-LLM's JSON). d NULL: finds out. Any text is read: one that
 * says nothing gives a reading without dialect or series. JM_ELIMIT, JM_ENOMEM. */
int jm_engine_read(struct jm_engine_reading *r, const struct jm_engine_dialect *d, struct jm_span text,
                   struct jm_err *err);
/* The row that the quantity is read from: the lowest rank that is there; -1 none. */
int jm_engine_row(const struct jm_engine_reading *r, enum jm_eq q);
/* A gauge over the series: sum of counts (running, waiting, blocks), mean of shares; most: the largest single
 * series. NAN: not there. */
double jm_engine_gauge(const struct jm_engine_reading *r, enum jm_eq q, double *most);

/* What is worth keeping between the edges of windows: the lines that counters and gauges are read from,
 * without HELP, TYPE and buckets. Appends. */
int jm_engine_excerpt(const struct jm_engine_dialect *d, struct jm_span text, struct jm_str *out,
                      struct jm_err *err);
/* The note that is kept where no answer came. */
void jm_engine_note_absent(struct jm_str *out, const char *why);
/* llama.cpp's /slots as lines that can be read with its metrics; prompts and everything else are left out.
 * JM_EPARSE where it is not that. */
int jm_engine_slots(struct jm_span json, struct jm_str *out, struct jm_err *err);
/* Do two of these show the same tasks? Then none ended between them. */
bool jm_engine_same_tasks(struct jm_span a, struct jm_span b);
/* TensorRT-LLM's JSON of /metrics and /energy_metrics as lines. JM_EPARSE. */
int jm_engine_trtllm_json(struct jm_span json, struct jm_str *out, struct jm_err *err);

/* ---- from one text to the next */

struct jm_engine_step {
    double d[JM_EQ_COUNTERS]; /* how far they moved; since a reset where there was one (then a lower bound) */
    bool have[JM_EQ_COUNTERS];
    int resets;   /* series that began again, a restart of the process counts as one */
    bool restart; /* the process began again */
    int vanished; /* series that are gone */
    double lost;  /* tokens of tasks that ended without being counted (llama.cpp) */
    double doubt; /* tokens that may belong to either side: slots and metrics are two requests */
};
void jm_engine_step(const struct jm_engine_reading *a, const struct jm_engine_reading *b,
                    struct jm_engine_step *out);

#define JM_ENGINE_BUCKETS 128
struct jm_engine_hist {
    size_t n;
    double le[JM_ENGINE_BUCKETS];    /* upper edges; the last is INFINITY */
    double count[JM_ENGINE_BUCKETS]; /* in each bucket, not cumulative */
    double total, sum;               /* sum NAN: not given */
};
/* What came between two texts; false: not there, or a reset between them. */
bool jm_engine_hist(const struct jm_engine_reading *a, const struct jm_engine_reading *b, enum jm_eq q,
                    struct jm_engine_hist *out);
/* Quantile q, interpolated in its bucket as Prometheus does; the bucket's edges in *lo and *hi, which are all
 * that is known. NAN where it lies above the last finite edge, or there are none. */
double jm_engine_hist_quantile(const struct jm_engine_hist *h, double q, double *lo, double *hi);

#endif
