/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV file with a line of names on top, read row by row by name: the separator is found (',', ';', tab), a
 * decimal comma is understood where the separator leaves room for it, and what spreadsheets and pandas write
 * for no value ("", "nan", "None", "N/A") is none. */
#ifndef JM_IMPORT_TABLE_H
#define JM_IMPORT_TABLE_H

#include "import/build.h"
#include "import/probe.h"
#include "wire/csv.h"

#define JM_TABLE_COLUMNS 512

struct jm_table {
    struct jm_csv csv;
    struct jm_csv_field head[JM_TABLE_COLUMNS], f[JM_TABLE_COLUMNS];
    size_t n_head, n; /* of the head, of the row */
    char sep;
    int64_t short_rows, headers; /* rows with another number of fields; heads that came again */
    bool follow;     /* set after opening: a head inside the file with other columns holds from there on */
    int64_t changed; /* how many did */
    size_t mark;
};

/* Reads the head. JM_EPARSE: there is none. */
int jm_table_open(struct jm_table *t, const struct jm_ifile *f, struct jm_err *err);
/* 1: a row; 0: the end. Blank lines and heads that come again are passed over: the columns of files that were
 * put one behind the other are looked up anew where t->changed has grown. A row of another length is given,
 * and counted. */
int jm_table_row(struct jm_table *t, const struct jm_ifile *f, struct jm_err *err);
int jm_table_col(const struct jm_table *t, const char *name); /* -1: there is none; upper case is lower */
/* False: no such column in this row, or no number in it. */
bool jm_table_num(const struct jm_table *t, int col, double *v);
/* "" where there is none; control characters are gone. Returns buf. */
char *jm_table_text(const struct jm_table *t, int col, char *buf, size_t cap);
struct jm_span jm_table_span(const struct jm_table *t, int col);
/* Does the first line of the file name all of these (ended by NULL)? */
bool jm_table_looks(const struct jm_probe *p, const char *const *names);

/* A fault that rows have: how many, and the first of them in words. */
struct jm_table_note {
    int64_t n;
    char first[240];
};
void jm_table_note(struct jm_table_note *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Into the environment under the key, where there was one: "3 rows; the first: ..." */
void jm_table_told(struct jm_build *b, const char *key, const struct jm_table_note *x, const char *what);

#endif
