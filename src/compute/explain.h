/* SPDX-License-Identifier: Apache-2.0 */
/* What other tools would have printed of this very run, and why it is not what we print: the same requests,
 * stamps and token events through the formula of each (docs/definitions.md). Pure. */
#ifndef JM_COMPUTE_EXPLAIN_H
#define JM_COMPUTE_EXPLAIN_H

#include <math.h>

#include "compute/acc.h"
#include "compute/compute.h"

/* Where a tool takes the count of output tokens from. */
enum jm_peer_tokens {
    JM_PT_NONE,   /* the number needs none */
    JM_PT_SERVER, /* the server's usage */
    JM_PT_CLIENT, /* its own tokenizer over the text: same text, unknown tokenizer; the server's count stands
                     in */
    JM_PT_REQUESTED, /* the length that was asked for */
    JM_PT_CHUNKS     /* one a chunk */
};
enum jm_peer_set {
    JM_PS_OK,    /* ended well: an end mark, and the framing whole */
    JM_PS_CHUNK, /* one chunk under HTTP 200 is enough, whatever came after it */
    JM_PS_200,   /* HTTP 200 is enough */
    JM_PS_ALL    /* every request that ended */
};
enum jm_peer_kind {
    JM_PK_REQUEST, /* a value a request: enum jm_lat */
    JM_PK_GAP,     /* many a request: enum jm_gap */
    JM_PK_TOKENS,  /* their total */
    JM_PK_TOKEN_RATE,
    JM_PK_REQUEST_RATE,
    JM_PK_GOOD_RATE,
    JM_PK_GOOD_SHARE,
    JM_PK_RESULT, /* as our report has it */
    JM_PK_NONE    /* the tool prints no such number */
};
enum jm_peer_time { JM_PD_NONE, JM_PD_WALL, JM_PD_SPAN, JM_PD_OK_SPAN };

/* One number of one tool. Ours have no version. */
struct jm_peer_row {
    const char *tool, *version;
    const char *family; /* "tpot" */
    const char *key;    /* what the tool calls it */
    const char *metric; /* our id of that definition; NULL: none */
    enum jm_peer_kind kind;
    int which; /* enum jm_lat, enum jm_gap, or enum jm_peer_time of a rate */
    enum jm_peer_set set;
    enum jm_peer_tokens tokens;
    enum jm_quantile_kind quantile;
    const char *from, *to; /* of the clock */
    const char *why;       /* one sentence */
    bool weighted;         /* each request by its tokens */
    bool visible;          /* only events with text that is neither reasoning nor a tool call */
    bool zeros;            /* a success without the number counts as 0 in the mean */
};
extern const struct jm_peer_row jm_peer_table[]; /* ends with tool == NULL */

struct jm_family {
    const char *name, *title, *unit;
};
extern const struct jm_family jm_families[]; /* ends with name == NULL; energy is the last */

const char *jm_peer_set_text(enum jm_peer_set s);
const char *jm_peer_tokens_text(enum jm_peer_tokens t);
const char *jm_peer_quantile_text(enum jm_quantile_kind q);

struct jm_explain_row {
    const char *tool, *version, *key, *metric, *formula;
    const char *from, *to; /* the clock, or the window of an energy */
    const char *requests;  /* which set */
    const char *tokens;    /* where counts come from; NULL: needs none */
    const char *method;    /* of quantiles; NULL: it has none */
    const char *unit;      /* where it is not the family's, else NULL */
    const char *boundary;  /* of an energy, NULL otherwise */
    const char *why;
    const char *reason; /* why there is no value, NULL when there is one */
    bool ours, have;
    bool claimed;     /* the imported file states it; nothing of it was computed here */
    bool approximate; /* the server's count stands in for another tokenizer's, or is missing where a request
                         failed inside its stream */
    double mean, p50, p90, p95, p99; /* NAN: not defined. A single number is the mean alone */
    int64_t n;                       /* values, -1: does not apply */
    double numerator, denominator;
    const char *numerator_name, *denominator_name;
    double relative; /* mean over ours, NAN without one */
};

/* What a row begins with: no value. */
#define JM_EXPLAIN_NO_VALUE                                                                                  \
    .mean = NAN, .p50 = NAN, .p90 = NAN, .p95 = NAN, .p99 = NAN, .n = -1, .numerator = NAN,                  \
    .denominator = NAN, .relative = NAN

struct jm_explain {
    const char *asked, *family, *title, *unit;
    struct jm_explain_row *rows;
    size_t n;
    int windows; /* measure windows that were taken; 0: all requests, the run has none */
    double seconds;
    int64_t scheduled, ok, failed, planned; /* planned: of the failed, those that the plan gave up */
    const char *note;                       /* what is not known of this run, NULL: nothing */
};

/* `what` is a catalogue id or a family ("tpot"). Results live in the arena of r, which jm_compute made of the
 * same run. JM_EUSAGE: no such metric; the error names the nearest. */
int jm_explain(const struct jm_run *run, struct jm_report *r, const struct jm_compute_opts *o,
               const char *what, struct jm_explain **out, struct jm_err *err);
/* The family of an id or a family's own name; NULL: none. */
const struct jm_family *jm_family_of(const char *what);

/* compute/explain_names.c: the error for a name that is no metric, with the nearest one. */
int jm_explain_unknown(const char *what, struct jm_err *err);
/* compute/explain_claims.c: rows of what an imported file states itself, after x->n. cap: room for rows. */
size_t jm_explain_claimed(const struct jm_report *r, const char *family); /* how many rows at most */
void jm_explain_claims(const struct jm_report *r, struct jm_explain *x, size_t cap);
/* compute/explain_energy.c */
int jm_explain_energy(const struct jm_run *run, struct jm_report *r, struct jm_explain *x, const char *id,
                      const struct jm_spans *span, struct jm_err *err);

#endif
