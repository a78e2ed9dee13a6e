/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/vxi11.h"
#include "sim_main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CORE   0x0607afU
#define MAPPER 100000U
#define LINK   0x5157U
#define MAX    1024U /* longest piece of a message that it takes */

enum { NONE = 0, NO_DEVICE = 3, BAD_LINK = 4, BAD_PARAMETER = 5, NOT_SUPPORTED = 8, TIMED_OUT = 15 };
enum { REASON_COUNT = 1, REASON_CHARACTER = 2, REASON_END = 4 };
enum { FLAG_END = 8, FLAG_CHARACTER = 128 };

/* ---- words of XDR */

struct in {
    const uint8_t *p;
    size_t n;
    bool bad;
};

static uint32_t u32(struct in *r)
{
    if (r->n < 4) {
        r->bad = true;
        r->n = 0;
        return 0;
    }
    uint32_t v = (uint32_t)r->p[0] << 24 | (uint32_t)r->p[1] << 16 | (uint32_t)r->p[2] << 8 | r->p[3];
    r->p += 4;
    r->n -= 4;
    return v;
}

static const uint8_t *opaque(struct in *r, size_t *len)
{
    *len = u32(r);
    size_t whole = *len + (4 - *len % 4) % 4;
    if (r->bad || *len > r->n || whole > r->n) {
        r->bad = true;
        *len = 0;
        return r->p;
    }
    const uint8_t *p = r->p;
    r->p += whole;
    r->n -= whole;
    return p;
}

struct reply {
    uint8_t b[SIMAN_OUT + 256];
    size_t n;
};

static void put(struct reply *w, uint32_t v)
{
    v = htonl(v);
    memcpy(w->b + w->n, &v, 4);
    w->n += 4;
}

/* ---- the device behind a link */

static void wait_ms(uint32_t ms)
{
    for (uint32_t t = 0; t < ms && t < 10000 && !siman_ended(); t += 10)
        poll(NULL, 0, 10);
}

static uint32_t device_write(struct simvxi_client *c, struct siman *a, const uint8_t *p, size_t n, bool end)
{
    for (size_t i = 0; i < n; i++) {
        if (c->line_n == SIMAN_LINE)
            c->too_long = true;
        else
            c->line[c->line_n++] = p[i] ? (char)p[i] : '?';
    }
    if (!end)
        return NONE;
    while (c->line_n && strchr("\r\n", c->line[c->line_n - 1]))
        c->line_n--;
    c->line[c->line_n] = 0;
    if (c->too_long)
        snprintf(c->line, sizeof c->line, "TOO:LONG");
    c->line_n = 0;
    c->too_long = false;
    c->out_at = 0;
    c->out_n = siman_answer(a, c->line, c->out);
    return NONE;
}

static void device_read(struct simvxi_client *c, struct reply *w, struct in *r)
{
    uint32_t size = u32(r), timeout = u32(r), flags;
    u32(r);
    flags = u32(r);
    int ends = (int)u32(r);
    if (r->bad || !c->out_n) {
        if (!r->bad)
            wait_ms(timeout);
        put(w, r->bad ? BAD_PARAMETER : TIMED_OUT);
        put(w, 0);
        put(w, 0);
        return;
    }
    size_t n = c->out_n - c->out_at < size ? c->out_n - c->out_at : size;
    const char *at = c->out + c->out_at, *end = flags & FLAG_CHARACTER ? memchr(at, ends & 255, n) : NULL;
    if (end)
        n = (size_t)(end - at) + 1;
    c->out_at += n;
    put(w, NONE);
    put(w, (c->out_at == c->out_n ? REASON_END : 0U) | (end ? REASON_CHARACTER : 0U) |
               (n == size ? REASON_COUNT : 0U));
    put(w, (uint32_t)n);
    memcpy(w->b + w->n, at, n);
    w->n += n;
    while (w->n % 4)
        w->b[w->n++] = 0;
    if (c->out_at == c->out_n)
        c->out_at = c->out_n = 0;
}

static void create_link(struct simvxi_client *c, struct reply *w, struct in *r)
{
    size_t n;
    u32(r);
    u32(r);
    u32(r);
    const uint8_t *device = opaque(r, &n);
    bool known = !r->bad && n == 5 && memcmp(device, "inst0", 5) == 0;
    c->linked = c->linked || known;
    put(w, known ? NONE : NO_DEVICE);
    put(w, known ? LINK : 0);
    put(w, 0);
    put(w, MAX);
}

/* Procedures of the core channel by their numbers; false: there is none. */
static bool core(struct simvxi_client *c, struct siman *a, uint32_t procedure, struct in *r, struct reply *w)
{
    if (procedure == 0)
        return true;
    if (procedure == 10) {
        create_link(c, w, r);
        return true;
    }
    if (procedure < 11 || procedure > 23 || procedure == 21)
        return false;
    uint32_t error = u32(r) == LINK && c->linked ? NONE : BAD_LINK;
    if (error) {
        put(w, error);
        if (procedure == 11 || procedure == 12 || procedure == 13 || procedure == 22)
            put(w, 0);
        if (procedure == 12 || procedure == 22)
            put(w, 0);
        return true;
    }
    size_t n;
    switch (procedure) {
    case 11: { /* write */
        u32(r);
        u32(r);
        uint32_t flags = u32(r);
        const uint8_t *p = opaque(r, &n);
        put(w, r->bad || n > MAX ? BAD_PARAMETER : device_write(c, a, p, n, flags & FLAG_END));
        put(w, (uint32_t)n);
        break;
    }
    case 12: device_read(c, w, r); break;
    case 13: /* status byte: is there an answer? */
        put(w, NONE);
        put(w, c->out_n ? 16 : 0);
        break;
    case 15: /* clear */
        c->line_n = c->out_n = c->out_at = 0;
        put(w, NONE);
        break;
    case 23: /* destroy_link */
        c->linked = false;
        put(w, NONE);
        break;
    case 16: /* remote, local, lock, unlock */
    case 17:
    case 18:
    case 19: put(w, NONE); break;
    default:
        put(w, NOT_SUPPORTED);
        if (procedure == 22)
            put(w, 0);
    }
    return true;
}

/* ---- calls */

/* A call without its record mark; nothing to say leaves w empty. */
static void call(struct simvxi *v, struct simvxi_client *c, struct siman *a, const uint8_t *p, size_t n,
                 struct reply *w)
{
    struct in r = {p, n, false};
    uint32_t xid = u32(&r), kind = u32(&r), rpc = u32(&r), program = u32(&r), version = u32(&r),
             procedure = u32(&r);
    size_t skip;
    u32(&r);
    opaque(&r, &skip);
    u32(&r);
    opaque(&r, &skip);
    w->n = 0;
    if (r.bad || kind != 0)
        return;
    put(w, xid);
    put(w, 1);
    if (rpc != 2) {
        put(w, 1);
        put(w, 0);
        put(w, 2);
        put(w, 2);
        return;
    }
    put(w, 0);
    put(w, 0);
    put(w, 0);
    uint32_t mine = c && !c->map ? CORE : MAPPER, is = mine == CORE ? 1 : 2;
    if (program != mine || version != is) {
        put(w, program != mine ? 1 : 2);
        if (program == mine) {
            put(w, is);
            put(w, is);
        }
        return;
    }
    size_t state = w->n;
    put(w, 0);
    bool known;
    if (mine == CORE) {
        known = core(c, a, procedure, &r, w);
    } else {
        known = procedure == 0 || procedure == 3;
        if (procedure == 3) {
            uint32_t of = u32(&r), which = u32(&r), protocol = u32(&r);
            put(w, of == CORE && which == 1 && protocol == IPPROTO_TCP ? (uint32_t)v->core_port : 0);
        }
    }
    if (!known) {
        w->n = state;
        put(w, 3);
    }
}

static void drop(struct simvxi_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static void receive(struct simvxi *v, struct simvxi_client *c, struct siman *a)
{
    static struct reply w;
    ssize_t k = read(c->fd, c->in + c->n, sizeof c->in - c->n);
    if (k <= 0) {
        if (k == 0 || errno != EINTR)
            drop(c);
        return;
    }
    c->n += (size_t)k;
    while (c->fd >= 0 && c->n >= 4) {
        struct in mark = {c->in, 4, false};
        uint32_t m = u32(&mark);
        size_t len = m & 0x7fffffffU;
        if (!(m & 0x80000000U) || len > sizeof c->in - 4) { /* it takes calls in one piece */
            drop(c);
            return;
        }
        if (c->n < 4 + len)
            return;
        call(v, c, a, c->in + 4, len, &w);
        memmove(c->in, c->in + 4 + len, c->n - 4 - len);
        c->n -= 4 + len;
        uint8_t head[4];
        uint32_t out = htonl(0x80000000U | (uint32_t)w.n);
        memcpy(head, &out, 4);
        if (!w.n || send(c->fd, head, 4, MSG_NOSIGNAL | MSG_MORE) != 4 ||
            send(c->fd, w.b, w.n, MSG_NOSIGNAL) != (ssize_t)w.n)
            drop(c);
    }
}

/* ---- sockets */

static int listen_at(const char *bind_to, int port, int type, int *fd, int *got)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof a;
    int one = 1;
    *fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (*fd < 0 || inet_pton(AF_INET, bind_to, &a.sin_addr) != 1 ||
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(*fd, (struct sockaddr *)&a, sizeof a) < 0 || (type == SOCK_STREAM && listen(*fd, 4) < 0) ||
        getsockname(*fd, (struct sockaddr *)&a, &len) < 0)
        return -errno;
    *got = ntohs(a.sin_port);
    return 0;
}

int simvxi_listen(struct simvxi *v, const char *bind_to, int core_port, int map_port, char *why, size_t n)
{
    int at = core_port, map = map_port, rc = 0;
    *v = (struct simvxi){.core = -1, .map = -1, .map_udp = -1};
    for (int i = 0; i < SIMVXI_CLIENTS; i++)
        v->client[i].fd = -1;
    if (core_port < 0 && map_port < 0)
        return SIM_OK;
    rc = listen_at(bind_to, core_port < 0 ? 0 : core_port, SOCK_STREAM, &v->core, &at);
    v->core_port = at;
    if (!rc && map_port >= 0)
        rc = listen_at(bind_to, map_port, SOCK_STREAM, &v->map, &map);
    if (!rc && map_port >= 0)
        rc = listen_at(bind_to, map, SOCK_DGRAM, &v->map_udp, &map);
    if (rc) {
        snprintf(why, n, "cannot listen for VXI-11 on %s: %s.", bind_to, strerror(-rc));
        simvxi_close(v);
        return SIM_SYSTEM;
    }
    printf("vxi11://%s:%d/inst0\n", bind_to, at);
    if (map_port >= 0)
        printf("vxi11://%s/inst0?portmap=%d\n", bind_to, map);
    return SIM_OK;
}

void simvxi_drop(struct simvxi *v)
{
    for (int i = 0; i < SIMVXI_CLIENTS; i++)
        drop(&v->client[i]);
}

void simvxi_close(struct simvxi *v)
{
    int *fd[] = {&v->core, &v->map, &v->map_udp};
    simvxi_drop(v);
    for (int i = 0; i < 3; i++) {
        if (*fd[i] >= 0)
            close(*fd[i]);
        *fd[i] = -1;
    }
}

void simvxi_poll(const struct simvxi *v, struct pollfd p[SIMVXI_FDS])
{
    p[0] = (struct pollfd){.fd = v->core, .events = POLLIN};
    p[1] = (struct pollfd){.fd = v->map, .events = POLLIN};
    p[2] = (struct pollfd){.fd = v->map_udp, .events = POLLIN};
    for (int i = 0; i < SIMVXI_CLIENTS; i++)
        p[3 + i] = (struct pollfd){.fd = v->client[i].fd, .events = POLLIN};
}

static void welcome(struct simvxi *v, int listener, bool map)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), i = 0;
    while (i < SIMVXI_CLIENTS && v->client[i].fd >= 0)
        i++;
    if (fd >= 0 && i < SIMVXI_CLIENTS)
        v->client[i] = (struct simvxi_client){.fd = fd, .map = map};
    else if (fd >= 0)
        close(fd);
}

static void datagram(struct simvxi *v, struct siman *a)
{
    static struct reply w;
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    uint8_t in[512];
    ssize_t k = recvfrom(v->map_udp, in, sizeof in, MSG_DONTWAIT, (struct sockaddr *)&from, &len);
    if (k <= 0)
        return;
    call(v, NULL, a, in, (size_t)k, &w);
    if (w.n)
        sendto(v->map_udp, w.b, w.n, MSG_NOSIGNAL, (struct sockaddr *)&from, len);
}

void simvxi_serve(struct simvxi *v, struct siman *a, const struct pollfd p[SIMVXI_FDS])
{
    for (int i = 0; i < SIMVXI_CLIENTS; i++)
        if (p[3 + i].revents && v->client[i].fd == p[3 + i].fd)
            receive(v, &v->client[i], a);
    if (p[0].revents & POLLIN)
        welcome(v, v->core, false);
    if (p[1].revents & POLLIN)
        welcome(v, v->map, true);
    if (p[2].revents & POLLIN)
        datagram(v, a);
}
