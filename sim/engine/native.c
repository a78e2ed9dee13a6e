/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include "prompt.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned api;
} names[] = {
    {"vllm", SIM_API_VLLM},         {"sglang", SIM_API_SGLANG},     {"tgi", SIM_API_TGI},
    {"triton", SIM_API_TRITON},     {"llamacpp", SIM_API_LLAMACPP}, {"ollama", SIM_API_OLLAMA},
    {"lmstudio", SIM_API_LMSTUDIO}, {"all", SIM_API_ALL},
};
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

unsigned sim_api_of(const char *name)
{
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].api;
    return 0;
}

/* --- requests
 * -------------------------------------------------------------------------------------------------------- */
static const struct {
    const char *path;
    unsigned api;
    struct sim_route route;
} routes[] = {
    {"/v1/responses", SIM_API_VLLM | SIM_API_SGLANG | SIM_API_LMSTUDIO, {SIM_SHAPE_RESPONSES, -1}},
    {"/generate", SIM_API_SGLANG, {SIM_SHAPE_SGLANG, -1}},
    {"/generate", SIM_API_TGI, {SIM_SHAPE_TGI, 0}},
    {"/generate_stream", SIM_API_TGI, {SIM_SHAPE_TGI, 1}},
    {"/completion", SIM_API_LLAMACPP, {SIM_SHAPE_LLAMACPP, -1}},
    {"/api/generate", SIM_API_OLLAMA, {SIM_SHAPE_OLLAMA, -1}},
    {"/api/chat", SIM_API_OLLAMA, {SIM_SHAPE_OLLAMA_CHAT, -1}},
    {"/api/v1/chat", SIM_API_LMSTUDIO, {SIM_SHAPE_LMSTUDIO, -1}},
};

/* "/v2/models/NAME" + rest for our name, faults behind a plus sign included; NULL: another path. */
static const char *triton_path(const struct sim_engine *e, const char *path, size_t *name_n)
{
    static const char before[] = "/v2/models/";
    size_t k = strlen(before), n = strlen(e->opt.served);
    if (strncmp(path, before, k) != 0)
        return NULL;
    *name_n = strcspn(path + k, "/");
    bool ours = strncmp(path + k, e->opt.served, n) == 0 &&
                (*name_n == n || path[k + n] == '+' || strncmp(path + k + n, "%2B", 3) == 0);
    return ours ? path + k + *name_n : NULL;
}

bool sim_native_route(const struct sim_engine *e, const char *path, struct sim_route *out)
{
    size_t n;
    for (size_t i = 0; i < COUNT(routes); i++)
        if ((e->opt.api & routes[i].api) && strcmp(path, routes[i].path) == 0) {
            *out = routes[i].route;
            return true;
        }
    const char *rest = e->opt.api & SIM_API_TRITON ? triton_path(e, path, &n) : NULL;
    if (rest && (strcmp(rest, "/generate") == 0 || strcmp(rest, "/generate_stream") == 0)) {
        *out = (struct sim_route){SIM_SHAPE_TRITON, strcmp(rest, "/generate_stream") == 0};
        return true;
    }
    return false;
}

/* Copies members of theirs under OpenAI's names; the list ends with NULL. */
static void rename_members(json_t *to, const json_t *from, const char *const pairs[][2])
{
    for (size_t i = 0; pairs[i][0]; i++) {
        json_t *v = json_object_get(from, pairs[i][0]);
        if (v && !json_is_null(v))
            json_object_set(to, pairs[i][1], v);
    }
}

json_t *sim_native_body(const struct sim_engine *e, const struct sim_route *route, const json_t *body,
                        bool *chat, char *why, size_t whylen)
{
    static const char *const top[][2] = {{"model", "model"},
                                         {"stream", "stream"},
                                         {"temperature", "temperature"},
                                         {"seed", "seed"},
                                         {NULL, NULL}};
    static const char *const responses[][2] = {{"max_output_tokens", "max_tokens"}, {NULL, NULL}};
    static const char *const sglang[][2] = {
        {"max_new_tokens", "max_tokens"}, {"min_new_tokens", "min_tokens"}, {"ignore_eos", "ignore_eos"},
        {"temperature", "temperature"},   {"sampling_seed", "seed"},        {NULL, NULL}};
    static const char *const tgi[][2] = {{"max_new_tokens", "max_tokens"}, {"seed", "seed"}, {NULL, NULL}};
    static const char *const triton[][2] = {
        {"text_input", "prompt"}, {"max_tokens", "max_tokens"}, {"min_tokens", "min_tokens"}, {NULL, NULL}};
    static const char *const llamacpp[][2] = {
        {"prompt", "prompt"}, {"n_predict", "max_tokens"}, {"ignore_eos", "ignore_eos"}, {NULL, NULL}};
    static const char *const ollama[][2] = {
        {"num_predict", "max_tokens"}, {"temperature", "temperature"}, {"seed", "seed"}, {NULL, NULL}};
    json_t *out = json_object(), *input = NULL;
    const json_t *options = NULL;
    bool stream_default = false;
    *chat = false;
    rename_members(out, body, top);
    switch (route->shape) {
    case SIM_SHAPE_RESPONSES:
    case SIM_SHAPE_LMSTUDIO:
        input = json_object_get(body, "input");
        rename_members(out, body, responses);
        *chat = true;
        break;
    case SIM_SHAPE_SGLANG:
        input = json_object_get(body, "input_ids");
        if (!input)
            input = json_object_get(body, "text");
        json_object_set(out, "prompt", input);
        options = json_object_get(body, "sampling_params");
        rename_members(out, options, sglang);
        if (!json_object_get(out, "max_tokens"))
            json_object_set_new(out, "max_tokens", json_integer(128));
        break;
    case SIM_SHAPE_TGI:
        json_object_set(out, "prompt", json_object_get(body, "inputs"));
        options = json_object_get(body, "parameters");
        rename_members(out, options, tgi);
        if (json_is_number(json_object_get(options, "temperature")) &&
            json_number_value(json_object_get(options, "temperature")) <= 0) {
            snprintf(why, whylen, "`temperature` must be strictly positive");
            json_decref(out);
            return NULL;
        }
        /* greedy, unless it samples: the same answer again */
        if (!json_is_true(json_object_get(options, "do_sample")))
            json_object_set_new(out, "temperature", json_integer(0));
        break;
    case SIM_SHAPE_TRITON:
        rename_members(out, body, triton);
        if (json_object_get(out, "min_tokens")) /* TensorRT-LLM has no ignore_eos of its own */
            json_object_set_new(out, "ignore_eos", json_true());
        break;
    case SIM_SHAPE_LLAMACPP:
        rename_members(out, body, llamacpp);
        if (json_is_true(json_object_get(out, "ignore_eos")) && json_object_get(out, "max_tokens"))
            json_object_set(out, "min_tokens", json_object_get(out, "max_tokens"));
        break;
    case SIM_SHAPE_OLLAMA:
    case SIM_SHAPE_OLLAMA_CHAT:
        *chat = true; /* generate applies the template too */
        input = json_object_get(body, route->shape == SIM_SHAPE_OLLAMA ? "prompt" : "messages");
        options = json_object_get(body, "options");
        rename_members(out, options, ollama);
        stream_default = true;
        break;
    default: break;
    }
    if (*chat && json_is_string(input))
        json_object_set_new(out, "messages", json_pack("[{s:s, s:O}]", "role", "user", "content", input));
    else if (*chat && input)
        json_object_set(out, "messages", input);
    if (!*chat && !json_object_get(out, "max_tokens"))
        json_object_set_new(out, "max_tokens", json_integer(128));
    if (route->stream >= 0)
        json_object_set_new(out, "stream", json_boolean(route->stream));
    else if (stream_default && !json_object_get(out, "stream"))
        json_object_set_new(out, "stream", json_true());
    (void)e;
    return out;
}

json_t *sim_native_error(enum sim_shape shape, int status, const char *type, const char *message)
{
    switch (shape) {
    case SIM_SHAPE_OLLAMA:
    case SIM_SHAPE_OLLAMA_CHAT:
    case SIM_SHAPE_TRITON: return json_pack("{s:s}", "error", message);
    case SIM_SHAPE_TGI:
        return json_pack("{s:s, s:s}", "error", message, "error_type",
                         status < 500 ? "validation" : "generation");
    default:
        return json_pack("{s:{s:s, s:s, s:n, s:i}}", "error", "message", message, "type", type, "param",
                         "code", status);
    }
}

/* --- what else is there
 * ---------------------------------------------------------------------------------------------- */
static json_t *ids_of(struct sim_engine *e, const json_t *text, bool spans)
{
    char why[256];
    struct sim_prompt p = {.max = e->max_len, .vocab = (uint32_t)e->model.vocab, .want_ids = true};
    json_t *ids = json_array();
    if (json_is_string(text))
        sim_prompt_completion(&p, text, spans, why, sizeof why); /* TGI counts the first token of all too */
    for (uint64_t i = 0; i < p.count && i < p.max && p.id; i++)
        json_array_append_new(ids, spans ? json_pack("{s:i, s:s}", "id", (int)p.id[i], "text", "")
                                         : json_integer(p.id[i]));
    sim_prompt_release(&p);
    return ids;
}

static json_t *triton_model(const struct sim_engine *e)
{
    static const char *const in[][2] = {{"text_input", "BYTES"},
                                        {"max_tokens", "INT32"},
                                        {"min_tokens", "INT32"},
                                        {"stream", "BOOL"},
                                        {"temperature", "FP32"},
                                        {"return_num_input_tokens", "BOOL"},
                                        {"return_num_output_tokens", "BOOL"}};
    json_t *list = json_array();
    /* the ensembles before 2025 had no inputs that ask for counts */
    for (size_t i = 0; i < COUNT(in) - (e->opt.no_counts ? 2 : 0); i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:[i,i]}", "name", in[i][0], "datatype", in[i][1], "shape", -1, 1));
    return json_pack("{s:s, s:[s], s:s, s:o, s:[{s:s, s:s, s:[i]}]}", "name", e->opt.served, "versions", "1",
                     "platform", "ensemble", "inputs", list, "outputs", "name", "text_output", "datatype",
                     "BYTES", "shape", -1);
}

static json_t *slots(const struct sim_engine *e)
{
    json_t *list = json_array();
    int id = 0;
    for (const struct sim_request *r = e->live; r; r = r->next)
        json_array_append_new(list, json_pack("{s:i, s:I, s:i, s:b, s:{s:b, s:I, s:I}}", "id", id++,
                                              "id_task", (json_int_t)r->number, "n_ctx", (int)e->max_len,
                                              "is_processing", 1, "next_token", "has_next_token", 1,
                                              "n_remain", (json_int_t)(r->seq.target - r->seq.generated),
                                              "n_decoded", (json_int_t)r->seq.generated));
    return list;
}

static json_t *get(const struct sim_engine *e, const char *path)
{
    unsigned api = e->opt.api;
    const char *name = e->opt.served, *version = JM_VERSION "+simulated";
    size_t n;
    if ((api & SIM_API_SGLANG) &&
        (strcmp(path, "/get_server_info") == 0 || strcmp(path, "/server_info") == 0))
        return json_pack("{s:s, s:s, s:i, s:b}", "version", version, "model_path", name, "context_length",
                         (int)e->max_len, "incremental_streaming_output", e->opt.incremental);
    if ((api & SIM_API_TGI) && strcmp(path, "/info") == 0)
        return json_pack("{s:s, s:s, s:i, s:i}", "model_id", name, "version", version, "max_total_tokens",
                         (int)e->max_len, "max_input_tokens", (int)e->max_len - 1);
    if ((api & SIM_API_LLAMACPP) && strcmp(path, "/props") == 0)
        return json_pack("{s:{s:i}, s:i, s:s, s:s}", "default_generation_settings", "n_ctx", (int)e->max_len,
                         "total_slots", (int)e->sched.opt.max_seqs, "model_path", name, "build_info",
                         version);
    if ((api & SIM_API_LLAMACPP) && strcmp(path, "/slots") == 0)
        return slots(e);
    if ((api & SIM_API_OLLAMA) && strcmp(path, "/api/version") == 0)
        return json_pack("{s:s}", "version", version);
    if ((api & SIM_API_OLLAMA) && (strcmp(path, "/api/tags") == 0 || strcmp(path, "/api/ps") == 0))
        return json_pack("{s:[{s:s, s:s}]}", "models", "name", name, "model", name);
    if ((api & SIM_API_LMSTUDIO) && strcmp(path, "/api/v0/models") == 0)
        return json_pack("{s:s, s:[{s:s, s:s, s:s, s:i}]}", "object", "list", "data", "id", name, "object",
                         "model", "state", "loaded", "loaded_context_length", (int)e->max_len);
    if ((api & SIM_API_TRITON) && strcmp(path, "/v2") == 0)
        return json_pack("{s:s, s:s, s:[s]}", "name", "triton", "version", version, "extensions", "generate");
    const char *rest = api & SIM_API_TRITON ? triton_path(e, path, &n) : NULL;
    return rest && !*rest ? triton_model(e) : NULL;
}

bool sim_native_other(struct sim_engine *e, struct sim_conn *c)
{
    const char *path = c->head.path;
    bool post = strcmp(c->head.method, "POST") == 0;
    json_t *doc = NULL;
    if (strcmp(c->head.method, "GET") == 0)
        doc = get(e, path);
    else if (post && (e->opt.api & SIM_API_TRITON) && strcmp(path, "/v2/repository/index") == 0)
        doc = json_pack("[{s:s, s:s}, {s:s, s:s, s:s}]", "name", "preprocessing", "state", "READY", "name",
                        e->opt.served, "version", "1", "state", "READY");
    else if (post && strcmp(path, "/tokenize") == 0) {
        json_t *body = json_loadb(c->body.p ? c->body.p : "", c->body.n, 0, NULL);
        const json_t *content = json_object_get(body, "content"), *inputs = json_object_get(body, "inputs");
        if ((e->opt.api & SIM_API_TGI) && inputs)
            doc = ids_of(e, inputs, true);
        else if ((e->opt.api & SIM_API_LLAMACPP) && content)
            doc = json_pack("{s:o}", "tokens", ids_of(e, content, false));
        json_decref(body);
    }
    if (doc)
        sim_api_json(c, 200, doc);
    return doc != NULL;
}
