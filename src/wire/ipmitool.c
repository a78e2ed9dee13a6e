/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ipmitool.h"

#include <math.h>

#include "base/err.h"
#include "base/num.h"
#include "base/banned.h"

enum field { F_CURRENT, F_MIN, F_MAX, F_AVERAGE, F_PERIOD_S, F_PERIOD_MS, F_STATE, FIELDS };

/* Labels as the tools print them; the longest that fits wins, none is inside another of the other field. */
static const struct {
    const char *label;
    enum field f;
} labels[] = {
    {"Instantaneous power reading", F_CURRENT},
    {"Current Power", F_CURRENT},
    {"Minimum during sampling period", F_MIN},
    {"Minimum Power over sampling duration", F_MIN},
    {"Minimum Power", F_MIN},
    {"Maximum during sampling period", F_MAX},
    {"Maximum Power over sampling duration", F_MAX},
    {"Maximum Power", F_MAX},
    {"Average power reading over sample period", F_AVERAGE},
    {"Average Power over sampling duration", F_AVERAGE},
    {"Average Power", F_AVERAGE},
    {"Sampling period", F_PERIOD_S},
    {"Statistics reporting time period", F_PERIOD_MS},
    {"Power reading state is", F_STATE},
    {"Power Measurement", F_STATE},
};

static ptrdiff_t ifind(struct jm_span s, struct jm_span what)
{
    for (size_t i = 0; i + what.n <= s.n; i++)
        if (jm_span_ieq((struct jm_span){s.p + i, what.n}, what))
            return (ptrdiff_t)i;
    return -1;
}

/* What stands behind "label   :", from there on to the end of the text. */
static bool behind(struct jm_span text, const char *label, struct jm_span *value)
{
    struct jm_span l = jm_span_of(label);
    for (;;) {
        ptrdiff_t at = jm_span_find(text, l); /* "Sampling period" is not "sampling period" */
        if (at < 0)
            return false;
        text = jm_span_sub(text, (size_t)at + l.n, text.n);
        size_t i = 0;
        while (i < text.n && (text.p[i] == ' ' || text.p[i] == '\t'))
            i++;
        if (i < text.n && text.p[i] == ':') {
            *value = jm_span_trim(jm_span_sub(text, i + 1, text.n));
            return true;
        }
    }
}

static bool find(struct jm_span text, enum field f, struct jm_span *value)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (labels[i].f == f && behind(text, labels[i].label, value))
            return true;
    return false;
}

/* 1: a number; 0: none there ("Not Available"); JM_ERANGE. */
static int number(struct jm_span text, enum field f, double most, double *out)
{
    struct jm_span v;
    size_t n = 0;
    if (!find(text, f, &v))
        return 0;
    while (n < v.n && ((v.p[n] >= '0' && v.p[n] <= '9') || v.p[n] == '.'))
        n++;
    if (!n || n > 20 || jm_num_double(jm_span_sub(v, 0, n), out))
        return 0;
    return *out > most ? JM_ERANGE : 1;
}

static int watts(struct jm_span text, enum field f, uint16_t *out)
{
    double v;
    int rc = number(text, f, UINT16_MAX, &v);
    if (rc == 1)
        *out = (uint16_t)lround(v);
    return rc;
}

int jm_dcmi_text(struct jm_span text, struct jm_dcmi_text *out)
{
    struct jm_span state;
    double v;
    *out = (struct jm_dcmi_text){0};
    struct jm_dcmi_power *p = &out->power;
    int rc = watts(text, F_CURRENT, &p->current_w);
    if (rc != 1)
        return rc ? rc : JM_EABSENT;
    if ((rc = watts(text, F_MIN, &p->min_w)) < 0)
        return rc;
    out->has_min = rc;
    if ((rc = watts(text, F_MAX, &p->max_w)) < 0)
        return rc;
    out->has_max = rc;
    if ((rc = watts(text, F_AVERAGE, &p->average_w)) < 0)
        return rc;
    out->has_average = rc;
    if (number(text, F_PERIOD_MS, UINT32_MAX, &v) == 1) {
        p->period_ms = (uint32_t)v;
        out->has_period = true;
    } else if (number(text, F_PERIOD_S, UINT32_MAX / 1000, &v) == 1) {
        p->period_ms = (uint32_t)(v * 1000);
        out->has_period = true;
    }
    out->has_state = find(text, F_STATE, &state);
    p->active = !out->has_state || jm_span_istarts(state, JM_SPAN("activated")) ||
                jm_span_istarts(state, JM_SPAN("active"));
    return 0;
}

enum jm_status jm_ipmitool_error(struct jm_span text)
{
    static const struct {
        const char *part;
        enum jm_status s;
    } row[] = {
        {"RAKP 2 HMAC is invalid", JM_S_DENIED},
        {"unauthorized name", JM_S_DENIED},
        {"Invalid user name", JM_S_DENIED},
        {"username invalid", JM_S_DENIED},
        {"password invalid", JM_S_DENIED},
        {"password incorrect", JM_S_DENIED},
        {"insufficient privilege", JM_S_DENIED},
        {"privilege level insufficient", JM_S_DENIED},
        {"privilege level cannot be obtained", JM_S_DENIED},
        {"Permission denied", JM_S_DENIED},
        {"DCMI request failed because: Invalid command", JM_S_UNSUPPORTED},
        {"Invalid command", JM_S_UNSUPPORTED},
        {"invalid or unsupported command", JM_S_UNSUPPORTED},
        {"command invalid or unsupported", JM_S_UNSUPPORTED},
        {"rsp=0xc1", JM_S_UNSUPPORTED},
        {"rsp=0xd4", JM_S_DENIED},
        {"rsp=0xff", JM_S_GAP},
        {"Unable to establish", JM_S_GAP},
        {"session timeout", JM_S_GAP},
        {"connection timeout", JM_S_GAP},
        {"Could not open device", JM_S_ABSENT},
        {"no such file or directory", JM_S_ABSENT},
        {"driver not found", JM_S_ABSENT},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (ifind(text, jm_span_of(row[i].part)) >= 0)
            return row[i].s;
    return JM_S_GAP;
}
