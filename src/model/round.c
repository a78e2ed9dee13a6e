/* SPDX-License-Identifier: Apache-2.0 */
#include "model/round.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

const char *jm_round_verdict_name(enum jm_round_verdict v)
{
    static const char *const names[] = {"not checked", "pass", "note", "warn", "fail"};
    return (unsigned)v < sizeof names / sizeof names[0] ? names[v] : "?";
}

struct jm_round_row *jm_round_row_new(void)
{
    static const struct jm_round_pair none = {NAN, NAN, NAN, NAN, ""};
    struct jm_round_row *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->provenance = "measured";
    r->power = r->energy = r->mj_per_stream = r->samples_per_j = r->j_per_token = r->tokens_per_j = none;
    r->accelerators = r->hosts = r->nodes = r->metric = r->metric_proper = r->performance = NAN;
    r->samples_per_s = r->tokens_per_s = r->seconds = r->queries = r->dropped = NAN;
    r->reported = r->reported_off = r->design_power_w = NAN;
    r->max_gap_s = r->bridged_s = r->over_s = r->max_volts = r->max_amps = r->power_factor = NAN;
    r->director_clock_s = NAN;
    r->window = r->file = (struct jm_round_samples){-1, -1, -1, -1, -1, -1};
    r->t0 = r->t1 = r->broken = r->out_of_order = r->duplicate_stamps = r->bytes = -1;
    return r;
}

void jm_round_row_free(struct jm_round_row *r)
{
    if (!r)
        return;
    char *text[] = {r->path,     r->place,        r->error,     r->round,       r->round_from,
                    r->division, r->availability, r->submitter, r->suite,       r->system,
                    r->host,     r->system_name,  r->model,     r->accelerator, r->benchmark,
                    r->scenario, r->run_scenario, r->accuracy,  r->unofficial,  r->reported_from,
                    r->analyzer, r->ptd,          r->excludes,  r->ranges,      r->revision};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        free(text[i]);
    for (size_t i = 0; i < sizeof r->check / sizeof r->check[0]; i++) {
        free(r->check[i].title);
        free(r->check[i].text);
    }
    for (size_t i = 0; i < r->n_finding; i++) {
        free(r->finding[i].id);
        free(r->finding[i].text);
        free(r->finding[i].evidence);
    }
    for (size_t i = 0; i < r->n_fact; i++) {
        free(r->fact[i].group);
        free(r->fact[i].name);
        free(r->fact[i].value);
    }
    for (size_t i = 0; i < r->n_part; i++) {
        free(r->part[i].name);
        free(r->part[i].why);
    }
    free(r->part);
    free(r->finding);
    free(r->fact);
    free(r);
}

bool jm_round_set(char **at, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return false;
    free(*at);
    *at = copy;
    return true;
}

bool jm_round_fact_add(struct jm_round_row *r, const char *group, const char *name, const char *fmt, ...)
{
    char value[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    struct jm_round_fact *more = realloc(r->fact, (r->n_fact + 1) * sizeof *more);
    if (!more)
        return false;
    r->fact = more;
    struct jm_round_fact *f = &r->fact[r->n_fact++];
    *f = (struct jm_round_fact){0};
    return jm_round_set(&f->group, group) && jm_round_set(&f->name, name) && jm_round_set(&f->value, value);
}

bool jm_round_part_add(struct jm_round_row *r, const char *name, double published, double proper,
                       double seconds, const char *why)
{
    struct jm_round_part *more = realloc(r->part, (r->n_part + 1) * sizeof *more);
    if (!more)
        return false;
    r->part = more;
    struct jm_round_part *p = &r->part[r->n_part++];
    *p = (struct jm_round_part){.published = published, .proper = proper, .seconds = seconds};
    return jm_round_set(&p->name, name) && jm_round_set(&p->why, why);
}

bool jm_round_finding_add(struct jm_round_row *r, enum jm_round_verdict v, const char *id, const char *text,
                          const char *evidence)
{
    struct jm_round_finding *more = realloc(r->finding, (r->n_finding + 1) * sizeof *more);
    if (!more)
        return false;
    r->finding = more;
    size_t at = r->n_finding++;
    while (at && r->finding[at - 1].verdict < v) { /* worst first, equal ones in the order they came */
        r->finding[at] = r->finding[at - 1];
        at--;
    }
    struct jm_round_finding *f = &r->finding[at];
    *f = (struct jm_round_finding){.verdict = v};
    return jm_round_set(&f->id, id) && jm_round_set(&f->text, text) && jm_round_set(&f->evidence, evidence);
}

void jm_round_table_release(struct jm_round_table *t)
{
    for (size_t i = 0; i < t->n_row; i++)
        jm_round_row_free(t->row[i]);
    for (size_t i = 0; i < t->n_trouble; i++) {
        free(t->trouble[i].path);
        free(t->trouble[i].why);
    }
    for (size_t i = 0; i < t->n_asked; i++)
        free(t->asked[i]);
    free(t->row);
    free(t->trouble);
    free(t->asked);
    *t = (struct jm_round_table){0};
}

const struct jm_round_row *jm_round_only(const struct jm_round_table *t)
{
    const struct jm_round_row *only = NULL;
    for (size_t i = 0; i < t->n_row; i++) {
        if (t->row[i]->kind == JM_ROUND_NAMEPLATE)
            continue;
        if (only)
            return NULL;
        only = t->row[i];
    }
    return only;
}

double jm_round_accelerators(const struct jm_round_row *r)
{
    return isnan(r->nodes) ? r->accelerators : r->nodes * r->accelerators;
}

double jm_round_difference(const struct jm_round_row *r)
{
    return r->power.published != 0 ? r->power.proper / r->power.published - 1 : NAN;
}

const struct jm_round_pair *jm_round_efficiency(const struct jm_round_row *r)
{
    if (isfinite(r->tokens_per_j.published) || isfinite(r->tokens_per_j.proper))
        return &r->tokens_per_j;
    return isfinite(r->samples_per_j.published) || isfinite(r->samples_per_j.proper) ? &r->samples_per_j
                                                                                     : NULL;
}

/* Digits of a number without leading zeros. */
static size_t number(const char **s)
{
    size_t n = 0;
    while (**s == '0' && isdigit((unsigned char)(*s)[1]))
        ++*s;
    while (isdigit((unsigned char)(*s)[n]))
        n++;
    return n;
}

int jm_round_natural(const char *a, const char *b)
{
    if (!a || !b)
        return (b != NULL) - (a != NULL);
    const char *p = a, *q = b;
    while (*p && *q) {
        if (isdigit((unsigned char)*p) && isdigit((unsigned char)*q)) {
            size_t n = number(&p), m = number(&q);
            int c = n != m ? (n < m ? -1 : 1) : memcmp(p, q, n);
            if (c)
                return c;
            p += n;
            q += m;
            continue;
        }
        int x = tolower((unsigned char)*p), y = tolower((unsigned char)*q);
        if (x != y)
            return x - y;
        p++;
        q++;
    }
    int c = (unsigned char)*p - (unsigned char)*q;
    return c ? c : strcmp(a, b);
}

static int name(const char *a, const char *b)
{
    return a && b && strcasecmp(a, b) == 0 ? 0 : jm_round_natural(a, b);
}

int jm_round_key(const struct jm_round_row *a, const struct jm_round_row *b)
{
    int c = name(a->benchmark, b->benchmark);
    return c ? c : name(a->scenario, b->scenario);
}

int jm_round_compare(const struct jm_round_row *a, const struct jm_round_row *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    const char *x[] = {a->round, a->submitter, a->system, a->system_name, a->benchmark, a->scenario, a->path},
               *y[] = {b->round, b->submitter, b->system, b->system_name, b->benchmark, b->scenario, b->path};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        int c = jm_round_natural(x[i], y[i]);
        if (c)
            return c;
    }
    return 0;
}
