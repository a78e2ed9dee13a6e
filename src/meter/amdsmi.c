/* SPDX-License-Identifier: Apache-2.0 */
/* AMD GPUs by AMD SMI, or ROCm SMI where that is not there. It reads only. */
#include "meter/amdsmi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/registry.h"
#include "base/banned.h"

#define SANE_W 5000.0

static const struct jm_accel_row rows[] = {
    {JM_AMDSMI_W_ENERGY, JM_CH_COUNTER, JM_U_J, 0, -16, 0, true, "energy", "get_energy_count"},
    {JM_AMDSMI_W_CURRENT, JM_CH_GAUGE, JM_U_W, 0, 0, 0, true, "power.current", "current_socket_power"},
    {JM_AMDSMI_W_AVERAGE, JM_CH_GAUGE, JM_U_W, 0, 0, 0, true, "power.average", "average_socket_power"},
    {JM_AMDSMI_W_SOCKET, JM_CH_GAUGE, JM_U_W, 0, 0, 0, true, "power", "socket_power"},
    {JM_AMDSMI_W_CAP, JM_CH_GAUGE, JM_U_W, -3, 0, JM_NS_PER_S, false, "power.limit", "power_cap"},
};

static size_t readable(struct jm_amdsmi *s, enum jm_status *why)
{
    size_t n = 0;
    *why = JM_S_ABSENT;
    for (size_t i = 0; i < s->n; i++) {
        bool any = false;
        s->gpu[i].resolution = -1;
        for (int w = JM_AMDSMI_W_ENERGY; w <= JM_AMDSMI_W_SOCKET && !s->gpu[i].repeat; w++) {
            int64_t v = 0;
            enum jm_status st = jm_amdsmi_get(s, i, w, &v);
            any = any || (st == JM_S_OK && v > 0);
            if (st != JM_S_OK)
                *why = st;
        }
        n += any;
    }
    return n;
}

static void judge(struct jm_amdsmi *s, struct jm_probe *out)
{
    enum jm_status why;
    size_t ok = readable(s, &why);
    const char *name = s->api.rsmi ? "ROCm SMI" : "AMD SMI";
    if (ok)
        jm_probe_set(out, JM_PROBE_OK, "", "%zu of %zu GPUs, %s %s%s", ok, s->n, name,
                     s->version[0] ? s->version : "of unknown version",
                     s->api.lib.simulated ? ", SIMULATED" : "");
    else if (s->n == 0)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "%s starts, but it finds no AMD GPU", s->api.lib.file);
    else if (why == JM_S_DENIED)
        jm_probe_set(out, JM_PROBE_DENIED, "sudo usermod -aG render,video $USER",
                     "%s starts, but none of its %zu GPUs may be read", s->api.lib.file, s->n);
    else
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "",
                     "%s starts, but no GPU (%s) answers an energy or power query: %s", s->api.lib.file,
                     s->gpu[0].name, jm_status_name(why));
}

static int amdsmi_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct jm_amdsmi s;
    struct jm_probe sysfs = {0};
    *out = (struct jm_probe){.state = JM_PROBE_UNSUPPORTED};
    if (jm_amdsmi_open(env, &s, out, NULL))
        return 0;
    judge(&s, out);
    jm_amdsmi_close(&s);
    if (out->state == JM_PROBE_OK && jm_meter_amdgpu.probe(env, &sysfs) == 0 && sysfs.state == JM_PROBE_OK)
        jm_probe_set(out, JM_PROBE_OFF, "",
                     "the meter amdgpu reads the same values without the library; opened only by name");
    return 0;
}

static int fact(struct jm_meter *m, struct jm_err *err, size_t i, const char *what, const char *text)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.amd%zu.%s", i, what);
    return jm_meter_add_fact(m, err, key, "%s", text);
}

static int left_out(struct jm_meter *m, struct jm_err *err, size_t i, const char *why)
{
    char key[64];
    snprintf(key, sizeof key, "amdsmi.left_out.%zu", i);
    return jm_meter_add_fact(m, err, key, "%s", why);
}

/* One channel of a board: what its value means, and that of a counter without a sure unit that it is no
 * addend. */
static void describe(struct jm_amdsmi *s, size_t i, const struct jm_accel_row *row, double sane_w,
                     struct jm_channel *c)
{
    const struct jm_amdsmi_gpu *g = &s->gpu[i];
    snprintf(c->scope, sizeof c->scope, "board");
    snprintf(c->source, sizeof c->source, "%s %s", s->api.rsmi ? "ROCm SMI" : "AMD SMI", row->source);
    if (row->edge)
        c->sane_max = sane_w;
    if (row->kind == JM_CH_GAUGE)
        c->sem = row->what == JM_AMDSMI_W_CURRENT ? JM_G_INSTANT : JM_G_TRAILING_MEAN;
    if (row->what != JM_AMDSMI_W_ENERGY)
        return;
    if (g->resolution > 0) {
        c->scale10 = -6;
        c->scale2 = 0;
    } else if (!g->joules) {
        size_t n = strlen(c->source);
        snprintf(c->source + n, sizeof c->source - n, " (unit unsure)");
        c->modulus = (uint64_t)1 << 32;
        c->flags |= JM_CHF_MIRROR;
    }
}

static int add_gpu(struct jm_meter *m, struct jm_amdsmi *s, size_t i, struct jm_domain_tree *tree, int node,
                   struct jm_err *err)
{
    struct jm_amdsmi_gpu *g = &s->gpu[i];
    double max_w = jm_amdsmi_max_w(s, i), sane_w = max_w > 0 && 2 * max_w < SANE_W ? 2 * max_w : SANE_W;
    char label[64];
    int n = 0, rc = fact(m, err, i, "name", g->name), domain = -1;
    g->resolution = -1;
    rc = rc ? rc : fact(m, err, i, "uuid", g->uuid);
    rc = rc ? rc : fact(m, err, i, "pci", g->bdf);
    if (rc == 0 && g->repeat)
        return left_out(m, err, i, "a partition of a board that is counted already");
    snprintf(label, sizeof label, "GPU amd%zu", i);
    for (size_t k = 0; rc == 0 && k < sizeof rows / sizeof *rows; k++) {
        struct jm_channel *c;
        enum jm_status why;
        if (!rows[k].edge && n == 0)
            continue;
        if (domain < 0) { /* only once it is known that there is something to put there */
            int64_t v = 0;
            if (jm_amdsmi_get(s, i, rows[k].what, &v) != JM_S_OK || v == 0)
                continue;
            domain = rc = jm_accel_domain(tree, node, g->bdf[0] ? g->bdf : g->uuid, label, err);
            rc = rc < 0 ? rc : 0;
        }
        if (rc == 0)
            rc = jm_accel_add(m, i, &rows[k], g->uuid, domain, &c, &why, err);
        if (rc == 0 && c) {
            describe(s, i, &rows[k], sane_w, c);
            n++;
            if (c->modulus)
                m->max_period_ns = 60 * JM_NS_PER_S; /* 65,536 J take 131 s at 500 W */
        }
    }
    return rc == 0 && n == 0
               ? left_out(m, err, i, "no power and no energy of its own, as the second die of a package")
               : rc;
}

static void done(void *vendor)
{
    jm_amdsmi_close(vendor);
    free(vendor);
}

static int amdsmi_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                       struct jm_err *err)
{
    struct jm_probe p;
    struct jm_amdsmi *s = calloc(1, sizeof *s);
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter amdsmi");
    int rc = jm_amdsmi_open(env, s, NULL, err);
    if (rc) {
        free(s);
        return rc;
    }
    judge(s, &p);
    struct jm_meter *m = jm_accel_new(&jm_meter_amdsmi, s, jm_amdsmi_get, done, s->n, err);
    if (!m)
        return JM_ENOMEM;
    m->simulated = s->api.lib.simulated;
    snprintf(m->instance, sizeof m->instance, "%.95s", s->api.lib.file);
    int node = jm_meter_host(env, tree, err);
    rc = node < 0 ? node : 0;
    if (rc == 0 && p.state != JM_PROBE_OK)
        rc = jm_err_set(err, p.state == JM_PROBE_DENIED ? JM_EDENIED : JM_EABSENT, "amdsmi: %s", p.reason);
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = add_gpu(m, s, i, tree, node, err);
    if (rc == 0)
        rc = jm_meter_add_fact(m, err, "amdsmi.library", "%s %s", s->api.rsmi ? "ROCm SMI" : "AMD SMI",
                               s->version[0] ? s->version : "of unknown version");
    if (rc == 0 && !s->api.rsmi && s->layout == JM_AMDSMI_UNKNOWN)
        rc = jm_meter_add_fact(m, err, "amdsmi.power",
                               "not read: the form of power_info changes with the library, and that of this "
                               "version is not known");
    if (rc) {
        jm_accel_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

const struct jm_meter_ops jm_meter_amdsmi = {
    .version = JM_METER_OPS_VERSION,
    .name = "amdsmi",
    .summary = "AMD GPUs by AMD SMI or ROCm SMI, where their sysfs files cannot be read",
    .boundary = "gpu",
    .needs = "any user that may open /dev/kfd and /dev/dri/renderD*; libamd_smi.so or librocm_smi64.so",
    .traps =
        "It reads the files that the meter amdgpu reads: where those can be read, it is opened only by name, "
        "and "
        "its channels lie in the same domain (by PCI address), so that a board counts once.\n"
        "The libraries say 15.3 uJ a count where the firmware counts 2^-16 J (15.2588 uJ): 0.27 % too much; "
        "as an "
        "integer, 15 uJ, 1.7 % too little. 2^-16 J is used.\n"
        "power_info changed its form in ROCm 6.0 and 6.4 and has no version: the version of the library "
        "decides, "
        "and bytes that do not fit are no power. Current is of MI300 and later, average of those before; "
        "65535 "
        "and 4294967295 are no value.\n"
        "The second die of an MI250 shows neither; partitions of a board (XCP) repeat it: counted once.\n"
        "The counter of Radeon parts and MI100 has 32 bits and no sure unit: shown, never added.\n"
        "Caps are uW on bare metal and W on a virtualisation host.\n"
        "ROCm SMI keeps a lock in /dev/shm/rocm_smi*; one that a killed process has left makes it wait 5 s "
        "and "
        "say busy.",
    .probe = amdsmi_probe,
    .open = amdsmi_open,
    .read = jm_accel_read,
    .close = jm_accel_close,
};
