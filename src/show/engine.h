/* SPDX-License-Identifier: Apache-2.0 */
/* The section "Engine": what the serving engine says of itself, in the words of each format. */
#ifndef JM_SHOW_ENGINE_H
#define JM_SHOW_ENGINE_H

#include "base/json.h"
#include "show/fmt.h"
#include "show/text_out.h"

struct jm_engine_fact {
    const char *label; /* "generated" */
    char text[240];    /* "4,256 tokens, 1,063 tokens/s, counted as they are made" */
};
#define JM_ENGINE_FACTS 20
/* Of the row that a summary shows; returns how many. */
size_t jm_engine_facts(const struct jm_report *r, struct jm_engine_fact *out);

/* "engine.ttft", ... and what its quantile is known to lie in. false: not there. */
#define JM_ENGINE_LATENCIES 4
extern const char *const jm_engine_latency[JM_ENGINE_LATENCIES];
const char *jm_engine_within(char buf[JM_FMT], const struct jm_result *x);

void jm_show_engine_text(struct jm_out *o);
void jm_show_engine_markdown(const struct jm_report *r, struct jm_str *s);
void jm_show_engine_html(const struct jm_report *r, struct jm_str *s);
void jm_show_engine_json(struct jm_jsonw *w, const struct jm_report *r);

#endif
