/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/fmeter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

struct jm_meter *jm_fmeter_alloc(const struct jm_meter_ops *ops, struct jm_err *err)
{
    struct jm_meter *m = jm_meter_alloc(ops, err);
    if (!m)
        return NULL;
    m->priv = calloc(1, sizeof(struct jm_fmeter));
    if (!m->priv) {
        jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", ops->name);
        jm_meter_dispose(m);
        return NULL;
    }
    return m;
}

static void shut(int fd)
{
    if (fd >= 0)
        close(fd);
}

void jm_fmeter_close(struct jm_meter *m)
{
    if (!m)
        return;
    struct jm_fmeter *f = m->priv;
    for (size_t i = 0; f && i < f->n; i++) {
        shut(f->src[i].fd);
        shut(f->src[i].fd2);
        shut(f->src[i].guard);
    }
    for (size_t i = 0; f && i < f->n_batch; i++)
        f->batch[i]->free(f->batch[i]);
    if (f) {
        free(f->src);
        free(f->batch);
    }
    free(f);
    jm_meter_dispose(m);
}

int jm_fmeter_own(struct jm_meter *m, struct jm_fbatch *b, struct jm_err *err)
{
    struct jm_fmeter *f = m->priv;
    struct jm_fbatch **v = realloc(f->batch, (f->n_batch + 1) * sizeof(struct jm_fbatch *));
    if (!v) {
        b->free(b);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the files of the meter %s", m->ops->name);
    }
    f->batch = v;
    f->batch[f->n_batch++] = b;
    return 0;
}

/* With its descriptors, of which path and path2 may be NULL. */
static int add(struct jm_meter *m, struct jm_fsrc s, const char *path, const char *path2, const char *guard,
               struct jm_channel **chan, struct jm_fsrc **src, struct jm_err *err)
{
    struct jm_fmeter *f = m->priv;
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 16;
        struct jm_fsrc *v = realloc(f->src, cap * sizeof *v);
        if (!v)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the files of the meter %s", m->ops->name);
        f->src = v;
        f->cap = cap;
    }
    const char *bad = path;
    if (path && (s.fd = jm_sysfs_open(path)) >= 0 && path2)
        s.fd2 = jm_sysfs_open(bad = path2);
    int rc = path && s.fd < 0 ? s.fd : path2 && s.fd2 < 0 ? s.fd2 : 0;
    if (rc == 0 && guard) {
        s.guard = jm_sysfs_open(guard);
        if (s.guard == -ENOENT)
            s.guard = -1; /* no runtime power management: always active */
    }
    struct jm_channel *c = rc == 0 ? jm_meter_add_channel(m, err) : NULL;
    if (!c) {
        shut(s.fd);
        shut(s.fd2);
        shut(s.guard);
        return rc ? jm_err_sys(err, -rc, "cannot open %s", bad) : JM_ENOMEM;
    }
    f->src[f->n] = s;
    *chan = c;
    *src = &f->src[f->n++];
    return 0;
}

int jm_fmeter_add(struct jm_meter *m, const char *path, const char *path2, const char *guard,
                  struct jm_channel **chan, struct jm_fsrc **src, struct jm_err *err)
{
    return add(m, (struct jm_fsrc){.fd = -1, .fd2 = -1, .guard = -1}, path, path2, guard, chan, src, err);
}

int jm_fmeter_add_field(struct jm_meter *m, struct jm_fbatch *b, int field, const char *guard,
                        struct jm_channel **chan, struct jm_fsrc **src, struct jm_err *err)
{
    struct jm_fsrc s = {.fd = -1, .fd2 = -1, .guard = -1, .batch = b, .field = field};
    return add(m, s, NULL, NULL, guard, chan, src, err);
}

static int look(const struct jm_fsrc *s, int64_t *value)
{
    int64_t a = 0, b = 0;
    int rc = jm_sysfs_pread(s->fd, &a);
    if (rc || s->fd2 < 0) {
        *value = a;
        return rc;
    }
    rc = jm_sysfs_pread(s->fd2, &b);
    if (rc == 0 && __builtin_mul_overflow(a, b, value))
        rc = -ERANGE;
    return rc;
}

int jm_fmeter_peek(const struct jm_meter *m, size_t i, int64_t *value)
{
    const struct jm_fmeter *f = m->priv;
    return look(&f->src[i], value);
}

static bool asleep(const struct jm_fsrc *s)
{
    char text[16];
    if (s->guard < 0)
        return false;
    ssize_t n = pread(s->guard, text, sizeof text, 0);
    return n > 0 && !jm_span_is(jm_span_trim((struct jm_span){text, (size_t)n}), "active");
}

static enum jm_status judge(const struct jm_channel *c, const struct jm_fsrc *s, int64_t v)
{
    if ((s->invalid && v == s->invalid) || (s->positive && v <= 0) || (c->kind == JM_CH_COUNTER && v < 0))
        return JM_S_IMPLAUSIBLE;
    if (c->kind == JM_CH_GAUGE && (c->sane_min != 0 || c->sane_max != 0)) {
        double w = jm_channel_value(c, v);
        if (w < c->sane_min || w > c->sane_max)
            return JM_S_IMPLAUSIBLE;
    }
    return JM_S_OK;
}

static void read_field(const struct jm_fsrc *s, const struct jm_channel *c, uint64_t pass,
                       const struct jm_clock *clock, struct jm_reading *r)
{
    struct jm_fbatch *b = s->batch;
    if (b->pass != pass) {
        b->pass = pass;
        b->t0 = r->t0;
        b->rc = b->load(b);
        b->t1 = jm_clock_mono(clock);
    }
    r->t0 = b->t0;
    r->t1 = b->t1;
    enum jm_status st = b->rc ? jm_sysfs_status(b->rc) : b->pick(b, s->field, &r->value);
    r->status = (uint8_t)(st == JM_S_OK ? judge(c, s, r->value) : st);
}

size_t jm_fmeter_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                      struct jm_reading *out)
{
    struct jm_fmeter *f = m->priv;
    size_t n = 0, lost = 0;
    f->pass++;
    for (size_t i = 0; i < f->n; i++) {
        const struct jm_channel *c = &m->chan[i];
        if (!jm_meter_in_set(c, set))
            continue;
        struct jm_reading *r = &out[n++];
        *r = (struct jm_reading){.channel = (uint32_t)i};
        r->t0 = jm_clock_mono(clock);
        if (asleep(&f->src[i])) {
            r->status = JM_S_SUSPENDED;
        } else if (f->src[i].batch) {
            read_field(&f->src[i], c, f->pass, clock, r);
            lost += r->status == JM_S_LOST;
            continue;
        } else {
            int rc = look(&f->src[i], &r->value);
            r->status = (uint8_t)(rc ? jm_sysfs_status(rc) : judge(c, &f->src[i], r->value));
        }
        r->t1 = jm_clock_mono(clock);
        lost += r->status == JM_S_LOST;
    }
    if (n && lost == n)
        m->alive = false;
    return n;
}
