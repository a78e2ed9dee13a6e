/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for European reports: the model documentation form of the GPAI code of practice (10 July 2025; AI
 * Act, annex XI) and ESRS E1-5 and E1-6. Whoever reports adds them up with the rest; what a measurement
 * cannot know stays empty and says why. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/exports.h"
#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

#define KWH 3.6e6

struct total { /* of all measure windows */
    double v;
    enum jm_boundary at;
    enum jm_provenance provenance;
    const char *why; /* v is NAN */
    int windows;
    double seconds;
};

static void line(struct jm_str *s, const char *item, double v, const char *unit, const char *known,
                 const char *note)
{
    jm_csv_add_text(s, item);
    jm_str_addc(s, ',');
    jm_csv_add_number(s, v);
    jm_str_addc(s, ',');
    jm_csv_add_text(s, unit);
    jm_str_addc(s, ',');
    jm_csv_add_text(s, known);
    jm_str_addc(s, ',');
    jm_csv_add_text(s, note);
    jm_str_addc(s, '\n');
}

static void word(struct jm_str *s, const char *item, const char *value, const char *note)
{
    jm_csv_add_text(s, item);
    jm_str_addc(s, ',');
    jm_csv_add_text(s, value);
    jm_str_adds(s, ",,");
    jm_csv_add_text(s, value[0] ? "declared or recorded" : "missing");
    jm_str_addc(s, ',');
    jm_csv_add_text(s, value[0] ? "" : note);
    jm_str_addc(s, '\n');
}

/* At the widest boundary that has a valid energy in every measure window. */
static void energy(const struct jm_report *r, bool of_site, struct total *t)
{
    /* a model's own energy: of its machine, without the building and without GPUs that do not serve it */
    static const enum jm_boundary site[] = {JM_B_FACILITY, JM_B_WALL, JM_B_NODE, JM_B_DEVICE, JM_B_GPU},
                                  model[] = {JM_B_WALL, JM_B_NODE, JM_B_GPU, JM_B_DEVICE, JM_B_NONE};
    const enum jm_boundary *order = of_site ? site : model;
    for (size_t k = 0; k < 5; k++) {
        bool all = true;
        *t = (struct total){.at = order[k]};
        for (int w = jm_export_window(r, -1); w >= 0; w = jm_export_window(r, w)) {
            const struct jm_result *x = jm_export_find(r, "energy", order[k], w);
            all &= x != NULL;
            t->windows++;
            t->seconds += jm_fmt_seconds(r->windows[w].t1, r->windows[w].t0);
            if (!x)
                continue;
            t->v += x->q.value;
            t->provenance = jm_provenance_worse(t->provenance, x->q.provenance);
        }
        if (all && t->windows)
            return;
    }
    t->v = NAN;
    t->at = JM_B_NONE;
    t->why = t->windows ? "no boundary has a valid energy in every measured window"
                        : "the run has no measured window";
}

/* What an energy at this boundary does not hold. */
static const char *without(enum jm_boundary b)
{
    switch (b) {
    case JM_B_FACILITY: return "";
    case JM_B_WALL: return "; cooling and distribution are not in it (--pue)";
    case JM_B_NODE: return "; losses of the supplies, cooling and distribution are not in it";
    case JM_B_DEVICE:
    case JM_B_GPU: return "; host, losses and cooling are not in it: a lower bound";
    default: return "";
    }
}

static double tokens(const struct jm_report *r)
{
    double n = NAN;
    if (r->tokens.output >= 0 && r->tokens.input >= 0)
        n = (double)r->tokens.output + (double)r->tokens.input;
    return n > 0 ? n : NAN;
}

int jm_export_gpai(const struct jm_run *run, struct jm_report *r, struct jm_str *out, struct jm_err *err)
{
    const char *active = jm_export_fact(run, r, "active-parameters", NULL),
               *all = jm_export_fact(run, r, "parameters", NULL);
    double n = jm_export_parameters(active), t = tokens(r);
    char note[400];
    struct total e;
    int gpus;
    const char *gpu = jm_export_gpu(r, &gpus),
               *bound = "2 x active parameters x tokens; attention over the context is not in it";
    energy(r, false, &e);
    if (isnan(n) && !active[0] && !isnan(n = jm_export_parameters(all)))
        bound = "2 x all parameters x tokens, an upper bound for a mixture of experts; attention over the "
                "context is not in it";
    jm_str_adds(out, "item,value,unit,known,note\n");
    word(out, "Model", jm_export_model(run, r), "needs --fact model=NAME");
    word(out, "Task", jm_export_fact(run, r, "task", NULL), "needs --fact task=TEXT");
    snprintf(note, sizeof note, "%d x %.200s", gpus, gpu);
    word(out, "Hardware", gpu[0] && gpus > 0 ? note : jm_export_fact(run, r, "accelerators", NULL),
         "needs --fact accelerators=TEXT");
    line(out, "Parameters that a token passes through", n, "", isnan(n) ? "missing" : "declared",
         !isnan(n)   ? ""
         : active[0] ? "active-parameters (--fact) is no number such as 70.6e9 or 70.6B"
                     : "needs --fact active-parameters=70.6e9");
    line(out, "Tokens of the benchmark (input and output)", t, "tokens", isnan(t) ? "missing" : "recorded",
         isnan(t) ? "the server did not count them" : "");
    line(out, "Benchmarked amount of computation used for inference", 2 * n * t, "FLOP",
         isnan(2 * n * t) ? "missing" : "estimated",
         isnan(n)   ? "needs the parameters"
         : isnan(t) ? "needs the tokens"
                    : bound);
    line(out, "The same for 100000 tokens", 2 * n * 1e5, "FLOP", isnan(n) ? "missing" : "estimated",
         isnan(n) ? "needs the parameters" : bound);
    snprintf(note, sizeof note, "boundary %s, %d window%s of %.4g s in all; the form does not ask for it",
             e.at ? jm_boundary_name((int)e.at) : "none", e.windows, e.windows == 1 ? "" : "s", e.seconds);
    line(out, "Energy measured for it", e.v / KWH, "kWh",
         isnan(e.v) ? "missing" : jm_provenance_name((int)e.provenance), isnan(e.v) ? e.why : note);
    line(out, "Energy of 100000 tokens", e.v / t * 1e5, "J",
         isnan(e.v / t) ? "missing" : jm_provenance_name((int)e.provenance),
         isnan(e.v / t) ? "needs energy and tokens"
                        : "input and output tokens together, as the computation is");
    line(out, "Energy used for training", NAN, "MWh", "missing",
         "not of an inference measurement: two significant figures, or N/A with the reason (AI Act, annex XI "
         "1 2 e)");
    return jm_str_ok(out, "the lines", err);
}

/* Of every measure window, g; each of the zone's impacts of that metric. */
static void emissions(const struct jm_report *r, const char *metric, const char *zone, struct total *t)
{
    *t = (struct total){0};
    for (int w = jm_export_window(r, -1); w >= 0; w = jm_export_window(r, w)) {
        const struct jm_impact *found = NULL;
        for (size_t i = 0; i < r->n_impacts; i++)
            if (r->impacts[i].x.window == w && r->impacts[i].zone && strcmp(r->impacts[i].zone, zone) == 0 &&
                strcmp(r->impacts[i].x.metric, metric) == 0)
                found = &r->impacts[i];
        t->windows++;
        if (!found || !found->x.q.have || found->x.q.validity == JM_V_INVALID) {
            t->v = NAN;
            t->why = found && found->why ? found->why : "no such factor was given";
            return;
        }
        t->v += found->x.q.value;
        t->at = found->x.q.boundary;
        t->provenance = jm_provenance_worse(t->provenance, found->x.q.provenance);
    }
    if (!t->windows) {
        t->v = NAN;
        t->why = "the run has no measured window";
    }
}

static void emission_line(struct jm_str *s, const struct jm_report *r, const char *item, const char *zone,
                          const char *metric, const char *not_mine)
{
    struct total t;
    char name[160], note[400];
    emissions(r, metric, zone, &t);
    snprintf(name, sizeof name, "%s, %s", item, zone);
    if (not_mine) {
        t.v = NAN;
        t.why = not_mine;
    }
    snprintf(note, sizeof note, "boundary %s, of the measured windows%s",
             t.at ? jm_boundary_name((int)t.at) : "none", without(t.at));
    line(s, name, t.v / 1e6, "tCO2e",
         isnan(t.v) ? not_mine ? "not applicable" : "missing" : jm_provenance_name((int)t.provenance),
         isnan(t.v) ? t.why : note);
}

int jm_export_esrs(const struct jm_run *run, struct jm_report *r, struct jm_str *out, struct jm_err *err)
{
    const char *how = jm_export_fact(run, r, "purchase", NULL);
    bool bought = strcmp(how, "bought") == 0;
    struct total e;
    char note[300];
    size_t zones = 0;
    if (how[0] && !bought && strcmp(how, "own") != 0)
        return jm_err_set(err, JM_EUSAGE, "--fact purchase: \"%.40s\" is neither own nor bought", how);
    energy(r, true, &e);
    jm_str_adds(out, "item,value,unit,known,note\n");
    snprintf(note, sizeof note, "boundary %s, %d window%s of %.4g s in all%s",
             e.at ? jm_boundary_name((int)e.at) : "none", e.windows, e.windows == 1 ? "" : "s", e.seconds,
             without(e.at));
    line(out, "E1-5 total energy consumption", bought ? NAN : e.v / KWH / 1000, "MWh",
         bought       ? "not applicable"
         : isnan(e.v) ? "missing"
                      : jm_provenance_name((int)e.provenance),
         bought       ? "bought inference is not the buyer's own consumption"
         : isnan(e.v) ? e.why
                      : note);
    static const char *const mix[] = {"E1-5 of it from fossil sources", "E1-5 of it from nuclear sources",
                                      "E1-5 of it from renewable sources"};
    for (size_t i = 0; i < 3; i++)
        line(out, mix[i], NAN, "MWh", "missing",
             "the factors hold intensities, not the mix; take it from the grid's table or the contract");
    for (size_t i = 0; i < r->n_factors; i++) {
        const struct jm_factor *f = &r->factors[i];
        bool again = f->what != JM_FACTOR_CARBON;
        for (size_t k = 0; k < i; k++)
            again |= r->factors[k].what == JM_FACTOR_CARBON && strcmp(r->factors[k].zone, f->zone) == 0;
        if (again)
            continue;
        static const char buyer[] = "bought inference is scope 3 of the buyer",
                          own[] = "only where inference is bought: --fact purchase=bought";
        emission_line(out, r, "E1-6 gross scope 2, location-based", f->zone, "carbon.location",
                      bought ? buyer : NULL);
        emission_line(out, r, "E1-6 gross scope 2, market-based", f->zone, "carbon.market",
                      bought ? buyer : NULL);
        emission_line(out, r, "E1-6 gross scope 3, category 1 (purchased goods and services)", f->zone,
                      "carbon.lifecycle", bought ? NULL : own);
        zones++;
    }
    if (!zones)
        line(out, "E1-6 gross scope 2", NAN, "tCO2e", "missing",
             "needs factors: --carbon FR=40g/kWh@2024:generation, and a contract or the residual mix for the "
             "market-based figure");
    return jm_str_ok(out, "the lines", err);
}
