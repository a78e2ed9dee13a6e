/* SPDX-License-Identifier: Apache-2.0 */
#include "load/reframe.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

void jm_reframe_begin(struct jm_reframe *f, bool decoded)
{
    *f = (struct jm_reframe){.decoded = decoded};
}

static bool name_is(struct jm_span line, const char *name)
{
    size_t n = strlen(name);
    return line.n > n && line.p[n] == ':' && jm_span_ieq(jm_span_sub(line, 0, n), (struct jm_span){name, n});
}

static struct jm_span value_of(struct jm_span line)
{
    ptrdiff_t colon = jm_span_chr(line, ':');
    return jm_span_trim(jm_span_sub(line, (size_t)(colon + 1), line.n));
}

/* Of this hop and its framing: untrue once the answer is written down anew. */
static bool of_the_hop(struct jm_span line)
{
    static const char *const names[] = {
        "Connection",     "Keep-Alive", "Proxy-Connection", "Transfer-Encoding",
        "Content-Length", "Trailer",    "Upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name_is(line, names[i]))
            return true;
    return false;
}

/* "HTTP/2 200", "HTTP/1.0 200 OK": the version is ours from here on. */
static void status_line(struct jm_reframe *f, struct jm_span line, struct jm_str *out)
{
    ptrdiff_t blank = jm_span_chr(line, ' ');
    struct jm_span rest =
        blank < 0 ? (struct jm_span){line.p, 0} : jm_span_sub(line, (size_t)blank + 1, line.n);
    f->in_head = true;
    f->skipping = false;
    f->coding[0] = '\0';
    f->status = 0;
    for (size_t i = 0; i < 3 && i < rest.n && rest.p[i] >= '0' && rest.p[i] <= '9'; i++)
        f->status = f->status * 10 + (rest.p[i] - '0');
    jm_str_adds(out, "HTTP/1.1 ");
    jm_str_addspan(out, rest);
    jm_str_adds(out, "\r\n");
}

static bool bodiless(const struct jm_reframe *f)
{
    return f->status < 200 || f->status == 204 || f->status == 304;
}

void jm_reframe_head(struct jm_reframe *f, struct jm_span line, struct jm_str *out)
{
    while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    if (f->headed) /* trailers */
        return;
    if (!f->in_head) {
        if (line.n)
            status_line(f, line, out);
        return;
    }
    if (!line.n) {
        f->in_head = false;
        f->headed = f->status >= 200;
        if (!bodiless(f))
            jm_str_adds(out, "Transfer-Encoding: chunked\r\n");
        jm_str_adds(out, "\r\n");
        return;
    }
    bool fold = line.p[0] == ' ' || line.p[0] == '\t';
    if (!fold)
        f->skipping = of_the_hop(line);
    if (!fold && name_is(line, "Content-Encoding")) {
        struct jm_span v = value_of(line);
        if (!f->coding[0] && v.n && !jm_span_ieq(v, JM_SPAN("identity")))
            snprintf(f->coding, sizeof f->coding, "%.*s", (int)(v.n < 15 ? v.n : 15), v.p);
        f->skipping = f->decoded;
    }
    if (f->skipping)
        return;
    for (size_t i = 0; i < line.n; i++) /* a line end inside would forge a header */
        jm_str_addc(out, line.p[i] == '\n' || line.p[i] == '\r' ? ' ' : line.p[i]);
    jm_str_adds(out, "\r\n");
}

void jm_reframe_body(struct jm_reframe *f, struct jm_span piece, struct jm_str *out)
{
    if (!piece.n || !f->headed || bodiless(f))
        return;
    jm_str_addf(out, "%zx\r\n", piece.n);
    jm_str_addspan(out, piece);
    jm_str_adds(out, "\r\n");
}

void jm_reframe_end(struct jm_reframe *f, struct jm_str *out)
{
    if (f->headed && !bodiless(f))
        jm_str_adds(out, "0\r\n\r\n");
}

/* --- requests
 * ------------------------------------------------------------------------------------------------ */
static int bad(struct jm_err *err)
{
    return jm_err_set(err, JM_EPARSE, "the request to be sent is not a request of HTTP/1");
}

int jm_split_request(struct jm_span wire, struct jm_split *out, struct jm_str *keep, struct jm_err *err)
{
    static const char *const left_out[] = {"Content-Length", "Connection", "Accept-Encoding"};
    struct jm_span line, at = wire;
    size_t n = 0, ends[16];
    *out = (struct jm_split){0};
    jm_str_reset(keep);
    if (!jm_span_field(&at, '\n', &line))
        return bad(err);
    ptrdiff_t a = jm_span_chr(line, ' ');
    struct jm_span rest = a < 0 ? (struct jm_span){0} : jm_span_sub(line, (size_t)a + 1, line.n);
    ptrdiff_t b = rest.n ? jm_span_chr(rest, ' ') : -1;
    if (a <= 0 || b <= 0)
        return bad(err);
    out->method = jm_span_sub(line, 0, (size_t)a);
    out->target = jm_span_sub(rest, 0, (size_t)b);
    bool body = false;
    while (jm_span_field(&at, '\n', &line)) {
        line = jm_span_trim(line);
        if (!line.n)
            break;
        bool skip = false;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            skip |= name_is(line, left_out[i]);
        body |= name_is(line, "Content-Length");
        if (name_is(line, "Host")) {
            out->host = value_of(line);
            skip = true;
        }
        if (skip)
            continue;
        if (n + 1 >= sizeof out->headers / sizeof *out->headers)
            return jm_err_set(err, JM_ELIMIT, "the request has more than %zu headers",
                              sizeof out->headers / sizeof *out->headers - 1);
        jm_str_addspan(keep, line);
        jm_str_addc(keep, '\0');
        ends[n++] = keep->len;
    }
    if (line.n || !out->host.n)
        return bad(err);
    for (size_t i = 0; i < n; i++)
        out->headers[i] = keep->buf + (i ? ends[i - 1] : 0);
    if (body)
        out->body = at.p ? at : (struct jm_span){wire.p + wire.n, 0};
    return jm_str_ok(keep, "the headers of a request", err);
}
