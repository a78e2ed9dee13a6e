/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/loadgen_log.h"

#include "base/json.h"
#include "base/num.h"

#include "base/banned.h"

static int entry_of(const struct jm_json *doc, struct jm_loadgen_entry *e, char number[32])
{
    const struct jm_json *v = jm_json_get(doc, "value");
    *e = (struct jm_loadgen_entry){0};
    if (!jm_json_str(jm_json_get(doc, "key"), &e->key))
        return JM_EPARSE;
    if (jm_json_str(v, &e->text)) {
        e->is_string = true;
    } else if (jm_json_bool(v, &e->boolean)) {
        e->is_bool = true;
        e->text = e->boolean ? JM_SPAN("true") : JM_SPAN("false");
    } else if (jm_json_num(v, &e->number)) {
        e->is_number = true;
        e->has_integer = jm_json_i64(v, &e->integer);
        jm_json_fmt_double(number, e->number);
        e->text = jm_span_of(number);
    }
    jm_json_bool(jm_json_path(doc, "metadata.is_error"), &e->is_error);
    jm_json_bool(jm_json_path(doc, "metadata.is_warning"), &e->is_warning);
    return 0;
}

int jm_loadgen_detail(struct jm_span text, jm_loadgen_fn fn, void *self, int64_t *broken, struct jm_err *err)
{
    struct jm_span line;
    *broken = 0;
    while (jm_span_line(&text, &line)) {
        if (!jm_span_istarts(line, JM_SPAN(":::MLLOG")) && !jm_span_istarts(line, JM_SPAN(":::MLPv")))
            continue;
        ptrdiff_t brace = jm_span_chr(line, '{');
        struct jm_json *doc;
        struct jm_loadgen_entry e;
        char number[32];
        if (brace < 0) {
            ++*broken;
            continue;
        }
        int rc = jm_json_parse(jm_span_sub(line, (size_t)brace, line.n), &doc, NULL);
        if (rc == JM_ENOMEM)
            return jm_err_set(err, rc, "out of memory while reading a LoadGen detail log");
        if (rc) {
            ++*broken;
            continue;
        }
        rc = entry_of(doc, &e, number) ? 0 : fn(self, &e);
        jm_json_free(doc);
        if (rc)
            return rc;
    }
    return 0;
}

bool jm_loadgen_summary(struct jm_span text, const char *key, struct jm_span *value)
{
    struct jm_span line;
    while (jm_span_line(&text, &line)) {
        ptrdiff_t c = jm_span_chr(line, ':');
        if (c >= 0 && jm_span_is(jm_span_trim(jm_span_sub(line, 0, (size_t)c)), key)) {
            *value = jm_span_trim(jm_span_sub(line, (size_t)c + 1, line.n));
            return true;
        }
    }
    return false;
}
