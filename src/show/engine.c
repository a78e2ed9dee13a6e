/* SPDX-License-Identifier: Apache-2.0 */
#include "show/engine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "show/formats.h"
#include "show/svg.h"

#include "base/banned.h"

const char *const jm_engine_latency[JM_ENGINE_LATENCIES] = {"engine.ttft", "engine.itl", "engine.e2e",
                                                            "engine.queue"};

static const struct jm_result *find(const struct jm_report *r, const char *metric)
{
    const struct jm_result *x = jm_fmt_find(r, metric, JM_B_NONE, NAN);
    return x && x->q.have ? x : NULL;
}

static double value(const struct jm_report *r, const char *metric)
{
    const struct jm_result *x = find(r, metric);
    return x ? x->q.value : NAN;
}

static const char *count(char buf[JM_FMT], double v)
{
    return fabs(v) < 1e15 ? jm_fmt_count(buf, llround(v)) : jm_fmt_number(buf, v);
}

static const char *percent(char buf[JM_FMT], double v)
{
    snprintf(buf, JM_FMT, "%.3g %%", 100 * v);
    return buf;
}

/* A mean of counts: one digit is enough for a queue. */
static const char *few(char buf[JM_FMT], double v)
{
    snprintf(buf, JM_FMT, v < 9.95 && fabs(v - round(v)) > 0.04 ? "%.1f" : "%.0f", v);
    return buf;
}

struct list {
    struct jm_engine_fact *v;
    size_t n;
};

static void add(struct list *l, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void add(struct list *l, const char *label, const char *fmt, ...)
{
    va_list ap;
    if (l->n == JM_ENGINE_FACTS)
        return;
    struct jm_engine_fact *f = &l->v[l->n++];
    f->label = label;
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
}

static bool per_step(const struct jm_report *r)
{
    for (size_t i = 0; i < r->n_engine_windows; i++)
        if (r->engine_windows[i].per_step)
            return true;
    return false;
}

static void tokens(const struct jm_report *r, struct list *l)
{
    char a[JM_FMT], b[JM_FMT], c[JM_FMT];
    const struct jm_result *x = find(r, "engine.client_ratio");
    double made = value(r, "engine.generated_tokens"), rate = value(r, "engine.tokens_per_s"),
           lost = value(r, "engine.aborted_tokens"), prompt = value(r, "engine.prompt_tokens"),
           cached = value(r, "engine.cached_tokens");
    if (isfinite(made))
        add(l, "generated", "%s tokens, %s/s, counted %s", count(a, made), jm_fmt_number(b, rate),
            per_step(r) ? "as they are made" : "when a request ends");
    if (x && isfinite(x->denominator))
        add(l, "against the client", "%.3f × the %s tokens of successful requests", x->q.value,
            count(a, x->denominator));
    else if (x)
        add(l, "against the client", "%.3f × the tokens of successful requests", x->q.value);
    if (isfinite(lost))
        add(l, "aborted or lost", "%s tokens that reached no successful request", count(a, lost));
    if (isfinite(prompt)) {
        bool inside = true;
        for (size_t i = 0; i < r->n_engine; i++)
            inside &= r->engine[i].host || r->engine[i].prompt_has_cached;
        add(l, "prompt", "%s tokens%s%s%s", count(a, prompt),
            isfinite(cached) ? (inside ? ", of them " : ", beside ") : "",
            isfinite(cached) ? count(b, cached) : "", isfinite(cached) ? " from a cache" : "");
    } else if (isfinite(cached)) {
        add(l, "prompt", "%s tokens from a cache", count(c, cached));
    }
}

static void work(const struct jm_report *r, struct list *l)
{
    char a[JM_FMT], b[JM_FMT], c[JM_FMT];
    double n = value(r, "engine.requests"), aborted = value(r, "engine.requests_aborted"),
           failed = value(r, "engine.requests_failed"), prefill = value(r, "engine.prefill_s"),
           decode = value(r, "engine.decode_s"), queue = value(r, "engine.queue_s"),
           steps = value(r, "engine.steps"), each = value(r, "engine.tokens_per_step"), v;
    static const char *const gauges[][3] = {
        {"running", "engine.requests_running", "engine.requests_running.max"},
        {"waiting", "engine.queue_depth", "engine.queue_depth.max"}};
    if (isfinite(n))
        add(l, "requests ended", "%s%s%s%s%s%s%s", count(a, n), isfinite(aborted) ? ", " : "",
            isfinite(aborted) ? count(b, aborted) : "", isfinite(aborted) ? " aborted" : "",
            isfinite(failed) ? ", " : "", isfinite(failed) ? count(c, failed) : "",
            isfinite(failed) ? " failed" : "");
    for (size_t i = 0; i < 2; i++) {
        double mean = value(r, gauges[i][1]), most = value(r, gauges[i][2]);
        if (isfinite(mean))
            add(l, gauges[i][0], "%s on average, %s at most", few(a, mean),
                few(b, isfinite(most) ? most : mean));
    }
    if (isfinite(v = value(r, "engine.kv_cache_use"))) {
        double most = value(r, "engine.kv_cache_use.max");
        add(l, "KV cache", "%s full on average, %s at most", percent(a, v),
            percent(b, isfinite(most) ? most : v));
    }
    if (isfinite(v = value(r, "engine.prefix_cache_hit_rate")))
        add(l, "prefix cache", "%s of the tokens that were looked for", percent(a, v));
    if (isfinite(v = value(r, "engine.preemptions")))
        add(l, "preemptions", "%s", count(a, v));
    if (isfinite(v = value(r, "engine.spec_acceptance")))
        add(l, "speculation", "%s of the drafted tokens accepted", percent(a, v));
    if (isfinite(prefill) || isfinite(decode))
        add(l, "added up", "%s prefill, %s decode, %s queue over all requests",
            isfinite(prefill) ? jm_fmt_value(a, prefill, "s") : "–",
            isfinite(decode) ? jm_fmt_value(b, decode, "s") : "–",
            isfinite(queue) ? jm_fmt_value(c, queue, "s") : "–");
    if (isfinite(steps))
        add(l, "steps", "%s%s%s%s", count(a, steps), isfinite(each) ? ", " : "",
            isfinite(each) ? jm_fmt_number(b, each) : "", isfinite(each) ? " tokens each" : "");
    if (isfinite(v = value(r, "engine.energy")))
        add(l, "its own energy", "%s as the engine reads its GPUs", jm_fmt_value(a, v, "J"));
    if (isfinite(v = value(r, "engine.host_cpu"))) {
        double process = value(r, "engine.process_cpu");
        if (isfinite(process))
            add(l, "host CPU", "%s busy, the endpoint's busiest process %.2f cores", percent(a, v), process);
        else
            add(l, "host CPU", "%s busy", percent(a, v));
    }
}

size_t jm_engine_facts(const struct jm_report *r, struct jm_engine_fact *out)
{
    struct list l = {out, 0};
    tokens(r, &l);
    work(r, &l);
    return l.n;
}

const char *jm_engine_within(char buf[JM_FMT], const struct jm_result *x)
{
    char a[JM_FMT], b[JM_FMT];
    if (!x)
        snprintf(buf, JM_FMT, "–");
    else if (!x->q.have || !x->q.u.method)
        snprintf(buf, JM_FMT, "%s", x->q.have ? jm_fmt_value(a, x->q.value, "s") : "over the last");
    else {
        jm_fmt_tick(a, x->q.u.lo, "s");
        jm_fmt_tick(b, x->q.u.hi, "s");
        char *lo = strchr(a, ' '), *hi = strchr(b, ' ');
        if (lo && hi && strcmp(lo, hi) == 0)
            *lo = '\0'; /* "123.5 – 234.6 ms" */
        snprintf(buf, JM_FMT, "%.20s – %.20s", a, b);
    }
    return buf;
}

/* Sources that are engines; the first words of each for people. */
static bool source_line(const struct jm_engine_source *e, char *line, size_t n)
{
    if (e->host)
        return false;
    if (e->scrapes)
        snprintf(line, n, "%s at %s, %lld texts%s", e->title ? e->title : "an engine that is not known",
                 e->url, (long long)e->scrapes, e->silent ? ", with gaps" : "");
    else
        snprintf(line, n, "no metrics from %s: %s", e->url && e->url[0] ? e->url : "the endpoint",
                 e->reason ? e->reason : "it did not answer");
    return true;
}

static bool any_engine(const struct jm_report *r)
{
    for (size_t i = 0; i < r->n_engine; i++)
        if (!r->engine[i].host)
            return true;
    return false;
}

/* A number is never cut: one that is wider than its column takes from the blanks of the next. */
static void number_cell(struct jm_out *o, const char *text, int width, int *over)
{
    int c = jm_out_columns(text, strlen(text)), room = width - *over;
    room = room > c + 1 ? room : c + 1;
    *over += room - width;
    jm_out_cell(o, text, room, true);
}

void jm_show_engine_text(struct jm_out *o)
{
    struct jm_engine_fact f[JM_ENGINE_FACTS];
    const struct jm_report *r = o->r;
    size_t n = jm_engine_facts(r, f), shown = 0;
    static const double q[] = {0.5, 0.9, 0.99};
    char line[1200], v[JM_FMT];
    bool titled = false;
    if (!any_engine(r))
        return;
    /* of several windows it is the first one's: said, as with latencies */
    const struct jm_result *of = jm_fmt_many_windows(r) ? find(r, "engine.generated_tokens") : NULL;
    snprintf(line, sizeof line, "The engine, by its own metrics%s%.60s", of && of->window >= 0 ? ": " : "",
             of && of->window >= 0 ? r->windows[of->window].name : "");
    jm_out_section(o, line);
    for (size_t i = 0; i < r->n_engine && shown < 8; i++) {
        if (!source_line(&r->engine[i], line, sizeof line))
            continue;
        shown++;
        jm_str_adds(o->s, "  ");
        jm_out_style(o, JM_OUT_DIM);
        jm_out_wrap(o, line, 4, 2);
        jm_out_style(o, JM_OUT_PLAIN);
    }
    for (size_t i = 0; i < n; i++) {
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, f[i].label, 20, false);
        jm_out_wrap(o, f[i].text, 22, 22);
    }
    for (size_t i = 0; i < JM_ENGINE_LATENCIES; i++) {
        const struct jm_result *any = jm_fmt_find(r, jm_engine_latency[i], JM_B_NONE, 0.5);
        if (!any)
            continue;
        if (!titled) {
            jm_str_adds(o->s, "  ");
            jm_out_cell(o, "", 14, false);
            for (size_t k = 0; k < 3; k++)
                jm_out_cell(o, k == 0 ? "p50 within" : k == 1 ? "p90 within" : "p99 within", 17, true);
            jm_out_cell(o, "mean", 12, true);
            jm_str_addc(o->s, '\n');
        }
        titled = true;
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, jm_engine_latency[i], 14, false);
        int over = 0;
        for (size_t k = 0; k < 3; k++)
            number_cell(o, jm_engine_within(v, jm_fmt_find(r, jm_engine_latency[i], JM_B_NONE, q[k])), 17,
                        &over);
        double mean = value(r, jm_engine_latency[i]);
        number_cell(o, isfinite(mean) ? jm_fmt_value(v, mean, "s") : "–", 12, &over);
        jm_str_addc(o->s, '\n');
    }
}

void jm_show_engine_markdown(const struct jm_report *r, struct jm_str *s)
{
    struct jm_engine_fact f[JM_ENGINE_FACTS];
    size_t n = jm_engine_facts(r, f);
    char line[1200];
    if (!any_engine(r))
        return;
    jm_str_adds(s, "\n## Engine\n\n");
    for (size_t i = 0; i < r->n_engine; i++)
        if (source_line(&r->engine[i], line, sizeof line)) {
            jm_markdown_escape(s, line);
            jm_str_adds(s, "\n\n");
        }
    if (n)
        jm_str_adds(s, "| engine | |\n|---|---|\n");
    for (size_t i = 0; i < n; i++)
        jm_str_addf(s, "| %s | %s |\n", f[i].label, f[i].text);
}

void jm_show_engine_html(const struct jm_report *r, struct jm_str *s)
{
    struct jm_engine_fact f[JM_ENGINE_FACTS];
    size_t n = jm_engine_facts(r, f);
    static const double q[] = {0.5, 0.9, 0.99};
    char line[1200], v[JM_FMT];
    bool titled = false;
    if (!any_engine(r))
        return;
    jm_str_adds(s, "<section id='engine'><h2>Engine, by its own metrics</h2>");
    for (size_t i = 0; i < r->n_engine; i++)
        if (source_line(&r->engine[i], line, sizeof line)) {
            jm_str_adds(s, "<p class='dim'>");
            jm_svg_escape(s, line);
            jm_str_adds(s, "</p>");
        }
    jm_svg_engine(r, s);
    if (n)
        jm_str_adds(s, "<table><tbody>");
    for (size_t i = 0; i < n; i++)
        jm_str_addf(s, "<tr><th scope='row'>%s</th><td>%s</td></tr>", f[i].label, f[i].text);
    if (n)
        jm_str_adds(s, "</tbody></table>");
    for (size_t i = 0; i < JM_ENGINE_LATENCIES; i++) {
        const struct jm_result *any = jm_fmt_find(r, jm_engine_latency[i], JM_B_NONE, 0.5);
        if (!any)
            continue;
        if (!titled)
            jm_str_adds(s,
                        "<div class='scroll'><table><thead><tr><th scope='col'>inside the engine</th>"
                        "<th scope='col' class='n'>p50 within</th><th scope='col' class='n'>p90 within</th>"
                        "<th scope='col' class='n'>p99 within</th><th scope='col' class='n'>mean</th>"
                        "<th scope='col' class='n'>n</th></tr></thead><tbody>");
        titled = true;
        jm_str_addf(s, "<tr><td>%s</td>", jm_engine_latency[i]);
        for (size_t k = 0; k < 3; k++)
            jm_str_addf(s, "<td class='n'>%s</td>",
                        jm_engine_within(v, jm_fmt_find(r, jm_engine_latency[i], JM_B_NONE, q[k])));
        double mean = value(r, jm_engine_latency[i]);
        jm_str_addf(s, "<td class='n'>%s</td>", isfinite(mean) ? jm_fmt_value(v, mean, "s") : "–");
        jm_str_addf(s, "<td class='n'>%s</td></tr>", any->n >= 0 ? jm_fmt_count(v, any->n) : "–");
    }
    if (titled)
        jm_str_adds(
            s, "</tbody></table></div><p class='dim'>An engine's histogram tells in which of its buckets a "
               "percentile lies, and no more.</p>");
    jm_str_adds(s, "</section>");
}

static void num(struct jm_jsonw *w, const char *key, double v)
{
    if (isfinite(v))
        jm_jsonw_knum(w, key, v);
}

void jm_show_engine_json(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->engine_mode && !r->n_engine)
        return;
    jm_jsonw_key(w, "engine");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "mode", r->engine_mode);
    jm_jsonw_key(w, "sources");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_engine; i++) {
        const struct jm_engine_source *e = &r->engine[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "url", e->url);
        jm_jsonw_kstr(w, "dialect", e->dialect);
        jm_jsonw_kbool(w, "host", e->host);
        jm_jsonw_ki64(w, "texts", e->scrapes);
        jm_jsonw_ki64(w, "silent", e->silent);
        if (!e->host)
            jm_jsonw_kbool(w, "per_step", e->per_step);
        num(w, "longest_gap_s", e->longest_s);
        if (e->reason)
            jm_jsonw_kstr(w, "reason", e->reason);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "windows");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_engine_windows; i++) {
        const struct jm_engine_window *e = &r->engine_windows[i];
        if (!e->have)
            continue;
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "window", r->windows[e->window].name);
        jm_jsonw_ki64(w, "index", e->window);
        jm_jsonw_ki64(w, "of", e->of);
        jm_jsonw_ki64(w, "have", e->have);
        jm_jsonw_kbool(w, "per_step", e->per_step);
        num(w, "tokens", e->tokens);
        num(w, "tokens_lo", e->tokens_lo);
        num(w, "tokens_hi", e->tokens_hi);
        num(w, "client_tokens", e->client);
        num(w, "client_tokens_doubt", e->client_u);
        num(w, "client_tokens_unsuccessful", e->client_other);
        num(w, "prompt_tokens", e->prompt);
        num(w, "client_prompt_tokens", e->client_prompt);
        num(w, "cached_tokens", e->cached);
        num(w, "requests", e->requests);
        num(w, "client_requests", e->client_requests);
        num(w, "requests_aborted", e->aborted);
        num(w, "requests_failed", e->failed);
        num(w, "preemptions", e->preempted);
        num(w, "tokens_uncounted", e->lost);
        num(w, "running_max", e->running_max);
        num(w, "client_in_flight_max", e->in_flight_max);
        num(w, "foreign_requests", e->excess);
        num(w, "queue_min", e->queue_min);
        num(w, "kv_cache_use_max", e->kv_max);
        num(w, "host_cpu", e->cpu_host);
        num(w, "process_cpu", e->cpu_process);
        num(w, "gpu_busy", e->gpu_busy);
        jm_jsonw_ki64(w, "resets", e->resets);
        num(w, "longest_gap_s", e->gap_s);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}
