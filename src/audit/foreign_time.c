/* SPDX-License-Identifier: Apache-2.0 */
/* Times in other tools' files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/foreign.h"
#include "audit/threshold.h"

#include "base/banned.h"

int jm_foreign_wall_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *clock = jm_run_env(run, "import.clock"), *told = jm_run_env(run, "import.clock.backwards"),
               *gap = jm_run_env(run, "import.negative_gaps");
    struct jm_foreign_sum s;
    char evidence[160];
    jm_foreign_sum(run, r, -1, &s);
    if (s.backwards || told || gap) {
        snprintf(evidence, sizeof evidence, "%s", gap ? gap : told ? told : "");
        if (s.backwards)
            snprintf(evidence, sizeof evidence, "%lld stamps", (long long)s.backwards);
        return jm_foreign_say(
            r, err, "clock.backwards", JM_SEV_ERROR, -1, evidence,
            "times in the file go backwards: the clock stepped while it was written, and every latency "
            "around it is wrong; measure again by a monotonic clock");
    }
    if (!clock || strncmp(clock, "wall", 4) != 0)
        return 0;
    return jm_foreign_say(
        r, err, "clock.wall", JM_SEV_INFO, -1, NULL,
        "the times are those of the wall clock, which NTP may step or slew; nothing in the file shows that "
        "it did");
}

int jm_foreign_span(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    for (int w = 0; !rc && w < jm_foreign_windows(r); w++) {
        struct jm_foreign_sum s;
        double said = jm_foreign_claim(r, w, "duration", NULL);
        char evidence[120];
        jm_foreign_sum(run, r, w, &s);
        if (!(said > 0) || s.first < 0)
            continue;
        double span = jm_foreign_placed(run) ? s.longest_s : jm_seconds_apart(s.last, s.first);
        if (span <= said * (1 + JM_TH_FOREIGN_SPAN_REL) + 1e-3)
            continue;
        snprintf(evidence, sizeof evidence, "%.6g s stated, %.6g s from the %s", said, span,
                 jm_foreign_placed(run) ? "beginning to the end of one request"
                                        : "first start to the last end");
        rc = jm_foreign_say(
            r, err, "time.span", JM_SEV_ERROR, w, evidence,
            "the requests took %.1f %% longer than the duration that the rates of the file are over: the "
            "rates are too high by as much",
            100 * (span / said - 1));
    }
    return rc;
}

struct edge {
    int64_t t;
    int d;
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->t != y->t ? (x->t > y->t) - (x->t < y->t) : x->d - y->d;
}

/* Seconds with at least part of the most in flight; 0 requests: NAN. */
static double steady(struct edge *e, size_t n, double part)
{
    int in = 0, most = 0;
    double s = 0;
    qsort(e, n, sizeof *e, by_time);
    for (size_t i = 0; i < n; i++) {
        in += e[i].d;
        most = in > most ? in : most;
    }
    in = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        in += e[i].d;
        if (in >= part * most)
            s += jm_seconds_apart(e[i + 1].t, e[i].t);
    }
    return n ? s : NAN;
}

int jm_foreign_ramp(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(run, &n);
    int rc = 0;
    if (!n || jm_foreign_placed(run))
        return 0;
    struct edge *e = malloc(2 * n * sizeof *e);
    if (!e)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the load of the run");
    for (int w = 0; !rc && w < jm_foreign_windows(r); w++) {
        const struct jm_window *win = &r->windows[w];
        size_t k = 0;
        double seconds = jm_seconds_apart(win->t1, win->t0);
        char evidence[120];
        for (size_t i = 0; i < n; i++) {
            int64_t a = q[i].t[JM_T_SCHEDULED], b = q[i].t[JM_T_CLOSED];
            if (a >= win->t0 && a < win->t1 && b > a) {
                e[k++] = (struct edge){a, 1};
                e[k++] = (struct edge){b, -1};
            }
        }
        double at = steady(e, k, JM_TH_FOREIGN_RAMP_LEVEL);
        /* of a few requests every one is an edge */
        if (win->role != JM_R_MEASURE || k < 40 || !(seconds > 0) ||
            !jm_foreign_find(r, w, "tokens_per_s", NULL) || 1 - at / seconds <= JM_TH_FOREIGN_RAMP)
            continue;
        snprintf(evidence, sizeof evidence, "%.4g s of %.4g s with 90 %% of the most in flight", at, seconds);
        rc = jm_foreign_say(
            r, err, "time.ramp", JM_SEV_WARNING, w, evidence,
            "for %.0f %% of the time the load was not at its level (ramp, drain, or it varies), and the rate "
            "is over the whole time; a longer run, or the rate of the steady part, says what the server can",
            100 * (1 - at / seconds));
    }
    free(e);
    return rc;
}

int jm_foreign_queue(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double rate = jm_run_number(run, "plan.rate_per_s"), limit = jm_run_number(run, "plan.concurrency");
    bool tool = jm_foreign_is(run, "vllm") || jm_foreign_is(run, "sglang");
    char evidence[120];
    if (!tool || !(rate > 0) || !(limit > 0) || !jm_foreign_find(r, -2, "ttft", NULL))
        return 0;
    for (size_t i = 0; i < r->n_claims; i++)
        if (strstr(r->claims[i].key, "including_client_queue"))
            return 0;
    snprintf(evidence, sizeof evidence, "rate %.4g/s, at most %.0f in flight", rate, limit);
    return jm_foreign_say(
        r, err, "queue.client", JM_SEV_WARNING, -1, evidence,
        "requests wait in the client when %.0f are in flight, and no latency of the file holds that wait: "
        "under load a user waits longer than it says",
        limit);
}

int jm_foreign_duplicates(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *n = jm_run_env(run, "import.duplicates");
    if (!n)
        return 0;
    return jm_foreign_say(
        r, err, "requests.duplicate", JM_SEV_ERROR, -1, n,
        "requests of the file have the same id (%s): they were written twice, and count twice", n);
}
