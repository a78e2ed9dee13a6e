/* SPDX-License-Identifier: Apache-2.0 */
/* What the meters of accelerators' management libraries share that answer one question a call: channels,
 * their reading, and devices that are lost on the way. */
#ifndef JM_METER_ACCEL_H
#define JM_METER_ACCEL_H

#include "meter/meter.h"

/* One question about one device, as the meter's own table names it. Never allocates. */
typedef enum jm_status (*jm_accel_get)(void *vendor, size_t device, int what, int64_t *value);

struct jm_accel_row {
    int what;
    enum jm_channel_kind kind;
    enum jm_unit unit;
    int scale10, scale2;
    int64_t every_ns; /* how often it is read at most; 0: each time */
    bool edge;        /* energy and power */
    const char *name, *source;
};

/* A meter that reads through get; done frees vendor at its end, and when this fails. */
struct jm_meter *jm_accel_new(const struct jm_meter_ops *ops, void *vendor, jm_accel_get get,
                              void (*done)(void *vendor), size_t n_devices, struct jm_err *err);
/* Asks once; the channel is added unless the device cannot, may not or has no value of its own (0 J or 0 W).
 * *c is NULL then, *why says it. Energy and power of 0 are no value later either. */
int jm_accel_add(struct jm_meter *m, size_t device, const struct jm_accel_row *row, const char *device_name,
                 int domain, struct jm_channel **c, enum jm_status *why, struct jm_err *err);
/* The domain of the board with this PCI address, "0000:03:00.0": that of a meter that was opened before (GPU
 * or APU), else a GPU of the node. */
int jm_accel_domain(struct jm_domain_tree *tree, int node, const char *bdf, const char *label,
                    struct jm_err *err);
void *jm_accel_vendor(const struct jm_meter *m);
size_t jm_accel_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                     struct jm_reading *out);
void jm_accel_close(struct jm_meter *m);

#endif
