/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of an imported MLPerf power session. */
#include <math.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

static bool session(const struct jm_run *run)
{
    const char *kind = jm_run_env(run, "import.kind");
    return kind && strcmp(kind, "mlperf-inference") == 0;
}

static bool is_false(const char *s)
{
    return s && (strcmp(s, "false") == 0 || strcmp(s, "0") == 0);
}

int jm_check_mlperf_result(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *v = jm_run_env(run, "loadgen.result_validity");
    int rc = 0;
    if (!session(run))
        return 0;
    if (!v)
        rc = jm_finding_at(r,
                           jm_report_finding(r, "mlperf.result", JM_SEV_WARNING,
                                             "the detail log does not say whether the result is valid"),
                           -1, err, NULL);
    else if (strcmp(v, "VALID") != 0)
        rc = jm_finding_at(
            r, jm_report_finding(r, "mlperf.result", JM_SEV_ERROR, "LoadGen calls the result %s", v), -1, err,
            "result_validity");
    if (!rc && is_false(jm_run_env(run, "loadgen.result_min_duration_met")))
        rc = jm_finding_at(
            r,
            jm_report_finding(r, "mlperf.duration", JM_SEV_ERROR, "LoadGen's minimum duration was not met"),
            -1, err, "result_min_duration_met");
    for (size_t i = 0; !rc && i < r->n_windows; i++) {
        double s = jm_seconds_apart(r->windows[i].t1, r->windows[i].t0);
        if (r->windows[i].role == JM_R_MEASURE && s < JM_TH_PUBLICATION_S)
            rc = jm_finding_at(
                r,
                jm_report_finding(r, "mlperf.duration", JM_SEV_ERROR,
                                  "the power window is %.1f s long; the inference rules ask for %g s", s,
                                  JM_TH_PUBLICATION_S),
                (int)i, err, NULL);
    }
    const char *mode = jm_run_env(run, "loadgen.effective_test_mode");
    if (!rc && mode && strcmp(mode, "PerformanceOnly") != 0)
        rc = jm_finding_at(r,
                           jm_report_finding(r, "mlperf.mode", JM_SEV_ERROR,
                                             "the test mode is %s; power belongs to a performance run", mode),
                           -1, err, NULL);
    double errors = jm_run_number(run, "mlperf.loadgen.errors");
    if (!rc && errors > 0)
        rc = jm_finding_at(
            r,
            jm_report_finding(r, "mlperf.loadgen_errors", JM_SEV_WARNING, "LoadGen logged %g errors", errors),
            -1, err, NULL);
    return rc;
}

/* Samples inside the window by their kind, and the largest gap between them. */
int jm_check_mlperf_samples(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int chan = -1, rc = 0;
    if (!session(run))
        return 0;
    for (size_t i = 0; i < r->n_channels; i++)
        if (strcmp(r->channels[i].name, "power.published") == 0)
            chan = (int)i;
    for (size_t k = 0; chan >= 0 && !rc && k < r->n_windows; k++) {
        const struct jm_window *w = &r->windows[k];
        struct jm_readings buf = {0};
        int64_t over = 0, bad = 0, missed = 0, n = 0, gap = 0, prev = -1;
        if (w->role != JM_R_MEASURE)
            continue;
        rc = jm_run_readings(run, chan, w->t0, w->t1, &buf, err);
        for (size_t i = 0; !rc && i < buf.n; i++) {
            int64_t t = buf.v[i].t0;
            if (prev >= 0 && t - prev > gap && t > w->t0 && prev < w->t1)
                gap = t - prev;
            prev = t;
            if (t <= w->t0 || t >= w->t1)
                continue;
            n++;
            double v = jm_channel_value(&r->channels[chan], buf.v[i].value);
            over += v <= -3;
            missed += v == -2;
            bad += v < 0 && v > -2;
        }
        bool covers = buf.n && buf.v[0].t0 <= w->t0 && buf.v[buf.n - 1].t0 >= w->t1;
        jm_readings_release(&buf);
        if (!rc && over + bad + missed > 0)
            rc = jm_finding_at(
                r,
                jm_report_finding(
                    r, "mlperf.samples", JM_SEV_WARNING,
                    "%lld of %lld samples in the window are not good: %lld over range, %lld bad, "
                    "%lld missed; power.mean decodes over-range ones and bridges the others",
                    (long long)(over + bad + missed), (long long)n, (long long)over, (long long)bad,
                    (long long)missed),
                (int)k, err, "spl.txt");
        if (!rc && !covers)
            rc = jm_finding_at(
                r,
                jm_report_finding(r, "mlperf.span", JM_SEV_ERROR,
                                  "the power log does not cover the window: samples are missing at an edge"),
                (int)k, err, "spl.txt");
        if (!rc && (double)gap / 1e9 > JM_TH_MLPERF_GAP_S)
            rc = jm_finding_at(r,
                               jm_report_finding(r, "mlperf.gap", JM_SEV_WARNING,
                                                 "%.1f s pass between two power samples", (double)gap / 1e9),
                               (int)k, err, "spl.txt");
    }
    double back = jm_run_number(run, "mlperf.spl.out_of_order");
    if (!rc && back > 0)
        rc = jm_finding_at(
            r,
            jm_report_finding(r, "mlperf.order", JM_SEV_WARNING,
                              "%g samples go back in time: they count in the published mean, not in the "
                              "time-weighted one",
                              back),
            -1, err, "spl.txt");
    double broken = jm_run_number(run, "mlperf.spl.broken");
    const char *first = jm_run_env(run, "mlperf.spl.first_broken");
    if (!rc && broken > 0)
        rc = jm_finding_at(r,
                           jm_report_finding(r, "mlperf.broken", JM_SEV_WARNING,
                                             "%g lines of spl.txt are no power samples", broken),
                           -1, err, "%s", first ? first : "");
    return rc;
}

int jm_check_mlperf_mean(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const struct jm_result *plain = jm_report_find(r, "power.mean.mlperf", JM_B_WALL, -2),
                           *weighted = jm_report_find(r, "power.mean", JM_B_WALL, -2);
    if (!session(run) || !plain || !weighted || !plain->q.have || !weighted->q.have ||
        !(weighted->q.value > 0))
        return 0;
    double rel = plain->q.value / weighted->q.value - 1;
    if (fabs(rel) <= JM_TH_MLPERF_MEAN_REL)
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "mlperf.mean", JM_SEV_WARNING,
        "the mean as published is %+.2f %% against the time-weighted mean (%.6g W against %.6g W)", 100 * rel,
        plain->q.value, weighted->q.value);
    return jm_finding_at(r, f, plain->window, err, NULL);
}
