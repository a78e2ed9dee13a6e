/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that sees libyaml. A configuration is one mapping of option names to scalars (or, for
 * repeatable options, to a list of scalars, for JM_OPT_MAPS to a list of mappings): no anchors, no tags, no
 * second document, no key twice. */
#include "base/option.h"

#include <stdlib.h>
#include <string.h>

#if JM_HAVE_YAML
#include <yaml.h>
#endif

#include "base/banned.h"

/* A text that was set, and perhaps where it stands and what it went to. */
struct jm_opt_arena {
    struct jm_opt_arena *next;
    const void *at;
    size_t line, column; /* 0: no place */
    char text[];
};

int jm_opt_place(const struct jm_opt_arena *arena, const void *at, size_t *line, size_t *column)
{
    for (const struct jm_opt_arena *a = arena; a; a = a->next) /* newest first */
        if (a->line && a->at == at) {
            *line = a->line;
            *column = a->column;
            return 0;
        }
    return JM_EABSENT;
}

void jm_opt_arena_free(struct jm_opt_arena *arena)
{
    while (arena) {
        struct jm_opt_arena *next = arena->next;
        free(arena);
        arena = next;
    }
}

#if !JM_HAVE_YAML

int jm_opt_yaml(const struct jm_opt *table, void *base, struct jm_span text, const char *file,
                struct jm_opt_arena **arena, struct jm_err *err)
{
    (void)table, (void)base, (void)text, (void)arena;
    return jm_err_set(
        err, JM_EUNSUPPORTED,
        "cannot read %s: this joulemark was built without libyaml; give the options on the command line",
        file);
}

#else

#define MOST_BYTES ((size_t)1 << 20)
#define MOST_KEYS  256
#define MOST_DEPTH 4

struct reader {
    yaml_parser_t parser;
    yaml_event_t event;
    bool have;           /* event must be deleted */
    yaml_event_t *ahead; /* read ahead of the selector of a mapping, at .. n_ahead wait */
    size_t n_ahead, cap_ahead, at_ahead;
    const char *file;
    struct jm_err *err;
};

static int complain(struct reader *r, yaml_mark_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int complain(struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    jm_err_vset(r->err, JM_EUSAGE, fmt, ap);
    va_end(ap);
    jm_err_prefix(r->err, "%s: line %zu, column %zu", r->file, at.line + 1, at.column + 1);
    return JM_EUSAGE;
}

static int next_event(struct reader *r)
{
    if (r->have)
        yaml_event_delete(&r->event);
    r->have = false;
    if (r->at_ahead < r->n_ahead) {
        r->event = r->ahead[r->at_ahead++];
        r->have = true;
        return 0;
    }
    r->at_ahead = r->n_ahead = 0;
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        if (r->parser.error == YAML_MEMORY_ERROR)
            return jm_err_set(r->err, JM_ENOMEM, "out of memory while reading %s", r->file);
        return complain(r, r->parser.problem_mark, "not valid YAML: %s",
                        r->parser.problem ? r->parser.problem : "unreadable");
    }
    r->have = true;
    if (r->event.type == YAML_ALIAS_EVENT)
        return complain(r, r->event.start_mark, "aliases are not understood; write the value out");
    return 0;
}

static struct jm_span scalar(const yaml_event_t *e)
{
    return (struct jm_span){(const char *)e->data.scalar.value, e->data.scalar.length};
}

static int keep(struct jm_opt_arena **arena, struct jm_span s, char **out, struct jm_err *err)
{
    struct jm_opt_arena *a = malloc(sizeof *a + s.n + 1);
    if (!a)
        return jm_err_set(err, JM_ENOMEM, "out of memory while reading the configuration");
    memcpy(a->text, s.p, s.n);
    a->text[s.n] = '\0';
    a->line = a->column = 0;
    a->at = NULL;
    a->next = *arena;
    *arena = a;
    *out = a->text;
    return 0;
}

/* What was kept last went to `to`. */
static void place(struct jm_opt_arena *arena, const void *to, yaml_mark_t at)
{
    arena->at = to;
    arena->line = at.line + 1;
    arena->column = at.column + 1;
}

static int set_value(struct reader *r, const struct jm_opt *row, void *base, struct jm_opt_arena **arena)
{
    yaml_mark_t at = r->event.start_mark;
    struct jm_span s = scalar(&r->event);
    struct jm_err why = {0};
    char *text = NULL;
    if (memchr(s.p, '\0', s.n))
        return complain(r, at, "the value of %s has a NUL byte in it", row->name);
    if (r->event.data.scalar.tag && r->event.data.scalar.tag[0])
        return complain(r, at, "tags like %.40s are not understood", (const char *)r->event.data.scalar.tag);
    if (r->event.data.scalar.plain_implicit && (!s.n || jm_span_is(s, "~") || jm_span_is(s, "null")))
        return complain(r, at, "%s has no value", row->name);
    int rc = keep(arena, s, &text, r->err);
    if (rc)
        return rc;
    rc = jm_opt_set(row, base, text, &why);
    if (rc)
        /* the option's own sentence begins with its name on the command line */
        return complain(r, at, "%s",
                        jm_span_starts(jm_span_of(why.text), JM_SPAN("--")) ? why.text + 2 : why.text);
    const char *to = (const char *)base + row->offset;
    if (row->type == JM_OPT_LIST) {
        const struct jm_opt_list *l = (const void *)to;
        to = (const char *)&l->item[l->n - 1];
    }
    place(*arena, to, at);
    return 0;
}

/* The tables whose keys a mapping may have, and what they fill. */
struct tables {
    const struct jm_opt *table[2];
    void *base[2];
};

static int mapping(struct reader *r, const struct tables *t, struct jm_opt_arena **arena, int depth);

static int push_ahead(struct reader *r)
{
    if (r->n_ahead == r->cap_ahead) {
        size_t cap = r->cap_ahead ? 2 * r->cap_ahead : 32;
        yaml_event_t *v = realloc(r->ahead, cap * sizeof *v);
        if (!v)
            return jm_err_set(r->err, JM_ENOMEM, "out of memory while reading %s", r->file);
        r->ahead = v;
        r->cap_ahead = cap;
    }
    r->ahead[r->n_ahead++] = r->event;
    r->have = false; /* it is the queue's */
    return 0;
}

/* Reads the mapping that has begun to its end and lets maps->select see the value of the selector. Events
 * come again from the queue; a mapping that is itself read ahead cannot have a selector, so the queue is
 * empty. */
static int select_table(struct reader *r, const struct jm_opt_maps *maps, void *item, yaml_mark_t at,
                        struct tables *t, struct jm_opt_arena **arena)
{
    struct jm_err why = {0};
    int open = 1, rc = 0;
    bool key = false; /* the event before was a key of this mapping */
    size_t value = 0;
    bool found = false, is_selector = false;
    if (r->n_ahead)
        return complain(r, at, "a mapping with the key %s cannot stand here", maps->selector);
    while (open) {
        size_t kept = r->n_ahead; /* past what waits: a new one */
        r->n_ahead = 0;
        rc = next_event(r);
        r->n_ahead = kept;
        if (rc)
            return rc;
        yaml_event_type_t type = r->event.type;
        bool starts = type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
        bool ends = type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT;
        if (open == 1 && !ends) {
            if (key && is_selector && type == YAML_SCALAR_EVENT && !found) {
                found = true;
                value = r->n_ahead;
            }
            key = !key;
            is_selector = key && type == YAML_SCALAR_EVENT && jm_span_is(scalar(&r->event), maps->selector);
        }
        open += starts ? 1 : ends ? -1 : 0;
        if (type == YAML_STREAM_END_EVENT)
            return complain(r, at, "the mapping does not end");
        if ((rc = push_ahead(r)))
            return rc;
    }
    r->at_ahead = 0;
    if (!found)
        return complain(r, at, "the key \"%s\" is missing", maps->selector);
    char *text = NULL;
    if ((rc = keep(arena, scalar(&r->ahead[value]), &text, r->err)))
        return rc;
    if (maps->select(item, text, &t->table[1], &t->base[1], &why))
        return complain(r, r->ahead[value].start_mark, "%s", why.text);
    return 0;
}

static int one_map(struct reader *r, const struct jm_opt *row, void *base, struct jm_opt_arena **arena,
                   int depth)
{
    struct tables t = {{row->maps->table, NULL}, {NULL, NULL}};
    yaml_mark_t at = r->event.start_mark;
    struct jm_err why = {0};
    char *text;
    int rc = row->maps->add(base, at.line + 1, &t.base[0], &why);
    if (rc)
        return complain(r, at, "%s", why.text);
    if ((rc = keep(arena, JM_SPAN(""), &text, r->err)))
        return rc;
    place(*arena, t.base[0], at);
    if (row->maps->selector && (rc = select_table(r, row->maps, t.base[0], at, &t, arena)))
        return rc;
    if ((rc = mapping(r, &t, arena, depth + 1)))
        return rc;
    if (row->maps->done && row->maps->done(t.base[0], &why))
        return complain(r, at, "%s", why.text);
    return 0;
}

static int maps_of(struct reader *r, const struct jm_opt *row, void *base, struct jm_opt_arena **arena,
                   int depth)
{
    int rc = 0;
    base = (char *)base + row->offset;
    if (row->maps->single) {
        if (r->event.type != YAML_MAPPING_START_EVENT || depth >= MOST_DEPTH)
            return complain(r, r->event.start_mark, "%s takes a mapping", row->name);
        return one_map(r, row, base, arena, depth);
    }
    if (r->event.type != YAML_SEQUENCE_START_EVENT || depth >= MOST_DEPTH)
        return complain(r, r->event.start_mark, "%s takes a list of mappings", row->name);
    while (!(rc = next_event(r)) && r->event.type == YAML_MAPPING_START_EVENT)
        if ((rc = one_map(r, row, base, arena, depth)))
            return rc;
    if (rc || r->event.type == YAML_SEQUENCE_END_EVENT)
        return rc;
    return complain(r, r->event.start_mark, "the items of %s must be mappings", row->name);
}

static int value_of(struct reader *r, const struct jm_opt *row, void *base, struct jm_opt_arena **arena,
                    int depth)
{
    int rc = next_event(r);
    if (rc)
        return rc;
    if (row->type != JM_OPT_MAPS && row->type != JM_OPT_LIST && r->event.type != YAML_SCALAR_EVENT)
        for (const struct jm_opt *o = row + 1; o->name; o++)
            if (o->type == JM_OPT_MAPS && strcmp(o->name, row->name) == 0) {
                row = o;
                break;
            }
    if (row->type == JM_OPT_MAPS)
        return maps_of(r, row, base, arena, depth);
    if (r->event.type == YAML_SCALAR_EVENT)
        return set_value(r, row, base, arena);
    if (r->event.type == YAML_SEQUENCE_START_EVENT && row->type == JM_OPT_LIST) {
        while (!(rc = next_event(r)) && r->event.type == YAML_SCALAR_EVENT)
            if ((rc = set_value(r, row, base, arena)))
                return rc;
        if (rc)
            return rc;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return 0;
        return complain(r, r->event.start_mark, "the items of %s must be plain values", row->name);
    }
    return complain(r, r->event.start_mark, "%s takes one value, not a %s", row->name,
                    r->event.type == YAML_SEQUENCE_START_EVENT ? "list" : "mapping");
}

static int mapping(struct reader *r, const struct tables *t, struct jm_opt_arena **arena, int depth)
{
    bool seen[2][MOST_KEYS] = {{false}};
    for (;;) {
        int rc = next_event(r);
        if (rc)
            return rc;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return 0;
        yaml_mark_t at = r->event.start_mark;
        if (r->event.type != YAML_SCALAR_EVENT)
            return complain(r, at, "a key must be the name of an option");
        struct jm_span key = scalar(&r->event);
        int shown = (int)(key.n > 60 ? 60 : key.n);
        const struct jm_opt *row = jm_opt_find(t->table[0], key);
        int k = row || !t->table[1] ? 0 : 1;
        if (k)
            row = jm_opt_find(t->table[1], key);
        if (!row) {
            const char *near = t->table[1] ? jm_opt_nearest(t->table[1], key) : NULL;
            if (!near)
                near = jm_opt_nearest(t->table[0], key);
            return complain(r, at, "unknown key \"%.*s\"%s%s%s", shown, key.p,
                            near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        }
        size_t i = (size_t)(row - t->table[k]);
        if (i < MOST_KEYS && seen[k][i])
            return complain(r, at, "the key \"%s\" is there twice", row->name);
        if (i < MOST_KEYS)
            seen[k][i] = true;
        if ((rc = value_of(r, row, t->base[k], arena, depth)))
            return rc;
    }
}

static int document(struct reader *r, const struct jm_opt *table, void *base, struct jm_opt_arena **arena)
{
    int rc;
    if ((rc = next_event(r)) || (rc = next_event(r))) /* stream start, document start or the end */
        return rc;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return 0; /* empty, or comments only */
    if ((rc = next_event(r)))
        return rc;
    struct tables t = {{table, NULL}, {base, NULL}};
    char *text;
    if ((rc = keep(arena, JM_SPAN(""), &text, r->err)))
        return rc;
    place(*arena, NULL, r->event.start_mark);
    if (r->event.type == YAML_MAPPING_START_EVENT)
        rc = mapping(r, &t, arena, 0);
    else if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.length)
        return complain(r, r->event.start_mark, "a configuration is a mapping of option names to values");
    if (rc || (rc = next_event(r)) || (rc = next_event(r))) /* document end, stream end */
        return rc;
    if (r->event.type != YAML_STREAM_END_EVENT)
        return complain(r, r->event.start_mark, "a second document begins; a configuration is one");
    return 0;
}

int jm_opt_yaml(const struct jm_opt *table, void *base, struct jm_span text, const char *file,
                struct jm_opt_arena **arena, struct jm_err *err)
{
    if (text.n > MOST_BYTES)
        return jm_err_set(err, JM_ELIMIT, "%s is larger than the limit of %zu MiB for a configuration", file,
                          MOST_BYTES >> 20);
    struct jm_err own = {0};
    struct reader r = {.file = file, .err = err ? err : &own};
    if (!yaml_parser_initialize(&r.parser))
        return jm_err_set(err, JM_ENOMEM, "out of memory while reading %s", file);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
    int rc = document(&r, table, base, arena);
    if (r.have)
        yaml_event_delete(&r.event);
    for (size_t i = r.at_ahead; i < r.n_ahead; i++)
        yaml_event_delete(&r.ahead[i]);
    free(r.ahead);
    yaml_parser_delete(&r.parser);
    return rc;
}

#endif
