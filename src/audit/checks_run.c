/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

#define BIT(p) (1u << (p))

int jm_check_run_cut(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    if (r->cut)
        return jm_finding_at(
            r,
            jm_report_finding(r, "run.cut", JM_SEV_WARNING,
                              "the recording was cut; the end of the file is the last data that was written"),
            -1, err, NULL);
    if (!r->sealed)
        return jm_finding_at(
            r,
            jm_report_finding(
                r, "run.open", JM_SEV_WARNING,
                "the run is not sealed: it is still being recorded, or was cut (joulemark recover "
                "finishes it), so it has no hash"),
            -1, err, NULL);
    return 0;
}

int jm_check_simulated(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    if (!r->simulated)
        return 0;
    return jm_finding_at(
        r,
        jm_report_finding(r, "run.simulated", JM_SEV_INFO,
                          "SIMULATED: devices or endpoint of this run are simulated; its numbers describe no "
                          "hardware"),
        -1, err, NULL);
}

int jm_check_meters(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    bool energy = r->n_energy > 0;
    for (size_t i = 0; i < r->n_meters; i++) {
        const struct jm_meter_info *m = &r->meters[i];
        if (strcmp(m->state, "lost") == 0 || strcmp(m->state, "hung") == 0) {
            int rc = jm_finding_at(
                r,
                jm_report_finding(r, "meters.lost", JM_SEV_WARNING, "meter %s %s during the run: %s", m->name,
                                  m->state[0] == 'l' ? "vanished" : "stopped answering", m->reason),
                -1, err, "%s", m->instance);
            if (rc)
                return rc;
        }
    }
    if (energy)
        return 0;
    const char *why = "";
    for (size_t i = 0; i < r->n_meters; i++)
        if (r->meters[i].reason && r->meters[i].reason[0] && !why[0])
            why = r->meters[i].reason;
    return jm_finding_at(
        r,
        jm_report_finding(r, "meters.none", JM_SEV_ERROR,
                          "no energy in any window: %s; \"joulemark meters\" says what can be mended",
                          r->n_meters ? "no meter could be read" : "no meter was there"),
        -1, err, "%s", why);
}

int jm_check_window(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct {
        enum jm_profile p;
        double s;
    } need[] = {{JM_PROFILE_SCREENING, JM_TH_SCREENING_S},
                {JM_PROFILE_CLAIM, JM_TH_CLAIM_S},
                {JM_PROFILE_PUBLICATION, JM_TH_PUBLICATION_S}};
    int measured = 0, rc = 0;
    (void)run;
    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jm_window *w = &r->windows[i];
        double s = (double)(w->t1 - w->t0) / 1e9;
        if (w->role != JM_R_MEASURE)
            continue;
        measured++;
        for (size_t k = 0; !rc && k < 3; k++)
            if (r->profile == need[k].p && s < need[k].s) {
                struct jm_finding *f =
                    jm_report_finding(r, "window.short", JM_SEV_ERROR,
                                      "window %s is %.3g s long; profile %s needs at least %g s", w->name, s,
                                      jm_profile_name((int)need[k].p), need[k].s);
                rc = jm_finding_at(r, f, (int)i, err, NULL);
            }
    }
    if (!rc && !measured)
        rc = jm_finding_at(r,
                           jm_report_finding(r, "window.none", JM_SEV_ERROR,
                                             "there is no measured window, so there is nothing to divide by"),
                           -1, err, NULL);
    return rc;
}

int jm_check_trials(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int n = 0;
    (void)run;
    for (size_t i = 0; i < r->n_windows; i++)
        n += r->windows[i].role == JM_R_MEASURE;
    if (r->profile != JM_PROFILE_CLAIM || n >= JM_TH_CLAIM_TRIALS)
        return 0;
    struct jm_finding *f =
        jm_report_finding(r, "trials.few", JM_SEV_ERROR, "%d trial%s; profile claim needs at least %d", n,
                          n == 1 ? "" : "s", JM_TH_CLAIM_TRIALS);
    return jm_finding_at(r, f, -1, err, NULL);
}

int jm_check_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t n;
    const struct jm_clock_pair *p = jm_run_clock_pairs(run, &n);
    for (size_t i = 1; i < n; i++) {
        int64_t dm = p[i].mono0 - p[i - 1].mono0, step = (p[i].real - p[i - 1].real) - dm,
                slept = (p[i].boot - p[i - 1].boot) - dm;
        bool sleep = p[i].boot && p[i - 1].boot && slept > 100 * JM_NS_PER_MS,
             stepped = llabs(step) > (int64_t)(JM_TH_CLOCK_STEP_S * 1e9);
        for (size_t k = 0; (sleep || stepped) && k < r->n_windows; k++) {
            const struct jm_window *w = &r->windows[k];
            if (p[i].mono1 < w->t0 || p[i - 1].mono0 > w->t1)
                continue;
            struct jm_finding *f = sleep
                                       ? jm_report_finding(r, "clock.suspend", JM_SEV_ERROR,
                                                           "the machine slept for %.3g s inside window %s",
                                                           (double)slept / 1e9, w->name)
                                       : jm_report_finding(r, "clock.step", JM_SEV_WARNING,
                                                           "the wall clock stepped by %+.3f s inside window "
                                                           "%s; intervals are unaffected, but stamps "
                                                           "of other hosts no longer match",
                                                           (double)step / 1e9, w->name);
            int rc = jm_finding_at(r, f, (int)k, err, "clock pairs %zu and %zu", i - 1, i);
            if (rc)
                return rc;
        }
    }
    return 0;
}
