/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the endpoint. /v1/models tells most: the model, its owner, the Server header; one request of the
 * engine's own then gives its version. Where that tells nothing, each engine's own path is tried once. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "load/client.h"
#include "load/dialect.h"
#include "load/listener.h"
#include "load/load.h"

#include "base/banned.h"

#define PROBE_NS (3 * JM_NS_PER_S)
#define SLOW     2 /* paths without an answer after which no more are tried */

/* One engine: what tells it, and what it then is known to have. */
struct engine {
    const char *kind, *title;
    const char *owner;         /* owned_by in /v1/models; NULL: does not tell */
    const char *server;        /* Server header; NULL: does not tell */
    const char *path, *member; /* its own path, and a member that only it has there */
    const char *version;       /* member there that names the version; NULL: none */
    const char *dialect;
    const char *tokenizer;    /* how /tokenize is asked; "": there is none */
    const char *metrics_path; /* "/metrics", ":8002/metrics" on a port of its own, "": none */
    bool counts;              /* running usage in every event of the OpenAI API, on request */
    bool vague;               /* others give that owner too: only the own path is proof */
};

static const struct engine engines[] = {
    {"vllm", "vllm", "vllm", NULL, "/version", "version", "version", "openai.chat", "prompt", "/metrics",
     true},
    {"sglang", "sglang", "sglang", NULL, "/get_server_info", "version", "version", "openai.chat", "prompt",
     "/metrics", true},
    {"llamacpp", "llama.cpp", "llamacpp", "llama.cpp", "/props", "default_generation_settings", "build_info",
     "openai.chat", "content", "/metrics", true},
    {"ollama", "ollama", "library", NULL, "/api/version", "version", "version", "ollama.chat", "", "", false},
    {"tgi", "tgi", NULL, NULL, "/info", "max_total_tokens", "version", "tgi.generate_stream", "inputs",
     "/metrics", false},
    {"trtllm", "tensorrt-llm", "tensorrt_llm", NULL, "/version", "version", "version", "openai.chat", "",
     "/prometheus/metrics", true},
    {"triton", "triton", "Triton Inference Server", NULL, "/v2", "extensions", "version",
     "triton.generate_stream", "", ":8002/metrics", false},
    {"lmstudio", "lm-studio", "organization_owner", NULL, "/api/v0/models", "data", NULL, "openai.chat", "",
     "", false},
    {"nim", "nim", "system", NULL, "/v1/version", "release", "release", "openai.chat", "", "/v1/metrics",
     false, true},
    {"dynamo", "dynamo", "nvidia", NULL, "/health", "instances", NULL, "openai.chat", "", "/metrics", false,
     true},
};
enum { ENGINES = sizeof engines / sizeof *engines };

static void copy(const struct jm_json *v, char *out, size_t n)
{
    struct jm_span s;
    if (jm_json_str(v, &s))
        jm_copy_words(s, out, n);
}

/* The document at path, or NULL; *slow counts paths that gave no answer at all. */
static struct jm_json *fetch(struct jm_client *c, const char *method, const char *path, int *slow)
{
    struct jm_reply r;
    struct jm_json *doc = NULL;
    struct jm_span body = strcmp(method, "POST") == 0 ? JM_SPAN("{}") : (struct jm_span){0};
    if (*slow >= SLOW)
        return NULL;
    jm_reply_init(&r);
    if (jm_client_fetch(c, method, path, body, PROBE_NS, &r, NULL) != 0)
        ++*slow;
    else if (r.status == 200)
        (void)jm_json_parse(jm_str_span(&r.body), &doc, NULL);
    jm_reply_release(&r);
    return doc;
}

static void take_len(const struct jm_json *v, struct jm_endpoint *out)
{
    int64_t n;
    if (jm_json_i64(v, &n) && n > 0 && n <= INT32_MAX)
        out->max_model_len = (int)n;
}

/* {"data":[{"id":"model","owned_by":"vllm","max_model_len":4096}]} */
static int read_models(const struct jm_load_cfg *cfg, struct jm_client *c, struct jm_endpoint *out,
                       char *owner, size_t n, struct jm_err *err)
{
    struct jm_reply r;
    struct jm_json *doc = NULL;
    jm_reply_init(&r);
    int rc = jm_client_fetch(c, "GET", "/v1/models", (struct jm_span){0}, 0, &r, err);
    if (rc == 0) {
        snprintf(out->server, sizeof out->server, "%s", r.server);
        out->simulated = r.simulated[0] != '\0';
        /* 404 alone is no reason to give up: some engines have no list */
        if (r.status == 401 || r.status == 403 || r.status == 429 || r.status >= 500)
            rc = jm_reply_error(c, &r, "the list of models", err);
        else if (r.status == 200 && jm_json_parse(jm_str_span(&r.body), &doc, NULL) == 0) {
            const struct jm_json *list = jm_json_get(doc, "data"), *m = jm_json_at(list, 0);
            for (size_t i = 0; cfg->model && i < jm_json_len(list); i++) {
                struct jm_span id;
                if (jm_json_str(jm_json_get(jm_json_at(list, i), "id"), &id) && jm_span_is(id, cfg->model))
                    m = jm_json_at(list, i);
            }
            copy(jm_json_get(jm_json_at(list, 0), "id"), out->model, sizeof out->model);
            copy(jm_json_get(m, "owned_by"), owner, n);
            take_len(jm_json_path(m, "meta.n_ctx"), out);   /* llama.cpp: of one slot */
            take_len(jm_json_get(m, "max_model_len"), out); /* vLLM, SGLang */
        }
    }
    jm_json_free(doc);
    jm_reply_release(&r);
    return rc;
}

/* --- what each engine tells beside its version
 * --------------------------------------------------------------------- */
/* The ensemble where there is one, else the first model that is no part of it. */
static void triton_model(struct jm_client *c, struct jm_endpoint *out, int *slow)
{
    static const char *const parts[] = {"preprocessing", "postprocessing", "tensorrt_llm"};
    struct jm_json *doc = fetch(c, "POST", "/v2/repository/index", slow);
    for (size_t i = 0; i < jm_json_len(doc); i++) {
        char name[256] = "";
        bool part = false;
        copy(jm_json_get(jm_json_at(doc, i), "name"), name, sizeof name);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            part |= strcmp(name, parts[k]) == 0;
        if (name[0] && !part && (!out->model[0] || strcmp(name, "ensemble") == 0))
            memcpy(out->model, name, sizeof out->model);
    }
    jm_json_free(doc);
}

/* Whether the model can be asked for its counts: inputs that it does not have are errors to some backends. */
static void triton_counts(struct jm_client *c, const char *model, struct jm_endpoint *out, int *slow)
{
    struct jm_str path;
    jm_str_init(&path);
    if (model[0] && jm_dialect_path("/v2/models/{model}", model, &path, NULL) == 0) {
        struct jm_json *doc = fetch(c, "GET", path.buf, slow);
        const struct jm_json *in = jm_json_get(doc, "inputs");
        for (size_t i = 0; i < jm_json_len(in); i++) {
            struct jm_span name;
            if (jm_json_str(jm_json_get(jm_json_at(in, i), "name"), &name) &&
                jm_span_is(name, "return_num_output_tokens"))
                out->counts = true;
        }
        jm_json_free(doc);
    }
    jm_str_release(&path);
}

static void more(const struct jm_load_cfg *cfg, struct jm_client *c, const struct engine *e,
                 const struct jm_json *doc, struct jm_endpoint *out, int *slow)
{
    if (strcmp(e->kind, "tgi") == 0) {
        copy(jm_json_get(doc, "model_id"), out->model, sizeof out->model);
        take_len(jm_json_get(doc, "max_total_tokens"), out);
    } else if (strcmp(e->kind, "llamacpp") == 0) {
        if (out->max_model_len < 0)
            take_len(jm_json_path(doc, "default_generation_settings.n_ctx"), out);
        if (!out->model[0]) {
            copy(jm_json_get(doc, "model_alias"), out->model, sizeof out->model);
            if (!out->model[0])
                copy(jm_json_get(doc, "model_path"), out->model, sizeof out->model);
        }
    } else if (strcmp(e->kind, "sglang") == 0) {
        if (!out->model[0])
            copy(jm_json_get(doc, "model_path"), out->model, sizeof out->model);
        if (out->max_model_len < 0)
            take_len(jm_json_get(doc, "context_length"), out);
    } else if (strcmp(e->kind, "ollama") == 0 && !out->model[0]) {
        struct jm_json *tags = fetch(c, "GET", "/api/tags", slow);
        copy(jm_json_get(jm_json_at(jm_json_get(tags, "models"), 0), "name"), out->model, sizeof out->model);
        jm_json_free(tags);
    } else if (strcmp(e->kind, "triton") == 0) {
        if (!out->model[0] && !cfg->model)
            triton_model(c, out, slow);
        triton_counts(c, cfg->model ? cfg->model : out->model, out, slow);
    } else if (strcmp(e->kind, "lmstudio") == 0) { /* one that is loaded, rather than the first of the list */
        const struct jm_json *list = jm_json_get(doc, "data");
        for (size_t i = jm_json_len(list); i-- > 0;) {
            const struct jm_json *m = jm_json_at(list, i);
            struct jm_span state;
            if (!jm_json_str(jm_json_get(m, "state"), &state) || !jm_span_is(state, "loaded"))
                continue;
            copy(jm_json_get(m, "id"), out->model, sizeof out->model);
            take_len(jm_json_get(m, "loaded_context_length"), out);
        }
    }
}

static void settle(const struct engine *e, struct jm_endpoint *out)
{
    snprintf(out->kind, sizeof out->kind, "%s", e->kind);
    snprintf(out->dialect, sizeof out->dialect, "%s", e->dialect);
    snprintf(out->tokenizer, sizeof out->tokenizer, "%s", e->tokenizer);
    snprintf(out->metrics_path, sizeof out->metrics_path, "%s", e->metrics_path);
    out->counts = e->counts;
}

/* Asks the engine's own path; false when this is not it. sure: it is known already. */
static bool confirm(const struct jm_load_cfg *cfg, struct jm_client *c, const struct engine *e, bool sure,
                    struct jm_endpoint *out, int *slow)
{
    struct jm_json *doc = fetch(c, "GET", e->path, slow);
    bool yes = sure || jm_json_get(doc, e->member) != NULL;
    if (yes) {
        settle(e, out);
        if (e->version)
            copy(jm_json_get(doc, e->version), out->version, sizeof out->version);
        more(cfg, c, e, doc, out, slow);
    }
    jm_json_free(doc);
    return yes;
}

static const struct engine *by_list(const char *owner, const struct jm_endpoint *out)
{
    for (size_t i = 0; i < ENGINES; i++) {
        const struct engine *e = &engines[i];
        if ((e->owner && strcmp(owner, e->owner) == 0) || (e->server && strcmp(out->server, e->server) == 0))
            return e;
    }
    return NULL;
}

static void name_engine(const struct jm_load_cfg *cfg, struct jm_client *c, const char *owner,
                        struct jm_endpoint *out)
{
    const struct engine *e = by_list(owner, out);
    int slow = 0;
    bool found = e && confirm(cfg, c, e, !e->vague, out, &slow);
    /* a stranger's server with an owner of its own is not asked for ten paths that it does not have */
    bool search = out->local || out->simulated || !owner[0] || strcmp(owner, out->model) == 0;
    /* TGI names the model as its owner; an engine without the list, or behind a proxy, is looked for by the
     * paths that only it has. /version is many an engine's. */
    for (size_t i = 0; search && !found && i < ENGINES; i++) {
        e = &engines[i];
        if (strcmp(e->path, "/version") != 0)
            found = confirm(cfg, c, e, false, out, &slow);
    }
    if (!found && out->simulated) /* it acts as vLLM unless it acts as one of the others */
        settle(&engines[0], out);
    if (out->simulated)
        snprintf(out->engine, sizeof out->engine, "joulemark-sim");
    else if (found)
        snprintf(out->engine, sizeof out->engine, "%s%s%s", e->title, out->version[0] ? " " : "",
                 out->version);
    if (found)
        return;
    struct jm_json *doc = fetch(c, "GET", "/version", &slow);
    copy(jm_json_get(doc, "version"), out->version, sizeof out->version);
    jm_json_free(doc);
    if (!out->simulated && out->version[0])
        snprintf(out->engine, sizeof out->engine, "%.20s %s", owner[0] ? owner : "unknown", out->version);
    else if (!out->simulated)
        snprintf(out->engine, sizeof out->engine, "%.40s", owner);
}

static int probe(const struct jm_load_cfg *cfg, const char *proc_root, bool find_pid, struct jm_endpoint *out,
                 struct jm_err *err)
{
    struct jm_client c;
    char owner[64] = "";
    *out = (struct jm_endpoint){.pid = -1, .max_model_len = -1};
    snprintf(out->dialect, sizeof out->dialect, "openai.chat");
    int rc = jm_client_init(&c, cfg, err);
    if (rc)
        return rc;
    snprintf(out->host, sizeof out->host, "%s", c.target.host);
    out->port = c.target.port;
    out->tls = c.target.tls;
    rc = read_models(cfg, &c, out, owner, sizeof owner, err);
    if (rc == 0) {
        out->local = c.local;
        name_engine(cfg, &c, owner, out);
        if (out->local && find_pid)
            out->pid = jm_listener_find(proc_root ? proc_root : "/proc", out->port, out->pid_why,
                                        sizeof out->pid_why);
        else if (!out->local)
            snprintf(out->pid_why, sizeof out->pid_why, "the endpoint is on another machine (%s)",
                     c.setup.proxy ? "behind a proxy" : c.target.addr[c.target.good].text);
    }
    jm_client_release(&c);
    return rc;
}

int jm_load_probe(const struct jm_load_cfg *cfg, const char *proc_root, struct jm_endpoint *out,
                  struct jm_err *err)
{
    return probe(cfg, proc_root, true, out, err);
}

int jm_probe_engine(const struct jm_load_cfg *cfg, struct jm_endpoint *out, struct jm_err *err)
{
    return probe(cfg, NULL, false, out, err);
}
