/* SPDX-License-Identifier: Apache-2.0 */
/* How a Yokogawa WT is found, set up and described as channels. */
#include "meter/yokogawa.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "model/analyzer.h"
#include "base/banned.h"

int jm_yokogawa_parse(const char *text, struct jm_yokogawa_options *o, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), f;
    *o = (struct jm_yokogawa_options){.baud = 9600};
    jm_span_field(&rest, ',', &f);
    if (f.n == 0 || f.n >= sizeof o->address)
        return jm_err_set(err, JM_EUSAGE,
                          "yokogawa: \"%.80s\" begins with no address; say vxi11://HOST, tcp://HOST:10001, "
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
            ok = jm_num_i64(value, &o->elements) == 0 && o->elements >= 1 &&
                 o->elements <= JM_YOKOGAWA_ELEMENTS;
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
int jm_yokogawa_identify(struct jm_scpi *io, const char *address, char idn[128], char product[32],
                         bool *simulated, struct jm_err *err)
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

/* The elements that a product has: its last digit where the name tells it. */
int jm_yokogawa_elements(const char *product)
{
    size_t n = strlen(product);
    if (strncmp(product, "WT33", 4) == 0 && n > 4)
        return product[4] == '2' ? 2 : 3;
    if ((strncmp(product, "7602", 4) == 0 || strncmp(product, "WT180", 5) == 0) && n >= 6 &&
        product[n - 1] >= '1' && product[n - 1] <= '6')
        return product[n - 1] - '0';
    return 1;
}

static int set(struct jm_yokogawa *y, const char *line, const char *address, struct jm_err *err)
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

static bool ask_double(struct jm_yokogawa *y, const char *query, double *out)
{
    struct jm_span reply;
    return jm_scpi_ask(&y->io, query, &reply) == 0 && jm_num_double(jm_span_trim(reply), out) == 0;
}

int jm_yokogawa_configure(struct jm_meter *m, const struct jm_yokogawa_options *o, struct jm_err *err)
{
    struct jm_yokogawa *y = m->priv;
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
            "yokogawa: the instrument at %s integrates for somebody, or since a recording that was "
            "killed, so its ranges and rate cannot be set; stop it there (:INTEG:STOP), or leave volts, amps "
            "and rate out",
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
    c->scale10 = JM_YOKOGAWA_SCALE;
    c->domain = domain;
    c->period_ns = m->period_ns;
    c->sem = JM_G_BLOCK_MEAN;
    c->provenance = m->simulated ? JM_P_SIMULATED : JM_P_MEASURED;
    return c;
}

static bool first_values(struct jm_yokogawa *y, double v[6])
{
    struct jm_span reply, f;
    if (jm_scpi_ask(&y->io, ":NUM:NORM:VAL?", &reply))
        return false;
    for (int i = 0; i < 6; i++)
        if (!jm_span_field(&reply, ',', &f) || jm_num_double(jm_span_trim(f), &v[i]) || fabs(v[i]) > 1e30)
            return false;
    return true;
}

/* The row of model/analyzers.tsv for what the instrument calls itself. */
static bool row_of(const char *product, bool dc, struct jm_analyzer *out)
{
    char name[64];
    if (strchr(product, 'H')) /* WT310EH, WT310HC: another input for current */
        return false;
    if (dc) {
        snprintf(name, sizeof name, "Yokogawa%.5s_DC", strncmp(product, "WT33", 4) == 0 ? "WT330" : product);
        return strncmp(product, "WT3", 3) == 0 && jm_analyzer_find(jm_span_of(name), out) && out->known;
    }
    if (strncmp(product, "7602", 4) == 0) /* WT500 tells its code */
        product = "WT500";
    if (jm_analyzer_find(jm_span_of(product), out))
        return out->known;
    snprintf(name, sizeof name, "Yokogawa%.31s", product);
    return jm_analyzer_find(jm_span_of(name), out) && out->known;
}

/* Accuracy where the model's is known and the ranges are fixed. The counter's is that of the power at
 * opening. */
int jm_yokogawa_accuracies(struct jm_meter *m, const char *product, bool dc, struct jm_err *err)
{
    struct jm_yokogawa *y = m->priv;
    struct jm_analyzer a;
    double v[6] = {0}, pr = y->volt_range * y->amp_range * y->elements, crest = 3;
    if (!row_of(product, dc, &a))
        return jm_meter_add_fact(m, err, "yokogawa.accuracy", "not known here for %s%s", product,
                                 dc ? " on DC" : "");
    if (pr <= 0)
        return jm_meter_add_fact(m, err, "yokogawa.accuracy", "not known: the ranges are not fixed");
    int crest6 = ask_double(y, ":INP:CFAC?", &crest) && crest == 6 ? 6 : 3;
    bool known =
        first_values(y, v) && v[0] > 0 && (dc || (v[4] > 0 && v[4] <= 1 && v[5] >= 45 && v[5] <= 66));
    double pf = known && !dc ? v[4] : 1, tan_phi = sqrt(1 - pf * pf) / pf;
    struct jm_channel *p = &m->chan[y->power], *e = &m->chan[y->energy];
    p->gain_tol = a.reading + a.influence * tan_phi;
    p->offset_tol = jm_analyzer_limits_w(&a, pr, 1, crest6, 0, 1, 0); /* the range's share at its largest */
    if (known)
        e->gain_tol = jm_analyzer_limits_w(&a, pr, 1, crest6, v[0], pf, v[0] * tan_phi) / v[0];
    return jm_meter_add_fact(
        m, err, "yokogawa.accuracy",
        known ? "%g %% of reading + %g %% of %g W + %g %% x tan(phi); at %.4g W, power factor "
                "%.3g: %.2f %%"
              : "%g %% of reading + %g %% of %g W + %g %% x tan(phi); nothing was on at opening",
        100 * a.reading, 100 * a.range * (crest6 == 6 ? 2 : 1), pr, 100 * a.influence, v[0], pf,
        known ? 100 * e->gain_tol : 0);
}

int jm_yokogawa_channels(struct jm_meter *m, int inlet, struct jm_err *err)
{
    struct jm_yokogawa *y = m->priv;
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
