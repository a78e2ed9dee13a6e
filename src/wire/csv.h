/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values (RFC 4180) as benchmark tools write them: quoted or plain fields, LF or CRLF, a last
 * line without its end. Nothing is allocated. */
#ifndef JM_WIRE_CSV_H
#define JM_WIRE_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct jm_csv {
    struct jm_span in;
    size_t at;
    char sep;
    int64_t line; /* of the row given last, from 1 */
    int64_t next; /* line that the next row begins on */
};
struct jm_csv_field {
    struct jm_span raw; /* without the quotes around it */
    bool escaped;       /* raw holds doubled quotes */
};

/* sep 0: a comma. A byte order mark is passed over. */
void jm_csv_init(struct jm_csv *c, struct jm_span text, char sep);
/* 1: a row of *n fields (an empty line has one empty field); 0: the end; JM_EPARSE: a quote that never ends,
 * or text behind one; JM_ELIMIT: more than cap fields. */
int jm_csv_row(struct jm_csv *c, struct jm_csv_field *f, size_t cap, size_t *n, struct jm_err *err);
/* The text of a field, cut at cap, ended by NUL; returns buf. */
char *jm_csv_text(const struct jm_csv_field *f, char *buf, size_t cap);
/* Index of the field of this text (a header's name), blanks around it ignored, or -1. */
int jm_csv_find(const struct jm_csv_field *f, size_t n, const char *name);

#endif
