/* SPDX-License-Identifier: Apache-2.0 */
#include "import/promdev.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

/* What one and the same label of all series says of the machine. */
static void agree(char *known, size_t room, bool *several, struct jm_span v)
{
    if (*several || !v.n || v.n >= room)
        return;
    *several = known[0] && !jm_span_is(v, known);
    snprintf(known, room, "%.*s", *several ? 0 : (int)v.n, v.p);
    jm_text_plain(known, strlen(known), false);
}

static void machine_of(struct jm_promdev *p, const struct jm_prom_series *s)
{
    static const char *const names[] = {"Hostname", "hostname", "node", "nodename"};
    struct jm_span v;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (jm_promdev_label(s, jm_span_of(names[i]), &v)) {
            agree(p->host, sizeof p->host, &p->hosts, v);
            break;
        }
    if (jm_promdev_label(s, JM_SPAN("DCGM_FI_DRIVER_VERSION"), &v))
        agree(p->version, sizeof p->version, &p->versions, v);
}

int jm_promdev_channel(struct jm_promdev *p, const struct jm_prom_series *s, int *text10)
{
    struct jm_promdev_quantity q;
    p->series++;
    if (!jm_promdev_describe(s, p->driver, &q)) {
        p->unnamed += !s->metric.n;
        p->unknown += s->metric.n > 0;
        if (s->metric.n && !p->first_unknown[0])
            snprintf(p->first_unknown, sizeof p->first_unknown, "%.*s",
                     s->metric.n < 150 ? (int)s->metric.n : 150, s->metric.p);
        return JM_PROMDEV_OTHER;
    }
    machine_of(p, s);
    struct jm_dev_place place = {.host = q.host,
                                 .domain = q.domain,
                                 .key = q.key,
                                 .label = q.domain == JM_D_NODE ? NULL : q.label,
                                 .parent = q.parent[0] ? q.parent : NULL};
    size_t before = p->l.n;
    int ch = jm_devlog_channel(&p->l, &place, &q.kind);
    if (ch < 0)
        return JM_PROMDEV_OTHER;
    *text10 = q.tenth_kwh ? JM_PROMDEV_TENTH_KWH : q.kind.text10;
    /* one value for each instance or core: the first of them stands for all */
    if (q.repeats) {
        uint64_t h = jm_build_hash(1, q.of);
        if (p->l.n > before)
            p->l.ch[ch].owner = h;
        else if (p->l.ch[ch].owner != h) {
            *(q.repeats == JM_PROMDEV_MIG ? &p->mig : &p->cores) += 1;
            return JM_PROMDEV_REPEAT;
        }
    }
    /* the same device under other labels: a pod that was started anew, a second scraper */
    uint64_t all = jm_build_hash(1, s->metric);
    for (size_t i = 0; i < s->n; i++)
        all = jm_build_hash(jm_build_hash(all, s->name[i]), s->value[i]);
    if (p->l.ch[ch].series && p->l.ch[ch].series != all)
        p->combined++;
    p->l.ch[ch].series = all;
    return ch;
}

void jm_promdev_put(struct jm_promdev *p, int ch, int64_t t, int text10, struct jm_span text)
{
    char joules[48];
    double d;
    if (text10 == JM_PROMDEV_TENTH_KWH) {
        if (jm_num_double(text, &d) == 0 && d >= 0 && d < 1e12) {
            snprintf(joules, sizeof joules, "%.0f", d * 360000);
            text = jm_span_of(joules);
        } else if (jm_num_double(text, &d) == 0) { /* -1: not supported */
            jm_devlog_gap(&p->l, ch, t, JM_S_UNSUPPORTED);
            return;
        }
        text10 = 0;
    }
    if (jm_span_ieq(text, JM_SPAN("+Inf")) || jm_span_ieq(text, JM_SPAN("-Inf")) ||
        jm_span_ieq(text, JM_SPAN("Inf"))) {
        p->l.missing++;
        jm_devlog_gap(&p->l, ch, t, JM_S_ABSENT);
        return;
    }
    jm_devlog_put(&p->l, ch, t, text10, text);
}

int jm_promdev_end(struct jm_promdev *p)
{
    struct jm_build *b = &p->l.b;
    if (!b->rc && !p->l.n) {
        if (p->unnamed)
            jm_build_fail(
                b,
                "%s holds series without a name, as a function (rate, increase, sum) gives them; ask for the "
                "series themselves: DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, not increase(...)",
                p->l.f.path);
        else
            jm_build_fail(b, "%s holds no series of energy or power that is known%s%s", p->l.f.path,
                          p->first_unknown[0] ? "; the first one is " : "", p->first_unknown);
    }
    if (p->host[0])
        jm_build_env(b, "host.name", "%s", p->host);
    if (p->version[0])
        jm_build_env(b, "nvml.driver", "%s", p->version);
    jm_build_env(b, "import.series", "%lld", (long long)p->series);
    if (p->unknown)
        jm_build_env(b, "import.series.other", "%lld, the first is %s", (long long)p->unknown,
                     p->first_unknown);
    if (p->unnamed)
        jm_build_env(b, "import.series.unnamed", "%lld", (long long)p->unnamed);
    if (p->mig)
        jm_build_env(b, "import.repeats.mig", "%lld", (long long)p->mig);
    if (p->cores)
        jm_build_env(b, "import.repeats.core", "%lld", (long long)p->cores);
    if (p->combined)
        jm_build_env(b, "import.series.joined", "%lld", (long long)p->combined);
    return jm_devlog_end(&p->l);
}
