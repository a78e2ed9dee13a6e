/* SPDX-License-Identifier: Apache-2.0 */
/* Which meters take part: each that is asked for becomes a row of the run, with its channels or with the
 * reason why it has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/survey.h"
#include "record/internal.h"

#include "base/banned.h"

static const struct jm_meter_ops *const *registry(const struct jm_recorder *r)
{
    return r->cfg.registry ? r->cfg.registry : jm_meter_registry;
}

static bool named(const struct jm_recorder *r, const char *name)
{
    struct jm_span rest = jm_span_of(r->cfg.meters), one;
    while (r->cfg.meters && jm_span_field(&rest, ',', &one))
        if (jm_span_is(jm_span_trim(one), name))
            return true;
    return false;
}

static int check_names(const struct jm_recorder *r, struct jm_err *err)
{
    const struct jm_meter_ops *const *all = registry(r);
    struct jm_span rest = jm_span_of(r->cfg.meters), one;
    if (all == jm_meter_registry)
        return jm_meter_check_list(r->cfg.meters, r->cfg.env.instruments, err);
    while (r->cfg.meters && jm_span_field(&rest, ',', &one)) {
        bool known = false;
        one = jm_span_trim(one);
        for (size_t i = 0; all[i]; i++)
            known = known || jm_span_is(one, all[i]->name);
        if (!known)
            return jm_err_set(err, JM_EUSAGE, "there is no meter \"%.*s\"; joulemark meters lists them",
                              (int)one.n, one.p ? one.p : "");
    }
    return 0;
}

int jm_record_put_row(struct jm_recorder *r, const struct jm_meter_ops *ops, const char *instance,
                      const struct jm_meter *m, const char *state, const char *reason, const char *mend,
                      struct jm_err *err)
{
    struct jm_run_meter row = {.simulated = m && m->simulated};
    snprintf(row.name, sizeof row.name, "%s", ops->name);
    snprintf(row.instance, sizeof row.instance, "%s", m ? m->instance : instance ? instance : "");
    snprintf(row.state, sizeof row.state, "%s", state);
    snprintf(row.reason, sizeof row.reason, "%s", reason);
    snprintf(row.mend, sizeof row.mend, "%s", mend);
    if (m)
        row.period_ns = r->cfg.period_ns > 0 && !m->conf ? r->cfg.period_ns : m->period_ns;
    if (!m) {
        jm_str_addf(&r->why, "%s%s: %s", r->why.len ? "\n" : "", instance ? instance : ops->name, reason);
        if (mend[0])
            jm_str_addf(&r->why, " (to mend it: %s)", mend);
    }
    r->n_meters++;
    return jm_run_put_meter(r->w, &row, err);
}

/* Room for more channels, in the list and in the live view. */
static int make_room(struct jm_recorder *r, const struct jm_meter *m, struct jm_err *err)
{
    size_t n = r->n_chan + m->n_chan + 1;
    pthread_mutex_lock(&r->live_lock);
    struct jm_channel *c = realloc(r->chan, n * sizeof *c);
    struct jm_live_channel *l = realloc(r->live, n * sizeof *l);
    if (c)
        r->chan = c;
    if (l) {
        memset(l + r->n_chan, 0, (m->n_chan + 1) * sizeof *l);
        r->live = l;
    }
    pthread_mutex_unlock(&r->live_lock);
    return c && l ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", m->ops->name);
}

int jm_record_take_meter(struct jm_recorder *r, struct jm_meter *m, int id, struct jm_replies *replies,
                         struct jm_err *err)
{
    uint32_t base = (uint32_t)r->n_chan;
    struct jm_reader *one = NULL;
    int rc = make_room(r, m, err);
    for (size_t i = 0; !rc && i < m->n_chan; i++) {
        struct jm_channel c = m->chan[i];
        c.meter = id;
        rc = jm_run_put_channel(r->w, &c, &c.id, err);
        pthread_mutex_lock(&r->live_lock);
        r->chan[r->n_chan] = c;
        r->n_chan += !rc;
        pthread_mutex_unlock(&r->live_lock);
    }
    for (size_t i = 0; !rc && i < m->n_fact; i++)
        rc = jm_run_put_env(r->w, m->fact[i].key, m->fact[i].value, err);
    if (!rc)
        rc = jm_reader_new(r, m, id, base, replies, &one, err);
    if (!rc) {
        r->reader[r->n_reader] = one;
        atomic_fetch_add(&r->n_reader, 1);
    }
    return rc;
}

static int open_one(struct jm_recorder *r, const struct jm_meter_ops *ops, struct jm_err *err)
{
    struct jm_probe p = {.state = JM_PROBE_ABSENT};
    bool asked = named(r, ops->name);
    if ((r->cfg.meters && !asked) || !ops->open)
        return 0;
    if (ops->version != JM_METER_OPS_VERSION)
        return jm_err_set(err, JM_EVERSION, "the meter %s was built for another interface (%d, not %d)",
                          ops->name, ops->version, JM_METER_OPS_VERSION);
    int rc = jm_meter_probe(ops, &r->cfg.env, &p);
    if (p.state == JM_PROBE_OFF && !asked)
        return 0; /* only on request */
    if (rc < 0 || (p.state != JM_PROBE_OK && p.state != JM_PROBE_OFF)) {
        rc = jm_record_put_row(r, ops, NULL, NULL, rc < 0 ? "absent" : jm_probe_state_name(p.state), p.reason,
                               p.mend, err);
        return rc < 0 ? rc : 0;
    }
    struct jm_meter *m = NULL;
    struct jm_err why = {0};
    rc = jm_meter_open(ops, &r->cfg.env, &r->tree, &m, &why);
    if (rc == JM_ENOMEM) {
        *err = why;
        return rc;
    }
    if (rc < 0 || !m) {
        const char *state = rc == JM_EDENIED ? "denied" : rc == JM_EUNSUPPORTED ? "unsupported" : "absent";
        rc = jm_record_put_row(r, ops, NULL, NULL, state, why.text, p.mend, err);
        return rc < 0 ? rc : 0;
    }
    int id = jm_record_put_row(r, ops, NULL, m, "ok", "", "", err);
    rc = id < 0 ? id : jm_record_take_meter(r, m, id, NULL, err);
    if (rc < 0) /* a reader would own it */
        ops->close(m);
    return rc;
}

int jm_record_open_meters(struct jm_recorder *r, struct jm_err *err)
{
    const struct jm_meter_ops *const *all = registry(r);
    size_t n = r->cfg.env.instruments ? r->cfg.env.instruments->n : 0;
    for (size_t i = 0; all[i]; i++)
        n++;
    int rc = check_names(r, err);
    r->reader = calloc(n + 1, sizeof *r->reader);
    if (!rc && !r->reader)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the meters");
    if (!rc)
        rc = jm_instruments_topology(r->cfg.env.instruments, &r->cfg.env, &r->tree, err);
    for (size_t i = 0; !rc && all[i]; i++)
        rc = open_one(r, all[i], err);
    if (!rc)
        rc = jm_record_open_wires(r, err);
    if (!rc)
        rc = jm_run_put_domains(r->w, &r->tree, err);
    if (!rc && !r->n_chan && !r->why.len)
        jm_str_adds(&r->why, "no meter was tried");
    return rc;
}
