/* SPDX-License-Identifier: Apache-2.0 */
/* show, as Markdown: for an issue, a pull request or a wiki. */
#include <math.h>
#include <string.h>

#include "show/claims.h"
#include "show/engine.h"
#include "show/fmt.h"
#include "show/formats.h"
#include "show/impact.h"
#include "show/ladder.h"
#include "show/phases.h"
#include "show/slices.h"

#include "base/banned.h"

void jm_markdown_escape(struct jm_str *s, const char *t)
{
    struct jm_span c;
    while (t && (t = jm_fmt_next(t, &c))) {
        if (c.n == 1 && strchr("|*_`<>[]\\&", *c.p))
            jm_str_addc(s, '\\');
        jm_str_addspan(s, c);
    }
}

static void energy(struct jm_str *s, const struct jm_report *r)
{
    char v[JM_FMT], pm[JM_FMT];
    jm_str_adds(s, "| metric | boundary | value | 95 % interval | per | instrument | validity "
                   "|\n|---|---|---:|---:|---|---|---|\n");
    bool many = jm_fmt_many_windows(r);
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->q.boundary == JM_B_NONE || !jm_fmt_in_summary(r, x))
            continue;
        jm_str_addf(s, "| %s | ", x->metric);
        jm_markdown_escape(s, x->set);
        if (many) {
            jm_str_adds(s, ", ");
            jm_markdown_escape(s, x->window >= 0 ? r->windows[x->window].name : "over trials");
        }
        jm_str_addf(s, "%s | %s | %s | ", jm_fmt_estimate(x) ? " (ESTIMATE)" : "",
                    x->q.have ? jm_fmt_value(v, x->q.value, x->q.unit) : "–", jm_fmt_pm(pm, &x->q));
        jm_markdown_escape(s, x->denominator_name ? x->denominator_name : "");
        jm_str_adds(s, " | ");
        jm_markdown_escape(s, x->instrument);
        jm_str_addf(s, " | %s", jm_fmt_validity(x->q.validity));
        if (x->q.reasons) {
            jm_str_adds(s, ": ");
            jm_markdown_escape(s, x->q.reasons);
        }
        jm_str_adds(s, " |\n");
    }
}

static void claims(struct jm_str *s, const struct jm_report *r)
{
    char a[JM_CLAIMS_FMT], b[JM_CLAIMS_FMT], v[JM_CLAIMS_FMT];
    if (!r->n_claims)
        return;
    jm_str_adds(s, "\n| the file says | in the file | computed again | |\n|---|---:|---:|---|\n");
    const struct jm_claims_pick pick = jm_claims_pick(r, false);
    for (size_t i = 0; i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        if (!jm_claims_shown(k, pick))
            continue;
        jm_str_adds(s, "| ");
        jm_markdown_escape(s, k->key);
        jm_str_adds(s, " | ");
        jm_markdown_escape(s, jm_claims_value(a, k, false));
        jm_str_adds(s, " | ");
        jm_markdown_escape(s, jm_claims_value(b, k, true));
        jm_str_adds(s, " | ");
        jm_markdown_escape(s, jm_claims_verdict(v, k));
        jm_str_adds(s, " |\n");
    }
}

static void latency(struct jm_str *s, const struct jm_report *r)
{
    static const char *const ids[] = {"ttft", "ttfo", "tpot.excl_first", "tpot.incl_prefill", "itl.chunk",
                                      "e2e",  "queue"};
    static const double q[] = {0.5, 0.9, 0.95, 0.99, NAN};
    char v[JM_FMT];
    if (!jm_fmt_find(r, "ttft", JM_B_NONE, 0.5))
        return;
    jm_str_adds(s, "\n| latency | p50 | p90 | p95 | p99 | mean |\n|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (!jm_fmt_find(r, ids[i], JM_B_NONE, 0.5))
            continue;
        jm_str_addf(s, "| %s", ids[i]);
        for (size_t k = 0; k < 5; k++) {
            const struct jm_result *x = jm_fmt_find(r, ids[i], JM_B_NONE, q[k]);
            jm_str_addf(s, " | %s", x && x->q.have ? jm_fmt_value(v, x->q.value, "s") : "–");
        }
        jm_str_adds(s, " |\n");
    }
}

static void slices(struct jm_str *s, const struct jm_report *r)
{
    struct jm_slice_cells c;
    if (!r->n_slices)
        return;
    jm_str_adds(s, "\n");
    for (int k = 0; k < JM_SC_COUNT; k++)
        if (jm_slice_column_used(r, (enum jm_slice_column)k))
            jm_str_addf(s, "| %s ", jm_slice_titles[k]);
    jm_str_adds(s, "|\n");
    for (int k = 0; k < JM_SC_COUNT; k++)
        if (jm_slice_column_used(r, (enum jm_slice_column)k))
            jm_str_adds(s, k ? "|---:" : "|---");
    jm_str_adds(s, "|\n");
    for (size_t i = 0; i < r->n_slices; i++) {
        jm_slice_cells(r, i, &c);
        for (int k = 0; k < JM_SC_COUNT; k++)
            if (jm_slice_column_used(r, (enum jm_slice_column)k)) {
                jm_str_adds(s, "| ");
                jm_markdown_escape(s, c.cell[k]);
                jm_str_addc(s, ' ');
            }
        jm_str_adds(s, "|\n");
    }
    if (jm_slice_note(r))
        jm_str_addf(s, "\n%s\n", jm_slice_note(r));
}

int jm_show_markdown(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                     struct jm_err *err)
{
    const struct jm_result *h = jm_fmt_headline(r);
    char v[JM_FMT], pm[JM_FMT], a[JM_FMT], b[JM_FMT];
    jm_str_adds(s, "# ");
    jm_markdown_escape(s, r->label ? r->label : "joulemark run");
    if (r->simulated)
        jm_str_adds(s, " — SIMULATED");
    jm_str_addf(s, "\n\n**%s** for profile %s", jm_fmt_validity(r->validity),
                jm_profile_name((int)r->profile));
    if (h && h->q.have) {
        jm_str_addf(s, " · **%s** %s %s at ", jm_fmt_value(v, h->q.value, h->q.unit), jm_fmt_pm(pm, &h->q),
                    h->metric);
        jm_markdown_escape(s, h->set);
    }
    jm_str_adds(s, "\n\n");
    energy(s, r);
    jm_show_ladder_markdown(r, s);
    slices(s, r);
    latency(s, r);
    jm_show_phases_markdown(r, s);
    if (r->has_requests)
        jm_str_addf(s, "\nRequests: %s ok, %s failed; %s output tokens.\n", jm_fmt_count(a, r->requests.ok),
                    jm_fmt_count(b, r->requests.failed + r->requests.aborted),
                    jm_fmt_count(v, r->tokens.output));
    jm_show_impact_markdown(r, s);
    jm_show_engine_markdown(r, s);
    claims(s, r);
    if (r->n_findings)
        jm_str_adds(s, "\n## Findings\n\n");
    for (size_t i = 0; i < r->n_findings; i++) {
        if (jm_fmt_repeats(r, i))
            continue;
        jm_str_addf(s, "- **%s** `%s`: ", jm_severity_name((int)r->findings[i].severity), r->findings[i].id);
        jm_markdown_escape(s, r->findings[i].text);
        size_t more = jm_fmt_more(r, i);
        if (more)
            jm_str_addf(s, " (and %zu more of this kind)", more);
        jm_str_addc(s, '\n');
    }
    if (o->n_disclosure)
        jm_str_adds(s, "\n## Disclosure\n\n| item | value |\n|---|---|\n");
    for (size_t i = 0; i < o->n_disclosure; i++) {
        jm_str_addf(s, "| %s | ", o->disclosure[i].key);
        jm_markdown_escape(s, o->disclosure[i].value);
        jm_str_adds(s, " |\n");
    }
    jm_str_addf(s, "\nRun `%s`", r->id);
    if (r->sha256)
        jm_str_addf(s, ", SHA-256 `%s`", r->sha256);
    jm_str_adds(s, ", recorded by joulemark ");
    jm_markdown_escape(s, r->joulemark);
    jm_str_adds(s, ".\n");
    return jm_str_ok(s, "the Markdown of the report", err);
}
