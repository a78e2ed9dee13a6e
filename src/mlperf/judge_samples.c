/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of testing, the load they were taken of, and ranging against testing. */
#include "mlperf/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "compute/observe.h"

#include "base/banned.h"

#define GAP_S     2.1  /* published sessions: 12 of 8,485 have more than 1.1 s */
#define RATE      0.01 /* published sessions: 0.0017 */
#define FROZEN    30   /* samples */
#define MIN_S     600.0
#define LOW_PF    0.5
#define WINDOW(j) ((double)((j)->end[1] - (j)->begin[1]) / 1e9)

static double mean_w(const struct jm_mlperf_samples *s)
{
    return s->n_positive && !s->overflow ? (double)s->sum_positive_uw / 1e6 / (double)s->n_positive : NAN;
}

static void in_window(struct jm_judge *j, const struct jm_mlperf_power *p)
{
    const struct jm_mlperf_samples *w = &p->window;
    double n = (double)w->rows, share = 100 / n;
    if (!w->rows) {
        static const char *const ids[] = {"samples.over_range", "samples.bad",  "samples.missed",
                                          "samples.zero",       "samples.rate", "samples.gap",
                                          "samples.frozen"};
        jm_judge_breach(j, "samples.present", NULL, "No sample of spl.txt lies inside the load window");
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
            jm_judge_absent(j, ids[i], "No sample lies inside the load window");
        return;
    }
    jm_judge_pass(j, "samples.present", "%lld samples in %.1f s", (long long)w->rows, WINDOW(j));
    if (w->over) {
        char evidence[200] = "";
        if (j->r && isfinite(j->r->power.published) && isfinite(j->r->power.proper))
            snprintf(evidence, sizeof evidence,
                     "mean as published %.6g W, with these samples decoded and weighted by time %.6g W",
                     j->r->power.published, j->r->power.proper);
        jm_judge_breach(j, "samples.over_range", *evidence ? evidence : NULL,
                        "%lld of %lld samples in the load window are over range (%.2g %%)%s",
                        (long long)w->over, (long long)w->rows, (double)w->over * share,
                        j->s->round.drop_nonpositive ? "; the published mean leaves them out"
                                                     : "; the published mean takes them as negative power");
    } else {
        jm_judge_pass(j, "samples.over_range", "No sample of the load is over range");
    }
    if (w->bad)
        jm_judge_breach(j, "samples.bad", NULL,
                        "%lld of %lld samples in the load window are no readings (%.2g %%)",
                        (long long)w->bad, (long long)w->rows, (double)w->bad * share);
    else
        jm_judge_pass(j, "samples.bad", "No sample of the load is bad");
    if (w->missed)
        jm_judge_breach(j, "samples.missed", NULL,
                        "%lld of %lld samples in the load window were missed (%.2g %%)%s",
                        (long long)w->missed, (long long)w->rows, (double)w->missed * share,
                        j->s->round.drop_nonpositive ? "" : "; the published mean takes them as -2 W");
    else
        jm_judge_pass(j, "samples.missed", "No sample of the load was missed");
    int64_t zero = w->nonpositive - w->bad - w->missed - w->over;
    if (zero > 0)
        jm_judge_breach(j, "samples.zero", NULL, "%lld of %lld samples in the load window are zero or below",
                        (long long)zero, (long long)w->rows);
    else
        jm_judge_pass(j, "samples.zero", "Every good sample of the load is above zero");
    double rate = n / WINDOW(j);
    if (fabs(n - WINDOW(j)) > fmax(1.5, RATE * WINDOW(j)))
        jm_judge_breach(j, "samples.rate", NULL, "%.3f samples a second in the load window, not 1", rate);
    else
        jm_judge_pass(j, "samples.rate", "%.4f samples a second", rate);
    double gap = (double)p->max_gap_ns / 1e9;
    if (gap > GAP_S)
        jm_judge_breach(j, "samples.gap", NULL, "Up to %.1f s lie between two samples of the load", gap);
    else
        jm_judge_pass(j, "samples.gap", "No more than %.3f s between two samples", gap);
    if (p->frozen_rows >= FROZEN)
        jm_judge_breach(j, "samples.frozen", NULL,
                        "The power did not move for %lld samples of the load, to the last digit",
                        (long long)p->frozen_rows);
    else
        jm_judge_pass(j, "samples.frozen", "No more than %lld equal readings in a row",
                      (long long)p->frozen_rows);
}

static void of_file(struct jm_judge *j, const struct jm_mlperf_power *p)
{
    char want[700];
    if (p->duplicate_stamps)
        jm_judge_breach(j, "samples.duplicates", NULL, "%lld sample%s with the stamp of the one before",
                        (long long)p->duplicate_stamps, p->duplicate_stamps > 1 ? "s" : "");
    else
        jm_judge_pass(j, "samples.duplicates", "No two samples have one stamp");
    if (p->out_of_order)
        jm_judge_breach(j, "samples.order", NULL, "%lld samples lie before the one above them",
                        (long long)p->out_of_order);
    else
        jm_judge_pass(j, "samples.order", "The samples are in order");
    if (p->broken || p->other_lines)
        jm_judge_breach(j, "samples.broken", p->first_broken, "%lld line%s of run_1/spl.txt %s no sample%s",
                        (long long)(p->broken + p->other_lines), p->broken + p->other_lines > 1 ? "s" : "",
                        p->broken + p->other_lines > 1 ? "are" : "is",
                        p->broken + p->other_lines > 1 ? "s" : "");
    else
        jm_judge_pass(j, "samples.broken", "Every line is a sample");
    snprintf(want, sizeof want, "%s_testing", j->name ? j->name : "");
    if (!p->first_mark)
        jm_judge_breach(j, "samples.marks", NULL, "The samples carry no mark");
    else if (j->name && strncmp(p->first_mark, want, strlen(want)) != 0)
        jm_judge_breach(j, "samples.marks", NULL, "The samples carry the mark %.120s, not %.120s",
                        p->first_mark, want);
    else if (p->marks_other)
        jm_judge_breach(j, "samples.marks", NULL, "%lld samples carry another mark than the session's",
                        (long long)p->marks_other);
    else
        jm_judge_pass(j, "samples.marks", "Every sample carries the session's mark");
    if (p->channels < 1 && p->analyzers < 1)
        jm_judge_absent(j, "samples.sum", "There are no channels");
    else if (p->sum_off)
        jm_judge_breach(j, "samples.sum", NULL, "In %lld samples the sum is not that of its %s",
                        (long long)p->sum_off, p->analyzers ? "analyzers" : "channels");
    else
        jm_judge_pass(j, "samples.sum", "The sum is that of its %d %s",
                      p->analyzers ? p->analyzers : p->channels, p->analyzers ? "analyzers" : "channels");
}

/* Whole quarters of an hour by which the log would have to be moved to cover the load; 0: none would do. */
static double quarters_off(const struct jm_judge *j, const struct jm_mlperf_power *p)
{
    const double quarter = 900, day = 14 * 3600;
    double late = jm_seconds_between(p->first_ns, j->begin[1]),
           early = jm_seconds_between(j->end[1], p->last_ns);
    double by = late > 0 ? -quarter * ceil((late - 1) / quarter) : quarter * ceil((early - 1) / quarter);
    return fabs(by) <= day && late + by <= 1 && early - by <= 1 ? by : 0;
}

static void covers(struct jm_judge *j, const struct jm_mlperf_power *p)
{
    char hint[160] = "";
    if (!p->file.rows || p->first_ns < 0) {
        jm_judge_absent(j, "samples.covers", "There are no samples");
        return;
    }
    double late = jm_seconds_between(p->first_ns, j->begin[1]),
           early = jm_seconds_between(j->end[1], p->last_ns);
    if (late <= 1 && early <= 1) {
        jm_judge_pass(j, "samples.covers", "The log begins %.0f s before and ends %.0f s after the load",
                      fabs(late), fabs(early));
        return;
    }
    double by = quarters_off(j, p);
    if (!p->window.rows && fabs(by) > 0)
        snprintf(hint, sizeof hint, "moved by %+g h it covers the load: local time, or daylight saving?",
                 by / 3600);
    jm_judge_breach(
        j, "samples.covers", *hint ? hint : NULL,
        "The log does not cover the load: it begins %.1f s %s the load begins and ends %.1f s %s it ends",
        fabs(late), late > 0 ? "after" : "before", fabs(early), early > 0 ? "before" : "after");
}

void jm_judge_samples(struct jm_judge *j)
{
    static const char *const ids[] = {"samples.present", "samples.covers", "samples.over_range",
                                      "samples.bad",     "samples.missed", "samples.zero",
                                      "samples.rate",    "samples.gap",    "samples.frozen"};
    static const char *const of_files[] = {"samples.duplicates", "samples.order", "samples.broken",
                                           "samples.marks", "samples.sum"};
    const struct jm_mlperf_power *p = &j->s->power[JM_MLPERF_TESTING];
    if (!p->present || !j->load[1]) {
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
            if (i == 0)
                jm_judge_breach(j, ids[i], NULL, "%s",
                                p->present ? "The load window is not known" : "There is no run_1/spl.txt");
            else
                jm_judge_absent(j, ids[i], "%s",
                                p->present ? "The load window is not known" : "There is no run_1/spl.txt");
        }
    } else {
        covers(j, p);
        in_window(j, p);
    }
    if (p->present && !p->file.rows && p->broken + p->other_lines > 0) {
        jm_judge_breach(j, "samples.broken", p->first_broken,
                        "None of the %lld lines of run_1/spl.txt is a sample",
                        (long long)(p->broken + p->other_lines));
        for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
            if (strcmp(of_files[i], "samples.broken") != 0)
                jm_judge_absent(j, of_files[i], "There are no samples");
    } else if (p->present && p->file.rows)
        of_file(j, p);
    else
        for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
            jm_judge_absent(j, of_files[i], "There are no samples");
}

/* --- the load
 * ------------------------------------------------------------------------------------------------- */

static const char *fact(const struct jm_mlperf_loadgen *l, const char *key)
{
    const struct jm_mlperf_fact *f = jm_mlperf_fact(l, key);
    return f ? f->text : NULL;
}

static void windows(struct jm_judge *j)
{
    for (int m = JM_MLPERF_MODES - 1; m >= 0; m--) {
        const struct jm_mlperf_loadgen *l = &j->s->loadgen[m];
        const char *where = m ? "run_1" : "ranging";
        if (j->load[m])
            continue;
        if (!l->present)
            jm_judge_breach(j, "load.window", NULL, "There is no %s/mlperf_log_detail.txt", where);
        else if (l->begin < 0 || l->end < 0)
            jm_judge_breach(j, "load.window", NULL, "%s/mlperf_log_detail.txt has no %s", where,
                            l->begin < 0 ? "power_begin" : "power_end");
        else
            jm_judge_breach(j, "load.window", NULL, "In %s the load ends before it begins", where);
        return;
    }
    if (j->s->loadgen[1].checker_timeless)
        jm_judge_breach(j, "load.window", NULL, "A line that names power_begin or power_end holds no time");
    else
        jm_judge_pass(j, "load.window", "%.1f s of load", WINDOW(j));
}

static void lasting(struct jm_judge *j)
{
    double least = jm_mlperf_number(&j->s->loadgen[1], "effective_min_duration_ms") / 1000;
    double want = isfinite(least) && least > MIN_S ? least : MIN_S;
    if (!j->load[1]) {
        jm_judge_absent(j, "load.duration", "The load window is not known");
        return;
    }
    /* LoadGen counts from the first query, a little after power_begin. */
    if (WINDOW(j) < want)
        jm_judge_breach(j, "load.duration", NULL, "The load ran %.3f s; %.6g s are asked for", WINDOW(j),
                        want);
    else if (isfinite(least) && least < MIN_S)
        jm_judge_say(j, "load.duration", JM_MLPERF_WARN, NULL,
                     "The load ran %.1f s, but LoadGen was asked for no more than %.6g s", WINDOW(j), least);
    else
        jm_judge_pass(j, "load.duration", "%.1f s (at least %.6g s)", WINDOW(j), want);
}

static void valid(struct jm_judge *j)
{
    static const char *const parts[] = {"result_min_duration_met", "result_min_queries_met",
                                        "result_perf_constraints_met", "early_stopping_met"};
    const struct jm_mlperf_loadgen *l = &j->s->loadgen[1];
    const char *v = fact(l, "result_validity");
    struct jm_str list;
    size_t n = 0;
    if (!v)
        v = fact(l, "summary.Result is");
    jm_str_init(&list);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *t = fact(l, parts[i]);
        if (t && strcmp(t, "false") == 0)
            jm_judge_list(&list, &n, parts[i]);
    }
    if (v && strcmp(v, "VALID") != 0)
        jm_judge_breach(j, "load.valid", NULL, "LoadGen says %.40s%s%s", v, n ? ", not met: " : "", list.buf);
    else if (n)
        jm_judge_breach(j, "load.valid", NULL, "Not met: %s", list.buf);
    else if (!v)
        jm_judge_absent(j, "load.valid", "LoadGen does not say whether its run is valid");
    else
        jm_judge_pass(j, "load.valid", "LoadGen says VALID");
    jm_str_release(&list);
}

static void mode(struct jm_judge *j)
{
    const struct jm_mlperf_loadgen *l = &j->s->loadgen[1];
    const char *t = fact(l, "effective_test_mode");
    if (!t)
        t = fact(l, "requested_test_mode");
    if (!l->present)
        jm_judge_absent(j, "load.errors", "There is no run_1/mlperf_log_detail.txt");
    else if (l->errors || jm_mlperf_number(l, "num_errors") > 0)
        jm_judge_breach(j, "load.errors", NULL, "LoadGen logged %lld errors",
                        (long long)(l->errors ? l->errors : 1));
    else
        jm_judge_pass(j, "load.errors", "LoadGen logged no error");
    if (!t)
        jm_judge_absent(j, "load.mode", "LoadGen does not say in which mode it ran");
    else if (strcmp(t, "PerformanceOnly") != 0)
        jm_judge_breach(j, "load.mode", NULL, "LoadGen ran in mode %.40s", t);
    else
        jm_judge_pass(j, "load.mode", "%s", t);
}

static void same(struct jm_judge *j)
{
    static const char *const keys[] = {"effective_scenario", "effective_target_qps",
                                       "effective_target_latency_ns", "effective_samples_per_query"};
    const struct jm_mlperf_loadgen *a = &j->s->loadgen[0], *b = &j->s->loadgen[1];
    const char *ran = fact(b, "effective_scenario"), *claimed = j->s->claimed_scenario;
    if (!ran)
        ran = fact(b, "requested_scenario");
    if (!ran || !claimed)
        jm_judge_absent(j, "load.scenario", "%s",
                        ran ? "The path claims no scenario" : "The log names no scenario");
    else if (strcasecmp(ran, claimed) != 0)
        jm_judge_breach(j, "load.scenario", NULL, "%.40s is claimed, %.40s ran: the result is inferred",
                        claimed, ran);
    else
        jm_judge_pass(j, "load.scenario", "%.40s ran, as claimed", ran);
    if (!a->present || !b->present) {
        jm_judge_absent(j, "load.same", "The detail logs are not both there");
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *x = fact(a, keys[i]), *y = fact(b, keys[i]);
        if (x && y && strcmp(x, y) != 0 && !(i == 3 && ran && strcasecmp(ran, "Offline") == 0)) {
            jm_judge_breach(j, "load.same", NULL, "%s is %.40s for ranging, %.40s for testing", keys[i], x,
                            y);
            return;
        }
    }
    jm_judge_pass(j, "load.same", "Ranging and testing ran the same load");
}

void jm_judge_load(struct jm_judge *j)
{
    windows(j);
    lasting(j);
    valid(j);
    mode(j);
    same(j);
}

/* --- ranging against testing
 * ---------------------------------------------------------------------------------- */

static bool without_ranging(const struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client;
    bool ranged = false, given = false;
    for (size_t i = 0; i < c->n_messages; i++) {
        const char *m = c->messages[i].cmd ? strstr(c->messages[i].cmd, ",start,") : NULL;
        ranged |= m && strncmp(m, ",start,ranging", 14) == 0;
        given |= m && strncmp(m, ",start,testing,", 15) == 0;
    }
    return given || (c->n_messages && !ranged);
}

static void ranges(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    const struct jm_mlperf_power *r = &j->s->power[JM_MLPERF_RANGING], *t = &j->s->power[JM_MLPERF_TESTING];
    double set[2] = {NAN, NAN}; /* A, V: the last that were set before the Go of testing */
    for (size_t i = 0; i < s->n_ptd; i++) {
        const char *cmd = s->ptd[i].cmd ? s->ptd[i].cmd : "";
        if (strncmp(cmd, "Go,", 3) == 0 && strstr(cmd, "_testing"))
            break;
        for (int k = 0; k < 2; k++)
            if (strncmp(cmd, k ? "SR,V," : "SR,A,", 5) == 0 &&
                jm_num_double(jm_span_of(cmd + 5), &set[k]) != 0)
                set[k] = NAN;
    }
    if (j->analyzers > 1 || !r->present || isnan(set[0]) || isnan(set[1])) {
        jm_judge_absent(j, "ranging.set", "%s",
                        j->analyzers > 1 ? "Each analyzer has ranges of its own"
                                         : "No ranges were set for testing");
        jm_judge_absent(j, "ranging.enough", "There are no ranges to compare with");
        return;
    }
    /* The largest reading is that of the sum or of a channel, by version. */
    double lo[2] = {r->max_amps, r->max_volts}, hi[2] = {r->channel_amps, r->channel_volts};
    double factor = jm_judge_round(j) >= 31 ? 1.1 : 1.0;
    int wrong = -1;
    for (int k = 0; k < 2; k++) {
        if (!(lo[k] > 0)) /* some versions write no Volts and Amps of the sum */
            lo[k] = hi[k];
        if (!(hi[k] > 0))
            hi[k] = lo[k];
        double least = fmin(lo[k], hi[k]);
        hi[k] = fmax(lo[k], hi[k]);
        lo[k] = least;
        double f = k ? 1 : factor;
        if (!(set[k] >= lo[k] * f * 0.999 && set[k] <= hi[k] * f * 1.001))
            wrong = k;
    }
    if (wrong < 0)
        jm_judge_pass(j, "ranging.set", "%.4g V and %.4g A follow from ranging", set[1], set[0]);
    else
        jm_judge_breach(j, "ranging.set", NULL, "%.6g %s was set; ranging saw %.6g %s at most%s", set[wrong],
                        wrong ? "V" : "A", hi[wrong], wrong ? "V" : "A",
                        !wrong && factor > 1 ? ", and 1.1 times that is due" : "");
    double seen = t->max_amps > 0 ? t->max_amps : t->channel_amps;
    if (isnan(seen))
        jm_judge_absent(j, "ranging.enough", "The log of testing has no currents");
    else if (seen > set[0] * 1.0005) /* values of the log are rounded */
        jm_judge_say(j, "ranging.enough", factor > 1 ? JM_MLPERF_WARN : JM_MLPERF_NOTE, NULL,
                     "Testing saw %.6g A, above the %.6g A that were set", seen, set[0]);
    else
        jm_judge_pass(j, "ranging.enough", "At most %.5g A of the %.5g A that were set", seen, set[0]);
}

static void compare(struct jm_judge *j)
{
    const struct jm_mlperf_power *r = &j->s->power[JM_MLPERF_RANGING], *t = &j->s->power[JM_MLPERF_TESTING];
    bool both = j->load[0] && j->load[1];
    double dr = both ? (double)(j->end[0] - j->begin[0]) / 1e9 : NAN, dt = both ? WINDOW(j) : NAN;
    double most = jm_judge_round(j) >= 31 ? 0.5 : 0.05;
    if (!both)
        jm_judge_absent(j, "ranging.duration", "The load windows are not both known");
    else if ((dr - dt) / dr > most)
        jm_judge_breach(j, "ranging.duration", NULL, "Testing took %.1f s, ranging %.1f s: %.0f %% less", dt,
                        dr, 100 * (dr - dt) / dr);
    else
        jm_judge_pass(j, "ranging.duration", "Ranging %.1f s, testing %.1f s", dr, dt);
    double a = mean_w(&r->window), b = mean_w(&t->window), delta = 100 * (b / a - 1);
    if (!both || !(a > 0) || !(b > 0))
        jm_judge_absent(j, "ranging.power", "The mean powers are not both known");
    else if (delta <= -5)
        jm_judge_say(j, "ranging.power", jm_judge_round(j) >= 31 ? JM_MLPERF_FAIL : JM_MLPERF_WARN, NULL,
                     "Testing drew %.6g W, ranging %.6g W: %.2f %%", b, a, delta);
    else
        jm_judge_pass(j, "ranging.power", "Testing drew %.6g W, ranging %.6g W (%+.2f %%)", b, a, delta);
    double pf = t->window.n_pf ? (double)t->window.sum_pf_micro / 1e6 / (double)t->window.n_pf : NAN;
    if (isnan(pf))
        jm_judge_absent(j, "ranging.factor", "The log has no power factors");
    else if (pf < LOW_PF)
        jm_judge_breach(
            j, "ranging.factor", NULL,
            "The power factor is %.3f: current peaks may leave the range, and the analyzer's error grows",
            pf);
    else
        jm_judge_pass(j, "ranging.factor", "Power factor %.3f", pf);
}

void jm_judge_ranging(struct jm_judge *j)
{
    if (without_ranging(j))
        jm_judge_breach(j, "ranging.done", NULL, "Ranges were given by hand (no-ranging mode)");
    else if (!j->s->power[JM_MLPERF_RANGING].present || !j->s->power[JM_MLPERF_RANGING].file.rows)
        jm_judge_breach(j, "ranging.done", NULL, "There are no samples of ranging");
    else
        jm_judge_pass(j, "ranging.done", "%lld samples of ranging",
                      (long long)j->s->power[JM_MLPERF_RANGING].file.rows);
    compare(j);
    ranges(j);
}
