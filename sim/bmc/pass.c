/* SPDX-License-Identifier: Apache-2.0 */
/* The PDU by SNMP: an agent of net-snmp runs us as `pass_persist` and asks on standard input, a line at a
 * time (snmpd.conf(5)). The objects are those of Raritan's PDU2-MIB: measurements of the inlet and of each
 * outlet as whole numbers, to be divided by ten to the power of their decimal digits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bmc.h"
#include "sim_main.h"

#define ARCS  18
#define POWER 5 /* activePower, W */
#define WORK  8 /* activeEnergy, Wh */
#define LINE  512

enum what { DIGITS, AVAILABLE, VALUE };

struct object {
    uint32_t arc[ARCS];
    int n, outlet, type; /* outlet 0: the inlet */
    enum what what;
};

struct table {
    struct object *v;
    size_t n;
};

static const uint32_t raritan[] = {1, 3, 6, 1, 4, 1, 13742, 6};

/* One column for all outlets (or the inlet), both types: in the order of their OIDs. */
static void column(struct table *t, const uint32_t *arcs, int n, int outlets, enum what what)
{
    for (int i = 1; i <= (outlets ? outlets : 1); i++)
        for (int type = POWER; type <= WORK; type += WORK - POWER) {
            struct object *o = &t->v[t->n++];
            *o = (struct object){.outlet = outlets ? i : 0, .type = type, .what = what};
            for (size_t k = 0; k < sizeof raritan / sizeof *raritan; k++)
                o->arc[o->n++] = raritan[k];
            for (int k = 0; k < n; k++)
                o->arc[o->n++] = arcs[k];
            o->arc[o->n++] = 1; /* the PDU */
            o->arc[o->n++] = (uint32_t)i;
            o->arc[o->n++] = (uint32_t)type;
        }
}

static int digits(const struct object *o)
{
    return o->type == POWER ? 1 : 0;
}

static int64_t value(const struct sim_bmc *b, const struct object *o)
{
    int64_t now = simclock_now(&b->clock), at;
    double share = o->outlet ? 1.0 / b->o.outlets : 1;
    if (o->what == DIGITS)
        return digits(o);
    if (o->what == AVAILABLE)
        return 1;
    return o->type == POWER ? llround(share * sim_bmc_power(b, now, &at) * 10)
                            : (int64_t)(share * sim_bmc_energy(b, now) / 3600);
}

static int oid(const char *text, uint32_t *arc)
{
    int n = 0;
    for (const char *p = text; *p == '.' || n == 0;) {
        char *end;
        p += *p == '.';
        unsigned long v = strtoul(p, &end, 10);
        if (end == p)
            break;
        if (n == ARCS)
            return n;
        arc[n++] = (uint32_t)v;
        p = end;
    }
    return n;
}

static int order(const uint32_t *a, int n, const uint32_t *b, int m)
{
    for (int i = 0; i < n && i < m; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return n - m;
}

static const struct object *find(const struct table *t, const char *text, bool next)
{
    uint32_t arc[ARCS];
    int n = oid(text, arc);
    for (size_t i = 0; i < t->n; i++) {
        int c = order(t->v[i].arc, t->v[i].n, arc, n);
        if (next ? c > 0 : c == 0)
            return &t->v[i];
    }
    return NULL;
}

static bool line(char *buf)
{
    if (!fgets(buf, LINE, stdin))
        return false;
    buf[strcspn(buf, "\r\n")] = 0;
    return true;
}

static int talk(const struct sim_bmc *b, const struct table *t)
{
    char word[LINE], arg[LINE];
    while (line(word) && *word) {
        bool get = strcmp(word, "get") == 0, next = strcmp(word, "getnext") == 0;
        if (strcmp(word, "PING") == 0) {
            puts("PONG");
        } else if (get || next) {
            const struct object *o = line(arg) ? find(t, arg, next) : NULL;
            if (o) {
                for (int i = 0; i < o->n; i++)
                    printf(".%" PRIu32, o->arc[i]);
                printf("\n%s\n%" PRId64 "\n", o->what == VALUE ? "gauge" : "integer", value(b, o));
            } else {
                puts("NONE");
            }
        } else { /* set, with an OID and a value */
            if (strcmp(word, "set") == 0 && line(arg))
                line(arg);
            puts("not-writable");
        }
        if (fflush(stdout) != 0)
            return SIM_SYSTEM;
    }
    return SIM_OK;
}

int sim_bmc_pass(const struct sim_bmc_options *o)
{
    static const uint32_t in_digits[] = {3, 3, 4, 1, 7}, out_digits[] = {3, 5, 4, 1, 7},
                          in_ok[] = {5, 2, 3, 1, 2}, in_value[] = {5, 2, 3, 1, 4}, out_ok[] = {5, 4, 3, 1, 2},
                          out_value[] = {5, 4, 3, 1, 4};
    struct sim_bmc *b = calloc(1, sizeof *b);
    struct table t = {calloc((size_t)(6 * (o->outlets + 1)), sizeof *t.v), 0};
    char why[512], text[600];
    int rc = SIM_SYSTEM;
    if (b && t.v) {
        b->o = *o;
        simclock_init(&b->clock, 1);
        b->start_ns = simclock_now(&b->clock);
        if (simwall_open(&b->wall, o->waveform, (uint64_t)o->seed, b->start_ns, why, sizeof why) < 0) {
            snprintf(text, sizeof text, "pdu: %s", why);
            rc = sim_fail(SIM_USAGE, text);
        } else {
            column(&t, in_digits, 5, 0, DIGITS);
            column(&t, out_digits, 5, o->outlets, DIGITS);
            column(&t, in_ok, 5, 0, AVAILABLE);
            column(&t, in_value, 5, 0, VALUE);
            column(&t, out_ok, 5, o->outlets, AVAILABLE);
            column(&t, out_value, 5, o->outlets, VALUE);
            rc = talk(b, &t);
            simwall_close(b->wall);
        }
    }
    free(b);
    free(t.v);
    return rc;
}
