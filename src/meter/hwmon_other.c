/* SPDX-License-Identifier: Apache-2.0 */
/* Every other hwmon chip with a power or energy sensor. What is inside such a sensor is known for the chips
 * of the table below only; any other is read and shown, and never added to a total. */
#include "meter/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "meter/hwmon.h"
#include "base/banned.h"

#define WHAT "other power or energy sensor of hwmon"

enum role {
    LEAVE,   /* no power of this machine's parts (batteries, chargers), or copies of a core */
    SHOW,    /* read, never added */
    NODE,    /* output of the power supply */
    PACKAGE, /* a processor package; a mirror where RAPL has it */
    BOARD    /* an accelerator board */
};

static const struct known {
    const char *name, *label; /* prefixes; label NULL: any */
    enum role role;
} known[] = {
    {"ucsi_source_psy", NULL, LEAVE}, /* USB power delivery (jetson_stats PR 900) */
    {"BAT", NULL, LEAVE},
    {"AC", NULL, LEAVE},
    {"amd_energy", "Esocket", PACKAGE},
    {"amd_energy", "Ecore", LEAVE},
    {"corsairpsu", "power total", NODE},
    {"ibmpowernv", "System", NODE},
    {"grayskull", NULL, BOARD}, /* Tenstorrent, linux-kernel driver tt-kmd */
    {"wormhole", NULL, BOARD},
    {"blackhole", NULL, BOARD},
};

static enum role role_of(const char *name, const char *label)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (jm_span_starts(jm_span_of(name), jm_span_of(known[i].name)) &&
            (!known[i].label || jm_span_starts(jm_span_of(label), jm_span_of(known[i].label))))
            return known[i].role;
    return SHOW;
}

static int domain_of(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const char *label, enum role role,
                     unsigned *flags, struct jm_err *err)
{
    char key[96];
    int64_t socket = 0;
    switch (role) {
    case NODE: return w->node;
    case BOARD: return jm_domain_add(w->tree, w->node, JM_D_GPU, h->device, h->device, err);
    case PACKAGE:
        if (jm_domain_next(w->tree, JM_D_PACKAGE, -1) >= 0)
            *flags |= JM_CHF_MIRROR;
        if (jm_num_i64(jm_span_of(label + strlen("Esocket")), &socket))
            socket = 0;
        snprintf(key, sizeof key, "package-%d", (int)socket);
        return jm_domain_add(w->tree, w->node, JM_D_PACKAGE, key, key, err);
    case SHOW:
    case LEAVE: break;
    }
    *flags |= JM_CHF_MIRROR;
    snprintf(key, sizeof key, "%.30s %.40s %.20s", h->name, h->device, label);
    return jm_domain_add(w->tree, w->node, JM_D_RAIL, key, key, err);
}

/* One sensor: "power3" with its input (or average) file. */
static int sensor(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const char *what, int number,
                  struct jm_err *err)
{
    char file[32], label[48], label_file[32];
    struct jm_channel *c;
    struct jm_fsrc *s;
    int64_t v, ms = 0;
    snprintf(file, sizeof file, "%s%d_input", what, number);
    bool average = !jm_hwmon_has(h, file);
    if (average)
        snprintf(file, sizeof file, "%s%d_average", what, number);
    if (!jm_hwmon_has(h, file))
        return 0;
    snprintf(label_file, sizeof label_file, "%s%d_label", what, number);
    if (jm_hwmon_text(h, label_file, label, sizeof label) <= 0)
        snprintf(label, sizeof label, "%s%d", what, number);
    enum role role = role_of(h->name, label);
    if (role == LEAVE || jm_hwmon_try(w, h, file, &v) || !w->m)
        return 0;
    unsigned flags = 0;
    int domain = domain_of(w, h, label, role, &flags, err);
    int rc = domain < 0 ? domain : jm_hwmon_channel(w->m, h, what, label, file, NULL, &c, &s, err);
    if (rc)
        return rc;
    snprintf(file, sizeof file, "%s%d_average_interval", what, number);
    if (average && jm_hwmon_i64(h, file, &ms) == 0 && ms > 0 && ms < 3600000)
        c->window_ns = c->period_ns = ms * JM_NS_PER_MS;
    c->sem = !average ? JM_G_INSTANT : c->window_ns ? JM_G_BLOCK_MEAN : JM_G_TRAILING_MEAN;
    c->flags |= flags;
    c->domain = domain;
    s->invalid = c->kind == JM_CH_GAUGE ? INT64_C(4294967295000) : 0;
    return 0;
}

static int visit(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct jm_hwmon_walk *w = self;
    int rc = 0;
    if (jm_hwmon_special(h->name) || role_of(h->name, "") == LEAVE)
        return 0;
    for (int i = 1; i <= 64 && rc == 0; i++)
        rc = sensor(w, h, "energy", i, err);
    for (int i = 1; i <= 64 && rc == 0; i++)
        rc = sensor(w, h, "power", i, err);
    return rc;
}

static int hwmon_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    return jm_hwmon_probe(env, jm_hwmon_each, visit, WHAT, out);
}

static int hwmon_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                      struct jm_err *err)
{
    return jm_hwmon_open(&jm_meter_hwmon, env, tree, jm_hwmon_each, visit, WHAT, out, err);
}

const struct jm_meter_ops jm_meter_hwmon = {
    .version = JM_METER_OPS_VERSION,
    .name = "hwmon",
    .summary = "any other hwmon sensor of power or energy; unknown ones are never added",
    .boundary = "device",
    .needs = "any user, but for some drivers (amd_energy is 0440)",
    .traps = "Only for the chips that the meter knows is it said what is inside; others are shown and never "
             "added.\n"
             "Numbers of hwmon change from boot to boot: sensors are named by driver, device and label.\n"
             "Drivers with a wrong scale exist: more than 20 kW is implausible.",
    .probe = hwmon_probe,
    .open = hwmon_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
