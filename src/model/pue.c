/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pue.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
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

/* What follows the number: period=, source= (which may hold commas: it is last) and, of a PUE, the category.
 */
static int rest_of(struct jm_span rest, char *period, size_t n_period, char *source, size_t n_source,
                   struct jm_pue *pue, struct jm_err *err)
{
    struct jm_span field;
    int rc = 0;
    while (!rc) {
        struct jm_span whole = jm_span_trim(rest);
        if (jm_span_starts(whole, JM_SPAN("source="))) {
            struct jm_span v = {whole.p + 7, whole.n - 7};
            return source[0] ? jm_err_set(err, JM_EUSAGE, "source= is there twice")
                             : keep("source", jm_span_trim(v), source, n_source, err);
        }
        if (!jm_span_field(&rest, ',', &field))
            break;
        field = jm_span_trim(field);
        struct jm_span v = {field.p + 7, field.n - 7}, cat = {field.p + 9, field.n - 9};
        if (jm_span_starts(field, JM_SPAN("period=")))
            rc = period[0] ? jm_err_set(err, JM_EUSAGE, "period= is there twice")
                           : keep("period", jm_span_trim(v), period, n_period, err);
        else if (pue && jm_span_starts(field, JM_SPAN("category=")))
            rc = pue->category[0] ? jm_err_set(err, JM_EUSAGE, "category= is there twice")
                                  : category(cat, pue, err);
        else if (!pue || pue->category[0])
            rc = jm_err_set(err, JM_EUSAGE, "\"%.*s\" is %s", (int)(field.n > 40 ? 40 : field.n), field.p,
                            pue ? "none of period=, category= and source=" : "neither period= nor source=");
        else
            rc = category(field, pue, err);
    }
    return rc;
}

int jm_pue_parse(const char *text, struct jm_pue *out, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), field;
    struct jm_pue p = {0};
    if (!jm_span_field(&rest, ',', &field) || jm_num_double(jm_span_trim(field), &p.value) ||
        !(p.value >= 1 && p.value <= 10))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" is no PUE: a number from 1 to 10; after it, parted by commas, "
                          "period=, category=1|2|3 and source= where they are known",
                          text);
    int rc = rest_of(rest, p.period, sizeof p.period, p.source, sizeof p.source, &p, err);
    if (!rc)
        *out = p;
    return rc;
}

int jm_wue_parse(const char *text, struct jm_wue *out, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), field;
    struct jm_wue w = {0};
    if (!jm_span_field(&rest, ',', &field) || jm_num_double(jm_span_trim(field), &w.value) ||
        !(w.value >= 1e-6 && w.value <= 100))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" is no WUE: litres a kilowatt-hour of IT energy, above 0 and up to 100; "
                          "after it, parted by commas, period= and source= where they are known",
                          text);
    int rc = rest_of(rest, w.period, sizeof w.period, w.source, sizeof w.source, NULL, err);
    if (!rc)
        *out = w;
    return rc;
}

void jm_wue_say(const struct jm_wue *w, struct jm_str *s)
{
    jm_str_addf(s, "a WUE of %.4g L/kWh", w->value);
    if (w->period[0] || w->source[0])
        jm_str_addf(s, " (%s%s%s)", w->period, w->period[0] && w->source[0] ? ", " : "", w->source);
}

void jm_wue_text(const struct jm_wue *w, struct jm_str *s)
{
    char number[32];
    jm_json_fmt_double(number, w->value);
    jm_str_adds(s, number);
    if (w->period[0])
        jm_str_addf(s, ",period=%s", w->period);
    if (w->source[0])
        jm_str_addf(s, ",source=%s", w->source);
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
