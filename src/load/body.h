/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON body of a request: ours and the user's own members (--extra-body), which come last and replace
 * ours, also inside one nested object such as "options". */
#ifndef JM_LOAD_BODY_H
#define JM_LOAD_BODY_H

#include "base/json.h"
#include "load/dialect.h"

struct jm_body {
    struct jm_jsonw w;
    const struct jm_ask *ask;
    struct jm_str *out;
    struct jm_span theirs; /* the user's object at this level, empty: none */
    const char *nested;    /* name of the nested object that was merged; NULL: none */
};

/* Opens the object. */
void jm_body_open(struct jm_body *b, const struct jm_ask *a, struct jm_str *out);
/* Each writes a member unless the user's object has it. */
void jm_body_str(struct jm_body *b, const char *key, const char *v);
void jm_body_span(struct jm_body *b, const char *key, struct jm_span v);
void jm_body_count(struct jm_body *b, const char *key, int64_t v); /* below 0: not sent */
void jm_body_num(struct jm_body *b, const char *key, double v);    /* NAN: not sent */
void jm_body_bool(struct jm_body *b, const char *key, bool v);
void jm_body_raw(struct jm_body *b, const char *key, struct jm_span json);
/* Whether the user's object has this member. */
bool jm_body_theirs(const struct jm_body *b, const char *key);
/* The prompt as messages: the plan's, or one of the user role with its text. */
void jm_body_turns(struct jm_body *b, const char *key);
/* One nested object, with what the user's object of that name holds. Once a body. */
void jm_body_nest(struct jm_body *b, const char *key);
void jm_body_unnest(struct jm_body *b);
/* The user's other members, and the end. */
int jm_body_close(struct jm_body *b, struct jm_err *err);

#endif
