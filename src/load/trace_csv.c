/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in columns, found by the names in the first line.
 *
 * Azure LLM inference: 2023 (TIMESTAMP,ContextTokens,GeneratedTokens; 7 digits after the second), 2024 (with
 * an offset; no digits at whole seconds), 2025 multimodal (NumImages, ISO 8601). BurstGPT 1.1 and 1.2 (the
 * second has Session ID and Elapsed time): a request with 0 response tokens failed. vLLM's timed trace as
 * CSV. And a plain one: t_s,isl,osl[,session]. */
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "load/trace.h"

#include "base/banned.h"

enum { C_TIME, C_ISL, C_OSL, C_SESSION, C_IMAGES, C_BLOCKS, C_MOST };

static struct jm_span unquoted(struct jm_span s)
{
    s = jm_span_trim(s);
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        s = jm_span_trim(jm_span_sub(s, 1, s.n - 2));
    return s;
}

/* The next field; a quoted one may hold separators. */
static bool field(struct jm_span *rest, char sep, struct jm_span *out)
{
    bool quoted = false;
    if (!rest->p)
        return false;
    for (size_t i = 0; i <= rest->n; i++) {
        if (i < rest->n && rest->p[i] == '"')
            quoted = !quoted;
        if (i < rest->n && (quoted || rest->p[i] != sep))
            continue;
        *out = unquoted(jm_span_sub(*rest, 0, i));
        *rest = i < rest->n ? jm_span_sub(*rest, i + 1, rest->n) : (struct jm_span){0};
        return true;
    }
    return false;
}

static char separator(struct jm_span line)
{
    return jm_span_chr(line, ',') < 0 && jm_span_chr(line, '\t') >= 0  ? '\t'
           : jm_span_chr(line, ',') < 0 && jm_span_chr(line, ';') >= 0 ? ';'
                                                                       : ',';
}

/* Which column has one of these names ("a|b")? */
static int column(struct jm_span line, const char *names)
{
    struct jm_span f;
    char sep = separator(line);
    for (int i = 0; field(&line, sep, &f); i++) {
        struct jm_span all = jm_span_of(names), name;
        while (jm_span_field(&all, '|', &name))
            if (jm_span_ieq(f, name))
                return i;
    }
    return -1;
}

static bool columns(struct jm_trace_parse *p, struct jm_span line, const char *const names[C_MOST])
{
    for (int c = 0; c < C_MOST; c++)
        p->column[c] = names[c] ? column(line, names[c]) : -1;
    p->sep = separator(line);
    return p->column[C_TIME] >= 0 && p->column[C_ISL] >= 0 && p->column[C_OSL] >= 0;
}

static int head(struct jm_trace_parse *p, struct jm_span line, const char *const names[C_MOST],
                struct jm_err *err)
{
    static const char *const what[] = {"times", "prompt lengths", "answer lengths"};
    if (columns(p, line, names))
        return 0;
    for (int c = C_TIME; c <= C_OSL; c++)
        if (p->column[c] < 0)
            return jm_err_set(err, JM_EPARSE, "the first line names no column of %s (%s)", what[c], names[c]);
    return 0;
}

static bool digits(struct jm_span s, size_t at, size_t n, int *out)
{
    *out = 0;
    if (at + n > s.n)
        return false;
    for (size_t i = at; i < at + n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        *out = 10 * *out + (s.p[i] - '0');
    }
    return true;
}

/* 2023-11-16 18:17:03[.9799600][Z|+00:00], or T between date and time. */
static bool stamp(struct jm_span s, int64_t *ns)
{
    int y, mo, d, h, mi, se, oh = 0, om = 0;
    if (!digits(s, 0, 4, &y) || !digits(s, 5, 2, &mo) || !digits(s, 8, 2, &d) || !digits(s, 11, 2, &h) ||
        !digits(s, 14, 2, &mi) || !digits(s, 17, 2, &se))
        return false;
    if (s.p[4] != '-' || s.p[7] != '-' || (s.p[10] != ' ' && s.p[10] != 'T') || s.p[13] != ':' ||
        s.p[16] != ':' || y < 1970 || y > 2200 || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 ||
        se > 60)
        return false;
    int64_t frac = 0, unit = 100000000;
    size_t i = 19;
    if (i < s.n && s.p[i] == '.') {
        size_t from = ++i;
        for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, unit /= 10)
            frac += unit * (s.p[i] - '0'); /* beyond a nanosecond nothing is added */
        if (i == from)
            return false;
    }
    if (i < s.n && (s.p[i] == '+' || s.p[i] == '-')) {
        if (!digits(s, i + 1, 2, &oh) || !digits(s, i + 4, 2, &om) || s.p[i + 3] != ':' || oh > 15 || om > 59)
            return false;
        int sign = s.p[i] == '-' ? -1 : 1;
        oh *= sign;
        om *= sign;
        i += 6;
    } else if (i < s.n && s.p[i] == 'Z') {
        i++;
    }
    if (i != s.n)
        return false;
    *ns = (jm_time_unix(y, mo, d, h, mi, se) - oh * 3600 - om * 60) * JM_NS_PER_S + frac;
    return *ns >= 0;
}

/* A plain number in units of so many ns. */
static bool seconds(struct jm_span s, double unit, int64_t *ns)
{
    double v;
    if (jm_num_double(s, &v) != 0 || !(v >= 0) || v * unit > 4e18)
        return false;
    *ns = (int64_t)(v * unit + 0.5);
    return true;
}

static bool whole(struct jm_span s, int64_t *out)
{
    double v;
    if (jm_num_i64(s, out) == 0)
        return true;
    if (jm_num_double(s, &v) != 0 || !(v >= -1e15 && v <= 1e15) || v != (double)(int64_t)v)
        return false;
    *out = (int64_t)v; /* 12.0, as pandas writes integers beside gaps */
    return true;
}

enum clock { A_DATE, IN_SECONDS, IN_MS };

static int bad(struct jm_err *err, const char *what, struct jm_span s)
{
    return jm_err_set(err, JM_EPARSE, "%s \"%.*s\" cannot be read", what, (int)(s.n < 60 ? s.n : 60),
                      s.p ? s.p : "");
}

static int row(struct jm_trace_parse *p, struct jm_span line, enum clock clock, struct jm_trace_row *r,
               struct jm_err *err)
{
    struct jm_span f, cell[C_MOST] = {{0}};
    bool have[C_MOST] = {false};
    line = jm_span_trim(line);
    for (int i = 0; field(&line, p->sep, &f); i++)
        for (int c = 0; c < C_MOST; c++)
            if (p->column[c] == i) {
                cell[c] = f;
                have[c] = true;
            }
    if (!have[C_TIME] || !have[C_ISL] || !have[C_OSL])
        return jm_err_set(err, JM_EPARSE, "the line has fewer columns than the first one names");
    if (clock == A_DATE ? !stamp(cell[C_TIME], &r->t)
                        : !seconds(cell[C_TIME], clock == IN_MS ? 1e6 : 1e9, &r->t))
        return bad(err, "the time", cell[C_TIME]);
    if (!whole(cell[C_ISL], &r->isl))
        return bad(err, "the prompt's length", cell[C_ISL]);
    if (!whole(cell[C_OSL], &r->osl))
        return bad(err, "the answer's length", cell[C_OSL]);
    if (have[C_SESSION] && cell[C_SESSION].n && !whole(cell[C_SESSION], &r->session))
        r->session = -1; /* a name: not a number to keep */
    if (have[C_IMAGES] && (!whole(cell[C_IMAGES], &r->images) || r->images < 0))
        return bad(err, "the number of images", cell[C_IMAGES]);
    if (r->isl < 0 || r->osl < 0)
        return jm_err_set(err, JM_EPARSE, "a length is negative; correct the line, or leave it out");
    return r->osl == 0 ? 0 : 1;
}

/* --- Azure */
static const char *const azure[C_MOST] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens",
                                          NULL,        "NumImages",     NULL};
static bool azure_is(struct jm_span line)
{
    struct jm_trace_parse p = {0};
    return columns(&p, line, azure);
}
static int azure_head(struct jm_trace_parse *p, struct jm_span line, struct jm_err *err)
{
    return head(p, line, azure, err);
}
static int azure_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r,
                     struct jm_err *err)
{
    return row(p, line, A_DATE, r, err);
}
const struct jm_trace_format jm_trace_azure = {.name = "azure",
                                               .what = "Azure LLM inference 2023, 2024, 2025",
                                               .header = true,
                                               .is = azure_is,
                                               .head = azure_head,
                                               .row = azure_row};

/* --- BurstGPT */
static const char *const burst[C_MOST] = {
    "Timestamp", "Request tokens", "Response tokens", "Session ID", NULL, NULL};
static bool burst_is(struct jm_span line)
{
    struct jm_trace_parse p = {0};
    return columns(&p, line, burst);
}
static int burst_head(struct jm_trace_parse *p, struct jm_span line, struct jm_err *err)
{
    return head(p, line, burst, err);
}
static int burst_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r,
                     struct jm_err *err)
{
    return row(p, line, IN_SECONDS, r, err);
}
const struct jm_trace_format jm_trace_burstgpt = {.name = "burstgpt",
                                                  .what = "BurstGPT 1.1, 1.2",
                                                  .header = true,
                                                  .is = burst_is,
                                                  .head = burst_head,
                                                  .row = burst_row};

/* --- vLLM timed trace as CSV: milliseconds, as in Mooncake's */
static const char *const timed[C_MOST] = {"timestamp", "input_length", "output_length", NULL, NULL, NULL};
static bool timed_is(struct jm_span line)
{
    struct jm_trace_parse p = {0};
    return columns(&p, line, timed);
}
static int timed_head(struct jm_trace_parse *p, struct jm_span line, struct jm_err *err)
{
    return head(p, line, timed, err);
}
static int timed_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r,
                     struct jm_err *err)
{
    return row(p, line, IN_MS, r, err);
}
const struct jm_trace_format jm_trace_timed = {.name = "timed",
                                               .what = "vLLM timed trace as CSV",
                                               .header = true,
                                               .is = timed_is,
                                               .head = timed_head,
                                               .row = timed_row};

/* --- plain */
static const char *const plain[C_MOST] = {"t_s|time_s|timestamp_s",
                                          "isl|input_tokens|prompt_tokens",
                                          "osl|output_tokens|completion_tokens",
                                          "session|session_id",
                                          NULL,
                                          NULL};
static bool plain_is(struct jm_span line)
{
    struct jm_trace_parse p = {0};
    return columns(&p, line, plain);
}
static int plain_head(struct jm_trace_parse *p, struct jm_span line, struct jm_err *err)
{
    return head(p, line, plain, err);
}
static int plain_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r,
                     struct jm_err *err)
{
    return row(p, line, IN_SECONDS, r, err);
}
const struct jm_trace_format jm_trace_csv = {.name = "csv",
                                             .what = "columns t_s, isl, osl and perhaps session",
                                             .header = true,
                                             .is = plain_is,
                                             .head = plain_head,
                                             .row = plain_row};
