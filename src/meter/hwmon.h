/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the meters that read /sys/class/hwmon. Its numbers change from boot to boot, so a sensor is known
 * by its driver's name, its device and its label (Linux Documentation/hwmon/sysfs-interface: power uW, energy
 * uJ, in mV, curr mA). */
#ifndef JM_METER_HWMON_H
#define JM_METER_HWMON_H

#include "meter/fmeter.h"

struct jm_hwmon {
    char dir[JM_SYSFS_PATH];   /* class/hwmon/hwmonN below the root */
    char files[JM_SYSFS_PATH]; /* where its sensor files lie: dir, or dir/device on some kernels */
    char name[64];             /* "amdgpu" */
    char device[96]; /* last part of the device link: "0000:03:00.0", "ACPI000D:00"; else "hwmonN" */
};

/* Calls fn for each chip, in order of number; fn returns 0, or a negative JM_E* that ends it and is passed
 * on. */
typedef int (*jm_hwmon_fn)(void *self, const struct jm_hwmon *h, struct jm_err *err);
int jm_hwmon_each(const struct jm_meter_env *env, jm_hwmon_fn fn, void *self, struct jm_err *err);
typedef int (*jm_hwmon_each_fn)(const struct jm_meter_env *env, jm_hwmon_fn fn, void *self,
                                struct jm_err *err);

bool jm_hwmon_has(const struct jm_hwmon *h, const char *file); /* "power1_average" */
/* Text of a file of the chip; length or -errno. */
int jm_hwmon_text(const struct jm_hwmon *h, const char *file, char *buf, size_t cap);
int jm_hwmon_i64(const struct jm_hwmon *h, const char *file, int64_t *out);

/* Which names belong to a meter of their own; the general one takes the rest. */
bool jm_hwmon_special(const char *name);

/* The common channel of a sensor file. what: "power" or "energy"; number: of the sensor; file:
 * "power1_input". Fills name, device ("chip device label"), source, unit, scale; the caller sets domain and
 * meaning. */
int jm_hwmon_channel(struct jm_meter *m, const struct jm_hwmon *h, const char *what, const char *label,
                     const char *file, const char *guard, struct jm_channel **c, struct jm_fsrc **s,
                     struct jm_err *err);
/* Common frame of an hwmon meter: open an fmeter, fill it, complain when it stayed empty. */
struct jm_hwmon_walk {
    const struct jm_meter_env *env;
    struct jm_meter *m; /* NULL: only look */
    struct jm_domain_tree *tree;
    int node;     /* host's domain */
    size_t found; /* sensors that can be read */
    size_t denied, failed, asleep;
    char last[160]; /* why the last one cannot */
};
int jm_hwmon_probe(const struct jm_meter_env *env, jm_hwmon_each_fn each, jm_hwmon_fn fn, const char *what,
                   struct jm_probe *out);
int jm_hwmon_open(const struct jm_meter_ops *ops, const struct jm_meter_env *env, struct jm_domain_tree *tree,
                  jm_hwmon_each_fn each, jm_hwmon_fn fn, const char *what, struct jm_meter **out,
                  struct jm_err *err);
/* Looks at a sensor file once (for at most 2 s): 0 and counted as found, or counted as denied or failed. */
int jm_hwmon_try(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const char *file, int64_t *value);

#endif
