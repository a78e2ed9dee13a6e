/* SPDX-License-Identifier: Apache-2.0 */
/* A meter whose channels are files that hold one number each (powercap, hwmon): opened once, read by one
 * pread each. */
#ifndef JM_METER_FMETER_H
#define JM_METER_FMETER_H

#include "meter/meter.h"
#include "meter/sysfs.h"

/* One file that several channels are read from: loaded once a pass, with one stamp for all of them. */
struct jm_fbatch {
    int (*load)(struct jm_fbatch *b); /* 0 or -errno; never allocates */
    enum jm_status (*pick)(const struct jm_fbatch *b, int field, int64_t *value);
    void (*free)(struct jm_fbatch *b);
    int64_t t0, t1;
    uint64_t pass;
    int rc;
};

struct jm_fsrc {
    int fd;
    int fd2;                 /* >= 0: the value is the product of both files (mV x mA = uW) */
    int guard;               /* >= 0: read only while this file says "active" (runtime power management) */
    int64_t invalid;         /* a value that stands for "no value"; 0: there is none */
    bool positive;           /* 0 is no value either */
    struct jm_fbatch *batch; /* not NULL: the value is `field` of it, and fd is -1 */
    int field;
};

struct jm_fmeter {
    struct jm_fsrc *src; /* one a channel */
    size_t n, cap;
    struct jm_fbatch **batch; /* freed at the end */
    size_t n_batch;
    uint64_t pass;
};

/* A meter with an empty jm_fmeter in priv. */
struct jm_meter *jm_fmeter_alloc(const struct jm_meter_ops *ops, struct jm_err *err);
/* Adds a channel that reads path (and path2, unless NULL; and only while guard says "active", unless NULL).
 * JM_EDENIED, JM_EABSENT ... when it cannot be opened. *chan is valid until the next. */
int jm_fmeter_add(struct jm_meter *m, const char *path, const char *path2, const char *guard,
                  struct jm_channel **chan, struct jm_fsrc **src, struct jm_err *err);
/* Gives the meter a batch, which it frees, also when this fails. */
int jm_fmeter_own(struct jm_meter *m, struct jm_fbatch *b, struct jm_err *err);
/* Adds a channel that is a field of a batch of this meter. */
int jm_fmeter_add_field(struct jm_meter *m, struct jm_fbatch *b, int field, const char *guard,
                        struct jm_channel **chan, struct jm_fsrc **src, struct jm_err *err);
size_t jm_fmeter_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                      struct jm_reading *out);
void jm_fmeter_close(struct jm_meter *m);
/* One look at channel i, outside of the sampling. */
int jm_fmeter_peek(const struct jm_meter *m, size_t i, int64_t *value);

#endif
