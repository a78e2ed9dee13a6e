/* SPDX-License-Identifier: Apache-2.0 */
#include "load/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

#define TOKENS_MOST 10000000
#define USERS_MOST  65536
#define RATE_MOST   1e6

void jm_slice_init(struct jm_slice *s)
{
    *s = (struct jm_slice){.burstiness = 1,
                           .cancel_ns = -1,
                           .cancel_tokens = -1,
                           .ttft_s = NAN,
                           .tpot_s = NAN,
                           .e2e_s = NAN,
                           .time_scale = 1};
}

struct jm_plan *jm_plan_new(void)
{
    struct jm_plan *p = calloc(1, sizeof *p);
    if (p)
        jm_plan_run_init(&p->run);
    return p;
}

void jm_plan_free(struct jm_plan *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->slices; i++)
        free(p->slice[i].stage);
    for (size_t i = 0; i < p->n_arena; i++)
        free(p->arena[i]);
    free(p->arena);
    free(p->slice);
    free(p);
}

struct jm_slice *jm_plan_add(struct jm_plan *p)
{
    if (p->slices >= JM_SLICES_MOST)
        return NULL;
    struct jm_slice *v = realloc(p->slice, (p->slices + 1) * sizeof *v);
    if (!v)
        return NULL;
    p->slice = v;
    jm_slice_init(&v[p->slices]);
    return &v[p->slices++];
}

char *jm_plan_keep(struct jm_plan *p, struct jm_span s)
{
    char **v = realloc(p->arena, (p->n_arena + 1) * sizeof *v);
    if (!v)
        return NULL;
    p->arena = v;
    if (!(v[p->n_arena] = malloc(s.n + 1)))
        return NULL;
    if (s.n)
        memcpy(v[p->n_arena], s.p, s.n);
    v[p->n_arena][s.n] = '\0';
    return v[p->n_arena++];
}

static bool keep_text(struct jm_plan *p, const char **text)
{
    if (*text)
        *text = jm_plan_keep(p, jm_span_of(*text));
    return *text != NULL;
}

struct jm_plan *jm_plan_copy(const struct jm_plan *p)
{
    struct jm_plan *c = jm_plan_new();
    bool ok = c != NULL;
    if (!ok)
        return NULL;
    struct jm_plan empty = *c;
    *c = *p;
    c->slice = empty.slice;
    c->slices = 0;
    c->arena = NULL;
    c->n_arena = 0;
    for (size_t i = 0; ok && i < p->slices; i++) {
        const struct jm_slice *from = &p->slice[i];
        struct jm_slice *s = jm_plan_add(c);
        if (!(ok = s != NULL))
            break;
        *s = *from;
        s->stage = NULL;
        if (from->stages && (ok = (s->stage = malloc(from->stages * sizeof *s->stage)) != NULL))
            memcpy(s->stage, from->stage, from->stages * sizeof *s->stage);
        ok = ok && (!s->prompts || keep_text(c, &s->prompts)) && (!s->trace || keep_text(c, &s->trace)) &&
             (!s->trace_format || keep_text(c, &s->trace_format));
    }
    if (!ok) {
        jm_plan_free(c);
        return NULL;
    }
    return c;
}

const char *jm_arrive_name(enum jm_arrive a)
{
    static const char *const names[] = {"closed", "poisson", "constant", "gamma", "burst", "trace"};
    return (unsigned)a < sizeof names / sizeof *names ? names[a] : "?";
}

bool jm_slice_open(const struct jm_slice *s)
{
    return s->arrive != JM_ARRIVE_CLOSED;
}

bool jm_slice_sessions(const struct jm_slice *s)
{
    return s->trace_sessions || (s->turns.kind != JM_LEN_NONE && jm_length_most(&s->turns) > 1);
}

int jm_slice_most_users(const struct jm_slice *s)
{
    double most = s->users;
    for (size_t i = 0; i < s->stages; i++)
        most = fmax(most, fmax(s->stage[i].from, s->stage[i].to));
    return jm_slice_open(s) ? 0 : (int)ceil(most);
}

double jm_slice_most_rate(const struct jm_slice *s)
{
    double most = s->rate;
    for (size_t i = 0; i < s->stages; i++)
        most = fmax(most, fmax(s->stage[i].from, s->stage[i].to));
    return jm_slice_open(s) ? most : 0;
}

int64_t jm_slice_span(const struct jm_slice *s)
{
    int64_t ns = s->start_ns;
    if (s->arrive == JM_ARRIVE_BURST)
        return ns;
    if (!s->stages)
        return -1;
    for (size_t i = 0; i < s->stages; i++)
        ns += s->stage[i].duration;
    return ns;
}

int jm_slice_users_at(const struct jm_slice *s, int64_t t)
{
    t -= s->start_ns;
    if (t < 0 || jm_slice_open(s))
        return 0;
    if (!s->stages)
        return s->users;
    for (size_t i = 0; i < s->stages; i++) {
        const struct jm_stage *g = &s->stage[i];
        if (t < g->duration) {
            double x = (double)t / (double)g->duration;
            if (g->ramp == JM_RAMP_EXPONENTIAL && g->from > 0 && g->to > 0)
                return (int)lround(g->from * pow(g->to / g->from, x));
            return (int)lround(g->from + (g->to - g->from) * x);
        }
        t -= g->duration;
    }
    return 0;
}

void jm_slice_words(const struct jm_slice *s, char *out, size_t n)
{
    const char *kind = jm_arrive_name(s->arrive);
    bool open = jm_slice_open(s);
    if (s->arrive == JM_ARRIVE_TRACE && s->time_scale != 1)
        snprintf(out, n, "trace, %g times as fast", s->time_scale);
    else if (s->arrive == JM_ARRIVE_TRACE)
        snprintf(out, n, "trace");
    else if (s->arrive == JM_ARRIVE_BURST)
        snprintf(out, n, "%lld at once", (long long)s->count);
    else if (s->stages)
        snprintf(out, n, "%s%s, %g to %g%s in %zu stage%s", open ? kind : "closed loop",
                 s->arrive == JM_ARRIVE_GAMMA ? " (bursty)" : "", s->stage[0].from,
                 s->stage[s->stages - 1].to, open ? "/s" : " users", s->stages, s->stages == 1 ? "" : "s");
    else if (!open)
        snprintf(out, n, "closed loop, %d user%s", s->users, s->users == 1 ? "" : "s");
    else if (s->arrive == JM_ARRIVE_GAMMA)
        snprintf(out, n, "gamma, %g/s, burstiness %g", s->rate, s->burstiness);
    else
        snprintf(out, n, "%s, %g/s", kind, s->rate);
}

/* --- checks
 * ------------------------------------------------------------------------------------------------------- */
static int bad(const struct jm_slice *s, struct jm_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int bad(const struct jm_slice *s, struct jm_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    jm_err_vset(err, JM_EINVAL, fmt, ap);
    va_end(ap);
    if (s->name[0])
        jm_err_prefix(err, "slice %s", s->name);
    return JM_EINVAL;
}

static int check_level(const struct jm_slice *s, struct jm_err *err)
{
    bool open = jm_slice_open(s);
    if (s->arrive == JM_ARRIVE_BURST)
        return s->count > 0 ? 0 : bad(s, err, "a burst needs to know how many requests it has (requests)");
    if (s->arrive == JM_ARRIVE_TRACE)
        return s->stages ? bad(s, err, "a trace has its own times: it takes no stages") : 0;
    double sum = 0;
    for (size_t i = 0; i < s->stages; i++) {
        const struct jm_stage *g = &s->stage[i];
        if (g->duration <= 0)
            return bad(s, err, "stage %zu has no duration", i + 1);
        if (!(g->from >= 0) || !(g->to >= 0) || fmax(g->from, g->to) > (open ? RATE_MOST : USERS_MOST))
            return bad(s, err, "stage %zu goes from %g to %g: 0 to %g can be kept", i + 1, g->from, g->to,
                       open ? RATE_MOST : (double)USERS_MOST);
        if (g->ramp == JM_RAMP_EXPONENTIAL && !(g->from > 0 && g->to > 0))
            return bad(s, err, "stage %zu: an exponential ramp neither begins nor ends at 0", i + 1);
        sum += g->from + g->to;
    }
    if (s->stages)
        return sum > 0 ? 0 : bad(s, err, "its stages send nothing");
    if (open && !(s->rate > 0 && s->rate <= RATE_MOST))
        return bad(s, err, "a rate of %g requests/s cannot be kept: give more than 0, at most %.0f", s->rate,
                   RATE_MOST);
    if (!open && (s->users < 1 || s->users > 2000000000))
        return bad(s, err, "a concurrency of %d sends nothing: give at least 1", s->users);
    return 0;
}

static int check_one(const struct jm_slice *s, struct jm_err *err)
{
    int rc = check_level(s, err);
    if (rc)
        return rc;
    if (s->arrive == JM_ARRIVE_GAMMA && !(s->burstiness >= 1e-3 && s->burstiness <= 1e6))
        return bad(s, err, "a burstiness of %g cannot be drawn: 1 is Poisson, below 1 comes in bursts",
                   s->burstiness);
    if (s->arrive == JM_ARRIVE_TRACE && !s->trace)
        return bad(s, err, "a trace needs its file");
    if (s->trace && s->prompts)
        return bad(s, err, "prompts come from a trace or from a file of prompts, not from both");
    if (s->prompts && s->isl.kind != JM_LEN_NONE)
        return bad(s, err, "prompts of a file have their own lengths: give prompts or isl");
    if (!s->prompts && !s->trace && s->isl.kind == JM_LEN_NONE)
        return bad(s, err, "nothing to send: give a file of prompts, or the length of synthetic ones (isl)");
    if (jm_length_most(&s->isl) > TOKENS_MOST || jm_length_most(&s->osl) > TOKENS_MOST)
        return bad(s, err, "lengths above %d tokens are not understood", TOKENS_MOST);
    if (s->prefix_groups > 0 && (s->prompts || s->trace))
        return bad(s, err, "a shared prefix goes with synthetic prompts (isl)");
    if (s->prefix_groups > 0 && s->prefix_tokens >= jm_length_most(&s->isl))
        return bad(s, err, "a shared prefix of %lld tokens leaves nothing of a prompt of %lld",
                   (long long)s->prefix_tokens, (long long)jm_length_most(&s->isl));
    if (s->cancel_share < 0 || s->cancel_share > 1 ||
        (s->cancel_share > 0 && s->cancel_ns < 0 && s->cancel_tokens < 0))
        return bad(s, err, "a share of %g of the requests cannot be cancelled", s->cancel_share);
    if (!(s->time_scale >= 1e-6 && s->time_scale <= 1e9))
        return bad(s, err, "a trace cannot be played %g times as fast", s->time_scale);
    return 0;
}

int jm_plan_check(const struct jm_plan *p, struct jm_err *err)
{
    int64_t users = 0;
    if (!p->slices)
        return jm_err_set(err, JM_EINVAL, "the plan has no slice: nothing would be sent");
    for (size_t i = 0; i < p->slices; i++) {
        const struct jm_slice *s = &p->slice[i];
        int rc = check_one(s, err);
        if (rc)
            return rc;
        users += jm_slice_most_users(s);
        if (p->slices > 1 && !s->name[0])
            return jm_err_set(err, JM_EINVAL, "slice %zu has no name: results are told apart by it", i + 1);
        for (size_t k = 0; k < i; k++)
            if (strcmp(p->slice[k].name, s->name) == 0)
                return jm_err_set(err, JM_EINVAL, "two slices are named %s", s->name);
    }
    if (users > USERS_MOST && !p->sequential)
        return jm_err_set(err, JM_EINVAL, "%lld users in all: at most %d can be had", (long long)users,
                          USERS_MOST);
    return 0;
}
