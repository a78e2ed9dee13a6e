/* SPDX-License-Identifier: Apache-2.0 */
/* Values that were published, from the results tables that lie beside the logs:
 *
 *   summary.csv           of the submission checker (mlcommons/inference, tools/submission): a row with
 * has_power True and a unit of power or energy; "Location" names the folder summary_results.json  of a
 * round's repository: "Power_Result", "Power_Units", "Location" expected.json         a list of {"case" or
 * "loc", "published", "pub_unit"}
 *
 * A table speaks of folders below its own, unless it was named by hand. */
#ifndef JM_MLPERF_ROUND_REPORTED_H
#define JM_MLPERF_ROUND_REPORTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"
#include "model/round.h"

struct jm_reported_row {
    char *location, *folder; /* folder of the table, canonical; NULL: named by hand */
    const char *table;
    double value;
    char unit[20];
    unsigned hash; /* of the last part of location */
};
struct jm_reported {
    struct jm_reported_row *row;
    size_t n, cap;
    char **table; /* names of the tables */
    size_t n_table;
    bool sorted;
};

#define JM_REPORTED_ROWS 200000
/* Adds what a table says. JM_EPARSE: it is no such table; JM_ELIMIT. by_hand: it speaks of every place. */
int jm_reported_read(struct jm_reported *t, const char *path, bool by_hand, struct jm_err *err);
/* The same of its text; name and folder (canonical, NULL: it speaks of every place) are copied. */
int jm_reported_text(struct jm_reported *t, const char *name, struct jm_span text, bool csv,
                     const char *folder, struct jm_err *err);
/* Fills reported… of the row, by its place: of several tables the nearest. JM_ENOMEM alone is an error. */
int jm_reported_match(struct jm_reported *t, struct jm_round_row *r, struct jm_err *err);
void jm_reported_release(struct jm_reported *t);

/* Factor to W or J, *energy which of them; 0: no unit of either. */
double jm_reported_unit(const char *unit, bool *energy);

#endif
