/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/phase_start.h"

#include "base/banned.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double allocate_quantile(double *v, size_t n, double q)
{
    if (!n)
        return NAN;
    qsort(v, n, sizeof *v, by_value);
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

/* Joules between the refreshes of the first counter of the pool (-1: of both), those of others interpolated.
 */
static struct jm_phase *cells(const struct batching *b, int pool)
{
    const struct batching_counter *first = NULL;
    struct jm_phase *p = NULL;
    struct jm_err err = {0};
    for (size_t i = 0; i < b->n_counters && !first; i++)
        if (pool < 0 || b->counter[i].pool == pool)
            first = &b->counter[i];
    if (!first || first->n < 3)
        return NULL;
    size_t n = first->n - 2; /* others may begin a little later */
    double *t = malloc((n + 1) * sizeof *t), *sum = calloc(n + 1, sizeof *sum);
    for (size_t k = 0; t && sum && k <= n; k++)
        t[k] = first->t[k + 1];
    for (size_t i = 0; t && sum && i < b->n_counters; i++) {
        const struct batching_counter *c = &b->counter[i];
        size_t at = 0;
        if (pool >= 0 && c->pool != pool)
            continue;
        for (size_t k = 0; k <= n; k++) {
            while (at + 2 < c->n && c->t[at + 1] <= t[k])
                at++;
            double f = (t[k] - c->t[at]) / (c->t[at + 1] - c->t[at]);
            sum[k] += ((double)c->mj[at] + f * (double)(c->mj[at + 1] - c->mj[at])) / 1e3;
        }
    }
    for (size_t k = 0; t && sum && k < n; k++)
        sum[k] = sum[k + 1] - sum[k];
    if (t && sum)
        jm_phase_new(t, sum, n, &p, &err);
    free(t);
    free(sum);
    return p;
}

static int steps(const struct batching *b, struct jm_phase *p, struct jm_err *err)
{
    double *v = malloc(2 * b->n_scrapes * sizeof *v);
    if (!v)
        return JM_ENOMEM;
    for (size_t i = 0; i < b->n_scrapes; i++) {
        v[i] = b->scrape[i].t;
        v[b->n_scrapes + i] = b->scrape[i].steps;
    }
    int rc = jm_phase_steps(p, v, v + b->n_scrapes, b->n_scrapes, err);
    free(v);
    return rc;
}

/* phase: 0 all of it, 1 prefill, 2 decode. */
static int requests(const struct batching *b, const struct allocate_opts *o, struct jm_phase *p, int phase,
                    struct jm_err *err)
{
    struct jm_phase_token *tok = NULL;
    struct jm_phase_engine e = {0};
    double *v = malloc(4 * b->n_scrapes * sizeof *v);
    int rc = v ? 0 : JM_ENOMEM;
    size_t most = 1, n = b->n_scrapes;
    for (size_t k = 0; k < b->n_requests; k++)
        most = b->request[k].events > most ? b->request[k].events : most;
    if (!rc && !(tok = malloc(most * sizeof *tok)))
        rc = JM_ENOMEM;
    for (size_t i = 0; !rc && i < n; i++) {
        v[i] = b->scrape[i].t;
        v[n + i] = b->scrape[i].prefill_s;
        v[2 * n + i] = b->scrape[i].queue_s;
        v[3 * n + i] = b->scrape[i].prompt;
    }
    if (!rc && !o->no_queue)
        e = (struct jm_phase_engine){v, v + n, v + 2 * n, v + 3 * n, n};
    for (size_t k = 0; !rc && k < b->n_requests; k++) {
        const struct batching_request *q = &b->request[k];
        double start = jm_phase_start(&e, q->sent, q->first, q->prompt - q->cached);
        struct jm_phase_request r = {.start = phase == 2 ? q->first : start,
                                     .first = q->first,
                                     .last = phase == 1 ? q->first : q->last,
                                     .prefill = phase == 2 ? 0 : q->prompt - q->cached,
                                     .context = q->prompt,
                                     .each = 1};
        size_t m = 0;
        for (size_t i = 1; phase != 1 && i < q->events; i++)
            tok[m++] = (struct jm_phase_token){b->event[q->event + i], 1};
        rc = jm_phase_add(p, &r, tok, m, err);
    }
    free(tok);
    free(v);
    return rc;
}

static int solve(const struct batching *b, const struct allocate_opts *o, struct jm_phase *p, double idle_w,
                 enum allocate_method m, struct jm_phase_fit *fit, struct jm_err *err)
{
    struct jm_phase_opts po = {.idle_w = idle_w * (o->idle > 0 ? o->idle : 1),
                               .seed = 1,
                               .shift_s = 0.1,
                               .free_idle = m == ALLOCATE_FREE,
                               .only_time = m != ALLOCATE_FREE && m != ALLOCATE_D2};
    size_t n = jm_phase_cell(p, b->end - 1);
    unsigned char *use = calloc(n + 4096, 1);
    if (!use)
        return JM_ENOMEM;
    /* as in a run: the load's window, and the bursts where there were any */
    for (size_t i = jm_phase_cell(p, b->from); i < n && i < jm_phase_cell(p, b->to); i++)
        use[i] = 1;
    for (int k = 0; k < 2; k++)
        for (size_t i = jm_phase_cell(p, b->burst[k][0]);
             b->burst[k][1] > 0 && i < jm_phase_cell(p, b->burst[k][1]); i++)
            use[i] = (unsigned char)(JM_PHASE_BURST + k);
    po.use = use;
    int rc = jm_phase_solve(p, &po, fit, err);
    free(use);
    return rc;
}

int allocate(const struct batching *b, const struct allocate_opts *o, enum allocate_method m,
             struct allocate_result *out)
{
    bool pools = b->pool_joules[1] > 0 && !o->summed;
    struct jm_err err = {0};
    double *joules = calloc(b->n_requests + 1, sizeof *joules), prefill = 0, all = 0, tokens = 0, input = 0,
           total = 0, mp = 0, md = 0, tp = 0, ta = 0, tmp = 0, tmd = 0, sum = 0;
    int64_t shown = 0, counted = 0;
    int rc = joules ? 0 : JM_ENOMEM;
    memset(out, 0, sizeof *out);
    for (int k = 0; !rc && k < (pools ? 2 : 1); k++) {
        struct jm_phase *p = cells(b, pools ? k : -1);
        double idle = 0, whole = 0;
        struct jm_phase_part part;
        rc = p ? requests(b, o, p, pools ? k + 1 : 0, &err) : JM_ENOMEM;
        if (!rc && !o->no_steps && !pools)
            rc = steps(b, p, &err);
        if (!rc)
            rc = solve(b, o, p, pools ? b->idle_w[k] : b->idle_w[0] + b->idle_w[1], m, &out->fit[k], &err);
        size_t n = p ? jm_phase_cell(p, b->end - 0.3) : 0;
        for (size_t i = 0; !rc && i < b->n_requests; i++) {
            jm_phase_of(p, i, 0, n, &part);
            joules[i] += part.prefill + part.decode;
            prefill += part.prefill;
            all += part.prefill + part.decode;
            mp += part.marginal_prefill;
            md += part.marginal_decode;
            sum += part.prefill;
            int64_t before = shown; /* rounded so that sums are those of what is shown */
            shown += llround(sum * 1e3) - before;
            before = shown;
            sum += part.decode;
            shown += llround(sum * 1e3) - before;
        }
        if (!rc)
            jm_phase_cells(p, 0, n, &part, &idle, &whole);
        sum += idle;
        total += whole;
        shown = llround(sum * 1e3);
        counted = llround(total * 1e3);
        jm_phase_free(p);
    }
    out->closure_mj = shown - counted;
    for (size_t i = 0; i < b->n_requests; i++) {
        input += b->request[i].prompt;
        tokens += b->request[i].output;
        tp += b->request[i].prefill;
        ta += b->request[i].joules;
        tmp += b->request[i].marginal_prefill;
        tmd += b->request[i].marginal_decode;
    }
    out->truth = tp / ta;
    out->share = m == ALLOCATE_TOKEN ? 0 : m == ALLOCATE_EQUAL ? input / (input + tokens) : prefill / all;
    out->net = mp / (mp + md);
    out->net_truth = tmp / (tmp + tmd);
    out->error = malloc((b->n_requests + 1) * sizeof *out->error);
    rc = rc ? rc : out->error ? 0 : JM_ENOMEM;
    for (size_t i = 0; !rc && i < b->n_requests; i++) {
        const struct batching_request *q = &b->request[i];
        double e = m == ALLOCATE_TOKEN   ? all * q->output / tokens
                   : m == ALLOCATE_EQUAL ? all * (q->output + q->prompt) / (tokens + input)
                                         : joules[i];
        if (!q->burst)
            out->error[out->n++] = fabs(e / q->joules - 1);
    }
    if (!rc) {
        out->median = allocate_quantile(out->error, out->n, 0.5);
        out->p90 = allocate_quantile(out->error, out->n, 0.9);
    }
    free(joules);
    return rc;
}
