/* SPDX-License-Identifier: Apache-2.0 */
/* Checks 3, 10, 11: the conversation with PTDaemon and its configuration. */
#include "mlperf/official_follow.h"

#include <string.h>

#include "mlperf/textlog.h"

#include "base/banned.h"

/* A message's cmd and reply, both texts. */
static int message(struct jm_follow *f, const struct jm_json *msgs, size_t i, struct jm_span *cmd,
                   struct jm_span *reply)
{
    const struct jm_json *m, *v;
    int rc = jm_follow_at(f, msgs, i, &m);
    if (rc == 0)
        rc = jm_follow_get(f, m, "cmd", &v);
    if (rc)
        return rc;
    if (!jm_json_str(v, cmd))
        return jm_follow_fail(f, "AttributeError: object has no attribute 'startswith'");
    if (!reply)
        return 0;
    if ((rc = jm_follow_get(f, m, "reply", &v)) != 0)
        return rc;
    if (!jm_json_str(v, reply))
        *reply = JM_SPAN("None");
    return 0;
}

static int unlike(struct jm_follow *f, const char *fmt1, struct jm_span a, const char *fmt2, struct jm_span b,
                  const char *fmt3, struct jm_span c, const char *fmt4)
{
    struct jm_str t;
    jm_str_init(&t);
    jm_str_adds(&t, fmt1);
    jm_mlperf_quote(&t, a);
    jm_str_adds(&t, fmt2);
    if (b.p)
        jm_mlperf_quote(&t, b);
    jm_str_adds(&t, fmt3);
    if (c.p)
        jm_mlperf_quote(&t, c);
    jm_str_adds(&t, fmt4);
    int rc = jm_follow_fail(f, "%s", t.buf);
    jm_str_release(&t);
    return rc;
}

static int replies(struct jm_follow *f, const struct jm_json *msgs, const char *start, const char *wanted)
{
    int stops = 0;
    for (size_t i = 0; i < jm_json_len(msgs); i++) {
        struct jm_span cmd, reply;
        int rc = message(f, msgs, i, &cmd, NULL);
        if (rc)
            return rc;
        if (!jm_span_starts(cmd, jm_span_of(start)))
            continue;
        if ((rc = message(f, msgs, i, &cmd, &reply)) != 0)
            return rc;
        if (jm_span_is(cmd, "Stop") && stops++ == 2)
            wanted = "Error: no measurement to stop";
        if (!jm_span_is(reply, wanted))
            return unlike(f, "Wrong reply for ", cmd, " command. Expected ", jm_span_of(wanted), ", but got ",
                          reply, "");
    }
    return 0;
}

/* The range that RR names, "Auto" where it was automatic or unknown. */
static int initial(struct jm_follow *f, struct jm_span reply, size_t at, struct jm_span *out)
{
    struct jm_span rest = reply, part[8] = {{NULL, 0}};
    double v;
    for (size_t i = 0; i < 8 && jm_span_field(&rest, ',', &part[i]); i++) {
    }
    *out = JM_SPAN("Auto");
    if (part[at].p && !jm_span_is(part[at], "0"))
        return 0;
    if (!part[at].p || !part[at + 1].p || !jm_py_float(part[at + 1], &v))
        return unlike(f, "Can not get power meters initial values from ", reply, "",
                      (struct jm_span){NULL, 0}, "", (struct jm_span){NULL, 0}, "");
    if (v > 0)
        *out = part[at + 1];
    return 0;
}

static int nth(struct jm_follow *f, const struct jm_json *msgs, const char *start, int n, struct jm_span *out)
{
    int seen = 0;
    for (size_t i = 0; i < jm_json_len(msgs); i++) {
        struct jm_span cmd;
        int rc = message(f, msgs, i, &cmd, NULL);
        if (rc)
            return rc;
        if (jm_span_starts(cmd, jm_span_of(start)) && ++seen == n) {
            *out = cmd;
            return 0;
        }
    }
    return jm_follow_fail(f, "Can not find the %d command starting with '%s'.", n, start);
}

static bool sets(struct jm_span cmd, const char *before, struct jm_span range)
{
    return cmd.p && cmd.n == strlen(before) + range.n && jm_span_starts(cmd, jm_span_of(before)) &&
           jm_span_ends(cmd, range);
}

static int restored(struct jm_follow *f, const struct jm_json *msgs)
{
    const struct jm_json *m, *v;
    struct jm_span reply, amps, volts, a3, a4 = {NULL, 0}, v3;
    int rc = jm_follow_at(f, msgs, 2, &m);
    if (rc == 0)
        rc = jm_follow_get(f, m, "reply", &v);
    if (rc)
        return rc;
    if (!jm_json_str(v, &reply))
        return jm_follow_fail(f, "AttributeError: object has no attribute 'split'");
    if ((rc = initial(f, reply, 1, &amps)) != 0 || (rc = initial(f, reply, 3, &volts)) != 0 ||
        (rc = nth(f, msgs, "SR,A", 3, &a3)) != 0)
        return rc;
    if (f->r->fourth_amps && (rc = nth(f, msgs, "SR,A", 4, &a4)) != 0) {
        if (rc < 0 || f->r->fourth_amps == 1)
            return rc;
        a4 = (struct jm_span){NULL, 0};
        jm_str_reset(&f->text);
    }
    if ((rc = nth(f, msgs, "SR,V", 3, &v3)) != 0)
        return rc;
    struct jm_str wanted;
    jm_str_init(&wanted);
    if (!sets(a3, "SR,A,", amps) && !sets(a4, "SR,A,", amps)) {
        jm_str_addf(&wanted, "SR,A,%.*s", (int)amps.n, amps.p);
        rc = unlike(f, "Do not set Amps range as initial. Expected ", jm_str_span(&wanted), ", got ", a3,
                    a4.p ? " and " : "", a4, ".");
    } else if (!sets(v3, "SR,V,", volts)) {
        jm_str_addf(&wanted, "SR,V,%.*s", (int)volts.n, volts.p);
        rc = unlike(f, "Do not set Volts range as initial. Expected ", jm_str_span(&wanted), ", got ", v3, "",
                    (struct jm_span){NULL, 0}, ".");
    }
    jm_str_release(&wanted);
    return rc;
}

/* What stands between "version=" and the next dash; empty where there is none. */
static struct jm_span version_of(struct jm_span identity)
{
    struct jm_span rest = identity;
    for (ptrdiff_t at; (at = jm_span_find(rest, JM_SPAN("version="))) >= 0;) {
        rest = jm_span_sub(rest, (size_t)at + 8, rest.n);
        ptrdiff_t dash = rest.n ? jm_span_chr(jm_span_sub(rest, 1, rest.n), '-') : -1;
        ptrdiff_t lf = jm_span_chr(rest, '\n');
        if (dash >= 0 && (lf < 0 || lf > dash))
            return jm_span_sub(rest, 0, (size_t)dash + 1);
    }
    return JM_SPAN("");
}

static bool listed(const char *list, struct jm_span word)
{
    struct jm_span rest = jm_span_of(list), one;
    while (jm_span_field(&rest, ' ', &one))
        if (one.n && jm_span_eq(one, word))
            return true;
    return false;
}

int jm_follow_ptd(struct jm_follow *f)
{
    const struct jm_json *msgs;
    struct jm_span cmd, identity = {NULL, 0}, model;
    int rc = jm_follow_get(f, f->server, "ptd_messages", &msgs);
    for (size_t i = 0; rc == 0 && i < jm_json_len(msgs); i++) {
        if ((rc = message(f, msgs, i, &cmd, NULL)) != 0)
            break;
        if (jm_span_is(cmd, "Identify")) {
            rc = message(f, msgs, i, &cmd, &identity);
            break;
        }
    }
    if (rc)
        return rc;
    if (!identity.n)
        return jm_follow_fail(f, "There is no answer to the 'Identify' command for PTD.");
    struct jm_span version = version_of(identity), rest = identity;
    struct jm_str t;
    jm_str_init(&t);
    if (!listed(f->r->versions, version)) {
        jm_str_adds(&t, "PTD version ");
        jm_mlperf_quote(&t, version);
        rc = jm_follow_fail(f, "%s is not supported. Supported versions are %s", t.buf, f->r->versions_text);
        jm_str_release(&t);
        return rc;
    }
    (void)jm_span_field(&rest, ',', &model);
    bool known = false;
    for (const struct jm_mlperf_model *m = jm_mlperf_models; m->name; m++) {
        if (!jm_mlperf_model_in(m, f->r->models))
            continue;
        known |= jm_span_is(model, m->name);
        jm_str_addf(&t, "%s%s", t.len ? ", " : "", m->name);
    }
    if (!known) {
        struct jm_str name;
        jm_str_init(&name);
        jm_mlperf_quote(&name, model);
        rc = jm_follow_fail(f, "Power meter %s is not support%s. Only %s are supported.", name.buf,
                            f->r->models ? "ed" : "able", t.buf);
        jm_str_release(&name);
    }
    jm_str_release(&t);
    if (rc || (rc = replies(f, msgs, "SR,A", "Range A changed")) != 0 ||
        (rc = replies(f, msgs, "SR,V", "Range V changed")) != 0 ||
        (rc = replies(f, msgs, "Go,1000,",
                      "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup "
                      "samples")) != 0 ||
        (rc = replies(f, msgs, "Stop", "Stopping untimed measurement")) != 0)
        return rc;
    return restored(f, msgs);
}

/* --- check 10
 * ----------------------------------------------------------------------------------------------- */

/* The channels after -c on PTDaemon's command line are two, and so is "channel". */
static int multichannel(struct jm_follow *f, const struct jm_json *entry)
{
    const struct jm_json *command, *channel;
    int rc = jm_follow_get(f, entry, "command", &command);
    if (rc)
        return rc;
    struct jm_span word, channels = JM_SPAN("");
    for (size_t i = 0; i < jm_json_len(command); i++) {
        if (!jm_json_str(jm_json_at(command, i), &word) || !jm_span_is(word, "-c"))
            continue;
        if (!jm_json_at(command, i + 1))
            return jm_follow_fail(f, "IndexError: list index out of range");
        if (!jm_json_str(jm_json_at(command, i + 1), &channels))
            return jm_follow_fail(f, "AttributeError: object has no attribute 'split'");
        break;
    }
    size_t commas = 0;
    for (size_t i = 0; i < channels.n; i++)
        commas += channels.p[i] == ',';
    bool fits = commas == 1;
    if (fits) {
        if ((rc = jm_follow_get(f, entry, "channel", &channel)) != 0)
            return rc;
        fits = jm_json_str(channel, &word) ? word.n == 2 : jm_json_len(channel) == 2;
    }
    return fits ? 0
                : jm_follow_fail(f, "Expected multichannel mode for %s, but got 1-channel.",
                                 f->r->models ? "YokogawaWT330_multichannel" : "YokogawaWT330E");
}

static int analyzer(struct jm_follow *f, const struct jm_json *entry)
{
    static const char *const numbers[] = {"8, 49, 52, 77", "35, 8, 77, 48, 49, 52",
                                          "35, 549, 8, 586, 77, 48, 49, 52, 508"};
    const struct jm_json *type;
    double v = 0;
    int rc = jm_follow_get(f, entry, "device_type", &type);
    if (rc)
        return rc;
    bool known = false;
    if (jm_json_num(type, &v))
        for (const struct jm_mlperf_model *m = jm_mlperf_models; m->name; m++)
            known |= jm_mlperf_model_in(m, f->r->models) && v == m->type;
    if (!known) {
        struct jm_str t;
        struct jm_span text;
        jm_str_init(&t);
        if (jm_json_str(type, &text))
            jm_str_addspan(&t, text);
        else
            jm_follow_repr(&t, type);
        rc = jm_follow_fail(f, "Device number %s is not supported. Supported numbers are %s", t.buf,
                            numbers[f->r->models]);
        jm_str_release(&t);
        return rc;
    }
    return v == 77 ? multichannel(f, entry) : 0;
}

int jm_follow_config(struct jm_follow *f)
{
    const struct jm_json *config;
    int rc = jm_follow_get(f, f->server, "ptd_config", &config);
    if (rc)
        return rc;
    if (f->r->config_list == 0 || (f->r->config_list == 2 && jm_json_is_object(config)))
        return analyzer(f, config);
    if (jm_json_is_object(config)) /* its keys are walked */
        return jm_json_len(config)
                   ? jm_follow_fail(f, "TypeError: string indices must be integers, not 'str'")
                   : 0;
    if (!jm_json_is_array(config))
        return jm_follow_fail(f, "TypeError: object is not iterable");
    for (size_t i = 0; i < jm_json_len(config) && rc == 0; i++)
        rc = analyzer(f, jm_json_at(config, i));
    return rc;
}

int jm_follow_debug(struct jm_follow *f)
{
    const struct jm_json *debug = jm_json_get(f->server, "debug");
    bool on = true;
    if (!debug || (jm_json_bool(debug, &on) && !on))
        return 0;
    return jm_follow_fail(f, "Server was running in debug mode");
}
