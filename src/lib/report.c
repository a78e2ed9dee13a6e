/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "compute/compute.h"
#include "lib/lib.h"
#include "run/run.h"
#include "show/show.h"

#include "base/banned.h"

struct joulemark_report {
    struct jm_run *run;
    struct jm_report *r;
    const struct jm_disclosure_row *disclosure;
    size_t n_disclosure;
};

int jm_lib_fail(joulemark_error *e, int rc, const struct jm_err *err)
{
    if (e) {
        e->code = rc;
        snprintf(e->text, sizeof e->text, "%s", err->text);
    }
    return rc;
}

int joulemark_report_open(const char *file, joulemark_report **out, joulemark_error *e)
{
    struct jm_err err = {0};
    struct jm_compute_opts o;
    joulemark_report *p = calloc(1, sizeof *p);
    int rc =
        p ? jm_run_open(file, &p->run, &err) : jm_err_set(&err, JM_ENOMEM, "out of memory for the report");
    jm_compute_defaults(&o);
    if (!rc)
        rc = jm_compute(p->run, &o, &p->r, &err);
    if (!rc)
        rc = jm_audit(p->run, p->r, &err);
    if (!rc)
        rc = jm_disclosure(p->run, p->r, &p->disclosure, &p->n_disclosure, &err);
    if (rc) {
        joulemark_report_close(p);
        return jm_lib_fail(e, rc, &err);
    }
    *out = p;
    return 0;
}

void joulemark_report_close(joulemark_report *p)
{
    if (!p)
        return;
    jm_report_free(p->r);
    if (p->run)
        jm_run_close(p->run);
    free(p);
}

size_t joulemark_report_count(const joulemark_report *p)
{
    return p->r->n_results;
}

static const char *text(const char *s)
{
    return s ? s : "";
}

int joulemark_report_get(const joulemark_report *p, size_t i, joulemark_result *out)
{
    if (!out || out->size < sizeof(size_t) || i >= p->r->n_results)
        return JM_EINVAL;
    const struct jm_result *x = &p->r->results[i];
    bool in = x->q.have && x->q.u.method;
    joulemark_result all = {
        .size = out->size < sizeof all ? out->size : sizeof all,
        .metric = x->metric,
        .boundary = text(jm_boundary_name((int)x->q.boundary)),
        .set = text(x->set),
        .window = x->window >= 0 ? p->r->windows[x->window].name : "",
        .trial = x->trial,
        .quantile = x->quantile,
        .have = x->q.have,
        .value = x->q.have ? x->q.value : NAN,
        .unit = text(x->q.unit),
        .lo = in ? x->q.u.lo : NAN,
        .hi = in ? x->q.u.hi : NAN,
        .level = in ? x->q.u.level : NAN,
        .includes = text(x->q.u.includes),
        .excludes = text(x->q.u.excludes),
        .provenance = text(jm_provenance_name((int)x->q.provenance)),
        .validity = text(jm_validity_name((int)x->q.validity)),
        .reasons = text(x->q.reasons),
        .devices = x->have_of,
        .devices_of = x->of,
        .instrument = text(x->instrument),
    };
    memcpy(out, &all, all.size);
    return 0;
}

int joulemark_report_find(const joulemark_report *p, const char *metric, const char *boundary,
                          const char *window, joulemark_result *out)
{
    for (size_t i = 0; i < p->r->n_results; i++) {
        const struct jm_result *x = &p->r->results[i];
        if (strcmp(x->metric, metric) == 0 &&
            (!boundary || strcmp(text(jm_boundary_name((int)x->q.boundary)), boundary) == 0) &&
            (!window || (x->window >= 0 && strcmp(p->r->windows[x->window].name, window) == 0)))
            return joulemark_report_get(p, i, out);
    }
    return JM_EABSENT;
}

const char *joulemark_report_validity(const joulemark_report *p, const char **profile)
{
    if (profile)
        *profile = jm_profile_name((int)p->r->profile);
    return jm_validity_name((int)p->r->validity);
}

int joulemark_report_render(const joulemark_report *p, const char *format, char **out, size_t *n,
                            joulemark_error *e)
{
    struct jm_err err = {0};
    struct jm_str s;
    struct jm_show_opts o = {
        .width = 80, .all = true, .disclosure = p->disclosure, .n_disclosure = p->n_disclosure};
    const struct jm_show_format *f = jm_show_find(format);
    if (!f)
        return jm_lib_fail(
            e,
            jm_err_set(&err, JM_EINVAL,
                       "there is no format \"%s\"; there are text, json, csv, markdown and html", format),
            &err);
    jm_str_init(&s);
    int rc = f->render(p->r, &o, &s, &err);
    size_t len = s.len;
    char *t = rc ? NULL : jm_str_detach(&s);
    if (!rc && !t)
        rc = jm_err_set(&err, JM_ENOMEM, "out of memory for the report");
    jm_str_release(&s);
    if (rc)
        return jm_lib_fail(e, rc, &err);
    *out = t;
    if (n)
        *n = len;
    return 0;
}

void joulemark_free(void *p)
{
    free(p);
}
