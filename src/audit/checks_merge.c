/* SPDX-License-Identifier: Apache-2.0 */
/* Several hosts in one run: are their clocks good enough, and was each there all the time? */
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"
#include "base/num.h"

#include "base/banned.h"

/* 400 ms: the difference of clocks that MLPerf Power allows between its two machines (power-dev
 * time_sync.py). */
#define TOLERANCE_S 0.4

static const char *fact(const struct jm_run *run, size_t k, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "merge.%zu.%s", k, what);
    return jm_run_env(run, key);
}

static double between(int64_t later, int64_t earlier)
{
    return jm_seconds_apart(later, earlier);
}

static const char *host(const struct jm_run *run, size_t k)
{
    const char *h = fact(run, k, "host");
    return h && *h ? h : "a host without a name";
}

int jm_check_merge_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double tolerance = TOLERANCE_S, own = 0, v;
    const char *asked = jm_run_env(run, "merge.tolerance_s"), *text;
    bool asked_for = asked && jm_num_double(jm_span_of(asked), &tolerance) == 0;
    int rc = 0;
    if (!fact(run, 1, "host"))
        return 0; /* one host: its clock is the run's */
    for (size_t k = 0; !rc && (text = fact(run, k, "clock.bound_s")); k++) {
        bool known = jm_num_double(jm_span_of(text), &v) == 0;
        if (k == 0)
            own = known ? v : 0;
        /* both clocks may be wrong: what is laid beside each other parts by the sum of their bounds */
        double sum = k && known ? v + own : v;
        if (known && sum <= tolerance)
            continue;
        if (!known)
            rc = jm_finding_at(
                r,
                jm_report_finding(r, "merge.clock", JM_SEV_WARNING,
                                  "nobody tells how far the clock of %s may be off, so that its "
                                  "energy may be of another moment than the requests: let chronyd "
                                  "or PTP keep it",
                                  host(run, k)),
                -1, err, "merge.%zu.clock.bound_s", k);
        else
            rc = jm_finding_at(
                r,
                jm_report_finding(r, "merge.clock", asked_for ? JM_SEV_ERROR : JM_SEV_WARNING,
                                  "the clock of %s may be off by %.3g s%s, more than the %.3g s "
                                  "that %s",
                                  host(run, k), sum, k ? " against the first host's" : "", tolerance,
                                  asked_for ? "were asked for" : "MLPerf Power allows"),
                -1, err, "merge.%zu.clock.bound_s", k);
    }
    return rc;
}

int jm_check_merge_coverage(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *id;
    int rc = 0;
    char key[64];
    if (!fact(run, 1, "host"))
        return 0;
    for (size_t k = 0; !rc; k++) {
        snprintf(key, sizeof key, "merge.%zu", k);
        if (!(id = jm_run_env(run, key)))
            break;
        int64_t from, to;
        const char *a = fact(run, k, "from_ns"), *b = fact(run, k, "to_ns");
        if (!a || !b || jm_num_i64(jm_span_of(a), &from) || jm_num_i64(jm_span_of(b), &to))
            continue; /* no readings: a load generator's own host */
        for (size_t i = 0; !rc && i < r->n_windows; i++) {
            const struct jm_window *w = &r->windows[i];
            if (w->role != JM_R_MEASURE || (from <= w->t0 && to >= w->t1))
                continue;
            double before = from > w->t0 ? between(from < w->t1 ? from : w->t1, w->t0) : 0,
                   after = to < w->t1 ? between(w->t1, to > w->t0 ? to : w->t0) : 0;
            struct jm_finding *f;
            double apart = from >= w->t1 ? between(from, w->t1) : to <= w->t0 ? between(w->t0, to) : 0;
            if (apart > 1)
                f = jm_report_finding(
                    r, "merge.coverage", JM_SEV_ERROR,
                    "the recording of %s lies %.6g s %s the window %s by the hosts' clocks, "
                    "so that nothing of it is in there: it is of another time, or one of "
                    "the clocks is off by that",
                    host(run, k), apart, from >= w->t1 ? "behind" : "before", w->name);
            else
                f = jm_report_finding(r, "merge.coverage", JM_SEV_WARNING,
                                      "the recording of %s does not cover the window %s: %.3g s lack at "
                                      "its start, %.3g s at its end",
                                      host(run, k), w->name, before, after);
            rc = jm_finding_at(r, f, (int)i, err, "merge.%zu.from_ns, to_ns", k);
        }
    }
    return rc;
}

int jm_check_merge_missing(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *what;
    char key[64];
    int rc = 0;
    for (size_t k = 0;
         !rc && snprintf(key, sizeof key, "merge.missing.%zu", k) > 0 && (what = jm_run_env(run, key)); k++)
        rc = jm_finding_at(r,
                           jm_report_finding(r, "merge.missing", JM_SEV_ERROR,
                                             "a host that was to be recorded is missing, and its energy with "
                                             "it: %s",
                                             what),
                           -1, err, "merge.missing.%zu", k);
    return rc;
}
