/* SPDX-License-Identifier: Apache-2.0 */
/* Opens what an entry of the configuration describes, and puts on it what the entry says of any kind. */
#include "meter/instrument.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

void jm_address_redact(const char *address, char *out, size_t cap)
{
    struct jm_span s = jm_span_of(address);
    const char *scheme = strstr(address, "://");
    size_t from = scheme ? (size_t)(scheme - address) + 3 : 0, host = from;
    for (size_t i = from; i < s.n && !strchr("/?#", s.p[i]); i++)
        if (s.p[i] == '@')
            host = i + 1;
    snprintf(out, cap, "%.*s%s", (int)from, address, address + host);
}

int jm_address_check(const char *address, struct jm_err *err)
{
    const char *scheme = strstr(address, "://");
    const char *p = scheme ? scheme + 3 : address;
    for (const char *c = address; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return jm_err_set(err, JM_EUSAGE, "the address has control characters in it");
    for (; *p && !strchr("/?#", *p); p++)
        if (*p == '@')
            return jm_err_set(err, JM_EUSAGE,
                              "the address carries a user or password; say user: and password_file: or "
                              "password_env: instead, so that they are never shown");
    return 0;
}

void jm_instrument_address(const struct jm_instrument *in, char *out, size_t cap)
{
    out[0] = '\0';
    if (in->ops->conf_address) {
        in->ops->conf_address(in, out, cap);
        return;
    }
    for (const struct jm_opt *o = in->ops->opts; o && o->name; o++) {
        const char *v = o->type == JM_OPT_STR ? *(const char **)((char *)in->conf + o->offset) : NULL;
        if (v && (strcmp(o->name, "address") == 0 || strcmp(o->name, "url") == 0)) {
            jm_address_redact(v, out, cap);
            return;
        }
    }
}

static bool is_power(const struct jm_channel *c)
{
    return (c->kind == JM_CH_COUNTER && c->unit == JM_U_J) || (c->kind == JM_CH_GAUGE && c->unit == JM_U_W);
}

static int facts(struct jm_meter *m, const struct jm_instrument *in, struct jm_err *err)
{
    char key[64], address[192];
    for (size_t i = 0; i < m->n_fact; i++) { /* what the kind states is of this instance */
        snprintf(key, sizeof key, "instrument.%s.%.*s", in->name, (int)(sizeof key - 13 - strlen(in->name)),
                 m->fact[i].key);
        memcpy(m->fact[i].key, key, sizeof key);
    }
    jm_instrument_address(in, address, sizeof address);
    snprintf(key, sizeof key, "instrument.%.40s.kind", in->name);
    int rc = jm_meter_add_fact(m, err, key, "%s", in->ops->name);
    snprintf(key, sizeof key, "instrument.%.40s.address", in->name);
    if (!rc && address[0])
        rc = jm_meter_add_fact(m, err, key, "%s", address);
    snprintf(key, sizeof key, "instrument.%.40s.tls", in->name);
    if (!rc && in->tls.insecure)
        rc = jm_meter_add_fact(m, err, key, "not verified");
    else if (!rc && (in->tls.pin || in->tls.ca))
        rc = jm_meter_add_fact(m, err, key, "%s", in->tls.pin ? "certificate pinned" : "own authority");
    return rc;
}

int jm_instrument_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                       struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    struct jm_meter *m = NULL;
    struct jm_err why = {0};
    int rc = in->ops->open_conf(env, in, tree, &m, &why);
    if (rc < 0 || !m)
        return jm_err_set(err, rc < 0 ? rc : JM_EABSENT, "%s: %s", in->name, why.text);
    m->conf = in;
    m->raw = NULL; /* whoever reads it sets its own */
    snprintf(m->instance, sizeof m->instance, "%s", in->name);
    if (in->interval_ns)
        m->period_ns = in->interval_ns;
    for (size_t i = 0; i < m->n_chan; i++) {
        struct jm_channel *c = &m->chan[i];
        if (!is_power(c))
            continue;
        if (!isnan(in->gain_tol)) {
            c->gain_tol = in->gain_tol;
            c->offset_tol = c->kind == JM_CH_GAUGE ? in->offset_tol : c->offset_tol;
        }
        if (in->max_power_w > 0)
            c->sane_max = in->max_power_w;
    }
    rc = facts(m, in, err);
    if (rc) {
        m->ops->close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static bool same_channels(const struct jm_meter *a, const struct jm_meter *b)
{
    bool same = a->n_chan == b->n_chan;
    for (size_t i = 0; same && i < a->n_chan; i++) {
        const struct jm_channel *x = &a->chan[i], *y = &b->chan[i];
        same = strcmp(x->name, y->name) == 0 && strcmp(x->device, y->device) == 0 && x->kind == y->kind &&
               x->unit == y->unit && x->scale10 == y->scale10 && x->scale2 == y->scale2 && x->sem == y->sem &&
               x->modulus == y->modulus && x->flags == y->flags;
    }
    return same;
}

int jm_instrument_reopen(const struct jm_meter_env *env, struct jm_meter *m, struct jm_err *err)
{
    struct jm_domain_tree tree; /* its place is known already */
    struct jm_meter *now = NULL;
    jm_domain_tree_init(&tree);
    int rc = jm_instruments_topology(env->instruments, env, &tree, err);
    if (!rc)
        rc = jm_instrument_open(env, m->conf, &tree, &now, err);
    jm_domain_tree_release(&tree);
    if (rc)
        return rc;
    if (same_channels(m, now)) {
        void *priv = m->priv;
        struct jm_meter_fact *fact = m->fact;
        size_t n_fact = m->n_fact;
        m->priv = now->priv;
        m->fact = now->fact;
        m->n_fact = now->n_fact;
        m->alive = now->alive;
        now->priv = priv;
        now->fact = fact;
        now->n_fact = n_fact;
    } else {
        rc = jm_err_set(err, JM_ECONFLICT, "%s: what answers there now has other channels than before",
                        m->conf->name);
    }
    now->ops->close(now);
    return rc;
}
