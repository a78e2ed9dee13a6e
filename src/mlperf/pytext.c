/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/pytext.h"

#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define BUF ((size_t)64 << 10)

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct jm_span jm_py_strip(struct jm_span s)
{
    while (s.n && blank(*s.p)) {
        s.p++;
        s.n--;
    }
    while (s.n && blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

void jm_py_repr(struct jm_str *out, double v)
{
    if (isnan(v) || isinf(v)) {
        jm_str_adds(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        double back;
        int n = snprintf(text, sizeof(text), "%.*e", digits - 1, v);
        if (n > 0 && jm_num_double((struct jm_span){text, (size_t)n}, &back) == 0 && back == v)
            break;
    }
    char *e = strchr(text, 'e');
    int64_t exponent = 0;
    if (!e || jm_num_i64(jm_span_of(e[1] == '+' ? e + 2 : e + 1), &exponent) != 0)
        return;
    if (exponent < -4 || exponent >= 16) {
        jm_str_addf(out, "%.*se%c%02d", (int)(e - text), text, exponent < 0 ? '-' : '+', abs((int)exponent));
        return;
    }
    /* Digits behind the point: those of the mantissa less the exponent, at least one. */
    int have = (int)(e - text) - (*text == '-') - 1;
    int behind = have - 1 - (int)exponent;
    if (have == 0)
        behind = -(int)exponent;
    jm_str_addf(out, "%.*f", behind < 1 ? 1 : behind, v);
}

double jm_py_round(double v, int digits)
{
    char text[400];
    double back;
    int n = snprintf(text, sizeof(text), "%.*f", digits, v);
    if (!isfinite(v) || n <= 0 || (size_t)n >= sizeof(text) ||
        jm_num_double((struct jm_span){text, (size_t)n}, &back) != 0)
        return v;
    return back;
}

bool jm_py_float(struct jm_span s, double *out)
{
    char text[128];
    size_t n = 0;
    s = jm_py_strip(s);
    if (s.n == 0 || s.n >= sizeof(text))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_') {
            text[n++] = s.p[i];
            continue;
        }
        if (i == 0 || i + 1 == s.n || !digit(s.p[i - 1]) || !digit(s.p[i + 1]))
            return false;
    }
    struct jm_span t = {text, n}, word = t;
    bool minus = *text == '-';
    if (*text == '-' || *text == '+')
        word = jm_span_sub(t, 1, n);
    if (jm_span_ieq(word, JM_SPAN("inf")) || jm_span_ieq(word, JM_SPAN("infinity"))) {
        *out = minus ? -INFINITY : INFINITY;
        return true;
    }
    if (jm_span_ieq(word, JM_SPAN("nan"))) {
        *out = NAN;
        return true;
    }
    int rc = jm_num_double(*text == '+' ? word : t, out);
    if (rc == JM_ERANGE)
        *out = minus ? -INFINITY : INFINITY;
    return rc == 0 || rc == JM_ERANGE;
}

/* Takes between 1 and most digits off *s. */
static bool take(struct jm_span *s, size_t most, int *value, size_t *used)
{
    size_t n = 0;
    *value = 0;
    while (n < most && n < s->n && digit(s->p[n]))
        *value = *value * 10 + (s->p[n++] - '0');
    *used = n;
    *s = jm_span_sub(*s, n, s->n);
    return n > 0;
}

static bool sign(struct jm_span *s, char c)
{
    if (!s->n || *s->p != c)
        return false;
    *s = jm_span_sub(*s, 1, s->n);
    return true;
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar. */
static int64_t days(int y, int m, int d)
{
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

bool jm_py_time(struct jm_span s, double *unix_s)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int mon, day, year, h, m, sec, frac;
    size_t n;
    if (!take(&s, 2, &mon, &n) || !sign(&s, '-') || !take(&s, 2, &day, &n) || !sign(&s, '-') ||
        !take(&s, 4, &year, &n) || n != 4 || !s.n || !blank(*s.p))
        return false;
    while (s.n && blank(*s.p))
        s = jm_span_sub(s, 1, s.n);
    if (!take(&s, 2, &h, &n) || !sign(&s, ':') || !take(&s, 2, &m, &n) || !sign(&s, ':') ||
        !take(&s, 2, &sec, &n) || !sign(&s, '.') || !take(&s, 6, &frac, &n) || s.n)
        return false;
    for (; n < 6; n++)
        frac *= 10;
    if (mon < 1 || mon > 12 || day < 1 || day > month_days[mon - 1] || year < 1 || h > 23 || m > 59 ||
        sec > 59)
        return false;
    if (mon == 2 && day == 29 && (year % 4 || (year % 100 == 0 && year % 400)))
        return false;
    int64_t whole = days(year, mon, day) * 86400 + h * 3600 + m * 60 + sec;
    *unix_s = (double)whole + frac / 1e6;
    return true;
}

bool jm_py_find_stamp(struct jm_span line, struct jm_span *stamp)
{
    static const char between[] = "-- ::.";
    /* Only a place that a dash follows, with any digits before it, can begin one. */
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != '-' && !digit(line.p[i]))
            continue;
        size_t at = i;
        int part = 0;
        for (; part < 6; part++) {
            while (at < line.n && digit(line.p[at]))
                at++;
            if (at == line.n || line.p[at] != between[part])
                break;
            at++;
        }
        if (part == 6) {
            while (at < line.n && digit(line.p[at]))
                at++;
            *stamp = jm_span_sub(line, i, at - i);
            return true;
        }
        /* A run of digits fails as a whole: its tail fails in the same place. */
        while (i + 1 < line.n && digit(line.p[i]) && digit(line.p[i + 1]))
            i++;
    }
    return false;
}

bool jm_py_line_stamp(struct jm_span line)
{
    static const char form[] = "dd-dd-dddd dd:dd:dd.ddd";
    if (line.n < sizeof(form) - 1)
        return false;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == 'd' ? !digit(line.p[i]) : form[i] != '.' && line.p[i] != form[i])
            return false;
    return true;
}

int jm_py_open(struct jm_py_file *f, const char *path, struct jm_err *err)
{
    *f = (struct jm_py_file){0};
    jm_str_init(&f->line);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* never waits on a pipe */
    if (fd < 0)
        return jm_err_sys(err, errno, "Cannot open %s", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return jm_err_set(err, JM_EINVAL, "Cannot read %s: it is no regular file.", path);
    }
    if (!(f->f = fdopen(fd, "rb"))) {
        close(fd);
        return jm_err_sys(err, errno, "Cannot open %s", path);
    }
    if (!(f->buf = malloc(BUF))) {
        jm_py_close(f);
        return jm_err_set(err, JM_ENOMEM, "Out of memory while reading %s.", path);
    }
    return 0;
}

void jm_py_close(struct jm_py_file *f)
{
    if (f->f)
        fclose(f->f);
    free(f->buf);
    jm_str_release(&f->line);
    *f = (struct jm_py_file){0};
    jm_str_init(&f->line);
}

static bool decodes(struct jm_span s)
{
    for (size_t i = 0; i < s.n;) {
        if (!((unsigned char)s.p[i] & 0x80)) {
            i++;
            continue;
        }
        size_t n = jm_utf8_len(s.p + i, s.n - i);
        if (!n)
            return false;
        i += n;
    }
    return true;
}

int jm_py_next(struct jm_py_file *f, struct jm_span *line, struct jm_err *err)
{
    jm_str_reset(&f->line);
    for (bool any = false;;) {
        if (f->at == f->have) {
            f->have = fread(f->buf, 1, BUF, f->f);
            f->at = 0;
            if (!f->have && ferror(f->f))
                return jm_err_sys(err, errno ? errno : EIO, "Cannot read a log to its end");
            if (!f->have) {
                f->ended = false;
                if (!any)
                    return 0;
                break;
            }
        }
        if (f->after_cr) {
            f->after_cr = false;
            if (f->buf[f->at] == '\n' && ++f->at == f->have)
                continue;
        }
        any = true;
        const char *p = f->buf + f->at;
        size_t n = f->have - f->at;
        const char *lf = memchr(p, '\n', n);
        const char *cr = memchr(p, '\r', lf ? (size_t)(lf - p) : n);
        const char *end = cr ? cr : lf;
        size_t take_n = end ? (size_t)(end - p) : n;
        if (f->line.len < JM_PY_LINE)
            jm_str_add(&f->line, p, take_n < JM_PY_LINE - f->line.len ? take_n : JM_PY_LINE - f->line.len);
        f->at += take_n + (end != NULL);
        f->after_cr = cr != NULL;
        if (end) {
            f->ended = true;
            break;
        }
    }
    int rc = jm_str_ok(&f->line, "a line of a log", err);
    if (rc)
        return rc;
    *line = jm_str_span(&f->line);
    if (!f->no_utf8 && line->n < JM_PY_LINE && !decodes(*line))
        f->no_utf8 = true;
    return 1;
}
