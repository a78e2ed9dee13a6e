/* SPDX-License-Identifier: Apache-2.0 */
/* An MLPerf Inference power session (the directory that holds performance/, or run_1/, or the three logs
 * themselves) → a run at the wall boundary. The window is LoadGen's power_begin to power_end. Power is kept
 * twice: as the analyzer's log has it (what is published is computed from that), and decoded: missed samples
 * as gaps, over-range samples with their true value. */
#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "import/mlperf_facts.h"
#include "import/mlperf_round.h"
#include "import/probe.h"
#include "run/run.h"
#include "wire/loadgen_log.h"
#include "wire/spl.h"

#include "base/banned.h"

#define MAX_LOG (256u << 20)

struct session {
    char run_1[4096], power[4096], root[4096];
};

static bool exists(const char *dir, const char *name)
{
    char p[8192];
    struct stat st;
    snprintf(p, sizeof p, "%s/%s", dir, name);
    return stat(p, &st) == 0;
}

/* Finds the folder with spl.txt: PATH/performance/run_1, PATH/run_1 or PATH. */
static bool locate(const char *path, struct session *s)
{
    static const char *const below[] = {"/performance/run_1", "/run_1", ""};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        snprintf(s->run_1, sizeof s->run_1, "%.*s%s", (int)n, path, below[i]);
        if (exists(s->run_1, "spl.txt") || exists(s->run_1, "mlperf_log_detail.txt")) {
            snprintf(s->power, sizeof s->power, "%s/%s", s->run_1, "../power");
            snprintf(s->root, sizeof s->root, "%.*s", (int)n, path);
            return true;
        }
    }
    return false;
}

static int sniff(const struct jm_probe *p)
{
    struct session s;
    if (!locate(p->path, &s))
        return 0;
    return exists(s.run_1, "spl.txt") && exists(s.run_1, "mlperf_log_detail.txt") ? 95 : 40;
}

/* ---- LoadGen's logs
 * ------------------------------------------------------------------------------------------- */

struct detail {
    struct jm_run_writer *w;
    struct jm_err *err;
    int64_t begin, end; /* as written, -1: not there */
    int64_t kept, errors, warnings;
    char scenario[32];
};

static int on_entry(void *self, const struct jm_loadgen_entry *e)
{
    struct detail *d = self;
    char key[160];
    if (e->is_error)
        d->errors++;
    if (e->is_warning)
        d->warnings++;
    if (!e->text.n || e->text.n > 512 || e->key.n > 120)
        return 0;
    if (jm_span_is(e->key, "power_begin") && d->begin < 0)
        jm_spl_time(e->text, &d->begin);
    else if (jm_span_is(e->key, "power_end") && d->end < 0)
        jm_spl_time(e->text, &d->end);
    else if (jm_span_is(e->key, "effective_scenario"))
        snprintf(d->scenario, sizeof d->scenario, "%.*s", (int)e->text.n, e->text.p);
    if (d->kept >= 4000)
        return 0;
    d->kept++;
    snprintf(key, sizeof key, "loadgen.%.*s", (int)e->key.n, e->key.p);
    char value[600];
    if (e->has_integer)
        snprintf(value, sizeof value, "%lld", (long long)e->integer);
    else
        snprintf(value, sizeof value, "%.*s", (int)e->text.n, e->text.p);
    return jm_run_put_env(d->w, key, value, d->err);
}

/* Logs before LoadGen 1.0 wrote POWER_BEGIN lines in other forms: the first time after the word. */
static int64_t old_stamp(struct jm_span text, const char *upper, const char *lower)
{
    struct jm_span line;
    int64_t t;
    while (jm_span_line(&text, &line)) {
        if (jm_span_find(line, jm_span_of(upper)) < 0 && jm_span_find(line, jm_span_of(lower)) < 0)
            continue;
        for (size_t i = 0; i + 19 <= line.n; i++)
            for (size_t n = 23; n >= 19; n -= 4)
                if (i + n <= line.n && jm_spl_time(jm_span_sub(line, i, n), &t) == 0)
                    return t;
        return -1;
    }
    return -1;
}

/* ---- the parts of the run
 * ---------------------------------------------------------------------------------------- */

struct work {
    struct session s;
    struct jm_run_writer *w;
    struct jm_err *err;
    struct detail detail;
    struct jm_mlperf_round round;
    int64_t tz_client, tz_server; /* ns to add to local times, v1.0 only */
    int chan_raw, chan, chan_sub[JM_SPL_CHANNELS], n_sub;
    int64_t rows, missed, bad, over, broken, out_of_order;
    int64_t first, last;
};

/* A file into the raw table; absent is fine. Its text stays in *text when wanted. */
static int take(struct work *k, const char *dir, const char *name, const char *as, struct jm_str *text)
{
    char path[8192];
    struct jm_str own;
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (stat(path, &st) != 0)
        return 0;
    jm_str_init(&own);
    struct jm_str *t = text ? text : &own;
    int rc = jm_file_read(path, MAX_LOG, t, k->err);
    if (!rc)
        rc = jm_run_put_raw(k->w, as, path, jm_str_span(t), k->err);
    jm_str_release(&own);
    return rc;
}

static int64_t timezone_of(struct jm_span json_text)
{
    struct jm_json *doc;
    int64_t tz = 0;
    if (json_text.n && jm_json_parse(json_text, &doc, NULL) == 0) {
        jm_json_i64(jm_json_get(doc, "timezone"), &tz);
        jm_json_free(doc);
    }
    return tz > 86400 || tz < -86400 ? 0 : tz * JM_NS_PER_S;
}

static int add_channel(struct work *k, int meter, int domain, const char *name, const char *device,
                       unsigned flags, int *id)
{
    struct jm_channel c = {.meter = meter,
                           .kind = JM_CH_GAUGE,
                           .unit = JM_U_W,
                           .scale10 = -6,
                           .period_ns = JM_NS_PER_S,
                           .sem = JM_G_BLOCK_MEAN,
                           .window_ns = JM_NS_PER_S,
                           .gain_tol = __builtin_nan(""),
                           .offset_tol = __builtin_nan(""),
                           .provenance = JM_P_MEASURED,
                           .domain = domain,
                           .flags = flags | JM_CHF_STAMPED};
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.device, sizeof c.device, "%s", device);
    snprintf(c.source, sizeof c.source, "PTDaemon log spl.txt");
    return jm_run_put_channel(k->w, &c, id, k->err);
}

static int put(struct work *k, int channel, int64_t t, int64_t uw, enum jm_status st)
{
    struct jm_reading r = {
        .t0 = t, .t1 = t, .value = uw, .channel = (uint32_t)channel, .status = (uint8_t)st};
    return jm_run_put_readings(k->w, &r, 1, k->err);
}

static int samples(struct work *k, struct jm_span text, int meter, int domain)
{
    struct jm_span line;
    struct jm_spl_row row;
    int64_t n = 0, prev = INT64_MIN;
    while (jm_span_line(&text, &line)) {
        struct jm_err why;
        int rc = jm_spl_parse(line, &row, &why);
        n++;
        if (rc == JM_EAGAIN)
            continue;
        if (rc) {
            if (!k->broken++)
                rc = jm_run_put_env(k->w, "mlperf.spl.first_broken", why.text, k->err);
            else
                rc = 0;
            if (rc)
                return rc;
            continue;
        }
        if (k->round.local_time)
            row.time_ns += k->tz_server;
        /* a row that goes back in time counts in the published mean, which asks for no order, but has no
         * place in the time-weighted one */
        bool back = row.time_ns < prev;
        if (back) {
            k->out_of_order++;
            row.time_ns = prev;
        }
        prev = row.time_ns;
        if (!k->rows) {
            k->first = row.time_ns;
            for (int i = 0; i < row.n_channels; i++) {
                char name[32];
                snprintf(name, sizeof name, "power.%s%d", row.analyzers ? "analyzer" : "ch", i + 1);
                rc = add_channel(k, meter, domain, name, "sut", JM_CHF_PARTOF, &k->chan_sub[i]);
                if (rc)
                    return rc;
            }
            k->n_sub = row.n_channels;
        }
        k->rows++;
        k->last = row.time_ns;
        int64_t uw = 0;
        bool good = jm_spl_decode_watts(&row.sum, &uw);
        switch (jm_spl_kind_of(&row.sum)) {
        case JM_SPL_BAD: k->bad++; break;
        case JM_SPL_MISSED: k->missed++; break;
        case JM_SPL_OVER_RANGE: k->over++; break;
        case JM_SPL_GOOD: break;
        }
        rc = put(k, k->chan_raw, row.time_ns, row.sum.watts, JM_S_OK);
        if (!rc && !back)
            rc = put(k, k->chan, row.time_ns, uw, good ? JM_S_OK : JM_S_GAP);
        for (int i = 0; !rc && !back && i < k->n_sub && i < row.n_channels; i++) {
            good = jm_spl_decode_watts(&row.channel[i], &uw);
            rc = put(k, k->chan_sub[i], row.time_ns, uw, good ? JM_S_OK : JM_S_GAP);
        }
        if (rc)
            return rc;
    }
    if (!k->rows)
        return jm_err_set(k->err, JM_EPARSE, "%s/spl.txt holds no power sample in %lld lines", k->s.run_1,
                          (long long)n);
    return 0;
}

static int put_i64(struct work *k, const char *key, int64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    return jm_run_put_env(k->w, key, text, k->err);
}

static int window(struct work *k, struct jm_span detail_text)
{
    struct detail *d = &k->detail;
    if (d->begin < 0)
        d->begin = old_stamp(detail_text, "POWER_BEGIN", "power_begin");
    if (d->end < 0)
        d->end = old_stamp(detail_text, "POWER_END", "power_end");
    if (d->begin < 0 || d->end < 0)
        return jm_err_set(
            k->err, JM_EPARSE,
            "%s/mlperf_log_detail.txt has no power_begin and power_end, so the window of the power is not "
            "known; take the logs of a run that was measured with power",
            k->s.run_1);
    if (d->end <= d->begin)
        return jm_err_set(k->err, JM_EPARSE, "%s/mlperf_log_detail.txt: power_end is not after power_begin",
                          k->s.run_1);
    int64_t tz = k->round.local_time ? k->tz_client : 0;
    struct jm_window win = {.id = 0, .role = JM_R_MEASURE, .t0 = d->begin + tz};
    snprintf(win.name, sizeof win.name, "loadgen");
    struct jm_clock_pair pair = {win.t0, win.t0, win.t0, win.t0};
    int rc = jm_run_put_clock_pair(k->w, &pair, k->err);
    if (!rc)
        rc = jm_run_open_window(k->w, &win, k->err);
    return rc ? rc : jm_run_close_window(k->w, 0, d->end + tz, k->err);
}

static int facts(struct work *k)
{
    const char *scenario = jm_mlperf_claimed(k->s.root);
    int rc = jm_run_put_env(k->w, "mlperf.round", k->round.name, k->err);
    if (!rc)
        rc = jm_run_put_env(k->w, "mlperf.round_from", k->round.from, k->err);
    if (!rc)
        rc = jm_run_put_env(k->w, "mlperf.drop_nonpositive", k->round.drop_nonpositive ? "1" : "0", k->err);
    if (!rc)
        rc = jm_mlperf_round_facts(k->w, &k->round, k->err);
    if (!rc)
        rc = jm_run_put_env(k->w, "mlperf.scenario", k->detail.scenario, k->err);
    if (!rc && scenario)
        rc = jm_run_put_env(k->w, "mlperf.claimed_scenario", scenario, k->err);
    if (!rc)
        rc = put_i64(k, "mlperf.spl.rows", k->rows);
    if (!rc)
        rc = put_i64(k, "mlperf.spl.bad", k->bad);
    if (!rc)
        rc = put_i64(k, "mlperf.spl.missed", k->missed);
    if (!rc)
        rc = put_i64(k, "mlperf.spl.over_range", k->over);
    if (!rc)
        rc = put_i64(k, "mlperf.spl.broken", k->broken);
    if (!rc)
        rc = put_i64(k, "mlperf.spl.out_of_order", k->out_of_order);
    if (!rc)
        rc = put_i64(k, "mlperf.loadgen.errors", k->detail.errors);
    if (!rc)
        rc = put_i64(k, "mlperf.loadgen.warnings", k->detail.warnings);
    return rc;
}

static int fill(struct work *k, struct jm_str *spl, struct jm_str *detail, struct jm_str *client,
                struct jm_str *server, struct jm_str *system)
{
    struct jm_run_meter m = {.name = "ptdaemon", .state = "ok", .period_ns = JM_NS_PER_S};
    struct jm_domain_tree tree;
    int64_t broken, t = -1;
    int rc = take(k, k->s.run_1, "spl.txt", "run_1/spl.txt", spl);
    if (!rc)
        rc = take(k, k->s.run_1, "mlperf_log_detail.txt", "run_1/mlperf_log_detail.txt", detail);
    if (!rc)
        rc = take(k, k->s.run_1, "mlperf_log_summary.txt", "run_1/mlperf_log_summary.txt", NULL);
    if (!rc)
        rc = take(k, k->s.power, "client.json", "power/client.json", client);
    if (!rc)
        rc = take(k, k->s.power, "server.json", "power/server.json", server);
    if (!rc)
        rc = take(k, k->s.power, "ptd_logs.txt", "power/ptd_logs.txt", NULL);
    if (!rc)
        rc = take(k, k->s.root, "system.json", "system.json", system);
    if (rc)
        return rc;
    if (!spl->len)
        return jm_err_set(k->err, JM_EABSENT, "%s has no spl.txt (or an empty one): there is no power log",
                          k->s.run_1);
    if (!detail->len)
        return jm_err_set(
            k->err, JM_EABSENT,
            "%s has no mlperf_log_detail.txt (or an empty one): the window of the power is not known",
            k->s.run_1);
    k->detail = (struct detail){.w = k->w, .err = k->err, .begin = -1, .end = -1};
    rc = jm_loadgen_detail(jm_str_span(detail), on_entry, &k->detail, &broken, k->err);
    if (rc)
        return rc;
    t = k->detail.begin;
    jm_mlperf_round_find(k->s.root, t, &k->round);
    k->tz_client = timezone_of(jm_str_span(client));
    k->tz_server = timezone_of(jm_str_span(server));
    rc = window(k, jm_str_span(detail));
    if (rc)
        return rc;
    jm_domain_tree_init(&tree);
    int inlet = jm_domain_add(&tree, -1, JM_D_INLET_AC, "sut", "system under test, AC inlet", k->err);
    int meter = inlet < 0 ? inlet : jm_run_put_meter(k->w, &m, k->err);
    rc = meter < 0 ? meter : jm_run_put_domains(k->w, &tree, k->err);
    jm_domain_tree_release(&tree);
    if (!rc)
        rc = add_channel(k, meter, inlet, "power.published", "sut", JM_CHF_MIRROR, &k->chan_raw);
    if (!rc)
        rc = add_channel(k, meter, inlet, "power", "sut", 0, &k->chan);
    if (!rc)
        rc = samples(k, jm_str_span(spl), meter, inlet);
    if (!rc)
        rc = facts(k);
    if (!rc)
        rc = jm_mlperf_analyzer(k->w, jm_str_span(server), k->err);
    return rc ? rc : jm_mlperf_system(k->w, jm_str_span(system), k->err);
}

/* When the session ran, for the head of the run: the import itself asks no clock, so it gives the same file
 * again. */
static int64_t measured_at(const char *run_1)
{
    char path[8192];
    struct jm_str text;
    snprintf(path, sizeof path, "%s/mlperf_log_detail.txt", run_1);
    jm_str_init(&text);
    int64_t t = jm_file_read(path, MAX_LOG, &text, NULL)
                    ? -1
                    : old_stamp(jm_str_span(&text), "POWER_BEGIN", "power_begin");
    jm_str_release(&text);
    return t < 0 ? 0 : t;
}

static int import(const char *path, const char *out_path, const struct jm_import_opts *o, struct jm_err *err)
{
    struct work *k = calloc(1, sizeof *k);
    struct jm_str spl, detail, client, server, system;
    if (!k)
        return jm_err_set(err, JM_ENOMEM, "out of memory while importing %s", path);
    k->err = err;
    int rc;
    if (!locate(path, &k->s)) {
        rc = jm_err_set(err, JM_EABSENT,
                        "%s is no MLPerf power session: neither performance/run_1/spl.txt nor run_1/spl.txt "
                        "nor spl.txt is there",
                        path);
        free(k);
        return rc;
    }
    struct jm_run_create c = {
        .label = o->label, .kind = "imported", .source = path, .overwrite = o->overwrite, .seed = 1};
    c.created_real = measured_at(k->s.run_1);
    rc = jm_run_create(out_path, &c, &k->w, err);
    if (!rc) {
        jm_str_init(&spl);
        jm_str_init(&detail);
        jm_str_init(&client);
        jm_str_init(&server);
        jm_str_init(&system);
        rc = fill(k, &spl, &detail, &client, &server, &system);
        jm_str_release(&spl);
        jm_str_release(&detail);
        jm_str_release(&client);
        jm_str_release(&server);
        jm_str_release(&system);
        if (!rc)
            rc = jm_run_put_env(k->w, "import.kind", "mlperf-inference", err);
        if (rc) {
            jm_run_abandon(k->w);
            remove(out_path); /* an import that failed leaves nothing behind: its source is still there */
        } else {
            rc = jm_run_seal(k->w, err);
        }
    }
    free(k);
    return rc;
}

const struct jm_importer jm_import_mlperf = {
    .name = "mlperf",
    .summary = "MLPerf Inference power session (directory with performance/)",
    .sniff = sniff,
    .import = import,
};
