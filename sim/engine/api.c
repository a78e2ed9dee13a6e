/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints of an OpenAI-compatible server, as vLLM answers them. */
#include "engine.h"

#include "prompt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void sim_api_json(struct sim_conn *c, int status, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    size_t n = text ? strlen(text) : 0;
    json_decref(body);
    const char *extra = status == 429 || status == 503 ? "retry-after: 1\r\n" : NULL;
    sim_http_begin(c, status, "application/json", (int64_t)n, extra);
    sim_http_body(c, text, n);
    free(text);
    sim_http_end(c);
}

void sim_api_error(struct sim_engine *e, struct sim_conn *c, int status, const char *type,
                   const char *message)
{
    e->rejected++;
    sim_api_json(c, status, sim_native_error((enum sim_shape)c->shape, status, type, message));
}

static void bad(struct sim_engine *e, struct sim_conn *c, const char *message)
{
    sim_api_error(e, c, 400, "BadRequestError", message);
}

static const char *type_of(int status)
{
    switch (status) {
    case 400: return "BadRequestError";
    case 401: return "AuthenticationError";
    case 403: return "PermissionDeniedError";
    case 404: return "NotFoundError";
    case 429: return "RateLimitError";
    default: return status < 500 ? "BadRequestError" : "InternalServerError";
    }
}

/* An optional integer of the body. false: it is there and is none, or out of range; the answer is given. */
static bool integer(struct sim_engine *e, struct sim_conn *c, const json_t *body, const char *key, int64_t lo,
                    int64_t hi, int64_t *out)
{
    const json_t *v = json_object_get(body, key);
    if (!v || json_is_null(v))
        return true;
    int64_t x = json_integer_value(v);
    if (json_is_integer(v) && x >= lo && x <= hi) {
        *out = x;
        return true;
    }
    char why[128];
    snprintf(why, sizeof why, "%s must be an integer from %lld to %lld.", key, (long long)lo, (long long)hi);
    bad(e, c, why);
    return false;
}

static bool flag(const json_t *body, const char *key)
{
    return json_is_true(json_object_get(body, key));
}

/* The name in the body: ours, or ours with faults behind a plus sign. */
static bool model_known(struct sim_engine *e, const json_t *body, struct sim_faults *f, char *why,
                        size_t whylen)
{
    const json_t *m = json_object_get(body, "model");
    if (!m || json_is_null(m))
        return true;
    const char *name = json_string_value(m);
    size_t n = strlen(e->opt.served);
    why[0] = 0;
    if (!name) {
        snprintf(why, whylen, "model must be a string.");
        return false;
    }
    if (strncmp(name, e->opt.served, n) == 0 && (name[n] == 0 || name[n] == '+'))
        return name[n] == 0 || sim_fault_parse(f, name + n + 1, strlen(name + n + 1), why, whylen) == 0;
    snprintf(why, whylen, "The model `%.64s` does not exist.", name);
    return false;
}

static void escape(char *out, size_t size, const char *s)
{
    json_t *j = json_string(s);
    char *t = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;
    json_decref(j);
    size_t n = t ? strlen(t) : 0;
    if (n >= 2 && n - 2 < size) {
        memcpy(out, t + 1, n - 2);
        out[n - 2] = 0;
    } else
        snprintf(out, size, "simulated");
    free(t);
}

/* How long an answer is that ends by itself: log-normal around the median. */
static uint32_t natural_length(const struct sim_engine *e, uint64_t key)
{
    double u = ((double)(sim_mix(key, 1) >> 11) + 0.5) * 0x1p-53,
           v = (double)(sim_mix(key, 2) >> 11) * 0x1p-53;
    double z = sqrt(-2 * log(u)) * cos(6.283185307179586 * v), n = e->opt.eos_median * exp(0.8 * z);
    return n < 1 ? 1 : n > 1e9 ? 1000000000 : (uint32_t)n;
}

/* Faults that are an answer of their own. True: the answer is given, or is to come. */
static bool faulty(struct sim_engine *e, struct sim_conn *c)
{
    const struct sim_faults *f = &c->faults;
    if (sim_has(f, SIM_F_DELAY) && c->delay_until == 0) {
        c->delay_until = sim_now() + (int64_t)f->value[SIM_F_DELAY] * 1000000;
        return true;
    }
    if (sim_has(f, SIM_F_REFUSE) || sim_has(f, SIM_F_RESET)) {
        e->rejected++;
        sim_http_cut(c, sim_has(f, SIM_F_RESET));
        return true;
    }
    if (sim_has(f, SIM_F_STATUS)) {
        int status = f->value[SIM_F_STATUS];
        sim_api_error(e, c, status, type_of(status), "The engine refused on purpose.");
        return true;
    }
    return false;
}

/* theirs: the body as it came, where it is not OpenAI's. */
static void generate(struct sim_engine *e, struct sim_conn *c, json_t *body, bool chat, enum sim_shape shape,
                     const json_t *theirs)
{
    char why[256];
    struct sim_faults faults = e->opt.faults;
    uint64_t number = c->delay_until < 0 ? e->numbers : ++e->numbers;
    if (sim_fault_parse(&faults, c->head.fault, strlen(c->head.fault), why, sizeof why) < 0) {
        bad(e, c, why);
        return;
    }
    if (!model_known(e, body, &faults, why, sizeof why)) {
        bool unknown = strncmp(why, "The model", 9) == 0;
        sim_api_error(e, c, unknown ? 404 : 400, unknown ? "NotFoundError" : "BadRequestError", why);
        return;
    }
    if (sim_has(&faults, SIM_F_EVERY) && number % (uint32_t)faults.value[SIM_F_EVERY] != 0)
        faults.on = 0;
    c->faults = faults;
    if (faulty(e, c))
        return;

    bool stream = flag(body, "stream"), early = sim_has(&faults, SIM_F_EARLY_EOS),
         eos = early || !flag(body, "ignore_eos");
    const json_t *so = json_object_get(body, "stream_options");
    if (json_is_object(so) && !stream) {
        bad(e, c, "Stream options can only be defined when `stream=True`.");
        return;
    }
    int64_t max = -1, min = 0, n = 1;
    if (!integer(e, c, body, "n", 1, 128, &n) || !integer(e, c, body, "max_tokens", 1, INT32_MAX, &max) ||
        (chat && !integer(e, c, body, "max_completion_tokens", 1, INT32_MAX, &max)) ||
        !integer(e, c, body, "min_tokens", 0, INT32_MAX, &min))
        return;
    if (n != 1) {
        bad(e, c, "The simulated engine gives one choice a request.");
        return;
    }
    bool token_ids = flag(body, "return_token_ids");
    struct sim_prompt p = {
        .max = e->max_len, .vocab = (uint32_t)e->model.vocab, .want_ids = token_ids, .hash = e->opt.seed};
    int rc = chat ? sim_prompt_chat(&p, json_object_get(body, "messages"), why, sizeof why)
                  : sim_prompt_completion(&p, json_object_get(body, "prompt"), true, why, sizeof why);
    if (rc == 0 && sim_has(&faults, SIM_F_TRUNCATE) && p.count > (uint32_t)faults.value[SIM_F_TRUNCATE]) {
        p.count = (uint32_t)faults.value[SIM_F_TRUNCATE];
        p.nblock = p.nblock < p.count / SIM_BLOCK ? p.nblock : (uint32_t)(p.count / SIM_BLOCK);
    }
    if (rc == 0 && p.count >= e->max_len) {
        snprintf(
            why, sizeof why,
            "This model's maximum context length is %u tokens. However, your request has %llu input tokens.",
            e->max_len, (unsigned long long)p.count);
        rc = -1;
    }
    if (rc == 0 && max < 0)
        max = chat ? e->max_len - (int64_t)p.count : 16;
    if (rc == 0 && max > e->max_len - (int64_t)p.count) {
        snprintf(why, sizeof why,
                 "'max_tokens' or 'max_completion_tokens' is too large: %lld. This model's maximum context "
                 "length is %u tokens "
                 "and your request has %llu input tokens.",
                 (long long)max, e->max_len, (unsigned long long)p.count);
        rc = -1;
    }
    if (rc == 0 && min > max) {
        snprintf(why, sizeof why, "min_tokens must be less than or equal to max_tokens=%lld, got %lld.",
                 (long long)max, (long long)min);
        rc = -1;
    }
    struct sim_request *r = rc == 0 ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        bad(e, c, rc < 0 ? why : "There is no memory for this request.");
        sim_prompt_release(&p);
        return;
    }
    const json_t *t = json_object_get(body, "temperature"), *seed = json_object_get(body, "seed");
    bool fixed = (json_is_number(t) && json_number_value(t) <= 0) || json_is_integer(seed);
    r->text_key = sim_mix(p.hash, fixed ? (uint64_t)json_integer_value(seed) : number);
    uint32_t natural = natural_length(e, r->text_key);
    if (!early && (int64_t)natural < min)
        natural = (uint32_t)min;
    r->finish = eos && (int64_t)natural <= max ? SIM_FIN_STOP : SIM_FIN_LENGTH;
    r->seq.target = r->finish == SIM_FIN_STOP ? natural : (uint32_t)max;
    r->seq.key = r->text_key;
    r->seq.prompt = r->prompt_tokens = (uint32_t)p.count;
    r->prefix = p.block;
    r->seq.prefix = p.block;
    r->seq.nprefix = p.nblock;
    r->prompt_ids = p.id;
    r->token_ids = token_ids;
    r->number = number;
    snprintf(r->id, sizeof r->id, "%s-%.12s%08llx", chat ? "chatcmpl" : "cmpl", e->boot,
             (unsigned long long)number);
    const char *name = json_string_value(json_object_get(body, "model"));
    escape(r->model, sizeof r->model, name ? name : e->opt.served);
    r->created = (long)time(NULL);
    r->chat = chat;
    r->shape = shape;
    r->tell_counts = json_is_true(json_object_get(theirs, "return_num_output_tokens")) && !e->opt.no_counts;
    r->progress = json_is_true(json_object_get(theirs, "return_progress"));
    r->stream = stream;
    r->include_usage = flag(so, "include_usage");
    r->continuous_usage = r->include_usage && flag(so, "continuous_usage_stats");
    r->faults = faults;
    r->conn = c;
    r->t_arrival = sim_now();
    if (!sim_engine_submit(e, r)) {
        sim_api_error(e, c, 503, "InternalServerError", "There is no memory for this request.");
        sim_prompt_release(&p);
        free(r);
        return;
    }
    c->request = r;
    if (stream)
        sim_stream_begin(r);
}

/* A request of an engine's own API, made into one of OpenAI's. */
static void native(struct sim_engine *e, struct sim_conn *c, const struct sim_route *route,
                   const json_t *body)
{
    char why[256];
    bool chat;
    json_t *ours = sim_native_body(e, route, body, &chat, why, sizeof why);
    if (!ours) {
        sim_api_error(e, c, 422, "ValidationError", why);
        return;
    }
    /* Triton has the model in the path */
    const char *name = route->shape == SIM_SHAPE_TRITON ? strstr(c->head.path, "/models/") : NULL;
    if (name) {
        char model[200];
        size_t k = 0;
        for (name += strlen("/models/"); *name && *name != '/' && k + 1 < sizeof model; name++) {
            unsigned byte;
            if (*name == '%' && sscanf(name + 1, "%2x", &byte) == 1) {
                model[k++] = (char)byte;
                name += 2;
            } else
                model[k++] = *name;
        }
        model[k] = 0;
        json_object_set_new(ours, "model", json_string(model));
    }
    generate(e, c, ours, chat, route->shape, body);
    json_decref(ours);
}

static void tokenize(struct sim_engine *e, struct sim_conn *c, const json_t *body)
{
    char why[256];
    struct sim_prompt p = {.max = e->max_len, .vocab = (uint32_t)e->model.vocab, .want_ids = true};
    const json_t *messages = json_object_get(body, "messages"),
                 *special = json_object_get(body, "add_special_tokens");
    const json_t *prompt = json_object_get(body, "prompt");
    int rc = messages ? sim_prompt_chat(&p, messages, why, sizeof why) : 0;
    if (!messages && !json_is_string(prompt)) {
        snprintf(why, sizeof why, "prompt must be a string.");
        rc = -1;
    } else if (!messages)
        rc = sim_prompt_completion(&p, prompt, !json_is_false(special), why, sizeof why);
    if (rc < 0 && p.count == 0 && json_is_string(prompt))
        rc = 0; /* an empty text has no tokens, which is an answer */
    if (rc < 0) {
        bad(e, c, why);
    } else {
        json_t *ids = json_array();
        for (uint64_t i = 0; i < p.count && i < p.max; i++)
            json_array_append_new(ids, json_integer(p.id[i]));
        sim_api_json(c, 200,
                     json_pack("{s:I, s:i, s:o, s:n}", "count", (json_int_t)p.count, "max_model_len",
                               (int)e->max_len, "tokens", ids, "token_strs"));
    }
    sim_prompt_release(&p);
}

static void models(struct sim_engine *e, struct sim_conn *c)
{
    sim_api_json(c, 200,
                 json_pack("{s:s, s:[{s:s, s:s, s:I, s:s, s:s, s:n, s:i, s:[]}]}", "object", "list", "data",
                           "id", e->opt.served, "object", "model", "created", (json_int_t)e->start_unix,
                           "owned_by", SIM_MARK, "root", e->model.name, "parent", "max_model_len",
                           (int)e->max_len, "permission"));
}

static bool allowed(const struct sim_engine *e, const struct sim_conn *c)
{
    if (!e->opt.api_key || strncmp(c->head.path, "/v1", 3) != 0)
        return true;
    return strncmp(c->head.auth, "Bearer ", 7) == 0 && strcmp(c->head.auth + 7, e->opt.api_key) == 0;
}

static void empty(struct sim_conn *c)
{
    sim_http_begin(c, 200, "application/json", 0, NULL);
    sim_http_end(c);
}

void sim_api_handle(struct sim_engine *e, struct sim_conn *c)
{
    const char *path = c->head.path;
    bool post = strcmp(c->head.method, "POST") == 0, get = strcmp(c->head.method, "GET") == 0;
    bool chat = strcmp(path, "/v1/chat/completions") == 0, completion = strcmp(path, "/v1/completions") == 0;
    bool tok = strcmp(path, "/tokenize") == 0, reset = strcmp(path, "/reset_prefix_cache") == 0;
    static const char *const gets[] = {"/v1/models", "/health",  "/ping",
                                       "/metrics",   "/version", "/sim/truth"};
    size_t g = 0, ng = sizeof gets / sizeof *gets;
    while (g < ng && strcmp(path, gets[g]) != 0)
        g++;
    if (!allowed(e, c)) {
        e->rejected++;
        sim_api_json(c, 401, json_pack("{s:s}", "error", "Unauthorized"));
        return;
    }
    struct sim_route route = {SIM_SHAPE_OPENAI, -1};
    bool own = post && sim_native_route(e, path, &route);
    c->shape = (int)route.shape;
    if (!own && sim_native_other(e, c))
        return;
    if (!(e->opt.api & (SIM_API_VLLM | SIM_API_SGLANG)))
        tok = false; /* the others have it in another form, or not at all */
    if ((g == 0 || chat || completion) && !(e->opt.api & ~(unsigned)SIM_API_TRITON))
        g = ng, chat = completion = false; /* Triton alone has no API of OpenAI's */
    if (g == ng && !chat && !completion && !tok && !reset && !own) {
        sim_api_json(c, 404, json_pack("{s:s}", "detail", "Not Found"));
        return;
    }
    if (g < ng ? !get : !post) {
        sim_api_json(c, 405, json_pack("{s:s}", "detail", "Method Not Allowed"));
        return;
    }
    if (reset) {
        if (e->sched.prefix)
            memset(e->sched.prefix, 0, SIM_PREFIX_SLOTS * sizeof *e->sched.prefix);
        empty(c);
        return;
    }
    if (g < ng) {
        struct sim_buf b = {0};
        switch (g) {
        case 0: models(e, c); return;
        case 1:
        case 2: empty(c); return;
        case 3:
            if (strcmp(e->opt.metrics, "none") == 0) {
                sim_api_error(e, c, 404, "not_found", "There are no metrics here.");
                return;
            }
            sim_prom_write(e, &b);
            sim_http_begin(c, 200, "text/plain; version=0.0.4; charset=utf-8", (int64_t)b.n, NULL);
            sim_http_body(c, b.p, b.n);
            sim_http_end(c);
            sim_buf_free(&b);
            return;
        case 4: sim_api_json(c, 200, json_pack("{s:s}", "version", JM_VERSION " " SIM_MARK)); return;
        default: sim_api_json(c, 200, sim_truth_json(e)); return;
        }
    }
    json_error_t err;
    json_t *body = json_loadb(c->body.p ? c->body.p : "", c->body.n, 0, &err);
    if (!json_is_object(body)) {
        char why[256];
        snprintf(why, sizeof why, "The body is not a JSON object: %s (line %d, column %d).",
                 body ? "it is something else" : err.text, body ? 1 : err.line, body ? 1 : err.column);
        bad(e, c, why);
    } else if (tok)
        tokenize(e, c, body);
    else if (own)
        native(e, c, &route, body);
    else
        generate(e, c, body, chat, SIM_SHAPE_OPENAI, body);
    json_decref(body);
}
