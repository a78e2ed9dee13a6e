/* SPDX-License-Identifier: Apache-2.0 */
/* ShareGPT: [{"id":..., "conversations":[{"from":"human","value":...},{"from":"gpt","value":...},...]},...],
 * an array or a line an object. It has no times and no token counts: the first words of the user are the
 * prompt, and the answer that followed says how long an answer is asked for (4 bytes a token). A conversation
 * without an answer to its first words is left out, as other tools do. */
#include <stdlib.h>
#include <string.h>

#include "load/trace.h"
#include "wire/jsontok.h"

#include "base/banned.h"

struct message {
    bool human, model;
    struct jm_jtoken value;
    bool have;
};

static int read_message(struct jm_jsontok *t, struct message *m, struct jm_err *err)
{
    struct jm_jtoken key, v;
    int rc;
    *m = (struct message){0};
    for (;;) {
        if ((rc = jm_jsontok_next(t, &key, err)))
            return rc;
        if (key.type == JM_J_OBJECT_END)
            return 0;
        if ((rc = jm_jsontok_next(t, &v, err)) || (rc = jm_jsontok_skip(t, &v, err)))
            return rc;
        if (jm_jtoken_is(&key, "from") || jm_jtoken_is(&key, "role")) {
            m->human = jm_jtoken_is(&v, "human") || jm_jtoken_is(&v, "user");
            m->model = jm_jtoken_is(&v, "gpt") || jm_jtoken_is(&v, "chatgpt") || jm_jtoken_is(&v, "bing") ||
                       jm_jtoken_is(&v, "bard") || jm_jtoken_is(&v, "assistant");
        } else if ((jm_jtoken_is(&key, "value") || jm_jtoken_is(&key, "content")) && v.type == JM_J_STRING) {
            m->value = v;
            m->have = true;
        }
    }
}

static struct jm_trace_turn *room(struct jm_trace_parse *p, size_t n)
{
    if (n > p->turns_cap) {
        size_t cap = p->turns_cap ? 2 * p->turns_cap : 16;
        struct jm_trace_turn *v = realloc(p->turn, cap * sizeof *v);
        if (!v)
            return NULL;
        p->turn = v;
        p->turns_cap = cap;
    }
    return p->turn;
}

/* Texts are decoded into one buffer, which the whole record always fits. */
static int turns(struct jm_trace_parse *p, struct jm_jsontok *t, size_t bytes, struct jm_trace_row *r,
                 struct jm_err *err)
{
    struct jm_jtoken v;
    struct message m;
    size_t n = 0, used = 0;
    bool open = false; /* the user spoke and waits for an answer */
    int rc;
    if (bytes > p->text_cap) {
        char *text = realloc(p->text, bytes);
        if (!text)
            return jm_err_set(err, JM_ENOMEM, "out of memory for a conversation");
        p->text = text;
        p->text_cap = bytes;
    }
    for (;;) {
        if ((rc = jm_jsontok_next(t, &v, err)))
            return rc;
        if (v.type == JM_J_ARRAY_END)
            break;
        if (v.type != JM_J_OBJECT)
            return jm_err_set(err, JM_EPARSE, "a message of a conversation must be an object");
        if ((rc = read_message(t, &m, err)))
            return rc;
        if (m.human && m.have && !open && n < JM_TRACE_TURNS) {
            if (!room(p, n + 1))
                return jm_err_set(err, JM_ENOMEM, "out of memory for a conversation");
            size_t len = jm_json_unescape(m.value.raw, p->text + used, p->text_cap - used);
            p->turn[n++] = (struct jm_trace_turn){{p->text + used, len}, -1};
            used += len;
            open = len > 0;
            n -= len == 0;
        } else if (m.model && m.have && open) {
            size_t len = jm_json_unescape(m.value.raw, NULL, 0);
            p->turn[n - 1].answer_bytes = (int64_t)len;
            open = false;
        } /* else: a greeting of the model, a system text, or words that follow words */
    }
    if (n && p->turn[n - 1].answer_bytes < 0)
        n--; /* the last words got no answer: how long one should be is not known */
    r->turn = p->turn;
    r->turns = n;
    return n > 0;
}

static int share_row(struct jm_trace_parse *p, struct jm_span line, struct jm_trace_row *r,
                     struct jm_err *err)
{
    struct jm_jsontok t;
    struct jm_jtoken key, v;
    line = jm_span_trim(line);
    jm_jsontok_init(&t, line, 0);
    int rc = jm_jsontok_next(&t, &v, err), got = -1;
    if (rc)
        return rc;
    if (v.type != JM_J_OBJECT)
        return jm_err_set(err, JM_EPARSE, "a conversation must be an object");
    for (;;) {
        if ((rc = jm_jsontok_next(&t, &key, err)))
            return rc;
        if (key.type == JM_J_OBJECT_END)
            break;
        if ((rc = jm_jsontok_next(&t, &v, err)))
            return rc;
        if (jm_jtoken_is(&key, "conversations") || jm_jtoken_is(&key, "conversation")) {
            if (v.type != JM_J_ARRAY)
                return jm_err_set(err, JM_EPARSE, "\"conversations\" must be an array of messages");
            if ((got = turns(p, &t, line.n + 1, r, err)) < 0)
                return got;
        } else if ((rc = jm_jsontok_skip(&t, &v, err))) {
            return rc;
        }
    }
    if (got < 0)
        return jm_err_set(err, JM_EPARSE, "the object has no \"conversations\"");
    if (got == 1)
        r->osl = jm_trace_answer_tokens(r->turn[0].answer_bytes);
    return got;
}

static bool share_is(struct jm_span line)
{
    struct jm_jsontok t;
    struct jm_jtoken key, v;
    jm_jsontok_init(&t, jm_span_trim(line), 0);
    if (jm_jsontok_next(&t, &v, NULL) != 0 || v.type != JM_J_OBJECT)
        return false;
    while (jm_jsontok_next(&t, &key, NULL) == 0 && key.type == JM_J_KEY) {
        if (jm_jsontok_next(&t, &v, NULL) != 0 || jm_jsontok_skip(&t, &v, NULL) != 0)
            return false;
        if ((jm_jtoken_is(&key, "conversations") || jm_jtoken_is(&key, "conversation")) &&
            v.type == JM_J_ARRAY)
            return true;
    }
    return false;
}

const struct jm_trace_format jm_trace_sharegpt = {
    .name = "sharegpt", .what = "ShareGPT conversations", .is = share_is, .row = share_row};
