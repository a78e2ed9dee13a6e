/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu's gpu_metrics beside hwmon.
 *
 *   the unit of energy_accumulator    2^-16 J: named in the table since 1.4 (MI300; kgd_pp_interface.h) and,
 * for MI200's 1.3, by its firmware ("15.259uJ resolution", smu13_driver_if_aldebaran.h). Of the Radeon parts
 *       and MI100 only amdsmi.h names it, their register has 32 bits (65,536 J: 218 s at 300 W), and newer
 *       firmware has dropped it (smu_v13_0_7_ppt.c, smu_v14_0_2_ppt.c): shown, never added
 *   power of an APU                   mW by the table, W by some firmware (amdgpu_top#30): hwmon decides
 *   one read of the file is one table a second read of an open file gives zeros (MangoHud PR 2070): opened
 *       anew each time */
#include "meter/amdgpu_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define WRAP_32_GAP (60 * JM_NS_PER_S) /* 65,536 J take 131 s at 500 W */

enum field { F_ENERGY, F_POWER };

struct batch {
    struct jm_fbatch b; /* first */
    struct jm_gpu_metrics m;
    unsigned format, content; /* of the first look: another table is another quantity */
    char path[JM_SYSFS_PATH];
};

static int load_table(const char *path, struct jm_gpu_metrics *m, struct jm_err *err)
{
    char bytes[JM_GPU_METRICS_MAX];
    *m = (struct jm_gpu_metrics){0};
    int fd = jm_sysfs_open(path);
    if (fd < 0)
        return fd;
    ssize_t n = read(fd, bytes, sizeof bytes);
    int e = errno;
    close(fd);
    if (n < 0)
        return -e;
    return jm_gpu_metrics_parse((struct jm_span){bytes, (size_t)n}, m, err) ? -EBADMSG : 0;
}

static int load(struct jm_fbatch *b)
{
    struct batch *t = (struct batch *)b;
    int rc = load_table(t->path, &t->m, NULL);
    return rc == 0 && (t->m.format != t->format || t->m.content != t->content) ? -EBADMSG : rc;
}

static enum jm_status pick(const struct jm_fbatch *b, int field, int64_t *value)
{
    const struct jm_gpu_metrics *m = &((const struct batch *)b)->m;
    if (field == F_POWER) {
        *value = m->power;
        return m->has_power ? JM_S_OK : JM_S_GAP;
    }
    *value = (int64_t)m->energy;
    return !m->has_energy ? JM_S_GAP : m->energy > INT64_MAX ? JM_S_IMPLAUSIBLE : JM_S_OK;
}

static void drop(struct jm_fbatch *b)
{
    free(b);
}

void jm_amdgpu_look(const struct jm_hwmon *h, struct jm_amdgpu_table *t)
{
    struct jm_err err = {0};
    char why[128];
    *t = (struct jm_amdgpu_table){0};
    if (!jm_sysfs_path(t->path, h->dir, "", "device/gpu_metrics"))
        return;
    int rc = load_table(t->path, &t->m, &err);
    t->found = rc != -ENOENT && rc != -ENOTDIR;
    t->usable = rc == 0 && ((t->m.has_power && t->m.power > 0) || (t->m.has_energy && t->m.energy > 0));
    if (t->found && rc)
        snprintf(t->why, sizeof t->why, "%.150s", err.text[0] ? err.text : jm_sysfs_why(rc, why));
}

bool jm_amdgpu_joules(uint64_t id) /* amdgpu_drv.c */
{
    return id == 0x7408 || id == 0x740c || id == 0x740f || id == 0x7410 ||   /* Aldebaran */
           (id >= 0x74a0 && id <= 0x74bf) || (id >= 0x75a0 && id <= 0x75bf); /* MI300, MI350 */
}

static bool counts_64_bits(const struct jm_hwmon *h, const struct jm_gpu_metrics *m)
{
    char path[JM_SYSFS_PATH];
    uint64_t id = 0;
    if (m->energy_stated || m->energy > UINT32_MAX)
        return true;
    return m->content == 3 && jm_sysfs_path(path, h->dir, "", "device/device") &&
           jm_sysfs_hex(path, &id) == 0 && jm_amdgpu_joules(id);
}

static int channel(struct jm_meter *m, const struct jm_hwmon *h, struct batch *b, enum field field,
                   const struct jm_amdgpu_card *card, struct jm_channel **c, struct jm_err *err)
{
    struct jm_fsrc *s;
    int rc = jm_fmeter_add_field(m, &b->b, (int)field, card->guard, c, &s, err);
    if (rc)
        return rc;
    s->positive = true;
    snprintf((*c)->device, sizeof(*c)->device, "%.40s %.30s %.20s", h->name, h->device, card->label);
    snprintf((*c)->scope, sizeof(*c)->scope, "%s", b->m.apu ? "socket" : "board");
    (*c)->domain = card->domain;
    (*c)->flags = JM_CHF_EDGE | card->flags;
    (*c)->sane_max = card->sane_max;
    return 0;
}

static int add_energy(struct jm_hwmon_walk *w, const struct jm_hwmon *h, struct batch *b,
                      const struct jm_amdgpu_card *card, struct jm_err *err)
{
    struct jm_channel *c;
    bool wide = counts_64_bits(h, &b->m);
    int rc = channel(w->m, h, b, F_ENERGY, card, &c, err);
    if (rc)
        return rc;
    snprintf(c->name, sizeof c->name, "energy");
    snprintf(c->source, sizeof c->source, "gpu_metrics %u.%u energy_accumulator%s", b->format, b->content,
             wide ? "" : " (unit unsure)");
    c->kind = JM_CH_COUNTER;
    c->unit = JM_U_J;
    c->scale2 = -16;
    if (!wide) {
        c->modulus = (uint64_t)1 << 32;
        c->flags |= JM_CHF_MIRROR;
        w->m->max_period_ns = WRAP_32_GAP;
    }
    return 0;
}

/* hwmon tells whether the table means mW or W, and whether it can be believed. */
static int judge_scale(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const struct batch *b,
                       const struct jm_amdgpu_card *card, struct jm_channel *c, struct jm_err *err)
{
    char key[64];
    double said = jm_channel_value(c, (int64_t)b->m.power), ratio = card->hwmon_w / said;
    snprintf(key, sizeof key, "amdgpu.check.%.40s", h->device);
    if (card->hwmon_w <= 0 || (ratio > 1.0 / 3 && ratio < 3))
        return 0;
    if (b->m.apu && ratio > 1000.0 / 3 && ratio < 3000) {
        c->scale10 = 0;
        return jm_meter_add_fact(w->m, err, key,
                                 "gpu_metrics %u.%u shows W where its layout has mW (hwmon: %.1f W)",
                                 b->format, b->content, card->hwmon_w);
    }
    c->flags |= JM_CHF_MIRROR;
    return jm_meter_add_fact(
        w->m, err, key, "gpu_metrics says %.1f W and hwmon %.1f W at the same time: only hwmon is counted",
        said, card->hwmon_w);
}

static int add_power(struct jm_hwmon_walk *w, const struct jm_hwmon *h, struct batch *b,
                     const struct jm_amdgpu_card *card, struct jm_err *err)
{
    struct jm_channel *c;
    int rc = channel(w->m, h, b, F_POWER, card, &c, err);
    if (rc)
        return rc;
    snprintf(c->name, sizeof c->name, "power.%s", b->m.current ? "current" : "average");
    snprintf(c->source, sizeof c->source, "gpu_metrics %u.%u %s_socket_power", b->format, b->content,
             b->m.current ? "current" : "average");
    c->kind = JM_CH_GAUGE;
    c->unit = JM_U_W;
    c->scale10 = b->m.power_scale10;
    c->sem = b->m.current ? JM_G_INSTANT : JM_G_TRAILING_MEAN; /* no window is published */
    c->sane_min = 0.1;
    return judge_scale(w, h, b, card, c, err);
}

int jm_amdgpu_add(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const struct jm_amdgpu_table *t,
                  const struct jm_amdgpu_card *card, struct jm_err *err)
{
    char key[64];
    snprintf(key, sizeof key, "amdgpu.metrics.%.40s", h->device);
    if (!t->usable)
        return t->why[0] ? jm_meter_add_fact(w->m, err, key, "not read: %s", t->why) : 0;
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return jm_err_set(err, JM_ENOMEM, "out of memory for gpu_metrics of %s", h->device);
    b->b = (struct jm_fbatch){.load = load, .pick = pick, .free = drop};
    b->m = t->m;
    b->format = t->m.format;
    b->content = t->m.content;
    snprintf(b->path, sizeof b->path, "%s", t->path);
    int rc = jm_fmeter_own(w->m, &b->b, err);
    if (rc)
        return rc;
    if (t->m.has_energy && t->m.energy > 0)
        rc = add_energy(w, h, b, card, err);
    if (rc == 0 && t->m.has_power && t->m.power > 0)
        rc = add_power(w, h, b, card, err);
    if (rc == 0 && t->m.partitions > 1)
        rc = jm_meter_add_fact(w->m, err, key, "%u.%u, one table for %u partitions", b->format, b->content,
                               t->m.partitions);
    else if (rc == 0)
        rc = jm_meter_add_fact(w->m, err, key, "%u.%u", b->format, b->content);
    return rc;
}
