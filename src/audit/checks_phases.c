/* SPDX-License-Identifier: Apache-2.0 */
/* Can the energy be told by phase and request? Notes, but for parts that do not add up: no other result rests
 * on them. */
#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

int jm_check_phases(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const struct jm_phases *p = r->phases;
    double seconds = 0;
    (void)run;
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE)
            seconds += jm_seconds_apart(r->windows[i].t1, r->windows[i].t0);
    if (!p)
        return 0;
    if (p->closure_mj) {
        struct jm_finding *f = jm_report_finding(
            r, "phases.closure", JM_SEV_ERROR,
            "energies of phases and requests do not add up to that of their windows: use none of them");
        return jm_finding_at(r, f, -1, err, "%lld mJ are left over", (long long)p->closure_mj);
    }
    if (seconds < JM_TH_PHASES_S || !r->n_meters) /* what another tool summed up has nothing to share out */
        return 0;
    if (p->why)
        return jm_finding_at(r,
                             jm_report_finding(r, "phases.absent", JM_SEV_INFO,
                                               "energy by phase and request is not told: %s", p->why),
                             -1, err, NULL);
    for (size_t i = 0; i < p->n_units; i++) {
        const struct jm_phase_fit *f = &p->unit[i].fit;
        if (f->method == JM_PHASE_D2 || !f->why[0])
            continue;
        int rc = jm_finding_at(r,
                               jm_report_finding(r, "phases.fallback", JM_SEV_INFO,
                                                 "energy by phase and request is shared by the method %s: %s",
                                                 jm_phase_method_name((int)f->method), f->why),
                               -1, err, p->unit[i].name ? "%s" : NULL, p->unit[i].name);
        if (rc)
            return rc;
    }
    return 0;
}
