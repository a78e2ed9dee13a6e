/* SPDX-License-Identifier: Apache-2.0 */
/* What the run file keeps about the load: how it was made, how well the client kept up, and whether what was
 * asked came. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

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

static void client(const struct out *o, const struct jm_load *l)
{
    uint64_t lag[JM_HIST_BINS] = {0}, gap[JM_HIST_BINS] = {0}, behind[JM_HIST_BINS] = {0};
    int64_t kernel = 0, user = 0, stepped = 0, now = jm_clock_mono(&l->clock);
    double cpu = 0, busiest = 0, s = l->begun ? (double)(now - l->t0) / 1e9 : 0;
    for (int i = 0; i < l->workers; i++) {
        struct jm_worker *w = l->worker[i];
        jm_hist_sum(&w->lag_all, lag);
        jm_hist_sum(&w->gap, gap);
        jm_hist_sum(&w->env.behind, behind);
        kernel += atomic_load(&w->kernel);
        user += atomic_load(&w->user);
        stepped += atomic_load(&w->stepped);
        double share = s > 0 ? (double)atomic_load(&w->cpu_ns) / 1e9 / s : 0;
        cpu += share;
        busiest = share > busiest ? share : busiest;
    }
    fact(o, "load.transport", "%s", l->transport->name);
    fact(o, "load.stamps", "%s",
         user == 0 && kernel > 0 ? "kernel"
         : kernel == 0           ? "user"
         : user * 100 < kernel   ? "kernel, few user"
                                 : "mixed");
    fact(o, "load.stamps.kernel", "%lld", (long long)kernel);
    fact(o, "load.stamps.user", "%lld", (long long)user);
    fact(o, "load.stamps.refused", "%lld", (long long)stepped);
    double late = jm_hist_quantile(lag, 0.99) / 1000, itl = jm_hist_quantile(gap, 0.5) / 1000;
    number(o, "load.lag.p99_ms", late);
    double read = jm_hist_quantile(behind, 0.99) / 1000;
    number(o, "load.read_lag.p99_ms", read);
    number(o, "load.itl.p50_ms", itl);
    number(o, "load.cpu", cpu);
    fact(o, "load.events", "%lld", (long long)atomic_load(&l->events));
    fact(o, "load.events.shared", "%lld", (long long)atomic_load(&l->shared));
    fact(o, "load.resent", "%lld", (long long)atomic_load(&l->resent));
    fact(o, "load.unsent", "%lld", (long long)atomic_load(&l->unsent));
    if (isnan(late)) {
        fact(o, "load.client", "unknown: nothing was sent");
    } else {
        bool slow =
            !isnan(itl) && ((late > LATE_SHARE * itl && l->open_most > 0) || (kernel > 0 && read > itl));
        fact(o, "load.client", "%s", slow || busiest > BUSY_SHARE ? "client-limited" : "ok");
    }
}

void jm_load_facts(const struct jm_load *l, void (*put)(void *self, const char *key, const char *value),
                   void *self)
{
    struct out o = {put, self};
    plan(&o, l);
    if (l->client.curl)
        answers(&o, l);
    lengths(&o, l);
    client(&o, l);
}
