/* SPDX-License-Identifier: Apache-2.0 */
#include "import/devlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/option.h"

#include "base/banned.h"

#define CHANNELS 20000

#define MS JM_NS_PER_MS
const struct jm_dev_kind jm_dev_limit = {
    "power.limit", JM_CH_GAUGE, JM_U_W, 0, -3, JM_G_INSTANT, 0, 0, JM_P_DECLARED, 0, 0, "gpu", "power limit"};
const struct jm_dev_kind jm_dev_clock_sm = {"clock.sm", JM_CH_GAUGE,   JM_U_HZ, 6, 6,     JM_G_INSTANT, 0,
                                            0,          JM_P_MEASURED, 0,       0, "gpu", "SM clock"};
const struct jm_dev_kind jm_dev_clock_mem = {"clock.mem", JM_CH_GAUGE,   JM_U_HZ, 6, 6,     JM_G_INSTANT,  0,
                                             0,           JM_P_MEASURED, 0,       0, "gpu", "memory clock"};
const struct jm_dev_kind jm_dev_temp = {
    "temp", JM_CH_GAUGE, JM_U_CELSIUS, 0, 0, JM_G_INSTANT, 0, 0, JM_P_MEASURED, 0, 0, "gpu", "temperature"};
const struct jm_dev_kind jm_dev_util = {"util.gpu", JM_CH_GAUGE,   JM_U_RATIO, -2, -2,    JM_G_INSTANT, 0,
                                        0,          JM_P_MEASURED, 0,          0,  "gpu", "utilization"};

int jm_devlog_begin(struct jm_devlog *l, const char *tool, const char *path, const char *out,
                    const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_run_meter m = {.state = "ok"};
    memset(l, 0, sizeof *l);
    jm_domain_tree_init(&l->tree);
    int rc = jm_ifile_open(path, &l->f, err);
    if (rc)
        return rc;
    rc = jm_build_begin(&l->b, tool, &l->f, o, out, l->f.mtime_ns, err);
    snprintf(m.name, sizeof m.name, "%s", tool);
    snprintf(m.instance, sizeof m.instance, "%s", jm_ifile_name(&l->f));
    if (!rc && (l->meter = jm_run_put_meter(l->b.w, &m, l->b.err)) < 0)
        l->b.rc = l->meter;
    jm_build_env(&l->b, "import.devlog", "%s", tool);
    jm_build_env(&l->b, "import.date_from", "modification time of the file");
    return l->b.rc;
}

static uint64_t hash_of(const struct jm_dev_place *p, const char *name)
{
    char kind[16];
    snprintf(kind, sizeof kind, "%d", (int)p->domain);
    uint64_t h = jm_build_hash(0, jm_span_of(p->host));
    h = jm_build_hash(h, jm_span_of(kind));
    h = jm_build_hash(h, JM_SPAN("\n"));
    h = jm_build_hash(h, jm_span_of(p->key));
    h = jm_build_hash(h, JM_SPAN("\n"));
    h = jm_build_hash(h, jm_span_of(p->parent));
    return jm_build_hash(h, jm_span_of(name));
}

static int domain_of(struct jm_devlog *l, const struct jm_dev_place *p)
{
    struct jm_err *err = l->b.err;
    const char *host = p->host && p->host[0] ? p->host : "host";
    int node = jm_domain_host(&l->tree, host, err);
    if (node < 0 || p->domain == JM_D_NODE)
        return node;
    if (p->domain == JM_D_INLET_AC && strcmp(p->key, host) == 0)
        return l->tree.d[node].parent;
    if (p->domain == JM_D_INLET_AC || p->domain == JM_D_RACK)
        return jm_domain_add(&l->tree, -1, p->domain, p->key, p->label, err);
    if (p->parent && p->parent[0])
        node = jm_domain_add(&l->tree, node,
                             p->domain == JM_D_CPU || p->domain == JM_D_SYSIO ? JM_D_GRACE : JM_D_GPU,
                             p->parent, p->parent, err);
    return node < 0 ? node : jm_domain_add(&l->tree, node, p->domain, p->key, p->label, err);
}

int jm_devlog_channel(struct jm_devlog *l, const struct jm_dev_place *p, const struct jm_dev_kind *k)
{
    uint64_t h = hash_of(p, k->name);
    if (l->b.rc)
        return -1;
    for (size_t i = 0; i < l->n; i++) { /* logs go round, so the search begins behind the last one */
        size_t at = (l->at + 1 + i) % l->n;
        if (l->ch[at].hash == h)
            return (int)(l->at = at);
    }
    if (l->n == CHANNELS) {
        l->b.rc = jm_err_set(l->b.err, JM_ELIMIT, "%s names more than %d quantities of devices", l->f.path,
                             CHANNELS);
        return -1;
    }
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 32;
        struct jm_devlog_ch *more = realloc(l->ch, cap * sizeof *more);
        if (!more) {
            l->b.rc = jm_err_set(l->b.err, JM_ENOMEM, "out of memory for the devices of %s", l->f.path);
            return -1;
        }
        l->ch = more;
        l->cap = cap;
    }
    struct jm_devlog_ch *c = &l->ch[l->n];
    *c = (struct jm_devlog_ch){.hash = h, .last = INT64_MIN, .domain = domain_of(l, p)};
    if (c->domain < 0) {
        l->b.rc = c->domain;
        return -1;
    }
    c->c = (struct jm_channel){.meter = l->meter,
                               .kind = k->kind,
                               .unit = k->unit,
                               .scale10 = k->scale10,
                               .sem = k->sem,
                               .window_ns = k->window_ns,
                               .period_ns = k->period_ns,
                               .sane_max = k->sane_max,
                               .gain_tol = NAN,
                               .offset_tol = NAN,
                               .provenance = k->provenance,
                               .domain = c->domain,
                               .flags = k->flags};
    c->of_energy = k->unit == JM_U_J || (k->unit == JM_U_W && strncmp(k->name, "power.limit", 11) != 0);
    snprintf(c->c.name, sizeof c->c.name, "%s", k->name);
    snprintf(c->c.device, sizeof c->c.device, "%s", p->key);
    snprintf(c->c.scope, sizeof c->c.scope, "%s", k->scope ? k->scope : "");
    snprintf(c->c.source, sizeof c->c.source, "%s", k->source ? k->source : "");
    l->b.rc = jm_run_put_channel(l->b.w, &c->c, &c->id, l->b.err);
    return l->b.rc ? -1 : (int)(l->at = l->n++);
}

static void reading(struct jm_devlog *l, int ch, int64_t t, enum jm_status status, int64_t value)
{
    if (l->b.rc || ch < 0)
        return;
    struct jm_devlog_ch *c = &l->ch[ch];
    struct jm_reading r = {
        .t0 = t, .t1 = t, .channel = (uint32_t)c->id, .status = (uint8_t)status, .value = value};
    if (t < 0)
        return;
    if (c->n && t <= c->last) { /* the clock was set back, or the stamp is that of the line before */
        l->back += t < c->last;
        l->same += t == c->last;
        return;
    }
    if (!c->n)
        c->first = t;
    c->last = t;
    c->n++;
    l->b.rc = jm_run_put_readings(l->b.w, &r, 1, l->b.err);
    if (!l->b.rc && ++l->put % 8192 == 0)
        l->b.rc = jm_run_flush(l->b.w, 0, true, l->b.err);
}

void jm_devlog_gap(struct jm_devlog *l, int ch, int64_t t, enum jm_status why)
{
    reading(l, ch, t, why, 0);
}

void jm_devlog_put(struct jm_devlog *l, int ch, int64_t t, int text10, struct jm_span text)
{
    int64_t v;
    if (l->b.rc || ch < 0)
        return;
    enum jm_status st = jm_dev_native(text, text10, l->ch[ch].c.scale10, &v);
    if (st == JM_S_OK) {
        reading(l, ch, t, st, v);
    } else if (st == JM_S_GAP || st == JM_S_ABSENT) {
        enum jm_status why = st == JM_S_ABSENT ? st : jm_devlog_word(jm_span_trim(text));
        *(why == JM_S_OK ? &l->bad : &l->missing) += 1;
        jm_devlog_gap(l, ch, t, why == JM_S_OK ? JM_S_GAP : why);
    } else {
        if (st != JM_S_IMPLAUSIBLE || v >= 0)
            *(st == JM_S_IMPLAUSIBLE ? &l->bad : &l->blank) += 1;
        jm_devlog_gap(l, ch, t, st);
    }
}

/* ---- words, numbers, times */

enum jm_status jm_devlog_word(struct jm_span s)
{
    static const struct {
        const char *word;
        enum jm_status status;
    } words[] = {
        {"N/A", JM_S_ABSENT},
        {"NA", JM_S_ABSENT},
        {"-", JM_S_ABSENT},
        {"", JM_S_ABSENT},
        {"NaN", JM_S_ABSENT},
        {"null", JM_S_ABSENT},
        {"None", JM_S_ABSENT},
        {"Not Supported", JM_S_UNSUPPORTED},
        {"NotSupported", JM_S_UNSUPPORTED},
        {"Not Available", JM_S_ABSENT},
        {"Not Found", JM_S_ABSENT},
        {"Requested functionality has been deprecated", JM_S_UNSUPPORTED},
        {"Function Not Found", JM_S_UNSUPPORTED},
        {"Insufficient Permissions", JM_S_DENIED},
        {"No Permission", JM_S_DENIED},
        {"Unknown Error", JM_S_GAP},
        {"Unknown", JM_S_ABSENT},
        {"ERR!", JM_S_GAP},
        {"Error", JM_S_GAP},
        {"Reset Required", JM_S_LOST},
        {"GPU requires reset", JM_S_LOST},
        {"GPU is lost", JM_S_LOST},
        {"<<<NULL>>>", JM_S_ABSENT},
        {"<<<NOT_FOUND>>>", JM_S_ABSENT},
        {"<<<NOT_SUPPORTED>>>", JM_S_UNSUPPORTED},
        {"<<<NOT_PERM>>>", JM_S_DENIED},
    };
    s = jm_span_trim(s);
    if (s.n >= 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
        s = jm_span_trim(jm_span_sub(s, 1, s.n - 2));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (jm_span_ieq(s, jm_span_of(words[i].word)))
            return words[i].status;
    return jm_span_istarts(s, JM_SPAN("N/A")) ? JM_S_ABSENT : JM_S_OK; /* "N/A (Secondary die)" */
}

bool jm_devlog_number(struct jm_span s, int deflt10, struct jm_span *number, int *text10)
{
    static const struct {
        const char *unit;
        int ten;
    } units[] = {{"W", 0},   {"Watts", 0}, {"mW", -3}, {"uW", -6}, {"kW", 3}, {"J", 0}, {"mJ", -3},
                 {"uJ", -6}, {"kJ", 3},    {"MHz", 6}, {"GHz", 9}, {"%", -2}, {"C", 0}, {"Joules", 0}};
    size_t n = 0;
    double d;
    s = jm_span_trim(s);
    while (n < s.n &&
           ((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == '.' || s.p[n] == '-' || s.p[n] == '+' ||
            ((s.p[n] == 'e' || s.p[n] == 'E') && n && n + 1 < s.n &&
             (s.p[n + 1] == '+' || s.p[n + 1] == '-' || (s.p[n + 1] >= '0' && s.p[n + 1] <= '9')))))
        n++;
    *number = jm_span_sub(s, 0, n);
    if (!n || jm_num_double(*number, &d))
        return false;
    s = jm_span_trim(jm_span_sub(s, n, s.n));
    *text10 = deflt10;
    if (!s.n)
        return true;
    if (s.n > 2 && s.p[0] == '(' && s.p[s.n - 1] == ')')
        s = jm_span_trim(jm_span_sub(s, 1, s.n - 2));
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (jm_span_is(s, units[i].unit)) {
            *text10 = units[i].ten;
            return true;
        }
    return false;
}

static bool digits(const char **p, const char *end, int n, int *out)
{
    *out = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (*p == end || **p < '0' || **p > '9')
            return false;
        *out = *out * 10 + (**p - '0');
    }
    return true;
}

/* "Thu May 30 10:15:20 2024" of ctime. */
static bool ctime_form(struct jm_span s, int64_t *ns)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int month = 0, day, h, m, sec, year;
    struct jm_span word[8];
    size_t n = 0;
    while (n < 8 && s.n) {
        while (s.n && s.p[0] == ' ')
            s = jm_span_sub(s, 1, s.n);
        ptrdiff_t e = jm_span_chr(s, ' ');
        if (!s.n)
            break;
        word[n++] = jm_span_sub(s, 0, e < 0 ? s.n : (size_t)e);
        s = jm_span_sub(s, e < 0 ? s.n : (size_t)e, s.n);
    }
    if (n < 5 || word[1].n != 3 || !word[2].n || word[2].n > 2 || word[3].n < 8 || word[n - 1].n != 4)
        return false;
    for (int i = 0; i < 12; i++)
        if (memcmp(months + 3 * i, word[1].p, 3) == 0)
            month = i + 1;
    const char *p = word[2].p, *q = word[3].p, *qe = q + word[3].n, *y = word[n - 1].p;
    if (!month || !digits(&p, p + word[2].n, (int)word[2].n, &day) || !digits(&q, qe, 2, &h) || *q++ != ':' ||
        !digits(&q, qe, 2, &m) || *q++ != ':' || !digits(&q, qe, 2, &sec) || !digits(&y, y + 4, 4, &year))
        return false;
    if (day < 1 || day > 31 || h > 23 || m > 59 || sec > 60 || year < 1970 || year > 2200)
        return false;
    *ns = jm_time_unix(year, month, day, h, m, sec) * JM_NS_PER_S;
    return true;
}

bool jm_devlog_time(struct jm_span s, int64_t *ns, bool *zone)
{
    char text[64];
    double d;
    s = jm_span_trim(s);
    *zone = false;
    if (s.n < 8 || s.n > 40)
        return false;
    if (jm_num_double(s, &d) == 0) {
        int64_t v;
        if (!(d > 1e8) || !(d < 4e18))
            return false;
        int ten = d < 1e11 ? 9 : d < 1e14 ? 6 : d < 1e17 ? 3 : 0; /* s, ms, us, ns */
        *zone = true;
        if (jm_num_fixed(s, -ten, &v)) {
            if (!(d * pow(10, ten) < 9e18))
                return false;
            v = (int64_t)(d * pow(10, ten));
        }
        *ns = v;
        return true;
    }
    snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
    if (s.n > 10 && text[4] == '/' && text[7] == '/')
        text[4] = text[7] = '-';
    if (text[10] == ' ')
        text[10] = 'T';
    if (s.n >= 19 && jm_build_date(jm_span_of(text), ns, zone))
        return true;
    return ctime_form(s, ns);
}

/* ---- the end */

/* "2026-01-02T03:04:05Z", or a time from the beginning of the log ("90s"). */
static bool edge(struct jm_devlog *l, const char *text, const char *option, int64_t first, int64_t *t)
{
    int64_t ns;
    bool zone;
    if (!text)
        return true;
    if (jm_quantity_duration(jm_span_of(text), &ns, NULL) == 0 && ns >= 0) {
        *t = first + ns;
        return true;
    }
    if (jm_devlog_time(jm_span_of(text), t, &zone))
        return true;
    l->b.rc = jm_err_set(l->b.err, JM_EUSAGE,
                         "--%s \"%s\" is no time; give one as in the log (2026-01-02 03:04:05), or the time "
                         "from its beginning (90s)",
                         option, text);
    return false;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Devices are read one after the other, so the common window begins with the last of them and ends with the
 * first that stops; one that vanished long before does not cut it. */
static bool span_of(struct jm_devlog *l, int64_t *t0, int64_t *t1)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    double *d = calloc(l->n ? l->n : 1, sizeof *d), step = 0;
    size_t k = 0;
    for (size_t i = 0; d && i < l->n; i++)
        if (l->ch[i].of_energy && l->ch[i].n > 1) {
            first = l->ch[i].first < first ? l->ch[i].first : first;
            last = l->ch[i].last > last ? l->ch[i].last : last;
            d[k++] = (double)(l->ch[i].last - l->ch[i].first) / (double)(l->ch[i].n - 1);
        }
    if (k) {
        qsort(d, k, sizeof *d, by_size);
        step = 2 * d[k / 2];
    }
    free(d);
    if (!k)
        return false;
    *t0 = first;
    *t1 = last;
    for (size_t i = 0; i < l->n; i++)
        if (l->ch[i].of_energy && l->ch[i].n > 1) {
            if ((double)(l->ch[i].first - first) <= step && l->ch[i].first > *t0)
                *t0 = l->ch[i].first;
            if ((double)(last - l->ch[i].last) <= step && l->ch[i].last < *t1)
                *t1 = l->ch[i].last;
        }
    if (*t1 <= *t0) {
        *t0 = first;
        *t1 = last;
    }
    return true;
}

static void count(struct jm_devlog *l, const char *key, int64_t n)
{
    if (n)
        jm_build_env(&l->b, key, "%lld", (long long)n);
}

static void window(struct jm_devlog *l)
{
    int64_t t0, t1, a, z;
    if (!span_of(l, &t0, &t1)) {
        jm_build_fail(
            &l->b,
            "%s holds no power and no energy of a device at two times: one look has no energy; log with "
            "time stamps, again and again",
            l->f.path);
        return;
    }
    a = t0;
    z = t1;
    if (!edge(l, l->b.o->since, "since", t0, &a) || !edge(l, l->b.o->until, "until", t0, &z))
        return;
    if (a < t0 || z > t1 || z <= a) {
        char from[JM_RFC3339_SIZE], to[JM_RFC3339_SIZE];
        l->b.rc = jm_err_set(l->b.err, JM_EUSAGE,
                             "the asked part of %s is not within the log, which goes from %s to %s (%.6g s)",
                             l->f.path, jm_time_rfc3339(t0, from), jm_time_rfc3339(t1, to),
                             (double)(t1 - t0) / 1e9);
        return;
    }
    jm_build_window(&l->b, 0, l->b.o->since || l->b.o->until ? "part" : "log", a, z - a);
    if (!l->b.o->since && !l->b.o->until)
        jm_build_env(&l->b, "import.window", "the whole log");
}

int jm_devlog_end(struct jm_devlog *l)
{
    int gpus = 0;
    bool own = l->b.windows > 0; /* the file says itself what its windows are */
    if (!l->b.rc && !own)
        window(l);
    for (size_t i = 0; i < l->tree.n; i++)
        gpus += l->tree.d[i].kind == JM_D_GPU;
    if (gpus) {
        jm_build_env(&l->b, "import.gpus", "%d", gpus);
        jm_build_env(&l->b, "sut.unknown", "the log names %d GPU%s, not which of them serve", gpus,
                     gpus > 1 ? "s" : "");
    }
    if (!own)
        jm_build_missing(&l->b, "tokens", "a log of devices knows of no requests, so no ratio is formed");
    count(l, "import.log.back", l->back);
    count(l, "import.log.same_stamp", l->same);
    count(l, "import.log.without_value", l->missing);
    count(l, "import.log.blank", l->blank);
    count(l, "import.log.no_number", l->bad);
    if (!l->b.rc)
        l->b.rc = jm_run_put_domains(l->b.w, &l->tree, l->b.err);
    int rc = jm_build_end(&l->b);
    jm_domain_tree_release(&l->tree);
    free(l->ch);
    l->ch = NULL;
    jm_ifile_close(&l->f);
    return rc;
}
