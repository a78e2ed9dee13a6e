/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of one JSON object a line: Mooncake (and vLLM's timed trace, which has the same members), Bailian,
 * weka. All of them name the blocks of a prompt by ids, so that shared prefixes can be reproduced. */
#include <string.h>

#include "load/trace.h"
#include "wire/jsontok.h"

#include "base/banned.h"

#define MOONCAKE_BLOCK 512
#define SMALL_BLOCK    16 /* vLLM's timed trace, Bailian */
#define WEKA_BLOCK     64

enum { M_TIME, M_ISL, M_OSL, M_BLOCKS, M_SESSION, M_MOST };

struct members {
    const char *name[M_MOST];
    double unit; /* of times, ns */
};

static int object(struct jm_span line, const struct members *m, struct jm_jtoken found[M_MOST],
                  bool have[M_MOST], struct jm_err *err)
{
    struct jm_jsontok t;
    struct jm_jtoken key, v;
    jm_jsontok_init(&t, jm_span_trim(line), 0);
    int rc = jm_jsontok_next(&t, &v, err);
    if (rc)
        return rc;
    if (v.type != JM_J_OBJECT)
        return jm_err_set(err, JM_EPARSE, "a line must be one JSON object");
    for (;;) {
        if ((rc = jm_jsontok_next(&t, &key, err)))
            return rc;
        if (key.type == JM_J_OBJECT_END)
            break;
        if ((rc = jm_jsontok_next(&t, &v, err)) || (rc = jm_jsontok_skip(&t, &v, err)))
            return rc;
        for (int i = 0; i < M_MOST; i++)
            if (m->name[i] && jm_jtoken_is(&key, m->name[i])) {
                found[i] = v;
                have[i] = true;
            }
    }
    if ((rc = jm_jsontok_next(&t, &v, err)))
        return rc;
    return v.type == JM_J_END ? 0 : jm_err_set(err, JM_EPARSE, "something follows the object");
}

static bool looks_like(struct jm_span line, const struct members *m, int needed)
{
    struct jm_jtoken v[M_MOST];
    bool have[M_MOST] = {false};
    if (object(line, m, v, have, NULL) != 0)
        return false;
    for (int i = 0; i <= needed; i++)
        if (!have[i])
            return false;
    return true;
}

/* Ids are integers, or strings of digits or hex, which are hashed. */
static int64_t id_of(const struct jm_jtoken *v, bool *ok)
{
    int64_t id = 0;
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    if (v->type == JM_J_NUMBER) {
        uint64_t u;
        *ok &= jm_jtoken_i64(v, &id) == 0 || jm_jtoken_u64(v, &u) == 0;
        if (jm_jtoken_i64(v, &id) != 0 && jm_jtoken_u64(v, &u) == 0)
            id = (int64_t)u;
        return id;
    }
    *ok &= v->type == JM_J_STRING;
    for (size_t i = 0; i < v->raw.n; i++)
        h = (h ^ (unsigned char)v->raw.p[i]) * 1099511628211u;
    return (int64_t)h;
}

static int block_ids(struct jm_trace_parse *p, const struct jm_jtoken *list, struct jm_trace_row *r,
                     struct jm_err *err)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    size_t n = 0;
    if (list->type == JM_J_NULL)
        return 0;
    if (list->type != JM_J_ARRAY)
        return jm_err_set(err, JM_EPARSE, "hash_ids must be an array");
    jm_jsontok_init(&t, list->raw, 4);
    int rc = jm_jsontok_next(&t, &v, err);
    while (!rc && !(rc = jm_jsontok_next(&t, &v, err)) && v.type != JM_J_ARRAY_END) {
        bool ok = true;
        int64_t *at = jm_trace_blocks(p, n + 1);
        if (!at)
            return jm_err_set(err, JM_ELIMIT, "a prompt of more than %d blocks", JM_TRACE_BLOCKS);
        at[n++] = id_of(&v, &ok);
        if (!ok)
            return jm_err_set(err, JM_EPARSE, "an item of hash_ids is neither a number nor a text");
    }
    if (rc)
        return rc;
    r->block = p->block;
    r->blocks = n;
    return 0;
}

static int number(const struct jm_jtoken *v, const char *name, int64_t *out, struct jm_err *err)
{
    if (jm_jtoken_i64(v, out) == 0 && *out >= 0)
        return 0;
    return jm_err_set(err, JM_EPARSE, "%s \"%.*s\" is no whole number of at least 0", name,
                      (int)(v->raw.n < 40 ? v->raw.n : 40), v->raw.p);
}

static int row(struct jm_trace_parse *p, struct jm_span line, const struct members *m, struct jm_trace_row *r,
               struct jm_err *err)
{
    struct jm_jtoken v[M_MOST];
    bool have[M_MOST] = {false};
    double t;
    int rc = object(line, m, v, have, err);
    if (rc)
        return rc;
    for (int i = M_TIME; i <= M_OSL; i++)
        if (!have[i])
            return jm_err_set(err, JM_EPARSE, "the object has no \"%s\"", m->name[i]);
    if (jm_jtoken_double(&v[M_TIME], &t) != 0 || !(t >= 0) || t * m->unit > 4e18)
        return jm_err_set(err, JM_EPARSE, "%s \"%.*s\" is no time of at least 0", m->name[M_TIME],
                          (int)(v[M_TIME].raw.n < 40 ? v[M_TIME].raw.n : 40), v[M_TIME].raw.p);
    r->t = (int64_t)(t * m->unit + 0.5);
    if ((rc = number(&v[M_ISL], m->name[M_ISL], &r->isl, err)) ||
        (rc = number(&v[M_OSL], m->name[M_OSL], &r->osl, err)))
        return rc;
    if (have[M_SESSION] && jm_jtoken_i64(&v[M_SESSION], &r->session) != 0)
        r->session = -1;
    if (have[M_BLOCKS] && (rc = block_ids(p, &v[M_BLOCKS], r, err)))
        return rc;
    return r->osl == 0 ? 0 : 1;
}

/* --- Mooncake: milliseconds, blocks of 512 tokens; vLLM's timed trace writes the same with blocks of 16.
 * Which of the two a row has follows from its length. */
static const struct members mooncake = {{"timestamp", "input_length", "output_length", "hash_ids", NULL},
                                        1e6};
static bool mooncake_is(struct jm_span line)
{
    return looks_like(line, &mooncake, M_OSL);
}
static int mooncake_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r,
                        struct jm_err *err)
{
    int rc = row(p, line, &mooncake, r, err);
    r->block_tokens = MOONCAKE_BLOCK;
    if (rc == 1 && r->blocks > 1 && (int64_t)(r->blocks - 1) * MOONCAKE_BLOCK >= r->isl)
        r->block_tokens = SMALL_BLOCK;
    return rc;
}
const struct jm_trace_format jm_trace_mooncake = {
    .name = "mooncake", .what = "Mooncake, and vLLM's timed trace", .is = mooncake_is, .row = mooncake_row};

/* --- Bailian: seconds, blocks of 16; a conversation by its first chat_id is not kept, only its own id */
static const struct members bailian = {{"timestamp", "input_length", "output_length", "hash_ids", "chat_id"},
                                       1e9};
static bool bailian_is(struct jm_span line)
{
    static const struct members m = {{"chat_id", "timestamp", "input_length", "output_length", NULL}, 1};
    return looks_like(line, &m, 3);
}
static int bailian_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r,
                       struct jm_err *err)
{
    r->block_tokens = SMALL_BLOCK;
    return row(p, line, &bailian, r, err);
}
const struct jm_trace_format jm_trace_bailian = {
    .name = "bailian", .what = "Qwen Bailian usage traces", .is = bailian_is, .row = bailian_row};

/* --- weka: seconds, blocks of 64 */
static const struct members weka = {{"t", "in", "out", "hash_ids", NULL}, 1e9};
static bool weka_is(struct jm_span line)
{
    return looks_like(line, &weka, M_OSL);
}
static int weka_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r, struct jm_err *err)
{
    r->block_tokens = WEKA_BLOCK;
    return row(p, line, &weka, r, err);
}
const struct jm_trace_format jm_trace_weka = {
    .name = "weka", .what = "weka traces, one request a line", .is = weka_is, .row = weka_row};
