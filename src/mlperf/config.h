/* SPDX-License-Identifier: Apache-2.0 */
/* The Director's configuration: the INI file of the public tool (mlcommons/power-dev lib/server.py at c4b3ad8
 * reads [server], [ptd] and one [analyzerN] each), and a section [joulemark] for what only we have. Names are
 * taken in any case, "name: value" and "name = value" alike, lines beginning with # or ; are comments and
 * indented lines go on with the value, as Python's configparser has it. */
#ifndef JM_MLPERF_CONFIG_H
#define JM_MLPERF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "mlperf/source.h"

enum jm_mlperf_ranging { JM_MLPERF_RANGE_AUTO, JM_MLPERF_RANGE_MAX };

struct jm_mlperf_analyzer {
    int port;            /* of its PTDaemon */
    int64_t device_type; /* -1: not given (only where the PTDaemon is not ours to start) */
    const char *interface_flag, *dc_flag, *device_port; /* "" or NULL: none */
    int64_t board;                                      /* gpibBoard, -1: none */
    int64_t channel[8];
    int n_channels; /* 0: not given */
};

struct jm_mlperf_config {
    const char *file;
    const char *ntp_server; /* "": asked to go without */
    char host[64];
    int port;
    bool listens_by_config; /* listen was given */
    enum jm_mlperf_ranging ranging;
    const char *ptd;
    struct jm_mlperf_analyzer analyzer[JM_MLPERF_ANALYZERS];
    int n_analyzers;
    /* [joulemark] */
    const char *out_dir;
    const char *source;        /* "ptd", or another that the program offers */
    const char *source_option; /* handed to that source, "" */
    bool launch;               /* start the PTDaemons; false: connect to running ones */
    const char *ptd_host;
    bool keep; /* cleanup leaves the session here */
    int64_t settle_ns, ptd_timeout_ns, ptd_start_ns, idle_ns, run_ns;
    /* What the reader should know: unknown options, the stale form. */
    const char **warnings;
    size_t n_warnings;
    void *arena;
};

/* Settle time that the rules of a measurement know; a shorter one marks the session as debug. */
#define JM_MLPERF_SETTLE (10 * JM_NS_PER_S)

/* 0, or JM_EUSAGE with file and line. Release it also after a failure. */
int jm_mlperf_config_parse(struct jm_span text, const char *file, struct jm_mlperf_config *out,
                           struct jm_err *err);
int jm_mlperf_config_read(const char *path, struct jm_mlperf_config *out, struct jm_err *err);
/* The same with another source than the file names. path NULL: no file, and no clock is checked. */
int jm_mlperf_config_read_for(const char *path, const char *source, struct jm_mlperf_config *out,
                              struct jm_err *err);
void jm_mlperf_config_release(struct jm_mlperf_config *c);

/* "HOST:PORT", "HOST PORT" (the configuration's form), "[v6]:port", "HOST". */
int jm_mlperf_config_listen(struct jm_mlperf_config *c, const char *text, struct jm_err *err);

/* What is wanted to be known of a device type. */
struct jm_mlperf_device {
    int type;
    const char *name;
    int max_amps;                   /* largest current range in A */
    bool multichannel, dc, checked; /* checked: the public checker knows it */
};
#define JM_MLPERF_WT500_CHANNELS 48
const struct jm_mlperf_device *jm_mlperf_device(int64_t type); /* NULL: not known */

#endif
