/* SPDX-License-Identifier: Apache-2.0 */
/* A library with NVML's names that answers what a test puts into this struct, for the errors that no
 * simulation makes: missing symbols, odd strides, entries that are not filled. */
#ifndef TESTS_METER_FAKE_NVML_H
#define TESTS_METER_FAKE_NVML_H

#include <stdint.h>

struct fake_field {
    uint32_t id, scope;
    int ret, type;
    uint64_t value;
    int unfilled; /* 1: the entry is not touched */
};

struct fake_gpu {
    int handle; /* return of GetHandleByIndex */
    char uuid[96], name[96];
    uint32_t domain, bus, device, device_id, arch;
    int energy_ret;
    uint64_t energy; /* mJ */
    int power_ret;
    uint32_t power, limit; /* mW */
    struct fake_field field[12];
    int fields_ret; /* of the whole call */
    int mig;        /* -1: not supported */
    char mig_uuid[2][96];
    uint32_t pid[8];
    int n_pid;
};

struct fake_nvml {
    int init;
    unsigned count;
    char driver[80];
    struct fake_gpu gpu[8];
    unsigned stride; /* of process records */
    int inits;
    unsigned calls;
};

#endif
