/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/lag.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/observe.h"

#include "base/banned.h"

#define COARSE    400  /* lags of the first look */
#define N_WINDOWS 14   /* windows of the first look, where it is to be found */
#define SEEN_R    0.5  /* below it the instrument does not follow */
#define SURE      0.95 /* confidence below which the lag is ambiguous */
#define FINE      2e-5 /* s: the search ends here */
#define BLUR      4    /* points over the bracket of a refresh */

const char *jm_lag_verdict_name(int v)
{
    static const char *const name[] = {"ok", "few", "constant", "unseen", "ambiguous", "beyond"};
    return v >= 0 && v <= JM_LAG_BEYOND ? name[v] : NULL;
}

/* A course with its integral up to each step. */
struct course {
    struct jm_course c;
    double *sum;
};

struct fit {
    double r, gain, offset, sse;
};

struct search {
    struct course *course;
    size_t n_course;
    const struct jm_shown **o; /* those that every lag leaves inside a course, and of which course */
    size_t *of;
    double *m;
    size_t n;
    size_t steps; /* of the courses: what is independent */
    double slow;  /* s: what is much shorter need not be looked at */
};

static double integral(const struct course *c, double t)
{
    size_t lo = 0, hi = c->c.n;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (c->c.t[mid] <= t)
            lo = mid;
        else
            hi = mid;
    }
    return c->sum[lo] + (t - c->c.t[lo]) * c->c.y[lo];
}

static double model(const struct course *c, const struct jm_shown *o, double lag, double window)
{
    double w = isfinite(o->mean) ? o->mean : window, sum = 0;
    int n = o->h > 0.2 * w ? BLUR : 1;
    w = w > 1e-6 ? w : 1e-6;
    for (int i = 0; i < n; i++) {
        double t = o->at - lag + o->h * ((i + 0.5) / n - 0.5);
        sum += (integral(c, t) - integral(c, t - w)) / w;
    }
    return sum / n;
}

static void models(const struct search *s, double lag, double window, double *m)
{
    for (size_t i = 0; i < s->n; i++)
        m[i] = model(&s->course[s->of[i]], s->o[i], lag, window);
}

static struct fit fit_of(const struct search *s, const double *m)
{
    double mm = 0, my = 0, n = (double)s->n, sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 0; i < s->n; i++) {
        mm += m[i] / n;
        my += s->o[i]->y / n;
    }
    for (size_t i = 0; i < s->n; i++) {
        double a = m[i] - mm, b = s->o[i]->y - my;
        sxx += a * a;
        sxy += a * b;
        syy += b * b;
    }
    struct fit f = {.r = -1, .sse = syy};
    if (!(sxx > 0) || !(syy > 0))
        return f;
    f.r = sxy / sqrt(sxx * syy);
    f.gain = sxy / sxx;
    f.offset = my - f.gain * mm;
    f.sse = syy - f.gain * sxy;
    f.sse = f.sse > 1e-12 * syy ? f.sse : 1e-12 * syy;
    return f;
}

static struct fit look(const struct search *s, double lag, double window)
{
    models(s, lag, window, s->m);
    return fit_of(s, s->m);
}

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* Downhill from a start, along lag, window, and both so that their middle stays. */
static struct fit refine(const struct search *s, const struct jm_lag_ask *ask, double step, double *lag,
                         double *window)
{
    static const double way[6][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {-0.5, 1}, {0.5, -1}};
    int ways = isfinite(ask->window) ? 2 : 6;
    struct fit best = look(s, *lag, *window);
    while (step > FINE) {
        bool moved = false;
        for (int i = 0; i < ways; i++) {
            double l = clamp(*lag + step * way[i][0], ask->lag_min, ask->lag_max),
                   w = ways == 2 ? *window : clamp(*window + step * way[i][1], 0, ask->window_max);
            struct fit f = look(s, l, w);
            if (f.r > 0 && f.sse < best.sse * (1 - 1e-12)) {
                best = f;
                *lag = l;
                *window = w;
                moved = true;
            }
        }
        step = moved ? step : step / 2;
    }
    return best;
}

/* Which values does every lag that is searched leave inside a course? */
static void inside(struct search *s, const struct jm_lag_ask *ask, const struct jm_shown *shown, size_t n)
{
    double w = isfinite(ask->window) ? ask->window : ask->window_max;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s->n_course; k++) {
            const struct jm_shown *o = &shown[i];
            double mean = isfinite(o->mean) && o->mean > w ? o->mean : w;
            if (!isfinite(o->y) || !(o->h >= 0) || o->at + o->h / 2 - ask->lag_min > s->course[k].c.end ||
                o->at - o->h / 2 - ask->lag_max - mean < s->course[k].c.t[0])
                continue;
            s->o[s->n] = o;
            s->of[s->n++] = k;
            break;
        }
}

/* Neighbours that share their error tell less: (1 + rho) / (1 - rho) values count as one. */
static double alike(const struct search *s, const struct fit *f, const double *m)
{
    double c0 = 0, c1 = 0, before = 0;
    for (size_t i = 0; i < s->n; i++) {
        double e = s->o[i]->y - f->offset - f->gain * m[i];
        c0 += e * e;
        c1 += i ? e * before : 0;
        before = e;
    }
    double rho = c0 > 0 ? clamp(c1 / c0, 0, 0.95) : 0;
    return (1 + rho) / (1 - rho);
}

/* Solves the 4 x 4 normal equations in place; the diagonal of the inverse into var. */
static bool invert(double a[4][4], int n, double *var)
{
    double inv[4][4] = {{0}};
    for (int i = 0; i < n; i++)
        inv[i][i] = 1;
    for (int i = 0; i < n; i++) {
        int p = i;
        for (int k = i + 1; k < n; k++)
            p = fabs(a[k][i]) > fabs(a[p][i]) ? k : p;
        if (!(fabs(a[p][i]) > 1e-300))
            return false;
        for (int j = 0; j < n; j++) {
            double x = a[i][j], y = inv[i][j];
            a[i][j] = a[p][j];
            a[p][j] = x;
            inv[i][j] = inv[p][j];
            inv[p][j] = y;
        }
        double d = a[i][i];
        for (int j = 0; j < n; j++) {
            a[i][j] /= d;
            inv[i][j] /= d;
        }
        for (int k = 0; k < n; k++) {
            double by = k == i ? 0 : a[k][i];
            for (int j = 0; by != 0 && j < n; j++) {
                a[k][j] -= by * a[i][j];
                inv[k][j] -= by * inv[i][j];
            }
        }
    }
    for (int i = 0; i < n; i++)
        var[i] = inv[i][i];
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of values that were seen to change; one that is repeated has no bracket of its own. */
static double median_bracket(const struct search *s, double *room)
{
    size_t k = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->o[i]->h > 0 && (!i || s->o[i]->y != s->o[i - 1]->y))
            room[k++] = s->o[i]->h;
    qsort(room, k, sizeof *room, by_value);
    return k ? room[k / 2] : 0;
}

/* How far the lag can be moved before the fit is worse by what two standard deviations make: half of that.
 * Where no value lies on a flank (an instrument that shows moments), only this tells. */
static double profile(const struct search *s, const struct jm_lag *l, double sse, double s2, double most)
{
    double far = 0;
    for (int side = -1; side <= 1; side += 2)
        for (double d = 2e-4; d < most; d *= 1.15) {
            struct fit f = look(s, l->lag + side * d, l->window);
            if (f.sse > sse + 4 * s2) {
                far = fmax(far, d);
                break;
            }
        }
    return far / 2;
}

/* Standard uncertainties by the curvature of the fit, and by the brackets of the refreshes: polls that keep
 * in step with the instrument shift all of them alike. */
static void doubt(const struct search *s, const struct jm_lag_ask *ask, const struct fit *f,
                  struct jm_lag *out, double *m, double *up, double *down)
{
    int n = isfinite(ask->window) ? 3 : 4;
    double a[4][4] = {{0}}, var[4], h = median_bracket(s, m), d = fmax(fmax(5e-4, 0.02 * s->slow), h / 2);
    models(s, out->lag, out->window, m);
    double many = alike(s, f, m), s2 = f->sse / fmax(1, (double)s->n - n) * many;
    double *wide = NULL;
    models(s, out->lag + d, out->window, up);
    models(s, out->lag - d, out->window, down);
    for (size_t i = 0; i < s->n; i++)
        up[i] = f->gain * (up[i] - down[i]) / (2 * d);
    if (n == 4) {
        wide = down;
        models(s, out->lag, out->window + d, down);
        for (size_t i = 0; i < s->n; i++)
            wide[i] = f->gain * (down[i] - m[i]) / d;
    }
    for (size_t i = 0; i < s->n; i++) {
        double j[4] = {1, m[i], up[i], wide ? wide[i] : 0};
        for (int p = 0; p < n; p++)
            for (int q = 0; q < n; q++)
                a[p][q] += j[p] * j[q];
    }
    out->rms = sqrt(f->sse / (double)s->n);
    double u = profile(s, out, f->sse, s2, 0.25 * (ask->lag_max - ask->lag_min));
    out->u_lag = sqrt(u * u + h * h / 12);
    if (!invert(a, n, var) || !(var[2] > 0))
        return;
    out->u_offset = sqrt(s2 * var[0]);
    out->u_gain = sqrt(s2 * var[1]);
    if (s2 * var[2] > u * u && s2 * var[2] < 1)
        out->u_lag = sqrt(s2 * var[2] + h * h / 12);
    out->u_window = n == 4 ? sqrt(s2 * var[3] + h * h / 12) : 0;
}

/* The best lag of all, then the best one that is another lag. */
static void scan(const struct search *s, const struct jm_lag_ask *ask, struct jm_lag *out, double *r)
{
    double width = ask->lag_max - ask->lag_min, step = width / (COARSE - 1), best_sse = DBL_MAX;
    size_t n_w = isfinite(ask->window) ? 1 : N_WINDOWS;
    out->window = isfinite(ask->window) ? ask->window : 0;
    for (size_t k = 0; k < n_w; k++) {
        double w = n_w == 1 ? ask->window : k == 0 ? 0 : ask->window_max * pow(0.6, (double)(n_w - 1 - k));
        for (int i = 0; i < COARSE; i++) {
            struct fit f = look(s, ask->lag_min + step * i, w);
            if (f.r > 0 && f.sse < best_sse) {
                best_sse = f.sse;
                out->lag = ask->lag_min + step * i;
                out->window = w;
            }
        }
    }
    struct fit f =
        best_sse < DBL_MAX ? refine(s, ask, 4 * step, &out->lag, &out->window) : (struct fit){.r = 0};
    out->r = f.r;
    out->gain = f.gain;
    out->offset = f.offset;
    /* another lag: beyond a valley, where the fit has become clearly worse on the way */
    size_t peak = (size_t)clamp((out->lag - ask->lag_min) / step + 0.5, 0, COARSE - 1);
    for (size_t i = 0; i < COARSE; i++)
        r[i] = look(s, ask->lag_min + step * (double)i, out->window).r;
    out->next_r = NAN;
    ptrdiff_t next = -1;
    for (int side = -1; side <= 1; side += 2) {
        double low = f.r;
        for (ptrdiff_t i = (ptrdiff_t)peak; i >= 0 && i < COARSE; i += side) {
            low = fmin(low, r[i]);
            if (low < 0.9 * f.r && r[i] > low + 0.05 * f.r && !(out->next_r >= r[i])) {
                out->next_r = r[i];
                next = i;
            }
        }
    }
    if (next < 0)
        return;
    struct jm_lag_ask near = *ask; /* to the top of it, by its own lag alone */
    double lag = ask->lag_min + step * (double)next, window = out->window;
    near.window = window;
    near.lag_min = fmax(ask->lag_min, lag - 2 * step);
    near.lag_max = fmin(ask->lag_max, lag + 2 * step);
    out->next_r = fmax(out->next_r, refine(s, &near, step, &lag, &window).r);
}

static int verdict(struct jm_lag *out, enum jm_lag_verdict v, const char *why)
{
    out->verdict = v;
    snprintf(out->why, sizeof out->why, "%s", why);
    if (v != JM_LAG_OK)
        out->lag = out->u_lag = out->window = out->u_window = NAN;
    return 0;
}

static int judge(const struct search *s, const struct jm_lag_ask *ask, struct jm_lag *out, double *room)
{
    struct fit f;
    double *m = room + COARSE, *up = m + s->n, *down = up + s->n;
    scan(s, ask, out, room);
    if (!(out->r >= SEEN_R))
        return verdict(out, JM_LAG_UNSEEN, "what the instrument shows does not follow the load");
    f = look(s, out->lag, out->window);
    doubt(s, ask, &f, out, m, up, down);
    models(s, out->lag, out->window, m);
    double n = fmin((double)s->n / alike(s, &f, m), (double)(2 * s->steps));
    if (isfinite(out->next_r) && out->next_r > 0) {
        /* likelihood of the other one over this one: (SSE1 / SSE2)^(n/2) */
        double ratio = (1 - out->r * out->r + 1e-9) / (1 - out->next_r * out->next_r + 1e-9);
        out->confidence = 1 - pow(fmin(ratio, 1), n / 2);
    } else {
        out->confidence = 1;
    }
    if (out->confidence < SURE)
        return verdict(out, JM_LAG_AMBIGUOUS,
                       "another lag fits as well, so that the steps do not tell which it is");
    double edge = 2 * (ask->lag_max - ask->lag_min) / (COARSE - 1);
    if (out->lag > ask->lag_max - edge || out->lag < ask->lag_min + FINE)
        return verdict(out, JM_LAG_BEYOND, "the best fit is at the end of what was searched");
    return verdict(out, JM_LAG_OK, "");
}

int jm_lag_find(const struct jm_course *course, size_t n_course, const struct jm_shown *shown, size_t n,
                const struct jm_lag_ask *ask, struct jm_lag *out, struct jm_err *err)
{
    size_t steps = 0, total = 0;
    *out = (struct jm_lag){.lag = NAN, .u_lag = NAN, .window = NAN, .u_window = NAN, .r = NAN, .next_r = NAN};
    if (!(ask->lag_max > ask->lag_min) || !n_course || (isnan(ask->window) && !(ask->window_max > 0)))
        return jm_err_set(err, JM_EINVAL, "no range of lags to search, or no course to compare with");
    for (size_t k = 0; k < n_course; k++) {
        total += course[k].n;
        for (size_t i = 1; i < course[k].n; i++) {
            if (!(course[k].t[i] >= course[k].t[i - 1]))
                return jm_err_set(err, JM_EINVAL, "the course of the load is out of order");
            steps += course[k].y[i] != course[k].y[i - 1];
        }
        if (!course[k].n || !(course[k].end >= course[k].t[course[k].n - 1]))
            return jm_err_set(err, JM_EINVAL, "the course of the load is empty");
    }
    struct search s = {.n_course = n_course, .steps = steps};
    s.course = calloc(n_course, sizeof *s.course);
    double *sums = calloc(total, sizeof *sums), *room = calloc(COARSE + 4 * (n + 1), sizeof *room);
    s.o = calloc(n + 1, sizeof *s.o);
    s.of = calloc(n + 1, sizeof *s.of);
    int rc = s.course && sums && room && s.o && s.of
                 ? 0
                 : jm_err_set(err, JM_ENOMEM, "out of memory for the search of a lag");
    if (!rc) {
        double *next = sums;
        for (size_t k = 0; k < n_course; k++) {
            s.course[k] = (struct course){course[k], next};
            for (size_t i = 1; i < course[k].n; i++)
                next[i] = next[i - 1] + (course[k].t[i] - course[k].t[i - 1]) * course[k].y[i - 1];
            next += course[k].n;
        }
        s.m = room + COARSE + 3 * (n + 1);
        inside(&s, ask, shown, n);
        out->n = s.n;
        double lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < s.n; i++) {
            lo = fmin(lo, s.o[i]->y);
            hi = fmax(hi, s.o[i]->y);
        }
        s.slow = isfinite(ask->window) ? ask->window : 0.02;
        if (s.n < 8)
            verdict(out, JM_LAG_FEW, "too few values of the instrument lie beside the steps of the load");
        else if (!(hi > lo) || !steps)
            verdict(out, JM_LAG_CONSTANT,
                    steps ? "the instrument showed one and the same value all the time"
                          : "the load made no step");
        else
            rc = judge(&s, ask, out, room);
    }
    free(s.course);
    free(sums);
    free(room);
    free(s.o);
    free(s.of);
    return rc;
}

/* ---- what a channel showed */

static size_t shown_counter(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t origin,
                            struct jm_shown *out, size_t cap)
{
    size_t k = 0, prev = n;
    double last_at = NAN, last_h = 0, last_j = 0;
    for (size_t i = 0; i < n; i++) {
        if (r[i].status != JM_S_OK) {
            prev = n;
            last_at = NAN;
            continue;
        }
        if (prev < n && r[i].value != r[prev].value) {
            double lo = jm_seconds_between(r[prev].t0, origin), hi = jm_seconds_between(r[i].t1, origin),
                   at = 0.5 * (lo + hi), j = jm_channel_value(c, r[i].value), w = at - last_at;
            if (isfinite(last_at) && w > 0 && j > last_j && hi - lo < 1.5 * w && last_h < 1.5 * w && k < cap)
                out[k++] = (struct jm_shown){at, fmax(hi - lo, last_h), w, (j - last_j) / w};
            last_at = at;
            last_h = hi - lo;
            last_j = j;
        }
        prev = i;
    }
    return k;
}

size_t jm_lag_shown(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t origin,
                    int64_t t0, int64_t t1, double period, struct jm_shown *out, size_t cap)
{
    struct jm_period p;
    struct jm_observer o;
    struct jm_observation x;
    size_t k = 0;
    while (n && r->t1 < t0) {
        r++;
        n--;
    }
    while (n && r[n - 1].t0 > t1)
        n--;
    if (n < 2)
        return 0;
    if (c->kind == JM_CH_COUNTER)
        return shown_counter(c, r, n, origin, out, cap);
    double poll = jm_seconds_between(r[n - 1].t0, r[0].t0) / (double)(n - 1);
    if (!(period > 0))
        period = jm_period_find(r, n, &p) && !p.below ? p.period : 0;
    jm_observer_init(&o, c, r, n, origin, period, poll, 1e9);
    while (k < cap && jm_observer_next(&o, &x))
        out[k++] = (struct jm_shown){x.at, x.h, NAN, x.value};
    return k;
}
