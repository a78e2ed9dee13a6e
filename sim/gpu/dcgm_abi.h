/* SPDX-License-Identifier: Apache-2.0 */
/* The part of DCGM's binary interface that is simulated, declared after the public headers of NVIDIA/DCGM
 * (dcgm_agent.h, dcgm_structs.h, dcgm_fields.h; 3.3.9 to 4.6.0). */
#ifndef SIM_DCGM_ABI_H
#define SIM_DCGM_ABI_H

#include <stdint.h>

typedef int dcgmReturn_t;
typedef uintptr_t dcgmHandle_t, dcgmGpuGrp_t, dcgmFieldGrp_t;

enum {
    DCGM_ST_OK = 0,
    DCGM_ST_BADPARAM = -1,
    DCGM_ST_NOT_CONFIGURED = -5,
    DCGM_ST_NOT_SUPPORTED = -6,
    DCGM_ST_INIT_ERROR = -7,
    DCGM_ST_UNINITIALIZED = -10,
    DCGM_ST_VER_MISMATCH = -12,
    DCGM_ST_UNKNOWN_FIELD = -13,
    DCGM_ST_NO_DATA = -14,
    DCGM_ST_NOT_WATCHED = -16,
    DCGM_ST_CONNECTION_NOT_VALID = -21,
    DCGM_ST_MAX_LIMIT = -24,
    DCGM_ST_DUPLICATE_KEY = -26,
    DCGM_ST_INSUFFICIENT_SIZE = -31
};

enum { DCGM_FE_NONE = 0, DCGM_FE_GPU = 1, DCGM_FE_SWITCH = 3, DCGM_FE_GPU_I = 4, DCGM_FE_CPU = 7 };

#define DCGM_INT64_BLANK       0x7ffffffffffffff0
#define DCGM_FP64_BLANK        140737488355328.0
#define DCGM_FV_FLAG_LIVE_DATA 1u

typedef struct {
    unsigned version, persistAfterDisconnect, timeoutMs, addressIsUnixSocket;
} dcgmConnectV2Params_t;

typedef struct {
    uint32_t entityGroupId, entityId;
} dcgmGroupEntityPair_t;

typedef struct {
    unsigned version;
    uint32_t entityGroupId, entityId;
    unsigned short fieldId, fieldType;
    int status;
    unsigned unused;
    int64_t ts;
    union {
        int64_t i64;
        double dbl;
        char str[256];
        char blob[4096];
    } value;
} dcgmFieldValue_v2;
_Static_assert(sizeof(dcgmFieldValue_v2) == 4128, "dcgmFieldValue_v2");

typedef struct {
    unsigned version;
    char rawBuildInfoString[512];
} dcgmVersionInfo_t;

#endif
