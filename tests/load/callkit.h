/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as they were reported in public, byte for byte, and what must come of them. What a row expects is
 * END finish=F in=PROMPT out=OUTPUT/SOURCE cached=C reasoning=R bytes=TEXT_BYTES [load=NS] >READ *READ |
 * EVENT ... where > is the read of the first token and * that of the first visible one, and an event is the
 * number of the read it came with (one event a read), its tokens (":3", "?" unknown) and flags r(easoning),
 * t(ool), b(undled).
 */
#ifndef TESTS_LOAD_CALLKIT_H
#define TESTS_LOAD_CALLKIT_H

#include "base/str.h"
#include "load/call.h"

struct kit_row {
    const char *name, *api;
    const char *body, *want;
};

extern const char kit_head[]; /* of a chunked event stream */
void kit_render(const struct jm_call *c, bool stamps, struct jm_str *s);
/* One event a read, each in a chunk of its own, stamped with its number. */
void kit_play(struct jm_call *c, const char *body);
/* Each row so. */
void kit_events(const struct kit_row *rows, size_t n_rows);
/* Each row gives the same record wherever the bytes are cut, in every framing, with every line end. */
void kit_splits(const struct kit_row *rows, size_t n_rows);

#endif
