/* SPDX-License-Identifier: Apache-2.0 */
/* Smart plugs in the local network: Shelly, Tasmota, Kasa, Tapo. Their accuracy is stated by nobody that
 * could be traced: what they say is indicative. */
#include "meter/registry.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meter/http.h"
#include "meter/plug_kasa.h"
#include "meter/plug_klap.h"
#include "wire/plug.h"

#include "base/banned.h"

enum model { SHELLY1, SHELLY2, TASMOTA, KASA, TAPO };

struct conf {
    const char *url;
    int model;
};

struct plug {
    enum model model;
    struct jm_http http;
    char password[JM_SECRET_MAX];
    char kasa[280], child[JM_PLUG_METERS][JM_KASA_CHILD];
    size_t n_children;
    struct jm_tapo tapo; /* a secret */
    const char *user;
    int64_t timeout_ns;
    char target[400]; /* a secret: Tasmota takes user and password in the query */
    struct jm_plug_reply last;
    size_t n; /* meters of it */
    int power[JM_PLUG_METERS], energy[JM_PLUG_METERS];
    int clock, age;
    int64_t t0, t1, real;
    bool told;
};

/* --- asking
 * --------------------------------------------------------------------------------------------------- */
/* A strip answers for each outlet by itself; what one does not answer is missing, not 0. */
static int ask_strip(struct plug *p, const struct jm_clock *clock, struct jm_str *body,
                     struct jm_plug_reply *out, struct jm_err *err)
{
    char request[160];
    int rc = 0;
    *out = (struct jm_plug_reply){.n = 0};
    for (size_t i = 0; i < p->n_children && !rc; i++) {
        struct jm_plug_reply one;
        struct jm_err why = {0};
        size_t from = body->len;
        snprintf(request, sizeof request,
                 "{\"context\":{\"child_ids\":[\"%.60s\"]},\"emeter\":{\"get_realtime\":{}}}", p->child[i]);
        rc = jm_kasa_ask(p->kasa, jm_span_of(request), p->timeout_ns, clock, body, err);
        if (rc || jm_plug_kasa(jm_span_sub(jm_str_span(body), from, body->len), &one, &why))
            continue;
        out->m[out->n] = one.m[0];
        snprintf(out->m[out->n].part, sizeof out->m[0].part, "%zu", i + 1);
        out->n++;
    }
    return rc       ? rc
           : out->n ? 0
                    : jm_err_set(err, JM_EABSENT, "no outlet of the strip at %s measures energy", p->kasa);
}

static int ask_kasa(struct plug *p, const struct jm_clock *clock, struct jm_str *body,
                    struct jm_plug_reply *out, struct jm_err *err)
{
    struct jm_clock_pair pair;
    jm_clock_pair(clock, &pair);
    p->t0 = jm_clock_mono(clock);
    int rc = p->n_children ? ask_strip(p, clock, body, out, err)
                           : jm_kasa_ask(p->kasa, JM_SPAN("{\"emeter\":{\"get_realtime\":{}}}"),
                                         p->timeout_ns, clock, body, err);
    p->t1 = jm_clock_mono(clock);
    p->real = pair.real + ((p->t0 + p->t1) / 2 - pair.mono1);
    return rc;
}

/* Whether it is a strip, and of which outlets. */
static int look_kasa(struct plug *p, const struct jm_clock *clock, struct jm_err *err)
{
    struct jm_str body;
    jm_str_init(&body);
    int rc =
        jm_kasa_ask(p->kasa, JM_SPAN("{\"system\":{\"get_sysinfo\":{}}}"), p->timeout_ns, clock, &body, err);
    if (!rc)
        p->n_children = jm_plug_kasa_children(jm_str_span(&body), p->child, JM_PLUG_METERS);
    jm_str_release(&body);
    return rc;
}

static int ask_http(struct plug *p, struct jm_str *body, struct jm_err *err)
{
    char why[80];
    int rc = jm_http_ask(&p->http, "GET", p->target, NULL, 0, (struct jm_span){NULL, 0}, err);
    p->t0 = p->http.t0;
    p->t1 = p->http.t1;
    p->real = p->http.real;
    if (rc)
        return rc;
    if (p->http.status != 200)
        return jm_err_set(err, p->http.status == 401 || p->http.status == 403 ? JM_EDENIED : JM_EUNSUPPORTED,
                          "the plug %s", jm_http_why(p->http.status, why));
    jm_str_addspan(body, jm_str_span(&p->http.body));
    return jm_str_ok(body, "an answer", err);
}

static int ask_tapo(struct plug *p, struct jm_str *body, struct jm_err *err)
{
    int rc = jm_tapo_ask(&p->tapo, &p->http, p->user, p->password,
                         JM_SPAN("{\"method\":\"get_energy_usage\"}"), body, err);
    p->t0 = p->http.t0;
    p->t1 = p->http.t1;
    p->real = p->http.real;
    return rc;
}

static int ask(struct jm_meter *m, const struct jm_clock *clock, struct jm_plug_reply *out,
               struct jm_err *err)
{
    static int (*const decode[])(struct jm_span, struct jm_plug_reply *, struct jm_err *) = {
        jm_plug_shelly1, jm_plug_shelly2, jm_plug_tasmota, jm_plug_kasa, jm_plug_tapo};
    static const char *const origin[] = {"/status", "/rpc/Shelly.GetStatus", "/cm?cmnd=Status%208",
                                         "emeter.get_realtime", "get_energy_usage"};
    struct plug *p = m->priv;
    struct jm_str body;
    jm_str_init(&body);
    int rc = p->model == KASA   ? ask_kasa(p, clock, &body, out, err)
             : p->model == TAPO ? ask_tapo(p, &body, err)
                                : ask_http(p, &body, err);
    bool strip = p->model == KASA && p->n_children;
    if (!rc) {
        if (!strip)
            rc = decode[p->model](jm_str_span(&body), out, err);
        jm_meter_raw(m, p->t0, p->t1, origin[p->model], jm_str_span(&body),
                     rc        ? JM_RAW_BAD
                     : p->told ? 0
                               : JM_RAW_SHAPE);
        p->told = true;
    }
    jm_str_release(&body);
    return rc;
}

/* --- reading
 * -------------------------------------------------------------------------------------------------- */
static void put(struct jm_reading *out, const struct plug *p, int channel, int status, double value)
{
    *out = (struct jm_reading){.t0 = p->t0,
                               .t1 = p->t1,
                               .channel = (uint32_t)channel,
                               .status = (uint8_t)status,
                               .value = status == JM_S_OK ? (int64_t)llround(value * 1e3) : 0};
}

static size_t plug_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    struct plug *p = m->priv;
    struct jm_plug_reply r = {.n = 0};
    struct jm_err why = {0};
    size_t n = 0;
    if (set ==
        JM_READ_COUNTER) /* it refreshes about once a second: read at the ends of a burst, not within */
        return 0;
    int rc = ask(m, clock, &r, &why);
    int bad = rc == JM_EDENIED ? JM_S_DENIED : rc == JM_EABSENT ? JM_S_ABSENT : rc ? JM_S_GAP : JM_S_ABSENT;
    int64_t newest = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct jm_plug_meter *now = NULL;
        for (size_t k = 0; !rc && k < r.n; k++)
            if (strcmp(r.m[k].part, p->last.m[i].part) == 0)
                now = &r.m[k];
        if (p->power[i] >= 0)
            put(&out[n++], p, p->power[i], now ? (int)now->power_status : bad, now ? now->power_w : 0);
        if (p->energy[i] >= 0)
            put(&out[n++], p, p->energy[i], now ? (int)now->energy_status : bad, now ? now->energy_j : 0);
        if (now && now->refreshed > newest)
            newest = now->refreshed;
    }
    /* whole seconds: the middle of the second is half a second off at most */
    int64_t offset = r.unix_s * JM_NS_PER_S + JM_NS_PER_S / 2 - p->real;
    bool timed = !rc && r.unix_s > 0;
    if (p->clock >= 0)
        out[n++] = (struct jm_reading){.t0 = p->t0,
                                       .t1 = p->t1,
                                       .channel = (uint32_t)p->clock,
                                       .status = timed ? JM_S_OK : (uint8_t)bad,
                                       .value = timed ? offset : 0};
    if (p->age >= 0)
        out[n++] = (struct jm_reading){.t0 = p->t0,
                                       .t1 = p->t1,
                                       .channel = (uint32_t)p->age,
                                       .status = timed && newest > 0 ? JM_S_OK : (uint8_t)bad,
                                       .value = timed && newest > 0 ? (r.unix_s - newest) * JM_NS_PER_S : 0};
    return n;
}

/* --- open and close
 * -------------------------------------------------------------------------------------------- */
static void plug_close(struct jm_meter *m)
{
    if (!m)
        return;
    struct plug *p = m->priv;
    if (p) {
        jm_http_close(&p->http);
        explicit_bzero(p, sizeof *p);
        free(p);
    }
    jm_meter_dispose(m);
}

/* Percent-encodes what is not unreserved (RFC 3986). */
static void encoded(char *out, size_t cap, const char *text)
{
    size_t n = strlen(out);
    for (; *text && n + 4 < cap; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
        n += (size_t)snprintf(out + n, cap - n, plain ? "%c" : "%%%02X", c);
    }
}

static void target(struct plug *p, const struct jm_instrument *in)
{
    if (p->model == SHELLY1)
        snprintf(p->target, sizeof p->target, "/status");
    else if (p->model == SHELLY2)
        snprintf(p->target, sizeof p->target, "/rpc/Shelly.GetStatus");
    else {
        snprintf(p->target, sizeof p->target, "/cm?");
        if (in->user && p->password[0]) {
            snprintf(p->target, sizeof p->target, "/cm?user=");
            encoded(p->target, 140, in->user);
            snprintf(p->target + strlen(p->target), sizeof p->target - strlen(p->target), "&password=");
            encoded(p->target, 360, p->password);
            snprintf(p->target + strlen(p->target), sizeof p->target - strlen(p->target), "&");
        }
        snprintf(p->target + strlen(p->target), sizeof p->target - strlen(p->target), "cmnd=Status%%208");
    }
}

static struct jm_channel *channel(struct jm_meter *m, const struct jm_instrument *in, const char *part,
                                  int domain, const char *name, struct jm_err *err)
{
    struct jm_channel *c = domain < 0 ? NULL : jm_meter_add_channel(m, err);
    if (!c)
        return NULL;
    snprintf(c->name, sizeof c->name, "%s", name);
    jm_instrument_device(in, part, c->device);
    snprintf(c->source, sizeof c->source, "%.20s %s", part && *part ? part : "plug", name);
    snprintf(c->scope, sizeof c->scope, "ac-input");
    c->scale10 = -3;
    c->domain = domain;
    c->sem = JM_G_INSTANT;
    c->sane_max = 5000; /* 16 A at 240 V is 3840 W; three phases say max_power */
    return c;
}

static int channels(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                    struct jm_domain_tree *tree, struct jm_err *err)
{
    struct plug *p = m->priv;
    bool timed = false;
    p->n = p->last.n;
    for (size_t i = 0; i < p->n; i++) {
        const struct jm_plug_meter *r = &p->last.m[i];
        const char *part = r->part[0] ? r->part : NULL;
        int domain = jm_instrument_domain(in, env, tree, part, JM_D_INLET_AC, err);
        /* one of several whose load is not said stands for nobody's joules */
        unsigned flags = part && !jm_instrument_feed(in, part) ? JM_CHF_MIRROR : 0;
        struct jm_channel *c = channel(m, in, part, domain, "power", err);
        if (!c)
            return domain < 0 ? domain : JM_ENOMEM;
        c->kind = JM_CH_GAUGE;
        c->unit = JM_U_W;
        c->flags = flags;
        if (part && strncmp(part, "em", 2) == 0)
            c->sane_max = 60e3;
        p->power[i] = c->id;
        p->energy[i] = -1;
        if (r->energy_status == JM_S_OK) {
            c = channel(m, in, part, domain, "energy", err);
            if (!c)
                return JM_ENOMEM;
            c->kind = JM_CH_COUNTER;
            c->unit = JM_U_J;
            /* Wh and watt-minutes are too coarse for short windows: the power is integrated, this is beside
             * it */
            c->flags = flags | (r->step_j >= 60 ? JM_CHF_MIRROR : 0);
            p->energy[i] = c->id;
        }
        timed = timed || r->refreshed > 0;
    }
    int rc = jm_meter_add_fact(m, err, "plug.class", "indicative: no traceable accuracy, never verified");
    struct jm_channel *c = rc || !p->last.unix_s ? NULL : jm_meter_add_clock(m, in->name, err);
    p->clock = c ? c->id : -1;
    c = rc || !p->last.unix_s || !timed ? NULL : jm_meter_add_age(m, in->name, err);
    p->age = c ? c->id : -1;
    return rc;
}

static int start(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                 struct jm_err *err)
{
    struct plug *p = m->priv;
    const struct conf *conf = in->conf;
    struct jm_clock clock = jm_meter_clock(env);
    int rc = jm_instrument_password(in, p->password, err);
    if (rc < 0)
        return rc;
    p->timeout_ns = in->timeout_ns;
    target(p, in);
    p->user = in->user;
    if (p->model == KASA) {
        snprintf(p->kasa, sizeof p->kasa, "%s", conf->url);
        rc = look_kasa(p, &clock, err);
        if (rc)
            return rc;
    } else {
        struct jm_http_setup setup = {.url = conf->url,
                                      .user = in->user                                ? in->user
                                              : p->model == SHELLY2 && p->password[0] ? "admin"
                                                                                      : NULL,
                                      .password = p->password,
                                      .auth = p->model == TASMOTA || p->model == TAPO ? JM_HTTP_NONE
                                                                                      : JM_HTTP_ASKED,
                                      .tls = &in->tls,
                                      .timeout_ns = in->timeout_ns,
                                      .limit = (size_t)1 << 20};
        rc = jm_http_init(&p->http, &setup, &clock, err);
        if (rc)
            return rc;
    }
    return ask(m, &clock, &p->last, err);
}

static int plug_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                     struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    struct jm_meter *m = jm_meter_alloc(&jm_meter_plug, err);
    struct plug *p = m ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter plug");
    }
    m->raw = env->opening;
    p->model = (enum model)((const struct conf *)in->conf)->model;
    p->http.fd = -1;
    p->clock = p->age = -1;
    jm_http1_init(&p->http.reader, NULL);
    jm_str_init(&p->http.body);
    m->priv = p;
    m->period_ns = JM_NS_PER_S;
    m->deadline_ns = in->timeout_ns;
    int rc = start(m, env, in, err);
    if (!rc)
        rc = channels(m, env, in, tree, err);
    if (rc) {
        plug_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static const struct jm_opt opts[] = {
    {"url", 0, JM_OPT_STR, offsetof(struct conf, url), .arg = "URL",
     .help = "Address of the plug: http://HOST; of a Kasa: HOST or HOST:9999."},
    {"model", 0, JM_OPT_ENUM, offsetof(struct conf, model), .choices = "shelly1|shelly2|tasmota|kasa|tapo",
     .help = "Whose protocol it speaks: Shelly of the first or a later generation, Tasmota, TP-Link Kasa or "
             "Tapo (KLAP, with user and password of the account).",
     .deflt = "shelly1"},
    {NULL}};

static int conf_check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct conf *c = in->conf;
    if (!c->url)
        return jm_err_set(err, JM_EUSAGE, "url is missing; say url: http://HOST");
    bool http = strncmp(c->url, "http://", 7) == 0 || strncmp(c->url, "https://", 8) == 0;
    if (http == (c->model == KASA))
        return jm_err_set(err, JM_EUSAGE,
                          http ? "a Kasa plug speaks no HTTP: say url: HOST"
                               : "url must begin with http:// or https://");
    if (c->model == TAPO && (!in->user || !jm_secret_given(&in->password)))
        return jm_err_set(err, JM_EUSAGE,
                          "a Tapo needs user and password of its account: user: NAME, password_file: FILE");
    return jm_address_check(c->url, err);
}

const struct jm_meter_ops jm_meter_plug = {
    .version = JM_METER_OPS_VERSION,
    .name = "plug",
    .summary = "smart plugs in the local network: Shelly, Tasmota, Kasa, Tapo; indicative",
    .boundary = "wall",
    .needs = "an entry in joulemark.yaml; the plug's local API switched on",
    .traps = "No plug's accuracy can be traced: its figures are indicative, never verified.\n"
             "The key decides the unit: watt-minutes, Wh, kWh, mW. Counters of whole Wh or watt-minutes are "
             "shown beside "
             "the integrated power and never added.\n"
             "Counters start again at power loss, reboot or reset: a decrease is a reset, never a wrap.\n"
             "Tasmota's 42949.672 kWh is a counter that was taken below 0: implausible.\n"
             "A Kasa strip is asked outlet by outlet; none is added to another, and each needs a feed to be "
             "counted.\n"
             "A Tapo is asked by KLAP with user and password of its account; its counter is of today and "
             "starts again at "
             "midnight.",
    .read = plug_read,
    .close = plug_close,
    .opts = opts,
    .conf_size = sizeof(struct conf),
    .conf_check = conf_check,
    .open_conf = plug_open,
    .min_interval_ns = 200 * JM_NS_PER_MS,
    .why_interval = "a plug refreshes about once a second",
};
