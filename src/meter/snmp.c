/* SPDX-License-Identifier: Apache-2.0 */
/* The meter of PDUs that speak SNMP. */
#include "meter/snmp.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/registry.h"
#include "base/banned.h"

#define BATCH 40                 /* objects of one request: a reply of about 1200 bytes */
#define TICKS (INT64_C(1) << 32) /* sysUpTime wraps after 497 days */
#define SLACK (INT64_C(360000))  /* an hour, in hundredths */

#define AT(f) offsetof(struct jm_snmp_conf, f)
static const struct jm_opt opts[] = {
    {"address", 0, JM_OPT_STR, AT(address), .arg = "HOST[:PORT]",
     .help = "The PDU, and its port where it is not 161."},
    {"version", 0, JM_OPT_ENUM, AT(version), .choices = "2c|3", .help = "Version of SNMP.", .deflt = "2c"},
    JM_OPTS_SECRET("community", AT(community), "Community of version 2c; not said: public."),
    {"auth", 0, JM_OPT_ENUM, AT(auth), .choices = "sha|sha256",
     .help = "Hash of version 3, with `user` and `password`.", .deflt = "sha"},
    JM_OPTS_SECRET("privacy", AT(privacy),
                   "Password of version 3's encryption (AES-128); not said: authenticated only."),
    {"context", 0, JM_OPT_STR, AT(context), .arg = "NAME", .help = "Context of version 3."},
    {"vendor", 0, JM_OPT_STR, AT(vendor), .arg = "NAME",
     .help = "Whose objects are asked for: apc, apc-legacy, raritan, raritan-px1, eaton, eaton-input, "
             "servertech, servertech3, "
             "vertiv, cyberpower, cyberpower-epdu, hpe, dell, avocent, enlogic, panduit, schleifenbauer, "
             "gude, liebert, tripplite, eman, poe.",
     .deflt = "found by sysObjectID"},
    {"outlets", 0, JM_OPT_STR, AT(outlets), .arg = "LIST", .help = "Which are read: \"1-12,15\".",
     .deflt = "those with a feed, else all"},
    {"phases", 0, JM_OPT_FLAG, AT(phases), .help = "Phases too, where the PDU has a total of its own."},
    {"power_scale", 0, JM_OPT_NUM, AT(power_scale), 1e-6, 1e6, .arg = "FACTOR",
     .help = "A power of ten that the power is multiplied by: for firmware whose unit is wrong.",
     .deflt = "1"},
    {NULL}};

static int check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct jm_snmp_conf *c = in->conf;
    if (!c->address || !*c->address)
        return jm_err_set(err, JM_EUSAGE, "the entry needs the address of the PDU: address: pdu1");
    int rc = jm_address_check(c->address, err);
    if (rc)
        return rc;
    if (c->version == 1 && (!in->user || !*in->user))
        return jm_err_set(err, JM_EUSAGE,
                          "version 3 needs a user: user: NAME, with password_file and privacy_file");
    if (c->version == 0 && (in->user || jm_secret_given(&in->password) || jm_secret_given(&c->privacy)))
        return jm_err_set(err, JM_EUSAGE, "user, password and privacy are of version 3; say version: 3");
    if (c->version == 1 && jm_secret_given(&c->community))
        return jm_err_set(err, JM_EUSAGE,
                          "a community is of version 2c; version 3 has user, password and privacy");
    if (jm_secret_given(&c->privacy) && !jm_secret_given(&in->password))
        return jm_err_set(err, JM_EUSAGE, "privacy without a password: encryption needs authentication");
    double e = c->power_scale > 0 ? log10(c->power_scale) : 0;
    if (fabs(e - round(e)) > 1e-9)
        return jm_err_set(err, JM_EUSAGE, "power_scale: %g is no power of ten", c->power_scale);
    struct jm_span rest = jm_pdu_table();
    struct jm_pdu_row r;
    while (c->vendor && jm_pdu_next(&rest, &r))
        if (jm_span_is(r.vendor, c->vendor))
            return 0;
    return c->vendor
               ? jm_err_set(err, JM_EUSAGE,
                            "\"%.40s\" is no vendor of the table; there are apc, apc-legacy, raritan, "
                            "raritan-px1, eaton, eaton-input, servertech, servertech3, vertiv, cyberpower, "
                            "cyberpower-epdu, hpe, dell, avocent, enlogic, panduit, schleifenbauer, gude, "
                            "liebert, tripplite, eman, poe",
                            c->vendor)
               : 0;
}

static void snmp_close(struct jm_meter *m)
{
    struct jm_snmp *s = m ? m->priv : NULL;
    if (s) {
        jm_snmp_io_close(&s->io);
        for (size_t i = 0; i < s->n_chan; i++)
            free(s->chan[i].sum);
        free(s->chan);
        free(s->slot);
        free(s->binds);
    }
    free(s);
    jm_meter_dispose(m);
}

static int password(const struct jm_secret *secret, enum jm_snmp_auth auth, const char *what, uint8_t key[32],
                    struct jm_err *err)
{
    char text[JM_SECRET_MAX];
    int n = jm_secret_get(secret, what, text, err);
    if (n > 0 && !jm_snmp_password(auth, (struct jm_span){text, (size_t)n}, key))
        n = jm_err_set(err, JM_EUSAGE, "%s has fewer than 8 characters, which SNMP version 3 does not allow",
                       what);
    explicit_bzero(text, sizeof text);
    return n;
}

static int peer(struct jm_snmp_peer *p, const struct jm_instrument *in, struct jm_err *err)
{
    const struct jm_snmp_conf *c = in->conf;
    char text[JM_SECRET_MAX];
    int n;
    if (c->version == 0) {
        p->version = 2;
        n = jm_secret_get(&c->community, "the community", text, err);
        if (n >= (int)sizeof p->community)
            n = jm_err_set(err, JM_EUSAGE, "the community is longer than %zu bytes", sizeof p->community - 1);
        if (n >= 0)
            snprintf(p->community, sizeof p->community, "%.127s", n ? text : "public");
        explicit_bzero(text, sizeof text);
        return n < 0 ? n : 0;
    }
    p->version = 3;
    snprintf(p->user, sizeof p->user, "%.63s", in->user);
    snprintf(p->context, sizeof p->context, "%.63s", c->context ? c->context : "");
    enum jm_snmp_auth auth = c->auth == 1 ? JM_SNMP_SHA256 : JM_SNMP_SHA1;
    n = password(&in->password, auth, "the password", p->auth_secret, err);
    if (n > 0)
        p->auth = auth;
    if (n >= 0) {
        n = password(&c->privacy, auth, "the privacy password", p->priv_secret, err);
        p->priv = n > 0;
    }
    return n < 0 ? n : 0;
}

static int snmp_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    const struct jm_snmp_conf *c = in->conf;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_snmp, err);
    struct jm_snmp *s = m ? calloc(1, sizeof *s) : NULL;
    if (!s) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter snmp");
    }
    m->priv = s;
    m->raw = env->opening;
    s->io.fd = -1;
    s->io.timeout_ms = (int)(in->timeout_ns / JM_NS_PER_MS);
    s->batch = BATCH;
    s->first = true;
    m->period_ns = JM_NS_PER_S;
    m->deadline_ns = in->timeout_ns;
    m->conf = in;
    snprintf(m->instance, sizeof m->instance, "%s", in->name);
    snprintf(s->origin, sizeof s->origin, "snmp://%.56s", c->address);
    s->io.tell = m;
    s->io.origin = s->origin;
    s->io.opening = true;
    int rc = peer(&s->io.peer, in, err);
    if (!rc)
        rc = jm_snmp_io_open(&s->io, c->address, err);
    if (!rc)
        rc = jm_snmp_find(m, env, in, tree, err);
    s->io.opening = false;
    if (rc) {
        snmp_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

/* ---- reading */

static uint8_t status_of(int rc)
{
    return rc == -EACCES ? JM_S_DENIED : JM_S_GAP;
}

/* A time of a reset is compared, never reckoned with: vendors write seconds, ticks and text. */
static int64_t opaque(struct jm_span s)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(1099511628211);
    return (int64_t)(h >> 1);
}

static void take(struct jm_snmp_slot *slot, const struct jm_snmp_value *v)
{
    slot->ok = jm_snmp_value_number(v, 0, &slot->num);
    slot->status = v->type == JM_SNMP_NO_OBJECT || v->type == JM_SNMP_NO_INSTANCE || v->type == JM_SNMP_END
                       ? JM_S_ABSENT
                       : JM_S_UNSUPPORTED;
    if (!slot->ok && v->type == JM_SNMP_OCTETS) {
        slot->num = opaque(v->bytes);
        slot->status = JM_S_OK; /* text: of use for a time, not for a value */
    }
}

/* -ETIMEDOUT and the like: it is not there. */
static int ask_some(struct jm_meter *m, const struct jm_clock *clock, size_t from, size_t n)
{
    struct jm_snmp *s = m->priv;
    struct jm_snmp_oid oid;
    struct jm_snmp_value v;
    const char *why;
    size_t i = from;
    struct jm_snmp_pdu pdu = {
        .tag = JM_SNMP_GET,
        .varbinds = {(char *)s->binds + s->slot[from].at, s->slot[from + n - 1].end - s->slot[from].at}};
    for (size_t k = from; k < from + n; k++)
        s->slot[k].ok = false;
    int rc = jm_snmp_io_ask(&s->io, clock, &pdu, &why);
    if (rc == 0 && pdu.error == JM_SNMP_TOO_BIG && n > 1) {
        s->batch = n / 2;
        ask_some(m, clock, from, n / 2);
        return ask_some(m, clock, from + n / 2, n - n / 2);
    }
    int talk = rc;
    struct jm_span rest = pdu.varbinds;
    bool good = rc == 0 && !pdu.error;
    while (good && i < from + n && (rc = jm_snmp_next(&rest, &oid, &v)) == 1) {
        if (jm_snmp_oid_cmp(&oid, &s->slot[i].oid) != 0)
            break;
        take(&s->slot[i++], &v);
    }
    bool bad = good && i < from + n;
    if (good)
        jm_meter_raw(m, s->io.t0, s->io.t1, s->origin, pdu.varbinds,
                     bad        ? JM_RAW_BAD
                     : s->first ? JM_RAW_SHAPE
                                : 0);
    for (size_t k = i; k < from + n; k++)
        s->slot[k].status = good ? JM_S_GAP : pdu.error == JM_SNMP_NO_ACCESS ? JM_S_DENIED : status_of(rc);
    for (size_t k = from; k < from + n; k++) {
        s->slot[k].t0 = s->io.t0;
        s->slot[k].t1 = s->io.t1;
    }
    return talk;
}

static void note_uptime(struct jm_snmp *s)
{
    const struct jm_snmp_slot *u = &s->slot[0];
    s->rebooted = false;
    if (!u->ok)
        return;
    if (s->uptime_known && u->num < s->uptime)
        s->rebooted = !(s->uptime > TICKS - SLACK && u->num < SLACK); /* else it wrapped */
    s->uptime = u->num;
    s->uptime_known = true;
}

static struct jm_reading value(struct jm_meter *m, size_t i)
{
    struct jm_snmp *s = m->priv;
    struct jm_snmp_chan *c = &s->chan[i];
    const struct jm_snmp_slot *v = &s->slot[c->value];
    struct jm_reading r = {
        .channel = (uint32_t)i, .t0 = v->t0, .t1 = v->t1, .status = v->ok ? JM_S_OK : v->status};
    bool counter = m->chan[i].kind == JM_CH_COUNTER;
    if (r.status == JM_S_OK && !v->ok)
        r.status = JM_S_UNSUPPORTED;
    if (r.status == JM_S_OK && v->num < 0)
        r.status = JM_S_ABSENT; /* -1 and its like are never a power */
    if (r.status == JM_S_OK && c->avail >= 0 && s->slot[c->avail].ok && s->slot[c->avail].num != 1)
        r.status = JM_S_ABSENT;
    if (r.status == JM_S_OK && c->conflict)
        r.status = JM_S_CONFLICT;
    if (counter && r.status == JM_S_OK) {
        const struct jm_snmp_slot *t = c->reset >= 0 ? &s->slot[c->reset] : NULL;
        bool told = t && (t->ok || t->status == JM_S_OK);
        if ((told && c->seen && t->num != c->last_reset) || s->rebooted)
            r.status = JM_S_RESET;
        if (told) {
            c->last_reset = t->num;
            c->seen = true;
        }
    }
    if (r.status == JM_S_OK && v->num > INT64_MAX / 64)
        r.status = JM_S_IMPLAUSIBLE;
    if (r.status == JM_S_OK)
        r.value = v->num * c->factor;
    if (r.status == JM_S_OK && !counter && jm_channel_value(&m->chan[i], r.value) > m->chan[i].sane_max)
        r.status = JM_S_IMPLAUSIBLE;
    return r;
}

/* A sum is as good as its worst part: one that is missing is never taken for 0. */
static struct jm_reading total(struct jm_meter *m, size_t i)
{
    struct jm_snmp *s = m->priv;
    const struct jm_snmp_chan *c = &s->chan[i];
    struct jm_reading r = {.channel = (uint32_t)i, .t0 = INT64_MAX, .t1 = INT64_MIN, .status = JM_S_OK};
    for (size_t k = 0; k < c->n_sum; k++) {
        struct jm_reading one = s->chan[c->sum[k]].last; /* parts come before their sum */
        int64_t x = one.value;
        for (int e = m->chan[c->sum[k]].scale10; e > m->chan[i].scale10; e--)
            x *= 10;
        if (one.status != JM_S_OK && r.status == JM_S_OK)
            r.status = one.status;
        r.value += one.status == JM_S_OK ? x : 0;
        r.t0 = one.t0 < r.t0 ? one.t0 : r.t0;
        r.t1 = one.t1 > r.t1 ? one.t1 : r.t1;
    }
    if (r.status != JM_S_OK)
        r.value = 0;
    return r;
}

static size_t snmp_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    struct jm_snmp *s = m->priv;
    size_t n = 0, batch;
    int rc = 0;
    for (size_t at = 0; at < s->n_slot; at += batch) {
        batch = s->n_slot - at < s->batch ? s->n_slot - at : s->batch;
        if (rc != -ETIMEDOUT && rc != -ECONNREFUSED) {
            rc = ask_some(m, clock, at, batch);
            continue;
        }
        for (size_t k = at; k < at + batch; k++) { /* it is gone: the rest would only wait */
            s->slot[k].ok = false;
            s->slot[k].status = JM_S_GAP;
            s->slot[k].t0 = s->io.t0;
            s->slot[k].t1 = s->io.t1;
        }
    }
    s->first = false;
    note_uptime(s);
    for (size_t i = 0; i < m->n_chan; i++) {
        s->chan[i].last = s->chan[i].n_sum ? total(m, i) : value(m, i);
        if (jm_meter_in_set(&m->chan[i], set))
            out[n++] = s->chan[i].last;
    }
    return n;
}

const struct jm_meter_ops jm_meter_snmp = {
    .version = JM_METER_OPS_VERSION,
    .name = "snmp",
    .summary = "PDUs by SNMP 2c or 3: outlets, inlets and phases; configured",
    .boundary = "wall",
    .needs = "an entry `meter: snmp` with the address of the PDU, and a community or a user that may read",
    .traps = "Scales differ within one MIB: APC's phases are in 10 W and its outlets in W, ServerTech's "
             "outlets count Wh and its "
             "cords tenths of a kWh, Raritan's values are divided by 10^digits. The table has each, with its "
             "source.\n"
             "A power that differs from volts x amperes x power factor by ten is not read as power until "
             "power_scale says what is "
             "right (a CyberPower firmware, a wrong table).\n"
             "-1 is not there: a part without a meter has no channel, and a sum with a phase that says -1 "
             "has no value.\n"
             "Counters of energy are reset by their users: the time of the reset is read with each value, "
             "and sysUpTime shows a "
             "reboot.\n"
             "Counters in steps of 0.1 or 1 kWh (0.36 and 3.6 MJ) are of use for hours, not for a minute.\n"
             "RFC 7460 tells how it knows a power: what its caliber calls estimated or static is an estimate "
             "here, too.\n"
             "Power over Ethernet (RFC 3621) is what ports deliver, not what the switch draws: read only "
             "with vendor: poe.",
    .read = snmp_read,
    .close = snmp_close,
    .opts = opts,
    .conf_size = sizeof(struct jm_snmp_conf),
    .conf_check = check,
    .open_conf = snmp_open,
    .min_interval_ns = 200 * JM_NS_PER_MS,
    .why_interval = "PDUs refresh once a second or slower",
};
