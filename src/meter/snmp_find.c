/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent holds, by the table, and the channels that are made of it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "meter/snmp.h"
#include "base/banned.h"

#define INSTANCES 1024 /* of one column */
#define SUFFIX    8
#define CHECKED   3

struct instance {
    uint32_t id[SUFFIX];
    size_t n;
    int64_t value;
    bool negative;
};

struct found {
    struct instance v[INSTANCES];
    size_t n, column; /* column: length of its OID */
    int64_t tail, without;
    bool one_unit; /* all but the last number are the same */
};

struct search {
    struct jm_meter *m;
    struct jm_snmp *s;
    const struct jm_meter_env *env;
    const struct jm_instrument *in;
    const struct jm_snmp_conf *conf;
    struct jm_domain_tree *tree;
    struct jm_clock clock;
    struct jm_snmp_oid system; /* sysObjectID */
    struct found *found;
    int checked;   /* parts of this column whose scale was held against volts and amperes */
    bool odd;      /* one of them did not agree: all are looked at */
    int has_reset; /* this column has times of reset; negative: not yet known */
    const char *why;
};

static int visit(void *self, const struct jm_snmp_oid *oid, const struct jm_snmp_value *v)
{
    struct found *f = self;
    size_t n = oid->n - f->column;
    int64_t x = 0;
    if (!n || n > SUFFIX || f->n == INSTANCES || (f->tail >= 0 && oid->id[oid->n - 1] != (uint32_t)f->tail) ||
        (f->without >= 0 && oid->id[oid->n - 1] == (uint32_t)f->without))
        return 0;
    struct instance *i = &f->v[f->n++];
    i->n = n;
    memcpy(i->id, oid->id + f->column, n * sizeof *i->id);
    i->negative = !jm_snmp_value_number(v, 0, &x) || x < 0;
    i->value = i->negative ? 0 : x;
    return 0;
}

static size_t counted(const struct found *f, const struct instance *i)
{
    return i->n - (f->tail >= 0 && i->n > 1 ? 1 : 0);
}

static void one_unit(struct found *f)
{
    f->one_unit = true;
    for (size_t k = 1; k < f->n; k++) {
        size_t n = counted(f, &f->v[k]);
        if (n != counted(f, &f->v[0]) || memcmp(f->v[k].id, f->v[0].id, (n - 1) * sizeof(uint32_t)) != 0)
            f->one_unit = false;
    }
}

static void part_text(const struct found *f, const struct instance *i, enum jm_pdu_part part, char out[64])
{
    static const char *const letter[] = {"D", "I", "C", "L", "", "E", "P"};
    size_t n = counted(f, i), at = (size_t)snprintf(out, 64, "%s", letter[part]);
    for (size_t k = f->one_unit ? n - 1 : 0; k < n && at < 48; k++)
        at += (size_t)snprintf(out + at, 64 - at, "%s%lu", k && !f->one_unit ? "." : "",
                               (unsigned long)i->id[k]);
}

/* "1-12,15,A3" holds part. */
static bool listed(const char *list, const char *part)
{
    struct jm_span rest = jm_span_of(list), one;
    int64_t from, to, x;
    while (jm_span_field(&rest, ',', &one)) {
        one = jm_span_trim(one);
        ptrdiff_t dash = jm_span_chr(one, '-');
        if (jm_span_is(one, part))
            return true;
        if (dash > 0 && !jm_num_i64(jm_span_sub(one, 0, (size_t)dash), &from) &&
            !jm_num_i64(jm_span_sub(one, (size_t)dash + 1, one.n), &to) &&
            !jm_num_i64(jm_span_of(part), &x) && x >= from && x <= to)
            return true;
    }
    return false;
}

static int no_memory(struct jm_err *err)
{
    return err->code ? err->code : jm_err_set(err, JM_ENOMEM, "out of memory for the meter snmp");
}

/* ---- slots */

static int add_slot(struct search *q, const struct jm_snmp_oid *oid)
{
    struct jm_snmp *s = q->s;
    for (size_t i = s->n_slot; i-- > 0;) /* one object that many counters share is asked for once */
        if (jm_snmp_oid_cmp(&s->slot[i].oid, oid) == 0)
            return (int)i;
    if (!(s->n_slot & (s->n_slot - 1))) {
        struct jm_snmp_slot *v = realloc(s->slot, (s->n_slot ? 2 * s->n_slot : 1) * sizeof *v);
        if (!v)
            return JM_ENOMEM;
        s->slot = v;
    }
    if (s->cap_binds - s->n_binds < 512) {
        uint8_t *b = realloc(s->binds, 2 * s->cap_binds + 1024);
        if (!b)
            return JM_ENOMEM;
        s->binds = b;
        s->cap_binds = 2 * s->cap_binds + 1024;
    }
    struct jm_snmp_slot *slot = &s->slot[s->n_slot];
    *slot = (struct jm_snmp_slot){.oid = *oid, .at = s->n_binds};
    if (!jm_snmp_ask(s->binds, s->cap_binds, &s->n_binds, oid))
        return JM_EINVAL;
    slot->end = s->n_binds;
    return (int)s->n_slot++;
}

static bool at_suffix(const struct jm_snmp_oid *column, const struct instance *i, struct jm_snmp_oid *out)
{
    *out = *column;
    for (size_t k = 0; k < i->n; k++)
        if (!jm_snmp_oid_add(out, i->id[k]))
            return false;
    return true;
}

static int get(struct search *q, const struct jm_snmp_oid *oid, int64_t *out)
{
    struct jm_snmp_value v;
    int rc = jm_snmp_io_get(&q->s->io, &q->clock, oid, &v, &q->why);
    return rc == 1 ? jm_snmp_value_number(&v, 0, out) : rc;
}

/* ---- scale against physics: W and V x I x PF of the same part, where the agent has them */

static int exponent(struct search *q, const struct jm_pdu_row *r, const struct instance *i, int *scale10)
{
    struct jm_snmp_oid oid;
    int64_t e;
    *scale10 = r->scale10;
    if (!r->exp.n)
        return 1;
    int rc = at_suffix(&r->exp, i, &oid) ? get(q, &oid, &e) : 0;
    if (rc == 1 && e >= -24 && e <= 24)
        *scale10 += r->exp_sign * (int)e;
    else if (rc >= 0)
        return 0;
    return rc;
}

/* The value of another quantity of the same part, NAN where there is none. */
static double beside(struct search *q, const struct jm_pdu_row *of, const struct instance *i,
                     enum jm_pdu_quantity what)
{
    struct jm_span rest = jm_pdu_table();
    struct jm_pdu_row r;
    while (jm_pdu_next(&rest, &r)) {
        if (r.part != of->part || r.quantity != what || !jm_span_eq(r.vendor, of->vendor) ||
            !jm_pdu_product(&r, &q->system))
            continue;
        struct instance k = *i;
        struct jm_snmp_oid oid;
        int64_t x;
        int scale10;
        if (r.tail >= 0)
            k.id[k.n - 1] = (uint32_t)r.tail;
        if (at_suffix(&r.oid, &k, &oid) && get(q, &oid, &x) == 1 && x > 0 &&
            exponent(q, &r, &k, &scale10) == 1)
            return (double)x * pow(10, scale10);
    }
    return NAN;
}

static bool scale_conflict(struct search *q, const struct jm_pdu_row *r, const struct instance *i, double w,
                           const char *part, struct jm_err *err)
{
    if (w < 20 || (q->checked >= CHECKED && !q->odd))
        return false; /* a wrong scale is that of a whole column */
    q->checked++;
    double v = beside(q, r, i, JM_PDU_VOLTAGE), a = beside(q, r, i, JM_PDU_CURRENT),
           pf = beside(q, r, i, JM_PDU_PF), va = beside(q, r, i, JM_PDU_VA), s = isnan(v * a) ? va : v * a;
    if (isnan(s) || s < 20)
        return false;
    double p = s * (pf > 0.05 && pf <= 1 ? pf : 1), ratio = w / p;
    /* a power factor that is not told is between 0.5 and 1 for what hangs at a PDU */
    double low = isnan(pf) ? 0.3 : 0.4;
    if (ratio > low && ratio < 2.5)
        return false;
    q->odd = true;
    char key[64];
    snprintf(key, sizeof key, "%.20s.scale", part[0] ? part : "total");
    jm_meter_add_fact(
        q->m, err, key,
        "%.4g W against %.4g W from volts, amperes and power factor: a factor of %.3g; not read as power "
        "until power_scale says what is right",
        w, p, ratio);
    return true;
}

/* ---- channels */

static int part_domain(struct search *q, const char *part, bool total, unsigned *flags, struct jm_err *err)
{
    const struct jm_feed *feed = jm_instrument_feed(q->in, part);
    if (!feed && !total)
        *flags |= JM_CHF_MIRROR; /* inside the total, or nobody said what hangs there */
    if (feed)
        return jm_instrument_domain(q->in, q->env, q->tree, part, JM_D_PSU, err);
    return jm_instrument_domain(q->in, q->env, q->tree, NULL, JM_D_RACK, err);
}

static struct jm_channel *add_channel(struct search *q, enum jm_pdu_part part, bool energy, const char *text,
                                      bool total, struct jm_err *err)
{
    static const double most[] = {250e3, 250e3, 100e3, 50e3, 10e3, 250e3, 200};
    struct jm_channel *c = jm_meter_add_channel(q->m, err);
    struct jm_snmp_chan *v = c ? realloc(q->s->chan, q->m->n_chan * sizeof *v) : NULL;
    if (!v)
        return NULL;
    q->s->chan = v;
    q->s->n_chan = q->m->n_chan;
    v[q->m->n_chan - 1] = (struct jm_snmp_chan){
        .value = JM_SNMP_NO_SLOT, .reset = JM_SNMP_NO_SLOT, .avail = JM_SNMP_NO_SLOT, .factor = 1};
    snprintf(c->name, sizeof c->name, "%s", energy ? "energy" : "power");
    jm_instrument_device(q->in, text[0] ? text : NULL, c->device);
    c->kind = energy ? JM_CH_COUNTER : JM_CH_GAUGE;
    c->unit = energy ? JM_U_J : JM_U_W;
    c->sem = JM_G_INSTANT;
    c->sane_max = most[part];
    c->flags = JM_CHF_EDGE;
    c->provenance = JM_P_MEASURED;
    c->domain = part_domain(q, text, total, &c->flags, err);
    return c->domain < 0 ? NULL : c;
}

/* RFC 7460's energies are indexed by parameters and start: 1 where they are a counter, of which object; 0:
 * means of intervals, or none. */
static int total_of(struct search *q, const struct jm_pdu_row *r, const struct instance *i, char object[24])
{
    struct jm_snmp_oid oid = r->avail;
    int64_t x;
    if (!jm_snmp_oid_add(&oid, i->id[0]))
        return 0;
    int rc = get(q, &oid, &x);
    if (rc != 1 || x != 3)
        return rc < 0 ? rc : 0;
    oid.id[r->avail.n - 1] = 2; /* eoEnergyObjectIndex stands in the same row */
    rc = get(q, &oid, &x);
    if (rc == 1)
        snprintf(object, 24, "E%lld", (long long)x);
    return rc;
}

/* 1: made, 0: nothing there. */
static int make(struct search *q, const struct jm_pdu_row *r, const struct instance *i, const char *text,
                bool total, struct jm_err *err)
{
    bool energy = r->quantity == JM_PDU_ENERGY;
    enum jm_provenance provenance = JM_P_MEASURED;
    struct jm_snmp_oid oid, avail = {.n = 0}, reset = {.n = 0};
    int scale10;
    int64_t x = 0;
    int rc = exponent(q, r, i, &scale10);
    if (rc != 1)
        return rc;
    char object[24];
    if (r->avail.n && r->total) {
        if ((rc = total_of(q, r, i, object)) != 1)
            return rc;
        text = object;
    } else if (r->avail.n && r->caliber) {
        if (!at_suffix(&r->avail, i, &oid))
            return 0;
        rc = get(q, &oid, &x);
        if (rc < 0)
            return rc;
        if (rc == 0 || x == 1)
            return 0;
        provenance = x == 3 ? JM_P_MEASURED : x == 2 ? JM_P_DECLARED : JM_P_ESTIMATED;
    } else if (r->avail.n) {
        at_suffix(&r->avail, i, &avail);
    }
    if (r->reset.n && r->reset_scalar)
        reset = r->reset;
    else if (r->reset.n)
        at_suffix(&r->reset, i, &reset);
    if (reset.n && q->has_reset < 0) {
        rc = jm_snmp_io_get(&q->s->io, &q->clock, &reset, &(struct jm_snmp_value){0}, &q->why);
        if (rc < 0)
            return rc;
        q->has_reset = rc;
    }
    if (q->has_reset == 0)
        reset.n = 0;
    at_suffix(&r->oid, i, &oid);
    bool conflict = false;
    if (!energy) {
        if (q->conf->power_scale > 0)
            scale10 += (int)lround(log10(q->conf->power_scale));
        conflict = scale_conflict(q, r, i, (double)i->value * pow(10, scale10), text, err);
    }
    struct jm_channel *c = add_channel(q, r->part, energy, text, total, err);
    if (!c)
        return no_memory(err);
    struct jm_snmp_chan *v = &q->s->chan[q->m->n_chan - 1];
    c->scale10 = scale10 + (energy ? 2 : 0); /* 1 Wh = 36 x 10^2 J: the native integer stays exact */
    v->factor = energy ? 36 : 1;
    v->scale10 = 0;
    v->conflict = conflict;
    c->modulus = energy ? r->modulus * 36 : 0;
    if (energy)
        c->offset_tol = 36 * pow(10, c->scale10); /* one step of the counter */
    c->provenance = provenance;
    char dotted[64];
    snprintf(c->source, sizeof c->source, "%s", jm_snmp_oid_text(&oid, dotted, sizeof dotted));
    v->value = add_slot(q, &oid);
    if (v->value >= 0 && reset.n)
        v->reset = add_slot(q, &reset);
    if (v->value >= 0 && avail.n)
        v->avail = add_slot(q, &avail);
    return v->value < 0 || (reset.n && v->reset < 0) || (avail.n && v->avail < 0) ? no_memory(err) : 1;
}

static bool vendor_is(const struct search *q, const struct jm_pdu_row *r)
{
    if (q->conf->vendor)
        return jm_span_is(r->vendor, q->conf->vendor);
    return !r->enterprise.n || jm_snmp_oid_below(&q->system, &r->enterprise);
}

static bool wanted(const struct search *q, enum jm_pdu_part part, const char *text)
{
    if (part == JM_PDU_OUTLET && q->conf->outlets)
        return listed(q->conf->outlets, text);
    if (part == JM_PDU_OUTLET && q->in->n_feed)
        return jm_instrument_feed(q->in, text) != NULL;
    return true;
}

static int row(struct search *q, const struct jm_pdu_row *r, struct jm_err *err)
{
    struct found *f = q->found;
    char text[64];
    *f = (struct found){.column = r->oid.n, .tail = r->tail, .without = r->without};
    q->checked = 0;
    q->odd = false;
    q->has_reset = -1;
    int rc = jm_snmp_io_walk(&q->s->io, &q->clock, &r->oid, 8L * INSTANCES, visit, f, &q->why), made = 0;
    if (rc)
        return rc;
    one_unit(f);
    bool whole = r->part == JM_PDU_DEVICE || r->part == JM_PDU_INLET || r->part == JM_PDU_CORD ||
                 (r->part == JM_PDU_OBJECT && !r->caliber && !r->total); /* the one thing that is metered */
    for (size_t i = 0; i < f->n; i++) {
        part_text(f, &f->v[i], r->part, text);
        bool total = whole && f->n == 1;
        if (total)
            text[0] = '\0';
        if (!wanted(q, r->part, text))
            continue;
        /* -1 of a phase is kept: its sum must know that it is not whole; elsewhere it is a part without meter
         */
        if (f->v[i].negative && r->part != JM_PDU_PHASE)
            continue;
        rc = make(q, r, &f->v[i], text, total, err);
        if (rc < 0)
            return rc;
        made += rc;
    }
    return made;
}

/* A sum over several channels of one quantity: of the units of a chain, of two cords, of phases. */
static int add_sum(struct search *q, enum jm_pdu_part part, size_t from, size_t to, bool energy,
                   struct jm_err *err)
{
    uint32_t *of = calloc(to - from, sizeof *of);
    size_t n = 0;
    int worst = JM_P_MEASURED, scale10 = 99;
    for (size_t i = from; of && i < to; i++)
        if ((q->m->chan[i].kind == JM_CH_COUNTER) == energy) {
            of[n++] = (uint32_t)i;
            worst = q->m->chan[i].provenance > (unsigned)worst ? (int)q->m->chan[i].provenance : worst;
            scale10 = q->m->chan[i].scale10 < scale10 ? q->m->chan[i].scale10 : scale10;
        }
    if (!of || n < 2) {
        free(of);
        return of ? 0 : no_memory(err);
    }
    struct jm_channel *c = add_channel(q, part, energy, "", true, err);
    if (!c) {
        free(of);
        return no_memory(err);
    }
    c->scale10 = scale10;
    c->provenance = (enum jm_provenance)worst;
    snprintf(c->source, sizeof c->source, "sum of %zu", n);
    q->s->chan[q->m->n_chan - 1].sum = of;
    q->s->chan[q->m->n_chan - 1].n_sum = n;
    return 1;
}

/* One part of the table: its counters, then its gauges. */
static int part(struct search *q, enum jm_pdu_part which, bool have_whole, struct jm_err *err)
{
    size_t from = q->m->n_chan;
    int made = 0;
    for (int quantity = JM_PDU_ENERGY; quantity >= JM_PDU_POWER; quantity--) {
        struct jm_span rest = jm_pdu_table(), had = {NULL, 0};
        struct jm_pdu_row r;
        while (jm_pdu_next(&rest, &r)) {
            if (r.part != which || (int)r.quantity != quantity || !vendor_is(q, &r) ||
                (had.n && !jm_span_eq(had, r.vendor)) || !jm_pdu_product(&r, &q->system))
                continue;
            int rc = row(q, &r, err);
            if (rc < 0)
                return rc;
            made += rc;
            if (rc > 0)
                had = r.vendor; /* the older tables of the same maker show the same power again */
        }
    }
    size_t to = q->m->n_chan;
    bool summed =
        which == JM_PDU_DEVICE || which == JM_PDU_INLET || which == JM_PDU_CORD || which == JM_PDU_PHASE;
    if (made < 2 || !summed || have_whole) /* a second whole would count its joules twice */
        return made;
    int rc = add_sum(q, which, from, to, true, err);
    if (rc >= 0)
        rc = add_sum(q, which, from, to, false, err);
    return rc < 0 ? rc : made;
}

static int talk(struct search *q, int rc, struct jm_err *err)
{
    const char *address = q->conf->address;
    if (rc == -EACCES)
        return jm_err_set(err, JM_EDENIED, "the agent at %.80s refuses: %s", address,
                          q->why ? q->why : "no reason");
    if (rc == -ETIMEDOUT)
        return jm_err_set(
            err, JM_ETIMEOUT,
            "nothing answers SNMP %s at %.80s within %g s; is the agent on, %s, and may this host ask it?",
            q->conf->version ? "version 3" : "version 2c", address, (double)q->in->timeout_ns / 1e9,
            q->conf->version ? "and its user set up" : "the community right");
    if (rc == -ECONNREFUSED)
        return jm_err_set(err, JM_ENET, "no SNMP agent listens at %.80s", address);
    if (rc == -ELOOP || rc == -EBADMSG)
        return jm_err_set(err, JM_EPARSE, "what answers at %.80s does not follow SNMP", address);
    return jm_err_sys(err, -rc, "the talk with %.80s failed", address);
}

int jm_snmp_find(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                 struct jm_domain_tree *tree, struct jm_err *err)
{
    static const struct jm_snmp_oid object_id = {{1, 3, 6, 1, 2, 1, 1, 2, 0}, 9},
                                    uptime = {{1, 3, 6, 1, 2, 1, 1, 3, 0}, 9},
                                    descr = {{1, 3, 6, 1, 2, 1, 1, 1, 0}, 9};
    struct search q = {.m = m,
                       .s = m->priv,
                       .env = env,
                       .in = in,
                       .conf = in->conf,
                       .tree = tree,
                       .clock = jm_meter_clock(env)};
    struct jm_snmp_value v;
    char text[96];
    int rc = jm_snmp_io_get(&q.s->io, &q.clock, &object_id, &v, &q.why);
    if (rc < 0)
        return talk(&q, rc, err);
    if (rc == 1)
        jm_snmp_value_oid(&v, &q.system);
    rc = jm_meter_add_fact(m, err, "object_id", "%s", jm_snmp_oid_text(&q.system, text, sizeof text));
    if (!rc && jm_snmp_io_get(&q.s->io, &q.clock, &descr, &v, &q.why) == 1 && v.type == JM_SNMP_OCTETS) {
        rc = jm_meter_add_fact(m, err, "descr", "%.*s", (int)(v.bytes.n < 150 ? v.bytes.n : 150), v.bytes.p);
        m->simulated =
            jm_span_starts(v.bytes, JM_SPAN("JOULEMARK")) && jm_span_find(v.bytes, JM_SPAN("SIMULATED")) >= 0;
    }
    if (rc)
        return rc;
    q.found = malloc(sizeof *q.found);
    if (!q.found || add_slot(&q, &uptime) != 0) {
        free(q.found);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter snmp");
    }
    /* the whole once: a device's own total, else its inlets, else its cords, else the sum of its phases */
    static const enum jm_pdu_part wholes[] = {JM_PDU_DEVICE, JM_PDU_INLET, JM_PDU_CORD, JM_PDU_PHASE};
    struct jm_err why = {0};
    for (size_t i = 0, have = 0; rc >= 0 && i < sizeof wholes / sizeof *wholes && (!have || q.conf->phases);
         i++)
        if (!have || wholes[i] == JM_PDU_PHASE)
            have += (rc = part(&q, wholes[i], have > 0, &why)) > 0;
    for (int p = JM_PDU_OUTLET; rc >= 0 && p <= JM_PDU_PORT; p++)
        if (p != JM_PDU_PORT || q.conf->vendor)
            rc = part(&q, (enum jm_pdu_part)p, true, &why);
    free(q.found);
    if (rc < 0) {
        if (why.code && err)
            *err = why;
        return why.code ? why.code : talk(&q, rc, err);
    }
    if (!m->n_chan)
        return jm_err_set(
            err, JM_EUNSUPPORTED,
            "the agent at %.80s (sysObjectID %s) has no power or energy that the table of PDUs knows; "
            "`vendor` asks for one maker's objects, docs/instruments.md lists them",
            q.conf->address, q.system.n ? jm_snmp_oid_text(&q.system, text, sizeof text) : "not told");
    for (size_t i = 0; m->simulated && i < m->n_chan; i++)
        m->chan[i].provenance = JM_P_SIMULATED;
    for (size_t i = 0; i < in->n_feed; i++) {
        jm_instrument_device(in, in->feed[i].part, text);
        size_t k = 0;
        while (k < m->n_chan && strcmp(m->chan[k].device, text) != 0)
            k++;
        if (k == m->n_chan)
            return jm_err_set(err, JM_EABSENT,
                              "the PDU at %.80s has no metered part \"%.40s\" that a feed names",
                              q.conf->address, in->feed[i].part);
    }
    return 0;
}
