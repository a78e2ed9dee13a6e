/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/http1.h"

#include <string.h>

#include "base/num.h"
#include "base/banned.h"

#define HEAD_BYTES     ((size_t)64 << 10)
#define HEADERS        100
#define KEPT_BYTES     ((size_t)4 << 10) /* of memory, from one answer to the next */
#define INFORMATIONAL  8                 /* 1xx responses before the final one */
#define LEADING_BLANKS 4                 /* stray line ends left over by the response before */
#define SHOWN          40                /* bytes of a bad line shown in an error */

enum state {
    S_HEAD,
    S_LENGTH, /* body of known length */
    S_UNTIL_EOF,
    S_CHUNK_SIZE,
    S_CHUNK_DATA,
    S_CHUNK_END, /* the line end after chunk data */
    S_TRAILER,
    S_DONE,
    S_BAD
};

void jm_http1_init(struct jm_http1 *h, const struct jm_http1_limits *lim)
{
    *h = (struct jm_http1){.lim = lim ? *lim : (struct jm_http1_limits){0}};
    if (!h->lim.head_bytes)
        h->lim.head_bytes = HEAD_BYTES;
    if (!h->lim.headers)
        h->lim.headers = HEADERS;
    jm_str_init(&h->head);
    jm_str_init(&h->line);
    jm_http1_reset(h);
}

void jm_http1_release(struct jm_http1 *h)
{
    jm_str_release(&h->head);
    jm_str_release(&h->line);
}

static void fresh_head(struct jm_http1 *h)
{
    jm_str_recycle(&h->head, KEPT_BYTES);
    h->status = h->minor = -1;
    h->length = -1;
    h->chunked = h->keep_alive = false;
    h->keep_s = h->keep_most = -1;
    h->lines = h->start = 0;
}

void jm_http1_reset(struct jm_http1 *h)
{
    fresh_head(h);
    jm_str_recycle(&h->line, KEPT_BYTES);
    h->state = S_HEAD;
    h->body_bytes = h->left = 0;
    h->informational = 0;
    h->trailer_bytes = h->leading = 0;
    h->seen = false;
}

/* Printable start of a line, for error texts. */
static const char *shown(struct jm_span s, char buf[SHOWN + 4])
{
    size_t n = s.n < SHOWN ? s.n : SHOWN, i;
    for (i = 0; i < n; i++)
        buf[i] = s.p[i] >= 0x20 && s.p[i] < 0x7f ? s.p[i] : '.';
    if (s.n > SHOWN) {
        memcpy(buf + i, "...", 3);
        i += 3;
    }
    buf[i] = '\0';
    return buf;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token(char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c))
        return true;
    return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static int status_line(struct jm_http1 *h, struct jm_span s, struct jm_err *err)
{
    char buf[SHOWN + 4];
    /* RFC 9113 §3.4: a server's SETTINGS frame, length below 256 */
    if (s.n >= 4 && s.p[0] == 0 && s.p[1] == 0 && s.p[3] == 4)
        return jm_err_set(err, JM_EPARSE,
                          "the server speaks HTTP/2 alone here, which was not asked for: give --http 2");
    if (!jm_span_starts(s, JM_SPAN("HTTP/")))
        return jm_err_set(err, JM_EPARSE, "the answer begins with \"%s\", which is not HTTP", shown(s, buf));
    if (s.n < 12 || s.p[5] != '1' || s.p[6] != '.' || !is_digit(s.p[7]) || s.p[8] != ' ' ||
        !is_digit(s.p[9]) || !is_digit(s.p[10]) || !is_digit(s.p[11]) || (s.n > 12 && s.p[12] != ' ') ||
        s.p[9] == '0')
        return jm_err_set(err, JM_EPARSE, "\"%s\" is not a status line of HTTP/1", shown(s, buf));
    h->minor = s.p[7] - '0';
    h->status = (s.p[9] - '0') * 100 + (s.p[10] - '0') * 10 + (s.p[11] - '0');
    return 0;
}

static int header_line(struct jm_span s, struct jm_err *err)
{
    char buf[SHOWN + 4];
    size_t i = 0;
    while (i < s.n && is_token(s.p[i]))
        i++;
    if (i == 0 || i == s.n || s.p[i] != ':')
        return jm_err_set(err, JM_EPARSE, "\"%s\" is not a header line", shown(s, buf));
    if (memchr(s.p, '\0', s.n) || memchr(s.p, '\r', s.n))
        return jm_err_set(err, JM_EPARSE, "header \"%.*s\" holds a control character",
                          (int)(i < SHOWN ? i : SHOWN), s.p);
    return 0;
}

static struct jm_span unended(struct jm_span line)
{
    if (line.n && line.p[line.n - 1] == '\n')
        line.n--;
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

/* Whether a comma-separated header holds the word; *last tells whether it is the last one. */
static bool has_word(struct jm_span list, const char *word, bool *last, size_t *words)
{
    struct jm_span item;
    bool found = false;
    while (jm_span_field(&list, ',', &item)) {
        item = jm_span_trim(item);
        if (!item.n)
            continue;
        ++*words;
        *last = jm_span_ieq(item, jm_span_of(word));
        found |= *last;
    }
    return found;
}

static int content_length(struct jm_http1 *h, struct jm_span list, struct jm_err *err)
{
    struct jm_span item;
    char buf[SHOWN + 4];
    while (jm_span_field(&list, ',', &item)) {
        int64_t v;
        item = jm_span_trim(item);
        if (!item.n || !is_digit(item.p[0]) || jm_num_i64(item, &v) != 0)
            return jm_err_set(err, JM_EPARSE, "Content-Length \"%s\" is not a length", shown(item, buf));
        if (h->length >= 0 && h->length != v)
            return jm_err_set(err, JM_EPARSE, "the answer has two lengths: Content-Length %lld and %lld",
                              (long long)h->length, (long long)v);
        h->length = v;
    }
    return 0;
}

/* Keep-Alive: timeout=5, max=100 (RFC 2068 19.7.1.1, llama.cpp, Apache). What is no number is no promise. */
static void keep_alive(struct jm_http1 *h, struct jm_span list)
{
    struct jm_span part;
    while (jm_span_field(&list, ',', &part)) {
        ptrdiff_t eq = jm_span_chr(part, '=');
        int64_t v;
        if (eq <= 0 || jm_num_i64(jm_span_trim(jm_span_sub(part, (size_t)eq + 1, part.n)), &v) != 0 || v < 0)
            continue;
        struct jm_span key = jm_span_trim(jm_span_sub(part, 0, (size_t)eq));
        if (jm_span_ieq(key, JM_SPAN("timeout")))
            h->keep_s = v;
        else if (jm_span_ieq(key, JM_SPAN("max")))
            h->keep_most = v;
    }
}

/* RFC 9112 §6.3: how the body is framed. */
static int framing(struct jm_http1 *h, struct jm_err *err)
{
    struct jm_span v;
    bool te = false, te_last = false, close = false, keep = false, dummy = false;
    size_t codings = 0, words = 0;
    for (size_t i = 0; jm_http1_header(h, "Transfer-Encoding", i, &v); i++) {
        te = true;
        has_word(v, "chunked", &te_last, &codings);
    }
    for (size_t i = 0; jm_http1_header(h, "Content-Length", i, &v); i++) {
        int rc = content_length(h, v, err);
        if (rc)
            return rc;
    }
    for (size_t i = 0; jm_http1_header(h, "Connection", i, &v); i++) {
        close |= has_word(v, "close", &dummy, &words);
        keep |= has_word(v, "keep-alive", &dummy, &words);
    }
    for (size_t i = 0; jm_http1_header(h, "Keep-Alive", i, &v); i++)
        keep_alive(h, v);
    h->keep_alive = !close && (h->minor >= 1 || keep);
    if (h->status == 204 || h->status == 304) {
        h->state = S_DONE;
        return 0;
    }
    if (te && h->length >= 0)
        return jm_err_set(err, JM_EPARSE, "the answer has both Content-Length and Transfer-Encoding");
    if (te && (!te_last || codings != 1))
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "the answer uses a transfer coding other than chunked, which was not asked for");
    if (te) {
        h->chunked = true;
        h->state = S_CHUNK_SIZE;
        if (h->minor == 0)
            h->keep_alive = false; /* RFC 9112 §6.1: framing of a 1.0 message is not to be relied on */
    } else if (h->length >= 0) {
        h->left = h->length;
        h->state = h->left ? S_LENGTH : S_DONE;
    } else {
        h->keep_alive = false;
        h->state = S_UNTIL_EOF;
    }
    return 0;
}

/* The head is whole in h->head: one line each, ended by LF, CR stripped, folds joined. */
static int head_done(struct jm_http1 *h, struct jm_err *err)
{
    if (h->status == 101)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "the server switched protocols (101), which was not asked for");
    if (h->status < 200) {
        if (++h->informational > INFORMATIONAL)
            return jm_err_set(err, JM_ELIMIT, "more than %d interim (1xx) answers before the final one",
                              INFORMATIONAL);
        fresh_head(h);
        return JM_HTTP1_MORE;
    }
    int rc = framing(h, err);
    return rc ? rc : JM_HTTP1_HEAD;
}

/* Moves bytes up to and including the next LF from *in into s; true when the line is whole. */
static bool take_line(struct jm_str *s, struct jm_span *in)
{
    const char *lf = in->n ? memchr(in->p, '\n', in->n) : NULL;
    size_t n = lf ? (size_t)(lf - in->p) + 1 : in->n;
    jm_str_add(s, in->p, n);
    in->p += n;
    in->n -= n;
    return lf != NULL;
}

/* One call handles at most one line of the head; the unfinished one is at the end of h->head, from h->start
 * on. */
static int head_step(struct jm_http1 *h, struct jm_span *in, struct jm_err *err)
{
    size_t start = h->start;
    if (start == 0 && h->head.len == 0)
        while (in->n && (in->p[0] == '\r' || in->p[0] == '\n') && h->leading < LEADING_BLANKS) {
            in->p++;
            in->n--;
            h->leading++;
        }
    if (!in->n)
        return JM_HTTP1_MORE;
    h->seen = true;
    struct jm_span cut = {in->p, in->n};
    size_t room = h->lim.head_bytes - (h->head.len < h->lim.head_bytes ? h->head.len : h->lim.head_bytes);
    if (cut.n > room)
        cut.n = room;
    size_t before = cut.n;
    bool whole = take_line(&h->head, &cut);
    in->p += before - cut.n;
    in->n -= before - cut.n;
    if (h->head.failed)
        return jm_err_set(err, JM_ENOMEM, "out of memory while reading the head of an answer");
    struct jm_span line = {h->head.buf + start, h->head.len - start};
    if (!whole) {
        /* say at the first bytes, not at a limit or a time-out, that this is not HTTP */
        if (start == 0 && line.n >= 5 && !jm_span_starts(line, JM_SPAN("HTTP/")))
            return status_line(h, line, err);
        if (h->head.len >= h->lim.head_bytes)
            return jm_err_set(err, JM_ELIMIT, "the head of the answer is longer than %zu bytes",
                              h->lim.head_bytes);
        return JM_HTTP1_MORE;
    }
    line = unended(line);
    if (start == 0) {
        int rc = status_line(h, line, err);
        if (rc)
            return rc;
    } else if (line.n == 0) {
        h->head.len = start;
        h->head.buf[start] = '\0';
        return head_done(h, err);
    } else if (line.p[0] == ' ' || line.p[0] == '\t') { /* obsolete folding: part of the line before */
        if (h->lines == 0)
            return jm_err_set(err, JM_EPARSE, "the first header line begins with a blank");
        if (memchr(line.p, '\0', line.n) || memchr(line.p, '\r', line.n))
            return jm_err_set(err, JM_EPARSE, "a header line holds a control character");
        h->head.buf[start - 1] = ' ';
    } else {
        if (++h->lines > h->lim.headers)
            return jm_err_set(err, JM_ELIMIT, "the answer has more than %zu header lines", h->lim.headers);
        int rc = header_line(line, err);
        if (rc)
            return rc;
    }
    h->head.len = start + line.n; /* CR LF → LF */
    jm_str_addc(&h->head, '\n');
    if (h->head.failed)
        return jm_err_set(err, JM_ENOMEM, "out of memory while reading the head of an answer");
    h->start = h->head.len;
    return JM_HTTP1_MORE;
}

static int hex(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int chunk_size(struct jm_http1 *h, struct jm_span line, struct jm_err *err)
{
    char buf[SHOWN + 4];
    int64_t v = 0;
    size_t i = 0;
    line = unended(line);
    for (; i < line.n && hex(line.p[i]) >= 0; i++) {
        if (v > (INT64_MAX >> 4))
            return jm_err_set(err, JM_EPARSE, "chunk size \"%s\" is too large", shown(line, buf));
        v = v * 16 + hex(line.p[i]);
    }
    size_t digits = i;
    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
        i++;
    if (!digits || (i < line.n && line.p[i] != ';'))
        return jm_err_set(err, JM_EPARSE, "\"%s\" is not a chunk size", shown(line, buf));
    h->left = v;
    h->state = v ? S_CHUNK_DATA : S_TRAILER;
    return 0;
}

/* A line of chunk framing. Without memory where the line is whole in the input, which is nearly always. */
static int framing_line(struct jm_http1 *h, struct jm_span *in, struct jm_span *line, struct jm_err *err)
{
    const char *lf = memchr(in->p, '\n', in->n);
    size_t n = lf ? (size_t)(lf - in->p) + 1 : in->n;
    if (h->line.len + n > h->lim.head_bytes)
        return jm_err_set(err, JM_ELIMIT, "a line of chunk framing is longer than %zu bytes",
                          h->lim.head_bytes);
    if (lf && h->line.len == 0) {
        *line = (struct jm_span){in->p, n};
    } else {
        jm_str_add(&h->line, in->p, n);
        if (h->line.failed)
            return jm_err_set(err, JM_ENOMEM, "out of memory while reading chunk framing");
        *line = jm_str_span(&h->line);
    }
    in->p += n;
    in->n -= n;
    return lf ? 1 : 0;
}

static int framing_step(struct jm_http1 *h, struct jm_span *in, struct jm_err *err)
{
    struct jm_span line;
    char buf[SHOWN + 4];
    int rc = framing_line(h, in, &line, err);
    if (rc <= 0)
        return rc;
    if (h->state == S_CHUNK_SIZE) {
        rc = chunk_size(h, line, err);
    } else if (h->state == S_CHUNK_END) {
        rc = unended(line).n ? jm_err_set(err, JM_EPARSE, "\"%s\" stands where a chunk should end",
                                          shown(unended(line), buf))
                             : 0;
        h->state = S_CHUNK_SIZE;
    } else {
        h->trailer_bytes += line.n;
        if (h->trailer_bytes > h->lim.head_bytes)
            return jm_err_set(err, JM_ELIMIT, "the trailers are longer than %zu bytes", h->lim.head_bytes);
        rc = 0;
        if (unended(line).n == 0)
            h->state = S_DONE;
    }
    jm_str_reset(&h->line);
    return rc ? rc : 1;
}

static int body_piece(struct jm_http1 *h, struct jm_span *in, struct jm_span *body)
{
    size_t n = in->n;
    if (h->state != S_UNTIL_EOF) {
        if ((uint64_t)h->left < n)
            n = (size_t)h->left;
        h->left -= (int64_t)n;
        if (h->left == 0)
            h->state = h->state == S_LENGTH ? S_DONE : S_CHUNK_END;
    }
    *body = (struct jm_span){in->p, n};
    in->p += n;
    in->n -= n;
    h->body_bytes += (int64_t)n;
    return JM_HTTP1_BODY;
}

int jm_http1_next(struct jm_http1 *h, struct jm_span *in, struct jm_span *body, struct jm_err *err)
{
    for (;;) {
        int rc;
        switch (h->state) {
        case S_DONE: return JM_HTTP1_DONE;
        case S_BAD: return jm_err_set(err, JM_ESTATE, "an answer is read on after an error");
        case S_LENGTH:
        case S_UNTIL_EOF:
        case S_CHUNK_DATA: return in->n ? body_piece(h, in, body) : JM_HTTP1_MORE;
        case S_HEAD:
            if (!in->n)
                return JM_HTTP1_MORE;
            rc = head_step(h, in, err);
            if (rc == JM_HTTP1_HEAD)
                return rc;
            break;
        default:
            if (!in->n)
                return JM_HTTP1_MORE;
            rc = framing_step(h, in, err);
            break;
        }
        if (rc < 0) {
            h->state = S_BAD;
            return rc;
        }
    }
}

int jm_http1_eof(struct jm_http1 *h, struct jm_err *err)
{
    int state = h->state;
    if (state == S_DONE || state == S_UNTIL_EOF) {
        h->state = S_DONE;
        return JM_HTTP1_DONE;
    }
    h->state = S_BAD;
    if (state == S_HEAD && !h->seen && h->informational == 0)
        return jm_err_set(err, JM_EABSENT, "the connection was closed without an answer");
    if (state == S_HEAD)
        return jm_err_set(err, JM_ENET, "the connection was closed inside the head of the answer");
    if (state == S_LENGTH)
        return jm_err_set(err, JM_ENET, "the connection was closed after %lld of %lld bytes of the answer",
                          (long long)h->body_bytes, (long long)h->length);
    if (state == S_BAD)
        return jm_err_set(err, JM_ESTATE, "an answer is read on after an error");
    return jm_err_set(err, JM_ENET,
                      "the connection was closed after %lld bytes of an answer without its last chunk",
                      (long long)h->body_bytes);
}

bool jm_http1_header(const struct jm_http1 *h, const char *name, size_t nth, struct jm_span *value)
{
    struct jm_span rest = jm_str_span(&h->head), line, key = jm_span_of(name);
    bool first = true;
    while (jm_span_line(&rest, &line)) {
        if (first) {
            first = false; /* the status line */
            continue;
        }
        if (line.n > key.n && line.p[key.n] == ':' && jm_span_ieq(jm_span_sub(line, 0, key.n), key) &&
            nth-- == 0) {
            *value = jm_span_trim(jm_span_sub(line, key.n + 1, line.n));
            return true;
        }
    }
    return false;
}

struct jm_span jm_http1_reason(const struct jm_http1 *h)
{
    struct jm_span rest = jm_str_span(&h->head), line = {0};
    jm_span_line(&rest, &line);
    return jm_span_trim(jm_span_sub(line, 13, line.n));
}

static bool plain(const char *s, bool blanks)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f || (!blanks && *s == ' '))
            return false;
    return true;
}

int jm_http1_request(struct jm_str *out, const char *method, const char *target, const char *host,
                     const struct jm_http1_field *fields, size_t n, struct jm_span body, struct jm_err *err)
{
    if (!plain(method, false) || !plain(target, false) || !plain(host, false))
        return jm_err_set(err, JM_EINVAL, "the address of a request holds a blank or control character");
    for (size_t i = 0; i < n; i++)
        if (fields[i].value && (!plain(fields[i].value, true) || !plain(fields[i].name, false)))
            return jm_err_set(err, JM_EINVAL, "request header %s holds a control character", fields[i].name);
    jm_str_addf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, host);
    for (size_t i = 0; i < n; i++)
        if (fields[i].value)
            jm_str_addf(out, "%s: %s\r\n", fields[i].name, fields[i].value);
    if (body.p)
        jm_str_addf(out, "Content-Length: %zu\r\n", body.n);
    jm_str_adds(out, "\r\n");
    jm_str_addspan(out, body);
    return jm_str_ok(out, "a request", err);
}
