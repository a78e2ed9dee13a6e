/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/training.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "base/stats.h"
#include "mlperf/training_part.h"

#include "base/banned.h"

#define DOC_MOST (1u << 20)

bool jm_training_at(const char *path)
{
    return jm_training_dir_at(path);
}

static int nomem(const char *path, struct jm_err *err)
{
    return jm_err_set(err, JM_ENOMEM, "Out of memory while reading the training result %s.", path);
}

/* The run's parts: their looks first, so that a clock that is hours off can be laid on the others. */
static int read_parts(const struct jm_training_files *f, struct jm_training_run *r, const char *dir,
                      struct jm_err *err)
{
    struct jm_training_span span = {r->start_ms * 1000, r->stop_ms * 1000};
    int64_t reference = 0;
    bool has_reference = false;
    int rc = 0;
    struct jm_training_look *look = calloc(f->n ? f->n : 1, sizeof *look);
    r->part = calloc(f->n ? f->n : 1, sizeof *r->part);
    if (!look || !r->part) {
        free(look);
        return nomem(dir, err);
    }
    for (size_t i = 0; i < f->n && !rc; i++) {
        struct jm_training_part *p = &r->part[i];
        struct jm_err why = {0};
        snprintf(p->name, sizeof p->name, "%s", f->file[i].name);
        p->is_switch = f->file[i].is_switch;
        p->index = f->file[i].index;
        int got = jm_training_look(f->file[i].path, &look[i], &why);
        if (got == JM_ENOMEM)
            rc = nomem(dir, err);
        else if (got)
            snprintf(p->why, sizeof p->why, "%.250s", why.text);
        r->broken += look[i].broken;
        bool touches = look[i].readings && look[i].last_us > span.a_us && look[i].first_us < span.b_us;
        if (touches && !has_reference) {
            has_reference = true;
            reference = look[i].has_start ? look[i].start_us : look[i].first_us;
        }
        r->n_part++;
        r->nodes += !p->is_switch;
        r->switches += p->is_switch;
    }
    for (size_t i = 0; i < f->n && !rc; i++) {
        if (r->part[i].why[0]) { /* cannot be read at all */
            r->part[i].published_j = r->part[i].proper_j = r->part[i].input_j = NAN;
            r->part[i].estimate_w = r->part[i].max_gap_s = r->part[i].mean_gap_s = NAN;
            r->part[i].mean_w = r->part[i].measured_s = r->part[i].starts_apart_s = NAN;
            r->part[i].efficiency = NAN;
            continue;
        }
        rc = jm_training_part_read(f->file[i].path, &look[i], &span, has_reference, reference, &r->part[i],
                                   err);
    }
    /* starts against the median start, clocks aligned */
    double *start = calloc(f->n ? f->n : 1, sizeof *start);
    size_t n = 0;
    if (!start)
        rc = rc ? rc : nomem(dir, err);
    for (size_t i = 0; i < f->n && start; i++)
        if (look[i].readings)
            start[n++] =
                (double)(look[i].has_start ? look[i].start_us : look[i].first_us) / 1e6 + r->part[i].offset_s;
    if (n) {
        jm_stats_sort(start, n);
        double middle = jm_stats_quantile_sorted(start, n, 0.5);
        for (size_t i = 0; i < f->n; i++)
            if (look[i].readings)
                r->part[i].starts_apart_s =
                    (double)(look[i].has_start ? look[i].start_us : look[i].first_us) / 1e6 +
                    r->part[i].offset_s - middle;
    }
    free(start);
    free(look);
    return rc;
}

static void sum_parts(struct jm_training_run *r)
{
    const struct jm_training_part *odd = NULL;
    r->published_j = r->proper_j = r->input_j = r->nodes_j = r->switches_j = 0;
    for (size_t i = 0; i < r->n_part; i++) {
        const struct jm_training_part *p = &r->part[i];
        r->published_j += p->published_j;
        r->proper_j += p->proper_j;
        r->input_j += p->input_j;
        *(p->is_switch ? &r->switches_j : &r->nodes_j) += p->proper_j;
        if (!odd && (isnan(p->published_j) || isnan(p->proper_j)))
            odd = p;
    }
    if (!r->nodes) {
        r->published_j = r->proper_j = r->input_j = r->nodes_j = NAN;
        snprintf(r->why, sizeof r->why, "Its power folder has no node_*.txt.");
    } else if (odd) {
        snprintf(r->why, sizeof r->why, "%.60s: %.180s", odd->name, odd->why);
    }
}

static int read_run(struct jm_training_result *t, const struct jm_training_files *f,
                    struct jm_training_run *r, struct jm_err *err)
{
    struct jm_training_log log;
    snprintf(r->name, sizeof r->name, "%s", f->name);
    r->has_power = f->power != NULL;
    r->file_name = f->file_name;
    r->others = f->others;
    r->seconds = r->published_j = r->proper_j = r->input_j = r->nodes_j = r->switches_j = NAN;
    if (!f->log) {
        snprintf(r->why, sizeof r->why, "There is power of this run, but no %.200s.txt.", f->name);
        return 0;
    }
    struct jm_err why = {0};
    int rc = jm_training_read_log(f->log, &log, &why);
    if (rc == JM_ENOMEM)
        return nomem(t->dir, err);
    if (rc) {
        snprintf(r->why, sizeof r->why, "%.250s", why.text);
        return 0;
    }
    r->broken = log.broken;
    r->success = log.has_stop && log.success;
    if (!t->benchmark[0])
        snprintf(t->benchmark, sizeof t->benchmark, "%s", log.benchmark);
    if (!t->submitter[0])
        snprintf(t->submitter, sizeof t->submitter, "%s", log.submitter);
    if (!t->division[0])
        snprintf(t->division, sizeof t->division, "%s", log.division);
    if (!t->system[0])
        snprintf(t->system, sizeof t->system, "%s", log.platform);
    if (isnan(t->nodes_declared) && !isnan(log.nodes)) {
        t->nodes_declared = log.nodes;
        t->nodes_source = "number_of_nodes of the run's log";
    }
    if (!log.has_start || !log.has_stop || log.stop_us <= log.start_us) {
        snprintf(r->why, sizeof r->why, "Its log has no %s.",
                 !log.has_start  ? "run_start"
                 : !log.has_stop ? "run_stop after run_start"
                                 : "run_stop later than run_start");
        return 0;
    }
    r->start_ms = log.start_us / 1000;
    r->stop_ms = log.stop_us / 1000;
    r->seconds = (double)(log.stop_us - log.start_us) / 1e6;
    if (!f->power) {
        snprintf(r->why, sizeof r->why, "Its power was not measured, or its power folder is not here.");
        return 0;
    }
    rc = read_parts(f, r, t->dir, err);
    if (!rc)
        sum_parts(r);
    return rc;
}

/* JM_ENOMEM; else *out is the number, NaN where there is none. */
static int number_in(const char *path, const char *key, double *out)
{
    struct jm_str text;
    struct jm_json *doc;
    double v = NAN;
    struct jm_span s;
    jm_str_init(&text);
    int rc = jm_file_read_regular(path, DOC_MOST, &text, NULL);
    if (!rc && (rc = jm_json_parse(jm_str_span(&text), &doc, NULL)) == 0) {
        const struct jm_json *x = jm_json_get(doc, key);
        if (!jm_json_num(x, &v) && jm_json_str(x, &s) && jm_num_double(jm_span_trim(s), &v))
            v = NAN;
        jm_json_free(doc);
    }
    jm_str_release(&text);
    *out = v;
    return rc == JM_ENOMEM ? rc : 0;
}

/* .../<division>/<submitter>/results/<system>/<benchmark> */
static int by_path(struct jm_training_result *t)
{
    char p[8192], *part[5] = {0};
    errno = 0;
    char *abs = realpath(t->dir, NULL);
    if (!abs && errno == ENOMEM)
        return JM_ENOMEM;
    snprintf(p, sizeof p, "%s", abs ? abs : t->dir);
    free(abs);
    for (int i = 0; i < 5; i++) {
        char *slash = strrchr(p, '/');
        if (!slash)
            break;
        *slash = 0;
        part[i] = slash + 1;
    }
    jm_training_round(t->dir, t->round);
    if (!part[2] || strcmp(part[2], "results") != 0)
        return 0;
    snprintf(t->benchmark, sizeof t->benchmark, "%s", part[0]);
    snprintf(t->system, sizeof t->system, "%s", part[1]);
    snprintf(t->submitter, sizeof t->submitter, "%s", part[3] ? part[3] : "");
    char file[9000];
    snprintf(file, sizeof file, "%s/../../../systems/%s.json", t->dir, t->system);
    double nodes;
    int rc = number_in(file, "number_of_nodes", &nodes);
    if (!rc && nodes > 0) {
        t->nodes_declared = nodes;
        t->nodes_source = "number_of_nodes of the system description";
    }
    return rc;
}

/* ---- the Olympic mean, mlcommons/logging result_summarizer.py _compute_strong_score_standalone and
 * _index_olympic_average: runs in the order of their times; those that did not converge count as the slowest
 * ---- */

struct scored {
    double seconds, published, proper, input;
};

static int by_seconds(const void *a, const void *b)
{
    double x = ((const struct scored *)a)->seconds, y = ((const struct scored *)b)->seconds;
    return x < y ? -1 : x > y;
}

static int olympic(struct jm_training_result *t, struct jm_err *err)
{
    size_t n = 0, dropped = 0, most = (size_t)t->left_out, from, to;
    struct scored *s = calloc(t->n_run ? t->n_run : 1, sizeof *s);
    if (!s)
        return nomem(t->dir, err);
    for (size_t i = 0; i < t->n_run; i++) {
        const struct jm_training_run *r = &t->run[i];
        if (r->success && !isnan(r->seconds))
            s[n++] = (struct scored){r->seconds, r->published_j, r->proper_j, r->input_j};
        else
            dropped++;
    }
    qsort(s, n, sizeof *s, by_seconds);
    from = most;
    to = dropped <= most && n > most - dropped ? n - (most - dropped) : 0;
    if (dropped > most)
        snprintf(t->why, sizeof t->why, "%zu of %zu runs did not converge, and only %zu may be left out.",
                 dropped, t->n_run, most);
    else if (from >= to)
        snprintf(t->why, sizeof t->why, "%zu run%s %s too few: %zu at each end %s left out.", t->n_run,
                 t->n_run == 1 ? "" : "s", t->n_run == 1 ? "is" : "are", most, most == 1 ? "is" : "are");
    else {
        double sum[4] = {0}, count = (double)(to - from);
        for (size_t i = from; i < to; i++) {
            sum[0] += s[i].published;
            sum[1] += s[i].proper;
            sum[2] += s[i].input;
            sum[3] += s[i].seconds;
        }
        t->published_j = sum[0] / count * t->scaling;
        t->proper_j = sum[1] / count * t->scaling;
        t->input_j = sum[2] / count * t->scaling;
        t->minutes = sum[3] / count / 60 * t->scaling;
        if (t->n_power < t->n_run)
            snprintf(t->why, sizeof t->why,
                     "Only %zu of %zu runs have power, so their Olympic mean is not known.", t->n_power,
                     t->n_run);
    }
    free(s);
    return 0;
}

int jm_training_read(const char *path, struct jm_training_result **out, struct jm_err *err)
{
    struct jm_training_dir dir;
    char file[8192];
    int rc = jm_training_list(path, &dir, err);
    if (rc)
        return rc;
    struct jm_training_result *t = calloc(1, sizeof *t);
    if (t)
        t->run = calloc(dir.n, sizeof *t->run);
    if (!t || !t->run)
        rc = nomem(path, err);
    if (!rc) {
        snprintf(t->dir, sizeof t->dir, "%s", path);
        t->nodes_declared = t->published_j = t->proper_j = t->input_j = t->minutes = NAN;
        snprintf(file, sizeof file, "%s/scaling.json", path);
        if (by_path(t) || number_in(file, "scaling_factor", &t->scaling))
            rc = nomem(path, err);
        if (isnan(t->scaling))
            t->scaling = 1;
    }
    for (size_t i = 0; !rc && i < dir.n; i++) {
        t->n_run++;
        rc = read_run(t, &dir.run[i], &t->run[i], err);
        t->n_power += t->run[i].has_power;
    }
    if (!rc) {
        t->left_out = strcmp(t->benchmark, "unet3d") == 0 ? 4 : 1;
        rc = olympic(t, err);
    }
    jm_training_list_release(&dir);
    if (rc)
        jm_training_free(t);
    else
        *out = t;
    return rc;
}

void jm_training_free(struct jm_training_result *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_run; i++)
        free(t->run[i].part);
    free(t->run);
    free(t);
}
