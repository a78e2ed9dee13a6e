/* SPDX-License-Identifier: Apache-2.0 */
/* A boundary is a cut through the domain tree: domains none of which contains another, so that each joule is
 * counted once. docs/boundaries.md draws it.
 *
 * gpu     every GPU of the serving replicas. A module (GH200) holds more than its GPUs, so it stands for them
 *         only where they have no channel of their own.
 * device  the outermost measured domain of each branch below the node. Where a containing domain (module,
 *         Grace) fails and its parts are measured, the parts count: the set names what is in it.
 * node    PSU output of each host: what measures the node, else all of its supplies.
 * wall    the inlets: what measures one, else all of its feeds; where inlets are not measured one by one,
 *         the smallest thing that feeds them and is (chassis, PDU, shelf).
 * facility  a reading of the site.
 *
 * Devices that should count and have no value are in `of` and not in `have`: a total never gets smaller
 * silently. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "compute/reconcile.h"

#include "base/banned.h"

/* One row of flags a kind: what a domain of that kind is to the boundaries. */
#define OF_GPU    1u /* a board that serves */
#define OF_DEVICE 2u
#define EXPECTED  4u  /* counts as missing even where no channel of it exists */
#define FALLS     8u  /* its parts stand for it when it has no value */
#define OPTIONAL  16u /* a part of something: nothing is missing without it */
static const unsigned kinds[JM_D_COUNT] = {
    [JM_D_MODULE] = OF_DEVICE | FALLS,
    [JM_D_GRACE] = OF_DEVICE | FALLS,
    [JM_D_CPU] = OF_DEVICE,
    [JM_D_SYSIO] = OF_DEVICE,
    [JM_D_PSYS] = OF_DEVICE | FALLS | OPTIONAL,
    [JM_D_PACKAGE] = OF_DEVICE,
    [JM_D_CORE] = OF_DEVICE | OPTIONAL,
    [JM_D_UNCORE] = OF_DEVICE | OPTIONAL,
    [JM_D_DRAM] = OF_DEVICE,
    [JM_D_GPU] = OF_GPU | OF_DEVICE | EXPECTED,
    [JM_D_HBM] = OF_DEVICE | OPTIONAL,
    [JM_D_APU] = OF_GPU | OF_DEVICE | EXPECTED,
    [JM_D_NVSWITCH] = OF_DEVICE,
    [JM_D_NIC] = OF_DEVICE,
    [JM_D_STORAGE] = OF_DEVICE,
    [JM_D_FANS] = OF_DEVICE,
    [JM_D_RAIL] = OF_DEVICE,
};

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the boundaries");
}

static bool is_gpu(const struct jm_domain *d)
{
    return d->kind == JM_D_GPU || d->kind == JM_D_APU;
}

/* env sut.gpus: keys of the domains of the GPUs that were found to serve, by process. */
static void serving(struct jm_calc *c)
{
    struct jm_tree_facts *f = &c->tree;
    const struct jm_domain *d = c->r->tree->d;
    struct jm_span rest = jm_span_trim(jm_span_of(jm_run_env(c->run, "sut.gpus"))), key;
    f->sut_known = rest.n > 0;
    if (!f->sut_known) {
        for (size_t i = 0; i < f->n; i++)
            f->serving[i] = f->has_gpu[i];
        return;
    }
    while (jm_span_field(&rest, ',', &key)) {
        bool found = false;
        key = jm_span_trim(key);
        for (size_t i = 0; key.n && i < f->n; i++)
            if (f->has_gpu[i] && jm_span_is(key, d[i].key)) {
                f->serving[i] = 1;
                found = true;
            }
        f->absent += key.n && !found;
    }
    /* a module serves when one of its GPUs does */
    for (size_t i = f->n; i-- > 0;)
        if (f->serving[i] && d[i].parent >= 0)
            f->serving[d[i].parent] |= f->has_gpu[i];
}

/* Addends that one kind of instrument reads belong together. */
static void groups(struct jm_calc *c)
{
    struct jm_tree_facts *f = &c->tree;
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(c->run, &n);
    for (size_t i = 0; i < f->n; i++)
        f->group[i] = -1;
    for (size_t i = 0; i < c->r->n_channels; i++) {
        const struct jm_channel *ch = &c->r->channels[i];
        if (ch->domain < 0 || !jm_energy_channel(ch) || ch->meter < 0 || (size_t)ch->meter >= n ||
            f->group[ch->domain] >= 0)
            continue;
        int g = 0;
        while (strcmp(m[g].name, m[ch->meter].name) != 0)
            g++;
        f->group[ch->domain] = g;
    }
}

int jm_tree_facts_init(struct jm_calc *c)
{
    struct jm_tree_facts *f = &c->tree;
    const struct jm_domain_tree *t = c->r->tree;
    size_t n = f->n = t->n;
    unsigned char *flag = calloc(n ? n : 1, 7);
    f->row = calloc(n ? n : 1, 6 * sizeof *f->row);
    f->has_gpu = flag;
    if (!flag || !f->row)
        return no_memory(c);
    f->failed = f->row + n;
    f->parts = f->row + 2 * n;
    f->said = f->row + 3 * n;
    f->pick = f->row + 4 * n;
    f->group = f->row + 5 * n;
    groups(c);
    f->serving = flag + n;
    f->metered = flag + 2 * n;
    f->in = flag + 3 * n;
    f->covered = flag + 4 * n;
    f->below = flag + 5 * n;
    f->mirrored = flag + 6 * n;
    for (size_t i = 0; i < c->r->n_channels; i++)
        if (c->r->channels[i].domain >= 0 && jm_energy_channel(&c->r->channels[i])) {
            f->metered[c->r->channels[i].domain] = 1;
            f->mirrored[c->r->channels[i].domain] |= (c->r->channels[i].flags & JM_CHF_MIRROR) != 0;
        }
    /* parents have smaller ids */
    for (size_t i = n; i-- > 0;) {
        f->has_gpu[i] |= is_gpu(&t->d[i]);
        if (t->d[i].parent >= 0) {
            f->has_gpu[t->d[i].parent] |= f->has_gpu[i];
            f->metered[t->d[i].parent] |= f->metered[i];
        }
    }
    serving(c);
    return 0;
}

void jm_tree_facts_release(struct jm_tree_facts *f)
{
    free(f->has_gpu);
    free(f->row);
    *f = (struct jm_tree_facts){0};
}

static bool usable(const struct jm_energy_row *e)
{
    return e->status == JM_S_OK && isfinite(e->joules);
}

/* What may be wrong with it: twice its uncertainty and the gain, by the prior where nobody stated one. */
static double doubt(const struct jm_calc *c, int row)
{
    const struct jm_energy *e = &c->energy[row];
    return 2 * e->u + (isfinite(e->gain_bound) ? e->gain_bound : JM_RECONCILE_GAIN * fabs(e->joules));
}

/* Counters before gauges, then the smaller uncertainty, of which a stated accuracy is a part. At inlets and
 * nodes, where several instruments sit, a gauge goes before the counter of another one that is less than half
 * as sure: an analyzer before a plug. */
static bool better(const struct jm_calc *c, int a, int b)
{
    const struct jm_energy_row *x = &c->r->energy[a], *y = &c->r->energy[b];
    bool cx = c->r->channels[x->channel].kind == JM_CH_COUNTER,
         cy = c->r->channels[y->channel].kind == JM_CH_COUNTER,
         outer = !(kinds[c->r->tree->d[x->domain].kind] & (OF_GPU | OF_DEVICE)),
         others = c->r->channels[x->channel].meter != c->r->channels[y->channel].meter;
    if (cx != cy)
        return outer && others && doubt(c, cx ? b : a) < 0.5 * doubt(c, cx ? a : b) ? cy : cx;
    if (!outer || (!isfinite(c->energy[a].gain_bound) && !isfinite(c->energy[b].gain_bound)))
        return x->u < y->u;
    return doubt(c, a) < doubt(c, b);
}

/* Of the addends of one domain, the set of one kind of instrument that stands for it: one that is complete,
 * then the one with more of its parts, then the surer one. */
static void choose_addends(struct jm_calc *c, int up, size_t first)
{
    struct jm_tree_facts *f = &c->tree;
    const struct jm_domain *d = c->r->tree->d;
    double best_u = INFINITY;
    f->pick[up] = -1;
    for (size_t i = first; i < f->n; i++) {
        int parts = 0, said = 0;
        double u = 0;
        bool seen = false;
        if (d[i].parent != up || !jm_domain_is_addend(d[i].kind))
            continue;
        for (size_t k = first; k < i && !seen; k++)
            seen = d[k].parent == up && d[k].kind == d[i].kind && f->group[k] == f->group[i];
        for (size_t k = first; k < f->n && !seen; k++)
            if (d[k].parent == up && d[k].kind == d[i].kind &&
                (f->group[k] == f->group[i] || f->group[k] < 0)) {
                parts++;
                said += f->row[k] >= 0;
                u += f->row[k] >= 0 ? c->r->energy[f->row[k]].u : 0;
            }
        bool whole = parts && said == parts, had = f->parts[up] && f->said[up] == f->parts[up];
        if (seen || (had && !whole) ||
            (had == whole && (said < f->said[up] || (said == f->said[up] && u >= best_u))))
            continue;
        f->parts[up] = parts;
        f->said[up] = said;
        f->pick[up] = f->group[i];
        best_u = u;
    }
}

/* What is made up of parts that can stand for it: an inlet of supplies, a node of their outputs, a feeder of
 * inlets. */
static void count_parts(struct jm_calc *c)
{
    struct jm_tree_facts *f = &c->tree;
    const struct jm_domain *d = c->r->tree->d;
    memset(f->parts, 0, 2 * f->n * sizeof *f->parts);
    for (size_t i = f->n; i-- > 0;) {
        int up = d[i].parent;
        if (jm_domain_is_inlet(d[i].kind) || d[i].kind == JM_D_NODE)
            choose_addends(c, (int)i, i + 1);
        if (up >= 0 && jm_domain_is_feeder(d[up].kind) &&
            (jm_domain_is_inlet(d[i].kind) || jm_domain_is_feeder(d[i].kind))) {
            f->parts[up]++;
            f->said[up] += f->row[i] >= 0 || (f->parts[i] && f->said[i] == f->parts[i]);
        }
    }
}

/* The row of each domain: its best instrument, or one that failed. */
static void pick_rows(struct jm_calc *c, const struct jm_calc_window *w, bool estimate)
{
    struct jm_tree_facts *f = &c->tree;
    memset(f->row, -1, 2 * f->n * sizeof *f->row);
    memset(f->below, 0, f->n);
    for (size_t i = w->row0; i < w->row1; i++) {
        const struct jm_energy_row *e = &c->r->energy[i];
        const struct jm_channel *ch = &c->r->channels[e->channel];
        /* an estimate is a mirror where the same is measured: it never adds, it stands beside */
        unsigned no = estimate ? JM_CHF_PARTOF : JM_CHF_PARTOF | JM_CHF_MIRROR;
        if (e->domain < 0 || (ch->flags & no) || (ch->provenance == JM_P_ESTIMATED) != estimate)
            continue;
        int *slot = usable(e) ? &f->row[e->domain] : &f->failed[e->domain];
        if (*slot < 0 || (usable(e) && better(c, (int)i, *slot)))
            *slot = (int)i;
    }
    for (size_t i = f->n; i-- > 0;) {
        int up = c->r->tree->d[i].parent;
        if (up >= 0)
            f->below[up] |= f->row[i] >= 0 || f->below[i];
    }
    count_parts(c);
}

/* A GPU below d has a channel of its own. */
static bool gpus_speak(const struct jm_calc *c, size_t d)
{
    const struct jm_domain_tree *t = c->r->tree;
    for (size_t i = d + 1; i < t->n; i++)
        if (is_gpu(&t->d[i]) && (c->tree.row[i] >= 0 || c->tree.failed[i] >= 0) &&
            jm_domain_contains(t, (int)d, (int)i))
            return true;
    return false;
}

static bool in_boundary(const struct jm_calc *c, enum jm_boundary b, enum jm_cut_of of, size_t i)
{
    const struct jm_domain *d = &c->r->tree->d[i];
    switch (b) {
    case JM_B_GPU:
        if (of == JM_CUT_OTHER_GPUS)
            return is_gpu(d) && !c->tree.serving[i];
        return c->tree.serving[i] &&
               (is_gpu(d) || (d->kind == JM_D_MODULE && c->tree.row[i] >= 0 && !gpus_speak(c, i)));
    case JM_B_DEVICE: return (kinds[d->kind] & OF_DEVICE) != 0;
    case JM_B_NODE: return d->kind == JM_D_NODE || d->kind == JM_D_PSU_OUTPUT;
    case JM_B_WALL: return jm_domain_is_inlet(d->kind) || jm_domain_is_feeder(d->kind) || d->kind == JM_D_PSU;
    case JM_B_FACILITY: return d->kind == JM_D_SITE;
    default: return false;
    }
}

/* A feeder whose energy is that of its inlets and what it loses itself: nothing else hangs on it. */
static bool feeds_only(const struct jm_calc *c, size_t i)
{
    const struct jm_tree_facts *f = &c->tree;
    double inside = 0, own = f->row[i] >= 0 ? c->r->energy[f->row[i]].joules : NAN;
    for (size_t k = i + 1; k < f->n; k++) {
        if (c->r->tree->d[k].parent != (int)i)
            continue;
        if (f->row[k] >= 0)
            inside += c->r->energy[f->row[k]].joules;
        else if (f->parts[k] && jm_domain_is_feeder(c->r->tree->d[k].kind))
            return false;
        for (size_t m = k + 1; f->row[k] < 0 && f->parts[k] && m < f->n; m++)
            if (c->r->tree->d[m].parent == (int)k && f->row[m] >= 0 && f->group[m] == f->pick[k])
                inside += c->r->energy[f->row[m]].joules;
    }
    return own - inside >= -JM_RECONCILE_GAIN * own && own - inside <= JM_RECONCILE_FED * own;
}

enum take { TAKE_NO, TAKE_ROW, TAKE_MISSING };

static enum take decide(const struct jm_calc *c, enum jm_boundary b, enum jm_cut_of of, size_t i)
{
    const struct jm_tree_facts *f = &c->tree;
    unsigned k = kinds[c->r->tree->d[i].kind];
    /* psys is often in another unit than it says: what is below it goes before it */
    if (c->r->tree->d[i].kind == JM_D_PSYS && f->below[i])
        return TAKE_NO;
    enum jm_domain_kind kind = c->r->tree->d[i].kind;
    int up = c->r->tree->d[i].parent;
    bool feeder = jm_domain_is_feeder(kind), whole = f->parts[i] && f->said[i] == f->parts[i],
         addend = jm_domain_is_addend(kind) && up >= 0;
    if (addend && f->group[i] >= 0 && f->pick[up] != f->group[i]) /* another instrument's set stands */
        return TAKE_NO;
    if (feeder && whole) /* its inlets speak for themselves */
        return of == JM_CUT_FED && (kind == JM_D_PDU || kind == JM_D_SHELF) && feeds_only(c, i) ? TAKE_ROW
                                                                                                : TAKE_NO;
    if (f->row[i] >= 0)
        return TAKE_ROW;
    if (of != JM_CUT_MEASURED && of != JM_CUT_FED)
        return f->failed[i] >= 0 && of == JM_CUT_ESTIMATED ? TAKE_MISSING : TAKE_NO;
    if (f->said[i]) /* its parts stand for it; those that are silent are missing */
        return TAKE_NO;
    if (addend && f->failed[i] < 0)
        return f->said[up] ? TAKE_MISSING : TAKE_NO;
    if (b == JM_B_DEVICE && (k & FALLS) && f->below[i])
        return TAKE_NO;
    if (f->failed[i] >= 0)
        return k & OPTIONAL ? TAKE_NO : TAKE_MISSING;
    return (k & EXPECTED) && !f->mirrored[i] ? TAKE_MISSING : TAKE_NO;
}

struct work {
    struct jm_str set, instrument, reasons;
    int count[JM_D_COUNT];
    struct jm_energy *part;
    int *row, *domain;
    size_t n_row, n_domain;
};

static void once(struct jm_str *s, const char *text)
{
    struct jm_span rest = jm_str_span(s), one;
    while (s->len && jm_span_field(&rest, ',', &one))
        if (jm_span_is(jm_span_trim(one), text))
            return;
    jm_str_addf(s, "%s%s", s->len ? "," : "", text);
}

static void miss(struct jm_calc *c, size_t i, struct work *k, struct jm_cut *out)
{
    int row = c->tree.failed[i];
    if (row >= 0)
        c->r->energy[row].missed = true;
    once(&k->reasons, jm_status_name(row >= 0 ? (int)c->r->energy[row].status : JM_S_UNSUPPORTED));
    k->count[c->r->tree->d[i].kind]++;
    k->domain[k->n_domain++] = (int)i;
    out->of++;
}

static void take(struct jm_calc *c, size_t i, struct work *k, struct jm_cut *out)
{
    struct jm_energy_row *e = &c->r->energy[c->tree.row[i]];
    const struct jm_channel *ch = &c->r->channels[e->channel];
    size_t n;
    char text[160];
    const struct jm_run_meter *m = jm_run_meters(c->run, &n);
    snprintf(text, sizeof text, "%s %s (%s%s%.8s)",
             ch->meter >= 0 && (size_t)ch->meter < n ? m[ch->meter].name : "?", ch->name, e->method,
             e->passport ? "; by passport " : "", e->passport ? e->passport : "");
    once(&k->instrument, text);
    k->part[k->n_row] = c->energy[c->tree.row[i]];
    k->row[k->n_row++] = c->tree.row[i];
    k->domain[k->n_domain++] = (int)i;
    k->count[c->r->tree->d[i].kind]++;
    out->boards |= is_gpu(&c->r->tree->d[i]) || c->r->tree->d[i].kind == JM_D_MODULE;
    out->provenance = jm_provenance_worse(out->provenance, ch->provenance);
    out->have++;
    out->of++;
    e->counted = true;
}

/* A host without a meter at this boundary beside one that has it is missing from the total. */
static bool missing_host(const struct jm_calc *c, enum jm_boundary b, size_t i)
{
    const struct jm_domain_tree *t = c->r->tree;
    if ((b != JM_B_NODE && b != JM_B_WALL) || !c->tree.metered[i])
        return false;
    if (b == JM_B_NODE)
        return true;
    for (size_t k = i + 1; k < t->n; k++)
        if (t->d[k].kind == JM_D_NODE && jm_domain_contains(t, (int)i, (int)k))
            return true;
    return false;
}

static void hosts(struct jm_calc *c, enum jm_boundary b, struct work *k, struct jm_cut *out)
{
    struct jm_tree_facts *f = &c->tree;
    const struct jm_domain_tree *t = c->r->tree;
    bool measured = false;     /* a host's own node or inlet, not a feed that stands beside */
    memset(f->below, 0, f->n); /* from here on: something counted is below */
    for (size_t i = f->n; i-- > 0;) {
        measured |= f->in[i] && missing_host(c, b, i);
        if (t->d[i].parent >= 0)
            f->below[t->d[i].parent] |= f->in[i] || f->below[i];
    }
    for (size_t i = 0; measured && i < f->n; i++) {
        int up = t->d[i].parent;
        f->covered[i] |= up >= 0 && (f->in[up] || f->covered[up]);
        if (f->in[i] || f->covered[i] || f->below[i] || !in_boundary(c, b, JM_CUT_MEASURED, i) ||
            !missing_host(c, b, i))
            continue;
        f->in[i] = 1;
        miss(c, i, k, out);
    }
}

static void name_set(enum jm_boundary b, enum jm_cut_of of, struct work *k)
{
    bool first = true;
    jm_str_addf(&k->set, "%s{",
                of == JM_CUT_ESTIMATED    ? "estimate"
                : of == JM_CUT_OTHER_GPUS ? "other"
                                          : jm_boundary_name((int)b));
    for (int i = 0; i < JM_D_COUNT; i++)
        if (k->count[i]) {
            jm_str_addf(&k->set, "%s%s", first ? "" : ",", jm_domain_kind_name(i));
            if (k->count[i] > 1)
                jm_str_addf(&k->set, " x %d", k->count[i]);
            first = false;
        }
    jm_str_addc(&k->set, '}');
}

static int cut(struct jm_calc *c, enum jm_boundary b, enum jm_cut_of of, struct work *k, struct jm_cut *out)
{
    struct jm_tree_facts *f = &c->tree;
    const struct jm_domain_tree *t = c->r->tree;
    for (size_t i = 0; i < f->n; i++) {
        int up = t->d[i].parent;
        f->in[i] = 0;
        f->covered[i] = up >= 0 && (f->in[up] || f->covered[up]);
        if (f->covered[i] || !in_boundary(c, b, of, i))
            continue;
        enum take d = decide(c, b, of, i);
        if (d == TAKE_NO)
            continue;
        f->in[i] = 1;
        if (d == TAKE_ROW)
            take(c, i, k, out);
        else
            miss(c, i, k, out);
    }
    if (of == JM_CUT_MEASURED || of == JM_CUT_FED)
        hosts(c, b, k, out);
    if (b == JM_B_GPU && of == JM_CUT_MEASURED && f->absent && k->n_domain) {
        once(&k->reasons, jm_status_name(JM_S_ABSENT));
        k->count[JM_D_GPU] += f->absent;
        out->of += f->absent;
    }
    out->usable = out->of > 0;
    if (!out->usable)
        return 0;
    jm_energy_sum(k->part, k->n_row, &out->e);
    name_set(b, of, k);
    int *row = jm_report_alloc(c->r, k->n_row * sizeof *row),
        *domain = jm_report_alloc(c->r, k->n_domain * sizeof *domain);
    out->set = jm_report_text(c->r, "%s", k->set.failed ? "" : k->set.buf);
    out->instrument = k->instrument.len ? jm_report_text(c->r, "%s", k->instrument.buf) : NULL;
    out->reasons = k->reasons.len ? jm_report_text(c->r, "%s", k->reasons.buf) : NULL;
    if (!row || !domain || !out->set || k->set.failed || k->instrument.failed || k->reasons.failed)
        return no_memory(c);
    if (k->n_row)
        memcpy(row, k->row, k->n_row * sizeof *row);
    if (k->n_domain)
        memcpy(domain, k->domain, k->n_domain * sizeof *domain);
    out->part = row;
    out->n_part = k->n_row;
    out->domain = domain;
    out->n_domain = k->n_domain;
    return 0;
}

void jm_cut_rows(struct jm_calc *c, const struct jm_calc_window *w)
{
    pick_rows(c, w, false);
}

int jm_cut_make(struct jm_calc *c, const struct jm_calc_window *w, enum jm_boundary b, enum jm_cut_of of,
                struct jm_cut *out)
{
    size_t n = c->tree.n ? c->tree.n : 1;
    struct work k = {.part = malloc(n * sizeof *k.part),
                     .row = malloc(n * sizeof *k.row),
                     .domain = malloc(n * sizeof *k.domain)};
    *out = (struct jm_cut){.boundary = b, .provenance = JM_P_MEASURED, .e = {.joules = NAN, .u = NAN}};
    jm_str_init(&k.set);
    jm_str_init(&k.instrument);
    jm_str_init(&k.reasons);
    int rc = k.part && k.row && k.domain ? 0 : no_memory(c);
    if (!rc) {
        pick_rows(c, w, of == JM_CUT_ESTIMATED);
        rc = cut(c, b, of, &k, out);
    }
    jm_str_release(&k.set);
    jm_str_release(&k.instrument);
    jm_str_release(&k.reasons);
    free(k.part);
    free(k.row);
    free(k.domain);
    return rc;
}
