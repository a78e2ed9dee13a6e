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
    struct jm_span text;  /* prompt as text; p == NULL: one of the next two */
    struct jm_span turns; /* prompt as a JSON array of messages */
    struct jm_span ids;   /* prompt as a JSON array of token ids */
    int64_t max_tokens;   /* -1: not sent */
    bool ignore_eos;      /* with max_tokens: exactly that many */
    bool stream, probe;   /* probe: only the prompt's length matters */
    double temperature;   /* NAN: not sent */
    struct jm_span extra; /* "{...}" whose members come last and replace ours; empty: none */
};

enum { JM_SAID_PIECES = 4, JM_SAID_TEXT = 160 };

/* What one event or document says. */
struct jm_said {
    bool bad;     /* not JSON, or not this API's */
    bool done;    /* the end mark */
    bool failed;  /* an error; text holds the server's words */
    bool choices; /* it has at least one choice (a usage-only event has none) */
    char text[JM_SAID_TEXT];
    char finish[24]; /* "" none */
    size_t pieces;   /* non-empty strings that tokens became */
    struct {
        struct jm_jtoken text; /* points into the event */
        unsigned flags;        /* JM_TE_REASONING, JM_TE_TOOL */
    } piece[JM_SAID_PIECES];
    int64_t ids; /* token ids in this event, -1: not given */
    bool usage;
    int64_t prompt, output, cached, reasoning; /* of usage, -1: absent */
};

struct jm_reader; /* a dialect with its compiled paths: made once, then shared by all threads, read-only */

enum jm_takes { JM_TAKES_TEXT = 1, JM_TAKES_TURNS = 2, JM_TAKES_IDS = 4 };

struct jm_dialect {
    unsigned takes;                          /* JM_TAKES_*: the prompts that can be sent */
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
/* The words of an error body: {"error":{"message":...}}, {"error":"..."}, {"message":...}, {"detail":...}, or
 * its first line where it is no JSON. */
void jm_error_words(struct jm_span body, char out[JM_SAID_TEXT]);
/* Copies text cut at whole characters, control characters as blanks. */
void jm_copy_words(struct jm_span s, char *out, size_t cap);

#define JM_DIALECT_DECLARE_(symbol, ...) extern const struct jm_dialect jm_dialect_##symbol;
JM_DIALECTS(JM_DIALECT_DECLARE_)

#endif
