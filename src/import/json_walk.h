/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a JSON result file where it lies: documents, members, and arrays side by side as columns with one
 * cursor each, so that a million requests need no memory. Nothing is allocated; tokens point into the file.
 *
 * A member that stands twice counts once, the last one, as in Python. Errors name the file and the place. */
#ifndef JM_IMPORT_JSON_WALK_H
#define JM_IMPORT_JSON_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "import/file.h"
#include "wire/jsontok.h"

/* ---- documents: one, or several after each other (JSON lines; blank lines are fine) */
struct jm_jdocs {
    const struct jm_ifile *f;
    size_t at; /* in f->text */
    size_t mark;
    int n; /* documents given so far */
};
void jm_jdocs_init(struct jm_jdocs *d, const struct jm_ifile *f);
/* 1: *doc is the next document (an object or array has its whole text); 0: no more; negative: broken. The
 * whole document has been checked. */
int jm_jdocs_next(struct jm_jdocs *d, struct jm_jtoken *doc, struct jm_err *err);

/* ---- members of an object, items of an array */
struct jm_jiter {
    const struct jm_ifile *f;
    struct jm_jsontok t;
    bool object, open;
    size_t mark;
};
/* Anything but an object or array has no items. */
void jm_jiter_init(struct jm_jiter *it, const struct jm_ifile *f, const struct jm_jtoken *of);
/* 1: *v is the next value (whole text), *key its name (of an array: unchanged); 0: end; negative: broken. key
 * may be NULL. */
int jm_jiter_next(struct jm_jiter *it, struct jm_jtoken *key, struct jm_jtoken *v, struct jm_err *err);

/* The member of an object by its exact name (dots and all); false: there is none, or it is no object. */
bool jm_jmember(const struct jm_ifile *f, const struct jm_jtoken *object, const char *name,
                struct jm_jtoken *v);
/* By a path of names: "metrics.requests_per_second.successful". */
bool jm_jpath(const struct jm_ifile *f, const struct jm_jtoken *object, const char *path,
              struct jm_jtoken *v);
/* The number there; NAN: there is none. */
double jm_jpath_num(const struct jm_ifile *f, const struct jm_jtoken *object, const char *path);

/* ---- columns: arrays of one object, read row by row side by side */
struct jm_jcol {
    const char *name; /* of the array; set by the caller */
    bool need;        /* its absence is an error; set by the caller */
    bool have;        /* there, and not empty */
    bool row;         /* this row has a value (v) */
    struct jm_jtoken v;
    struct jm_jtoken array;
    struct jm_jiter it;
};
/* Finds the arrays. An absent, null or empty one is a column without values. JM_EPARSE: one is no array, or a
 * needed one is absent. */
int jm_jcols_open(const struct jm_ifile *f, const struct jm_jtoken *object, struct jm_jcol *c, size_t n,
                  struct jm_err *err);
/* 1: a row; 0: all have ended together; JM_EPARSE: one has fewer items than another. */
int jm_jcols_row(struct jm_jcol *c, size_t n, struct jm_err *err);
/* Members found in one pass over the object: one token for each name, type JM_J_END where it is absent. */
int jm_jfind(const struct jm_ifile *f, const struct jm_jtoken *object, const char *const *names, size_t n,
             struct jm_jtoken *v, struct jm_err *err);

/* ---- values. False (and *out untouched) where the token is none of that kind; NaN and infinities are no
 * number. */
bool jm_jnum(const struct jm_jtoken *v, double *out);
bool jm_jint(const struct jm_jtoken *v, int64_t *out); /* also 12.0 */
/* A time in units of 10^exponent seconds (0: s, -3: ms, -9: ns) as ns; the digits as written are kept. */
bool jm_jtime(const struct jm_jtoken *v, int exponent, int64_t *ns);
/* A string, number, true or false as text, cut at cap. */
bool jm_jtext(const struct jm_jtoken *v, char *buf, size_t cap);
/* Sums of an array's numbers and their count; items that are no number are passed over. */
int jm_jsum(const struct jm_ifile *f, const struct jm_jtoken *array, double *sum, int64_t *n,
            struct jm_err *err);

#endif
