/* SPDX-License-Identifier: Apache-2.0 */
/* The meter of a BMC's power by IPMI: DCMI, Intel Node Manager, or Lenovo's energy counter. */
#include "meter/ipmi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/registry.h"
#include "base/banned.h"

#define BODY 64

struct ipmi {
    struct jm_ipmi_way way;
    struct jm_ipmi_backoff backoff;
    enum jm_ipmi_source source;
    int timeout_ms, clock_channel;
    bool first;
    char origin[96];
};

/* ---- one reading */

static const struct jm_ipmi_request requests[] = {
    [JM_IPMI_DCMI] = {0x2c, 0x02, {0xdc, 0x01, 0x00, 0x00}, 4, -1, 0},
    [JM_IPMI_NM] = {0x2e, 0xc8, {0x57, 0x01, 0x00, 0x01, 0x00, 0x00}, 6, 0, 0x2c},
    [JM_IPMI_LENOVO] = {0x3a, 0x32, {0x04, 0x02, 0x00, 0x00, 0x00}, 5, -1, 0},
};

static struct jm_ipmi_power decode(enum jm_ipmi_source source, struct jm_span body)
{
    struct jm_ipmi_power p = {.status = JM_S_GAP};
    struct jm_dcmi_power d;
    struct jm_nm_stats nm;
    struct jm_lenovo_energy e;
    if (source == JM_IPMI_DCMI && jm_dcmi_power(body, &d) == 0) {
        bool declared;
        p.status = jm_dcmi_status(&d, &declared);
        p.declared = declared;
        p.value = d.current_w;
        p.has_time = d.time_s > 0;
        p.time_ms = (int64_t)d.time_s * 1000;
        p.period_ms = d.period_ms;
        p.cc = d.cc;
    } else if (source == JM_IPMI_NM && jm_nm_stats(body, &nm) == 0) {
        p = (struct jm_ipmi_power){.status = jm_nm_status(&nm),
                                   .value = nm.current_w,
                                   .has_time = nm.time_s > 0,
                                   .time_ms = (int64_t)nm.time_s * 1000,
                                   .period_ms = (int64_t)nm.period_s * 1000,
                                   .cc = nm.cc};
    } else if (source == JM_IPMI_LENOVO && jm_lenovo_energy(body, &e) == 0) {
        p = (struct jm_ipmi_power){.status = jm_ipmi_cc_status(e.cc),
                                   .value = e.mj,
                                   .has_time = e.time_ms > 0,
                                   .time_ms = e.time_ms,
                                   .cc = e.cc};
    }
    return p;
}

struct jm_ipmi_power jm_ipmi_ask(const struct jm_ipmi_way *way, enum jm_ipmi_source source, uint8_t *body,
                                 size_t cap, int *n, int timeout_ms)
{
    *n = way->ask(way->self, &requests[source], body, cap, timeout_ms);
    if (*n < 0)
        return (struct jm_ipmi_power){.status = *n == -EACCES       ? JM_S_DENIED
                                                : *n == -EOPNOTSUPP ? JM_S_UNSUPPORTED
                                                : *n == -ENODEV     ? JM_S_LOST
                                                                    : JM_S_GAP};
    return decode(source, (struct jm_span){(char *)body, (size_t)*n});
}

bool jm_ipmi_may_ask(const struct jm_ipmi_backoff *b, int64_t now)
{
    return !b->failures || now >= b->until;
}

void jm_ipmi_note(struct jm_ipmi_backoff *b, int64_t now, unsigned cc, bool answered)
{
    if (answered && cc != JM_IPMI_CC_OTHER && cc != JM_IPMI_CC_BUSY && cc != JM_IPMI_CC_TIMEOUT) {
        b->failures = 0;
        return;
    }
    int64_t wait = JM_NS_PER_S << (b->failures < 6 ? b->failures : 6);
    b->failures++;
    b->until = now + (wait < 60 * JM_NS_PER_S ? wait : 60 * JM_NS_PER_S);
}

/* ---- the meter */

#define AT(f) offsetof(struct jm_ipmi_conf, f)
static const struct jm_opt opts[] = {
    {"address", 0, JM_OPT_STR, AT(address), .arg = "HOST | /dev/ipmi0",
     .help = "The BMC of this host by the kernel's device (ipmi0 below the root of devices), or a BMC in the "
             "network.",
     .deflt = "/dev/ipmi0"},
    {"source", 0, JM_OPT_ENUM, AT(source), .choices = "dcmi|nm|lenovo",
     .help = "What is asked: DCMI power, Intel Node Manager's statistics, the energy counter of Lenovo SD650 "
             "and its kin.",
     .deflt = "dcmi"},
    {"tool", 0, JM_OPT_ENUM, AT(tool), .choices = "ipmitool|ipmi-dcmi",
     .help = "What talks to a BMC in the network.", .deflt = "ipmitool"},
    {"tool_path", 0, JM_OPT_STR, AT(tool_path), .arg = "FILE", .help = "Where it is.",
     .deflt = "found by PATH"},
    {"tool_config", 0, JM_OPT_STR, AT(tool_config), .arg = "FILE",
     .help = "ipmi-dcmi's configuration, which holds its password."},
    {"interface", 0, JM_OPT_STR, AT(interface), .arg = "NAME",
     .help = "Protocol of the tool: lanplus, lan; LAN_2_0, LAN.", .deflt = "lanplus, LAN_2_0"},
    {"privilege", 0, JM_OPT_STR, AT(privilege), .arg = "NAME",
     .help = "Level of the session: USER, OPERATOR, ADMIN.", .deflt = "USER"},
    {"cipher", 0, JM_OPT_INT, AT(cipher), -1, 17, .arg = "N", .help = "Cipher suite of ipmitool: 3, 17.",
     .deflt = "the tool's own"},
    {NULL}};

static void conf_init(void *conf)
{
    struct jm_ipmi_conf *c = conf;
    c->cipher = -1;
    c->address = "/dev/ipmi0";
}

static bool is_local(const char *address)
{
    return address[0] == '/' || strncmp(address, "ipmi", 4) == 0;
}

static int check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct jm_ipmi_conf *c = in->conf;
    if (!*c->address)
        return jm_err_set(err, JM_EUSAGE, "the address is empty; leave it out for the BMC of this host");
    int rc = jm_address_check(c->address, err);
    if (rc)
        return rc;
    bool local = is_local(c->address);
    if (c->address[0] == '-')
        return jm_err_set(err, JM_EUSAGE, "\"%.40s\" is no address", c->address);
    if (local && (in->user || jm_secret_given(&in->password)))
        return jm_err_set(err, JM_EUSAGE,
                          "the BMC of this host needs no user; who may open %.60s may read it", c->address);
    if (c->tool == JM_IPMI_FREEIPMI && !local) {
        if (c->source != JM_IPMI_DCMI)
            return jm_err_set(err, JM_EUSAGE, "ipmi-dcmi reads DCMI only; the other sources need ipmitool");
        if (jm_secret_given(&in->password))
            return jm_err_set(err, JM_EUSAGE,
                              "ipmi-dcmi takes a password from its configuration only: write \"password "
                              "...\" into a file of "
                              "your own and say tool_config: FILE");
    }
    if (!local && c->tool == JM_IPMI_IPMITOOL && in->user && !jm_secret_given(&in->password))
        return jm_err_set(err, JM_EUSAGE, "a user without password: say password_file or password_env");
    return 0;
}

static void ipmi_close(struct jm_meter *m)
{
    struct ipmi *p = m ? m->priv : NULL;
    if (p && p->way.close)
        p->way.close(p->way.self);
    free(p);
    jm_meter_dispose(m);
}

static int channels(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                    struct jm_domain_tree *tree, const struct jm_ipmi_power *first, struct jm_err *err)
{
    static const char *const from[] = {"DCMI Get Power Reading: current", "Node Manager statistics: current",
                                       "NetFn 3Ah cmd 32h"};
    struct ipmi *p = m->priv;
    bool counter = p->source == JM_IPMI_LENOVO;
    int domain = jm_instrument_domain(in, env, tree, NULL, JM_D_NODE, err);
    struct jm_channel *c = domain < 0 ? NULL : jm_meter_add_channel(m, err);
    if (!c)
        return domain < 0 ? domain : JM_ENOMEM;
    snprintf(c->name, sizeof c->name, "%s", counter ? "energy" : "power");
    jm_instrument_device(in, NULL, c->device);
    snprintf(c->source, sizeof c->source, "%s", from[p->source]);
    c->kind = counter ? JM_CH_COUNTER : JM_CH_GAUGE;
    c->unit = counter ? JM_U_J : JM_U_W;
    c->scale10 = counter ? -3 : 0;
    c->modulus = counter ? (UINT64_C(1) << 32) * 1000 : 0; /* joules are 32 bit, millijoules beside them */
    c->sem = JM_G_INSTANT;
    c->sane_max = 65534;
    c->domain = domain;
    c->flags = JM_CHF_EDGE;
    c->provenance = first->declared ? JM_P_DECLARED : JM_P_MEASURED;
    int rc = first->period_ms
                 ? jm_meter_add_fact(m, err, "statistics_s", "%.3f", (double)first->period_ms / 1000)
                 : 0;
    if (!rc && first->declared)
        rc = jm_meter_add_fact(m, err, "state",
                               "the BMC says that it does not measure; its value is kept as declared");
    if (rc || !first->has_time)
        return rc;
    p->clock_channel = (int)m->n_chan;
    return jm_meter_add_clock(m, in->name, err) ? 0 : JM_ENOMEM;
}

static int why_not(const struct jm_instrument *in, const struct jm_ipmi_power *p, int n, struct jm_err *err)
{
    const struct jm_ipmi_conf *c = in->conf;
    if (n == -ENOENT)
        return jm_err_set(err, JM_EABSENT, "%s is not installed, which is what talks to a BMC in the network",
                          c->tool == JM_IPMI_FREEIPMI ? "ipmi-dcmi (package freeipmi-tools)" : "ipmitool");
    if (p->status == JM_S_DENIED)
        return jm_err_set(err, JM_EDENIED,
                          "the BMC at %.80s refuses: user, password or privilege (USER by default) is not "
                          "enough",
                          c->address);
    if (n == -ETIMEDOUT)
        return jm_err_set(err, JM_ETIMEOUT, "the BMC at %.80s does not answer within %g s", c->address,
                          (double)in->timeout_ns / 1e9);
    if (n < 0)
        return jm_err_sys(err, -n, "the talk with the BMC at %.80s failed", c->address);
    if (p->cc)
        return jm_err_set(err, p->status == JM_S_UNSUPPORTED ? JM_EUNSUPPORTED : JM_ESTATE,
                          "the BMC at %.80s answers with completion code 0x%02x (%s)%s", c->address, p->cc,
                          jm_ipmi_cc_text(p->cc),
                          p->status == JM_S_UNSUPPORTED ? "; its power may be in Redfish: meter: redfish"
                                                        : "");
    return jm_err_set(err, JM_EUNSUPPORTED,
                      "the BMC at %.80s has no power: it says 0 or 65535 W, or what it says does not fit its "
                      "own statistics",
                      c->address);
}

int jm_ipmi_open_way(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_ipmi_way way, struct jm_meter **out,
                     struct jm_err *err)
{
    const struct jm_ipmi_conf *c = in->conf;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_ipmi, err);
    struct ipmi *p = m ? calloc(1, sizeof *p) : NULL;
    uint8_t body[BODY];
    int n;
    if (!p) {
        jm_meter_dispose(m);
        way.close(way.self);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter ipmi");
    }
    m->priv = p;
    m->raw = env->opening;
    p->way = way;
    p->source = (enum jm_ipmi_source)c->source;
    p->timeout_ms = (int)(in->timeout_ns / JM_NS_PER_MS);
    p->clock_channel = -1;
    p->first = true;
    snprintf(p->origin, sizeof p->origin, "ipmi://%.60s/%s", c->address,
             p->source == JM_IPMI_DCMI ? "dcmi"
             : p->source == JM_IPMI_NM ? "nm"
                                       : "lenovo");
    m->period_ns = 2 * JM_NS_PER_S;
    m->deadline_ns = in->timeout_ns;
    m->conf = in;
    snprintf(m->instance, sizeof m->instance, "%s", in->name);
    struct jm_clock clock = jm_meter_clock(env);
    int64_t t0 = jm_clock_mono(&clock);
    struct jm_ipmi_power first = jm_ipmi_ask(&p->way, p->source, body, sizeof body, &n, p->timeout_ms);
    if (n > 0)
        jm_meter_raw(m, t0, jm_clock_mono(&clock), p->origin, (struct jm_span){(char *)body, (size_t)n},
                     first.status == JM_S_OK ? 0 : JM_RAW_BAD);
    int rc = first.status == JM_S_OK ? channels(m, env, in, tree, &first, err) : why_not(in, &first, n, err);
    if (rc) {
        ipmi_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static int ipmi_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    const struct jm_ipmi_conf *c = in->conf;
    struct jm_ipmi_way way;
    char path[512];
    const char *root = env->dev_root ? env->dev_root : "/dev", *name = c->address;
    if (strncmp(name, "/dev/", 5) == 0)
        name += 5;
    snprintf(path, sizeof path, "%s%s%s", name[0] == '/' ? "" : root, name[0] == '/' ? "" : "/", name);
    int rc = is_local(c->address) ? jm_ipmi_dev_open(path, &way, err) : jm_ipmi_tool_open(in, &way, err);
    return rc ? rc : jm_ipmi_open_way(env, in, tree, way, out, err);
}

static size_t ipmi_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    struct ipmi *p = m->priv;
    uint8_t body[BODY];
    int n = -EAGAIN;
    size_t got = 0;
    struct jm_ipmi_power x = {.status = JM_S_GAP};
    struct jm_clock_pair now;
    jm_clock_pair(clock, &now);
    int64_t t0 = jm_clock_mono(clock), t1 = t0;
    if (jm_ipmi_may_ask(&p->backoff, t0)) {
        x = jm_ipmi_ask(&p->way, p->source, body, sizeof body, &n, p->timeout_ms);
        t1 = jm_clock_mono(clock);
        jm_ipmi_note(&p->backoff, t1, x.cc, n > 0);
        if (n > 0)
            jm_meter_raw(m, t0, t1, p->origin, (struct jm_span){(char *)body, (size_t)n},
                         x.status == JM_S_GAP ? JM_RAW_BAD
                         : p->first           ? JM_RAW_SHAPE
                                              : 0);
        p->first = false;
    }
    for (size_t i = 0; i < m->n_chan; i++) {
        if (!jm_meter_in_set(&m->chan[i], set))
            continue;
        struct jm_reading r = {.channel = (uint32_t)i, .t0 = t0, .t1 = t1, .status = (uint8_t)x.status};
        if ((int)i == p->clock_channel) {
            r.status = n > 0 && x.has_time ? JM_S_OK : JM_S_ABSENT;
            r.value = r.status == JM_S_OK ? x.time_ms * JM_NS_PER_MS - (now.real + (t1 - t0) / 2) : 0;
        } else if (r.status == JM_S_OK) {
            r.value = x.value;
        }
        out[got++] = r;
    }
    return got;
}

const struct jm_meter_ops jm_meter_ipmi = {
    .version = JM_METER_OPS_VERSION,
    .name = "ipmi",
    .summary = "power of a BMC by IPMI: DCMI, Intel Node Manager, Lenovo's energy; configured",
    .boundary = "node",
    .needs = "an entry `meter: ipmi`; /dev/ipmi0 is root's, a BMC in the network needs ipmitool, a user and "
             "a password file",
    .traps = "0 W and 65535 W are what BMCs say that have no power: absent, never a measurement.\n"
             "Minimum, maximum and average are usually since the statistics began, weeks ago: only the "
             "current power is used. A "
             "current power outside its own minimum and maximum is a conflict.\n"
             "A BMC that says it does not measure may still be right: its value is kept as declared, not as "
             "measured.\n"
             "A BMC that answers 0xFF is asked too often: it is left alone for 1 s, 2 s, up to a minute.\n"
             "Whether the value is AC input or DC output, and whether GPU trays with supplies of their own "
             "are in it, differs by "
             "maker: say `at`.\n"
             "The password reaches ipmitool by its environment or by -f FILE, never by its command line.",
    .read = ipmi_read,
    .close = ipmi_close,
    .opts = opts,
    .conf_size = sizeof(struct jm_ipmi_conf),
    .conf_init = conf_init,
    .conf_check = check,
    .open_conf = ipmi_open,
    .min_interval_ns = JM_NS_PER_S,
    .why_interval =
        "a BMC samples its sensors once a second or slower, and some fail when they are asked more often",
};
