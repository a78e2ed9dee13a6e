/* SPDX-License-Identifier: Apache-2.0 */
/* Readings as no instrument would give them: whatever comes, a value with status ok is a number with a number
 * for its uncertainty. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compute/compute.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define HEAD    16
#define READING 7
#define MOST    2000

static void check(bool good)
{
    if (!good)
        abort();
}

static void hold(const struct jm_energy *e)
{
    if (jm_energy_has_value(e)) {
        check(isfinite(e->joules) && isfinite(e->u) && e->u >= 0 && e->dof > 0);
        check(e->u_timing >= 0 && e->u_quantum >= 0 && e->u_shape >= 0 && e->u_sampling >= 0 &&
              e->u_gap >= 0);
        double h = jm_energy_halfwidth(e, 0.95, true);
        check(isfinite(h) && h >= 0);
    } else {
        check(isnan(e->joules) && isnan(e->u));
        check(isnan(jm_energy_halfwidth(e, 0.95, true)));
        check(e->status != JM_S_OK);
    }
    check(memchr(e->note, 0, sizeof e->note) && memchr(e->method, 0, sizeof e->method));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const int64_t period[] = {0, 1000000, 20000000, 100000000, 1000000000, INT64_MAX};
    static const uint64_t modulus[] = {0, 1000, UINT64_C(1) << 32, UINT64_MAX};
    static struct jm_reading r[MOST];
    static const struct jm_channel none;
    if (n < HEAD)
        return 0;
    struct jm_channel c = none;
    c.kind = p[0] & 1 ? JM_CH_COUNTER : JM_CH_GAUGE;
    c.unit = c.kind == JM_CH_COUNTER ? JM_U_J : JM_U_W;
    c.sem = (enum jm_gauge_sem)(p[0] >> 1 & 3);
    c.flags = (p[0] & 8 ? JM_CHF_DOUBLE : 0) | (p[0] & 16 ? JM_CHF_STAMPED : 0);
    c.scale10 = (int8_t)p[1] % 10;
    c.scale2 = (int8_t)p[2] % 40;
    c.modulus = modulus[p[3] & 3];
    c.period_ns = period[p[4] % 6];
    c.window_ns = period[p[5] % 6];
    c.period_measured = p[5] & 128;
    c.gain_tol = p[6] & 1 ? 0.05 : NAN;
    c.offset_tol = p[6] & 2 ? 1 : NAN;
    c.sane_max = p[6] & 4 ? 1000 : 0;
    int64_t t = p[7] & 1 ? INT64_MAX - 1000000000 : p[7] & 2 ? INT64_MIN : 0;
    int64_t unit = p[7] & 4 ? 1000000000 : p[7] & 8 ? INT64_C(1) << 47 : 16000000;
    int64_t from = (p[7] & 2 ? INT64_MIN : 0) + (int64_t)p[8] * unit,
            len = 1 + (p[9] | p[10] << 8) * (unit / 1024), to;
    if (__builtin_add_overflow(from, len, &to))
        to = INT64_MAX;
    int64_t value = 0;
    size_t k = 0;
    for (size_t i = HEAD; i + READING <= n && k < MOST; i += READING) {
        int64_t step = (int64_t)(int16_t)(p[i] | p[i + 1] << 8) * (unit / 256), d;
        if (__builtin_add_overflow(t, step, &t))
            t = INT64_MAX;
        memcpy(&d, (const uint8_t[8]){p[i + 2], p[i + 3], p[i + 4], p[i + 5] & 64 ? p[i + 5] : 0}, sizeof d);
        if (p[i + 5] & 128)
            d = (int64_t)((uint64_t)d << 32);
        value = (int64_t)((uint64_t)value + (uint64_t)(p[i + 5] & 32 ? -d : d));
        r[k].t0 = t;
        r[k].t1 = p[i + 6] & 64 && t < INT64_MAX - 1000 ? t + 1000 : t;
        r[k].value = value;
        r[k].status = p[i + 6] & 128 ? p[i + 6] & 15 : JM_S_OK;
        r[k].flags = 0;
        r[k].channel = 0;
        k++;
    }
    struct jm_energy e[2], sum;
    int rc = c.kind == JM_CH_COUNTER ? jm_energy_counter(&c, r, k, from, to, &e[0])
                                     : jm_energy_gauge(&c, r, k, from, to, &e[0]);
    if (rc)
        return 0;
    hold(&e[0]);
    e[1] = e[0];
    if (jm_energy_sum(e, 2, &sum))
        hold(&sum);
    struct jm_agree a;
    jm_energy_agree(&e[0], &e[1], 0.95, 0.05, &a);
    check(!a.comparable || a.agree);
    jm_counter_mirrored(&c, r, k, &c, r, k, 3, 0.01);
    return 0;
}
