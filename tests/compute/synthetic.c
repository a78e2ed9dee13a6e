/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "synthetic.h"

#define NS(s) (T0 + (int64_t)llround((s)*1e9))
#define MUST(call)                                                                                           \
    do {                                                                                                     \
        struct jm_err e_ = {0};                                                                              \
        struct jm_err *err = &e_;                                                                            \
        if ((call) < 0)                                                                                      \
            fail_msg("%s", e_.text);                                                                         \
    } while (0)

void syn_begin(struct syn *s, const char *name)
{
    syn_begin_as(s, name, "recorded");
}

void syn_begin_as(struct syn *s, const char *name, const char *kind)
{
    static unsigned made;
    struct jm_run_create c = {.label = name,
                              .kind = kind,
                              .source = "test",
                              .created_real = NS(0),
                              .seed = ++made, /* and with it the id: no two are the same run */
                              .overwrite = true};
    struct jm_run_meter m = {.name = "test", .state = "ok"};
    struct jm_clock_pair p = {T0, T0, INT64_C(1700000000000000000), T0};
    memset(s, 0, sizeof *s);
    snprintf(s->path, sizeof s->path, "synthetic.%d.%u.jmr", (int)getpid(), made);
    MUST(jm_run_create(s->path, &c, &s->w, err));
    jm_domain_tree_init(&s->tree);
    MUST(s->node = jm_domain_host(&s->tree, "host", err));
    s->inlet = s->tree.d[s->node].parent;
    MUST(s->meter = jm_run_put_meter(s->w, &m, err));
    MUST(jm_run_put_clock_pair(s->w, &p, err));
}

int syn_domain(struct syn *s, int parent, enum jm_domain_kind kind, const char *key)
{
    int d = -1;
    MUST(d = jm_domain_add(&s->tree, parent, kind, key, key, err));
    return d;
}

int syn_channel(struct syn *s, struct jm_channel *c)
{
    int id = -1;
    c->meter = s->meter;
    MUST(jm_run_put_domains(s->w, &s->tree, err));
    MUST(jm_run_put_channel(s->w, c, &id, err));
    return id;
}

void syn_reading(struct syn *s, int channel, double at, int64_t value, enum jm_status status)
{
    struct jm_reading r = {.t0 = NS(at),
                           .t1 = NS(at) + 1000,
                           .value = value,
                           .channel = (uint32_t)channel,
                           .status = (uint8_t)status};
    MUST(jm_run_put_readings(s->w, &r, 1, err));
}

static int channel(struct syn *s, const char *name, const char *device, enum jm_channel_kind kind,
                   enum jm_unit unit, int domain)
{
    struct jm_channel c = {.meter = s->meter,
                           .kind = kind,
                           .unit = unit,
                           .scale10 = -3,
                           .sem = JM_G_INSTANT,
                           .gain_tol = NAN,
                           .offset_tol = NAN,
                           .domain = domain,
                           .flags = s->chan_flags,
                           .provenance = s->provenance,
                           .period_ns = unit == JM_U_J ? 100000000 : 1000000000};
    int id = -1;
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.device, sizeof c.device, "%s", device);
    MUST(jm_run_put_domains(s->w, &s->tree, err));
    MUST(jm_run_put_channel(s->w, &c, &id, err));
    return id;
}

static void reading(struct syn *s, int chan, int64_t t, int64_t v)
{
    struct jm_reading r = {.t0 = t, .t1 = t + 1000, .value = v, .channel = (uint32_t)chan};
    MUST(jm_run_put_readings(s->w, &r, 1, err));
}

int syn_counter(struct syn *s, int domain, const char *device, double watts, double from, double to)
{
    int c = channel(s, "energy", device, JM_CH_COUNTER, JM_U_J, domain);
    for (int64_t t = NS(from); t <= NS(to); t += 100000000)
        reading(s, c, t, 5000000 + llround((double)(t - NS(from)) / 1e9 * watts * 1e3));
    return c;
}

int syn_gauge(struct syn *s, int domain, const char *name, double watts, double from, double to)
{
    int c = channel(s, name, name, JM_CH_GAUGE, JM_U_W, domain);
    for (int64_t t = NS(from); t <= NS(to); t += 1000000000)
        reading(s, c, t, llround(watts * 1e3));
    return c;
}

int syn_gpu(struct syn *s, const char *uuid, double watts, double from, double to)
{
    return syn_counter(s, syn_domain(s, s->node, JM_D_GPU, uuid), uuid, watts, from, to);
}

int syn_wall(struct syn *s, double watts, double from, double to)
{
    return syn_gauge(s, s->inlet, "power", watts, from, to);
}

void syn_put(struct syn *s, struct jm_request *q, const struct jm_token_event *ev, size_t n)
{
    q->id = ++s->next_request;
    MUST(jm_run_put_request(s->w, q, ev, n, err));
}

void syn_window(struct syn *s, enum jm_role role, int trial, double from, double to)
{
    struct jm_window w = {.id = s->next_window++, .trial = trial, .role = role, .t0 = NS(from)};
    snprintf(w.name, sizeof w.name, "%s %d", jm_role_name((int)role), trial);
    MUST(jm_run_open_window(s->w, &w, err));
    MUST(jm_run_close_window(s->w, w.id, NS(to), err));
}

void syn_request(struct syn *s, double at, double ttft, double tpot, int64_t input, int64_t output)
{
    struct jm_request q;
    struct jm_token_event ev[2000];
    size_t n = 0;
    jm_request_init(&q);
    q.id = ++s->next_request;
    q.end = JM_END_OK;
    q.http_status = 200;
    q.prompt_tokens = input;
    q.output_tokens = output;
    q.token_source = JM_TOK_USAGE;
    q.stream = 1;
    q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = NS(at);
    q.t[JM_T_FIRST_TOKEN] = q.t[JM_T_FIRST_VISIBLE] = NS(at + ttft);
    q.t[JM_T_LAST_TOKEN] = NS(at + ttft + tpot * (double)(output - 1));
    q.t[JM_T_CLOSED] = q.t[JM_T_LAST_TOKEN] + 1000;
    for (int64_t k = 0; k < output && n < 2000; k += 100, n++)
        ev[n] = (struct jm_token_event){NS(at + ttft + tpot * (double)k),
                                        (uint16_t)(output - k < 100 ? output - k : 100), JM_TE_COUNT_KNOWN};
    MUST(jm_run_put_request(s->w, &q, ev, n, err));
}

void syn_failed(struct syn *s, double at, double seconds, enum jm_end end)
{
    struct jm_request q;
    jm_request_init(&q);
    q.id = ++s->next_request;
    q.end = end;
    q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = NS(at);
    q.t[JM_T_CLOSED] = NS(at + seconds);
    MUST(jm_run_put_request(s->w, &q, NULL, 0, err));
}

void syn_env(struct syn *s, const char *key, const char *value)
{
    MUST(jm_run_put_env(s->w, key, value, err));
}

void syn_report(struct syn *s, const struct jm_compute_opts *o)
{
    struct jm_compute_opts d;
    jm_compute_defaults(&d);
    MUST(jm_run_seal(s->w, err));
    s->w = NULL;
    MUST(jm_run_open(s->path, &s->run, err));
    MUST(jm_compute(s->run, o ? o : &d, &s->r, err));
    MUST(jm_audit(s->run, s->r, err));
}

void syn_end(struct syn *s)
{
    jm_report_free(s->r);
    jm_run_close(s->run);
    jm_domain_tree_release(&s->tree);
    unlink(s->path);
}

double syn_value(const struct syn *s, const char *metric, enum jm_boundary b, int window)
{
    const struct jm_result *x = jm_report_find(s->r, metric, b, window);
    if (!x || !x->q.have)
        fail_msg("%s has no value (%s)", metric, x && x->q.reasons ? x->q.reasons : "absent");
    return x->q.value;
}

const struct jm_finding *syn_finding(const struct syn *s, const char *id)
{
    for (size_t i = 0; i < s->r->n_findings; i++)
        if (strcmp(s->r->findings[i].id, id) == 0)
            return &s->r->findings[i];
    return NULL;
}

int syn_findings(const struct syn *s, const char *id)
{
    int n = 0;
    for (size_t i = 0; i < s->r->n_findings; i++)
        n += strcmp(s->r->findings[i].id, id) == 0;
    return n;
}
