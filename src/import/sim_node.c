/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a simulated node, lines of JSON as joulemark-sim node --minutes writes them (docs/sim.md): a
 * first line that says what it is, the clock, domains, channels, a window, blocks of readings, requests, a
 * last line. Everything in it is marked simulated. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"

#include "base/banned.h"

static const char kind[] = "sim-node";
#define SCHEMA   "joulemark-sim.readings/1"
#define MOST     4096 /* domains, channels */
#define PER_LINE 65536

struct state {
    struct jm_domain_tree tree;
    struct jm_run_meter meter[16];
    int meter_id[16];
    int meters, channels, windows;
    bool domains_put, ended;
    struct jm_reading r[1024];
};

static int sniff(const struct jm_probe *p)
{
    return jm_probe_is(p, "schema", SCHEMA) ? 100 : 0;
}

/* ---- members of a line */
static bool text(struct jm_build *b, const struct jm_jtoken *doc, const char *name, char *out, size_t n)
{
    struct jm_jtoken v;
    return jm_jmember(b->f, doc, name, &v) && v.type == JM_J_STRING && jm_jtext(&v, out, n);
}

static bool whole(struct jm_build *b, const struct jm_jtoken *doc, const char *name, int64_t lo, int64_t hi,
                  int64_t *out)
{
    struct jm_jtoken v;
    int64_t x;
    if (!jm_jmember(b->f, doc, name, &v) || !jm_jint(&v, &x) || x < lo || x > hi)
        return false;
    *out = x;
    return true;
}

static bool has(struct jm_build *b, const struct jm_jtoken *doc, const char *name)
{
    struct jm_jtoken v;
    return jm_jmember(b->f, doc, name, &v);
}

static void bad(struct jm_build *b, const struct jm_jtoken *doc, const char *what)
{
    char where[64];
    jm_build_fail(b, "%s, %s: %s", b->f->path, jm_ifile_where(b->f, doc->raw.p, where), what);
}

/* ---- lines */
static void head(struct jm_build *b, const struct jm_jtoken *doc)
{
    static const char *const facts[] = {"seed", "gpus", "load", "psus", "grade"};
    char host[96], schema[64];
    if (!text(b, doc, "schema", schema, sizeof schema) || strcmp(schema, SCHEMA) != 0) {
        bad(b, doc, "the first line does not say \"schema\": \"" SCHEMA "\"");
        return;
    }
    jm_build_env(b, "endpoint.simulated", "1");
    if (text(b, doc, "host", host, sizeof host))
        jm_build_env(b, "host.name", "%s", host);
    if (text(b, doc, "driver", host, sizeof host))
        jm_build_env(b, "nvml.driver", "%s", host);
    struct jm_jtoken bound;
    if (jm_jmember(b->f, doc, "clock_bound_s", &bound)) {
        jm_build_env_of(b, "clock.error.start.bound_s", &bound);
        jm_build_env_of(b, "clock.error.end.bound_s", &bound);
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        struct jm_jtoken v;
        char key[64];
        snprintf(key, sizeof key, "sim.%s", facts[i]);
        if (jm_jmember(b->f, doc, facts[i], &v))
            jm_build_env_of(b, key, &v);
    }
}

static void clock_pair(struct jm_build *b, const struct jm_jtoken *v)
{
    struct jm_jiter it;
    struct jm_jtoken x;
    int64_t t[3];
    int n = 0;
    jm_jiter_init(&it, b->f, v);
    while (n < 3 && jm_jiter_next(&it, NULL, &x, b->err) > 0 && jm_jint(&x, &t[n]))
        n++;
    if (n != 3) {
        bad(b, v, "a clock is three whole numbers: monotonic, UTC and boot time in ns");
        return;
    }
    struct jm_clock_pair pair = {t[0], t[0], t[1], t[2]};
    b->rc = jm_run_put_clock_pair(b->w, &pair, b->err);
}

static void domain(struct jm_build *b, struct state *s, const struct jm_jtoken *doc)
{
    int64_t id, parent;
    char name[32], key[96], label[96] = "";
    int k;
    if (!whole(b, doc, "domain", 0, MOST, &id) || !whole(b, doc, "parent", -1, id - 1, &parent) ||
        !text(b, doc, "kind", name, sizeof name) || !text(b, doc, "key", key, sizeof key) ||
        (k = jm_domain_kind_parse(jm_span_of(name))) < 0) {
        bad(b, doc, "a domain has its number, a parent before it, a kind and a key");
        return;
    }
    text(b, doc, "label", label, sizeof label);
    if (s->domains_put) {
        bad(b, doc, "a domain stands behind a channel: all domains come before the first channel");
        return;
    }
    int got = jm_domain_add(&s->tree, (int)parent, (enum jm_domain_kind)k, key, label, b->err);
    if (got < 0)
        b->rc = got;
    else if (got != id)
        bad(b, doc, "this domain is there already, or its number is not the next one");
}

static int meter_of(struct jm_build *b, struct state *s, const char *name, const char *instance,
                    int64_t period)
{
    for (int i = 0; i < s->meters; i++)
        if (strcmp(s->meter[i].name, name) == 0)
            return s->meter_id[i];
    if (s->meters == 16)
        return -1;
    struct jm_run_meter *m = &s->meter[s->meters];
    *m = (struct jm_run_meter){.state = "ok", .period_ns = period, .simulated = true};
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->instance, sizeof m->instance, "%s", instance);
    int id = jm_run_put_meter(b->w, m, b->err);
    if (id < 0)
        b->rc = id;
    else
        s->meter_id[s->meters++] = id;
    return id;
}

/* What is known about the instrument beyond the channel: how late it is, and its clock. */
static void facts(struct jm_build *b, const struct jm_jtoken *doc, int channel)
{
    static const char *const names[] = {"instrument", "lag_ns", "clock_offset_ns", "clock_ppm", "quantum"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct jm_jtoken v;
        char key[64];
        snprintf(key, sizeof key, "sim.channel.%d.%s", channel, names[i]);
        if (jm_jmember(b->f, doc, names[i], &v))
            jm_build_env_of(b, key, &v);
    }
}

static void channel(struct jm_build *b, struct state *s, const struct jm_jtoken *doc)
{
    struct jm_channel c = {.provenance = JM_P_SIMULATED};
    char type[16], unit[16], sem[24] = "", meter[32];
    int64_t id, dom, scale10 = 0, scale2 = 0, modulus = 0, poll = 0;
    int k, u, g = JM_G_INSTANT;
    if (!whole(b, doc, "channel", s->channels, s->channels, &id) ||
        !whole(b, doc, "domain", 0, (int64_t)s->tree.n - 1, &dom) ||
        !text(b, doc, "meter", meter, sizeof meter) || !text(b, doc, "name", c.name, sizeof c.name) ||
        !text(b, doc, "device", c.device, sizeof c.device) || !text(b, doc, "kind", type, sizeof type) ||
        !text(b, doc, "unit", unit, sizeof unit) || (k = jm_channel_kind_parse(jm_span_of(type))) < 0 ||
        (u = jm_unit_parse(jm_span_of(unit))) < 0 || s->channels == MOST ||
        (text(b, doc, "semantics", sem, sizeof sem) && (g = jm_gauge_sem_parse(jm_span_of(sem))) < 0)) {
        bad(b, doc,
            "a channel has the next number, a domain that was named before, meter, name, device, kind, unit "
            "and semantics");
        return;
    }
    if ((has(b, doc, "scale10") && !whole(b, doc, "scale10", -18, 18, &scale10)) ||
        (has(b, doc, "scale2") && !whole(b, doc, "scale2", -62, 62, &scale2)) ||
        (has(b, doc, "modulus") && !whole(b, doc, "modulus", 0, INT64_MAX, &modulus))) {
        bad(b, doc, "the scale or the modulus of this channel is none");
        return;
    }
    whole(b, doc, "poll_ns", 0, INT64_MAX, &poll);
    whole(b, doc, "period_ns", 0, INT64_MAX, &c.period_ns);
    whole(b, doc, "window_ns", 0, INT64_MAX, &c.window_ns);
    text(b, doc, "source", c.source, sizeof c.source);
    struct jm_jtoken v;
    c.kind = (enum jm_channel_kind)k;
    c.unit = (enum jm_unit)u;
    c.sem = (enum jm_gauge_sem)g;
    c.scale10 = (int)scale10;
    c.scale2 = (int)scale2;
    c.modulus = (uint64_t)modulus;
    c.domain = (int)dom;
    c.gain_tol = jm_jpath_num(b->f, doc, "gain_tol");
    c.offset_tol = jm_jpath_num(b->f, doc, "offset_tol");
    c.flags = jm_jmember(b->f, doc, "stamped", &v) && v.type == JM_J_TRUE ? JM_CHF_STAMPED : 0;
    c.flags |= c.unit == JM_U_J || c.unit == JM_U_W ? JM_CHF_EDGE : 0;
    if (!s->domains_put)
        b->rc = jm_run_put_domains(b->w, &s->tree, b->err);
    s->domains_put = true;
    char instance[sizeof c.device];
    /* "pdu/outlet 1" is of the instrument pdu; a GPU or a package is none of its own */
    bool own = strcmp(c.device, s->tree.d[dom].key) == 0;
    snprintf(instance, sizeof instance, "%.*s", own ? 0 : (int)strcspn(c.device, "/"), c.device);
    if (!b->rc)
        c.meter = meter_of(b, s, meter, instance, poll);
    if (!b->rc && c.meter < 0)
        bad(b, doc, "there are more than 16 meters");
    int run_id;
    if (!b->rc)
        b->rc = jm_run_put_channel(b->w, &c, &run_id, b->err);
    if (!b->rc)
        facts(b, doc, s->channels++);
}

static void window(struct jm_build *b, struct state *s, const struct jm_jtoken *doc)
{
    struct jm_window w = {.id = s->windows};
    char role[16];
    int r;
    int64_t t1;
    if (!text(b, doc, "window", w.name, sizeof w.name) || !text(b, doc, "role", role, sizeof role) ||
        (r = jm_role_parse(jm_span_of(role))) < 0 || !whole(b, doc, "t0", 0, INT64_MAX, &w.t0) ||
        !whole(b, doc, "t1", w.t0 + 1, INT64_MAX, &t1)) {
        bad(b, doc, "a window has a name, a role and times t0 and t1 after it");
        return;
    }
    w.role = (enum jm_role)r;
    b->rc = jm_run_open_window(b->w, &w, b->err);
    if (!b->rc)
        b->rc = jm_run_close_window(b->w, s->windows++, t1, b->err);
}

static void readings(struct jm_build *b, struct state *s, const struct jm_jtoken *doc)
{
    struct jm_jiter it;
    struct jm_jtoken v, x;
    int64_t id, t[3] = {0};
    size_t n = 0, k = 0;
    int rc;
    if (!whole(b, doc, "readings", 0, s->channels - 1, &id) || !jm_jmember(b->f, doc, "v", &v)) {
        bad(b, doc, "readings have a channel that was named before, and an array v");
        return;
    }
    jm_jiter_init(&it, b->f, &v);
    while ((rc = jm_jiter_next(&it, NULL, &x, b->err)) > 0 && !b->rc) {
        if (!jm_jint(&x, &t[k])) {
            bad(b, &x, "a reading is three whole numbers: times before and after in ns, and the value");
            return;
        }
        if (++k < 3)
            continue;
        k = 0;
        if (t[1] < t[0]) {
            bad(b, &x, "the time after this reading lies before the time before it");
            return;
        }
        s->r[n++] = (struct jm_reading){.t0 = t[0], .t1 = t[1], .value = t[2], .channel = (uint32_t)id};
        if (n == sizeof s->r / sizeof *s->r) {
            b->rc = jm_run_put_readings(b->w, s->r, n, b->err);
            n = 0;
        }
    }
    if (rc < 0)
        b->rc = b->rc ? b->rc : rc;
    else if (k)
        bad(b, &v, "the last reading lacks numbers");
    if (!b->rc && n)
        b->rc = jm_run_put_readings(b->w, s->r, n, b->err);
}

static void request(struct jm_build *b, const struct jm_jtoken *doc, const struct jm_jtoken *times)
{
    struct jm_request q;
    struct jm_jiter it;
    struct jm_jtoken x;
    int64_t t[3];
    int n = 0;
    jm_request_init(&q);
    jm_jiter_init(&it, b->f, times);
    while (n < 3 && jm_jiter_next(&it, NULL, &x, b->err) > 0 && jm_jint(&x, &t[n]))
        n++;
    if (n != 3 || t[1] < t[0] || t[2] < t[1] || !whole(b, doc, "prompt", 0, INT32_MAX, &q.prompt_tokens) ||
        !whole(b, doc, "output", 1, INT32_MAX, &q.output_tokens)) {
        bad(b, doc, "a request has the times of arrival, first and last token in order, and its tokens");
        return;
    }
    q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = t[0];
    q.t[JM_T_FIRST_TOKEN] = q.t[JM_T_FIRST_EVENT] = t[1];
    q.t[JM_T_LAST_TOKEN] = q.t[JM_T_DONE] = q.t[JM_T_CLOSED] = t[2];
    q.end = JM_END_OK;
    q.token_source = JM_TOK_IMPORTED;
    q.stream = 1;
    jm_build_request(b, &q);
}

static void line(struct jm_build *b, struct state *s, const struct jm_jtoken *doc)
{
    struct jm_jtoken v;
    if (doc->type != JM_J_OBJECT)
        bad(b, doc, "every line is an object");
    else if (has(b, doc, "readings"))
        readings(b, s, doc);
    else if (jm_jmember(b->f, doc, "request", &v))
        request(b, doc, &v);
    else if (jm_jmember(b->f, doc, "clock", &v))
        clock_pair(b, &v);
    else if (has(b, doc, "channel"))
        channel(b, s, doc);
    else if (has(b, doc, "domain"))
        domain(b, s, doc);
    else if (has(b, doc, "window"))
        window(b, s, doc);
    else if (has(b, doc, "end"))
        s->ended = true;
    /* other lines are of a later kind */
}

static int take(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_jdocs d;
    struct jm_jtoken doc;
    struct jm_build b;
    int more, rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    struct state *s = calloc(1, sizeof *s);
    if (!s) {
        jm_ifile_close(&f);
        return jm_err_set(err, JM_ENOMEM, "out of memory");
    }
    jm_domain_tree_init(&s->tree);
    jm_jdocs_init(&d, &f);
    int64_t real = f.mtime_ns;
    more = jm_jdocs_next(&d, &doc, err);
    if (more <= 0)
        rc = more ? more : jm_err_set(err, JM_EPARSE, "%s holds nothing but blanks", path);
    if (!rc) {
        struct jm_jtoken v;
        if (jm_jmember(&f, &doc, "real_ns", &v))
            jm_jint(&v, &real);
        jm_build_begin(&b, kind, &f, o, out, real, err);
        if (!b.rc)
            head(&b, &doc);
        while (!b.rc && (more = jm_jdocs_next(&d, &doc, b.err)) > 0)
            line(&b, s, &doc);
        if (!b.rc && more < 0)
            b.rc = more;
        if (!b.rc && !s->ended)
            jm_build_fail(&b, "%s has no line {\"end\":true}: it was cut", path);
        if (!b.rc && !s->channels)
            jm_build_fail(&b, "%s has no channel", path);
        rc = jm_build_end(&b);
    }
    jm_domain_tree_release(&s->tree);
    free(s);
    jm_ifile_close(&f);
    return rc;
}

const struct jm_importer jm_import_sim_node = {
    .name = "sim-node",
    .summary = "Readings of a simulated node (joulemark-sim node --minutes)",
    .reads = "domains, channels with what they state of themselves, readings, the window, requests",
    .lacks = "times of tokens between the first and the last; what the parts truly drew is in the truth file",
    .sniff = sniff,
    .import = take,
};
