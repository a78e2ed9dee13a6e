/* SPDX-License-Identifier: Apache-2.0 */
/* What a passport knows of an instrument, taken into its energies. What it showed stays beside what is made
 * of it. */
#ifndef JM_COMPUTE_CORRECT_H
#define JM_COMPUTE_CORRECT_H

#include "compute/calc.h"
#include "model/passport.h"

/* Of one channel; row NULL: there is none. */
struct jm_correction {
    const struct jm_passport_row *row;
    const struct jm_passport_file *file;
    struct jm_channel channel; /* with the period, window and meaning that were found */
    double lag, u_lag;         /* s; lag NAN: none that is surely there */
};

/* Passports of the options, and those that the run keeps: into c->correction. A stored one that cannot be
 * used is a finding. */
int jm_corrections_init(struct jm_calc *c);
void jm_corrections_release(struct jm_calc *c);
/* NULL: none. */
const struct jm_correction *jm_correction_of(const struct jm_calc *c, int channel);
/* Takes gain and offset out of an energy over `seconds` and of its worst case; e->correction says all that
 * the passport was used for, and why not where it was not. lag: its lag was. */
struct jm_bound;
void jm_correct(const struct jm_correction *k, bool lag, double seconds, struct jm_energy *e,
                struct jm_bound *b);

/* Is it of the instruments of the run? JM_ECONFLICT with one sentence. */
int jm_passport_fits_run(const struct jm_passport_file *p, const struct jm_run *run, struct jm_err *err);

#endif
