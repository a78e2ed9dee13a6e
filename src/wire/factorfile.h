/* SPDX-License-Identifier: Apache-2.0 */
/* Factors as services and files have them: replies of Electricity Maps (v3), the UK Carbon Intensity API and
 * WattTime (v3), documents of ENTSO-E's transparency platform (A75 generation by type, A44 day-ahead prices),
 * and CSV: ours (docs/factors.md), Electricity Maps' downloads, Ember's and Our World in Data's yearly
 * tables. Stored answers are read just like fresh ones. Nothing is opened here. */
#ifndef JM_WIRE_FACTORFILE_H
#define JM_WIRE_FACTORFILE_H

#include "base/str.h"
#include "model/factor.h"

#define JM_FACTOR_FILE_MOST ((size_t)16 << 20) /* bytes of a file */
#define JM_FACTOR_ZONES     512                /* factors in one file */

/* Adds what the text says to the set, whatever its form. JM_EPARSE: it has none of the forms, or is cut;
 * JM_EUSAGE: it is something that must not be used (a factor without unit or year, a mix of primary energy, a
 * signal that is no carbon intensity, an error that the service answered); JM_ECONFLICT; JM_ELIMIT;
 * JM_ENOMEM. The set is as it was where it fails. */
int jm_factor_file(struct jm_span text, struct jm_factor_set *set, struct jm_err *err);

/* What a run keeps of its factors: JSON that jm_factor_file reads back as it was, steps and sources included.
 */
#define JM_FACTOR_SCHEMA "joulemark.factors/1"
#define JM_FACTOR_RAW    "factors.json" /* its name among the raw files of a run */
void jm_factor_store(const struct jm_factor_set *set, struct jm_str *out);
struct jm_json;
int jm_factor_stored(const struct jm_json *root, struct jm_factor_set *set, struct jm_err *err);

/* The forms, for tests. */
int jm_factor_json(struct jm_span text, struct jm_factor_set *set, struct jm_err *err);
int jm_factor_entsoe(struct jm_span text, struct jm_factor_set *set, struct jm_err *err);
int jm_factor_csv(struct jm_span text, struct jm_factor_set *set, struct jm_err *err);

/* Whose clock times without an offset are by. JM_FACTOR_OFFSET: nobody's, they have to bring one. EUROPE: CET
 * in winter and CEST in summer. */
enum jm_factor_clock { JM_FACTOR_OFFSET, JM_FACTOR_UTC, JM_FACTOR_CET, JM_FACTOR_CEST, JM_FACTOR_EUROPE };
/* "2024-10-27 02:00", "27/10/2024 02:00:00 (CEST)", or both ends of an interval with " - " between them; a
 * date alone begins its day. Without an end t1 is t0 + 1. An hour that the clock shows twice is the first of
 * them unless that is not after `after`. JM_EPARSE. */
int jm_factor_when(struct jm_span text, enum jm_factor_clock clock, int64_t after, int64_t *t0, int64_t *t1,
                   struct jm_err *err);

/* Rows that say when they begin and not when they end (t1 == t0 + 1) last for period ns, or, when it is 0, as
 * long as the shortest distance between two of them: what is missing stays missing. JM_EPARSE: a single row
 * and no period. */
int jm_factor_lasting(struct jm_factor *f, int64_t period, struct jm_err *err);

#endif
