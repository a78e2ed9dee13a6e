/* SPDX-License-Identifier: Apache-2.0 */
#include "model/domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static const char *const names[JM_D_COUNT] = {
    "site",    "rack",   "pdu",   "shelf", "chassis",   "inlet_ac", "inlet_dc", "psu_loss",
    "node",    "module", "grace", "cpu",   "sysio",     "psys",     "package",  "core",
    "uncore",  "dram",   "tray",  "gpu",   "hbm",       "apu",      "nvswitch", "nic",
    "storage", "fans",   "rail",  "psu",   "psu_output"};

const char *jm_domain_kind_name(int kind)
{
    return kind >= 0 && kind < JM_D_COUNT ? names[kind] : NULL;
}

int jm_domain_kind_parse(struct jm_span s)
{
    for (int i = 0; i < JM_D_COUNT; i++)
        if (jm_span_is(s, names[i]))
            return i;
    return -1;
}

void jm_domain_tree_init(struct jm_domain_tree *t)
{
    *t = (struct jm_domain_tree){0};
}

void jm_domain_tree_release(struct jm_domain_tree *t)
{
    free(t->d);
    jm_domain_tree_init(t);
}

int jm_domain_add(struct jm_domain_tree *t, int parent, enum jm_domain_kind kind, const char *key,
                  const char *label, struct jm_err *err)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->d[i].kind == kind && t->d[i].parent == parent &&
            strncmp(t->d[i].key, key, sizeof t->d[i].key - 1) == 0)
            return (int)i;
    if (parent < -1 || parent >= (int)t->n)
        return jm_err_set(err, JM_EINVAL, "domain %s \"%s\" names a parent that does not exist", names[kind],
                          key);
    if (t->n >= 65536)
        return jm_err_set(err, JM_ELIMIT,
                          "more than 65536 domains; the meters of this run cannot all be real");
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct jm_domain *d = realloc(t->d, cap * sizeof *d);
        if (!d)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the domain tree");
        t->d = d;
        t->cap = cap;
    }
    struct jm_domain *d = &t->d[t->n];
    *d = (struct jm_domain){.id = (int)t->n, .parent = parent, .kind = kind};
    snprintf(d->key, sizeof d->key, "%s", key);
    snprintf(d->label, sizeof d->label, "%s", label ? label : key);
    return (int)t->n++;
}

int jm_domain_host(struct jm_domain_tree *t, const char *host, struct jm_err *err)
{
    int inlet = -1;
    for (size_t i = 0; i < t->n; i++) { /* where a configuration has put it into a rack or behind DC */
        const struct jm_domain *d = &t->d[i];
        if (strncmp(d->key, host, sizeof d->key - 1) != 0)
            continue;
        if (d->kind == JM_D_NODE)
            return (int)i;
        if (inlet < 0 && jm_domain_is_inlet(d->kind))
            inlet = (int)i;
    }
    if (inlet < 0)
        inlet = jm_domain_add(t, -1, JM_D_INLET_AC, host, host, err);
    return inlet < 0 ? inlet : jm_domain_add(t, inlet, JM_D_NODE, host, host, err);
}

bool jm_domain_is_addend(enum jm_domain_kind kind)
{
    return kind == JM_D_PSU || kind == JM_D_PSU_OUTPUT;
}

bool jm_domain_is_inlet(enum jm_domain_kind kind)
{
    return kind == JM_D_INLET_AC || kind == JM_D_INLET_DC;
}

const char *jm_domain_title(const struct jm_domain *d, char buf[JM_DOMAIN_TITLE])
{
    const char *kind = d->kind == JM_D_NODE ? "node" : jm_domain_is_inlet(d->kind) ? "inlet" : NULL;
    if (!kind || strcmp(d->label, d->key) != 0)
        return d->label;
    snprintf(buf, JM_DOMAIN_TITLE, "%s %s", kind, d->label);
    return buf;
}

bool jm_domain_is_feeder(enum jm_domain_kind kind)
{
    return kind == JM_D_CHASSIS || kind == JM_D_PDU || kind == JM_D_SHELF;
}

bool jm_domain_contains(const struct jm_domain_tree *t, int a, int b)
{
    /* parents always have smaller ids, so this ends */
    while (b >= 0 && b < (int)t->n && b != a)
        b = t->d[b].parent < b ? t->d[b].parent : -1;
    return b == a && a >= 0;
}

int jm_domain_next(const struct jm_domain_tree *t, enum jm_domain_kind kind, int after)
{
    for (int i = after + 1; i < (int)t->n; i++)
        if (t->d[i].kind == kind)
            return i;
    return -1;
}
