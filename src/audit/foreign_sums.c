/* SPDX-License-Identifier: Apache-2.0 */
/* Do the numbers of another tool's file fit together, and to its own requests? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/foreign.h"
#include "audit/threshold.h"

#include "base/banned.h"

#define NEAR 64 /* statistics of one sample stand together */

/* a and b should be one number. */
static int equal(struct jm_report *r, struct jm_err *err, int w, double a, double b, const char *what_a,
                 const char *what_b)
{
    char evidence[160];
    double scale = fmax(fabs(a), fabs(b));
    if (!isfinite(a) || !isfinite(b) || fabs(a - b) <= JM_TH_FOREIGN_SUM_REL * scale || fabs(a - b) <= 0.02)
        return 0;
    snprintf(evidence, sizeof evidence, "%.6g against %.6g", a, b);
    return jm_foreign_say(
        r, err, "sums", JM_SEV_ERROR, w, evidence,
        "%s and %s of the file differ by %.1f %%: at least one of them is about something else", what_a,
        what_b, 100 * fabs(a - b) / scale);
}

int jm_foreign_totals(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    (void)run;
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
#define C(metric) jm_foreign_claim(r, w, metric, NULL)
        double s = C("duration"), ok = C("requests.ok"), bad = C("requests.failed"), all = C("requests.all"),
               out = C("tokens.output"), in = C("tokens.input"), e = C("energy"), es = C("energy.duration");
        rc = equal(r, err, w, C("tokens_per_s") * s, out, "output tokens/s x duration", "the output tokens");
        if (!rc && !(bad > 0)) /* whether failures are in the rate is a finding of its own */
            rc = equal(r, err, w, C("requests_per_s") * s, ok, "requests/s x duration",
                       "the successful requests");
        if (!rc)
            rc = equal(r, err, w, C("tokens.total_per_s") * s, in + out, "total tokens/s x duration",
                       "input and output tokens");
        if (!rc)
            rc = equal(r, err, w, C("tokens.input_per_s") * s, in, "input tokens/s x duration",
                       "the input tokens");
        if (!rc)
            rc = equal(r, err, w, ok + bad, all, "successful and failed requests", "all requests");
        if (!rc)
            rc = equal(r, err, w, C("osl") * ok, out, "mean output length x successful requests",
                       "the output tokens");
        if (!rc)
            rc = equal(r, err, w, C("isl") * ok, in, "mean input length x successful requests",
                       "the input tokens");
        if (!rc)
            rc = equal(r, err, w, C("j_per.output_token") * out, e, "J per output token x output tokens",
                       "the energy");
        if (!rc && isnan(es)) /* all over one time */
            rc = equal(r, err, w, C("j_per.output_token") * C("tokens_per_s"), C("power.mean"),
                       "J per output token x output tokens/s", "the mean power");
        if (!rc)
            rc = equal(r, err, w, C("j_per.output_token") * C("osl"), C("j_per.request_ok"),
                       "J per output token x mean output length", "the energy per request");
        if (!rc && !(bad > 0))
            rc = equal(r, err, w, C("j_per.request_ok") * ok, e, "energy per request x successful requests",
                       "the energy");
        if (!rc)
            rc = equal(r, err, w, C("j_per.output_token") * C("tokens_per_j"), 1,
                       "J per token x tokens per J", "1");
        if (!rc && es > 0)
            rc = equal(r, err, w, C("power.mean") * es, e, "mean power x duration of the energy",
                       "the energy");
#undef C
    }
    return rc;
}

/* Same metric of the same window, and the same place in the file. */
static bool group(const struct jm_claim *a, const struct jm_claim *b)
{
    const char *x = strrchr(a->key, '.'), *y = strrchr(b->key, '.');
    if (a->window != b->window || strcmp(a->metric, b->metric) != 0)
        return false;
    if (!x || !y)
        return !x && !y;
    return x - a->key == y - b->key && strncmp(a->key, b->key, (size_t)(x - a->key)) == 0;
}

static double quantile_number(const char *stat)
{
    double v = 0, unit = 0;
    if (stat[0] != 'p' || !stat[1])
        return strcmp(stat, "min") == 0 ? 0 : strcmp(stat, "max") == 0 ? 100 : NAN;
    for (const char *c = stat + 1; *c; c++) {
        if (*c == '.' && unit == 0)
            unit = 1;
        else if (*c < '0' || *c > '9')
            return NAN;
        else if (unit > 0)
            v += (*c - '0') * (unit /= 10);
        else
            v = v * 10 + (*c - '0');
    }
    return v;
}

int jm_foreign_range(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    (void)run;
    for (size_t i = 0; !rc && i < r->n_claims; i++) {
        const struct jm_claim *a = &r->claims[i];
        double qa = quantile_number(a->stat);
        bool mean = strcmp(a->stat, "mean") == 0;
        if ((isnan(qa) && !mean) || !isfinite(a->value) || !a->metric[0])
            continue;
        for (size_t j = i > NEAR ? i - NEAR : 0; !rc && j < r->n_claims && j < i + NEAR; j++) {
            const struct jm_claim *b = &r->claims[j];
            double qb = quantile_number(b->stat), slack = 1e-6 * fabs(a->value) + 0.0051;
            if (i == j || isnan(qb) || !isfinite(b->value) || !group(a, b) || strcmp(a->unit, b->unit) != 0)
                continue;
            bool wrong =
                mean ? (qb == 0 && a->value < b->value - slack) || (qb == 100 && a->value > b->value + slack)
                     : qa < qb && a->value > b->value + slack;
            if (!wrong)
                continue;
            char evidence[200];
            snprintf(evidence, sizeof evidence, "%.80s %.6g, %.80s %.6g %s", a->key, a->value, b->key,
                     b->value, a->unit);
            rc = jm_foreign_say(
                r, err, "stat.range", JM_SEV_ERROR, a->window, evidence,
                "the %s is %s the %s, which no sample has: the statistics are of different samples, or wrong",
                a->stat, mean && qb == 0 ? "below" : "above", b->stat);
        }
    }
    return rc;
}

int jm_foreign_percentile(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        struct jm_foreign_sum s;
        const struct jm_claim *worst = NULL;
        double n = jm_foreign_claim(r, w, "requests.ok", NULL), most = 0;
        jm_foreign_sum(run, r, w, &s);
        n = w >= 0 && s.ok ? (double)s.ok : n;
        size_t first, n_claims = n > 0 ? jm_report_claims(r, w, &first) : 0;
        for (size_t i = 0; i < n_claims; i++) {
            const struct jm_claim *k = &r->claims[r->claim_order[first + i]];
            double q = quantile_number(k->stat);
            /* gaps are more than requests */
            if (!(q > most) || !(q < 100) || !k->metric[0] || strncmp(k->metric, "itl.", 4) == 0 ||
                n * (100 - q) / 100 >= 1)
                continue;
            most = q;
            worst = k;
        }
        if (!worst)
            continue;
        char evidence[160];
        snprintf(evidence, sizeof evidence, "%s; %.0f requests", worst->key, n);
        rc = jm_foreign_say(
            r, err, "stat.percentile", JM_SEV_WARNING, w, evidence,
            "%s of %.0f requests is between the two slowest, or the slowest: it takes %.0f requests for one "
            "to lie beyond it",
            worst->stat, n, ceil(100 / (100 - most) - 1e-9));
    }
    return rc;
}

int jm_foreign_differs(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t compared = 0, off = 0;
    const struct jm_claim *worst = NULL;
    double most = 0;
    char evidence[200];
    (void)run;
    for (size_t i = 0; i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        if (!isfinite(k->again) || !isfinite(k->claimed))
            continue;
        compared++;
        if (!k->differs)
            continue;
        double d = fabs(k->again - k->claimed) / fmax(fabs(k->again), fabs(k->claimed));
        off++;
        if (d > most) {
            most = d;
            worst = k;
        }
    }
    if (!worst)
        return 0;
    snprintf(evidence, sizeof evidence, "most: %.90s, %.6g in the file, %.6g computed again", worst->key,
             worst->claimed, worst->again);
    return jm_foreign_say(
        r, err, "claim.differs", most > JM_TH_FOREIGN_DIFFERS ? JM_SEV_WARNING : JM_SEV_INFO, -1, evidence,
        "%zu of %zu numbers that can be computed again from the file's own requests come out otherwise, by "
        "up to %.3g %%%s%s",
        off, compared, 100 * most, worst->why ? "; this one is: " : "", worst->why ? worst->why : "");
}

int jm_foreign_left_out(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *sampled = jm_run_env(run, "import.requests.left_out");
    double cut = jm_run_number(run, "import.ok_but_cut");
    char evidence[160];
    int rc = 0;
    if (sampled)
        rc = jm_foreign_say(r, err, "requests.left_out", JM_SEV_WARNING, -1, sampled,
                            "the file does not hold every request that its numbers are about");
    if (!rc && cut > 0)
        rc = jm_foreign_say(r, err, "requests.cut_ok", JM_SEV_WARNING, -1, NULL,
                            "%.0f answers count as successes although they ended without a finish reason",
                            cut);
    for (int w = -1; !rc && w < jm_foreign_windows(r); w++) {
        struct jm_foreign_sum sum;
        double s = jm_foreign_claim(r, w, "duration", NULL), ok = jm_foreign_claim(r, w, "requests.ok", NULL),
               bad = jm_foreign_claim(r, w, "requests.failed", NULL),
               all = jm_foreign_claim(r, w, "requests.all", NULL),
               rate = jm_foreign_claim(r, w, "requests_per_s", NULL);
        jm_foreign_sum(run, r, w, &sum);
        double missing = isnan(bad) ? (isnan(all) ? (w >= 0 ? (double)sum.bad : 0) : all - ok) : 0;
        double total = isnan(all) ? ok + missing : all;
        if (missing > 0 && total > 0) {
            snprintf(evidence, sizeof evidence, "%.0f of %.0f", missing, total);
            rc = jm_foreign_say(
                r, err, "requests.left_out",
                missing / total >= JM_TH_FAILED_ERROR ? JM_SEV_ERROR : JM_SEV_WARNING, w, evidence,
                "%.0f of %.0f requests did not succeed and are in no number of the file: rates and latencies "
                "are those of the ones that did",
                missing, total);
        } else if (bad > 0 && rate > 0 && s > 0 && fabs(rate * s - ok - bad) <= 0.005 * (ok + bad) &&
                   fabs(rate * s - ok) > 0.005 * (ok + bad)) {
            snprintf(evidence, sizeof evidence, "%.4g requests/s x %.4g s = %.0f; %.0f succeeded", rate, s,
                     rate * s, ok);
            rc = jm_foreign_say(
                r, err, "requests.in_rate", JM_SEV_ERROR, w, evidence,
                "the request rate counts the %.0f requests that failed; without them it is %.4g requests/s",
                bad, ok / s);
        } else if (isnan(bad) && isnan(all) && isfinite(ok) && !sum.bad) {
            rc = jm_foreign_say(
                r, err, "requests.no_field", JM_SEV_INFO, w, NULL,
                "the file has no number of failed requests, so it cannot be said that there were none");
        }
    }
    return rc;
}

int jm_foreign_rates(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    (void)run;
    for (size_t i = 0; !rc && i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        char evidence[160];
        bool rate = strcmp(k->metric, "tokens_per_s") == 0 || strcmp(k->metric, "tokens.input_per_s") == 0 ||
                    strcmp(k->metric, "tokens.total_per_s") == 0;
        if (!rate || !strstr(k->source, "mean of the repetitions' rates") || !isfinite(k->again) ||
            !(k->again > 0) || fabs(k->claimed / k->again - 1) <= JM_TH_FOREIGN_SUM_REL)
            continue;
        snprintf(evidence, sizeof evidence, "%s %.6g, tokens over time %.6g tokens/s", k->key, k->claimed,
                 k->again);
        rc = jm_foreign_say(
            r, err, "rate.mean_of_rates", JM_SEV_ERROR, k->window, evidence,
            "the rate is the mean of the repetitions' rates, %.3g times all tokens over all time: one "
            "repetition was far from the others; take tokens over time, or measure again",
            k->claimed / k->again);
    }
    return rc;
}

int jm_foreign_nothing(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *why = jm_run_env(run, "import.missing.requests");
    if (r->has_requests || !r->n_claims)
        return 0;
    return jm_foreign_say(
        r, err, "requests.none", JM_SEV_INFO, -1, why,
        "the file holds totals and no requests: only whether its numbers fit together can be checked");
}
