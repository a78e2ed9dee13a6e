/* SPDX-License-Identifier: Apache-2.0 */
/* The disclosure: what has to stand beside an energy figure so that somebody else can repeat it. The rows
 * follow the published checklists: boundary and instrument, denominator, ISL/OSL, model, precision, engine,
 * driver and NVML versions, power limit and clocks, load level, latencies, window, run count, idle policy,
 * PUE. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/checks.h"
#include "base/str.h"

#include "base/banned.h"

struct list {
    struct jm_report *r;
    struct jm_disclosure_row *row;
    size_t n, cap;
};

static void put(struct list *l, const char *key, const char *value)
{
    if (l->n < l->cap)
        l->row[l->n++] = (struct jm_disclosure_row){key, value ? value : "not known", value != NULL};
}

static void from_env(struct list *l, const struct jm_run *run, const char *key, const char *const *names)
{
    for (; *names; names++) {
        const char *v = jm_run_env(run, *names);
        if (v && v[0]) {
            put(l, key, v);
            return;
        }
    }
    put(l, key, NULL);
}
#define FROM(l, run, key, ...) from_env(l, run, key, (const char *const[]){__VA_ARGS__, NULL})

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

/* Mean of a gauge of every device over the first measured window: "SM 1980 MHz". */
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
            if (strcmp(r->channels[c].name, channel) != 0)
                continue;
            if (jm_run_readings(run, (int)c, r->windows[w].t0, r->windows[w].t1, &buf, err) == 0)
                for (size_t i = 0; i < buf.n; i++)
                    if (buf.v[i].status == JM_S_OK) {
                        sum += jm_channel_value(&r->channels[c], buf.v[i].value) * scale;
                        n++;
                    }
            jm_readings_release(&buf);
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

static double number_of(const struct jm_run *run, const char *a, const char *b)
{
    double v = jm_run_number(run, a);
    return isnan(v) ? jm_run_number(run, b) : v;
}

static const char *level(const struct jm_run *run, struct jm_report *r)
{
    double users = number_of(run, "plan.concurrency", "load.concurrency"),
           rate = number_of(run, "plan.rate_per_s", "load.rate");
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
    double isl = number_of(run, "plan.isl", "load.isl"), osl = number_of(run, "plan.osl", "load.osl");
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

int jm_disclosure(const struct jm_run *run, struct jm_report *r, const struct jm_disclosure_row **rows,
                  size_t *n, struct jm_err *err)
{
    struct list l = {.r = r, .cap = 40};
    l.row = jm_report_alloc(r, l.cap * sizeof *l.row);
    if (!l.row)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the disclosure");
    put(&l, "boundary and instrument", boundaries(r));
    put(&l, "token denominator",
        r->has_requests                  ? "output tokens as counted by the server, at their stamps"
        : jm_run_env(run, "import.kind") ? "tokens/s as LoadGen reports them"
                                         : NULL);
    put(&l, "ISL", dist(r, &r->tokens.isl));
    put(&l, "OSL", dist(r, &r->tokens.osl));
    put(&l, "workload", workload(run, r));
    FROM(&l, run, "arrival pattern", "plan.shape", "load.shape", "mlperf.scenario");
    put(&l, "load level", level(run, r));
    FROM(&l, run, "model", "endpoint.model", "load.model", "plan.model", "loadgen.sut_name");
    FROM(&l, run, "precision", "endpoint.precision", "plan.precision");
    FROM(&l, run, "engine", "endpoint.engine", "endpoint.server", "sut.framework");
    if (r->engine_mode)
        put(&l, "engine's own metrics", telemetry(r));
    put(&l, "accelerators", accelerators(run, r));
    FROM(&l, run, "driver", "nvml.driver", "sut.driver");
    FROM(&l, run, "NVML", "nvml.version");
    FROM(&l, run, "CUDA", "nvml.cuda");
    put(&l, "power limit enforced", mean_of(run, r, "power.limit", "W", 1, err));
    put(&l, "SM clock", mean_of(run, r, "clock.sm", "MHz", 1e-6, err));
    put(&l, "temperature", mean_of(run, r, "temp", "°C", 1, err));
    put(&l, "windows", windows(r));
    FROM(&l, run, "warm-up, s", "plan.warmup_s");
    FROM(&l, run, "sampling", "record.period", "mlperf.analyzer");
    FROM(&l, run, "window edges", "record.edge");
    put(&l, "idle policy", idle(run, r));
    FROM(&l, run, "calibration", "calibration.id");
    FROM(&l, run, "PUE", "plan.pue");
    FROM(&l, run, "grid intensity", "factor.carbon");
    FROM(&l, run, "host", "host.name", "sut.system_name");
    FROM(&l, run, "system", "host.product", "sut.system_name");
    FROM(&l, run, "CPU", "host.cpu", "sut.host_processor_model_name");
    FROM(&l, run, "operating system", "host.os", "sut.operating_system");
    FROM(&l, run, "kernel", "host.kernel");
    put(&l, "tool", jm_report_text(r, "joulemark %s", r->joulemark ? r->joulemark : "?"));
    *rows = l.row;
    *n = l.n;
    return 0;
}
