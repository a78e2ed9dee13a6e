/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps tell: the period by the times of change, window and lag by the best fit of the model of
 * compute/lag.h to the answer of the instrument (a window shorter than the period is the share of it that is
 * sampled: Yang, Adamek, Armour, SC24), gain and offset by what a better instrument saw at the same steps. */
#include "compute/traits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* What is found of each channel, by its id. */
struct found {
    bool is;
    struct jm_lag l;
    struct jm_period p;
};

static double accuracy(const struct jm_channel *c)
{
    return isnan(c->gain_tol) ? INFINITY : c->gain_tol;
}

/* Which one is to be compared with: of the same domain before one of another, then the more accurate, then
 * the faster one. against NULL: only one of the same domain that states a better accuracy. */
static const struct jm_channel *better_one(const struct jm_run *run, const struct found *f,
                                           const struct jm_channel *c, const char *against)
{
    size_t n;
    const struct jm_channel *all = jm_run_channels(run, &n), *best = NULL;
    if (against && is_against(run, c, against))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const struct jm_channel *x = &all[i];
        bool same = x->domain == c->domain && c->domain >= 0;
        if (x == c || !f[i].is || f[i].l.verdict != JM_LAG_OK || !(f[i].l.gain > 0))
            continue;
        if (against ? !is_against(run, x, against)
                    : !same || x->meter == c->meter || !(accuracy(x) < accuracy(c)))
            continue;
        if (!best) {
            best = x;
            continue;
        }
        bool best_same = best->domain == c->domain && c->domain >= 0;
        double slow = f[i].p.period + fmax(0, f[i].l.window),
               best_slow = f[best->id].p.period + fmax(0, f[best->id].l.window);
        if (same != best_same               ? same
            : accuracy(x) != accuracy(best) ? accuracy(x) < accuracy(best)
                                            : slow < best_slow)
            best = x;
    }
    return best;
}

/* Both answer the same two levels: shown = offset + gain x what the better one showed. */
static void compare(struct jm_passport_row *r, const struct jm_channel *c, const struct jm_lag *l,
                    const struct jm_channel *better, const struct jm_lag *b)
{
    double g = l->gain / b->gain, u = fabs(g) * hypot(l->u_gain / l->gain, b->u_gain / b->gain);
    r->gain = trait(g, u);
    r->offset = trait(l->offset - g * b->offset, hypot(hypot(l->u_offset, g * b->u_offset), u * b->offset));
    snprintf(r->against, sizeof r->against, "%.60s of %.80s", better->name, better->device);
    r->same = better->domain == c->domain && c->domain >= 0;
    r->against_gain = better->gain_tol;
    r->against_offset = better->offset_tol;
    r->from_w = l->offset;
    r->to_w = l->offset + l->gain;
    if (!r->same && !r->note[0])
        snprintf(r->note, sizeof r->note,
                 "gain and offset relate two places: no error of this instrument, and nothing to correct by");
}

static const char *fact(const void *run, const char *key)
{
    return jm_run_env(run, key);
}

static void identity(const struct jm_run *run, const struct jm_channel *c, struct jm_passport_row *r)
{
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    bool has = c->meter >= 0 && (size_t)c->meter < n;
    struct jm_passport_for x = {
        .device = c->device, .channel = c->name, .meter = has ? m[c->meter].name : ""};
    jm_passport_identify(&x, has ? m[c->meter].instance : "", fact, run);
    snprintf(r->device, sizeof r->device, "%s", c->device);
    snprintf(r->channel, sizeof r->channel, "%s", c->name);
    snprintf(r->source, sizeof r->source, "%s", c->source);
    snprintf(r->meter, sizeof r->meter, "%s", x.meter);
    snprintf(r->driver, sizeof r->driver, "%s", x.driver);
    snprintf(r->firmware, sizeof r->firmware, "%s", x.firmware);
}

static int rows(const struct jm_run *run, const struct jm_steps *steps, const struct found *f,
                const char *against, struct jm_passport *out, struct jm_err *err)
{
    size_t n;
    const struct jm_channel *c = jm_run_channels(run, &n);
    for (size_t i = 0; i < n; i++) {
        if (!f[i].is)
            continue;
        struct jm_passport_row *r = jm_passport_add(out);
        if (!r)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the passport");
        identity(run, &c[i], r);
        timing(r, &c[i], &f[i].l, &f[i].p);
        if (steps->reference >= 0 && isfinite(r->lag.value)) {
            if (steps->reference == c[i].id)
                r->lag = r->window = r->duty = (struct jm_trait){NAN, NAN, NAN};
            snprintf(r->note, sizeof r->note,
                     steps->reference == c[i].id
                         ? "the others are compared with this one: how late it is itself is not known"
                         : "its lag is behind %.60s of %.80s, the fastest that followed the load",
                     c[steps->reference].name, c[steps->reference].device);
        }
        const struct jm_channel *better = better_one(run, f, &c[i], against);
        if (better && f[i].l.verdict == JM_LAG_OK && f[i].l.gain > 0)
            compare(r, &c[i], &f[i].l, better, &f[better->id].l);
    }
    return 0;
}

int jm_traits_find(const struct jm_run *run, const char *against, struct jm_passport *out, struct jm_err *err)
{
    size_t n;
    const struct jm_channel *c = jm_run_channels(run, &n);
    const struct jm_run_info *info = jm_run_info(run);
    struct jm_steps steps;
    struct found *f = calloc(n + 1, sizeof *f);
    bool known = !against;
    *out = (struct jm_passport){0};
    int rc = jm_steps_of(run, &steps, err);
    if (!rc && !f)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the passport");
    if (!rc && !steps.n)
        rc = jm_err_set(err, JM_EABSENT, "the run has no known steps of load");
    if (!rc)
        rc = jm_steps_by_instrument(run, &steps, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (jm_energy_channel(&c[i])) {
            f[i].is = true;
            known = known || is_against(run, &c[i], against);
            rc = jm_steps_lag(run, &steps, &c[i], true, &f[i].l, &f[i].p, err);
        }
    if (!rc && !known)
        rc = jm_err_set(err, JM_EABSENT, "the run has no instrument \"%s\" to compare with", against);
    if (!rc)
        rc = rows(run, &steps, f, against, out, err);
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
    free(f);
    return rc;
}
