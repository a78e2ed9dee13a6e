/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_IMPORT_TOKENPOWERBENCH_H
#define JM_IMPORT_TOKENPOWERBENCH_H

#include "import/import.h"

/* tokenpowerbench_samples.c: batch_N_power_samples.json as readings. */
int jm_tokenpowerbench_samples(const char *path, const char *out, const struct jm_import_opts *o,
                               struct jm_err *err);

#endif
