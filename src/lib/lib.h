/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_LIB_LIB_H
#define JM_LIB_LIB_H

#include "base/err.h"
#include "joulemark.h"

/* Copies err to the public error (may be NULL) and returns rc. */
int jm_lib_fail(joulemark_error *e, int rc, const struct jm_err *err);

#endif
