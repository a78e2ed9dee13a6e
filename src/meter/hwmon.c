/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/hwmon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define LOOK_NS (2 * JM_NS_PER_S)

static void device_of(struct jm_hwmon *h, const char *number)
{
    char path[JM_SYSFS_PATH], target[JM_SYSFS_PATH];
    snprintf(h->device, sizeof h->device, "%.95s", number);
    if (!jm_sysfs_path(path, h->dir, "", "device"))
        return;
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    const char *last = strrchr(target, '/');
    snprintf(h->device, sizeof h->device, "%.95s", last ? last + 1 : target);
}

int jm_hwmon_each(const struct jm_meter_env *env, jm_hwmon_fn fn, void *self, struct jm_err *err)
{
    char dir[JM_SYSFS_PATH], path[JM_SYSFS_PATH];
    struct jm_names names;
    int rc = 0;
    if (!jm_sysfs_path(dir, env->sysfs_root, "/sys", "class/hwmon"))
        return jm_err_set(err, JM_EINVAL, "the sysfs root \"%s\" is too long", env->sysfs_root);
    if (jm_sysfs_dir(dir, "hwmon", &names))
        return 0;
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        struct jm_hwmon h = {0};
        if (!jm_sysfs_path(h.dir, dir, "", "%s", names.v[i]) || !jm_sysfs_path(path, h.dir, "", "name"))
            continue;
        snprintf(h.files, sizeof h.files, "%s", h.dir);
        if (jm_sysfs_text(path, h.name, sizeof h.name) <= 0 &&
            (!jm_sysfs_path(path, h.dir, "", "device/name") ||
             jm_sysfs_text(path, h.name, sizeof h.name) <= 0))
            continue;
        device_of(&h, names.v[i]);
        rc = fn(self, &h, err);
    }
    jm_names_release(&names);
    return rc;
}

bool jm_hwmon_has(const struct jm_hwmon *h, const char *file)
{
    char path[JM_SYSFS_PATH];
    return jm_sysfs_path(path, h->files, "", "%s", file) && jm_sysfs_exists(path);
}

int jm_hwmon_text(const struct jm_hwmon *h, const char *file, char *buf, size_t cap)
{
    char path[JM_SYSFS_PATH];
    buf[0] = '\0';
    return jm_sysfs_path(path, h->files, "", "%s", file) ? jm_sysfs_text(path, buf, cap) : -ENAMETOOLONG;
}

int jm_hwmon_i64(const struct jm_hwmon *h, const char *file, int64_t *out)
{
    char path[JM_SYSFS_PATH];
    return jm_sysfs_path(path, h->files, "", "%s", file) ? jm_sysfs_i64(path, out) : -ENAMETOOLONG;
}

bool jm_hwmon_special(const char *name)
{
    static const char *const names[] = {"amdgpu",  "i915",     "xe",    "power_meter",
                                        "ina3221", "ina3221x", "ina238"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int jm_hwmon_try(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const char *file, int64_t *value)
{
    char path[JM_SYSFS_PATH], why[128];
    int rc = jm_sysfs_path(path, h->files, "", "%s", file) ? jm_sysfs_i64_timed(path, LOOK_NS, value)
                                                           : -ENAMETOOLONG;
    enum jm_status st = jm_sysfs_status(rc);
    if (rc == 0) {
        w->found++;
    } else if (st == JM_S_DENIED) {
        w->denied++;
        snprintf(w->last, sizeof w->last, "%.120s", path);
    } else {
        w->failed++;
        snprintf(w->last, sizeof w->last, "%.60s %.40s: %s", h->name, file,
                 rc == -ETIMEDOUT ? "a read took longer than 2 s" : jm_sysfs_why(rc, why));
    }
    return rc;
}

int jm_hwmon_channel(struct jm_meter *m, const struct jm_hwmon *h, const char *what, const char *label,
                     const char *file, const char *guard, struct jm_channel **c, struct jm_fsrc **s,
                     struct jm_err *err)
{
    char path[JM_SYSFS_PATH];
    if (!jm_sysfs_path(path, h->files, "", "%s", file))
        return jm_err_set(err, JM_EINVAL, "the path of %s of %s is too long", file, h->name);
    int rc = jm_fmeter_add(m, path, NULL, guard, c, s, err);
    if (rc)
        return rc;
    bool energy = strcmp(what, "energy") == 0;
    snprintf((*c)->name, sizeof(*c)->name, "%s", what);
    snprintf((*c)->device, sizeof(*c)->device, "%.40s %.30s %.20s", h->name, h->device, label);
    snprintf((*c)->source, sizeof(*c)->source, "hwmon %.24s %.32s", h->name, file);
    (*c)->kind = energy ? JM_CH_COUNTER : JM_CH_GAUGE;
    (*c)->unit = energy ? JM_U_J : JM_U_W;
    (*c)->scale10 = -6;
    (*c)->flags = JM_CHF_EDGE;
    (*c)->sane_max = 20000;
    return 0;
}

int jm_hwmon_probe(const struct jm_meter_env *env, jm_hwmon_each_fn each, jm_hwmon_fn fn, const char *what,
                   struct jm_probe *out)
{
    struct jm_hwmon_walk w = {.env = env, .node = -1};
    struct jm_err err = {0};
    int rc = each(env, fn, &w, &err);
    if (rc)
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "", "%s", err.text);
    else if (w.found)
        jm_probe_set(out, JM_PROBE_OK, "", "%s: %zu found", what, w.found);
    else if (w.denied) {
        char mend[256];
        snprintf(mend, sizeof mend, "sudo chmod a+r %.200s", w.last);
        jm_probe_set(out, JM_PROBE_DENIED, mend, "%s is there, but %.120s may not be read", what, w.last);
    } else if (w.asleep)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "%s is there, but suspended; reading it would wake it", what);
    else if (w.failed)
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "", "%s is there, but cannot be read: %s", what, w.last);
    else
        jm_probe_set(out, JM_PROBE_ABSENT, "", "no %s below %s/class/hwmon", what,
                     env->sysfs_root ? env->sysfs_root : "/sys");
    return 0;
}

int jm_hwmon_open(const struct jm_meter_ops *ops, const struct jm_meter_env *env, struct jm_domain_tree *tree,
                  jm_hwmon_each_fn each, jm_hwmon_fn fn, const char *what, struct jm_meter **out,
                  struct jm_err *err)
{
    struct jm_hwmon_walk w = {.env = env, .tree = tree};
    w.m = jm_fmeter_alloc(ops, err);
    if (!w.m)
        return JM_ENOMEM;
    w.node = jm_meter_host(env, tree, err);
    int rc = w.node < 0 ? w.node : each(env, fn, &w, err);
    if (rc == 0 && w.m->n_chan == 0) {
        struct jm_probe p;
        jm_hwmon_probe(env, each, fn, what, &p);
        rc = jm_err_set(err, p.state == JM_PROBE_DENIED ? JM_EDENIED : JM_EABSENT, "%s: %s", ops->name,
                        p.reason);
    }
    if (rc) {
        jm_fmeter_close(w.m);
        return rc;
    }
    snprintf(w.m->instance, sizeof w.m->instance, "%.75s/class/hwmon",
             env->sysfs_root ? env->sysfs_root : "/sys");
    *out = w.m;
    return 0;
}
