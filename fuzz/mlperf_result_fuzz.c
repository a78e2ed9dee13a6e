/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a session made of lines: "path P", "round R", "claimed S", "fact KEY=VALUE", "ptd CMD=REPLY",
 * "time T REPLY T", "event A TEXT" (A: analyzer), "spl LINE". Whatever they say: no figure is infinite, and
 * the interval holds what it is of. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "mlperf/inputs.h"
#include "mlperf/result.h"
#include "mlperf/rule_metric.h"

#define MOST 64

struct made {
    struct jm_mlperf_session s;
    struct jm_mlperf_fact fact[MOST];
    struct jm_mlperf_message ptd[MOST], time[MOST];
    struct jm_mlperf_event event[MOST];
    char *text[4 * MOST];
    size_t n_text;
};

static const char *keep(struct made *m, struct jm_span s)
{
    if (m->n_text == 4 * MOST)
        return "";
    char *t = strndup(s.p ? s.p : "", s.n);
    return t ? m->text[m->n_text++] = t : "";
}

static double number(struct jm_span s)
{
    double v;
    return jm_num_double(s, &v) == 0 ? v : NAN;
}

static void sample(struct made *m, struct jm_span line)
{
    struct jm_mlperf_power *p = &m->s.power[JM_MLPERF_TESTING];
    struct jm_spl_row row;
    struct jm_err err;
    if (jm_spl_parse(line, &row, &err))
        return;
    p->present = true;
    jm_mlperf_inputs_add(p, &row, true);
    double w = (double)row.sum.watts / 1e6;
    struct jm_mlperf_samples *s = &p->window;
    s->rows++;
    s->plain_all_w += w;
    if (w > 0) {
        s->n_positive++;
        s->plain_positive_w += w;
    }
    s->good += row.kind == JM_SPL_GOOD;
    s->over += row.kind == JM_SPL_OVER_RANGE;
    if (row.decoded_uw > s->max_uw)
        s->max_uw = row.decoded_uw;
    p->file = *s;
    p->channels = row.analyzers ? 0 : row.n_channels;
    p->analyzers = row.analyzers ? row.n_channels : 0;
    p->joules = 600 * fabs(w);
    p->seconds = 600;
}

static void line(struct made *m, struct jm_span text)
{
    struct jm_mlperf_loadgen *lg = &m->s.loadgen[JM_MLPERF_TESTING];
    struct jm_span word, a;
    struct jm_err err;
    jm_span_field(&text, ' ', &word);
    if (jm_span_is(word, "path"))
        snprintf(m->s.root, sizeof m->s.root, "/%.*s", (int)(text.n < 4000 ? text.n : 4000),
                 text.p ? text.p : "");
    else if (jm_span_is(word, "round"))
        jm_mlperf_round_named(keep(m, text), &m->s.round, &err);
    else if (jm_span_is(word, "claimed"))
        m->s.claimed_scenario = keep(m, text);
    else if (jm_span_is(word, "spl") && text.p)
        sample(m, text);
    else if (jm_span_is(word, "fact") && lg->n_facts < MOST && jm_span_field(&text, '=', &a))
        m->fact[lg->n_facts++] = (struct jm_mlperf_fact){.key = keep(m, a),
                                                         .text = keep(m, text),
                                                         .is_number = isfinite(number(text)),
                                                         .number = number(text)};
    else if (jm_span_is(word, "ptd") && m->s.server.n_ptd < MOST && jm_span_field(&text, '=', &a))
        m->ptd[m->s.server.n_ptd++] = (struct jm_mlperf_message){keep(m, a), keep(m, text), NAN, NAN};
    else if (jm_span_is(word, "time") && m->s.client.n_messages < MOST && jm_span_field(&text, ' ', &a)) {
        struct jm_span reply = {0};
        jm_span_field(&text, ' ', &reply);
        m->time[m->s.client.n_messages++] =
            (struct jm_mlperf_message){"time", keep(m, reply), number(a), number(text)};
    } else if (jm_span_is(word, "event") && m->s.ptd_log.n_events < MOST && jm_span_field(&text, ' ', &a))
        m->event[m->s.ptd_log.n_events++] = (struct jm_mlperf_event){
            .text = keep(m, text), .analyzer = (uint8_t)(a.n ? a.p[0] - '0' : 1), .kind = a.n > 1 ? 2 : 0};
}

static void whole(const struct jm_mlperf_pair *p)
{
    if (isinf(p->published) || isinf(p->proper) || p->lo > p->proper || p->hi < p->proper)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct made *m = calloc(1, sizeof *m);
    struct jm_mlperf_result r;
    struct jm_mlperf_checked c;
    struct jm_err err;
    struct jm_span rest = {(const char *)p, n}, one;
    if (!m)
        return 0;
    memset(&c, 0, sizeof c);
    jm_mlperf_round_named("v5.1", &m->s.round, &err);
    struct jm_mlperf_loadgen *lg = &m->s.loadgen[JM_MLPERF_TESTING];
    lg->facts = m->fact;
    lg->end = 600000000000;
    m->s.server.ptd = m->ptd;
    m->s.client.messages = m->time;
    m->s.ptd_log.events = m->event;
    while (jm_span_line(&rest, &one))
        line(m, one);
    if (jm_mlperf_compute(&m->s, &r, &err) == 0) {
        whole(&r.power);
        whole(&r.energy);
        whole(&r.mj_per_stream);
        whole(&r.samples_per_j);
        whole(&r.j_per_token);
        whole(&r.tokens_per_j);
        if (isinf(r.metric) || isinf(r.efficiency) || strlen(r.accuracy) >= sizeof r.accuracy ||
            strlen(r.excludes) >= sizeof r.excludes)
            abort();
        jm_mlperf_rules_of_metric(&m->s, &r, &c, &err);
        jm_mlperf_checked_release(&c);
    }
    for (size_t i = 0; i < m->n_text; i++)
        free(m->text[i]);
    free(m);
    return 0;
}
