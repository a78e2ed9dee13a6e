/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/dcgm_api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "wire/devkind.h"
#include "base/banned.h"

int jm_dcgm_load(struct jm_dcgm_api *a, const char *lib, struct jm_err *err)
{
    static const char *const newest_first[] = {"libdcgm.so.4", "libdcgm.so.3", NULL};
    const char *const given[] = {lib, NULL};
    const char *missing = NULL;
    *a = (struct jm_dcgm_api){0};
    int rc = jm_dynlib_open(&a->lib, lib ? given : newest_first, err);
    if (rc)
        return rc;
#define FIND(member, type, name, needed)                                                                     \
    JM_DYNLIB_LOAD(a, &a->lib, member, name)                                                                 \
    if (!a->member && needed && !missing)                                                                    \
        missing = name;
    JM_DCGM_SYMBOLS(FIND)
#undef FIND
    if (!missing)
        return 0;
    jm_err_set(err, JM_EUNSUPPORTED, "%s lacks %s: it is no DCGM, or older than DCGM 3.0", a->lib.file,
               missing);
    jm_dcgm_unload(a);
    return JM_EUNSUPPORTED;
}

void jm_dcgm_unload(struct jm_dcgm_api *a)
{
    jm_dynlib_close(&a->lib);
    *a = (struct jm_dcgm_api){0};
}

const char *jm_dcgm_error(int ret)
{
    static const struct {
        int ret;
        const char *text;
    } table[] = {
        {0, "success"},
        {-1, "invalid argument"},
        {-3, "unspecified error"},
        {-4, "out of memory"},
        {-5, "not configured"},
        {-6, "not supported"},
        {-7, "it cannot be initialised"},
        {-8, "NVML failed"},
        {-9, "pending"},
        {-10, "not initialised"},
        {-11, "timed out"},
        {-12, "library and host engine have different versions"},
        {-13, "unknown field"},
        {-14, "no data yet"},
        {-15, "stale data"},
        {-16, "the field is not watched"},
        {-17, "no permission"},
        {-18, "the GPU is lost (fallen off the bus)"},
        {-19, "the GPU must be reset"},
        {-20, "the function was not found"},
        {-21, "there is no connection to a host engine"},
        {-22, "DCGM does not support this GPU"},
        {-24, "a limit of DCGM is reached"},
        {-25, "a library of DCGM was not found"},
        {-26, "the name is taken"},
        {-29, "the host engine must run as root for it"},
        {-31, "insufficient size"},
        {-33, "a module of DCGM is not loaded"},
        {-34, "in use"},
        {-44, "the driver is too old"},
        {-54, "the host engine is paused"},
        {-56, "NVML is not loaded"},
        {-57, "the driver does not answer"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].ret == ret)
            return table[i].text;
    return "an error that this program does not know";
}

enum jm_status jm_dcgm_status(int ret)
{
    switch (ret) {
    case JM_DCGM_OK: return JM_S_OK;
    case JM_DCGM_NOT_SUPPORTED:
    case -13:
    case -20:
    case -22:
    case -32: return JM_S_UNSUPPORTED;
    case JM_DCGM_NO_PERMISSION:
    case JM_DCGM_REQUIRES_ROOT: return JM_S_DENIED;
    case JM_DCGM_GPU_IS_LOST:
    case JM_DCGM_RESET_REQUIRED: return JM_S_LOST;
    case JM_DCGM_STALE_DATA: return JM_S_STALE;
    default: return JM_S_GAP; /* no data, not watched, no connection: this read failed, the next may not */
    }
}

enum jm_status jm_dcgm_number(const struct jm_dcgm_value *v, int text10, int scale10, int64_t *out)
{
    enum jm_status why;
    double d;
    *out = 0;
    if (v->status != JM_DCGM_OK)
        return jm_dcgm_status(v->status);
    if (v->type == 'i') {
        int64_t k = v->value.i64;
        if (jm_dcgm_blank_i64(k, &why))
            return why;
        for (int i = scale10; i < text10; i++)
            if (__builtin_mul_overflow(k, (int64_t)10, &k))
                return JM_S_IMPLAUSIBLE;
        if (text10 >= scale10) {
            *out = k;
            return k < 0 ? JM_S_IMPLAUSIBLE : JM_S_OK;
        }
        d = (double)k;
    } else if (v->type == 'd') {
        d = v->value.dbl;
    } else {
        return JM_S_UNSUPPORTED;
    }
    if (!isfinite(d))
        return JM_S_ABSENT;
    if (v->type == 'd' && d >= 140737488355328.0)
        return jm_dcgm_blank(d, &why) ? why : JM_S_ABSENT; /* DCGM's own test is >= */
    d *= pow(10, text10 - scale10);
    if (!(fabs(d) < 9e18) || d < 0)
        return JM_S_IMPLAUSIBLE;
    *out = (int64_t)llround(d);
    return JM_S_OK;
}

void jm_dcgm_text(const struct jm_dcgm_value *v, char *out, size_t cap)
{
    out[0] = '\0';
    if (v->status != JM_DCGM_OK || v->type != 's' || strncmp(v->value.str, "<<<", 3) == 0)
        return;
    snprintf(out, cap, "%.*s", (int)strnlen(v->value.str, sizeof v->value.str), v->value.str);
    jm_text_plain(out, strlen(out), false);
}
