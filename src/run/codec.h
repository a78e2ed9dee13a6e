/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of one channel ↔ the bytes of a chunk. docs/run-file.md describes the layout. */
#ifndef JM_RUN_CODEC_H
#define JM_RUN_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "base/varint.h"
#include "model/channel.h"

#define JM_CHUNK_MAX (1u << 18) /* readings in a chunk; the writer stays below */

/* Runs of equal numbers. get fills n values of up to max; false on bad bytes. */
void jm_runs_put(struct jm_str *s, const uint16_t *v, size_t n);
bool jm_runs_get(struct jm_span *s, uint16_t *v, size_t n, uint16_t max);

/* Where the time column of a chunk is. */
enum jm_chunk_times {
    JM_TIMES_SAME = 0, /* that of another chunk */
    JM_TIMES_OWN = 1,
    JM_TIMES_AFTER =
        2 /* its own, as distances from the end of another chunk's readings: the call before this one */
};

/* Appends the plain bytes of n readings (1..JM_CHUNK_MAX). ref: n readings of the other chunk (times only),
 * NULL with JM_TIMES_OWN. is_double: values are doubles by their bits. */
int jm_chunk_encode(const struct jm_reading *r, size_t n, enum jm_chunk_times times,
                    const struct jm_reading *ref, bool is_double, struct jm_str *out, struct jm_err *err);
/* Number of readings that the bytes claim, 0 when they are no chunk. *times (may be NULL): an enum
 * jm_chunk_times. */
size_t jm_chunk_count(struct jm_span plain, int *times);
/* Decodes into out (room for jm_chunk_count readings). ref: n readings with the times of the other chunk,
 * NULL unless one is referred to. Any input is safe; bad bytes are JM_ECORRUPT. channel is set on every
 * reading. */
int jm_chunk_decode(struct jm_span plain, const struct jm_reading *ref, uint32_t channel,
                    struct jm_reading *out, size_t n, struct jm_err *err);
/* The same for t0 and t1 alone. */
int jm_chunk_decode_times(struct jm_span plain, const struct jm_reading *ref, struct jm_reading *out,
                          size_t n, struct jm_err *err);

#endif
