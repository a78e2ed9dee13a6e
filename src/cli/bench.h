/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement of an endpoint: find it and its GPUs, idle, warm up, measure, drain. */
#ifndef JM_CLI_BENCH_H
#define JM_CLI_BENCH_H

#include "cli/benchplan.h"
#include "cli/present.h"
#include "cli/session.h"
#include "load/load.h"

struct jm_bench_opts {
    const char *api, *model, *key_env, *prompts, *extra, *ca_file;
    int64_t concurrency;       /* 0: not given */
    double rate;               /* 0: closed loop */
    struct jm_length isl, osl; /* none: 512 and 128, or as a file says */
    struct jm_shape_opts shape;
    int64_t requests, threads;
    int64_t idle, warmup, duration, drain; /* warmup, duration -1: as the plan needs */
    struct jm_plan_run how;                /* trials, order, pauses; a plan's file may say them too */
    bool ladder, bursts;
    int64_t burst; /* ns, length of a burst; 0: not said */
    int64_t connect, header, stall, total;
    double temperature;
    int counts; /* enum jm_load_counts */
    bool ignore_eos, prompt_ids, no_stream, insecure, keep_text;
    int transport, http; /* 0: auto */
    const char *proxy;
    bool compressed;
    struct jm_opt_list engine_metrics;
};

void jm_bench_opts_init(struct jm_bench_opts *o);
const char *
jm_bench_transport(const struct jm_bench_opts *o); /* "plain" or "curl": the one asked for or needed */

/* What the load needs, but for the plan. JM_EUSAGE: an option does not make sense. */
int jm_bench_load_cfg(const struct jm_bench_opts *o, struct jm_cli *cli, const char *url, uint64_t seed,
                      struct jm_load_cfg *lc, struct jm_err *err);
/* Measures into a new run file (s->path) and seals it. Release s afterwards in any case. */
int jm_bench(struct jm_session *s, struct jm_cli *cli, const struct jm_bench_opts *o,
             const struct jm_present *p, const struct jm_session_opts *so, const struct jm_meter_env *env,
             const char *url, struct jm_err *err);

#endif
