/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/endpoint.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"

#include "base/banned.h"

struct proc {
    int64_t pid, parent;
};

/* "PID (name) S PPID ...": the name may hold blanks and parentheses, so the last one counts. */
static bool parent_of(const char *root, int64_t pid, int64_t *parent)
{
    char path[512];
    struct jm_str text;
    struct jm_span rest, field;
    bool ok = false;
    jm_str_init(&text);
    snprintf(path, sizeof path, "%s/%lld/stat", root, (long long)pid);
    if (jm_file_read(path, 8192, &text, NULL) == 0) {
        const char *p = strrchr(text.buf, ')');
        rest = jm_span_of(p && p[1] == ' ' ? p + 2 : NULL);
        ok = jm_span_field(&rest, ' ', &field) && jm_span_field(&rest, ' ', &field) &&
             jm_num_i64(field, parent) == 0;
    }
    jm_str_release(&text);
    return ok;
}

size_t jm_procs_below(const char *proc_root, int64_t pid, int64_t *out, size_t max)
{
    const char *root = proc_root ? proc_root : "/proc";
    struct proc *all = NULL;
    size_t n_all = 0, cap = 0, n = 0;
    DIR *d = opendir(root);
    if (max)
        out[n++] = pid;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct proc p;
        if (jm_num_i64(jm_span_of(e->d_name), &p.pid) || !parent_of(root, p.pid, &p.parent))
            continue;
        if (n_all == cap) {
            cap = cap ? 2 * cap : 256;
            struct proc *more = realloc(all, cap * sizeof *more);
            if (!more)
                break;
            all = more;
        }
        all[n_all++] = p;
    }
    if (d)
        closedir(d);
    for (size_t i = 0; i < n; i++) /* children of each one found, in turn */
        for (size_t k = 0; k < n_all && n < max; k++)
            if (all[k].parent == out[i] && all[k].pid != out[i])
                out[n++] = all[k].pid;
    free(all);
    return n;
}

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
