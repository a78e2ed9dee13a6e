/* SPDX-License-Identifier: Apache-2.0 */
/* Who and when: names, clocks of both sides, the conversation. */
#include "mlperf/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "mlperf/pytext.h"

#include "base/banned.h"

#define STEP_S 0.1   /* wall clock against monotonic clock */
#define TIME_S 0.4   /* mlcommons/power-dev time_sync.py */
#define SAME_S 0.5   /* monotonic clocks of one machine */
#define NAME_S 600.0 /* session's name against its first phase */
#define DST_S  3600.0

static const char *const mode_name[] = {"ranging", "testing"};

static void uuids(struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client, *s = &j->s->server;
    const char *a[2] = {c->uuid_client, c->uuid_server}, *b[2] = {s->uuid_client, s->uuid_server};
    for (int i = 0; i < 2; i++)
        if (!a[i] || !b[i] || strcasecmp(a[i], b[i]) != 0) {
            jm_judge_breach(j, "session.uuid", NULL, "The %s's UUID is %s in client.json, %s in server.json",
                            i ? "server" : "client", a[i] ? a[i] : "absent", b[i] ? b[i] : "absent");
            return;
        }
    jm_judge_pass(j, "session.uuid", "Both files carry the same UUIDs");
}

static void names(struct jm_judge *j)
{
    const char *c = j->s->client.session_name, *s = j->s->server.session_name;
    if (!c || !s || strcmp(c, s) != 0)
        jm_judge_breach(j, "session.name", NULL, "The session is %s in client.json, %s in server.json",
                        c ? c : "absent", s ? s : "absent");
    else
        jm_judge_pass(j, "session.name", "%s", c);
}

/* YYYY-MM-DD_HH-MM-SS as seconds, read as UTC. */
static bool name_time(const char *name, double *out)
{
    char text[32];
    if (strlen(name) < 19 || name[4] != '-' || name[7] != '-' || name[10] != '_' || name[13] != '-' ||
        name[16] != '-')
        return false;
    snprintf(text, sizeof text, "%.5s-%.4s %.2s:%.2s:%.2s.0", name + 5, name, name + 11, name + 14,
             name + 17);
    return jm_py_time(jm_span_of(text), out);
}

static void date(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    double t;
    if (!j->name || !s->n_phase[0] || !s->has_timezone) {
        jm_judge_absent(j, "session.date", "There is no name, phase or time zone to compare");
        return;
    }
    if (!name_time(j->name, &t)) {
        jm_judge_breach(j, "session.date", NULL, "The session's name %s does not begin with a date", j->name);
        return;
    }
    double off = t + (double)s->timezone_s - s->phase[0][0].unix_s;
    if (fabs(off) <= NAME_S)
        jm_judge_pass(j, "session.date", "Name and first phase are %.0f s apart", fabs(off));
    else if (fabs(fabs(off) - DST_S) <= NAME_S)
        jm_judge_say(j, "session.date", JM_MLPERF_NOTE, NULL,
                     "Name and first phase are an hour apart: the time zone leaves daylight saving time out");
    else
        jm_judge_breach(j, "session.date", NULL, "The session is named %.0f s %s its first phase", fabs(off),
                        off < 0 ? "before" : "after");
}

/* --- phases
 * -------------------------------------------------------------------------------------------------- */

static void difference(struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client, *s = &j->s->server;
    double most = j->rev->tolerance_ms / 1000, worst = 0;
    for (int m = 0; m < JM_MLPERF_MODES; m++) {
        if (c->n_phase[m] != s->n_phase[m]) {
            jm_judge_breach(j, "clock.difference", NULL, "%s has %d steps in client.json, %d in server.json",
                            m ? "Testing" : "Ranging", c->n_phase[m], s->n_phase[m]);
            return;
        }
        for (int i = 0; i < c->n_phase[m]; i++) {
            double d = fabs(c->phase[m][i].unix_s - s->phase[m][i].unix_s);
            if (!(d <= worst))
                worst = d;
        }
    }
    if (!c->n_phase[0] && !c->n_phase[1])
        jm_judge_breach(j, "clock.difference", NULL, "No phase was recorded");
    else if (!(worst <= most))
        jm_judge_breach(j, "clock.difference", NULL,
                        "The clocks differ by up to %.0f ms; %.0f ms are allowed", worst * 1000,
                        j->rev->tolerance_ms);
    else
        jm_judge_pass(j, "clock.difference", "The clocks differ by %.0f ms at most (%.0f ms allowed)",
                      worst * 1000, j->rev->tolerance_ms);
}

static void inside(struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client;
    int hour = 0, known = 0;
    for (int m = 0; m < JM_MLPERF_MODES; m++) {
        if (!j->load[m] || c->n_phase[m] < 3)
            continue;
        known++;
        double from = c->phase[m][1].unix_s, to = c->phase[m][2].unix_s;
        double b = (double)j->begin[m] / 1e9, e = (double)j->end[m] / 1e9;
        if (from < b && b < e && e < to)
            continue;
        if (from < b - DST_S && e - DST_S < to) {
            hour = 1;
            continue;
        }
        jm_judge_breach(j, "clock.inside", NULL,
                        "The load of %s begins %+.1f s and ends %+.1f s from the start and stop of its phase",
                        mode_name[m], b - from, e - to);
        jm_judge_absent(j, "clock.dst", "The load lies outside its phase");
        return;
    }
    if (!known) {
        jm_judge_absent(j, "clock.inside", "There are no load stamps or no phases");
        jm_judge_absent(j, "clock.dst", "There are no load stamps or no phases");
        return;
    }
    jm_judge_pass(j, "clock.inside", "The loads ran inside their phases%s",
                  hour ? ", an hour taken off" : "");
    if (hour)
        jm_judge_breach(j, "clock.dst", NULL, "LoadGen's stamps are an hour ahead of the phases");
    else
        jm_judge_pass(j, "clock.dst", "No clock is an hour off");
}

static void order(struct jm_judge *j)
{
    const struct jm_mlperf_side *side[2] = {&j->s->client, &j->s->server};
    for (int k = 0; k < 2; k++) {
        double last = -INFINITY;
        for (int m = 0; m < JM_MLPERF_MODES; m++)
            for (int i = 0; i < side[k]->n_phase[m]; i++) {
                double t = side[k]->phase[m][i].unix_s;
                if (t < last) {
                    jm_judge_breach(j, "clock.order", NULL,
                                    "%s's step %d of %s lies %.3f s before the step above it",
                                    k ? "The server" : "The client", i + 1, mode_name[m], last - t);
                    return;
                }
                last = t;
            }
    }
    if (j->load[0] && j->load[1] && j->begin[1] < j->end[0])
        jm_judge_breach(j, "clock.order", NULL, "The load of testing begins before that of ranging ends");
    else
        jm_judge_pass(j, "clock.order", "Ranging, then testing");
}

static void steps(struct jm_judge *j)
{
    const struct jm_mlperf_side *side[2] = {&j->s->client, &j->s->server};
    double worst = 0;
    int who = 0, mode = 0, known = 0;
    for (int k = 0; k < 2; k++)
        for (int m = 0; m < JM_MLPERF_MODES; m++)
            for (int i = 1; i < side[k]->n_phase[m]; i++) {
                const struct jm_mlperf_stamp *a = &side[k]->phase[m][i - 1], *b = &side[k]->phase[m][i];
                double d = (b->unix_s - a->unix_s) - (b->mono_s - a->mono_s);
                if (isnan(d))
                    continue;
                known++;
                if (fabs(d) > fabs(worst)) {
                    worst = d;
                    who = k;
                    mode = m;
                }
            }
    if (!known)
        jm_judge_absent(j, "clock.step", "No two steps of a phase were recorded");
    else if (fabs(worst) > STEP_S)
        jm_judge_breach(j, "clock.step", NULL, "The %s's clock was set by %+.3f s during %s",
                        who ? "server" : "client", worst, mode_name[mode]);
    else
        jm_judge_pass(j, "clock.step", "Wall and monotonic clock advance alike (to %.1f ms)",
                      fabs(worst) * 1000);
}

static void ntp(struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client;
    double worst = 0, bad = 0;
    int asked = 0, repaired = 0;
    for (size_t i = 0; i < c->n_messages; i++) {
        const struct jm_mlperf_message *m = &c->messages[i];
        double remote;
        if (m->cmd && strcmp(m->cmd, "set_ntp") == 0)
            repaired++;
        if (!m->cmd || strcmp(m->cmd, "time") != 0 || !m->reply || isnan(m->cmd_time) ||
            isnan(m->reply_time) || jm_num_double(jm_span_of(m->reply), &remote) != 0)
            continue;
        asked++;
        double d = fmax(fabs(m->cmd_time - remote), fabs(m->reply_time - remote));
        worst = fmax(worst, d);
        bool mended =
            i + 1 < c->n_messages && c->messages[i + 1].cmd && strcmp(c->messages[i + 1].cmd, "set_ntp") == 0;
        if (d > TIME_S && !mended)
            bad = fmax(bad, d);
    }
    if (!asked)
        jm_judge_absent(j, "clock.ntp", "The client never asked for the server's time");
    else if (bad > 0)
        jm_judge_breach(j, "clock.ntp", NULL,
                        "The server's time was %.0f ms off when it was asked for; 400 ms are allowed",
                        bad * 1000);
    else
        jm_judge_pass(j, "clock.ntp", "%d time requests, %.0f ms apart at most%s", asked, worst * 1000,
                      repaired ? ", repaired by set_ntp" : "");
}

static void director(struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client, *s = &j->s->server;
    double worst = 0;
    int n = 0;
    for (int m = 0; m < JM_MLPERF_MODES; m++)
        for (int i = 0; i < c->n_phase[m] && i < s->n_phase[m]; i++) {
            double d = fabs(c->phase[m][i].mono_s - s->phase[m][i].mono_s);
            if (isnan(d))
                return;
            worst = fmax(worst, d);
            n++;
        }
    if (n < 2)
        jm_judge_absent(j, "clock.director", "There are not enough steps to compare");
    else if (worst < SAME_S)
        jm_judge_breach(
            j, "clock.director", NULL,
            "The monotonic clocks of client and server agree to %.1f ms: the Director ran on the SUT",
            worst * 1000);
    else
        jm_judge_pass(j, "clock.director", "Client and server ran on two machines");
}

/* Are client.json and server.json both to be read? Else none of the rules can look. */
static bool both_sides(struct jm_judge *j, const char *const *ids, size_t n)
{
    const struct jm_mlperf_side *c = &j->s->client, *s = &j->s->server;
    if (c->present && s->present && !c->broken && !s->broken)
        return true;
    for (size_t i = 0; i < n; i++)
        jm_judge_absent(j, ids[i], "client.json and server.json are not both there and readable");
    return false;
}

void jm_judge_clocks(struct jm_judge *j)
{
    static const char *const ids[] = {"session.uuid", "session.name",  "session.date", "clock.difference",
                                      "clock.inside", "clock.dst",     "clock.order",  "clock.step",
                                      "clock.ntp",    "clock.director"};
    if (!both_sides(j, ids, sizeof ids / sizeof *ids))
        return;
    uuids(j);
    names(j);
    date(j);
    difference(j);
    inside(j);
    order(j);
    steps(j);
    ntp(j);
    director(j);
}

/* --- messages
 * ------------------------------------------------------------------------------------------------ */

static const char *text(const char *t)
{
    return t ? t : "nothing";
}

static void agree(struct jm_judge *j)
{
    const struct jm_mlperf_side *c = &j->s->client, *s = &j->s->server;
    size_t n = c->n_messages < s->n_messages ? c->n_messages : s->n_messages;
    for (size_t i = 0; i < n; i++) {
        const struct jm_mlperf_message *a = &c->messages[i], *b = &s->messages[i];
        bool time = a->cmd && strcmp(a->cmd, "time") == 0;
        if (!a->cmd || !b->cmd || strcmp(a->cmd, b->cmd) != 0) {
            jm_judge_breach(j, "messages.agree", NULL,
                            "Message %zu is \"%.120s\" for the client, \"%.120s\" for the server", i + 1,
                            text(a->cmd), text(b->cmd));
            return;
        }
        if (!time && (!a->reply || !b->reply || strcmp(a->reply, b->reply) != 0)) {
            jm_judge_breach(j, "messages.agree", NULL,
                            "The reply to \"%.120s\" is \"%.120s\" for the client, \"%.120s\" for the server",
                            a->cmd, text(a->reply), text(b->reply));
            return;
        }
    }
    size_t want = c->n_messages + (j->rev->one_more_message ? 1 : 0);
    if (s->n_messages != want)
        jm_judge_breach(j, "messages.agree", NULL, "The client recorded %zu messages, the server %zu",
                        c->n_messages, s->n_messages);
    else
        jm_judge_pass(j, "messages.agree", "Both recorded the same %zu messages", c->n_messages);
}

static void version(struct jm_judge *j)
{
    static const char *const before[2] = {"mlcommons/power client v", "mlcommons/power server v"};
    const struct jm_mlperf_side *s = &j->s->server;
    const struct jm_mlperf_message *m = s->n_messages ? &s->messages[0] : NULL;
    if (!m || !m->cmd || !m->reply || strncmp(m->cmd, before[0], 24) != 0 ||
        strncmp(m->reply, before[1], 24) != 0)
        jm_judge_breach(j, "messages.version", NULL,
                        "The conversation does not begin with the protocol's greeting");
    else if (strcmp(m->cmd + 24, m->reply + 24) != 0)
        jm_judge_breach(j, "messages.version", NULL, "Client v%.20s met server v%.20s", m->cmd + 24,
                        m->reply + 24);
    else
        jm_judge_pass(j, "messages.version", "Protocol version %.20s on both sides", m->cmd + 24);
}

static void workflow(struct jm_judge *j)
{
    static const char *const steps_of[] = {"new,", ",start,ranging", ",stop,ranging", ",start,testing",
                                           ",stop,testing"};
    const struct jm_mlperf_side *c = &j->s->client;
    size_t next = 0;
    for (size_t i = 0; i < c->n_messages && next < 5; i++) {
        const struct jm_mlperf_message *m = &c->messages[i];
        if (!m->cmd || !strstr(m->cmd, steps_of[next]))
            continue;
        if (!m->reply || strncmp(m->reply, "OK", 2) != 0) {
            jm_judge_breach(j, "messages.order", NULL, "\"%.120s\" was answered \"%.120s\"", m->cmd,
                            text(m->reply));
            return;
        }
        next++;
    }
    if (next < 5)
        jm_judge_breach(j, "messages.order", NULL, "The conversation lacks \"%s\", or has it out of order",
                        steps_of[next]);
    else
        jm_judge_pass(j, "messages.order", "new, ranging, testing, each answered OK");
}

static void uploads(struct jm_judge *j)
{
    const struct jm_mlperf_side *s = &j->s->server;
    size_t n = 0;
    for (size_t i = 0; i < s->n_messages; i++)
        n += s->messages[i].cmd && strstr(s->messages[i].cmd, ",upload,") != NULL;
    if (n)
        jm_judge_breach(j, "messages.upload", NULL, "%zu uploads, as the workflow of v1.0 does", n);
    else
        jm_judge_pass(j, "messages.upload", "Nothing was uploaded");
}

void jm_judge_messages(struct jm_judge *j)
{
    static const char *const ids[] = {"messages.agree", "messages.version", "messages.order",
                                      "messages.upload"};
    if (!both_sides(j, ids, sizeof ids / sizeof *ids))
        return;
    agree(j);
    version(j);
    workflow(j);
    uploads(j);
}
