/* SPDX-License-Identifier: Apache-2.0 */
/* A server that does what a test tells it: one thread a connection, one call of the handler a request. */
#ifndef TESTS_LOAD_MOCK_H
#define TESTS_LOAD_MOCK_H

#include <stdbool.h>
#include <stddef.h>

struct mock;
struct mock_conn;

struct mock_request {
    const char *method, *path, *head, *body;
    size_t body_n;
    int nth;     /* of all requests with this path, from 0 */
    int on_conn; /* of this connection, from 0 */
};

/* Answers one request. False closes the connection. */
typedef bool (*mock_fn)(struct mock_conn *c, const struct mock_request *r, void *arg);

struct mock *mock_start(mock_fn fn, void *arg);
int mock_port(const struct mock *m);
const char *mock_url(const struct mock *m);          /* "http://127.0.0.1:PORT" */
int mock_requests(struct mock *m, const char *path); /* seen so far */
int mock_connections(struct mock *m);
void mock_stop(struct mock *m);

/* Answers of /v1/models and of what else the client asks before it begins; true when it was one of those. */
bool mock_usual(struct mock_conn *c, const struct mock_request *r, bool *go_on);

void mock_raw(struct mock_conn *c, const char *text);
void mock_bytes(struct mock_conn *c, const void *p, size_t n);
void mock_json(struct mock_conn *c, int status, const char *extra_headers, const char *body);
void mock_stream(struct mock_conn *c); /* head of a chunked event stream */
void mock_chunk(struct mock_conn *c, const char *text);
void mock_event(struct mock_conn *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));              /* data: ...\n\n */
void mock_token(struct mock_conn *c, const char *text); /* chat delta with content */
void mock_finish(struct mock_conn *c, const char *why, int prompt,
                 int output);         /* finish, usage, [DONE], last chunk */
void mock_end(struct mock_conn *c);   /* last chunk */
void mock_reset(struct mock_conn *c); /* RST */
bool mock_gone(struct mock_conn *c);  /* the client took no more of what was sent */
void mock_sleep(int ms);

#endif
