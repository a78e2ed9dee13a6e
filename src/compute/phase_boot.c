/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of coefficients and of the prefill share: blocks of windows drawn again. A block is kept as the
 * sums that the fit needs of it, so that an hour costs what its blocks cost. These are normal equations,
 * which square the condition number: after the gate (1,000, columns scaled) that leaves ten digits, far more
 * than an interval has; the fit itself does not use them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/phase_impl.h"
#include "compute/stat_nnls.h"

#include "base/banned.h"

#define COLS (JM_PW_COUNT + 1)
#define SIDE (COLS + 1) /* and the energy */
#define REPS 999

struct block {
    double xx[SIDE][SIDE]; /* upper triangle */
    double e_act, np;      /* J of time with requests; prompt tokens */
    double pre[SIDE];      /* sums of (share of prefill) x column; the last: x energy */
};

struct sample {
    const struct block *b;
    const double *pin;
};

static void put(struct block *b, const struct jm_phase_row *r)
{
    double v[SIDE];
    memcpy(v, r->x, sizeof r->x);
    v[JM_PW_COUNT] = r->dt;
    v[COLS] = r->e;
    for (int i = 0; i < SIDE; i++) {
        for (int j = i; j < SIDE; j++)
            b->xx[i][j] += v[i] * v[j];
        if (r->use < JM_PHASE_BURST) /* bursts tell coefficients, and nothing of the load's share */
            b->pre[i] += r->pre * (i == COLS ? r->e_act : v[i]);
    }
    if (r->use >= JM_PHASE_BURST)
        return;
    b->e_act += r->e_act;
    b->np += r->x[JM_PW_PREFILL];
}

/* The triangle whose rows give the same sums (Cholesky); a column that adds nothing is 0. */
static void triangle(const double xx[SIDE][SIDE], struct jm_lsq *l)
{
    jm_lsq_init(l, COLS);
    l->rows = 1 << 20;
    l->w_sum = 1;
    l->y_sum = 1;
    for (int i = 0; i < SIDE; i++) {
        double d = xx[i][i];
        for (int k = 0; k < i; k++)
            d -= l->r[k][i] * l->r[k][i];
        if (!(d > 1e-14 * xx[i][i]))
            continue;
        l->r[i][i] = sqrt(d);
        for (int j = i + 1; j < SIDE; j++) {
            double v = xx[i][j];
            for (int k = 0; k < i; k++)
                v -= l->r[k][i] * l->r[k][j];
            l->r[i][j] = v / l->r[i][i];
        }
    }
}

/* Coefficients, then the share. */
static void statistics(const size_t *index, size_t n, double *value, void *arg)
{
    const struct sample *s = arg;
    struct block b;
    struct jm_lsq l;
    struct jm_nnls fit;
    struct jm_err ignored = {0};
    memset(&b, 0, sizeof b);
    for (size_t k = 0; k < n; k++) {
        const struct block *a = &s->b[index[k]];
        for (int i = 0; i < SIDE; i++) {
            for (int j = i; j < SIDE; j++)
                b.xx[i][j] += a->xx[i][j];
            b.pre[i] += a->pre[i];
        }
        b.e_act += a->e_act;
        b.np += a->np;
    }
    triangle((const double(*)[SIDE])b.xx, &l);
    if (jm_lsq_nnls(&l, s->pin, &fit, &ignored)) {
        for (int j = 0; j <= JM_PW_COUNT; j++)
            value[j] = NAN;
        return;
    }
    for (int j = 0; j < JM_PW_COUNT; j++)
        value[j] = fit.x[j];
    double p = fit.x[JM_PW_PREFILL], d = fit.x[JM_PW_DECODE], c = fit.x[JM_PW_CONTEXT],
           rest = b.pre[COLS] - p * b.pre[JM_PW_PREFILL] - d * b.pre[JM_PW_DECODE] - c * b.pre[JM_PW_CONTEXT];
    value[JM_PW_COUNT] = b.e_act > 0 ? (p * b.np + rest) / b.e_act : NAN;
}

/* Blocks of windows that follow each other, each as long as asked for. */
static size_t blocks_of(const struct jm_phase_row *row, size_t n, bool bursts, struct block *b)
{
    unsigned char use = 0;
    size_t k = 0;
    double length = 0;
    for (size_t i = 0; i < n; i++) {
        if (row[i].use >= JM_PHASE_BURST && !bursts)
            continue;
        if (length > 0 && (row[i].use != use || length >= JM_PHASE_BLOCK_S * (1 - 1e-6))) {
            k += length >= JM_PHASE_BLOCK_S / 2; /* else it is begun anew */
            length = 0;
        }
        if (length == 0)
            memset(&b[k], 0, sizeof b[k]);
        use = row[i].use;
        put(&b[k], &row[i]);
        length += row[i].dt;
    }
    return k + (length >= JM_PHASE_BLOCK_S / 2);
}

int jm_phase_bootstrap(const struct jm_phase_row *row, size_t n, const double *pin,
                       const struct jm_phase_opts *o, struct jm_phase_fit *fit, struct jm_err *err)
{
    struct block *b = malloc((n + 1) * sizeof *b);
    if (!b)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the intervals of the allocation");
    fit->blocks = blocks_of(row, n, fit->bursts, b);
    int rc = 0;
    if (fit->blocks < JM_BOOTSTRAP_BLOCKS) {
        snprintf(fit->no_interval, sizeof fit->no_interval,
                 "no interval: a block bootstrap needs %d blocks of %.0f s, and there are %zu",
                 JM_BOOTSTRAP_BLOCKS, JM_PHASE_BLOCK_S, fit->blocks);
    } else {
        struct sample s = {b, pin};
        struct jm_bootstrap boot[JM_PW_COUNT + 1];
        struct jm_bootstrap_opts bo = {.block = 1, .reps = REPS, .seed = o->seed, .level = o->level};
        struct jm_err why = {0};
        rc = jm_stat_bootstrap_many(fit->blocks, JM_PW_COUNT + 1, statistics, &s, &bo, boot, &why);
        if (rc == JM_ENOMEM) {
            free(b);
            return jm_err_set(err, rc, "out of memory for the intervals of the allocation");
        }
        rc = 0; /* what could be had has its interval */
        for (int j = 0; j < JM_PW_COUNT; j++)
            if (fit->fitted[j])
                fit->w_interval[j] = (struct jm_phase_interval){boot[j].interval.lo, boot[j].interval.hi};
        const struct jm_bootstrap *x = &boot[JM_PW_COUNT];
        fit->share_offset = (struct jm_phase_interval){x->interval.lo - x->value, x->interval.hi - x->value};
    }
    free(b);
    return rc;
}
