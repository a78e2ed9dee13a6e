/* SPDX-License-Identifier: Apache-2.0 */
/* The disclosure: what has to stand beside an energy figure so that somebody else can repeat it. The rows
 * follow the published checklists: boundary and instrument, denominator, ISL/OSL, model, precision, engine,
 * driver and NVML versions, power limit and clocks, load level, latencies, window, run count, idle policy,
 * PUE. */
#include <math.h>
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
        if (one && (!text || !strstr(text, one)))
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
            double s = (double)(r->windows[i].t1 - r->windows[i].t0) / 1e9;
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
    FROM(&l, run, "workload", "load.workload", "mlperf.scenario");
    FROM(&l, run, "arrival pattern", "plan.arrivals", "plan.shape", "mlperf.scenario");
    FROM(&l, run, "load level", "plan.load", "plan.concurrency", "plan.rate", "loadgen.effective_target_qps");
    FROM(&l, run, "model", "endpoint.model", "plan.model", "loadgen.sut_name");
    FROM(&l, run, "precision", "plan.precision", "endpoint.precision");
    FROM(&l, run, "engine", "endpoint.engine", "sut.framework");
    FROM(&l, run, "accelerators", "nvml.gpus", "sut.accelerator_model_name");
    FROM(&l, run, "driver", "nvml.driver", "sut.driver");
    FROM(&l, run, "NVML", "nvml.version");
    FROM(&l, run, "CUDA", "nvml.cuda");
    put(&l, "power limit enforced", mean_of(run, r, "power.limit", "W", 1, err));
    put(&l, "SM clock", mean_of(run, r, "clock.sm", "MHz", 1e-6, err));
    put(&l, "temperature", mean_of(run, r, "temp", "°C", 1, err));
    put(&l, "windows", windows(r));
    FROM(&l, run, "warm-up", "plan.warmup");
    FROM(&l, run, "sampling", "record.period", "mlperf.analyzer");
    FROM(&l, run, "idle policy", "plan.idle");
    FROM(&l, run, "calibration", "calibration.id");
    FROM(&l, run, "PUE", "plan.pue");
    FROM(&l, run, "grid intensity", "factor.carbon");
    FROM(&l, run, "host", "host.name", "sut.system_name");
    FROM(&l, run, "CPU", "host.cpu", "sut.host_processor_model_name");
    FROM(&l, run, "kernel", "host.kernel", "sut.operating_system");
    put(&l, "tool", jm_report_text(r, "joulemark %s", r->joulemark ? r->joulemark : "?"));
    *rows = l.row;
    *n = l.n;
    return 0;
}
