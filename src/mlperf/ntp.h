/* SPDX-License-Identifier: Apache-2.0 */
/* One question to an NTP server (SNTP, RFC 4330; packet and formulas of RFC 5905): how far is this clock off?
 * Nothing is set here. */
#ifndef JM_MLPERF_NTP_H
#define JM_MLPERF_NTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "mlperf/net.h"

/* |offset| must be below this, and |Director − client| at most this (mlcommons/power-dev lib/time_sync.py).
 */
#define JM_MLPERF_CLOCK_LIMIT_S 0.4
#define JM_MLPERF_NTP_TIMEOUT   (5 * JM_NS_PER_S)

struct jm_mlperf_ntp {
    double offset_s; /* to add to this clock: ((T2 − T1) + (T3 − T4)) / 2 */
    double delay_s; /* (T4 − T1) − (T3 − T2); the offset is wrong by at most half of it and what follows */
    double root_delay_s, root_dispersion_s;
    int stratum, leap, version;
    char refid[16]; /* "GPS", "192.0.2.1" */
    char server[64];
};

#define JM_MLPERF_NTP_PACKET 48
/* A client's packet. nonce is sent as the transmit time, so that an answer to another question is known and
 * our clock is not told. */
void jm_mlperf_ntp_request(uint64_t nonce, unsigned char out[JM_MLPERF_NTP_PACKET]);
/* The answer, received at real_ns T4, to what was sent at T1. Checks mode, version, leap indicator, stratum
 * (0: a kiss of death, whose code is in the sentence), the echoed nonce, and that the server's stamps are set
 * and in order. Times within 68 years of T1 are told apart from those of the next era (2036). */
int jm_mlperf_ntp_parse(struct jm_span packet, uint64_t nonce, int64_t t1_ns, int64_t t4_ns,
                        struct jm_mlperf_ntp *out, struct jm_err *err);

/* server: "host", "host:port", "[v6]:port"; port 123. Tries each address of the name until one answers. */
int jm_mlperf_ntp_query(const char *server, const struct jm_clock *clock, struct jm_mlperf_wake wake,
                        int64_t timeout_ns, struct jm_mlperf_ntp *out, struct jm_err *err);
/* 0, or JM_ECONFLICT with a sentence that says by how much and how to mend it. */
int jm_mlperf_ntp_judge(const struct jm_mlperf_ntp *n, struct jm_err *err);
/* The Director's clock between two looks at ours, all Unix seconds: 0 or JM_ECONFLICT. */
int jm_mlperf_clock_judge(double before, double remote, double after, struct jm_err *err);

#endif
