/* SPDX-License-Identifier: Apache-2.0 */
/* How true the load generator's stamps are on this machine: the client's side of `bench --selfcheck`. Runs
 * the ordinary load against the server of selfmock.h, in a process of its own, so that CPU and memory are its
 * own. */
#ifndef JM_LOAD_SELFCHECK_H
#define JM_LOAD_SELFCHECK_H

#include "load/selfmock.h"

struct jm_selfcheck_cfg {
    const char *host;    /* NULL: 127.0.0.1 */
    const char *ca_file; /* https; NULL: http */
    const char *transport;
    int streams, threads;
    int64_t warm_ns, measure_ns;
    /* Called before the figures are made, to put into the log what is truer than the server's send times;
     * NULL. */
    void (*truth)(void *self, struct jm_selfmock_log *log);
    void *truth_self;
    int64_t delay_ns; /* known delay of the network from the server to here; there is none the other way */
};

struct jm_selfcheck_errors { /* client's stamp minus the server's, ms; NAN: none */
    size_t n;
    double p50, p99, p999;
};

struct jm_selfcheck_row {
    int streams;
    double events_per_s, cpu_us_per_event, cpu; /* cpu: cores used */
    int64_t events, shared; /* token events in the window; those of them that shared a read with another */
    /* TTFT as measured minus TTFT as served; stamps of events that had a read to themselves; the same by the
     * time at which user space read them; gaps between such events; events that shared a read */
    struct jm_selfcheck_errors ttft, token, ttft_user, token_user, gap, token_shared;
    double rss_kib;       /* growth of this process's own memory, its most */
    double kernel_stamps; /* share */
    double mock_late_p99_ms, mock_blocked;
    int64_t failed; /* requests */
    bool client_limited, mock_limited;
    char error[256]; /* why there is no row, or the first failure; "" none */
};

/* Blocks for warm + measure + the length of an answer. cfg of the server that fills log. */
int jm_selfcheck_run(const struct jm_selfcheck_cfg *cfg, const struct jm_selfmock_cfg *server,
                     struct jm_selfmock_log *log, struct jm_selfcheck_row *out, struct jm_err *err);

#endif
