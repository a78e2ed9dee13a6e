/* SPDX-License-Identifier: Apache-2.0 */
/* The Prometheus text format 0.0.4 and OpenMetrics 1.0, fed bytes as they come; both at once, because engines
 * mix them. What is no sample is skipped and counted, so that one broken line does not hide the rest.
 *
 * The type of a family is what # TYPE says, never what a name ends with: vllm:iteration_tokens_total is a
 * histogram. A sample belongs to the family whose TYPE stands in the text: its own name, or that name without
 * _bucket, _sum, _count, _total, _created, _info, _gsum, _gcount where the type has such samples. */
#ifndef JM_WIRE_PROM_H
#define JM_WIRE_PROM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

struct jm_prom_limits {
    size_t line_bytes;  /* 0: 256 KiB; a longer line is skipped as broken */
    size_t total_bytes; /* 0: 64 MiB; more is JM_ELIMIT */
    size_t families;    /* types remembered, 0: 16384; those beyond are untyped */
};

enum jm_prom_type {
    JM_PROM_UNTYPED,
    JM_PROM_COUNTER,
    JM_PROM_GAUGE,
    JM_PROM_HISTOGRAM,
    JM_PROM_GAUGE_HISTOGRAM,
    JM_PROM_SUMMARY,
    JM_PROM_INFO,
    JM_PROM_STATESET
};

/* Which sample of its family it is. */
enum jm_prom_part {
    JM_PROM_PLAIN,   /* the value itself (of a counter too, with or without _total) */
    JM_PROM_BUCKET,  /* cumulative, label le */
    JM_PROM_SUM,     /* of a histogram or summary */
    JM_PROM_COUNT,   /* of a histogram or summary */
    JM_PROM_CREATED, /* Unix time of its birth: of counters, histograms, summaries */
    JM_PROM_QUANTILE /* of a summary, label quantile */
};

#define JM_PROM_LABELS 64 /* a sample with more is broken */

struct jm_prom_label {
    struct jm_span name, value; /* value with its escapes */
    bool escaped;
};

/* Spans point into the parser or into the bytes given: use them before the next call. */
struct jm_prom_sample {
    struct jm_span name;   /* as written: "vllm:request_queue_time_seconds_bucket" */
    struct jm_span family; /* "vllm:request_queue_time_seconds" */
    enum jm_prom_type type;
    enum jm_prom_part part;
    struct jm_prom_label label[JM_PROM_LABELS];
    size_t n_labels;
    double value; /* NAN, INFINITY as written */
    bool has_time;
    double time; /* as written: ms in 0.0.4, s in OpenMetrics */
    bool exemplar;
    struct jm_span line; /* the whole line without its end */
};

struct jm_prom_family {
    size_t at, len; /* of its name in names */
    enum jm_prom_type type;
};

struct jm_prom {
    /* what was met */
    uint64_t samples, bad_lines, comments, types;
    uint64_t first_bad; /* number of the first broken line, 0: none */
    bool eof;           /* # EOF came: what follows is broken */

    struct jm_prom_limits lim;
    struct jm_str line, names;
    struct jm_prom_family *family; /* open addressing, len 0: free */
    size_t n_family, cap_family;
    uint64_t bytes, lines;
    bool skipping; /* the rest of a line that is too long */
    bool bad;
};

void jm_prom_init(struct jm_prom *p, const struct jm_prom_limits *lim); /* lim NULL: the defaults */
void jm_prom_release(struct jm_prom *p);
/* Takes bytes off *in: 1 and a sample, 0 when all bytes are taken, or JM_ELIMIT, JM_ENOMEM, after which the
 * parser is of no more use. last: no bytes come after these, so a line without an end counts. */
int jm_prom_next(struct jm_prom *p, struct jm_span *in, bool last, struct jm_prom_sample *out,
                 struct jm_err *err);
/* The label's value as written, or false. */
bool jm_prom_label(const struct jm_prom_sample *s, const char *name, struct jm_span *value);
/* Writes the value without its escapes; at most cap bytes, no NUL. Returns what it would take. */
size_t jm_prom_unescape(struct jm_span raw, char *buf, size_t cap);
/* The value as written, whose digits a double may not hold. */
struct jm_span jm_prom_value_text(const struct jm_prom_sample *s);
/* A number as both formats write it: also +Inf, -Inf, NaN. JM_EPARSE. */
int jm_prom_number(struct jm_span s, double *out);

#endif
