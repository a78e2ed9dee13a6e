/* SPDX-License-Identifier: Apache-2.0 */
/* Check 9: errors and warnings in ptd_logs.txt. */
#include "mlperf/official_follow.h"

#include <math.h>
#include <string.h>

#include "mlperf/textlog.h"

#include "base/banned.h"

#define STAMP 23

static const char *const common[] = {
    "Can't evaluate uncertainty of this sample!",
    "Bad watts reading nan from ",
    "Bad amps reading nan from ",
    "Bad pf reading nan from ",
    "Bad volts reading nan from ",
    "Current appears to be too high for set range",
};

struct log {
    struct jm_follow *f;
    const char *path;
    const struct jm_follow_window *load;
    double zone_s, start, stop;
    bool started, stopped;
    struct jm_str mark; /* ": Go with mark '<session>_ranging'" */
};

/* get_time_from_line; unstamped: the line has no stamp (and nothing is said of it). */
static int line_time(struct log *l, struct jm_span line, double *out, bool *unstamped)
{
    *unstamped = !jm_py_line_stamp(line);
    if (*unstamped)
        return 0;
    if (!jm_py_time(jm_span_sub(line, 0, STAMP), out))
        return jm_follow_fail(
            l->f, "ValueError: time data '%.*s' does not match format '%%m-%%d-%%Y %%H:%%M:%%S.%%f'", STAMP,
            line.p);
    *out += l->zone_s;
    return 0;
}

static int unstamped_line(struct log *l, struct jm_span line)
{
    struct jm_str t;
    jm_str_init(&t);
    line = jm_py_strip(line);
    jm_mlperf_quote(&t, jm_span_sub(line, 0, 500));
    int rc = jm_follow_fail(l->f, "LineWithoutTimeStamp: %s in %s.", t.buf, l->path);
    jm_str_release(&t);
    return rc;
}

static int find_ranging(struct log *l, struct jm_span line, bool last)
{
    double t = 0;
    bool unstamped;
    if (l->stopped)
        return 0;
    int rc = line_time(l, line, &t, &unstamped);
    if (rc)
        return rc;
    struct jm_span msg = line;
    if (!unstamped) {
        msg = jm_span_sub(line, STAMP, line.n);
        if (!msg.n)
            return 0;
        msg = jm_py_strip(msg);
    } else if (!last) {
        return 0; /* its line end keeps it from being equal */
    }
    bool begins = !l->started && jm_span_eq(msg, jm_str_span(&l->mark));
    bool ends = !begins && l->started && jm_span_is(msg, ": Completed test");
    if ((begins || ends) && unstamped)
        return unstamped_line(l, line);
    if (begins) {
        l->started = true;
        l->start = t;
    } else if (ends) {
        l->stopped = true;
        l->stop = t;
    }
    return 0;
}

/* Uncertainty checking for Yokogawa\S+ is activated */
static bool activated(struct jm_span line)
{
    static const struct jm_span before = {"Uncertainty checking for Yokogawa", 33};
    for (ptrdiff_t at; (at = jm_span_find(line, before)) >= 0;) {
        line = jm_span_sub(line, (size_t)at + before.n, line.n);
        size_t n = 0;
        while (n < line.n && line.p[n] != ' ' && !(line.p[n] >= '\t' && line.p[n] <= '\r'))
            n++;
        if (n && jm_span_starts(jm_span_sub(line, n, line.n), JM_SPAN(" is activated")))
            return true;
    }
    return false;
}

static int find_uncertainty(struct log *l, struct jm_span line, bool *found)
{
    double t = 0;
    bool unstamped;
    if (*found || !activated(line))
        return 0;
    int rc = line_time(l, line, &t, &unstamped);
    if (rc)
        return rc;
    if (unstamped)
        return jm_follow_fail(l->f, "ptd_logs.txt: Can not get timestamp for 'Uncertainty checking for "
                                    "Yokogawa... is activated' message.");
    if (!(t < l->start))
        return jm_follow_fail(l->f, "ptd_logs.txt: Uncertainty checking Yokogawa... was activated after "
                                    "ranging mode was started.");
    *found = true;
    return 0;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Uncertainty \d+.\d+%, which is above 1.00% limit for the last sample! (each dot is any character) */
static bool uncertain(struct jm_span text)
{
    static const struct jm_span before = {"Uncertainty ", 12};
    for (ptrdiff_t at; (at = jm_span_find(text, before)) >= 0;) {
        text = jm_span_sub(text, (size_t)at + before.n, text.n);
        ptrdiff_t percent = jm_span_chr(text, '%');
        if (percent < 3 || !digit(text.p[0]) || !digit(text.p[percent - 1]))
            continue;
        int others = 0;
        for (ptrdiff_t i = 0; i < percent; i++)
            others += !digit(text.p[i]);
        struct jm_span rest = jm_span_sub(text, (size_t)percent, text.n);
        if (others > 1 || !jm_span_starts(rest, JM_SPAN("%, which is above 1")))
            continue;
        rest = jm_span_sub(rest, 20, rest.n);
        if (jm_span_starts(rest, JM_SPAN("00% limit for the last sample!")))
            return true;
    }
    return false;
}

/* The line in its repr(), ERROR changed to Warning where the revision does so. */
static void shown(struct jm_str *out, struct jm_span line, bool replace)
{
    struct jm_str t;
    jm_str_init(&t);
    line = jm_py_strip(line);
    for (ptrdiff_t at; replace && (at = jm_span_find(line, JM_SPAN("ERROR"))) >= 0;) {
        jm_str_add(&t, line.p, (size_t)at);
        jm_str_adds(&t, "Warning");
        line = jm_span_sub(line, (size_t)at + 5, line.n);
    }
    jm_str_addspan(&t, line);
    jm_mlperf_quote(out, jm_str_span(&t));
    jm_str_release(&t);
}

static int warning(struct log *l, struct jm_span line, struct jm_span text, double t)
{
    struct jm_follow *f = l->f;
    double slip = f->r->slip ? f->r->tolerance_ms : 0; /* ms that are added to seconds */
    if (!(l->load->begin + slip < t && t < l->load->end - slip))
        return 0;
    struct jm_str s;
    int rc;
    jm_str_init(&s);
    shown(&s, line, false);
    if (f->r->uncertain_fails && uncertain(jm_py_strip(text))) {
        jm_str_adds(&s, " during testing phase. Test start time: ");
        jm_py_repr(&s, l->load->begin);
        jm_str_adds(&s, ", Log time: ");
        jm_py_repr(&s, t);
        jm_str_adds(&s, ", Test stop time: ");
        jm_py_repr(&s, l->load->end);
        jm_str_addc(&s, ' ');
        rc = jm_follow_fail(f, "%s", s.buf);
    } else {
        rc = jm_follow_warn(f, "%s in ptd_log.txt during load stage", s.buf);
    }
    jm_str_release(&s);
    return rc;
}

static int error(struct log *l, struct jm_span line, struct jm_span text, double t)
{
    struct jm_follow *f = l->f;
    struct jm_str s;
    int rc = 0;
    text = jm_py_strip(text);
    jm_str_init(&s);
    if (f->r->usb && jm_span_is(text, "USB.")) {
        shown(&s, line, f->r->replaces_error);
        rc = jm_follow_warn(
            f, "%s in ptd_log.txt during testing stage but it is accepted. Treated as WARNING", s.buf);
    } else if (!(l->start < t && t < l->stop)) {
        shown(&s, line, false);
        rc = jm_follow_fail(f, "%s in ptd_log.txt", s.buf);
    } else {
        bool usual = false;
        for (int i = 0; i < f->r->common_errors; i++)
            usual |= jm_span_starts(text, jm_span_of(common[i]));
        if (!usual) {
            shown(&s, line, f->r->replaces_error);
            rc = jm_follow_warn(f, "%s in ptd_log.txt during ranging stage. Treated as WARNING", s.buf);
        }
    }
    jm_str_release(&s);
    return rc;
}

static int find_problem(struct log *l, struct jm_span line)
{
    static const struct jm_span words[2] = {{"WARNING:", 8}, {"ERROR:", 6}};
    for (int i = 0; i < 2; i++) {
        ptrdiff_t at = jm_span_find(line, words[i]);
        struct jm_span text = jm_span_sub(line, at < 0 ? 0 : (size_t)at + words[i].n, line.n);
        if (at < 0 || !text.n)
            continue;
        double t = 0;
        bool unstamped;
        int rc = line_time(l, line, &t, &unstamped);
        if (rc == 0 && unstamped)
            rc = unstamped_line(l, line);
        if (rc == 0)
            rc = i ? error(l, line, text, t) : warning(l, line, text, t);
        if (rc)
            return rc;
    }
    return 0;
}

/* Walks the log once. */
static int walk(struct log *l, int pass, bool *found)
{
    struct jm_py_file in;
    struct jm_span line;
    int rc = jm_py_open(&in, l->path, l->f->err);
    if (rc)
        return jm_follow_no_file(l->f, rc, l->path);
    int said = 0;
    while ((rc = jm_py_next(&in, &line, l->f->err)) > 0) {
        if (pass == 0 && said)
            continue; /* only whether all of it can be decoded */
        said = pass == 0   ? find_ranging(l, line, !in.ended)
               : pass == 1 ? find_uncertainty(l, line, found)
                           : find_problem(l, line);
        if (said < 0 || (said && pass) || (pass == 1 && *found))
            break;
    }
    bool no_utf8 = in.no_utf8;
    jm_py_close(&in);
    if (rc < 0)
        return jm_follow_no_file(l->f, rc, l->path);
    if (no_utf8 && pass == 0 && said >= 0)
        return jm_follow_fail(l->f, "UnicodeDecodeError: %s is no UTF-8", l->path);
    return said;
}

int jm_follow_log(struct jm_follow *f)
{
    const struct jm_json *v;
    struct jm_span name;
    struct log l = {.f = f};
    struct jm_str path, text;
    bool found = false;
    int rc = jm_follow_get(f, f->server, "session_name", &v);
    if (rc == 0)
        rc = jm_follow_load(f, JM_MLPERF_TESTING, &l.load);
    if (rc)
        return rc;
    jm_str_init(&path);
    jm_str_init(&text);
    jm_str_init(&l.mark);
    jm_str_addf(&path, "%s/power/ptd_logs.txt", f->s->dir);
    l.path = path.buf;
    if (jm_json_str(v, &name))
        jm_str_addspan(&text, name);
    else
        jm_follow_repr(&text, v);
    jm_str_adds(&text, "_ranging");
    jm_str_adds(&l.mark, ": Go with mark ");
    jm_mlperf_quote(&l.mark, jm_str_span(&text));
    rc = jm_follow_get(f, f->server, "timezone", &v);
    if (rc == 0 && !jm_json_num(v, &l.zone_s))
        rc = jm_follow_fail(f, "ValueError: timezone is no number");
    l.zone_s = f->r->local_log ? trunc(l.zone_s) : 0;
    if (rc == 0)
        rc = walk(&l, 0, &found);
    if (rc == 0 && !(l.started && l.stopped))
        rc = jm_follow_fail(f, "Can not find ranging time in ptd_logs.txt.");
    if (rc == 0)
        rc = walk(&l, 1, &found);
    if (rc == 0 && !found)
        rc =
            jm_follow_fail(f, "ptd_logs.txt: Line 'Uncertainty checking for Yokogawa... is activated' is not "
                              "found.");
    if (rc == 0)
        rc = walk(&l, 2, &found);
    jm_str_release(&path);
    jm_str_release(&text);
    jm_str_release(&l.mark);
    return rc;
}
