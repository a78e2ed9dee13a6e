/* SPDX-License-Identifier: Apache-2.0 */
/* What one request measures by each definition, from its stamps and its token events: ours and those of other
 * tools (docs/definitions.md). Pure; each has a row in the catalogue. */
#ifndef JM_COMPUTE_DEFS_H
#define JM_COMPUTE_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/report.h"
#include "model/request.h"

/* A growing list of numbers. */
struct jm_samples {
    double *v;
    size_t n, cap;
};
int jm_samples_add(struct jm_samples *s, double v);   /* NAN is no sample; JM_ENOMEM */
struct jm_dist jm_samples_dist(struct jm_samples *s); /* sorts */

/* One value a request. "sent" stands for when the request went out, "message" for any stream event but the
 * end mark, "chunk" for an event with a choice in it. */
enum jm_lat {
    JM_LAT_TTFT,
    JM_LAT_TTFT_SENT,
    JM_LAT_TTFT_CHUNK, /* first chunk, role only or not */
    JM_LAT_TTFT_TEXT,  /* first text or reasoning: a tool call does not count */
    JM_LAT_TTFO,
    JM_LAT_TTFO_SENT,
    JM_LAT_TTST,
    JM_LAT_TPOT_EXCL,
    JM_LAT_TPOT_INCL,
    JM_LAT_TPOT_CHUNK,   /* first to last chunk */
    JM_LAT_TPOT_MESSAGE, /* first chunk to last message */
    JM_LAT_TPOT_DONE,    /* first text to the end mark */
    JM_LAT_TPOT_VISIBLE, /* first to last visible text */
    JM_LAT_TPOT_NORMALIZED,
    JM_LAT_ITL_TOKEN_MEAN,
    JM_LAT_ITL_INCL_TTFT,
    JM_LAT_E2E,
    JM_LAT_E2E_SENT,
    JM_LAT_E2E_CHUNK,
    JM_LAT_E2E_MESSAGE,
    JM_LAT_E2E_DONE,
    JM_LAT_E2E_CLOSED,
    JM_LAT_QUEUE,
    JM_LAT_QUEUE_ADMITTED,
    JM_LAT_TOKENS_PER_CHUNK,
    JM_LAT_PREFILL_RATE,
    JM_LAT_RATE_USER,
    JM_LAT_RATE_REQUEST,
    JM_LAT_COUNT
};
extern const char *const jm_lat_ids[JM_LAT_COUNT]; /* catalogue ids */

/* Seconds (or tokens/s, tokens/chunk); NAN: does not exist. n is the count of output tokens that it rests on,
 * negative: nobody counted. ev may be NULL: then what needs the events does not exist. */
double jm_request_measure(const struct jm_request *q, const struct jm_token_event *ev, size_t n_ev,
                          enum jm_lat which, int64_t n);
/* By the server's count and without events. */
double jm_request_latency(const struct jm_request *q, enum jm_lat which);
/* When it went out: sent, else when a slot was free, else when it was scheduled; -1: never. */
int64_t jm_request_start(const struct jm_request *q);
int64_t jm_request_end(const struct jm_request *q); /* as the client saw it */

/* What the events of a request add up to. */
struct jm_event_sums {
    int64_t from, to;     /* first and last stamp, in whatever order the events are */
    uint64_t tokens;      /* as the events say */
    size_t known, single; /* say it; say one */
    size_t reasoning;
};
struct jm_event_sums jm_event_sums(const struct jm_token_event *ev, size_t n); /* n > 0 */

/* Gaps inside a request, many values each. */
enum jm_gap {
    JM_GAP_CHUNK,        /* between events that carry tokens */
    JM_GAP_ANY_CHUNK,    /* between chunks, a role or finish_reason alone too */
    JM_GAP_INTERPOLATED, /* tokens spread evenly from the first to the last */
    JM_GAP_ZERO,         /* tokens of one event: 0 between them */
    JM_GAP_COUNT
};
extern const char *const jm_gap_ids[JM_GAP_COUNT];
/* Calls put(self, ns, how often) for each gap of the kind; a non-zero answer ends it and is passed on.
 * JM_EABSENT: this request does not say (tokens an event unknown, no events). visible: only events with text
 * that is neither reasoning nor a tool call. */
typedef int (*jm_gap_fn)(void *self, double ns, int64_t times);
int jm_request_gaps(const struct jm_request *q, const struct jm_token_event *ev, size_t n_ev,
                    enum jm_gap which, bool visible, int64_t n, jm_gap_fn put, void *self);
/* The part of JM_GAP_ANY_CHUNK that JM_GAP_CHUNK does not have: before the first and after the last event. */
int jm_request_end_gaps(const struct jm_request *q, const struct jm_token_event *ev, size_t n_ev,
                        jm_gap_fn put, void *self);
/* Log-linear histogram for what is too many to keep: 64 sub-buckets an octave from 1.024 us, 1.6 % wide;
 * quantiles are interpolated inside them. Zeros are counted apart. */
#define JM_LOGHIST_SUB 64
#define JM_LOGHIST_N   (40 * JM_LOGHIST_SUB)
struct jm_loghist {
    uint64_t count[JM_LOGHIST_N];
    uint64_t zeros; /* and what is below: clocks that went back */
    uint64_t total; /* with the zeros */
};
/* Bucket 0 holds all below 2^10 ns; then JM_LOGHIST_SUB equal parts of each octave: the exponent of a double
 * and the six bits behind it. */
static inline void jm_loghist_add(struct jm_loghist *h, double ns, uint64_t times)
{
    uint64_t bits, i = 0;
    h->total += times;
    if (!(ns > 0)) {
        h->zeros += times;
        return;
    }
    if (ns >= 1024) {
        memcpy(&bits, &ns, sizeof bits);
        i = (bits >> 46) - (1023 + 10) * JM_LOGHIST_SUB;
        i = i < JM_LOGHIST_N ? i : JM_LOGHIST_N - 1;
    }
    h->count[i] += times;
}
double jm_loghist_edge(size_t i); /* lower edge of a bucket, s */
double jm_loghist_quantile(const struct jm_loghist *h, double q);

/* From when to when: the denominators that tools divide by. -1: no such request. */
struct jm_spans {
    int64_t first_scheduled, last_end; /* of all */
    int64_t first_sent;                /* of all */
    int64_t ok_sent, ok_token;         /* of the successful ones: first sent, last token */
    int64_t ok, any, good;             /* counts; good: inside the contract */
    double output;                     /* tokens of the successful ones */
    bool unknown;                      /* some of them were not counted */
};
void jm_spans_init(struct jm_spans *s);
void jm_spans_add(struct jm_spans *s, const struct jm_request *q, bool good);
double jm_spans_wall(const struct jm_spans *s);    /* first scheduled to last end, s; 0: none */
double jm_spans_all(const struct jm_spans *s);     /* first sent to last end */
double jm_spans_success(const struct jm_spans *s); /* first sent to last token of the successful ones */

#endif
