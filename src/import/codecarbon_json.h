/* SPDX-License-Identifier: Apache-2.0 */
/* CodeCarbon's records as JSON. */
#ifndef JM_IMPORT_CODECARBON_JSON_H
#define JM_IMPORT_CODECARBON_JSON_H

#include "base/str.h"
#include "import/file.h"

/* Objects with energy_consumed, one after the other or in a list, as the text of a table into s (initialised
 * by the caller). JM_EPARSE: there is none, or the JSON is broken. */
int jm_codecarbon_table(const struct jm_ifile *f, struct jm_str *s, struct jm_err *err);

#endif
