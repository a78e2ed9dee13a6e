/* SPDX-License-Identifier: Apache-2.0 */
/* A plan from YAML, through option tables, so that unknown keys and wrong units are refused where they stand.
 * docs/load.md describes the format. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "load/plan.h"
#include "load/trace.h"

#include "base/banned.h"

#define ARRIVALS "poisson|constant|gamma|burst"
enum { A_POISSON, A_CONSTANT, A_GAMMA, A_BURST };

/* As the file has them; "not given" is told from every value. */
struct in_stage {
    double rate, rate_to;
    int64_t users, users_to, duration;
    int ramp; /* hold, linear, exponential */
};

struct in_slice {
    size_t line;
    const char *name, *tier, *tenant, *replica, *prompts, *trace;
    double rate, burstiness, time_scale;
    int arrivals, format, oversize;
    int64_t users, requests, start, trace_from;
    int64_t slo_ttft, slo_tpot, slo_e2e;
    struct jm_slice parsed; /* lengths, prefix, sessions, cancellation */
    bool same_prompt, sessions;
    struct in_stage stage[JM_STAGES_MOST];
    size_t stages;
};

struct in_plan {
    const char *name;
    bool sequential;
    struct jm_plan_run run;
    struct in_slice *slice[JM_SLICES_MOST];
    size_t slices;
};

static int parse_length(void *at, const char *text, struct jm_err *err)
{
    return jm_length_parse(at, text, err);
}

static int parse_prefix(void *at, const char *text, struct jm_err *err)
{
    return jm_prefix_parse(at, text, err);
}

static int parse_cancel(void *at, const char *text, struct jm_err *err)
{
    return jm_cancel_parse(at, text, err);
}

static int parse_think(void *at, const char *text, struct jm_err *err)
{
    return jm_think_parse(at, text, err);
}

#define S(f) offsetof(struct in_stage, f)
static const struct jm_opt stage_table[] = {
    {"rate", 0, JM_OPT_RATE, S(rate), 0, 1e6, .help = "Requests a second in this stage."},
    {"rate-to", 0, JM_OPT_RATE, S(rate_to), 0, 1e6, .help = "Rate at its end; with ramp."},
    {"concurrency", 0, JM_OPT_INT, S(users), 0, 65536, .help = "Users in this stage."},
    {"concurrency-to", 0, JM_OPT_INT, S(users_to), 0, 65536, .help = "Users at its end; with ramp."},
    {"duration", 0, JM_OPT_DURATION, S(duration), 1e6, 86400e9, .help = "How long it lasts."},
    {"ramp", 0, JM_OPT_ENUM, S(ramp), .choices = "linear|exponential", .help = "How it gets there."},
    {NULL}};

static int add_stage(void *base, size_t line, void **item, struct jm_err *err)
{
    struct in_slice *s = base;
    (void)line;
    if (s->stages == JM_STAGES_MOST)
        return jm_err_set(err, JM_EUSAGE, "a slice has at most %d stages", JM_STAGES_MOST);
    struct in_stage *g = &s->stage[s->stages++];
    *g = (struct in_stage){NAN, NAN, -1, -1, 0, 0};
    *item = g;
    return 0;
}
static const struct jm_opt_maps stage_maps = {stage_table, add_stage};

#define L(f) offsetof(struct in_slice, f)
static const struct jm_opt slice_table[] = {
    {"name", 0, JM_OPT_STR, L(name), .help = "Its name in the results; at most 31 letters."},
    {"quality", 0, JM_OPT_STR, L(tier), .arg = "TIER", .help = "Quality tier, kept with the results."},
    {"tenant", 0, JM_OPT_STR, L(tenant), .arg = "NAME",
     .help = "Whose requests they are; energy a request is also told by tenant."},
    {"replica", 0, JM_OPT_STR, L(replica), .arg = "GROUP",
     .help = "The group (--group) that serves it; else the one of its name."},
    {"concurrency", 0, JM_OPT_INT, L(users), 1, 65536, .help = "Closed loop: users."},
    {"rate", 0, JM_OPT_RATE, L(rate), 1e-4, 1e6, .help = "Open loop: requests a second."},
    {"arrivals", 0, JM_OPT_ENUM, L(arrivals), .choices = ARRIVALS, .help = "How they arrive."},
    {"burstiness", 0, JM_OPT_NUM, L(burstiness), 1e-3, 1e6,
     .help = "Of gamma arrivals: 1 is Poisson, below 1 they come in bursts."},
    {"stages", 0, JM_OPT_MAPS, .maps = &stage_maps, .help = "Rates or users one after the other."},
    {"requests", 0, JM_OPT_INT, L(requests), 1, 1e12, .help = "Most requests; of a burst: how many."},
    {"start", 0, JM_OPT_DURATION, L(start), 0, 86400e9, .help = "Begins so long after the load."},
    {"isl", 0, JM_OPT_PARSE, L(parsed.isl), .arg = "LENGTH", .parse = parse_length, .help = "Prompt tokens."},
    {"osl", 0, JM_OPT_PARSE, L(parsed.osl), .arg = "LENGTH", .parse = parse_length, .help = "Answer tokens."},
    {"prompts", 0, JM_OPT_STR, L(prompts), .arg = "FILE", .help = "JSONL instead of synthetic prompts."},
    {"shared-prefix", 0, JM_OPT_PARSE, L(parsed), .arg = "GROUPSxTOKENS", .parse = parse_prefix,
     .help = "Prompts of a group begin alike."},
    {"same-prompt", 0, JM_OPT_FLAG, L(same_prompt), .help = "Every request sends the same prompt."},
    {"turns", 0, JM_OPT_PARSE, L(parsed.turns), .arg = "LENGTH", .parse = parse_length,
     .help = "Requests of a conversation, each with the history so far."},
    {"think-time", 0, JM_OPT_PARSE, L(parsed), .arg = "TIME", .parse = parse_think,
     .help = "Between an answer and the next turn."},
    {"cancel", 0, JM_OPT_PARSE, L(parsed), .arg = "SHARE", .parse = parse_cancel,
     .help = "Requests that the client gives up."},
    {"trace", 0, JM_OPT_STR, L(trace), .arg = "FILE", .help = "Replays a trace."},
    {"trace-format", 0, JM_OPT_ENUM, L(format),
     .choices = "auto|mooncake|azure|burstgpt|sharegpt|bailian|weka|timed|csv", .help = "Its format."},
    {"time-scale", 0, JM_OPT_NUM, L(time_scale), 1e-6, 1e9, .help = "2 plays it twice as fast."},
    {"trace-from", 0, JM_OPT_DURATION, L(trace_from), 0, 1e18, .help = "Leaves out its beginning."},
    {"trace-oversize", 0, JM_OPT_ENUM, L(oversize), .choices = "refuse|clip|skip",
     .help = "Requests that the model cannot hold."},
    {"sessions", 0, JM_OPT_FLAG, L(sessions), .help = "Conversations of the file, turn by turn."},
    {"slo-ttft", 0, JM_OPT_DURATION, L(slo_ttft), 1e3, 3600e9, .help = "Contract of this slice."},
    {"slo-tpot", 0, JM_OPT_DURATION, L(slo_tpot), 1e3, 3600e9, .help = "Contract of this slice."},
    {"slo-e2e", 0, JM_OPT_DURATION, L(slo_e2e), 1e3, 36000e9, .help = "Contract of this slice."},
    {NULL}};

static int add_slice(void *base, size_t line, void **item, struct jm_err *err)
{
    struct in_plan *p = base;
    struct in_slice *s = p->slices < JM_SLICES_MOST ? calloc(1, sizeof *s) : NULL;
    if (p->slices == JM_SLICES_MOST)
        return jm_err_set(err, JM_EUSAGE, "a plan has at most %d slices", JM_SLICES_MOST);
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    s->line = line;
    s->rate = s->burstiness = NAN;
    s->time_scale = 1;
    s->users = -1;
    s->arrivals = -1;
    jm_slice_init(&s->parsed);
    p->slice[p->slices++] = s;
    *item = s;
    return 0;
}
static const struct jm_opt_maps slice_maps = {slice_table, add_slice};

static int parse_until(void *at, const char *text, struct jm_err *err)
{
    return jm_until_parse(at, text, err);
}

static int parse_levels(void *at, const char *text, struct jm_err *err)
{
    return jm_levels_parse(at, text, err);
}

#define P(f) offsetof(struct in_plan, f)
static const struct jm_opt plan_table[] = {
    {"name", 0, JM_OPT_STR, P(name), .help = "Of the plan."},
    {"sequential", 0, JM_OPT_FLAG, P(sequential),
     .help = "One slice after the other, each in a window of its own."},
    {"trials", 0, JM_OPT_INT, P(run.trials), 1, 1000, .help = "Measured windows of each."},
    {"until", 0, JM_OPT_PARSE, P(run.until), .arg = "PERCENT", .parse = parse_until,
     .help = "Trials until the half width of J/token is so narrow."},
    {"order", 0, JM_OPT_ENUM, P(run.order), .choices = JM_BENCH_ORDERS, .help = "Of what comes in turn."},
    {"cool-down", 0, JM_OPT_DURATION, P(run.cool_down), 0, 3600e9, .help = "Pause without load."},
    {"cool-to", 0, JM_OPT_NUM, P(run.cool_to), 0, 150, .help = "Temperature that ends it."},
    {"duration", 0, JM_OPT_DURATION, P(run.duration), 1e8, 86400e9, .help = "Of a measured window."},
    {"warmup", 0, JM_OPT_DURATION, P(run.warmup), 0, 86400e9, .help = "Load before it."},
    {"ladder", 0, JM_OPT_PARSE, P(run), .arg = "LEVELS", .parse = parse_levels,
     .help = "true, or percent of the capacity: 100,75,50,25,0."},
    {"capacity", 0, JM_OPT_RATE, P(run.capacity), 1e-4, 1e6, .help = "Of the ladder; else it is found."},
    {"probe", 0, JM_OPT_DURATION, P(run.probe), 1e8, 3600e9, .help = "Each step of that search."},
    {"slices", 0, JM_OPT_MAPS, .maps = &slice_maps, .help = "The slices."},
    {NULL}};

/* --- what was read → the plan
 * --------------------------------------------------------------------------------------------- */
struct where {
    const char *file;
    const struct in_slice *in;
};

static int bad(const struct where *w, struct jm_err *err, const char *what)
{
    return jm_err_set(err, JM_EUSAGE, "%s: line %zu: slice %.40s: %s", w->file, w->in->line,
                      w->in->name ? w->in->name : "without a name", what);
}

/* A path in a plan is seen from the plan's folder. */
static const char *path_of(struct jm_plan *p, const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');
    struct jm_str s;
    jm_str_init(&s);
    if (path[0] != '/' && slash)
        jm_str_add(&s, file, (size_t)(slash - file) + 1);
    jm_str_adds(&s, path);
    const char *kept = s.failed ? NULL : jm_plan_keep(p, jm_str_span(&s));
    jm_str_release(&s);
    return kept;
}

static int stages(const struct where *w, struct jm_slice *s, struct jm_err *err)
{
    const struct in_slice *in = w->in;
    bool open = false, closed = false;
    if (!(s->stage = calloc(in->stages, sizeof *s->stage)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    for (size_t i = 0; i < in->stages; i++) {
        const struct in_stage *g = &in->stage[i];
        struct jm_stage *out = &s->stage[i];
        bool rate = !isnan(g->rate) || !isnan(g->rate_to), users = g->users >= 0 || g->users_to >= 0;
        open |= rate;
        closed |= users;
        if (rate == users)
            return bad(w, err, "each stage has either a rate or a concurrency");
        if (!g->duration)
            return bad(w, err, "each stage has a duration");
        if (rate ? isnan(g->rate) : g->users < 0)
            return bad(w, err, "a stage with an end of its ramp needs its beginning too (rate, concurrency)");
        out->from = rate ? g->rate : (double)g->users;
        out->to = rate ? (isnan(g->rate_to) ? out->from : g->rate_to)
                       : (g->users_to < 0 ? out->from : (double)g->users_to);
        out->duration = g->duration;
        out->ramp = g->ramp ? JM_RAMP_EXPONENTIAL : JM_RAMP_LINEAR;
    }
    s->stages = in->stages;
    if (open && closed)
        return bad(w, err, "its stages are of rates and of users: a slice is either open or closed");
    if (!isnan(in->rate) || in->users >= 0)
        return bad(w, err, "stages say the rate or the concurrency: leave it out beside them");
    if (closed)
        s->arrive = JM_ARRIVE_CLOSED;
    else
        s->arrive = JM_ARRIVE_POISSON;
    return 0;
}

static int arrivals(const struct where *w, struct jm_slice *s, struct jm_err *err)
{
    const struct in_slice *in = w->in;
    bool rate = !isnan(in->rate);
    if (in->stages) {
        int rc = stages(w, s, err);
        if (rc)
            return rc;
        if (s->arrive == JM_ARRIVE_CLOSED)
            return in->arrivals < 0 ? 0
                                    : bad(w, err, "users send when they have an answer: no arrivals there");
    } else if (in->arrivals == A_BURST) {
        s->arrive = JM_ARRIVE_BURST;
        if (rate || in->users >= 0)
            return bad(w, err, "a burst comes at once: it has neither a rate nor a concurrency");
        return in->requests ? 0 : bad(w, err, "a burst needs requests: how many");
    } else if (rate && in->users >= 0) {
        return bad(w, err, "give a rate (open loop) or a concurrency (closed loop)");
    } else if (in->users >= 0) {
        s->users = (int)in->users;
        s->arrive = JM_ARRIVE_CLOSED;
        return in->arrivals < 0 && isnan(in->burstiness)
                   ? 0
                   : bad(w, err, "users send when they have an answer: no arrivals there");
    } else if (rate) {
        s->rate = in->rate;
        s->arrive = JM_ARRIVE_POISSON;
    } else if (in->trace) {
        s->arrive = JM_ARRIVE_TRACE;
        return in->arrivals < 0 ? 0 : bad(w, err, "the trace says how requests arrive; arrivals need a rate");
    } else {
        return bad(w, err, "nothing says how much is sent: rate, concurrency, stages, trace or a burst");
    }
    if (!isnan(in->burstiness)) {
        if (in->arrivals >= 0 && in->arrivals != A_GAMMA)
            return bad(w, err, "burstiness belongs to arrivals: gamma");
        s->arrive = JM_ARRIVE_GAMMA;
        s->burstiness = in->burstiness;
    } else if (in->arrivals == A_GAMMA) {
        return bad(w, err, "gamma arrivals need their burstiness");
    } else if (in->arrivals == A_CONSTANT) {
        s->arrive = JM_ARRIVE_CONSTANT;
    }
    return 0;
}

static int convert(struct jm_plan *p, const struct where *w, struct jm_err *err)
{
    static const char *const formats[] = {"auto",    "mooncake", "azure", "burstgpt", "sharegpt",
                                          "bailian", "weka",     "timed", "csv"};
    const struct in_slice *in = w->in;
    struct jm_slice *s = jm_plan_add(p);
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    *s = in->parsed;
    if (in->name && strlen(in->name) >= sizeof s->name)
        return bad(w, err, "the name is longer than 31 letters");
    for (const char *c = in->name; c && *c; c++)
        if (*c == '.' || (unsigned char)*c <= ' ')
            return bad(w, err, "a name has no blanks and no dots: it becomes part of keys");
    if (in->tier && strlen(in->tier) >= sizeof s->tier)
        return bad(w, err, "the quality tier is longer than 31 letters");
    if ((in->tenant && strlen(in->tenant) >= sizeof s->tenant) ||
        (in->replica && strlen(in->replica) >= sizeof s->replica))
        return bad(w, err, "a tenant or replica is longer than 31 letters");
    snprintf(s->name, sizeof s->name, "%s", in->name ? in->name : "");
    snprintf(s->tier, sizeof s->tier, "%s", in->tier ? in->tier : "");
    snprintf(s->tenant, sizeof s->tenant, "%s", in->tenant ? in->tenant : "");
    snprintf(s->replica, sizeof s->replica, "%s", in->replica ? in->replica : "");
    s->count = in->requests;
    s->start_ns = in->start;
    s->same_prompt = in->same_prompt;
    s->trace_sessions = in->sessions;
    s->time_scale = in->time_scale;
    s->trace_from = in->trace_from;
    s->oversize = (enum jm_oversize)in->oversize;
    s->trace_format = formats[in->format];
    s->ttft_s = in->slo_ttft ? (double)in->slo_ttft / 1e9 : NAN;
    s->tpot_s = in->slo_tpot ? (double)in->slo_tpot / 1e9 : NAN;
    s->e2e_s = in->slo_e2e ? (double)in->slo_e2e / 1e9 : NAN;
    if (in->prompts && !(s->prompts = path_of(p, w->file, in->prompts)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    if (in->trace && !(s->trace = path_of(p, w->file, in->trace)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    int rc = arrivals(w, s, err);
    if (rc)
        return rc;
    s->trace_format = s->trace ? jm_plan_keep(p, jm_span_of(formats[in->format])) : NULL;
    struct jm_plan one = {.slice = s, .slices = 1};
    if ((rc = jm_plan_check(&one, err)))
        jm_err_prefix(err, "%s: line %zu", w->file, in->line);
    return rc;
}

int jm_plan_yaml(struct jm_span text, const char *file, struct jm_plan **out, struct jm_err *err)
{
    struct in_plan in = {0};
    jm_plan_run_init(&in.run);
    struct jm_opt_arena *arena = NULL;
    struct jm_plan *p = NULL;
    int rc = jm_opt_yaml(plan_table, &in, text, file, &arena, err);
    if (rc == 0 && !in.slices)
        rc = jm_err_set(err, JM_EUSAGE, "%s has no slices: it would send nothing", file);
    if (rc == 0 && !(p = jm_plan_new()))
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    for (size_t i = 0; rc == 0 && i < in.slices; i++) {
        struct where w = {file, in.slice[i]};
        rc = convert(p, &w, err);
    }
    if (rc == 0) {
        p->sequential = in.sequential;
        p->run = in.run;
        if ((rc = jm_plan_check(p, err)))
            jm_err_prefix(err, "%s", file);
    }
    if (rc && err && rc != JM_ENOMEM)
        err->code = rc = JM_EUSAGE;
    for (size_t i = 0; i < in.slices; i++)
        free(in.slice[i]);
    jm_opt_arena_free(arena);
    if (rc)
        jm_plan_free(p);
    else
        *out = p;
    return rc;
}
