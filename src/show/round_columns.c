/* SPDX-License-Identifier: Apache-2.0 */
#include "show/round_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"

#include "base/banned.h"

const char *jm_round_metric(char buf[JM_FMT], double v, const char *unit)
{
    if (strcmp(unit, "millijoules") == 0)
        return jm_fmt_value(buf, v / 1000, "J");
    return jm_fmt_value(buf, v, strcmp(unit, "Joules") == 0 ? "J" : "W");
}

const char *jm_round_percent(char buf[JM_FMT], double ratio)
{
    double p = 100 * ratio;
    buf[0] = '\0';
    if (isfinite(p))
        snprintf(buf, JM_FMT, fabs(p) < 0.005 ? "0.00 %%" : fabs(p) < 100 ? "%+.2f %%" : "%+.3g %%", p);
    return buf;
}

#define N(id, expr)                                                                                          \
    static double n_##id(const struct jm_round_row *r)                                                       \
    {                                                                                                        \
        return expr;                                                                                         \
    }
#define T(id, expr)                                                                                          \
    static const char *t_##id(const struct jm_round_row *r, char buf[JM_FMT])                                \
    {                                                                                                        \
        (void)buf;                                                                                           \
        return expr;                                                                                         \
    }
#define S(id, expr)                                                                                          \
    static const char *s_##id(const struct jm_round_row *r, char buf[JM_FMT])                                \
    {                                                                                                        \
        return expr;                                                                                         \
    }
#define PAIR(id) N(id, r->id.published) N(id##_proper, r->id.proper) N(id##_lo, r->id.lo) N(id##_hi, r->id.hi)

static double counted(int64_t n)
{
    return n < 0 ? NAN : (double)n;
}

static double verdicts(const struct jm_round_row *r, enum jm_round_verdict v)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_finding; i++)
        n += r->finding[i].verdict == v;
    return r->checked ? (double)n : NAN;
}

/* "pass/FAIL": the official checker's verdict and ours. */
static const char *both(const struct jm_round_row *r, char buf[JM_FMT])
{
    static const char *const words[] = {"–", "pass", "note", "warn", "FAIL"};
    if (r->error && !r->checked)
        return "unread";
    if (r->unofficial)
        return "unofficial";
    snprintf(buf, JM_FMT, "%s/%s", words[r->official], words[r->own]);
    return r->checked ? buf : NULL;
}

static const char *scenario(const struct jm_round_row *r, char buf[JM_FMT])
{
    if (!r->scenario)
        return NULL;
    snprintf(buf, JM_FMT, "%.40s%s", r->scenario, r->inferred ? "*" : "");
    return buf;
}

static const char *efficiency(const struct jm_round_row *r, char buf[JM_FMT])
{
    const struct jm_round_pair *p = jm_round_efficiency(r);
    char v[JM_FMT];
    if (!p || !isfinite(p->published))
        return NULL;
    snprintf(buf, JM_FMT, "%.40s %s", jm_fmt_number(v, p->published),
             p == &r->tokens_per_j ? "tok/J" : "smp/J");
    return buf;
}

static double efficiency_number(const struct jm_round_row *r)
{
    const struct jm_round_pair *p = jm_round_efficiency(r);
    return p ? p->published : NAN;
}

static const char *reported(const struct jm_round_row *r, char buf[JM_FMT])
{
    char v[JM_FMT];
    if (isnan(r->reported))
        return NULL;
    jm_round_metric(v, r->reported, r->reported_unit);
    snprintf(buf, JM_FMT, "%.40s %s", v, r->reported_agrees ? "=" : "≠");
    return buf;
}

static const char *kind(const struct jm_round_row *r)
{
    static const char *const names[] = {"session", "training", "tiny", "nameplate"};
    return names[r->kind];
}

/* clang-format off */
PAIR(power)
PAIR(energy)
PAIR(mj_per_stream)
PAIR(samples_per_j)
PAIR(j_per_token)
PAIR(tokens_per_j)
N(metric, r->metric)
N(metric_proper, r->metric_proper)
N(performance, r->performance)
N(samples_per_s, r->samples_per_s)
N(tokens_per_s, r->tokens_per_s)
N(seconds, r->seconds)
N(queries, r->queries)
N(dropped, r->dropped)
N(samples, counted(r->window.rows))
N(over, counted(r->window.over))
N(missed, counted(r->window.missed))
N(bad, counted(r->window.bad))
N(difference, jm_round_difference(r))
N(reported, r->reported)
N(reported_off, r->reported_off)
N(design, r->design_power_w)
N(nodes, r->nodes)
N(accelerators, jm_round_accelerators(r))
N(fails, verdicts(r, JM_RV_FAIL))
N(warns, verdicts(r, JM_RV_WARN))
N(gap, r->max_gap_s)
T(kind, kind(r))
T(round, r->round)
T(division, r->division)
T(availability, r->availability)
T(submitter, r->submitter)
T(suite, r->suite)
T(system, r->system)
T(system_name, r->system_name)
T(accelerator, r->accelerator)
T(benchmark, r->benchmark)
T(scenario, r->scenario)
T(run_scenario, r->run_scenario)
T(inferred, r->inferred ? "yes" : "no")
T(metric_unit, r->metric_unit[0] ? r->metric_unit : NULL)
T(performance_unit, r->performance_unit[0] ? r->performance_unit : NULL)
T(path, r->path)
T(error, r->error)
T(official, r->checked ? jm_round_verdict_name(r->official) : NULL)
T(own, r->checked ? jm_round_verdict_name(r->own) : NULL)
T(reported_unit, r->reported_unit[0] ? r->reported_unit : NULL)
T(provenance, r->provenance)
T(unofficial, r->unofficial)
S(power, jm_fmt_value(buf, r->power.published, "W"))
S(power_proper, jm_fmt_value(buf, r->power.proper, "W"))
S(energy, jm_fmt_value(buf, r->energy.published, "J"))
S(energy_proper, jm_fmt_value(buf, r->energy.proper, "J"))
S(metric, jm_round_metric(buf, r->metric, r->metric_unit))
S(metric_proper, jm_round_metric(buf, r->metric_proper, r->metric_unit))
S(seconds, jm_fmt_duration(buf, r->seconds))
S(difference, jm_round_percent(buf, jm_round_difference(r)))
S(reported_off, jm_round_percent(buf, r->reported_off))
S(design, jm_fmt_value(buf, r->design_power_w, "W"))

const struct jm_round_column jm_round_columns[] = {
    {"kind", NULL, "session, training, tiny or nameplate", false, 8, NULL, t_kind, NULL, true},
    {"round", NULL, "Round whose rules were applied.", false, 6, NULL, t_round, NULL, true},
    {"division", NULL, "closed or open", false, 7, NULL, t_division, NULL, true},
    {"availability", NULL, "available, preview or rdi", false, 12, NULL, t_availability, NULL, true},
    {"submitter", NULL, "Who submitted it.", false, 18, NULL, t_submitter, NULL, true},
    {"suite", NULL, "datacenter or edge", false, 12, NULL, t_suite, NULL, true},
    {"system", NULL, "Folder of the system.", false, 32, NULL, t_system, NULL, true},
    {"system_name", "name", "Its name in the description.", false, 48, NULL, t_system_name, NULL, true},
    {"accelerator", NULL, "Model of the accelerators.", false, 28, NULL, t_accelerator, NULL, true},
    {"accelerators", "acc.", "Accelerators of all nodes.", true, 5, n_accelerators, NULL, NULL, true},
    {"nodes", NULL, "Nodes.", true, 5, n_nodes, NULL, NULL, true},
    {"benchmark", NULL, "Benchmark as the submission names it.", false, 24, NULL, t_benchmark, NULL, true},
    {"scenario", NULL, "Scenario that is claimed; a star: inferred from the run of another.", false, 13, NULL, t_scenario, scenario, true},
    {"run_scenario", "ran", "Scenario that ran.", false, 12, NULL, t_run_scenario, NULL, true},
    {"inferred", NULL, "Whether the two differ.", false, 8, NULL, t_inferred, NULL, true},
    {"metric", "published", "Power metric by the rule of the round.", true, 12, n_metric, NULL, s_metric, true},
    {"metric_unit", "unit", "Unit of the metric in that round.", false, 11, NULL, t_metric_unit, NULL, true},
    {"metric_proper", "proper", "The same as it should be.", true, 12, n_metric_proper, NULL, s_metric_proper, true},
    {"power", "power", "Mean power as published, W.", true, 12, n_power, NULL, s_power, true},
    {"power_proper", NULL, "Mean power, time-weighted, W.", true, 12, n_power_proper, NULL, s_power_proper, true},
    {"power_lo", NULL, "Lower end of its 95 % interval.", true, 12, n_power_lo, NULL, NULL, true},
    {"power_hi", NULL, "Upper end of its 95 % interval.", true, 12, n_power_hi, NULL, NULL, true},
    {"energy", "energy", "Energy of the load window as published, J.", true, 12, n_energy, NULL, s_energy, true},
    {"energy_proper", NULL, "The same, time-weighted, J.", true, 12, n_energy_proper, NULL, s_energy_proper, true},
    {"energy_lo", NULL, "Lower end of its 95 % interval.", true, 12, n_energy_lo, NULL, NULL, true},
    {"energy_hi", NULL, "Upper end of its 95 % interval.", true, 12, n_energy_hi, NULL, NULL, true},
    {"per_joule", "per joule", "Tokens per joule where there are tokens, else samples per joule.", true, 18, efficiency_number, NULL, efficiency, false},
    {"samples_per_j", "samples/J", "Samples per joule, as published.", true, 10, n_samples_per_j, NULL, NULL, true},
    {"samples_per_j_proper", NULL, "Samples per joule, as it should be.", true, 12, n_samples_per_j_proper, NULL, NULL, true},
    {"samples_per_j_lo", NULL, "Lower end of its 95 % interval.", true, 12, n_samples_per_j_lo, NULL, NULL, true},
    {"samples_per_j_hi", NULL, "Upper end of its 95 % interval.", true, 12, n_samples_per_j_hi, NULL, NULL, true},
    {"tokens_per_j", "tokens/J", "Output tokens per joule, as published.", true, 10, n_tokens_per_j, NULL, NULL, true},
    {"tokens_per_j_proper", NULL, "Output tokens per joule, as it should be.", true, 12, n_tokens_per_j_proper, NULL, NULL, true},
    {"tokens_per_j_lo", NULL, "Lower end of its 95 % interval.", true, 12, n_tokens_per_j_lo, NULL, NULL, true},
    {"tokens_per_j_hi", NULL, "Upper end of its 95 % interval.", true, 12, n_tokens_per_j_hi, NULL, NULL, true},
    {"j_per_token", "J/token", "Joules per output token, as published.", true, 10, n_j_per_token, NULL, NULL, true},
    {"j_per_token_proper", NULL, "Joules per output token, as it should be.", true, 12, n_j_per_token_proper, NULL, NULL, true},
    {"j_per_token_lo", NULL, "Lower end of its 95 % interval.", true, 12, n_j_per_token_lo, NULL, NULL, true},
    {"j_per_token_hi", NULL, "Upper end of its 95 % interval.", true, 12, n_j_per_token_hi, NULL, NULL, true},
    {"mj_per_stream", "mJ/query", "mJ per query of a stream, as published.", true, 10, n_mj_per_stream, NULL, NULL, true},
    {"mj_per_stream_proper", NULL, "mJ per query of a stream, as it should be.", true, 12, n_mj_per_stream_proper, NULL, NULL, true},
    {"mj_per_stream_lo", NULL, "Lower end of its 95 % interval.", true, 12, n_mj_per_stream_lo, NULL, NULL, true},
    {"mj_per_stream_hi", NULL, "Upper end of its 95 % interval.", true, 12, n_mj_per_stream_hi, NULL, NULL, true},
    {"performance", NULL, "Performance metric of the round.", true, 12, n_performance, NULL, NULL, true},
    {"performance_unit", NULL, "Its unit.", false, 18, NULL, t_performance_unit, NULL, true},
    {"samples_per_s", NULL, "Samples a second.", true, 12, n_samples_per_s, NULL, NULL, true},
    {"tokens_per_s", NULL, "Output tokens a second.", true, 12, n_tokens_per_s, NULL, NULL, true},
    {"difference", "differs", "Proper over published power minus 1.", true, 9, n_difference, NULL, s_difference, true},
    {"seconds", "window", "Length of the load window, s.", true, 12, n_seconds, NULL, s_seconds, true},
    {"queries", NULL, "Queries.", true, 12, n_queries, NULL, NULL, true},
    {"samples", NULL, "Power samples inside the window.", true, 12, n_samples, NULL, NULL, true},
    {"dropped", NULL, "Samples that the published mean leaves out.", true, 12, n_dropped, NULL, NULL, true},
    {"over_range", NULL, "Over-range samples inside the window.", true, 12, n_over, NULL, NULL, true},
    {"missed", NULL, "Missed samples inside the window.", true, 12, n_missed, NULL, NULL, true},
    {"bad", NULL, "Samples without a reading inside the window.", true, 12, n_bad, NULL, NULL, true},
    {"max_gap_s", NULL, "Longest gap between samples, s.", true, 12, n_gap, NULL, NULL, true},
    {"check", NULL, "Verdict of the official checker, and ours.", false, 10, NULL, both, both, false},
    {"official", NULL, "Verdict of the official checker of the round.", false, 8, NULL, t_official, NULL, true},
    {"ours", NULL, "Our own verdict.", false, 8, NULL, t_own, NULL, true},
    {"fails", NULL, "Rules that failed.", true, 6, n_fails, NULL, NULL, true},
    {"warns", NULL, "Rules that warned.", true, 6, n_warns, NULL, NULL, true},
    {"reported", NULL, "Value of a results table beside the logs.", true, 14, n_reported, NULL, reported, true},
    {"reported_unit", NULL, "Its unit.", false, 11, NULL, t_reported_unit, NULL, true},
    {"reported_off", NULL, "Published value over it minus 1.", true, 9, n_reported_off, NULL, s_reported_off, true},
    {"design_power", "nameplate", "Nameplate power, declared and never measured, W.", true, 12, n_design, NULL, s_design, true},
    {"provenance", NULL, "measured or simulated", false, 9, NULL, t_provenance, NULL, true},
    {"unofficial", NULL, "Why it is no official measurement.", false, 40, NULL, t_unofficial, NULL, true},
    {"path", NULL, "Where it lies.", false, 60, NULL, t_path, NULL, true},
    {"error", NULL, "Why there are no figures.", false, 60, NULL, t_error, NULL, true},
    {NULL}};
/* clang-format on */

const struct jm_round_column *jm_round_column_find(struct jm_span name)
{
    for (const struct jm_round_column *c = jm_round_columns; c->name; c++)
        if (jm_span_is(name, c->name))
            return c;
    return NULL;
}

static int unknown(struct jm_span name, struct jm_err *err)
{
    const char *best = NULL;
    unsigned least = 99;
    int n = (int)(name.n < 40 ? name.n : 40);
    for (const struct jm_round_column *c = jm_round_columns; c->name; c++) {
        unsigned d = jm_near_distance(name, jm_span_of(c->name));
        if (d < least) {
            least = d;
            best = c->name;
        }
    }
    if (best && jm_near_plausible(least, name.n))
        return jm_err_set(err, JM_EUSAGE, "there is no column \"%.*s\"; did you mean %s?", n, name.p, best);
    return jm_err_set(err, JM_EUSAGE, "there is no column \"%.*s\"; docs/mlperf.md lists them", n, name.p);
}

int jm_round_column_list(const char *list, const struct jm_round_column *out[JM_ROUND_COLUMNS],
                         struct jm_err *err)
{
    struct jm_span rest = jm_span_of(list), item;
    int n = 0;
    while (jm_span_field(&rest, ',', &item)) {
        item = jm_span_trim(item);
        const struct jm_round_column *c = jm_round_column_find(item);
        if (!c)
            return unknown(item, err);
        if (n == JM_ROUND_COLUMNS)
            return jm_err_set(err, JM_EUSAGE, "more than %d columns", JM_ROUND_COLUMNS);
        out[n++] = c;
    }
    return n ? n : jm_err_set(err, JM_EUSAGE, "no column is named; docs/mlperf.md lists them");
}

const char *jm_round_cell(const struct jm_round_column *c, const struct jm_round_row *r, char buf[JM_FMT])
{
    const char *s = NULL;
    if (c->number && isnan(c->number(r)))
        return "–";
    if (c->shown)
        s = c->shown(r, buf);
    else if (c->text)
        s = c->text(r, buf);
    else if (c->number(r) == floor(c->number(r)) && fabs(c->number(r)) < 1e9)
        s = jm_fmt_count(buf, (int64_t)c->number(r));
    else
        s = jm_fmt_number(buf, c->number(r));
    return s ? s : "–";
}

struct key {
    const struct jm_round_column *c;
    bool down;
};
struct keys {
    struct key key[JM_ROUND_COLUMNS];
    int n;
};

static int order(const struct keys *k, const struct jm_round_row *a, const struct jm_round_row *b)
{
    char x[JM_FMT], y[JM_FMT];
    for (int i = 0; i < k->n && a->kind == b->kind; i++) {
        const struct jm_round_column *c = k->key[i].c;
        int d;
        if (c->number) {
            double u = c->number(a), v = c->number(b);
            if (isnan(u) || isnan(v)) {
                if (isnan(u) != isnan(v))
                    return isnan(u) ? 1 : -1;
                continue;
            }
            d = (u > v) - (u < v);
        } else {
            const char *u = c->text(a, x), *v = c->text(b, y);
            if (!u || !v) {
                if (!u != !v)
                    return u ? -1 : 1;
                continue;
            }
            d = jm_round_natural(u, v);
        }
        if (d)
            return k->key[i].down ? -d : d;
    }
    return jm_round_compare(a, b);
}

/* Merge sort: qsort knows no context, and the order of equal rows has to stay. */
static void merge(const struct keys *k, struct jm_round_row **v, struct jm_round_row **tmp, size_t n)
{
    if (n < 2)
        return;
    size_t m = n / 2, i = 0, j = m, o = 0;
    merge(k, v, tmp, m);
    merge(k, v + m, tmp, n - m);
    while (i < m || j < n)
        tmp[o++] = j == n || (i < m && order(k, v[i], v[j]) <= 0) ? v[i++] : v[j++];
    memcpy(v, tmp, n * sizeof *v);
}

int jm_round_sort(struct jm_round_table *t, const char *list, struct jm_err *err)
{
    struct keys k = {.n = 0};
    struct jm_span rest = jm_span_of(list ? list : ""), item;
    while (list && jm_span_field(&rest, ',', &item)) {
        item = jm_span_trim(item);
        bool down = item.n && item.p[0] == '-';
        if (down)
            item = jm_span_sub(item, 1, item.n);
        const struct jm_round_column *c = jm_round_column_find(item);
        if (!c)
            return unknown(item, err);
        if (k.n == JM_ROUND_COLUMNS)
            return jm_err_set(err, JM_EUSAGE, "more than %d columns to sort by", JM_ROUND_COLUMNS);
        k.key[k.n++] = (struct key){c, down};
    }
    if (!list || t->n_row < 2)
        return 0;
    struct jm_round_row **tmp = calloc(t->n_row, sizeof *tmp);
    if (!tmp)
        return jm_err_set(err, JM_ENOMEM, "out of memory for sorting %zu rows", t->n_row);
    merge(&k, t->row, tmp, t->n_row);
    free(tmp);
    return 0;
}

int jm_round_columns_known(const char *columns, const char *sort, struct jm_err *err)
{
    const struct jm_round_column *c[JM_ROUND_COLUMNS];
    struct jm_round_table none = {0};
    int n = columns ? jm_round_column_list(columns, c, err) : 0;
    return n < 0 ? n : jm_round_sort(&none, sort, err);
}
