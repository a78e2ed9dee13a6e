/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps tell: the period by the times of change, window and lag by the best fit of the model of
 * compute/lag.h to the answer of the instrument (a window shorter than the period is the share of it that is
 * sampled: Yang, Adamek, Armour, SC24), gain and offset by what a better instrument saw at the same steps. */
#include "compute/traits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/steps.h"

#include "base/banned.h"

static struct jm_trait trait(double v, double u)
{
    double h = 1.96 * u;
    return isfinite(v) && isfinite(u) ? (struct jm_trait){v, v - h, v + h} : (struct jm_trait){NAN, NAN, NAN};
}

static bool is_against(const struct jm_run *run, const struct jm_channel *c, const char *against)
{
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    struct jm_span a = jm_span_of(against);
    ptrdiff_t colon = jm_span_chr(a, ':');
    if (c->meter < 0 || (size_t)c->meter >= n)
        return false;
    return jm_span_is(colon < 0 ? a : jm_span_sub(a, 0, (size_t)colon), m[c->meter].name) &&
           (colon < 0 || jm_span_is(jm_span_sub(a, (size_t)colon + 1, a.n), c->name));
}

static void timing(struct jm_passport_row *r, const struct jm_channel *c, const struct jm_lag *l,
                   const struct jm_period *p)
{
    if (isfinite(p->u) && p->score > 0)
        r->period = trait(p->period, fmax(p->u, 1e-4 * p->period));
    else if (p->below)
        snprintf(r->note, sizeof r->note, "it shows something new at each look: its period is below %.3g ms",
                 1e3 * p->period);
    if (l->verdict != JM_LAG_OK) {
        snprintf(r->note, sizeof r->note, "%s", l->why);
        return;
    }
    r->lag = trait(l->lag, l->u_lag);
    if (c->kind == JM_CH_COUNTER)
        return;
    r->window = trait(l->window, l->u_window);
    if (r->window.lo < 0)
        r->window.lo = 0;
    if (isfinite(r->period.value) && l->window < 0.97 * r->period.value)
        r->duty = trait(l->window / r->period.value, l->u_window / r->period.value);
}

int jm_traits_find(const struct jm_run *run, const char *against, struct jm_passport *out, struct jm_err *err)
{
    size_t n, n_meter;
    const struct jm_channel *c = jm_run_channels(run, &n);
    const struct jm_run_meter *m = jm_run_meters(run, &n_meter);
    const struct jm_run_info *info = jm_run_info(run);
    struct jm_steps steps;
    struct jm_lag best = {.verdict = JM_LAG_FEW};
    const struct jm_channel *better = NULL;
    *out = (struct jm_passport){0};
    int rc = jm_steps_of(run, &steps, err);
    if (!rc && !steps.n)
        rc = jm_err_set(err, JM_EABSENT, "the run has no known steps of load");
    for (size_t i = 0; !rc && against && !better && i < n; i++)
        if (jm_energy_channel(&c[i]) && is_against(run, &c[i], against)) {
            struct jm_period p;
            rc = jm_steps_lag(run, &steps, &c[i], true, &best, &p, err);
            better = &c[i];
        }
    if (!rc && against && !better)
        rc = jm_err_set(err, JM_EABSENT, "the run has no instrument \"%s\" to compare with", against);
    for (size_t i = 0; !rc && i < n; i++) {
        struct jm_lag l;
        struct jm_period p;
        if (!jm_energy_channel(&c[i]))
            continue;
        rc = jm_steps_lag(run, &steps, &c[i], true, &l, &p, err);
        struct jm_passport_row *r = rc ? NULL : jm_passport_add(out);
        if (!rc && !r)
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the passport");
        if (rc)
            break;
        snprintf(r->device, sizeof r->device, "%s", c[i].device);
        snprintf(r->channel, sizeof r->channel, "%s", c[i].name);
        snprintf(r->source, sizeof r->source, "%s", c[i].source);
        if (c[i].meter >= 0 && (size_t)c[i].meter < n_meter)
            snprintf(r->meter, sizeof r->meter, "%s", m[c[i].meter].name);
        timing(r, &c[i], &l, &p);
        if (!better || better == &c[i])
            continue;
        snprintf(r->against, sizeof r->against, "%.60s of %.80s", better->name, better->device);
        if (l.verdict == JM_LAG_OK && best.verdict == JM_LAG_OK && best.gain > 0) {
            /* both answer the same two levels: shown = offset + gain x what the better one showed */
            double g = l.gain / best.gain, u = fabs(g) * hypot(l.u_gain / l.gain, best.u_gain / best.gain);
            r->gain = trait(g, u);
            r->offset = trait(l.offset - g * best.offset,
                              hypot(hypot(l.u_offset, g * best.u_offset), u * best.offset));
        }
    }
    if (!rc) {
        const char *env = jm_run_env(run, "nvml.driver"), *host = jm_run_env(run, "host.name");
        snprintf(out->driver, sizeof out->driver, "%s", env ? env : "");
        snprintf(out->host, sizeof out->host, "%s", host ? host : "");
        snprintf(out->joulemark, sizeof out->joulemark, "%s", info->joulemark);
        snprintf(out->run, sizeof out->run, "%s", info->sha256);
        env = jm_run_env(run, "characterize.load");
        snprintf(out->load, sizeof out->load, "%s", env ? env : "");
        jm_time_rfc3339(info->created_real, out->date);
    }
    jm_steps_release(&steps);
    return rc;
}
