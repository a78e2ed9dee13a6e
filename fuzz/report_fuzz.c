/* SPDX-License-Identifier: Apache-2.0 */
/* A run made of whatever the input says, through writer, compute, audit and every renderer: nothing crashes,
 * each output is well-formed, nothing that is not valid stands without a reason, and no boundary counts a
 * domain together with one that contains it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/json.h"
#include "compute/compute.h"
#include "run/run.h"
#include "show/explain.h"
#include "show/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define T0 INT64_C(1000000000000)

struct in {
    const uint8_t *p;
    size_t n;
};

static unsigned byte(struct in *s)
{
    if (!s->n)
        return 0;
    s->n--;
    return *s->p++;
}

/* Mostly times near each other, sometimes the ends of what fits. */
static int64_t when(struct in *s)
{
    static const int64_t odd[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX / 4, -INT64_MAX / 4, T0};
    unsigned a = byte(s);
    return a >= 0xf8 ? odd[a & 7] : T0 + (int64_t)a * 100000000 + (int64_t)byte(s) * 1000000;
}

static int64_t number(struct in *s)
{
    static const int64_t odd[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 62, 4096, 65535};
    unsigned a = byte(s);
    return a >= 0xf8 ? odd[a & 7] : (int64_t)a * (1 + byte(s));
}

static void text(struct in *s, char *out, size_t size)
{
    size_t n = byte(s) % size, i = 0;
    for (; i < n && s->n; i++)
        out[i] = (char)(byte(s) % 255 + 1);
    out[i] = '\0';
}

static void pick(struct in *s, const char *const *names, size_t n, char *out, size_t size)
{
    unsigned k = byte(s);
    if (k % (n + 1) == n)
        text(s, out, size);
    else
        snprintf(out, size, "%s", names[k % (n + 1)]);
}
#define PICK(s, out, ...)                                                                                    \
    pick(s, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
         out, sizeof(out))

struct made {
    struct jm_run_writer *w;
    struct jm_domain_tree tree;
    int channels, windows;
    int64_t requests;
    int64_t last[16]; /* time of the last reading of each channel */
};

static void domain(struct in *s, struct made *m)
{
    char key[16];
    int parent = (int)(byte(s) % (m->tree.n + 1)) - 1;
    enum jm_domain_kind kind = (enum jm_domain_kind)(byte(s) % JM_D_COUNT);
    text(s, key, sizeof key);
    if (m->tree.n < 64)
        jm_domain_add(&m->tree, parent, kind, key, key, NULL);
    jm_run_put_domains(m->w, &m->tree, NULL);
}

static void channel(struct in *s, struct made *m)
{
    static const double tol[] = {0, 0.05, 1, 1e300};
    static const int64_t periods[] = {0, 1, 100000000, 1000000000, INT64_MAX, INT64_C(1) << 40};
    struct jm_channel c = {.meter = 0};
    unsigned a = byte(s), b = byte(s);
    int id;
    if (m->channels >= 16)
        return;
    PICK(s, c.name, "energy", "power.average", "power", "power.limit", "clock.event_reasons",
         "power.published", "temp");
    text(s, c.device, 12);
    text(s, c.source, 12);
    c.kind = (enum jm_channel_kind)(a % 3);
    c.unit = a & 4 ? (enum jm_unit)(b % JM_U_COUNT) : c.kind == JM_CH_COUNTER ? JM_U_J : JM_U_W;
    c.scale10 = a & 8 ? (int)(b % 61) - 30 : -3;
    c.scale2 = a & 16 ? (int)(b % 61) - 30 : 0;
    c.sem = (enum jm_gauge_sem)(b & 3);
    c.modulus = a & 32 ? (uint64_t)number(s) : 0;
    c.period_ns = periods[byte(s) % 6];
    c.window_ns = periods[byte(s) % 6];
    c.gain_tol = a & 64 ? tol[b & 3] : NAN;
    c.offset_tol = a & 128 ? tol[b & 3] : NAN;
    c.sane_max = b & 4 ? 1000 : 0;
    c.provenance = (enum jm_provenance)(b % 24 < JM_P_COUNT ? b % 24 : 0);
    c.domain = m->tree.n ? (int)(byte(s) % m->tree.n) : -1;
    c.flags = b & 8 ? byte(s) & 63 : 0;
    if (jm_run_put_channel(m->w, &c, &id, NULL) == 0)
        m->channels++;
}

static void readings(struct in *s, struct made *m)
{
    if (!m->channels)
        return;
    unsigned c = byte(s) % (unsigned)m->channels, n = byte(s) % 64, status = byte(s);
    int64_t t = when(s), step = (int64_t)(byte(s) + 1) * 10000000, v = number(s), dv = number(s);
    for (unsigned i = 0; i < n; i++) {
        struct jm_reading r = {.t0 = t,
                               .t1 = t < INT64_MAX - 1000 ? t + 1000 : t,
                               .value = v,
                               .channel = c,
                               .status = (uint8_t)(status & 128 && i == n / 2 ? status % JM_S_COUNT : 0)};
        if (t >= INT64_MAX - step - 1000 || jm_run_put_readings(m->w, &r, 1, NULL))
            return;
        t += step;
        v = (int64_t)((uint64_t)v + (uint64_t)dv);
    }
}

static void window(struct in *s, struct made *m)
{
    struct jm_window w = {
        .id = m->windows, .role = (enum jm_role)(byte(s) % JM_R_COUNT), .trial = (int)(byte(s) % 4)};
    text(s, w.name, 24);
    w.t0 = when(s);
    int64_t t1 = when(s);
    if (m->windows >= 12 || jm_run_open_window(m->w, &w, NULL))
        return;
    m->windows++;
    if (t1 != T0)
        jm_run_close_window(m->w, w.id, t1, NULL);
}

static void request(struct in *s, struct made *m)
{
    struct jm_request q;
    struct jm_token_event ev[32];
    jm_request_init(&q);
    q.id = ++m->requests;
    unsigned a = byte(s), n = byte(s) % 32;
    q.end = (enum jm_end)(a & 16 ? a % JM_END_COUNT : 0);
    q.stream = a & 1;
    for (int i = 0; i < JM_T_COUNT; i++)
        if (byte(s) & 3)
            q.t[i] = when(s);
    q.prompt_tokens = a & 2 ? number(s) : 10;
    q.output_tokens = a & 4 ? number(s) : (int64_t)n;
    q.cached_tokens = a & 8 ? number(s) : -1;
    q.reasoning_tokens = a & 32 ? number(s) : -1;
    int64_t t = when(s);
    for (unsigned i = 0; i < n; i++) {
        unsigned f = byte(s);
        ev[i] = (struct jm_token_event){t, (uint16_t)(f & 64 ? f : 1), (uint16_t)(f & 31)};
        t = f & 128 ? when(s) : t + (t < INT64_MAX / 8 ? 20000000 : 0);
    }
    jm_run_put_request(m->w, &q, ev, a & 64 ? 0 : n, NULL);
}

static void env(struct in *s, struct made *m)
{
    char key[48], value[64];
    PICK(s, key, "sut.gpus", "conflict.sut", "sut.unknown", "import.kind", "mlperf.scenario", "mlperf.round",
         "mlperf.claimed_scenario", "loadgen.result_query_count", "loadgen.result_tokens_per_second",
         "idle.0.class", "idle.1.class", "plan.isl", "load.osl", "load.client", "load.cpu", "selftest.nvml",
         "gpu.0.name", "end.nvml.driver", "nvml.driver", "loadgen.result_validity");
    if (byte(s) & 1)
        PICK(s, value, "mlperf-inference", "SingleStream", "MultiStream", "v1.0", "v3.1", "loaded", "deep",
             "1e308", "-1", "0", "client-limited", "failed", "VALID");
    else
        text(s, value, sizeof value);
    jm_run_put_env(m->w, key, value, NULL);
}

static void make(struct in *s, struct made *m)
{
    struct jm_run_meter meter = {.name = "test", .state = "ok"};
    text(s, meter.reason, 20);
    jm_domain_tree_init(&m->tree);
    jm_domain_host(&m->tree, "host", NULL);
    jm_run_put_domains(m->w, &m->tree, NULL);
    jm_run_put_meter(m->w, &meter, NULL);
    while (s->n) {
        switch (byte(s) % 9) {
        case 0: domain(s, m); break;
        case 1: channel(s, m); break;
        case 2:
        case 3: readings(s, m); break;
        case 4: window(s, m); break;
        case 5:
        case 6: request(s, m); break;
        case 7: env(s, m); break;
        case 8: {
            int64_t t = when(s);
            struct jm_clock_pair p = {t, t, number(s), byte(s) & 1 ? t : number(s)};
            jm_run_put_clock_pair(m->w, &p, NULL);
            break;
        }
        }
    }
    jm_domain_tree_release(&m->tree);
}

/* Says what does not hold, and of what. */
#define MUST(what, of)                                                                                       \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "%s: %s\n", of, #what);                                                          \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static void check_report(const struct jm_report *r)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        MUST(x->q.validity == JM_V_VALID || (x->q.reasons && x->q.reasons[0]), x->metric);
        MUST(x->q.have || x->q.validity == JM_V_INVALID, x->metric);
        MUST(x->have_of <= x->of, x->metric);
        MUST(!x->q.have || !isnan(x->q.value), x->metric);
        for (size_t a = 0; a < x->n_domain; a++)
            for (size_t b = 0; b < x->n_domain; b++)
                MUST(a == b || !jm_domain_contains(r->tree, x->domain[a], x->domain[b]), x->set);
    }
    for (size_t i = 0; i < r->n_findings; i++) {
        bool known = false;
        for (const struct jm_finding_kind *k = jm_finding_table; k->id; k++)
            known |= strcmp(k->id, r->findings[i].id) == 0;
        MUST(known, r->findings[i].id);
    }
}

static void check_output(const char *format, const struct jm_str *s)
{
    for (size_t i = 0; i < s->len;) {
        size_t n = jm_utf8_len(s->buf + i, s->len - i);
        unsigned char c = (unsigned char)s->buf[i];
        MUST(n > 0 && (c >= 0x20 || c == '\n' || c == '\r'), format);
        MUST(c != 0x7f || strcmp(format, "json") == 0, format);
        i += n;
    }
    if (strcmp(format, "json") == 0) {
        struct jm_json *doc;
        MUST(jm_json_parse(jm_str_span(s), &doc, NULL) == 0, format);
        jm_json_free(doc);
    }
}

static void explain(const struct jm_run *run, struct jm_report *r, const struct jm_compute_opts *o,
                    const char *what, const struct jm_show_opts *so)
{
    static const char *const formats[] = {"text", "json", "markdown"};
    struct jm_explain *x = NULL;
    if (jm_explain(run, r, o, what, &x, NULL))
        return;
    for (size_t i = 0; i < x->n; i++) {
        MUST(x->rows[i].have || x->rows[i].reason, x->rows[i].tool);
        MUST(x->rows[i].why && x->rows[i].why[0], x->rows[i].tool);
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct jm_str out;
        jm_str_init(&out);
        if (jm_show_explain(r, x, formats[i], so, &out, NULL) == 0)
            check_output(formats[i], &out);
        jm_str_release(&out);
    }
}

static void show(struct in *s, const char *path)
{
    struct jm_run *run = NULL;
    struct jm_report *r = NULL;
    struct jm_compute_opts o;
    struct jm_show_opts so = {.width = 80};
    unsigned a = byte(s);
    if (jm_run_open(path, &run, NULL))
        return;
    jm_compute_defaults(&o);
    o.profile = (enum jm_profile)(a & 3);
    o.profile_given = a & 4;
    o.slo.ttft_s = a & 8 ? 1 : NAN;
    o.slo.tpot_s = a & 16 ? 0.1 : NAN;
    o.pue.value = a & 32 ? 1.3 : 0;
    o.idle_w = a & 64 ? 100 : NAN;
    o.columns = 50;
    so.all = a & 128;
    so.no_script = true;
    if (jm_compute(run, &o, &r, NULL) == 0 && jm_audit(run, r, NULL) == 0 &&
        jm_disclosure(run, r, &so.disclosure, &so.n_disclosure, NULL) == 0) {
        check_report(r);
        for (const struct jm_show_format *f = jm_show_formats; f->name; f++) {
            struct jm_str out;
            jm_str_init(&out);
            if (f->render(r, &so, &out, NULL) == 0)
                check_output(f->name, &out);
            jm_str_release(&out);
        }
        for (const struct jm_family *f = jm_families; f->name; f++)
            explain(run, r, &o, f->name, &so);
    }
    jm_report_free(r);
    jm_run_close(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static char path[64];
    struct in s = {p, n < 4096 ? n : 4096}, opts = s;
    struct made m = {0};
    char label[24];
    text(&s, label, sizeof label);
    if (!path[0])
        snprintf(path, sizeof path, "%s/jm-report-fuzz-%d.jmr",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    struct jm_run_create c = {
        .label = label, .kind = "recorded", .source = label, .seed = 1, .overwrite = true};
    c.created_real = number(&s);
    if (jm_run_create(path, &c, &m.w, NULL) == 0) {
        make(&s, &m);
        if (jm_run_seal(m.w, NULL) == 0)
            show(&opts, path);
    }
    unlink(path);
    return 0;
}
