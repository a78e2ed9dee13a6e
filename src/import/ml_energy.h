/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_IMPORT_ML_ENERGY_H
#define JM_IMPORT_ML_ENERGY_H

#include "import/table.h"

/* ml_energy_csv.c: the first leaderboard's *_benchmark.csv: a model a row, means over its requests. */
extern const char *const jm_ml_energy_head[];
int jm_ml_energy_csv(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err);

/* ml_energy_images.c: results.json of the diffusion benchmark. */
void jm_ml_energy_images(struct jm_build *b, const struct jm_jtoken *doc);

#endif
