/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a window's energy fell in each hour (or whatever the factor's steps are): the same channels
 * that the window's energy is made of, integrated between the steps. Only the shares are used, so that the
 * parts sum to the energy of the window to the last digit. */
#include <math.h>
#include <stdlib.h>

#include "compute/impact.h"

#include "base/banned.h"

#define BESIDE (64) /* readings beside a part */
#define MARGIN (120 * JM_NS_PER_S)

static bool counts(const int *domain, size_t n, int d)
{
    for (size_t i = 0; i < n; i++)
        if (domain[i] == d)
            return true;
    return n == 0;
}

static size_t before(const struct jm_readings *r, int64_t t)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (r->v[mid].t1 < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Adds one channel's joules to the parts; false: it cannot tell. */
static bool channel(const struct jm_channel *ch, const struct jm_readings *all, struct jm_spread_part *p,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct jm_energy e;
        size_t a = before(all, p[i].t0 - MARGIN), b = before(all, p[i].t1 + MARGIN);
        a = a > BESIDE ? a - BESIDE : 0;
        b = b + BESIDE < all->n ? b + BESIDE : all->n;
        int rc = ch->kind == JM_CH_COUNTER ? jm_energy_counter(ch, all->v + a, b - a, p[i].t0, p[i].t1, &e)
                                           : jm_energy_gauge(ch, all->v + a, b - a, p[i].t0, p[i].t1, &e);
        if (rc || !jm_energy_has_value(&e))
            return false;
        p[i].joules += e.joules;
    }
    return true;
}

int jm_spread_weigh(struct jm_calc *c, const struct jm_calc_window *w, const int *domain, size_t n_domain,
                    struct jm_spread_part *p, size_t n, bool *even)
{
    struct jm_readings all = {0};
    int rc = 0;
    bool any = false;
    for (size_t i = w->row0; !rc && !*even && i < w->row1; i++) {
        const struct jm_energy_row *row = &c->r->energy[i];
        if (!row->counted || !isfinite(row->joules) || !counts(domain, n_domain, row->domain))
            continue;
        all.n = 0;
        rc =
            jm_run_readings(c->run, row->channel, w->w->t0 - 2 * MARGIN, w->w->t1 + 2 * MARGIN, &all, c->err);
        any = true;
        if (!rc && !channel(&c->r->channels[row->channel], &all, p, n))
            *even = true;
    }
    *even |= !any;
    jm_readings_release(&all);
    return rc;
}

int jm_spread(struct jm_calc *c, const struct jm_calc_window *w, const int *domain, size_t n_domain,
              const struct jm_factor *f, struct jm_spread *out)
{
    int64_t off = c->r->real_offset, t0 = w->w->t0 + off, t1 = w->w->t1 + off;
    struct jm_factor_mean m;
    jm_factor_mean(f, t0, t1, &m);
    *out = (struct jm_spread){
        .value = m.value, .estimated = m.estimated, .covered = m.covered, .missing = m.missing};
    size_t i0 = jm_factor_at(f, t0), n = 0;
    for (size_t i = i0; i < f->n && f->step[i].t0 < t1; i++)
        n++;
    if (isfinite(f->constant) || !isfinite(m.value) || n < 2)
        return 0;
    struct jm_spread_part *p = calloc(n, sizeof *p);
    if (!p)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the factors");
    for (size_t i = 0; i < n; i++) {
        const struct jm_factor_step *s = &f->step[i0 + i];
        p[i] = (struct jm_spread_part){.t0 = (s->t0 > t0 ? s->t0 : t0) - off,
                                       .t1 = (s->t1 < t1 ? s->t1 : t1) - off,
                                       .value = s->value,
                                       .estimated = s->estimated};
    }
    int rc = jm_spread_weigh(c, w, domain, n_domain, p, n, &out->even);
    double sum = 0, by = 0, est = 0;
    for (size_t i = 0; i < n; i++) {
        sum += p[i].joules;
        by += p[i].joules * p[i].value;
        est += p[i].estimated ? p[i].joules : 0;
    }
    if (!out->even && sum > 0) {
        out->value = by / sum;
        out->estimated = est / sum;
    } else {
        out->even = true;
    }
    free(p);
    return rc;
}
