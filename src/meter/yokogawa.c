/* SPDX-License-Identifier: Apache-2.0 */
/* A Yokogawa WT300, WT500, WT1800 or WT3000 read directly, by its public SCPI commands: the integrated energy
 * WH is the counter, active power P the gauge beside it. It is opened only when its address is said.
 *
 * Evidence needs fixed ranges: while a WT changes its range nothing is measured, and samples after it are
 * off. So ranges can be given and are then set and held; an auto-range that is left on is counted and said.
 * Integration that runs already is left running and read, never reset. */
#include "meter/yokogawa.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "meter/registry.h"
#include "base/banned.h"

/* over range, voltage peak, current peak of an element; the next ones 3 bits up */
#define OVER_BITS 0x01c0u

static int yokogawa_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct jm_yokogawa_options o;
    struct jm_scpi io;
    struct jm_err why = {0};
    char idn[128], product[32];
    bool simulated;
    if (!env->yokogawa || !*env->yokogawa) {
        jm_probe_set(out, JM_PROBE_OFF, "",
                     "a power analyzer, read when its address is said: --yokogawa tcp://HOST:10001 (or "
                     "/dev/usbtmc0, a "
                     "serial port; VXI-11 is not built)");
        return 0;
    }
    int rc = jm_yokogawa_parse(env->yokogawa, &o, &why);
    if (!rc) {
        rc = jm_scpi_open(&io, o.address, JM_YOKOGAWA_PORT, o.baud, JM_YOKOGAWA_TIMEOUT_MS, "yokogawa", &why);
        if (!rc)
            rc = jm_yokogawa_identify(&io, o.address, idn, product, &simulated, &why);
        jm_scpi_close(&io);
    }
    if (rc)
        jm_probe_set(out,
                     rc == JM_EDENIED        ? JM_PROBE_DENIED
                     : rc == JM_EUNSUPPORTED ? JM_PROBE_UNSUPPORTED
                                             : JM_PROBE_ABSENT,
                     "", "%.250s", why.text);
    else
        jm_probe_set(out, JM_PROBE_OK, "", "%.100s at %.100s%s", idn, o.address,
                     simulated ? ", SIMULATED" : "");
    return 0;
}

static void yokogawa_close(struct jm_meter *m)
{
    struct jm_yokogawa *y = m ? m->priv : NULL;
    if (y) {
        if (y->started)
            jm_scpi_send(&y->io, ":INTEG:STOP");
        jm_scpi_close(&y->io);
    }
    free(y);
    jm_meter_dispose(m);
}

static int yokogawa_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                         struct jm_err *err)
{
    struct jm_yokogawa_options o;
    char idn[128], product[32];
    if (!env->yokogawa || !*env->yokogawa)
        return jm_err_set(err, JM_EABSENT,
                          "yokogawa: no address of the analyzer is given; say --yokogawa tcp://HOST:10001");
    int rc = jm_yokogawa_parse(env->yokogawa, &o, err);
    if (rc)
        return rc;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_yokogawa, err);
    struct jm_yokogawa *y = m ? calloc(1, sizeof *y) : NULL;
    if (!y) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter yokogawa");
    }
    y->io.fd = -1;
    m->priv = y;
    m->deadline_ns = JM_YOKOGAWA_TIMEOUT_MS * JM_NS_PER_MS;
    rc = jm_scpi_open(&y->io, o.address, JM_YOKOGAWA_PORT, o.baud, JM_YOKOGAWA_TIMEOUT_MS, "yokogawa", err);
    if (!rc)
        rc = jm_yokogawa_identify(&y->io, o.address, idn, product, &m->simulated, err);
    if (!rc) {
        snprintf(m->instance, sizeof m->instance, "%.60s at %.30s", idn, o.address);
        y->elements = o.elements ? (int)o.elements : jm_yokogawa_elements(product);
        rc = jm_meter_add_fact(m, err, "yokogawa.identity", "%s", idn);
    }
    if (!rc)
        rc = jm_yokogawa_configure(m, &o, err);
    int node = rc ? rc : jm_meter_host(env, tree, err);
    int inlet = node < 0 ? node : tree->d[node].parent;
    if (!rc && node >= 0 && o.dc) {
        const char *host = env->host && *env->host ? env->host : "localhost";
        inlet = jm_domain_add(tree, -1, JM_D_INLET_DC, host, host, err);
    }
    rc = rc ? rc : node < 0 ? node : inlet < 0 ? JM_ENOMEM : jm_yokogawa_channels(m, inlet, err);
    if (!rc)
        rc = jm_yokogawa_accuracies(m, product, o.dc, err);
    if (rc) {
        yokogawa_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

struct answer {
    struct jm_reading power, energy, volts, amps, pf, element[JM_YOKOGAWA_ELEMENTS];
    bool talked;
};

static void take(struct jm_reading *r, struct jm_span text, int scale10)
{
    switch (jm_scpi_number(text, scale10, &r->value)) {
    case JM_SCPI_NUMBER: r->status = JM_S_OK; break;
    case JM_SCPI_OVER:
        r->status = JM_S_IMPLAUSIBLE; /* beyond its range: no value */
        break;
    default: r->status = JM_S_GAP;
    }
}

/* One question, one answer: values, condition, ranges, parted by ';' as the instrument parts them. */
static int ask_all(struct jm_yokogawa *y, struct answer *a)
{
    struct jm_span reply, values, cond, amp, volt, f;
    int64_t v;
    double ar, vr;
    int rc = jm_scpi_ask(&y->io, ":NUM:NORM:VAL?;:STAT:COND?;:INP:CURR:RANG?;:INP:VOLT:RANG?", &reply);
    if (rc)
        return rc;
    if (!jm_span_field(&reply, ';', &values) || !jm_span_field(&reply, ';', &cond) ||
        !jm_span_field(&reply, ';', &amp) || !jm_span_field(&reply, ';', &volt) || reply.p)
        return -EBADMSG;
    struct jm_reading *slot[] = {&a->power, &a->energy, &a->volts, &a->amps, &a->pf, NULL};
    for (int i = 0; i < 6 + (y->elements > 1 ? y->elements : 0); i++) {
        if (!jm_span_field(&values, ',', &f))
            return -EBADMSG;
        struct jm_reading *r = i < 6 ? slot[i] : &a->element[i - 6];
        if (r == &a->energy) {
            /* Wh to uJ: 1e-6 Wh is 3600 uJ, exact for its six digits */
            take(r, f, -6);
            if (r->status == JM_S_OK && (r->value < 0 || r->value > INT64_MAX / 3600))
                r->status = JM_S_GAP;
            else if (r->status == JM_S_OK)
                r->value *= 3600;
        } else if (r) {
            take(r, f, JM_YOKOGAWA_SCALE);
        }
    }
    if (values.p || jm_num_i64(jm_span_trim(cond), &v) || jm_num_double(jm_span_trim(amp), &ar) ||
        jm_num_double(jm_span_trim(volt), &vr))
        return -EBADMSG;
    y->condition = (uint32_t)v;
    if (y->volt_range > 0 && (ar != y->amp_range || vr != y->volt_range))
        y->range_changes++;
    y->amp_range = ar;
    y->volt_range = vr;
    for (int e = 0; e < y->elements; e++)
        if (y->condition &
            (OVER_BITS << (3 * e))) { /* what a peak beyond the range has cut is no measurement */
            struct jm_reading *r[] = {&a->power, &a->volts, &a->amps, &a->pf,
                                      y->elements > 1 ? &a->element[e] : NULL};
            for (int i = 0; i < 5; i++)
                if (r[i])
                    r[i]->status = JM_S_IMPLAUSIBLE;
        }
    return 0;
}

static size_t yokogawa_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                            struct jm_reading *out)
{
    struct jm_yokogawa *y = m->priv;
    struct answer a = {0};
    int64_t t0 = jm_clock_mono(clock);
    int rc = m->alive ? ask_all(y, &a) : -EPIPE;
    int64_t t1 = jm_clock_mono(clock);
    uint8_t bad = JM_S_OK;
    size_t n = 0;
    if (rc == -ETIMEDOUT || rc == -EBADMSG || rc == -EMSGSIZE) {
        bad = JM_S_GAP;
        jm_scpi_drain(&y->io);
    } else if (rc) {
        bad = JM_S_LOST;
        m->alive = false;
        jm_scpi_close(&y->io);
    }
    for (size_t i = 0; i < m->n_chan; i++) {
        const struct jm_channel *c = &m->chan[i];
        if (!jm_meter_in_set(c, set))
            continue;
        struct jm_reading r = {.status = JM_S_OK};
        int k = (int)i;
        if (k == y->energy)
            r = a.energy;
        else if (k == y->power)
            r = a.power;
        else if (k == y->volts)
            r = a.volts;
        else if (k == y->amps)
            r = a.amps;
        else if (k == y->pf)
            r = a.pf;
        else if (k == y->state)
            r.value = y->condition;
        else if (k == y->ranges)
            r.value = y->range_changes;
        else
            r = a.element[k - y->first_element];
        if (bad != JM_S_OK)
            r = (struct jm_reading){.status = bad};
        r.channel = (uint32_t)i;
        r.t0 = t0;
        r.t1 = t1;
        if (r.status == JM_S_OK && c->kind == JM_CH_GAUGE && c->sane_max > 0 &&
            fabs(jm_channel_value(c, r.value)) > c->sane_max)
            r.status = JM_S_IMPLAUSIBLE;
        out[n++] = r;
    }
    return n;
}

const struct jm_meter_ops jm_meter_yokogawa = {
    .version = JM_METER_OPS_VERSION,
    .name = "yokogawa",
    .summary = "a Yokogawa WT power analyzer at the inlet, read directly; only on request",
    .boundary = "wall",
    .needs = "its address (--yokogawa): raw TCP, /dev/usbtmc* or a serial port; VXI-11 is not built",
    .traps =
        "While a WT changes its range nothing is measured, and up to three later samples are off: give the "
        "ranges "
        "(volts=300,amps=5), which are then held. Auto ranges are counted in range_changes and said in a "
        "fact.\n"
        "A current peak beyond the range is clipped: such readings are implausible, the bits are in status.\n"
        "NAN and 9.91E+37 are no data, INF and 9.9E+37 over range; a WT200 prints the numbers.\n"
        "Integration that runs already is read and left running; else one is started and stopped at the end. "
        "WH "
        "has six digits: at 1 kWh one step is 36 J, so short windows rest on the power gauge.\n"
        "Current below 0.5 % of the range integrates as zero; integration ends after 10,000 hours.\n"
        "The inlet is taken to be this host's; an analyzer knows nothing of what hangs on it.",
    .probe = yokogawa_probe,
    .open = yokogawa_open,
    .read = yokogawa_read,
    .close = yokogawa_close,
};
