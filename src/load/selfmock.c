/* SPDX-License-Identifier: Apache-2.0 */
#include "load/selfmock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "load/stamp.h"

#include "base/banned.h"

enum { EVENTS_AT_ONCE = 256, REQUEST_BYTES = 16384, STAMP_DIGITS = 16, HEAD_MOST = 256 };

/* --- the log
 * ------------------------------------------------------------------------------------------------------ */
static size_t answer_bytes(int tokens)
{
    return sizeof(struct jm_selfmock_answer) + (size_t)tokens * sizeof(struct jm_selfmock_event);
}

struct jm_selfmock_log *jm_selfmock_log_new(size_t answers, int tokens, struct jm_err *err)
{
    size_t bytes = sizeof(struct jm_selfmock_log) + answers * answer_bytes(tokens);
    struct jm_selfmock_log *l = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (l == MAP_FAILED) {
        jm_err_sys(err, errno, "no %zu MiB of shared memory for the self-check", bytes >> 20);
        return NULL;
    }
    l->bytes = bytes;
    l->cap = answers;
    l->tokens = tokens;
    return l;
}

void jm_selfmock_log_free(struct jm_selfmock_log *l)
{
    if (l)
        munmap(l, l->bytes);
}

struct jm_selfmock_answer *jm_selfmock_at(struct jm_selfmock_log *l, size_t i)
{
    return (struct jm_selfmock_answer *)(void *)((char *)(l + 1) + i * answer_bytes(l->tokens));
}

double jm_selfmock_late(const struct jm_selfmock_log *l, double q)
{
    int64_t all = 0, below = 0;
    for (int i = 0; i < 64; i++)
        all += atomic_load(&l->late_us[i]);
    for (int i = 0; all && i < 64; i++) {
        below += atomic_load(&l->late_us[i]);
        if ((double)below >= q * (double)all)
            return ldexp(1, i);
    }
    return NAN;
}

/* --- connections
 * -------------------------------------------------------------------------------------------------- */
struct conn {
    struct conn *next; /* of its queue */
    int fd;
    struct jm_tls_session *tls;
    bool ready; /* with TLS: shaken hands */
    int token;  /* next one to send, -1: no answer under way */
    size_t row;
    int64_t due, arrived;
    size_t have;
    char *buf; /* of a request that has not come whole */
};

/* Events in order of their time: all of one queue have the same distance from what put them there. */
struct queue {
    struct conn *first, *last;
};

struct mock {
    const struct jm_selfmock_cfg *cfg;
    struct jm_selfmock_log *log;
    struct jm_clock clock;
    struct jm_stamps stamps;
    int door, epoll;
    struct queue begin, go; /* first tokens, later ones */
    size_t conns, conns_cap;
    struct conn **conn;
    char *event; /* an event with its chunk framing; its send time is written at `at` */
    size_t event_n, at;
};

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
    c->have = 0;
}

static void out(struct mock *m, struct conn *c, const char *p, size_t n)
{
    if (c->fd >= 0 && send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n) {
        atomic_fetch_add(&m->log->blocked, 1);
        hang_up(c);
    }
}

static void flush_tls(struct mock *m, struct conn *c)
{
    const char *p;
    size_t n;
    while (c->fd >= 0 && (n = m->cfg->tls->pending(c->tls, &p)) > 0) {
        out(m, c, p, n);
        m->cfg->tls->sent(c->tls, n);
    }
}

static void say(struct mock *m, struct conn *c, const char *p, size_t n)
{
    if (!c->tls) {
        out(m, c, p, n);
    } else if (m->cfg->tls->write(c->tls, p, n)) {
        flush_tls(m, c);
    } else {
        hang_up(c);
    }
}

/* --- answers
 * ------------------------------------------------------------------------------------------------------ */
/* Like vLLM's, filled up to the length asked for in its id. */
static int make_event(struct mock *m)
{
    static const char head[] = "data: {\"id\":\"chatcmpl-",
                      mid[] = "\",\"object\":\"chat.completion.chunk\",\"created\":1795959000,\"model\":"
                              "\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"",
                      tail[] = "\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    size_t fixed = sizeof head + sizeof mid + sizeof tail - 3 + STAMP_DIGITS, n = (size_t)m->cfg->event_bytes;
    if (n < fixed + 8)
        n = fixed + 8;
    if (!(m->event = malloc(n + 32)))
        return JM_ENOMEM;
    int k = snprintf(m->event, 32, "%zx\r\n", n);
    char *p = m->event + k;
    memcpy(p, head, sizeof head - 1);
    p += sizeof head - 1;
    memset(p, 'a', n - fixed);
    p += n - fixed;
    memcpy(p, mid, sizeof mid - 1);
    p += sizeof mid - 1;
    m->at = (size_t)(p - m->event);
    memset(p, '0', STAMP_DIGITS);
    p += STAMP_DIGITS;
    memcpy(p, tail, sizeof tail - 1);
    p += sizeof tail - 1;
    memcpy(p, "\r\n", 2);
    m->event_n = (size_t)(p + 2 - m->event);
    return 0;
}

static void write_stamp(char *p, int64_t t)
{
    static const char hex[] = "0123456789abcdef";
    for (int i = STAMP_DIGITS - 1; i >= 0; i--, t >>= 4)
        p[i] = hex[t & 15];
}

static void chunk(char *buf, size_t cap, size_t *n, const char *text)
{
    int k = snprintf(buf + *n, cap - *n, "%zx\r\n%s\r\n", strlen(text), text);
    *n += k > 0 ? (size_t)k : 0;
}

/* What follows the last token at once, as an engine's end does. */
static void finish(struct mock *m, struct conn *c)
{
    char text[200], end[600];
    size_t n = 0;
    chunk(end, sizeof end, &n,
          "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n");
    snprintf(text, sizeof text,
             "data: "
             "{\"choices\":[],\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":%d,\"total_tokens\":%zu}"
             "}\n\n",
             c->row + 1, m->cfg->tokens, c->row + 1 + (size_t)m->cfg->tokens);
    chunk(end, sizeof end, &n, text);
    chunk(end, sizeof end, &n, "data: [DONE]\n\n");
    chunk(end, sizeof end, &n, "");
    say(m, c, end, n);
    c->token = -1;
}

static void note_late(struct mock *m, int64_t ns)
{
    uint64_t us = ns > 0 ? (uint64_t)(ns / JM_NS_PER_US) : 0;
    atomic_fetch_add_explicit(&m->log->late_us[us ? 64 - __builtin_clzll(us) : 0], 1, memory_order_relaxed);
}

static void emit(struct mock *m, struct conn *c)
{
    int64_t t;
    if (c->fd < 0) {
        c->token = -1;
        return;
    }
    t = jm_clock_mono(&m->clock);
    note_late(m, t - c->due);
    write_stamp(m->event + m->at, t);
    jm_selfmock_at(m->log, c->row)->ev[c->token].sent = t;
    say(m, c, m->event, m->event_n);
    if (++c->token == m->cfg->tokens) {
        finish(m, c);
        return;
    }
    c->due += m->cfg->gap_ns;
    put(&m->go, c);
}

static bool starts(const char *s, size_t n, const char *with)
{
    size_t k = strlen(with);
    return n >= k && memcmp(s, with, k) == 0;
}

static void answer(struct mock *m, struct conn *c, const char *req, size_t n)
{
    static const char models[] = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";
    static const char none[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: "
                                "51\r\n\r\n{\"choices\":[{\"message\":{},\"finish_reason\":\"stop\"}]}";
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: "
        "keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n";
    if (starts(req, n, "GET /v1/models ")) {
        say(m, c, models, sizeof models - 1);
    } else if (!starts(req, n, "POST /v1/")) {
        say(m, c, none, sizeof none - 1);
    } else if (!memmem(req, n, "\"stream\":true", 13)) {
        say(m, c, whole, sizeof whole - 1);
    } else {
        uint32_t row = atomic_fetch_add(&m->log->n, 1);
        if (row >= m->log->cap || c->token >= 0) { /* more than was planned for */
            atomic_fetch_sub(&m->log->n, row >= m->log->cap);
            hang_up(c);
            return;
        }
        c->row = row;
        c->token = 0;
        jm_selfmock_at(m->log, row)->arrived = c->arrived;
        c->due = c->arrived + m->cfg->ttft_ns;
        say(m, c, head, sizeof head - 1);
        put(&m->begin, c);
    }
}

/* Bytes of requests; what is not whole yet is kept. */
static void received(struct mock *m, struct conn *c, const char *p, size_t n)
{
    if (!c->buf && !(c->buf = malloc(REQUEST_BYTES))) {
        hang_up(c);
        return;
    }
    if (n > REQUEST_BYTES - c->have) {
        hang_up(c);
        return;
    }
    memcpy(c->buf + c->have, p, n);
    c->have += n;
    while (c->fd >= 0 && c->have) {
        char *end = memmem(c->buf, c->have, "\r\n\r\n", 4);
        if (!end)
            return;
        size_t head = (size_t)(end - c->buf) + 4;
        char *cl = memmem(c->buf, head, "Content-Length: ", 16);
        int64_t body = 0;
        if (cl) {
            struct jm_span rest = {cl + 16, (size_t)(end - cl) - 16 + 2}, line;
            if (!jm_span_line(&rest, &line) || jm_num_i64(line, &body) != 0 || body < 0 ||
                body > REQUEST_BYTES) {
                hang_up(c);
                return;
            }
        }
        if (c->have < head + (size_t)body)
            return;
        answer(m, c, c->buf, head + (size_t)body);
        if (c->fd < 0)
            return;
        c->have -= head + (size_t)body;
        memmove(c->buf, c->buf + head + (size_t)body, c->have);
    }
    if (!c->have) {
        free(c->buf);
        c->buf = NULL;
    }
}

static void ciphertext(struct mock *m, struct conn *c, const char *p, size_t n)
{
    char plain[REQUEST_BYTES], why[JM_TLS_WHY];
    const struct jm_tls_ops *tls = m->cfg->tls;
    tls->feed(c->tls, p, n);
    if (!c->ready) {
        int rc = tls->handshake(c->tls, why);
        flush_tls(m, c);
        if (rc == JM_TLS_FAILED)
            hang_up(c);
        c->ready = rc == JM_TLS_READY;
        if (!c->ready)
            return;
    }
    int k;
    while (c->fd >= 0 && (k = tls->read(c->tls, plain, sizeof plain, why)) != JM_TLS_MORE) {
        if (k <= 0) {
            hang_up(c);
            return;
        }
        received(m, c, plain, (size_t)k);
    }
    flush_tls(m, c);
}

static void readable(struct mock *m, struct conn *c)
{
    char buf[REQUEST_BYTES];
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
    if (k <= 0) {
        hang_up(c);
        return;
    }
    c->arrived = jm_stamps_of(&m->stamps, &h, jm_clock_mono(&m->clock), 0);
    if (c->tls)
        ciphertext(m, c, buf, (size_t)k);
    else
        received(m, c, buf, (size_t)k);
}

static void welcome(struct mock *m)
{
    int fd, on = 1;
    while ((fd = accept4(m->door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        jm_stamps_enable(fd);
        struct conn *c = calloc(1, sizeof *c);
        if (c && m->conns == m->conns_cap) {
            size_t cap = m->conns_cap ? m->conns_cap * 2 : 256;
            struct conn **all = realloc(m->conn, cap * sizeof(struct conn *));
            if (all) {
                m->conn = all;
                m->conns_cap = cap;
            }
        }
        if (!c || m->conns == m->conns_cap ||
            (m->cfg->cert && !(c->tls = m->cfg->tls->open(m->cfg->cert, NULL, false)))) {
            free(c);
            close(fd);
            continue;
        }
        m->conn[m->conns++] = c;
        c->fd = fd;
        c->token = -1;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &e);
    }
}

/* --- the loop
 * ----------------------------------------------------------------------------------------------------- */
static int64_t next_due(const struct mock *m, int64_t now)
{
    int64_t t = now + 20 * JM_NS_PER_MS; /* to see that it shall stop */
    if (m->begin.first && m->begin.first->due < t)
        t = m->begin.first->due;
    if (m->go.first && m->go.first->due < t)
        t = m->go.first->due;
    return t;
}

static bool due_one(struct mock *m, int64_t now)
{
    struct queue *q =
        m->go.first && (!m->begin.first || m->go.first->due <= m->begin.first->due) ? &m->go : &m->begin;
    if (!q->first || q->first->due > now)
        return false;
    emit(m, take(q));
    return true;
}

static void serve(struct mock *m)
{
    struct epoll_event ev[EVENTS_AT_ONCE];
    while (!atomic_load_explicit(&m->log->stop, memory_order_relaxed)) {
        int64_t now = jm_clock_mono(&m->clock), wait = next_due(m, now) - now;
        struct pollfd p = {.fd = m->epoll, .events = POLLIN};
        struct timespec ts = {0, wait > 0 ? wait : 0};
        if (wait > 0 && ppoll(&p, 1, &ts, NULL) < 0 && errno != EINTR)
            return;
        int k = epoll_wait(m->epoll, ev, EVENTS_AT_ONCE, 0);
        now = jm_clock_mono(&m->clock);
        jm_stamps_pair(&m->stamps, now);
        for (int i = 0; i < k; i++) {
            if (!ev[i].data.ptr)
                welcome(m);
            else if (((struct conn *)ev[i].data.ptr)->fd >= 0)
                readable(m, ev[i].data.ptr);
        }
        for (int i = 0; i < EVENTS_AT_ONCE && due_one(m, now); i++)
            ;
    }
}

static int open_door(struct mock *m, struct jm_err *err)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    if (m->cfg->address && inet_pton(AF_INET, m->cfg->address, &a.sin_addr) != 1)
        return jm_err_set(err, JM_EINVAL, "\"%s\" is no IPv4 address to listen on", m->cfg->address);
    m->door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    m->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN};
    if (m->door < 0 || m->epoll < 0 || bind(m->door, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(m->door, 4096) != 0 || getsockname(m->door, (struct sockaddr *)&a, &n) != 0 ||
        epoll_ctl(m->epoll, EPOLL_CTL_ADD, m->door, &e) != 0)
        return jm_err_sys(err, errno, "the self-check's server cannot listen");
    jm_stamps_enable(m->door);
    atomic_store(&m->log->port, (int)ntohs(a.sin_port));
    return 0;
}

int jm_selfmock_serve(const struct jm_selfmock_cfg *cfg, struct jm_selfmock_log *l, struct jm_err *err)
{
    struct mock m = {.cfg = cfg, .log = l, .clock = jm_clock_system(), .door = -1, .epoll = -1};
    jm_stamps_init(&m.stamps, m.clock);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    int rc = make_event(&m) ? jm_err_set(err, JM_ENOMEM, "out of memory for the self-check's server")
                            : open_door(&m, err);
    if (rc == 0)
        serve(&m);
    else
        atomic_store(&l->port, -1);
    for (size_t i = 0; i < m.conns; i++) {
        hang_up(m.conn[i]);
        if (m.conn[i]->tls)
            cfg->tls->close(m.conn[i]->tls);
        free(m.conn[i]);
    }
    free(m.conn);
    free(m.event);
    if (m.door >= 0)
        close(m.door);
    if (m.epoll >= 0)
        close(m.epoll);
    return rc;
}
