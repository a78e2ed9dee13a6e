/* SPDX-License-Identifier: Apache-2.0 */
/* What energy tools do to their own numbers. The importers leave in the environment what they saw; here it is
 * said what that means. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/foreign.h"
#include "audit/threshold.h"
#include "base/num.h"

#include "base/banned.h"

struct told {
    const char *key, *id;
    enum jm_severity sev;
    const char *text;
};

static int tell(const struct jm_run *run, struct jm_report *r, struct jm_err *err, const struct told *t)
{
    int rc = 0;
    for (; !rc && t->key; t++) {
        const char *said = jm_run_env(run, t->key);
        if (said)
            rc = jm_foreign_say(r, err, t->id, t->sev, -1, said, "%s", t->text);
    }
    return rc;
}

int jm_foreign_modelled(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct told told[] = {{"import.modelled", "energy.modelled", JM_SEV_WARNING,
                                        "a part of the energy comes from a table or a formula and was never "
                                        "measured: it is an estimate, and so is every "
                                        "total that holds it"},
                                       {"import.predicted", "energy.predicted", JM_SEV_WARNING,
                                        "the predicted energy is the measured epochs scaled up, not a "
                                        "measurement; only the actual one is of the run"},
                                       {NULL, NULL, JM_SEV_INFO, NULL}};
    return tell(run, r, err, told);
}

int jm_foreign_pue(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct told told[] = {{"import.pue.twice", "energy.pue_twice", JM_SEV_ERROR,
                                        "the energy was multiplied by the PUE twice: divide it by the PUE"},
                                       {"import.pue", "energy.pue", JM_SEV_WARNING,
                                        "the energy was multiplied by a PUE, a yearly mean of somebody's "
                                        "data centres: it is no device's energy, and must not "
                                        "be multiplied by a PUE again"},
                                       {NULL, NULL, JM_SEV_INFO, NULL}};
    return tell(run, r, err, told);
}

int jm_foreign_rows(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct told told[] = {
        {"import.rows.twice", "energy.rows_twice", JM_SEV_WARNING,
         "a run stands in the file twice (a second stop()); it is counted once here, and twice by whoever "
         "adds the rows up"},
        {"import.rows.cumulative", "energy.cumulative", JM_SEV_INFO,
         "rows of one run are its total so far (flush()); the last one counts, the rows must not be added"},
        {"import.overlap", "energy.overlap", JM_SEV_WARNING,
         "windows of the same devices share their time: their energies hold the same joules, and must not be "
         "added"},
        {"import.rows.short", "rows.cut", JM_SEV_WARNING,
         "rows that are shorter or longer than their head are read as far as they are sure"},
        {"import.rows.cut", "rows.cut", JM_SEV_WARNING, "rows that are cut, or have no time, are left out"},
        {"import.device.changed", "energy.device_changed", JM_SEV_ERROR,
         "another device stands in the place of one: its counter and power are not continued by the new one"},
        {"import.rows.date", "rows.cut", JM_SEV_WARNING,
         "rows without a time that exists stand at the time of the file"},
        {NULL, NULL, JM_SEV_INFO, NULL}};
    return tell(run, r, err, told);
}

int jm_foreign_scope(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct told told[] = {
        {"import.whole_machine", "energy.machine", JM_SEV_WARNING,
         "the energy is that of the whole machine, whoever used it: GPUs that did not serve and other jobs "
         "are in it"},
        {"import.without.gpu", "energy.without_gpu", JM_SEV_WARNING,
         "no GPU is in the energy: if one worked, most of the joules are missing"},
        {"import.without.host", "energy.without_host", JM_SEV_INFO,
         "CPU, memory, fans and supplies are in no figure of the file: a node takes more than its GPUs"},
        {"import.unused.host", "energy.unused", JM_SEV_INFO,
         "energies of the host are in the file, and in none of its figures: J/token is that of the GPUs "
         "alone"},
        {NULL, NULL, JM_SEV_INFO, NULL}};
    return tell(run, r, err, told);
}

int jm_foreign_method(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct told told[] = {
        {"import.dedup", "energy.dedup", JM_SEV_WARNING,
         "samples that equal the one before are not in the file; straight lines between the others "
         "(PowerMonitor.get_energy "
         "draws them) make ramps of steps. Here each value holds until the next"},
        {"import.power.invalid", "energy.said_invalid", JM_SEV_ERROR,
         "the file itself says that its power is not valid: no energy of it is a result"},
        {"import.power.schema1", "energy.sample_mean", JM_SEV_WARNING,
         "the power is the mean of all samples and not an integral: samples that do not come evenly, or from "
         "some of the nodes "
         "only, weigh too much (SemiAnalysisAI/InferenceX PR 1791)"},
        {"import.roles", "energy.roles", JM_SEV_INFO,
         "energies of prefill and decode are those of the GPUs of these workers over the whole window, "
         "waiting included, not of "
         "phases"},
        {"import.spikes", "energy.spike", JM_SEV_ERROR,
         "powers beyond what the device can draw: a torn or empty read of a counter counts as 0, and the "
         "next one brings all "
         "of it (hubblo-org/scaphandre issue 442)"},
        {"import.host.more", "energy.host_more", JM_SEV_INFO,
         "the host's power is more than that of its parts: psys holds the platform, and a zone that is shown "
         "twice counts twice"},
        {"import.below_resolution", "energy.short", JM_SEV_WARNING,
         "windows are too short for what measured them: such an energy is 0 or a whole step of the counter, "
         "whatever was drawn"},
        {"import.rounded", "energy.rounded", JM_SEV_WARNING,
         "energies are rounded so far that the last digit matters"},
        {"import.power.last", "energy.last_power", JM_SEV_INFO,
         "a power in the file is not the mean of its run (the last interval's); take energy over duration"},
        {"import.mean_of_means", "energy.mean_of_means", JM_SEV_WARNING,
         "a mean of rates (or of ratios) is not the rate of the whole: take totals over totals"},
        {"import.steady.short", "energy.steady_short", JM_SEV_WARNING,
         "the steady state is shorter than the tool's own rule asks for"},
        {"import.latency.window", "energy.latency_window", JM_SEV_INFO,
         "energy per token and latencies are of other parts of the run: at the ends fewer requests run, and "
         "wait less"},
        {"import.allocated", "energy.allocated", JM_SEV_INFO,
         "energy of a single request was not measured: it is a share of the whole by a rule"},
        {NULL, NULL, JM_SEV_INFO, NULL}};
    return tell(run, r, err, told);
}

int jm_foreign_value(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct told told[] = {
        {"import.negative", "energy.negative", JM_SEV_ERROR,
         "an energy or a time is below 0: a counter was reset or wrapped, or something larger was taken off; "
         "it is no energy, "
         "and a total with it in it is too small"},
        {"import.zero", "energy.zero", JM_SEV_ERROR,
         "an energy is 0 although time passed: nothing was measured, and 0 was written for it"},
        {"import.energy.none", "energy.missing", JM_SEV_ERROR,
         "devices have no energy: totals without them are too small"},
        {"import.energy.unit", "energy.unit", JM_SEV_ERROR,
         "the unit of the energy is not known, so it is none"},
        {"import.parts", "energy.parts", JM_SEV_ERROR,
         "the total and what it is made of contradict each other"},
        {NULL, NULL, JM_SEV_INFO, NULL}};
    int rc = tell(run, r, err, told);
    /* what no importer told of */
    for (size_t i = 0; !rc && !jm_run_env(run, "import.negative") && i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        char evidence[160];
        if (!(k->claimed < 0) || (strcmp(k->metric, "energy") != 0 && strncmp(k->metric, "j_per.", 6) != 0))
            continue;
        snprintf(evidence, sizeof evidence, "%.80s: %.6g %.20s", k->key, k->value, k->unit);
        return jm_foreign_say(r, err, "energy.negative", JM_SEV_ERROR, k->window, evidence, "%s",
                              told[0].text);
    }
    return rc;
}

int jm_foreign_denominator(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct told told[] = {
        {"import.denominator", "energy.denominator", JM_SEV_WARNING,
         "tokens per joule in the file counts prompt and output tokens together: it is not comparable with "
         "one of output tokens"},
        {"import.denominator.assumed", "energy.denominator", JM_SEV_WARNING,
         "the tokens that the energy was divided by are the most that were allowed, not those that came: "
         "where "
         "an answer ended earlier the figure is too good"},
        {"import.tokens.floor", "energy.tokens_floor", JM_SEV_ERROR,
         "the energy was divided by a single token: none came in the window, and 1 was put in the place of "
         "0"},
        {"import.prefill_in_output", "energy.denominator", JM_SEV_INFO,
         "energy per output token holds the prefill of the prompts: with other prompts it is another number"},
        {NULL, NULL, JM_SEV_INFO, NULL}};
    int rc = tell(run, r, err, told);
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        double e = jm_foreign_claim(r, w, "energy", NULL),
               per = jm_foreign_claim(r, w, "j_per.output_token", NULL),
               out = jm_foreign_claim(r, w, "tokens.output", NULL),
               in = jm_foreign_claim(r, w, "tokens.input", NULL),
               all = jm_foreign_claim(r, w, "j_per.total_token", NULL);
        char evidence[160];
        if (e > 0 && per > 0 && out > 0 && in > 0.05 * out && fabs(per * (in + out) / e - 1) < 0.01) {
            snprintf(evidence, sizeof evidence, "%.6g J / (%.0f + %.0f tokens)", e, in, out);
            rc = jm_foreign_say(r, err, "energy.denominator", JM_SEV_WARNING, w, evidence,
                                "energy per output token is in truth per token, input included: per output "
                                "token it is %.4g J",
                                e / out);
        } else if (per > 0 && all > 0 && per / all > JM_TH_FOREIGN_DENOMINATOR) {
            snprintf(evidence, sizeof evidence, "%.4g J per output token, %.4g J per token", per, all);
            rc = jm_foreign_say(r, err, "energy.denominator", JM_SEV_INFO, w, evidence,
                                "most tokens are input: per output token the energy is %.3g times that per "
                                "token; say which, and "
                                "compare like with like",
                                per / all);
        }
    }
    return rc;
}

/* g/kWh of electricity in 2023, life cycle (Ember and Our World in Data, as CodeCarbon's
 * global_energy_mix.json has them). Only for what is off by a multiple. */
static const struct {
    const char *iso;
    double g;
} grids[] = {{"FRA", 56},  {"USA", 369}, {"DEU", 381}, {"SWE", 41},  {"NOR", 30},  {"GBR", 238},
             {"POL", 662}, {"CHN", 582}, {"IND", 713}, {"JPN", 485}, {"CAN", 170}, {"BRA", 98}};

int jm_foreign_carbon(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t n;
    const struct jm_run_env_row *row = jm_run_env_rows(run, &n);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++) {
        double g, grid = NAN;
        char evidence[120];
        if (strncmp(row[i].key, "import.carbon.", 14) != 0 || jm_num_double(jm_span_of(row[i].value), &g))
            continue;
        for (size_t k = 0; k < sizeof grids / sizeof grids[0]; k++)
            if (strcmp(grids[k].iso, row[i].key + 14) == 0)
                grid = grids[k].g;
        bool off = isfinite(grid) && (g > JM_TH_FOREIGN_GRID * grid || g < grid / JM_TH_FOREIGN_GRID);
        if (!off && g <= JM_TH_FOREIGN_COAL && g > 0)
            continue;
        snprintf(evidence, sizeof evidence,
                 isfinite(grid) ? "%s: %.4g g/kWh in the file; its electricity has about %.3g"
                                : "%s: %.4g g/kWh in the file",
                 row[i].key + 14, g, grid);
        rc = jm_foreign_say(r, err, "carbon.mix", JM_SEV_WARNING, -1, evidence,
                            !(g > 0) ? "emissions are 0: no intensity was found, and 0 was taken"
                            : off ? "the carbon intensity is %.3g times that of the country's electricity: a "
                                    "mix of primary energy, "
                                    "another country's, or another unit"
                                  : "the carbon intensity is above that of the dirtiest coal: another unit",
                            g / grid);
    }
    return rc;
}
