/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus: the answer of /api/v1/query_range (or promtool query range -o json) as series of devices. The
 * same device under other labels (a pod that was started anew) is one channel: its series are put behind each
 * other in time. Where a step is missing, the series was stale (5 minutes without a scrape): a gap. Nothing
 * is extrapolated: increase() is not used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/probe.h"
#include "import/promdev.h"
#include "wire/prom.h"

#include "base/banned.h"

#define SERIES (1 << 20)

struct part { /* one series */
    struct jm_jtoken values;
    int ch, text10;
    int64_t first;
    size_t order;
};
struct parts {
    struct part *v;
    size_t n, cap;
};

/* [1700000000.5, "123"] */
static bool point(const struct jm_ifile *f, const struct jm_jtoken *pair, int64_t *t, struct jm_span *text)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    jm_jiter_init(&it, f, pair);
    if (jm_jiter_next(&it, NULL, &v, NULL) <= 0 || !jm_jtime(&v, 0, t) ||
        jm_jiter_next(&it, NULL, &v, NULL) <= 0 || (v.type != JM_J_STRING && v.type != JM_J_NUMBER))
        return false;
    *text = v.raw;
    return true;
}

static int series(struct jm_promdev *p, struct parts *a, const struct jm_jtoken *item)
{
    const struct jm_ifile *f = &p->l.f;
    struct jm_prom_series s = {.n = 0};
    struct jm_jtoken metric, values, pair, key, v;
    struct jm_jiter it;
    struct jm_span text;
    int64_t first;
    int text10;
    if (!jm_jmember(f, item, "values", &values) || values.type != JM_J_ARRAY)
        return jm_jmember(f, item, "value", &v) ? 1 : 0;
    if (jm_jmember(f, item, "metric", &metric)) {
        jm_jiter_init(&it, f, &metric);
        while (jm_jiter_next(&it, &key, &v, NULL) > 0) {
            if (v.type != JM_J_STRING)
                continue;
            if (jm_jtoken_is(&key, "__name__"))
                s.metric = v.raw;
            else if (s.n < JM_PROMDEV_LABELS) {
                s.name[s.n] = key.raw;
                s.value[s.n++] = v.raw;
            }
        }
    }
    jm_jiter_init(&it, f, &values);
    if (jm_jiter_next(&it, NULL, &pair, NULL) <= 0 || !point(f, &pair, &first, &text))
        return 0;
    int ch = jm_promdev_channel(p, &s, &text10);
    if (ch < 0)
        return p->l.b.rc;
    if (a->n == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 64;
        struct part *more = cap <= SERIES ? realloc(a->v, cap * sizeof *more) : NULL;
        if (!more)
            return p->l.b.rc = jm_err_set(p->l.b.err, JM_ELIMIT, "%s holds too many series", f->path);
        a->v = more;
        a->cap = cap;
    }
    a->v[a->n] = (struct part){values, ch, text10, first, a->n};
    a->n++;
    return 0;
}

static int by_channel(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->ch != y->ch)
        return x->ch - y->ch;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* A missing step is a gap, of a gauge: a counter knows what passed meanwhile. The step is the least distance
 * seen so far. */
static int put(struct jm_promdev *p, const struct part *a)
{
    const struct jm_ifile *f = &p->l.f;
    bool gauge = p->l.ch[a->ch].c.kind == JM_CH_GAUGE;
    int64_t t, last = -1, step = INT64_MAX;
    struct jm_jiter it;
    struct jm_jtoken pair;
    struct jm_span text;
    int rc;
    jm_jiter_init(&it, f, &a->values);
    while (!p->l.b.rc && (rc = jm_jiter_next(&it, NULL, &pair, p->l.b.err)) != 0) {
        if (rc < 0)
            return p->l.b.rc = rc;
        if (!point(f, &pair, &t, &text)) {
            p->l.bad++;
            continue;
        }
        if (last >= 0 && t > last) {
            if (gauge && step < INT64_MAX / 4 && t - last > step * 5 / 2)
                jm_devlog_gap(&p->l, a->ch, last + step, JM_S_GAP);
            step = t - last < step ? t - last : step;
        }
        last = t > last ? t : last;
        jm_promdev_put(p, a->ch, t, a->text10, text);
        jm_ifile_used(f, pair.raw.p, &p->l.mark);
    }
    return p->l.b.rc;
}

static bool result_of(const struct jm_ifile *f, const struct jm_jtoken *doc, struct jm_jtoken *list)
{
    *list = *doc;
    return doc->type == JM_J_ARRAY || jm_jpath(f, doc, "data.result", list) ||
           jm_jmember(f, doc, "result", list) || jm_jmember(f, doc, "data", list);
}

static int import_json(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_promdev p = {.series = 0};
    struct parts a = {.n = 0};
    struct jm_jdocs d;
    struct jm_jtoken doc, list, item;
    int instant = 0, rc = jm_devlog_begin(&p.l, "prometheus", path, out, o, err);
    if (rc && !p.l.b.w)
        return rc;
    jm_jdocs_init(&d, &p.l.f);
    while (!p.l.b.rc && (rc = jm_jdocs_next(&d, &doc, p.l.b.err)) > 0) {
        struct jm_jiter it;
        struct jm_jtoken status;
        if (jm_jmember(&p.l.f, &doc, "status", &status) && jm_jtoken_is(&status, "error")) {
            char why[200] = "";
            if (jm_jmember(&p.l.f, &doc, "error", &status))
                jm_jtext(&status, why, sizeof why);
            jm_text_plain(why, strlen(why), false);
            jm_build_fail(&p.l.b, "%s is Prometheus' answer to a query that failed: %s", path, why);
            break;
        }
        if (!result_of(&p.l.f, &doc, &list))
            continue;
        jm_jiter_init(&it, &p.l.f, &list);
        while (!p.l.b.rc && (rc = jm_jiter_next(&it, NULL, &item, p.l.b.err)) > 0)
            instant += series(&p, &a, &item) == 1;
        if (rc < 0)
            break;
    }
    if (rc < 0 && !p.l.b.rc)
        p.l.b.rc = rc;
    if (!p.l.b.rc && !a.n && instant)
        jm_build_fail(&p.l.b,
                      "%s is the answer to an instant query: one look has no energy; ask /api/v1/query_range",
                      path);
    if (a.n)
        qsort(a.v, a.n, sizeof *a.v, by_channel);
    for (size_t i = 0; i < a.n && !p.l.b.rc; i++)
        put(&p, &a.v[i]);
    free(a.v);
    jm_build_times(&p.l.b,
                   "stamps of Prometheus: a range query repeats the last scrape at each step for up to 5 "
                   "minutes, so a value may be older than its stamp");
    return jm_promdev_end(&p);
}

/* ---- what it is */

static int form(const struct jm_probe *p)
{
    if (!p->f || p->sqlite)
        return 0;
    if (p->json) {
        const char *root[] = {"data.result[].metric", "[].metric", "result[].metric", "data.result",
                              "data.resultType"};
        for (size_t i = 0; i < sizeof root / sizeof root[0]; i++)
            if (jm_probe_key(p, root[i]))
                return 'j';
        return jm_probe_is(p, "status", "error") && jm_probe_key(p, "errorType") ? 'j' : 0;
    }
    struct jm_span rest = jm_span_sub(p->f->text, 0, 1u << 18), line;
    if (jm_span_find(jm_span_sub(rest, 0, 65536), JM_SPAN("} =>")) >= 0 &&
        jm_span_find(jm_span_sub(rest, 0, 65536), JM_SPAN(" @[")) >= 0)
        return 't';
    struct jm_span head = jm_span_trim(p->line);
    if (jm_span_starts(head, JM_SPAN("\"Time\"")) || jm_span_starts(head, JM_SPAN("Time,")) ||
        jm_span_starts(head, JM_SPAN("\"Series\"")) || jm_span_starts(head, JM_SPAN("Series;")) ||
        jm_span_starts(head, JM_SPAN("Series,")))
        return 'g';
    for (int n = 0; n < 4000 && jm_span_line(&rest, &line); n++) {
        struct jm_span s = jm_span_trim(line);
        if (jm_span_starts(s, JM_SPAN("# TYPE ")) || jm_span_starts(s, JM_SPAN("# HELP "))) {
            s = jm_span_sub(s, 7, s.n);
            ptrdiff_t e = jm_span_chr(s, ' ');
            if (jm_promdev_knows(jm_span_sub(s, 0, e < 0 ? s.n : (size_t)e)))
                return 'd';
        } else if (s.n && s.p[0] != '#') {
            ptrdiff_t e = jm_span_chr(s, '{');
            if (e > 0 && jm_promdev_knows(jm_span_sub(s, 0, (size_t)e)))
                return 'd';
        }
    }
    return 0;
}

static int sniff(const struct jm_probe *p)
{
    int kind = form(p);
    return kind == 'g' ? 60 : kind ? 85 : 0;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_probe *p = malloc(sizeof *p);
    int rc = p ? jm_ifile_open(path, &f, err)
               : jm_err_set(err, JM_ENOMEM, "out of memory for a look into %s", path);
    if (rc) {
        free(p);
        return rc;
    }
    jm_probe_look(p, path, &f);
    int kind = form(p);
    bool json = p->json;
    jm_ifile_close(&f);
    free(p);
    return kind == 'j' || json ? import_json(path, out, o, err)
           : kind == 't'       ? jm_prom_import_text(path, out, o, err)
           : kind == 'g'       ? jm_prom_import_csv(path, out, o, err)
                               : jm_prom_import_dump(path, out, o, err);
}

const struct jm_importer jm_import_prometheus = {
    .name = "prometheus",
    .summary = "Prometheus: /api/v1/query_range JSON, promtool query range, Grafana CSV, dumps of /metrics "
               "one after the "
               "other",
    .reads =
        "Series of power and energy that are known by name: DCGM_FI_DEV_*, nvidia_smi_*, nvidia_gpu_*, AMD's "
        "gpu_package_power and gpu_energy_consumed, habanalabs_*, node_rapl_*, node_hwmon_power_*, ipmi_*, "
        "redfish_*, "
        "idrac_*, rPDU2* of snmp_exporter (raw: 10 W and 0.1 kWh), kepler_* and scaph_* as estimates. Series "
        "of one "
        "device under several labels are one channel; MIG instances and CPU cores count once. Counters are "
        "subtracted over resets by their own rules, without Prometheus' extrapolation.",
    .lacks = "Series that a function was applied to. What happened between scrapes; the age of a value at "
             "its stamp (up "
             "to 5 minutes); tokens.",
    .sniff = sniff,
    .import = import,
};
