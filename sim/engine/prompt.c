/* SPDX-License-Identifier: Apache-2.0 */
#include "prompt.h"

#include "sched.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_BOS = 1, TOKEN_OPEN = 2, TOKEN_ROLE = 3, TOKEN_CLOSE = 4, TOKEN_NEWLINE = 5 };

void sim_prompt_release(struct sim_prompt *p)
{
    free(p->block);
    free(p->id);
    p->block = NULL;
    p->id = NULL;
}

static bool more(void **p, uint32_t *cap, uint32_t n, size_t size)
{
    if (n < *cap)
        return true;
    uint32_t want = *cap ? *cap * 2 : 64;
    void *q = realloc(*p, want * size);
    if (!q)
        return false;
    *p = q;
    *cap = want;
    return true;
}

static void token(struct sim_prompt *p, uint32_t id)
{
    p->hash = sim_mix(p->hash, id);
    if (p->count < p->max) {
        if (p->want_ids) {
            if (more((void **)&p->id, &p->cap_id, (uint32_t)p->count, sizeof *p->id))
                p->id[p->count] = (int32_t)id;
            else
                p->failed = true;
        }
        if ((p->count + 1) % SIM_BLOCK == 0) {
            if (more((void **)&p->block, &p->cap_block, p->nblock, sizeof *p->block))
                p->block[p->nblock++] = p->hash ? p->hash : 1;
            else
                p->failed = true;
        }
    }
    p->count++;
}

static void text(struct sim_prompt *p, const char *s, size_t n)
{
    while (n > 0) {
        size_t k = sim_text_token(s, n);
        token(p, sim_text_id(s, k, p->vocab));
        s += k;
        n -= k;
    }
}

static int ended(const struct sim_prompt *p, char *why, size_t whylen)
{
    if (p->failed)
        snprintf(why, whylen, "There is no memory for the prompt.");
    else if (p->count == 0)
        snprintf(why, whylen, "The prompt is empty.");
    return p->failed || p->count == 0 ? -1 : 0;
}

int sim_prompt_completion(struct sim_prompt *p, const json_t *prompt, bool special, char *why, size_t whylen)
{
    const json_t *first = json_array_get(prompt, 0);
    if (json_is_array(prompt) && (json_is_string(first) || json_is_array(first))) {
        if (json_array_size(prompt) != 1) {
            snprintf(why, whylen, "The simulated engine takes one prompt a request, not %zu.",
                     json_array_size(prompt));
            return -1;
        }
        prompt = first;
    }
    if (json_is_string(prompt)) {
        if (special)
            token(p, TOKEN_BOS);
        text(p, json_string_value(prompt), json_string_length(prompt));
        return ended(p, why, whylen);
    }
    if (!json_is_array(prompt)) {
        snprintf(why, whylen, "prompt must be a string or an array of token ids.");
        return -1;
    }
    for (size_t i = 0; i < json_array_size(prompt); i++) {
        const json_t *v = json_array_get(prompt, i);
        json_int_t id = json_integer_value(v);
        if (!json_is_integer(v) || id < 0 || id >= (json_int_t)p->vocab) {
            snprintf(why, whylen, "Token %zu of the prompt is not an id from 0 to %u.", i, p->vocab - 1);
            return -1;
        }
        token(p, (uint32_t)id);
    }
    return ended(p, why, whylen);
}

static int content(struct sim_prompt *p, const json_t *c, char *why, size_t whylen)
{
    if (json_is_string(c)) {
        text(p, json_string_value(c), json_string_length(c));
        return 0;
    }
    if (!c || json_is_null(c))
        return 0; /* an assistant message with tool calls only */
    for (size_t i = 0; json_is_array(c) && i < json_array_size(c); i++) {
        const json_t *part = json_array_get(c, i), *t = json_object_get(part, "text");
        if (!json_is_string(t)) {
            snprintf(why, whylen, "The simulated engine takes text parts only.");
            return -1;
        }
        text(p, json_string_value(t), json_string_length(t));
    }
    if (json_is_array(c))
        return 0;
    snprintf(why, whylen, "content must be a string or an array of parts.");
    return -1;
}

int sim_prompt_chat(struct sim_prompt *p, const json_t *messages, char *why, size_t whylen)
{
    if (!json_is_array(messages) || json_array_size(messages) == 0) {
        snprintf(why, whylen, "messages must be an array that is not empty.");
        return -1;
    }
    token(p, TOKEN_BOS);
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i), *role = json_object_get(m, "role");
        if (!json_is_string(role)) {
            snprintf(why, whylen, "Message %zu has no role.", i);
            return -1;
        }
        token(p, TOKEN_OPEN);
        token(p, TOKEN_ROLE + sim_text_id(json_string_value(role), json_string_length(role), p->vocab - 8));
        token(p, TOKEN_CLOSE);
        if (content(p, json_object_get(m, "content"), why, whylen) < 0)
            return -1;
        token(p, TOKEN_NEWLINE);
    }
    token(p, TOKEN_OPEN);
    token(p, TOKEN_ROLE);
    token(p, TOKEN_CLOSE);
    token(p, TOKEN_NEWLINE);
    return ended(p, why, whylen);
}
