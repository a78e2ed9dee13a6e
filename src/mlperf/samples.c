/* SPDX-License-Identifier: Apache-2.0 */
/* spl.txt in blocks: counts and sums in exact integers over the file and over the load window. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mlperf/inputs.h"
#include "mlperf/parts.h"
#include "wire/spl.h"

#include "base/banned.h"

#define MAX_LINE 65536 /* a line of twelve three-channel analyzers has 5,000 bytes */

void jm_mlperf_samples_init(struct jm_mlperf_samples_reader *r, struct jm_mlperf_power *out,
                            struct jm_mlperf_arena *a)
{
    memset(r, 0, sizeof *r);
    memset(out, 0, sizeof *out);
    r->out = out;
    r->arena = a;
    r->prev = r->high = INT64_MIN;
    jm_log_lines_init(&r->lines, MAX_LINE);
    out->present = true;
    out->first_ns = out->last_ns = -1;
    out->joules = out->seconds = out->bridged_s = out->over_s = out->max_volts = out->max_amps = NAN;
    out->channel_volts = out->channel_amps = NAN;
}

void jm_mlperf_samples_release(struct jm_mlperf_samples_reader *r)
{
    jm_log_lines_release(&r->lines);
}

static void add(struct jm_mlperf_samples *s, int64_t *sum, int64_t v)
{
    if (__builtin_add_overflow(*sum, v, sum))
        s->overflow = true;
}

static void count(struct jm_mlperf_samples *s, const struct jm_spl_row *row)
{
    const bool first = !(s->good + s->over);
    s->rows++;
    switch (row->kind) {
    case JM_SPL_BAD: s->bad++; break;
    case JM_SPL_MISSED: s->missed++; break;
    case JM_SPL_OVER_RANGE: s->over++; break;
    case JM_SPL_GOOD: s->good++; break;
    }
    if (row->kind == JM_SPL_GOOD || row->kind == JM_SPL_OVER_RANGE) {
        if (first || row->decoded_uw < s->min_uw)
            s->min_uw = row->decoded_uw;
        if (first || row->decoded_uw > s->max_uw)
            s->max_uw = row->decoded_uw;
        add(s, &s->sum_decoded_uw, row->decoded_uw);
    }
    double w = (double)row->sum.watts / 1e6; /* rounds once, as reading the decimal text does */
    s->plain_all_w += w;
    add(s, &s->sum_all_uw, row->sum.watts);
    if (row->sum.watts > 0) {
        s->plain_positive_w += w;
        add(s, &s->sum_positive_uw, row->sum.watts);
        s->n_positive++;
    } else {
        s->nonpositive++;
    }
    if (row->sum.pf > 0) {
        add(s, &s->sum_pf_micro, row->sum.pf);
        s->n_pf++;
    }
}

static void limits(struct jm_mlperf_power *o, const struct jm_spl_row *row)
{
    double v = (double)row->sum.volts * 1e-6, a = (double)row->sum.amps * 1e-6;
    if (row->kind != JM_SPL_GOOD)
        return;
    if (v >= 0 && !(v <= o->max_volts))
        o->max_volts = v;
    if (a >= 0 && !(a <= o->max_amps))
        o->max_amps = a;
}

/* Its channels against their sum, and its Watts against those of the sample before. */
static void compare(struct jm_mlperf_samples_reader *r, const struct jm_spl_row *row, bool inside)
{
    struct jm_mlperf_power *o = r->out;
    const struct jm_spl_values *c = row->channel;
    int64_t rest = row->sum.watts;
    bool good = row->kind == JM_SPL_GOOD;
    for (int i = 0; good && i < row->n_channels; i++) {
        double v = (double)c[i].volts * 1e-6, a = (double)c[i].amps * 1e-6;
        rest -= c[i].watts;
        if (v >= 0 && !(v <= o->channel_volts))
            o->channel_volts = v;
        if (a >= 0 && !(a <= o->channel_amps))
            o->channel_amps = a;
    }
    int64_t most = 10 * (int64_t)row->n_channels;
    o->sum_off += good && row->n_channels && (rest > most || rest < -most);
    if (!inside || !good || row->sum.watts <= 0) {
        r->frozen = 0;
        return;
    }
    r->frozen = r->frozen && r->frozen_uw == row->sum.watts ? r->frozen + 1 : 1;
    r->frozen_uw = row->sum.watts;
    if (r->frozen > o->frozen_rows)
        o->frozen_rows = r->frozen;
}

static void gap(struct jm_mlperf_samples_reader *r, int64_t from, int64_t to)
{
    if (r->end > r->begin && from < r->end && to > r->begin && to - from > r->out->max_gap_ns)
        r->out->max_gap_ns = to - from;
}

static int sample(struct jm_mlperf_samples_reader *r, struct jm_spl_row *row)
{
    struct jm_mlperf_power *o = r->out;
    int64_t t = row->time_ns + r->zone;
    if (!o->file.rows) {
        o->first_mark = row->mark.p ? jm_mlperf_copy(r->arena, jm_span_sub(row->mark, 0, 512)) : NULL;
        if (row->mark.p && !o->first_mark)
            return JM_ENOMEM;
        if (!r->mark[0])
            snprintf(r->mark, sizeof r->mark, "%s", o->first_mark ? o->first_mark : "");
        o->first_ns = t;
    } else if (t < r->high) {
        o->out_of_order++;
    } else {
        o->duplicate_stamps += t == r->prev;
        gap(r, r->high, t);
    }
    o->marks_other += !jm_span_is(row->mark, r->mark);
    count(&o->file, row);
    if (t > r->begin && t < r->end)
        count(&o->window, row);
    jm_mlperf_inputs_add(o, row, t > r->begin && t < r->end);
    limits(o, row);
    compare(r, row, t > r->begin && t < r->end);
    int n = row->n_channels;
    if (row->analyzers && n > o->analyzers)
        o->analyzers = n;
    if (!row->analyzers && n > o->channels)
        o->channels = n;
    /* one that goes back in time counts in the published mean, which asks for no order, and has no place in
     * the time-weighted one */
    if (t >= r->high) {
        bool usable = row->kind == JM_SPL_GOOD || row->kind == JM_SPL_OVER_RANGE;
        if (r->end > r->begin)
            jm_mlperf_weigh_add(&r->weigh, t, usable, row->decoded_uw, row->kind == JM_SPL_OVER_RANGE);
        r->high = t;
    }
    r->prev = t;
    o->last_ns = t;
    return 0;
}

static int one_line(struct jm_mlperf_samples_reader *r, const struct jm_log_line *l)
{
    struct jm_mlperf_power *o = r->out;
    struct jm_spl_row row;
    struct jm_err why;
    o->crlf |= l->crlf;
    r->blank = !l->text.n;
    if (!l->text.n)
        return 0;
    if (l->cut) {
        jm_err_set(&why, JM_ELIMIT, "a line is longer than %d bytes", MAX_LINE);
    } else {
        int rc = jm_spl_parse(l->text, &row, &why);
        if (!rc)
            return sample(r, &row);
        if (rc == JM_EAGAIN) {
            o->other_lines += jm_span_trim(l->text).n > 0;
            return 0;
        }
    }
    if (o->broken++)
        return 0;
    jm_text_plain(why.text, strlen(why.text), false);
    o->first_broken = jm_mlperf_printf(r->arena, "line %lld: %s", (long long)l->number, why.text);
    return o->first_broken ? 0 : JM_ENOMEM;
}

static int no_memory(int rc, struct jm_err *err)
{
    return rc < 0 ? jm_err_set(err, rc, "out of memory while reading spl.txt") : 0;
}

int jm_mlperf_samples_block(void *reader, struct jm_span block, struct jm_err *err)
{
    struct jm_mlperf_samples_reader *r = reader;
    struct jm_log_line l;
    int rc;
    if (r->end > r->begin && r->weigh.len == 0)
        jm_mlperf_weigh_init(&r->weigh, r->begin, r->end);
    while ((rc = jm_log_lines_next(&r->lines, &block, &l)) == 1)
        if ((rc = one_line(r, &l)))
            break;
    return no_memory(rc, err);
}

int jm_mlperf_samples_end(struct jm_mlperf_samples_reader *r, struct jm_err *err)
{
    struct jm_log_line l;
    int rc = jm_log_lines_end(&r->lines, &l);
    if (rc == 1)
        rc = one_line(r, &l);
    r->out->blank_last = r->blank;
    if (!rc && r->end > r->begin && r->weigh.len > 0)
        jm_mlperf_weigh_end(&r->weigh, r->out);
    return no_memory(rc, err);
}
