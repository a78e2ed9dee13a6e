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
      "text or token ids, without a chat template")                                                          \
    X(responses, "openai.responses", "responses", "OpenAI, vLLM, SGLang", "/v1/responses", "/v1/responses",  \
      "OpenAI's newer API of named events")                                                                  \
    X(sglang, "sglang.generate", "sglang", "SGLang", "/generate", "/generate",                               \
      "SGLang's own; counts tokens in every event")                                                          \
    X(tgi, "tgi.generate_stream", "tgi", "TGI", "/generate_stream", "/generate",                             \
      "Text Generation Inference's own; one token an event")                                                 \
    X(triton, "triton.generate_stream", "triton", "Triton", "/v2/models/{model}/generate_stream",            \
      "/v2/models/{model}/generate", "TensorRT-LLM or vLLM behind Triton")                                   \
    X(llamacpp, "llamacpp.completion", "llamacpp", "llama.cpp", "/completion", "/completion",                \
      "llama.cpp's own; counts tokens in every event")                                                       \
    X(ollama_generate, "ollama.generate", NULL, "Ollama", "/api/generate", "/api/generate",                  \
      "Ollama's own for one prompt")                                                                         \
    X(ollama_chat, "ollama.chat", "ollama", "Ollama", "/api/chat", "/api/chat", "Ollama's own for messages") \
    X(lmstudio, "lmstudio.chat", "lmstudio", "LM Studio", "/api/v1/chat", "/api/v1/chat", "LM Studio's own")

/* "openai.chat, openai.completions, ..." as one text. */
#define JM_DIALECT_ITEM_(symbol, name, ...) ", " name
#define JM_DIALECT_NAMES                    "auto" JM_DIALECTS(JM_DIALECT_ITEM_)

#endif
