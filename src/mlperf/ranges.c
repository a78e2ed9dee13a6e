/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/ranges.h"

#include <math.h>

#include "base/num.h"
#include "base/span.h"

#include "base/banned.h"

void jm_mlperf_ranges_none(struct jm_mlperf_ranges *r)
{
    r->logged = false;
    for (int i = 0; i <= JM_MLPERF_INPUTS; i++)
        r->volts[i] = r->amps[i] = NAN;
}

/* "Volt range set to 300.000000V", "Amp range for channel 2, physical channel 2, set to 40.000000A" (the unit
 * of both is written A there), "Ampere range set to Auto". */
static void logged_range(struct jm_span text, struct jm_mlperf_ranges *r)
{
    bool volts = jm_span_starts(text, JM_SPAN("Volt"));
    ptrdiff_t at = jm_span_find(text, JM_SPAN("set to ")), chan = jm_span_find(text, JM_SPAN("for channel "));
    int64_t input = 0;
    double v = NAN;
    if (at < 0 || (!volts && !jm_span_starts(text, JM_SPAN("Amp"))))
        return;
    struct jm_span value = jm_span_trim(jm_span_sub(text, (size_t)at + 7, text.n)), number;
    if (chan >= 0) {
        struct jm_span rest = jm_span_sub(text, (size_t)chan + 12, text.n);
        if (!jm_span_field(&rest, ',', &number) || jm_num_i64(number, &input) || input < 1 ||
            input > JM_MLPERF_INPUTS)
            return;
    }
    if (value.n && (jm_num_double(jm_span_sub(value, 0, value.n - 1), &v) || !(v > 0)))
        v = NAN;
    double *list = volts ? r->volts : r->amps;
    if (!input)
        for (int i = 1; i <= JM_MLPERF_INPUTS; i++) /* a setting of all of them */
            list[i] = NAN;
    list[input] = v;
}

bool jm_mlperf_ranges_logged(const struct jm_mlperf_ptd_log *log, int analyzer, struct jm_mlperf_ranges *r)
{
    struct jm_mlperf_ranges now;
    jm_mlperf_ranges_none(&now);
    bool found = false;
    for (size_t i = 0; i < log->n_events && !found; i++) {
        if (log->events[i].kind != JM_MLPERF_EV_INFO || log->events[i].analyzer != analyzer)
            continue;
        struct jm_span text = jm_span_of(log->events[i].text);
        if (jm_span_starts(text, JM_SPAN("Go with mark ")) && jm_span_find(text, JM_SPAN("_testing'")) >= 0)
            found = true;
        else
            logged_range(text, &now);
    }
    bool v = isfinite(now.volts[0]) || isfinite(now.volts[1]),
         a = isfinite(now.amps[0]) || isfinite(now.amps[1]);
    if (!found || !v || !a)
        return false;
    *r = now;
    r->logged = true;
    return true;
}

double jm_mlperf_range_of(const double list[1 + JM_MLPERF_INPUTS], int input)
{
    if (input == 0) /* the one input of a log without channels */
        return isfinite(list[0]) ? list[0] : list[1];
    return isfinite(list[input]) ? list[input] : list[0];
}

struct jm_span jm_mlperf_model_logged(const struct jm_mlperf_ptd_log *log, int analyzer)
{
    const struct jm_span before = JM_SPAN("Uncertainty checking for "), after = JM_SPAN(" is activated");
    for (size_t i = 0; i < log->n_events; i++) {
        struct jm_span text = jm_span_of(log->events[i].text);
        if (log->events[i].kind != JM_MLPERF_EV_INFO || log->events[i].analyzer != analyzer ||
            !jm_span_starts(text, before))
            continue;
        ptrdiff_t end = jm_span_find(text, after);
        if (end > (ptrdiff_t)before.n)
            return jm_span_sub(text, before.n, (size_t)end - before.n);
    }
    return (struct jm_span){0};
}
