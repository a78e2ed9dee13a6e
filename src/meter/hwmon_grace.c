/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA Grace (GH200, GB200, Grace CPU) by the ACPI power meters of its firmware (NVIDIA Grace Performance
 * Tuning Guide, "Power and Thermal Management"): Module contains Grace and GPU, Grace contains CPU, SysIO and
 * DRAM. The CPU rail is not the socket (srt-slurm PR 481: 791 W against 1,448 W of one system). */
#include "meter/registry.h"

#include <stdio.h>

#include "meter/acpi_meter.h"
#include "base/banned.h"

#define WHAT "power meter of a Grace socket"

static int domain_of(struct jm_hwmon_walk *w, struct jm_acpi_part p, struct jm_err *err)
{
    char key[32], label[32];
    snprintf(key, sizeof key, "module-%d", p.socket);
    snprintf(label, sizeof label, "module %d", p.socket);
    int at = jm_domain_add(w->tree, w->node, JM_D_MODULE, key, label, err);
    if (at < 0 || p.kind == JM_D_MODULE)
        return at;
    snprintf(key, sizeof key, "grace-%d", p.socket);
    snprintf(label, sizeof label, "Grace %d", p.socket);
    at = jm_domain_add(w->tree, at, JM_D_GRACE, key, label, err);
    if (at < 0 || p.kind == JM_D_GRACE)
        return at;
    snprintf(key, sizeof key, "%s-%d", jm_domain_kind_name((int)p.kind), p.socket);
    return jm_domain_add(w->tree, at, p.kind, key, key, err);
}

static int visit(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct jm_hwmon_walk *w = self;
    char oem[96];
    int64_t v;
    if (jm_hwmon_text(h, "power1_oem_info", oem, sizeof oem) <= 0)
        return 0;
    struct jm_acpi_part p = jm_acpi_part(oem);
    if (p.kind == JM_D_COUNT || jm_hwmon_try(w, h, "power1_average", &v) || !w->m)
        return 0;
    int domain = domain_of(w, p, err);
    return domain < 0 ? domain : jm_acpi_channel(w, h, oem, domain, err);
}

static int grace_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    return jm_hwmon_probe(env, jm_acpi_each, visit, WHAT, out);
}

static int grace_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                      struct jm_err *err)
{
    return jm_hwmon_open(&jm_meter_grace, env, tree, jm_acpi_each, visit, WHAT, out, err);
}

const struct jm_meter_ops jm_meter_grace = {
    .version = JM_METER_OPS_VERSION,
    .name = "grace",
    .summary = "NVIDIA Grace: module, socket, CPU and SysIO power, by its ACPI power meters",
    .boundary = "device",
    .needs =
        "any user; the kernel needs CONFIG_SENSORS_ACPI_POWER, some firmware acpi_power_meter.force_cap_on=y",
    .traps = "Module contains Grace and GPU; Grace contains CPU, SysIO and DRAM: the CPU rail is about half "
             "of the socket.\n"
             "Files lie in hwmonN, in hwmonN/device or in the driver's folder; a device counts once.\n"
             "0xffffffff mW (4.29 MW) is no value.",
    .probe = grace_probe,
    .open = grace_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
