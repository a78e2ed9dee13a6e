/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JM_WIRE_MANIFEST_H
#define JM_WIRE_MANIFEST_H

#include "base/err.h"
#include "base/span.h"

/* A manifest as sha256sum writes it: lines of 64 hex digits, two blanks, a name. Calls fn for each; JM_EPARSE
 * with the line. */
typedef int (*jm_manifest_fn)(void *self, struct jm_span name, struct jm_span sha256, struct jm_err *err);
int jm_manifest_read(struct jm_span text, jm_manifest_fn fn, void *self, struct jm_err *err);

#endif
