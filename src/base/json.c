/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that sees jansson. A struct jm_json is a json_t under another name. */
#include "base/json.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/banned.h"

#define MOST_BYTES  ((size_t)16 << 20)
#define MOST_DEPTH  200
#define MOST_VALUES 2000000 /* jansson spends about 100 bytes on an empty array of two */

static json_t *of(const struct jm_json *v)
{
    return (json_t *)(uintptr_t)v;
}

/* Counts nesting and values before jansson recurses over them and allocates for them. */
static int check_size(struct jm_span s, struct jm_err *err)
{
    size_t depth = 0, values = 1;
    bool in_string = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
            continue;
        }
        switch (c) {
        case '"': in_string = true; break;
        case '[':
        case '{':
            values++;
            if (++depth > MOST_DEPTH)
                return jm_err_set(err, JM_ELIMIT, "JSON document is nested deeper than %d levels",
                                  MOST_DEPTH);
            break;
        case ']':
        case '}': depth -= depth > 0; break;
        case ',': values++; break;
        default: break;
        }
    }
    if (values > MOST_VALUES)
        return jm_err_set(err, JM_ELIMIT, "JSON document has more than %d values", MOST_VALUES);
    return 0;
}

int jm_json_parse(struct jm_span text, struct jm_json **root, struct jm_err *err)
{
    if (text.n > MOST_BYTES)
        return jm_err_set(err, JM_ELIMIT, "JSON document of %zu bytes is larger than %zu MiB", text.n,
                          MOST_BYTES >> 20);
    int rc = check_size(text, err);
    if (rc)
        return rc;
    json_error_t e;
    errno = 0;
    json_t *v = json_loadb(text.p ? text.p : "", text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    if (!v) {
        enum json_error_code code = json_error_code(&e);
        if (code == json_error_out_of_memory || errno == ENOMEM) /* it says so only at some places */
            return jm_err_set(err, JM_ENOMEM, "out of memory while reading a JSON document of %zu bytes",
                              text.n);
        return jm_err_set(err, code == json_error_numeric_overflow ? JM_ERANGE : JM_EPARSE,
                          "not valid JSON at line %d, column %d: %s", e.line, e.column, e.text);
    }
    *root = (struct jm_json *)v;
    return 0;
}

void jm_json_free(struct jm_json *root)
{
    json_decref((json_t *)root);
}

const struct jm_json *jm_json_get(const struct jm_json *o, const char *key)
{
    return o ? (const struct jm_json *)json_object_get(of(o), key) : NULL;
}

const struct jm_json *jm_json_path(const struct jm_json *o, const char *dotted)
{
    struct jm_span rest = jm_span_of(dotted), part;
    while (o && jm_span_field(&rest, '.', &part)) {
        char key[128];
        if (part.n >= sizeof key)
            return NULL;
        memcpy(key, part.p, part.n);
        key[part.n] = '\0';
        o = jm_json_get(o, key);
    }
    return o;
}

const struct jm_json *jm_json_at(const struct jm_json *a, size_t i)
{
    return a ? (const struct jm_json *)json_array_get(of(a), i) : NULL;
}

size_t jm_json_len(const struct jm_json *v)
{
    return !v ? 0 : json_is_array(of(v)) ? json_array_size(of(v)) : json_object_size(of(v));
}

bool jm_json_is_object(const struct jm_json *v)
{
    return v && json_is_object(of(v));
}

bool jm_json_is_array(const struct jm_json *v)
{
    return v && json_is_array(of(v));
}

bool jm_json_is_null(const struct jm_json *v)
{
    return v && json_is_null(of(v));
}

bool jm_json_is_string(const struct jm_json *v)
{
    return v && json_is_string(of(v));
}

bool jm_json_str(const struct jm_json *v, struct jm_span *out)
{
    if (!jm_json_is_string(v))
        return false;
    *out = (struct jm_span){json_string_value(of(v)), json_string_length(of(v))};
    return true;
}

bool jm_json_i64(const struct jm_json *v, int64_t *out)
{
    if (!v || !json_is_integer(of(v)))
        return false;
    *out = json_integer_value(of(v));
    return true;
}

bool jm_json_num(const struct jm_json *v, double *out)
{
    if (!v || !json_is_number(of(v)))
        return false;
    *out = json_number_value(of(v));
    return true;
}

bool jm_json_bool(const struct jm_json *v, bool *out)
{
    if (!v || !json_is_boolean(of(v)))
        return false;
    *out = json_is_true(of(v));
    return true;
}

bool jm_json_next(const struct jm_json *o, void **it, const char **key, const struct jm_json **val)
{
    if (!jm_json_is_object(o))
        return false;
    *it = *it ? json_object_iter_next(of(o), *it) : json_object_iter(of(o));
    if (!*it)
        return false;
    *key = json_object_iter_key(*it);
    *val = (const struct jm_json *)json_object_iter_value(*it);
    return true;
}
