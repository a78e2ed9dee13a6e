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

static bool has_part(const struct jm_instrument *in, const struct jm_meter *m, const char *part)
{
    char device[96];
    jm_instrument_device(in, part, device);
    for (size_t i = 0; i < m->n_chan; i++)
        if (strcmp(m->chan[i].device, device) == 0)
            return true;
    return false;
}

/* Feeds of parts that the instrument has not: where none is there they are called otherwise, which is said;
 * where some are, the others are places without a meter, so that a total says "1 of 2". */
static int absent_feeds(const struct jm_meter_env *env, const struct jm_instrument *in,
                        struct jm_domain_tree *tree, const struct jm_meter *m, struct jm_err *err)
{
    size_t n = strlen(in->name), found = 0, parts = 0;
    char has[160] = "";
    for (size_t i = 0; i < m->n_chan; i++) {
        const char *device = m->chan[i].device;
        bool seen = strncmp(device, in->name, n) != 0 || device[n] != '/';
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(m->chan[k].device, device) == 0;
        if (!seen && parts++ < 6)
            snprintf(has + strlen(has), sizeof has - strlen(has), "%s%.20s", parts > 1 ? ", " : "",
                     device + n + 1);
    }
    for (size_t k = 0; k < in->n_feed; k++)
        found += has_part(in, m, in->feed[k].part);
    if (!in->n_feed || !parts || found == in->n_feed)
        return 0;
    if (!found)
        return jm_err_set(err, JM_EUSAGE,
                          "%s: feeds: there is no part \"%.40s\" here; it calls its parts %s%s", in->name,
                          in->feed[0].part, has, parts > 6 ? ", ..." : "");
    for (size_t k = 0; k < in->n_feed; k++)
        if (in->feed[k].host && !has_part(in, m, in->feed[k].part)) {
            int id = jm_instrument_domain(in, env, tree, in->feed[k].part, JM_D_PSU, err);
            if (id < 0)
                return id;
        }
    return 0;
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
    rc = absent_feeds(env, in, tree, m, err);
    if (!rc)
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
