/* SPDX-License-Identifier: Apache-2.0 */
/* A meter to copy: it reads one file, <dev>/skeleton/power_mw, that holds milliwatts. It is compiled and
 * tested, and it is not in the registry. docs/contributing/add-a-meter.md goes through it step by step.
 *
 * Most new meters that read files need less than this: meter/fmeter.h does open, read and close (rapl.c,
 * hwmon_*.c). */
#include "meter/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "meter/sysfs.h"
#include "base/banned.h"

/* What the meter keeps between open and close. Everything that read needs is made in open: read never
 * allocates. */
struct skeleton {
    int fd;
};

/* Every path begins at a root of env, so that a test can point it at a fake tree. */
static bool file_of(const struct jm_meter_env *env, char path[JM_SYSFS_PATH])
{
    return jm_sysfs_path(path, env->dev_root, "/dev", "skeleton/power_mw");
}

/* Cheap, without side effects, and honest: what was tried, what came of it, and the one command that mends
 * it. */
static int skeleton_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    char path[JM_SYSFS_PATH], mend[256], why[128];
    int64_t mw;
    int rc = file_of(env, path) ? jm_sysfs_i64(path, &mw) : -ENAMETOOLONG;
    if (rc == 0) {
        jm_probe_set(out, JM_PROBE_OK, "", "%.200s", path);
    } else if (rc == -ENOENT) { /* no hardware: nothing to mend */
        jm_probe_set(out, JM_PROBE_ABSENT, "", "no %.200s", path);
    } else if (jm_sysfs_status(rc) == JM_S_DENIED) { /* hardware, but no permission: say how to get it */
        snprintf(mend, sizeof mend, "sudo chmod a+r %.200s", path);
        jm_probe_set(out, JM_PROBE_DENIED, mend, "%.200s may not be read", path);
    } else {
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "", "%.120s: %s", path, jm_sysfs_why(rc, why));
    }
    return 0;
}

static void skeleton_close(struct jm_meter *m)
{
    if (!m)
        return;
    struct skeleton *s = m->priv;
    if (s)
        close(s->fd);
    free(s);
    jm_meter_dispose(m);
}

/* The channel says everything that is known of the quantity, and nothing that is not: an unknown tolerance is
 * NAN (as jm_meter_add_channel leaves it), an unknown period or modulus is 0. */
static int describe(struct jm_meter *m, int domain, struct jm_err *err)
{
    struct jm_channel *c = jm_meter_add_channel(m, err);
    if (!c)
        return JM_ENOMEM;
    snprintf(c->name, sizeof c->name,
             "power"); /* gauges of power begin with "power", counters are "energy" */
    snprintf(c->device, sizeof c->device, "skeleton");
    snprintf(c->source, sizeof c->source, "skeleton/power_mw");
    c->kind = JM_CH_GAUGE;
    c->unit = JM_U_W;
    c->scale10 = -3;        /* native values are mW */
    c->sem = JM_G_INSTANT;  /* what one value means decides how it is integrated: never guess it */
    c->sane_max = 1000;     /* W; above is `implausible` */
    c->domain = domain;     /* what physically is inside it */
    c->flags = JM_CHF_EDGE; /* worth reading in the bursts around the edges of a window */
    return 0;
}

static int skeleton_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                         struct jm_err *err)
{
    char path[JM_SYSFS_PATH];
    if (!file_of(env, path))
        return jm_err_set(err, JM_EINVAL, "skeleton: the root \"%s\" is too long", env->dev_root);
    struct jm_meter *m = jm_meter_alloc(&jm_meter_skeleton, err);
    if (!m)
        return JM_ENOMEM;
    int fd = jm_sysfs_open(path);
    if (fd < 0) {
        jm_meter_dispose(m);
        return jm_err_sys(err, -fd, "skeleton: cannot open %s", path);
    }
    struct skeleton *s = malloc(sizeof *s);
    if (!s) {
        close(fd);
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter skeleton");
    }
    s->fd = fd;
    m->priv = s;
    snprintf(m->instance, sizeof m->instance, "%.95s", path);
    int node = jm_meter_host(env, tree, err);
    int rail = node < 0 ? node : jm_domain_add(tree, node, JM_D_RAIL, "skeleton", "skeleton", err);
    int rc = rail < 0 ? rail : describe(m, rail, err);
    if (rc) {
        skeleton_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

/* Stamp, read, stamp. What cannot be read has its status, never a value of 0, and never yesterday's. */
static size_t skeleton_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                            struct jm_reading *out)
{
    const struct skeleton *s = m->priv;
    if (!jm_meter_in_set(&m->chan[0], set))
        return 0;
    *out = (struct jm_reading){.channel = 0};
    out->t0 = jm_clock_mono(clock);
    int rc = jm_sysfs_pread(s->fd, &out->value);
    out->t1 = jm_clock_mono(clock);
    out->status = (uint8_t)jm_sysfs_status(rc);
    if (rc == 0 && (out->value < 0 || jm_channel_value(&m->chan[0], out->value) > m->chan[0].sane_max))
        out->status = JM_S_IMPLAUSIBLE;
    m->alive = out->status != JM_S_LOST;
    return 1;
}

const struct jm_meter_ops jm_meter_skeleton = {
    .version = JM_METER_OPS_VERSION,
    .name = "skeleton",
    .summary = "a meter to copy",
    .boundary = "device",
    .needs = "any user that may read the file",
    .traps = "A line for each thing that is known to go wrong.",
    .probe = skeleton_probe,
    .open = skeleton_open,
    .read = skeleton_read,
    .close = skeleton_close,
};
