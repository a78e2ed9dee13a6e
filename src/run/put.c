/* SPDX-License-Identifier: Apache-2.0 */
/* One row of a table at a time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "run/internal.h"

#include "base/banned.h"

int jm_run_put_meter(struct jm_run_writer *w, const struct jm_run_meter *m, struct jm_err *err)
{
    int rc = jm_run_write(w, JM_Q_METER, err, "iteteezi", (int64_t)w->n_meter, m->name, m->instance, m->state,
                          m->reason, m->mend, m->period_ns, (int64_t)m->simulated);
    return rc ? rc : w->n_meter++;
}

int jm_run_set_meter_state(struct jm_run_writer *w, int meter, const char *state, const char *reason,
                           struct jm_err *err)
{
    if (meter < 0 || meter >= w->n_meter)
        return jm_err_set(err, JM_EINVAL, "the run has no meter %d", meter);
    return jm_run_write(w, JM_Q_METER_STATE, err, "ite", (int64_t)meter, state, reason);
}

int jm_run_put_domains(struct jm_run_writer *w, const struct jm_domain_tree *t, struct jm_err *err)
{
    /* a first row opens the transaction, so that the old tree does not go without the new one */
    int rc = jm_run_write(w, JM_Q_ENV, err, "tt", "run.domains", "tree");
    if (!rc)
        rc = jm_sql_exec(w->db, "DELETE FROM domain;DELETE FROM env WHERE key='run.domains'", "write",
                         w->path, err);
    for (size_t i = 0; !rc && i < t->n; i++)
        rc = jm_run_write(w, JM_Q_DOMAIN, err, "iotte", (int64_t)t->d[i].id, (int64_t)t->d[i].parent,
                          jm_domain_kind_name(t->d[i].kind), t->d[i].key, t->d[i].label);
    return rc;
}

static int write_channel(struct jm_run_writer *w, const struct jm_channel *c, int id, struct jm_err *err)
{
    return jm_run_write(w, JM_Q_CHANNEL, err, "iitettiizzitzddddtoiee", (int64_t)id, (int64_t)c->meter,
                        c->name, c->device, jm_channel_kind_name(c->kind), jm_unit_name(c->unit),
                        (int64_t)c->scale10, (int64_t)c->scale2, (int64_t)c->modulus, c->period_ns,
                        (int64_t)c->period_measured, jm_gauge_sem_name(c->sem), c->window_ns, c->gain_tol,
                        c->offset_tol, c->sane_min, c->sane_max, jm_provenance_name(c->provenance),
                        (int64_t)c->domain, (int64_t)c->flags, c->scope, c->source);
}

int jm_run_put_channel(struct jm_run_writer *w, const struct jm_channel *c, int *id, struct jm_err *err)
{
    if (c->meter < 0 || c->meter >= w->n_meter)
        return jm_err_set(err, JM_EINVAL, "channel %s belongs to meter %d, which the run does not have",
                          c->name, c->meter);
    int rc = write_channel(w, c, (int)w->n_ch, err);
    if (!rc)
        rc = jm_run_add_pending(w, c, err);
    if (!rc)
        *id = (int)w->n_ch - 1;
    return rc;
}

int jm_run_update_channel(struct jm_run_writer *w, const struct jm_channel *c, struct jm_err *err)
{
    if (c->id < 0 || (size_t)c->id >= w->n_ch)
        return jm_err_set(err, JM_EINVAL, "the run has no channel %d", c->id);
    struct jm_run_pending *p = &w->ch[c->id];
    if (p->is_double != ((c->flags & JM_CHF_DOUBLE) != 0))
        return jm_err_set(err, JM_EINVAL, "channel %s cannot change from integers to doubles or back",
                          c->name);
    return write_channel(w, c, c->id, err);
}

int jm_run_put_clock_pair(struct jm_run_writer *w, const struct jm_clock_pair *p, struct jm_err *err)
{
    return jm_run_write(w, JM_Q_PAIR, err, "iiii", p->mono0, p->mono1, p->real, p->boot);
}

int jm_run_open_window(struct jm_run_writer *w, const struct jm_window *win, struct jm_err *err)
{
    int rc = jm_run_write(w, JM_Q_TRIAL, err, "ii", (int64_t)win->trial, win->t0);
    if (!rc && win->t1)
        rc = jm_run_write(w, JM_Q_WINDOW, err, "iiteii", (int64_t)win->id, (int64_t)win->trial,
                          jm_role_name(win->role), win->name, win->t0, win->t1);
    else if (!rc)
        rc = jm_run_write(w, JM_Q_WINDOW, err, "iitein", (int64_t)win->id, (int64_t)win->trial,
                          jm_role_name(win->role), win->name, win->t0);
    if (!rc && win->t1)
        rc = jm_run_write(w, JM_Q_TRIAL_END, err, "ii", (int64_t)win->id, win->t1);
    return rc ? rc : jm_run_commit(w, err);
}

int jm_run_close_window(struct jm_run_writer *w, int id, int64_t t1, struct jm_err *err)
{
    int rc = jm_run_write(w, JM_Q_WINDOW_END, err, "ii", (int64_t)id, t1);
    if (!rc && !sqlite3_changes(w->db))
        return jm_err_set(err, JM_EINVAL, "the run has no window %d that could be closed", id);
    if (!rc)
        rc = jm_run_write(w, JM_Q_TRIAL_END, err, "ii", (int64_t)id, t1);
    return rc ? rc : jm_run_commit(w, err);
}

int jm_run_put_mark(struct jm_run_writer *w, const struct jm_mark *m, struct jm_err *err)
{
    return jm_run_write(w, JM_Q_MARK, err, "it", m->t, m->name);
}

int jm_run_put_env(struct jm_run_writer *w, const char *key, const char *value, struct jm_err *err)
{
    if (!key || !*key || !value)
        return jm_err_set(err, JM_EINVAL, "a fact of the environment needs a key and a value");
    return jm_run_write(w, JM_Q_ENV, err, "tt", key, value);
}

int jm_run_put_request(struct jm_run_writer *w, const struct jm_request *r, const struct jm_token_event *ev,
                       size_t n_ev, struct jm_err *err)
{
    if (r->end < 0 || r->end >= JM_END_COUNT)
        return jm_err_set(err, JM_EINVAL, "request %lld has the unknown end %d", (long long)r->id,
                          (int)r->end);
    for (int i = 0; i < JM_T_COUNT; i++)
        if (r->t[i] > INT64_MAX / 4 || r->t[i] < -INT64_MAX / 4)
            return jm_err_set(err, JM_EINVAL, "request %lld has a stamp that is no time", (long long)r->id);
    for (size_t i = 0; i < n_ev; i++)
        if (ev[i].t > INT64_MAX / 4 || ev[i].t < -INT64_MAX / 4)
            return jm_err_set(err, JM_EINVAL, "a token event of request %lld has a stamp that is no time",
                              (long long)r->id);
    if (n_ev > JM_EVENTS_MAX)
        return jm_err_set(err, JM_ELIMIT, "request %lld has %zu token events, more than the %u that are kept",
                          (long long)r->id, n_ev, JM_EVENTS_MAX);
    int rc = w->events->n_ev + n_ev > JM_EVENTS_BLOCK ? jm_run_write_events(w, err) : 0;
    if (!rc)
        rc = jm_run_write(w, JM_Q_REQUEST, err, "iieoteoo", r->id, (int64_t)r->trial, r->slice, r->t[0],
                          jm_end_name(r->end), r->error, r->prompt_tokens, r->output_tokens);
    if (!rc)
        rc = jm_run_add_details(w, r, err);
    return rc ? rc : jm_event_batch_add(w->events, r->id, ev, n_ev, err);
}

int jm_run_put_text(struct jm_run_writer *w, int64_t request, struct jm_span prompt, struct jm_span output,
                    struct jm_err *err)
{
    if (prompt.n > JM_RUN_RAW_MAX || output.n > JM_RUN_RAW_MAX)
        return jm_err_set(err, JM_ELIMIT, "the text of request %lld is larger than %u bytes",
                          (long long)request, JM_RUN_RAW_MAX);
    int pe = jm_pack(prompt, 3, &w->plain, err), oe = pe < 0 ? pe : jm_pack(output, 3, &w->packed, err);
    return oe < 0 ? oe
                  : jm_run_write(w, JM_Q_TEXT, err, "iibib", request, (int64_t)pe, (const void *)w->plain.buf,
                                 w->plain.len, (int64_t)oe, (const void *)w->packed.buf, w->packed.len);
}

int jm_run_put_raw(struct jm_run_writer *w, const char *name, const char *origin, struct jm_span data,
                   struct jm_err *err)
{
    char sha[JM_SHA256_HEX];
    jm_sha256_hex(data, sha);
    if (data.n > JM_RUN_RAW_MAX)
        return jm_run_put_raw_hash(w, name, origin, sha, (int64_t)data.n, err);
    int enc = jm_pack(data, 6, &w->packed, err);
    if (enc >= 0)
        w->raw_stored += (int64_t)w->packed.len;
    return enc < 0 ? enc
                   : jm_run_write(w, JM_Q_RAW, err, "tetiib", name, origin, sha, (int64_t)data.n,
                                  (int64_t)enc, (const void *)w->packed.buf, w->packed.len);
}

int64_t jm_run_raw_stored(const struct jm_run_writer *w)
{
    return w->raw_stored;
}

int jm_run_put_raw_hash(struct jm_run_writer *w, const char *name, const char *origin, const char *sha256,
                        int64_t bytes, struct jm_err *err)
{
    return jm_run_write(w, JM_Q_RAW, err, "tetinn", name, origin, sha256, bytes);
}

int jm_run_put_scrape(struct jm_run_writer *w, const char *url, int64_t t0, int64_t t1, struct jm_span text,
                      struct jm_err *err)
{
    char sha[JM_SHA256_HEX];
    jm_sha256_hex(text, sha);
    if (text.n > JM_RUN_RAW_MAX)
        return jm_run_write(w, JM_Q_SCRAPE, err, "tiiitnn", url, t0, t1, (int64_t)text.n, sha);
    int enc = jm_pack(text, 3, &w->packed, err);
    return enc < 0 ? enc
                   : jm_run_write(w, JM_Q_SCRAPE, err, "tiiitib", url, t0, t1, (int64_t)text.n, sha,
                                  (int64_t)enc, (const void *)w->packed.buf, w->packed.len);
}

int jm_run_put_factor(struct jm_run_writer *w, const char *kind, const char *key, double value,
                      const char *unit, const char *source, struct jm_err *err)
{
    return jm_run_write(w, JM_Q_FACTOR, err, "ttdtt", kind, key, value, unit, source);
}

int jm_run_put_claim(struct jm_run_writer *w, const struct jm_run_claim *c, struct jm_err *err)
{
    return jm_run_write(w, JM_Q_CLAIM, err, "oteedeee", (int64_t)c->window, c->key, c->metric, c->stat,
                        isfinite(c->value) ? c->value : NAN, c->unit, c->source, c->boundary);
}
