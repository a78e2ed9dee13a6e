/* SPDX-License-Identifier: Apache-2.0 */
/* The regression, its gates, and what comes in its place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/phase_impl.h"
#include "compute/stat_nnls.h"

#include "base/banned.h"

#define COLS     (JM_PW_COUNT + 1) /* and time, for a free idle power */
#define FEW      60                /* windows that there should be, where cells allow it */
#define SHORTEST 2                 /* cells a window */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The usual length of the cells in use: the median of up to a thousand of them. */
static double usual(const struct jm_phase *p, const unsigned char *use, double *all)
{
    double v[1000];
    size_t n = 0, step = p->n / 1000 + 1;
    *all = 0;
    for (size_t i = 0; i < p->n; i++)
        *all += !use || use[i] ? p->t[i + 1] - p->t[i] : 0;
    for (size_t i = 0; i < p->n && n < 1000; i += step)
        if (!use || use[i])
            v[n++] = p->t[i + 1] - p->t[i];
    if (!n)
        return NAN;
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

/* Rows, of runs of cells that belong together; what is left at the end of one is dropped unless it is half of
 * a window. */
static size_t rows_of(const struct jm_phase *p, const unsigned char *use, double length,
                      struct jm_phase_row *row)
{
    size_t n = 0;
    struct jm_phase_row r;
    double pre = 0, act = 0;
    memset(&r, 0, sizeof r);
    for (size_t i = 0; i <= p->n; i++) {
        unsigned char u = i == p->n ? 0 : use ? use[i] : 1;
        if (r.dt > 0 && (u != r.use || r.dt >= length * (1 - 1e-9))) {
            r.pre = act > 0 ? pre / act : 0;
            if (r.dt >= length / 2)
                row[n++] = r;
            memset(&r, 0, sizeof r);
            pre = act = 0;
        }
        if (!u)
            continue;
        if (!(r.dt > 0))
            r.t0 = p->t[i];
        r.t1 = p->t[i + 1];
        r.use = u;
        r.dt += p->t[i + 1] - p->t[i];
        r.e += p->e[i];
        r.e_act += p->e[i] - jm_phase_idle(p, i, p->e[i]);
        r.x[JM_PW_STEP] += p->steps[i];
        r.x[JM_PW_PREFILL] += p->prefill.add[i];
        r.x[JM_PW_DECODE] += p->nd[i];
        r.x[JM_PW_CONTEXT] += p->ctx[i];
        pre += p->pre_act.add[i];
        act += p->active.add[i];
    }
    return n;
}

/* One set of columns. */
struct attempt {
    double pin[COLS];
    bool vary[COLS];
    struct jm_identify id;
    struct jm_nnls fit;
};

static int attempt(const struct jm_lsq *l, const bool *take, const bool *there, double idle,
                   struct attempt *a, struct jm_err *err)
{
    memset(a, 0, sizeof *a);
    for (int j = 0; j < JM_PW_COUNT; j++) {
        a->pin[j] = take[j] && there[j] ? NAN : 0;
        a->vary[j] = there[j] && (j == JM_PW_PREFILL || j == JM_PW_DECODE);
    }
    a->pin[JM_PW_COUNT] = idle;
    jm_lsq_identify(l, a->pin, a->vary, &a->id);
    return a->id.ok ? jm_lsq_nnls(l, a->pin, &a->fit, err) : 0;
}

static const char *const column[COLS] = {"engine steps", "prefill tokens", "decode tokens", "context",
                                         "time"};

static void unidentified(struct jm_phase_fit *f, const struct attempt *a)
{
    const struct jm_identify *id = &a->id;
    int least = a->vary[JM_PW_PREFILL] ? JM_PW_PREFILL : JM_PW_DECODE;
    if (a->vary[JM_PW_DECODE] && id->cv[JM_PW_DECODE] < id->cv[least])
        least = JM_PW_DECODE;
    if (strcmp(id->reason, "variation") == 0)
        snprintf(f->why, sizeof f->why,
                 "%s hardly vary from window to window (by %.1f %%, at least %.0f %% are needed), so their "
                 "energy cannot be told from what is always there; a calibration burst (bench "
                 "--phase-bursts) or lengths that differ would tell",
                 column[least], 100 * id->cv[least], 100 * JM_LSQ_CV);
    else
        snprintf(f->why, sizeof f->why,
                 "%s rise and fall with the rest of the load (condition number %.3g, at most %.0f), so their "
                 "energy cannot be told apart; a calibration burst (bench --phase-bursts) or lengths that "
                 "differ would tell",
                 id->weakest >= 0 && id->weakest < COLS ? column[id->weakest] : "prefill and decode tokens",
                 id->condition, JM_LSQ_COND);
}

static bool burst(const struct jm_phase_row *r)
{
    return r->use >= JM_PHASE_BURST;
}

static int fill(struct jm_lsq *l, const struct jm_phase_row *row, size_t n, bool bursts, struct jm_err *err)
{
    int rc = 0;
    jm_lsq_init(l, COLS);
    for (size_t i = 0; !rc && i < n; i++) {
        double x[COLS];
        memcpy(x, row[i].x, sizeof row[i].x);
        x[JM_PW_COUNT] = row[i].dt;
        if (bursts || !burst(&row[i]))
            rc = jm_lsq_row(l, x, row[i].e, 1, err);
    }
    return rc;
}

/* Does the fit stand? */
static bool accepted(struct jm_phase_fit *f, const struct attempt *a, const bool *there)
{
    const double *w = a->fit.x;
    if (!a->id.ok) {
        unidentified(f, a);
        return false;
    }
    if (!(f->residual <= JM_PHASE_RESIDUAL)) {
        snprintf(
            f->why, sizeof f->why,
            "tokens and steps leave %.1f %% of a window's energy unexplained (at most %.0f %%): something "
            "else draws power, or the instrument is too slow for this load",
            100 * f->residual, 100 * JM_PHASE_RESIDUAL);
        return false;
    }
    bool prefill = !there[JM_PW_PREFILL] || w[JM_PW_PREFILL] > 0,
         decode = !there[JM_PW_DECODE] || w[JM_PW_STEP] + w[JM_PW_DECODE] + w[JM_PW_CONTEXT] > 0;
    if (!prefill || !decode)
        snprintf(f->why, sizeof f->why,
                 "the energy does not rise with %s tokens, so there is nothing to tell the phases by",
                 prefill ? "decode" : "prefill");
    return prefill && decode;
}

/* D2, where it stands; else f->why says why not. Context, and then steps, are given up before the whole is:
 * without them their energy goes with the tokens, or is shared by time. */
static int regress(struct jm_phase *p, const struct jm_phase_row *row, size_t n, bool bursts,
                   const struct jm_phase_opts *o, struct jm_phase_fit *f, double *pin, struct jm_err *err)
{
    static const bool take[][JM_PW_COUNT] = {{true, true, true, true},
                                             {true, true, true, false},
                                             {false, true, true, true},
                                             {false, true, true, false}};
    bool there[JM_PW_COUNT] = {false}, any = false;
    struct jm_lsq l;
    struct attempt a;
    double mean = 0, many = 0;
    size_t k = 0;
    int rc = fill(&l, row, n, bursts, err);
    for (size_t i = 0; i < n; i++) {
        if (!bursts && burst(&row[i]))
            continue;
        for (int j = 0; j < JM_PW_COUNT; j++)
            there[j] |= row[i].x[j] > 0;
        mean += row[i].e;
        many++;
    }
    any = there[JM_PW_PREFILL] || there[JM_PW_DECODE];
    if (rc || !any || many < JM_PHASE_WINDOWS) {
        snprintf(f->why, sizeof f->why, "%s",
                 any ? "the run is too short to tell prefill from decode"
                     : "there are no tokens in the windows");
        return rc;
    }
    do
        rc = attempt(&l, take[k], there, o->free_idle ? NAN : o->idle_w, &a, err);
    while (!rc && !a.id.ok && ++k < sizeof take / sizeof *take);
    if (rc)
        return rc == JM_EAGAIN ? 0 : rc;
    f->condition = a.id.condition;
    f->cv_prefill = a.id.cv[JM_PW_PREFILL];
    f->cv_decode = a.id.cv[JM_PW_DECODE];
    f->residual = a.id.ok && mean > 0 ? a.fit.rmse * many / mean : NAN;
    if (!accepted(f, &a, there))
        return 0;
    for (int j = 0; j < JM_PW_COUNT; j++) {
        p->w[j] = f->w[j] = a.fit.x[j];
        f->fitted[j] = take[k][j] && there[j];
    }
    if (o->free_idle)
        f->idle_w = a.fit.x[JM_PW_COUNT];
    memcpy(pin, a.pin, sizeof a.pin);
    f->bursts = bursts;
    f->method = JM_PHASE_D2;
    f->why[0] = '\0';
    return 0;
}

/* The load by itself where it varies enough: what prompts take beside decode is not what they take alone. */
static int regress_both(struct jm_phase *p, const struct jm_phase_row *row, size_t n,
                        const struct jm_phase_opts *o, struct jm_phase_fit *f, double *pin,
                        struct jm_err *err)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= burst(&row[i]);
    int rc = regress(p, row, n, false, o, f, pin, err);
    if (!rc && any && f->method != JM_PHASE_D2)
        rc = regress(p, row, n, true, o, f, pin, err);
    return rc;
}

/* ---- when: a counter that is read as often as it refreshes shows each value some fixed time late */

#define STEPS 8 /* a side */

/* Energy from the first cell on to time t; beyond the ends with the power there. sum: n + 1. */
static double upto(const struct jm_phase *p, const double *sum, double t)
{
    size_t i = jm_phase_cell(p, t);
    if (i == p->n)
        i = t < p->t[0] ? 0 : p->n - 1;
    return sum[i] + p->e[i] * (t - p->t[i]) / (p->t[i + 1] - p->t[i]);
}

/* Sum of squared residuals when what rows hold was drawn `late` seconds before it is shown; negative: error.
 */
static double misfit(const struct jm_phase *p, const double *sum, struct jm_phase_row *row, size_t n,
                     const struct jm_phase_opts *o, double late, struct jm_err *err)
{
    double pin[COLS] = {NAN, NAN, NAN, NAN, o->free_idle ? NAN : o->idle_w};
    struct jm_lsq l;
    struct jm_nnls fit;
    for (size_t i = 0; i < n; i++)
        row[i].e = upto(p, sum, row[i].t1 + late) - upto(p, sum, row[i].t0 + late);
    return fill(&l, row, n, true, err) || jm_lsq_nnls(&l, pin, &fit, err) ? -1 : fit.rss;
}

/* Moves energies by `late`; what belongs together keeps its sum. */
static void move(struct jm_phase *p, const unsigned char *use, const double *sum, double *e, double late)
{
    for (size_t i = 0; i < p->n; i++)
        e[i] = fmax(0, upto(p, sum, p->t[i + 1] + late) - upto(p, sum, p->t[i] + late));
    for (size_t a = 0, b; a < p->n; a = b) {
        double is = 0, was = 0;
        for (b = a; b < p->n && (!use || use[b] == use[a]); b++) {
            is += e[b];
            was += p->e[b];
        }
        for (size_t i = a; i < b; i++)
            e[i] = is > 0 ? e[i] * was / is : p->e[i];
    }
    memcpy(p->e, e, p->n * sizeof *e);
}

static int align(struct jm_phase *p, struct jm_phase_row *row, size_t n, const struct jm_phase_opts *o,
                 struct jm_phase_fit *f, struct jm_err *err)
{
    double *sum = malloc((2 * p->n + 1) * sizeof *sum), best = -1, ss[2 * STEPS + 1];
    struct jm_err ignored = {0};
    int at = STEPS;
    if (!sum)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the energies of the phases");
    sum[0] = 0;
    for (size_t i = 0; i < p->n; i++)
        sum[i + 1] = sum[i] + p->e[i];
    for (int k = 0; k <= 2 * STEPS; k++) {
        ss[k] = misfit(p, sum, row, n, o, o->shift_s * (k - STEPS) / STEPS, &ignored);
        if (ss[k] >= 0 && (best < 0 || ss[k] < best)) {
            best = ss[k];
            at = k;
        }
    }
    /* a clear dip inside: else nothing is known better */
    if (best > 0 && at > 0 && at < 2 * STEPS && best < 0.97 * ss[STEPS]) {
        double a = ss[at - 1], c = ss[at + 1], bend = a - 2 * best + c;
        f->late_s = o->shift_s * (at - STEPS + (bend > 0 ? (a - c) / (2 * bend) : 0)) / STEPS;
        move(p, o->use, sum, sum + p->n + 1, f->late_s);
    }
    free(sum);
    return 0;
}

static double window_length(const struct jm_phase *p, const struct jm_phase_opts *o)
{
    double all, cell = usual(p, o->use, &all), length = o->window_s > 0 ? o->window_s : fmax(1, 10 * cell);
    if (!(o->window_s > 0) && all / length < FEW)
        length = fmax(fmin(length, fmax(1, all / FEW)), SHORTEST * cell);
    return length;
}

int jm_phase_solve(struct jm_phase *p, const struct jm_phase_opts *o, struct jm_phase_fit *f,
                   struct jm_err *err)
{
    struct jm_phase_row *row = NULL;
    double pin[COLS];
    int rc = 0;
    *f = (struct jm_phase_fit){.method = JM_PHASE_TIME_SHARE,
                               .idle_w = o->idle_w,
                               .residual = NAN,
                               .condition = NAN,
                               .cv_prefill = NAN,
                               .cv_decode = NAN,
                               .share_offset = {NAN, NAN},
                               .counted_steps = p->n_step > 0};
    for (int j = 0; j < JM_PW_COUNT; j++)
        f->w_interval[j] = (struct jm_phase_interval){NAN, NAN};
    memset(p->w, 0, sizeof p->w);
    p->idle_w = o->idle_w;
    if ((rc = jm_phase_close(p, err)))
        return rc;
    f->window_s = window_length(p, o);
    if (!o->only_time && isfinite(f->window_s) && f->window_s > 0) {
        row = malloc((p->n + 1) * sizeof *row);
        if (!row)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the windows of the allocation");
        f->windows = rows_of(p, o->use, f->window_s, row);
    }
    if (o->only_time) {
        /* as asked */
    } else if (f->windows < JM_PHASE_WINDOWS) {
        snprintf(f->why, sizeof f->why,
                 "the run is too short to tell prefill from decode: %zu windows of %.3g s, at least %d are "
                 "needed",
                 f->windows, f->window_s, JM_PHASE_WINDOWS);
    } else if (!o->free_idle && !isfinite(o->idle_w)) {
        snprintf(
            f->why, sizeof f->why,
            "no loaded idle power is known (model in memory, no request), without which the share of the "
            "phases would be biased; bench --idle records it");
    } else {
        if (o->shift_s > 0)
            rc = align(p, row, f->windows, o, f, err);
        if (!rc && o->shift_s > 0)
            f->windows = rows_of(p, o->use, f->window_s, row);
        if (!rc)
            rc = regress_both(p, row, f->windows, o, f, pin, err);
    }
    if (!rc)
        jm_phase_share(p);
    if (!rc && f->method == JM_PHASE_D2)
        rc = jm_phase_bootstrap(row, f->windows, pin, o, f, err);
    free(row);
    return rc;
}
