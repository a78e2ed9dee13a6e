/* SPDX-License-Identifier: Apache-2.0 */
/* Redfish: BMCs, PDUs and power shelves. What bodies say is wire/redfish.h's; here it becomes channels. */
#include "meter/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/redfish_impl.h"

#include "base/banned.h"

#define COARSE_J                                                                                             \
    3600 /* a counter of larger steps is a cross-check of a long window, no energy of a short one */
#define NODE_MOST 100e3  /* W of one enclosure */
#define PART_MOST 10e3   /* of a board or supply */
#define RACK_MOST 1000e3 /* of power equipment */

/* --- channels
 * -------------------------------------------------------------------------------------------------- */
static const char *channel_name(const struct jm_rf_reading *r)
{
    if (r->kind == JM_RF_COUNTER)
        return "energy";
    if (r->kind == JM_RF_MEAN)
        return r->of == JM_RF_PSU ? "power.output.average" : "power.average";
    if (r->of == JM_RF_PDU && r->scope == JM_RF_DC_OUTPUT)
        return "power.output"; /* of a shelf, at its bus bar */
    if (r->of == JM_RF_PSU)
        return r->scope == JM_RF_DC_OUTPUT                                ? "power.output"
               : r->scope == JM_RF_AC_INPUT || r->scope == JM_RF_DC_INPUT ? "power.input"
                                                                          : "power";
    return "power";
}

/* Where in the tree, and whether its joules are another channel's too: then it is shown and never added. */
static int place(const struct jm_meter_env *env, const struct jm_instrument *in, struct jm_domain_tree *tree,
                 const struct jm_rf_reading *r, const char *part, enum jm_rf_side side, bool first,
                 bool *mirror, struct jm_err *err)
{
    struct jm_instrument *whole = malloc(sizeof *whole); /* parts have places of their own */
    int id;
    if (!whole)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a place");
    *whole = *in;
    whole->at = -1;
    *mirror = true;
    if (r->of == JM_RF_NODE) {
        enum jm_domain_kind deflt = r->scope == JM_RF_AC_INPUT || side == JM_RF_IS_INPUT ? JM_D_INLET_AC
                                    : r->scope == JM_RF_DC_INPUT                         ? JM_D_INLET_DC
                                                                                         : JM_D_NODE;
        *mirror = !first;
        id = jm_instrument_domain(in, env, tree, NULL, deflt, err);
    } else if (r->of == JM_RF_PDU) {
        *mirror = !first || r->scope == JM_RF_DC_OUTPUT;
        id = jm_instrument_domain(in, env, tree, NULL, JM_D_RACK, err);
    } else if (r->of == JM_RF_OUTLET) {
        *mirror = jm_instrument_feed(in, part) == NULL; /* where it leads is not said */
        id = jm_instrument_domain(in, env, tree, part, JM_D_RACK, err);
    } else if (r->of == JM_RF_PSU && r->kind == JM_RF_INSTANT &&
               (r->scope == JM_RF_AC_INPUT || r->scope == JM_RF_DC_INPUT)) {
        *mirror = false;
        id = jm_instrument_domain(whole, env, tree, part, JM_D_PSU, err);
    } else if (r->of >= JM_RF_OUTLET_GROUP && r->of <= JM_RF_PHASE) {
        id = jm_instrument_domain(in, env, tree, NULL, JM_D_RACK, err);
    } else {
        id = jm_instrument_domain(whole, env, tree, NULL, JM_D_NODE, err);
    }
    free(whole);
    if (r->kind == JM_RF_MEAN || (r->kind == JM_RF_COUNTER && r->step >= COARSE_J))
        *mirror = true;
    return id;
}

static int add(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
               struct jm_domain_tree *tree, const struct jm_rf_reading *r, enum jm_rf_side side,
               struct jm_err *err)
{
    char part[64], device[96];
    bool mirror = true, first = true;
    const char *name = channel_name(r);
    jm_instrument_device(in, NULL, device);
    if (r->of == JM_RF_NODE || r->of == JM_RF_PDU)
        first = jm_meter_channel(m, device, name) < 0;
    jm_redfish_part(r, first, part);
    jm_instrument_device(in, part, device);
    for (int k = 2; k < 100 && jm_meter_channel(m, device, name) >= 0; k++) {
        char more[80];
        snprintf(more, sizeof more, "%.60s.%d", part[0] ? part : "more", k);
        jm_instrument_device(in, more, device);
    }
    int domain = place(env, in, tree, r, part[0] ? part : NULL, side, first, &mirror, err);
    if (r->of == JM_RF_PSU && jm_redfish_in_total(m->priv, r))
        mirror = true;
    struct jm_channel *c = domain < 0 ? NULL : jm_meter_add_channel(m, err);
    if (!c)
        return domain < 0 ? domain : JM_ENOMEM;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->device, sizeof c->device, "%s", device);
    snprintf(c->scope, sizeof c->scope, "%s", jm_rf_scope_name((int)r->scope));
    size_t n = strlen(r->source);
    snprintf(c->source, sizeof c->source, "%s%s", n > 60 ? "..." : "", r->source + (n > 60 ? n - 60 : 0));
    c->kind = r->kind == JM_RF_COUNTER ? JM_CH_COUNTER : JM_CH_GAUGE;
    c->unit = r->unit;
    c->scale10 = -3;
    c->sem = r->kind == JM_RF_MEAN ? JM_G_TRAILING_MEAN : JM_G_INSTANT;
    c->window_ns = r->kind == JM_RF_MEAN && r->interval_s > 0 ? (int64_t)(r->interval_s * 1e9) : 0;
    c->period_ns = r->sensing_s > 0 && r->sensing_s < 3600 ? (int64_t)(r->sensing_s * 1e9) : 0;
    c->modulus = r->modulus > 0 ? (uint64_t)llround(r->modulus * 1e3) : 0;
    c->offset_tol = r->unit == JM_U_W ? r->accuracy : NAN;
    c->sane_max = r->of == JM_RF_NODE                           ? NODE_MOST
                  : r->of >= JM_RF_OUTLET && r->of <= JM_RF_PDU ? RACK_MOST
                                                                : PART_MOST;
    c->domain = domain;
    c->flags = mirror ? JM_CHF_MIRROR : 0;
    char key[64];
    int rc = 0;
    snprintf(key, sizeof key, "redfish.%.54s", device);
    if (r->step >= (r->unit == JM_U_W ? 5 : COARSE_J))
        rc =
            jm_meter_add_fact(m, err, key, "%s in steps of %g %s", name, r->step, jm_unit_name((int)r->unit));
    if (!rc && r->synthetic)
        rc = jm_meter_add_fact(m, err, key, "%s is calculated by the service, not sensed", name);
    if (!rc && r->of == JM_RF_NODE && first && r->kind == JM_RF_INSTANT)
        rc = jm_meter_add_fact(m, err, key, "%s",
                               side == JM_RF_IS_INPUT    ? "power agrees with the input of the supplies"
                               : side == JM_RF_IS_OUTPUT ? "power agrees with the output of the supplies"
                               : r->scope == JM_RF_DC_INPUT
                                   ? "power is the direct-current input by its sensor's name"
                                   : "the side of the supplies is not stated");
    return rc;
}

static int by_source(struct jm_meter *m, struct jm_redfish *f, struct jm_rf_set *s,
                     const struct jm_redfish_conf *conf, const struct jm_meter_env *env,
                     const struct jm_instrument *in, struct jm_domain_tree *tree, struct jm_err *err)
{
    struct jm_rf_audit a;
    size_t left_out = 0, refused = 0, absent = 0;
    jm_rf_decide(s);
    jm_rf_dedupe(s);
    jm_redfish_wholes(s);
    bool fed = jm_redfish_fed(s, in);
    f->spot = calloc(s->n ? s->n : 1, sizeof *f->spot);
    f->resource = calloc(s->n ? s->n : 1, sizeof *f->resource);
    if (!f->spot || !f->resource)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu readings", s->n);
    for (size_t i = 0; i < s->n; i++) {
        const struct jm_rf_reading *r = &s->r[i];
        if (r->of == JM_RF_OUTLET && fed) { /* of many outlets those that lead somewhere */
            char part[64];
            jm_redfish_part(r, false, part);
            if (!jm_instrument_feed(in, part))
                continue;
        }
        if (jm_redfish_usable(s, r, conf->parts))
            f->spot[f->n_spots++].what = *r;
        else if (jm_redfish_watchable(s, r, conf->parts))
            f->spot[f->n_spots++] = (struct jm_redfish_spot){.what = *r, .unit = {.open = true}};
        else if (!r->repeat && r->kind != JM_RF_LIMIT && r->status == JM_S_ABSENT)
            absent++;
        else if (!r->repeat && (r->status == JM_S_IMPLAUSIBLE || !r->unit_sure))
            refused++;
    }
    if (!f->n_spots)
        return jm_err_set(
            err, JM_EABSENT,
            "the service tells no power or energy that can be used (%zu values are missing, %zu refused)",
            absent, refused);
    qsort(f->spot, f->n_spots, sizeof *f->spot, jm_redfish_order);
    jm_redfish_cover(f, s, (size_t)conf->poll, &left_out);
    int rc = 0;
    for (size_t p = 0; p < f->n_spots && !rc; p++) {
        const struct jm_rf_reading *r = &f->spot[p].what;
        char chassis[JM_RF_URI];
        enum jm_rf_side side = JM_RF_IS_UNKNOWN;
        if (r->of == JM_RF_NODE) {
            size_t n = jm_redfish_chassis(r->uri);
            snprintf(chassis, sizeof chassis, "%.*s", (int)(n ? n : strlen(r->uri)), r->uri);
            jm_rf_audit(s, chassis, &a);
            side = r->kind == JM_RF_MEAN ? a.mean_is : a.consumed_is;
            if (p == 0 && a.text[0])
                rc = jm_meter_add_fact(m, err, "redfish.check", "%.190s", a.text);
        }
        if (!rc)
            rc = add(m, env, in, tree, r, side, err);
    }
    for (size_t p = 0; p < f->n_spots && !rc; p++) {
        f->spot[p].power = -1;
        for (size_t q = 0; q < f->n_spots && f->spot[p].power < 0; q++)
            if (f->spot[q].what.unit == JM_U_W && f->spot[q].what.kind == JM_RF_INSTANT &&
                strcmp(m->chan[p].device, m->chan[q].device) == 0)
                f->spot[p].power = (int)q;
        char key[64];
        snprintf(key, sizeof key, "redfish.%.54s", m->chan[p].device);
        if (f->spot[p].unit.open)
            rc = jm_meter_add_fact(
                m, err, key, "energy: its unit is not stated; while reading, the power beside it decides");
    }
    if (!rc && left_out)
        rc = jm_meter_add_fact(m, err, "redfish.left_out", "%zu channels: a reading may make %lld requests",
                               left_out, (long long)conf->poll);
    if (!rc && refused)
        rc = jm_meter_add_fact(m, err, "redfish.refused", "%zu values whose unit or size cannot be", refused);
    return rc;
}

/* --- reading
 * -------------------------------------------------------------------------------------------------- */
/* "Sun, 06 Nov 1994 08:49:37 GMT" in Unix seconds. */
static bool http_date(struct jm_span s, int64_t *unix_s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char mon[4], text[40];
    int d, y, h, mi, se;
    if (s.n < 25 || s.n >= sizeof text)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    const char *comma = strchr(text, ',');
    if (!comma || sscanf(comma + 1, "%2d %3s %4d %2d:%2d:%2d", &d, mon, &y, &h, &mi, &se) != 6)
        return false;
    const char *at = strstr(months, mon);
    if (!at || (at - months) % 3 || strlen(mon) != 3 || d < 1 || d > 31 || y < 1970 || y > 9999)
        return false;
    *unix_s = jm_time_unix(y, (int)(at - months) / 3 + 1, d, h, mi, se);
    return true;
}

static uint8_t status_of(int rc)
{
    return rc == JM_EDENIED        ? JM_S_DENIED
           : rc == JM_EABSENT      ? JM_S_ABSENT
           : rc == JM_EUNSUPPORTED ? JM_S_UNSUPPORTED
                                   : JM_S_GAP;
}

static void put(struct jm_reading *out, const struct jm_http *h, const struct jm_rf_reading *r, double max_w)
{
    out->t0 = h->t0;
    out->t1 = h->t1;
    out->status = (uint8_t)r->status;
    out->value = r->status == JM_S_OK ? (int64_t)llround(r->value * 1e3) : 0;
    if (out->status == JM_S_OK && r->unit == JM_U_W && max_w > 0 && r->value > max_w)
        out->status = JM_S_IMPLAUSIBLE;
}

static void ask_one(struct jm_meter *m, size_t resource, struct jm_reading *out, int *rc, int64_t *offset,
                    int64_t *newest)
{
    struct jm_redfish *f = m->priv;
    struct jm_redfish_resource *at = &f->resource[resource];
    struct jm_err why = {0};
    struct jm_span date;
    int64_t s;
    jm_rf_set_clear(&f->set);
    *rc = jm_redfish_get(&f->talk, at->uri, &why);
    const struct jm_http *h = &f->talk.http;
    if (*rc == 0) {
        struct jm_span body = jm_str_span(&h->body);
        *rc = jm_rf_read(&f->set, body, at->uri, &why);
        jm_meter_raw(m, h->t0, h->t1, at->uri, body, *rc ? JM_RAW_BAD : at->told ? 0 : JM_RAW_SHAPE);
        at->told = true;
        if (jm_http1_header(&h->reader, "Date", 0, &date) && http_date(date, &s))
            *offset = s * JM_NS_PER_S + JM_NS_PER_S / 2 - h->real; /* the header cuts its fraction off */
    }
    at->failed = *rc;
    if (*rc == 0)
        jm_rf_dedupe(&f->set);
    for (size_t p = 0; p < f->n_spots; p++) {
        if (f->spot[p].resource != resource)
            continue;
        struct jm_reading *o = &out[p];
        o->channel = (uint32_t)p;
        o->flags = 0;
        o->value = 0;
        o->t0 = h->t0;
        o->t1 = h->t1;
        o->status = *rc ? status_of(*rc) : JM_S_ABSENT;
        for (size_t i = 0; !*rc && i < f->set.n; i++) {
            struct jm_rf_reading *r = &f->set.r[i];
            if (!jm_redfish_same(r, &f->spot[p].what))
                continue;
            r->value *= r->unit_sure ? 1 : f->spot[p].what.factor / r->factor; /* as decided when opened */
            put(o, h, r, m->chan[p].sane_max);
            /* ResetMetrics by somebody: it may be past its old value already */
            if (r->since && f->spot[p].what.since && r->since != f->spot[p].what.since &&
                o->status == JM_S_OK)
                o->status = JM_S_RESET;
            if (r->since)
                f->spot[p].what.since = r->since;
            if (r->time > *newest)
                *newest = r->time;
            break;
        }
    }
}

static size_t redfish_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                           struct jm_reading *out)
{
    struct jm_redfish *f = m->priv;
    int64_t offset = INT64_MIN, newest = 0;
    int rc = 0;
    size_t n = f->n_spots;
    /* No bursts: a BMC refreshes once a second or slower, and asking costs it more. Around an edge of a
     * window (JM_READ_EDGE) all are read. */
    if (set == JM_READ_COUNTER)
        return 0;
    for (size_t i = 0; i < f->n_resources; i++) {
        if (rc != JM_ETIMEOUT && rc != JM_ENET) {
            ask_one(m, i, out, &rc, &offset, &newest);
            continue;
        }
        int64_t now = jm_clock_mono(clock); /* it is gone: the rest would only wait */
        for (size_t p = 0; p < f->n_spots; p++)
            if (f->spot[p].resource == i)
                out[p] =
                    (struct jm_reading){.t0 = now, .t1 = now, .channel = (uint32_t)p, .status = JM_S_GAP};
    }
    jm_redfish_watch(f, out);
    const struct jm_http *h = &f->talk.http;
    if (f->clock >= 0)
        out[n++] = (struct jm_reading){.t0 = h->t0,
                                       .t1 = h->t1,
                                       .channel = (uint32_t)f->clock,
                                       .value = offset == INT64_MIN ? 0 : offset,
                                       .status = offset == INT64_MIN ? JM_S_ABSENT : JM_S_OK};
    if (f->age >= 0) {
        bool known = newest > 0 && offset != INT64_MIN;
        out[n++] = (struct jm_reading){.t0 = h->t0,
                                       .t1 = h->t1,
                                       .channel = (uint32_t)f->age,
                                       .value = known ? h->real + offset - newest : 0,
                                       .status = known ? JM_S_OK : JM_S_ABSENT};
    }
    return n;
}

/* --- open and close
 * -------------------------------------------------------------------------------------------- */
static void redfish_close(struct jm_meter *m)
{
    if (!m)
        return;
    struct jm_redfish *f = m->priv;
    if (f) {
        jm_redfish_logout(&f->talk);
        jm_http_close(&f->talk.http);
        explicit_bzero(&f->talk, sizeof f->talk);
        jm_rf_set_release(&f->set);
        free(f->spot);
        free(f->resource);
        free(f);
    }
    jm_meter_dispose(m);
}

static int begin(struct jm_redfish *f, const struct jm_meter_env *env, const struct jm_instrument *in,
                 struct jm_err *err)
{
    const struct jm_redfish_conf *conf = in->conf;
    struct jm_redfish_talk *t = &f->talk;
    struct jm_clock clock = jm_meter_clock(env);
    int n = jm_instrument_password(in, t->password, err);
    if (n < 0)
        return n;
    t->user = in->user;
    t->login = in->user ? conf->login : JM_REDFISH_NO_LOGIN;
    snprintf(t->sessions, sizeof t->sessions, "/redfish/v1/SessionService/Sessions");
    struct jm_http_setup setup = {.url = conf->url,
                                  .user = in->user,
                                  .password = t->password,
                                  .auth = t->login == JM_REDFISH_BASIC ? JM_HTTP_BASIC : JM_HTTP_NONE,
                                  .tls = &in->tls,
                                  .timeout_ns = in->timeout_ns};
    int rc = jm_http_init(&t->http, &setup, &clock, err);
    return rc ? rc : jm_redfish_login(t, err);
}

/* A simulated service says so in each of its chassis; nothing that it says is a measurement. */
struct maker {
    const struct jm_rf_set *set;
    bool simulated;
};

static void look_at_maker(void *self, const char *uri)
{
    struct maker *k = self;
    (void)uri;
    k->simulated |= strcmp(k->set->make, "JOULEMARK") == 0 && strstr(k->set->product, "SIMULATED") != NULL;
}

static int look(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                struct jm_domain_tree *tree, struct jm_err *err)
{
    struct jm_redfish *f = m->priv;
    const struct jm_redfish_conf *conf = in->conf;
    struct jm_rf_set all;
    char skipped[192];
    int64_t asked = 0;
    struct maker maker = {.set = &all};
    jm_rf_set_init(&all, NULL);
    int rc = begin(f, env, in, err);
    int64_t begun = rc ? 0 : jm_clock_mono(&f->talk.http.clock);
    if (!rc)
        rc = jm_redfish_discover(&f->talk, conf, &all, &asked, skipped, m, look_at_maker, &maker, err);
    int64_t each = asked ? (jm_clock_mono(&f->talk.http.clock) - begun) / asked : 0;
    f->talk.may_relog = true;
    struct jm_err none = {0};
    if (!rc) {
        rc = by_source(m, f, &all, conf, env, in, tree, &none);
        if (rc)
            jm_err_set(err, rc, "%s%s%s", none.text, skipped[0] ? "; the first failure: " : "", skipped);
    }
    m->simulated = maker.simulated;
    for (size_t i = 0; m->simulated && i < m->n_chan; i++)
        m->chan[i].provenance = JM_P_SIMULATED;
    if (!rc)
        rc = jm_meter_add_fact(m, err, "redfish.requests", "%lld to look around, %zu a reading",
                               (long long)asked, f->n_resources);
    if (!rc && skipped[0])
        rc = jm_meter_add_fact(m, err, "redfish.skipped", "%s", skipped);
    struct jm_channel *c = rc ? NULL : jm_meter_add_clock(m, in->name, err);
    f->clock = c ? c->id : -1;
    bool timed = false;
    m->period_ns = 0;
    for (size_t i = 0; i < f->n_spots; i++) {
        const struct jm_rf_reading *r = &f->spot[i].what;
        timed = timed || r->time > 0;
        if (r->sensing_s > 0 && (!m->period_ns || r->sensing_s * 1e9 < (double)m->period_ns))
            m->period_ns = (int64_t)(r->sensing_s * 1e9);
    }
    if (m->period_ns < 250 * JM_NS_PER_MS) /* not stated: a BMC senses once a second or slower */
        m->period_ns = m->period_ns ? 250 * JM_NS_PER_MS : 2 * JM_NS_PER_S;
    if (m->period_ns < 2 * each * (int64_t)f->n_resources) /* the service is left half of its time */
        m->period_ns = 2 * each * (int64_t)f->n_resources;
    m->deadline_ns += 2 * each * (int64_t)f->n_resources; /* several requests a reading */
    c = rc || !timed ? NULL : jm_meter_add_age(m, in->name, err);
    f->age = c ? c->id : -1;
    jm_rf_set_release(&all);
    return rc;
}

static int redfish_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                        struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    struct jm_meter *m = jm_meter_alloc(&jm_meter_redfish, err);
    if (!m)
        return JM_ENOMEM;
    struct jm_redfish *f = calloc(1, sizeof *f);
    if (!f) {
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter redfish");
    }
    f->talk.http.fd = -1;
    f->clock = f->age = -1;
    jm_str_init(&f->talk.http.body);
    jm_http1_init(&f->talk.http.reader, NULL);
    jm_rf_set_init(&f->set, NULL);
    m->priv = f;
    m->raw = env->opening;
    m->deadline_ns = in->timeout_ns;
    int rc = look(m, env, in, tree, err);
    if (rc) {
        redfish_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

#define AT(x) offsetof(struct jm_redfish_conf, x)
static const struct jm_opt opts[] = {
    {"url", 0, JM_OPT_STR, AT(url), .arg = "URL", .help = "Address of the service: https://bmc1."},
    {"login", 0, JM_OPT_ENUM, AT(login), .choices = "session|basic|none",
     .help = "How user and password are used: a session that is ended afterwards, or with each request.",
     .deflt = "session"},
    {"parts", 0, JM_OPT_ENUM, AT(parts), .choices = "main|node|all",
     .help =
         "What is read: the whole and its supplies, GPUs and CPUs; the whole alone; or all that says power.",
     .deflt = "main"},
    {"look_requests", 0, JM_OPT_INT, AT(requests), 1, 20000, .arg = "N",
     .help = "Most requests while looking around.", .deflt = "800"},
    {"read_requests", 0, JM_OPT_INT, AT(poll), 1, 500, .arg = "N", .help = "Most requests a reading.",
     .deflt = "32"},
    {NULL}};

static void conf_init(void *conf)
{
    *(struct jm_redfish_conf *)conf = (struct jm_redfish_conf){.requests = 800, .poll = 32};
}

static int conf_check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct jm_redfish_conf *c = in->conf;
    if (!c->url)
        return jm_err_set(err, JM_EUSAGE, "url is missing; say url: https://HOST");
    if (strncmp(c->url, "https://", 8) != 0 && strncmp(c->url, "http://", 7) != 0)
        return jm_err_set(err, JM_EUSAGE, "url must begin with https:// or http://");
    return jm_address_check(c->url, err);
}

const struct jm_meter_ops jm_meter_redfish = {
    .version = JM_METER_OPS_VERSION,
    .name = "redfish",
    .summary = "BMCs, PDUs and power shelves by Redfish: node, supplies, GPUs, outlets",
    .boundary = "wall",
    .needs = "an entry in joulemark.yaml with a user that may log in and read (role ReadOnly)",
    .traps = "PowerConsumedWatts and PowerMetrics can be different quantities (AC input and DC output): "
             "compared with the "
             "supplies at opening, and the fact redfish.check says what was found.\n"
             "Missing values come as null, \"N/A\", \"0\" or 65535: they are absent, never 0.\n"
             "One sensor shows up in many resources: it is read once, by its DataSourceUri.\n"
             "Telemetry reports mix J and mJ: a unit is taken where another reading of the same counter "
             "confirms it, "
             "else when two stretches in a row agree with the power beside it; until then the counter has no "
             "value. A "
             "stated unit that three stretches contradict is a conflict.\n"
             "Boards of GPUs and processors are shown and never added to what other meters read of them.\n"
             "A BMC's clock can be years wrong: readings have this host's stamps, and clock.offset shows the "
             "BMC's.",
    .read = redfish_read,
    .close = redfish_close,
    .opts = opts,
    .conf_size = sizeof(struct jm_redfish_conf),
    .conf_init = conf_init,
    .conf_check = conf_check,
    .open_conf = redfish_open,
    .min_interval_ns = 250 * JM_NS_PER_MS,
    .why_interval = "no BMC senses faster, and each request costs it time",
};
