/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration bursts: a stretch of prompts that ask for one token each, and one of long answers to prompts as
 * short as can be, so that the energy of prefill and decode can be told apart whatever the load does
 * afterwards. Their windows are recognised by name (docs/phases.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_impl.h"
#include "cli/signals.h"

#include "base/banned.h"

#define LENGTH      (10 * JM_NS_PER_S)
#define PAUSE       JM_NS_PER_S /* no request lies across an edge, and the power has come down */
#define PREFILLING  4           /* prompts at once */
#define PROMPT_MOST 2048
#define SHORT_MOST  512
#define ANSWER      256

static const int decoding[] = {1, 2, 4, 8, 16}; /* answers at once, one after the other */
enum { STEPS = sizeof decoding / sizeof decoding[0] };

/* Without the tail: a window ends when its last request has. */
static int burst(struct jm_bench_run *b, const char *name, const struct jm_plan *plan, int64_t length,
                 struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    struct jm_clock clock = jm_clock_system();
    struct jm_load_live l;
    int rc = jm_bench_new_load(b, plan, err);
    if (!rc)
        rc = jm_session_begin(b->s, JM_R_WARMUP, name, 0, &id, &t0, err);
    if (!rc)
        rc = jm_bench_start_load(b, err);
    if (rc)
        return rc;
    jm_bench_under_load(b, name, t0, t0 + length, 0);
    jm_load_stop(b->load);
    int64_t end = jm_clock_mono(&clock) + (jm_signals_stop ? 2 * JM_NS_PER_S : b->o->drain);
    jm_load_live(b->load, &l);
    bool any = l.ok > 0 || l.in_flight > 0;
    while (l.in_flight && jm_clock_mono(&clock) < end) {
        jm_clock_sleep_until(&clock, jm_clock_mono(&clock) + 20 * JM_NS_PER_MS, NULL);
        jm_load_live(b->load, &l);
    }
    jm_load_drain(b->load, 1);
    rc = jm_recorder_window_end(b->s->rec, id, &t1, err);
    if (!rc && !any && !jm_signals_stop)
        rc = jm_err_set(err, JM_ESTATE, "%s: no request succeeded; try bench without --phase-bursts first",
                        name);
    return rc ? rc : jm_bench_rest(b, JM_R_COOLDOWN, "pause", 0, PAUSE, NULL, err);
}

/* The shortest prompt that can be made: a chat template alone takes some tokens. */
static int shortest(struct jm_bench_run *b, const struct jm_plan *plan, struct jm_slice *d, int most,
                    struct jm_err *err)
{
    int rc = JM_EINVAL;
    for (int n = 1; rc && n <= most && n <= SHORT_MOST; n *= 2) {
        d->isl = (struct jm_length){.kind = JM_LEN_FIXED, .min = n, .max = n};
        rc = jm_bench_new_load(b, plan, err);
        if (rc == JM_ENOMEM)
            return rc;
    }
    return rc;
}

int jm_bench_bursts(struct jm_bench_run *b, struct jm_err *err)
{
    struct jm_load_cfg as_it_was = b->lc;
    int64_t length = b->o->burst > 0 ? b->o->burst : LENGTH;
    int most = b->lc.at && b->lc.at->max_model_len > 0 ? b->lc.at->max_model_len / 2 : PROMPT_MOST;
    struct jm_plan *pre = jm_plan_new(), *dec = jm_plan_new();
    struct jm_slice *p = pre ? jm_plan_add(pre) : NULL, *d = dec ? jm_plan_add(dec) : NULL;
    int rc = 0;
    if (d)
        d->stage = calloc(STEPS, sizeof *d->stage);
    if (!p || !d || !d->stage)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the bursts");
    if (!rc) {
        most = most > PROMPT_MOST ? PROMPT_MOST : most < 2 ? 2 : most;
        snprintf(p->name, sizeof p->name, "%s", b->plan->slice[0].name);
        snprintf(d->name, sizeof d->name, "%s", b->plan->slice[0].name);
        p->arrive = d->arrive = JM_ARRIVE_CLOSED;
        p->users = PREFILLING;
        p->isl = (struct jm_length){.kind = JM_LEN_UNIFORM, .min = most > 64 ? 32 : 1, .max = most};
        p->osl = (struct jm_length){.kind = JM_LEN_FIXED, .min = 1, .max = 1};
        d->osl = (struct jm_length){
            .kind = JM_LEN_FIXED, .min = most < ANSWER ? most : ANSWER, .max = most < ANSWER ? most : ANSWER};
        d->stages = STEPS;
        for (size_t i = 0; i < STEPS; i++)
            d->stage[i] = (struct jm_stage){decoding[i], decoding[i], length / STEPS, JM_RAMP_LINEAR};
        b->lc.max_requests = 0;
        b->lc.prompts_path = NULL;
        rc = shortest(b, dec, d, most, err);
        if (!rc && p->isl.min < 2 * d->isl.min)
            p->isl.min = 2 * d->isl.min < most ? 2 * d->isl.min : most;
    }
    if (!rc) {
        rc = burst(b, "burst prefill", pre, length, err);
        b->lc.ignore_eos = true;
        if (!rc && !jm_signals_stop)
            rc = burst(b, "burst decode", dec, length, err);
    }
    if (b->load) /* its plan goes */
        jm_load_free(b->load);
    b->load = NULL;
    int64_t first = b->last_id + 1;
    b->lc = as_it_was;
    b->lc.first_id = first;
    jm_plan_free(pre);
    jm_plan_free(dec);
    return rc;
}
