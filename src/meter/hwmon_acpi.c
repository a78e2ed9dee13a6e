/* SPDX-License-Identifier: Apache-2.0 */
/* The ACPI power meter of a server: the node as its BMC sees it, which on some machines leaves GPU trays out
 * (a comparison with the sum of the devices shows it). Linux Documentation/hwmon/acpi_power_meter.rst */
#include "meter/registry.h"

#include <stdio.h>
#include <string.h>

#include "meter/acpi_meter.h"
#include "base/banned.h"

#define WHAT "ACPI power meter of the node"

static int visit(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct jm_hwmon_walk *w = self;
    char oem[96];
    int64_t v;
    jm_hwmon_text(h, "power1_oem_info", oem, sizeof oem);
    if (jm_acpi_part(oem).kind != JM_D_COUNT || jm_span_starts(jm_span_of(oem), JM_SPAN("Module ")) ||
        jm_span_starts(jm_span_of(oem), JM_SPAN("Grace ")) ||
        jm_span_starts(jm_span_of(oem), JM_SPAN("CPU ")) ||
        jm_span_starts(jm_span_of(oem), JM_SPAN("SysIO ")))
        return 0; /* Grace's, or a sensor of it that is none of power drawn */
    if (jm_hwmon_try(w, h, "power1_average", &v) || !w->m)
        return 0;
    /* A second one would have to be a part of the first: not added, since nobody says of what. */
    bool more = w->m->n_chan > 0;
    int domain =
        more ? jm_domain_add(w->tree, w->node, JM_D_RAIL, h->device, oem[0] ? oem : h->device, err) : w->node;
    int rc = domain < 0 ? domain : jm_acpi_channel(w, h, oem[0] ? oem : "node", domain, err);
    if (rc == 0 && more)
        w->m->chan[w->m->n_chan - 1].flags |= JM_CHF_MIRROR;
    return rc;
}

static int acpi_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    return jm_hwmon_probe(env, jm_acpi_each, visit, WHAT, out);
}

static int acpi_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    int rc = jm_hwmon_open(&jm_meter_acpi, env, tree, jm_acpi_each, visit, WHAT, out, err);
    if (rc == 0)
        (*out)->period_ns = JM_NS_PER_S; /* BMCs refresh once a second or slower */
    return rc;
}

const struct jm_meter_ops jm_meter_acpi = {
    .version = JM_METER_OPS_VERSION,
    .name = "acpi",
    .summary = "the node as its BMC sees it, by the ACPI power meter",
    .boundary = "node",
    .needs = "any user; the kernel needs CONFIG_SENSORS_ACPI_POWER",
    .traps = "It is the node as the BMC sees it: some machines leave GPU trays out. Compare it with the sum "
             "of the devices.\n"
             "The BMC refreshes once a second or slower.",
    .probe = acpi_probe,
    .open = acpi_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
