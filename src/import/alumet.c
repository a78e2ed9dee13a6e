/* SPDX-License-Identifier: Apache-2.0 */
/* Alumet's output-csv: "metric;timestamp;value;resource_kind;resource_id;consumer_kind;consumer_id;...", a
 * measurement a line. Its energies are differences since the measurement before (rapl_consumed_energy in J,
 * nvml_energy_consumption in mJ), so that the first one belongs to a time that the file does not know. A unit
 * may stand at the end of the name. rapl's *_total repeat the sum of the packages, pp0 and pp1 lie in a
 * package, attributed_* are shares. Attributes that a line lacks are left out by some versions, and the ones
 * behind them stand one column further left. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "import/devlog.h"
#include "import/table.h"

#include "base/banned.h"

#define SERIES 4096

enum what { ENERGY, POWER };
static const struct metric {
    const char *name; /* without its unit */
    enum what what;
    int text10; /* of a name without a unit */
    enum jm_domain_kind domain;
    enum jm_provenance provenance;
    const char *source;
} metrics[] = {
    {"rapl_consumed_energy", ENERGY, 0, JM_D_PACKAGE, JM_P_MEASURED, "RAPL by Alumet, summed up"},
    {"nvml_energy_consumption", ENERGY, -3, JM_D_GPU, JM_P_MEASURED,
     "NVML energy counter by Alumet, summed up"},
    {"nvml_instant_power", POWER, -3, JM_D_GPU, JM_P_MEASURED, "NVML power usage by Alumet"},
    {"amd_gpu_energy_consumption", ENERGY, -3, JM_D_GPU, JM_P_MEASURED,
     "AMD SMI energy counter by Alumet, summed up"},
    {"amd_gpu_power_consumption", POWER, 0, JM_D_GPU, JM_P_MEASURED, "AMD SMI power by Alumet"},
    {"grace_instant_power", POWER, -6, JM_D_RAIL, JM_P_MEASURED, "Grace hwmon by Alumet"},
    {"grace_energy_consumption", ENERGY, -3, JM_D_RAIL, JM_P_MEASURED, "Grace hwmon by Alumet"},
    {"input_power", POWER, -3, JM_D_RAIL, JM_P_MEASURED, "INA3221 by Alumet"},
    {"wattmetre_power_watt", POWER, 0, JM_D_NODE, JM_P_MEASURED, "wattmeter by Kwollect"},
    {"estimated_consumed_energy", ENERGY, 0, JM_D_PACKAGE, JM_P_ESTIMATED, "Alumet's TDP plugin"},
    {"tdp_estimation_consumption", ENERGY, 0, JM_D_PACKAGE, JM_P_ESTIMATED, "Alumet's TDP plugin"},
};

struct sum { /* of a channel whose values are differences */
    int64_t nano;
    bool has;
};
struct alu {
    struct jm_devlog l;
    struct jm_table t;
    struct sum sum[SERIES];
    int64_t totals, inner, shares, other, negative, overflow;
    char first_other[80];
    bool estimate;
};

static const struct metric *metric_of(struct jm_span s, int *text10)
{
    static const struct {
        const char *end;
        int ten;
    } units[] = {{"_J", 0},   {"_mJ", -3}, {"_uJ", -6},        {"_kJ", 3},        {"_W", 0},
                 {"_mW", -3}, {"_uW", -6}, {"_\xc2\xb5W", -6}, {"_\xc2\xb5J", -6}};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        struct jm_span name = jm_span_of(metrics[i].name);
        *text10 = metrics[i].text10;
        if (jm_span_eq(s, name))
            return &metrics[i];
        if (!jm_span_starts(s, name))
            continue;
        struct jm_span rest = jm_span_sub(s, name.n, s.n);
        for (size_t k = 0; k < sizeof units / sizeof units[0]; k++)
            if (jm_span_is(rest, units[k].end)) {
                *text10 = units[k].ten;
                return &metrics[i];
            }
    }
    return NULL;
}

/* RAPL's domain of a line, wherever it stands: in its column, moved to the left, or in __late_attributes. */
static struct jm_span domain_of(const struct alu *a)
{
    static const char *const words[] = {
        "package",   "package_total", "dram",           "dram_total", "pp0",  "pp0_total", "pp1",
        "pp1_total", "platform",      "platform_total", "psys",       "core", "uncore"};
    for (size_t i = 7; i < a->t.n; i++) {
        struct jm_span rest = jm_table_span(&a->t, (int)i), one;
        while (rest.p && jm_span_field(&rest, ',', &one)) {
            one = jm_span_trim(one);
            if (jm_span_starts(one, JM_SPAN("domain=")))
                one = jm_span_sub(one, 7, one.n);
            for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
                if (jm_span_is(one, words[k]))
                    return one;
        }
    }
    return (struct jm_span){NULL, 0};
}

static void one(struct alu *a)
{
    struct jm_span metric = jm_table_span(&a->t, 0), kind = jm_table_span(&a->t, 3),
                   consumer = jm_table_span(&a->t, 5);
    char id[80], key[96];
    int64_t t, v;
    int text10;
    bool zone;
    const struct metric *m = metric_of(metric, &text10);
    if (!m) {
        a->shares += jm_span_starts(metric, JM_SPAN("attributed_"));
        a->other++;
        if (!a->first_other[0] && metric.n < sizeof a->first_other)
            snprintf(a->first_other, sizeof a->first_other, "%.*s", (int)metric.n, metric.p ? metric.p : "");
        return;
    }
    if (consumer.n && !jm_span_is(consumer, "local_machine")) {
        a->shares++;
        return;
    }
    if (!jm_devlog_time(jm_table_span(&a->t, 1), &t, &zone)) {
        a->l.bad++;
        return;
    }
    jm_table_text(&a->t, 4, id, sizeof id);
    struct jm_dev_place p = {.domain = m->domain, .key = key, .label = key};
    unsigned flags = 0;
    if (m->domain == JM_D_PACKAGE && m->provenance == JM_P_MEASURED) {
        struct jm_span d = domain_of(a);
        if (jm_span_ends(d, JM_SPAN("_total")) ||
            (jm_span_is(kind, "local_machine") && !jm_span_is(d, "platform") && !jm_span_is(d, "psys"))) {
            a->totals++;
            return;
        }
        if (jm_span_is(d, "pp0") || jm_span_is(d, "pp1") || jm_span_is(d, "core") ||
            jm_span_is(d, "uncore")) {
            a->inner++;
            return;
        }
        if (jm_span_is(d, "dram") || jm_span_is(kind, "dram"))
            p.domain = JM_D_DRAM;
        else if (jm_span_is(d, "platform") || jm_span_is(d, "psys")) {
            p.domain = JM_D_PSYS;
            flags = JM_CHF_PARTOF;
        }
    }
    snprintf(key, sizeof key, "%s%s%s", jm_domain_kind_name((int)p.domain), id[0] ? " " : "", id);
    a->estimate |= m->provenance == JM_P_ESTIMATED;
    struct jm_span none = {NULL, 0};
    struct jm_dev_kind k = {m->what == ENERGY ? "energy" : "power",
                            m->what == ENERGY ? JM_CH_COUNTER : JM_CH_GAUGE,
                            m->what == ENERGY ? JM_U_J : JM_U_W,
                            text10,
                            m->what == ENERGY ? -9 : -3,
                            JM_G_INSTANT,
                            0,
                            0,
                            m->provenance,
                            flags,
                            m->what == ENERGY ? 0 : 20e3,
                            "",
                            m->source};
    if (m->what == ENERGY) /* of the counters behind it, as published */
        k.period_ns = m->domain == JM_D_PACKAGE ? JM_NS_PER_MS : 100 * JM_NS_PER_MS;
    if (m->what == POWER && m->domain == JM_D_GPU)
        k = jm_dev_nvml(JM_NVML_Q_USAGE, none, 0, m->source);
    int ch = jm_devlog_channel(&a->l, &p, &k);
    if (ch < 0)
        return;
    if (m->what == POWER) {
        jm_devlog_put(&a->l, ch, t, text10, jm_table_span(&a->t, 2));
        return;
    }
    enum jm_status st = jm_dev_native(jm_table_span(&a->t, 2), text10, -9, &v);
    if (st != JM_S_OK || ch >= SERIES) {
        struct jm_span s = jm_table_span(&a->t, 2);
        a->negative += s.n && s.p[0] == '-';
        jm_devlog_gap(&a->l, ch, t, st == JM_S_OK ? JM_S_GAP : st);
        return;
    }
    struct sum *x = &a->sum[ch];
    if (!x->has) { /* the time that the first difference is of is not in the file */
        x->has = true;
        v = 0;
    }
    if (__builtin_add_overflow(x->nano, v, &x->nano)) {
        a->overflow++;
        x->nano = 0;
    }
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)x->nano);
    jm_devlog_put(&a->l, ch, t, -9, jm_span_of(text));
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct alu *a = calloc(1, sizeof *a);
    int more = 0, rc = a ? jm_devlog_begin(&a->l, "alumet", path, out, o, err)
                         : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc && (!a || !a->l.b.w)) {
        free(a);
        return rc;
    }
    struct jm_build *b = &a->l.b;
    if (!b->rc)
        b->rc = jm_table_open(&a->t, &a->l.f, b->err);
    if (!b->rc && (a->t.n_head < 5 || !jm_span_is(jm_span_trim(a->t.head[0].raw), "metric") ||
                   !jm_span_is(jm_span_trim(a->t.head[2].raw), "value")))
        jm_build_fail(
            b,
            "%s does not begin with Alumet's columns (metric, timestamp, value, resource_kind, resource_id)",
            path);
    while (!b->rc && (more = jm_table_row(&a->t, &a->l.f, b->err)) > 0)
        one(a);
    if (more < 0 && !b->rc)
        b->rc = more;
    if (!b->rc && !a->l.n)
        jm_build_fail(b, "%s holds no energy and no power that is known%s%s", path,
                      a->first_other[0] ? "; its first metric is " : "", a->first_other);
    if (a->totals)
        jm_build_env(b, "import.repeats.total", "%lld lines of RAPL's totals repeat the packages",
                     (long long)a->totals);
    if (a->inner)
        jm_build_env(b, "import.repeats.inner", "%lld lines of pp0 and pp1 lie in a package",
                     (long long)a->inner);
    if (a->shares)
        jm_build_env(b, "import.allocated",
                     "%lld lines are shares of processes or cgroups; they are left out",
                     (long long)a->shares);
    if (a->negative)
        jm_build_env(b, "import.negative", "%lld differences below 0: they are gaps here",
                     (long long)a->negative);
    if (a->overflow)
        jm_build_env(b, "import.negative", "%lld sums beyond 9 GJ began again", (long long)a->overflow);
    if (a->estimate)
        jm_build_env(b, "import.modelled", "energies of Alumet's TDP plugin");
    jm_build_env(b, "import.series.other", "%lld, the first is %s", (long long)a->other,
                 a->first_other[0] ? a->first_other : "none");
    jm_build_env(b, "import.differences",
                 "energies are differences; the first of each device has no beginning and is left out");
    jm_build_times(b, "Alumet's own stamps, UTC");
    rc = jm_devlog_end(&a->l);
    free(a);
    return rc;
}

static int sniff(const struct jm_probe *p)
{
    static const char *const need[] = {"metric", "timestamp", "value", "resource_kind", "resource_id", NULL};
    return jm_table_looks(p, need) ? 95 : 0;
}

const struct jm_importer jm_import_alumet = {
    .name = "alumet",
    .summary = "Alumet's output-csv",
    .reads = "Energy of packages, DRAM, platform (RAPL), GPUs (NVML, AMD SMI), Grace, and powers, each "
             "device once: differences are summed up "
             "again; RAPL's totals, pp0 and pp1 and the shares of processes are left out and counted.",
    .lacks = "What the first difference of each device is of; tokens.",
    .sniff = sniff,
    .import = import,
};
