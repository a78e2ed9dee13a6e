/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/splw.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "mlperf/proto.h"

#include "base/banned.h"

#define UNIT 1000000 /* micro-units of one */

static void micro(struct jm_str *out, int64_t v)
{
    uint64_t a = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    jm_str_addf(out, "%s%" PRIu64 ".%06" PRIu64, v < 0 ? "-" : "", a / UNIT, a % UNIT);
}

static void time_text(struct jm_str *out, int64_t real_ns)
{
    struct jm_civil c = jm_time_civil(real_ns / JM_NS_PER_S);
    jm_str_addf(out, "%02d-%02d-%04d %02d:%02d:%02d.%03d", c.month, c.day, c.year, c.hour, c.minute, c.second,
                (int)(real_ns % JM_NS_PER_S / JM_NS_PER_MS));
}

/* -1 stands for what is not known, and a value that would read as a sentinel is not known either. */
static void value(struct jm_str *out, const char *name, double v)
{
    if (!(v >= 0) || v > 1e12)
        v = -1;
    jm_str_addf(out, ",%s,", name);
    micro(out, (int64_t)llround(v * UNIT));
}

static void values(struct jm_str *out, const struct jm_mlperf_values *v)
{
    value(out, "Watts", v->watts);
    value(out, "Volts", v->volts);
    value(out, "Amps", v->amps);
    value(out, "PF", v->pf);
}

void jm_mlperf_sample_line(const struct jm_mlperf_sample *s, struct jm_str *out)
{
    jm_str_adds(out, "Time,");
    time_text(out, s->real_ns);
    values(out, &s->sum);
    for (int i = 0; i < s->n_channels && i < JM_SPL_CHANNELS; i++)
        values(out, &s->channel[i]);
}

int jm_mlperf_spl_line(struct jm_span rl, const char *mark, int first_channel, struct jm_str *out,
                       struct jm_spl_row *row, struct jm_err *err)
{
    struct jm_span rest = rl, field, from = {0};
    struct jm_spl_row own;
    size_t at = out->len;
    int n = 0, channel = first_channel;
    /* ten fields of the sum, then eight a channel */
    while (jm_span_field(&rest, ',', &field)) {
        if (n == 0 || (n >= 10 && (n - 10) % 8 == 0)) {
            if (n)
                jm_str_addspan(out, (struct jm_span){from.p, (size_t)(field.p - from.p)});
            if (n == 10)
                jm_str_addf(out, "Mark,%s,", mark);
            if (n >= 10)
                jm_str_addf(out, "Ch%d,", channel++);
            from = field;
        }
        n++;
    }
    if (n < 10 || (n - 10) % 8 || rl.n > JM_MLPERF_SAMPLE_LINE)
        goto bad;
    jm_str_addspan(out, (struct jm_span){from.p, (size_t)(rl.p + rl.n - from.p)});
    if (n == 10)
        jm_str_addf(out, ",Mark,%s", mark);
    int rc = jm_str_ok(out, "a power sample", err);
    if (rc)
        return rc;
    if (jm_spl_parse(jm_span_sub(jm_str_span(out), at, out->len), row ? row : &own, NULL) == 0)
        return 0;
bad:
    out->len = at;
    if (!out->failed && out->cap)
        out->buf[at] = '\0';
    char text[80];
    size_t shown = rl.n < sizeof text ? rl.n : sizeof text;
    if (shown)
        memcpy(text, rl.p, shown);
    jm_text_plain(text, shown, false);
    return jm_err_set(err, JM_EPARSE, "not a power sample: \"%.*s\"", (int)shown, text);
}

void jm_mlperf_peaks_init(struct jm_mlperf_peaks *p, int first, int last)
{
    *p = (struct jm_mlperf_peaks){.volts = -1, .amps = -1, .first = first, .last = last ? last : INT_MAX};
}

static void peak(int64_t *most, char text[40], struct jm_span field)
{
    int64_t v;
    field = jm_span_trim(field);
    if (field.n >= 40 || jm_num_fixed(field, -6, &v) || v <= *most)
        return;
    *most = v;
    snprintf(text, 40, "%.*s", (int)field.n, field.p);
}

static void kind(struct jm_mlperf_peaks *p, const struct jm_spl_values *v)
{
    switch (jm_spl_kind_of(v)) {
    case JM_SPL_MISSED: p->missed++; break;
    case JM_SPL_OVER_RANGE:
        p->over++;
        if (-v->amps - 3 * UNIT > p->over_amps)
            p->over_amps = -v->amps - 3 * UNIT;
        break;
    case JM_SPL_BAD:
        p->bad++;
        p->reversed += v->watts != -UNIT;
        break;
    case JM_SPL_GOOD: break;
    }
}

void jm_mlperf_peaks_add(struct jm_mlperf_peaks *p, struct jm_span line, int first_channel,
                         const struct jm_spl_row *row)
{
    struct jm_span rest = line, field;
    int channel = first_channel - 1; /* of the group; the first is the sum */
    bool sum = true;
    p->rows++;
    p->last_ns = row->time_ns;
    kind(p, &row->sum);
    while (jm_span_field(&rest, ',', &field)) {
        if (jm_span_is(field, "Watts")) {
            sum = channel == first_channel - 1;
            channel++;
        }
        bool volts = jm_span_is(field, "Volts"), amps = jm_span_is(field, "Amps");
        if (!(volts || amps) || !jm_span_field(&rest, ',', &field))
            continue;
        int64_t v;
        if (sum || (channel - 1 >= p->first && channel - 1 <= p->last))
            peak(volts ? &p->volts : &p->amps, volts ? p->volts_text : p->amps_text, field);
        else if (amps && jm_num_fixed(jm_span_trim(field), -6, &v) == 0 && v > p->other_amps)
            p->other_amps = v;
    }
}

int jm_mlperf_peaks_ranges(const struct jm_mlperf_peaks *p, struct jm_mlperf_ranges *out, struct jm_err *err)
{
    char text[JM_MLPERF_REPR];
    double amps;
    if (p->volts <= 0 || p->amps <= 0 || jm_num_double(jm_span_of(p->amps_text), &amps))
        return jm_err_set(err, JM_EABSENT,
                          "the ranging phase gave %" PRId64
                          " samples and not one with a voltage and a current; "
                          "is the system's power cord in the analyzer, and was the workload running?",
                          p->rows);
    snprintf(out->volts, sizeof out->volts, "%s", p->volts_text);
    snprintf(out->amps, sizeof out->amps, "%s", jm_mlperf_repr(amps * 1.1, text));
    return 0;
}

/* --- several analyzers ------------------------------------------------------------------------------ */

/* One file, with the sample at hand and the one after it. */
struct reader {
    FILE *f;
    const char *path;
    bool have, next;
    struct jm_spl_row row, next_row;
    char line[JM_MLPERF_SAMPLE_LINE + 512], next_line[JM_MLPERF_SAMPLE_LINE + 512];
};

static int look_ahead(struct reader *r, struct jm_err *err)
{
    r->next = false;
    while (fgets(r->next_line, (int)sizeof r->next_line, r->f)) {
        size_t n = strcspn(r->next_line, "\r\n");
        r->next_line[n] = '\0';
        if (jm_spl_parse((struct jm_span){r->next_line, n}, &r->next_row, NULL) == 0) {
            r->next = true;
            return 0;
        }
    }
    return ferror(r->f) ? jm_err_sys(err, errno, "cannot read %s", r->path) : 0;
}

static int advance(struct reader *r, struct jm_err *err)
{
    r->have = r->next;
    if (r->next) {
        r->row = r->next_row;
        memcpy(r->line, r->next_line, sizeof r->line);
    }
    return look_ahead(r, err);
}

static int64_t apart(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* The sample nearest to t becomes the one at hand. */
static int seek_to(struct reader *r, int64_t t, struct jm_err *err)
{
    int rc = 0;
    while (!rc && r->next && (!r->have || apart(r->next_row.time_ns, t) <= apart(r->row.time_ns, t)))
        rc = advance(r, err);
    return rc;
}

static void nothing(struct jm_str *out, int64_t t, const char *mark)
{
    jm_str_adds(out, "Time,");
    time_text(out, t);
    jm_str_addf(out, ",Watts,-1.000000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,%s", mark);
}

static int merge_row(struct reader *r, size_t n, const char *mark, struct jm_str *out,
                     struct jm_mlperf_merged *done, struct jm_err *err)
{
    int64_t t = r[0].row.time_ns, sum = 0;
    struct jm_str parts;
    bool known = true;
    int rc = 0;
    jm_str_init(&parts);
    for (size_t i = 0; !rc && i < n; i++) {
        int64_t uw;
        if (i)
            rc = seek_to(&r[i], t, err);
        bool near = r[i].have && apart(r[i].row.time_ns, t) <= JM_NS_PER_S / 2;
        jm_str_addf(&parts, ",Analyzer%zu,", i + 1);
        if (near)
            jm_str_adds(&parts, r[i].line);
        else
            nothing(&parts, t, mark);
        done->unmatched += !near;
        if (near && jm_spl_decode_watts(&r[i].row.sum, &uw))
            sum += uw;
        else
            known = false;
        if (near && i)
            r[i].have = false; /* each sample once */
    }
    done->rows++;
    done->unknown += !known;
    jm_str_adds(out, "Time,");
    time_text(out, t);
    jm_str_adds(out, ",Watts,");
    micro(out, known ? sum : -UNIT);
    jm_str_addf(out, ",Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,%s", mark);
    jm_str_addspan(out, jm_str_span(&parts));
    jm_str_addc(out, '\n');
    if (!rc)
        rc = jm_str_ok(&parts, "a merged power sample", err);
    jm_str_release(&parts);
    return rc ? rc : jm_str_ok(out, "a merged power sample", err);
}

int jm_mlperf_spl_merge(const char *const *in, size_t n, const char *mark, const char *out,
                        struct jm_mlperf_merged *done, struct jm_err *err)
{
    struct reader *r = calloc(n ? n : 1, sizeof *r);
    struct jm_str text;
    int rc = 0;
    FILE *f = NULL;
    *done = (struct jm_mlperf_merged){0};
    jm_str_init(&text);
    if (!r)
        return jm_err_set(err, JM_ENOMEM, "no memory to merge %zu power logs", n);
    for (size_t i = 0; !rc && i < n; i++) {
        r[i].path = in[i];
        r[i].f = fopen(in[i], "re");
        rc = r[i].f ? look_ahead(&r[i], err) : jm_err_sys(err, errno, "cannot open %s", in[i]);
    }
    if (!rc && !(f = fopen(out, "we")))
        rc = jm_err_sys(err, errno, "cannot create %s", out);
    while (!rc && n && r[0].next) {
        rc = advance(&r[0], err);
        if (!rc)
            rc = merge_row(r, n, mark, &text, done, err);
        if (!rc && text.len && fwrite(text.buf, 1, text.len, f) != text.len)
            rc = jm_err_sys(err, errno, "cannot write %s", out);
        jm_str_reset(&text);
    }
    if (f && fclose(f) && !rc)
        rc = jm_err_sys(err, errno, "cannot write %s", out);
    for (size_t i = 0; i < n; i++)
        if (r[i].f)
            fclose(r[i].f);
    free(r);
    jm_str_release(&text);
    return rc;
}
