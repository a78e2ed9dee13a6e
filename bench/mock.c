/* SPDX-License-Identifier: Apache-2.0 */
/* The server that bench/loadgen measures load tools against: OpenAI's API as vLLM streams it, on an exact
 * schedule, with the truth of what it did. One thread, epoll, one send() an event, as engines do. The
 * self-check's server (load/selfmock.h) speaks to our client alone and shares its memory; this one answers
 * any client over HTTP.
 *
 *   bench-mock [--ttft MS] [--gap MS] [--tokens N] [--bytes N]      prints {"port": N} and serves until
 * SIGTERM
 *
 *   GET  /v1/models            one model, "mock"
 *   POST /v1/chat/completions, /v1/completions    streams max_tokens (or --tokens) events; role chunk, usage,
 * [DONE] GET  /mock/reset           forgets the truth so far GET  /mock/truth           {"answers", "events",
 * "first_ns", "last_ns", "blocked", "ttft_ms": {...}, "gap_ms": {...}, "late_ms": {...}}; times are
 * CLOCK_MONOTONIC
 *
 * An answer's time to first token is from the last byte of its request, by the kernel's stamp, to its first
 * event. */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"
#include "load/stamp.h"

enum { REQUEST_MOST = 1 << 20, AT_ONCE = 256, KEPT = 4 << 20 };

struct conn {
    struct conn *next; /* of its queue */
    int fd, token, tokens;
    bool chat, usage;
    int64_t due, arrived, last;
    size_t have, cap, prompt;
    char *buf;
};

struct queue {
    struct conn *first, *last;
};

struct samples { /* of one kind, ms */
    double *v;
    size_t n;
};

static struct {
    int64_t ttft_ns, gap_ns, first, last;
    int tokens, bytes, epoll, door;
    long answers, events, blocked;
    struct queue begin, go;
    struct samples ttft, gap, late;
    char event[2][1200]; /* completions, chat */
    size_t event_n[2];
    struct jm_clock clock;
    struct jm_stamps stamps;
} m;

static volatile sig_atomic_t stop;

static void on_signal(int s)
{
    (void)s;
    stop = 1;
}

static void die(const char *what)
{
    perror(what);
    exit(4);
}

static void sample(struct samples *s, int64_t ns)
{
    if (s->n < KEPT)
        s->v[s->n++] = (double)ns / 1e6;
}

static void put(struct queue *q, struct conn *c)
{
    c->next = NULL;
    if (q->last)
        q->last->next = c;
    else
        q->first = c;
    q->last = c;
}

static struct conn *take(struct queue *q)
{
    struct conn *c = q->first;
    q->first = c->next;
    if (!q->first)
        q->last = NULL;
    return c;
}

static void hang_up(struct conn *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    free(c->buf);
    c->buf = NULL;
    if (c->token < 0) /* in no queue */
        free(c);
}

/* False: the connection is gone (and c may be). */
static bool say(struct conn *c, const char *p, size_t n)
{
    if (c->fd >= 0 && send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n)
        return true;
    m.blocked += c->fd >= 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    hang_up(c);
    return false;
}

static void parse(struct conn *c);

/* ---- answers
 * -------------------------------------------------------------------------------------------- */

/* An event of the length asked for; what fills it up stands in its id. */
static void make_event(int chat)
{
    const char *mid =
        chat ? "\",\"object\":\"chat.completion.chunk\",\"created\":1795959000,\"model\":\"mock\","
               "\"choices\":[{"
               "\"index\":0,\"delta\":{\"content\":\" the\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n"
             : "\",\"object\":\"text_completion\",\"created\":1795959000,\"model\":\"mock\",\"choices\":[{"
               "\"index\":0,"
               "\"text\":\" the\",\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    char pad[900];
    size_t fixed = strlen("data: {\"id\":\"cmpl-") + strlen(mid);
    size_t fill = (size_t)m.bytes > fixed + 8 ? (size_t)m.bytes - fixed : 8;
    fill = fill < sizeof pad - 1 ? fill : sizeof pad - 1;
    memset(pad, 'a', fill);
    pad[fill] = '\0';
    int n = snprintf(m.event[chat], sizeof m.event[0], "%zx\r\ndata: {\"id\":\"cmpl-%s%s\r\n", fixed + fill,
                     pad, mid);
    m.event_n[chat] = (size_t)n;
}

static size_t chunk(char *buf, size_t cap, const char *text)
{
    int n = snprintf(buf, cap, "%zx\r\n%s\r\n", strlen(text), text);
    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

static bool finish(struct conn *c)
{
    char text[400], end[1200];
    size_t n = 0;
    n += chunk(end + n, sizeof end - n,
               c->chat ? "data: "
                         "{\"id\":\"cmpl-a\",\"object\":\"chat.completion.chunk\",\"created\":1795959000,"
                         "\"model\":\"mock\","
                         "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"logprobs\":null,\"finish_"
                         "reason\":\"length\"}]}\n\n"
                       : "data: "
                         "{\"id\":\"cmpl-a\",\"object\":\"text_completion\",\"created\":1795959000,\"model\":"
                         "\"mock\",\"choices\":"
                         "[{\"index\":0,\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"length\"}]}\n\n");
    if (c->usage) {
        snprintf(text, sizeof text,
                 "data: "
                 "{\"id\":\"cmpl-a\",\"object\":\"%s\",\"created\":1795959000,\"model\":\"mock\",\"choices\":"
                 "[],\"usage\":"
                 "{\"prompt_tokens\":%zu,\"total_tokens\":%zu,\"completion_tokens\":%d}}\n\n",
                 c->chat ? "chat.completion.chunk" : "text_completion", c->prompt,
                 c->prompt + (size_t)c->tokens, c->tokens);
        n += chunk(end + n, sizeof end - n, text);
    }
    n += chunk(end + n, sizeof end - n, "data: [DONE]\n\n");
    n += chunk(end + n, sizeof end - n, "");
    m.answers++;
    return say(c, end, n);
}

/* The first token with the role chunk in front, as one write: that of the first step. */
static bool first(struct conn *c)
{
    char both[2400];
    size_t n = c->chat ? chunk(both, sizeof both,
                               "data: "
                               "{\"id\":\"cmpl-a\",\"object\":\"chat.completion.chunk\",\"created\":"
                               "1795959000,\"model\":\"mock\","
                               "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"
                               ",\"logprobs\":null,"
                               "\"finish_reason\":null}]}\n\n")
                       : 0;
    memcpy(both + n, m.event[c->chat], m.event_n[c->chat]);
    return say(c, both, n + m.event_n[c->chat]);
}

static void emit(struct conn *c)
{
    if (c->fd < 0) {
        free(c);
        return;
    }
    int64_t t = jm_clock_mono(&m.clock);
    sample(&m.late, t - c->due);
    if (c->token == 0)
        sample(&m.ttft, t - c->arrived);
    else
        sample(&m.gap, t - c->last);
    c->last = m.last = t;
    m.events++;
    int at = c->token;
    c->token = -1; /* in no queue: whoever hangs up frees it */
    if (!(at == 0 ? first(c) : say(c, m.event[c->chat], m.event_n[c->chat])))
        return;
    if (at + 1 == c->tokens) {
        if (finish(c) && c->have)
            parse(c);
        return;
    }
    c->token = at + 1;
    c->due += m.gap_ns;
    put(&m.go, c);
}

static void json(struct conn *c, const char *status, const char *body)
{
    char out[2048];
    int n = snprintf(out, sizeof out,
                     "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", status,
                     strlen(body), body);
    say(c, out, (size_t)n);
}

static void quantiles(char *out, size_t cap, struct samples *s)
{
    double mean = 0, v[3] = {0, 0, 0};
    static const double q[] = {0.5, 0.9, 0.99};
    jm_stats_sort(s->v, s->n);
    for (int i = 0; s->n && i < 3; i++) /* between the neighbours, as the tools do */
        v[i] = jm_stats_quantile_sorted(s->v, s->n, q[i]);
    if (s->n)
        mean = jm_stats_mean(s->v, s->n);
    snprintf(out, cap, "{\"n\":%zu,\"mean\":%.6f,\"p50\":%.6f,\"p90\":%.6f,\"p99\":%.6f}", s->n, mean, v[0],
             v[1], v[2]);
}

static void truth(struct conn *c)
{
    char body[1200], a[200], b[200], l[200];
    quantiles(a, sizeof a, &m.ttft);
    quantiles(b, sizeof b, &m.gap);
    quantiles(l, sizeof l, &m.late);
    snprintf(body, sizeof body,
             "{\"answers\":%ld,\"events\":%ld,\"blocked\":%ld,\"first_ns\":%" PRId64 ",\"last_ns\":%" PRId64
             ",\"ttft_ms\":%s,\"gap_ms\":%s,\"late_ms\":%s}",
             m.answers, m.events, m.blocked, m.first, m.last, a, b, l);
    json(c, "200 OK", body);
}

static bool starts(const char *s, size_t n, const char *with)
{
    size_t k = strlen(with);
    return n >= k && memcmp(s, with, k) == 0;
}

/* The number behind a key, blanks aside; -1. */
static long number_of(const char *body, size_t n, const char *key)
{
    const char *p = memmem(body, n, key, strlen(key)), *end = body + n;
    long v = 0;
    if (!p)
        return -1;
    for (p += strlen(key); p < end && (*p == ' ' || *p == ':'); p++)
        ;
    if (p >= end || *p < '0' || *p > '9')
        return -1;
    for (; p < end && *p >= '0' && *p <= '9' && v < 1000000; p++)
        v = 10 * v + (*p - '0');
    return v;
}

static bool flag_of(const char *body, size_t n, const char *key)
{
    const char *p = memmem(body, n, key, strlen(key)), *end = body + n;
    if (!p)
        return false;
    for (p += strlen(key); p < end && (*p == ' ' || *p == ':'); p++)
        ;
    return end - p >= 4 && memcmp(p, "true", 4) == 0;
}

static void answer(struct conn *c, const char *req, size_t head, size_t n)
{
    static const char begin[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: "
        "chunked\r\n\r\n";
    const char *body = req + head;
    size_t b = n - head;
    if (starts(req, n, "GET /v1/models")) {
        json(c, "200 OK",
             "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\"created\":1795959000,"
             "\"owned_by\":"
             "\"joulemark\",\"root\":\"mock\",\"parent\":null,\"max_model_len\":131072}]}");
    } else if (starts(req, n, "GET /health")) {
        json(c, "200 OK", "{}");
    } else if (starts(req, n, "GET /mock/reset")) {
        m.ttft.n = m.gap.n = m.late.n = 0;
        m.answers = m.events = m.blocked = 0;
        m.first = m.last = 0;
        json(c, "200 OK", "{}");
    } else if (starts(req, n, "GET /mock/truth")) {
        truth(c);
    } else if (!starts(req, n, "POST /v1/chat/completions") && !starts(req, n, "POST /v1/completions")) {
        json(c, "404 Not Found",
             "{\"error\":{\"message\":\"not here\",\"type\":\"NotFoundError\",\"code\":404}}");
    } else {
        long want = number_of(body, b, "\"max_tokens\"");
        want = want > 0 ? want : number_of(body, b, "\"max_completion_tokens\"");
        c->chat = starts(req, n, "POST /v1/chat");
        c->tokens = want > 0 ? (int)want : m.tokens;
        c->usage = flag_of(body, b, "\"include_usage\"");
        c->prompt = b / 5 + 1;
        if (!flag_of(body, b, "\"stream\"")) {
            char text[600];
            snprintf(text, sizeof text,
                     "{\"id\":\"cmpl-a\",\"object\":\"%s\",\"created\":1795959000,\"model\":\"mock\","
                     "\"choices\":[{\"index\":0,%s,"
                     "\"logprobs\":null,\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":%zu,"
                     "\"total_tokens\":%zu,"
                     "\"completion_tokens\":%d}}",
                     c->chat ? "chat.completion" : "text_completion",
                     c->chat ? "\"message\":{\"role\":\"assistant\",\"content\":\" the\"}"
                             : "\"text\":\" the\"",
                     c->prompt, c->prompt + (size_t)c->tokens, c->tokens);
            json(c, "200 OK", text);
            return;
        }
        if (!say(c, begin, sizeof begin - 1))
            return;
        m.first = m.first ? m.first : c->arrived;
        c->token = 0;
        c->due = c->arrived + m.ttft_ns;
        put(&m.begin, c);
    }
}

/* ---- connections
 * -------------------------------------------------------------------------------------------- */

/* Whole requests in the buffer; one at a time is answered, as HTTP/1.1 clients wait. */
static void parse(struct conn *c)
{
    char *end = memmem(c->buf, c->have, "\r\n\r\n", 4);
    if (!end)
        return;
    size_t head = (size_t)(end - c->buf) + 4;
    char save = c->buf[head - 1];
    c->buf[head - 1] = '\0';
    const char *cl = strcasestr(c->buf, "\r\ncontent-length:");
    long body = cl ? number_of(cl + 2, head - (size_t)(cl + 2 - c->buf), ":") : 0;
    c->buf[head - 1] = save;
    body = body > 0 ? body : 0;
    if (c->have < head + (size_t)body)
        return;
    size_t n = head + (size_t)body;
    c->have -= n; /* before the answer, which may free c */
    char *buf = c->buf;
    c->buf = NULL;
    size_t rest = c->have;
    c->have = 0;
    c->cap = 0;
    if (rest && (c->buf = malloc(rest + 1))) { /* a pipelined one: kept until the next read */
        memcpy(c->buf, buf + n, rest);
        c->have = c->cap = rest;
    }
    answer(c, buf, head, n);
    free(buf);
}

static void readable(struct conn *c)
{
    static char buf[1 << 16];
    union {
        char b[CMSG_SPACE(sizeof(struct timespec)) + 64];
        struct cmsghdr align;
    } control;
    struct iovec v = {buf, sizeof buf};
    struct msghdr h = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t k = recvmsg(c->fd, &h, MSG_DONTWAIT);
    if (k < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (k <= 0 || c->have + (size_t)k > REQUEST_MOST) {
        hang_up(c);
        return;
    }
    c->arrived = jm_stamps_of(&m.stamps, &h, jm_clock_mono(&m.clock), 0);
    if (c->have + (size_t)k + 1 > c->cap) {
        size_t cap = c->have + (size_t)k + 1;
        char *p = realloc(c->buf, cap);
        if (!p) {
            hang_up(c);
            return;
        }
        c->buf = p;
        c->cap = cap;
    }
    memcpy(c->buf + c->have, buf, (size_t)k);
    c->have += (size_t)k;
    c->buf[c->have] = '\0';
    if (c->token < 0)
        parse(c);
}

static void welcome(void)
{
    int fd, on = 1;
    while ((fd = accept4(m.door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        jm_stamps_enable(fd);
        struct conn *c = calloc(1, sizeof *c);
        if (!c) {
            close(fd);
            continue;
        }
        c->fd = fd;
        c->token = -1;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(m.epoll, EPOLL_CTL_ADD, fd, &e);
    }
}

static int64_t next_due(int64_t now)
{
    int64_t t = now + 20 * JM_NS_PER_MS;
    if (m.begin.first && m.begin.first->due < t)
        t = m.begin.first->due;
    if (m.go.first && m.go.first->due < t)
        t = m.go.first->due;
    return t;
}

static bool one_due(int64_t now)
{
    struct queue *q =
        m.go.first && (!m.begin.first || m.go.first->due <= m.begin.first->due) ? &m.go : &m.begin;
    if (!q->first || q->first->due > now)
        return false;
    emit(take(q));
    return true;
}

static void serve(void)
{
    struct epoll_event ev[AT_ONCE];
    while (!stop) {
        int64_t now = jm_clock_mono(&m.clock), wait = next_due(now) - now;
        struct pollfd p = {.fd = m.epoll, .events = POLLIN};
        struct timespec ts = {0, wait > 0 ? wait : 0};
        if (wait > 0 && ppoll(&p, 1, &ts, NULL) < 0 && errno != EINTR)
            die("ppoll");
        int k = epoll_wait(m.epoll, ev, AT_ONCE, 0);
        now = jm_clock_mono(&m.clock);
        jm_stamps_pair(&m.stamps, now);
        for (int i = 0; i < k; i++) {
            if (!ev[i].data.ptr)
                welcome();
            else if (((struct conn *)ev[i].data.ptr)->fd >= 0)
                readable(ev[i].data.ptr);
        }
        for (int i = 0; i < AT_ONCE && one_due(now); i++)
            ;
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    struct rlimit lim;
    m.ttft_ns = 50 * JM_NS_PER_MS;
    m.gap_ns = 10 * JM_NS_PER_MS;
    m.tokens = 100;
    m.bytes = 250;
    for (int i = 1; i + 1 < argc; i += 2) {
        double v = strtod(argv[i + 1], NULL);
        if (strcmp(argv[i], "--ttft") == 0)
            m.ttft_ns = (int64_t)(v * 1e6);
        else if (strcmp(argv[i], "--gap") == 0)
            m.gap_ns = (int64_t)(v * 1e6);
        else if (strcmp(argv[i], "--tokens") == 0)
            m.tokens = (int)v;
        else if (strcmp(argv[i], "--bytes") == 0)
            m.bytes = (int)v;
        else {
            fprintf(stderr, "bench-mock: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    getrlimit(RLIMIT_NOFILE, &lim);
    lim.rlim_cur = lim.rlim_max;
    setrlimit(RLIMIT_NOFILE, &lim);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    m.clock = jm_clock_system();
    jm_stamps_init(&m.stamps, m.clock);
    struct samples *all[] = {&m.ttft, &m.gap, &m.late};
    for (int i = 0; i < 3; i++)
        if (!(all[i]->v = malloc(KEPT * sizeof(double))))
            die("malloc");
    make_event(0);
    make_event(1);
    m.door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    m.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN};
    if (m.door < 0 || bind(m.door, (struct sockaddr *)&a, sizeof a) != 0 || listen(m.door, 4096) != 0 ||
        getsockname(m.door, (struct sockaddr *)&a, &n) != 0 ||
        epoll_ctl(m.epoll, EPOLL_CTL_ADD, m.door, &e) != 0)
        die("bench-mock cannot listen");
    printf("{\"port\": %d, \"pid\": %d}\n", ntohs(a.sin_port), (int)getpid());
    fflush(stdout);
    serve();
    return 0;
}
