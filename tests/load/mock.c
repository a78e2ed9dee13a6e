/* SPDX-License-Identifier: Apache-2.0 */
#include "load/mock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNS 4096
#define PATHS 16

struct mock_conn {
    struct mock *m;
    int fd, served;
    pthread_t thread;
    bool reset, gone;
};

struct mock {
    int fd, port;
    char url[64];
    mock_fn fn;
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    atomic_bool quit;
    struct mock_conn *conn[CONNS];
    int conns;
    struct {
        char path[64];
        int n;
    } seen[PATHS];
};

static int count(struct mock *m, const char *path, bool add)
{
    int n = 0;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < PATHS; i++) {
        if (!m->seen[i].path[0] && add)
            snprintf(m->seen[i].path, sizeof m->seen[i].path, "%s", path);
        if (strcmp(m->seen[i].path, path) == 0) {
            n = m->seen[i].n;
            m->seen[i].n += add;
            break;
        }
    }
    pthread_mutex_unlock(&m->lock);
    return n;
}

void mock_sleep(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

void mock_bytes(struct mock_conn *c, const void *p, size_t n)
{
    const char *at = p;
    while (n) {
        ssize_t k = send(c->fd, at, n, MSG_NOSIGNAL);
        if (k <= 0) {
            c->gone = true;
            return;
        }
        at += k;
        n -= (size_t)k;
    }
}

bool mock_gone(struct mock_conn *c)
{
    return c->gone;
}

void mock_raw(struct mock_conn *c, const char *text)
{
    mock_bytes(c, text, strlen(text));
}

static const char *reason(int status)
{
    return status == 200   ? "OK"
           : status == 401 ? "Unauthorized"
           : status == 404 ? "Not Found"
           : status == 429 ? "Too Many Requests"
                           : "Some Reason";
}

void mock_json(struct mock_conn *c, int status, const char *extra, const char *body)
{
    size_t room = strlen(body) + strlen(extra) + 256;
    char *text = malloc(room);
    snprintf(text, room,
             "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s", status,
             reason(status), extra, strlen(body), body);
    mock_raw(c, text);
    free(text);
}

void mock_stream(struct mock_conn *c)
{
    mock_raw(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: "
                "chunked\r\n\r\n");
}

void mock_chunk(struct mock_conn *c, const char *text)
{
    size_t room = strlen(text) + 64;
    char *out = malloc(room);
    snprintf(out, room, "%zx\r\n%s\r\n", strlen(text), text);
    mock_raw(c, out);
    free(out);
}

void mock_event(struct mock_conn *c, const char *fmt, ...)
{
    char text[4096] = "data: ";
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + 6, sizeof text - 16, fmt, ap);
    va_end(ap);
    memcpy(text + 6 + n, "\n\n", 3);
    mock_chunk(c, text);
}

void mock_token(struct mock_conn *c, const char *text)
{
    mock_event(c, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"finish_reason\":null}]}",
               text);
}

void mock_end(struct mock_conn *c)
{
    mock_raw(c, "0\r\n\r\n");
}

void mock_finish(struct mock_conn *c, const char *why, int prompt, int output)
{
    mock_event(c, "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"%s\"}]}", why);
    mock_event(
        c, "{\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}",
        prompt, output, prompt + output);
    mock_event(c, "[DONE]");
    mock_end(c);
}

void mock_reset(struct mock_conn *c)
{
    struct linger hard = {1, 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    c->reset = true;
}

bool mock_usual(struct mock_conn *c, const struct mock_request *r, bool *go_on)
{
    *go_on = true;
    if (strcmp(r->path, "/v1/models") == 0)
        mock_json(c, 200, "", "{\"data\":[{\"id\":\"m\",\"owned_by\":\"mock\"}]}");
    else if (strcmp(r->method, "GET") == 0 || strcmp(r->path, "/tokenize") == 0)
        mock_json(c, 404, "", "{\"detail\":\"Not Found\"}");
    else
        return false;
    return true;
}

static void *serve(void *arg)
{
    struct mock_conn *c = arg;
    char *buf = malloc(1 << 20);
    size_t have = 0;
    for (;;) {
        char *end = NULL;
        ssize_t k = 0;
        while (!(end = have ? memmem(buf, have, "\r\n\r\n", 4) : NULL) && have < (1 << 20) - 1 &&
               (k = recv(c->fd, buf + have, (1 << 20) - 1 - have, 0)) > 0)
            have += (size_t)k;
        if (!end)
            break;
        end += 4;
        buf[have] = '\0';
        size_t head = (size_t)(end - buf), body = 0;
        char *cl = strcasestr(buf, "content-length:");
        if (cl && cl < end)
            sscanf(cl + 15, "%zu", &body);
        while (have < head + body && (k = recv(c->fd, buf + have, (1 << 20) - 1 - have, 0)) > 0)
            have += (size_t)k;
        if (have < head + body)
            break;
        char method[16] = "", path[64] = "", *heads = strndup(buf, head), *text = strndup(buf + head, body);
        sscanf(buf, "%15s %63s", method, path);
        struct mock_request r = {method, path, heads, text, body, count(c->m, path, true), c->served++};
        bool more = c->m->fn(c, &r, c->m->arg);
        free(heads);
        free(text);
        memmove(buf, buf + head + body, have - head - body);
        have -= head + body;
        if (!more || c->reset)
            break;
    }
    free(buf);
    pthread_mutex_lock(&c->m->lock);
    close(c->fd);
    c->fd = -1;
    pthread_mutex_unlock(&c->m->lock);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct mock *m = arg;
    for (;;) {
        int on = 1, fd = accept(m->fd, NULL, NULL);
        if (fd < 0 || atomic_load(&m->quit)) {
            if (fd >= 0)
                close(fd);
            return NULL;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct mock_conn *c = calloc(1, sizeof *c);
        c->m = m;
        c->fd = fd;
        pthread_mutex_lock(&m->lock);
        if (m->conns == CONNS)
            abort();
        m->conn[m->conns++] = c;
        pthread_mutex_unlock(&m->lock);
        pthread_create(&c->thread, NULL, serve, c);
    }
}

struct mock *mock_start(mock_fn fn, void *arg)
{
    struct mock *m = calloc(1, sizeof *m);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    m->fn = fn;
    m->arg = arg;
    pthread_mutex_init(&m->lock, NULL);
    m->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(m->fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(m->fd, 512) != 0 ||
        getsockname(m->fd, (struct sockaddr *)&a, &n) != 0)
        abort();
    m->port = ntohs(a.sin_port);
    snprintf(m->url, sizeof m->url, "http://127.0.0.1:%d", m->port);
    pthread_create(&m->thread, NULL, accept_all, m);
    return m;
}

int mock_port(const struct mock *m)
{
    return m->port;
}

const char *mock_url(const struct mock *m)
{
    return m->url;
}

int mock_requests(struct mock *m, const char *path)
{
    return count(m, path, false);
}

int mock_connections(struct mock *m)
{
    pthread_mutex_lock(&m->lock);
    int n = m->conns;
    pthread_mutex_unlock(&m->lock);
    return n;
}

void mock_stop(struct mock *m)
{
    atomic_store(&m->quit, true);
    shutdown(m->fd, SHUT_RDWR);
    pthread_join(m->thread, NULL);
    close(m->fd);
    for (int i = 0; i < m->conns; i++) {
        pthread_mutex_lock(&m->lock);
        if (m->conn[i]->fd >= 0)
            shutdown(m->conn[i]->fd, SHUT_RDWR);
        pthread_mutex_unlock(&m->lock);
        pthread_join(m->conn[i]->thread, NULL);
        free(m->conn[i]);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}
