/* SPDX-License-Identifier: Apache-2.0 */
/* Faults and processes as text. */
#include "simgpu_conf.h"
#include "simgpu_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t what;
} whats[] = {
    {"all", SIMGPU_W_ALL},       {"energy", SIMGPU_W_ENERGY},   {"power", SIMGPU_W_POWER},
    {"usage", SIMGPU_W_USAGE},   {"average", SIMGPU_W_AVERAGE}, {"instant", SIMGPU_W_INSTANT},
    {"limit", SIMGPU_W_LIMIT},   {"clocks", SIMGPU_W_CLOCKS},   {"temp", SIMGPU_W_TEMP},
    {"util", SIMGPU_W_UTIL},     {"memory", SIMGPU_W_MEMORY},   {"processes", SIMGPU_W_PROCS},
    {"pstate", SIMGPU_W_PSTATE}, {"reasons", SIMGPU_W_REASONS}, {"mig", SIMGPU_W_MIG},
    {"set", SIMGPU_W_SET},       {"samples", SIMGPU_W_SAMPLES}, {"fields", SIMGPU_W_FIELDS},
    {"handle", SIMGPU_W_HANDLE}, {"ident", SIMGPU_W_IDENT},     {"modes", SIMGPU_W_MODES},
    {"dcgm", SIMGPU_W_DCGM},
};

#define SENSORS (SIMGPU_W_ENERGY | SIMGPU_W_POWER)

static const struct {
    struct simgpu_fault_help help;
    int kind;
    uint32_t what;                   /* when not said */
    const struct simgpu_unit *value; /* what "value" is, NULL when it has none */
    int32_t code;                    /* when not said; -1: must be said */
} kinds[] = {
    {{"reset", "the energy counter restarts from 0"}, SIMGPU_FAULT_RESET, SIMGPU_W_ENERGY, NULL, 0},
    {{"frozen", "values stay as they are; what=energy+power"}, SIMGPU_FAULT_FROZEN, SENSORS, NULL, 0},
    {{"not_supported", "NOT_SUPPORTED; what=energy+power"}, SIMGPU_FAULT_NOT_SUPPORTED, SENSORS, NULL, 3},
    {{"lost", "GPU_IS_LOST; what=all"}, SIMGPU_FAULT_LOST, SIMGPU_W_ALL, NULL, 15},
    {{"no_permission", "NO_PERMISSION; what=all"}, SIMGPU_FAULT_NO_PERMISSION, SIMGPU_W_ALL, NULL, 4},
    {{"entry", "FieldValues succeeds, the entry has code= [3]"}, SIMGPU_FAULT_ENTRY, SENSORS, NULL, 3},
    {{"error", "the calls of what= return code="}, SIMGPU_FAULT_ERROR, SENSORS, NULL, -1},
    {{"init", "nvmlInit returns code= [9]"}, SIMGPU_FAULT_INIT, SIMGPU_W_ALL, NULL, 9},
    {{"slow", "the calls of what= take value= longer"},
     SIMGPU_FAULT_SLOW,
     SIMGPU_W_ALL,
     simgpu_units_time,
     0},
    {{"value", "the gauges show value= (a power)"},
     SIMGPU_FAULT_VALUE,
     SIMGPU_W_POWER,
     simgpu_units_power,
     0},
    {{"jump", "value= (an energy) is added to the counter"},
     SIMGPU_FAULT_JUMP,
     SIMGPU_W_ENERGY,
     simgpu_units_energy,
     0},
    {{"stride", "process lists in 32-byte rows (driver 535.43)"},
     SIMGPU_FAULT_STRIDE,
     SIMGPU_W_PROCS,
     NULL,
     0},
    {{"reasons", "clock event bits value= (a number) are set"},
     SIMGPU_FAULT_REASONS,
     SIMGPU_W_REASONS,
     simgpu_units_plain,
     0},
    {{"garbage", "impossible rows in process utilisation"}, SIMGPU_FAULT_GARBAGE, SIMGPU_W_PROCS, NULL, 0},
};

static const struct {
    const char *name;
    int32_t code;
} codes[] = {
    {"UNINITIALIZED", 1},
    {"INVALID_ARGUMENT", 2},
    {"NOT_SUPPORTED", 3},
    {"NO_PERMISSION", 4},
    {"NOT_FOUND", 6},
    {"INSUFFICIENT_SIZE", 7},
    {"INSUFFICIENT_POWER", 8},
    {"DRIVER_NOT_LOADED", 9},
    {"TIMEOUT", 10},
    {"IRQ_ISSUE", 11},
    {"LIBRARY_NOT_FOUND", 12},
    {"FUNCTION_NOT_FOUND", 13},
    {"CORRUPTED_INFOROM", 14},
    {"GPU_IS_LOST", 15},
    {"RESET_REQUIRED", 16},
    {"OPERATING_SYSTEM", 17},
    {"LIB_RM_VERSION_MISMATCH", 18},
    {"IN_USE", 19},
    {"MEMORY", 20},
    {"NO_DATA", 21},
    {"DEPRECATED", 26},
    {"NOT_READY", 27},
    {"GPU_NOT_FOUND", 28},
    {"UNKNOWN", 999},
};

const struct simgpu_fault_help *simgpu_fault_help(int i)
{
    return i >= 0 && (size_t)i < sizeof kinds / sizeof *kinds ? &kinds[i].help : NULL;
}

const char *simgpu_what_name(int i)
{
    return i >= 0 && (size_t)i < sizeof whats / sizeof *whats ? whats[i].name : NULL;
}

static int bad(char *why, size_t n, const char *want)
{
    snprintf(why, n, "%s", want);
    return -EINVAL;
}

/* "energy+power" */
static bool parse_what(const char *v, size_t vn, uint32_t *out)
{
    char buf[128];
    if (vn >= sizeof buf)
        return false;
    memcpy(buf, v, vn);
    buf[vn] = 0;
    const char *rest = buf;
    size_t n;
    *out = 0;
    for (const char *p; (p = simgpu_item(&rest, '+', &n));) {
        size_t i = 0;
        while (i < sizeof whats / sizeof *whats && !simgpu_is(p, n, whats[i].name))
            i++;
        if (i == sizeof whats / sizeof *whats)
            return false;
        *out |= whats[i].what;
    }
    return true;
}

static bool parse_code(const char *v, size_t vn, int32_t *out)
{
    int64_t x;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (simgpu_is(v, vn, codes[i].name)) {
            *out = codes[i].code;
            return true;
        }
    if (!simgpu_quantity(v, vn, simgpu_units_plain, &x) || x < 1 || x > 999)
        return false;
    *out = (int32_t)x;
    return true;
}

int simgpu_conf_fault(struct simgpu_conf *c, const char *text, char *why, size_t n)
{
    struct simgpu_fault f = {.gpu = -1, .until_ns = SIMGPU_FOREVER};
    size_t pn, row = 0, rows = sizeof kinds / sizeof *kinds;
    const char *rest = text, *value = NULL;
    size_t value_n = 0;
    int64_t x, length = -1;
    for (const char *p; (p = simgpu_item(&rest, ',', &pn));) {
        const char *k, *v;
        size_t kn, vn;
        if (!simgpu_pair(p, pn, &k, &kn, &v, &vn))
            return bad(why, n, "a fault is a list of name=value");
        if (simgpu_is(k, kn, "kind")) {
            for (row = 0; row < rows && !simgpu_is(v, vn, kinds[row].help.kind); row++)
                ;
            if (row == rows)
                return bad(why, n, "there is no such kind of fault; see joulemark-sim gpu --help");
            f.kind = kinds[row].kind;
        } else if (simgpu_is(k, kn, "gpu")) {
            if (simgpu_is(v, vn, "all"))
                continue;
            if (!simgpu_quantity(v, vn, simgpu_units_plain, &x) || x < 0 || x >= SIMGPU_MAX_GPUS)
                return bad(why, n, "gpu is a number or all");
            f.gpu = (int32_t)x;
        } else if (simgpu_is(k, kn, "at")) {
            if (!simgpu_quantity(v, vn, simgpu_units_time, &f.from_ns) || f.from_ns < 0)
                return bad(why, n, "at is a time from the start (10s)");
        } else if (simgpu_is(k, kn, "for")) {
            if (!simgpu_quantity(v, vn, simgpu_units_time, &length) || length <= 0)
                return bad(why, n, "for is how long it lasts (5s)");
        } else if (simgpu_is(k, kn, "what")) {
            if (!parse_what(v, vn, &f.what))
                return bad(why, n, "what is a list of call groups joined by +; see joulemark-sim gpu --help");
        } else if (simgpu_is(k, kn, "code")) {
            if (!parse_code(v, vn, &f.code))
                return bad(why, n, "code is the name or number of an NVML error (NOT_SUPPORTED, 15)");
        } else if (simgpu_is(k, kn, "value")) {
            value = v;
            value_n = vn;
        } else {
            return bad(why, n, "a fault has kind, gpu, at, for, what, code and value");
        }
    }
    if (!f.kind)
        return bad(why, n, "a fault needs its kind");
    if (!value != !kinds[row].value)
        return bad(why, n, value ? "this kind has no value" : "this kind needs value=");
    if (value && !simgpu_quantity(value, value_n, kinds[row].value, &f.value))
        return bad(why, n, "value lacks its unit (a time, a power or an energy, as the kind needs)");
    if (f.kind == SIMGPU_FAULT_VALUE)
        f.value /= 1000; /* mW */
    if (f.kind == SIMGPU_FAULT_SLOW && (f.value < 0 || f.value > INT64_MAX / 4))
        return bad(why, n, "value must not be negative");
    if (f.kind == SIMGPU_FAULT_VALUE && (f.value < 0 || f.value > UINT32_MAX))
        return bad(why, n, "value must lie between 0 W and 4294967 W");
    if (!f.code)
        f.code = kinds[row].code;
    if (f.code < 0)
        return bad(why, n, "this kind needs code=");
    if (!f.what)
        f.what = kinds[row].what;
    if (length > 0)
        f.until_ns = length > SIMGPU_FOREVER - f.from_ns ? SIMGPU_FOREVER : f.from_ns + length;
    if (c->faults == SIMGPU_MAX_FAULTS)
        return bad(why, n, "more than 256 faults");
    c->fault[c->faults++] = f;
    return 0;
}

int simgpu_conf_process(struct simgpu_conf *c, const char *text, char *why, size_t n)
{
    int gpu = 0;
    bool child = false;
    struct simgpu_proc q = {.memory = UINT64_MAX, .gi = UINT32_MAX, .ci = UINT32_MAX};
    size_t pn;
    const char *rest = text;
    for (const char *p; (p = simgpu_item(&rest, ',', &pn));) {
        const char *k, *v;
        size_t kn, vn;
        int64_t x = 0;
        if (!simgpu_pair(p, pn, &k, &kn, &v, &vn))
            return bad(why, n, "a process is a list of name=value");
        bool number = simgpu_quantity(v, vn, simgpu_units_plain, &x) && x >= 0;
        if (simgpu_is(k, kn, "pid") && simgpu_is(v, vn, "child")) {
            child = true;
        } else if (simgpu_is(k, kn, "pid")) {
            if (!number || x < 1 || x > INT32_MAX)
                return bad(why, n, "pid is a process id or child");
            q.pid = (uint32_t)x;
        } else if (simgpu_is(k, kn, "gpu")) {
            if (simgpu_is(v, vn, "all")) {
                gpu = -1;
                continue;
            }
            if (!number || x >= SIMGPU_MAX_GPUS)
                return bad(why, n, "gpu is a number or all");
            gpu = (int)x;
        } else if (simgpu_is(k, kn, "mem")) {
            if (!simgpu_quantity(v, vn, simgpu_units_bytes, &x) || x < 0)
                return bad(why, n, "mem is a size (20GiB)");
            q.memory = (uint64_t)x;
        } else if (simgpu_is(k, kn, "kind")) {
            if (!simgpu_is(v, vn, "compute") && !simgpu_is(v, vn, "graphics") && !simgpu_is(v, vn, "mps"))
                return bad(why, n, "kind is compute, graphics or mps");
            q.kind = v[0] == 'c' ? 0 : v[0] == 'g' ? 1 : 2;
        } else if (simgpu_is(k, kn, "sm") || simgpu_is(k, kn, "memutil")) {
            if (!number || x > 100)
                return bad(why, n, "sm and memutil are percentages, 0 to 100");
            *(k[0] == 's' ? &q.sm_pct : &q.mem_pct) = (uint32_t)x;
        } else if (simgpu_is(k, kn, "gi") || simgpu_is(k, kn, "ci")) {
            if (!number || x > 100)
                return bad(why, n, "gi and ci are ids of MIG instances");
            *(k[0] == 'g' ? &q.gi : &q.ci) = (uint32_t)x;
        } else {
            return bad(why, n, "a process has pid, gpu, mem, kind, sm, memutil, gi and ci");
        }
    }
    if (!q.pid && !child)
        return bad(why, n, "a process needs its pid");
    if (c->procs == sizeof c->proc / sizeof *c->proc)
        return bad(why, n, "more than 256 processes");
    c->proc[c->procs].gpu = gpu;
    c->proc[c->procs].child = child;
    c->proc[c->procs++].p = q;
    return 0;
}
