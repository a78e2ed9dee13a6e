/* SPDX-License-Identifier: Apache-2.0 */
/* Renderers of the table of MLPerf results: text at a number of columns, JSON (joulemark.mlperf.show/1), CSV,
 * one HTML page. Pure. A figure that is missing is a dash or null, never 0; a nameplate stands alone as
 * declared, a facility figure under its own name. */
#ifndef JM_SHOW_ROUND_H
#define JM_SHOW_ROUND_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "model/pue.h"
#include "model/round.h"

struct jm_round_show {
    int width;                  /* text: columns */
    bool color;                 /* text: ANSI colours */
    bool ascii;                 /* text: no other characters */
    bool detail;                /* text and HTML: the page of the only session */
    const char *columns, *sort; /* lists of column names parted by commas; NULL: as it fits */
    struct jm_pue pue;
    /* called when much has been written, so that no table is held twice; may empty the string. NULL: no */
    void (*flush)(void *self, struct jm_str *s);
    void *self;
};

int jm_round_text(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                  struct jm_err *err);
int jm_round_json(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                  struct jm_err *err);
int jm_round_csv(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                 struct jm_err *err);
int jm_round_html(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                  struct jm_err *err);

/* Sorts the rows of every kind by a list of column names, a '-' before one turns it round; what has no value
 * comes last. NULL: nothing to do. JM_EUSAGE: no such column, with the nearest. */
int jm_round_sort(struct jm_round_table *t, const char *list, struct jm_err *err);

/* JM_EUSAGE where a list names what is no column, either may be NULL. */
int jm_round_columns_known(const char *columns, const char *sort, struct jm_err *err);

#endif
