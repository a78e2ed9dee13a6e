/* SPDX-License-Identifier: Apache-2.0 */
/* The meter of energy meters that speak Modbus. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/modbus_conf.h"
#include "meter/registry.h"
#include "base/banned.h"

struct modbus {
    struct jm_modbus_line line;
    struct jm_modbus_reg reg[JM_MODBUS_REGS];
    size_t n;
    int unit;
    bool first;
    char origin[96];
};

static void modbus_close(struct jm_meter *m)
{
    struct modbus *b = m ? m->priv : NULL;
    if (b)
        jm_modbus_close(&b->line);
    free(b);
    jm_meter_dispose(m);
}

/* Native integers stay exact: 1 Wh is 36 x 10^2 J. A float becomes thousandths of W or J. */
static int unit_scale(const struct jm_modbus_reg *r)
{
    static const int ten[] = {0, 3, 0, 2, 5, 8, 0};
    return ten[r->unit];
}

static int64_t unit_factor(const struct jm_modbus_reg *r)
{
    return r->unit >= JM_MODBUS_WH && r->unit <= JM_MODBUS_MWH ? 36 : 1;
}

static bool is_float(const struct jm_modbus_reg *r)
{
    return r->type >= JM_MODBUS_F32;
}

static double in_unit(const struct jm_modbus_reg *r, double x)
{
    return x * (double)unit_factor(r) * pow(10, unit_scale(r) + (int)r->scale10);
}

static uint8_t status_of(int rc, const struct jm_modbus_reply *r)
{
    if (rc != -EREMOTEIO)
        return JM_S_GAP; /* it may answer again: the line is opened anew */
    return r->exception <= 3 ? JM_S_UNSUPPORTED : JM_S_GAP;
}

/* One register: its native integer, and the step that a float has there. */
static uint8_t read_one(struct jm_meter *m, const struct jm_clock *clock, const struct jm_modbus_reg *r,
                        int64_t *native, double *step)
{
    struct modbus *b = m->priv;
    struct jm_modbus_reply reply;
    struct jm_modbus_value v;
    int rc = jm_modbus_ask(&b->line, clock, b->unit, r->function, r->address,
                           jm_modbus_type_registers(r->type), &reply);
    *step = 0;
    if (rc)
        return status_of(rc, &reply);
    jm_meter_raw(m, b->line.t0, b->line.t1, b->origin, reply.registers, b->first ? JM_RAW_SHAPE : 0);
    if (!jm_modbus_value((const uint8_t *)reply.registers.p, r->type, r->order, &v))
        return JM_S_ABSENT; /* NaN: an instrument that says it has none */
    if (v.is_float) {
        double x = in_unit(r, v.real) * 1000;
        *step = in_unit(r, v.step);
        if (!(fabs(x) < 9e18))
            return JM_S_IMPLAUSIBLE;
        *native = llround(x);
        return JM_S_OK;
    }
    if (r->quantity != JM_MODBUS_PEAK_OVER && jm_modbus_none(r->type, v.num))
        return JM_S_ABSENT;
    if (v.num > INT64_MAX / 64 || v.num < INT64_MIN / 64)
        return JM_S_IMPLAUSIBLE;
    *native = v.num * unit_factor(r);
    return JM_S_OK;
}

static int channel(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                   struct jm_domain_tree *tree, struct jm_modbus_reg *r, double step, struct jm_err *err)
{
    bool power = r->quantity == JM_MODBUS_POWER;
    int domain = jm_instrument_domain(in, env, tree, NULL, JM_D_INLET_AC, err);
    struct jm_channel *c = domain < 0 ? NULL : jm_meter_add_channel(m, err);
    if (!c)
        return domain < 0 ? domain : JM_ENOMEM;
    snprintf(c->name, sizeof c->name, "%s", jm_modbus_quantity_name(r->quantity));
    jm_instrument_device(in, NULL, c->device);
    snprintf(c->source, sizeof c->source, "%s register %lld, %s %s",
             r->function == JM_MODBUS_INPUT ? "input" : "holding", (long long)r->address,
             jm_modbus_type_name((int)r->type), jm_modbus_order_name((int)r->order));
    c->kind = power ? JM_CH_GAUGE : JM_CH_COUNTER;
    c->unit = power ? JM_U_W : JM_U_J;
    c->scale10 = is_float(r) ? -3 : unit_scale(r) + (int)r->scale10;
    c->sem = JM_G_INSTANT;
    c->sane_max = 250e3;
    c->sane_min = power ? -250e3 : 0;
    c->domain = domain;
    c->flags = JM_CHF_EDGE | (r->quantity == JM_MODBUS_EXPORT ? JM_CHF_MIRROR : 0);
    c->provenance = JM_P_MEASURED;
    if (!power)
        c->offset_tol = step > 0 ? step : (double)unit_factor(r) * pow(10, c->scale10); /* one step of it */
    r->channel = (int)m->n_chan - 1;
    return 0;
}

static int find(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                struct jm_domain_tree *tree, struct jm_err *err)
{
    struct modbus *b = m->priv;
    const struct jm_modbus_conf *c = in->conf;
    struct jm_clock clock = jm_meter_clock(env);
    char key[64];
    uint8_t last = JM_S_GAP;
    for (size_t i = 0; i < b->n; i++) {
        struct jm_modbus_reg *r = &b->reg[i];
        int64_t native;
        double step;
        bool wanted = r->quantity == JM_MODBUS_POWER || r->quantity == JM_MODBUS_ENERGY ||
                      (r->quantity == JM_MODBUS_EXPORT && c->n_reg);
        if (!wanted)
            continue;
        uint8_t status = read_one(m, &clock, r, &native, &step);
        last = status;
        if (status == JM_S_GAP)
            break;
        if (status == JM_S_UNSUPPORTED) {
            snprintf(key, sizeof key, "%.10s.refused", jm_modbus_quantity_name(r->quantity));
            int rc = jm_meter_add_fact(m, err, key, "the device has no register %lld (function %d)",
                                       (long long)r->address, r->function);
            if (rc)
                return rc;
            continue;
        }
        int rc = channel(m, env, in, tree, r, step, err);
        snprintf(key, sizeof key, "%.10s.step_j", jm_modbus_quantity_name(r->quantity));
        if (!rc && step > 0 && r->quantity != JM_MODBUS_POWER)
            rc = jm_meter_add_fact(m, err, key, "%.6g", step);
        if (rc)
            return rc;
    }
    if (last == JM_S_GAP && b->line.io.fd >= 0)
        return jm_err_set(err, JM_ETIMEOUT,
                          "unit %d at %.80s does not answer (or not with Modbus); are unit number, %s right?",
                          b->unit, c->address,
                          b->line.framing == JM_MODBUS_RTU ? "baud and parity" : "address and port");
    if (!m->n_chan)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "unit %d at %.80s has none of the registers; is the model right, and are addresses "
                          "counted from 0?",
                          b->unit, c->address);
    return 0;
}

static int modbus_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                       struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    const struct jm_modbus_conf *c = in->conf;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_modbus, err);
    struct modbus *b = m ? calloc(1, sizeof *b) : NULL;
    if (!b) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter modbus");
    }
    m->priv = b;
    m->raw = env->opening;
    b->line.io.fd = -1;
    b->unit = (int)c->unit;
    b->first = true;
    if (c->model)
        b->n = jm_modbus_model(c->model, b->reg);
    else
        memcpy(b->reg, c->reg, sizeof b->reg), b->n = c->n_reg;
    snprintf(b->origin, sizeof b->origin, "modbus://%.70s/%lld", c->address, (long long)c->unit);
    m->period_ns = JM_NS_PER_S;
    m->deadline_ns = in->timeout_ns;
    m->conf = in;
    snprintf(m->instance, sizeof m->instance, "%s", in->name);
    int rc = jm_modbus_open(&b->line, c, (int)(in->timeout_ns / JM_NS_PER_MS), err);
    if (!rc)
        rc = find(m, env, in, tree, err);
    if (rc) {
        modbus_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static size_t modbus_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                          struct jm_reading *out)
{
    struct modbus *b = m->priv;
    int64_t over = 0;
    double step;
    bool peak = false;
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->reg[i].quantity == JM_MODBUS_PEAK_OVER)
            peak = read_one(m, clock, &b->reg[i], &over, &step) == JM_S_OK && over != 0;
    for (size_t i = 0; i < b->n; i++) {
        int k = b->reg[i].channel;
        if (k < 0 || !jm_meter_in_set(&m->chan[k], set))
            continue;
        struct jm_reading r = {.channel = (uint32_t)k};
        r.status = read_one(m, clock, &b->reg[i], &r.value, &step);
        r.t0 = b->line.t0;
        r.t1 = b->line.t1;
        if (r.status == JM_S_OK && peak && m->chan[k].kind == JM_CH_GAUGE)
            r.status =
                JM_S_IMPLAUSIBLE; /* its input was clipped: the power is too low by nobody knows what */
        if (r.status == JM_S_OK && m->chan[k].kind == JM_CH_GAUGE &&
            fabs(jm_channel_value(&m->chan[k], r.value)) > m->chan[k].sane_max)
            r.status = JM_S_IMPLAUSIBLE;
        if (r.status != JM_S_OK)
            r.value = 0;
        out[n++] = r;
    }
    b->first = false;
    return n;
}

const struct jm_meter_ops jm_meter_modbus = {
    .version = JM_METER_OPS_VERSION,
    .name = "modbus",
    .summary =
        "energy meters by Modbus TCP or RTU: Eastron, Gavazzi, Schneider, Siemens and others; configured",
    .boundary = "wall",
    .needs = "an entry `meter: modbus` with its address (for a serial port: permission to open it) and model "
             "or registers",
    .traps = "A counter in float32 kWh has steps that grow with it: 0.2 kJ at 1000 kWh, 28 kJ at 65536; the "
             "step is read from the "
             "value and is part of the interval.\n"
             "Word order differs by maker: Gavazzi has the low word first. A wrong order shows as nonsense "
             "that the bound of power "
             "refuses.\n"
             "NaN, INF and the ends of an integer's range are how meters say that they have no value.\n"
             "A Yokogawa's peak over-range register is read with the power: a clipped input makes it no "
             "measurement.\n"
             "Lists of registers count from 1, 30001 or 40001; `address` is that of the frame, which counts "
             "from 0.",
    .read = modbus_read,
    .close = modbus_close,
    .opts = jm_modbus_opts,
    .conf_size = sizeof(struct jm_modbus_conf),
    .conf_init = jm_modbus_conf_init,
    .conf_check = jm_modbus_conf_check,
    .open_conf = modbus_open,
    .min_interval_ns = 50 * JM_NS_PER_MS,
    .why_interval = "no meter of this kind refreshes faster",
};
