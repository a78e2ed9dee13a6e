/* SPDX-License-Identifier: Apache-2.0 */
/* JSON. Reading documents up to 16 MiB goes through jansson, which only base/json.c sees; writing is a
 * streaming writer with stable key order onto a jm_str. */
#ifndef JM_BASE_JSON_H
#define JM_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

/* --- writer
 * ------------------------------------------------------------------------------------------------- */
struct jm_jsonw {
    struct jm_str *out;
    unsigned char stack[64]; /* per level: bit 0 object, bit 1 has members */
    int depth;
    int indent; /* 0: one line; n: n blanks a level */
    bool after_key, misuse;
};
void jm_jsonw_init(struct jm_jsonw *w, struct jm_str *out, int indent);
void jm_jsonw_object(struct jm_jsonw *w); /* { */
void jm_jsonw_array(struct jm_jsonw *w);  /* [ */
void jm_jsonw_end(struct jm_jsonw *w);    /* } or ] */
void jm_jsonw_key(struct jm_jsonw *w, const char *key);
void jm_jsonw_str(struct jm_jsonw *w, const char *s); /* NULL writes null; invalid UTF-8 becomes U+FFFD */
void jm_jsonw_span(struct jm_jsonw *w, struct jm_span s);
void jm_jsonw_i64(struct jm_jsonw *w, int64_t v);
void jm_jsonw_u64(struct jm_jsonw *w, uint64_t v);
void jm_jsonw_num(struct jm_jsonw *w,
                  double v); /* NaN and infinities write null; shortest text that reads back */
void jm_jsonw_bool(struct jm_jsonw *w, bool v);
void jm_jsonw_null(struct jm_jsonw *w);
void jm_jsonw_raw(struct jm_jsonw *w, struct jm_span json); /* already JSON */
/* key + value in one call */
void jm_jsonw_kstr(struct jm_jsonw *w, const char *key, const char *s);
void jm_jsonw_kspan(struct jm_jsonw *w, const char *key, struct jm_span s);
void jm_jsonw_ki64(struct jm_jsonw *w, const char *key, int64_t v);
void jm_jsonw_knum(struct jm_jsonw *w, const char *key, double v);
void jm_jsonw_kbool(struct jm_jsonw *w, const char *key, bool v);
/* Shortest decimal text that reads back as v, at most 32 bytes with NUL. */
int jm_json_fmt_double(char buf[32], double v);

/* --- documents (opaque jansson values; borrowed unless said)
 * ------------------------------------------------- */
struct jm_json; /* a value */
/* Parses; depth and size are limited. Free the root with jm_json_free. err names line and column. */
int jm_json_parse(struct jm_span text, struct jm_json **root, struct jm_err *err);
void jm_json_free(struct jm_json *root);
const struct jm_json *jm_json_get(const struct jm_json *o,
                                  const char *key); /* NULL when absent or no object */
const struct jm_json *jm_json_path(const struct jm_json *o, const char *dotted); /* "usage.prompt_tokens" */
const struct jm_json *jm_json_at(const struct jm_json *a, size_t i);
size_t jm_json_len(const struct jm_json *v); /* array items or object members; 0 otherwise */
bool jm_json_is_object(const struct jm_json *v);
bool jm_json_is_array(const struct jm_json *v);
bool jm_json_is_null(const struct jm_json *v);
bool jm_json_is_string(const struct jm_json *v);
/* False (and *out untouched) when v is NULL or of another type. Integers read as double too. */
bool jm_json_str(const struct jm_json *v, struct jm_span *out);
bool jm_json_i64(const struct jm_json *v, int64_t *out);
bool jm_json_num(const struct jm_json *v, double *out);
bool jm_json_bool(const struct jm_json *v, bool *out);
/* Iterates members of an object: start with *it = NULL; false at the end. */
bool jm_json_next(const struct jm_json *o, void **it, const char **key, const struct jm_json **val);

#endif
