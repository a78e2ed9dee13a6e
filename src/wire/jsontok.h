/* SPDX-License-Identifier: Apache-2.0 */
/* A pull tokenizer for JSON (RFC 8259) that never allocates: for the timed path, and for foreign files too
 * large for a document in memory. It checks the whole grammar. What Python's json module writes beyond it
 * (NaN, Infinity, -Infinity) is accepted and flagged, because benchmark tools write it.
 *
 * Strings are handed out as they stand in the text; jm_json_unescape gives their bytes. Bytes of strings are
 * not checked for UTF-8 unless asked, since engines send broken UTF-8 and a client that measures must go on.
 */
#ifndef JM_WIRE_JSONTOK_H
#define JM_WIRE_JSONTOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

enum jm_jtype {
    JM_J_END, /* the document is complete and only blanks follow */
    JM_J_OBJECT,
    JM_J_OBJECT_END,
    JM_J_ARRAY,
    JM_J_ARRAY_END,
    JM_J_KEY,
    JM_J_STRING,
    JM_J_NUMBER,
    JM_J_TRUE,
    JM_J_FALSE,
    JM_J_NULL
};

struct jm_jtoken {
    enum jm_jtype type;
    struct jm_span raw; /* text: a string or key without its quotes, a number as written; of a skipped or
                           scanned object or array: all of it, brackets included */
    bool escaped;       /* raw of a string or key holds backslashes */
    bool nonfinite;     /* a number that is NaN, Infinity or -Infinity */
    int64_t offset;     /* of its first byte in the document */
};

#define JM_JSONTOK_DEPTH 512 /* the deepest nesting that can be asked for */

struct jm_jsontok {
    struct jm_span in;
    size_t at;
    int64_t base; /* bytes of the document before in */
    int depth, most_depth;
    int expect;
    bool partial, utf8;
    unsigned char kinds[JM_JSONTOK_DEPTH / 8]; /* per level: 1 object, 0 array */
};

/* most_depth 0: 64. */
void jm_jsontok_init(struct jm_jsontok *t, struct jm_span in, int most_depth);
/* The next token, or JM_EPARSE (err names the byte offset), JM_ELIMIT (too deep), or, for a document that is
 * fed piecewise (t->partial), JM_EAGAIN when the bytes end inside a token. */
int jm_jsontok_next(struct jm_jsontok *t, struct jm_jtoken *out, struct jm_err *err);
/* Piecewise: the bytes not yet used (begin the next piece with them), then the next piece. Clear partial with
 * the last one. Tokens handed out before point into the earlier piece. */
struct jm_span jm_jsontok_rest(const struct jm_jsontok *t);
void jm_jsontok_feed(struct jm_jsontok *t, struct jm_span in);
/* After JM_J_OBJECT or JM_J_ARRAY: goes past its end; v->raw becomes its whole text. Does nothing on other
 * tokens. Not for documents fed piecewise. */
int jm_jsontok_skip(struct jm_jsontok *t, struct jm_jtoken *v, struct jm_err *err);

/* Numbers. JM_EPARSE when the token is no number, JM_ERANGE when it does not fit or is no whole number (i64,
 * u64). 1.0 and 1e3 are whole. NaN and infinities are ERANGE as integers and themselves as double. */
int jm_jtoken_i64(const struct jm_jtoken *v, int64_t *out);
int jm_jtoken_u64(const struct jm_jtoken *v, uint64_t *out);
int jm_jtoken_double(const struct jm_jtoken *v, double *out);
/* Bytes of a string. Escapes become UTF-8, surrogate pairs one character, a lone surrogate U+FFFD. Writes at
 * most cap bytes (whole characters, no NUL added) and returns how many it would take; raw.n is always enough.
 */
size_t jm_json_unescape(struct jm_span raw, char *buf, size_t cap);
/* Compares a string or key with text. */
bool jm_jtoken_is(const struct jm_jtoken *v, const char *text);

/* --- looking for a few members
 * --------------------------------------------------------------------------------- Paths:
 * "usage.prompt_tokens", "choices[].delta.content" ([] is any item), "[].x". Compiled once, read-only
 * afterwards, so that threads may share it. */
#define JM_JSONSCAN_PATHS    32
#define JM_JSONSCAN_SEGMENTS 8
#define JM_JSONSCAN_NODES    160
struct jm_jsonscan { /* the paths as a tree: equal beginnings are one */
    size_t n, nodes;
    struct jm_jsonscan_node {
        struct jm_span seg;   /* p == NULL: any item of an array */
        uint32_t end;         /* paths that end here */
        uint16_t child, next; /* first part below, next one beside it; 0: none */
    } node[JM_JSONSCAN_NODES];
};
struct jm_jsonfound {
    struct jm_jtoken v; /* the last match */
    unsigned hits;      /* 0: the document has no such member */
};
/* The texts are borrowed. JM_EINVAL when a path is malformed or there are too many. */
int jm_jsonscan_init(struct jm_jsonscan *s, const char *const *paths, size_t n, struct jm_err *err);
/* Reads one whole document and fills found[0..n). A match that is an object or array has its whole text as
 * raw. */
int jm_jsonscan_run(const struct jm_jsonscan *s, struct jm_span doc, struct jm_jsonfound *found,
                    struct jm_err *err);

#endif
