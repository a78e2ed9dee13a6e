/* SPDX-License-Identifier: Apache-2.0 */
/* Series for pictures: power by channel as minimum and maximum of each column, and output tokens a second
 * under it, inside the measured windows and outside them. */
#include <math.h>
#include <stdlib.h>

#include "compute/calc.h"
#include "compute/engine.h"
#include "compute/observe.h"

#include "base/banned.h"

static void put(struct jm_series *s, int64_t t, double v)
{
    if (t < s->t0 || t > s->t1)
        return;
    size_t i = (size_t)(jm_seconds_between(t, s->t0) / jm_seconds_between(s->t1, s->t0) * (double)s->n);
    if (i >= s->n)
        i = s->n - 1;
    if (isnan(s->min[i]) || v < s->min[i])
        s->min[i] = v;
    if (isnan(s->max[i]) || v > s->max[i])
        s->max[i] = v;
}

/* A counter's power between its refreshes: the value stands for the whole interval. */
static void counter(const struct jm_channel *ch, const struct jm_readings *r, struct jm_series *s)
{
    size_t from = 0;
    bool have = false;
    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i].status != JM_S_OK) {
            have = false;
            continue;
        }
        if (!have) {
            from = i;
            have = true;
            continue;
        }
        /* at least 200 ms, so that the refresh does not show as noise */
        double dt = jm_seconds_between(r->v[i].t0, r->v[from].t0);
        if (dt < 0.2)
            continue;
        double w = (jm_channel_value(ch, r->v[i].value) - jm_channel_value(ch, r->v[from].value)) / dt,
               column = jm_seconds_between(s->t1, s->t0) / (double)s->n;
        for (double t = 0; w >= 0 && t < dt; t += column)
            put(s, r->v[from].t0 + (int64_t)(t * 1e9), w);
        from = i;
    }
}

static int of_channel(struct jm_calc *c, const struct jm_channel *ch, int64_t t0, int64_t t1, size_t columns)
{
    struct jm_readings r = {0};
    int rc = jm_run_readings(c->run, ch->id, t0, t1, &r, c->err);
    if (!rc && r.n >= 2) {
        struct jm_series *s = jm_report_series(c->r, columns);
        if (!s) {
            rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the series");
        } else {
            s->channel = ch->id;
            char title[JM_DOMAIN_TITLE];
            s->label = jm_report_text(
                c->r, "%s %s",
                ch->domain >= 0 ? jm_domain_title(&c->r->tree->d[ch->domain], title) : ch->device, ch->name);
            s->unit = "W";
            s->t0 = t0;
            s->t1 = t1;
            if (ch->kind == JM_CH_COUNTER)
                counter(ch, &r, s);
            else
                for (size_t i = 0; i < r.n; i++)
                    if (r.v[i].status == JM_S_OK)
                        put(s, r.v[i].t0, jm_channel_value(ch, r.v[i].value));
        }
    }
    jm_readings_release(&r);
    return rc;
}

static bool shown(const struct jm_calc *c, const struct jm_channel *ch)
{
    bool counted = false, other = false;
    for (size_t i = 0; i < c->r->n_energy; i++) {
        const struct jm_energy_row *e = &c->r->energy[i];
        if (e->domain == ch->domain && e->counted) {
            counted |= e->channel == ch->id;
            other |= e->channel != ch->id;
        }
    }
    /* the counted channel of each domain; where nothing is counted, any power there is */
    return counted ||
           (!other && ch->unit == JM_U_W && ch->kind == JM_CH_GAUGE &&
            !(ch->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)) && ch->name[0] == 'p' && ch->name[5] != '.');
}

/* Requests at the middle of each column: under way at the server, and held back by the client. */
static int of_requests(struct jm_calc *c, int64_t t0, int64_t t1, size_t columns)
{
    static const char *const label[] = {"requests under way", "waiting in the client"};
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    double each = jm_seconds_between(t1, t0) / (double)columns;
    bool timed = false;
    for (size_t i = 0; i < n; i++)
        timed |= q[i].t[JM_T_SENT] >= 0;
    for (int which = 0; timed && which < 2; which++) {
        struct jm_series *s = NULL;
        double now = 0, most = 0;
        int64_t *step = calloc(columns + 1, sizeof *step);
        if (!step)
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the series");
        for (size_t i = 0; i < n; i++) {
            int64_t sent = q[i].t[JM_T_SENT],
                    end = q[i].end == JM_END_UNFINISHED ? t1 : jm_request_end(&q[i]),
                    from = which ? q[i].t[JM_T_SCHEDULED] : sent, to = which && sent >= 0 ? sent : end;
            if (from < 0 || to <= from)
                continue;
            double a = ceil(jm_seconds_between(from, t0) / each - .5),
                   b = ceil(jm_seconds_between(to, t0) / each - .5);
            size_t ia = a < 0                 ? 0
                        : a > (double)columns ? columns
                                              : (size_t)a,
                   ib = b < 0                 ? 0
                        : b > (double)columns ? columns
                                              : (size_t)b;
            step[ia]++;
            step[ib]--;
        }
        for (size_t i = 0; i < columns; i++)
            most = fmax(most, now += (double)step[i]);
        if (most > 0 && !(s = jm_report_series(c->r, columns))) {
            free(step);
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the series");
        }
        if (s) {
            s->label = label[which];
            s->unit = "in flight";
            s->t0 = t0;
            s->t1 = t1;
        }
        now = 0;
        for (size_t i = 0; s && i < columns; i++)
            s->min[i] = s->max[i] = now += (double)step[i];
        free(step);
    }
    return 0;
}

/* Node, inlet and what feeds it. */
static bool outer(const struct jm_calc *c, const struct jm_channel *ch)
{
    enum jm_domain_kind k = ch->domain >= 0 ? c->r->tree->d[ch->domain].kind : JM_D_RAIL;
    return k == JM_D_NODE || jm_domain_is_inlet(k) || jm_domain_is_feeder(k) || k == JM_D_SITE ||
           k == JM_D_RACK;
}

/* Tokens a second in each stretch of [t0, t1); the last one is usually a part. window -1: outside all of
 * them. */
static int rate(struct jm_calc *c, int window, int64_t t0, int64_t t1, int64_t bucket_ns, const double *v,
                size_t n)
{
    struct jm_series *s = jm_report_series(c->r, n);
    if (!s)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the series");
    double each = (double)bucket_ns / 1e9, rest = jm_seconds_between(t1, t0) - each * (double)(n - 1);
    s->label = window < 0 ? "output tokens outside the measured windows" : "output tokens";
    s->unit = "tokens/s";
    s->window = window;
    s->t0 = t0;
    s->t1 = t1;
    for (size_t i = 0; i < n; i++)
        s->min[i] = s->max[i] = v[i] / (i + 1 < n ? each : rest > 0 ? rest : each);
    return 0;
}

int jm_series_make(struct jm_calc *c)
{
    int64_t t0, t1;
    size_t columns = c->o->columns > 0 ? (size_t)c->o->columns : 800;
    int rc = 0;
    if (!jm_series_extent(c, &t0, &t1))
        return 0;
    /* the outermost first: what draws a few of them draws the wall */
    for (size_t k = 0; !rc && k < 2 * c->r->n_channels && c->r->n_series < 64; k++) {
        size_t i = k % c->r->n_channels;
        if (outer(c, &c->r->channels[i]) != (k < c->r->n_channels))
            continue;
        if (shown(c, &c->r->channels[i]))
            rc = of_channel(c, &c->r->channels[i], t0, t1, columns);
    }
    if (!rc)
        rc = jm_engine_series_make(c, t0, t1, columns);
    if (!rc)
        rc = of_requests(c, t0, t1, columns);
    for (size_t k = 0; !rc && k < c->n_win; k++) {
        const struct jm_calc_window *w = &c->win[k];
        const struct jm_tally *t = &w->tally;
        if (w->w->role == JM_R_MEASURE && t->per_bucket)
            rc = rate(c, w->index, w->w->t0, w->w->t1, t->bucket_ns, t->per_bucket, t->n_buckets);
    }
    for (size_t k = 0; !rc && k < c->n_outside; k++) {
        const struct jm_outside *o = &c->outside[k];
        if (o->sum > 0)
            rc = rate(c, -1, o->t0, o->t1, o->bucket_ns, o->v, o->n);
    }
    return rc;
}
