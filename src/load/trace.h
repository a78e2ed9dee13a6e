/* SPDX-License-Identifier: Apache-2.0 */
/* Traces and data sets of requests, read row by row with bounded memory. A format is one file and one row in
 * trace_format.c; the format is found by the first bytes of the file. Errors name the file and the line.
 *
 * Times are ns after the trace's earliest one. A file whose times are out of order is read through an index
 * of 16 bytes a row; all others in one stream. */
#ifndef JM_LOAD_TRACE_H
#define JM_LOAD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct jm_trace_turn {
    struct jm_span text;  /* of the user, decoded */
    int64_t answer_bytes; /* of the answer that followed, -1: none */
};

struct jm_trace_row {
    int64_t t;            /* as the file says, in ns since its own zero; -1: the format has no times */
    int64_t isl, osl;     /* tokens; -1: not said */
    int64_t session;      /* -1 none */
    int64_t images;       /* that go with the prompt; they are not sent */
    const int64_t *block; /* hashes of the prompt's blocks: equal ids are equal text; NULL: none */
    size_t blocks;
    int block_tokens;
    const struct jm_trace_turn *turn; /* texts; NULL: the prompt has to be made up */
    size_t turns;
};

struct jm_trace_opts {
    const char *format;  /* NULL or "auto": by content */
    int64_t from;        /* ns: rows before are left out */
    int64_t most_tokens; /* of prompt and answer together, -1: no limit */
    int oversize;        /* enum jm_oversize: what becomes of longer ones */
    size_t line_most;    /* longest line or document, bytes; 0: 16 MiB */
    int64_t default_osl; /* where the file does not say, -1: not */
};

/* What a whole file holds; found by reading it once before anything is sent. */
struct jm_trace_facts {
    char format[24], sha256[65];
    int64_t bytes, rows; /* rows that are sent */
    int64_t failed;      /* rows without an answer in the original (0 output tokens): left out */
    int64_t oversize;    /* rows that were clipped or left out */
    int64_t reordered;   /* rows whose time is before that of a row above them */
    int64_t before;      /* rows left out by `from` */
    int64_t images;      /* rows with images */
    int64_t first, span; /* time that the schedule begins at (of the earliest row, or `from` after it), and
                          * the time from there to the latest, ns; span -1: no times */
    int64_t most_isl, most_osl;
    double mean_isl, mean_osl;
    bool sessions, blocks, texts;
    int64_t most_turns;
};

struct jm_trace;

/* Reads the whole file once, so that what is wrong with it is known before the load begins. */
int jm_trace_open(const char *path, const struct jm_trace_opts *o, struct jm_trace **out, struct jm_err *err);
const struct jm_trace_facts *jm_trace_facts(const struct jm_trace *t);
/* A second reader of the same file (each thread has one); shares the index. Free it before the first. */
int jm_trace_dup(const struct jm_trace *t, struct jm_trace **out, struct jm_err *err);
/* Row number k of those that are sent, in order of time; beyond the last from the beginning again. What row
 * points to is valid until the next call. The next row is cheap, any other is found by reading on. */
int jm_trace_at(struct jm_trace *t, int64_t k, struct jm_trace_row *row, struct jm_err *err);
void jm_trace_free(struct jm_trace *t);
/* Tokens of an answer of which only the text is known: 4 bytes each, at least 1; -1 without an answer. */
int64_t jm_trace_answer_tokens(int64_t bytes);
/* "mooncake|azure|..." */
const char *jm_trace_formats(void);

/* --- parts: one format. Parsers are pure: bytes to a row. */
#define JM_TRACE_BLOCKS 65536 /* most block ids of a row */
#define JM_TRACE_TURNS  4096

struct jm_trace_parse { /* memory of a reader */
    int64_t *block;
    size_t blocks_cap;
    struct jm_trace_turn *turn;
    size_t turns_cap;
    char *text; /* decoded texts */
    size_t text_cap;
    int column[8]; /* csv: where the columns are, -1: not there */
    char sep;
    int64_t zero; /* of times that are dates */
};

struct jm_trace_format {
    const char *name, *what;
    bool json_array; /* one document of objects instead of lines */
    bool header;     /* the first line names the columns */
    /* Could it be this one? line: the first line, or the first object. */
    bool (*is)(struct jm_span line);
    int (*head)(struct jm_trace_parse *p, struct jm_span line, struct jm_err *err);
    /* 1: a row, 0: nothing to send (failed in the original), or JM_EPARSE with what is wrong and what to do
     */
    int (*row)(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *out, struct jm_err *err);
};
extern const struct jm_trace_format jm_trace_mooncake, jm_trace_bailian, jm_trace_weka, jm_trace_timed,
    jm_trace_azure, jm_trace_burstgpt, jm_trace_csv, jm_trace_sharegpt;
const struct jm_trace_format *jm_trace_format_find(const char *name);
const struct jm_trace_format *jm_trace_format_of(struct jm_span line);
void jm_trace_parse_release(struct jm_trace_parse *p);
/* Room for n block ids; NULL without memory. */
int64_t *jm_trace_blocks(struct jm_trace_parse *p, size_t n);

#endif
