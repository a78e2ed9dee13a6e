/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/bench_impl.h"
#include "cli/endpoint.h"
#include "cli/enginemetrics.h"
#include "cli/signals.h"

#include "base/banned.h"

void jm_bench_opts_init(struct jm_bench_opts *o)
{
    *o = (struct jm_bench_opts){
        .idle = 5 * JM_NS_PER_S, .warmup = -1, .duration = -1, .drain = 60 * JM_NS_PER_S, .temperature = NAN};
    jm_plan_run_init(&o->how);
    jm_shape_opts_init(&o->shape);
}

static void note_plan(struct jm_bench_run *b, const struct jm_present *p, const char *url)
{
    const struct jm_bench_opts *o = b->o;
    jm_bench_fact(b, "plan.url", url);
    jm_bench_note_plan(b->plan, p, jm_bench_fact, b);
    bool open = false;
    for (size_t i = 0; i < b->plan->slices; i++)
        open |= jm_slice_open(&b->plan->slice[i]);
    if (o->concurrency && open)
        jm_bench_fact_number(b, "plan.in_flight_limit", (double)b->lc.concurrency);
    const struct jm_plan_run *r = &b->how;
    jm_bench_fact_number(b, "plan.trials", (double)r->trials);
    jm_bench_fact_number(b, "plan.until_percent", 100 * r->until);
    if (b->plan->sequential || r->levels)
        jm_bench_fact(b, "plan.order",
                      jm_bench_order_name(r->order < 0 ? JM_ORDER_WRITTEN : (enum jm_bench_order)r->order));
    if (b->in_turn)
        jm_bench_fact_number(b, "plan.cool_down_s", r->cool_down > 0 ? (double)r->cool_down / 1e9 : 0);
    jm_bench_fact_number(b, "plan.cool_to_c", r->cool_to);
    jm_bench_fact_number(b, "plan.warmup_s", (double)b->warmup / 1e9);
    if (b->open_end)
        jm_bench_fact(b, "plan.duration_s", "until the plan is done");
    else
        jm_bench_fact_number(b, "plan.duration_s", (double)b->duration / 1e9);
    if (o->insecure)
        jm_bench_fact(b, "plan.tls_verified", "0");
}

static int measure(struct jm_bench_run *b, struct jm_err *err)
{
    bool stop = false;
    int rc = jm_bench_warm_up(b, "warm-up", 0, b->warmup, err);
    for (int i = 0; !rc && !stop && i < b->how.trials && !jm_signals_stop; i++) {
        char name[64];
        if (!isnan(b->how.until))
            snprintf(name, sizeof name, "trial %d", i + 1);
        else if (b->how.trials > 1)
            snprintf(name, sizeof name, "trial %d of %d", i + 1, (int)b->how.trials);
        else
            snprintf(name, sizeof name, "measure");
        rc = jm_bench_window(b, name, i, NULL, err);
        if (!rc)
            rc = jm_bench_enough(b, i + 1, &stop, err);
    }
    return rc;
}

static int under_recording(struct jm_bench_run *b, struct jm_err *err)
{
    bool again = b->o->bursts || b->in_turn; /* loads follow each other: the first one is made anew */
    int rc = jm_session_start(b->s, err);
    if (!rc)
        rc = jm_bench_rest(b, JM_R_IDLE, "loaded idle", 0, b->o->idle, NULL, err);
    if (!rc && jm_signals_stop)
        return jm_err_set(err, JM_ESTATE, "stopped by a signal before the load began");
    if (!rc && b->o->bursts)
        rc = jm_bench_bursts(b, err);
    if (!rc && b->how.levels)
        return jm_bench_ladder(b, err);
    if (!rc && b->in_turn)
        return jm_bench_in_turn(b, err);
    if (!rc && again)
        rc = jm_bench_new_load(b, b->plan, err);
    if (!rc)
        rc = measure(b, err);
    if (rc)
        return rc; /* the endpoint serves nothing, or the run cannot be written */
    rc = jm_bench_drain(b, err);
    if (!rc && b->lost)
        rc = jm_err_set(err, b->lost, "requests could not be written to the run file");
    return rc;
}

/* What stands beside the ladder, and would say its levels in another way. */
static int ladder_alone(const struct jm_bench_run *b, struct jm_err *err)
{
    const struct jm_bench_opts *o = b->o;
    const char *beside = o->concurrency          ? "concurrency"
                         : o->rate > 0           ? "rate"
                         : o->shape.ramp.given   ? "ramp"
                         : o->shape.scenario     ? "scenario"
                         : o->shape.max_requests ? "max-requests"
                                                 : NULL;
    if (beside)
        return jm_err_set(
            err, JM_EUSAGE,
            "--%s: the levels of a ladder are open loops at shares of the capacity; leave it out "
            "(--capacity says what 100 %% is)",
            beside);
    if (b->plan->sequential)
        return jm_err_set(err, JM_EUSAGE,
                          "--ladder: slices one after the other are no load that can be at 50 %%; leave "
                          "sequential out, or make a ladder of each");
    for (size_t i = 0; i < b->plan->slices; i++)
        if (!(b->plan->slice[i].rate > 0))
            return jm_err_set(
                err, JM_EUSAGE,
                "--ladder: its levels scale the rates of the slices, and slice %.32s has none: give "
                "it a rate",
                b->plan->slice[i].name);
    bool contract = b->present->slo_ttft || b->present->slo_tpot || b->present->slo_e2e;
    for (size_t i = 0; i < b->plan->slices; i++) {
        const struct jm_slice *s = &b->plan->slice[i];
        contract |= !isnan(s->ttft_s) || !isnan(s->tpot_s) || !isnan(s->e2e_s);
    }
    if (b->plan->slices > 1 && !contract && !(b->how.capacity > 0))
        return jm_err_set(
            err, JM_EUSAGE,
            "--ladder: the capacity for a mix of slices is found under a contract; give --slo-ttft, "
            "--slo-tpot or slo-* of the slices, or --capacity");
    return 0;
}

static int how(struct jm_bench_run *b, struct jm_err *err)
{
    const struct jm_bench_opts *o = b->o;
    const struct jm_plan_run *given = &o->how;
    struct jm_plan_run *r = &b->how;
    *r = b->plan->run;
    r->trials = given->trials ? given->trials : r->trials;
    r->order = given->order >= 0 ? given->order : r->order;
    r->cool_down = given->cool_down >= 0 ? given->cool_down : r->cool_down;
    r->cool_to = isnan(given->cool_to) ? r->cool_to : given->cool_to;
    r->until = isnan(given->until) ? r->until : given->until;
    r->capacity = given->capacity > 0 ? given->capacity : r->capacity;
    r->probe = given->probe > 0 ? given->probe : r->probe;
    if (given->levels && !o->ladder && !r->levels)
        return jm_err_set(err, JM_EUSAGE, "--levels belongs to --ladder");
    if (given->levels) {
        memcpy(r->level, given->level, sizeof r->level);
        r->levels = given->levels;
    } else if (o->ladder && !r->levels) {
        int rc = jm_levels_parse(r, "default", err);
        if (rc)
            return rc;
    }
    if (!r->levels && (r->capacity > 0 || r->probe > 0))
        return jm_err_set(err, JM_EUSAGE, "--%s belongs to --ladder", r->capacity > 0 ? "capacity" : "probe");
    if (!isnan(r->until) && r->trials && r->trials < JM_BENCH_PILOT)
        return jm_err_set(
            err, JM_EUSAGE,
            "--until makes %d trials at least, to know their scatter, and --trials allows %lld: "
            "leave --trials out, or allow more",
            JM_BENCH_PILOT, (long long)r->trials);
    if (!r->trials)
        r->trials = isnan(r->until) ? 1 : JM_BENCH_TRIALS_UNTIL;
    return r->levels ? ladder_alone(b, err) : 0;
}

/* A plan with an end is measured from its first arrival to its last answer, unless something else is said. */
static int make_plan(struct jm_bench_run *b, struct jm_err *err)
{
    const struct jm_bench_opts *o = b->o;
    int rc = jm_bench_plan(o, &b->plan, err);
    if (!rc)
        rc = how(b, err);
    if (rc)
        return rc;
    const struct jm_plan_run *r = &b->how;
    int64_t warmup = o->warmup >= 0 ? o->warmup : r->warmup,
            duration = o->duration >= 0 ? o->duration : r->duration;
    bool pause = r->cool_down > 0 || !isnan(r->cool_to);
    b->lc.plan = b->plan;
    b->ends = jm_plan_ends(b->plan) || (o->shape.max_requests > 0 && !o->shape.scenario);
    b->warmup = warmup >= 0 ? warmup : b->ends ? 0 : 10 * JM_NS_PER_S;
    b->open_end = b->ends && duration < 0;
    b->duration = duration >= 0 ? duration : (b->ends ? 86400 : 60) * JM_NS_PER_S;
    b->in_turn = b->plan->sequential || r->levels || pause;
    if (b->ends && r->trials > 1 && !b->in_turn)
        return jm_err_set(
            err, JM_EUSAGE,
            "--trials: this load has an end of its own and cannot be measured again while it goes on; with "
            "--cool-down it begins anew for each trial");
    if (pause && r->trials < 2 && !b->plan->sequential && !r->levels)
        return jm_err_set(err, JM_EUSAGE,
                          "--%s: a pause lies between two windows, and there is only one; give --trials, a "
                          "--ladder, or --slices with sequential: true",
                          r->cool_down > 0 ? "cool-down" : "cool-to");
    if (r->order > JM_ORDER_WRITTEN && !b->plan->sequential && !r->levels)
        return jm_err_set(
            err, JM_EUSAGE,
            "--order: one load has no order; it belongs to slices one after the other (--slices "
            "with sequential: true) and to a --ladder");
    if (o->bursts && !o->idle)
        return jm_err_set(
            err, JM_EUSAGE,
            "--phase-bursts: prefill and decode are told apart above loaded idle, which --idle 0s "
            "leaves out");
    if (o->burst > 0 && !o->bursts)
        return jm_err_set(err, JM_EUSAGE, "--burst-length belongs to --phase-bursts");
    return 0;
}

int jm_bench(struct jm_session *s, struct jm_cli *cli, const struct jm_bench_opts *o,
             const struct jm_present *p, const struct jm_session_opts *so, const struct jm_meter_env *env,
             const char *url, struct jm_err *err)
{
    struct jm_bench_run *b = calloc(1, sizeof *b);
    struct jm_endpoint ep;
    char source[256];
    struct jm_session_opts mine = *so; /* one seed for the load and for resampling */
    mine.seed = jm_session_seed(so->seed);
    so = &mine;
    *s = (struct jm_session){.cli = cli};
    jm_str_init(&s->path);
    if (!b)
        return jm_err_set(err, JM_ENOMEM, "out of memory");
    b->s = s;
    b->o = o;
    b->present = p;
    jm_bench_live_init(&b->live);
    pthread_mutex_init(&b->lock, NULL);
    int rc = jm_bench_load_cfg(o, cli, url, (uint64_t)so->seed, &b->lc, err);
    if (!rc)
        rc = make_plan(b, err);
    if (!rc)
        rc = jm_load_probe(&b->lc, cli->common->proc_root, &ep, err);
    if (!rc && !b->lc.model && ep.model[0])
        b->lc.model = ep.model;
    b->lc.at = &ep; /* each slice of a plan would ask again */
    snprintf(source, sizeof source, "bench %s", url);
    /* prompts and limits first: what the endpoint refuses then leaves no run file behind */
    if (!rc)
        rc = jm_bench_new_load(b, b->plan, err);
    if (!rc)
        rc = jm_session_open(s, cli, so, "bench", source, env, true, err);
    if (!rc)
        rc = jm_endpoint_note(s, &ep, err);
    if (!rc)
        rc = jm_session_engine(s, &o->engine_metrics, url, &b->lc, &ep, err);
    if (!rc && !isnan(b->how.until) && !s->metered)
        rc = jm_err_set(err, JM_ESTATE,
                        "--until follows J/token, and no meter can be read (joulemark meters says why)");
    if (!rc)
        note_plan(b, p, url);
    if (!rc) {
        rc = under_recording(b, err);
        if (!b->in_turn)
            jm_bench_load_facts(b);
    }
    jm_load_free(b->load);
    rc = jm_session_finish(s, rc, err);
    pthread_mutex_destroy(&b->lock);
    jm_plan_free(b->plan);
    free(b);
    return rc;
}
