/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

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
    if (!r->n_meters && r->n_claims) /* a result file of another tool: its number is about something else */
        return jm_finding_at(
            r,
            jm_report_finding(
                r, "meters.none", JM_SEV_INFO,
                "the file holds no readings of a meter: an energy that it states is declared, and cannot "
                "be computed again"),
            -1, err, NULL);
    /* what a command mends before what is not there */
    const struct jm_meter_info *why = NULL;
    for (size_t i = 0; i < r->n_meters; i++) {
        const struct jm_meter_info *m = &r->meters[i];
        bool mends = m->mend && m->mend[0], says = m->reason && m->reason[0];
        if ((mends && !(why && why->mend && why->mend[0])) || (says && !why))
            why = m;
    }
    const char *mend = why && why->mend && why->mend[0] ? why->mend : NULL;
    return jm_finding_at(
        r,
        jm_report_finding(r, "meters.none", JM_SEV_ERROR,
                          "no energy in any window: %s; \"joulemark meters\" says what can be mended",
                          r->n_meters ? "no meter could be read" : "no meter was there"),
        -1, err, "%s%s%s%s%s%s", why ? why->name : "", why ? ": " : "", why && why->reason ? why->reason : "",
        mend ? " (to mend it: " : "", mend ? mend : "", mend ? ")" : "");
}

int jm_check_window(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct {
        enum jm_profile p;
        double s;
    } need[] = {{JM_PROFILE_SCREENING, JM_TH_SCREENING_S},
                {JM_PROFILE_CLAIM, JM_TH_CLAIM_S},
                {JM_PROFILE_PUBLICATION, JM_TH_PUBLICATION_S}};
    enum jm_role role = jm_main_role(r);
    int measured = 0, rc = 0;
    bool unknown = jm_run_env(run, "import.missing.duration") != NULL; /* a window of 1 ns stands for it */
    for (size_t i = 0; !rc && i < r->n_windows; i++) {
        const struct jm_window *w = &r->windows[i];
        double s = jm_seconds_apart(w->t1, w->t0);
        if (w->role != role)
            continue;
        measured++;
        if (unknown && s > 0 && s < 2e-9)
            continue;
        if (w->t1 <= w->t0) {
            struct jm_finding *f =
                jm_report_finding(r, "window.empty", JM_SEV_ERROR,
                                  "window %s ends when or before it begins: it holds nothing", w->name);
            rc = jm_finding_at(r, f, (int)i, err, NULL);
            continue;
        }
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
    (void)run;
    if (r->profile != JM_PROFILE_CLAIM || r->trials >= JM_TH_CLAIM_TRIALS)
        return 0;
    struct jm_finding *f =
        jm_report_finding(r, "trials.few", JM_SEV_ERROR, "%d trial%s; profile claim needs at least %d",
                          r->trials, r->trials == 1 ? "" : "s", JM_TH_CLAIM_TRIALS);
    return jm_finding_at(r, f, -1, err, NULL);
}

static int clock_finding(struct jm_report *r, size_t window, double slept, double step, size_t pair,
                         struct jm_err *err)
{
    const char *name = r->windows[window].name;
    struct jm_finding *f =
        slept > 0 ? jm_report_finding(r, "clock.suspend", JM_SEV_ERROR,
                                      "the machine slept for %.3g s inside window %s", slept, name)
                  : jm_report_finding(r, "clock.step", JM_SEV_WARNING,
                                      "the wall clock stepped by %+.3f s inside window %s; intervals are "
                                      "unaffected, but stamps of other hosts no longer match",
                                      step, name);
    return jm_finding_at(r, f, (int)window, err, "clock pairs %zu and %zu", pair - 1, pair);
}

int jm_check_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t n;
    int rc = 0;
    const struct jm_clock_pair *p = jm_run_clock_pairs(run, &n);
    for (size_t i = 1; !rc && i < n; i++) {
        double dm = jm_seconds_apart(p[i].mono0, p[i - 1].mono0),
               step = jm_seconds_apart(p[i].real, p[i - 1].real) - dm,
               slept = jm_seconds_apart(p[i].boot, p[i - 1].boot) - dm;
        bool sleep = p[i].boot && p[i - 1].boot && slept > JM_TH_SUSPEND_S;
        if (!sleep && !(fabs(step) > JM_TH_CLOCK_STEP_S + JM_TH_CLOCK_SLEW * fabs(dm)))
            continue;
        for (size_t k = 0; !rc && k < r->n_windows; k++)
            if (p[i].mono1 >= r->windows[k].t0 && p[i - 1].mono0 <= r->windows[k].t1)
                rc = clock_finding(r, k, sleep ? slept : 0, step, i, err);
    }
    return rc;
}

/* Facts of the meters are kept again under "end." when the recording ends. */
int jm_check_changed(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_env; i++) {
        const char *key = r->env[i].key, *then;
        if (strncmp(key, "end.", 4) == 0 && (then = jm_run_env(run, key + 4)) &&
            strcmp(then, r->env[i].value) != 0)
            rc = jm_finding_at(r,
                               jm_report_finding(r, "record.changed", JM_SEV_WARNING,
                                                 "%s was \"%s\" at the start and \"%s\" at the end", key + 4,
                                                 then, r->env[i].value),
                               -1, err, "%s", key);
        if (!rc && strncmp(key, "record.dropped.", 15) == 0)
            rc = jm_finding_at(r,
                               jm_report_finding(r, "record.dropped", JM_SEV_WARNING,
                                                 "%s readings of meter %s were lost before they were written",
                                                 r->env[i].value, key + 15),
                               -1, err, NULL);
    }
    return rc;
}
