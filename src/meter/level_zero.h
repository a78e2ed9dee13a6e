/* SPDX-License-Identifier: Apache-2.0 */
/* Level Zero's Sysman (libze_loader.so.1) as this program sees it: own declarations of the documented ABI
 * (oneapi-src/level-zero, zes_api.h), each symbol optional. Private to the level_zero_*.c files. */
#ifndef JM_METER_LEVEL_ZERO_H
#define JM_METER_LEVEL_ZERO_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/accel.h"
#include "meter/dynlib.h"

enum { /* ze_result_t */
       JM_ZE_OK = 0,
       JM_ZE_DEVICE_LOST = 0x70000001,
       JM_ZE_REQUIRES_RESET = 0x70000006,
       JM_ZE_LOW_POWER = 0x70000007,
       JM_ZE_NO_PERMISSION = 0x70010000,
       JM_ZE_NOT_AVAILABLE = 0x70010001,
       JM_ZE_DEPENDENCY = 0x70020000,
       JM_ZE_UNINITIALIZED = 0x78000001,
       JM_ZE_VERSION = 0x78000002,
       JM_ZE_FEATURE = 0x78000003
};
enum { /* zes_structure_type_t */
       JM_ZES_DEVICE_PROPERTIES = 0x1,
       JM_ZES_PCI_PROPERTIES = 0x2,
       JM_ZES_POWER_PROPERTIES = 0xd,
       JM_ZES_POWER_EXT_PROPERTIES = 0x28
};
enum jm_ze_domain { /* zes_power_domain_t */
                    JM_ZE_UNKNOWN,
                    JM_ZE_CARD,
                    JM_ZE_PACKAGE,
                    JM_ZE_STACK,
                    JM_ZE_MEMORY,
                    JM_ZE_GPU
};

struct jm_ze_device { /* zes_device_properties_t */
    uint32_t stype;
    void *next;
    struct {
        uint32_t stype;
        void *next;
        uint32_t type, vendor, device, flags, subdevice, clock;
        uint64_t max_alloc;
        uint32_t counts[7];
        uint64_t timer;
        uint32_t bits[2];
        uint8_t uuid[16];
        char name[256];
    } core;
    uint32_t subdevices;
    char serial[64], board[64], brand[64], model[64], vendor[64], driver[64];
};
static_assert(offsetof(struct jm_ze_device, subdevices) == 16 + 368, "ze_device_properties_t");
#define JM_ZE_INTEGRATED 1u /* ze_device_property_flag_t */

struct jm_ze_pci { /* zes_pci_properties_t */
    uint32_t stype;
    void *next;
    uint32_t domain, bus, device, function;
    int32_t gen, width;
    int64_t bandwidth;
    uint8_t have[8];
};
struct jm_ze_power_ext { /* zes_power_ext_properties_t */
    uint32_t stype;
    void *next;
    uint32_t domain;
    void *limit;
};
struct jm_ze_power { /* zes_power_properties_t */
    uint32_t stype;
    void *next;
    uint8_t on_subdevice;
    uint32_t subdevice;
    uint8_t can_control, threshold;
    int32_t limit_default, limit_min, limit_max; /* mW; -1: not known */
};
static_assert(sizeof(struct jm_ze_power) == 40, "zes_power_properties_t");
struct jm_ze_energy { /* zes_power_energy_counter_t */
    uint64_t uj, us;
};
struct jm_ze_sustained { /* zes_power_sustained_limit_t */
    uint8_t enabled;
    int32_t mw, interval;
};

#define JM_ZE_SYMBOLS(X)                                                                                     \
    X(init, int (*)(uint32_t), "zesInit")                                                                    \
    X(drivers, int (*)(uint32_t *, void **), "zesDriverGet")                                                 \
    X(devices, int (*)(void *, uint32_t *, void **), "zesDeviceGet")                                         \
    X(old_init, int (*)(uint32_t), "zeInit")                                                                 \
    X(old_drivers, int (*)(uint32_t *, void **), "zeDriverGet")                                              \
    X(old_devices, int (*)(void *, uint32_t *, void **), "zeDeviceGet")                                      \
    X(properties, int (*)(void *, struct jm_ze_device *), "zesDeviceGetProperties")                          \
    X(pci, int (*)(void *, struct jm_ze_pci *), "zesDevicePciGetProperties")                                 \
    X(domains, int (*)(void *, uint32_t *, void **), "zesDeviceEnumPowerDomains")                            \
    X(card, int (*)(void *, void **), "zesDeviceGetCardPowerDomain")                                         \
    X(power, int (*)(void *, struct jm_ze_power *), "zesPowerGetProperties")                                 \
    X(energy, int (*)(void *, struct jm_ze_energy *), "zesPowerGetEnergyCounter")                            \
    X(limits, int (*)(void *, struct jm_ze_sustained *, void *, void *), "zesPowerGetLimits")

struct jm_ze_api {
    struct jm_dynlib lib;
    JM_ZE_SYMBOLS(JM_DYNLIB_MEMBER)
};

#define JM_ZE_MAX_DEVICES 64
#define JM_ZE_MAX_DOMAINS 512

/* A counter of a device, and where it lies. */
struct jm_ze_counter {
    void *handle;
    size_t device;
    enum jm_ze_domain kind;
    bool tile; /* of one subdevice */
    uint32_t subdevice;
    bool repeat; /* another handle of what has one already */
};
struct jm_ze_gpu {
    void *handle;
    char bdf[32], uuid[64], name[128];
    bool integrated;
    int ret;                          /* of listing its power domains */
    int32_t limit_default, limit_max; /* mW, of the outermost; 0: not known */
};

struct jm_level_zero {
    struct jm_ze_api api;
    bool old; /* a loader without zesInit */
    int ret;  /* of the last listing that failed */
    struct jm_ze_gpu gpu[JM_ZE_MAX_DEVICES];
    size_t n;
    struct jm_ze_counter counter[JM_ZE_MAX_DOMAINS];
    size_t n_counter;
};

const char *jm_ze_error(int ret);
enum jm_status jm_ze_status(int ret);
int jm_ze_open(const struct jm_meter_env *env, struct jm_level_zero *s, struct jm_probe *probe,
               struct jm_err *err);
void jm_ze_close(struct jm_level_zero *s);
/* what: index of a counter; plus JM_ZE_LIMIT: its sustained limit, mW. */
#define JM_ZE_LIMIT 100000
enum jm_status jm_ze_get(void *vendor, size_t device, int what, int64_t *value);

#endif
