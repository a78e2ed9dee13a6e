/* SPDX-License-Identifier: Apache-2.0 */
#include "show/fmt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

const char *jm_fmt_number(char buf[JM_FMT], double v)
{
    if (!isfinite(v)) {
        snprintf(buf, JM_FMT, "–");
        return buf;
    }
    double a = fabs(v);
    int digits = a == 0 || a >= 1000 ? 0 : a >= 100 ? 1 : a >= 10 ? 2 : a >= 1 ? 3 : 4;
    if (a > 0 && a < 0.1) {
        digits = 3 - (int)floor(log10(a));
        if (digits > 7) {
            snprintf(buf, JM_FMT, "%.3e", v);
            return buf;
        }
    }
    if (a >= 1e7)
        snprintf(buf, JM_FMT, "%.4g", v);
    else
        snprintf(buf, JM_FMT, "%.*f", digits, v);
    return buf;
}

double jm_fmt_seconds(int64_t a, int64_t b)
{
    int64_t d;
    return __builtin_sub_overflow(a, b, &d) ? (double)a / 1e9 - (double)b / 1e9 : (double)d / 1e9;
}

const char *jm_fmt_next(const char *s, struct jm_span *one)
{
    const unsigned char *p = (const unsigned char *)s;
    if (!*p)
        return NULL;
    size_t n = jm_utf8_len(s, strnlen(s, 4));
    bool bad = !n || (n == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe) /* U+FFFE, F: not in XML */ ||
               *p < 0x20 || *p == 0x7f || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0) ||
               /* U+200E, F; U+202A to E; U+2066 to 9 */
               (n == 3 && p[0] == 0xe2 &&
                ((p[1] == 0x80 && ((p[2] >= 0xaa && p[2] <= 0xae) || p[2] == 0x8e || p[2] == 0x8f)) ||
                 (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)));
    *one = *p == '\n' || *p == '\t' || *p == '\r' ? (struct jm_span){" ", 1}
           : bad                                  ? (struct jm_span){"\xef\xbf\xbd", 3}
                                                  : (struct jm_span){s, n};
    return s + (n ? n : 1);
}

/* Prefix of plain J, W and s; ratios keep their unit so that they compare. */
static double prefix(double v, const char *unit, const char **p)
{
    double a = fabs(v);
    *p = "";
    if (strcmp(unit, "J") == 0 || strcmp(unit, "W") == 0) {
        static const struct {
            double f;
            const char *p;
        } up[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
        for (int i = 0; i < 3; i++)
            if (a >= up[i].f) {
                *p = up[i].p;
                return up[i].f;
            }
        if (a > 0 && a < 1) {
            *p = "m";
            return 1e-3;
        }
    } else if (strcmp(unit, "s") == 0 && a > 0 && a < 1) {
        *p = a < 1e-3 ? "µ" : "m";
        return a < 1e-3 ? 1e-6 : 1e-3;
    }
    return 1;
}

/* To the digits shown, so that 999.99 J is 1.000 kJ and not 1000.0 J. */
static double rounded(double v)
{
    double scale = v != 0 ? pow(10, 3 - floor(log10(fabs(v)))) : 1;
    return isfinite(scale) && isfinite(v * scale) ? round(v * scale) / scale : v;
}

const char *jm_fmt_value(char buf[JM_FMT], double v, const char *unit)
{
    const char *p;
    char num[JM_FMT];
    if (!isfinite(v)) {
        snprintf(buf, JM_FMT, "–");
        return buf;
    }
    v = rounded(v);
    double f = prefix(v, unit, &p);
    if (strcmp(unit, "ratio") == 0)
        unit = "";
    snprintf(buf, JM_FMT, "%.32s%s%s%.16s", jm_fmt_number(num, v / f), *unit || *p ? " " : "", p, unit);
    return buf;
}

const char *jm_fmt_pm(char buf[JM_FMT], const struct jm_quantity *q)
{
    const char *p;
    char num[JM_FMT];
    buf[0] = '\0';
    if (!q->have || !q->u.method || !isfinite(q->u.lo) || !isfinite(q->u.hi))
        return buf;
    double f = prefix(rounded(q->value), q->unit, &p), half = (q->u.hi - q->u.lo) / 2 / f;
    /* smaller than the last digit shown: as a share */
    double percent = 100 * half * f / fabs(q->value);
    if (q->value != 0 && percent < 0.05) {
        if (percent > 0 && percent < 0.001)
            snprintf(buf, JM_FMT, "± < 0.001 %%");
        else
            snprintf(buf, JM_FMT, "± %.2g %%", percent);
        return buf;
    }
    if (half >= 10 || half == 0)
        snprintf(num, sizeof num, "%.0f", half);
    else
        snprintf(num, sizeof num, "%.2g", half);
    snprintf(buf, JM_FMT, "± %.32s", num);
    return buf;
}

const char *jm_fmt_count(char buf[JM_FMT], int64_t n)
{
    char raw[32];
    if (n < 0) {
        snprintf(buf, JM_FMT, "unknown");
        return buf;
    }
    int len = snprintf(raw, sizeof raw, "%lld", (long long)n), o = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            buf[o++] = ',';
        buf[o++] = raw[i];
    }
    buf[o] = '\0';
    return buf;
}

const char *jm_fmt_amount(char buf[JM_FMT], double v)
{
    char n[JM_FMT];
    if (!(fabs(v) < 9e18)) {
        snprintf(buf, JM_FMT, "–");
        return buf;
    }
    int64_t whole = llround(v);
    jm_fmt_count(n, whole < 0 ? -whole : whole);
    snprintf(buf, JM_FMT, "%s%.40s", whole < 0 ? "-" : "", n);
    return buf;
}

const char *jm_fmt_part(char buf[JM_FMT], const char *name, double v)
{
    char num[JM_FMT];
    const char *unit = strncmp(name, "energy", 6) == 0                    ? "J"
                       : strcmp(name, "power.mean.mlperf") == 0           ? "W"
                       : strcmp(name, "seconds") == 0                     ? "s"
                       : strcmp(name, "power.mean.mlperf x seconds") == 0 ? "J"
                                                                          : "";
    if (*unit)
        jm_fmt_value(num, v, unit);
    else if (v >= 0 && v < 9e15 && (v >= 1000 || v == floor(v)))
        jm_fmt_count(num, llround(v));
    else
        jm_fmt_number(num, v);
    snprintf(buf, JM_FMT, "%.24s %.38s", num, name);
    return buf;
}

const char *jm_fmt_tick(char buf[JM_FMT], double v, const char *unit)
{
    const char *p;
    double f = prefix(v, unit, &p);
    snprintf(buf, JM_FMT, "%.4g%s%s%.16s", v / f, *unit ? " " : "", p, unit);
    return buf;
}

const char *jm_fmt_quantile(char buf[JM_FMT], double q)
{
    if (isnan(q))
        snprintf(buf, JM_FMT, "mean");
    else
        snprintf(buf, JM_FMT, "p%g", q * 100);
    return buf;
}

const char *jm_fmt_duration(char buf[JM_FMT], double s)
{
    if (s > 0 && s < 1)
        return jm_fmt_value(buf, s, "s");
    if (s < 120)
        snprintf(buf, JM_FMT, "%.4g s", s);
    else if (s < 7200)
        snprintf(buf, JM_FMT, "%.4g min", s / 60);
    else
        snprintf(buf, JM_FMT, "%.4g h", s / 3600);
    return buf;
}

const char *jm_fmt_time(const struct jm_report *r, int64_t mono, char buf[JM_FMT])
{
    char t[JM_RFC3339_SIZE];
    snprintf(buf, JM_FMT, "%s", jm_time_rfc3339((int64_t)((uint64_t)mono + (uint64_t)r->real_offset), t));
    return buf;
}

const char *jm_fmt_metric(const char *id)
{
    static const struct {
        const char *id, *title;
    } titles[] = {{"energy", "Energy"},
                  {"power.mean", "Mean power"},
                  {"power.mean.mlperf", "Mean power as MLPerf publishes it"},
                  {"power.max", "Highest power reading"},
                  {"energy.by_gauge", "Energy by the power gauges"},
                  {"j_per.output_token", "Energy per output token"},
                  {"j_per.input_token", "Energy per input token"},
                  {"j_per.total_token", "Energy per input and output token"},
                  {"j_per.request_ok", "Energy per successful request"},
                  {"j_per.request_any", "Energy per request of any end"},
                  {"j_per.qualified_token", "Energy per SLO-qualified token"},
                  {"tokens_per_j", "Output tokens per joule"},
                  {"kwh_per_mtok", "kWh per million output tokens"},
                  {"j_per.sample", "Energy per sample"},
                  {"samples_per_j", "Samples per joule"},
                  {"mj_per_stream", "Energy per stream query"},
                  {"wall_to_gpu", "Wall energy over GPU energy"},
                  {"energy.unexplained", "Energy at the wall that no device owns"},
                  {"requests_per_kwh", "Requests per kWh"}};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (strcmp(titles[i].id, id) == 0)
            return titles[i].title;
    return id;
}

bool jm_fmt_estimate(const struct jm_result *x)
{
    return x->q.provenance == JM_P_ESTIMATED;
}

/* Nothing but idle was recorded (joulemark idle): that is what the run is about. */
static bool only_idle(const struct jm_report *r)
{
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE)
            return false;
    return true;
}

bool jm_fmt_in_summary(const struct jm_report *r, const struct jm_result *x)
{
    if (x->window < 0)
        return true;
    enum jm_role role = r->windows[x->window].role;
    return (role == JM_R_MEASURE || (role == JM_R_IDLE && only_idle(r))) && !x->summarised;
}

bool jm_fmt_many_windows(const struct jm_report *r)
{
    int first = -2;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (!jm_fmt_in_summary(r, x))
            continue;
        if (first == -2)
            first = x->window;
        if (x->window != first)
            return true;
    }
    return false;
}

bool jm_fmt_same_as_gpu(const struct jm_report *r, const struct jm_result *x)
{
    if (x->q.boundary != JM_B_DEVICE || !x->n_domain)
        return false;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *g = &r->results[i];
        size_t same = 0;
        if (g->q.boundary != JM_B_GPU || g->window != x->window || strcmp(g->metric, "energy") != 0)
            continue;
        for (size_t k = 0; g->n_domain == x->n_domain && k < x->n_domain; k++)
            same += g->domain[k] == x->domain[k];
        return same == x->n_domain && g->of == x->of && g->q.provenance == x->q.provenance;
    }
    return false;
}

const struct jm_result *jm_fmt_find(const struct jm_report *r, const char *metric, enum jm_boundary b,
                                    double quantile)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (strcmp(x->metric, metric) == 0 && x->q.boundary == b && !jm_fmt_estimate(x) &&
            jm_fmt_in_summary(r, x) && (isnan(quantile) ? isnan(x->quantile) : x->quantile == quantile))
            return x;
    }
    return NULL;
}

const struct jm_result *jm_fmt_headline(const struct jm_report *r)
{
    static const char *const order[] = {"power.mean" /* of idle */,
                                        "j_per.output_token",
                                        "mj_per_stream",
                                        "j_per.sample",
                                        "power.mean.mlperf",
                                        "energy"};
    static const enum jm_boundary widest[] = {JM_B_WALL, JM_B_NODE, JM_B_DEVICE, JM_B_GPU};
    const struct jm_result *spare = NULL;
    /* boards that serve somebody else do not head what this endpoint costs */
    bool others = jm_fmt_find(r, "energy.other_gpus", JM_B_GPU, NAN) != NULL;
    for (size_t m = only_idle(r) ? 0 : 1; m < sizeof order / sizeof order[0]; m++)
        for (size_t b = 0; b < 4; b++) {
            const struct jm_result *x = jm_fmt_find(r, order[m], widest[b], NAN);
            const struct jm_result *gpu =
                others && widest[b] == JM_B_DEVICE ? jm_fmt_find(r, order[m], JM_B_GPU, NAN) : NULL;
            if (gpu && gpu->q.have)
                return gpu;
            if (x && jm_fmt_same_as_gpu(r, x))
                continue; /* named by what it is */
            if (x && x->q.have)
                return x;
            if (x && !spare)
                spare = x;
        }
    return spare;
}

static bool alike(const struct jm_finding *a, const struct jm_finding *b)
{
    return a->severity == b->severity && strcmp(a->id, b->id) == 0;
}

static size_t before(const struct jm_report *r, size_t finding)
{
    size_t n = 0;
    for (size_t i = 0; i < finding && n < JM_FMT_ALIKE; i++)
        n += alike(&r->findings[i], &r->findings[finding]);
    return n;
}

bool jm_fmt_repeats(const struct jm_report *r, size_t finding)
{
    return before(r, finding) >= JM_FMT_ALIKE;
}

size_t jm_fmt_more(const struct jm_report *r, size_t finding)
{
    size_t n = 0;
    if (before(r, finding) != JM_FMT_ALIKE - 1)
        return 0;
    for (size_t i = finding + 1; i < r->n_findings; i++)
        n += alike(&r->findings[i], &r->findings[finding]);
    return n;
}

const char *jm_fmt_validity(enum jm_validity v)
{
    static const char *const names[] = {"valid", "valid with findings", "INVALID"};
    return v < JM_V_COUNT ? names[v] : "?";
}
