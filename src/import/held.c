/* SPDX-License-Identifier: Apache-2.0 */
#include "import/held.h"

#include <math.h>
#include <stdio.h>

#include "base/num.h"

#include "base/banned.h"

#define HOLD 100000  /* readings of one hold: some hours */
#define PUTS 4000000 /* of a file */

void jm_held_until(struct jm_devlog *l, struct jm_held *h, int64_t t, int64_t step)
{
    if (h->t < 0 || t <= h->t || step <= 0)
        return;
    /* as it was polled: one by one, so that it is no gap; a hold that goes on and on is one */
    for (int64_t at = h->t, n = 0; n < HOLD && l->put < PUTS && t - at > step + step / 2; n++)
        jm_devlog_put(l, h->ch, at += step, h->text10, jm_span_of(h->text));
    jm_devlog_put(l, h->ch, t, h->text10, jm_span_of(h->text));
    h->steps += h->last * ((double)(t - h->t) / 1e9);
    h->t = t;
    h->inserted++;
}

void jm_held_put(struct jm_devlog *l, struct jm_held *h, int64_t t, int64_t step, struct jm_span text)
{
    double watts = NAN;
    text = jm_span_trim(text);
    if (jm_num_double(text, &watts))
        watts = NAN;
    else
        watts *= pow(10, h->text10);
    if (h->t >= 0 && t > h->t) {
        double s = ((double)(t - h->t) / 1e9);
        if (isfinite(watts) && isfinite(h->last)) {
            h->lines += s * (h->last + watts) / 2;
            h->same += watts == h->last;
        }
        if (step > 0 && (t - h->t) / 2 > step - step / 4)
            jm_held_until(l, h, t - step, step);
        if (isfinite(h->last))
            h->steps += h->last * ((double)(t - h->t) / 1e9);
    }
    jm_devlog_put(l, h->ch, t, h->text10, text);
    if (!isfinite(watts) || (h->t >= 0 && t <= h->t))
        return;
    h->last = watts;
    h->t = t;
    h->n++;
    snprintf(h->text, sizeof h->text, "%.*s", text.n < sizeof h->text - 1 ? (int)text.n : 31, text.p);
}

void jm_held_told(struct jm_devlog *l, const struct jm_held *h, size_t n)
{
    double lines = 0, steps = 0;
    int64_t inserted = 0;
    for (size_t i = 0; i < n; i++) {
        lines += h[i].lines;
        steps += h[i].steps;
        inserted += h[i].inserted;
    }
    if (!inserted)
        return;
    jm_build_env(&l->b, "import.held", "%lld values stand again for as long as they held",
                 (long long)inserted);
    if (steps > 0 && fabs(lines / steps - 1) > 0.01)
        jm_build_env(
            &l->b, "import.dedup",
            "%.6g J by straight lines between the file's samples, %.6g J where each holds until the next",
            lines, steps);
}
