/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi dmon (and "nvidia-smi replay", which prints the same): columns by the two lines that begin with
 * #, with date and time where -o DT was given, else one line a GPU and interval. pmon has no power. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "import/nvidia_smi.h"

#include "base/banned.h"

#define WORDS 96

/* Blanks, or commas of --format csv, apart. */
static size_t words(struct jm_span line, struct jm_span w[WORDS])
{
    size_t n = 0, i = 0;
    bool csv = jm_span_chr(line, ',') >= 0;
    while (i < line.n && n < WORDS) {
        size_t from;
        while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r' || line.p[i] == '#'))
            i++;
        from = i;
        while (i < line.n &&
               (csv ? line.p[i] != ',' : line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r'))
            i++;
        struct jm_span s = jm_span_trim(jm_span_sub(line, from, i - from));
        if (s.n || (csv && i < line.n))
            w[n++] = s;
        i += csv;
    }
    return n;
}

struct mon {
    struct jm_smi s;
    int date, time, gpu;
    unsigned char what[WORDS];
    size_t n;
    bool have, power, process, timed;
    int64_t base, step, round, day;
    size_t first_gpu; /* 1 + index of the GPU that begins a round */
};

static void columns(struct mon *m, const struct jm_span *w, size_t n)
{
    static const struct {
        const char *name;
        enum jm_smi_what what;
    } known[] = {{"pwr", JM_SMI_USAGE}, {"gtemp", JM_SMI_TEMP},     {"temp", JM_SMI_TEMP},
                 {"sm", JM_SMI_UTIL},   {"mclk", JM_SMI_CLOCK_MEM}, {"pclk", JM_SMI_CLOCK_SM}};
    m->date = m->time = m->gpu = -1;
    memset(m->what, 0, sizeof m->what);
    m->n = n;
    m->have = true;
    for (size_t i = 0; i < n; i++) {
        if (jm_span_is(w[i], "Date"))
            m->date = (int)i;
        else if (jm_span_is(w[i], "Time"))
            m->time = (int)i;
        else if (jm_span_is(w[i], "gpu"))
            m->gpu = (int)i;
        else if (jm_span_is(w[i], "pid"))
            m->process = true;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            if (jm_span_is(w[i], known[k].name)) {
                m->what[i] = (unsigned char)known[k].what;
                m->power |= known[k].what == JM_SMI_USAGE;
            }
    }
}

/* 20240530 (or 2024/05/30) and 10:15:20; a time alone is of the day of the file, and goes on past midnight.
 */
static bool stamp(struct mon *m, const struct jm_span *w, int64_t *t)
{
    char text[64];
    bool zone;
    struct jm_span clock = w[m->time];
    if (clock.n < 8)
        return false;
    if (m->date >= 0 && w[m->date].n == 8)
        snprintf(text, sizeof text, "%.4s-%.2s-%.2sT%.*s", w[m->date].p, w[m->date].p + 4, w[m->date].p + 6,
                 clock.n < 20 ? (int)clock.n : 20, clock.p);
    else if (m->date >= 0 && w[m->date].n == 10)
        snprintf(text, sizeof text, "%.10s %.*s", w[m->date].p, clock.n < 20 ? (int)clock.n : 20, clock.p);
    else {
        struct jm_civil c = jm_time_civil(m->base / JM_NS_PER_S);
        snprintf(text, sizeof text, "%04d-%02d-%02dT%.*s", c.year, c.month, c.day,
                 clock.n < 20 ? (int)clock.n : 20, clock.p);
    }
    if (!jm_devlog_time(jm_span_of(text), t, &zone))
        return false;
    if (m->date < 0) {
        *t += m->day;
        if (m->timed && *t < m->round - 43200 * JM_NS_PER_S) {
            m->day += 86400 * JM_NS_PER_S;
            *t += 86400 * JM_NS_PER_S;
        }
    }
    m->round = *t;
    m->timed = true;
    return true;
}

static void row(struct mon *m, const struct jm_span *w, size_t n)
{
    int64_t t;
    if (n < m->n || m->gpu < 0)
        return;
    struct jm_smi_gpu *g = jm_smi_gpu(&m->s, w[m->gpu]);
    if (!g)
        return;
    if (m->time >= 0) {
        if (!stamp(m, w, &t))
            return;
    } else {
        size_t id = (size_t)(g - m->s.gpu) + 1;
        if (!m->first_gpu)
            m->first_gpu = id;
        else if (id == m->first_gpu)
            m->round++;
        t = m->base + m->round * m->step;
    }
    for (size_t i = 0; i < m->n; i++)
        jm_smi_value(&m->s, g, (enum jm_smi_what)m->what[i], t, w[i]);
}

int jm_smi_import_mon(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct mon m = {.gpu = -1};
    struct jm_span w[WORDS];
    int rc = jm_devlog_begin(&m.s.l, "nvidia-smi", path, out, o, err);
    if (rc && !m.s.l.b.w)
        return rc;
    m.base = m.s.l.f.mtime_ns;
    m.step = o->interval_ns ? o->interval_ns : JM_NS_PER_S;
    struct jm_span rest = m.s.l.f.text, line;
    while (!m.s.l.b.rc && jm_span_line(&rest, &line)) {
        struct jm_span s = jm_span_trim(line);
        size_t n = words(s, w);
        jm_ifile_used(&m.s.l.f, line.p + line.n, &m.s.l.mark);
        if (!n)
            continue;
        if (s.p[0] == '#') {
            bool names = false;
            for (size_t i = 0; i < n; i++)
                names |= jm_span_is(w[i], "gpu");
            if (names)
                columns(&m, w, n);
        } else if (m.have) {
            row(&m, w, n);
        }
    }
    if (!m.s.l.b.rc && !m.power)
        jm_build_fail(&m.s.l.b,
                      m.process ? "%s is a log of nvidia-smi pmon, which has no power; use dmon"
                                : "%s has no column pwr; log with nvidia-smi dmon -s p",
                      path);
    if (m.time >= 0)
        jm_smi_local_times(&m.s.l);
    else
        jm_build_times(&m.s.l.b, o->interval_ns ? "no stamps: lines taken as evenly spaced by --interval"
                                                : "no stamps: lines taken as 1 s apart, dmon's default");
    if (m.time < 0)
        jm_build_missing(&m.s.l.b, "times", "the log has no time stamps (dmon -o DT writes them)");
    return jm_smi_end(&m.s);
}
