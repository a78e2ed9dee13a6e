/* SPDX-License-Identifier: Apache-2.0 */
/* Plays a stored run: its channels show now what they showed then, from the first read on, at the pace of the
 * clock. What is played is no measurement of this machine: the meter is marked as simulated. */
#include "meter/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "base/banned.h"

#define MAX_READINGS (64u << 20)

struct track {
    struct jm_readings r;
    size_t at; /* last reading played */
};

struct replay {
    struct track *track; /* one a channel */
    size_t n;
    int64_t first, last; /* of the stored run */
    int64_t start;       /* of the play; INT64_MIN before the first read */
};

static int replay_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct jm_run *run;
    struct jm_err err = {0};
    size_t n;
    if (!env->replay_path) {
        jm_probe_set(out, JM_PROBE_OFF, "", "plays a stored run when asked to: --replay RUN.jmr");
        return 0;
    }
    if (jm_run_open(env->replay_path, &run, &err)) {
        jm_probe_set(out, JM_PROBE_ABSENT, "", "%.250s", err.text);
        return 0;
    }
    jm_run_channels(run, &n);
    jm_probe_set(out, n ? JM_PROBE_OK : JM_PROBE_ABSENT, "", "SIMULATED: %zu channels of %.180s", n,
                 env->replay_path);
    jm_run_close(run);
    return 0;
}

static void replay_close(struct jm_meter *m)
{
    struct replay *p = m ? m->priv : NULL;
    for (size_t i = 0; p && i < p->n; i++)
        jm_readings_release(&p->track[i].r);
    if (p)
        free(p->track);
    free(p);
    jm_meter_dispose(m);
}

/* The stored tree below the host's node: what had no parent then, or was that run's node, keeps its place. */
static int copy_domains(const struct jm_run *run, struct jm_domain_tree *tree, int *map, struct jm_err *err)
{
    const struct jm_domain_tree *old = jm_run_domains(run);
    for (size_t i = 0; i < old->n; i++) {
        const struct jm_domain *d = &old->d[i];
        int parent = d->parent >= 0 && d->parent < (int)i ? map[d->parent] : -1;
        map[i] = jm_domain_add(tree, parent, d->kind, d->key, d->label, err);
        if (map[i] < 0)
            return map[i];
    }
    return 0;
}

/* Between two stored readings nothing moves: the play refreshes no faster than the run was sampled. */
static int64_t sampled_every(const struct jm_readings *r)
{
    return r->n > 1 ? (r->v[r->n - 1].t0 - r->v[0].t0) / (int64_t)(r->n - 1) : 0;
}

static int add_channel(struct jm_meter *m, struct replay *p, const struct jm_run *run,
                       const struct jm_channel *from, const int *map, size_t n_map, struct jm_err *err)
{
    struct jm_channel *c = jm_meter_add_channel(m, err);
    if (!c)
        return JM_ENOMEM;
    struct track *t = &p->track[p->n++];
    int id = c->id, rc = jm_run_readings(run, from->id, INT64_MIN, INT64_MAX, &t->r, err);
    if (rc)
        return rc;
    *c = *from;
    c->id = id;
    c->meter = 0;
    c->domain = from->domain >= 0 && (size_t)from->domain < n_map ? map[from->domain] : -1;
    c->provenance = jm_provenance_worse(from->provenance, JM_P_SIMULATED);
    c->period_measured = false;
    int64_t every = sampled_every(&t->r);
    if (c->kind != JM_CH_STATE && c->period_ns < every)
        c->period_ns = every;
    if (t->r.n) {
        p->first = t->r.v[0].t0 < p->first ? t->r.v[0].t0 : p->first;
        p->last = t->r.v[t->r.n - 1].t1 > p->last ? t->r.v[t->r.n - 1].t1 : p->last;
        if (m->period_ns > every && every > 0)
            m->period_ns = every;
    }
    return 0;
}

static int fill(struct jm_meter *m, const struct jm_run *run, struct jm_domain_tree *tree, struct jm_err *err)
{
    struct replay *p = m->priv;
    size_t n, n_map = jm_run_domains(run)->n;
    const struct jm_channel *c = jm_run_channels(run, &n);
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t first, last, count = 0;
        if (jm_run_channel_span(run, (int)i, &first, &last, &count) && count > 0)
            total += (uint64_t)count;
    }
    if (n == 0 || total == 0)
        return jm_err_set(err, JM_EABSENT, "replay: %s holds no readings", jm_run_path(run));
    if (total > MAX_READINGS)
        return jm_err_set(err, JM_ELIMIT, "replay: %s holds %llu readings, more than the %u that are played",
                          jm_run_path(run), (unsigned long long)total, MAX_READINGS);
    int *map = calloc(n_map + 1, sizeof *map);
    p->track = calloc(n, sizeof *p->track);
    int rc = map && p->track ? copy_domains(run, tree, map, err)
                             : jm_err_set(err, JM_ENOMEM, "out of memory to play %s", jm_run_path(run));
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_channel(m, p, run, &c[i], map, n_map, err);
    free(map);
    return rc ? rc : jm_meter_add_fact(m, err, "replay.run", "%.40s", jm_run_info(run)->id);
}

static int replay_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                       struct jm_err *err)
{
    struct jm_run *run;
    if (!env->replay_path)
        return jm_err_set(err, JM_EABSENT, "replay: no run to play is given; say --replay RUN.jmr");
    int rc = jm_run_open(env->replay_path, &run, err);
    if (rc)
        return rc;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_replay, err);
    struct replay *p = m ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        jm_meter_dispose(m);
        jm_run_close(run);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter replay");
    }
    *p = (struct replay){.first = INT64_MAX, .last = INT64_MIN, .start = INT64_MIN};
    m->priv = p;
    m->simulated = true;
    m->period_ns = JM_NS_PER_S;
    snprintf(m->instance, sizeof m->instance, "%.95s", env->replay_path);
    rc = fill(m, run, tree, err);
    jm_run_close(run);
    if (rc) {
        replay_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static size_t replay_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                          struct jm_reading *out)
{
    struct replay *p = m->priv;
    int64_t now = jm_clock_mono(clock);
    size_t n = 0;
    if (p->start == INT64_MIN)
        p->start = now;
    int64_t then = p->first + (now - p->start); /* of the stored run */
    m->alive = then <= p->last;
    for (size_t i = 0; i < m->n_chan; i++) {
        struct track *t = &p->track[i];
        if (!jm_meter_in_set(&m->chan[i], set))
            continue;
        while (t->at + 1 < t->r.n && t->r.v[t->at + 1].t0 <= then)
            t->at++;
        struct jm_reading *r = &out[n++];
        *r = (struct jm_reading){.channel = (uint32_t)i, .t0 = now, .t1 = now, .status = JM_S_LOST};
        if (t->r.n && t->r.v[t->at].t0 > then) {
            r->status = JM_S_GAP; /* it began later */
        } else if (t->r.n && m->alive) {
            r->value = t->r.v[t->at].value;
            r->status = t->r.v[t->at].status;
        }
    }
    return n;
}

const struct jm_meter_ops jm_meter_replay = {
    .version = JM_METER_OPS_VERSION,
    .name = "replay",
    .summary = "a stored run, played again: SIMULATED, only on request",
    .boundary = "wall",
    .needs = "a stored run; only on request (--replay)",
    .traps = "What is played is marked SIMULATED, whatever it was when it was recorded.\n"
             "It refreshes no faster than the stored run was sampled.",
    .probe = replay_probe,
    .open = replay_open,
    .read = replay_read,
    .close = replay_close,
};
