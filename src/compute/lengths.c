/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by input and output length, with the energies that the allocation gave them. */
#include <math.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/observe.h"

#include "base/banned.h"

/* Edges that hold lo .. hi: round steps where these are near each other, else powers of two (of four where
 * there would be too many). Returns how many bins. */
static size_t edges(double lo, double hi, double *edge)
{
    double at, step = 1;
    size_t n = 0;
    bool linear = hi < 4 * lo;
    if (linear) {
        double raw = (hi - lo + 1) / 6, p = pow(10, floor(log10(fmax(raw, 1))));
        step = raw <= 1 ? 1 : p * (raw <= p ? 1 : raw <= 2 * p ? 2 : raw <= 5 * p ? 5 : 10);
        at = floor(lo / step) * step;
    } else {
        double octaves = log2(hi / fmax(lo, 1));
        step = octaves < JM_LENGTH_BINS - 1 ? 2 : octaves < 2 * (JM_LENGTH_BINS - 1) ? 4 : 16;
        at = lo < 1 ? 0 : exp2(floor(log2(lo)));
    }
    edge[n] = at;
    while (n < JM_LENGTH_BINS && edge[n] <= hi) {
        edge[n + 1] = linear ? edge[n] + step : edge[n] < 1 ? 1 : edge[n] * step;
        n++;
    }
    if (edge[n] <= hi)
        edge[n] = floor(hi) + 1;
    return n;
}

static size_t bin(const double *edge, size_t n, double v)
{
    size_t k = 0;
    while (k + 1 < n && v >= edge[k + 1])
        k++;
    return k;
}

static bool counts(const struct jm_calc *c, const struct jm_request *q)
{
    int64_t end = q->end == JM_END_OK ? jm_request_end(q) : -1;
    for (size_t i = 0; end >= 0 && i < c->n_win; i++)
        if (c->win[i].w->role == JM_R_MEASURE && end >= c->win[i].w->t0 && end < c->win[i].w->t1)
            return true;
    return false;
}

static bool known(const struct jm_request *q)
{
    return q->prompt_tokens >= 0 && q->output_tokens > 0;
}

static struct jm_length_cell *cell_of(struct jm_length_map *m, const struct jm_request *q)
{
    return &m->cell[bin(m->osl, m->ny, (double)q->output_tokens) * m->nx +
                    bin(m->isl, m->nx, (double)q->prompt_tokens)];
}

int jm_lengths_make(struct jm_calc *c)
{
    size_t n, taken = 0;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {0, 0};
    int64_t unknown = 0;
    for (size_t i = 0; i < n; i++) {
        if (!counts(c, &q[i]))
            continue;
        if (!known(&q[i])) {
            unknown++;
            continue;
        }
        double v[2] = {(double)q[i].prompt_tokens, (double)q[i].output_tokens};
        for (int k = 0; k < 2; k++) {
            lo[k] = fmin(lo[k], v[k]);
            hi[k] = fmax(hi[k], v[k]);
        }
        taken++;
    }
    if (!taken)
        return 0;
    struct jm_length_map *m = jm_report_alloc(c->r, sizeof *m);
    double *edge = jm_report_alloc(c->r, 2 * (JM_LENGTH_BINS + 1) * sizeof *edge);
    if (!m || !edge)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the lengths");
    m->isl = edge;
    m->osl = edge + JM_LENGTH_BINS + 1;
    m->nx = edges(lo[0], hi[0], edge);
    m->ny = edges(lo[1], hi[1], edge + JM_LENGTH_BINS + 1);
    m->unknown = unknown;
    m->cell = jm_report_alloc(c->r, m->nx * m->ny * sizeof *m->cell);
    if (!m->cell)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the lengths");
    for (size_t i = 0; i < n; i++)
        if (counts(c, &q[i]) && known(&q[i]))
            cell_of(m, &q[i])->n++;
    const struct jm_phases *p = c->r->phases;
    for (size_t i = 0; p && !p->why && i < p->n_requests; i++) {
        const struct jm_request_energy *e = &p->request[i];
        if (!e->ended || !isfinite(e->joules) || e->request >= n || !known(&q[e->request]) ||
            !counts(c, &q[e->request]))
            continue;
        struct jm_length_cell *k = cell_of(m, &q[e->request]);
        k->n_energy++;
        k->joules += e->joules;
        k->tokens += (double)q[e->request].output_tokens;
    }
    c->r->lengths = m;
    return 0;
}
