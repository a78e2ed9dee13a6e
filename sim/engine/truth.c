/* SPDX-License-Identifier: Apache-2.0 */
/* What really happened, for those who measure it from outside. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

void sim_truth_record(struct sim_engine *e, const struct sim_request *r)
{
    if (e->n_records == e->cap_records && e->n_records < e->opt.max_records) {
        uint32_t cap = e->cap_records ? e->cap_records * 2 : 256;
        cap = cap < e->opt.max_records ? cap : e->opt.max_records;
        struct sim_record *p = realloc(e->record, cap * sizeof *p);
        if (p) {
            e->record = p;
            e->cap_records = cap;
        }
    }
    if (e->n_records == e->cap_records) {
        e->records_dropped++;
        return;
    }
    struct sim_record *t = &e->record[e->n_records++];
    *t = (struct sim_record){.number = r->number,
                             .prompt = r->prompt_tokens,
                             .cached = r->seq.cached,
                             .completion = r->seq.generated,
                             .told = r->told,
                             .preempted = r->seq.preempted,
                             .finish = r->finish,
                             .t_arrival = r->t_arrival,
                             .t_scheduled = r->t_scheduled,
                             .t_first = r->t_first,
                             .t_last = r->t_last,
                             .t_end = sim_now(),
                             .joule_prefill = r->seq.joule_prefill,
                             .joule_decode = r->seq.joule_decode,
                             .joule_shared = r->seq.joule_shared};
    memcpy(t->id, r->id, sizeof t->id);
}

static json_t *stamp(int64_t t)
{
    return t ? json_integer(t) : json_null();
}

static double joule(sim_fj e)
{
    return (double)e * 1e-15;
}

json_t *sim_truth_json(struct sim_engine *e)
{
    int64_t now = sim_now();
    json_t *boards = json_array(), *requests = json_array();
    double total = 0;
    for (int i = 0; i < e->power.n; i++) {
        sim_fj fj = sim_power_energy(&e->power, i, now);
        total += joule(fj);
        char exact[40]; /* uJ, floor: exact where doubles no longer are */
        snprintf(exact, sizeof exact, "%lld", (long long)(fj / 1000000000));
        json_array_append_new(boards, json_pack("{s:i, s:f, s:s}", "gpu", e->power.board[i].index, "energy_j",
                                                joule(fj), "energy_uj", exact));
    }
    /* a step under way counts as far as it has come */
    struct sim_energy j = e->joule;
    double between = e->joule_idle;
    if (now > e->step_t1)
        between += (double)(now - e->step_t1) * 1e-9 * e->model.gpus * sim_model_loaded_idle_w(&e->model);
    if (e->sched.in_step && now < e->step_t1) {
        const struct sim_energy *c = &e->sched.cost.joule;
        double rest = (double)(e->step_t1 - now) / (double)(e->step_t1 - e->step_t0);
        j.idle -= c->idle * rest;
        j.fixed -= c->fixed * rest;
        j.prefill -= c->prefill * rest;
        j.decode -= c->decode * rest;
        j.context -= c->context * rest;
    }
    for (uint32_t i = 0; i < e->n_records; i++) {
        const struct sim_record *t = &e->record[i];
        json_array_append_new(
            requests,
            json_pack("{s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f}",
                      "id", t->id, "number", (json_int_t)t->number, "prompt_tokens", (int)t->prompt,
                      "cached_tokens", (int)t->cached, "completion_tokens", (int)t->completion, "told_tokens",
                      (int)t->told, "preempted", (int)t->preempted, "finish", sim_finish_name[t->finish],
                      "arrival_ns", stamp(t->t_arrival), "scheduled_ns", stamp(t->t_scheduled),
                      "first_token_ns", stamp(t->t_first), "last_token_ns", stamp(t->t_last), "end_ns",
                      stamp(t->t_end), "prefill_j", t->joule_prefill, "decode_j", t->joule_decode, "shared_j",
                      t->joule_shared));
    }
    const struct sim_sched *s = &e->sched;
    return json_pack(
        "{s:s, s:b, s:s, s:I, s:I, s:f, s:o, s:f, s:{s:f, s:f, s:f, s:f, s:f, s:f}, s:{s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I}, s:{s:I, "
        "s:I, s:I, s:I, s:I, s:I}, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I}",
        "schema", "joulemark-sim.engine-truth/1", "simulated", 1, "model", e->model.name, "start_ns",
        (json_int_t)e->t_start, "now_ns", (json_int_t)now, "speed", e->opt.speed, "gpus", boards, "energy_j",
        total, "energy_by_part_j", "between_steps", between, "idle_in_steps", j.idle, "fixed", j.fixed,
        "prefill", j.prefill, "decode", j.decode, "context", j.context, "tokens", "prompt",
        (json_int_t)e->prompt_tokens, "cached", (json_int_t)e->cached_tokens, "generated",
        (json_int_t)e->generation_tokens, "told", (json_int_t)e->told_tokens, "prefilled",
        (json_int_t)s->prefill_tokens, "recomputed", (json_int_t)s->recomputed_tokens, "drafted",
        (json_int_t)s->draft_tokens, "requests", "stop", (json_int_t)e->finished[SIM_FIN_STOP], "length",
        (json_int_t)e->finished[SIM_FIN_LENGTH], "abort", (json_int_t)e->finished[SIM_FIN_ABORT], "error",
        (json_int_t)e->finished[SIM_FIN_ERROR], "rejected", (json_int_t)e->rejected, "live",
        (json_int_t)e->n_live, "steps", (json_int_t)s->steps, "events", (json_int_t)e->events, "preemptions",
        (json_int_t)s->preemptions, "late_steps", (json_int_t)e->late_steps, "late_ns",
        (json_int_t)e->late_ns, "refused_by_gpus", (json_int_t)e->power.refused, "request", requests,
        "requests_left_out", (json_int_t)e->records_dropped);
}

int sim_truth_write(struct sim_engine *e, const char *path, char *why, size_t whylen)
{
    json_t *j = sim_truth_json(e);
    int rc = j ? json_dump_file(j, path, JSON_INDENT(1) | JSON_SORT_KEYS) : -1;
    json_decref(j);
    if (rc < 0)
        snprintf(why, whylen, "The truth cannot be written to %s.", path);
    return rc;
}
