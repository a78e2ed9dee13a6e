/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of MLPerf Power that a private measurement can be held against. It says what is like MLPerf, and is
 * no submission: sessions are checked by "joulemark mlperf check". */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/levels.h"
#include "audit/checks.h"
#include "audit/threshold.h"
#include "base/stats.h"

#include "base/banned.h"

#define POWER "MLPerf power_measurement.adoc (2022-01-05)"
#define CHECK "MLPerf power-dev compliance/check.py"
#define RULES "MLPerf inference_rules.adoc"

/* compliance/check.py: the analyzer's own uncertainty, and how far client and server may be apart. */
#define UNCERTAINTY 0.01
#define PHASES_S    0.8
#define P99         0.99

static void put(struct jm_levels *l, const char *id, const char *rule, enum jm_gate_state state,
                const char *evidence, const char *mend, const char *source)
{
    if (l->n_mlperf < JM_MLPERF_LIKE)
        l->mlperf[l->n_mlperf++] = (struct jm_gate){
            id, rule, state, evidence ? evidence : "not known", state == JM_GATE_MET ? NULL : mend, source};
}

static enum jm_gate_state yes(bool b)
{
    return b ? JM_GATE_MET : JM_GATE_NOT;
}

/* All of the machine at an AC inlet? */
static bool ac(const struct jm_seen *s)
{
    for (size_t i = 0; s->wall && i < s->wall->n_domain; i++) {
        int d = s->wall->domain[i];
        while (d >= 0 && s->r->tree->d[d].kind != JM_D_INLET_AC && s->r->tree->d[d].kind != JM_D_INLET_DC)
            d = s->r->tree->d[d].parent;
        if (d >= 0 && s->r->tree->d[d].kind == JM_D_INLET_DC)
            return false;
    }
    return s->wall != NULL;
}

static void latency(struct jm_seen *s, struct jm_levels *l)
{
    const struct jm_request_totals *t = &s->r->requests;
    struct jm_interval in;
    static const char rule[] = "99 % of the requests inside the latency constraints, with 99 % confidence";
    static const char mend[] =
        "--slo-ttft and --slo-tpot of the benchmark's constraints, and enough requests";
    int64_t n = t->ok + t->failed + t->aborted - t->cancelled;
    if (t->qualified < 0 || n <= 0 || t->qualified > n) {
        put(l, "latency", rule, JM_GATE_NOT, "no contract", mend, RULES);
        return;
    }
    /* one-sided 99 %: the lower end of a two-sided 98 % interval */
    jm_stats_clopper_pearson((uint64_t)t->qualified, (uint64_t)n, 0.98, &in);
    put(l, "latency", rule, yes(in.lo >= P99),
        jm_report_text(s->r, "%lld of %lld, at least %.4g %%", (long long)t->qualified, (long long)n,
                       100 * in.lo),
        mend, RULES);
}

static void clocks(struct jm_seen *s, struct jm_levels *l)
{
    double a = jm_run_number(s->run, "clock.error.start.bound_s"),
           b = jm_run_number(s->run, "clock.error.end.bound_s");
    double most = a > b || isnan(b) ? a : b;
    static const char rule[] = "clocks held by NTP; phase times of client and server within 800 ms";
    static const char mend[] = "run chrony or ptp4l on every host";
    if (isnan(a) && isnan(b))
        put(l, "clocks", rule, JM_GATE_UNKNOWN, "the bound of this clock's error is not known", mend, CHECK);
    else
        put(l, "clocks", rule, yes(most <= PHASES_S), jm_report_text(s->r, "at most %.3g s off", most), mend,
            CHECK);
}

void jm_levels_mlperf(struct jm_seen *s, struct jm_levels *l)
{
    struct jm_report *r = s->r;
    const char *kind = jm_run_env(s->run, "import.kind"), *battery = jm_fact_of(s->run, r, "battery");
    bool session = kind && strcmp(kind, "mlperf-inference") == 0, alternating = ac(s);
    put(l, "wall", "AC power of the whole system at the wall", yes(alternating),
        alternating  ? s->wall->set
        : s->wall    ? "the inlet is DC"
        : s->carried ? "carried by a calibration"
                     : "not metered at the wall",
        "an analyzer, or a metered outlet, before every supply", POWER);
    put(l, "battery", "no battery between the socket and the supplies",
        battery ? yes(strcmp(battery, "none") == 0) : JM_GATE_UNKNOWN, battery, "--fact battery=none", POWER);
    put(l, "same_run", "power and performance from the same run and window",
        yes(s->best && (r->has_requests || session)),
        s->best && (r->has_requests || session) ? "one window for both" : "one of them is missing",
        "joulemark bench", POWER);
    put(l, "duration", "600 s and longer (Server, Offline)", yes(s->seconds >= JM_TH_PUBLICATION_S),
        s->window ? jm_report_text(r, "%.4g s", s->seconds) : "no window", "bench --duration 600s", RULES);
    bool each = s->wall && s->spacing_s <= 1.05;
    put(l, "sampling", "the analyzer gives a sample a second", !s->wall ? JM_GATE_NOT : yes(each),
        s->wall ? jm_report_text(r, "a reading every %.3g s", s->spacing_s) : "no meter at the wall",
        "a meter of 1 Hz and faster", POWER);
    put(l, "uncertainty", "uncertainty of the analyzer at most 1.00 %",
        !s->wall                                   ? JM_GATE_NOT
        : isnan(s->accuracy) || !(s->accuracy > 0) ? JM_GATE_UNKNOWN
                                                   : yes(s->accuracy <= UNCERTAINTY),
        s->wall && s->accuracy > 0 ? jm_report_text(r, "%.3g %%", 100 * s->accuracy) : NULL,
        "a meter whose accuracy is stated and 1 % or better", CHECK);
    const struct jm_result *mean = jm_report_find(r, "power.mean.mlperf", JM_B_NONE, -2);
    put(l, "mean", "the published mean is of the samples strictly inside the window, above 0 W",
        session ? yes(mean && mean->q.have) : JM_GATE_NA,
        session ? "power.mean.mlperf stands beside power.mean"
                : "energy is integrated here; power.mean.mlperf is of sessions",
        "joulemark mlperf show", CHECK);
    clocks(s, l);
    latency(s, l);
    put(l, "ranging", "a ranging run before, the testing run at most 5 % below it",
        session ? JM_GATE_UNKNOWN : JM_GATE_NA,
        session ? "joulemark mlperf check compares them" : "no MLPerf session",
        "joulemark mlperf director and sut do both runs", CHECK);
}
