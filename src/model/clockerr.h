/* SPDX-License-Identifier: Apache-2.0 */
/* How wrong can the clock of a host be? What its time service says, as one bound. Not known is not 0: a clock
 * that nobody disciplines has no bound. */
#ifndef JM_MODEL_CLOCKERR_H
#define JM_MODEL_CLOCKERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

enum jm_clock_source { JM_CLOCK_NONE, JM_CLOCK_CHRONY, JM_CLOCK_KERNEL, JM_CLOCK_PTP, JM_CLOCK_SOURCES };

struct jm_clock_error {
    enum jm_clock_source source;
    int64_t bound_ns; /* |clock - UTC| is at most this; -1: unknown, and why says why */
    double offset_s, root_delay_s, root_dispersion_s; /* NAN: not told */
    int stratum;                                      /* -1: not told */
    int leap;           /* 0 none, 1 a second is inserted, 2 deleted, 3 not synchronised; -1: not told */
    char reference[64]; /* who the clock follows, "" not told */
    char why[192];      /* of an unknown bound, or what a known one leaves out; "" */
};

/* chronyd's "tracking" report. */
struct jm_tracking {
    uint32_t ref_id;
    char address[64]; /* of the source as text; "" for a reference clock */
    int stratum, leap;
    double correction_s; /* what the clock is still off by, as chronyd sees it */
    double root_delay_s, root_dispersion_s;
};

/* ptp4l's TIME_STATUS_NP. */
struct jm_ptp_status {
    double master_offset_ns;
    bool gm_present;
    char gm[48];
};

const char *jm_clock_source_name(int source); /* "none", "chrony", "kernel", "ptp" */
const char *jm_clock_leap_name(int leap);     /* "normal", ... "not synchronised"; NULL where not told */

void jm_clock_error_init(struct jm_clock_error *e); /* none, unknown */
/* |error| <= |system offset| + root dispersion + root delay / 2 (chronyc(1), "tracking"). Unknown when
 * chronyd is not synchronised or follows this host's own clock ("local"). */
void jm_clock_error_chrony(struct jm_clock_error *e, const struct jm_tracking *t);
/* The kernel's maximum error, which it lets grow by 500 ppm after each update. distance_untold: the daemon
 * sets it to 0 at each update, so that it leaves out how far the server is (systemd-timesyncd): no bound. */
void jm_clock_error_kernel(struct jm_clock_error *e, const struct jm_kernel_clock *k, bool distance_untold);
/* The offset that PTP sees is no bound by itself: an asymmetric path hides in it. path_ns: half of the path's
 * delay, NAN: not known, then the bound is unknown. */
void jm_clock_error_ptp(struct jm_clock_error *e, const struct jm_ptp_status *p, double path_ns);

/* The bound after `ns` without another look: a clock may drift by 500 ppm meanwhile. -1 stays -1. */
int64_t jm_clock_error_after(int64_t bound_ns, int64_t ns);
/* Two looks at start and end hold for the run between them; -1 when one is unknown. */
int64_t jm_clock_error_run(int64_t start_ns, int64_t end_ns);

#endif
