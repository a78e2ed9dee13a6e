/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[256];
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void clean(void)
{
    if (getpid() == owner) /* children leave by _exit, mostly */
        nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *sample_path(const char *name)
{
    static char path[400];
    if (!dir[0]) {
        const char *tmp = getenv("TMPDIR");
        snprintf(dir, sizeof dir, "%s/jm-run-XXXXXX", tmp ? tmp : "/tmp");
        assert_non_null(mkdtemp(dir));
        owner = getpid();
        atexit(clean);
    }
    static const char *const suffix[] = {"-wal", "-journal", "-shm", ""};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s%s", dir, name, suffix[i]);
        unlink(path);
    }
    return path;
}

struct jm_run_create sample_create(void)
{
    return (struct jm_run_create){.label = "sample \"run\"",
                                  .kind = "recorded",
                                  .source = "bench http://localhost:8000",
                                  .created_real = INT64_C(1750000000123456789),
                                  .seed = UINT64_C(0xfedcba9876543210),
                                  .overwrite = true};
}

struct jm_reading sample_reading(int channel, int i)
{
    int64_t t = SAMPLE_T0 + i * (JM_NS_PER_S / 10) + (i * 7919) % 20011;
    struct jm_reading r = {.t0 = t, .t1 = t + 9000 + (i * 31) % 997, .channel = (uint32_t)channel};
    double watts = 512.25 + i / 3.0;
    if (channel) { /* both powers in a second call */
        r.t0 = r.t1 + 80 + i % 7;
        r.t1 = r.t0 + 5000 + i % 311;
    }
    switch (channel) {
    case 0: r.value = INT64_C(123456789012) + i * INT64_C(51234); break;
    case 1: r.value = 512250 + (i * 37) % 4001; break;
    default: memcpy(&r.value, &watts, sizeof watts);
    }
    if (i == 100)
        r.status = JM_S_GAP;
    if (i >= 200)
        r.flags = JM_RF_EDGE;
    return r;
}

struct jm_request sample_request(int id)
{
    struct jm_request r;
    jm_request_init(&r);
    r.id = id;
    r.trial = id % 2;
    snprintf(r.slice, sizeof r.slice, "%s", id % 3 ? "chat" : "");
    for (int i = 0; i < JM_T_COUNT; i++)
        r.t[i] = SAMPLE_T0 + id * INT64_C(400000000) + i * INT64_C(1234567);
    r.t[JM_T_CONNECTED] = r.t[0] - 50000000; /* a connection from before */
    r.end = JM_END_OK;
    r.http_status = 200;
    snprintf(r.finish, sizeof r.finish, "length");
    r.prompt_tokens = 512;
    r.output_tokens = id % 5 ? 10 + id : 0;
    r.cached_tokens = id % 2 ? 256 : -1;
    r.token_source = JM_TOK_USAGE;
    r.asked_isl = 512;
    r.asked_osl = 128;
    r.prompt_bytes = 2048;
    r.output_bytes = 640;
    for (int i = 0; i < 64; i++)
        r.prompt_sha256[i] = "0123456789abcdef"[(i * 7 + id) % 16];
    r.events = 10 + id;
    r.shared_stamp = id % 4;
    r.stream = 1;
    r.reused = id > 1;
    if (id % 7 == 0) { /* refused: nearly nothing exists */
        jm_request_init(&r);
        r.id = id;
        r.t[JM_T_SCHEDULED] = SAMPLE_T0 + id * INT64_C(400000000);
        r.end = JM_END_REFUSED;
        snprintf(r.error, sizeof r.error, "connect: Verbindung verweigert \xc3\xa4");
        r.quality = 0.5;
    }
    return r;
}

size_t sample_events(int id, struct jm_token_event *ev)
{
    if (id % 7 == 0)
        return 0;
    size_t n = (size_t)(10 + id);
    for (size_t i = 0; i < n; i++)
        ev[i] =
            (struct jm_token_event){.t = SAMPLE_T0 + id * INT64_C(400000000) + (int64_t)i * 20013000,
                                    .tokens = (uint16_t)(i % 9 == 4 ? 2 : 1),
                                    .flags = (uint16_t)(JM_TE_COUNT_KNOWN | (i < 3 ? JM_TE_REASONING : 0))};
    return n;
}

static struct jm_channel channel(int i)
{
    struct jm_channel c = {.kind = i ? JM_CH_GAUGE : JM_CH_COUNTER,
                           .unit = i ? JM_U_W : JM_U_J,
                           .scale10 = i == 2 ? 0 : -3,
                           .modulus = i ? 0 : UINT64_C(0xffffffffffffff00),
                           .period_ns = 100000000,
                           .period_measured = i == 1,
                           .sem = i == 1 ? JM_G_TRAILING_MEAN : JM_G_INSTANT,
                           .window_ns = i == 1 ? JM_NS_PER_S : 0,
                           .gain_tol = i ? 0.05 : NAN,
                           .offset_tol = NAN,
                           .sane_max = 1400,
                           .provenance = i == 2 ? JM_P_SIMULATED : JM_P_MEASURED,
                           .domain = 2,
                           .flags = JM_CHF_EDGE | (i == 2 ? JM_CHF_DOUBLE : 0)};
    snprintf(c.name, sizeof c.name, "%s", i == 0 ? "energy" : i == 1 ? "power.average" : "power.model");
    snprintf(c.device, sizeof c.device, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
    snprintf(c.scope, sizeof c.scope, "gpu");
    snprintf(c.source, sizeof c.source, "NVML field 83");
    return c;
}

void sample_fill(struct jm_run_writer *w)
{
    struct jm_err err = {0};
    struct jm_run_meter ok = {.name = "nvml",
                              .instance = "libnvidia-ml.so.1",
                              .state = "ok",
                              .period_ns = 100000000},
                        denied = {.name = "rapl",
                                  .state = "denied",
                                  .reason = "energy_uj is 0400",
                                  .mend = "sudo chmod a+r ...",
                                  .simulated = true};
    assert_int_equal(jm_run_put_meter(w, &ok, &err), 0);
    assert_int_equal(jm_run_put_meter(w, &denied, &err), 1);
    struct jm_domain_tree t;
    jm_domain_tree_init(&t);
    int node = jm_domain_host(&t, "host1", &err);
    assert_int_equal(jm_domain_add(&t, node, JM_D_GPU, "GPU-8932f937", "GPU 0", &err), 2);
    assert_int_equal(jm_run_put_domains(w, &t, &err), 0);
    assert_int_equal(jm_run_put_domains(w, &t, &err), 0); /* replaces */
    jm_domain_tree_release(&t);
    for (int i = 0; i < 3; i++) {
        struct jm_channel c = channel(i);
        int id = -1;
        assert_int_equal(jm_run_put_channel(w, &c, &id, &err), 0);
        assert_int_equal(id, i);
    }
    assert_int_equal(jm_run_put_env(w, "host.name", "old", &err), 0);
    assert_int_equal(jm_run_put_env(w, "host.name", "host1", &err), 0);
    assert_int_equal(jm_run_put_env(w, "a.first", "", &err), 0);
    for (int i = 0; i < 30; i++) {
        struct jm_clock_pair p = {SAMPLE_T0 + i * JM_NS_PER_S, SAMPLE_T0 + i * JM_NS_PER_S + 400,
                                  INT64_C(1750000000000000000) + i * JM_NS_PER_S,
                                  SAMPLE_T0 + i * JM_NS_PER_S + 5};
        assert_int_equal(jm_run_put_clock_pair(w, &p, &err), 0);
    }
    struct jm_window win = {0, 0, JM_R_WARMUP, "warm-up", SAMPLE_T0, 0},
                     win2 = {1, 1, JM_R_MEASURE, "measure", SAMPLE_T0 + 5 * JM_NS_PER_S, 0};
    assert_int_equal(jm_run_open_window(w, &win, &err), 0);
    assert_int_equal(jm_run_close_window(w, 0, SAMPLE_T0 + 5 * JM_NS_PER_S, &err), 0);
    assert_int_equal(jm_run_open_window(w, &win2, &err), 0);
    assert_int_equal(jm_run_close_window(w, 9, SAMPLE_T0, &err), JM_EINVAL);
    for (int i = 0; i < SAMPLE_READINGS; i++) {
        struct jm_reading r[3] = {sample_reading(0, i), sample_reading(1, i), sample_reading(2, i)};
        assert_int_equal(jm_run_put_readings(w, r, 3, &err), 0);
        assert_int_equal(jm_run_flush(w, r[0].t1, false, &err), 0);
    }
    for (int id = SAMPLE_REQUESTS; id >= 1; id--) { /* ends need not be in order of ids */
        struct jm_token_event ev[300];
        struct jm_request r = sample_request(id);
        size_t n = sample_events(id, ev);
        assert_int_equal(jm_run_put_request(w, &r, ev, n, &err), 0);
        if (id % 9 == 0)
            assert_int_equal(jm_run_flush(w, 0, true, &err), 0);
    }
    struct jm_mark m = {SAMPLE_T0 + 77, "prefill done"};
    assert_int_equal(jm_run_put_mark(w, &m, &err), 0);
    assert_int_equal(jm_run_put_text(w, 3, JM_SPAN("What is a joule?"), JM_SPAN("A watt second."), &err), 0);
    assert_int_equal(jm_run_put_raw(w, "config.json", "/etc/x", JM_SPAN("{\"a\": 1}"), &err), 0);
    assert_int_equal(jm_run_put_scrape(w, "http://localhost:8000/metrics", 5, 9, JM_SPAN("vllm:x 1\n"), &err),
                     0);
    assert_int_equal(jm_run_put_factor(w, "pue", "site", 1.2, "", "declared", &err), 0);
    struct jm_run_claim cl = {.key = "mean_ttft_ms",
                              .metric = "ttft",
                              .stat = "mean",
                              .value = 12.5,
                              .unit = "ms",
                              .source = "chunks",
                              .boundary = "gpu",
                              .window = 1};
    assert_int_equal(jm_run_put_claim(w, &cl, &err), 0);
    cl = (struct jm_run_claim){.key = "p99_ttft_ms", .value = NAN, .window = -1};
    assert_int_equal(jm_run_put_claim(w, &cl, &err), 0);
    assert_int_equal(jm_run_set_meter_state(w, 0, "lost", "it fell off the bus", &err), 0);
}

void sample_write(const char *path)
{
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    struct jm_err err = {0};
    assert_int_equal(jm_run_create(path, &c, &w, &err), 0);
    sample_fill(w);
    assert_int_equal(jm_run_close_window(w, 1, SAMPLE_T0 + 20 * JM_NS_PER_S, &err), 0);
    assert_int_equal(jm_run_seal(w, &err), 0);
}

static int check_events(void *self, int64_t request, const struct jm_token_event *ev, size_t n)
{
    struct jm_token_event want[300];
    int64_t *last = self;
    assert_true(request > *last);
    *last = request;
    assert_int_equal(n, sample_events((int)request, want));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ev[i].t, want[i].t);
        assert_int_equal(ev[i].tokens, want[i].tokens);
        assert_int_equal(ev[i].flags, want[i].flags);
    }
    return 0;
}

static void check_requests(const struct jm_run *r)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(r, &n);
    assert_int_equal(jm_run_requests_check(r, NULL), 0);
    assert_int_equal(n, SAMPLE_REQUESTS);
    for (int id = 1; id <= SAMPLE_REQUESTS; id++) {
        struct jm_request want = sample_request(id);
        const struct jm_request *got = &q[id - 1];
        assert_int_equal(got->id, id);
        assert_int_equal(got->trial, want.trial);
        assert_string_equal(got->slice, want.slice);
        assert_memory_equal(got->t, want.t, sizeof want.t);
        assert_int_equal(got->end, want.end);
        assert_int_equal(got->http_status, want.http_status);
        assert_string_equal(got->finish, want.finish);
        assert_string_equal(got->error, want.error);
        assert_int_equal(got->prompt_tokens, want.prompt_tokens);
        assert_int_equal(got->output_tokens, want.output_tokens);
        assert_int_equal(got->cached_tokens, want.cached_tokens);
        assert_int_equal(got->reasoning_tokens, -1);
        assert_int_equal(got->token_source, want.token_source);
        assert_int_equal(got->asked_isl, want.asked_isl);
        assert_int_equal(got->asked_osl, want.asked_osl);
        assert_int_equal(got->prompt_bytes, want.prompt_bytes);
        assert_int_equal(got->output_bytes, want.output_bytes);
        assert_string_equal(got->prompt_sha256, want.prompt_sha256);
        assert_string_equal(got->output_sha256, "");
        assert_int_equal(got->events, want.events);
        assert_int_equal(got->shared_stamp, want.shared_stamp);
        assert_int_equal(got->stream, want.stream);
        assert_int_equal(got->reused, want.reused);
        assert_true(isnan(want.quality) ? isnan(got->quality) : got->quality == want.quality);
    }
}

static void check_tables(const struct jm_run *r)
{
    struct jm_run_create c = sample_create();
    const struct jm_run_info *i = jm_run_info(r);
    assert_string_equal(i->label, c.label);
    assert_string_equal(i->kind, "recorded");
    assert_string_equal(i->source, c.source);
    assert_int_equal(strlen(i->id), 36);
    assert_true(i->seed == c.seed && i->created_real == c.created_real && i->version == JM_RUN_VERSION);
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(r, &n);
    assert_int_equal(n, 2);
    assert_string_equal(m[0].state, "lost");
    assert_string_equal(m[0].reason, "it fell off the bus");
    assert_string_equal(m[1].mend, "sudo chmod a+r ...");
    assert_true(m[1].simulated && !m[0].simulated && m[0].period_ns == 100000000);
    const struct jm_domain_tree *t = jm_run_domains(r);
    assert_int_equal(t->n, 3);
    assert_int_equal(t->d[2].kind, JM_D_GPU);
    assert_int_equal(t->d[2].parent, 1);
    assert_string_equal(t->d[2].label, "GPU 0");
    const struct jm_channel *ch = jm_run_channels(r, &n);
    assert_int_equal(n, 3);
    for (int k = 0; k < 3; k++) {
        struct jm_channel w = channel(k);
        assert_int_equal(ch[k].id, k);
        assert_string_equal(ch[k].name, w.name);
        assert_string_equal(ch[k].device, w.device);
        assert_true(ch[k].kind == w.kind && ch[k].unit == w.unit && ch[k].scale10 == w.scale10 &&
                    ch[k].sem == w.sem);
        assert_true(ch[k].modulus == w.modulus && ch[k].period_ns == w.period_ns &&
                    ch[k].window_ns == w.window_ns);
        assert_true(ch[k].period_measured == w.period_measured && ch[k].provenance == w.provenance);
        assert_true(ch[k].domain == w.domain && ch[k].flags == w.flags && ch[k].sane_max == 1400);
        assert_true(isnan(w.gain_tol) ? isnan(ch[k].gain_tol) : ch[k].gain_tol == w.gain_tol);
        assert_true(isnan(ch[k].offset_tol));
        assert_string_equal(ch[k].scope, "gpu");
    }
    assert_string_equal(jm_run_env(r, "host.name"), "host1");
    assert_string_equal(jm_run_env(r, "a.first"), "");
    assert_null(jm_run_env(r, "no.such"));
    assert_string_equal(jm_run_env_rows(r, &n)[0].key, "a.first");
    assert_int_equal(n, 2);
}

void sample_check(const struct jm_run *r)
{
    struct jm_err err = {0};
    size_t n;
    check_tables(r);
    for (int c = 0; c < 3; c++) {
        struct jm_readings a = {0};
        int64_t first, last, count;
        assert_int_equal(jm_run_readings(r, c, INT64_MIN, INT64_MAX, &a, &err), 0);
        assert_int_equal(a.n, SAMPLE_READINGS);
        for (int i = 0; i < SAMPLE_READINGS; i++) {
            struct jm_reading w = sample_reading(c, i);
            assert_true(a.v[i].t0 == w.t0 && a.v[i].t1 == w.t1 && a.v[i].value == w.value);
            assert_true(a.v[i].status == w.status && a.v[i].flags == w.flags &&
                        a.v[i].channel == (uint32_t)c);
        }
        assert_true(jm_run_channel_span(r, c, &first, &last, &count));
        assert_int_equal(count, SAMPLE_READINGS);
        assert_int_equal(first, a.v[0].t0);
        assert_int_equal(last, a.v[SAMPLE_READINGS - 1].t1);
        jm_readings_release(&a);
    }
    check_requests(r);
    int64_t last = 0;
    assert_int_equal(jm_run_events(r, check_events, &last, &err), 0);
    assert_int_equal(last, SAMPLE_REQUESTS);
    const struct jm_run_claim *cl = jm_run_claims(r, &n);
    assert_int_equal(n, 2);
    assert_string_equal(cl[0].key, "mean_ttft_ms");
    assert_string_equal(cl[0].metric, "ttft");
    assert_string_equal(cl[0].stat, "mean");
    assert_string_equal(cl[0].unit, "ms");
    assert_string_equal(cl[0].source, "chunks");
    assert_string_equal(cl[0].boundary, "gpu");
    assert_true(cl[0].value == 12.5 && cl[0].window == 1);
    assert_string_equal(cl[1].metric, "");
    assert_true(isnan(cl[1].value) && cl[1].window == -1);
    const struct jm_mark *m = jm_run_marks(r, &n);
    assert_int_equal(n, 1);
    assert_string_equal(m->name, "prefill done");
    assert_int_equal(m->t, SAMPLE_T0 + 77);
    jm_run_clock_pairs(r, &n);
    assert_int_equal(n, 30);
    const struct jm_window *w = jm_run_windows(r, &n);
    assert_int_equal(n, 2);
    assert_true(w[0].t1 == SAMPLE_T0 + 5 * JM_NS_PER_S && w[1].role == JM_R_MEASURE && w[1].trial == 1);
    struct jm_str s;
    jm_str_init(&s);
    assert_int_equal(jm_run_raw_data(r, "config.json", &s, &err), 0);
    assert_string_equal(s.buf, "{\"a\": 1}");
    assert_int_equal(jm_run_raw_data(r, "nothing", &s, &err), JM_EABSENT);
    jm_str_release(&s);
    const struct jm_run_raw *raw = jm_run_raw(r, &n);
    assert_int_equal(n, 1);
    assert_true(raw->kept && raw->bytes == 8);
}
