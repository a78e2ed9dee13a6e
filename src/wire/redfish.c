/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of readings, mending of bodies, and values as services write them. See wire/redfish.h. */
#include "wire/redfish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "wire/redfish_impl.h"

#include "base/banned.h"

void jm_rf_set_init(struct jm_rf_set *s, const struct jm_rf_limits *lim)
{
    *s = (struct jm_rf_set){.sequence = -1};
    if (lim)
        s->lim = *lim;
    if (!s->lim.bytes)
        s->lim.bytes = (size_t)16 << 20;
    if (!s->lim.readings)
        s->lim.readings = 8192;
    if (!s->lim.links)
        s->lim.links = 4096;
}

void jm_rf_set_release(struct jm_rf_set *s)
{
    free(s->r);
    free(s->link);
    free(s->gpu);
    s->r = NULL;
    s->link = NULL;
    s->gpu = NULL;
    s->n_gpu = 0;
    s->n = s->cap = s->n_links = s->links_cap = 0;
}

void jm_rf_set_clear(struct jm_rf_set *s)
{
    s->n = s->n_links = s->dropped = 0;
}

/* --- bodies that are nearly JSON
 * --------------------------------------------------------------------------------- */
struct mending {
    struct jm_str *out;
    char open[256]; /* the closing bracket of each open level */
    size_t depth;
    bool control, comma, surplus, nan;
};

static bool only_brackets(struct jm_span rest)
{
    for (size_t i = 0; i < rest.n; i++)
        if (!strchr("}] \t\r\n", rest.p[i]))
            return false;
    return true;
}

static size_t mend_string(struct mending *m, struct jm_span in, size_t i)
{
    size_t from = i++;
    while (i < in.n && in.p[i] != '"') {
        if ((unsigned char)in.p[i] < 0x20) { /* a bare CR in a text is what idrac_exporter#192 met */
            jm_str_add(m->out, in.p + from, i - from);
            m->control = true;
            from = i + 1;
        }
        i += in.p[i] == '\\' && i + 1 < in.n ? 2 : 1;
    }
    i = i < in.n ? i + 1 : in.n;
    jm_str_add(m->out, in.p + from, from < i ? i - from : 0);
    return i;
}

/* A comma that is followed by a closing bracket. */
static bool stray_comma(struct jm_span in, size_t i)
{
    for (i++; i < in.n && strchr(" \t\r\n", in.p[i]) && in.p[i]; i++)
        ;
    return i < in.n && (in.p[i] == '}' || in.p[i] == ']');
}

static bool word_nan(struct jm_span in, size_t i, size_t *n)
{
    static const char *const words[] = {"NaN", "nan", "-nan", "-NaN", "Infinity", "-Infinity", "inf", "-inf"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        *n = strlen(words[k]);
        if (in.n - i >= *n && memcmp(in.p + i, words[k], *n) == 0 &&
            (i + *n == in.n || strchr(",}] \t\r\n", in.p[i + *n])))
            return true;
    }
    return false;
}

static int mend_all(struct mending *m, struct jm_span in, struct jm_err *err)
{
    for (size_t i = 0, n; i < in.n;) {
        char c = in.p[i];
        if (c == '"') {
            i = mend_string(m, in, i);
            continue;
        }
        if (c == ',' && stray_comma(in, i)) {
            m->comma = true;
            i++;
            continue;
        }
        if ((c == 'N' || c == 'n' || c == 'I' || c == 'i' || c == '-') && word_nan(in, i, &n)) {
            jm_str_adds(m->out, "null");
            m->nan = true;
            i += n;
            continue;
        }
        if (c == '{' || c == '[') {
            if (m->depth == sizeof m->open)
                return jm_err_set(err, JM_ELIMIT, "the body is nested deeper than %zu levels",
                                  sizeof m->open);
            m->open[m->depth++] = c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            if (m->depth == 1 && m->open[0] == c) { /* the document ends here */
                jm_str_addc(m->out, c);
                struct jm_span rest = jm_span_sub(in, i + 1, in.n);
                m->surplus = jm_span_trim(rest).n > 0;
                if (!only_brackets(rest))
                    return jm_err_set(err, JM_EPARSE,
                                      "the body goes on after the end of its document (byte %zu)", i + 1);
                return 0;
            }
            if (m->depth == 0 || m->open[m->depth - 1] != c)
                return jm_err_set(err, JM_EPARSE, "the brackets of the body do not match (byte %zu)", i);
            m->depth--;
        }
        if ((unsigned char)c < 0x20 && !strchr("\t\r\n", c))
            m->control = true;
        else
            jm_str_addc(m->out, c);
        i++;
    }
    return jm_err_set(err, JM_EPARSE, "the body is cut off after %zu bytes", in.n);
}

int jm_rf_mend(struct jm_span body, struct jm_str *out, char what[160], struct jm_err *err)
{
    struct mending m = {.out = out};
    bool bom = jm_span_starts(body, JM_SPAN("\xEF\xBB\xBF"));
    if (bom)
        body = jm_span_sub(body, 3, body.n);
    size_t n = body.n;
    while (n && body.p[n - 1] == '\0')
        n--;
    bool nul = n < body.n;
    body = jm_span_trim((struct jm_span){body.p, n});
    if (!body.n)
        return jm_err_set(err, JM_EPARSE, "the body is empty");
    if (body.p[0] != '{')
        return jm_err_set(err, JM_EPARSE, "the body is no JSON object%s",
                          body.p[0] == '<' ? " (it is a web page)" : "");
    int rc = mend_all(&m, body, err);
    if (rc)
        return rc;
    what[0] = '\0';
    const char *const said[] = {bom ? "a byte order mark" : NULL,
                                nul ? "NUL bytes at the end" : NULL,
                                m.control ? "control characters" : NULL,
                                m.comma ? "a trailing comma" : NULL,
                                m.surplus ? "surplus brackets at the end" : NULL,
                                m.nan ? "NaN or infinity" : NULL};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (said[i])
            snprintf(what + strlen(what), 160 - strlen(what), "%s%s", what[0] ? ", " : "", said[i]);
    return jm_str_ok(out, "a Redfish body", err);
}

/* --- values
 * --------------------------------------------------------------------------------------------------- */
enum jm_status jm_rf_number(const struct jm_json *v, double *out)
{
    struct jm_span s;
    double d;
    if (jm_json_num(v, &d)) {
        *out = d;
        return isfinite(d) ? JM_S_OK : JM_S_ABSENT;
    }
    if (!jm_json_str(v, &s))
        return JM_S_ABSENT;
    s = jm_span_trim(s);
    if (jm_num_double(s, &d) != 0 || !isfinite(d)) {
        ptrdiff_t blank = jm_span_chr(s, ' '); /* "152 W" */
        if (blank <= 0 || jm_num_double(jm_span_sub(s, 0, (size_t)blank), &d) != 0)
            return JM_S_ABSENT;
        struct jm_span unit = jm_span_trim(jm_span_sub(s, (size_t)blank, s.n));
        if (!jm_span_ieq(unit, JM_SPAN("W")) && !jm_span_ieq(unit, JM_SPAN("Watts")))
            return JM_S_ABSENT;
    }
    *out = d;
    return JM_S_OK;
}

double jm_rf_duration(struct jm_span t)
{
    static const char units[] = "DHMS";
    static const double seconds[] = {86400, 3600, 60, 1};
    double sum = 0;
    size_t i = 0, parts = 0, least = 0;
    bool time = false;
    if (!t.n || (t.p[0] != 'P' && t.p[0] != 'p'))
        return NAN;
    for (i = 1; i < t.n;) {
        if (t.p[i] == 'T' || t.p[i] == 't') {
            if (time)
                return NAN;
            time = true;
            i++;
            continue;
        }
        size_t from = i;
        double v;
        while (i < t.n && ((t.p[i] >= '0' && t.p[i] <= '9') || t.p[i] == '.'))
            i++;
        const char *u = i < t.n ? memchr(units, t.p[i] & ~0x20, 4) : NULL;
        size_t k = u ? (size_t)(u - units) : 0;
        if (!u || k < least || (k > 0) != time || jm_num_double(jm_span_sub(t, from, i - from), &v) != 0)
            return NAN;
        sum += v * seconds[k];
        least = k + 1;
        parts++;
        i++;
    }
    return parts ? sum : NAN;
}

double jm_rf_step_of(double v, double factor)
{
    char text[32];
    jm_json_fmt_double(text, v);
    if (strchr(text, 'e'))
        return NAN;
    const char *dot = strchr(text, '.');
    size_t digits = dot ? strlen(dot + 1) : 0;
    if (digits == 1 && dot[1] == '0')
        digits = 0;
    return digits > 4 ? NAN : pow(10, -(double)digits) * factor; /* more digits are a calculation's */
}

/* --- names
 * ---------------------------------------------------------------------------------------------------- */
const char *jm_rf_kind_name(int v)
{
    static const char *const names[] = {"instant", "mean", "min", "max", "counter", "limit"};
    return v >= 0 && v < (int)(sizeof names / sizeof *names) ? names[v] : NULL;
}

const char *jm_rf_scope_name(int v)
{
    static const char *const names[] = {"unstated",  "ac-input", "dc-input",
                                        "dc-output", "board",    "component"};
    return v >= 0 && v < (int)(sizeof names / sizeof *names) ? names[v] : NULL;
}

const char *jm_rf_of_name(int v)
{
    static const char *const names[] = {"node",   "psu",    "outlet", "outlet-group", "mains", "branch",
                                        "phase",  "pdu",    "gpu",    "gpus",         "cpu",   "memory",
                                        "module", "switch", "nic",    "storage",      "fans",  "rail"};
    return v >= 0 && v < (int)(sizeof names / sizeof *names) ? names[v] : NULL;
}
