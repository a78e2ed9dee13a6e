/* SPDX-License-Identifier: Apache-2.0 */
/* A boundary is a cut through the domain tree: domains none of which contains another, so that each joule is
 * counted once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "compute/calc.h"

#include "base/banned.h"

#define MAX_DOMAINS 4096

struct pick {
    int row[MAX_DOMAINS];    /* best usable energy row of each domain, -1 */
    int failed[MAX_DOMAINS]; /* a row of the domain that has no value, -1 */
    unsigned char expected[MAX_DOMAINS];
};

static bool usable(const struct jm_energy_row *e)
{
    return e->status == JM_S_OK && isfinite(e->joules);
}

/* Counters before gauges, then the smaller uncertainty. */
static bool better(const struct jm_calc *c, const struct jm_energy_row *a, const struct jm_energy_row *b)
{
    bool ca = c->r->channels[a->channel].kind == JM_CH_COUNTER,
         cb = c->r->channels[b->channel].kind == JM_CH_COUNTER;
    return ca != cb ? ca : a->u < b->u;
}

static void pick_rows(const struct jm_calc *c, int window, bool estimate, struct pick *p)
{
    memset(p->row, -1, sizeof p->row);
    memset(p->failed, -1, sizeof p->failed);
    memset(p->expected, 0, sizeof p->expected);
    for (size_t i = 0; i < c->r->n_energy; i++) {
        const struct jm_energy_row *e = &c->r->energy[i];
        const struct jm_channel *ch = &c->r->channels[e->channel];
        if (e->window != window || e->domain < 0 || e->domain >= MAX_DOMAINS ||
            (ch->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)) || (ch->provenance == JM_P_ESTIMATED) != estimate)
            continue;
        int *slot = usable(e) ? &p->row[e->domain] : &p->failed[e->domain];
        p->expected[e->domain] = 1;
        if (*slot < 0 || (usable(e) && better(c, e, &c->r->energy[*slot])))
            *slot = (int)i;
    }
}

/* Is the GPU domain one of the serving replicas'? env "sut.gpus" lists the keys of those found by process. */
static bool serving(const struct jm_calc *c, const struct jm_domain *d)
{
    const char *list = jm_run_env(c->run, "sut.gpus");
    struct jm_span rest = jm_span_of(list), key;
    if (!list)
        return true;
    while (jm_span_field(&rest, ',', &key))
        if (jm_span_is(jm_span_trim(key), d->key))
            return true;
    return false;
}

static bool in_boundary(const struct jm_calc *c, enum jm_boundary b, const struct jm_domain *d)
{
    switch (b) {
    case JM_B_GPU:
        return (d->kind == JM_D_GPU || d->kind == JM_D_APU || d->kind == JM_D_MODULE) && serving(c, d);
    case JM_B_DEVICE: return d->kind >= JM_D_MODULE && d->kind != JM_D_PSU_LOSS && d->kind != JM_D_TRAY;
    case JM_B_NODE: return d->kind == JM_D_NODE;
    case JM_B_WALL: return d->kind == JM_D_INLET_AC || d->kind == JM_D_INLET_DC;
    default: return false;
    }
}

/* Below something that is already in the cut? */
static bool covered(const struct jm_domain_tree *t, const unsigned char *in, int d)
{
    for (int p = t->d[d].parent; p >= 0; p = t->d[p].parent)
        if (in[p])
            return true;
    return false;
}

/* psys is left out when any package below it is measured: the register is often wrong or in another unit. */
static bool prefers_children(const struct jm_domain_tree *t, const struct pick *p, int d)
{
    if (t->d[d].kind != JM_D_PSYS)
        return false;
    for (size_t i = 0; i < t->n && i < MAX_DOMAINS; i++)
        if ((int)i != d && p->row[i] >= 0 && jm_domain_contains(t, d, (int)i))
            return true;
    return false;
}

static void name_set(struct jm_calc *c, enum jm_boundary b, const int *kinds, struct jm_cut *out)
{
    struct jm_str s;
    bool first = true;
    jm_str_init(&s);
    jm_str_addf(&s, "%s{", jm_boundary_name(b));
    for (int k = 0; k < JM_D_COUNT; k++)
        if (kinds[k]) {
            jm_str_addf(&s, "%s%s", first ? "" : ",", jm_domain_kind_name(k));
            if (kinds[k] > 1)
                jm_str_addf(&s, " x %d", kinds[k]);
            first = false;
        }
    jm_str_addc(&s, '}');
    out->set = s.failed ? "" : jm_report_text(c->r, "%s", s.buf);
    jm_str_release(&s);
}

static void add(struct jm_calc *c, struct jm_energy_row *e, struct jm_cut *out, double *var, double *dof_den)
{
    const struct jm_channel *ch = &c->r->channels[e->channel];
    out->joules += e->joules;
    *var += e->u * e->u;
    if (isfinite(e->dof))
        *dof_den += pow(e->u, 4) / e->dof;
    /* gains of like devices may err together, so they add linearly */
    out->u_gain += isnan(ch->gain_tol) ? NAN : ch->gain_tol * e->joules;
    out->provenance = jm_provenance_worse(out->provenance, ch->provenance);
    out->have++;
    e->counted = true;
}

static void instrument(struct jm_calc *c, const struct jm_energy_row *e, struct jm_cut *out)
{
    const struct jm_channel *ch = &c->r->channels[e->channel];
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(c->run, &n);
    const char *meter = ch->meter >= 0 && (size_t)ch->meter < n ? m[ch->meter].name : "?";
    const char *text = jm_report_text(c->r, "%s %s (%s)", meter, ch->name, e->method);
    if (text && (!out->instrument || !strstr(out->instrument, text)))
        out->instrument = out->instrument ? jm_report_text(c->r, "%s, %s", out->instrument, text) : text;
}

int jm_cut_make(struct jm_calc *c, int window, enum jm_boundary b, bool estimate, struct jm_cut *out)
{
    const struct jm_domain_tree *t = c->r->tree;
    size_t n = t->n < MAX_DOMAINS ? t->n : MAX_DOMAINS;
    struct pick p;
    unsigned char in[MAX_DOMAINS] = {0};
    int kinds[JM_D_COUNT] = {0};
    double var = 0, dof_den = 0;
    *out = (struct jm_cut){.boundary = b, .provenance = JM_P_MEASURED, .dof = INFINITY, .worst = JM_S_OK};
    pick_rows(c, window, estimate, &p);
    /* parents have smaller ids: a containing domain is decided before what it contains */
    for (size_t d = 0; d < n; d++) {
        if (!in_boundary(c, b, &t->d[d]) || covered(t, in, (int)d) || prefers_children(t, &p, (int)d))
            continue;
        if (p.row[d] >= 0) {
            in[d] = 1;
            kinds[t->d[d].kind]++;
            add(c, &c->r->energy[p.row[d]], out, &var, &dof_den);
            instrument(c, &c->r->energy[p.row[d]], out);
            out->of++;
        } else if (p.expected[d] && t->d[d].kind != JM_D_PSYS && t->d[d].kind != JM_D_CORE &&
                   t->d[d].kind != JM_D_UNCORE) {
            const struct jm_energy_row *e = &c->r->energy[p.failed[d]];
            out->of++;
            kinds[t->d[d].kind]++;
            in[d] = 1;
            out->worst = e->status;
            out->reasons = out->reasons && strstr(out->reasons, jm_status_name(e->status))
                               ? out->reasons
                               : jm_report_text(c->r, "%s%s%s", out->reasons ? out->reasons : "",
                                                out->reasons ? "," : "", jm_status_name(e->status));
        }
    }
    out->usable = out->of > 0;
    if (!out->usable)
        return 0;
    out->u = sqrt(var);
    if (dof_den > 0)
        out->dof = var * var / dof_den;
    name_set(c, b, kinds, out);
    return 0;
}
