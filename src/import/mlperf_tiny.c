/* SPDX-License-Identifier: Apache-2.0 */
/* An energy run of MLPerf Tiny → a run: power of the device's supply from the energy of each sample, a window
 * for each input; what results.txt says are claims. */
#include "import/mlperf_tiny.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "import/file.h"
#include "import/import.h"
#include "import/keep.h"
#include "import/probe.h"
#include "run/run.h"

#include "base/banned.h"

#define LOG_MOST ((size_t)16 << 20)

static int sniff(const struct jm_probe *p)
{
    return p->dir && jm_tiny_dir_at(p->path) ? 95 : 0;
}

struct work {
    struct jm_tiny_dir *d;
    struct jm_run_writer *w;
    struct jm_err *err;
    int windows;
    size_t inference;
    int64_t origin; /* of the trace, ns UTC */
    int channel;
    double rate;
    int64_t samples, lost, end;
};

static int64_t at(const struct work *k, double s)
{
    return k->origin + (int64_t)llround(s * 1e9);
}

static int on_sample(void *self, int64_t i, double uj)
{
    struct work *k = self;
    int64_t t = at(k, (double)(i + 1) / k->rate);
    double watts = uj * 1e-6 * k->rate;
    struct jm_reading r = {.t0 = t, .t1 = t, .channel = (uint32_t)k->channel, .status = JM_S_OK};
    if (isnan(watts)) {
        r.status = JM_S_GAP;
        k->lost++;
    } else {
        memcpy(&r.value, &watts, sizeof r.value);
    }
    k->samples++;
    k->end = t;
    return jm_run_put_readings(k->w, &r, 1, k->err);
}

static int channel(struct work *k, int meter, int domain)
{
    struct jm_channel c = {.meter = meter,
                           .kind = JM_CH_GAUGE,
                           .unit = JM_U_W,
                           .sem = JM_G_BLOCK_MEAN,
                           .period_ns = (int64_t)llround(1e9 / k->rate),
                           .window_ns = (int64_t)llround(1e9 / k->rate),
                           .gain_tol = NAN,
                           .offset_tol = NAN,
                           .provenance = JM_P_MEASURED,
                           .domain = domain,
                           .flags = JM_CHF_STAMPED | JM_CHF_DOUBLE};
    snprintf(c.name, sizeof c.name, "power");
    snprintf(c.device, sizeof c.device, "%s", k->d->device[0] ? k->d->device : "dut");
    snprintf(c.source, sizeof c.source, "energy per sample of %s",
             k->d->trials ? "results.json" : "*-energy.bin");
    return jm_run_put_channel(k->w, &c, &k->channel, k->err);
}

static int claim(struct work *k, const char *key, const char *metric, double value, const char *unit,
                 const char *boundary, int window)
{
    struct jm_run_claim c = {.value = value, .window = window};
    if (isnan(value))
        return 0;
    snprintf(c.key, sizeof c.key, "%s", key);
    snprintf(c.metric, sizeof c.metric, "%s", metric);
    snprintf(c.unit, sizeof c.unit, "%s", unit);
    snprintf(c.boundary, sizeof c.boundary, "%s", boundary);
    snprintf(c.source, sizeof c.source, "whole samples between the edges, by the runner");
    return jm_run_put_claim(k->w, &c, k->err);
}

static int claims(struct work *k, int number, int window, double inferences)
{
    int rc = claim(k, "# Inferences", "requests.ok", inferences, "", "", window);
    for (size_t i = 0; !rc && i < k->d->n_claim; i++) {
        const struct jm_tiny_claim *c = &k->d->claim[i];
        if (c->number != number)
            continue;
        rc = claim(k, "Energy", "energy", c->uj, "uJ", "wall", window);
        if (!rc)
            rc = claim(k, "Energy/Inf.", "j_per.request_ok", c->per_uj, "uJ/inf.", "wall", window);
        if (!rc)
            rc = claim(k, "Runtime", "duration", c->runtime_s, "s", "", window);
    }
    return rc;
}

static int windows(struct work *k, const struct jm_tiny_file *f)
{
    double *edge;
    size_t n;
    int rc = jm_tiny_edges(f->times, &edge, &n, k->err);
    if (rc)
        return rc;
    for (size_t i = jm_tiny_first(k->d, n); !rc && i + 1 < n && k->windows < JM_TINY_WINDOWS; i += 2) {
        struct jm_window win = {
            .id = k->windows, .trial = k->windows, .role = JM_R_MEASURE, .t0 = at(k, edge[i])};
        double inferences = k->inference < k->d->n_inferences ? k->d->inferences[k->inference++] : NAN;
        if (edge[i + 1] <= edge[i])
            continue;
        snprintf(win.name, sizeof win.name, "%.40s window %zu", f->name, i + 1);
        rc = jm_run_open_window(k->w, &win, k->err);
        if (!rc)
            rc = jm_run_close_window(k->w, win.id, at(k, edge[i + 1]), k->err);
        if (!rc)
            rc = claims(k, (int)i + 1, win.id, inferences);
        k->windows++;
    }
    free(edge);
    return rc;
}

/* A trial of MLCommons' runner: its samples are a capture of their own. When it began is not known. */
static int on_trial(void *self, const struct jm_tiny_trial *t, struct jm_err *err)
{
    struct work *k = self;
    struct jm_window win = {.id = k->windows, .trial = k->windows, .role = JM_R_MEASURE};
    if (k->windows)
        k->origin = k->end + JM_NS_PER_S;
    win.t0 = at(k, (double)t->start / k->rate);
    if (t->stamps < 2 || t->stop <= t->start)
        return jm_err_set(err, JM_EPARSE, "Trial %d has no two edges, which its load lies between.",
                          t->number);
    snprintf(win.name, sizeof win.name, "trial %d", t->number);
    int rc = jm_run_open_window(k->w, &win, err);
    if (!rc)
        rc = jm_run_close_window(k->w, win.id, at(k, (double)t->stop / k->rate), err);
    if (!rc)
        rc = claims(k, t->number, win.id, t->inferences);
    if (t->volts > 0 && t->volts < 1000)
        k->d->volts_mv = (int64_t)(t->volts * 1000 + 0.5);
    k->windows++;
    return rc;
}

static int trials(struct work *k, int meter, int inlet)
{
    if (!k->d->json)
        return jm_err_set(k->err, JM_EABSENT,
                          "%s has no results.json, which holds the samples: there is nothing to import. "
                          "joulemark mlperf show "
                          "tells what results.txt claims.",
                          k->d->dir);
    k->rate = JM_TINY_TRIAL_HZ;
    int rc = channel(k, meter, inlet);
    if (!rc)
        rc = jm_tiny_trials(k->d->json, on_trial, on_sample, k, k->err);
    return rc ? rc : jm_keep_file(k->w, k->err, k->d->json, "results.json");
}

/* "m-session-start-id[20230512185857]", "Writing output to sessions/20250725_190327/": local time of the host
 * that ran the runner. */
static int64_t session_start(const struct jm_tiny_dir *d)
{
    char path[8192];
    struct jm_str text;
    int64_t t = 0;
    jm_str_init(&text);
    snprintf(path, sizeof path, "%s/log.txt", d->dir);
    if (jm_file_read_regular(path, LOG_MOST, &text, NULL) == 0) {
        struct jm_span s = jm_str_span(&text), mark = JM_SPAN("m-session-start-id["),
                       own = JM_SPAN("output to sessions");
        ptrdiff_t i = jm_span_find(s, mark), j = i < 0 ? jm_span_find(s, own) : -1;
        int v[6], digits[6] = {4, 2, 2, 2, 2, 2};
        s = i >= 0   ? jm_span_sub(s, (size_t)i + mark.n, 15)
            : j >= 0 ? jm_span_sub(s, (size_t)j + own.n + 1, 15)
                     : (struct jm_span){0};
        bool ok = s.n == 15;
        for (int f = 0, p = 0; ok && f < 6; f++)
            for (int n = v[f] = 0; n < digits[f]; n++, p++) {
                p += p == 8 && s.p[p] == '_';
                ok &= s.p[p] >= '0' && s.p[p] <= '9';
                v[f] = v[f] * 10 + (s.p[p] - '0');
            }
        if (ok && v[1] >= 1 && v[1] <= 12 && v[2] >= 1 && v[2] <= 31 && v[0] >= 1971 && v[0] < 2200)
            t = jm_time_unix(v[0], v[1], v[2], v[3], v[4], v[5]) * JM_NS_PER_S;
    }
    jm_str_release(&text);
    return t;
}

static int fill(struct work *k)
{
    struct jm_run_meter m = {.state = "ok"};
    struct jm_domain_tree tree;
    struct jm_clock_pair pair = {k->origin, k->origin, k->origin, k->origin};
    size_t rest;
    int rc = jm_run_put_clock_pair(k->w, &pair, k->err), meter, inlet = -1;
    snprintf(m.name, sizeof m.name, "%.31s", k->d->instrument[0] ? k->d->instrument : "tiny-trace");
    meter = rc ? rc : jm_run_put_meter(k->w, &m, k->err);
    rc = meter < 0 ? meter : rc;
    jm_domain_tree_init(&tree);
    if (!rc &&
        (inlet = jm_domain_add(&tree, -1, JM_D_INLET_DC, "dut", "device under test, DC supply", k->err)) < 0)
        rc = inlet;
    if (!rc)
        rc = jm_run_put_domains(k->w, &tree, k->err);
    jm_domain_tree_release(&tree);
    if (!rc && k->d->trials)
        rc = trials(k, meter, inlet);
    for (size_t i = 0; !rc && i < k->d->n; i++) {
        const struct jm_tiny_file *f = &k->d->trace[i];
        char as[120];
        struct jm_ifile file;
        rc = jm_ifile_open(f->energy, &file, k->err);
        if (!rc) {
            rc = jm_tiny_head(file.all, &k->rate, k->err);
            jm_ifile_close(&file);
            if (rc && k->err)
                jm_err_prefix(k->err, "%s", f->energy);
        }
        if (!rc && i == 0)
            rc = channel(k, meter, inlet);
        if (i)
            k->origin = k->end + JM_NS_PER_S; /* traces follow each other; when is not known */
        if (!rc)
            rc = windows(k, f);
        if (!rc)
            rc = jm_tiny_samples(f->energy, &k->rate, on_sample, k, &rest, k->err);
        snprintf(as, sizeof as, "%s-energy.bin", f->name);
        if (!rc)
            rc = jm_keep_file(k->w, k->err, f->energy, as);
        snprintf(as, sizeof as, "%s-timestamps.json", f->name);
        if (!rc)
            rc = jm_keep_file(k->w, k->err, f->times, as);
    }
    if (!rc && !k->windows)
        rc = jm_err_set(k->err, JM_EPARSE, "%s has no window: its timestamps are fewer than two edges.",
                        k->d->dir);
    static const char *const logs[] = {"log.txt", "results.txt"};
    for (size_t i = 0; !rc && i < 2; i++) {
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", k->d->dir, logs[i]);
        rc = jm_keep_file(k->w, k->err, path, logs[i]);
    }
    if (!rc)
        rc = claim(k, "Median energy cost", "j_per.request_ok", k->d->median_uj, "uJ/inf.", "wall", -1);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "tiny.model", "%s", k->d->model);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "tiny.device", "%s", k->d->device);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "tiny.instrument", "%s", k->d->instrument);
    if (!rc && k->d->volts_mv > 0)
        rc = jm_keep_env(k->w, k->err, "tiny.supply", "%lld mV", (long long)k->d->volts_mv);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "tiny.samples", "%lld", (long long)k->samples);
    if (!rc)
        rc = jm_keep_env(k->w, k->err, "tiny.samples_lost", "%lld", (long long)k->lost);
    if (!rc)
        rc = jm_keep_env(
            k->w, k->err, "import.times",
            "edges of the device within its trace; the day is that of the runner's session, whose zone "
            "is not "
            "known");
    return rc ? rc : jm_run_put_env(k->w, "import.kind", "mlperf-tiny", k->err);
}

static int import(const char *path, const char *out_path, const struct jm_import_opts *o, struct jm_err *err)
{
    struct work k = {.err = err, .channel = -1};
    k.d = calloc(1, sizeof *k.d);
    if (!k.d)
        return jm_err_set(err, JM_ENOMEM, "Out of memory while importing %s.", path);
    int rc = jm_tiny_list(path, k.d, err);
    if (rc) {
        free(k.d);
        return rc;
    }
    k.origin = session_start(k.d);
    rc = jm_keep_begin(&k.w, path, out_path, o, k.origin, err);
    if (!rc)
        rc = jm_keep_end(k.w, out_path, fill(&k), err);
    jm_tiny_list_release(k.d);
    free(k.d);
    return rc;
}

const struct jm_importer jm_import_mlperf_tiny = {
    .name = "mlperf-tiny",
    .summary = "MLPerf Tiny energy run (folder with *-energy.bin and *-timestamps.json, or results.txt and "
               "results.json)",
    .reads = "energy of every sample, the edges of the device, log.txt and results.txt",
    .lacks = "the time of each inference; what the energy monitor is accurate to",
    .sniff = sniff,
    .import = import,
};
