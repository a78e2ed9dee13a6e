/* SPDX-License-Identifier: Apache-2.0 */
#include "callkit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_EVENTS = 4096 };

void kit_render(const struct jm_call *c, bool stamps, struct jm_str *s)
{
    const struct jm_request *r = &c->r;
    jm_str_addf(s, "%s finish=%s in=%lld out=%lld/%d cached=%lld reasoning=%lld bytes=%lld",
                jm_end_name((int)r->end), r->finish, (long long)r->prompt_tokens, (long long)r->output_tokens,
                (int)r->token_source, (long long)r->cached_tokens, (long long)r->reasoning_tokens,
                (long long)r->output_bytes);
    if (c->load_ns >= 0)
        jm_str_addf(s, " load=%lld", (long long)c->load_ns);
    if (stamps)
        jm_str_addf(s, " >%lld *%lld |", (long long)r->t[JM_T_FIRST_TOKEN],
                    (long long)r->t[JM_T_FIRST_VISIBLE]);
    struct jm_token_event ev[MOST_EVENTS];
    size_t n = jm_evlog_read(&c->ev, ev, MOST_EVENTS);
    assert_int_equal(n, c->ev.n);
    for (size_t i = 0; i < n; i++) {
        if (stamps)
            jm_str_addf(s, " %lld", (long long)ev[i].t);
        if (ev[i].flags & JM_TE_COUNT_KNOWN)
            jm_str_addf(s, ":%u", ev[i].tokens);
        else
            jm_str_addc(s, '?');
        jm_str_adds(s, ev[i].flags & JM_TE_REASONING ? "r" : "");
        jm_str_adds(s, ev[i].flags & JM_TE_TOOL ? "t" : "");
        jm_str_adds(s, i == 0 && c->bundled ? "b" : "");
    }
}

const char kit_head[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/* One event a read, each in a chunk of its own, stamped with its number. */
void kit_play(struct jm_call *c, const char *body)
{
    struct jm_span rest = jm_span_of(body), in = jm_span_of(kit_head);
    bool over = jm_call_bytes(c, in, 0);
    for (int64_t k = 1; rest.n && !over; k++) {
        struct jm_span mark = c->reader->d->framing == JM_FRAMES_LINES ? JM_SPAN("\n") : JM_SPAN("\n\n");
        ptrdiff_t end = jm_span_find(rest, mark);
        size_t n = end < 0 ? rest.n : (size_t)end + mark.n;
        struct jm_str chunk;
        jm_str_init(&chunk);
        jm_str_addf(&chunk, "%zx\r\n", n);
        jm_str_add(&chunk, rest.p, n);
        jm_str_adds(&chunk, "\r\n");
        over = jm_call_bytes(c, jm_str_span(&chunk), k);
        jm_str_release(&chunk);
        rest = jm_span_sub(rest, n, rest.n);
    }
    if (!over)
        over = jm_call_bytes(c, JM_SPAN("0\r\n\r\n"), 1000);
    assert_true(over);
}

void kit_events(const struct kit_row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct jm_reader rd;
        struct jm_call c;
        struct jm_str got;
        assert_int_equal(jm_reader_init(&rd, jm_dialect_find(rows[i].api), NULL), 0);
        jm_call_init(&c, &rd, false);
        kit_play(&c, rows[i].body);
        jm_str_init(&got);
        kit_render(&c, true, &got);
        if (strcmp(got.buf, rows[i].want) != 0)
            fail_msg("%s:\n     got %s (%s)\nexpected %s", rows[i].name, got.buf, c.r.error, rows[i].want);
        jm_str_release(&got);
        jm_call_release(&c);
    }
}

/* The same record wherever the bytes are cut, in every framing, with every line end. */
void kit_splits(const struct kit_row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        for (int shape = 0; shape < 4; shape++) {
            struct jm_str text, want;
            struct jm_reader rd;
            struct jm_call c;
            size_t n = strlen(rows[i].body);
            jm_str_init(&text);
            jm_str_init(&want);
            assert_int_equal(jm_reader_init(&rd, jm_dialect_find(rows[i].api), NULL), 0);
            jm_call_init(&c, &rd, false);
            if (shape == 0)
                jm_str_addf(&text, "%s%zx\r\n%s\r\n0\r\n\r\n", kit_head, n, rows[i].body);
            else if (shape == 1)
                jm_str_addf(&text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", n, rows[i].body);
            else { /* CRLF line ends, or chunks of five bytes */
                jm_str_adds(&text, kit_head);
                struct jm_str body;
                jm_str_init(&body);
                for (const char *p = rows[i].body; *p; p++) {
                    if (*p == '\n' && shape == 2)
                        jm_str_addc(&body, '\r');
                    jm_str_addc(&body, *p);
                }
                for (size_t at = 0; at < body.len; at += 5)
                    jm_str_addf(&text, "%zx;x\r\n%.*s\r\n", body.len - at < 5 ? body.len - at : 5, 5,
                                body.buf + at);
                jm_str_adds(&text, "0\r\n\r\n");
                jm_str_release(&body);
            }
            /* every byte in the plain framings, every seventh in the two that only vary it */
            size_t step = shape < 2 ? 1 : 7;
            for (size_t cut = 0; cut <= text.len;
                 cut = cut + step > text.len && cut < text.len ? text.len : cut + step) {
                struct jm_str got;
                jm_str_init(&got);
                jm_call_begin(&c);
                bool over = false;
                if (cut < text.len) {
                    jm_call_bytes(&c, (struct jm_span){text.buf, cut}, 1);
                    over = jm_call_bytes(&c, (struct jm_span){text.buf + cut, text.len - cut}, 2);
                } else { /* byte by byte */
                    for (size_t k = 0; k < text.len; k++)
                        over = jm_call_bytes(&c, (struct jm_span){text.buf + k, 1}, (int64_t)k);
                }
                assert_true(over);
                kit_render(&c, false, &got);
                if (cut == 0)
                    jm_str_addspan(&want, jm_str_span(&got));
                else if (strcmp(got.buf, want.buf) != 0)
                    fail_msg("%s, shape %d, cut at %zu: %s\nexpected %s", rows[i].name, shape, cut, got.buf,
                             want.buf);
                jm_str_release(&got);
            }
            if (strncmp(want.buf, rows[i].want, strcspn(rows[i].want, ">") - 1) != 0)
                fail_msg("%s, shape %d: %s\nexpected %s", rows[i].name, shape, want.buf, rows[i].want);
            jm_call_release(&c);
            jm_str_release(&text);
            jm_str_release(&want);
        }
    }
}
