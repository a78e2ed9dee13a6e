/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/enginemetrics.h"

#include <string.h>

#include "record/scrape.h"

#include "base/banned.h"

int jm_session_engine(struct jm_session *s, const struct jm_opt_list *given, const char *url,
                      const struct jm_load_cfg *lc, const struct jm_endpoint *ep, struct jm_err *err)
{
    const char *urls[64];
    struct jm_str said;
    bool off = false;
    struct jm_scrape_cfg cfg = {.urls = urls,
                                .find = ep && !given->n,
                                .endpoint = ep ? url : NULL,
                                .engine = ep ? ep->engine : "",
                                .api_key = lc ? lc->api_key : NULL,
                                .ca_file = lc ? lc->ca_file : NULL,
                                .insecure = lc && lc->insecure,
                                .host_pid = !ep           ? 0
                                            : !ep->local  ? -1
                                            : ep->pid > 0 ? ep->pid
                                                          : 0,
                                .proc_root = s->cli->common->proc_root};
    for (size_t i = 0; i < given->n; i++) {
        if (strcmp(given->item[i], "off") == 0)
            off = true;
        else if (strcmp(given->item[i], "auto") == 0)
            cfg.find = true;
        else
            urls[cfg.n_urls++] = given->item[i];
    }
    if (off && (cfg.n_urls || cfg.find) && given->n)
        return jm_err_set(err, JM_EUSAGE, "--engine-metrics: off and something else at once");
    if (cfg.find && !cfg.endpoint)
        return jm_err_set(
            err, JM_EUSAGE,
            "--engine-metrics=auto: there is no endpoint to look at; give the URL of the metrics");
    jm_recorder_env(s->rec, "engine.metrics", off ? "off" : cfg.find ? "auto" : cfg.n_urls ? "given" : "off");
    if (off || (!cfg.find && !cfg.n_urls))
        return 0;
    jm_str_init(&said);
    int rc = jm_recorder_watch_engine(s->rec, &cfg, &said, err);
    if (!rc && !s->cli->common->quiet)
        jm_cli_say(s->cli, "engine metrics: %s", said.buf);
    jm_str_release(&said);
    return rc;
}
