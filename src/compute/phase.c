/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, requests and tokens gathered; energies shared out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "compute/phase_impl.h"

#include "base/banned.h"

#define CELLS_MAX ((size_t)1 << 24)

int jm_phase_new(const double *t, const double *joules, size_t n, struct jm_phase **out, struct jm_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(t[i]) || !(t[i + 1] > t[i]) || !isfinite(joules[i]))
            n = 0;
    if (!n || n > CELLS_MAX || !isfinite(t[n]))
        return jm_err_set(err, JM_EINVAL,
                          "the energy cannot be cut into cells of time: there are none, too many, or their "
                          "times do not rise");
    struct jm_phase *p = calloc(1, sizeof *p);
    double *v = p ? calloc(17 * n + 17, sizeof *v) : NULL;
    if (!v) {
        free(p);
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu cells of energy", n);
    }
    double **const part[] = {&p->t,           &p->e,
                             &p->prefill.add, &p->prefill.change,
                             &p->active.add,  &p->active.change,
                             &p->pre_act.add, &p->pre_act.change,
                             &p->nd,          &p->ctx,
                             &p->steps,       &p->s,
                             &p->rho,         &p->a,
                             &p->g,           &p->alone.add,
                             &p->alone.change};
    p->room = v;
    p->n = n;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++, v += n + 1)
        *part[i] = v;
    memcpy(p->t, t, (n + 1) * sizeof *t);
    memcpy(p->e, joules, n * sizeof *joules);
    jm_str_init(&p->packed);
    *out = p;
    return 0;
}

void jm_phase_free(struct jm_phase *p)
{
    if (!p)
        return;
    free(p->room);
    free(p->step_t);
    free(p->q);
    jm_str_release(&p->packed);
    free(p);
}

size_t jm_phase_requests(const struct jm_phase *p)
{
    return p->n_q;
}

/* near: a cell that is probably not far. */
static size_t cell_near(const struct jm_phase *p, double t, size_t near)
{
    if (near < p->n && t >= p->t[near])
        for (int i = 0; i < 8 && near < p->n; i++, near++)
            if (t < p->t[near + 1])
                return near;
    if (!(t >= p->t[0]) || !(t < p->t[p->n]))
        return p->n;
    /* most are about as long as each other: near where t would be if all were */
    double guess = (t - p->t[0]) / (p->t[p->n] - p->t[0]) * (double)p->n;
    size_t lo = 0, hi = p->n, at = guess < (double)p->n ? (size_t)guess : p->n - 1;
    for (size_t step = 1; hi - lo > 1 && step < p->n; step *= 4) {
        if (p->t[at] <= t) {
            lo = at;
            at = at + step < hi ? at + step : hi - 1;
        } else {
            hi = at;
            at = at > lo + step ? at - step : lo;
        }
        if (at == lo)
            break;
    }
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->t[mid] <= t)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

size_t jm_phase_cell(const struct jm_phase *p, double t)
{
    return cell_near(p, t, p->n);
}

/* rate over [from, to), which lies within the cells. */
static void spread(const struct jm_phase *p, struct jm_phase_spread *s, double from, double to, double rate)
{
    from = fmax(from, p->t[0]);
    to = fmin(to, p->t[p->n]);
    if (!(to > from))
        return;
    size_t a = jm_phase_cell(p, from), b = to >= p->t[p->n] ? p->n : cell_near(p, to, a);
    if (a == b) {
        s->add[a] += rate * (to - from);
        return;
    }
    s->add[a] += rate * (p->t[a + 1] - from);
    s->change[a + 1] += rate;
    s->change[b] -= rate;
    if (b < p->n)
        s->add[b] += rate * (to - p->t[b]);
}

static void close_spread(const struct jm_phase *p, struct jm_phase_spread *s)
{
    double rate = 0;
    for (size_t i = 0; i < p->n; i++) {
        rate += s->change[i];
        s->add[i] += rate * (p->t[i + 1] - p->t[i]);
    }
}

/* Iterations by cell as tokens tell them: every request that decodes gets one token an iteration, so that
 * they are tokens over requests. Does not mind jitter, which smears the stamps of one iteration into those of
 * the next. */
static void steps_of_tokens(struct jm_phase *p)
{
    for (size_t i = 0; i < p->n; i++) {
        double decode = p->active.add[i] - p->pre_act.add[i],
               dt = fmax(0, p->t[i + 1] - p->t[i] - p->alone.add[i]);
        p->steps[i] = p->nd[i] > 0 && decode > 0 ? p->nd[i] * fmin(1, dt / decode) : p->nd[i] > 0;
    }
}

#define ALONE_S 0.05 /* an iteration of prompts alone, where nothing tells how long it is */

/* The engine's counter is read once a second or so, and the load changes faster: between two of its texts its
 * iterations lie where tokens say. What was before the first text and after the last one is taken as tokens
 * say. */
static void steps_of_engine(struct jm_phase *p)
{
    const double *t = p->step_t, *total = p->step_t + p->n_step;
    double *est = p->g; /* its room, as long as nothing is solved */
    size_t from = 0, to;
    for (size_t i = 0; i < p->n; i++) {
        double dt = p->t[i + 1] - p->t[i];
        est[i] = p->steps[i] + (p->nd[i] > 0 ? 0 : fmin(dt, p->pre_act.add[i]) / ALONE_S);
    }
    for (size_t k = 0; k + 1 < p->n_step; k++, from = to) {
        double sum = 0, length = 0;
        for (to = from; to < p->n && p->t[to] < t[k]; to++)
            continue;
        from = to;
        for (; to < p->n && p->t[to] < t[k + 1]; to++) {
            sum += est[to];
            length += p->t[to + 1] - p->t[to];
        }
        /* cells do not end where texts were read: taken off what lies outside, as even within a cell */
        double lo = from > 0 && from < p->n ? (p->t[from] - t[k]) / (p->t[from] - p->t[from - 1]) : 0,
               hi = to > from ? (p->t[to] - t[k + 1]) / (p->t[to] - p->t[to - 1]) : 0,
               inside = sum + (from > 0 ? lo * est[from - 1] : 0) - (to > from ? hi * est[to - 1] : 0),
               n = total[k + 1] - total[k];
        for (size_t i = from; i < to && inside > 0; i++)
            p->steps[i] = est[i] * n / inside;
        for (size_t i = from; i < to && !(inside > 0) && n > 0; i++)
            p->steps[i] = n * (p->t[i + 1] - p->t[i]) / length;
    }
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The time without any request: beside the spans of all of them, in order of their beginnings. */
static int alone(struct jm_phase *p, struct jm_err *err)
{
    double *v = malloc((p->n_q + 1) * sizeof(double[2])), upto = p->t[0];
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the spans of %zu requests", p->n_q);
    for (size_t i = 0; i < p->n_q; i++) {
        v[2 * i] = p->q[i].start;
        v[2 * i + 1] = p->q[i].last;
    }
    qsort(v, p->n_q, sizeof(double[2]), by_time);
    for (size_t i = 0; i < p->n_q; i++) {
        spread(p, &p->alone, upto, v[2 * i], 1);
        upto = fmax(upto, v[2 * i + 1]);
    }
    spread(p, &p->alone, upto, p->t[p->n], 1);
    close_spread(p, &p->alone);
    free(v);
    return 0;
}

int jm_phase_close(struct jm_phase *p, struct jm_err *err)
{
    if (p->closed)
        return 0;
    int rc = alone(p, err);
    if (rc)
        return rc;
    close_spread(p, &p->prefill);
    close_spread(p, &p->active);
    close_spread(p, &p->pre_act);
    for (size_t i = 0; i < p->n; i++) /* rounding of rates that came and went */
        p->prefill.add[i] = fmax(0, p->prefill.add[i]);
    steps_of_tokens(p);
    if (p->n_step)
        steps_of_engine(p);
    p->closed = true;
    return 0;
}

static double context_of(const struct jm_phase_kept *q, double before, double units)
{
    return q->each * (units * q->context + q->each * (units * before + units * (units + 1) / 2));
}

static void group(struct jm_phase *p, struct jm_phase_kept *q, size_t *last, size_t cell, double before,
                  uint64_t units)
{
    uint64_t step = jm_zigzag((uint64_t)cell - (uint64_t)*last);
    if ((step | units) < 128) {
        const char both[2] = {(char)step, (char)units};
        jm_str_add(&p->packed, both, 2);
    } else {
        jm_varint_put(&p->packed, step);
        jm_varint_put(&p->packed, units);
    }
    *last = cell;
    q->groups++;
    if (cell == p->n)
        return;
    p->nd[cell] += q->each * (double)units;
    p->ctx[cell] += context_of(q, before, (double)units);
}

int jm_phase_add(struct jm_phase *p, const struct jm_phase_request *r, const struct jm_phase_token *tok,
                 size_t n, struct jm_err *err)
{
    if (!(r->start <= r->first) || !(r->first <= r->last) || !(r->prefill >= 0) || !(r->context >= 0) ||
        !(r->each >= 0) || !isfinite(r->prefill + r->context + r->each))
        return jm_err_set(err, JM_EINVAL,
                          "request %zu of the allocation has times that do not follow each other, or token "
                          "counts that are none",
                          p->n_q + 1);
    if (p->n_q == p->cap_q) {
        size_t cap = p->cap_q ? 2 * p->cap_q : 256;
        struct jm_phase_kept *v = realloc(p->q, cap * sizeof *v);
        if (!v)
            return jm_err_set(err, JM_ENOMEM, "out of memory for %zu requests", cap);
        p->q = v;
        p->cap_q = cap;
    }
    struct jm_phase_kept *q = &p->q[p->n_q++];
    *q = (struct jm_phase_kept){.start = r->start,
                                .first = r->first,
                                .last = r->last,
                                .prefill = r->prefill,
                                .context = r->context,
                                .each = r->each,
                                .at = p->packed.len};
    size_t last = 0, now = SIZE_MAX;
    uint64_t units = 0, before = 0;
    double from = INFINITY, to = -INFINITY; /* of the cell that the token before lies in */
    for (size_t i = 0; i < n; i++) {
        if (tok[i].t >= from && tok[i].t < to) {
            units += tok[i].units;
            continue;
        }
        size_t c = cell_near(p, tok[i].t, now == SIZE_MAX ? 0 : now);
        if (c != now && units) {
            group(p, q, &last, now, (double)before, units);
            before += units;
            units = 0;
        }
        now = c;
        from = c < p->n ? p->t[c] : INFINITY;
        to = c < p->n ? p->t[c + 1] : -INFINITY;
        units += tok[i].units;
    }
    if (units)
        group(p, q, &last, now, (double)before, units);
    spread(p, &p->active, q->start, q->last, 1);
    spread(p, &p->pre_act, q->start, q->first, 1);
    if (q->first > q->start) {
        spread(p, &p->prefill, q->start, q->first, q->prefill / (q->first - q->start));
    } else {
        size_t c = jm_phase_cell(p, q->first);
        if (c < p->n)
            p->prefill.add[c] += q->prefill;
    }
    return p->packed.failed ? jm_err_set(err, JM_ENOMEM, "out of memory for the tokens of the requests") : 0;
}

int jm_phase_steps(struct jm_phase *p, const double *t, const double *total, size_t n, struct jm_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(t[i]) || !isfinite(total[i]) || (i && (!(t[i] > t[i - 1]) || total[i] < total[i - 1])))
            return jm_err_set(err, JM_EINVAL,
                              "the engine's counter of iterations goes back, or its times do");
    if (n < 2 || p->n_step)
        return 0;
    if (!(p->step_t = malloc(2 * n * sizeof *p->step_t)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the engine's counter of iterations");
    memcpy(p->step_t, t, n * sizeof *t);
    memcpy(p->step_t + n, total, n * sizeof *total);
    p->n_step = n;
    return 0;
}

/* A cell that is busy for a part only: idle power over the rest of it is nobody's, where it is known. */
double jm_phase_idle(const struct jm_phase *p, size_t i, double rest)
{
    if (!(p->active.add[i] > 0))
        return rest;
    return isfinite(p->idle_w) ? fmax(0, fmin(rest, p->idle_w * p->alone.add[i])) : 0;
}

void jm_phase_share(struct jm_phase *p)
{
    const double *w = p->w;
    p->a[0] = p->g[0] = 0;
    for (size_t i = 0; i < p->n; i++) {
        double m = w[JM_PW_PREFILL] * p->prefill.add[i] + w[JM_PW_DECODE] * p->nd[i] +
                   w[JM_PW_CONTEXT] * p->ctx[i],
               dt = p->t[i + 1] - p->t[i];
        p->s[i] = m > 0 ? fmax(0, fmin(1, p->e[i] / m)) : 1;
        double rest = p->e[i] - p->s[i] * m;
        p->rho[i] = p->active.add[i] > 0 ? (rest - jm_phase_idle(p, i, rest)) / p->active.add[i] : 0;
        p->a[i + 1] = p->a[i] + p->rho[i] * dt;
        p->g[i + 1] = p->g[i] + p->s[i] * dt;
    }
}

/* An integral over time, up to t. */
static double upto(const struct jm_phase *p, const double *integral, const double *rate, double t)
{
    size_t i = t >= p->t[p->n] ? p->n : jm_phase_cell(p, t);
    if (i == p->n)
        return t >= p->t[p->n] ? integral[p->n] : 0;
    return integral[i] + rate[i] * (t - p->t[i]);
}

static double over(const struct jm_phase *p, const double *integral, const double *rate, double from,
                   double to)
{
    return to > from ? upto(p, integral, rate, to) - upto(p, integral, rate, from) : 0;
}

void jm_phase_of(const struct jm_phase *p, size_t k, size_t from, size_t to, struct jm_phase_part *out)
{
    const struct jm_phase_kept *q = &p->q[k];
    struct jm_span s = {p->packed.buf + q->at, p->packed.len - q->at};
    double t0 = p->t[from], t1 = p->t[to], before = 0;
    size_t cell = 0;
    *out = (struct jm_phase_part){0};
    if (q->first > q->start) {
        double a = fmax(q->start, t0), b = fmin(q->first, t1), rate = q->prefill / (q->first - q->start);
        out->marginal_prefill = p->w[JM_PW_PREFILL] * rate * over(p, p->g, p->s, a, b);
        out->prefill_tokens = b > a ? rate * (b - a) : 0;
    } else {
        size_t c = jm_phase_cell(p, q->first);
        if (c >= from && c < to) {
            out->marginal_prefill = p->w[JM_PW_PREFILL] * q->prefill * p->s[c];
            out->prefill_tokens = q->prefill;
        }
    }
    for (uint32_t i = 0; i < q->groups; i++) {
        uint64_t step, units;
        if (!jm_varint_get(&s, &step) || !jm_varint_get(&s, &units))
            break;
        cell += (size_t)jm_unzigzag(step);
        if (cell >= from && cell < to) {
            double n = q->each * (double)units;
            out->marginal_decode += p->s[cell] * (p->w[JM_PW_DECODE] * n +
                                                  p->w[JM_PW_CONTEXT] * context_of(q, before, (double)units));
            out->decode_tokens += n;
        }
        before += (double)units;
    }
    out->prefill = out->marginal_prefill + over(p, p->a, p->rho, fmax(q->start, t0), fmin(q->first, t1));
    out->decode = out->marginal_decode + over(p, p->a, p->rho, fmax(q->first, t0), fmin(q->last, t1));
}

void jm_phase_cells(const struct jm_phase *p, size_t from, size_t to, struct jm_phase_part *out, double *idle,
                    double *total)
{
    *out = (struct jm_phase_part){0};
    *idle = *total = 0;
    for (size_t i = from; i < to; i++) {
        double mp = p->s[i] * p->w[JM_PW_PREFILL] * p->prefill.add[i],
               md = p->s[i] * (p->w[JM_PW_DECODE] * p->nd[i] + p->w[JM_PW_CONTEXT] * p->ctx[i]),
               pre = mp + p->rho[i] * p->pre_act.add[i];
        double nobody = jm_phase_idle(p, i, p->e[i] - mp - md);
        *total += p->e[i];
        *idle += nobody;
        out->prefill += pre;
        out->decode += p->e[i] - nobody - pre;
        out->marginal_prefill += mp;
        out->marginal_decode += md;
        out->prefill_tokens += p->prefill.add[i];
        out->decode_tokens += p->nd[i];
    }
}

bool jm_phase_inside(const struct jm_phase *p, size_t k)
{
    return p->q[k].start >= p->t[0] && p->q[k].last <= p->t[p->n];
}

bool jm_phase_within(const struct jm_phase *p, size_t k, size_t from, size_t to)
{
    return p->q[k].start >= p->t[from] && p->q[k].last < p->t[to];
}

int jm_phase_quiet(struct jm_phase *p, double margin, double *watts, double *seconds, struct jm_err *err)
{
    double joules = 0, since = INFINITY;
    int rc = jm_phase_close(p, err);
    *seconds = 0;
    for (size_t i = 0; !rc && i < p->n; i++) {
        double dt = p->t[i + 1] - p->t[i];
        if (p->active.add[i] > 0) {
            since = 0;
            continue;
        }
        if (since >= margin && p->e[i] > 0) {
            joules += p->e[i];
            *seconds += dt;
        }
        since += dt;
    }
    *watts = *seconds > 0 ? joules / *seconds : NAN;
    return rc;
}
