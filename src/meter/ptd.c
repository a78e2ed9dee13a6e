/* SPDX-License-Identifier: Apache-2.0 */
/* A running PTDaemon (SPEC's tool, not ours) as a meter. What its protocol allows, as public MLPerf sessions
 * show it: Go starts a measurement of 1 s samples, Watts gives "average, minimum, maximum, samples, bad,
 * good" since Go at any time, so average x good x 1 s is an energy counter; PTDaemon 1.10 and later have it.
 * One client at a time: a PTDaemon that a Director uses cannot be read beside it. */
#include "meter/registry.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "meter/instrument.h"
#include "meter/scpi.h"
#include "meter/text.h"
#include "base/banned.h"

#define PORT       8888
#define TIMEOUT_MS 5000 /* a real one answers SR after half a second */
/* The first sample is there at the first whole second of its own that begins after Go: 2 s; the rest is
 * grace. */
#define FIRST_NS (3 * JM_NS_PER_S)
#define POLL_NS  (50 * JM_NS_PER_MS)

struct options {
    char address[256];
    double volts, amps;
};

struct ptd {
    struct jm_scpi io;
    bool running;
    int64_t samples, bad; /* as of the last answer */
    double sum_w;         /* average x good of the last answer */
    double energy_j;      /* bad seconds bridged by the good ones beside them */
    double last_w;
    struct jm_span said; /* its last answer, until the next question */
};

enum { C_ENERGY, C_POWER, C_BAD };

static int parse(const char *text, struct options *o, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), f;
    *o = (struct options){.volts = 0};
    jm_span_field(&rest, ',', &f);
    if (f.n == 0 || f.n >= sizeof o->address)
        return jm_err_set(err, JM_EUSAGE, "ptd: \"%.80s\" begins with no address; say HOST:PORT", text);
    memcpy(o->address, f.p, f.n);
    while (jm_span_field(&rest, ',', &f)) {
        ptrdiff_t eq = jm_span_chr(f, '=');
        struct jm_span key = eq < 0 ? f : jm_span_sub(f, 0, (size_t)eq),
                       value = eq < 0 ? (struct jm_span){NULL, 0} : jm_span_sub(f, (size_t)eq + 1, f.n);
        double *to = jm_span_is(key, "volts") ? &o->volts : jm_span_is(key, "amps") ? &o->amps : NULL;
        if (!to || jm_num_double(value, to) || !(*to > 0 && *to <= 1000))
            return jm_err_set(err, JM_EUSAGE,
                              "ptd: \"%.*s\" is no option of it; there are volts=240 and amps=5",
                              (int)(f.n < 60 ? f.n : 60), f.p);
    }
    return 0;
}

static int ask(struct ptd *p, const char *cmd, struct jm_span *reply, const char *address, struct jm_err *err)
{
    int rc = jm_scpi_ask(&p->io, cmd, reply);
    if (rc == -ETIMEDOUT)
        return jm_err_set(err, JM_ETIMEOUT,
                          "ptd: the PTDaemon at %s does not answer %s; does another client use it?", address,
                          cmd);
    return rc ? jm_err_sys(err, -rc, "ptd: the talk with %s failed at %s", address, cmd) : 0;
}

static int hello(struct ptd *p, const char *address, char identity[192], bool *simulated, struct jm_err *err)
{
    struct jm_span reply, last = {NULL, 0}, f;
    int rc = ask(p, "Hello", &reply, address, err);
    if (!rc && !jm_span_is(reply, "Hello, PTDaemon here!"))
        return jm_err_set(err, JM_EUNSUPPORTED, "ptd: what answers at %s is no PTDaemon: \"%.*s\"", address,
                          (int)(reply.n < 60 ? reply.n : 60), reply.p);
    if (!rc)
        rc = ask(p, "Identify", &reply, address, err);
    if (rc)
        return rc;
    snprintf(identity, 192, "%.*s", (int)(reply.n < 191 ? reply.n : 191), reply.p);
    while (jm_span_field(&reply, ',', &f))
        last = f;
    *simulated = jm_span_starts(last, JM_SPAN("JOULEMARK;"));
    return 0;
}

static int ptd_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct options o;
    struct ptd p = {.io = {.fd = -1}};
    struct jm_err why = {0};
    char identity[192];
    bool simulated = false;
    if (!env->ptd || !*env->ptd) {
        jm_probe_set(out, JM_PROBE_OFF, "",
                     "a PTDaemon (1.10 or later), read when its address is said: --ptd HOST:8888");
        return 0;
    }
    int rc = parse(env->ptd, &o, &why);
    if (!rc)
        rc = jm_scpi_open(&p.io, o.address, PORT, 9600, TIMEOUT_MS, "ptd", &why);
    p.io.end = "\r\n";
    if (!rc)
        rc = hello(&p, o.address, identity, &simulated, &why);
    jm_scpi_close(&p.io);
    if (rc)
        jm_probe_set(out, rc == JM_EUNSUPPORTED ? JM_PROBE_UNSUPPORTED : JM_PROBE_ABSENT, "", "%.250s",
                     why.text);
    else
        jm_probe_set(out, JM_PROBE_OK, "", "%.*s at %.60s%s", (int)strcspn(identity, ","), identity,
                     o.address, simulated ? ", SIMULATED" : "");
    return 0;
}

static void ptd_close(struct jm_meter *m)
{
    struct ptd *p = m ? m->priv : NULL;
    struct jm_span reply;
    if (p) {
        if (p->running && p->io.fd >= 0)
            jm_scpi_ask(&p->io, "Stop", &reply);
        jm_scpi_close(&p->io);
    }
    free(p);
    jm_meter_dispose(m);
}

static int range(struct ptd *p, char which, double x, const char *address, struct jm_err *err)
{
    char cmd[64];
    struct jm_span reply;
    snprintf(cmd, sizeof cmd, "SR,%c,%.6g", which, x);
    int rc = ask(p, cmd, &reply, address, err);
    if (!rc && !jm_span_starts(reply, JM_SPAN("Range ")))
        return jm_err_set(err, JM_EUNSUPPORTED, "ptd: the PTDaemon at %s refuses \"%s\": %.*s", address, cmd,
                          (int)(reply.n < 80 ? reply.n : 80), reply.p);
    return rc;
}

/* Waits for the first sample: until then the counter stands at 0 without having been refreshed, and at an
 * edge of a window beside it energy would be taken for counted that never was. Half a second more, because
 * all that is known of the refresh before a first reading is that it is at most one period old: so it is half
 * of one. */
static void await_first(struct ptd *p, const struct jm_clock *clock)
{
    struct jm_span reply;
    double avg;
    int64_t samples, bad, good, until = jm_clock_mono(clock) + FIRST_NS;
    while (!jm_scpi_ask(&p->io, "Watts", &reply) && jm_text_watts(reply, &avg, &samples, &bad, &good) &&
           samples == 0 && jm_clock_mono(clock) < until)
        jm_clock_sleep_until(clock, jm_clock_mono(clock) + POLL_NS, NULL);
    jm_clock_sleep_until(clock, jm_clock_mono(clock) + JM_NS_PER_S / 2, NULL);
}

static int start(struct jm_meter *m, const struct jm_instrument *in, const struct options *o,
                 const struct jm_clock *clock, struct jm_err *err)
{
    struct ptd *p = m->priv;
    struct jm_span reply;
    char identity[192];
    double avg;
    int64_t a, b, c;
    int rc = hello(p, o->address, identity, &m->simulated, err);
    if (rc)
        return rc;
    if (in)
        snprintf(m->instance, sizeof m->instance, "%s", in->name);
    else
        snprintf(m->instance, sizeof m->instance, "%.*s at %.40s", (int)strcspn(identity, ","), identity,
                 o->address);
    rc = jm_meter_add_fact(m, err, "ptd.identity", "%s", identity);
    if (!rc && o->volts > 0)
        rc = range(p, 'V', o->volts, o->address, err);
    if (!rc && o->amps > 0)
        rc = range(p, 'A', o->amps, o->address, err);
    if (!rc)
        rc = ask(p, "RR", &reply, o->address, err);
    if (!rc)
        rc = jm_meter_add_fact(m, err, "ptd.ranges", "%.*s", (int)(reply.n < 100 ? reply.n : 100), reply.p);
    if (!rc)
        rc = ask(p, "Go,1000,0,joulemark", &reply, o->address, err);
    if (rc)
        return rc;
    if (!jm_span_starts(reply, JM_SPAN("Starting")))
        return jm_err_set(err, JM_ESTATE, "ptd: the PTDaemon at %s does not start a measurement: %.*s",
                          o->address, (int)(reply.n < 100 ? reply.n : 100), reply.p);
    p->running = true;
    rc = ask(p, "Watts", &reply, o->address, err);
    if (!rc && !jm_text_watts(reply, &avg, &a, &b, &c))
        return jm_err_set(
            err, JM_EUNSUPPORTED,
            "ptd: the PTDaemon at %s does not tell its power while it measures (%.*s); version 1.10 and "
            "later do",
            o->address, (int)(reply.n < 60 ? reply.n : 60), reply.p);
    if (!rc)
        await_first(p, clock);
    return rc;
}

static int channels(struct jm_meter *m, int inlet, struct jm_err *err)
{
    static const char *const names[] = {"energy", "power", "bad_samples"}, *const sources[] = {
                                                                               "Watts: average x good x 1 s",
                                                                               "Watts: from answer to answer",
                                                                               "Watts: bad"};
    for (int i = C_ENERGY; i <= C_BAD; i++) {
        struct jm_channel *c = jm_meter_add_channel(m, err);
        if (!c)
            return JM_ENOMEM;
        snprintf(c->name, sizeof c->name, "%s", names[i]);
        snprintf(c->device, sizeof c->device, "%.90s", m->instance);
        snprintf(c->source, sizeof c->source, "%s", sources[i]);
        c->kind = i == C_ENERGY ? JM_CH_COUNTER : i == C_POWER ? JM_CH_GAUGE : JM_CH_STATE;
        c->unit = i == C_ENERGY ? JM_U_J : i == C_POWER ? JM_U_W : JM_U_NONE;
        c->scale10 = i == C_BAD ? 0 : -3;
        c->sem = JM_G_BLOCK_MEAN;
        c->period_ns = JM_NS_PER_S;
        c->sane_max = i == C_BAD ? 0 : 1e6;
        c->domain = inlet;
        c->flags = i == C_BAD ? 0 : JM_CHF_EDGE;
        c->provenance = m->simulated ? JM_P_SIMULATED : JM_P_MEASURED;
    }
    return 0;
}

/* in: the entry of the configuration, or NULL: then it is this host's AC inlet. */
static int open_with(const struct jm_meter_env *env, const struct jm_instrument *in, const struct options *o,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    int timeout_ms = in ? (int)(in->timeout_ns / JM_NS_PER_MS) : TIMEOUT_MS;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_ptd, err);
    struct ptd *p = m ? calloc(1, sizeof *p) : NULL;
    struct jm_clock clock = jm_meter_clock(env);
    if (!p) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter ptd");
    }
    p->io.fd = -1;
    m->priv = p;
    m->period_ns = JM_NS_PER_S / 2;
    m->deadline_ns = timeout_ms * JM_NS_PER_MS;
    int rc = jm_scpi_open(&p->io, o->address, PORT, 9600, timeout_ms, "ptd", err);
    p->io.end = "\r\n";
    if (!rc)
        rc = start(m, in, o, &clock, err);
    int node = rc || in ? rc : jm_meter_host(env, tree, err);
    int inlet = node < 0 ? node
                : in     ? jm_instrument_domain(in, env, tree, NULL, JM_D_INLET_AC, err)
                         : tree->d[node].parent;
    rc = inlet < 0 ? inlet : channels(m, inlet, err);
    if (rc) {
        ptd_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static int ptd_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                    struct jm_err *err)
{
    struct options o;
    if (!env->ptd || !*env->ptd)
        return jm_err_set(err, JM_EABSENT, "ptd: no address of a PTDaemon is given; say --ptd HOST:8888");
    int rc = parse(env->ptd, &o, err);
    return rc ? rc : open_with(env, NULL, &o, tree, out, err);
}

/* ---- as an entry of the configuration */

struct conf {
    const char *address;
    double volts, amps;
};

static int conf_check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct conf *c = in->conf;
    if (!c->address || strlen(c->address) >= sizeof((struct options *)0)->address)
        return jm_err_set(err, JM_EUSAGE, "a ptd needs its address: address: HOST:8888");
    return jm_address_check(c->address, err);
}

static int open_conf(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    const struct conf *c = in->conf;
    struct options o = {.volts = c->volts, .amps = c->amps};
    snprintf(o.address, sizeof o.address, "%s", c->address);
    return open_with(env, in, &o, tree, out, err);
}

static const struct jm_opt keys[] = {{"address", 0, JM_OPT_STR, offsetof(struct conf, address),
                                      .arg = "HOST:PORT",
                                      .help = "Where the PTDaemon listens; port 8888 where none is said."},
                                     {"volts", 0, JM_OPT_NUM, offsetof(struct conf, volts), 1, 1000,
                                      .arg = "V", .help = "Fixed voltage range of its analyzer."},
                                     {"amps", 0, JM_OPT_NUM, offsetof(struct conf, amps), 0.001, 1000,
                                      .arg = "A", .help = "Fixed current range of its analyzer."},
                                     {NULL}};

/* Books what has come since the last answer. */
static int book(struct ptd *p)
{
    struct jm_span reply;
    double avg = 0;
    int64_t samples, bad, good;
    int rc = jm_scpi_ask(&p->io, "Watts", &reply);
    p->said = rc ? (struct jm_span){NULL, 0} : reply;
    if (rc)
        return rc;
    if (!jm_text_watts(reply, &avg, &samples, &bad, &good) || samples < p->samples || bad < p->bad)
        return -EBADMSG;
    double sum = good ? avg * (double)good : 0;
    int64_t new_bad = bad - p->bad, new_good = samples - p->samples - new_bad;
    if (new_good > 0) {
        p->last_w = (sum - p->sum_w) / (double)new_good;
        p->energy_j += sum - p->sum_w;
    }
    p->energy_j +=
        p->last_w * (double)new_bad; /* a bad second had about the power of the good one before it */
    p->samples = samples;
    p->bad = bad;
    p->sum_w = sum;
    return 0;
}

static size_t ptd_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                       struct jm_reading *out)
{
    struct ptd *p = m->priv;
    int64_t before = p->bad, t0 = jm_clock_mono(clock);
    p->said.n = 0;
    int rc = m->alive ? book(p) : -EPIPE;
    int64_t t1 = jm_clock_mono(clock);
    if (p->said.n)
        jm_meter_raw(m, t0, t1, "Watts", p->said, rc ? JM_RAW_BAD : 0);
    size_t n = 0;
    uint8_t status = JM_S_OK;
    if (rc == -ETIMEDOUT || rc == -EBADMSG || rc == -EMSGSIZE) {
        status = JM_S_GAP;
        jm_scpi_drain(&p->io);
    } else if (rc) {
        status = JM_S_LOST;
        m->alive = false;
        jm_scpi_close(&p->io);
    }
    for (size_t i = 0; i < m->n_chan; i++) {
        if (!jm_meter_in_set(&m->chan[i], set))
            continue;
        struct jm_reading r = {.channel = (uint32_t)i, .t0 = t0, .t1 = t1, .status = status};
        if (status == JM_S_OK && p->samples == 0)
            r.status = i == C_BAD ? JM_S_OK : JM_S_GAP; /* no sample yet: neither energy nor power */
        else if (status == JM_S_OK && i == C_POWER && p->bad > before)
            r.status = JM_S_GAP;
        if (r.status == JM_S_OK)
            r.value = i == C_ENERGY  ? llround(p->energy_j * 1000)
                      : i == C_POWER ? llround(p->last_w * 1000)
                                     : p->bad;
        if (r.status == JM_S_OK && i == C_POWER && (p->last_w < 0 || p->last_w > m->chan[i].sane_max))
            r.status = JM_S_IMPLAUSIBLE;
        out[n++] = r;
    }
    return n;
}

const struct jm_meter_ops jm_meter_ptd = {
    .version = JM_METER_OPS_VERSION,
    .name = "ptd",
    .summary = "a running PTDaemon's analyzer at the inlet; only on request",
    .boundary = "wall",
    .needs =
        "its address (--ptd HOST:8888), and no other client on it; PTDaemon is SPEC's and needs its licence",
    .traps =
        "It serves one client: while a Director uses it, it cannot be read here.\n"
        "Power is what Watts says of the samples since the last answer: 1 s means, known up to 1 s late. "
        "Before "
        "1.10 there is no Watts.\n"
        "A bad or missed sample counts with the power of the good ones before it; bad_samples counts them.\n"
        "Auto ranges lose samples at each change, and their uncertainty is not evaluated: give the ranges "
        "(volts=240,amps=5).",
    .probe = ptd_probe,
    .open = ptd_open,
    .read = ptd_read,
    .close = ptd_close,
    .opts = keys,
    .conf_size = sizeof(struct conf),
    .conf_check = conf_check,
    .open_conf = open_conf,
    .min_interval_ns = 250 * JM_NS_PER_MS,
    .why_interval = "a PTDaemon takes a sample a second",
};
