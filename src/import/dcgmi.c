/* SPDX-License-Identifier: Apache-2.0 */
/* dcgmi stats -j ID [-v]: totals that DCGM states of a job, kept as claims; dcgmi dmon: lines of readings.
 * Layout and meaning of stats are those of dcgmi/ProcessStats.cpp and DcgmCacheManager.cpp: the energy is the
 * last minus the first *cached* sample of field 156, and the cache keeps 3600 s unless told otherwise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "import/devlog.h"
#include "import/probe.h"

#include "base/banned.h"

#define CACHE_S 3600.0
#define GPUS    1024

static int form(struct jm_span text)
{
    struct jm_span rest = jm_span_sub(text, 0, 65536), line;
    while (jm_span_line(&rest, &line)) {
        struct jm_span s = jm_span_trim(line);
        if (jm_span_starts(s, JM_SPAN("#Entity")) || jm_span_starts(s, JM_SPAN("# Entity")))
            return 'd';
        if (jm_span_starts(s, JM_SPAN("|")) && jm_span_find(s, JM_SPAN("Energy Consumed (Joules)")) > 0)
            return 's';
    }
    return 0;
}

static int sniff(const struct jm_probe *p)
{
    return p->f && !p->json && !p->sqlite && form(p->f->text) ? 90 : 0;
}

/* ---- stats */

struct job_gpu {
    char name[24]; /* "gpu1", "summary" */
    double joules, mean, max, min, seconds;
    bool blank, has;
    int64_t start, end;
    bool has_start, has_end, running;
};

static double number(struct jm_span s)
{
    double d;
    return jm_num_double(jm_span_trim(s), &d) == 0 ? d : NAN;
}

/* "Avg: 69.7762, Max: 70.022, Min: 69.151" */
static double part(struct jm_span s, struct jm_span name)
{
    ptrdiff_t i = jm_span_find(s, name);
    if (i < 0)
        return NAN;
    s = jm_span_sub(s, (size_t)i + name.n, s.n);
    ptrdiff_t e = jm_span_chr(s, ',');
    return number(jm_span_sub(s, 0, e < 0 ? s.n : (size_t)e));
}

static void value(struct job_gpu *g, struct jm_span name, struct jm_span v)
{
    bool zone;
    if (jm_span_is(name, "Start Time")) {
        g->has_start = jm_devlog_time(v, &g->start, &zone);
    } else if (jm_span_is(name, "End Time")) {
        g->has_end = jm_devlog_time(v, &g->end, &zone);
        g->running = jm_span_is(v, "Still Running");
    } else if (jm_span_is(name, "Total Execution Time (sec)")) {
        g->seconds = number(v);
        if (jm_span_is(v, "Still Running"))
            g->running = true;
    } else if (jm_span_is(name, "Energy Consumed (Joules)")) {
        double d = number(v);
        g->has = true;
        enum jm_status why;
        g->blank = jm_dcgm_blank(d, &why) || jm_dcgm_blank(d * 1e3, &why) || d >= 9e15;
        g->joules = d;
    } else if (jm_span_is(name, "Power Usage (Watts)")) {
        g->mean = part(v, JM_SPAN("Avg: "));
        g->max = part(v, JM_SPAN("Max: "));
        g->min = part(v, JM_SPAN("Min: "));
    }
}

static size_t read_stats(struct jm_span rest, struct job_gpu *gpu)
{
    struct jm_span line;
    size_t n = 0;
    while (jm_span_line(&rest, &line)) {
        struct jm_span s = jm_span_trim(line);
        if (s.n < 3 || s.p[0] != '|' || s.p[1] == '-')
            continue;
        s = jm_span_trim(jm_span_sub(s, 1, s.p[s.n - 1] == '|' ? s.n - 2 : s.n));
        ptrdiff_t bar = jm_span_chr(s, '|');
        struct jm_span name = jm_span_trim(jm_span_sub(s, 0, bar < 0 ? s.n : (size_t)bar));
        if (bar < 0 && (jm_span_starts(name, JM_SPAN("GPU ID:")) || jm_span_is(name, "Summary"))) {
            if (n == GPUS)
                return n;
            struct job_gpu *g = &gpu[n++];
            *g = (struct job_gpu){.joules = NAN, .mean = NAN, .max = NAN, .min = NAN, .seconds = NAN};
            struct jm_span id = jm_span_trim(jm_span_sub(name, 7, name.n));
            if (name.p[0] == 'S')
                snprintf(g->name, sizeof g->name, "summary");
            else
                snprintf(g->name, sizeof g->name, "gpu%.*s", id.n < 12 ? (int)id.n : 12, id.p);
        } else if (bar >= 0 && n) {
            value(&gpu[n - 1], name, jm_span_trim(jm_span_sub(s, (size_t)bar + 1, s.n)));
        }
    }
    return n;
}

static void claims(struct jm_build *b, const struct job_gpu *g)
{
    char key[64];
    snprintf(key, sizeof key, "%s.energy", g->name);
    if (g->has)
        jm_build_energy_claim(b, key, g->blank || strcmp(g->name, "summary") == 0 ? "" : "energy", "sum",
                              g->joules, "J", "last less first cached sample of DCGM field 156", "gpu");
    const struct {
        const char *stat;
        double v;
    } rows[] = {{"mean", g->mean}, {"max", g->max}, {"min", g->min}};
    for (size_t i = 0; i < 3; i++) {
        enum jm_status why;
        snprintf(key, sizeof key, "%s.power.%s", g->name, rows[i].stat);
        if (isfinite(rows[i].v) && !jm_dcgm_blank(rows[i].v, &why))
            jm_build_energy_claim(b, key, "", rows[i].stat, rows[i].v, "W", "DCGM field 155", "gpu");
    }
    snprintf(key, sizeof key, "%s.duration", g->name);
    if (isfinite(g->seconds))
        jm_build_claim(b, key, "", "", g->seconds, "s", "");
}

static void traps(struct jm_build *b, const struct job_gpu *g)
{
    char key[64];
    snprintf(key, sizeof key, "import.dcgm.%s", g->name);
    if (g->running)
        jm_build_env(b, "import.dcgm.running", "%s", g->name);
    if (g->blank)
        jm_build_env(b, "import.dcgm.blank", "%s: %.0f", g->name, g->joules);
    if (g->blank || !(g->seconds > CACHE_S * 1.03) || !(g->mean > 0) || !(g->joules > 0) ||
        strcmp(g->name, "summary") == 0)
        return;
    double covered = g->joules / g->mean;
    if (covered < 0.97 * g->seconds)
        jm_build_env(b, "import.dcgm.cache",
                     "%s: %.6g J is %.5g s at its mean of %.6g W, the job took %.7g s%s", g->name, g->joules,
                     covered, g->mean, g->seconds,
                     fabs(covered / CACHE_S - 1) < 0.02 ? "; DCGM keeps 3600 s" : "");
}

static int import_stats(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_build b;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    struct job_gpu *gpu = calloc(GPUS, sizeof *gpu);
    size_t n = gpu ? read_stats(f.text, gpu) : 0, good = 0;
    double sum = 0, seconds = 0;
    int64_t t0 = -1;
    for (size_t i = 0; i < n; i++) {
        seconds = isfinite(gpu[i].seconds) && gpu[i].seconds > seconds ? gpu[i].seconds : seconds;
        if (gpu[i].has_start && (t0 < 0 || gpu[i].start < t0))
            t0 = gpu[i].start;
        if (gpu[i].has_start && gpu[i].has_end && gpu[i].end > gpu[i].start && !(seconds > 0))
            seconds = (double)(gpu[i].end - gpu[i].start) / 1e9;
    }
    rc = jm_build_begin(&b, "dcgmi-stats", &f, o, out, t0 >= 0 ? t0 : f.mtime_ns, err);
    if (!rc && !gpu)
        b.rc = jm_err_set(b.err, JM_ENOMEM, "out of memory for the GPUs of %s", path);
    if (!b.rc && !n)
        jm_build_fail(&b, "%s holds no statistics of a GPU and no summary", path);
    if (!b.rc && !(seconds < 1e9))
        jm_build_fail(&b, "%s: a job of %.6g s is none", path, seconds);
    jm_build_window(&b, 0, "job", t0 >= 0 ? t0 : f.mtime_ns, seconds > 0 ? (int64_t)(seconds * 1e9) : 1);
    jm_build_times(&b, "start and execution time of the job, in local time without a zone, taken as UTC");
    size_t gpus = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(gpu[i].name, "summary") == 0)
            continue;
        gpus++;
        if (gpu[i].has && !gpu[i].blank && isfinite(gpu[i].joules)) {
            sum += gpu[i].joules;
            good++;
        }
    }
    if (gpus > 1 && good == gpus) /* the file has no total with -v; this is what its lines add up to */
        jm_build_energy_claim(&b, "energy", "energy", "sum", sum, "J", "sum over the GPUs of the file",
                              "gpu");
    for (size_t i = 0; i < n; i++) {
        struct job_gpu *g = &gpu[i];
        if (strcmp(g->name, "summary") == 0 && !gpus && g->has && !g->blank)
            jm_build_energy_claim(&b, "energy", "energy", "sum", g->joules, "J",
                                  "DCGM's summary over the GPUs", "gpu");
        claims(&b, g);
        traps(&b, g);
    }
    if (seconds > 0) {
        jm_build_claim(&b, "duration", "duration", "", seconds, "s", "Total Execution Time");
        if (gpus)
            jm_build_env(&b, "import.gpus", "%zu", gpus);
    }
    if (gpus && good < gpus)
        jm_build_missing(&b, "energy", "not every GPU of the job has an energy");
    jm_build_missing(&b, "readings", "the file has totals only");
    rc = jm_build_end(&b);
    free(gpu);
    jm_ifile_close(&f);
    return rc;
}

/* ---- dmon */

#define WORDS 64
struct dmon {
    struct jm_devlog l;
    unsigned char what[WORDS]; /* 1 power, 2 instant, 3 energy */
    bool draw[WORDS];          /* the name is that of a draw, not of a limit */
    size_t n;
    int64_t base, step, round, mig;
    uint64_t first;
    bool have;
};

static size_t words(struct jm_span s, struct jm_span w[WORDS])
{
    size_t n = 0, i = 0;
    while (i < s.n && n < WORDS) {
        while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '#'))
            i++;
        size_t from = i;
        while (i < s.n && s.p[i] != ' ' && s.p[i] != '\t')
            i++;
        if (i > from)
            w[n++] = jm_span_sub(s, from, i - from);
    }
    return n;
}

static void columns(struct dmon *d, const struct jm_span *w, size_t n)
{
    memset(d->what, 0, sizeof d->what);
    d->n = n - 1; /* the entity comes first */
    d->have = true;
    for (size_t i = 1; i < n; i++) {
        d->draw[i - 1] = jm_span_istarts(w[i], JM_SPAN("PO")) || jm_span_istarts(w[i], JM_SPAN("PW")) ||
                         jm_span_istarts(w[i], JM_SPAN("BPO")) || jm_span_istarts(w[i], JM_SPAN("BPW"));
        if (jm_span_istarts(w[i], JM_SPAN("TOTEC")) || jm_span_ieq(w[i], JM_SPAN("TENGY")))
            d->what[i - 1] = 3;
        else if (jm_span_ieq(w[i], JM_SPAN("POWER")) || jm_span_ieq(w[i], JM_SPAN("PWR")) ||
                 jm_span_ieq(w[i], JM_SPAN("BPWR")))
            d->what[i - 1] = 1;
        else if (jm_span_istarts(w[i], JM_SPAN("POWIN")) || jm_span_istarts(w[i], JM_SPAN("PWRIN")) ||
                 jm_span_istarts(w[i], JM_SPAN("POWER_I")) || jm_span_istarts(w[i], JM_SPAN("POWRI")) ||
                 jm_span_ieq(w[i], JM_SPAN("PINST")))
            d->what[i - 1] = 2;
    }
}

/* Short names changed with the versions; the line of units says what they are, where each column has one. */
static void units(struct dmon *d, const struct jm_span *w, size_t n)
{
    bool usage = false;
    if (n != d->n + 1)
        return;
    for (size_t i = 0; i < d->n; i++)
        usage |= d->what[i] == 1;
    for (size_t i = 0; i < d->n; i++) {
        if (!d->what[i] && jm_span_is(w[i + 1], "mJ"))
            d->what[i] = 3;
        if (!d->what[i] && jm_span_is(w[i + 1], "W") && d->draw[i]) {
            d->what[i] = usage ? 2 : 1;
            usage = true;
        }
    }
}

static void dmon_row(struct dmon *d, struct jm_span *w, size_t n)
{
    char key[64], label[80];
    if (n < d->n + 2 || !jm_span_starts(w[0], JM_SPAN("GPU"))) {
        d->mig += jm_span_starts(w[0], JM_SPAN("GPU-")) && n > 2; /* GPU-I, GPU-CI: its GPU has a line */
        return;
    }
    if (!jm_span_is(w[0], "GPU")) {
        d->mig++;
        return;
    }
    snprintf(key, sizeof key, "gpu %.*s", w[1].n < 20 ? (int)w[1].n : 20, w[1].p);
    snprintf(label, sizeof label, "GPU %.*s", w[1].n < 20 ? (int)w[1].n : 20, w[1].p);
    uint64_t h = jm_build_hash(1, w[1]);
    if (!d->first)
        d->first = h;
    else if (d->first == h)
        d->round++;
    int64_t t = d->base + d->round * d->step;
    for (size_t i = 0; i < d->n; i++) {
        struct jm_dev_place p = {.domain = JM_D_GPU, .key = key, .label = label};
        struct jm_span none = {NULL, 0};
        struct jm_dev_kind k;
        if (!d->what[i])
            continue;
        if (d->what[i] == 3)
            k = (struct jm_dev_kind){"energy",           JM_CH_COUNTER, JM_U_J, -3, -3,    JM_G_INSTANT,    0,
                                     100 * JM_NS_PER_MS, JM_P_MEASURED, 0,      0,  "gpu", "DCGM field 156"};
        else
            k = jm_dev_nvml(d->what[i] == 1 ? JM_NVML_Q_USAGE : JM_NVML_Q_INSTANT, none, 0,
                            d->what[i] == 1 ? "DCGM field 155" : "DCGM field 157");
        jm_devlog_put(&d->l, jm_devlog_channel(&d->l, &p, &k), t, d->what[i] == 3 ? -3 : 0, w[i + 2]);
    }
}

static int import_dmon(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct dmon d = {.n = 0};
    struct jm_span w[WORDS], line;
    int rc = jm_devlog_begin(&d.l, "dcgmi-dmon", path, out, o, err);
    if (rc && !d.l.b.w)
        return rc;
    d.base = d.l.f.mtime_ns;
    d.step = o->interval_ns ? o->interval_ns : JM_NS_PER_S;
    struct jm_span rest = d.l.f.text;
    bool power = false;
    while (!d.l.b.rc && jm_span_line(&rest, &line)) {
        struct jm_span s = jm_span_trim(line);
        size_t n = words(s, w);
        jm_ifile_used(&d.l.f, line.p + line.n, &d.l.mark);
        if (!n)
            continue;
        if (jm_span_is(w[0], "Entity")) {
            columns(&d, w, n);
            for (size_t i = 0; i < d.n; i++)
                power |= d.what[i] != 0;
        } else if (d.have && jm_span_is(w[0], "ID")) {
            units(&d, w, n);
            for (size_t i = 0; i < d.n; i++)
                power |= d.what[i] != 0;
        } else if (d.have && s.p[0] != '#') {
            dmon_row(&d, w, n);
        }
    }
    if (!d.l.b.rc && !power)
        jm_build_fail(
            &d.l.b, "%s has no column of power or energy; ask for fields 155 and 156 (dcgmi dmon -e 155,156)",
            path);
    jm_build_times(&d.l.b, o->interval_ns ? "no stamps: lines taken as evenly spaced by --interval"
                                          : "no stamps: lines taken as 1 s apart, dcgmi dmon's default");
    jm_build_missing(&d.l.b, "times", "the log has no time stamps");
    if (d.mig)
        jm_build_env(&d.l.b, "import.repeats.mig", "%lld", (long long)d.mig);
    return jm_devlog_end(&d.l);
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    int kind, rc = jm_ifile_form(path, form, &kind, err);
    if (rc)
        return rc;
    return kind == 'd' ? import_dmon(path, out, o, err) : import_stats(path, out, o, err);
}

const struct jm_importer jm_import_dcgmi = {
    .name = "dcgmi",
    .summary = "dcgmi stats -j JOB [-v] and dcgmi dmon",
    .reads = "stats: energy, power and execution time of every GPU as claims; dmon: power (155, 157) and the "
             "energy "
             "counter (156) of every GPU.",
    .lacks = "stats: readings; a job that took longer than DCGM keeps samples (3600 s) has the energy of its "
             "end only. "
             "dmon: times (lines are taken as 1 s apart unless --interval says otherwise).",
    .sniff = sniff,
    .import = import,
};
