/* SPDX-License-Identifier: Apache-2.0 */
#include "http_parse.h"

#include <string.h>
#include <strings.h>

size_t sim_http_head_end(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\n')
            continue;
        if (i + 1 < n && p[i + 1] == '\n')
            return i + 2;
        if (i + 2 < n && p[i + 1] == '\r' && p[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

static bool token_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool copy(char *out, size_t size, const char *p, size_t n)
{
    if (n >= size || memchr(p, 0, n))
        return false;
    memcpy(out, p, n);
    out[n] = 0;
    return true;
}

static int request_line(struct sim_head *h, const char *p, size_t n)
{
    const char *sp = memchr(p, ' ', n);
    if (!sp || !copy(h->method, sizeof h->method, p, (size_t)(sp - p)) || !h->method[0])
        return 400;
    for (const char *m = h->method; *m; m++)
        if (!token_char((unsigned char)*m))
            return 400;
    n -= (size_t)(sp - p) + 1;
    p = sp + 1;
    sp = memchr(p, ' ', n);
    if (!sp)
        return 400;
    size_t len = (size_t)(sp - p);
    const char *version = sp + 1;
    size_t vn = n - len - 1;
    if (vn != 8 || memcmp(version, "HTTP/1.", 7) != 0 || (version[7] != '0' && version[7] != '1'))
        return vn >= 5 && memcmp(version, "HTTP/", 5) == 0 ? 505 : 400;
    h->http10 = h->close = version[7] == '0';
    if (len > 7 && strncasecmp(p, "http://", 7) == 0) {
        const char *slash = memchr(p + 7, '/', len - 7);
        if (!slash)
            return 400;
        len -= (size_t)(slash - p);
        p = slash;
    }
    const char *query = memchr(p, '?', len);
    if (query)
        len = (size_t)(query - p);
    if (len == 0 || p[0] != '/')
        return 400;
    return copy(h->path, sizeof h->path, p, len) ? 0 : 414;
}

static bool has_word(const char *v, size_t n, const char *word)
{
    size_t k = strlen(word);
    for (size_t i = 0; i + k <= n; i++)
        if (strncasecmp(v + i, word, k) == 0 && (i == 0 || v[i - 1] == ',' || v[i - 1] == ' ') &&
            (i + k == n || v[i + k] == ',' || v[i + k] == ' '))
            return true;
    return false;
}

static bool named(const char *p, size_t n, const char *name)
{
    return strlen(name) == n && strncasecmp(p, name, n) == 0;
}

static int header(struct sim_head *h, const char *name, size_t nn, const char *v, size_t vn)
{
    if (named(name, nn, "content-length")) {
        int64_t x = 0;
        if (vn == 0 || vn > 15)
            return vn ? 413 : 400;
        for (size_t i = 0; i < vn; i++) {
            if (v[i] < '0' || v[i] > '9')
                return 400;
            x = x * 10 + (v[i] - '0');
        }
        if (h->length >= 0 && h->length != x)
            return 400;
        h->length = x;
    } else if (named(name, nn, "transfer-encoding")) {
        if (!named(v, vn, "chunked"))
            return 501;
        h->chunked = true;
    } else if (named(name, nn, "connection")) {
        if (has_word(v, vn, "close"))
            h->close = true;
        else if (has_word(v, vn, "keep-alive"))
            h->close = false;
    } else if (named(name, nn, "expect")) {
        if (!named(v, vn, "100-continue"))
            return 417;
        h->expect = true;
    } else if (named(name, nn, "authorization")) {
        if (!copy(h->auth, sizeof h->auth, v, vn))
            return 400;
    } else if (named(name, nn, "x-joulemark-fault")) {
        if (!copy(h->fault, sizeof h->fault, v, vn))
            return 400;
    }
    return 0;
}

int sim_http_head_parse(struct sim_head *h, const char *p, size_t n, char *why, size_t whylen)
{
    memset(h, 0, sizeof *h);
    h->length = -1;
    const char *end = p + n;
    bool first = true;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl)
            break;
        size_t len = (size_t)(nl - p);
        if (len && p[len - 1] == '\r')
            len--;
        int rc = 0;
        if (first)
            rc = request_line(h, p, len);
        else if (len) {
            const char *colon = memchr(p, ':', len);
            size_t nn = colon ? (size_t)(colon - p) : 0;
            for (size_t i = 0; i < nn; i++)
                if (!token_char((unsigned char)p[i]))
                    nn = 0;
            if (nn == 0)
                rc = 400;
            else {
                const char *v = colon + 1;
                size_t vn = len - nn - 1;
                while (vn && (*v == ' ' || *v == '\t')) {
                    v++;
                    vn--;
                }
                while (vn && (v[vn - 1] == ' ' || v[vn - 1] == '\t'))
                    vn--;
                rc = header(h, p, nn, v, vn);
            }
        }
        if (rc) {
            snprintf(why, whylen, "The %s cannot be read.", first ? "request line" : "header");
            return rc;
        }
        first = false;
        p = nl + 1;
    }
    if (first) {
        snprintf(why, whylen, "There is no request line.");
        return 400;
    }
    if (h->chunked && h->length >= 0) {
        snprintf(why, whylen, "A request has either a Content-Length or a Transfer-Encoding.");
        return 400;
    }
    return 0;
}

enum { CH_SIZE, CH_SIZE_MORE, CH_EXT, CH_DATA, CH_DATA_CR, CH_DATA_LF, CH_TRAILER, CH_TRAILER_LINE };

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

size_t sim_http_dechunk(int *state, uint64_t *left, const char *p, size_t n, struct sim_buf *body, size_t max,
                        bool *done, int *status)
{
    size_t i = 0;
    *done = false;
    while (i < n) {
        char c = p[i];
        switch (*state) {
        case CH_SIZE:
        case CH_SIZE_MORE:
            if (hex(c) >= 0) {
                *left = *left * 16 + (unsigned)hex(c);
                if (*left > max || body->n + *left > max) {
                    *status = 413;
                    return i;
                }
                *state = CH_SIZE_MORE;
                break;
            }
            if (*state == CH_SIZE || (c != '\r' && c != '\n' && c != ';' && c != ' ')) {
                *status = 400;
                return i;
            }
            *state = CH_EXT;
            continue; /* the same byte again */
        case CH_EXT:
            if (c == '\n')
                *state = *left ? CH_DATA : CH_TRAILER;
            break;
        case CH_DATA: {
            size_t k = n - i < *left ? n - i : (size_t)*left;
            sim_buf_add(body, p + i, k);
            *left -= k;
            i += k;
            if (*left == 0)
                *state = CH_DATA_CR;
            continue;
        }
        case CH_DATA_CR:
            if (c == '\r') {
                *state = CH_DATA_LF;
                break;
            }
            /* fall through */
        case CH_DATA_LF:
            if (c != '\n') {
                *status = 400;
                return i;
            }
            *state = CH_SIZE;
            break;
        case CH_TRAILER:
            if (c == '\n') {
                *done = true;
                return i + 1;
            }
            if (c != '\r')
                *state = CH_TRAILER_LINE;
            break;
        case CH_TRAILER_LINE:
            if (c == '\n')
                *state = CH_TRAILER;
            if (++*left > SIM_HEADER_MAX) { /* trailers are bounded like headers */
                *status = 431;
                return i;
            }
            break;
        default: *status = 400; return i;
        }
        i++;
    }
    return i;
}
