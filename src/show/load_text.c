/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/load.h"

#include "base/banned.h"

enum { NAME = 22, CELL = 11 };

static void dim(struct jm_out *o, const char *text)
{
    jm_str_adds(o->s, "  ");
    jm_out_style(o, JM_OUT_DIM);
    jm_out_wrap(o, text, 2, 2);
    jm_out_style(o, JM_OUT_PLAIN);
}

static void titles(struct jm_out *o, const struct jm_result *any)
{
    static const char *const h[] = {"p50", "p90", "p95", "p99", "mean"};
    char title[80];
    bool level = o->r->ladder && !any->slice && any->window >= 0; /* the first one that was measured */
    snprintf(title, sizeof title, "Latency%s%.60s",
             any->slice ? " of slice "
             : level    ? " at "
                        : "",
             any->slice ? any->slice
             : level    ? o->r->windows[any->window].name
                        : "");
    jm_out_section(o, title);
    dim(o, "from when the plan wanted a request sent; queue: held back by the client");
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, "", NAME, false);
    for (size_t k = 0; k < 5; k++)
        jm_out_cell(o, h[k], CELL, true);
    jm_str_addc(o->s, '\n');
}

static void latencies(struct jm_out *o)
{
    static const char *const ids[] = {"ttft", "ttfo", "tpot.excl_first", "tpot.incl_prefill", "itl.chunk",
                                      "e2e",  "queue"};
    static const double q[] = {0.5, 0.9, 0.95, 0.99, NAN};
    char v[JM_FMT];
    bool titled = false;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const struct jm_result *any = jm_fmt_find(o->r, ids[i], JM_B_NONE, 0.5);
        if (!any || (!o->o->all && (strcmp(ids[i], "tpot.incl_prefill") == 0 || strcmp(ids[i], "ttfo") == 0)))
            continue;
        if (!titled)
            titles(o, any);
        titled = true;
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, ids[i], NAME, false);
        for (size_t k = 0; k < sizeof q / sizeof q[0]; k++) {
            const struct jm_result *x = jm_fmt_find(o->r, ids[i], JM_B_NONE, q[k]);
            jm_out_cell(o, x && x->q.have ? jm_fmt_value(v, x->q.value, "s") : "–", CELL, true);
        }
        jm_str_addc(o->s, '\n');
    }
    if (titled)
        dim(o, "by the definitions of vLLM, AIPerf, guidellm ...: show RUN --explain ttft");
}

/* "1108 output tokens/s, 8.366 requests/s, 8.366 requests/s inside the SLO" */
static void rates(struct jm_out *o)
{
    static const struct {
        const char *metric, *words;
    } of[] = {{"tokens_per_s", "output tokens/s"},
              {"requests_per_s", "requests/s"},
              {"goodput", "requests/s inside the SLO"}};
    char v[JM_FMT], line[300];
    int n = 0;
    line[0] = '\0';
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const struct jm_result *x = jm_fmt_find(o->r, of[i].metric, JM_B_NONE, NAN);
        if (x && (x->slice || (o->r->ladder && x->window >= 0)))
            return; /* of one slice or level; the table has those of all */
        if (x && x->q.have && n >= 0 && n < (int)sizeof line)
            n += snprintf(line + n, sizeof line - (size_t)n, "%s%s %s", n ? ", " : "",
                          jm_fmt_number(v, x->q.value), of[i].words);
    }
    if (!line[0])
        return;
    jm_str_adds(o->s, "  ");
    jm_out_wrap(o, line, 4, 2);
}

static void share(struct jm_out *o)
{
    const struct jm_result *x = jm_fmt_find(o->r, "attainment", JM_B_NONE, NAN);
    char v[JM_FMT];
    if (o->r->requests.qualified < 0)
        return;
    jm_str_addf(o->s, ", %s inside the SLO", jm_fmt_count(v, o->r->requests.qualified));
    if (x && x->q.have)
        jm_str_addf(o->s, " (%.4g %%)", 100 * x->q.value);
}

static void requests(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    char a[JM_FMT], b[JM_FMT], c[JM_FMT], line[512];
    if (!r->has_requests)
        return;
    jm_out_section(o, "Requests and tokens in the measured windows");
    snprintf(line, sizeof line, "%s ok, %s failed, %s aborted", jm_fmt_count(a, r->requests.ok),
             jm_fmt_count(b, r->requests.failed), jm_fmt_count(c, r->requests.aborted));
    jm_str_adds(o->s, "  ");
    jm_out_add(o, line);
    if (r->requests.cancelled > 0)
        jm_str_addf(o->s, " (%s by plan)", jm_fmt_count(a, r->requests.cancelled));
    share(o);
    jm_str_addc(o->s, '\n');
    for (int e = 0; e < JM_END_COUNT; e++)
        if (e != JM_END_OK && r->requests.by_end[e])
            jm_str_addf(o->s, "    %-14s %s\n", jm_end_name(e), jm_fmt_count(a, r->requests.by_end[e]));
    rates(o);
    snprintf(line, sizeof line, "%s output tokens, %s input tokens", jm_fmt_count(a, r->tokens.output),
             jm_fmt_count(b, r->tokens.input));
    jm_str_adds(o->s, "  ");
    jm_out_add(o, line);
    if (r->tokens.cached > 0)
        jm_str_addf(o->s, " (%s cached)", jm_fmt_count(a, r->tokens.cached));
    if (r->tokens.reasoning > 0)
        jm_str_addf(o->s, ", %s of reasoning", jm_fmt_count(a, r->tokens.reasoning));
    jm_str_addc(o->s, '\n');
    if (r->tokens.isl.n && r->tokens.osl.n)
        jm_str_addf(o->s, "  ISL mean %.4g (p50 %.4g, p99 %.4g)   OSL mean %.4g (p50 %.4g, p99 %.4g)\n",
                    r->tokens.isl.mean, r->tokens.isl.p50, r->tokens.isl.p99, r->tokens.osl.mean,
                    r->tokens.osl.p50, r->tokens.osl.p99);
}

void jm_load_text(struct jm_out *o)
{
    latencies(o);
    requests(o);
}
