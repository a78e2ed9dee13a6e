/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/dsession.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

const char *jm_mlperf_state_name(enum jm_mlperf_state s)
{
    static const char *const name[] = {"INITIAL", "RANGING",      "RANGING_DONE",
                                       "TESTING", "TESTING_DONE", "DONE"};
    return name[s];
}

static void note(struct jm_mlperf_dsession *s, enum jm_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void note(struct jm_mlperf_dsession *s, enum jm_log_level level, const char *fmt, ...)
{
    struct jm_str text;
    va_list ap;
    jm_str_init(&text);
    va_start(ap, fmt);
    jm_str_addv(&text, fmt, ap);
    va_end(ap);
    s->host->log(s->host->self, level, text.buf);
    jm_str_release(&text);
}

/* --- the source's view -------------------------------------------------------------------------------- */

static void io_log(void *self, enum jm_log_level level, const char *text)
{
    struct jm_mlperf_dsession *s = self;
    s->host->log(s->host->self, level, text);
}

static int io_said(void *self, int analyzer, struct jm_span cmd, struct jm_span reply, struct jm_err *err)
{
    struct jm_mlperf_dsession *s = self;
    return jm_mlperf_summary_ptd(s->summary, analyzer, cmd, reply, err);
}

static bool io_over(void *self)
{
    struct jm_mlperf_dsession *s = self;
    return s->host->over(s->host->self);
}

/* --- files ---------------------------------------------------------------------------------------------- */

static int make_dir(const char *path, struct jm_err *err)
{
    return mkdir(path, 0755) ? jm_err_sys(err, errno, "cannot make the folder %s", path) : 0;
}

static int make_dirs(struct jm_mlperf_dsession *s, struct jm_span label, struct jm_err *err)
{
    const struct jm_mlperf_director *d = s->host->d;
    /* the id is a second; when that is taken the next one is */
    for (int tries = 0;; tries++) {
        struct jm_clock_pair now;
        jm_clock_pair(&d->clock, &now);
        jm_mlperf_id_make(now.real, jm_mlperf_utc_offset(now.real), label, s->id);
        int n = snprintf(s->dir, sizeof s->dir, "%s/%s", d->config->out_dir, s->id);
        if (n < 0 || (size_t)n >= sizeof s->dir)
            return jm_err_set(err, JM_ELIMIT, "the path of outDir is too long");
        snprintf(s->power, sizeof s->power, "%s/power", s->dir);
        if (!mkdir(s->dir, 0755))
            return make_dir(s->power, err);
        if (errno != EEXIST || tries >= 4)
            return jm_err_sys(err, errno, "cannot make the folder %s", s->dir);
        int rc = s->host->settle(s->host->self, JM_NS_PER_S - now.real % JM_NS_PER_S, err);
        if (rc)
            return rc;
    }
}

int jm_mlperf_dsession_new(const struct jm_mlperf_dhost *host, struct jm_mlperf_summary *summary,
                           struct jm_span label, struct jm_mlperf_dsession **out, struct jm_err *err)
{
    struct jm_mlperf_dsession *s = calloc(1, sizeof *s);
    struct jm_str json;
    *out = s;
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "no memory for a session");
    s->host = host;
    s->summary = summary;
    jm_str_init(&s->line);
    jm_str_init(&json);
    int rc = make_dirs(s, label, err);
    s->io = (struct jm_mlperf_source_io){s, host->d->clock, s->power, io_log, io_said, io_over};
    s->n = host->d->source.ops->analyzers(host->d->source.self);
    if (!rc)
        rc = host->d->source.ops->describe(host->d->source.self, &json, err);
    if (!rc)
        rc = jm_mlperf_summary_config(summary, jm_str_span(&json), err);
    jm_str_release(&json);
    if (rc) {
        if (s->dir[0])
            rmdir(s->power);
        if (s->dir[0])
            rmdir(s->dir);
        jm_mlperf_dsession_free(s);
        *out = NULL;
    }
    return rc;
}

void jm_mlperf_dsession_free(struct jm_mlperf_dsession *s)
{
    if (!s)
        return;
    jm_str_release(&s->line);
    free(s);
}

/* --- start -----------------------------------------------------------------------------------------------
 */

static void make_mark(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode)
{
    snprintf(s->mark, sizeof s->mark, "%s_%s%s", s->id, jm_mlperf_mode_name(mode),
             s->host->d->source.ops->official ? "" : "_unofficial");
}

static int wrong_state(struct jm_mlperf_dsession *s, const char *what, enum jm_mlperf_mode mode,
                       struct jm_err *err)
{
    return jm_err_set(err, JM_ESTATE, "cannot %s %s in the state %s of the session", what,
                      jm_mlperf_mode_name(mode), jm_mlperf_state_name(s->state));
}

int jm_mlperf_dsession_start(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode,
                             const struct jm_mlperf_ranges *fixed, struct jm_err *err)
{
    const struct jm_mlperf_director *d = s->host->d;
    const struct jm_mlperf_source *src = &d->source;
    bool ranging = mode == JM_MLPERF_RANGING;
    int rc = 0;
    if (s->state == (ranging ? JM_MLPERF_STATE_RANGING : JM_MLPERF_STATE_TESTING))
        return 0;
    if (!(s->state == JM_MLPERF_INITIAL && (ranging || fixed)) &&
        !(s->state == JM_MLPERF_RANGING_DONE && !ranging))
        return wrong_state(s, "start", mode, err);
    for (int i = 0; fixed && i < s->n; i++)
        s->ranges[i] = *fixed;
    s->fixed |= fixed != NULL;
    jm_mlperf_summary_phase(s->summary, mode, 0, &d->clock);
    if (!s->opened) {
        s->opened = true;
        rc = src->ops->open(src->self, &s->io, err);
    }
    if (!rc)
        rc = src->ops->prepare(src->self, mode, ranging ? NULL : s->ranges, err);
    if (!rc)
        rc = s->host->settle(s->host->self, d->config->settle_ns, err);
    if (rc)
        return rc;
    note(s, JM_LOG_INFO, "Starting %s mode", jm_mlperf_mode_name(mode));
    for (int i = 0; !ranging && i < s->n; i++)
        note(s, JM_LOG_INFO, "Analyzer [%d] maxAmps: %s, maxVolts: %s", i + 1, s->ranges[i].amps,
             s->ranges[i].volts);
    make_mark(s, mode);
    s->state = ranging ? JM_MLPERF_STATE_RANGING : JM_MLPERF_STATE_TESTING;
    rc = src->ops->go(src->self, mode, s->mark, err);
    if (!rc)
        jm_mlperf_summary_phase(s->summary, mode, 1, &d->clock);
    return rc;
}

/* --- stop ------------------------------------------------------------------------------------------------
 */

/* The public tool's names: .csv in ranging, .txt in testing. */
static void own_file(const struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode, int analyzer,
                     char out[4300])
{
    snprintf(out, 4300, "%s/%s/spl_analyzer_%d.%s", s->dir, jm_mlperf_mode_dir(mode), analyzer,
             mode == JM_MLPERF_RANGING ? "csv" : "txt");
}

static int sink_line(void *self, int analyzer, int first_channel, struct jm_span line, struct jm_err *err)
{
    struct jm_mlperf_dsession *s = self;
    struct jm_spl_row row;
    struct jm_err why = {0};
    if (analyzer < 1 || analyzer > s->n)
        return jm_err_set(err, JM_EINVAL, "a sample of analyzer %d of %d", analyzer, s->n);
    jm_str_reset(&s->line);
    int rc = jm_mlperf_spl_line(line, s->mark, first_channel, &s->line, &row, &why);
    if (rc == JM_EPARSE) {
        if (!s->broken[s->mode]++)
            note(s, JM_LOG_WARN, "Analyzer [%d] gave %s; such lines are left out", analyzer, why.text);
        return 0;
    }
    if (rc)
        return jm_err_set(err, rc, "%s", why.text);
    jm_mlperf_peaks_add(&s->peaks[s->mode][analyzer - 1], line, first_channel, &row);
    jm_str_addc(&s->line, '\n');
    FILE *f = s->out[analyzer - 1];
    if (s->line.failed || !f)
        return jm_err_set(err, JM_ENOMEM, "no memory for a power sample");
    if (fwrite(s->line.buf, 1, s->line.len, f) != s->line.len)
        return jm_err_sys(err, errno, "cannot write the power log of analyzer %d", analyzer);
    return 0;
}

static int sink_note(void *self, struct jm_span text, struct jm_err *err)
{
    struct jm_mlperf_dsession *s = self;
    char path[4300];
    snprintf(path, sizeof path, "%s/%s/ptd_out.txt", s->dir, jm_mlperf_mode_dir(s->mode));
    FILE *f = fopen(path, "ae");
    bool ok = f && fwrite(text.p, 1, text.n, f) == text.n;
    int e = errno;
    if (f && fclose(f)) {
        ok = false;
        e = errno;
    }
    return ok ? 0 : jm_err_sys(err, e, "cannot write %s", path);
}

static int close_files(struct jm_mlperf_dsession *s, int rc, struct jm_err *err)
{
    for (int i = 0; i < s->n; i++) {
        if (!s->out[i])
            continue;
        /* the public tool's last line is a blank one */
        bool bad = fputc('\n', s->out[i]) == EOF;
        int e = errno;
        if (fclose(s->out[i])) {
            bad = true;
            e = errno;
        }
        s->out[i] = NULL;
        if (bad && !rc)
            rc = jm_err_sys(err, e, "cannot write the power log of analyzer %d", i + 1);
    }
    return rc;
}

static int copy_file(const char *from, const char *to, const char *head, bool append, struct jm_err *err)
{
    char buf[65536];
    size_t n;
    FILE *in = fopen(from, "re");
    if (!in)
        return jm_err_sys(err, errno, "cannot open %s", from);
    FILE *out = fopen(to, append ? "ae" : "we");
    int rc = out ? 0 : jm_err_sys(err, errno, "cannot create %s", to);
    if (!rc && head && fputs(head, out) < 0)
        rc = jm_err_sys(err, errno, "cannot write %s", to);
    while (!rc && (n = fread(buf, 1, sizeof buf, in)) > 0)
        if (fwrite(buf, 1, n, out) != n)
            rc = jm_err_sys(err, errno, "cannot write %s", to);
    if (!rc && ferror(in))
        rc = jm_err_sys(err, errno, "cannot read %s", from);
    if (out && fclose(out) && !rc)
        rc = jm_err_sys(err, errno, "cannot write %s", to);
    fclose(in);
    return rc;
}

/* spl.txt of a phase, from those of the analyzers. */
static int make_spl(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode, struct jm_err *err)
{
    char own[JM_MLPERF_ANALYZERS][4300], out[4300];
    const char *in[JM_MLPERF_ANALYZERS] = {0};
    snprintf(out, sizeof out, "%s/%s/spl.txt", s->dir, jm_mlperf_mode_dir(mode));
    for (int i = 0; i < s->n; i++) {
        own_file(s, mode, i + 1, own[i]);
        in[i] = own[i];
    }
    note(s, JM_LOG_INFO, "Merging %d log files into one file", s->n);
    if (s->n == 1)
        return copy_file(in[0], out, NULL, false, err);
    int rc = jm_mlperf_spl_merge(in, (size_t)s->n, s->mark, out, &s->merged[mode], err);
    if (!rc && s->merged[mode].unknown)
        note(s, JM_LOG_WARN,
             "%lld of %lld merged samples have no sum: a part of them is bad, missed or has no "
             "sample within 0.5 s",
             (long long)s->merged[mode].unknown, (long long)s->merged[mode].rows);
    return rc;
}

/* ptd_logs.txt from those of the analyzers, each below a heading; when they have ended and said all. */
static int make_ptd_logs(struct jm_mlperf_dsession *s, struct jm_err *err)
{
    char out[4300];
    int rc = 0;
    snprintf(out, sizeof out, "%s/ptd_logs.txt", s->power);
    for (int i = 1; !rc && i <= s->n; i++) {
        char in[4300], head[32];
        snprintf(in, sizeof in, "%s/ptd_logs_analyzer_%d.txt", s->power, i);
        snprintf(head, sizeof head, "Analyzer %d\n", i);
        if (access(in, F_OK)) { /* a PTDaemon that was running already, or another source */
            FILE *f = fopen(in, "we");
            if (!f || fclose(f))
                return jm_err_sys(err, errno, "cannot create %s", in);
            note(s, JM_LOG_WARN, "Analyzer [%d] was not started here: what its program printed is not known",
                 i);
        }
        rc = copy_file(in, out, head, true, err);
    }
    return rc;
}

/* What the samples say about the measurement, for the log. */
static void tell(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode)
{
    for (int i = 0; i < s->n; i++) {
        const struct jm_mlperf_peaks *p = &s->peaks[mode][i];
        note(s, JM_LOG_INFO, "Analyzer [%d] gave %lld samples", i + 1, (long long)p->rows);
        if (p->over)
            note(s, JM_LOG_WARN, "Analyzer [%d]: %lld samples are over the range (up to %.3f A); %s", i + 1,
                 (long long)p->over, (double)p->over_amps / 1e6,
                 mode == JM_MLPERF_RANGING
                     ? "the range of the testing phase is chosen without them and may be too small"
                     : "the result leaves them out");
        if (mode == JM_MLPERF_RANGING && p->other_amps > p->amps)
            note(s, JM_LOG_WARN,
                 "Analyzer [%d]: a channel that \"channel\" does not name has more current (%.3f A) than "
                 "those that "
                 "choose the range",
                 i + 1, (double)p->other_amps / 1e6);
        if (p->missed || p->bad)
            note(s, JM_LOG_WARN, "Analyzer [%d]: %lld samples are missing, %lld have no power value", i + 1,
                 (long long)p->missed, (long long)p->bad);
        if (p->reversed)
            note(s, JM_LOG_WARN, "Analyzer [%d]: %lld samples are below 0 W; is a current input reversed?",
                 i + 1, (long long)p->reversed);
    }
}

/* Which channels choose the ranges. The public tool reads "channel" of a WT500 as how many from the first,
 * of the others as first and count. */
static void counting(const struct jm_mlperf_analyzer *a, struct jm_mlperf_peaks *p)
{
    if (a->n_channels == 2)
        jm_mlperf_peaks_init(p, (int)a->channel[0], (int)(a->channel[0] + a->channel[1] - 1));
    else if (a->n_channels == 1 && a->device_type == JM_MLPERF_WT500_CHANNELS)
        jm_mlperf_peaks_init(p, 1, (int)a->channel[0]);
    else
        jm_mlperf_peaks_init(p, 0, 0);
}

static int collect(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode, bool aborted, struct jm_err *err)
{
    const struct jm_mlperf_source *src = &s->host->d->source;
    const struct jm_mlperf_sink sink = {s, sink_line, sink_note};
    char path[4300];
    int rc;
    snprintf(path, sizeof path, "%s/%s", s->dir, jm_mlperf_mode_dir(mode));
    rc = make_dir(path, err);
    s->mode = mode;
    make_mark(s, mode);
    for (int i = 0; !rc && i < s->n; i++) {
        counting(&s->host->d->config->analyzer[i], &s->peaks[mode][i]);
        own_file(s, mode, i + 1, path);
        if (!(s->out[i] = fopen(path, "we")))
            rc = jm_err_sys(err, errno, "cannot create %s", path);
    }
    if (!rc)
        rc = src->ops->collect(src->self, mode, aborted, &sink, err);
    rc = close_files(s, rc, err);
    if (!rc || aborted) {
        struct jm_err why = {0};
        int spl = make_spl(s, mode, rc ? &why : err);
        rc = rc ? rc : spl;
    }
    tell(s, mode);
    return rc;
}

int jm_mlperf_dsession_stop(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode, struct jm_err *err)
{
    const struct jm_mlperf_director *d = s->host->d;
    const struct jm_mlperf_source *src = &d->source;
    bool ranging = mode == JM_MLPERF_RANGING;
    if (s->state == (ranging ? JM_MLPERF_RANGING_DONE : JM_MLPERF_TESTING_DONE))
        return 0;
    if (s->state != (ranging ? JM_MLPERF_STATE_RANGING : JM_MLPERF_STATE_TESTING))
        return wrong_state(s, "stop", mode, err);
    jm_mlperf_summary_phase(s->summary, mode, 2, &d->clock);
    int rc = s->host->settle(s->host->self, d->config->settle_ns, err);
    if (rc)
        return rc; /* still measuring: the end takes what there is */
    s->state = ranging ? JM_MLPERF_RANGING_DONE : JM_MLPERF_TESTING_DONE;
    struct jm_clock_pair stopped;
    jm_clock_pair(&d->clock, &stopped);
    rc = collect(s, mode, false, err);
    if (!rc)
        rc = jm_mlperf_dsession_stamps(s, mode, stopped.real, err);
    for (int i = 0; !rc && ranging && i < s->n; i++) {
        struct jm_err why = {0};
        rc = jm_mlperf_peaks_ranges(&s->peaks[mode][i], &s->ranges[i], &why);
        if (rc == JM_EABSENT && !src->ops->official && s->peaks[mode][i].rows > 0) {
            /* a source without volts and amps has no ranges to set */
            s->ranges[i] = (struct jm_mlperf_ranges){"Auto", "Auto"};
            rc = 0;
        }
        if (rc)
            jm_err_set(err, rc, "%s", why.text);
        if (rc)
            jm_err_prefix(err, "analyzer %d", i + 1);
    }
    jm_mlperf_summary_phase(s->summary, mode, 3, &d->clock);
    return rc;
}

/* --- the end -----------------------------------------------------------------------------------------------
 */

static void say_file(struct jm_mlperf_dsession *s, const char *name, const char *text)
{
    char path[4300];
    struct jm_err err = {0};
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    if (jm_file_write(path, jm_span_of(text), &err))
        note(s, JM_LOG_ERROR, "%s", err.text);
}

void jm_mlperf_dsession_end(struct jm_mlperf_dsession *s, const char *reason)
{
    const struct jm_mlperf_source *src = &s->host->d->source;
    struct jm_err err = {0};
    bool measuring = s->state == JM_MLPERF_STATE_RANGING || s->state == JM_MLPERF_STATE_TESTING;
    if (reason && measuring && s->opened && !src->ops->alive(src->self, &err)) {
        enum jm_mlperf_mode mode =
            s->state == JM_MLPERF_STATE_RANGING ? JM_MLPERF_RANGING : JM_MLPERF_TESTING;
        if (collect(s, mode, true, &err))
            note(s, JM_LOG_ERROR, "what was measured until now could not be saved whole: %s", err.text);
    }
    if (s->opened)
        src->ops->close(src->self);
    s->opened = false;
    s->state = JM_MLPERF_DONE;
    if (make_ptd_logs(s, &err))
        note(s, JM_LOG_ERROR, "%s", err.text);
    if (!src->ops->official) {
        struct jm_str text;
        jm_str_init(&text);
        jm_str_adds(&text, "This is not an official MLPerf power measurement.\n\n");
        jm_str_wrap(&text, jm_span_of(src->ops->notice), 0, 78);
        say_file(s, "NOT_OFFICIAL.txt", text.buf);
        jm_str_release(&text);
    }
    if (reason) {
        struct jm_str text;
        jm_str_init(&text);
        jm_str_adds(&text, "This session ended before it was complete and is no measurement. Reason:\n\n");
        jm_str_wrap(&text, jm_span_of(reason), 0, 78);
        say_file(s, "INCOMPLETE.txt", text.buf);
        jm_str_release(&text);
    }
}
