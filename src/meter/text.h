/* SPDX-License-Identifier: Apache-2.0 */
/* What small kernel files say, as pure parsers. Negative results are -errno as jm_sysfs_status knows it. */
#ifndef JM_METER_TEXT_H
#define JM_METER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* /proc/stat: busy ticks of all processors (user, nice, system, irq, softirq; proc(5)) and how many lines
 * "cpuN" there are. 0, or -EBADMSG. */
int jm_text_stat(struct jm_span text, int64_t *busy, int *cpus);
/* /proc/PID/stat: the parent, or -1. The name before it may hold anything, ')' too. */
int64_t jm_text_parent(struct jm_span text);
/* perf's "event=0x02": at most 32 bits. */
bool jm_text_event(struct jm_span text, uint64_t *config);
/* perf's scale, when it is a power of two: "2.3283064365386962890625e-10" is 2^-32. Read without the locale,
 * where a decimal comma would make it 2. */
bool jm_text_scale(struct jm_span text, int *scale2);
/* PTDaemon's answer to Watts: "Watts,average,minimum,maximum,samples,bad,good". */
bool jm_text_watts(struct jm_span reply, double *avg, int64_t *samples, int64_t *bad, int64_t *good);

#endif
