/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of every request, one a line, and of what no request was there for: columns that add up to the
 * window. */
#include <math.h>
#include <stdio.h>

#include "show/exports.h"
#include "show/formats.h"

#include "base/banned.h"

static void text(struct jm_str *s, const char *t)
{
    jm_csv_add_text(s, t ? t : "");
    jm_str_addc(s, ',');
}

static void number(struct jm_str *s, double v)
{
    jm_csv_add_number(s, v);
    jm_str_addc(s, ',');
}

static void count(struct jm_str *s, int64_t v)
{
    if (v >= 0)
        jm_str_addf(s, "%lld", (long long)v);
    jm_str_addc(s, ',');
}

static void tail(struct jm_str *s, const struct jm_report *r)
{
    text(s, jm_phase_method_name((int)r->phases->method));
    number(s, r->phases->residual);
    jm_csv_add_text(s, jm_provenance_name((int)r->phases->provenance));
    jm_str_adds(s, "\r\n");
}

static void row(struct jm_str *s, const struct jm_report *r, const struct jm_request *q,
                const struct jm_request_energy *e, bool phases)
{
    jm_str_adds(s, "request,");
    count(s, e->id);
    text(s, e->window >= 0 ? r->windows[e->window].name : "");
    text(s, q->slice);
    text(s, jm_end_name((int)q->end));
    count(s, q->prompt_tokens);
    count(s, q->cached_tokens);
    count(s, q->output_tokens);
    jm_str_addf(s, "%lld,", (long long)(e->prefill_mj + e->decode_mj));
    count(s, phases ? e->prefill_mj : -1);
    count(s, phases ? e->decode_mj : -1);
    number(s, e->joules);
    number(s, e->prefill);
    number(s, r->phases->method == JM_PHASE_D2 ? e->marginal : NAN);
    tail(s, r);
}

int jm_export_requests(const struct jm_run *run, struct jm_report *r, struct jm_str *s, struct jm_err *err)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(run, &n);
    const struct jm_phases *p = r->phases;
    if (!p)
        return jm_err_set(err, JM_EABSENT,
                          "the run has no requests in a measure window, so there is no energy of requests");
    if (p->why)
        return jm_err_set(err, JM_EABSENT, "there is no energy of requests: %s", p->why);
    bool phases = p->n_splits && isfinite(p->split[0].share);
    jm_str_adds(
        s,
        "row,request,window,slice,end,prompt_tokens,cached_tokens,output_tokens,window_mj,window_prefill_mj,"
        "window_decode_mj,life_j,life_prefill_j,life_marginal_j,method,residual,provenance\r\n");
    for (size_t i = 0; i < p->n_requests; i++)
        if (p->request[i].request < n)
            row(s, r, &q[p->request[i].request], &p->request[i], phases);
    for (size_t i = 1; i < p->n_splits; i++)
        for (int total = 0; total < 2; total++) {
            const struct jm_phase_split *x = &p->split[i];
            jm_str_adds(s, total ? "total,," : "no request,,");
            text(s, x->window >= 0 ? r->windows[x->window].name : "");
            jm_str_addf(s, ",,,,,%lld,", (long long)(total ? x->total_mj : x->idle_mj));
            jm_str_adds(s, ",,,,,");
            tail(s, r);
        }
    return jm_str_ok(s, "the table of requests", err);
}
