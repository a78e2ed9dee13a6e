/* SPDX-License-Identifier: Apache-2.0 */
/* dcgm-exporter, and the exporters of other accelerators whose metrics the table of wire/promdev.h knows:
 * their /metrics text over HTTP. What an exporter shows it has collected up to its own interval ago, and says
 * not when. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "meter/dcgm.h"
#include "meter/http.h"
#include "meter/registry.h"
#include "wire/prom.h"

#include "base/banned.h"

#define COLLECT (30 * JM_NS_PER_S) /* dcgm-exporter --collect-interval */
#define SERIES  2048

struct conf {
    const char *url;
    int64_t collect_ns;
};

struct spot {                /* one channel */
    char name[32], key[200]; /* which quantity of what */
    enum jm_domain_kind domain;
    int text10, scale10;
    bool counter;
    int64_t last_t;
    struct jm_reading now; /* of this scrape */
    bool seen;
};

struct exporter {
    struct jm_http http;
    char password[JM_SECRET_MAX], base[280], target[200];
    int64_t collect_ns;
    struct spot *spot;
    size_t n;
    bool told;
    char first[96];                     /* metric that nobody knows */
    size_t unknown, repeats, simulated; /* series; of MIG instances, cores and pods; of simulated GPUs */
    bool dcgm;                          /* it serves DCGM's fields */
};

/* ---- one answer */

static bool wanted(const struct jm_promdev_quantity *q)
{
    return (q->domain == JM_D_GPU || q->domain == JM_D_CPU || q->domain == JM_D_SYSIO ||
            q->domain == JM_D_MODULE || q->domain == JM_D_NVSWITCH) &&
           q->kind.provenance != JM_P_ESTIMATED;
}

static struct spot *find(struct exporter *x, const struct jm_promdev_quantity *q)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->spot[i].domain == q->domain && strcmp(x->spot[i].key, q->key) == 0 &&
            strcmp(x->spot[i].name, q->kind.name) == 0)
            return &x->spot[i];
    return NULL;
}

/* The instances of a GPU show its counter, collected one after the other: the highest is the latest, so that
 * it does not fall when their order changes. Of a gauge the first counts. */
static void take(struct exporter *x, struct spot *p, const struct jm_prom_sample *s,
                 const struct jm_channel *c)
{
    int64_t v, unix_ns = x->http.real, mono = (x->http.t0 + x->http.t1) / 2;
    struct jm_reading r = {.t0 = x->http.t0, .t1 = x->http.t1, .channel = (uint32_t)(p - x->spot)};
    enum jm_status st = jm_dev_native(jm_prom_value_text(s), p->text10, p->scale10, &v);
    if (st == JM_S_OK && c->kind == JM_CH_GAUGE) {
        double w = jm_channel_value(c, v);
        if (w <= 0 || (c->sane_max > 0 && w > c->sane_max))
            st = JM_S_IMPLAUSIBLE;
    }
    if (st == JM_S_OK && s->has_time) { /* ms in the text format, s in OpenMetrics */
        double ns = s->time * (s->time < 1e11 ? 1e9 : 1e6);
        int64_t t = ns > 0 && ns < 9e18 ? mono - (unix_ns - (int64_t)ns) : mono;
        st = t < mono - 3 * x->collect_ns ? JM_S_STALE : st;
        if (st == JM_S_OK)
            r.t0 = r.t1 = t < r.t1 ? t : r.t1;
    }
    r.status = (uint8_t)st;
    r.value = st == JM_S_OK ? v : 0;
    x->repeats += p->seen;
    bool better = p->counter && st == JM_S_OK && (p->now.status != JM_S_OK || v > p->now.value);
    if (!p->seen || better)
        p->now = r;
    p->seen = true;
}

static int parse(struct exporter *x, struct jm_meter *m,
                 int (*on)(void *self, const struct jm_promdev_quantity *q, const struct jm_prom_sample *s),
                 void *self, struct jm_err *err)
{
    struct jm_prom prom;
    struct jm_prom_sample s;
    struct jm_promdev_quantity q;
    struct jm_span in = jm_str_span(&x->http.body);
    int rc;
    x->unknown = x->repeats = 0;
    jm_prom_init(&prom, NULL);
    while ((rc = jm_prom_next(&prom, &in, true, &s, err)) == 1) {
        struct jm_prom_series series = jm_promdev_series(&s);
        x->dcgm = x->dcgm || jm_span_starts(s.name, JM_SPAN("DCGM_"));
        if (!jm_promdev_describe(&series, 0, &q) || !wanted(&q)) {
            if (!x->unknown++)
                snprintf(x->first, sizeof x->first, "%.*s", s.name.n < 90 ? (int)s.name.n : 90, s.name.p);
            continue;
        }
        if (on && (rc = on(self, &q, &s)) < 0)
            break;
        struct spot *p = find(x, &q);
        if (p)
            take(x, p, &s, &m->chan[p - x->spot]);
    }
    if (rc == 0 && !prom.samples && prom.bad_lines)
        rc = jm_err_set(err, JM_EUNSUPPORTED, "what it serves is no metrics text");
    jm_prom_release(&prom);
    return rc;
}

/* A scrape into the spots. on: told of each series that counts. */
static int scrape(struct jm_meter *m,
                  int (*on)(void *self, const struct jm_promdev_quantity *q, const struct jm_prom_sample *s),
                  void *self, struct jm_err *err)
{
    struct exporter *x = m->priv;
    struct jm_http_field accept = {"Accept", "text/plain;version=0.0.4"};
    char why[80];
    int rc = jm_http_ask(&x->http, "GET", x->target, &accept, 1, (struct jm_span){NULL, 0}, err);
    if (rc)
        return rc;
    if (x->http.status != 200)
        return jm_err_set(err,
                          x->http.status == 401 || x->http.status == 403   ? JM_EDENIED
                          : x->http.status == 404 || x->http.status == 410 ? JM_EABSENT
                                                                           : JM_EUNSUPPORTED,
                          "the exporter at %s%s %s", x->base, x->target, jm_http_why(x->http.status, why));
    for (size_t i = 0; i < x->n; i++)
        x->spot[i].seen = false;
    rc = parse(x, m, on, self, err);
    jm_meter_raw(m, x->http.t0, x->http.t1, x->target, jm_str_span(&x->http.body),
                 rc         ? JM_RAW_BAD
                 : !x->told ? JM_RAW_SHAPE
                            : 0);
    x->told = true;
    return rc;
}

static uint8_t status_of(int rc)
{
    return rc == JM_EDENIED ? JM_S_DENIED : rc == JM_EABSENT ? JM_S_ABSENT : JM_S_GAP;
}

static size_t exporter_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                            struct jm_reading *out)
{
    struct exporter *x = m->priv;
    struct jm_err why = {0};
    size_t n = 0;
    if (set == JM_READ_COUNTER)
        return 0; /* no bursts of requests; around an edge of a window (JM_READ_EDGE) all are read */
    int64_t t0 = jm_clock_mono(clock);
    int rc = scrape(m, NULL, NULL, &why);
    int64_t t1 = jm_clock_mono(clock);
    for (size_t i = 0; i < x->n; i++) {
        struct spot *p = &x->spot[i];
        struct jm_reading r = {.t0 = t0, .t1 = t1, .channel = (uint32_t)i};
        r.status = rc ? status_of(rc) : JM_S_ABSENT; /* a series that is not there any more */
        if (!rc && p->seen)
            r = p->now;
        if (r.status == JM_S_OK && r.t1 <= p->last_t)
            continue; /* the same as before, by its own stamp */
        p->last_t = r.t1;
        out[n++] = r;
    }
    return n;
}

/* ---- opening */

static void exporter_close(struct jm_meter *m)
{
    struct exporter *x = m ? m->priv : NULL;
    if (x) {
        jm_http_close(&x->http);
        free(x->spot);
        explicit_bzero(x, sizeof *x);
        free(x);
    }
    jm_meter_dispose(m);
}

struct builder {
    struct jm_meter *m;
    const struct jm_instrument *in;
    struct jm_domain_tree *tree;
    int node;
    size_t known; /* domains of other meters */
    struct jm_err *err;
};

static int add(void *self, const struct jm_promdev_quantity *found, const struct jm_prom_sample *s)
{
    struct builder *b = self;
    struct exporter *x = b->m->priv;
    struct jm_promdev_quantity q = *found;
    struct jm_prom_series series = jm_promdev_series(s);
    struct jm_span v;
    int64_t native, ordinal = -1;
    bool shared;
    if (find(x, &q))
        return 0;
    enum jm_status st = jm_dev_native(jm_prom_value_text(s), q.kind.text10, q.kind.scale10, &native);
    if (st == JM_S_UNSUPPORTED || st == JM_S_DENIED)
        return 0;
    if (q.kind.kind == JM_CH_GAUGE && q.field == 157 && (st != JM_S_OK || native <= 0))
        return 0; /* what a part without it shows */
    if (x->n == SERIES)
        return jm_err_set(b->err, JM_ELIMIT, "it serves more than %d quantities of devices", SERIES);
    if (q.domain == JM_D_GPU && jm_promdev_label(&series, JM_SPAN("gpu"), &v))
        ordinal = jm_num_i64(v, &ordinal) == 0 && ordinal >= 0 && ordinal < 1024 ? ordinal : -1;
    int domain = jm_dcgm_place(b->tree, b->node, b->known, &q, (int)ordinal, &shared, b->err);
    struct jm_channel *c = domain < 0 ? NULL : jm_meter_add_channel(b->m, b->err);
    if (!c)
        return domain < 0 ? domain : JM_ENOMEM;
    x->spot[x->n] = (struct spot){.domain = q.domain,
                                  .text10 = q.kind.text10,
                                  .scale10 = q.kind.scale10,
                                  .counter = q.kind.kind == JM_CH_COUNTER};
    snprintf(x->spot[x->n].name, sizeof x->spot[x->n].name, "%s", q.kind.name);
    snprintf(x->spot[x->n].key, sizeof x->spot[x->n].key, "%s", q.key);
    x->n++;
    bool simulated = jm_span_find(q.model, JM_SPAN("(SIMULATED)")) >= 0;
    x->simulated += simulated;
    jm_dev_sampled(&q.kind, x->collect_ns);
    snprintf(c->name, sizeof c->name, "%s", q.kind.name);
    jm_instrument_device(b->in, q.key, c->device);
    snprintf(c->source, sizeof c->source, "%.*s", s->name.n < 60 ? (int)s->name.n : 60, s->name.p);
    snprintf(c->scope, sizeof c->scope, "%s",
             q.domain != JM_D_GPU                     ? ""
             : b->tree->d[domain].kind == JM_D_MODULE ? "module"
                                                      : "gpu");
    c->kind = q.kind.kind;
    c->unit = q.kind.unit;
    c->scale10 = q.kind.scale10;
    c->sem = q.kind.sem;
    c->window_ns = q.kind.window_ns;
    c->period_ns = q.kind.period_ns;
    c->sane_max = q.kind.sane_max > 0 ? q.kind.sane_max : 20e3;
    c->provenance = simulated ? JM_P_SIMULATED : q.kind.provenance;
    c->flags = q.kind.flags | (shared ? JM_CHF_MIRROR : 0);
    if (q.domain == JM_D_GPU && c->kind == JM_CH_GAUGE && c->provenance != JM_P_DECLARED)
        c->flags |= JM_CHF_EDGE;
    c->domain = domain;
    return 0;
}

static int start(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                 struct jm_domain_tree *tree, struct jm_err *err)
{
    struct exporter *x = m->priv;
    struct jm_clock clock = jm_meter_clock(env);
    struct jm_instrument whole = *in; /* its GPUs have places of their own */
    whole.at = -1;
    int rc = jm_instrument_password(in, x->password, err);
    if (rc < 0)
        return rc;
    struct jm_http_setup setup = {.url = x->base,
                                  .user = in->user,
                                  .password = x->password,
                                  .auth = in->user ? JM_HTTP_BASIC : JM_HTTP_NONE,
                                  .tls = &in->tls,
                                  .timeout_ns = in->timeout_ns};
    rc = jm_http_init(&x->http, &setup, &clock, err);
    struct builder b = {m, in, tree, -1, tree->n, err};
    if (!rc)
        b.node = rc = jm_instrument_domain(&whole, env, tree, NULL, JM_D_NODE, err);
    if (rc >= 0)
        rc = scrape(m, add, &b, err);
    if (rc || x->n)
        return rc < 0 ? rc : 0;
    if (x->dcgm)
        return jm_err_set(
            err, JM_EUNSUPPORTED,
            "%s%s serves DCGM's fields, but none of energy or power; put "
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION and DCGM_FI_DEV_POWER_USAGE into the counters "
            "file of dcgm-exporter (-f)",
            x->base, x->target);
    return jm_err_set(
        err, JM_EUNSUPPORTED,
        "%s%s serves no energy or power of an accelerator that is known%s%s: is it an exporter?", x->base,
        x->target, x->unknown ? "; the first metric is " : "", x->unknown ? x->first : "");
}

static int facts(struct jm_meter *m, struct jm_err *err)
{
    const struct exporter *x = m->priv;
    int rc = jm_meter_add_fact(m, err, "exporter.collect",
                               "%g s: as old as that a value may be, and it does not say",
                               (double)x->collect_ns / 1e9);
    if (!rc && x->repeats)
        rc = jm_meter_add_fact(
            m, err, "exporter.repeats",
            "%zu series show a device again (MIG instances, cores, pods): each counts once", x->repeats);
    return rc;
}

/* "http://HOST:9400", or with a path of its own. */
static void address(struct exporter *x, const char *url)
{
    const char *host = strstr(url, "://"), *path = host ? strchr(host + 3, '/') : NULL;
    snprintf(x->base, sizeof x->base, "%.*s", path ? (int)(path - url) : (int)strlen(url), url);
    snprintf(x->target, sizeof x->target, "%s", path && path[1] ? path : "/metrics");
}

static int exporter_open(const struct jm_meter_env *env, const struct jm_instrument *in,
                         struct jm_domain_tree *tree, struct jm_meter **out, struct jm_err *err)
{
    const struct conf *conf = in->conf;
    struct jm_meter *m = jm_meter_alloc(&jm_meter_dcgm_exporter, err);
    struct exporter *x = m ? calloc(1, sizeof *x) : NULL;
    if (x)
        x->spot = calloc(SERIES, sizeof *x->spot);
    if (!x || !x->spot) {
        free(x);
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter dcgm-exporter");
    }
    x->http.fd = -1;
    jm_http1_init(&x->http.reader, NULL);
    jm_str_init(&x->http.body);
    x->collect_ns = conf->collect_ns;
    address(x, conf->url);
    m->priv = x;
    m->period_ns = x->collect_ns < JM_NS_PER_S ? x->collect_ns : JM_NS_PER_S;
    m->deadline_ns = in->timeout_ns;
    int rc = start(m, env, in, tree, err);
    if (!rc)
        rc = facts(m, err);
    if (rc) {
        exporter_close(m);
        return rc;
    }
    m->simulated = x->simulated == x->n;
    *out = m;
    return 0;
}

static void conf_init(void *conf)
{
    ((struct conf *)conf)->collect_ns = COLLECT;
}

static int conf_check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct conf *c = in->conf;
    if (!c->url)
        return jm_err_set(err, JM_EUSAGE, "url is missing; say url: http://HOST:9400");
    if (strncmp(c->url, "http://", 7) != 0 && strncmp(c->url, "https://", 8) != 0)
        return jm_err_set(
            err, JM_EUSAGE,
            "url must begin with http:// or https:// (a host engine's address belongs to `meter: "
            "dcgm`)");
    if (strlen(c->url) > 270)
        return jm_err_set(err, JM_EUSAGE, "url is too long");
    return jm_address_check(c->url, err);
}

static const struct jm_opt opts[] = {
    {"url", 0, JM_OPT_STR, offsetof(struct conf, url), .arg = "URL",
     .help =
         "Where the exporter serves its metrics: http://HOST:9400; the path is /metrics where none is said."},
    {"collect", 0, JM_OPT_DURATION, offsetof(struct conf, collect_ns), .arg = "TIME", .min = 0.1e9,
     .max = 3600e9,
     .help = "How often the exporter itself looks at the devices (dcgm-exporter --collect-interval): what it "
             "shows may be as old as that.",
     .deflt = "30s"},
    {NULL}};

const struct jm_meter_ops jm_meter_dcgm_exporter = {
    .version = JM_METER_OPS_VERSION,
    .name = "dcgm-exporter",
    .summary = "GPUs of a host by the metrics of dcgm-exporter, or AMD's, Gaudi's, nvidia-smi's exporter",
    .boundary = "device",
    .needs = "an entry in joulemark.yaml with the exporter's URL",
    .traps =
        "dcgm-exporter collects every 30 s (--collect-interval) and does not say when: a value may be as old "
        "as that, which bounds the edges of a window; asked every second, a counter shows when it was "
        "renewed.\n"
        "A mean of the last second that is looked at every 30 s has seen a thirtieth of the time: the "
        "counter "
        "is the better one, and where it lacks, the power has a sampling term.\n"
        "MIG instances, pods that share a GPU, and CPU cores repeat their device: the highest counter and "
        "the "
        "first gauge count, once.\n"
        "Labels change with pods and scrapers; a device is its UUID.\n"
        "Blanks (2^63 - 16, 2^47), NaN and series that vanish are missing, never 0.\n"
        "Metric names changed with DCGM 4.6 (BOARD_POWER_WATTS for POWER_USAGE): the table has both.",
    .read = exporter_read,
    .close = exporter_close,
    .opts = opts,
    .conf_size = sizeof(struct conf),
    .conf_init = conf_init,
    .conf_check = conf_check,
    .open_conf = exporter_open,
    .min_interval_ns = 200 * JM_NS_PER_MS,
    .why_interval = "an exporter collects every second at most, mostly every 30 s",
};
