/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Each clock is a type of its own, so that a wall-clock stamp cannot be subtracted from an interval
 * stamp. All values are int64 nanoseconds. Intervals come from CLOCK_MONOTONIC only; CLOCK_REALTIME and
 * CLOCK_BOOTTIME are recorded beside it in pairs. Only base/clock.c asks the kernel; everything else is
 * handed a struct jm_clock. */
#ifndef JM_BASE_CLOCK_H
#define JM_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

typedef struct {
    int64_t ns;
} jm_mono; /* CLOCK_MONOTONIC */
typedef struct {
    int64_t ns;
} jm_real; /* Unix time, UTC */
typedef struct {
    int64_t ns;
} jm_boot; /* CLOCK_BOOTTIME: runs during suspend */

#define JM_NS_PER_S  INT64_C(1000000000)
#define JM_NS_PER_MS INT64_C(1000000)
#define JM_NS_PER_US INT64_C(1000)

/* One simultaneous look at the three clocks. mono0 and mono1 bracket the reading of the others. */
struct jm_clock_pair {
    int64_t mono0, mono1; /* ns, before and after */
    int64_t real, boot;   /* ns */
};

struct jm_clock_ops {
    const char *name; /* "system", "virtual" */
    int64_t (*mono)(void *self);
    void (*pair)(void *self, struct jm_clock_pair *out);
    /* Sleeps until the monotonic time; returns 0, or 1 when woken early by *cancel becoming true (may be
     * NULL). */
    int (*sleep_until)(void *self, int64_t mono_ns, const volatile bool *cancel);
};

struct jm_clock {
    const struct jm_clock_ops *ops;
    void *self;
};

/* The kernel's clocks. */
struct jm_clock jm_clock_system(void);

/* A clock that moves only when told, or when somebody sleeps on it. The time is a plain int64 in memory,
 * which may be shared with simulated parts (pass its address) or private (pass NULL: own storage).
 * Single-threaded use. real = mono + real_offset. */
struct jm_vclock {
    int64_t own;
    int64_t *now;
    int64_t real_offset, boot_offset;
};
struct jm_clock jm_clock_virtual(struct jm_vclock *vc, int64_t *shared_now);

static inline int64_t jm_clock_mono(const struct jm_clock *c)
{
    return c->ops->mono(c->self);
}
static inline void jm_clock_pair(const struct jm_clock *c, struct jm_clock_pair *out)
{
    c->ops->pair(c->self, out);
}
static inline int jm_clock_sleep_until(const struct jm_clock *c, int64_t mono_ns, const volatile bool *cancel)
{
    return c->ops->sleep_until(c->self, mono_ns, cancel);
}

/* CPU time used by the calling process, ns (for its own cost). */
int64_t jm_clock_cpu_self(void);

/* What the kernel says of its own clock (ntp_adjtime(2)); nothing is set. */
struct jm_kernel_clock {
    int state;           /* what the call returned: 5 is TIME_ERROR, -1: it cannot be asked */
    bool unsynchronised; /* STA_UNSYNC */
    int64_t offset_ns, max_error_ns, est_error_ns;
};
void jm_clock_kernel(struct jm_kernel_clock *out);

/* RFC 3339 in UTC with nanoseconds, "2026-11-29T15:08:00.123456789Z". buf holds at least 36 bytes; returns
 * buf. */
#define JM_RFC3339_SIZE 36
char *jm_time_rfc3339(int64_t real_ns, char buf[JM_RFC3339_SIZE]);
/* Parses RFC 3339 (fraction optional, Z or offset). */
int jm_time_parse_rfc3339(struct jm_span s, int64_t *real_ns, struct jm_err *err);
/* Proleptic Gregorian calendar ↔ Unix seconds, without the C library's time zone. month 1..12, day 1..31. */
int64_t jm_time_unix(int year, int month, int day, int hour, int minute, int second);
struct jm_civil {
    int year, month, day, hour, minute, second;
};
struct jm_civil jm_time_civil(int64_t unix_s);

#endif
