/* SPDX-License-Identifier: Apache-2.0 */
/* Energy that other tools' files state. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/foreign.h"
#include "audit/threshold.h"

#include "base/banned.h"

static bool of_energy(const char *metric)
{
    const struct {
        const char *head;
    } heads[] = {{"energy"},          {"power."}, {"j_per."},
                 {"tokens_per_j"},    {"kwh_"},   {"goodput.tokens_per_j"},
                 {"requests_per_kwh"}};
    if (strcmp(metric, "energy.duration") == 0)
        return false;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (strncmp(metric, heads[i].head, strlen(heads[i].head)) == 0)
            return true;
    return false;
}

/* "telemetry.gpu3.power", "telemetry_stats.energy.gpu0.avg": which GPU's number it is, -1: not one GPU's. */
static int gpu_of(const char *key)
{
    for (const char *p = key; (p = strstr(p, "gpu")); p += 3) {
        int n = 0;
        const char *q = p + 3;
        if (p > key && p[-1] != '.')
            continue;
        for (; *q >= '0' && *q <= '9' && n < 100000; q++)
            n = n * 10 + (*q - '0');
        if (q > p + 3 && (*q == '.' || !*q))
            return n;
    }
    return -1;
}

static double window_seconds(const struct jm_report *r, int w)
{
    double s = jm_foreign_claim(r, w, "duration", NULL);
    if (!(s > 0))
        s = w >= 0 ? jm_seconds_apart(r->windows[w].t1, r->windows[w].t0) : NAN;
    return s > 1e-6 ? s : NAN; /* a window of 1 ns stands for a time that is not known */
}

int jm_foreign_energy_window(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    (void)run;
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        double e = jm_foreign_claim(r, w, "energy.duration", NULL), s = window_seconds(r, w);
        char evidence[120];
        if (!(e > 0) || !(s > 0) || fabs(e / s - 1) <= JM_TH_FOREIGN_WINDOW_WARN)
            continue;
        snprintf(evidence, sizeof evidence, "energy over %.6g s, tokens over %.6g s", e, s);
        rc = jm_foreign_say(
            r, err, "energy.window",
            fabs(e / s - 1) > JM_TH_FOREIGN_WINDOW_ERROR ? JM_SEV_ERROR : JM_SEV_WARNING, w, evidence,
            "the energy is that of a window %.1f %% %s than that of the tokens; J/token is off by up to as "
            "much",
            100 * fabs(e / s - 1), e > s ? "longer" : "shorter");
    }
    return rc;
}

/* Base of a key whose last part is the statistic. */
static bool same_base(const char *a, const char *b)
{
    const char *x = strrchr(a, '.'), *y = strrchr(b, '.');
    return x && y && x - a == y - b && strncmp(a, b, (size_t)(x - a)) == 0;
}

int jm_foreign_lifetime(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *said = jm_run_env(run, "import.energy.lifetime_counter");
    int rc = 0;
    if (said)
        rc = jm_foreign_say(
            r, err, "energy.lifetime", JM_SEV_ERROR, -1, said,
            "the energy in the file is a counter that runs since the driver was loaded, not the energy of "
            "the run; take the difference of its readings at the window's edges");
    for (size_t i = 0; !rc && !said && i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        double lo = NAN, hi = NAN;
        if (strcmp(k->metric, "energy") != 0 || strcmp(k->stat, "mean") != 0 || !(k->value > 0))
            continue;
        for (size_t j = i > 64 ? i - 64 : 0; j < r->n_claims && j < i + 64; j++)
            if (r->claims[j].window == k->window && same_base(r->claims[j].key, k->key)) {
                lo = strcmp(r->claims[j].stat, "min") == 0 ? r->claims[j].value : lo;
                hi = strcmp(r->claims[j].stat, "max") == 0 ? r->claims[j].value : hi;
            }
        if (lo == k->value && hi == k->value)
            rc = jm_foreign_say(
                r, err, "energy.lifetime", JM_SEV_ERROR, k->window, k->key,
                "mean, minimum and maximum of the energy are one number (%.6g %s): a counter that runs since "
                "the driver was loaded, read once, and not the energy of the run",
                k->value, k->unit);
    }
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        double e = jm_foreign_claim(r, w, "energy", NULL), s = window_seconds(r, w),
               gpus = jm_run_number(run, "import.gpus");
        double most = JM_TH_FOREIGN_GPU_W * (gpus >= 1 ? gpus : JM_TH_FOREIGN_GPUS);
        char evidence[120];
        if (e > most * JM_TH_FOREIGN_LONGEST_S && !(s > 0)) {
            snprintf(evidence, sizeof evidence, "%.6g J in a time that the file does not say", e);
            rc = jm_foreign_say(r, err, "energy.power", JM_SEV_ERROR, w, evidence,
                                "the energy in the file is more than the GPUs can draw in a year: it is in "
                                "another unit, or none");
            continue;
        }
        if (!(e > 0) || !(s > 0) || e / s <= most)
            continue;
        snprintf(evidence, sizeof evidence, "%.6g J in %.6g s", e, s);
        rc = jm_foreign_say(
            r, err, "energy.power", JM_SEV_ERROR, w, evidence,
            "the energy in the file is %.4g kW on average, more than the GPUs can draw: it is of another "
            "time, or in another unit",
            e / s / 1e3);
    }
    return rc;
}

/* Total against the parts that the file has of single GPUs. */
static int mean_of(struct jm_report *r, struct jm_err *err, int w, const char *metric, const char *word)
{
    const struct jm_claim *total = jm_foreign_find(r, w, metric, NULL);
    double sum = 0, scale = 1;
    int n = 0;
    if (!total || gpu_of(total->key) >= 0)
        return 0;
    size_t first, n_claims = jm_report_claims(r, w, &first);
    for (size_t i = 0; i < n_claims; i++) {
        const struct jm_claim *k = &r->claims[r->claim_order[first + i]];
        bool usual = !k->stat[0] || strcmp(k->stat, "mean") == 0 || strcmp(k->stat, "sum") == 0;
        if (gpu_of(k->key) < 0 || !strstr(k->key, word) || !usual || !isfinite(k->value))
            continue;
        scale = strcmp(k->unit, "MJ") == 0                                 ? 1e6
                : strcmp(k->unit, "mJ") == 0 || strcmp(k->unit, "mW") == 0 ? 1e-3
                                                                           : 1;
        sum += isfinite(k->claimed) ? k->claimed : k->value * scale;
        n++;
    }
    if (n < 2 || !(sum > 0) || fabs(total->claimed * n / sum - 1) > 0.01)
        return 0;
    char evidence[160];
    snprintf(evidence, sizeof evidence, "%s is %.6g, the %d GPUs together %.6g", total->key, total->claimed,
             n, sum);
    return jm_foreign_say(r, err, "energy.gpu_mean", JM_SEV_ERROR, w, evidence,
                          "the %s in the file is the mean over %d GPUs, not their sum: multiply by %d",
                          strcmp(metric, "energy") == 0 ? "energy" : "power", n, n);
}

int jm_foreign_gpu_mean(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *told = jm_run_env(run, "import.energy.gpu_mean");
    int rc =
        told ? jm_foreign_say(
                   r, err, "energy.gpu_mean", JM_SEV_ERROR, -1, told,
                   "the tool took the mean over the devices for their sum: energy and power are too small by "
                   "their number")
             : 0;
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        rc = mean_of(r, err, w, "energy", "energy");
        if (!rc)
            rc = mean_of(r, err, w, "power.mean", "power");
        if (!rc)
            rc = mean_of(r, err, w, "power.mean.mlperf", "power");
    }
    return rc;
}

int jm_foreign_blank(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    /* a blank and the three errors beside it: not found, not supported, not permissioned */
    static const double blanks[] = {2147483632.0, 140737488355328.0, 9223372036854775792.0};
    int rc = 0;
    (void)run;
    for (size_t i = 0; !rc && i < r->n_claims; i++)
        for (size_t b = 0; !rc && b < sizeof blanks / sizeof blanks[0]; b++) {
            double v = r->claims[i].value, scaled = v * 1e3;
            bool blank =
                (v >= blanks[b] && v <= blanks[b] + 3) ||
                (strcmp(r->claims[i].unit, "J") == 0 && scaled >= blanks[b] && scaled <= blanks[b] + 3);
            if (blank)
                rc = jm_foreign_say(
                    r, err, "energy.blank", JM_SEV_ERROR, r->claims[i].window, r->claims[i].key,
                    "%.17g is DCGM's mark for a field that it cannot read, not a value; leave it out", v);
        }
    return rc;
}

int jm_foreign_clamped(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    (void)run;
    for (size_t i = 0; !rc && i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        bool per = strncmp(k->metric, "j_per.", 6) == 0;
        if ((strcmp(k->metric, "energy") != 0 && !per) || k->claimed != 0 ||
            (k->stat[0] && strcmp(k->stat, "sum") != 0 && strcmp(k->stat, "mean") != 0))
            continue;
        rc = jm_foreign_say(
            r, err, "energy.clamped", JM_SEV_ERROR, k->window, k->key,
            "the energy is 0: the counter was reset or could not be read, and a negative difference was "
            "made 0; there is no energy in this file");
        break;
    }
    return rc;
}

int jm_foreign_per_success(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    (void)run;
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        double per = jm_foreign_claim(r, w, "j_per.request_ok", NULL),
               ok = jm_foreign_claim(r, w, "requests.ok", NULL),
               bad = jm_foreign_claim(r, w, "requests.failed", NULL);
        struct jm_foreign_sum s;
        char evidence[96];
        if (isnan(per))
            continue;
        jm_foreign_sum(run, r, w, &s);
        ok = s.ok + s.bad ? (double)s.ok : ok;
        bad = s.ok + s.bad ? (double)s.bad : bad;
        if (!(bad / (ok + bad) > JM_TH_FAILED_WARN))
            continue;
        snprintf(evidence, sizeof evidence, "%.0f of %.0f did not succeed", bad, ok + bad);
        rc = jm_foreign_say(
            r, err, "energy.per_success", JM_SEV_WARNING, w, evidence,
            "the energy per request divides the energy of all requests by the successful ones only: a "
            "request as such took %.3g J, not %.3g",
            per * ok / (ok + bad), per);
    }
    return rc;
}

int jm_foreign_grace(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    if (!jm_foreign_is(run, "aiperf"))
        return 0;
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        double s = window_seconds(r, w);
        char evidence[96];
        if (isnan(jm_foreign_claim(r, w, "energy", NULL)) || !(s > 0))
            continue;
        double part = JM_TH_FOREIGN_GRACE_S / s;
        snprintf(evidence, sizeof evidence, "%.3g s of %.4g s", JM_TH_FOREIGN_GRACE_S, s);
        rc = jm_foreign_say(
            r, err, "energy.grace", part > JM_TH_FOREIGN_WINDOW_WARN ? JM_SEV_WARNING : JM_SEV_INFO, w,
            evidence,
            "the counters are read until 666 ms after the last answer: up to %.2g %% of the window belongs "
            "to no request",
            100 * part);
    }
    return rc;
}

int jm_foreign_boundary(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        if (of_energy(k->metric) && k->boundary == JM_B_NONE && isfinite(k->claimed))
            return jm_foreign_say(
                r, err, "boundary.unsaid", JM_SEV_ERROR, k->window, k->key,
                "the file states an energy without saying where it was taken (GPU boards, node, wall), so "
                "it cannot be compared with any other");
    }
    return 0;
}
