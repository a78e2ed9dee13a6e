/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind every boundary: each channel that has energy or power, integrated over each window. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/observe.h"
#include "compute/ratio.h"

#include "base/banned.h"

#define MARGIN_MAX (600 * JM_NS_PER_S) /* no instrument is slower; a file that says so is not believed */

/* Channels that are integrated: energy counters, and gauges of power drawn (not of limits). */
bool jm_energy_channel(const struct jm_channel *ch)
{
    if (ch->kind == JM_CH_COUNTER)
        return ch->unit == JM_U_J;
    return ch->kind == JM_CH_GAUGE && ch->unit == JM_U_W && strncmp(ch->name, "power", 5) == 0 &&
           !strstr(ch->name, "limit");
}

/* Boot time goes on while the machine sleeps, the monotonic clock does not: a window with a suspend inside is
 * none. */
static bool suspended(const struct jm_run *run, int64_t t0, int64_t t1)
{
    size_t n;
    const struct jm_clock_pair *p = jm_run_clock_pairs(run, &n);
    for (size_t i = 1; i < n; i++) {
        double slept =
            jm_seconds_between(p[i].boot, p[i - 1].boot) - jm_seconds_between(p[i].mono0, p[i - 1].mono0);
        if (p[i].mono1 >= t0 && p[i - 1].mono0 <= t1 && slept > 0.1 && p[i - 1].boot && p[i].boot)
            return true;
    }
    return false;
}

/* A new row with what the engine said of it. */
static struct jm_energy_row *row(struct jm_calc *c, const struct jm_calc_window *w,
                                 const struct jm_channel *ch, const struct jm_energy *e)
{
    if (c->r->n_energy == c->cap_energy) {
        size_t cap = c->cap_energy ? 2 * c->cap_energy : 64;
        struct jm_energy *p = realloc(c->energy, cap * sizeof *p);
        if (!p)
            return NULL;
        c->energy = p;
        c->cap_energy = cap;
    }
    struct jm_energy_row *x = jm_report_energy(c->r);
    if (!x)
        return NULL;
    c->energy[c->r->n_energy - 1] = *e;
    x->window = w->index;
    x->channel = ch->id;
    x->domain = ch->domain;
    x->status = e->status;
    x->method = jm_report_text(c->r, "%s", e->method);
    x->note = e->note[0] ? jm_report_text(c->r, "%s", e->note) : NULL;
    return x->method && (x->note || !e->note[0]) ? x : NULL;
}

static int64_t add_ns(int64_t a, int64_t b)
{
    int64_t s;
    return __builtin_add_overflow(a, b, &s) ? (b < 0 ? INT64_MIN : INT64_MAX) : s;
}

static int one(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_channel *ch,
               struct jm_readings *buf, bool slept)
{
    /* a margin beside the window, so that edges can be interpolated between refreshes on both sides */
    int64_t period = ch->period_ns > 0 && ch->period_ns < MARGIN_MAX ? ch->period_ns : JM_NS_PER_S,
            mean = ch->window_ns < MARGIN_MAX ? ch->window_ns : MARGIN_MAX,
            margin = 4 * period + 2 * mean + JM_NS_PER_S;
    struct jm_energy e = {.status = JM_S_GAP, .joules = NAN, .u = NAN, .lower_bound = NAN, .gain_bound = NAN};
    buf->n = 0;
    int rc =
        jm_run_readings(c->run, ch->id, add_ns(w->w->t0, -margin), add_ns(w->w->t1, margin), buf, c->err);
    if (rc)
        return rc;
    if (!buf->n) {
        /* a device that fell silent before the window is missing from it, not absent from the count */
        snprintf(e.method, sizeof e.method, "none");
        snprintf(e.note, sizeof e.note, "no readings in this window");
    } else {
        rc = ch->kind == JM_CH_COUNTER ? jm_energy_counter(ch, buf->v, buf->n, w->w->t0, w->w->t1, &e)
                                       : jm_energy_gauge(ch, buf->v, buf->n, w->w->t0, w->w->t1, &e);
        if (rc)
            return jm_err_set(c->err, rc, "channel %s of %s cannot be integrated over window %s", ch->name,
                              ch->device, w->w->name);
    }
    if (slept)
        e.status = JM_S_SUSPENDED;
    struct jm_energy_row *x = row(c, w, ch, &e);
    if (!x)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy table");
    if (!buf->n)
        return 0;
    x->covered_s = e.covered_s;
    x->u = e.u;
    x->dof = e.dof > 0 ? e.dof : INFINITY;
    x->gap_s = e.gap_s;
    x->refreshes = e.n_refreshes;
    /* wrapped with a value: the wrap was undone */
    if (jm_energy_has_value(&e)) {
        double half = jm_energy_halfwidth(&e, jm_calc_level(c), true);
        x->status = JM_S_OK;
        x->joules = e.joules;
        x->lo = e.joules - half;
        x->hi = e.joules + half;
    } else {
        x->lower_bound = e.lower_bound;
    }
    return 0;
}

int jm_energy_rows(struct jm_calc *c, struct jm_calc_window *w)
{
    size_t n;
    const struct jm_channel *ch = jm_run_channels(c->run, &n);
    struct jm_readings buf = {0};
    bool slept = suspended(c->run, w->w->t0, w->w->t1);
    int rc = 0;
    w->row0 = c->r->n_energy;
    for (size_t i = 0; !rc && i < n; i++)
        if (jm_energy_channel(&ch[i]))
            rc = one(c, w, &ch[i], &buf, slept);
    w->row1 = c->r->n_energy;
    jm_readings_release(&buf);
    return rc;
}
