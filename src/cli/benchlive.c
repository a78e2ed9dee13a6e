/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/benchlive.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

#define EVERY  (JM_NS_PER_S / 2)
#define LONGER (5 * JM_NS_PER_S) /* a pause in the samples: what came before says nothing about now */

void jm_bench_live_init(struct jm_bench_live *v)
{
    *v = (struct jm_bench_live){.watts = NAN};
}

void jm_bench_live_add(struct jm_bench_live *v, int64_t now, const struct jm_load_live *l, double watts,
                       size_t meters)
{
    v->meters = meters;
    v->meters_most = meters > v->meters_most ? meters : v->meters_most;
    struct jm_live_sample *last = v->n ? &v->ring[v->at] : NULL;
    /* another load, which counts from 0 again */
    if (last && (l->finished < last->finished || now - v->seen > LONGER)) {
        v->n = 0;
        last = NULL;
    }
    if (!last) {
        v->joules = 0;
    } else {
        double dt = (double)(now - v->seen) / 1e9;
        v->joules += isnan(watts) ? NAN : (isnan(v->watts) ? watts : (watts + v->watts) / 2) * dt;
    }
    v->seen = now;
    v->watts = watts;
    if (last && now - last->t < EVERY)
        return;
    v->at = last ? (v->at + 1) % JM_LIVE_SAMPLES : 0;
    v->n = v->n < JM_LIVE_SAMPLES ? v->n + 1 : v->n;
    v->ring[v->at] =
        (struct jm_live_sample){now, v->joules, l->finished, l->failed, l->known, l->tokens, l->uncounted};
}

struct rates {
    double requests, tokens, events, watts, j_per_token; /* NAN: not known yet */
};

/* Number i of those that are there, the oldest first. */
static const struct jm_live_sample *sample(const struct jm_bench_live *v, size_t i)
{
    return &v->ring[(v->at + JM_LIVE_SAMPLES - (v->n - 1) + i) % JM_LIVE_SAMPLES];
}

static struct rates rates(const struct jm_bench_live *v)
{
    struct rates r = {NAN, NAN, NAN, NAN, NAN};
    if (v->n < 3)
        return r;
    const struct jm_live_sample *a = sample(v, 0), *b = sample(v, v->n - 1);
    double s = (double)(b->t - a->t) / 1e9, joules = b->joules - a->joules;
    if (!(s > 0.9))
        return r;
    r.requests = (double)(b->finished - a->finished - (b->failed - a->failed)) / s;
    r.events = (double)(b->events - a->events) / s;
    r.watts = joules / s;
    /* Only what the server counted is a token. Where it counts at the end of a request alone the counts come
     * in lumps: from one change to another they are not cut. */
    const struct jm_live_sample *from = NULL, *to = NULL;
    for (size_t i = 1; i < v->n; i++) {
        const struct jm_live_sample *was = sample(v, i - 1), *is = sample(v, i);
        if (is->known == was->known)
            continue;
        from = from ? from : is;
        to = is;
    }
    double span = from ? (double)(to->t - from->t) / 1e9 : 0;
    if (span > 0.9 && b->uncounted == a->uncounted) {
        r.tokens = (double)(to->known - from->known) / span;
        r.j_per_token = (to->joules - from->joules) / (double)(to->known - from->known);
    }
    return r;
}

struct part {
    int rank; /* the lowest leaves first */
    const char *color;
    char text[64];
};

/* 9.87, 98.7, 987, 9870 */
static const char *number(char buf[24], double v)
{
    int digits = v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    snprintf(buf, 24, "%.*f", digits, v);
    return buf;
}

static const char *power(char buf[32], double w)
{
    char n[24];
    if (w >= 1000)
        snprintf(buf, 32, "%s kW", number(n, w / 1000));
    else
        snprintf(buf, 32, "%.0f W", w);
    return buf;
}

/* Both in the unit of the larger one: 50/81 ms, 0.62/1.13 s. */
static void latency(char *buf, size_t cap, const struct jm_load_live *l)
{
    char a[24], b[24];
    bool seconds = l->ttft_p99_ms >= 1000;
    double f = seconds ? 1000 : 1;
    if (!seconds)
        snprintf(buf, cap, "TTFT %.0f/%.0fms", l->ttft_p50_ms, l->ttft_p99_ms);
    else
        snprintf(buf, cap, "TTFT %s/%ss", number(a, l->ttft_p50_ms / f), number(b, l->ttft_p99_ms / f));
}

static size_t parts(const struct jm_bench_live *v, const struct jm_load_live *l, const char *phase,
                    double left_s, struct part *p)
{
    static const char bold[] = "\033[1m", red[] = "\033[1;31m", none[] = "", cyan[] = "\033[36m";
    struct rates r = rates(v);
    char n[32];
    size_t k = 0;
    if (isfinite(left_s))
        snprintf(p[k].text, sizeof p[k].text, "%.40s %.0fs left", phase, ceil(left_s > 0 ? left_s : 0));
    else
        snprintf(p[k].text, sizeof p[k].text, "%.50s", phase);
    p[k].rank = 9;
    p[k++].color = bold;
    if (isfinite(r.j_per_token)) {
        snprintf(p[k].text, sizeof p[k].text, "~%s J/tok", number(n, r.j_per_token));
        p[k].rank = 7;
        p[k++].color = cyan;
    }
    if (isfinite(r.watts)) {
        snprintf(p[k].text, sizeof p[k].text, "%s", power(n, r.watts));
        p[k].rank = 6;
        p[k++].color = none;
    }
    if (isfinite(r.tokens) || isfinite(r.events)) {
        bool known = isfinite(r.tokens);
        snprintf(p[k].text, sizeof p[k].text, "%s %s", number(n, known ? r.tokens : r.events),
                 known ? "tok/s" : "events/s");
        p[k].rank = 5;
        p[k++].color = none;
    }
    if (isfinite(l->ttft_p50_ms)) {
        latency(p[k].text, sizeof p[k].text, l);
        p[k].rank = 4;
        p[k++].color = none;
    }
    if (isfinite(r.requests)) {
        snprintf(p[k].text, sizeof p[k].text, "%.*f req/s",
                 r.requests >= 99.95   ? 0
                 : r.requests >= 0.995 ? 1
                                       : 2,
                 r.requests);
        p[k].rank = 3;
        p[k++].color = none;
    }
    snprintf(p[k].text, sizeof p[k].text, "%lld run", (long long)l->in_flight);
    p[k].rank = 2;
    p[k++].color = none;
    if (v->meters < v->meters_most) {
        snprintf(p[k].text, sizeof p[k].text, "%zu of %zu meters", v->meters, v->meters_most);
        p[k].rank = 8;
        p[k++].color = red;
    }
    if (l->failed) {
        snprintf(p[k].text, sizeof p[k].text, "%lld failed", (long long)l->failed);
        p[k].rank = 8;
        p[k++].color = red;
    }
    return k;
}

static int width_of(const struct part *p, size_t n)
{
    int w = 0;
    for (size_t i = 0; i < n; i++)
        w += p[i].text[0] ? (int)strlen(p[i].text) + 2 : 0;
    return w ? w - 2 : 0;
}

void jm_bench_live_line(const struct jm_bench_live *v, const struct jm_load_live *l, const char *phase,
                        double left_s, int columns, bool color, struct jm_str *out)
{
    struct part p[12];
    size_t n = parts(v, l, phase, left_s, p);
    for (int rank = 2; rank < 9 && width_of(p, n) > columns; rank++)
        for (size_t i = 0; i < n; i++)
            if (p[i].rank == rank)
                p[i].text[0] = '\0';
    if (columns >= 0 && strlen(p[0].text) > (size_t)columns)
        p[0].text[columns] = '\0';
    for (size_t i = 0, any = 0; i < n; i++) {
        if (!p[i].text[0])
            continue;
        if (any++)
            jm_str_adds(out, "  ");
        bool styled = color && p[i].color[0];
        jm_str_addf(out, "%s%s%s", styled ? p[i].color : "", p[i].text, styled ? "\033[0m" : "");
    }
}

void jm_bench_live_log(const struct jm_bench_live *v, const struct jm_load_live *l, const char *phase,
                       double done_s, double of_s, struct jm_str *out)
{
    struct rates r = rates(v);
    char n[32];
    if (isfinite(of_s))
        jm_str_addf(out, "%s: %.0f of %.0f s", phase, done_s, of_s);
    else
        jm_str_addf(out, "%s: %.0f s", phase, done_s);
    if (isfinite(r.requests))
        jm_str_addf(out, ", %s requests/s", number(n, r.requests));
    if (isfinite(r.tokens))
        jm_str_addf(out, ", %s output tokens/s", number(n, r.tokens));
    else if (isfinite(r.events))
        jm_str_addf(out, ", %s events/s", number(n, r.events));
    jm_str_addf(out, ", %lld running", (long long)l->in_flight);
    if (isfinite(l->ttft_p50_ms))
        jm_str_addf(out, ", TTFT p50 %.4g ms p99 %.4g ms", l->ttft_p50_ms, l->ttft_p99_ms);
    if (isfinite(r.watts))
        jm_str_addf(out, ", %s", power(n, r.watts));
    if (isfinite(r.j_per_token))
        jm_str_addf(out, ", about %s J/token so far", number(n, r.j_per_token));
    if (v->meters < v->meters_most)
        jm_str_addf(out, ", %zu of %zu meters", v->meters, v->meters_most);
    if (l->failed)
        jm_str_addf(out, ", %lld failed", (long long)l->failed);
}
