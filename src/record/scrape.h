/* SPDX-License-Identifier: Apache-2.0 */
/* The scraper: fetches the metrics of serving engines while a run is recorded. A thread a target with a
 * deadline of its own, so that one that hangs delays nobody; at window edges a text right before and right
 * after the edge, whole; in between one every second, cut down to the lines that counters and gauges are read
 * from. No answer is a fact with its time and reason, never a failure of the run. */
#ifndef JM_RECORD_SCRAPE_H
#define JM_RECORD_SCRAPE_H

#include "record/record.h"

struct jm_scrape_cfg {
    const char *const *urls; /* of metrics; one without a path is looked for at the usual paths */
    size_t n_urls;
    bool find;            /* look at the endpoint too, where its engine usually has them */
    const char *endpoint; /* URL of the load; NULL: none */
    const char *engine;   /* what the probe took it for, "" unknown */
    const char *api_key;  /* goes to the endpoint's own host and port only; NULL: none */
    const char *ca_file;
    bool insecure;
    int64_t interval_ns; /* 0: 1 s; slower where an answer takes long */
    int64_t timeout_ns;  /* of one answer; 0: 2 s */
    int64_t
        host_pid; /* > 0: the endpoint is on this host, and its process tree; 0: the host only; -1: none */
    const char *proc_root;
};

/* Starts the threads; waits, at most 3 s, until each target has answered once or said why not. Not in virtual
 * time. said, where not NULL, gets a sentence a target for people ("vLLM at http://.../metrics"). */
int jm_recorder_watch_engine(struct jm_recorder *r, const struct jm_scrape_cfg *cfg, struct jm_str *said,
                             struct jm_err *err);

#endif
