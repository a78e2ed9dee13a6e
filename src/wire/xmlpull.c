/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/xmlpull.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

void jm_xml_init(struct jm_xml *x, struct jm_span text)
{
    memset(x, 0, sizeof *x);
    x->in = text;
}

static int broken(const struct jm_xml *x, struct jm_err *err, const char *what)
{
    return jm_err_set(err, JM_EPARSE, "no XML at byte %zu: %s", x->at, what);
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

/* Goes behind the next `mark`; false: there is none. */
static bool past(struct jm_xml *x, struct jm_span mark)
{
    ptrdiff_t i = jm_span_find(jm_span_sub(x->in, x->at, x->in.n), mark);
    if (i < 0)
        return false;
    x->at += (size_t)i + mark.n;
    return true;
}

/* <!DOCTYPE x [ ... ]>: brackets and quotes may hold >. */
static bool past_doctype(struct jm_xml *x)
{
    bool inside = false;
    for (char quote = 0; x->at < x->in.n; x->at++) {
        char c = x->in.p[x->at];
        if (quote) {
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '[') {
            inside = true;
        } else if (c == ']') {
            inside = false;
        } else if (c == '>' && !inside) {
            x->at++;
            return true;
        } else if (c == '<' && jm_span_starts(jm_span_sub(x->in, x->at, 4), JM_SPAN("<!--"))) {
            if (!past(x, JM_SPAN("-->")))
                return false;
            x->at--;
        }
    }
    return false;
}

static struct jm_span name_at(struct jm_xml *x)
{
    size_t from = x->at;
    while (x->at < x->in.n && name_byte(x->in.p[x->at]))
        x->at++;
    return jm_span_sub(x->in, from, x->at - from);
}

static int open_tag(struct jm_xml *x, struct jm_xml_event *e, struct jm_err *err)
{
    e->kind = JM_XML_OPEN;
    e->name = name_at(x);
    if (!e->name.n)
        return broken(x, err, "a tag without a name");
    if (x->depth == JM_XML_DEPTH)
        return jm_err_set(err, JM_ELIMIT, "XML deeper than %d elements at byte %zu", JM_XML_DEPTH, x->at);
    size_t from = x->at;
    for (char quote = 0; x->at < x->in.n; x->at++) {
        char c = x->in.p[x->at];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>' || c == '<')
            break;
    }
    if (x->at == x->in.n || x->in.p[x->at] != '>')
        return broken(x, err, "a tag without an end");
    e->attributes = jm_span_sub(x->in, from, x->at - from);
    x->at++;
    x->close = e->attributes.n && e->attributes.p[e->attributes.n - 1] == '/';
    if (x->close)
        e->attributes.n--;
    e->attributes = jm_span_trim(e->attributes);
    x->open[x->depth++] = e->name;
    return 0;
}

static int close_tag(struct jm_xml *x, struct jm_xml_event *e, struct jm_err *err)
{
    e->kind = JM_XML_CLOSE;
    e->name = name_at(x);
    while (x->at < x->in.n && blank(x->in.p[x->at]))
        x->at++;
    if (x->at == x->in.n || x->in.p[x->at] != '>')
        return broken(x, err, "an end tag without an end");
    if (!x->depth || !jm_span_eq(x->open[x->depth - 1], e->name))
        return broken(x, err, "an end tag of another element");
    x->at++;
    x->depth--;
    return 0;
}

int jm_xml_next(struct jm_xml *x, struct jm_xml_event *e, struct jm_err *err)
{
    *e = (struct jm_xml_event){.kind = JM_XML_END_OF_TEXT};
    if (x->close) {
        x->close = false;
        e->kind = JM_XML_CLOSE;
        e->name = x->open[--x->depth];
        return 0;
    }
    for (;;) {
        struct jm_span rest = jm_span_sub(x->in, x->at, x->in.n);
        if (!rest.n)
            return x->depth ? broken(x, err, "the text ends inside an element") : 0;
        if (rest.p[0] != '<') {
            ptrdiff_t n = jm_span_chr(rest, '<');
            e->text = jm_span_trim(jm_span_sub(rest, 0, n < 0 ? rest.n : (size_t)n));
            x->at += n < 0 ? rest.n : (size_t)n;
            if (!e->text.n || !x->depth) /* between documents: banners of shells and the like */
                continue;
            e->kind = JM_XML_TEXT;
            return 0;
        }
        bool ok = true;
        if (jm_span_starts(rest, JM_SPAN("<!--"))) {
            ok = past(x, JM_SPAN("-->"));
        } else if (jm_span_starts(rest, JM_SPAN("<?"))) {
            ok = past(x, JM_SPAN("?>"));
        } else if (jm_span_starts(rest, JM_SPAN("<![CDATA["))) {
            x->at += 9;
            ok = past(x, JM_SPAN("]]>"));
        } else if (jm_span_starts(rest, JM_SPAN("<!"))) {
            ok = past_doctype(x);
        } else if (jm_span_starts(rest, JM_SPAN("</"))) {
            x->at += 2;
            return close_tag(x, e, err);
        } else {
            x->at++;
            return open_tag(x, e, err);
        }
        if (!ok)
            return broken(x, err, "a declaration or comment without an end");
    }
}

bool jm_xml_attribute(struct jm_span a, const char *name, struct jm_span *value)
{
    for (size_t i = 0; i < a.n;) {
        size_t from = i;
        while (i < a.n && name_byte(a.p[i]))
            i++;
        struct jm_span key = jm_span_sub(a, from, i - from);
        while (i < a.n && (blank(a.p[i]) || a.p[i] == '='))
            i++;
        if (i >= a.n || (a.p[i] != '"' && a.p[i] != '\'')) {
            i += i == from;
            continue;
        }
        char quote = a.p[i++];
        from = i;
        while (i < a.n && a.p[i] != quote)
            i++;
        if (key.n && jm_span_is(key, name)) {
            *value = jm_span_sub(a, from, i - from);
            return true;
        }
        for (i++; i < a.n && blank(a.p[i]);)
            i++;
    }
    return false;
}

char *jm_xml_text(struct jm_span s, char *buf, size_t cap)
{
    static const struct {
        const char *entity;
        char c;
    } known[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t n = 0;
    for (size_t i = 0; i < s.n && n + 1 < cap;) {
        struct jm_span rest = jm_span_sub(s, i, s.n);
        size_t used = 1;
        char c = rest.p[0];
        uint64_t code;
        ptrdiff_t semi = c == '&' ? jm_span_chr(jm_span_sub(rest, 0, 12), ';') : -1;
        for (size_t k = 0; c == '&' && used == 1 && k < sizeof known / sizeof known[0]; k++)
            if (jm_span_starts(rest, jm_span_of(known[k].entity))) {
                c = known[k].c;
                used = strlen(known[k].entity);
            }
        if (used == 1 && semi > 2 && rest.p[1] == '#' &&
            jm_num_u64(jm_span_sub(rest, 2, (size_t)semi - 2), &code) == 0) {
            c = code >= 32 && code < 127 ? (char)code : '?';
            used = (size_t)semi + 1;
        }
        buf[n++] = c;
        i += used;
    }
    if (cap)
        buf[n] = 0;
    return buf;
}
