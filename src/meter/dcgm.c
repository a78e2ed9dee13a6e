/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's Data Center GPU Manager: what its host engine has read of the GPUs, NVSwitches and Grace CPUs. It
 * watches four fields of power and energy, and sets nothing. */
#include "meter/dcgm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/registry.h"
#include "base/banned.h"

#define TIMEOUT (3 * JM_NS_PER_S)

struct conf {
    const char *address, *library;
    int64_t update_ns;
};

static void dcgm_close(struct jm_meter *m)
{
    struct jm_dcgm *d = m ? m->priv : NULL;
    if (d) {
        jm_dcgm_link_close(&d->link);
        free(d->src);
        free(d);
    }
    jm_meter_dispose(m);
}

static int dcgm_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct jm_dcgm_link *l = calloc(1, sizeof *l);
    struct jm_err why = {0};
    struct jm_dcgm_api api;
    if (!l)
        return JM_ENOMEM;
    if (!env->dcgm) {
        int rc = jm_dcgm_load(&api, env->dcgm_lib, &why);
        if (rc)
            jm_probe_set(out, rc == JM_EABSENT ? JM_PROBE_ABSENT : JM_PROBE_UNSUPPORTED, "", "%.250s",
                         why.text);
        else
            jm_probe_set(out, JM_PROBE_OFF, "",
                         "%.100s is there; it asks NVML, whose meter shows the same joules: opened only by "
                         "name (-m dcgm) or with --dcgm ADDRESS",
                         api.lib.file);
        jm_dcgm_unload(&api);
        free(l);
        return 0;
    }
    *out = (struct jm_probe){.state = JM_PROBE_ABSENT};
    int rc = jm_dcgm_address_check(env->dcgm, &why);
    if (!rc)
        rc = jm_dcgm_link_open(l, env, env->dcgm_lib, env->dcgm, TIMEOUT, out, &why);
    if (rc && !out->reason[0])
        jm_probe_set(out, JM_PROBE_ABSENT, "", "%.250s", why.text);
    if (!rc) {
        jm_probe_set(out, JM_PROBE_OK, "", "DCGM %s at %.100s: %zu GPUs, driver %.40s%s",
                     l->version[0] ? l->version : "of unknown version", l->address, l->n_gpu,
                     l->driver[0] ? l->driver : "unknown", l->api.lib.simulated ? ", SIMULATED" : "");
        jm_dcgm_link_close(l);
    }
    free(l);
    return 0;
}

/* ---- channels */

struct builder {
    struct jm_meter *m;
    struct jm_dcgm *d;
    const struct jm_instrument *in;
    struct jm_domain_tree *tree;
    int node;
    size_t known; /* domains of other meters */
    size_t refused, denied;
    struct jm_err *err;
};

/* Is it worth a channel? What may come later is. */
static bool usable(struct builder *b, const struct jm_promdev_quantity *q, const struct jm_dcgm_value *v)
{
    int64_t native;
    enum jm_status st = jm_dcgm_number(v, q->kind.text10, q->kind.scale10, &native);
    double w = (double)native * 1e-3;
    b->denied += st == JM_S_DENIED;
    b->refused += st != JM_S_OK && st != JM_S_GAP;
    if (st == JM_S_GAP)
        return v->status != JM_DCGM_NOT_WATCHED;
    return st == JM_S_OK &&
           (q->kind.unit == JM_U_J || (w > 0 && w <= q->kind.sane_max)); /* 157: 0, garbage */
}

static int add(struct builder *b, size_t g, unsigned at, const struct jm_dcgm_part *p)
{
    struct jm_dcgm_link *l = &b->d->link;
    const struct jm_dcgm_value *v = &l->batch[g].value[at];
    struct jm_promdev_quantity q;
    bool shared, gpu = g == JM_DCGM_GPUS;
    if (!jm_promdev_field(l->batch[g].field[at % l->batch[g].n_f], jm_span_of(p->name), l->driver_major, &q))
        return 0;
    if (!(q.kind.sane_max > 0))
        q.kind.sane_max = 20e3;
    if (!usable(b, &q, v))
        return 0;
    snprintf(q.key, sizeof q.key, "%s%s", p->uuid,
             q.domain != JM_D_NVSWITCH ? ""
             : q.field == 705          ? " vdd"
             : q.field == 706          ? " dvdd"
                                       : " hvdd");
    int domain = jm_dcgm_place(b->tree, b->node, b->known, &q, p->ordinal, &shared, b->err);
    struct jm_channel *c = domain < 0 ? NULL : jm_meter_add_channel(b->m, b->err);
    if (!c)
        return domain < 0 ? domain : JM_ENOMEM;
    snprintf(c->name, sizeof c->name, "%s", q.kind.name);
    if (gpu)
        snprintf(c->device, sizeof c->device, "%s", p->uuid);
    else
        snprintf(c->device, sizeof c->device, "%s %.60s", q.domain == JM_D_NVSWITCH ? "nvswitch" : "grace",
                 q.key);
    snprintf(c->source, sizeof c->source, "%s", q.kind.source);
    snprintf(c->scope, sizeof c->scope, "%s", b->tree->d[domain].kind == JM_D_MODULE ? "module" : "gpu");
    if (!gpu)
        c->scope[0] = '\0';
    jm_dev_sampled(&q.kind, l->watch_ns);
    c->kind = q.kind.kind;
    c->unit = q.kind.unit;
    c->scale10 = c->kind == JM_CH_COUNTER ? -3 : q.kind.scale10;
    c->sem = q.kind.sem;
    c->window_ns = q.kind.window_ns;
    c->period_ns = q.kind.period_ns;
    c->sane_max = q.kind.sane_max;
    c->provenance = l->api.lib.simulated ? JM_P_SIMULATED : q.kind.provenance;
    c->flags = q.kind.flags | (shared ? JM_CHF_MIRROR : 0);
    if (q.field != JM_DCGM_FI_LIMIT)
        c->flags |= JM_CHF_EDGE;
    c->domain = domain;
    b->d->src[b->d->n_src++] = (struct jm_dcgm_src){.batch = (uint8_t)g,
                                                    .entity = (uint16_t)(at / l->batch[g].n_f),
                                                    .field = (uint16_t)(at % l->batch[g].n_f),
                                                    .text10 = q.kind.text10};
    return 0;
}

static const struct jm_dcgm_part *part_of(const struct jm_dcgm_link *l, const struct jm_dcgm_entity *e)
{
    for (size_t i = 0; i < l->n_part; i++)
        if (l->part[i].e.group == e->group && l->part[i].e.id == e->id)
            return &l->part[i];
    return NULL;
}

static int facts(struct builder *b, bool first)
{
    const struct jm_dcgm_link *l = &b->d->link;
    struct jm_meter *m = b->m;
    char key[64];
    int rc = jm_meter_add_fact(m, b->err, "dcgm.engine", "%s", l->address);
    if (!rc && l->version[0])
        rc = jm_meter_add_fact(m, b->err, "dcgm.version", "%s", l->version);
    if (!rc && l->driver[0])
        rc = jm_meter_add_fact(m, b->err, "dcgm.driver", "%s", l->driver);
    if (!rc) /* watching costs energy too */
        rc =
            jm_meter_add_fact(m, b->err, "dcgm.watched",
                              "fields 155, 156, 157, 164 of %u GPUs, 1130, 1132, 1133 of %u CPUs, 705 to 707 "
                              "of %u NVSwitches, every %g ms",
                              l->batch[JM_DCGM_GPUS].n_e, l->batch[JM_DCGM_CPUS].n_e,
                              l->batch[JM_DCGM_SWITCHES].n_e, (double)l->watch_ns / 1e6);
    if (!rc && l->n_mig)
        rc = jm_meter_add_fact(m, b->err, "dcgm.mig",
                               "%zu instances, which show their GPU's power: the GPU counts once", l->n_mig);
    if (!rc && l->note[0])
        rc = jm_meter_add_fact(m, b->err, "dcgm.selection", "%s", l->note);
    for (size_t i = 0; i < l->n_gpu && !rc && first; i++) {
        if (!l->part[i].selected)
            continue;
        snprintf(key, sizeof key, "gpu.%d.name", l->part[i].ordinal);
        rc = jm_meter_add_fact(m, b->err, key, "%s", l->part[i].name);
        snprintf(key, sizeof key, "gpu.%d.uuid", l->part[i].ordinal);
        rc = rc ? rc : jm_meter_add_fact(m, b->err, key, "%s", l->part[i].uuid);
    }
    return rc;
}

static int channels(struct builder *b)
{
    struct jm_dcgm *d = b->d;
    size_t n = 0;
    int rc = 0, why = JM_DCGM_OK;
    for (size_t g = 0; g < JM_DCGM_BATCHES; g++)
        n += d->link.batch[g].n_e * d->link.batch[g].n_f;
    d->src = calloc(n + 1, sizeof *d->src);
    if (!d->src)
        return jm_err_set(b->err, JM_ENOMEM, "out of memory for the channels of the meter dcgm");
    for (size_t g = 0; g < JM_DCGM_BATCHES; g++) {
        struct jm_dcgm_batch *t = &d->link.batch[g];
        int ret = t->n_e ? jm_dcgm_ask(&d->link, t, false) : JM_DCGM_OK;
        why = ret ? ret : why;
        for (unsigned i = 0; i < t->n_e * t->n_f && !rc && ret == JM_DCGM_OK; i++) {
            const struct jm_dcgm_part *p = part_of(&d->link, &t->e[i / t->n_f]);
            rc = p ? add(b, g, i, p) : 0;
        }
    }
    if (rc || d->n_src)
        return rc;
    return jm_err_set(
        b->err, b->denied ? JM_EDENIED : JM_EUNSUPPORTED,
        "dcgm: the host engine %s lists %zu GPUs, but answers no question about power or energy: "
        "%s",
        d->link.address, d->link.n_gpu,
        b->denied ? "no permission; it must run as root"
        : why     ? jm_dcgm_error(why)
                  : "all values are blank");
}

static int open_with(const struct jm_meter_env *env, const struct jm_instrument *in, const char *lib,
                     const char *address, int64_t update_ns, struct jm_domain_tree *tree,
                     struct jm_meter **out, struct jm_err *err)
{
    struct jm_clock clock = jm_meter_clock(env);
    struct jm_meter *m = jm_meter_alloc(&jm_meter_dcgm, err);
    struct jm_dcgm *d = m ? calloc(1, sizeof *d) : NULL;
    struct jm_reading r;
    if (!d) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter dcgm");
    }
    m->priv = d;
    d->clock = -1;
    int64_t timeout = in ? in->timeout_ns : TIMEOUT;
    int rc = jm_dcgm_link_open(&d->link, env, lib, address, timeout, NULL, err);
    if (!rc) {
        d->link.watch_ns = update_ns;
        rc = jm_dcgm_link_watch(&d->link, err);
    }
    struct builder b = {.m = m, .d = d, .in = in, .tree = tree, .known = tree->n, .err = err};
    if (!rc) {
        struct jm_instrument whole;
        if (in) { /* its parts have places of their own */
            whole = *in;
            whole.at = -1;
        }
        b.node = in ? jm_instrument_domain(&whole, env, tree, NULL, JM_D_NODE, err)
                    : jm_meter_host(env, tree, err);
        rc = b.node < 0 ? b.node : channels(&b);
    }
    if (!rc)
        rc = facts(&b, !in);
    if (!rc) {
        struct jm_channel *c = jm_meter_add_clock(m, in ? in->name : "dcgm", err);
        d->clock = c ? c->id : -1;
        rc = c ? 0 : JM_ENOMEM;
    }
    if (rc) {
        dcgm_close(m);
        return rc;
    }
    jm_dcgm_clock(d, &clock, &r);
    d->offset_due = 0;
    m->period_ns = update_ns;
    m->deadline_ns = timeout;
    m->simulated = d->link.api.lib.simulated;
    snprintf(m->instance, sizeof m->instance, "%.40s at %.50s", d->link.api.lib.file, d->link.address);
    if (d->link.note[0])
        jm_logf(env->log, JM_LOG_WARN, "dcgm", "%s", d->link.note);
    *out = m;
    return 0;
}

static int dcgm_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    int rc = env->dcgm ? jm_dcgm_address_check(env->dcgm, err) : 0;
    return rc ? rc : open_with(env, NULL, env->dcgm_lib, env->dcgm, JM_DCGM_WATCH_NS, tree, out, err);
}

/* ---- as configured */

static void conf_init(void *conf)
{
    ((struct conf *)conf)->update_ns = JM_DCGM_WATCH_NS;
}

static int conf_check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct conf *c = in->conf;
    return c->address ? jm_dcgm_address_check(c->address, err) : 0;
}

static int open_conf(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    const struct conf *c = in->conf;
    return open_with(env, in, c->library ? c->library : env->dcgm_lib, c->address, c->update_ns, tree, out,
                     err);
}

static const struct jm_opt opts[] = {
    {"address", 0, JM_OPT_STR, offsetof(struct conf, address), .arg = "ADDRESS",
     .help = "Host engine: HOST:PORT, unix:PATH, or embedded for one inside this process.",
     .deflt = "localhost:5555, else embedded"},
    {"library", 0, JM_OPT_STR, offsetof(struct conf, library), .arg = "FILE",
     .help = "The DCGM library to load.", .deflt = "libdcgm.so.4, else libdcgm.so.3"},
    {"update", 0, JM_OPT_DURATION, offsetof(struct conf, update_ns), .arg = "TIME", .min = 10e6,
     .max = 3600e9, .help = "How often the host engine is asked to read the GPUs.", .deflt = "100ms"},
    {NULL}};

const struct jm_meter_ops jm_meter_dcgm = {
    .version = JM_METER_OPS_VERSION,
    .name = "dcgm",
    .summary = "NVIDIA DCGM: GPUs, NVSwitches and Grace CPUs by its host engine",
    .boundary = "device",
    .needs = "libdcgm.so.4 or .3, and a host engine (nv-hostengine), embedded where none runs",
    .traps =
        "It asks NVML: a GPU that the meter nvml shows too is a mirror by its UUID, and counts once.\n"
        "A value is as old as its own stamp, brought to this host's clock; one that is not renewed is stale, "
        "and no value twice.\n"
        "Blank values are large numbers (2^47, 2^63 - 16), the status beside them may say success: they are "
        "missing, never a value.\n"
        "Field 156 is in mJ, 155 and 157 in W; 157 is 0 or garbage on parts that do not have it. There is no "
        "energy or power field 1611 (up to DCGM 4.6.0).\n"
        "MIG instances and CPU cores repeat their GPU and socket: only the whole is asked.\n"
        "Field 1130 is the CPU rail of a Grace, about half of its socket; 1133 contains Grace and GPU.\n"
        "Job statistics cover only what the cache keeps (an hour by default); here the counter itself is "
        "read, so the length of a run does not matter.\n"
        "Watches cost energy: power and energy fields alone are watched, never profiling, and the run says "
        "which. A host engine that is started anew is watched anew.",
    .probe = dcgm_probe,
    .open = dcgm_open,
    .read = jm_dcgm_read,
    .close = dcgm_close,
    .opts = opts,
    .conf_size = sizeof(struct conf),
    .conf_init = conf_init,
    .conf_check = conf_check,
    .open_conf = open_conf,
    .min_interval_ns = 10 * JM_NS_PER_MS,
    .why_interval = "NVML refreshes no faster",
};
