/* SPDX-License-Identifier: Apache-2.0 */
/* CPU energy as TDP times load: no measurement. It exists only when it is asked for, its provenance is
 * `estimated` to the last digit shown, and it never takes a measurement's place. The counter is TDP x busy
 * time / processors, busy time from /proc/stat (proc(5): user + nice + system + irq + softirq, in USER_HZ;
 * guest time is part of user). What an idle processor draws is not in it, nor are memory and board. */
#include "meter/registry.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "meter/sysfs.h"
#include "meter/text.h"
#include "base/banned.h"

struct estimate {
    int fd;
    double uj_per_tick; /* of one processor */
};

static int64_t tick_hz(void)
{
    long hz = sysconf(_SC_CLK_TCK);
    return hz > 0 ? hz : 100;
}

/* Reads the head of the file; the number of processors only when there is room for all lines. */
static int look(int fd, char *buf, size_t cap, int64_t *busy, int *cpus)
{
    size_t len = 0;
    ssize_t n;
    while (len < cap && (n = pread(fd, buf + len, cap - len, (off_t)len)) > 0)
        len += (size_t)n;
    return len ? jm_text_stat((struct jm_span){buf, len}, busy, cpus) : -ENODATA;
}

static int estimate_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    if (!(env->tdp_w > 0))
        jm_probe_set(out, JM_PROBE_OFF, "", "an estimate (TDP x load), made only when asked for: --tdp 350W");
    else
        jm_probe_set(out, JM_PROBE_OK, "", "ESTIMATE: %.0f W times the load of the processors", env->tdp_w);
    return 0;
}

static void estimate_close(struct jm_meter *m)
{
    struct estimate *e = m ? m->priv : NULL;
    if (e && e->fd >= 0)
        close(e->fd);
    free(e);
    jm_meter_dispose(m);
}

static int start(struct estimate *e, const struct jm_meter_env *env, struct jm_err *err)
{
    enum { ROOM = 1 << 18 };
    char path[JM_SYSFS_PATH];
    int64_t busy;
    int cpus = 0;
    if (!jm_sysfs_path(path, env->proc_root, "/proc", "stat"))
        return jm_err_set(err, JM_EINVAL, "the proc root \"%s\" is too long", env->proc_root);
    e->fd = jm_sysfs_open(path);
    if (e->fd < 0)
        return jm_err_sys(err, -e->fd, "estimate: cannot open %s", path);
    char *buf = malloc(ROOM);
    if (!buf)
        return jm_err_set(err, JM_ENOMEM, "out of memory to read %s", path);
    int rc = look(e->fd, buf, ROOM, &busy, &cpus);
    free(buf);
    if (rc || cpus == 0)
        return jm_err_set(err, JM_EPARSE, "estimate: %s does not begin with the times of the processors",
                          path);
    e->uj_per_tick = env->tdp_w * 1e6 / (double)(cpus * tick_hz());
    return 0;
}

static int estimate_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                         struct jm_err *err)
{
    if (!(env->tdp_w > 0) || env->tdp_w > 100000)
        return jm_err_set(err, JM_EABSENT,
                          "estimate: no TDP of the processors is given; say --tdp, e.g. --tdp 350W");
    struct jm_meter *m = jm_meter_alloc(&jm_meter_estimate, err);
    struct estimate *e = m ? calloc(1, sizeof *e) : NULL;
    if (!e) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter estimate");
    }
    e->fd = -1;
    m->priv = e;
    int node = jm_meter_host(env, tree, err);
    bool measured = jm_domain_next(tree, JM_D_PACKAGE, -1) >= 0;
    int domain =
        node < 0 ? node : jm_domain_add(tree, node, JM_D_PACKAGE, "estimate", "all packages (estimate)", err);
    int rc = domain < 0 ? domain : start(e, env, err);
    struct jm_channel *c = rc == 0 ? jm_meter_add_channel(m, err) : NULL;
    if (rc == 0 && !c)
        rc = JM_ENOMEM;
    if (rc == 0)
        rc = jm_meter_add_fact(m, err, "estimate.rule", "%.0f W TDP x busy share of the processors",
                               env->tdp_w);
    if (rc) {
        estimate_close(m);
        return rc;
    }
    snprintf(c->name, sizeof c->name, "energy");
    snprintf(c->device, sizeof c->device, "cpu");
    snprintf(c->source, sizeof c->source, "TDP x load of /proc/stat");
    snprintf(m->instance, sizeof m->instance, "%.0f W", env->tdp_w);
    c->kind = JM_CH_COUNTER;
    c->unit = JM_U_J;
    c->scale10 = -6;
    c->period_ns = JM_NS_PER_S / tick_hz();
    c->sane_max = env->tdp_w * 1.1;
    c->provenance = JM_P_ESTIMATED;
    c->domain = domain;
    c->flags = JM_CHF_EDGE | JM_CHF_ON_REQUEST | (measured ? JM_CHF_MIRROR : 0);
    *out = m;
    return 0;
}

static size_t estimate_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                            struct jm_reading *out)
{
    const struct estimate *e = m->priv;
    char head[512]; /* the first line is what counts */
    int64_t busy = 0;
    int cpus;
    (void)set; /* one counter, of every set */
    *out = (struct jm_reading){.t0 = jm_clock_mono(clock)};
    int rc = look(e->fd, head, sizeof head, &busy, &cpus);
    out->t1 = jm_clock_mono(clock);
    out->value = (int64_t)llround((double)busy * e->uj_per_tick);
    out->status = (uint8_t)jm_sysfs_status(rc);
    return 1;
}

const struct jm_meter_ops jm_meter_estimate = {
    .version = JM_METER_OPS_VERSION,
    .name = "estimate",
    .summary = "processors as TDP times load: an ESTIMATE, only on request",
    .boundary = "device",
    .needs = "nothing but /proc/stat; only on request (--tdp)",
    .traps = "TDP times the busy share of the processors: no idle power, no memory, no board. It is labelled "
             "estimated to the last digit "
             "and never takes a measurement's place.",
    .probe = estimate_probe,
    .open = estimate_open,
    .read = estimate_read,
    .close = estimate_close,
};
