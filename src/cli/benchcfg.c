/* SPDX-License-Identifier: Apache-2.0 */
/* From the options of bench to what the load needs. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/bench.h"
#include "load/dialect.h"

#include "base/banned.h"

const char *jm_bench_transport(const struct jm_bench_opts *o)
{
    enum { AUTO, PLAIN, CURL };
    bool needed = o->transport == AUTO && (o->proxy || o->http || o->compressed);
    return o->transport == CURL || needed ? "curl" : "plain";
}

int jm_bench_load_cfg(const struct jm_bench_opts *o, struct jm_cli *cli, const char *url, uint64_t seed,
                      struct jm_load_cfg *lc, struct jm_err *err)
{
    const char *key = o->key_env ? getenv(o->key_env) : NULL;
    if (o->key_env && (!key || !key[0]))
        return jm_err_set(err, JM_EUSAGE, "--api-key-env: the environment has no variable %s, or it is empty",
                          o->key_env);
    if (o->api && strcmp(o->api, "auto") != 0) {
        const struct jm_dialect_row *row;
        struct jm_err why = {0};
        if (jm_dialect_need(o->api, &row, &why))
            return jm_err_set(err, JM_EUSAGE, "--api: %s", why.text);
    }
    if (o->extra) {
        struct jm_json *doc = NULL;
        struct jm_err why = {0};
        int rc = jm_json_parse(jm_span_of(o->extra), &doc, &why);
        bool object = !rc && jm_json_is_object(doc);
        jm_json_free(doc);
        if (!object)
            return jm_err_set(err, JM_EUSAGE, "--extra-body: %s; write an object like {\"top_p\": 0.9}",
                              rc ? why.text : "this is JSON, but no object");
    }
    *lc = (struct jm_load_cfg){.url = url,
                               .api = o->api,
                               .model = o->model,
                               .api_key = key,
                               .concurrency = (int)o->concurrency,
                               .seed = seed,
                               .max_requests = o->shape.scenario ? 0 : o->shape.max_requests,
                               .ignore_eos = o->ignore_eos,
                               .counts = (enum jm_load_counts)o->counts,
                               .whole = o->no_stream,
                               .prompt_ids = o->prompt_ids,
                               .temperature = o->temperature,
                               .extra_json = o->extra,
                               .connect_ns = o->connect,
                               .header_ns = o->header,
                               .stall_ns = o->stall,
                               .total_ns = o->total,
                               .threads = (int)o->threads,
                               .ca_file = o->ca_file,
                               .insecure = o->insecure,
                               .keep_text = o->keep_text,
                               .transport = jm_bench_transport(o),
                               .proxy = o->proxy,
                               .http = (enum jm_load_http)o->http,
                               .compressed = o->compressed,
                               .log = &cli->log};
    return 0;
}
