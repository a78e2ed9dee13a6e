/* SPDX-License-Identifier: Apache-2.0 */
/* scaphandre's json exporter: one report after the other ({"host": {"consumption", "timestamp"}, "consumers":
 * [...], "sockets": [{"id", "consumption", "domains": [...]}]}), or a list of them. Consumptions are
 * microwatts: energy since the report before over its time. host is the sum of sockets and DRAM, or psys
 * where there is one; a host without a value is not written. Consumers are shares of it by CPU time, and only
 * the largest. In a virtual machine all of it is what the host's scaphandre wrote. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/devlog.h"
#include "import/probe.h"
#include "import/table.h"

#include "base/banned.h"

struct sca {
    struct jm_devlog l;
    int64_t reports, consumers;
    double host_sum, socket_sum, share_sum;
    struct jm_table_note high, zero;
};

static void put(struct sca *s, enum jm_domain_kind domain, const char *key, const char *name, unsigned flags,
                int64_t t, const struct jm_jtoken *v)
{
    struct jm_dev_kind k = {name,
                            JM_CH_GAUGE,
                            JM_U_W,
                            -6,
                            -6,
                            JM_G_BLOCK_MEAN,
                            0,
                            0,
                            JM_P_ESTIMATED,
                            flags,
                            20e3,
                            "",
                            "scaphandre, RAPL over the time between two reports"};
    struct jm_dev_place p = {.domain = domain, .key = key, .label = key};
    jm_devlog_put(&s->l, jm_devlog_channel(&s->l, &p, &k), t, -6, v->raw);
}

static void sockets(struct sca *s, const struct jm_jtoken *list, int64_t at)
{
    struct jm_jiter it, in;
    struct jm_jtoken sock, v, d, name;
    char id[24], key[48];
    double w;
    jm_jiter_init(&it, &s->l.f, list);
    while (!s->l.b.rc && jm_jiter_next(&it, NULL, &sock, NULL) > 0) {
        int64_t t = at, own;
        id[0] = '\0';
        if (jm_jmember(&s->l.f, &sock, "id", &v))
            jm_jtext(&v, id, sizeof id);
        if (jm_jmember(&s->l.f, &sock, "timestamp", &v) && jm_jtime(&v, 0, &own))
            t = own;
        snprintf(key, sizeof key, "package %s", id);
        jm_text_plain(key, strlen(key), false);
        if (jm_jmember(&s->l.f, &sock, "consumption", &v) && jm_jnum(&v, &w)) {
            put(s, JM_D_PACKAGE, key, "power", 0, t, &v);
            s->socket_sum += w / 1e6;
            if (w > 2e9)
                jm_table_note(&s->high, "package %s: %.4g W", id, w / 1e6);
        }
        if (!jm_jmember(&s->l.f, &sock, "domains", &v) || v.type != JM_J_ARRAY)
            continue;
        jm_jiter_init(&in, &s->l.f, &v);
        while (!s->l.b.rc && jm_jiter_next(&in, NULL, &d, NULL) > 0)
            if (jm_jmember(&s->l.f, &d, "name", &name) && jm_jtoken_is(&name, "dram") &&
                jm_jmember(&s->l.f, &d, "consumption", &v) && jm_jnum(&v, &w)) {
                snprintf(key, sizeof key, "dram %s", id);
                jm_text_plain(key, strlen(key), false);
                put(s, JM_D_DRAM, key, "power", 0, t, &v);
                s->socket_sum += w / 1e6;
            }
    }
}

static void report(struct sca *s, const struct jm_jtoken *doc)
{
    struct jm_jtoken host, v, list, c;
    struct jm_jiter it;
    int64_t t;
    double w;
    if (!jm_jmember(&s->l.f, doc, "host", &host) || !jm_jmember(&s->l.f, &host, "timestamp", &v) ||
        !jm_jtime(&v, 0, &t)) {
        s->l.bad++;
        return;
    }
    s->reports++;
    if (jm_jmember(&s->l.f, &host, "consumption", &v) && jm_jnum(&v, &w)) {
        if (w > 0) {
            put(s, JM_D_RAIL, "host", "power.host", JM_CHF_PARTOF, t, &v);
            s->host_sum += w / 1e6;
        } else {
            jm_table_note(&s->zero, "report %lld: %.6g microwatts", (long long)s->reports, w);
        }
        if (w > 2e10)
            jm_table_note(&s->high, "report %lld: host %.4g W", (long long)s->reports, w / 1e6);
    }
    if (jm_jmember(&s->l.f, doc, "sockets", &list))
        sockets(s, &list, t);
    if (!jm_jmember(&s->l.f, doc, "consumers", &list) || list.type != JM_J_ARRAY)
        return;
    jm_jiter_init(&it, &s->l.f, &list);
    while (jm_jiter_next(&it, NULL, &c, NULL) > 0)
        if (jm_jmember(&s->l.f, &c, "consumption", &v) && jm_jnum(&v, &w)) {
            s->share_sum += w / 1e6;
            s->consumers++;
        }
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct sca *s = calloc(1, sizeof *s);
    struct jm_jdocs d;
    struct jm_jtoken doc, item;
    struct jm_jiter it;
    int rc = s ? jm_devlog_begin(&s->l, "scaphandre", path, out, o, err)
               : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc && (!s || !s->l.b.w)) {
        free(s);
        return rc;
    }
    struct jm_build *b = &s->l.b;
    jm_jdocs_init(&d, &s->l.f);
    while (!b->rc && (rc = jm_jdocs_next(&d, &doc, b->err)) > 0) {
        if (doc.type != JM_J_ARRAY) {
            report(s, &doc);
            continue;
        }
        jm_jiter_init(&it, &s->l.f, &doc);
        while (!b->rc && (rc = jm_jiter_next(&it, NULL, &item, b->err)) > 0)
            report(s, &item);
        if (rc < 0)
            break;
    }
    if (rc < 0 && !b->rc && s->reports < 2)
        b->rc = rc;
    else if (rc < 0 && !b->rc) /* the exporter was stopped while it wrote */
        jm_build_env(b, "import.rows.cut", "the last report is cut");
    if (!b->rc && !s->reports)
        jm_build_fail(b, "%s holds no report of scaphandre with a host and its time", path);
    if (s->reports)
        jm_build_env(b, "import.requests", "%lld reports", (long long)s->reports);
    if (s->host_sum > 0 && s->socket_sum > s->host_sum * 1.02)
        jm_build_env(b, "import.parts",
                     "sockets and DRAM are %.4g times the host that they are in (a zone counted twice, as "
                     "RAPL over MMIO)",
                     s->socket_sum / s->host_sum);
    else if (s->socket_sum > 0 && s->host_sum > s->socket_sum * 1.02)
        jm_build_env(b, "import.host.more",
                     "the host is %.4g times its sockets and DRAM: psys, or a zone counted twice",
                     s->host_sum / s->socket_sum);
    if (s->consumers && s->host_sum > 0)
        jm_build_env(b, "import.allocated",
                     "the largest processes have %.3g %% of the host, by CPU time; what they were given says "
                     "nothing of what they drew",
                     100 * s->share_sum / s->host_sum);
    jm_table_told(b, "import.spikes", &s->high, "powers that no host draws");
    jm_table_told(b, "import.zero", &s->zero, "reports");
    jm_build_env(b, "import.without.gpu", "scaphandre reads RAPL only");
    jm_build_env(b, "import.modelled",
                 "RAPL on the metal; in a virtual machine a share by CPU time that the host wrote, and the "
                 "file does not tell");
    jm_build_times(b, "scaphandre's wall clock, UTC; a power is that of the time since the report before");
    rc = jm_devlog_end(&s->l);
    free(s);
    return rc;
}

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark one[] = {{"host.consumption", 0},
                                               {"host.timestamp", 50},
                                               {"consumers", 25},
                                               {"sockets", 20},
                                               {NULL, 0}},
                                      list[] = {{"[].host.consumption", 0},
                                                {"[].host.timestamp", 50},
                                                {"[].consumers", 25},
                                                {"[].sockets", 20},
                                                {NULL, 0}};
    int a = jm_probe_score(p, one), b = jm_probe_score(p, list);
    return a > b ? a : b;
}

const struct jm_importer jm_import_scaphandre = {
    .name = "scaphandre",
    .summary = "scaphandre's json exporter (reports one after the other, or a list)",
    .reads = "Power of every socket, of DRAM and of the host as readings over the time since the report "
             "before, in microwatts; shares of processes are "
             "counted and left out.",
    .lacks = "GPUs; whether RAPL was read or a hypervisor's share; the first interval; tokens.",
    .sniff = sniff,
    .import = import,
};
