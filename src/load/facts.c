/* SPDX-License-Identifier: Apache-2.0 */
/* What the run file keeps about the load: how it was made, how well the client kept up, and whether what was
 * asked came. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "load/worker.h"

#include "base/banned.h"

/* A client is the bottleneck when requests of an open loop leave late by more than this share of the median
 * gap between tokens, when a load thread uses this share of its core (measured: reading stays in time up to
 * about 80 %), or when one read in a hundred is so late that the next event of its stream could be in it. */
#define LATE_SHARE 0.05
#define BUSY_SHARE 0.80

struct out {
    void (*put)(void *, const char *, const char *);
    void *self;
};

__attribute__((format(printf, 3, 4))) static void fact(const struct out *o, const char *key, const char *fmt,
                                                       ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    o->put(o->self, key, text);
}

static void number(const struct out *o, const char *key, double v)
{
    if (!isnan(v))
        fact(o, key, "%.6g", v);
}

static void plan(const struct out *o, const struct jm_load *l)
{
    const struct jm_load_cfg *c = &l->cfg;
    fact(o, "load.url", "http%s://%s%s", l->client.target.tls ? "s" : "", l->client.target.authority,
         l->client.target.prefix);
    fact(o, "load.api", "%s", l->reader.row->name);
    fact(o, "load.api.chosen", "%s", l->chosen ? "by what is there" : "by option");
    fact(o, "load.token_counts", "%s",
         c->whole                            ? "usage: the answers do not stream"
         : c->counts == JM_COUNTS_IDS        ? "ids"
         : c->counts == JM_COUNTS_CONTINUOUS ? "continuous"
         : c->counts == JM_COUNTS_TIMINGS    ? "continuous: llama.cpp's timings_per_token"
                                             : "usage");
    fact(o, "load.model", "%s", l->model);
    const struct jm_slice *one = &l->plan->slice[0];
    if (l->plan->slices > 1)
        fact(o, "load.shape", "%zu slices", l->plan->slices);
    else
        fact(o, "load.shape", "%s", jm_arrive_name(one->arrive));
    if (l->plan->slices == 1 && one->users > 0)
        fact(o, "load.concurrency", "%d", one->users);
    if (l->open_most > 0)
        fact(o, "load.in_flight_limit", "%lld", (long long)l->open_most);
    if (l->plan->slices == 1 && one->rate > 0)
        fact(o, "load.rate", "%.17g", one->rate);
    fact(o, "load.seed", "%llu", (unsigned long long)c->seed);
    fact(o, "load.threads", "%d", l->workers);
    fact(o, "load.synthetic", "%s", l->prompts.synthetic ? "yes" : "no");
    fact(o, "load.prompts.sha256", "%s", l->prompts.sha256);
    size_t lines = l->plan->slices == 1 ? l->prompts.set[0].lines : 0;
    if (lines) {
        fact(o, "load.prompts.count", "%zu", lines);
        fact(o, "load.prompts.repeated", "%s", atomic_load(&l->started) > (int64_t)lines ? "yes" : "no");
    }
    if (l->prompts.synthetic) {
        if (l->plan->slices == 1 && one->isl.kind == JM_LEN_FIXED)
            fact(o, "load.isl", "%lld", (long long)one->isl.min);
        fact(o, "load.isl.mode", "%s", jm_isl_mode_name(l->prompts.mode));
        if (l->prompts.mode == JM_ISL_IDS)
            fact(o, "load.isl.ids", "%s",
                 l->prompts.ids_known ? "of words, by the server's tokenizer"
                                      : "small numbers: the server has no tokenizer");
        fact(o, "load.isl.checked", "%s", l->prompts.checked ? "yes" : "no");
        number(o, "load.isl.overhead", l->prompts.overhead);
        if (l->plan->slices == 1)
            fact(o, "load.prompts.shared", "%s", one->same_prompt ? "yes" : "no");
    }
    if (l->plan->slices == 1 && one->osl.kind == JM_LEN_FIXED)
        fact(o, "load.osl", "%lld", (long long)one->osl.min);
    fact(o, "load.ignore_eos", "%s", c->ignore_eos ? "yes" : "no");
    if (c->ignore_eos)
        fact(o, "load.osl.by", "%s", l->reader.d->exact ? l->reader.d->exact : "nothing: this API cannot");
    if (isfinite(c->temperature))
        fact(o, "load.temperature", "%.17g", c->temperature);
    if (c->extra_json)
        fact(o, "load.extra", "%.500s", c->extra_json);
    if (l->client.tls) {
        fact(o, "load.tls", "%s", l->client.tls->version());
        fact(o, "load.tls.verified", "%s", c->insecure ? "no" : "yes");
    }
}

/* How the answers came, where libcurl spoke HTTP. */
static void answers(const struct out *o, const struct jm_load *l)
{
    int64_t h1 = 0, h2 = 0, h3 = 0, connections = 0, compressed = 0;
    const char *coding = "";
    for (int i = 0; l->worker && i < l->workers; i++) {
        const struct jm_link_answers *a = &l->worker[i]->env.answers;
        h1 += atomic_load(&a->http1);
        h2 += atomic_load(&a->http2);
        h3 += atomic_load(&a->http3);
        connections += atomic_load(&a->connections);
        if (atomic_load(&a->compressed) > 0) {
            compressed += atomic_load(&a->compressed);
            coding = a->coding;
        }
    }
    fact(o, "load.curl", "%s", l->client.curl->version());
    if (h1 + h2 + h3 > 0)
        fact(o, "load.http", "%s", h1 + h2 == 0 ? "3" : h1 + h3 == 0 ? "2" : h2 + h3 == 0 ? "1.1" : "mixed");
    fact(o, "load.connections", "%lld", (long long)connections);
    fact(o, "load.proxy", "%s", l->client.setup.proxy ? l->client.proxy_host : "none");
    if (compressed > 0)
        fact(o, "load.compression", "%s, %lld answers", coding, (long long)compressed);
    else
        fact(o, "load.compression", "none");
    if (l->client.target.tls)
        fact(o, "load.tls.verified", "%s", l->cfg.insecure ? "no" : "yes");
}

static void slice_fact(const struct out *o, const struct jm_load *l, size_t i, const char *key,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* load.KEY of the only slice, load.slice.NAME.KEY of one of several. */
static void slice_fact(const struct out *o, const struct jm_load *l, size_t i, const char *key,
                       const char *fmt, ...)
{
    char name[96], text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (l->plan->slices > 1)
        snprintf(name, sizeof name, "load.slice.%s.%s", l->plan->slice[i].name, key);
    else
        snprintf(name, sizeof name, "load.%s", key);
    o->put(o->self, name, text);
}

static void trace(const struct out *o, const struct jm_load *l, size_t i)
{
    const struct jm_slice *s = &l->plan->slice[i];
    const struct jm_trace_facts *f = l->trace[i] ? jm_trace_facts(l->trace[i]) : NULL;
    static const char *const oversize[] = {"refused", "clipped", "left out"};
    if (!f)
        return;
    const char *slash = strrchr(s->trace, '/');
    slice_fact(o, l, i, "trace", "%.200s", slash ? slash + 1 : s->trace);
    slice_fact(o, l, i, "trace.format", "%s", f->format);
    slice_fact(o, l, i, "trace.sha256", "%s", f->sha256);
    slice_fact(o, l, i, "trace.requests", "%lld", (long long)f->rows);
    if (s->arrive == JM_ARRIVE_TRACE) {
        slice_fact(o, l, i, "trace.time_scale", "%.17g", s->time_scale);
        slice_fact(o, l, i, "trace.span_s", "%.17g", (double)f->span / 1e9);
    } else {
        slice_fact(o, l, i, "trace.times", "%s",
                   f->span < 0 ? "the file has none" : "not used: lengths alone");
    }
    if (s->trace_from)
        slice_fact(o, l, i, "trace.from_s", "%.17g", (double)s->trace_from / 1e9);
    if (f->failed)
        slice_fact(o, l, i, "trace.failed", "%lld without an answer in the original: left out",
                   (long long)f->failed);
    if (f->oversize)
        slice_fact(o, l, i, "trace.oversize", "%lld %s", (long long)f->oversize, oversize[s->oversize]);
    if (f->reordered)
        slice_fact(o, l, i, "trace.reordered", "%lld", (long long)f->reordered);
    if (f->images)
        slice_fact(o, l, i, "trace.images", "%lld requests had images, which are not sent",
                   (long long)f->images);
    slice_fact(o, l, i, "trace.prompts", "%s",
               f->texts    ? "of the file"
               : f->blocks ? "synthetic, equal where the trace's block ids are"
                           : "synthetic");
    if (f->texts && s->osl.kind == JM_LEN_NONE)
        slice_fact(o, l, i, "trace.osl", "estimated: bytes of the original answer / 4");
}

/* What was planned of each slice, and what became of it. */
static void slices(const struct out *o, const struct jm_load *l)
{
    for (size_t i = 0; i < l->plan->slices; i++) {
        struct jm_begun all = {0};
        for (int w = 0; w < l->workers; w++) {
            const struct jm_begun *b = &l->worker[w]->begun[i];
            if (!b->n)
                continue;
            all.due0 = all.n && all.due0 < b->due0 ? all.due0 : b->due0;
            all.at0 = all.n && all.at0 < b->at0 ? all.at0 : b->at0;
            all.due1 = all.due1 > b->due1 ? all.due1 : b->due1;
            all.at1 = all.at1 > b->at1 ? all.at1 : b->at1;
            all.n += b->n;
        }
        char words[96];
        jm_slice_words(&l->plan->slice[i], words, sizeof words);
        if (l->plan->slices > 1)
            slice_fact(o, l, i, "shape", "%s", words);
        slice_fact(o, l, i, "begun", "%lld", (long long)all.n);
        if (all.n > 1 && jm_slice_open(&l->plan->slice[i]) && all.due1 > all.due0)
            slice_fact(o, l, i, "rate.scheduled", "%.6g",
                       (double)(all.n - 1) * 1e9 / (double)(all.due1 - all.due0));
        if (all.n > 1 && all.at1 > all.at0)
            slice_fact(o, l, i, "rate.realised", "%.6g",
                       (double)(all.n - 1) * 1e9 / (double)(all.at1 - all.at0));
        trace(o, l, i);
    }
    if (atomic_load(&l->cancelled) > 0)
        fact(o, "load.cancelled", "%lld by the plan", (long long)atomic_load(&l->cancelled));
    if (atomic_load(&l->talks_cut) > 0)
        fact(o, "load.sessions.cut", "%lld", (long long)atomic_load(&l->talks_cut));
}

static void lengths(const struct out *o, const struct jm_load *l)
{
    int64_t right = atomic_load(&l->osl_right), wrong = atomic_load(&l->osl_wrong);
    if (right + wrong > 0)
        fact(o, "load.osl.kept", "%lld of %lld", (long long)right, (long long)(right + wrong));
    right = atomic_load(&l->isl_right);
    wrong = atomic_load(&l->isl_wrong);
    if (right + wrong > 0)
        fact(o, "load.isl.kept", "%lld of %lld", (long long)right, (long long)(right + wrong));
    if (atomic_load(&l->isl_cut) > 0)
        fact(o, "load.isl.cut", "%lld", (long long)atomic_load(&l->isl_cut));
    if (atomic_load(&l->bundled) > 0)
        fact(o, "load.bundled", "%lld", (long long)atomic_load(&l->bundled));
    if (atomic_load(&l->loads) > 0) {
        fact(o, "load.model_loads", "%lld", (long long)atomic_load(&l->loads));
        fact(o, "load.model_loads.max_ms", "%.0f", (double)atomic_load(&l->load_most_ns) / 1e6);
    }
}

/* Whether the client shaped the result, and by what. */
struct verdict {
    char why[400];
    bool limited;
};

__attribute__((format(printf, 2, 3))) static void blame(struct verdict *v, const char *fmt, ...)
{
    size_t n = strlen(v->why);
    va_list ap;
    if (n)
        n += (size_t)snprintf(v->why + n, sizeof v->why - n, "; ");
    va_start(ap, fmt);
    vsnprintf(v->why + n, sizeof v->why - n, fmt, ap);
    va_end(ap);
    v->limited = true;
}

struct sums {
    uint64_t lag[JM_HIST_BINS], gap[JM_HIST_BINS], behind[JM_HIST_BINS], loop[JM_HIST_BINS],
        rtt[JM_HIST_BINS];
    int64_t kernel, user, stepped, held, read_most, rcvbuf;
    double cpu_s, cpu, busiest; /* cpu: cores; busiest: of one thread */
};

static void sum(const struct jm_load *l, struct sums *x)
{
    int64_t now = jm_clock_mono(&l->clock);
    double s = l->begun ? (double)(now - l->t0) / 1e9 : 0;
    for (int i = 0; i < l->workers; i++) {
        struct jm_worker *w = l->worker[i];
        jm_hist_sum(&w->lag_all, x->lag);
        jm_hist_sum(&w->gap, x->gap);
        jm_hist_sum(&w->env.behind, x->behind);
        jm_hist_sum(&w->env.rtt, x->rtt);
        jm_hist_sum(&w->loop_lag, x->loop);
        x->kernel += atomic_load(&w->kernel);
        x->user += atomic_load(&w->user);
        x->stepped += atomic_load(&w->stepped);
        x->held += atomic_load(&w->held);
        int64_t most = atomic_load(&w->read_most), buf = atomic_load(&w->rcvbuf);
        x->read_most = most > x->read_most ? most : x->read_most;
        x->rcvbuf = buf > x->rcvbuf ? buf : x->rcvbuf;
        double used = (double)atomic_load(&w->cpu_ns) / 1e9, share = s > 0 ? used / s : 0;
        x->cpu_s += used;
        x->cpu += share;
        x->busiest = share > x->busiest ? share : x->busiest;
    }
}

static double ms(const uint64_t h[JM_HIST_BINS], double q)
{
    return jm_hist_quantile(h, q) / 1000;
}

static void judge(const struct out *o, const struct jm_load *l, const struct sums *x)
{
    struct verdict v = {0};
    double late = ms(x->lag, 0.99), itl = ms(x->gap, 0.5), read = ms(x->behind, 0.99);
    if (isnan(late)) {
        fact(o, "load.client", "unknown: nothing was sent");
        return;
    }
    if (x->busiest > BUSY_SHARE)
        blame(&v, "a load thread used %.0f %% of its core", 100 * x->busiest);
    if (l->open_most > 0 && late > LATE_SHARE * itl)
        blame(&v,
              "requests were sent %.3g ms after their time (p99), more than %.0f %% of the %.3g ms between "
              "tokens",
              late, 100 * LATE_SHARE, itl);
    if (x->kernel > 0 && read > itl)
        blame(
            &v,
            "answers were read %.3g ms after they came (p99), with %.3g ms from one token event to the next",
            read, itl);
    fact(o, "load.client", "%s", v.limited ? "client-limited" : "ok");
    if (v.limited)
        fact(o, "load.client.why", "%s", v.why);
}

static void client(const struct out *o, const struct jm_load *l)
{
    struct sums x = {0};
    sum(l, &x);
    int64_t events = atomic_load(&l->events), reads = x.kernel + x.user;
    fact(o, "load.transport", "%s", l->transport->name);
    fact(o, "load.stamps", "%s",
         x.user == 0 && x.kernel > 0 ? "kernel"
         : x.kernel == 0             ? "user"
         : x.user * 100 < x.kernel   ? "kernel, few user"
                                     : "mixed");
    fact(o, "load.stamps.kernel", "%lld", (long long)x.kernel);
    fact(o, "load.stamps.user", "%lld", (long long)x.user);
    fact(o, "load.stamps.refused", "%lld", (long long)x.stepped);
    fact(o, "load.stamps.held", "%lld", (long long)x.held);
    number(o, "load.lag.p99_ms", ms(x.lag, 0.99));
    number(o, "load.loop_lag.p50_ms", ms(x.loop, 0.5));
    number(o, "load.loop_lag.p99_ms", ms(x.loop, 0.99));
    number(o, "load.read_lag.p50_ms", ms(x.behind, 0.5));
    number(o, "load.read_lag.p99_ms", ms(x.behind, 0.99));
    number(o, "load.itl.p50_ms", ms(x.gap, 0.5));
    number(o, "load.rtt.p50_ms", ms(x.rtt, 0.5));
    number(o, "load.rtt.p99_ms", ms(x.rtt, 0.99));
    if (x.rcvbuf > 0)
        fact(o, "load.rcvbuf_bytes", "%lld", (long long)x.rcvbuf);
    if (x.read_most > 0)
        fact(o, "load.read.max_bytes", "%lld of %zu", (long long)x.read_most, l->worker[0]->env.buf_n);
    number(o, "load.cpu", x.cpu);
    number(o, "load.cpu_s", x.cpu_s);
    fact(o, "load.events", "%lld", (long long)events);
    fact(o, "load.events.shared", "%lld", (long long)atomic_load(&l->shared));
    if (reads > 0)
        number(o, "load.events_per_read", (double)events / (double)reads);
    fact(o, "load.resent", "%lld", (long long)atomic_load(&l->resent));
    fact(o, "load.renewed", "%lld", (long long)atomic_load(&l->renewed));
    fact(o, "load.unsent", "%lld", (long long)atomic_load(&l->unsent));
    if (atomic_load(&l->unsent_bare) > 0)
        fact(o, "load.unsent.bare", "%lld", (long long)atomic_load(&l->unsent_bare));
    judge(o, l, &x);
}

void jm_load_facts(const struct jm_load *l, void (*put)(void *self, const char *key, const char *value),
                   void *self)
{
    struct out o = {put, self};
    plan(&o, l);
    slices(&o, l);
    if (l->client.curl)
        answers(&o, l);
    lengths(&o, l);
    client(&o, l);
}
