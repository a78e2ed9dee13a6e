/* SPDX-License-Identifier: Apache-2.0 */
/* Declared power of a system's supplies: systems/<system>_power.yaml of v6.1. A node is a leaf when it has
 * "PSUs" and "Min PSUs Needed", in any case of letters; what must be there are the largest of its supplies.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "base/yamljson.h"
#include "mlperf/submission.h"

#include "base/banned.h"

#define SUPPLIES 4096

struct walk {
    struct jm_mlperf_nameplate *n;
    char *why;
    double published, watts;
};

static void odd(struct walk *k, const char *label, const char *what)
{
    if (!k->why[0])
        snprintf(k->why, 256, "%.80s %s.", label, what);
    k->watts = NAN;
}

static int downwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x > y ? -1 : x < y;
}

static const struct jm_json *member(const struct jm_json *o, const char *name)
{
    void *it = NULL;
    const char *key;
    const struct jm_json *v, *found = NULL;
    while (jm_json_next(o, &it, &key, &v))
        if (strcasecmp(key, name) == 0)
            found = v;
    return found;
}

static void leaf(struct walk *k, const char *label, const struct jm_json *psus, const struct jm_json *least)
{
    int64_t need = 0;
    size_t n = jm_json_len(psus), have = 0;
    if (!jm_json_is_array(psus) || n > SUPPLIES) {
        odd(k, label, "has PSUs that are no list of power supplies");
        return;
    }
    double *w = calloc(n ? n : 1, sizeof *w);
    if (!w) {
        odd(k, label, "cannot be read: out of memory");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double x = NAN;
        if (!jm_json_num(jm_json_get(jm_json_at(psus, i), "PowerCapacityWatts"), &x) || !(x > 0))
            odd(k, label, "has a power supply without PowerCapacityWatts above 0");
        w[have++] = x > 0 ? x : 0; /* the public checker takes 0 where there is none */
    }
    if (!jm_json_i64(least, &need) || need < 1)
        odd(k, label, "has a Min PSUs Needed that is no whole number from 1");
    else if ((size_t)need > n)
        odd(k, label, "needs more power supplies than it has");
    qsort(w, have, sizeof *w, downwards);
    for (size_t i = 0; i < have && need > 0 && i < (size_t)need; i++) {
        k->published += w[i];
        k->watts += w[i];
    }
    k->n->components++;
    k->n->supplies += (int)have;
    if (need > 0 && (size_t)need < have)
        k->n->redundant += (int)(have - (size_t)need);
    free(w);
}

static void node(struct walk *k, const char *label, const struct jm_json *v)
{
    if (jm_json_is_object(v)) {
        const struct jm_json *psus = member(v, "psus"), *least = member(v, "min psus needed"), *below;
        void *it = NULL;
        const char *key;
        if (psus && least) {
            leaf(k, label, psus, least);
            return;
        }
        if (psus || least)
            odd(k, label, psus ? "has PSUs but no Min PSUs Needed" : "has Min PSUs Needed but no PSUs");
        while (jm_json_next(v, &it, &key, &below))
            node(k, key, below);
    } else if (jm_json_is_array(v)) {
        for (size_t i = 0; i < jm_json_len(v); i++)
            node(k, label, jm_json_at(v, i));
    }
}

void jm_mlperf_nameplate_read(struct jm_span yaml, struct jm_mlperf_nameplate *out, char why[256])
{
    struct walk k = {.n = out, .why = why};
    struct jm_str json;
    struct jm_json *doc;
    struct jm_err err = {0};
    memset(out, 0, sizeof *out);
    out->present = true;
    out->watts = out->published_watts = NAN;
    why[0] = 0;
    jm_str_init(&json);
    int rc = jm_yaml_json(yaml, &json, &err);
    if (!rc)
        rc = jm_json_parse(jm_str_span(&json), &doc, &err);
    jm_str_release(&json);
    if (rc) {
        snprintf(why, 256, "%.250s", err.text);
        return;
    }
    node(&k, "the system", doc);
    jm_json_free(doc);
    if (!out->components) {
        if (!why[0])
            snprintf(why, 256, "It has no component with PSUs and Min PSUs Needed.");
        return;
    }
    out->published_watts = k.published;
    out->watts = k.watts;
}
