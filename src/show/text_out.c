/* SPDX-License-Identifier: Apache-2.0 */
#include "show/text_out.h"

#include <stdio.h>
#include <string.h>

#include "show/fmt.h"

#include "base/banned.h"

void jm_out_style(struct jm_out *o, enum jm_out_style_of st)
{
    static const char *const code[] = {"\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[1;31m"};
    if (o->o->color)
        jm_str_adds(o->s, code[st]);
}

/* Columns that the first n bytes of a text take (no wide characters are printed here). */
int jm_out_columns(const char *s, size_t n)
{
    struct jm_span one;
    int c = 0;
    for (const char *at = s; (at = jm_fmt_next(at, &one)) && (size_t)(at - s) <= n;)
        c++;
    return c;
}

/* Text as it may be shown on a terminal: nothing foreign moves the cursor; in ASCII where asked. */
void jm_out_add(struct jm_out *o, const char *s)
{
    static const struct {
        const char *u, *a;
    } map[] = {{"±", "+-"}, {"–", "-"}, {"µ", "u"}, {"×", "x"}, {"·", "-"},
               {"─", "-"},  {"°", " "}, {"≈", "~"}, {"→", ">"}};
    struct jm_span c;
    while ((s = jm_fmt_next(s, &c))) {
        const char *put = c.n > 1 && o->o->ascii ? "?" : NULL;
        for (size_t i = 0; put && i < sizeof map / sizeof map[0]; i++)
            if (jm_span_is(c, map[i].u))
                put = map[i].a;
        if (put)
            jm_str_adds(o->s, put);
        else
            jm_str_addspan(o->s, c);
    }
}

/* Left-aligned in width columns (cut with ".." when longer), or right-aligned. */
void jm_out_cell(struct jm_out *o, const char *text, int width, bool right)
{
    struct jm_str mapped; /* ASCII can be wider */
    jm_str_init(&mapped);
    if (o->o->ascii) {
        struct jm_out to = *o;
        to.s = &mapped;
        jm_out_add(&to, text);
    }
    const char *s = o->o->ascii ? mapped.buf : text;
    int c = jm_out_columns(s, strlen(s));
    for (int i = c; right && i < width; i++)
        jm_str_addc(o->s, ' ');
    if (c <= width) {
        jm_out_add(o, s);
    } else {
        char cut[512];
        const char *at = s;
        struct jm_span one;
        for (int k = 0; k < width - 2; k++)
            at = jm_fmt_next(at, &one);
        snprintf(cut, sizeof cut, "%.*s", (int)(at - s < 500 ? at - s : 500), s);
        jm_out_add(o, cut);
        jm_str_adds(o->s, "..");
    }
    for (int i = c; !right && i < width; i++)
        jm_str_addc(o->s, ' ');
    jm_str_release(&mapped);
}

/* One word; what is longer than a line is broken, behind a comma where it has some. Returns how far the
 * column moved. */
static int piece(struct jm_out *o, const char *word, int indent, int at)
{
    struct jm_span c;
    char one[8];
    int start = at;
    bool behind = true; /* the word's beginning, or a comma */
    for (const char *part = word; (word = jm_fmt_next(word, &c)); part = word) {
        size_t n = strcspn(part, ",");
        int whole = behind ? jm_out_columns(part, n) + (part[n] == ',') : 0;
        behind = c.n == 1 && c.p[0] == ',';
        if (at >= o->width || (at > indent && at + whole > o->width && indent + whole <= o->width)) {
            jm_str_addc(o->s, '\n');
            for (int i = 0; i < indent; i++)
                jm_str_addc(o->s, ' ');
            at = indent;
        }
        snprintf(one, sizeof one, "%.*s", (int)c.n, c.p);
        jm_out_add(o, one);
        at++;
    }
    return at - start;
}

/* Words of s wrapped behind an indent; the first line continues at column at. */
void jm_out_wrap(struct jm_out *o, const char *s, int indent, int at)
{
    for (bool first = true; *s; first = false) {
        size_t n = strcspn(s, " ");
        int c = jm_out_columns(s, n);
        if (!first && at + 1 + c > o->width) {
            jm_str_addc(o->s, '\n');
            for (int i = 0; i < indent; i++)
                jm_str_addc(o->s, ' ');
            at = indent;
        } else if (!first) {
            jm_str_addc(o->s, ' ');
            at++;
        }
        char word[512];
        snprintf(word, sizeof word, "%.*s", (int)(n < 500 ? n : 500), s);
        at += piece(o, word, indent, at);
        s += n;
        s += strspn(s, " ");
    }
    jm_str_addc(o->s, '\n');
}

void jm_out_section(struct jm_out *o, const char *title)
{
    jm_str_addc(o->s, '\n');
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_add(o, title);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_addc(o->s, '\n');
}
