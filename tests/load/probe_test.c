/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the endpoint, by what each engine answers at its paths; few questions; and what is said of an
 * endpoint that is none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "load/load.h"
#include "mock.h"

struct page {
    const char *path, *body;
};
struct site {
    const char *name, *server;
    struct page page[5];
    /* expected */
    const char *kind, *engine, *dialect, *model, *metrics, *tokenizer;
    int len, most; /* most: requests */
    bool counts;
};

static bool serve(struct mock_conn *c, const struct mock_request *r, void *arg)
{
    const struct site *s = arg;
    char head[100];
    snprintf(head, sizeof head, "Server: %s\r\n", s->server);
    for (size_t i = 0; i < sizeof s->page / sizeof *s->page && s->page[i].path; i++)
        if (strcmp(r->path, s->page[i].path) == 0) {
            mock_json(c, 200, s->server ? head : "", s->page[i].body);
            return true;
        }
    mock_json(c, 404, s->server ? head : "", "{\"detail\":\"Not Found\"}");
    return true;
}

#define LIST(id, owner, more)                                                                                \
    "{\"object\":\"list\",\"data\":[{\"id\":\"" id                                                           \
    "\",\"object\":\"model\",\"created\":1,\"owned_by\":\"" owner "\"" more "}]}"

static void each_engine_is_recognised(void **state)
{
    static const struct site sites[] = {
        {"vLLM",
         "uvicorn",
         {{"/v1/models", LIST("meta-llama/Llama-3.1-8B", "vllm", ",\"root\":\"x\",\"max_model_len\":131072")},
          {"/version", "{\"version\":\"0.10.1\"}"}},
         "vllm",
         "vllm 0.10.1",
         "openai.chat",
         "meta-llama/Llama-3.1-8B",
         "/metrics",
         "prompt",
         131072,
         2,
         true},
        {"SGLang",
         "uvicorn",
         {{"/v1/models", LIST("m", "sglang", ",\"max_model_len\":32768")},
          {"/get_server_info", "{\"model_path\":\"m\",\"version\":\"0.4.9.post2\",\"context_length\":null}"}},
         "sglang",
         "sglang 0.4.9.post2",
         "openai.chat",
         "m",
         "/metrics",
         "prompt",
         32768,
         2,
         true},
        {"llama.cpp",
         "llama.cpp",
         {{"/v1/models",
           "{\"models\":[{\"name\":\"x.gguf\"}],\"object\":\"list\",\"data\":[{\"id\":\"x.gguf\",\"object\":"
           "\"model\",\"owned_by\":\"llamacpp\",\"meta\":{\"n_vocab\":320,\"n_ctx_train\":4096}}]}"},
          {"/props",
           "{\"default_generation_settings\":{\"id\":0,\"n_ctx\":2048},\"total_slots\":4,\"build_info\":"
           "\"b4748-aa\"}"}},
         "llamacpp",
         "llama.cpp b4748-aa",
         "openai.chat",
         "x.gguf",
         "/metrics",
         "content",
         2048,
         2,
         true},
        {"Ollama",
         NULL,
         {{"/v1/models", LIST("llama3.2:latest", "library", "")},
          {"/api/version", "{\"version\":\"0.5.7\"}"}},
         "ollama",
         "ollama 0.5.7",
         "ollama.chat",
         "llama3.2:latest",
         "",
         "",
         -1,
         2,
         false},
        {"Ollama, before it had OpenAI's list",
         NULL,
         {{"/api/version", "{\"version\":\"0.1.20\"}"},
          {"/api/tags", "{\"models\":[{\"name\":\"llama2:latest\"}]}"}},
         "ollama",
         "ollama 0.1.20",
         "ollama.chat",
         "llama2:latest",
         "",
         "",
         -1,
         12,
         false},
        {"TGI",
         NULL,
         {{"/v1/models", LIST("bigscience/bloom-560m", "bigscience/bloom-560m", "")},
          {"/info",
           "{\"model_id\":\"bigscience/bloom-560m\",\"max_input_tokens\":1024,\"max_total_tokens\":2048,"
           "\"version\":\"2.4.0\",\"router\":\"text-generation-router\"}"}},
         "tgi",
         "tgi 2.4.0",
         "tgi.generate_stream",
         "bigscience/bloom-560m",
         "/metrics",
         "inputs",
         2048,
         12,
         false},
        {"TensorRT-LLM serve",
         "uvicorn",
         {{"/v1/models", LIST("m", "tensorrt_llm", "")}, {"/version", "{\"version\":\"0.20.0\"}"}},
         "trtllm",
         "tensorrt-llm 0.20.0",
         "openai.chat",
         "m",
         "/prometheus/metrics",
         "",
         -1,
         2,
         true},
        {"Triton with the TensorRT-LLM ensemble",
         NULL,
         {{"/v2", "{\"name\":\"triton\",\"version\":\"2.54.0\",\"extensions\":[\"classification\"]}"},
          {"/v2/repository/index",
           "[{\"name\":\"preprocessing\",\"version\":\"1\",\"state\":\"READY\"},{\"name\":"
           "\"ensemble\",\"version\":\"1\",\"state\":\"READY\"},{\"name\":\"tensorrt_llm\"}]"},
          {"/v2/models/ensemble",
           "{\"name\":\"ensemble\",\"platform\":\"ensemble\",\"inputs\":[{\"name\":\"text_input\"},"
           "{\"name\":\"max_tokens\"}]}"}},
         "triton",
         "triton 2.54.0",
         "triton.generate_stream",
         "ensemble",
         ":8002/metrics",
         "",
         -1,
         14,
         false},
        {"Triton with vLLM, whose counts can be asked for",
         NULL,
         {{"/v2", "{\"name\":\"triton\",\"version\":\"2.54.0\",\"extensions\":[]}"},
          {"/v2/repository/index", "[{\"name\":\"vllm_model\",\"version\":\"1\",\"state\":\"READY\"}]"},
          {"/v2/models/vllm_model",
           "{\"name\":\"vllm_model\",\"inputs\":[{\"name\":\"text_input\"},{\"name\":"
           "\"return_num_output_tokens\",\"datatype\":\"BOOL\"}]}"}},
         "triton",
         "triton 2.54.0",
         "triton.generate_stream",
         "vllm_model",
         ":8002/metrics",
         "",
         -1,
         14,
         true},
        {"LM Studio: the model that is loaded",
         NULL,
         {{"/v1/models", LIST("not-loaded", "organization_owner", "")},
          {"/api/v0/models",
           "{\"object\":\"list\",\"data\":[{\"id\":\"not-loaded\",\"state\":\"not-loaded\"},{\"id\":"
           "\"qwen3\",\"state\":\"loaded\",\"loaded_context_length\":8192}]}"}},
         "lmstudio",
         "lm-studio",
         "openai.chat",
         "qwen3",
         "",
         "",
         8192,
         2,
         false},
        {"NIM",
         "uvicorn",
         {{"/v1/models", LIST("meta/llama3-8b", "system", ",\"max_model_len\":8192")},
          {"/v1/version", "{\"release\":\"1.8.0\",\"api\":\"1.8.0\"}"}},
         "nim",
         "nim 1.8.0",
         "openai.chat",
         "meta/llama3-8b",
         "/v1/metrics",
         "",
         8192,
         2,
         false},
        {"Dynamo",
         NULL,
         {{"/v1/models", LIST("m", "nvidia", "")}, {"/health", "{\"status\":\"healthy\",\"instances\":[]}"}},
         "dynamo",
         "dynamo",
         "openai.chat",
         "m",
         "/metrics",
         "",
         -1,
         2,
         false},
        {"OpenAI, whose first model may be the system's",
         "x",
         {{"/v1/models", LIST("gpt-x", "system", "")}, {"/v1/version", "{\"no\":1}"}},
         "",
         "system",
         "openai.chat",
         "gpt-x",
         "",
         "",
         -1,
         14,
         false},
        {"a proxy",
         "x",
         {{"/v1/models", LIST("gpt-x", "openai", "")}},
         "",
         "openai",
         "openai.chat",
         "gpt-x",
         "",
         "",
         -1,
         12,
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const struct site *s = &sites[i];
        struct mock *m = mock_start(serve, (void *)(uintptr_t)s);
        struct jm_load_cfg cfg = {.url = mock_url(m), .temperature = NAN};
        struct jm_endpoint e;
        struct jm_err err = {0};
        if (jm_load_probe(&cfg, "/nonexistent", &e, &err) != 0)
            fail_msg("%s: %s", s->name, err.text);
        if (strcmp(e.kind, s->kind) != 0 || strcmp(e.engine, s->engine) != 0 ||
            strcmp(e.dialect, s->dialect) != 0 || strcmp(e.model, s->model) != 0 ||
            strcmp(e.metrics_path, s->metrics) != 0 || strcmp(e.tokenizer, s->tokenizer) != 0 ||
            e.max_model_len != s->len || e.counts != s->counts)
            fail_msg("%s: kind %s engine %s dialect %s model %s metrics %s tokenizer %s len %d counts %d",
                     s->name, e.kind, e.engine, e.dialect, e.model, e.metrics_path, e.tokenizer,
                     e.max_model_len, e.counts);
        assert_in_range(mock_connections(m), 1, s->most);
        assert_false(e.simulated);
        mock_stop(m);
    }
}

/* A model of the user's is the one that is asked about. */
static void the_model_asked_for(void **state)
{
    static const struct site two = {
        "two models",
        NULL,
        {{"/v1/models",
          "{\"data\":[{\"id\":\"a\",\"owned_by\":\"vllm\",\"max_model_len\":100},{\"id\":\"b\",\"owned_by\":"
          "\"vllm\",\"max_model_len\":200}]}"}},
        "",
        "",
        "",
        "",
        "",
        "",
        -1,
        0,
        false};
    struct mock *m = mock_start(serve, (void *)(uintptr_t)&two);
    struct jm_load_cfg cfg = {.url = mock_url(m), .model = "b", .temperature = NAN};
    struct jm_endpoint e;
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_load_probe(&cfg, "/nonexistent", &e, &err), 0);
    assert_int_equal(e.max_model_len, 200);
    assert_string_equal(e.engine, "vllm"); /* without /version */
    mock_stop(m);
}

static bool garbage(struct mock_conn *c, const struct mock_request *r, void *arg)
{
    (void)r, (void)arg;
    mock_json(c, 200, "", "<html>hello</html>");
    return true;
}

static bool forbidden(struct mock_conn *c, const struct mock_request *r, void *arg)
{
    (void)r, (void)arg;
    mock_json(c, 401, "", "{\"error\":{\"message\":\"no key\"}}");
    return true;
}

/* What is wrong, in a sentence that says what to do. */
static void mistakes(void **state)
{
    static const struct site nothing = {"nothing", NULL, {{NULL, NULL}}, "", "", "", "", "", "",
                                        -1,        0,    false};
    static const struct {
        mock_fn fn;
        void *arg;
        const char *words;
    } rows[] = {
        {serve, (void *)(uintptr_t)&nothing, "no engine was recognised there"},
        {garbage, NULL, "no engine was recognised there"},
        {forbidden, NULL, "give the endpoint's API key"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mock *m = mock_start(rows[i].fn, rows[i].arg);
        struct jm_load_cfg cfg = {.url = mock_url(m), .concurrency = 1, .isl = 8, .temperature = NAN};
        struct jm_load *l = NULL;
        struct jm_err err = {0};
        assert_true(jm_load_new(&cfg, NULL, &l, &err) < 0);
        if (!strstr(err.text, rows[i].words))
            fail_msg("%zu: %s", i, err.text);
        mock_stop(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_engine_is_recognised),
        cmocka_unit_test(the_model_asked_for),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
