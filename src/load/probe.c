/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the endpoint: /v1/models names the model, /version vLLM, /get_server_info SGLang, /props
 * llama.cpp, the Server header some others. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "load/client.h"
#include "load/dialect.h"
#include "load/listener.h"
#include "load/load.h"

#include "base/banned.h"

#define PROBE_NS (5 * JM_NS_PER_S)

static void copy(const struct jm_json *v, char *out, size_t n)
{
    struct jm_span s;
    if (jm_json_str(v, &s))
        jm_copy_words(s, out, n);
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
            int64_t v;
            copy(jm_json_get(jm_json_at(list, 0), "id"), out->model, sizeof out->model);
            copy(jm_json_get(m, "owned_by"), owner, n);
            if ((jm_json_i64(jm_json_get(m, "max_model_len"),
                             &v) || /* vLLM, SGLang; llama.cpp: of one slot */
                 jm_json_i64(jm_json_path(m, "meta.n_ctx"), &v)) &&
                v > 0 && v <= INT32_MAX)
                out->max_model_len = (int)v;
        }
    }
    jm_json_free(doc);
    jm_reply_release(&r);
    return rc;
}

/* GET path, and the text of one of its members; false where it is not there. */
static bool ask(struct jm_client *c, const char *path, const char *member, char *out, size_t n)
{
    struct jm_reply r;
    struct jm_json *doc = NULL;
    bool found = false;
    out[0] = '\0';
    jm_reply_init(&r);
    if (jm_client_fetch(c, "GET", path, (struct jm_span){0}, PROBE_NS, &r, NULL) == 0 && r.status == 200 &&
        jm_json_parse(jm_str_span(&r.body), &doc, NULL) == 0) {
        copy(jm_json_path(doc, member), out, n);
        found = out[0] != '\0';
    }
    jm_json_free(doc);
    jm_reply_release(&r);
    return found;
}

static void name_engine(struct jm_client *c, const char *owner, struct jm_endpoint *out)
{
    char v[40];
    char *e = out->engine;
    size_t n = sizeof out->engine;
    if (out->simulated)
        snprintf(e, n, "joulemark-sim");
    else if (strcmp(owner, "llamacpp") == 0 || strcmp(out->server, "llama.cpp") == 0)
        snprintf(e, n, "llama.cpp%s%s", ask(c, "/props", "build_info", v, sizeof v) ? " " : "", v);
    else if (strcmp(owner, "sglang") == 0)
        snprintf(e, n, "sglang%s%s", ask(c, "/get_server_info", "version", v, sizeof v) ? " " : "", v);
    else if (strcmp(owner, "vllm") == 0)
        snprintf(e, n, "vllm%s%s", ask(c, "/version", "version", v, sizeof v) ? " " : "", v);
    else if (strcmp(owner, "library") == 0 && ask(c, "/api/version", "version", v, sizeof v))
        snprintf(e, n, "ollama %s", v);
    else if (ask(c, "/version", "version", v, sizeof v))
        snprintf(e, n, "%.20s %s", owner[0] ? owner : "unknown", v);
    else
        snprintf(e, n, "%.40s", owner);
}

int jm_load_probe(const struct jm_load_cfg *cfg, const char *proc_root, struct jm_endpoint *out,
                  struct jm_err *err)
{
    struct jm_client c;
    char owner[64] = "";
    *out = (struct jm_endpoint){.pid = -1, .max_model_len = -1};
    int rc = jm_client_init(&c, cfg, err);
    if (rc)
        return rc;
    snprintf(out->host, sizeof out->host, "%s", c.target.host);
    out->port = c.target.port;
    out->tls = c.target.tls;
    rc = read_models(cfg, &c, out, owner, sizeof owner, err);
    snprintf(out->dialect, sizeof out->dialect, "openai.chat");
    if (rc == 0) {
        out->local = c.local;
        name_engine(&c, owner, out);
        if (out->local)
            out->pid = jm_listener_find(proc_root ? proc_root : "/proc", out->port, out->pid_why,
                                        sizeof out->pid_why);
        else
            snprintf(out->pid_why, sizeof out->pid_why, "the endpoint is on another machine (%s)",
                     c.setup.proxy ? "behind a proxy" : c.target.addr[c.target.good].text);
    }
    jm_client_release(&c);
    return rc;
}
