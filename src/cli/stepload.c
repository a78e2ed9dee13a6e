/* SPDX-License-Identifier: Apache-2.0 */
/* A burst is a load of its own, so that it ends at once: what is still in flight is given up, and an engine
 * that sees its clients gone stops working for them. The connections of the next burst are opened meanwhile.
 */
#include "cli/stepload.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "load/load.h"

#include "base/banned.h"

#define ISL 256
#define OSL 512

struct jm_stepload {
    struct jm_load_cfg cfg;
    struct jm_endpoint at;
    struct jm_load *next; /* prepared, or going on */
    bool on;
    int64_t id;
    atomic_llong answered;
};

/* A request that gave a token made the engine work. */
static void answered(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                     struct jm_span prompt, struct jm_span output)
{
    struct jm_stepload *l = self;
    (void)ev, (void)prompt, (void)output;
    if (n || r->end == JM_END_OK)
        atomic_fetch_add(&l->answered, 1);
}

static int prepare(struct jm_stepload *l, struct jm_err *err)
{
    struct jm_load_sink sink = {l, answered};
    l->cfg.first_id = l->id += 1000000;
    l->cfg.seed++;
    return jm_load_new(&l->cfg, &sink, &l->next, err);
}

static void end(struct jm_stepload *l)
{
    if (l->next && l->on) {
        jm_load_stop(l->next);
        jm_load_drain(l->next, 1);
    }
    jm_load_free(l->next);
    l->next = NULL;
    l->on = false;
}

static int set(void *self, bool on, struct jm_err *err)
{
    struct jm_stepload *l = self;
    int rc = 0;
    if (on && !l->on) {
        rc = l->next ? 0 : prepare(l, err);
        if (!rc)
            rc = jm_load_start(l->next, err);
        l->on = !rc;
    } else if (!on) {
        end(l);
    }
    return rc;
}

int jm_stepload_new(const struct jm_stepload_cfg *cfg, struct jm_stepload **out, struct jm_err *err)
{
    struct jm_stepload *l = calloc(1, sizeof *l);
    if (!l)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the load");
    l->cfg = (struct jm_load_cfg){.url = cfg->url,
                                  .api = cfg->api,
                                  .model = cfg->model,
                                  .api_key = cfg->key,
                                  .concurrency = cfg->concurrency,
                                  .isl = ISL,
                                  .osl = OSL,
                                  .temperature = NAN,
                                  .seed = cfg->seed,
                                  .ignore_eos = true,
                                  .log = cfg->log};
    int rc = jm_load_probe(&l->cfg, NULL, &l->at, err);
    if (!rc && !l->cfg.model && l->at.model[0])
        l->cfg.model = l->at.model;
    l->cfg.at = &l->at;
    if (!rc)
        rc = prepare(l, err);
    if (rc) {
        jm_stepload_free(l);
        return rc;
    }
    *out = l;
    return 0;
}

struct jm_step_load jm_stepload_load(struct jm_stepload *l)
{
    return (struct jm_step_load){set, l};
}

int jm_stepload_done(struct jm_stepload *l, int64_t *n, struct jm_err *err)
{
    end(l);
    *n = atomic_load(&l->answered);
    return *n ? 0
              : jm_err_set(err, JM_EABSENT,
                           "the endpoint %s gave no token to any request, so that nothing was loaded",
                           l->cfg.url);
}

void jm_stepload_free(struct jm_stepload *l)
{
    if (!l)
        return;
    end(l);
    free(l);
}
