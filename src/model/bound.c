/* SPDX-License-Identifier: Apache-2.0 */
#include "model/bound.h"

#include <math.h>

#include "base/banned.h"

void jm_bound_make(const struct jm_bound_edge e[2], double quantum, double accuracy, struct jm_bound *out)
{
    *out = (struct jm_bound){.no_accuracy = isnan(accuracy)};
    for (int i = 0; i < 2; i++) {
        out->delta_s[i] = e[i].clock_s + e[i].refresh_s + e[i].average_s + e[i].poll_s;
        out->edges += out->delta_s[i] * fabs(e[i].swing_w);
    }
    out->quantum = 2 * fabs(quantum);
    out->accuracy = isnan(accuracy) ? 0 : fabs(accuracy);
    out->total = out->edges + out->quantum + out->accuracy;
}

double jm_bound_needs(const struct jm_bound *b, double joules, double seconds, double tolerance)
{
    double fixed = b->edges + b->quantum, left = tolerance - b->accuracy / joules;
    if (!isfinite(b->total) || !(joules > 0) || !(seconds > 0) || !(tolerance > 0))
        return NAN;
    return left > 0 ? fixed / left / (joules / seconds) : INFINITY;
}
