/* SPDX-License-Identifier: Apache-2.0 */
/* AMD GPUs by the hwmon files of amdgpu: socket or board power ("PPT"). Linux
 * Documentation/gpu/amdgpu/thermal.rst.
 *
 *   power1_average or power1_input, one or both, by kernel and part    average first, recorded which
 *   reading wakes a suspended GPU                                      not read unless runtime_status says
 * "active" a read can hang (old parts)                                        tried in a thread of its own,
 * once the odd die of a pair (MI2xx) shows 0, the even one both           0 is no value; left out, and said
 *   an APU shows processor and GPU together                            domain apu; a mirror where RAPL has
 * the package some APU firmware scales wrongly (12 mW, or mW taken for W)        plausibility: 0.1 W to twice
 * the cap */
#include "meter/registry.h"

#include <stdio.h>
#include <string.h>

#include "meter/amdgpu_metrics.h"
#include "base/banned.h"

#define WHAT "power sensor of amdgpu"

static bool asleep(const struct jm_hwmon *h)
{
    char path[JM_SYSFS_PATH], text[32];
    return jm_sysfs_path(path, h->dir, "", "device/power/runtime_status") &&
           jm_sysfs_text(path, text, sizeof text) > 0 && strcmp(text, "active") != 0;
}

/* Same board: the PCI address without the function, as partitions of one MI300 show it. */
static bool repeats(const struct jm_meter *m, const struct jm_hwmon *h)
{
    const char *dot = strrchr(h->device, '.');
    char want[128];
    if (!dot || strchr(h->device, ':') == NULL)
        return false;
    snprintf(want, sizeof want, "amdgpu %.*s.", (int)(dot - h->device), h->device);
    for (size_t i = 0; i < m->n_chan; i++)
        if (strncmp(m->chan[i].device, want, strlen(want)) == 0)
            return true;
    return false;
}

static const char *choose(struct jm_hwmon_walk *w, const struct jm_hwmon *h, bool sleeping, bool *zero)
{
    static const char *const files[] = {"power1_average", "power1_input"};
    size_t failed = w->failed, denied = w->denied;
    *zero = false;
    for (size_t i = 0; i < 2; i++) {
        int64_t v = 0;
        if (!jm_hwmon_has(h, files[i]))
            continue;
        if (sleeping) {
            w->found++;
            return files[i];
        }
        if (jm_hwmon_try(w, h, files[i], &v))
            continue;
        if (v > 0) {
            w->failed = failed; /* what came before does not matter */
            w->denied = denied;
            return files[i];
        }
        *zero = true;
        w->found--;
    }
    if (*zero) {
        w->failed++;
        snprintf(w->last, sizeof w->last, "%.60s shows 0 W, as the second die of a package does", h->device);
    }
    return NULL;
}

/* The power of hwmon, where it shows one. */
static int add_power(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const char *file,
                     const struct jm_amdgpu_card *card, bool apu, struct jm_err *err)
{
    struct jm_channel *c;
    struct jm_fsrc *s;
    int rc = jm_hwmon_channel(w->m, h, "power", card->label, file, card->guard, &c, &s, err);
    if (rc)
        return rc;
    bool average = strcmp(file, "power1_average") == 0;
    c->sem = average ? JM_G_TRAILING_MEAN : JM_G_INSTANT; /* the firmware's window is not published */
    c->sane_min = 0.1;
    c->sane_max = card->sane_max;
    s->positive = true;
    c->domain = card->domain;
    c->flags |= card->flags;
    snprintf(c->scope, sizeof c->scope, "%s", apu ? "socket" : "board");
    return 0;
}

static int left_out(struct jm_hwmon_walk *w, const struct jm_hwmon *h, bool zero, struct jm_err *err)
{
    char key[64];
    snprintf(key, sizeof key, "amdgpu.left_out.%.40s", h->device);
    return zero || w->last[0] ? jm_meter_add_fact(w->m, err, key, "%s", w->last) : 0;
}

static int visit(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct jm_hwmon_walk *w = self;
    struct jm_amdgpu_table t = {0};
    char path[JM_SYSFS_PATH], label[32];
    int64_t cap = 0, uw = 0;
    bool zero;
    if (strcmp(h->name, "amdgpu") != 0)
        return 0;
    bool sleeping = asleep(h);
    const char *file = choose(w, h, sleeping, &zero);
    if (!sleeping)
        jm_amdgpu_look(h, &t);
    w->found += !file && t.usable;
    if (!w->m)
        return 0;
    if (!file && !t.usable)
        return left_out(w, h, zero, err);
    if (jm_hwmon_text(h, "power1_label", label, sizeof label) <= 0)
        snprintf(label, sizeof label, "PPT");
    if (!jm_sysfs_path(path, h->dir, "", "device/power/runtime_status"))
        return JM_EINVAL;
    if (jm_hwmon_i64(h, "power1_cap_max", &cap) || cap <= 0)
        cap = 0;
    if (file && !sleeping && jm_hwmon_i64(h, file, &uw))
        uw = 0;
    struct jm_amdgpu_card card = {.label = label,
                                  .guard = path,
                                  .sane_max = cap > 0 ? 2e-6 * (double)cap : 3000,
                                  .hwmon_w = 1e-6 * (double)uw};
    bool apu = t.m.apu, counted_elsewhere = apu && jm_domain_next(w->tree, JM_D_PACKAGE, -1) >= 0;
    if (repeats(w->m, h) || counted_elsewhere)
        card.flags = JM_CHF_MIRROR;
    card.domain = jm_domain_add(w->tree, w->node, apu ? JM_D_APU : JM_D_GPU, h->device, h->device, err);
    int rc = card.domain < 0 ? card.domain : 0;
    if (rc == 0 && file)
        rc = add_power(w, h, file, &card, apu, err);
    return rc ? rc : jm_amdgpu_add(w, h, &t, &card, err);
}

static int amdgpu_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    return jm_hwmon_probe(env, jm_hwmon_each, visit, WHAT, out);
}

static int amdgpu_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                       struct jm_err *err)
{
    return jm_hwmon_open(&jm_meter_amdgpu, env, tree, jm_hwmon_each, visit, WHAT, out, err);
}

const struct jm_meter_ops jm_meter_amdgpu = {
    .version = JM_METER_OPS_VERSION,
    .name = "amdgpu",
    .summary = "AMD GPUs and APUs: power and energy of the board or socket, by hwmon and gpu_metrics",
    .boundary = "gpu",
    .needs = "any user",
    .traps = "power1_average or power1_input, by kernel and part; the channel says which.\n"
             "Reading wakes a suspended GPU: nothing is read unless power/runtime_status says active.\n"
             "A read can hang on old parts: it is tried once in a thread of its own, for 2 s at most.\n"
             "The odd die of an MI2xx pair shows 0 W and the even one both: 0 is no value.\n"
             "An APU shows processor and GPU together; where RAPL has the package, it is a mirror. Some "
             "firmware scales wrongly (12 mW): "
             "below 0.1 W and above twice the cap is implausible.\n"
             "gpu_metrics has an energy counter in 2^-16 J on Instinct parts (the libraries say 15.3 uJ: "
             "0.27 % too "
             "much). On Radeon parts and MI100 it has 32 bits and no unit that is sure: shown, never added.\n"
             "A table of gpu_metrics is read only where version and size are known; all ones are no value. "
             "2.x and "
             "3.0 are in mW, some firmware says W: hwmon decides. What disagrees with hwmon is not counted.\n"
             "Partitions of a board (XCP) share one table, and the board counts once.",
    .probe = amdgpu_probe,
    .open = amdgpu_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
