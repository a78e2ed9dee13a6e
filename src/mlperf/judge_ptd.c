/* SPDX-License-Identifier: Apache-2.0 */
/* PTDaemon: its version, the analyzer, the commands and their replies, for any number of analyzers. Their
 * messages may come one analyzer after the other or interleaved: counts are looked at, not places. */
#include "mlperf/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define GO_REPLY "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"

/* Builds of PTDaemon in published results and in the public command corpus. */
static const char *const builds[] = {"1.9.1-0ac6bd5f-20201022",  "1.9.2-3976349f-20201208",
                                     "1.9.2-e8c7a49a-20201208",  "1.10.0-ed9a21d2-20220817",
                                     "1.10.0-82175bac-20220817", "1.11.1-462c978e-20240907",
                                     "1.11.1-69286632-20240907"};

static bool is(const struct jm_mlperf_message *m, const char *start)
{
    return m->cmd && m->reply && strncmp(m->cmd, start, strlen(start)) == 0;
}

static struct jm_span field(const char *text, int n)
{
    struct jm_span rest = jm_span_of(text), f = {NULL, 0};
    for (int i = 0; i <= n; i++)
        if (!jm_span_field(&rest, ',', &f))
            return (struct jm_span){NULL, 0};
    return f;
}

static bool listed(const char *list, struct jm_span word)
{
    struct jm_span rest = jm_span_of(list), one;
    while (jm_span_field(&rest, ' ', &one))
        if (one.n && jm_span_eq(one, word))
            return true;
    return false;
}

/* "1.9.2-3976349f-20201208" of a reply to Identify. */
static struct jm_span build_of(const char *identity)
{
    const char *at = strstr(identity, "version=");
    struct jm_span rest = jm_span_of(at ? at + 8 : ""), f;
    return jm_span_field(&rest, ',', &f) ? f : (struct jm_span){"", 0};
}

static void identity(struct jm_judge *j, const char *reply)
{
    struct jm_span build = build_of(reply), model = field(reply, 0), version = build;
    ptrdiff_t dash = jm_span_chr(build, '-');
    bool seen = false, known = false;
    if (dash >= 0)
        version = jm_span_sub(build, 0, (size_t)dash);
    const char *round = *j->s->round.name ? j->s->round.name : "the round";
    if (listed(j->rev->versions, version))
        jm_judge_pass(j, "ptd.version", "PTDaemon %.*s", (int)version.n, version.p);
    else
        jm_judge_breach(j, "ptd.version", NULL, "PTDaemon %.*s; %s takes %s",
                        (int)(version.n > 60 ? 60 : version.n), version.p, round, j->rev->versions);
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        seen |= jm_span_is(build, builds[i]);
    if (seen)
        jm_judge_pass(j, "ptd.build", "Build %.*s is known from published results", (int)build.n, build.p);
    else
        jm_judge_breach(j, "ptd.build", NULL, "Build %.*s was not seen in any published result",
                        (int)(build.n > 80 ? 80 : build.n), build.p);
    for (const struct jm_mlperf_model *m = jm_mlperf_models; m->name; m++)
        known |= jm_mlperf_model_in(m, j->rev->models) && jm_span_is(model, m->name);
    if (known)
        jm_judge_pass(j, "ptd.model", "%.*s", (int)model.n, model.p);
    else
        jm_judge_breach(j, "ptd.model", NULL, "%.*s is no analyzer that %s accepts",
                        (int)(model.n > 60 ? 60 : model.n), model.p, round);
}

/* The analyzer's answer to Identify does not fit: nothing there. */
static void identities(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    int n = 0;
    for (size_t i = 0; i < s->n_ptd; i++)
        if (is(&s->ptd[i], "Identify") && *s->ptd[i].reply && n++ < 16)
            identity(j, s->ptd[i].reply);
    if (n)
        return;
    jm_judge_breach(j, "ptd.version", NULL, "There is no answer to Identify");
    jm_judge_absent(j, "ptd.build", "There is no answer to Identify");
    jm_judge_breach(j, "ptd.model", NULL, "There is no answer to Identify");
}

static void replies(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    size_t wrong = 0, commands = 0;
    int stopped = 0, idle = 0;
    char first[600] = "";
    for (size_t i = 0; i < s->n_ptd; i++) {
        const struct jm_mlperf_message *m = &s->ptd[i];
        const char *wanted = is(m, "SR,A")       ? "Range A changed"
                             : is(m, "SR,V")     ? "Range V changed"
                             : is(m, "Go,1000,") ? GO_REPLY
                                                 : NULL;
        if (is(m, "Stop")) {
            commands++;
            stopped += strcmp(m->reply, "Stopping untimed measurement") == 0;
            idle += strcmp(m->reply, "Error: no measurement to stop") == 0;
            if (strcmp(m->reply, "Stopping untimed measurement") == 0 ||
                strcmp(m->reply, "Error: no measurement to stop") == 0)
                continue;
            wanted = "";
        } else if (is(m, "Go,") && !wanted) {
            wanted = GO_REPLY;
        }
        if (!wanted)
            continue;
        commands++;
        if (strcmp(m->reply, wanted) != 0 && wrong++ == 0)
            snprintf(first, sizeof first, "%.200s was answered \"%.300s\"", m->cmd, m->reply);
    }
    int want = 2 * j->analyzers;
    if (wrong)
        jm_judge_breach(j, "ptd.replies", NULL, "%s%s", first, wrong > 1 ? ", and others" : "");
    else if (stopped != want || idle > j->analyzers)
        jm_judge_breach(j, "ptd.replies", NULL,
                        "%d measurements were stopped, not %d; %d times there was none to stop", stopped,
                        want, idle);
    else
        jm_judge_pass(j, "ptd.replies", "All %zu commands were accepted", commands);
}

static void sequence(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    char ranging[700], testing[700], other[300] = "";
    int n_r = 0, n_t = 0, n_other = 0, late = 0;
    snprintf(ranging, sizeof ranging, "Go,1000,0,%s_ranging", j->name ? j->name : "");
    snprintf(testing, sizeof testing, "Go,1000,0,%s_testing", j->name ? j->name : "");
    for (size_t i = 0; i < s->n_ptd; i++) {
        if (!is(&s->ptd[i], "Go,"))
            continue;
        if (strcmp(s->ptd[i].cmd, ranging) == 0) {
            late += n_t > n_r;
            n_r++;
        } else if (strcmp(s->ptd[i].cmd, testing) == 0) {
            n_t++;
        } else if (n_other++ == 0) {
            snprintf(other, sizeof other, "%.250s", s->ptd[i].cmd);
        }
    }
    if (n_other)
        jm_judge_breach(j, "ptd.sequence", NULL, "%d measurements carry other marks, first %s", n_other,
                        other);
    else if (n_r != j->analyzers || n_t != j->analyzers || late)
        jm_judge_breach(j, "ptd.sequence", NULL,
                        "%d measurements of ranging and %d of testing with %d analyzer%s%s", n_r, n_t,
                        j->analyzers, j->analyzers > 1 ? "s" : "", late ? ", not in this order" : "");
    else
        jm_judge_pass(j, "ptd.sequence", "Ranging, then testing, with the marks of this session");
}

/* The range that a reply to RR names: "Auto" where it was automatic or unknown. */
static struct jm_span initial(const char *rr, int at)
{
    struct jm_span automatic = field(rr, at), range = field(rr, at + 1);
    double v;
    if (jm_span_is(automatic, "0") && jm_num_double(range, &v) == 0 && v > 0)
        return range;
    return JM_SPAN("Auto");
}

/* The n-th command from the end that starts so. */
static const char *from_end(const struct jm_mlperf_side *s, const char *start, int n)
{
    for (size_t i = s->n_ptd; i-- > 0;)
        if (is(&s->ptd[i], start) && n-- == 0)
            return s->ptd[i].cmd;
    return NULL;
}

static void restored(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    int n = 0;
    for (size_t i = 0; i < s->n_ptd && n < 16; i++) {
        if (!is(&s->ptd[i], "RR"))
            continue;
        for (int k = 0; k < 2; k++) {
            struct jm_span want = initial(s->ptd[i].reply, k ? 3 : 1);
            const char *got = from_end(s, k ? "SR,V," : "SR,A,", j->analyzers - 1 - n);
            if (got && jm_span_eq(jm_span_of(got + 5), want))
                continue;
            jm_judge_breach(j, "ptd.restored", NULL, "Analyzer %d: %s was %.*s at the start, %s at the end",
                            n + 1, k ? "voltage" : "current", (int)want.n, want.p, got ? got + 5 : "nothing");
            return;
        }
        n++;
    }
    if (!n)
        jm_judge_breach(j, "ptd.restored", NULL, "RR was never asked: the ranges at the start are not known");
    else
        jm_judge_pass(j, "ptd.restored", "The ranges of %d analyzer%s were put back", n, n > 1 ? "s" : "");
}

static void config(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    const char *model = NULL;
    size_t entries = 0;
    for (size_t i = 0; i < s->n_ptd && !model; i++)
        if (is(&s->ptd[i], "Identify"))
            model = s->ptd[i].reply;
    for (size_t i = 0; i < s->n_config; i++) {
        const struct jm_mlperf_ptd_config *c = &s->config[i];
        bool known = false, fits = !model;
        if (c->device_type < 0 && !c->command)
            continue;
        entries++;
        for (const struct jm_mlperf_model *m = jm_mlperf_models; m->name; m++) {
            known |= jm_mlperf_model_in(m, j->rev->models) && m->type == c->device_type;
            fits |= model && m->type == c->device_type && jm_span_is(field(model, 0), m->name);
        }
        if (!known) {
            jm_judge_breach(j, "ptd.config", NULL, "Device type %lld is not one that the round accepts",
                            (long long)c->device_type);
            return;
        }
        if (!fits && j->analyzers == 1) {
            struct jm_span m = field(model, 0);
            jm_judge_say(j, "ptd.config", JM_MLPERF_WARN, NULL,
                         "Device type %lld was configured, but Identify says %.*s", (long long)c->device_type,
                         (int)(m.n > 60 ? 60 : m.n), m.p);
            return;
        }
    }
    if (!entries)
        jm_judge_breach(j, "ptd.config", NULL, "server.json does not say how PTDaemon was configured");
    else
        jm_judge_pass(j, "ptd.config", "Device type %lld", (long long)s->config[0].device_type);
}

static void multichannel(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    const struct jm_mlperf_power *p = &j->s->power[JM_MLPERF_TESTING];
    int channels = p->channels;
    if (s->n_config > 1 && p->file.rows && p->analyzers < (int)s->n_config) {
        jm_judge_say(j, "ptd.multichannel", JM_MLPERF_WARN, NULL,
                     "%zu analyzers were configured, but the samples of run_1/spl.txt are those of %d",
                     s->n_config, p->analyzers > 0 ? p->analyzers : 1);
        return;
    }
    for (size_t i = 0; i < s->n_config; i++) {
        const struct jm_mlperf_ptd_config *c = &s->config[i];
        if (c->device_type != 77)
            continue;
        if (!c->channel || !strchr(c->channel, ',') || !c->command || !strstr(c->command, " -c ")) {
            jm_judge_breach(j, "ptd.multichannel", NULL,
                            "Device type 77 has no first channel and count (channel is %s)",
                            c->channel ? c->channel : "not given");
            return;
        }
        if (j->s->power[JM_MLPERF_TESTING].present && j->analyzers == 1 && channels < 2) {
            jm_judge_say(j, "ptd.multichannel", JM_MLPERF_WARN, NULL,
                         "Channels %s were configured, but spl.txt shows none", c->channel);
            return;
        }
        jm_judge_pass(j, "ptd.multichannel", "Channels %s, %d in the log", c->channel, channels);
        return;
    }
    if (channels > 1)
        jm_judge_pass(j, "ptd.multichannel", "%d channels in the log", channels);
    else
        jm_judge_absent(j, "ptd.multichannel", "The analyzer measures one channel");
}

const char *jm_mlperf_unofficial(const struct jm_mlperf_session *session, bool *simulated)
{
    const struct jm_mlperf_side *s = &session->server;
    const char *mark = session->power[JM_MLPERF_TESTING].first_mark;
    *simulated = true;
    for (size_t i = 0; i < s->n_config; i++)
        if (s->config[i].device_type == 0)
            return "device type 0 is PTDaemon's dummy";
    for (size_t i = 0; i < s->n_ptd; i++) {
        if (!is(&s->ptd[i], "Identify"))
            continue;
        const char *r = s->ptd[i].reply;
        struct jm_span m = field(r, 0);
        if (strstr(r, "JOULEMARK") || strstr(r, ",SIM;") || jm_span_istarts(m, JM_SPAN("sim")) ||
            jm_span_istarts(m, JM_SPAN("dummy")))
            return "Identify names a stand-in for an analyzer";
    }
    *simulated = false;
    for (size_t i = 0; i < session->n_others; i++)
        if (strstr(session->others[i], "NOT_OFFICIAL"))
            return "the session says of itself that it is not official";
    if (mark && strlen(mark) > 11 && strcmp(mark + strlen(mark) - 11, "_unofficial") == 0)
        return "the marks say that it is not official";
    return NULL;
}

static void simulated(struct jm_judge *j)
{
    bool ignored;
    const char *why = jm_mlperf_unofficial(j->s, &ignored);
    if (why)
        jm_judge_breach(j, "ptd.simulated", NULL, "Not an official measurement: %s", why);
    else
        jm_judge_pass(j, "ptd.simulated", "No sign of a simulation");
}

/* --- what PTDaemon itself counted
 * ---------------------------------------------------------------------------- */

/* Last reply to a command after the last Go. */
static const char *last_reply(const struct jm_mlperf_side *s, const char *cmd)
{
    for (size_t i = s->n_ptd; i-- > 0;) {
        if (is(&s->ptd[i], "Go,"))
            return NULL;
        if (s->ptd[i].cmd && strcmp(s->ptd[i].cmd, cmd) == 0 && s->ptd[i].reply)
            return s->ptd[i].reply;
    }
    return NULL;
}

static void watts(struct jm_judge *j)
{
    const char *reply = last_reply(&j->s->server, "Watts");
    const struct jm_mlperf_power *p = &j->s->power[JM_MLPERF_TESTING];
    double mean, total, valid;
    if (!reply || !p->present || j->analyzers > 1 || p->file.n_positive == 0 || p->file.overflow) {
        jm_judge_absent(j, "ptd.watts_reply",
                        reply ? "There is nothing to compare with" : "PTDaemon was not asked for its mean");
        return;
    }
    if (jm_num_double(field(reply, 1), &mean) || jm_num_double(field(reply, 4), &total) ||
        jm_num_double(field(reply, 6), &valid)) {
        jm_judge_breach(j, "ptd.watts_reply", NULL, "\"%.200s\" is no answer to Watts", reply);
        return;
    }
    double ours = (double)p->file.sum_positive_uw / 1e6 / (double)p->file.n_positive;
    double off = ours - mean, rows = (double)p->file.rows - total;
    double most = fabs(rows) <= 2 ? 0.002 : 1e-4; /* a sample came between the two answers */
    if (fabs(rows) > 2)
        jm_judge_breach(j, "ptd.watts_reply", NULL,
                        "PTDaemon counted %.0f samples, spl.txt of testing has %lld", total,
                        (long long)p->file.rows);
    else if (fabs(off) > most * fabs(mean))
        jm_judge_breach(j, "ptd.watts_reply", NULL, "PTDaemon's mean is %.6g W, that of spl.txt %.6g W", mean,
                        ours);
    else
        jm_judge_pass(j, "ptd.watts_reply", "PTDaemon's mean of %.0f samples is %.6g W, ours %.6g W", valid,
                      mean, ours);
}

static void uncertainty(struct jm_judge *j)
{
    const char *reply = last_reply(&j->s->server, "Uncertainty");
    const struct jm_mlperf_ptd_log *log = &j->s->ptd_log;
    double n;
    if (!reply || !log->present || log->dropped || j->analyzers > 1 ||
        jm_num_double(field(reply, 5), &n) != 0) {
        jm_judge_absent(j, "ptd.uncertainty_reply",
                        reply ? "There is nothing to compare with"
                              : "PTDaemon was not asked for the uncertainty");
        return;
    }
    int64_t seen = 0, other = 0;
    bool testing = false;
    for (size_t i = 0; i < log->n_events; i++) {
        const char *t = log->events[i].text;
        if (strncmp(t, "Go with mark", 12) == 0)
            testing = strstr(t, "_testing") != NULL;
        if (!testing || !strstr(t, "above 1.00% limit"))
            continue;
        const char *channel = strstr(t, "channel ");
        if (!channel || channel[8] == '0')
            seen++;
        else
            other++;
    }
    if (!seen && other)
        seen = other;
    if (fabs((double)seen - n) > 1)
        jm_judge_breach(j, "ptd.uncertainty_reply", NULL,
                        "PTDaemon counted %.0f samples above 1 %%, its log shows %lld", n, (long long)seen);
    else
        jm_judge_pass(j, "ptd.uncertainty_reply", "%.0f samples above 1 %%, as many in the log", n);
}

static void debug(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    if (s->has_debug && s->debug)
        jm_judge_breach(j, "server.debug", NULL, "server.json says \"debug\": true");
    else
        jm_judge_pass(j, "server.debug", "The server did not run in debug mode");
}

void jm_judge_ptd(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    simulated(j);
    if (!s->present || s->broken) {
        static const char *const ids[] = {
            "ptd.version",  "ptd.build",  "ptd.model",        "ptd.replies",     "ptd.sequence",
            "ptd.restored", "ptd.config", "ptd.multichannel", "ptd.watts_reply", "ptd.uncertainty_reply",
            "server.debug"};
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
            jm_judge_absent(j, ids[i], "server.json is not there or not readable");
        return;
    }
    identities(j);
    replies(j);
    sequence(j);
    restored(j);
    config(j);
    multichannel(j);
    watts(j);
    uncertainty(j);
    debug(j);
}
