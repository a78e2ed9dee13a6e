/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "meter/net_tables.h"
#include "meter/snmp.h"
#include "base/banned.h"

enum {
    C_VENDOR,
    C_ENTERPRISE,
    C_PART,
    C_QUANTITY,
    C_UNIT,
    C_SCALE,
    C_MODULUS,
    C_OID,
    C_TAIL,
    C_RESET,
    C_EXP,
    C_AVAIL,
    C_SOURCE,
    COLUMNS
};

struct jm_span jm_pdu_table(void)
{
    return (struct jm_span){(const char *)jm_snmp_pdus_tsv, jm_snmp_pdus_tsv_len};
}

static int word(struct jm_span s, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (jm_span_is(s, names[i]))
            return i;
    return -1;
}

/* "1.3.*.4": the number at * is the product's, told by sysObjectID. */
static bool oid(struct jm_span s, struct jm_snmp_oid *out)
{
    char text[128];
    *out = (struct jm_snmp_oid){.n = 0};
    ptrdiff_t star = jm_span_chr(s, '*');
    if (star < 0)
        return jm_span_is(s, "-") || jm_snmp_oid_parse(s, out);
    int n = snprintf(text, sizeof text, "%.*s%lu%.*s", (int)star, s.p, (unsigned long)JM_PDU_PRODUCT,
                     (int)(s.n - (size_t)star - 1), s.p + star + 1);
    return n > 0 && (size_t)n < sizeof text && jm_snmp_oid_parse(jm_span_of(text), out);
}

static bool fill(struct jm_snmp_oid *o, const struct jm_snmp_oid *system)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->id[i] == JM_PDU_PRODUCT) {
            if (system->n <= i || memcmp(system->id, o->id, i * sizeof *o->id) != 0)
                return false;
            o->id[i] = system->id[i];
        }
    return true;
}

bool jm_pdu_product(struct jm_pdu_row *r, const struct jm_snmp_oid *system)
{
    return fill(&r->oid, system) && fill(&r->reset, system) && fill(&r->exp, system) &&
           fill(&r->avail, system);
}

static bool parse(struct jm_span line, struct jm_pdu_row *r)
{
    static const char *const parts[] = {"device", "inlet", "cord", "phase", "outlet", "object", "port"},
                             *const quantities[] = {"power", "energy", "va", "pf", "current", "voltage"};
    struct jm_span c[COLUMNS];
    int64_t scale, modulus;
    for (int i = 0; i < COLUMNS; i++)
        if (!jm_span_field(&line, '\t', &c[i]))
            return false;
    *r = (struct jm_pdu_row){.vendor = c[C_VENDOR], .source = c[C_SOURCE], .tail = -1, .without = -1};
    int part = word(c[C_PART], parts, 7), quantity = word(c[C_QUANTITY], quantities, 6);
    if (part < 0 || quantity < 0 || jm_num_i64(c[C_SCALE], &scale) || jm_num_i64(c[C_MODULUS], &modulus))
        return false;
    r->part = (enum jm_pdu_part)part;
    r->quantity = (enum jm_pdu_quantity)quantity;
    r->scale10 = (int)scale;
    r->modulus = (uint64_t)modulus;
    bool without = jm_span_starts(c[C_TAIL], JM_SPAN("!"));
    if (!jm_span_is(c[C_TAIL], "-") &&
        jm_num_i64(without ? jm_span_sub(c[C_TAIL], 1, c[C_TAIL].n) : c[C_TAIL],
                   without ? &r->without : &r->tail))
        return false;
    if (jm_span_starts(c[C_RESET], JM_SPAN("="))) {
        r->reset_scalar = true;
        c[C_RESET] = jm_span_sub(c[C_RESET], 1, c[C_RESET].n);
    }
    if (c[C_EXP].n > 1) {
        r->exp_sign = c[C_EXP].p[0] == '+' ? 1 : -1;
        c[C_EXP] = jm_span_sub(c[C_EXP], 1, c[C_EXP].n);
    }
    if (jm_span_starts(c[C_AVAIL], JM_SPAN("caliber="))) {
        r->caliber = true;
        c[C_AVAIL] = jm_span_sub(c[C_AVAIL], 8, c[C_AVAIL].n);
    }
    if (jm_span_starts(c[C_AVAIL], JM_SPAN("total="))) {
        r->total = true;
        c[C_AVAIL] = jm_span_sub(c[C_AVAIL], 6, c[C_AVAIL].n);
    }
    return oid(c[C_ENTERPRISE], &r->enterprise) && oid(c[C_OID], &r->oid) && r->oid.n &&
           oid(c[C_RESET], &r->reset) && oid(c[C_EXP], &r->exp) && oid(c[C_AVAIL], &r->avail);
}

bool jm_pdu_next(struct jm_span *rest, struct jm_pdu_row *row)
{
    struct jm_span line;
    while (jm_span_line(rest, &line))
        if (line.n && line.p[0] != '#' && parse(line, row))
            return true;
    return false;
}
