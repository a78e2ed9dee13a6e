/* SPDX-License-Identifier: Apache-2.0 */
#include "instrument.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS         1e9
#define BURST_NS   INT64_C(500000000) /* on either side of an edge */
#define BURST_STEP INT64_C(1000000)

/* clang-format off: a table */
#define CONF(period, window, lag, jitter, offset, drift, quantum, tol, poll, cost)                           \
    {                                                                                                        \
        period, window, lag, jitter, offset, drift, quantum, NAN, tol, poll, cost, NAN, 0                    \
    }
const struct inst_kind inst_kinds[] = {
    {"gpu.energy", "nvml", "gpu", "energy", "energy since the driver was loaded", "counter of each board, mJ",
     .counter = true, .burst = true, .scale10 = -3, .native = 1e-3,
     .conf = CONF(0.1, 0, 0, 0.001, 0, 30, 1e-3, 0.02, 0.1, 40e-6)},
    {"gpu.power", "nvml", "gpu", "power.average", "mean of the last second", "1 s mean of each board",
     .burst = true, .scale10 = -3, .native = 1e-3,
     .conf = CONF(0.1, 1, 0, 0.001, 0, 30, 1e-3, 0.02, 0.1, 40e-6)},
    {"gpu.instant", "nvml", "gpu", "power.instant", "25 of each 100 ms", "25 of 100 ms of each board",
     .partial = true, .burst = true, .scale10 = -3, .native = 1e-3,
     .conf = CONF(0.1, 0.025, 0, 0.001, 0, 30, 1e-3, 0.02, 0.1, 40e-6)},
    {"rapl.package", "rapl", "package", "energy", "MSR_PKG_ENERGY_STATUS", "counter of each socket, 2^-14 J",
     .counter = true, .burst = true, .scale2 = -14, .native = 0x1p-14, .modulus = UINT64_C(1) << 32,
     .conf = CONF(0.001, 0, 0, 20e-6, 0, 0, 0x1p-14, 0.01, 0.1, 10e-6)},
    {"rapl.dram", "rapl", "dram", "energy", "MSR_DRAM_ENERGY_STATUS", "counter of the memory, 2^-14 J",
     .counter = true, .burst = true, .scale2 = -14, .native = 0x1p-14, .modulus = UINT64_C(1) << 32,
     .conf = CONF(0.001, 0, 0, 20e-6, 0, 0, 0x1p-14, 0.02, 0.1, 10e-6)},
    {"bmc.power", "redfish", "node", "power", "PowerSubsystem, output of the supplies",
     "the BMC's figure of the DC side: an average, late, in whole W, on a clock that is off", .clock = true,
     .native = 1, .conf = CONF(1, 5, 0.4, 0.02, 37, 60, 1, 0.01, 1, 0.03)},
    {"pdu.power", "snmp", "psu", "power", "outlet, active power", "outlet of each supply, 10 W steps",
     .native = 1, .conf = CONF(1, 1, 0.2, 0.01, 0, 40, 10, 0.01, 1, 0.005)},
    {"pdu.energy", "snmp", "psu", "energy", "outlet, active energy", "outlet of each supply, 0.1 kWh steps",
     .counter = true, .native = 1, .conf = CONF(1, 0, 0.2, 0.01, 0, 40, 360000, 0.01, 1, 0.005)},
    {"analyzer.power", "yokogawa", "inlet_ac", "power", "P, 100 ms updates", "power analyzer at the inlet",
     .stamped = true, .scale10 = -2, .native = 1e-2,
     .conf = CONF(0.1, 0.1, 0, 0, 0.002, 5, 0.01, 0.001, 0.1, 0.001)},
    {NULL}};

static const struct {
    const char *name;
    size_t at;
    double least, most;
    const char *help;
} keys[] = {
    {"period", offsetof(struct inst_conf, period_s), 1e-4, 600, "s between refreshes"},
    {"window", offsetof(struct inst_conf, window_s), 0, 600, "s of its average; 0: the instant"},
    {"lag", offsetof(struct inst_conf, lag_s), 0, 120, "s from a refresh until it can be read"},
    {"jitter", offsetof(struct inst_conf, jitter_s), 0, 60, "s, less than half a period"},
    {"offset", offsetof(struct inst_conf, offset_s), -1e9, 1e9, "s that its own clock is ahead"},
    {"drift", offsetof(struct inst_conf, drift_ppm), -1e5, 1e5, "ppm that its own clock runs fast"},
    {"quantum", offsetof(struct inst_conf, quantum), 1e-9, 1e9, "smallest step, W or J"},
    {"gain", offsetof(struct inst_conf, gain), 0.1, 10, "shown over true; by the seed within tol"},
    {"tol", offsetof(struct inst_conf, tol), 0, 1, "accuracy that it states, 0.01 is 1 %"},
    {"poll", offsetof(struct inst_conf, poll_s), 1e-3, 600, "s between reads"},
    {"cost", offsetof(struct inst_conf, cost_s), 0, 10, "s that a read takes"},
    {"reset", offsetof(struct inst_conf, reset_s), -600, 1e6, "s after the window began: a counter restarts"},
    {"off", offsetof(struct inst_conf, off), 0, 1, "1: it is not there"},
};
/* clang-format on */

const char *inst_key_help(int i, const char **key)
{
    if (i < 0 || (size_t)i >= sizeof keys / sizeof *keys)
        return NULL;
    *key = keys[i].name;
    return keys[i].help;
}

int inst_set(struct inst_conf *c, const char *name, const char *key, const char *value, char *why, size_t n)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i].name) != 0)
            continue;
        char *end;
        errno = 0;
        double v = strtod(value, &end);
        if (end == value || *end || errno || !(v >= keys[i].least && v <= keys[i].most)) {
            snprintf(why, n, "%s of %s takes a number from %g to %g, not \"%.40s\" (%s).", key, name,
                     keys[i].least, keys[i].most, value, keys[i].help);
            return -1;
        }
        memcpy((char *)c + keys[i].at, &v, sizeof v);
        if (c->jitter_s >= c->period_s / 2)
            c->jitter_s = 0.45 * c->period_s;
        return 0;
    }
    snprintf(why, n, "an instrument has no \"%.40s\"; --help lists what it has.", key);
    return -1;
}

/* Uniform in [-1, 1) from the seed and two numbers. */
static double draw(uint64_t seed, uint64_t a)
{
    uint64_t s = seed ^ (a * UINT64_C(0xd1342543de82ef95) + 1);
    plant_uniform(&s);
    return 2 * plant_uniform(&s) - 1;
}

void inst_init(struct inst *in, const struct inst_kind *k, const struct inst_conf *c, const struct plant *pl,
               int part, int number, uint64_t seed)
{
    *in = (struct inst){.kind = k, .c = *c, .pl = pl, .part = part, .number = number};
    uint64_t s = seed * 2654435761u + (uint64_t)(k - inst_kinds) * 1000 + (uint64_t)number;
    plant_uniform(&s);
    in->seed = s;
    in->phase_s = c->period_s * (0.5 + 0.5 * draw(s, 1));
    in->gain = isnan(c->gain) ? 1 + 0.9 * c->tol * draw(s, 2) : c->gain;
}

int64_t inst_refresh(const struct inst *in, int64_t k)
{
    double jitter = in->c.jitter_s > 0 ? in->c.jitter_s * draw(in->seed, (uint64_t)k + 100) : 0;
    return llround((in->phase_s + (double)k * in->c.period_s * (1 + in->c.drift_ppm * 1e-6) + jitter) * NS);
}

int64_t inst_clock(const struct inst *in, int64_t t)
{
    return llround(in->c.offset_s * NS + in->c.drift_ppm * 1e-6 * (double)t);
}

/* The last refresh that can be read at t. */
static int64_t visible(const struct inst *in, int64_t t)
{
    double p = in->c.period_s * (1 + in->c.drift_ppm * 1e-6), at = (double)t / NS - in->c.lag_s;
    int64_t k = (int64_t)floor((at - in->phase_s) / p) + 1;
    while (inst_refresh(in, k) + llround(in->c.lag_s * NS) > t)
        k--;
    return k;
}

int64_t inst_value(const struct inst *in, int64_t k)
{
    int64_t t = inst_refresh(in, k), from;
    double v;
    if (in->kind->counter) {
        double reset = in->c.reset_s * NS + (double)in->pl->t0;
        from = !isnan(reset) && (double)t >= reset ? (int64_t)reset : 0;
        double base = from ? 0 : fabs(draw(in->seed, 3)) * 1000 * in->c.quantum + 1e5;
        v = base + in->gain * plant_energy(in->pl, in->part, from, t);
        double whole = floor(v / in->c.quantum) * in->c.quantum / in->kind->native;
        uint64_t n = (uint64_t)llround(fmax(0, whole));
        return (int64_t)(in->kind->modulus ? n % in->kind->modulus : n);
    }
    if (in->c.window_s == in->c.period_s)
        from = inst_refresh(in, k - 1);
    else
        from = t - (in->c.window_s > 0 ? llround(in->c.window_s * NS) : 1000000);
    v = in->gain * plant_energy(in->pl, in->part, from, t) / ((double)(t - from) / NS);
    return llround(round(v / in->c.quantum) * in->c.quantum / in->kind->native);
}

static int read_stamped(const struct inst *in, int (*put)(void *, const struct inst_reading *), void *self)
{
    int64_t end = (int64_t)in->pl->n * PLANT_STEP_NS;
    int rc = 0;
    for (int64_t k = 1; !rc; k++) {
        int64_t t = inst_refresh(in, k);
        if (t > end)
            break;
        struct inst_reading r = {.t0 = t + inst_clock(in, t), .value = inst_value(in, k)};
        r.t1 = r.t0;
        rc = put(self, &r);
    }
    return rc;
}

int inst_read(const struct inst *in, int (*put)(void *, const struct inst_reading *), void *self)
{
    if (in->kind->stamped)
        return read_stamped(in, put, self);
    const struct plant *pl = in->pl;
    int64_t end = (int64_t)pl->n * PLANT_STEP_NS, every = llround(in->c.poll_s * NS), last = -1, held = 0,
            free = 0, first = llround((2 * in->c.period_s + in->c.lag_s + in->c.window_s) * NS);
    int rc = 0;
    uint64_t i = 0;
    for (int64_t due = first - first % every + every, t; due < end && !rc; i++) {
        double late = draw(in->seed, i + (UINT64_C(1) << 40));
        bool near = in->kind->burst && (llabs(due - pl->t0) < BURST_NS || llabs(due - pl->t1) < BURST_NS);
        t = due + (int64_t)(late * (near ? 20e3 : fmin(1e6, 0.01 * (double)every)));
        t = t > free ? t : free + 1; /* one read after the other */
        int64_t cost = (int64_t)(in->c.cost_s * NS * (1 + 0.5 * draw(in->seed, i + (UINT64_C(1) << 41))));
        int64_t k = visible(in, t + cost / 2);
        if (k != last)
            held = inst_value(in, k);
        last = k;
        free = t + cost;
        struct inst_reading r = {.t0 = t, .t1 = t + cost, .value = held};
        rc = put(self, &r);
        int64_t next = due + (near ? BURST_STEP : every - due % every);
        /* the burst begins in the middle of a poll's wait */
        for (int e = 0; in->kind->burst && !near && e < 2; e++) {
            int64_t b = (e ? pl->t1 : pl->t0) - BURST_NS + 1;
            if (due < b && next > b)
                next = b;
        }
        due = next > free ? next : free + 1;
    }
    return rc;
}
