/* SPDX-License-Identifier: Apache-2.0 */
/* Period, averaging window and lag decide how readings are integrated; gain and offset, found against a
 * better instrument of the very same domain, are taken out:
 *
 *     shown = offset + gain x true   ->   E = (E_shown - offset x T) / gain
 *
 * with u / gain, and as bound of the gain: what the fit leaves open (95 %, both parts added, since they are
 * found together) and what the better instrument states of itself. */
#include "compute/correct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/bound.h"

#include "base/banned.h"

#define BEYOND   0.1 /* of the range of power that gain and offset were found in */
#define LEAST_S  1e-3
#define BLOCK_IS 0.03 /* a window within this share of the period is the period */

static const char *fact(const void *self, const char *key)
{
    return jm_run_env(self, key);
}

struct later {
    const struct jm_run *run;
    int n;
};

/* Facts of the N-th further run of a merge. */
static const char *later_fact(const void *self, const char *key)
{
    const struct later *l = self;
    char name[224];
    snprintf(name, sizeof name, "run%d.%.200s", l->n, key);
    return jm_run_env(l->run, name);
}

static void of_channel(const struct jm_run *run, const struct jm_channel *c, const char *host,
                       jm_passport_fact_fn fn, const void *self, struct jm_passport_for *x)
{
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    bool has = c->meter >= 0 && (size_t)c->meter < n;
    *x = (struct jm_passport_for){c->device, c->name, has ? m[c->meter].name : "", host ? host : "", "", ""};
    jm_passport_identify(x, has ? m[c->meter].instance : "", fn, self);
}

/* Every channel as each host of the run may have read it. */
static int channels_of(const struct jm_run *run, struct jm_passport_for **out, size_t *n_out,
                       struct jm_err *err)
{
    size_t n, k = 0;
    const struct jm_channel *c = jm_run_channels(run, &n);
    struct later l = {run, 0};
    int hosts = 1;
    char key[32];
    for (snprintf(key, sizeof key, "run1.host.name"); hosts < 64 && jm_run_env(run, key);)
        snprintf(key, sizeof key, "run%d.host.name", ++hosts);
    struct jm_passport_for *x = calloc(n * (size_t)hosts + 1, sizeof *x);
    if (!x)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the passports");
    for (size_t i = 0; i < n; i++) {
        of_channel(run, &c[i], jm_run_env(run, "host.name"), fact, run, &x[k++]);
        for (l.n = 1; l.n < hosts; l.n++)
            of_channel(run, &c[i], later_fact(&l, "host.name"), later_fact, &l, &x[k++]);
    }
    *out = x;
    *n_out = n ? k : 0;
    return 0;
}

/* Hosts of a merge: one of them must fit. */
static int fits(const struct jm_passport_file *p, const struct jm_passport_for *x, size_t n, size_t channels,
                struct jm_err *err)
{
    size_t hosts = channels ? n / channels : 1;
    struct jm_err first = {0};
    for (size_t h = 0; h < (hosts ? hosts : 1); h++) {
        struct jm_err why = {0};
        struct jm_passport_for *one = calloc(channels + 1, sizeof *one);
        if (!one)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the passports");
        for (size_t i = 0; i < channels; i++)
            one[i] = x[i * hosts + h];
        int rc = jm_passport_fits(&p->p, one, channels, p->any_driver, &why);
        free(one);
        if (!rc)
            return 0;
        if (!first.text[0])
            first = why;
    }
    return jm_err_set(err, JM_ECONFLICT, "%s", first.text);
}

int jm_passport_fits_run(const struct jm_passport_file *p, const struct jm_run *run, struct jm_err *err)
{
    struct jm_passport_for *x = NULL;
    size_t n = 0, channels;
    jm_run_channels(run, &channels);
    int rc = channels_of(run, &x, &n, err);
    if (!rc)
        rc = fits(p, x, n, channels, err);
    free(x);
    return rc;
}

/* ---- what is found into a channel */

static bool known(const struct jm_trait *t)
{
    return isfinite(t->value) && isfinite(t->lo) && isfinite(t->hi);
}

static double u_of(const struct jm_trait *t)
{
    return (t->hi - t->lo) / (2 * 1.96);
}

static void timing(const struct jm_passport_row *r, struct jm_channel *c)
{
    if (known(&r->period) && r->period.value > 0) {
        c->period_ns = llround(r->period.value * 1e9);
        c->period_measured = true;
    }
    if (c->kind != JM_CH_GAUGE || !known(&r->window))
        return;
    double p = (double)c->period_ns / 1e9, w = r->window.value;
    if (!(w > LEAST_S) || r->window.lo <= 0) {
        c->sem = JM_G_INSTANT;
        c->window_ns = 0;
        return;
    }
    c->window_ns = llround(w * 1e9);
    c->sem = p > 0 && w < (1 - BLOCK_IS) * p && r->window.hi < p            ? JM_G_PARTIAL
             : p > 0 && fabs(w - p) <= fmax(BLOCK_IS * p, r->window.hi - w) ? JM_G_BLOCK_MEAN
                                                                            : JM_G_TRAILING_MEAN;
}

static void take_row(struct jm_calc *c, const struct jm_passport_file *f, const struct jm_passport_row *r,
                     const struct jm_channel *ch)
{
    struct jm_correction *k = &c->correction[ch->id];
    *k = (struct jm_correction){.row = r, .file = f, .channel = *ch, .lag = NAN};
    timing(r, &k->channel);
    if (known(&r->lag) && fabs(r->lag.value) > 3 * u_of(&r->lag) && fabs(r->lag.value) >= LEAST_S) {
        k->lag = r->lag.value;
        k->u_lag = u_of(&r->lag);
    }
}

/* The rows that are of a channel of the run. Those that come later replace. */
static int take(struct jm_calc *c, const struct jm_passport_file *f, const struct jm_passport_for *x,
                size_t n, bool stored)
{
    size_t channels, used = 0;
    const struct jm_channel *ch = jm_run_channels(c->run, &channels);
    size_t hosts = channels ? n / channels : 1;
    for (size_t k = 0; k < f->p.n; k++)
        for (size_t i = 0; i < channels; i++) {
            bool fit = false;
            for (size_t h = 0; h < hosts && !fit && jm_energy_channel(&ch[i]); h++) {
                enum jm_passport_match m = jm_passport_match(&f->p, &f->p.row[k], &x[i * hosts + h]);
                fit = m == JM_PASSPORT_FITS ||
                      (f->any_driver && (m == JM_PASSPORT_DRIVER || m == JM_PASSPORT_FIRMWARE));
            }
            if (!fit)
                continue;
            take_row(c, f, &f->p.row[k], &ch[i]);
            used++;
        }
    struct jm_passport_used *u = &c->r->passports[c->r->n_passports++];
    *u = (struct jm_passport_used){.name = jm_report_text(c->r, "%s", f->name),
                                   .sha256 = jm_report_text(c->r, "%s", f->sha256),
                                   .date = jm_report_text(c->r, "%s", f->p.date),
                                   .host = jm_report_text(c->r, "%s", f->p.host),
                                   .driver = jm_report_text(c->r, "%s", f->p.driver),
                                   .run_sha256 = jm_report_text(c->r, "%s", f->p.run),
                                   .stored = stored,
                                   .any_driver = f->any_driver,
                                   .rows = (int)f->p.n,
                                   .channels = (int)used};
    return u->name && u->sha256 && u->date && u->host && u->driver && u->run_sha256
               ? 0
               : jm_err_set(c->err, JM_ENOMEM, "out of memory for the passports");
}

static int refuse(struct jm_calc *c, const char *name, const char *why)
{
    struct jm_finding *f = jm_report_finding(c->r, "passport.unfit", JM_SEV_WARNING,
                                             "the passport %s that the run keeps is not used: %s", name, why);
    return f ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the findings");
}

static int stored(struct jm_calc *c, const struct jm_run_raw *raw, const struct jm_passport_for *x, size_t n,
                  size_t channels)
{
    struct jm_str s;
    struct jm_err why = {0};
    struct jm_passport_file *f = &c->stored[c->n_stored];
    jm_str_init(&s);
    int rc = jm_run_raw_data(c->run, raw->name, &s, &why);
    if (!rc) {
        rc = jm_passport_take(jm_str_span(&s), raw->name, f, &why);
        c->n_stored++;
    }
    jm_str_release(&s);
    if (!rc)
        rc = fits(f, x, n, channels, &why);
    if (rc == JM_ENOMEM)
        return jm_err_set(c->err, rc, "%s", why.text);
    return rc ? refuse(c, raw->name, why.text) : take(c, f, x, n, true);
}

int jm_corrections_init(struct jm_calc *c)
{
    size_t channels, n_raw, n = 0, mine = 0;
    jm_run_channels(c->run, &channels);
    const struct jm_run_raw *raw = jm_run_raw(c->run, &n_raw);
    struct jm_passport_for *x = NULL;
    for (size_t i = 0; i < n_raw; i++)
        mine += strncmp(raw[i].name, JM_PASSPORT_RAW, strlen(JM_PASSPORT_RAW)) == 0;
    if (!mine && !c->o->n_passport)
        return 0;
    c->correction = calloc(channels + 1, sizeof *c->correction);
    c->stored = calloc(mine + 1, sizeof *c->stored);
    c->r->passports = jm_report_alloc(c->r, (mine + c->o->n_passport) * sizeof *c->r->passports);
    int rc = c->correction && c->stored && c->r->passports
                 ? channels_of(c->run, &x, &n, c->err)
                 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the passports");
    for (size_t i = 0; !rc && i < n_raw; i++)
        if (strncmp(raw[i].name, JM_PASSPORT_RAW, strlen(JM_PASSPORT_RAW)) == 0)
            rc = stored(c, &raw[i], x, n, channels);
    for (size_t i = 0; !rc && i < c->o->n_passport; i++)
        rc = take(c, &c->o->passport[i], x, n, false);
    free(x);
    return rc;
}

void jm_corrections_release(struct jm_calc *c)
{
    for (size_t i = 0; i < c->n_stored; i++)
        jm_passport_release(&c->stored[i].p);
    free(c->stored);
    free(c->correction);
}

const struct jm_correction *jm_correction_of(const struct jm_calc *c, int channel)
{
    size_t n;
    jm_run_channels(c->run, &n);
    if (!c->correction || channel < 0 || (size_t)channel >= n || !c->correction[channel].row)
        return NULL;
    return &c->correction[channel];
}

static void take_out(const struct jm_passport_row *r, double seconds, struct jm_energy *e, struct jm_bound *b)
{
    double g = r->gain.value, o = r->offset.value;
    double fit = fmax(r->gain.hi - g, g - r->gain.lo) / g,
           still = fmax(r->offset.hi - o, o - r->offset.lo) / g;
    e->joules = (e->joules - o * seconds) / g;
    e->u /= g;
    e->u_timing /= g;
    e->u_quantum /= g;
    e->u_shape /= g;
    e->u_sampling /= g;
    e->u_gap /= g;
    double open = fit * fabs(e->joules) + still * seconds;
    if (isfinite(r->against_gain)) {
        e->gain_bound = open + r->against_gain * fabs(e->joules) +
                        (isfinite(r->against_offset) ? r->against_offset : 0) * seconds;
    } else { /* it is as right as the better one, and how right that is nobody states */
        e->gain_bound = NAN;
        e->u = hypot(e->u, open / 1.96);
    }
    b->edges /= g;
    b->quantum /= g;
    b->no_accuracy = isnan(e->gain_bound);
    b->accuracy = b->no_accuracy ? open : e->gain_bound;
    b->total = b->edges + b->quantum + b->accuracy;
}

void jm_correct(const struct jm_correction *k, bool lag, double seconds, struct jm_energy *e,
                struct jm_bound *b)
{
    const struct jm_passport_row *r = k->row;
    struct jm_str s;
    jm_str_init(&s);
    if (known(&r->period))
        jm_str_addf(&s, "period %.4g ms", 1e3 * r->period.value);
    if (known(&r->window) && k->channel.kind == JM_CH_GAUGE)
        jm_str_addf(&s, "%swindow %.4g ms", s.len ? ", " : "", 1e3 * r->window.value);
    if (lag)
        jm_str_addf(&s, "%slag %.4g ms", s.len ? ", " : "", 1e3 * k->lag);
    if (known(&r->gain) && known(&r->offset) && jm_energy_has_value(e)) {
        double w = e->joules / seconds, span = r->to_w - r->from_w;
        jm_str_adds(&s, s.len ? ", " : "");
        if (!r->same)
            jm_str_adds(&s, "its gain is against another domain and stays");
        else if (!(w >= r->from_w - BEYOND * span) || !(w <= r->to_w + BEYOND * span))
            jm_str_addf(&s, "its gain stays: found from %.4g W to %.4g W, and this is %.4g W", r->from_w,
                        r->to_w, w);
        else {
            take_out(r, seconds, e, b);
            jm_str_addf(&s, "gain %.5g and offset %.3g W taken out", r->gain.value, r->offset.value);
        }
    }
    snprintf(e->correction, sizeof e->correction, "%s", s.len ? s.buf : "nothing of it can be used");
    jm_str_release(&s);
}
