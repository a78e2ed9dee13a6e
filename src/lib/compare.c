/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "compute/compare.h"
#include "lib/lib.h"
#include "run/run.h"
#include "show/compare.h"

#include "base/banned.h"

#define MOST_NAMES 64

struct side {
    struct jm_run **run;
    struct jm_report **report;
    struct jm_compare_run *both;
    size_t n;
};

struct joulemark_comparison {
    struct side side[2];
    struct jm_contract contract;
    struct jm_comparison *c;
    char *names; /* of differs, each ended by NUL */
    const char *name[MOST_NAMES];
    size_t n_name;
};

static int load(struct side *s, const char *const *file, size_t n, const struct jm_compute_opts *o,
                struct jm_err *err)
{
    s->run = calloc(n + 1, sizeof *s->run);
    s->report = calloc(n + 1, sizeof *s->report);
    s->both = calloc(n + 1, sizeof *s->both);
    if (!s->run || !s->report || !s->both)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the runs");
    for (; s->n < n; s->n++) {
        size_t i = s->n;
        int rc = jm_run_open(file[i], &s->run[i], err);
        if (rc)
            return rc;
        s->both[i].run = s->run[i];
        rc = jm_compute(s->run[i], o, &s->report[i], err);
        if (!rc)
            rc = jm_audit(s->run[i], s->report[i], err);
        if (rc) {
            s->n++; /* it is open */
            return rc;
        }
        s->both[i].report = s->report[i];
    }
    return 0;
}

static int names(joulemark_comparison *p, const char *differs, struct jm_err *err)
{
    if (!differs)
        return 0;
    if (!(p->names = strdup(differs)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the names");
    for (char *at = p->names; at;) {
        char *end = strchr(at, ',');
        if (end)
            *end = '\0';
        if (p->n_name == MOST_NAMES)
            return jm_err_set(err, JM_EUSAGE, "more than %d names of what differs", MOST_NAMES);
        if (*at)
            p->name[p->n_name++] = at;
        at = end ? end + 1 : NULL;
    }
    return 0;
}

int joulemark_compare(const char *const *a, size_t n_a, const char *const *b, size_t n_b,
                      const char *contract, const char *differs, joulemark_comparison **out,
                      joulemark_error *e)
{
    struct jm_err err = {0};
    struct jm_compute_opts o;
    joulemark_comparison *p = calloc(1, sizeof *p);
    int rc = p ? 0 : jm_err_set(&err, JM_ENOMEM, "out of memory for the comparison");
    jm_compute_defaults(&o);
    if (!rc && contract)
        rc = jm_contract_parse(jm_span_of(contract), "contract", &p->contract, &err);
    if (!rc && contract)
        jm_contract_objectives(&p->contract, &o);
    if (!rc)
        rc = names(p, differs, &err);
    if (!rc)
        rc = load(&p->side[0], a, n_a, &o, &err);
    if (!rc)
        rc = load(&p->side[1], b, n_b, &o, &err);
    if (!rc) {
        struct jm_compare_side_in in[2] = {
            {.name = n_a ? a[0] : "A", .run = p->side[0].both, .n_run = n_a},
            {.name = n_b ? b[0] : "B", .run = p->side[1].both, .n_run = n_b},
        };
        struct jm_compare_opts c = {.contract = contract ? &p->contract : NULL,
                                    .boundary = -1,
                                    .differs = p->name,
                                    .n_differs = p->n_name};
        rc = jm_compare(in, 2, &c, &p->c, &err);
    }
    if (rc) {
        joulemark_comparison_free(p);
        return jm_lib_fail(e, rc, &err);
    }
    *out = p;
    return 0;
}

void joulemark_comparison_free(joulemark_comparison *p)
{
    if (!p)
        return;
    jm_comparison_free(p->c);
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < p->side[i].n; k++) {
            jm_report_free(p->side[i].report[k]);
            jm_run_close(p->side[i].run[k]);
        }
        free(p->side[i].run);
        free(p->side[i].report);
        free(p->side[i].both);
    }
    jm_contract_release(&p->contract);
    free(p->names);
    free(p);
}

const char *joulemark_comparison_verdict(const joulemark_comparison *p)
{
    return jm_verdict_name((int)p->c->verdict);
}

const char *joulemark_comparison_sentence(const joulemark_comparison *p)
{
    return p->c->sentence;
}

size_t joulemark_comparison_saving(const joulemark_comparison *p, double *saving, double *lo, double *hi)
{
    const struct jm_decision *d = &p->c->candidate[p->c->best].decision;
    *saving = d->n ? d->saving : NAN;
    *lo = d->n ? d->lo : NAN;
    *hi = d->n ? d->hi : NAN;
    return d->n;
}

int joulemark_comparison_render(const joulemark_comparison *p, const char *format, char **text, size_t *n,
                                joulemark_error *e)
{
    struct jm_err err = {0};
    struct jm_show_opts o = {.width = 80};
    struct jm_str s;
    const struct jm_compare_format *f = jm_compare_formats;
    while (f->name && strcmp(f->name, format) != 0)
        f++;
    if (!f->name) {
        int bad = jm_err_set(&err, JM_EINVAL, "\"%.40s\" is not one of text, json, markdown, html", format);
        return jm_lib_fail(e, bad, &err);
    }
    jm_str_init(&s);
    int rc = f->render(p->c, &o, &s, &err);
    if (rc) {
        jm_str_release(&s);
        return jm_lib_fail(e, rc, &err);
    }
    *n = s.len;
    *text = jm_str_detach(&s);
    return 0;
}
