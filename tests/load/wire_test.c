/* SPDX-License-Identifier: Apache-2.0 */
/* What happens on the wire between the load generator and servers that close, hurry, dawdle or never end. */
#include <netinet/in.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load/book.h"
#include "load/client.h"

/* --- connections that are about to be closed
 * -------------------------------------------------------------------------------------------------------- */
static bool answer_with(struct mock_conn *c, const char *headers)
{
    char head[256];
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%sTransfer-Encoding: chunked\r\n\r\n",
             headers);
    mock_raw(c, head);
    mock_token(c, "a");
    mock_finish(c, "length", 24, 1);
    return true;
}

/* Apache counts down; this one resets whoever sends one request too many, as if it closed at that moment. */
static bool counts_down(struct mock_conn *c, const struct mock_request *r)
{
    char keep[64];
    if (r->on_conn >= 3) {
        mock_reset(c);
        return false;
    }
    snprintf(keep, sizeof keep, "Keep-Alive: timeout=60, max=%d\r\n", 2 - r->on_conn);
    return answer_with(c, keep);
}

/* llama-server (cpp-httplib) writes the same two numbers into every answer. */
static bool constant_most(struct mock_conn *c, const struct mock_request *r)
{
    if (r->on_conn >= 3) {
        mock_reset(c);
        return false;
    }
    return answer_with(c, "Keep-Alive: timeout=60, max=3\r\n");
}

static void renewed_before_the_last_request(void **state)
{
    bool (*const servers[])(struct mock_conn *, const struct mock_request *) = {counts_down, constant_most};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct script s = {servers[i]};
        struct mock *m = mock_start(scripted, &s);
        struct jm_load_cfg cfg = base_cfg(m);
        struct facts f;
        cfg.max_requests = 60;
        cfg.concurrency = 2;
        struct book *b = run(&cfg, 5000, NULL, NULL, &f);
        assert_int_equal(b->n, 60);
        for (int k = 0; k < b->n; k++)
            if (b->k[k].r.end != JM_END_OK)
                fail_msg("request %d: %s: %s", k, jm_end_name((int)b->k[k].r.end), b->k[k].r.error);
        /* none was sent twice: each connection was given up in time */
        assert_int_equal(mock_requests(m, "/v1/chat/completions"), 60 + 1);
        assert_non_null(strstr(f.text, "load.resent=0\n"));
        assert_null(strstr(f.text, "load.renewed=0\n"));
        free_book(b);
        mock_stop(m);
    }
}

/* timeout=1: a second of idleness closes it. The open loop's next request comes after that. */
static bool one_second(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    return answer_with(c, "Keep-Alive: timeout=1\r\n");
}

static void an_idle_connection_is_renewed_in_time(void **state)
{
    struct script s = {one_second};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    struct facts f;
    (void)state;
    cfg.shape = JM_LOAD_POISSON;
    cfg.concurrency = 1;
    cfg.rate = 0.8;
    cfg.seed = 2;
    cfg.max_requests = 3;
    struct book *b = run(&cfg, 9000, NULL, NULL, &f);
    for (int k = 0; k < b->n; k++) {
        const struct jm_request *r = &b->k[k].r;
        if (r->end == JM_END_UNFINISHED)
            continue;
        assert_int_equal(r->end, JM_END_OK);
        /* no connection is used that has been idle for as long as the server said */
        if (k && r->reused)
            assert_true(r->t[JM_T_SENT] - b->k[k - 1].r.t[JM_T_CLOSED] < 1000 * MS);
    }
    assert_non_null(strstr(f.text, "load.resent=0\n"));
    free_book(b);
    mock_stop(m);
}

/* --- answers that come too early
 * -------------------------------------------------------------------------------------------------------- */
/* A server that says no after the head of a request, without reading its body, and closes: the socket is
 * reset under the client's hands, with an answer waiting in it. Plain sockets, since the mock reads whole
 * requests. */
struct rude {
    int door, port, requests;
    bool keeps_reading;
    pthread_t thread;
};

static void talk(struct rude *s, int fd)
{
    static const char models[] = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";
    static const char none[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    static const char no[] =
        "HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\nContent-Length: "
        "40\r\n\r\n{\"error\":{\"message\":\"too long for me !\"}}";
    char buf[2048];
    size_t have = 0;
    ssize_t k = 0;
    while (have < sizeof buf - 1 && (k = recv(fd, buf + have, sizeof buf - 1 - have, 0)) > 0) {
        have += (size_t)k;
        buf[have] = '\0';
        if (strstr(buf, "\r\n\r\n"))
            break;
    }
    buf[have] = '\0';
    if (k <= 0)
        return;
    if (strncmp(buf, "GET /v1/models", 14) == 0) {
        (void)!send(fd, models, sizeof models - 1, MSG_NOSIGNAL);
    } else if (strncmp(buf, "POST /v1/", 9) != 0) {
        (void)!send(fd, none, sizeof none - 1, MSG_NOSIGNAL);
    } else {
        s->requests++;
        (void)!send(fd, no, sizeof no - 1, MSG_NOSIGNAL);
        mock_sleep(50); /* the answer is in the client's socket; then what it still sends meets a reset */
        while (s->keeps_reading && recv(fd, buf, sizeof buf, 0) > 0)
            ;
    }
}

static void *rude_run(void *arg)
{
    struct rude *s = arg;
    int fd;
    while ((fd = accept(s->door, NULL, NULL)) >= 0) {
        talk(s, fd);
        close(fd);
    }
    return NULL;
}

static void rude_start(struct rude *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    int small = 4096;
    s->door = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(s->door, SOL_SOCKET, SO_RCVBUF, &small, sizeof small); /* so that the request does not fit */
    assert_int_equal(bind(s->door, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->door, 16), 0);
    assert_int_equal(getsockname(s->door, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    pthread_create(&s->thread, NULL, rude_run, s);
}

static void rude_stop(struct rude *s)
{
    shutdown(s->door, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->door);
}

static void an_answer_before_the_request_is_sent(void **state)
{
    char path[] = "/tmp/jm-wire-XXXXXX", url[64];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    (void)state;
    fputs("{\"prompt\":\"", f);
    for (int i = 0; i < 3 << 20; i++) /* more than the buffers of two sockets */
        fputc('a' + i % 26, f);
    fputs("\"}\n", f);
    fclose(f);
    for (int reads = 0; reads < 2; reads++) {
        struct rude s = {.keeps_reading = reads};
        rude_start(&s);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", s.port);
        struct jm_load_cfg cfg = {.url = url,
                                  .model = "m",
                                  .concurrency = 1,
                                  .prompts_path = path,
                                  .temperature = NAN,
                                  .max_requests = 2,
                                  .stall_ns = 3000 * MS};
        int rc;
        struct book *b = run(&cfg, 8000, &rc, NULL, NULL);
        assert_true(b->n >= 1);
        for (int k = 0; k < b->n; k++) {
            const struct jm_request *r = &b->k[k].r;
            if (r->end == JM_END_UNFINISHED)
                continue;
            if (r->end != JM_END_HTTP_CLIENT || r->http_status != 413 || !strstr(r->error, "too long for me"))
                fail_msg("%s, %d: %s", jm_end_name((int)r->end), r->http_status, r->error);
            assert_true(r->t[JM_T_SENT] < 0); /* it never was, as a whole */
            assert_false(r->reused);          /* the rest of a request must not lead the next one */
        }
        rude_stop(&s);
        assert_int_equal(s.requests, b->n); /* nothing was sent twice */
        free_book(b);
    }
    unlink(path);
}

/* --- answers that never end
 * -------------------------------------------------------------------------------------------------------- */
static void forever(struct mock_conn *c, const char *piece)
{
    for (int i = 0; i < 200000; i++)
        mock_raw(c, piece);
}

#define JUNK "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static bool endless_status(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_raw(c, "HTTP/1.1 200 ");
    forever(c, JUNK);
    return false;
}

static bool endless_header(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_raw(c, "HTTP/1.1 200 OK\r\nX: ");
    forever(c, JUNK);
    return false;
}

static bool endless_headers(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_raw(c, "HTTP/1.1 200 OK\r\n");
    forever(c, "A: b\r\n");
    return false;
}

static bool endless_interim(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    forever(c, "HTTP/1.1 103 Early Hints\r\n\r\n");
    return false;
}

static bool endless_chunk_size(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    forever(c, "0000000000000000000000000000000000000000000000000000000000000000");
    return false;
}

static bool endless_chunk_extension(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_raw(c, "5;x=");
    forever(c, JUNK);
    return false;
}

static bool endless_trailers(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_raw(c, "0\r\n");
    forever(c, "A: b\r\n");
    return false;
}

static bool endless_event(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_chunk(c, "data: {\"a\":\"");
    for (int i = 0; i < 200000; i++)
        mock_chunk(c, JUNK);
    return false;
}

static bool endless_blanks(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    forever(c, "\r\n");
    return false;
}

static void what_never_ends_is_ended(void **state)
{
    static const struct {
        const char *name;
        bool (*answer)(struct mock_conn *, const struct mock_request *);
        const char *words;
    } rows[] = {
        {"status line", endless_status, "the head of the answer is longer than"},
        {"header", endless_header, "the head of the answer is longer than"},
        {"headers", endless_headers, "header lines"},
        {"interim answers", endless_interim, "interim (1xx) answers"},
        {"chunk size", endless_chunk_size, "chunk"},
        {"chunk extension", endless_chunk_extension, "chunk"},
        {"trailers", endless_trailers, "trailers"},
        {"event", endless_event, "a stream event is longer than"},
        {"blank lines", endless_blanks, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jm_request r = one(rows[i].answer, NULL);
        if (r.end != JM_END_PROTOCOL || !strstr(r.error, rows[i].words))
            fail_msg("%s: %s: %s", rows[i].name, jm_end_name((int)r.end), r.error);
    }
}

/* Slow-loris: each byte comes long before the limit of stillness, the whole never. */
static void drip(struct mock_conn *c, const char *text)
{
    for (; *text; text++) {
        mock_bytes(c, text, 1);
        mock_sleep(15);
    }
}

static bool dripping_head(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    for (int i = 0; i < 2; i++)
        drip(c, i ? "X-Slow: aaaaaaaaaaaaaaaaaaaa\r\n" : "HTTP/1.1 200 OK\r\n");
    return false;
}

static bool dripping_comments(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    for (int i = 0; i < 60; i++) {
        mock_chunk(c, ": keep-alive\n");
        mock_sleep(15);
    }
    return false;
}

static void patient(struct jm_load_cfg *cfg)
{
    cfg->header_ns = 300 * MS;
    cfg->stall_ns = 200 * MS;
    cfg->total_ns = 700 * MS;
}

static void slow_loris_is_ended(void **state)
{
    (void)state;
    struct jm_request r = one(dripping_head, patient);
    assert_int_equal(r.end, JM_END_STALLED);
    assert_non_null(strstr(r.error, "no response header within the client's limit of 0.3 s"));
    /* a machine with other work may not drip as often as it should, and another limit ends it */
    for (int tries = 0; tries < 5; tries++) {
        r = one(dripping_comments, patient);
        if (r.end == JM_END_TIMEOUT)
            break;
    }
    assert_int_equal(r.end, JM_END_TIMEOUT);
    assert_non_null(strstr(r.error, "client's limit of 0.7 s"));
}

/* TensorRT-LLM PR 13952, inference-perf 283: events of 512 KB and 1 MB. */
static bool megabyte(struct mock_conn *c, const struct mock_request *r)
{
    enum { N = 1 << 20 };
    char *text = malloc(N + 128);
    int n = snprintf(text, 128, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"");
    (void)r;
    memset(text + n, 'm', N);
    snprintf(text + n + N, 64, "\"},\"finish_reason\":null}]}\n\n");
    mock_stream(c);
    mock_chunk(c, text);
    mock_token(c, "x");
    mock_finish(c, "length", 24, 2);
    free(text);
    return true;
}

static void events_of_a_megabyte(void **state)
{
    (void)state;
    struct jm_request r = one(megabyte, NULL);
    assert_int_equal(r.end, JM_END_OK);
    assert_int_equal(r.events, 2);
    assert_int_equal(r.output_bytes, (1 << 20) + 1);
}

/* --- no connection to be had
 * -------------------------------------------------------------------------------------------------------- */
static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++)
        n += dup2(fd, fd) == fd;
    return n;
}

struct counts {
    int by_end[JM_END_COUNT], n;
    char words[160];
};

static void count_end(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                      struct jm_span p, struct jm_span o)
{
    struct counts *c = self;
    (void)ev;
    (void)n;
    (void)p;
    (void)o;
    c->n++;
    c->by_end[r->end]++;
    if (r->end == JM_END_REFUSED)
        memcpy(c->words, r->error, sizeof c->words);
}

/* The server goes away under 10,000 requests of an open loop: each is refused, has its schedule and its
 * reason, and no file stays open. */
static bool last_words(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    answer_with(c, "Connection: close\r\n");
    return false;
}

static void ten_thousand_refusals(void **state)
{
    enum { N = 10000 };
    struct script s = {last_words};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    static struct counts c;
    struct jm_load_sink sink = {&c, count_end};
    struct jm_load *l;
    struct jm_load_live live;
    struct jm_err err;
    (void)state;
    cfg.shape = JM_LOAD_POISSON;
    cfg.concurrency = 0;
    cfg.rate = 5000;
    cfg.max_requests = N;
    int before = open_files();
    assert_int_equal(jm_load_new(&cfg, &sink, &l, &err), 0);
    assert_int_equal(jm_load_start(l, &err), 0);
    mock_stop(m);
    do {
        mock_sleep(20);
        jm_load_live(l, &live);
    } while (live.finished < N && live.started < N);
    jm_load_drain(l, 30000 * MS);
    jm_load_free(l);
    assert_int_equal(c.n, N);
    assert_true(c.by_end[JM_END_REFUSED] > N / 2);
    assert_int_equal(c.by_end[JM_END_OK] + c.by_end[JM_END_REFUSED] + c.by_end[JM_END_CUT] +
                         c.by_end[JM_END_UNFINISHED],
                     N);
    assert_non_null(strstr(c.words, "nothing listens at 127.0.0.1:"));
    assert_true(open_files() <= before); /* the mock's own are closed too */
}

/* The limit of open files is reached while the load goes on: the sentence names it and the command. */
static bool never_done(struct mock_conn *c, const struct mock_request *r)
{
    (void)r;
    mock_stream(c);
    mock_token(c, "a");
    mock_sleep(700);
    return false;
}

static void out_of_files(void **state)
{
    struct script s = {never_done};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    static struct counts c;
    struct jm_load_sink sink = {&c, count_end};
    struct jm_load *l;
    struct jm_load_live live;
    struct jm_err err;
    struct rlimit old, low;
    (void)state;
    cfg.shape = JM_LOAD_POISSON;
    cfg.concurrency = 0;
    cfg.rate = 400;
    cfg.max_requests = 300;
    assert_int_equal(jm_load_new(&cfg, &sink, &l, &err), 0);
    assert_int_equal(jm_load_start(l, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = (rlim_t)open_files() + 20; /* the server's files are this process's too */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    do {
        mock_sleep(20);
        jm_load_live(l, &live);
    } while (live.started < 300);
    setrlimit(RLIMIT_NOFILE, &old);
    jm_load_drain(l, 3000 * MS);
    jm_load_free(l);
    char limit[64];
    snprintf(limit, sizeof limit, "limit of %llu open files", (unsigned long long)low.rlim_cur);
    if (!strstr(c.words, limit) || !strstr(c.words, "ulimit -n"))
        fail_msg("%s", c.words);
    /* asked for beforehand, it is refused with the command */
    cfg.shape = JM_LOAD_CLOSED;
    cfg.concurrency = (int)(old.rlim_cur > 900000 ? 999999 : old.rlim_cur);
    int rc = jm_load_new(&cfg, &sink, &l, &err);
    assert_true(rc == JM_ELIMIT || rc == JM_EINVAL);
    assert_non_null(strstr(err.text, "ulimit -n"));
    mock_stop(m);
}

/* What is asked before the load is waited for as long as the header's limit says, which is not so short that
 * a busy engine could not say its name in it. */
static void limit_to_what_is_asked_first(void **state)
{
    static const int64_t given[] = {0, MS, 5000 * MS, 90000 * MS}, want[] = {30000, 3000, 5000, 90000};
    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct jm_load_cfg cfg = {.url = "http://127.0.0.1:9", .header_ns = given[i]};
        struct jm_client c;
        struct jm_err err;
        assert_int_equal(jm_client_init(&c, &cfg, &err), 0);
        assert_int_equal(c.ask_ns, want[i] * MS);
        jm_client_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renewed_before_the_last_request),
        cmocka_unit_test(an_idle_connection_is_renewed_in_time),
        cmocka_unit_test(an_answer_before_the_request_is_sent),
        cmocka_unit_test(what_never_ends_is_ended),
        cmocka_unit_test(slow_loris_is_ended),
        cmocka_unit_test(events_of_a_megabyte),
        cmocka_unit_test(ten_thousand_refusals),
        cmocka_unit_test(out_of_files),
        cmocka_unit_test(limit_to_what_is_asked_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
