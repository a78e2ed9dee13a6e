/* SPDX-License-Identifier: Apache-2.0 */
/* Zeus: the windows of ZeusMonitor(log_file=...) ("start_time,window_name,elapsed_time,gpu0_energy,..."),
 * each the difference of NVML's counters at its edges, and timelines of PowerMonitor as CSV (a column a GPU,
 * or a row a sample with its GPU). PowerMonitor leaves out a sample that equals the one before. Only GPUs are
 * in the log; windows may nest and overlap. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/held.h"
#include "import/table.h"
#include "import/zeus_json.h"

#include "base/banned.h"

#define GPUS      256
#define COUNTER_S 0.1 /* NVML's counter is refreshed about as often (Zeus' own documentation) */

/* "gpu12_energy", "gpu3_power", "power0", "2": the number in it, between the words; -1: none. */
static int index_of(struct jm_span s, const char *head, const char *tail)
{
    struct jm_span h = jm_span_of(head), t = jm_span_of(tail);
    int64_t v;
    s = jm_span_trim(s);
    if (s.n <= h.n + t.n || !jm_span_istarts(s, h) || !jm_span_ends(s, t))
        return -1;
    return jm_num_i64(jm_span_sub(s, h.n, s.n - h.n - t.n), &v) == 0 && v >= 0 && v < 4096 ? (int)v : -1;
}

/* ---- windows */

struct span {
    int64_t t0, t1;
};
struct zeus {
    struct jm_table t;
    struct span *w;
    size_t n, cap;
    struct jm_table_note overlap, brief, negative, cut, none;
};

static void overlaps(struct zeus *z, int64_t t0, int64_t ns, const char *name)
{
    int64_t t1;
    if (__builtin_add_overflow(t0, ns, &t1))
        return;
    if (z->n == z->cap) {
        size_t cap = z->cap ? 2 * z->cap : 64;
        struct span *w = cap <= 100000 ? realloc(z->w, cap * sizeof *w) : NULL;
        if (!w)
            return;
        z->w = w;
        z->cap = cap;
    }
    for (size_t i = z->n; i > 0 && i + 64 > z->n; i--) /* those that ended last */
        if (z->w[i - 1].t0 < t1 && t0 < z->w[i - 1].t1) {
            jm_table_note(&z->overlap, "\"%.80s\" and a window before it", name);
            break;
        }
    z->w[z->n++] = (struct span){t0, t1};
}

static void window(struct zeus *z, struct jm_build *b, const int *gpu)
{
    char name[100], key[32];
    double seconds = NAN, e, sum = 0;
    int64_t t0;
    bool zone;
    int n = 0, of = 0;
    int start = jm_table_col(&z->t, "start_time"), elapsed = jm_table_col(&z->t, "elapsed_time");
    jm_table_text(&z->t, jm_table_col(&z->t, "window_name"), name, sizeof name);
    if (!jm_devlog_time(jm_table_span(&z->t, start), &t0, &zone) || !jm_table_num(&z->t, elapsed, &seconds) ||
        !(seconds >= 0) || !(seconds < 1e9)) {
        jm_table_note(&z->cut, "\"%.80s\"", name);
        return;
    }
    jm_build_window(b, jm_build_repeat(b, name), name[0] ? name : "window", t0, (int64_t)(seconds * 1e9));
    overlaps(z, t0, (int64_t)(seconds * 1e9), name);
    jm_build_claim(b, "elapsed_time", "duration", "sum", seconds, "s", "wall clock (time.time)");
    for (size_t i = 0; i < z->t.n_head; i++) {
        if (gpu[i] < 0)
            continue;
        of++;
        if (!jm_table_num(&z->t, (int)i, &e)) {
            jm_table_note(&z->none, "\"%.80s\", GPU %d", name, gpu[i]);
            continue;
        }
        snprintf(key, sizeof key, "gpu%d_energy", gpu[i]);
        jm_build_energy_claim(b, key, "", "sum", e, "J", "NVML counter, end less start", "gpu");
        if (e < 0)
            jm_table_note(&z->negative, "\"%.80s\", GPU %d: %.6g J", name, gpu[i], e);
        if (seconds > 0 && (e == 0 || seconds < COUNTER_S))
            jm_table_note(&z->brief,
                          "\"%.80s\", GPU %d: %.6g J in %.4g s; the counter is refreshed every 0.1 s", name,
                          gpu[i], e, seconds);
        sum += e;
        n++;
    }
    if (n && n == of)
        jm_build_energy_claim(b, "energy of all GPUs", "energy", "sum", sum, "J",
                              "NVML counters, end less start, added over the GPUs of the row", "gpu");
}

static int import_windows(const char *path, const char *out, const struct jm_import_opts *o,
                          struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_build b;
    struct zeus *z = calloc(1, sizeof *z);
    int *gpu = calloc(JM_TABLE_COLUMNS, sizeof *gpu), gpus = 0, more = 0;
    int rc =
        z && gpu ? jm_ifile_open(path, &f, err) : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc) {
        free(z);
        free(gpu);
        return rc;
    }
    rc = jm_build_begin(&b, "zeus", &f, o, out, f.mtime_ns, err);
    if (!b.rc)
        b.rc = jm_table_open(&z->t, &f, b.err);
    for (size_t i = 0; i < z->t.n_head; i++)
        gpus += (gpu[i] = index_of(z->t.head[i].raw, "gpu", "_energy")) >= 0;
    for (int n = 0; !b.rc && (more = jm_table_row(&z->t, &f, b.err)) > 0;)
        if (!o->select || o->select == ++n)
            window(z, &b, gpu);
    if (more < 0 && !b.rc)
        b.rc = more;
    if (!b.rc && !b.windows)
        jm_build_fail(&b, "%s holds no window%s", path,
                      z->cut.n ? " that ended (a row without start or elapsed time)" : "");
    if (gpus)
        jm_build_env(&b, "import.gpus", "%d", gpus);
    else
        jm_build_env(&b, "import.without.gpu", "no GPU was monitored");
    jm_table_told(&b, "import.overlap", &z->overlap, "windows share their time with another");
    jm_table_told(&b, "import.below_resolution", &z->brief, "energies");
    jm_table_told(&b, "import.negative", &z->negative, "energies");
    jm_table_told(&b, "import.energy.none", &z->none, "energies are missing");
    jm_table_told(&b, "import.rows.cut", &z->cut, "rows");
    jm_build_env(&b, "import.without.host", "Zeus' log has GPUs only, also where CPU and DRAM were read");
    jm_build_env(&b, "import.clock", "wall");
    jm_build_times(&b, "time.time() of the process, UTC");
    jm_build_missing(&b, "requests", "Zeus knows of no requests and no tokens: no ratio is formed");
    jm_build_missing(
        &b, "readings",
        "the log holds the difference of two readings of each counter, not the readings: a reset "
        "inside a window shows as a negative or a too small energy");
    rc = jm_build_end(&b);
    free(z->w);
    free(z);
    free(gpu);
    jm_ifile_close(&f);
    return rc;
}

/* ---- timelines */

enum { TIME_NAMES = 4 };
static const char *const times[TIME_NAMES] = {"timestamp", "time", "timestamp_s", "unix_time"};

static int time_col(const struct jm_table *t)
{
    for (int i = 0; i < TIME_NAMES; i++)
        if (jm_table_col(t, times[i]) >= 0)
            return jm_table_col(t, times[i]);
    return -1;
}

struct line {
    struct jm_table t;
    struct jm_held h[GPUS];
    char key[GPUS][64];
    int n, time, gpu, domain, watts[JM_TABLE_COLUMNS], n_watts;
    int text10;
    int64_t step;
    struct jm_table_note bad;
};

/* Which columns hold power, and of which GPU. */
static bool columns(struct line *z, bool named)
{
    static const char *const long_names[] = {"power_mw", "power", "power_w", "power_watts"};
    z->time = time_col(&z->t);
    z->gpu =
        jm_table_col(&z->t, "gpu_index") >= 0 ? jm_table_col(&z->t, "gpu_index") : jm_table_col(&z->t, "gpu");
    z->domain = jm_table_col(&z->t, "domain") >= 0 ? jm_table_col(&z->t, "domain")
                                                   : jm_table_col(&z->t, "power_domain");
    z->n_watts = 0;
    for (size_t i = 0; i < sizeof long_names / sizeof long_names[0] && z->gpu >= 0 && !z->n_watts; i++)
        if ((z->watts[0] = jm_table_col(&z->t, long_names[i])) >= 0) {
            z->text10 = i == 0 ? -3 : 0;
            z->n_watts = 1;
        }
    if (z->n_watts)
        return z->time >= 0;
    z->gpu = -1;
    for (size_t i = 0; i < z->t.n_head; i++) {
        struct jm_span s = z->t.head[i].raw;
        if (index_of(s, "power", "") >= 0 || index_of(s, "gpu", "_power") >= 0 ||
            index_of(s, "gpu", "_power_w") >= 0 || index_of(s, "", "") >= 0 || index_of(s, "gpu", "") >= 0)
            z->watts[z->n_watts++] = (int)i;
    }
    /* the first PowerMonitor had a file a GPU, with "Time,Power": anybody's columns, so that it must be said
     */
    if (!z->n_watts && named && (z->watts[0] = jm_table_col(&z->t, "power")) >= 0)
        z->n_watts = 1;
    return z->time >= 0 && z->n_watts > 0;
}

static struct jm_held *series(struct line *z, struct jm_devlog *l, const char *key, const char *domain)
{
    char label[64];
    snprintf(label, sizeof label, "%.40s%s%.16s", key, domain[0] ? " " : "", domain);
    for (int i = 0; i < z->n; i++)
        if (strcmp(z->key[i], label) == 0)
            return &z->h[i];
    if (z->n == GPUS)
        return NULL;
    struct jm_span none = {NULL, 0};
    struct jm_dev_kind k = jm_dev_nvml(strstr(domain, "average") ? JM_NVML_Q_AVERAGE : JM_NVML_Q_INSTANT,
                                       none, 0, "Zeus PowerMonitor");
    struct jm_dev_place p = {.domain = strstr(domain, "memory") ? JM_D_HBM : JM_D_GPU,
                             .key = key,
                             .label = key,
                             .parent = strstr(domain, "memory") ? key : NULL};
    snprintf(z->key[z->n], sizeof z->key[0], "%s", label);
    struct jm_held *h = &z->h[z->n];
    *h = (struct jm_held){.ch = jm_devlog_channel(l, &p, &k), .t = -1, .text10 = z->text10, .last = NAN};
    return h->ch < 0 ? NULL : &z->h[z->n++];
}

/* The polling step: the least distance of two rows of other times. */
static int64_t step_of(struct line *z, const struct jm_ifile *f)
{
    int64_t step = INT64_MAX, t, last = -1;
    bool zone;
    if (jm_table_open(&z->t, f, NULL) || !columns(z, true))
        return 0;
    while (jm_table_row(&z->t, f, NULL) > 0) {
        if (!jm_devlog_time(jm_table_span(&z->t, z->time), &t, &zone))
            continue;
        if (last >= 0 && t > last + 1000000 && t - last < step)
            step = t - last;
        last = t;
    }
    return step == INT64_MAX ? 0 : step;
}

/* A sample that equals the one before shows that none was left out. */
static bool repeats(struct line *z, const struct jm_ifile *f)
{
    char last[JM_TABLE_COLUMNS > 64 ? 64 : 1][32];
    memset(last, 0, sizeof last);
    if (jm_table_open(&z->t, f, NULL) || !columns(z, true) || z->gpu >= 0)
        return false;
    while (jm_table_row(&z->t, f, NULL) > 0) {
        bool all = z->n_watts > 0;
        for (int i = 0; i < z->n_watts && i < 64; i++) {
            struct jm_span s = jm_table_span(&z->t, z->watts[i]);
            all &= s.n > 0 && jm_span_is(s, last[i]);
            snprintf(last[i], sizeof last[i], "%.*s", s.n < 31 ? (int)s.n : 31, s.p ? s.p : "");
        }
        if (all)
            return true;
    }
    return false;
}

static int import_power(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_devlog l;
    struct line *z = calloc(1, sizeof *z);
    int more = 0, rc = z ? jm_devlog_begin(&l, "zeus-power", path, out, o, err)
                         : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc && (!z || !l.b.w)) {
        free(z);
        return rc;
    }
    bool plain = !l.b.rc && repeats(z, &l.f);
    z->step = l.b.rc || plain ? 0 : step_of(z, &l.f);
    if (!l.b.rc)
        l.b.rc = jm_table_open(&z->t, &l.f, l.b.err);
    if (!l.b.rc && !columns(z, true))
        jm_build_fail(&l.b, "%s has no column of time and power", path);
    int64_t t, end = -1;
    while (!l.b.rc && (more = jm_table_row(&z->t, &l.f, l.b.err)) > 0) {
        bool zone;
        char key[64], domain[32];
        if (!jm_devlog_time(jm_table_span(&z->t, z->time), &t, &zone)) {
            jm_table_note(&z->bad, "line %lld has no time", (long long)z->t.csv.line);
            continue;
        }
        end = t > end ? t : end;
        jm_table_text(&z->t, z->domain, domain, sizeof domain);
        for (int i = 0; i < z->n_watts; i++) {
            if (z->gpu >= 0) {
                char id[32];
                snprintf(key, sizeof key, "gpu %s", jm_table_text(&z->t, z->gpu, id, sizeof id));
            } else {
                struct jm_span s = jm_span_trim(z->t.head[z->watts[i]].raw);
                int n = index_of(s, "power", "") >= 0         ? index_of(s, "power", "")
                        : index_of(s, "gpu", "_power") >= 0   ? index_of(s, "gpu", "_power")
                        : index_of(s, "gpu", "_power_w") >= 0 ? index_of(s, "gpu", "_power_w")
                        : index_of(s, "gpu", "") >= 0         ? index_of(s, "gpu", "")
                                                              : index_of(s, "", "");
                snprintf(key, sizeof key, "gpu %d", n);
            }
            struct jm_held *h = series(z, &l, key, domain);
            if (h)
                jm_held_put(&l, h, t, z->step, jm_table_span(&z->t, z->watts[i]));
        }
    }
    if (more < 0 && !l.b.rc)
        l.b.rc = more;
    for (int i = 0; i < z->n; i++)
        jm_held_until(&l, &z->h[i], end, z->step);
    jm_held_told(&l, z->h, (size_t)z->n);
    jm_table_told(&l.b, "import.rows.cut", &z->bad, "lines");
    jm_build_times(&l.b, "time.time() of the polling process, UTC");
    rc = jm_devlog_end(&l);
    free(z);
    return rc;
}

static bool is_power(const struct jm_probe *p)
{
    struct jm_ifile line = {.path = p->path, .text = p->line};
    struct line *z = p->f && !p->json && !p->dir && !p->sqlite && p->line.n ? calloc(1, sizeof *z) : NULL;
    bool is = z && jm_table_open(&z->t, &line, NULL) == 0 && z->t.n_head < 300 && columns(z, false);
    free(z);
    return is;
}

static int sniff(const struct jm_probe *p)
{
    static const char *const need[] = {"start_time", "window_name", "elapsed_time", NULL};
    return p->json ? jm_zeus_json_sniff(p) : jm_table_looks(p, need) ? 95 : is_power(p) ? 70 : 0;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    static const char *const need[] = {"window_name", NULL};
    struct jm_ifile f;
    struct jm_probe *p = malloc(sizeof *p);
    int rc = p ? jm_ifile_open(path, &f, err)
               : jm_err_set(err, JM_ENOMEM, "out of memory for a look into %s", path);
    if (rc) {
        free(p);
        return rc;
    }
    jm_probe_look(p, path, &f);
    bool windows = jm_table_looks(p, need), json = p->json;
    free(p);
    jm_ifile_close(&f);
    return json      ? jm_zeus_json_import(path, out, o, err)
           : windows ? import_windows(path, out, o, err)
                     : import_power(path, out, o, err);
}

const struct jm_importer jm_import_zeus = {
    .name = "zeus",
    .summary = "Zeus: ZeusMonitor's log_file (a row a window), PowerMonitor timelines as CSV, "
               "Measurement and power limit profile as JSON",
    .reads =
        "Each window with the energy of every GPU and of all of them as claims. Timelines: power of every "
        "GPU as readings; "
        "where PowerMonitor left out samples that equal the one before, a value holds until the next one.",
    .lacks = "CPU and DRAM; the readings behind a window; tokens and requests.",
    .sniff = sniff,
    .import = import,
};
