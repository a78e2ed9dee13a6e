/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/prom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define LINE_BYTES  ((size_t)256 << 10)
#define TOTAL_BYTES ((size_t)64 << 20)
#define FAMILIES    ((size_t)16384)

void jm_prom_init(struct jm_prom *p, const struct jm_prom_limits *lim)
{
    *p = (struct jm_prom){.lim = lim ? *lim : (struct jm_prom_limits){0}};
    p->lim.line_bytes = p->lim.line_bytes ? p->lim.line_bytes : LINE_BYTES;
    p->lim.total_bytes = p->lim.total_bytes ? p->lim.total_bytes : TOTAL_BYTES;
    p->lim.families = p->lim.families ? p->lim.families : FAMILIES;
    jm_str_init(&p->line);
    jm_str_init(&p->names);
}

void jm_prom_release(struct jm_prom *p)
{
    jm_str_release(&p->line);
    jm_str_release(&p->names);
    free(p->family);
    p->family = NULL;
}

/* ---- the types of families, by name */

static size_t hash(struct jm_span s)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

static struct jm_prom_family *slot(const struct jm_prom *p, struct jm_span name)
{
    size_t mask = p->cap_family - 1, i = hash(name) & mask;
    for (;; i = (i + 1) & mask) {
        struct jm_prom_family *f = &p->family[i];
        if (!f->len || (f->len == name.n && memcmp(p->names.buf + f->at, name.p, name.n) == 0))
            return f;
    }
}

static bool grow(struct jm_prom *p)
{
    struct jm_prom bigger = *p;
    bigger.cap_family = p->cap_family ? 2 * p->cap_family : 256;
    bigger.family = calloc(bigger.cap_family, sizeof *bigger.family);
    if (!bigger.family)
        return false;
    for (size_t i = 0; i < p->cap_family; i++)
        if (p->family[i].len)
            *slot(&bigger, (struct jm_span){p->names.buf + p->family[i].at, p->family[i].len}) = p->family[i];
    free(p->family);
    p->family = bigger.family;
    p->cap_family = bigger.cap_family;
    return true;
}

static bool remember(struct jm_prom *p, struct jm_span name, enum jm_prom_type type)
{
    if (p->n_family * 2 >= p->cap_family && !grow(p))
        return false;
    struct jm_prom_family *f = slot(p, name);
    if (!f->len) {
        if (p->n_family >= p->lim.families)
            return true;
        size_t at = p->names.len;
        jm_str_addspan(&p->names, name);
        if (p->names.failed)
            return false;
        *f = (struct jm_prom_family){at, name.n, type};
        p->n_family++;
    } else {
        f->type = type;
    }
    return true;
}

static bool known(const struct jm_prom *p, struct jm_span name, enum jm_prom_type *type)
{
    const struct jm_prom_family *f = name.n && p->cap_family ? slot(p, name) : NULL;
    if (!f || !f->len)
        return false;
    *type = f->type;
    return true;
}

#define BIT(t) (1u << (t))
static const struct {
    const char *suffix;
    unsigned types;
    enum jm_prom_part part;
} suffixes[] = {
    {"_bucket", BIT(JM_PROM_HISTOGRAM) | BIT(JM_PROM_GAUGE_HISTOGRAM), JM_PROM_BUCKET},
    {"_sum", BIT(JM_PROM_HISTOGRAM) | BIT(JM_PROM_SUMMARY), JM_PROM_SUM},
    {"_count", BIT(JM_PROM_HISTOGRAM) | BIT(JM_PROM_SUMMARY), JM_PROM_COUNT},
    {"_gsum", BIT(JM_PROM_GAUGE_HISTOGRAM), JM_PROM_SUM},
    {"_gcount", BIT(JM_PROM_GAUGE_HISTOGRAM), JM_PROM_COUNT},
    {"_total", BIT(JM_PROM_COUNTER), JM_PROM_PLAIN},
    {"_created", BIT(JM_PROM_COUNTER) | BIT(JM_PROM_HISTOGRAM) | BIT(JM_PROM_SUMMARY), JM_PROM_CREATED},
    {"_info", BIT(JM_PROM_INFO), JM_PROM_PLAIN},
};

/* The family that the sample belongs to. In the text format a counter's TYPE names the sample itself (with
 * _total), and prometheus_client writes its _created under a TYPE of its own, a gauge. */
static void belongs(const struct jm_prom *p, struct jm_prom_sample *s)
{
    enum jm_prom_type t;
    s->family = s->name;
    s->part = JM_PROM_PLAIN;
    s->type = JM_PROM_UNTYPED;
    bool own = known(p, s->name, &s->type);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        struct jm_span end = jm_span_of(suffixes[i].suffix);
        if (s->name.n <= end.n || !jm_span_ends(s->name, end))
            continue;
        struct jm_span base = jm_span_sub(s->name, 0, s->name.n - end.n);
        bool created = suffixes[i].part == JM_PROM_CREATED;
        char total[256];
        if (own && !(created && s->type == JM_PROM_GAUGE))
            break;
        if (known(p, base, &t) && (suffixes[i].types & BIT(t))) {
            s->family = base;
            s->part = suffixes[i].part;
            s->type = t;
        } else if (created && base.n < sizeof total - 6) {
            memcpy(total, base.p, base.n);
            memcpy(total + base.n, "_total", 6);
            if (known(p, (struct jm_span){total, base.n + 6}, &t) && t == JM_PROM_COUNTER) {
                s->family = base; /* without the _total that cannot be pointed to */
                s->part = JM_PROM_CREATED;
                s->type = t;
            }
        }
        break;
    }
    if (s->type == JM_PROM_SUMMARY && s->part == JM_PROM_PLAIN)
        s->part = JM_PROM_QUANTILE;
}

/* ---- one line */

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct jm_span skip(struct jm_span s)
{
    while (s.n && blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    return s;
}

/* Up to the next blank. */
static struct jm_span word(struct jm_span *rest)
{
    struct jm_span w = skip(*rest);
    size_t n = 0;
    while (n < w.n && !blank(w.p[n]))
        n++;
    *rest = jm_span_sub(w, n, w.n);
    return jm_span_sub(w, 0, n);
}

static bool name_char(char c, bool first, bool colon)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon && c == ':') ||
           (!first && c >= '0' && c <= '9');
}

static struct jm_span name_of(struct jm_span *rest, bool colon)
{
    size_t n = 0;
    while (n < rest->n && name_char(rest->p[n], n == 0, colon))
        n++;
    struct jm_span w = jm_span_sub(*rest, 0, n);
    *rest = jm_span_sub(*rest, n, rest->n);
    return w;
}

/* After the opening quote; takes the closing one. */
static bool quoted(struct jm_span *rest, struct jm_span *value, bool *escaped)
{
    *escaped = false;
    for (size_t i = 0; i < rest->n; i++) {
        if (rest->p[i] == '\\') {
            *escaped = true;
            i++;
        } else if (rest->p[i] == '"') {
            *value = jm_span_sub(*rest, 0, i);
            *rest = jm_span_sub(*rest, i + 1, rest->n);
            return true;
        }
    }
    return false;
}

static bool take(struct jm_span *rest, char c)
{
    *rest = skip(*rest);
    if (!rest->n || rest->p[0] != c)
        return false;
    *rest = jm_span_sub(*rest, 1, rest->n);
    return true;
}

/* After the opening brace; takes the closing one. name: of the sample where it is inside, quoted (UTF-8
 * names of Prometheus 3). */
static bool labels(struct jm_span *rest, struct jm_prom_label *label, size_t *n, struct jm_span *name)
{
    *n = 0;
    for (;;) {
        struct jm_prom_label l = {0};
        if (take(rest, '}'))
            return true;
        bool plain = !take(rest, '"');
        if (plain)
            l.name = name_of(rest, true);
        else if (!quoted(rest, &l.name, &l.escaped))
            return false;
        if (!l.name.n)
            return false;
        if (take(rest, '=')) {
            if (!take(rest, '"') || !quoted(rest, &l.value, &l.escaped) || *n == JM_PROM_LABELS)
                return false;
            label[(*n)++] = l;
        } else if (plain || !name || name->n) {
            return false;
        } else {
            *name = l.name;
        }
        if (!take(rest, ',')) {
            *rest = skip(*rest);
            if (!rest->n || rest->p[0] != '}')
                return false;
        }
    }
}

int jm_prom_number(struct jm_span s, double *out)
{
    uint64_t v = 0;
    size_t i = 0;
    while (i < s.n && i < 15 && s.p[i] >= '0' && s.p[i] <= '9')
        v = v * 10 + (uint64_t)(s.p[i++] - '0');
    if (i && i == s.n) { /* most are whole numbers that a double holds exactly */
        *out = (double)v;
        return 0;
    }
    bool minus = s.n && s.p[0] == '-';
    struct jm_span rest = s.n && (minus || s.p[0] == '+') ? jm_span_sub(s, 1, s.n) : s;
    if (jm_span_ieq(rest, JM_SPAN("inf")) || jm_span_ieq(rest, JM_SPAN("infinity"))) {
        *out = minus ? -INFINITY : INFINITY;
        return 0;
    }
    if (jm_span_ieq(rest, JM_SPAN("nan"))) {
        *out = NAN;
        return 0;
    }
    int rc = jm_num_double(s, out);
    if (rc == JM_ERANGE) /* too large for a double: it stays what it is */
        *out = minus ? -INFINITY : INFINITY;
    return rc == JM_ERANGE ? 0 : rc;
}

static bool sample(const struct jm_prom *p, struct jm_span line, struct jm_prom_sample *s)
{
    struct jm_span rest = line, w;
    s->line = line;
    s->n_labels = 0;
    s->has_time = s->exemplar = false;
    s->time = 0;
    s->name = name_of(&rest, true);
    if (take(&rest, '{')) {
        if (!labels(&rest, s->label, &s->n_labels, s->name.n ? NULL : &s->name))
            return false;
    } else if (!rest.n || (!blank(line.p[s->name.n]))) {
        return false;
    }
    if (!s->name.n)
        return false;
    w = word(&rest);
    if (!w.n || jm_prom_number(w, &s->value))
        return false;
    rest = skip(rest);
    if (rest.n && rest.p[0] != '#') {
        if (jm_prom_number(word(&rest), &s->time))
            return false;
        s->has_time = true;
        rest = skip(rest);
    }
    if (rest.n) { /* # {trace_id="..."} 0.67 1.5 */
        struct jm_prom_label other[JM_PROM_LABELS];
        size_t n;
        double v;
        if (!take(&rest, '#') || !take(&rest, '{') || !labels(&rest, other, &n, NULL) ||
            jm_prom_number(word(&rest), &v))
            return false;
        w = word(&rest);
        if ((w.n && jm_prom_number(w, &v)) || skip(rest).n)
            return false;
        s->exemplar = true;
    }
    belongs(p, s);
    return true;
}

static bool comment(struct jm_prom *p, struct jm_span rest, bool *bad)
{
    static const struct {
        const char *word;
        enum jm_prom_type type;
    } types[] = {{"counter", JM_PROM_COUNTER},     {"gauge", JM_PROM_GAUGE},
                 {"histogram", JM_PROM_HISTOGRAM}, {"gaugehistogram", JM_PROM_GAUGE_HISTOGRAM},
                 {"summary", JM_PROM_SUMMARY},     {"info", JM_PROM_INFO},
                 {"stateset", JM_PROM_STATESET},   {"untyped", JM_PROM_UNTYPED},
                 {"unknown", JM_PROM_UNTYPED}};
    struct jm_span kind = word(&rest), name, type;
    p->comments++;
    if (jm_span_is(kind, "EOF") && !skip(rest).n) {
        p->eof = true;
        return true;
    }
    if (!jm_span_is(kind, "TYPE"))
        return true;
    rest = skip(rest);
    if (rest.n && rest.p[0] == '"') {
        bool escaped;
        rest = jm_span_sub(rest, 1, rest.n);
        if (!quoted(&rest, &name, &escaped))
            return *bad = true;
    } else {
        name = word(&rest);
    }
    type = word(&rest);
    for (size_t i = 0; name.n && i < sizeof types / sizeof types[0]; i++)
        if (jm_span_ieq(type, jm_span_of(types[i].word))) {
            p->types++;
            return remember(p, name, types[i].type);
        }
    return *bad = true;
}

static void broken(struct jm_prom *p)
{
    p->bad_lines++;
    if (!p->first_bad)
        p->first_bad = p->lines;
}

static int no_memory(struct jm_prom *p, struct jm_err *err)
{
    p->bad = true;
    return jm_err_set(err, JM_ENOMEM, "out of memory while reading metrics");
}

/* 1: a sample. */
static int whole_line(struct jm_prom *p, struct jm_span line, struct jm_prom_sample *out, struct jm_err *err)
{
    bool bad = false;
    p->lines++;
    if (p->lines == 1 && line.n >= 3 && memcmp(line.p, "\xef\xbb\xbf", 3) == 0)
        line = jm_span_sub(line, 3, line.n);
    line = jm_span_trim(line);
    if (!line.n)
        return 0;
    if (p->eof) {
        broken(p);
        return 0;
    }
    if (line.p[0] == '#') {
        if (!comment(p, jm_span_sub(line, 1, line.n), &bad))
            return no_memory(p, err);
        if (bad)
            broken(p);
        return 0;
    }
    if (!sample(p, line, out)) {
        broken(p);
        return 0;
    }
    p->samples++;
    return 1;
}

int jm_prom_next(struct jm_prom *p, struct jm_span *in, bool last, struct jm_prom_sample *out,
                 struct jm_err *err)
{
    if (p->bad)
        return jm_err_set(err, JM_ESTATE, "metrics are read on after an error");
    while (in->n) {
        const char *end = memchr(in->p, '\n', in->n);
        size_t n = end ? (size_t)(end - in->p) : in->n, used = n + (end ? 1 : 0);
        struct jm_span line = {in->p, n};
        p->bytes += used;
        if (p->bytes > p->lim.total_bytes) {
            p->bad = true;
            return jm_err_set(err, JM_ELIMIT, "the metrics are longer than %zu bytes", p->lim.total_bytes);
        }
        *in = jm_span_sub(*in, used, in->n);
        if (!p->skipping && p->line.len + n > p->lim.line_bytes) {
            p->skipping = true;
            p->lines++;
            broken(p);
        }
        if (p->skipping) {
            p->skipping = !end;
            jm_str_reset(&p->line);
            continue;
        }
        bool whole = end || (last && !in->n);
        if (p->line.len || !whole) {
            /* the line that was handed out before is not needed any more: it is cleared below */
            jm_str_addspan(&p->line, line);
            if (p->line.failed)
                return no_memory(p, err);
            line = jm_str_span(&p->line);
        }
        if (!whole)
            return 0;
        int rc = whole_line(p, line, out, err);
        p->line.len = 0; /* the bytes stay until the next call */
        if (rc)
            return rc;
    }
    if (last && p->line.len) {
        struct jm_span line = jm_str_span(&p->line);
        int rc = whole_line(p, line, out, err);
        p->line.len = 0;
        return rc;
    }
    return 0;
}

bool jm_prom_label(const struct jm_prom_sample *s, const char *name, struct jm_span *value)
{
    for (size_t i = 0; i < s->n_labels; i++)
        if (jm_span_is(s->label[i].name, name)) {
            *value = s->label[i].value;
            return true;
        }
    return false;
}

size_t jm_prom_unescape(struct jm_span raw, char *buf, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '\\' && i + 1 < raw.n) {
            char next = raw.p[i + 1];
            if (next == 'n' || next == '"' || next == '\\') {
                c = next == 'n' ? '\n' : next;
                i++;
            }
        }
        if (n < cap)
            buf[n] = c;
        n++;
    }
    return n;
}

struct jm_span jm_prom_value_text(const struct jm_prom_sample *s)
{
    struct jm_span line = s->line;
    ptrdiff_t end = -1; /* of name and labels */
    bool quoted = false, braces = jm_span_chr(line, '{') >= 0;
    for (size_t i = 0; i < line.n && end < 0; i++) {
        if (quoted && line.p[i] == '\\')
            i++;
        else if (line.p[i] == '"')
            quoted = !quoted;
        else if (!quoted && line.p[i] == (braces ? '}' : ' '))
            end = (ptrdiff_t)i;
    }
    line = jm_span_trim(jm_span_sub(line, end < 0 ? 0 : (size_t)end + 1, line.n));
    ptrdiff_t blank = jm_span_chr(line, ' ');
    return jm_span_sub(line, 0, blank < 0 ? line.n : (size_t)blank);
}
