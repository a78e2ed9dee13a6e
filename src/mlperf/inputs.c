/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/inputs.h"

#include <math.h>

#include "base/banned.h"

/* Of one group of values: P / (V x A) and P x tan(phi); false: neither V x A nor PF is there. */
static bool factors(const struct jm_spl_values *v, double *ratio, double *tangent)
{
    double p = (double)v->watts / 1e6, pf = (double)v->pf / 1e6;
    double s = (double)v->volts / 1e6 * ((double)v->amps / 1e6);
    bool has_s = v->volts > 0 && v->amps > 0, has_pf = v->pf > 0 && pf <= 1;
    if (!(p > 0) || (!has_s && !has_pf))
        return false;
    *ratio = has_s ? fmin(p / s, 1) : pf;
    double cosine = has_pf ? pf : *ratio;
    *tangent = p * sqrt(fmax(0, 1 - cosine * cosine)) / cosine;
    return true;
}

static void add(struct jm_mlperf_input *in, const struct jm_spl_values *v)
{
    double ratio, tangent;
    if (jm_spl_kind_of(v) != JM_SPL_GOOD)
        return;
    in->n++;
    in->watts += (double)v->watts / 1e6;
    if (v->volts > 0)
        in->volts += (double)v->volts / 1e6;
    if (v->amps > 0)
        in->amps += (double)v->amps / 1e6;
    if (!factors(v, &ratio, &tangent))
        return;
    in->n_known++;
    in->known_watts += (double)v->watts / 1e6;
    in->ratio += ratio;
    in->tangent += tangent;
}

void jm_mlperf_inputs_add(struct jm_mlperf_power *p, const struct jm_spl_row *row, bool in_window)
{
    int n = row->n_channels < JM_MLPERF_INPUTS ? row->n_channels : JM_MLPERF_INPUTS;
    const struct jm_spl_values *in = n ? row->channel : &row->sum;
    if (in_window) {
        add(&p->input[0], &row->sum);
        for (int i = 0; i < n; i++)
            add(&p->input[1 + i], &row->channel[i]);
    }
    double watts = (double)row->sum.watts / 1e6, ratios = 0, tangents = 0;
    int known = 0;
    if (!(watts > 0) || jm_spl_kind_of(&row->sum) != JM_SPL_GOOD)
        return;
    for (int i = 0; i < (n ? n : 1); i++) {
        double ratio, tangent;
        if (in[i].watts == 0) /* an input that is not connected */
            continue;
        if (jm_spl_kind_of(&in[i]) != JM_SPL_GOOD || !factors(&in[i], &ratio, &tangent))
            return;
        ratios += ratio;
        tangents += tangent;
        known++;
    }
    p->doubt.n++;
    p->doubt.ratio += ratios / watts;
    p->doubt.inputs += known / watts;
    p->doubt.tangent += tangents / watts;
}
