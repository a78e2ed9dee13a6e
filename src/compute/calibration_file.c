/* SPDX-License-Identifier: Apache-2.0 */
/* *.jmcal: a small JSON document, versioned by its schema. */
#include "compute/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#include "base/banned.h"

#define SCHEMA "joulemark.calibration/1"

static void numbers(struct jm_jsonw *w, const char *key, const double *v, int n)
{
    jm_jsonw_key(w, key);
    jm_jsonw_array(w);
    for (int i = 0; i < n; i++)
        jm_jsonw_num(w, v[i]);
    jm_jsonw_end(w);
}

static void relation(struct jm_jsonw *w, const struct jm_cal_relation *r)
{
    int p = r->bend ? 3 : 2;
    double range[2] = {r->lo, r->hi}, cov[9];
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "boundary", jm_boundary_name((int)r->boundary));
    jm_jsonw_kstr(w, "set", r->set);
    jm_jsonw_kstr(w, "instrument", r->instrument);
    jm_jsonw_knum(w, "fixed_w", r->beta[0]);
    jm_jsonw_knum(w, "slope", r->beta[1]);
    if (r->bend) {
        jm_jsonw_knum(w, r->cube ? "cube_w" : "knee_w", r->knee);
        jm_jsonw_knum(w, r->cube ? "cube" : "slope_more_above", r->beta[2]);
    }
    numbers(w, "range_w", range, 2);
    jm_jsonw_knum(w, "gain", r->gain);
    jm_jsonw_knum(w, "scatter_w", r->scatter);
    jm_jsonw_knum(w, "dof", r->dof);
    jm_jsonw_knum(w, "widen", r->widen);
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            cov[i * p + j] = r->cov[i][j];
    numbers(w, "covariance", cov, p * p);
    jm_jsonw_key(w, "levels");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_level; i++) {
        const struct jm_cal_level *l = &r->level[i];
        jm_jsonw_object(w);
        jm_jsonw_knum(w, "gpu_w", l->gpu_w);
        jm_jsonw_knum(w, "u_gpu_w", l->u_gpu);
        jm_jsonw_knum(w, "w", l->w);
        jm_jsonw_knum(w, "u_w", l->u);
        jm_jsonw_ki64(w, "windows", l->windows);
        jm_jsonw_kbool(w, "idle", l->idle);
        jm_jsonw_knum(w, "residual_w", l->residual);
        jm_jsonw_knum(w, "left_out_w", l->left_out);
        jm_jsonw_knum(w, "left_out_half_w", l->left_out_half);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

int jm_calibration_write(const struct jm_calibration *c, struct jm_str *out, struct jm_err *err)
{
    struct jm_jsonw w;
    const struct jm_cal_machine *m = &c->machine;
    jm_jsonw_init(&w, out, 1);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", SCHEMA);
    jm_jsonw_kstr(&w, "joulemark", c->joulemark);
    jm_jsonw_kstr(&w, "created", c->created);
    jm_jsonw_kbool(&w, "simulated", c->simulated);
    jm_jsonw_key(&w, "machine");
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "host", m->host[0] ? m->host : NULL);
    jm_jsonw_kstr(&w, "driver", m->driver[0] ? m->driver : NULL);
    jm_jsonw_kstr(&w, "supplies", m->supplies[0] ? m->supplies : NULL);
    jm_jsonw_kstr(&w, "ambient", m->ambient[0] ? m->ambient : NULL);
    jm_jsonw_kstr(&w, "gpu_instrument", m->gpu_instrument);
    jm_jsonw_key(&w, "gpus");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < m->n_gpu; i++)
        jm_jsonw_str(&w, m->gpu[i]);
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "runs");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < c->n_run; i++) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "file", c->run[i].file);
        jm_jsonw_kstr(&w, "sha256", c->run[i].sha256);
        jm_jsonw_kstr(&w, "label", c->run[i].label);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "relations");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < c->n_relation; i++)
        relation(&w, &c->relation[i]);
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    jm_str_addc(out, '\n');
    return jm_str_ok(out, "the calibration", err);
}

/* ---- reading */

struct reader {
    struct jm_err *err;
    int rc;
};

static void bad(struct reader *r, const char *key, const char *want)
{
    if (!r->rc)
        r->rc = jm_err_set(r->err, JM_EPARSE, "the calibration's %s is missing or is not %s", key, want);
}

static double number(struct reader *r, const struct jm_json *o, const char *key, double lo, double hi)
{
    double v = NAN;
    if (!jm_json_num(jm_json_get(o, key), &v) || !(v >= lo && v <= hi))
        bad(r, key, "a number that can be");
    return v;
}

/* Null is NAN. */
static double number_or(struct reader *r, const struct jm_json *o, const char *key, double lo, double hi)
{
    const struct jm_json *v = jm_json_get(o, key);
    return !v || jm_json_is_null(v) ? NAN : number(r, o, key, lo, hi);
}

static void text(struct reader *r, const struct jm_json *o, const char *key, char *out, size_t size,
                 bool must)
{
    const struct jm_json *v = jm_json_get(o, key);
    struct jm_span s;
    out[0] = '\0';
    if (!must && (!v || jm_json_is_null(v)))
        return;
    if (!jm_json_str(v, &s) || s.n >= size || memchr(s.p, 0, s.n)) {
        bad(r, key, "a short text");
        return;
    }
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
}

static void truth(struct reader *r, const struct jm_json *o, const char *key, bool *out)
{
    if (!jm_json_bool(jm_json_get(o, key), out))
        bad(r, key, "true or false");
}

static double element(struct reader *r, const struct jm_json *a, size_t i, const char *key)
{
    double v = NAN;
    if (!jm_json_num(jm_json_at(a, i), &v) || !isfinite(v) || fabs(v) > 1e18)
        bad(r, key, "a list of numbers");
    return v;
}

static void read_level(struct reader *r, const struct jm_json *o, struct jm_cal_level *l)
{
    l->gpu_w = number(r, o, "gpu_w", 0, 1e9);
    l->u_gpu = number(r, o, "u_gpu_w", 0, 1e9);
    l->w = number(r, o, "w", 0, 1e9);
    l->u = number(r, o, "u_w", 0, 1e9);
    l->windows = (int)number(r, o, "windows", 1, 1e6);
    truth(r, o, "idle", &l->idle);
    l->residual = number(r, o, "residual_w", -1e9, 1e9);
    l->left_out = number_or(r, o, "left_out_w", -1e9, 1e9);
    l->left_out_half = number_or(r, o, "left_out_half_w", 0, 1e12);
}

static void read_relation(struct reader *r, const struct jm_json *o, struct jm_cal_relation *x)
{
    char name[16];
    text(r, o, "boundary", name, sizeof name, true);
    int b = jm_boundary_parse(jm_span_of(name));
    if (b != JM_B_NODE && b != JM_B_WALL)
        bad(r, "boundary", "node or wall");
    x->boundary = (enum jm_boundary)b;
    text(r, o, "set", x->set, sizeof x->set, true);
    text(r, o, "instrument", x->instrument, sizeof x->instrument, true);
    x->beta[0] = number(r, o, "fixed_w", -1e9, 1e9);
    x->beta[1] = number(r, o, "slope", 1e-6, 1e3);
    x->knee = number_or(r, o, "knee_w", 0, 1e9);
    double cube = number_or(r, o, "cube_w", 1e-6, 1e9);
    if (isfinite(cube) && isfinite(x->knee))
        bad(r, "knee_w", "alone: a relation has a knee or a cube");
    x->cube = isfinite(cube);
    x->knee = x->cube ? cube : x->knee;
    x->bend = isfinite(x->knee);
    x->beta[2] = x->bend ? number(r, o, x->cube ? "cube" : "slope_more_above", -1e3, 1e3) : 0;
    const struct jm_json *range = jm_json_get(o, "range_w"), *cov = jm_json_get(o, "covariance"),
                         *levels = jm_json_get(o, "levels");
    x->lo = element(r, range, 0, "range_w");
    x->hi = element(r, range, 1, "range_w");
    if (!(x->lo > 0 && x->lo < x->hi))
        bad(r, "range_w", "a range of powers");
    x->gain = number_or(r, o, "gain", 0, 1);
    x->scatter = number(r, o, "scatter_w", 0, 1e9);
    x->dof = number(r, o, "dof", 1, JM_CAL_LEVELS);
    x->widen = number(r, o, "widen", 1, 1e6);
    int p = x->bend ? 3 : 2;
    if (jm_json_len(cov) != (size_t)(p * p))
        bad(r, "covariance", "a matrix of the relation's order");
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            x->cov[i][j] = element(r, cov, (size_t)(i * p + j), "covariance");
    for (int i = 0; i < p; i++)
        if (!(x->cov[i][i] >= 0))
            bad(r, "covariance", "one of variances");
    x->n_level = jm_json_len(levels);
    if (!jm_json_is_array(levels) || x->n_level < JM_CAL_LEAST || x->n_level > JM_CAL_LEVELS) {
        bad(r, "levels", "a list of load levels");
        x->n_level = 0;
    }
    for (size_t i = 0; i < x->n_level; i++)
        read_level(r, jm_json_at(levels, i), &x->level[i]);
}

static void read_lists(struct reader *r, const struct jm_json *root, struct jm_calibration *c)
{
    const struct jm_json *gpus = jm_json_path(root, "machine.gpus"), *runs = jm_json_get(root, "runs");
    size_t n = jm_json_len(gpus), m = jm_json_len(runs);
    if (!jm_json_is_array(gpus) || !n || n > JM_CAL_GPUS)
        bad(r, "machine.gpus", "a list of GPUs");
    if (!jm_json_is_array(runs) || !m || m > JM_CAL_RUNS)
        bad(r, "runs", "a list of runs");
    if (r->rc)
        return;
    c->machine.gpu = calloc(n, sizeof *c->machine.gpu);
    c->run = calloc(m, sizeof *c->run);
    if (!c->machine.gpu || !c->run) {
        r->rc = jm_err_set(r->err, JM_ENOMEM, "out of memory for the calibration");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct jm_span s;
        if (!jm_json_str(jm_json_at(gpus, i), &s) || !s.n || s.n >= sizeof c->machine.gpu[i] ||
            memchr(s.p, 0, s.n)) {
            bad(r, "machine.gpus", "a list of GPUs");
            return;
        }
        memcpy(c->machine.gpu[i], s.p, s.n);
    }
    for (size_t i = 0; i < m; i++) {
        const struct jm_json *o = jm_json_at(runs, i);
        text(r, o, "file", c->run[i].file, sizeof c->run[i].file, true);
        text(r, o, "sha256", c->run[i].sha256, sizeof c->run[i].sha256, true);
        text(r, o, "label", c->run[i].label, sizeof c->run[i].label, false);
    }
    c->machine.n_gpu = n;
    c->n_run = m;
}

int jm_calibration_read(struct jm_span in, struct jm_calibration *out, struct jm_err *err)
{
    struct jm_json *root = NULL;
    struct reader r = {.err = err};
    struct jm_calibration *c = NULL;
    char schema[48] = "";
    if (in.n > JM_CAL_BYTES)
        return jm_err_set(err, JM_ELIMIT, "the file is larger than any calibration (1 MiB)");
    int rc = jm_json_parse(in, &root, err);
    if (rc)
        return rc;
    if (!(c = calloc(1, sizeof *c))) {
        jm_json_free(root);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the calibration");
    }
    text(&r, root, "schema", schema, sizeof schema, true);
    if (!r.rc && strcmp(schema, SCHEMA) != 0)
        r.rc = jm_err_set(err, JM_EVERSION, "it is \"%.40s\", and this version reads " SCHEMA, schema);
    if (!r.rc) {
        const struct jm_json *m = jm_json_get(root, "machine"), *v = jm_json_get(root, "relations");
        text(&r, root, "joulemark", c->joulemark, sizeof c->joulemark, true);
        text(&r, root, "created", c->created, sizeof c->created, true);
        truth(&r, root, "simulated", &c->simulated);
        text(&r, m, "host", c->machine.host, sizeof c->machine.host, false);
        text(&r, m, "driver", c->machine.driver, sizeof c->machine.driver, false);
        text(&r, m, "supplies", c->machine.supplies, sizeof c->machine.supplies, false);
        text(&r, m, "ambient", c->machine.ambient, sizeof c->machine.ambient, false);
        text(&r, m, "gpu_instrument", c->machine.gpu_instrument, sizeof c->machine.gpu_instrument, true);
        read_lists(&r, root, c);
        c->n_relation = jm_json_len(v);
        if (!jm_json_is_array(v) || c->n_relation < 1 || c->n_relation > 2) {
            bad(&r, "relations", "a list of one or two");
            c->n_relation = 0;
        }
        for (size_t i = 0; i < c->n_relation; i++)
            read_relation(&r, jm_json_at(v, i), &c->relation[i]);
        if (!r.rc && c->n_relation == 2 && c->relation[0].boundary == c->relation[1].boundary)
            bad(&r, "relations", "one a boundary");
    }
    if (r.rc)
        jm_calibration_release(c);
    else
        *out = *c;
    free(c);
    jm_json_free(root);
    return r.rc;
}
