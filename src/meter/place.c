/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the domain tree an entry of the configuration lies. Racks, chassis and sites are made before any
 * meter is opened, outermost first, with the hosts inside them. */
#include "meter/instrument.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* This host has many names; in a configuration local and localhost are two of them. */
static const char *host_of(const struct jm_meter_env *env, const char *host)
{
    bool own = !host || !*host || strcmp(host, "local") == 0 || strcmp(host, "localhost") == 0;
    return !own ? host : env->host && *env->host ? env->host : "localhost";
}

static bool is_container(int kind)
{
    return kind == JM_D_SITE || kind == JM_D_RACK || kind == JM_D_PDU || kind == JM_D_SHELF ||
           kind == JM_D_CHASSIS;
}

/* The key of a container's domain: the name that `contains` of others calls it by. */
static const char *container_key(const struct jm_instrument *in)
{
    return in->host ? in->host : in->name;
}

static bool lists(const struct jm_instrument *in, const char *key)
{
    for (size_t i = 0; i < in->contains.n; i++)
        if (strcmp(in->contains.item[i], key) == 0)
            return true;
    return false;
}

/* The innermost container that lists key and is wider than inside; NULL: none. */
static const struct jm_instrument *container_of(const struct jm_instruments *list, const char *key,
                                                int inside)
{
    const struct jm_instrument *best = NULL;
    for (size_t i = 0; list && i < list->n; i++) {
        const struct jm_instrument *in = list->v[i];
        if (is_container(in->at) && in->at < inside && lists(in, key) && (!best || in->at > best->at))
            best = in;
    }
    return best;
}

/* Kinds are numbered outermost first, and each container lies in a wider one: this ends after three. */
static int container_domain(const struct jm_instruments *list, const struct jm_instrument *in,
                            struct jm_domain_tree *tree, struct jm_err *err)
{
    const char *key = container_key(in);
    const struct jm_instrument *outer = container_of(list, key, in->at);
    int parent = outer ? container_domain(list, outer, tree, err) : -1;
    return parent < -1 ? parent : jm_domain_add(tree, parent, (enum jm_domain_kind)in->at, key, key, err);
}

static bool says(const struct jm_instruments *list, const struct jm_meter_env *env, const char *host,
                 int kind)
{
    for (size_t i = 0; list && i < list->n; i++) {
        const struct jm_instrument *in = list->v[i];
        if (in->at == kind && strcmp(host_of(env, in->host), host) == 0)
            return true;
        for (size_t k = 0; k < in->n_feed; k++)
            if (in->feed[k].at == kind &&
                strcmp(host_of(env, in->feed[k].host ? in->feed[k].host : in->host), host) == 0)
                return true;
    }
    return false;
}

/* A host behind a DC inlet has no AC one of its own, unless an entry measures that too. */
static int host_domain(const struct jm_instruments *list, const struct jm_meter_env *env, const char *host,
                       struct jm_domain_tree *tree, struct jm_err *err)
{
    const struct jm_instrument *outer = container_of(list, host, JM_D_COUNT);
    int id = outer ? container_domain(list, outer, tree, err) : -1;
    bool dc = says(list, env, host, JM_D_INLET_DC),
         ac = !dc || says(list, env, host, JM_D_INLET_AC) || says(list, env, host, JM_D_PSU);
    if (id >= -1 && ac)
        id = jm_domain_add(tree, id, JM_D_INLET_AC, host, host, err);
    if (id >= -1 && dc)
        id = jm_domain_add(tree, id, JM_D_INLET_DC, host, host, err);
    return id < -1 ? id : jm_domain_add(tree, id, JM_D_NODE, host, host, err);
}

static bool is_entry(const struct jm_instruments *list, const char *key)
{
    for (size_t i = 0; i < list->n; i++)
        if (is_container(list->v[i]->at) && strcmp(container_key(list->v[i]), key) == 0)
            return true;
    return false;
}

int jm_instruments_topology(const struct jm_instruments *list, const struct jm_meter_env *env,
                            struct jm_domain_tree *tree, struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; list && rc >= 0 && i < list->n; i++) {
        const struct jm_instrument *in = list->v[i];
        rc = is_container(in->at) ? container_domain(list, in, tree, err)
             : in->host || in->at == JM_D_INLET_DC || !in->n_feed
                 ? host_domain(list, env, host_of(env, in->host), tree, err)
                 : 0;
        for (size_t k = 0; rc >= 0 && k < in->contains.n; k++)
            if (!is_entry(list, in->contains.item[k]))
                rc = host_domain(list, env, host_of(env, in->contains.item[k]), tree, err);
        for (size_t k = 0; rc >= 0 && k < in->n_feed; k++)
            if (in->feed[k].host)
                rc = host_domain(list, env, host_of(env, in->feed[k].host), tree, err);
    }
    return rc < 0 ? rc : 0;
}

const struct jm_feed *jm_instrument_feed(const struct jm_instrument *in, const char *part)
{
    for (size_t i = 0; part && i < in->n_feed; i++)
        if (strcmp(in->feed[i].part, part) == 0)
            return &in->feed[i];
    return NULL;
}

/* The wanted inlet of a host: an ancestor of its node, -1 where it has none of that kind. */
static int inlet_of(const struct jm_domain_tree *t, int node, enum jm_domain_kind kind)
{
    for (int d = t->d[node].parent; d >= 0; d = t->d[d].parent)
        if (t->d[d].kind == kind)
            return d;
    return -1;
}

int jm_instrument_domain(const struct jm_instrument *in, const struct jm_meter_env *env,
                         struct jm_domain_tree *tree, const char *part, enum jm_domain_kind deflt,
                         struct jm_err *err)
{
    const struct jm_feed *feed = jm_instrument_feed(in, part);
    int kind = feed ? (feed->at >= 0 ? feed->at : feed->host ? (int)JM_D_PSU : -1) : -1;
    char key[96];
    if (kind < 0 && !(part && feed == NULL && in->at < 0))
        kind = in->at;
    if (kind < 0)
        kind = (int)deflt;
    if (is_container(kind))
        return container_domain(
            in->list, &(struct jm_instrument){.name = in->name, .host = in->host, .at = kind}, tree, err);
    const char *host = host_of(env, feed && feed->host ? feed->host : in->host);
    int node = host_domain(in->list, env, host, tree, err);
    if (node < 0 || kind == JM_D_NODE)
        return node;
    if (kind == JM_D_INLET_AC || kind == JM_D_INLET_DC) {
        int inlet = inlet_of(tree, node, (enum jm_domain_kind)kind);
        return inlet >= 0 ? inlet : jm_domain_add(tree, -1, (enum jm_domain_kind)kind, host, host, err);
    }
    jm_instrument_device(in, part, key);
    if (kind == JM_D_PSU) {
        int inlet = inlet_of(tree, node, JM_D_INLET_AC);
        if (inlet < 0)
            inlet = inlet_of(tree, node, JM_D_INLET_DC);
        return jm_domain_add(tree, inlet, JM_D_PSU, key, feed && feed->label ? feed->label : key, err);
    }
    const char *id = in->device ? in->device : key;
    return jm_domain_add(tree, node, (enum jm_domain_kind)kind, id, feed && feed->label ? feed->label : id,
                         err);
}

void jm_instrument_device(const struct jm_instrument *in, const char *part, char out[96])
{
    if (part && *part)
        snprintf(out, 96, "%s/%s", in->name, part);
    else
        snprintf(out, 96, "%s", in->name);
}
