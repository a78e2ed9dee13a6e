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
#include "meter/instrument.h"
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
                     "a power analyzer, read when its address is said: --yokogawa vxi11://HOST (or "
                     "tcp://HOST:10001, /dev/usbtmc0, a serial port)");
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

/* The inlet that it measures: as the entry says, else this host's. */
static int inlet_of(const struct jm_meter_env *env, const struct jm_instrument *in, bool dc,
                    struct jm_domain_tree *tree, struct jm_err *err)
{
    if (in)
        return jm_instrument_domain(in, env, tree, NULL, dc ? JM_D_INLET_DC : JM_D_INLET_AC, err);
    int node = jm_meter_host(env, tree, err);
    const char *host = env->host && *env->host ? env->host : "localhost";
    return node < 0 ? node
           : dc     ? jm_domain_add(tree, -1, JM_D_INLET_DC, host, host, err)
                    : tree->d[node].parent;
}

/* in: the entry of the configuration, or NULL. */
static int open_with(const struct jm_meter_env *env, const struct jm_instrument *in,
                     const struct jm_yokogawa_options *o, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    int timeout_ms = in ? (int)(in->timeout_ns / JM_NS_PER_MS) : JM_YOKOGAWA_TIMEOUT_MS;
    char idn[128], product[32];
    struct jm_meter *m = jm_meter_alloc(&jm_meter_yokogawa, err);
    struct jm_yokogawa *y = m ? calloc(1, sizeof *y) : NULL;
    if (!y) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter yokogawa");
    }
    y->io.fd = -1;
    m->priv = y;
    m->deadline_ns = timeout_ms * JM_NS_PER_MS;
    int rc = jm_scpi_open(&y->io, o->address, JM_YOKOGAWA_PORT, o->baud, timeout_ms, "yokogawa", err);
    if (!rc)
        rc = jm_yokogawa_identify(&y->io, o->address, idn, product, &m->simulated, err);
    if (!rc) {
        if (in)
            snprintf(m->instance, sizeof m->instance, "%s", in->name);
        else
            snprintf(m->instance, sizeof m->instance, "%.60s at %.30s", idn, o->address);
        y->elements = o->elements ? (int)o->elements : jm_yokogawa_elements(product);
        rc = jm_meter_add_fact(m, err, "yokogawa.identity", "%s", idn);
    }
    if (!rc)
        rc = jm_yokogawa_configure(m, o, err);
    int inlet = rc ? rc : inlet_of(env, in, o->dc, tree, err);
    rc = inlet < 0 ? inlet : jm_yokogawa_channels(m, inlet, err);
    if (!rc)
        rc = jm_yokogawa_accuracies(m, product, o->dc, err);
    if (rc) {
        yokogawa_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static int yokogawa_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                         struct jm_err *err)
{
    struct jm_yokogawa_options o;
    if (!env->yokogawa || !*env->yokogawa)
        return jm_err_set(err, JM_EABSENT,
                          "yokogawa: no address of the analyzer is given; say --yokogawa vxi11://HOST");
    int rc = jm_yokogawa_parse(env->yokogawa, &o, err);
    return rc ? rc : open_with(env, NULL, &o, tree, out, err);
}

/* ---- as an entry of the configuration */

struct conf {
    const char *address;
    double volts, amps;
    int64_t rate_ns, baud, elements;
    bool dc, automatic;
};

static void conf_init(void *conf)
{
    ((struct conf *)conf)->baud = 9600;
}

static int conf_check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct conf *c = in->conf;
    if (!c->address || strlen(c->address) >= sizeof((struct jm_yokogawa_options *)0)->address)
        return jm_err_set(err, JM_EUSAGE,
                          "a yokogawa needs its address: address: vxi11://HOST, tcp://HOST:10001, "
                          "/dev/usbtmc0 or a serial port");
    if (c->automatic && (c->volts > 0 || c->amps > 0))
        return jm_err_set(err, JM_EUSAGE, "auto: true beside fixed ranges; say volts and amps, or auto");
    if (c->dc && in->at == JM_D_INLET_AC)
        return jm_err_set(err, JM_EUSAGE, "dc: true at an AC inlet; say at: inlet dc, or leave dc away");
    return jm_address_check(c->address, err);
}

static int open_conf(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    const struct conf *c = in->conf;
    struct jm_yokogawa_options o = {.volts = c->volts,
                                    .amps = c->amps,
                                    .rate_s = (double)c->rate_ns / 1e9,
                                    .baud = c->baud,
                                    .elements = c->elements,
                                    .dc = c->dc || in->at == JM_D_INLET_DC,
                                    .automatic = c->automatic};
    snprintf(o.address, sizeof o.address, "%s", c->address);
    return open_with(env, in, &o, tree, out, err);
}

static const struct jm_opt keys[] = {
    {"address", 0, JM_OPT_STR, offsetof(struct conf, address), .arg = "URL",
     .help = "vxi11://HOST, tcp://HOST:PORT, /dev/usbtmc0 or a serial port."},
    {"volts", 0, JM_OPT_NUM, offsetof(struct conf, volts), 1, 1000, .arg = "V",
     .help = "Fixed voltage range; evidence needs one."},
    {"amps", 0, JM_OPT_NUM, offsetof(struct conf, amps), 0.001, 100, .arg = "A",
     .help = "Fixed current range."},
    {"auto", 0, JM_OPT_FLAG, offsetof(struct conf, automatic),
     .help = "Let it choose its ranges; every change loses samples and is counted."},
    {"rate", 0, JM_OPT_DURATION, offsetof(struct conf, rate_ns), 5e7, 20e9, .arg = "DURATION",
     .help = "Its update period.", .deflt = "as it is set"},
    {"elements", 0, JM_OPT_INT, offsetof(struct conf, elements), 1, JM_YOKOGAWA_ELEMENTS,
     .help = "Elements that are summed.", .deflt = "all that its model has"},
    {"baud", 0, JM_OPT_INT, offsetof(struct conf, baud), 300, 115200, .help = "Of a serial port.",
     .deflt = "9600"},
    {"dc", 0, JM_OPT_FLAG, offsetof(struct conf, dc), .help = "It stands in a DC feed; as at: inlet dc."},
    {NULL}};

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
    y->said = rc ? (struct jm_span){NULL, 0} : reply;
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
    y->said.n = 0;
    int rc = m->alive ? ask_all(y, &a) : -EPIPE;
    int64_t t1 = jm_clock_mono(clock);
    if (y->said.n)
        jm_meter_raw(m, t0, t1, "values;condition;ranges", y->said, rc ? JM_RAW_BAD : 0);
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
    .needs = "its address (--yokogawa): VXI-11 (the way of Ethernet), raw TCP, /dev/usbtmc* or a serial port",
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
    .opts = keys,
    .conf_size = sizeof(struct conf),
    .conf_init = conf_init,
    .conf_check = conf_check,
    .open_conf = open_conf,
    .min_interval_ns = 50 * JM_NS_PER_MS,
    .why_interval = "no WT updates its values more often",
};
