/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/endpoint.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/procs.h"

#include "base/banned.h"

static void put(struct jm_session *s, int *rc, const char *key, const char *value)
{
    if (!*rc && value && value[0])
        *rc = jm_recorder_env(s->rec, key, value);
}

int jm_endpoint_note(struct jm_session *s, const struct jm_endpoint *ep, struct jm_err *err)
{
    char num[32];
    int rc = 0;
    put(s, &rc, "endpoint.host", ep->host);
    snprintf(num, sizeof num, "%d", ep->port);
    put(s, &rc, "endpoint.port", num);
    put(s, &rc, "endpoint.model", ep->model);
    put(s, &rc, "endpoint.server", ep->server);
    put(s, &rc, "endpoint.engine", ep->engine);
    put(s, &rc, "endpoint.kind", ep->kind);
    put(s, &rc, "endpoint.local", ep->local ? "1" : "0");
    put(s, &rc, "endpoint.simulated", ep->simulated ? "1" : "0");
    if (ep->max_model_len > 0) {
        snprintf(num, sizeof num, "%d", ep->max_model_len);
        put(s, &rc, "endpoint.max_model_len", num);
    }
    if (!ep->local) {
        put(s, &rc, "conflict.sut", "the endpoint is not on this machine, where the meters are");
        jm_cli_say(
            s->cli,
            "%s is not this machine: its energy is not read here, so no energy per token is given; run "
            "joulemark on the host that serves",
            ep->host);
    } else if (ep->pid > 0) {
        enum { MOST = 4096 };
        int64_t *pids = malloc(MOST * sizeof *pids);
        if (!pids)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the endpoint's processes");
        size_t n = jm_procs_below(s->cli->common->proc_root, ep->pid, pids, MOST);
        struct jm_err why = {0};
        snprintf(num, sizeof num, "%lld", (long long)ep->pid);
        put(s, &rc, "endpoint.pid", num);
        int found = s->metered ? jm_recorder_find_sut(s->rec, pids, n, &why) : 0;
        free(pids);
        if (found <= 0 && s->metered)
            jm_cli_say(
                s->cli,
                "which GPUs the endpoint (process %lld) uses is not known%s%s: all that are read are counted",
                (long long)ep->pid, why.text[0] ? ": " : "", why.text);
    } else {
        put(s, &rc, "endpoint.pid_unknown", ep->pid_why);
        if (s->metered)
            jm_cli_say(s->cli,
                       "the process of the endpoint was not found (%s): all GPUs that are read are counted",
                       ep->pid_why);
    }
    return rc ? jm_err_set(err, rc, "cannot note the endpoint in the run") : 0;
}
