/* SPDX-License-Identifier: Apache-2.0 */
/* The table of checks, and the validity that follows from what they found. */
#include "audit/audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "base/num.h"

#include "base/banned.h"

const struct jm_check jm_check_table[] = {
    {"run.cut", "the recording ended properly", "a run that was cut lacks up to 10 s at its end",
     jm_check_run_cut},
    {"run.simulated", "real devices", "a simulation never passes for a measurement", jm_check_simulated},
    {"meters.none", "something could be read", "without a meter there is no energy", jm_check_meters},
    {"window.short", "the window is long enough for the profile",
     "a short window magnifies edges and is not steady; MLPerf Power asks for 60 s, its LLM scenarios for "
     "600 s",
     jm_check_window},
    {"trials.few", "enough trials for the profile", "the scatter between runs is unknown with one trial",
     jm_check_trials},
    {"clock.step", "no clock step or suspend inside a window",
     "wall-clock steps and suspends tear energy and tokens apart (sgl-project/sglang issue 6177)",
     jm_check_clock},
    {"counter.status", "every instrument gave a value",
     "resets, wraps, frozen and lost devices make an energy wrong or partial; AIPerf clamps a negative delta "
     "to 0 J",
     jm_check_energy_status},
    {"energy.conflict", "counter and gauge agree",
     "two instruments of one board that disagree mean that at least one is wrong (ml-energy/zeus issue 181, "
     "kokkos-tools PR 295)",
     jm_check_counter_gauge},
    {"energy.gap", "no gaps inside the window", "energy inside a gap is not known", jm_check_gaps},
    {"gain.unknown", "the instrument is calibrated",
     "single boards read 0.87 to 1.15 of the true power (arXiv 2312.02741); without a calibration the "
     "interval cannot hold it",
     jm_check_gain},
    {"gpu.throttle", "no throttling", "a GPU that throttles is measured at another operating point",
     jm_check_throttle},
    {"limit.changed", "limits stayed as they were",
     "a power limit or clock lock that changes splits the run in two", jm_check_limit_change},
    {"poll.disturbs", "fast polling does not change the count",
     "monitoring itself can cost energy (NVIDIA/dcgm-exporter issue 464)", jm_check_fast_polling},
    {"estimate", "no estimate among the measurements",
     "an estimate stands beside a measurement under its own name", jm_check_estimate},
    {"sut.conflict", "the meters are at the system under test",
     "energy of one host over tokens of another is no number", jm_check_sut},
    {"tokens.unknown", "the server counted its tokens",
     "requested lengths and chunk counts are not tokens (sglang issue 10746)", jm_check_tokens},
    {"requests.failed", "requests succeeded", "failures keep their joules; a run of failures says nothing",
     jm_check_failures},
    {"load.unsteady", "the load was steady", "ramp and drain dilute a steady-state figure", jm_check_steady},
    {"edge.bias", "few requests cut by the edges",
     "a request whose prefill is cut by an edge gives energy to one window and tokens to another",
     jm_check_bias},
    {"lengths.differ", "lengths as asked",
     "ignore_eos may be ignored and prompts truncated silently (vllm issue 18687)", jm_check_lengths},
    {"client.limit", "the client was not the limit", "a busy client reports its own rate as the server's",
     jm_check_client},
    {"mlperf.result", "LoadGen's result is valid",
     "MLCommons inference rules: result VALID, minimum duration 600 s", jm_check_mlperf_result},
    {"mlperf.samples", "power samples are whole",
     "missed, bad and over-range samples change the mean; from v3.1 on they vanish from it silently",
     jm_check_mlperf_samples},
    {"mlperf.mean", "plain and time-weighted mean agree",
     "the published mean weighs each sample alike, whatever time it stands for", jm_check_mlperf_mean},
    {NULL, NULL, NULL, NULL},
};

int jm_finding_at(struct jm_report *r, struct jm_finding *f, int window, struct jm_err *err,
                  const char *evidence, ...)
{
    if (!f)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the findings");
    f->window = window;
    if (evidence) {
        char text[512];
        va_list ap;
        va_start(ap, evidence);
        vsnprintf(text, sizeof text, evidence, ap);
        va_end(ap);
        f->evidence = jm_report_text(r, "%s", text);
    }
    return 0;
}

double jm_run_number(const struct jm_run *run, const char *key)
{
    double v;
    return jm_num_double(jm_span_of(jm_run_env(run, key)), &v) == 0 ? v : NAN;
}

static bool applies(const struct jm_finding *f, enum jm_profile p)
{
    return !f->profiles || (f->profiles & (1u << p));
}

/* Findings about instruments concern energies; the others concern everything in their window. */
static bool concerns(const struct jm_finding *f, const struct jm_result *x)
{
    static const char *const energy_only[] = {"counter.", "energy.", "meters.",  "gain.",   "gpu.",
                                              "limit.",   "poll.",   "estimate", "mlperf.s"};
    if (f->window >= 0 && x->window >= 0 && f->window != x->window)
        return false;
    for (size_t i = 0; i < sizeof energy_only / sizeof energy_only[0]; i++)
        if (strncmp(f->id, energy_only[i], strlen(energy_only[i])) == 0)
            return x->q.boundary != JM_B_NONE;
    return true;
}

static int judge(struct jm_report *r, struct jm_result *x, struct jm_err *err)
{
    enum jm_validity v = JM_V_VALID;
    const char *reasons = x->q.reasons;
    bool partial = x->q.boundary != JM_B_NONE && x->have_of < x->of;
    if (!x->q.have || partial)
        v = JM_V_INVALID;
    if (partial && !(reasons = jm_report_text(r, "%s%s%d of %d", reasons ? reasons : "", reasons ? "," : "",
                                              x->have_of, x->of)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the validity");
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct jm_finding *f = &r->findings[i];
        if (f->severity == JM_SEV_INFO || !applies(f, r->profile) || !concerns(f, x))
            continue;
        enum jm_validity w = f->severity == JM_SEV_ERROR ? JM_V_INVALID : JM_V_FINDINGS;
        v = w > v ? w : v;
        if (!reasons || !strstr(reasons, f->id))
            reasons = jm_report_text(r, "%s%s%s", reasons ? reasons : "", reasons ? "," : "", f->id);
        if (!reasons)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the validity");
    }
    x->q.validity = v;
    x->q.reasons = v == JM_V_VALID ? NULL : reasons;
    return 0;
}

int jm_audit(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    for (const struct jm_check *c = jm_check_table; c->id; c++) {
        int rc = c->run(run, r, err);
        if (rc)
            return rc;
    }
    r->validity = JM_V_VALID;
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct jm_finding *f = &r->findings[i];
        if (!applies(f, r->profile) || f->severity == JM_SEV_INFO)
            continue;
        enum jm_validity v = f->severity == JM_SEV_ERROR ? JM_V_INVALID : JM_V_FINDINGS;
        r->validity = v > r->validity ? v : r->validity;
    }
    for (size_t i = 0; i < r->n_results; i++) {
        int rc = judge(r, &r->results[i], err);
        if (rc)
            return rc;
    }
    return 0;
}
