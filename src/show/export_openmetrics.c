/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMetrics 1.0: energies and tokens of each measured window as counters that began with it, ratios as
 * gauges, all at the end of their window. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "show/exports.h"
#include "show/fmt.h"

#include "base/banned.h"

static const enum jm_boundary order[] = {JM_B_GPU, JM_B_DEVICE, JM_B_NODE, JM_B_WALL, JM_B_FACILITY};
#define N_ORDER (sizeof order / sizeof order[0])

/* A label's value: backslash, quote and line end escaped; other control characters become blanks. */
static void label(struct jm_str *s, const char *name, const char *v, bool first)
{
    struct jm_span c;
    jm_str_addf(s, "%s%s=\"", first ? "{" : ",", name);
    while (v && (v = jm_fmt_next(v, &c))) {
        if (c.n == 1 && (*c.p == '"' || *c.p == '\\'))
            jm_str_addc(s, '\\');
        jm_str_addspan(s, c);
    }
    jm_str_addc(s, '"');
}

static void seconds(struct jm_str *s, const struct jm_report *r, int64_t mono)
{
    int64_t real = (int64_t)((uint64_t)mono + (uint64_t)r->real_offset);
    jm_str_addf(s, "%lld.%09lld", (long long)(real / 1000000000),
                (long long)(real < 0 ? 0 : real % 1000000000));
}

static void labels(struct jm_str *s, const struct jm_report *r, const struct jm_result *x,
                   const struct jm_run *run)
{
    label(s, "run", r->id, true);
    label(s, "window", r->windows[x->window].name, false);
    if (x->q.boundary != JM_B_NONE) {
        label(s, "boundary", jm_boundary_name((int)x->q.boundary), false);
        label(s, "set", x->set ? x->set : "", false);
        label(s, "provenance", jm_provenance_name((int)x->q.provenance), false);
    }
    label(s, "model", jm_export_model(run, r), false);
    jm_str_addc(s, '}');
}

static void sample(struct jm_str *s, const struct jm_report *r, const struct jm_run *run, const char *name,
                   const struct jm_result *x, double v)
{
    char num[32];
    jm_json_fmt_double(num, v);
    jm_str_adds(s, name);
    labels(s, r, x, run);
    jm_str_addf(s, " %s ", num);
    seconds(s, r, r->windows[x->window].t1);
    jm_str_addc(s, '\n');
}

static void created(struct jm_str *s, const struct jm_report *r, const struct jm_run *run, const char *name,
                    const struct jm_result *x)
{
    jm_str_adds(s, name);
    labels(s, r, x, run);
    jm_str_addc(s, ' ');
    seconds(s, r, r->windows[x->window].t0);
    jm_str_addc(s, ' ');
    seconds(s, r, r->windows[x->window].t1);
    jm_str_addc(s, '\n');
}

static void head(struct jm_str *s, const char *name, const char *type, const char *unit, const char *help)
{
    jm_str_addf(s, "# TYPE %s %s\n", name, type);
    if (unit)
        jm_str_addf(s, "# UNIT %s %s\n", name, unit);
    jm_str_addf(s, "# HELP %s %s\n", name, help);
}

static void gauge(struct jm_str *s, const struct jm_report *r, const struct jm_run *run, const char *name,
                  const char *unit, const char *metric, const char *help)
{
    head(s, name, "gauge", unit, help);
    for (size_t b = 0; b < N_ORDER; b++)
        for (int w = jm_export_window(r, -1); w >= 0; w = jm_export_window(r, w)) {
            const struct jm_result *x = jm_export_find(r, metric, order[b], w);
            if (x)
                sample(s, r, run, name, x, x->q.value);
        }
}

int jm_export_openmetrics(const struct jm_run *run, struct jm_report *r, struct jm_str *out,
                          struct jm_err *err)
{
    static const char energy[] = "joulemark_energy_joules", tokens[] = "joulemark_output_tokens";
    char name[64];
    head(out, energy, "counter", "joules", "Energy that passed the boundary since the window began.");
    for (size_t b = 0; b < N_ORDER; b++)
        for (int w = jm_export_window(r, -1); w >= 0; w = jm_export_window(r, w)) {
            const struct jm_result *x = jm_export_find(r, "energy", order[b], w);
            if (!x || x->q.value < 0)
                continue;
            snprintf(name, sizeof name, "%s_total", energy);
            sample(out, r, run, name, x, x->q.value);
            snprintf(name, sizeof name, "%s_created", energy);
            created(out, r, run, name, x);
        }
    head(out, tokens, "counter", NULL, "Output tokens of successful requests since the window began.");
    for (int w = jm_export_window(r, -1); w >= 0; w = jm_export_window(r, w)) {
        const struct jm_result *x = NULL;
        for (size_t b = 0; b < N_ORDER && !x; b++)
            x = jm_export_find(r, "j_per.output_token", order[b], w);
        if (!x)
            continue;
        struct jm_result plain = *x;
        plain.q.boundary = JM_B_NONE;
        snprintf(name, sizeof name, "%s_total", tokens);
        sample(out, r, run, name, &plain, x->denominator);
        snprintf(name, sizeof name, "%s_created", tokens);
        created(out, r, run, name, &plain);
    }
    gauge(out, r, run, "joulemark_power_watts", "watts", "power.mean", "Mean power of the window.");
    gauge(out, r, run, "joulemark_output_token_joules", "joules", "j_per.output_token",
          "Energy per output token of successful requests.");
    gauge(out, r, run, "joulemark_request_joules", "joules", "j_per.request_ok",
          "Energy of all requests per successful one.");
    jm_str_adds(out, "# EOF\n");
    return jm_str_ok(out, "the metrics", err);
}
