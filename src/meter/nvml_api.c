/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/nvml_api.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

int jm_nvml_load(struct jm_nvml_api *a, const char *lib, struct jm_err *err)
{
    *a = (struct jm_nvml_api){0};
    int rc = jm_dynlib_open(&a->lib, (const char *const[]){lib, NULL}, err);
    if (rc)
        return rc;
#define LOAD(member, type, ...) JM_DYNLIB_LOAD(a, &a->lib, member, __VA_ARGS__)
    JM_NVML_SYMBOLS(LOAD)
#undef LOAD
    if (a->init && a->shutdown && a->count && a->by_index)
        return 0;
    jm_nvml_unload(a);
    return jm_err_set(
        err, JM_EUNSUPPORTED,
        "%s lacks nvmlInit_v2, nvmlShutdown, nvmlDeviceGetCount_v2 or nvmlDeviceGetHandleByIndex_v2: "
        "it is no NVML, or older than driver 319",
        lib);
}

void jm_nvml_unload(struct jm_nvml_api *a)
{
    jm_dynlib_close(&a->lib);
    *a = (struct jm_nvml_api){0};
}

const char *jm_nvml_error(int ret)
{
    static const struct {
        int ret;
        const char *text;
    } table[] = {
        {0, "success"},
        {1, "not initialised"},
        {2, "invalid argument"},
        {3, "not supported"},
        {4, "no permission"},
        {5, "already initialised"},
        {6, "not found"},
        {7, "insufficient size"},
        {8, "external power cables are not attached"},
        {9, "the driver is not loaded"},
        {10, "timed out"},
        {11, "interrupt problem of the GPU"},
        {12, "a library was not found"},
        {13, "this driver lacks the function"},
        {14, "the inforom is corrupted"},
        {15, "the GPU is lost (fallen off the bus)"},
        {16, "the GPU must be reset"},
        {17, "the operating system blocks the GPU"},
        {18, "driver and library have different versions"},
        {19, "in use"},
        {20, "out of memory"},
        {21, "no data"},
        {22, "vgpu ecc is not supported"},
        {23, "insufficient resources"},
        {24, "frequency not supported"},
        {25, "argument version mismatch"},
        {26, "deprecated"},
        {27, "not ready"},
        {28, "no GPU found"},
        {29, "invalid state"},
        {999, "unknown error of the driver"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].ret == ret)
            return table[i].text;
    return "an error that this program does not know";
}

enum jm_status jm_nvml_status(int ret)
{
    switch (ret) {
    case JM_NVML_OK: return JM_S_OK;
    case JM_NVML_NOT_SUPPORTED:
    case JM_NVML_FUNCTION_NOT_FOUND:
    case JM_NVML_DEPRECATED: return JM_S_UNSUPPORTED;
    case JM_NVML_NO_PERMISSION: return JM_S_DENIED;
    case JM_NVML_GPU_IS_LOST:
    case JM_NVML_RESET_REQUIRED: return JM_S_LOST;
    case JM_NVML_NOT_FOUND: return JM_S_ABSENT;
    default: return JM_S_GAP; /* 10, 21, 27, 999 ...: this read failed, the next may not */
    }
}

bool jm_nvml_field_value(const struct jm_nvml_field *f, int64_t *out)
{
    switch (f->type) {
    case JM_NVML_T_DOUBLE:
        if (!(fabs(f->value.d) < 9e18))
            return false;
        *out = (int64_t)llround(f->value.d);
        return true;
    case JM_NVML_T_UINT: *out = f->value.u; return true;
    case JM_NVML_T_ULONG:
    case JM_NVML_T_ULONGLONG:
        if (f->value.ull > INT64_MAX)
            return false;
        *out = (int64_t)f->value.ull;
        return true;
    case JM_NVML_T_SLL: *out = f->value.sll; return true;
    case JM_NVML_T_SINT: *out = f->value.i; return true;
    case JM_NVML_T_USHORT: *out = f->value.us; return true;
    default: return false;
    }
}
