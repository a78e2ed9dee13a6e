/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA Jetson by its INA3221 and INA238 monitors (Jetson Linux Developer Guide, "Power Monitor"): NVML
 * starts there, but answers no power query.
 *
 *   INA3221: in1..in3 are bus voltages (mV), in4..in6 shunt voltages, in7 their sum; curr1..curr3 mA: P = mV
 * x mA uW "NC" is a rail that is not connected VDD_IN, POM_5V_IN, VIN are the whole module: the others are
 * parts of it without one of them (AGX Orin) the rails stand side by side; VIN_SYS_5V0 is a rail, no total
 * (jetson_stats#344) L4T 32: .../ina3221x/<address>/iio:deviceN/rail_name_0, in_power0_input in mW */
#include "meter/registry.h"

#include <stdio.h>
#include <string.h>

#include "meter/hwmon.h"
#include "base/banned.h"

#define WHAT      "power rail of a Jetson"
#define MAX_RAIL  24
#define SANE_RAIL 500.0

struct rail {
    char label[48], name[32];
    char volt[JM_SYSFS_PATH], amp[JM_SYSFS_PATH]; /* amp "": volt is a power */
    int scale10;
};

struct rails {
    struct jm_hwmon_walk *w;
    struct rail *v; /* MAX_RAIL */
    size_t n;
};

static bool is_total(const char *label)
{
    return strcmp(label, "VDD_IN") == 0 || strcmp(label, "POM_5V_IN") == 0 || strcmp(label, "VIN") == 0;
}

static void keep(struct rails *r, const char *chip, const char *label, const char *volt, const char *amp,
                 int scale10)
{
    if (r->n == MAX_RAIL || label[0] == '\0' || strcmp(label, "NC") == 0 ||
        strcmp(label, "sum of shunt voltages") == 0)
        return;
    struct rail *x = &r->v[r->n];
    int64_t v;
    *x = (struct rail){.scale10 = scale10};
    snprintf(x->label, sizeof x->label, "%.47s", label);
    snprintf(x->name, sizeof x->name, "%.31s", chip);
    snprintf(x->volt, sizeof x->volt, "%s", volt);
    snprintf(x->amp, sizeof x->amp, "%s", amp);
    /* a disabled rail answers EAGAIN or EIO: it is no rail */
    int rc = jm_sysfs_i64(volt, &v);
    if (rc == 0 && amp[0])
        rc = jm_sysfs_i64(amp, &v);
    if (rc == 0) {
        r->w->found++;
        r->n++;
    } else if (jm_sysfs_status(rc) == JM_S_DENIED) {
        r->w->denied++;
        snprintf(r->w->last, sizeof r->w->last, "%.150s", volt);
    }
}

static int chip(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct rails *r = self;
    char file[32], label[48], volt[JM_SYSFS_PATH], amp[JM_SYSFS_PATH];
    (void)err;
    bool ina3221 = strcmp(h->name, "ina3221") == 0;
    for (int i = 1; i <= 3 && ina3221; i++) {
        snprintf(file, sizeof file, "in%d_label", i);
        if (jm_hwmon_text(h, file, label, sizeof label) > 0 &&
            jm_sysfs_path(volt, h->files, "", "in%d_input", i) &&
            jm_sysfs_path(amp, h->files, "", "curr%d_input", i))
            keep(r, h->name, label, volt, amp, -6);
    }
    if (strcmp(h->name, "ina238") == 0 && jm_sysfs_path(volt, h->files, "", "power1_input")) {
        if (jm_hwmon_text(h, "power1_label", label, sizeof label) <= 0 &&
            jm_hwmon_text(h, "in1_label", label, sizeof label) <= 0)
            snprintf(label, sizeof label, "VIN");
        keep(r, h->name, label, volt, "", -6);
    }
    return 0;
}

/* L4T 32 (JetPack 4). */
static void old_chips(struct rails *r, const struct jm_meter_env *env)
{
    char top[JM_SYSFS_PATH], dir[JM_SYSFS_PATH], path[JM_SYSFS_PATH], label[48];
    struct jm_names chips, devs;
    if (!jm_sysfs_path(top, env->sysfs_root, "/sys", "bus/i2c/drivers/ina3221x") ||
        jm_sysfs_dir(top, "", &chips))
        return;
    for (size_t c = 0; c < chips.n; c++) {
        if (!jm_sysfs_path(dir, top, "", "%s", chips.v[c]) || jm_sysfs_dir(dir, "iio:device", &devs))
            continue;
        for (size_t d = 0; d < devs.n; d++)
            for (int i = 0; i < 3; i++)
                if (jm_sysfs_path(path, dir, "", "%s/rail_name_%d", devs.v[d], i) &&
                    jm_sysfs_text(path, label, sizeof label) > 0 &&
                    jm_sysfs_path(path, dir, "", "%s/in_power%d_input", devs.v[d], i))
                    keep(r, "ina3221x", label, path, "", -3);
        jm_names_release(&devs);
    }
    jm_names_release(&chips);
}

static int add(struct rails *r, struct jm_err *err)
{
    struct jm_hwmon_walk *w = r->w;
    bool total = false;
    int module = jm_domain_add(w->tree, w->node, JM_D_MODULE, "jetson", "Jetson module", err);
    int rc = module < 0 ? module : 0;
    for (size_t i = 0; i < r->n; i++)
        total = total || is_total(r->v[i].label);
    for (size_t i = 0; i < r->n && rc == 0; i++) {
        struct jm_channel *c;
        struct jm_fsrc *s;
        const struct rail *x = &r->v[i];
        rc = jm_fmeter_add(w->m, x->volt, x->amp[0] ? x->amp : NULL, NULL, &c, &s, err);
        if (rc)
            break;
        snprintf(c->name, sizeof c->name, "power");
        snprintf(c->device, sizeof c->device, "%s", x->label);
        snprintf(c->source, sizeof c->source, "hwmon %s", x->name);
        c->kind = JM_CH_GAUGE;
        c->unit = JM_U_W;
        c->scale10 = x->scale10;
        c->sem = JM_G_INSTANT;
        c->flags = JM_CHF_EDGE;
        c->sane_max = SANE_RAIL;
        c->domain =
            is_total(x->label) ? module : jm_domain_add(w->tree, module, JM_D_RAIL, x->label, x->label, err);
        rc = c->domain < 0 ? c->domain : 0;
    }
    if (rc == 0 && r->n > 0 && !total)
        rc = jm_meter_add_fact(w->m, err, "jetson.total",
                               "no rail shows the whole module: its rails are added");
    return rc;
}

/* All chips are looked at before a channel is made: whether there is a total decides what the others are. */
static int each(const struct jm_meter_env *env, jm_hwmon_fn fn, void *self, struct jm_err *err)
{
    struct rail v[MAX_RAIL];
    struct rails r = {.w = self, .v = v};
    (void)fn;
    int rc = jm_hwmon_each(env, chip, &r, err);
    if (rc)
        return rc;
    old_chips(&r, env);
    return r.w->m && r.n > 0 ? add(&r, err) : 0;
}

static int jetson_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    return jm_hwmon_probe(env, each, NULL, WHAT, out);
}

static int jetson_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                       struct jm_err *err)
{
    return jm_hwmon_open(&jm_meter_jetson, env, tree, each, NULL, WHAT, out, err);
}

const struct jm_meter_ops jm_meter_jetson = {
    .version = JM_METER_OPS_VERSION,
    .name = "jetson",
    .summary = "NVIDIA Jetson: rails of its INA3221 and INA238 monitors",
    .boundary = "device",
    .needs = "any user",
    .traps = "VDD_IN, POM_5V_IN or VIN is the whole module, the other rails are parts of it; without one "
             "(AGX Orin) the rails are added.\n"
             "VIN_SYS_5V0 is a rail, no total.\n"
             "Power is voltage times current; shunt voltages, their sum and rails called NC are left out.",
    .probe = jetson_probe,
    .open = jetson_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
