/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/diurnal.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/option.h"
#include "wire/csv.h"

#include "base/banned.h"

#define COLUMNS   16
#define HOURS_DAY 24.0
#define ALIKE     1e-6 /* of a step: how equal steps are */

enum unit { U_UNKNOWN, U_SHARE, U_RATE };

struct table {
    struct jm_csv csv;
    struct jm_diurnal *out;
    size_t cap;
    int hour, load;   /* columns */
    enum unit column; /* what its name says */
    enum unit unit;   /* of the rows so far */
    bool stamped, headed;
    double first, last; /* hours */
};

static int where(const struct table *t, struct jm_err *err, int code, const char *what, struct jm_span s)
{
    return jm_err_set(err, code, "line %lld: %s, and \"%.*s\" is given", (long long)t->csv.line, what,
                      (int)(s.n > 40 ? 40 : s.n), s.p);
}

/* As a spreadsheet may write it: "Hour". */
static int find(const struct jm_csv_field *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (jm_span_ieq(jm_span_trim(f[i].raw), jm_span_of(name)))
            return (int)i;
    return -1;
}

static bool names(struct table *t, const struct jm_csv_field *f, size_t n)
{
    static const char *const hour[] = {"hour", "hours", "time", "start", "timestamp"};
    static const char *const rate[] = {"rate", "requests_per_s", "requests/s", "rps", "qps"};
    static const char *const share[] = {"share", "utilisation", "utilization"};
    int load = find(f, n, "load");
    t->hour = t->load = -1;
    for (size_t i = 0; i < sizeof hour / sizeof *hour && t->hour < 0; i++)
        t->hour = find(f, n, hour[i]);
    for (size_t i = 0; i < sizeof rate / sizeof *rate && t->load < 0; i++)
        if ((t->load = find(f, n, rate[i])) >= 0)
            t->column = U_RATE;
    for (size_t i = 0; i < sizeof share / sizeof *share && t->load < 0; i++)
        if ((t->load = find(f, n, share[i])) >= 0)
            t->column = U_SHARE;
    t->load = t->load < 0 ? load : t->load;
    return t->hour >= 0 && t->load >= 0;
}

/* "13:30", "13.5", "2026-03-01T13:30:00Z", in hours. */
static int hour_of(struct table *t, struct jm_span s, double *out, struct jm_err *err)
{
    ptrdiff_t colon = jm_span_chr(s, ':');
    int64_t h, m, ns;
    bool stamp = s.n > 10 && s.p[4] == '-';
    if (stamp && jm_time_parse_rfc3339(s, &ns, NULL) == 0) {
        *out = (double)ns / 3.6e12;
    } else if (!stamp && colon > 0 && jm_num_i64(jm_span_sub(s, 0, (size_t)colon), &h) == 0 &&
               jm_num_i64(jm_span_sub(s, (size_t)colon + 1, s.n), &m) == 0 && h >= 0 && h < 1000000 &&
               m >= 0 && m < 60) {
        *out = (double)h + (double)m / 60;
    } else if (stamp || colon >= 0 || jm_num_double(s, out) != 0 || !(*out >= 0 && *out < 1e6)) {
        return where(t, err, JM_EPARSE, "an hour is 0, 0.25, 13:30 or 2026-03-01T13:30:00Z", s);
    }
    if (t->out->n && stamp != t->stamped)
        return where(t, err, JM_EPARSE, "hours and times of a date do not go together", s);
    t->stamped = stamp;
    return 0;
}

static int load_of(struct table *t, struct jm_span s, double *out, struct jm_err *err)
{
    enum unit u = t->column;
    if (s.n && s.p[s.n - 1] == '%') {
        u = U_SHARE;
        if (jm_num_double(jm_span_trim(jm_span_sub(s, 0, s.n - 1)), out) != 0)
            return where(t, err, JM_EPARSE, "a load is a number", s);
        *out /= 100;
    } else if (jm_num_double(s, out) == 0) {
        if (u != U_RATE && *out > 1)
            return where(t, err, JM_EUSAGE,
                         "a part of the capacity is 0 to 1 (or a percentage, 70 %); requests a second say so "
                         "(3.1/s, or a column requests_per_s)",
                         s);
        u = u == U_UNKNOWN ? U_SHARE : u;
    } else if (jm_quantity_rate(s, out, NULL) == 0) {
        u = U_RATE;
    } else {
        return where(t, err, JM_EPARSE, s.n ? "a load is a number" : "a load is missing: it is not 0", s);
    }
    if (!(*out >= 0) || *out > 1e9)
        return where(t, err, JM_EUSAGE, "a load is 0 or more", s);
    if ((t->column != U_UNKNOWN && u != t->column) || (t->out->n && u != t->unit))
        return where(t, err, JM_EUSAGE, "parts of the capacity and requests a second are mixed", s);
    t->unit = u;
    return 0;
}

static int add(struct table *t, double hour, double load, struct jm_err *err)
{
    struct jm_diurnal *d = t->out;
    if (d->n == 0)
        t->first = hour;
    if (d->n == 1)
        d->hours = hour - t->last;
    if (d->n && !(hour > t->last))
        return jm_err_set(err, JM_EUSAGE,
                          "line %lld: this hour is not later than the one before (a day on which clocks are "
                          "set back takes times with their zone)",
                          (long long)t->csv.line);
    if (d->n > 1 && fabs(hour - t->last - d->hours) > ALIKE * d->hours + 1e-9)
        return jm_err_set(err, JM_EUSAGE,
                          "line %lld: the steps are %.4g h and this one is %.4g h: an hour is missing, and a "
                          "missing load is not 0",
                          (long long)t->csv.line, d->hours, hour - t->last);
    if (d->n == JM_DIURNAL_STEPS)
        return jm_err_set(err, JM_ELIMIT, "a load curve has at most %d steps", JM_DIURNAL_STEPS);
    if (d->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 32;
        double *v = realloc(d->load, cap * sizeof *v);
        if (!v)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the load curve");
        d->load = v;
        t->cap = cap;
    }
    d->load[d->n++] = load;
    t->last = hour;
    return 0;
}

static int row(struct table *t, const struct jm_csv_field *f, size_t n, struct jm_err *err)
{
    double hour, load;
    if (!t->headed) {
        t->headed = true;
        if (names(t, f, n))
            return 0;
        t->hour = 0;
        t->load = 1;
        double any;
        if (n != 2 || (jm_num_double(jm_span_trim(f[0].raw), &any) != 0 && jm_span_chr(f[0].raw, ':') < 0))
            return jm_err_set(err, JM_EPARSE,
                              "line %lld: a load curve has the columns hour and load (or requests_per_s)",
                              (long long)t->csv.line);
    }
    if ((size_t)t->hour >= n || (size_t)t->load >= n)
        return jm_err_set(err, JM_EPARSE, "line %lld: this row has %zu columns, and hour and load need more",
                          (long long)t->csv.line, n);
    int rc = hour_of(t, jm_span_trim(f[t->hour].raw), &hour, err);
    if (!rc)
        rc = load_of(t, jm_span_trim(f[t->load].raw), &load, err);
    return rc ? rc : add(t, hour, load, err);
}

int jm_diurnal_read(struct jm_span text, struct jm_diurnal *out, struct jm_err *err)
{
    struct table t = {.out = out};
    struct jm_csv_field f[COLUMNS];
    struct jm_span rest = text, first = {"", 0};
    size_t n;
    int rc = 0, more = 1;
    *out = (struct jm_diurnal){0};
    if (jm_span_starts(rest, JM_SPAN("\xef\xbb\xbf")))
        rest = jm_span_sub(rest, 3, rest.n);
    while (jm_span_line(&rest, &first) && (!jm_span_trim(first).n || first.p[0] == '#'))
        ; /* comments say nothing of the separator */
    bool comma = jm_span_chr(first, ',') >= 0;
    jm_csv_init(&t.csv, text,
                !comma && jm_span_chr(first, ';') >= 0    ? ';'
                : !comma && jm_span_chr(first, '\t') >= 0 ? '\t'
                                                          : ',');
    while (!rc && (more = jm_csv_row(&t.csv, f, COLUMNS, &n, err)) == 1) {
        struct jm_span a = jm_span_trim(f[0].raw);
        if ((n == 1 && !a.n) || (a.n && a.p[0] == '#'))
            continue;
        rc = row(&t, f, n, err);
    }
    if (!rc && more < 0)
        rc = more;
    if (!rc && !out->n)
        rc = jm_err_set(err, JM_EPARSE, "the load curve has no rows");
    if (!rc && (out->n < 2 || (double)out->n * out->hours < HOURS_DAY * (1 - ALIKE)))
        rc = jm_err_set(err, JM_EUSAGE,
                        "the load curve covers %.4g h: a day takes 24 h at least, and hours that are not "
                        "there are not 0",
                        out->n < 2 ? 0 : (double)out->n * out->hours);
    out->share = t.unit == U_SHARE;
    if (rc)
        jm_diurnal_release(out);
    return rc;
}

void jm_diurnal_release(struct jm_diurnal *d)
{
    free(d->load);
    *d = (struct jm_diurnal){0};
}
