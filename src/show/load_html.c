/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/load.h"
#include "show/svg.h"

#include "base/banned.h"

/* The figures that people ask for first. */
static void card(struct jm_str *s, const struct jm_report *r, const char *metric, const char *name, double q,
                 const char *words)
{
    const struct jm_result *x = jm_fmt_find(r, metric, JM_B_NONE, q),
                           *tail = jm_fmt_find(r, metric, JM_B_NONE, .99);
    char v[JM_FMT];
    if (!x || !x->q.have)
        return;
    bool spread = isfinite(q);
    jm_str_addf(s, "<li><span class='dim'>%s</span><b>%s</b>", name,
                spread                              ? jm_fmt_value(v, x->q.value, "s")
                : strcmp(metric, "attainment") == 0 ? (snprintf(v, sizeof v, "%.4g %%", 100 * x->q.value), v)
                                                    : jm_fmt_number(v, x->q.value));
    if (spread && tail && tail->q.have)
        jm_str_addf(s, "<span class='dim'>p99 %s</span></li>", jm_fmt_value(v, tail->q.value, "s"));
    else
        jm_str_addf(s, "<span class='dim'>%s</span></li>", words);
}

static void cards(struct jm_str *s, const struct jm_report *r)
{
    jm_str_adds(s, "<ul class='cards'>");
    card(s, r, "ttft", "TTFT p50", .5, "");
    card(s, r, "tpot.excl_first", "TPOT p50", .5, "");
    card(s, r, "itl.chunk", "ITL p50", .5, "");
    card(s, r, "e2e", "End to end p50", .5, "");
    card(s, r, "tokens_per_s", "Throughput", NAN, "output tokens/s");
    card(s, r, "requests_per_s", "Requests", NAN, "successful, a second");
    card(s, r, "goodput", "Goodput", NAN, "requests/s inside the SLO");
    card(s, r, "attainment", "Inside the SLO", NAN, "of the requests scheduled");
    jm_str_adds(s, "</ul>");
}

static void latency(struct jm_str *s, const struct jm_report *r)
{
    static const char *const ids[] = {
        "ttft", "ttfo", "tpot.excl_first", "tpot.incl_prefill", "itl.chunk", "itl.token_mean",
        "e2e",  "queue"};
    static const double q[] = {0.5, 0.9, 0.95, 0.99, NAN};
    char v[JM_FMT];
    if (!jm_fmt_find(r, "ttft", JM_B_NONE, 0.5) && !jm_fmt_find(r, "e2e", JM_B_NONE, 0.5))
        return;
    jm_str_adds(s, "<div class='scroll'><table id='latency'><thead><tr><th "
                   "scope='col'>definition</th>"
                   "<th scope='col' class='n'>p50</th><th scope='col' class='n'>p90</th><th scope='col' "
                   "class='n'>p95</th>"
                   "<th scope='col' class='n'>p99</th><th scope='col' class='n'>mean</th><th scope='col' "
                   "class='n'>n</th></tr></thead><tbody>");
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const struct jm_result *any = jm_fmt_find(r, ids[i], JM_B_NONE, 0.5);
        if (!any)
            continue;
        jm_str_addf(s, "<tr><td>%s</td>", ids[i]);
        for (size_t k = 0; k < 5; k++) {
            const struct jm_result *x = jm_fmt_find(r, ids[i], JM_B_NONE, q[k]);
            if (x && x->q.have)
                jm_str_addf(s, "<td class='n' data-value='%.17g'>%s</td>", x->q.value,
                            jm_fmt_value(v, x->q.value, "s"));
            else
                jm_str_adds(s, "<td class='n'>–</td>");
        }
        jm_str_addf(s, "<td class='n'>%s</td></tr>", any->n >= 0 ? jm_fmt_count(v, any->n) : "–");
    }
    jm_str_adds(
        s,
        "</tbody></table></div><p class='dim'>Of the requests scheduled in the measured window, "
        "followed to their end; "
        "latency counts from the time the plan wanted the request sent, and <code>queue</code> is what the "
        "client "
        "held back. What vLLM, SGLang, AIPerf, guidellm, MLPerf and others would have printed of this run: "
        "<code>joulemark show --explain ttft</code>.</p><div class='two'>");
    for (size_t i = 0; i < r->n_hist; i++) {
        jm_str_addf(s, "<figure><h3>%s</h3>", r->hist[i].metric);
        jm_svg_histogram(r, &r->hist[i], s);
        jm_str_adds(s, "</figure>");
    }
    jm_str_adds(s, "</div>");
}

static void requests(struct jm_str *s, const struct jm_report *r)
{
    char v[JM_FMT];
    jm_str_adds(s, "<h3>Requests and tokens</h3><table><tbody>");
#define ROW(name, text) jm_str_addf(s, "<tr><th scope='row'>%s</th><td>%s</td></tr>", name, text)
    ROW("successful requests", jm_fmt_count(v, r->requests.ok));
    ROW("failed requests (their energy is included)", jm_fmt_count(v, r->requests.failed));
    ROW("aborted requests (their energy is included)", jm_fmt_count(v, r->requests.aborted));
    for (int e = 0; e < JM_END_COUNT; e++)
        if (e != JM_END_OK && r->requests.by_end[e])
            jm_str_addf(s, "<tr><th scope='row'>&nbsp;&nbsp;%s</th><td>%s</td></tr>", jm_end_name(e),
                        jm_fmt_count(v, r->requests.by_end[e]));
    if (r->requests.qualified >= 0)
        ROW("requests inside the SLO", jm_fmt_count(v, r->requests.qualified));
    ROW("output tokens", jm_fmt_count(v, r->tokens.output));
    ROW("input tokens", jm_fmt_count(v, r->tokens.input));
    ROW("cached input tokens", jm_fmt_count(v, r->tokens.cached));
    if (r->tokens.reasoning)
        ROW("reasoning tokens", jm_fmt_count(v, r->tokens.reasoning));
#undef ROW
    static const char *const names[] = {"ISL", "OSL"};
    const struct jm_dist *d[] = {&r->tokens.isl, &r->tokens.osl};
    for (int i = 0; i < 2; i++)
        if (d[i]->n)
            jm_str_addf(
                s,
                "<tr><th scope='row'>%s</th><td>mean %.4g, p50 %.4g, p90 %.4g, p99 %.4g, max %.4g</td></tr>",
                names[i], d[i]->mean, d[i]->p50, d[i]->p90, d[i]->p99, d[i]->max);
    jm_str_adds(s, "</tbody></table>");
}

void jm_load_html(const struct jm_report *r, struct jm_str *s)
{
    bool timed = jm_fmt_find(r, "ttft", JM_B_NONE, 0.5) || jm_fmt_find(r, "e2e", JM_B_NONE, 0.5);
    if (!r->has_requests && !timed)
        return;
    jm_str_adds(s, "<section><h2>Load and latency</h2>");
    cards(s, r);
    latency(s, r);
    if (r->has_requests)
        requests(s, r);
    jm_str_adds(s, "</section>");
}
