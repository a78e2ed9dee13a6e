/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pue.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/span.h"

#include "base/banned.h"

static int keep(const char *key, struct jm_span v, char *to, size_t size, struct jm_err *err)
{
    if (!v.n || v.n >= size)
        return jm_err_set(err, JM_EUSAGE, "%s= takes a text of 1 to %zu bytes", key, size - 1);
    for (size_t i = 0; i < v.n; i++)
        if ((unsigned char)v.p[i] < 0x20)
            return jm_err_set(err, JM_EUSAGE, "%s= holds a control character", key);
    memcpy(to, v.p, v.n);
    to[v.n] = '\0';
    return 0;
}

static int category(struct jm_span v, struct jm_pue *out, struct jm_err *err)
{
    if (v.n != 1 || v.p[0] < '1' || v.p[0] > '3')
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.*s\": the category is 1 (IT energy at the UPS), 2 (at the PDU) or 3 (at the "
                          "equipment)",
                          (int)(v.n > 40 ? 40 : v.n), v.p);
    out->category[0] = v.p[0];
    out->category[1] = '\0';
    return 0;
}

int jm_pue_parse(const char *text, struct jm_pue *out, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), field;
    struct jm_pue p = {0};
    int rc = 0;
    if (!jm_span_field(&rest, ',', &field) || jm_num_double(jm_span_trim(field), &p.value) ||
        !(p.value >= 1 && p.value <= 10))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" is no PUE: a number from 1 to 10; after it, parted by commas, "
                          "period=, category=1|2|3 and source= where they are known",
                          text);
    while (!rc) {
        struct jm_span whole = jm_span_trim(rest);
        if (jm_span_starts(whole, JM_SPAN("source="))) {
            struct jm_span v = {whole.p + 7, whole.n - 7};
            rc = p.source[0] ? jm_err_set(err, JM_EUSAGE, "source= is there twice")
                             : keep("source", jm_span_trim(v), p.source, sizeof p.source, err);
            break;
        }
        if (!jm_span_field(&rest, ',', &field))
            break;
        field = jm_span_trim(field);
        struct jm_span period = {field.p + 7, field.n - 7}, cat = {field.p + 9, field.n - 9};
        if (jm_span_starts(field, JM_SPAN("period=")))
            rc = p.period[0] ? jm_err_set(err, JM_EUSAGE, "period= is there twice")
                             : keep("period", jm_span_trim(period), p.period, sizeof p.period, err);
        else if (p.category[0])
            rc = jm_err_set(err, JM_EUSAGE, "\"%.*s\" is not one of period=, category= and source=",
                            (int)(field.n > 40 ? 40 : field.n), field.p);
        else if (jm_span_starts(field, JM_SPAN("category=")))
            rc = category(jm_span_trim(cat), &p, err);
        else
            rc = category(field, &p, err);
    }
    if (!rc)
        *out = p;
    return rc;
}

void jm_pue_say(const struct jm_pue *p, struct jm_str *s)
{
    bool any = p->category[0] || p->period[0] || p->source[0];
    jm_str_addf(s, "a PUE of %.4g", p->value);
    if (p->category[0])
        jm_str_addf(s, " (category %s", p->category);
    if (p->period[0])
        jm_str_addf(s, "%s%s", p->category[0] ? ", " : " (", p->period);
    if (p->source[0])
        jm_str_addf(s, "%s%s", p->category[0] || p->period[0] ? ", " : " (", p->source);
    if (any)
        jm_str_addc(s, ')');
}

const char *jm_pue_point(const struct jm_pue *p)
{
    switch (p->category[0]) {
    case '1': return "the output of the UPS";
    case '2': return "the output of the PDU";
    case '3': return "the input of the equipment";
    default: return NULL;
    }
}
