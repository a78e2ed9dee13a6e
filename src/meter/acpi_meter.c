/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/acpi_meter.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/banned.h"

#define NO_VALUE INT64_C(4294967295000) /* 0xffffffff mW, as the driver shows it (lm-sensors#460) */

struct jm_acpi_part jm_acpi_part(const char *oem_info)
{
    static const struct {
        struct jm_span word;
        enum jm_domain_kind kind;
    } words[] = {{{"Module ", 7}, JM_D_MODULE},
                 {{"Grace ", 6}, JM_D_GRACE},
                 {{"CPU ", 4}, JM_D_CPU},
                 {{"SysIO ", 6}, JM_D_SYSIO}};
    struct jm_acpi_part none = {JM_D_COUNT, -1};
    struct jm_span s = jm_span_trim(jm_span_of(oem_info));
    int64_t socket;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!jm_span_starts(s, words[i].word))
            continue;
        struct jm_span rest = jm_span_sub(s, words[i].word.n, s.n);
        if (jm_span_starts(rest, JM_SPAN("Input ")))
            rest = jm_span_sub(rest, 6, rest.n);
        if (!jm_span_starts(rest, JM_SPAN("Power Socket ")) ||
            jm_num_i64(jm_span_sub(rest, 13, rest.n), &socket) || socket < 0 || socket > 65535)
            return none;
        return (struct jm_acpi_part){words[i].kind, (int)socket};
    }
    return none;
}

struct seen {
    jm_hwmon_fn fn;
    void *self;
    char device[64][32];
    size_t n;
};

static bool already(struct seen *s, const char *device)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->device[i], device) == 0)
            return true;
    if (s->n < sizeof s->device / sizeof *s->device)
        snprintf(s->device[s->n++], sizeof *s->device, "%.31s", device);
    return false;
}

static int one(void *self, const struct jm_hwmon *h, struct jm_err *err)
{
    struct seen *s = self;
    struct jm_hwmon at = *h;
    if (strcmp(h->name, "power_meter") != 0)
        return 0;
    if (!jm_hwmon_has(&at, "power1_average") &&
        (!jm_sysfs_path(at.files, h->dir, "", "device") || !jm_hwmon_has(&at, "power1_average")))
        return 0;
    return already(s, at.device) ? 0 : s->fn(s->self, &at, err);
}

int jm_acpi_each(const struct jm_meter_env *env, jm_hwmon_fn fn, void *self, struct jm_err *err)
{
    struct seen s = {.fn = fn, .self = self};
    char dir[JM_SYSFS_PATH];
    struct jm_names names;
    int rc = jm_hwmon_each(env, one, &s, err);
    if (rc || !jm_sysfs_path(dir, env->sysfs_root, "/sys", "bus/acpi/drivers/power_meter") ||
        jm_sysfs_dir(dir, "ACPI", &names))
        return rc;
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        struct jm_hwmon h = {.name = "power_meter"};
        if (!jm_sysfs_path(h.dir, dir, "", "%s", names.v[i]))
            continue;
        snprintf(h.files, sizeof h.files, "%s", h.dir);
        snprintf(h.device, sizeof h.device, "%.95s", names.v[i]);
        if (jm_hwmon_has(&h, "power1_average") && !already(&s, h.device))
            rc = fn(self, &h, err);
    }
    jm_names_release(&names);
    return rc;
}

int jm_acpi_channel(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const char *label, int domain,
                    struct jm_err *err)
{
    struct jm_channel *c;
    struct jm_fsrc *s;
    int64_t ms = 0;
    int rc = jm_hwmon_channel(w->m, h, "power", label, "power1_average", NULL, &c, &s, err);
    if (rc)
        return rc;
    snprintf(c->device, sizeof c->device, "%.40s %.50s", h->device, label);
    s->invalid = NO_VALUE;
    s->positive = true;
    c->domain = domain;
    bool known = jm_hwmon_i64(h, "power1_average_interval", &ms) == 0 && ms > 0 && ms < 3600000;
    c->sem = known ? JM_G_BLOCK_MEAN : JM_G_TRAILING_MEAN;
    c->window_ns = c->period_ns = known ? ms * JM_NS_PER_MS : 0;
    return 0;
}
