/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/benchplan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/bench.h"

#include "base/banned.h"

#define PLAN_BYTES ((size_t)1 << 20)
#define USERS      8 /* where nothing is said */

int jm_bench_parse_length(void *at, const char *text, struct jm_err *err)
{
    return jm_length_parse(at, text, err);
}

int jm_bench_parse_prefix(void *at, const char *text, struct jm_err *err)
{
    return jm_prefix_parse(at, text, err);
}

int jm_bench_parse_cancel(void *at, const char *text, struct jm_err *err)
{
    return jm_cancel_parse(at, text, err);
}

int jm_bench_parse_think(void *at, const char *text, struct jm_err *err)
{
    return jm_think_parse(at, text, err);
}

int jm_bench_parse_until(void *at, const char *text, struct jm_err *err)
{
    return jm_until_parse(at, text, err);
}

int jm_bench_parse_levels(void *at, const char *text, struct jm_err *err)
{
    return jm_levels_parse(at, text, err);
}

static bool level(struct jm_span s, double *v, bool *users)
{
    int64_t n;
    s = jm_span_trim(s);
    *users = jm_num_i64(s, &n) == 0;
    if (*users)
        *v = (double)n;
    return *users ? n >= 0 && n <= 65536 : jm_quantity_rate(s, v, NULL) == 0 && *v <= 1e6;
}

int jm_bench_parse_ramp(void *at, const char *text, struct jm_err *err)
{
    struct jm_shape_opts *o = NULL;
    __typeof__(o->ramp) *r = at, new = {.given = true};
    struct jm_span all = jm_span_of(text);
    ptrdiff_t dots = jm_span_find(all, JM_SPAN("..")), over = jm_span_find(all, JM_SPAN(" over "));
    bool users2 = false;
    if (dots < 0 || over < dots)
        goto bad;
    struct jm_span time = jm_span_trim(jm_span_sub(all, (size_t)over + 6, all.n));
    if (jm_span_ends(time, JM_SPAN(" exponential"))) {
        new.exponential = 1;
        time = jm_span_trim(jm_span_sub(time, 0, time.n - 12));
    }
    if (!level(jm_span_sub(all, 0, (size_t)dots), &new.from, &new.users) ||
        !level(jm_span_sub(all, (size_t)dots + 2, (size_t)(over - dots) - 2), &new.to, &users2) ||
        new.users != users2 || jm_quantity_duration(time, &new.duration, NULL) != 0 || new.duration <= 0)
        goto bad;
    *r = new;
    return 0;
bad:
    return jm_err_set(
        err, JM_EUSAGE,
        "\"%.60s\" is no ramp: write 1/s..8/s over 60s, or 1..64 over 60s for users, and perhaps "
        "exponential behind it",
        text);
}

void jm_shape_opts_init(struct jm_shape_opts *o)
{
    *o = (struct jm_shape_opts){.arrivals = -1, .time_scale = 1};
    jm_slice_init(&o->parsed);
}

/* --- the plan
 * ------------------------------------------------------------------------------------------------------- */
static int from_file(const struct jm_bench_opts *o, struct jm_plan **out, struct jm_err *err)
{
    struct jm_str text;
    const struct jm_shape_opts *s = &o->shape;
    const char *beside = o->rate > 0                  ? "rate"
                         : s->trace                   ? "trace"
                         : s->ramp.given              ? "ramp"
                         : s->arrivals >= 0           ? "arrivals"
                         : s->scenario                ? "scenario"
                         : o->prompts                 ? "prompts"
                         : o->isl.kind || o->osl.kind ? "isl and --osl"
                         : s->parsed.turns.kind       ? "turns"
                         : s->parsed.prefix_groups    ? "shared-prefix"
                         : s->parsed.cancel_share > 0 ? "cancel"
                                                      : NULL;
    if (beside)
        return jm_err_set(err, JM_EUSAGE, "--%s: the slices of %s say that themselves; leave it out", beside,
                          s->slices);
    jm_str_init(&text);
    int rc = jm_file_read(s->slices, PLAN_BYTES, &text, err);
    if (!rc)
        rc = jm_plan_yaml(jm_str_span(&text), s->slices, out, err);
    jm_str_release(&text);
    return rc;
}

static int arrivals(const struct jm_bench_opts *o, struct jm_slice *l, struct jm_err *err)
{
    enum { POISSON, CONSTANT, GAMMA };
    const struct jm_shape_opts *s = &o->shape;
    bool open = o->rate > 0 || o->ladder || (s->ramp.given && !s->ramp.users);
    l->rate = o->ladder && !(o->rate > 0) ? 1 : o->rate; /* a ladder scales it */
    l->arrive = open ? JM_ARRIVE_POISSON : JM_ARRIVE_CLOSED;
    if (s->trace && !open && !o->concurrency && !s->ramp.given) {
        l->arrive = JM_ARRIVE_TRACE;
    } else if (!open) {
        l->users = o->concurrency ? (int)o->concurrency : USERS;
    }
    if (s->arrivals >= 0 && !open)
        return jm_err_set(err, JM_EUSAGE, "--arrivals: belongs to a rate; give --rate or a --ramp of one");
    if (s->arrivals == CONSTANT)
        l->arrive = JM_ARRIVE_CONSTANT;
    if (s->burstiness > 0 && (!open || (s->arrivals >= 0 && s->arrivals != GAMMA)))
        return jm_err_set(err, JM_EUSAGE, "--burstiness: belongs to --rate with --arrivals gamma");
    if (s->burstiness > 0 || s->arrivals == GAMMA) {
        if (!(s->burstiness > 0))
            return jm_err_set(err, JM_EUSAGE, "--arrivals gamma: needs --burstiness");
        l->arrive = JM_ARRIVE_GAMMA;
        l->burstiness = s->burstiness;
    }
    if (!s->ramp.given)
        return 0;
    if (o->rate > 0)
        return jm_err_set(err, JM_EUSAGE, "--ramp: it says the rate; leave --rate out");
    if (!(l->stage = calloc(1, sizeof *l->stage)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    *l->stage = (struct jm_stage){s->ramp.from, s->ramp.to, s->ramp.duration,
                                  s->ramp.exponential ? JM_RAMP_EXPONENTIAL : JM_RAMP_LINEAR};
    l->stages = 1;
    l->users = 0;
    return 0;
}

int jm_bench_plan(const struct jm_bench_opts *o, struct jm_plan **out, struct jm_err *err)
{
    static const char *const scenarios[] = {NULL, "mlperf-server", "mlperf-offline"};
    static const char *const formats[] = {"auto",    "mooncake", "azure", "burstgpt", "sharegpt",
                                          "bailian", "weka",     "timed", "csv"};
    const struct jm_shape_opts *s = &o->shape;
    struct jm_plan *p = NULL;
    int rc = 0;
    if (s->slices)
        return from_file(o, out, err);
    if (s->benchmark && !s->scenario)
        return jm_err_set(err, JM_EUSAGE,
                          "--benchmark: belongs to --scenario mlperf-server or mlperf-offline");
    if (s->scenario && !s->benchmark)
        return jm_err_set(err, JM_EUSAGE, "--scenario: needs --benchmark, whose constraints it takes");
    if (s->scenario && s->ramp.given)
        return jm_err_set(err, JM_EUSAGE, "--ramp: a scenario says how requests arrive");
    if (s->scenario) {
        rc = jm_mlperf_plan(scenarios[s->scenario], s->benchmark, o->rate, s->max_requests, &p, err);
    } else if (!(p = jm_plan_new()) || !jm_plan_add(p)) {
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    }
    if (!rc) {
        struct jm_slice *l = &p->slice[0], given = *l;
        *l = s->parsed;
        l->count = given.count;
        l->min_ns = given.min_ns;
        l->ttft_s = given.ttft_s;
        l->tpot_s = given.tpot_s;
        l->e2e_s = given.e2e_s;
        l->time_scale = s->time_scale;
        l->trace_from = s->trace_from;
        l->oversize = (enum jm_oversize)s->oversize;
        l->trace_sessions = s->sessions;
        l->isl = o->isl;
        l->osl = o->osl;
        if (!l->isl.kind && !o->prompts && !s->trace)
            l->isl = (struct jm_length){.kind = JM_LEN_FIXED, .min = 512, .max = 512};
        if (!l->osl.kind && !s->trace)
            l->osl = (struct jm_length){.kind = JM_LEN_FIXED, .min = 128, .max = 128};
        if (o->prompts)
            l->prompts = jm_plan_keep(p, jm_span_of(o->prompts));
        if (s->trace) {
            l->trace = jm_plan_keep(p, jm_span_of(s->trace));
            l->trace_format = jm_plan_keep(p, jm_span_of(formats[s->trace_format]));
        }
        if ((o->prompts && !l->prompts) || (s->trace && (!l->trace || !l->trace_format)))
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
        if (!rc && s->scenario) {
            l->arrive = given.arrive;
            l->rate = given.rate;
        } else if (!rc) {
            rc = arrivals(o, l, err);
        }
    }
    if (!rc)
        rc = jm_plan_check(p, err);
    if (rc) {
        jm_plan_free(p);
        if (err && rc == JM_EINVAL)
            err->code = rc = JM_EUSAGE;
        return rc;
    }
    *out = p;
    return 0;
}

bool jm_plan_ends(const struct jm_plan *p)
{
    for (size_t i = 0; i < p->slices; i++) {
        const struct jm_slice *s = &p->slice[i];
        if (s->arrive != JM_ARRIVE_TRACE && s->arrive != JM_ARRIVE_BURST && !s->stages && !s->count)
            return false;
    }
    return true;
}

/* --- what the run keeps
 * ---------------------------------------------------------------------------------------------- */
struct notes {
    void (*put)(void *, const char *, const char *);
    void *self;
    const char *slice; /* "" for the only one */
};

static void text(const struct notes *n, const char *room, const char *key, const char *value)
{
    char full[96];
    snprintf(full, sizeof full, "%s.%s%s%s", room, n->slice, n->slice[0] ? "." : "", key);
    n->put(n->self, full, value);
}

static void number(const struct notes *n, const char *room, const char *key, double v)
{
    char value[32];
    if (!isfinite(v))
        return;
    jm_json_fmt_double(value, v);
    text(n, room, key, value);
}

static void length(const struct notes *n, const char *key, const struct jm_length *l)
{
    char words[64];
    if (l->kind == JM_LEN_NONE)
        return;
    if (l->kind != JM_LEN_LOGNORMAL)
        number(n, "plan", key, jm_length_mean(l));
    if (l->kind != JM_LEN_FIXED) {
        char name[40];
        jm_length_words(l, words, sizeof words);
        snprintf(name, sizeof name, "%s_drawn", key);
        text(n, "plan", name, words);
    }
}

static void slice_notes(const struct notes *n, const struct jm_slice *s)
{
    char words[96];
    jm_slice_words(s, words, sizeof words);
    text(n, "plan", "shape", words);
    if (s->rate > 0)
        number(n, "plan", "rate_per_s", s->rate);
    if (s->arrive == JM_ARRIVE_GAMMA)
        number(n, "plan", "burstiness", s->burstiness);
    if (s->users > 0)
        number(n, "plan", "concurrency", s->users);
    if (s->count > 0)
        number(n, "plan", "requests", (double)s->count);
    for (size_t i = 0; i < s->stages; i++) {
        char key[32];
        snprintf(key, sizeof key, "stage.%zu", i + 1);
        snprintf(words, sizeof words, "%g to %g, %g s%s", s->stage[i].from, s->stage[i].to,
                 (double)s->stage[i].duration / 1e9,
                 s->stage[i].ramp == JM_RAMP_EXPONENTIAL ? ", exponential" : "");
        text(n, "plan", key, words);
    }
    if (s->start_ns)
        number(n, "plan", "start_s", (double)s->start_ns / 1e9);
    length(n, "isl", &s->isl);
    length(n, "osl", &s->osl);
    length(n, "turns", &s->turns);
    if (s->think_ns > 0)
        number(n, "plan", "think_s", (double)s->think_ns / 1e9);
    if (s->prefix_groups > 0) {
        number(n, "plan", "prefix_groups", (double)s->prefix_groups);
        number(n, "plan", "prefix_tokens", (double)s->prefix_tokens);
    }
    if (s->cancel_share > 0) {
        number(n, "plan", "cancel_share", s->cancel_share);
        if (s->cancel_ns >= 0)
            number(n, "plan", "cancel_after_s", (double)s->cancel_ns / 1e9);
        else
            number(n, "plan", "cancel_after_tokens", (double)s->cancel_tokens);
    }
    if (s->tier[0])
        text(n, "plan", "quality", s->tier);
    if (s->tenant[0])
        text(n, "plan", "tenant", s->tenant);
    if (s->replica[0])
        text(n, "plan", "replica", s->replica);
    if (s->trace && s->arrive == JM_ARRIVE_TRACE)
        number(n, "plan", "time_scale", s->time_scale);
    if (s->prompts)
        text(n, "plan", "prompts", s->prompts);
    number(n, "contract", "ttft_s", s->ttft_s);
    number(n, "contract", "tpot_s", s->tpot_s);
    number(n, "contract", "e2e_s", s->e2e_s);
}

void jm_bench_note_plan(const struct jm_plan *p, const struct jm_present *present,
                        void (*put)(void *self, const char *key, const char *value), void *self)
{
    struct notes all = {put, self, ""};
    char names[JM_SLICES_MOST * 34] = "";
    for (size_t i = 0; i < p->slices; i++) {
        struct notes n = {put, self, p->slices > 1 ? p->slice[i].name : ""};
        size_t at = strlen(names);
        slice_notes(&n, &p->slice[i]);
        snprintf(names + at, sizeof names - at, "%s%s", at ? "," : "", p->slice[i].name);
    }
    if (p->slices > 1) {
        text(&all, "plan", "slices", names);
        text(&all, "plan", "shape",
             p->sequential ? "slices, one after the other" : "slices at the same time");
    }
    if (p->scenario[0]) {
        text(&all, "plan", "scenario", p->scenario);
        text(&all, "plan", "scenario.label", p->label);
        text(&all, "plan", "scenario.benchmark", p->benchmark);
        text(&all, "plan", "scenario.source", p->source);
        if (!isnan(p->slice[0].ttft_s) || !isnan(p->slice[0].tpot_s) || !isnan(p->slice[0].e2e_s))
            number(&all, "contract", "percentile", p->percentile);
    }
    if (present->slo_ttft)
        number(&all, "contract", "ttft_s", (double)present->slo_ttft / 1e9);
    if (present->slo_tpot)
        number(&all, "contract", "tpot_s", (double)present->slo_tpot / 1e9);
    if (present->slo_e2e)
        number(&all, "contract", "e2e_s", (double)present->slo_e2e / 1e9);
}
