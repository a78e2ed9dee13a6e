/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says of itself, item by item of the disclosure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/checks.h"
#include "audit/disclosed.h"
#include "base/str.h"

#include "base/banned.h"

static const char *boundaries(struct jm_report *r)
{
    const char *text = NULL;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (strcmp(x->metric, "energy") != 0 && strcmp(x->metric, "power.mean.mlperf") != 0)
            continue;
        const char *one =
            jm_report_text(r, "%s by %s", x->set ? x->set : jm_boundary_name((int)x->q.boundary),
                           x->instrument ? x->instrument : "?");
        if (one && (!text || (strlen(text) < 2000 && !strstr(text, one))))
            text = text ? jm_report_text(r, "%s; %s", text, one) : one;
    }
    return text;
}

static const char *dist(struct jm_report *r, const struct jm_dist *d)
{
    return d->n ? jm_report_text(r, "mean %.4g, p50 %.4g, p90 %.4g, p99 %.4g, max %.4g (%lld requests)",
                                 d->mean, d->p50, d->p90, d->p99, d->max, (long long)d->n)
                : NULL;
}

static const char *windows(struct jm_report *r)
{
    double shortest = INFINITY;
    int n = 0;
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE) {
            double s = jm_seconds_apart(r->windows[i].t1, r->windows[i].t0);
            shortest = s < shortest ? s : shortest;
            n++;
        }
    return n ? jm_report_text(r, "%d x %.4g s", n, shortest) : NULL;
}

/* Is the device one that serves? Where nothing tells, all are. */
static bool serves(const struct jm_report *r, int window, int domain)
{
    const struct jm_result *x = jm_report_find(r, "energy", JM_B_GPU, window);
    for (size_t i = 0; x && i < x->n_domain; i++)
        if (x->domain[i] == domain)
            return true;
    return !x || !x->n_domain || domain < 0;
}

/* Mean of a gauge of every serving device over the first measured window: "SM 1980 MHz". */
static const char *mean_of(const struct jm_run *run, struct jm_report *r, const char *channel,
                           const char *unit, double scale, struct jm_err *err)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t w = 0; w < r->n_windows; w++) {
        if (r->windows[w].role != JM_R_MEASURE)
            continue;
        for (size_t c = 0; c < r->n_channels; c++) {
            struct jm_readings buf = {0};
            double sum = 0;
            size_t n = 0;
            if (strcmp(r->channels[c].name, channel) != 0 || !serves(r, (int)w, r->channels[c].domain))
                continue;
            int rc = jm_run_readings(run, (int)c, r->windows[w].t0, r->windows[w].t1, &buf, err);
            if (!rc)
                for (size_t i = 0; i < buf.n; i++)
                    if (buf.v[i].status == JM_S_OK) {
                        sum += jm_channel_value(&r->channels[c], buf.v[i].value) * scale;
                        n++;
                    }
            jm_readings_release(&buf);
            if (rc) /* a mean of a part of the devices would pass for that of all */
                return NULL;
            if (n) {
                lo = sum / (double)n < lo ? sum / (double)n : lo;
                hi = sum / (double)n > hi ? sum / (double)n : hi;
            }
        }
        break;
    }
    if (!isfinite(lo))
        return NULL;
    return hi - lo < 0.005 * hi ? jm_report_text(r, "%.4g %s", hi, unit)
                                : jm_report_text(r, "%.4g to %.4g %s", lo, hi, unit);
}

static const char *level(const struct jm_run *run, struct jm_report *r)
{
    double users = jm_run_number_or(run, "plan.concurrency", "load.concurrency"),
           rate = jm_run_number_or(run, "plan.rate_per_s", "load.rate");
    const char *qps = jm_run_env(run, "loadgen.effective_target_qps");
    if (rate > 0)
        return users > 0 ? jm_report_text(r, "%.4g requests/s, at most %.4g in flight", rate, users)
                         : jm_report_text(r, "%.4g requests/s", rate);
    if (users > 0)
        return jm_report_text(r, "%.4g in flight", users);
    return qps ? jm_report_text(r, "target %s queries/s", qps) : NULL;
}

static const char *workload(const struct jm_run *run, struct jm_report *r)
{
    const char *file = jm_run_env(run, "load.prompts.sha256"), *mode = jm_run_env(run, "load.isl.mode");
    double isl = jm_run_number_or(run, "plan.isl", "load.isl"),
           osl = jm_run_number_or(run, "plan.osl", "load.osl");
    const char *synthetic = jm_run_env(run, "load.synthetic");
    if (isl > 0 && !(synthetic && strcmp(synthetic, "no") == 0))
        return osl > 0 ? jm_report_text(r, "synthetic prompts, ISL %.4g%s%s, OSL %.4g", isl, mode ? " " : "",
                                        mode ? mode : "", osl)
                       : jm_report_text(r, "synthetic prompts, ISL %.4g", isl);
    if (file)
        return jm_report_text(r, "prompts of SHA-256 %.16s...", file);
    return jm_run_env(run, "mlperf.scenario");
}

/* "8 x NVIDIA H100 80GB HBM3", from the facts gpu.N.name. */
static const char *accelerators(const struct jm_run *run, struct jm_report *r)
{
    const char *text = NULL;
    for (size_t i = 0; i < r->n_env; i++) {
        size_t n = strlen(r->env[i].key), same = 0;
        bool first = true;
        if (strncmp(r->env[i].key, "gpu.", 4) != 0 || n < 10 || strcmp(r->env[i].key + n - 5, ".name") != 0)
            continue;
        for (size_t k = 0; k < r->n_env; k++) {
            size_t m = strlen(r->env[k].key);
            if (strncmp(r->env[k].key, "gpu.", 4) != 0 || m < 10 ||
                strcmp(r->env[k].key + m - 5, ".name") != 0 || strcmp(r->env[k].value, r->env[i].value) != 0)
                continue;
            first &= k >= i;
            same++;
        }
        if (first)
            text = text ? jm_report_text(r, "%s, %zu x %s", text, same, r->env[i].value)
                        : jm_report_text(r, "%zu x %s", same, r->env[i].value);
    }
    if (text)
        return text;
    const char *name = jm_run_env(run, "sut.accelerator_model_name"),
               *each = jm_run_env(run, "sut.accelerators_per_node");
    return name && each ? jm_report_text(r, "%s x %s", each, name) : name;
}

static const char *idle(const struct jm_run *run, struct jm_report *r)
{
    const char *text = NULL;
    int n = 0;
    for (size_t i = 0; i < r->n_windows && n < 4; i++) {
        char key[64];
        if (r->windows[i].role != JM_R_IDLE)
            continue;
        snprintf(key, sizeof key, "idle.%d.class", r->windows[i].id);
        const char *class = jm_run_env(run, key);
        n++;
        double s = jm_seconds_apart(r->windows[i].t1, r->windows[i].t0);
        text = text ? jm_report_text(r, "%s, %s idle for %.4g s", text, class ? class : "unnamed", s)
                    : jm_report_text(r, "%s idle for %.4g s", class ? class : "unnamed", s);
    }
    if (text)
        return jm_report_text(r, "%s; gross figures first, net ones beside them", text);
    return r->n_windows ? "no idle window: gross figures only" : NULL;
}

/* Who told of the engine, and how its tokens are counted. */
static const char *telemetry(struct jm_report *r)
{
    size_t n = 0, told = 0;
    const char *title = NULL;
    bool step = true;
    for (size_t i = 0; i < r->n_engine; i++) {
        const struct jm_engine_source *e = &r->engine[i];
        if (e->host)
            continue;
        n++;
        told += e->scrapes > 0;
        title = e->scrapes && e->title ? e->title : title;
        step &= !e->scrapes || e->per_step;
    }
    if (!told)
        return r->engine_mode && strcmp(r->engine_mode, "off") == 0 ? "not asked for" : "none answered";
    return jm_report_text(r, "%s, %zu of %zu sources, tokens counted %s",
                          title ? title : "of an engine that is not known", told, n,
                          step ? "as they are made" : "when a request ends");
}

const char *jm_said_boundary(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    (void)err;
    return boundaries(r);
}

const char *jm_said_denominator(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)err;
    return r->has_requests                  ? "output tokens as counted by the server, at their stamps"
           : jm_run_env(run, "import.kind") ? "tokens/s as LoadGen reports them"
                                            : NULL;
}

const char *jm_said_isl(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    (void)err;
    return dist(r, &r->tokens.isl);
}

const char *jm_said_osl(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    (void)err;
    return dist(r, &r->tokens.osl);
}

const char *jm_said_workload(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)err;
    return workload(run, r);
}

const char *jm_said_level(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)err;
    return level(run, r);
}

const char *jm_said_accelerators(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)err;
    return accelerators(run, r);
}

const char *jm_said_telemetry(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    (void)err;
    return r->engine_mode ? telemetry(r) : NULL;
}

const char *jm_said_limit(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return mean_of(run, r, "power.limit", "W", 1, err);
}

const char *jm_said_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return mean_of(run, r, "clock.sm", "MHz", 1e-6, err);
}

const char *jm_said_temperature(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return mean_of(run, r, "temp", "°C", 1, err);
}

const char *jm_said_windows(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    (void)err;
    return windows(r);
}

const char *jm_said_idle(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)err;
    return idle(run, r);
}

const char *jm_said_tool(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *of = jm_run_env(run, "import.kind"), *version = jm_run_env(run, "import.version");
    (void)err;
    if (of)
        return jm_report_text(r, "%s%s%s, read by joulemark %s", of, version ? " " : "",
                              version ? version : "", r->joulemark ? r->joulemark : "?");
    return jm_report_text(r, "joulemark %s", r->joulemark ? r->joulemark : "?");
}

/* Over trials where there is such a row, else of the first window. */
static const struct jm_result *quantile(const struct jm_report *r, const char *metric, double q)
{
    const struct jm_result *found = NULL;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->q.have && !x->slice && strcmp(x->metric, metric) == 0 && fabs(x->quantile - q) < 1e-9 &&
            (!found || (x->window < 0 && found->window >= 0)))
            found = x;
    }
    return found;
}

const char *jm_said_percentiles(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const struct {
        const char *id, *name;
    } metric[] = {{"ttft", "TTFT"}, {"tpot.excl_first", "TPOT (first token excluded)"}};
    const char *text = NULL;
    (void)run;
    (void)err;
    for (size_t i = 0; i < 2; i++) {
        const struct jm_result *p50 = quantile(r, metric[i].id, 0.5), *p99 = quantile(r, metric[i].id, 0.99);
        if (p50 && p99)
            text = jm_report_text(r, "%s%s%s p50 %.4g ms, p99 %.4g ms", text ? text : "", text ? "; " : "",
                                  metric[i].name, p50->q.value * 1e3, p99->q.value * 1e3);
    }
    return text;
}

const char *jm_said_outcomes(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const struct jm_request_totals *t = &r->requests;
    (void)run;
    (void)err;
    if (!r->has_requests)
        return NULL;
    return t->qualified >= 0 ? jm_report_text(r, "%lld ok, %lld failed, %lld aborted; %lld inside the SLO",
                                              (long long)t->ok, (long long)t->failed, (long long)t->aborted,
                                              (long long)t->qualified)
                             : jm_report_text(r, "%lld ok, %lld failed, %lld aborted; no SLO",
                                              (long long)t->ok, (long long)t->failed, (long long)t->aborted);
}

const char *jm_said_trials(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    (void)err;
    return r->trials > 0
               ? jm_report_text(r, "%d%s", r->trials,
                                r->trials == 1 ? ", so that the scatter between runs is not known" : "")
               : NULL;
}

/* Of the mean over the trials where there are several, else of the first window. */
const char *jm_said_uncertainty(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const struct jm_result *of = NULL;
    (void)run;
    (void)err;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (strcmp(x->metric, "energy") == 0 && x->q.have && x->q.u.method &&
            (!of || (of->window >= 0 && x->window < 0)))
            of = x;
    }
    return of ? jm_report_text(r, "%.4g %% interval, %s; without %s", 100 * of->q.u.level, of->q.u.method,
                               of->q.u.excludes && of->q.u.excludes[0] ? of->q.u.excludes : "nothing known")
              : NULL;
}

const char *jm_said_calibration(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)err;
    for (size_t i = 0; i < r->n_results; i++)
        if (r->results[i].q.provenance == JM_P_CALIBRATED && r->results[i].q.have)
            return r->results[i].instrument;
    for (size_t i = 0; i < r->n_passports; i++)
        if (r->passports[i].channels > 0)
            return jm_report_text(r, "passport %.12s of %s", r->passports[i].sha256, r->passports[i].date);
    /* an outer meter of stated accuracy that was read in the same windows */
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        if (e->counted && e->domain >= 0 && c->gain_tol > 0 && !isnan(e->joules) && c->meter >= 0 &&
            (size_t)c->meter < r->n_meters && r->tree->d[e->domain].kind <= JM_D_INLET_DC)
            return jm_report_text(r, "%s at the wall of stated %.3g %%, read beside the others",
                                  r->meters[c->meter].name, 100 * c->gain_tol);
    }
    return jm_run_env(run, "calibration.id");
}

/* The stated accuracy of every instrument that counts, worst first. */
const char *jm_said_accuracy(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *text = NULL;
    (void)run;
    (void)err;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        if (!e->counted || !(c->gain_tol > 0) || c->meter < 0 || (size_t)c->meter >= r->n_meters)
            continue;
        const char *one = jm_report_text(r, "%s %.3g %%", r->meters[c->meter].name, 100 * c->gain_tol);
        if (one && (!text || (strlen(text) < 400 && !strstr(text, one))))
            text = text ? jm_report_text(r, "%s; %s", text, one) : one;
    }
    return text;
}

const char *jm_said_pue(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_str s;
    const char *text = NULL;
    (void)run;
    (void)err;
    if (!(r->pue.value > 0))
        return jm_report_text(r, "%cno facility figure is made", JM_SAID_NA);
    if (!r->pue.period[0])
        return NULL;
    jm_str_init(&s);
    jm_pue_say(&r->pue, &s);
    text = s.failed ? NULL : jm_report_text(r, "%s", s.buf);
    jm_str_release(&s);
    return text;
}

const char *jm_said_wue(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_str s;
    const char *text = NULL;
    (void)run;
    (void)err;
    if (!(r->wue.value > 0))
        return jm_report_text(r, "%cno water figure is made", JM_SAID_NA);
    if (!r->wue.period[0])
        return NULL;
    jm_str_init(&s);
    jm_wue_say(&r->wue, &s);
    text = s.failed ? NULL : jm_report_text(r, "%s", s.buf);
    jm_str_release(&s);
    return text;
}

const char *jm_said_factors(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *text = NULL;
    const char *old = jm_run_env(run, "factor.carbon");
    (void)err;
    for (size_t i = 0; i < r->n_factors && i < 12; i++) {
        const struct jm_factor *f = &r->factors[i];
        const char *kind = f->what == JM_FACTOR_CARBON ? jm_factor_kind_name((int)f->kind) : "";
        char value[48];
        if (isnan(f->constant))
            snprintf(value, sizeof value, "by time in");
        else
            snprintf(value, sizeof value, "%.4g", f->constant);
        text = jm_report_text(r, "%s%s%s %s %s %s%s%s%s of %s, %s", text ? text : "", text ? "; " : "",
                              jm_factor_what_name((int)f->what), f->zone, value, f->unit, *kind ? " (" : "",
                              kind, *kind ? ")" : "", f->vintage[0] ? f->vintage : "no stated time",
                              f->source[0] ? f->source : "no stated source");
    }
    return text ? text : old ? old : jm_report_text(r, "%cno carbon or cost figure is made", JM_SAID_NA);
}
