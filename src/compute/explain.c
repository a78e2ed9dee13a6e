/* SPDX-License-Identifier: Apache-2.0 */
/* The run's requests through each tool's formula. One pass over the token events; samples are exact up to a
 * bound and go on as a histogram of 1.6 %. */
#include "compute/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/observe.h"

#include "base/banned.h"

struct row {
    const struct jm_peer_row *p;
    struct jm_acc of;
    double asked, good, tokens; /* requests of the row's set, those inside the contract, their tokens */
    int64_t missing;            /* requests of the set that ended without a count of tokens */
    bool tokens_unknown, no_quantiles;
};

struct pass {
    const struct jm_run *run;
    const struct jm_request *q;
    size_t n, at;
    const struct jm_slo *slo;
    unsigned char *seen;
    int *window; /* index into spans, -1: not taken */
    struct jm_spans *span;
    struct row *acc;
    size_t n_acc;
    struct jm_err *err;
};

/* --- requests ----------------------------------------------------------------------------------------- */

/* The server closed the stream in good order, but without an end mark: most tools take that for success. */
static bool silent_end(const struct jm_request *q)
{
    return q->end == JM_END_CUT && strncmp(q->error, "the stream ended without", 24) == 0;
}

static bool in_set(const struct jm_request *q, enum jm_peer_set set)
{
    bool soft = q->end == JM_END_OK || q->end == JM_END_ERROR_EVENT || q->end == JM_END_ABORTED ||
                q->end == JM_END_EMPTY || silent_end(q);
    switch (set) {
    case JM_PS_OK: return q->end == JM_END_OK;
    case JM_PS_CHUNK:
        return soft && (q->t[JM_T_FIRST_CHUNK] >= 0 || q->t[JM_T_FIRST_TOKEN] >= 0 ||
                        (q->end == JM_END_OK && !q->stream));
    case JM_PS_200: return soft;
    case JM_PS_ALL: return q->end != JM_END_UNFINISHED;
    }
    return false;
}

static int64_t tokens_of(const struct jm_request *q, enum jm_peer_tokens from)
{
    switch (from) {
    case JM_PT_REQUESTED: return q->asked_osl;
    case JM_PT_CHUNKS: return q->chunks >= 0 ? q->chunks : q->events;
    default: return q->output_tokens;
    }
}

struct gap_to {
    struct row *a;
    int rc;
};

static int put_gap(void *self, double ns, int64_t times)
{
    struct gap_to *g = self;
    return g->rc = jm_acc_add(&g->a->of, ns / 1e9, (double)times);
}

/* Inside the contract by the tool's own latencies? A missing one is not good. */
static bool good_by(const struct row *a, const struct jm_slo *slo, const struct jm_request *q,
                    const struct jm_token_event *ev, size_t n_ev)
{
    static const struct {
        const char *tool;
        enum jm_lat ttft, tpot, e2e;
        bool one_is_zero;
    } by[] = {{"vLLM", JM_LAT_TTFT_CHUNK, JM_LAT_TPOT_CHUNK, JM_LAT_E2E_CHUNK, true},
              {"inference-perf", JM_LAT_TTFO_SENT, JM_LAT_TPOT_VISIBLE, JM_LAT_E2E_CLOSED, false},
              {"AIPerf", JM_LAT_TTFT_SENT, JM_LAT_TPOT_EXCL, JM_LAT_E2E_SENT, false}};
    size_t k = 0;
    while (k + 1 < sizeof by / sizeof by[0] && strcmp(by[k].tool, a->p->tool) != 0)
        k++;
    int64_t n = q->output_tokens;
    if (!isnan(slo->ttft_s) && !(jm_request_measure(q, ev, n_ev, by[k].ttft, n) <= slo->ttft_s))
        return false;
    if (!isnan(slo->tpot_s) && !(by[k].one_is_zero && n >= 0 && n < 2) &&
        !(jm_request_measure(q, ev, n_ev, by[k].tpot, n) <= slo->tpot_s))
        return false;
    return isnan(slo->e2e_s) || jm_request_measure(q, ev, n_ev, by[k].e2e, n) <= slo->e2e_s;
}

static int one_row(struct row *a, const struct pass *p, const struct jm_request *q,
                   const struct jm_token_event *ev, size_t n_ev)
{
    const struct jm_peer_row *r = a->p;
    if (!in_set(q, r->set))
        return 0;
    int64_t n = tokens_of(q, r->tokens);
    a->asked++;
    if (n >= 0)
        a->tokens += (double)n;
    else if (r->tokens != JM_PT_NONE && q->end != JM_END_OK)
        a->missing++; /* failed inside the stream: the tool would have counted the text that came */
    else
        a->tokens_unknown |= r->tokens != JM_PT_NONE;
    if (r->kind == JM_PK_REQUEST) {
        if (r->visible && q->output_tokens >= 0 && q->output_tokens < 2)
            return 0;
        double v = jm_request_measure(q, ev, n_ev, (enum jm_lat)r->which, n);
        double w = !r->weighted ? 1 : r->which == JM_LAT_TPOT_INCL ? (double)n : (double)(n - 1);
        return jm_acc_add(&a->of, v, w);
    }
    if (r->kind == JM_PK_GOOD_RATE || r->kind == JM_PK_GOOD_SHARE)
        a->good += good_by(a, p->slo, q, ev, n_ev);
    if (r->kind != JM_PK_GAP)
        return 0;
    struct gap_to g = {a, 0};
    int rc = jm_request_gaps(q, ev, n_ev, (enum jm_gap)r->which, r->visible, n, put_gap, &g);
    if (g.rc)
        return g.rc;
    if (rc == JM_EABSENT && r->which == JM_GAP_ZERO) {
        /* which gaps are 0 is not known, but their mean is */
        double each = jm_request_measure(q, ev, n_ev, JM_LAT_TPOT_VISIBLE, n);
        if (!isnan(each)) {
            a->of.sum += each * (double)(n - 1);
            a->of.weight += (double)(n - 1);
            a->no_quantiles = true;
        }
    }
    return 0;
}

static int take(struct pass *p, size_t i, const struct jm_token_event *ev, size_t n)
{
    const struct jm_request *q = &p->q[i];
    struct jm_request guess;
    if (p->seen[i] || p->window[i] < 0)
        return 0;
    p->seen[i] = 1;
    if (q->token_source == JM_TOK_IMPORTED && q->t[JM_T_FIRST_VISIBLE] < 0 && q->reasoning_tokens <= 0) {
        guess = *q; /* a file that knows no reasoning: its tokens are text */
        guess.t[JM_T_FIRST_VISIBLE] = q->t[JM_T_FIRST_TOKEN];
        q = &guess;
    }
    for (size_t k = 0; k < p->n_acc; k++)
        if (one_row(&p->acc[k], p, q, ev, n))
            return jm_err_set(p->err, JM_ENOMEM, "out of memory for the numbers of other tools");
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct jm_request *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int on_events(void *self, int64_t id, const struct jm_token_event *ev, size_t n)
{
    struct pass *p = self;
    struct jm_request key = {.id = id};
    const struct jm_request *q = p->at + 1 < p->n && p->q[p->at + 1].id == id
                                     ? &p->q[p->at + 1]
                                     : bsearch(&key, p->q, p->n, sizeof *p->q, by_id);
    if (!q)
        return 0;
    p->at = (size_t)(q - p->q);
    return take(p, p->at, ev, n);
}

/* --- the run ------------------------------------------------------------------------------------------ */

/* The requests scheduled in a measured window; all where there is no such window. */
static int choose(struct pass *p, const struct jm_report *r, struct jm_explain *x)
{
    size_t n_win = 0;
    for (size_t i = 0; i < r->n_windows; i++)
        n_win += r->windows[i].role == JM_R_MEASURE && r->windows[i].t1 > r->windows[i].t0;
    p->span = calloc(n_win ? n_win : 1, sizeof *p->span);
    p->window = malloc((p->n ? p->n : 1) * sizeof *p->window);
    p->seen = calloc(p->n ? p->n : 1, 1);
    if (!p->span || !p->window || !p->seen)
        return jm_err_set(p->err, JM_ENOMEM, "out of memory for %zu requests", p->n);
    for (size_t k = 0; k < (n_win ? n_win : 1); k++)
        jm_spans_init(&p->span[k]);
    x->windows = (int)n_win;
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE && r->windows[i].t1 > r->windows[i].t0)
            x->seconds += jm_seconds_between(r->windows[i].t1, r->windows[i].t0);
    for (size_t i = 0; i < p->n; i++) {
        const struct jm_request *q = &p->q[i];
        int64_t at = q->t[JM_T_SCHEDULED] >= 0 ? q->t[JM_T_SCHEDULED] : jm_request_start(q);
        int in = n_win ? -1 : 0, k = 0;
        for (size_t w = 0; n_win && in < 0 && w < r->n_windows; w++) {
            if (r->windows[w].role != JM_R_MEASURE || r->windows[w].t1 <= r->windows[w].t0)
                continue;
            if (at >= r->windows[w].t0 && at < r->windows[w].t1)
                in = k;
            k++;
        }
        p->window[i] = in;
        if (in < 0)
            continue;
        jm_spans_add(&p->span[in], q, false);
        x->scheduled++;
        x->ok += q->end == JM_END_OK;
        x->failed += q->end != JM_END_OK && q->end != JM_END_UNFINISHED;
        x->planned += q->end == JM_END_ABORTED && q->planned_abort == 1;
    }
    return 0;
}

static double total_time(const struct pass *p, const struct jm_explain *x, int which)
{
    double s = 0;
    for (int k = 0; k < (x->windows ? x->windows : 1); k++)
        s += which == JM_PD_WALL   ? jm_spans_wall(&p->span[k])
             : which == JM_PD_SPAN ? jm_spans_all(&p->span[k])
                                   : jm_spans_success(&p->span[k]);
    return s;
}

/* Ours, as the report has it: over the measured windows together. */
static void from_report(const struct jm_report *r, const char *metric, struct jm_explain_row *out)
{
    double num = 0, den = 0;
    bool any = false;
    out->reason = "the run has no measured window";
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (strcmp(x->metric, metric) != 0 || x->window < 0 || x->slice ||
            r->windows[x->window].role != JM_R_MEASURE)
            continue;
        if (!x->q.have) {
            out->reason = x->q.reasons ? x->q.reasons : "no value";
            return;
        }
        any = true;
        num += x->numerator;
        den += x->denominator;
        out->numerator_name = x->numerator_name;
        out->denominator_name = x->denominator_name;
    }
    if (!any || !(den > 0))
        return;
    out->reason = NULL;
    out->have = true;
    out->numerator = num;
    out->denominator = den;
    out->mean = num / den;
}

static void ratio(struct jm_explain_row *out, double num, const char *num_name, double den,
                  const char *den_name)
{
    out->numerator = num;
    out->denominator = den;
    out->numerator_name = num_name;
    out->denominator_name = den_name;
    out->have = den > 0;
    out->mean = den > 0 ? num / den : NAN;
    out->reason = den > 0 ? NULL : "no such request";
}

static const char *why_none(const struct row *a)
{
    const struct jm_peer_row *p = a->p;
    if (!(a->asked > 0))
        return "no request of its set";
    if (p->tokens == JM_PT_REQUESTED && a->tokens_unknown)
        return "no length was asked for";
    if (p->tokens != JM_PT_NONE && a->tokens_unknown)
        return "nobody counted the tokens";
    return "the run does not hold what it needs";
}

static double tool_quantile(const struct row *a, double q)
{
    return a->no_quantiles ? NAN : jm_acc_quantile(&a->of, q, a->p->quantile);
}

static void fill(struct jm_explain_row *out, struct row *a, const struct pass *p, const struct jm_report *r,
                 const struct jm_explain *x)
{
    static const char *const time_name[] = {"", "seconds, first scheduled to last end",
                                            "seconds, first sent to last end",
                                            "seconds, first sent to last token of the successful"};
    const struct jm_peer_row *d = a->p;
    const struct jm_metric *m = d->metric ? jm_metric_find(d->metric) : NULL;
    *out = (struct jm_explain_row){.tool = d->tool,
                                   .version = d->version,
                                   .key = d->key,
                                   .metric = d->metric,
                                   .formula = m ? m->formula : NULL,
                                   .from = d->from,
                                   .to = d->to,
                                   .requests = jm_peer_set_text(d->set),
                                   .tokens = jm_peer_tokens_text(d->tokens),
                                   .why = d->why,
                                   .ours = !d->version,
                                   .approximate = d->tokens == JM_PT_CLIENT || a->missing > 0,
                                   JM_EXPLAIN_NO_VALUE};
    switch (d->kind) {
    case JM_PK_NONE:
        out->requests = NULL;
        out->reason = "prints no such number";
        return;
    case JM_PK_RESULT: from_report(r, d->metric, out); return;
    case JM_PK_TOKENS:
        out->n = (int64_t)a->asked;
        out->have = a->asked > 0 && !a->tokens_unknown;
        out->mean = out->have ? a->tokens : NAN;
        out->reason = out->have ? NULL : why_none(a);
        return;
    case JM_PK_TOKEN_RATE:
        ratio(out, a->tokens, "output tokens", total_time(p, x, d->which), time_name[d->which]);
        break;
    case JM_PK_REQUEST_RATE:
        ratio(out, a->asked, "requests", total_time(p, x, d->which), time_name[d->which]);
        break;
    case JM_PK_GOOD_RATE:
        ratio(out, a->good, "good requests", total_time(p, x, d->which), time_name[d->which]);
        break;
    case JM_PK_GOOD_SHARE:
        out->unit = "ratio";
        ratio(out, a->good, "good requests", a->asked, "requests of its set");
        break;
    case JM_PK_REQUEST:
    case JM_PK_GAP:
        jm_acc_sort(&a->of);
        out->n = llround(fmin(a->of.weight, 9e18));
        out->have = a->of.weight > 0;
        out->mean =
            out->have ? a->of.sum / (d->zeros && a->asked > a->of.weight ? a->asked : a->of.weight) : NAN;
        out->p50 = tool_quantile(a, .5);
        out->p90 = tool_quantile(a, .9);
        out->p95 = tool_quantile(a, .95);
        out->p99 = tool_quantile(a, .99);
        out->method = a->no_quantiles ? "not known: the run does not say how many tokens a chunk holds"
                      : a->of.h       ? "histogram of 1.6 %"
                                      : jm_peer_quantile_text(d->quantile);
        out->reason = out->have ? NULL : why_none(a);
        return;
    }
    bool contract = !isnan(p->slo->ttft_s) || !isnan(p->slo->tpot_s) || !isnan(p->slo->e2e_s);
    if ((d->kind == JM_PK_GOOD_RATE || d->kind == JM_PK_GOOD_SHARE) && !contract) {
        out->have = false;
        out->mean = NAN;
        out->reason = "no contract: give --slo-ttft, --slo-tpot or --slo-e2e";
    } else if (d->kind == JM_PK_TOKEN_RATE && a->tokens_unknown) {
        out->have = false;
        out->mean = NAN;
        out->reason = why_none(a);
    }
    bool rate = d->kind == JM_PK_TOKEN_RATE || d->kind == JM_PK_REQUEST_RATE || d->kind == JM_PK_GOOD_RATE;
    if (rate && jm_run_env(p->run, "import.placed")) {
        out->have = false;
        out->mean = out->denominator = NAN;
        out->reason = "the file does not say when its requests began";
    }
}

/* Which rows: those of the family, ours first; and ours of the very id that was asked for. */
static int rows_of(struct pass *p, struct jm_report *r, struct jm_explain *x, const char *what)
{
    static const struct jm_peer_row own = {.tool = "joulemark",
                                           .set = JM_PS_OK,
                                           .quantile = JM_Q_LINEAR,
                                           .from = NULL,
                                           .why = "The definition that was asked for."};
    struct jm_peer_row *mine = NULL;
    size_t n = 0;
    for (const struct jm_peer_row *d = jm_peer_table; d->tool; d++)
        n += strcmp(d->family, x->family) == 0;
    p->acc = calloc(n + 1, sizeof *p->acc);
    x->rows = jm_report_alloc(r, (n + 1 + jm_explain_claimed(r, x->family)) * sizeof *x->rows);
    if (!p->acc || !x->rows)
        return jm_err_set(p->err, JM_ENOMEM, "out of memory for the numbers of other tools");
    for (const struct jm_peer_row *d = jm_peer_table; d->tool; d++) {
        if (strcmp(d->family, x->family) != 0)
            continue;
        p->acc[p->n_acc++].p = d;
        bool same = d->metric && strcmp(d->metric, what) == 0;
        if (p->n_acc > 1 || same || !jm_metric_find(what))
            continue;
        if (!(mine = jm_report_alloc(r, sizeof *mine)))
            return jm_err_set(p->err, JM_ENOMEM, "out of memory for the numbers of other tools");
        *mine = own;
        mine->family = d->family;
        mine->key = mine->metric = jm_metric_find(what)->id;
        mine->kind = JM_PK_RESULT;
        for (int l = 0; l < JM_LAT_COUNT; l++)
            if (strcmp(jm_lat_ids[l], what) == 0) {
                mine->kind = JM_PK_REQUEST;
                mine->which = l;
            }
        for (int g = 0; g < JM_GAP_COUNT; g++)
            if (strcmp(jm_gap_ids[g], what) == 0) {
                mine->kind = JM_PK_GAP;
                mine->which = g;
            }
        if (strncmp(what, "tpot", 4) == 0 || strstr(what, "token"))
            mine->tokens = JM_PT_SERVER;
        p->acc[p->n_acc++].p = mine;
    }
    return 0;
}

static int work(struct pass *p, struct jm_report *r, struct jm_explain *x, const char *what)
{
    int rc = choose(p, r, x);
    if (!rc && strcmp(x->family, "energy") == 0)
        return jm_explain_energy(p->run, r, x, what, p->span, p->err);
    if (!rc)
        rc = rows_of(p, r, x, what);
    if (!rc)
        rc = jm_run_events_stored(p->run, on_events, p, p->err);
    for (size_t i = 0; !rc && i < p->n; i++)
        rc = take(p, i, NULL, 0);
    for (size_t k = 0; !rc && k < p->n_acc; k++)
        fill(&x->rows[x->n++], &p->acc[k], p, r, x);
    if (!rc)
        jm_explain_claims(r, x, x->n + jm_explain_claimed(r, x->family));
    const struct jm_explain_row *ours = x->rows;
    for (size_t k = 1; !rc && k < x->n; k++)
        if (x->rows[k].have && ours->have && ours->mean > 0 && !x->rows[k].unit && !isnan(x->rows[k].mean))
            x->rows[k].relative = x->rows[k].mean / ours->mean;
    return rc;
}

int jm_explain(const struct jm_run *run, struct jm_report *r, const struct jm_compute_opts *o,
               const char *what, struct jm_explain **out, struct jm_err *err)
{
    const struct jm_family *f = jm_family_of(what);
    if (!f)
        return jm_explain_unknown(what, err);
    struct jm_explain *x = jm_report_alloc(r, sizeof *x);
    struct pass p = {.run = run, .slo = &o->slo, .err = err, .at = SIZE_MAX - 1};
    int rc = x ? jm_run_requests_check(run, err) : jm_err_set(err, JM_ENOMEM, "out of memory");
    if (rc)
        return rc;
    p.q = jm_run_requests(run, &p.n);
    *x = (struct jm_explain){
        .asked = jm_report_text(r, "%s", what), .family = f->name, .title = f->title, .unit = f->unit};
    bool energy = strcmp(f->name, "energy") == 0;
    if (!p.n && !energy && jm_explain_claimed(r, f->name)) {
        x->rows = jm_report_alloc(r, jm_explain_claimed(r, f->name) * sizeof *x->rows);
        if (!x->rows)
            return jm_err_set(err, JM_ENOMEM, "out of memory for what the file states");
        jm_explain_claims(r, x, jm_explain_claimed(r, f->name));
        x->note = "The file holds totals, no requests: what other tools would have printed of them cannot be "
                  "worked out.";
        *out = x;
        return 0;
    }
    if (!p.n && !energy)
        rc = jm_err_set(err, JM_EABSENT,
                        "%s holds no requests, only totals: what other tools would have printed of them "
                        "cannot be worked out",
                        jm_run_path(run));
    if (!rc)
        rc = work(&p, r, x, what);
    bool chunks = false;
    for (size_t i = 0; i < p.n; i++)
        chunks |= p.q[i].t[JM_T_FIRST_CHUNK] >= 0;
    if (!chunks && p.n)
        x->note =
            "The run does not tell chunks without text (role, finish_reason) from tokens: where a tool "
            "counts from or to them, the token's stamp stands in. Of an imported file the same holds for "
            "reasoning and text.";
    for (size_t k = 0; k < p.n_acc; k++) {
        jm_acc_release(&p.acc[k].of);
    }
    free(p.acc);
    free(p.span);
    free(p.window);
    free(p.seen);
    if (!rc)
        *out = x;
    return rc;
}
