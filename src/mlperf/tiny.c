/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/tiny.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "import/mlperf_tiny.h"
#include "import/mlperf_training.h"

#include "base/banned.h"

bool jm_tiny_at(const char *path)
{
    return jm_tiny_dir_at(path);
}

static int nomem(const char *path, struct jm_err *err)
{
    return jm_err_set(err, JM_ENOMEM, "Out of memory while reading the Tiny run %s.", path);
}

struct walk {
    struct jm_tiny_window *w;
    size_t n, at;       /* windows of this trace, the first that is not over */
    double step, clock; /* the runner's running sum of time, which is what its edges are compared with */
    double last;        /* the last good sample, for a lost one */
    int64_t samples, dropped;
};

static int on_sample(void *self, int64_t i, double uj)
{
    struct walk *k = self;
    double t0 = (double)i * k->step, t1 = (double)(i + 1) * k->step;
    bool lost = isnan(uj);
    k->samples++;
    k->dropped += lost;
    if (!lost)
        k->last = uj;
    while (k->at < k->n && k->w[k->at].end_s + k->step < t0)
        k->at++;
    for (size_t j = k->at; j < k->n && k->w[j].start_s < t1 + k->step; j++) {
        struct jm_tiny_window *w = &k->w[j];
        if (k->clock >= w->start_s && k->clock < w->end_s) {
            w->samples++;
            w->dropped += lost;
            if (!lost)
                w->published_uj += uj;
        }
        double from = t0 > w->start_s ? t0 : w->start_s, to = t1 < w->end_s ? t1 : w->end_s;
        if (to > from)
            w->proper_uj += (lost ? k->last : uj) * ((to - from) / k->step);
    }
    k->clock += k->step;
    return 0;
}

/* step is known with the head of the file only; the first sample brings it. */
struct first {
    struct walk *k;
    double *rate;
    bool begun;
};

static int on_first(void *self, int64_t i, double uj)
{
    struct first *f = self;
    if (!f->begun) {
        f->begun = true;
        f->k->step = 1 / *f->rate;
        f->k->last = NAN;
    }
    return on_sample(f->k, i, uj);
}

static int read_trace(struct jm_tiny_result *r, const struct jm_tiny_dir *d, const struct jm_tiny_file *t,
                      size_t *inference, struct jm_err *err)
{
    double *edge = NULL, rate = NAN;
    size_t n = 0, rest;
    struct jm_err why = {0};
    int rc = jm_tiny_edges(t->times, &edge, &n, &why);
    if (rc == JM_ENOMEM)
        return nomem(r->dir, err);
    if (rc) {
        snprintf(r->why, sizeof r->why, "%.250s", why.text);
        return 0;
    }
    size_t first = jm_tiny_first(d, n), count = n > first ? (n - first) / 2 : 0;
    if (count > JM_TINY_WINDOWS)
        count = JM_TINY_WINDOWS;
    struct jm_tiny_window *more = realloc(r->window, (r->n_window + count + 1) * sizeof *more);
    if (!more) {
        free(edge);
        return nomem(r->dir, err);
    }
    r->window = more;
    struct jm_tiny_window *w = &r->window[r->n_window];
    for (size_t i = 0; i < count; i++) {
        w[i] = (struct jm_tiny_window){.number = (int)(first + 2 * i + 1),
                                       .start_s = edge[first + 2 * i],
                                       .end_s = edge[first + 2 * i + 1],
                                       .inferences = NAN,
                                       .published_per = NAN,
                                       .proper_per = NAN,
                                       .claimed_uj = NAN,
                                       .claimed_per = NAN};
        snprintf(w[i].trace, sizeof w[i].trace, "%s", t->name);
    }
    r->n_edges += n;
    free(edge);
    struct walk k = {.w = w, .n = count, .step = NAN, .last = NAN};
    struct first f = {.k = &k, .rate = &rate};
    rc = jm_tiny_samples(t->energy, &rate, on_first, &f, &rest, &why);
    if (rc == JM_ENOMEM)
        return nomem(r->dir, err);
    if (rc) {
        snprintf(r->why, sizeof r->why, "%.250s", why.text);
        return 0;
    }
    if (isnan(r->rate_hz))
        r->rate_hz = rate;
    r->samples += k.samples;
    r->dropped += k.dropped;
    if (rest)
        snprintf(r->why, sizeof r->why, "%s-energy.bin is cut inside a sample.", t->name);
    double length = (double)k.samples / rate;
    for (size_t i = 0; i < count; i++) {
        if (w[i].end_s > length + 1 / rate) { /* the trace ends before the window */
            w[i].published_uj = w[i].proper_uj = NAN;
            snprintf(r->why, sizeof r->why, "%s-energy.bin ends at %.3f s, before window %d does (%.3f s).",
                     t->name, length, w[i].number, w[i].end_s);
        }
        for (size_t c = 0; c < d->n_claim; c++)
            if (d->claim[c].number == w[i].number && d->n == 1) {
                w[i].claimed_uj = d->claim[c].uj;
                w[i].claimed_per = d->claim[c].per_uj;
                w[i].inferences = d->claim[c].inferences;
            }
        if (*inference < d->n_inferences)
            w[i].inferences = d->inferences[(*inference)++];
        if (w[i].inferences > 0) {
            w[i].published_per = w[i].published_uj / w[i].inferences;
            w[i].proper_per = w[i].proper_uj / w[i].inferences;
        }
    }
    r->n_window += count;
    return 0;
}

struct trials {
    struct jm_tiny_result *r;
    const struct jm_tiny_dir *d;
    struct jm_tiny_trial at;
    int64_t n;   /* samples of the trial */
    double last; /* the last good one, for a lost one */
};

static struct jm_tiny_window *add_window(struct jm_tiny_result *r, const struct jm_tiny_dir *d, int number)
{
    if ((r->n_window & (r->n_window + 1)) == 0) { /* room for 1, 3, 7, ... */
        struct jm_tiny_window *more = realloc(r->window, (2 * r->n_window + 1) * sizeof *more);
        if (!more)
            return NULL;
        r->window = more;
    }
    struct jm_tiny_window *w = &r->window[r->n_window++];
    *w = (struct jm_tiny_window){.number = number,
                                 .start_s = NAN,
                                 .end_s = NAN,
                                 .published_uj = NAN,
                                 .proper_uj = NAN,
                                 .inferences = NAN,
                                 .published_per = NAN,
                                 .proper_per = NAN,
                                 .claimed_uj = NAN,
                                 .claimed_per = NAN};
    snprintf(w->trace, sizeof w->trace, "trial");
    for (size_t c = 0; c < d->n_claim; c++)
        if (d->claim[c].number == number) {
            w->claimed_uj = d->claim[c].uj;
            w->claimed_per = d->claim[c].per_uj;
            w->inferences = d->claim[c].inferences;
            w->start_s = 0;
            w->end_s = d->claim[c].seconds;
        }
    return w;
}

/* Whole samples are all that is known of the edges: both figures differ by lost samples alone. */
static void close_trial(struct trials *k)
{
    struct jm_tiny_result *r = k->r;
    if (!r->n_window || !r->has_samples)
        return;
    struct jm_tiny_window *w = &r->window[r->n_window - 1];
    if (k->at.stamps < 2 || k->at.stop > k->n || k->at.stop <= k->at.start) {
        w->published_uj = w->proper_uj = NAN;
        snprintf(r->why, sizeof r->why,
                 k->at.stamps < 2 ? "Trial %d of results.json has no two edges."
                                  : "The edges of trial %d do not lie in its samples.",
                 k->at.number);
    }
    if (w->inferences > 0) {
        w->published_per = w->published_uj / w->inferences;
        w->proper_per = w->proper_uj / w->inferences;
    }
}

static int on_trial(void *self, const struct jm_tiny_trial *t, struct jm_err *err)
{
    struct trials *k = self;
    struct jm_tiny_result *r = k->r;
    close_trial(k);
    k->at = *t;
    k->n = 0;
    k->last = NAN;
    struct jm_tiny_window *w = add_window(r, k->d, t->number);
    if (!w)
        return nomem(r->dir, err);
    r->has_samples = true;
    w->start_s = (double)t->start / JM_TINY_TRIAL_HZ;
    w->end_s = (double)t->stop / JM_TINY_TRIAL_HZ;
    w->published_uj = w->proper_uj = 0;
    if (t->inferences > 0)
        w->inferences = t->inferences;
    r->n_edges += t->stamps;
    r->lost_edge |= t->broken;
    if (t->volts > 0 && t->volts < 1000)
        r->volts_mv = (int64_t)(t->volts * 1000 + 0.5);
    return 0;
}

static int on_trial_sample(void *self, int64_t i, double uj)
{
    struct trials *k = self;
    struct jm_tiny_window *w = &k->r->window[k->r->n_window - 1];
    k->n = i + 1;
    k->r->samples++;
    k->r->dropped += isnan(uj);
    if (!isnan(uj))
        k->last = uj;
    if (i >= k->at.start && i < k->at.stop) {
        w->samples++;
        w->dropped += isnan(uj);
        if (!isnan(uj))
            w->published_uj += uj;
        w->proper_uj += k->last;
    }
    return 0;
}

static int read_trials(struct jm_tiny_result *r, const struct jm_tiny_dir *d, struct jm_err *err)
{
    struct trials k = {.r = r, .d = d};
    struct jm_err why = {0};
    r->trials = true;
    if (d->json) {
        int rc = jm_tiny_trials(d->json, on_trial, on_trial_sample, &k, &why);
        if (rc == JM_ENOMEM)
            return nomem(r->dir, err);
        close_trial(&k);
        r->rate_hz = JM_TINY_TRIAL_HZ;
        if (rc)
            snprintf(r->why, sizeof r->why, "%.250s", why.text);
    }
    if (!r->has_samples)
        for (size_t i = 0; i < d->n_claim; i++)
            if (!isnan(d->claim[i].uj) && !add_window(r, d, d->claim[i].number))
                return nomem(r->dir, err);
    if (!d->json && isfinite(d->median_uj))
        snprintf(r->why, sizeof r->why,
                 "results.txt claims a median of %.8g uJ per inference; the samples (results.json) were not "
                 "submitted.",
                 d->median_uj);
    else if (!d->json)
        snprintf(r->why, sizeof r->why, "The samples (results.json) were not submitted.");
    return 0;
}

/* Middle of the values; NaN when one of them is not known. */
static double median(const struct jm_tiny_result *r, int what, double *room)
{
    for (size_t i = 0; i < r->n_window; i++) {
        const struct jm_tiny_window *w = &r->window[i];
        room[i] = what == 0   ? w->published_per
                  : what == 1 ? w->proper_per
                              : w->inferences / (w->end_s - w->start_s);
        if (isnan(room[i]))
            return NAN;
    }
    jm_stats_sort(room, r->n_window);
    return jm_stats_quantile_sorted(room, r->n_window, 0.5);
}

static bool benchmark(const char *name)
{
    static const char *const names[] = {"ad",
                                        "ic",
                                        "kws",
                                        "vww",
                                        "sww",
                                        "anomaly_detection",
                                        "image_classification",
                                        "keyword_spotting",
                                        "visual_wake_words",
                                        "streaming_wakeword"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* .../<division>/<submitter>/results/<system>/<benchmark>[/energy]; the system may be two folders, such as
 * <compiler>/<board>. */
static void by_path(struct jm_tiny_result *r)
{
    char p[8192], *part[7] = {0};
    char *abs = realpath(r->dir, NULL);
    snprintf(p, sizeof p, "%s", abs ? abs : r->dir);
    free(abs);
    for (int i = 0; i < 7; i++) {
        char *slash = strrchr(p, '/');
        if (!slash)
            break;
        *slash = 0;
        part[i] = slash + 1;
    }
    int of = part[0] && benchmark(part[0]) ? 0 : 1;
    for (int i = 2; i < 6; i++)
        if (part[i] && strcmp(part[i], "results") == 0) {
            int b = i == 2 ? 0 : of, s = i - 1;
            snprintf(r->system, sizeof r->system, "%s", part[s]);
            while (--s > b)
                snprintf(r->system + strlen(r->system), sizeof r->system - strlen(r->system), "/%s", part[s]);
            snprintf(r->benchmark, sizeof r->benchmark, "%s", part[b]);
            snprintf(r->submitter, sizeof r->submitter, "%s", part[i + 1] ? part[i + 1] : "");
            return;
        }
}

int jm_tiny_read(const char *path, struct jm_tiny_result **out, struct jm_err *err)
{
    struct jm_tiny_dir *d = calloc(1, sizeof *d);
    struct jm_tiny_result *r = calloc(1, sizeof *r);
    size_t inference = 0;
    if (!d || !r) {
        free(d);
        free(r);
        return nomem(path, err);
    }
    int rc = jm_tiny_list(path, d, err);
    if (rc) {
        free(d);
        free(r);
        return rc;
    }
    snprintf(r->dir, sizeof r->dir, "%s", path);
    snprintf(r->model, sizeof r->model, "%s", d->model);
    snprintf(r->device, sizeof r->device, "%s", d->device);
    snprintf(r->instrument, sizeof r->instrument, "%s", d->instrument);
    snprintf(r->error, sizeof r->error, "%s", d->error);
    jm_training_round(path, r->round);
    r->errors = d->errors;
    r->volts_mv = d->volts_mv;
    r->drop_limit = d->drop_limit;
    r->bad_percent = d->bad_percent;
    r->claimed_median = d->median_uj;
    r->energy_mode = d->energy_mode;
    r->has_log = d->has_log;
    r->has_results = d->has_results;
    r->n_commands = d->n_inferences;
    r->rate_hz = r->median_published = r->median_proper = r->throughput = NAN;
    by_path(r);
    if (d->trials)
        rc = read_trials(r, d, err);
    for (size_t i = 0; i < d->n && !rc; i++)
        rc = read_trace(r, d, &d->trace[i], &inference, err);
    double *room = rc ? NULL : calloc(r->n_window + 1, sizeof *room);
    if (!rc && !room)
        rc = nomem(path, err);
    if (!rc && r->n_window) {
        r->median_published = median(r, 0, room);
        r->median_proper = median(r, 1, room);
        r->throughput = median(r, 2, room);
    }
    if (!rc && !r->why[0] && isnan(r->median_published))
        snprintf(r->why, sizeof r->why, "%s",
                 r->n_window ? "log.txt does not say how many inferences ran in each window."
                             : "The timestamps hold no window.");
    free(room);
    jm_tiny_list_release(d);
    free(d);
    if (rc)
        jm_tiny_free(r);
    else
        *out = r;
    return rc;
}

void jm_tiny_free(struct jm_tiny_result *r)
{
    if (r)
        free(r->window);
    free(r);
}
