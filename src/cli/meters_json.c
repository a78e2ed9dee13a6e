/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/meters_show.h"

#include "base/banned.h"

static double seconds(int64_t ns)
{
    return ns > 0 ? (double)ns / 1e9 : NAN; /* null: not known */
}

/* "gpu < node < inlet_ac": what contains it, from the inside out. */
static void domain(struct jm_jsonw *w, const struct jm_survey *s, int id)
{
    struct jm_str path;
    if (id < 0 || id >= (int)s->tree.n)
        return;
    const struct jm_domain *d = &s->tree.d[id];
    jm_str_init(&path);
    for (int k = id; k >= 0; k = s->tree.d[k].parent)
        jm_str_addf(&path, "%s%s", k == id ? "" : " < ", jm_domain_kind_name((int)s->tree.d[k].kind));
    jm_jsonw_key(w, "domain");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "id", id);
    jm_jsonw_kstr(w, "kind", jm_domain_kind_name((int)d->kind));
    jm_jsonw_kstr(w, "key", d->key);
    jm_jsonw_kstr(w, "label", d->label);
    jm_jsonw_kstr(w, "inside", path.buf);
    jm_jsonw_end(w);
    jm_str_release(&path);
}

static void channel(struct jm_jsonw *w, const struct jm_survey *s, const struct jm_survey_channel *x)
{
    const struct jm_channel *c = &x->c;
    char means[64];
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "name", c->name);
    jm_jsonw_kstr(w, "device", c->device);
    jm_jsonw_kstr(w, "kind", jm_channel_kind_name((int)c->kind));
    jm_jsonw_kstr(w, "unit", jm_unit_name((int)c->unit));
    jm_jsonw_kstr(w, "boundary", jm_boundary_name((int)x->boundary));
    domain(w, s, c->domain);
    jm_jsonw_kbool(w, "added", x->added);
    jm_jsonw_kstr(w, "meaning", jm_channel_meaning(c, means));
    if (c->kind == JM_CH_GAUGE && x->boundary != JM_B_NONE) {
        jm_jsonw_kstr(w, "value_means", jm_gauge_sem_name((int)c->sem));
        jm_jsonw_knum(w, "averaging_s", seconds(c->window_ns));
    }
    jm_jsonw_knum(w, "period_s", seconds(c->period_ns));
    jm_jsonw_kbool(w, "period_measured", c->period_measured);
    jm_jsonw_knum(w, "resolution", c->flags & JM_CHF_DOUBLE ? NAN : jm_channel_value(c, 1));
    if (c->kind == JM_CH_COUNTER)
        jm_jsonw_knum(w, "wraps_at", c->modulus ? jm_channel_value(c, 1) * (double)c->modulus : NAN);
    jm_jsonw_knum(w, "accuracy_relative", c->gain_tol);
    jm_jsonw_knum(w, "accuracy_offset", c->offset_tol);
    jm_jsonw_kstr(w, "provenance", jm_provenance_name((int)c->provenance));
    if (c->scope[0])
        jm_jsonw_kstr(w, "scope", c->scope);
    jm_jsonw_kstr(w, "source", c->source);
    jm_jsonw_kstr(w, "status", jm_status_name(x->now.status));
    jm_jsonw_knum(w, "value", x->now.status == JM_S_OK ? jm_channel_value(c, x->now.value) : NAN);
    jm_jsonw_end(w);
}

/* What the entry of the configuration says, without secrets. */
static void configured(struct jm_jsonw *w, const struct jm_survey_meter *m)
{
    const struct jm_instrument *in = m->conf;
    const struct jm_tls_opts *t = &in->tls;
    jm_jsonw_key(w, "configured");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "name", in->name);
    jm_jsonw_kstr(w, "file", in->list->file);
    jm_jsonw_ki64(w, "line", (int64_t)in->line);
    jm_jsonw_kstr(w, "address", m->address[0] ? m->address : NULL);
    jm_jsonw_kstr(w, "at", in->at >= 0 ? jm_domain_kind_name(in->at) : NULL);
    jm_jsonw_kstr(w, "host", in->host);
    jm_jsonw_knum(w, "interval_s", seconds(in->interval_ns));
    jm_jsonw_knum(w, "timeout_s", seconds(in->timeout_ns));
    jm_jsonw_knum(w, "max_power_w", in->max_power_w > 0 ? in->max_power_w : NAN);
    jm_jsonw_kstr(w, "tls",
                  t->insecure ? "not verified"
                  : t->pin    ? "pinned"
                  : t->ca     ? "own authority"
                              : NULL);
    jm_jsonw_end(w);
}

static void meter(struct jm_jsonw *w, const struct jm_survey *s, const struct jm_survey_meter *m)
{
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "name", m->ops->name);
    jm_jsonw_kstr(w, "summary", m->ops->summary);
    jm_jsonw_kstr(w, "boundary_at_best", m->ops->boundary[0] ? m->ops->boundary : NULL);
    jm_jsonw_kstr(w, "needs", m->ops->needs);
    jm_jsonw_kstr(w, "state", jm_probe_state_name((int)m->probe.state));
    jm_jsonw_kstr(w, "reason", m->probe.reason);
    jm_jsonw_kstr(w, "mend", m->probe.mend[0] ? m->probe.mend : NULL);
    if (m->conf)
        configured(w, m);
    if (m->probe.state == JM_PROBE_OK) {
        jm_jsonw_kstr(w, "instance", m->instance);
        jm_jsonw_kbool(w, "simulated", m->simulated);
        jm_jsonw_knum(w, "sample_period_s", seconds(m->period_ns));
        jm_jsonw_knum(w, "longest_pause_s", seconds(m->max_period_ns));
        jm_jsonw_knum(w, "read_s", (double)m->read_ns / 1e9);
        jm_jsonw_key(w, "facts");
        jm_jsonw_object(w);
        for (size_t k = 0; k < m->n_fact; k++)
            jm_jsonw_kstr(w, m->fact[k].key, m->fact[k].value);
        jm_jsonw_end(w);
    }
    jm_jsonw_key(w, "channels");
    jm_jsonw_array(w);
    for (size_t k = 0; k < m->n_chan; k++)
        channel(w, s, &m->chan[k]);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

void jm_meters_json(const struct jm_survey *s, const char *host, struct jm_str *out)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, out, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.meters/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_kstr(&w, "host", host);
    jm_jsonw_ki64(&w, "readable", (int64_t)s->n_ok);
    jm_jsonw_key(&w, "meters");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < s->n; i++)
        meter(&w, s, &s->m[i]);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "domains");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < s->tree.n; i++) {
        const struct jm_domain *d = &s->tree.d[i];
        jm_jsonw_object(&w);
        jm_jsonw_ki64(&w, "id", d->id);
        jm_jsonw_key(&w, "parent");
        if (d->parent >= 0)
            jm_jsonw_i64(&w, d->parent);
        else
            jm_jsonw_null(&w);
        jm_jsonw_kstr(&w, "kind", jm_domain_kind_name((int)d->kind));
        jm_jsonw_kstr(&w, "key", d->key);
        jm_jsonw_kstr(&w, "label", d->label);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    jm_str_addc(out, '\n');
}
