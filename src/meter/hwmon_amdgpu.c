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

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meter/hwmon.h"
#include "base/banned.h"

#define WHAT "power sensor of amdgpu"

static bool asleep(const struct jm_hwmon *h)
{
    char path[JM_SYSFS_PATH], text[32];
    return jm_sysfs_path(path, h->dir, "", "device/power/runtime_status") &&
           jm_sysfs_text(path, text, sizeof text) > 0 && strcmp(text, "active") != 0;
}

/* The header of gpu_metrics tells the family: {u16 size, u8 format, u8 content}; formats 2 and 3 are APUs.
 * Linux drivers/gpu/drm/amd/include/kgd_pp_interface.h */
static bool is_apu(const struct jm_hwmon *h)
{
    char path[JM_SYSFS_PATH];
    unsigned char head[4096];
    if (!jm_sysfs_path(path, h->dir, "", "device/gpu_metrics"))
        return false;
    int fd = jm_sysfs_open(path);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, head, sizeof head); /* all of it in one read: a second one gives zeros */
    close(fd);
    return n >= 4 && (head[2] == 2 || head[2] == 3);
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

static int visit(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct jm_hwmon_walk *w = self;
    char path[JM_SYSFS_PATH], label[32], key[64];
    struct jm_channel *c;
    struct jm_fsrc *s;
    int64_t cap = 0;
    bool zero;
    if (strcmp(h->name, "amdgpu") != 0)
        return 0;
    bool sleeping = asleep(h);
    const char *file = choose(w, h, sleeping, &zero);
    if (!w->m)
        return 0;
    snprintf(key, sizeof key, "amdgpu.left_out.%.40s", h->device);
    if (!file)
        return zero || w->last[0] ? jm_meter_add_fact(w->m, err, key, "%s", w->last) : 0;
    bool apu = !sleeping && is_apu(h);
    if (jm_hwmon_text(h, "power1_label", label, sizeof label) <= 0)
        snprintf(label, sizeof label, "PPT");
    bool again = repeats(w->m, h);
    int rc = jm_sysfs_path(path, h->dir, "", "device/power/runtime_status")
                 ? jm_hwmon_channel(w->m, h, "power", label, file, path, &c, &s, err)
                 : JM_EINVAL;
    if (rc)
        return rc;
    bool average = strcmp(file, "power1_average") == 0;
    c->sem = average ? JM_G_TRAILING_MEAN : JM_G_INSTANT; /* the firmware's window is not published */
    if (jm_hwmon_i64(h, "power1_cap_max", &cap) || cap <= 0)
        cap = 0;
    c->sane_min = 0.1;
    c->sane_max = cap > 0 ? 2e-6 * (double)cap : 3000;
    s->positive = true;
    c->domain = jm_domain_add(w->tree, w->node, apu ? JM_D_APU : JM_D_GPU, h->device, h->device, err);
    bool counted_elsewhere = apu && jm_domain_next(w->tree, JM_D_PACKAGE, -1) >= 0;
    if (again || counted_elsewhere)
        c->flags |= JM_CHF_MIRROR;
    snprintf(c->scope, sizeof c->scope, "%s", apu ? "socket" : "board");
    return c->domain < 0 ? c->domain : 0;
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
    .summary = "AMD GPUs and APUs: power of the board or socket, by hwmon",
    .boundary = "gpu",
    .needs = "any user",
    .traps = "power1_average or power1_input, by kernel and part; the channel says which.\n"
             "Reading wakes a suspended GPU: nothing is read unless power/runtime_status says active.\n"
             "A read can hang on old parts: it is tried once in a thread of its own, for 2 s at most.\n"
             "The odd die of an MI2xx pair shows 0 W and the even one both: 0 is no value.\n"
             "An APU shows processor and GPU together; where RAPL has the package, it is a mirror. Some "
             "firmware scales wrongly (12 mW): "
             "below 0.1 W and above twice the cap is implausible.\n"
             "The energy counter of gpu_metrics is not read yet.",
    .probe = amdgpu_probe,
    .open = amdgpu_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
