/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/inputs.h"

#include "base/banned.h"

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
    if (!jm_spl_factors(v, &ratio, &tangent))
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
        if (jm_spl_kind_of(&in[i]) != JM_SPL_GOOD || !jm_spl_factors(&in[i], &ratio, &tangent))
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
