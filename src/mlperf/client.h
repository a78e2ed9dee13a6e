/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the system under test (SUT): asks a Director to measure while a workload runs, once to find the
 * ranges and once in earnest, and brings both sides' files together. Messages, their order, the moments that
 * are recorded and the files are those of the public client (mlcommons/power-dev ptd_client_server/lib/
 * client.py at c4b3ad8), so that either side works with the other project's opposite side:
 *
 *   hello, [stop], clocks, new, then for ranging and testing: clocks, start, time, the workload, time, stop,
 *   time; then client.json, done, six downloads, cleanup
 *
 * What is ours: every wait has an end, a Director that goes away ends the workload at once, and whatever
 * happens power/client.log and power/client.json are written with what was said so far. */
#ifndef JM_MLPERF_CLIENT_H
#define JM_MLPERF_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "mlperf/child.h"
#include "mlperf/net.h"
#include "mlperf/proto.h"

struct jm_mlperf_client_report {
    char id[JM_MLPERF_ID]; /* "": none yet */
    char dir[4096];        /* the session's directory, "": none yet */
    const char *stage;     /* where it is or ended: "connect", "ranging: workload", … */
    bool complete;         /* all files of both sides are there */
    bool clock_off;        /* the Director's clock went beyond the limit during the measurement */
    int workload_status;   /* of the last workload; 128 + signal */
    int fetched, wanted;   /* downloads */
    struct jm_mlperf_ntp_facts {
        bool asked;
        double offset_s, delay_s; /* the worst of the session by |offset| */
    } ntp;
    double clock_min_ms, clock_max_ms; /* client minus Director, over all looks; NaN: none */
};

struct jm_mlperf_client_conf {
    const char *addr;
    int port;
    const char *workload;       /* shell command */
    const char *indir, *outdir; /* INDIR: where LoadGen writes; OUTDIR: where the session is put */
    const char *ntp;            /* NULL: not asked, and the session says so */
    bool set_clock; /* a clock that is off is set by ntpdate, on both sides; else it ends the session */
    const char *label;
    bool flat;                    /* the session's files into OUTDIR itself, not into OUTDIR/<session> */
    bool force;                   /* remove INDIR first */
    bool stop_server;             /* the Director ends after this client */
    const char *volts, *amps;     /* both: no ranging phase, testing at these ranges */
    int64_t reply_ns, measure_ns; /* longest wait for a reply; for one to start or stop. 0: 60 s, 15 min */
    int64_t file_limit;           /* bytes of a downloaded file; 0: 4 GiB */
    struct jm_mlperf_child_ops child;
    struct jm_clock clock;
    struct jm_mlperf_wake wake; /* *cancel stops the workload and ends the session */
    struct jm_log log;
    /* At each stage; may be NULL. */
    void (*progress)(void *self, const struct jm_mlperf_client_report *report);
    void *progress_self;
};

/* Measures. On failure err says what happened, report.stage where, and jm_mlperf_client_kept what is kept. */
int jm_mlperf_client_run(const struct jm_mlperf_client_conf *conf, struct jm_mlperf_client_report *report,
                         struct jm_err *err);
/* Fetches what is missing in a session directory that jm_mlperf_client_run left behind when the connection
 * broke after the measurement; needs addr, port, clock, wake, log and the limits of conf. */
int jm_mlperf_client_fetch(const struct jm_mlperf_client_conf *conf, const char *dir,
                           struct jm_mlperf_client_report *report, struct jm_err *err);
/* One or two sentences: what of a session that did not end well is kept, and where. */
void jm_mlperf_client_kept(const struct jm_mlperf_client_report *report, struct jm_str *out);

/* --- parts of it, of their own for tests ---------------------------------------------------------------- */

/* JM_EUSAGE when OUTDIR is INDIR or lies inside it, by their real paths (links are followed as far as the
 * path exists), or INDIR holds what -f must not remove (/, home, the working directory, OUTDIR). */
int jm_mlperf_paths_check(const char *indir, const char *outdir, bool force, struct jm_err *err);
/* path with its existing part's links resolved and "." and ".." taken out; out holds 4096. */
int jm_mlperf_path_real(const char *path, char out[4096], struct jm_err *err);
/* Removes a directory and all below it; links are removed, not followed. Absent is fine. */
int jm_mlperf_tree_remove(const char *path, struct jm_err *err);
int jm_mlperf_file_copy(const char *from, const char *to, struct jm_err *err);

/* The directory below indir whose mlperf_log_detail.txt has power_begin and power_end strictly between the
 * two moments (Unix ns); of several the longest, *others counts the rest. JM_EABSENT: none; the sentence
 * tells the nearest. */
int jm_mlperf_loadgen_find(const char *indir, int64_t start_ns, int64_t end_ns, char out[4096], int *others,
                           struct jm_err *err);

#endif
