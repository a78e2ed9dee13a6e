/* SPDX-License-Identifier: Apache-2.0 */
/* JSONL: one object a line, {"prompt": "text" or [token ids]} or {"messages": [...]}, with optional
 * "max_tokens", "slice" and "id" (ignored). Anything else is refused with its line: a misspelt key would
 * change what is measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "load/prompts.h"

#include "base/banned.h"

struct where {
    const char *path;
    size_t line;
};

static int bad(const struct where *w, struct jm_err *err, const char *what)
{
    return jm_err_set(err, JM_EPARSE, "%s:%zu: %s", w->path, w->line, what);
}

static int check_turns(const struct where *w, const struct jm_json *turns, struct jm_err *err)
{
    if (!jm_json_is_array(turns) || jm_json_len(turns) == 0)
        return bad(w, err, "\"messages\" must be an array of at least one message");
    for (size_t i = 0; i < jm_json_len(turns); i++) {
        const struct jm_json *m = jm_json_at(turns, i);
        if (!jm_json_is_string(jm_json_get(m, "role")))
            return bad(w, err, "each message must be an object with a \"role\"");
        if (!jm_json_get(m, "content") && !jm_json_get(m, "tool_calls"))
            return bad(w, err, "each message must have \"content\"");
    }
    return 0;
}

static int check_ids(const struct where *w, const struct jm_json *ids, struct jm_err *err)
{
    int64_t v;
    if (jm_json_len(ids) == 0)
        return bad(w, err, "\"prompt\" is an empty array");
    for (size_t i = 0; i < jm_json_len(ids); i++)
        if (!jm_json_i64(jm_json_at(ids, i), &v) || v < 0)
            return bad(w, err, "\"prompt\" must be a text or an array of token ids");
    return 0;
}

/* The document is checked through jansson; the texts are then taken as they stand in the line. */
static int check(const struct where *w, const struct jm_json *doc, struct jm_err *err)
{
    static const char *const known[] = {"prompt", "messages", "max_tokens", "slice", "id"};
    void *it = NULL;
    const char *key;
    const struct jm_json *v;
    if (!jm_json_is_object(doc))
        return bad(w, err, "a line must be an object with \"prompt\" or \"messages\"");
    while (jm_json_next(doc, &it, &key, &v)) {
        bool ok = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            ok |= strcmp(key, known[i]) == 0;
        if (!ok)
            return jm_err_set(err, JM_EPARSE,
                              "%s:%zu: unknown key \"%s\"; known are prompt, messages, max_tokens, slice, id",
                              w->path, w->line, key);
    }
    const struct jm_json *prompt = jm_json_get(doc, "prompt"), *turns = jm_json_get(doc, "messages"), *x;
    if (!prompt == !turns)
        return bad(w, err, "a line must have either \"prompt\" or \"messages\"");
    int rc = turns ? check_turns(w, turns, err) : 0;
    if (rc == 0 && prompt && jm_json_is_array(prompt))
        rc = check_ids(w, prompt, err);
    else if (rc == 0 && prompt && !jm_json_is_string(prompt))
        rc = bad(w, err, "\"prompt\" must be a text or an array of token ids");
    if (rc)
        return rc;
    int64_t n;
    struct jm_span s;
    if ((x = jm_json_get(doc, "max_tokens")) && (!jm_json_i64(x, &n) || n < 1 || n > INT32_MAX))
        return bad(w, err, "\"max_tokens\" must be a whole number of at least 1");
    if ((x = jm_json_get(doc, "slice")) &&
        (!jm_json_str(x, &s) || s.n >= sizeof((struct jm_prompt_line *)0)->slice))
        return bad(w, err, "\"slice\" must be a name of at most 31 bytes");
    return 0;
}

static int take(struct jm_span text, struct jm_prompt_line *l)
{
    struct jm_jsontok t;
    struct jm_jtoken key, v;
    *l = (struct jm_prompt_line){.max_tokens = -1};
    jm_jsontok_init(&t, text, JM_JSONTOK_DEPTH);
    if (jm_jsontok_next(&t, &v, NULL) != 0)
        return JM_EPARSE;
    while (jm_jsontok_next(&t, &key, NULL) == 0 && key.type == JM_J_KEY) {
        if (jm_jsontok_next(&t, &v, NULL) != 0 || jm_jsontok_skip(&t, &v, NULL) != 0)
            return JM_EPARSE;
        if (jm_jtoken_is(&key, "messages"))
            l->turns = v.raw;
        else if (jm_jtoken_is(&key, "prompt") && v.type == JM_J_ARRAY)
            l->ids = v.raw;
        else if (jm_jtoken_is(&key, "prompt"))
            l->text = v;
        else if (jm_jtoken_is(&key, "max_tokens"))
            jm_jtoken_i64(&v, &l->max_tokens);
        else if (jm_jtoken_is(&key, "slice"))
            l->slice[jm_json_unescape(v.raw, l->slice, sizeof l->slice - 1)] = '\0';
    }
    return 0;
}

static int fits_api(const struct where *w, const struct jm_prompt_line *l, const struct jm_reader *r,
                    struct jm_err *err)
{
    char why[160];
    if (l->turns.p && !(r->d->takes & JM_TAKES_TURNS)) {
        snprintf(why, sizeof why,
                 "\"messages\" cannot be sent to %s; use \"prompt\", or an API that takes messages "
                 "(--api openai.chat)",
                 r->row->name);
        return bad(w, err, why);
    }
    if (l->ids.p && !(r->d->takes & JM_TAKES_IDS)) {
        snprintf(why, sizeof why,
                 "token ids cannot be sent to %s; use an API that takes them (--api openai.completions)",
                 r->row->name);
        return bad(w, err, why);
    }
    return 0;
}

void jm_prompt_set_release(struct jm_prompt_set *s)
{
    jm_str_release(&s->file);
    free(s->line);
    s->line = NULL;
    s->lines = 0;
}

int jm_prompt_file_read(struct jm_prompt_set *p, const struct jm_reader *reader, const char *path,
                        struct jm_err *err)
{
    struct jm_span rest = jm_str_span(&p->file), line;
    struct where w = {path, 0};
    size_t cap = 0;
    if (rest.n >= 3 && memcmp(rest.p, "\xef\xbb\xbf", 3) == 0)
        rest = jm_span_sub(rest, 3, rest.n);
    while (jm_span_line(&rest, &line)) {
        struct jm_json *doc = NULL;
        w.line++;
        line = jm_span_trim(line);
        if (!line.n)
            continue;
        int rc = jm_json_parse(line, &doc, err);
        if (rc) {
            jm_err_prefix(err, "%s:%zu", path, w.line);
            return rc;
        }
        rc = check(&w, doc, err);
        jm_json_free(doc);
        if (rc)
            return rc;
        if (p->lines == cap) {
            cap = cap ? cap * 2 : 64;
            struct jm_prompt_line *more = realloc(p->line, cap * sizeof *more);
            if (!more)
                return jm_err_set(err, JM_ENOMEM, "out of memory for the prompts of %s", path);
            p->line = more;
        }
        struct jm_prompt_line *l = &p->line[p->lines];
        if (take(line, l) != 0)
            return bad(&w, err, "the line is nested too deeply");
        rc = fits_api(&w, l, reader, err);
        if (rc)
            return rc;
        p->lines++;
    }
    return p->lines ? 0 : jm_err_set(err, JM_EPARSE, "%s holds no prompt", path);
}
