/* SPDX-License-Identifier: Apache-2.0 */
/* results.json of MLCommons' own Tiny runner: one object a trial, with every sample in it. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "import/file.h"
#include "import/mlperf_tiny.h"
#include "wire/jsontok.h"

#include "base/banned.h"

#define DEPTH   16
#define SAMPLES INT64_C(100000000000) /* three years of a trial */

struct reading {
    struct jm_jsontok t;
    struct jm_tiny_trial trial;
    struct jm_span samples; /* its text; NULL: none */
    struct jm_err *err;
};

static int wrong(struct reading *r, const char *what)
{
    return jm_err_set(r->err, JM_EPARSE, "Trial %d: %s.", r->trial.number, what);
}

/* [["00", 3937], ["01", 15997]]: a counter, and how many samples there were. The last two are those of the
 * load. */
static int stamps(struct reading *r)
{
    struct jm_jtoken v;
    int64_t before = -1, count, at;
    int rc;
    while ((rc = jm_jsontok_next(&r->t, &v, r->err)) == 0 && v.type == JM_J_ARRAY) {
        struct jm_jtoken c, n;
        if ((rc = jm_jsontok_next(&r->t, &c, r->err)) || (rc = jm_jsontok_next(&r->t, &n, r->err)) ||
            (rc = jm_jsontok_next(&r->t, &v, r->err)))
            return rc;
        if ((c.type != JM_J_STRING && c.type != JM_J_NUMBER) || jm_num_i64(c.raw, &count) ||
            n.type != JM_J_NUMBER || jm_jtoken_i64(&n, &at) || at < 0 || at > SAMPLES ||
            v.type != JM_J_ARRAY_END)
            return wrong(r, "a timestamp is a counter and a number of samples");
        r->trial.broken |= r->trial.stamps && (before == INT64_MAX || count != before + 1);
        before = count;
        r->trial.start = r->trial.stop;
        r->trial.stop = at;
        r->trial.stamps++;
    }
    return rc ? rc : v.type == JM_J_ARRAY_END ? 0 : wrong(r, "its timestamps are no array of pairs");
}

/* The members of "infer" or "power". */
static int part(struct reading *r, bool power)
{
    struct jm_jtoken k, v;
    int rc;
    while ((rc = jm_jsontok_next(&r->t, &k, r->err)) == 0 && k.type == JM_J_KEY) {
        if ((rc = jm_jsontok_next(&r->t, &v, r->err)))
            return rc;
        double *number = !power && jm_jtoken_is(&k, "iterations") ? &r->trial.inferences
                         : power && jm_jtoken_is(&k, "voltage")   ? &r->trial.volts
                                                                  : NULL;
        bool stamp = power && jm_jtoken_is(&k, "timestamps") && v.type == JM_J_ARRAY;
        if (number && v.type == JM_J_NUMBER && jm_jtoken_double(&v, number))
            *number = NAN;
        rc = stamp ? stamps(r) : jm_jsontok_skip(&r->t, &v, r->err);
        if (!rc && power && jm_jtoken_is(&k, "samples") && v.type == JM_J_ARRAY)
            r->samples = v.raw;
        if (rc)
            return rc;
    }
    return rc;
}

static int trial(struct reading *r)
{
    struct jm_jtoken k, v;
    int rc;
    while ((rc = jm_jsontok_next(&r->t, &k, r->err)) == 0 && k.type == JM_J_KEY) {
        if ((rc = jm_jsontok_next(&r->t, &v, r->err)))
            return rc;
        bool infer = jm_jtoken_is(&k, "infer"), power = jm_jtoken_is(&k, "power");
        rc = (infer || power) && v.type == JM_J_OBJECT ? part(r, power) : jm_jsontok_skip(&r->t, &v, r->err);
        if (rc)
            return rc;
    }
    return rc;
}

static int samples(const struct reading *r, jm_tiny_fn fn, void *self)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    int64_t i = 0;
    jm_jsontok_init(&t, r->samples, 1);
    int rc = jm_jsontok_next(&t, &v, r->err);
    while (!rc && (rc = jm_jsontok_next(&t, &v, r->err)) == 0 && v.type != JM_J_ARRAY_END) {
        double joules = NAN;
        if (v.type != JM_J_NUMBER || jm_jtoken_double(&v, &joules) || !isfinite(joules))
            joules = NAN;
        rc = fn(self, i++, joules * 1e6);
    }
    return rc;
}

/* file: whose text it is, so that what was used can be given back; NULL: nobody's. */
static int trials(struct jm_span text, const struct jm_ifile *file, jm_tiny_trial_fn on_trial,
                  jm_tiny_fn on_sample, void *self, struct jm_err *err)
{
    size_t mark = 0;
    struct jm_jtoken v;
    struct reading r = {.err = err};
    jm_jsontok_init(&r.t, text, DEPTH);
    int rc = jm_jsontok_next(&r.t, &v, err);
    bool list = !rc && v.type == JM_J_ARRAY;
    if (list)
        rc = jm_jsontok_next(&r.t, &v, err);
    else if (!rc && v.type != JM_J_OBJECT)
        return jm_err_set(err, JM_EPARSE, "It is no list of trials.");
    for (int n = 0; !rc && v.type == JM_J_OBJECT && n < JM_TINY_WINDOWS; n++) {
        r.trial = (struct jm_tiny_trial){.number = n, .inferences = NAN, .volts = NAN};
        r.samples = (struct jm_span){0};
        rc = trial(&r);
        if (!rc)
            rc = on_trial(self, &r.trial, err);
        if (!rc && r.samples.p)
            rc = samples(&r, on_sample, self);
        if (r.samples.p && file)
            jm_ifile_used(file, r.samples.p + r.samples.n, &mark);
        if (!list)
            return rc;
        if (!rc)
            rc = jm_jsontok_next(&r.t, &v, err);
    }
    if (!rc && v.type != JM_J_ARRAY_END)
        rc = jm_err_set(err, JM_EPARSE, "It is no list of at most %d trials.", JM_TINY_WINDOWS);
    return rc;
}

int jm_tiny_trials_in(struct jm_span text, jm_tiny_trial_fn on_trial, jm_tiny_fn on_sample, void *self,
                      struct jm_err *err)
{
    return trials(text, NULL, on_trial, on_sample, self, err);
}

int jm_tiny_trials(const char *path, jm_tiny_trial_fn on_trial, jm_tiny_fn on_sample, void *self,
                   struct jm_err *err)
{
    struct jm_ifile f;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    rc = trials(f.text, &f, on_trial, on_sample, self, err);
    jm_ifile_close(&f);
    if (rc == JM_EPARSE && err)
        jm_err_prefix(err, "%s", path);
    return rc;
}
