/* SPDX-License-Identifier: Apache-2.0 */
/* The whole load generator against a server that misbehaves on request. Public reports are named where a case
 * repeats one. */
#include <pthread.h>

#include "load/book.h"

static bool good(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_event(c, "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_"
                  "reason\":null}]}");
    mock_sleep(30);
    for (int i = 0; i < 4; i++) {
        mock_token(c, i ? " x" : "Hi");
        mock_sleep(5);
    }
    mock_finish(c, "length", 24, 4);
    return true;
}

/* vllm 3759, api7/aisix PR 869: the role-only chunk must not start TTFT. */
static void stamps_are_in_order(void **state)
{
    struct jm_request r;
    (void)state;
    /* what comes 30 ms apart has stamps as far apart, unless this machine looked at both too late */
    for (int tries = 0; tries < 5; tries++) {
        r = one(good, NULL);
        if (r.t[JM_T_FIRST_TOKEN] - r.t[JM_T_FIRST_EVENT] >= 25 * MS)
            break;
    }
    assert_int_equal(r.end, JM_END_OK);
    assert_int_equal(r.http_status, 200);
    assert_string_equal(r.finish, "length");
    assert_int_equal(r.prompt_tokens, 24);
    assert_int_equal(r.output_tokens, 4);
    assert_int_equal(r.token_source, JM_TOK_USAGE);
    assert_int_equal(r.events, 4);
    assert_int_equal(r.asked_osl, 4);
    assert_int_equal(r.asked_isl, 20);
    assert_int_equal(r.cached_tokens, -1);
    static const int order[] = {JM_T_SCHEDULED,  JM_T_ADMITTED,    JM_T_SENT,        JM_T_FIRST_BYTE,
                                JM_T_HEADERS,    JM_T_FIRST_EVENT, JM_T_FIRST_TOKEN, JM_T_FIRST_VISIBLE,
                                JM_T_LAST_TOKEN, JM_T_USAGE,       JM_T_DONE,        JM_T_CLOSED};
    for (size_t i = 1; i < sizeof order / sizeof *order; i++)
        if (r.t[order[i]] < r.t[order[i - 1]])
            fail_msg("%s lies before %s", jm_stamp_name(order[i]), jm_stamp_name(order[i - 1]));
    assert_true(r.t[JM_T_CONNECTED] > 0 && r.t[JM_T_CONNECTED] <= r.t[JM_T_SENT]);
    assert_true(r.t[JM_T_FIRST_TOKEN] - r.t[JM_T_FIRST_EVENT] >= 25 * MS);
}

static bool refuse401(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_json(c, 401, "",
              "{\"error\":{\"message\":\"Incorrect API key provided\",\"code\":\"invalid_api_key\"}}");
    return true;
}
static bool refuse404(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_json(c, 404, "",
              "{\"object\":\"error\",\"message\":\"The model `m` does not exist.\",\"code\":404}");
    return true;
}
static bool refuse429(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_json(c, 429, "Retry-After: 7\r\n", "{\"error\":\"slow down\"}");
    return true;
}
static bool refuse500(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_json(c, 500, "Connection: close\r\n", "CUDA out of memory\nline 2");
    return false;
}
static bool refuse422(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_json(c, 422, "",
              "{\"detail\":[{\"loc\":[\"body\",\"max_tokens\"],\"msg\":\"value is not a valid integer\"}]}");
    return true;
}
static bool redirect(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_json(c, 307, "Location: http://elsewhere/\r\n", "");
    return true;
}
static bool html(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_raw(
        c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 22\r\n\r\n<html>It works!</html>");
    return true;
}
static bool garbage(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_raw(c, "SSH-2.0-OpenSSH_9.2\r\n");
    return false;
}
static bool gzip(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_raw(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: "
                "gzip\r\nContent-Length: 4\r\n\r\nabcd");
    return true;
}
static bool fin_mid(struct mock_conn *c, const struct mock_request *r) /* inference-perf 655 */
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_token(c, "b");
    return false;
}
static bool fin_eof_framed(struct mock_conn *c,
                           const struct mock_request *r) /* the framing cannot tell: the end mark must */
{
    (void)r;
    mock_raw(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    mock_raw(c, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n");
    return false;
}
static bool rst_mid(struct mock_conn *c, const struct mock_request *r) /* litellm 33404 */
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_sleep(20);
    mock_reset(c);
    return false;
}
static bool silent_end(struct mock_conn *c,
                       const struct mock_request *r) /* CommandCode 785: cut in tool arguments */
{
    (void)r;
    mock_stream(c);
    mock_event(c, "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{"
                  "\"name\":\"f\",\"arguments\":\"\"}}]}}]}");
    mock_event(c, "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{"
                  "\\\"a\"}}]}}]}");
    mock_end(c);
    return true;
}
static bool error_event(struct mock_conn *c,
                        const struct mock_request *r) /* ragflow PR 19498, onyx PR 11917 */
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_event(c, "{\"error\":{\"message\":\"engine died\",\"type\":\"x\",\"code\":500}}");
    mock_event(c, "[DONE]");
    mock_end(c);
    return true;
}
static bool error_field(struct mock_conn *c, const struct mock_request *r) /* llama.cpp, February 2025 */
{
    (void)r;
    mock_stream(c);
    mock_chunk(c, "error: {\"code\":500,\"message\":\"context full\"}\n\n");
    mock_end(c);
    return true;
}
static bool aborted(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_finish(c, "abort", 24, 1);
    return true;
}
static bool empty(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_finish(c, "stop", 24, 0);
    return true;
}
static bool stalled(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_sleep(600);
    return false;
}
static bool mute(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    (void)c;
    mock_sleep(600);
    return false;
}
static bool dripping(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    for (int i = 0; i < 200 && !mock_gone(c); i++) {
        mock_token(c, "a");
        mock_sleep(50);
    }
    return false;
}
static bool bad_event(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_event(c, "{\"choices\":[{\"delta\":{\"content\":\"a\"}");
    mock_finish(c, "stop", 24, 1);
    return true;
}
static bool stays_open(struct mock_conn *c,
                       const struct mock_request *r) /* all content, the framing's end never comes */
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_event(c, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":24,"
                  "\"completion_tokens\":1}}");
    mock_event(c, "[DONE]");
    mock_sleep(1300);
    return false;
}
static bool whole_answer(struct mock_conn *c, const struct mock_request *r) /* inference-perf 150 */
{
    (void)r;
    mock_json(c, 200, "",
              "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
              "\"content\":\"Hi there\"},"
              "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":24,\"completion_tokens\":2,\"total_"
              "tokens\":26}}");
    return true;
}
static bool error_in_200(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_json(c, 200, "", "{\"error\":{\"message\":\"overloaded\"}}");
    return true;
}

static void short_limits(struct jm_load_cfg *cfg)
{
    cfg->header_ns = cfg->stall_ns = 200 * MS;
    cfg->total_ns = 400 * MS;
}

static void every_end_has_its_class(void **state)
{
    static const struct {
        const char *name;
        bool (*answer)(struct mock_conn *, const struct mock_request *);
        bool limits;
        int end, status;
        const char *words;
    } rows[] = {
        {"401", refuse401, false, JM_END_AUTH, 401, "Incorrect API key"},
        {"404", refuse404, false, JM_END_NOT_FOUND, 404, "does not exist"},
        {"429", refuse429, false, JM_END_RATE_LIMIT, 429, "retry after 7: slow down"},
        {"500", refuse500, false, JM_END_HTTP_SERVER, 500, "CUDA out of memory"},
        {"422", refuse422, false, JM_END_HTTP_CLIENT, 422, "not a valid integer"},
        {"redirect", redirect, false, JM_END_PROTOCOL, 307, "redirected to http://elsewhere/"},
        {"html", html, false, JM_END_PROTOCOL, 200, "text/html"},
        {"garbage", garbage, false, JM_END_PROTOCOL, -1, "not HTTP"},
        {"gzip", gzip, false, JM_END_PROTOCOL, 200, "compressed"},
        {"fin", fin_mid, false, JM_END_CUT, 200, "closed"},
        {"fin, EOF framing", fin_eof_framed, false, JM_END_CUT, 200, "without finish_reason"},
        {"rst", rst_mid, false, JM_END_CUT, 200, "reset"},
        {"silent end", silent_end, false, JM_END_CUT, 200, "without finish_reason"},
        {"error event", error_event, false, JM_END_ERROR_EVENT, 200, "engine died"},
        {"error field", error_field, false, JM_END_ERROR_EVENT, 200, "context full"},
        {"error in 200", error_in_200, false, JM_END_ERROR_EVENT, 200, "overloaded"},
        {"abort", aborted, false, JM_END_ABORTED, 200, "abort"},
        {"empty", empty, false, JM_END_EMPTY, 200, "no token"},
        {"stalled", stalled, true, JM_END_STALLED, 200, "client's limit"}, /* evalscope 851: name the cause */
        {"mute", mute, true, JM_END_STALLED, -1, "no response header"},
        {"total", dripping, true, JM_END_TIMEOUT, 200, "client's limit"},
        {"bad event", bad_event, false, JM_END_PROTOCOL, 200, "not valid JSON"},
        {"stays open", stays_open, false, JM_END_OK, 200, ""},
        {"whole", whole_answer, false, JM_END_OK, 200, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jm_request r;
        /* of the short limits another may end it first where this machine had other work */
        for (int tries = rows[i].limits ? 3 : 1; tries > 0; tries--) {
            r = one(rows[i].answer, rows[i].limits ? short_limits : NULL);
            if ((int)r.end == rows[i].end && r.http_status == rows[i].status)
                break;
        }
        if ((int)r.end != rows[i].end || r.http_status != rows[i].status || !strstr(r.error, rows[i].words))
            fail_msg("%s: end %s, status %d, \"%s\"", rows[i].name, jm_end_name((int)r.end), r.http_status,
                     r.error);
        if (r.t[JM_T_SCHEDULED] < 0 || r.t[JM_T_SENT] < r.t[JM_T_SCHEDULED] ||
            r.t[JM_T_CLOSED] < r.t[JM_T_SENT])
            fail_msg("%s: stamps are missing", rows[i].name);
        if (r.end != JM_END_OK && r.output_tokens == 0 && rows[i].answer != empty)
            fail_msg("%s: an unknown count became 0", rows[i].name);
        if (rows[i].answer == whole_answer &&
            !(r.stream == 0 && r.output_tokens == 2 && r.t[JM_T_FIRST_TOKEN] == -1 && r.events == 0))
            fail_msg("a whole answer has no first token");
    }
}

/* An endpoint that will never serve is told at the start, and does not spin. */
static void a_refusing_endpoint_stops_the_start(void **state)
{
    struct script s = {refuse401};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    struct jm_err err = {0};
    int rc = 0;
    (void)state;
    cfg.max_requests = 0;
    struct book *b = run(&cfg, 3000, &rc, &err, NULL);
    assert_int_equal(rc, JM_ENET);
    assert_non_null(strstr(err.text, "Incorrect API key"));
    assert_in_range(b->n, 3, 4);
    free_book(b);
    mock_stop(m);
}

/* TensorRT-LLM PR 17427: many 500s. They are counted, and asked for at a bounded rate. */
static void failures_do_not_spin(void **state)
{
    struct script s = {refuse500};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    (void)state;
    cfg.max_requests = 0;
    cfg.concurrency = 4;
    struct book *b = run(&cfg, 1000, NULL, NULL, NULL);
    int64_t first = INT64_MAX, last = 0;
    for (int i = 0; i < b->n; i++) {
        first = b->k[i].r.t[JM_T_SCHEDULED] < first ? b->k[i].r.t[JM_T_SCHEDULED] : first;
        last = b->k[i].r.t[JM_T_SCHEDULED] > last ? b->k[i].r.t[JM_T_SCHEDULED] : last;
    }
    assert_true(b->n >= 4);
    /* twelve a second and user */
    assert_true(b->n <= 4 * (12 + 12 * (last - first) / JM_NS_PER_S));
    for (int i = 0; i < b->n; i++)
        assert_int_equal(b->k[i].r.end, JM_END_HTTP_SERVER);
    free_book(b);
    mock_stop(m);
}

/* --- connections
 * --------------------------------------------------------------------------------------------------- */
static bool quick(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_finish(c, "length", 24, 1);
    return true;
}

static void connections_are_kept(void **state)
{
    struct script s = {quick};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    struct facts f;
    (void)state;
    cfg.max_requests = 60;
    cfg.concurrency = 3;
    struct book *b = run(&cfg, 5000, NULL, NULL, &f);
    assert_int_equal(b->n, 60);
    int reused = 0;
    for (int i = 0; i < b->n; i++) {
        assert_int_equal(b->k[i].r.end, JM_END_OK);
        reused += b->k[i].r.reused == 1;
    }
    assert_int_equal(reused, WARMING ? 60 : 57);
    assert_int_equal(mock_requests(m, "/v1/chat/completions"),
                     60 + 1); /* and one probe of the prompt's length */
    if (!strstr(f.text, "load.stamps=kernel\n") && !strstr(f.text, "load.stamps=kernel, few user\n") &&
        !(WARMING && strstr(f.text, "load.stamps=mixed\n"))) /* what came after the look, on a busy machine */
        fail_msg("%s", f.text);
    assert_non_null(strstr(f.text, "load.transport=" TRANSPORT "\n"));
    assert_non_null(strstr(f.text, "load.isl.mode=words\n"));
    free_book(b);
    mock_stop(m);
}

/* llama-server: Keep-Alive: timeout=5, max=100. Closing a kept connection is no failure and loses no request.
 */
static bool closes_after_three(struct mock_conn *c, const struct mock_request *r)
{
    quick(c, r);
    return r->on_conn < 2;
}

static void closed_idle_connections_are_no_failures(void **state)
{
    struct script s = {closes_after_three};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    (void)state;
    cfg.max_requests = 100;
    cfg.concurrency = 2;
    struct book *b = run(&cfg, 5000, NULL, NULL, NULL);
    assert_int_equal(b->n, 100);
    for (int i = 0; i < b->n; i++)
        if (b->k[i].r.end != JM_END_OK)
            fail_msg("request %d: %s: %s", i, jm_end_name((int)b->k[i].r.end), b->k[i].r.error);
    free_book(b);
    mock_stop(m);
}

/* A request that got bytes is never sent again. */
static bool dies_after_first_byte(struct mock_conn *c, const struct mock_request *r)
{
    if (r->on_conn <= WARMING)
        return quick(c, r);
    mock_raw(c, "H");
    mock_sleep(5);
    return false;
}

static void what_got_bytes_is_not_resent(void **state)
{
    struct script s = {dies_after_first_byte};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    (void)state;
    cfg.max_requests = 4;
    struct book *b = run(&cfg, 5000, NULL, NULL, NULL);
    assert_int_equal(b->n, 4);
    assert_int_equal(b->k[0].r.end, JM_END_OK);
    assert_int_equal(b->k[1].r.end, JM_END_CUT);
    assert_int_equal(mock_requests(m, "/v1/chat/completions"), 4 + 1);
    free_book(b);
    mock_stop(m);
}

/* --- load shapes
 * --------------------------------------------------------------------------------------------------- */
static bool slow_tokens(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    for (int i = 0; i < 4; i++) {
        mock_sleep(20);
        mock_token(c, "a");
    }
    mock_finish(c, "length", 24, 4);
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return x->r.id < y->r.id ? -1 : x->r.id > y->r.id;
}

/* vllm 54101, guidellm 1048: the schedule does not wait for the server. The same seed gives the same
 * schedule, whatever the number of threads. */
static void poisson_keeps_its_schedule(void **state)
{
    int64_t first[40] = {0};
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        struct script s = {slow_tokens};
        struct mock *m = mock_start(scripted, &s);
        struct jm_load_cfg cfg = base_cfg(m);
        cfg.shape = JM_LOAD_POISSON;
        cfg.concurrency = 0;
        cfg.rate = 100;
        cfg.seed = 5;
        cfg.max_requests = 40;
        cfg.threads = threads;
        cfg.first_id = 1001;
        struct book *b = run(&cfg, 8000, NULL, NULL, NULL);
        assert_int_equal(b->n, 40);
        qsort(b->k, 40, sizeof *b->k, by_id);
        for (int i = 0; i < 40; i++) {
            const struct jm_request *r = &b->k[i].r;
            assert_int_equal(r->id, 1001 + i);
            assert_int_equal(r->end, JM_END_OK);
            assert_true(r->t[JM_T_SENT] >= r->t[JM_T_SCHEDULED]);
            if (i)
                assert_true(r->t[JM_T_SCHEDULED] > b->k[i - 1].r.t[JM_T_SCHEDULED]);
            int64_t gap = r->t[JM_T_SCHEDULED] - b->k[0].r.t[JM_T_SCHEDULED];
            if (threads == 1)
                first[i] = gap;
            else
                assert_true(gap - first[i] <= 2 && first[i] - gap <= 2); /* ns, rounding of t0 */
        }
        free_book(b);
        mock_stop(m);
    }
    /* 39 exponential gaps of 10 ms: within 5 standard deviations of their mean */
    assert_in_range(first[39] / MS, 390 - 5 * 63, 390 + 5 * 63);
}

static void a_limit_delays_admission_not_the_schedule(void **state)
{
    struct script s = {slow_tokens};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    (void)state;
    cfg.shape = JM_LOAD_POISSON;
    cfg.concurrency = 2;
    cfg.rate = 200;
    cfg.max_requests = 20;
    struct book *b = run(&cfg, 8000, NULL, NULL, NULL);
    assert_int_equal(b->n, 20);
    qsort(b->k, 20, sizeof *b->k, by_id);
    int64_t waited = b->k[19].r.t[JM_T_ADMITTED] - b->k[19].r.t[JM_T_SCHEDULED];
    assert_true(waited > 200 * MS); /* 20 requests of 80 ms, two at a time, against 100 ms of arrivals */
    for (int i = 0; i < 20; i++) {
        int in_flight = 0;
        for (int k = 0; k < 20; k++)
            in_flight += b->k[k].r.t[JM_T_ADMITTED] <= b->k[i].r.t[JM_T_ADMITTED] &&
                         b->k[k].r.t[JM_T_CLOSED] > b->k[i].r.t[JM_T_ADMITTED];
        assert_in_range(in_flight, 1, 2);
    }
    free_book(b);
    mock_stop(m);
}

static void drain_ends_what_is_left(void **state)
{
    struct script s = {dripping};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    struct book *b = new_book();
    struct jm_load_sink sink = {b, keep};
    struct jm_load *l = NULL;
    struct jm_load_live live;
    struct jm_err err;
    (void)state;
    cfg.concurrency = 3;
    cfg.max_requests = 0;
    assert_int_equal(jm_load_new(&cfg, &sink, &l, &err), 0);
    assert_int_equal(jm_load_start(l, &err), 0);
    assert_int_equal(jm_load_start(l, &err), JM_ESTATE);
    for (int i = 0; i < 3000; i++) { /* until each has a token */
        jm_load_live(l, &live);
        if (live.in_flight == 3 && live.tokens >= 24)
            break;
        mock_sleep(10);
    }
    assert_int_equal(jm_load_drain(l, 50 * MS), JM_ETIMEOUT);
    assert_int_equal(b->n, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(b->k[i].r.end, JM_END_UNFINISHED);
        assert_true(b->k[i].n >= 1 && b->k[i].r.t[JM_T_FIRST_TOKEN] > 0 && b->k[i].r.t[JM_T_CLOSED] == -1);
    }
    jm_load_free(l);
    free_book(b);
    mock_stop(m);
}

static void nobody_listens(void **state)
{
    struct script s = {good};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    char url[64];
    struct jm_load *l = NULL;
    struct jm_err err = {0};
    (void)state;
    snprintf(url, sizeof url, "%s", mock_url(m));
    mock_stop(m);
    cfg.url = url;
    assert_int_equal(jm_load_new(&cfg, NULL, &l, &err), JM_ENET);
    assert_non_null(strstr(err.text, "connection refused"));
    cfg.url = "http://no-such-host.invalid:1/";
    assert_int_equal(jm_load_new(&cfg, NULL, &l, &err), JM_ENET);
    assert_non_null(strstr(err.text, "cannot be resolved"));
}

static void settings_are_checked(void **state)
{
    struct script s = {good};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load *l = NULL;
    struct jm_err err;
    (void)state;
#define REFUSED(field, value)                                                                                \
    do {                                                                                                     \
        struct jm_load_cfg cfg = base_cfg(m);                                                                \
        cfg.field = value;                                                                                   \
        assert_int_not_equal(jm_load_new(&cfg, NULL, &l, &err), 0);                                          \
        assert_non_null(strchr(err.text, ' '));                                                              \
    } while (0)
    REFUSED(url, "ftp://x");
    REFUSED(url, "http://");
    REFUSED(url, "http://h:0");
    REFUSED(url, "http://h:99999");
    REFUSED(url, "http://u@h");
    REFUSED(url, "http://h/ x");
    REFUSED(concurrency, 0);
    REFUSED(concurrency, -1);
    REFUSED(concurrency, 2000000000);
    REFUSED(isl, 0);
    REFUSED(threads, 99);
    REFUSED(threads, -1);
    REFUSED(extra_json, "[1]");
    REFUSED(extra_json, "{");
    REFUSED(prompts_path, "/nonexistent/prompts.jsonl");
    REFUSED(api_key, "a\r\nX: y");
    struct jm_load_cfg cfg = base_cfg(m);
    cfg.shape = JM_LOAD_POISSON;
    cfg.rate = 0;
    assert_int_equal(jm_load_new(&cfg, NULL, &l, &err), JM_EINVAL);
    cfg.rate = INFINITY;
    assert_int_equal(jm_load_new(&cfg, NULL, &l, &err), JM_EINVAL);
    mock_stop(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_are_in_order),
        cmocka_unit_test(every_end_has_its_class),
        cmocka_unit_test(a_refusing_endpoint_stops_the_start),
        cmocka_unit_test(failures_do_not_spin),
        cmocka_unit_test(connections_are_kept),
        cmocka_unit_test(closed_idle_connections_are_no_failures),
        cmocka_unit_test(what_got_bytes_is_not_resent),
        cmocka_unit_test(poisson_keeps_its_schedule),
        cmocka_unit_test(a_limit_delays_admission_not_the_schedule),
        cmocka_unit_test(drain_ends_what_is_left),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
