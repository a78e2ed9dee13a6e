/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL through the powercap files (Linux Documentation/power/powercap). What their users got wrong, and what
 * is done here:
 *
 *   names repeat, package numbers are physical ids (15, 36, 2364)    a zone is known by its path, read by its
 * name intel-rapl-mmio shows the package a second time                  mirror: same domain, never added psys
 * contains packages; core and uncore lie inside a package     part-of flag, below the package in the tree
 *   dram lies beside the package on servers                          a sibling of the package
 *   dies of one package can all show the package's counter           found by reading A, B, A; mirror
 *   each zone wraps at its own range; the range may be unreadable     own modulus, or none (no wrap undone)
 *   energy_uj is 0400 since CVE-2020-8694                            denied, said once, with the command
 *   a counter that stays 0 (virtual machine)                         absent, not zero
 *   `core` on AMD is one core's register                             left out */
#include "meter/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/fmeter.h"
#include "base/banned.h"

#define ZERO_WAIT_NS                                                                                         \
    (20 * JM_NS_PER_MS)    /* a package that draws 1 W counts 20 mJ in this time, 300 quanta                 \
                            */
#define DIE_SLACK_UJ 50000 /* one refresh (1 ms) at 50 W between two reads of one register */
#define MEND         "sudo setcap cap_dac_read_search+ep \"$(command -v joulemark)\""

struct zone {
    char id[64];   /* "intel-rapl:0:1" */
    char name[64]; /* "dram" */
    char path[JM_SYSFS_PATH];
    enum jm_domain_kind kind;
    int parent;            /* index, -1: top */
    int mirror;            /* index of the zone that it repeats, -1: none */
    int rc;                /* 0, or -errno of energy_uj */
    const char *left_out;  /* NULL, or why it is not used */
    int64_t energy, range; /* range 0: not readable */
    int domain;
};

struct cpu {
    bool known, amd, x86, guest;
};

struct zones {
    struct zone *v;
    size_t n;
    char root[JM_SYSFS_PATH];
    int dir_rc;
    struct cpu cpu;
};

static enum jm_domain_kind kind_of(const char *name)
{
    if (strncmp(name, "package", 7) == 0)
        return JM_D_PACKAGE;
    if (strcmp(name, "dram") == 0)
        return JM_D_DRAM;
    if (strcmp(name, "core") == 0)
        return JM_D_CORE;
    if (strcmp(name, "uncore") == 0)
        return JM_D_UNCORE;
    if (strcmp(name, "psys") == 0)
        return JM_D_PSYS;
    return JM_D_RAIL;
}

static bool is_mmio(const struct zone *z)
{
    return strncmp(z->id, "intel-rapl-mmio", 15) == 0;
}

static bool same_type(const struct zone *a, const struct zone *b)
{
    return is_mmio(a) == is_mmio(b);
}

static int find_parent(const struct zones *s, const char *id)
{
    const char *last = strrchr(id, ':');
    for (size_t i = 0; last && i < s->n; i++)
        if (strlen(s->v[i].id) == (size_t)(last - id) && strncmp(s->v[i].id, id, (size_t)(last - id)) == 0)
            return (int)i;
    return -1;
}

static const char *parent_name(const struct zones *s, const struct zone *z)
{
    return z->parent >= 0 ? s->v[z->parent].name : "";
}

/* The zone of the other interface (MSR) that an mmio zone repeats. */
static int mmio_original(const struct zones *s, const struct zone *z)
{
    for (size_t i = 0; i < s->n; i++)
        if (!is_mmio(&s->v[i]) && strcmp(s->v[i].name, z->name) == 0 &&
            strcmp(parent_name(s, &s->v[i]), parent_name(s, z)) == 0)
            return (int)i;
    return -1;
}

static int energy_of(const struct zone *z, int64_t *out)
{
    char path[JM_SYSFS_PATH];
    return jm_sysfs_path(path, z->path, "", "energy_uj") ? jm_sysfs_i64(path, out) : -ENAMETOOLONG;
}

/* One register read as A, B, A lies between its two readings of A; two registers lie there by chance once in
 * range / slack = 5 million. Twice in a row, with the zone's own wrap. */
static bool same_register(const struct zone *a, const struct zone *b, const struct jm_clock *clock)
{
    for (int round = 0; round < 2; round++) {
        int64_t a1, a2, x;
        if (energy_of(a, &a1) || energy_of(b, &x) || energy_of(a, &a2) || (a1 == 0 && x == 0))
            return false;
        uint64_t m = a->range > 0 ? (uint64_t)a->range : UINT64_MAX;
        uint64_t up = a2 >= a1 ? (uint64_t)(a2 - a1) : (uint64_t)(a2 - a1) + m;
        uint64_t at = x >= a1 ? (uint64_t)(x - a1) : (uint64_t)(x - a1) + m;
        if (at > up + DIE_SLACK_UJ)
            return false;
        if (round == 0)
            jm_clock_sleep_until(clock, jm_clock_mono(clock) + 3 * JM_NS_PER_MS, NULL);
    }
    return true;
}

static void mark_mirrors(struct zones *s, const struct jm_clock *clock)
{
    for (size_t i = 0; i < s->n; i++) {
        struct zone *z = &s->v[i];
        if (is_mmio(z))
            z->mirror = mmio_original(s, z);
        for (size_t k = 0; k < i && z->mirror < 0; k++) {
            const struct zone *o = &s->v[k];
            if (z->kind == JM_D_PACKAGE && o->kind == JM_D_PACKAGE && o->mirror < 0 && same_type(z, o) &&
                z->rc == 0 && o->rc == 0 && !z->left_out && !o->left_out && same_register(o, z, clock))
                z->mirror = (int)k;
        }
    }
}

/* A counter of a part that is always powered and stays at 0 is not wired (virtual machines, client DRAM). A
 * GPU or a core that is powered off may truly stand still. */
static void drop_zeros(struct zones *s, const struct jm_clock *clock)
{
    bool waited = false;
    for (size_t i = 0; i < s->n; i++) {
        struct zone *z = &s->v[i];
        if (z->rc || z->energy != 0 || z->left_out || z->kind == JM_D_CORE || z->kind == JM_D_UNCORE)
            continue;
        if (!waited)
            jm_clock_sleep_until(clock, jm_clock_mono(clock) + ZERO_WAIT_NS, NULL);
        waited = true;
        if (energy_of(z, &z->energy) == 0 && z->energy == 0)
            z->left_out = "stays at 0, as in virtual machines: not a measurement";
    }
}

/* Vendor and the flag "hypervisor" of the first processor. */
static struct cpu cpu_of(const struct jm_meter_env *env)
{
    char path[JM_SYSFS_PATH], text[8192];
    struct cpu c = {0};
    struct jm_span rest = {text, 0}, line;
    FILE *f = jm_sysfs_path(path, env->proc_root, "/proc", "cpuinfo") ? fopen(path, "re") : NULL;
    if (!f)
        return c;
    rest.n = fread(text, 1, sizeof text, f);
    fclose(f);
    while (jm_span_line(&rest, &line)) {
        if (jm_span_starts(line, JM_SPAN("vendor_id"))) {
            c.known = true;
            c.amd = jm_span_find(line, JM_SPAN("AMD")) >= 0 || jm_span_find(line, JM_SPAN("Hygon")) >= 0;
            c.x86 = c.amd || jm_span_find(line, JM_SPAN("Intel")) >= 0;
        } else if (jm_span_starts(line, JM_SPAN("flags"))) {
            c.guest = jm_span_find(line, JM_SPAN(" hypervisor")) >= 0;
            break;
        }
    }
    return c;
}

static int scan(const struct jm_meter_env *env, struct zones *s, struct jm_err *err)
{
    struct jm_names names;
    *s = (struct zones){0};
    if (!jm_sysfs_path(s->root, env->sysfs_root, "/sys", "class/powercap"))
        return jm_err_set(err, JM_EINVAL, "the sysfs root \"%s\" is too long", env->sysfs_root);
    s->dir_rc = jm_sysfs_dir(s->root, "intel-rapl", &names);
    s->cpu = cpu_of(env);
    if (s->dir_rc)
        return 0;
    s->v = calloc(names.n + 1, sizeof *s->v);
    if (!s->v) {
        jm_names_release(&names);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the powercap zones below %s", s->root);
    }
    for (size_t i = 0; i < names.n; i++) {
        struct zone *z = &s->v[s->n];
        char path[JM_SYSFS_PATH];
        *z = (struct zone){.parent = -1, .mirror = -1, .domain = -1};
        if (!strchr(names.v[i], ':') || strlen(names.v[i]) >= sizeof z->id ||
            !jm_sysfs_path(z->path, s->root, "", "%s", names.v[i]) ||
            !jm_sysfs_path(path, z->path, "", "name") || jm_sysfs_text(path, z->name, sizeof z->name) <= 0)
            continue;
        snprintf(z->id, sizeof z->id, "%s", names.v[i]);
        z->kind = kind_of(z->name);
        z->rc = energy_of(z, &z->energy);
        if (!jm_sysfs_path(path, z->path, "", "max_energy_range_uj") || jm_sysfs_i64(path, &z->range) ||
            z->range < 0)
            z->range = 0;
        if (s->cpu.amd && z->kind == JM_D_CORE)
            z->left_out = "on AMD the zone \"core\" is one core's register, not that of all cores";
        s->n++;
    }
    jm_names_release(&names);
    for (size_t i = 0; i < s->n; i++)
        s->v[i].parent = find_parent(s, s->v[i].id);
    struct jm_clock clock = jm_meter_clock(env);
    drop_zeros(s, &clock);
    mark_mirrors(s, &clock);
    return 0;
}

static bool usable(const struct zone *z)
{
    return z->rc == 0 && !z->left_out;
}

static void judge(const struct zones *s, struct jm_probe *out)
{
    size_t ok = 0, denied = 0, zero = 0;
    char why[128];
    for (size_t i = 0; i < s->n; i++) {
        ok += usable(&s->v[i]);
        denied += s->v[i].rc == -EACCES || s->v[i].rc == -EPERM;
        zero += s->v[i].left_out != NULL;
    }
    if (ok)
        jm_probe_set(out, JM_PROBE_OK, denied ? MEND : "", "%zu of %zu zones below %s can be read", ok, s->n,
                     s->root);
    else if (s->dir_rc && s->dir_rc != -ENOENT)
        jm_probe_set(out, JM_PROBE_DENIED, "", "%s: %s", s->root, jm_sysfs_why(s->dir_rc, why));
    else if (s->n == 0 && s->cpu.x86 && !s->cpu.guest)
        jm_probe_set(out, JM_PROBE_ABSENT, "sudo modprobe intel_rapl_msr",
                     "no RAPL zone below %s: the kernel module is not loaded", s->root);
    else if (s->n == 0)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "no RAPL zone below %s: %s", s->root,
                     s->cpu.guest ? "a virtual machine, whose host hides it" : "no processor that has RAPL");
    else if (denied)
        jm_probe_set(
            out, JM_PROBE_DENIED, MEND,
            "%zu zones below %s, but only root may read energy_uj (kernels since CVE-2020-8694); the "
            "meter perf may be open instead",
            s->n, s->root);
    else if (zero)
        jm_probe_set(out, JM_PROBE_ABSENT, "",
                     "%zu zones below %s, all of which stay at 0: a virtual machine", s->n, s->root);
    else
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "", "%zu zones below %s, but energy_uj cannot be read: %s",
                     s->n, s->root, jm_sysfs_why(s->v[0].rc, why));
}

static int rapl_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct zones s;
    struct jm_err err = {0};
    int rc = scan(env, &s, &err);
    if (rc)
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "", "%s", err.text);
    else
        judge(&s, out);
    free(s.v);
    return 0;
}

/* Domain of zone i, made with those that contain it. A package that only its name tells apart from another
 * one of the same name is told apart by its path. */
static int domain_of(struct zones *s, size_t i, int node, int psys, struct jm_domain_tree *tree,
                     struct jm_err *err)
{
    struct zone *z = &s->v[i];
    char key[96], label[96];
    if (z->domain >= 0)
        return z->domain;
    if (z->mirror >= 0)
        return z->domain = domain_of(s, (size_t)z->mirror, node, psys, tree, err);
    int above = node;
    snprintf(key, sizeof key, "%s", z->name);
    for (size_t k = 0; k < s->n; k++)
        if (k != i && s->v[k].parent < 0 && z->parent < 0 && same_type(z, &s->v[k]) &&
            strcmp(s->v[k].name, z->name) == 0)
            snprintf(key, sizeof key, "%s@%s", z->name, z->id);
    snprintf(label, sizeof label, "%s", z->name);
    if (z->kind == JM_D_PACKAGE && psys >= 0)
        above = psys;
    if (z->parent >= 0) {
        int up = domain_of(s, (size_t)z->parent, node, psys, tree, err);
        if (up < 0)
            return up;
        if (z->kind != JM_D_DRAM)
            above = up;
        snprintf(key, sizeof key, "%s/%s", tree->d[up].key, z->name);
        snprintf(label, sizeof label, "%s of %s", z->name, tree->d[up].label);
    }
    return z->domain = jm_domain_add(tree, above, z->kind, key, label, err);
}

static int add_zone(struct jm_meter *m, struct zones *s, size_t i, int node, int psys,
                    struct jm_domain_tree *tree, struct jm_err *err)
{
    const struct zone *z = &s->v[i];
    char path[JM_SYSFS_PATH];
    struct jm_channel *c;
    struct jm_fsrc *src;
    if (!jm_sysfs_path(path, z->path, "", "energy_uj"))
        return jm_err_set(err, JM_EINVAL, "the path of the zone %s is too long", z->id);
    int domain = domain_of(s, i, node, psys, tree, err);
    int rc = domain < 0 ? domain : jm_fmeter_add(m, path, NULL, NULL, &c, &src, err);
    if (rc)
        return rc;
    snprintf(c->name, sizeof c->name, "energy");
    snprintf(c->device, sizeof c->device, "%s", z->id);
    snprintf(c->source, sizeof c->source, "powercap energy_uj of %.32s", z->name);
    c->kind = JM_CH_COUNTER;
    c->unit = JM_U_J;
    c->scale10 = -6;
    c->modulus = (uint64_t)z->range;
    c->period_ns = JM_NS_PER_MS; /* Intel SDM: updated about every millisecond */
    c->sane_max = z->kind == JM_D_PSYS ? 20000 : 3000;
    c->domain = domain;
    c->flags =
        JM_CHF_EDGE | (z->mirror >= 0 ? JM_CHF_MIRROR : 0) | (z->kind == JM_D_PSYS ? JM_CHF_PARTOF : 0);
    /* a quarter of the wrap time at 1 kW (1 uJ is 1 ns at 1 kW), the smallest range deciding */
    if (z->range > 0 && (m->max_period_ns == 0 || z->range / 4 < m->max_period_ns))
        m->max_period_ns = z->range / 4;
    return 0;
}

static int fill(struct jm_meter *m, struct zones *s, const struct jm_meter_env *env,
                struct jm_domain_tree *tree, struct jm_err *err)
{
    int psys = -1, node = jm_meter_host(env, tree, err);
    char key[64], why[128];
    int rc = node < 0 ? node : 0;
    for (size_t i = 0; i < s->n && rc == 0; i++)
        if (usable(&s->v[i]) && s->v[i].kind == JM_D_PSYS && psys < 0)
            rc = (psys = domain_of(s, i, node, -1, tree, err)) < 0 ? psys : 0;
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        const struct zone *z = &s->v[i];
        if (usable(z)) {
            rc = add_zone(m, s, i, node, psys, tree, err);
        } else {
            snprintf(key, sizeof key, "rapl.left_out.%.40s", z->id);
            rc = jm_meter_add_fact(m, err, key, "%s: %s", z->name,
                                   z->left_out ? z->left_out : jm_sysfs_why(z->rc, why));
        }
        if (rc == 0 && usable(z) && z->range == 0) {
            snprintf(key, sizeof key, "rapl.range.%.40s", z->id);
            rc = jm_meter_add_fact(m, err, key, "%s: max_energy_range_uj cannot be read: a wrap is a gap",
                                   z->name);
        }
    }
    return rc;
}

static int rapl_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    struct zones s;
    struct jm_probe p;
    int rc = scan(env, &s, err);
    if (rc)
        return rc;
    judge(&s, &p);
    if (p.state != JM_PROBE_OK) {
        free(s.v);
        return jm_err_set(err, p.state == JM_PROBE_DENIED ? JM_EDENIED : JM_EABSENT, "rapl: %s", p.reason);
    }
    struct jm_meter *m = jm_fmeter_alloc(&jm_meter_rapl, err);
    rc = m ? fill(m, &s, env, tree, err) : JM_ENOMEM;
    if (m)
        snprintf(m->instance, sizeof m->instance, "%.95s", s.root);
    free(s.v);
    if (rc) {
        jm_fmeter_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

const struct jm_meter_ops jm_meter_rapl = {
    .version = JM_METER_OPS_VERSION,
    .name = "rapl",
    .summary = "processor packages and their memory, by the powercap files",
    .boundary = "device",
    .needs = "root, CAP_DAC_READ_SEARCH or a changed file mode: energy_uj is 0400 since CVE-2020-8694",
    .traps =
        "dram lies beside the package on servers, core and uncore inside it; psys contains packages and is "
        "never added.\n"
        "intel-rapl-mmio shows a package a second time, and the dies of one AMD package can show one "
        "counter: mirrors, found by "
        "name and by reading A, B, A.\n"
        "Each zone wraps at its own max_energy_range_uj (65.7 kJ in 234 s at 280 W); where that cannot be "
        "read, a fall is a gap.\n"
        "In a container the folder /sys/devices/virtual/powercap is needed too, and a capability that is "
        "only in the bounding set "
        "does nothing for a user other than root.\n"
        "A counter that stays 0 belongs to a virtual machine and is absent.\n"
        "On AMD the zone core is the register of one core and is left out.\n"
        "With SGX or energy filtering on, single reads are randomised: windows below 100 ms mean nothing.",
    .probe = rapl_probe,
    .open = rapl_open,
    .read = jm_fmeter_read,
    .close = jm_fmeter_close,
};
