/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_IMPORT_SERVING_H
#define JM_IMPORT_SERVING_H

#include "import/build.h"

/* Requests of a benchmark's object into the open window. asked_osl: the length asked of each, -1: not known.
 */
void jm_serving_requests(struct jm_build *b, const struct jm_jtoken *doc, int64_t asked_osl);

#endif
