/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of load through a serving engine: bursts of requests, and nothing between them. */
#ifndef JM_CLI_STEPLOAD_H
#define JM_CLI_STEPLOAD_H

#include "base/log.h"
#include "record/step.h"

struct jm_stepload;

struct jm_stepload_cfg {
    const char *url, *model, *api, *key; /* model, api, key: NULL */
    int concurrency;
    uint64_t seed; /* of the prompts; each burst has the next one */
    const struct jm_log *log;
};

/* Asks the endpoint who it is, and opens the connections of the first burst. */
int jm_stepload_new(const struct jm_stepload_cfg *cfg, struct jm_stepload **out, struct jm_err *err);
struct jm_step_load jm_stepload_load(struct jm_stepload *l);
/* JM_EABSENT when no request was answered: then there was no load. answered: how many were. */
int jm_stepload_done(struct jm_stepload *l, int64_t *answered, struct jm_err *err);
void jm_stepload_free(struct jm_stepload *l); /* l may be NULL */

#endif
