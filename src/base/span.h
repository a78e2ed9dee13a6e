/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed run of bytes. Parsers take spans, never NUL-terminated text. */
#ifndef JM_BASE_SPAN_H
#define JM_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>

struct jm_span {
    const char *p;
    size_t n;
};

#define JM_SPAN(lit) ((struct jm_span){(lit), sizeof(lit) - 1})

struct jm_span jm_span_of(const char *s);                            /* s may be NULL: empty */
struct jm_span jm_span_sub(struct jm_span s, size_t from, size_t n); /* clamped */
struct jm_span jm_span_trim(struct jm_span s);                       /* blanks, tabs, CR, LF at both ends */
bool jm_span_eq(struct jm_span a, struct jm_span b);
bool jm_span_is(struct jm_span a, const char *s);
bool jm_span_ieq(struct jm_span a, struct jm_span b); /* ASCII case-insensitive */
bool jm_span_starts(struct jm_span a, struct jm_span prefix);
bool jm_span_istarts(struct jm_span a, struct jm_span prefix);
bool jm_span_ends(struct jm_span a, struct jm_span suffix);
bool jm_span_ihas(struct jm_span a, const char *word); /* is the word in it; ASCII case-insensitive */
/* Index of the first c or of needle, or -1. */
ptrdiff_t jm_span_chr(struct jm_span s, char c);
ptrdiff_t jm_span_find(struct jm_span s, struct jm_span needle);
/* Takes the next line (without its LF or CRLF) off *rest; false when nothing is left. A last line without a
 * line end counts. */
bool jm_span_line(struct jm_span *rest, struct jm_span *line);
/* Takes the text before the next sep off *rest; false when *rest is exhausted (p == NULL afterwards). "a,,b"
 * gives three fields, "" gives one empty field. */
bool jm_span_field(struct jm_span *rest, char sep, struct jm_span *field);

#endif
