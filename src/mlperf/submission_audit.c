/* SPDX-License-Identifier: Apache-2.0 */
/* The figures that the audit guidelines look at, comparison of two runs, and the declared nameplate. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mlperf/submission_say.h"

#include "base/banned.h"

#define WITHIN 0.02 /* a reproduction, and the window against the run */
#define EXEMPT 0.10

#define SAY(k, id, v, ev, ...)                                                                               \
    do {                                                                                                     \
        if (!(k)->rc)                                                                                        \
            (k)->rc = jm_mlperf_outcome_add((k)->c, id, v, ev, (k)->err, __VA_ARGS__);                       \
    } while (0)

/* Seconds that LoadGen's own count and rate give; NaN: the log does not say. */
static double seconds_of(const struct jm_mlperf_loadgen *lg, const char **how)
{
    static const struct {
        const char *count, *per, *rate;
    } rows[] = {
        {"result_query_count", NULL, "result_qps_with_loadgen_overhead"},
        {"result_query_count", NULL, "result_completed_samples_per_sec"},
        {"generated_query_count", "generated_samples_per_query", "result_samples_per_second"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double n = jm_mlperf_number(lg, rows[i].count),
               per = rows[i].per ? jm_mlperf_number(lg, rows[i].per) : 1,
               rate = jm_mlperf_number(lg, rows[i].rate);
        if (n > 0 && per > 0 && rate > 0) {
            *how = rows[i].rate;
            return n * per / rate;
        }
    }
    return NAN;
}

static void nameplate(struct jm_submission_work *k)
{
    const struct jm_mlperf_nameplate *n = &k->m->nameplate;
    bool asked = jm_submission_since(k->round, "v6.1");
    if (!n->present) {
        if (asked && (k->m->tree || k->m->flat))
            SAY(k, "nameplate.declared", JM_MLPERF_WARN, NULL,
                "The nameplate power of the system is not declared.");
        return;
    }
    if (n->error)
        SAY(k, "nameplate.readable", JM_MLPERF_FAIL, n->source,
            "The declaration of the nameplate power is not whole: %s", n->error);
    if (isnan(n->watts))
        return;
    if (n->components)
        SAY(k, "nameplate.declared", JM_MLPERF_PASS, n->source,
            "Declared, not measured: %.6g W, of %d supplies in %d components (%d redundant).", n->watts,
            n->supplies, n->components, n->redundant);
    else
        SAY(k, "nameplate.declared", JM_MLPERF_PASS, n->source, "Declared, not measured: %.6g W.", n->watts);
    if (k->r && k->r->power.published > n->watts)
        SAY(k, "nameplate.plausible", JM_MLPERF_WARN, n->source,
            "The system drew %.6g W on average, more than the %.6g W that its supplies are declared for.",
            k->r->power.published, n->watts);
    else if (k->r && k->r->power.published > 0)
        SAY(k, "nameplate.plausible", JM_MLPERF_PASS, NULL, "The system drew %.1f %% of the declared power.",
            100 * k->r->power.published / n->watts);
    SAY(k, "nameplate.messaging", JM_MLPERF_NOTE, NULL,
        "Performance per watt may be told of the measured power only, never of these %.6g W.", n->watts);
}

void jm_submission_figures(struct jm_submission_work *k)
{
    const struct jm_mlperf_loadgen *lg = &k->s->loadgen[JM_MLPERF_TESTING];
    const struct jm_mlperf_result *r = k->r;
    const char *how = "";
    char ev[200];
    double run = seconds_of(lg, &how), latency = jm_mlperf_number(lg, "result_mean_latency_ns") / 1e9;
    if (r && r->power.published > 0) {
        double w = r->power.published;
        snprintf(ev, sizeof ev, "%.6g W, %.6g samples/s, mean latency %.6g s", w, r->samples_per_s, latency);
        const struct jm_mlperf_fact *ran = jm_mlperf_fact(lg, "effective_scenario");
        if (ran && strcasestr(ran->text, "Stream") && latency > 0)
            SAY(k, "audit.figures", JM_MLPERF_NOTE, ev, "joules_per_stream %.6g.", latency * w);
        else if (r->samples_per_s > 0)
            SAY(k, "audit.figures", JM_MLPERF_NOTE, ev, "qps_per_watt %.6g.", r->samples_per_s / w);
    }
    if (r && run > 0 && r->seconds > 0) {
        snprintf(ev, sizeof ev, "by %s: %.3f s; power_begin to power_end: %.3f s", how, run, r->seconds);
        SAY(k, "audit.window", fabs(r->seconds / run - 1) <= WITHIN ? JM_MLPERF_PASS : JM_MLPERF_WARN, ev,
            "The power window is %.3f s long, the run %.3f s (%+.2f %%).", r->seconds, run,
            100 * (r->seconds / run - 1));
    }
    nameplate(k);
}

int jm_mlperf_submission_audit(const struct jm_mlperf_session *a, const struct jm_mlperf_result *ra,
                               const struct jm_mlperf_session *b, const struct jm_mlperf_result *rb,
                               struct jm_mlperf_checked *c, struct jm_err *err)
{
    struct jm_submission_work work = {.s = a, .r = ra, .c = c, .err = err}, *k = &work;
    double power = rb->metric / ra->metric - 1, speed = rb->performance / ra->performance - 1;
    double efficiency = rb->samples_per_j.published / ra->samples_per_j.published - 1;
    bool same = strcmp(ra->benchmark, rb->benchmark) == 0 && strcmp(ra->scenario, rb->scenario) == 0 &&
                strcmp(ra->metric_unit ? ra->metric_unit : "", rb->metric_unit ? rb->metric_unit : "") == 0;
    char ev[300];
    (void)b;
    if (!same || isnan(power)) {
        SAY(k, "audit.reproduction", JM_MLPERF_NOTE, NULL,
            "The two runs cannot be compared: %s %s in %s and %s %s in %s.", ra->benchmark, ra->scenario,
            ra->metric_unit ? ra->metric_unit : "no unit", rb->benchmark, rb->scenario,
            rb->metric_unit ? rb->metric_unit : "no unit");
        return work.rc;
    }
    snprintf(ev, sizeof ev, "%.7g and %.7g %s; %.7g and %.7g %s", ra->metric, rb->metric, ra->metric_unit,
             ra->performance, rb->performance, ra->performance_unit);
    bool ok = fabs(power) <= WITHIN && (isnan(speed) || fabs(speed) <= WITHIN);
    SAY(k, "audit.reproduction", ok ? JM_MLPERF_PASS : JM_MLPERF_FAIL, ev,
        "The second run differs by %+.2f %% in power and %+.2f %% in performance; 2 %% are allowed.",
        100 * power, 100 * speed);
    if (!isnan(efficiency))
        SAY(k, "audit.exempt", JM_MLPERF_NOTE, NULL,
            "Its efficiency differs by %+.2f %%: %s 10 %%, within which a result is not drawn again for an "
            "audit.",
            100 * efficiency, fabs(efficiency) <= EXEMPT ? "within the" : "beyond the");
    return work.rc;
}
