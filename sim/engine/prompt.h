/* SPDX-License-Identifier: Apache-2.0 */
/* A prompt as the engine sees it: how many tokens, which ones, and the chained hashes of its full blocks. */
#ifndef SIM_ENGINE_PROMPT_H
#define SIM_ENGINE_PROMPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sim_prompt {
    uint32_t max; /* tokens that are kept; the count goes on */
    uint32_t vocab;
    uint64_t count;
    uint64_t hash;   /* of all tokens */
    uint64_t *block; /* hash[i] covers the first (i + 1) blocks */
    int32_t *id;     /* NULL unless wanted */
    uint32_t nblock, cap_block, cap_id;
    bool want_ids, failed;
};

void sim_prompt_release(struct sim_prompt *p);
/* A text (with the beginning-of-sequence token where special), an array of token ids, or an array with one of
 * these. 0, or -1 with a sentence in why. */
int sim_prompt_completion(struct sim_prompt *p, const json_t *prompt, bool special, char *why, size_t whylen);
/* Messages under the chat template: 1 token at the beginning, 4 around each message, 4 that open the answer.
 */
int sim_prompt_chat(struct sim_prompt *p, const json_t *messages, char *why, size_t whylen);

#endif
