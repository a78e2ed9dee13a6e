/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer looks like: status line, headers, body in one piece or in chunks, and what faults make of
 * them. */
#include "engine.h"

#include <time.h>

static const char *reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 417: return "Expectation Failed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    default: return status < 500 ? "Client Error" : "Server Error";
    }
}

void sim_http_begin(struct sim_conn *c, int status, const char *type, int64_t length, const char *extra)
{
    const struct sim_faults *f = &c->faults;
    bool v10 = c->head.http10 || sim_has(f, SIM_F_HTTP10);
    c->keep = !c->head.close && !v10;
    c->chunked = length < 0 && !v10;
    if (length < 0 && v10)
        c->keep = false;
    if (sim_has(f, SIM_F_LONG_LENGTH)) {
        length = length < 0 ? 1000000000 : length + f->value[SIM_F_LONG_LENGTH];
        c->chunked = c->keep = false;
    } else if (sim_has(f, SIM_F_SHORT_LENGTH)) {
        int64_t v = f->value[SIM_F_SHORT_LENGTH];
        length = length < 0 ? v : length > v ? length - v : 0;
        c->chunked = c->keep = false;
    }
    char date[40];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    size_t before = c->out.n;
    sim_buf_fmt(&c->out,
                "HTTP/1.%d %d %s\r\ndate: %s\r\nserver: " SIM_MARK
                "\r\nx-joulemark-sim: 1\r\ncontent-type: %s\r\n",
                v10 ? 0 : 1, status, reason(status), date, type);
    if (length >= 0)
        sim_buf_fmt(&c->out, "content-length: %lld\r\n", (long long)length);
    else if (c->chunked)
        sim_buf_str(&c->out, "transfer-encoding: chunked\r\n");
    if (!c->keep)
        sim_buf_str(&c->out, "connection: close\r\n");
    if (extra)
        sim_buf_str(&c->out, extra);
    sim_buf_str(&c->out, "\r\n");
    c->answering = true;
    if (sim_has(f, SIM_F_SLOW_HEADERS)) {
        c->trickle = true;
        c->trickle_from = sim_now();
        c->trickle_ns = (int64_t)f->value[SIM_F_SLOW_HEADERS] * 1000000;
        c->trickle_len = c->out.n - before;
        c->trickle_sent = 0;
    }
}

void sim_http_body(struct sim_conn *c, const void *p, size_t n)
{
    if (n == 0 || c->dead)
        return;
    if (!c->chunked) {
        sim_buf_add(&c->out, p, n);
        return;
    }
    size_t step = sim_has(&c->faults, SIM_F_SPLIT_CHUNKS) ? 1 : n;
    for (size_t i = 0; i < n; i += step) {
        sim_buf_fmt(&c->out, "%zx\r\n", step);
        sim_buf_add(&c->out, (const char *)p + i, step);
        sim_buf_add(&c->out, "\r\n", 2);
    }
}
