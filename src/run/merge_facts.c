/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "run/merge.h"

#include "base/banned.h"

struct jm_merge_seen {
    char meter[32], name[64], device[96], part[96], address[192];
    size_t machine;
};

static int put(struct jm_merge *m, size_t index, const char *what, const char *value)
{
    char key[96];
    snprintf(key, sizeof key, "merge.%zu.%s", index, what);
    return jm_run_put_env(m->w, key, value, m->err);
}

/* What else the host of this run may be called: by itself, and by the one who asked for it. */
static int alias(struct jm_merge *m, const char *own)
{
    const char *asked = m->o->name ? m->o->name[m->index] : NULL;
    const char *const names[] = {own, asked};
    for (int k = 0; k < 2; k++)
        if (names[k] && m->n_alias < sizeof m->alias / sizeof *m->alias) {
            snprintf(m->alias[m->n_alias].name, sizeof m->alias[0].name, "%.95s", names[k]);
            m->alias[m->n_alias++].machine = m->machine;
        }
    return 0;
}

int jm_merge_host(struct jm_merge *m)
{
    const char *name = jm_run_env(m->r, "host.name"), *boot = jm_run_env(m->r, "host.boot_id");
    m->r_host = name;
    if (m->n_known == JM_MERGE_RUNS)
        return jm_err_set(m->err, JM_ELIMIT, "at most %d runs can be merged", JM_MERGE_RUNS);
    int same = 0;
    for (size_t i = 0; i < m->n_known; i++) {
        bool called = name && strcmp(m->known[i].calls, name) == 0;
        /* one machine, recorded twice: its monotonic clock is one clock. Two containers of it may call
         * themselves differently; what names a boot is the kernel's, and a random number. */
        if (boot && *boot && strcmp(m->known[i].boot, boot) == 0) {
            m->machine = i;
            m->host = *m->known[i].name ? m->known[i].name : name;
            m->shift = m->known[i].shift;
            m->again = true;
            return alias(m, name);
        }
        same += called;
    }
    m->again = false;
    m->machine = m->n_known++;
    m->known[m->machine].shift = m->shift;
    snprintf(m->known[m->machine].calls, sizeof m->known[0].calls, "%s", name ? name : "");
    snprintf(m->known[m->machine].boot, sizeof m->known[0].boot, "%s", boot ? boot : "");
    if (same)
        snprintf(m->known[m->machine].name, sizeof m->known[0].name, "%.80s#%d", name, same + 1);
    else
        snprintf(m->known[m->machine].name, sizeof m->known[0].name, "%.95s", name ? name : "");
    m->host = same ? m->known[m->machine].name : m->r_host;
    return alias(m, name);
}

/* The address of a configured instrument, by which two hosts know the same one; NULL: it has none. */
static const char *address_of(const struct jm_run *r, const struct jm_run_meter *m)
{
    char key[96];
    snprintf(key, sizeof key, "instrument.%.40s.address", m->instance);
    return jm_run_env(r, key);
}

/* What makes a channel the same one again. False: it is no meter's. */
static bool identity(const struct jm_merge *m, const struct jm_channel *c, struct jm_merge_seen *x)
{
    if (c->meter < 0 || (size_t)c->meter >= m->r->n_meter)
        return false;
    const struct jm_run_meter *meter = &m->r->meter[c->meter];
    const char *address = address_of(m->r, meter);
    /* entries are named by each host as it likes: what comes behind the name is the instrument's */
    size_t named = strlen(meter->instance);
    bool begins = named && strncmp(c->device, meter->instance, named) == 0;
    *x = (struct jm_merge_seen){.machine = m->machine};
    snprintf(x->meter, sizeof x->meter, "%s", meter->name);
    snprintf(x->name, sizeof x->name, "%s", c->name);
    snprintf(x->device, sizeof x->device, "%s", c->device);
    snprintf(x->part, sizeof x->part, "%s", begins ? c->device + named : c->device);
    snprintf(x->address, sizeof x->address, "%s", address ? address : "");
    return true;
}

int jm_merge_known(struct jm_merge *m, size_t index, struct jm_channel *c)
{
    struct jm_merge_seen x;
    if (!identity(m, &m->r->chan[index], &x))
        return 0;
    for (size_t i = 0; i < m->n_seen; i++) {
        const struct jm_merge_seen *s = &m->seen[i];
        bool same = strcmp(s->meter, x.meter) == 0 && strcmp(s->name, x.name) == 0;
        bool one = *x.address ? strcmp(s->address, x.address) == 0 && strcmp(s->part, x.part) == 0
                              : !*s->address && s->machine == x.machine && strcmp(s->device, x.device) == 0;
        if (same && one) {
            c->flags |= JM_CHF_MIRROR;
            m->duplicates++;
            return 0;
        }
    }
    return 0;
}

/* Channels of one run are no duplicates of each other: they are remembered when all of it is in. */
static int remember(struct jm_merge *m)
{
    for (size_t i = 0; i < m->r->n_chan; i++) {
        if (m->n_seen == m->cap_seen) {
            size_t cap = m->cap_seen ? 2 * m->cap_seen : 256;
            struct jm_merge_seen *v = realloc(m->seen, cap * sizeof *v);
            if (!v)
                return jm_err_set(m->err, JM_ENOMEM, "out of memory");
            m->seen = v;
            m->cap_seen = cap;
        }
        m->n_seen += identity(m, &m->r->chan[i], &m->seen[m->n_seen]);
    }
    return 0;
}

bool jm_merge_own_env(const char *key)
{
    return strcmp(key, "sut.gpus") == 0 || strcmp(key, "conflict.sut") == 0;
}

/* The larger of what the clock's bound was at the start and at the end; NAN: unknown. */
static double clock_bound(const struct jm_run *r)
{
    static const char *const when[] = {"clock.error.start.bound_s", "clock.error.end.bound_s"};
    double most = 0;
    for (int i = 0; i < 2; i++) {
        const char *text = jm_run_env(r, when[i]);
        double v;
        if (!text || jm_num_double(jm_span_of(text), &v) || !(v >= 0))
            return NAN;
        most = v > most ? v : most;
    }
    return most;
}

/* First and last time of its readings of energy and power on the merged clock: what else it read says nothing
 * of how long it measured. */
static bool span(const struct jm_merge *m, int64_t *from, int64_t *to)
{
    bool any = false;
    for (size_t i = 0; i < m->r->n_chan; i++) {
        int64_t a, b, n;
        enum jm_unit u = m->r->chan[i].unit;
        if ((u != JM_U_J && u != JM_U_W) || !jm_run_channel_span(m->r, (int)i, &a, &b, &n) || n < 1)
            continue;
        *from = any && *from < a + m->shift ? *from : a + m->shift;
        *to = any && *to > b + m->shift ? *to : b + m->shift;
        any = true;
    }
    return any;
}

int jm_merge_facts(struct jm_merge *m)
{
    char text[64];
    int64_t from = 0, to = 0;
    double bound = clock_bound(m->r);
    bool gpus = false;
    const char *serving = jm_run_env(m->r, "sut.gpus"), *conflict = jm_run_env(m->r, "conflict.sut"),
               *endpoint = jm_run_env(m->r, "endpoint.host");
    /* what was seen counts where nobody else tells, and where it says more than was told */
    const struct jm_run_clock *seen = m->o->clock ? &m->o->clock[m->index] : NULL;
    if (seen && !isnan(seen->most_s) && (isnan(bound) || seen->least_s > bound))
        bound = seen->most_s;
    int rc = remember(m);
    if (!rc)
        rc = put(m, m->index, "host", m->host ? m->host : "");
    snprintf(text, sizeof text, "%lld", (long long)m->shift);
    if (!rc)
        rc = put(m, m->index, "shift_ns", text);
    if (m->again)
        snprintf(text, sizeof text, "0");
    else if (isnan(bound))
        snprintf(text, sizeof text, "unknown");
    else
        snprintf(text, sizeof text, "%.9g", bound);
    if (!rc)
        rc = put(m, m->index, "clock.bound_s", text);
    snprintf(text, sizeof text, "%zu", m->r->n_meter);
    if (!rc)
        rc = put(m, m->index, "meters", text);
    if (!rc && span(m, &from, &to)) {
        snprintf(text, sizeof text, "%lld", (long long)from);
        rc = put(m, m->index, "from_ns", text);
        snprintf(text, sizeof text, "%lld", (long long)to);
        if (!rc)
            rc = put(m, m->index, "to_ns", text);
    }
    for (size_t i = 0; i < m->r->tree.n; i++)
        gpus |= m->r->tree.d[i].kind == JM_D_GPU || m->r->tree.d[i].kind == JM_D_APU;
    if (serving && *serving)
        jm_str_addf(&m->serving, "%s%s", m->serving.len ? "," : "", serving);
    else
        m->serving_unknown |= gpus;
    if (conflict && !m->conflict.len) {
        jm_str_adds(&m->conflict, conflict);
        jm_str_adds(&m->endpoint, endpoint ? endpoint : "");
    }
    return rc;
}

/* ---- groups */
static int node_called(const struct jm_domain_tree *t, struct jm_span host)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->d[i].kind == JM_D_NODE && jm_span_is(host, t->d[i].key))
            return (int)i;
    return -1;
}

static int node_of(const struct jm_merge *m, struct jm_span host)
{
    int node = node_called(&m->tree, host);
    for (size_t i = 0; node < 0 && i < m->n_alias; i++)
        if (jm_span_is(host, m->alias[i].name))
            node = node_called(&m->tree, jm_span_of(m->known[m->alias[i].machine].name));
    return node;
}

static bool is_gpu(const struct jm_domain *d)
{
    return d->kind == JM_D_GPU || d->kind == JM_D_APU;
}

/* Adds the keys of the GPUs of this node that `which` names (an index, a UUID or its beginning, empty: all).
 * Returns how many. */
static int add_gpus(const struct jm_merge *m, int node, struct jm_span which, struct jm_str *keys)
{
    const struct jm_domain_tree *t = &m->tree;
    int n = 0, k = 0;
    int64_t index = -1;
    if (which.n && jm_num_i64(which, &index))
        index = -1;
    for (size_t i = 0; i < t->n; i++) {
        if (!is_gpu(&t->d[i]) || !jm_domain_contains(t, node, (int)i))
            continue;
        bool take = !which.n || (index >= 0 ? k == index : jm_span_starts(jm_span_of(t->d[i].key), which));
        k++;
        if (!take)
            continue;
        jm_str_addf(keys, "%s%s", keys->len ? "," : "", t->d[i].key);
        n++;
    }
    return n;
}

static int resolve(struct jm_merge *m, const struct jm_run_group *g, struct jm_str *keys)
{
    struct jm_span rest = jm_span_of(g->gpus), item;
    int node = -1;
    while (jm_span_field(&rest, ',', &item)) {
        item = jm_span_trim(item);
        ptrdiff_t colon = jm_span_chr(item, ':');
        struct jm_span which = item;
        bool named = colon >= 0 || node < 0;
        if (named) {
            struct jm_span host = colon >= 0 ? jm_span_sub(item, 0, (size_t)colon) : item;
            which = colon >= 0 ? jm_span_sub(item, (size_t)colon + 1, item.n) : jm_span_of("");
            node = node_of(m, host);
            if (node < 0)
                return jm_err_set(m->err, JM_EUSAGE,
                                  "group %s names the host %.*s, which is none of the merged runs", g->name,
                                  (int)(host.n < 90 ? host.n : 90), host.p);
        } else if (node_of(m, item) >= 0) { /* a host with all its GPUs behind another */
            node = node_of(m, item);
            which = jm_span_of("");
        }
        int n = add_gpus(m, node, which, keys);
        if (n != 1 && (which.n || n == 0))
            return jm_err_set(m->err, JM_EUSAGE, "group %s: %.*s is %s of the GPUs of %s", g->name,
                              (int)(item.n < 90 ? item.n : 90), item.p, n ? "more than one" : "none",
                              m->tree.d[node].key);
    }
    return keys->failed ? jm_err_set(m->err, JM_ENOMEM, "out of memory") : 0;
}

static bool among(const char *list, struct jm_span key)
{
    struct jm_span rest = jm_span_of(list), x;
    while (*list && jm_span_field(&rest, ',', &x))
        if (jm_span_eq(x, key))
            return true;
    return false;
}

static int one_group(struct jm_merge *m, size_t k, struct jm_str *all)
{
    const struct jm_run_group *g = &m->o->group[k];
    struct jm_str keys;
    char key[64];
    jm_str_init(&keys);
    int rc = resolve(m, g, &keys);
    struct jm_span rest = jm_str_span(&keys), x;
    while (!rc && rest.n && jm_span_field(&rest, ',', &x)) {
        if (all->len && among(all->buf, x))
            rc = jm_err_set(
                m->err, JM_EUSAGE,
                "GPU %.*s is named twice, the second time in group %s: its joules would count twice",
                (int)(x.n < 90 ? x.n : 90), x.p, g->name);
        else
            jm_str_addf(all, "%s%.*s", all->len ? "," : "", (int)x.n, x.p);
    }
    snprintf(key, sizeof key, "group.%zu.name", k);
    rc = rc ? rc : jm_run_put_env(m->w, key, g->name, m->err);
    snprintf(key, sizeof key, "group.%zu.role", k);
    rc = rc ? rc : jm_run_put_env(m->w, key, g->role, m->err);
    snprintf(key, sizeof key, "group.%zu.gpus", k);
    rc = rc ? rc : jm_run_put_env(m->w, key, keys.buf, m->err);
    jm_str_release(&keys);
    return rc;
}

/* Is the endpoint on one of the hosts that are in here now? */
static bool endpoint_here(const struct jm_merge *m)
{
    struct jm_span host = jm_str_span(&m->endpoint);
    for (size_t i = 0; host.n && i < m->n_known; i++)
        if (*m->known[i].calls && jm_span_is(host, m->known[i].calls))
            return true;
    for (size_t i = 0; host.n && i < m->n_alias; i++) /* as the one who asked called it, and the URL does */
        if (jm_span_is(host, m->alias[i].name))
            return true;
    return false;
}

int jm_merge_groups(struct jm_merge *m)
{
    struct jm_str all;
    char text[64];
    int rc = 0;
    jm_str_init(&all);
    for (size_t k = 0; !rc && k < m->o->n_group; k++)
        rc = one_group(m, k, &all);
    /* which GPUs serve: those of the groups, else what the runs say, if all of them do */
    if (!rc && all.len)
        rc = jm_run_put_env(m->w, "sut.gpus", all.buf, m->err);
    else if (!rc && m->serving.len && !m->serving_unknown)
        rc = jm_run_put_env(m->w, "sut.gpus", m->serving.buf, m->err);
    if (!rc && m->conflict.len && !all.len && !endpoint_here(m))
        rc = jm_run_put_env(m->w, "conflict.sut", m->conflict.buf, m->err);
    snprintf(text, sizeof text, "%lld", (long long)m->duplicates);
    if (!rc && m->duplicates)
        rc = jm_run_put_env(m->w, "merge.duplicates", text, m->err);
    for (size_t k = 0; !rc && k < m->o->n_missing; k++) {
        char what[512];
        snprintf(text, sizeof text, "merge.missing.%zu", k);
        snprintf(what, sizeof what, "%.95s: %.400s", m->o->missing[k].host, m->o->missing[k].why);
        rc = jm_run_put_env(m->w, text, what, m->err);
    }
    snprintf(text, sizeof text, "%.9g", m->o->tolerance_s);
    if (!rc && !isnan(m->o->tolerance_s))
        rc = jm_run_put_env(m->w, "merge.tolerance_s", text, m->err);
    jm_str_release(&all);
    return rc;
}

void jm_merge_release(struct jm_merge *m)
{
    free(m->seen);
    jm_str_release(&m->serving);
    jm_str_release(&m->conflict);
    jm_str_release(&m->endpoint);
}
