/* SPDX-License-Identifier: Apache-2.0 */
/* One power log of a training run: its energy by the public code and by the rules. */
#include "mlperf/training_part.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define LATE_S   1.5 /* at least one reading a second: above it one was left out */
#define EDGE_S   2.5
#define EDGE_REL 0.01

static double s_of(int64_t us)
{
    return (double)us / 1e6;
}

/* mlcommons/logging result_summarizer.py _compute_power_node and _compute_power_sw, on points in order of
 * time. */
struct published {
    bool start, stop, estimate;
    int64_t t_start, t_stop, t_prev, t_last;
    double sum_w_ms, efficiency, sw_efficiency, estimate_w;
};

static void publish(struct published *p, const struct jm_training_point *x)
{
    switch (x->kind) {
    case JM_TP_START:
        p->start = true;
        p->t_start = p->t_prev = x->t_us;
        break;
    case JM_TP_READING:
        if (p->start && !p->stop) {
            p->sum_w_ms += x->value * ((double)(x->t_us - p->t_prev) / 1e3);
            p->t_prev = x->t_us;
            p->t_last = x->t_us;
        }
        break;
    case JM_TP_STOP:
        p->stop = true;
        p->t_stop = x->t_us;
        break;
    case JM_TP_EFFICIENCY:
        p->efficiency = x->value;
        if (!p->estimate)
            p->sw_efficiency = x->value;
        break;
    default:
        if (!p->estimate) {
            p->estimate = true;
            p->estimate_w = x->value;
        }
    }
}

static double published_of(const struct published *p, struct jm_training_part *out, double run_ms)
{
    if (out->is_switch)
        return p->sw_efficiency * (p->estimate ? p->estimate_w : 0) * run_ms / 1000;
    if (!p->start) {
        snprintf(out->why, sizeof out->why,
                 "It has no power_measurement_start, so the public code gives no energy.");
        return NAN;
    }
    int64_t stop = p->stop ? p->t_stop : p->t_last;
    double window = (double)(stop - p->t_start) / 1e3;
    if (window == 0) {
        snprintf(out->why, sizeof out->why, "%s, so the public code divides by zero and gives no energy.",
                 p->stop ? "power_measurement_stop has the time of power_measurement_start"
                         : "It has no power_measurement_stop and no reading after its start");
        return NAN;
    }
    return p->efficiency * p->sum_w_ms * run_ms / window / 1000;
}

/* Each reading is the mean since the one before it. */
struct proper {
    int64_t a, b, shift; /* the run, us; added to stamps */
    int64_t prev;        /* end of the last reading's time; a reading before it has no time */
    int64_t prev_in;     /* last reading inside the run */
    bool any, first_had_start;
    int64_t head; /* where the first reading's time begins */
    double w_first, w_last;
    double joules, covered_us, gap_sum_us;
    struct jm_training_part *out;
};

static void integrate(struct proper *p, const struct jm_training_point *x)
{
    int64_t t = x->t_us + p->shift;
    if (x->kind == JM_TP_START && !p->any) {
        p->prev = t;
        p->first_had_start = true;
        return;
    }
    if (x->kind != JM_TP_READING || x->value < 0)
        return;
    if (!p->any) {
        p->head = p->first_had_start && p->prev <= t ? p->prev : t;
        p->prev = p->head;
        p->w_first = x->value;
    } else if (t == p->prev) {
        p->out->repeats++;
    }
    int64_t from = p->prev > p->a ? p->prev : p->a, to = t < p->b ? t : p->b;
    if (to > from) {
        p->joules += x->value * s_of(to - from);
        p->covered_us += (double)(to - from);
    }
    if (t >= p->a && t <= p->b) {
        p->out->in_run++;
        double gap = s_of(t - p->prev);
        if (p->out->in_run > 1) {
            if (gap > LATE_S)
                p->out->late++;
            if (!(gap <= p->out->max_gap_s))
                p->out->max_gap_s = gap;
            p->gap_sum_us += (double)(t - p->prev);
        }
        p->prev_in = t;
    }
    p->any = true;
    p->w_last = x->value;
    p->prev = t;
}

/* What lies between the readings and the edges of the run is given their power, if it is little. */
static void finish(struct proper *p)
{
    struct jm_training_part *o = p->out;
    double run_s = s_of(p->b - p->a);
    o->covered_s = p->covered_us / 1e6;
    if (o->in_run > 1)
        o->mean_gap_s = p->gap_sum_us / 1e6 / (double)(o->in_run - 1);
    if (!p->any)
        return;
    double head = s_of(p->head > p->b ? p->b - p->a : p->head > p->a ? p->head - p->a : 0);
    double tail = s_of(p->prev < p->a ? p->b - p->a : p->prev < p->b ? p->b - p->prev : 0);
    double most = EDGE_REL * run_s;
    if (most < EDGE_S)
        most = EDGE_S;
    if (most < 2 * o->mean_gap_s)
        most = 2 * o->mean_gap_s;
    if (head + tail > most) {
        snprintf(o->why, sizeof o->why,
                 "Its readings cover %.1f s of the run's %.1f s, so its energy over the run is not known.",
                 o->covered_s, run_s);
        return;
    }
    o->extended_s = head + tail;
    o->input_j = p->joules + p->w_first * head + p->w_last * tail;
    o->mean_w = run_s > 0 ? o->input_j / run_s : NAN;
}

struct both {
    struct published p;
    struct proper q;
};

static int on_point(void *self, const struct jm_training_point *x)
{
    struct both *k = self;
    publish(&k->p, x);
    integrate(&k->q, x);
    return 0;
}

int jm_training_part_read(const char *path, const struct jm_training_look *look,
                          const struct jm_training_span *run, bool has_reference, int64_t reference_us,
                          struct jm_training_part *out, struct jm_err *err)
{
    struct both k = {.p = {.efficiency = 1, .sw_efficiency = 1, .estimate_w = NAN}};
    out->published_j = out->proper_j = out->input_j = NAN;
    out->estimate_w = out->max_gap_s = out->mean_gap_s = out->mean_w = out->starts_apart_s = NAN;
    out->readings = look->readings;
    out->bad = look->bad;
    out->has_start = look->has_start;
    out->has_stop = look->has_stop;
    out->measured_s = look->has_start && look->has_stop ? s_of(look->stop_us - look->start_us) : NAN;
    snprintf(out->type, sizeof out->type, "%s", look->type);
    k.q = (struct proper){.a = run->a_us, .b = run->b_us, .out = out};
    k.q.shift =
        jm_training_shift(look, run->a_us, run->b_us, has_reference, reference_us, &out->offset_is_zone);
    out->offset_s = s_of(k.q.shift);
    int rc = jm_training_points(path, look, on_point, &k, err);
    if (rc == JM_ELIMIT && err) {
        snprintf(out->why, sizeof out->why, "%.250s", err->text);
        return 0;
    }
    if (rc)
        return rc;
    out->efficiency = k.p.efficiency;
    out->has_estimate = k.p.estimate;
    out->estimate_w = k.p.estimate_w;
    out->published_j = published_of(&k.p, out, (double)(run->b_us - run->a_us) / 1e3);
    finish(&k.q);
    if (out->is_switch && isnan(out->input_j) && k.p.estimate)
        out->input_j = k.p.estimate_w * s_of(run->b_us - run->a_us);
    if (!look->readings && !(out->is_switch && k.p.estimate))
        snprintf(out->why, sizeof out->why, "It holds no power_reading%s.",
                 out->is_switch ? " and no interconnect_power_est" : "");
    if (out->efficiency > 0 && out->efficiency <= 1)
        out->proper_j = out->efficiency * out->input_j;
    else
        snprintf(out->why, sizeof out->why,
                 "Its conversion_eff is %.6g, which is no share of 1, so only the energy before it is known.",
                 out->efficiency);
    return 0;
}
