/* SPDX-License-Identifier: Apache-2.0 */
/* Where the Director's samples come from. A PTDaemon (mlperf/ptd.h) is one source; an analyzer read directly,
 * a wall meter or the software tier are others: one struct jm_mlperf_source with these operations, given to
 * jm_mlperf_director_run. The Director owns the session: directory, marks, files, ranges, times; a source
 * only starts, stops and hands over its samples as lines. All calls come from the Director's thread, in this
 * order:
 *
 *   open → prepare(ranging) → go(ranging) → collect(ranging) → prepare(testing) → go(testing) →
 *   collect(testing) → close                  (close may come after any of them, also after a failed one)
 *
 * A source that has to sample by itself between go and collect does so in a thread of its own.
 *
 * What a source that is not official leaves behind is marked everywhere: "official": false and its notice in
 * server.json, marks that end in "_unofficial", and a file NOT_OFFICIAL.txt beside the logs. */
#ifndef JM_MLPERF_SOURCE_H
#define JM_MLPERF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/span.h"
#include "base/str.h"
#include "mlperf/session.h"
#include "wire/spl.h"

#define JM_MLPERF_ANALYZERS 16

/* The ranges of a testing phase, as text: what a range command gets. "Auto" where nothing better is known. */
struct jm_mlperf_ranges {
    char volts[40], amps[40];
};

/* What the Director does for a source during a session. */
struct jm_mlperf_source_io {
    void *self;
    struct jm_clock clock;
    const char *power_dir; /* for ptd_logs_analyzer_<i>.txt, what the instrument's program printed */
    /* A line of server.log and of standard error. */
    void (*log)(void *self, enum jm_log_level level, const char *text);
    /* ptd_messages of server.json: what was asked and answered; analyzer from 1. */
    int (*said)(void *self, int analyzer, struct jm_span cmd, struct jm_span reply, struct jm_err *err);
    /* True as soon as nobody needs an answer any more (the client is gone, we are to end). */
    bool (*over)(void *self);
};

/* Takes what a phase gave. */
struct jm_mlperf_sink {
    void *self;
    /* One sample as PTDaemon's RL gives it, without line end, in time order:
     * "Time,MM-DD-YYYY HH:MM:SS.mmm,Watts,…,Volts,…,Amps,…,PF,…[,Watts,…,PF,…]…"; times are UTC.
     * first_channel: number of the first group after the sum (1 in almost every case). */
    int (*line)(void *self, int analyzer, int first_channel, struct jm_span line, struct jm_err *err);
    /* A line for run_1/ptd_out.txt. */
    int (*note)(void *self, struct jm_span text, struct jm_err *err);
};

struct jm_mlperf_source_ops {
    const char *name; /* "ptd", "meter" */
    bool official;    /* true for PTDaemon alone */
    /* Does what was opened say of itself that it is simulated? NULL: no. Known once open returned, also after
     * close. */
    bool (*simulated)(void *self);
    /* One paragraph: what measured, and why that is no official measurement. NULL for an official one. */
    const char *notice;
    /* ptd_config of server.json: a JSON array with one object an analyzer. */
    int (*describe)(void *self, struct jm_str *json, struct jm_err *err);
    int (*analyzers)(void *self);
    /* Starts and connects; remembers the ranges that it found. io stays valid until close returns. */
    int (*open)(void *self, const struct jm_mlperf_source_io *io, struct jm_err *err);
    /* Sets the ranges. ranges: one an analyzer, NULL for a ranging phase (auto or the largest, as
     * configured). A refused range is an error whose sentence begins "Error setting voltage range" or
     * "Error setting current range". */
    int (*prepare)(void *self, enum jm_mlperf_mode mode, const struct jm_mlperf_ranges *ranges,
                   struct jm_err *err);
    /* Starts sampling, all analyzers at once. */
    int (*go)(void *self, enum jm_mlperf_mode mode, const char *mark, struct jm_err *err);
    /* Stops sampling and hands over all samples since go. aborted: the session is being given up; get what
     * can be had quickly. */
    int (*collect)(void *self, enum jm_mlperf_mode mode, bool aborted, const struct jm_mlperf_sink *sink,
                   struct jm_err *err);
    /* Is it still there? Called about once a second between go and collect, and when one of fds is
     * readable. */
    int (*alive)(void *self, struct jm_err *err);
    size_t (*fds)(void *self, int *fd, size_t room); /* NULL: none */
    /* Stops sampling if it runs, puts the ranges back, ends what was started. Never fails; says what did not
     * work in the log. */
    void (*close)(void *self);
};

struct jm_mlperf_source {
    const struct jm_mlperf_source_ops *ops;
    void *self;
};

/* For sources that have numbers instead of lines. NAN: not known, written as PTDaemon's -1. */
struct jm_mlperf_values {
    double watts, volts, amps, pf;
};
struct jm_mlperf_sample {
    int64_t real_ns; /* end of the interval that it stands for, Unix time */
    struct jm_mlperf_values sum, channel[JM_SPL_CHANNELS];
    int n_channels;
};
/* The line that sink.line takes. */
void jm_mlperf_sample_line(const struct jm_mlperf_sample *s, struct jm_str *out);

#endif
