/* SPDX-License-Identifier: Apache-2.0 */
/* The Director of an MLPerf power measurement: the server that the system under test asks to range and to
 * measure. It speaks to one client at a time and drives one source of samples (mlperf/source.h).
 *
 *   INITIAL → RANGING → RANGING_DONE → TESTING → TESTING_DONE → DONE
 *
 * Where it parts from the public tool: a second client is told that the Director is busy instead of waiting
 * unheard; a failure is a sentence after "Error: " and ends the session at once; a session that ended early
 * is kept, with INCOMPLETE.txt; every wait has an end. */
#ifndef JM_MLPERF_DIRECTOR_H
#define JM_MLPERF_DIRECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "mlperf/child.h"
#include "mlperf/config.h"
#include "mlperf/net.h"
#include "mlperf/ntp.h"
#include "mlperf/source.h"

struct jm_mlperf_progress {
    const char *state;   /* "waiting for a client", "ranging", "settling" … */
    const char *session; /* "" where there is none */
    double seconds;      /* since the state began */
};

struct jm_mlperf_director {
    const struct jm_mlperf_config *config;
    struct jm_mlperf_source source; /* the caller's, also afterwards */
    const struct jm_mlperf_child_ops *child;
    struct jm_clock clock;
    struct jm_mlperf_wake wake;
    const struct jm_log *log;
    bool once;      /* end after the first client that had a session */
    bool set_clock; /* ntpdate -b may set this machine's clock */
    /* Called with the address as soon as clients can connect; may be NULL. */
    void (*ready)(void *self, const char *host, int port);
    void (*progress)(void *self, const struct jm_mlperf_progress *p); /* may be NULL */
    void *self;
};

/* Checks the clock, tries the source, listens and serves until told to stop (client's stop, once, wake).
 * Returns 0 also when it was told to end; *sessions and *broken, when not NULL, get how many there were and
 * how many of them ended early. */
int jm_mlperf_director_run(const struct jm_mlperf_director *d, int *sessions, int *broken,
                           struct jm_err *err);

/* Checks this clock against server; on a difference of 0.4 s or more with set_clock runs "ntpdate -b --
 * SERVER" (by "sudo -n" when not root) as the public tool does, and checks again. */
int jm_mlperf_keep_time(const char *server, bool set_clock, const struct jm_mlperf_child_ops *child,
                        const struct jm_clock *clock, struct jm_mlperf_wake wake, struct jm_mlperf_ntp *out,
                        struct jm_err *err);

#endif
