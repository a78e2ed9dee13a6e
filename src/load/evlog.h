/* SPDX-License-Identifier: Apache-2.0 */
/* The token events of a request under way, packed: about five bytes an event where a struct takes sixteen,
 * since thousands of streams hold theirs until they end. */
#ifndef JM_LOAD_EVLOG_H
#define JM_LOAD_EVLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/request.h"

struct jm_evlog {
    struct jm_str bytes;
    int64_t last; /* stamp of the latest one */
    size_t n;
    bool late; /* keep behind_us of each; set while it is empty */
};

void jm_evlog_init(struct jm_evlog *l, bool late);
void jm_evlog_release(struct jm_evlog *l);
void jm_evlog_reset(struct jm_evlog *l); /* empty, memory kept up to a few KiB */
/* False when memory ran out; the event is then not in the log. */
bool jm_evlog_add(struct jm_evlog *l, const struct jm_token_event *ev);
/* Writes the first events of the log, at most cap, and returns how many. */
size_t jm_evlog_read(const struct jm_evlog *l, struct jm_token_event *out, size_t cap);

#endif
