/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/file.h"

#include "base/banned.h"

#define LINE_MOST ((size_t)1 << 20)

/* The next line, pages behind it given back; a longer one than LINE_MOST is passed over and *too_long. */
static bool next_line(const struct jm_ifile *f, size_t *at, size_t *mark, struct jm_span *line,
                      bool *too_long)
{
    size_t begin = *at, end = begin, n = f->text.n;
    const char *p = f->text.p, *nl = NULL;
    if (begin >= n)
        return false;
    *too_long = false;
    while (end < n && !nl) {
        size_t step = n - end < LINE_MOST ? n - end : LINE_MOST;
        nl = memchr(p + end, '\n', step);
        end = nl ? (size_t)(nl - p) : end + step;
        if (!nl && end - begin >= LINE_MOST) {
            *too_long = true;
            jm_ifile_used(f, p + end, mark);
        }
    }
    *too_long |= end - begin > LINE_MOST;
    *line = *too_long ? (struct jm_span){0} : (struct jm_span){p + begin, end - begin};
    *at = nl ? end + 1 : end;
    return true;
}

int jm_training_scan(const char *path, jm_training_fn fn, void *self, int64_t *broken, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_span line;
    size_t at = 0, mark = 0;
    int64_t number = 0;
    bool too_long;
    *broken = 0;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    while (!rc && next_line(&f, &at, &mark, &line, &too_long)) {
        struct jm_mllog e;
        number++;
        int got = too_long ? JM_EPARSE : jm_mllog_parse(line, &e, NULL);
        if (got == 0)
            rc = fn(self, &e, number);
        else if (got != JM_EAGAIN)
            ++*broken;
        jm_ifile_used(&f, f.text.p + at, &mark);
    }
    jm_ifile_close(&f);
    return rc;
}

/* ---- the log of a run
 * ---------------------------------------------------------------------------------------------- */

static void keep(char *out, size_t cap, const struct jm_mllog *e)
{
    if (!out[0] && e->is_string)
        snprintf(out, cap, "%.*s", (int)(e->text.n < cap ? e->text.n : cap - 1), e->text.p);
    jm_text_plain(out, strlen(out), false);
}

static int on_run(void *self, const struct jm_mllog *e, int64_t line)
{
    struct jm_training_log *l = self;
    (void)line;
    if (jm_span_is(e->key, "run_start") && !l->has_stop && e->has_time) {
        l->has_start = true; /* the last one before the stop counts, as in the public code */
        l->start_us = e->time_us;
    } else if (jm_span_is(e->key, "run_stop") && !l->has_stop && e->has_time) {
        l->has_stop = l->has_start;
        l->stop_us = e->time_us;
        l->success = jm_span_is(jm_mllog_meta(e, "status"), "success");
    } else if (jm_span_is(e->key, "submission_benchmark")) {
        keep(l->benchmark, sizeof l->benchmark, e);
    } else if (jm_span_is(e->key, "submission_org")) {
        keep(l->submitter, sizeof l->submitter, e);
    } else if (jm_span_is(e->key, "submission_division")) {
        keep(l->division, sizeof l->division, e);
    } else if (jm_span_is(e->key, "submission_status")) {
        keep(l->status, sizeof l->status, e);
    } else if (jm_span_is(e->key, "submission_platform")) {
        keep(l->platform, sizeof l->platform, e);
    } else if (jm_span_is(e->key, "number_of_nodes") && e->is_number) {
        l->nodes = e->number;
    }
    return 0;
}

int jm_training_read_log(const char *path, struct jm_training_log *out, struct jm_err *err)
{
    memset(out, 0, sizeof *out);
    out->nodes = NAN;
    return jm_training_scan(path, on_run, out, &out->broken, err);
}

/* ---- power logs
 * ---------------------------------------------------------------------------------------------------- */

static bool point_of(const struct jm_mllog *e, struct jm_training_point *p)
{
    static const char *const keys[] = {"power_measurement_start", "power_reading", "power_measurement_stop",
                                       "conversion_eff", "interconnect_power_est"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (jm_span_is(e->key, keys[i])) {
            *p = (struct jm_training_point){
                .kind = (uint8_t)i, .t_us = e->time_us, .value = e->is_number ? e->number : NAN};
            return true;
        }
    return false;
}

struct looking {
    struct jm_training_look *l;
    int64_t last;
};

static int on_look(void *self, const struct jm_mllog *e, int64_t line)
{
    struct looking *k = self;
    struct jm_training_point p;
    struct jm_training_look *l = k->l;
    (void)line;
    if (!point_of(e, &p))
        return 0;
    if (!e->has_time || (p.kind == JM_TP_READING && isnan(p.value))) {
        l->bad++;
        return 0;
    }
    if (l->points++ && p.t_us < k->last)
        l->ordered = false;
    k->last = p.t_us;
    if (p.kind == JM_TP_START) {
        l->has_start = true;
        l->start_us = p.t_us;
    } else if (p.kind == JM_TP_STOP) {
        l->has_stop = true;
        l->stop_us = p.t_us;
    } else if (p.kind == JM_TP_ESTIMATE) {
        if (isnan(l->estimate_w))
            l->estimate_w = p.value;
    } else if (p.kind == JM_TP_EFFICIENCY) {
        l->efficiency = p.value;
        struct jm_span type = jm_mllog_meta(e, "measurement_type");
        snprintf(l->type, sizeof l->type, "%.*s", (int)(type.n < 15 ? type.n : 15), type.n ? type.p : "");
        jm_text_plain(l->type, strlen(l->type), false);
    } else if (p.kind == JM_TP_READING) {
        if (p.value < 0)
            l->bad++;
        if (!l->readings++ || p.t_us < l->first_us)
            l->first_us = p.t_us;
        if (l->readings == 1 || p.t_us > l->last_us)
            l->last_us = p.t_us;
    }
    return 0;
}

int jm_training_look(const char *path, struct jm_training_look *out, struct jm_err *err)
{
    struct looking k = {out, 0};
    memset(out, 0, sizeof *out);
    out->ordered = true;
    out->efficiency = out->estimate_w = NAN;
    return jm_training_scan(path, on_look, &k, &out->broken, err);
}

struct points {
    struct jm_training_point *v; /* NULL: hand them on as they come */
    size_t n, cap;
    jm_training_point_fn fn;
    void *self;
};

static int on_point(void *self, const struct jm_mllog *e, int64_t line)
{
    struct points *k = self;
    struct jm_training_point p;
    (void)line;
    if (!point_of(e, &p) || !e->has_time || (p.kind == JM_TP_READING && isnan(p.value)))
        return 0;
    if (!k->v)
        return k->fn(k->self, &p);
    if (k->n < k->cap) { /* the file may have grown since */
        p.order = (uint32_t)k->n;
        k->v[k->n++] = p;
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct jm_training_point *x = a, *y = b;
    if (x->t_us != y->t_us)
        return x->t_us < y->t_us ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

int jm_training_points(const char *path, const struct jm_training_look *look, jm_training_point_fn fn,
                       void *self, struct jm_err *err)
{
    struct points k = {.fn = fn, .self = self};
    int64_t broken;
    if (look->ordered)
        return jm_training_scan(path, on_point, &k, &broken, err);
    if (look->points > (int64_t)JM_TRAINING_SORT)
        return jm_err_set(
            err, JM_ELIMIT,
            "%s is not in order of time and has %lld lines, more than the %zu that are put in order; "
            "sort it by time_ms.",
            path, (long long)look->points, JM_TRAINING_SORT);
    k.cap = (size_t)look->points;
    if (!(k.v = malloc((k.cap ? k.cap : 1) * sizeof *k.v)))
        return jm_err_set(err, JM_ENOMEM, "Out of memory while reading %s.", path);
    int rc = jm_training_scan(path, on_point, &k, &broken, err);
    if (!rc && k.n)
        qsort(k.v, k.n, sizeof *k.v, by_time);
    for (size_t i = 0; !rc && i < k.n; i++)
        rc = fn(self, &k.v[i]);
    free(k.v);
    return rc;
}

#define ZONE_US (900 * INT64_C(1000000))
#define NEAR_US (30 * INT64_C(1000000))

int64_t jm_training_shift(const struct jm_training_look *l, int64_t run_a_us, int64_t run_b_us,
                          bool has_reference, int64_t reference_us, bool *zone)
{
    *zone = false;
    if (!l->readings || (l->last_us > run_a_us && l->first_us < run_b_us))
        return 0;
    int64_t mine = l->has_start ? l->start_us : l->first_us;
    int64_t raw = (has_reference ? reference_us : run_a_us) - mine;
    int64_t whole = (raw >= 0 ? raw + ZONE_US / 2 : raw - ZONE_US / 2) / ZONE_US * ZONE_US;
    int64_t apart = raw > whole ? raw - whole : whole - raw;
    *zone = whole && apart <= (has_reference ? NEAR_US : 2 * NEAR_US);
    return *zone ? whole : has_reference ? raw : 0;
}
