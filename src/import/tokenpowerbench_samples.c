/* SPDX-License-Identifier: Apache-2.0 */
/* TokenPowerBench's batch_N_power_samples.json: {"gpu": [{"timestamp_s", "power_w": [a GPU each]}], "rapl":
 * [{"timestamp_s", "energy_uj": {zone: counter}}], "ipmi": [{"timestamp_s", "power_w"}]}. Times are the
 * process' own monotonic clock. Of RAPL only packages and DRAM are read, so that a zone in a zone is DRAM.
 * null is no reading. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "import/devlog.h"
#include "import/tokenpowerbench.h"

#include "base/banned.h"

static bool stamp(const struct jm_devlog *l, const struct jm_jtoken *item, int64_t shift, int64_t *t)
{
    struct jm_jtoken v;
    return jm_jmember(&l->f, item, "timestamp_s", &v) && jm_jtime(&v, 0, t) &&
           !__builtin_add_overflow(*t, shift, t);
}

static void put(struct jm_devlog *l, const struct jm_dev_place *p, const struct jm_dev_kind *k, int64_t t,
                const struct jm_jtoken *v)
{
    int ch = jm_devlog_channel(l, p, k);
    if (v->type == JM_J_NUMBER)
        jm_devlog_put(l, ch, t, k->text10, v->raw);
    else
        jm_devlog_gap(l, ch, t, JM_S_GAP);
}

static void gpus(struct jm_devlog *l, const struct jm_jtoken *item, int64_t t)
{
    struct jm_jtoken list, v;
    struct jm_jiter it;
    struct jm_span none = {NULL, 0};
    char key[24];
    int n = 0;
    if (!jm_jmember(&l->f, item, "power_w", &list) || list.type != JM_J_ARRAY)
        return;
    struct jm_dev_kind k = jm_dev_nvml(JM_NVML_Q_USAGE, none, 0, "NVML GetPowerUsage");
    k.text10 = 0;
    jm_jiter_init(&it, &l->f, &list);
    while (!l->b.rc && n < 1024 && jm_jiter_next(&it, NULL, &v, NULL) > 0) {
        snprintf(key, sizeof key, "gpu %d", n++);
        struct jm_dev_place p = {.domain = JM_D_GPU, .key = key, .label = key};
        put(l, &p, &k, t, &v);
    }
}

static void zones(struct jm_devlog *l, const struct jm_jtoken *item, int64_t t)
{
    struct jm_jtoken all, zone, v;
    struct jm_jiter it;
    char key[96];
    if (!jm_jmember(&l->f, item, "energy_uj", &all) || all.type != JM_J_OBJECT)
        return;
    jm_jiter_init(&it, &l->f, &all);
    while (!l->b.rc && jm_jiter_next(&it, &zone, &v, NULL) > 0) {
        if (!jm_jtext(&zone, key, sizeof key))
            continue;
        jm_text_plain(key, strlen(key), false);
        const char *last = strrchr(key, '/'), *colon = strchr(last ? last : key, ':');
        bool inner = (colon && strchr(colon + 1, ':')) || strstr(key, "dram");
        struct jm_dev_kind k = {"energy",
                                JM_CH_COUNTER,
                                JM_U_J,
                                -6,
                                -6,
                                JM_G_INSTANT,
                                0,
                                JM_NS_PER_MS,
                                JM_P_MEASURED,
                                0,
                                0,
                                "",
                                "powercap energy_uj by TokenPowerBench"};
        struct jm_dev_place p = {.domain = inner ? JM_D_DRAM : JM_D_PACKAGE, .key = key, .label = key};
        put(l, &p, &k, t, &v);
    }
}

static void node(struct jm_devlog *l, const struct jm_jtoken *item, int64_t t)
{
    static const struct jm_dev_kind k = {"power",
                                         JM_CH_GAUGE,
                                         JM_U_W,
                                         0,
                                         -3,
                                         JM_G_INSTANT,
                                         0,
                                         0,
                                         JM_P_MEASURED,
                                         0,
                                         50e3,
                                         "",
                                         "IPMI DCMI power reading"};
    struct jm_dev_place p = {.domain = JM_D_NODE, .key = "host", .label = NULL};
    struct jm_jtoken v;
    if (jm_jmember(&l->f, item, "power_w", &v))
        put(l, &p, &k, t, &v);
}

int jm_tokenpowerbench_samples(const char *path, const char *out, const struct jm_import_opts *o,
                               struct jm_err *err)
{
    static const char *const names[] = {"gpu", "rapl", "ipmi"};
    static void (*const take[])(struct jm_devlog *, const struct jm_jtoken *, int64_t) = {gpus, zones, node};
    struct jm_devlog l;
    struct jm_jdocs d;
    struct jm_jtoken doc, list[3], item;
    struct jm_jiter it;
    int64_t t, last = -1;
    int rc = jm_devlog_begin(&l, "tokenpowerbench-samples", path, out, o, err);
    if (rc && !l.b.w)
        return rc;
    jm_jdocs_init(&d, &l.f);
    if (!l.b.rc && (rc = jm_jdocs_next(&d, &doc, l.b.err)) < 0)
        l.b.rc = rc;
    for (int i = 0; i < 3; i++)
        if (l.b.rc || rc <= 0 || !jm_jmember(&l.f, &doc, names[i], &list[i]) || list[i].type != JM_J_ARRAY)
            list[i] = (struct jm_jtoken){.type = JM_J_NULL};
    for (int i = 0; i < 3; i++) { /* the last sample is put at the time of the file */
        jm_jiter_init(&it, &l.f, &list[i]);
        while (jm_jiter_next(&it, NULL, &item, NULL) > 0)
            if (stamp(&l, &item, 0, &t) && t > last)
                last = t;
    }
    for (int i = 0; i < 3 && last >= 0; i++) {
        jm_jiter_init(&it, &l.f, &list[i]);
        while (!l.b.rc && jm_jiter_next(&it, NULL, &item, NULL) > 0)
            if (stamp(&l, &item, l.f.mtime_ns - last, &t))
                take[i](&l, &item, t);
    }
    jm_build_times(&l.b, "the process' own monotonic clock; the last sample is put at the time of the file");
    return jm_devlog_end(&l);
}
