/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's management library (libnvidia-ml.so.1) as this program sees it: own declarations of the documented
 * ABI, every symbol found by its versioned name and every one optional, so that no driver is too old and no
 * header is needed. Units of the library: power mW, energy mJ, clocks MHz, temperature degrees C. */
#ifndef JM_METER_NVML_API_H
#define JM_METER_NVML_API_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "meter/dynlib.h"
#include "model/words.h"

typedef void *jm_nvml_dev;

enum { /* nvmlReturn_t */
       JM_NVML_OK = 0,
       JM_NVML_NOT_SUPPORTED = 3,
       JM_NVML_NO_PERMISSION = 4,
       JM_NVML_NOT_FOUND = 6,
       JM_NVML_INSUFFICIENT_SIZE = 7,
       JM_NVML_DRIVER_NOT_LOADED = 9,
       JM_NVML_FUNCTION_NOT_FOUND = 13,
       JM_NVML_GPU_IS_LOST = 15,
       JM_NVML_RESET_REQUIRED = 16,
       JM_NVML_LIB_RM_VERSION_MISMATCH = 18,
       JM_NVML_NO_DATA = 21,
       JM_NVML_DEPRECATED = 26
};

enum { /* field ids */
       JM_NVML_FI_ENERGY = 83,
       JM_NVML_FI_POWER_AVERAGE = 185,
       JM_NVML_FI_POWER_INSTANT = 186,
       JM_NVML_FI_LIMIT_REQUESTED = 192
};

enum { /* power scopes: by the header's macros (its comment has them differently) */
       JM_NVML_SCOPE_GPU = 0,
       JM_NVML_SCOPE_MODULE = 1,
       JM_NVML_SCOPE_MEMORY = 2
};

enum {
    JM_NVML_T_DOUBLE,
    JM_NVML_T_UINT,
    JM_NVML_T_ULONG,
    JM_NVML_T_ULONGLONG,
    JM_NVML_T_SLL,
    JM_NVML_T_SINT,
    JM_NVML_T_USHORT
};

struct jm_nvml_pci {
    char bus_id_legacy[16];
    uint32_t domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
static_assert(sizeof(struct jm_nvml_pci) == 68, "nvmlPciInfo_t");

struct jm_nvml_field {
    uint32_t id, scope;
    int64_t timestamp; /* us since 1970 */
    int64_t latency_us;
    int32_t type;
    int32_t ret; /* of this entry: the call succeeds when any entry did */
    union {
        double d;
        uint32_t u;
        uint64_t ull;
        int64_t sll;
        int32_t i;
        uint16_t us;
    } value;
};
static_assert(sizeof(struct jm_nvml_field) == 40 && offsetof(struct jm_nvml_field, value) == 32,
              "nvmlFieldValue_t");

struct jm_nvml_util {
    uint32_t gpu, memory; /* percent */
};

struct jm_nvml_temp { /* nvmlTemperature_v1_t */
    uint32_t version;
    uint32_t sensor;
    int32_t celsius;
};
#define JM_NVML_TEMP_V1 0x100000cu

/* X(member, prototype, names: newest first, all of the same ABI) */
#define JM_NVML_SYMBOLS(X)                                                                                   \
    X(init, int (*)(void), "nvmlInit_v2")                                                                    \
    X(shutdown, int (*)(void), "nvmlShutdown")                                                               \
    X(driver_version, int (*)(char *, unsigned), "nvmlSystemGetDriverVersion")                               \
    X(nvml_version, int (*)(char *, unsigned), "nvmlSystemGetNVMLVersion")                                   \
    X(cuda_version, int (*)(int *), "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")   \
    X(count, int (*)(unsigned *), "nvmlDeviceGetCount_v2")                                                   \
    X(by_index, int (*)(unsigned, jm_nvml_dev *), "nvmlDeviceGetHandleByIndex_v2")                           \
    X(uuid, int (*)(jm_nvml_dev, char *, unsigned), "nvmlDeviceGetUUID")                                     \
    X(name, int (*)(jm_nvml_dev, char *, unsigned), "nvmlDeviceGetName")                                     \
    X(pci, int (*)(jm_nvml_dev, struct jm_nvml_pci *), "nvmlDeviceGetPciInfo_v3",                            \
      "nvmlDeviceGetPciInfo_v2") /* without bus_id: 52 bytes */                                              \
    X(arch, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetArchitecture")                                   \
    X(capability, int (*)(jm_nvml_dev, int *, int *), "nvmlDeviceGetCudaComputeCapability")                  \
    X(energy, int (*)(jm_nvml_dev, unsigned long long *), "nvmlDeviceGetTotalEnergyConsumption")             \
    X(power, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetPowerUsage")                                    \
    X(limit_enforced, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetEnforcedPowerLimit")                   \
    X(limit, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetPowerManagementLimit")                          \
    X(limit_default, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetPowerManagementDefaultLimit")           \
    X(limit_range, int (*)(jm_nvml_dev, unsigned *, unsigned *),                                             \
      "nvmlDeviceGetPowerManagementLimitConstraints")                                                        \
    X(fields, int (*)(jm_nvml_dev, int, struct jm_nvml_field *), "nvmlDeviceGetFieldValues")                 \
    X(clock, int (*)(jm_nvml_dev, int, unsigned *), "nvmlDeviceGetClockInfo")                                \
    X(clock_max, int (*)(jm_nvml_dev, int, unsigned *), "nvmlDeviceGetMaxClockInfo")                         \
    X(pstate, int (*)(jm_nvml_dev, int *), "nvmlDeviceGetPerformanceState")                                  \
    X(reasons, int (*)(jm_nvml_dev, unsigned long long *), "nvmlDeviceGetCurrentClocksEventReasons",         \
      "nvmlDeviceGetCurrentClocksThrottleReasons")                                                           \
    X(temperature_v, int (*)(jm_nvml_dev, struct jm_nvml_temp *), "nvmlDeviceGetTemperatureV")               \
    X(temperature, int (*)(jm_nvml_dev, int, unsigned *), "nvmlDeviceGetTemperature")                        \
    X(utilization, int (*)(jm_nvml_dev, struct jm_nvml_util *), "nvmlDeviceGetUtilizationRates")             \
    X(persistence, int (*)(jm_nvml_dev, int *), "nvmlDeviceGetPersistenceMode")                              \
    X(mig_mode, int (*)(jm_nvml_dev, unsigned *, unsigned *), "nvmlDeviceGetMigMode")                        \
    X(mig_max, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetMaxMigDeviceCount")                           \
    X(mig_by_index, int (*)(jm_nvml_dev, unsigned, jm_nvml_dev *), "nvmlDeviceGetMigDeviceHandleByIndex")    \
    X(gpu_instance, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetGpuInstanceId")                          \
    X(compute_instance, int (*)(jm_nvml_dev, unsigned *), "nvmlDeviceGetComputeInstanceId")                  \
    X(virtualization, int (*)(jm_nvml_dev, int *), "nvmlDeviceGetVirtualizationMode")                        \
    X(procs_compute, int (*)(jm_nvml_dev, unsigned *, void *), "nvmlDeviceGetComputeRunningProcesses_v3",    \
      "nvmlDeviceGetComputeRunningProcesses_v2")                                                             \
    X(procs_v1, int (*)(jm_nvml_dev, unsigned *, void *), "nvmlDeviceGetComputeRunningProcesses")            \
    X(procs_mps, int (*)(jm_nvml_dev, unsigned *, void *), "nvmlDeviceGetMPSComputeRunningProcesses_v3",     \
      "nvmlDeviceGetMPSComputeRunningProcesses_v2")                                                          \
    X(procs_graphics, int (*)(jm_nvml_dev, unsigned *, void *), "nvmlDeviceGetGraphicsRunningProcesses_v3",  \
      "nvmlDeviceGetGraphicsRunningProcesses_v2")

struct jm_nvml_api {
    struct jm_dynlib lib;
    JM_NVML_SYMBOLS(JM_DYNLIB_MEMBER)
};

/* Loads the library and finds its symbols; JM_EABSENT with the loader's words. Does not initialise it. */
int jm_nvml_load(struct jm_nvml_api *a, const char *lib, struct jm_err *err);
void jm_nvml_unload(struct jm_nvml_api *a);

/* Own texts: nvmlErrorString may be missing. */
const char *jm_nvml_error(int ret);
enum jm_status jm_nvml_status(int ret);
/* What an entry of GetFieldValues holds, as an integer in the library's unit; false: nothing that can be one.
 */
bool jm_nvml_field_value(const struct jm_nvml_field *f, int64_t *out);

#endif
