/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/text.h"

#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "base/banned.h"

int jm_text_stat(struct jm_span text, int64_t *busy, int *cpus)
{
    struct jm_span line, field;
    int64_t v[7];
    int n = 0;
    if (!jm_span_line(&text, &line) || !jm_span_starts(line, JM_SPAN("cpu ")))
        return -EBADMSG;
    line = jm_span_sub(line, 4, line.n);
    while (n < 7 && jm_span_field(&line, ' ', &field)) {
        if (field.n == 0)
            continue;
        if (jm_num_i64(field, &v[n]) || v[n] < 0 || v[n] > INT64_MAX / 16)
            return -EBADMSG;
        n++;
    }
    if (n < 7)
        return -EBADMSG;
    *busy = v[0] + v[1] + v[2] + v[5] + v[6];
    *cpus = 0;
    while (jm_span_line(&text, &line) && jm_span_starts(line, JM_SPAN("cpu")))
        ++*cpus;
    return 0;
}

int64_t jm_text_parent(struct jm_span text)
{
    size_t close = text.n;
    int64_t parent;
    while (close > 0 && text.p[close - 1] != ')')
        close--;
    /* ") S 1 ...": a blank, the state, a blank, the parent */
    struct jm_span rest = jm_span_sub(text, close, text.n), field;
    if (close == 0 || rest.n < 4 || rest.p[0] != ' ' || rest.p[2] != ' ')
        return -1;
    rest = jm_span_sub(rest, 3, rest.n);
    return jm_span_field(&rest, ' ', &field) && jm_num_i64(field, &parent) == 0 && parent >= 0 ? parent : -1;
}

bool jm_text_event(struct jm_span s, uint64_t *config)
{
    s = jm_span_trim(s);
    if (!jm_span_starts(s, JM_SPAN("event=0x")) || s.n <= 8 || s.n > 8 + 8)
        return false;
    *config = 0;
    for (size_t i = 8; i < s.n; i++) {
        char c = s.p[i];
        int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (v < 0)
            return false;
        *config = *config << 4 | (unsigned)v;
    }
    return true;
}

bool jm_text_scale(struct jm_span s, int *scale2)
{
    double v;
    int e;
    if (jm_num_double(jm_span_trim(s), &v) || !(v > 0) || frexp(v, &e) != 0.5)
        return false;
    *scale2 = e - 1;
    return true;
}

bool jm_text_watts(struct jm_span reply, double *avg, int64_t *samples, int64_t *bad, int64_t *good)
{
    struct jm_span f[7];
    size_t n = 0;
    while (n < 7 && jm_span_field(&reply, ',', &f[n]))
        n++;
    return n == 7 && !reply.p && jm_span_is(f[0], "Watts") && jm_num_double(f[1], avg) == 0 &&
           jm_num_i64(f[4], samples) == 0 && jm_num_i64(f[5], bad) == 0 && jm_num_i64(f[6], good) == 0 &&
           *samples >= 0 && *bad >= 0 && *good >= 0 && *bad <= *samples && *good == *samples - *bad &&
           fabs(*avg) < 1e8;
}
