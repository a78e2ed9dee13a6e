/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte string. buf is never NULL after jm_str_init and always NUL-terminated at len. When memory
 * runs out the string keeps what it has and failed becomes true; appenders then do nothing, so that a caller
 * may check once at the end (jm_str_ok). */
#ifndef JM_BASE_STR_H
#define JM_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"

struct jm_str {
    char *buf;
    size_t len, cap; /* cap == 0: buf is the static empty string */
    bool failed;
};

void jm_str_init(struct jm_str *s);
void jm_str_release(struct jm_str *s);
void jm_str_reset(struct jm_str *s); /* length 0, memory kept, failed cleared */
/* The same, but memory above `most` bytes is given back: for strings that one odd document made long. */
void jm_str_recycle(struct jm_str *s, size_t most);
void jm_str_add(struct jm_str *s, const void *p, size_t n);
void jm_str_adds(struct jm_str *s, const char *text);
void jm_str_addspan(struct jm_str *s, struct jm_span t);
void jm_str_addc(struct jm_str *s, char c);
void jm_str_addf(struct jm_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void jm_str_addv(struct jm_str *s, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void jm_str_pad(struct jm_str *s, size_t upto_len, char c); /* appends c until len == upto_len */
/* Appends text word by word from column at, starting on the line that out ends with (on a new one where that
 * is already past at), lines no longer than width, and a line end. */
void jm_str_wrap(struct jm_str *out, struct jm_span text, size_t at, size_t width);
/* Length of the well-formed UTF-8 sequence at p (Unicode table 3-7), or 0. n > 0. */
size_t jm_utf8_len(const char *p, size_t n);
/* Makes foreign text fit for a terminal, in place: control characters and bytes that are no UTF-8 become '?',
 * tabs and line ends a blank; with lines true line feeds stay. */
void jm_text_plain(char *p, size_t n, bool lines);
struct jm_span jm_str_span(const struct jm_str *s);
/* Gives the buffer to the caller (free() it) and leaves the string empty; NULL when failed. */
char *jm_str_detach(struct jm_str *s);
/* 0, or JM_ENOMEM with a sentence that names what was being built. */
int jm_str_ok(const struct jm_str *s, const char *what, struct jm_err *err);

#endif
