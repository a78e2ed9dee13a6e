/* SPDX-License-Identifier: Apache-2.0 */
/* One side of a comparison: its trials, its requests, its answers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "compute/calc.h"
#include "compute/compare_impl.h"
#include "compute/observe.h"

#include "base/banned.h"

int jm_cmp_memory(struct jm_cmp *x)
{
    return jm_err_set(x->err, JM_ENOMEM, "out of memory for the comparison");
}

static bool measured(const struct jm_report *r, const struct jm_result *x)
{
    return x->window >= 0 && (size_t)x->window < r->n_windows && r->windows[x->window].role == JM_R_MEASURE;
}

static bool same_quantile(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : fabs(a - b) < 1e-9;
}

static bool is(const struct jm_report *r, const struct jm_result *x, const char *metric, enum jm_boundary b)
{
    return measured(r, x) && strcmp(x->metric, metric) == 0 && x->q.boundary == b;
}

double jm_cmp_value(const struct jm_compare_run *run, int trial, const char *metric, enum jm_boundary b,
                    double quantile, const char *slice, double *energy, double *work)
{
    const struct jm_report *r = run->report;
    double num = 0, den = 0, only = NAN;
    int n = 0, last = -1;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (!is(r, x, metric, b) || r->windows[x->window].trial != trial ||
            !same_quantile(x->quantile, quantile) || (slice && (!x->slice || strcmp(x->slice, slice) != 0)))
            continue;
        if (x->window == last) /* the measured row comes first, an estimate beside it after it */
            continue;
        last = x->window;
        if (!x->q.have || !isfinite(x->q.value) || x->have_of != x->of)
            return NAN;
        only = x->q.value;
        num += x->numerator;
        den += x->denominator;
        n++;
    }
    if (energy)
        *energy = num;
    if (work)
        *work = den;
    if (!n)
        return NAN;
    return n == 1 ? only : den > 0 ? num / den : NAN;
}

const struct jm_result *jm_cmp_row(const struct jm_compare_run *run, const char *unit, enum jm_boundary b)
{
    const struct jm_report *r = run->report;
    const struct jm_result *any = NULL;
    for (size_t i = 0; i < r->n_results; i++)
        if (is(r, &r->results[i], unit, b)) {
            if (r->results[i].q.have)
                return &r->results[i];
            any = any ? any : &r->results[i];
        }
    return any;
}

bool jm_cmp_has(const struct jm_compare_side_in *s, const char *unit, enum jm_boundary b)
{
    for (size_t i = 0; i < s->n_run; i++) {
        const struct jm_result *x = jm_cmp_row(&s->run[i], unit, b);
        if (x && x->q.have)
            return true;
    }
    return false;
}

/* GPUs that do not serve are in what all sensors of the host own. */
static bool others(const struct jm_compare_side_in *s)
{
    for (size_t i = 0; i < s->n_run; i++)
        if (jm_report_find(s->run[i].report, "energy.other_gpus", JM_B_NONE, -2))
            return true;
    return false;
}

enum jm_boundary jm_cmp_boundary(const struct jm_cmp *x, size_t n)
{
    static const enum jm_boundary order[] = {JM_B_WALL, JM_B_NODE, JM_B_DEVICE, JM_B_GPU};
    for (size_t i = 0; i < 4; i++) {
        bool all = true;
        for (size_t k = 0; all && k < n; k++)
            all = jm_cmp_has(&x->in[k], x->c->unit, order[i]) &&
                  !(order[i] == JM_B_DEVICE && others(&x->in[k]) &&
                    jm_cmp_has(&x->in[k], x->c->unit, JM_B_GPU));
        if (all)
            return order[i];
    }
    return JM_B_NONE;
}

int jm_cmp_by_time(const void *a, const void *b)
{
    const struct jm_compare_trial *p = a, *q = b;
    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    if (p->run != q->run)
        return p->run < q->run ? -1 : 1;
    return (p->trial > q->trial) - (p->trial < q->trial);
}

/* Reasons are told once each: "no-tokens, gap". */
static int add_reasons(struct jm_cmp *x, const char **to, const char *reasons)
{
    struct jm_span rest = jm_span_of(reasons), one;
    while (jm_span_field(&rest, ',', &one)) {
        one = jm_span_trim(one);
        if (!one.n || jm_span_is(one, "trials.few") || (*to && jm_span_find(jm_span_of(*to), one) >= 0))
            continue; /* pairs are counted here, over all files of the side */
        *to = *to ? JM_CMP_TEXT(x, "%s, %.*s", *to, (int)one.n, one.p)
                  : JM_CMP_TEXT(x, "%.*s", (int)one.n, one.p);
        if (!*to)
            return jm_cmp_memory(x);
    }
    return 0;
}

static int judge_rows(struct jm_cmp *x, struct jm_compare_side *s, const struct jm_compare_run *run)
{
    const struct jm_report *r = run->report;
    int rc = 0, last = -1;
    for (size_t i = 0; !rc && i < r->n_results; i++) {
        const struct jm_result *y = &r->results[i];
        if (!is(r, y, x->c->unit, x->c->boundary) || y->window == last)
            continue;
        last = y->window;
        if (y->q.validity == JM_V_INVALID)
            rc = add_reasons(x, &s->invalid, y->q.reasons);
        if (!rc && y->q.have && (y->q.provenance == JM_P_ESTIMATED || y->q.provenance == JM_P_DECLARED))
            rc = add_reasons(x, &s->invalid, "estimated and not measured");
        if (!rc && !y->q.have)
            rc = add_reasons(x, &s->no_value, y->q.reasons ? y->q.reasons : "no value");
        if (!rc && y->q.have && y->have_of != y->of)
            rc = add_reasons(x, &s->no_value, y->q.reasons ? y->q.reasons : "some devices have no value");
    }
    return rc;
}

static int trials(struct jm_cmp *x, struct jm_compare_side *s, size_t at)
{
    const struct jm_compare_run *run = &x->in[(size_t)(s - x->c->side)].run[at];
    const struct jm_report *r = run->report;
    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jm_window *w = &r->windows[i];
        bool seen = false;
        if (w->role != JM_R_MEASURE)
            continue;
        for (size_t k = 0; k < s->n_trial; k++) {
            struct jm_compare_trial *t = &s->trial[k];
            if (t->run == at && t->trial == w->trial) {
                seen = true;
                t->seconds += jm_seconds_between(w->t1, w->t0);
            }
        }
        if (seen)
            continue;
        struct jm_compare_trial *t = &s->trial[s->n_trial++];
        *t = (struct jm_compare_trial){.run = at, .trial = w->trial, .at = INT64_MIN};
        t->value = jm_cmp_value(run, w->trial, x->c->unit, x->c->boundary, NAN, NULL, &t->energy, &t->work);
        t->seconds = jm_seconds_between(w->t1, w->t0);
        if (!jm_run_to_real(run->run, w->t0, &t->at))
            t->at = INT64_MIN;
        if (!(t->value > 0) || !isfinite(t->value))
            t->value = NAN;
        s->n_value += isfinite(t->value);
    }
    return judge_rows(x, s, run);
}

/* --- requests */
static bool in_window(const struct jm_report *r, int64_t t)
{
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE && t >= r->windows[i].t0 && t < r->windows[i].t1)
            return true;
    return false;
}

static void add(struct jm_side_sums *s, int which, int64_t v)
{
    if (v < 0)
        return;
    s->n[which]++;
    s->sum[which] += (double)v;
    s->sum2[which] += (double)v * (double)v;
}

static void one_request(struct jm_cmp *x, struct jm_compare_side *s, struct jm_side_sums *u,
                        const struct jm_request *q, struct jm_samples *score, int *rc)
{
    const struct jm_contract *c = x->o->contract;
    bool ok = q->end == JM_END_OK;
    s->requests++;
    s->failed += !ok;
    if (q->output_tokens > 0)
        *(ok ? &s->tokens : &s->tokens_lost) += (double)q->output_tokens;
    for (size_t i = 0; c && i < c->n_slo; i++) {
        const struct jm_contract_slo *o = &c->slo[i];
        struct jm_slo slo = {o->ttft ? (double)o->ttft / 1e9 : NAN, o->tpot ? (double)o->tpot / 1e9 : NAN,
                             o->e2e ? (double)o->e2e / 1e9 : NAN};
        if (o->slice && strcmp(o->slice, q->slice) != 0)
            continue;
        s->slo[i].n++;
        s->slo[i].k += jm_request_qualifies(q, &slo);
    }
    if (isfinite(q->quality) && ok)
        *rc = jm_samples_add(score, q->quality);
    if (!ok)
        return;
    add(u, 0, q->prompt_tokens);
    add(u, 1, q->output_tokens);
    u->by_source[q->token_source >= 0 && q->token_source < 4 ? q->token_source : 0]++;
    if (q->finish[0]) {
        u->stopped++;
        u->length += strcmp(q->finish, "length") == 0;
    }
    if (q->cached_tokens >= 0 && q->prompt_tokens > 0) {
        u->cached += (double)q->cached_tokens;
        u->prompt += (double)q->prompt_tokens;
    }
}

static int requests(struct jm_cmp *x, struct jm_compare_side *s, struct jm_side_sums *u,
                    const struct jm_compare_run *run, struct jm_samples *score)
{
    size_t n;
    int64_t bare;
    int rc = jm_run_requests_check(run->run, x->err);
    if (rc)
        return rc;
    const struct jm_request *q = jm_run_requests(run->run, &n);
    for (size_t i = 0; !rc && i < n; i++) {
        int64_t t = q[i].t[JM_T_SCHEDULED] >= 0 ? q[i].t[JM_T_SCHEDULED] : jm_request_start(&q[i]);
        if (!in_window(run->report, t))
            continue;
        if (q[i].planned_abort)
            u->cancelled++;
        else
            one_request(x, s, u, &q[i], score, &rc);
    }
    const char *text = jm_run_env(run->run, "load.unsent.bare");
    if (text && jm_num_i64(jm_span_of(text), &bare) == 0 && bare > 0) {
        s->unsent += (uint64_t)bare;
        s->requests += (uint64_t)bare;
        s->failed += (uint64_t)bare;
    }
    return rc ? jm_cmp_memory(x) : 0;
}

static void quality(struct jm_compare_side *s, const double *v, size_t n)
{
    s->n_quality = n;
    s->quality = n ? jm_stats_mean(v, n) : NAN;
    s->quality_se = n >= 2 ? jm_stats_sd(v, n) / sqrt((double)n) : NAN;
    s->quality_dof = (double)n - 1;
}

int jm_cmp_side(struct jm_cmp *x, size_t at)
{
    const struct jm_compare_side_in *in = &x->in[at];
    struct jm_compare_side *s = &x->c->side[at];
    struct jm_samples score = {0};
    size_t most = 0;
    int rc = 0;
    s->name = in->name;
    s->runs = in->n_run;
    for (size_t i = 0; i < in->n_run; i++) {
        most += in->run[i].report->n_windows;
        x->c->simulated |= in->run[i].report->simulated;
        s->simulated |= in->run[i].report->simulated;
    }
    if (!(s->trial = jm_report_alloc(x->mem, (most + 1) * sizeof *s->trial)))
        return jm_cmp_memory(x);
    for (size_t i = 0; !rc && i < in->n_run; i++) {
        const struct jm_result *row = jm_cmp_row(&in->run[i], x->c->unit, x->c->boundary);
        if (row && !s->set) {
            s->set = row->set;
            s->instrument = row->instrument;
        }
        rc = trials(x, s, i);
        if (!rc)
            rc = requests(x, s, &x->sums[at], &in->run[i], &score);
    }
    qsort(s->trial, s->n_trial, sizeof *s->trial, jm_cmp_by_time);
    double level = x->c->decide.level;
    jm_stats_clopper_pearson(s->failed, s->requests, level, &s->failed_share);
    for (size_t i = 0; i < JM_CONTRACT_SLOS; i++)
        jm_stats_clopper_pearson(s->slo[i].k, s->slo[i].n, level, &s->slo[i].bound);
    quality(s, in->score ? in->score : score.v, in->score ? in->n_score : score.n);
    free(score.v);
    return rc;
}
