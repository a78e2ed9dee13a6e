/* SPDX-License-Identifier: Apache-2.0 */
/* A Yokogawa WT300, WT500, WT1800 or WT3000 read directly, by its public SCPI commands: the integrated energy
 * WH is the counter, active power P the gauge beside it. It is opened only when its address is said.
 *
 * Evidence needs fixed ranges: while a WT changes its range nothing is measured, and samples after it are
 * off. So ranges can be given and are then set and held; an auto-range that is left on is counted and said.
 * Integration that runs already is left running and read, never reset. */
#include "meter/registry.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "meter/instrument.h"
#include "meter/scpi.h"
#include "base/banned.h"

#define PORT       10001 /* WT300E's; others have what their manual says */
#define TIMEOUT_MS 2000
#define ELEMENTS   6
#define SCALE      (-6) /* native power uW, energy uJ, volts uV, amps uA */
#define OVER_BITS                                                                                            \
    0x01c0u /* over range, voltage peak, current peak of an element; the next ones 3 bits up                 \
             */

/* What follows the address. */
struct options {
    char address[256];
    double volts, amps, rate_s;
    int64_t baud, elements;
    bool dc, automatic;
};

struct yokogawa {
    struct jm_scpi io;
    int elements;
    double volt_range, amp_range; /* as last seen */
    int64_t range_changes;
    uint32_t condition;
    int energy, power, volts, amps, pf, state, ranges, first_element; /* channels */
    bool started;                                                     /* the integration is ours */
};

/* Active power: percent of reading, percent of range (volt range x amp range), percent of S at power factor
 * 0, 45 to 66 Hz. WT300E: IM WT310E-02EN 7-7; WT310, WT330, WT500: as PTDaemon evaluates them in published
 * MLPerf sessions (influence 0.2; WT500 0.15 + 0.1 after a year). Others are not known here. */
static const struct {
    const char *product;
    double rdg, rng, infl;
} accuracy[] = {
    {"WT310E", .1, .05, .2}, {"WT332E", .1, .05, .2}, {"WT333E", .1, .05, .2},
    {"WT310", .1, .1, .2},   {"WT332", .1, .1, .2},   {"WT333", .1, .1, .2},
    {"760201", .15, .1, .2}, {"760202", .15, .1, .2}, {"760203", .15, .1, .2},
};

static int parse(const char *text, struct options *o, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), f;
    *o = (struct options){.baud = 9600};
    jm_span_field(&rest, ',', &f);
    if (f.n == 0 || f.n >= sizeof o->address)
        return jm_err_set(err, JM_EUSAGE,
                          "yokogawa: \"%.80s\" begins with no address; say tcp://HOST:PORT, "
                          "/dev/usbtmc0 or a serial port",
                          text);
    memcpy(o->address, f.p, f.n);
    while (jm_span_field(&rest, ',', &f)) {
        ptrdiff_t eq = jm_span_chr(f, '=');
        struct jm_span key = eq < 0 ? f : jm_span_sub(f, 0, (size_t)eq),
                       value = eq < 0 ? (struct jm_span){NULL, 0} : jm_span_sub(f, (size_t)eq + 1, f.n);
        bool ok = false;
        if (jm_span_is(key, "volts"))
            ok = jm_num_double(value, &o->volts) == 0 && o->volts > 0 && o->volts <= 1000;
        else if (jm_span_is(key, "amps"))
            ok = jm_num_double(value, &o->amps) == 0 && o->amps > 0 && o->amps <= 100;
        else if (jm_span_is(key, "rate"))
            ok = jm_num_double(value, &o->rate_s) == 0 && o->rate_s >= .05 && o->rate_s <= 20;
        else if (jm_span_is(key, "baud"))
            ok = jm_num_i64(value, &o->baud) == 0;
        else if (jm_span_is(key, "elements"))
            ok = jm_num_i64(value, &o->elements) == 0 && o->elements >= 1 && o->elements <= ELEMENTS;
        else if (jm_span_is(key, "dc"))
            ok = o->dc = eq < 0;
        else if (jm_span_is(key, "auto"))
            ok = o->automatic = eq < 0;
        if (!ok)
            return jm_err_set(
                err, JM_EUSAGE,
                "yokogawa: \"%.*s\" is no option of it; there are volts=300, amps=5, rate=0.25 (s), "
                "elements=3, baud=9600, dc and auto",
                (int)(f.n < 60 ? f.n : 60), f.p);
    }
    return 0;
}

static int sentence(int rc, const char *address, struct jm_err *err)
{
    if (rc == -ETIMEDOUT)
        return jm_err_set(err, JM_ETIMEOUT,
                          "yokogawa: the instrument at %s does not answer; is it on, and is its "
                          "interface the one that it is set to?",
                          address);
    return jm_err_sys(err, -rc, "yokogawa: the talk with %s failed", address);
}

/* "YOKOGAWA,WT310E,C3XA04010E,F1.04" */
static int identify(struct jm_scpi *io, const char *address, char idn[128], char product[32], bool *simulated,
                    struct jm_err *err)
{
    struct jm_span reply, maker, name;
    int rc = jm_scpi_ask(io, "*IDN?", &reply);
    if (rc)
        return sentence(rc, address, err);
    snprintf(idn, 128, "%.*s", (int)(reply.n < 127 ? reply.n : 127), reply.p);
    for (char *c = idn; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
    jm_span_field(&reply, ',', &maker);
    if (!jm_span_field(&reply, ',', &name))
        name = (struct jm_span){NULL, 0};
    *simulated = jm_span_is(maker, "JOULEMARK");
    if (*simulated && jm_span_starts(name, JM_SPAN("SIM-")))
        name = jm_span_sub(name, 4, name.n);
    if (!*simulated && !jm_span_ieq(maker, JM_SPAN("YOKOGAWA")))
        return jm_err_set(err, JM_EUNSUPPORTED, "yokogawa: what answers at %s is no Yokogawa: \"%.100s\"",
                          address, idn);
    if (!*simulated && jm_span_starts(name, JM_SPAN("7604")))
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "yokogawa: %.60s is a WT210, whose commands are others; WT300 and later are read",
                          idn);
    snprintf(product, 32, "%.*s", (int)(name.n < 31 ? name.n : 31), name.p);
    return 0;
}

static int yokogawa_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct options o;
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
    int rc = parse(env->yokogawa, &o, &why);
    if (!rc) {
        rc = jm_scpi_open(&io, o.address, PORT, o.baud, TIMEOUT_MS, "yokogawa", &why);
        if (!rc)
            rc = identify(&io, o.address, idn, product, &simulated, &why);
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
    struct yokogawa *y = m ? m->priv : NULL;
    if (y) {
        if (y->started)
            jm_scpi_send(&y->io, ":INTEG:STOP");
        jm_scpi_close(&y->io);
    }
    free(y);
    jm_meter_dispose(m);
}

/* The elements that a product has: its last digit where the name tells it. */
static int elements_of(const char *product)
{
    size_t n = strlen(product);
    if (strncmp(product, "WT33", 4) == 0 && n > 4)
        return product[4] == '2' ? 2 : 3;
    if ((strncmp(product, "7602", 4) == 0 || strncmp(product, "WT180", 5) == 0) && n >= 6 &&
        product[n - 1] >= '1' && product[n - 1] <= '6')
        return product[n - 1] - '0';
    return 1;
}

static int set(struct yokogawa *y, const char *line, const char *address, struct jm_err *err)
{
    struct jm_span reply;
    char text[160];
    int64_t code = 0;
    snprintf(text, sizeof text, "%s", line);
    int rc = jm_scpi_send(&y->io, text);
    if (!rc)
        rc = jm_scpi_ask(&y->io, ":STAT:ERR?", &reply);
    if (rc)
        return sentence(rc, address, err);
    struct jm_span number = reply;
    ptrdiff_t comma = jm_span_chr(reply, ',');
    if (comma >= 0)
        number = jm_span_sub(reply, 0, (size_t)comma);
    if (jm_num_i64(jm_span_trim(number), &code) || code != 0)
        return jm_err_set(err, JM_EUNSUPPORTED, "yokogawa: the instrument at %s refuses \"%.60s\": %.*s",
                          address, line, (int)(reply.n < 80 ? reply.n : 80), reply.p);
    return 0;
}

static bool ask_double(struct yokogawa *y, const char *query, double *out)
{
    struct jm_span reply;
    return jm_scpi_ask(&y->io, query, &reply) == 0 && jm_num_double(jm_span_trim(reply), out) == 0;
}

static int configure(struct jm_meter *m, const struct options *o, struct jm_err *err)
{
    struct yokogawa *y = m->priv;
    struct jm_span reply;
    char line[160];
    double v_auto = 0, a_auto = 0, rate = 0;
    bool running;
    /* what an instrument may have pending belongs to another talk */
    int rc = jm_scpi_send(&y->io, "*CLS");
    if (!rc)
        rc = jm_scpi_send(&y->io, ":COMM:REM ON;:COMM:HEAD OFF");
    if (!rc)
        rc = jm_scpi_ask(&y->io, ":INTEG:STAT?", &reply);
    if (rc)
        return sentence(rc, o->address, err);
    reply = jm_span_trim(reply);
    running = jm_span_istarts(reply, JM_SPAN("STAR"));
    if (running && (o->volts > 0 || o->amps > 0 || o->rate_s > 0 || o->automatic))
        return jm_err_set(
            err, JM_ESTATE,
            "yokogawa: the instrument at %s integrates for somebody, so its ranges and rate cannot be "
            "set; stop it there, or leave volts, amps and rate out",
            o->address);
    if (o->volts > 0) {
        snprintf(line, sizeof line, ":INP:VOLT:RANG %.6gV", o->volts);
        rc = set(y, line, o->address, err);
    }
    if (!rc && o->amps > 0) {
        snprintf(line, sizeof line, ":INP:CURR:RANG %.6gA", o->amps);
        rc = set(y, line, o->address, err);
    }
    if (!rc && o->automatic)
        rc = set(y, ":INP:VOLT:AUTO ON;:INP:CURR:AUTO ON", o->address, err);
    if (!rc && o->rate_s > 0) {
        snprintf(line, sizeof line, ":RATE %dMS", (int)lround(o->rate_s * 1000));
        rc = set(y, line, o->address, err);
    }
    if (!rc)
        rc = set(y, ":NUM:FORM ASC", o->address, err);
    const char *all = y->elements > 1 ? "SIGMA" : "1";
    snprintf(line, sizeof line, ":NUM:NORM:ITEM1 P,%s;:NUM:NORM:ITEM2 WH,%s;:NUM:NORM:ITEM3 U,%s", all, all,
             all);
    if (!rc)
        rc = set(y, line, o->address, err);
    snprintf(line, sizeof line, ":NUM:NORM:ITEM4 I,%s;:NUM:NORM:ITEM5 LAMB,%s;:NUM:NORM:ITEM6 FU,1", all,
             all);
    if (!rc)
        rc = set(y, line, o->address, err);
    for (int e = 1; !rc && y->elements > 1 && e <= y->elements; e++) {
        snprintf(line, sizeof line, ":NUM:NORM:ITEM%d P,%d", 6 + e, e);
        rc = set(y, line, o->address, err);
    }
    snprintf(line, sizeof line, ":NUM:NORM:NUM %d", y->elements > 1 ? 6 + y->elements : 6);
    if (!rc)
        rc = set(y, line, o->address, err);
    if (!rc && !running) {
        rc = set(y, ":INTEG:MODE NORM", o->address, err);
        if (!rc)
            rc = set(y, ":INTEG:TIM 0,0,0", o->address, err);
        if (!rc)
            rc = set(y, ":INTEG:RES", o->address, err);
        if (!rc)
            rc = set(y, ":INTEG:STAR", o->address, err);
        y->started = !rc;
    }
    if (rc)
        return rc;
    if (!ask_double(y, ":INP:VOLT:RANG?", &y->volt_range) || !ask_double(y, ":INP:CURR:RANG?", &y->amp_range))
        y->volt_range = y->amp_range = 0;
    if (!ask_double(y, ":INP:VOLT:AUTO?", &v_auto) || !ask_double(y, ":INP:CURR:AUTO?", &a_auto))
        v_auto = a_auto = 1;
    m->period_ns = ask_double(y, ":RATE?", &rate) && rate > 0 ? (int64_t)llround(rate * 1e9) : JM_NS_PER_S;
    rc = jm_meter_add_fact(m, err, "yokogawa.ranges", "%g V, %g A, %s", y->volt_range, y->amp_range,
                           v_auto != 0 || a_auto != 0 ? "AUTO: not evidence, a change loses samples"
                                                      : "fixed");
    if (!rc)
        rc = jm_meter_add_fact(m, err, "yokogawa.integration", "%s",
                               running ? "was running, left as it is" : "started, manual stop");
    if (v_auto != 0 || a_auto != 0)
        y->volt_range = y->amp_range = 0; /* no accuracy is told of them */
    return rc;
}

static struct jm_channel *channel(struct jm_meter *m, const char *name, const char *item, enum jm_unit unit,
                                  int domain, int *index, struct jm_err *err)
{
    struct jm_channel *c = jm_meter_add_channel(m, err);
    if (!c)
        return NULL;
    *index = c->id;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->device, sizeof c->device, "%.90s", m->instance);
    snprintf(c->source, sizeof c->source, "item %s", item);
    c->kind = JM_CH_GAUGE;
    c->unit = unit;
    c->scale10 = SCALE;
    c->domain = domain;
    c->period_ns = m->period_ns;
    c->sem = JM_G_BLOCK_MEAN;
    c->provenance = m->simulated ? JM_P_SIMULATED : JM_P_MEASURED;
    return c;
}

static bool first_values(struct yokogawa *y, double v[6])
{
    struct jm_span reply, f;
    if (jm_scpi_ask(&y->io, ":NUM:NORM:VAL?", &reply))
        return false;
    for (int i = 0; i < 6; i++)
        if (!jm_span_field(&reply, ',', &f) || jm_num_double(jm_span_trim(f), &v[i]) || fabs(v[i]) > 1e30)
            return false;
    return true;
}

/* Accuracy where the model's is known and the ranges are fixed. The counter's is that of the power at
 * opening. */
static int accuracies(struct jm_meter *m, const char *product, bool dc, struct jm_err *err)
{
    struct yokogawa *y = m->priv;
    double v[6] = {0}, pr = y->volt_range * y->amp_range * y->elements;
    size_t k = 0;
    while (k < sizeof accuracy / sizeof *accuracy && strcmp(accuracy[k].product, product) != 0)
        k++;
    if (k == sizeof accuracy / sizeof *accuracy || dc)
        return jm_meter_add_fact(m, err, "yokogawa.accuracy", "not known here for %s%s", product,
                                 dc ? " on DC" : "");
    if (pr <= 0)
        return jm_meter_add_fact(m, err, "yokogawa.accuracy", "not known: the ranges are not fixed");
    bool known = first_values(y, v) && v[0] > 0 && v[4] > 0 && v[4] <= 1 && v[5] >= 45 && v[5] <= 66;
    double tan_phi = known ? sqrt(1 - v[4] * v[4]) / v[4] : 0;
    struct jm_channel *p = &m->chan[y->power], *e = &m->chan[y->energy];
    p->gain_tol = (accuracy[k].rdg + accuracy[k].infl * tan_phi) / 100;
    p->offset_tol = accuracy[k].rng / 100 * pr;
    if (known)
        e->gain_tol = p->gain_tol + p->offset_tol / v[0];
    return jm_meter_add_fact(
        m, err, "yokogawa.accuracy",
        known ? "%g %% of reading + %g %% of %g W + %g %% x tan(phi); at %.4g W, power factor "
                "%.3g, %.3g Hz: %.2f %%"
              : "%g %% of reading + %g %% of %g W + %g %% x tan(phi); nothing was on at opening",
        accuracy[k].rdg, accuracy[k].rng, pr, accuracy[k].infl, v[0], v[4], v[5],
        known ? 100 * e->gain_tol : 0);
}

static int channels(struct jm_meter *m, int inlet, struct jm_err *err)
{
    struct yokogawa *y = m->priv;
    struct jm_channel *c = channel(m, "energy", "WH", JM_U_J, inlet, &y->energy, err);
    double bound = y->volt_range > 0 ? 4 * y->volt_range * y->amp_range * y->elements : 1e6;
    int dummy;
    if (!c)
        return JM_ENOMEM;
    c->kind = JM_CH_COUNTER;
    c->flags = JM_CHF_EDGE;
    c->sane_max = bound;
    if (!(c = channel(m, "power", "P", JM_U_W, inlet, &y->power, err)))
        return JM_ENOMEM;
    c->flags = JM_CHF_EDGE;
    c->sane_max = bound;
    y->first_element = y->power + 1;
    for (int e = 1; y->elements > 1 && e <= y->elements; e++) {
        char name[24], item[24];
        snprintf(name, sizeof name, "power.element%d", e);
        snprintf(item, sizeof item, "P,%d", e);
        if (!(c = channel(m, name, item, JM_U_W, inlet, &dummy, err)))
            return JM_ENOMEM;
        c->flags = JM_CHF_MIRROR; /* the sum has it */
        c->sane_max = bound;
    }
    if (!channel(m, "volts", "U", JM_U_V, inlet, &y->volts, err) ||
        !channel(m, "amps", "I", JM_U_A, inlet, &y->amps, err) ||
        !channel(m, "power_factor", "LAMB", JM_U_RATIO, inlet, &y->pf, err))
        return JM_ENOMEM;
    if (!(c = channel(m, "status", "condition", JM_U_NONE, inlet, &y->state, err)))
        return JM_ENOMEM;
    c->kind = JM_CH_STATE;
    c->scale10 = 0;
    snprintf(c->source, sizeof c->source, ":STAT:COND?");
    if (!(c = channel(m, "range_changes", "ranges", JM_U_NONE, inlet, &y->ranges, err)))
        return JM_ENOMEM;
    c->kind = JM_CH_STATE;
    c->scale10 = 0;
    snprintf(c->source, sizeof c->source, "changes of the ranges seen");
    return 0;
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
static int open_with(const struct jm_meter_env *env, const struct jm_instrument *in, const struct options *o,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    int timeout_ms = in ? (int)(in->timeout_ns / JM_NS_PER_MS) : TIMEOUT_MS;
    char idn[128], product[32];
    struct jm_meter *m = jm_meter_alloc(&jm_meter_yokogawa, err);
    struct yokogawa *y = m ? calloc(1, sizeof *y) : NULL;
    if (!y) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter yokogawa");
    }
    y->io.fd = -1;
    m->priv = y;
    m->deadline_ns = timeout_ms * JM_NS_PER_MS;
    int rc = jm_scpi_open(&y->io, o->address, PORT, o->baud, timeout_ms, "yokogawa", err);
    if (!rc)
        rc = identify(&y->io, o->address, idn, product, &m->simulated, err);
    if (!rc) {
        if (in)
            snprintf(m->instance, sizeof m->instance, "%s", in->name);
        else
            snprintf(m->instance, sizeof m->instance, "%.60s at %.30s", idn, o->address);
        y->elements = o->elements ? (int)o->elements : elements_of(product);
        rc = jm_meter_add_fact(m, err, "yokogawa.identity", "%s", idn);
    }
    if (!rc)
        rc = configure(m, o, err);
    int inlet = rc ? rc : inlet_of(env, in, o->dc, tree, err);
    rc = inlet < 0 ? inlet : channels(m, inlet, err);
    if (!rc)
        rc = accuracies(m, product, o->dc, err);
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
    struct options o;
    if (!env->yokogawa || !*env->yokogawa)
        return jm_err_set(err, JM_EABSENT,
                          "yokogawa: no address of the analyzer is given; say --yokogawa tcp://HOST:10001");
    int rc = parse(env->yokogawa, &o, err);
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
    if (!c->address || strlen(c->address) >= sizeof((struct options *)0)->address)
        return jm_err_set(
            err, JM_EUSAGE,
            "a yokogawa needs its address: address: tcp://HOST:10001, /dev/usbtmc0 or a serial port");
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
    struct options o = {.volts = c->volts,
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
     .help = "tcp://HOST:PORT, /dev/usbtmc0 or a serial port."},
    {"volts", 0, JM_OPT_NUM, offsetof(struct conf, volts), 1, 1000, .arg = "V",
     .help = "Fixed voltage range; evidence needs one."},
    {"amps", 0, JM_OPT_NUM, offsetof(struct conf, amps), 0.001, 100, .arg = "A",
     .help = "Fixed current range."},
    {"auto", 0, JM_OPT_FLAG, offsetof(struct conf, automatic),
     .help = "Let it choose its ranges; every change loses samples and is counted."},
    {"rate", 0, JM_OPT_DURATION, offsetof(struct conf, rate_ns), 5e7, 20e9, .arg = "DURATION",
     .help = "Its update period.", .deflt = "as it is set"},
    {"elements", 0, JM_OPT_INT, offsetof(struct conf, elements), 1, ELEMENTS,
     .help = "Elements that are summed.", .deflt = "all that its model has"},
    {"baud", 0, JM_OPT_INT, offsetof(struct conf, baud), 300, 115200, .help = "Of a serial port.",
     .deflt = "9600"},
    {"dc", 0, JM_OPT_FLAG, offsetof(struct conf, dc), .help = "It stands in a DC feed; as at: inlet dc."},
    {NULL}};

struct answer {
    struct jm_reading power, energy, volts, amps, pf, element[ELEMENTS];
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
static int ask_all(struct yokogawa *y, struct answer *a)
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
            take(r, f, SCALE);
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
    struct yokogawa *y = m->priv;
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
    .opts = keys,
    .conf_size = sizeof(struct conf),
    .conf_init = conf_init,
    .conf_check = conf_check,
    .open_conf = open_conf,
    .min_interval_ns = 50 * JM_NS_PER_MS,
    .why_interval = "no WT updates its values more often",
};
