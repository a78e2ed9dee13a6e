/* SPDX-License-Identifier: Apache-2.0 */
/* What the codes and bytes of AMD's libraries mean. */
#include "meter/amdsmi.h"

#include <string.h>

#include "base/banned.h"

struct text {
    int ret;
    const char *text;
};

/* amdsmi.h, amdsmi_status_t */
static const struct text smi[] = {
    {0, "success"},
    {1, "invalid parameters"},
    {2, "not supported"},
    {3, "not implemented yet"},
    {4, "a library that it needs could not be loaded"},
    {5, "a library that it needs lacks a symbol"},
    {6, "an error of libdrm"},
    {7, "a call of the driver failed"},
    {8, "timed out"},
    {9, "to be tried again"},
    {10, "no permission"},
    {11, "interrupted"},
    {12, "an I/O error"},
    {14, "a file of the driver cannot be read"},
    {15, "out of resources"},
    {16, "an internal error"},
    {18, "its internal tables could not be set up"},
    {20, "a folder of the driver is missing"},
    {30, "the device is busy"},
    {31, "the device was not found"},
    {32, "not initialised"},
    {34, "the driver is not loaded"},
    {40, "no data"},
    {41, "insufficient size"},
    {42, "an unexpected amount of data"},
    {43, "unexpected data"},
    {52, "a file of the driver is missing"},
    {54, "the driver could not be restarted"},
};
/* rocm_smi.h, rsmi_status_t */
static const struct text rsmi[] = {
    {0, "success"},
    {1, "invalid arguments"},
    {2, "not supported"},
    {3, "a file of the driver cannot be read"},
    {4, "no permission"},
    {5, "out of resources"},
    {6, "an internal error"},
    {7, "out of bounds"},
    {8, "it could not be initialised"},
    {9, "not implemented yet"},
    {10, "the device was not found"},
    {11, "insufficient size"},
    {12, "interrupted"},
    {13, "an unexpected amount of data"},
    {14, "no data"},
    {15, "unexpected data"},
    {16, "busy: another process holds its lock, or one that ended left it behind in /dev/shm/rocm_smi*"},
};

const char *jm_amdsmi_error(bool old, int ret)
{
    const struct text *t = old ? rsmi : smi;
    size_t n = old ? sizeof rsmi / sizeof *rsmi : sizeof smi / sizeof *smi;
    for (size_t i = 0; i < n; i++)
        if (t[i].ret == ret)
            return t[i].text;
    return "an error that this program does not know";
}

enum jm_status jm_amdsmi_status(bool old, int ret)
{
    if (ret == JM_AMDSMI_OK)
        return JM_S_OK;
    if (old)
        return ret == JM_RSMI_NOT_SUPPORTED || ret == JM_RSMI_NOT_YET ? JM_S_UNSUPPORTED
               : ret == JM_RSMI_PERMISSION                            ? JM_S_DENIED
               : ret == JM_RSMI_NOT_FOUND                             ? JM_S_LOST
                                                                      : JM_S_GAP;
    return ret == JM_AMDSMI_NOT_SUPPORTED || ret == JM_AMDSMI_NOT_YET ? JM_S_UNSUPPORTED
           : ret == JM_AMDSMI_NO_PERM                                 ? JM_S_DENIED
           : ret == JM_AMDSMI_NOT_FOUND || ret == JM_AMDSMI_NO_DRIVER ? JM_S_LOST
                                                                      : JM_S_GAP;
}

enum jm_amdsmi_layout jm_amdsmi_layout(unsigned version)
{
    return version == 23                    ? JM_AMDSMI_23
           : version == 24                  ? JM_AMDSMI_24
           : version >= 25 && version <= 27 ? JM_AMDSMI_25
                                            : JM_AMDSMI_UNKNOWN;
}

static uint32_t u32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v); /* of this process: its own byte order */
    return v;
}

/* 0xffff until ROCm 6.3, all ones since. false: more than a board can draw, so no power in W. */
static bool take(uint32_t v, bool *has, uint32_t *out)
{
    *has = v != 0xffff && v != UINT32_MAX;
    *out = *has ? v : 0;
    return !*has || v < 20000;
}

bool jm_amdsmi_power(enum jm_amdsmi_layout l, const unsigned char b[256], struct jm_amdsmi_power *out)
{
    *out = (struct jm_amdsmi_power){0};
    if (l == JM_AMDSMI_23)
        return take(u32(b), &out->has_average, &out->average);
    if (l == JM_AMDSMI_24)
        return take(u32(b), &out->has_current, &out->current) &&
               take(u32(b + 4), &out->has_average, &out->average);
    if (l != JM_AMDSMI_25)
        return false;
    uint32_t high = u32(b + 4); /* of 64 bits: 0, or ones; else two powers of the layout before lie there */
    return (high == 0 || high == UINT32_MAX) && take(u32(b), &out->has_socket, &out->socket) &&
           take(u32(b + 8), &out->has_current, &out->current) &&
           take(u32(b + 12), &out->has_average, &out->average);
}
