/* SPDX-License-Identifier: Apache-2.0 */
/* Intel GPUs by Level Zero's Sysman: energy counters of card, package, tiles and memory. It reads only. */
#include "meter/level_zero.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/registry.h"
#include "base/banned.h"

#define SANE_W      3000.0
#define LONGEST_GAP (60 * JM_NS_PER_S)

static const char *const kind_names[] = {"unknown", "card", "package", "stack", "memory", "gpu"};

/* "package", "stack-1" */
static void part_of(const struct jm_ze_counter *c, char out[32])
{
    if (c->tile)
        snprintf(out, 32, "%s-%u", kind_names[c->kind], c->subdevice);
    else
        snprintf(out, 32, "%s", kind_names[c->kind]);
}

static size_t readable(struct jm_level_zero *s, enum jm_status *why)
{
    bool has[JM_ZE_MAX_DEVICES] = {false};
    size_t n = 0;
    *why = s->ret ? jm_ze_status(s->ret) : JM_S_ABSENT;
    for (size_t i = 0; i < s->n_counter; i++) {
        int64_t v = 0;
        enum jm_status st = jm_ze_get(s, s->counter[i].device, (int)i, &v);
        if (st == JM_S_OK && v > 0)
            has[s->counter[i].device] = true;
        else if (st != JM_S_OK)
            *why = st;
    }
    for (size_t i = 0; i < s->n; i++)
        n += has[i];
    return n;
}

static void judge(struct jm_level_zero *s, struct jm_probe *out)
{
    enum jm_status why;
    size_t ok = readable(s, &why);
    const char *file = s->api.lib.file;
    if (ok)
        jm_probe_set(out, JM_PROBE_OK, "", "%zu of %zu GPUs, %zu counters%s", ok, s->n, s->n_counter,
                     s->api.lib.simulated ? ", SIMULATED" : "");
    else if (s->n == 0)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "%.100s starts, but it finds no GPU", file);
    else if (why == JM_S_DENIED)
        jm_probe_set(out, JM_PROBE_DENIED, "sudo joulemark meters -m level-zero",
                     "%.100s starts, but the energy counters of its %zu GPUs may not be read", file, s->n);
    else if (s->old)
        jm_probe_set(
            out, JM_PROBE_UNSUPPORTED, "export ZES_ENABLE_SYSMAN=1",
            "%.100s is older than 1.9: it shows power only where ZES_ENABLE_SYSMAN=1 is set before it starts",
            file);
    else
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "",
                     "%.100s starts, but no GPU (%.60s) has an energy counter: %s", file, s->gpu[0].name,
                     jm_status_name(why));
}

static int level_zero_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct jm_probe sysfs = {0};
    struct jm_level_zero *s = malloc(sizeof *s);
    *out = (struct jm_probe){.state = JM_PROBE_UNSUPPORTED};
    if (!s) {
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "", "out of memory");
        return 0;
    }
    if (jm_ze_open(env, s, out, NULL) == 0) {
        judge(s, out);
        jm_ze_close(s);
    }
    free(s);
    if (out->state == JM_PROBE_OK && jm_meter_intel_gpu.probe(env, &sysfs) == 0 && sysfs.state == JM_PROBE_OK)
        jm_probe_set(out, JM_PROBE_OFF, "",
                     "the meter intel-gpu reads the same counters without the library; opened only by name");
    return 0;
}

/* The card contains the package, the package its tiles and memory; without a card the package stands for the
 * GPU. Whatever lies inside another is no addend there: the tree keeps it from counting twice. */
static int place(const struct jm_level_zero *s, const struct jm_ze_counter *c, int gpu,
                 struct jm_domain_tree *tree, struct jm_err *err)
{
    char key[96], part[32];
    bool card = false, package = false;
    for (size_t i = 0; i < s->n_counter; i++) {
        card = card || (s->counter[i].device == c->device && s->counter[i].kind == JM_ZE_CARD);
        package = package || (s->counter[i].device == c->device && s->counter[i].kind == JM_ZE_PACKAGE);
    }
    const char *bdf = tree->d[gpu].key;
    if (c->kind == JM_ZE_CARD || (c->kind == JM_ZE_PACKAGE && !card && !c->tile))
        return gpu;
    int up = gpu;
    if (card && package && !(c->kind == JM_ZE_PACKAGE && !c->tile)) {
        snprintf(key, sizeof key, "%.80s/pkg", bdf);
        up = jm_domain_add(tree, gpu, JM_D_RAIL, key, "pkg", err);
    }
    if (up < 0)
        return up;
    if (c->kind == JM_ZE_PACKAGE && !c->tile) {
        snprintf(key, sizeof key, "%.80s/pkg", bdf); /* as hwmon calls it */
        return jm_domain_add(tree, gpu, JM_D_RAIL, key, "pkg", err);
    }
    part_of(c, part);
    snprintf(key, sizeof key, "%.60s/%s", bdf, part);
    return jm_domain_add(tree, up, c->kind == JM_ZE_MEMORY ? JM_D_HBM : JM_D_RAIL, key, part, err);
}

static int fact(struct jm_meter *m, struct jm_err *err, size_t i, const char *what, const char *text)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.intel%zu.%s", i, what);
    return text[0] ? jm_meter_add_fact(m, err, key, "%s", text) : 0;
}

static int add_counter(struct jm_meter *m, struct jm_level_zero *s, size_t k, int gpu, unsigned flags,
                       struct jm_domain_tree *tree, size_t *n, struct jm_err *err)
{
    const struct jm_ze_counter *c = &s->counter[k];
    const struct jm_ze_gpu *g = &s->gpu[c->device];
    char device[96], source[64], part[32];
    enum jm_status why;
    struct jm_channel *ch;
    part_of(c, part);
    if (c->tile || c->kind != JM_ZE_CARD)
        snprintf(device, sizeof device, "%.60s/%s", g->uuid, part);
    else
        snprintf(device, sizeof device, "%s", g->uuid);
    snprintf(source, sizeof source, "Level Zero zesPowerGetEnergyCounter %s", kind_names[c->kind]);
    struct jm_accel_row row = {(int)k, JM_CH_COUNTER, JM_U_J, -6, 0, 0, true, "energy", source};
    int domain = place(s, c, gpu, tree, err);
    int rc = domain < 0 ? domain : jm_accel_add(m, c->device, &row, device, domain, &ch, &why, err);
    if (rc || !ch)
        return rc;
    ++*n;
    ch->sane_max = g->limit_max > 0 && 2e-3 * g->limit_max < SANE_W ? 2e-3 * g->limit_max : SANE_W;
    ch->flags |= flags | (c->repeat ? JM_CHF_MIRROR : 0);
    snprintf(ch->scope, sizeof ch->scope, "%s", c->tile ? "tile" : kind_names[c->kind]);
    if (domain != gpu || c->repeat)
        return 0;
    row = (struct jm_accel_row){
        (int)k + JM_ZE_LIMIT,          JM_CH_GAUGE, JM_U_W, -3, 0, JM_NS_PER_S, false, "power.limit",
        "Level Zero zesPowerGetLimits"};
    return jm_accel_add(m, c->device, &row, device, domain, &ch, &why, err);
}

static int add_gpu(struct jm_meter *m, struct jm_level_zero *s, size_t i, struct jm_domain_tree *tree,
                   int node, struct jm_err *err)
{
    struct jm_ze_gpu *g = &s->gpu[i];
    char key[64], label[64];
    size_t n = 0;
    bool any = false;
    int rc = fact(m, err, i, "name", g->name);
    rc = rc ? rc : fact(m, err, i, "uuid", g->uuid);
    rc = rc ? rc : fact(m, err, i, "pci", g->bdf);
    for (size_t k = 0; k < s->n_counter; k++) {
        int64_t v;
        any = any || (s->counter[k].device == i && jm_ze_get(s, i, (int)k, &v) == JM_S_OK && v > 0);
    }
    snprintf(label, sizeof label, "GPU intel%zu", i);
    int gpu = rc || !any ? rc : jm_accel_domain(tree, node, g->bdf[0] ? g->bdf : g->uuid, label, err);
    rc = gpu < 0 ? gpu : rc;
    /* a GPU in the processor's package is in RAPL's package already */
    unsigned flags = g->integrated && jm_domain_next(tree, JM_D_PACKAGE, -1) >= 0 ? JM_CHF_MIRROR : 0;
    for (size_t k = 0; any && rc == 0 && k < s->n_counter; k++)
        if (s->counter[k].device == i)
            rc = add_counter(m, s, k, gpu, flags, tree, &n, err);
    snprintf(key, sizeof key, "level-zero.left_out.%zu", i);
    return rc || n ? rc
                   : jm_meter_add_fact(m, err, key, "%s",
                                       g->ret ? jm_ze_error(g->ret)
                                              : "no energy counter that can be read and has moved");
}

static void done(void *vendor)
{
    jm_ze_close(vendor);
    free(vendor);
}

static int level_zero_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                           struct jm_err *err)
{
    struct jm_probe p = {0};
    struct jm_level_zero *s = malloc(sizeof *s);
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter level-zero");
    int rc = jm_ze_open(env, s, &p, err);
    if (rc) {
        free(s);
        return rc;
    }
    judge(s, &p);
    struct jm_meter *m = jm_accel_new(&jm_meter_level_zero, s, jm_ze_get, done, s->n, err);
    if (!m)
        return JM_ENOMEM;
    m->simulated = s->api.lib.simulated;
    m->max_period_ns = LONGEST_GAP;
    snprintf(m->instance, sizeof m->instance, "%.95s", s->api.lib.file);
    int node = jm_meter_host(env, tree, err);
    rc = node < 0                 ? node
         : p.state != JM_PROBE_OK ? jm_err_set(err, p.state == JM_PROBE_DENIED ? JM_EDENIED : JM_EABSENT,
                                               "level-zero: %s", p.reason)
                                  : 0;
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = add_gpu(m, s, i, tree, node, err);
    if (rc) {
        jm_accel_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

const struct jm_meter_ops jm_meter_level_zero = {
    .version = JM_METER_OPS_VERSION,
    .name = "level-zero",
    .summary = "Intel GPUs by Level Zero, where their sysfs files cannot be read",
    .boundary = "gpu",
    .needs =
        "membership of the group render, for some counters root; libze_loader.so.1 and libze_intel_gpu.so.1",
    .traps =
        "It reads the counters that the meter intel-gpu reads: where those can be read, it is opened only by "
        "name, and "
        "its channels lie in the same domain (by PCI address).\n"
        "The card contains the package, the package its tiles and its memory: each joule counts once. "
        "Without a card "
        "the package stands for the GPU; a second handle of the same part is never added.\n"
        "A counter that falls is a reset: compute-runtime#938 fell from 22 MJ to 200 J, 3.69 TW by unsigned "
        "subtraction.\n"
        "Below it the driver may extend a register of 32 bits only when it is read: one read a minute at "
        "least.\n"
        "A loader before 1.9 (Debian 12's) has no zesInit: it shows power only where ZES_ENABLE_SYSMAN=1 is "
        "set.\n"
        "A GPU in the processor's package is in RAPL's package already: a mirror there.\n"
        "There is no gauge of power: power is the difference of the counter.",
    .probe = level_zero_probe,
    .open = level_zero_open,
    .read = jm_accel_read,
    .close = jm_accel_close,
};
