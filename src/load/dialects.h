/* SPDX-License-Identifier: Apache-2.0 */
/* The table of dialects, one row each: symbol, name, short name or NULL, engine, path of a stream, path of a
 * whole answer, one sentence. The const table, --help and the manual are made from it. A path's {model} is
 * the model's name. */
#ifndef JM_LOAD_DIALECTS_H
#define JM_LOAD_DIALECTS_H

#define JM_DIALECTS(X)                                                                                       \
    X(chat, "openai.chat", "chat", "any", "/v1/chat/completions", "/v1/chat/completions",                    \
      "messages; every OpenAI-compatible server has it")                                                     \
    X(completions, "openai.completions", "completions", "any", "/v1/completions", "/v1/completions",         \
      "plain text or token ids, without a chat template")

/* "openai.chat, openai.completions, ..." as one text. */
#define JM_DIALECT_ITEM_(symbol, name, ...) ", " name
#define JM_DIALECT_NAMES                    "auto" JM_DIALECTS(JM_DIALECT_ITEM_)

#endif
