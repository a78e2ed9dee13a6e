/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of OpenAI-compatible engines as they were reported in public, byte for byte, cut at every place
 * (callkit.h tells how a row is written). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/str.h"
#include "callkit.h"
#include "load/call.h"

#define E(x)    "data: " x "\n\n"
#define C(d, f) E("{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":" d ",\"finish_reason\":" f "}]}")
#define U(...)  "\"usage\":{" __VA_ARGS__ "}"
#define ROLE    C("{\"role\":\"assistant\",\"content\":\"\"}", "null")
#define TXT(s)  C("{\"content\":\"" s "\"}", "null")
#define FIN(w)  C("{}", "\"" w "\"")
#define USE(p, o)                                                                                            \
    E("{\"choices\":[],\"usage\":{\"prompt_tokens\":" #p ",\"completion_tokens\":" #o ",\"total_tokens\":0}" \
      "}")
#define DONE E("[DONE]")
#define CU(d, f, n)                                                                                          \
    E("{\"choices\":[{\"index\":0,\"delta\":" d ",\"finish_reason\":" f                                      \
      "}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":" #n "}}")
#define T(s) E("{\"choices\":[{\"text\":\"" s "\",\"index\":0,\"finish_reason\":null}]}")

static const struct kit_row rows[] = {
    {"vllm 3759: role chunk first", "openai.chat", ROLE TXT("Hello") TXT(" x") FIN("length") USE(5, 2) DONE,
     "ok finish=length in=5 out=2/1 cached=-1 reasoning=-1 bytes=7 >2 *2 | 2? 3?"},
    {"api7/aisix PR 869: content null", "openai.chat",
     C("{\"role\":\"assistant\",\"content\":null}", "null") TXT("a") FIN("stop") USE(5, 1) DONE,
     "ok finish=stop in=5 out=1/1 cached=-1 reasoning=-1 bytes=1 >2 *2 | 2?"},
    {"vllm 27485, inference-perf 364, PR 410: several tokens an event", "openai.chat",
     CU("{\"role\":\"assistant\",\"content\":\"\"}", "null", 0) CU("{\"content\":\"ab\"}", "null", 3)
         CU("{\"content\":\"c\"}", "null", 4) CU("{\"content\":\"d\"}", "\"stop\"", 6) DONE,
     "ok finish=stop in=5 out=6/1 cached=-1 reasoning=-1 bytes=4 >2 *2 | 2:3 3:1 4:2"},
    {"inference-perf 559, 592; guidellm 737; perf_analyzer PR 433: reasoning first", "openai.chat",
     C("{\"reasoning_content\":\"hm\"}", "null") C("{\"reasoning\":\"so\"}", "null") TXT("42") FIN("stop")
         E("{\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,\"completion_tokens_"
           "details\":{\"reasoning_tokens\":2}}}") DONE,
     "ok finish=stop in=5 out=3/1 cached=-1 reasoning=2 bytes=6 >1 *3 | 1?r 2?r 3?"},
    {"both names for one reasoning text", "openai.chat",
     C("{\"reasoning_content\":\"hm\",\"reasoning\":\"hm\"}", "null") FIN("stop") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=2 >1 *-1 | 1?r"},
    {"can1357/oh-my-pi 12213: only tool calls", "openai.chat",
     C("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
       "\"arguments\":\"\"}}]}",
       "null") C("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\":1}\"}}]}", "null")
         FIN("tool_calls") USE(5, 9) DONE,
     "ok finish=tool_calls in=5 out=9/1 cached=-1 reasoning=-1 bytes=87 >1 *-1 | 1?t 2?t"},
    {"genai-bench 81, aiperf PR 1279: hidden reasoning in the first visible chunk", "openai.chat",
     CU("{\"content\":\"a\"}", "null", 300) CU("{\"content\":\"b\"}", "null", 301) FIN("stop") DONE,
     "ok finish=stop in=5 out=301/1 cached=-1 reasoning=-1 bytes=2 >1 *1 | 1:300b 2:1"},
    {"llmperf, inference-benchmarker: usage with no choices", "openai.chat", TXT("a") USE(5, 1) DONE "",
     "ok finish= in=5 out=1/1 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"sglang 10746: no usage is unknown, not the length asked for", "openai.chat",
     TXT("a") TXT("b") FIN("length") DONE,
     "ok finish=length in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=2 >1 *1 | 1? 2?"},
    {"sglang 24254: usage beside an empty text", "openai.completions",
     T("a") E("{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_"
              "tokens\":5,\"completion_tokens\":7}}") DONE,
     "ok finish=stop in=5 out=7/1 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"SGLang: reasoning_tokens at the top, cached tokens", "openai.chat",
     TXT("a") FIN("stop") E("{\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":7,"
                            "\"prompt_tokens_details\":{\"cached_tokens\":48},"
                            "\"reasoning_tokens\":3}}") DONE,
     "ok finish=stop in=50 out=7/1 cached=48 reasoning=3 bytes=1 >1 *1 | 1?"},
    {"SGLang: sglext event without choices", "openai.chat",
     TXT("a") FIN("stop") E("{\"choices\":[],\"sglext\":{\"routed_experts\":\"x\"}}") USE(5, 1) DONE,
     "ok finish=stop in=5 out=1/1 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"SGLang: graceful abort", "openai.chat", TXT("a") FIN("abort") USE(5, 1) DONE,
     "aborted finish=abort in=5 out=1/1 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"TensorRT-LLM: blank before the line end, an empty content that is a token", "openai.chat",
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]} \n\n" CU(
         "{\"content\":\"\",\"reasoning_content\":\"\"}", "null", 1)
         CU("{\"content\":\"ab\",\"reasoning_content\":\"\"}", "null", 3) FIN("stop") DONE,
     "ok finish=stop in=5 out=3/1 cached=-1 reasoning=-1 bytes=2 >2 *3 | 2:1 3:2"},
    {"TGI: no blank after data:, last text and usage together", "openai.completions",
     "data:{\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\n"
     "data:{\"choices\":[{\"text\":\"b\",\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":5,"
     "\"completion_tokens\":2}}\n\n" DONE,
     "ok finish=length in=5 out=2/1 cached=-1 reasoning=-1 bytes=2 >1 *1 | 1? 2?"},
    {"Ollama: zeros of usage in every event", "openai.completions",
     E("{\"choices\":[{\"text\":\"a\",\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":0,\"completion_"
       "tokens\":0,\"total_tokens\":0}}")
         E("{\"choices\":[{\"text\":\"b\",\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":0,"
           "\"completion_tokens\":0,\"total_tokens\":0}}")
             E("{\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":0,"
               "\"completion_tokens\":0,\"total_tokens\":0}}") USE(26, 259) DONE,
     "ok finish=stop in=26 out=259/1 cached=-1 reasoning=-1 bytes=2 >1 *1 | 1? 2?"},
    {"only zeros of usage: unknown", "openai.completions",
     E("{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":0,"
       "\"completion_tokens\":0}}") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"usage:null in every event (OpenAI)", "openai.chat",
     E("{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null}],\"usage\":null,\"obfuscation\":"
       "\"r4N7vQ2m\"}") FIN("stop") USE(5, 1) DONE,
     "ok finish=stop in=5 out=1/1 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"vLLM: return_token_ids", "openai.completions",
     E("{\"choices\":[{\"text\":\"ab\",\"token_ids\":[5,6],\"prompt_token_ids\":[1,2,3],\"finish_reason\":"
       "null}]}") E("{\"choices\":[{\"text\":\"c\",\"token_ids\":[7],\"finish_reason\":\"length\"}]}") DONE,
     "ok finish=length in=-1 out=3/2 cached=-1 reasoning=-1 bytes=3 >1 *1 | 1:2 2:1"},
    {"llama.cpp b4748: usage in the finish event is not its tokens", "openai.chat",
     C("{\"content\":\"\"}", "null") TXT("a") TXT("b")
         E("{\"choices\":[{\"finish_reason\":\"length\",\"index\":0,\"delta\":{}}],\"usage\":{\"completion_"
           "tokens\":6,\"prompt_tokens\":62},"
           "\"timings\":{\"prompt_n\":1,\"cache_n\":61}}") DONE,
     "ok finish=length in=62 out=6/1 cached=61 reasoning=-1 bytes=2 >2 *2 | 2? 3?"},
    {"llama.cpp: prompt progress is no token", "openai.chat",
     E("{\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}"
       "}],\"prompt_progress\":{\"total\":9,\"processed\":3}}") TXT("a") FIN("stop") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >2 *2 | 2?"},
    {"an answer whose only text is held back for ever", "openai.chat",
     C("{\"content\":\"\"}", "null") E("{\"choices\":[{\"finish_reason\":\"length\",\"delta\":{}}],\"usage\":"
                                       "{\"completion_tokens\":4,\"prompt_tokens\":9}}") DONE,
     "ok finish=length in=9 out=4/1 cached=-1 reasoning=-1 bytes=0 >-1 *-1 |"},
    {"ms-swift PR 10086, OpenRouter: comments", "openai.chat",
     ": OPENROUTER PROCESSING\n\n" TXT("a") ": keepalive\n\n" FIN("stop") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >2 *2 | 2?"},
    {"Dynamo: named events", "openai.chat", "event: message\n" TXT("a") "event: message\n" FIN("stop") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"vllm 38717: a character over two reads", "openai.chat",
     TXT("\xf0\x9f\x98\x80\\u4e16\\ud83d\\ude00") FIN("stop") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=11 >1 *1 | 1?"},
    {"onyx PR 11917: an error inside", "openai.chat",
     TXT("a") E("{\"error\":{\"message\":\"dead\",\"code\":500}}") DONE,
     "error-event finish= in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"error as text (TGI)", "openai.chat",
     TXT("a") "data:{\"error\":\"Request failed\",\"error_type\":\"generation\"}\n\n",
     "error-event finish= in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"an error member that is null is none", "openai.chat",
     E("{\"error\":null,\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"finish without [DONE]", "openai.chat", TXT("a") FIN("stop"),
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"[DONE] alone", "openai.chat", DONE,
     "empty finish= in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=0 >-1 *-1 |"},
    {"nothing at all", "openai.chat", "\n",
     "protocol finish= in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=0 >-1 *-1 |"},
    {"what follows [DONE] does not count", "openai.chat", TXT("a") FIN("stop") DONE TXT("b"),
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"llama-cpp-python 1082, 1640: no usage in streams is unknown", "openai.completions",
     T("a") T("b") E("{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"length\"}]}") DONE,
     "ok finish=length in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=2 >1 *1 | 1? 2?"},
    {"command-code 785: the stream ends inside the arguments of a tool", "openai.chat",
     C("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\":\"}}]}", "null"),
     "cut finish= in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=5 >1 *-1 | 1?t"},
    {"inference-perf 655: closed in good order in the middle", "openai.chat", ROLE TXT("a") TXT("b"),
     "cut finish= in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=2 >2 *2 | 2? 3?"},
    {"llama.cpp, February 2025: a field error:", "openai.chat",
     TXT("a") "error: {\"code\":500,\"message\":\"slot unavailable\",\"type\":\"server_error\"}\n\n",
     "error-event finish= in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
    {"SGLang: the role comes with the first token, which is counted", "openai.chat",
     CU("{\"role\":\"assistant\",\"content\":\"\"}", "null", 1) CU("{\"content\":\"a\"}", "null", 1)
         CU("{\"content\":\"b\"}", "null", 2) FIN("stop") DONE,
     "ok finish=stop in=5 out=2/1 cached=-1 reasoning=-1 bytes=2 >1 *2 | 1:1 2:0 3:1"},
    {"aiperf PR 804, guidellm PR 687: a tool call starts the tokens, text follows", "openai.chat",
     C("{\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\","
       "\"arguments\":\"\"}}]}",
       "null")
         C("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}},{\"index\":1,\"function\":{"
           "\"arguments\":\"[]\"}}]}",
           "null") TXT("a") FIN("stop") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=147 >1 *3 | 1?t 2?t 3?"},
    {"NaN in logprobs", "openai.chat",
     E("{\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":NaN,\"finish_reason\":\"stop\"}]}") DONE,
     "ok finish=stop in=-1 out=-1/0 cached=-1 reasoning=-1 bytes=1 >1 *1 | 1?"},
};

static void reported_streams(void **state)
{
    (void)state;
    kit_events(rows, sizeof rows / sizeof *rows);
}

static void every_split_gives_the_same(void **state)
{
    (void)state;
    kit_splits(rows, sizeof rows / sizeof *rows);
}

/* Several events in one read share its stamp and say so (nm-vllm PR 142; AIPerf's ICL raises ValueError on
 * them). */
static void events_of_one_read_share_its_stamp(void **state)
{
    struct jm_reader rd;
    struct jm_call c;
    struct jm_str s;
    (void)state;
    assert_int_equal(jm_reader_init(&rd, jm_dialect_find("openai.chat"), NULL), 0);
    jm_call_init(&c, &rd, false);
    jm_str_init(&s);
    const char body[] = TXT("a") TXT("b") TXT("c");
    jm_str_addf(&s, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s", body);
    assert_false(jm_call_bytes(&c, jm_str_span(&s), 10));
    assert_false(jm_call_bytes(&c, JM_SPAN(TXT("d") FIN("stop")), 20));
    jm_call_closed(&c, NULL, 30);
    assert_int_equal(c.r.end, JM_END_OK);
    assert_int_equal(c.r.shared_stamp, 2);
    struct jm_token_event ev[4];
    assert_int_equal(c.ev.n, 4);
    assert_int_equal(jm_evlog_read(&c.ev, ev, 4), 4);
    static const int shared[] = {0, 1, 1, 0};
    for (int i = 0; i < 4; i++)
        assert_int_equal((ev[i].flags & JM_TE_SHARED) != 0, shared[i]);
    assert_int_equal(c.r.t[JM_T_CLOSED], 30);
    jm_str_release(&s);
    jm_call_release(&c);
}

static void cut_streams_keep_what_came(void **state)
{
    static const char body[] = ROLE TXT("ab") TXT("cd") FIN("length") USE(5, 2) DONE;
    struct jm_reader rd;
    struct jm_call c;
    (void)state;
    assert_int_equal(jm_reader_init(&rd, jm_dialect_find("openai.chat"), NULL), 0);
    jm_call_init(&c, &rd, true);
    struct jm_str text;
    jm_str_init(&text);
    jm_str_addf(&text, "%s%zx\r\n%s\r\n0\r\n\r\n", kit_head, sizeof body - 1, body);
    size_t done = (size_t)(strstr(text.buf, "[DONE]") - text.buf) + 8;
    for (size_t cut = 0; cut < text.len; cut++) {
        for (int reset = 0; reset < 2; reset++) {
            jm_call_begin(&c);
            if (cut)
                assert_false(jm_call_bytes(&c, (struct jm_span){text.buf, cut}, 5));
            jm_call_closed(&c, reset ? "reset" : NULL, 6);
            /* only [DONE] makes it whole: then the framing's end is all that is missing */
            assert_int_equal(c.r.end, cut >= done ? JM_END_OK : JM_END_CUT);
            if (c.r.end == JM_END_CUT)
                assert_true(c.r.error[0]);
            assert_int_equal(c.text.len, c.r.output_bytes > 0 ? c.r.output_bytes : 0);
            assert_false(c.keep_alive);
        }
    }
    jm_str_release(&text);
    jm_call_release(&c);
}

static void request_bodies(void **state)
{
    struct jm_str s;
    struct jm_ask a = {.model = "m\"x",
                       .text = JM_SPAN("a\nb"),
                       .max_tokens = 7,
                       .ignore_eos = true,
                       .stream = true,
                       .temperature = 0};
    (void)state;
    jm_str_init(&s);
    assert_int_equal(jm_dialect_chat.write(&a, &s, NULL), 0);
    assert_string_equal(
        s.buf,
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\nb\"}],\"model\":\"m\\\"x\",\"stream\":true,"
        "\"stream_options\":{"
        "\"include_usage\":true},\"max_tokens\":7,\"ignore_eos\":true,\"min_tokens\":7,\"temperature\":0}");
    jm_str_reset(&s);
    a.extra = JM_SPAN(" {\"max_tokens\":9,\"top_p\":0.5,"
                      "\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}} ");
    a.ignore_eos = false;
    assert_int_equal(jm_dialect_completions.write(&a, &s, NULL), 0);
    assert_string_equal(s.buf,
                        "{\"prompt\":\"a\\nb\",\"model\":\"m\\\"x\",\"stream\":true,\"temperature\":0,\"max_"
                        "tokens\":9,\"top_p\":0.5,"
                        "\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}}");
    jm_str_reset(&s);
    a.stream = false;
    a.probe = true;
    a.max_tokens = 1;
    a.extra = JM_SPAN("{\"max_tokens\":9,\"stream_options\":{},\"min_tokens\":3,\"chat_template_kwargs\":{"
                      "\"a\":[1]},\"user\":\"x\\ny\"}");
    assert_int_equal(jm_dialect_completions.write(&a, &s, NULL), 0);
    assert_string_equal(
        s.buf,
        "{\"prompt\":\"a\\nb\",\"model\":\"m\\\"x\",\"stream\":false,\"max_tokens\":1,\"temperature\":0,"
        "\"chat_template_kwargs\":{\"a\":[1]},\"user\":\"x\\ny\"}");
    jm_str_release(&s);
}

static void error_words(void **state)
{
    static const char *const t[][2] = {
        {"{\"error\":{\"message\":\"a\\u00e9\",\"type\":\"x\"}}", "a\xc3\xa9"},
        {"{\"error\":\"text\"}", "text"},
        {"{\"error\":{\"error\":\"inner\"}}", "inner"},
        {"{\"object\":\"error\",\"message\":\"old\"}", "old"},
        {"{\"detail\":\"Not Found\"}", "Not Found"},
        {"{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\"}]}", "field required"},
        {"upstream connect error\nmore", "upstream connect error"},
        {"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>", "502 Bad Gateway"},
        {"<!DOCTYPE html>\n<h1>no</h1>", ""},
        {"<title>cut", ""},
        {"", ""},
        {"{\"a\":1}", "{\"a\":1}"},
    };
    char out[JM_SAID_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        jm_error_words(jm_span_of(t[i][0]), out);
        assert_string_equal(out, t[i][1]);
    }
}

/* The role alone, a token, usage, the finish: which of them other tools take for the first and the last. */
static void chunks_are_kept_apart_from_tokens(void **state)
{
    static const char body[] = ROLE TXT("a") TXT("b") FIN("stop") USE(5, 2) DONE;
    struct jm_reader rd;
    struct jm_call c;
    (void)state;
    assert_int_equal(jm_reader_init(&rd, jm_dialect_find("openai.chat"), NULL), 0);
    jm_call_init(&c, &rd, false);
    kit_play(&c, body);
    assert_int_equal(c.r.t[JM_T_FIRST_EVENT], 1);
    assert_int_equal(c.r.t[JM_T_FIRST_CHUNK], 1);
    assert_int_equal(c.r.t[JM_T_FIRST_TOKEN], 2);
    assert_int_equal(c.r.t[JM_T_LAST_TOKEN], 3);
    assert_int_equal(c.r.t[JM_T_LAST_CHUNK], 4);
    assert_int_equal(c.r.t[JM_T_USAGE], 5);
    assert_int_equal(c.r.chunks, 4);
    assert_int_equal(c.r.messages, 5);
    assert_int_equal(c.r.events, 2);
    jm_call_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reported_streams),
        cmocka_unit_test(every_split_gives_the_same),
        cmocka_unit_test(events_of_one_read_share_its_stamp),
        cmocka_unit_test(cut_streams_keep_what_came),
        cmocka_unit_test(request_bodies),
        cmocka_unit_test(error_words),
        cmocka_unit_test(chunks_are_kept_apart_from_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
