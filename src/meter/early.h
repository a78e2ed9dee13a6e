/* SPDX-License-Identifier: Apache-2.0 */
/* Raw replies that came while an instrument was opened, before anybody kept them: in order, bounded. */
#ifndef JM_METER_EARLY_H
#define JM_METER_EARLY_H

#include <stdatomic.h>

#include "base/str.h"
#include "meter/meter.h"

#define JM_EARLY_MAX ((size_t)4 << 20) /* bytes of one opening; a large BMC's tree of resources is 2 MB */

struct jm_early {
    struct jm_raw_sink sink;
    struct jm_str text;
    unsigned long long lost; /* found no room */
    atomic_uint *heard;      /* counts the replies, kept or not; NULL: nobody asks */
};

/* The address of e must not change while its sink is in use. */
void jm_early_init(struct jm_early *e);
void jm_early_release(struct jm_early *e);
/* All of them into another sink. */
void jm_early_replay(const struct jm_early *e, const struct jm_raw_sink *to);

#endif
