/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_accuracy.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "import/mlperf_asked.h"
#include "import/mlperf_take.h"
#include "model/analyzer.h"
#include "wire/spl.h"

#include "base/banned.h"

struct sums {
    int64_t begin, end, tz;
    int inputs;
    bool analyzers;
    struct {
        double n, watts, ratio, tangent;
    } in[JM_SPL_CHANNELS];
};

static int add(void *self, const struct jm_log_line *l)
{
    struct sums *s = self;
    struct jm_spl_row row;
    struct jm_err why;
    if (jm_spl_parse(l->text, &row, &why) || row.time_ns + s->tz <= s->begin || row.time_ns + s->tz >= s->end)
        return 0;
    int n = row.n_channels ? row.n_channels : 1;
    s->analyzers |= row.analyzers;
    for (int i = 0; i < n && i < JM_SPL_CHANNELS; i++) {
        const struct jm_spl_values *v = row.n_channels ? &row.channel[i] : &row.sum;
        double ratio, tangent;
        if (jm_spl_kind_of(v) != JM_SPL_GOOD || !jm_spl_factors(v, &ratio, &tangent))
            continue;
        s->in[i].n++;
        s->in[i].watts += (double)v->watts / 1e6;
        s->in[i].ratio += ratio;
        s->in[i].tangent += tangent;
    }
    if (n > s->inputs)
        s->inputs = n;
    return 0;
}

static void asked_of(const struct jm_json *doc, struct jm_mlperf_asked *a)
{
    const struct jm_json *list = jm_json_get(doc, "ptd_messages");
    jm_mlperf_asked_init(a);
    for (size_t i = 0; i < jm_json_len(list); i++) {
        struct jm_span cmd, reply;
        const struct jm_json *m = jm_json_at(list, i);
        if (jm_json_str(jm_json_get(m, "cmd"), &cmd) && jm_json_str(jm_json_get(m, "reply"), &reply))
            jm_mlperf_asked_message(a, cmd, reply);
    }
}

static void tolerance(const struct sums *s, const struct jm_mlperf_asked *a, struct jm_mlperf_accuracy *out)
{
    struct jm_analyzer m;
    if (s->analyzers || a->identified != 1 || !jm_analyzer_find(a->model, &m) || !m.known)
        return;
    double v = jm_analyzer_range(m.volts, a->volts, m.crest), i = jm_analyzer_range(m.amps, a->amps, m.crest);
    double watts = 0, gain = 0, offset = 0;
    for (int k = 0; k < s->inputs && k < JM_SPL_CHANNELS; k++) {
        double n = s->in[k].n;
        if (!(n > 0)) /* not connected, or without a power factor: it has no part in a known sum */
            continue;
        watts += s->in[k].watts / n;
        gain += m.reading * s->in[k].watts / n + m.influence * s->in[k].tangent / n;
        offset += m.range * v * i * (m.by_s ? s->in[k].ratio / n : 1);
    }
    if (!(watts > 0) || !isfinite(offset))
        return;
    out->gain = gain / watts;
    out->offset_w = offset;
    snprintf(out->text, sizeof out->text, "%s%s on %g V x %g A", a->stand_in ? "simulated " : "", m.model, v,
             i);
}

int jm_mlperf_accuracy_of(const char *spl, char *buffer, int64_t begin, int64_t end, int64_t tz_ns,
                          struct jm_span server_json, struct jm_mlperf_accuracy *out, struct jm_err *err)
{
    struct sums s = {.begin = begin, .end = end, .tz = tz_ns};
    struct jm_mlperf_asked a;
    struct jm_json *doc;
    *out = (struct jm_mlperf_accuracy){.gain = NAN, .offset_w = NAN};
    if (!server_json.n || jm_json_parse(server_json, &doc, NULL))
        return 0;
    asked_of(doc, &a);
    int rc = isfinite(a.volts) && isfinite(a.amps) ? jm_mlperf_lines(spl, buffer, add, &s, err) : 0;
    if (!rc)
        tolerance(&s, &a, out);
    jm_json_free(doc);
    return rc;
}
