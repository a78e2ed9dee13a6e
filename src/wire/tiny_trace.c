/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/tiny_trace.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "wire/jsontok.h"

#include "base/banned.h"

static double le_float(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    uint32_t u = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    float f;
    memcpy(&f, &u, sizeof f);
    return isfinite(f) ? (double)f : NAN;
}

int jm_tiny_head(struct jm_span file, double *rate_hz, struct jm_err *err)
{
    if (file.n < JM_TINY_HEAD)
        return jm_err_set(err, JM_EPARSE, "An energy trace has at least %d bytes; this one has %zu.",
                          JM_TINY_HEAD, file.n);
    if ((unsigned char)file.p[0] != 0xf1)
        return jm_err_set(err, JM_EPARSE,
                          "An energy trace begins with the byte 0xf1; this one begins with 0x%02x.",
                          (unsigned char)file.p[0]);
    double rate = le_float(file.p + 1);
    if (!(rate > 0 && rate <= 1e8))
        return jm_err_set(err, JM_EPARSE,
                          "The sample rate of an energy trace is %g Hz, which no instrument has.", rate);
    *rate_hz = rate;
    return 0;
}

double jm_tiny_sample(const char *p)
{
    return le_float(p);
}

int jm_tiny_times(struct jm_span json, double *out, size_t cap, size_t *n, struct jm_err *err)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    double x;
    *n = 0;
    jm_jsontok_init(&t, json, 2);
    int rc = jm_jsontok_next(&t, &v, err);
    if (!rc && v.type != JM_J_ARRAY)
        rc = jm_err_set(err, JM_EPARSE, "Timestamps are a JSON array of numbers; this is none.");
    while (!rc && (rc = jm_jsontok_next(&t, &v, err)) == 0 && v.type != JM_J_ARRAY_END) {
        if (v.type != JM_J_NUMBER || jm_jtoken_double(&v, &x) || !isfinite(x) || x < 0)
            rc = jm_err_set(err, JM_EPARSE, "Timestamp %zu is no time in seconds.", *n + 1);
        else if (*n && x < out[*n - 1])
            rc = jm_err_set(err, JM_EPARSE, "Timestamp %zu (%g s) is before the one above it (%g s).", *n + 1,
                            x, out[*n - 1]);
        else if (*n == cap)
            rc = jm_err_set(err, JM_ELIMIT, "There are more than %zu timestamps.", cap);
        else
            out[(*n)++] = x;
    }
    if (!rc && (rc = jm_jsontok_next(&t, &v, err)) == 0 && v.type != JM_J_END)
        rc = jm_err_set(err, JM_EPARSE, "Something follows the array of timestamps.");
    return rc;
}

/* ---- lines
 * -----------------------------------------------------------------------------------------------------------
 */

/* The number at the beginning of s (after blanks); *rest: what follows it. */
static bool number(struct jm_span s, double *out, struct jm_span *rest)
{
    size_t i = 0, from;
    while (i < s.n && s.p[i] == ' ')
        i++;
    from = i;
    while (i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] && strchr("+-.eE", s.p[i]))))
        i++;
    /* "15.74 sec.": a point without a digit after it belongs to the sentence */
    while (i > from && s.p[i - 1] == '.')
        i--;
    double x;
    if (jm_num_double(jm_span_sub(s, from, i - from), &x) || !isfinite(x))
        return false;
    *out = x;
    if (rest)
        *rest = jm_span_sub(s, i, s.n);
    return true;
}

/* s without the words at its beginning; false: it does not begin so. */
static bool after(struct jm_span s, const char *words, struct jm_span *rest)
{
    struct jm_span w = jm_span_of(words);
    if (!jm_span_starts(s, w))
        return false;
    *rest = jm_span_sub(s, w.n, s.n);
    return true;
}

/* The text in brackets after words, wherever they stand. */
static bool bracketed(struct jm_span s, const char *words, struct jm_span *text)
{
    ptrdiff_t at = jm_span_find(s, jm_span_of(words));
    if (at < 0)
        return false;
    struct jm_span rest = jm_span_sub(s, (size_t)at + strlen(words), s.n);
    ptrdiff_t end = jm_span_chr(rest, ']');
    *text = end < 0 ? rest : jm_span_sub(rest, 0, (size_t)end);
    return true;
}

static bool result_line(struct jm_span s, struct jm_tiny_said *o)
{
    static const struct {
        const char *words;
        enum jm_tiny_said_kind kind;
    } rows[] = {{"Energy ", JM_TINY_ENERGY},
                {"Energy/Inf.", JM_TINY_PER_INFERENCE},
                {"# Inferences", JM_TINY_INFERENCES},
                {"Runtime ", JM_TINY_RUNTIME},
                {"Median energy cost is", JM_TINY_MEDIAN_ENERGY},
                {"Median throughput is", JM_TINY_MEDIAN_SPEED},
                {"Performance results for window", JM_TINY_SPEED_WINDOW}};
    struct jm_span rest;
    if (after(s, "Energy data for window", &rest)) {
        if (!number(rest, &o->number, &rest) || !after(jm_span_trim(rest), "at time", &rest) ||
            !number(rest, &o->at, &rest))
            return false;
        if (!after(jm_span_trim(rest), "for", &rest) || !number(rest, &o->seconds, NULL))
            o->seconds = NAN;
        o->kind = JM_TINY_ENERGY_WINDOW;
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (after(s, rows[i].words, &rest)) {
            ptrdiff_t colon = jm_span_chr(rest, ':');
            bool sentence = rows[i].kind == JM_TINY_MEDIAN_ENERGY || rows[i].kind == JM_TINY_MEDIAN_SPEED ||
                            rows[i].kind == JM_TINY_SPEED_WINDOW;
            if (!sentence && colon < 0)
                return false;
            if (!sentence)
                rest = jm_span_sub(rest, (size_t)colon + 1, rest.n);
            if (!number(rest, &o->number, NULL))
                return false;
            o->kind = rows[i].kind;
            return true;
        }
    return false;
}

/* Lines of MLCommons' runner, which have no time and no source in front. */
static bool trial_line(struct jm_span s, struct jm_tiny_said *o)
{
    static const struct {
        const char *words;
        enum jm_tiny_said_kind kind;
    } rows[] = {{"Energy data for trial ", JM_TINY_ENERGY_WINDOW},
                {"Elapsed time ", JM_TINY_SECONDS},
                {"Inferences ", JM_TINY_INFERENCES},
                {"Total Energy ", JM_TINY_ENERGY},
                {"Energy/Inf ", JM_TINY_PER_INFERENCE},
                {"Running inference with ", JM_TINY_INFER_START},
                {"Device model retrieved:", JM_TINY_MODEL},
                {"Device profile retrieved:", JM_TINY_PROFILE},
                {"ERROR: ", JM_TINY_ERROR}};
    struct jm_span rest;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!after(s, rows[i].words, &rest))
            continue;
        ptrdiff_t cut = jm_span_chr(
            rest, rows[i].kind == JM_TINY_INFER_START ? '/' : ':'); /* "1/250 (warmup/measured)" */
        o->kind = rows[i].kind;
        o->text = jm_span_trim(rest);
        if (o->kind == JM_TINY_MODEL || o->kind == JM_TINY_PROFILE || o->kind == JM_TINY_ERROR)
            return true;
        if (o->kind != JM_TINY_ENERGY_WINDOW) {
            if (cut < 0)
                break;
            rest = jm_span_sub(rest, (size_t)cut + 1, rest.n);
        }
        if (number(rest, &o->number, NULL))
            return true;
        break;
    }
    *o = (struct jm_tiny_said){.time_s = NAN, .number = NAN, .at = NAN, .seconds = NAN};
    return false;
}

void jm_tiny_line(struct jm_span line, struct jm_tiny_said *o)
{
    struct jm_span s = jm_span_trim(line), rest;
    ptrdiff_t colon;
    *o = (struct jm_tiny_said){.time_s = NAN, .number = NAN, .at = NAN, .seconds = NAN};
    if (trial_line(s, o))
        return;
    if (number(s, &o->time_s, &rest))
        s = jm_span_trim(rest);
    /* "ulp-ml: text", "io: [dut]: m-..." */
    if ((colon = jm_span_find(s, JM_SPAN(": "))) >= 0 && colon < 24)
        s = jm_span_trim(jm_span_sub(s, (size_t)colon + 2, s.n));
    after(s, "[dut]: ", &s);
    if (after(s, "m-infer-start-", &rest) && number(rest, &o->number, NULL)) {
        o->kind = JM_TINY_INFER_START;
    } else if (after(s, "m-infer-done", &rest)) {
        o->kind = JM_TINY_INFER_DONE;
    } else if (after(s, "m-model-[", &rest) && bracketed(s, "m-model-[", &o->text)) {
        o->kind = JM_TINY_MODEL;
    } else if (after(s, "m-profile-[", &rest) && bracketed(s, "m-profile-[", &o->text)) {
        o->kind = JM_TINY_PROFILE;
    } else if (after(s, "m-timestamp-mode-", &rest)) {
        o->kind = JM_TINY_MODE;
        o->text = rest;
    } else if (after(s, "m-voltage-mv[", &rest) && number(rest, &o->number, NULL)) {
        o->kind = JM_TINY_VOLTAGE;
    } else if (after(s, "m-regfile-fn[", &rest) && jm_span_find(s, JM_SPAN("-type[emon]")) >= 0 &&
               bracketed(s, "-name[", &o->text)) {
        o->kind = JM_TINY_INSTRUMENT;
    } else if (after(s, "m-dropthresh[", &rest) && number(rest, &o->number, NULL)) {
        o->kind = JM_TINY_DROP_LIMIT;
    } else if (after(s, "m-[Found ", &rest) && number(rest, &o->number, &rest) &&
               jm_span_find(rest, JM_SPAN("bad samples")) >= 0) {
        o->kind = JM_TINY_BAD_SAMPLES;
    } else if (after(s, "e-[", &rest) && bracketed(s, "e-[", &o->text)) {
        o->kind = JM_TINY_ERROR;
    } else {
        result_line(s, o);
    }
}
