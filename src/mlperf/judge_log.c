/* SPDX-License-Identifier: Apache-2.0 */
/* ptd_logs.txt: every error and warning, where it stands in time. A message counts in the load when it lies
 * strictly between power_begin and power_end of testing; no warning hides another, and nothing is cut off at
 * the ends. */
#include "mlperf/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

enum kind { K_NONE, K_ERROR, K_UNCERTAIN, K_UNKNOWN, K_MISSED, K_WARNING, K_USB };

static const char *const usual[] = {"Bad watts reading", "Bad volts reading", "Bad amps reading",
                                    "Bad pf reading", "Current appears to be too high for set range"};

/* Messages of one kind in one place. */
struct heap {
    int64_t n, samples, first_line;
    const char *text; /* the first, and how many of the others are like it */
    int64_t like;
    bool several;
};

static void put(struct heap *h, const struct jm_mlperf_event *e, int64_t samples)
{
    if (h->n++ == 0) {
        h->text = e->text;
        h->first_line = e->line;
    }
    h->like += e->text == h->text;
    h->several |= e->text != h->text;
    h->samples += samples;
}

static const char *after_word(const char *t)
{
    static const char *const words[] = {"ERROR:", "Error:", "WARNING:", "Warning:"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(t, words[i]);
        if (at) {
            at += strlen(words[i]);
            while (*at == ' ')
                at++;
            return at;
        }
    }
    return t;
}

static enum kind kind_of(const struct jm_mlperf_event *e)
{
    const char *t = after_word(e->text);
    if (e->kind == JM_MLPERF_EV_INFO)
        return K_NONE;
    if (strncmp(t, "no measurement to stop", 22) == 0)
        return K_NONE; /* the answer to the last Stop of the workflow to v3.0 */
    if (strncmp(t, "USB.", 4) == 0)
        return K_USB;
    if (strstr(t, "limit for the last") && strstr(t, "Uncertainty ") && strstr(t, "above"))
        return K_UNCERTAIN;
    if (strstr(t, "Uncertainty unknown") || strstr(t, "Can't evaluate uncertainty"))
        return K_UNKNOWN;
    if (strncmp(t, "Missed ", 7) == 0)
        return K_MISSED;
    if (e->kind == JM_MLPERF_EV_ERROR || strstr(t, "exceeds peak value") ||
        strstr(t, "too high for set range") || strncmp(t, "Bad ", 4) == 0)
        return K_ERROR;
    return K_WARNING;
}

/* Intervals of the marks, one analyzer at a time. */
struct marks {
    bool began[JM_MLPERF_MODES], ended[JM_MLPERF_MODES], sure;
    int64_t from[JM_MLPERF_MODES], to[JM_MLPERF_MODES], sure_at;
};

static bool usual_error(const char *t)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strncmp(t, usual[i], strlen(usual[i])) == 0)
            return true;
    return false;
}

/* "Go with mark 'SESSION_ranging'"; where no file says the session's name, of any. */
static bool go(const char *text, const char *name, const char *mode)
{
    static const char front[] = "Go with mark '";
    char mark[700];
    if (name) {
        snprintf(mark, sizeof mark, "%s%s_%s", front, name, mode);
        return strncmp(text, mark, strlen(mark)) == 0;
    }
    snprintf(mark, sizeof mark, "_%s'", mode);
    return strncmp(text, front, sizeof front - 1) == 0 && strstr(text, mark);
}

static void find_marks(const struct jm_judge *j, int analyzer, int64_t zone, struct marks *m)
{
    const struct jm_mlperf_ptd_log *log = &j->s->ptd_log;
    int open = -1;
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < log->n_events; i++) {
        const struct jm_mlperf_event *e = &log->events[i];
        if (e->analyzer != analyzer)
            continue;
        if (!m->sure && strstr(e->text, "Uncertainty checking for ") && strstr(e->text, " is activated")) {
            m->sure = true;
            m->sure_at = e->t_ns < 0 ? -1 : e->t_ns + zone;
        }
        for (int k = 0; k < JM_MLPERF_MODES; k++)
            if (!m->began[k] && go(e->text, j->name, k ? "testing" : "ranging")) {
                m->began[k] = true;
                m->from[k] = e->t_ns + zone;
                open = k;
            }
        if (open >= 0 && !m->ended[open] && strncmp(e->text, "Completed test", 14) == 0) {
            m->ended[open] = true;
            m->to[open] = e->t_ns + zone;
            open = -1;
        }
    }
}

static void said(struct jm_judge *j, const char *id, int v, const struct heap *h, const char *where)
{
    char evidence[80], count[64] = "";
    snprintf(evidence, sizeof evidence, "power/ptd_logs.txt line %lld", (long long)h->first_line);
    if (h->several)
        snprintf(count, sizeof count, " (%lld of them, and others)", (long long)h->like);
    const char *t = after_word(h->text);
    if (v < 0)
        jm_judge_breach(j, id, evidence, "%lld message%s %s: \"%.160s\"%s", (long long)h->n,
                        h->n > 1 ? "s" : "", where, t, count);
    else
        jm_judge_say(j, id, (enum jm_mlperf_verdict)v, evidence, "%lld message%s %s: \"%.160s\"%s",
                     (long long)h->n, h->n > 1 ? "s" : "", where, t, count);
}

static void place(struct jm_judge *j, int64_t zone, const struct marks *m, int n_marks)
{
    const struct jm_mlperf_ptd_log *log = &j->s->ptd_log;
    struct heap load[K_USB + 1] = {{0}}, ranging = {0}, odd = {0}, between = {0}, outside = {0};
    int64_t channels[17] = {0};
    for (size_t i = 0; i < log->n_events; i++) {
        const struct jm_mlperf_event *e = &log->events[i];
        enum kind k = kind_of(e);
        if (k == K_NONE || e->t_ns < 0)
            continue;
        int64_t t = e->t_ns + zone, missed = 0;
        const struct marks *a = &m[e->analyzer >= 1 && e->analyzer <= n_marks ? e->analyzer - 1 : 0];
        bool in_load = j->load[1] && t > j->begin[1] && t < j->end[1];
        if (in_load) {
            if (k == K_MISSED && jm_num_i64(jm_span_sub(jm_span_of(after_word(e->text)), 7,
                                                        strcspn(after_word(e->text) + 7, " ")),
                                            &missed) != 0)
                missed = 0;
            if (k == K_UNCERTAIN) {
                const char *c = strstr(e->text, "channel ");
                if (c && c[8] >= '0' && c[8] <= '9')
                    channels[1 + c[8] - '0']++;
                else
                    channels[0]++;
            }
            put(&load[k], e, missed);
        } else if (k == K_ERROR) {
            bool in_ranging = a->began[0] && t > a->from[0] && (!a->ended[0] || t < a->to[0]);
            bool in_testing = a->began[1] && t > a->from[1] && (!a->ended[1] || t < a->to[1]);
            if (in_ranging)
                put(usual_error(after_word(e->text)) ? &ranging : &odd, e, 0);
            else
                put(in_testing ? &between : &outside, e, 0);
        }
    }
    if (!j->load[1]) {
        static const char *const ids[] = {"ptdlog.errors_load", "ptdlog.uncertainty", "ptdlog.unknown",
                                          "ptdlog.missed", "ptdlog.warnings"};
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
            jm_judge_absent(j, ids[i], "The load window is not known");
    } else {
        if (load[K_ERROR].n)
            said(j, "ptdlog.errors_load", -1, &load[K_ERROR], "inside the load window");
        else
            jm_judge_pass(j, "ptdlog.errors_load", "No error inside the load window");
        int64_t most = 0;
        for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
            most = channels[i] > most ? channels[i] : most;
        if (load[K_UNCERTAIN].n) {
            char evidence[80];
            snprintf(evidence, sizeof evidence, "power/ptd_logs.txt line %lld",
                     (long long)load[K_UNCERTAIN].first_line);
            jm_judge_say(j, "ptdlog.uncertainty", jm_judge_round(j) >= 31 ? JM_MLPERF_FAIL : JM_MLPERF_WARN,
                         evidence,
                         "%lld sample%s more than 1 %% uncertain in the load (%lld message%s): \"%.120s\"",
                         (long long)most, most > 1 ? "s are" : " is", (long long)load[K_UNCERTAIN].n,
                         load[K_UNCERTAIN].n > 1 ? "s" : "", after_word(load[K_UNCERTAIN].text));
        } else {
            jm_judge_pass(j, "ptdlog.uncertainty", "No sample of the load is more than 1 %% uncertain");
        }
        if (load[K_UNKNOWN].n)
            said(j, "ptdlog.unknown", -1, &load[K_UNKNOWN], "inside the load window");
        else
            jm_judge_pass(j, "ptdlog.unknown", "No uncertainty is unknown inside the load window");
        if (load[K_MISSED].n)
            jm_judge_breach(j, "ptdlog.missed", NULL, "PTDaemon missed %lld samples of the load",
                            (long long)load[K_MISSED].samples);
        else
            jm_judge_pass(j, "ptdlog.missed", "PTDaemon missed no sample of the load");
        if (load[K_WARNING].n)
            said(j, "ptdlog.warnings", -1, &load[K_WARNING], "inside the load window");
        else
            jm_judge_pass(j, "ptdlog.warnings", "No other warning inside the load window");
    }
    if (outside.n)
        said(j, "ptdlog.errors_other", -1, &outside, "outside the measurements");
    else if (between.n)
        said(j, "ptdlog.errors_other", JM_MLPERF_WARN, &between, "while testing, before or after the load");
    else
        jm_judge_pass(j, "ptdlog.errors_other", "No error outside ranging and the load");
    if (odd.n)
        said(j, "ptdlog.errors_ranging", JM_MLPERF_WARN, &odd, "while ranging, not of the usual ones");
    else if (ranging.n)
        said(j, "ptdlog.errors_ranging", -1, &ranging, "while ranging");
    else
        jm_judge_pass(j, "ptdlog.errors_ranging", "No error while ranging");
}

static void measured(struct jm_judge *j, const struct marks *m, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < JM_MLPERF_MODES; k++)
            if (!m[i].began[k] || !m[i].ended[k]) {
                jm_judge_breach(j, "ptdlog.ranging", NULL, "Analyzer %d: %s of %s is not in the log", i + 1,
                                m[i].began[k] ? "the end" : "the start", k ? "testing" : "ranging");
                return;
            }
    jm_judge_pass(j, "ptdlog.ranging", "Ranging and testing of this session are in the log");
}

static void activated(struct jm_judge *j, const struct marks *m, int n)
{
    for (int i = 0; i < n; i++) {
        if (!m[i].sure) {
            jm_judge_breach(j, "ptdlog.uncertainty_on", NULL,
                            "Analyzer %d: nothing says that its uncertainty was checked", i + 1);
            return;
        }
        if (m[i].began[0] && m[i].sure_at >= m[i].from[0]) {
            jm_judge_breach(j, "ptdlog.uncertainty_on", NULL,
                            "Analyzer %d: its uncertainty was checked only after ranging had begun", i + 1);
            return;
        }
    }
    jm_judge_pass(j, "ptdlog.uncertainty_on", "Uncertainty was checked from before ranging");
}

void jm_judge_log(struct jm_judge *j)
{
    static const char *const ids[] = {"ptdlog.ranging",     "ptdlog.uncertainty_on", "ptdlog.errors_load",
                                      "ptdlog.uncertainty", "ptdlog.unknown",        "ptdlog.missed",
                                      "ptdlog.warnings",    "ptdlog.errors_other",   "ptdlog.errors_ranging",
                                      "ptdlog.line_safe"};
    const struct jm_mlperf_ptd_log *log = &j->s->ptd_log;
    struct marks m[16];
    if (!log->present) {
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
            jm_judge_absent(j, ids[i], "power/ptd_logs.txt is not there");
        return;
    }
    int n = log->analyzers < 1 ? 1 : log->analyzers > 16 ? 16 : log->analyzers;
    int64_t zone = j->s->round.local_time && j->s->server.has_timezone
                       ? j->s->server.timezone_s * INT64_C(1000000000)
                       : 0;
    for (int i = 0; i < n; i++)
        find_marks(j, i + 1, zone, &m[i]);
    measured(j, m, n);
    activated(j, m, n);
    place(j, zone, m, n);
    if (log->dropped)
        jm_judge_breach(
            j, "ptdlog.line_safe", NULL, "%lld messages more than are looked at: %lld errors, %lld warnings",
            (long long)log->dropped, (long long)log->dropped_errors, (long long)log->dropped_warnings);
    else if (log->not_line_safe)
        jm_judge_breach(j, "ptdlog.line_safe", NULL, "%lld of %lld lines hold a message in their middle",
                        (long long)log->not_line_safe, (long long)log->lines);
    else
        jm_judge_pass(j, "ptdlog.line_safe", "All %lld lines are whole", (long long)log->lines);
}
