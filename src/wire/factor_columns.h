/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of factors: their columns, which factor_columns.c finds and factor_csv.c reads. */
#ifndef JM_WIRE_FACTOR_COLUMNS_H
#define JM_WIRE_FACTOR_COLUMNS_H

#include "wire/csv.h"
#include "wire/factorfile.h"

#define JM_FACTOR_COLUMNS 160

enum jm_factor_column {
    JM_FC_ZONE,
    JM_FC_START,
    JM_FC_END,
    JM_FC_YEAR,
    JM_FC_VALUE,
    JM_FC_UNIT,
    JM_FC_WHAT,
    JM_FC_KIND,
    JM_FC_BASIS,
    JM_FC_MARGINAL,
    JM_FC_SOURCE,
    JM_FC_LICENCE,
    JM_FC_CONTRACT,
    JM_FC_ESTIMATED,
    JM_FC_VARIABLE, /* of Ember: what the row is of */
    JM_FC_DIRECT,   /* of Electricity Maps: values whose unit and kind the header says */
    JM_FC_LIFE,
    JM_FC_NAME,
    JM_FC_SEQUENCE, /* of ENTSO-E: which auction */
    JM_FC_COUNT
};

#define JM_FACTOR_CLOCKS 64 /* zones whose last time is remembered, for the hour that a clock shows twice */

struct jm_factor_table {
    struct jm_csv csv;
    int at[JM_FC_COUNT]; /* column, -1: none */
    bool utc;            /* times without a zone are in UTC: the header says so */
    enum jm_factor_clock clock;
    bool comma;          /* numbers have a decimal comma: fields are parted by something else */
    struct jm_span unit; /* of the value, where the header says it */
    char zone[32];       /* of all rows, where the header says it */
    struct {
        char zone[32];
        int64_t t;
    } last[JM_FACTOR_CLOCKS];
    size_t n_last;
    const char *source, *licence, *note;
};

/* Finds the columns of the header, which is the first row that is no comment. JM_EPARSE, JM_EUSAGE. */
int jm_factor_header(struct jm_factor_table *t, struct jm_err *err);

#endif
