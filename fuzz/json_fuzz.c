/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever jansson accepts, our writer writes again, and reading that gives the same text once more. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void copy(struct jm_jsonw *w, const struct jm_json *v)
{
    struct jm_span s;
    int64_t i;
    double d;
    bool b;
    if (jm_json_is_object(v)) {
        void *it = NULL;
        const char *key;
        const struct jm_json *val;
        jm_jsonw_object(w);
        while (jm_json_next(v, &it, &key, &val)) {
            jm_jsonw_key(w, key);
            copy(w, val);
        }
        jm_jsonw_end(w);
    } else if (jm_json_is_array(v)) {
        jm_jsonw_array(w);
        for (size_t k = 0; k < jm_json_len(v); k++)
            copy(w, jm_json_at(v, k));
        jm_jsonw_end(w);
    } else if (jm_json_str(v, &s)) {
        jm_jsonw_span(w, s);
    } else if (jm_json_i64(v, &i)) {
        jm_jsonw_i64(w, i);
    } else if (jm_json_num(v, &d)) {
        jm_jsonw_num(w, d);
    } else if (jm_json_bool(v, &b)) {
        jm_jsonw_bool(w, b);
    } else {
        jm_jsonw_null(w);
    }
}

static int depth(const struct jm_json *v)
{
    int most = 0;
    void *it = NULL;
    const char *key;
    const struct jm_json *val;
    while (jm_json_next(v, &it, &key, &val)) {
        int d = depth(val);
        most = d > most ? d : most;
    }
    for (size_t k = 0; jm_json_is_array(v) && k < jm_json_len(v); k++) {
        int d = depth(jm_json_at(v, k));
        most = d > most ? d : most;
    }
    return 1 + most;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_json *a = NULL, *b = NULL;
    struct jm_err err = {0};
    if (jm_json_parse((struct jm_span){(const char *)p, n}, &a, &err)) {
        if (!err.text[0])
            abort();
        return 0;
    }
    struct jm_str one, two;
    struct jm_jsonw w;
    jm_str_init(&one);
    jm_str_init(&two);
    jm_jsonw_init(&w, &one, (int)(n % 3));
    copy(&w, a);
    if (depth(a) <= 64) {
        if (w.misuse || jm_json_parse(jm_str_span(&one), &b, &err))
            abort();
        jm_jsonw_init(&w, &two, (int)(n % 3));
        copy(&w, b);
        if (one.len != two.len || memcmp(one.buf, two.buf, one.len) != 0)
            abort();
    }
    jm_json_free(a);
    jm_json_free(b);
    jm_str_release(&one);
    jm_str_release(&two);
    return 0;
}
