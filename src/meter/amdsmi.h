/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's two management libraries as this program sees them: own declarations of the documented ABI, each
 * symbol optional. AMD SMI: amdsmi.h of ROCm 5.7 (23.x) to 7.x (26.x); ROCm SMI: rocm_smi.h. Private to the
 * amdsmi_*.c files. */
#ifndef JM_METER_AMDSMI_H
#define JM_METER_AMDSMI_H

#include <stdint.h>

#include "meter/accel.h"
#include "meter/dynlib.h"

enum { /* amdsmi_status_t */
       JM_AMDSMI_OK = 0,
       JM_AMDSMI_NOT_SUPPORTED = 2,
       JM_AMDSMI_NOT_YET = 3,
       JM_AMDSMI_NO_PERM = 10,
       JM_AMDSMI_NOT_FOUND = 31,
       JM_AMDSMI_NO_DRIVER = 34,
       JM_AMDSMI_NO_DATA = 40
};
enum { /* rsmi_status_t */
       JM_RSMI_NOT_SUPPORTED = 2,
       JM_RSMI_PERMISSION = 4,
       JM_RSMI_INIT = 8,
       JM_RSMI_NOT_YET = 9,
       JM_RSMI_NOT_FOUND = 10,
       JM_RSMI_NO_DATA = 14,
       JM_RSMI_BUSY = 16
};
enum {
    JM_AMDSMI_INIT_GPUS = 2,
    JM_AMDSMI_TYPE_GPU = 1,
    JM_AMDSMI_MAX = 256 /* partitions of eight boards of eight dies each, and room */
};

struct jm_amdsmi_cap { /* amdsmi_power_cap_info_t, uW on bare metal, W on a host */
    uint64_t cap, deflt, dpm, min, max, reserved[3];
};

/* X(member, prototype, names) */
#define JM_AMDSMI_SYMBOLS(X)                                                                                 \
    X(init, int (*)(uint64_t), "amdsmi_init")                                                                \
    X(shut_down, int (*)(void), "amdsmi_shut_down")                                                          \
    X(version, int (*)(void *), "amdsmi_get_lib_version")                                                    \
    X(sockets, int (*)(uint32_t *, void **), "amdsmi_get_socket_handles")                                    \
    X(processors, int (*)(void *, uint32_t *, void **), "amdsmi_get_processor_handles")                      \
    X(type, int (*)(void *, int *), "amdsmi_get_processor_type")                                             \
    X(bdf, int (*)(void *, uint64_t *), "amdsmi_get_gpu_device_bdf")                                         \
    X(uuid, int (*)(void *, unsigned *, char *), "amdsmi_get_gpu_device_uuid")                               \
    X(asic, int (*)(void *, void *), "amdsmi_get_gpu_asic_info")                                             \
    X(power, int (*)(void *, void *), "amdsmi_get_power_info")                                               \
    X(energy, int (*)(void *, uint64_t *, float *, uint64_t *), "amdsmi_get_energy_count")                   \
    X(cap, int (*)(void *, uint32_t, struct jm_amdsmi_cap *), "amdsmi_get_power_cap_info")

#define JM_RSMI_SYMBOLS(X)                                                                                   \
    X(r_init, int (*)(uint64_t), "rsmi_init")                                                                \
    X(r_shut_down, int (*)(void), "rsmi_shut_down")                                                          \
    X(r_version, int (*)(void *), "rsmi_version_get")                                                        \
    X(r_count, int (*)(uint32_t *), "rsmi_num_monitor_devices")                                              \
    X(r_pci, int (*)(uint32_t, uint64_t *), "rsmi_dev_pci_id_get")                                           \
    X(r_unique, int (*)(uint32_t, uint64_t *), "rsmi_dev_unique_id_get")                                     \
    X(r_name, int (*)(uint32_t, char *, size_t), "rsmi_dev_name_get")                                        \
    X(r_average, int (*)(uint32_t, uint32_t, uint64_t *), "rsmi_dev_power_ave_get")                          \
    X(r_current, int (*)(uint32_t, uint64_t *), "rsmi_dev_current_socket_power_get")                         \
    X(r_energy, int (*)(uint32_t, uint64_t *, float *, uint64_t *), "rsmi_dev_energy_count_get")             \
    X(r_cap, int (*)(uint32_t, uint32_t, uint64_t *), "rsmi_dev_power_cap_get")                              \
    X(r_range, int (*)(uint32_t, uint32_t, uint64_t *, uint64_t *), "rsmi_dev_power_cap_range_get")

struct jm_amdsmi_api {
    struct jm_dynlib lib;
    bool rsmi; /* of the two, the older one */
    JM_AMDSMI_SYMBOLS(JM_DYNLIB_MEMBER)
    JM_RSMI_SYMBOLS(JM_DYNLIB_MEMBER)
};

/* Where in amdsmi_power_info_t the powers lie: it changed twice and has no version of its own. */
enum jm_amdsmi_layout {
    JM_AMDSMI_UNKNOWN,
    JM_AMDSMI_23, /* u32 average @0 */
    JM_AMDSMI_24, /* u32 current @0, average @4 */
    JM_AMDSMI_25  /* u64 socket @0, u32 current @8, average @12 */
};
/* By the first number of the library's version (23 to 26: a year, then the major version). */
enum jm_amdsmi_layout jm_amdsmi_layout(unsigned version);
/* Powers in W, of those that are there (0xffff and all ones are not). false: these bytes are no such layout.
 */
struct jm_amdsmi_power {
    bool has_current, has_average, has_socket;
    uint32_t current, average, socket;
};
bool jm_amdsmi_power(enum jm_amdsmi_layout l, const unsigned char bytes[256], struct jm_amdsmi_power *out);

struct jm_amdsmi_gpu {
    void *handle;   /* AMD SMI */
    uint32_t index; /* ROCm SMI */
    uint32_t domain, bus, device, function;
    char bdf[32], uuid[96], name[128];
    bool repeat;      /* a partition of a board that was seen before */
    bool joules;      /* its counter has 64 bits and a unit that is stated: MI200 and later */
    float resolution; /* uJ a count; 0: 2^-16 J */
};

struct jm_amdsmi {
    struct jm_amdsmi_api api;
    bool up;
    char version[64];
    enum jm_amdsmi_layout layout;
    struct jm_amdsmi_gpu *gpu;
    size_t n;
};

enum jm_amdsmi_what {
    JM_AMDSMI_W_ENERGY,
    JM_AMDSMI_W_CURRENT,
    JM_AMDSMI_W_AVERAGE,
    JM_AMDSMI_W_SOCKET,
    JM_AMDSMI_W_CAP
};

const char *jm_amdsmi_error(bool rsmi, int ret);
enum jm_status jm_amdsmi_status(bool rsmi, int ret);
int jm_amdsmi_open(const struct jm_meter_env *env, struct jm_amdsmi *s, struct jm_probe *probe,
                   struct jm_err *err);
void jm_amdsmi_close(struct jm_amdsmi *s);
enum jm_status jm_amdsmi_get(void *vendor, size_t device, int what, int64_t *value);
/* Upper end of the cap's range in W; 0: not known. */
double jm_amdsmi_max_w(const struct jm_amdsmi *s, size_t device);

#endif
