/* SPDX-License-Identifier: Apache-2.0 */
/* show, as text: 80 columns, the boundary and the denominator beside each number. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/claims.h"
#include "show/groups.h"
#include "show/engine.h"
#include "show/lags.h"
#include "show/passports.h"
#include "show/fmt.h"
#include "show/formats.h"
#include "show/impact.h"
#include "show/ladder.h"
#include "show/load.h"
#include "show/phases.h"
#include "show/reconcile.h"
#include "show/slices.h"
#include "show/text_out.h"

#include "base/banned.h"

static enum jm_out_style_of validity_style(enum jm_validity v)
{
    return v == JM_V_VALID ? JM_OUT_GREEN : v == JM_V_FINDINGS ? JM_OUT_YELLOW : JM_OUT_RED;
}

static void head(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    char line[512];
    int errors = 0, warnings = 0;
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_add(o, r->label ? r->label : "joulemark run");
    jm_out_style(o, JM_OUT_PLAIN);
    if (r->simulated) {
        jm_out_style(o, JM_OUT_YELLOW);
        jm_str_adds(o->s, "   SIMULATED");
        jm_out_style(o, JM_OUT_PLAIN);
    }
    jm_str_addc(o->s, '\n');
    jm_out_style(o, JM_OUT_DIM);
    snprintf(line, sizeof line, "%s %s %.19sZ %s run %.8s", r->kind, r->source ? r->source : "", r->created,
             "·", r->id);
    jm_out_wrap(o, line, 0, 0);
    jm_out_style(o, JM_OUT_PLAIN);
    for (size_t i = 0; i < r->n_findings; i++) {
        errors += r->findings[i].severity == JM_SEV_ERROR;
        warnings += r->findings[i].severity == JM_SEV_WARNING;
    }
    jm_out_style(o, validity_style(r->validity));
    jm_out_add(o, jm_fmt_validity(r->validity));
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_addf(o->s, " for profile %s", jm_profile_name((int)r->profile));
    if (errors + warnings)
        jm_str_addf(o->s, " (%d error%s, %d warning%s below)", errors, errors == 1 ? "" : "s", warnings,
                    warnings == 1 ? "" : "s");
    jm_str_addc(o->s, '\n');
    for (size_t i = 0; i < r->n_findings; i++) { /* before any number: who did not get an answer */
        const struct jm_finding *f = &r->findings[i];
        if (strcmp(f->id, "requests.failed") != 0)
            continue;
        snprintf(line, sizeof line, "%s%s%s%s", f->text, f->evidence && f->evidence[0] ? ": " : "",
                 f->evidence ? f->evidence : "", f->evidence && f->evidence[0] ? "." : "");
        jm_out_style(o, f->severity == JM_SEV_ERROR ? JM_OUT_RED : JM_OUT_YELLOW);
        jm_out_wrap(o, line, 0, 0);
        jm_out_style(o, JM_OUT_PLAIN);
    }
}

/* Reasons of a result that is not valid, on a line of their own: no such number stands without them. */
static void reasons(struct jm_out *o, const struct jm_result *x, int indent)
{
    char line[700];
    snprintf(line, sizeof line, "%s: %s", x->q.have ? jm_fmt_validity(x->q.validity) : "no value",
             x->q.reasons ? x->q.reasons : "not known");
    for (int i = 0; i < indent; i++)
        jm_str_addc(o->s, ' ');
    jm_out_style(o, validity_style(x->q.validity));
    jm_out_wrap(o, line, indent + 2, indent);
    jm_out_style(o, JM_OUT_PLAIN);
}

static void headline(struct jm_out *o)
{
    const struct jm_result *x = jm_fmt_headline(o->r);
    char v[JM_FMT], pm[JM_FMT];
    if (!x)
        return;
    jm_str_addc(o->s, '\n');
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_add(o, "  ");
    jm_out_add(o, x->q.have ? jm_fmt_value(v, x->q.value, x->q.unit) : "no value");
    jm_out_style(o, JM_OUT_PLAIN);
    jm_fmt_pm(pm, &x->q);
    if (pm[0]) {
        jm_out_add(o, "  ");
        jm_out_add(o, pm);
    }
    jm_str_addc(o->s, '\n');
    char line[512];
    bool level = o->r->ladder && !x->slice && x->window >= 0;
    snprintf(line, sizeof line, "  %s at the boundary %s%s%s", jm_fmt_metric(x->metric),
             x->set ? x->set : "?",
             x->slice ? ", slice "
             : level  ? ", "
                      : "",
             x->slice ? x->slice
             : level  ? o->r->windows[x->window].name
                      : "");
    jm_out_wrap(o, line + 2, 2, (jm_str_adds(o->s, "  "), 2));
    if (x->denominator_name) {
        char a[JM_FMT], b[JM_FMT];
        snprintf(line, sizeof line, "= %s / %s", jm_fmt_part(a, x->numerator_name, x->numerator),
                 jm_fmt_part(b, x->denominator_name, x->denominator));
        jm_out_style(o, JM_OUT_DIM);
        jm_out_wrap(o, line, 4, (jm_str_adds(o->s, "  "), 2));
        jm_out_style(o, JM_OUT_PLAIN);
    }
    if (x->q.have && x->q.u.excludes && x->q.u.excludes[0]) {
        if (x->q.u.method)
            snprintf(line, sizeof line, "%g %% interval without %s", 100 * x->q.u.level, x->q.u.excludes);
        else
            snprintf(line, sizeof line, "no interval: %s", x->q.u.excludes);
        jm_str_adds(o->s, "  ");
        jm_out_style(o, JM_OUT_DIM);
        jm_out_wrap(o, line, 4, 2);
        jm_out_style(o, JM_OUT_PLAIN);
    }
    if (x->q.validity != JM_V_VALID)
        reasons(o, x, 2);
}

/* One energy result: metric, value, interval, denominator. */
static void energy_row(struct jm_out *o, const struct jm_result *x, bool own_reasons)
{
    char v[JM_FMT], pm[JM_FMT], note[160] = "";
    bool long_name = strlen(x->metric) > 23;
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, x->metric, long_name ? (int)strlen(x->metric) : 23, false);
    if (long_name) { /* a name is never cut: it is what other tools look for */
        jm_str_adds(o->s, "\n  ");
        jm_out_cell(o, "", 23, false);
    }
    jm_str_addc(o->s, ' ');
    if (!x->q.have)
        snprintf(v, sizeof v, "–");
    else
        jm_fmt_value(v, x->q.value, x->q.unit);
    jm_fmt_pm(pm, &x->q);
    /* a number is never cut either: what follows makes room */
    int wide = jm_out_columns(v, strlen(v)) > 17 ? jm_out_columns(v, strlen(v)) : 17,
        half = jm_out_columns(pm, strlen(pm)) > 12 ? jm_out_columns(pm, strlen(pm)) : 12,
        left = o->width - 2 - 23 - 3 - wide - half;
    jm_out_cell(o, v, wide, true);
    jm_str_addc(o->s, ' ');
    jm_out_cell(o, pm, half, false);
    jm_str_addc(o->s, ' ');
    static const struct {
        const char *name, *brief;
    } brief[] = {{"input and output tokens", "input+output tokens"},
                 {"qualified output tokens", "qualified tokens"},
                 {"uncached input tokens", "uncached tokens"},
                 {"energy at the wall", "wall"},
                 {"energy of the GPU boards", "GPU boards"},
                 {"power.mean.mlperf", "mean W"},
                 {"power.mean.mlperf x seconds", "mean W x s"},
                 {"result_completed_tokens_per_second", "tokens/s"},
                 {"result_inferred_completed_tokens_per_second", "tokens/s"},
                 {"result_tokens_per_second", "tokens/s"},
                 {"result_inferred_tokens_per_second", "tokens/s"},
                 {"result_completed_samples_per_sec", "samples/s"},
                 {"result_samples_per_second", "samples/s"},
                 {"result_qps_with_loadgen_overhead", "queries/s"}};
    const char *above = x->numerator_name ? x->numerator_name : "",
               *below = x->denominator_name ? x->denominator_name : "";
    for (size_t i = 0; i < sizeof brief / sizeof brief[0]; i++) {
        above = strcmp(above, brief[i].name) == 0 ? brief[i].brief : above;
        below = strcmp(below, brief[i].name) == 0 ? brief[i].brief : below;
    }
    if (strcmp(x->metric, "power.mean") == 0)
        note[0] = '\0';
    else if (x->denominator_name && strcmp(above, "energy") == 0)
        snprintf(note, sizeof note, "/ %s", below);
    else if (x->denominator_name)
        snprintf(note, sizeof note, "%s / %s", above, strcmp(below, "energy") == 0 ? "J" : below);
    else if (strcmp(x->metric, "energy.by_gauge") == 0 || strcmp(x->metric, "power.max") == 0)
        snprintf(note, sizeof note, "by %s", x->instrument ? x->instrument : "?");
    else if (strcmp(x->metric, "energy.other_gpus") == 0)
        snprintf(note, sizeof note, "%s", x->set ? x->set : "");
    jm_out_style(o, JM_OUT_DIM);
    jm_out_cell(o, note, left > 2 ? left : 2, false);
    jm_out_style(o, JM_OUT_PLAIN);
    while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
        o->s->buf[--o->s->len] = '\0';
    jm_str_addc(o->s, '\n');
    if (own_reasons && x->q.validity != JM_V_VALID)
        reasons(o, x, 4);
}

static bool main_metric(const struct jm_result *x)
{
    static const char *const minor[] = {"j_per.input_token_uncached", "energy.by_gauge",   "tokens_per_j",
                                        "requests_per_kwh",           "j_per.request_any", "power.max"};
    for (size_t i = 0; i < sizeof minor / sizeof minor[0]; i++)
        if (strcmp(minor[i], x->metric) == 0)
            return false;
    return true;
}

static bool in_section(const struct jm_out *o, const struct jm_result *x, int boundary, int window,
                       bool estimate)
{
    return (int)x->q.boundary == boundary && x->window == window && jm_fmt_estimate(x) == estimate &&
           (o->o->all || (jm_fmt_in_summary(o->r, x) && main_metric(x)));
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The results of one boundary and window. Reasons that all of them share are said once. */
static void boundary(struct jm_out *o, int b, int window, bool estimate, bool many)
{
    const struct jm_report *r = o->r;
    const struct jm_result *first = NULL;
    bool shared = true;
    char title[400];
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (!in_section(o, x, b, window, estimate) || strcmp(x->metric, "energy.other_gpus") == 0)
            continue;
        if (!first)
            first = x;
        shared &= x->q.validity == first->q.validity && same_text(x->q.reasons, first->q.reasons) &&
                  x->q.have == first->q.have;
    }
    if (!first)
        return;
    snprintf(title, sizeof title, "At the boundary %s%s%s%s", first->set ? first->set : jm_boundary_name(b),
             estimate ? " (ESTIMATE)" : "", many ? ", " : "",
             !many               ? ""
             : first->window < 0 ? "over trials"
                                 : r->windows[first->window].name);
    jm_out_section(o, title);
    if (jm_fmt_same_as_gpu(r, first) && !o->o->all) {
        jm_str_adds(o->s, "  the same devices, and the same joules, as the boundary gpu\n");
        return;
    }
    if (first->instrument) {
        char by[700];
        int len = snprintf(by, sizeof by, "by %.600s; %s", first->instrument,
                           jm_provenance_name((int)first->q.provenance));
        if (first->window < 0 && first->n > 0)
            snprintf(by + len, sizeof by - (size_t)len, "; mean of %lld trials, t interval",
                     (long long)first->n);
        jm_str_adds(o->s, "  ");
        jm_out_style(o, JM_OUT_DIM);
        jm_out_wrap(o, by, 4, 2);
        jm_out_style(o, JM_OUT_PLAIN);
    }
    if (shared && first->q.validity != JM_V_VALID)
        reasons(o, first, 2);
    for (size_t i = 0; i < r->n_results; i++)
        if (in_section(o, &r->results[i], b, window, estimate))
            energy_row(o, &r->results[i], !shared);
}

#define WINDOWS_SHOWN 8

static void energies(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    bool many = o->o->all ? r->n_windows > 1 : jm_fmt_many_windows(r);
    int shown[WINDOWS_SHOWN], n = 0, left = 0, last = -2;
    /* results of a window follow each other */
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->q.boundary == JM_B_NONE || x->window == last || !(o->o->all || jm_fmt_in_summary(r, x)))
            continue;
        last = x->window;
        if (n < WINDOWS_SHOWN || last < 0)
            shown[n < WINDOWS_SHOWN ? n++ : WINDOWS_SHOWN - 1] = last;
        else
            left++;
    }
    for (int b = JM_B_GPU; b < JM_B_COUNT; b++)
        for (int k = 0; k < n; k++) {
            boundary(o, b, shown[k], false, many);
            boundary(o, b, shown[k], true, many);
        }
    if (left)
        jm_str_addf(o->s, "\n  and %d more windows: --format csv or --json has them all\n", left);
}

#define SLICES_SHOWN 32

/* Slices in turn that were measured more than once: the mean of each and its interval. */
static void slices_over_trials(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    char value[JM_FMT], pm[JM_FMT], line[400];
    for (size_t i = 0; i < r->n_sliced; i++) {
        const struct jm_result *x = &r->sliced[i];
        if (x->window >= 0 || strcmp(x->metric, "j_per.output_token") != 0 || !x->q.have ||
            jm_fmt_estimate(x) || jm_fmt_same_as_gpu(r, x))
            continue;
        snprintf(line, sizeof line, "%s over %lld trials: %s %s at %.120s (t interval)", x->slice,
                 (long long)x->n, jm_fmt_value(value, x->q.value, x->q.unit), jm_fmt_pm(pm, &x->q),
                 x->set ? x->set : jm_boundary_name((int)x->q.boundary));
        jm_str_adds(o->s, "  ");
        jm_out_wrap(o, line, 4, 2);
    }
}

static void slices(struct jm_out *o)
{
    static const int width[JM_SC_COUNT] = {0, 6, 7, 10, 9, 10, 10, 10, 12, 9};
    const struct jm_report *r = o->r;
    struct jm_slice_cells c;
    bool used[JM_SC_COUNT], many = false;
    int left = o->width - 2;
    if (!r->n_slices)
        return;
    jm_out_section(o, "Slices of the load");
    for (int k = 0; k < JM_SC_COUNT; k++)
        used[k] = jm_slice_column_used(r, (enum jm_slice_column)k);
    for (int k = 1; k < JM_SC_COUNT; k++)
        left -= used[k] ? width[k] : 0;
    for (int k = JM_SC_TTFT_P50; left < 14 && k <= JM_SC_TPOT_P99; k++)
        if (k != JM_SC_TTFT_P99 && used[k]) { /* narrow: JSON has them all */
            used[k] = false;
            left += width[k];
        }
    for (size_t i = 1; i < r->n_slices; i++)
        many |= r->slices[i].window != r->slices[0].window && !r->slices[i].alone;
    jm_str_adds(o->s, "  ");
    for (int k = 0; k < JM_SC_COUNT; k++)
        if (used[k])
            jm_out_cell(o, k ? jm_slice_titles[k] : "", k ? width[k] : left, k > 0);
    jm_str_addc(o->s, '\n');
    for (size_t i = 0; i < r->n_slices && i < SLICES_SHOWN; i++) {
        jm_slice_cells(r, i, &c);
        if (many && (i == 0 || r->slices[i].window != r->slices[i - 1].window)) {
            jm_str_adds(o->s, "  ");
            jm_out_style(o, JM_OUT_DIM);
            jm_out_add(o, r->windows[r->slices[i].window].name);
            jm_out_style(o, JM_OUT_PLAIN);
            jm_str_addc(o->s, '\n');
        }
        jm_str_adds(o->s, "  ");
        for (int k = 0; k < JM_SC_COUNT; k++)
            if (used[k])
                jm_out_cell(o, c.cell[k], k ? width[k] : left, k > 0);
        jm_str_addc(o->s, '\n');
    }
    if (r->n_slices > SLICES_SHOWN)
        jm_str_addf(o->s, "  and %zu more rows: --json has them all\n", r->n_slices - SLICES_SHOWN);
    slices_over_trials(o);
    if (jm_slice_note(r)) {
        jm_str_adds(o->s, "  ");
        jm_out_style(o, JM_OUT_DIM);
        jm_out_wrap(o, jm_slice_note(r), 2, 2);
        jm_out_style(o, JM_OUT_PLAIN);
    }
}

static void findings(struct jm_out *o)
{
    static const char *const tag[] = {"note", "warning", "ERROR"};
    static const enum jm_out_style_of st[] = {JM_OUT_DIM, JM_OUT_YELLOW, JM_OUT_RED};
    if (!o->r->n_findings)
        return;
    jm_out_section(o, "Findings");
    for (int sev = JM_SEV_ERROR; sev >= JM_SEV_INFO; sev--)
        for (size_t i = 0; i < o->r->n_findings; i++) {
            const struct jm_finding *f = &o->r->findings[i];
            char line[1600];
            size_t more = (int)f->severity == sev ? jm_fmt_more(o->r, i) : 0;
            if ((int)f->severity != sev || jm_fmt_repeats(o->r, i))
                continue;
            jm_str_adds(o->s, "  ");
            jm_out_style(o, st[sev]);
            jm_out_cell(o, tag[sev], 8, false);
            jm_out_style(o, JM_OUT_PLAIN);
            snprintf(line, sizeof line, "%s: %s%s%s%s", f->id, f->text,
                     f->evidence && f->evidence[0] ? " [" : "", f->evidence ? f->evidence : "",
                     f->evidence && f->evidence[0] ? "]" : "");
            jm_out_wrap(o, line, 10, 10);
            if (more)
                jm_str_addf(o->s, "          and %zu more of this kind\n", more);
        }
}

static void windows(struct jm_out *o)
{
    char a[JM_FMT], t[JM_FMT];
    jm_out_section(o, "Windows");
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < o->r->n_windows; i++) {
        const struct jm_window *w = &o->r->windows[i];
        if (!o->o->all && w->role != JM_R_MEASURE && w->role != JM_R_IDLE)
            continue;
        if (++shown > 12 && !o->o->all) {
            left++;
            continue;
        }
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, w->name, 22, false);
        jm_str_addc(o->s, ' ');
        jm_out_cell(o, jm_role_name((int)w->role), 10, false);
        jm_out_cell(o, jm_fmt_duration(a, jm_fmt_seconds(w->t1, w->t0)), 10, true);
        jm_str_addf(o->s, "   from %.23sZ\n", jm_fmt_time(o->r, w->t0, t));
    }
    if (left)
        jm_str_addf(o->s, "  and %zu more\n", left);
}

int jm_show_text(const struct jm_report *r, const struct jm_show_opts *opts, struct jm_str *s,
                 struct jm_err *err)
{
    struct jm_out o = {s, r, opts, opts->width >= 40 ? opts->width : 80};
    head(&o);
    headline(&o);
    jm_show_ladder_text(&o);
    if (!r->ladder || opts->all) /* a row a level says it */
        energies(&o);
    jm_show_impact_text(&o);
    if (opts->reconcile)
        jm_reconcile_text(&o);
    jm_show_phases_text(&o);
    slices(&o);
    jm_groups_text(&o);
    jm_load_text(&o);
    jm_show_engine_text(&o);
    jm_claims_text(&o);
    jm_show_lags_text(&o);
    jm_show_passports_text(&o);
    windows(&o);
    findings(&o);
    return jm_str_ok(s, "the text of the report", err);
}
