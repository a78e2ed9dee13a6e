/* SPDX-License-Identifier: Apache-2.0 */
/* A dialect: how a request is written, and what one event or one whole answer of that API says. One file a
 * dialect, one row in dialect.c. Dialects see bytes and know neither sockets nor stamps. */
#ifndef JM_LOAD_DIALECT_H
#define JM_LOAD_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "load/dialects.h"
#include "load/load.h"
#include "wire/jsontok.h"
#include "wire/sse.h"

/* What is asked. */
struct jm_ask {
    const char *model;
    struct jm_span text;        /* prompt as text; p == NULL: one of the next two */
    struct jm_span turns;       /* prompt as a JSON array of messages */
    struct jm_span ids;         /* prompt as a JSON array of token ids */
    int64_t max_tokens;         /* -1: not sent */
    bool ignore_eos;            /* with max_tokens: exactly that many */
    enum jm_load_counts counts; /* never JM_COUNTS_AUTO */
    bool stream, probe;         /* probe: only the prompt's length matters */
    double temperature;         /* NAN: not sent */
    struct jm_span extra;       /* "{...}" whose members come last and replace ours; empty: none */
};

enum { JM_SAID_PIECES = 8, JM_SAID_TEXT = 160 };

/* What one event or document says. An end mark may come with text and counts. */
struct jm_said {
    bool bad;                /* not JSON, or not this API's */
    bool done;               /* the end mark */
    bool failed;             /* an error; text holds the server's words */
    bool choices;            /* it can hold tokens (an event of usage alone cannot) */
    bool so_far;             /* piece[0] is all text up to here, not what is new */
    char text[JM_SAID_TEXT]; /* words of an error, or why it was aborted */
    char finish[24];         /* "" none */
    uint64_t said_by, ended; /* answers (n > 1) that this event is of, and that it ends: a bit each */
    size_t pieces;           /* non-empty strings that tokens became */
    struct {
        struct jm_jtoken text; /* points into the event */
        unsigned flags;        /* JM_TE_REASONING, JM_TE_TOOL */
    } piece[JM_SAID_PIECES];
    int64_t ids; /* tokens of this event alone: their ids, or how many there are; -1: not given */
    bool usage;
    int64_t prompt, output, cached, reasoning; /* of usage, up to here; -1: absent */
    int64_t load_ns;                           /* spent on loading the model for this request, -1: not told */
};

struct jm_reader; /* a dialect with its compiled paths: made once, then shared by all threads, read-only */

enum jm_takes { JM_TAKES_TEXT = 1, JM_TAKES_TURNS = 2, JM_TAKES_IDS = 4 };
enum jm_framing { JM_FRAMES_SSE, JM_FRAMES_LINES /* NDJSON */ };

struct jm_dialect {
    unsigned takes; /* JM_TAKES_*: the prompts that can be sent */
    enum jm_framing framing;
    bool silent_end;      /* nothing marks the end but the end of the bytes */
    const char *end_mark; /* what marks the end, for a message; NULL: a finish_reason or [DONE] */
    const char *exact;    /* how just max_tokens tokens are asked for; NULL: this API cannot */
    const char *const *event, *const *whole; /* paths for jm_jsonscan, ended by NULL */
    int (*write)(const struct jm_ask *a, struct jm_str *body, struct jm_err *err);
    void (*read_event)(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out);
    void (*read_whole)(const struct jm_reader *r, struct jm_span body, struct jm_said *out);
};

struct jm_reader {
    const struct jm_dialect *d;
    const struct jm_dialect_row *row;
    struct jm_jsonscan event, whole;
};

/* A row of dialects.h. */
struct jm_dialect_row {
    const char *name;  /* "openai.chat" */
    const char *alias; /* "chat", NULL: none */
    const char *engine;
    const char *path, *path_whole; /* of a stream, of a whole answer */
    const char *summary;
    const struct jm_dialect *d;
};

const struct jm_dialect_row *jm_dialect_at(size_t i); /* NULL past the end */
/* By name or short name; NULL: none. */
const struct jm_dialect_row *jm_dialect_find(const char *name);
/* The same; JM_EINVAL with the names that are known. NULL and "auto" are no dialect. */
int jm_dialect_need(const char *name, const struct jm_dialect_row **out, struct jm_err *err);
/* Appends a row's path with {model} filled in, percent-encoded. */
int jm_dialect_path(const char *path, const char *model, struct jm_str *out, struct jm_err *err);
int jm_reader_init(struct jm_reader *r, const struct jm_dialect_row *row, struct jm_err *err);
void jm_said_init(struct jm_said *s);
/* --- parts that dialects share
 * Begins an event: true when it holds JSON to read (*data); else it was an error, [DONE] or nothing, and *out
 * says so. */
bool jm_said_event(const struct jm_sse_event *ev, struct jm_span *data, struct jm_said *out);
/* Finds the members; false, and out->bad, when this is no JSON object. Clears *out. */
bool jm_said_scan(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_jsonfound *f,
                  struct jm_said *out);
/* The same where f[error] tells of an error: false then too, with out->failed. */
bool jm_said_answer(const struct jm_jsonscan *scan, struct jm_span doc, size_t error, struct jm_jsonfound *f,
                    struct jm_said *out);
/* Notes an error with the words of the document. */
void jm_said_failed(struct jm_said *out, struct jm_span doc);
/* Adds a string that tokens became, unless it is absent, null or empty. */
void jm_said_piece(struct jm_said *out, const struct jm_jsonfound *f, unsigned flags);
/* Copies a finish reason. */
void jm_said_finish(struct jm_said *out, const struct jm_jsonfound *f);
/* A count: a whole number of at least 0, else -1. */
int64_t jm_found_count(const struct jm_jsonfound *f);
/* Items of an array, -1 when it is none. */
int64_t jm_found_items(const struct jm_jsonfound *f);
/* Present and not null. */
bool jm_found(const struct jm_jsonfound *f);
bool jm_found_true(const struct jm_jsonfound *f);
bool jm_found_is(const struct jm_jsonfound *f, const char *text);

/* The words of an error body: {"error":{"message":...}}, {"error":"..."}, {"message":...}, {"detail":...}, or
 * its first line where it is no JSON. */
void jm_error_words(struct jm_span body, char out[JM_SAID_TEXT]);
/* Copies text cut at whole characters, control characters as blanks. */
void jm_copy_words(struct jm_span s, char *out, size_t cap);

#define JM_DIALECT_DECLARE_(symbol, ...) extern const struct jm_dialect jm_dialect_##symbol;
JM_DIALECTS(JM_DIALECT_DECLARE_)

#endif
