/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's Data Center GPU Manager (libdcgm.so.4, libdcgm.so.3) as this program sees it: own declarations of
 * the documented ABI, after dcgm_agent.h, dcgm_structs.h and dcgm_fields.h of NVIDIA/DCGM 3.3.9 to 4.6.0, in
 * which they are the same. Every symbol is found by name. Units: field 156 mJ, all power fields W. */
#ifndef JM_METER_DCGM_API_H
#define JM_METER_DCGM_API_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "meter/dynlib.h"
#include "model/words.h"

typedef uintptr_t jm_dcgm_handle, jm_dcgm_group, jm_dcgm_fields;

enum { /* dcgmReturn_t */
       JM_DCGM_OK = 0,
       JM_DCGM_NOT_SUPPORTED = -6,
       JM_DCGM_TIMEOUT = -11,
       JM_DCGM_VER_MISMATCH = -12,
       JM_DCGM_NO_DATA = -14,
       JM_DCGM_STALE_DATA = -15,
       JM_DCGM_NOT_WATCHED = -16,
       JM_DCGM_NO_PERMISSION = -17,
       JM_DCGM_GPU_IS_LOST = -18,
       JM_DCGM_RESET_REQUIRED = -19,
       JM_DCGM_CONNECTION_NOT_VALID = -21,
       JM_DCGM_LIBRARY_NOT_FOUND = -25,
       JM_DCGM_REQUIRES_ROOT = -29,
       JM_DCGM_INSUFFICIENT_SIZE = -31,
       JM_DCGM_NVML_NOT_LOADED = -56
};

enum { /* dcgm_field_entity_group_t */
       JM_DCGM_FE_GPU = 1,
       JM_DCGM_FE_SWITCH = 3,
       JM_DCGM_FE_GPU_I = 4, /* repeats the GPU's power and energy: never asked */
       JM_DCGM_FE_CPU = 7,
       JM_DCGM_FE_CPU_CORE = 8 /* repeats the socket's power: never asked */
};

enum { /* field ids that say what a device is */
       JM_DCGM_FI_DRIVER_VERSION = 1,
       JM_DCGM_FI_NAME = 50,
       JM_DCGM_FI_UUID = 54,
       JM_DCGM_FI_PCI_BUSID = 57,
       JM_DCGM_FI_LIMIT = 164 /* the last of those of a GPU: not asked around edges */
};

#define JM_DCGM_MODE_AUTO    1
#define JM_DCGM_GROUP_EMPTY  1
#define JM_DCGM_FV_LIVE      1u /* ask the driver now, not the cache */
#define JM_DCGM_MAX_ENTITIES 64 /* DCGM_GROUP_MAX_ENTITIES of DCGM 3 */
#define JM_DCGM_PORT         5555

struct jm_dcgm_entity { /* dcgmGroupEntityPair_t */
    uint32_t group, id;
};

struct jm_dcgm_connect { /* dcgmConnectV2Params_v2 */
    uint32_t version, persist, timeout_ms, is_unix;
};
#define JM_DCGM_CONNECT_V2 0x2000010u
static_assert(sizeof(struct jm_dcgm_connect) == 16, "dcgmConnectV2Params_t");

struct jm_dcgm_value { /* dcgmFieldValue_v2 */
    uint32_t version, group, entity;
    uint16_t field, type; /* type: 'd', 'i', 's', 'b', 't' */
    int32_t status;
    uint32_t unused;
    int64_t ts; /* us since 1970 by the clock of the host engine's host; 0: never */
    union {
        int64_t i64;
        double dbl;
        char str[256];
        char blob[4096];
    } value;
};
static_assert(sizeof(struct jm_dcgm_value) == 4128 && offsetof(struct jm_dcgm_value, ts) == 24 &&
                  offsetof(struct jm_dcgm_value, value) == 32,
              "dcgmFieldValue_v2");

struct jm_dcgm_version { /* dcgmVersionInfo_v2 */
    uint32_t version;
    char text[512];
};
#define JM_DCGM_VERSION_V2 (sizeof(struct jm_dcgm_version) | 2u << 24)

/* X(member, prototype, name, needed) */
#define JM_DCGM_SYMBOLS(X)                                                                                   \
    X(init, int (*)(void), "dcgmInit", true)                                                                 \
    X(shutdown, int (*)(void), "dcgmShutdown", true)                                                         \
    X(connect, int (*)(const char *, struct jm_dcgm_connect *, jm_dcgm_handle *), "dcgmConnect_v2", true)    \
    X(disconnect, int (*)(jm_dcgm_handle), "dcgmDisconnect", true)                                           \
    X(start, int (*)(int, jm_dcgm_handle *), "dcgmStartEmbedded", false)                                     \
    X(stop, int (*)(jm_dcgm_handle), "dcgmStopEmbedded", false)                                              \
    X(entities, int (*)(jm_dcgm_handle, int, uint32_t *, int *, unsigned), "dcgmGetEntityGroupEntities",     \
      true)                                                                                                  \
    X(group_new, int (*)(jm_dcgm_handle, int, const char *, jm_dcgm_group *), "dcgmGroupCreate", true)       \
    X(group_add, int (*)(jm_dcgm_handle, jm_dcgm_group, int, uint32_t), "dcgmGroupAddEntity", true)          \
    X(group_free, int (*)(jm_dcgm_handle, jm_dcgm_group), "dcgmGroupDestroy", false)                         \
    X(fields_new, int (*)(jm_dcgm_handle, int, uint16_t *, const char *, jm_dcgm_fields *),                  \
      "dcgmFieldGroupCreate", true)                                                                          \
    X(fields_free, int (*)(jm_dcgm_handle, jm_dcgm_fields), "dcgmFieldGroupDestroy", false)                  \
    X(watch, int (*)(jm_dcgm_handle, jm_dcgm_group, jm_dcgm_fields, long long, double, int),                 \
      "dcgmWatchFields", true)                                                                               \
    X(unwatch, int (*)(jm_dcgm_handle, jm_dcgm_group, jm_dcgm_fields), "dcgmUnwatchFields", false)           \
    X(update, int (*)(jm_dcgm_handle, int), "dcgmUpdateAllFields", true)                                     \
    X(latest,                                                                                                \
      int (*)(jm_dcgm_handle, struct jm_dcgm_entity *, unsigned, uint16_t *, unsigned, unsigned,             \
              struct jm_dcgm_value *),                                                                       \
      "dcgmEntitiesGetLatestValues", true)                                                                   \
    X(engine_version, int (*)(jm_dcgm_handle, struct jm_dcgm_version *), "dcgmHostengineVersionInfo", false)

struct jm_dcgm_api {
    struct jm_dynlib lib;
#define JM_DCGM_MEMBER(member, type, name, needed) __typeof__(type) member;
    JM_DCGM_SYMBOLS(JM_DCGM_MEMBER)
#undef JM_DCGM_MEMBER
};

/* Loads lib, or where it is NULL libdcgm.so.4, then libdcgm.so.3; JM_EABSENT with the loader's words,
 * JM_EUNSUPPORTED where a symbol is missing. Starts nothing. */
int jm_dcgm_load(struct jm_dcgm_api *a, const char *lib, struct jm_err *err);
void jm_dcgm_unload(struct jm_dcgm_api *a);

const char *jm_dcgm_error(int ret);
enum jm_status jm_dcgm_status(int ret);
/* The value as an integer at scale10 of the field's unit (text10: what its numbers are in): status of the
 * entry, blanks of both types, values that no integer holds. */
enum jm_status jm_dcgm_number(const struct jm_dcgm_value *v, int text10, int scale10, int64_t *out);
/* The text of a string field, "" where it has none. Always ends. */
void jm_dcgm_text(const struct jm_dcgm_value *v, char *out, size_t cap);

#endif
