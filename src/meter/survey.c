/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/survey.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/str.h"
#include "base/json.h"
#include "base/banned.h"

bool jm_meter_listed(const char *list, const char *name)
{
    struct jm_span rest = jm_span_of(list), one;
    while (list && jm_span_field(&rest, ',', &one))
        if (jm_span_is(jm_span_trim(one), name))
            return true;
    return !list;
}

static void nearer(struct jm_span one, const char *name, bool *known, const char **near, unsigned *best)
{
    unsigned d = jm_near_distance(one, jm_span_of(name));
    *known = *known || jm_span_is(one, name);
    if (d < *best && jm_near_plausible(d, one.n)) {
        *best = d;
        *near = name;
    }
}

int jm_meter_check_list(const char *list, const struct jm_instruments *conf, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(list), one;
    while (list && jm_span_field(&rest, ',', &one)) {
        const char *near = NULL;
        unsigned best = 99;
        bool known = false;
        one = jm_span_trim(one);
        for (size_t i = 0; jm_meter_registry[i]; i++)
            nearer(one, jm_meter_registry[i]->name, &known, &near, &best);
        for (size_t i = 0; conf && i < conf->n; i++)
            nearer(one, conf->v[i]->name, &known, &near, &best);
        if (!known)
            return jm_err_set(err, JM_EUSAGE,
                              "--meters: \"%.*s\" is no meter%s%s%s; joulemark meters lists them",
                              (int)(one.n > 40 ? 40 : one.n), one.n ? one.p : "",
                              near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return 0;
}

static bool is_energy(const struct jm_channel *c)
{
    return c->kind == JM_CH_COUNTER
               ? c->unit == JM_U_J
               : c->kind == JM_CH_GAUGE && c->unit == JM_U_W && !strstr(c->name, "limit");
}

static enum jm_boundary boundary_of(const struct jm_domain_tree *t, const struct jm_channel *c)
{
    if (!is_energy(c) || c->domain < 0 || c->domain >= (int)t->n)
        return JM_B_NONE;
    switch (t->d[c->domain].kind) {
    case JM_D_GPU:
    case JM_D_HBM:
    case JM_D_APU:
    case JM_D_MODULE: return JM_B_GPU;
    case JM_D_PSU_OUTPUT:
    case JM_D_NODE: return JM_B_NODE;
    case JM_D_CHASSIS:
    case JM_D_PDU:
    case JM_D_SHELF:
    case JM_D_PSU:
    case JM_D_INLET_AC:
    case JM_D_INLET_DC: return JM_B_WALL;
    case JM_D_SITE:
    case JM_D_RACK: return JM_B_FACILITY;
    default: return JM_B_DEVICE;
    }
}

static void fail(struct jm_survey_meter *s, const struct jm_err *err)
{
    jm_probe_set(&s->probe,
                 err->code == JM_EDENIED        ? JM_PROBE_DENIED
                 : err->code == JM_EUNSUPPORTED ? JM_PROBE_UNSUPPORTED
                                                : JM_PROBE_ABSENT,
                 "", "%.255s", err->text);
    jm_text_plain(s->probe.reason, strlen(s->probe.reason), false); /* it may quote what a device has sent */
}

/* Values as they are now, and how long a read takes. */
static int first_look(struct jm_survey_meter *s, struct jm_meter *m, const struct jm_clock *clock,
                      struct jm_err *err)
{
    struct jm_reading *r = calloc(m->n_chan + 1, sizeof *r);
    s->chan = calloc(m->n_chan + 1, sizeof *s->chan);
    s->fact = calloc(m->n_fact + 1, sizeof *s->fact);
    if (!r || !s->chan || !s->fact) {
        free(r);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the channels of the meter %s", m->ops->name);
    }
    s->n_chan = m->n_chan;
    s->n_fact = m->n_fact;
    memcpy(s->fact, m->fact ? m->fact : s->fact, m->n_fact * sizeof *s->fact);
    for (size_t i = 0; i < m->n_chan; i++)
        s->chan[i].now = (struct jm_reading){.channel = (uint32_t)i, .status = JM_S_GAP};
    int64_t t0 = jm_clock_mono(clock);
    size_t n = m->ops->read(m, clock, JM_READ_ALL, r);
    s->read_ns = jm_clock_mono(clock) - t0;
    for (size_t i = 0; i < n; i++)
        if (r[i].channel < m->n_chan)
            s->chan[r[i].channel].now = r[i];
    free(r);
    return 0;
}

/* Looks at an open meter and closes it. */
static int look_at(struct jm_survey *all, struct jm_survey_meter *s, struct jm_meter *m,
                   const struct jm_meter_env *env, const struct jm_survey_options *o, struct jm_err *err)
{
    struct jm_clock clock = jm_meter_clock(env);
    snprintf(s->instance, sizeof s->instance, "%s", m->instance);
    s->simulated = m->simulated;
    s->period_ns = m->period_ns;
    s->max_period_ns = m->max_period_ns;
    int rc = first_look(s, m, &clock, err);
    if (rc == 0 && o->budget_ns > 0 && !m->conf) { /* an instrument is not asked as fast as it can answer */
        if (o->progress)
            o->progress(o->self, s->ops->name);
        rc = jm_meter_measure_periods(m, &clock, o->budget_ns, &s->n_moved, err);
    }
    for (size_t i = 0; rc == 0 && i < s->n_chan; i++) {
        s->chan[i].c = m->chan[i];
        s->chan[i].boundary = boundary_of(&all->tree, &m->chan[i]);
        /* a rack holds more than systems, and less than the site: it stands beside */
        s->chan[i].added = is_energy(&m->chan[i]) && !(m->chan[i].flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)) &&
                           (m->chan[i].domain < 0 || m->chan[i].domain >= (int)all->tree.n ||
                            all->tree.d[m->chan[i].domain].kind != JM_D_RACK);
    }
    m->ops->close(m);
    all->n_ok += rc == 0;
    return rc;
}

static int look(struct jm_survey *all, struct jm_survey_meter *s, const struct jm_meter_env *env,
                const struct jm_survey_options *o, bool asked, struct jm_err *err)
{
    struct jm_err why = {0};
    struct jm_meter *m = NULL;
    int rc = jm_meter_probe(s->ops, env, &s->probe);
    bool by_name = rc == 0 && s->probe.state == JM_PROBE_OFF && asked;
    if (by_name)
        s->probe.state = JM_PROBE_OK; /* by name; opening decides */
    if (rc || s->probe.state != JM_PROBE_OK)
        return 0;
    rc = jm_meter_open(s->ops, env, &all->tree, &m, &why);
    if (rc) {
        fail(s, &why);
        return rc == JM_ENOMEM ? jm_err_set(err, rc, "%s", why.text) : 0;
    }
    if (by_name && m->instance[0])
        jm_probe_set(&s->probe, JM_PROBE_OK, "", "%s", m->instance);
    return look_at(all, s, m, env, o, err);
}

/* "bmc1: it is off" is "it is off". */
static void without(char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(text, prefix, n) == 0 && text[n] == ':' && text[n + 1] == ' ')
        memmove(text, text + n + 2, strlen(text + n + 2) + 1);
}

/* What somebody can do who sees this instrument for the first time. */
static void advise(struct jm_survey_meter *s, int rc)
{
    char where[128];
    const struct jm_instrument *in = s->conf;
    snprintf(where, sizeof where, "line %zu of %.90s", in->line, in->list->file);
    char *out = s->probe.mend;
    size_t cap = sizeof s->probe.mend;
    switch (rc) {
    case JM_EDENIED:
        snprintf(out, cap,
                 "check user and password (%s); it may need a role or privilege that can read power", where);
        break;
    case JM_EUSAGE: snprintf(out, cap, "mend the entry: %s", where); break;
    case JM_EUNSUPPORTED: snprintf(out, cap, "check the kind of meter and the address: %s", where); break;
    case JM_ETLS: snprintf(out, cap, "say how it is known, `tls` of the entry: %s", where); break;
    default:
        snprintf(out, cap,
                 "see that it is on and in reach, and that the address is right (%s); a recording goes on "
                 "trying it",
                 where);
    }
}

/* The instruments of the configuration, all opened at once. */
static int look_configured(struct jm_survey *all, const struct jm_meter_env *env,
                           const struct jm_survey_options *o, struct jm_err *err)
{
    const struct jm_instrument **in = NULL;
    int rc = jm_instruments_select(env->instruments, o->meters, &in, err);
    size_t n = rc > 0 ? (size_t)rc : 0;
    struct jm_opened *opened = n ? calloc(n, sizeof *opened) : NULL;
    struct jm_survey_meter *v = n ? realloc(all->m, (all->n + n + 1) * sizeof *v) : NULL;
    if (v)
        all->m = v;
    rc = rc < 0 ? rc : n && (!opened || !v) ? jm_err_set(err, JM_ENOMEM, "out of memory for the survey") : 0;
    if (!rc && n)
        rc = jm_instruments_open_all(env, in, n, false, &all->tree, opened, err);
    for (size_t i = 0; !rc && i < n; i++) {
        struct jm_survey_meter *s = &all->m[all->n++];
        *s = (struct jm_survey_meter){.ops = in[i]->ops, .conf = in[i]};
        snprintf(s->instance, sizeof s->instance, "%s", in[i]->name);
        jm_instrument_address(in[i], s->address, sizeof s->address);
        struct jm_meter *m = opened[i].m;
        opened[i].m = NULL;
        if (m) {
            jm_probe_set(&s->probe, JM_PROBE_OK, "", "%s%s%.150s%s", s->ops->name,
                         s->address[0] ? " at " : "", s->address,
                         in[i]->tls.insecure ? ", TLS not verified" : "");
            rc = look_at(all, s, m, env, o, err);
        } else {
            without(opened[i].why.text, in[i]->name); /* which begin the sentence, and the row */
            without(opened[i].why.text, in[i]->ops->name);
            fail(s, &opened[i].why);
            advise(s, opened[i].rc);
        }
    }
    for (size_t i = 0; opened && i < n; i++)
        jm_opened_release(&opened[i]);
    free(opened);
    free(in);
    return rc;
}

int jm_meter_survey(const struct jm_meter_env *env, const struct jm_survey_options *o, struct jm_survey *out,
                    struct jm_err *err)
{
    size_t n = 0;
    *out = (struct jm_survey){0};
    int rc = jm_meter_check_list(o->meters, env->instruments, err);
    if (rc)
        return rc;
    while (jm_meter_registry[n])
        n++;
    jm_domain_tree_init(&out->tree);
    out->m = calloc(n + 1, sizeof *out->m);
    if (!out->m)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the survey of the meters");
    rc = jm_instruments_topology(env->instruments, env, &out->tree, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct jm_meter_ops *ops = jm_meter_registry[i];
        bool configured = false; /* then its entries are its rows */
        for (size_t k = 0; env->instruments && k < env->instruments->n; k++)
            configured = configured || env->instruments->v[k]->ops == ops;
        if (!jm_meter_listed(o->meters, ops->name) || (!ops->open && configured))
            continue;
        struct jm_survey_meter *row = &out->m[out->n];
        row->ops = ops;
        rc = look(out, row, env, o, o->meters != NULL, err);
        out->n += !(configured && row->probe.state == JM_PROBE_OFF);
    }
    if (!rc)
        rc = look_configured(out, env, o, err);
    if (rc)
        jm_meter_survey_release(out);
    return rc;
}

void jm_meter_survey_release(struct jm_survey *s)
{
    for (size_t i = 0; s->m && i < s->n; i++) {
        free(s->m[i].chan);
        free(s->m[i].fact);
    }
    free(s->m);
    jm_domain_tree_release(&s->tree);
    *s = (struct jm_survey){0};
}

/* "100 ms", "1.5 s", "15 us" */
static void span_text(int64_t ns, char out[24])
{
    char num[32];
    bool s = ns >= JM_NS_PER_S, ms = !s && ns >= JM_NS_PER_MS;
    double v = (double)ns / (s ? 1e9 : ms ? 1e6 : 1e3);
    jm_json_fmt_double(num, round(v * 10) / 10);
    snprintf(out, 24, "%.12s %s", num, s ? "s" : ms ? "ms" : "us");
}

const char *jm_channel_meaning(const struct jm_channel *c, char buf[64])
{
    char window[24] = "", period[24] = "";
    if (c->window_ns > 0)
        span_text(c->window_ns, window);
    if (c->period_ns > 0)
        span_text(c->period_ns, period);
    if (c->kind == JM_CH_COUNTER)
        snprintf(buf, 64, "counter");
    else if (c->kind == JM_CH_STATE)
        snprintf(buf, 64, "state");
    else if (!is_energy(c))
        snprintf(buf, 64, "%s", strstr(c->name, "limit") ? "setting" : "value now");
    else if (c->sem == JM_G_TRAILING_MEAN)
        snprintf(buf, 64, "%s%s", window[0] ? "mean of the last " : "mean, window unknown", window);
    else if (c->sem == JM_G_BLOCK_MEAN)
        snprintf(buf, 64, "mean of each %s", window[0] ? window : period[0] ? period : "period");
    else if (c->sem == JM_G_PARTIAL)
        snprintf(buf, 64, "%s of each %s", window[0] ? window : "part", period[0] ? period : "period");
    else
        snprintf(buf, 64, "instant");
    return buf;
}
