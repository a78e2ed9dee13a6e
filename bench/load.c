/* SPDX-License-Identifier: Apache-2.0 */
/* How many stream events a second one core takes, and how true their stamps are. A child process sends events
 * that carry the time at which each was sent; the load generator stamps them; the difference is the error.
 * Beside it the floor: a loop that does nothing but read and count line ends. Usage: bench-load [STREAMS
 * [SECONDS]] */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"
#include "load/load.h"

enum { TOKENS = 100, GAP_MS = 50, CONNS = 20000, DIGITS = 16 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(4);
}

/* --- the server: one thread, one send() an event, as engines do
 * ----------------------------------------------------------- */
struct conn {
    int fd, sent; /* sent: tokens of the answer under way, -1: none */
    int64_t next;
    size_t have;
    char buf[4096];
};

static void say(struct conn *c, const char *text, size_t n)
{
    if (send(c->fd, text, n, MSG_NOSIGNAL) != (ssize_t)n) {
        close(c->fd);
        c->fd = -1;
    }
}

static void reply(struct conn *c)
{
    static const char models[] = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";
    static const char none[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: "
                                "50\r\n\r\n{\"choices\":[{\"message\":{},\"finish_reason\":\"x\"}]}  ";
    if (memcmp(c->buf, "GET /v1/models", 14) == 0)
        say(c, models, sizeof models - 1);
    else if (memcmp(c->buf, "GET", 3) == 0 || memcmp(c->buf, "POST /tok", 9) == 0)
        say(c, none, sizeof none - 1);
    else if (strstr(c->buf, "\"stream\":false"))
        say(c, whole, sizeof whole - 1);
    else {
        say(c, head, sizeof head - 1);
        c->sent = 0;
        c->next = now_ns() + (GAP_MS + random() % 1000) * INT64_C(1000000); /* so that not all end at once */
    }
}

static void take(struct conn *c)
{
    ssize_t k = recv(c->fd, c->buf + c->have, sizeof c->buf - 1 - c->have, 0);
    if (k <= 0) {
        if (k == 0 || errno != EAGAIN) {
            close(c->fd);
            c->fd = -1;
        }
        return;
    }
    c->have += (size_t)k;
    c->buf[c->have] = '\0';
    char *end = strstr(c->buf, "\r\n\r\n"), *cl = strstr(c->buf, "Content-Length: ");
    size_t body = cl ? strtoul(cl + 16, NULL, 10) : 0;
    if (!end || c->have < (size_t)(end + 4 - c->buf) + body)
        return;
    c->have = 0;
    reply(c);
}

static void emit(struct conn *c)
{
    char ev[400];
    int n = snprintf(ev, sizeof ev,
                     "ff\r\ndata: "
                     "{\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion."
                     "chunk\",\"created\":1795959000,"
                     "\"model\":\"meta-llama/"
                     "Llama-3.1-8B-Instruct\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%016" PRIx64
                     "\"},\"logprobs\":null,\"finish_reason\":%s}]}\n\n\r\n",
                     (uint64_t)now_ns(), c->sent == TOKENS - 1 ? "\"x\" " : "null");
    say(c, ev, (size_t)n);
    if (++c->sent == TOKENS) { /* the end follows its last token at once, as an engine's does */
        static const char end[] = "5b\r\ndata: "
                                  "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":100,"
                                  "\"total_tokens\":0}}\n\n"
                                  "\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
        say(c, end, sizeof end - 1);
        c->sent = -1;
    }
    c->next += GAP_MS * INT64_C(1000000);
}

static void serve(int door)
{
    static struct conn conn[CONNS];
    struct epoll_event ev[256];
    int ep = epoll_create1(0), n = 0;
    struct epoll_event add = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(ep, EPOLL_CTL_ADD, door, &add);
    for (;;) {
        int k = epoll_wait(ep, ev, 256, 1);
        for (int i = 0; i < k; i++) {
            struct conn *c = ev[i].data.ptr;
            int on = 1, fd;
            if (c) {
                take(c);
            } else if ((fd = accept4(door, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                if (n == CONNS)
                    exit(4);
                conn[n] = (struct conn){.fd = fd, .sent = -1};
                struct epoll_event more = {.events = EPOLLIN, .data.ptr = &conn[n++]};
                epoll_ctl(ep, EPOLL_CTL_ADD, fd, &more);
            }
        }
        int64_t t = now_ns();
        for (int i = 0; i < n; i++)
            if (conn[i].fd >= 0 && conn[i].sent >= 0 && conn[i].next <= t)
                emit(&conn[i]);
    }
}

/* --- ours
 * -----------------------------------------------------------------------------------------------------------------
 */
struct seen {
    char (*hex)[DIGITS]; /* when it was sent */
    double *error_us;    /* first: when it was stamped */
    size_t n, cap;
    int64_t events, shared, bad;
};

static void sink(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                 struct jm_span p, struct jm_span o)
{
    struct seen *s = self;
    (void)p;
    s->events += r->events;
    s->shared += r->shared_stamp;
    s->bad += r->end != JM_END_OK && r->end != JM_END_UNFINISHED;
    for (size_t i = 0; i < n && (i + 1) * DIGITS <= o.n && s->n < s->cap; i++) {
        /* events of one read have the stamp of the last; they are flagged, and counted in a column of their
         * own */
        if ((ev[i].flags & JM_TE_SHARED) || (i + 1 < n && (ev[i + 1].flags & JM_TE_SHARED)))
            continue;
        memcpy(s->hex[s->n], o.p + i * DIGITS, DIGITS);
        s->error_us[s->n++] = (double)ev[i].t;
    }
}

/* After the run: the sink holds up a load thread. A double holds uptimes of 100 days to the nanosecond. */
static void settle(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++) {
        char hex[DIGITS + 1] = "";
        memcpy(hex, s->hex[i], DIGITS);
        s->error_us[i] = (s->error_us[i] - (double)strtoll(hex, NULL, 16)) / 1e3;
    }
    jm_stats_sort(s->error_us, s->n);
}

static double facts[3];
static void fact(void *self, const char *key, const char *value)
{
    (void)self;
    if (strcmp(key, "load.read_lag.p99_ms") == 0)
        facts[0] = strtod(value, NULL);
    if (strcmp(key, "load.stamps.kernel") == 0)
        facts[1] = strtod(value, NULL);
    if (strcmp(key, "load.stamps.user") == 0)
        facts[2] = strtod(value, NULL);
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void ours(int port, int streams, int seconds)
{
    char url[64];
    struct seen s = {.cap = (size_t)streams * 20 * (size_t)(seconds + 12)};
    struct jm_load_sink k = {&s, sink};
    struct jm_load *l;
    struct jm_load_live a, b;
    struct jm_err err;
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    struct jm_load_cfg cfg = {.url = url,
                              .model = "m",
                              .concurrency = streams,
                              .isl = 8,
                              .temperature = NAN,
                              .keep_text = true,
                              .threads = 1};
    s.error_us = malloc(s.cap * sizeof *s.error_us);
    s.hex = malloc(s.cap * sizeof *s.hex);
    if (jm_load_new(&cfg, &k, &l, &err) != 0 || jm_load_start(l, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(4);
    }
    sleep(1);
    jm_load_live(l, &a);
    double c0 = cpu_s();
    int64_t t0 = now_ns();
    sleep((unsigned)seconds);
    jm_load_live(l, &b);
    double c1 = cpu_s(), wall = (double)(now_ns() - t0) / 1e9;
    jm_load_drain(l, 6 * JM_NS_PER_S);
    jm_load_facts(l, fact, NULL);
    jm_load_free(l);
    double events = (double)(b.tokens - a.tokens);
    settle(&s);
    printf("%-8s %6d %9.0f %6.1f %7.2f  %7.1f %8.1f %8.1f  %8.3f %5.1f %6.2f %4" PRId64 "\n", "ours", streams,
           events / wall, 100 * (c1 - c0) / wall, 1e6 * (c1 - c0) / events,
           jm_stats_quantile_sorted(s.error_us, s.n, 0.5), jm_stats_quantile_sorted(s.error_us, s.n, 0.99),
           jm_stats_quantile_sorted(s.error_us, s.n, 0.999), facts[0], 100 * facts[1] / (facts[1] + facts[2]),
           s.events ? 100 * (double)s.shared / (double)s.events : NAN, s.bad);
    free(s.error_us);
    free(s.hex);
}

/* --- the floor
 * --------------------------------------------------------------------------------------------------------------
 */
static void bare(int port, int streams, int seconds)
{
    static char buf[1 << 18];
    static const char request[] =
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 15\r\n\r\n{\"stream\":true}";
    int ep = epoll_create1(0);
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    for (int i = 0; i < streams; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0 || send(fd, request, sizeof request - 1, 0) < 0)
            die("connect");
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
        fcntl(fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    }
    double c0 = 0, events = 0;
    int64_t begin = now_ns() + INT64_C(1000000000), end = begin + seconds * INT64_C(1000000000);
    bool counting = false;
    while (now_ns() < end) {
        struct epoll_event ev[256];
        int n = epoll_wait(ep, ev, 256, 10);
        if (!counting && now_ns() >= begin) {
            counting = true;
            c0 = cpu_s();
            events = 0;
        }
        for (int i = 0; i < n; i++) {
            ssize_t k = recv(ev[i].data.fd, buf, sizeof buf, 0);
            for (char *p = buf; k > 0 && (p = memmem(p, (size_t)(buf + k - p), "\n\n", 2)); p += 2)
                events++;
            if (k >= 5 && memcmp(buf + k - 5, "0\r\n\r\n", 5) == 0)
                (void)!send(ev[i].data.fd, request, sizeof request - 1, 0);
        }
    }
    double c = cpu_s() - c0;
    printf("%-8s %6d %9.0f %6.1f %7.2f\n", "floor", streams, events / seconds, 100 * c / seconds,
           1e6 * c / events);
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    static const int all[] = {100, 500, 1000, 2000, 4000};
    int seconds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5,
        given = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    struct rlimit lim;
    getrlimit(RLIMIT_NOFILE, &lim);
    lim.rlim_cur = lim.rlim_max;
    setrlimit(RLIMIT_NOFILE, &lim);
    printf("%-8s %6s %9s %6s %7s  %7s %8s %8s  %8s %5s %6s %4s\n", "client", "stream", "events/s", "core %",
           "us/ev", "err p50", "p99", "p99.9 us", "read p99", "kern%", "shar%", "bad");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int streams = given ? given : all[i];
        for (int mode = 0; mode < 2; mode++) {
            int door = socket(AF_INET, SOCK_STREAM, 0);
            a.sin_port = 0;
            if (bind(door, (struct sockaddr *)&a, sizeof a) != 0 || listen(door, 4096) != 0 ||
                getsockname(door, (struct sockaddr *)&a, &n) != 0)
                die("listen");
            fflush(stdout);
            pid_t pid = fork();
            if (pid == 0)
                serve(door);
            close(door);
            (mode ? bare : ours)(ntohs(a.sin_port), streams, seconds);
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        if (given)
            break;
    }
    return 0;
}
