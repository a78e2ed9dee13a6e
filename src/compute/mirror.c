/* SPDX-License-Identifier: Apache-2.0 */
/* Two counters that show the same joules: multi-die parts whose packages mirror one register, MMIO and MSR
 * zones of one package. Their movement is compared, not their value: bases may differ. */
#include "compute/compute.h"

#include <math.h>

#include "base/banned.h"

/* Movement from the last ok reading at or before t0 to that at or before t1, and the largest step on the way:
 * two readers of one register may stand one refresh apart. */
static bool moved(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0, int64_t t1,
                  double *joules, double *step)
{
    const struct jm_reading *last = NULL;
    bool begun = false;
    *joules = *step = 0;
    for (size_t i = 0; i < n && r[i].t0 <= t1; i++) {
        if (r[i].status != JM_S_OK)
            continue;
        if (r[i].t0 <= t0) {
            begun = true;
        } else if (last && begun) {
            uint64_t x = (uint64_t)last->value, y = (uint64_t)r[i].value;
            if (y < x && c->modulus == 0)
                return false;
            double d = jm_channel_value(c, (int64_t)(y < x ? c->modulus - x + y : y - x));
            *joules += d;
            *step = fmax(*step, d);
        }
        last = &r[i];
    }
    return begun && *joules > 0;
}

bool jm_counter_mirrored(const struct jm_channel *ca, const struct jm_reading *a, size_t na,
                         const struct jm_channel *cb, const struct jm_reading *b, size_t nb, int parts,
                         double slack)
{
    if (na < 2 || nb < 2 || parts < 3 || ca->kind != JM_CH_COUNTER || cb->kind != JM_CH_COUNTER ||
        ((ca->flags | cb->flags) & JM_CHF_DOUBLE))
        return false;
    int64_t from = a[0].t0 > b[0].t0 ? a[0].t0 : b[0].t0;
    int64_t to = a[na - 1].t0 < b[nb - 1].t0 ? a[na - 1].t0 : b[nb - 1].t0, span;
    if (to <= from || __builtin_sub_overflow(to, from, &span) || span / parts < 1)
        return false;
    for (int i = 0; i < parts; i++) {
        double x, y, sx, sy;
        int64_t t0 = from + span / parts * i, t1 = t0 + span / parts;
        if (!moved(ca, a, na, t0, t1, &x, &sx) || !moved(cb, b, nb, t0, t1, &y, &sy))
            return false;
        if (fabs(x - y) > slack * fmax(x, y) + fmax(sx, sy))
            return false;
    }
    return true;
}
