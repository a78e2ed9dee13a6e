/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yamljson.h"

#include "base/json.h"
#include "base/num.h"

#if JM_HAVE_YAML
#include <yaml.h>
#endif

#include "base/banned.h"

#if !JM_HAVE_YAML

int jm_yaml_json(struct jm_span text, struct jm_str *json, struct jm_err *err)
{
    (void)text, (void)json;
    return jm_err_set(err, JM_EUNSUPPORTED, "YAML cannot be read: this joulemark was built without libyaml.");
}

#else

struct level {
    bool mapping, key; /* key: the next scalar of the mapping is a key */
};

struct walk {
    struct jm_jsonw w;
    struct level level[JM_YAMLJSON_DEPTH];
    int depth, nodes, documents;
    struct jm_err *err;
};

static int refuse(const struct walk *k, int code, yaml_mark_t at, const char *what)
{
    return jm_err_set(k->err, code, "Not usable as YAML at line %zu, column %zu: %s.", at.line + 1,
                      at.column + 1, what);
}

static void plain(struct jm_jsonw *w, struct jm_span s)
{
    double x;
    int64_t i;
    if (!s.n || jm_span_is(s, "~") || jm_span_ieq(s, JM_SPAN("null")))
        jm_jsonw_null(w);
    else if (jm_span_ieq(s, JM_SPAN("true")) || jm_span_ieq(s, JM_SPAN("false")))
        jm_jsonw_bool(w, s.n == 4);
    else if (jm_num_i64(s, &i) == 0)
        jm_jsonw_i64(w, i);
    else if (jm_num_double(s, &x) == 0)
        jm_jsonw_num(w, x);
    else
        jm_jsonw_span(w, s);
}

/* A value begins here: counts it, and in a mapping makes the next scalar a key again. */
static int value(struct walk *k, yaml_mark_t at)
{
    struct level *l = k->depth ? &k->level[k->depth - 1] : NULL;
    if (++k->nodes > JM_YAMLJSON_NODES)
        return refuse(k, JM_ELIMIT, at, "it has too many values");
    if (l && l->mapping && l->key)
        return refuse(k, JM_EPARSE, at, "a key is no plain text");
    if (l)
        l->key = true;
    return 0;
}

static int on_event(struct walk *k, const yaml_event_t *e)
{
    struct level *l = k->depth ? &k->level[k->depth - 1] : NULL;
    struct jm_span s;
    int rc;
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return k->documents++ ? refuse(k, JM_EPARSE, e->start_mark, "a second document begins") : 0;
    case YAML_ALIAS_EVENT: return refuse(k, JM_EPARSE, e->start_mark, "aliases are not read");
    case YAML_SCALAR_EVENT:
        s = (struct jm_span){(const char *)e->data.scalar.value, e->data.scalar.length};
        if (l && l->mapping && l->key) {
            struct jm_str key;
            jm_str_init(&key);
            jm_str_addspan(&key, s);
            jm_jsonw_key(&k->w, key.buf);
            k->w.out->failed |= key.failed;
            jm_str_release(&key);
            l->key = false;
            return 0;
        }
        if ((rc = value(k, e->start_mark)))
            return rc;
        if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
            plain(&k->w, s);
        else
            jm_jsonw_span(&k->w, s);
        return 0;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        if ((rc = value(k, e->start_mark)))
            return rc;
        if (k->depth == JM_YAMLJSON_DEPTH)
            return refuse(k, JM_ELIMIT, e->start_mark, "it is nested too deep");
        k->level[k->depth++] =
            (struct level){e->type == YAML_MAPPING_START_EVENT, e->type == YAML_MAPPING_START_EVENT};
        (e->type == YAML_MAPPING_START_EVENT ? jm_jsonw_object : jm_jsonw_array)(&k->w);
        return 0;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        k->depth--;
        jm_jsonw_end(&k->w);
        return 0;
    default: return 0;
    }
}

int jm_yaml_json(struct jm_span text, struct jm_str *json, struct jm_err *err)
{
    struct walk k = {.err = err};
    yaml_parser_t parser;
    bool end = false;
    int rc = 0;
    if (text.n > JM_YAMLJSON_MOST)
        return jm_err_set(err, JM_ELIMIT, "The YAML document has %zu bytes, more than the %zu that are read.",
                          text.n, JM_YAMLJSON_MOST);
    if (!yaml_parser_initialize(&parser))
        return jm_err_set(err, JM_ENOMEM, "Out of memory while reading YAML.");
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
    jm_jsonw_init(&k.w, json, 0);
    while (!rc && !end) {
        yaml_event_t e;
        if (!yaml_parser_parse(&parser, &e)) {
            rc = parser.error == YAML_MEMORY_ERROR
                     ? jm_err_set(err, JM_ENOMEM, "Out of memory while reading YAML.")
                     : refuse(&k, JM_EPARSE, parser.problem_mark,
                              parser.problem ? parser.problem : "it is broken");
            break;
        }
        end = e.type == YAML_STREAM_END_EVENT;
        rc = on_event(&k, &e);
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&parser);
    if (!rc && !k.nodes)
        rc = jm_err_set(err, JM_EPARSE, "The YAML document is empty.");
    return rc ? rc : jm_str_ok(json, "a YAML document as JSON", err);
}

#endif
