/* SPDX-License-Identifier: Apache-2.0 */
#include "show/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

bool jm_explain_spread(const struct jm_explain *x)
{
    return strcmp(x->unit, "s") == 0;
}

const char *jm_explain_ends(char buf[JM_EXPLAIN_ENDS], const struct jm_explain *x)
{
    char ok[JM_FMT], not [JM_FMT], planned[JM_FMT], open[JM_FMT];
    int64_t unfinished = x->scheduled - x->ok - x->failed;
    snprintf(buf, JM_EXPLAIN_ENDS, "%s ok, %s not%s%s%s%s%s%s%s", jm_fmt_count(ok, x->ok),
             jm_fmt_count(not, x->scheduled - x->ok), x->planned || unfinished ? " (" : "",
             x->planned ? jm_fmt_count(planned, x->planned) : "", x->planned ? " aborted by plan" : "",
             x->planned && unfinished ? ", " : "", unfinished ? jm_fmt_count(open, unfinished) : "",
             unfinished ? " unfinished" : "", x->planned || unfinished ? ")" : "");
    return buf;
}

const char *jm_explain_relative(char buf[32], double relative)
{
    buf[0] = '\0';
    if (isnan(relative) || relative < 0)
        return buf;
    double off = 100 * (relative - 1);
    if (fabs(off) < 0.005)
        snprintf(buf, 32, "same");
    else if (relative >= 2 || relative <= 0.5)
        snprintf(buf, 32, "x %.3g", relative);
    else
        snprintf(buf, 32, "%+.*f %%", fabs(off) < 1 ? 2 : 1, off);
    return buf;
}

static void row(struct jm_jsonw *w, const struct jm_explain *x, const struct jm_explain_row *e)
{
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "tool", e->tool);
    jm_show_json_text(w, "version", e->version);
    jm_jsonw_kbool(w, "ours", e->ours);
    jm_jsonw_kstr(w, "name", e->key);
    jm_show_json_text(w, "metric", e->metric);
    jm_show_json_text(w, "formula", e->formula);
    jm_jsonw_knum(w, "value", e->have ? e->mean : NAN);
    jm_show_json_text(w, "unit", e->unit);
    if (e->have && jm_explain_spread(x)) {
        jm_jsonw_knum(w, "p50", e->p50);
        jm_jsonw_knum(w, "p90", e->p90);
        jm_jsonw_knum(w, "p95", e->p95);
        jm_jsonw_knum(w, "p99", e->p99);
        jm_show_json_text(w, "quantiles", e->method);
    }
    if (e->n >= 0)
        jm_jsonw_ki64(w, "n", e->n);
    jm_show_json_part(w, "numerator", e->numerator_name, e->numerator);
    jm_show_json_part(w, "denominator", e->denominator_name, e->denominator);
    if (!isnan(e->relative))
        jm_jsonw_knum(w, "relative", e->relative);
    jm_show_json_text(w, "from", e->from);
    jm_show_json_text(w, "to", e->to);
    jm_show_json_text(w, "requests", e->requests);
    jm_show_json_text(w, "tokens", e->tokens);
    if (e->approximate)
        jm_jsonw_kbool(w, "approximate", true);
    if (e->claimed)
        jm_jsonw_kbool(w, "claimed", true);
    jm_show_json_text(w, "boundary", e->boundary);
    jm_jsonw_kstr(w, "why", e->why);
    jm_show_json_text(w, "reason", e->reason);
    jm_jsonw_end(w);
}

int jm_explain_json(const struct jm_report *r, const struct jm_explain *x, struct jm_str *s,
                    struct jm_err *err)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, s, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.explain/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_key(&w, "run");
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "id", r->id);
    jm_show_json_text(&w, "label", r->label);
    jm_jsonw_kstr(&w, "file", r->file);
    jm_show_json_text(&w, "sha256", r->sha256);
    jm_jsonw_kstr(&w, "kind", r->kind);
    jm_jsonw_end(&w);
    jm_jsonw_kstr(&w, "metric", x->asked);
    jm_jsonw_kstr(&w, "family", x->family);
    jm_jsonw_kstr(&w, "title", x->title);
    jm_jsonw_kstr(&w, "unit", x->unit);
    jm_jsonw_ki64(&w, "windows", x->windows);
    jm_jsonw_knum(&w, "seconds", x->seconds);
    jm_jsonw_key(&w, "requests");
    jm_jsonw_object(&w);
    jm_jsonw_ki64(&w, "scheduled", x->scheduled);
    jm_jsonw_ki64(&w, "ok", x->ok);
    jm_jsonw_ki64(&w, "failed", x->failed);
    jm_jsonw_ki64(&w, "aborted_by_plan", x->planned); /* of the failed */
    jm_jsonw_end(&w);
    jm_show_json_text(&w, "note", x->note);
    jm_jsonw_key(&w, "rows");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < x->n; i++)
        row(&w, x, &x->rows[i]);
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    return jm_str_ok(s, "the JSON of the explanation", err);
}

int jm_show_explain(const struct jm_report *r, const struct jm_explain *x, const char *format,
                    const struct jm_show_opts *o, struct jm_str *out, struct jm_err *err)
{
    if (strcmp(format, "text") == 0)
        return jm_explain_text(r, x, o, out, err);
    if (strcmp(format, "json") == 0)
        return jm_explain_json(r, x, out, err);
    if (strcmp(format, "markdown") == 0)
        return jm_explain_markdown(r, x, out, err);
    return jm_err_set(err, JM_EUSAGE, "--explain is written as text, json or markdown, not as \"%.40s\"",
                      format);
}
