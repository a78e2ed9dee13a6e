/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind every boundary: each channel that has energy or power, integrated over each window. */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"

#include "base/banned.h"

/* Channels that are integrated: energy counters, and gauges of power drawn (not of limits). */
static bool is_energy(const struct jm_channel *ch)
{
    if (ch->kind == JM_CH_COUNTER)
        return ch->unit == JM_U_J;
    return ch->kind == JM_CH_GAUGE && ch->unit == JM_U_W && strncmp(ch->name, "power", 5) == 0 &&
           !strstr(ch->name, "limit");
}

/* Wall-clock time and boot time part when the machine sleeps: a window with a suspend inside is none. */
static bool suspended(const struct jm_run *run, int64_t t0, int64_t t1)
{
    size_t n;
    const struct jm_clock_pair *p = jm_run_clock_pairs(run, &n);
    for (size_t i = 1; i < n; i++) {
        int64_t slept = (p[i].boot - p[i - 1].boot) - (p[i].mono0 - p[i - 1].mono0);
        if (p[i].mono1 >= t0 && p[i - 1].mono0 <= t1 && slept > 100 * JM_NS_PER_MS && p[i - 1].boot &&
            p[i].boot)
            return true;
    }
    return false;
}

static int one(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_channel *ch,
               struct jm_readings *buf, bool slept)
{
    struct jm_energy e;
    /* a margin beside the window, so that edges can be interpolated between refreshes on both sides */
    int64_t margin = 4 * (ch->period_ns > 0 ? ch->period_ns : JM_NS_PER_S) + 2 * ch->window_ns + JM_NS_PER_S;
    buf->n = 0;
    int rc = jm_run_readings(c->run, ch->id, w->w->t0 - margin, w->w->t1 + margin, buf, c->err);
    if (rc)
        return rc;
    if (!buf->n) {
        /* a device that fell silent before the window is missing from it, not absent from the count */
        struct jm_energy_row *none = jm_report_energy(c->r);
        if (!none)
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy table");
        none->window = w->index;
        none->channel = ch->id;
        none->domain = ch->domain;
        none->status = JM_S_GAP;
        none->method = "none";
        none->note = "no readings in this window";
        return 0;
    }
    memset(&e, 0, sizeof e);
    e.joules = e.u = e.lower_bound = NAN;
    rc = ch->kind == JM_CH_COUNTER ? jm_energy_counter(ch, buf->v, buf->n, w->w->t0, w->w->t1, &e)
                                   : jm_energy_gauge(ch, buf->v, buf->n, w->w->t0, w->w->t1, &e);
    if (rc)
        return jm_err_set(c->err, rc, "channel %s of %s cannot be integrated over window %s", ch->name,
                          ch->device, w->w->name);
    struct jm_energy_row *row = jm_report_energy(c->r);
    if (!row)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy table");
    row->window = w->index;
    row->channel = ch->id;
    row->domain = ch->domain;
    row->status = slept ? JM_S_SUSPENDED : e.status;
    row->covered_s = e.covered_s;
    row->method = jm_report_text(c->r, "%s", e.method);
    if (e.note[0])
        row->note = jm_report_text(c->r, "%s", e.note);
    row->u = e.u;
    row->dof = e.dof > 0 ? e.dof : INFINITY;
    row->gap_s = e.gap_s;
    row->refreshes = e.n_refreshes;
    bool usable =
        !slept && (e.status == JM_S_OK || (e.status == JM_S_WRAPPED && e.wrapped)) && isfinite(e.joules);
    if (usable) {
        double level = c->o->level > 0 ? c->o->level : 0.95,
               t = jm_stats_t_quantile(0.5 + level / 2, row->dof);
        row->status = JM_S_OK;
        row->joules = e.joules;
        row->lo = e.joules - t * e.u;
        row->hi = e.joules + t * e.u;
    } else {
        row->lower_bound = e.lower_bound;
    }
    return 0;
}

int jm_energy_rows(struct jm_calc *c, const struct jm_calc_window *w)
{
    size_t n;
    const struct jm_channel *ch = jm_run_channels(c->run, &n);
    struct jm_readings buf = {0};
    bool slept = suspended(c->run, w->w->t0, w->w->t1);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++)
        if (is_energy(&ch[i]))
            rc = one(c, w, &ch[i], &buf, slept);
    jm_readings_release(&buf);
    return rc;
}
