/* SPDX-License-Identifier: Apache-2.0 */
/* A result of MLPerf Training with power → a run: a window for each training run, a channel for each node and
 * measured switch. Power that was read at the AC input is at the inlet, else at the node. */
#include "import/mlperf_training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "import/keep.h"
#include "import/probe.h"
#include "run/run.h"

#include "base/banned.h"

static int sniff(const struct jm_probe *p)
{
    return p->dir && jm_training_dir_at(p->path) ? 95 : 0;
}

struct source { /* a node or switch over all runs */
    char name[64];
    bool is_switch, ac;
    int channel;
    int64_t period_ns; /* 95 % of its readings come within it; 0: not known */
    int64_t last_us;   /* of the reading put last */
};

struct one_run {
    const struct jm_training_files *f;
    struct jm_training_log log;
};

struct work {
    struct jm_training_dir dir;
    struct one_run *run; /* those with a window, by their start */
    size_t n_run;
    struct source *source;
    size_t n_source;
    struct jm_run_writer *w;
    struct jm_err *err;
    int64_t back;    /* readings before one that was put */
    int64_t repeats; /* readings with the stamp of the one before */
    /* of the log that is being read */
    struct source *at;
    int64_t shift;
};

static int by_start(const void *a, const void *b)
{
    int64_t x = ((const struct one_run *)a)->log.start_us, y = ((const struct one_run *)b)->log.start_us;
    return x < y ? -1 : x > y;
}

static int runs(struct work *k)
{
    k->run = calloc(k->dir.n, sizeof *k->run);
    if (!k->run)
        return jm_err_set(k->err, JM_ENOMEM, "Out of memory while importing %s.", k->dir.dir);
    for (size_t i = 0; i < k->dir.n; i++) {
        struct one_run *r = &k->run[k->n_run];
        r->f = &k->dir.run[i];
        if (!r->f->log || !r->f->n)
            continue;
        int rc = jm_training_read_log(r->f->log, &r->log, NULL);
        if (rc == JM_ENOMEM)
            return jm_err_set(k->err, rc, "Out of memory while importing %s.", k->dir.dir);
        if (!rc && r->log.has_start && r->log.has_stop && r->log.stop_us > r->log.start_us)
            k->n_run++;
    }
    if (!k->n_run)
        return jm_err_set(
            k->err, JM_EPARSE,
            "%s has no run with both power and a log that says when it began and ended (run_start and "
            "run_stop of result_*.txt).",
            k->dir.dir);
    qsort(k->run, k->n_run, sizeof *k->run, by_start);
    return 0;
}

static struct source *source_of(struct work *k, const struct jm_training_file *f)
{
    for (size_t i = 0; i < k->n_source; i++)
        if (strcmp(k->source[i].name, f->name) == 0)
            return &k->source[i];
    if (k->n_source >= JM_TRAINING_PARTS)
        return NULL;
    if ((k->n_source & (k->n_source - 1)) == 0) {
        struct source *more = realloc(k->source, (k->n_source ? 2 * k->n_source : 1) * sizeof *more);
        if (!more)
            return NULL;
        k->source = more;
    }
    struct source *s = &k->source[k->n_source++];
    *s = (struct source){.is_switch = f->is_switch, .channel = -1, .last_us = INT64_MIN};
    snprintf(s->name, sizeof s->name, "%s", f->name);
    return s;
}

/* How far readings lie apart, in tenths of a second. */
#define TENTHS 600
struct gaps {
    int64_t n[TENTHS + 1], all, last;
    bool any;
};
static int on_gap(void *self, const struct jm_training_point *p)
{
    struct gaps *g = self;
    if (p->kind != JM_TP_READING)
        return 0;
    if (g->any && p->t_us > g->last) {
        int64_t tenths = (p->t_us - g->last + 50000) / 100000;
        g->n[tenths > TENTHS ? TENTHS : tenths]++;
        g->all++;
    }
    g->any = true;
    g->last = p->t_us;
    return g->all < 20000 ? 0 : JM_EAGAIN; /* enough */
}

/* Stamps of whole seconds come 1 s and 2 s apart where a reading takes a little more than a second. */
static int64_t period_of(const char *path, const struct jm_training_look *l)
{
    struct gaps g = {.all = 0};
    int64_t sum = 0;
    int rc = jm_training_points(path, l, on_gap, &g, NULL);
    if ((rc && rc != JM_EAGAIN) || g.all < 20)
        return 0;
    for (int i = 0; i <= TENTHS; i++)
        if ((sum += g.n[i]) * 100 >= g.all * 95)
            return i * (JM_NS_PER_S / 10);
    return 0;
}

/* Nodes and switches that were read, with where: the first log of each says it. */
static int sources(struct work *k)
{
    for (size_t i = 0; i < k->n_run; i++)
        for (size_t j = 0; j < k->run[i].f->n; j++) {
            const struct jm_training_file *f = &k->run[i].f->file[j];
            struct jm_training_look look;
            size_t before = k->n_source;
            struct source *s = source_of(k, f);
            if (!s)
                return jm_err_set(k->err, JM_ENOMEM, "Out of memory while importing %s.", k->dir.dir);
            if (k->n_source == before)
                continue;
            int rc = jm_training_look(f->path, &look, NULL);
            if (rc || !look.readings) {
                k->n_source--; /* it may have readings in a later run */
                continue;
            }
            s->ac = strcasecmp(look.type, "AC") == 0;
            s->period_ns = period_of(f->path, &look);
        }
    return k->n_source ? 0
                       : jm_err_set(k->err, JM_EPARSE, "%s has no power_reading in any of its power logs.",
                                    k->dir.dir);
}

static int channels(struct work *k)
{
    struct jm_run_meter m = {.name = "mlperf-training", .state = "ok", .period_ns = JM_NS_PER_S};
    struct jm_domain_tree tree;
    int meter = jm_run_put_meter(k->w, &m, k->err), rc = meter < 0 ? meter : 0;
    int *domain = calloc(k->n_source, sizeof *domain);
    if (!domain)
        return jm_err_set(k->err, JM_ENOMEM, "Out of memory while importing %s.", k->dir.dir);
    jm_domain_tree_init(&tree);
    for (size_t i = 0; !rc && i < k->n_source; i++) {
        domain[i] = jm_domain_add(&tree, -1, k->source[i].ac ? JM_D_INLET_AC : JM_D_NODE, k->source[i].name,
                                  k->source[i].name, k->err);
        rc = domain[i] < 0 ? domain[i] : 0;
    }
    if (!rc)
        rc = jm_run_put_domains(k->w, &tree, k->err);
    jm_domain_tree_release(&tree);
    for (size_t i = 0; !rc && i < k->n_source; i++) {
        struct jm_channel c = {.meter = meter,
                               .kind = JM_CH_GAUGE,
                               .unit = JM_U_W,
                               .sem = JM_G_INSTANT, /* what a BMC averages is not said */
                               .period_ns = k->source[i].period_ns,
                               .period_measured = k->source[i].period_ns > 0,
                               .gain_tol = NAN,
                               .offset_tol = NAN,
                               .provenance = JM_P_MEASURED,
                               .domain = domain[i],
                               .flags = JM_CHF_STAMPED | JM_CHF_DOUBLE};
        snprintf(c.name, sizeof c.name, "power");
        snprintf(c.device, sizeof c.device, "%s", k->source[i].name);
        snprintf(c.source, sizeof c.source, "power_reading of %s.txt", k->source[i].name);
        rc = jm_run_put_channel(k->w, &c, &k->source[i].channel, k->err);
    }
    free(domain);
    return rc;
}

static int on_point(void *self, const struct jm_training_point *p)
{
    struct work *k = self;
    int64_t t = p->t_us + k->shift;
    if (p->kind != JM_TP_READING)
        return 0;
    if (t < k->at->last_us) { /* of a run that overlaps the one before, on the same node */
        k->back++;
        return 0;
    }
    if (t == k->at->last_us) { /* stamps of whole seconds: it stands for no time of its own */
        k->repeats++;
        return 0;
    }
    k->at->last_us = t;
    struct jm_reading r = {.t0 = t * 1000,
                           .t1 = t * 1000,
                           .channel = (uint32_t)k->at->channel,
                           .status = p->value < 0 ? JM_S_GAP : JM_S_OK};
    memcpy(&r.value, &p->value, sizeof r.value);
    return jm_run_put_readings(k->w, &r, 1, k->err);
}

static int facts_of_part(struct work *k, const struct one_run *r, const struct jm_training_file *f,
                         const struct jm_training_look *l, bool zone)
{
    char key[256];
    int rc = 0;
    if (k->shift) {
        snprintf(key, sizeof key, "training.%.100s.%.60s.clock_moved", r->f->name, f->name);
        rc = jm_keep_env(k->w, k->err, key, "%.6f s%s", (double)k->shift / 1e6, zone ? ", a time zone" : "");
    }
    if (!rc && l->bad) {
        snprintf(key, sizeof key, "training.%.100s.%.60s.bad_readings", r->f->name, f->name);
        rc = jm_keep_env(k->w, k->err, key, "%lld", (long long)l->bad);
    }
    return rc;
}

static int part(struct work *k, const struct one_run *r, const struct jm_training_file *f, bool has_reference,
                int64_t reference)
{
    struct jm_training_look look;
    char key[256], as[400];
    bool zone = false;
    int rc = jm_training_look(f->path, &look, NULL);
    if (rc)
        return rc == JM_ENOMEM ? jm_err_set(k->err, rc, "Out of memory while importing %s.", f->path) : 0;
    k->at = source_of(k, f);
    k->shift = jm_training_shift(&look, r->log.start_us, r->log.stop_us, has_reference, reference, &zone);
    rc = facts_of_part(k, r, f, &look, zone);
    if (!rc && look.readings && k->at && k->at->channel >= 0) {
        rc = jm_training_points(f->path, &look, on_point, k, k->err);
        if (rc == JM_ELIMIT)
            return rc;
    }
    snprintf(key, sizeof key, "training.%.100s.%.60s.conversion_eff", r->f->name, f->name);
    if (!rc && !isnan(look.efficiency))
        rc = jm_keep_env(k->w, k->err, key, "%.17g", look.efficiency);
    snprintf(key, sizeof key, "training.%.100s.%.60s.interconnect_power_est", r->f->name, f->name);
    if (!rc && !isnan(look.estimate_w))
        rc = jm_keep_env(k->w, k->err, key, "%.17g W", look.estimate_w);
    snprintf(as, sizeof as, "power/%s/%s.txt", r->f->name, f->name);
    return rc ? rc : jm_keep_file(k->w, k->err, f->path, as);
}

static int one(struct work *k, int id)
{
    const struct one_run *r = &k->run[id];
    struct jm_window win = {.id = id, .trial = id, .role = JM_R_MEASURE, .t0 = r->log.start_us * 1000};
    int64_t reference = 0;
    bool has_reference = false;
    char as[300];
    snprintf(win.name, sizeof win.name, "%.60s", r->f->name);
    int rc = jm_run_open_window(k->w, &win, k->err);
    if (!rc)
        rc = jm_run_close_window(k->w, id, r->log.stop_us * 1000, k->err);
    snprintf(as, sizeof as, "%s.txt", r->f->name);
    if (!rc)
        rc = jm_keep_file(k->w, k->err, r->f->log, as);
    for (size_t j = 0; !rc && j < r->f->n && !has_reference; j++) {
        struct jm_training_look l;
        if (jm_training_look(r->f->file[j].path, &l, NULL) == 0 && l.readings &&
            l.last_us > r->log.start_us && l.first_us < r->log.stop_us) {
            has_reference = true;
            reference = l.has_start ? l.start_us : l.first_us;
        }
    }
    for (size_t j = 0; !rc && j < r->f->n; j++)
        rc = part(k, r, &r->f->file[j], has_reference, reference);
    return rc;
}

static int fill(struct work *k)
{
    const struct jm_training_log *l = &k->run[0].log;
    char round[8];
    struct jm_clock_pair pair = {l->start_us * 1000, l->start_us * 1000, l->start_us * 1000,
                                 l->start_us * 1000};
    int rc = jm_run_put_clock_pair(k->w, &pair, k->err);
    jm_training_round(k->dir.dir, round);
    if (!rc)
        rc = channels(k);
    for (size_t i = 0; !rc && i < k->n_run; i++)
        rc = one(k, (int)i);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "training.round", "%s", round);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "training.benchmark", "%s", l->benchmark);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "training.submitter", "%s", l->submitter);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "training.division", "%s", l->division);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "training.platform", "%s", l->platform);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "training.runs", "%zu of %zu", k->n_run, k->dir.n);
    if (!rc && k->n_run < k->dir.n)
        rc = jm_keep_env(k->w, k->err, "import.missing.runs",
                         "%zu of %zu runs have no power, or no run_start and run_stop", k->dir.n - k->n_run,
                         k->dir.n);
    if (!rc && k->back)
        rc = jm_keep_env(k->w, k->err, "training.readings_back", "%lld", (long long)k->back);
    if (!rc && k->repeats)
        rc = jm_keep_env(k->w, k->err, "training.readings_repeated", "%lld", (long long)k->repeats);
    return rc ? rc : jm_run_put_env(k->w, "import.kind", "mlperf-training", k->err);
}

static int import(const char *path, const char *out_path, const struct jm_import_opts *o, struct jm_err *err)
{
    struct work k = {.err = err};
    int rc = jm_training_list(path, &k.dir, err);
    if (rc)
        return rc;
    rc = runs(&k);
    if (!rc)
        rc = sources(&k);
    if (!rc)
        rc = jm_keep_begin(&k.w, path, out_path, o, k.run[0].log.start_us * 1000, err);
    if (!rc)
        rc = jm_keep_end(k.w, out_path, fill(&k), err);
    free(k.run);
    free(k.source);
    jm_training_list_release(&k.dir);
    return rc;
}

const struct jm_importer jm_import_mlperf_training = {
    .name = "mlperf-training",
    .summary = "MLPerf Training result with power (folder with result_*.txt and power/)",
    .reads =
        "power_reading of every node and switch, run_start and run_stop of every run, conversion_eff and "
        "interconnect_power_est",
    .lacks = "what the readings' meter is accurate to; power of switches that is estimated only",
    .sniff = sniff,
    .import = import,
};
