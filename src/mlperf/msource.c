/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/msource.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "meter/registry.h"
#include "mlperf/msource_take.h"
#include "base/banned.h"

struct msource {
    struct jm_mlperf_source_ops ops; /* its notice is made here */
    struct jm_meter_env env;
    enum { KIND_YOKOGAWA, KIND_METER, KIND_SOFTWARE } kind;
    char option[300], address[420], initial[100];
    char notice[1200], boundary[128], instrument[400];
    bool known, simulated, open;
    const struct jm_mlperf_source_io *io;
    struct jm_take take;
    FILE *log; /* ptd_logs_analyzer_1.txt */
    char mark[256];
};

static const char *const kinds[] = {"yokogawa", "meter", "software"};

static size_t word(const char *name)
{
    return strcspn(name, ":");
}

bool jm_mlperf_msource_is(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (word(name) == strlen(kinds[i]) && strncmp(name, kinds[i], word(name)) == 0)
            return true;
    return false;
}

static void stamp(struct msource *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void stamp(struct msource *s, const char *fmt, ...)
{
    struct jm_clock_pair now;
    va_list ap;
    if (!s->log)
        return;
    jm_clock_pair(&s->take.clock, &now);
    struct jm_civil c = jm_time_civil(now.real / JM_NS_PER_S);
    fprintf(s->log, "%02d-%02d-%04d %02d:%02d:%02d.%03d: ", c.month, c.day, c.year, c.hour, c.minute,
            c.second, (int)(now.real % JM_NS_PER_S / JM_NS_PER_MS));
    va_start(ap, fmt);
    vfprintf(s->log, fmt, ap);
    va_end(ap);
    fputc('\n', s->log);
    fflush(s->log);
}

/* What measured, where, and why that is no official measurement. */
static void describe_all(struct msource *s)
{
    const struct jm_take *t = &s->take;
    size_t at = 0;
    jm_take_boundary(t, s->boundary);
    s->instrument[0] = '\0';
    for (int k = 0; k < t->n_m; k++) {
        bool used = false;
        for (int i = 0; i < t->n; i++)
            used |= t->c[i].meter == k;
        if (used && at < sizeof s->instrument - 8)
            at += (size_t)snprintf(s->instrument + at, sizeof s->instrument - at, "%s%s (%.100s)",
                                   at ? ", " : "", t->m[k]->ops->name, t->m[k]->instance);
    }
    bool wall = strncmp(s->boundary, "wall", 4) == 0;
    snprintf(s->notice, sizeof s->notice,
             "The power in it was read by joulemark without a PTDaemon, from %s, at the boundary %s%s. "
             "%sOfficial MLPerf "
             "power measurements are made with SPEC's PTDaemon and an analyzer that the rules accept; "
             "PTDaemon's checks "
             "of ranges and uncertainty were not made here. Do not submit this session, and do not set its "
             "power beside "
             "official ones%s.",
             s->instrument, s->boundary, t->simulated ? " (SIMULATED)" : "",
             t->simulated ? "The meters are simulated: nothing was measured at all. " : "",
             wall ? ""
                  : ": it is not the power at the wall, which holds conversion losses, fans and all that no "
                    "sensor of "
                    "it sees");
    s->simulated = t->simulated;
    s->known = true;
    s->ops.notice = s->notice;
}

static int start(struct msource *s, const char *ranges, struct jm_err *err)
{
    const char *names[2] = {NULL, NULL};
    if (s->open)
        jm_take_close(&s->take);
    s->open = false;
    if (s->kind == KIND_YOKOGAWA) {
        snprintf(s->address, sizeof s->address, "%s%s", s->option, ranges);
        s->env.yokogawa = s->address;
        names[0] = "yokogawa";
    } else if (s->kind == KIND_METER) {
        names[0] = s->option;
    }
    int rc = jm_take_open(&s->take, &s->env, s->kind == KIND_SOFTWARE ? NULL : names, err);
    if (rc)
        return rc;
    s->open = true;
    describe_all(s);
    return 0;
}

static bool simulated(void *self)
{
    const struct msource *s = self;
    return s->simulated;
}

static int describe(void *self, struct jm_str *json, struct jm_err *err)
{
    const struct msource *s = self;
    struct jm_jsonw w;
    jm_jsonw_init(&w, json, 0);
    jm_jsonw_array(&w);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "source", kinds[s->kind]);
    jm_jsonw_kstr(&w, "instrument", s->instrument);
    jm_jsonw_kstr(&w, "boundary", s->boundary);
    jm_jsonw_kstr(&w, "provenance", s->known ? jm_provenance_name((int)s->take.provenance) : "");
    jm_jsonw_kbool(&w, "simulated", s->simulated);
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    return json->failed ? jm_err_set(err, JM_ENOMEM, "no memory for the description of the source") : 0;
}

static int analyzers(void *self)
{
    (void)self;
    return 1;
}

/* Ranges that the user gave hold in both phases. */
static bool ranges_given(const struct msource *s)
{
    return strstr(s->option, ",volts=") || strstr(s->option, ",amps=");
}

static int open_source(void *self, const struct jm_mlperf_source_io *io, struct jm_err *err)
{
    struct msource *s = self;
    s->io = io;
    int rc = start(s, "", err);
    if (rc)
        return rc;
    /* "300 V, 5 A, fixed" of an analyzer: to be put back */
    const char *was = s->kind == KIND_YOKOGAWA ? jm_meter_fact(s->take.m[0], "yokogawa.ranges") : NULL;
    double volts = 0, amps = 0;
    struct jm_span rest = jm_span_of(was), v, a;
    s->initial[0] = '\0';
    if (was && jm_span_field(&rest, ' ', &v) && jm_span_field(&rest, ' ', &a) &&
        jm_span_field(&rest, ' ', &a) && jm_num_double(v, &volts) == 0 && jm_num_double(a, &amps) == 0 &&
        strstr(was, "fixed"))
        snprintf(s->initial, sizeof s->initial, ",volts=%.6g,amps=%.6g", volts, amps);
    else if (was)
        snprintf(s->initial, sizeof s->initial, ",auto");
    return io->said ? io->said(io->self, 1, JM_SPAN("joulemark source"), jm_span_of(s->instrument), err) : 0;
}

/* Not at open: a source is opened once to be tried, before there is a session. */
static int open_log(struct msource *s, struct jm_err *err)
{
    char path[4300];
    if (s->log || !s->io->power_dir)
        return 0;
    snprintf(path, sizeof path, "%s/ptd_logs_analyzer_1.txt", s->io->power_dir);
    s->log = fopen(path, "we");
    if (!s->log)
        return jm_err_sys(err, errno, "cannot create %s", path);
    fprintf(s->log, "NOT A PTDaemon: %s\n\n", s->notice);
    stamp(s, "Reading %s", s->instrument);
    return 0;
}

static int prepare(void *self, enum jm_mlperf_mode mode, const struct jm_mlperf_ranges *r, struct jm_err *err)
{
    struct msource *s = self;
    char ranges[120] = "";
    double volts, amps;
    int rc = open_log(s, err);
    (void)mode;
    if (rc || s->kind != KIND_YOKOGAWA || ranges_given(s))
        return rc;
    if (!r)
        snprintf(ranges, sizeof ranges, ",auto");
    else {
        size_t n = 0;
        if (jm_num_double(jm_span_of(r->volts), &volts) == 0)
            n += (size_t)snprintf(ranges, sizeof ranges, ",volts=%.9g", volts);
        if (jm_num_double(jm_span_of(r->amps), &amps) == 0)
            snprintf(ranges + n, sizeof ranges - n, ",amps=%.9g", amps);
    }
    rc = start(s, ranges, err);
    if (rc)
        return jm_err_prefix(err, "Error setting %s range",
                             strstr(err->text, ":INP:VOLT:RANG") ? "voltage" : "current");
    const char *now = jm_meter_fact(s->take.m[0], "yokogawa.ranges");
    stamp(s, "Ranges %s", now ? now : "unknown");
    return s->io->said ? s->io->said(s->io->self, 1, JM_SPAN("joulemark ranges"),
                                     jm_span_of(now ? now : "unknown"), err)
                       : 0;
}

static int go(void *self, enum jm_mlperf_mode mode, const char *mark, struct jm_err *err)
{
    struct msource *s = self;
    (void)mode;
    snprintf(s->mark, sizeof s->mark, "%s", mark);
    int rc = jm_take_go(&s->take, err);
    if (rc)
        return rc;
    stamp(s, "Go with mark '%s'", mark);
    return s->io->said ? s->io->said(s->io->self, 1, JM_SPAN("joulemark go"), jm_span_of(mark), err) : 0;
}

static int collect(void *self, enum jm_mlperf_mode mode, bool aborted, const struct jm_mlperf_sink *sink,
                   struct jm_err *err)
{
    struct msource *s = self;
    struct jm_str line;
    int64_t unknown = 0, n;
    int rc = 0;
    (void)mode;
    (void)aborted;
    jm_take_stop(&s->take);
    n = jm_take_seconds(&s->take);
    jm_str_init(&line);
    for (int64_t k = 0; k < n && !rc; k++) {
        struct jm_mlperf_sample x;
        jm_take_sample(&s->take, k, &x);
        unknown += !(x.sum.watts == x.sum.watts);
        jm_str_reset(&line);
        jm_mlperf_sample_line(&x, &line);
        rc = line.failed ? jm_err_set(err, JM_ENOMEM, "no memory for a power sample")
                         : sink->line(sink->self, 1, 1, jm_str_span(&line), err);
    }
    jm_str_release(&line);
    stamp(s, "Completed test");
    stamp(s, "samples %lld, without a value %lld", (long long)n, (long long)unknown);
    if (!rc && n == 0)
        rc = jm_err_set(err, JM_EABSENT, "%s gave no sample", s->instrument);
    return rc;
}

static int alive(void *self, struct jm_err *err)
{
    struct msource *s = self;
    return atomic_load(&s->take.lost)
               ? jm_err_set(err, JM_EABSENT, "a meter of %s is gone while it measured", s->instrument)
               : 0;
}

static void close_source(void *self)
{
    struct msource *s = self;
    struct jm_err err = {0};
    char text[700];
    if (s->open && s->kind == KIND_YOKOGAWA && s->initial[0] && !ranges_given(s)) {
        jm_take_stop(&s->take);
        if (start(s, s->initial, &err) && s->io && s->io->log) {
            snprintf(text, sizeof text, "the analyzer's ranges could not be put back: %.500s", err.text);
            s->io->log(s->io->self, JM_LOG_WARN, text);
        }
    }
    if (s->open)
        jm_take_close(&s->take);
    s->open = false;
    if (s->log)
        fclose(s->log);
    s->log = NULL;
    s->io = NULL;
}

int jm_mlperf_msource_new(const char *name, const char *option, const struct jm_meter_env *env,
                          struct jm_mlperf_source *out, struct jm_err *err)
{
    const char *given = name[word(name)] ? name + word(name) + 1 : option ? option : "";
    struct msource *s;
    size_t kind = 0;
    *out = (struct jm_mlperf_source){NULL, NULL};
    while (kind < 3 && !(word(name) == strlen(kinds[kind]) && strncmp(name, kinds[kind], word(name)) == 0))
        kind++;
    if (kind == 3)
        return jm_err_set(
            err, JM_EUSAGE,
            "there is no source \"%.60s\"; there are ptd, yokogawa:ADDRESS, meter:NAME and software", name);
    if (kind == KIND_YOKOGAWA && !*given)
        return jm_err_set(err, JM_EUSAGE, "the source yokogawa needs an address: yokogawa:tcp://HOST:10001");
    if (kind == KIND_METER && !(*given && jm_meter_find(given)))
        return jm_err_set(err, JM_EUSAGE,
                          "the source meter needs the name of a meter, not \"%.60s\"; joulemark meters "
                          "lists them",
                          given);
    if (kind == KIND_SOFTWARE && *given)
        return jm_err_set(err, JM_EUSAGE,
                          "the source software takes no more words; meter:NAME is for one meter");
    if (!(s = calloc(1, sizeof *s)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the source %s", name);
    if (strlen(given) >= sizeof s->option) {
        free(s);
        return jm_err_set(err, JM_EUSAGE, "the address of the source is too long");
    }
    memcpy(s->option, given, strlen(given) + 1);
    s->kind = (int)kind;
    s->env = *env;
    snprintf(s->notice, sizeof s->notice,
             "The power in it was read by joulemark without a PTDaemon: it is not an official measurement.");
    s->ops = (struct jm_mlperf_source_ops){.name = kinds[kind],
                                           .simulated = simulated,
                                           .notice = s->notice,
                                           .describe = describe,
                                           .analyzers = analyzers,
                                           .open = open_source,
                                           .prepare = prepare,
                                           .go = go,
                                           .collect = collect,
                                           .alive = alive,
                                           .close = close_source};
    *out = (struct jm_mlperf_source){&s->ops, s};
    return 0;
}

void jm_mlperf_msource_free(struct jm_mlperf_source *src)
{
    if (src->self)
        close_source(src->self);
    free(src->self);
    *src = (struct jm_mlperf_source){NULL, NULL};
}
