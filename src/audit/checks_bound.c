/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "audit/checks.h"

#include "base/banned.h"

/* What would do: a longer window, or none. */
static const char *remedy(const struct jm_energy_row *e, double most, char buf[160])
{
    if (isfinite(e->needs_s) && isfinite(most))
        snprintf(buf, 160, "a window of %.0f s would do, and --window-max allowed %.0f s", ceil(e->needs_s),
                 most);
    else if (isfinite(e->needs_s))
        snprintf(buf, 160, "a window of %.0f s would do", ceil(e->needs_s));
    else
        snprintf(buf, 160, "no length would do: what the instrument is accurate to is more than that");
    return buf;
}

int jm_check_tolerance(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    char buf[160];
    double most = jm_run_number(run, "plan.window_max_s");
    for (size_t i = 0; r->tolerance > 0 && i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        const struct jm_window *w = &r->windows[e->window];
        struct jm_finding *f = NULL;
        if (!e->counted || !isfinite(e->joules) || w->role != jm_main_role(r))
            continue;
        if (!isfinite(e->bound) || !(e->joules > 0))
            f = jm_report_finding(
                r, "window.tolerance", JM_SEV_ERROR,
                "how far %s of %s may be off in window %s is not known, and at most %.3g %% was "
                "asked for",
                c->name, c->device, w->name, 100 * r->tolerance);
        else if (e->bound > r->tolerance * e->joules)
            f = jm_report_finding(
                r, "window.tolerance", JM_SEV_ERROR,
                "%s of %s may be off by up to %.3g %% in window %s, and at most %.3g %% was asked "
                "for; %s",
                c->name, c->device, 100 * e->bound / e->joules, w->name, 100 * r->tolerance,
                remedy(e, most, buf));
        else
            continue;
        int rc = jm_finding_at(r, f, e->window, err, "%.6g J of %.6g J", e->bound, e->joules);
        if (rc)
            return rc;
        f->domain = e->domain;
    }
    return 0;
}
