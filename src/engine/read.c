/* SPDX-License-Identifier: Apache-2.0 */
/* One text → the series that a dialect knows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/telemetry.h"
#include "wire/prom.h"

#include "base/banned.h"

#define SERIES_MAX 65536
#define EXCERPT    "# joulemark: excerpt of "
#define ABSENT     "# joulemark: no answer: "

void jm_engine_reading_init(struct jm_engine_reading *r)
{
    *r = (struct jm_engine_reading){.start_time = NAN};
}

void jm_engine_reading_release(struct jm_engine_reading *r)
{
    free(r->s);
    jm_engine_reading_init(r);
}

/* ---- does a sample belong to a row? */

static bool same_char(char a, char b)
{
    return a == b || ((a == ':' || a == '_') && (b == ':' || b == '_'));
}

static bool head_is(struct jm_span name, const char *text, size_t n)
{
    if (name.n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!same_char(name.p[i], text[i]))
            return false;
    return true;
}

static bool name_is(struct jm_span name, const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return name.n == n + m && head_is(name, text, n) && memcmp(name.p + n, suffix, m) == 0;
}

/* "mode=decode": that value; "mode!=x": the label is there with another one. */
static bool label_fits(const struct jm_prom_sample *s, const char *want)
{
    struct jm_span w = jm_span_of(want), name, value;
    if (!want)
        return true;
    ptrdiff_t at = jm_span_chr(w, '=');
    bool other = at > 0 && w.p[at - 1] == '!';
    char buf[64];
    name = jm_span_sub(w, 0, (size_t)at - (other ? 1 : 0));
    w = jm_span_sub(w, (size_t)at + 1, w.n);
    for (size_t i = 0; i < s->n_labels; i++) {
        if (!jm_span_eq(s->label[i].name, name))
            continue;
        value = s->label[i].value;
        if (s->label[i].escaped) {
            size_t n = jm_prom_unescape(value, buf, sizeof buf);
            value = (struct jm_span){buf, n < sizeof buf ? n : sizeof buf};
        }
        return jm_span_eq(value, w) != other;
    }
    return false;
}

enum kind { NOT, VALUE, BUCKET, SUM, CREATED };

/* By name, type and part alone. */
static enum kind name_fits(const struct jm_engine_map *m, const struct jm_prom_sample *s)
{
    static const char *const suffix[] = {"", "_sum", "_count", "_bucket"};
    size_t n = strlen(m->name);
    bool total = n > 6 && strcmp(m->name + n - 6, "_total") == 0;
    size_t head = total ? n - 6 : n;
    if (s->name.n < head || !head_is(s->name, m->name, head))
        return NOT;
    /* what TYPE says goes over the name: a histogram has no plain value, a counter no _sum */
    bool typed = s->type != JM_PROM_UNTYPED;
    enum kind k = NOT;
    if (m->part == JM_EM_VALUE) {
        bool plain = !typed || s->part == JM_PROM_PLAIN;
        if (plain && (name_is(s->name, m->name, "") || (!total && name_is(s->name, m->name, "_total"))))
            k = VALUE;
        else if (total && s->name.n == n - 6 + 8 && head_is(s->name, m->name, n - 6) &&
                 memcmp(s->name.p + n - 6, "_created", 8) == 0)
            k = CREATED;
    } else if (name_is(s->name, m->name, suffix[m->part])) {
        static const enum jm_prom_part part[] = {JM_PROM_PLAIN, JM_PROM_SUM, JM_PROM_COUNT, JM_PROM_BUCKET};
        k = typed && s->part != part[m->part] ? NOT : m->part == JM_EM_BUCKETS ? BUCKET : VALUE;
    } else if (m->part == JM_EM_BUCKETS && name_is(s->name, m->name, "_sum")) {
        k = typed && s->part != JM_PROM_SUM ? NOT : SUM;
    } else if (m->part != JM_EM_BUCKETS && name_is(s->name, m->name, "_created")) {
        k = CREATED;
    }
    return k;
}

static enum kind fits(const struct jm_engine_map *m, const struct jm_prom_sample *s)
{
    enum kind k = name_fits(m, s);
    return k != NOT && label_fits(s, m->label) ? k : NOT;
}

/* ---- series */

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static uint64_t hash_bytes(uint64_t h, struct jm_span s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

static bool in_list(const char *list, struct jm_span name)
{
    struct jm_span rest = jm_span_of(list), one;
    while (list && jm_span_field(&rest, ',', &one))
        if (jm_span_eq(one, name))
            return true;
    return false;
}

/* The order of labels does not matter, so their hashes are added up. */
static void keys(const struct jm_engine_dialect *d, const struct jm_prom_sample *s, uint64_t *key,
                 uint64_t *full)
{
    *key = *full = 0;
    for (size_t i = 0; i < s->n_labels; i++) {
        if (jm_span_is(s->label[i].name, "le"))
            continue;
        uint64_t h = mix(hash_bytes(hash_bytes(0xcbf29ce484222325u, s->label[i].name), s->label[i].value));
        *full += h;
        if (!in_list(d->ranks, s->label[i].name))
            *key += h;
    }
}

static int add(struct jm_engine_reading *r, const struct jm_engine_series *one, struct jm_err *err)
{
    if (r->n == SERIES_MAX) {
        r->truncated = true;
        return 0;
    }
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        void *p = realloc(r->s, cap * sizeof *r->s);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the engine's metrics");
        r->s = p;
        r->cap = cap;
    }
    r->s[r->n++] = *one;
    return 0;
}

/* The rows that the name of the sample before fits: the buckets of a histogram, ranks and labels repeat it.
 */
struct taking {
    struct jm_engine_reading *r;
    struct jm_span name; /* in the text */
    int type, part;
    size_t n;
    struct {
        uint16_t row;
        uint8_t kind;
    } row[16];
    bool known; /* all of them are in row */
};

static void know(struct taking *t, const struct jm_prom_sample *s)
{
    const struct jm_engine_map *m = t->r->dialect->map;
    if (t->known && t->type == (int)s->type && t->part == (int)s->part && jm_span_eq(t->name, s->name))
        return;
    *t = (struct taking){.r = t->r, .name = s->name, .type = (int)s->type, .part = (int)s->part};
    t->known = true;
    for (size_t i = 0; m[i].name && t->known; i++) {
        enum kind k = name_fits(&m[i], s);
        if (k != NOT && (t->known = t->n < sizeof t->row / sizeof *t->row)) {
            t->row[t->n].row = (uint16_t)i;
            t->row[t->n++].kind = (uint8_t)k;
        }
    }
}

static int take(struct taking *t, const struct jm_prom_sample *s, struct jm_err *err)
{
    struct jm_engine_reading *r = t->r;
    const struct jm_engine_map *m = r->dialect->map;
    uint64_t key = 0, full = 0;
    bool keyed = false;
    know(t, s);
    for (size_t at = 0; t->known ? at < t->n : m[at].name != NULL; at++) {
        size_t i = t->known ? t->row[at].row : at;
        enum kind k = !t->known                   ? fits(&m[i], s)
                      : label_fits(s, m[i].label) ? (enum kind)t->row[at].kind
                                                  : NOT;
        bool counts = k == VALUE && m[i].q < JM_EQ_COUNTERS;
        if (k == NOT || (isnan(s->value) && !counts))
            continue;
        if (!keyed)
            keys(r->dialect, s, &key, &full);
        keyed = true;
        double scale = m[i].scale > 0 ? m[i].scale : 1;
        struct jm_engine_series one = {(uint16_t)i, key, full, 0, s->value * scale, NAN};
        if (isnan(s->value)) /* a counter without a number is there: were it left out, it would begin at 0
                                again */
            one.value = INFINITY;
        if (k == CREATED) {
            one.value = NAN;
            one.created = s->value;
        } else if (k == SUM) {
            one.le = -INFINITY;
        } else if (k == BUCKET) {
            struct jm_span le;
            if (!jm_prom_label(s, "le", &le) || jm_prom_number(le, &one.le) || isnan(one.le))
                continue;
            one.le *= scale;
            one.value = s->value;
        }
        int rc = add(r, &one, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct jm_engine_series *x = a, *y = b;
    if (x->map != y->map)
        return x->map < y->map ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->le != y->le)
        return x->le < y->le ? -1 : 1;
    if (x->full != y->full)
        return x->full < y->full ? -1 : 1;
    return (int)isnan(x->value) - (int)isnan(y->value); /* the value before its birth */
}

/* A series that stands twice counts once; copies of one replica are one, of which the largest value is taken
 * (they are read at slightly different times). */
static void merge(struct jm_engine_reading *r)
{
    size_t n = 0;
    if (r->n)
        qsort(r->s, r->n, sizeof *r->s, by_key);
    for (size_t i = 0; i < r->n; i++) {
        struct jm_engine_series *s = &r->s[i], *last = n ? &r->s[n - 1] : NULL;
        if (!last || last->map != s->map || last->key != s->key || last->le != s->le) {
            r->s[n++] = *s;
        } else if (isnan(s->value)) {
            if (isnan(last->created) || s->created > last->created)
                last->created = s->created;
        } else if (last->full == s->full) {
            r->duplicates++;
        } else {
            r->copies++;
            last->full = s->full;
            if (!(last->value >= s->value))
                last->value = s->value;
        }
    }
    r->n = 0;
    for (size_t i = 0; i < n; i++) /* births without a value say nothing */
        if (!isnan(r->s[i].value))
            r->s[r->n++] = r->s[i];
}

/* ---- which dialect? */

struct find {
    unsigned rows[16]; /* rows that were met */
    bool mark[16];
    uint64_t met[16][2]; /* which ones, a bit each */
};

static void look(struct find *f, const struct jm_prom_sample *s)
{
    for (size_t d = 0; jm_engine_dialects[d] && d < 16; d++) {
        const struct jm_engine_dialect *e = jm_engine_dialects[d];
        f->mark[d] |= e->mark && name_is(s->name, e->mark, "");
        for (size_t i = 0; e->map[i].name && i < 128; i++)
            if (!(f->met[d][i / 64] >> i % 64 & 1) && fits(&e->map[i], s) != NOT) {
                f->met[d][i / 64] |= UINT64_C(1) << i % 64;
                f->rows[d]++;
            }
    }
}

/* One that bears its mark; else the one with the most families; one whose mark is missing only where no
 * other has any. */
static const struct jm_engine_dialect *best(const struct find *f)
{
    const struct jm_engine_dialect *d = NULL;
    for (int pass = 0; !d && pass < 3; pass++) {
        unsigned most = 0;
        for (size_t i = 0; jm_engine_dialects[i] && i < 16; i++) {
            const struct jm_engine_dialect *e = jm_engine_dialects[i];
            bool fit = pass == 0 ? f->mark[i] : pass == 1 ? !e->mark : e->mark && f->rows[i] >= 3;
            if (fit && f->rows[i] > most) {
                most = f->rows[i];
                d = e;
            }
        }
    }
    return d;
}

typedef int (*each_fn)(void *self, const struct jm_prom_sample *s, struct jm_err *err);

static int each(struct jm_span text, each_fn fn, void *self, struct jm_engine_reading *keep,
                struct jm_err *err)
{
    struct jm_prom p;
    struct jm_prom_sample s;
    int rc;
    jm_prom_init(&p, NULL);
    while ((rc = jm_prom_next(&p, &text, true, &s, err)) == 1)
        if ((rc = fn(self, &s, err)))
            break;
    if (keep) {
        keep->samples = p.samples;
        keep->bad_lines = p.bad_lines;
    }
    jm_prom_release(&p);
    return rc;
}

static int on_look(void *self, const struct jm_prom_sample *s, struct jm_err *err)
{
    (void)err;
    look(self, s);
    return 0;
}

static int on_take(void *self, const struct jm_prom_sample *s, struct jm_err *err)
{
    struct taking *t = self;
    struct jm_engine_reading *r = t->r;
    if (jm_span_is(s->name, "process_start_time_seconds") && s->value > 0) {
        r->start_time = !(r->start_time > s->value) ? s->value : r->start_time; /* the youngest of several */
        return 0;
    }
    return take(t, s, err);
}

/* A text of JSON as lines; false: it is none. */
static bool json_text(struct jm_span text, struct jm_str *out)
{
    struct jm_span t = jm_span_trim(text);
    return t.n && (t.p[0] == '[' || t.p[0] == '{') && jm_engine_trtllm_json(t, out, NULL) == 0;
}

int jm_engine_read(struct jm_engine_reading *r, const struct jm_engine_dialect *d, struct jm_span text,
                   struct jm_err *err)
{
    struct jm_str lines;
    struct find f = {0};
    int rc = 0;
    size_t n = 0;
    r->n = 0;
    r->start_time = NAN;
    r->samples = r->bad_lines = r->duplicates = r->copies = 0;
    r->truncated = false;
    r->absent[0] = '\0';
    r->excerpt = jm_span_starts(text, JM_SPAN(EXCERPT));
    if (jm_span_starts(text, JM_SPAN(ABSENT))) {
        struct jm_span why = jm_span_trim(jm_span_sub(text, strlen(ABSENT), text.n));
        n = why.n < sizeof r->absent - 1 ? why.n : sizeof r->absent - 1;
        memcpy(r->absent, why.p, n);
        r->absent[n] = '\0';
        if (!n)
            memcpy(r->absent, "?", 2);
        r->dialect = d;
        return 0;
    }
    jm_str_init(&lines);
    if (json_text(text, &lines))
        text = jm_str_span(&lines);
    if (!d) {
        rc = each(text, on_look, &f, r, err);
        d = best(&f);
    }
    r->dialect = d;
    if (!rc && d)
        rc = each(text, on_take, &(struct taking){.r = r}, r, err);
    jm_str_release(&lines);
    merge(r);
    return rc;
}

/* ---- cutting a text down */

struct cut {
    const struct jm_engine_dialect *d;
    struct jm_str *out;
};

static int on_cut(void *self, const struct jm_prom_sample *s, struct jm_err *err)
{
    struct cut *c = self;
    bool keep = jm_span_is(s->name, "process_start_time_seconds");
    for (size_t i = 0; !keep && c->d->map[i].name; i++)
        keep = c->d->map[i].part != JM_EM_BUCKETS && fits(&c->d->map[i], s) == VALUE;
    if (keep) {
        jm_str_addspan(c->out, s->line);
        jm_str_addc(c->out, '\n');
    }
    return c->out->failed ? jm_str_ok(c->out, "an excerpt of metrics", err) : 0;
}

int jm_engine_excerpt(const struct jm_engine_dialect *d, struct jm_span text, struct jm_str *out,
                      struct jm_err *err)
{
    struct jm_str lines;
    struct cut c = {d, out};
    jm_str_init(&lines);
    jm_str_addf(out, EXCERPT "%zu bytes\n", text.n);
    if (json_text(text, &lines))
        text = jm_str_span(&lines);
    int rc = each(text, on_cut, &c, NULL, err);
    jm_str_release(&lines);
    return rc ? rc : jm_str_ok(out, "an excerpt of metrics", err);
}

void jm_engine_note_absent(struct jm_str *out, const char *why)
{
    jm_str_adds(out, ABSENT);
    jm_str_adds(out, why);
    jm_str_addc(out, '\n');
}
