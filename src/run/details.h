/* SPDX-License-Identifier: Apache-2.0 */
/* The greater part of requests (stamps, counts that queries seldom ask for, hashes) ↔ the bytes of a request
 * chunk: by columns, because as columns of rows they would take twice the room. docs/run-file.md describes
 * the layout. */
#ifndef JM_RUN_DETAILS_H
#define JM_RUN_DETAILS_H

#include <stddef.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "model/request.h"

#define JM_DETAILS_MAX   65536 /* requests in a chunk */
#define JM_DETAILS_BLOCK 2048  /* the writer begins a new one above this */
#define JM_FINISH_MAX    23

/* Appends the plain bytes of n requests and their hashes (32 bytes each that exists). */
int jm_details_encode(const struct jm_request *q, size_t n, struct jm_str *out, struct jm_str *hashes,
                      struct jm_err *err);
/* Number of requests that the bytes claim, 0 when they are no chunk. */
size_t jm_details_count(struct jm_span plain);
/* Decodes ids into q[i].id and everything else but what the row holds; stamps are as distances until
 * jm_details_resolve. q has room for jm_details_count requests. Any input is safe. */
int jm_details_decode(struct jm_span plain, struct jm_span hashes, struct jm_request *q, size_t n,
                      struct jm_err *err);
/* Puts the details d into the row r (whose scheduled stamp is known). */
void jm_details_join(struct jm_request *r, const struct jm_request *d);

#endif
