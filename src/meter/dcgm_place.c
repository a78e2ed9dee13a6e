/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU by UUID, a Grace socket by number, an NVSwitch by number: under the keys that the meters nvml and
 * grace give them, so that a joule which two instruments show is one domain's. */
#include "meter/dcgm.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/banned.h"

static int below(const struct jm_domain_tree *t, int node, enum jm_domain_kind kind, const char *key)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->d[i].kind == kind && strncmp(t->d[i].key, key, sizeof t->d[i].key - 1) == 0 &&
            jm_domain_contains(t, node, (int)i))
            return (int)i;
    return -1;
}

/* NVML's power and energy of a GH200 are its whole module's, and DCGM shows NVML's. */
static bool of_module(struct jm_span model)
{
    return jm_span_find(model, JM_SPAN("GH200")) >= 0;
}

static int gpu(struct jm_domain_tree *tree, int node, size_t known, const struct jm_promdev_quantity *q,
               int ordinal, bool *shared, struct jm_err *err)
{
    char key[32], label[64];
    int at = below(tree, node, JM_D_GPU, q->key), up = node;
    *shared = at >= 0 && (size_t)at < known;
    if (at >= 0)
        return of_module(q->model) && tree->d[tree->d[at].parent].kind == JM_D_MODULE ? tree->d[at].parent
                                                                                      : at;
    if (of_module(q->model)) {
        snprintf(key, sizeof key, "module-%d", ordinal > 0 ? ordinal : 0);
        snprintf(label, sizeof label, "module %d", ordinal > 0 ? ordinal : 0);
        up = jm_domain_add(tree, node, JM_D_MODULE, key, label, err);
        if (up < 0)
            return up;
    }
    snprintf(label, sizeof label, "GPU %d", ordinal);
    at = jm_domain_add(tree, up, JM_D_GPU, q->key, ordinal >= 0 ? label : q->label, err);
    return at < 0 ? at : up != node ? up : at;
}

static int grace(struct jm_domain_tree *tree, int node, size_t known, const struct jm_promdev_quantity *q,
                 bool *shared, struct jm_err *err)
{
    char key[160], label[160];
    snprintf(key, sizeof key, "module-%.100s", q->key);
    snprintf(label, sizeof label, "module %.100s", q->key);
    int at = jm_domain_add(tree, node, JM_D_MODULE, key, label, err);
    *shared = false;
    if (at < 0 || q->domain == JM_D_MODULE)
        return at;
    snprintf(key, sizeof key, "grace-%.100s", q->key);
    snprintf(label, sizeof label, "Grace %.100s", q->key);
    at = jm_domain_add(tree, at, JM_D_GRACE, key, label, err);
    if (at < 0)
        return at;
    snprintf(key, sizeof key, "%s-%.100s", jm_domain_kind_name((int)q->domain), q->key);
    at = jm_domain_add(tree, at, q->domain, key, key, err);
    *shared = at >= 0 && (size_t)at < known;
    return at;
}

int jm_dcgm_place(struct jm_domain_tree *tree, int node, size_t known, const struct jm_promdev_quantity *q,
                  int ordinal, bool *shared, struct jm_err *err)
{
    char key[220];
    *shared = false;
    switch (q->domain) {
    case JM_D_GPU: return gpu(tree, node, known, q, ordinal, shared, err);
    case JM_D_CPU:
    case JM_D_SYSIO:
    case JM_D_MODULE: return grace(tree, node, known, q, shared, err);
    case JM_D_NVSWITCH:
        /* the library counts them, the exporter names them nvswitch0 */
        snprintf(key, sizeof key, "nvswitch-%s",
                 q->key + (strncmp(q->key, "nvswitch", 8) == 0 && q->key[8] ? 8 : 0));
        return jm_domain_add(tree, node, JM_D_NVSWITCH, key, q->label[0] ? q->label : key, err);
    default: return jm_domain_add(tree, node, q->domain, q->key, q->label[0] ? q->label : q->key, err);
    }
}
