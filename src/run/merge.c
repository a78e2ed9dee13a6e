/* SPDX-License-Identifier: Apache-2.0 */
/* Several hosts of one system, one run: domains, meters and channels side by side, times on the first one's
 * clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/merge.h"

#include "base/banned.h"

#define merge jm_merge

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* real - mono of a run: the median of its pairs, so that one that was torn by a preemption does not count. */
static int offset_of(const struct jm_run *r, int64_t *out, struct jm_err *err)
{
    if (!r->n_pair)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "%s has no clock pair, so its times cannot be brought to another clock", r->path);
    int64_t *v = malloc(r->n_pair * sizeof *v);
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory");
    for (size_t i = 0; i < r->n_pair; i++)
        v[i] = r->pair[i].real - (r->pair[i].mono0 + (r->pair[i].mono1 - r->pair[i].mono0) / 2);
    qsort(v, r->n_pair, sizeof *v, by_size);
    *out = v[r->n_pair / 2];
    free(v);
    return 0;
}

/* Is it a part of the run's host, or above it? */
static bool of_host(const struct merge *m, int i)
{
    for (; i >= 0; i = m->r->tree.d[i].parent)
        if (m->r->tree.d[i].kind == JM_D_NODE || jm_domain_is_inlet(m->r->tree.d[i].kind))
            return true;
    return false;
}

/* What a domain is called where there are several hosts: each has a GPU 0. */
static const char *label_of(const struct merge *m, size_t i, char *buf, size_t room)
{
    const struct jm_domain *d = &m->r->tree.d[i];
    if (!m->many || !m->host || !*m->host || !of_host(m, (int)i) || strstr(d->label, m->host))
        return d->label;
    snprintf(buf, room, "%.50s on %.40s", d->label, m->host);
    return buf;
}

/* A board is in one machine. What was imported names no boot, so that a second run of one machine looks like
 * another machine of the same name, and each of its joules would count twice. */
static int boards_once(const struct merge *m)
{
    bool booted = true;
    for (size_t i = 0; i < m->n_known; i++)
        booted = booted && *m->known[i].boot;
    for (size_t i = 0; !m->again && !booted && i < m->r->tree.n; i++) {
        const struct jm_domain *d = &m->r->tree.d[i];
        for (size_t k = 0; d->kind == JM_D_GPU && strncmp(d->key, "GPU-", 4) == 0 && k < m->tree.n; k++)
            if (m->tree.d[k].kind == JM_D_GPU && strcmp(m->tree.d[k].key, d->key) == 0)
                return jm_err_set(
                    m->err, JM_ECONFLICT,
                    "%s has the board %.60s, which is in a run before it too: both are of one machine, and "
                    "each joule would count twice; merge one run of each machine",
                    m->r->path, d->key);
    }
    return 0;
}

static int add_domains(struct merge *m, int **map)
{
    int rc = boards_once(m);
    if (rc)
        return rc;
    int *to = calloc(m->r->tree.n ? m->r->tree.n : 1, sizeof *to);
    if (!to)
        return jm_err_set(m->err, JM_ENOMEM, "out of memory");
    *map = to;
    for (size_t i = 0; i < m->r->tree.n; i++) {
        const struct jm_domain *d = &m->r->tree.d[i];
        const char *own =
            m->host != m->r_host && m->r_host && strcmp(d->key, m->r_host) == 0 ? m->host : NULL;
        char label[192];
        int id = jm_domain_add(&m->tree, d->parent < 0 ? -1 : to[d->parent], d->kind, own ? own : d->key,
                               own ? own : label_of(m, i, label, sizeof label), m->err);
        if (id < 0)
            return id;
        to[i] = id;
    }
    return 0;
}

static int add_readings(struct merge *m, int from, int to)
{
    struct jm_readings a = {0};
    int rc = jm_run_readings(m->r, from, INT64_MIN, INT64_MAX, &a, m->err);
    for (size_t i = 0; !rc && i < a.n; i++) {
        a.v[i].t0 += m->shift;
        a.v[i].t1 += m->shift;
        a.v[i].channel = (uint32_t)to;
    }
    if (!rc)
        rc = jm_run_put_readings(m->w, a.v, a.n, m->err);
    jm_readings_release(&a);
    return rc;
}

static int add_meters(struct merge *m)
{
    int *map = NULL, first = 0, rc = add_domains(m, &map);
    for (size_t i = 0; rc >= 0 && i < m->r->n_meter; i++) {
        rc = jm_run_put_meter(m->w, &m->r->meter[i], m->err);
        if (!i)
            first = rc;
    }
    rc = rc < 0 ? rc : 0;
    for (size_t i = 0; !rc && i < m->r->n_chan; i++) {
        struct jm_channel c = m->r->chan[i];
        int id = 0;
        c.meter += first;
        c.domain = c.domain < 0 ? -1 : map[c.domain];
        rc = jm_merge_known(m, i, &c);
        if (!rc)
            rc = jm_run_put_channel(m->w, &c, &id, m->err);
        if (!rc)
            rc = add_readings(m, (int)i, id);
    }
    free(map);
    return rc;
}

static int add_env(struct merge *m)
{
    int rc = 0;
    char key[256];
    for (size_t i = 0; !rc && i < m->r->n_env; i++) {
        if (jm_merge_own_env(m->r->env[i].key))
            continue; /* of all hosts together: put at the end */
        if (m->index)
            snprintf(key, sizeof key, "run%zu.%s", m->index, m->r->env[i].key);
        else
            snprintf(key, sizeof key, "%s", m->r->env[i].key);
        rc = jm_run_put_env(m->w, key, m->r->env[i].value, m->err);
    }
    snprintf(key, sizeof key, "merge.%zu", m->index);
    return rc ? rc : jm_run_put_env(m->w, key, m->r->info.id, m->err);
}

static int add_times(struct merge *m)
{
    int rc = 0;
    m->first_window = m->windows;
    for (size_t i = 0; !rc && m->take_windows && i < m->r->n_window; i++) {
        struct jm_window w = m->r->window[i];
        w.id = m->windows++;
        w.t0 += m->shift;
        w.t1 += w.t1 ? m->shift : 0;
        if (m->o->common) {
            w.t0 = m->common0;
            w.t1 = m->common1;
        }
        rc = jm_run_open_window(m->w, &w, m->err);
    }
    for (size_t i = 0; !rc && i < m->r->n_mark; i++) {
        struct jm_mark k = m->r->mark[i];
        k.t += m->shift;
        rc = jm_run_put_mark(m->w, &k, m->err);
    }
    /* the clock of the merged run is the first one's, and so are its pairs */
    for (size_t i = 0; !rc && !m->index && i < m->r->n_pair; i++)
        rc = jm_run_put_clock_pair(m->w, &m->r->pair[i], m->err);
    return rc;
}

/* Events come in order of request, as the requests are stored. */
struct feed {
    struct merge *m;
    const struct jm_request *q;
    size_t n, at;
};

static int put_shifted(struct merge *m, const struct jm_request *q, const struct jm_token_event *ev, size_t n)
{
    struct jm_request r = *q;
    struct jm_token_event *copy = n ? malloc(n * sizeof *copy) : NULL;
    if (n && !copy)
        return jm_err_set(m->err, JM_ENOMEM, "out of memory");
    r.id += m->first_request;
    for (int i = 0; i < JM_T_COUNT; i++)
        r.t[i] += r.t[i] == -1 ? 0 : m->shift;
    for (size_t i = 0; i < n; i++) {
        copy[i] = ev[i];
        copy[i].t += m->shift;
    }
    int rc = jm_run_put_request(m->w, &r, copy, n, m->err);
    free(copy);
    if (!rc && r.id > m->last_request)
        m->last_request = r.id;
    return rc;
}

static int feed_events(void *self, int64_t request, const struct jm_token_event *ev, size_t n)
{
    struct feed *f = self;
    int rc = 0;
    for (; !rc && f->at < f->n && f->q[f->at].id < request; f->at++)
        rc = put_shifted(f->m, &f->q[f->at], NULL, 0);
    if (!rc && f->at < f->n && f->q[f->at].id == request)
        rc = put_shifted(f->m, &f->q[f->at++], ev, n);
    return rc;
}

static int add_requests(struct merge *m)
{
    struct feed f = {.m = m};
    struct jm_str prompt, output;
    f.q = jm_run_requests(m->r, &f.n);
    m->first_request = m->last_request;
    int rc = jm_run_requests_check(m->r, m->err);
    if (!rc)
        rc = jm_run_events(m->r, feed_events, &f, m->err);
    for (; !rc && f.at < f.n; f.at++)
        rc = put_shifted(m, &f.q[f.at], NULL, 0);
    jm_str_init(&prompt);
    jm_str_init(&output);
    for (size_t i = 0; !rc && i < f.n; i++) {
        jm_str_reset(&prompt);
        jm_str_reset(&output);
        rc = jm_run_text(m->r, f.q[i].id, &prompt, &output, m->err);
        if (!rc)
            rc = jm_run_put_text(m->w, f.q[i].id + m->first_request, jm_str_span(&prompt),
                                 jm_str_span(&output), m->err);
        else if (rc == JM_EABSENT)
            rc = 0;
    }
    jm_str_release(&prompt);
    jm_str_release(&output);
    return rc;
}

static int put_scrape(void *self, const char *url, int64_t t0, int64_t t1, struct jm_span text)
{
    struct merge *m = self;
    return jm_run_put_scrape(m->w, url, t0 + m->shift, t1 + m->shift, text, m->err);
}

static int put_factor(void *self, const struct jm_run_factor *f)
{
    struct merge *m = self;
    return jm_run_put_factor(m->w, f->kind, f->key, f->value, f->unit, f->source, m->err);
}

static int add_sides(struct merge *m)
{
    struct jm_str s;
    int rc = jm_run_scrapes(m->r, put_scrape, m, m->err);
    if (!rc)
        rc = jm_run_factors(m->r, put_factor, m, m->err);
    for (size_t i = 0; !rc && m->take_windows && i < m->r->n_claim; i++) {
        struct jm_run_claim c = m->r->claim[i];
        c.window += c.window < 0 ? 0 : m->first_window;
        rc = jm_run_put_claim(m->w, &c, m->err);
    }
    jm_str_init(&s);
    for (size_t i = 0; !rc && i < m->r->n_raw; i++) {
        const struct jm_run_raw *w = &m->r->raw[i];
        char name[512];
        if (m->index)
            snprintf(name, sizeof name, "run%zu/%s", m->index, w->name);
        else
            snprintf(name, sizeof name, "%s", w->name);
        jm_str_reset(&s);
        rc = w->kept ? jm_run_raw_data(m->r, w->name, &s, m->err) : 0;
        if (!rc && w->kept)
            rc = jm_run_put_raw(m->w, name, w->origin, jm_str_span(&s), m->err);
    }
    jm_str_release(&s);
    return rc;
}

static int add_run(struct merge *m)
{
    int rc = add_meters(m);
    if (!rc)
        rc = add_env(m);
    if (!rc)
        rc = add_times(m);
    if (!rc)
        rc = add_requests(m);
    return rc ? rc : add_sides(m);
}

/* What the first look at a run tells: has it requests, is it of another machine than the ones before, and,
 * for a window in common, what its own is. */
struct look {
    char name[96], boot[64];
    int64_t base;
};

static int look_at(struct merge *m, const struct jm_run *r, size_t i, size_t n, struct look *first)
{
    const char *name = jm_run_env(r, "host.name"), *boot = jm_run_env(r, "host.boot_id");
    int64_t offset = 0;
    name = name ? name : "";
    boot = boot ? boot : "";
    if (!i) {
        snprintf(first->name, sizeof first->name, "%s", name);
        snprintf(first->boot, sizeof first->boot, "%s", boot);
    } else if (*boot && *first->boot)
        m->many |= strcmp(boot, first->boot) != 0;
    else
        m->many |= strcmp(name, first->name) != 0 || !*name;
    if (!m->o->common)
        return 0;
    int rc = n > 1 ? offset_of(r, &offset, m->err) : 0;
    if (!rc && (r->n_window != 1 || r->window[0].t1 <= r->window[0].t0))
        rc = jm_err_set(m->err, JM_EINVAL, "%s has no window, or more than one: it shares none", r->path);
    if (rc)
        return rc;
    if (!i)
        first->base = offset;
    int64_t t0 = r->window[0].t0 + offset - first->base, t1 = r->window[0].t1 + offset - first->base;
    m->common0 = !i || t0 > m->common0 ? t0 : m->common0;
    m->common1 = !i || t1 < m->common1 ? t1 : m->common1;
    if (m->common1 <= m->common0)
        return jm_err_set(
            m->err, JM_ECONFLICT,
            "by their clocks the recording of %s has no time in common with those before it: one "
            "of the clocks is wrong",
            *name ? name : r->path);
    return 0;
}

static int look_ahead(struct merge *m, const char *const *paths, size_t n)
{
    struct look first = {.base = 0};
    for (size_t i = 0; i < n; i++) {
        struct jm_run *r = NULL;
        size_t k = 0;
        int rc = jm_run_open(paths[i], &r, m->err);
        if (!rc)
            rc = jm_run_requests_check(r, m->err);
        if (!rc) {
            jm_run_requests(r, &k);
            rc = look_at(m, r, i, n, &first);
        }
        m->any_requests |= k > 0;
        jm_run_close(r);
        if (rc)
            return rc;
    }
    return 0;
}

static int one(struct merge *m, const char *path, size_t i, size_t n, const char *out, int64_t *base)
{
    struct jm_run *r = NULL;
    int64_t offset = 0;
    size_t k;
    int rc = jm_run_open(path, &r, m->err);
    if (!rc && n > 1)
        rc = offset_of(r, &offset, m->err);
    if (!rc && !i) {
        const struct jm_run_create c = {.label = m->o->label ? m->o->label : r->info.label,
                                        .kind = r->info.kind,
                                        .source = r->info.source,
                                        .created_real = r->info.created_real,
                                        .overwrite = m->o->overwrite,
                                        .seed = r->info.seed};
        *base = offset;
        rc = jm_run_create(out, &c, &m->w, m->err);
    }
    m->r = r;
    m->index = i;
    m->shift = offset - *base;
    if (!rc) {
        jm_run_requests(r, &k);
        m->take_windows = m->any_requests ? k > 0 : i == 0;
        rc = jm_merge_host(m);
    }
    if (!rc)
        rc = add_run(m);
    if (!rc)
        rc = jm_merge_facts(m);
    jm_run_close(r);
    m->r = NULL;
    return rc;
}

int jm_run_merge(const char *const *paths, size_t n, const char *out, const struct jm_run_merge_opts *o,
                 struct jm_err *err)
{
    static const struct jm_run_merge_opts none = {.tolerance_s = NAN};
    struct jm_err own = {0};
    struct merge m = {.err = err ? err : &own, .o = o ? o : &none};
    int64_t base = 0;
    int rc = n ? 0 : jm_err_set(err, JM_EINVAL, "a merge needs at least one run");
    jm_domain_tree_init(&m.tree);
    jm_str_init(&m.serving);
    jm_str_init(&m.conflict);
    jm_str_init(&m.endpoint);
    for (size_t i = 0; !rc && i < n; i++)
        if (strcmp(paths[i], out) == 0)
            rc = jm_err_set(m.err, JM_EINVAL, "%s is one of the runs to merge: name another file", out);
    if (!rc)
        rc = look_ahead(&m, paths, n);
    for (size_t i = 0; !rc && i < n; i++)
        rc = one(&m, paths[i], i, n, out, &base);
    if (!rc)
        rc = jm_merge_groups(&m);
    if (!rc)
        rc = jm_run_put_domains(m.w, &m.tree, m.err);
    jm_domain_tree_release(&m.tree);
    jm_merge_release(&m);
    if (!m.w)
        return rc;
    if (!rc)
        return jm_run_seal(m.w, m.err);
    jm_run_abandon(m.w);
    jm_run_remove(out, NULL); /* half a merge is none */
    return rc;
}
