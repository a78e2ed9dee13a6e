/* SPDX-License-Identifier: Apache-2.0 */
/* Check 6: clocks, phases, and the power of ranging against that of testing. */
#include "mlperf/official_follow.h"

#include <math.h>
#include <string.h>

#include "mlperf/textlog.h"

#include "base/banned.h"

/* Does a line hold word in any case? */
static bool holds(struct jm_span line, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= line.n; i++) {
        char c = line.p[i];
        if ((c == word[0] || c == word[0] - 'a' + 'A') &&
            jm_span_istarts(jm_span_sub(line, i, n), jm_span_of(word)))
            return true;
    }
    return false;
}

/* int(v) of a time zone: numbers, and texts of digits. */
static int zone(struct jm_follow *f, const struct jm_json *side, double *out)
{
    const struct jm_json *v;
    struct jm_span s;
    int rc = jm_follow_get(f, side, "timezone", &v);
    if (rc)
        return rc;
    if (jm_json_num(v, out)) {
        *out = trunc(*out);
        return 0;
    }
    if (jm_json_str(v, &s) && jm_py_float(s, out) && jm_span_chr(s, '.') < 0)
        return 0;
    return jm_follow_fail(f, "ValueError: timezone is no number");
}

/* get_time_from_line of a line of the detail log. */
static int stamp(struct jm_follow *f, struct jm_span line, const char *path, double zone_s, double *out)
{
    struct jm_span s;
    if (!jm_py_find_stamp(line, &s)) {
        struct jm_str t;
        jm_str_init(&t);
        struct jm_span shown = jm_py_strip(line);
        jm_mlperf_quote(&t, jm_span_sub(shown, 0, 500));
        int rc = jm_follow_fail(f, "LineWithoutTimeStamp: %s in %s.", t.buf, path);
        jm_str_release(&t);
        return rc;
    }
    if (!jm_py_time(s, out))
        return jm_follow_fail(
            f, "ValueError: time data '%.*s' does not match format '%%m-%%d-%%Y %%H:%%M:%%S.%%f'",
            (int)(s.n > 60 ? 60 : s.n), s.p);
    *out += zone_s;
    return 0;
}

int jm_follow_load(struct jm_follow *f, enum jm_mlperf_mode m, const struct jm_follow_window **w)
{
    struct jm_follow_window *win = &f->window[m];
    *w = win;
    if (win->known)
        return 0;
    double zone_s = 0;
    int rc = f->r->local_load ? zone(f, f->client, &zone_s) : 0;
    if (rc)
        return rc;
    struct jm_str path;
    struct jm_py_file in;
    struct jm_span line;
    bool begun = false, ended = false;
    jm_str_init(&path);
    jm_str_addf(&path, "%s/%s/mlperf_log_detail.txt", f->s->dir, jm_follow_mode(m));
    if ((rc = jm_py_open(&in, path.buf, f->err)) != 0) {
        rc = jm_follow_no_file(f, rc, path.buf);
        jm_str_release(&path);
        return rc;
    }
    while (!(begun && ended) && (rc = jm_py_next(&in, &line, f->err)) > 0) {
        rc = 0;
        if (in.no_utf8)
            rc = jm_follow_fail(f, "UnicodeDecodeError: %s is no UTF-8", path.buf);
        else if (holds(line, "power_begin"))
            begun = (rc = stamp(f, line, path.buf, zone_s, &win->begin)) == 0;
        else if (holds(line, "power_end"))
            ended = (rc = stamp(f, line, path.buf, zone_s, &win->end)) == 0;
        if (rc)
            break;
    }
    jm_py_close(&in);
    if (rc == JM_EIO)
        rc = jm_follow_no_file(f, rc, path.buf);
    if (rc == 0 && !(begun && ended)) {
        struct jm_str name;
        jm_str_init(&name);
        jm_mlperf_quote(&name, jm_str_span(&path));
        rc = jm_follow_fail(f, "Can not get %s time from %s", begun ? "power_end" : "power_begin", name.buf);
        jm_str_release(&name);
    }
    jm_str_release(&path);
    if (rc > 0 && begun && ended)
        rc = 0;
    win->known = rc == 0;
    return rc;
}

/* phases[i][0]. */
static int phase(struct jm_follow *f, const struct jm_json *list, size_t i, double *out)
{
    const struct jm_json *pair, *v;
    int rc = jm_follow_at(f, list, i, &pair);
    if (rc == 0)
        rc = jm_follow_at(f, pair, 0, &v);
    if (rc == 0 && !jm_json_num(v, out))
        rc = jm_follow_fail(f, "TypeError: a phase is no number");
    return rc;
}

static int clocks(struct jm_follow *f, const struct jm_json *c, const struct jm_json *s, const char *mode)
{
    if (jm_json_len(c) != jm_json_len(s))
        return jm_follow_fail(f, "Phases amount is not equal for %s mode.", mode);
    for (size_t i = 0; i < jm_json_len(c); i++) {
        double a, b;
        int rc = phase(f, c, i, &a);
        if (rc == 0)
            rc = phase(f, s, i, &b);
        if (rc)
            return rc;
        double d = fabs(a - b), most = f->r->tolerance_ms / 1000;
        bool strict = f->r->delta_text == JM_MLPERF_DELTA_200;
        if (strict ? d < most : d <= most)
            continue;
        struct jm_str t;
        jm_str_init(&t);
        jm_str_addf(&t, "The time difference for %zu phase of %s mode is ", i + 1, mode);
        if (strict)
            jm_str_addf(&t, "equal or more than %.0fms.", f->r->tolerance_ms);
        else
            jm_str_addf(&t, "more than %.0fms", f->r->tolerance_ms);
        if (!strict) {
            bool brief = f->r->delta_text == JM_MLPERF_DELTA_SHORT;
            jm_str_adds(&t, brief ? ": " : ".Observed difference is ");
            jm_py_repr(&t, d * 1000);
            jm_str_adds(&t, brief ? "" : "ms");
        }
        rc = jm_follow_fail(f, "%s", t.buf);
        jm_str_release(&t);
        return rc;
    }
    return 0;
}

static int inside(struct jm_follow *f, const struct jm_follow_window *w, const struct jm_json *phases,
                  const char *mode)
{
    const double at[2] = {w->begin, w->end};
    for (int i = 0; i < 2; i++) {
        double from, to;
        int rc = phase(f, phases, 1, &from);
        if (rc == 0)
            rc = phase(f, phases, 2, &to);
        if (rc)
            return rc;
        if (!((from < at[i] && at[i] < to) || (from < at[i] - 3600 && at[i] - 3600 < to)))
            return jm_follow_fail(f, "Loadgen test %s time is not within %s mode time interval.",
                                  i ? "end" : "begin", mode);
    }
    return 0;
}

static int duration(struct jm_follow *f, double ranging, double testing)
{
    if (f->r->duration == JM_MLPERF_DUR_ABS_5) {
        double longer = ranging > testing ? ranging : testing;
        if (longer == 0)
            return jm_follow_fail(f, "ZeroDivisionError: float division by zero");
        return fabs(ranging - testing) / longer < 0.05
                   ? 0
                   : jm_follow_fail(f, "Duration of the ranging mode differs from the duration of testing "
                                       "mode by more than 5 percent");
    }
    if (ranging == 0)
        return jm_follow_fail(f, "ZeroDivisionError: float division by zero");
    double d = (ranging - testing) / ranging;
    bool warns = f->r->duration == JM_MLPERF_DUR_WARN_50;
    if (warns ? !(d > 0.5) : d < (f->r->duration == JM_MLPERF_DUR_DROP_5 ? 0.05 : 0.5))
        return 0;
    struct jm_str t;
    jm_str_init(&t);
    jm_str_adds(&t, "Duration of the testing mode (");
    jm_py_repr(&t, jm_py_round(testing, 2));
    jm_str_adds(&t, ") is lower than that of ranging mode (");
    jm_py_repr(&t, jm_py_round(ranging, 2));
    jm_str_adds(&t, ") by ");
    jm_py_repr(&t, jm_py_round(d * 100, 2));
    jm_str_addf(&t, " percent which is more than the %s 5 percent limit.", warns ? "expected" : "allowed");
    int rc = warns ? jm_follow_warn(f, "%s", t.buf) : jm_follow_fail(f, "%s", t.buf);
    jm_str_release(&t);
    return rc;
}

/* One line of spl.txt into the sums. */
struct sums {
    double watts, pf;
    size_t n_watts, n_pf;
};
static int sample(struct jm_follow *f, struct jm_span line, const struct jm_follow_window *w,
                  struct sums *out)
{
    struct jm_span rest = line, part[10] = {{NULL, 0}};
    size_t n = 0;
    double t, v;
    while (n < 10 && jm_span_field(&rest, ',', &part[n]))
        n++;
    if (n < 2)
        return jm_follow_fail(f, "IndexError: list index out of range");
    if (!jm_py_time(part[1], &t))
        return jm_follow_fail(
            f, "ValueError: time data '%.*s' does not match format '%%m-%%d-%%Y %%H:%%M:%%S.%%f'",
            (int)(part[1].n > 60 ? 60 : part[1].n), part[1].p);
    if (!(t > w->begin && t < w->end))
        return 0;
    if (n < 10)
        return jm_follow_fail(f, "IndexError: list index out of range");
    if (!jm_py_float(part[3], &v))
        return jm_follow_fail(f, "ValueError: could not convert string to float: '%.*s'",
                              (int)(part[3].n > 60 ? 60 : part[3].n), part[3].p);
    if (v > 0) {
        out->watts += v;
        out->n_watts++;
    }
    if (!jm_py_float(part[9], &v))
        return jm_follow_fail(f, "ValueError: could not convert string to float: '%.*s'",
                              (int)(part[9].n > 60 ? 60 : part[9].n), part[9].p);
    if (v > 0) {
        out->pf += v;
        out->n_pf++;
    }
    return 0;
}

static int mean_power(struct jm_follow *f, enum jm_mlperf_mode m, double *watts, double *pf)
{
    const struct jm_follow_window *w;
    struct sums sums = {0};
    struct jm_py_file in;
    struct jm_span line;
    struct jm_str path;
    int rc = jm_follow_load(f, m, &w);
    if (rc)
        return rc;
    jm_str_init(&path);
    jm_str_addf(&path, "%s/%s/spl.txt", f->s->dir, jm_follow_mode(m));
    if ((rc = jm_py_open(&in, path.buf, f->err)) != 0) {
        rc = jm_follow_no_file(f, rc, path.buf);
        jm_str_release(&path);
        return rc;
    }
    while ((rc = jm_py_next(&in, &line, f->err)) > 0) {
        rc = 0;
        if (in.no_utf8)
            rc = jm_follow_fail(f, "UnicodeDecodeError: %s is no UTF-8", path.buf);
        else if (f->r->power == JM_MLPERF_POWER_EVERY || jm_span_starts(line, JM_SPAN("Time")))
            rc = sample(f, line, w, &sums);
        if (rc)
            break;
    }
    jm_py_close(&in);
    if (rc == JM_EIO)
        rc = jm_follow_no_file(f, rc, path.buf);
    jm_str_release(&path);
    *watts = jm_py_round(sums.n_watts ? sums.watts / (double)sums.n_watts : -1, 5);
    *pf = jm_py_round(sums.n_pf ? sums.pf / (double)sums.n_pf : -1, 5);
    return rc;
}

static int power(struct jm_follow *f)
{
    double r, t, rpf, tpf;
    int rc = mean_power(f, JM_MLPERF_RANGING, &r, &rpf);
    if (rc == 0)
        rc = mean_power(f, JM_MLPERF_TESTING, &t, &tpf);
    if (rc)
        return rc;
    if (r == 0)
        return jm_follow_fail(f, "ZeroDivisionError: float division by zero");
    double delta = jm_py_round((t / r - 1) * 100, 2);
    if (delta > -5)
        return 0;
    struct jm_str text;
    jm_str_init(&text);
    jm_str_adds(&text, "Average power during the testing mode run is lower than that during the ranging run "
                       "by more than 5%. Observed delta is ");
    jm_py_repr(&text, delta);
    jm_str_adds(&text, "% with avg. ranging power ");
    jm_py_repr(&text, r);
    jm_str_adds(&text, ", avg.testing power ");
    jm_py_repr(&text, t);
    jm_str_adds(&text, ", avg. ranging power factor ");
    jm_py_repr(&text, rpf);
    jm_str_adds(&text, " and avg. testing power factor ");
    jm_py_repr(&text, tpf);
    rc = jm_follow_fail(f, "%s", text.buf);
    jm_str_release(&text);
    return rc;
}

int jm_follow_phases(struct jm_follow *f)
{
    const struct jm_json *c, *s, *cr, *ct, *sr, *st;
    const struct jm_follow_window *r, *t;
    int rc;
    if ((rc = jm_follow_get(f, f->client, "phases", &c)) != 0 ||
        (rc = jm_follow_get(f, c, "ranging", &cr)) != 0 || (rc = jm_follow_get(f, c, "testing", &ct)) != 0 ||
        (rc = jm_follow_get(f, f->server, "phases", &s)) != 0 ||
        (rc = jm_follow_get(f, s, "ranging", &sr)) != 0 || (rc = jm_follow_get(f, s, "testing", &st)) != 0 ||
        (rc = clocks(f, cr, sr, "ranging")) != 0 || (rc = clocks(f, ct, st, "run_1")) != 0 ||
        (rc = jm_follow_load(f, JM_MLPERF_RANGING, &r)) != 0 ||
        (rc = jm_follow_load(f, JM_MLPERF_TESTING, &t)) != 0 || (rc = inside(f, r, cr, "ranging")) != 0 ||
        (rc = inside(f, t, ct, "testing")) != 0 ||
        (rc = duration(f, r->end - r->begin, t->end - t->begin)) != 0)
        return rc;
    return f->r->power == JM_MLPERF_POWER_NONE ? 0 : power(f);
}
