/* SPDX-License-Identifier: Apache-2.0 */
/* Intel GPUs (DG1, DG2, Battlemage and later) by the hwmon files of i915 and xe: an energy counter a card, in
 * uJ.
 *
 *   the register has 32 bits, and the driver extends it only when somebody reads it: unread for longer than
 * one turn (4.4 minutes at 1 kW, by the kernel's own comment), energy is lost. So: at least one read a
 * minute. energy1 may be absent or 0, with all in energy2      by label; a counter that stands at 0 has no
 * joules to add the card contains the package                        the package lies below it in the tree
 *   power1_crit is a limit of current, no power limit    the limit is power1_cap, else power1_max
 * Integrated GPUs have no hwmon: RAPL's uncore shows them. */
#include "meter/registry.h"

#include <stdio.h>
#include <string.h>

#include "meter/hwmon.h"
#include "base/banned.h"

#define WHAT        "energy counter of i915 or xe"
#define MAX_ENERGY  8
#define LONGEST_GAP (60 * JM_NS_PER_S)

struct counter {
    char file[32], label[32];
    int64_t value;
};

static size_t counters(struct jm_hwmon_walk *w, const struct jm_hwmon *h, struct counter v[MAX_ENERGY])
{
    size_t n = 0, zeros = 0;
    for (int i = 1; i <= MAX_ENERGY; i++) {
        struct counter *c = &v[n];
        char file[32];
        snprintf(c->file, sizeof c->file, "energy%d_input", i);
        snprintf(file, sizeof file, "energy%d_label", i);
        if (!jm_hwmon_has(h, c->file) || jm_hwmon_try(w, h, c->file, &c->value))
            continue;
        if (jm_hwmon_text(h, file, c->label, sizeof c->label) <= 0)
            snprintf(c->label, sizeof c->label, i == 1 ? "card" : "energy%d", i);
        zeros += c->value == 0;
        n++;
    }
    if (zeros == n)
        return n; /* just started, or powered off: all may be true */
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i].value != 0)
            v[kept++] = v[i];
    return kept;
}

static int add_limit(struct jm_hwmon_walk *w, const struct jm_hwmon *h, struct jm_err *err)
{
    static const char *const files[] = {"power1_cap", "power1_max"};
    char key[64];
    int64_t uw;
    for (size_t i = 0; i < 2; i++) {
        if (jm_hwmon_i64(h, files[i], &uw) || uw <= 0) /* 0: disabled */
            continue;
        snprintf(key, sizeof key, "intel-gpu.limit.%.40s", h->device);
        return jm_meter_add_fact(w->m, err, key, "%.0f W (%s)", (double)uw / 1e6, files[i]);
    }
    return 0;
}

static int visit(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct jm_hwmon_walk *w = self;
    struct counter v[MAX_ENERGY + 1];
    if (strcmp(h->name, "i915") != 0 && strcmp(h->name, "xe") != 0)
        return 0;
    size_t n = counters(w, h, v);
    if (!w->m || n == 0)
        return 0;
    int gpu = jm_domain_add(w->tree, w->node, JM_D_GPU, h->device, h->device, err);
    int rc = gpu < 0 ? gpu : 0;
    bool card = false;
    for (size_t i = 0; i < n; i++)
        card = card || strcmp(v[i].label, "card") == 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct jm_channel *c;
        struct jm_fsrc *s;
        char key[128];
        /* without a counter of the card, that of the package stands for the GPU */
        bool whole = strcmp(v[i].label, "card") == 0 || (!card && (n == 1 || strcmp(v[i].label, "pkg") == 0));
        rc = jm_hwmon_channel(w->m, h, "energy", v[i].label, v[i].file, NULL, &c, &s, err);
        if (rc)
            break;
        snprintf(key, sizeof key, "%.90s/%s", h->device, v[i].label);
        c->domain = whole ? gpu : jm_domain_add(w->tree, gpu, JM_D_RAIL, key, v[i].label, err);
        c->sane_max = 3000;
        snprintf(c->scope, sizeof c->scope, "%.15s", v[i].label);
        rc = c->domain < 0 ? c->domain : 0;
    }
    w->m->max_period_ns = LONGEST_GAP;
    return rc ? rc : add_limit(w, h, err);
}

static int intel_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    return jm_hwmon_probe(env, jm_hwmon_each, visit, WHAT, out);
}

static int intel_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                      struct jm_err *err)
{
    int rc = jm_hwmon_open(&jm_meter_intel_gpu, env, tree, jm_hwmon_each, visit, WHAT, out, err);
    if (rc == 0)
        rc = jm_meter_add_fact(
            *out, err, "intel-gpu.wrap",
            "the driver extends a 32-bit register when it is read: one read a minute at least");
    return rc;
}

const struct jm_meter_ops jm_meter_intel_gpu = {
    .version = JM_METER_OPS_VERSION,
    .name = "intel-gpu",
    .summary = "Intel GPUs: energy counters of card and package, by hwmon of i915 and xe",
    .boundary = "gpu",
    .needs = "any user",
    .traps = "The driver extends a 32-bit register only when it is read; unread for one turn (262 s at 1 "
             "kW), energy is lost: one read "
             "a minute at least.\n"
             "The card contains the package; boards without a card counter show the package for the GPU.\n"
             "The limit is power1_cap or power1_max; power1_crit is none.\n"
             "Integrated GPUs have no such files: RAPL's uncore shows them.",
    .probe = intel_probe,
    .open = intel_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
