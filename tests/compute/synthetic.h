/* SPDX-License-Identifier: Apache-2.0 */
/* Runs made of known parts, for tests of what is concluded from them. */
#ifndef JM_TEST_SYNTHETIC_H
#define JM_TEST_SYNTHETIC_H

#include <math.h>

#include "audit/audit.h"
#include "compute/compute.h"
#include "run/run.h"

#define T0 INT64_C(1000000000000) /* mono ns of the first window */

struct syn {
    struct jm_run_writer *w;
    struct jm_domain_tree tree;
    int node, inlet, meter, next_window;
    int64_t next_request;
    char path[128];
    unsigned chan_flags;           /* of the channels made next */
    enum jm_provenance provenance; /* of the channels made next */
    struct jm_run *run;
    struct jm_report *r;
};

void syn_begin(struct syn *s, const char *name);
void syn_begin_as(struct syn *s, const char *name, const char *kind); /* "imported" */
/* A GPU with an energy counter in mJ that refreshes every 100 ms at constant watts over [from, to] seconds
 * after T0. Returns the channel. */
int syn_gpu(struct syn *s, const char *uuid, double watts, double from, double to);
/* A wall gauge, 1 reading/s. */
int syn_wall(struct syn *s, double watts, double from, double to);
/* A domain below another one (a parent of -1: a root). */
int syn_domain(struct syn *s, int parent, enum jm_domain_kind kind, const char *key);
/* A channel with readings of constant watts over [from, to] seconds after T0: an energy counter in mJ every
 * 100 ms, or a gauge of power in mW every second. from > to: no readings. */
int syn_counter(struct syn *s, int domain, const char *device, double watts, double from, double to);
int syn_gauge(struct syn *s, int domain, const char *name, double watts, double from, double to);
/* Any channel; c->meter is set. */
int syn_channel(struct syn *s, struct jm_channel *c);
/* One reading of a channel, at seconds after T0. */
void syn_reading(struct syn *s, int channel, double at, int64_t value, enum jm_status status);
/* A request as it is given (its id is set), with its events. */
void syn_put(struct syn *s, struct jm_request *q, const struct jm_token_event *ev, size_t n);
#define SYN_NS(seconds) (T0 + (int64_t)llround((seconds)*1e9))
void syn_window(struct syn *s, enum jm_role role, int trial, double from, double to);
/* A successful streamed request: scheduled at s, ttft and tpot in seconds, tokens in events of 100. */
void syn_request(struct syn *s, double at, double ttft, double tpot, int64_t input, int64_t output);
void syn_failed(struct syn *s, double at, double seconds, enum jm_end end);
void syn_env(struct syn *s, const char *key, const char *value);
/* Seals, opens, computes and audits. */
void syn_report(struct syn *s, const struct jm_compute_opts *o);
void syn_end(struct syn *s);

/* The value of a metric, which must be there. */
double syn_value(const struct syn *s, const char *metric, enum jm_boundary b, int window);
/* How many findings of the id there are; the first of them. */
int syn_findings(const struct syn *s, const char *id);
const struct jm_finding *syn_finding(const struct syn *s, const char *id);

#endif
