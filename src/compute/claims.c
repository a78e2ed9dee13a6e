/* SPDX-License-Identifier: Apache-2.0 */
/* What an imported file states about itself, beside what the very same code that computes own runs makes of
 * its requests. A statement about which nothing can be computed is a result of provenance "declared", or
 * "estimated" where its source says so. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/stats.h"
#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

#define SAME_REL 0.005 /* half a per cent: other rounding, other interpolation of quantiles */

/* Factor from a unit that files use to the metric's own. NAN: not known. */
static double factor(const char *from, const char *to)
{
    static const struct {
        const char *from, *to;
        double f;
    } units[] = {{"ms", "s", 1e-3},
                 {"us", "s", 1e-6},
                 {"ns", "s", 1e-9},
                 {"s", "s", 1},
                 {"min", "s", 60},
                 {"mJ", "J", 1e-3},
                 {"uJ", "J", 1e-6},
                 {"uJ/inf.", "J/request", 1e-6},
                 {"kJ", "J", 1e3},
                 {"MJ", "J", 1e6},
                 {"Wh", "J", 3600},
                 {"kWh", "J", 3.6e6},
                 {"Wh/request", "J/request", 3600},
                 {"Wh/1000 requests", "J/request", 3.6},
                 {"kWh/1000 requests", "J/request", 3600},
                 {"kW", "W", 1e3},
                 {"mW", "W", 1e-3},
                 {"mJ/token", "J/token", 1e-3},
                 {"mJ/request", "J/request", 1e-3},
                 {"%", "ratio", 1e-2},
                 {"requests/min", "requests/s", 1.0 / 60},
                 {"requests/sec", "requests/s", 1},
                 {"tokens/sec", "tokens/s", 1},
                 {"joules", "J", 1},
                 {"sec", "s", 1},
                 {"joules/request", "J/request", 1},
                 {"watts", "W", 1},
                 {"requests", "", 1},
                 {"count", "", 1},
                 {"per sec", "requests/s", 1},
                 {"per sec", "tokens/s", 1}};
    if (strcmp(from, to) == 0)
        return 1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].from, from) == 0 && strcmp(units[i].to, to) == 0)
            return units[i].f;
    return NAN;
}

/* Units of what is no row of the catalogue. */
static const char *plain_unit(const char *metric)
{
    static const char *const table[][2] = {{"duration", "s"},
                                           {"energy.duration", "s"},
                                           {"requests.all", ""},
                                           {"requests.ok", ""},
                                           {"requests.failed", ""},
                                           {"tokens.input", "tokens"},
                                           {"tokens.output", "tokens"},
                                           {"tokens.cached", "tokens"},
                                           {"tokens.retokenized", "tokens"},
                                           {"tokens.total_per_s", "tokens/s"},
                                           {"tokens.input_per_s", "tokens/s"},
                                           {"isl", "tokens"},
                                           {"osl", "tokens"},
                                           {"concurrency", ""}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i][0], metric) == 0)
            return table[i][1];
    return NULL;
}

/* Quantile of "p99.9"; NAN for other words. */
static double quantile_of(const char *stat)
{
    double q;
    if (stat[0] != 'p' || jm_num_double(jm_span_of(stat + 1), &q) || !(q >= 0) || q > 100)
        return NAN;
    return rint(q * 1e7) / 1e9; /* 0.999, which 99.9 / 100 is not */
}

/* A statistic of sorted values. Tools differ in the quantile's definition and in the divisor of the standard
 * deviation: of the usual ones the nearest to what the file says is taken. */
static double stat_of(const double *v, size_t n, const char *stat, double claimed)
{
    double q = quantile_of(stat);
    if (!n)
        return NAN;
    if (isfinite(q)) {
        double linear = jm_stats_quantile_sorted(v, n, q), rank = ceil(q * (double)n);
        double nearest = v[rank < 1 ? 0 : rank > (double)n ? n - 1 : (size_t)rank - 1];
        return fabs(nearest - claimed) < fabs(linear - claimed) ? nearest : linear;
    }
    if (strcmp(stat, "mean") == 0)
        return jm_stats_mean(v, n);
    if (strcmp(stat, "min") == 0)
        return v[0];
    if (strcmp(stat, "max") == 0)
        return v[n - 1];
    if (strcmp(stat, "count") == 0)
        return (double)n;
    double mean = jm_stats_mean(v, n), sum = 0, ss = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i];
        ss += (v[i] - mean) * (v[i] - mean);
    }
    if (strcmp(stat, "sum") == 0)
        return sum;
    if (strcmp(stat, "std") != 0)
        return NAN;
    double all = sqrt(ss / (double)n), less = n > 1 ? sqrt(ss / (double)(n - 1)) : all;
    return fabs(less - claimed) < fabs(all - claimed) ? less : all;
}

static double of_gaps(const struct jm_acc *a, const char *stat)
{
    double q = quantile_of(stat);
    if (isfinite(q))
        return jm_acc_quantile(a, q, JM_Q_LINEAR);
    if (strcmp(stat, "mean") == 0)
        return jm_acc_mean(a);
    return strcmp(stat, "count") == 0 && a->weight > 0 ? a->weight : NAN;
}

/* Spans and totals over the requests that a claim can be about. */
static double of_tally(const struct jm_calc_window *w, const struct jm_claim *k, bool *known)
{
    const struct jm_tally *t = &w->tally;
    const char *m = k->metric;
    double bad = (double)(t->done_failed + t->done_aborted);
    *known = true;
    if (strcmp(m, "requests.ok") == 0)
        return (double)t->done_ok;
    if (strcmp(m, "requests.failed") == 0)
        return bad;
    if (strcmp(m, "requests.all") == 0)
        return (double)t->done_ok + bad;
    if (strcmp(m, "tokens.output") == 0)
        return t->unknown_output ? NAN : t->output;
    if (strcmp(m, "tokens.input") == 0)
        return t->unknown_input ? NAN : t->input;
    if (strcmp(m, "tokens.cached") == 0)
        return t->unknown_cached ? NAN : t->cached;
    if (strcmp(m, "tokens.total_per_s") == 0)
        return t->unknown_output || t->unknown_input ? NAN : (t->output + t->input) / w->seconds;
    if (strcmp(m, "tokens.input_per_s") == 0)
        return t->unknown_input ? NAN : t->input / w->seconds;
    *known = false;
    return NAN;
}

static double of_lengths(const struct jm_samples *s, const char *stat, double claimed)
{
    double *v = s->n ? malloc(s->n * sizeof *v) : NULL, x;
    if (!v)
        return NAN;
    memcpy(v, s->v, s->n * sizeof *v);
    jm_stats_sort(v, s->n);
    x = stat_of(v, s->n, stat, claimed);
    free(v);
    return x;
}

/* The results of each window as a chain, so that a file of many windows is looked through once, not once a
 * claim. By window + 1: first and last; by result: the next one. Places are index + 1, 0 ends. */
struct chains {
    size_t windows, *first, *last, *next, cap, done;
};

static void chains_release(struct chains *h)
{
    free(h->first);
    free(h->last);
    free(h->next);
}

/* Takes in the results that came since. */
static int chains_grow(struct chains *h, const struct jm_report *r, struct jm_err *err)
{
    if (!h->first) {
        h->windows = r->n_windows + 1;
        h->first = calloc(h->windows, sizeof *h->first);
        h->last = calloc(h->windows, sizeof *h->last);
        if (!h->first || !h->last)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the claims");
    }
    if (h->cap < r->n_results) {
        size_t cap = 2 * r->n_results;
        size_t *next = realloc(h->next, cap * sizeof *next);
        if (!next)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the claims");
        h->next = next;
        h->cap = cap;
    }
    for (; h->done < r->n_results; h->done++) {
        int window = r->results[h->done].window;
        size_t at = window < 0 ? 0 : (size_t)window + 1;
        h->next[h->done] = 0;
        if (at >= h->windows)
            continue;
        *(h->last[at] ? &h->next[h->last[at] - 1] : &h->first[at]) = h->done + 1;
        h->last[at] = h->done + 1;
    }
    return 0;
}

/* A result of ours about the same thing. */
static double of_results(const struct jm_report *r, const struct chains *h, const struct jm_claim *k,
                         bool energy_only)
{
    double q = quantile_of(k->stat);
    bool whole = !k->stat[0] || strcmp(k->stat, "mean") == 0 || strcmp(k->stat, "sum") == 0;
    size_t at = k->window < 0 ? 0 : (size_t)k->window + 1;
    if ((!whole && !isfinite(q)) || at >= h->windows)
        return NAN;
    for (size_t i = h->first[at]; i; i = h->next[i - 1]) {
        const struct jm_result *x = &r->results[i - 1];
        if (energy_only &&
            x->q.boundary == JM_B_NONE) /* rates of a window without requests are 0, and no answer */
            continue;
        if (x->q.have && x->window == k->window && x->q.boundary == k->boundary &&
            strcmp(x->metric, k->metric) == 0 && (isnan(q) ? isnan(x->quantile) : x->quantile == q))
            return x->q.value;
    }
    return NAN;
}

static double compute_again(struct jm_calc *c, const struct chains *h, const struct jm_calc_window *w,
                            const struct jm_claim *k)
{
    bool known;
    int l = jm_lat_find(k->metric);
    const struct jm_tally *t = w ? &w->tally : NULL;
    if (!w || !c->r->has_requests || t->done_ok + t->done_failed + t->done_aborted + t->scheduled == 0)
        return of_results(c->r, h, k, true);
    if (l >= 0)
        return stat_of(jm_calc_lat(w, (enum jm_lat)l)->v, jm_calc_lat(w, (enum jm_lat)l)->n, k->stat,
                       k->claimed);
    for (int g = 0; g < JM_GAP_COUNT; g++)
        if (strcmp(k->metric, jm_gap_ids[g]) == 0)
            return of_gaps(&w->gap[g], k->stat);
    if (strcmp(k->metric, "isl") == 0)
        return of_lengths(&w->tally.isl, k->stat, k->claimed);
    if (strcmp(k->metric, "osl") == 0)
        return of_lengths(&w->tally.osl, k->stat, k->claimed);
    double v = of_tally(w, k, &known);
    return known ? v : of_results(c->r, h, k, false);
}

/* Files round: two digits behind the point are common, and 100 x the value is a whole number then. */
static double slack(const struct jm_claim *k)
{
    double f = k->value != 0 ? fabs(k->claimed / k->value) : 1, hundred = k->value * 100;
    double rel = strcmp(k->metric, "itl.chunk") == 0 ? 0.017 : SAME_REL; /* our buckets are 1.6 % wide */
    double digits = fabs(hundred - round(hundred)) < 1e-6 && k->value != round(k->value) ? 0.0051 * f : 0;
    return fmax(rel * fabs(k->claimed), digits);
}

/* A claim about which we can say nothing is a declared result of its own. An energy without a boundary is
 * none. */
static int declare(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_claim *k)
{
    const struct jm_metric *m = jm_metric_find(k->metric);
    double q = quantile_of(k->stat);
    bool one = isfinite(q) || strcmp(k->stat, "mean") == 0 || strcmp(k->stat, "sum") == 0 || !k->stat[0];
    if (!m || !w || !one || !isfinite(k->claimed) || (m->energy && k->boundary == JM_B_NONE) ||
        w->w->role != JM_R_MEASURE)
        return 0;
    struct jm_result *x = jm_calc_result(c, w, k->metric, NULL);
    if (!x)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the claims");
    x->q.have = true;
    x->q.value = k->claimed;
    x->q.boundary = k->boundary;
    bool model = jm_span_starts(jm_span_of(k->source), JM_SPAN("estimate: "));
    x->q.provenance = model ? JM_P_ESTIMATED : JM_P_DECLARED;
    x->q.u.excludes = "the file states it without one";
    x->quantile = q;
    x->instrument = k->source[0] ? k->source : "as the file says";
    if (k->boundary != JM_B_NONE)
        x->set =
            jm_report_text(c->r, "%s (%s)", jm_boundary_name(k->boundary), model ? "estimated" : "declared");
    return 0;
}

static int one(struct jm_calc *c, struct chains *h, const struct jm_run_claim *from, struct jm_claim *k)
{
    const struct jm_metric *m = from->metric[0] ? jm_metric_find(from->metric) : NULL;
    const char *unit = m ? m->unit : plain_unit(from->metric);
    int b = from->boundary[0] ? jm_boundary_parse(jm_span_of(from->boundary)) : JM_B_NONE;
    *k = (struct jm_claim){.key = from->key,
                           .metric = from->metric,
                           .stat = from->stat,
                           .unit = from->unit,
                           .source = from->source,
                           .boundary = b < 0 ? JM_B_NONE : (enum jm_boundary)b,
                           .window = from->window,
                           .value = from->value,
                           .claimed = NAN,
                           .again = NAN};
    const struct jm_calc_window *w = jm_windows_of(c, from->window);
    if (unit) {
        double f = strcmp(from->stat, "count") == 0 ? 1 : factor(from->unit, unit);
        k->claimed = from->value * f;
    }
    if (!isfinite(from->value))
        k->why = "the file has the key without a number";
    if (!isfinite(k->claimed))
        return 0;
    int rc = chains_grow(h, c->r, c->err);
    if (rc)
        return rc;
    k->again = compute_again(c, h, w, k);
    if (isnan(k->again)) {
        k->why = c->r->has_requests ? "the requests of the file do not hold what it rests on"
                                    : "the file holds no requests";
        return declare(c, w, k);
    }
    k->differs = fabs(k->again - k->claimed) > slack(k);
    if (k->differs)
        k->why = k->source[0] ? k->source : "how the tool comes to it is not known";
    return 0;
}

/* 0: the whole file. A claim about a window that is not there is refused when the run is read. */
static size_t place(const struct jm_report *r, size_t claim)
{
    int w = r->claims[claim].window;
    return w < 0 || (size_t)w >= r->n_windows ? 0 : (size_t)w + 1;
}

/* By counting: as many places a window as it has claims. */
static int order(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    size_t *at = calloc(r->n_windows + 2, sizeof *at);
    if (!at)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the claims");
    for (size_t i = 0; i < r->n_claims; i++)
        at[place(r, i) + 1]++;
    for (size_t i = 1; i < r->n_windows + 2; i++)
        at[i] += at[i - 1];
    for (size_t i = 0; i < r->n_claims; i++)
        r->claim_order[at[place(r, i)]++] = i;
    free(at);
    return 0;
}

int jm_claims_make(struct jm_calc *c)
{
    size_t n;
    const struct jm_run_claim *from = jm_run_claims(c->run, &n);
    struct chains h = {0};
    int rc = 0;
    if (!n)
        return 0;
    if (!(c->r->claims = jm_report_alloc(c->r, n * sizeof *c->r->claims)) ||
        !(c->r->claim_order = jm_report_alloc(c->r, n * sizeof *c->r->claim_order)))
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for %zu claims", n);
    for (size_t i = 0; !rc && i < n; i++)
        rc = one(c, &h, &from[i], &c->r->claims[i]);
    chains_release(&h);
    if (rc)
        return rc;
    c->r->n_claims = n;
    return order(c);
}
