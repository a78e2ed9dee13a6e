/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "wire/jsontok.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void look(const struct jm_jtoken *v)
{
    int64_t i;
    uint64_t u;
    double d;
    char buf[64];
    if (v->type == JM_J_STRING || v->type == JM_J_KEY) {
        if (jm_json_unescape(v->raw, buf, sizeof buf) >
            v->raw.n * 3) /* U+FFFD is the longest for its escape: less */
            abort();
        jm_jtoken_is(v, "content");
    }
    jm_jtoken_i64(v, &i);
    jm_jtoken_u64(v, &u);
    jm_jtoken_double(v, &d);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const paths[] = {"choices[].delta.content", "a[][].b", "[].x", "usage",
                                        "usage.prompt_tokens"};
    struct jm_jsonscan s;
    struct jm_jsonfound f[5];
    struct jm_jsontok t;
    struct jm_jtoken v;
    struct jm_err err;
    struct jm_span in = {(const char *)p, n};
    int whole = 0, rc;
    jm_jsontok_init(&t, in, 40);
    while ((rc = jm_jsontok_next(&t, &v, &err)) == 0 && v.type != JM_J_END) {
        look(&v);
        if (v.type == JM_J_OBJECT || v.type == JM_J_ARRAY) {
            struct jm_jsontok ahead = t;
            jm_jsontok_skip(&ahead, &v, &err);
        }
    }
    whole = rc;
    if (jm_jsonscan_init(&s, paths, 5, &err) != 0)
        abort();
    rc = jm_jsonscan_run(&s, in, f, &err);
    if (whole == 0 && rc != 0)
        abort();
    for (int i = 0; rc == 0 && i < 5; i++)
        if (f[i].hits)
            look(&f[i].v);
    t = (struct jm_jsontok){0};
    jm_jsontok_init(&t, (struct jm_span){(const char *)p, n / 2}, 40);
    t.partial = t.utf8 = true;
    while ((rc = jm_jsontok_next(&t, &v, &err)) == 0 && v.type != JM_J_END)
        ;
    if (rc == JM_EAGAIN && jm_jsontok_rest(&t).n > n)
        abort();
    return 0;
}
