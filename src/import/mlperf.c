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

#include "base/json.h"
#include "import/keep.h"
#include "import/mlperf_accuracy.h"
#include "import/mlperf_facts.h"
#include "import/mlperf_round.h"
#include "import/mlperf_take.h"
#include "import/probe.h"
#include "run/run.h"
#include "wire/loadgen_log.h"
#include "wire/spl.h"

#include "base/banned.h"

#define MAX_JSON ((size_t)16 << 20)

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
    struct jm_loadgen_window old; /* as logs before LoadGen 1.0 have it */
    struct jm_str scratch, value;
};

static int on_entry(struct detail *d, struct jm_loadgen_entry *e)
{
    char key[160], value[600];
    if (e->is_error)
        d->errors++;
    if (e->is_warning)
        d->warnings++;
    if (!e->text.n || e->text.n > 512 || e->key.n > 120)
        return 0;
    jm_str_reset(&d->value);
    jm_loadgen_text(e, &d->value);
    struct jm_span text = jm_str_span(&d->value);
    if (d->value.failed)
        return jm_err_set(d->err, JM_ENOMEM, "out of memory while reading a LoadGen detail log");
    if (jm_span_is(e->key, "power_begin") && d->begin < 0)
        jm_spl_time(text, &d->begin);
    else if (jm_span_is(e->key, "power_end") && d->end < 0)
        jm_spl_time(text, &d->end);
    else if (jm_span_is(e->key, "effective_scenario"))
        snprintf(d->scenario, sizeof d->scenario, "%.*s", (int)text.n, text.p);
    if (d->kept >= 4000)
        return 0;
    d->kept++;
    snprintf(key, sizeof key, "loadgen.%.*s", (int)e->key.n, e->key.p);
    snprintf(value, sizeof value, "%.*s", (int)text.n, text.p);
    return jm_run_put_env(d->w, key, value, d->err);
}

static int detail_line(void *self, const struct jm_log_line *l)
{
    struct detail *d = self;
    struct jm_loadgen_entry e;
    jm_loadgen_window_line(&d->old, l->text);
    int rc = l->cut ? JM_EPARSE : jm_loadgen_line(l->text, &d->scratch, &e);
    if (rc == JM_ENOMEM)
        return jm_err_set(d->err, rc, "out of memory while reading a LoadGen detail log");
    return rc ? 0 : on_entry(d, &e);
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
    int64_t prev;
    int meter, domain;
    char *buffer;
    struct jm_mlperf_accuracy accuracy; /* of the decoded channel */
};

/* A file into the raw table, and its lines to fn (may be NULL); absent is fine. */
static int take(struct work *k, const char *dir, const char *name, const char *as, jm_mlperf_line_fn fn,
                void *self, struct jm_str *text)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return exists(dir, name) ? jm_mlperf_take(k->w, path, as, k->buffer, fn, self, text, k->err) : 0;
}

static int64_t timezone_of(struct jm_span json_text)
{
    struct jm_json *doc;
    int64_t tz = 0;
    if (json_text.n && json_text.n <= MAX_JSON && jm_json_parse(json_text, &doc, NULL) == 0) {
        jm_json_i64(jm_json_get(doc, "timezone"), &tz);
        jm_json_free(doc);
    }
    return tz > 86400 || tz < -86400 ? 0 : tz * JM_NS_PER_S;
}

static int add_channel(struct work *k, int meter, int domain, const char *name, const char *device,
                       unsigned flags, const struct jm_mlperf_accuracy *accuracy, int *id)
{
    struct jm_channel c = {.meter = meter,
                           .kind = JM_CH_GAUGE,
                           .unit = JM_U_W,
                           .scale10 = -6,
                           .period_ns = JM_NS_PER_S,
                           .sem = JM_G_BLOCK_MEAN,
                           .window_ns = JM_NS_PER_S,
                           .gain_tol = accuracy ? accuracy->gain : __builtin_nan(""),
                           .offset_tol = accuracy ? accuracy->offset_w : __builtin_nan(""),
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

static int first_row(struct work *k, const struct jm_spl_row *row)
{
    k->n_sub = row->n_channels;
    for (int i = 0; i < row->n_channels; i++) {
        char name[32];
        snprintf(name, sizeof name, "power.%s%d", row->analyzers ? "analyzer" : "ch", i + 1);
        int rc = add_channel(k, k->meter, k->domain, name, "sut", JM_CHF_PARTOF, NULL, &k->chan_sub[i]);
        if (rc)
            return rc;
    }
    return 0;
}

static int broken_line(struct work *k, const struct jm_log_line *l, const struct jm_err *why)
{
    char text[1200];
    if (k->broken++)
        return 0;
    snprintf(text, sizeof text, "line %lld: %s", (long long)l->number, why->text);
    jm_text_plain(text, strlen(text), false);
    return jm_run_put_env(k->w, "mlperf.spl.first_broken", text, k->err);
}

static int sample_line(void *self, const struct jm_log_line *l)
{
    struct work *k = self;
    struct jm_spl_row row;
    struct jm_err why;
    int rc = jm_spl_parse(l->text, &row, &why);
    if (rc)
        return rc == JM_EAGAIN ? 0 : broken_line(k, l, &why);
    if (k->round.local_time)
        row.time_ns += k->tz_server;
    /* a row that goes back in time counts in the published mean, which asks for no order, but has no place in
     * the time-weighted one */
    bool back = row.time_ns < k->prev;
    if (back) {
        k->out_of_order++;
        row.time_ns = k->prev;
    }
    k->prev = row.time_ns;
    if (!k->rows++ && (rc = first_row(k, &row)))
        return rc;
    switch (row.kind) {
    case JM_SPL_BAD: k->bad++; break;
    case JM_SPL_MISSED: k->missed++; break;
    case JM_SPL_OVER_RANGE: k->over++; break;
    case JM_SPL_GOOD: break;
    }
    bool good = row.kind == JM_SPL_GOOD || row.kind == JM_SPL_OVER_RANGE;
    rc = put(k, k->chan_raw, row.time_ns, row.sum.watts, JM_S_OK);
    if (!rc && !back)
        rc = put(k, k->chan, row.time_ns, row.decoded_uw, good ? JM_S_OK : JM_S_GAP);
    for (int i = 0; !rc && !back && i < k->n_sub && i < row.n_channels; i++) {
        int64_t uw = 0;
        good = jm_spl_decode_watts(&row.channel[i], &uw);
        rc = put(k, k->chan_sub[i], row.time_ns, uw, good ? JM_S_OK : JM_S_GAP);
    }
    return rc;
}

static int put_i64(struct work *k, const char *key, int64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    return jm_run_put_env(k->w, key, text, k->err);
}

static int window(struct work *k)
{
    struct detail *d = &k->detail;
    if (d->begin < 0)
        d->begin = d->old.begin;
    if (d->end < 0)
        d->end = d->old.end;
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
    const char *scenario = jm_mlperf_claimed_of_run(k->s.root, k->detail.scenario);
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

static int small_files(struct work *k, struct jm_str *server)
{
    struct jm_str text;
    jm_str_init(&text);
    int rc = take(k, k->s.run_1, "mlperf_log_summary.txt", "run_1/mlperf_log_summary.txt", NULL, NULL, NULL);
    if (!rc)
        rc = take(k, k->s.power, "client.json", "power/client.json", NULL, NULL, &text);
    k->tz_client = timezone_of(jm_str_span(&text));
    if (!rc)
        rc = take(k, k->s.power, "server.json", "power/server.json", NULL, NULL, server);
    k->tz_server = timezone_of(jm_str_span(server));
    if (!rc)
        rc = take(k, k->s.power, "ptd_logs.txt", "power/ptd_logs.txt", NULL, NULL, NULL);
    jm_str_reset(&text);
    if (!rc)
        rc = take(k, k->s.root, "system.json", "system.json", NULL, NULL, &text);
    if (!rc)
        rc = jm_mlperf_system(k->w, jm_str_span(&text), k->err);
    jm_str_release(&text);
    return rc;
}

/* Before its channel is put down, the log is read once for the power factors in the window. */
static int accuracy(struct work *k, struct jm_span server)
{
    char path[8192];
    bool local = k->round.local_time;
    int64_t tz = local ? k->tz_client : 0;
    snprintf(path, sizeof path, "%s/spl.txt", k->s.run_1);
    if (server.n > MAX_JSON)
        server.n = 0;
    int rc = jm_mlperf_accuracy_of(path, k->buffer, k->detail.begin + tz, k->detail.end + tz,
                                   local ? k->tz_server : 0, server, &k->accuracy, k->err);
    return rc || !k->accuracy.text[0] ? rc
                                      : jm_run_put_env(k->w, "mlperf.accuracy", k->accuracy.text, k->err);
}

static int channels(struct work *k)
{
    struct jm_run_meter m = {.name = "ptdaemon", .state = "ok", .period_ns = JM_NS_PER_S};
    struct jm_domain_tree tree;
    jm_domain_tree_init(&tree);
    k->domain = jm_domain_add(&tree, -1, JM_D_INLET_AC, "sut", "system under test, AC inlet", k->err);
    k->meter = k->domain < 0 ? k->domain : jm_run_put_meter(k->w, &m, k->err);
    int rc = k->meter < 0 ? k->meter : jm_run_put_domains(k->w, &tree, k->err);
    jm_domain_tree_release(&tree);
    if (!rc)
        rc = add_channel(k, k->meter, k->domain, "power.published", "sut", JM_CHF_MIRROR, NULL, &k->chan_raw);
    return rc ? rc : add_channel(k, k->meter, k->domain, "power", "sut", 0, &k->accuracy, &k->chan);
}

static int nothing_in(struct work *k, const char *name, const char *so)
{
    return jm_err_set(k->err, JM_EABSENT, "%s has no %s (or an empty one): %s", k->s.run_1, name, so);
}

static bool filled(const char *dir, const char *name)
{
    char p[8192];
    struct stat st;
    snprintf(p, sizeof p, "%s/%s", dir, name);
    return stat(p, &st) == 0 && st.st_size > 0;
}

static int fill(struct work *k, struct jm_str *server)
{
    struct detail *d = &k->detail;
    if (!filled(k->s.run_1, "spl.txt"))
        return nothing_in(k, "spl.txt", "there is no power log");
    if (!filled(k->s.run_1, "mlperf_log_detail.txt"))
        return nothing_in(k, "mlperf_log_detail.txt", "the window of the power is not known");
    d->w = k->w;
    d->err = k->err;
    d->begin = d->end = -1;
    jm_loadgen_window_init(&d->old);
    int rc =
        take(k, k->s.run_1, "mlperf_log_detail.txt", "run_1/mlperf_log_detail.txt", detail_line, d, NULL);
    if (!rc)
        rc = small_files(k, server);
    jm_mlperf_round_find(k->s.root, d->begin >= 0 ? d->begin : d->old.begin, &k->round);
    if (!rc)
        rc = window(k);
    if (!rc)
        rc = accuracy(k, jm_str_span(server));
    if (!rc)
        rc = channels(k);
    k->prev = INT64_MIN;
    if (!rc)
        rc = take(k, k->s.run_1, "spl.txt", "run_1/spl.txt", sample_line, k, NULL);
    if (!rc && !k->rows)
        rc = jm_err_set(k->err, JM_EPARSE, "%s/spl.txt holds no power sample", k->s.run_1);
    if (!rc)
        rc = facts(k);
    return rc ? rc : jm_mlperf_analyzer(k->w, jm_str_span(server), k->err);
}

/* When the session ran, for the head of the run: the import itself asks no clock, so it gives the same file
 * again. */
static int first_stamp(void *self, const struct jm_log_line *l)
{
    struct jm_loadgen_window *w = self;
    jm_loadgen_window_line(w, l->text);
    return w->begin >= 0 || w->done ? JM_EAGAIN : 0; /* enough */
}

static int64_t measured_at(struct work *k)
{
    char path[8192];
    struct jm_loadgen_window w;
    jm_loadgen_window_init(&w);
    snprintf(path, sizeof path, "%s/mlperf_log_detail.txt", k->s.run_1);
    jm_mlperf_lines(path, k->buffer, first_stamp, &w, NULL);
    return w.begin < 0 ? 0 : w.begin;
}

static int write_run(struct work *k, const char *path, const char *out_path, const struct jm_import_opts *o)
{
    struct jm_str server;
    int rc = jm_keep_begin(&k->w, path, out_path, o, measured_at(k), k->err);
    if (rc)
        return rc;
    jm_str_init(&server);
    jm_str_init(&k->detail.scratch);
    jm_str_init(&k->detail.value);
    rc = fill(k, &server);
    jm_str_release(&server);
    jm_str_release(&k->detail.scratch);
    jm_str_release(&k->detail.value);
    if (!rc)
        rc = jm_run_put_env(k->w, "import.kind", "mlperf-inference", k->err);
    return jm_keep_end(k->w, out_path, rc, k->err);
}

static int import(const char *path, const char *out_path, const struct jm_import_opts *o, struct jm_err *err)
{
    struct work *k = calloc(1, sizeof *k);
    int rc;
    if (k)
        k->buffer = malloc(JM_MLPERF_TAKE);
    if (!k || !k->buffer) {
        rc = jm_err_set(err, JM_ENOMEM, "out of memory while importing %s", path);
    } else if (!locate(path, &k->s)) {
        rc = jm_err_set(err, JM_EABSENT,
                        "%s is no MLPerf power session: neither performance/run_1/spl.txt nor run_1/spl.txt "
                        "nor spl.txt is there",
                        path);
    } else {
        k->err = err;
        rc = write_run(k, path, out_path, o);
    }
    if (k)
        free(k->buffer);
    free(k);
    return rc;
}

const struct jm_importer jm_import_mlperf = {
    .name = "mlperf",
    .summary = "MLPerf Inference power session (directory with performance/)",
    .sniff = sniff,
    .import = import,
};
