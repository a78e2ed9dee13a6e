/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the table of MLPerf results, one row a column; text, CSV, HTML, --columns and --sort use
 * them. */
#ifndef JM_SHOW_ROUND_COLUMNS_H
#define JM_SHOW_ROUND_COLUMNS_H

#include "model/round.h"
#include "show/fmt.h"
#include "show/round.h"

struct jm_round_column {
    const char *name;  /* of --columns, --sort and the CSV */
    const char *title; /* of a table for people, NULL: the name */
    const char *help;
    bool right;
    int most; /* columns of text at most */
    /* one of the two: NaN and NULL are no value */
    double (*number)(const struct jm_round_row *r);
    const char *(*text)(const struct jm_round_row *r, char buf[JM_FMT]);
    /* for people, where it is not the text or the plain number */
    const char *(*shown)(const struct jm_round_row *r, char buf[JM_FMT]);
    bool csv; /* stands in the CSV */
};
extern const struct jm_round_column jm_round_columns[]; /* ends with a NULL name */

const struct jm_round_column *jm_round_column_find(struct jm_span name);
/* The columns of a list; returns how many, or JM_EUSAGE. */
#define JM_ROUND_COLUMNS 80
int jm_round_column_list(const char *list, const struct jm_round_column *out[JM_ROUND_COLUMNS],
                         struct jm_err *err);
/* A cell for people: "–" where there is no value. */
const char *jm_round_cell(const struct jm_round_column *c, const struct jm_round_row *r, char buf[JM_FMT]);

/* "10.40 kW", "29.24 mJ": the published metric with the prefix that fits. */
const char *jm_round_metric(char buf[JM_FMT], double v, const char *unit);
/* "+0.03 %"; "" for NaN. */
const char *jm_round_percent(char buf[JM_FMT], double ratio);

#endif
