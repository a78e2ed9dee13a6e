/* SPDX-License-Identifier: Apache-2.0 */
#include "show/exports.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

const struct jm_export_format jm_export_formats[] = {
    {"ai-energy-score", ".ai-energy-score.csv",
     "Hugging Face AI Energy Score: Wh of the GPUs per 1,000 queries", jm_export_ai_energy_score},
    {"codecarbon", ".emissions.csv", "CodeCarbon's emissions.csv: a row a window and zone",
     jm_export_codecarbon},
    {"esrs", ".esrs.csv", "lines of ESRS E1-5 (energy) and E1-6 (emissions) for a CSRD report",
     jm_export_esrs},
    {"gpai", ".gpai.csv", "lines for the model documentation form of the EU's GPAI code of practice",
     jm_export_gpai},
    {"ml-energy", ".ml-energy.json", "results of the ML.ENERGY benchmark", jm_export_ml_energy},
    {"openmetrics", ".om.txt", "OpenMetrics text, with stamps: promtool tsdb create-blocks-from openmetrics",
     jm_export_openmetrics},
    {"requests-energy", ".requests.csv",
     "joules of each request and phase, an allocation whose lines add up to the windows (docs/phases.md)",
     jm_export_requests},
    {NULL, NULL, NULL, NULL}};

static const struct jm_result *row(const struct jm_report *r, const char *metric, enum jm_boundary b,
                                   int window)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->window == window && x->q.boundary == b && !x->slice && isnan(x->quantile) &&
            strcmp(x->metric, metric) == 0)
            return x;
    }
    return NULL;
}

const struct jm_result *jm_export_find(const struct jm_report *r, const char *metric, enum jm_boundary b,
                                       int window)
{
    const struct jm_result *x = row(r, metric, b, window);
    return x && x->q.have && x->q.validity != JM_V_INVALID ? x : NULL;
}

double jm_export_value(const struct jm_result *x)
{
    return x ? x->q.value : NAN;
}

double jm_export_count(const struct jm_report *r, const char *metric, enum jm_boundary b, int window)
{
    const struct jm_result *x = row(r, metric, b, window);
    return x ? x->denominator : NAN;
}

int jm_export_window(const struct jm_report *r, int after)
{
    for (size_t i = (size_t)(after + 1); i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE)
            return (int)i;
    return -1;
}

double jm_export_latency(const struct jm_report *r, const char *metric, double quantile, int window)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        bool it = isnan(quantile) ? isnan(x->quantile) : fabs(x->quantile - quantile) < 1e-9;
        if (it && x->window == window && !x->slice && x->q.have && strcmp(x->metric, metric) == 0)
            return x->q.value;
    }
    return NAN;
}

const char *jm_export_fact(const struct jm_run *run, const struct jm_report *r, const char *fact,
                           const char *const *names)
{
    const char *v = fact ? jm_fact_of(run, r, fact) : NULL;
    for (; !v && names && *names; names++) {
        v = jm_run_env(run, *names);
        v = v && v[0] ? v : NULL;
    }
    return v ? v : "";
}

const char *jm_export_model(const struct jm_run *run, const struct jm_report *r)
{
    static const char *const names[] = {"endpoint.model", "load.model", "plan.model", "loadgen.sut_name",
                                        NULL};
    return jm_export_fact(run, r, "model", names);
}

const char *jm_export_gpu(const struct jm_report *r, int *n)
{
    const char *name = "";
    *n = -1;
    for (int w = jm_export_window(r, -1); w >= 0 && *n < 0; w = jm_export_window(r, w)) {
        const struct jm_result *x = jm_export_find(r, "energy", JM_B_GPU, w);
        *n = x && x->of > 0 ? x->have_of : -1;
    }
    for (size_t i = 0; !name[0] && i < r->n_env; i++) {
        size_t len = strlen(r->env[i].key);
        if (strncmp(r->env[i].key, "gpu.", 4) == 0 && len > 9 &&
            strcmp(r->env[i].key + len - 5, ".name") == 0)
            name = r->env[i].value;
    }
    return name;
}

double jm_export_parameters(const char *text)
{
    struct jm_span s = jm_span_trim(jm_span_of(text));
    double v, times = 1;
    if (s.n && strchr("MBT", s.p[s.n - 1])) {
        times = s.p[s.n - 1] == 'M' ? 1e6 : s.p[s.n - 1] == 'B' ? 1e9 : 1e12;
        s.n--;
    }
    return jm_num_double(s, &v) == 0 && v > 0 && v * times < 1e18 ? v * times : NAN;
}
