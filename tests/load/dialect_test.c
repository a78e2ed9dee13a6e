/* SPDX-License-Identifier: Apache-2.0 */
/* The engines' own APIs: streams in the form of their sources, documents and captures, each cut at every byte
 * (callkit.h tells how a row is written); whole answers; the bodies of requests. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "callkit.h"
#include "base/file.h"
#include "base/json.h"

#define E(x)    "data: " x "\n\n"
#define N(t, x) "event: " t "\ndata: {\"type\":\"" t "\"" x "}\n\n"
#define DONE    E("[DONE]")
#define UNK     "cached=-1 reasoning=-1"
#define R_START                                                                                              \
    N("response.created", ",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"status\":\"in_progress\","    \
                          "\"error\":null,\"usage\":null}")                                                  \
    N("response.in_progress", ",\"response\":{\"error\":null,\"status\":\"in_progress\"}")                   \
    N("response.output_item.added", ",\"item\":{\"type\":\"message\",\"status\":\"in_progress\"}")           \
    N("response.content_part.added", ",\"part\":{\"type\":\"output_text\",\"text\":\"\"}")
#define R_TEXT(s)                                                                                            \
    N("response.output_text.delta", ",\"output_index\":0,\"content_index\":0,\"delta\":\"" s "\"")
#define R_END(state, why)                                                                                    \
    N("response." state,                                                                                     \
      ",\"response\":{\"status\":\"" state "\",\"error\":null,\"incomplete_details\":" why                   \
      ",\"usage\":{\"input_tokens\":36,\"input_tokens_details\":{\"cached_tokens\":16},"                     \
      "\"output_tokens\":87,\"output_tokens_details\":{\"reasoning_tokens\":0},"                             \
      "\"total_tokens\":123}}")

static const struct kit_row responses[] = {
    {"sub2api 5526: structural events are no tokens", "openai.responses",
     R_START R_TEXT("Hi") R_TEXT("!") N("response.output_text.done", ",\"text\":\"Hi!\"")
         N("response.content_part.done", ",\"part\":{\"text\":\"Hi!\"}") N("response.output_item.done", "")
             R_END("completed", "null"),
     "ok finish=completed in=36 out=87/1 cached=16 reasoning=0 bytes=3 >5 *5 | 5? 6?"},
    {"a summary of reasoning comes first", "openai.responses",
     R_START N("response.reasoning_summary_text.delta", ",\"summary_index\":0,\"delta\":\"Think\"")
         N("response.reasoning_summary_text.done", ",\"text\":\"Think\"") R_TEXT("42")
             R_END("completed", "null"),
     "ok finish=completed in=36 out=87/1 cached=16 reasoning=0 bytes=7 >5 *7 | 5?r 7?"},
    {"vLLM: text of reasoning", "openai.responses",
     R_START N("response.reasoning_text.delta", ",\"delta\":\"hm\"") R_TEXT("a") R_END("completed", "null"),
     "ok finish=completed in=36 out=87/1 cached=16 reasoning=0 bytes=3 >5 *6 | 5?r 6?"},
    {"only the arguments of a tool", "openai.responses",
     R_START N("response.function_call_arguments.delta", ",\"item_id\":\"f\",\"delta\":\"{\\\"a\\\":\"")
         N("response.function_call_arguments.delta", ",\"delta\":\"1}\"")
             N("response.function_call_arguments.done", ",\"arguments\":\"{\\\"a\\\":1}\"")
                 R_END("completed", "null"),
     "ok finish=completed in=36 out=87/1 cached=16 reasoning=0 bytes=7 >5 *-1 | 5?t 6?t"},
    {"command-code 785: the end is missing inside the arguments", "openai.responses",
     R_START N("response.function_call_arguments.delta", ",\"delta\":\"{\\\"a\\\":\""),
     "cut finish= in=-1 out=-1/0 " UNK " bytes=5 >5 *-1 | 5?t"},
    {"a refusal is text", "openai.responses",
     R_START N("response.refusal.delta", ",\"delta\":\"No\"") R_END("completed", "null"),
     "ok finish=completed in=36 out=87/1 cached=16 reasoning=0 bytes=2 >5 *5 | 5?"},
    {"incomplete says why", "openai.responses",
     R_START R_TEXT("a") R_END("incomplete", "{\"reason\":\"max_output_tokens\"}"),
     "ok finish=max_output_tokens in=36 out=87/1 cached=16 reasoning=0 bytes=1 >5 *5 | 5?"},
    {"failed", "openai.responses",
     R_START R_TEXT("a") N("response.failed", ",\"response\":{\"status\":\"failed\",\"error\":{\"code\":"
                                              "\"server_error\",\"message\":\"The model died\"}}"),
     "error-event finish= in=-1 out=-1/0 " UNK " bytes=1 >5 *5 | 5?"},
    {"ragflow PR 19498: an error event", "openai.responses",
     R_START N("error", ",\"code\":\"x\",\"message\":\"Overloaded\",\"param\":null,\"sequence_number\":5"),
     "error-event finish= in=-1 out=-1/0 " UNK " bytes=0 >-1 *-1 |"},
    {"a tool that failed ends nothing", "openai.responses",
     R_START N("response.mcp_call.failed", ",\"item_id\":\"m\"") R_TEXT("a") R_END("completed", "null"),
     "ok finish=completed in=36 out=87/1 cached=16 reasoning=0 bytes=1 >6 *6 | 6?"},
    {"sound is no text", "openai.responses",
     R_START N("response.audio.delta", ",\"delta\":\"UklGRg==\"") R_TEXT("a") R_END("completed", "null"),
     "ok finish=completed in=36 out=87/1 cached=16 reasoning=0 bytes=1 >6 *6 | 6?"},
    {"hidden reasoning: counted, never sent", "openai.responses",
     R_TEXT("a") R_TEXT("b")
         N("response.completed",
           ",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":5,"
           "\"output_tokens\":302,\"output_tokens_details\":{\"reasoning_tokens\":300}}}"),
     "ok finish=completed in=5 out=302/1 cached=-1 reasoning=300 bytes=2 >1 *1 | 1?b 2?"},
    {"without a type the event's name tells", "openai.responses",
     "event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\n"
     "event: response.completed\ndata: {\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":5,"
     "\"output_tokens\":1}}}\n\n",
     "ok finish=completed in=5 out=1/1 " UNK " bytes=1 >1 *1 | 1?"},
};

#define G(text, n, fin)                                                                                      \
    E("{\"text\":\"" text "\",\"output_ids\":[1],\"meta_info\":{\"id\":\"x\",\"finish_reason\":" fin         \
      ",\"prompt_tokens\":7,\"completion_tokens\":" #n ",\"cached_tokens\":4}}")
#define LEN "{\"type\":\"length\",\"length\":4}"
static const struct kit_row sglang[] = {
    {"SGLang: all text in every event", "sglang.generate",
     G(" The", 1, "null") G(" The capital", 2, "null") G(" The capital of", 3, "null")
         G(" The capital of x", 4, LEN) DONE,
     "ok finish=length in=7 out=4/1 cached=4 reasoning=-1 bytes=17 >1 *1 | 1:1 2:1 3:1 4:1"},
    {"SGLang: --stream-interval 2, and the last event brings nothing new", "sglang.generate",
     G("ab", 2, "null") G("abcd", 4, "null") G("abcd", 4, LEN) DONE,
     "ok finish=length in=7 out=4/1 cached=4 reasoning=-1 bytes=4 >1 *1 | 1:2 2:2"},
    {"SGLang: --incremental-streaming-output", "sglang.generate",
     G("ab", 1, "null") G("cd", 2, "null") G("cd", 3, "null") G("", 4, LEN) DONE,
     "ok finish=length in=7 out=4/1 cached=4 reasoning=-1 bytes=6 >1 *1 | 1:1 2:1 3:1 4:1"},
    {"SGLang: a character that is not whole is held back", "sglang.generate",
     G("a", 1, "null") G("a", 2, "null") G("a\\ud83d\\ude00", 3, "null") G("a\\ud83d\\ude00b", 4, LEN) DONE,
     "ok finish=length in=7 out=4/1 cached=4 reasoning=-1 bytes=6 >1 *1 | 1:1 2:1 3:1 4:1"},
    {"SGLang: the stop string is cut off again", "sglang.generate",
     G("ab", 1, "null") G("abcd", 2, "null") G("abc", 3, "{\"type\":\"stop\",\"matched\":\"d\"}") DONE,
     "ok finish=stop in=7 out=3/1 cached=4 reasoning=-1 bytes=4 >1 *1 | 1:1 2:1 3:1"},
    {"SGLang: graceful abort", "sglang.generate",
     G("a", 1, "null") G("a", 1, "{\"type\":\"abort\",\"message\":\"Aborted\",\"status_code\":null}") DONE,
     "aborted finish=abort in=7 out=1/1 cached=4 reasoning=-1 bytes=1 >1 *1 | 1:1"},
    {"SGLang: an error after a token", "sglang.generate",
     G("a", 1, "null") E("{\"error\":{\"message\":\"OOM\",\"code\":500}}") DONE,
     "error-event finish= in=7 out=1/1 cached=4 reasoning=-1 bytes=1 >1 *1 | 1:1"},
    {"inference-perf 655: closed in the middle", "sglang.generate", G("a", 1, "null"),
     "cut finish= in=7 out=1/1 cached=4 reasoning=-1 bytes=1 >1 *1 | 1:1"},
};

#define TGI(id, text, special, all, details)                                                                 \
    "data:{\"index\":1,\"token\":{\"id\":" #id ",\"text\":\"" text                                           \
    "\",\"logprob\":-0.6,\"special\":" special "},\"generated_text\":" all ",\"details\":" details "}\n\n"
static const struct kit_row tgi[] = {
    {"TGI: no blank, a token an event, an end token that is no text", "tgi.generate_stream",
     TGI(28723, ".", "false", "null", "null") TGI(5, " b", "false", "null", "null")
         TGI(2, "</s>", "true", "\". b\"",
             "{\"finish_reason\":\"eos_token\",\"generated_tokens\":3,\"seed\":null,\"input_length\":17}"),
     "ok finish=eos_token in=17 out=3/1 " UNK " bytes=3 >1 *1 | 1:1 2:1 3:1"},
    {"TGI: without details the tokens are those of the stream", "tgi.generate_stream",
     TGI(1, "a", "false", "null", "null") TGI(2, "b", "false", "\"ab\"", "null"),
     "ok finish= in=-1 out=2/2 " UNK " bytes=2 >1 *1 | 1:1 2:1"},
    {"TGI: an error inside", "tgi.generate_stream",
     TGI(1, "a", "false", "null", "null") "data:{\"error\":\"Request failed during generation: CUDA "
                                          "error\",\"error_type\":\"generation\"}\n\n",
     "error-event finish= in=-1 out=-1/0 " UNK " bytes=1 >1 *1 | 1:1"},
    {"TGI: axum's keep-alive, then the end is missing", "tgi.generate_stream",
     ":\n\n" TGI(1, "a", "false", "null", "null") ":\n\n",
     "cut finish= in=-1 out=-1/0 " UNK " bytes=1 >2 *2 | 2:1"},
};

#define TRT(s)                                                                                               \
    E("{\"context_logits\":0.0,\"cum_log_probs\":0.0,\"model_name\":\"ensemble\",\"model_version\":\"1\","   \
      "\"output_log_probs\":[0.0,0.0],\"sequence_end\":false,\"sequence_id\":0,\"text_output\":\"" s "\"}")
static const struct kit_row triton[] = {
    {"TensorRT-LLM ensemble: no count, no end mark", "triton.generate_stream", TRT("a") TRT(" b") TRT(""),
     "ok finish= in=-1 out=-1/0 " UNK " bytes=3 >1 *1 | 1? 2?"},
    {"Triton: an error inside 200", "triton.generate_stream",
     TRT("a") E("{\"error\":\"Streaming is only supported with decoupled models\"}"),
     "error-event finish= in=-1 out=-1/0 " UNK " bytes=1 >1 *1 | 1?"},
    {"Triton's vLLM backend: each event counts its own tokens", "triton.generate_stream",
     E("{\"model_name\":\"vllm_model\",\"model_version\":\"1\",\"text_output\":\"ab\",\"num_input_tokens\":9,"
       "\"num_output_tokens\":2,\"finish_reason\":\"None\"}")
         E("{\"model_name\":\"vllm_model\",\"text_output\":\"\",\"num_input_tokens\":9,\"num_output_tokens\":"
           "1}") E("{\"model_name\":\"vllm_model\",\"text_output\":\"c\",\"num_input_tokens\":[9],"
                   "\"num_output_tokens\":[1],\"finish_reason\":\"length\"}"),
     "ok finish=length in=9 out=4/2 " UNK " bytes=3 >1 *1 | 1:2 2:1 3:1"},
};

#define L(s, ids, n)                                                                                         \
    E("{\"index\":0,\"content\":\"" s "\",\"tokens\":[" ids                                                  \
      "],\"stop\":false,\"id_slot\":-1,\"tokens_predicted\":" #n ",\"tokens_evaluated\":11}")
#define L_STOP(n, why, more)                                                                                 \
    E("{\"index\":0,\"content\":\"\",\"tokens\":[],\"id_slot\":1,\"stop\":true,\"model\":\"m\",\"tokens_"    \
      "predicted\":" #n ",\"tokens_evaluated\":11,\"truncated\":false," why                                  \
      ",\"tokens_cached\":14,\"timings\":{\"prompt_n\":1" more "}}")
static const struct kit_row llamacpp[] = {
    {"llama.cpp: counts in every event; text held back comes with the last id alone", "llamacpp.completion",
     L(" j", "295", 1) L("\xf0\x9f\x98\x80", "141", 5) L_STOP(6, "\"stop_type\":\"eos\"", ""),
     "ok finish=eos in=11 out=6/1 cached=10 reasoning=-1 bytes=6 >1 *1 | 1:1 2:4 3:1"},
    {"llama.cpp: cache_n, prompt progress is no token", "llamacpp.completion",
     E("{\"index\":0,\"content\":\"\",\"tokens\":[],\"stop\":false,\"tokens_predicted\":0,\"tokens_"
       "evaluated\":11,"
       "\"prompt_progress\":{\"total\":11,\"cache\":3,\"processed\":7,\"time_ms\":4}}") L("a", "7", 1)
         L_STOP(1, "\"stop_type\":\"limit\"", ",\"cache_n\":3"),
     "ok finish=limit in=11 out=1/1 cached=3 reasoning=-1 bytes=1 >2 *2 | 2:1"},
    {"llama.cpp of 2024: stopped_limit, ids only", "llamacpp.completion",
     E("{\"content\":\"a\",\"tokens\":[7],\"stop\":false}")
         E("{\"content\":\"\",\"stop\":true,\"stopped_eos\":false,\"stopped_limit\":true,\"stopped_word\":"
           "false,"
           "\"tokens_predicted\":1,\"tokens_evaluated\":4}"),
     "ok finish=limit in=4 out=1/1 " UNK " bytes=1 >1 *1 | 1:1"},
    {"llama.cpp, February 2025: a field error:", "llamacpp.completion",
     L("a", "7", 1) "error: {\"code\":500,\"message\":\"Context size has been "
                    "exceeded.\",\"type\":\"server_error\"}\n\n",
     "error-event finish= in=11 out=1/1 " UNK " bytes=1 >1 *1 | 1:1"},
    {"llama.cpp: two answers, one of which does not end", "llamacpp.completion",
     L("a", "7", 1) E("{\"index\":1,\"content\":\"b\",\"tokens\":[8],\"stop\":false}")
         L_STOP(1, "\"stop_type\":\"limit\"", ""),
     "cut finish=limit in=11 out=1/1 cached=10 reasoning=-1 bytes=2 >1 *1 | 1:1 2:1"},
};

#define O(s)                                                                                                 \
    "{\"model\":\"llama3.2\",\"created_at\":\"2023-08-04T08:52:19.385406455-07:00\",\"response\":\"" s       \
    "\",\"done\":false}\n"
#define M(m)                                                                                                 \
    "{\"model\":\"llama3.2\",\"created_at\":\"x\",\"message\":{\"role\":\"assistant\"," m                    \
    "},\"done\":false}\n"
#define O_DONE(more)                                                                                         \
    "{\"model\":\"llama3.2\",\"created_at\":\"x\",\"response\":\"\",\"done\":true,\"done_reason\":\"stop\"," \
    "\"context\":[1,2,3],\"total_duration\":10706818083" more "}\n"
static const struct kit_row ollama[] = {
    {"Ollama's documentation", "ollama.generate",
     O("The") O(" sky")
         O_DONE(",\"load_duration\":6338219291,\"prompt_eval_count\":26,\"prompt_eval_duration\":130079000,"
                "\"eval_count\":259,\"eval_duration\":4232710000"),
     "ok finish=stop in=26 out=259/1 " UNK " bytes=7 load=6338219291 >1 *1 | 1? 2?"},
    {"ollama 2068, 3427: a prompt in the cache is not counted", "ollama.generate",
     O("a") O_DONE(",\"eval_count\":1"), "ok finish=stop in=-1 out=1/1 " UNK " bytes=1 >1 *1 | 1?"},
    {"ollama PR 16428: no counts at all is unknown", "ollama.generate", O("a") O_DONE(""),
     "ok finish=stop in=-1 out=-1/0 " UNK " bytes=1 >1 *1 | 1?"},
    {"Ollama: an error inside 200", "ollama.generate",
     O("a") "{\"error\":\"llama runner process has terminated\"}\n",
     "error-event finish= in=-1 out=-1/0 " UNK " bytes=1 >1 *1 | 1?"},
    {"Ollama: cut between lines", "ollama.generate", O("a") O("b"),
     "cut finish= in=-1 out=-1/0 " UNK " bytes=2 >1 *1 | 1? 2?"},
    {"Ollama: chat with thinking and a tool", "ollama.chat",
     M("\"content\":\"\",\"thinking\":\"Hm\"") M("\"content\":\"a\"")
         M("\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
           "\"arguments\":{}}}]") "{\"message\":{\"role\":\"assistant\",\"content\":"
                                  "\"\"},\"done\":true,\"done_reason\":\"length\","
                                  "\"prompt_eval_count\":5,\"eval_count\":9}\n",
     "ok finish=length in=5 out=9/1 " UNK " bytes=45 >1 *2 | 1?r 2? 3?t"},
};

static const struct kit_row lmstudio[] = {
    {"LM Studio: the model is loaded first", "lmstudio.chat",
     N("chat.start", ",\"model_instance_id\":\"m\"") N("model_load.start", "")
         N("model_load.progress", ",\"progress\":0.5") N("model_load.end", ",\"load_time_seconds\":12.5")
             N("prompt_processing.start", "") N("prompt_processing.progress",
                                                ",\"progress\":1") N("prompt_processing.end", "")
                 N("reasoning.start", "") N("reasoning.delta", ",\"content\":\"Hm\"") N("reasoning.end", "")
                     N("message.start", "") N("message.delta", ",\"content\":\"Hi\"") N("message.end", "")
                         N("chat.end", ",\"result\":{\"output\":[{\"type\":\"message\",\"content\":\"Hi\"}],"
                                       "\"stats\":{\"input_tokens\":329,\"total_output_tokens\":268,"
                                       "\"reasoning_output_tokens\":5,\"tokens_per_second\":43.7,"
                                       "\"time_to_first_token_seconds\":0.78}}"),
     "ok finish= in=329 out=268/1 cached=-1 reasoning=5 bytes=4 load=12500000000 >9 *12 | 9?r 12?"},
    {"LM Studio: an error", "lmstudio.chat",
     N("chat.start", "")
         N("error", ",\"error\":{\"type\":\"invalid_request\",\"message\":\"no such model\"}"),
     "error-event finish= in=-1 out=-1/0 " UNK " bytes=0 >-1 *-1 |"},
    {"LM Studio: chat.end is missing", "lmstudio.chat", N("message.delta", ",\"content\":\"Hi\""),
     "cut finish= in=-1 out=-1/0 " UNK " bytes=2 >1 *1 | 1?"},
};

static const struct kit_row several[] = {
    {"n = 2: two choices in one event", "openai.completions",
     E("{\"choices\":[{\"text\":\"ab\",\"index\":0,\"token_ids\":[1,2]},{\"text\":\"cde\",\"index\":1,"
       "\"token_ids\":[3]}]}")
         E("{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"stop\"},{\"text\":\"f\",\"index\":1,"
           "\"token_ids\":[4],\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":5,\"completion_"
           "tokens\":4}}") DONE,
     "ok finish=length in=5 out=4/1 " UNK " bytes=6 >1 *1 | 1:3 2:1"},
    {"n = 2: cut after one of them ended", "openai.completions",
     E("{\"choices\":[{\"text\":\"a\",\"index\":0}]}") E("{\"choices\":[{\"text\":\"b\",\"index\":1}]}")
         E("{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"stop\"}]}"),
     "cut finish=stop in=-1 out=-1/0 " UNK " bytes=2 >1 *1 | 1? 2?"},
    {"DeepSeek: cached tokens under a name of their own", "openai.chat",
     E("{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_"
       "tokens\":5,"
       "\"completion_tokens\":1,\"prompt_cache_hit_tokens\":4}}") DONE,
     "ok finish=stop in=5 out=1/1 cached=4 reasoning=-1 bytes=1 >1 *1 | 1:1"},
    {"llama.cpp b4748: 10 of 11 prompt tokens were in the cache", "openai.completions",
     E("{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":11,"
       "\"completion_tokens\":1},\"timings\":{\"prompt_n\":1}}") DONE,
     "ok finish=stop in=11 out=1/1 cached=10 reasoning=-1 bytes=1 >1 *1 | 1:1"},
    {"vllm PR 46652: the role comes with a count of 0, the first text with three tokens", "openai.chat",
     E("{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"usage\":{\"prompt_"
       "tokens\":5,"
       "\"completion_tokens\":0}}")
         E("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"abc\"}}],\"usage\":{\"prompt_tokens\":5,"
           "\"completion_tokens\":3}}") E("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"d\"},\"finish_"
                                          "reason\":\"length\"}],\"usage\":{"
                                          "\"prompt_tokens\":5,\"completion_tokens\":4}}") DONE,
     "ok finish=length in=5 out=4/1 " UNK " bytes=4 >2 *2 | 2:3 3:1"},
    {"llama.cpp with timings_per_token: the tokens so far, also of text held back", "openai.chat",
     E("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}],\"timings\":{"
       "\"prompt_n\":9,"
       "\"predicted_n\":1}}") E("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"bc\"},\"finish_reason\":"
                                "null}],\"timings\":{\"prompt_n\":9,"
                                "\"predicted_n\":4}}")
         E("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"timings\":{\"prompt_n\":9,"
           "\"predicted_n\":5}}") E("{\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}"
                                    ",\"timings\":{\"prompt_n\":9,"
                                    "\"predicted_n\":5}}") DONE,
     "ok finish=stop in=12 out=5/1 cached=3 reasoning=-1 bytes=3 >1 *1 | 1:1 2:3 3:1"},
    {"OpenRouter: an error with a choice beside it", "openai.chat",
     E("{\"error\":{\"code\":502,\"message\":\"Provider "
       "disconnected\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":"
       "\"\"},\"finish_reason\":\"error\"}]}"),
     "error-event finish= in=-1 out=-1/0 " UNK " bytes=0 >-1 *-1 |"},
};

#define ALL(f)                                                                                               \
    f(responses, sizeof responses / sizeof *responses), f(sglang, sizeof sglang / sizeof *sglang),           \
        f(tgi, sizeof tgi / sizeof *tgi), f(triton, sizeof triton / sizeof *triton),                         \
        f(llamacpp, sizeof llamacpp / sizeof *llamacpp), f(ollama, sizeof ollama / sizeof *ollama),          \
        f(lmstudio, sizeof lmstudio / sizeof *lmstudio), f(several, sizeof several / sizeof *several)

static void reported_streams(void **state)
{
    (void)state;
    ALL(kit_events);
}

static void every_split_gives_the_same(void **state)
{
    (void)state;
    ALL(kit_splits);
}

/* --- whole answers
 * --------------------------------------------------------------------------------------------------- */
static void whole_answers(void **state)
{
    static const struct {
        const char *api, *body;
        int64_t in, out, cached, bytes;
        const char *finish;
        enum jm_end end;
    } rows[] = {
        {"openai.responses",
         "{\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"output\":[{\"type\":"
         "\"reasoning\",\"summary\":[{"
         "\"type\":\"summary_text\",\"text\":\"Hm\"}]},{\"type\":\"message\",\"content\":[{\"type\":\"output_"
         "text\",\"text\":"
         "\"Hi "
         "\"},{\"type\":\"output_text\",\"text\":\"you\"}]}],\"text\":{\"format\":{\"type\":\"text\"}},"
         "\"usage\":{\"input_"
         "tokens\":36,\"output_tokens\":87,\"output_tokens_details\":{\"reasoning_tokens\":2}}}",
         36, 87, -1, 8, "completed", JM_END_OK},
        {"openai.responses",
         "{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"x\",\"message\":\"no\"},"
         "\"output\":[]}",
         -1, -1, -1, -1, "", JM_END_ERROR_EVENT},
        {"sglang.generate",
         "{\"text\":\" a "
         "b\",\"output_ids\":[1,2],\"meta_info\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"cached_"
         "tokens\":"
         "6,\"finish_reason\":{\"type\":\"stop\",\"matched\":2}}}",
         7, 2, 6, 4, "stop", JM_END_OK},
        {"tgi.generate_stream",
         "{\"generated_text\":\"test\",\"details\":{\"finish_reason\":\"length\",\"generated_tokens\":1,"
         "\"prefill\":[{\"id\":0},"
         "{\"id\":5}],\"seed\":42,\"tokens\":[{\"id\":0,\"text\":\"test\"}]}}",
         2, 1, -1, 4, "length", JM_END_OK},
        {"triton.generate_stream",
         "{\"model_name\":\"ensemble\",\"model_version\":\"1\",\"text_output\":\"a "
         "b\",\"num_input_tokens\":3,\"num_output_"
         "tokens\":2}",
         3, 2, -1, 3, "", JM_END_OK},
        {"triton.generate_stream", "{\"model_name\":\"ensemble\",\"text_output\":\"a b\"}", -1, -1, -1, 3, "",
         JM_END_OK},
        {"llamacpp.completion",
         "{\"index\":0,\"content\":\"a "
         "b\",\"tokens\":[],\"stop\":true,\"tokens_predicted\":2,\"tokens_evaluated\":5,"
         "\"stop_type\":\"limit\",\"timings\":{\"prompt_n\":5,\"cache_n\":0}}",
         5, 2, 0, 3, "limit", JM_END_OK},
        {"ollama.generate",
         "{\n \"model\":\"m\",\n \"response\":\"a b\",\n \"done\":true,\n \"done_reason\":\"stop\",\n "
         "\"prompt_eval_count\":5,\"eval_count\":2\n}\n",
         5, 2, -1, 3, "stop", JM_END_OK},
        {"ollama.chat",
         "{\"message\":{\"role\":\"assistant\",\"content\":\"a\",\"thinking\":\"b\"},\"done\":true,\"prompt_"
         "eval_count\":5,"
         "\"eval_count\":2}",
         5, 2, -1, 2, "", JM_END_OK},
        {"lmstudio.chat",
         "{\"model_instance_id\":\"m\",\"output\":[{\"type\":\"message\",\"content\":\"Hi\"}],\"stats\":{"
         "\"input_tokens\":5,"
         "\"total_output_tokens\":2,\"reasoning_output_tokens\":0}}",
         5, 2, -1, 2, "", JM_END_OK},
        {"openai.chat", "{\"hello\":1}", -1, -1, -1, 0, "", JM_END_PROTOCOL},
        {"ollama.chat", "{\"hello\":1}", -1, -1, -1, 0, "", JM_END_PROTOCOL},
        {"lmstudio.chat", "{\"error\":{\"message\":\"x\"}}", -1, -1, -1, 0, "", JM_END_ERROR_EVENT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jm_reader rd;
        struct jm_call c;
        struct jm_str s;
        jm_str_init(&s);
        assert_int_equal(jm_reader_init(&rd, jm_dialect_find(rows[i].api), NULL), 0);
        jm_call_init(&c, &rd, false);
        jm_str_addf(&s,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: "
                    "%zu\r\n\r\n%s",
                    strlen(rows[i].body), rows[i].body);
        assert_true(jm_call_bytes(&c, jm_str_span(&s), 5));
        if (c.r.end != rows[i].end || c.r.prompt_tokens != rows[i].in || c.r.output_tokens != rows[i].out ||
            c.r.cached_tokens != rows[i].cached || strcmp(c.r.finish, rows[i].finish) != 0 ||
            (c.r.end == JM_END_OK && c.r.output_bytes != rows[i].bytes))
            fail_msg("%s %s: %s (%s) in %lld out %lld cached %lld bytes %lld finish %s", rows[i].api,
                     rows[i].body, jm_end_name((int)c.r.end), c.r.error, (long long)c.r.prompt_tokens,
                     (long long)c.r.output_tokens, (long long)c.r.cached_tokens, (long long)c.r.output_bytes,
                     c.r.finish);
        /* nothing in a whole answer has a time of its own (inference-perf 150) */
        assert_int_equal(c.r.t[JM_T_FIRST_TOKEN], -1);
        assert_int_equal(c.r.events, 0);
        assert_int_equal(c.r.stream, 0);
        jm_call_release(&c);
        jm_str_release(&s);
    }
}

/* --- requests
 * -------------------------------------------------------------------------------------------------------- */
static void request_bodies(void **state)
{
    static const struct {
        const char *api, *want;
    } rows[] = {
        {"openai.responses",
         "{\"input\":\"a\",\"model\":\"m\",\"stream\":true,\"max_output_tokens\":7,\"temperature\":0}"},
        {"sglang.generate",
         "{\"text\":\"a\",\"stream\":true,\"sampling_params\":{\"max_new_tokens\":7,\"ignore_eos\":true,"
         "\"min_new_tokens\":7,\"temperature\":0}}"},
        {"tgi.generate_stream",
         "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":7,\"details\":true,\"do_sample\":false}}"},
        {"triton.generate_stream",
         "{\"text_input\":\"a\",\"stream\":true,\"max_tokens\":7,\"ignore_eos\":true,\"min_tokens\":7,"
         "\"temperature\":0}"},
        {"llamacpp.completion",
         "{\"prompt\":\"a\",\"stream\":true,\"n_predict\":7,\"ignore_eos\":true,\"temperature\":0}"},
        {"ollama.generate", "{\"prompt\":\"a\",\"model\":\"m\",\"stream\":true,\"options\":{\"num_predict\":"
                            "7,\"temperature\":0}}"},
        {"ollama.chat",
         "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"model\":\"m\",\"stream\":true,\"options\":{"
         "\"num_predict\":7,\"temperature\":0}}"},
        {"lmstudio.chat",
         "{\"input\":\"a\",\"model\":\"m\",\"stream\":true,\"store\":false,\"max_output_tokens\":7,"
         "\"temperature\":0}"},
    };
    struct jm_str s;
    (void)state;
    jm_str_init(&s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct jm_dialect_row *row = jm_dialect_find(rows[i].api);
        struct jm_ask a = {.model = "m",
                           .text = JM_SPAN("a"),
                           .max_tokens = 7,
                           .ignore_eos = true,
                           .counts = JM_COUNTS_USAGE,
                           .stream = true,
                           .temperature = 0};
        jm_str_reset(&s);
        assert_int_equal(row->d->write(&a, &s, NULL), 0);
        if (strcmp(s.buf, rows[i].want) != 0)
            fail_msg("%s:\n     got %s\nexpected %s", rows[i].api, s.buf, rows[i].want);
    }
    /* the user's own members replace ours, inside a nested object too */
    struct jm_ask a = {
        .model = "m",
        .text = JM_SPAN("a"),
        .max_tokens = 7,
        .counts = JM_COUNTS_USAGE,
        .stream = true,
        .temperature = 0,
        .extra = JM_SPAN("{\"keep_alive\":\"5m\",\"options\":{\"num_predict\":9,\"top_k\":1},\"raw\":true}")};
    jm_str_reset(&s);
    assert_int_equal(jm_dialect_ollama_generate.write(&a, &s, NULL), 0);
    assert_string_equal(
        s.buf,
        "{\"prompt\":\"a\",\"model\":\"m\",\"stream\":true,\"options\":{\"temperature\":0,\"num_predict\":"
        "9,\"top_k\":1},\"keep_alive\":\"5m\",\"raw\":true}");
    a.probe = true; /* a probe asks for no length of the user's */
    a.stream = false;
    a.max_tokens = 1;
    jm_str_reset(&s);
    assert_int_equal(jm_dialect_ollama_generate.write(&a, &s, NULL), 0);
    assert_string_equal(s.buf,
                        "{\"prompt\":\"a\",\"model\":\"m\",\"stream\":false,\"options\":{\"num_predict\":1,"
                        "\"temperature\":0,\"top_k\":1},\"keep_alive\":\"5m\",\"raw\":true}");
    a.extra = JM_SPAN("{}");
    jm_str_reset(&s);
    assert_int_equal(jm_dialect_tgi.write(&a, &s, NULL), 0);
    assert_string_equal(s.buf, "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":1,\"details\":true,"
                               "\"decoder_input_details\":true,\"do_sample\":false}}");
    jm_str_release(&s);
}

/* What is counted in each event is asked for only where it is wanted. */
static void counts_that_are_asked_for(void **state)
{
    struct jm_str s;
    struct jm_ask a = {
        .model = "m", .text = JM_SPAN("a"), .max_tokens = -1, .stream = true, .temperature = NAN};
    (void)state;
    jm_str_init(&s);
    a.counts = JM_COUNTS_CONTINUOUS;
    assert_int_equal(jm_dialect_chat.write(&a, &s, NULL), 0);
    assert_non_null(
        strstr(s.buf, "\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}"));
    jm_str_reset(&s);
    a.counts = JM_COUNTS_TIMINGS;
    assert_int_equal(jm_dialect_chat.write(&a, &s, NULL), 0);
    assert_non_null(strstr(s.buf, "\"timings_per_token\":true"));
    jm_str_reset(&s);
    a.counts = JM_COUNTS_IDS;
    assert_int_equal(jm_dialect_completions.write(&a, &s, NULL), 0);
    assert_non_null(strstr(s.buf, "\"return_token_ids\":true"));
    jm_str_reset(&s);
    assert_int_equal(jm_dialect_triton.write(&a, &s, NULL), 0);
    assert_non_null(strstr(s.buf, "\"return_num_output_tokens\":true"));
    jm_str_release(&s);
}

/* Every dialect writes valid JSON for what it says it takes, refuses the rest with a sentence, and its names
 * are its own. */
static void the_table(void **state)
{
    const struct jm_dialect_row *row, *other;
    struct jm_str s;
    (void)state;
    jm_str_init(&s);
    for (size_t i = 0; (row = jm_dialect_at(i)); i++) {
        struct jm_reader rd;
        assert_int_equal(jm_reader_init(&rd, row, NULL), 0);
        assert_ptr_equal(jm_dialect_find(row->name), row);
        assert_ptr_equal(jm_dialect_find(row->alias ? row->alias : row->name), row);
        for (size_t k = 0; k < i; k++) {
            other = jm_dialect_at(k);
            assert_string_not_equal(other->name, row->name);
        }
        assert_true(row->path[0] == '/' && row->path_whole[0] == '/' && row->summary[0] && row->engine[0]);
        assert_non_null(strstr(JM_DIALECT_NAMES, row->name));
        for (unsigned kind = 1; kind <= 4; kind <<= 1) {
            struct jm_err err = {0};
            struct jm_json *doc = NULL;
            struct jm_ask a = {.model = "m\"x",
                               .max_tokens = 3,
                               .ignore_eos = true,
                               .counts = JM_COUNTS_USAGE,
                               .stream = true,
                               .temperature = 0.5,
                               .text = kind == JM_TAKES_TEXT ? JM_SPAN("a\"\n\xff") : (struct jm_span){0},
                               .turns = kind == JM_TAKES_TURNS
                                            ? JM_SPAN("[{\"role\":\"user\",\"content\":\"x\"}]")
                                            : (struct jm_span){0},
                               .ids = kind == JM_TAKES_IDS ? JM_SPAN("[1,2]") : (struct jm_span){0}};
            jm_str_reset(&s);
            int rc = row->d->write(&a, &s, &err);
            assert_int_equal(rc == 0, (row->d->takes & kind) != 0);
            if (rc) {
                assert_true(err.text[0]);
                continue;
            }
            if (jm_json_parse(jm_str_span(&s), &doc, &err) != 0)
                fail_msg("%s: %s: %s", row->name, err.text, s.buf);
            jm_json_free(doc);
        }
    }
    jm_str_reset(&s);
    char path[1200];
    const char *source = getenv("JM_SOURCE");
    snprintf(path, sizeof path, "%s/docs/load.md", source ? source : ".");
    assert_int_equal(jm_file_read(path, 1 << 20, &s, NULL), 0);
    for (size_t i = 0; (row = jm_dialect_at(i)); i++) { /* each has its line in the documentation */
        snprintf(path, sizeof path, "| %s | %.*s", row->name, (int)strcspn(row->path, "{"), row->path);
        if (!strstr(s.buf, path))
            fail_msg("docs/load.md has no line for %s", path);
    }
    jm_str_reset(&s);
    assert_int_equal(jm_dialect_path("/v2/models/{model}/generate", "a/b c\xc3\xa9", &s, NULL), 0);
    assert_string_equal(s.buf, "/v2/models/a%2Fb%20c%C3%A9/generate");
    struct jm_err err = {0};
    assert_int_equal(jm_dialect_need("nope", &row, &err), JM_EINVAL);
    assert_non_null(strstr(err.text, "ollama.chat"));
    jm_str_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reported_streams), cmocka_unit_test(every_split_gives_the_same),
        cmocka_unit_test(whole_answers),    cmocka_unit_test(request_bodies),
        cmocka_unit_test(the_table),        cmocka_unit_test(counts_that_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
